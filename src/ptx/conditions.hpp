#pragma once

#include <cstdint>
#include <vector>

#include "warploom/ptx/ranges.hpp"

namespace warploom::ptx {

/// What the branches passed and the guard say to a thread that is at some place.
class Conditions {
 public:
  Conditions(const Cfg& cfg, const Values& values);

  /// In a block: of the branches that all ways there have taken to one side. What is compared has not
  /// changed since: a value's definition dominates the branch, so it runs no second time behind it.
  const std::vector<Condition>& in_block(std::uint32_t block) const { return in_block_[block]; }
  /// On the way from a block to its successor, those of the block included.
  std::vector<Condition> on_edge(std::uint32_t from, std::uint32_t to) const;
  /// Where a guarded instruction is executed, those of its block included.
  std::vector<Condition> at(std::uint32_t instruction) const;

 private:
  void collect(std::uint32_t predicate, bool holds, std::vector<Condition>& into, unsigned depth = 0) const;
  void collect_branch(std::uint32_t from, std::uint32_t to, std::vector<Condition>& into) const;

  const Cfg& cfg_;
  const Values& values_;
  std::vector<std::vector<Condition>> in_block_;
};

}  // namespace warploom::ptx
