#include "fold/sums.hpp"

#include "core/vectors.hpp"

namespace warploom::fold::WARPLOOM_INSTRUCTION_SET {
namespace {

using namespace warploom::WARPLOOM_INSTRUCTION_SET;
using Number = warploom::WARPLOOM_INSTRUCTION_SET::Vector<double>;
constexpr int kNumbers = warploom::WARPLOOM_INSTRUCTION_SET::kLanes<double>;
static_assert(kStripRows % kNumbers == 0);

/// The column d before j.
double* back(WideRow* ring, const LoopColumn& column, int d) { return ring[(column.j - d) & (kReach - 1)]; }

/// Whether stretches beside a column's pairs may be unpaired, as factors. Without `kForced` all may.
template <bool kForced>
struct Free {
  const LoopColumn& column;
  /// `length` bases before j.
  double right(int length) const { return !kForced || length <= column.unpaired ? 1 : 0; }
  /// And behind row k's.
  double left(int length, int k) const {
    if constexpr (kForced)
      return column.stretches->behind[length][k];
    else
      return 1;
  }
  /// Row k's own, and j.
  double own(int k) const {
    if constexpr (kForced)
      return column.own ? column.stretches->own[k] : 0;
    else
      return 1;
  }
};

template <bool kForced>
void interior_of(const LoopColumn& column, const SizeWeights& sizes, Rings& rings, double* __restrict b) {
  const Free<kForced> free{column};
  const double* scale = column.scale;
  const OuterWeights& outer = *column.outer;
  alignas(64) StripRow bulge = {}, one_n = {}, generic = {};
  for (int u = 2; u <= kMaxLoop; ++u) {
    const double *left = back(rings.end, column, 1) + 1 + u, *right = back(rings.end, column, 1 + u) + 1;
    const double l = scale[1] * sizes.bulge[u], r = scale[1 + u] * sizes.bulge[u] * free.right(u);
    for (int k = 0; k < kStripRows; ++k) bulge[k] += l * left[k] * free.left(u, k) + r * right[k];
  }
  for (int u = 4; u <= kMaxLoop; ++u) {
    const double *left = back(rings.interior_1n, column, 2) + u,
                 *right = back(rings.interior_1n, column, u) + 2;
    const double l = scale[2] * sizes.one_n[u] * free.right(1),
                 r = scale[u] * sizes.one_n[u] * free.right(u - 1);
    for (int k = 0; k < kStripRows; ++k)
      one_n[k] += l * left[k] * free.left(u - 1, k) + r * right[k] * free.left(1, k);
  }
  // In place: u from above, so that u - 2 is still that of column j - 1.
  for (int u = kMaxLoop; u >= 4; --u) {
    const double *left = back(rings.interior, column, 3) + u - 1,
                 *right = back(rings.interior, column, u - 1) + 3;
    const double l = scale[3] * sizes.asymmetry[u - 4] * free.right(2);
    const double r = u == 4 ? 0  // two bases on each side are one loop
                            : scale[u - 1] * sizes.asymmetry[u - 4] * free.right(u - 2);
    const double carried = u < 6 ? 0 : scale[1] * free.right(1), weight = u < 6 ? 0 : sizes.interior[u];
    const double* before = rings.generic[u < 6 ? u : u - 2] + 1;
    double* here = rings.generic[u];
    for (int k = 0; k < kStripRows; ++k) {
      const double g = l * left[k] * free.left(u - 2, k) + r * right[k] * free.left(2, k) +
                       (u < 6 ? 0 : carried * before[k] * free.left(1, k));
      generic[k] += weight * g;
      here[k] = g;
    }
  }
  const double *two_three = back(rings.interior_23, column, 3) + 4,
               *three_two = back(rings.interior_23, column, 4) + 3;
  const double *left_one = back(rings.b, column, 1) + 2, *right_one = back(rings.b, column, 2) + 1;
  const double* stacked = back(rings.b, column, 1) + 1;
  const double one = scale[2] * free.right(1), two = scale[3] * free.right(2),
               three = scale[4] * free.right(3);
  for (int k = 0; k < kStripRows; ++k)
    b[k] = bulge[k] * column.end[k] + one_n[k] * outer.interior_1n[k] + generic[k] * outer.interior[k] +
           sizes.two_three * (two * two_three[k] * free.left(3, k) + three * three_two[k] * free.left(2, k)) *
               outer.interior_23[k] +
           scale[1] * left_one[k] * outer.bulge_left[k] * free.left(1, k) +
           one * right_one[k] * column.bulge_right[k] + scale[1] * stacked[k] * outer.stack[k];
}

void interior(const LoopColumn& column, const SizeWeights& sizes, Rings& rings, double* b) {
  column.stretches == nullptr ? interior_of<false>(column, sizes, rings, b)
                              : interior_of<true>(column, sizes, rings, b);
}

template <bool kForced>
void give_interior_of(const LoopColumn& column, const SizeWeights& sizes, const double* __restrict worth,
                      Rings& rings) {
  const Free<kForced> free{column};
  const double* scale = column.scale;
  const OuterWeights& outer = *column.outer;
  alignas(64) StripRow part;
  for (int k = 0; k < kStripRows; ++k) part[k] = worth[k] * column.end[k];
  for (int u = 2; u <= kMaxLoop; ++u) {
    double *left = back(rings.end, column, 1) + 1 + u, *right = back(rings.end, column, 1 + u) + 1;
    const double l = scale[1] * sizes.bulge[u], r = scale[1 + u] * sizes.bulge[u] * free.right(u);
    for (int k = 0; k < kStripRows; ++k) left[k] += l * part[k] * free.left(u, k);
    for (int k = 0; k < kStripRows; ++k) right[k] += r * part[k];
  }
  for (int k = 0; k < kStripRows; ++k) part[k] = worth[k] * outer.interior_1n[k];
  for (int u = 4; u <= kMaxLoop; ++u) {
    double *left = back(rings.interior_1n, column, 2) + u, *right = back(rings.interior_1n, column, u) + 2;
    const double l = scale[2] * sizes.one_n[u] * free.right(1),
                 r = scale[u] * sizes.one_n[u] * free.right(u - 1);
    for (int k = 0; k < kStripRows; ++k) left[k] += l * part[k] * free.left(u - 1, k);
    for (int k = 0; k < kStripRows; ++k) right[k] += r * part[k] * free.left(1, k);
  }
  for (int k = 0; k < kStripRows; ++k) part[k] = worth[k] * outer.interior[k];
  // In place: u from below, so that u + 2 is still that of column j + 1. Row k of it lies at k + 1.
  for (int u = 4; u <= kMaxLoop; ++u) {
    double *left = back(rings.interior, column, 3) + u - 1, *right = back(rings.interior, column, u - 1) + 3;
    const double l = scale[3] * sizes.asymmetry[u - 4] * free.right(2),
                 r = u == 4 ? 0 : scale[u - 1] * sizes.asymmetry[u - 4] * free.right(u - 2);
    const double weight = u < 6 ? 0 : sizes.interior[u], carried = u + 2 > kMaxLoop ? 0 : scale[0];
    const double* behind = rings.generic[u + 2 > kMaxLoop ? u : u + 2];
    double* here = rings.generic[u];
    alignas(64) StripRow g;
    for (int k = 0; k < kStripRows; ++k)
      g[k] = weight * part[k] + (u + 2 > kMaxLoop ? 0 : carried * behind[k] * free.own(k));
    for (int k = 0; k < kStripRows; ++k) left[k] += l * g[k] * free.left(u - 2, k);
    for (int k = 0; k < kStripRows; ++k) right[k] += r * g[k] * free.left(2, k);
    for (int k = 0; k < kStripRows; ++k) here[k + 1] = g[k];
  }
  double *two_three = back(rings.interior_23, column, 3) + 4,
         *three_two = back(rings.interior_23, column, 4) + 3;
  double *left_one = back(rings.b, column, 1) + 2, *right_one = back(rings.b, column, 2) + 1;
  double* stacked = back(rings.b, column, 1) + 1;
  for (int k = 0; k < kStripRows; ++k) part[k] = worth[k] * outer.interior_23[k] * sizes.two_three;
  const double one = scale[2] * free.right(1), two = scale[3] * free.right(2),
               three = scale[4] * free.right(3);
  for (int k = 0; k < kStripRows; ++k) two_three[k] += two * part[k] * free.left(3, k);
  for (int k = 0; k < kStripRows; ++k) three_two[k] += three * part[k] * free.left(2, k);
  for (int k = 0; k < kStripRows; ++k)
    left_one[k] += scale[1] * worth[k] * outer.bulge_left[k] * free.left(1, k);
  for (int k = 0; k < kStripRows; ++k) right_one[k] += one * worth[k] * column.bulge_right[k];
  for (int k = 0; k < kStripRows; ++k) stacked[k] += scale[1] * worth[k] * outer.stack[k];
}

void give_interior(const LoopColumn& column, const SizeWeights& sizes, const double* worth, Rings& rings) {
  column.stretches == nullptr ? give_interior_of<false>(column, sizes, worth, rings)
                              : give_interior_of<true>(column, sizes, worth, rings);
}

void add_parts(const Number& sum, double* parts) { store(parts, load(parts) + sum); }

/// Of loops with one place for their inner pair in each row. @return their part of the sum over rows
/// @param free  by row, 1 or 0: whether there is one; null: all have one
Number count_one(const double* worth, const double* inner, double weight, const double* free, double* row) {
  Number sum = {};
  if (weight == 0) return sum;
  for (int k = 0; k < kStripRows; k += kNumbers) {
    Number x = load(inner + k) * weight;
    if (free != nullptr) x *= load(free + k);
    store(row + k, load(row + k) + x);
    sum += load(worth + k) * x;
  }
  return sum;
}

void count(const LoopColumn& column, const SizeWeights& sizes, const double* worth, Rings& rings,
           ShapeSums& shapes, OuterSums& rows) {
  const double* scale = column.scale;
  const OuterWeights& outer = *column.outer;
  rows = {};
  alignas(64) StripRow part;
  const auto begin = [&](const double* weights) {
    for (int k = 0; k < kStripRows; ++k) part[k] = worth[k] * weights[k];
  };
  const auto end = [&](double* row) {
    for (int k = 0; k < kStripRows; ++k) row[k] *= part[k];
  };
  const auto shape = [&](WideRow* ring, int left, int right, double weight, double* row) {
    if (right > column.unpaired) weight = 0;
    return count_one(part, back(ring, column, 1 + right) + 1 + left, scale[1 + right] * weight,
                     column.stretches == nullptr || left == 0 ? nullptr : column.stretches->behind[left],
                     row);
  };
  begin(column.end);
  for (int u = 2; u <= kMaxLoop; ++u)
    add_parts(shape(rings.end, u, 0, sizes.bulge[u], rows.bulge) +
                  shape(rings.end, 0, u, sizes.bulge[u], rows.bulge),
              shapes.bulge[u]);
  end(rows.bulge);
  begin(outer.interior_1n);
  for (int u = 4; u <= kMaxLoop; ++u)
    add_parts(shape(rings.interior_1n, u - 1, 1, sizes.one_n[u], rows.one_n) +
                  shape(rings.interior_1n, 1, u - 1, sizes.one_n[u], rows.one_n),
              shapes.one_n[u]);
  end(rows.one_n);
  begin(outer.interior_23);
  add_parts(shape(rings.interior_23, 2, 3, sizes.two_three, rows.two_three) +
                shape(rings.interior_23, 3, 2, sizes.two_three, rows.two_three),
            shapes.two_three);
  end(rows.two_three);
  begin(outer.interior);
  for (int u = 6; u <= kMaxLoop; ++u)
    for (int left = 2; left <= u - 2; ++left) {
      const int right = u - left, difference = left > right ? left - right : right - left;
      const Number sum =
          shape(rings.interior, left, right, sizes.interior[u] * sizes.asymmetry[difference], rows.generic);
      add_parts(sum, shapes.generic[u]);
      add_parts(sum, shapes.difference[difference]);
    }
  end(rows.generic);
}

constexpr int kTogether = kNumbers == 8 ? 4 : 2;  // vectors of rows, as many as there are registers for
constexpr int kColumnsTogether = 4;
static_assert(kStripRows % (kTogether * kNumbers) == 0 && kTileColumns % kColumnsTogether == 0);

void product(const double* a, const double* b, int count, double* c) {
  for (int column = 0; column < kTileColumns; column += kColumnsTogether)
    for (int row = 0; row < kStripRows; row += kTogether * kNumbers) {
      Number sum[kColumnsTogether][kTogether];
      for (int x = 0; x < kColumnsTogether; ++x)
        for (int v = 0; v < kTogether; ++v)
          sum[x][v] = load(c + (column + x) * kStripRows + row + v * kNumbers);
      for (int k = 0; k < count; ++k) {
        Number left[kTogether];
        for (int v = 0; v < kTogether; ++v) left[v] = load(a + k * kStripRows + row + v * kNumbers);
        for (int x = 0; x < kColumnsTogether; ++x)
          for (int v = 0; v < kTogether; ++v) sum[x][v] += left[v] * b[k * kTileColumns + column + x];
      }
      for (int x = 0; x < kColumnsTogether; ++x)
        for (int v = 0; v < kTogether; ++v)
          store(c + (column + x) * kStripRows + row + v * kNumbers, sum[x][v]);
    }
}

inline double across(const Number& v) {
  double sum = 0;
  for (int k = 0; k < kNumbers; ++k) sum += v[k];
  return sum;
}

void dots(const double* const* a, const double* factor, const double* b, double* c) {
  constexpr int kRowsTogether = 4;
  for (int column = 0; column < kTileColumns; column += kColumnsTogether)
    for (int k = 0; k < kStripRows; k += kRowsTogether) {
      Number sum[kColumnsTogether][kRowsTogether] = {};
      for (int row = 0; row < kStripRows; row += kNumbers) {
        Number left[kRowsTogether];
        for (int y = 0; y < kRowsTogether; ++y) left[y] = load(a[k + y] + row);
        for (int x = 0; x < kColumnsTogether; ++x) {
          const Number right = load(b + (column + x) * kStripRows + row);
          for (int y = 0; y < kRowsTogether; ++y) sum[x][y] += left[y] * right;
        }
      }
      for (int x = 0; x < kColumnsTogether; ++x)
        for (int y = 0; y < kRowsTogether; ++y)
          c[(column + x) * kStripRows + k + y] += factor[k + y] * across(sum[x][y]);
    }
}

void add(const double* __restrict x, double factor, double* __restrict y) {
  for (int k = 0; k < kStripRows; ++k) y[k] += x[k] * factor;
}

}  // namespace

extern const SumKernels sum_kernels;
const SumKernels sum_kernels = {interior, give_interior, count, product, dots, add};

}  // namespace warploom::fold::WARPLOOM_INSTRUCTION_SET
