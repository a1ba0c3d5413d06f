#pragma once

#include <algorithm>
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

  void add(W word, std::uint64_t count) {
    if (!histogram_.empty()) ++histogram_[std::min<std::uint64_t>(count, histogram_.size()) - 1];
    if (count < least_) return;
    words_.push_back({word, count});
    if (options_.top > 0 && words_.size() >= 2 * options_.top + 1024) keep_top();
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
