#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace warploom::tool {

/// XXH64 of bytes, with seed 0, as `xxhsum -H64` prints it: tells whether content changed. Not for what
/// somebody might forge.
class ContentHash {
 public:
  void add(std::string_view bytes);
  std::string text() const;  ///< 16 hexadecimal digits

 private:
  void add_stripe(const char* bytes);

  std::array<std::uint64_t, 4> lanes_ = {0x60ea27eeadc0b5d6, 0xc2b2ae3d27d4eb4f, 0, 0x61c8864e7a143579};
  std::string rest_;  // fewer bytes than a stripe
  std::uint64_t bytes_ = 0;
};

std::string content_hash(std::string_view bytes);
/// Of a regular file, read piece by piece. @throws BadInput (missing, no permission, read error)
std::string content_hash_of(const std::filesystem::path& file);

}  // namespace warploom::tool
