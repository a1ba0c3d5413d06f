// Between which numbers a sum lies.

#include <algorithm>
#include <bit>

#include "ptx/range_finder.hpp"

namespace warploom::ptx {

namespace {

constexpr unsigned kDeepest = 24;

}  // namespace

AddressRanges::Finder::Facts AddressRanges::Finder::facts_at(const Linear& sum,
                                                             const std::vector<Condition>& where) {
  Facts known;
  for (const Condition& c : where)
    for (const Linear& fact : facts_of(c)) known.all.push_back(&fact);
  for (const auto& [id, factor] : sum.terms)
    if (MaybeLinear behind = not_before_first(id)) known.of_terms.push_back(std::move(*behind));
  for (const Linear& fact : known.of_terms) known.all.push_back(&fact);
  return known;
}

Bounds AddressRanges::Finder::bounds_of(const Linear& sum, const std::vector<Condition>& where) {
  const Facts known = facts_at(sum, where);
  Bounds b{std::nullopt, upper(sum, known, 0)};
  if (const MaybeLinear negative = times(sum, -1)) b.least = upper(*negative, known, 0);
  if (b.least) b.least = times(*b.least, -1);
  return b;
}

AddressRange AddressRanges::Finder::all_bounds_of(const Linear& sum, const std::vector<Condition>& where) {
  const Facts known = facts_at(sum, where);
  AddressRange range;
  range.sum = sum;
  range.most = upper(sum, known, 0, &range.all_most);
  if (const MaybeLinear negative = times(sum, -1)) range.least = upper(*negative, known, 0, &range.all_least);
  if (range.least) range.least = times(*range.least, -1);
  for (Linear& least : range.all_least) least = *times(least, -1);
  return range;
}

MaybeLinear AddressRanges::Finder::not_before_first(std::uint32_t id) {
  if (id >= values.all.size() || values.all[id].kind != Value::phi || !headed_by(values.all[id].block))
    return std::nullopt;
  form(id);
  const auto it = steps.find(id);
  if (it == steps.end() || !it->second.first || it->second.first->base != kNone ||
      !it->second.step.terms.empty() || it->second.step.constant == 0)
    return std::nullopt;
  const Linear& first = it->second.first->sum;
  if (parted(first).second.terms.empty()) return std::nullopt;  // its own bounds say that
  return it->second.step.constant > 0 ? add(first, atom(id).sum, -1) : add(atom(id).sum, first, -1);
}

std::pair<Linear, Linear> AddressRanges::Finder::parted(const Linear& sum) const {
  Linear uniform{{}, sum.constant}, other;
  for (const auto& t : sum.terms) (is_uniform(t.first) ? uniform : other).terms.push_back(t);
  return {uniform, other};
}

MaybeLinear AddressRanges::Finder::upper(const Linear& sum, const Facts& known, unsigned depth,
                                         std::vector<Linear>* all) {
  if (std::ranges::all_of(sum.terms, [&](const auto& t) { return is_uniform(t.first); })) {
    if (all != nullptr) *all = {sum};
    return sum;
  }
  if (depth > kDeepest) return std::nullopt;
  const auto [uniform, other] = parted(sum);
  MaybeLinear best;
  const auto offer = [&](const MaybeLinear& candidate) {
    if (!candidate) return;
    if (all != nullptr &&
        std::ranges::none_of(*all, [&](const Linear& a) { return at_most(a, *candidate); })) {
      std::erase_if(*all, [&](const Linear& a) { return at_most(*candidate, a); });
      all->push_back(*candidate);
    }
    // Of two that nothing is known of to each other, the one that is less at its greatest.
    const auto mine = extreme(*candidate, true), other_s = best ? extreme(*best, true) : std::nullopt;
    if (!best || at_most(*candidate, *best) ||
        (!at_most(*best, *candidate) && mine && other_s && *mine < *other_s))
      best = candidate;
  };
  if (other.terms.size() == 1) {
    const auto [id, factor] = other.terms[0];
    const Bounds b = atom_bounds(id);
    if (const MaybeLinear& end = factor > 0 ? b.most : b.least) offer(add(uniform, *end, factor));
  } else {
    MaybeLinear total = uniform;
    for (const auto& t : other.terms) total = add(total, upper({{t}, 0}, known, depth + 1));
    offer(total);
  }
  for (const Linear* const at : known.all) {
    const Linear& fact = *at;
    const auto first =
        std::ranges::find_if(fact.terms, [&](const auto& term) { return !is_uniform(term.first); });
    if (first == fact.terms.end()) continue;
    const auto [id, unit] = *first;
    const auto mine = std::ranges::find(other.terms, id, &std::pair<std::uint32_t, std::int64_t>::first);
    if (mine == other.terms.end() || mine->second % unit != 0 || mine->second / unit <= 0) continue;
    const auto [fact_uniform, fact_other] = parted(fact);
    const std::int64_t factor = mine->second / unit;
    const MaybeLinear rest = add(other, fact_other, -factor);
    if (!rest || rest->terms.size() + fact_other.terms.size() != other.terms.size()) continue;
    offer(add(add(uniform, fact_uniform, -factor), upper(*rest, known, depth + 1)));
  }
  return best;
}

Bounds AddressRanges::Finder::atom_bounds(std::uint32_t id) {
  if (bounds[id]) return *bounds[id];
  Bounds b;
  if (id < values.all.size()) {
    const Value& v = values.all[id];
    if (v.kind == Value::phi) {
      // Where a cycle comes back here before there is a guess, nothing is known.
      bounds[id] = Bounds{};
      b = headed_by(v.block) ? loop_bounds(id, *headed_by(v.block)) : joined_inputs(id);
    } else if (v.kind == Value::definition) {
      b = instruction_bounds(v.instruction, v.reg);
    } else if (v.kind == Value::guarded && plainly_guarded(v)) {
      const std::optional<Form> mine = instruction_form(v.instruction);
      const Form before = form(*values.begin_inputs(v));
      const std::uint32_t base = form(id).base;
      if (before.base == base && (mine ? mine->base : kNone) == base)
        b = joined(mine ? bounds_of(mine->sum, conditions.at(v.instruction))
                        : instruction_bounds(v.instruction, v.reg),
                   bounds_of(before.sum, conditions.in_block(cfg.block_of[v.instruction])));
    } else if (v.reg != kNone) {
      b = of_type(signed_register(v.reg));
    }
  } else if (id < extent(0)) {
    const unsigned axis = id - index(0);
    b.least = number(0);
    b.most = block ? number(std::int64_t{(*block)[axis]} - 1) : add(atom(extent(axis)).sum, number(-1));
  } else if (id == lane()) {
    b = between(0, 31);
  }
  bounds[id] = b;
  account.push_back({Entry::bound, id});
  return b;
}

Integer AddressRanges::Finder::signed_register(std::uint32_t reg) const {
  Integer t = integer(f.registers[reg].type);
  t.is_signed = true;
  return t;
}

Bounds AddressRanges::Finder::joined_inputs(std::uint32_t phi) {
  const Value& v = values.all[phi];
  std::optional<Bounds> all;
  const auto& from = cfg.graph.predecessors[v.block];
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (!cfg.reachable[from[k]]) continue;
    const Form& in = form(values.begin_inputs(v)[k]);
    if (in.base != form(phi).base) return {};
    const Bounds b = bounds_of(in.sum, conditions.on_edge(from[k], v.block));
    all = all ? joined(*all, b) : b;
  }
  return all.value_or(Bounds{});
}

Bounds AddressRanges::Finder::loop_bounds(std::uint32_t phi, const Loop& loop) {
  const Value& v = values.all[phi];
  const auto& from = cfg.graph.predecessors[v.block];
  const std::uint32_t base = form(phi).base;
  bool one_base = true;
  const auto inputs = [&](bool of_latches) {
    std::optional<Bounds> all;
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (loop.contains(from[k]) != of_latches || !cfg.reachable[from[k]]) continue;
      const Form in = form(values.begin_inputs(v)[k]);
      one_base &= in.base == base;
      const Bounds b = bounds_of(in.sum, conditions.on_edge(from[k], v.block));
      all = all ? joined(*all, b) : b;
    }
    return all.value_or(Bounds{});
  };
  const Bounds first = inputs(false);
  const std::size_t mark = account.size();
  const auto after = [&](const Bounds& guess, bool trusting) {
    bounds[phi] = guess;
    const bool before = std::exchange(trust_comparisons, trusting || trust_comparisons);
    const Bounds b = inputs(true);
    trust_comparisons = before;
    return b;
  };
  const auto kept_most = [&](const Bounds& g, const Bounds& b) {
    return !g.most || (b.most && at_most(*b.most, *g.most));
  };
  const auto kept_least = [&](const Bounds& g, const Bounds& b) {
    return !g.least || (b.least && at_most(*g.least, *b.least));
  };
  Bounds guess = first;
  Bounds next = after(guess, false);
  if (one_base && !(kept_most(guess, next) && kept_least(guess, next))) {
    // What the comparisons say of an iteration's result, if they do not overflow.
    forget(mark);
    Bounds open = guess;
    if (!kept_most(guess, next)) open.most.reset();
    if (!kept_least(guess, next)) open.least.reset();
    const Bounds compared = after(open, true);
    forget(mark);
    if (!open.most) guess.most = greater(first.most, compared.most);
    if (!open.least) {
      guess.least = lesser(first.least, compared.least);
      if (!guess.least && first.least && at_least(*first.least, 0)) guess.least = number(0);
    }
    for (int tries = 0; tries < 3; ++tries) {
      next = after(guess, false);
      const bool most = kept_most(guess, next), least = kept_least(guess, next);
      if (most && least) break;
      forget(mark);
      if (!most) guess.most.reset();
      if (!least) guess.least.reset();
    }
  }
  if (!one_base) {
    forget(mark);
    guess = {};
  }
  bounds[phi].reset();
  return guess;
}

Bounds AddressRanges::Finder::instruction_bounds(std::uint32_t at, std::uint32_t reg) {
  const Instruction& i = cfg.instruction(at);
  const Opcode& o = module.opcode(i);
  const Bounds any = of_type(signed_register(reg));
  const Integer type = integer(o.parts.back());
  if (o.op == Op::ld && o.vector == 1 && type.bits != 0 && type.bits < 32) {
    const bool extends = type_bytes(f.registers[reg].type) * 8u > type.bits;
    return extends || type.is_signed ? of_type(type) : any;
  }
  if (o.op == Op::popc || o.op == Op::clz) return between(0, 64);
  if (type.bits == 0 || o.vector != 1) return any;
  const auto in = [&](unsigned k) -> Bounds {
    if (k >= i.operand_count) return {};
    const auto x = operand_form(i.first_operand + k, type.bits);
    return x && x->base == kNone ? bounds_of(x->sum, conditions.at(at)) : Bounds{};
  };
  const auto constant = [&](unsigned k) -> std::optional<std::int64_t> {
    if (k >= i.operand_count) return std::nullopt;
    const auto x = operand_form(i.first_operand + k, type.bits);
    if (!x || x->base != kNone || !x->sum.terms.empty()) return std::nullopt;
    return x->sum.constant;
  };
  switch (o.op) {
    case Op::and_:
      for (unsigned k : {1u, 2u})
        if (const auto mask = constant(k)) {
          const auto other = natural(in(3 - k));
          if (*mask >= 0) return between(0, other ? std::min(*mask, other->second) : *mask);
          if (other) return between(0, other->second);
        }
      if (const auto a = natural(in(1)), b = natural(in(2)); a || b)
        return between(0, a && b ? std::min(a->second, b->second) : a ? a->second : b->second);
      return any;
    case Op::or_:
    case Op::xor_:
      if (const auto a = natural(in(1)), b = natural(in(2)); a && b) {
        const auto both = static_cast<std::uint64_t>(std::max(a->second, b->second));
        const auto all = static_cast<std::int64_t>((std::uint64_t{1} << std::bit_width(both)) - 1);
        // What both are multiples of, a power of two, the result is, too.
        const std::int64_t low = low_bits(operand_form(i.first_operand + 1, type.bits)->sum) |
                                 low_bits(operand_form(i.first_operand + 2, type.bits)->sum);
        return between(0, low == 0 ? all : all & ~((low & -low) - 1));
      }
      return any;
    case Op::shr: {
      const auto a = natural(in(1));
      const auto by = constant(2);
      if (by && *by >= 0 && *by < type.bits) {
        if (a && a->second <= type.most()) return between(a->first >> *by, a->second >> *by);
        if (!type.is_signed && type.bits <= 32 && *by > 0)
          return between(0, static_cast<std::int64_t>((std::uint64_t{1} << type.bits) - 1) >> *by);
      }
      // By what is not known, it grows no larger.
      return a && a->second <= type.most() ? between(0, a->second) : any;
    }
    case Op::div:
      if (const auto a = natural(in(1)); a && a->second <= type.most())
        if (const auto by = constant(2); by && *by > 0) return between(a->first / *by, a->second / *by);
      return any;
    case Op::rem: {
      const auto by = constant(2);
      const auto a = natural(in(1));
      if (!by || *by <= 0 || (type.is_signed && !(a && a->second <= type.most()))) return any;
      return between(0, a && a->second <= type.most() ? std::min(*by - 1, a->second) : *by - 1);
    }
    case Op::min_:
    case Op::max_: {
      const Bounds a = in(1), b = in(2);
      const auto number_itself = [&](const Bounds& x) { return within(x, type.least(), type.most()); };
      if (!number_itself(a) || !number_itself(b)) return any;
      if (o.op == Op::max_)
        return {a.least && b.least && at_most(*a.least, *b.least) ? b.least : a.least,
                greater(a.most, b.most)};
      return {lesser(a.least, b.least), a.most && b.most && at_most(*b.most, *a.most) ? b.most : a.most};
    }
    case Op::mul:
      if (o.has("lo") || o.has("wide"))
        if (const auto a = natural(in(1)), b = natural(in(2));
            a && b && a->second <= type.most() && b->second <= type.most() && a->second < kMostOffset &&
            b->second < kMostOffset)
          return between(a->first * b->first, a->second * b->second);
      return o.has("wide") ? Bounds{} : any;
    case Op::selp: {
      const auto a = operand_form(i.first_operand + 1, type.bits),
                 b = operand_form(i.first_operand + 2, type.bits);
      if (!a || !b || a->base != kNone || b->base != kNone) return any;
      return joined(bounds_of(a->sum, conditions.at(at)), bounds_of(b->sum, conditions.at(at)));
    }
    case Op::bfe:
      if (const auto length = constant(3); length && *length >= 0 && *length < 32 && !type.is_signed)
        return between(0, (std::int64_t{1} << *length) - 1);
      return any;
    case Op::cvt:
      if (o.parts.size() == 3) {
        const Integer to = integer(o.parts[1]);
        if (to.bits != 0) return of_type(to.bits < type.bits ? to : type);
      }
      return any;
    default:
      return any;
  }
}

}  // namespace warploom::ptx
