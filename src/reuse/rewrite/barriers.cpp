// Where barriers must be added so that no two overlapping objects are accessed in one barrier interval.
//
// This is an implicit hitting-set problem: every barrier-free path from an access of one object to an
// access of its partner needs a barrier somewhere on it. Paths are found one at a time, as long as the
// present choice leaves one open; the choice is then the least set that meets all paths found so far.

#include "reuse/rewrite/barriers.hpp"

#include <algorithm>
#include <deque>
#include <limits>

namespace warploom::reuse {

using namespace ptx;

namespace {

/// The result may change while a thread waits: memory that others write, or what we cannot see into.
bool may_change(const Opcode& opcode) {
  switch (opcode.op) {
    case Op::ld:
      return opcode.volatile_ ||
             std::any_of(opcode.parts.begin(), opcode.parts.end(), [](std::string_view part) {
               return part == "acquire" || part == "relaxed" || part == "mmio" || part == "cv" ||
                      part == "cg";
             });
    case Op::atom:
    case Op::mbarrier:
    case Op::call:
    case Op::suld:
    case Op::multimem:
    case Op::tcgen05:
    case Op::unknown:
      return true;
    default:
      return false;
  }
}

/// A loop that a branch on changing memory steers may wait for somebody: a barrier inside may wait for ever.
bool waits_for_memory(const Kernel& kernel, const Loop& loop) {
  const Cfg& cfg = kernel.cfg;
  bool ends = false;
  // Follow the predicates of all its branches back through the loop: one may decide over another's.
  std::vector<std::uint32_t> work;
  for (const std::uint32_t b : loop.blocks) {
    ends = ends || std::any_of(cfg.graph.successors[b].begin(), cfg.graph.successors[b].end(),
                               [&](std::uint32_t s) { return !loop.contains(s); });
    const std::uint32_t at = cfg.blocks[b].last - 1;
    if (kernel.values.of_guard[at] != kNone) work.push_back(kernel.values.of_guard[at]);
    if (kernel.module->opcode(kernel.instruction(at)).op == Op::brx) return true;
  }
  std::vector<bool> seen(kernel.values.all.size());
  while (!work.empty()) {
    const std::uint32_t id = work.back();
    work.pop_back();
    const Value& v = kernel.values.all[id];
    if (seen[id] || v.kind == Value::undefined || !loop.contains(v.block)) continue;
    seen[id] = true;
    work.insert(work.end(), kernel.values.begin_inputs(v), kernel.values.end_inputs(v));
    if (v.kind == Value::phi) continue;
    const Instruction& i = kernel.instruction(v.instruction);
    if (may_change(kernel.module->opcode(i))) return true;
    if (i.guard != kNone) work.push_back(kernel.values.of_guard[v.instruction]);
    for_each_register(*kernel.module, *kernel.function, i,
                      [&](const Operand&, std::uint32_t index, bool written) {
                        if (!written && kernel.values.of_operand[index] != kNone)
                          work.push_back(kernel.values.of_operand[index]);
                      });
  }
  return !ends;
}

/// Blocks that a thread may enter while another of its block still waits in a loop: no full barrier lies
/// between. What the waiting thread waits for may lie behind a barrier that we would add there.
std::vector<bool> others_may_wait(const Kernel& kernel, const std::vector<bool>& waiting) {
  const Cfg& cfg = kernel.cfg;
  std::vector<bool> result(cfg.blocks.size());
  std::vector<std::uint32_t> work;
  for (std::uint32_t b = 0; b < cfg.blocks.size(); ++b) {
    if (!waiting[b]) continue;
    // Who waits in a tail never comes to a barrier: there is no point that he is known to have passed.
    if (kernel.uniformity.tail[b]) return std::vector<bool>(cfg.blocks.size(), true);
    work.push_back(b);
  }
  while (!work.empty()) {
    const std::uint32_t b = work.back();
    work.pop_back();
    if (result[b]) continue;
    result[b] = true;
    const Block& block = cfg.blocks[b];
    bool closed = false;
    for (std::uint32_t i = block.first; i < block.last; ++i) closed |= separates(kernel, i);
    if (closed && !waiting[b]) continue;
    work.insert(work.end(), cfg.graph.successors[b].begin(), cfg.graph.successors[b].end());
  }
  return result;
}

}  // namespace

BarrierPlanner::BarrierPlanner(const Kernel& kernel)
    : kernel_(kernel),
      search_(kernel),
      separates_(kernel.function->instructions.size()),
      access_at_(kernel.function->instructions.size(), kNone),
      legal_(kernel.function->instructions.size()),
      weight_(kernel.function->instructions.size(), 1) {
  for (const std::uint32_t i : kernel.uniformity.separators) separates_[i] = true;
  for (std::uint32_t a = static_cast<std::uint32_t>(kernel.use.accesses.size()); a-- > 0;)
    access_at_[kernel.use.accesses[a].instruction] = a;
  if (!kernel.use.inserts_allowed || kernel.uniformity.divergent_barrier) return;
  const Cfg& cfg = kernel.cfg;
  std::vector<bool> waiting(cfg.blocks.size());
  for (const Loop& loop : cfg.loops)
    if (waits_for_memory(kernel, loop))
      for (const std::uint32_t b : loop.blocks) waiting[b] = true;
  waiting = others_may_wait(kernel, waiting);
  std::vector<bool> in_cycle(cfg.blocks.size());
  if (!cfg.reducible) in_cycle.assign(cfg.blocks.size(), true);
  const auto candidate = [&](std::uint32_t i) {
    if (!legal_[i]) legal_[i] = true, candidates_.push_back(i);
  };
  for (const std::uint32_t b : cfg.order) {
    const Block& block = cfg.blocks[b];
    if (kernel.uniformity.apart[b] || kernel.uniformity.tail[b] || waiting[b] || in_cycle[b] ||
        block.first == block.last)
      continue;
    candidate(block.first);
    candidate(block.last - 1);
  }
  for (const Access& a : kernel.use.accesses) {
    const std::uint32_t b = cfg.block_of[a.instruction];
    if (!kernel.uniformity.apart[b] && !waiting[b] && !in_cycle[b]) candidate(a.instruction);
  }
  std::sort(candidates_.begin(), candidates_.end());
  for (const std::uint32_t i : candidates_) {
    const std::uint32_t depth = std::min<std::uint32_t>(cfg.depth(cfg.block_of[i]), 10);
    weight_[i] = std::uint64_t{1} << (3 * depth);
  }
}

std::vector<Hazard> BarrierPlanner::hazards(const std::vector<ObjectSet>& overlap, bool everywhere) const {
  return search_.find(overlap, everywhere ? candidates_ : Insertions{});
}

std::optional<Insertions> BarrierPlanner::plan(const std::vector<ObjectSet>& overlap, Hazard& stuck) const {
  std::vector<std::vector<std::uint32_t>> paths;
  Insertions chosen;
  for (;;) {
    const std::vector<Hazard> open = search_.find(overlap, chosen);
    if (open.empty()) return chosen;
    const std::size_t known = paths.size();
    for (const Hazard& h : open) {
      std::vector<std::uint32_t> path = candidates_between(h, chosen);
      if (path.empty()) {
        stuck = h;
        return std::nullopt;
      }
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(std::move(path));
      if (paths.size() >= known + 8) break;  // enough for one round; one barrier often closes many
    }
    chosen = minimum_hitting_set(paths, weight_);
    std::sort(chosen.begin(), chosen.end());
  }
}

std::vector<std::uint32_t> BarrierPlanner::candidates_between(const Hazard& hazard,
                                                              const Insertions& present) const {
  // Breadth-first, backwards from the later access, to the nearest access of the earlier object.
  const Cfg& cfg = kernel_.cfg;
  const std::vector<Access>& accesses = kernel_.use.accesses;
  bool later_stores = false;
  for (std::uint32_t a = access_at_[hazard.instruction];
       a < accesses.size() && accesses[a].instruction == hazard.instruction; ++a)
    later_stores |= accesses[a].write;
  const auto is_start = [&](std::uint32_t i) {
    for (std::uint32_t a = access_at_[i]; a < accesses.size() && accesses[a].instruction == i; ++a)
      if (accesses[a].objects[hazard.earlier] && (accesses[a].write || later_stores)) return true;
    return false;
  };
  const auto is_present = [&](std::uint32_t i) {
    return std::binary_search(present.begin(), present.end(), i);
  };
  // Scans a block backwards from `from` (exclusive). 0: came to its start, 1: found, 2: closed by a barrier.
  const auto scan = [&](std::uint32_t b, std::uint32_t from, std::vector<std::uint32_t>& passed) {
    for (std::uint32_t i = from; i-- > cfg.blocks[b].first;) {
      if (separates_[i]) return 2;
      if (is_start(i)) return 1;
      if (is_present(i)) return 2;
      if (legal_[i]) passed.push_back(i);
    }
    return 0;
  };
  struct Step {
    std::uint32_t block, parent;
    std::vector<std::uint32_t> passed;
  };
  std::deque<Step> steps;
  std::vector<bool> seen(cfg.blocks.size());
  const auto finish = [&](std::uint32_t step) {
    std::vector<std::uint32_t> all;
    for (; step != kNone; step = steps[step].parent)
      all.insert(all.end(), steps[step].passed.begin(), steps[step].passed.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  };
  const std::uint32_t home = cfg.block_of[hazard.instruction];
  if (is_present(hazard.instruction)) return {};
  Step first{home, kNone, {}};
  if (legal_[hazard.instruction]) first.passed.push_back(hazard.instruction);
  const int at_home = scan(home, hazard.instruction, first.passed);
  steps.push_back(std::move(first));
  if (at_home == 1) return finish(0);
  if (at_home == 2) return {};
  for (std::uint32_t at = 0; at < steps.size(); ++at)
    for (const std::uint32_t p : cfg.graph.predecessors[steps[at].block]) {
      if (seen[p] || !cfg.reachable[p]) continue;
      seen[p] = true;
      Step step{p, at, {}};
      const int found = scan(p, cfg.blocks[p].last, step.passed);
      if (found == 2) continue;
      steps.push_back(std::move(step));
      if (found == 1) return finish(static_cast<std::uint32_t>(steps.size()) - 1);
    }
  return {};
}

std::vector<std::uint32_t> minimum_hitting_set(const std::vector<std::vector<std::uint32_t>>& constraints,
                                               const std::vector<std::uint64_t>& weight,
                                               std::size_t max_nodes) {
  std::vector<std::uint32_t> best, chosen;
  std::uint64_t best_weight = std::numeric_limits<std::uint64_t>::max();

  // Greedy: the element that meets most open constraints for its weight.
  std::vector<bool> met(constraints.size());
  for (std::size_t open = constraints.size(); open > 0;) {
    std::vector<std::pair<std::uint32_t, std::size_t>> count;
    for (std::size_t c = 0; c < constraints.size(); ++c)
      if (!met[c])
        for (const std::uint32_t e : constraints[c]) {
          const auto at =
              std::find_if(count.begin(), count.end(), [&](const auto& x) { return x.first == e; });
          if (at == count.end())
            count.emplace_back(e, 1);
          else
            ++at->second;
        }
    const auto pick = std::max_element(count.begin(), count.end(), [&](const auto& a, const auto& b) {
      const std::uint64_t left = a.second * weight[b.first], right = b.second * weight[a.first];
      return left != right ? left < right : a.first < b.first;
    });
    best.push_back(pick->first);
    for (std::size_t c = 0; c < constraints.size(); ++c)
      if (!met[c] && std::binary_search(constraints[c].begin(), constraints[c].end(), pick->first))
        met[c] = true, --open;
  }
  best_weight = 0;
  for (const std::uint32_t e : best) best_weight += weight[e];

  std::size_t nodes = 0;
  const auto search = [&](auto& self, std::uint64_t so_far) -> void {
    if (so_far >= best_weight || ++nodes > max_nodes) return;
    const std::vector<std::uint32_t>* open = nullptr;
    for (const auto& c : constraints) {
      const bool hit = std::any_of(c.begin(), c.end(), [&](std::uint32_t e) {
        return std::find(chosen.begin(), chosen.end(), e) != chosen.end();
      });
      if (!hit && (open == nullptr || c.size() < open->size())) open = &c;
    }
    if (open == nullptr) {
      best = chosen;
      best_weight = so_far;
      return;
    }
    for (const std::uint32_t e : *open) {
      chosen.push_back(e);
      self(self, so_far + weight[e]);
      chosen.pop_back();
    }
  };
  search(search, 0);
  return best;
}

}  // namespace warploom::reuse
