#include "registration/dct_lines.hpp"

namespace warploom::registration {
namespace {

constexpr float kRootOfHalf = 0.70710678118654752F;

// out row k = sum over j of matrix[k][j] in row j; rows of `in` are `in_step` apart, those of `out`
// `out_step`.
template <int kRows>
void multiply_rows(const float* matrix, std::int64_t columns, std::int64_t next_row, std::int64_t next_column,
                   const float* in, std::int64_t in_step, float* out, std::int64_t out_step) {
  float sum[kRows][kDctLines] = {};
  for (std::int64_t j = 0; j < columns; ++j) {
    const float* x = in + j * in_step * kDctLines;
    for (int k = 0; k < kRows; ++k) {
      const float m = matrix[k * next_row + j * next_column];
#pragma omp simd
      for (int w = 0; w < kDctLines; ++w) sum[k][w] += m * x[w];
    }
  }
  for (int k = 0; k < kRows; ++k)
    for (int w = 0; w < kDctLines; ++w) out[k * out_step * kDctLines + w] = sum[k][w];
}

/// The product with a square matrix, or with its transpose.
void multiply(const float* matrix, std::int64_t n, bool transposed, const float* in, std::int64_t in_step,
              float* out, std::int64_t out_step) {
  const std::int64_t next_row = transposed ? 1 : n, next_column = transposed ? n : 1;
  std::int64_t k = 0;
  for (; k + 4 <= n; k += 4)
    multiply_rows<4>(matrix + k * next_row, n, next_row, next_column, in, in_step,
                     out + k * out_step * kDctLines, out_step);
  for (; k < n; ++k)
    multiply_rows<1>(matrix + k * next_row, n, next_row, next_column, in, in_step,
                     out + k * out_step * kDctLines, out_step);
}

void forward(const DctPlan& plan, std::int64_t level, std::int64_t m, const float* x, float* out,
             std::int64_t step, float* scratch) {
  if (level == plan.halvings()) return multiply(plan.matrix(level), m, false, x, 1, out, step);
  const std::int64_t half = m / 2;
  float *sum = scratch, *difference = scratch + half * kDctLines;
  for (std::int64_t j = 0; j < half; ++j) {
    const float *a = x + j * kDctLines, *b = x + (m - 1 - j) * kDctLines;
#pragma omp simd
    for (int w = 0; w < kDctLines; ++w) {
      sum[j * kDctLines + w] = (a[w] + b[w]) * kRootOfHalf;
      difference[j * kDctLines + w] = (a[w] - b[w]) * kRootOfHalf;
    }
  }
  multiply(plan.matrix(level), half, false, difference, 1, out + step * kDctLines, 2 * step);
  forward(plan, level + 1, half, sum, out, 2 * step, difference);
}

void inverse(const DctPlan& plan, std::int64_t level, std::int64_t m, const float* in, std::int64_t step,
             float* x, float* scratch) {
  if (level == plan.halvings()) return multiply(plan.matrix(level), m, true, in, step, x, 1);
  const std::int64_t half = m / 2;
  float *sum = scratch, *difference = scratch + half * kDctLines, *rest = difference + half * kDctLines;
  inverse(plan, level + 1, half, in, 2 * step, sum, rest);
  multiply(plan.matrix(level), half, false, in + step * kDctLines, 2 * step, difference, 1);
  for (std::int64_t j = 0; j < half; ++j) {
    float *a = x + j * kDctLines, *b = x + (m - 1 - j) * kDctLines;
#pragma omp simd
    for (int w = 0; w < kDctLines; ++w) {
      const float s = sum[j * kDctLines + w], d = difference[j * kDctLines + w];
      a[w] = (s + d) * kRootOfHalf;
      b[w] = (s - d) * kRootOfHalf;
    }
  }
}

}  // namespace

namespace WARPLOOM_INSTRUCTION_SET {

void dct_forward(const DctPlan& plan, const float* in, float* out, float* scratch) {
  forward(plan, 0, plan.size(), in, out, 1, scratch);
}

void dct_inverse(const DctPlan& plan, const float* in, float* out, float* scratch) {
  inverse(plan, 0, plan.size(), in, 1, out, scratch);
}

}  // namespace WARPLOOM_INSTRUCTION_SET
}  // namespace warploom::registration
