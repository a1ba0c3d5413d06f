// Coverage for a known block size. From a point that all threads pass together, each thread's accesses of one
// object are followed, with concrete addresses and guards where these are known. The object is dead at the
// point if, before the point comes again, every byte that a load may read was stored before: by a thread on
// the far side of a barrier, or by the same thread.
//
// What is not known is taken for the worst: a store with an unknown address or guard stores nothing, such a
// load reads everything. A branch on an unknown value that all threads take alike, a way out of a loop around
// the point among them, is tried both ways; any other is passed over to where its ways meet, with its stores
// left out and its loads taken to come at once.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reuse/check/evaluate.hpp"
#include "reuse/check/lives.hpp"

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;
using ptx::Op;
using ptx::OperandKind;

constexpr std::uint64_t kStepBudget = 5'000'000;  // instructions, for one object; a fraction of a second
constexpr std::size_t kMaxRuns = 128;             // branches tried both ways, combined
constexpr unsigned kMaxDepth = 256;               // of definitions behind one value

struct Event {
  enum Kind : std::uint8_t { store, load, barrier } kind;
  std::uint32_t begin, end;  ///< bytes of the object; of a barrier: begin is its instruction
};

struct Trace {
  std::vector<Event> events;
  bool left = false;  ///< ended with the kernel, not back at the point
};

/// Blocks before which some threads may have left the kernel: the rest may read what
/// those stored.
std::vector<bool> find_behind_ways_out(const Kernel& k, const Uniformity& uniformity) {
  std::vector<bool> behind(k.cfg.blocks.size());
  std::vector<std::uint32_t> work;
  const auto add_successors = [&](std::uint32_t b) {
    for (const std::uint32_t s : k.cfg.graph.successors[b])
      if (!behind[s]) behind[s] = true, work.push_back(s);
  };
  for (const std::uint32_t b : k.cfg.order)
    if (uniformity.matters[b] && uniformity.some_may_leave(b)) add_successors(b);
  while (!work.empty()) {
    const std::uint32_t b = work.back();
    work.pop_back();
    add_successors(b);
  }
  return behind;
}

class Walker {
 public:
  Walker(const Kernel& k, const Uniformity& uniformity, std::uint32_t object)
      : k_(k),
        uniformity_(uniformity),
        object_(object),
        bytes_(static_cast<std::uint32_t>(k.objects[object].bytes)),
        behind_ways_out_(find_behind_ways_out(k, uniformity)) {
    find_needed();
  }

  /// Whether the object is dead at the point. That it is at points found before is made use of.
  bool covers(std::uint32_t point) {
    point_ = point;
    std::set<std::set<std::uint32_t>> done, todo{{}};
    while (!todo.empty()) {
      others_ = *todo.begin();
      todo.erase(todo.begin());
      if (!done.insert(others_).second) continue;
      if (done.size() > kMaxRuns) return false;
      met_.clear();
      if (!run()) return false;
      for (const std::uint32_t e : met_) {
        std::set<std::uint32_t> more = others_;
        more.insert(e);
        todo.insert(more);
      }
    }
    proven_.insert(point);
    return true;
  }
  bool exhausted() const { return steps_ > kStepBudget; }

 private:
  struct GaveUp {};

  /// Registers behind addresses, guards and the branches that decide over accesses.
  void find_needed() {
    touches_.assign(k_.cfg.blocks.size(), false);
    needed_.assign(k_.function.registers.size(), false);
    std::vector<std::uint32_t> work;
    const auto need = [&](std::uint32_t reg) {
      if (!needed_[reg]) needed_[reg] = true, work.push_back(reg);
    };
    for (const Access& a : k_.accesses) {
      if (!a.objects.test(object_)) continue;
      touches_[k_.cfg.block_of[a.instruction]] = true;
      if (k_.guarded(a.instruction)) need(k_.function.instructions[a.instruction].guard);
      for (const ptx::Operand& o : k_.flow.sources(a.instruction))
        if (o.kind == OperandKind::address) for_each_register(k_.function, o, need);
    }
    leads_on_ = touches_;
    for (bool changed = true; changed;) {
      changed = false;
      for (auto b = k_.cfg.order.rbegin(); b != k_.cfg.order.rend(); ++b)
        for (const std::uint32_t s : k_.cfg.graph.successors[*b])
          if (leads_on_[s] && !leads_on_[*b]) leads_on_[*b] = changed = true;
    }
    decides_.assign(uniformity_.regions.size(), false);
    for (std::size_t r = 0; r < decides_.size(); ++r) {
      const auto& region = uniformity_.regions[r];
      decides_[r] = std::any_of(region.blocks.begin(), region.blocks.end(),
                                [&](std::uint32_t b) { return touches_[b]; });
    }
    for (std::uint32_t b = 0; b < k_.cfg.blocks.size(); ++b) {  // also the ways out of the kernel
      if (!uniformity_.matters[b]) continue;
      const auto* region = uniformity_.region_of(b);
      for (std::uint32_t i = k_.cfg.blocks[b].first; i < k_.cfg.blocks[b].last; ++i) {
        const bool branch =
            k_.op(i) == Op::bra &&
            (region == nullptr || decides_[static_cast<std::size_t>(region - uniformity_.regions.data())] ||
             k_.cfg.loop_of[b] != kNone);
        if (k_.guarded(i) && (branch || leaves_kernel(k_, i))) need(k_.function.instructions[i].guard);
      }
    }
    while (!work.empty()) {
      const std::uint32_t reg = work.back();
      work.pop_back();
      for (const std::uint32_t d : k_.flow.definitions_of(reg))
        for (const std::uint32_t source : k_.flow.reads(k_.flow.definitions()[d].instruction)) need(source);
    }
  }

  bool run() {
    const auto& block = *k_.block;
    std::vector<Trace> traces;
    for (std::uint32_t z = 0; z < block[2]; ++z)
      for (std::uint32_t y = 0; y < block[1]; ++y)
        for (std::uint32_t x = 0; x < block[0]; ++x) {
          thread_ = {{x, y, z}, block, object_};
          try {
            traces.push_back(walk());
          } catch (const GaveUp&) {
            return false;
          }
          if (traces.size() == 1 && !starts_covered(traces[0])) return false;  // spares the other threads
        }
    return joined(traces);
  }

  // --- one thread -----------------------------------------------------------------------------------------

  Value read(std::uint32_t reg) {
    if (!needed_[reg]) return std::nullopt;  // not kept up to date
    if (set_[reg]) return values_[reg];
    set_[reg] = true;
    values_[reg] = agreed(k_.flow.reaching_before(point_, reg), 0);
    return values_[reg];
  }

  /// The value on which all these definitions agree, each followed back to what is known.
  Value agreed(std::span<const std::uint32_t> definitions, unsigned depth) {
    Value common;
    for (const std::uint32_t d : definitions) {
      const Value v = from_definition(d, depth);
      if (!v || (common && *common != *v)) return std::nullopt;
      common = v;
    }
    return common;
  }

  Value from_definition(std::uint32_t d, unsigned depth) {
    const std::uint32_t i = k_.flow.definitions()[d].instruction;
    if (found_[i]) return found_[i];
    if (depth > kMaxDepth || open_[i] || ++steps_ > kStepBudget) return std::nullopt;
    if (k_.guarded(i)) return std::nullopt;
    open_[i] = true;
    const Value v = evaluate(k_, thread_, i,
                             [&](std::uint32_t reg) { return agreed(k_.flow.reaching(i, reg), depth + 1); });
    open_[i] = false;
    return found_[i] = v;
  }

  /// As read(), at an instruction of a region that is passed over: its own definitions followed back to its
  /// edge.
  Value read_within(std::uint32_t i, std::uint32_t reg, const Uniformity::Region& region, unsigned depth) {
    Value common;
    for (const std::uint32_t d : k_.flow.reaching(i, reg)) {
      const std::uint32_t by = k_.flow.definitions()[d].instruction;
      Value v;
      if (!region.contains(k_.cfg.block_of[by])) {
        v = read(reg);
      } else if (depth <= kMaxDepth && !open_[by] && !k_.guarded(by) && ++steps_ <= kStepBudget) {
        open_[by] = true;
        v = evaluate(k_, thread_, by, [&](std::uint32_t r) { return read_within(by, r, region, depth + 1); });
        open_[by] = false;
      }
      if (!v || (common && *common != *v)) return std::nullopt;
      common = v;
    }
    return common;
  }

  Value guard(std::uint32_t i) {
    const ptx::Instruction& instruction = k_.function.instructions[i];
    if (instruction.guard == kNone) return 1;
    const Value v = read(instruction.guard);
    return v ? Value((*v & 1) ^ (instruction.guard_negated ? 1 : 0)) : v;
  }

  template <typename Read>
  void note_access(std::uint32_t i, Value executed, bool may_store, Read read_register) {
    const Access& a = k_.accesses[k_.access_of[i]];
    if (executed && *executed == 0) return;
    Value at;
    for (const ptx::Operand& o : k_.flow.sources(i))
      if (o.kind == OperandKind::address) at = operand_value(k_, thread_, o, read_register);
    const ptx::Opcode& opcode = k_.opcode(i);
    const std::uint64_t width = std::uint64_t{opcode.bytes} * opcode.vector;
    const bool plain =
        opcode.op == Op::ld || opcode.op == Op::st || opcode.op == Op::atom || opcode.op == Op::red;
    bool known = at && plain && width > 0 && a.objects.count() == 1;
    const std::uint64_t begin = known ? (*at & 0xffffffffu) - kObjectBase : 0;
    known = known && begin < bytes_ && width <= bytes_ - begin;
    const auto from = static_cast<std::uint32_t>(begin), to = static_cast<std::uint32_t>(begin + width);
    if (a.load) note_load(known ? from : 0, known ? to : bytes_);
    if (!a.store || !known || !executed || !may_store) return;
    std::fill(own_.begin() + from, own_.begin() + to, true);
    if (!may_have_left_) trace_->events.push_back({Event::store, from, to});
  }

  /// A load of bytes that the thread did not store itself. (If it has left, it loads nothing either.)
  void note_load(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t begin = from; begin < to;) {
      std::uint32_t end = begin + 1;
      while (end < to && own_[end] == own_[begin]) ++end;
      if (!own_[begin]) trace_->events.push_back({Event::load, begin, end});
      begin = end;
    }
  }

  Trace walk() {
    Trace trace;
    trace_ = &trace;
    set_.assign(k_.function.registers.size(), false);
    values_.assign(k_.function.registers.size(), std::nullopt);
    open_.assign(k_.function.instructions.size(), false);
    found_.assign(k_.function.instructions.size(), std::nullopt);
    passed_.clear();
    own_.assign(bytes_, false);
    may_have_left_ = behind_ways_out_[k_.cfg.block_of[point_]];
    const auto read_register = [&](std::uint32_t reg) { return read(reg); };
    for (std::uint32_t i = point_, count = 0;; ++count) {
      if (i == kNone) {
        trace.left = true;
        return trace;
      }
      if (count > 0 && (i == point_ || proven_.contains(i))) return trace;
      if (++steps_ > kStepBudget) throw GaveUp{};
      const std::uint32_t b = k_.cfg.block_of[i];
      if (!leads_on_[b]) {
        i = kNone;
        continue;
      }
      if (k_.access_of[i] != kNone && k_.accesses[k_.access_of[i]].objects.test(object_))
        note_access(i, guard(i), true, read_register);
      if (separates(k_, i)) trace.events.push_back({Event::barrier, i, 0});
      if (leaves_kernel(k_, i) || k_.op(i) == Op::trap) {
        const Value leaves = guard(i);
        if (leaves && *leaves == 1) {
          i = kNone;
          continue;
        }
        if (!leaves) may_have_left_ |= uniformity_.some_may_leave(b);
      }
      define(i, read_register);
      i = i + 1 < k_.cfg.blocks[b].last ? i + 1 : after(b);
    }
  }

  template <typename Read>
  void define(std::uint32_t i, Read read_register) {
    const auto [first, last] = k_.flow.defined_by(i);
    for (std::uint32_t d = first; d < last; ++d) {
      const std::uint32_t reg = k_.flow.definitions()[d].reg;
      if (!needed_[reg]) continue;
      const Value executed = guard(i);
      if (executed && *executed == 0) continue;
      const Value v = last == first + 1 && executed && !k_.flow.opaque(i)
                          ? evaluate(k_, thread_, i, read_register)
                          : Value{};
      values_[reg] = v;
      set_[reg] = true;
    }
  }

  std::uint32_t first_of(std::uint32_t block) const { return k_.cfg.blocks[block].first; }

  /// The instruction after a block, kNone for the end of the kernel.
  std::uint32_t after(std::uint32_t b) {
    const auto& successors = k_.cfg.graph.successors[b];
    if (successors.empty()) return kNone;
    const std::uint32_t last = k_.cfg.blocks[b].last - 1;
    if (successors.size() == 1) return first_of(successors[0]);
    const ptx::Instruction& branch = k_.function.instructions[last];
    const Value taken = k_.op(last) == Op::bra && branch.guard != kNone ? guard(last) : Value{};
    const auto* region = uniformity_.region_of(b);
    if (taken && successors.size() == 2) {
      const std::uint32_t next = b + 1;
      return first_of(*taken == 0 ? next : successors[0] == next ? successors[1] : successors[0]);
    }
    if (region == nullptr) {  // at most one way leads to anything that matters; the others leave
      may_have_left_ |= uniformity_.threads_may_part(b);
      if (!met_once(b) || !passed_.insert(b).second) return pass_over(rest_behind(b));
      for (const std::uint32_t s : successors)
        if (uniformity_.matters[s]) return first_of(s);
      return kNone;
    }
    return after_unknown(b, *region);
  }

  /// Whether a block is in no loop but those around the point: in another, it may be met any number of times.
  bool met_once(std::uint32_t b) const {
    const std::uint32_t around = k_.cfg.loop_of[b];
    return around == kNone || k_.cfg.loops[around].contains(k_.cfg.block_of[point_]);
  }

  /// All that may follow a block.
  Uniformity::Region rest_behind(std::uint32_t b) const {
    Uniformity::Region rest;
    rest.branch = b;
    std::vector<bool> seen(k_.cfg.blocks.size());
    std::vector<std::uint32_t> work{b};
    while (!work.empty()) {
      const std::uint32_t at = work.back();
      work.pop_back();
      for (const std::uint32_t s : k_.cfg.graph.successors[at])
        if (!seen[s] && uniformity_.matters[s]) seen[s] = true, work.push_back(s);
    }
    for (std::uint32_t at = 0; at < seen.size(); ++at)
      if (seen[at]) rest.blocks.push_back(at);
    return rest;
  }

  /// Whether a block leaves a loop around the point, or not.
  bool is_way_out(std::uint32_t b) const {
    const auto& successors = k_.cfg.graph.successors[b];
    for (std::uint32_t l = k_.cfg.loop_of[k_.cfg.block_of[point_]]; l != kNone; l = k_.cfg.loops[l].parent) {
      const ptx::Loop& loop = k_.cfg.loops[l];
      if (loop.contains(b) && !std::all_of(successors.begin(), successors.end(),
                                           [&](std::uint32_t s) { return loop.contains(s); }))
        return true;
    }
    return false;
  }

  /// Goes on after a branch on an unknown value.
  std::uint32_t after_unknown(std::uint32_t b, const Uniformity::Region& region) {
    const auto& successors = k_.cfg.graph.successors[b];
    const bool way_out = is_way_out(b);
    if (!way_out && !decides_[static_cast<std::size_t>(&region - uniformity_.regions.data())])
      return pass_over(region);
    if (successors.size() != 2 || !met_once(b) || uniformity_.threads_may_part(b))
      return pass_over(way_out ? rest_behind(b) : region);
    // Met again: round a loop, and not through the point.
    if (!passed_.insert(b).second) return pass_over(rest_behind(b));
    met_.insert(b);
    return first_of(successors[others_.contains(b) ? 1 : 0]);
  }

  std::uint32_t pass_over(const Uniformity::Region& region) {
    for (const std::uint32_t b : region.blocks) {
      for (std::uint32_t i = k_.cfg.blocks[b].first; i < k_.cfg.blocks[b].last; ++i) {
        if (k_.access_of[i] != kNone && k_.accesses[k_.access_of[i]].objects.test(object_))
          note_access(i, std::nullopt, false,
                      [&](std::uint32_t reg) { return read_within(i, reg, region, 0); });
        if (leaves_kernel(k_, i)) may_have_left_ = true;
      }
      for (const std::uint32_t s : k_.cfg.graph.successors[b]) may_have_left_ |= !uniformity_.matters[s];
    }
    for (const std::uint32_t b : region.blocks)
      for (std::uint32_t d = k_.flow.defined_by(k_.cfg.blocks[b].first).first;
           d < k_.flow.defined_by(k_.cfg.blocks[b].last - 1).second; ++d) {
        values_[k_.flow.definitions()[d].reg] = std::nullopt;
        set_[k_.flow.definitions()[d].reg] = true;
      }
    return region.meet == kNone ? kNone : first_of(region.meet);
  }

  // --- all threads ----------------------------------------------------------------------------------------

  /// Whether a thread stored itself what it loads before its first barrier.
  static bool starts_covered(const Trace& trace) {
    for (const Event& e : trace.events)
      if (e.kind != Event::store) return e.kind == Event::barrier;
    return true;
  }

  /// Whether each load finds its bytes stored before an earlier barrier.
  bool joined(const std::vector<Trace>& traces) const {
    if (!same_barriers(traces)) return false;
    std::vector<std::size_t> at(traces.size());
    std::vector<bool> covered(bytes_);
    for (bool more = true; more;) {
      more = false;
      std::vector<bool> next = covered;
      for (std::size_t t = 0; t < traces.size(); ++t) {
        const auto& events = traces[t].events;
        for (; at[t] < events.size() && events[at[t]].kind != Event::barrier; ++at[t]) {
          const Event& e = events[at[t]];
          if (e.kind == Event::store)
            std::fill(next.begin() + e.begin, next.begin() + e.end, true);
          else if (std::find(covered.begin() + e.begin, covered.begin() + e.end, false) !=
                   covered.begin() + e.end)
            return false;
        }
        if (at[t] < events.size()) ++at[t], more = true;
      }
      covered = std::move(next);
    }
    return true;
  }

  /// All threads pass the same barriers, but for those that have left.
  static bool same_barriers(const std::vector<Trace>& traces) {
    const auto barriers = [](const Trace& t) {
      std::vector<std::uint32_t> list;
      for (const Event& e : t.events)
        if (e.kind == Event::barrier) list.push_back(e.begin);
      return list;
    };
    std::vector<std::uint32_t> longest;
    for (const Trace& t : traces)
      if (auto list = barriers(t); list.size() > longest.size()) longest = std::move(list);
    return std::all_of(traces.begin(), traces.end(), [&](const Trace& t) {
      const auto list = barriers(t);
      return (t.left || list.size() == longest.size()) &&
             std::equal(list.begin(), list.end(), longest.begin());
    });
  }

  const Kernel& k_;
  const Uniformity& uniformity_;
  std::uint32_t object_, bytes_, point_ = 0;
  std::vector<bool> touches_;   ///< per block: accesses the object
  std::vector<bool> leads_on_;  ///< per block: an access of the object can be reached
  std::vector<bool> needed_, decides_, behind_ways_out_;
  std::set<std::uint32_t> others_, met_;  ///< branches to go the other way at; tried both ways
  std::set<std::uint32_t> passed_;        ///< of met_, in this walk
  std::set<std::uint32_t> proven_;
  std::uint64_t steps_ = 0;
  // Of the thread being walked.
  ThreadContext thread_;
  Trace* trace_ = nullptr;
  std::vector<bool> own_;  ///< bytes that it stored
  std::vector<bool> set_, open_;
  std::vector<Value> values_;
  std::vector<Value> found_;  ///< by from_definition(), per instruction
  bool may_have_left_ = false;
};

}  // namespace

std::vector<DeadPoint> covered_points(const Kernel& k, const Uniformity& uniformity, std::uint32_t object) {
  std::vector<DeadPoint> points;
  if (!k.block || !k.cfg.reducible || k.objects[object].bytes > (1u << 20)) return points;
  std::set<std::uint32_t> candidates;
  for (const ptx::Loop& loop : k.cfg.loops) candidates.insert(k.cfg.blocks[loop.header].first);
  for (std::uint32_t i = 0; i + 1 < k.function.instructions.size(); ++i)
    if (separates(k, i)) candidates.insert(i + 1);
  Walker walker(k, uniformity, object);
  for (auto it = candidates.rbegin(); it != candidates.rend(); ++it) {  // later ones help earlier ones
    const std::uint32_t point = *it, b = k.cfg.block_of[point];
    if (!k.cfg.reachable[b] || uniformity.divergent[b] || !uniformity.matters[b]) continue;
    if (walker.covers(point))
      points.push_back(
          {point, object,
           fmt::format("has every byte that is read after line {} stored after it, by {} x {} x {} threads",
                       k.line(point), (*k.block)[0], (*k.block)[1], (*k.block)[2]),
           false});
    if (walker.exhausted()) break;
  }
  return points;
}

}  // namespace warploom::reuse::checking
