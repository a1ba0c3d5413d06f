#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/over_ranks.hpp"
#include "count/kmer_blocks.hpp"
#include "count/kmer_word.hpp"
#include "warploom/core/file.hpp"
#include "warploom/count/kmer_database.hpp"

namespace warploom::table {

/// CRC-32 of RFC 1952.
std::uint32_t crc32(std::span<const char> bytes, std::uint32_t before = 0);

struct KmerBlock {
  LongWord first = 0;
  std::uint64_t offset = 0;
  std::uint32_t words = 0, crc = 0;
};

/// Blocks that follow one another, with offsets from the first.
struct KmerBlocks {
  std::string bytes = {};
  std::vector<KmerBlock> blocks = {};
  std::uint64_t different = 0, total = 0, most = 0;

  /// As a message to another rank, and back.
  void put(std::string& message) const {
    put_bytes(message,
              std::array{different, total, most, std::uint64_t{blocks.size()}, std::uint64_t{bytes.size()}});
    put_bytes(message, std::span(blocks));
    message += bytes;
  }
  static KmerBlocks take(std::string_view& message) {
    KmerBlocks taken;
    const auto [different, total, most, blocks, bytes] = take_bytes<std::array<std::uint64_t, 5>>(message);
    taken.different = different, taken.total = total, taken.most = most;
    taken.blocks.resize(blocks);
    take_bytes(message, std::span(taken.blocks));
    taken.bytes.resize(bytes);
    take_bytes(message, std::span(taken.bytes));
    return taken;
  }
};

std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b);
inline std::uint64_t greatest_count(int counter_bits) { return ~std::uint64_t{0} >> (64 - counter_bits); }

/// Takes words, the least first, and makes blocks of them.
template <class W>
class KmerEncoder {
 public:
  explicit KmerEncoder(int k) : width_(2 * k) { waiting_.reserve(kBlockWords); }

  void add(W word, std::uint64_t count) {
    waiting_.push_back({word, count});
    if (waiting_.size() == kBlockWords) end_block();
  }
  KmerBlocks finish() {
    end_block();
    return std::exchange(made_, {});
  }

 private:
  void end_block() {
    if (waiting_.empty()) return;
    const std::size_t begin = made_.bytes.size();
    encode_block<W>(waiting_, width_, made_.bytes);
    made_.blocks.push_back({waiting_.front().word, begin, static_cast<std::uint32_t>(waiting_.size()),
                            crc32(std::span(made_.bytes).subspan(begin))});
    made_.different += waiting_.size();
    for (const KmerOf<W>& word : waiting_) {
      made_.total = saturated_sum(made_.total, word.count);
      made_.most = std::max(made_.most, word.count);
    }
    waiting_.clear();
  }

  int width_;
  std::vector<KmerOf<W>> waiting_;
  KmerBlocks made_;
};

/// Writes a database, which has its name when it is complete, and before lies beside it under another.
class KmerFileWriter {
 public:
  /// @throws BadInput, as finish(): the file cannot be written, with its name
  KmerFileWriter(const std::filesystem::path& path, int k, bool canonical, int counter_bits);
  KmerFileWriter(const KmerFileWriter&) = delete;
  KmerFileWriter& operator=(const KmerFileWriter&) = delete;
  ~KmerFileWriter();

  /// Blocks of words behind all that were appended.
  void append(KmerBlocks blocks);
  KmerDatabaseInfo finish();

 private:
  void put(std::span<const char> bytes);
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_, target_, staged_;
  int descriptor_ = -1;
  std::uint64_t offset_ = 0;
  std::vector<KmerBlock> index_;
  KmerDatabaseInfo info_;
};

/// A database that is open; several threads may read.
class KmerFile {
 public:
  /// @throws BadInput (as kmer_database_info())
  explicit KmerFile(const std::filesystem::path& path);

  const std::string& name() const { return name_; }
  const KmerDatabaseInfo& info() const { return info_; }
  const std::vector<KmerBlock>& blocks() const { return index_; }
  /// The block in which a word is, if it is anywhere.
  std::size_t block_of(LongWord word) const;
  /// The words of a block. @throws BadInput (corrupt), Interrupted
  template <class W>
  void read(std::size_t block, std::vector<KmerOf<W>>& words) const;

 private:
  [[noreturn]] void corrupt(const std::string& what) const;

  std::string name_;
  InputFile file_;
  KmerDatabaseInfo info_;
  std::vector<KmerBlock> index_;
  std::uint64_t index_begin_ = 0;
};

}  // namespace warploom::table
