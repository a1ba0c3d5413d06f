#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "warploom/dp/polygon.hpp"

/// Texts that the problems are read from. `name` is a text's for messages; what is no table of numbers throws
/// as io::parse_table.
namespace warploom::dp {

/// The dimensions of a chain of matrices: n + 1 numbers, or n times ROWSxCOLUMNS ("30x35", "35x15").
/// @throws BadInput (another word, both kinds, matrices that cannot be multiplied)
std::vector<std::int64_t> parse_dimensions(std::span<const std::string> words);
/// The same from a table of two columns, a row "ROWS COLUMNS" for each matrix.
/// @throws BadInput (other columns, matrices that cannot be multiplied), naming the line
std::vector<std::int64_t> parse_shapes(std::string_view text, const std::string& name);

/// How often keys are looked for, p_k, and what lies around them, q_k: see search_tree().
template <class T>
struct Frequencies {
  std::vector<T> p, q;
};
/// Integers if all are written as whole numbers.
using AnyFrequencies = std::variant<Frequencies<std::int64_t>, Frequencies<double>>;
/// From a table of n + 1 rows p_k q_k, k = 0 to n, with 0 or nan as p_0.
/// @throws BadInput (other columns, another p_0)
AnyFrequencies parse_frequencies(std::string_view text, const std::string& name);
/// From n numbers p and n + 1 numbers q, each in one row or in one column.
/// @throws BadInput (several rows and columns)
AnyFrequencies parse_frequencies(std::string_view p, const std::string& p_name, std::string_view q,
                                 const std::string& q_name);

/// The vertices of a polygon, from a table of two columns, x and y. @throws BadInput (other columns)
std::vector<Point> parse_points(std::string_view text, const std::string& name);

}  // namespace warploom::dp
