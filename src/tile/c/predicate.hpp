#pragma once

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// Prepares branches on data, so that each statement within may ask for the condition by itself, wherever an
/// order of loops puts it. What is known without data becomes a branch of its own around: `if (i > 0 && a[i]
/// < 0)`. Where statements within write what the condition reads, it is kept in an int of the iteration first
/// (if-conversion: Allen, Kennedy, Porterfield and Warren, "Conversion of control dependence to data
/// dependence", POPL 1983).
void predicate(Region& region);

/// Whether an expression depends on what memory holds: it names a variable.
bool reads_data(const Region& region, const Expression& expression);

/// Whether data decides which of the statements run, or which elements they touch.
bool depends_on_data(const Region& region, const Node& tree);

/// Neighbours under one condition get one branch, where the first of them does not change it.
void merge_branches(Node& tree);

}  // namespace warploom::tile
