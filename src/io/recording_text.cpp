#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "io/printable.hpp"
#include "io/recording_readers.hpp"
#include "io/sheet.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/io/clock.hpp"

namespace warploom::io {
namespace {

struct Title {
  std::string name, unit;
};

/// "time [ms]" -> time, ms.
Title parse_title(std::string_view text, char open, char close) {
  const std::size_t begin = text.rfind(open);
  if (begin == text.npos || begin == 0 || text.back() != close) return {std::string(text), ""};
  std::string_view name = text.substr(0, begin);
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return {std::string(name), std::string(text.substr(begin + 1, text.size() - begin - 2))};
}

Title parse_either_title(std::string_view text) {
  const Title round = parse_title(text, '(', ')');
  return round.unit.empty() ? parse_title(text, '[', ']') : round;
}

/// "time_ms" -> time, ms.
Title parse_time_title(std::string_view text) {
  Title title = parse_either_title(text);
  const std::size_t bar = title.name.find_last_of("_ ");
  if (!title.unit.empty() || bar == title.name.npos) return title;
  const std::string last = title.name.substr(bar + 1);
  if (last == "s" || last == "sec" || last == "ms" || last == "us" || last == "ns")
    return {title.name.substr(0, bar), last};
  return title;
}

bool names_time(const std::string& title) {
  const std::string name = parse_time_title(title).name, small = lower(name);
  return name == "t" || small == "time" || small == "timestamp" || small == "time stamp" ||
         small == "datetime" || small == "date_time" || small == "date time";  // T is a temperature
}

/// The column of a name or number (from 1).
std::size_t find_column(const Table<double>& table, const std::string& wanted, const std::string& file) {
  for (std::size_t k = 0; k < table.header.size(); ++k)
    if (table.header[k] == wanted || parse_either_title(table.header[k]).name == wanted) return k;
  std::int64_t number = 0;
  if (parse_whole(wanted, number) && number >= 1 && number <= table.columns)
    return static_cast<std::size_t>(number) - 1;
  throw BadInput(fmt::format("{}: no column '{}'; it has {} columns{}{}", file, wanted, table.columns,
                             table.header.empty() ? " and no header: give a number from 1" : ": ",
                             quoted_list(table.header)));
}

/// "column 'time'", "column 1"; for messages.
std::string called(const Table<double>& table, std::size_t column) {
  return table.header.empty() ? fmt::format("column {}", column + 1)
                              : fmt::format("column '{}'", printable(table.header[column]));
}

/// The lower of the two in the middle.
double median_step(const Table<double>& table, std::size_t column) {
  std::vector<double> steps(static_cast<std::size_t>(table.rows) - 1);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const auto row = static_cast<std::int64_t>(k), of = static_cast<std::int64_t>(column);
    steps[k] = table(row + 1, of) - table(row, of);
  }
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::ranges::nth_element(steps, middle);
  return *middle;
}

/// Whether a column without a name is time: it grows from row to row, nearly always by the same step.
bool grows_evenly(const Table<double>& table, std::size_t column) {
  if (table.rows < 8) return false;
  const double median = median_step(table, column);
  std::int64_t even = 0;
  for (std::int64_t row = 1; row < table.rows; ++row) {
    const auto of = static_cast<std::int64_t>(column);
    const double step = table(row, of) - table(row - 1, of);
    if (!(step > 0)) return false;
    even += step > 0.5 * median && step < 1.5 * median;
  }
  return 10 * even >= 9 * (table.rows - 1);
}

/// As the column's title says, or the row of units.
std::string unit_of(const Sheet& sheet, std::size_t column) {
  const std::string unit =
      sheet.numbers.header.empty() ? "" : parse_time_title(sheet.numbers.header[column]).unit;
  return unit.empty() && !sheet.units.empty() ? sheet.units[column] : unit;
}

/// Whether all rows are moments.
bool holds_clock(const Sheet& sheet, std::size_t column) {
  return std::cmp_equal(sheet.words[column].size(), sheet.numbers.rows) &&
         std::ranges::all_of(sheet.words[column],
                             [](const Word& word) { return parse_clock(word.text).has_value(); });
}

std::optional<std::size_t> find_time(const Sheet& sheet, const RecordingOptions& options,
                                     const std::string& file) {
  const Table<double>& table = sheet.numbers;
  if (options.time_column == "none") return std::nullopt;
  if (!options.time_column.empty()) return find_column(table, options.time_column, file);
  for (std::size_t k = 0; k < table.header.size(); ++k)
    if (names_time(table.header[k])) return k;
  if (table.columns < 2 || options.rate) return std::nullopt;
  const std::string what = "is taken for time (time column 'none': it is not)";
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}})
    if (holds_clock(sheet, k) && (k == 0 || !parse_clock(sheet.words[k][0].text)->dated)) {
      if (k == 0 && table.columns > 2 && holds_clock(sheet, 1) && !parse_clock(sheet.words[1][0].text)->dated)
        continue;
      log(LogLevel::warning,
          fmt::format("{}: {} holds dates or times of day and {}", file, called(table, k), what));
      return k;
    }
  const std::string unit = unit_of(sheet, 0);
  const bool unit_of_time = unit == "s" || unit == "sec" || unit == "ms" || unit == "us" || unit == "ns";
  if ((!table.header.empty() && !unit_of_time) || !grows_evenly(table, 0)) return std::nullopt;
  log(LogLevel::warning, fmt::format("{}: {} grows evenly and {}", file, called(table, 0), what));
  return 0;
}

/// The column of dates that stands before one of times of day.
std::optional<std::size_t> date_beside(const Sheet& sheet, std::size_t time) {
  if (time == 0 || sheet.words[time].empty() || sheet.words[time - 1].empty()) return std::nullopt;
  const auto date = parse_clock(sheet.words[time - 1][0].text), hour = parse_clock(sheet.words[time][0].text);
  return date && date->dated && hour && !hour->dated ? std::optional(time - 1) : std::nullopt;
}

/// Dates and times of day in place of the words: [s] since the first row. @return the first
std::optional<Clock> read_clock(Sheet& sheet, std::size_t column, std::optional<std::size_t> date,
                                const std::string& file) {
  std::vector<Word>& words = sheet.words[column];
  if (words.empty()) return std::nullopt;
  constexpr std::int64_t kDay = 86'400'000'000'000;  // [ns]
  const auto at = [&](const Word& word) -> TextPosition {
    return {file, sheet.numbers.lines[static_cast<std::size_t>(word.row)], word.at};
  };
  std::optional<Clock> first;
  std::int64_t before = 0, days = 0;
  for (std::int64_t row = 0; row < sheet.numbers.rows; ++row) {
    const auto k = static_cast<std::size_t>(row);
    if (k >= words.size() || words[k].row != row)
      throw ParseError({file, sheet.numbers.lines[k], 1}, "no time in this row, where others have one");
    std::optional<Clock> clock = parse_clock(words[k].text);
    if (!clock)
      throw ParseError(
          at(words[k]),
          fmt::format("'{}' is no time; 2024-05-31 13:07:00.25, 31.05.2024 13:07:00 and 13:07:00 "
                      "are read, and numbers (time column 'none': it is not time)",
                      printable(words[k].text)));
    if (date) {
      const std::vector<Word>& dates = sheet.words[*date];
      const std::optional<Clock> day =
          k < dates.size() && dates[k].row == row ? parse_clock(dates[k].text) : std::nullopt;
      if (!day || !day->dated)
        throw ParseError({file, sheet.numbers.lines[k], 1}, "no date in this row, where others have one");
      clock = Clock{day->nanoseconds + clock->nanoseconds, true, {}};
    }
    if (first && first->dated != clock->dated)
      throw ParseError(at(words[k]),
                       fmt::format("'{}' is {}, unlike the rows before", printable(words[k].text),
                                   clock->dated ? "a date" : "no date"));
    if (!first) first = clock, before = clock->absolute();
    if (!clock->dated && clock->absolute() + days < before - kDay / 2) days += kDay;  // past midnight
    before = clock->absolute() + days;
    sheet.numbers.values[k * static_cast<std::size_t>(sheet.numbers.columns) + column] =
        static_cast<double>(before - first->absolute()) * 1e-9;
  }
  words.clear();
  return first;
}

bool no_numbers(const Table<double>& table, std::size_t column) {
  for (std::int64_t row = 0; row < table.rows; ++row)
    if (!std::isnan(table(row, static_cast<std::int64_t>(column)))) return false;
  return true;
}

bool all_whole(const Table<double>& table, std::size_t column, double least, double most) {
  for (std::int64_t row = 0; row < table.rows; ++row) {
    const double value = table(row, static_cast<std::int64_t>(column));
    if (!(value >= least && value <= most) || value != std::round(value)) return false;
  }
  return true;
}

/// The last column holds labels, not samples, where it holds words, or few whole numbers in long runs.
std::optional<std::size_t> find_labels(const Sheet& sheet, std::optional<std::size_t> time,
                                       const RecordingOptions& options, const std::string& file) {
  constexpr double kMost = 20;
  constexpr std::int64_t kLeastRun = 25;  // [rows], on average
  const Table<double>& table = sheet.numbers;
  if (options.label_column == "none") return std::nullopt;
  if (!options.label_column.empty()) return find_column(table, options.label_column, file);
  const auto last = static_cast<std::size_t>(table.columns) - 1;
  const bool wanted = std::ranges::any_of(options.select, [&](const std::string& channel) {
    std::int64_t number = 0;
    return parse_whole(channel, number)
               ? number == table.columns - (time ? 1 : 0)
               : !table.header.empty() && parse_title(table.header[last], '[', ']').name == channel;
  });
  if (wanted) return std::nullopt;
  if (table.columns > 1 && last != time && !sheet.words[last].empty() &&
      std::ranges::none_of(sheet.words[last],
                           [](const Word& word) { return parse_clock(word.text).has_value(); }) &&
      no_numbers(table, last)) {
    log(LogLevel::warning,
        fmt::format("{}: {} holds words and is taken for labels", file, called(table, last)));
    return last;
  }
  if (table.columns < (time ? 3 : 2) || last == time || !all_whole(table, last, 0, kMost))
    return std::nullopt;
  std::int64_t runs = 1;
  for (std::int64_t row = 1; row < table.rows; ++row)
    runs += table(row, table.columns - 1) != table(row - 1, table.columns - 1);
  if (runs < 2 || runs * kLeastRun > table.rows) return std::nullopt;
  log(LogLevel::warning,
      fmt::format("{}: {} holds few whole numbers in long runs and is taken for labels (label "
                  "column 'none': it is a channel)",
                  file, called(table, last)));
  return last;
}

/// Where nothing names the unit: seconds, but for whole numbers that grow by more than 1.
/// @return [s]
double guessed_time_unit(const Table<double>& table, std::size_t column, const std::string& file) {
  if (table.rows < 2 || !all_whole(table, column, -1e18, 1e18)) return 1;
  const double step = median_step(table, column);
  if (!(step >= 2)) return 1;
  const bool milli = step <= 1000, micro = !milli && step <= 1e6;
  log(LogLevel::warning,
      fmt::format(
          "{}: {} holds whole numbers, {:g} apart, without a unit; they are taken for {}seconds (a time unit "
          "may be given)",
          file, called(table, column), step,
          milli   ? "milli"
          : micro ? "micro"
                  : "nano"));
  return milli ? 1e-3 : micro ? 1e-6 : 1e-9;
}

/// [s]
double time_unit(const Sheet& sheet, std::size_t column, const RecordingOptions& options,
                 const std::string& file) {
  if (options.time_unit > 0) return options.time_unit;
  const Table<double>& table = sheet.numbers;
  const std::string unit = unit_of(sheet, column);
  if (unit.empty()) return guessed_time_unit(table, column, file);
  if (unit == "s" || unit == "sec") return 1;
  if (unit == "ms") return 1e-3;
  if (unit == "us" || unit == "\xC2\xB5s" || unit == "\xCE\xBCs") return 1e-6;  // micro sign, Greek mu
  if (unit == "ns") return 1e-9;
  throw BadInput(
      fmt::format("{}: the unit '{}' of its time is none of s, ms, us, ns; give the unit in seconds", file,
                  printable(unit)));
}

/// A time column of this century that counts from 1970. @param seconds  of the first row
std::optional<Clock> unix_time(double seconds) {
  constexpr double kFrom = 946'684'800, kTo = 4'102'444'800;  // 2000 to 2100
  if (!(seconds >= kFrom && seconds < kTo)) return std::nullopt;
  return Clock{std::llround(seconds * 1e6) * 1000, true, 0};
}

/// Rows on an even grid of time: where each stands.
struct Grid {
  double rate = 0;                  // [Hz]; 0: not known
  std::vector<std::int64_t> place;  // [rows] in steps since the first
  std::int64_t gaps = 0;
};

class Times {
 public:
  /// @param channels  that gaps will be filled in
  Times(const Table<double>& table, std::size_t column, double unit, std::size_t channels,
        const std::string& file)
      : table_(table),
        column_(static_cast<std::int64_t>(column)),
        unit_(unit),
        channels_(channels),
        file_(file) {}

  Grid grid() const {
    Grid grid;
    grid.place.resize(static_cast<std::size_t>(table_.rows));
    check_growth();
    if (table_.rows < 2) return grid;
    grid.rate = longest_run_rate(unit_ * median_step(table_, static_cast<std::size_t>(column_)));
    for (std::int64_t row = 1; row < table_.rows; ++row) {
      const double step = (at(row) - at(row - 1)) * grid.rate;
      const auto index = static_cast<std::size_t>(row);
      grid.place[index] = grid.place[index - 1] + 1;
      if (step < 0.5)
        fail(
            row,
            fmt::format(
                "time {:.9g} s is {:.3g} s after that of the row before, where {:.6g} s is the usual step; "
                "samples must be evenly spaced, apart from gaps (without a time column, a rate may be given instead)",
                at(row), at(row) - at(row - 1), 1 / grid.rate));
      if (step < 1.5) continue;
      const double place = (at(row) - at(0)) * grid.rate;
      const auto channels = static_cast<double>(channels_);
      check_missing((place - static_cast<double>(row)) * channels,
                    static_cast<double>(table_.rows) * channels, file_);
      grid.place[index] = std::max<std::int64_t>(grid.place[index] + 1, std::llround(place));
      ++grid.gaps;
    }
    return grid;
  }

 private:
  double at(std::int64_t row) const { return table_(row, column_) * unit_; }
  [[noreturn]] void fail(std::int64_t row, const std::string& what) const {
    throw ParseError({file_, table_.lines[static_cast<std::size_t>(row)], 1}, what);
  }

  void check_growth() const {
    for (std::int64_t row = 0; row < table_.rows; ++row) {
      if (!std::isfinite(at(row))) fail(row, fmt::format("time {} is no time", at(row)));
      if (row > 0 && !(at(row) > at(row - 1)))
        fail(row, fmt::format("time {:.9g} s is not after {:.9g} s, the time of the row before", at(row),
                              at(row - 1)));
    }
  }

  /// The mean rate of the longest run without a gap: stamps are rounded, and drift apart from a rate that is.
  /// A whole number of samples a second is taken instead where it is as near as clocks are, and no stamp
  /// moves by a step.
  double longest_run_rate(double median) const {
    std::int64_t begin = 0, best_begin = 0, best = 0;
    for (std::int64_t row = 1; row < table_.rows; ++row) {
      const double step = at(row) - at(row - 1);
      if (step < 0.5 * median || step >= 1.5 * median)
        begin = row;
      else if (row - begin > best)
        best = row - begin, best_begin = begin;
    }
    const double rate = static_cast<double>(best) / (at(best_begin + best) - at(best_begin));
    const double whole = std::round(rate), relative = std::abs(whole / rate - 1);
    return relative <= 1e-4 && relative * static_cast<double>(best) <= 1 ? whole : rate;
  }

  const Table<double>& table_;
  const std::int64_t column_;
  const double unit_;
  const std::size_t channels_;
  const std::string& file_;
};

/// Runs of rows with one value or word.
std::vector<Annotation> label_runs(const Sheet& sheet, std::size_t column, const Grid& grid, double rate) {
  const Table<double>& table = sheet.numbers;
  std::vector<std::string_view> words(static_cast<std::size_t>(table.rows));
  for (const Word& word : sheet.words[column]) words[static_cast<std::size_t>(word.row)] = word.text;
  const auto value = [&](std::int64_t row) { return table(row, static_cast<std::int64_t>(column)); };
  const auto word = [&](std::int64_t row) { return words[static_cast<std::size_t>(row)]; };
  std::vector<Annotation> runs;
  for (std::int64_t begin = 0, end = 0; begin < table.rows; begin = end) {
    const bool number = std::isfinite(value(begin));
    for (end = begin + 1; end < table.rows && word(end) == word(begin) &&
                          std::isfinite(value(end)) == number && (!number || value(end) == value(begin));)
      ++end;
    if (!number && word(begin).empty()) continue;
    const std::int64_t first = grid.place[static_cast<std::size_t>(begin)];
    const std::int64_t last = grid.place[static_cast<std::size_t>(end) - 1];
    runs.push_back({static_cast<double>(first) / rate, static_cast<double>(last + 1 - first) / rate,
                    number ? fmt::format("{}", value(begin)) : std::string(word(begin))});
  }
  return runs;
}

/// A column of a spreadsheet that numbers its rows: without a name under a header, 0 or 1 and one more each.
bool numbers_rows(const Sheet& sheet, std::size_t column) {
  const Table<double>& table = sheet.numbers;
  if (table.header.empty() || !table.header[column].empty() || table.columns < 2) return false;
  const auto at = static_cast<std::int64_t>(column);
  for (std::int64_t row = 0; row < table.rows; ++row)
    if (table(row, at) != table(0, at) + static_cast<double>(row)) return false;
  return table(0, at) == 0 || table(0, at) == 1;
}

/// @throws ParseError at the first word of a channel
void check_no_words(const Sheet& sheet, std::size_t column, const std::string& file) {
  if (sheet.words[column].empty()) return;
  const Word& word = sheet.words[column].front();
  const bool all = no_numbers(sheet.numbers, column);
  throw ParseError(
      {file, sheet.numbers.lines[static_cast<std::size_t>(word.row)], word.at},
      fmt::format("'{}' is no number; {}", printable(word.text),
                  all ? fmt::format("if {} holds labels, say so (label column), if it is not wanted, "
                                    "select others",
                                    called(sheet.numbers, column))
                      : "leave the field empty where a sample is missing"));
}

}  // namespace

Recording read_text(ByteSource& source, const RecordingOptions& options) {
  const std::string& file = source.name();
  const std::string text = to_utf8(std::string(source.all()), file);
  Sheet sheet = read_sheet(text, file);
  const Table<double>& table = sheet.numbers;
  const std::optional<std::size_t> time = find_time(sheet, options, file);
  const std::optional<std::size_t> date = time ? date_beside(sheet, *time) : std::nullopt;
  Recording recording;
  if (time) recording.begin = read_clock(sheet, *time, date, file);
  const std::optional<std::size_t> label = find_labels(sheet, time, options, file);

  std::vector<std::size_t> columns;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < static_cast<std::size_t>(table.columns); ++k) {
    if (k == time || k == date || k == label) continue;
    if (numbers_rows(sheet, k)) {
      log(LogLevel::warning,
          fmt::format("{}: column {} has no name, counts the rows and is left out", file, k + 1));
      continue;
    }
    columns.push_back(k);
    names.push_back(table.header.empty() ? "" : parse_title(table.header[k], '[', ']').name);
  }
  if (columns.empty()) throw BadInput(fmt::format("{}: no column but time and labels", file));
  const std::vector<std::size_t> wanted = wanted_channels(names, options, file);

  for (const std::size_t k : wanted) check_no_words(sheet, columns[k], file);

  Grid grid;
  if (time) {
    const double unit = recording.begin ? 1 : time_unit(sheet, *time, options, file);
    grid = Times(table, *time, unit, wanted.size(), file).grid();
    if (!recording.begin) recording.begin = unix_time(table(0, static_cast<std::int64_t>(*time)) * unit);
  } else {
    grid.place.resize(static_cast<std::size_t>(table.rows));
    for (std::size_t row = 0; row < grid.place.size(); ++row)
      grid.place[row] = static_cast<std::int64_t>(row);
  }

  recording.gaps = grid.gaps;
  for (const std::size_t k : wanted) {
    Channel& channel = recording.channels.emplace_back();
    channel.name = names[k];
    if (!table.header.empty()) channel.unit = parse_title(table.header[columns[k]], '[', ']').unit;
    if (channel.unit.empty() && !sheet.units.empty()) channel.unit = sheet.units[columns[k]];
    channel.samples.assign(static_cast<std::size_t>(grid.place.back()) + 1, kMissing);
    for (std::int64_t row = 0; row < table.rows; ++row)
      channel.samples[static_cast<std::size_t>(grid.place[static_cast<std::size_t>(row)])] =
          to_sample(table(row, static_cast<std::int64_t>(columns[k])));
  }
  set_rate(recording, grid.rate, options, file);
  if (label) recording.annotations = label_runs(sheet, *label, grid, recording.channels[0].rate);
  return recording;
}

}  // namespace warploom::io
