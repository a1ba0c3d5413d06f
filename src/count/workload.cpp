#include "warploom/count/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/doors.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::table {
namespace {

constexpr std::pair<Distribution, std::string_view> kNames[] = {{Distribution::uniform, "uniform"},
                                                                {Distribution::normal, "normal"},
                                                                {Distribution::half, "half"},
                                                                {Distribution::zipf, "zipf"}};
constexpr std::uint64_t kMostKeys = std::uint64_t{1} << 32;
/// Preloaded draws are operations that a stream never reaches.
constexpr std::uint64_t kPreloaded = std::uint64_t{1} << 63;
constexpr std::int64_t kChunk = 1 << 14;  // keys that a thread makes at a time

/// body(k) for k in [0, count), in chunks on all threads
template <class Body>
void for_each(std::size_t count, const Body& body) {
  const auto n = static_cast<std::int64_t>(count);
  parallel_for((n + kChunk - 1) / kChunk, [&](std::int64_t chunk) {
    check_interrupt();
    const std::int64_t end = std::min(n, (chunk + 1) * kChunk);
    for (std::int64_t k = chunk * kChunk; k < end; ++k) body(static_cast<std::size_t>(k));
  });
}

}  // namespace

Distribution parse_distribution(std::string_view text) {
  for (const auto& [distribution, name] : kNames)
    if (text == name) return distribution;
  throw BadInput(fmt::format("distribution '{}': it is uniform, normal, half or zipf", text));
}

std::string_view name(Distribution distribution) {
  return at_enumerator(kNames, distribution, "the distribution").second;
}

Mix mix_of_find(int find) {
  if (find < 0 || find > 100)
    throw BadInput(fmt::format("{} per cent of finds: a share is between 0 and 100", find));
  return {.insert = (100 - find) / 2, .erase = (100 - find) / 2};
}

/// The random numbers of one operation, as many as it takes.
template <class Key>
struct Workload<Key>::Random {
  std::uint64_t seed, drawn = 0;
  std::uint64_t bits() { return splitmix64(seed, drawn++); }
  /// In [0, 1)
  double real() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
};

template <class Key>
Workload<Key>::Workload(WorkloadOptions options) : options_(std::move(options)) {
  const Mix mix = options_.mix;
  name(options_.distribution);
  if (mix.insert < 0 || mix.erase < 0 || mix.insert > 100 || mix.erase > 100 || mix.find() < 0)
    throw BadInput(fmt::format(
        "a mix of {} % insertions and {} % erasures, the rest finds: shares are between 0 and 100",
        mix.insert, mix.erase));
  if (options_.preload > kMostKeys)
    throw BadInput(fmt::format("a preload of {} pairs: at most 2^32", options_.preload));

  if (options_.distribution == Distribution::normal) {
    if (options_.normals.empty()) throw BadInput("a mixture of normal distributions has one part or more");
    double total = 0;
    for (const Normal& part : options_.normals) {
      // Below that draws between 0 and 1 would be waited for without end.
      if (!(part.mean >= 0 && part.mean <= 1) || !(part.deviation > 0 && part.deviation <= 1000) ||
          !(part.weight > 0 && part.weight <= 1e9))
        throw BadInput(
            fmt::format("a normal distribution of mean {}, standard deviation {} and weight {}: "
                        "means are in [0, 1], deviations above 0 and up to 1000, weights above 0",
                        part.mean, part.deviation, part.weight));
      total += part.weight;
    }
    for (Normal& part : options_.normals) part.weight /= total;
  }
  if (options_.distribution != Distribution::half && options_.distribution != Distribution::zipf) return;

  std::uint64_t& universe = options_.universe;
  if (universe == 0) universe = std::clamp<std::uint64_t>(2 * options_.preload, 1, kMostKeys);
  if (universe > kMostKeys || universe < options_.preload)
    throw BadInput(
        fmt::format("a universe of {} keys: at least as many as are preloaded, {}, and at most 2^32",
                    universe, options_.preload));
  if (options_.distribution == Distribution::half) return;
  if (options_.preload > (universe + 1) / 2)
    throw BadInput(fmt::format("a universe of {} keys: every second one can be preloaded, which are not {}",
                               universe, options_.preload));
  if (!(options_.exponent > 0 && options_.exponent <= 10))
    throw BadInput(fmt::format("Zipf's exponent {}: it is above 0 and at most 10", options_.exponent));
  first_integral_ = integral(1.5) - 1;  // 1^-exponent = 1
  last_integral_ = integral(static_cast<double>(universe) + 0.5);
  never_rejected_ = 2 - inverse_integral(integral(2.5) - std::pow(2, -options_.exponent));
}

template <class Key>
void Workload<Key>::preload(std::uint64_t first, std::span<Key> keys) const {
  if (first > options_.preload || keys.size() > options_.preload - first)
    throw BadInput(
        fmt::format("keys {} to {} of a preload of {}", first, first + keys.size(), options_.preload));
  for_each(keys.size(), [&](std::size_t k) {
    switch (options_.distribution) {
      case Distribution::half:
        keys[k] = key_of<Key>(first + k);
        break;
      case Distribution::zipf:
        keys[k] = key_of<Key>(2 * (first + k));
        break;
      default:
        keys[k] = key(splitmix64(options_.seed, kPreloaded + first + k));
    }
  });
}

template <class Key>
void Workload<Key>::operations(std::uint64_t first, std::span<Operation> operations,
                               std::span<Key> keys) const {
  if (!operations.empty() && operations.size() != keys.size())
    throw BadInput(fmt::format("{} operations with {} keys", operations.size(), keys.size()));
  for_each(keys.size(), [&](std::size_t k) {
    const std::uint64_t draw = splitmix64(options_.seed, first + k);
    keys[k] = key(draw);
    if (!operations.empty()) operations[k] = operation_of(draw, options_.mix);
  });
}

template <class Key>
Key Workload<Key>::key(std::uint64_t draw) const {
  if (options_.distribution == Distribution::half) return key_of<Key>(half_index(draw, options_.universe));
  // Numbers of an operation begin at a mixed draw: those of two operations are no parts of one sequence.
  Random random{mix(draw ^ options_.seed)};
  switch (options_.distribution) {
    case Distribution::normal: {
      const double x = normal(random);
      if constexpr (sizeof(Key) == 4) return static_cast<Key>(x * 0x1p32);
      return static_cast<Key>(x * 0x1p64);
    }
    case Distribution::zipf:
      return key_of<Key>(rank(random) - 1);
    default:
      return static_cast<Key>(random.bits() >> (64 - 8 * sizeof(Key)));
  }
}

/// Box and Muller's transformation in polar form (Marsaglia), of which both numbers are used.
template <class Key>
double Workload<Key>::normal(Random& random) const {
  double share = random.real();
  const Normal* part = &options_.normals.front();
  for (; part != &options_.normals.back() && share >= part->weight; ++part) share -= part->weight;
  while (true) {
    const double u = 2 * random.real() - 1, v = 2 * random.real() - 1, s = u * u + v * v;
    if (s >= 1 || s == 0) continue;
    const double scale = part->deviation * std::sqrt(-2 * std::log(s) / s);
    for (const double x : {part->mean + u * scale, part->mean + v * scale})
      if (x >= 0 && x < 1) return x;
  }
}

template <class Key>
double Workload<Key>::integral(double x) const {
  const double power = 1 - options_.exponent, logarithm = std::log(x);
  return power == 0 ? logarithm : std::expm1(power * logarithm) / power;
}

template <class Key>
double Workload<Key>::inverse_integral(double y) const {
  const double power = 1 - options_.exponent;
  return std::exp(power == 0 ? y : std::log1p(std::max(-1.0, power * y)) / power);
}

/// Rejection-inversion: W. Hormann and G. Derflinger, Rejection-inversion to generate variates from monotone
/// discrete distributions, ACM TOMACS 6(3), 1996. Exact but for the rounding of numbers of 53 bits.
template <class Key>
std::uint64_t Workload<Key>::rank(Random& random) const {
  const double last = static_cast<double>(options_.universe);
  while (true) {
    const double y = last_integral_ + random.real() * (first_integral_ - last_integral_);
    const double x = inverse_integral(y), k = std::clamp(std::floor(x + 0.5), 1.0, last);
    if (k - x <= never_rejected_ || y >= integral(k + 0.5) - std::pow(k, -options_.exponent))
      return static_cast<std::uint64_t>(k);
  }
}

template class Workload<std::uint32_t>;
template class Workload<std::uint64_t>;

}  // namespace warploom::table
