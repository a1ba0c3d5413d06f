#include "warploom/ptx/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/range_finder.hpp"
#include "warploom/core/error.hpp"

namespace warploom::ptx {

AddressRanges::Finder::Finder(const Cfg& c, const Values& v, const RangeOptions& o)
    : cfg(c), module(*c.module), f(*c.function), values(v), conditions(c, v), block(o.block) {
  if (!block) block = f.required_threads;
  forms.resize(values.all.size());
  for (std::uint8_t axis = 0; axis < 3; ++axis) {
    std::int64_t most = axis == 2 ? 64 : 1024;
    if (const auto& limit = f.maximal_threads)
      most = std::min(most, std::int64_t{(*limit)[0]} * (*limit)[1] * (*limit)[2]);
    unknowns[extent(axis)] = {Unknown::block_extent, axis, 4, kNone, 0, 1, most};
  }
  bounds.resize(extent(3) + 1);
  if (o.parameters && cfg.reducible) allow_parameters();
  assume_parts = o.parameters && o.assume_parts;
}

void AddressRanges::Finder::forget(std::size_t from) {
  while (account.size() > from) {
    const Entry e = account.back();
    account.pop_back();
    if (e.kind == Entry::form) forms[e.id].reset();
    if (e.kind == Entry::bound) bounds[e.id].reset();
    if (e.kind == Entry::fact) facts.erase(e.id);
  }
}

std::optional<std::int64_t> AddressRanges::Finder::extreme(const Linear& a, bool greatest) const {
  std::int64_t sum = a.constant;
  for (const auto& [id, factor] : a.terms) {
    const auto u = unknowns.find(id);
    if (u == unknowns.end()) return std::nullopt;
    sum += factor * ((factor > 0) == greatest ? u->second.most : u->second.least);
  }
  return sum;
}

bool AddressRanges::Finder::at_most(const Linear& a, const Linear& b) const {
  const MaybeLinear difference = add(b, a, -1);
  if (!difference) return false;
  const auto least = extreme(*difference, false);
  return least && *least >= 0;
}

MaybeLinear AddressRanges::Finder::greater(const MaybeLinear& a, const MaybeLinear& b) const {
  if (!a || !b) return std::nullopt;
  if (at_most(*a, *b)) return b;
  if (at_most(*b, *a)) return a;
  const auto x = extreme(*a, true), y = extreme(*b, true);
  return x && y ? MaybeLinear(number(std::max(*x, *y))) : std::nullopt;
}

MaybeLinear AddressRanges::Finder::lesser(const MaybeLinear& a, const MaybeLinear& b) const {
  if (!a || !b) return std::nullopt;
  const MaybeLinear most = greater(times(*a, -1), times(*b, -1));
  return most ? times(*most, -1) : std::nullopt;
}

Bounds AddressRanges::Finder::joined(const Bounds& a, const Bounds& b) const {
  return {lesser(a.least, b.least), greater(a.most, b.most)};
}

bool AddressRanges::Finder::within(const Bounds& b, std::int64_t least, std::int64_t most) const {
  return b.least && b.most && at_least(*b.least, least) && at_most(*b.most, most);
}

Bounds AddressRanges::Finder::of_type(Integer t) const {
  if (t.bits == 0 || t.bits > 32) return {};
  return between(t.least(), t.most());
}

std::optional<std::pair<std::int64_t, std::int64_t>> AddressRanges::Finder::natural(const Bounds& b) const {
  if (!b.least || !b.most || !at_least(*b.least, 0)) return std::nullopt;
  const auto least = extreme(*b.least, false), most = extreme(*b.most, true);
  if (!least || !most) return std::nullopt;
  return std::pair{*least, *most};
}

AddressRanges::AddressRanges(const Cfg& cfg, const Values& values, const RangeOptions& options)
    : finder_(nullptr) {
  if (cfg.module == nullptr || cfg.function == nullptr ||
      values.of_operand.size() != cfg.function->operands.size() ||
      values.of_guard.size() != cfg.function->instructions.size() || values.phis.size() != cfg.blocks.size())
    throw BadInput("ranges of addresses: the control flow and the values are not of one function");
  if (options.block &&
      std::ranges::any_of(*options.block, [](std::uint32_t n) { return n == 0 || n > 1024; }))
    throw BadInput(fmt::format("ranges of addresses: a block of {} x {} x {} threads", (*options.block)[0],
                               (*options.block)[1], (*options.block)[2]));
  finder_ = std::make_unique<Finder>(cfg, values, options);
}
AddressRanges::~AddressRanges() = default;

AddressRange AddressRanges::of(std::uint32_t instruction, std::uint32_t operand) {
  const Function& f = finder_->f;
  if (instruction >= f.instructions.size() || operand >= f.operands.size())
    throw BadInput(fmt::format("range of operand {} of instruction {}: the function has {} and {}", operand,
                               instruction, f.operands.size(), f.instructions.size()));
  // A cycle with a second entry is no loop whose first values are known.
  if (!finder_->cfg.reducible || !finder_->cfg.reachable[finder_->cfg.block_of[instruction]]) return {};
  const std::optional<Form> form = finder_->operand_form(operand, 64);
  if (!form || form->base == kNone) return {};
  AddressRange range = finder_->all_bounds_of(form->sum, finder_->conditions.at(instruction));
  range.variable = form->base;
  if (finder_->assume_parts) finder_->assume(range, form->sum, instruction);
  return range;
}

std::optional<Linear> AddressRanges::sum_of(std::uint32_t value) {
  if (value >= finder_->values.all.size())
    throw BadInput(fmt::format("sum of value {}: there are {}", value, finder_->values.all.size()));
  if (!finder_->cfg.reducible) return std::nullopt;
  const Form& form = finder_->form(value);
  return form.base == kNone ? std::optional(form.sum) : std::nullopt;
}

AddressRange AddressRanges::bounds(const Linear& sum, std::uint32_t instruction) {
  if (instruction >= finder_->f.instructions.size() ||
      std::ranges::any_of(sum.terms, [&](const auto& t) { return t.first >= finder_->bounds.size(); }))
    throw BadInput("bounds of a sum: no sum of this kernel's numbers, or no instruction of it");
  if (!finder_->cfg.reducible || !finder_->cfg.reachable[finder_->cfg.block_of[instruction]]) return {};
  return finder_->all_bounds_of(sum, finder_->conditions.at(instruction));
}

std::vector<Condition> AddressRanges::conditions(std::uint32_t instruction) const {
  if (instruction >= finder_->f.instructions.size())
    throw BadInput(fmt::format("conditions at instruction {}: the function has {}", instruction,
                               finder_->f.instructions.size()));
  return finder_->conditions.at(instruction);
}

bool AddressRanges::at_most(const Linear& a, const Linear& b) const { return finder_->at_most(a, b); }

std::optional<std::pair<std::int64_t, std::int64_t>> AddressRanges::extremes(const Linear& a) const {
  const auto least = finder_->extreme(a, false), most = finder_->extreme(a, true);
  if (!least || !most) return std::nullopt;
  return std::pair{*least, *most};
}

const Unknown& AddressRanges::unknown(std::uint32_t id) const {
  const auto it = finder_->unknowns.find(id);
  if (it == finder_->unknowns.end()) throw BadInput(fmt::format("there is no unknown {}", id));
  return it->second;
}

std::vector<std::uint32_t> AddressRanges::unknowns() const {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, unknown] : finder_->unknowns) ids.push_back(id);
  return ids;
}

}  // namespace warploom::ptx
