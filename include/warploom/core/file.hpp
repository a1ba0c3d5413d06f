#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace warploom {

inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 31;

/// The bytes of a file, pipe or device.
/// @param max_bytes  guards against a wrong path to something huge
/// @throws BadInput (missing, a directory, no permission, larger than max_bytes, read error), OutOfMemory
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = kMaxFileBytes);

/// A file, pipe or device that is open for reading. Errors name the path that it was opened by.
class InputFile {
 public:
  /// @throws BadInput (missing, a directory, no permission)
  explicit InputFile(std::filesystem::path path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  /// Bytes of a regular file when it was opened; none of a pipe or device, which read_at() cannot read.
  std::optional<std::uint64_t> size() const { return size_; }
  /// Fills `buffer` with the bytes from `offset` on; several threads may read at once.
  /// @return bytes read, less than the buffer has only at the file's end
  /// @throws BadInput (read error), Interrupted
  std::size_t read_at(std::uint64_t offset, std::span<char> buffer) const;
  /// All of it, as read_file gives it. Of a pipe or device: what was not read yet.
  std::string contents(std::uint64_t max_bytes = kMaxFileBytes) const;

 private:
  std::filesystem::path path_;
  int descriptor_;
  std::optional<std::uint64_t> size_;
};

/// The bytes of standard input up to its end; throws as read_file.
std::string read_standard_input(std::uint64_t max_bytes = kMaxFileBytes);

/// Replaces the file's content as a whole: written beside it and renamed over it, so that on any error,
/// and for any reader at any time, there is the old content or the new, never a part. An existing
/// file keeps its mode, a new one gets 0666 less the umask; a link is followed; what is no regular
/// file (/dev/null, a pipe) is written in place.
/// @throws BadInput (no such directory, a directory, no permission, disk full, file size limit)
/// @note A process over its RLIMIT_FSIZE dies of SIGXFSZ unless it handles that signal.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);
/// The same for content that lies in pieces, one after the other.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces);

}  // namespace warploom
