#pragma once

#include <string>
#include <vector>

#include "reuse/check/kernel.hpp"

/// Where the threads of a block may part.
namespace warploom::reuse::checking {

/// How far a value, or the way taken, may differ between the threads of a block.
enum class Spread : std::uint8_t {
  uniform,
  data,    ///< loaded from an address that is the same for all threads: may differ
  thread,  ///< depends on the thread's index, or on what other threads do
};

struct Uniformity {
  explicit Uniformity(const Kernel& kernel);

  /// Blocks between a branch and where its ways have all met again, the branch's own block not, unless
  /// it can be reached again before.
  struct Region {
    std::uint32_t branch = 0;  ///< block
    Spread spread = Spread::uniform;
    std::vector<std::uint32_t> blocks;  ///< ascending
    std::uint32_t meet = ptx::kNone;    ///< block where the ways meet; kNone: at the end only
    bool contains(std::uint32_t block) const;
  };
  std::vector<Region> regions;    ///< of all branches with two ways to something that matters
  std::vector<bool> divergent;    ///< per block: inside the region of a branch that is not uniform
  std::vector<Spread> spread_of;  ///< per definition
  /// Per block: a shared access, a barrier or a wait for another thread can be reached from here. A thread
  /// elsewhere has left.
  std::vector<bool> matters;
  std::vector<std::string> assumptions;  ///< branches taken to be uniform because they decide over a barrier
  std::vector<std::string> problems;
  ptx::DominatorTree post_dominators;  ///< over the blocks that matter

  const Region* region_of(std::uint32_t block) const;
  /// Whether, at the end of a block, some threads of the block may go another way than the rest.
  bool threads_may_part(std::uint32_t block) const;
  /// Whether some threads may leave the kernel in this block, or at its end, and others not.
  bool some_may_leave(std::uint32_t block) const;
  /// Of a register where an instruction reads it.
  Spread spread(std::uint32_t instruction, std::uint32_t reg) const;

 private:
  void find_matters();
  void find_regions();
  void settle();
  Spread of_instruction(std::uint32_t i) const;
  Spread of_operand(std::uint32_t i, const ptx::Operand& o) const;
  bool decides_over_barrier(const Region& region) const;
  bool always_leads_to_barrier(const Region& region) const;
  bool may_leave_after_access(const Region& region) const;

  const Kernel& k_;
  ptx::Graph graph_;  ///< of the blocks that matter
};

}  // namespace warploom::reuse::checking
