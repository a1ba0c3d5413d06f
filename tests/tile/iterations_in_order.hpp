#pragma once

#include <map>
#include <string>

#include "warploom/tile/transform.hpp"

namespace warploom::tile {

/// The iterations of a schedule for sizes that are known, one after the other as their times say, without a
/// loop and without isl's generator of loops: what legality speaks of.
class IterationsInOrder {
 public:
  IterationsInOrder(const Nest& nest, const std::map<std::string, std::int64_t>& sizes);
  /// @param schedule  of the nest
  Node of(const Schedule& schedule) const;

 private:
  std::map<std::string, std::int64_t> sizes_;
  std::vector<std::vector<std::vector<std::int64_t>>> points_;  ///< of each statement
};

}  // namespace warploom::tile
