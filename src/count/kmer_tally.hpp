#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "count/kmer_word.hpp"
#include "count/large_pages.hpp"

namespace warploom::table {

/// How often each word came: a table of one thread, of the words of one partition.
template <class W>
class KmerTally {
 public:
  struct Counted {
    W word = 0;
    std::uint64_t count = 0;  // 0: a free place
  };

  /// Empty again, with room for about so many different words.
  void clear(std::uint64_t expected) {
    places_.assign(places_for(expected), Counted{});
    different_ = 0;
  }

  /// Words, each of which came so many times, in batches, so that places are fetched ahead.
  void add(std::span<const Counted> words) {
    if ((different_ + words.size()) * 3 > places_.size() * 2) grow();
    for (const Counted& one : words) __builtin_prefetch(&places_[place(one.word)]);
    for (const Counted& one : words) {
      std::size_t at = place(one.word);
      while (places_[at].count != 0 && places_[at].word != one.word) at = next(at);
      different_ += places_[at].count == 0 ? 1 : 0;
      places_[at].word = one.word;
      places_[at].count += one.count;
    }
  }

  std::uint64_t different() const { return different_; }
  std::uint64_t bytes() const { return places_.size() * sizeof(Counted); }
  std::span<const Counted> places() const { return places_; }  ///< some of which are free

 private:
  std::size_t place(W word) const {
    const auto folded =
        static_cast<std::uint64_t>(word) ^ static_cast<std::uint64_t>(word >> (sizeof(W) * 4));
    return place_of(folded * 0x9e3779b97f4a7c15, places_.size());
  }
  std::size_t next(std::size_t at) const { return at + 1 == places_.size() ? 0 : at + 1; }

  void grow() {
    LargeVector<Counted> before(places_.size() * 2);
    before.swap(places_);
    for (const Counted& counted : before) {
      if (counted.count == 0) continue;
      std::size_t at = place(counted.word);
      while (places_[at].count != 0) at = next(at);
      places_[at] = counted;
    }
  }

  LargeVector<Counted> places_ = LargeVector<Counted>(1024);
  std::uint64_t different_ = 0;
};

}  // namespace warploom::table
