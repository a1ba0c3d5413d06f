#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "count/kmer_store.hpp"
#include "count/large_pages.hpp"
#include "count/super_kmers.hpp"

namespace warploom::table {

/// What a thread has of records for each partition, before they are stored: in blocks of the store, which get
/// there as they are, or, where those would take too much memory, in less, which is copied.
class KmerStaging {
 public:
  /// @param threads  that have one
  KmerStaging(KmerStore& store, int k, std::size_t threads, std::uint64_t most_memory)
      : store_(store), largest_(SuperKmers::bytes(k, SuperKmers::kMostWords)), have_(store.partitions()) {
    static_assert(SuperKmers::kBehind <= KmerStore::kBehind);
    blocks_ = store.keeps_all() && threads * store.partitions() * KmerStore::kBlock <= most_memory;
    most_ = blocks_ ? KmerStore::kBlock - largest_ : kStaged;
    const std::size_t room = kStaged + largest_ + SuperKmers::kBehind;
    if (!blocks_) bytes_.resize(room * have_.size());
    for (std::size_t partition = 0; partition < have_.size(); ++partition)
      have_[partition].begin = blocks_ ? next_block() : bytes_.data() + partition * room;
  }
  KmerStaging(const KmerStaging&) = delete;
  KmerStaging& operator=(const KmerStaging&) = delete;
  ~KmerStaging() {
    if (!blocks_) return;
    for (const Have& have : have_) free_.push_back(have.begin);
    store_.give_blocks(free_);
  }

  /// Something is to be added soon.
  void prepare(std::size_t partition) const {
    const Have& have = have_[partition];
    __builtin_prefetch(have.begin + have.bytes, 1);
    __builtin_prefetch(have.begin + have.bytes + 64, 1);  // it may begin a line of the cache
  }
  /// @param write  as SuperKmers::of() hands it on
  template <class Write>
  void add(std::size_t partition, unsigned words, std::size_t size, const Write& write) {
    Have& have = have_[partition];
    write(have.begin + have.bytes);
    have.words += words;
    have.bytes += static_cast<std::uint32_t>(size);
    if (have.bytes > most_) hand_on(partition);
  }
  /// Hands on all that there is.
  void flush() {
    for (std::size_t partition = 0; partition < have_.size(); ++partition) copy(partition);
  }

 private:
  static constexpr std::size_t kStaged = 512;  // bytes
  static constexpr std::size_t kTaken = 32;    // blocks

  struct Have {
    char* begin = nullptr;
    std::uint32_t bytes = 0, words = 0;
  };

  char* next_block() {
    if (free_.empty()) free_ = store_.take_blocks(kTaken);
    char* const block = free_.back();
    free_.pop_back();
    return block;
  }
  void hand_on(std::size_t partition) {
    if (!blocks_) return copy(partition);
    Have& have = have_[partition];
    char* const next = next_block();
    const Have full = std::exchange(have, {.begin = next});
    store_.adopt(partition, {full.begin, full.bytes}, full.words);
  }
  void copy(std::size_t partition) {
    Have& have = have_[partition];
    if (have.bytes == 0) return;
    store_.append(partition, {have.begin, have.bytes}, have.words);
    have.bytes = have.words = 0;
  }

  KmerStore& store_;
  std::size_t largest_, most_ = 0;  // bytes: of a record; that a partition has before it is handed on
  bool blocks_ = false;
  LargeVector<char> bytes_;  // where they are no blocks
  std::vector<char*> free_;  // blocks
  std::vector<Have> have_;
};

}  // namespace warploom::table
