#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "io/printable.hpp"
#include "io/recording_readers.hpp"
#include "io/words.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/core/progress.hpp"

// The format: '#' begins a comment line; lines that begin with '@' say what follows, up to @data; then a line
// a series: its dimensions, separated by colons, each numbers separated by commas, '?' or NaN where one is
// missing; its class or target value behind another colon, where @classLabel or @targetLabel is true.

namespace warploom::io {
namespace {

/// Takes the text before the next `separator` off `rest`; nothing after the last.
std::optional<std::string_view> next(std::optional<std::string_view>& rest, char separator) {
  if (!rest) return std::nullopt;
  const std::size_t end = rest->find(separator);
  const std::string_view piece = rest->substr(0, end);
  rest = end == rest->npos ? std::nullopt : std::optional(rest->substr(end + 1));
  return piece;
}

class TsReader {
 public:
  TsReader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  Recording read(const RecordingOptions& options) {
    if (options.series < 1)
      throw BadInput(fmt::format("{}: series {}; series are numbered from 1", name_, options.series));
    read_header();
    for (std::int32_t series = 0; next_line();)
      if (++series == options.series)
        return read_series(options);
      else if (line_ % 1024 == 0)
        check_interrupt();
    throw BadInput(fmt::format("{}: no series {}; its {} lines hold fewer", name_, options.series, line_));
  }

  std::int32_t count() {
    read_header();
    std::int32_t series = 0;
    while (next_line())
      if (++series % 1024 == 0) check_interrupt();
    return series;
  }

 private:
  [[noreturn]] void fail(std::string_view at, const std::string& what) const {
    throw ParseError({name_, line_, static_cast<unsigned>(at.data() - whole_line_.data() + 1)}, what);
  }

  /// Goes to the next line that is neither empty nor a comment. @return false after the last
  bool next_line() {
    while (const auto line = next(rest_, '\n')) {
      ++line_;
      whole_line_ = *line;
      text_ = trimmed(*line);
      if (!text_.empty() && text_.front() != '#') return true;
    }
    return false;
  }

  void read_header() {
    while (next_line()) {
      if (text_.front() != '@')
        fail(text_, "expected a line that begins with '@' before @data; is it a .ts file?");
      const std::size_t end = std::min(text_.find_first_of(kBlank), text_.size());
      const std::string word = lower(text_.substr(0, end));
      const std::string value = lower(trimmed(text_.substr(end)));
      const bool yes = value == "true" || value.starts_with("true ");
      if (word == "@data") return;
      if (word == "@timestamps" && yes)
        fail(text_, "series with a time for each value are not read; only evenly spaced ones are");
      if (word == "@classlabel" || word == "@targetlabel") labelled_ = labelled_ || yes;
      if (word == "@dimensions" || word == "@dimension")
        if (!parse_whole(value, dimensions_) || dimensions_ < 1)
          fail(text_, fmt::format("'{}' is no number of dimensions", printable(value)));
    }
    throw BadInput(fmt::format("{}: no line @data; is it a .ts file?", name_));
  }

  Recording read_series(const RecordingOptions& options) const {
    Recording recording;
    std::vector<std::string_view> fields;
    for (std::optional<std::string_view> rest = text_; const auto field = next(rest, ':');)
      fields.push_back(*field);
    if (labelled_) {
      if (fields.size() < 2) fail(text_, "no class behind the series, which @classLabel says there is");
      recording.annotations.push_back({0, 0, std::string(trimmed(fields.back()))});
      fields.pop_back();
    }
    if (dimensions_ > 0 && fields.size() != dimensions_)
      fail(text_, fmt::format("{} dimensions; @dimensions says {}", fields.size(), dimensions_));
    for (const std::size_t k : wanted_channels(std::vector<std::string>(fields.size()), options, name_))
      recording.channels.push_back({"", "", 1, numbers(fields[k])});
    set_rate(recording, 0, options, name_);
    if (labelled_) recording.annotations[0].duration = recording.seconds();
    return recording;
  }

  std::vector<float> numbers(std::string_view dimension) const {
    std::vector<float> samples;
    for (std::optional<std::string_view> rest = dimension; const auto field = next(rest, ',');) {
      const std::string_view word = trimmed(*field);
      double value = kMissing;
      if (word != "?" && !parse_whole(word, value))
        fail(*field, fmt::format("'{}' is no number", printable(word)));
      samples.push_back(to_sample(value));
    }
    return samples;
  }

  std::optional<std::string_view> rest_;
  const std::string& name_;
  unsigned line_ = 0;
  std::string_view whole_line_, text_;
  bool labelled_ = false;
  std::size_t dimensions_ = 0;  // 0: not said
};

}  // namespace

Recording read_ts(ByteSource& source, const RecordingOptions& options) {
  return TsReader(source.all(), source.name()).read(options);
}

std::int32_t count_series(ByteSource& source) { return TsReader(source.all(), source.name()).count(); }

}  // namespace warploom::io
