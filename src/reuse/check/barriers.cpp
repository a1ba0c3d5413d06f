// Added barriers: each is reached by every thread of the block, the same number of times.

#include <fmt/format.h>

#include "reuse/check/lives.hpp"

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;
using ptx::Op;

/// Whether a loop is left only once another thread has written something: a way out, or a branch inside that
/// decides over it, depends on what a volatile or atomic access in the loop read.
class Spinning {
 public:
  Spinning(const Kernel& k, const Uniformity& uniformity, const ptx::Loop& loop)
      : k_(k),
        uniformity_(uniformity),
        loop_(loop),
        seen_(k.function.instructions.size()),
        seen_block_(k.cfg.blocks.size()) {}

  bool run() {
    for (const std::uint32_t b : loop_.blocks)
      for (const std::uint32_t s : k_.cfg.graph.successors[b])
        if (!loop_.contains(s)) {
          add(k_.cfg.blocks[b].last - 1);
          break;
        }
    for (const std::uint32_t b : loop_.blocks)
      for (std::uint32_t i = k_.cfg.blocks[b].first; i < k_.cfg.blocks[b].last; ++i)
        if (leaves_kernel(k_, i)) add(i);
    while (!work_.empty()) {
      const std::uint32_t i = work_.back();
      work_.pop_back();
      if (reads_of_others(k_.opcode(i)) || k_.op(i) == Op::call) return true;
      for (const std::uint32_t reg : k_.flow.reads(i))
        for (const std::uint32_t d : k_.flow.reaching(i, reg)) add(k_.flow.definitions()[d].instruction);
      add_deciders(k_.cfg.block_of[i]);
    }
    return false;
  }

 private:
  void add(std::uint32_t i) {
    if (seen_[i] || !loop_.contains(k_.cfg.block_of[i])) return;
    seen_[i] = true;
    work_.push_back(i);
  }
  void add_deciders(std::uint32_t block) {
    if (seen_block_[block]) return;
    seen_block_[block] = true;
    for (const Uniformity::Region& region : uniformity_.regions)
      if (region.contains(block)) add(k_.cfg.blocks[region.branch].last - 1);
  }

  const Kernel& k_;
  const Uniformity& uniformity_;
  const ptx::Loop& loop_;
  std::vector<bool> seen_, seen_block_;
  std::vector<std::uint32_t> work_;
};

/// Whether each barrier-free path to an added barrier is free of waiting loops: a thread that waits there may
/// be waiting for one that the barrier holds. Texts of the problems.
std::vector<std::string> find_barriers_behind_waits(const Kernel& k, const std::vector<bool>& spins) {
  const auto waits = [&](std::uint32_t i) {
    if (call_may_wait(k, i)) return true;
    const std::uint32_t b = k.cfg.block_of[i];
    if (!reads_of_others(k.opcode(i)) || !in_cycle(k.cfg, b)) return false;
    bool waiting = !k.cfg.reducible;
    for (std::uint32_t l = k.cfg.loop_of[b]; l != kNone; l = k.cfg.loops[l].parent) waiting |= spins[l];
    return waiting;
  };
  // Line of a wait that may precede each block, 0: none.
  std::vector<std::uint32_t> wait(k.cfg.blocks.size());
  std::vector<std::string> problems;
  const auto walk = [&](std::uint32_t b, bool report) {
    std::uint32_t line = wait[b];
    for (std::uint32_t i = k.cfg.blocks[b].first; i < k.cfg.blocks[b].last; ++i) {
      if (k.inserted[i]) {
        if (report && line != 0)
          problems.push_back(fmt::format(
              "line {}: the added barrier may keep from its work the thread that line {} waits for",
              k.line(i), line));
      } else if (separates(k, i)) {
        line = 0;
      } else if (waits(i)) {
        line = k.line(i);
      }
    }
    return line;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t b : k.cfg.order) {
      const std::uint32_t line = walk(b, false);
      for (const std::uint32_t s : k.cfg.graph.successors[b])
        if (line != 0 && wait[s] == 0) wait[s] = line, changed = true;
    }
  }
  for (const std::uint32_t b : k.cfg.order) walk(b, true);
  return problems;
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
  std::vector<bool> spins;
  for (const ptx::Loop& loop : k.cfg.loops) spins.push_back(Spinning(k, uniformity, loop).run());
  for (std::string& problem : find_barriers_behind_waits(k, spins)) problems.push_back(std::move(problem));
  for (const std::uint32_t i : added) {
    const std::uint32_t b = k.cfg.block_of[i];
    if (!k.cfg.reachable[b]) continue;
    if (uniformity.divergent[b])
      problems.push_back(
          fmt::format("line {}: the added barrier is where threads may have parted", k.line(i)));
    for (std::uint32_t l = k.cfg.loop_of[b]; l != kNone; l = k.cfg.loops[l].parent) {
      if (spins[l]) {
        problems.push_back(
            fmt::format("line {}: the added barrier is in a loop that waits for another thread", k.line(i)));
        break;
      }
    }
    if (!k.cfg.reducible && in_cycle(k.cfg, b))
      problems.push_back(fmt::format(
          "line {}: the added barrier is in a cycle of a kernel with irreducible control flow", k.line(i)));
  }
  return problems;
}

}  // namespace warploom::reuse::checking
