#include "imaging/segment_convex_rows.hpp"

#include <algorithm>

namespace warploom::imaging {
namespace {

// So many voxels are taken at a time: their sums stay in the first cache.
constexpr std::int64_t kPart = 512;

// sum = u + div p for [from, from + count).
void add_divergence(const PrimalRow& row, std::int64_t from, std::int64_t count, float* sum) {
  for (std::int64_t x = 0; x < count; ++x) sum[x] = row.image[from + x];
  for (int e = 0; e < row.edges; ++e) {
    const float* __restrict__ out = row.from_here[e] + from;
    const float* __restrict__ in = row.to_here[e] + from;
    const float weight = row.weight[e];
#pragma omp simd
    for (std::int64_t x = 0; x < count; ++x) sum[x] += weight * (out[x] - in[x]);
  }
}

}  // namespace

namespace WARPLOOM_INSTRUCTION_SET {

void update_dual_row(const DualRow& row) {
  float* __restrict__ p = row.p;
  const float *here = row.here, *there = row.there;
  const float step = row.step, limit = row.limit;
  if (row.here_counts == nullptr) {
#pragma omp simd
    for (std::int64_t x = 0; x < row.count; ++x) {
      const float next = p[x] + step * (there[x] - here[x]);
      p[x] = std::min(std::max(next, -limit), limit);
    }
    return;
  }
  const float *a = row.here_counts, *b = row.there_counts;
#pragma omp simd
  for (std::int64_t x = 0; x < row.count; ++x) {
    const float most = limit * a[x] * b[x];
    const float next = p[x] + step * (there[x] - here[x]);
    p[x] = std::min(std::max(next, -most), most);
  }
}

void update_primal_row(const PrimalRow& row) {
  float target[kPart];
  const float scale = 1 / (1 + row.tau), tau = row.tau, theta = row.theta;
  for (std::int64_t from = 0; from < row.nx; from += kPart) {
    const std::int64_t count = std::min(kPart, row.nx - from);
    add_divergence(row, from, count, target);
    float* __restrict__ v = row.v + from;
    float* __restrict__ extrapolated = row.extrapolated + from;
#pragma omp simd
    for (std::int64_t x = 0; x < count; ++x) {
      const float before = v[x], next = (before + tau * target[x]) * scale;
      v[x] = next;
      extrapolated[x] = next + theta * (next - before);
    }
  }
}

double count_cuts(const DualRow& row) {
  const float *here = row.here, *there = row.there, level = row.limit;
  float cuts = 0;  // whole numbers, below 2^24 in a row
  if (row.here_counts == nullptr) {
#pragma omp simd reduction(+ : cuts)
    for (std::int64_t x = 0; x < row.count; ++x)
      cuts += (here[x] > level) != (there[x] > level) ? 1.0F : 0.0F;
    return double(cuts);
  }
  const float *a = row.here_counts, *b = row.there_counts;
#pragma omp simd reduction(+ : cuts)
  for (std::int64_t x = 0; x < row.count; ++x)
    cuts += (here[x] > level) != (there[x] > level) ? a[x] * b[x] : 0.0F;
  return double(cuts);
}

double row_excess(const PrimalRow& row, float threshold, const float* counts) {
  float target[kPart];
  double total = 0;
  for (std::int64_t from = 0; from < row.nx; from += kPart) {
    const std::int64_t count = std::min(kPart, row.nx - from);
    add_divergence(row, from, count, target);
    // In double: the gap is a small difference of such sums.
    if (counts == nullptr) {
#pragma omp simd reduction(+ : total)
      for (std::int64_t x = 0; x < count; ++x) total += double(std::max(target[x] - threshold, 0.0F));
    } else {
      const float* c = counts + from;
#pragma omp simd reduction(+ : total)
      for (std::int64_t x = 0; x < count; ++x) total += double(c[x] * std::max(target[x] - threshold, 0.0F));
    }
  }
  return total;
}

}  // namespace WARPLOOM_INSTRUCTION_SET
}  // namespace warploom::imaging
