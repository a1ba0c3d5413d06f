#include "imaging/segment_rows.hpp"

#include <algorithm>

namespace warploom::imaging {
namespace {

// So many voxels are taken at a time, and added up in single precision.
constexpr std::int64_t kPart = 512;

// Voxels [from, from + count), whose neighbours along x are `before` and `beyond` voxels away: 0 at the edge.
template <int kDimensions>
void update_part(const StepConstants& k, float mean_in, float mean_out, const SegmentRow& row,
                 std::int64_t from, std::int64_t count, std::int64_t before, std::int64_t beyond,
                 double* sums) {
  const float *image = row.image + from, *here = row.here + from;
  const float *before_x = here - before, *beyond_x = here + beyond;
  const float *before_y = row.before[0] + from, *beyond_y = row.beyond[0] + from;
  const float *before_z = row.before[1] + from, *beyond_z = row.beyond[1] + from;
  float* after = row.after + from;

  // Two loops, since a compiler vectorises the one for its steps and the other for its sums.
  float changes[kPart], energies[kPart], heavisides[kPart];
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (std::int64_t x = 0; x < count; ++x) {
    Neighbours around{before_x[x], beyond_x[x], before_y[x], beyond_y[x], 0, 0};
    if constexpr (kDimensions == 3) around.before_z = before_z[x], around.beyond_z = beyond_z[x];
    const VoxelStep step = voxel_step<kDimensions>(k, mean_in, mean_out, image[x], here[x], around);
    changes[x] = step.change, energies[x] = step.energy, heavisides[x] = step.heaviside;
  }
  float energy = 0, heaviside = 0, heaviside_image = 0, change = 0, inside = 0, inside_image = 0;
#pragma omp simd reduction(+ : energy, heaviside, heaviside_image, change, inside, inside_image)
  for (std::int64_t x = 0; x < count; ++x) {
    const float next = here[x] + changes[x];
    after[x] = next;
    energy += energies[x];
    heaviside += heavisides[x];
    heaviside_image += heavisides[x] * image[x];
    change += changes[x] * changes[x];
    inside += next > 0 ? 1.0F : 0.0F;
    inside_image += next > 0 ? image[x] : 0.0F;
  }
  const float part[kStepSums] = {energy, heaviside, heaviside_image, change, inside, inside_image};
  for (int s = 0; s < kStepSums; ++s) sums[s] += double(part[s]);
}

template <int kDimensions>
void update(const StepConstants& k, float mean_in, float mean_out, const SegmentRow& row, double* sums) {
  const std::int64_t last = row.nx - 1;
  update_part<kDimensions>(k, mean_in, mean_out, row, 0, 1, 0, last > 0 ? 1 : 0, sums);
  for (std::int64_t from = 1; from < last; from += kPart)
    update_part<kDimensions>(k, mean_in, mean_out, row, from, std::min(kPart, last - from), 1, 1, sums);
  if (last > 0) update_part<kDimensions>(k, mean_in, mean_out, row, last, 1, 1, 0, sums);
}

}  // namespace

namespace WARPLOOM_INSTRUCTION_SET {

void update_segment_row(const StepConstants& constants, float mean_in, float mean_out, int dimensions,
                        const SegmentRow& row, double* sums) {
  if (dimensions == 2)
    update<2>(constants, mean_in, mean_out, row, sums);
  else
    update<3>(constants, mean_in, mean_out, row, sums);
}

}  // namespace WARPLOOM_INSTRUCTION_SET
}  // namespace warploom::imaging
