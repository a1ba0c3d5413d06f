#pragma once

/// Which chain a key belongs to: one of n tables of m buckets each, PH[n] of the dissertation's section 4.5.

#include <cstdint>
#include <string_view>

#include "warploom/core/host_device.hpp"
#include "warploom/table/line.hpp"

namespace warploom::table {

/// `mix` is ours (every bit of the key moves every bit of the result). The others are the dissertation's (its
/// Table 6) over the key's bytes, four of a 32-bit key or eight, least significant first, in 32 bits:
/// DEK  h = (h << 5 ^ h >> 27) ^ byte, from h = the number of bytes (Knuth)
/// SDBM h = byte + (h << 6) + (h << 16) - h
/// PJW  h = (h << 4) + byte; its top four bits are folded back: h ^= top >> 24, cleared (Weinberger)
enum class Hash : std::uint8_t { mix, dek, sdbm, pjw };
Hash parse_hash(std::string_view text);
std::string_view name(Hash hash);

/// TA, the function that chooses the table. `mix` is independent of every Hash. `decimal` is the
/// dissertation's, k * 10^6 mod n of a key in [0, 1): keys are quantised as q = floor(k * 2^32), so that TA =
/// floor(q * 10^6 / 2^32) mod n. On keys that are no fractions it is the same formula of the key's upper 32
/// bits.
enum class Assignment : std::uint8_t { mix, decimal };
Assignment parse_assignment(std::string_view text);
std::string_view name(Assignment assignment);

/// A 64-bit mixing function, bijective (MurmurHash3's finaliser)
WARPLOOM_HOST_DEVICE constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccd;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53;
  x ^= x >> 33;
  return x;
}

WARPLOOM_HOST_DEVICE constexpr std::uint32_t hash_bytes(Hash hash, std::uint64_t key, int bytes) {
  std::uint32_t h = hash == Hash::dek ? static_cast<std::uint32_t>(bytes) : 0;
  for (int i = 0; i < bytes; ++i, key >>= 8) {
    const auto byte = static_cast<std::uint32_t>(key & 0xFF);
    if (hash == Hash::dek) {
      h = ((h << 5) ^ (h >> 27)) ^ byte;
    } else if (hash == Hash::sdbm) {
      h = byte + (h << 6) + (h << 16) - h;
    } else {
      h = (h << 4) + byte;
      const std::uint32_t top = h & 0xF0000000;
      h = (h ^ (top >> 24)) & ~top;
    }
  }
  return h;
}

/// x in [0, 2^32) to [0, count), evenly and without a division
WARPLOOM_HOST_DEVICE constexpr std::uint32_t scaled(std::uint32_t x, std::uint32_t count) {
  return static_cast<std::uint32_t>((std::uint64_t{x} * count) >> 32);
}

/// n tables of m buckets. Bucket b of table t is number t m + b. User-given functions take the place of this
/// class wherever it is a template parameter: anything with home(key).
struct Placement {
  std::uint32_t tables = 1;   ///< n
  std::uint32_t buckets = 1;  ///< m
  Hash hash = Hash::mix;
  Assignment assignment = Assignment::mix;
  int key_bytes = 4;  ///< 4 or 8: how many bytes dek, sdbm and pjw read

  WARPLOOM_HOST_DEVICE constexpr std::uint32_t table(std::uint64_t key) const {
    if (tables == 1) return 0;
    if (assignment == Assignment::mix)
      return scaled(static_cast<std::uint32_t>(mix(key ^ 0x9e3779b97f4a7c15)), tables);
    const std::uint64_t q = key_bytes == 4 ? key : key >> 32;
    return static_cast<std::uint32_t>((q * 1000000) >> 32) % tables;
  }
  WARPLOOM_HOST_DEVICE constexpr std::uint32_t bucket(std::uint64_t key) const {
    if (hash == Hash::mix) return scaled(static_cast<std::uint32_t>(mix(key) >> 32), buckets);
    return hash_bytes(hash, key, key_bytes) % buckets;
  }
  WARPLOOM_HOST_DEVICE constexpr std::uint32_t home(std::uint64_t key) const {
    return table(key) * buckets + bucket(key);
  }
  /// tables * buckets, which is below 2^32
  WARPLOOM_HOST_DEVICE constexpr std::uint64_t chains() const { return std::uint64_t{tables} * buckets; }
};

}  // namespace warploom::table
