#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom::table {

/// A block of letters, and what cutting it into super-k-mers needs to know of it. Loops run over whole
/// vectors, so that everything has room for more.
struct CutBlock {
  static constexpr std::size_t kStarts = 2048;  // words that begin in it
  static constexpr std::size_t kBases = kStarts + 64, kRoom = kBases + 128;

  char letters[kRoom] = {};
  std::uint8_t bases[kRoom] = {};                     // two bits each; where a letter is none, anything
  std::uint8_t marks[kRoom] = {};                     // scratch
  std::uint8_t four[kRoom] = {}, turned[kRoom] = {};  // four bases from here on, the first lowest, highest
  std::uint32_t least[kRoom] = {};                    // the minimiser of the word that begins here
  std::uint64_t no_base[kRoom / 64] = {};             // a bit a letter
  std::uint64_t changes[kRoom / 64] = {};             // least[at] != least[at + 1]
  std::uint16_t firsts[kStarts + 16],
      lasts[kStarts + 16];                       // words that have bases only and share a minimiser
  std::size_t runs = 0;                          // of those: firsts[run] to lasts[run]
  std::uint8_t strands[2][kRoom / 4 + 32] = {};  // the bases, and their reverse complement
  std::size_t complement_bases = 0;  // base `at` lies in that at complement_bases - 1 - at, as its complement
};

struct CutLoops {
  /// All of `block` from its first `count` letters, at most kStarts + k - 1.
  void (*of_letters)(CutBlock& block, std::size_t count, int k, int m);
};

/// The fastest that this processor can run.
const CutLoops& cut_loops();

namespace baseline {
extern const CutLoops cut_loops;
}
namespace avx2 {
extern const CutLoops cut_loops;
}
namespace avx512 {
extern const CutLoops cut_loops;
}

}  // namespace warploom::table
