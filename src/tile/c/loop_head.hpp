#pragma once

#include <optional>

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// What keeps a loop's head out of the subset; where it stands the caller knows.
struct HeadRefusal {
  std::string construct = {}, why = {};
};

/// The step of a loop from `iterator OP value`, OP one of "+=" "-=" "=".
std::optional<HeadRefusal> set_step(const std::string& op, const Expression& value, Node& loop);

/// Comparison and limit of a loop whose iterator and step are set, from its condition: `i < n`, `n > i`, `i <
/// n && i < m`, `i + 1 < n`, and `i != n` where the step is 1 or -1 (a loop that runs past n would not end).
std::optional<HeadRefusal> set_limit(const Expression& condition, Node& loop);

/// Whether the step leads to the limit.
std::optional<HeadRefusal> check_direction(const Node& loop);

}  // namespace warploom::tile
