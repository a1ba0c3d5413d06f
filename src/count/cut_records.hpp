#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "count/record_tally.hpp"
#include "count/super_kmers.hpp"

namespace warploom::table {

/// Counts records that a read's end cut off (kCut) on the whole ones that begin or end with them. Most reads
/// of a genome that is covered many times have two of them, which seldom come twice, so that all their words
/// would be looked up.
template <std::size_t kWords>
class CutRecords {
 public:
  using Tally = RecordTally<kWords>;
  using Record = typename Tally::Record;

  explicit CutRecords(int k) : k_(static_cast<unsigned>(k)) {}

  /// @param left      is called for each of the tally's cut records that is no part of a whole one
  /// @param counted   for each whole one: counted(record, count, more), where its word `at` came `count` and
  ///                  as often as the sum of more[0] to more[at] says; more is null: nothing more
  template <class Left, class Counted>
  void count(const Tally& tally, const Left& left, const Counted& counted) {
    wholes_.clear();
    std::size_t changes = 0;
    tally.for_each([&](const char* record, std::uint64_t times) {
      if (times < kFewest) return;
      wholes_.push_back({record, changes});
      changes += SuperKmers::words_of(record) + std::size_t{1};
    });
    more_.assign(changes, 0);
    // Two places each, a fourth of all.
    places_.assign(std::bit_ceil(std::max<std::size_t>(wholes_.size(), 1)) * 8, Place{});
    for (std::size_t whole = 0; whole < wholes_.size(); ++whole) {
      const Record& record = record_at(wholes_[whole].record);
      put(hash(record, 0, false), whole);
      put(hash(record, words_of(record) - 1, true), whole);
    }
    for (const Record& record : tally.cut())
      if (!find(record)) left(reinterpret_cast<const char*>(record.data()));
    std::size_t next = 0;
    tally.for_each([&](const char* record, std::uint64_t times) {
      counted(record, times, times < kFewest ? nullptr : more_.data() + wholes_[next++].more);
    });
  }

 private:
  static constexpr std::uint64_t kFewest = 2;  // what came once is misread, most often
  struct Whole {
    const char* record = nullptr;
    std::size_t more = 0;  // of more_
  };
  struct Place {
    std::uint32_t tag = 0, whole = 0;  // its number and one; 0: it is free
  };

  static const Record& record_at(const char* record) { return *reinterpret_cast<const Record*>(record); }
  static unsigned words_of(const Record& record) {
    return static_cast<unsigned>(record[0]) & SuperKmers::kMostWords;
  }
  /// 32 bases from one on; behind the last any.
  static std::uint64_t bases_at(const Record& record, unsigned base) {
    const unsigned bit = 8 + 2 * base, word = bit / 64, shift = bit % 64;
    const std::uint64_t low = word < kWords ? record[word] : 0,
                        high = word + 1 < kWords ? record[word + 1] : 0;
    return low >> shift | (high << 1) << (63 - shift);
  }
  static std::uint64_t mask_of(unsigned bases) {
    return bases >= 32 ? ~std::uint64_t{0} : (std::uint64_t{1} << (2 * bases)) - 1;
  }
  /// Of a word of a record, and whether it is the last.
  std::uint64_t hash(const Record& record, unsigned word, bool last) const {
    std::uint64_t hash = last ? 1 : 0;
    for (unsigned done = 0; done < k_; done += 32)
      hash = std::rotl(hash ^ (bases_at(record, word + done) & mask_of(k_ - done)), 27) * 0x9e3779b97f4a7c15;
    return hash;
  }
  std::size_t place_of(std::uint64_t hash) const { return hash >> (64 - std::countr_zero(places_.size())); }
  void put(std::uint64_t hash, std::size_t whole) {
    std::size_t at = place_of(hash);
    while (places_[at].whole != 0) at = (at + 1) % places_.size();
    places_[at] = {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(whole + 1)};
  }
  bool find(const Record& record) {
    const unsigned words = words_of(record), bases = words + k_ - 1;
    const bool last = (record[0] & kCutBefore) != 0;
    const std::uint64_t wanted = hash(record, last ? words - 1 : 0, last);
    for (std::size_t at = place_of(wanted); places_[at].whole != 0; at = (at + 1) % places_.size()) {
      if (places_[at].tag != static_cast<std::uint32_t>(wanted)) continue;
      const Whole& whole = wholes_[places_[at].whole - 1];
      const Record& other = record_at(whole.record);
      if (words_of(other) < words) continue;
      const unsigned begin = last ? words_of(other) - words : 0;
      std::uint64_t differ = 0;
      for (unsigned done = 0; done < bases; done += 32)
        differ |= (bases_at(other, begin + done) ^ bases_at(record, done)) & mask_of(bases - done);
      if (differ != 0) continue;
      ++more_[whole.more + begin];
      --more_[whole.more + begin + words];
      return true;
    }
    return false;
  }

  unsigned k_;
  std::vector<Whole> wholes_;
  std::vector<Place> places_;
  std::vector<std::int64_t> more_;  // of each whole one's words, and behind them: less the word's before
};

}  // namespace warploom::table
