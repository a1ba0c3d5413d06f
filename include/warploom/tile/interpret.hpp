#pragma once

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// The values that a region works on, kept as double; float32 is rounded after every operation as C's float
/// arithmetic has it. Integers have 64 bits in expressions, and those of their type where they are stored.
struct Memory {
  std::map<std::string, std::int64_t> sizes = {};
  std::map<std::string, std::vector<double>> arrays = {};  ///< row-major, extents as declared
  std::map<std::string, double> scalars = {};
};

/// Arrays and scalars, local ones too, for these sizes, with pseudo-random values in [0.5, 1.5), integers in
/// 1
/// .. 8, that depend on the seed and the variable's name alone.
/// @throws BadInput (a size is missing, an extent is not known or negative, the whole is larger than 2^31
/// elements)
Memory make_memory(const Region& region, const std::map<std::string, std::int64_t>& sizes,
                   std::uint64_t seed);

/// Runs a tree, statement by statement: slow and obvious, the oracle of every transformation.
/// @throws BadInput (an element outside of its array: array, subscripts, extents, position; an unknown name)
/// @note some 10^7 operations a second.
void interpret(const Region& region, const Node& code, Memory& memory);

}  // namespace warploom::tile
