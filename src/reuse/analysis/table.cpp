#include "reuse/analysis/table.hpp"

#include <algorithm>
#include <numeric>

namespace warploom::reuse {

using namespace ptx;

namespace {

constexpr std::int64_t kMostRows = 1 << 13;
constexpr std::uint64_t kMostCells = 1 << 23;  // of one kernel: below a second
constexpr std::size_t kMostIndices = 8;
constexpr std::size_t kMostVisits = 512;  // instructions that one access's index is looked for in

/// The terms divided by what divides them all; the first is positive.
Linear index_of(const Linear& sum) {
  std::int64_t common = 0;
  for (const auto& [id, factor] : sum.terms) common = std::gcd(common, factor);
  Linear index{sum.terms, 0};
  if (common == 0) return index;
  if (sum.terms[0].second < 0) common = -common;
  for (auto& [id, factor] : index.terms) factor /= common;
  return index;
}

}  // namespace

Tables::Range Tables::linear_ends(const AddressRange& linear) const {
  Range r;
  if (const auto e = linear.least ? ranges_.extremes(*linear.least) : std::nullopt) r.least = e->first;
  if (const auto e = linear.most ? ranges_.extremes(*linear.most) : std::nullopt) r.most = e->second;
  return r;
}

unsigned Tables::bits_of(std::uint32_t value) const {
  const std::string_view type = kernel_.function->registers[kernel_.values.all[value].reg].type;
  return type == "pred" ? 1 : type_bytes(type) * 8u;
}

std::vector<Linear> Tables::indices_of(const Linear& address, const std::vector<Condition>& conditions) {
  std::vector<Linear> found;
  std::vector<std::uint32_t> from;  // instructions, each once, nearest first
  std::vector<bool> met(kernel_.function->instructions.size());
  const auto enter = [&](std::uint32_t instruction) {
    if (!met[instruction]) from.push_back(instruction);
    met[instruction] = true;
  };
  const auto defined = [&](std::uint32_t value) {
    return value < kernel_.values.all.size() && kernel_.values.all[value].kind == Value::definition;
  };
  const auto enter_sum = [&](const Linear& sum) {
    bool computes = sum.terms.empty();
    for (const auto& [id, factor] : sum.terms)
      if (defined(id) && decode_computation(kernel_, kernel_.values.all[id].instruction)) {
        computes = true;
        enter(kernel_.values.all[id].instruction);
      }
    const Linear index = index_of(sum);
    if (!computes && std::ranges::find(found, index) == found.end()) found.push_back(index);
  };
  enter_sum(address);
  for (const Condition& c : conditions) enter(c.instruction);
  for (std::size_t next = 0; next < from.size() && next < kMostVisits && found.size() < kMostIndices;
       ++next) {
    ++visits_;
    const Instruction& i = kernel_.instruction(from[next]);
    for (std::uint32_t k = i.first_operand + 1; k < i.first_operand + i.operand_count; ++k) {
      const std::uint32_t value =
          kernel_.function->operands[k].kind == OperandKind::reg ? kernel_.values.of_operand[k] : kNone;
      if (value == kNone || kernel_.values.all[value].reg == kNone) continue;
      if (bits_of(value) == 1) {
        if (defined(value)) enter(kernel_.values.all[value].instruction);
      } else if (const auto sum = ranges_.sum_of(value)) {
        enter_sum(*sum);
      }
    }
  }
  return found;
}

Tables::Table* Tables::table_of(const Linear& index, std::uint32_t instruction) {
  const Range found = linear_ends(ranges_.bounds(index, instruction));
  if (!found.least || !found.most || *found.most < *found.least || *found.most - *found.least >= kMostRows)
    return nullptr;
  const std::int64_t first = *found.least, rows = *found.most - first + 1;
  for (const auto& t : tables_)
    if (t->first == first && t->rows == rows && t->index == index) return t.get();
  tables_.push_back(std::make_unique<Table>(Table{index, first, rows}));
  return tables_.back().get();
}

Tables::Split Tables::split(Table& t, const Linear& sum) {
  Split s;
  if (!t.index.terms.empty()) {
    const auto [id, unit] = t.index.terms[0];
    const auto mine = std::ranges::find(sum.terms, id, &std::pair<std::uint32_t, std::int64_t>::first);
    if (mine != sum.terms.end() && mine->second % unit == 0) s.factor = mine->second / unit;
  }
  std::map<std::uint32_t, std::int64_t> rest(sum.terms.begin(), sum.terms.end());
  for (const auto& [id, factor] : t.index.terms) rest[id] -= s.factor * factor;
  s.rest.constant = sum.constant;
  for (const auto& [id, factor] : rest) {
    if (factor == 0) continue;
    const bool value = id < kernel_.values.all.size() && kernel_.values.all[id].kind == Value::definition;
    if (value && column(t, id))
      s.functions.emplace_back(id, factor);
    else
      s.rest.terms.emplace_back(id, factor);
  }
  return s;
}

const std::optional<Tables::Column>& Tables::column(Table& t, std::uint32_t value) {
  if (const auto it = t.columns.find(value); it != t.columns.end()) return it->second;
  t.columns[value] = std::nullopt;  // a value that depends on itself is none of the index alone
  return t.columns[value] = evaluated(t, value);
}

std::optional<Tables::Column> Tables::evaluated(Table& t, std::uint32_t value) {
  const Value& v = kernel_.values.all[value];
  const unsigned bits = v.reg == kNone ? 0 : bits_of(value);
  if (bits == 0 || cells_ > kMostCells) return std::nullopt;
  const auto sum = bits == 1 ? std::nullopt : ranges_.sum_of(value);
  const Linear itself{{{value, 1}}, 0};
  if (!sum || (*sum == itself && t.index != itself)) {
    if (v.kind != Value::definition) return std::nullopt;
    return computed(t, v.instruction, false);
  }
  const Split s = split(t, *sum);
  if (!s.rest.terms.empty()) return std::nullopt;
  Column result(static_cast<std::size_t>(t.rows));
  cells_ += result.size();
  for (std::size_t r = 0; r < result.size(); ++r)
    result[r] =
        static_cast<std::uint64_t>(s.factor * (t.first + static_cast<std::int64_t>(r)) + s.rest.constant);
  for (const auto& [id, factor] : s.functions) {
    const Column& of = *t.columns[id];
    const unsigned bits_of_it = bits_of(id);
    for (std::size_t r = 0; r < result.size(); ++r) {
      // A register of another width stands for the number that its bits are only below its sign.
      if (bits_of_it != bits && of[r] >> (bits_of_it - 1) != 0) return std::nullopt;
      result[r] += static_cast<std::uint64_t>(factor) * of[r];
    }
  }
  if (bits < 64)
    for (std::uint64_t& x : result) x &= (std::uint64_t{1} << bits) - 1;
  return result;
}

std::optional<Tables::Column> Tables::computed(Table& t, std::uint32_t instruction, bool comparison_only) {
  std::optional<Computation> c = decode_computation(kernel_, instruction);
  if (!c || (kernel_.instruction(instruction).guard != kNone && !comparison_only)) return std::nullopt;
  if (comparison_only) {
    c->combine = Op::unknown;
    c->source_count = 2;
  }
  std::array<const Column*, 5> in{};
  for (unsigned k = 0; k < c->source_count; ++k) {
    const Source& source = c->sources[k];
    if (source.kind == Source::constant) {
      if (!source.cell.number()) return std::nullopt;
    } else if (source.kind == Source::value) {
      const std::optional<Column>& of = column(t, source.id);
      if (!of) return std::nullopt;
      in[k] = &*of;
    } else {
      return std::nullopt;
    }
  }
  Column result(static_cast<std::size_t>(t.rows));
  cells_ += result.size();
  std::array<Cell, 5> cells{};
  for (std::size_t r = 0; r < result.size(); ++r) {
    for (unsigned k = 0; k < c->source_count; ++k) {
      cells[k] = in[k] ? Cell{(*in[k])[r]} : c->sources[k].cell;
      if (c->sources[k].negated) cells[k].bits ^= 1;
    }
    const std::optional<Cell> value = evaluate(*c, cells.data());
    if (!value || !value->number()) return std::nullopt;
    result[r] = value->bits;
  }
  return result;
}

const std::optional<std::vector<bool>>& Tables::compared(Table& t, std::uint32_t instruction) {
  if (const auto it = t.comparisons.find(instruction); it != t.comparisons.end()) return it->second;
  std::optional<std::vector<bool>>& result = t.comparisons[instruction];
  if (const auto bits = computed(t, instruction, true)) {
    result.emplace();
    for (const std::uint64_t b : *bits) result->push_back(b != 0);
  }
  return result;
}

Tables::Range Tables::narrowed(std::uint32_t instruction, const AddressRange& linear) {
  Range best = linear_ends(linear);
  const std::vector<Condition> conditions = ranges_.conditions(instruction);
  for (const Linear& index : indices_of(linear.sum, conditions)) {
    Table* const t = table_of(index, instruction);
    if (t == nullptr) continue;
    std::vector<bool> passes(static_cast<std::size_t>(t->rows), true);
    for (const Condition& c : conditions)
      if (const auto& result = compared(*t, c.instruction))
        for (std::size_t r = 0; r < passes.size(); ++r) passes[r] = passes[r] && (*result)[r] == c.holds;
    if (std::ranges::find(passes, true) == passes.end()) return {false};
    const Split s = split(*t, linear.sum);
    if (s.factor == 0 && s.functions.empty()) continue;
    const Range rest = linear_ends(ranges_.bounds(s.rest, instruction));
    std::vector<std::int64_t> at(passes.size());
    for (std::size_t r = 0; r < at.size(); ++r) at[r] = s.factor * (t->first + static_cast<std::int64_t>(r));
    bool numbers = true;
    for (const auto& [id, factor] : s.functions) {
      const Column& column = *t->columns[id];
      const std::uint64_t above = std::uint64_t{1} << std::min(bits_of(id) - 1, 31u);
      for (std::size_t r = 0; r < at.size(); ++r) {
        if (!passes[r]) continue;
        numbers = numbers && column[r] < above;
        at[r] += factor * static_cast<std::int64_t>(column[r] & 0x7fffffff);
      }
    }
    std::optional<std::int64_t> least, most;
    for (std::size_t r = 0; r < at.size(); ++r) {
      if (!passes[r]) continue;
      least = std::min(least.value_or(at[r]), at[r]);
      most = std::max(most.value_or(at[r]), at[r]);
    }
    if (!numbers) continue;
    if (rest.least) best.least = std::max(best.least.value_or(*least + *rest.least), *least + *rest.least);
    if (rest.most) best.most = std::min(best.most.value_or(*most + *rest.most), *most + *rest.most);
  }
  return best;
}

}  // namespace warploom::reuse
