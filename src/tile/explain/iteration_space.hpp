#pragma once

#include <array>

#include "warploom/tile/transform.hpp"

namespace warploom::tile {

/// The iterations of some statements at small sizes, one by one: for drawings.
struct IterationSpace {
  struct Instance {
    int statement = 0;
    std::vector<std::int64_t> iteration;
  };
  /// Source runs before sink in the text; one pair of a dependence.
  struct Pair {
    int dependence = 0;        ///< of dependences()
    int source = 0, sink = 0;  ///< instances
    bool implied = false;      ///< two other pairs lead from the source to the sink
  };
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  bool cut = false;  ///< there are more iterations at these sizes
  std::vector<Instance> instances;
  std::vector<Pair> pairs;
};

/// @param statements  share their loops
/// @param loops       of these two at most nine iterations; of others as many as make few instances
/// @note enumerates: some hundred instances
IterationSpace iteration_space(const Nest& nest, const std::vector<int>& statements,
                               const std::array<std::string, 2>& loops);

/// When the instances run.
struct InstanceTimes {
  std::vector<std::vector<std::int64_t>> times;  ///< compared in dictionary order
  std::map<std::string, std::vector<std::int64_t>>
      loops;  ///< values of each loop of the schedule, strips included
};
InstanceTimes times_of(const IterationSpace& space, const Schedule& schedule);

}  // namespace warploom::tile
