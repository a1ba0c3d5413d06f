#include "sim/tolerance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"

namespace warploom::sim {
namespace {

/// A real element of any format: its value, and its place among the numbers of the format.
struct Number {
  double value = 0;
  std::int64_t place = 0;
};

Number number(std::uint64_t bits, const ElementType& type) {
  const int width = 8 * static_cast<int>(type.bytes), fraction = type.precision - 1;
  const std::uint64_t sign = std::uint64_t{1} << (width - 1), magnitude = bits & (sign - 1);
  const std::uint64_t infinity = ((std::uint64_t{1} << type.exponent_bits) - 1) << fraction;
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const std::uint64_t exponent = magnitude >> fraction;
  const std::uint64_t leading = exponent == 0 ? 0 : std::uint64_t{1} << fraction;
  double value = std::ldexp(static_cast<double>((magnitude & ((std::uint64_t{1} << fraction) - 1)) | leading),
                            static_cast<int>(std::max<std::uint64_t>(exponent, 1)) - bias - fraction);
  if (magnitude == infinity) value = std::numeric_limits<double>::infinity();
  if (magnitude > infinity) value = std::numeric_limits<double>::quiet_NaN();
  const auto place = static_cast<std::int64_t>(magnitude);
  return bits & sign ? Number{-value, -place} : Number{value, place};
}

double ulps(const Number& a, const Number& b) {
  if (std::isnan(a.value) || std::isnan(b.value)) return std::numeric_limits<double>::infinity();
  const auto [low, high] = std::minmax(a.place, b.place);
  return static_cast<double>(static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low));
}

bool within(const Tolerance::Bound& bound, const Number& a, const Number& b, double part) {
  if (std::isnan(a.value) || std::isnan(b.value)) return false;
  const double limit = bound.rows[static_cast<std::size_t>(part * static_cast<double>(bound.rows.size()))];
  const double gap = a.value == b.value ? 0 : std::abs(a.value - b.value);
  if (bound.unit != Tolerance::Unit::ulp && std::isinf(gap)) return false;
  switch (bound.unit) {
    case Tolerance::Unit::ulp:
      return ulps(a, b) <= limit;
    case Tolerance::Unit::relative:
      return gap <= limit * std::max(std::abs(a.value), std::abs(b.value));
    case Tolerance::Unit::absolute:
      return gap <= limit;
  }
  return false;
}

std::vector<std::uint64_t> elements(std::span<const std::byte> bytes, std::uint32_t size) {
  std::vector<std::uint64_t> out(bytes.size() / size);
  for (std::size_t i = 0; i < out.size(); ++i) std::memcpy(&out[i], &bytes[i * size], size);
  return out;
}

}  // namespace

Tolerance parse_tolerance(std::string_view text) {
  Tolerance tolerance;
  std::istringstream words{std::string(text.substr(0, text.find(';')))};
  std::vector<double> rows;
  bool complete = false;
  for (std::string word; words >> word;) {
    double value = 0;
    if (parse_whole(word, value)) {
      rows.push_back(value);
      complete = false;
    } else if (word == "any" && words >> word && word == "order") {
      tolerance.any_order = complete = true;
    } else if (word == "or" && complete) {
      complete = false;
    } else if (!rows.empty() && (word == "ulp" || word == "relative" || word == "absolute")) {
      using Unit = Tolerance::Unit;
      tolerance.bounds.push_back({word == "ulp"        ? Unit::ulp
                                  : word == "relative" ? Unit::relative
                                                       : Unit::absolute,
                                  rows});
      rows.clear();
      complete = true;
    } else {
      complete = false;
      break;
    }
  }
  if (!complete)
    throw BadInput(fmt::format(
        "tolerance '{}' is not NUMBERS ulp, relative or absolute, joined by 'or', or 'any order'", text));
  return tolerance;
}

Comparison compare(const ElementType& type, std::span<const std::byte> a, std::span<const std::byte> b,
                   const Tolerance& tolerance) {
  std::vector<std::uint64_t> left = elements(a, type.bytes), right = elements(b, type.bytes);
  if (tolerance.any_order) {
    std::ranges::sort(left);
    std::ranges::sort(right);
  }
  Comparison result;
  result.elements = left.size();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i]) continue;
    std::string difference = fmt::format("{:#x} and {:#x}", left[i], right[i]);
    if (type.real()) {
      const Number x = number(left[i], type), y = number(right[i], type);
      if (std::isnan(x.value) && std::isnan(y.value)) {
        ++result.nan_payloads;
        continue;
      }
      ++result.differing;
      result.largest_ulp = std::max(result.largest_ulp, ulps(x, y));
      const double part = static_cast<double>(i) / static_cast<double>(left.size());
      if (std::ranges::any_of(tolerance.bounds, [&](const auto& bound) { return within(bound, x, y, part); }))
        continue;
      difference = fmt::format("{} and {} ({} ulp)", x.value, y.value, ulps(x, y));
    } else {
      ++result.differing;
    }
    if (result.outside++ == 0) result.first_outside = fmt::format("element {}: {}", i, difference);
  }
  return result;
}

}  // namespace warploom::sim
