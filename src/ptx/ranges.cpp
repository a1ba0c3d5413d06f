// Intervals of integers over the SSA values, whose ends are linear in what is equal in all threads.
//
// Each value has a form, a base address and a sum of atoms with integer factors; an atom is a value that is
// no such sum, a thread index or a number known at launch. Bounds of a sum come from those of its atoms and
// from the comparisons that hold at the place. Of a loop's values that advance by constant steps, one, which
// an exit compares, stays an atom, and the others are sums of it: compilers make pointers of such. Its bounds
// are guessed from the comparison and then verified to be kept by an iteration.

#include "warploom/ptx/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "ptx/conditions.hpp"
#include "ptx/linear.hpp"
#include "warploom/core/error.hpp"

namespace warploom::ptx {

namespace {

constexpr std::int64_t kMostParameter = std::int64_t{1} << 18;  // beyond any GPU's shared memory
constexpr std::int64_t kMostOffset = std::int64_t{1} << 24;     // of an address inside its array
constexpr unsigned kDeepest = 24;

struct Integer {
  unsigned bits = 0;  ///< 0: no integer type
  bool is_signed = false;
  /// Of wider types than 40 bits a part that holds all numbers we reckon with.
  std::int64_t least() const { return is_signed ? -(std::int64_t{1} << (std::min(bits, 40u) - 1)) : 0; }
  std::int64_t most() const { return (std::int64_t{1} << (std::min(bits, 40u) - is_signed)) - 1; }
};

Integer integer(std::string_view type) {
  if (type.size() < 2 || (type[0] != 'u' && type[0] != 's' && type[0] != 'b')) return {};
  if (type.find_first_not_of("0123456789", 1) != std::string_view::npos) return {};
  const unsigned bits = type_bytes(type) * 8u;
  return bits == 0 || bits > 64 ? Integer{} : Integer{bits, type[0] == 's'};
}

struct Bounds {
  MaybeLinear least, most;
};

/// What a value is: the address of a shared variable, or 0, and a sum of atoms.
struct Form {
  std::uint32_t base = kNone;
  Linear sum;
  bool operator==(const Form&) const = default;
};

}  // namespace

struct AddressRanges::Finder {
  Finder(const Cfg& c, const Values& v, const RangeOptions& o)
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
  }

  const Cfg& cfg;
  const Module& module;
  const Function& f;
  const Values& values;
  Conditions conditions;
  std::optional<std::array<std::uint32_t, 3>> block;

  // Atoms: values by their number, then these.
  std::uint32_t index(unsigned axis) const { return static_cast<std::uint32_t>(values.all.size()) + axis; }
  std::uint32_t extent(unsigned axis) const { return index(3 + axis); }
  std::uint32_t lane() const { return index(6); }
  std::map<std::uint32_t, Unknown> unknowns;  ///< atoms that are equal in all threads
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> parameter_atoms;  ///< (variable, offset)

  // What is found, and an account of it: what rests on a guess is forgotten with it.
  std::vector<std::optional<Form>> forms;
  std::vector<std::optional<Bounds>> bounds;
  std::map<std::uint32_t, std::vector<Linear>> facts;  ///< by 2 * instruction + holds: sums of at most 0
  struct Entry {
    enum { form, bound, fact } kind;
    std::uint32_t id;
  };
  std::vector<Entry> account;
  struct Step {
    Linear step;
    std::optional<Form> first;  ///< before the loop
  };
  std::map<std::uint32_t, Step> steps;  ///< of phis that advance by the same in all iterations
  bool trust_comparisons = false;       ///< to make a guess: they are taken not to overflow

  void forget(std::size_t from) {
    while (account.size() > from) {
      const Entry e = account.back();
      account.pop_back();
      if (e.kind == Entry::form) forms[e.id].reset();
      if (e.kind == Entry::bound) bounds[e.id].reset();
      if (e.kind == Entry::fact) facts.erase(e.id);
    }
  }

  // ---- numbers equal in all threads

  bool is_uniform(std::uint32_t atom) const { return unknowns.contains(atom); }
  std::optional<std::int64_t> extreme(const Linear& a, bool greatest) const {
    std::int64_t sum = a.constant;
    for (const auto& [id, factor] : a.terms) {
      const auto u = unknowns.find(id);
      if (u == unknowns.end()) return std::nullopt;
      sum += factor * ((factor > 0) == greatest ? u->second.most : u->second.least);
    }
    return sum;
  }
  bool at_most(const Linear& a, const Linear& b) const {
    const MaybeLinear difference = add(b, a, -1);
    if (!difference) return false;
    const auto least = extreme(*difference, false);
    return least && *least >= 0;
  }
  bool at_most(const Linear& a, std::int64_t b) const { return at_most(a, number(b)); }
  bool at_least(const Linear& a, std::int64_t b) const { return at_most(number(b), a); }
  MaybeLinear greater(const MaybeLinear& a, const MaybeLinear& b) const {
    if (!a || !b) return std::nullopt;
    if (at_most(*a, *b)) return b;
    if (at_most(*b, *a)) return a;
    const auto x = extreme(*a, true), y = extreme(*b, true);
    return x && y ? MaybeLinear(number(std::max(*x, *y))) : std::nullopt;
  }
  MaybeLinear lesser(const MaybeLinear& a, const MaybeLinear& b) const {
    if (!a || !b) return std::nullopt;
    const MaybeLinear most = greater(times(*a, -1), times(*b, -1));
    return most ? times(*most, -1) : std::nullopt;
  }
  Bounds joined(const Bounds& a, const Bounds& b) const {
    return {lesser(a.least, b.least), greater(a.most, b.most)};
  }
  bool within(const Bounds& b, std::int64_t least, std::int64_t most) const {
    return b.least && b.most && at_least(*b.least, least) && at_most(*b.most, most);
  }
  static Bounds between(std::int64_t least, std::int64_t most) { return {number(least), number(most)}; }
  Bounds of_type(Integer t) const {
    if (t.bits == 0 || t.bits > 32) return {};
    return between(t.least(), t.most());
  }
  /// Constant ends, 0 <= least.
  std::optional<std::pair<std::int64_t, std::int64_t>> natural(const Bounds& b) const {
    if (!b.least || !b.most || !at_least(*b.least, 0)) return std::nullopt;
    const auto least = extreme(*b.least, false), most = extreme(*b.most, true);
    if (!least || !most) return std::nullopt;
    return std::pair{*least, *most};
  }

  // ---- forms

  /// Bits below the lowest one of these are 0 in every value of the sum.
  static std::int64_t low_bits(const Linear& sum) {
    std::int64_t all = sum.constant;
    for (const auto& [id, factor] : sum.terms) all |= factor;
    return all;
  }

  Form atom(std::uint32_t id) const { return {kNone, {{{id, 1}}, 0}}; }

  std::optional<Form> special(std::string_view name) {
    if (name == "WARP_SZ") return Form{kNone, number(32)};
    if (name == "%laneid") return atom(lane());
    const auto axis = static_cast<unsigned>(name.empty() ? 9 : name.back() - 'x');
    if (axis > 2) return std::nullopt;
    if (name.starts_with("%tid.") && name.size() == 6) return atom(index(axis));
    if (name.starts_with("%ntid.") && name.size() == 7)
      return block ? Form{kNone, number((*block)[axis])} : atom(extent(axis));
    return std::nullopt;
  }

  /// None: not of this kind.
  std::optional<Form> operand_form(std::uint32_t at, unsigned bits) {
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

  static std::optional<Form> shifted(const Form& a, const Linear& b, std::int64_t factor) {
    const MaybeLinear sum = add(a.sum, b, factor);
    return sum ? std::optional(Form{a.base, *sum}) : std::nullopt;
  }
  static std::optional<Form> sum_of(const std::optional<Form>& a, const std::optional<Form>& b) {
    if (!a || !b || (a->base != kNone && b->base != kNone)) return std::nullopt;
    return a->base != kNone ? shifted(*a, b->sum, 1) : shifted(*b, a->sum, 1);
  }
  static std::optional<Form> difference(const std::optional<Form>& a, const std::optional<Form>& b) {
    if (!a || !b || (b->base != kNone && b->base != a->base)) return std::nullopt;
    std::optional<Form> result = shifted(*a, b->sum, -1);
    if (result && b->base != kNone) result->base = kNone;
    return result;
  }
  static std::optional<Form> product(const std::optional<Form>& a, const std::optional<Form>& b) {
    if (!a || !b || a->base != kNone || b->base != kNone) return std::nullopt;
    const bool left = a->sum.terms.empty();
    if (!left && !b->sum.terms.empty()) return std::nullopt;
    const MaybeLinear sum = left ? times(b->sum, a->sum.constant) : times(a->sum, b->sum.constant);
    return sum ? std::optional(Form{kNone, *sum}) : std::nullopt;
  }
  /// Unchanged if its bits, read as this type, are the number itself.
  std::optional<Form> read_as(const std::optional<Form>& a, Integer type, std::uint32_t instruction) {
    if (!a || type.bits == 0) return std::nullopt;
    if (a->base == kNone && type.bits > 32) return a;
    const Bounds b = bounds_of(a->sum, conditions.at(instruction));
    // The shared window lies below 4 GiB, and an address inside an array does not wrap.
    if (a->base != kNone) return type.bits >= 32 && within(b, 0, kMostOffset) ? a : std::nullopt;
    return within(b, type.least(), type.most()) ? a : std::nullopt;
  }

  const Form& form(std::uint32_t v) {
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
  void set_form(std::uint32_t v, Form value) {
    forms[v] = std::move(value);
    account.push_back({Entry::form, v});
  }

  bool plainly_guarded(const Value& v) const {
    const Instruction& i = cfg.instruction(v.instruction);
    return i.guard != kNone && v.input_count == 1 && module.opcode(i).destinations == 1 &&
           i.operand_count > 0 && f.operands[i.first_operand].kind == OperandKind::reg &&
           f.operands[i.first_operand].component == 0xff;
  }
  std::vector<Form> edge_inputs(const Value& phi) {
    std::vector<Form> all;
    for (const std::uint32_t* in = values.begin_inputs(phi); in != values.end_inputs(phi); ++in)
      all.push_back(form(*in));
    return all;
  }
  /// Of a value that may be each of these.
  Form joined_form(std::uint32_t v, const std::vector<Form>& all) const {
    if (std::ranges::all_of(all, [&](const Form& x) { return x == all[0]; })) return all[0];
    Form result = atom(v);
    if (std::ranges::all_of(all, [&](const Form& x) { return x.base == all[0].base; }))
      result.base = all[0].base;
    return result;
  }

  std::optional<Form> instruction_form(std::uint32_t at) {
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

  std::optional<Form> parameter(const Instruction& i) {
    const Operand& address = f.operands[i.first_operand + 1];
    if (address.kind != OperandKind::address || address.count != 1 || module.opcode(i).vector != 1)
      return std::nullopt;
    const Operand& base = f.operands[address.id];
    if (base.kind != OperandKind::symbol || std::ranges::find(f.parameters, base.id) == f.parameters.end())
      return std::nullopt;
    const auto it = parameter_atoms.find({base.id, static_cast<std::uint32_t>(base.value + address.value)});
    return it == parameter_atoms.end() ? std::nullopt : std::optional(atom(it->second));
  }

  /// Parameters that stand in addresses of shared memory become numbers known at launch.
  void allow_parameters() {
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

  // ---- loops

  const Loop* headed_by(std::uint32_t b) const {
    const std::uint32_t loop = cfg.loop_of[b];
    return loop != kNone && cfg.loops[loop].header == b ? &cfg.loops[loop] : nullptr;
  }

  /// The forms of all phis at the head.
  void analyse(const Loop& loop) {
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

  /// Of the phis that advance evenly, one that an exit of the loop compares.
  std::uint32_t counter_of(const Loop& loop) {
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

  std::optional<Form> in_terms_of(std::uint32_t counter, const Step& of) const {
    const Step& unit = steps.at(counter);
    if (!unit.first || unit.first->base != kNone) return std::nullopt;
    const auto lead = [](const Linear& l) { return l.terms.empty() ? l.constant : l.terms[0].second; };
    if (lead(unit.step) == 0 || lead(of.step) % lead(unit.step) != 0) return std::nullopt;
    const std::int64_t factor = lead(of.step) / lead(unit.step);
    if (times(unit.step, factor) != MaybeLinear(of.step)) return std::nullopt;
    const MaybeLinear sum = add(add(of.first->sum, unit.first->sum, -factor), atom(counter).sum, factor);
    return sum ? std::optional(Form{of.first->base, *sum}) : std::nullopt;
  }

  // ---- bounds

  Bounds bounds_of(const Linear& sum, const std::vector<Condition>& where) {
    std::vector<Linear> known;
    for (const Condition& c : where) {
      const std::vector<Linear>& more = facts_of(c);
      known.insert(known.end(), more.begin(), more.end());
    }
    Bounds b{std::nullopt, upper(sum, known, 0)};
    if (const MaybeLinear negative = times(sum, -1)) b.least = upper(*negative, known, 0);
    if (b.least) b.least = times(*b.least, -1);
    return b;
  }

  std::pair<Linear, Linear> parted(const Linear& sum) const {
    Linear uniform{{}, sum.constant}, other;
    for (const auto& t : sum.terms) (is_uniform(t.first) ? uniform : other).terms.push_back(t);
    return {uniform, other};
  }

  /// A bound of `sum`, where each of `known` is at most 0.
  MaybeLinear upper(const Linear& sum, const std::vector<Linear>& known, unsigned depth) {
    const auto [uniform, other] = parted(sum);
    if (other.terms.empty()) return uniform;
    if (depth > kDeepest) return std::nullopt;
    MaybeLinear best;
    const auto offer = [&](const MaybeLinear& candidate) {
      if (!candidate) return;
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
    for (const Linear& fact : known) {
      const auto [fact_uniform, fact_other] = parted(fact);
      if (fact_other.terms.empty()) continue;
      const auto& [id, unit] = fact_other.terms[0];
      const auto mine = std::ranges::find(other.terms, id, &std::pair<std::uint32_t, std::int64_t>::first);
      if (mine == other.terms.end() || mine->second % unit != 0 || mine->second / unit <= 0) continue;
      const std::int64_t factor = mine->second / unit;
      const MaybeLinear rest = add(other, fact_other, -factor);
      if (!rest || rest->terms.size() + fact_other.terms.size() != other.terms.size()) continue;
      offer(add(add(uniform, fact_uniform, -factor), upper(*rest, known, depth + 1)));
    }
    return best;
  }

  Bounds atom_bounds(std::uint32_t id) {
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

  Integer signed_register(std::uint32_t reg) const {
    Integer t = integer(f.registers[reg].type);
    t.is_signed = true;
    return t;
  }

  Bounds joined_inputs(std::uint32_t phi) {
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

  Bounds loop_bounds(std::uint32_t phi, const Loop& loop) {
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

  Bounds instruction_bounds(std::uint32_t at, std::uint32_t reg) {
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

  // ---- comparisons

  const std::vector<Linear>& facts_of(const Condition& c) {
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

  Integer type_of(const Instruction& i) const { return integer(module.opcode(i).parts.back()); }

  std::vector<Linear> compare(const Condition& c, const Linear& a, const Linear& b, bool addresses) {
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
    if (how == "ne") return never_met(c, a, b);
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

  /// A loop that runs until its counter equals a bound, which it meets exactly: before that it is below
  /// (above, counting down) by a step at least.
  std::vector<Linear> never_met(const Condition& c, const Linear& a, const Linear& b) {
    const std::uint32_t here = cfg.block_of[c.instruction];
    const Loop* loop = cfg.loop_of[here] == kNone ? nullptr : &cfg.loops[cfg.loop_of[here]];
    // Each iteration compares, and goes on only if they differ; otherwise the loop is left.
    if (loop == nullptr || (here != loop->header && loop->latches != std::vector{here})) return {};
    unsigned inside = 0;
    for (const std::uint32_t s : cfg.graph.successors[here]) {
      if (!loop->contains(s)) continue;
      const std::vector<Condition> all = conditions.on_edge(here, s);
      inside += std::any_of(
                    all.begin() + static_cast<std::ptrdiff_t>(conditions.in_block(here).size()), all.end(),
                    [&](const Condition& x) { return x.instruction == c.instruction && x.holds == c.holds; })
                    ? 1
                    : 2;
    }
    if (inside != 1) return {};
    const MaybeLinear distance = add(b, a, -1);
    if (!distance) return {};
    for (const auto& [id, factor] : distance->terms) {
      if (id < values.all.size())
        form(id);  // what was found of its step may rest on a guess that was dropped
      const auto it = steps.find(id);
      if (it == steps.end() || values.all[id].block != loop->header || !it->second.first ||
          it->second.first->base != kNone || !it->second.step.terms.empty() || it->second.step.constant == 0)
        continue;
      const std::int64_t advance = -factor * it->second.step.constant;  // of a towards b
      const MaybeLinear first = add(add(*distance, atom(id).sum, -factor), it->second.first->sum, factor);
      if (!first || first->constant % advance != 0) return {};
      for (const auto& t : first->terms)
        if (!is_uniform(t.first) || t.second % advance != 0) return {};
      if (advance > 0 ? !at_least(*first, 0) : !at_most(*first, 0)) return {};
      const MaybeLinear fact =
          advance > 0 ? add(number(advance), *distance, -1) : add(*distance, number(-advance));
      return fact ? std::vector<Linear>{*fact} : std::vector<Linear>{};
    }
    return {};
  }
};

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
  const Bounds b = finder_->bounds_of(form->sum, finder_->conditions.at(instruction));
  return {form->base, b.least, b.most};
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

}  // namespace warploom::ptx
