// Any bytes are a recording of each form, whose fields agree, or are refused.

#include <cmath>

#include "fuzz/require.hpp"
#include "io/edf_header.hpp"
#include "io/recording_readers.hpp"
#include "io/wfdb_header.hpp"
#include "warploom/core/error.hpp"

namespace {

using warploom::require;
namespace io = warploom::io;

template <class Read>
void attempt(const Read& read) {
  try {
    read();
  } catch (const warploom::BadInput&) {
  }
}

void check(const std::vector<io::Annotation>& annotations) {
  for (const io::Annotation& annotation : annotations)
    require(std::isfinite(annotation.onset) && annotation.duration >= 0, "an annotation without a time");
}

void check(const io::Recording& recording) {
  check(recording.annotations);
  for (const io::Channel& channel : recording.channels) {
    require(channel.rate > 0 && std::isfinite(channel.rate), "a channel without a rate");
    require(!channel.samples.empty(), "a channel without samples");
    for (const float sample : channel.samples) require(!std::isinf(sample), "an infinite sample");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  io::RecordingOptions options, timed;
  timed.time_column = "1";
  timed.label_column = "2";
  for (const auto& read : {io::read_text, io::read_ts, io::read_edf, io::read_c3d, io::read_mat,
                           io::read_npy_recording, io::read_raw<float>})
    attempt([&] {
      io::ByteSource source(text, "fuzz");
      check(read(source, options));
    });
  attempt([&] {
    io::ByteSource source(text, "fuzz");
    check(io::read_text(source, timed));
  });
  attempt([&] { check(io::parse_wfdb_annotations(text, 360, "fuzz")); });
  attempt([&] {
    for (const io::WfdbSignal& signal : io::parse_wfdb_header(text, "fuzz").signals)
      require(signal.gain != 0 && std::isfinite(signal.gain) && signal.samples_per_frame > 0,
              "a signal without a scale");
  });
  attempt([&] {
    const auto annotations = io::parse_annotations(text, "fuzz");
    const auto again = io::parse_annotations(io::format_annotations(annotations), "again");
    require(again.size() == annotations.size(), "annotations written and read");
    for (std::size_t k = 0; k < again.size(); ++k)
      require(again[k].onset == annotations[k].onset && again[k].duration == annotations[k].duration &&
                  again[k].label == annotations[k].label,
              "an annotation written and read");
  });
  return 0;
}
