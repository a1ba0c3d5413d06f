#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace warploom {

/// Bytes that this process can still allocate without swapping: what the kernel counts as available
/// (MemAvailable of /proc/meminfo), or less where `ulimit -v` or a control group, of version 1 or 2, limits
/// it. The largest 64-bit number where neither can be read. Cost: a few small files.
/// @param root  where proc and sys are found
std::uint64_t available_memory(const std::filesystem::path& root = "/");

/// Call it before a large allocation, which may succeed without the memory, until it is used.
/// @param what  for the message: "the square table"
/// @throws OutOfMemory (bytes above what is available), with both numbers
void require_memory(std::uint64_t bytes, std::string_view what, std::uint64_t available = available_memory());

/// "512 bytes", "1.50 GB": decimal units, three digits.
std::string bytes_text(std::uint64_t bytes);

}  // namespace warploom
