#include "warploom/dp/user_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <utility>

#include "core/doors.hpp"
#include "dp/problem.hpp"
#include "dp/saturating.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/npy.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/io/table.hpp"

namespace warploom::dp {
namespace {

template <class Element, class Value>
std::vector<Value> converted(const NpyArray& array) {
  std::vector<Value> values(array.count());
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (k % (1 << 20) == 0) check_interrupt();
    Element element;
    std::memcpy(&element, array.data.data() + k * sizeof element, sizeof element);
    values[k] = static_cast<Value>(element);
  }
  return values;
}

UserTable from_npy(std::string_view bytes, const std::string& name) {
  const NpyArray array = parse_npy(bytes, name);
  UserTable table{.name = name, .leaves = 0, .whole = true, .integers = {}, .reals = {}, .lines = {}};
  if (array.shape.size() != 2 || array.shape[0] != array.shape[1])
    throw BadInput(fmt::format(
        "{}: an array of {} axes{}; a square table has two that are equally long", name, array.shape.size(),
        array.shape.size() == 2 ? fmt::format(", {} x {}", array.shape[0], array.shape[1]) : ""));
  if (array.shape[0] == 0) throw BadInput(fmt::format("{}: the table is empty", name));
  table.leaves = static_cast<std::int64_t>(array.shape[0]);
  const auto take = [&]<class Element, class Value>(std::string_view type, Element,
                                                    std::vector<Value>& values) {
    if (array.dtype == type) values = converted<Element, Value>(array);
    return array.dtype == type;
  };
  table.whole = take("i1", std::int8_t(), table.integers) || take("i2", std::int16_t(), table.integers) ||
                take("i4", std::int32_t(), table.integers) || take("i8", std::int64_t(), table.integers) ||
                take("u1", std::uint8_t(), table.integers) || take("u2", std::uint16_t(), table.integers) ||
                take("u4", std::uint32_t(), table.integers);
  if (!table.whole && !take("f4", float(), table.reals) && !take("f8", double(), table.reals))
    throw BadInput(fmt::format("{}: elements of type {}; tables are i1, i2, i4, i8, u1, u2, u4, f4 or f8",
                               name, array.dtype));
  return table;
}

UserTable from_text(std::string_view text, const std::string& name) {
  UserTable table{.name = name, .leaves = 0, .whole = false, .integers = {}, .reals = {}, .lines = {}};
  const auto take = [&]<class T>(io::Table<T> read, std::vector<T>& values) {
    if (read.rows != read.columns)
      throw BadInput(
          fmt::format("{}: {} rows of {} numbers; the table must be square", name, read.rows, read.columns));
    table.leaves = read.rows;
    table.lines = std::move(read.lines);
    values = std::move(read.values);
  };
  auto reals = io::parse_table<double>(text, name);
  table.whole = reals.whole && std::ranges::none_of(reals.values, [](double v) { return std::isnan(v); });
  if (table.whole) {
    reals = {};
    take(io::parse_table<std::int64_t>(text, name, kUnreachable<std::int64_t>), table.integers);
  } else {
    take(std::move(reals), table.reals);
  }
  return table;
}

constexpr std::int64_t kMostLeaves = std::int64_t{1} << 29;

/// A table may be made by hand. @throws BadInput (not leaves x leaves values)
void check(const UserTable& table) {
  const std::size_t values = table.whole ? table.integers.size() : table.reals.size();
  if (table.leaves < 1 || table.leaves > kMostLeaves ||
      static_cast<std::size_t>(table.leaves * table.leaves) != values)
    throw BadInput(
        fmt::format("{}: {} values; a table of {} leaves has as many rows and columns, and there are 1 to {}",
                    table.name, values, table.leaves, kMostLeaves));
}

/// A value of the table in another type; what has no solution stays without.
template <Value T>
T value_of(const UserTable& table, std::int64_t i, std::int64_t j, Optimum optimum) {
  const auto at = static_cast<std::size_t>(i * table.leaves + j);
  const bool minimum = optimum == Optimum::minimum;
  const T unreachable = minimum ? kUnreachable<T> : -kUnreachable<T>;
  if (table.whole) {
    const std::int64_t value = table.integers[at], none = kUnreachable<std::int64_t>;
    if (value == (minimum ? none : -none)) return unreachable;
    if (value == none || value == -none)
      throw BadInput(fmt::format("{}: {} makes every optimum infinite; of a {} what has no solution is {}",
                                 table.place(i, j), value > 0 ? "inf" : "-inf",
                                 minimum ? "minimum" : "maximum", minimum ? "inf" : "-inf"));
    if constexpr (std::integral<T>)
      if (value > kLargest<T> || value < -kLargest<T>)
        throw BadInput(
            fmt::format("{}: {} is beyond +-{}, the range here; choose_value_type() tells a type that suits",
                        table.place(i, j), value, kLargest<T>));
    return static_cast<T>(value);
  }
  const double value = table.reals[at];
  if (value == (minimum ? HUGE_VAL : -HUGE_VAL)) return unreachable;
  const T narrowed = static_cast<T>(value);
  if constexpr (std::floating_point<T>)
    if (!std::isfinite(narrowed))
      throw BadInput(fmt::format("{}: {} {}", table.place(i, j), value,
                                 std::isfinite(value)
                                     ? "is beyond float32's range; use `type` float64"
                                     : "is no cost; what has no solution is inf, of a maximum -inf"));
  return narrowed;
}

template <Value T>
constexpr const char* kDtype = std::same_as<T, std::int32_t>   ? "i4"
                               : std::same_as<T, std::int64_t> ? "i8"
                               : std::same_as<T, float>        ? "f4"
                                                               : "f8";

}  // namespace

std::string UserTable::place(std::int64_t i, std::int64_t j) const {
  if (i < 0 || j < 0 || i >= leaves || j >= leaves || (!lines.empty() && std::ssize(lines) != leaves))
    throw BadInput(fmt::format("{}: there is no cell ({}, {}): it has {} leaves, of {} lines", name, i, j,
                               leaves, lines.size()));
  if (lines.empty()) return fmt::format("{}[{}, {}]", name, i, j);
  return fmt::format("{}:{}: column {}", name, lines[static_cast<std::size_t>(i)], j + 1);
}

UserTable parse_user_table(std::string_view bytes, const std::string& name) {
  return bytes.starts_with("\x93NUMPY") ? from_npy(bytes, name) : from_text(bytes, name);
}

template <class Element>
UserTable user_table(const Element* first, std::int64_t leaves, const std::array<std::int64_t, 2>& strides,
                     const std::string& name) {
  if (leaves < 1 || leaves > kMostLeaves)
    throw BadInput(fmt::format("{}: a table of {} leaves; there are 1 to {}", name, leaves, kMostLeaves));
  if (first == nullptr) throw BadInput(fmt::format("{}: a table without an address", name));
  UserTable table{.name = name,
                  .leaves = leaves,
                  .whole = std::integral<Element>,
                  .integers = {},
                  .reals = {},
                  .lines = {}};
  require_memory_for(static_cast<std::uint64_t>(leaves) * static_cast<std::uint64_t>(leaves), 8, name);
  const auto take = [&]<class Value>(std::vector<Value>& values) {
    values.resize(static_cast<std::size_t>(leaves * leaves));
    for (std::int64_t i = 0; i < leaves; ++i) {
      check_interrupt();
      for (std::int64_t j = 0; j < leaves; ++j)
        values[static_cast<std::size_t>(i * leaves + j)] =
            static_cast<Value>(first[i * strides[0] + j * strides[1]]);
    }
  };
  if constexpr (std::integral<Element>)
    take(table.integers);
  else
    take(table.reals);
  return table;
}

#define WARPLOOM_USER_TABLE(Element)                                                              \
  template UserTable user_table(const Element*, std::int64_t, const std::array<std::int64_t, 2>&, \
                                const std::string&)
WARPLOOM_USER_TABLE(std::int8_t);
WARPLOOM_USER_TABLE(std::int16_t);
WARPLOOM_USER_TABLE(std::int32_t);
WARPLOOM_USER_TABLE(std::int64_t);
WARPLOOM_USER_TABLE(std::uint8_t);
WARPLOOM_USER_TABLE(std::uint16_t);
WARPLOOM_USER_TABLE(std::uint32_t);
WARPLOOM_USER_TABLE(float);
WARPLOOM_USER_TABLE(double);
#undef WARPLOOM_USER_TABLE

ValueType choose_value_type(const UserTable& table, ValueType asked) {
  using enum ValueType;
  check(table);
  dp::name(asked);
  if (asked == float32 || asked == float64) return asked;
  if (!table.whole) {
    if (asked == best) return float64;
    throw BadInput(fmt::format(
        "{}: its numbers have fractions or are NaN; `type` {} is for tables written in whole numbers (and inf)",
        table.name, dp::name(asked)));
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t leaf = 0, weight = 0;
  for (std::int64_t i = 0; i < table.leaves; ++i) {
    check_interrupt();
    for (std::int64_t j = i; j < table.leaves; ++j) {
      const std::int64_t value = table.integers[static_cast<std::size_t>(i * table.leaves + j)];
      const std::int64_t magnitude = value < -kMost ? kMost : std::abs(value);
      if (magnitude == kUnreachable<std::int64_t>) continue;
      std::int64_t& most = i == j ? leaf : weight;
      most = std::max(most, magnitude);
    }
  }
  const std::int64_t bound =
      saturating_add(saturating_multiply(table.leaves, leaf), saturating_multiply(table.leaves - 1, weight));
  return choose_value_type(asked, bound, fmt::format("{}: cells", table.name));
}

template <Value T>
Problem<T> problem_of(const UserTable& table, Optimum optimum) {
  check(table);
  dp::name(optimum);
  if (std::integral<T> && !table.whole)
    throw BadInput(
        fmt::format("{}: its numbers have fractions or are NaN; integers do not hold them", table.name));
  const std::int64_t n = table.leaves;
  require_memory(Triangle<T>::bytes(n + 1), fmt::format("{}: the weights of {} leaves", table.name, n));
  Problem<T> problem;
  problem.optimum = optimum;
  problem.cell_weight = Triangle<T>(n + 1, T(0));
  for (std::int64_t i = 0; i < n; ++i) {
    check_interrupt();
    problem.leaves.push_back(value_of<T>(table, i, i, optimum));
    for (std::int64_t j = i + 1; j < n; ++j)
      problem.cell_weight(i, j + 1) = value_of<T>(table, i, j, optimum);
  }
  if constexpr (std::floating_point<T>)  // of integers choose_value_type() has seen to it
    if (const long double bound = magnitude_bound(problem); bound > std::numeric_limits<T>::max() / 2)
      throw BadInput(fmt::format(
          "{}: cells may reach {:.4g}, beyond {}", table.name, bound,
          std::same_as<T, float>
              ? "float32's range; use float64"
              : "float64's range; divide the numbers by a constant, or write inf for no solution"));
  return problem;
}

template <Value T>
std::string format_table(const Solution<T>& solution) {
  const auto n = static_cast<std::uint64_t>(solution.points() - 1);
  require_memory(2 * n * n * sizeof(T), "the square table");
  NpyArray array{.dtype = kDtype<T>, .shape = {n, n}, .data = std::vector<std::byte>(n * n * sizeof(T))};
  const Triangle<T> table = solution.table();
  for (std::uint64_t i = 0; i < n; ++i) {
    check_interrupt();
    for (std::uint64_t j = i; j < n; ++j) {
      const T value = table(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j) + 1);
      std::memcpy(array.data.data() + (i * n + j) * sizeof(T), &value, sizeof(T));
    }
  }
  return format_npy(array);
}

#define WARPLOOM_INSTANTIATE(T)                              \
  template Problem<T> problem_of(const UserTable&, Optimum); \
  template std::string format_table(const Solution<T>&);
WARPLOOM_INSTANTIATE(std::int32_t)
WARPLOOM_INSTANTIATE(std::int64_t)
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::dp
