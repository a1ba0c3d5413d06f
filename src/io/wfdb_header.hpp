#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/io/recording.hpp"

// The parts of WFDB that are read without other files. Source: header(5), signal(5) and annot(5) of the WFDB
// Applications Guide (PhysioNet).

namespace warploom::io {

struct WfdbSignal {
  std::string file;  ///< "~": none; every sample is missing
  int format = 0;    ///< how samples are stored: 16, 212, ...
  std::int64_t samples_per_frame = 1;
  std::int64_t skew = 0;            ///< samples that precede the record's begin
  std::uint64_t offset = 0;         ///< bytes before the first sample
  double gain = 200, baseline = 0;  ///< stored = gain * value + baseline
  std::string unit = "mV", name;
  std::int64_t before = 0;               ///< of format 8: the sample before the first
  std::optional<std::int64_t> checksum;  ///< sum of stored samples, modulo 2^16
};

struct WfdbSegment {
  std::string name;  ///< "~": none; every sample is missing
  std::int64_t frames = 0;
};

struct WfdbHeader {
  std::optional<double> frame_rate;   ///< [Hz]
  std::int64_t frames = 0;            ///< 0: as many as there are
  std::vector<WfdbSignal> signals;    ///< of a record of one segment
  std::vector<WfdbSegment> segments;  ///< of a record of several
};

/// @throws ParseError, naming line and what was expected; BadInput (no record line)
WfdbHeader parse_wfdb_header(std::string_view text, const std::string& file);

/// The annotations of an .atr file in the MIT format. Label: the mnemonic, and behind a blank the text.
/// @param rate  [Hz] that times are counted in, unless the file says another
/// @throws BadInput, naming the byte
std::vector<Annotation> parse_wfdb_annotations(std::string_view bytes, double rate, const std::string& file);

}  // namespace warploom::io
