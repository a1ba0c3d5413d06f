#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/over_ranks.hpp"
#include "count/kmer_word.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/count/count.hpp"

namespace warploom::table {

/// Of counted words those that are to be listed, and the histogram of all counts.
template <class W>
class KmerListing {
 public:
  explicit KmerListing(const KmerOptions& options)
      : options_(options), least_(options.least), histogram_(options.histogram) {}

  /// @param counted  words and their counts; 0: none
  /// @param most     counts that are greater are this
  template <class Counted>
  void add(std::span<const Counted> counted, std::uint64_t most) {
    constexpr std::uint64_t kFew = 256;
    // Most come a few times: neighbours have counters of their own, for which no addition waits.
    std::array<std::array<std::uint64_t, kFew>, 4> few{};
    std::uint64_t greatest = 0;
    for (std::size_t at = 0; at < counted.size(); ++at) {
      const std::uint64_t count = std::min(counted[at].count, most);
      greatest = std::max(greatest, count);
      if (count < kFew)
        ++few[at % few.size()][count];
      else
        add_to_histogram(count, 1);
    }
    for (const auto& some : few)
      for (std::uint64_t count = 1; count < kFew; ++count) add_to_histogram(count, some[count]);
    if (greatest < least_) return;
    for (const Counted& one : counted) {
      if (const std::uint64_t count = std::min(one.count, most); count >= std::max<std::uint64_t>(least_, 1))
        words_.push_back({one.word, count});
      if (options_.top > 0 && words_.size() >= 2 * options_.top + 1024) keep_top();
    }
  }
  void add(KmerListing& other) {
    for (std::size_t bin = 0; bin < histogram_.size(); ++bin) histogram_[bin] += other.histogram_[bin];
    words_.insert(words_.end(), other.words_.begin(), other.words_.end());
    if (options_.top > 0) keep_top();
  }
  /// Brings all ranks' to rank 0.
  void gather(Ranks& ranks) {
    std::vector<std::string> to(ranks.count());
    if (ranks.rank() != 0) {
      put_bytes(to[0], std::span(std::as_const(histogram_)));
      put_bytes(to[0], std::span(std::as_const(words_)));
    }
    for (std::string_view rest : ranks.exchange(std::move(to))) {
      if (rest.empty()) continue;
      KmerListing other(options_);
      take_bytes(rest, std::span(other.histogram_));
      other.words_.resize(rest.size() / sizeof(Listed));
      take_bytes(rest, std::span(other.words_));
      add(other);
    }
  }
  void finish(Counts& counts) {
    std::uint32_t steps = 0;
    const auto interruptible = [&] {
      if (++steps % 65536 == 0) check_interrupt();
    };
    std::ranges::sort(words_, [&](const Listed& a, const Listed& b) {
      interruptible();
      return more_frequent(a, b);
    });
    for (const Listed& listed : words_) {
      interruptible();
      counts.listed.push_back({listed.count, word_text(listed.word, options_.k)});
    }
    counts.histogram = std::move(histogram_);
  }

 private:
  struct Listed {
    W word;
    std::uint64_t count;
  };
  static bool more_frequent(const Listed& a, const Listed& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  }
  void add_to_histogram(std::uint64_t count, std::uint64_t words) {
    if (!histogram_.empty()) histogram_[std::min<std::uint64_t>(count, histogram_.size()) - 1] += words;
  }
  void keep_top() {
    if (words_.size() <= options_.top) return;
    std::ranges::nth_element(words_, words_.begin() + static_cast<std::ptrdiff_t>(options_.top),
                             more_frequent);
    words_.resize(options_.top);
    // What comes less often than all of these is none of the most frequent.
    least_ = std::max(least_, std::ranges::min_element(words_, {}, &Listed::count)->count);
  }

  const KmerOptions& options_;
  std::uint64_t least_;  // count of what is listed
  std::vector<Listed> words_;
  std::vector<std::uint64_t> histogram_;
};

}  // namespace warploom::table
