#pragma once

/// Eigenvalues of many tensors side by side, compiled for several instruction sets: maps.cpp takes the set
/// that the processor at hand can run. The bits are those of eigen().

#include <cstddef>

namespace warploom::imaging {

struct EigenLanes {
  static constexpr std::size_t kCount = 16;
  double tensor[6][kCount] = {};  // xx xy xz yy yz zz, finite; used up
  double values[3][kCount] = {};
  double vectors[3][3][kCount] = {};  // [vector, component]
};

struct EigenLoops {
  void (*decompose)(EigenLanes& lanes);
};

namespace baseline {
extern const EigenLoops eigen_loops;
}
namespace avx2 {
extern const EigenLoops eigen_loops;
}
namespace avx512 {
extern const EigenLoops eigen_loops;
}

/// Of the fastest instruction set that the processor at hand can run.
const EigenLoops& eigen_loops_of_this_processor();

}  // namespace warploom::imaging
