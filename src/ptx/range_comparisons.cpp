// What a comparison says of the numbers that it compares.

#include <algorithm>

#include "ptx/range_finder.hpp"

namespace warploom::ptx {

const std::vector<Linear>& AddressRanges::Finder::facts_of(const Condition& c) {
  const std::uint32_t key = 2 * c.instruction + c.holds;
  if (const auto it = facts.find(key); it != facts.end()) return it->second;
  const Instruction& i = cfg.instruction(c.instruction);
  const auto a = operand_form(i.first_operand + 1, type_of(i).bits),
             b = operand_form(i.first_operand + 2, type_of(i).bits);
  // The bounds of what is compared come first: a loop's counter asks for this comparison itself.
  for (const auto& side : {a, b})
    if (side)
      for (const auto& [id, factor] : side->sum.terms) atom_bounds(id);
  if (const auto it = facts.find(key); it != facts.end()) return it->second;
  facts[key] = {};
  account.push_back({Entry::fact, key});
  std::vector<Linear> found;
  if (a && b && a->base == b->base) found = compare(c, a->sum, b->sum, a->base != kNone);
  return facts[key] = std::move(found);
}

std::vector<Linear> AddressRanges::Finder::compare(const Condition& c, const Linear& a, const Linear& b,
                                                   bool addresses) {
  const Instruction& i = cfg.instruction(c.instruction);
  const Opcode& o = module.opcode(i);
  Integer type = type_of(i);
  if (type.bits == 0 || o.parts.size() < 3) return {};
  std::string_view how = o.parts[1];
  if (how == "lo" || how == "ls" || how == "hi" || how == "hs") type.is_signed = false;
  if (how == "lo") how = "lt";
  if (how == "ls") how = "le";
  if (how == "hi") how = "gt";
  if (how == "hs") how = "ge";
  if (!c.holds) {
    static const std::map<std::string_view, std::string_view> kOpposite = {
        {"lt", "ge"}, {"le", "gt"}, {"gt", "le"}, {"ge", "lt"}, {"eq", "ne"}, {"ne", "eq"}};
    const auto it = kOpposite.find(how);
    if (it == kOpposite.end()) return {};
    how = it->second;
  }
  if (how == "ne") {
    std::vector<Linear> found = never_met(c, a, b);
    // Numbers whose bits differ, differ: at the end of a range that is one number less.
    if (const MaybeLinear d = addresses ? std::nullopt : add(a, b, -1)) {
      const Bounds of = bounds_of(*d, conditions.in_block(cfg.block_of[c.instruction]));
      if (of.least && at_least(*of.least, 0)) found.push_back(*add(number(1), *d, -1));
      if (of.most && at_most(*of.most, 0)) found.push_back(*add(*d, number(1)));
    }
    return found;
  }
  std::vector<Linear> found;
  const auto below = [&](const Linear& x, const Linear& y, std::int64_t by) {  // x + by <= y
    if (const MaybeLinear d = add(add(x, y, -1), number(by))) found.push_back(*d);
  };
  const auto& where = conditions.in_block(cfg.block_of[c.instruction]);
  bool natural_too = false;  // an unsigned comparison with a number of at least 0
  if (!trust_comparisons) {
    const Bounds x = bounds_of(a, where), y = bounds_of(b, where);
    if (addresses) {
      if (!within(x, 0, kMostOffset) || !within(y, 0, kMostOffset)) return {};
    } else {
      const Integer s{type.bits, true}, u{type.bits, false};
      const bool same_signed = within(x, s.least(), s.most()) && within(y, s.least(), s.most());
      const bool same_unsigned = within(x, u.least(), u.most()) && within(y, u.least(), u.most());
      if (how == "eq") {
        if (!same_signed && !same_unsigned) return {};
      } else if (type.is_signed ? !same_signed : !same_unsigned) {
        const bool upper_is_natural = same_signed && !type.is_signed;
        if (!upper_is_natural) return {};
        // x < y as bits, and y is natural: so are the bits of x.
        const bool less = how == "lt" || how == "le";
        if (!at_least(*(less ? y : x).least, 0)) return {};
        natural_too = true;
      }
    }
  }
  if (how == "lt") below(a, b, 1);
  if (how == "le" || how == "eq") below(a, b, 0);
  if (how == "gt") below(b, a, 1);
  if (how == "ge" || how == "eq") below(b, a, 0);
  if (natural_too) below(number(0), how == "lt" || how == "le" ? a : b, 0);
  return found;
}

std::uint32_t AddressRanges::Finder::block_of(const Value& v) const {
  return v.kind == Value::phi ? v.block : v.instruction == kNone ? kNone : cfg.block_of[v.instruction];
}

std::vector<Linear> AddressRanges::Finder::never_met(const Condition& c, const Linear& a, const Linear& b) {
  const std::uint32_t here = cfg.block_of[c.instruction];
  const Loop* loop = cfg.loop_of[here] == kNone ? nullptr : &cfg.loops[cfg.loop_of[here]];
  // Each iteration compares, and goes on only if they differ; otherwise the loop is left.
  if (loop == nullptr || (here != loop->header && loop->latches != std::vector{here})) return {};
  unsigned inside = 0;
  for (const std::uint32_t s : cfg.graph.successors[here]) {
    if (!loop->contains(s)) continue;
    const std::vector<Condition> all = conditions.on_edge(here, s);
    inside +=
        std::any_of(all.begin() + static_cast<std::ptrdiff_t>(conditions.in_block(here).size()), all.end(),
                    [&](const Condition& x) { return x.instruction == c.instruction && x.holds == c.holds; })
            ? 1
            : 2;
  }
  if (inside != 1) return {};
  const MaybeLinear distance = add(b, a, -1);
  if (!distance) return {};
  for (const auto& [id, factor] : distance->terms) {
    if (id < values.all.size()) form(id);  // what was found of its step may rest on a guess that was dropped
    const auto it = steps.find(id);
    if (it == steps.end() || values.all[id].block != loop->header || !it->second.first ||
        it->second.first->base != kNone || !it->second.step.terms.empty() || it->second.step.constant == 0)
      continue;
    const std::int64_t advance = -factor * it->second.step.constant;  // of a towards b
    const MaybeLinear first = add(add(*distance, atom(id).sum, -factor), it->second.first->sum, factor);
    if (!first || first->constant % advance != 0) return {};
    for (const auto& [term, times_in_it] : first->terms) {
      if (times_in_it % advance != 0) return {};
      // Only the counter may change in the loop.
      const std::uint32_t at = term < values.all.size() ? block_of(values.all[term]) : kNone;
      if (at != kNone && loop->contains(at)) return {};
    }
    for (const std::uint32_t from : cfg.graph.predecessors[loop->header]) {
      if (loop->contains(from) || !cfg.reachable[from]) continue;
      const Bounds at_first = bounds_of(*first, conditions.on_edge(from, loop->header));
      if (advance > 0 ? !at_first.least || !at_least(*at_first.least, 0)
                      : !at_first.most || !at_most(*at_first.most, 0))
        return {};
    }
    const MaybeLinear fact =
        advance > 0 ? add(number(advance), *distance, -1) : add(*distance, number(-advance));
    return fact ? std::vector<Linear>{*fact} : std::vector<Linear>{};
  }
  return {};
}

}  // namespace warploom::ptx
