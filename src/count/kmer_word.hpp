#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace warploom::table {

/// What holds a word of up to 32 and of up to 64 bases, two bits each: A 0, C 1, G 2, T and U 3; the first
/// base in the highest bits, so that words sort as their text does.
using Word = std::uint64_t;
__extension__ typedef unsigned __int128
    LongWord;  // NOLINT(modernize-use-using): __extension__ stands before a typedef

inline constexpr std::uint8_t kNoBase = 4;

inline constexpr std::array<std::uint8_t, 256> kCodes = [] {
  std::array<std::uint8_t, 256> codes{};
  codes.fill(kNoBase);
  for (const auto& [letters, code] :
       {std::pair(std::string_view("Aa"), 0), {"Cc", 1}, {"Gg", 2}, {"TtUu", 3}})
    for (const char letter : letters)
      codes[static_cast<unsigned char>(letter)] = static_cast<std::uint8_t>(code);
  return codes;
}();

/// The word of the last k bases, and that of their reverse complement.
template <class W>
class RollingWord {
 public:
  explicit RollingWord(int k)
      : mask_(k * 2 == sizeof(W) * 8 ? ~W{0} : (W{1} << (2 * k)) - 1), top_(2 * (k - 1)) {}

  /// As after the first k - 1 bases of a record (super_kmers.hpp), of which sizeof(W) bytes can be read.
  void start(const unsigned char* bases, int k) {
    W bits = 0;
    std::memcpy(&bits, bases, sizeof bits);
    bits &= mask_ >> 2;
    reverse_ = ~bits << 2 & mask_;
    if constexpr (sizeof(W) == 8)
      forward_ = turned(bits);
    else
      forward_ = W{turned(static_cast<Word>(bits))} << 64 | turned(static_cast<Word>(bits >> 64));
    const int unused = static_cast<int>(sizeof(W)) * 8 - 2 * (k - 1);
    forward_ = k == 1 ? 0 : forward_ >> unused;
  }
  void push(unsigned code) {
    forward_ = (forward_ << 2 | code) & mask_;
    reverse_ = reverse_ >> 2 | W{3 - code} << top_;
  }
  W forward() const { return forward_; }
  W canonical() const { return std::min(forward_, reverse_); }

 private:
  /// The last base first.
  static Word turned(Word bits) {
    bits = __builtin_bswap64(bits);
    bits = (bits >> 4 & 0x0f0f0f0f0f0f0f0f) | (bits & 0x0f0f0f0f0f0f0f0f) << 4;
    return (bits >> 2 & 0x3333333333333333) | (bits & 0x3333333333333333) << 2;
  }

  W mask_;
  int top_;
  W forward_ = 0, reverse_ = 0;
};

template <class W>
std::string word_text(W word, int k) {
  std::string letters(static_cast<std::size_t>(k), 'A');
  for (std::size_t at = letters.size(); at-- > 0; word >>= 2)
    letters[at] = "ACGT"[static_cast<unsigned>(word & 3)];
  return letters;
}

}  // namespace warploom::table
