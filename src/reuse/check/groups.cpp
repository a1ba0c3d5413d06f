// What goes on behind its instruction: copies to and from shared memory, and matrix products, until a wait
// for their group, or until an mbarrier says that they are over.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "reuse/check/lives.hpp"

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;
using ptx::Op;
using ptx::OperandKind;

/// For each kind of group the numbers of commits that its accesses under way may have seen, bit n for n of
/// them; the last bit is for that many or more.
using Seen = std::array<std::uint64_t, kGroups>;
constexpr std::uint64_t kLast = std::uint64_t{1} << 63;

/// Of the phase that a thread waits for next: is it odd, as numbers and as registers that count phases have
/// it. What paths do not agree on falls away where they meet; with nothing left it is not known.
struct Phase {
  bool begun = false;
  std::map<std::uint32_t, bool> odd_if{};  ///< by register: whether it is odd where the register's content is
                                           ///< even; by kNone: whether it is odd
  bool operator==(const Phase&) const = default;

  bool known() const { return begun && !odd_if.empty(); }
  /// An mbarrier is made: an even phase. Of registers whose parity is known, that is still so.
  void begin() {
    const auto number = odd_if.find(kNone);
    if (!begun || number == odd_if.end()) odd_if.clear();
    const bool odd = !odd_if.empty() && number->second;
    for (auto& [reg, is_odd] : odd_if) is_odd = is_odd != odd;
    odd_if[kNone] = false;
    begun = true;
  }
  void forget() {
    begun = true;
    odd_if.clear();
  }
  void next() {
    for (auto& [reg, odd] : odd_if) odd = !odd;
  }
  void merge(const Phase& other) {
    if (!other.begun) return;
    if (!begun) {
      *this = other;
      return;
    }
    std::erase_if(odd_if, [&](const auto& mine) {
      const auto theirs = other.odd_if.find(mine.first);
      return theirs == other.odd_if.end() || theirs->second != mine.second;
    });
  }
};

std::size_t index(Group g) { return static_cast<std::size_t>(g) - 1; }

/// What may be under way of one object; all of it grows where paths meet.
struct Open {
  Seen seen{};
  std::set<std::uint32_t> loads{};      ///< holders of mbarriers that tell when bulk copies to it are over
  std::set<std::uint32_t> unarrived{};  ///< holders at which copies under way have not all arrived
  // Of a holder:
  Phase phase{};                     ///< the next to be waited for
  std::set<std::uint32_t> tokens{};  ///< arrivals that may have been the last; kNone: none
  bool valid = false;                ///< there may be an mbarrier in it
  bool operator==(const Open&) const = default;

  bool under_way() const { return seen != Seen{} || !loads.empty() || valid; }
  bool merge(const Open& other) {
    const Open before = *this;
    for (std::size_t g = 0; g < kGroups; ++g) seen[g] |= other.seen[g];
    loads.insert(other.loads.begin(), other.loads.end());
    unarrived.insert(other.unarrived.begin(), other.unarrived.end());
    phase.merge(other.phase);
    tokens.insert(other.tokens.begin(), other.tokens.end());
    valid |= other.valid;
    return *this != before;
  }
};

struct State {
  std::vector<Open> of;
  Bits unfenced, fenced;  ///< accessed; and behind a fence for the async proxy, but behind no barrier yet
  bool merge(const State& other) {
    bool changed = unfenced.merge(other.unfenced);
    changed |= fenced.merge(other.fenced);
    for (std::size_t o = 0; o < of.size(); ++o) changed |= of[o].merge(other.of[o]);
    return changed;
  }
};

class Groups {
 public:
  explicit Groups(Kernel& k) : k_(k) {}

  std::vector<std::string> run() {
    const auto& cfg = k_.cfg;
    find_holders();
    const Bits none(k_.objects.size());
    State begin{std::vector<Open>(k_.objects.size()), none, none};
    std::vector<State> in(cfg.blocks.size(), begin);
    // Who has not made an mbarrier himself comes to one whose first phase is even, too.
    for (Open& o : in[cfg.order[0]].of) o.tokens = {kNone}, o.phase.begin();
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::uint32_t b : cfg.order) {
        State state = in[b];
        const auto wait =
            cfg.blocks[b].first == cfg.blocks[b].last ? waits_.end() : waits_.find(cfg.blocks[b].last - 1);
        std::optional<State> not_over;
        for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i) {
          if (wait != waits_.end() && wait->first == i) not_over = state;
          step(state, i, nullptr);
        }
        for (const std::uint32_t s : cfg.graph.successors[b])
          changed |= in[s].merge(not_over && s == wait->second.again ? *not_over : state);
      }
    }
    std::vector<Access> ends;
    for (const std::uint32_t b : cfg.order) {
      State state = in[b];
      for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i) {
        meets(state, i);
        if (leaves_kernel(k_, i)) left(state, k_.line(i));
        step(state, i, &ends);
      }
      if (cfg.graph.successors[b].empty()) left(state, k_.function.line);
    }
    add(std::move(ends));
    return std::move(problems_);
  }

 private:
  struct Wait {
    std::uint32_t holder = 0;
    std::uint32_t again = kNone;    ///< the block that follows when the phase is not over
    std::optional<bool> odd;        ///< by a number
    std::uint32_t counter = kNone;  ///< by a register's parity
    std::uint32_t arrival = kNone;  ///< that gave the token
  };

  std::span<const ptx::Operand> operands(std::uint32_t i) const {
    return k_.function.operands_of(k_.function.instructions[i]);
  }
  std::uint32_t holder_at(std::uint32_t i) const {
    std::uint32_t holder = kNone;
    if (k_.access_of[i] != kNone && uses_mbarrier(k_, i))
      k_.accesses[k_.access_of[i]].objects.for_each([&](std::uint32_t o) { holder = o; });
    return holder;
  }

  /// The only instruction that gives a register the value that is read here; kNone: there is not one.
  std::uint32_t only_definition(std::uint32_t i, std::uint32_t reg) const {
    const auto all = k_.flow.reaching(i, reg);
    if (all.size() != 1) return kNone;
    const Definition& d = k_.flow.definitions()[all[0]];
    return d.kills && !k_.guarded(d.instruction) ? d.instruction : kNone;
  }
  std::uint32_t only_definition(std::uint32_t i, const ptx::Operand& o) const {
    return o.kind == OperandKind::reg && o.component == 0xff ? only_definition(i, o.id) : kNone;
  }
  std::optional<std::int64_t> number(std::uint32_t i, const ptx::Operand& o) const {
    if (o.kind == OperandKind::integer) return o.value;
    const std::uint32_t from = only_definition(i, o);
    if (from == kNone || k_.op(from) != Op::mov || operands(from).size() != 2 ||
        operands(from)[1].kind != OperandKind::integer)
      return std::nullopt;
    return operands(from)[1].value;
  }
  /// An address as a name's text and a number, if it is no more than that.
  std::optional<std::int64_t> place(std::uint32_t i, const ptx::Operand& o) const {
    switch (o.kind) {
      case OperandKind::symbol:
        return o.value;
      case OperandKind::address: {
        const auto base = place(i, k_.function.children(o)[0]);
        return base ? std::optional(*base + o.value) : std::nullopt;
      }
      case OperandKind::reg: {
        const std::uint32_t from = only_definition(i, o);
        if (from == kNone) return std::nullopt;
        const auto all = operands(from);
        if (k_.op(from) == Op::add && all.size() == 3 && all[2].kind == OperandKind::integer) {
          const auto base = place(from, all[1]);
          return base ? std::optional(*base + all[2].value) : std::nullopt;
        }
        return (k_.op(from) == Op::mov || k_.op(from) == Op::cvta) && all.size() == 2 ? place(from, all[1])
                                                                                      : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  void find_holders() {
    std::map<std::uint32_t, std::optional<std::int64_t>> places;
    for (std::uint32_t i = 0; i < k_.function.instructions.size(); ++i) {
      if (const std::uint32_t a = k_.access_of[i]; a != kNone && k_.accesses[a].group == Group::loads)
        if (const std::uint32_t h = k_.accesses[a].mbarrier; k_.objects[h].bytes != 8) several_.insert(h);
      const std::uint32_t holder = holder_at(i);
      if (holder == kNone) continue;
      holders_.insert(holder);
      if (k_.opcode(i).has("init")) inits_[holder].push_back(i);
      const auto at = place(i, *address_of(k_.module, k_.function, i));
      const auto first = places.emplace(holder, at).first;
      if (k_.objects[holder].bytes != 8 && (!at || first->second != at)) several_.insert(holder);
    }
    for (const std::uint32_t holder : holders_)
      if (!inits_.contains(holder)) several_.insert(holder);  // it may be in any phase
    for (const auto& [holder, at] : places)
      if (!inits_.contains(holder) && k_.partners[holder].any())
        problems_.push_back(fmt::format("'{}' overlaps others, and holds an mbarrier that is not made here",
                                        k_.objects[holder].name));
    for (std::uint32_t i = 0; i < k_.function.instructions.size(); ++i)
      if (const std::uint32_t holder = holder_at(i);
          holder != kNone && (k_.opcode(i).has("test_wait") || k_.opcode(i).has("try_wait")) &&
          !find_wait(i, holder))
        unclear_.insert(i);
  }

  /// Whether the wait's loop goes on only when the phase is over: then it counts at the branch of its block.
  bool find_wait(std::uint32_t wait, std::uint32_t holder) {
    const std::uint32_t b = k_.cfg.block_of[wait], branch = k_.cfg.blocks[b].last - 1;
    const auto all = operands(wait);
    if (k_.guarded(wait) || k_.op(branch) != Op::bra || !k_.guarded(branch) || all.size() < 3) return false;
    bool over_if_true = true;
    std::uint32_t test = only_definition(branch, k_.function.instructions[branch].guard);
    if (test != wait) {  // compared with 0, after selp 1, 0
      if (test == kNone || k_.op(test) != Op::setp || operands(test).size() != 3) return false;
      const bool equal = k_.opcode(test).has("eq");
      if ((!equal && !k_.opcode(test).has("ne")) || number(test, operands(test)[2]) != 0) return false;
      const std::uint32_t chosen = only_definition(test, operands(test)[1]);
      if (chosen == kNone || k_.op(chosen) != Op::selp || operands(chosen).size() != 4 ||
          number(chosen, operands(chosen)[1]) != 1 || number(chosen, operands(chosen)[2]) != 0 ||
          operands(chosen)[3].negated || only_definition(chosen, operands(chosen)[3]) != wait)
        return false;
      over_if_true = !equal;
    }
    // Where it goes if the phase is not over.
    const auto targets = operands(branch);
    if (targets.size() != 1 || targets[0].kind != OperandKind::label) return false;
    const bool taken_when_true = !k_.function.instructions[branch].guard_negated;
    std::uint32_t next = branch + 1;
    if (taken_when_true != over_if_true) next = k_.function.labels[targets[0].id].instruction;
    if (next >= k_.function.instructions.size()) return false;
    const std::uint32_t again = k_.cfg.block_of[next];
    if (k_.op(next) == Op::bra && !k_.guarded(next) && operands(next).size() == 1 &&
        operands(next)[0].kind == OperandKind::label && k_.cfg.block_of[next] != b)
      next = k_.function.labels[operands(next)[0].id].instruction;
    if (next != k_.cfg.blocks[b].first) return false;
    Wait w{holder, again, {}, kNone, kNone};
    if (k_.opcode(wait).has("parity")) {
      if (const auto parity = number(wait, all[2])) {
        w.odd = (*parity & 1) != 0;
      } else {
        if (all[2].kind != OperandKind::reg || all[2].component != 0xff) return false;
        // It is looked at where the loop is left, so nothing may change it in between.
        for (std::uint32_t i = wait; i <= branch; ++i)
          for (auto [d, last] = k_.flow.defined_by(i); d < last; ++d)
            if (k_.flow.definitions()[d].reg == all[2].id) return false;
        w.counter = all[2].id;
        count_by(w.counter);
      }
    } else {
      w.arrival = only_definition(wait, all[2]);
      if (w.arrival == kNone) return false;
    }
    waits_[branch] = w;
    return true;
  }

  /// A register whose parity phases may have, and those that it gets it from.
  void count_by(std::uint32_t reg) {
    if (!counters_.insert(reg).second) return;
    for (const std::uint32_t d : k_.flow.definitions_of(reg))
      if (const Parity from = parity_from(k_.flow.definitions()[d].instruction); from.reg != kNone)
        count_by(from.reg);
  }

  /// What gives an instruction's result its parity.
  struct Parity {
    bool known = false;
    std::uint32_t reg = kNone;  ///< kNone: a number
    bool odd = false;           ///< of the number; or not the register's but the other one
  };
  Parity parity_from(std::uint32_t i) const {
    const auto all = operands(i);
    const ptx::Opcode& o = k_.opcode(i);
    const std::string_view type = o.parts.back();
    if (k_.guarded(i) || all.size() < 2 || all.size() > 3 || o.vector != 1 || o.has("sat") ||
        type[0] == 'f' || ptx::type_bytes(type) < 4)
      return {};
    if (o.op == Op::mov && all.size() == 2 && all[1].kind == OperandKind::integer)
      return Parity{true, kNone, (all[1].value & 1) != 0};
    if (all[1].kind != OperandKind::reg || all[1].component != 0xff) return {};
    if (all.size() == 2) {
      if (o.op == Op::mov) return Parity{true, all[1].id, false};
      if (o.op == Op::not_) return Parity{true, all[1].id, true};
      return {};
    }
    if (all[2].kind != OperandKind::integer) return {};
    const bool lowest = (all[2].value & 1) != 0;
    if (o.op == Op::add || o.op == Op::sub || o.op == Op::xor_) return Parity{true, all[1].id, lowest};
    if (o.op == Op::and_ && lowest) return Parity{true, all[1].id, false};
    return {};
  }

  /// A counter gets another content.
  void step_counters(State& state, std::uint32_t i) const {
    if (counters_.empty()) return;
    for (auto [d, last] = k_.flow.defined_by(i); d < last; ++d) {
      const std::uint32_t reg = k_.flow.definitions()[d].reg;
      if (!counters_.contains(reg)) continue;
      const Parity from = k_.flow.definitions()[d].kills ? parity_from(i) : Parity{};
      for (const auto& [holder, inits] : inits_) {
        Phase& phase = state.of[holder].phase;
        const auto source = from.known ? phase.odd_if.find(from.reg) : phase.odd_if.end();
        if (source == phase.odd_if.end())
          phase.odd_if.erase(reg);
        else
          phase.odd_if[reg] = source->second != from.odd;
      }
    }
  }

  /// An inval that the thread of each init is sure to come to when others pass it.
  bool ends(std::uint32_t inval, std::uint32_t holder) const {
    if (several_.contains(holder)) return false;
    if (!k_.guarded(inval)) return true;
    const ptx::Instruction& i = k_.function.instructions[inval];
    const std::uint32_t guard = only_definition(inval, i.guard);
    if (guard == kNone || in_cycle(k_.cfg, k_.cfg.block_of[guard])) return false;
    const auto inits = inits_.find(holder);
    return inits == inits_.end() || std::ranges::all_of(inits->second, [&](std::uint32_t init) {
             const ptx::Instruction& other = k_.function.instructions[init];
             return k_.guarded(init) && other.guard_negated == i.guard_negated &&
                    only_definition(init, other.guard) == guard;
           });
  }

  /// What an mbarrier told of is over.
  void close(State& state, std::uint32_t holder, Bits& stored) const {
    for (std::uint32_t o = 0; o < state.of.size(); ++o) {
      Open& open = state.of[o];
      if (open.seen[index(Group::copies)] != 0 && !open.unarrived.contains(holder)) {
        open.seen[index(Group::copies)] = 0;
        open.unarrived.clear();
        state.unfenced.set(o);
        stored.set(o);
      }
      if (open.loads.erase(holder) != 0 && open.loads.empty()) stored.set(o);
    }
  }

  void step_mbarrier(State& state, std::uint32_t i, Bits& stored) const {
    const std::uint32_t holder = holder_at(i);
    if (holder == kNone) return;
    const ptx::Opcode& opcode = k_.opcode(i);
    Open& open = state.of[holder];
    if (opcode.has("init")) {
      open.phase.begin();
      if (several_.contains(holder)) open.phase.forget();
      open.tokens = {kNone};
      open.valid = true;
    } else if (opcode.has("inval")) {
      if (!ends(i, holder)) return;
      open.valid = false;
      close(state, holder, stored);
    } else if (opcode.op == Op::cp) {
      if (k_.guarded(i) || several_.contains(holder)) return;
      for (Open& o : state.of) o.unarrived.erase(holder);
    } else if (opcode.has("arrive")) {
      open.tokens = {i};
    } else if (unclear_.contains(i)) {
      open.phase.forget();
    }
  }

  void step_wait(State& state, const Wait& w, Bits& stored) const {
    Open& open = state.of[w.holder];
    bool matched = open.phase.known() && !several_.contains(w.holder);
    if (w.arrival != kNone) {
      matched = matched && open.tokens == std::set{w.arrival};
    } else if (matched) {
      const auto odd = open.phase.odd_if.find(w.odd ? kNone : w.counter);
      matched = odd != open.phase.odd_if.end() && odd->second == w.odd.value_or(false);
    }
    open.tokens = {kNone};
    if (!matched) {
      open.phase.forget();
      return;
    }
    open.phase.next();
    close(state, w.holder, stored);
  }

  void step(State& state, std::uint32_t i, std::vector<Access>* ends) const {
    const ptx::Opcode& opcode = k_.opcode(i);
    Bits stored(k_.objects.size()), loaded(k_.objects.size());
    if (const std::uint32_t n = k_.access_of[i]; n != kNone) {
      const Access& a = k_.accesses[n];
      if (a.group == Group::none || a.group == Group::copies) state.unfenced.merge(a.objects);
      a.objects.for_each([&](std::uint32_t o) {
        if (a.group == Group::loads) {
          state.of[o].loads.insert(a.mbarrier);
        } else if (a.group != Group::none) {
          state.of[o].seen[index(a.group)] |= 1;
          if (a.group == Group::copies) state.of[o].unarrived.insert(holders_.begin(), holders_.end());
        }
      });
    }
    step_mbarrier(state, i, stored);
    step_counters(state, i);
    if (const auto w = waits_.find(i); w != waits_.end()) step_wait(state, w->second, stored);
    if (opcode.op == Op::fence && opcode.has("proxy") && opcode.has("async") && !k_.guarded(i)) {
      state.fenced.merge(state.unfenced);
      state.unfenced.clear();
    }
    if (separates(k_, i) && !k_.inserted[i]) state.fenced.clear();
    step_group(state, i, stored, loaded);
    if (ends == nullptr || (!stored.any() && !loaded.any())) return;
    Access end{i, stored, loaded.any(), stored.any(), Group::none, kNone};
    end.objects.merge(loaded);
    ends->push_back(std::move(end));
  }

  void step_group(State& state, std::uint32_t i, Bits& stored, Bits& loaded) const {
    const ptx::Opcode& opcode = k_.opcode(i);
    if (opcode.op != Op::cp && opcode.op != Op::wgmma) return;
    const Group group = opcode.op == Op::wgmma ? Group::products
                        : opcode.has("bulk")   ? Group::bulk_copies
                                               : Group::copies;
    const std::size_t g = index(group);
    if (opcode.has("commit_group")) {
      for (Open& open : state.of) {
        std::uint64_t& s = open.seen[g];
        s = (s << 1) | (s & kLast) | (k_.guarded(i) ? s : 0);  // of a guarded one: both ways
      }
      return;
    }
    std::uint64_t kept = ~std::uint64_t{0};
    if (opcode.has("wait_all")) {
      kept = 0;
    } else if (opcode.has("wait_group")) {
      const auto all = operands(i);
      if (all.size() == 1 && all[0].kind == OperandKind::integer && all[0].value >= 0 && all[0].value < 63)
        kept = (std::uint64_t{2} << all[0].value) - 1;  // those that saw no more commits than are left
    }
    if (k_.guarded(i)) return;
    for (std::uint32_t o = 0; o < state.of.size(); ++o) {
      Open& open = state.of[o];
      if (open.seen[g] == 0) continue;
      open.seen[g] &= kept;
      if (open.seen[g] != 0) continue;
      (group == Group::copies ? stored : loaded).set(o);
      if (group != Group::copies) continue;
      open.unarrived.clear();
      state.unfenced.set(o);
    }
  }

  void meets(const State& state, std::uint32_t i) {
    const std::uint32_t a = k_.access_of[i];
    if (a == kNone) return;
    const Access& here = k_.accesses[a];
    for (std::uint32_t o = 0; o < state.of.size(); ++o) {
      const Open& open = state.of[o];
      const bool stored = open.seen[index(Group::copies)] != 0 || !open.loads.empty() || open.valid;
      const bool loaded = (open.seen[index(Group::bulk_copies)] | open.seen[index(Group::products)]) != 0;
      if (!stored && !(loaded && here.store)) continue;
      here.objects.for_each([&](std::uint32_t other) {
        if (k_.partners[o].test(other) && told_.emplace(o, other).second)
          problems_.push_back(
              open.valid
                  ? fmt::format("line {}: '{}' is accessed while '{}' may hold an mbarrier", k_.line(i),
                                k_.objects[other].name, k_.objects[o].name)
                  : fmt::format(
                        "line {}: '{}' is accessed, and what began to {} '{}' before may not be over: no wait ends it",
                        k_.line(i), k_.objects[other].name, stored ? "copy to" : "read", k_.objects[o].name));
      });
    }
    if (here.group != Group::loads) return;
    Bits before = state.unfenced;
    before.merge(state.fenced);
    here.objects.for_each([&](std::uint32_t o) {
      k_.partners[o].for_each([&](std::uint32_t other) {
        if (before.test(other) && told_.emplace(o, other).second)
          problems_.push_back(fmt::format(
              "line {}: a bulk copy to '{}', and '{}' was accessed before: no fence.proxy.async with a barrier behind it "
              "lies between",
              k_.line(i), k_.objects[o].name, k_.objects[other].name));
      });
    });
  }

  void left(const State& state, std::uint32_t line) {
    for (std::uint32_t o = 0; o < state.of.size(); ++o)
      if (k_.partners[o].any() && state.of[o].under_way() && told_.emplace(o, o).second)
        problems_.push_back(fmt::format(
            "line {}: a thread may leave while what it began with '{}', which overlaps others, is not over",
            line, k_.objects[o].name));
  }

  void add(std::vector<Access> ends) {
    k_.accesses.insert(k_.accesses.end(), std::make_move_iterator(ends.begin()),
                       std::make_move_iterator(ends.end()));
    // An mbarrier.inval is an access already, and what it ends stores there, too: nothing of that is loaded.
    std::ranges::stable_sort(k_.accesses, {}, &Access::instruction);
    std::vector<Access> merged;
    for (Access& a : k_.accesses) {
      if (merged.empty() || merged.back().instruction != a.instruction) {
        merged.push_back(std::move(a));
        continue;
      }
      merged.back().objects.merge(a.objects);
      merged.back().load = false;
      merged.back().store = true;
    }
    k_.accesses = std::move(merged);
    for (std::uint32_t a = 0; a < k_.accesses.size(); ++a) k_.access_of[k_.accesses[a].instruction] = a;
  }

  Kernel& k_;
  std::set<std::uint32_t> holders_;                            ///< objects with mbarriers
  std::map<std::uint32_t, std::vector<std::uint32_t>> inits_;  ///< holder -> instructions
  std::set<std::uint32_t> counters_;                           ///< registers that phases are counted by
  std::set<std::uint32_t> several_;      ///< holders of which it is not known which mbarrier is meant
  std::map<std::uint32_t, Wait> waits_;  ///< by the branch at the end of their blocks
  std::set<std::uint32_t> unclear_;      ///< other waits
  std::set<std::pair<std::uint32_t, std::uint32_t>> told_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> follow_groups(Kernel& k) {
  k.asynchronous = Bits(k.objects.size());
  for (const Access& a : k.accesses)
    if (a.group != Group::none || uses_mbarrier(k, a.instruction)) k.asynchronous.merge(a.objects);
  if (!k.asynchronous.any()) return {};
  return Groups(k).run();
}

}  // namespace warploom::reuse::checking
