#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <numeric>
#include <vector>

namespace warploom {

struct LbfgsResult {
  double value = 0;
  int evaluations = 0;
};

/// Minimises a differentiable function by limited-memory BFGS with a line search for the strong Wolfe
/// conditions (Nocedal & Wright, Numerical Optimization, algorithms 7.4, 3.5 and 3.6, the latter by
/// bisection).
///
/// @param function value at x; writes the gradient
/// @param x        the start, replaced by the best point
/// @param limit    most evaluations
/// @param fall     ends when the value fell by less than this, relative, in 100 iterations
inline LbfgsResult lbfgs(
    const std::function<double(const std::vector<double>& x, std::vector<double>& gradient)>& function,
    std::vector<double>& x, int limit, double fall) {
  using Vector = std::vector<double>;
  const auto dot = [](const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  struct Pair {
    Vector s, y;
    double sy;
  };
  constexpr std::size_t kPairs = 20, kWindow = 100;
  std::deque<Pair> pairs;
  std::deque<double> values;
  LbfgsResult result;
  Vector gradient(x.size()), direction(x.size()), trial(x.size()), trial_gradient(x.size());
  result.value = function(x, gradient);
  result.evaluations = 1;

  while (result.evaluations < limit) {
    for (std::size_t i = 0; i < x.size(); ++i) direction[i] = -gradient[i];
    std::vector<double> rho(pairs.size());
    for (std::size_t k = pairs.size(); k-- > 0;) {
      rho[k] = dot(pairs[k].s, direction) / pairs[k].sy;
      for (std::size_t i = 0; i < x.size(); ++i) direction[i] -= rho[k] * pairs[k].y[i];
    }
    if (!pairs.empty()) {
      const double scale = pairs.back().sy / dot(pairs.back().y, pairs.back().y);
      for (double& d : direction) d *= scale;
    }
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const double beta = rho[k] - dot(pairs[k].y, direction) / pairs[k].sy;
      for (std::size_t i = 0; i < x.size(); ++i) direction[i] += beta * pairs[k].s[i];
    }

    const double slope = dot(gradient, direction);
    if (!(slope < 0)) {
      if (pairs.empty()) break;
      pairs.clear();
      continue;
    }
    // low: meets the first condition; high: does not, or its slope points back to low; none yet: infinite.
    double step = pairs.empty() ? 1 / std::sqrt(-slope) : 1, low = 0, high = INFINITY;
    double value = result.value;
    bool found = false;
    for (int tries = 0; tries < 60 && result.evaluations < limit; ++tries) {
      for (std::size_t i = 0; i < x.size(); ++i) trial[i] = x[i] + step * direction[i];
      value = function(trial, trial_gradient);
      ++result.evaluations;
      const double trial_slope = dot(trial_gradient, direction);
      if (!(value <= result.value + 1e-4 * step * slope)) {
        high = step;
      } else if (std::abs(trial_slope) <= -0.9 * slope) {
        found = true;
        break;
      } else if (trial_slope > 0) {
        high = step;
      } else {
        low = step;
      }
      step = std::isinf(high) ? 2 * step : (low + high) / 2;
    }
    if (!found && value >= result.value) {  // rounding hides any further descent
      if (pairs.empty()) break;
      pairs.clear();
      continue;
    }
    Pair pair{Vector(x.size()), Vector(x.size()), 0};
    for (std::size_t i = 0; i < x.size(); ++i) {
      pair.s[i] = trial[i] - x[i];
      pair.y[i] = trial_gradient[i] - gradient[i];
    }
    pair.sy = dot(pair.s, pair.y);
    x.swap(trial);
    gradient.swap(trial_gradient);
    result.value = value;
    if (pair.sy > 0) pairs.push_back(std::move(pair));
    if (pairs.size() > kPairs) pairs.pop_front();
    values.push_back(value);
    if (values.size() > kWindow) {
      if (values.front() - value <= fall * std::abs(value)) break;
      values.pop_front();
    }
  }
  return result;
}

}  // namespace warploom
