#include "reuse/check/table.hpp"

#include <algorithm>
#include <numeric>

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;
using ptx::Op;
using ptx::OperandKind;

constexpr std::int64_t kMostRows = 8192;
constexpr std::uint64_t kMostWork = 20'000'000;  // instructions evaluated for one kernel
constexpr unsigned kDeepest = 64;
constexpr std::size_t kMostMet = 512;

std::int64_t factor_of(const ptx::Linear& sum, std::uint32_t id) {
  for (const auto& [term, factor] : sum.terms)
    if (term == id) return factor;
  return 0;
}

/// How often `index` is in `sum`; the other terms are left in `rest`.
std::int64_t take_out(const ptx::Linear& index, const ptx::Linear& sum, ptx::Linear& rest) {
  const std::int64_t unit = index.terms[0].second, have = factor_of(sum, index.terms[0].first);
  const std::int64_t times = have % unit == 0 ? have / unit : 0;
  rest = {{}, sum.constant};
  for (const auto& [id, factor] : sum.terms)
    if (const std::int64_t left = factor - times * factor_of(index, id); left != 0)
      rest.terms.emplace_back(id, left);
  for (const auto& [id, factor] : index.terms)
    if (factor_of(sum, id) == 0 && times != 0) rest.terms.emplace_back(id, -times * factor);
  std::ranges::sort(rest.terms);
  return times;
}

}  // namespace

Walk::Walk(const Kernel& k, const KernelMatch& match, const ptx::Cfg& cfg, const ptx::Values& values,
           ptx::AddressRanges& ranges)
    : k_(k),
      match_(match),
      cfg_(cfg),
      f_(*cfg.function),
      values_(values),
      ranges_(ranges),
      known_(values.all.size()),
      known_at_(values.all.size()) {}

std::vector<Walk::Passed> Walk::passed(std::uint32_t instruction) const {
  std::vector<Passed> all;
  const ptx::Instruction& own = f_.instructions[instruction];
  if (own.guard != kNone) all.push_back({values_.of_guard[instruction], !own.guard_negated});
  for (std::uint32_t b = cfg_.block_of[instruction]; cfg_.dominators.parent(b) != kNone;
       b = cfg_.dominators.parent(b)) {
    const std::uint32_t above = cfg_.dominators.parent(b);
    const auto& out = cfg_.graph.successors[above];
    if (cfg_.graph.predecessors[b] != std::vector{above} || out.size() != 2 || out[0] == out[1]) continue;
    const std::uint32_t last = cfg_.blocks[above].last - 1;
    const ptx::Instruction& i = f_.instructions[last];
    if (cfg_.module->opcode(i).op != Op::bra || i.guard == kNone) continue;
    // Whoever did not jump goes on with the next instruction.
    const bool fell_through = cfg_.blocks[b].first == last + 1;
    const std::uint32_t other = out[0] == b ? out[1] : out[0];
    if (!fell_through && cfg_.blocks[other].first != last + 1) continue;
    all.push_back({values_.of_guard[last], fell_through == i.guard_negated});
  }
  return all;
}

bool Walk::computes(std::uint32_t atom) const {
  if (atom >= values_.all.size() || values_.all[atom].kind != ptx::Value::definition) return false;
  const ptx::Instruction& i = f_.instructions[values_.all[atom].instruction];
  switch (cfg_.module->opcode(i).op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::mad:
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::not_:
    case Op::neg:
    case Op::abs_:
    case Op::shl:
    case Op::shr:
    case Op::min_:
    case Op::max_:
    case Op::div:
    case Op::rem:
    case Op::selp:
    case Op::bfe:
    case Op::cvt:
      return i.guard == kNone;
    default:
      return false;
  }
}

void Walk::look_for_indices(std::uint32_t instruction, Search& search) {
  if (search.found.size() > 7 || search.met.size() > kMostMet || !search.met.insert(instruction).second)
    return;
  const ptx::Instruction& i = f_.instructions[instruction];
  for (std::uint32_t n = i.first_operand + 1; n < i.first_operand + i.operand_count; ++n) {
    const std::uint32_t v = f_.operands[n].kind == OperandKind::reg ? values_.of_operand[n] : kNone;
    if (v == kNone || values_.all[v].reg == kNone) continue;
    if (width(v) != 1) {
      if (const auto sum = ranges_.sum_of(v)) look_for_indices_in(*sum, search);
    } else if (values_.all[v].kind == ptx::Value::definition) {
      look_for_indices(values_.all[v].instruction, search);
    }
  }
}

void Walk::look_for_indices_in(const ptx::Linear& sum, Search& search) {
  std::int64_t divisor = 0;
  bool elementary = !sum.terms.empty();
  for (const auto& [id, factor] : sum.terms) {
    divisor = std::gcd(divisor, factor);
    if (!computes(id)) continue;
    elementary = false;
    look_for_indices(values_.all[id].instruction, search);
  }
  if (!elementary) return;
  ptx::Linear index{sum.terms, 0};
  if (sum.terms[0].second < 0) divisor = -divisor;
  for (auto& [id, factor] : index.terms) factor /= divisor;
  if (std::ranges::find(search.found, index) == search.found.end()) search.found.push_back(index);
}

std::optional<std::pair<std::int64_t, std::int64_t>> Walk::ends(const ptx::Linear& sum,
                                                                std::uint32_t instruction) {
  const ptx::AddressRange range = ranges_.bounds(sum, instruction);
  if (!range.least || !range.most) return std::nullopt;
  const auto least = ranges_.extremes(*range.least), most = ranges_.extremes(*range.most);
  if (!least || !most) return std::nullopt;
  return std::pair{least->first, most->second};
}

Walk::Index* Walk::index(const ptx::Linear& sum, std::uint32_t instruction) {
  const auto of = ends(sum, instruction);
  if (!of || of->second < of->first || of->second - of->first >= kMostRows) return nullptr;
  for (const auto& i : indices_)
    if (i->sum == sum && i->least == of->first && i->most == of->second) return i.get();
  return indices_.emplace_back(std::make_unique<Index>(Index{sum, of->first, of->second})).get();
}

void Walk::go_to(const Index& of, std::int64_t row) {
  at_ = &of;
  row_ = row;
  ++time_;
}

unsigned Walk::width(std::uint32_t value) const {
  const std::string_view type = f_.registers[values_.all[value].reg].type;
  return type == "pred" ? 1 : ptx::type_bytes(type) * 8u;
}

Value Walk::number(std::uint32_t value, unsigned depth) {
  if (known_at_[value] == time_) return known_[value];
  known_at_[value] = time_;
  known_[value] = std::nullopt;
  if (depth > kDeepest || values_.all[value].reg == kNone || width(value) == 1) return std::nullopt;
  const auto sum = ranges_.sum_of(value);
  if (!sum) return std::nullopt;
  const unsigned bits = width(value);
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  ptx::Linear rest;
  const std::int64_t times = take_out(at_->sum, *sum, rest);
  auto result = static_cast<std::uint64_t>(times * row_ + rest.constant);
  for (const auto& [id, factor] : rest.terms) {
    if (!computes(id)) return std::nullopt;
    const Value part = id == value ? by_instruction(id, depth + 1) : number(id, depth + 1);
    // Of another width it is this number only where its sign does not matter.
    if (!part || (width(id) != bits && *part >> (width(id) - 1) != 0)) return std::nullopt;
    result += static_cast<std::uint64_t>(factor) * *part;
  }
  return known_[value] = result & mask;
}

Value Walk::by_instruction(std::uint32_t value, unsigned depth) {
  const std::uint32_t in_input = values_.all[value].instruction;
  const ptx::Instruction& i = f_.instructions[in_input];
  ++work_;
  // The same instruction of the output, behind the barriers that were inserted.
  std::uint32_t here = in_input;
  for (const std::uint32_t inserted : match_.inserted)
    if (inserted <= here) ++here;
  return evaluate(k_, ThreadContext{}, here, [&](std::uint32_t reg) -> Value {
    for (std::uint32_t n = i.first_operand + 1; n < i.first_operand + i.operand_count; ++n)
      if (f_.operands[n].kind == OperandKind::reg && f_.operands[n].id == reg) {
        const std::uint32_t v = values_.of_operand[n];
        if (v == kNone) return std::nullopt;
        if (width(v) != 1) return number(v, depth + 1);
        const auto t = truth(v, depth + 1);
        return t ? Value(*t) : std::nullopt;
      }
    return std::nullopt;
  });
}

std::optional<bool> Walk::truth(std::uint32_t value, unsigned depth) {
  const ptx::Value& v = values_.all[value];
  if (depth > kDeepest || v.kind != ptx::Value::definition) return std::nullopt;
  if (known_at_[value] != time_) {
    known_at_[value] = time_;
    known_[value] = std::nullopt;  // where it depends on itself
    const std::optional<bool> t = truth_by_instruction(value, depth);
    known_[value] = t ? Value(*t) : std::nullopt;
  }
  return known_[value] ? std::optional(*known_[value] != 0) : std::nullopt;
}

std::optional<bool> Walk::truth_by_instruction(std::uint32_t value, unsigned depth) {
  const ptx::Value& v = values_.all[value];
  const ptx::Instruction& i = f_.instructions[v.instruction];
  const Op op = cfg_.module->opcode(i).op;
  if (i.guard != kNone) return std::nullopt;
  const auto input = [&](std::uint32_t n) -> std::optional<bool> {
    const ptx::Operand& o = f_.operands[i.first_operand + n];
    if (n >= i.operand_count || o.kind != OperandKind::reg) return std::nullopt;
    const auto t = truth(values_.of_operand[i.first_operand + n], depth + 1);
    return t ? std::optional(*t != o.negated) : std::nullopt;
  };
  if (op == Op::and_ || op == Op::or_) {
    const auto a = input(1), b = input(2);
    const bool decides = op == Op::or_;  // whatever the other is
    if ((a && *a == decides) || (b && *b == decides)) return decides;
    return a && b ? std::optional(!decides) : std::nullopt;
  }
  if (op == Op::not_) {
    const auto a = input(1);
    return a ? std::optional(!*a) : std::nullopt;
  }
  if (op != Op::setp || i.operand_count != 3) return std::nullopt;
  const Value result = by_instruction(value, depth + 1);
  return result ? std::optional(*result != 0) : std::nullopt;
}

std::optional<Walk::Reach> Walk::reach(std::uint32_t instruction, const ptx::AddressRange& linear) {
  std::optional<std::int64_t> least, most;
  if (const auto e = linear.least ? ranges_.extremes(*linear.least) : std::nullopt) least = e->first;
  if (const auto e = linear.most ? ranges_.extremes(*linear.most) : std::nullopt) most = e->second;
  const std::vector<Passed> branches = passed(instruction);
  Search search;
  look_for_indices_in(linear.sum, search);
  for (const Passed& p : branches)
    if (values_.all[p.predicate].kind == ptx::Value::definition)
      look_for_indices(values_.all[p.predicate].instruction, search);
  for (const ptx::Linear& candidate : search.found) {
    Index* const i = index(candidate, instruction);
    if (i == nullptr || work_ > kMostWork) continue;
    const auto rows = static_cast<std::size_t>(i->most - i->least + 1);
    ptx::Linear rest;
    const std::int64_t times = take_out(i->sum, linear.sum, rest);
    // What is no function of the index is bounded as before.
    std::vector<std::pair<std::uint32_t, std::int64_t>> functions;
    ptx::Linear others{{}, rest.constant};
    for (const auto& term : rest.terms) {
      if (computes(term.first) && !i->numbers.contains(term.first)) {
        std::vector<Value>& column = i->numbers[term.first];
        for (std::size_t r = 0; r < rows; ++r) {
          go_to(*i, i->least + static_cast<std::int64_t>(r));
          column.push_back(number(term.first));
        }
      }
      const auto column = i->numbers.find(term.first);
      if (column != i->numbers.end() && std::ranges::all_of(column->second, [](const Value& v) {
            return v && *v < std::uint64_t{1} << 15;
          }))
        functions.push_back(term);
      else
        others.terms.push_back(term);
    }
    for (const Passed& p : branches)
      if (!i->predicates.contains(p.predicate)) {
        auto& column = i->predicates[p.predicate];
        for (std::size_t r = 0; r < rows; ++r) {
          go_to(*i, i->least + static_cast<std::int64_t>(r));
          column.push_back(truth(p.predicate));
        }
      }
    std::optional<std::int64_t> lowest, highest;
    for (std::size_t r = 0; r < rows; ++r) {
      const bool stopped = std::ranges::any_of(branches, [&](const Passed& p) {
        const std::optional<bool> t = i->predicates[p.predicate][r];
        return t && *t != p.value;
      });
      if (stopped) continue;
      std::int64_t at = times * (i->least + static_cast<std::int64_t>(r));
      for (const auto& [id, factor] : functions) at += factor * static_cast<std::int64_t>(*i->numbers[id][r]);
      lowest = std::min(lowest.value_or(at), at);
      highest = std::max(highest.value_or(at), at);
    }
    if (!lowest) return Reach{false};
    if (times == 0 && functions.empty()) continue;
    const auto other_ends = ends(others, instruction);
    if (!other_ends) continue;
    least = std::max(least.value_or(*lowest + other_ends->first), *lowest + other_ends->first);
    most = std::min(most.value_or(*highest + other_ends->second), *highest + other_ends->second);
  }
  return least && most ? std::optional(Reach{true, *least, *most}) : std::nullopt;
}

}  // namespace warploom::reuse::checking
