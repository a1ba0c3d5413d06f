#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "io/byte_source.hpp"
#include "warploom/io/recording.hpp"

// One reader for each form that read_recording() knows. The recording's name and the order of annotations are
// left to it.

namespace warploom::io {

Recording read_text(ByteSource& source, const RecordingOptions& options);
Recording read_npy_recording(ByteSource& source, const RecordingOptions& options);
/// Rows of `options.channels` numbers. @tparam T  float or double
template <class T>
Recording read_raw(ByteSource& source, const RecordingOptions& options);
Recording read_ts(ByteSource& source, const RecordingOptions& options);
/// Series in a .ts file.
std::int32_t count_series(ByteSource& source);
Recording read_edf(ByteSource& source, const RecordingOptions& options);
Recording read_c3d(ByteSource& source, const RecordingOptions& options);
Recording read_mat(ByteSource& source, const RecordingOptions& options);
/// Reads the files that the header names from the header's directory.
Recording read_wfdb(const std::filesystem::path& header, const RecordingOptions& options);

/// The files that read_wfdb() reads, those that are there.
std::vector<std::filesystem::path> wfdb_files(const std::filesystem::path& header);

/// Where samples are missing in time, no file's size bounds what its numbers ask for; this does.
/// @param missing, held  samples of all channels together that gaps ask for, and that the file holds
/// @throws BadInput if more are missing than 2^26 and than 64 times those that are held
void check_missing(double missing, double held, const std::string& file);

inline constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

/// A number as a sample: missing unless finite in single precision.
inline float to_sample(double value) {
  const auto sample = static_cast<float>(value);
  return std::isfinite(sample) ? sample : kMissing;
}

/// The indices of the channels wanted (`options.select`), of those that the file has, in the order wanted.
/// @throws BadInput (not there, there twice, wanted twice)
std::vector<std::size_t> wanted_channels(const std::vector<std::string>& names,
                                         const RecordingOptions& options, const std::string& file);

/// Sets the rate of all channels: the file's, or the caller's where it has none (0), or none.
/// @throws BadInput (the caller's differs from the file's by more than 0.1 %)
void set_rate(Recording& recording, double rate, const RecordingOptions& options, const std::string& file);

/// The text with small letters for A to Z.
std::string lower(std::string_view text);
/// "'x', 'y', 'z'", cut after some; for messages.
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace warploom::io
