#include "io/wfdb_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/printable.hpp"
#include "io/words.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::io {
namespace {

class WfdbHeaderReader {
 public:
  WfdbHeaderReader(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  WfdbHeader read() {
    if (!next_line()) throw BadInput(fmt::format("{}: no record line; is it a WFDB header?", file_));
    WfdbHeader header;
    std::string_view record = word("the record's name");
    std::int64_t segments = 0;
    if (const std::size_t slash = record.find('/'); slash != record.npos)
      segments = whole(record.substr(slash + 1), "number of segments", 1);
    const std::int64_t signals = whole(word("the number of signals"), "number of signals", 0);
    if (const std::string_view rate = optional_word(); !rate.empty()) {
      header.frame_rate = real(rate.substr(0, rate.find_first_of("/(")), "sampling frequency");
      if (!(*header.frame_rate > 0)) fail(rate, "the sampling frequency must be above 0");
    }
    if (const std::string_view frames = optional_word(); !frames.empty())
      header.frames = whole(frames, "number of samples", 0);
    for (std::int64_t k = 0; k < segments; ++k) {
      expect_line("segment", k, segments);
      WfdbSegment& segment = header.segments.emplace_back();
      segment.name = word("a segment's name");
      segment.frames = whole(word("a segment's number of samples"), "number of samples", 0);
    }
    for (std::int64_t k = 0; segments == 0 && k < signals; ++k) {
      expect_line("signal", k, signals);
      header.signals.push_back(signal());
    }
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view at, const std::string& what) const {
    throw ParseError({file_, line_, static_cast<unsigned>(at.data() - begin_ + 1)}, what);
  }

  /// Goes to the next line that is neither empty nor a comment. @return false after the last
  bool next_line() {
    while (!rest_.empty()) {
      ++line_;
      text_ = rest_.substr(0, rest_.find('\n'));
      rest_.remove_prefix(std::min(text_.size() + 1, rest_.size()));
      begin_ = text_.data();
      skip_blanks();
      if (!text_.empty() && text_.front() != '#') return true;
    }
    return false;
  }
  void expect_line(std::string_view what, std::int64_t k, std::int64_t count) {
    if (!next_line())
      throw BadInput(fmt::format("{}: cut off: {} of the {} {} lines that its first line asks for", file_, k,
                                 count, what));
  }
  void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(kBlank), text_.size())); }
  /// The next field, or nothing.
  std::string_view optional_word() {
    const std::string_view found = text_.substr(0, text_.find_first_of(kBlank));
    text_.remove_prefix(found.size());
    skip_blanks();
    return found;
  }
  std::string_view word(std::string_view what) {
    const std::string_view found = optional_word();
    if (found.empty()) fail(text_, fmt::format("expected {}", what));
    return found;
  }

  std::int64_t whole(std::string_view text, std::string_view what, std::int64_t least) const {
    std::int64_t value = 0;
    if (!parse_whole(text, value) || value < least)
      fail(text, fmt::format("'{}' is no {} ({} or more)", printable(text), what, least));
    return value;
  }
  double real(std::string_view text, std::string_view what) const {
    double value = 0;
    if (!parse_whole(text, value) || !std::isfinite(value))
      fail(text, fmt::format("'{}' is no {}", printable(text), what));
    return value;
  }

  WfdbSignal signal() {
    WfdbSignal signal;
    signal.file = word("a file's name");
    read_format(word("a format"), signal);
    bool has_baseline = false;
    if (const std::string_view gain = optional_word(); !gain.empty()) has_baseline = read_gain(gain, signal);
    optional_word();  // the converter's resolution
    if (const std::string_view zero = optional_word(); !zero.empty() && !has_baseline)
      signal.baseline = real(zero, "value of the converter at 0 V");
    if (const std::string_view before = optional_word(); !before.empty())
      signal.before = whole(before, "first sample", -(std::int64_t{1} << 32));
    if (const std::string_view sum = optional_word(); !sum.empty())
      signal.checksum = whole(sum, "checksum", -(std::int64_t{1} << 32));
    optional_word();  // the block size
    signal.name = trimmed(text_);
    return signal;
  }

  /// 212x4:3+512: the format, samples a frame, skew, offset.
  void read_format(std::string_view text, WfdbSignal& signal) const {
    const auto part = [&](char mark, std::string_view what, std::int64_t least, std::int64_t otherwise) {
      if (!text.starts_with(mark)) return otherwise;
      const std::string_view digits = text.substr(1, text.find_first_not_of("0123456789", 1) - 1);
      text.remove_prefix(1 + digits.size());
      return whole(digits, what, least);
    };
    const std::string_view number = text.substr(0, text.find_first_not_of("0123456789"));
    const std::int64_t format = whole(number, "format", 0);
    if (format > 1000) fail(number, fmt::format("format {} is unknown", format));
    signal.format = static_cast<int>(format);
    text.remove_prefix(number.size());
    signal.samples_per_frame = part('x', "number of samples a frame", 1, 1);
    if (signal.samples_per_frame > 1 << 20) fail(number, "more than 2^20 samples a frame");
    signal.skew = part(':', "skew", 0, 0);
    signal.offset = static_cast<std::uint64_t>(part('+', "offset", 0, 0));
    if (!text.empty()) fail(text, fmt::format("'{}' after the format", printable(text)));
  }

  /// 200(-3)/mV: the gain, the baseline, the unit. @return whether there is a baseline
  bool read_gain(std::string_view text, WfdbSignal& signal) const {
    if (const std::size_t slash = text.find('/'); slash != text.npos) {
      signal.unit = text.substr(slash + 1);
      text = text.substr(0, slash);
    }
    const std::size_t open = text.find('(');
    if (open != text.npos) {
      if (text.back() != ')') fail(text, fmt::format("expected ')' in '{}'", printable(text)));
      signal.baseline = real(text.substr(open + 1, text.size() - open - 2), "baseline");
    }
    const double gain = real(text.substr(0, open), "gain");
    if (gain != 0) signal.gain = gain;  // 0: not calibrated, where the usual gain stands in
    return open != text.npos;
  }

  std::string_view rest_;
  const std::string& file_;
  unsigned line_ = 0;
  std::string_view text_;        // what is left of the line
  const char* begin_ = nullptr;  // of the line
};

}  // namespace

WfdbHeader parse_wfdb_header(std::string_view text, const std::string& file) {
  return WfdbHeaderReader(text, file).read();
}

}  // namespace warploom::io
