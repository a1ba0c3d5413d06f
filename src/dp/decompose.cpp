#include "dp/decompose.hpp"

#include <algorithm>
#include <bit>

namespace warploom::dp {
namespace {

/// Hands calls on, leaves out what lies outside the triangle, and counts.
class Counted {
 public:
  Counted(std::int64_t points, bool separate, Executor& executor)
      : points_(points), separate_(separate), executor_(executor) {}

  void rectangular(const Rectangular& call) {
    if (call.j >= points_) return;
    calls_.rectangular += (call.k_end - call.k_begin) / call.edge * call.count;
    if (!separate_) return executor_.rectangular(call);
    for (std::int64_t block = 0; block < call.count; ++block)
      for (std::int64_t k = call.k_begin; k < call.k_end; k += call.edge) {
        const std::int64_t shift = block * call.edge;
        executor_.rectangular({.i = call.i + shift,
                               .j = call.j + shift,
                               .edge = call.edge,
                               .k_begin = k + shift,
                               .k_end = k + shift + call.edge,
                               .fresh = call.fresh && k == call.k_begin});
      }
  }

  void triangular(const TriangularBlock& call) {
    if (call.j >= points_) return;
    if (call.i != call.j) calls_.triangular += call.count;
    if (!separate_) return executor_.triangular(call);
    for (std::int64_t block = 0; block < call.count; ++block)
      executor_.triangular({.i = call.i + block * call.edge,
                            .j = call.j + block * call.edge,
                            .edge = call.edge,
                            .fresh = call.fresh});
  }

  const Calls& calls() const { return calls_; }

 private:
  std::int64_t points_;
  bool separate_;
  Executor& executor_;
  Calls calls_;
};

/// Figure 11.
void diagonal_by_diagonal(std::int64_t blocks, std::int64_t edge, Counted& calls) {
  for (std::int64_t d = 1; d < blocks; ++d) {
    const std::int64_t j = d * edge, count = blocks - d;
    if (d > 1) calls.rectangular({.i = 0, .j = j, .edge = edge, .k_begin = edge, .k_end = j, .count = count});
    calls.triangular({.i = 0, .j = j, .edge = edge, .count = count, .fresh = d == 1});
  }
}

/// Figure 10. Squares are (row, column, size) in cells; the triangles left of and below a square are those
/// over its rows and its columns.
class DivideAndConquer {
 public:
  DivideAndConquer(std::int64_t edge, bool printed, Counted& calls)
      : edge_(edge), printed_(printed), calls_(calls) {}

  /// The triangle over [first, first + size), without its blocks on the diagonal.
  void triangle(std::int64_t first, std::int64_t size) {
    if (size <= edge_) return;
    const std::int64_t half = size / 2;
    if (!printed_) {  // as printed, square() computes the triangles that it needs
      triangle(first, half);
      triangle(first + half, half);
    }
    square(first, first + half, half, true);
  }

 private:
  /// The figure's triangular_computation with, where the square is larger than a block, its
  /// rectangular_computation.
  void square(std::int64_t i, std::int64_t j, std::int64_t size, bool fresh) {
    if (size <= edge_) return calls_.triangular({.i = i, .j = j, .edge = edge_, .fresh = fresh});
    const std::int64_t half = size / 2, i1 = i + half, j1 = j + half;
    const auto product = [&](std::int64_t row, std::int64_t column, std::int64_t k, bool first) {
      calls_.rectangular(
          {.i = row, .j = column, .edge = half, .k_begin = k, .k_end = k + half, .fresh = first});
    };
    if (printed_) square(i, i1, half, true);  // A01
    square(i1, j, half, fresh);               // C10
    if (printed_) square(j, j1, half, true);  // B01
    product(i, j, i1, fresh);                 // C00: A01, C10
    square(i, j, half, false);
    product(i1, j1, j, fresh);  // C11: C10, B01
    square(i1, j1, half, false);
    product(i, j1, i1, fresh);  // C01: A01, C11
    product(i, j1, j, false);   // C01: C00, B01
    square(i, j1, half, false);
  }

  std::int64_t edge_;
  bool printed_;
  Counted& calls_;
};

}  // namespace

Calls decompose(std::int64_t points, int block, Decomposition decomposition, bool separate_calls,
                Executor& executor) {
  const std::int64_t edge = block, blocks = (points + edge - 1) / edge;
  Counted calls(points, separate_calls, executor);
  calls.triangular({.i = 0, .j = 0, .edge = edge, .count = blocks});
  if (decomposition == Decomposition::bottom_up) {
    diagonal_by_diagonal(blocks, edge, calls);
  } else {
    const auto whole = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(blocks)));
    DivideAndConquer(edge, decomposition == Decomposition::printed, calls).triangle(0, whole * edge);
  }
  return calls.calls();
}

}  // namespace warploom::dp
