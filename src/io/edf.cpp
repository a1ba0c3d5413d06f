#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/edf_header.hpp"
#include "io/recording_readers.hpp"
#include "warploom/core/error.hpp"

// Not through EDFlib, which reads by file name only, refuses files whose records do not follow each other
// without a gap, and keeps the files that are open in global state.

namespace warploom::io {
namespace {

std::int32_t sample_at(std::string_view bytes, std::size_t at, std::uint64_t sample_bytes) {
  const auto byte = [&](std::size_t k) { return std::uint32_t{static_cast<unsigned char>(bytes[at + k])}; };
  const std::uint32_t word =
      sample_bytes == 2 ? byte(0) << 16 | byte(1) << 24 : byte(0) << 8 | byte(1) << 16 | byte(2) << 24;
  return static_cast<std::int32_t>(word) >> (sample_bytes == 2 ? 16 : 8);
}

class EdfReader {
 public:
  EdfReader(ByteSource& source, const RecordingOptions& options)
      : source_(source), options_(options), file_(source.name()), header_(read_edf_header(source)) {}

  Recording read() {
    read_annotations();
    choose();
    for (std::uint64_t record = 0; record < header_.records; ++record)
      for (std::size_t k = 0; k < wanted_.size(); ++k)
        read_samples(record, wanted_[k], recording_.channels[k]);
    return std::move(recording_);
  }

 private:
  std::uint64_t offset(std::uint64_t record, const EdfSignal& signal) const {
    return header_.bytes + record * header_.record_bytes + signal.offset;
  }

  /// Of all records; and where each begins, if they may have gaps between them.
  void read_annotations() {
    for (std::uint64_t record = 0; record < header_.records; ++record) {
      std::optional<double> onset;
      bool first = true;
      for (const EdfSignal& signal : header_.signals) {
        if (!signal.is_annotation) continue;
        EdfTexts texts =
            parse_edf_texts(source_.view(offset(record, signal), signal.samples * header_.sample_bytes),
                            fmt::format("{}: data record {}", file_, record + 1));
        if (first) onset = texts.onset;
        first = false;
        if (record == 0) begin_ = onset.value_or(0);
        for (Annotation& annotation : texts.annotations) {
          annotation.onset -= begin_;
          recording_.annotations.push_back(std::move(annotation));
        }
      }
      if (header_.discontinuous) add_onset(onset);
    }
  }

  void add_onset(std::optional<double> time) {
    const std::size_t record = onsets_.size() + 1;
    if (!time) throw BadInput(fmt::format("{}: data record {} does not say when it begins", file_, record));
    const double onset = *time - begin_;
    if (!onsets_.empty()) {
      const double end = onsets_.back() + header_.record_seconds;
      const double rounding =
          std::min(1e-3, header_.record_seconds / 2);  // times are written with few digits
      if (!(onset >= end - rounding))
        throw BadInput(fmt::format(
            "{}: data record {} begins {} s after the first, before {} s, the end of the record before it",
            file_, record, onset, end));
    }
    onsets_.push_back(onset);
  }

  void choose() {
    std::vector<std::size_t> signals;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < header_.signals.size(); ++k)
      if (!header_.signals[k].is_annotation) {
        signals.push_back(k);
        names.push_back(header_.signals[k].name);
      }
    if (!signals.empty() && !(header_.record_seconds > 0))
      throw BadInput(fmt::format("{}: data records of {} s, but {} signals", file_, header_.record_seconds,
                                 signals.size()));
    for (const std::size_t k : wanted_channels(names, options_, file_))
      wanted_.push_back(header_.signals[signals[k]]);

    double places_wanted = 0, held = 0;
    for (const EdfSignal& signal : wanted_) {
      places_wanted += places(signal);
      held += static_cast<double>(header_.records * signal.samples);
    }
    check_missing(places_wanted - held, held, file_);
    for (const EdfSignal& signal : wanted_) {
      if (signal.digital_max == signal.digital_min || signal.physical_max == signal.physical_min)
        throw BadInput(fmt::format(
            "{}: signal '{}' has no scale: digital {} to {}, physical {} to {}; select others", file_,
            signal.name, signal.digital_min, signal.digital_max, signal.physical_min, signal.physical_max));
      const double rate = static_cast<double>(signal.samples) / header_.record_seconds;
      Recording one;
      one.channels.push_back({signal.name, signal.unit, 1, {}});
      set_rate(one, rate, options_, file_);
      one.channels[0].samples.assign(static_cast<std::size_t>(places(signal)), kMissing);
      recording_.channels.push_back(std::move(one.channels[0]));
    }
    recording_.timed = true;
    for (std::uint64_t record = 1; record < header_.records; ++record)
      recording_.gaps += std::ranges::any_of(wanted_, [&](const EdfSignal& signal) {
        return place(record, signal) > place(record - 1, signal) + static_cast<double>(signal.samples);
      });
  }

  /// Where a record's samples begin in their channel.
  double place(std::uint64_t record, const EdfSignal& signal) const {
    const auto samples = static_cast<double>(signal.samples);
    const double least = static_cast<double>(record) * samples;
    if (onsets_.empty()) return least;
    return std::round(onsets_[record] / header_.record_seconds * samples);
  }
  /// Samples of a channel with its gaps.
  double places(const EdfSignal& signal) const {
    return place(header_.records - 1, signal) + static_cast<double>(signal.samples);
  }

  void read_samples(std::uint64_t record, const EdfSignal& signal, Channel& channel) {
    const double gain =
        (signal.physical_max - signal.physical_min) / (signal.digital_max - signal.digital_min);
    const auto begin = static_cast<std::size_t>(place(record, signal));
    constexpr std::uint64_t kPiece = 1 << 16;
    for (std::uint64_t first = 0; first < signal.samples; first += kPiece) {
      const std::uint64_t count = std::min(kPiece, signal.samples - first);
      const std::string_view bytes =
          source_.view(offset(record, signal) + first * header_.sample_bytes, count * header_.sample_bytes);
      for (std::uint64_t k = 0; k < count; ++k) {
        const std::int32_t stored = sample_at(bytes, k * header_.sample_bytes, header_.sample_bytes);
        channel.samples[begin + first + k] =
            to_sample((stored - signal.digital_min) * gain + signal.physical_min);
      }
    }
  }

  ByteSource& source_;
  const RecordingOptions& options_;
  const std::string& file_;
  const EdfHeader header_;
  std::vector<EdfSignal> wanted_;
  std::vector<double> onsets_;  // of the records [s] since the first; none where they follow each other
  double begin_ = 0;            // of the first [s] since the time in the header
  Recording recording_;
};

}  // namespace

Recording read_edf(ByteSource& source, const RecordingOptions& options) {
  return EdfReader(source, options).read();
}

}  // namespace warploom::io
