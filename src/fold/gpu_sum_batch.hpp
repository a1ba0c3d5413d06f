#pragma once

#include <memory>
#include <vector>

#include "fold/gpu_sums.hpp"
#include "fold/weights.hpp"

/// What the partition function's kernels take, made on the host; without CUDA, so that the simulator's tests
/// make it, too. Codes and marks are those of gpu_batch.hpp.
namespace warploom::fold::gpu {

/// @throws BadInput: a special hairpin with another letter than A, C, G, U
std::unique_ptr<SumTables> make_sum_tables(const Weights& weights);
/// SumLaunch::hairpin_of, of sequences of so many bases.
std::vector<double> make_sum_hairpins(const Weights& weights, std::int64_t longest);

/// Where a batch's sequences lie.
struct SumLayout {
  std::vector<SumSequence> sequences = {};
  std::vector<Task> tasks = {};
  std::int64_t codes = 0, cells = 0, turned = 0, exponents = 0, columns = 0, flags = 0, end_exponents = 0,
               longest = 0;
  /// @param turns  what products take along columns is kept so, too
  void add(std::int64_t n, bool turns);
};
/// Of device memory that a sequence takes. @param probabilities  false: energies alone
/// @param turns          as SumLayout::add()'s
std::uint64_t sum_bytes_on_gpu(std::int64_t n, bool probabilities, bool turns);

}  // namespace warploom::fold::gpu
