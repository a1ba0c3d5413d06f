// The kernels of the search, of the DTW kernels some sizes, for sim_kernels_test.cpp.
#include "search/cuda_bounds.cu"
#include "search/cuda_selection.cu"
#include "search/dtw_columns.cuh"
#define WARPLOOM_KERNELS_ONLY
#include "search/dtw_joint.cu"
#include "search/dtw_lanes.cuh"
#include "search/dtw_thread.cuh"
#include "search/moments.cu"

namespace warploom::search {
template __global__ void dtw_thread<0, 8>(const DtwJob*, int);
template __global__ void dtw_thread<3, 8>(const DtwJob*, int);
template __global__ void dtw_joint_thread<0, 4>(const JointJob*, int);
template __global__ void dtw_joint_thread<3, 4>(const JointJob*, int);
template __global__ void dtw_lanes<2, 5, 8>(const DtwJob*, int);
template __global__ void dtw_lanes<4, 4, 8>(const DtwJob*, int);
template __global__ void dtw_lanes<32, 3, 8>(const DtwJob*, int);
template __global__ void dtw_columns<1, 6, ColumnRounds::one>(const DtwJob*, int, unsigned, float*,
                                                              std::int64_t);
template __global__ void dtw_columns<4, 6, ColumnRounds::one>(const DtwJob*, int, unsigned, float*,
                                                              std::int64_t);
template __global__ void dtw_columns<4, 6, ColumnRounds::many>(const DtwJob*, int, unsigned, float*,
                                                               std::int64_t);
template __global__ void dtw_columns<32, 4, ColumnRounds::banded>(const DtwJob*, int, unsigned, float*,
                                                                  std::int64_t);
}  // namespace warploom::search
