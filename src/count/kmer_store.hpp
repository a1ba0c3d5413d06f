#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warploom::table {

/// Memory in blocks, of large pages where the system has some: of small ones a tenth of the time of counting
/// went into getting them. From any thread; what is given back is there for the next, until this is gone.
class BlockPool {
 public:
  static constexpr std::size_t kBlock = 1 << 13;
  static constexpr std::size_t kBehind = 32;  // bytes of it behind a block

  std::vector<char*> take(std::size_t count);
  void give(std::span<char* const> blocks);

 private:
  static constexpr std::size_t kPage = 1 << 21, kSlab = 2 * kPage, kStride = kBlock + 64;
  struct Free {
    void operator()(char* slab) const { std::free(slab); }
  };

  std::mutex mutex_;
  std::vector<char*> free_;
  std::vector<std::unique_ptr<char[], Free>> slabs_;
};

/// Records in partitions, which several threads fill and then read: in memory, and beyond so many bytes in a
/// file without a name, which is gone when the process is, unless keep_in() names one.
class KmerStore {
 public:
  /// @param most_memory  bytes of records that stay in memory; 0: all
  /// @param scratch      a folder for the rest; empty: the system's for temporary files
  /// @param pool         of other stores, too
  KmerStore(std::size_t partitions, std::uint64_t most_memory, std::filesystem::path scratch,
            std::shared_ptr<BlockPool> pool = std::make_shared<BlockPool>());
  KmerStore(const KmerStore&) = delete;
  KmerStore& operator=(const KmerStore&) = delete;
  ~KmerStore();

  /// What goes beyond goes to this file, which stays. Before anything is appended.
  /// @throws BadInput (cannot be opened, another process has it)
  void keep_in(const std::filesystem::path& file);
  /// Puts all into the file. @return what restore() needs
  std::string checkpoint();
  /// As it was then. @return false where that is no checkpoint of so many partitions, or the file lacks a
  /// part
  bool restore(std::string_view checkpoint);

  static constexpr std::size_t kBlock = BlockPool::kBlock;
  static constexpr std::size_t kBehind = BlockPool::kBehind;

  std::size_t partitions() const { return partitions_.size(); }
  bool keeps_all() const { return most_memory_ == 0 && named_.empty(); }  ///< in memory
  /// Blocks to be filled with whole records, where it keeps all. Each is for adopt() or give_blocks().
  std::vector<char*> take_blocks(std::size_t count) { return pool_->take(count); }
  void give_blocks(std::span<char* const> blocks) { pool_->give(blocks); }
  void adopt(std::size_t partition, std::span<char> block, std::uint64_t words);
  /// Appends whole records, at most kBlock bytes. @throws BadInput (the file: no such folder, disk full),
  /// OutOfMemory
  void append(std::size_t partition, std::span<const char> records, std::uint64_t words);
  std::uint64_t words(std::size_t partition) const { return partitions_[partition].words; }
  /// Calls take(records) for spans of whole records, behind which kBehind bytes more can be read, and forgets
  /// them.
  template <class Take>
  void drain(std::size_t partition, const Take& take) {
    Partition& from = partitions_[partition];
    for (const Extent& extent : from.in_file) take(std::span<const char>(read(extent)).first(extent.bytes));
    for (std::size_t at = 0; at < from.blocks.size(); ++at) {
      // What the processor fetches ahead by itself ends with a block.
      if (at + 1 < from.blocks.size())
        for (std::size_t byte = 0; byte < 1024; byte += 64)
          __builtin_prefetch(from.blocks[at + 1].bytes + byte);
      take(std::span<const char>(from.blocks[at].bytes, from.blocks[at].used));
    }
    give_back(from);
    from.in_file = {};
    from.words = 0;
  }
  std::uint64_t words() const {
    std::uint64_t words = 0;
    for (const Partition& partition : partitions_) words += partition.words;
    return words;
  }
  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const Partition& partition : partitions_) bytes += partition.bytes;
    return bytes;
  }
  std::uint64_t bytes_in_file() const { return in_file_; }

 private:
  static constexpr std::size_t kMostExtent = 1 << 16;  // that a checkpoint may have
  struct Block {
    char* bytes = nullptr;  // of pool_
    std::size_t used = 0;
  };
  struct Extent {
    std::uint64_t begin = 0;
    std::uint32_t bytes = 0, crc = 0;
  };
  /// In lines of the cache of its own: neighbours are other threads'.
  struct alignas(128) Partition {
    std::mutex mutex = {};
    std::vector<Block> blocks = {};
    std::vector<Extent> in_file = {};
    std::uint64_t words = 0;
    std::uint64_t bytes = 0;  // of all its records, those that were forgotten too
  };

  void put_aside(Partition& partition);
  void give_back(Partition& partition);
  [[noreturn]] void fail(const char* what, int error) const;
  std::vector<char> read(const Extent& extent) const;

  std::shared_ptr<BlockPool> pool_;
  std::vector<Partition> partitions_;
  std::uint64_t most_memory_;
  std::filesystem::path scratch_, named_;
  std::mutex opening_;
  int file_ = -1;
  std::atomic<std::uint64_t> in_memory_ = 0, in_file_ = 0;
};

}  // namespace warploom::table
