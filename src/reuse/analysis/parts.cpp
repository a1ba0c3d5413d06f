#include "reuse/analysis/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "reuse/analysis/table.hpp"
#include "warploom/page/text.hpp"
#include "warploom/ptx/ranges.hpp"

namespace warploom::reuse {
namespace {

constexpr std::int64_t kMostBytes = 1 << 20;  // of shared memory
constexpr std::int64_t kUnit = 16;            // parts move by multiples: wide accesses stay aligned

struct Extent {
  std::int64_t begin = 0, end = 0;
};

/// Bytes that an access may reach, given the range of its address; none: not known.
std::optional<Extent> extent_of(const Tables::Range& range, std::int64_t size, std::uint32_t width) {
  // The range is of integers, and the address is one of them modulo 2^32: only of a range this near to the
  // array is there no other one that stands for a byte of it.
  if (!range.least || !range.most || *range.least < -kNear || *range.most > kNear) return std::nullopt;
  // An access stays inside its array.
  const Extent e{std::clamp<std::int64_t>(*range.least, 0, size),
                 std::clamp<std::int64_t>(*range.most + width, 0, size)};
  if (e.begin >= e.end || (e.begin == 0 && e.end == size)) return std::nullopt;
  return e;
}

/// Where a term of an address comes from, for somebody who reads the source.
std::string origin_of(const Kernel& kernel, std::uint32_t term) {
  if (term >= kernel.values.all.size()) return "a thread index";
  const ptx::Value& v = kernel.values.all[term];
  if (v.kind == ptx::Value::phi) {
    const std::uint32_t loop = kernel.cfg.loop_of[v.block];
    const bool of_loop = loop != ptx::kNone && kernel.cfg.loops[loop].header == v.block;
    return fmt::format("a variable of the {} PTX line {}",
                       of_loop ? "loop that begins in" : "branches before",
                       kernel.line(kernel.cfg.blocks[v.block].first));
  }
  if (v.instruction == ptx::kNone) return "a register that nothing is stored to";
  const ptx::Instruction& i = kernel.instruction(v.instruction);
  const ptx::Opcode& o = kernel.module->opcode(i);
  if (o.op == ptx::Op::ld && o.space == ptx::Space::param && i.operand_count == 2) {
    const ptx::Operand& address = kernel.function->operands[i.first_operand + 1];
    const auto& all = kernel.function->parameters;
    if (address.kind == ptx::OperandKind::address)
      if (const auto at = std::ranges::find(all, kernel.function->operands[address.id].id); at != all.end())
        return fmt::format("parameter {} of the kernel", at - all.begin() + 1);
  }
  if (o.op == ptx::Op::ld) return fmt::format("what is loaded in PTX line {}", kernel.line(v.instruction));
  return fmt::format("the result of '{}' in PTX line {}", o.text, kernel.line(v.instruction));
}

/// Why the range of an address is not known: what in its index has no bounds, which a guard would give.
std::string why_unbounded(const Kernel& kernel, ptx::AddressRanges& ranges, std::uint32_t instruction,
                          const ptx::AddressRange& range) {
  for (const auto& [term, factor] : range.sum.terms) {
    const ptx::AddressRange of = ranges.bounds({{{term, factor}}, 0}, instruction);
    const auto least = of.least ? ranges.extremes(*of.least) : std::nullopt;
    const auto most = of.most ? ranges.extremes(*of.most) : std::nullopt;
    bool from_below = least && least->first >= -kNear, from_above = most && most->second <= kNear;
    if (from_below && from_above) continue;
    if (factor < 0) std::swap(from_below, from_above);
    return fmt::format(": nothing bounds {}{}", origin_of(kernel, term),
                       from_below   ? " from above"
                       : from_above ? " from below"
                                    : "");
  }
  return "";
}

using Extents = std::vector<std::pair<std::uint32_t, Extent>>;

/// Adds an extent to unions of such that overlap, which are in order.
void unite(std::vector<Extent>& parts, Extent e) {
  if (e.begin == e.end) return;
  const auto first = std::ranges::find_if(parts, [&](const Extent& p) { return p.end > e.begin; });
  auto last = first;
  for (; last != parts.end() && last->begin < e.end; ++last) {
    e.begin = std::min(e.begin, last->begin);
    e.end = std::max(e.end, last->end);
  }
  parts.insert(parts.erase(first, last), e);
}

/// Of each access of an array, ascending; none where one is not known, may be of another array too, or
/// reaches all of it, which leaves one part. An access that no thread executes has no bytes.
class ArrayExtents {
 public:
  ArrayExtents(const Kernel& kernel, std::uint32_t object, ptx::AddressRanges& ranges, Tables& tables)
      : kernel_(kernel),
        object_(kernel.use.objects[object]),
        ranges_(ranges),
        tables_(tables),
        size_(object_.dynamic ? kMostBytes : static_cast<std::int64_t>(object_.bytes)) {
    for (std::uint32_t a = 0; a < kernel.use.accesses.size(); ++a)
      if (kernel.use.accesses[a].objects[object]) accesses_.push_back({a, {}, {}});
  }

  std::optional<Extents> by_linear_bounds() {
    for (Entry& e : accesses_)
      if (!find_linear(e) || !e.extent) return std::nullopt;
    return extents();
  }

  /// These take longer, and what they say is never more.
  std::optional<Extents> by_tables() {
    std::vector<Entry*> rest;
    parts.clear();
    for (Entry& e : accesses_) {
      if (!find_linear(e)) return std::nullopt;
      if (e.extent) {
        rest.push_back(&e);
      } else if (!narrow(e)) {
        return std::nullopt;
      } else {
        unite(parts, *e.extent);
      }
    }
    // The widest first: what lies in a union needs no table, for it makes no other parts.
    std::ranges::stable_sort(rest, std::greater{},
                             [](const Entry* e) { return e->extent->end - e->extent->begin; });
    for (Entry* const e : rest) {
      const auto holds = [&](const Extent& p) {
        return p.begin <= e->extent->begin && e->extent->end <= p.end;
      };
      if (std::ranges::any_of(parts, holds)) continue;
      narrow(*e);
      unite(parts, *e->extent);
    }
    return extents();
  }

  std::vector<Extent> parts;  ///< unions of extents that overlap, in order
  Reason why_not;             ///< of the access that was not found

 private:
  struct Entry {
    std::uint32_t access;
    std::optional<ptx::AddressRange> range;
    std::optional<Extent> extent;
  };

  /// False: no address of this array alone.
  bool find_linear(Entry& e) {
    if (e.range) return true;
    const Access& access = kernel_.use.accesses[e.access];
    why_not = {"what this access reaches is not known", kernel_.line(access.instruction)};
    if (access.objects.count() != 1 || access.bytes == 0 || access.address == kNone ||
        kernel_.function->operands[access.address].kind != ptx::OperandKind::address)
      return false;
    ptx::AddressRange range = ranges_.of(access.instruction, access.address);
    if (range.variable != object_.variable) return false;
    e.range = std::move(range);
    e.extent = extent_of(tables_.linear_ends(*e.range), size_, access.bytes);
    return true;
  }

  /// False: tables do not tell what it reaches.
  bool narrow(Entry& e) {
    const Access& access = kernel_.use.accesses[e.access];
    const Tables::Range known = tables_.narrowed(access.instruction, *e.range);
    if (const auto less = known.reached ? extent_of(known, size_, access.bytes) : Extent{}) {
      e.extent = less;
      return true;
    }
    why_not = {"this access is not proved to keep to a part of it" +
                   why_unbounded(kernel_, ranges_, access.instruction, *e.range),
               kernel_.line(access.instruction)};
    return false;
  }

  Extents extents() {
    Extents all;
    parts.clear();
    for (const Entry& e : accesses_) {
      all.emplace_back(e.access, *e.extent);
      unite(parts, *e.extent);
    }
    return all;
  }

  const Kernel& kernel_;
  const Object& object_;
  ptx::AddressRanges& ranges_;
  Tables& tables_;
  std::int64_t size_;
  std::vector<Entry> accesses_;
};

}  // namespace

bool divide_into_parts(Kernel& kernel, ptx::AddressRanges& ranges, Divide what) {
  SharedUse& use = kernel.use;
  std::optional<Tables> tables;
  std::map<std::uint32_t, std::vector<Object>> parts_of;                // by object
  std::vector<std::optional<std::uint32_t>> part(use.accesses.size());  // its place in the list
  std::size_t count = use.objects.size();
  for (std::uint32_t o = 0; o < use.objects.size(); ++o) {
    const Object& object = use.objects[o];
    if (what == Divide::dynamic_array ? !object.divisible : object.dynamic || object.pinned) continue;
    const bool compared =
        std::ranges::any_of(use.compared, [&](const auto& c) { return c.first == o || c.second == o; });
    if (compared) continue;
    if (!tables) tables.emplace(kernel, ranges);
    // Tables take longer: they come for the dynamic array, and where linear bounds do not divide a static
    // one.
    ArrayExtents accesses(kernel, o, ranges, *tables);
    std::optional<Extents> extents = accesses.by_linear_bounds();
    if (!extents || accesses.parts.size() < 2 || object.dynamic) extents = accesses.by_tables();
    const std::vector<Extent>& parts = accesses.parts;
    if (object.dynamic && !extents) use.objects[o].obstacle = accesses.why_not;
    if (!extents || parts.size() < 2 || count + parts.size() > kMaxObjects) continue;
    // The end of what the launch gives is not known: nothing may follow a part that may reach it.
    if (object.dynamic && parts.back().end >= kMostBytes) continue;
    count += parts.size();
    for (const Extent& e : parts) {
      Object p = object;
      p.part = true;
      p.lead = static_cast<std::uint32_t>(e.begin % kUnit);
      p.begin = static_cast<std::uint64_t>(e.begin) - p.lead;
      p.bytes = static_cast<std::uint64_t>(e.end) - p.begin;
      p.pinned.reset();
      parts_of[o].push_back(p);
    }
    for (const auto& [access, extent] : *extents)
      part[access] = static_cast<std::uint32_t>(
          std::max<std::ptrdiff_t>(
              std::ranges::upper_bound(parts, extent.begin, {}, &Extent::begin) - parts.begin(), 1) -
          1);
  }
  if (parts_of.empty()) return false;

  std::vector<Object> objects;
  std::vector<std::uint32_t> first(use.objects.size());  // old object -> new one, or the first of its parts
  for (std::uint32_t o = 0; o < use.objects.size(); ++o) {
    first[o] = static_cast<std::uint32_t>(objects.size());
    if (const auto parts = parts_of.find(o); parts != parts_of.end()) {
      objects.insert(objects.end(), parts->second.begin(), parts->second.end());
      continue;
    }
    objects.push_back(use.objects[o]);
    if (what == Divide::dynamic_array && !objects.back().pinned)
      objects.back().pinned = Reason{"the dynamic array's parts are placed instead", kernel.function->line};
  }
  for (std::uint32_t a = 0; a < use.accesses.size(); ++a) {
    const ObjectSet before = use.accesses[a].objects;
    use.accesses[a].objects.reset();
    for (std::uint32_t o = 0; o < use.objects.size(); ++o)
      if (before[o]) use.accesses[a].objects.set(first[o] + part[a].value_or(0));
  }
  std::vector<Marker> dead;
  for (const Marker& m : use.dead) {
    const auto parts = parts_of.find(m.object);
    const std::uint32_t n = parts == parts_of.end() ? 1 : static_cast<std::uint32_t>(parts->second.size());
    for (std::uint32_t k = 0; k < n; ++k) dead.push_back({m.instruction, first[m.object] + k});
  }
  use.dead = std::move(dead);
  for (auto& [a, b] : use.compared) a = first[a], b = first[b];
  use.objects = std::move(objects);
  return true;
}

std::string part_name(const Object& object, const std::string& array) {
  if (!object.part) return array;
  if (!object.formula.empty()) return fmt::format("{}[{})", array, object.formula);
  return fmt::format("{}[{}..{})", array, page::grouped(object.begin + object.lead),
                     page::grouped(object.begin + object.bytes));
}

}  // namespace warploom::reuse
