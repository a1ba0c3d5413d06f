#include "warploom/io/gzip.hpp"

#include <fmt/format.h>
#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/doors.hpp"
#include "core/large_pages.hpp"
#include "io/deflate.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

// A gzip stream (RFC 1952) is one or more members: a header, a deflate stream, CRC-32 and length of its
// content. The header may hold extra fields; one of them, "MZ", is the length of the deflate stream, from
// which a reader knows where the next member begins without decompressing this one. (The field and its layout
// are those of LinkedIn's MiGz; a reader that does not know it skips it.) So such a stream is decompressed by
// all threads.

namespace warploom::io {
namespace {

constexpr std::size_t kMemberContent = 1 << 20;
constexpr std::size_t kHeader = 20, kTrailer = 8;

using Compressor = std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)>;
using Decompressor = std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)>;

Decompressor make_decompressor() {
  Decompressor made(libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (!made) throw std::bad_alloc();
  return made;
}

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < 4; ++k)
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + k])} << (8 * k);
  return value;
}

std::array<char, 4> u32_bytes(std::size_t value) {
  return {static_cast<char>(value), static_cast<char>(value >> 8), static_cast<char>(value >> 16),
          static_cast<char>(value >> 24)};
}

std::string header_of(std::size_t deflate_bytes) {
  // magic, deflate, extra field present, no time (4), no remark on the level, Unix; 8 bytes of extra fields
  std::string header("\x1f\x8b\x08\x04\0\0\0\0\0\x03\x08\0MZ\x04\0", kHeader - 4);
  return header.append(u32_bytes(deflate_bytes).data(), 4);
}

/// The whole member that the bytes begin with, if it has our header.
std::optional<std::string_view> indexed_member(std::string_view bytes) {
  if (bytes.size() < kHeader + kTrailer) return std::nullopt;
  const std::size_t deflate_bytes = read_u32(bytes, kHeader - 4);
  if (!bytes.starts_with(std::string_view(header_of(0)).substr(0, 4)) ||
      bytes.substr(10, 6) != std::string_view("\x08\0MZ\x04\0", 6) ||
      bytes.size() - kHeader - kTrailer < deflate_bytes)
    return std::nullopt;
  return bytes.substr(0, kHeader + deflate_bytes + kTrailer);
}

std::string compress_member(std::string_view content, int level) {
  const Compressor compressor(libdeflate_alloc_compressor(level), &libdeflate_free_compressor);
  if (!compressor) throw std::bad_alloc();
  std::string deflated(libdeflate_deflate_compress_bound(compressor.get(), content.size()), '\0');
  deflated.resize(libdeflate_deflate_compress(compressor.get(), content.data(), content.size(),
                                              deflated.data(), deflated.size()));
  std::string member = header_of(deflated.size());
  member.reserve(kHeader + deflated.size() + kTrailer);
  member += deflated;
  member.append(u32_bytes(libdeflate_crc32(0, content.data(), content.size())).data(), 4);
  return member.append(u32_bytes(content.size()).data(), 4);
}

[[noreturn]] void too_large(const std::string& name, std::uint64_t max_bytes) {
  throw BadInput(
      fmt::format("{}: more than {} bytes when decompressed, which is the limit; is it the right file?", name,
                  max_bytes));
}

/// Says what is wrong with a member that libdeflate refuses without saying so: zlib does.
[[noreturn]] void refuse(std::string_view bytes, std::size_t begin, const std::string& name) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, &inflateEnd);
  std::vector<unsigned char> sink(1 << 16);
  int status = Z_OK;
  std::size_t at = begin;
  while (status == Z_OK || (status == Z_BUF_ERROR && at < bytes.size())) {
    const std::size_t piece = std::min<std::size_t>(bytes.size() - at, 1 << 30);
    stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data())) + at;
    stream.avail_in = static_cast<unsigned>(piece);
    stream.next_out = sink.data();
    stream.avail_out = static_cast<unsigned>(sink.size());
    status = inflate(&stream, Z_NO_FLUSH);
    at += piece - stream.avail_in;
    check_interrupt();
  }
  if (status == Z_BUF_ERROR)
    throw BadInput(fmt::format("{}: the gzip stream is cut off after {} bytes", name, bytes.size()));
  throw BadInput(fmt::format("{}: the gzip stream is corrupt: {} (near byte {})", name,
                             stream.msg != nullptr ? stream.msg : "checked content differs", at));
}

/// The content of members that all have our header; nothing if one has not.
std::optional<std::string> gunzip_indexed(std::string_view bytes, const std::string& name,
                                          std::uint64_t max_bytes) {
  struct Member {
    std::size_t begin, bytes, content_begin, content;
  };
  std::vector<Member> members;
  std::size_t total = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto member = indexed_member(bytes.substr(at));
    if (!member) return std::nullopt;
    const std::size_t content = read_u32(*member, member->size() - 4);
    if (content > kMostExpansion * member->size()) return std::nullopt;
    members.push_back({at, member->size(), total, content});
    total += content;
    at += member->size();
    if (total > max_bytes) too_large(name, max_bytes);
  }
  require_memory_for(total, 1, name + ": its content");
  std::string content;
  reserve_in_large_pages(content, total);
  content.resize(total);
  parallel_for(static_cast<std::int64_t>(members.size()), [&](std::int64_t k) {
    check_interrupt();
    const Member& member = members[static_cast<std::size_t>(k)];
    if (libdeflate_gzip_decompress(make_decompressor().get(), bytes.data() + member.begin, member.bytes,
                                   content.data() + member.content_begin, member.content,
                                   nullptr) != LIBDEFLATE_SUCCESS)
      refuse(bytes, member.begin, name);
  });
  return content;
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string gunzip(std::string_view bytes, const std::string& name, std::uint64_t max_bytes,
                   std::uint64_t expected) {
  if (!is_gzip(bytes)) throw BadInput(fmt::format("{}: no gzip stream: it does not begin with 1f 8b", name));
  if (auto content = gunzip_indexed(bytes, name, max_bytes)) return *std::move(content);

  // Of a single member the last four bytes are the length of the content modulo 4 GiB. Where more is in it,
  // or in members before the last, the room grows, and a member that did not fit is unpacked once more.
  const std::uint64_t hint = bytes.size() < 18 ? 0 : read_u32(bytes, bytes.size() - 4);
  std::string content;
  std::size_t filled = 0;
  const auto grow = [&](std::size_t capacity) {
    if (content.size() >= max_bytes) too_large(name, max_bytes);
    const auto size = std::min<std::uint64_t>(std::max<std::size_t>(capacity, 1 << 16), max_bytes);
    require_memory_for(size, 1, name + ": its content");
    content.resize(size);
  };
  constexpr std::uint64_t kModulo = std::uint64_t{1} << 32;
  const std::uint64_t told = hint / kMostExpansion <= bytes.size()
                                 ? std::max<std::uint64_t>(hint, bytes.size())
                                 : 4 * bytes.size(),
                      known = expected + (hint - expected) % kModulo;
  const std::uint64_t first = std::min(expected > 0 ? known : told, max_bytes);
  require_memory_for(first, 1, name + ": its content");
  reserve_in_large_pages(content, first);
  content.resize(first);

  const Decompressor decompressor = make_decompressor();
  for (std::size_t at = 0; at < bytes.size();) {
    check_interrupt();
    const std::string_view rest = bytes.substr(at);
    if (!is_gzip(rest)) {
      // Tapes and some file systems round a file's length up; gzip(1) lets zeros pass as well.
      const std::size_t garbage = rest.find_first_not_of('\0');
      if (garbage == rest.npos) break;
      throw BadInput(fmt::format("{}: no gzip member where the next should begin, at byte {}", name, at));
    }
    std::size_t used = 0, made = 0;
    switch (libdeflate_gzip_decompress_ex(decompressor.get(), rest.data(), rest.size(),
                                          content.data() + filled, content.size() - filled, &used, &made)) {
      case LIBDEFLATE_SUCCESS:
        at += used;
        filled += made;
        break;
      case LIBDEFLATE_INSUFFICIENT_SPACE:
        grow(2 * content.size());
        break;
      default:
        refuse(bytes, at, name);
    }
  }
  content.resize(filled);
  return content;
}

std::string gunzip_head(std::string_view bytes, const std::string& name, std::size_t count) {
  if (!is_gzip(bytes)) throw BadInput(fmt::format("{}: no gzip stream: it does not begin with 1f 8b", name));
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, &inflateEnd);
  std::string head(count, '\0');
  stream.next_out = reinterpret_cast<unsigned char*>(head.data());
  stream.avail_out = static_cast<unsigned>(std::min<std::size_t>(count, 1 << 30));
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<unsigned>(std::min<std::size_t>(bytes.size(), 1 << 30));
  while (stream.avail_out > 0) {
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {  // a member follows, or nothing does
      if (stream.avail_in < 2 || stream.next_in[0] != 0x1f || inflateReset(&stream) != Z_OK) break;
    } else if (status == Z_BUF_ERROR || (status == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) {
      throw BadInput(fmt::format("{}: the gzip stream is cut off after {} bytes", name, bytes.size()));
    } else if (status != Z_OK) {
      refuse(bytes, 0, name);
    }
  }
  head.resize(count - stream.avail_out);
  return head;
}

std::string uncompressed(std::string bytes, const std::string& name, std::uint64_t max_bytes) {
  return is_gzip(bytes) ? gunzip(bytes, name, max_bytes) : std::move(bytes);
}

std::string gzip(std::string_view bytes, int level) {
  if (level < 1 || level > 12) throw BadInput(fmt::format("gzip level {}; it must be 1 to 12", level));
  const std::size_t count = std::max<std::size_t>(1, (bytes.size() + kMemberContent - 1) / kMemberContent);
  std::vector<std::string> members(count);
  parallel_for(static_cast<std::int64_t>(count), [&](std::int64_t k) {
    check_interrupt();
    const auto member = static_cast<std::size_t>(k);
    members[member] = compress_member(bytes.substr(member * kMemberContent, kMemberContent), level);
  });
  std::size_t total = 0;
  for (const std::string& member : members) total += member.size();
  std::string stream;
  stream.reserve(total);
  for (const std::string& member : members) stream += member;
  return stream;
}

}  // namespace warploom::io
