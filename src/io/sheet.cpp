#include "io/sheet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "io/printable.hpp"
#include "io/recording_readers.hpp"
#include "io/words.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/io/clock.hpp"

namespace warploom::io {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

void append_utf8(std::string& out, std::uint32_t c) {
  const auto rest = [&](int shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    rest(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    rest(6), rest(0);
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    rest(12), rest(6), rest(0);
  }
}

bool is_missing(std::string_view field) {
  if (field.size() > 4) return false;
  const std::string word = lower(field);
  return word.empty() || word == "na" || word == "n/a" || word == "nan" || word == "null" || word == "none" ||
         word == "-" || word == "?" || word == "#n/a";
}

struct Field {
  std::string_view text;  // without quotation marks and blanks around
  const char* at;
};

enum class Kind { number, missing, word };

class SheetReader {
 public:
  SheetReader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  Sheet read() {
    std::vector<std::vector<Field>> first;  // lines, until it is known what they are
    std::vector<unsigned> numbers;
    for (std::vector<Field> fields; first.size() < 3 && next_row(fields); numbers.push_back(line_))
      first.push_back(fields);
    if (first.empty()) throw BadInput(fmt::format("{}: no numbers", name_));
    if (separator_ == ' ' && first[0].size() == 1 && first.size() > 1 &&
        first[1][0].text.find_first_of(",;") != std::string_view::npos)
      fail(numbers[1], 1,
           fmt::format("'{}' has a separator, where line {} has none{}", printable(first[1][0].text),
                       numbers[0], above()));
    std::size_t skip = take_header(first);
    for (; skip < first.size(); ++skip) take_row(first[skip], numbers[skip]);
    for (std::vector<Field> fields; next_row(fields);) take_row(fields, line_);
    Table<double>& table = sheet_.numbers;
    if (table.rows == 0)
      throw BadInput(fmt::format("{}: no numbers, only {}", name_,
                                 sheet_.units.empty() ? "a header line" : "lines of names and units"));
    drop_empty_column();
    return std::move(sheet_);
  }

 private:
  [[noreturn]] void fail(unsigned line, std::size_t column, const std::string& what) const {
    throw ParseError({name_, line, static_cast<unsigned>(column)}, what);
  }

  /// The fields of the next line that is not empty. @return false after the last
  bool next_row(std::vector<Field>& fields) {
    while (!rest_.empty()) {
      if (++line_ % 4096 == 0) check_interrupt();
      const std::string_view whole = rest_.substr(0, rest_.find('\n'));
      rest_.remove_prefix(std::min(whole.size() + 1, rest_.size()));
      const std::string_view line = without_comment(whole);
      if (trimmed(line).empty()) continue;
      if (separator_ == '\0') separator_ = separator_of(line);
      split(line, fields);
      return true;
    }
    return false;
  }

  static std::string_view without_comment(std::string_view line) {
    bool quoted = false;
    for (std::size_t k = 0; k < line.size(); ++k) {
      if (line[k] == '"') quoted = !quoted;
      if (line[k] == '#' && !quoted && !line.substr(k).starts_with("#N/A")) return line.substr(0, k);
    }
    return line;
  }

  static char separator_of(std::string_view line) {
    bool quoted = false, comma = false, semicolon = false, tab = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      comma |= c == ',', semicolon |= c == ';', tab |= c == '\t';
    }
    if (semicolon) return ';';
    // Tabs may also align columns: then some stand beside each other.
    if (tab && !comma && trimmed(line).find("\t\t") == line.npos && trimmed(line).find(' ') == line.npos)
      return '\t';
    if (tab && line.find(' ') != line.npos && line.find("\t\t") == line.npos && has_name_of_words(line))
      return '\t';
    return comma ? ',' : ' ';
  }
  /// Whether blanks stand within the fields of a header: "time [s]<tab>left heel".
  static bool has_name_of_words(std::string_view line) {
    return std::ranges::none_of(line, [](char c) { return c >= '0' && c <= '9'; });
  }

  void split(std::string_view line, std::vector<Field>& fields) const {
    fields.clear();
    if (separator_ == ' ') {
      for (std::size_t at = 0; (at = line.find_first_not_of(kBlank, at)) != line.npos;) {
        const std::size_t end = end_of(line, at, kBlank);
        fields.push_back(field(line.substr(at, end - at)));
        at = end;
      }
      return;
    }
    const std::string_view stop(&separator_, 1);
    for (std::size_t at = 0;;) {
      const std::size_t end = end_of(line, at, stop);
      fields.push_back(field(line.substr(at, end - at)));
      if (end == line.size()) return;
      at = end + 1;
    }
  }
  /// Of the field that begins at `at`; separators in quotation marks are part of it.
  std::size_t end_of(std::string_view line, std::size_t at, std::string_view stops) const {
    std::size_t end = at, inside = line.find_first_not_of(kBlank, at);
    if (inside != line.npos && line[inside] == '"') {
      end = line.find('"', inside + 1);
      if (end == line.npos)
        fail(line_, inside + 1, "a quotation mark without its second; close it in the same line");
    }
    return std::min(line.find_first_of(stops, end), line.size());
  }
  static Field field(std::string_view text) {
    std::string_view inner = trimmed(text);
    if (inner.size() > 1 && inner.front() == inner.back() && (inner[0] == '"' || inner[0] == '\''))
      inner = trimmed(inner.substr(1, inner.size() - 2));
    return {inner, inner.empty() ? text.data() : inner.data()};
  }

  Kind kind_of(std::string_view text, double& value) const {
    value = kNoNumber;
    if (text.empty()) return Kind::missing;
    std::string_view digits = text;
    if (digits[0] == '+' && digits.size() > 1 && digits[1] != '-' && digits[1] != '+')
      digits.remove_prefix(1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc::invalid_argument && end == digits.data() + digits.size()) {
      if (error != std::errc{}) value = kNoNumber;  // beyond float64: no sample
      return Kind::number;
    }
    value = kNoNumber;
    if (separator_ != ',' && with_point(digits, value)) return Kind::number;
    return is_missing(text) ? Kind::missing : Kind::word;
  }
  /// "1,5"
  static bool with_point(std::string_view text, double& value) {
    const std::size_t comma = text.find(',');
    if (comma == text.npos || text.find_first_of(",.", comma + 1) != text.npos ||
        text.substr(0, comma).find('.') != text.npos || text.size() > 64 ||
        text.find_first_not_of("0123456789,+-eE") != text.npos)
      return false;
    std::string copy(text);
    copy[comma] = '.';
    const auto [end, error] = std::from_chars(copy.data(), copy.data() + copy.size(), value);
    if (error == std::errc{} && end == copy.data() + copy.size()) return true;
    value = kNoNumber;
    return false;
  }

  bool all_words(const std::vector<Field>& fields) const {
    double value = 0;
    bool some = false;
    for (const Field& f : fields) {
      const Kind kind = kind_of(f.text, value);
      if (kind == Kind::number || (kind == Kind::word && parse_clock(f.text))) return false;
      some |= kind == Kind::word;
    }
    return some;
  }
  /// A word where the next line has a number or a time.
  bool names_columns(const std::vector<Field>& fields, const std::vector<Field>& next) const {
    double value = 0;
    for (std::size_t k = 0; k < std::min(fields.size(), next.size()); ++k)
      if (kind_of(fields[k].text, value) == Kind::word && !parse_clock(fields[k].text) &&
          (kind_of(next[k].text, value) == Kind::number || parse_clock(next[k].text)))
        return true;
    return false;
  }

  /// @return how many lines are header
  std::size_t take_header(const std::vector<std::vector<Field>>& lines) {
    if (!all_words(lines[0]) && !(lines.size() > 1 && names_columns(lines[0], lines[1]))) return 0;
    for (const Field& f : lines[0]) sheet_.numbers.header.emplace_back(f.text);
    if (lines.size() < 3 || !all_words(lines[1]) || all_words(lines[2]) ||
        lines[1].size() > sheet_.numbers.header.size())
      return 1;
    for (const Field& f : lines[1]) {
      std::string_view unit = f.text;
      if (unit.size() > 1 &&
          ((unit.front() == '[' && unit.back() == ']') || (unit.front() == '(' && unit.back() == ')')))
        unit = unit.substr(1, unit.size() - 2);
      sheet_.units.emplace_back(unit);
    }
    sheet_.units.resize(sheet_.numbers.header.size());
    return 2;
  }

  void take_row(std::vector<Field>& fields, unsigned line) {
    Table<double>& table = sheet_.numbers;
    if (table.rows == 0) {
      const std::size_t names = table.header.size();
      if (names > 0 && fields.size() == names + 1 && fields.back().text.empty()) fields.pop_back();
      if (names > 0 && fields.size() + 1 == names && table.header.back().empty()) {
        table.header.pop_back();
        if (!sheet_.units.empty()) sheet_.units.pop_back();
      } else if (names > 0 && fields.size() != names) {
        fail(line, 1,
             fmt::format("{} in this row; the header names {} columns{}", fields_text(fields.size()), names,
                         above()));
      }
      table.columns = static_cast<std::int64_t>(fields.size());
      sheet_.words.resize(fields.size());
    }
    if (std::cmp_equal(fields.size(), table.columns + 1) && fields.back().text.empty()) fields.pop_back();
    if (std::cmp_not_equal(fields.size(), table.columns))
      fail(line, 1,
           fmt::format("{} in this row; the first row, in line {}, has {}{}", fields_text(fields.size()),
                       table.lines.empty() ? line : table.lines.front(), table.columns, above()));
    const char* const begin = line_begin(fields[0].at);
    for (std::size_t k = 0; k < fields.size(); ++k) {
      double value = 0;
      const Kind kind = kind_of(fields[k].text, value);
      const auto at = static_cast<unsigned>(fields[k].at - begin + 1);
      table.values.push_back(value);
      if (kind == Kind::word) sheet_.words[k].push_back({table.rows, at, fields[k].text});
      if (kind == Kind::number && separator_ != ',') check_mark(fields[k].text, line, at);
    }
    table.lines.push_back(line);
    ++table.rows;
  }
  /// What to do about lines that describe the table.
  std::string above() const {
    return sheet_.numbers.rows > 2
               ? ""
               : "; if lines above the table describe it, begin them with '#' or remove them";
  }
  static std::string fields_text(std::size_t count) {
    return fmt::format("{} number{}", count, count == 1 ? "" : "s");
  }
  const char* line_begin(const char* at) const {
    while (at > text_begin_ && at[-1] != '\n') --at;
    return at;
  }
  /// Decimal commas and points in one file: one of them parts thousands, and which is not known.
  void check_mark(std::string_view text, unsigned line, unsigned at) {
    const bool comma = text.find(',') != text.npos, point = text.find('.') != text.npos;
    if (!comma && !point) return;
    unsigned& seen = comma ? comma_line_ : point_line_;
    const unsigned other = comma ? point_line_ : comma_line_;
    if (seen == 0) seen = line;
    if (other != 0)
      fail(line, at,
           fmt::format("'{}' has a decimal {}, a number of line {} a decimal {}; write all with points",
                       printable(text), comma ? "comma" : "point", other, comma ? "point" : "comma"));
  }

  /// Of separators at the ends of lines.
  void drop_empty_column() {
    Table<double>& table = sheet_.numbers;
    const auto last = static_cast<std::size_t>(table.columns) - 1;
    if (table.columns < 2 || separator_ == ' ' || !sheet_.words[last].empty()) return;
    if (!table.header.empty() && !table.header[last].empty()) return;
    for (std::int64_t row = 0; row < table.rows; ++row)
      if (const double value = table(row, table.columns - 1); value == value) return;
    std::vector<double> values;
    values.reserve(table.values.size());
    for (std::int64_t row = 0; row < table.rows; ++row)
      for (std::int64_t k = 0; k < table.columns - 1; ++k) values.push_back(table(row, k));
    table.values = std::move(values);
    --table.columns;
    sheet_.words.pop_back();
    if (!table.header.empty()) table.header.pop_back();
    if (!sheet_.units.empty()) sheet_.units.pop_back();
  }

  std::string_view rest_;
  const char* const text_begin_ = rest_.data();
  const std::string& name_;
  Sheet sheet_;
  unsigned line_ = 0, comma_line_ = 0, point_line_ = 0;
  char separator_ = '\0';
};

}  // namespace

std::string to_utf8(std::string&& bytes, const std::string& name) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(bytes[k]); };
  if (bytes.starts_with(kByteOrderMark)) {
    bytes.erase(0, kByteOrderMark.size());
    return std::move(bytes);
  }
  std::optional<bool> big;
  std::size_t begin = 0;
  if (bytes.size() >= 2) {
    if (byte(0) == 0xFF && byte(1) == 0xFE) big = false, begin = 2;
    if (byte(0) == 0xFE && byte(1) == 0xFF) big = true, begin = 2;
  }
  if (!big && bytes.size() >= 4) {
    if (byte(0) != 0 && byte(1) == 0 && byte(2) != 0 && byte(3) == 0) big = false;
    if (byte(0) == 0 && byte(1) != 0 && byte(2) == 0 && byte(3) != 0) big = true;
  }
  if (!big) return std::move(bytes);
  if (bytes.size() % 2 != 0)
    throw BadInput(fmt::format("{}: UTF-16 of {} bytes, an odd number: it was cut off", name, bytes.size()));
  std::string text;
  text.reserve(bytes.size() / 2);
  const auto unit = [&](std::size_t k) -> std::uint32_t {
    return *big ? byte(k) << 8 | byte(k + 1) : byte(k) | byte(k + 1) << 8;
  };
  for (std::size_t k = begin; k < bytes.size(); k += 2) {
    std::uint32_t c = unit(k);
    if (c >= 0xD800 && c < 0xE000) {
      const std::uint32_t second = c < 0xDC00 && k + 2 < bytes.size() ? unit(k + 2) : 0;
      if (second < 0xDC00 || second >= 0xE000)
        throw BadInput(fmt::format("{}: half a character of UTF-16 at byte {}", name, k));
      c = 0x10000 + ((c - 0xD800) << 10) + (second - 0xDC00);
      k += 2;
    }
    append_utf8(text, c);
  }
  return text;
}

Sheet read_sheet(std::string_view text, const std::string& name) { return SheetReader(text, name).read(); }

}  // namespace warploom::io
