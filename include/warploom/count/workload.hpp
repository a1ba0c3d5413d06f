#pragma once

/// Streams of operations to measure tables with. Operation number n of a stream depends on the options and n
/// alone, so that any part can be made at any time, by any number of threads, on any device.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "warploom/core/host_device.hpp"
#include "warploom/table/hash.hpp"
#include "warploom/table/operation.hpp"

namespace warploom::table {

/// Keys of `uniform` and `normal` are numbers x in [0, 1), as the dissertation's, quantised as floor(x 2^32)
/// or floor(x 2^64); two draws are seldom the same, so that most insertions find no such key and most others
/// miss. `half` and `zipf` draw from a universe of which half is preloaded, so that, with as many insertions
/// as erasures, half of the updates succeed and half of the finds hit.
enum class Distribution : std::uint8_t {
  uniform,
  normal,  ///< or a mixture of normal distributions; what falls outside [0, 1) is drawn again
  half,    ///< key_of(index), every index of the universe equally likely
  zipf,    ///< key_of(rank - 1), ranks 1 to the universe with probability ~ rank^-exponent
};
/// @throws BadInput naming the four
Distribution parse_distribution(std::string_view text);
std::string_view name(Distribution distribution);

/// One part of a mixture.
struct Normal {
  double mean = 0.5;
  double deviation = 0.22360679774997896;  ///< > 0; the dissertation's variance of 0.05
  double weight = 1;                       ///< > 0, relative to the other parts'
};

/// Per cent of operations; the rest finds.
struct Mix {
  int insert = 33;
  int erase = 33;
  int find() const { return 100 - insert - erase; }
};
/// The dissertation's mixes: `find` per cent, and as many insertions as erasures. What is left of an odd rest
/// finds too: 33 gives 33, 33, 34. @throws BadInput (not in [0, 100])
Mix mix_of_find(int find);

struct WorkloadOptions {
  Distribution distribution = Distribution::half;
  std::vector<Normal> normals{Normal{}};  ///< of Distribution::normal
  double exponent = 0.99;                 ///< of zipf, in (0, 10]
  std::uint64_t preload = 262144;         ///< pairs put in before the first operation
  std::uint64_t universe = 0;  ///< of half and zipf, different keys, up to 2^32; 0: twice the preload
  Mix mix{};
  std::uint64_t seed = 2013;
};

/// Output number n, from 0, of the generator SplitMix64 started at `seed`
WARPLOOM_HOST_DEVICE constexpr std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// MurmurHash3's mixing function of 32 bits, bijective
WARPLOOM_HOST_DEVICE constexpr std::uint32_t mix32(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6b;
  x ^= x >> 13;
  x *= 0xc2b2ae35;
  x ^= x >> 16;
  return x;
}

/// The key of an index below 2^32. Different indices have different keys.
template <class Key>
WARPLOOM_HOST_DEVICE constexpr Key key_of(std::uint64_t index) {
  if constexpr (sizeof(Key) == 4) return mix32(static_cast<std::uint32_t>(index));
  return static_cast<Key>(mix(index));
}

/// Operation number n of `half`: bits 32 to 63 of splitmix64(seed, n) choose the index, the others the
/// operation.
WARPLOOM_HOST_DEVICE constexpr std::uint64_t half_index(std::uint64_t draw, std::uint64_t universe) {
  return ((draw >> 32) * universe) >> 32;
}
/// The operation, of every distribution
WARPLOOM_HOST_DEVICE constexpr Operation operation_of(std::uint64_t draw, Mix mix) {
  const int die = static_cast<int>(static_cast<std::uint32_t>(draw) % 100);
  return die < mix.insert               ? Operation::insert
         : die < mix.insert + mix.erase ? Operation::erase
                                        : Operation::find;
}

/// Key: std::uint32_t or std::uint64_t. Safe to use from several threads.
template <class Key>
class Workload {
 public:
  /// @throws BadInput (an option outside its range)
  explicit Workload(WorkloadOptions options);

  /// With the universe filled in
  const WorkloadOptions& options() const { return options_; }

  /// Keys number first, first + 1, ... of those to put in before: of `half` the indices themselves, 0 to
  /// preload - 1; of `zipf` ranks 1, 3, 5, ..., so that frequent keys are there and not there; of the others
  /// draws, a few of which may repeat.
  /// @throws BadInput (beyond the preload), Interrupted
  void preload(std::uint64_t first, std::span<Key> keys) const;

  /// Operations number first, first + 1, ..., below 2^63. `operations` is as long as `keys`, or empty.
  /// Cost: a key takes 5 ns (half, uniform) to 60 ns (normal, zipf) of one of threads().
  void operations(std::uint64_t first, std::span<Operation> operations, std::span<Key> keys) const;

 private:
  struct Random;
  Key key(std::uint64_t draw) const;  // of operation number n, from splitmix64(seed, n)
  double normal(Random& random) const;
  std::uint64_t rank(Random& random) const;
  double integral(double x) const;  // of x^-exponent
  double inverse_integral(double y) const;

  WorkloadOptions options_;
  // Rejection-inversion: the integrals at the ends of the ranks, and how far left of a rank nothing is
  // rejected.
  double first_integral_ = 0, last_integral_ = 0, never_rejected_ = 0;
};

extern template class Workload<std::uint32_t>;
extern template class Workload<std::uint64_t>;

}  // namespace warploom::table
