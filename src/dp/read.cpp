#include "warploom/dp/read.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/io/table.hpp"

namespace warploom::dp {
namespace {

/// Dimensions of the chain from those of each matrix.
class Shapes {
 public:
  /// @param where  "A2", or with the place in a file
  void add(std::int64_t rows, std::int64_t columns, const std::string& where) {
    if (!dimensions_.empty() && rows != dimensions_.back())
      throw BadInput(
          fmt::format("{} is {} x {}, but the matrix before it has {} columns: they cannot be multiplied",
                      where, rows, columns, dimensions_.back()));
    if (dimensions_.empty()) dimensions_.push_back(rows);
    dimensions_.push_back(columns);
  }
  std::vector<std::int64_t> dimensions() && { return std::move(dimensions_); }

 private:
  std::vector<std::int64_t> dimensions_;
};

std::int64_t whole(std::string_view text, const std::string& word) {
  std::int64_t value = 0;
  if (!parse_whole(text, value))
    throw BadInput(fmt::format("'{}' is no dimension: a whole number below 2^63, or ROWSxCOLUMNS", word));
  return value;
}

/// A table of two columns. @param rows  "each vertex has a row of two numbers, x and y"
template <class T>
io::Table<T> parse_pairs(std::string_view text, const std::string& name, std::string_view rows) {
  io::Table<T> table = io::parse_table<T>(text, name);
  if (table.columns != 2) throw BadInput(fmt::format("{}: {} columns; {}", name, table.columns, rows));
  return table;
}

/// Integers if all are written as such.
using Numbers = std::variant<io::Table<std::int64_t>, io::Table<double>>;
Numbers parse_numbers(std::string_view text, const std::string& name) {
  io::Table<double> reals = io::parse_table<double>(text, name);
  const bool finite = std::ranges::all_of(reals.values, [](double v) { return std::isfinite(v); });
  if (!reals.whole || !finite) return reals;
  return io::parse_table<std::int64_t>(text, name);  // what float64 rounds is exact
}

Numbers parse_row_or_column(std::string_view text, const std::string& name) {
  Numbers numbers = parse_numbers(text, name);
  std::visit(
      [&](const auto& table) {
        if (table.columns != 1 && table.rows != 1)
          throw BadInput(fmt::format("{}: {} columns; one is expected", name, table.columns));
      },
      numbers);
  return numbers;
}

std::vector<double> reals(const Numbers& numbers) {
  return std::visit(
      [](const auto& table) { return std::vector<double>(table.values.begin(), table.values.end()); },
      numbers);
}

/// Row k holds p_k and q_k; there is no key 0.
template <class T>
Frequencies<T> split_columns(const io::Table<T>& table, const std::string& name) {
  if (table.columns != 2)
    throw BadInput(fmt::format("{}: {} columns; two are expected, p and q, or P and Q in files of their own",
                               name, table.columns));
  if (table(0, 0) == table(0, 0) && table(0, 0) != 0)
    throw BadInput(fmt::format(
        "{}:{}: p of the first row is {}; it must be 0 or nan, since keys count from 1 and that row has q_0 alone",
        name, table.lines.front(), table(0, 0)));
  Frequencies<T> frequencies;
  for (std::int64_t k = 0; k < table.rows; ++k) {
    if (k > 0) frequencies.p.push_back(table(k, 0));
    frequencies.q.push_back(table(k, 1));
  }
  return frequencies;
}

}  // namespace

std::vector<std::int64_t> parse_dimensions(std::span<const std::string> words) {
  std::vector<std::int64_t> numbers;
  Shapes shapes;
  std::size_t shaped = 0;
  for (const std::string& word : words) {
    const std::size_t cross = word.find('x');
    if (cross == word.npos) {
      numbers.push_back(whole(word, word));
      continue;
    }
    shapes.add(whole(std::string_view(word).substr(0, cross), word),
               whole(std::string_view(word).substr(cross + 1), word), fmt::format("A{}", ++shaped));
  }
  if (shaped > 0 && !numbers.empty())
    throw BadInput("dimensions are numbers, or each is a ROWSxCOLUMNS; here are both");
  return shaped > 0 ? std::move(shapes).dimensions() : numbers;
}

std::vector<std::int64_t> parse_shapes(std::string_view text, const std::string& name) {
  const auto table =
      parse_pairs<std::int64_t>(text, name, "each matrix has a row of two numbers, its rows and columns");
  Shapes shapes;
  for (std::int64_t k = 0; k < table.rows; ++k)
    shapes.add(table(k, 0), table(k, 1),
               fmt::format("{}:{}: A{}", name, table.lines[static_cast<std::size_t>(k)], k + 1));
  return std::move(shapes).dimensions();
}

AnyFrequencies parse_frequencies(std::string_view text, const std::string& name) {
  return std::visit([&](const auto& table) -> AnyFrequencies { return split_columns(table, name); },
                    parse_numbers(text, name));
}

AnyFrequencies parse_frequencies(std::string_view p, const std::string& p_name, std::string_view q,
                                 const std::string& q_name) {
  using Integers = io::Table<std::int64_t>;
  Numbers keys = parse_row_or_column(p, p_name), gaps = parse_row_or_column(q, q_name);
  Integers *whole_keys = std::get_if<Integers>(&keys), *whole_gaps = std::get_if<Integers>(&gaps);
  if (whole_keys && whole_gaps)
    return Frequencies<std::int64_t>{std::move(whole_keys->values), std::move(whole_gaps->values)};
  return Frequencies<double>{reals(keys), reals(gaps)};
}

std::vector<Point> parse_points(std::string_view text, const std::string& name) {
  const auto table = parse_pairs<double>(text, name, "each vertex has a row of two numbers, x and y");
  std::vector<Point> points;
  for (std::int64_t k = 0; k < table.rows; ++k) points.push_back({table(k, 0), table(k, 1)});
  return points;
}

}  // namespace warploom::dp
