#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/input_stream.hpp"

struct z_stream_s;

namespace warploom::io {

/// The bytes of a file, a pipe or standard input from the first to the last; unpacked where they are gzip of
/// one or more members, which the first bytes tell. Takes 1 MiB, whatever there is.
class UnpackedStream {
 public:
  /// @param path  "-" is standard input
  /// @throws BadInput (as InputStream)
  explicit UnpackedStream(const std::filesystem::path& path);
  UnpackedStream(std::string content, std::string name);

  const std::string& name() const { return stream_.name(); }
  /// Of the file as it is stored, where that is known.
  std::optional<std::uint64_t> stored_bytes() const { return stream_.size(); }
  /// How many of those were taken.
  std::uint64_t stored_taken() const { return taken_; }
  /// The next bytes. @return how many: less than the buffer has only at the end
  /// @throws BadInput (read error; gzip that is cut off or corrupt), Interrupted
  std::size_t read(std::span<char> buffer);

 private:
  std::size_t read_plain(std::span<char> buffer);
  std::size_t read_gzip(std::span<char> buffer);
  void begin_member();
  void begin();
  bool refill();
  [[noreturn]] void refuse(const char* why) const;

  InputStream stream_;
  std::vector<char> stored_;         // a piece as it is stored
  std::size_t begin_ = 0, end_ = 0;  // what is left of it
  std::uint64_t taken_ = 0;
  std::unique_ptr<z_stream_s, int (*)(z_stream_s*)> inflater_;  // none: not packed
  bool within_member_ = false;
};

}  // namespace warploom::io
