// Added barriers: each is reached by every thread of the block, the same number of times.

#include <fmt/format.h>

#include "reuse/check_lives.hpp"

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;
using ptx::Op;

/// Whether a value depends on what was read, inside the loop, in a way that waits for another thread.
bool waits(const Kernel& k, const ptx::Loop& loop, std::uint32_t instruction, std::vector<bool>& seen) {
  for (const std::uint32_t reg : k.flow.reads(instruction))
    for (const std::uint32_t d : k.flow.reaching(instruction, reg)) {
      const std::uint32_t by = k.flow.definitions()[d].instruction;
      if (seen[by] || !loop.contains(k.cfg.block_of[by])) continue;
      seen[by] = true;
      const ptx::Opcode& o = k.opcode(by);
      if (o.op == Op::atom || o.op == Op::call || o.op == Op::mbarrier || o.op == Op::unknown) return true;
      if ((o.op == Op::ld || o.op == Op::ldu) &&
          (o.volatile_ || o.has("relaxed") || o.has("acquire") || o.has("mmio")))
        return true;
      if (waits(k, loop, by, seen)) return true;
    }
  return false;
}

bool spins(const Kernel& k, const ptx::Loop& loop) {
  for (const std::uint32_t b : loop.blocks)
    for (const std::uint32_t s : k.cfg.graph.successors[b])
      if (!loop.contains(s)) {
        std::vector<bool> seen(k.function.instructions.size());
        if (waits(k, loop, k.cfg.blocks[b].last - 1, seen)) return true;
      }
  return false;
}

bool in_cycle(const Kernel& k, std::uint32_t block) {
  std::vector<bool> seen(k.cfg.blocks.size());
  std::vector<std::uint32_t> work{block};
  while (!work.empty()) {
    const std::uint32_t b = work.back();
    work.pop_back();
    for (const std::uint32_t s : k.cfg.graph.successors[b]) {
      if (s == block) return true;
      if (!seen[s]) seen[s] = true, work.push_back(s);
    }
  }
  return false;
}

/// Before sm_70 a barrier waits for threads that have left: the line of such an exit, or 0.
std::uint32_t divergent_exit(const Kernel& k, const Uniformity& uniformity) {
  for (std::uint32_t b = 0; b < k.cfg.blocks.size(); ++b) {
    if (!k.cfg.reachable[b] || !uniformity.matters[b]) continue;
    for (std::uint32_t i = k.cfg.blocks[b].first; i < k.cfg.blocks[b].last; ++i) {
      if (!k.guarded(i)) continue;
      bool leaves = leaves_kernel(k, i);
      for (const std::uint32_t s : k.cfg.graph.successors[b])
        leaves |= k.op(i) == Op::bra && !uniformity.matters[s];
      if (leaves && uniformity.spread(i, k.function.instructions[i].guard) != Spread::uniform)
        return k.line(i);
    }
  }
  return 0;
}

}  // namespace

std::vector<std::string> find_bad_barriers(const Kernel& k, const Uniformity& uniformity) {
  std::vector<std::string> problems;
  std::vector<std::uint32_t> added;
  for (std::uint32_t i = 0; i < k.function.instructions.size(); ++i)
    if (k.inserted[i]) added.push_back(i);
  if (added.empty()) return problems;
  for (std::uint32_t i = 0; i < k.function.instructions.size(); ++i) {
    if (is_partial_barrier(k, i))
      problems.push_back(
          fmt::format("line {}: barriers were added beside '{}', which is not for the whole block", k.line(i),
                      k.opcode(i).text));
    if (call_may_synchronise(k, i))
      problems.push_back(fmt::format(
          "line {}: barriers were added, but the call may execute barriers of its own", k.line(i)));
  }
  const std::uint32_t exit_line = k.module.sm < 70 ? divergent_exit(k, uniformity) : 0;
  if (exit_line != 0)
    problems.push_back(fmt::format(
        "line {}: threads may have left here, and before sm_70 the barrier added at line {} waits for them",
        exit_line, k.line(added.front())));
  std::vector<std::uint8_t> spin(k.cfg.loops.size(), 2);
  for (const std::uint32_t i : added) {
    const std::uint32_t b = k.cfg.block_of[i];
    if (!k.cfg.reachable[b]) continue;
    if (uniformity.divergent[b])
      problems.push_back(
          fmt::format("line {}: the added barrier is where threads may have parted", k.line(i)));
    for (std::uint32_t l = k.cfg.loop_of[b]; l != kNone; l = k.cfg.loops[l].parent) {
      if (spin[l] == 2) spin[l] = spins(k, k.cfg.loops[l]) ? 1 : 0;
      if (spin[l] == 1) {
        problems.push_back(
            fmt::format("line {}: the added barrier is in a loop that waits for another thread", k.line(i)));
        break;
      }
    }
    if (!k.cfg.reducible && in_cycle(k, b))
      problems.push_back(fmt::format(
          "line {}: the added barrier is in a cycle of a kernel with irreducible control flow", k.line(i)));
  }
  return problems;
}

}  // namespace warploom::reuse::checking
