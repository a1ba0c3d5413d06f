#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <exception>
#include <limits>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/error.hpp"

/// Calls of public functions with arguments that no caller should give: short, empty, overlapping,
/// misaligned, huge, moved from. Each answers with a warploom::Error or with what its header says.
namespace warploom::doors {

inline constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = -kMost - 1;
inline constexpr std::int32_t kMost32 = std::numeric_limits<std::int32_t>::max();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                        kInfinity = std::numeric_limits<double>::infinity();

/// What the cases of this program cover: lines of functions.txt, or names that stand in one line only.
std::vector<std::string>& covered();

struct Covers {
  explicit Covers(std::initializer_list<std::string_view> functions) {
    covered().insert(covered().end(), functions.begin(), functions.end());
  }
};

/// Whether the call gave a result rather than an Error. What else it throws is a finding.
template <class Call>
bool answer_of(Call&& call, std::source_location from) {
  try {
    static_cast<void>(call());
    return true;
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
  } catch (const std::exception& error) {
    ADD_FAILURE_AT(from.file_name(), static_cast<int>(from.line()))
        << "the call threw no Error, but: " << error.what();
  }
  return false;
}

/// The call is refused, with words.
template <class Call>
void refused(Call&& call, std::source_location from = std::source_location::current()) {
  if (answer_of(call, from))
    ADD_FAILURE_AT(from.file_name(), static_cast<int>(from.line())) << "the call was not refused";
}

/// The call comes back, with a result or an Error; a sanitizer has nothing to say.
template <class Call>
void survives(Call&& call, std::source_location from = std::source_location::current()) {
  answer_of(call, from);
}

/// Texts that are no input of anything: for all that reads text.
std::vector<std::string> odd_texts();

/// A number that is no enumerator.
template <class Enumeration>
constexpr Enumeration no_enumerator() {
  return static_cast<Enumeration>(99);
}

/// What is left of an object that somebody else has taken over.
template <class Object>
void move_away(Object& object) {
  const Object taken = std::move(object);
}

}  // namespace warploom::doors

/// A test of the doors that are named: DOOR(Zoo, "zoo::feed", "zoo::name(Animal)") { ... }
#define DOOR(Test, ...)                                                \
  static const ::warploom::doors::Covers covers_##Test({__VA_ARGS__}); \
  TEST(Doors, Test)
