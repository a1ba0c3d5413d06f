#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace warploom::search {

/// Units as files write them, of which one is a constant times another.
/// @return what values in `from` are multiplied by to be in `to`: 1 where both are written alike; none where
/// either is not known, or they measure different things
std::optional<double> factor_between(std::string_view from, std::string_view to);

/// Two units that are taken for one another, the larger first.
struct ConfusedUnits {
  double factor;  ///< how much larger the numbers of the second are
  std::string_view names;
};
std::span<const ConfusedUnits> confused_units();

}  // namespace warploom::search
