#include "count/kmer_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::table {
namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& folder, int error) {
  throw BadInput(fmt::format("cannot {} a temporary file in {}: {}; choose another folder with enough space",
                             what, folder.string(), std::generic_category().message(error)));
}

}  // namespace

KmerStore::KmerStore(std::size_t partitions, std::uint64_t most_memory, std::filesystem::path scratch)
    : partitions_(partitions),
      mutexes_(std::make_unique<std::mutex[]>(partitions)),
      most_memory_(most_memory),
      scratch_(scratch.empty() ? std::filesystem::temp_directory_path() : std::move(scratch)) {}

KmerStore::~KmerStore() {
  if (file_ >= 0) ::close(file_);
}

void KmerStore::append(std::size_t partition, std::span<const char> records, std::uint64_t words) {
  const std::lock_guard lock(mutexes_[partition]);
  Partition& to = partitions_[partition];
  to.words += words;
  bytes_ += records.size();
  if (to.blocks.empty() || to.blocks.back().used + records.size() > kBlock) {
    if (most_memory_ > 0 && !to.blocks.empty() && in_memory_ + kBlock > most_memory_) {
      put_aside(to);
    } else {
      to.blocks.push_back({std::make_unique_for_overwrite<char[]>(kBlock), 0});
      in_memory_ += kBlock;
    }
  }
  Block& block = to.blocks.back();
  std::memcpy(block.bytes.get() + block.used, records.data(), records.size());
  block.used += records.size();
}

/// Writes the last block to the file, and empties it.
void KmerStore::put_aside(Partition& partition) {
  std::call_once(opened_, [this] {
    file_ = ::open(scratch_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file_ < 0) fail("make", scratch_, errno);
  });
  Block& block = partition.blocks.back();
  const Extent extent{in_file_.fetch_add(block.used), block.used};
  for (std::size_t written = 0; written < extent.bytes;) {
    const ssize_t put = ::pwrite(file_, block.bytes.get() + written, extent.bytes - written,
                                 static_cast<off_t>(extent.begin + written));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("write", scratch_, errno);
    written += static_cast<std::size_t>(put);
  }
  partition.in_file.push_back(extent);
  block.used = 0;
}

std::vector<char> KmerStore::read(const Extent& extent) const {
  std::vector<char> bytes(extent.bytes);
  for (std::size_t filled = 0; filled < bytes.size();) {
    const ssize_t got = ::pread(file_, bytes.data() + filled, bytes.size() - filled,
                                static_cast<off_t>(extent.begin + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("read", scratch_, got < 0 ? errno : EIO);
    filled += static_cast<std::size_t>(got);
  }
  check_interrupt();
  return bytes;
}

}  // namespace warploom::table
