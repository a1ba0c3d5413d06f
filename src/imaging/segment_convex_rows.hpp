#pragma once

/// The inner loops of the convex method on a CPU, compiled for each instruction set in a namespace of its
/// name.

#include <cstdint>

#include "imaging/segment_edges.hpp"

namespace warploom::imaging {

/// p of one kind of edge along a row: p = clip(p + step (there - here)) within limit, or limit * here_counts
/// * there_counts where masks are given.
struct DualRow {
  std::int64_t count;
  float* p;
  const float *here, *there;
  const float *here_counts, *there_counts;  ///< 0 or 1; null: all count
  float step, limit;
};

/// One row of v from p: for each edge p at its voxel and at the one whose edge ends there.
struct PrimalRow {
  std::int64_t nx;
  int edges;
  const float* from_here[kMostEdges];
  const float* to_here[kMostEdges];
  float weight[kMostEdges];
  const float* image;
  float *v, *extrapolated;  ///< read and written; written
  float tau, theta;
};

using UpdateDual = void (*)(const DualRow& row);
using UpdatePrimal = void (*)(const PrimalRow& row);
/// Edges of a row, of those that count, with `limit` between their ends.
using CountCuts = double (*)(const DualRow& row);
/// u + div p - threshold where positive, added up.
using RowExcess = double (*)(const PrimalRow& row, float threshold, const float* counts);

#define WARPLOOM_DECLARE_CONVEX_ROWS(set)                                        \
  namespace set {                                                                \
  void update_dual_row(const DualRow& row);                                      \
  void update_primal_row(const PrimalRow& row);                                  \
  double count_cuts(const DualRow& row);                                         \
  double row_excess(const PrimalRow& row, float threshold, const float* counts); \
  }
WARPLOOM_DECLARE_CONVEX_ROWS(baseline)
WARPLOOM_DECLARE_CONVEX_ROWS(avx2)
WARPLOOM_DECLARE_CONVEX_ROWS(avx512)
#undef WARPLOOM_DECLARE_CONVEX_ROWS

}  // namespace warploom::imaging
