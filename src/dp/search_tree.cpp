#include "warploom/dp/search_tree.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <limits>
#include <string_view>
#include <type_traits>

#include "dp/saturating.hpp"
#include "warploom/core/error.hpp"
#include "warploom/dp/bad_value.hpp"

namespace warploom::dp {
namespace {

template <class Frequency>
void check(std::span<const Frequency> p, std::span<const Frequency> q) {
  if (p.empty()) throw BadValue("p", {}, "the search tree has no key: p is empty");
  if (q.size() != p.size() + 1)
    throw BadValue("q", {},
                   fmt::format("q has {} values; {} keys have {} gaps between and around them", q.size(),
                               p.size(), p.size() + 1));
  const auto check_values = [](std::span<const Frequency> values, std::string_view what, std::size_t first) {
    for (std::size_t k = 0; k < values.size(); ++k)
      if (!(values[k] >= 0) || !std::isfinite(static_cast<double>(values[k])))
        throw BadValue(
            std::string(what), k + first,
            fmt::format("{}[{}] is {}; a frequency is finite and not negative", what, k + first, values[k]));
  };
  check_values(p, "p", 1);
  check_values(q, "q", 0);
}

/// Levels of nodes, the last gaps included, in a balanced tree of as many keys: nothing is deeper there.
std::int64_t balanced_levels(std::size_t keys) { return std::bit_width(keys) + 1; }

/// Links the roots of the intervals, which come from the whole down, left before right.
void build(SearchTree& tree, std::span<const Split> splits) {
  struct Pending {
    std::int64_t* key;  // where the root of the next interval belongs
    std::int64_t depth;
  };
  tree.nodes.resize(splits.size());
  std::vector<Pending> pending{{&tree.root, 0}};
  for (const auto& [i, k, j] : splits) {
    const auto [key, depth] = pending.back();
    pending.pop_back();
    *key = k;
    SearchTreeNode& node = tree.nodes[static_cast<std::size_t>(k - 1)];
    node.depth = depth;
    if (tree.level_keys.size() <= static_cast<std::size_t>(depth)) tree.level_keys.push_back(0);
    ++tree.level_keys[static_cast<std::size_t>(depth)];
    if (j - k >= 2) pending.push_back({&node.right, depth + 1});
    if (k - i >= 2) pending.push_back({&node.left, depth + 1});
  }
}

/// The cost of the tree, by its definition.
template <class Sum, class Frequency>
Sum cost_of(const SearchTree& tree, std::span<const Frequency> p, std::span<const Frequency> q) {
  Sum cost = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {  // key k + 1
    const SearchTreeNode& node = tree.nodes[k];
    const Sum level = static_cast<Sum>(node.depth + 1);
    cost += level * p[k];
    if (node.left == 0) cost += (level + 1) * q[k];
    if (node.right == 0) cost += (level + 1) * q[k + 1];
  }
  return cost;
}

template <class T, class Frequency>
SearchTree solved(std::span<const Frequency> p, std::span<const Frequency> q, T bound,
                  const Options& options) {
  using Sum = std::conditional_t<std::integral<T>, std::int64_t, double>;
  const std::size_t keys = p.size();
  Problem<T> problem;
  for (const Frequency gap : q) problem.leaves.push_back(static_cast<T>(gap));
  problem.row_weight.resize(keys + 2);
  problem.column_weight.resize(keys + 2);
  if constexpr (std::integral<T>) problem.bound = bound;
  // row[i] = -(p_1 + .. + p_i + q_0 + .. + q_i-1),  column[j] = p_1 + .. + p_j-1 + q_0 + .. + q_j-1
  std::conditional_t<std::integral<T>, std::int64_t, long double> sum = 0;
  for (std::size_t k = 0; k <= keys; ++k) {
    if (k > 0) sum += p[k - 1];
    problem.row_weight[k] = static_cast<T>(-sum);
    sum += q[k];
    problem.column_weight[k + 1] = static_cast<T>(sum);
  }
  const Solution<T> solution = solve(problem, options);
  SearchTree tree;
  build(tree, solution.trace());
  tree.cost = cost_of<Sum>(tree, p, q);
  tree.total = static_cast<Sum>(sum);
  tree.report = solution.report();
  return tree;
}

}  // namespace

SearchTree search_tree(std::span<const double> p, std::span<const double> q,
                       const SearchTreeOptions& options) {
  check(p, q);
  const ValueType type = options.type == ValueType::best ? ValueType::float64 : options.type;
  if (type != ValueType::float32 && type != ValueType::float64)
    throw BadInput(fmt::format("{} is for frequencies that are integers; use float64", name(type)));
  double total = 0;
  for (const double frequency : p) total += frequency;
  for (const double frequency : q) total += frequency;
  const double bound = total * static_cast<double>(balanced_levels(p.size()));
  const bool single = type == ValueType::float32;
  // Half of the range: a candidate is the sum of two costs.
  if (!(bound < (single ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max()) / 2))
    throw BadInput(fmt::format("costs of this tree may reach {:.4g}, beyond {}'s range; {}", bound,
                               name(type), single ? "use float64" : "divide the frequencies by a constant"));
  SearchTree tree = single ? solved(p, q, 0.0F, options.solve) : solved(p, q, 0.0, options.solve);
  tree.type = type;
  return tree;
}

SearchTree search_tree(std::span<const std::int64_t> p, std::span<const std::int64_t> q,
                       const SearchTreeOptions& options) {
  check(p, q);
  std::int64_t total = 0;
  for (const std::int64_t frequency : p) total = saturating_add(total, frequency);
  for (const std::int64_t frequency : q) total = saturating_add(total, frequency);
  // An optimal tree costs no more than a balanced one, and so do its parts.
  const std::int64_t bound = saturating_multiply(total, balanced_levels(p.size()));
  const ValueType type = choose_value_type(options.type, bound, "costs of this tree");
  if (type == ValueType::float32 || type == ValueType::float64) {
    const std::vector<double> real_p(p.begin(), p.end()), real_q(q.begin(), q.end());
    return search_tree(real_p, real_q, {options.solve, type});
  }
  SearchTree tree = type == ValueType::int32 ? solved(p, q, static_cast<std::int32_t>(bound), options.solve)
                                             : solved(p, q, bound, options.solve);
  tree.type = type;
  return tree;
}

}  // namespace warploom::dp
