#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace warploom {

/// The bytes of a file, a pipe, standard input or a string, from the first to the last. Errors name it.
class InputStream {
 public:
  /// @param path  "-" is standard input
  /// @throws BadInput (missing, a directory, no permission)
  explicit InputStream(const std::filesystem::path& path);
  /// Bytes that are in memory. @param name  for messages
  InputStream(std::string content, std::string name);
  InputStream(InputStream&& other) noexcept
      : name_(std::move(other.name_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        content_(std::move(other.content_)),
        given_(other.given_),
        size_(other.size_) {}
  InputStream& operator=(InputStream&&) = delete;
  ~InputStream();

  const std::string& name() const { return name_; }
  /// Of a regular file when it was opened.
  std::optional<std::uint64_t> size() const { return size_; }
  /// The next bytes. @return how many: less than the buffer has only at the end
  /// @throws BadInput (read error), Interrupted
  std::size_t read(std::span<char> buffer);
  /// Of a regular file that is not standard input, and of a string: read_at() and go_to() can be called.
  bool any_place() const;
  /// Bytes from `offset` on, from any thread; read() goes on where it was.
  /// @return how many: less than the buffer has only at the end @throws as read()
  std::size_t read_at(std::uint64_t offset, std::span<char> buffer) const;
  /// Where read() goes on.
  void go_to(std::uint64_t offset);

 private:
  std::string name_;
  int descriptor_;  // -1: content_
  std::string content_;
  std::size_t given_ = 0;  // of it
  std::optional<std::uint64_t> size_;
};

}  // namespace warploom
