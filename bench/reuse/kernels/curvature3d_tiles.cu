// Curvature3D with tiles for which shared memory limits an H200. Their static arrays exceed 48 KB, which
// ptxas takes only for an architecture-specific target (sm_90a, sm_100a, ...) and refuses otherwise.
#include "curvature3d.cuh"

/// Block 256, tile 8x8x8: 13 * 4000 = 52,000 bytes.
extern "C" __global__ void __launch_bounds__(bench::kThreads) curvature3d_8x8x8(CURVATURE_ARGUMENTS) {
  bench::curvature<bench::Tile<8, 8, 8>, false>({image, nx, ny, nz}, out, dx, dy, dz, threadIdx.x);
}
/// Block 256, tile 16x16x4: 13 * 7776 = 101,088 bytes.
extern "C" __global__ void __launch_bounds__(bench::kThreads) curvature3d_16x16x4(CURVATURE_ARGUMENTS) {
  bench::curvature<bench::Tile<16, 16, 4>, false>({image, nx, ny, nz}, out, dx, dy, dz, threadIdx.x);
}
/// Block 256, tile 16x16x4, uxx, uyy and uzz stored: 16 * 7776 = 124,416 bytes.
extern "C" __global__ void __launch_bounds__(bench::kThreads)
    curvature3d_16x16x4_stored(CURVATURE_ARGUMENTS) {
  bench::curvature<bench::Tile<16, 16, 4>, true>({image, nx, ny, nz}, out, dx, dy, dz, threadIdx.x);
}
