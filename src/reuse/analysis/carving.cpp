#include "reuse/analysis/carving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "reuse/analysis/parts.hpp"
#include "warploom/ptx/linear.hpp"

namespace warploom::reuse {

using ptx::Linear;

namespace {

constexpr std::int64_t kExample = 256;
constexpr std::size_t kMostIntervals = 256;  // each is compared with each

/// Bytes that some accesses reach.
struct Interval {
  Linear begin, end;
  std::vector<Linear> begins, ends;  ///< among which the two are chosen
  std::uint32_t unit = 1;
  bool fixed = false;
  std::size_t part = 0;
};

}  // namespace

bool Carving::find(const Kernel& kernel, std::uint32_t object) {
  std::vector<Interval> intervals;
  std::vector<std::pair<std::uint32_t, std::size_t>> of_access;
  std::vector<std::uint32_t> assumed;
  for (std::uint32_t a = 0; a < kernel.use.accesses.size(); ++a) {
    const Access& access = kernel.use.accesses[a];
    if (!access.objects[object]) continue;
    // Where parts lie that a copy stores to shows in its text only for parts at fixed places.
    if (kernel.module->opcode(kernel.instruction(access.instruction)).op == ptx::Op::cp) return false;
    const ptx::Operand& address = kernel.function->operands[access.address];
    if (access.objects.count() != 1 || access.bytes == 0 || address.kind != ptx::OperandKind::address ||
        address.count != 1)
      return false;
    const ptx::AddressRange range = ranges_->of(access.instruction, access.address);
    if (range.variable != kernel.use.objects[object].variable || !range.least || !range.most) return false;
    const auto least = ranges_->extremes(*range.least), most = ranges_->extremes(*range.most);
    // As in parts.cpp: so near to the array the number is the address, not the same one modulo 2^32.
    if (!least || !most || least->first < -kNear || most->second > kNear) return false;
    if (range.assumed) assumed.push_back(a);
    Interval i;
    i.unit = access.bytes;
    i.fixed = kernel.function->operands[address.id].kind != ptx::OperandKind::reg;
    for (const Linear& begin : range.all_least)
      if (ranges_->at_most({}, begin)) i.begins.push_back(begin);
    if (i.begins.empty()) i.begins.push_back({});  // an access stays inside its array
    for (const Linear& last : range.all_most)
      if (const ptx::MaybeLinear end = ptx::add(last, ptx::number(access.bytes))) i.ends.push_back(*end);
    if (i.ends.empty()) return false;
    const auto same = std::ranges::find_if(
        intervals, [&](const Interval& other) { return other.begins == i.begins && other.ends == i.ends; });
    if (same != intervals.end()) {
      same->unit = std::max(same->unit, i.unit);
      same->fixed |= i.fixed;
    }
    of_access.emplace_back(a, same - intervals.begin());
    if (same == intervals.end()) intervals.push_back(std::move(i));
  }
  if (intervals.size() > kMostIntervals) return false;
  // Of several ends the one that keeps an interval before most others, then of several beginnings the one
  // behind most.
  for (Interval& i : intervals)
    i.end = *std::ranges::max_element(i.ends, {}, [&](const Linear& end) {
      return std::ranges::count_if(intervals, [&](const Interval& other) {
        return std::ranges::any_of(other.begins, [&](const Linear& b) { return ranges_->at_most(end, b); });
      });
    });
  for (Interval& i : intervals)
    i.begin = *std::ranges::max_element(i.begins, {}, [&](const Linear& begin) {
      return std::ranges::count_if(intervals,
                                   [&](const Interval& other) { return ranges_->at_most(other.end, begin); });
    });
  // What is not proved apart is one part.
  const auto apart = [&](const Interval& a, const Interval& b) {
    return ranges_->at_most(a.end, b.begin) || ranges_->at_most(b.end, a.begin);
  };
  std::vector<std::size_t> root(intervals.size());
  std::iota(root.begin(), root.end(), 0);
  for (std::size_t i = 0; i < intervals.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (root[i] != root[j] && !apart(intervals[i], intervals[j]))
        std::ranges::replace(root, std::max(root[i], root[j]), std::min(root[i], root[j]));
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    if (root[i] == i) {
      intervals[i].part = parts_.size();
      parts_.push_back({intervals[i].begin, {}});
    }
    intervals[i].part = intervals[root[i]].part;
    CarvedPart& p = parts_[intervals[i].part];
    if (ranges_->at_most(intervals[i].begin, p.begin)) p.begin = intervals[i].begin;
    p.unit = std::max(p.unit, intervals[i].unit);
    p.fixed |= intervals[i].fixed;
  }
  for (const Interval& i : intervals) {
    CarvedPart& p = parts_[i.part];
    if (!ranges_->at_most(p.begin, i.begin)) return false;
    for (const Linear& end : i.ends)
      if (std::ranges::find(p.ends, end) == p.ends.end() &&
          std::ranges::all_of(intervals, [&](const Interval& other) {
            return other.part != i.part ||
                   std::ranges::any_of(other.ends, [&](const Linear& e) { return ranges_->at_most(e, end); });
          }))
        p.ends.push_back(end);
  }
  for (CarvedPart& p : parts_) {
    if (p.ends.empty()) return false;
    // First the one in the numbers that the array is carved by, then the simplest.
    std::ranges::stable_sort(p.ends, {}, [&](const Linear& end) {
      const auto foreign = std::ranges::count_if(end.terms, [&](const auto& term) {
        return std::ranges::none_of(parts_, [&](const CarvedPart& q) {
          return std::ranges::any_of(q.begin.terms, [&](const auto& t) { return t.first == term.first; });
        });
      });
      return std::pair{foreign, end.terms.size()};
    });
  }
  std::vector<std::size_t> order(parts_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t p) { return at_example(parts_[p].begin); });
  std::vector<CarvedPart> sorted;
  std::vector<std::uint32_t> place(parts_.size());
  for (const std::size_t p : order) {
    place[p] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(parts_[p]);
  }
  parts_ = std::move(sorted);
  for (const auto& [access, interval] : of_access)
    part_of_.emplace_back(access, place[intervals[interval].part]);
  for (const auto& entry : part_of_)
    if (std::ranges::binary_search(assumed, entry.first)) assumed_.push_back(entry);
  bool depends = false;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    depends |= !parts_[p].begin.terms.empty();
    if (p > 0 && !before(parts_[p - 1].ends, {}, parts_[p].begin)) return false;
  }
  return depends && parts_.size() >= 2;
}

std::optional<Carving> Carving::of(Kernel& kernel) {
  SharedUse& use = kernel.use;
  const auto dynamic = std::ranges::find_if(use.objects, [](const Object& o) { return o.divisible; });
  if (dynamic == use.objects.end()) return std::nullopt;
  if (kernel.module->text.find("%warploom_") != std::string::npos) return std::nullopt;  // moved already
  const auto array = static_cast<std::uint32_t>(dynamic - use.objects.begin());
  if (std::ranges::any_of(use.compared, [&](const auto& c) { return c.first == array || c.second == array; }))
    return std::nullopt;
  Carving carving;
  ptx::RangeOptions options{kernel.block};
  options.parameters = true;
  options.assume_parts = kernel.assume_parts;
  carving.ranges_ = std::make_unique<ptx::AddressRanges>(kernel.cfg, kernel.values, options);
  if (!carving.find(kernel, array) || use.objects.size() + carving.parts_.size() > kMaxObjects)
    return std::nullopt;

  for (const std::uint32_t id : carving.ranges_->unknowns()) {
    const ptx::Unknown& u = carving.ranges_->unknown(id);
    const auto& all = kernel.function->parameters;
    carving.names_[id] = u.kind == ptx::Unknown::block_extent
                             ? fmt::format("block_{}", "xyz"[u.axis])
                             : fmt::format("param_{}", std::ranges::find(all, u.variable) - all.begin()) +
                                   (u.offset == 0 ? "" : fmt::format("_at_{}", u.offset));
  }
  std::vector<Object> parts;
  for (const CarvedPart& p : carving.parts_) {
    Object o = *dynamic;
    o.part = true;
    const std::int64_t begin = carving.at_example(p.begin);
    o.lead = static_cast<std::uint32_t>(begin % 16);
    o.begin = static_cast<std::uint64_t>(begin) - o.lead;
    o.bytes = static_cast<std::uint64_t>(carving.at_example(p.ends[0])) - o.begin;
    o.pinned.reset();
    o.formula = carving.text(p.begin) + ".." + carving.text(p.ends[0]);
    parts.push_back(o);
  }
  carving.first_ = array;
  use.objects.erase(dynamic);
  for (Object& o : use.objects)
    if (!o.pinned) o.pinned = Reason{"the dynamic array's parts are placed instead", kernel.function->line};
  use.objects.insert(use.objects.begin() + array, parts.begin(), parts.end());
  const auto later = static_cast<std::uint32_t>(parts.size() - 1);
  for (Access& access : use.accesses) {
    ObjectSet now;
    for (std::uint32_t o = 0; o + later < use.objects.size(); ++o)
      if (access.objects[o] && o != array) now.set(o > array ? o + later : o);
    access.objects = now;
  }
  for (const auto& [access, part] : carving.part_of_) use.accesses[access].objects.set(array + part);
  std::erase_if(use.dead, [&](const Marker& m) { return m.object == array; });
  for (Marker& m : use.dead) m.object += m.object > array ? later : 0;
  for (auto& [a, b] : use.compared) a += a > array ? later : 0, b += b > array ? later : 0;
  return carving;
}

bool Carving::before(const std::vector<Linear>& ends, const Linear& moved, const Linear& at) const {
  return std::ranges::any_of(ends, [&](const Linear& end) {
    const ptx::MaybeLinear now = ptx::add(end, moved);
    return now && ranges_->at_most(*now, at);
  });
}

CarvedPlan Carving::place(const Interference& interference) const {
  CarvedPlan plan;
  std::vector<Linear> begin;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const CarvedPart& part = parts_[p];
    std::vector<Linear> places{{}};
    for (std::size_t q = 0; q < p; ++q)
      for (const Linear& end : parts_[q].ends) places.push_back(*ptx::add(end, plan.moved[q]));
    std::ranges::sort(places, {}, [&](const Linear& at) { return at_example(at); });
    Linear moved;  // where it was is free: what came before it moved down, or not at all
    for (const Linear& at : places) {
      const ptx::MaybeLinear by = ptx::add(at, part.begin, -1);
      if (part.fixed || !by || !ranges_->at_most(*by, {}) || by->constant % part.unit != 0 ||
          std::ranges::any_of(by->terms, [&](const auto& t) { return t.second % part.unit != 0; }))
        continue;
      bool free = true;
      for (std::size_t q = 0; q < p && free; ++q)
        free = !interference.between(object(p), object(q)) || before(part.ends, *by, begin[q]) ||
               before(parts_[q].ends, plan.moved[q], at);
      if (!free) continue;
      moved = *by;
      break;
    }
    begin.push_back(*ptx::add(part.begin, moved));
    plan.moved.push_back(moved);
  }
  // The new size is the greatest end. Of a part with several any will do: one that another part has anyway.
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const auto end = std::ranges::max_element(parts_[p].ends, {}, [&](const Linear& e) {
      return std::ranges::count_if(parts_, [&](const CarvedPart& other) {
        const std::size_t q = &other - parts_.data();
        return std::ranges::any_of(other.ends, [&](const Linear& o) {
          return ranges_->at_most(*ptx::add(e, plan.moved[p]), *ptx::add(o, plan.moved[q]));
        });
      });
    });
    plan.ends.push_back(*ptx::add(*end, plan.moved[p]));
    plan.example_bytes = std::max(plan.example_bytes, static_cast<std::uint64_t>(at_example(plan.ends[p])));
  }
  std::vector<Linear> greatest;
  for (std::size_t p = 0; p < plan.ends.size(); ++p) {
    bool needed = true;  // of equal ones the first
    for (std::size_t q = 0; q < plan.ends.size(); ++q)
      needed &= p == q ||
                is_open(plan.ends[p]) != is_open(plan.ends[q]) ||  // of an open one nothing is known
                !ranges_->at_most(plan.ends[p], plan.ends[q]) || (plan.ends[p] == plan.ends[q] && p < q);
    if (needed) greatest.push_back(plan.ends[p]);
  }
  plan.ends = std::move(greatest);
  return plan;
}

std::vector<ObjectSet> Carving::overlaps(const CarvedPlan& plan, std::size_t objects) const {
  std::vector<ObjectSet> result(objects);
  const auto begin = [&](std::size_t p) { return *ptx::add(parts_[p].begin, plan.moved[p]); };
  for (std::size_t p = 0; p < parts_.size(); ++p)
    for (std::size_t q = 0; q < p; ++q) {
      if (before(parts_[p].ends, plan.moved[p], begin(q)) || before(parts_[q].ends, plan.moved[q], begin(p)))
        continue;
      result[object(p)].set(object(q));
      result[object(q)].set(object(p));
    }
  return result;
}

std::string Carving::text(const Linear& a) const {
  std::string text;
  const auto term = [&](std::int64_t factor, const std::string& name) {
    const std::int64_t size = factor < 0 ? -factor : factor;
    text += text.empty() ? (factor < 0 ? "-" : "") : factor < 0 ? " - " : " + ";
    text += name.empty() ? fmt::format("{}", size) : size == 1 ? name : fmt::format("{} * {}", size, name);
  };
  if (is_open(a)) term(1, "before");
  for (const auto& [id, factor] : a.terms) term(factor, name(id));
  const std::int64_t constant = a.constant - (is_open(a) ? ptx::kOpenEnd : 0);
  if (constant != 0 || text.empty()) term(constant, "");
  return text;
}

std::string Carving::place_of(std::size_t part, const CarvedPlan& plan) const {
  return text(*ptx::add(parts_[part].begin, plan.moved[part]));
}

std::int64_t Carving::example_of(std::uint32_t unknown) const {
  const ptx::Unknown& u = ranges_->unknown(unknown);
  const bool across = u.kind == ptx::Unknown::block_extent && u.axis > 0;
  return std::clamp<std::int64_t>(across ? 1 : kExample, u.least, u.most);
}

std::int64_t Carving::at_example(const Linear& a) const {
  std::int64_t sum = a.constant;
  for (const auto& [id, factor] : a.terms) sum += factor * example_of(id);
  // Of an open end: a launch that passes four times as many bytes behind the last part's beginning.
  if (is_open(a)) sum += at_example(parts_.back().begin) + 4 * kExample - ptx::kOpenEnd;
  return sum;
}

}  // namespace warploom::reuse
