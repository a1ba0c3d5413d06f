#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "count/kmer_exchange.hpp"
#include "count/kmer_file.hpp"
#include "count/kmer_store.hpp"
#include "count/kmer_waves.hpp"

namespace warploom::table {

/// Brings counted words, which come in any order, into that of the alphabet: they are stored in buckets by
/// their first bases, each of which is sorted by itself.
///
/// A record is a word's lower bits, in as few bytes as they need, and its count, seven bits a byte.
template <class W>
class KmerSorter {
 public:
  /// @param words  that may come, for the number of buckets
  KmerSorter(int k, std::uint64_t words, std::uint64_t most_memory, std::filesystem::path scratch,
             std::shared_ptr<BlockPool> pool = std::make_shared<BlockPool>())
      : k_(k),
        bits_(std::min({static_cast<int>(std::bit_width(words >> 18)), 2 * k, 12})),
        suffix_bytes_(static_cast<std::size_t>(2 * k - bits_ + 7) / 8),
        store_(std::size_t{1} << bits_, most_memory, std::move(scratch), std::move(pool)) {}

  /// From any thread.
  void add(std::span<const KmerOf<W>> words) {
    const std::size_t buckets = store_.partitions();
    std::vector<std::uint32_t> begins(buckets + 1);
    for (const KmerOf<W>& word : words) ++begins[bucket(word.word) + 1];
    for (std::size_t at = 0; at < buckets; ++at) begins[at + 1] += begins[at];
    std::vector<std::uint32_t> order(words.size()), next(begins.begin(), begins.end() - 1);
    for (std::size_t at = 0; at < words.size(); ++at)
      order[next[bucket(words[at].word)]++] = static_cast<std::uint32_t>(at);
    std::vector<char> records(kRecords + suffix_bytes_ + 10);
    for (std::size_t at = 0; at < buckets; ++at) {
      std::size_t used = 0;
      std::uint64_t waiting = 0;
      const auto flush = [&] {
        if (waiting > 0) store_.append(at, std::span(records).first(used), waiting);
        used = 0;
        waiting = 0;
      };
      for (std::uint32_t k = begins[at]; k < begins[at + 1]; ++k) {
        const KmerOf<W>& word = words[order[k]];
        std::memcpy(records.data() + used, &word.word, suffix_bytes_);
        used += suffix_bytes_;
        std::uint64_t count = word.count;
        for (; count >= 128; count >>= 7) records[used++] = static_cast<char>(count | 128);
        records[used++] = static_cast<char>(count);
        ++waiting;
        if (used >= kRecords) flush();
      }
      flush();
    }
  }

  /// All of them, in order.
  void write(KmerFileWriter& writer) {
    in_waves<KmerBlocks>(
        store_.partitions(),
        [&](std::size_t bucket) {
          return sorted(bucket, store_.words(bucket), [&](const auto& take) { store_.drain(bucket, take); });
        },
        [&](KmerBlocks blocks) { writer.append(std::move(blocks)); });
  }
  /// The same of all ranks' words: each sorts its share of the buckets.
  /// @param writer  rank 0's; null on the others
  void write(Ranks& ranks, KmerFileWriter* writer) {
    std::map<std::size_t, KmerBlocks> made;  // of this wave, by bucket
    std::mutex making;
    exchange_partitions(
        ranks, store_,
        [&](std::size_t bucket, const KmerRecords& records) {
          KmerBlocks blocks = sorted(bucket, records.words, [&](const auto& take) {
            for (const std::span<const char> part : records.parts) take(part);
          });
          const std::lock_guard lock(making);
          made[bucket] = std::move(blocks);
        },
        [&](std::size_t, std::size_t) {
          std::vector<std::string> to(ranks.count());
          for (const auto& [bucket, blocks] : made) blocks.put(to[0]);
          made.clear();
          for (std::string_view rest : ranks.exchange(std::move(to)))
            while (!rest.empty()) writer->append(KmerBlocks::take(rest));
        });
  }
  std::uint64_t bytes_in_file() const { return store_.bytes_in_file(); }

 private:
  static constexpr std::size_t kRecords = KmerStore::kBlock / 2;  // bytes that are stored at once

  std::size_t bucket(W word) const {
    return bits_ == 0 ? 0 : static_cast<std::size_t>(word >> (2 * k_ - bits_));
  }

  /// @param drain  calls what it is given for spans of the bucket's records
  template <class Drain>
  KmerBlocks sorted(std::size_t bucket, std::uint64_t count_of_words, const Drain& drain) {
    std::vector<KmerOf<W>> words;
    words.reserve(count_of_words);
    const W prefix = bits_ == 0 ? 0 : static_cast<W>(bucket) << (2 * k_ - bits_);
    const W mask = bits_ == 0 && 2 * k_ == sizeof(W) * 8 ? ~W{0} : (W{1} << (2 * k_ - bits_)) - 1;
    drain([&](std::span<const char> records) {
      for (const char* at = records.data(); at < records.data() + records.size();) {
        W suffix = 0;
        std::memcpy(&suffix, at, suffix_bytes_);
        at += suffix_bytes_;
        std::uint64_t count = 0;
        int shift = 0;
        for (; (*at & 128) != 0; ++at, shift += 7) count |= static_cast<std::uint64_t>(*at & 127) << shift;
        count |= static_cast<std::uint64_t>(*at++) << shift;
        words.push_back({prefix | (suffix & mask), count});
      }
    });
    std::ranges::sort(words, {}, &KmerOf<W>::word);
    KmerEncoder<W> encoder(k_);
    for (const KmerOf<W>& word : words) encoder.add(word.word, word.count);
    return encoder.finish();
  }

  int k_, bits_;
  std::size_t suffix_bytes_;
  KmerStore store_;
};

}  // namespace warploom::table
