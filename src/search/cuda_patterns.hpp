#pragma once

/// Patterns on the device, as kernels read them.

#include <cstdint>
#include <span>
#include <vector>

#include "search/cuda_groups.hpp"
#include "search/cuda_joint.hpp"
#include "search/cuda_memory.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {

// What patterns of one channel and of several have.
inline std::int64_t length_of(const Pattern& pattern) { return std::ssize(pattern.samples); }
inline std::int64_t length_of(const JointPattern& pattern) { return pattern.length(); }
inline std::int64_t lead_of(const Pattern& pattern) { return pattern.lead; }
inline std::int64_t lead_of(const JointPattern&) { return 0; }
inline std::int64_t channels_of(const DeviceQuery&) { return 1; }
inline std::int64_t channels_of(const DeviceJoint& query) { return std::ssize(query.channels); }

/// Normalised if asked for, and copied; what is returned reads `to`.
/// @throws OutOfMemory
std::vector<DeviceQuery> upload(std::span<const Pattern> patterns, Normalization normalization,
                                DeviceBuffer& to);
std::vector<DeviceJoint> upload(std::span<const JointPattern> patterns, Normalization normalization,
                                DeviceBuffer& to);

}  // namespace warploom::search
