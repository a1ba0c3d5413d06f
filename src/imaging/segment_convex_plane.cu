#include <algorithm>
#include <cstdint>
#include <utility>

#include "segment_convex_kernels.hpp"

// A plane without a mask: several iterations at once, so that u, v and p pass through memory once for all of
// them. A warp walks down a strip of columns and keeps what the rows need of each other in registers; columns
// of neighbouring lanes come by shuffles. What a strip needs of the columns and rows around it, it computes
// again.

namespace warploom::imaging {
namespace {

constexpr int kWarp = 32, kThreads = 128, kWarps = kThreads / kWarp;
constexpr int kColumns = 4;                    // of a lane: 16 bytes
constexpr int kKept = (kWarp - 2) * kColumns;  // columns of a strip: the outer lanes are for their neighbours
constexpr int kEdges = 4;  // right, and left, straight and right below: as edges_of() has them
static_assert(kMostPlaneSteps <= kColumns, "at either side of a strip a step loses a column");

/// Blocks of a multiprocessor, which bounds the registers: the most without spills on sm_75 to sm_90.
template <int kSteps>
constexpr int kResident = kSteps == 1   ? 4
                          : kSteps == 2 ? 3
                                        : 2;

struct Lane {
  float c[kColumns];
};

__device__ float from_left(float value) { return __shfl_up_sync(0xffffffffU, value, 1); }
__device__ float from_right(float value) { return __shfl_down_sync(0xffffffffU, value, 1); }

/// What the walk knows of a lane's columns.
struct Columns {
  int x, nx;                  // of the first; may lie outside the image
  float down[kColumns];       // lambda; 0 outside the image
  float right[kColumns + 1];  // lambda between a column and the one to its right, from the one before x on
};

/// Columns outside the image get any value of it: limits of 0 keep them out of all sums.
template <bool kAligned>
__device__ Lane load(const float* __restrict__ row, const Columns& columns) {
  Lane out;
  if constexpr (kAligned) {
    const int x = min(max(columns.x, 0), columns.nx - kColumns);
    const float4 four = *reinterpret_cast<const float4*>(row + x);
    out = {four.x, four.y, four.z, four.w};
  } else {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) out.c[j] = row[min(max(columns.x + j, 0), columns.nx - 1)];
  }
  return out;
}

template <bool kAligned>
__device__ void store(float* __restrict__ row, const Columns& columns, const Lane& lane) {
  if constexpr (kAligned) {
    *reinterpret_cast<float4*>(row + columns.x) = make_float4(lane.c[0], lane.c[1], lane.c[2], lane.c[3]);
  } else {
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      if (columns.x + j < columns.nx) row[columns.x + j] = lane.c[j];
  }
}

/// A row on its way: after so many of the steps.
struct Row {
  Lane u, v, extrapolated, p[kEdges];
};

/// What a step keeps of the row above.
struct Above {
  Lane inflow = {};  // sum of weight p over the edges that come from there
  float right = 0;   // extrapolated v right of the lane, of the row that was below
};

/// The row one step further; `below` is the extrapolated v of the row below before the step.
__device__ Row advanced(const Row& row, const Lane& below, bool last, Above& above, const Columns& columns,
                        const Edges& edges, const PlaneStep& step) {
  const float left_below = from_left(below.c[kColumns - 1]), right_below = from_right(below.c[0]);
  const float right = above.right;
  above.right = right_below;
  Row out;
  out.u = row.u;
  const float sigma[kEdges] = {step.sigma * edges.edge[0].weight, step.sigma * edges.edge[1].weight,
                               step.sigma * edges.edge[2].weight, step.sigma * edges.edge[3].weight};
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    const float here = row.extrapolated.c[j];
    const float there[kEdges] = {j + 1 < kColumns ? row.extrapolated.c[(j + 1) % kColumns] : right,
                                 j > 0 ? below.c[(j + kColumns - 1) % kColumns] : left_below, below.c[j],
                                 j + 1 < kColumns ? below.c[(j + 1) % kColumns] : right_below};
    const float most[kEdges] = {columns.right[j + 1], columns.right[j], columns.down[j],
                                columns.right[j + 1]};
#pragma unroll
    for (int e = 0; e < kEdges; ++e) {
      const float next = row.p[e].c[j] + sigma[e] * (there[e] - here);
      out.p[e].c[j] = fminf(fmaxf(next, -most[e]), most[e]);
    }
  }
  if (last)  // of the image: nothing goes down
#pragma unroll
    for (int e = 1; e < kEdges; ++e) out.p[e] = {};
  const float from = from_left(out.p[0].c[kColumns - 1]);
  const float down_right = from_left(out.p[3].c[kColumns - 1]), down_left = from_right(out.p[1].c[0]);
  const float w0 = edges.edge[0].weight, w1 = edges.edge[1].weight, w2 = edges.edge[2].weight,
              w3 = edges.edge[3].weight;
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    const float outflow = w1 * out.p[1].c[j] + w2 * out.p[2].c[j] + w3 * out.p[3].c[j];
    const float across = w0 * (out.p[0].c[j] - (j > 0 ? out.p[0].c[(j + kColumns - 1) % kColumns] : from));
    const float target = row.u.c[j] + across + (outflow - above.inflow.c[j]);
    const float before = row.v.c[j], next = (before + step.tau * target) * step.scale;
    out.v.c[j] = next;
    out.extrapolated.c[j] = next + step.theta * (next - before);
    above.inflow.c[j] = w1 * (j + 1 < kColumns ? out.p[1].c[(j + 1) % kColumns] : down_left) +
                        w2 * out.p[2].c[j] +
                        w3 * (j > 0 ? out.p[3].c[(j + kColumns - 1) % kColumns] : down_right);
  }
  return out;
}

}  // namespace

/// p, v and its extrapolation after kSteps iterations. Launch: grid (strips of kKept columns and `rows` rows,
/// over kWarps); block (kThreads). A warp without a strip ends at once.
template <int kSteps, bool kAligned>
__global__ void __launch_bounds__(kThreads, kResident<kSteps>)
    convex_plane(const float* __restrict__ image,         // [ny, nx]
                 const float* __restrict__ v,             // [ny, nx]
                 const float* __restrict__ extrapolated,  // [ny, nx]
                 const float* __restrict__ duals,         // [kEdges, ny, nx]
                 float* __restrict__ v_out, float* __restrict__ extrapolated_out,
                 float* __restrict__ duals_out, const Edges edges, const PlaneSteps steps, const float lambda,
                 const int nx, const int ny, const int rows) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  const int strips = (nx + kKept - 1) / kKept;
  const int strip = static_cast<int>(blockIdx.x * kWarps + threadIdx.x / kWarp);
  const int first = strip / strips * rows, end = min(first + rows, ny);  // rows that this warp writes
  if (first >= ny) return;
  Columns columns{strip % strips * kKept + (lane - 1) * kColumns, nx, {}, {}};
  const auto in = [&](int j) { return columns.x + j >= 0 && columns.x + j < nx; };
#pragma unroll
  for (int j = 0; j < kColumns; ++j) columns.down[j] = in(j) ? lambda : 0.0F;
#pragma unroll
  for (int j = 0; j <= kColumns; ++j) columns.right[j] = in(j - 1) && in(j) ? lambda : 0.0F;
  const bool writes = lane > 0 && lane < kWarp - 1 && columns.x < nx;
  const std::int64_t pixels = static_cast<std::int64_t>(nx) * ny;

  const auto row_of = [&](int y) { return static_cast<std::int64_t>(min(y, ny - 1)) * nx; };
  const auto row_from = [&](int y, const Lane& own) {
    const std::int64_t at = row_of(y);
    Row out;
    out.u = load<kAligned>(image + at, columns), out.v = load<kAligned>(v + at, columns);
    out.extrapolated = own;
#pragma unroll
    for (int e = 0; e < kEdges; ++e) out.p[e] = load<kAligned>(duals + e * pixels + at, columns);
    return out;
  };

  // Row y is in its first step while row y - k is in step k + 1. The walk begins kSteps rows above its own:
  // of the first row after a step only p is right, as what comes from above is missing, and of the next one
  // all is; so each step costs a row.
  const int top = max(first - kSteps, 0);
  Above above[kSteps];
  Row stage[kSteps];  // stage[k]: the row that waits for step k + 1
  Lane below = load<kAligned>(extrapolated + row_of(top + 1), columns);
  stage[0] = row_from(top, load<kAligned>(extrapolated + row_of(top), columns));
#pragma unroll
  for (int k = 1; k < kSteps; ++k) stage[k] = {};
  above[0].right = from_right(stage[0].extrapolated.c[0]);
#pragma unroll 1
  for (int y = top; y < end + kSteps - 1; ++y) {
    // On its way while this row is computed.
    const Row ahead = row_from(y + 1, below);
    const Lane below_ahead = load<kAligned>(extrapolated + row_of(y + 2), columns);
    Row row = advanced(stage[0], below, y >= ny - 1, above[0], columns, edges, steps.step[0]);
#pragma unroll
    for (int k = 1; k < kSteps; ++k) {
      const bool last = y - k >= ny - 1 || y - k < 0;  // the first row begins without one above
      const Row next = advanced(stage[k], row.extrapolated, last, above[k], columns, edges, steps.step[k]);
      stage[k] = row;
      row = next;
    }
    stage[0] = ahead, below = below_ahead;
    if (const int done = y - (kSteps - 1); done >= first && done < end && writes) {
      const std::int64_t at = static_cast<std::int64_t>(done) * nx;
      store<kAligned>(v_out + at, columns, row.v);
      store<kAligned>(extrapolated_out + at, columns, row.extrapolated);
#pragma unroll
      for (int e = 0; e < kEdges; ++e) store<kAligned>(duals_out + e * pixels + at, columns, row.p[e]);
    }
  }
}

namespace {

using Kernel = void (*)(const float*, const float*, const float*, const float*, float*, float*, float*, Edges,
                        PlaneSteps, float, int, int, int);

Kernel kernel_of(int steps, bool aligned) {
  if (steps == 1) return aligned ? convex_plane<1, true> : convex_plane<1, false>;
  if (steps == 4) return aligned ? convex_plane<4, true> : convex_plane<4, false>;
  return aligned ? convex_plane<2, true> : convex_plane<2, false>;
}

}  // namespace

cudaError_t convex_plane_rows(int steps, ConvexShape shape, int& rows) {
  const Kernel kernel = kernel_of(steps, shape.nx % kColumns == 0);
  constexpr int kFewest = 8;
  int device = 0, multiprocessors = 0, resident = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kThreads, 0);
  if (error != cudaSuccess) return error;
  const int strips = (shape.nx + kKept - 1) / kKept;
  const int parts = std::max(1, multiprocessors * resident * kWarps / strips);
  rows = std::max(kFewest, (shape.ny + parts - 1) / parts);
  return cudaSuccess;
}

cudaError_t launch_convex_plane(ConvexBuffers& b, const Edges& edges, ConvexShape shape,
                                const PlaneSteps& steps, float lambda, int rows, cudaStream_t stream) {
  const Kernel kernel = kernel_of(steps.count, shape.nx % kColumns == 0);
  const std::int64_t strips = (shape.nx + kKept - 1) / kKept;
  const std::int64_t warps = strips * ((shape.ny + rows - 1) / rows);
  const auto blocks = static_cast<unsigned>((warps + kWarps - 1) / kWarps);
  kernel<<<blocks, kThreads, 0, stream>>>(b.image, b.v, b.extrapolated, b.p, b.other_v, b.other_extrapolated,
                                          b.other_p, edges, steps, lambda, shape.nx, shape.ny, rows);
  std::swap(b.v, b.other_v);
  std::swap(b.extrapolated, b.other_extrapolated);
  std::swap(b.p, b.other_p);
  return cudaPeekAtLastError();
}

}  // namespace warploom::imaging
