#pragma once

/// How many (add, min) pairs a core can do when nothing is read or written.

#include <cstdint>

namespace warploom::dp {

struct Ceiling {
  int bytes;  ///< of a vector
  /// `rounds` rounds of `accumulators` pairs of vectors; `vector` is what is added, and takes a result.
  void (*run[5])(std::int64_t rounds, void* vector);  ///< int16, int32, int64, float, double
  int accumulators;
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

}  // namespace warploom::dp
