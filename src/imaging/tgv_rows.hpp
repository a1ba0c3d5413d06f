#pragma once

/// Loops of total generalised variation over voxels that follow each other in memory, compiled for several
/// instruction sets as those of tv_rows.hpp.

#include "imaging/tgv_voxel.hpp"
#include "imaging/tv_rows.hpp"

namespace warploom::imaging {

struct TgvRowSums {
  float slope = 0, strain = 0, fidelity = 0, largest = 0;
};

struct TgvRows {
  /// p and q of n voxels from `begin` on. `scratch`: n floats.
  void (*dual)(const TgvFields& f, const TgvShape& s, const TgvSteps& k, std::int64_t begin, std::int64_t n,
               float* scratch);
  /// move = u - (u after its step).
  void (*step_u)(const TgvFields& f, const TgvShape& s, const TgvSteps& k, std::int64_t begin, std::int64_t n,
                 TvRow<float> move);
  /// u and u_bar from the next u.
  void (*take_u)(const TgvFields& f, const TgvShape& s, std::int64_t begin, std::int64_t n,
                 TvRow<const float> next);
  /// w and w_bar.
  void (*step_w)(const TgvFields& f, const TgvShape& s, const TgvSteps& k, std::int64_t begin,
                 std::int64_t n);
  /// q_mean
  void (*average)(const TgvFields& f, const TgvShape& s, float newest, std::int64_t begin, std::int64_t n);
  /// Sums of TgvSums without `dual`, and move = -(div s) / lambda. `scratch`: n floats.
  TgvRowSums (*measure)(const TgvFields& f, const TgvShape& s, const TgvSteps& k, std::int64_t begin,
                        std::int64_t n, float* scratch, TvRow<float> move);
};

namespace baseline {
extern const TgvRows tgv_rows;
}
namespace avx2 {
extern const TgvRows tgv_rows;
}
namespace avx512 {
extern const TgvRows tgv_rows;
}

}  // namespace warploom::imaging
