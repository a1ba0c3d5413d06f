#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "io/byte_source.hpp"

namespace warploom::io {

/// What stands for a sample that was not recorded: the format's least number; of format 8, whose numbers are
/// differences from the sample before, none.
/// @throws BadInput (unknown format)
std::int32_t wfdb_invalid(int format, const std::string& file);

/// Samples that `bytes` bytes of a signal file hold.
std::uint64_t wfdb_samples(int format, std::uint64_t bytes);

/// Calls take(first, samples) for the samples of a signal file in pieces, in order, each piece but the last
/// of a multiple of `frame` samples.
/// @param offset  bytes before the first
/// @param count   samples; the file holds as many
void read_wfdb_samples(
    ByteSource& source, int format, std::uint64_t offset, std::uint64_t count, std::uint64_t frame,
    const std::function<void(std::uint64_t first, std::span<const std::int32_t> samples)>& take);

}  // namespace warploom::io
