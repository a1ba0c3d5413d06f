#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "io/printable.hpp"
#include "io/recording_readers.hpp"
#include "io/words.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

// A file is: blocks of 512 bytes. The first is the header; it names the block where the parameters begin,
// whose fourth byte says which processor wrote all numbers. Then frames: of each point x, y, z and a word
// that is negative where the point was not seen; then analog samples, several of each channel a frame.
// Source: The C3D File Format, A Technical User Guide, Motion Lab Systems 2021.

namespace warploom::io {
namespace {

constexpr std::uint64_t kBlock = 512;
constexpr std::uint8_t kMagic = 0x50;

enum class Processor : std::uint8_t { intel = 84, dec = 85, mips = 86 };

/// Numbers as a processor wrote them.
class Numbers {
 public:
  explicit Numbers(Processor processor) : processor_(processor) {}

  std::uint16_t word(const char* at) const {
    const auto byte = [&](int k) { return static_cast<unsigned>(static_cast<unsigned char>(at[k])); };
    return static_cast<std::uint16_t>(processor_ == Processor::mips ? byte(0) << 8 | byte(1)
                                                                    : byte(1) << 8 | byte(0));
  }
  float real(const char* at) const {
    // Two words; DEC's have the one with sign and exponent first, and an exponent larger by 2.
    const std::uint32_t first = word(at), second = word(at + 2);
    const bool high_first = processor_ != Processor::intel;
    const auto value = std::bit_cast<float>(high_first ? first << 16 | second : second << 16 | first);
    if (processor_ != Processor::dec) return value;
    return (first & 0x7F80) == 0 ? 0.F : value / 4;
  }

 private:
  Processor processor_;
};

struct Parameter {
  int type = 0;                     // -1: characters, 1: bytes, 2: words, 4: floats
  std::vector<std::uint8_t> sizes;  // of its dimensions
  std::string_view bytes;
};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

/// All that stands between header and frames, by "GROUP:NAME".
class Parameters {
 public:
  Parameters(std::string_view bytes, const Numbers& numbers, const std::string& file)
      : numbers_(numbers), file_(file) {
    std::map<int, std::string> groups;
    std::map<std::pair<int, std::string>, Parameter> found;
    std::size_t at = 4;
    while (at + 2 <= bytes.size()) {
      const auto letters = static_cast<std::size_t>(std::abs(static_cast<std::int8_t>(bytes[at])));
      const int group = static_cast<std::int8_t>(bytes[at + 1]);
      if (letters == 0 || group == 0) break;
      if (at + 2 + letters + 2 > bytes.size()) fail(at, "a parameter reaches beyond their end");
      const std::string name = upper(bytes.substr(at + 2, letters));
      const std::size_t link = at + 2 + letters, next = numbers.word(&bytes[link]);
      if (group < 0)
        groups[-group] = name;
      else
        found[{group, name}] = parameter(bytes, link + 2);
      if (next == 0) break;
      if (next < 2) fail(at, "its parameters run in circles");
      at = link + next;
    }
    for (auto& [key, value] : found)
      if (const auto group = groups.find(key.first); group != groups.end())
        all_[group->second + ":" + key.second] = std::move(value);
  }

  std::optional<double> number(const std::string& name, std::size_t index = 0,
                               bool is_unsigned = false) const {
    const auto found = all_.find(name);
    if (found == all_.end()) return std::nullopt;
    const auto& [type, sizes, bytes] = found->second;
    const std::size_t each = type == 4 ? 4 : type == 2 ? 2 : 1;
    if (type < 0 || (index + 1) * each > bytes.size()) return std::nullopt;
    const char* at = bytes.data() + index * each;
    if (type == 4) return numbers_.real(at);
    if (type == 2)
      return is_unsigned ? static_cast<double>(numbers_.word(at))
                         : static_cast<std::int16_t>(numbers_.word(at));
    return static_cast<double>(static_cast<unsigned char>(*at));
  }

  /// The texts of NAME, NAME2, NAME3 and so on.
  std::vector<std::string> texts(const std::string& name) const {
    std::vector<std::string> all;
    for (int part = 1; part < 256; ++part) {
      const auto found = all_.find(part == 1 ? name : name + std::to_string(part));
      if (found == all_.end() || found->second.type != -1) break;
      const auto& [type, sizes, bytes] = found->second;
      const std::size_t length = sizes.empty() ? 1 : sizes[0];
      for (std::size_t k = 0; length > 0 && (k + 1) * length <= bytes.size(); ++k)
        all.emplace_back(trimmed(bytes.substr(k * length, length), std::string_view(" \t\r\0", 4)));
    }
    return all;
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    throw BadInput(fmt::format("{}: damaged: {} (byte {} of the parameters)", file_, what, at));
  }

  Parameter parameter(std::string_view bytes, std::size_t at) const {
    if (at + 2 > bytes.size()) fail(at, "a parameter reaches beyond their end");
    Parameter made;
    made.type = static_cast<std::int8_t>(bytes[at]);
    const auto dimensions = static_cast<std::size_t>(static_cast<unsigned char>(bytes[at + 1]));
    if (made.type != -1 && made.type != 1 && made.type != 2 && made.type != 4)
      fail(at, fmt::format("a parameter of the unknown type {}", made.type));
    if (dimensions > 7) fail(at, fmt::format("a parameter of {} dimensions; 7 are the most", dimensions));
    std::size_t count = static_cast<std::size_t>(std::abs(made.type));
    at += 2;
    if (at + dimensions > bytes.size()) fail(at, "a parameter reaches beyond their end");
    for (std::size_t d = 0; d < dimensions; ++d) {
      made.sizes.push_back(static_cast<std::uint8_t>(bytes[at + d]));
      count = std::min(count * made.sizes.back(), bytes.size() + 1);
    }
    at += dimensions;
    if (count > bytes.size() - at) fail(at, "a parameter reaches beyond their end");
    made.bytes = bytes.substr(at, count);
    return made;
  }

  const Numbers& numbers_;
  const std::string& file_;
  std::map<std::string, Parameter> all_;
};

class C3dReader {
 public:
  C3dReader(ByteSource& source, const RecordingOptions& options)
      : source_(source), options_(options), file_(source.name()) {}

  Recording read() {
    const Processor processor = find_parameters();
    const Numbers numbers(processor);
    const Parameters parameters(parameter_bytes_, numbers, file_);
    read_header(numbers, parameters);
    std::vector<std::string> names;
    for (std::int64_t c = 0; c < 3 * points_ + analogs_; ++c) names.push_back(name_of(parameters, c));
    wanted_ = wanted_channels(names, options_, file_);
    if (wanted_.empty())
      throw BadInput(fmt::format("{}: it holds neither points nor analog channels", file_));
    make_channels(parameters, names);
    read_frames(numbers, parameters);
    read_events(parameters);
    return std::move(recording_);
  }

 private:
  Processor find_parameters() {
    if (source_.size() < 2 * kBlock || static_cast<std::uint8_t>(source_.view(0, 2)[1]) != kMagic)
      throw BadInput(fmt::format("{}: no C3D file: its second byte is not 80", file_));
    const std::uint64_t block = static_cast<std::uint8_t>(source_.view(0, 1)[0]);
    if (block < 2) throw BadInput(fmt::format("{}: damaged: its parameters begin in block {}", file_, block));
    const std::uint64_t begin = (block - 1) * kBlock;
    const std::string_view head = source_.view(begin, 4);
    const std::uint64_t blocks = static_cast<std::uint8_t>(head[2]);
    const auto processor = static_cast<std::uint8_t>(head[3]);
    if (processor < 84 || processor > 86)
      throw BadInput(fmt::format(
          "{}: written by processor {}; 84 (Intel), 85 (DEC) and 86 (MIPS) are known: write it anew with the software "
          "that made it",
          file_, processor));
    // Some writers count the blocks wrongly: as many as there are before the frames' are looked at.
    const std::uint64_t rest = source_.size() - begin;
    parameter_bytes_ = source_.view(begin, std::min(std::max<std::uint64_t>(blocks, 1) * kBlock, rest));
    return static_cast<Processor>(processor);
  }

  void read_header(const Numbers& numbers, const Parameters& parameters) {
    const std::string bytes(source_.view(0, kBlock));
    const auto word = [&](std::size_t number) { return numbers.word(&bytes[2 * (number - 1)]); };
    points_ = word(2);
    const std::int64_t analog_samples = word(3);
    per_frame_ = std::max<std::int64_t>(word(10), 1);
    if (analog_samples % per_frame_ != 0)
      throw BadInput(
          fmt::format("{}: damaged: {} analog samples a frame are no whole number of channels, at {} of each",
                      file_, analog_samples, per_frame_));
    analogs_ = analog_samples / per_frame_;
    first_frame_ = word(4);
    frames_ = std::int64_t{word(5)} - word(4) + 1;
    // Headers count to 65,535; what says more stands among the parameters.
    const auto long_number = [&](const std::string& name) -> std::optional<std::int64_t> {
      const auto low = parameters.number(name, 0, true), high = parameters.number(name, 1, true);
      if (!low || !high) return std::nullopt;
      return static_cast<std::int64_t>(*low) + 65536 * static_cast<std::int64_t>(*high);
    };
    const auto from = long_number("TRIAL:ACTUAL_START_FIELD"), to = long_number("TRIAL:ACTUAL_END_FIELD");
    if (from && to && *to >= *from && *to - *from + 1 > frames_) {
      first_frame_ = *from;
      frames_ = *to - *from + 1;
    }
    scale_ = parameters.number("POINT:SCALE").value_or(numbers.real(&bytes[12]));
    rate_ = parameters.number("POINT:RATE").value_or(0);
    if (!(rate_ > 0 && std::isfinite(rate_))) rate_ = numbers.real(&bytes[20]);
    if (!std::isfinite(rate_) || rate_ < 0) rate_ = 0;
    if (!std::isfinite(scale_))
      throw BadInput(fmt::format("{}: damaged: the scale of its points is {}", file_, scale_));
    const std::uint64_t block = word(9);
    if (block < 2) throw BadInput(fmt::format("{}: damaged: its frames begin in block {}", file_, block));
    data_ = (block - 1) * kBlock;
    is_real_ = scale_ < 0;
    each_ = is_real_ ? 4 : 2;
    frame_bytes_ = static_cast<std::uint64_t>(4 * points_ + analogs_ * per_frame_) * each_;
    if (frames_ < 1 || frame_bytes_ == 0)
      throw BadInput(fmt::format("{}: it holds {} frames of {} points and {} analog channels", file_, frames_,
                                 points_, analogs_));
    if (data_ > source_.size() ||
        (source_.size() - data_) / frame_bytes_ < static_cast<std::uint64_t>(frames_))
      throw BadInput(
          fmt::format("{}: cut off: {} frames of {} bytes from byte {} on are missing, it has {} bytes",
                      file_, frames_, frame_bytes_, data_, source_.size()));
  }

  static std::string named(const std::vector<std::string>& labels, std::int64_t index,
                           std::string_view otherwise) {
    const auto place = static_cast<std::size_t>(index);
    return place < labels.size() && !labels[place].empty() ? labels[place]
                                                           : fmt::format("{} {}", otherwise, index + 1);
  }
  std::string name_of(const Parameters& parameters, std::int64_t channel) {
    if (!labels_) labels_ = {parameters.texts("POINT:LABELS"), parameters.texts("ANALOG:LABELS")};
    if (channel >= 3 * points_) return named((*labels_)[1], channel - 3 * points_, "analog");
    return fmt::format("{}.{}", named((*labels_)[0], channel / 3, "point"), "xyz"[channel % 3]);
  }

  void make_channels(const Parameters& parameters, const std::vector<std::string>& names) {
    const std::vector<std::string> point_units = parameters.texts("POINT:UNITS"),
                                   analog_units = parameters.texts("ANALOG:UNITS");
    set_rate_or_throw();
    for (const std::size_t k : wanted_) {
      const auto index = static_cast<std::int64_t>(k);
      const bool analog = index >= 3 * points_;
      Channel& channel = recording_.channels.emplace_back();
      channel.name = names[k];
      const std::vector<std::string>& units = analog ? analog_units : point_units;
      const auto place = static_cast<std::size_t>(analog ? index - 3 * points_ : 0);
      if (place < units.size()) channel.unit = units[place];
      channel.rate = recording_.timed ? rate_ * static_cast<double>(analog ? per_frame_ : 1) : 1;
      channel.samples.resize(static_cast<std::size_t>(analog ? frames_ * per_frame_ : frames_));
    }
  }

  /// The rate of frames; of analog channels it is `per_frame_` times as high.
  void set_rate_or_throw() {
    Recording frames;
    frames.channels.resize(1);
    set_rate(frames, rate_, options_, file_);
    recording_.timed = frames.timed;
    rate_ = frames.channels[0].rate;
    if (!recording_.timed && per_frame_ > 1)
      throw BadInput(
          fmt::format("{}: it says no rate, and has {} analog samples a frame; give the rate of its frames",
                      file_, per_frame_));
  }

  void read_frames(const Numbers& numbers, const Parameters& parameters) {
    const std::vector<std::string> formats = parameters.texts("ANALOG:FORMAT");
    const bool is_unsigned = !formats.empty() && upper(formats[0]) == "UNSIGNED";
    const double general = parameters.number("ANALOG:GEN_SCALE").value_or(1);
    std::vector<double> factors, offsets;
    for (std::int64_t a = 0; a < analogs_; ++a) {
      const auto index = static_cast<std::size_t>(a);
      factors.push_back(general * parameters.number("ANALOG:SCALE", index).value_or(1));
      offsets.push_back(parameters.number("ANALOG:OFFSET", index, is_unsigned).value_or(0));
    }
    const auto value = [&](const char* at, bool as_unsigned) {
      if (is_real_) return static_cast<double>(numbers.real(at));
      const std::uint16_t word = numbers.word(at);
      return as_unsigned ? static_cast<double>(word) : static_cast<double>(static_cast<std::int16_t>(word));
    };
    for (std::int64_t frame = 0; frame < frames_; ++frame) {
      if (frame % 1024 == 0) check_interrupt();
      const std::string_view bytes =
          source_.view(data_ + static_cast<std::uint64_t>(frame) * frame_bytes_, frame_bytes_);
      const auto at = [&](std::int64_t number) {
        return bytes.data() + static_cast<std::size_t>(number) * each_;
      };
      for (std::size_t k = 0; k < wanted_.size(); ++k) {
        std::vector<float>& samples = recording_.channels[k].samples;
        const auto channel = static_cast<std::int64_t>(wanted_[k]);
        if (channel < 3 * points_) {
          const std::int64_t point = channel / 3 * 4;
          const double seen = value(at(point + 3), false), x = value(at(point + channel % 3), false);
          samples[static_cast<std::size_t>(frame)] =
              seen < 0 ? kMissing : to_sample(is_real_ ? x : x * scale_);
          continue;
        }
        const std::int64_t analog = channel - 3 * points_;
        const auto index = static_cast<std::size_t>(analog);
        for (std::int64_t s = 0; s < per_frame_; ++s)
          samples[static_cast<std::size_t>(frame * per_frame_ + s)] =
              to_sample((value(at(4 * points_ + s * analogs_ + analog), is_unsigned) - offsets[index]) *
                        factors[index]);
      }
    }
  }

  /// Times are in minutes and seconds since frame 1.
  void read_events(const Parameters& parameters) {
    const std::vector<std::string> labels = parameters.texts("EVENT:LABELS"),
                                   contexts = parameters.texts("EVENT:CONTEXTS");
    for (std::size_t k = 0; k < labels.size() && recording_.timed; ++k) {
      const auto minutes = parameters.number("EVENT:TIMES", 2 * k),
                 seconds = parameters.number("EVENT:TIMES", 2 * k + 1);
      if (!minutes || !seconds) break;
      const double onset =
          60 * *minutes + *seconds - static_cast<double>(std::max<std::int64_t>(first_frame_, 1) - 1) / rate_;
      if (!std::isfinite(onset)) continue;
      const std::string context = k < contexts.size() ? contexts[k] : "";
      recording_.annotations.push_back({onset, 0, context.empty() ? labels[k] : context + " " + labels[k]});
    }
  }

  ByteSource& source_;
  const RecordingOptions& options_;
  const std::string& file_;
  std::string parameter_bytes_;
  std::optional<std::array<std::vector<std::string>, 2>> labels_;  // of points, of analog channels
  std::int64_t points_ = 0, analogs_ = 0, per_frame_ = 1, first_frame_ = 1, frames_ = 0;
  std::uint64_t data_ = 0, frame_bytes_ = 0, each_ = 2;
  double scale_ = 1, rate_ = 0;
  bool is_real_ = false;
  std::vector<std::size_t> wanted_;
  Recording recording_;
};

}  // namespace

Recording read_c3d(ByteSource& source, const RecordingOptions& options) {
  return C3dReader(source, options).read();
}

}  // namespace warploom::io
