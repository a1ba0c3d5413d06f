#include "count/kmer_partitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "count/clock.hpp"
#include "count/kmer_file.hpp"
#include "count/kmer_listing.hpp"
#include "count/kmer_resume.hpp"
#include "count/kmer_sorting.hpp"
#include "count/kmer_store.hpp"
#include "count/kmer_tally.hpp"
#include "count/kmer_word.hpp"
#include "count/super_kmers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::table {
namespace {

constexpr std::size_t kPiece = 1 << 22;  // letters that a thread takes at once
constexpr std::size_t kText = 1 << 20;   // bytes of FASTQ that it takes at once
constexpr std::size_t kStaged = 512;     // bytes that it gathers for a partition
constexpr std::size_t kAhead = 64;       // words that are looked up together

/// Some 2^18 letters a partition, as far as that is known: tables of that many words stay in a core's cache.
std::size_t partitions_for(const io::SequenceStream& sequences, const KmerOptions& options) {
  const std::optional<std::uint64_t> bytes = sequences.stored_bytes();
  if (!bytes || options.most_memory > 0 || !options.resume.empty()) return 1024;
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
class Partitioning {
 public:
  Partitioning(io::SequenceStream& sequences, int k, KmerStore& store)
      : sequences_(sequences),
        k_(k),
        store_(store),
        progress_("reading", sequences.stored_bytes().value_or(0), "bytes") {}

  /// Takes so many pieces that are in the store already.
  void skip(std::uint64_t pieces) {
    std::string piece;
    std::uint64_t more = 0;
    while (pieces_ < pieces && next(piece, more)) progress_.advance(more);
  }
  /// Stores pieces until there were so many in all. @return false where there was nothing more
  bool store_until(std::uint64_t pieces) {
    on_threads([&](SuperKmers& cut, Staging& staging) {
      std::string piece;
      while (true) {
        std::uint64_t more = 0;
        {
          const std::lock_guard lock(reading_);
          if (ended_ || pieces_ == pieces) break;
          if (!next(piece, more)) break;
        }
        store(piece, cut, staging);
        progress_.advance(more);
      }
    });
    return !ended_;
  }
  std::uint64_t pieces() const { return pieces_; }

  /// Stores all of FASTQ whose records have four lines: each thread reads its own parts of the files, and
  /// finds the letters. @return false: something else came; the sequences are at their begin again, and what
  /// is in the store is of no use
  bool store_fastq() {
    if (sequences_.stored_taken() > 0) return false;  // rewind() would go back too far
    std::atomic<bool> other = false, some = false;
    on_threads([&](SuperKmers& cut, Staging& staging) {
      std::string memory;
      while (!other) {
        std::optional<io::FastqText> text;
        std::uint64_t more = 0;
        {
          const std::lock_guard lock(reading_);
          text = sequences_.next_fastq(kText);
          if (text) more = sequences_.stored_taken() - std::exchange(taken_, sequences_.stored_taken());
        }
        if (text && text->size() == 0) break;
        if (text) some = true;
        const std::optional<std::string_view> letters = text ? text->letters(memory) : std::nullopt;
        if (!letters) other = true;
        if (letters) store(*letters, cut, staging);
        progress_.advance(more);
      }
    });
    if (other && some) sequences_.rewind();
    return !other;
  }

 private:
  template <class Body>
  void on_threads(const Body& body) {
    parallel_for(threads(), [&](std::int64_t) {
      SuperKmers cut(k_);
      Staging staging(store_, k_);
      body(cut, staging);
      staging.flush();
    });
  }
  void store(std::string_view letters, SuperKmers& cut, Staging& staging) const {
    const int bits = std::countr_zero(store_.partitions());
    cut.of(letters, [&](std::uint32_t order, unsigned words, std::size_t size, const auto& write) {
      staging.add((order * 0x85ebca6b) >> (32 - bits), words, size, write);
    });
  }
  bool next(std::string& piece, std::uint64_t& more) {
    ended_ = true;  // also where this throws
    ended_ = !sequences_.next(piece, kPiece, static_cast<std::size_t>(k_) - 1);
    if (ended_) return false;
    ++pieces_;
    more = sequences_.stored_taken() - std::exchange(taken_, sequences_.stored_taken());
    return true;
  }

  io::SequenceStream& sequences_;
  int k_;
  KmerStore& store_;
  Progress progress_;
  std::mutex reading_;
  std::uint64_t taken_ = 0, pieces_ = 0;
  bool ended_ = false;
};

/// What a run that goes on has to have the same.
std::string asked(const io::SequenceStream& sequences, int k) {
  const std::string identity = sequences.identity();
  if (identity.empty())
    throw BadInput("what is resumed has to be files that are there: a pipe cannot be read once more");
  return fmt::format("k = {}\n{}", k, identity);
}

/// @return of a run that may be resumed, what to remove when its words are counted
std::optional<KmerResume> partition(io::SequenceStream& sequences, const KmerOptions& options,
                                    KmerStore& store) {
  std::optional<KmerResume> resume;
  if (!options.resume.empty()) resume.emplace(options.resume, asked(sequences, options.k), store);
  Partitioning partitioning(sequences, options.k, store);
  if (!resume) {
    partitioning.store_until(std::numeric_limits<std::uint64_t>::max());
  } else if (!resume->complete()) {
    partitioning.skip(resume->pieces());
    const std::uint64_t step = std::max<std::uint64_t>(1, options.checkpoint / kPiece);
    for (bool more = true; more;) {
      more = partitioning.store_until(partitioning.pieces() + step);
      resume->save(store, partitioning.pieces(), !more);
    }
  }
  return resume;
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
  const auto begin = Clock::now();
  const bool writes = !options.database.empty();
  // While partitions are counted, the words of those that are wait to be sorted.
  const std::uint64_t most_memory = options.most_memory > 0 && writes
                                        ? std::max<std::uint64_t>(options.most_memory / 2, 1)
                                        : options.most_memory;
  std::optional<KmerFileWriter> writer;
  if (writes) writer.emplace(options.database, options.k, options.canonical, options.counter_bits);
  std::optional<KmerStore> held;
  const auto empty_store = [&]() -> KmerStore& {
    return held.emplace(partitions_for(sequences, options), most_memory, options.scratch);
  };
  std::optional<KmerResume> resume;
  if (!options.resume.empty() || !Partitioning(sequences, options.k, empty_store()).store_fastq())
    resume = partition(sequences, options, empty_store());
  KmerStore& store = *held;
  std::optional<KmerSorter<W>> sorter;
  if (writes) sorter.emplace(options.k, store.words(), most_memory, options.scratch);
  const std::uint64_t most = greatest_count(options.counter_bits);

  Counts counts;
  KmerListing<W> listing(options);
  std::mutex listed;
  std::atomic<std::uint64_t> words_so_far = 0, different_so_far = 0;
  const double stored = seconds_since(begin);
  Progress progress("counting", store.partitions(), "partitions");
  parallel_for(static_cast<std::int64_t>(store.partitions()), [&](std::int64_t number) {
    const auto partition = static_cast<std::size_t>(number);
    const std::uint64_t words = store.words(partition);
    if (words > 0) {
      KmerTally<W> tally;
      // As many different ones as those before had, so that tables are no larger than need be.
      const std::uint64_t before = words_so_far;
      tally.clear(before == 0 ? std::min<std::uint64_t>(words / 4, 1 << 16)
                              : static_cast<std::uint64_t>(static_cast<double>(words) *
                                                           static_cast<double>(different_so_far) /
                                                           static_cast<double>(before)));
      store.drain(partition, [&](std::span<const char> records) {
        if (options.canonical)
          tally_records<W, true>(records, options.k, tally);
        else
          tally_records<W, false>(records, options.k, tally);
      });
      different_so_far += tally.different();
      words_so_far += words;
      KmerListing<W> part(options);
      std::vector<KmerOf<W>> sorted;
      if (writes) sorted.reserve(tally.different());
      tally.for_each([&](const auto& counted) {
        const std::uint64_t count = std::min(counted.count, most);
        part.add(counted.word, count);
        if (writes) sorted.push_back({counted.word, count});
      });
      if (writes) sorter->add(sorted);
      const std::lock_guard lock(listed);
      counts.total += words;
      counts.statistics.pairs += tally.different();
      listing.add(part);
    }
    progress.advance();
  });
  const double tallied = seconds_since(begin);
  if (writes) {
    sorter->write(*writer);
    writer->finish();
  }
  if (resume) resume->remove();
  listing.finish(counts);
  counts.statistics.bytes_nodes = store.bytes();
  counts.bytes_in_file = store.bytes_in_file() + (writes ? sorter->bytes_in_file() : 0);
  counts.description = fmt::format("{} partitions by minimisers of {} bases on the CPU", store.partitions(),
                                   SuperKmers::minimiser_bases(options.k));
  counts.seconds = seconds_since(begin);
  log(LogLevel::info,
      fmt::format("{:.3f} s: reading and cutting {:.3f}, counting {:.3f}, sorting and writing {:.3f}",
                  counts.seconds, stored, tallied - stored, counts.seconds - tallied));
  return counts;
}

}  // namespace

Counts count_in_partitions(io::SequenceStream& sequences, const KmerOptions& options) {
  return options.k <= 32 ? count<Word>(sequences, options) : count<LongWord>(sequences, options);
}

}  // namespace warploom::table
