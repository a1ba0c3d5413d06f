// Curvature2D, the papers' segmentation kernel (active contour), written the straightforward way:
// Curvature3D (see curvature3d.cu) without z, seven arrays.
//
//   curvature = div(grad u / |grad u|) at every pixel of an image [ny, nx], x fastest.
//
// Source: M. Moazeni's dissertation (UCLA 2013), section 5.3.1 and Figure 47. A block of 16x16 threads
// covers a haloed 16x16 square, i.e. 14x14 results: the redundant border threads of section 6.3.4.
// A pixel below the square is read from the image, which is continued by replication.
namespace bench {

constexpr float kTiny = 1e-8f;  ///< the figure's TINY [unit of u per unit of length, squared]
constexpr int kSide = 16, kResults = kSide - 2;

/// The mean over the four corners of the pixel square above i.
__device__ float mean4(const float* a, int i) {
  return (a[i] + a[i + 1] + a[i + kSide] + a[i + kSide + 1]) / 4;
}

/// The first component of the gradient (g, a), normalised.
__device__ float unit(float g, float a) { return g / sqrtf(g * g + a * a + kTiny); }

struct Image {
  const float* __restrict__ data;  // [ny, nx]
  int nx, ny;
  __device__ float operator()(int x, int y) const {
    return data[min(max(y, 0), ny - 1) * nx + min(max(x, 0), nx - 1)];
  }
};

/// image and result [ny, nx], nx * ny < 2^31; spacings [length].
/// Launch: block 16x16, one for each 14x14 results; 7 * 1024 = 7,168 bytes of static shared memory.
extern "C" __global__ void __launch_bounds__(kSide* kSide)
    curvature2d_16x16(const float* __restrict__ data, float* __restrict__ out, int nx, int ny, float dx,
                      float dy) {
  __shared__ float u[kSide * kSide], ux[kSide * kSide], uy[kSide * kSide];
  __shared__ float Ly[kSide * kSide], normx[kSide * kSide];
  __shared__ float Lx[kSide * kSide], normy[kSide * kSide];
  const Image image{data, nx, ny};
  const int tx = threadIdx.x, ty = threadIdx.y, i = ty * kSide + tx;
  const int x = blockIdx.x * kResults - 1 + tx, y = blockIdx.y * kResults - 1 + ty;
  const bool has_upper = tx < kSide - 1 && ty < kSide - 1;  // the averages reach one pixel up

  u[i] = image(x, y);
  __syncthreads();

  ux[i] = ((tx > 0 ? u[i - 1] : image(x - 1, y)) - u[i]) / dx;
  uy[i] = ((ty > 0 ? u[i - kSide] : image(x, y - 1)) - u[i]) / dy;
  __syncthreads();

  if (has_upper) Ly[i] = mean4(uy, i);
  __syncthreads();
  if (has_upper) normx[i] = unit(ux[i], Ly[i]);
  __syncthreads();

  if (has_upper) Lx[i] = mean4(ux, i);
  __syncthreads();
  if (has_upper) normy[i] = unit(uy[i], Lx[i]);
  __syncthreads();

  if (has_upper && tx > 0 && ty > 0 && x < nx && y < ny)
    out[y * nx + x] = (normx[i - 1] - normx[i]) / dx + (normy[i - kSide] - normy[i]) / dy;
}

}  // namespace bench
