#include "count/kmer_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "count/kmer_file.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::table {
namespace {

template <class T>
void put(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
bool take(std::string_view& text, T& value) {
  if (text.size() < sizeof value) return false;
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return true;
}

}  // namespace

std::vector<char*> BlockPool::take(std::size_t count) {
  std::vector<char*> blocks;
  blocks.reserve(count);
  const std::lock_guard lock(mutex_);
  for (; blocks.size() < count; free_.pop_back()) {
    if (free_.empty()) {
      std::unique_ptr<char[], Free> slab(static_cast<char*>(std::aligned_alloc(kPage, kSlab)));
      if (!slab) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
      ::madvise(slab.get(), kSlab, MADV_HUGEPAGE);
#endif
      slabs_.push_back(std::move(slab));
      for (std::size_t at = kSlab / kStride; at-- > 0;) free_.push_back(slabs_.back().get() + at * kStride);
    }
    blocks.push_back(free_.back());
  }
  return blocks;
}

void BlockPool::give(std::span<char* const> blocks) {
  const std::lock_guard lock(mutex_);
  free_.insert(free_.end(), blocks.begin(), blocks.end());
}

void KmerStore::fail(const char* what, int error) const {
  if (!named_.empty())
    throw BadInput(fmt::format("cannot {} {}: {}; choose another folder with enough space", what,
                               named_.string(), std::generic_category().message(error)));
  throw BadInput(fmt::format("cannot {} a temporary file in {}: {}; choose another folder with enough space",
                             what, scratch_.string(), std::generic_category().message(error)));
}

KmerStore::KmerStore(std::size_t partitions, std::uint64_t most_memory, std::filesystem::path scratch,
                     std::shared_ptr<BlockPool> pool)
    : pool_(std::move(pool)),
      partitions_(partitions),
      most_memory_(most_memory),
      scratch_(scratch.empty() ? std::filesystem::temp_directory_path() : std::move(scratch)) {}

KmerStore::~KmerStore() {
  for (Partition& partition : partitions_) give_back(partition);
  if (file_ >= 0) ::close(file_);
}

void KmerStore::give_back(Partition& partition) {
  std::vector<char*> blocks;
  for (const Block& block : partition.blocks) blocks.push_back(block.bytes);
  partition.blocks = {};
  pool_->give(blocks);
}

void KmerStore::adopt(std::size_t partition, std::span<char> block, std::uint64_t words) {
  Partition& to = partitions_[partition];
  const std::lock_guard lock(to.mutex);
  to.words += words;
  to.bytes += block.size();
  to.blocks.push_back({block.data(), block.size()});
}

void KmerStore::append(std::size_t partition, std::span<const char> records, std::uint64_t words) {
  Partition& to = partitions_[partition];
  const std::lock_guard lock(to.mutex);
  to.words += words;
  to.bytes += records.size();
  if (to.blocks.empty() || to.blocks.back().used + records.size() > kBlock) {
    if (most_memory_ > 0 && !to.blocks.empty() && in_memory_ + kBlock > most_memory_) {
      put_aside(to);
    } else {
      to.blocks.push_back({pool_->take(1).front(), 0});
      in_memory_ += kBlock;
    }
  }
  Block& block = to.blocks.back();
  std::memcpy(block.bytes + block.used, records.data(), records.size());
  block.used += records.size();
}

/// Writes the last block to the file, and empties it.
void KmerStore::put_aside(Partition& partition) {
  {
    // Not std::call_once, which waits for ever with ThreadSanitizer, and with some libraries of C, once this
    // has thrown.
    const std::lock_guard lock(opening_);
    if (file_ < 0) file_ = ::open(scratch_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file_ < 0) fail("make", errno);
  }
  Block& block = partition.blocks.back();
  const Extent extent{in_file_.fetch_add(block.used), static_cast<std::uint32_t>(block.used),
                      crc32({block.bytes, block.used})};
  for (std::size_t written = 0; written < extent.bytes;) {
    const ssize_t put = ::pwrite(file_, block.bytes + written, extent.bytes - written,
                                 static_cast<off_t>(extent.begin + written));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write", errno);
    written += static_cast<std::size_t>(put);
  }
  partition.in_file.push_back(extent);
  block.used = 0;
}

std::vector<char> KmerStore::read(const Extent& extent) const {
  std::vector<char> bytes(extent.bytes + kBehind);
  for (std::size_t filled = 0; filled < extent.bytes;) {
    const ssize_t got = ::pread(file_, bytes.data() + filled, extent.bytes - filled,
                                static_cast<off_t>(extent.begin + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("read", got < 0 ? errno : EIO);
    filled += static_cast<std::size_t>(got);
  }
  check_interrupt();
  if (crc32(std::span(bytes).first(extent.bytes)) != extent.crc) fail("read", EIO);
  return bytes;
}

void KmerStore::keep_in(const std::filesystem::path& file) {
  named_ = file;
  file_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail("make", errno);
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0)
    throw BadInput(
        fmt::format("{}: another run is using it; choose another folder, or wait for it", file.string()));
}

std::string KmerStore::checkpoint() {
  for (Partition& partition : partitions_)
    for (; !partition.blocks.empty(); partition.blocks.pop_back(), in_memory_ -= kBlock) {
      if (partition.blocks.back().used > 0) put_aside(partition);
      pool_->give(std::array{partition.blocks.back().bytes});
    }
  if (::fdatasync(file_) != 0) fail("write", errno);
  std::string text;
  put(text, static_cast<std::uint64_t>(partitions_.size()));
  put(text, in_file_.load());
  put(text, this->bytes());
  for (const Partition& partition : partitions_) {
    put(text, partition.words);
    put(text, static_cast<std::uint64_t>(partition.in_file.size()));
    for (const Extent& extent : partition.in_file) put(text, extent);
  }
  return text;
}

bool KmerStore::restore(std::string_view checkpoint) {
  std::uint64_t partitions = 0, in_file = 0, bytes = 0;
  if (!take(checkpoint, partitions) || !take(checkpoint, in_file) || !take(checkpoint, bytes)) return false;
  if (partitions != partitions_.size()) return false;
  for (Partition& partition : partitions_) {
    std::uint64_t extents = 0;
    if (!take(checkpoint, partition.words) || !take(checkpoint, extents) ||
        extents > checkpoint.size() / sizeof(Extent))
      return false;
    partition.in_file.resize(extents);
    partition.bytes = 0;
    for (Extent& extent : partition.in_file) {
      take(checkpoint, extent);
      if (extent.bytes > kMostExtent || extent.begin + extent.bytes > in_file) return false;
      partition.bytes += extent.bytes;
    }
  }
  const off_t size = ::lseek(file_, 0, SEEK_END);
  if (size < static_cast<off_t>(in_file) || ::ftruncate(file_, static_cast<off_t>(in_file)) != 0)
    return false;
  in_file_ = in_file;
  return checkpoint.empty() && this->bytes() == bytes;
}

}  // namespace warploom::table
