#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom::table {

/// The order of words that looks random: (word ^ kOrderXor) * kOrderFactor. Of words of kSyncmer bases those
/// come before whose middle word of four bases is the least of theirs: they lie apart, so that there are
/// fewer runs.
inline constexpr int kSyncmer = 10, kFoursOfSyncmer = kSyncmer - 4 + 1;
inline constexpr std::uint8_t kFourXor = 0x5b;
inline constexpr std::uint32_t kOrderXor = 0x2d9b6a5, kOrderFactor = 0x9e3779b1;

/// A block of letters, and what cutting it into super-k-mers needs to know of it. Loops run over whole
/// vectors, so that everything has room for more.
struct CutBlock {
  static constexpr std::size_t kStarts = 2048;  // words that begin in it
  static constexpr std::size_t kBases = kStarts + 64, kRoom = kBases + 128, kMore = 64;

  char letters[kRoom] = {};
  std::uint8_t bases[kRoom] = {};                     // two bits each; where a letter is none, anything
  std::uint8_t marks[kRoom] = {};                     // scratch
  std::uint8_t four[kRoom] = {}, turned[kRoom] = {};  // four bases from here on, the first lowest, highest
  std::uint32_t least[kRoom] = {};                    // the minimiser of the word that begins here
  // The order of words of four bases; the least of a word's.
  std::uint8_t fours[kRoom] = {}, least_four[kRoom] = {};
  std::uint64_t no_base[kRoom / 64] = {};  // a bit a letter
  std::uint64_t changes[kRoom / 64] = {};  // least[at] != least[at + 1]
  // Words that have bases only and share a minimiser, run by run: firsts[run] to ends[run + 1]. Before the
  // first run and behind the last are places of no word.
  std::uint16_t firsts[kStarts + kMore], ends[kStarts + kMore + 1];
  std::size_t runs = 0;
  std::uint8_t strands[2][kRoom / 4 + 32] = {};  // the bases, and their reverse complement
  std::size_t complement_bases = 0;  // base `at` lies in that at complement_bases - 1 - at, as its complement
  // Of each run, as one record (SuperKmers):
  std::uint32_t numbers[kStarts + kMore];  // the minimiser's
  std::uint64_t low[kStarts + kMore], high[kStarts + kMore];
  static constexpr std::size_t kPacked = 56;  // bases that have room there behind the record's first byte
  static constexpr std::uint16_t kNowhere = 0xfff0;
};

/// Of a record's first byte, beside how many words it has.
inline constexpr unsigned kCut = 128;       // neighbours of the minimiser's run were not there
inline constexpr unsigned kCutBefore = 64;  // before its first word, not behind its last

struct CutLoops {
  /// All of `block` from its first `count` letters, at most kStarts + k - 1.
  void (*of_letters)(CutBlock& block, std::size_t count, int k, int m);
  /// Then: numbers, low and high (of runs of at most kPacked bases; of others, anything).
  void (*pack)(CutBlock& block, int k, bool canonical);
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
