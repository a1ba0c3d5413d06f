#pragma once

#include <optional>

#include "warploom/ptx/ranges.hpp"

/// Arithmetic of Linear; std::nullopt where a factor or the constant goes beyond 2^40: no shared memory is
/// that large.
namespace warploom::ptx {

using MaybeLinear = std::optional<Linear>;

inline constexpr std::int64_t kMostFactor = std::int64_t{1} << 40;

/// a + factor * b
inline MaybeLinear add(const Linear& a, const Linear& b, std::int64_t factor = 1) {
  __extension__ using Wide = __int128;
  Linear sum;
  const auto small = [](Wide v) { return v >= -kMostFactor && v <= kMostFactor; };
  const Wide constant = Wide{a.constant} + Wide{factor} * b.constant;
  if (!small(constant)) return std::nullopt;
  sum.constant = static_cast<std::int64_t>(constant);
  auto x = a.terms.begin();
  auto y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    const bool left = y == b.terms.end() || (x != a.terms.end() && x->first <= y->first);
    const bool right = x == a.terms.end() || (y != b.terms.end() && y->first <= x->first);
    const std::uint32_t id = left ? x->first : y->first;
    const Wide value = (left ? Wide{x->second} : 0) + (right ? Wide{factor} * y->second : 0);
    if (!small(value)) return std::nullopt;
    if (value != 0) sum.terms.emplace_back(id, static_cast<std::int64_t>(value));
    if (left) ++x;
    if (right) ++y;
  }
  return sum;
}

inline MaybeLinear add(const MaybeLinear& a, const MaybeLinear& b, std::int64_t factor = 1) {
  return a && b ? add(*a, *b, factor) : std::nullopt;
}

inline MaybeLinear times(const Linear& a, std::int64_t factor) { return add(Linear{}, a, factor); }

inline Linear number(std::int64_t value) { return {{}, value}; }

}  // namespace warploom::ptx
