#pragma once

#include <cstdint>
#include <vector>

#include "fold/loops.hpp"

namespace warploom::fold {

/// What pairs and unpaired bases add beside their loops: pseudo-energies, and for bases that have to pair a
/// penalty where they do not. What an unpaired base adds is taken from its pair instead, and added to the
/// whole once (offset), so that the recurrences know of pairs alone.
class Extras {
 public:
  /// @param forced  by base, counted from 1, whether it has to pair; empty: none has
  Extras(const Bases& s, const Loops& loops, const std::vector<bool>& forced);
  bool empty() const { return unpaired_.empty(); }
  /// Of the pair (i, j); 0 where empty().
  std::int32_t pair(std::int64_t i, std::int64_t j) const {
    return empty() ? 0 : loops_.pair_extra(i, j) - unpaired_[i] - unpaired_[j];
  }
  std::int32_t offset() const { return offset_; }
  /// Of a base that has to pair and does not.
  std::int32_t penalty() const { return penalty_; }

 private:
  const Loops& loops_;
  std::vector<std::int32_t> unpaired_ = {};  // by base, counted from 1
  std::int32_t offset_ = 0, penalty_ = 0;
};

}  // namespace warploom::fold
