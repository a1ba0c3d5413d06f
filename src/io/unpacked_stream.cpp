#include "io/unpacked_stream.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::io {
namespace {

constexpr std::size_t kPiece = 1 << 20;

}  // namespace

UnpackedStream::UnpackedStream(const std::filesystem::path& path)
    : stream_(path), stored_(kPiece), inflater_(nullptr, &inflateEnd) {
  begin();
}

UnpackedStream::UnpackedStream(std::string content, std::string name)
    : stream_(std::move(content), std::move(name)), stored_(kPiece), inflater_(nullptr, &inflateEnd) {
  begin();
}

void UnpackedStream::begin() {
  refill();
  if (!is_gzip({stored_.data(), end_})) return;
  auto inflater = std::make_unique<z_stream>();
  if (inflateInit2(inflater.get(), 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  inflater_ = {inflater.release(), [](z_stream* stream) {
                 const int result = inflateEnd(stream);
                 delete stream;
                 return result;
               }};
  within_member_ = true;
}

std::size_t UnpackedStream::read(std::span<char> buffer) {
  check_interrupt();
  return inflater_ ? read_gzip(buffer) : read_plain(buffer);
}

std::size_t UnpackedStream::read_plain(std::span<char> buffer) {
  const std::size_t kept = std::min(buffer.size(), end_ - begin_);
  std::memcpy(buffer.data(), stored_.data() + begin_, kept);
  begin_ += kept;
  const std::size_t got = kept + (kept < buffer.size() ? stream_.read(buffer.subspan(kept)) : 0);
  taken_ += got;
  return got;
}

std::size_t UnpackedStream::read_gzip(std::span<char> buffer) {
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    if (!within_member_) {
      if (!refill()) break;
      begin_member();
      if (!within_member_) continue;
    }
    if (!refill()) refuse("is cut off");
    inflater_->next_in = reinterpret_cast<unsigned char*>(stored_.data() + begin_);
    inflater_->avail_in = static_cast<unsigned>(end_ - begin_);
    inflater_->next_out = reinterpret_cast<unsigned char*>(buffer.data() + filled);
    inflater_->avail_out = static_cast<unsigned>(std::min<std::size_t>(buffer.size() - filled, 1U << 30));
    const unsigned room = inflater_->avail_out;
    const int status = inflate(inflater_.get(), Z_NO_FLUSH);
    const std::size_t used = end_ - begin_ - inflater_->avail_in;
    begin_ += used;
    taken_ += used;
    filled += room - inflater_->avail_out;
    if (status == Z_STREAM_END)
      within_member_ = false;
    else if (status != Z_OK && status != Z_BUF_ERROR)
      refuse(inflater_->msg != nullptr ? inflater_->msg : "does not fit its checksum");
  }
  return filled;
}

/// Behind a member another one begins, or zeros follow, which gzip(1) ignores.
void UnpackedStream::begin_member() {
  if (stored_[begin_] == 0) {
    const auto other = std::find_if(stored_.begin() + static_cast<std::ptrdiff_t>(begin_),
                                    stored_.begin() + static_cast<std::ptrdiff_t>(end_),
                                    [](char byte) { return byte != 0; });
    const auto zeros = static_cast<std::size_t>(other - stored_.begin()) - begin_;
    begin_ += zeros;
    taken_ += zeros;
    if (begin_ < end_) refuse("is followed by zeros and other bytes");
    return;
  }
  if (stored_[begin_] != '\x1f') refuse("is followed by bytes that are no gzip");
  inflateReset(inflater_.get());
  within_member_ = true;
}

bool UnpackedStream::refill() {
  if (begin_ < end_) return true;
  begin_ = 0;
  end_ = stream_.read(stored_);
  return end_ > 0;
}

void UnpackedStream::refuse(const char* why) const {
  throw BadInput(fmt::format("{}: the gzip stream {} (near byte {})", name(), why, taken_));
}

}  // namespace warploom::io
