// The elements that tiles touch, as boxes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "warploom/core/error.hpp"
#include "warploom/tile/locality.hpp"

namespace warploom::tile {
namespace {

using TileSizes = std::map<std::string, std::int64_t>;

/// References of one array that differ in constants only, loops known by their names.
struct Group {
  std::vector<std::map<std::string, std::int64_t>> coefficients;  ///< of each subscript, none of them 0
  std::vector<std::vector<std::int64_t>> size_coefficients;
  std::set<std::vector<std::int64_t>> constants;
};

Group group_of(const Statement& statement, const Reference& reference) {
  Group group;
  for (const std::vector<std::int64_t>& subscript : reference.coefficients) {
    group.coefficients.emplace_back();
    for (std::size_t l = 0; l < subscript.size(); ++l)
      if (subscript[l] != 0) group.coefficients.back()[statement.loops[l]] = subscript[l];
  }
  group.size_coefficients = reference.size_coefficients;
  group.constants = {reference.constants};
  return group;
}

[[noreturn]] void refuse() { throw BadInput("a tile touches more than 2^63 - 1 bytes: make it smaller"); }

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) refuse();
  return result;
}

void add(Footprint& footprint, std::int64_t elements) {
  if (__builtin_add_overflow(footprint.elements, elements, &footprint.elements)) refuse();
}

/// What one subscript takes over a tile.
struct Extent {
  std::string formula;
  std::int64_t value = 1;
  bool dense = true;  ///< it takes every value between its ends
};

/// The sum of |c| * (T - 1), plus 1 and what the constants differ by.
Extent extent_of(const Group& group, std::size_t subscript, const TileSizes& tile) {
  std::set<std::int64_t> constants;
  for (const std::vector<std::int64_t>& each : group.constants) constants.insert(each[subscript]);
  std::vector<std::pair<std::int64_t, std::int64_t>> moves;  // |coefficient|, iterations
  Extent extent;
  std::int64_t constant = 1 + *constants.rbegin() - *constants.begin();
  for (const auto& [loop, coefficient] : group.coefficients[subscript]) {
    const auto asked = tile.find(loop);
    if (asked == tile.end()) continue;
    const std::int64_t c = std::abs(coefficient);
    extent.formula += fmt::format("{}{}T{}", extent.formula.empty() ? "" : " + ",
                                  c > 1 ? fmt::format("{} * ", c) : "", loop);
    constant -= c;
    moves.emplace_back(c, asked->second);
  }
  if (moves.empty())
    extent.formula = std::to_string(constant);
  else if (constant != 0)
    extent.formula += fmt::format(" {} {}", constant > 0 ? "+" : "-", std::abs(constant));
  if (moves.size() > 1 || (!moves.empty() && constant != 0)) extent.formula = "(" + extent.formula + ")";

  // Small steps first: each may leap over what the smaller ones cover.
  std::ranges::sort(moves);
  for (const auto& [step, iterations] : moves) {
    extent.dense &= iterations == 1 || step <= extent.value;
    if (__builtin_add_overflow(extent.value, product(step, iterations - 1), &extent.value)) refuse();
  }
  for (auto next = constants.begin(), before = next++; next != constants.end(); before = next++)
    extent.dense &= *next - *before <= extent.value;
  extent.value += *constants.rbegin() - *constants.begin();
  return extent;
}

/// Whether subscripts move independently of each other, and constants make a full grid.
bool is_product(const Group& group, const TileSizes& tile) {
  std::set<std::string> seen;
  std::size_t grid = 1;
  for (std::size_t d = 0; d < group.coefficients.size(); ++d) {
    for (const auto& [loop, coefficient] : group.coefficients[d])
      if (tile.contains(loop) && !seen.insert(loop).second) return false;
    std::set<std::int64_t> constants;
    for (const std::vector<std::int64_t>& each : group.constants) constants.insert(each[d]);
    grid *= constants.size();
  }
  return grid == group.constants.size();
}

void add_box(const Group& group, const TileSizes& tile, Footprint& footprint) {
  std::string formula;
  std::int64_t elements = 1;
  footprint.exact &= is_product(group, tile);
  for (std::size_t d = 0; d < group.coefficients.size(); ++d) {
    const Extent extent = extent_of(group, d, tile);
    elements = product(elements, extent.value);
    footprint.exact &= extent.dense;
    if (extent.formula != "1") formula += (formula.empty() ? "" : " * ") + extent.formula;
  }
  if (formula.empty()) formula.push_back('1');
  if (formula.front() == '(' && formula.find(')') + 1 == formula.size())
    formula = formula.substr(1, formula.size() - 2);
  footprint.formula += (footprint.formula.empty() ? "" : " + ") + formula;
  add(footprint, elements);
}

/// An iteration touches one element, wherever it is: for subscripts such as i / 2.
void add_iterations(const Statement& statement, const TileSizes& tile, Footprint& footprint) {
  std::string formula;
  std::int64_t elements = 1;
  for (const std::string& loop : statement.loops) {
    const auto asked = tile.find(loop);
    if (asked == tile.end()) continue;
    formula += fmt::format("{}T{}", formula.empty() ? "" : " * ", loop);
    elements = product(elements, asked->second);
  }
  if (formula.empty()) formula.push_back('1');
  footprint.formula += (footprint.formula.empty() ? "" : " + ") + formula;
  add(footprint, elements);
  footprint.exact = false;
}

}  // namespace

std::vector<Footprint> footprint(const Nest& nest, const TileSizes& tile) {
  for (const auto& [loop, extent] : tile)
    if (extent < 1)
      throw BadInput(fmt::format("a tile of {} iterations of loop '{}': at least 1", extent, loop));
  std::vector<Footprint> all;
  for (const Variable& variable : nest.region().variables) {
    if (variable.extents.empty()) continue;
    Footprint footprint{variable.name, {}, 0, 0, true};
    std::vector<Group> groups;
    for (const Statement& statement : nest.statements())
      for (const Reference& reference : statement.references) {
        if (reference.element.text != variable.name) continue;
        if (!reference.is_linear(statement.loops.size())) {
          add_iterations(statement, tile, footprint);
          continue;
        }
        const Group one = group_of(statement, reference);
        const auto same = std::ranges::find_if(groups, [&](const Group& group) {
          return group.coefficients == one.coefficients && group.size_coefficients == one.size_coefficients;
        });
        if (same == groups.end())
          groups.push_back(one);
        else
          same->constants.insert(reference.constants);
      }
    for (const Group& group : groups) add_box(group, tile, footprint);
    if (footprint.elements == 0) continue;  // declared, but not used
    footprint.exact &= groups.size() == 1;
    footprint.bytes = product(footprint.elements, size_of(variable.type));
    all.push_back(footprint);
  }
  return all;
}

}  // namespace warploom::tile
