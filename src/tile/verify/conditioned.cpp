// Values for which what a nest computes is well conditioned.
#include <algorithm>

#include "warploom/tile/verify.hpp"

namespace warploom::tile {
namespace {

bool mentions_data(const Region& region, const Expression& expression) {
  if (expression.kind == Expression::Kind::element) return true;
  if (expression.kind == Expression::Kind::name && find_variable(region, expression.text)) return true;
  return std::ranges::any_of(expression.operands,
                             [&](const Expression& e) { return mentions_data(region, e); });
}

/// A quotient by data, or a root or logarithm of it.
bool divides(const Region& region, const Expression& e) {
  if (e.kind == Expression::Kind::binary && e.text == "/" && mentions_data(region, e.operands[1]))
    return true;
  if (e.kind == Expression::Kind::call && (e.text.starts_with("sqrt") || e.text.starts_with("log")))
    return true;
  return std::ranges::any_of(e.operands, [&](const Expression& operand) { return divides(region, operand); });
}

bool divides(const Region& region, const Node& node) {
  if (node.kind == Node::Kind::assignment)
    return divides(region, node.value) || (node.op == "/=" && mentions_data(region, node.value));
  return std::ranges::any_of(node.children, [&](const Node& child) { return divides(region, child); });
}

}  // namespace

Memory conditioned_memory(const Nest& nest, const std::map<std::string, std::int64_t>& sizes,
                          std::uint64_t seed) {
  const Region& region = nest.region();
  Memory memory = make_memory(region, sizes, seed);
  if (!divides(region, region.body)) return memory;
  for (const Variable& variable : region.variables) {
    if (variable.type == ScalarType::int32 || variable.extents.empty()) continue;
    std::vector<double>& values = memory.arrays.at(variable.name);
    std::vector<std::int64_t> extents;
    for (const Expression& extent : variable.extents) extents.push_back(value_of(extent, sizes));
    if (extents.size() == 1) {  // of a Toeplitz matrix with a diagonal of 1, a quarter of it
      const double scale = 0.125 / static_cast<double>(std::max<std::int64_t>(extents[0], 1));
      for (double& value : values) value = static_cast<float>(value * scale);
    } else if (extents.size() == 2) {
      const std::int64_t rows = extents[0], columns = extents[1];
      for (std::int64_t i = 0; i < std::min(rows, columns); ++i)
        values[static_cast<std::size_t>(i * columns + i)] = static_cast<double>(2 * std::max(rows, columns));
    }
  }
  return memory;
}

}  // namespace warploom::tile
