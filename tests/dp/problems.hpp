#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "oracle/random.hpp"
#include "warploom/dp/problem.hpp"

/// Random problems, the same on every platform.
namespace warploom::dp {

enum class Style {
  ties,         ///< integers 0 to 3
  one_sided,    ///< costs: none below 0; of a maximum none above
  two_sided,    ///< both signs, of the order of a thousand, in floating point with every bit in use
  unreachable,  ///< small, both signs; many cells and some leaves have no solution
};

/// Which terms a problem has.
struct Kind {
  bool weights = false, cells = false, factors = false, pairing = false;
  Optimum optimum = Optimum::minimum;
  Style style = Style::ties;
};

inline std::string text(const Kind& kind) {
  constexpr const char* kStyles[] = {"ties", "one-sided", "two-sided", "unreachable"};
  std::string result = std::string(name(kind.optimum)) + ", " + kStyles[static_cast<int>(kind.style)];
  if (kind.weights) result += ", row and column weights";
  if (kind.cells) result += ", cell weights";
  if (kind.factors) result += ", factors";
  if (kind.pairing) result += ", pairing";
  return result;
}

/// Every combination that is allowed: factors do not go with unreachable cells.
inline std::vector<Kind> every_kind() {
  std::vector<Kind> kinds;
  for (const Style style : {Style::ties, Style::one_sided, Style::two_sided, Style::unreachable})
    for (const Optimum optimum : {Optimum::minimum, Optimum::maximum})
      for (int terms = 0; terms < 16; ++terms) {
        const bool factors = (terms & 4) != 0;
        if (factors && style == Style::unreachable) continue;
        kinds.push_back({(terms & 1) != 0, (terms & 2) != 0, factors, (terms & 8) != 0, optimum, style});
      }
  return kinds;
}

/// "No solution", of a minimum or a maximum.
template <Value T>
T unreachable(Optimum optimum) {
  return optimum == Optimum::minimum ? kUnreachable<T> : -kUnreachable<T>;
}

template <Value T>
class RandomProblem {
 public:
  RandomProblem(const Kind& kind, std::uint32_t seed) : kind_(kind), random_(seed) {}

  Problem<T> over(std::int64_t points) {
    Problem<T> problem;
    problem.optimum = kind_.optimum;
    problem.leaves = several(points - 1);
    if (kind_.style == Style::unreachable)
      for (T& leaf : problem.leaves)
        if (random_.below(50) == 0) leaf = unreachable<T>(kind_.optimum);
    if (kind_.weights) problem.row_weight = several(points), problem.column_weight = several(points);
    if (kind_.factors)
      for (std::int64_t k = 0; k < points; ++k) problem.factors.push_back(factor());
    if (kind_.cells) {
      problem.cell_weight = Triangle<T>(points, unread());
      for (std::int64_t i = 0; i < points; ++i)
        for (std::int64_t j = i + 2; j < points; ++j)
          problem.cell_weight(i, j) = kind_.style == Style::unreachable && random_.chance(30)
                                          ? unreachable<T>(kind_.optimum)
                                          : value();
    }
    if (kind_.pairing) problem.pairing = pairing(points - 1);
    return problem;
  }

 private:
  static constexpr bool kFloat = std::floating_point<T>;

  /// What stands where nobody may look.
  static T unread() { return kFloat ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::min(); }

  std::vector<T> several(std::int64_t count) {
    std::vector<T> values;
    for (std::int64_t k = 0; k < count; ++k) values.push_back(value());
    return values;
  }

  T value() {
    switch (kind_.style) {
      case Style::ties:
        return T(random_.below(4));
      case Style::one_sided:
        return kind_.optimum == Optimum::minimum ? magnitude() : T(-magnitude());
      case Style::two_sided:
        return random_.chance(50) ? magnitude() : T(-magnitude());
      case Style::unreachable:
        break;
    }
    return T(T(random_.below(6)) - T(2));
  }

  /// 0 to 1000 of int32, 1024 of floating point with all its bits, 10^10 of int64.
  T magnitude() {
    if constexpr (std::same_as<T, std::int32_t>) return T(random_.below(1001));
    if constexpr (std::same_as<T, std::int64_t>) return T(random_.below(1'000'001)) * 10'007;
    if constexpr (std::same_as<T, float>) return T(random_.below(1 << 24)) * 0x1p-14F;
    if constexpr (std::same_as<T, double>)
      return T(random_.below(1 << 24)) * 0x1p-14 + T(random_.below(1 << 24)) * 0x1p-42;
  }

  T factor() {
    if (kind_.style == Style::ties) return T(random_.below(4));
    const T size =
        kFloat ? T(magnitude() / T(100)) : T(random_.below(std::same_as<T, std::int32_t> ? 30 : 30'000));
    const bool negative =
        kind_.style == Style::two_sided ? random_.chance(50) : kind_.optimum == Optimum::maximum;
    return negative ? T(-size) : size;
  }

  Pairing<T> pairing(std::int64_t leaves) {
    Pairing<T> result;
    result.letters = 1 + random_.below(6);
    for (std::int64_t k = 0; k < leaves; ++k)
      result.codes.push_back(
          static_cast<std::uint8_t>(random_.below(static_cast<std::uint32_t>(result.letters))));
    for (std::int64_t k = 0; k < result.letters * result.letters; ++k)
      result.scores.push_back(random_.chance(40) ? unreachable<T>(kind_.optimum) : value());
    result.minimum_span = 2 + random_.below(4);
    return result;
  }

  Kind kind_;
  Random random_;
};

template <Value T>
Problem<T> random_problem(const Kind& kind, std::int64_t points, std::uint32_t seed) {
  return RandomProblem<T>(kind, seed).over(points);
}

/// Base pairs of a random sequence, each worth its hydrogen bonds: what narrow storage is for.
template <Value T>
Problem<T> random_base_pairs(std::int64_t leaves, std::uint32_t seed) {
  constexpr T kNone = -kUnreachable<T>;
  Random random(seed);
  Problem<T> problem;
  problem.optimum = Optimum::maximum;
  problem.leaves.assign(static_cast<std::size_t>(leaves), T(0));
  problem.pairing = Pairing<T>{.codes = {},
                               .letters = 4,
                               .scores = {kNone, kNone, kNone, 2, kNone, kNone, 3, kNone,  //
                                          kNone, 3, kNone, 1, 2, kNone, 1, kNone},
                               .minimum_span = 5};
  for (std::int64_t k = 0; k < leaves; ++k)
    problem.pairing->codes.push_back(static_cast<std::uint8_t>(random.below(4)));
  return problem;
}

}  // namespace warploom::dp
