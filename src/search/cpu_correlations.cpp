// Compiled for several instruction sets: see cpu_vector.hpp for what that asks for.
#include "search/cpu_correlations.hpp"

#include "search/cpu_vector.hpp"

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

constexpr int kVectors = kCorrelationParts / kLanes;

/// The sum of all parts: halves, quarters...
inline float sum_of(const Vector* parts) {
  float some[kCorrelationParts];
  for (int v = 0; v < kVectors; ++v) store(some + v * kLanes, parts[v]);
  for (int half = kCorrelationParts / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) some[k] += some[k + half];
  return some[0];
}

/// As sum_of(), of as many windows as a vector has lanes: each in its lane. A sample of the pattern is loaded
/// once for four windows.
inline Vector sums_of(const float* first, std::int64_t step, const float* pattern, std::int64_t length) {
  constexpr int kSome = 4;
  Vector sums[kLanes];
  for (int begin = 0; begin < kLanes; begin += kSome) {
    const float* const windows = first + begin * step;
    Vector parts[kSome][kVectors] = {};
    for (std::int64_t i = 0; i < length; i += kCorrelationParts)
      for (int v = 0; v < kVectors; ++v) {
        const Vector some = load(pattern + i + v * kLanes);
        for (int w = 0; w < kSome; ++w) parts[w][v] += some * load(windows + w * step + i + v * kLanes);
      }
    for (int w = 0; w < kSome; ++w) {
      for (int half = kVectors / 2; half > 0; half /= 2)
        for (int v = 0; v < half; ++v) parts[w][v] += parts[w][v + half];
      sums[begin + w] = parts[w][0];
    }
  }
  transpose(sums);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) sums[k] += sums[k + half];
  return sums[0];
}

void correlate(const float* samples, std::int64_t step, std::int64_t windows, const float* pattern,
               std::int64_t length, const float* scale, float* to) {
  std::int64_t first = 0;
  for (; first + kLanes <= windows; first += kLanes)
    store(to + first, load(scale + first) * sums_of(samples + first * step, step, pattern, length));
  for (std::int64_t w = first; w < windows; ++w) {
    const float* const window = samples + w * step;
    Vector parts[kVectors] = {};
    for (std::int64_t i = 0; i < length; i += kCorrelationParts)
      for (int v = 0; v < kVectors; ++v)
        parts[v] += load(pattern + i + v * kLanes) * load(window + i + v * kLanes);
    to[w] = scale[w] * sum_of(parts);
  }
}

/// Of a vector or a number: 4 r (q + r) / ((1 + r)^2 (q + r + d^2)), of deviations and levels over the
/// query's.
template <typename T>
inline T fourth_power_of_sizes(const T& ratio, const T& away, float squares) {
  const T r = ratio * ratio, q = squares + r;
  return 4 * r * q / ((1 + r) * (1 + r) * (q + away * away));
}

void weigh(const float* from, const float* means, const float* deviations, const QueryChannel& query,
           std::int64_t windows, float* to) {
  // Bounds keep powers finite; there nothing is alike.
  constexpr float kMost = 1e4F, kFarthest = 1e9F, kSquares = 1e18F;
  if (!(query.deviation > 0)) {
    for (std::int64_t w = 0; w < windows; ++w) to[w] = 0;
    return;
  }
  const float scale = 1 / query.deviation;
  const float whole = query.squares * scale * scale, squares = whole < kSquares ? whole : kSquares;
  std::int64_t w = 0;
  for (; w + kLanes <= windows; w += kLanes) {
    const Vector x = load(from + w), mean = load(means + w);
    const Vector ratio = lesser(load(deviations + w) * scale, all(kMost));
    const Vector far = ((x < 0 ? -mean : mean) - query.mean) * scale;
    const Vector away = greater(lesser(far, all(kFarthest)), all(-kFarthest));
    store(to + w, x * fourth_power_of_sizes(ratio, away, squares));
  }
  for (; w < windows; ++w) {
    const float stretch = deviations[w] * scale, ratio = stretch < kMost ? stretch : kMost;
    const float far = ((from[w] < 0 ? -means[w] : means[w]) - query.mean) * scale;
    const float nearer = far < kFarthest ? far : kFarthest, away = nearer > -kFarthest ? nearer : -kFarthest;
    to[w] = from[w] * fourth_power_of_sizes(ratio, away, squares);
  }
}

void add(float factor, const float* from, std::int64_t count, float* to) {
  std::int64_t w = 0;
  for (; w + kLanes <= count; w += kLanes) store(to + w, load(to + w) + factor * load(from + w));
  for (; w < count; ++w) to[w] += factor * from[w];
}

void add_weighted(float factor, const float* weight, const float* from, std::int64_t count, float* to) {
  std::int64_t w = 0;
  for (; w + kLanes <= count; w += kLanes)
    store(to + w, load(to + w) + factor * load(weight + w) * load(from + w));
  for (; w < count; ++w) to[w] += factor * weight[w] * from[w];
}

void largest(const float* from, bool absolute, std::int64_t count, float* to) {
  std::int64_t w = 0;
  for (; w + kLanes <= count; w += kLanes) {
    const Vector x = load(from + w);
    store(to + w, greater(absolute ? greater(x, -x) : x, load(to + w)));
  }
  for (; w < count; ++w) {
    const float x = absolute && from[w] < 0 ? -from[w] : from[w];
    if (x > to[w]) to[w] = x;
  }
}

float largest_left(const float* values, const float* costs, bool absolute, std::int64_t count,
                   std::int64_t rows) {
  Vector best{};
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t k = 0; k < count; k += kLanes) {
      const Vector x = load(values + row * count + k);
      best = greater((absolute ? greater(x, -x) : x) - load(costs + k), best);
    }
  float largest = 0;
  for (int l = 0; l < kLanes; ++l) largest = best[l] > largest ? best[l] : largest;
  return largest;
}

double eighth_powers(const float* values, std::int64_t count) {
  constexpr std::int64_t kBlock = 4096;  // of which floats hold the sum
  double sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += kBlock) {
    const std::int64_t end = begin + kBlock < count ? begin + kBlock : count;
    Vector parts[kVectors] = {};
    std::int64_t w = begin;
    for (; w + kCorrelationParts <= end; w += kCorrelationParts)
      for (int v = 0; v < kVectors; ++v) {
        Vector x = greater(load(values + w + v * kLanes), Vector{});
        x *= x;
        x *= x;
        parts[v] += x * x;
      }
    sum += sum_of(parts);
    for (; w < end; ++w) {
      float x = values[w] > 0 ? values[w] : 0;
      x *= x;
      x *= x;
      sum += x * x;
    }
  }
  return sum;
}

}  // namespace

extern const CpuCorrelations cpu_correlations;
const CpuCorrelations cpu_correlations = {correlate, weigh,        add,          add_weighted,
                                          largest,   largest_left, eighth_powers};

}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET
