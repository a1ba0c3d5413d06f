// What programs left in memory, beside what they should have left.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "warploom/tile/verify.hpp"

namespace warploom::tile {
namespace {

/// An array or scalar that is seen outside, in two or three memories.
struct Output {
  const Variable& variable;
  std::span<const double> got, want, bounds;
};

std::span<const double> values_of(const Memory& memory, const Variable& variable) {
  if (variable.extents.empty()) {
    const auto found = memory.scalars.find(variable.name);
    if (found == memory.scalars.end()) return {};
    return {&found->second, 1};
  }
  const auto found = memory.arrays.find(variable.name);
  if (found == memory.arrays.end()) return {};
  return found->second;
}

/// Calls use(output) for each that `want` has.
template <class Use>
void for_each_output(const Nest& nest, const Memory& got, const Memory& want, const Memory* bounds,
                     Use&& use) {
  for (const Variable& variable : nest.region().variables) {
    if (variable.extents.empty() ? !variable.is_result : !variable.is_parameter) continue;
    const Output output{variable, values_of(got, variable), values_of(want, variable),
                        bounds ? values_of(*bounds, variable) : std::span<const double>()};
    if (output.want.empty()) continue;
    if (output.got.size() != output.want.size() || (bounds && output.bounds.size() != output.want.size()))
      throw BadInput(fmt::format("memories that are compared differ in {} {}",
                                 variable.extents.empty() ? "scalar" : "array", variable.name));
    use(output);
  }
}

/// What differences are relative to.
double scale_of(std::span<const double> values) {
  double largest = 1;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  return largest;
}

/// What is no number in both counts as equal.
double apart(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::fabs(a - b);
  return std::isnan(difference) ? HUGE_VAL : difference;
}

}  // namespace

double largest_difference(const Nest& nest, const Memory& got, const Memory& want) {
  double worst = 0;
  for_each_output(nest, got, want, nullptr, [&](const Output& output) {
    const double scale = scale_of(output.want);
    for (std::size_t i = 0; i < output.want.size(); ++i)
      worst = std::max(worst, apart(output.got[i], output.want[i]) / scale);
  });
  return worst;
}

Comparison compare(const Nest& nest, const Memory& got, const Memory& want, const Memory& bounds) {
  Comparison result;
  result.difference = largest_difference(nest, got, want);
  double most_beyond = 0;
  for_each_output(nest, got, want, &bounds, [&](const Output& output) {
    const double scale = scale_of(output.want);
    for (std::size_t i = 0; i < output.want.size(); ++i) {
      const double allowed = std::isnan(output.bounds[i]) ? HUGE_VAL : 2 * output.bounds[i];
      result.allowed = std::max(result.allowed, allowed / scale);
      const double beyond = (apart(output.got[i], output.want[i]) - allowed) / scale;
      if (!(beyond > most_beyond)) continue;
      most_beyond = beyond;
      result.agrees = false;
      result.worst = fmt::format("{}{}: {:.9g} instead of {:.9g}", output.variable.name,
                                 output.variable.extents.empty() ? "" : fmt::format(", element {}", i),
                                 output.got[i], output.want[i]);
    }
  });
  return result;
}

}  // namespace warploom::tile
