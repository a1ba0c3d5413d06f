#pragma once

#include "tile/order/parallelise_waves.hpp"

/// Sentences that say why loops stand where they do. The group's loops are chosen, but not entered yet.
namespace warploom::tile {

/// Neighbours that share loops in the source, and no longer do.
std::vector<std::string> distribution_reasons(const LoopsAround& around, const std::vector<Group>& groups);
/// What the group's loops carry, or do not; the group is no wave.
std::vector<std::string> loop_reasons(const LoopsAround& around, const Group& group,
                                      const std::vector<Relation>& relations);
/// What forbids parallel loops, and which sum of the loops makes the group's waves.
std::vector<std::string> wave_reasons(const LoopsAround& around, const Group& group,
                                      const std::vector<Relation>& relations);
/// Why the search left the group without waves over these loops.
std::string no_wave_reason(const LoopsAround& around, const Group& group,
                           const std::vector<SharedLoop>& loops, const WaveSearch& search);

}  // namespace warploom::tile
