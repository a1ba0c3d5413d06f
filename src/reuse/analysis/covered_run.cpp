#include "reuse/analysis/covered_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "reuse/analysis/stored.hpp"

namespace warploom::reuse {

using namespace ptx;

namespace {

/// Evaluations of one loop's head after which its end counts as unknown.
constexpr std::uint64_t kLoopBudget = 500'000;

struct GiveUp {
  Reason reason;
};
struct Restart {};  ///< a loop turned out to be of unknown length

struct Thread {
  std::vector<Cell> cells;     ///< per slot
  Stored own;                  ///< stored by this thread, not yet seen by all others
  Literals given;              ///< conditions of the arms it is in
  bool may_have_left = false;  ///< left the kernel where it did not know the condition
  std::uint32_t doubts = 0;    ///< arms around it that it may not be in, while others are
  enum End : std::uint8_t { none, next_iteration, left } end = none;

  /// Certain to arrive wherever the others do: what it stores before a barrier is there for all.
  bool present() const { return !may_have_left && doubts == 0; }
};

/// Threads that are at the same place.
struct Group {
  std::vector<std::uint32_t> threads;
  std::shared_ptr<const Stored> shared;  ///< seen by all threads
  std::vector<std::uint32_t> inside;     ///< loops of unknown length whose iteration is being run, ascending
};

class Run {
 public:
  Run(const Region& region, std::uint64_t& budget)
      : r_(region),
        kernel_(*region.kernel),
        cfg_(region.kernel->cfg),
        budget_(budget),
        unrolled_(cfg_.loops.size(), true) {
    for (const Loop& loop : cfg_.loops) {
      bool may = false;
      for (const std::uint32_t b : loop.blocks) may |= r_.nodes[b].leaves == Region::one_by_one;
      left_from_.push_back(may);
    }
  }

  std::optional<Reason> run() {
    for (;;) try {
        begin();
        Group all;
        for (std::uint32_t t = 0; t < threads_.size(); ++t) all.threads.push_back(t);
        all.shared = std::make_shared<const Stored>();
        walk(std::move(all), r_.start, r_.end);
        return std::nullopt;
      } catch (const Restart&) {
      } catch (const GiveUp& g) {
        return g.reason;
      }
  }

 private:
  void spend(std::uint64_t evaluations) {
    if (evaluations > budget_) {
      budget_ = 0;
      throw GiveUp{{"the proof takes too long", 0}};
    }
    budget_ -= evaluations;
  }

  /// A new unknown; `uniform`: the same in all threads that come to have it.
  std::uint32_t symbol(bool uniform) {
    uniform_.push_back(uniform);
    return static_cast<std::uint32_t>(uniform_.size()) - 1;
  }

  void begin() {
    const std::uint32_t count =
        kernel_.block ? (*kernel_.block)[0] * (*kernel_.block)[1] * (*kernel_.block)[2] : 1;
    uniform_.assign(1, true);
    iterations_.assign(cfg_.loops.size(), 0);
    threads_.assign(count, {});
    std::vector<std::uint32_t> order;  // definitions before uses
    for (std::uint32_t s = 0; s < r_.slots.size(); ++s) {
      symbol(r_.slots[s].uniform);
      if (r_.slots[s].before_point && r_.slots[s].compute) order.push_back(s);
    }
    std::vector<std::uint32_t> position(cfg_.blocks.size());
    for (std::uint32_t k = 0; k < cfg_.order.size(); ++k) position[cfg_.order[k]] = k;
    const auto place = [&](std::uint32_t s) {
      const Value& v = kernel_.values.all[r_.slots[s].value];
      return std::pair(position[v.block], v.instruction);
    };
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });
    for (std::uint32_t t = 0; t < count; ++t) {
      Thread& thread = threads_[t];
      thread.may_have_left =
          !r_.all_present || !kernel_.block;  // an unknown block: one thread speaks for any
      thread.cells.resize(r_.slots.size());
      for (std::uint32_t s = 0; s < r_.slots.size(); ++s) thread.cells[s] = {0, s + 1};
    }
    spend((order.size() + r_.slots.size() / 2) * count);
    Group all;
    for (std::uint32_t t = 0; t < count; ++t) all.threads.push_back(t);
    for (const std::uint32_t s : order) compute(all, s, s + 1);
  }

  Cell fetch(std::uint32_t t, const Source& source) const {
    const auto coordinate = [&](std::uint32_t axis) {
      const auto& n = *kernel_.block;
      return axis == 0 ? t % n[0] : axis == 1 ? t / n[0] % n[1] : t / (n[0] * n[1]);
    };
    Cell cell;
    switch (source.kind) {
      case Source::constant:
        cell = source.cell;
        break;
      case Source::value:
        cell = threads_[t].cells[source.id];
        break;
      case Source::tid:
        cell.bits = coordinate(source.axis);
        break;
      case Source::ntid:
        cell.bits = (*kernel_.block)[source.axis];
        break;
      case Source::lane:
        cell.bits = t % 32;
        break;
    }
    if (source.negated) cell.bits ^= 1;
    return cell;
  }

  /// A predicate with the conditions that the thread is under.
  Cell resolved(const Thread& thread, Cell cell) const {
    if (cell.symbol == 0 || cell.object != kNone) return cell;
    const auto known =
        std::lower_bound(thread.given.begin(), thread.given.end(), Literal{cell.symbol, false});
    if (known == thread.given.end() || known->symbol != cell.symbol) return cell;
    return {(cell.bits ^ std::uint64_t{known->value}) & 1};
  }
  Cell predicate(std::uint32_t t, std::uint32_t slot, bool negated) const {
    Cell cell = resolved(threads_[t], threads_[t].cells[slot]);
    cell.bits ^= std::uint64_t{negated};
    return cell;
  }

  Cell value_of(std::uint32_t t, const Region::Slot& slot, std::uint32_t unknown) const {
    const Cell none{0, unknown};
    Cell guard{1};
    if (slot.guard != kNone) {
      guard = predicate(t, slot.guard, slot.guard_negated);
      if (!guard.number()) return none;
      if ((guard.bits & 1) == 0) return threads_[t].cells[slot.before];
    }
    if (!slot.compute) return none;
    std::array<Cell, 5> in;
    for (std::uint32_t k = 0; k < slot.compute->source_count; ++k) {
      in[k] = fetch(t, slot.compute->sources[k]);
      const bool is_predicate = slot.compute->bits == 1 ||
                                (k == 2 && (slot.compute->op == Op::selp || slot.compute->op == Op::setp));
      if (is_predicate) in[k] = resolved(threads_[t], in[k]);
    }
    return evaluate(*slot.compute, in.data()).value_or(none);
  }

  void compute(const Group& group, std::uint32_t s, std::uint32_t unknown) {
    const Region::Slot& slot = r_.slots[s];
    spend(slot.compute ? group.threads.size() : group.threads.size() / 8);
    for (std::size_t k = 0; k < group.threads.size(); ++k) {
      const std::uint32_t t = group.threads[k];
      Cell cell = value_of(t, slot, unknown);
      threads_[t].cells[s] = cell;
      if (k > 0 || !slot.uniform || !cell.number()) continue;
      for (const std::uint32_t other : group.threads) threads_[other].cells[s] = cell;
      return;
    }
  }

  // ---- accesses and barriers

  std::string thread_name(std::uint32_t t) const {
    if (!kernel_.block) return "any thread";
    const auto& n = *kernel_.block;
    return fmt::format("thread ({},{},{})", t % n[0], t / n[0] % n[1], t / (n[0] * n[1]));
  }

  void access(const Group& group, const Region::Step& step) {
    const Access& a = kernel_.use.accesses[step.index];
    const Operand& operand = kernel_.function->operands[a.address];
    const Instruction& instruction = kernel_.instruction(a.instruction);
    const auto bytes = static_cast<std::int64_t>(kernel_.use.objects[r_.object].bytes);
    spend(group.threads.size());
    for (const std::uint32_t t : group.threads) {
      Thread& thread = threads_[t];
      Literals given = thread.given;
      if (step.guard != kNone) {
        const Cell guard = predicate(t, step.guard, instruction.guard_negated);
        if (guard.number() && (guard.bits & 1) == 0) continue;
        if (!guard.number()) given = with(std::move(given), {guard.symbol, (guard.bits & 1) == 0});
      }
      Cell address = step.address ? fetch(t, *step.address) : Cell{};
      if (operand.kind == OperandKind::address) address.bits += static_cast<std::uint64_t>(operand.value);
      if (address.object != kNone) {  // counted from where the array begins
        if (kernel_.use.objects[address.object].variable != kernel_.use.objects[r_.object].variable) continue;
        address.bits -= kernel_.use.objects[r_.object].begin;
      }
      const bool known =
          a.bytes != 0 && !address.number() && (address.object != kNone || a.objects.count() == 1);
      const std::uint64_t base = std::uint64_t{address.symbol} * 2 + (address.object != kNone);
      const auto first = static_cast<std::int64_t>(address.bits), last = first + a.bytes;
      if (a.read && !(known && base != Stored::kAbsolute &&
                      covered(*group.shared, thread.own, given, base, first, last) >= last)) {
        // An unknown address may be any of the object's bytes.
        const bool exact = known && base == Stored::kAbsolute;
        const std::int64_t from = exact ? first : 0, to = exact ? last : bytes;
        const std::int64_t missing =
            from < 0 || to > bytes ? from
                                   : covered(*group.shared, thread.own, given, Stored::kAbsolute, from, to);
        if (missing < to) throw GiveUp{uncovered(instruction, t, exact, from, to, missing)};
      } else if (!a.read && a.write && known) {
        // Stored if all conditions of the arms hold: those it is in need not be named here, only the guard.
        Literals when;
        std::set_difference(given.begin(), given.end(), thread.given.begin(), thread.given.end(),
                            std::back_inserter(when));
        thread.own.add(base, when, {first, last});
      }
    }
  }

  static std::int64_t covered(const Stored& shared, const Stored& own, const Literals& given,
                              std::uint64_t base, std::int64_t at, std::int64_t last) {
    while (at < last) {
      const std::int64_t end = std::max(own.run_end(base, given, at), shared.run_end(base, given, at));
      if (end == at) break;
      at = end;
    }
    return at;
  }

  Reason uncovered(const Instruction& load, std::uint32_t t, bool exact, std::int64_t from, std::int64_t to,
                   std::int64_t missing) const {
    const std::uint32_t since = kernel_.line(r_.point);
    if (!exact)
      return {
          fmt::format(
              "the load of line {} may read any byte in {}, and no store since line {} has written byte {} for certain",
              load.line, thread_name(t), since, missing),
          load.line};
    return {
        fmt::format(
            "the load of line {} reads bytes {}-{} in {}, and no store since line {} has written byte {} for certain",
            load.line, from, to - 1, thread_name(t), since, missing),
        load.line};
  }

  bool same_in_all(std::uint64_t base, const Literals& when) const {
    return uniform_[base / 2] &&
           std::all_of(when.begin(), when.end(), [&](const Literal& l) { return uniform_[l.symbol]; });
  }

  /// What threads that are certainly here have stored, all threads of the group see from now on.
  void barrier(Group& group) {
    std::map<std::pair<std::uint64_t, Literals>, std::vector<IntervalSet::Interval>> seen;
    for (const std::uint32_t t : group.threads) {
      if (!threads_[t].present()) continue;
      std::erase_if(threads_[t].own.parts(), [&](const Stored::Part& p) {
        if (!same_in_all(p.base, p.when)) return false;
        auto& all = seen[{p.base, p.when}];
        all.insert(all.end(), p.bytes.intervals().begin(), p.bytes.intervals().end());
        return true;
      });
    }
    spend(group.threads.size() / 4);
    if (seen.empty()) return;
    Stored shared = *group.shared;
    for (auto& [key, intervals] : seen) {
      spend(intervals.size());
      shared.add(key.first, key.second, IntervalSet(std::move(intervals)));
    }
    group.shared = std::make_shared<const Stored>(std::move(shared));
  }

  // ---- control flow

  void finish(Group& group, Thread::End end) {
    for (const std::uint32_t t : group.threads) threads_[t].end = end;
    group.threads.clear();
  }

  /// Runs the group from `node` up to `stop`, which all paths from there pass; returns who arrives.
  Group walk(Group group, std::uint32_t node, std::uint32_t stop) {
    while (node != stop && !group.threads.empty()) {
      if (node == r_.end) {
        finish(group, Thread::left);
        break;
      }
      spend(1);
      const Region::Node& here = r_.nodes[node];
      for (const Region::Step& step : here.steps) switch (step.kind) {
          case Region::Step::compute:
            compute(group, step.index, symbol(r_.slots[step.index].uniform));
            break;
          case Region::Step::access:
            access(group, step);
            break;
          case Region::Step::barrier:
            barrier(group);
            break;
        }
      const auto& successors = r_.graph.successors[node];
      if (successors.size() < 2) {
        if (successors.empty())
          finish(group, Thread::left);
        else
          leave_some(group, here);
        node = successors.empty() ? r_.end : enter(group, node, successors[0]);
      } else if (!here.decides) {
        node = enter(group, node, r_.post.parent(node));
      } else {
        node = branch(group, node);
      }
    }
    return group;
  }

  /// At a guarded exit.
  void leave_some(Group& group, const Region::Node& here) {
    if (here.leaves == Region::stays || here.guard == kNone) return;
    const Instruction& last = kernel_.instruction(here.last - 1);
    std::erase_if(group.threads, [&](std::uint32_t t) {
      const Cell guard = predicate(t, here.guard, last.guard_negated);
      if (!guard.number()) {
        if (here.leaves == Region::one_by_one) threads_[t].may_have_left = true;
        return false;
      }
      if ((guard.bits & 1) != 0) threads_[t].end = Thread::left;
      return (guard.bits & 1) != 0;
    });
  }

  /// Takes the edge between two nodes: values merge, and loops begin or go round. Returns where the group is.
  std::uint32_t enter(Group& group, std::uint32_t from, std::uint32_t to) {
    if (to >= r_.start) return to;
    const std::uint32_t l = cfg_.loop_of[to];
    if (l != kNone && cfg_.loops[l].header == to) {
      const bool again = cfg_.loops[l].contains(r_.block(from));
      if (!unrolled_[l]) {
        begin_unknown_loop(group, l, again);
        return to;
      }
      iterations_[l] += again ? group.threads.size() : 0;
      if (iterations_[l] > kLoopBudget) give_up_unrolling(l);
    }
    const auto& phis = r_.nodes[to].phis;
    if (phis.empty()) return to;
    const auto& predecessors = cfg_.graph.predecessors[to];
    const auto position = static_cast<std::uint32_t>(
        std::find(predecessors.begin(), predecessors.end(), r_.block(from)) - predecessors.begin());
    if (position == predecessors.size())
      throw GiveUp{{"values meet where branches were passed over", kernel_.line(r_.nodes[to].first)}};
    spend(group.threads.size() * phis.size());
    std::vector<Cell> merged(phis.size());
    for (const std::uint32_t t : group.threads) {
      std::vector<Cell>& cells = threads_[t].cells;
      for (std::size_t k = 0; k < phis.size(); ++k)
        merged[k] = cells[r_.slot_of[kernel_.values.begin_inputs(
            kernel_.values.all[r_.slots[phis[k]].value])[position]]];
      for (std::size_t k = 0; k < phis.size(); ++k) cells[phis[k]] = merged[k];
    }
    return to;
  }

  void begin_unknown_loop(Group& group, std::uint32_t l, bool again) {
    const auto at = std::lower_bound(group.inside.begin(), group.inside.end(), l);
    const bool inside = at != group.inside.end() && *at == l;
    if (again && inside) return finish(group, Thread::next_iteration);
    if (!inside) group.inside.insert(at, l);
    for (const std::uint32_t phi : r_.nodes[cfg_.loops[l].header].phis) {
      const std::uint32_t unknown = symbol(r_.slots[phi].uniform);
      for (const std::uint32_t t : group.threads) threads_[t].cells[phi] = {0, unknown};
    }
    if (left_from_[l])
      for (const std::uint32_t t : group.threads)
        threads_[t].may_have_left = true;  // in an earlier iteration
  }

  void give_up_unrolling(std::uint32_t l) {
    unrolled_[l] = false;
    throw Restart{};
  }

  /// A condition that a thread does not know must not decide when a loop that is followed iteration by
  /// iteration ends.
  void check_unrolled(std::uint32_t node) {
    const std::uint32_t join = r_.post.parent(node), cut = cfg_.block_of[r_.point];
    for (std::uint32_t l = cfg_.loop_of[r_.block(node)]; l != kNone; l = cfg_.loops[l].parent) {
      const Loop& loop = cfg_.loops[l];
      if (!unrolled_[l] || loop.header == cut) continue;
      bool leaves = join >= r_.start || !loop.contains(join);
      for (const std::uint32_t s : r_.graph.successors[node]) leaves |= !loop.contains(s);
      if (leaves) give_up_unrolling(l);
    }
  }

  struct Arm {
    std::uint32_t target = 0;
    Group group;
    std::vector<Thread> arrived;  ///< of the threads that go both ways, in order
  };

  std::uint32_t branch(Group& group, std::uint32_t node) {
    const Region::Node& here = r_.nodes[node];
    const std::uint32_t at = here.last - 1, join = r_.post.parent(node);
    const Instruction& last = kernel_.instruction(at);
    if (here.guard == kNone || r_.graph.successors[node].size() != 2)
      throw GiveUp{{"a branch with more than two targets", last.line}};
    const std::uint32_t next = cfg_.block_of[at] + 1;
    const auto& successors = r_.graph.successors[node];
    std::array<Arm, 2> arms;  // taken, not taken
    arms[1].target = next;
    arms[0].target = successors[0] == next ? successors[1] : successors[0];

    std::vector<std::uint32_t> both;
    for (const std::uint32_t t : group.threads) {
      const Cell guard = predicate(t, here.guard, last.guard_negated);
      if (guard.number())
        arms[guard.bits & 1 ? 0 : 1].group.threads.push_back(t);
      else
        both.push_back(t);
    }
    if (here.uniform && !arms[0].group.threads.empty() + !arms[1].group.threads.empty() == 1 &&
        !both.empty()) {
      // All go the way of those who know it.
      const std::size_t way = arms[0].group.threads.empty() ? 1 : 0;
      arms[way].group.threads = group.threads;
      both.clear();
    }
    if (here.uniform && !arms[0].group.threads.empty() && !arms[1].group.threads.empty())
      throw GiveUp{{"threads differ at a branch that all should take alike", last.line}};
    for (const std::size_t way : {0, 1})
      if (both.empty() && arms[1 - way].group.threads.empty()) return enter(group, node, arms[way].target);
    if (!both.empty()) check_unrolled(node);
    fork(group, node, join, arms, both);
    return join;
  }

  void fork(Group& group, std::uint32_t node, std::uint32_t join, std::array<Arm, 2>& arms,
            const std::vector<std::uint32_t>& both) {
    const Region::Node& here = r_.nodes[node];
    const bool negated = kernel_.instruction(here.last - 1).guard_negated;
    std::vector<Thread> before;
    std::vector<Cell> guards;
    for (const std::uint32_t t : both) {
      before.push_back(threads_[t]);
      guards.push_back(predicate(t, here.guard, negated));
    }
    spend(both.size() * (r_.slots.size() / 4 + 2));
    const auto literal = [&](std::size_t k, std::size_t way) {
      return Literal{guards[k].symbol, (guards[k].bits & 1) == (way == 0 ? 0u : 1u)};
    };
    // With one condition for all threads, what the whole block stores under it is remembered under it too.
    std::optional<Literal> common;
    if (here.uniform && !both.empty() && both.size() == group.threads.size() &&
        std::all_of(guards.begin(), guards.end(), [&](const Cell& g) { return g == guards[0]; })) {
      common = literal(0, 0);
      uniform_[common->symbol] = true;
    }
    for (const std::size_t way : {0, 1}) {
      Arm& arm = arms[way];
      arm.group.shared = group.shared;
      arm.group.inside = group.inside;
      for (std::size_t k = 0; k < both.size(); ++k) {
        Thread& thread = threads_[both[k]] = before[k];
        thread.given = with(std::move(thread.given), literal(k, way));
        if (!here.uniform) ++thread.doubts;
        thread.end = Thread::none;
      }
      arm.group.threads.insert(arm.group.threads.end(), both.begin(), both.end());
      std::sort(arm.group.threads.begin(), arm.group.threads.end());
      const std::uint32_t first = enter(arm.group, node, arm.target);
      arm.group = walk(std::move(arm.group), first, join);
      for (const std::uint32_t t : both) arm.arrived.push_back(std::move(threads_[t]));
    }
    meet(group, arms, both, before, common, [&](std::size_t k) { return literal(k, 0); });
  }

  template <class LiteralOf>
  void meet(Group& group, std::array<Arm, 2>& arms, const std::vector<std::uint32_t>& both,
            const std::vector<Thread>& before, std::optional<Literal> common, LiteralOf literal) {
    std::vector<std::uint32_t> merged_symbols(r_.slots.size(), 0);
    std::array<std::vector<std::uint32_t>, 2>& here = arrived_;
    for (const std::size_t way : {0, 1}) here[way] = arms[way].group.threads;
    for (std::size_t k = 0; k < both.size(); ++k) {
      Thread &a = arms[0].arrived[k], &b = arms[1].arrived[k], &result = threads_[both[k]];
      const bool in_a = std::binary_search(here[0].begin(), here[0].end(), both[k]);
      const bool in_b = std::binary_search(here[1].begin(), here[1].end(), both[k]);
      if (in_a && in_b) {
        result = std::move(a);
        for (std::size_t s = 0; s < r_.slots.size(); ++s) {
          if (result.cells[s] == b.cells[s]) continue;
          if (merged_symbols[s] == 0) merged_symbols[s] = symbol(r_.slots[s].uniform);
          result.cells[s] = {0, merged_symbols[s]};
        }
        result.own = Stored::merged(result.own, b.own, literal(k));
        result.given = before[k].given;
        result.may_have_left |= b.may_have_left;
      } else {
        const bool other_left = (in_a ? b : a).end == Thread::left;
        result = std::move(in_a ? a : b);
        // Where all or none take that arm and all of them left, nobody is here without this thread.
        result.may_have_left |=
            other_left && (result.doubts > before[k].doubts || !here[in_a ? 1 : 0].empty());
        if (!in_a && !in_b && other_left) result.end = Thread::left;
      }
      result.doubts = before[k].doubts;
    }
    const bool arrive_a = !here[0].empty(), arrive_b = !here[1].empty();
    Group joined;
    std::set_union(here[0].begin(), here[0].end(), here[1].begin(), here[1].end(),
                   std::back_inserter(joined.threads));
    if (arrive_a && arrive_b) {
      joined.shared = arms[0].group.shared == arms[1].group.shared
                          ? arms[0].group.shared
                          : std::make_shared<const Stored>(
                                Stored::merged(*arms[0].group.shared, *arms[1].group.shared, common));
      std::set_intersection(arms[0].group.inside.begin(), arms[0].group.inside.end(),
                            arms[1].group.inside.begin(), arms[1].group.inside.end(),
                            std::back_inserter(joined.inside));
    } else {
      joined.shared = arms[arrive_a ? 0 : 1].group.shared;
      joined.inside = std::move(arms[arrive_a ? 0 : 1].group.inside);
    }
    group = std::move(joined);
  }

  const Region& r_;
  const Kernel& kernel_;
  const Cfg& cfg_;
  std::uint64_t& budget_;
  std::vector<bool> unrolled_;   ///< per loop: followed iteration by iteration
  std::vector<bool> left_from_;  ///< per loop: threads may leave the kernel from inside, one by one
  std::vector<std::uint64_t> iterations_;
  std::vector<Thread> threads_;
  std::vector<bool> uniform_;  ///< per symbol
  std::array<std::vector<std::uint32_t>, 2> arrived_;
};

}  // namespace

std::optional<Reason> find_uncovered(const Region& region, std::uint64_t& budget) {
  return Run(region, budget).run();
}

}  // namespace warploom::reuse
