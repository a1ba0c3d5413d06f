#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/printable.hpp"
#include "io/words.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/io/recording.hpp"

namespace warploom::io {
namespace {

constexpr std::string_view kHeaderLine = "onset,duration,label";

class AnnotationReader {
 public:
  AnnotationReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<Annotation> read() {
    if (text_.starts_with(kByteOrderMark)) take(kByteOrderMark.size());
    if (field("\r\n") != kHeaderLine)
      throw ParseError({name_, 1, 1}, fmt::format("expected the header line {}", kHeaderLine));
    std::vector<Annotation> annotations;
    while (end_line()) {
      if (text_.find_first_of("\r\n") == 0) continue;
      Annotation& annotation = annotations.emplace_back();
      annotation.onset = number("onset");
      annotation.duration = number("duration");
      if (annotation.duration < 0) fail("a duration below 0");
      annotation.label = label();
    }
    return annotations;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw ParseError({name_, line_, column_}, what); }

  std::string_view take(std::size_t count) {
    const std::string_view taken = text_.substr(0, count);
    text_.remove_prefix(taken.size());
    column_ += static_cast<unsigned>(taken.size());
    return taken;
  }
  std::string_view field(std::string_view ends) { return take(text_.find_first_of(ends)); }

  /// @return false at the end of the text
  bool end_line() {
    if (text_.starts_with('\r')) take(1);
    if (text_.empty()) return false;
    if (text_.front() != '\n')
      fail(fmt::format("expected the line's end, found '{}'", printable(text_.substr(0, 1))));
    take(1);
    ++line_;
    column_ = 1;
    return !text_.empty();
  }

  double number(std::string_view what) {
    double value = 0;
    if (const std::string_view word = text_.substr(0, text_.find_first_of(",\r\n"));
        !parse_whole(word, value) || !std::isfinite(value))
      fail(fmt::format("'{}' is no {} in seconds", printable(word), what));
    else
      take(word.size());
    if (!text_.starts_with(',')) fail(fmt::format("expected a comma after the {}", what));
    take(1);
    return value;
  }

  std::string label() {
    if (!text_.starts_with('"')) return std::string(field("\r\n"));
    std::string label;
    take(1);
    while (true) {
      const std::string_view piece = text_.substr(0, text_.find('"'));
      if (piece.size() == text_.size()) fail("a quotation mark without its second");
      line_ += static_cast<unsigned>(std::ranges::count(piece, '\n'));
      label += take(piece.size());
      take(1);
      if (!text_.starts_with('"')) return label;
      label += take(1);
    }
  }

  std::string_view text_;
  const std::string& name_;
  unsigned line_ = 1, column_ = 1;
};

}  // namespace

std::vector<Annotation> parse_annotations(std::string_view text, const std::string& name) {
  return AnnotationReader(text, name).read();
}

std::string csv_field(std::string text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != text.npos; at += 2) text.insert(at, 1, '"');
  return '"' + text + '"';
}

std::string format_annotations(const std::vector<Annotation>& annotations) {
  std::string text = fmt::format("{}\n", kHeaderLine);
  for (const auto& [onset, duration, label] : annotations)
    text += fmt::format("{},{},{}\n", onset, duration, csv_field(label));
  return text;
}

}  // namespace warploom::io
