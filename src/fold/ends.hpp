#pragma once

#include <cstdint>
#include <vector>

#include "fold/fill.hpp"

namespace warploom::fold {

/// The bases first..last, as if they stood alone.
struct Stretch {
  std::int64_t first, last;
};

/// The loop outside of all pairs. C and M of a stretch's cells are the same whatever lies beside it; this
/// loop alone ends where the stretch does, so that one matrix serves all stretches of a sequence.
class Ends {
 public:
  /// @param x  of the sequence; as the others it lives as long as this. Its f is not used
  Ends(const Bases& s, const Loops& loops, const Matrices& x);
  /// @param f  becomes the least energy of the stretch's first k bases, by k
  void fill(Stretch stretch, std::vector<std::int32_t>& f);

 private:
  /// What a pair (i, j) adds, by i, with bases beside it that count. @param behind  j + 1's, -1 where it does
  /// not
  const std::int32_t* stems(Base bj, bool before, int behind);

  const Bases& s_;
  const Loops& loops_;
  const Triangle& c_;
  const Quadruplexes& quadruplexes_;
  const RowKernels& kernels_;
  std::vector<std::vector<std::int32_t>> stems_;  // made when first asked for
};

}  // namespace warploom::fold
