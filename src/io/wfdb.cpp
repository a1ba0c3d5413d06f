#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "io/printable.hpp"
#include "io/recording_readers.hpp"
#include "io/wfdb_header.hpp"
#include "io/wfdb_samples.hpp"
#include "warploom/core/error.hpp"

namespace warploom::io {
namespace {

namespace fs = std::filesystem;

/// A file that a header names. @throws BadInput unless it lies beside the header
fs::path beside(const fs::path& header, std::string_view name) {
  if (name.empty() || name.find_first_of(std::string_view("/\\\0", 3)) != name.npos)
    throw BadInput(fmt::format("{}: it names '{}', which is no name of a file beside it", header.string(),
                               printable(name)));
  return header.parent_path() / name;
}

/// Signals [begin, end) of a segment lie in one file.
struct Group {
  std::size_t begin = 0, end = 0;
  std::uint64_t frame = 0;  // samples of all of them in a frame
};

std::vector<Group> groups_of(const std::vector<WfdbSignal>& signals, const std::string& header) {
  std::vector<Group> groups;
  for (std::size_t k = 0; k < signals.size(); ++k) {
    const WfdbSignal& signal = signals[k];
    if (signal.file == "~") continue;
    if (groups.empty() || groups.back().end != k || signals[k - 1].file != signal.file) {
      for (const Group& group : groups)
        if (signals[group.begin].file == signal.file)
          throw BadInput(
              fmt::format("{}: the signals of {} do not follow each other", header, printable(signal.file)));
      groups.push_back({k, k, 0});
    }
    Group& group = groups.back();
    group.end = k + 1;
    group.frame += static_cast<std::uint64_t>(signal.samples_per_frame);
    if (const WfdbSignal& first = signals[group.begin];
        signal.format != first.format || signal.offset != first.offset)
      throw BadInput(
          fmt::format("{}: signals {} and {} lie in one file, {}, in two formats or at two offsets", header,
                      group.begin + 1, k + 1, printable(signal.file)));
  }
  return groups;
}

/// A part of a record: the frames that one header describes.
struct Part {
  fs::path path;  // of the header
  WfdbHeader header;
  std::vector<Group> groups;
  std::int64_t first = 0;            // frame of the record
  std::vector<std::size_t> channel;  // of each signal, or kNone
};
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

WfdbHeader read_header(const fs::path& path) {
  ByteSource source(path);
  return parse_wfdb_header(source.all(), source.name());
}

class RecordReader {
 public:
  RecordReader(const fs::path& path, const RecordingOptions& options)
      : path_(path), file_(path.string()), options_(options) {}

  Recording read() {
    WfdbHeader record = read_header(path_);
    frame_rate_ = record.frame_rate;
    if (record.segments.empty()) {
      layout_ = record.signals;
      choose();
      add_part(path_, std::move(record));
    } else {
      add_segments(record);
    }
    make_channels();
    for (const Part& part : parts_)
      for (const Group& group : part.groups) read_group(part, group);
    read_annotations();
    return std::move(recording_);
  }

 private:
  /// The segments' headers, of which the first may hold nothing but the signals that occur (variable layout).
  void add_segments(const WfdbHeader& record) {
    variable_ = record.segments.front().frames == 0;
    for (std::size_t k = 0; k < record.segments.size(); ++k) {
      const WfdbSegment& segment = record.segments[k];
      if (segment.name == "~") {
        advance(segment.frames);
        ++recording_.gaps;
        continue;
      }
      const fs::path path = beside(path_, segment.name + ".hea");
      WfdbHeader header = read_header(path);
      if (!header.segments.empty())
        throw BadInput(fmt::format("{}: a segment of {} that has segments itself", path.string(), file_));
      if (layout_.empty()) {
        layout_ = header.signals;
        choose();
        if (!frame_rate_) frame_rate_ = header.frame_rate;
      }
      if (variable_ && k == 0) continue;
      check_segment(path, header, segment.frames);
      header.frames = segment.frames;
      add_part(path, std::move(header));
    }
    if (record.frames != 0 && record.frames != frames_)
      throw BadInput(fmt::format("{}: its segments have {} samples together, it says {}", file_, frames_,
                                 record.frames));
  }

  void check_segment(const fs::path& path, const WfdbHeader& header, std::int64_t frames) const {
    if (header.frames != 0 && header.frames != frames)
      throw BadInput(fmt::format("{}: {} samples; {} says {}", path.string(), header.frames, file_, frames));
    if (header.frame_rate && frame_rate_ && *header.frame_rate != *frame_rate_)
      throw BadInput(fmt::format("{}: its rate is {} Hz; that of {} is {} Hz", path.string(),
                                 *header.frame_rate, file_, *frame_rate_));
    if (!variable_ && header.signals.size() != layout_.size())
      throw BadInput(fmt::format("{}: {} signals; the first segment of {} has {}", path.string(),
                                 header.signals.size(), file_, layout_.size()));
  }

  /// Decides which signals of the layout are read.
  void choose() {
    std::vector<std::string> names;
    for (const WfdbSignal& signal : layout_) names.push_back(signal.name);
    wanted_ = wanted_channels(names, options_, file_);
  }

  void advance(std::int64_t frames) {
    if (frames > std::numeric_limits<std::int64_t>::max() - frames_)
      throw BadInput(fmt::format("{}: more than 2^63 samples", file_));
    frames_ += frames;
  }

  /// Checks that the files hold what the header says, before memory is asked for by its words.
  void add_part(const fs::path& path, WfdbHeader header) {
    Part part{path, std::move(header), {}, frames_, {}};
    std::vector<WfdbSignal>& signals = part.header.signals;
    part.groups = groups_of(signals, path.string());
    for (const Group& group : part.groups) {
      const WfdbSignal& signal = signals[group.begin];
      wfdb_invalid(signal.format, path.string());
      const ByteSource source(beside(path, signal.file));
      const std::uint64_t bytes = source.size() > signal.offset ? source.size() - signal.offset : 0;
      const auto held = static_cast<std::int64_t>(wfdb_samples(signal.format, bytes) / group.frame);
      if (part.header.frames == 0) part.header.frames = held;
      if (held < part.header.frames || held == 0)
        throw BadInput(fmt::format("{}: cut off: it holds {} samples of each signal, {} asks for {}",
                                   source.name(), held, path.string(), part.header.frames));
    }
    advance(part.header.frames);
    place_signals(part);
    parts_.push_back(std::move(part));
  }

  void place_signals(Part& part) const {
    std::vector<bool> taken(layout_.size());
    for (std::size_t k = 0; k < part.header.signals.size(); ++k) {
      const WfdbSignal& signal = part.header.signals[k];
      std::size_t place = k;
      if (variable_)
        for (place = 0; place < layout_.size() && (taken[place] || layout_[place].name != signal.name);)
          ++place;
      if (place == layout_.size())
        throw BadInput(fmt::format("{}: signal '{}' is not in the layout of {}", part.path.string(),
                                   printable(signal.name), file_));
      taken[place] = true;
      if (const WfdbSignal& first = layout_[place];
          signal.unit != first.unit || signal.samples_per_frame != first.samples_per_frame)
        throw BadInput(
            fmt::format("{}: signal {} has {} samples a frame in {}; the first segment of {} has {} in {}",
                        part.path.string(), k + 1, signal.samples_per_frame, printable(signal.unit), file_,
                        first.samples_per_frame, printable(first.unit)));
      const auto wanted = std::ranges::find(wanted_, place);
      part.channel.push_back(wanted == wanted_.end() ? kNone
                                                     : static_cast<std::size_t>(wanted - wanted_.begin()));
    }
  }

  void make_channels() {
    if (layout_.empty()) throw BadInput(fmt::format("{}: a record without signals", file_));
    if (frames_ == 0) throw BadInput(fmt::format("{}: no samples", file_));
    const auto samples = [](std::int64_t frames, const WfdbSignal& signal) {
      return static_cast<double>(frames) * static_cast<double>(signal.samples_per_frame);
    };
    double places = 0, held = 0;
    for (const std::size_t place : wanted_) places += samples(frames_, layout_[place]);
    for (const Part& part : parts_)
      for (const Group& group : part.groups)
        for (std::size_t k = group.begin; k < group.end; ++k)
          if (part.channel[k] != kNone) held += samples(part.header.frames, part.header.signals[k]);
    check_missing(places - held, held, file_);
    for (const std::size_t place : wanted_) {
      const WfdbSignal& signal = layout_[place];
      const auto count = static_cast<std::size_t>(frames_ * signal.samples_per_frame);
      recording_.channels.push_back({signal.name, signal.unit, 1, std::vector<float>(count, kMissing)});
    }
    constexpr double kUsualRate = 250;  // of a header that says none
    set_rate(recording_, frame_rate_.value_or(kUsualRate), options_, file_);
    for (std::size_t k = 0; k < wanted_.size(); ++k)
      recording_.channels[k].rate *= static_cast<double>(layout_[wanted_[k]].samples_per_frame);
  }

  void read_group(const Part& part, const Group& group) {
    const std::vector<WfdbSignal>& signals = part.header.signals;
    const WfdbSignal& shared = signals[group.begin];
    if (std::all_of(part.channel.begin() + static_cast<std::ptrdiff_t>(group.begin),
                    part.channel.begin() + static_cast<std::ptrdiff_t>(group.end),
                    [](std::size_t channel) { return channel == kNone; }))
      return;
    ByteSource source(beside(part.path, shared.file));
    const std::int32_t invalid = wfdb_invalid(shared.format, source.name());
    std::vector<std::uint16_t> sums(group.end - group.begin);
    constexpr int kDifferences = 8;
    std::vector<std::int64_t> before;  // of those
    for (std::size_t k = group.begin; shared.format == kDifferences && k < group.end; ++k)
      before.push_back(signals[k].before);
    const auto frames = static_cast<std::uint64_t>(part.header.frames);
    read_wfdb_samples(
        source, shared.format, shared.offset, frames * group.frame, group.frame,
        [&](std::uint64_t first, std::span<const std::int32_t> stored) {
          std::size_t begin = 0;  // of the signal's samples in a frame
          for (std::size_t k = group.begin; k < group.end; ++k) {
            const WfdbSignal& signal = signals[k];
            const auto each = static_cast<std::size_t>(signal.samples_per_frame);
            float* to = part.channel[k] == kNone ? nullptr
                                                 : recording_.channels[part.channel[k]].samples.data() +
                                                       static_cast<std::size_t>(part.first) * each;
            std::uint16_t& sum = sums[k - group.begin];
            std::uint64_t at = first / group.frame * each;
            for (std::size_t frame = begin; frame < stored.size(); frame += group.frame)
              for (std::size_t i = 0; i < each; ++i, ++at) {
                std::int64_t value = stored[frame + i];
                if (!before.empty()) value = before[k - group.begin] += value;
                sum = static_cast<std::uint16_t>(sum + static_cast<std::uint64_t>(value));
                const auto skew = static_cast<std::uint64_t>(signal.skew);
                if (to != nullptr && value != invalid && at >= skew)
                  to[at - skew] = to_sample((static_cast<double>(value) - signal.baseline) / signal.gain);
              }
            begin += each;
          }
        });
    for (std::size_t k = group.begin; k < group.end; ++k)
      if (const auto& said = signals[k].checksum;
          said && sums[k - group.begin] != static_cast<std::uint16_t>(*said))
        throw BadInput(fmt::format(
            "{}: the samples of signal {} have the checksum {}, {} says {}; one of the two files was changed",
            source.name(), k + 1, static_cast<std::int16_t>(sums[k - group.begin]), part.path.string(),
            *said));
  }

  void read_annotations() {
    fs::path path = path_;
    path.replace_extension(".atr");
    if (!fs::exists(path)) return;
    ByteSource source(path);
    const double rate =
        recording_.channels[0].rate / static_cast<double>(layout_[wanted_[0]].samples_per_frame);
    recording_.annotations = parse_wfdb_annotations(source.all(), rate, source.name());
  }

  const fs::path path_;
  const std::string file_;
  const RecordingOptions& options_;
  std::optional<double> frame_rate_;
  std::int64_t frames_ = 0;
  std::vector<WfdbSignal> layout_;   // the signals that occur
  std::vector<std::size_t> wanted_;  // of them
  bool variable_ = false;            // segments have some of them, by name
  std::vector<Part> parts_;
  Recording recording_;
};

}  // namespace

std::vector<fs::path> wfdb_files(const fs::path& header) {
  std::vector<fs::path> files;
  const auto add = [&](fs::path path) {
    std::error_code error;
    if (fs::exists(path, error) && std::ranges::find(files, path) == files.end())
      files.push_back(std::move(path));
  };
  const auto add_record = [&](const fs::path& path, const WfdbHeader& record) {
    add(path);
    for (const WfdbSignal& signal : record.signals)
      if (signal.file != "~") add(beside(path, signal.file));
  };
  const WfdbHeader record = read_header(header);
  add_record(header, record);
  for (const WfdbSegment& segment : record.segments)
    if (segment.name != "~") {
      const fs::path path = beside(header, segment.name + ".hea");
      add_record(path, read_header(path));
    }
  add(fs::path(header).replace_extension(".atr"));
  return files;
}

Recording read_wfdb(const fs::path& header, const RecordingOptions& options) {
  return RecordReader(header, options).read();
}

}  // namespace warploom::io
