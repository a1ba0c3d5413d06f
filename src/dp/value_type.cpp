#include "warploom/dp/value_type.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "core/doors.hpp"
#include "warploom/dp/problem.hpp"

namespace warploom::dp {
namespace {

constexpr std::pair<ValueType, std::string_view> kTypes[] = {{ValueType::best, "auto"},
                                                             {ValueType::int32, "int32"},
                                                             {ValueType::int64, "int64"},
                                                             {ValueType::float32, "float32"},
                                                             {ValueType::float64, "float64"}};

}  // namespace

ValueType parse_value_type(std::string_view text) {
  for (const auto& [type, label] : kTypes)
    if (label == text) return type;
  throw BadInput(
      fmt::format("value type '{}' is unknown; it is auto, int32, int64, float32 or float64", text));
}

std::string_view name(ValueType type) { return at_enumerator(kTypes, type, "the value type").second; }

std::string text(const Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

ValueType choose_value_type(ValueType asked, std::int64_t bound, std::string_view what) {
  name(asked);
  const bool fits32 = bound <= kLargest<std::int32_t>, fits64 = bound <= kLargest<std::int64_t>;
  if (asked == ValueType::float32 || asked == ValueType::float64) return asked;
  if (fits32 && asked != ValueType::int64) return ValueType::int32;
  if (fits64 && asked != ValueType::int32) return ValueType::int64;
  const std::string reach =
      bound < std::numeric_limits<std::int64_t>::max() ? fmt::format("{}", bound) : "more than 2^63";
  if (asked == ValueType::int32)
    throw BadInput(fmt::format("{} may reach {}; int32 is for up to {}; use {}", what, reach,
                               kLargest<std::int32_t>, fits64 ? "int64" : "float64, which rounds"));
  throw BadInput(fmt::format("{} may reach {}; int64 is for up to {}; use float64, which rounds", what, reach,
                             kLargest<std::int64_t>));
}

}  // namespace warploom::dp
