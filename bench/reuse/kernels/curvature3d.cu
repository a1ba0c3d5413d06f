// Curvature3D with the papers' block of 16x16 threads; compiles for every architecture.
#include "curvature3d.cuh"

/// Block 16x16, tile 14x14x1: 13 * 3072 = 39,936 bytes.
extern "C" __global__ void __launch_bounds__(bench::kThreads) curvature3d_16x16(CURVATURE_ARGUMENTS) {
  bench::curvature<bench::Tile<14, 14, 1>, false>({image, nx, ny, nz}, out, dx, dy, dz,
                                                  threadIdx.y * 16 + threadIdx.x);
}
/// Block 16x16, tile 14x14x1, uxx, uyy and uzz stored: 16 * 3072 = 49,152 bytes.
extern "C" __global__ void __launch_bounds__(bench::kThreads) curvature3d_16x16_stored(CURVATURE_ARGUMENTS) {
  bench::curvature<bench::Tile<14, 14, 1>, true>({image, nx, ny, nz}, out, dx, dy, dz,
                                                 threadIdx.y * 16 + threadIdx.x);
}
