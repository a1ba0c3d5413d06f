#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warploom::io {

/// A moment as a clock on the wall shows it.
struct Clock {
  std::int64_t nanoseconds = 0;  ///< since 1970-01-01 00:00 of that place, or since midnight without a date
  bool dated = false;
  std::optional<std::int32_t> offset = {};  ///< [min] of that place from UTC, where it is known

  /// Since 1970-01-01 00:00 UTC where the offset is known, else of that place. [ns], modulo 2^64
  std::int64_t absolute() const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(nanoseconds) -
                                     60'000'000'000U * static_cast<std::uint64_t>(offset.value_or(0)));
  }
};

/// ISO 8601, "2024-05-01T13:07:00.25+02:00" ('T' or a blank between, '/' for '-', a comma as decimal mark,
/// seconds and offset may be missing), "01.05.2024 13:07:00", a date alone (its midnight), a time of day
/// alone, both with AM or PM. What is ambiguous, 03/04/2024, is none.
std::optional<Clock> parse_clock(std::string_view text);

/// "2024-05-01T13:07:07.450+02:00" or "13:07:07.450": so many seconds after a moment, to the millisecond. A
/// time of day goes on at midnight.
/// @param seconds  what is not finite, or beyond the years 0 to 9999, gives ""
std::string clock_text(const Clock& begin, double seconds);

}  // namespace warploom::io
