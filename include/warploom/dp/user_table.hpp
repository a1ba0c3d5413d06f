#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/dp/solve.hpp"
#include "warploom/dp/value_type.hpp"

namespace warploom::dp {

/// A problem of one's own: a square table w over the leaves 0 .. n - 1, m[i,j] over the leaves i to j.
///
///   m[i,i] = w(i,i),  m[i,j] = w(i,j) + opt over i <= k < j of  m[i,k] + m[k+1,j]
///
/// What stands below the diagonal is not used.
struct UserTable {
  std::string name = {};  ///< for messages
  std::int64_t leaves = 0;
  bool whole = false;                       ///< all numbers are whole or infinite, none NaN
  std::vector<std::int64_t> integers = {};  ///< [n, n] if whole; infinity is kUnreachable<int64>
  std::vector<double> reals = {};           ///< [n, n] if not
  std::vector<unsigned> lines = {};         ///< [n] of a text: where each row stands

  /// "t.csv:3: column 2" or "t.npy[2, 1]". @throws BadInput (no such cell)
  std::string place(std::int64_t i, std::int64_t j) const;
};

/// From the bytes of a .npy or from a text (io::parse_table).
/// @throws BadInput (no square table, elements of another type), ParseError, Interrupted
UserTable parse_user_table(std::string_view bytes, const std::string& name);

/// From numbers in memory, of any order: w(i,j) is at first[i * strides[0] + j * strides[1]]. They are read
/// once, by this call. @tparam Element  std::int8_t to std::int64_t, std::uint8_t to std::uint32_t, float,
/// double
/// @throws BadInput (no leaf, no address), OutOfMemory, Interrupted
template <class Element>
UserTable user_table(const Element* first, std::int64_t leaves, const std::array<std::int64_t, 2>& strides,
                     const std::string& name);

/// The type asked for or the one that suits: of whole numbers the smaller integer that holds every cell, else
/// float64. @throws BadInput (cells may leave it, fractions in integers, not leaves x leaves values),
/// Interrupted
ValueType choose_value_type(const UserTable& table, ValueType asked);

/// @throws BadInput (not leaves x leaves values, fractions in integers, a value or cells beyond T's range, an
/// infinity that every optimum would have), OutOfMemory,
///         Interrupted
template <Value T>
Problem<T> problem_of(const UserTable& table, Optimum optimum);

/// The whole of m as a square .npy, 0 below its diagonal. @throws OutOfMemory, Interrupted
template <Value T>
std::string format_table(const Solution<T>& solution);

}  // namespace warploom::dp
