#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "warploom/core/file.hpp"

namespace warploom::io {

/// True if the bytes begin as a gzip stream does.
bool is_gzip(std::string_view bytes);

/// What a gzip stream of one or more members holds; zeros after the last one are ignored, as gzip(1) does.
/// All threads decompress what gzip() made. `name` is for messages.
/// @param expected  how much that is at least, where it is known, else 0. A stream tells its length modulo 4
/// GiB
///                  and that of its last member only; with it, a large one is unpacked into its place at
///                  once.
/// @throws BadInput (truncated, corrupt, trailing bytes that are no member, more than `max_bytes` inside),
///         OutOfMemory (the content that it states does not fit into what is available)
std::string gunzip(std::string_view bytes, const std::string& name, std::uint64_t max_bytes,
                   std::uint64_t expected = 0);

/// The first `count` bytes that a gzip stream holds, or all if there are fewer; the rest stays packed. What
/// is wrong behind them is not seen. @throws BadInput (no gzip stream, corrupt or cut off before)
std::string gunzip_head(std::string_view bytes, const std::string& name, std::size_t count);

/// What a gzip stream holds; the bytes themselves where they are none. @throws as gunzip()
std::string uncompressed(std::string bytes, const std::string& name, std::uint64_t max_bytes = kMaxFileBytes);

/// A gzip stream of members of 1 MiB, compressed by all threads; the same bytes on any number of them. Every
/// reader that goes on after the first member takes it, as RFC 1952 asks for.
/// @param level  1 (fast) to 12 (small)
/// @throws BadInput (level)
std::string gzip(std::string_view bytes, int level);

}  // namespace warploom::io
