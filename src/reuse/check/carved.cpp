#include "reuse/check/carved.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "warploom/ptx/linear.hpp"
#include "warploom/ptx/ranges.hpp"

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;
using ptx::Linear;
using ptx::OperandKind;

constexpr std::int64_t kMostParameter = std::int64_t{1} << 18;  // what AddressRanges takes for granted
constexpr std::int64_t kFar = std::int64_t{1} << 31;

/// What an added register holds: `sum` if all these parameters lie in 0 ... kMostParameter, else 0.
struct Reckoned {
  Linear sum;
  std::set<std::uint32_t> where{};
  bool condition = false;  ///< a predicate: whether the parameter of `where` lies there
};

struct Moved {
  std::vector<Linear> begins, ends;  ///< in the input, not before any of these, and before each of those
  Linear by;
  std::vector<std::uint32_t> accesses{};
  std::size_t part = 0;
};

class Carved {
 public:
  Carved(Kernel& k, const ptx::Module& input, const KernelMatch& match)
      : k_(k),
        input_(input),
        f_(input.functions[match.function]),
        match_(match),
        cfg_(ptx::build_cfg(input, f_)),
        values_(ptx::number_values(cfg_)),
        ranges_(cfg_, values_, options(k)) {}

  void run() {
    if (!match_.shifts.empty() || match_.pool != kNone) return refuse("an array moved in two ways");
    reckon();
    if (!k_.refusals.empty()) return;
    std::vector<Linear> by(k_.accesses.size());
    for (const std::uint32_t at : match_.rebased)
      if (!find_move(at, by)) return;
    if (used_.size() != match_.added.size()) return refuse("an added instruction has no part in an address");
    if (object_ == kNone || !movable()) return;
    std::vector<Moved> all;
    for (std::uint32_t a = 0; a < k_.accesses.size(); ++a)
      if (k_.accesses[a].objects.test(object_) && !reach(a, by[a], all)) return;
    divide(all);
  }

 private:
  static ptx::RangeOptions options(const Kernel& k) {
    ptx::RangeOptions o{k.block};
    o.parameters = true;
    o.assume_parts = k.assume_parts;
    return o;
  }
  void refuse(std::string why) { k_.refusals.push_back(std::move(why)); }
  bool refuse_at(std::uint32_t instruction, std::string_view why) {
    refuse(fmt::format("line {}: {}", k_.line(instruction), why));
    return false;
  }
  bool is_added(std::uint32_t instruction) const {
    return std::ranges::binary_search(match_.added, instruction);
  }
  std::span<const ptx::Operand> operands(std::uint32_t i) const {
    return k_.function.operands_of(k_.function.instructions[i]);
  }
  static bool plain(const ptx::Operand& o) {
    return o.kind == OperandKind::reg && o.component == 0xff && !o.negated;
  }

  /// What stands at the kernel's entry, which all threads come to first, and in order.
  void reckon() {
    std::set<std::uint32_t> written;
    for (const std::uint32_t i : match_.added) {
      const auto all = operands(i);
      if (k_.guarded(i) || all.empty() || !plain(all[0]) || !written.insert(all[0].id).second) {
        refuse_at(i, "an added instruction writes no register of its own");
        return;
      }
    }
    for (std::uint32_t i = 0; is_added(i); ++i) {
      if (i + 1 == k_.function.instructions.size()) break;
      // One that stands before the very first instruction may be that one's address.
      if (std::ranges::binary_search(match_.rebased, i + 1)) break;
      const std::optional<Reckoned> value = evaluate(i);
      if (!value) {
        refuse_at(i, "what this added instruction reckons is not understood");
        return;
      }
      held_[operands(i)[0].id] = *value;
      used_.insert(i);
    }
  }

  std::optional<Reckoned> evaluate(std::uint32_t i) const {
    const auto all = operands(i);
    const std::string_view name =
        k_.module.text_of({k_.function.instructions[i].span.begin, all[0].span.begin});
    const auto is = [&](std::string_view opcode, std::size_t count) {
      return name.starts_with(opcode) && name.find_first_not_of(" \t", opcode.size()) == name.npos &&
             all.size() == count;
    };
    const auto held = [&](std::size_t n, bool condition = false) -> const Reckoned* {
      const auto it = plain(all[n]) ? held_.find(all[n].id) : held_.end();
      return it == held_.end() || it->second.condition != condition ? nullptr : &it->second;
    };
    const auto bits = [&](std::size_t n) -> unsigned {
      return 8u * ptx::type_bytes(k_.function.registers[all[n].id].type);
    };
    if (is("mov.u32", 2)) {
      if (all[1].kind == OperandKind::integer) return Reckoned{ptx::number(all[1].value)};
      return all[1].kind == OperandKind::special ? extent(k_.module.text_of(all[1].span)) : std::nullopt;
    }
    if (is("ld.param.u32", 2) || is("ld.param.u64", 2))
      return parameter(all[1], name.find("64") != name.npos ? 8 : 4);
    if (is("setp.le.u32", 3) || is("setp.le.u64", 3)) {
      const Reckoned* x = held(1);
      if (x == nullptr || !x->where.empty() || x->sum.terms.size() != 1 || x->sum.constant != 0 ||
          x->sum.terms[0].second != 1 || all[2].kind != OperandKind::integer ||
          all[2].value != kMostParameter)
        return std::nullopt;
      const std::uint32_t id = x->sum.terms[0].first;
      const ptx::Unknown& u = ranges_.unknown(id);
      const unsigned width = name.find("64") != name.npos ? 64 : 32;
      if (u.kind != ptx::Unknown::parameter || 8u * u.bytes != width || bits(1) != width) return std::nullopt;
      return Reckoned{{}, {id}, true};
    }
    if (is("cvt.u32.u64", 2) || is("cvt.s64.s32", 2)) {
      const Reckoned* x = held(1);
      if (x == nullptr || bits(1) != (name.find("cvt.u32") != name.npos ? 64u : 32u)) return std::nullopt;
      return *x;
    }
    if (is("mad.lo.s32", 4)) {
      const Reckoned *x = held(1), *y = held(3);
      if (x == nullptr || y == nullptr || !x->where.empty() || !y->where.empty() || bits(1) != 32 ||
          bits(3) != 32 || all[2].kind != OperandKind::integer)
        return std::nullopt;
      const ptx::MaybeLinear sum = ptx::add(y->sum, x->sum, all[2].value);
      return sum ? std::optional(Reckoned{*sum}) : std::nullopt;
    }
    if (is("selp.b32", 4)) {
      const Reckoned *x = held(1), *p = held(3, true);
      if (x == nullptr || p == nullptr || bits(1) != 32 || all[2].kind != OperandKind::integer ||
          all[2].value != 0)
        return std::nullopt;
      Reckoned value = *x;
      value.where.insert(p->where.begin(), p->where.end());
      return value;
    }
    return std::nullopt;
  }

  std::optional<Reckoned> extent(std::string_view name) const {
    if (!name.starts_with("%ntid.") || name.size() != 7 || name[6] < 'x' || name[6] > 'z')
      return std::nullopt;
    const auto axis = static_cast<unsigned>(name[6] - 'x');
    if (const auto& block = k_.block ? k_.block : f_.required_threads)
      return Reckoned{ptx::number((*block)[axis])};
    for (const std::uint32_t id : ranges_.unknowns())
      if (const ptx::Unknown& u = ranges_.unknown(id); u.kind == ptx::Unknown::block_extent && u.axis == axis)
        return Reckoned{{{{id, 1}}, 0}};
    return std::nullopt;
  }

  std::optional<Reckoned> parameter(const ptx::Operand& address, unsigned bytes) const {
    if (address.kind != OperandKind::address || address.count != 1) return std::nullopt;
    const ptx::Operand& base = k_.function.children(address)[0];
    if (base.kind != OperandKind::symbol) return std::nullopt;
    for (const std::uint32_t id : ranges_.unknowns()) {
      const ptx::Unknown& u = ranges_.unknown(id);
      if (u.kind == ptx::Unknown::parameter && u.bytes == bytes && u.offset == base.value + address.value &&
          input_.variables[u.variable].name == k_.module.variables[base.id].name &&
          k_.module.variables[base.id].space == ptx::Space::param)
        return Reckoned{{{{id, 1}}, 0}};
    }
    return std::nullopt;
  }

  std::uint32_t in_input(std::uint32_t at) const {
    const auto before = [&](const std::vector<std::uint32_t>& list) {
      return static_cast<std::uint32_t>(std::ranges::lower_bound(list, at) - list.begin());
    };
    return at - before(match_.inserted) - before(match_.added);
  }
  static const ptx::Operand* address_of(const ptx::Function& f, std::uint32_t instruction) {
    const ptx::Operand* address = nullptr;
    for (const ptx::Operand& o : f.operands_of(f.instructions[instruction]))
      if (o.kind == OperandKind::address) address = &o;
    return address;
  }

  /// An access `[added+4]` stands right behind `add added, base, by`, and was `[base+4]`.
  bool find_move(std::uint32_t at, std::vector<Linear>& by) {
    const std::uint32_t a = k_.access_of[at];
    if (a == kNone || k_.accesses[a].objects.count() != 1)
      return refuse_at(at, "its address differs from the input's, and it is no access of one shared array");
    std::uint32_t object = kNone;
    k_.accesses[a].objects.for_each([&](std::uint32_t o) { object = o; });
    if (object_ == kNone) object_ = object;
    if (object != object_) return refuse_at(at, "parts of two arrays moved");
    const ptx::Operand *is = address_of(k_.function, at), *was = address_of(f_, in_input(at));
    if (is == nullptr || was == nullptr || is->count != 1 || was->count != 1 || is->value != was->value ||
        at == 0 || !is_added(at - 1) || k_.cfg.block_of[at - 1] != k_.cfg.block_of[at])
      return refuse_at(at, "what its address is now is not understood");
    const ptx::Operand &base = k_.function.children(*is)[0], &old = f_.children(*was)[0];
    const auto add = operands(at - 1);
    const std::string_view name =
        k_.module.text_of({k_.function.instructions[at - 1].span.begin, add[0].span.begin});
    const unsigned bits = name.starts_with("add.s32 ") ? 32 : name.starts_with("add.s64 ") ? 64 : 0;
    if (bits == 0 || add.size() != 3 || !plain(base) || !plain(old) || !plain(add[1]) || !plain(add[2]) ||
        add[0].id != base.id || k_.function.registers[add[1].id].name != f_.registers[old.id].name ||
        8u * ptx::type_bytes(k_.function.registers[add[1].id].type) != bits ||
        8u * ptx::type_bytes(k_.function.registers[add[2].id].type) != bits)
      return refuse_at(at, "what is added to its address is not understood");
    const auto held = held_.find(add[2].id);
    if (held == held_.end() || held->second.condition)
      return refuse_at(at, "what is added to its address is not known");
    // All parts move, or none does.
    for (const std::uint32_t id : ranges_.unknowns())
      if (ranges_.unknown(id).kind == ptx::Unknown::parameter && !held->second.where.contains(id))
        return refuse_at(at, "it moves although a parameter may be any number");
    by[a] = held->second.sum;
    used_.insert(at - 1);
    return true;
  }

  /// The one dynamic array, whose address goes nowhere.
  bool movable() {
    const Object& o = k_.objects[object_];
    const auto is_dynamic = [&](const ptx::Variable& v) {
      return v.space == ptx::Space::shared && v.bytes == 0 && v.linkage == ptx::Linkage::external;
    };
    const bool dynamic = std::ranges::any_of(
        k_.module.variables, [&](const ptx::Variable& v) { return v.name == o.name && is_dynamic(v); });
    if (!dynamic || o.offset) refuse(fmt::format("parts of '{}' moved, which is not dynamic", o.name));
    if (!k_.escapes[object_].empty())
      refuse(fmt::format("parts of '{}' moved, but it escapes: {}", o.name, k_.escapes[object_]));
    for (const Kernel::Mixed& m : k_.mixed)
      if (m.first == object_ || m.second == object_)
        refuse(fmt::format("line {}: parts of '{}' moved, and its address meets another's", m.line, o.name));
    return k_.refusals.empty();
  }

  bool reach(std::uint32_t a, const Linear& by, std::vector<Moved>& all) {
    const std::uint32_t at = k_.accesses[a].instruction;
    const std::uint32_t before = in_input(at);
    const ptx::Opcode& opcode = k_.opcode(at);
    const std::int64_t width = std::int64_t{opcode.bytes} * opcode.vector;
    const bool matrix =
        opcode.op == ptx::Op::wmma || opcode.op == ptx::Op::ldmatrix || opcode.op == ptx::Op::stmatrix;
    const ptx::Operand* address = address_of(f_, before);
    if (k_.accesses[a].objects.count() != 1 || width == 0 || matrix || address == nullptr ||
        k_.accesses[a].group != Group::none)
      return refuse_at(at,
                       "what this access of the dynamic array reaches is not known, and parts of it moved");
    const ptx::AddressRange range =
        ranges_.of(before, static_cast<std::uint32_t>(address - f_.operands.data()));
    if (range.variable == kNone || input_.variables[range.variable].name != k_.objects[object_].name ||
        !range.least || !range.most)
      return refuse_at(at, "this access of the dynamic array is not proved to keep to a part of it");
    const auto least = ranges_.extremes(*range.least), most = ranges_.extremes(*range.most);
    if (!least || !most || least->first < -kFar || most->second > kFar)
      return refuse_at(at, "this access of the dynamic array may lie anywhere");
    if (range.assumed) k_.assumed.push_back(k_.line(at));
    Moved m{{Linear{}}, {}, by, {a}};  // an access stays inside its array, which begins at 0
    m.begins.insert(m.begins.end(), range.all_least.begin(), range.all_least.end());
    for (const Linear& last : range.all_most)
      if (const ptx::MaybeLinear end = ptx::add(last, ptx::number(width))) m.ends.push_back(*end);
    const auto far = ranges_.extremes(by);
    const bool inside = std::ranges::any_of(m.begins, [&](const Linear& begin) {
      const ptx::MaybeLinear now = ptx::add(begin, by);
      return now && ranges_.at_most({}, *now);
    });
    if (!far || far->first < -kFar || !ranges_.at_most(by, {}) || !inside)
      return refuse_at(at, "this access moved up, or below the array");
    if (by.constant % width != 0 ||
        std::ranges::any_of(by.terms, [&](const auto& t) { return t.second % width != 0; }))
      return refuse_at(at, fmt::format("this access of {} bytes moved by another multiple", width));
    const auto same = std::ranges::find_if(all, [&](const Moved& other) {
      return other.begins == m.begins && other.ends == m.ends && other.by == m.by;
    });
    if (same != all.end())
      same->accesses.push_back(a);
    else
      all.push_back(std::move(m));
    return true;
  }

  /// Whether no byte of the one is a byte of the other; before anything moved, or now.
  bool apart(const Moved& a, const Moved& b, bool now) const {
    const auto before = [&](const Moved& x, const Moved& y) {
      const ptx::MaybeLinear further = now ? ptx::add(y.by, x.by, -1) : Linear{};
      for (const Linear& end : x.ends)
        for (const Linear& begin : y.begins)
          if (const ptx::MaybeLinear at = ptx::add(begin, further); at && ranges_.at_most(end, *at))
            return true;
      return false;
    };
    return before(a, b) || before(b, a);
  }

  void divide(std::vector<Moved>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].part = i;
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (apart(all[i], all[j], false)) continue;
        if (all[i].by != all[j].by) {
          refuse_at(k_.accesses[all[i].accesses[0]].instruction,
                    fmt::format("this access may reach what line {} reaches, and moved otherwise",
                                k_.line(k_.accesses[all[j].accesses[0]].instruction)));
          return;
        }
        const std::size_t from = std::max(all[i].part, all[j].part),
                          into = std::min(all[i].part, all[j].part);
        for (Moved& m : all)
          if (m.part == from) m.part = into;
      }
    std::map<std::size_t, std::uint32_t> objects;
    for (const Moved& m : all) {
      const auto [slot, fresh] = objects.emplace(m.part, static_cast<std::uint32_t>(k_.objects.size()));
      if (fresh) {
        k_.objects.push_back({fmt::format("{}, part {}", k_.objects[object_].name, objects.size()), 0, {}});
        k_.objects.back().by_launch = true;
      }
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const Moved& a : all)
      for (const Moved& b : all)
        if (a.part < b.part && !apart(a, b, true))
          pairs.emplace(std::min(objects[a.part], objects[b.part]),
                        std::max(objects[a.part], objects[b.part]));
    k_.pairs.assign(pairs.begin(), pairs.end());
    const auto widened = [&](const Bits& bits) {
      Bits more(k_.objects.size());
      bits.for_each([&](std::uint32_t o) { more.set(o); });
      return more;
    };
    for (Access& a : k_.accesses) a.objects = widened(a.objects);
    for (Bits& p : k_.points_to) p = widened(p);
    for (const Moved& m : all)
      for (const std::uint32_t a : m.accesses) {
        k_.accesses[a].objects.clear();
        k_.accesses[a].objects.set(objects[m.part]);
      }
    k_.escapes.resize(k_.objects.size());
    // What was stated of the whole is left aside.
    for (std::uint32_t& o : k_.stated_dead)
      if (o == object_) o = kNone;
  }

  Kernel& k_;
  const ptx::Module& input_;
  const ptx::Function& f_;
  const KernelMatch& match_;
  ptx::Cfg cfg_;
  ptx::Values values_;
  ptx::AddressRanges ranges_;
  std::map<std::uint32_t, Reckoned> held_;  ///< by register
  std::set<std::uint32_t> used_;            ///< added instructions that are accounted for
  std::uint32_t object_ = kNone;
};

}  // namespace

void find_carved_parts(Kernel& k, const ptx::Module& input, const KernelMatch& match) {
  Carved(k, input, match).run();
}

}  // namespace warploom::reuse::checking
