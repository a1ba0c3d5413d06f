#include "count/kmer_partitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "count/kmer_listing.hpp"
#include "count/kmer_store.hpp"
#include "count/kmer_tally.hpp"
#include "count/kmer_word.hpp"
#include "count/super_kmers.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::table {
namespace {

constexpr std::size_t kPiece = 1 << 22;  // letters that a thread takes at once
constexpr std::size_t kStaged = 512;     // bytes that it gathers for a partition
constexpr std::size_t kAhead = 64;       // words that are looked up together

/// Some 2^18 letters a partition, as far as that is known: tables of that many words stay in a core's cache.
std::size_t partitions_for(const io::SequenceStream& sequences, std::uint64_t most_memory) {
  const std::optional<std::uint64_t> bytes = sequences.stored_bytes();
  if (!bytes || most_memory > 0) return 1024;
  return std::clamp<std::size_t>(std::bit_ceil(*bytes >> 17), 64, 2048);
}

/// What a thread has of records for each partition, before they are stored.
class Staging {
 public:
  Staging(KmerStore& store, int k)
      : store_(store),
        room_(SuperKmers::bytes(k, SuperKmers::kMostWords) + 7 + kStaged),
        bytes_(room_ * store.partitions()),
        used_(store.partitions()),
        words_(store.partitions()) {}

  template <class Write>
  void add(std::size_t partition, unsigned words, std::size_t size, const Write& write) {
    write(bytes_.data() + partition * room_ + used_[partition]);
    used_[partition] += size;
    words_[partition] += words;
    if (used_[partition] >= kStaged) flush(partition);
  }
  void flush() {
    for (std::size_t partition = 0; partition < used_.size(); ++partition) flush(partition);
  }

 private:
  void flush(std::size_t partition) {
    if (used_[partition] == 0) return;
    store_.append(partition, {bytes_.data() + partition * room_, used_[partition]}, words_[partition]);
    used_[partition] = 0;
    words_[partition] = 0;
  }

  KmerStore& store_;
  std::size_t room_;
  std::vector<char> bytes_;
  std::vector<std::size_t> used_;
  std::vector<std::uint64_t> words_;
};

/// Threads take pieces in turn: one reads, and unpacks, while the others cut what they have read.
void partition(io::SequenceStream& sequences, int k, KmerStore& store) {
  Progress progress("reading", sequences.stored_bytes().value_or(0), "bytes");
  std::mutex reading;
  std::uint64_t taken = 0;
  bool ended = false;
  const int bits = std::countr_zero(store.partitions());
  parallel_for(threads(), [&](std::int64_t) {
    SuperKmers cut(k);
    Staging staging(store, k);
    std::string piece;
    while (true) {
      std::uint64_t more = 0;
      {
        const std::lock_guard lock(reading);
        if (ended) break;
        ended = true;  // also where this throws
        ended = !sequences.next(piece, kPiece, static_cast<std::size_t>(k) - 1);
        if (ended) break;
        more = sequences.stored_taken() - std::exchange(taken, sequences.stored_taken());
      }
      cut.of(piece, [&](std::uint32_t order, unsigned words, std::size_t size, const auto& write) {
        staging.add((order * 0x85ebca6b) >> (32 - bits), words, size, write);
      });
      progress.advance(more);
    }
    staging.flush();
  });
}

template <class W, bool canonical>
void tally_records(std::span<const char> records, int k, KmerTally<W>& tally) {
  W ahead[kAhead];
  std::size_t waiting = 0;
  for (const char* record = records.data(); record != records.data() + records.size();
       record += SuperKmers::bytes(k, static_cast<unsigned char>(record[0])))
    for_each_word<W, canonical>(record, k, [&](W word) {
      ahead[waiting++] = word;
      if (waiting == kAhead) {
        tally.add(ahead);
        waiting = 0;
      }
    });
  tally.add(std::span(ahead).first(waiting));
}

template <class W>
Counts count(io::SequenceStream& sequences, const KmerOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  KmerStore store(partitions_for(sequences, options.most_memory), options.most_memory, options.scratch);
  partition(sequences, options.k, store);

  Counts counts;
  KmerListing<W> listing(options);
  std::mutex listed;
  Progress progress("counting", store.partitions(), "partitions");
  parallel_for(static_cast<std::int64_t>(store.partitions()), [&](std::int64_t number) {
    const auto partition = static_cast<std::size_t>(number);
    const std::uint64_t words = store.words(partition);
    if (words > 0) {
      KmerTally<W> tally;
      tally.clear(std::min<std::uint64_t>(words / 4, 1 << 16));
      store.drain(partition, [&](std::span<const char> records) {
        if (options.canonical)
          tally_records<W, true>(records, options.k, tally);
        else
          tally_records<W, false>(records, options.k, tally);
      });
      KmerListing<W> part(options);
      tally.for_each([&](const auto& counted) { part.add(counted.word, counted.count); });
      const std::lock_guard lock(listed);
      counts.total += words;
      counts.statistics.pairs += tally.different();
      listing.add(part);
    }
    progress.advance();
  });
  listing.finish(counts);
  counts.statistics.bytes_nodes = store.bytes();
  counts.bytes_in_file = store.bytes_in_file();
  counts.description = fmt::format("{} partitions by minimisers of {} bases on the CPU", store.partitions(),
                                   SuperKmers::minimiser_bases(options.k));
  counts.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return counts;
}

}  // namespace

Counts count_in_partitions(io::SequenceStream& sequences, const KmerOptions& options) {
  return options.k <= 32 ? count<Word>(sequences, options) : count<LongWord>(sequences, options);
}

}  // namespace warploom::table
