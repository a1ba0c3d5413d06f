#pragma once

#include "warploom/tile/explain.hpp"

/// Trees that read_source() and our own passes make are well formed; those that somebody made by hand may not
/// be. Each door that takes a tree calls one of these. @throws BadInput (operands or children that are
/// missing, words that C or the subset has not, numbers of statements and kernels that are none)
namespace warploom::tile {

void check(const Expression& expression);
/// @param kernels  that launches may name
void check(const Node& node, std::size_t kernels = 0);
void check(const Region& region);
/// What loops of a tree declare are variables of the region that do not live outside of it.
void check_locals(const Region& region, const Node& node);
/// The numbers of some statements of a nest.
void check(const Nest& nest, const std::vector<int>& statements);
void check(const Nest& nest, const GpuProgram& program);
void check(const Nest& nest, const Dependence& dependence);
void check(const Nest& nest, const Explanation& explanation);

}  // namespace warploom::tile
