// Parts of the dynamic array that nothing proves: RangeOptions::assume_parts.
#include <algorithm>
#include <map>

#include "ptx/range_finder.hpp"

namespace warploom::ptx {

std::int64_t AddressRanges::Finder::at_example(const Linear& a) const {
  constexpr std::int64_t kExample = 256;
  std::int64_t sum = a.constant;
  for (const auto& [id, factor] : a.terms) {
    const Unknown& u = unknowns.at(id);
    const bool across = u.kind == Unknown::block_extent && u.axis > 0;
    sum += factor * std::clamp<std::int64_t>(across ? 1 : kExample, u.least, u.most);
  }
  return sum;
}

const std::vector<Linear>& AddressRanges::Finder::parts_of(std::uint32_t variable) {
  const auto [slot, fresh] = carved.try_emplace(variable);
  std::vector<Linear>& parts = slot->second;
  if (!fresh) return parts;
  // Of `b[i - 1]`, `b[i]` and `b[i + 1]` the second shows where b begins.
  std::map<std::vector<std::pair<std::uint32_t, std::int64_t>>, std::int64_t> constants;
  for (const Instruction& i : f.instructions) {
    for (std::uint32_t k = i.first_operand; k < i.first_operand + i.operand_count; ++k) {
      if (f.operands[k].kind != OperandKind::address) continue;
      const std::optional<Form> form = operand_form(k, 64);
      if (!form || form->base != variable) continue;
      const auto [uniform, other] = parted(form->sum);
      // What counts down begins at the end of something.
      if (std::ranges::any_of(other.terms, [](const auto& t) { return t.second < 0; })) continue;
      const auto [at, first] = constants.emplace(uniform.terms, uniform.constant);
      const std::int64_t c = uniform.constant;
      if (!first && (at->second < 0 ? c > at->second : c >= 0 && c < at->second)) at->second = c;
    }
  }
  for (const auto& [terms, constant] : constants) parts.push_back({terms, terms.empty() ? 0 : constant});
  std::ranges::sort(parts, {}, [&](const Linear& a) { return at_example(a); });
  for (std::size_t p = 0; p + 1 < parts.size(); ++p)
    if (!at_most(parts[p], parts[p + 1])) parts.clear();
  if (!parts.empty() && !at_most({}, parts[0])) parts.clear();
  if (parts.size() < 2) parts.clear();
  return parts;
}

void AddressRanges::Finder::assume(AddressRange& range, const Linear& sum, std::uint32_t instruction) {
  constexpr std::int64_t kFar = std::int64_t{1} << 31;  // beyond that a number names no byte by itself
  const Variable& v = module.variables[range.variable];
  const Opcode& opcode = module.opcode(f.instructions[instruction]);
  const std::int64_t width = std::int64_t{opcode.bytes} * opcode.vector;
  if (v.space != Space::shared || v.bytes != 0 || width == 0) return;
  const std::vector<Linear>& parts = parts_of(range.variable);
  const auto least = range.least ? extreme(*range.least, false) : std::nullopt;
  const auto most = range.most ? extreme(*range.most, true) : std::nullopt;
  const bool from_below = least && *least >= -kFar, from_above = most && *most <= kFar;
  const auto not_before = [&](const Linear& place) {
    return from_below &&
           std::ranges::any_of(range.all_least, [&](const Linear& l) { return at_most(place, l); });
  };
  // The part that its address is made from; of one that counts down, the last that it is not before.
  const auto [uniform, other] = parted(sum);
  auto part = std::ranges::find(parts, uniform.terms, &Linear::terms);
  if (std::ranges::any_of(other.terms, [](const auto& t) { return t.second < 0; })) {
    part = parts.end();
    for (auto p = parts.begin(); p != parts.end(); ++p)
      if (not_before(*p)) part = p;
  }
  if (part == parts.end()) return;
  const bool is_last = part + 1 == parts.end();
  const MaybeLinear last = add(is_last ? number(kOpenEnd) : *(part + 1), number(width), -1);
  if (!last) return;
  const bool stays =
      from_above &&
      (is_last || std::ranges::any_of(range.all_most, [&](const Linear& m) { return at_most(m, *last); }));
  // What is proved to reach further is not taken to stay.
  const bool leaves = from_above && !stays && !range.all_most.empty() &&
                      std::ranges::all_of(range.all_most, [&](const Linear& m) { return at_most(*last, m); });
  if (leaves) return;
  if (!from_below) range.least = *part, range.all_least = {*part}, range.assumed = true;
  if (!stays) range.most = *last, range.all_most = {*last}, range.assumed = true;
}

}  // namespace warploom::ptx
