#include "reuse/analysis/flights.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "reuse/analysis/barrier_kind.hpp"

namespace warploom::reuse {

using namespace ptx;

namespace {

constexpr std::uint8_t kLanded = 255;  ///< no flight is under way
constexpr std::uint8_t kMost = 60;     ///< commits that are counted
constexpr std::size_t kKinds = 3;      ///< of groups

/// Commits since the youngest flight of each kind began, the fewest over all paths.
using Ages = std::array<std::uint8_t, kKinds>;
constexpr Ages kAllLanded{kLanded, kLanded, kLanded};

/// Which phase of an mbarrier a thread waits for next, of the even ones or the odd ones: by a number, or by
/// what a loop counts in a register.
struct Phase {
  bool known = true;
  bool odd = false;  ///< as the first is not; who has not made the mbarrier himself begins there, too
  std::uint32_t base = kNone;  ///< of this phi's parity, or the other one if `odd`; kNone: of a number's
  bool operator==(const Phase&) const = default;
};
constexpr Phase kUnknownPhase{false, false, kNone};

struct Mbarrier {
  Phase phase = {};
  std::uint32_t token = kNone;  ///< value of the arrival since the last wait; kNone: none
  bool many = false;            ///< tokens: it depends on the path
  bool valid = false;           ///< may be, between init and inval
};

struct State {
  std::vector<Ages> ages;  ///< by object
  std::vector<ObjectSet>
      arrived;  ///< by object: mbarriers at which this thread arrived for all its copies; all where none is
  std::vector<ObjectSet> told_by;   ///< by object: mbarriers that tell when its bulk loads are over
  std::vector<Mbarrier> mbarriers;  ///< by object that holds one
  ObjectSet unfenced, fenced;       ///< accessed; and a fence.proxy.async came since, but no barrier

  explicit State(std::size_t objects)
      : ages(objects, kAllLanded),
        arrived(objects, ObjectSet().set()),
        told_by(objects),
        mbarriers(objects) {}
  bool flies(std::size_t o) const { return ages[o] != kAllLanded || told_by[o].any() || mbarriers[o].valid; }
};

template <class T>
bool assign(T& to, const T& value) {
  if (to == value) return false;
  to = value;
  return true;
}

bool join(State& into, const State& from) {
  bool changed = false;
  for (std::size_t o = 0; o < into.ages.size(); ++o) {
    for (std::size_t k = 0; k < kKinds; ++k)
      changed |= assign(into.ages[o][k], std::min(into.ages[o][k], from.ages[o][k]));
    changed |= assign(into.arrived[o], into.arrived[o] & from.arrived[o]);
    changed |= assign(into.told_by[o], into.told_by[o] | from.told_by[o]);
    Mbarrier& m = into.mbarriers[o];
    const Mbarrier& other = from.mbarriers[o];
    if (m.phase != other.phase) changed |= assign(m.phase, kUnknownPhase);
    if (m.token != other.token) changed |= assign(m.many, true);
    changed |= assign(m.many, m.many || other.many);
    changed |= assign(m.valid, m.valid || other.valid);
  }
  changed |= assign(into.unfenced, into.unfenced | from.unfenced);
  return assign(into.fenced, into.fenced | from.fenced) || changed;
}

/// What an instruction is to groups of one kind.
struct Step {
  enum { none, commit, wait } what = none;
  std::size_t kind = 0;
  std::uint64_t left = 0;  ///< groups that a wait leaves under way
};

std::size_t index_of(Flight flight) { return static_cast<std::size_t>(flight) - 1; }

/// A wait at an mbarrier: what follows the branch at the end of its block comes after the phase.
struct PhaseWait {
  std::uint32_t object = 0;
  std::uint32_t again = kNone;      ///< the block that follows when it is not over
  std::optional<Phase> phase = {};  ///< by parity
  std::uint32_t token = kNone;
};

class Flights {
 public:
  Flights(const Cfg& cfg, const Values& values, SharedUse& use)
      : cfg_(cfg), module_(*cfg.module), f_(*cfg.function), values_(values), use_(use) {}

  void run(bool pin) {
    prepare(pin);
    std::vector<State> in(cfg_.blocks.size(), State(use_.objects.size()));
    std::vector<bool> reached(cfg_.blocks.size());
    reached[cfg_.order[0]] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t b : cfg_.order) {
        if (!reached[b]) continue;
        State out = in[b];
        std::uint32_t again = kNone;
        std::optional<State> waiting;  // goes round once more
        for (std::uint32_t i = cfg_.blocks[b].first; i < cfg_.blocks[b].last; ++i) {
          if (const auto w = wait_at_.find(i); w != wait_at_.end()) again = w->second.again, waiting = out;
          advance(out, i, nullptr);
        }
        for (const std::uint32_t s : cfg_.graph.successors[b]) {
          State to = s == again ? *waiting : out;
          rebase(to, b, s);
          if (reached[s]) {
            changed |= join(in[s], to);
          } else {
            in[s] = std::move(to);
            reached[s] = changed = true;
          }
        }
      }
    }
    std::vector<Access> landings;
    for (const std::uint32_t b : cfg_.order) {
      State state = in[b];
      for (std::uint32_t i = cfg_.blocks[b].first; i < cfg_.blocks[b].last; ++i) {
        meet(state, i);
        const Op op = module_.opcode(f_.instructions[i]).op;
        if (pin && (op == Op::ret || op == Op::exit_ || op == Op::trap)) keep(state, f_.instructions[i].line);
        advance(state, i, &landings);
      }
      if (pin && cfg_.graph.successors[b].empty()) keep(state, f_.line);
    }
    use_.accesses.insert(use_.accesses.end(), landings.begin(), landings.end());
    std::ranges::stable_sort(use_.accesses, {}, &Access::instruction);
  }

 private:
  void prepare(bool pin) {
    const std::size_t n = f_.instructions.size();
    met_.resize(use_.objects.size());
    steps_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) steps_[i] = step(f_.instructions[i]);
    access_at_.assign(n, kNone);
    for (std::uint32_t a = 0; a < use_.accesses.size(); ++a) access_at_[use_.accesses[a].instruction] = a;
    // An object may hold several mbarriers: then which one is meant is not known.
    single_.set();
    std::map<std::uint32_t, std::int64_t> place_of;
    ObjectSet made;
    for (MbarrierStep& m : use_.mbarriers) {
      m.object = static_cast<std::uint32_t>(  // parts have come since
          use_.accesses[access_at_[m.instruction]].objects._Find_first());
      mbarrier_at_[m.instruction] = &m;
      made[m.object] = made[m.object] || m.what == MbarrierStep::init;
      const auto known = place_of.emplace(m.object, m.place).first;
      if (use_.objects[m.object].bytes != 8 && (m.place < 0 || known->second != m.place))
        single_.reset(m.object);
    }
    for (const Access& a : use_.accesses)
      if (a.flight == Flight::load && use_.objects[holder(a)].bytes != 8) single_.reset(holder(a));
    single_ &= made;  // of others it is not known in which phase they are
    for (const MbarrierStep& m : use_.mbarriers) {
      if (m.what == MbarrierStep::wait) find_wait(m);
      if (pin && !made[m.object] && !use_.objects[m.object].pinned)
        use_.objects[m.object].pinned =
            Reason{"holds an mbarrier that is not made here", f_.instructions[m.instruction].line};
    }
  }

  /// The object that holds the mbarrier of a bulk copy.
  std::uint32_t holder(const Access& a) const {
    std::uint32_t o = 0;
    while (use_.objects[o].variable != a.mbarrier) ++o;
    return o;
  }

  Step step(const Instruction& i) const {
    const Opcode& o = module_.opcode(i);
    if (i.guard != kNone || (o.op != Op::cp && o.op != Op::wgmma)) return {};
    const std::size_t kind = index_of(o.op == Op::wgmma ? Flight::product
                                      : o.has("bulk")   ? Flight::bulk
                                                        : Flight::copy);
    if (o.has("commit_group")) return {Step::commit, kind, 0};
    if (o.has("wait_all")) return {Step::wait, kind, kMost};  // of what is not committed, too
    if (!o.has("wait_group") || i.operand_count != 1) return {};
    const Operand& left = f_.operands[i.first_operand];
    if (left.kind != OperandKind::integer || left.value < 0 || left.value >= kMost) return {};
    return {Step::wait, kind, static_cast<std::uint64_t>(left.value)};
  }

  const Instruction* definition(std::uint32_t value) const {
    if (value == kNone || values_.all[value].kind != Value::definition) return nullptr;
    return &f_.instructions[values_.all[value].instruction];
  }
  std::uint32_t value_of(const Instruction& i, std::uint32_t operand) const {
    return operand < i.operand_count ? values_.of_operand[i.first_operand + operand] : kNone;
  }
  std::optional<std::int64_t> number_of(const Instruction& i, std::uint32_t operand) const {
    if (operand >= i.operand_count) return std::nullopt;
    const Operand& o = f_.operands[i.first_operand + operand];
    if (o.kind == OperandKind::integer) return o.value;
    const Instruction* from = o.kind == OperandKind::reg ? definition(value_of(i, operand)) : nullptr;
    if (from == nullptr || module_.opcode(*from).op != Op::mov || from->operand_count != 2)
      return std::nullopt;
    const Operand& source = f_.operands[from->first_operand + 1];
    return source.kind == OperandKind::integer ? std::optional(source.value) : std::nullopt;
  }

  /// The parity of a value, of the kinds that count phases: what xor, add and the like make of a number or of
  /// a phi. Where a value is, its phi has not changed since: in SSA form a definition is as new as what it
  /// reads.
  std::optional<Phase> parity_of(std::uint32_t value) const {
    Phase p{true, false, kNone};
    for (int steps = 0; steps < 16 && value != kNone; ++steps) {
      const Value& v = values_.all[value];
      if (v.kind == Value::phi) return Phase{true, p.odd, value};
      const Instruction* const i = definition(value);
      if (i == nullptr || i->operand_count < 2) return std::nullopt;
      const Opcode& o = module_.opcode(*i);
      if (o.vector != 1 || type_bytes(o.parts.back()) < 4 || o.parts.back().front() == 'f')
        return std::nullopt;
      const Operand& first = f_.operands[i->first_operand + 1];
      if (o.op == Op::mov && first.kind == OperandKind::integer) {
        p.odd ^= (first.value & 1) != 0;
        return p;
      }
      if (first.kind != OperandKind::reg || first.component != 0xff) return std::nullopt;
      value = value_of(*i, 1);
      if (o.op == Op::mov && i->operand_count == 2) continue;
      if (o.op == Op::not_ && i->operand_count == 2) {
        p.odd ^= true;
        continue;
      }
      if (i->operand_count != 3 || f_.operands[i->first_operand + 2].kind != OperandKind::integer ||
          o.has("sat"))
        return std::nullopt;
      const bool one = (f_.operands[i->first_operand + 2].value & 1) != 0;
      if (o.op == Op::xor_ || o.op == Op::add || o.op == Op::sub)
        p.odd ^= one;
      else if (o.op != Op::and_ || !one)
        return std::nullopt;
    }
    return std::nullopt;
  }

  /// Which phis the phases of an object's mbarrier may be counted by: those that its waits read, and what
  /// these are made of.
  void find_counters(std::uint32_t object, const Phase& read) {
    std::vector<std::uint32_t> work{read.base};
    while (!work.empty()) {
      const std::uint32_t phi = work.back();
      work.pop_back();
      std::vector<std::uint32_t>& all = counters_[object];
      if (phi == kNone || std::ranges::find(all, phi) != all.end()) continue;
      all.push_back(phi);
      const Value& v = values_.all[phi];
      for (const std::uint32_t* in = values_.begin_inputs(v); in != values_.end_inputs(v); ++in)
        if (const auto p = parity_of(*in)) work.push_back(p->base);
    }
  }

  /// What phases are counted by, in the block behind an edge: its phis take what comes along the edge.
  void rebase(State& state, std::uint32_t from, std::uint32_t to) const {
    for (const auto& [object, counters] : counters_) {
      Phase& phase = state.mbarriers[object].phase;
      if (!phase.known) continue;
      std::optional<Phase> now;
      for (const std::uint32_t phi : counters) {
        if (now || values_.all[phi].block != to) continue;
        now = Phase{true, false, phi};
        const auto& predecessors = cfg_.graph.predecessors[to];
        for (std::size_t k = 0; now && k < predecessors.size(); ++k) {
          if (predecessors[k] != from) continue;
          const auto p = parity_of(values_.begin_inputs(values_.all[phi])[k]);
          if (!p || p->base != phase.base)
            now.reset();
          else
            now->odd = p->odd != phase.odd;
        }
      }
      if (now)
        phase = *now;
      else if (phase.base != kNone && values_.all[phase.base].block == to)
        phase = kUnknownPhase;
    }
  }

  /// Whether predicate `value` is predicate `base`, or its opposite; through `selp 1, 0` and a comparison
  /// with 0.
  std::optional<bool> same_predicate(std::uint32_t value, std::uint32_t base) const {
    if (value == base) return true;
    const Instruction* test = definition(value);
    if (test == nullptr || test->operand_count != 3) return std::nullopt;
    const Opcode& o = module_.opcode(*test);
    const bool equal = o.has("eq");
    if (o.op != Op::setp || (!equal && !o.has("ne")) || number_of(*test, 2) != 0) return std::nullopt;
    const Instruction* chosen = definition(value_of(*test, 1));
    if (chosen == nullptr || module_.opcode(*chosen).op != Op::selp || chosen->operand_count != 4 ||
        number_of(*chosen, 1) != 1 || number_of(*chosen, 2) != 0 || value_of(*chosen, 3) != base ||
        f_.operands[chosen->first_operand + 3].negated)
      return std::nullopt;
    return !equal;
  }

  /// The block of a wait ends with a branch that goes on when the phase is over, and else back to its begin.
  void find_wait(const MbarrierStep& m) {
    const Instruction& wait = f_.instructions[m.instruction];
    const std::uint32_t b = cfg_.block_of[m.instruction], end = cfg_.blocks[b].last - 1;
    const Instruction& branch = f_.instructions[end];
    odd_waits_.push_back(m.instruction);
    if (wait.guard != kNone || module_.opcode(branch).op != Op::bra || branch.guard == kNone ||
        branch.operand_count != 1)
      return;
    const Operand& label = f_.operands[branch.first_operand];
    const std::optional<bool> is = same_predicate(values_.of_guard[end], value_of(wait, 0));
    if (!is || label.kind != OperandKind::label || b + 1 >= cfg_.blocks.size()) return;
    const bool taken_when_over = *is != branch.guard_negated;
    const std::uint32_t target = f_.labels[label.id].instruction;
    std::uint32_t again = taken_when_over                   ? b + 1
                          : target < f_.instructions.size() ? cfg_.block_of[target]
                                                            : kNone;
    const std::uint32_t next = again;
    if (again != kNone && again != b && cfg_.blocks[again].last == cfg_.blocks[again].first + 1) {
      const Instruction& back = f_.instructions[cfg_.blocks[again].first];
      if (module_.opcode(back).op == Op::bra && back.guard == kNone &&
          cfg_.graph.successors[again].size() == 1)
        again = cfg_.graph.successors[again][0];
    }
    if (again != b) return;
    PhaseWait w{m.object, next, {}, kNone};
    if (module_.opcode(wait).has("parity")) {
      const Operand& parity = f_.operands[wait.first_operand + 2];
      if (parity.kind == OperandKind::integer)
        w.phase = Phase{true, (parity.value & 1) != 0, kNone};
      else if (parity.kind == OperandKind::reg && parity.component == 0xff)
        w.phase = parity_of(value_of(wait, 2));
      if (!w.phase) return;
      find_counters(m.object, *w.phase);
    } else {
      w.token = value_of(wait, 2);
      if (w.token == kNone) return;
    }
    odd_waits_.pop_back();
    wait_at_[end] = w;
  }

  /// Whether the thread that made the mbarrier is sure to end it here.
  bool ends_mbarrier(const MbarrierStep& m) const {
    const Instruction& inval = f_.instructions[m.instruction];
    if (!single_[m.object]) return false;
    if (inval.guard == kNone) return true;
    const std::uint32_t guard = values_.of_guard[m.instruction];
    if (const Value& v = values_.all[guard];
        v.kind != Value::definition || cfg_.loop_of[v.block] != kNone || !cfg_.reducible)
      return false;
    return std::ranges::all_of(use_.mbarriers, [&](const MbarrierStep& other) {
      return other.object != m.object || other.what != MbarrierStep::init ||
             (f_.instructions[other.instruction].guard != kNone &&
              values_.of_guard[other.instruction] == guard &&
              f_.instructions[other.instruction].guard_negated == inval.guard_negated);
    });
  }

  /// All that the mbarrier told of is over.
  static ObjectSet end(State& state, std::uint32_t mbarrier) {
    ObjectSet landed;
    for (std::size_t o = 0; o < state.ages.size(); ++o) {
      std::uint8_t& age = state.ages[o][index_of(Flight::copy)];
      if (age != kLanded && state.arrived[o][mbarrier]) {
        age = kLanded;
        state.arrived[o].set();
        state.unfenced.set(o);
        landed.set(o);
      }
      if (!state.told_by[o][mbarrier]) continue;
      state.told_by[o].reset(mbarrier);
      if (state.told_by[o].none()) landed.set(o);
    }
    return landed;
  }

  ObjectSet at_mbarrier(State& state, const MbarrierStep& m) const {
    Mbarrier& of = state.mbarriers[m.object];
    switch (m.what) {
      case MbarrierStep::init:
        of = {single_[m.object] ? Phase{} : kUnknownPhase, kNone, false, true};
        return {};
      case MbarrierStep::inval:
        if (!ends_mbarrier(m)) return {};
        of.valid = false;
        return end(state, m.object);
      case MbarrierStep::arrive:
        of.token = value_of(f_.instructions[m.instruction], 0);
        of.many = false;
        return {};
      case MbarrierStep::copies_arrive:
        if (f_.instructions[m.instruction].guard == kNone && single_[m.object])
          for (std::size_t o = 0; o < state.ages.size(); ++o)
            if (state.ages[o][index_of(Flight::copy)] != kLanded) state.arrived[o].set(m.object);
        return {};
      default:
        return {};
    }
  }

  ObjectSet at_wait(State& state, const PhaseWait& w) const {
    Mbarrier& of = state.mbarriers[w.object];
    const bool matched = of.phase.known && single_[w.object] &&
                         (w.phase ? *w.phase == of.phase : !of.many && of.token == w.token);
    of.token = kNone;
    if (!matched) {
      of.phase = kUnknownPhase;
      return {};
    }
    of.phase.odd = !of.phase.odd;
    return end(state, w.object);
  }

  void advance(State& state, std::uint32_t i, std::vector<Access>* landings) const {
    const Instruction& instruction = f_.instructions[i];
    const Opcode& opcode = module_.opcode(instruction);
    ObjectSet stored, read;  // by what lands here
    if (access_at_[i] != kNone) {
      const Access& a = use_.accesses[access_at_[i]];
      if (a.flight == Flight::none || a.flight == Flight::copy) state.unfenced |= a.objects;
      for (std::size_t o = 0; o < state.ages.size(); ++o) {
        if (!a.objects[o] || a.flight == Flight::none) continue;
        if (a.flight == Flight::load) {
          state.told_by[o].set(holder(a));
        } else {
          state.ages[o][index_of(a.flight)] = 0;
          if (a.flight == Flight::copy) state.arrived[o].reset();
        }
      }
    }
    if (const auto m = mbarrier_at_.find(i); m != mbarrier_at_.end()) {
      stored |= at_mbarrier(state, *m->second);
      if (m->second->what == MbarrierStep::wait && std::ranges::find(odd_waits_, i) != odd_waits_.end())
        state.mbarriers[m->second->object].phase = kUnknownPhase;
    }
    if (const auto w = wait_at_.find(i); w != wait_at_.end()) stored |= at_wait(state, w->second);
    if (instruction.guard == kNone && opcode.op == Op::fence && opcode.has("proxy") && opcode.has("async"))
      state.fenced |= std::exchange(state.unfenced, {});
    if (instruction.guard == kNone && barrier_kind(module_, f_, instruction) == BarrierKind::full)
      state.fenced.reset();
    const Step& s = steps_[i];
    for (std::size_t o = 0; s.what != Step::none && o < state.ages.size(); ++o) {
      std::uint8_t& age = state.ages[o][s.kind];
      if (age == kLanded) continue;
      if (s.what == Step::commit) {
        age = std::min<std::uint8_t>(age + 1, kMost);
      } else if (s.left == kMost || age > s.left) {
        age = kLanded;
        if (s.kind == index_of(Flight::copy)) state.arrived[o].set(), state.unfenced.set(o);
        (s.kind == index_of(Flight::copy) ? stored : read).set(o);
      }
    }
    if (landings != nullptr && (stored | read).any())
      landings->push_back({i, stored | read, read.any(), stored.any(), 0, kNone, Flight::none, kNone, true});
  }

  void meet_pair(std::size_t flying, std::size_t other, std::uint32_t i, bool proxy) {
    if (flying == other || met_[flying][other]) return;
    met_[flying].set(other);
    use_.in_flight.push_back(
        {static_cast<std::uint32_t>(flying), static_cast<std::uint32_t>(other), i, proxy});
  }

  /// Who is accessed while somebody else is under way.
  void meet(const State& state, std::uint32_t i) {
    if (access_at_[i] == kNone) return;
    const Access& a = use_.accesses[access_at_[i]];
    for (std::size_t flying = 0; flying < state.ages.size(); ++flying) {
      const Ages& ages = state.ages[flying];
      const bool stores = ages[index_of(Flight::copy)] != kLanded || state.told_by[flying].any() ||
                          state.mbarriers[flying].valid;
      const bool reads =
          ages[index_of(Flight::bulk)] != kLanded || ages[index_of(Flight::product)] != kLanded;
      if (!stores && !(reads && a.write)) continue;
      for (std::size_t o = a.objects._Find_first(); o < kMaxObjects; o = a.objects._Find_next(o))
        meet_pair(flying, o, i, false);
    }
    if (a.flight != Flight::load) return;
    const ObjectSet before = state.unfenced | state.fenced;
    for (std::size_t o = before._Find_first(); o < kMaxObjects; o = before._Find_next(o))
      meet_pair(a.objects._Find_first(), o, i, true);
  }

  void keep(const State& state, std::uint32_t line) {
    for (std::size_t o = 0; o < use_.objects.size(); ++o) {
      Object& object = use_.objects[o];
      if (!state.flies(o) || (object.pinned && !object.divisible)) continue;
      object.divisible = false;
      object.obstacle = object.pinned = Reason{
          state.mbarriers[o].valid ? "holds an mbarrier that no mbarrier.inval ends on every path"
                                   : "no wait ends an asynchronous copy or product of it on every path",
          line};
    }
  }

  const Cfg& cfg_;
  const Module& module_;
  const Function& f_;
  const Values& values_;
  SharedUse& use_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> access_at_;
  std::map<std::uint32_t, const MbarrierStep*> mbarrier_at_;
  std::map<std::uint32_t, PhaseWait> wait_at_;                    ///< by the branch that goes on
  std::map<std::uint32_t, std::vector<std::uint32_t>> counters_;  ///< by object: phis
  std::vector<std::uint32_t> odd_waits_;  ///< of which it is not known when one goes on
  ObjectSet single_;                      ///< hold one mbarrier, if any
  std::vector<ObjectSet> met_;            ///< pairs of in_flight
};

}  // namespace

void forget_flights(SharedUse& use) {
  std::erase_if(use.accesses, [](const Access& a) { return a.landing; });
  use.in_flight.clear();
}

void find_flights(const Cfg& cfg, const Values& values, SharedUse& use, bool pin) {
  forget_flights(use);
  if (use.mbarriers.empty() &&
      std::ranges::none_of(use.accesses, [](const Access& a) { return a.flight != Flight::none; }))
    return;
  Flights(cfg, values, use).run(pin);
}

ObjectSet flying_objects(const SharedUse& use) {
  ObjectSet all;
  for (const Access& a : use.accesses)
    if (a.flight != Flight::none) all |= a.objects;
  for (const MbarrierStep& m : use.mbarriers) all.set(m.object);
  return all;
}

}  // namespace warploom::reuse
