#pragma once

#include <vector>

/// Nests with what was made of them, compiled: generate_cases writes the table.
namespace warploom::tile {

/// @param sizes    values of Region::sizes, of the function's parameters in their order
/// @param scalars  floating-point parameters, as double
/// @param arrays   the parameters that are arrays; device pointers for CUDA
using CaseCall = int (*)(const int* sizes, const double* scalars, void** arrays);

struct Case {
  const char* name;
  const char* text;  ///< the C source
  CaseCall source;   ///< compiled as it is
  CaseCall precise;  ///< with double for float, arrays too
  CaseCall cpu;      ///< after plan_for_cpu
  CaseCall cuda;     ///< launches, asynchronous; null where there is no CUDA toolkit
};
/// Of examples/tile.
const std::vector<Case>& cases();
/// Of bench/tile/nests: sizes are numbers in the source, too large for tests.
const std::vector<Case>& cases_of_known_size();

}  // namespace warploom::tile
