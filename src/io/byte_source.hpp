#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "warploom/core/file.hpp"

namespace warploom::io {

/// The bytes of a file at any place, a piece of which at a time is in memory. All of it is where it comes
/// through a pipe, is compressed (its name ends in .gz), or was in memory before.
class ByteSource {
 public:
  /// @throws BadInput (as InputFile; as gunzip)
  explicit ByteSource(const std::filesystem::path& path);
  /// @param name  for messages
  ByteSource(std::string content, std::string name);

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  /// Bytes [offset, offset + count), valid until the next call. Cheap where it was called for bytes nearby.
  /// @throws BadInput (the file ends before), Interrupted
  std::string_view view(std::uint64_t offset, std::uint64_t count);
  /// All bytes, valid until the next call. @throws BadInput (more than kMaxFileBytes)
  std::string_view all();

 private:
  std::string name_;
  std::optional<InputFile> file_;  // none where `piece_` is all
  std::uint64_t size_ = 0;
  std::string piece_;
  std::uint64_t begin_ = 0;  // of `piece_` in the file
};

}  // namespace warploom::io
