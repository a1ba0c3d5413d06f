#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "count/large_pages.hpp"
#include "count/super_kmers.hpp"

namespace warploom::table {

/// How often each record came: a table of one thread, of one partition. Where a genome is covered many times,
/// most records have come before, and their words are looked up once for all of them. Of records of at most
/// 8 * kWords bytes. Those that are cut off are only kept.
template <std::size_t kWords>
class RecordTally {
 public:
  static constexpr std::size_t kMostBytes = 8 * kWords;
  using Record = std::array<std::uint64_t, kWords>;
  /// Bytes that have to be readable behind the last record.
  static constexpr std::size_t kBehind = kMostBytes;

  /// Empty again, with room for about so many different records.
  void clear(std::uint64_t expected) {
    places_.assign(places_for(expected), Place{});
    different_ = cuts_ = 0;
  }

  /// @param longer  is called for each record that is longer
  template <class Longer>
  void add(std::span<const char> records, int k, const Longer& longer) {
    if (k != masks_k_) set_masks(k);
    const char* const end = records.data() + records.size();
    for (const char* record = records.data(); record < end;) {
      if ((different_ + kAhead) * 3 > places_.size() * 2) grow();
      if (cut_.size() < cuts_ + kAhead) cut_.resize(2 * cut_.size() + kAhead);
      std::size_t waiting = 0;
      for (std::size_t tried = 0; tried < kAhead && record < end; ++tried) {
        __builtin_prefetch(record + kBytesAhead);
        const unsigned words = SuperKmers::words_of(record);
        const std::size_t size = SuperKmers::bytes(k, words);
        if (size <= kMostBytes) {
          Ahead& ahead = ahead_[waiting];
          const Record& mask = masks_[words];
          std::memcpy(ahead.record.data(), record, kMostBytes);
          for (std::size_t word = 0; word < kWords; ++word) ahead.record[word] &= mask[word];
          // Written where either kind is, and the next one over it: which it is is nothing to guess.
          const std::size_t is_cut = (ahead.record[0] & kCut) / kCut;
          cut_[cuts_] = ahead.record;
          cuts_ += is_cut;
          waiting += 1 - is_cut;
          ahead.at = place(ahead.record);
          __builtin_prefetch(&places_[ahead.at]);
        } else {
          longer(record);
        }
        record += size;
      }
      for (const Ahead& ahead : std::span(ahead_).first(waiting)) {
        std::size_t at = ahead.at;
        while (places_[at].count != 0 && differ(places_[at].record, ahead.record)) at = next(at);
        Place& place = places_[at];
        different_ += place.count == 0 ? 1 : 0;
        place.record = ahead.record;
        ++place.count;
      }
    }
  }

  std::uint64_t different() const { return different_; }  ///< whole ones
  std::span<const Record> cut() const {
    return std::span(cut_).first(cuts_);
  }  ///< the others, each as it came
  /// Calls take(record, count).
  template <class Take>
  void for_each(const Take& take) const {
    for (const Place& place : places_)
      if (place.count != 0) take(reinterpret_cast<const char*>(place.record.data()), place.count);
  }

 private:
  static constexpr std::size_t kAhead = 32, kBytesAhead = 1024;
  struct Place {
    Record record = {};
    std::uint64_t count = 0;  // 0: it is free
  };
  struct Ahead {
    Record record = {};
    std::size_t at = 0;
  };

  static bool differ(const Record& a, const Record& b) {
    std::uint64_t bits = 0;
    for (std::size_t word = 0; word < kWords; ++word) bits |= a[word] ^ b[word];
    return bits != 0;
  }
  std::size_t place(const Record& record) const {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : record) hash = std::rotl(hash ^ word, 27) * 0x9e3779b97f4a7c15;
    return place_of(hash, places_.size());
  }
  void set_masks(int k) {
    for (unsigned words = 0; words < masks_.size(); ++words) {
      masks_[words] = {};
      std::memset(masks_[words].data(), 0xff, std::min(SuperKmers::bytes(k, words), kMostBytes));
    }
    masks_k_ = k;
  }
  std::size_t next(std::size_t at) const { return at + 1 == places_.size() ? 0 : at + 1; }

  void grow() {
    LargeVector<Place> before(places_.size() * 2);
    before.swap(places_);
    for (const Place& one : before) {
      if (one.count == 0) continue;
      std::size_t at = place(one.record);
      while (places_[at].count != 0) at = next(at);
      places_[at] = one;
    }
  }

  LargeVector<Place> places_ = LargeVector<Place>(1024);
  std::uint64_t different_ = 0;
  std::array<Record, SuperKmers::kMostWords + 1> masks_ = {};  // of a record's bytes, by its words
  int masks_k_ = 0;
  std::vector<Record> cut_ = {};
  std::size_t cuts_ = 0;
  std::array<Ahead, kAhead> ahead_ = {};
};

}  // namespace warploom::table
