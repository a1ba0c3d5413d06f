#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace warploom::oracle {

/// Raised with every change after which a seed may give another kernel.
inline constexpr int kGeneratorVersion = 5;

/// What a random kernel has in it; each kernel has some of them.
enum class Feature : std::uint8_t {
  uniform_branch,
  divergent_branch,
  nested_branch,
  loop,
  nested_loop,
  divergent_loop,
  iteration_private,  ///< an array that one loop uses, and nothing else
  carried_load,       ///< of what the iteration before stored
  loop_break,
  loop_continue,
  early_exit,
  divergent_exit,
  repeated_condition,  ///< stored under a condition, loaded under the same
  selected_pointer,
  carried_pointer,
  swapped_pointers,
  mov_chain,
  generic_address,
  unknown_index,
  vector_access,
  narrow_access,
  wide_access,
  float_access,
  volatile_access,
  atomic,
  tree_reduction,
  barrier_red,
  barrier_with_id,
  barrier_with_count,
  warp_barrier,
  warp_vote,
  device_call,
  callee_with_shared,
  dynamic_array,
  module_array,
  carved_array,      ///< the arrays are parts of one, static or dynamic
  carved_by_launch,  ///< parts of the dynamic one, at sums of the block size and a parameter
  callee_array,      ///< a callee has an array of its own, and a barrier
  callee_of_module,  ///< a callee names an array that the kernel uses, too
  two_kernels,       ///< a second one uses the same arrays of the module
  async_copy,
  async_pipeline,  ///< of several groups under way
  mbarrier,
  mbarrier_in_array,  ///< its bytes belong to an array that is used before and after
  async_mbarrier,     ///< copies that arrive at one
  matrix_load,
  block_declared,
  two_dimensional,
  bulk_load,   ///< a bulk copy to an array, with an mbarrier; of seeds from kBulkSeeds on
  bulk_store,  ///< and from one, in a group
  count,
};
std::string_view name(Feature feature);

/// A kernel `k(out, data, n)` to be run with these threads, blocks and dynamic shared memory; with
/// Feature::two_kernels there is `k2` of the same kind. Parameters:
/// .u64 out, kOutWords words of 32 bits a thread of the grid; .u64 data, kDataWords words, only read; .u32 n.
struct RandomKernel {
  static constexpr std::uint32_t kOutWords = 4, kDataWords = 64;
  std::string text;
  std::array<std::uint32_t, 2> block{32, 1};
  std::uint32_t blocks = 2;          ///< each runs with another `n`: the parameter plus its index
  std::uint32_t n = 0;               ///< the parameter
  std::uint32_t dynamic_shared = 0;  ///< [bytes]
  std::uint64_t features = 0;        ///< bits: 1 << Feature
  std::uint32_t threads() const { return block[0] * block[1]; }
  bool has(Feature f) const { return (features >> static_cast<unsigned>(f) & 1) != 0; }
};

/// A kernel of 8 to 64 threads with several shared arrays: phases that store and load them in straight line,
/// under branches and in loops, with barriers where needed and some where not. What is stored depends on all
/// that was loaded before, so that one wrong byte shows in `out`. It has neither races nor reads of what
/// nobody wrote, by construction: the generator knows at each place which thread may touch which byte.
/// About 0.2 ms.
/// Seeds from kBulkSeeds on give kernels for sm_90 with bulk copies, too.
RandomKernel random_kernel(std::uint64_t seed);
inline constexpr std::uint64_t kBulkSeeds = std::uint64_t{1} << 40;

}  // namespace warploom::oracle
