#include <algorithm>
#include <cmath>

#include "registration/loops.hpp"

#if defined(__clang__)
#define WARPLOOM_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define WARPLOOM_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace warploom::registration {
namespace {

// So many voxels are taken at a time: their coordinates stay in the first cache.
constexpr std::int64_t kPart = 128;

// A coordinate is cut to the image and told apart into the voxel before it and the way to the next one.
struct Axis {
  float last, last_cell;
  std::int32_t step;  // to the next voxel; 0 where there is one alone
  Axis(std::int64_t count, std::int64_t stride)
      : last(static_cast<float>(count - 1)),
        last_cell(static_cast<float>(std::max<std::int64_t>(count - 2, 0))),
        step(count > 1 ? static_cast<std::int32_t>(stride) : 0) {}
};

template <bool kDisplaced>
void coordinates(const SampleStrip& s, std::int64_t row, float y, float z, std::int64_t from,
                 std::int64_t count, float (*p)[kPart]) {
  const std::int64_t voxels = s.grid.voxels();
  const float* h[3] = {};
  if constexpr (kDisplaced)
    for (int c = 0; c < 3; ++c) h[c] = s.displacement + c * voxels + row + from;
  for (int r = 0; r < 3; ++r) {
    const auto& m = s.map[static_cast<std::size_t>(r)];
    const float base = m[1] * y + m[2] * z + m[3];
    const float hx = m[0] * s.sign, hy = m[1] * s.sign, hz = m[2] * s.sign;
    float* out = p[r];
    WARPLOOM_INDEPENDENT
    for (std::int64_t x = 0; x < count; ++x) {
      float value = base + m[0] * static_cast<float>(static_cast<std::int32_t>(from + x));
      if constexpr (kDisplaced) value += hx * h[0][x] + hy * h[1][x] + hz * h[2][x];
      out[x] = value;
    }
  }
}

template <bool kGradient>
void interpolate(const SampleStrip& s, const Axis& ax, const Axis& ay, const Axis& az,
                 const float (*p)[kPart], std::int64_t row, std::int64_t from, std::int64_t count) {
  const float* image = s.image;
  const std::int64_t voxels = s.grid.voxels();
  float* out = s.out + row + from;
  float *gx = nullptr, *gy = nullptr, *gz = nullptr;
  if constexpr (kGradient) gx = s.gradient + row + from, gy = gx + voxels, gz = gy + voxels;
  const auto row_step = static_cast<std::int32_t>(s.image_extents.nx);
  const auto plane_step = static_cast<std::int32_t>(s.image_extents.nx * s.image_extents.ny);
  WARPLOOM_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = std::min(std::max(p[0][i], 0.0F), ax.last),
                y = std::min(std::max(p[1][i], 0.0F), ay.last),
                z = std::min(std::max(p[2][i], 0.0F), az.last);
    const auto ix = static_cast<std::int32_t>(std::min(x, ax.last_cell)),
               iy = static_cast<std::int32_t>(std::min(y, ay.last_cell)),
               iz = static_cast<std::int32_t>(std::min(z, az.last_cell));
    const float fx = x - static_cast<float>(ix), fy = y - static_cast<float>(iy),
                fz = z - static_cast<float>(iz);
    const std::int32_t at = ix + iy * row_step + iz * plane_step;
    const float v000 = image[at], v100 = image[at + ax.step];
    const float v010 = image[at + ay.step], v110 = image[at + ay.step + ax.step];
    const float v001 = image[at + az.step], v101 = image[at + az.step + ax.step];
    const float v011 = image[at + az.step + ay.step], v111 = image[at + az.step + ay.step + ax.step];
    const float v00 = v000 + fx * (v100 - v000), v10 = v010 + fx * (v110 - v010);
    const float v01 = v001 + fx * (v101 - v001), v11 = v011 + fx * (v111 - v011);
    const float v0 = v00 + fy * (v10 - v00), v1 = v01 + fy * (v11 - v01);
    out[i] = v0 + fz * (v1 - v0);
    if constexpr (kGradient) {
      const float d0 = (v100 - v000) + fy * ((v110 - v010) - (v100 - v000));
      const float d1 = (v101 - v001) + fy * ((v111 - v011) - (v101 - v001));
      gx[i] = d0 + fz * (d1 - d0);
      gy[i] = (v10 - v00) + fz * ((v11 - v01) - (v10 - v00));
      gz[i] = v1 - v0;
    }
  }
}

// Half a voxel beyond the outermost centres is the image's face; an axis of one voxel has no sides.
void find_inside(const SampleStrip& s, const float (*p)[kPart], std::int64_t row, std::int64_t from,
                 std::int64_t count) {
  const GridSize& e = s.image_extents;
  const auto beyond = [](std::int64_t n) { return n > 1 ? static_cast<float>(n) - 0.5F : 3e38F; };
  const auto before = [](std::int64_t n) { return n > 1 ? -0.5F : -3e38F; };
  const float lx = before(e.nx), ly = before(e.ny), lz = before(e.nz), ux = beyond(e.nx), uy = beyond(e.ny),
              uz = beyond(e.nz);
  std::uint8_t* counts = s.counts + row + from;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool inside =
        p[0][i] >= lx && p[0][i] <= ux && p[1][i] >= ly && p[1][i] <= uy && p[2][i] >= lz && p[2][i] <= uz;
    counts[i] = inside ? counts[i] : std::uint8_t{0};
  }
  if (s.mask == nullptr) return;
  const auto nearest = [](float v, std::int64_t n) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(v + 0.5F)), 0, n - 1);
  };
  for (std::int64_t i = 0; i < count; ++i)
    if (counts[i] != 0)
      counts[i] =
          s.mask[(nearest(p[2][i], e.nz) * e.ny + nearest(p[1][i], e.ny)) * e.nx + nearest(p[0][i], e.nx)] !=
          0;
}

}  // namespace

namespace WARPLOOM_INSTRUCTION_SET {

void sample_strip(const SampleStrip& s) {
  const Axis ax(s.image_extents.nx, 1), ay(s.image_extents.ny, s.image_extents.nx),
      az(s.image_extents.nz, s.image_extents.nx * s.image_extents.ny);
  alignas(64) float p[3][kPart];
  for (std::int64_t y = s.strip.y_from; y < s.strip.y_to; ++y) {
    const std::int64_t row = (s.strip.z * s.grid.ny + y) * s.grid.nx;
    for (std::int64_t from = 0; from < s.grid.nx; from += kPart) {
      const std::int64_t count = std::min(kPart, s.grid.nx - from);
      const auto fy = static_cast<float>(y), fz = static_cast<float>(s.strip.z);
      if (s.displacement != nullptr)
        coordinates<true>(s, row, fy, fz, from, count, p);
      else
        coordinates<false>(s, row, fy, fz, from, count, p);
      if (s.gradient != nullptr)
        interpolate<true>(s, ax, ay, az, p, row, from, count);
      else
        interpolate<false>(s, ax, ay, az, p, row, from, count);
      if (s.counts != nullptr) find_inside(s, p, row, from, count);
    }
  }
}

void force_row(const ForceRow& r) {
  const GridSize& e = r.grid;
  const std::int64_t row = (r.z * e.ny + r.y) * e.nx, plane = e.nx * e.ny, voxels = e.voxels();
  const float *fixed = r.fixed + row, *moving = r.moving + row;
  // Central differences, one-sided at the border; none along an axis of one voxel.
  const std::int64_t up[3] = {0, r.y + 1 < e.ny ? e.nx : 0, r.z + 1 < e.nz ? plane : 0};
  const std::int64_t down[3] = {0, r.y > 0 ? e.nx : 0, r.z > 0 ? plane : 0};
  for (int axis = 1; axis < 3; ++axis) {
    float* out = r.force + axis * voxels + row;
    const float steps = static_cast<float>((up[axis] != 0 ? 1 : 0) + (down[axis] != 0 ? 1 : 0));
    const float weight = steps > 0 ? r.weight[axis] / steps : 0.0F;
    const float *fu = fixed + up[axis], *fd = fixed - down[axis], *mu = moving + up[axis],
                *md = moving - down[axis];
    WARPLOOM_INDEPENDENT
    for (std::int64_t x = 0; x < e.nx; ++x)
      out[x] = weight * (r.d_moving[x] * (mu[x] - md[x]) - r.d_fixed[x] * (fu[x] - fd[x]));
  }
  float* out = r.force + row;
  const float half = r.weight[0] / 2;
  WARPLOOM_INDEPENDENT
  for (std::int64_t x = 1; x < e.nx - 1; ++x)
    out[x] = half *
             (r.d_moving[x] * (moving[x + 1] - moving[x - 1]) - r.d_fixed[x] * (fixed[x + 1] - fixed[x - 1]));
  const std::int64_t last = e.nx - 1;
  const auto end = [&](std::int64_t x, std::int64_t a, std::int64_t b) {
    out[x] = r.weight[0] * (r.d_moving[x] * (moving[b] - moving[a]) - r.d_fixed[x] * (fixed[b] - fixed[a]));
  };
  end(0, 0, last > 0 ? 1 : 0);
  if (last > 0) end(last, last - 1, last);
}

void laplacian_row(const LaplacianRow& r) {
  const GridSize& e = r.grid;
  const std::int64_t row = (r.z * e.ny + r.y) * e.nx, plane = e.nx * e.ny, last = e.nx - 1;
  const float* at = r.f + row;
  float* out = r.out + row;
  const float *before = r.y > 0 ? at - e.nx : at, *behind = r.y + 1 < e.ny ? at + e.nx : at;
  const float *below = r.z > 0 ? at - plane : at, *above = r.z + 1 < e.nz ? at + plane : at;
  const float wx = r.weight[0], wy = r.weight[1], wz = r.weight[2];
  const auto across = [&](std::int64_t x) {
    return wy * ((before[x] - at[x]) + (behind[x] - at[x])) + wz * ((below[x] - at[x]) + (above[x] - at[x]));
  };
  WARPLOOM_INDEPENDENT
  for (std::int64_t x = 1; x < last; ++x)
    out[x] = wx * ((at[x - 1] - at[x]) + (at[x + 1] - at[x])) + across(x);
  if (last == 0) {
    out[0] = across(0);
    return;
  }
  out[0] = wx * (at[1] - at[0]) + across(0);
  out[last] = wx * (at[last - 1] - at[last]) + across(last);
}

void moment_row(const MomentRow& r, double* sums) {
  for (int c = 0; c < 3; ++c) {
    const float* g = r.gradient + c * r.component;
    float sum = 0, first = 0;
#pragma omp simd reduction(+ : sum, first)
    for (std::int64_t x = 0; x < r.count; ++x) {
      const float d = r.derivative[x] * g[x];
      sum += d;
      first += d * static_cast<float>(static_cast<std::int32_t>(x));
    }
    sums[2 * c] += double(sum);
    sums[2 * c + 1] += double(first);
  }
}

}  // namespace WARPLOOM_INSTRUCTION_SET
}  // namespace warploom::registration
