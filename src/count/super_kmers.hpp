#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "count/kmer_word.hpp"

namespace warploom::table {

/// Cuts sequences into super-k-mers: neighbouring words of k bases that have the same minimiser, stored as
/// the bases that they share. A word's minimiser is the least of its words of m bases, each the lesser of
/// itself and its reverse complement, in an order that looks random (else poly-A would be every other
/// word's). A word and its reverse complement have the same, so that all their places come to the same
/// partition.
///
/// A record is a byte, how many words, and their bases, two bits each, the first in the lowest.
class SuperKmers {
 public:
  static constexpr int kMostWords = 255;  // of a record

  explicit SuperKmers(int k) : k_(k), m_(minimiser_bases(k)) {}

  static constexpr int minimiser_bases(int k) { return k <= 12 ? k : std::clamp(k / 2, 9, 11); }
  /// Bytes of a record.
  static std::size_t bytes(int k, unsigned words) {
    return 1 + (static_cast<std::size_t>(k) + words + 2) / 4;
  }

  /// Calls take(order of the minimiser, words, bytes of the record, write); write(place) writes the record,
  /// and up to seven bytes behind it.
  template <class Take>
  void of(std::string_view letters, const Take& take) {
    packed_.resize(letters.size() / kBases + 3);
    const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << (2 * m_)) - 1);
    const int top = 2 * (m_ - 1);
    const std::size_t window = static_cast<std::size_t>(k_ - m_ + 1);
    std::uint32_t forward = 0, reverse = 0;
    std::size_t run = 0;  // bases since what is none
    std::uint64_t packing = 0;
    Least least, first;                             // of the window, of the record that is under way
    std::size_t begin = 0;                          // of that record
    const auto end_record = [&](std::size_t end) {  // `end`: behind its last base
      packed_[end / kBases] = packing;
      give(begin, end, first.order, take);
    };
    for (std::size_t at = 0; at < letters.size(); ++at) {
      const std::uint8_t code = kCodes[static_cast<unsigned char>(letters[at])];
      if (code == kNoBase) {
        if (run >= static_cast<std::size_t>(k_)) end_record(at);
        run = 0;
      }
      packing |= std::uint64_t{code & 3u} << (2 * (at % kBases));
      if (code != kNoBase) {
        forward = (forward << 2 | code) & mask;
        reverse = reverse >> 2 | (3u - code) << top;
        ++run;
        if (run >= static_cast<std::size_t>(m_)) {
          const std::uint32_t order = order_of(std::min(forward, reverse));
          orders_[at % kRing] = order;
          if (run == static_cast<std::size_t>(m_) || order <= least.order)
            least = {order, at};
          else if (at - least.at >= window)
            least = least_of(at, window);
          if (run == static_cast<std::size_t>(k_)) {
            first = least;
            begin = at + 1 - static_cast<std::size_t>(k_);
          } else if (run > static_cast<std::size_t>(k_) &&
                     (least.order != first.order ||
                      at - begin == static_cast<std::size_t>(k_ - 1 + kMostWords))) {
            end_record(at);
            first = least;
            begin = at + 1 - static_cast<std::size_t>(k_);
          }
        }
      }
      if (at % kBases == kBases - 1) {
        packed_[at / kBases] = packing;
        packing = 0;
      }
    }
    if (run >= static_cast<std::size_t>(k_)) end_record(letters.size());
  }

 private:
  static constexpr std::size_t kBases = 32, kRing = 64;
  struct Least {
    std::uint32_t order = 0;
    std::size_t at = 0;  // its last base
  };

  static constexpr std::uint32_t order_of(std::uint32_t bases) { return (bases ^ 0x2d9b6a5) * 0x9e3779b1; }

  Least least_of(std::size_t last, std::size_t window) const {
    Least least{orders_[last % kRing], last};
    for (std::size_t back = 1; back < window; ++back)
      if (const std::uint32_t order = orders_[(last - back) % kRing]; order < least.order)
        least = {order, last - back};
    return least;
  }

  template <class Take>
  void give(std::size_t begin, std::size_t end, std::uint32_t order, const Take& take) {
    const auto words = static_cast<unsigned>(end - begin + 1 - static_cast<std::size_t>(k_));
    const std::size_t size = bytes(k_, words);
    take(order, words, size, [&](char* record) {
      record[0] = static_cast<char>(words);
      const std::size_t shift = 2 * (begin % kBases);
      const std::uint64_t* from = packed_.data() + begin / kBases;
      for (std::size_t at = 1; at < size; at += 8, ++from) {
        const std::uint64_t bits = shift == 0 ? from[0] : from[0] >> shift | from[1] << (64 - shift);
        std::memcpy(record + at, &bits, 8);
      }
    });
  }

  int k_, m_;
  std::vector<std::uint64_t> packed_;  // the letters' bases; where none is, anything
  std::uint32_t orders_[kRing] = {};   // of the last words of m bases, by their last base
};

/// Calls take(word) for the words of a record.
template <class W, bool canonical, class Take>
void for_each_word(const char* record, int k, const Take& take) {
  const auto words = static_cast<unsigned char>(record[0]);
  const auto* bases = reinterpret_cast<const unsigned char*>(record + 1);
  RollingWord<W> word(k);
  const auto base = [&](std::size_t at) {
    return static_cast<unsigned>(bases[at / 4] >> (2 * (at % 4))) & 3;
  };
  std::size_t at = 0;
  for (; at + 1 < static_cast<std::size_t>(k); ++at) word.push(base(at));
  for (unsigned left = words; left > 0; --left, ++at) {
    word.push(base(at));
    take(canonical ? word.canonical() : word.forward());
  }
}

}  // namespace warploom::table
