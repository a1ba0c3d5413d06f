#include "count/kmer_partitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/over_ranks.hpp"
#include "count/clock.hpp"
#include "count/cut_records.hpp"
#include "count/kmer_exchange.hpp"
#include "count/kmer_file.hpp"
#include "count/kmer_listing.hpp"
#include "count/kmer_resume.hpp"
#include "count/kmer_sorting.hpp"
#include "count/kmer_staging.hpp"
#include "count/kmer_store.hpp"
#include "count/kmer_tally.hpp"
#include "count/kmer_word.hpp"
#include "count/record_tally.hpp"
#include "count/super_kmers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::table {
namespace {

constexpr std::size_t kPiece = 1 << 22;      // letters that a thread takes at once
constexpr std::size_t kText = 1 << 20;       // bytes of FASTQ that it takes at once
constexpr std::uint64_t kWaiting = 1 << 28;  // bytes of blocks that all of them fill, at most
constexpr std::size_t kAhead = 64;           // words that are looked up together
constexpr std::uint64_t kJudged = 1 << 14;   // records that tell whether most come once

/// As few as have tables that stay in a core's cache, so that their staging does, too.
std::size_t partitions_for(const io::SequenceStream& sequences, const KmerOptions& options) {
  const std::optional<std::uint64_t> bytes = sequences.stored_bytes();
  if (!bytes || options.most_memory > 0 || !options.resume.empty()) return 1024;
  return std::clamp<std::size_t>(std::bit_ceil(*bytes >> 18), 64, 1024);
}

/// Threads take pieces in turn: one reads, and unpacks, while the others cut what they have read.
class Partitioning {
 public:
  /// Where options name ranks, each stores every so manieth piece.
  Partitioning(io::SequenceStream& sequences, const KmerOptions& options, KmerStore& store)
      : sequences_(sequences),
        k_(options.k),
        canonical_(options.canonical),
        store_(store),
        ranks_(options.ranks),
        piece_(ranks_ == nullptr ? kPiece : piece_of(sequences, ranks_->count())),
        progress_("reading", sequences.stored_bytes().value_or(0), "bytes") {}

  /// Takes so many pieces that are in the store already.
  void skip(std::uint64_t pieces) {
    std::string piece;
    std::uint64_t more = 0;
    while (pieces_ < pieces && next(piece, more)) progress_.advance(more);
  }
  /// Stores pieces until there were so many in all. @return false where there was nothing more
  bool store_until(std::uint64_t pieces) {
    on_threads([&](SuperKmers& cut, KmerStaging& staging) {
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
  /// Says where all pieces ended.
  std::uint64_t fingerprint() const { return fingerprint_; }

  /// Stores all of FASTQ whose records have four lines: each thread reads its own parts of the files, and
  /// finds the letters. @return false: something else came; the sequences are at their begin again, and what
  /// is in the store is of no use
  bool store_fastq() {
    if (sequences_.stored_taken() > 0) return false;  // rewind() would go back too far
    std::atomic<bool> other = false, some = false;
    on_threads([&](SuperKmers& cut, KmerStaging& staging) {
      std::string memory;
      while (!other) {
        std::optional<io::FastqText> text;
        std::uint64_t more = 0;
        {
          const std::lock_guard lock(reading_);
          text = sequences_.next_fastq(kText, true);
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
      SuperKmers cut(k_, canonical_);
      KmerStaging staging(store_, k_, threads(), kWaiting);
      body(cut, staging);
      staging.flush();
    });
  }
  void store(std::string_view letters, SuperKmers& cut, KmerStaging& staging) const {
    const int bits = std::countr_zero(store_.partitions());
    const auto partition = [&](std::uint32_t minimiser) { return (minimiser * 0x85ebca6b) >> (32 - bits); };
    cut.of(
        letters,
        [&](std::uint32_t minimiser, unsigned words, std::size_t size, const auto& write) {
          staging.add(partition(minimiser), words, size, write);
        },
        [&](std::uint32_t minimiser) { staging.prepare(partition(minimiser)); });
  }
  /// Small enough that all ranks have some, and much the same.
  static std::size_t piece_of(const io::SequenceStream& sequences, std::size_t ranks) {
    constexpr std::size_t kLeast = 1 << 16, kEach = 16;
    return std::clamp<std::size_t>(sequences.stored_bytes().value_or(0) / (kEach * ranks), kLeast, kPiece);
  }
  bool next(std::string& piece, std::uint64_t& more) {
    do {
      ended_ = true;  // also where this throws
      ended_ = !sequences_.next(piece, piece_, static_cast<std::size_t>(k_) - 1);
      if (ended_) return false;
      fingerprint_ =
          (fingerprint_ ^ piece.size()) * 0x9e3779b97f4a7c15 + static_cast<unsigned char>(piece[0]);
    } while (ranks_ != nullptr && pieces_++ % ranks_->count() != ranks_->rank());
    if (ranks_ == nullptr) ++pieces_;
    more = sequences_.stored_taken() - std::exchange(taken_, sequences_.stored_taken());
    return true;
  }

  io::SequenceStream& sequences_;
  int k_;
  bool canonical_;
  KmerStore& store_;
  const Ranks* ranks_;
  std::size_t piece_;  // letters
  Progress progress_;
  std::mutex reading_;
  std::uint64_t taken_ = 0, pieces_ = 0, fingerprint_ = 0;
  bool ended_ = false;
};

/// What a run that goes on has to have the same.
std::string asked(const io::SequenceStream& sequences, const KmerOptions& options) {
  const std::string identity = sequences.identity();
  if (identity.empty())
    throw BadInput("what is resumed has to be files that are there: a pipe cannot be read once more");
  return fmt::format("k = {}{}\n{}", options.k, options.canonical ? ", canonical" : "", identity);
}

/// @return of a run that may be resumed, what to remove when its words are counted
std::optional<KmerResume> partition(io::SequenceStream& sequences, const KmerOptions& options,
                                    KmerStore& store) {
  std::optional<KmerResume> resume;
  if (!options.resume.empty()) resume.emplace(options.resume, asked(sequences, options), store);
  Partitioning partitioning(sequences, options, store);
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

/// What partitions had whose words are counted.
struct Before {
  std::uint64_t words = 0, different = 0, looked_up = 0;
  // Of those whose records were counted.
  std::uint64_t words_of_records = 0, records = 0, different_records = 0;

  void add(const Before& more) {
    words += more.words;
    different += more.different;
    looked_up += more.looked_up;
    words_of_records += more.words_of_records;
    records += more.records;
    different_records += more.different_records;
  }
};

/// Counts the words of a partition at a time: records first, then the words of those that differ. Where most
/// records of the partitions before came once, words at once.
template <class W, bool canonical>
class PartitionTally {
 public:
  explicit PartitionTally(int k) : k_(k), cut_(k) {}

  /// @param before  so that tables are no larger than need be
  void clear(std::uint64_t words, const Before& before) {
    const auto expected = [&](std::uint64_t different, std::uint64_t of, std::uint64_t else_) {
      return of == 0 ? std::min<std::uint64_t>(else_, 1 << 16)
                     : static_cast<std::uint64_t>(static_cast<double>(words) *
                                                  static_cast<double>(different) / static_cast<double>(of));
    };
    had_ = {};
    had_.words = words;
    counts_records_ = before.records < kJudged || before.different_records * 4 <= before.records * 3;
    if (counts_records_)
      records_.clear(expected(before.different_records, before.words_of_records, words / 16));
    words_.clear(expected(before.different, before.words, words / 4));
  }
  void add(std::span<const char> records) {
    if (counts_records_) {
      records_.add(records, k_, [&](const char* record) { add_words(record, 1); });
    } else {
      for (const char* record = records.data(); record < records.data() + records.size();
           record += SuperKmers::bytes(k_, SuperKmers::words_of(record)))
        add_words(record, 1);
    }
  }
  /// Behind the last records.
  const KmerTally<W>& finish() {
    if (counts_records_) {
      cut_.count(
          records_, [&](const char* record) { add_words(record, 1); },
          [&](const char* record, std::uint64_t count, const std::int64_t* more) {
            had_.records += count;
            add_words(record, count, more);
          });
      had_.words_of_records = had_.words;
      had_.different_records = records_.different();
    }
    words_.add(std::span(ahead_).first(std::exchange(waiting_, 0)));
    had_.different = words_.different();
    return words_;
  }
  const Before& had() const { return had_; }  ///< after finish()

 private:
  /// @param more  of each word, beside those of the word before it; null: none
  void add_words(const char* record, std::uint64_t count, const std::int64_t* more = nullptr) {
    had_.looked_up += SuperKmers::words_of(record);
    for_each_word<W, canonical>(record, k_, [&](W word) {
      if (more != nullptr) count += static_cast<std::uint64_t>(*more++);
      ahead_[waiting_++] = {word, count};
      if (waiting_ == kAhead) words_.add(ahead_);
      waiting_ %= kAhead;
    });
  }

  int k_;
  static constexpr std::size_t kRecordWords = 2 * sizeof(W) / sizeof(Word);
  RecordTally<kRecordWords> records_;
  CutRecords<kRecordWords> cut_;
  static_assert(SuperKmers::usual_bytes(sizeof(W) * 4) <= decltype(records_)::kMostBytes &&
                decltype(records_)::kBehind <= KmerStore::kBehind);
  KmerTally<W> words_;
  std::array<typename KmerTally<W>::Counted, kAhead> ahead_ = {};
  std::size_t waiting_ = 0;
  bool counts_records_ = true;
  Before had_ = {};
};

/// Counts partitions, from any thread.
template <class W, bool canonical>
class PartitionCounter {
 public:
  /// @param sorter  takes the words; null: nothing does
  PartitionCounter(const KmerOptions& options, KmerSorter<W>* sorter)
      : options_(options), sorter_(sorter), listing_(options) {}

  /// @param drain  calls what it is given for spans of the partition's records, as KmerStore::drain()
  template <class Drain>
  void count(std::uint64_t words, const Drain& drain) {
    if (words == 0) return;
    std::unique_ptr<Worker> worker;
    Before so_far;
    {
      const std::lock_guard lock(shared_);
      so_far = before_;
      if (!idle_.empty()) {
        worker = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (!worker) worker = std::make_unique<Worker>(options_);
    worker->tally.clear(words, so_far);
    drain([&](std::span<const char> records) { worker->tally.add(records); });
    const KmerTally<W>& tally = worker->tally.finish();
    const std::uint64_t most = greatest_count(options_.counter_bits);
    worker->listing.add(tally.places(), most);
    if (sorter_ != nullptr) {
      // Every place is copied, and the next one over it where it is free: which are is nothing to guess.
      worker->sorted.resize(tally.different() + 1);
      KmerOf<W>* to = worker->sorted.data();
      for (const auto& counted : tally.places()) {
        *to = {counted.word, std::min(counted.count, most)};
        to += counted.count != 0 ? 1 : 0;
      }
      worker->sorted.pop_back();
      sorter_->add(worker->sorted);
    }
    const std::lock_guard lock(shared_);
    before_.add(worker->tally.had());
    idle_.push_back(std::move(worker));
  }

  /// When all are counted: gives back what threads hold.
  void end() {
    for (const std::unique_ptr<Worker>& worker : idle_) listing_.add(worker->listing);
    idle_.clear();
  }
  /// Then: brings all ranks' to rank 0.
  void gather(Ranks& ranks) {
    before_.words = sum_over(ranks, before_.words);
    before_.different = sum_over(ranks, before_.different);
    listing_.gather(ranks);
  }
  void finish(Counts& counts) {
    counts.total = before_.words;
    counts.statistics.pairs = before_.different;
    listing_.finish(counts);
  }
  const Before& had() const { return before_; }

 private:
  // Of a thread that counts; what it allocated serves its next partition.
  struct Worker {
    explicit Worker(const KmerOptions& options) : tally(options.k), listing(options) {}
    PartitionTally<W, canonical> tally;
    KmerListing<W> listing;
    std::vector<KmerOf<W>> sorted = {};
  };

  const KmerOptions& options_;
  KmerSorter<W>* sorter_;
  KmerListing<W> listing_;
  std::mutex shared_;  // of what follows
  std::vector<std::unique_ptr<Worker>> idle_;
  Before before_;
};

/// Reads all, and stores this rank's share.
void partition_share(io::SequenceStream& sequences, const KmerOptions& options, KmerStore& store) {
  const std::string identity = sequences.identity();
  require_same(*options.ranks, identity, "the files");
  require_same(*options.ranks,
               fmt::format("{} {} {} {} {} {} {}", options.k, options.canonical, options.histogram,
                           options.top, options.least, options.counter_bits, options.database.empty()),
               "the options");
  if (identity.empty())
    throw BadInput(
        "several processes read the same files, each for itself: take files that are there, and no pipe");
  Partitioning partitioning(sequences, options, store);
  partitioning.store_until(std::numeric_limits<std::uint64_t>::max());
  require_same(*options.ranks, std::to_string(partitioning.fingerprint()), "the sequences");
}

template <class W, bool canonical>
Counts count(io::SequenceStream& sequences, const KmerOptions& options) {
  const auto begin = Clock::now();
  Ranks* const ranks = options.ranks;
  const bool alone = ranks == nullptr, leads = alone || ranks->rank() == 0;
  const bool writes = !options.database.empty();
  // While partitions are counted, the words of those that are wait to be sorted.
  const std::uint64_t most_memory = options.most_memory > 0 && writes
                                        ? std::max<std::uint64_t>(options.most_memory / 2, 1)
                                        : options.most_memory;
  std::optional<KmerFileWriter> writer;
  if (writes && leads) writer.emplace(options.database, options.k, options.canonical, options.counter_bits);
  const auto pool = std::make_shared<BlockPool>();
  std::optional<KmerStore> held;
  const auto empty_store = [&]() -> KmerStore& {
    return held.emplace(partitions_for(sequences, options), most_memory, options.scratch, pool);
  };
  std::optional<KmerResume> resume;
  if (!alone)
    partition_share(sequences, options, empty_store());
  else if (!options.resume.empty() || !Partitioning(sequences, options, empty_store()).store_fastq())
    resume = partition(sequences, options, empty_store());
  KmerStore& store = *held;
  std::optional<KmerSorter<W>> sorter;
  if (writes)
    sorter.emplace(options.k, alone ? store.words() : sum_over(*ranks, store.words()), most_memory,
                   options.scratch, pool);

  PartitionCounter<W, canonical> counter(options, sorter ? &*sorter : nullptr);
  const double stored = seconds_since(begin);
  Progress progress("counting", store.partitions() / (alone ? 1 : ranks->count()), "partitions");
  if (alone)
    parallel_for(static_cast<std::int64_t>(store.partitions()), [&](std::int64_t number) {
      const auto partition = static_cast<std::size_t>(number);
      counter.count(store.words(partition), [&](const auto& take) { store.drain(partition, take); });
      progress.advance();
    });
  else
    exchange_partitions(
        *ranks, store,
        [&](std::size_t, const KmerRecords& records) {
          counter.count(records.words, [&](const auto& take) {
            for (const std::span<const char> part : records.parts) take(part);
          });
          progress.advance();
        },
        [](std::size_t, std::size_t) {});
  counter.end();
  const double tallied = seconds_since(begin);
  if (writes) {
    if (alone)
      sorter->write(*writer);
    else
      sorter->write(*ranks, writer ? &*writer : nullptr);
    if (writer) writer->finish();
  }
  if (resume) resume->remove();
  const Before had = counter.had();
  Counts counts;
  if (!alone) counter.gather(*ranks);
  if (leads) counter.finish(counts);
  counts.statistics.bytes_nodes = store.bytes();
  counts.bytes_in_file = store.bytes_in_file() + (writes ? sorter->bytes_in_file() : 0);
  counts.description = fmt::format("{} partitions by minimisers of {} bases on the CPU{}", store.partitions(),
                                   SuperKmers::minimiser_bases(options.k),
                                   alone ? "" : fmt::format("s of {} processes", ranks->count()));
  counts.seconds = seconds_since(begin);
  log(LogLevel::info,
      fmt::format("{:.3f} s: reading and cutting {:.3f}, counting {:.3f} ({} of {} words looked up), sorting "
                  "and writing {:.3f}",
                  counts.seconds, stored, tallied - stored, had.looked_up, had.words,
                  counts.seconds - tallied));
  return counts;
}

}  // namespace

Counts count_in_partitions(io::SequenceStream& sequences, const KmerOptions& options) {
  if (options.k <= 32)
    return options.canonical ? count<Word, true>(sequences, options) : count<Word, false>(sequences, options);
  return options.canonical ? count<LongWord, true>(sequences, options)
                           : count<LongWord, false>(sequences, options);
}

}  // namespace warploom::table
