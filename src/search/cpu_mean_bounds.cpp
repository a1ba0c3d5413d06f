// Compiled for several instruction sets: see cpu_vector.hpp for what that asks for.
#include "search/cpu_mean_bounds.hpp"

#include "search/cpu_vector.hpp"

namespace warploom::search::WARPLOOM_INSTRUCTION_SET {
namespace {

// What rounding takes from a distance is less: of a normalised sample, and of a logarithm.
constexpr float kWider = 1e-3F, kSurely = 4e-3F;
// Of squares: less counts as no distance, whose logarithm is less than that of any that counts.
constexpr float kNearest = 1e-14F, kNothing = -100;

/// The logarithm of base 2 of a positive number, within 2e-4: its exponent, and a polynomial for the rest.
inline Vector logarithm(const Vector& x) {
  Mask word;
  __builtin_memcpy(&word, &x, sizeof word);
  const Mask exponent = (word >> 23) - 127, rest = (word & 0x7FFFFF) | 0x3F800000;
  Vector m;
  __builtin_memcpy(&m, &rest, sizeof m);
  return __builtin_convertvector(exponent, Vector) +
         ((((-0.0800109F * m + 0.6355112F) * m - 2.0994023F) * m + 4.0496169F) * m - 2.5056147F);
}

/// 2^x, less at most a ten-thousandth: 0 below 2^-120, infinite of infinity.
inline Vector least_power(const Vector& x) {
  constexpr float kLeast = -120, kMost = 120;
  const Vector bounded = greater(lesser(x, all(kMost)), all(kLeast));
  const Mask whole = __builtin_convertvector(bounded + 128.F, Mask) - 128;  // rounded down
  const Vector rest = bounded - __builtin_convertvector(whole, Vector);
  const Mask exponent = (whole + 127) << 23;
  Vector power;
  __builtin_memcpy(&power, &exponent, sizeof power);
  // A polynomial for 2^[0, 1], within 5e-6 of it.
  const Vector of_rest =
      1.0000035F + rest * (0.6929729F + rest * (0.24160436F + rest * (0.051744998F + rest * 0.013670309F)));
  const Vector least = power * (of_rest - 2e-5F);
  return x < kLeast ? Vector{} : x < kMost ? least : all(kInfinity);
}

/// What is never more than the mean over samples of the squares of differences, of windows side by side.
template <class Load>
Vector least_squares(const MeanEnvelope& query, const Normalizer& normalized, const Load& sample) {
  Vector sums[2] = {};
  const auto add = [&](Vector& sum, std::int64_t j) {
    const Vector x = normalized(sample(j));
    const Vector beyond = greater(greater(x - query.upper[j], query.lower[j] - x), all(kWider)) - kWider;
    sum = beyond * beyond + sum;
  };
  std::int64_t j = 0;
  for (; j + 2 <= query.length; j += 2) {
    add(sums[0], j);
    add(sums[1], j + 1);
  }
  if (j < query.length) add(sums[0], j);
  return (sums[0] + sums[1]) * (1 / static_cast<float>(query.length));
}

void logarithms(const MeanEnvelope& query, const float* samples, std::int64_t present,
                const LaneMoments& moments, std::int64_t count, float* to, float* sum) {
  constexpr float kLargestRatio = 1e4F, kFarthest = 1e9F, kLargestSize = 1024.F * 1024.F;
  for (std::int64_t w = 0; w < count; w += kLanes) {
    const Vector scale = load(moments.scale + w);
    const Normalizer normalized({moments.mean + w, moments.rest + w, moments.scale + w});
    const float* const first = samples + w;
    const std::int64_t left = present - w;
    const Vector squares =
        query.place[query.length - 1] + kLanes <= left
            ? least_squares(query, normalized, [&](std::int64_t j) { return load(first + query.place[j]); })
            : least_squares(query, normalized, [&](std::int64_t j) {
                Vector some{};
                for (int l = 0; l < kLanes && l + query.place[j] < left; ++l)
                  some[l] = first[l + query.place[j]];
                return some;
              });
    // Deviations of the query over the window's; how far levels are apart, in the query's.
    const Vector u = lesser(scale * query.deviation, all(kLargestRatio)), uu = u * u;
    const Vector far = ((load(moments.mean + w) - query.mean) + (load(moments.rest + w) - query.rest)) *
                       (1 / query.deviation);
    const Vector away = greater(lesser(far, all(kFarthest)), all(-kFarthest));
    const Vector size = lesser((1 + uu) * (1 + uu) / (4 * uu), all(kLargestSize));
    const Vector levels = 1 + away * away * uu / (query.squares * uu + 1);
    const Vector least = logarithm(squares * squares) + logarithm(size * levels) - kSurely;
    const Vector bound = scale == scale ? squares > kNearest ? least : all(kNothing) : all(kInfinity);
    store(to + w, bound);
    store(sum + w, load(sum + w) + bound);
  }
}

void put_in(const float* distances, const float* before, float share, float* sum, float* keys) {
  constexpr float kLeast = 1e-7F, kRounding = 2e-3F;  // of a sum of logarithms
  const Vector distance = lesser(greater(load(distances), all(kLeast)), all(1e30F)), key = load(keys);
  const Vector logarithms = load(sum) + (4 * logarithm(distance) - load(before) - kRounding);
  store(sum, logarithms);
  store(keys, key < kInfinity ? greater(key, least_power(share * logarithms)) : key);
}

void powers(const float* logarithms, float share, std::int64_t count, float* to) {
  for (std::int64_t w = 0; w < count; w += kLanes) store(to + w, least_power(share * load(logarithms + w)));
}

}  // namespace

extern const CpuMeanBounds cpu_mean_bounds;
const CpuMeanBounds cpu_mean_bounds = {logarithms, put_in, powers};

}  // namespace warploom::search::WARPLOOM_INSTRUCTION_SET
