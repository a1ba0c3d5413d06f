#include "dp/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>
#include <string>

#include "core/doors.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::dp {

Optimum parse_optimum(std::string_view text) {
  if (text == "min") return Optimum::minimum;
  if (text == "max") return Optimum::maximum;
  throw BadInput(fmt::format("'{}' is no optimum; there are min and max", text));
}

std::string_view name(Optimum optimum) {
  return at_enumerator(std::array<std::string_view, 2>{"min", "max"}, optimum, "the optimum");
}

std::uint64_t internal::triangle_bytes(std::int64_t points, std::size_t cell) {
  constexpr std::int64_t kMostPoints = std::int64_t{1} << 30;
  if (points < 0 || points > kMostPoints)
    throw BadInput(fmt::format("a triangle over {} points: it has 0 to {}", points, kMostPoints));
  const auto cells = static_cast<std::uint64_t>(stored_cells(points));
  require_memory_for(cells, cell, "a triangle of cells");
  return cells * cell;
}

namespace {

template <class T>
constexpr bool kInteger = std::numeric_limits<T>::is_integer;

template <class T>
std::string_view type_name() {
  if constexpr (std::same_as<T, float>) return "float32";
  if constexpr (std::same_as<T, double>) return "float64";
  if constexpr (std::same_as<T, std::int32_t>) return "int32";
  return "int64";
}

/// The value that stands for "no solution" when the optimum is this.
template <class T>
T unreachable(Optimum optimum) {
  return optimum == Optimum::minimum ? kUnreachable<T> : -kUnreachable<T>;
}

enum class May { be_unreachable, not_be_unreachable };

template <class T>
void check_value(T value, Optimum optimum, May may, std::string_view what, std::int64_t at) {
  if (may == May::be_unreachable && value == unreachable<T>(optimum)) return;
  if constexpr (kInteger<T>) {
    if (value > kLargest<T> || value < -kLargest<T>)
      throw BadInput(fmt::format("{}[{}] = {} is out of {}'s range here, +-{}; use {}", what, at, value,
                                 type_name<T>(), kLargest<T>,
                                 std::same_as<T, std::int32_t> ? "int64" : "float64"));
  } else {
    if (!std::isfinite(value))
      throw BadInput(fmt::format(
          "{}[{}] is {}, where a finite number{} is needed", what, at, value,
          may == May::be_unreachable ? fmt::format(" or {} (no solution)", unreachable<T>(optimum)) : ""));
  }
}

template <class T>
void check_values(std::span<const T> values, Optimum optimum, May may, std::string_view what) {
  for (std::size_t k = 0; k < values.size(); ++k)
    check_value(values[k], optimum, may, what, static_cast<std::int64_t>(k));
}

template <class T>
void check_length(const std::vector<T>& values, std::int64_t expected, std::string_view what) {
  if (!values.empty() && static_cast<std::int64_t>(values.size()) != expected)
    throw BadInput(fmt::format("{} has {} values, a problem of {} leaves needs {}", what, values.size(),
                               expected - 1, expected));
}

/// Calls visit(i, j, value) for the weights of cells that are read.
template <class T, class Visit>
void each_cell_weight(const Problem<T>& problem, Visit visit) {
  const std::int64_t points = problem.cell_weight.points();
  for (std::int64_t column = 0; column < points; column += kTile) {  // as they lie in memory
    check_interrupt();
    for (std::int64_t row = 0; row <= column; row += kTile)
      for (std::int64_t i = row; i < std::min(row + kTile, points); ++i)
        for (std::int64_t j = std::max(column, i + 2); j < std::min(column + kTile, points); ++j)
          visit(i, j, problem.cell_weight(i, j));
  }
}

template <class T>
void check_pairing(const Problem<T>& problem) {
  const Pairing<T>& pairing = *problem.pairing;
  if (pairing.codes.size() != problem.leaves.size())
    throw BadInput(fmt::format("pairing.codes has {} values, a problem of {} leaves needs {}",
                               pairing.codes.size(), problem.leaves.size(), problem.leaves.size()));
  if (pairing.letters < 1 || pairing.letters > 16)
    throw BadInput(fmt::format("pairing.letters is {}, the range is 1 to 16", pairing.letters));
  if (pairing.scores.size() != static_cast<std::size_t>(pairing.letters * pairing.letters))
    throw BadInput(fmt::format("pairing.scores has {} values, {} letters need {}", pairing.scores.size(),
                               pairing.letters, pairing.letters * pairing.letters));
  if (pairing.minimum_span < 2)
    throw BadInput(fmt::format("pairing.minimum_span is {}, a pair spans at least 2", pairing.minimum_span));
  for (std::size_t k = 0; k < pairing.codes.size(); ++k)
    if (pairing.codes[k] >= pairing.letters)
      throw BadInput(fmt::format("pairing.codes[{}] is {}, there are {} letters, counted from 0", k,
                                 pairing.codes[k], pairing.letters));
  check_values<T>(pairing.scores, problem.optimum, May::be_unreachable, "pairing.scores");
}

}  // namespace

template <Value T>
void check(const Problem<T>& problem) {
  name(problem.optimum);
  if (problem.leaves.empty()) throw BadInput("the problem is empty: leaves has no value");
  const std::int64_t points = problem.points();
  check_length(problem.row_weight, points, "row_weight");
  check_length(problem.column_weight, points, "column_weight");
  check_length(problem.factors, points, "factors");
  if (problem.row_weight.empty() != problem.column_weight.empty())
    throw BadInput("row_weight and column_weight belong together: one is given, the other is empty");
  if (!problem.cell_weight.empty() && problem.cell_weight.points() != points)
    throw BadInput(fmt::format("cell_weight is over {} points, a problem of {} leaves has {}",
                               problem.cell_weight.points(), points - 1, points));
  const May leaf = kInteger<T> && !problem.factors.empty() ? May::not_be_unreachable : May::be_unreachable;
  check_values<T>(problem.leaves, problem.optimum, leaf, "leaves");
  check_values<T>(problem.row_weight, problem.optimum, May::not_be_unreachable, "row_weight");
  check_values<T>(problem.column_weight, problem.optimum, May::not_be_unreachable, "column_weight");
  check_values<T>(problem.factors, problem.optimum, May::not_be_unreachable, "factors");
  const T none = unreachable<T>(problem.optimum);
  each_cell_weight(problem, [&](std::int64_t i, std::int64_t j, T value) {
    if (value >= -kLargest<T> && value <= kLargest<T>) return;  // the common case, without text
    if (value == none && leaf == May::be_unreachable) return;
    check_value(value, problem.optimum, leaf, fmt::format("cell_weight[{}]", i), j);
  });
  if (problem.pairing) check_pairing(problem);
  if (problem.bound < 0) throw BadInput(fmt::format("bound is {}, it is a magnitude", problem.bound));
}

template <Value T>
long double magnitude_bound(const Problem<T>& problem) {
  if (problem.bound > 0) return static_cast<long double>(problem.bound);
  const auto largest = [&](std::span<const T> values) {
    long double most = 0;
    for (const T value : values)
      if (value != unreachable<T>(problem.optimum))
        most = std::max(most, std::abs(static_cast<long double>(value)));
    return most;
  };
  long double leaves = 0;
  for (const T leaf : problem.leaves)
    if (leaf != unreachable<T>(problem.optimum)) leaves += std::abs(static_cast<long double>(leaf));
  const auto n = static_cast<long double>(problem.leaves.size());
  const long double factor = largest(problem.factors);
  long double weight = largest(problem.row_weight) + largest(problem.column_weight), cell = 0;
  each_cell_weight(problem, [&](std::int64_t, std::int64_t, T value) {
    if (value != unreachable<T>(problem.optimum))
      cell = std::max(cell, std::abs(static_cast<long double>(value)));
  });
  weight += cell + std::max(factor * factor * factor, factor * factor);
  if (problem.pairing) weight += largest(problem.pairing->scores);
  return leaves + (n - 1) * weight;  // each leaf takes part once
}

template <Value T>
bool in_range(const Problem<T>& problem) {
  return !kInteger<T> || magnitude_bound(problem) <= static_cast<long double>(kLargest<T>);
}

template <Value T>
void check_range(const Problem<T>& problem) {
  if constexpr (kInteger<T>)
    if (!in_range(problem))
      throw BadInput(fmt::format("cells may reach {:.4g} in magnitude, {} holds {} here; use {}",
                                 static_cast<double>(magnitude_bound(problem)), type_name<T>(), kLargest<T>,
                                 std::same_as<T, std::int32_t> ? "int64" : "float64"));
}

template <Value T>
bool has_unreachable_term(const Problem<T>& problem) {
  const T none = unreachable<T>(problem.optimum);
  bool found = std::ranges::find(problem.leaves, none) != problem.leaves.end();
  each_cell_weight(problem, [&](std::int64_t, std::int64_t, T value) { found |= value == none; });
  return found;
}

template <Value T>
Minimum<T>::Minimum(const Problem<T>& problem) {
  const bool negate = problem.optimum == Optimum::maximum;
  // 0 + x and 0 - x: no cell is ever -0, and back ends need not agree on the order of -0 and 0.
  const auto oriented = [&](const std::vector<T>& values, std::vector<T>& copy) {
    copy.resize(values.size());
    std::ranges::transform(values, copy.begin(), [&](T x) { return negate ? T(0) - x : T(0) + x; });
    return copy.empty() ? nullptr : copy.data();
  };
  terms_.points = problem.points();
  terms_.leaves = oriented(problem.leaves, leaves_);
  terms_.row_weight = oriented(problem.row_weight, row_weight_);
  terms_.column_weight = oriented(problem.column_weight, column_weight_);
  terms_.factors = problem.factors.empty() ? nullptr : problem.factors.data();
  terms_.product_sign = negate ? T(-1) : T(1);
  if (!problem.cell_weight.empty()) {
    terms_.cell_weight = problem.cell_weight.stored().data();
    if (negate) {
      cell_weight_ = Triangle<T>(problem.points());
      std::ranges::fill(cell_weight_.stored(), T(0));
      each_cell_weight(problem,
                       [&](std::int64_t i, std::int64_t j, T value) { cell_weight_(i, j) = T(0) - value; });
      terms_.cell_weight = cell_weight_.stored().data();
    }
  }
  if (problem.pairing) {
    terms_.codes = problem.pairing->codes.data();
    terms_.scores = oriented(problem.pairing->scores, scores_);
    terms_.letters = static_cast<int>(problem.pairing->letters);
    terms_.minimum_span = problem.pairing->minimum_span;
  }
  if constexpr (!kInteger<T>) terms_.non_negative = no_term_is_negative(problem);
}

template <Value T>
bool Minimum<T>::no_term_is_negative(const Problem<T>& problem) const {
  const auto none = [](const auto& values) {
    return std::ranges::all_of(values, [](T x) { return x >= 0; });
  };
  if (!none(leaves_) || !none(scores_)) return false;
  if (!problem.factors.empty() && (terms_.product_sign < 0 || !none(problem.factors))) return false;
  T least_row = kUnreachable<T>;
  for (std::size_t j = 2; j < row_weight_.size(); ++j) {
    least_row = std::min(least_row, row_weight_[j - 2]);
    if (least_row + column_weight_[j] < 0) return false;
  }
  bool cells = true;
  if (terms_.cell_weight != nullptr) {
    const T sign = terms_.product_sign;
    each_cell_weight(problem, [&](std::int64_t, std::int64_t, T value) { cells &= sign * value >= 0; });
  }
  return cells;
}

#define WARPLOOM_INSTANTIATE(T)                            \
  template void check(const Problem<T>&);                  \
  template void check_range(const Problem<T>&);            \
  template long double magnitude_bound(const Problem<T>&); \
  template bool in_range(const Problem<T>&);               \
  template bool has_unreachable_term(const Problem<T>&);   \
  template class Minimum<T>;
WARPLOOM_INSTANTIATE(std::int32_t)
WARPLOOM_INSTANTIATE(std::int64_t)
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::dp
