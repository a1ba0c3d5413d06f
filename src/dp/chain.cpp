#include "warploom/dp/chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <iterator>
#include <limits>
#include <utility>

#include "core/doors.hpp"
#include "dp/saturating.hpp"
#include "warploom/core/error.hpp"
#include "warploom/dp/bad_value.hpp"

namespace warploom::dp {
namespace {

void check(std::span<const std::int64_t> dimensions) {
  if (dimensions.size() < 2)
    throw BadValue("dimensions", {},
                   fmt::format("the chain is empty: one matrix has two dimensions, {} given",
                               dimensions.empty() ? "none is" : "one is"));
  for (std::size_t k = 0; k < dimensions.size(); ++k)
    if (dimensions[k] < 1)
      throw BadValue(
          "dimensions", k,
          fmt::format("dimensions[{}] is {}; a matrix has at least 1 row and column", k, dimensions[k]));
}

/// What no optimal cost of a part of the chain exceeds. A part costs at most what it costs left to right,
/// m[i,j] <= d_i * (sum of d_k d_k+1 over i < k < j), and the same from the right.
std::int64_t costs_bound(std::span<const std::int64_t> d) {
  const auto one_way = [](auto first, auto last) {  // with `first` as the end that stays
    std::int64_t sum = 0, most = 0;
    for (auto k = std::next(first); k != last; ++k) {
      most = std::max(most, saturating_multiply(*k, sum));
      sum = saturating_add(sum, saturating_multiply(*k, *std::prev(k)));
    }
    return most;
  };
  return std::min(one_way(d.begin(), d.end()), one_way(d.rbegin(), d.rend()));
}

/// A sum of products, exact where int64 holds it.
class Cost {
 public:
  void add(std::int64_t a, std::int64_t b, std::int64_t c) {
    exact_ = saturating_add(exact_, saturating_multiply(saturating_multiply(a, b), c));
    rounded_ += static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
  }
  Number number() const {
    if (exact_ < std::numeric_limits<std::int64_t>::max()) return exact_;
    return rounded_;
  }

 private:
  std::int64_t exact_ = 0;
  double rounded_ = 0;
};

template <class T>
ChainOrder order(std::span<const std::int64_t> d, std::int64_t bound, const Options& options) {
  Problem<T> problem;
  problem.leaves.assign(d.size() - 1, T(0));
  problem.factors.reserve(d.size());
  for (const std::int64_t dimension : d) problem.factors.push_back(static_cast<T>(dimension));
  if constexpr (std::integral<T>) problem.bound = static_cast<T>(bound);
  const Solution<T> solution = solve(problem, options);
  if (solution.optimum() == kUnreachable<T>)
    throw BadInput("the cost of every order is beyond float32's range; use float64");

  ChainOrder order;
  order.splits = solution.trace();
  const auto dimension = [&](std::int64_t k) { return d[static_cast<std::size_t>(k)]; };
  Cost cost, left_to_right;
  for (const auto& [i, k, j] : order.splits) cost.add(dimension(i), dimension(k), dimension(j));
  for (std::size_t k = 1; k + 1 < d.size(); ++k) left_to_right.add(d[0], d[k], d[k + 1]);
  order.cost = cost.number();
  order.left_to_right = left_to_right.number();
  order.parenthesisation = parenthesisation(order.splits, static_cast<std::int64_t>(problem.leaves.size()));
  order.report = solution.report();
  return order;
}

}  // namespace

ChainOrder chain_order(std::span<const std::int64_t> dimensions, const ChainOptions& options) {
  check(dimensions);
  const std::int64_t costs = costs_bound(dimensions), largest = std::ranges::max(dimensions);
  // Beside the diagonal solve() forms products of one factor with itself, which count for nothing but must
  // not wrap.
  const std::int64_t bound =
      std::max(costs, saturating_multiply(saturating_multiply(largest, largest), largest));
  const bool exact_in_float64 = costs <= std::int64_t{1} << 53;
  const ValueType type =
      options.type == ValueType::best && bound > kLargest<std::int64_t> && exact_in_float64
          ? ValueType::float64
          : choose_value_type(options.type, bound,
                              "costs of this chain, or the cube of its largest dimension,");
  ChainOrder result = with_value_type(
      type, [&](auto tag) { return order<typename decltype(tag)::type>(dimensions, bound, options.solve); });
  result.type = type;
  return result;
}

std::string parenthesisation(std::span<const Split> splits, std::int64_t matrices, std::string_view name,
                             std::int64_t first) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (matrices < 0 || matrices > kMost || first < -kMost || first > kMost)
    throw BadInput(fmt::format("the text of {} matrices, numbered from {}: at most {} of either", matrices,
                               first, kMost));
  for (const auto& [i, k, j] : splits)
    if (i < 0 || j <= i || j > matrices)
      throw BadInput(fmt::format("a product of the matrices from {} to {}: there are {}", i, j, matrices));
  require_memory_for(static_cast<std::uint64_t>(matrices), 4 * sizeof(std::size_t), "the text of a chain");
  // A product (i, j) opens before matrix i + 1 and closes after matrix j.
  std::vector<std::size_t> opened(static_cast<std::size_t>(matrices)), closed(opened);
  for (const Split& split : splits) {
    ++opened[static_cast<std::size_t>(split.i)];
    ++closed[static_cast<std::size_t>(split.j - 1)];
  }
  std::string text;
  for (std::size_t k = 0; k < opened.size(); ++k) {
    if (k > 0) text += ' ';
    text.append(opened[k], '(');
    fmt::format_to(std::back_inserter(text), "{}{}", name, first + static_cast<std::int64_t>(k));
    text.append(closed[k], ')');
  }
  return text;
}

}  // namespace warploom::dp
