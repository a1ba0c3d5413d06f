#include "tile/c/functions.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace warploom::tile {
namespace {

using Result = Function::Result;

Function one(std::string_view name, double (*f)(double)) { return {name, 1, Result::float64, f}; }
Function one(std::string_view name, float (*f)(float)) {
  return {name, 1, Result::float32, nullptr, nullptr, f};
}
Function two(std::string_view name, double (*f)(double, double)) {
  return {name, 2, Result::float64, nullptr, f};
}
Function two(std::string_view name, float (*f)(float, float)) {
  return {name, 2, Result::float32, nullptr, nullptr, nullptr, f};
}

// Each in double and, with the suffix f, in float.
#define WARPLOOM_ONE(function)                                    \
  one(#function, static_cast<double (*)(double)>(std::function)), \
      one(#function "f", static_cast<float (*)(float)>(std::function))
#define WARPLOOM_TWO(function)                                            \
  two(#function, static_cast<double (*)(double, double)>(std::function)), \
      two(#function "f", static_cast<float (*)(float, float)>(std::function))

const std::vector<Function>& functions() {
  static const std::vector<Function> all{WARPLOOM_ONE(sqrt),
                                         WARPLOOM_ONE(cbrt),
                                         WARPLOOM_ONE(exp),
                                         WARPLOOM_ONE(exp2),
                                         WARPLOOM_ONE(expm1),
                                         WARPLOOM_ONE(log),
                                         WARPLOOM_ONE(log2),
                                         WARPLOOM_ONE(log10),
                                         WARPLOOM_ONE(log1p),
                                         WARPLOOM_ONE(fabs),
                                         WARPLOOM_ONE(sin),
                                         WARPLOOM_ONE(cos),
                                         WARPLOOM_ONE(tan),
                                         WARPLOOM_ONE(asin),
                                         WARPLOOM_ONE(acos),
                                         WARPLOOM_ONE(atan),
                                         WARPLOOM_ONE(sinh),
                                         WARPLOOM_ONE(cosh),
                                         WARPLOOM_ONE(tanh),
                                         WARPLOOM_ONE(floor),
                                         WARPLOOM_ONE(ceil),
                                         WARPLOOM_ONE(trunc),
                                         WARPLOOM_ONE(round),
                                         WARPLOOM_ONE(erf),
                                         WARPLOOM_TWO(pow),
                                         WARPLOOM_TWO(fmin),
                                         WARPLOOM_TWO(fmax),
                                         WARPLOOM_TWO(fmod),
                                         WARPLOOM_TWO(atan2),
                                         WARPLOOM_TWO(hypot),
                                         {"min", 2, Result::as_arguments},
                                         {"max", 2, Result::as_arguments},
                                         {"floord", 2, Result::as_arguments}};
  return all;
}

#undef WARPLOOM_ONE
#undef WARPLOOM_TWO

}  // namespace

const Function* find_function(std::string_view name) {
  const auto found = std::ranges::find_if(functions(), [&](const Function& f) { return f.name == name; });
  return found == functions().end() ? nullptr : &*found;
}

}  // namespace warploom::tile
