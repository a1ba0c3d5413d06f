#pragma once

#include <cstdint>

#include "core/instruction_sets.hpp"

namespace warploom::search {

/// What the processor could do if a cell were its four instructions and nothing else: a difference, two
/// minima, a square added; on cells that do not wait for each other, all in registers.
struct Ceiling {
  /// @return cells computed
  std::int64_t (*run)(std::int64_t rounds, float* vector);
};

namespace baseline {
extern const Ceiling ceiling;
}
namespace avx2 {
extern const Ceiling ceiling;
}
namespace avx512 {
extern const Ceiling ceiling;
}

}  // namespace warploom::search
