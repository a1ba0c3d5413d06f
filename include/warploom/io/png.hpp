#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::io {

/// A picture with 1 (grey) or 3 (RGB) channels, row by row from the top, channels interleaved.
struct Picture {
  std::int64_t width = 0, height = 0;
  int channels = 1;
  std::vector<std::uint16_t> data = {};  ///< 0 to maximum
  std::uint16_t maximum = 255;           ///< 255 or 65535
};

/// Any PNG; palettes are looked up, alpha is dropped, fewer than 8 bits are widened. `name` is for messages.
/// @param max_bytes  of memory, at most, or what is available if that is less: the size that the header
/// states
///                   is compared with it before anything is allocated
/// @throws BadInput (no PNG, truncated, corrupt, more than 2^31 samples, more memory than max_bytes),
///         OutOfMemory (more than is available)
Picture parse_png(std::string_view bytes, const std::string& name,
                  std::uint64_t max_bytes = std::uint64_t{1} << 38);
/// @throws as read_file and parse_png
Picture read_png(const std::filesystem::path& path, std::uint64_t max_bytes = std::uint64_t{1} << 38);

/// 8 or 16 bits a sample by `maximum`. @throws BadInput (sizes disagree)
std::string format_png(const Picture& picture);
/// @throws as format_png and write_file_atomically
void write_png(const std::filesystem::path& path, const Picture& picture);

}  // namespace warploom::io
