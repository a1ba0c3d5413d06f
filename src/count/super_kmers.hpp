#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "count/cutting.hpp"
#include "count/kmer_word.hpp"

namespace warploom::table {

/// Cuts sequences into super-k-mers: neighbouring words of k bases that have the same minimiser, stored as
/// the bases that they share. A word's minimiser is the least of its words of m bases, each the lesser of
/// itself and its reverse complement, in an order that looks random (else poly-A would be every other
/// word's). A word and its reverse complement have the same, so that all their places come to the same
/// partition.
///
/// A record is a byte, how many words and whether neighbours were there (kCut), and their bases, two bits
/// each, the first in the lowest; what is left of the last byte is 0. Where words are canonical, it has them
/// in the direction in which the minimiser is the lesser one: reads of both strands give the same records.
class SuperKmers {
 public:
  static constexpr unsigned kMostWords = 63;  // of a record
  static unsigned words_of(const char* record) { return static_cast<unsigned char>(record[0]) & kMostWords; }

  SuperKmers(int k, bool canonical)
      : k_(static_cast<std::size_t>(k)), m_(minimiser_bases(k)), canonical_(canonical) {}

  static constexpr int minimiser_bases(int k) { return k <= 12 ? k : k < 20 ? 9 : kSyncmer; }
  /// Bytes of a record.
  static constexpr std::size_t bytes(int k, unsigned words) {
    return 1 + (static_cast<std::size_t>(k) + words + 2) / 4;
  }
  /// Of a record whose words share one place of the minimiser: all but those of repeats.
  static constexpr std::size_t usual_bytes(int k) {
    return bytes(k, static_cast<unsigned>(k - minimiser_bases(k) + 1));
  }

  static constexpr std::size_t kBehind = 16;

  /// Calls take(number, words, bytes of the record, write); write(place) writes the record, and up to kBehind
  /// bytes behind it. The number is the minimiser's. Some records before, it calls ahead(number).
  template <class Take, class Ahead>
  void of(std::string_view letters, const Take& take, const Ahead& ahead) {
    for (; letters.size() >= k_; letters.remove_prefix(std::min(letters.size(), CutBlock::kStarts))) {
      const std::size_t count = std::min(letters.size(), CutBlock::kStarts + k_ - 1);
      std::memcpy(block_->letters, letters.data(), count);
      loops_.of_letters(*block_, count, static_cast<int>(k_), m_);
      loops_.pack(*block_, static_cast<int>(k_), canonical_);
      const auto announce = [&](std::size_t run) { ahead(block_->numbers[run]); };
      for (std::size_t run = 0; run < std::min(block_->runs, kAhead); ++run) announce(run);
      for (std::size_t run = 0; run < block_->runs; ++run) {
        if (run + kAhead < block_->runs) announce(run + kAhead);
        const std::size_t end = block_->ends[run + 1] + std::size_t{1};
        std::size_t begin = block_->firsts[run];
        if (const std::size_t words = end - begin; words + k_ - 1 <= CutBlock::kPacked) {
          take(block_->numbers[run], static_cast<unsigned>(words),
               bytes(static_cast<int>(k_), static_cast<unsigned>(words)), [&](char* record) {
                 std::memcpy(record, &block_->low[run], 8);
                 std::memcpy(record + 8, &block_->high[run], 8);
               });
          continue;
        }
        const bool cut_begin = begin != block_->ends[run] + std::size_t{1},
                   cut_end = end != block_->firsts[run + 1];
        const bool more = end - begin > kMostWords;
        do {  // once, but for repeats
          const auto words = static_cast<unsigned>(std::min<std::size_t>(end - begin, kMostWords));
          give(begin, words, more || cut_begin, more || cut_end, take);
          begin += words;
        } while (begin < end);
      }
    }
  }

 private:
  static constexpr std::size_t kAhead = 24;

  template <class Take>
  void give(std::size_t begin, unsigned words, bool cut_begin, bool cut_end, const Take& take) const {
    const std::uint32_t least = block_->least[begin];
    const std::size_t bases = words + k_ - 1, size = bytes(static_cast<int>(k_), words);
    take(least >> 1, words, size, [&](char* record) {
      // Half of them are turned, so that a branch would be guessed wrongly half of the time.
      const std::size_t turned = canonical_ ? least & 1 : 0;
      const bool cuts[2] = {cut_begin, cut_end};
      record[0] =
          static_cast<char>(words | (cut_begin || cut_end ? kCut : 0) | (cuts[turned] ? kCutBefore : 0));
      const std::size_t at = begin + turned * (block_->complement_bases - bases - 2 * begin);
      const std::uint8_t* from = block_->strands[turned] + at / 4;
      const unsigned shift = 2 * (at % 4);
      // Of eight bytes the shift leaves seven.
      const auto seven = [&](std::size_t done, std::size_t left) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, from + done, 8);
        bits = bits >> shift & ~std::uint64_t{0} >> (64 - 2 * std::min<std::size_t>(left, 28));
        std::memcpy(record + 1 + done, &bits, 8);
      };
      seven(0, bases);
      if (bases > 28) seven(7, bases - 28);
      if (bases > 56)
        for (std::size_t done = 14; 4 * done < bases; done += 7) seven(done, bases - 4 * done);
    });
  }

  std::size_t k_;
  int m_;
  bool canonical_;
  std::unique_ptr<CutBlock> block_ = std::make_unique<CutBlock>();
  CutLoops loops_ = cut_loops();
};

/// Calls take(word) for the words of a record, behind which kBehind bytes can be read.
template <class W, bool canonical, class Take>
void for_each_word(const char* record, int k, const Take& take) {
  const unsigned words = SuperKmers::words_of(record);
  const auto* bases = reinterpret_cast<const unsigned char*>(record + 1);
  RollingWord<W> word(k);
  const auto base = [&](std::size_t at) {
    return static_cast<unsigned>(bases[at / 4] >> (2 * (at % 4))) & 3;
  };
  word.start(bases, k);
  auto at = static_cast<std::size_t>(k - 1);
  for (unsigned left = words; left > 0; --left, ++at) {
    word.push(base(at));
    take(canonical ? word.canonical() : word.forward());
  }
}

}  // namespace warploom::table
