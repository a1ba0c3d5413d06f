// The papers' registration kernel (curvature registration, Fischer & Modersitzki 2003): sweeps over
// the two components of a displacement field, in the vertical and then in the horizontal direction.
//
// One launch makes kSweeps sweeps of the explicit step
//   v = h + tau/2 * f - tau * alpha * d4h/dy4,   h' = v + tau/2 * f - tau * alpha * d4v/dx4
// for both components, with the force f = (R - T) grad T of the pixels and T already warped by the
// displacement at launch. Stable for tau * alpha <= 1/8 at unit pixel size.
//
// Source: the description in M. Moazeni's dissertation (UCLA 2013), section 5.3.1: 16x24
// threads, displacement in shared memory, pixels through the texture path (here the read-only loads
// that const __restrict__ gives). Its code is not published: stencil and sweep count are ours; the
// mixed derivative of the biharmonic operator has no place in two one-dimensional steps and is left out.
//
// Halo: a sweep reaches two pixels in each direction, so 2 * kSweeps. Images and displacement are
// continued by replication, and what lies outside is swept along like any pixel.
namespace bench {

constexpr int kX = 16, kY = 24, kThreads = kX * kY;  ///< results of a block, and its threads
constexpr int kSweeps = 2, kHalo = 2 * kSweeps;
constexpr int kWidth = kX + 2 * kHalo, kHeight = kY + 2 * kHalo, kSize = kWidth * kHeight;

/// What a block sees of the image plane.
struct Plane {
  int nx, ny, x0, y0;                          // image extents; image position of haloed element 0
  __device__ int offset(int x, int y) const {  // of image position (x, y), continued by replication
    return min(max(y, 0), ny - 1) * nx + min(max(x, 0), nx - 1);
  }
  __device__ int element(int i) const { return offset(x0 + i % kWidth, y0 + i / kWidth); }
};

/// The force's component along one axis at haloed element i; (sx, sy) is the axis's unit vector.
__device__ float force(const float* __restrict__ reference, const float* __restrict__ moving, Plane p, int i,
                       int sx, int sy) {
  const int x = p.x0 + i % kWidth, y = p.y0 + i / kWidth, here = p.offset(x, y);
  const float slope = (moving[p.offset(x + sx, y + sy)] - moving[p.offset(x - sx, y - sy)]) / 2;
  return (reference[here] - moving[here]) * slope;
}

__device__ float fourth_difference(const float* a, int i, int s) {
  return a[i - 2 * s] - 4 * a[i - s] + 6 * a[i] - 4 * a[i + s] + a[i + 2 * s];
}

/// True while element i is at least so many columns and rows away from the haloed tile's edge.
__device__ bool inside(int i, int columns, int rows) {
  const int x = i % kWidth, y = i / kWidth;
  return x >= columns && x < kWidth - columns && y >= rows && y < kHeight - rows;
}

// Arguments of both kernels: images, displacement before [ny, nx] and after [ny, nx], in pixels.
// Launch: block 16x24, one for each 16x24 results; no dynamic shared memory.
#define REGISTRATION_ARGUMENTS                                                                               \
  const float *__restrict__ reference, const float *__restrict__ moving, const float *__restrict__ before_x, \
      const float *__restrict__ before_y, float *__restrict__ after_x, float *__restrict__ after_y, int nx,  \
      int ny, float tau, float alpha

/// Both components in every step: all four arrays (12,288 bytes) live to the end, nothing can be shared.
extern "C" __global__ void __launch_bounds__(kThreads) registration_16x24(REGISTRATION_ARGUMENTS) {
  __shared__ float hx[kSize], hy[kSize];  // displacement after a horizontal step
  __shared__ float vx[kSize], vy[kSize];  // displacement after a vertical step
  const Plane p{nx, ny, int(blockIdx.x) * kX - kHalo, int(blockIdx.y) * kY - kHalo};
  const int thread = threadIdx.y * kX + threadIdx.x;

  for (int i = thread; i < kSize; i += kThreads) {
    hx[i] = before_x[p.element(i)];
    hy[i] = before_y[p.element(i)];
  }
  __syncthreads();

#pragma unroll 1  // one iteration's code, as the papers' loop
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (int i = thread; i < kSize; i += kThreads)
      if (inside(i, 2 * sweep, 2 * sweep + 2)) {
        vx[i] = hx[i] + tau / 2 * force(reference, moving, p, i, 1, 0) -
                tau * alpha * fourth_difference(hx, i, kWidth);
        vy[i] = hy[i] + tau / 2 * force(reference, moving, p, i, 0, 1) -
                tau * alpha * fourth_difference(hy, i, kWidth);
      }
    __syncthreads();
    for (int i = thread; i < kSize; i += kThreads)
      if (inside(i, 2 * sweep + 2, 2 * sweep + 2)) {
        hx[i] = vx[i] + tau / 2 * force(reference, moving, p, i, 1, 0) -
                tau * alpha * fourth_difference(vx, i, 1);
        hy[i] = vy[i] + tau / 2 * force(reference, moving, p, i, 0, 1) -
                tau * alpha * fourth_difference(vy, i, 1);
      }
    __syncthreads();
  }

  const int x = blockIdx.x * kX + threadIdx.x, y = blockIdx.y * kY + threadIdx.y;
  const int i = (threadIdx.y + kHalo) * kWidth + threadIdx.x + kHalo;
  if (x < nx && y < ny) {
    after_x[y * nx + x] = hx[i];
    after_y[y * nx + x] = hy[i];
  }
}

/// The same sweeps in another order, one component after the other: the second one's arrays may take the
/// place of the first one's. 12,288 bytes as written.
extern "C" __global__ void __launch_bounds__(kThreads) registration_16x24_reordered(REGISTRATION_ARGUMENTS) {
  __shared__ float hx[kSize], vx[kSize];
  __shared__ float hy[kSize], vy[kSize];
  const Plane p{nx, ny, int(blockIdx.x) * kX - kHalo, int(blockIdx.y) * kY - kHalo};
  const int thread = threadIdx.y * kX + threadIdx.x;
  const int x = blockIdx.x * kX + threadIdx.x, y = blockIdx.y * kY + threadIdx.y;
  const int result = (threadIdx.y + kHalo) * kWidth + threadIdx.x + kHalo;

  for (int i = thread; i < kSize; i += kThreads) hx[i] = before_x[p.element(i)];
  __syncthreads();
#pragma unroll 1
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (int i = thread; i < kSize; i += kThreads)
      if (inside(i, 2 * sweep, 2 * sweep + 2))
        vx[i] = hx[i] + tau / 2 * force(reference, moving, p, i, 1, 0) -
                tau * alpha * fourth_difference(hx, i, kWidth);
    __syncthreads();
    for (int i = thread; i < kSize; i += kThreads)
      if (inside(i, 2 * sweep + 2, 2 * sweep + 2))
        hx[i] = vx[i] + tau / 2 * force(reference, moving, p, i, 1, 0) -
                tau * alpha * fourth_difference(vx, i, 1);
    __syncthreads();
  }
  if (x < nx && y < ny) after_x[y * nx + x] = hx[result];

  for (int i = thread; i < kSize; i += kThreads) hy[i] = before_y[p.element(i)];
  __syncthreads();
#pragma unroll 1
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (int i = thread; i < kSize; i += kThreads)
      if (inside(i, 2 * sweep, 2 * sweep + 2))
        vy[i] = hy[i] + tau / 2 * force(reference, moving, p, i, 0, 1) -
                tau * alpha * fourth_difference(hy, i, kWidth);
    __syncthreads();
    for (int i = thread; i < kSize; i += kThreads)
      if (inside(i, 2 * sweep + 2, 2 * sweep + 2))
        hy[i] = vy[i] + tau / 2 * force(reference, moving, p, i, 0, 1) -
                tau * alpha * fourth_difference(vy, i, 1);
    __syncthreads();
  }
  if (x < nx && y < ny) after_y[y * nx + x] = hy[result];
}

}  // namespace bench
