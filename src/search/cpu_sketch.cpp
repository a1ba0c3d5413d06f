#include "search/cpu_sketch.hpp"

#include "search/cpu_vector.hpp"

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

constexpr int kParts = CpuSketch::kParts;
constexpr std::int64_t kPad = 4 * kParts;

/// Sums of [k, k + kParts) at each k, by doubling what is known; in place.
void slide(float* sums, std::int64_t count) {
  for (std::int64_t known = 1; known < kParts; known *= 2)
    for (std::int64_t k = 0; k < count + kParts; k += kLanes)
      store(sums + k, load(sums + k) + load(sums + k + known));
}

void add_likeness(const float* samples, std::int64_t windows, std::int64_t length, const float* query,
                  float* memory, float* to) {
  const std::int64_t parts = windows + kParts - 1;
  float *const sums = memory, *const squares = sums + windows + kPad,
               *const all_sums = squares + windows + kPad;
  // Sums of squares lose fewer digits beside a sample than beside 0.
  const float base = samples[0] - samples[0] == 0 ? samples[0] : 0;
  for (std::int64_t k = 0; k < parts; ++k) {
    float sum = 0, square = 0;
    for (std::int64_t t = k * length; t < (k + 1) * length; ++t) {
      const float x = samples[t] - base;
      sum += x;
      square = x * x + square;
    }
    sums[k] = all_sums[k] = sum;
    squares[k] = square;
  }
  for (std::int64_t k = parts; k < windows + kPad; ++k) sums[k] = all_sums[k] = squares[k] = 0;
  slide(squares, windows);
  slide(all_sums, windows);
  const Vector share = all(1 / static_cast<float>(kParts * length)), least = all(1e-6F);
  constexpr int kOnce = 4;  // vectors
  for (std::int64_t k = 0; k < windows; k += kOnce * kLanes) {
    Vector product[kOnce] = {};
    for (int part = 0; part < kParts; ++part) {
      const Vector q = all(query[part]);
#pragma GCC unroll 4
      for (int v = 0; v < kOnce; ++v) product[v] += q * load(sums + k + v * kLanes + part);
    }
    for (int v = 0; v < kOnce && k + v * kLanes < windows; ++v) {
      const std::int64_t at = k + v * kLanes;
      const Vector sum = load(all_sums + at), square = load(squares + at);
      const Vector variance = (square - sum * sum * share) * share;
      Vector deviation;
      for (int l = 0; l < kLanes; ++l) deviation[l] = __builtin_sqrtf(variance[l]);
      // Not where anything is not a number.
      const Vector likeness = product[v] / deviation;
      const Mask known = (variance > least * square * share) & (likeness - likeness == Vector{});
      store(to + at, load(to + at) + (known ? likeness : Vector{}));
    }
  }
}

}  // namespace

extern const CpuSketch cpu_sketch;
const CpuSketch cpu_sketch = {add_likeness};

}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET
