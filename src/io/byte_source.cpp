#include "io/byte_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::io {
namespace {

constexpr std::uint64_t kLeastRead = 1 << 20;

}  // namespace

ByteSource::ByteSource(const std::filesystem::path& path) : name_(path.string()), file_(path) {
  const bool compressed = path.extension() == ".gz";
  if (file_->size() && !compressed) {
    size_ = *file_->size();
    return;
  }
  piece_ = file_->contents();
  if (compressed) piece_ = gunzip(piece_, name_, kMaxFileBytes);
  size_ = piece_.size();
  file_.reset();
}

ByteSource::ByteSource(std::string content, std::string name)
    : name_(std::move(name)), size_(content.size()), piece_(std::move(content)) {}

std::string_view ByteSource::view(std::uint64_t offset, std::uint64_t count) {
  if (offset > size_ || size_ - offset < count)
    throw BadInput(fmt::format("{}: cut off: bytes {} to {} are missing, it has {} bytes", name_, offset,
                               offset + count, size_));
  const bool here =
      offset >= begin_ && offset - begin_ <= piece_.size() && piece_.size() - (offset - begin_) >= count;
  if (!here) {
    check_interrupt();
    piece_.resize(std::min(std::max(count, kLeastRead), size_ - offset));
    begin_ = offset;
    if (file_->read_at(offset, piece_) != piece_.size())
      throw BadInput(fmt::format("{}: it became shorter while it was read", name_));
  }
  return std::string_view(piece_).substr(offset - begin_, count);
}

std::string_view ByteSource::all() {
  if (size_ > kMaxFileBytes)
    throw BadInput(fmt::format("{} has {} bytes, the limit of this form is {}; is it the right file?", name_,
                               size_, kMaxFileBytes));
  return view(0, size_);
}

}  // namespace warploom::io
