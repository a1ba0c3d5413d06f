#pragma once

#include <string_view>

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// A function that expressions may call.
struct Function {
  std::string_view name;  ///< "sqrtf"
  int arguments = 1;
  /// The type C gives the result; none: integers (min, max, floord of generated bounds), or as the arguments.
  enum class Result { float32, float64, as_arguments } result = Result::float64;
  double (*one)(double) = nullptr;
  double (*two)(double, double) = nullptr;
  float (*one_single)(float) = nullptr;
  float (*two_single)(float, float) = nullptr;
};
/// C's mathematical functions, and min, max, floord; else nullptr.
const Function* find_function(std::string_view name);

}  // namespace warploom::tile
