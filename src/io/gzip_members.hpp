#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace warploom::io {

inline std::uint32_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < count; ++k)
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + k])} << (8 * k);
  return value;
}

/// How long the gzip member is that the bytes begin with, where its header says so: "BC" of bgzip (the SAM
/// format's specification, 4.1), "MZ" of MiGz and of gzip() here. The bytes may end before the member does.
inline std::optional<std::size_t> told_length(std::string_view bytes) {
  constexpr std::size_t kFixed = 12, kTrailer = 8;
  if (bytes.size() < kFixed || !bytes.starts_with(std::string_view("\x1f\x8b\x08\x04", 4)))
    return std::nullopt;
  const std::size_t end = kFixed + little_endian(bytes, 10, 2);
  if (bytes.size() < end) return std::nullopt;
  for (std::size_t at = kFixed; at + 4 <= end;) {
    const std::string_view name = bytes.substr(at, 2);
    const std::size_t size = little_endian(bytes, at + 2, 2);
    if (at + 4 + size > end) break;
    std::size_t length = 0;
    if (name == "BC" && size == 2) length = std::size_t{little_endian(bytes, at + 4, 2)} + 1;
    if (name == "MZ" && size == 4) length = end + little_endian(bytes, at + 4, 4) + kTrailer;
    if (length >= end + kTrailer) return length;
    at += 4 + size;
  }
  return std::nullopt;
}

/// Bytes of the header of the gzip member (RFC 1952) that the bytes begin with; none: it is not whole, or has
/// flags that nobody knows.
inline std::optional<std::size_t> header_length(std::string_view bytes) {
  constexpr unsigned kChecksum = 2, kExtra = 4, kName = 8, kComment = 16;
  std::size_t length = 10;
  if (bytes.size() < length || !bytes.starts_with("\x1f\x8b\x08")) return std::nullopt;
  const auto flags = static_cast<unsigned char>(bytes[3]);
  if (flags >= 2 * kComment) return std::nullopt;
  if ((flags & kExtra) != 0) {
    if (bytes.size() < length + 2) return std::nullopt;
    length += 2 + little_endian(bytes, length, 2);
  }
  for (const unsigned text : {kName, kComment}) {
    if ((flags & text) == 0) continue;
    const std::size_t end = bytes.find('\0', length);
    if (end == bytes.npos) return std::nullopt;
    length = end + 1;
  }
  if ((flags & kChecksum) != 0) length += 2;
  return length <= bytes.size() ? std::optional(length) : std::nullopt;
}

}  // namespace warploom::io
