// What a value is as a sum, and how the values of a loop advance.

#include <algorithm>

#include "ptx/range_finder.hpp"

namespace warploom::ptx {

namespace {

constexpr std::int64_t kMostParameter = std::int64_t{1} << 18;  // beyond any GPU's shared memory

}  // namespace

Integer integer(std::string_view type) {
  if (type.size() < 2 || (type[0] != 'u' && type[0] != 's' && type[0] != 'b')) return {};
  if (type.find_first_not_of("0123456789", 1) != std::string_view::npos) return {};
  const unsigned bits = type_bytes(type) * 8u;
  return bits == 0 || bits > 64 ? Integer{} : Integer{bits, type[0] == 's'};
}

std::int64_t AddressRanges::Finder::low_bits(const Linear& sum) {
  std::int64_t all = sum.constant;
  for (const auto& [id, factor] : sum.terms) all |= factor;
  return all;
}

std::optional<Form> AddressRanges::Finder::special(std::string_view name) {
  if (name == "WARP_SZ") return Form{kNone, number(32)};
  if (name == "%laneid") return atom(lane());
  const auto axis = static_cast<unsigned>(name.empty() ? 9 : name.back() - 'x');
  if (axis > 2) return std::nullopt;
  if (name.starts_with("%tid.") && name.size() == 6) return atom(index(axis));
  if (name.starts_with("%ntid.") && name.size() == 7)
    return block ? Form{kNone, number((*block)[axis])} : atom(extent(axis));
  return std::nullopt;
}

std::optional<Form> AddressRanges::Finder::operand_form(std::uint32_t at, unsigned bits) {
  const Operand& o = f.operands[at];
  switch (o.kind) {
    case OperandKind::reg:
      if (o.component != 0xff || o.negated || values.of_operand[at] == kNone) return std::nullopt;
      return form(values.of_operand[at]);
    case OperandKind::integer: {
      const unsigned unused = 64 - std::clamp(bits, 8u, 64u);
      const auto value = static_cast<std::int64_t>(static_cast<std::uint64_t>(o.value) << unused) >> unused;
      if (value > kMostFactor || value < -kMostFactor) return std::nullopt;
      return Form{kNone, number(value)};
    }
    case OperandKind::symbol:
      if (module.variables[o.id].space != Space::shared) return std::nullopt;
      return Form{o.id, number(o.value)};
    case OperandKind::special:
      return special(module.text_of(o.span));
    case OperandKind::address: {
      if (o.count != 1) return std::nullopt;
      std::optional<Form> base = operand_form(o.id, bits);
      if (base) base = shifted(*base, number(o.value), 1);
      return base;
    }
    default:
      return std::nullopt;
  }
}

std::optional<Form> AddressRanges::Finder::shifted(const Form& a, const Linear& b, std::int64_t factor) {
  const MaybeLinear sum = add(a.sum, b, factor);
  return sum ? std::optional(Form{a.base, *sum}) : std::nullopt;
}

std::optional<Form> AddressRanges::Finder::sum_of(const std::optional<Form>& a,
                                                  const std::optional<Form>& b) {
  if (!a || !b || (a->base != kNone && b->base != kNone)) return std::nullopt;
  return a->base != kNone ? shifted(*a, b->sum, 1) : shifted(*b, a->sum, 1);
}

std::optional<Form> AddressRanges::Finder::difference(const std::optional<Form>& a,
                                                      const std::optional<Form>& b) {
  if (!a || !b || (b->base != kNone && b->base != a->base)) return std::nullopt;
  std::optional<Form> result = shifted(*a, b->sum, -1);
  if (result && b->base != kNone) result->base = kNone;
  return result;
}

std::optional<Form> AddressRanges::Finder::product(const std::optional<Form>& a,
                                                   const std::optional<Form>& b) {
  if (!a || !b || a->base != kNone || b->base != kNone) return std::nullopt;
  const bool left = a->sum.terms.empty();
  if (!left && !b->sum.terms.empty()) return std::nullopt;
  const MaybeLinear sum = left ? times(b->sum, a->sum.constant) : times(a->sum, b->sum.constant);
  return sum ? std::optional(Form{kNone, *sum}) : std::nullopt;
}

std::optional<Form> AddressRanges::Finder::read_as(const std::optional<Form>& a, Integer type,
                                                   std::uint32_t instruction) {
  if (!a || type.bits == 0) return std::nullopt;
  if (a->base == kNone && type.bits > 32) return a;
  const Bounds b = bounds_of(a->sum, conditions.at(instruction));
  // The shared window lies below 4 GiB, and an address inside an array does not wrap.
  if (a->base != kNone) return type.bits >= 32 && within(b, 0, kMostOffset) ? a : std::nullopt;
  return within(b, type.least(), type.most()) ? a : std::nullopt;
}

const Form& AddressRanges::Finder::form(std::uint32_t v) {
  if (forms[v]) return *forms[v];
  const Value& value = values.all[v];
  if (value.kind == Value::phi) {
    if (const Loop* loop = headed_by(value.block))
      analyse(*loop);
    else
      set_form(v, joined_form(v, edge_inputs(value)));
  } else if (value.kind == Value::definition) {
    set_form(v, instruction_form(value.instruction).value_or(atom(v)));
  } else if (value.kind == Value::guarded && plainly_guarded(value)) {
    set_form(v, joined_form(v, {instruction_form(value.instruction).value_or(atom(v)),
                                form(*values.begin_inputs(value))}));
  }
  if (!forms[v]) set_form(v, atom(v));
  return *forms[v];
}

void AddressRanges::Finder::set_form(std::uint32_t v, Form value) {
  forms[v] = std::move(value);
  account.push_back({Entry::form, v});
}

bool AddressRanges::Finder::plainly_guarded(const Value& v) const {
  const Instruction& i = cfg.instruction(v.instruction);
  return i.guard != kNone && v.input_count == 1 && module.opcode(i).destinations == 1 &&
         i.operand_count > 0 && f.operands[i.first_operand].kind == OperandKind::reg &&
         f.operands[i.first_operand].component == 0xff;
}

std::vector<Form> AddressRanges::Finder::edge_inputs(const Value& phi) {
  std::vector<Form> all;
  for (const std::uint32_t* in = values.begin_inputs(phi); in != values.end_inputs(phi); ++in)
    all.push_back(form(*in));
  return all;
}

Form AddressRanges::Finder::joined_form(std::uint32_t v, const std::vector<Form>& all) const {
  if (std::ranges::all_of(all, [&](const Form& x) { return x == all[0]; })) return all[0];
  Form result = atom(v);
  if (std::ranges::all_of(all, [&](const Form& x) { return x.base == all[0].base; }))
    result.base = all[0].base;
  return result;
}

std::optional<Form> AddressRanges::Finder::instruction_form(std::uint32_t at) {
  const Instruction& i = cfg.instruction(at);
  const Opcode& o = module.opcode(i);
  if (i.operand_count < 2 || f.operands[i.first_operand].kind != OperandKind::reg ||
      f.operands[i.first_operand].component != 0xff || o.has("sat") || o.has("cc"))
    return std::nullopt;
  const Integer type = integer(o.parts.back());
  const auto in = [&](unsigned k) -> std::optional<Form> {
    return k < i.operand_count ? operand_form(i.first_operand + k, type.bits) : std::nullopt;
  };
  if (o.op == Op::ld) return o.space == Space::param ? parameter(i) : std::nullopt;
  if (type.bits == 0) return std::nullopt;
  switch (o.op) {
    case Op::mov:
      return in(1);
    case Op::cvta:
      return o.has("shared") || o.has("shared::cta") ? in(1) : std::nullopt;
    case Op::cvt: {
      if (o.parts.size() != 3) return std::nullopt;
      const Integer to = integer(o.parts[1]);
      const std::uint32_t held = type_bytes(f.registers[f.operands[i.first_operand].id].type) * 8u;
      if (to.bits == 0 || (in(1) && in(1)->base != kNone && to.bits < 32)) return std::nullopt;
      if (to.bits <= type.bits && to.bits == held) return in(1);
      const auto read = to.bits < type.bits ? read_as(in(1), to, at) : read_as(in(1), type, at);
      return to.bits == held ? read : read_as(read, to, at);  // a wider register is filled up as `to` says
    }
    case Op::add:
      return sum_of(in(1), in(2));
    case Op::sub:
      return difference(in(1), in(2));
    case Op::neg:
      return product(in(1), Form{kNone, number(-1)});
    case Op::not_:  // -a - 1, whatever the width
      return type.bits < 32 ? std::nullopt : difference(Form{kNone, number(-1)}, in(1));
    case Op::shl: {
      const std::optional<Form> by =
          i.operand_count == 3 ? operand_form(i.first_operand + 2, 32) : std::nullopt;
      if (!by || by->base != kNone || !by->sum.terms.empty() || by->sum.constant < 0 ||
          by->sum.constant >= std::min(type.bits, 40u))
        return std::nullopt;
      return product(in(1), Form{kNone, number(std::int64_t{1} << by->sum.constant)});
    }
    case Op::mul:
    case Op::mad: {
      std::optional<Form> result;
      if (o.has("wide"))
        result = product(read_as(in(1), type, at), read_as(in(2), type, at));
      else if (o.has("lo"))
        result = product(in(1), in(2));
      if (o.op == Op::mul) return result;
      if (i.operand_count != 4) return std::nullopt;
      return sum_of(result, operand_form(i.first_operand + 3, o.has("wide") ? 2 * type.bits : type.bits));
    }
    case Op::or_: {  // of bits that the other side has not: a sum
      const std::optional<Form> a = in(1), b = in(2);
      if (!a || !b || !b->sum.terms.empty() || b->base != kNone || b->sum.constant < 0) return std::nullopt;
      const std::int64_t all = low_bits(a->sum);
      const std::int64_t unit = all & -all;
      if (a->base != kNone || (unit != 0 && b->sum.constant >= unit)) return std::nullopt;
      return sum_of(a, b);
    }
    default:
      return std::nullopt;
  }
}

std::optional<Form> AddressRanges::Finder::parameter(const Instruction& i) {
  const Operand& address = f.operands[i.first_operand + 1];
  if (address.kind != OperandKind::address || address.count != 1 || module.opcode(i).vector != 1)
    return std::nullopt;
  const Operand& base = f.operands[address.id];
  if (base.kind != OperandKind::symbol || std::ranges::find(f.parameters, base.id) == f.parameters.end())
    return std::nullopt;
  const auto it = parameter_atoms.find({base.id, static_cast<std::uint32_t>(base.value + address.value)});
  // Half of it, or more than it, is another number.
  if (it == parameter_atoms.end() ||
      unknowns.at(it->second).bytes != type_bytes(module.opcode(i).parts.back()))
    return std::nullopt;
  return atom(it->second);
}

void AddressRanges::Finder::allow_parameters() {
  std::uint32_t next = static_cast<std::uint32_t>(bounds.size());
  for (const Instruction& i : f.instructions) {
    const Opcode& o = module.opcode(i);
    if (o.op != Op::ld || o.space != Space::param || i.operand_count != 2) continue;
    const Integer type = integer(o.parts.back());
    const Operand& address = f.operands[i.first_operand + 1];
    if (type.bits < 32 || address.kind != OperandKind::address || address.count != 1) continue;
    const Operand& base = f.operands[address.id];
    if (base.kind != OperandKind::symbol) continue;
    const auto offset = static_cast<std::uint32_t>(base.value + address.value);
    if (!parameter_atoms.emplace(std::pair{base.id, offset}, next).second) continue;
    unknowns[next++] = {Unknown::parameter, 0, static_cast<std::uint8_t>(type.bits / 8), base.id, offset, 0,
                        kMostParameter};
  }
  bounds.resize(next);
  std::vector<bool> used(next);
  for (const Instruction& i : f.instructions)
    for (std::uint32_t k = 0; k < i.operand_count; ++k)
      if (f.operands[i.first_operand + k].kind == OperandKind::address)
        if (const auto a = operand_form(i.first_operand + k, 64); a && a->base != kNone)
          for (const auto& [id, factor] : a->sum.terms) used[id] = true;
  forget(0);
  steps.clear();
  std::erase_if(parameter_atoms, [&](const auto& p) { return !used[p.second]; });
  std::erase_if(unknowns,
                [&](const auto& u) { return u.second.kind == Unknown::parameter && !used[u.first]; });
}

const Loop* AddressRanges::Finder::headed_by(std::uint32_t b) const {
  const std::uint32_t loop = cfg.loop_of[b];
  return loop != kNone && cfg.loops[loop].header == b ? &cfg.loops[loop] : nullptr;
}

void AddressRanges::Finder::analyse(const Loop& loop) {
  const std::uint32_t head = loop.header;
  const auto& from = cfg.graph.predecessors[head];
  const std::vector<std::uint32_t>& phis = values.phis[head];
  std::vector<std::optional<Form>> first(phis.size());
  std::vector<bool> one_base(phis.size(), true);
  for (std::size_t p = 0; p < phis.size(); ++p) {
    std::vector<Form> outside;
    for (std::size_t k = 0; k < from.size(); ++k)
      if (!loop.contains(from[k])) outside.push_back(form(values.begin_inputs(values.all[phis[p]])[k]));
    if (outside.empty()) continue;
    first[p] = joined_form(phis[p], outside);
    if (!std::ranges::all_of(outside, [&](const Form& x) { return x == outside[0]; }))
      first[p]->sum = {};  // several: known is the base
    one_base[p] = std::ranges::all_of(outside, [&](const Form& x) { return x == outside[0]; });
  }
  const std::size_t mark = account.size();
  const auto provisional = [&](std::size_t p) {
    Form x = atom(phis[p]);
    if (first[p]) x.base = first[p]->base;
    return x;
  };
  for (std::size_t p = 0; p < phis.size(); ++p) set_form(phis[p], provisional(p));
  std::vector<bool> keeps_base(phis.size(), true);
  for (std::size_t p = 0; p < phis.size(); ++p) {
    steps.erase(phis[p]);
    std::optional<Linear> step;
    bool same = true;
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (!loop.contains(from[k])) continue;
      const Form last = form(values.begin_inputs(values.all[phis[p]])[k]);
      keeps_base[p] = keeps_base[p] && last.base == provisional(p).base;
      const MaybeLinear by = add(last.sum, atom(phis[p]).sum, -1);
      same = same && by && (!step || *step == *by) &&
             std::ranges::all_of(by->terms, [&](const auto& t) { return is_uniform(t.first); });
      step = by;
    }
    if (same && step && keeps_base[p])
      steps[phis[p]] = {*step, one_base[p] ? first[p] : std::optional<Form>{}};
  }
  const std::uint32_t counter = counter_of(loop);
  forget(mark);
  for (std::size_t p = 0; p < phis.size(); ++p) {
    Form result = provisional(p);
    if (!keeps_base[p]) result.base = kNone;
    if (const auto s = steps.find(phis[p]); s != steps.end() && s->second.first) {
      if (s->second.step == Linear{})
        result = *s->second.first;
      else if (phis[p] != counter && counter != kNone)
        result = in_terms_of(counter, s->second).value_or(result);
    }
    set_form(phis[p], std::move(result));
  }
}

std::uint32_t AddressRanges::Finder::counter_of(const Loop& loop) {
  for (const std::uint32_t b : loop.blocks)
    for (const std::uint32_t s : cfg.graph.successors[b]) {
      if (loop.contains(s)) continue;
      const std::vector<Condition> all = conditions.on_edge(b, s);
      for (std::size_t c = conditions.in_block(b).size(); c < all.size(); ++c)
        for (unsigned k = 1; k <= 2; ++k)
          if (const auto side = operand_form(cfg.instruction(all[c].instruction).first_operand + k, 64))
            for (const auto& [id, factor] : side->sum.terms)
              if (const auto it = steps.find(id);
                  it != steps.end() && values.all[id].block == loop.header && it->second.step != Linear{})
                return id;
    }
  return kNone;
}

std::optional<Form> AddressRanges::Finder::in_terms_of(std::uint32_t counter, const Step& of) const {
  const Step& unit = steps.at(counter);
  if (!unit.first || unit.first->base != kNone) return std::nullopt;
  const auto lead = [](const Linear& l) { return l.terms.empty() ? l.constant : l.terms[0].second; };
  if (lead(unit.step) == 0 || lead(of.step) % lead(unit.step) != 0) return std::nullopt;
  const std::int64_t factor = lead(of.step) / lead(unit.step);
  if (times(unit.step, factor) != MaybeLinear(of.step)) return std::nullopt;
  const MaybeLinear sum = add(add(of.first->sum, unit.first->sum, -factor), atom(counter).sum, factor);
  return sum ? std::optional(Form{of.first->base, *sum}) : std::nullopt;
}

}  // namespace warploom::ptx
