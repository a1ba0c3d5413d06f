#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cuda/owners.hpp"

/// How a batch of sequences goes through a GPU's memory, in parts.
namespace warploom::fold::gpu {

/// Places of the sequences, the longest first: the end of a batch has short ones to share out.
/// @throws BadInput: one has more bases than a GPU takes
std::vector<std::size_t> longest_first(std::span<const std::string> sequences);

struct PartLimits {
  std::uint64_t room = 0;       ///< of device memory, for all that is there [bytes]
  std::size_t most = 0;         ///< sequences of a part
  std::string_view work = {};   ///< "folding", of so many bases
  std::string_view alone = {};  ///< "fold it alone"
};
/// The ends of the parts in the order of `bytes`, what each sequence takes, the largest first. Two parts are
/// on the GPU at a time, unless all fit together. @param longest  bases, for the message
/// @throws OutOfMemory: the largest does not fit
std::vector<std::size_t> ends_of_parts(std::span<const std::uint64_t> bytes, std::size_t longest,
                                       const PartLimits& limits);

/// Tells kernels that look at `stop`, which is 0 once `begun` has come, to end soon; null: nothing. Who owns
/// their memory waits for them.
void stop_kernels(std::uint32_t* stop, const CudaEvent& begun);

}  // namespace warploom::fold::gpu
