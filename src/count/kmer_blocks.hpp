#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "count/kmer_word.hpp"

/// Blocks of a database (docs/design/0016-kmers.md): sorted words as differences, and their counts, both in
/// Rice's code with the parameter that is best for the block.
namespace warploom::table {

template <class W>
struct KmerOf {
  W word = 0;
  std::uint64_t count = 0;
};

inline constexpr std::size_t kBlockWords = 4096;
/// Of the code: a quotient of so many zeros says that the number follows as it is.
inline constexpr int kEscape = 24;
/// Behind a block's bytes, which a reader may touch.
inline constexpr std::size_t kBlockPadding = 64;

/// Appends bits to bytes, from the lowest bit of each on.
class BitWriter {
 public:
  explicit BitWriter(std::string& bytes) : bytes_(bytes) {}

  void put(std::uint64_t value, int bits) {
    waiting_ |= value << used_;
    if (used_ + bits < 64) {
      used_ += bits;
      return;
    }
    flush(8);
    waiting_ = used_ == 0 ? 0 : value >> (64 - used_);
    used_ += bits - 64;
  }
  void finish() {
    flush(static_cast<std::size_t>(used_ + 7) / 8);
    waiting_ = 0;
    used_ = 0;
  }

 private:
  void flush(std::size_t count) { bytes_.append(reinterpret_cast<const char*>(&waiting_), count); }

  std::string& bytes_;
  std::uint64_t waiting_ = 0;
  int used_ = 0;
};

class BitReader {
 public:
  explicit BitReader(const char* bytes) : bytes_(bytes) {}

  /// 57 bits at least, those behind the end anything.
  std::uint64_t peek() const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes_ + at_ / 8, sizeof bits);
    return bits >> (at_ % 8);
  }
  void skip(int bits) { at_ += static_cast<std::size_t>(bits); }
  std::uint64_t get(int bits) {
    std::uint64_t value = peek();
    if (bits > 57) {
      value &= (std::uint64_t{1} << 32) - 1;
      skip(32);
      return value | get(bits - 32) << 32;
    }
    skip(bits);
    return value & ((std::uint64_t{1} << bits) - 1);
  }
  std::size_t bytes() const { return (at_ + 7) / 8; }

 private:
  const char* bytes_;
  std::size_t at_ = 0;
};

template <class V>
void put_wide(BitWriter& bits, V value, int width) {
  if constexpr (sizeof(V) > 8)
    if (width > 64) {
      bits.put(static_cast<std::uint64_t>(value), 64);
      bits.put(static_cast<std::uint64_t>(value >> 64), width - 64);
      return;
    }
  if (width > 0) bits.put(static_cast<std::uint64_t>(value), width);
}

template <class V>
V get_wide(BitReader& bits, int width) {
  if constexpr (sizeof(V) > 8)
    if (width > 64) {
      const V low = bits.get(64);
      return low | V{bits.get(width - 64)} << 64;
    }
  return width > 0 ? bits.get(width) : 0;
}

/// @param width  bits of the largest value that there may be
template <class V>
void put_rice(BitWriter& bits, V value, int parameter, int width) {
  const V quotient = value >> parameter;
  if (quotient >= kEscape) {
    bits.put(0, kEscape);
    put_wide(bits, value, width);
    return;
  }
  const int zeros = static_cast<int>(quotient);
  bits.put(std::uint64_t{1} << zeros, zeros + 1);
  put_wide(bits, value & ((V{1} << parameter) - 1), parameter);
}

template <class V>
V get_rice(BitReader& bits, int parameter, int width) {
  const int zeros = std::countr_zero(bits.peek() | std::uint64_t{1} << kEscape);
  if (zeros == kEscape) {
    bits.skip(kEscape);
    return get_wide<V>(bits, width);
  }
  bits.skip(zeros + 1);
  return V{static_cast<unsigned>(zeros)} << parameter | get_wide<V>(bits, parameter);
}

/// Of parameters around that of the mean, the one that takes the fewest bits.
template <class V, class Value>
int best_parameter(std::size_t count, V sum, int width, const Value& value) {
  if (count == 0) return 0;
  int size = 0;
  for (V mean = sum / count; mean > 0; mean >>= 1) ++size;
  int best = 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (int parameter = std::max(0, size - 3); parameter <= std::min(size, width - 1); ++parameter) {
    std::uint64_t cost = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const V quotient = value(k) >> parameter;
      cost += quotient >= kEscape
                  ? static_cast<std::uint64_t>(kEscape + width)
                  : static_cast<std::uint64_t>(quotient) + 1 + static_cast<unsigned>(parameter);
    }
    if (cost < least) {
      least = cost;
      best = parameter;
    }
  }
  return best;
}

/// Appends a block of words, the least first, of 2k = `width` bits; at least one.
template <class W>
void encode_block(std::span<const KmerOf<W>> words, int width, std::string& bytes) {
  const auto difference = [&](std::size_t k) { return words[k + 1].word - words[k].word - 1; };
  const auto count = [&](std::size_t k) { return words[k].count - 1; };
  std::uint64_t counts = 0;
  for (const KmerOf<W>& word : words)
    counts += std::min<std::uint64_t>(word.count - 1, ~std::uint64_t{0} / kBlockWords);
  const int of_words =
      best_parameter<W>(words.size() - 1, words.back().word - words.front().word, width, difference);
  const int of_counts = best_parameter<std::uint64_t>(words.size(), counts, 64, count);
  bytes += static_cast<char>(of_words);
  bytes += static_cast<char>(of_counts);
  BitWriter bits(bytes);
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (k > 0) put_rice<W>(bits, difference(k - 1), of_words, width);
    put_rice<std::uint64_t>(bits, count(k), of_counts, 64);
  }
  bits.finish();
}

/// @param bytes  of the block, kBlockPadding behind them
/// @return false where they are not those of `count` words
template <class W>
bool decode_block(std::span<const char> bytes, W first, std::size_t count, int width,
                  std::vector<KmerOf<W>>& words) {
  words.resize(count);
  if (bytes.size() < 2) return false;
  const int of_words = static_cast<unsigned char>(bytes[0]), of_counts = static_cast<unsigned char>(bytes[1]);
  if (of_words >= width || of_counts >= 64) return false;
  const W most = static_cast<W>(width == sizeof(W) * 8 ? ~W{0} : (W{1} << width) - 1);
  BitReader bits(bytes.data() + 2);
  W word = first;
  for (std::size_t k = 0; k < count; ++k) {
    if (k > 0) {
      const W more = get_rice<W>(bits, of_words, width);
      if (word >= most || more > most - word - 1) return false;
      word += more + 1;
    }
    const std::uint64_t less = get_rice<std::uint64_t>(bits, of_counts, 64);
    if (bits.bytes() > bytes.size() - 2 || less == ~std::uint64_t{0}) return false;
    words[k] = {word, less + 1};
  }
  return bits.bytes() == bytes.size() - 2;
}

}  // namespace warploom::table
