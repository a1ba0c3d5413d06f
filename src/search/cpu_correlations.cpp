// Compiled for several instruction sets: see cpu_vector.hpp for what that asks for.
#include "search/cpu_correlations.hpp"

#include "search/cpu_vector.hpp"

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

constexpr int kVectors = kCorrelationParts / kLanes;

constexpr int kDoubles = kLanes / 2;
using Half [[gnu::vector_size(4 * kDoubles)]] = float;
using Doubles [[gnu::vector_size(8 * kDoubles)]] = double;
using DoublesMask [[gnu::vector_size(8 * kDoubles)]] = std::int64_t;

inline Doubles load_doubles(const float* from) {
  Half some;
  __builtin_memcpy(&some, from, sizeof some);
  return __builtin_convertvector(some, Doubles);
}

inline void store_floats(float* to, const Doubles& v) {
  const Half some = __builtin_convertvector(v, Half);
  __builtin_memcpy(to, &some, sizeof some);
}

inline Doubles root_of(const Doubles& x) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_pd(0xFF, x);  // of _mm512_sqrt_pd GCC 12 warns
#elif defined(__AVX2__)
  return _mm256_sqrt_pd(x);
#elif defined(__x86_64__)
  return _mm_sqrt_pd(x);
#else
  Doubles root;
  for (int l = 0; l < kDoubles; ++l) root[l] = __builtin_sqrt(x[l]);
  return root;
#endif
}

inline bool any(const DoublesMask& mask) {
#if defined(__AVX512F__)
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)) != 0;
#elif defined(__AVX2__)
  return _mm256_movemask_pd(reinterpret_cast<__m256d>(mask)) != 0;
#elif defined(__x86_64__)
  return _mm_movemask_pd(reinterpret_cast<__m128d>(mask)) != 0;
#else
  bool some = false;
  for (int l = 0; l < kDoubles; ++l) some = some || mask[l] != 0;
  return some;
#endif
}

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

void describe(const float* scale, const float* mean, std::int64_t length, std::int64_t windows,
              const WindowNumbers& to) {
  const auto samples = static_cast<float>(length);
  std::int64_t w = 0;
  for (; w + kLanes <= windows; w += kLanes) {
    const Vector x = load(scale + w), m = load(mean + w), deviation = x == 0 ? Vector{} : 1 / x;
    const Mask whole = x - x == 0;
    store(to.scales + w, whole ? x / samples : Vector{});
    store(to.deviations + w, deviation);
    store(to.there + w, whole ? deviation : Vector{});
    store(to.means + w, whole ? m : Vector{});
  }
  for (; w < windows; ++w) {
    const float x = scale[w], m = mean[w], deviation = x == 0 ? 0 : 1 / x;
    const bool whole = x - x == 0;
    to.scales[w] = whole ? x / samples : 0;
    to.deviations[w] = deviation;
    to.there[w] = whole ? deviation : 0;
    to.means[w] = whole ? m : 0;
  }
}

/// Of twice as many windows as lanes.
struct Two {
  Vector first, second;
};

/// The sum of parts kFirst, kFirst + kApart...: as sum_of() adds them, each part of samples 16 apart.
/// @param chunks  of 16 samples
template <int kFirst, int kApart>
inline Two sum_from(const float* samples, const float* pattern, std::int64_t chunks) {
  if constexpr (kApart == kCorrelationParts) {
    Two part{};
    for (std::int64_t i = 0; i < chunks; ++i) {
      const Vector some = all(pattern[i * kCorrelationParts + kFirst]);
      const float* const from = samples + i * kCorrelationParts + kFirst;
      part.first += some * load(from);
      part.second += some * load(from + kLanes);
    }
    return part;
  } else {
    const Two a = sum_from<kFirst, 2 * kApart>(samples, pattern, chunks);
    const Two b = sum_from<kFirst + kApart, 2 * kApart>(samples, pattern, chunks);
    return {a.first + b.first, a.second + b.second};
  }
}

/// correlate() of windows that begin a sample after each other.
/// @return windows done: whole vectors, two by two
template <int kChunks>
std::int64_t correlate_adjacent(const float* samples, std::int64_t windows, const float* pattern,
                                std::int64_t chunks, const float* scale, float* to) {
  std::int64_t first = 0;
  for (; first + 2 * kLanes <= windows; first += 2 * kLanes) {
    const Two sums = sum_from<0, 1>(samples + first, pattern, kChunks > 0 ? kChunks : chunks);
    store(to + first, load(scale + first) * sums.first);
    store(to + first + kLanes, load(scale + first + kLanes) * sums.second);
  }
  return first;
}

void correlate(const float* samples, std::int64_t step, std::int64_t windows, const float* pattern,
               std::int64_t length, const float* scale, float* to) {
  const std::int64_t chunks = length / kCorrelationParts;
  std::int64_t first = step > 1      ? 0
                       : chunks == 1 ? correlate_adjacent<1>(samples, windows, pattern, 1, scale, to)
                       : chunks == 2 ? correlate_adjacent<2>(samples, windows, pattern, 2, scale, to)
                                     : correlate_adjacent<0>(samples, windows, pattern, chunks, scale, to);
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

void add_all(const float* factor, const float* const* from, std::int64_t several, std::int64_t count,
             float* to) {
  constexpr int kSome = 4;  // vectors
  std::int64_t w = 0;
  for (; w + kSome * kLanes <= count; w += kSome * kLanes) {
    Vector sums[kSome];
    for (int v = 0; v < kSome; ++v) sums[v] = load(to + w + v * kLanes);
    for (std::int64_t k = 0; k < several; ++k)
      for (int v = 0; v < kSome; ++v) sums[v] = sums[v] + factor[k] * load(from[k] + w + v * kLanes);
    for (int v = 0; v < kSome; ++v) store(to + w + v * kLanes, sums[v]);
  }
  for (std::int64_t k = 0; k < several; ++k) add(factor[k], from[k] + w, count - w, to + w);
}

void add_axes(const CorrelatedAxis* axes, std::int64_t several, std::int64_t count, float* to) {
  std::int64_t w = 0;
  for (; w + kLanes <= count; w += kLanes) {
    Vector sum{};
    for (std::int64_t k = 0; k < several; ++k) {
      const CorrelatedAxis& axis = axes[k];
      sum = sum + axis.level_factor * load(axis.level + w);
      const Vector weight = load(axis.weight + w);
      for (int x = 0; x < 3; ++x) sum = sum + axis.factor[x] * weight * load(axis.from[x] + w);
    }
    store(to + w, sum);
  }
  for (; w < count; ++w) {
    float sum = 0;
    for (std::int64_t k = 0; k < several; ++k) {
      const CorrelatedAxis& axis = axes[k];
      sum += axis.level_factor * axis.level[w];
      for (int x = 0; x < 3; ++x) sum += axis.factor[x] * axis.weight[w] * axis.from[x][w];
    }
    to[w] = sum;
  }
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

/// The largest eigenvalue of a matrix of quaternions (B. K. P. Horn, J. Opt. Soc. Am. A 4, 1987): the largest
/// root of its characteristic polynomial, by Newton's steps from above (D. L. Theobald, Acta
/// Crystallographica A 61, 2005). @param m  sum over samples of query[x] * window[y], row x
inline Doubles likeness_between(const Doubles (&m)[9]) {
  Doubles squares{}, fourth{};
  for (const Doubles& x : m) squares += x * x;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      const Doubles x = m[a] * m[b] + m[3 + a] * m[3 + b] + m[6 + a] * m[6 + b];
      fourth += x * x;
    }
  const Doubles determinant = m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
                              m[2] * (m[3] * m[7] - m[4] * m[6]);
  const Doubles c2 = -2 * squares, c1 = -8 * determinant, c0 = 2 * fourth - squares * squares;
  // Of singular values a, b, c the root is a + b + c, c with the determinant's sign, and the square of ab +
  // bc + ca is (squares^2 - fourth) / 2 + 2 determinant * root. So this is no less than the root, and near
  // it: from the root of 3 squares steps are many where one axis says nearly all.
  const auto positive = [](const Doubles& x) { return x > 0 ? x : Doubles{}; };
  const Doubles pairs = positive((squares * squares - fourth) / 2);
  Doubles root = root_of(squares + 2 * root_of(pairs + 2 * positive(determinant) * root_of(3 * squares)));
  constexpr int kMost = 40;
  DoublesMask going = ~DoublesMask{};
  for (int step = 0; step < kMost; ++step) {
    const Doubles value = ((root * root + c2) * root + c1) * root + c0;
    const Doubles slope = (4 * root * root + 2 * c2) * root + c1;
    going &= (slope > 0) & (value >= 1e-6 * slope * root);
    if (!any(going)) break;
    root = going ? root - value / slope : root;
  }
  return root;
}

/// Of windows w and on.
inline Doubles best_turn(const CorrelatedSensor& sensor, std::int64_t w) {
  Doubles m[9];
  for (int x = 0; x < 3; ++x)
    for (int y = 0; y < 3; ++y)
      m[3 * x + y] = sensor.deviations[x] * load_doubles(sensor.axes[y] + w) *
                         load_doubles(sensor.correlations[3 * x + y] + w) +
                     sensor.level[x] * load_doubles(sensor.levels[y] + w);
  return likeness_between(m);
}

void add_best_turns(const CorrelatedSensor& sensor, std::int64_t count, float* to) {
  float some[kDoubles];
  std::int64_t w = 0;
  for (; w + kDoubles <= count; w += kDoubles) {
    store_floats(some, best_turn(sensor, w));
    for (int l = 0; l < kDoubles; ++l) to[w + l] += some[l];
  }
  if (w == count) return;
  float rest[15][kDoubles] = {};
  CorrelatedSensor of_rest = sensor;
  const auto take = [&](int k, const float*& from) {
    for (std::int64_t l = 0; l < count - w; ++l) rest[k][l] = from[w + l];
    from = rest[k];
  };
  for (int k = 0; k < 9; ++k) take(k, of_rest.correlations[k]);
  for (int y = 0; y < 3; ++y) {
    take(9 + y, of_rest.axes[y]);
    take(12 + y, of_rest.levels[y]);
  }
  store_floats(some, best_turn(of_rest, 0));
  for (std::int64_t l = 0; l < count - w; ++l) to[w + l] += some[l];
}

void weigh_sensor(const float* deviation, const float* mean, const SensorSizes& query, std::int64_t count,
                  float* weight, float* of_level) {
  const auto weigh_some = [&](const float* there, const float* mean_there, float* to, float* to_level) {
    const Doubles of_window = load_doubles(there), level_of_window = load_doubles(mean_there);
    Doubles factor = Doubles{} + 1;
    if (query.deviation != 0) {
      const Doubles u = root_of(query.deviation / of_window);
      const Doubles away = __builtin_sqrt(query.mean) - root_of(level_of_window);
      const Doubles size = (u + 1 / u) / 2;
      const Doubles level = 1 + away * away / (query.deviation + of_window + query.wander);
      const Doubles root = root_of(level);
      factor = size * root_of(size) * root * root_of(root);
    }
    Half both, sum;
    __builtin_memcpy(&both, there, sizeof both);
    __builtin_memcpy(&sum, mean_there, sizeof sum);
    both += sum;
    store_floats(to, 1 / factor);
    store_floats(to_level, root_of(__builtin_convertvector(both, Doubles) + query.wander));
  };
  std::int64_t w = 0;
  for (; w + kDoubles <= count; w += kDoubles) weigh_some(deviation + w, mean + w, weight + w, of_level + w);
  if (w < count) {
    float there[kDoubles], level[kDoubles], to[kDoubles], to_level[kDoubles];
    for (std::int64_t l = 0; l < kDoubles; ++l) {
      there[l] = w + l < count ? deviation[w + l] : 1;
      level[l] = w + l < count ? mean[w + l] : 0;
    }
    weigh_some(there, level, to, to_level);
    for (std::int64_t l = 0; w + l < count; ++l) {
      weight[w + l] = to[l];
      of_level[w + l] = to_level[l];
    }
  }
  for (w = 0; w < count; ++w) of_level[w] = weight[w] / of_level[w];
}

inline float largest_of(const Vector& v) {
  float some[kLanes];
  store(some, v);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) some[k] = some[k + half] > some[k] ? some[k + half] : some[k];
  return some[0];
}

void largest_left(const float* values, const float* costs, bool absolute, std::int64_t count,
                  std::int64_t rows, float* to) {
  for (std::int64_t row = 0; row < rows; ++row) {
    Vector best{};
    for (std::int64_t k = 0; k < count; k += kLanes) {
      const Vector x = load(values + row * count + k);
      best = greater((absolute ? greater(x, -x) : x) - load(costs + k), best);
    }
    to[row] = largest_of(best);
  }
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
const CpuCorrelations cpu_correlations = {describe, correlate,    weigh,          add,
                                          add_all,  add_axes,     add_best_turns, weigh_sensor,
                                          largest,  largest_left, eighth_powers};

}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET
