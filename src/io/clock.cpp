#include "warploom/io/clock.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "io/words.hpp"

namespace warploom::io {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kDay = 86'400 * kSecond;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class ClockReader {
 public:
  explicit ClockReader(std::string_view text) : rest_(text) {}

  std::optional<Clock> read() {
    Clock clock;
    clock.dated = date(clock);
    if (clock.dated && rest_.empty()) return clock;
    if (clock.dated && !skip('T') && !skip('t') && !skip(' ')) return std::nullopt;
    if (!time(clock) || !zone(clock)) return std::nullopt;
    if (!rest_.empty()) return std::nullopt;
    return clock;
  }

 private:
  bool skip(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// @return -1 without so many digits
  int number(std::size_t least, std::size_t most) {
    int value = 0;
    std::size_t count = 0;
    for (; count < most && !rest_.empty() && is_digit(rest_[0]); ++count, rest_.remove_prefix(1))
      value = 10 * value + (rest_[0] - '0');
    return count < least ? -1 : value;
  }

  /// Takes a date off, if there is one.
  bool date(Clock& clock) {
    const std::string_view all = rest_;
    int year = number(4, 4), month = -1, day = -1;
    const char mark = rest_.empty() ? '\0' : rest_[0];
    if (year >= 0 && (mark == '-' || mark == '/')) {
      skip(mark);
      month = number(1, 2);
      if (!skip(mark)) month = -1;
      day = number(1, 2);
    } else {
      rest_ = all;
      day = number(1, 2);
      if (!skip('.')) day = -1;
      month = number(1, 2);
      if (!skip('.')) month = -1;
      year = number(4, 4);
    }
    const std::chrono::year_month_day when{std::chrono::year(year),
                                           std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (year < 0 || month < 0 || day < 0 || !when.ok() || (!rest_.empty() && is_digit(rest_[0]))) {
      rest_ = all;
      return false;
    }
    clock.nanoseconds = std::int64_t{std::chrono::sys_days(when).time_since_epoch().count()} * kDay;
    return year >= 1678 && year <= 2261;  // what nanoseconds of 64 bits hold
  }

  bool time(Clock& clock) {
    int hour = number(1, 2);
    if (hour < 0 || !skip(':')) return false;
    const int minute = number(2, 2);
    int second = 0;
    std::int64_t fraction = 0;
    if (minute < 0) return false;
    if (skip(':')) {
      second = number(2, 2);
      if (skip('.') || skip(',')) {
        if (rest_.empty() || !is_digit(rest_[0])) return false;
        for (std::int64_t unit = kSecond / 10; !rest_.empty() && is_digit(rest_[0]); unit /= 10) {
          fraction += unit * (rest_[0] - '0');
          rest_.remove_prefix(1);
        }
      }
    }
    if (const std::string_view half = trimmed(rest_);
        half.size() == 2 && (half[1] == 'M' || half[1] == 'm')) {
      const bool after = half[0] == 'P' || half[0] == 'p';
      if ((!after && half[0] != 'A' && half[0] != 'a') || hour < 1 || hour > 12) return false;
      hour = hour % 12 + (after ? 12 : 0);
      rest_ = {};
    }
    if (hour > 23 || minute > 59 || second < 0 || second > 60) return false;
    clock.nanoseconds += (hour * 3600 + minute * 60 + second) * kSecond + fraction;
    return true;
  }

  bool zone(Clock& clock) {
    skip(' ');
    if (rest_.empty()) return true;
    if (rest_ == "UTC" || rest_ == "GMT" || rest_ == "Z" || rest_ == "z") {
      rest_ = {};
      clock.offset = 0;
      return clock.dated;
    }
    const int sign = skip('-') ? -1 : skip('+') ? 1 : 0;
    const int hours = number(2, 2);
    skip(':');
    const int minutes = rest_.empty() ? 0 : number(2, 2);
    if (sign == 0 || hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return false;
    clock.offset = sign * (60 * hours + minutes);
    return clock.dated;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<Clock> parse_clock(std::string_view text) { return ClockReader(trimmed(text)).read(); }

std::string clock_text(const Clock& begin, double seconds) {
  if (!(std::abs(seconds) < 2.4e11)) return "";
  constexpr std::int64_t kMilli = 1'000'000;
  // Whole milliseconds, so that 0.9996 s is the next second.
  std::int64_t milliseconds = begin.nanoseconds / kMilli +
                              (begin.nanoseconds % kMilli + kMilli / 2) / kMilli +
                              std::llround(seconds * 1e3);
  constexpr std::int64_t kMilliDay = kDay / kMilli;
  std::int64_t day = milliseconds / kMilliDay;
  if (milliseconds % kMilliDay < 0) --day;
  milliseconds -= day * kMilliDay;
  std::string text;
  if (begin.dated) {
    constexpr std::int64_t kFirst = -719528, kLast = 2932896;  // days of the years 0 and 9999
    if (day < kFirst || day > kLast) return "";
    const std::chrono::year_month_day when{std::chrono::sys_days(std::chrono::days(day))};
    text = fmt::format("{:04}-{:02}-{:02}T", static_cast<int>(when.year()),
                       static_cast<unsigned>(when.month()), static_cast<unsigned>(when.day()));
  }
  text += fmt::format("{:02}:{:02}:{:02}.{:03}", milliseconds / 3'600'000, milliseconds / 60'000 % 60,
                      milliseconds / 1000 % 60, milliseconds % 1000);
  if (!begin.offset) return text;
  if (*begin.offset == 0) return text + "Z";
  const std::int64_t minutes = std::abs(std::int64_t{*begin.offset});
  return text + fmt::format("{}{:02}:{:02}", *begin.offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

}  // namespace warploom::io
