#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/input_stream.hpp"
#include "io/gzip_pipeline.hpp"

namespace warploom::io {

/// The bytes of a file, a pipe or standard input from the first to the last; unpacked where they are gzip of
/// one or more members, which the first bytes tell.
class UnpackedStream {
 public:
  /// @param path     "-" is standard input
  /// @param threads  that unpack gzip of members whose lengths are told; one unpacks any other file's
  /// @throws BadInput (as InputStream)
  explicit UnpackedStream(const std::filesystem::path& path, unsigned threads = 1);
  UnpackedStream(std::string content, std::string name, unsigned threads = 1);

  const std::string& name() const { return stream().name(); }
  /// Of the file as it is stored, where that is known.
  std::optional<std::uint64_t> stored_bytes() const { return stream().size(); }
  /// How many of those were taken.
  std::uint64_t stored_taken() const { return gzip_ ? gzip_->taken() : taken_; }
  /// The next bytes. @return how many: less than the buffer has only at the end
  /// @throws BadInput (read error; gzip that is cut off or corrupt), Interrupted
  std::size_t read(std::span<char> buffer);

 private:
  UnpackedStream(InputStream stream, unsigned threads);
  const InputStream& stream() const { return gzip_ ? gzip_->stream() : *plain_; }

  std::optional<InputStream> plain_;  // none: gzip_
  std::string head_;                  // bytes that were taken off it to see what it is
  std::uint64_t taken_ = 0;
  std::unique_ptr<GzipPipeline> gzip_;
};

}  // namespace warploom::io
