#include "io/unpacked_stream.hpp"

#include <algorithm>
#include <utility>

#include "warploom/core/progress.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom::io {
namespace {

constexpr std::size_t kHead = 1 << 16;

}  // namespace

UnpackedStream::UnpackedStream(const std::filesystem::path& path, unsigned threads)
    : UnpackedStream(InputStream(path), threads) {}

UnpackedStream::UnpackedStream(std::string content, std::string name, unsigned threads)
    : UnpackedStream(InputStream(std::move(content), std::move(name)), threads) {}

UnpackedStream::UnpackedStream(InputStream stream, unsigned threads) : head_(kHead, '\0') {
  head_.resize(stream.read(head_));
  if (is_gzip(head_))
    gzip_ = std::make_unique<GzipPipeline>(std::move(stream), std::exchange(head_, {}), threads);
  else
    plain_.emplace(std::move(stream));
}

std::size_t UnpackedStream::read(std::span<char> buffer) {
  check_interrupt();
  if (gzip_) return gzip_->read(buffer);
  const std::size_t kept = head_.copy(buffer.data(), buffer.size());
  head_.erase(0, kept);
  const std::size_t got = kept + (kept < buffer.size() ? plain_->read(buffer.subspan(kept)) : 0);
  taken_ += got;
  return got;
}

}  // namespace warploom::io
