#include "count/kmer_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>

#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/count/count.hpp"

namespace warploom::table {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kFileBegins = "WPLKMERS", kFileEnds = "WPLKMEND";

struct FileHeader {
  char magic[8] = {};
  std::uint32_t version = 0, k = 0, canonical = 0, counter_bits = 0;
  char nothing[36] = {};
  std::uint32_t crc = 0;
};
struct FileFooter {
  std::uint64_t index = 0, blocks = 0, different = 0, total = 0, most = 0;
  std::uint32_t index_crc = 0;
  char nothing[8] = {};
  std::uint32_t crc = 0;
  char magic[8] = {};
};
static_assert(sizeof(FileHeader) == 64 && sizeof(FileFooter) == 64 && sizeof(KmerBlock) == 32);

template <class T>
std::span<const char> bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::uint32_t crc_of(const FileHeader& header) { return crc32(bytes_of(header).first(60)); }
std::uint32_t crc_of(const FileFooter& footer) { return crc32(bytes_of(footer).first(52)); }

constexpr auto kCrcTables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t table = 1; table < 8; ++table)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[table][byte] = (tables[table - 1][byte] >> 8) ^ tables[0][tables[table - 1][byte] & 255];
  return tables;
}();

}  // namespace

std::uint32_t crc32(std::span<const char> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t next = 0;
    std::memcpy(&next, bytes.data(), 8);
    next ^= crc;
    crc = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) crc ^= kCrcTables[7 - byte][(next >> (8 * byte)) & 255];
  }
  for (const char byte : bytes)
    crc = (crc >> 8) ^ kCrcTables[0][(crc ^ static_cast<unsigned char>(byte)) & 255];
  return ~crc;
}

std::uint64_t saturated_sum(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max()
                                                           : a + b;
}

KmerFileWriter::KmerFileWriter(const fs::path& path, int k, bool canonical, int counter_bits)
    : path_(path), target_(path), info_{.k = k, .canonical = canonical, .counter_bits = counter_bits} {
  std::error_code ignored;
  if (fs::exists(path, ignored)) target_ = fs::canonical(path, ignored);
  if (struct stat status{}; ::stat(target_.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);  // a pipe, or /dev/null
  } else {
    static std::atomic<unsigned> counter = 0;
    staged_ = target_.parent_path() /
              fmt::format(".{}.{}.{}.kmers", target_.filename().string(), getpid(), counter++);
    descriptor_ = ::open(staged_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) {
    const int error = errno;
    staged_.clear();
    fail(error);
  }
  FileHeader header{.version = kVersion,
                    .k = static_cast<std::uint32_t>(k),
                    .canonical = canonical ? 1u : 0u,
                    .counter_bits = static_cast<std::uint32_t>(counter_bits)};
  std::ranges::copy(kFileBegins, header.magic);
  header.crc = crc_of(header);
  try {
    put(bytes_of(header));
  } catch (...) {
    ::close(descriptor_);
    ::unlink(staged_.c_str());
    throw;
  }
}

KmerFileWriter::~KmerFileWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!staged_.empty()) ::unlink(staged_.c_str());
}

void KmerFileWriter::fail(int error) const {
  throw BadInput(fmt::format("cannot write {}: {}", path_.string(), std::generic_category().message(error)));
}

void KmerFileWriter::put(std::span<const char> bytes) {
  check_interrupt();
  offset_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void KmerFileWriter::append(KmerBlocks blocks) {
  for (KmerBlock& block : blocks.blocks) {
    block.offset += offset_;
    index_.push_back(block);
  }
  put(blocks.bytes);
  info_.different += blocks.different;
  info_.total = saturated_sum(info_.total, blocks.total);
  info_.most = std::max(info_.most, blocks.most);
}

KmerDatabaseInfo KmerFileWriter::finish() {
  FileFooter footer{.index = offset_,
                    .blocks = index_.size(),
                    .different = info_.different,
                    .total = info_.total,
                    .most = info_.most};
  const std::span<const char> index(reinterpret_cast<const char*>(index_.data()),
                                    index_.size() * sizeof(KmerBlock));
  footer.index_crc = crc32(index);
  footer.crc = crc_of(footer);
  std::ranges::copy(kFileEnds, footer.magic);
  put(index);
  put(bytes_of(footer));
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (!staged_.empty() && ::rename(staged_.c_str(), target_.c_str()) != 0) fail(errno);
  staged_.clear();
  return info_;
}

KmerFile::KmerFile(const fs::path& path) : name_(path.string()), file_(path) {
  const std::string remedy = "; make it again, or copy it again";
  if (!file_.size()) throw BadInput(name_ + ": a database of k-mers is a file, no pipe; store it first");
  const std::uint64_t size = *file_.size();
  FileHeader header;
  const std::size_t got = file_.read_at(0, {reinterpret_cast<char*>(&header), sizeof header});
  if (got < kFileBegins.size() || std::string_view(header.magic, 8) != kFileBegins)
    throw BadInput(fmt::format(
        "{}: no database of k-mers; `warploom table count --kmer K --database FILE` makes one", name_));
  if (got < sizeof header || size < sizeof(FileHeader) + sizeof(FileFooter))
    throw BadInput(fmt::format("{}: cut off after {} bytes{}", name_, size, remedy));
  if (header.version != kVersion)
    throw BadInput(fmt::format(
        "{}: a database of k-mers of version {}, this program reads version {}; count again, or read it with the "
        "program that wrote it",
        name_, header.version, kVersion));
  if (header.crc != crc_of(header) || header.k < 1 || header.k > kMostBases || header.canonical > 1 ||
      header.counter_bits < 1 || header.counter_bits > 64)
    corrupt("its header, bytes 0 to 63");
  FileFooter footer;
  file_.read_at(size - sizeof footer, {reinterpret_cast<char*>(&footer), sizeof footer});
  if (std::string_view(footer.magic, 8) != kFileEnds)
    throw BadInput(
        fmt::format("{}: cut off after {} bytes, where no end of a database is{}", name_, size, remedy));
  const std::uint64_t most_blocks = size / sizeof(KmerBlock);
  if (footer.crc != crc_of(footer) || footer.blocks > most_blocks ||
      footer.index + footer.blocks * sizeof(KmerBlock) + sizeof footer != size)
    corrupt(fmt::format("its last 64 bytes of {}", size));
  index_.resize(footer.blocks);
  index_begin_ = footer.index;
  const std::span<char> index(reinterpret_cast<char*>(index_.data()), index_.size() * sizeof(KmerBlock));
  file_.read_at(footer.index, index);
  if (crc32(index) != footer.index_crc)
    corrupt(fmt::format("its index, bytes {} to {}", footer.index, size - sizeof footer - 1));
  info_ = {static_cast<int>(header.k), header.canonical != 0, static_cast<int>(header.counter_bits),
           footer.different,           footer.total,          footer.most};
  std::uint64_t different = 0, offset = sizeof(FileHeader);
  for (std::size_t block = 0; block < index_.size(); ++block) {
    const KmerBlock& one = index_[block];
    const std::uint64_t end = block + 1 < index_.size() ? index_[block + 1].offset : index_begin_;
    if (one.offset != offset || end < offset || one.words == 0 || one.words > kBlockWords ||
        one.first >> (2 * header.k) != 0 || (block > 0 && one.first <= index_[block - 1].first))
      corrupt(fmt::format("the index's entry {}", block));
    different += one.words;
    offset = end;
  }
  if (different != footer.different || offset != index_begin_) corrupt("its index");
}

void KmerFile::corrupt(const std::string& what) const {
  throw BadInput(fmt::format("{}: corrupt: {}; make it again, or copy it again", name_, what));
}

std::size_t KmerFile::block_of(LongWord word) const {
  const auto behind = std::ranges::upper_bound(index_, word, {}, &KmerBlock::first);
  return behind == index_.begin() ? 0 : static_cast<std::size_t>(behind - index_.begin()) - 1;
}

template <class W>
void KmerFile::read(std::size_t number, std::vector<KmerOf<W>>& words) const {
  check_interrupt();
  const KmerBlock& block = index_[number];
  const std::uint64_t end = number + 1 < index_.size() ? index_[number + 1].offset : index_begin_;
  const std::size_t size = end - block.offset;
  const auto where = [&] { return fmt::format("block {}, bytes {} to {}", number, block.offset, end - 1); };
  if (size > 2 + kBlockWords * 32) corrupt(where());
  std::vector<char> bytes(size + kBlockPadding);
  const std::span<char> content = std::span(bytes).first(size);
  if (file_.read_at(block.offset, content) != size || crc32(content) != block.crc) corrupt(where());
  if (!decode_block<W>(content, static_cast<W>(block.first), block.words, 2 * info_.k, words) ||
      (number + 1 < index_.size() && words.back().word >= static_cast<W>(index_[number + 1].first)))
    corrupt(where());
}

template void KmerFile::read(std::size_t, std::vector<KmerOf<Word>>&) const;
template void KmerFile::read(std::size_t, std::vector<KmerOf<LongWord>>&) const;

}  // namespace warploom::table
