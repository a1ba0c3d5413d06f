#pragma once

#include "registration/affine_kernels.hpp"
#include "registration/field_kernels.hpp"

namespace warploom::registration {

/// Does what it is asked for one after another: a GPU's stream, or in tests the simulator. Addresses are of
/// the device.
class GreedyQueue {
 public:
  virtual ~GreedyQueue() = default;

  /// Kept as long as this. @throws OutOfMemory
  virtual std::byte* allocate(std::uint64_t bytes) = 0;
  virtual void upload(void* to, const void* from, std::uint64_t bytes) = 0;
  /// Waits for all that was asked before.
  virtual void download(void* to, const void* from, std::uint64_t bytes) = 0;
  virtual void clear(void* what, std::uint64_t bytes) = 0;
  /// Within the device.
  virtual void copy(void* to, const void* from, std::uint64_t bytes) = 0;

  // The passes of affine_kernels.hpp, greedy_kernels.hpp and field_kernels.hpp.
  virtual void draw(const DrawArguments& arguments) = 0;
  virtual void lncc_moments(const MomentArguments& arguments) = 0;
  virtual void add_up_moments(const MomentSums& arguments) = 0;
  virtual void warp(const WarpArguments& arguments) = 0;
  virtual void lncc_statistics(const LnccArguments& arguments) = 0;
  virtual void lncc_force(const LnccArguments& arguments) = 0;
  virtual void ssd_force(const SsdArguments& arguments) = 0;
  virtual void smooth(const SmoothArguments& arguments) = 0;
  virtual void longest(const float* field, std::int64_t voxels, unsigned* longest) = 0;
  virtual void add_up(const double* parts, int count, double scale, double* sum) = 0;
  virtual void normalise(const NormaliseArguments& arguments) = 0;
  virtual void halve(const HalveArguments& arguments) = 0;
  virtual void refine(const RefineArguments& arguments) = 0;
  virtual void through_the_middle(const MiddleArguments& arguments) = 0;
  virtual void count_suspects(const FoldArguments& arguments) = 0;
  virtual void find_folds(const FoldArguments& arguments) = 0;
  virtual void smooth_folds(const FoldArguments& arguments) = 0;
  virtual void count_smoothed(const FoldArguments& arguments) = 0;
  virtual void look(const LookArguments& arguments) = 0;
};

}  // namespace warploom::registration
