#include "dp/cpu_blocks.hpp"

#include "core/vectors.hpp"
#include "dp/narrow.hpp"
#include "warploom/dp/problem.hpp"

namespace warploom::dp::WARPLOOM_INSTRUCTION_SET {
namespace {

using namespace warploom::WARPLOOM_INSTRUCTION_SET;

/// Fetches the operands of the next product of tiles while one of R rows and V vectors is computed: what the
/// tiles have in lines, spread over all such pieces of this product and the steps of each. Without it a third
/// of the time goes by in waiting for tiles that are in no cache.
template <class T, int R, int V>
inline void fetch(const NextOperands<T>& next, int k) {
  constexpr int kLine = 64, kLines = R * V * kVectorBytes / kLine, kEvery = kTile / kLines;
  if (k % kEvery != 0) return;
  __builtin_prefetch(next.a + k / kEvery * (kLine / static_cast<int>(sizeof(T))));
  __builtin_prefetch(next.b + k / kEvery * (kLine / static_cast<int>(sizeof(T))));
}

/// A (min, +) product of R rows and V vectors of columns, all candidates in registers.
template <class T, int R, int V, bool kFactors>
inline void multiply(T* c, const T* a, const T* b, int depth, const BlockFactors<T>& p,
                     const NextOperands<T>& next) {
  Vector<T> best[R][V], pair[kFactors ? R : 1][kFactors ? V : 1];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) {
      best[r][v] = load(c + r * kTile + v * kLanes<T>);
      if constexpr (kFactors) pair[r][v] = load(p.column + v * kLanes<T>) * p.row[r] * p.sign;
    }
  for (int k = 0; k < depth; ++k) {
    fetch<T, R, V>(next, k);
    Vector<T> row[V];
    for (int v = 0; v < V; ++v) row[v] = load(b + k * kTile + v * kLanes<T>);
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < V; ++v) {
        Vector<T> sum = row[v] + a[r * kTile + k];
        if constexpr (kFactors) sum = sum + pair[r][v] * p.middle[k];
        best[r][v] = lesser(sum, best[r][v]);
      }
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) store(c + r * kTile + v * kLanes<T>, best[r][v]);
}

// Registers hold 16 vectors of candidates where there are 32 registers, 8 where there are 16; with factors
// half of them are for p_i p_j.
template <class T, int V, bool kFactors>
void multiply_columns(T* c, const T* a, const T* b, int rows, int columns, int depth, BlockFactors<T> p,
                      NextOperands<T> next) {
  constexpr int kBudget = (kVectorBytes == 64 ? 16 : 8) / (kFactors ? 2 : 1);
  constexpr int R = kBudget / V < 8 ? kBudget / V : 8;
  const T* column_factors = p.column;
  for (int i = 0; i < rows; i += R) {
    for (int j = 0; j < columns; j += V * kLanes<T>) {
      if constexpr (kFactors) p.column = column_factors + j;
      multiply<T, R, V, kFactors>(c + i * kTile + j, a + i * kTile, b + j, depth, p, next);
      next.a += R * V * kLanes<T>;
      next.b += R * V * kLanes<T>;
    }
    if constexpr (kFactors) p.row += R;
  }
}

/// c = min(c, a + b) for [rows x depth] and [depth x columns], multiples of 16.
template <class T, bool kFactors>
void product(T* c, const T* a, const T* b, int rows, int columns, int depth, const BlockFactors<T>& p,
             const NextOperands<T>& next) {
  constexpr int kWide = kFactors || kVectorBytes < 64 ? 2 : 4;
  if (columns % (kWide * kLanes<T>) == 0)
    multiply_columns<T, kWide, kFactors>(c, a, b, rows, columns, depth, p, next);
  else if (columns % (2 * kLanes<T>) == 0)
    multiply_columns<T, 2, kFactors>(c, a, b, rows, columns, depth, p, next);
  else
    multiply_columns<T, 1, kFactors>(c, a, b, rows, columns, depth, p, next);
}

template <class T>
void product_of_blocks(T* c, const T* a, const T* b, int rows, int edge, const BlockFactors<T>& p,
                       const NextOperands<T>& next) {
  if (p.row != nullptr)
    product<T, true>(c, a, b, rows, edge, edge, p, next);
  else
    product<T, false>(c, a, b, rows, edge, edge, p, next);
}

// Closures. A block is finished by sub-blocks of 16, from the diagonal outwards: what lies between a
// sub-block and the diagonal goes through product(), the rest, where each cell waits for its neighbours, is
// finish_part().
constexpr int kPart = 16;

/// finished() of terms.hpp. A best candidate above kLargest may be any that two cells add up to.
template <class T>
inline Vector<T> finished(const Vector<T>& best, const Vector<T>& weight) {
  if constexpr (T(1) / 2 == T(0)) {
    constexpr T largest = kLargest<T>;
    const Vector<T> unreachable = Vector<T>{} + kUnreachable<T>, limit = Vector<T>{} + largest;
    const Vector<T> cell = lesser(best, limit + T(1)) + weight;
    const Vector<T> kept = cell > limit ? unreachable : cell;
    return best > limit ? unreachable : kept;
  } else {
    return best + weight;
  }
}

template <class T>
struct Part {
  int i = 0, j = 0;  // within the block
  T weight[kPart][kPart];
  T score[kPart][kPart];        // of pairing; kUnreachable where i and j may not pair
  T below[kPart], left[kPart];  // see OpenBlock
};

template <class T>
constexpr T kColumn[kPart] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/// Finishes a sub-block off the diagonal, some rows at a time from the lowest, column after column: what
/// takes the time is how long a cell waits for the one to its left, and rows wait together. Candidates of
/// lanes further to the right, made of cells that are not final yet, are no better than those to come.
template <class T, bool kFactors, bool kPairs>
void finish_part(const OpenBlock<T>& block, const Part<T>& part) {
  constexpr int L = kLanes<T>, V = kPart / L, G = 4;
  T* c = block.cells + part.i * kTile + part.j;
  const T* rows = block.rows + part.i * (kTile + 1);
  const T* columns = block.columns + part.j * (kTile + 1);
  const T* row_factor = kFactors ? block.factors.row + part.i : nullptr;
  const T* column_factor = kFactors ? block.factors.column + part.j : nullptr;
  for (int r = kPart - G; r >= 0; r -= G) {
    Vector<T> best[G][V], weight[G][V], pair[kFactors ? G : 1][kFactors ? V : 1];
    for (int g = 0; g < G; ++g)
      for (int v = 0; v < V; ++v) {
        best[g][v] = load(c + (r + g) * kTile + v * L);
        weight[g][v] = load(part.weight[r + g] + v * L);
        if constexpr (kFactors)
          pair[g][v] = load(column_factor + v * L) * row_factor[r + g] * block.factors.sign;
      }
    const auto add = [&](int g, int v, const Vector<T>& cells, T other, const T* factor) {
      Vector<T> sum = cells + other;
      if constexpr (kFactors) sum = sum + pair[g][v] * *factor;
      best[g][v] = lesser(sum, best[g][v]);
    };
    for (int k = r + G; k < kPart; ++k)
      for (int v = 0; v < V; ++v) {
        const Vector<T> cells = load(c + k * kTile + v * L);
        for (int g = 0; g < G; ++g) add(g, v, cells, rows[(r + g) * kTile + k], row_factor + k);
      }
    if constexpr (kPairs)
      for (int g = 0; g < G; ++g) {
        // Of the row below, what is final already.
        T inner[kPart];
        for (int x = 0; x < kPart; ++x)
          inner[x] = r + g + 1 == kPart ? part.below[x]
                     : x == 0           ? part.left[r + g]
                     : g + 1 == G       ? c[(r + G) * kTile + x - 1]
                                        : kUnreachable<T>;
        for (int v = 0; v < V; ++v)
          best[g][v] = lesser(load(inner + v * L) + load(part.score[r + g] + v * L), best[g][v]);
      }
    // Unrolled, or candidates would not be kept in registers.
    for (int x = 0; x < kPart; ++x)
#pragma GCC unroll 4
      for (int g = G - 1; g >= 0; --g) {
        T* row = c + (r + g) * kTile;
        Vector<T> done[V];
        for (int v = 0; v < V; ++v) {
          done[v] = finished<T>(best[g][v], weight[g][v]);
          store(row + v * L, done[v]);
        }
        const T cell = row[x];
#pragma GCC unroll 8
        for (int v = 0; v < V; ++v) {
          // Row x of `columns` holds kUnreachable up to its diagonal, so that final lanes stay what they are.
          add(g, v, load(columns + x * kTile + v * L), cell, column_factor + x);
#pragma GCC unroll 4
          for (int h = 0; h < g; ++h) add(h, v, done[v], rows[(r + h) * kTile + r + g], row_factor + r + g);
          if (kPairs && g > 0) {
            const Vector<T> closed = load(part.score[r + g - 1] + v * L) + cell;
            const Vector<T> least = lesser(closed, best[g - 1][v]);
            best[g - 1][v] = load(kColumn<T> + v * L) == T(x + 1) ? least : best[g - 1][v];
          }
        }
      }
  }
}

template <class T>
void prepare_part(const OpenBlock<T>& block, Part<T>& part) {
  for (int r = 0; r < kPart; ++r)
    for (int x = 0; x < kPart; ++x) {
      T weight = 0;
      if (block.row_weight != nullptr)
        weight = block.row_weight[part.i + r] + block.column_weight[part.j + x];
      if (block.cell_weight != nullptr)
        weight = weight + block.cell_weight[(part.i + r) * kTile + part.j + x];
      part.weight[r][x] = weight;
    }
  const std::int64_t span = block.j + part.j - block.i - part.i;
  if (span == kPart) {  // its corner is a leaf
    block.cells[(part.i + kPart - 1) * kTile + part.j] = block.leaves[part.i + kPart - 1];
    part.weight[kPart - 1][0] = 0;
  }
  if (block.codes == nullptr) return;
  for (int r = 0; r < kPart; ++r) {
    const T* scores = block.scores + block.codes[part.i + r] * block.score_pitch + part.j;
    for (int x = 0; x < kPart; ++x)
      part.score[r][x] = span + x - r >= block.minimum_span ? scores[x] : kUnreachable<T>;
  }
  const auto cell = [&](int r, int x) {
    if (block.i + r == block.j + x) return T(0);  // of nothing
    if (r == block.edge) return block.below[x + 1];
    return x < 0 ? block.left[r - 1] : block.cells[r * kTile + x];
  };
  for (int t = 0; t < kPart; ++t) {
    part.below[t] = cell(part.i + kPart, part.j - 1 + t);
    part.left[t] = cell(part.i + 1 + t, part.j - 1);
  }
}

/// A sub-block on the diagonal, at row and column `first` of a block on the diagonal. Cells of columns that
/// are not live are unreachable.
template <class T>
void finish_diagonal_part(const OpenBlock<T>& block, int first) {
  T* c = block.cells + first * (kTile + 1);
  for (int r = kPart - 1; r >= 0; --r)
    for (int x = 0; x < kPart; ++x) {
      T& cell = c[r * kTile + x];
      cell = kUnreachable<T>;
      if (x == r + 1) cell = block.leaves[first + r];
      if (x <= r + 1 || first + x >= block.live) continue;
      T best = kUnreachable<T>, pair = 0, weight = 0;
      if (block.factors.row != nullptr)
        pair = block.factors.row[first + r] * block.factors.column[first + x] * block.factors.sign;
      for (int k = r + 1; k < x; ++k) {
        T sum = c[r * kTile + k] + c[k * kTile + x];
        if (block.factors.row != nullptr) sum = sum + pair * block.factors.row[first + k];
        if (sum < best) best = sum;
      }
      if (block.codes != nullptr && x - r >= block.minimum_span) {
        const T inner = x - r == 2 ? T(0) : c[(r + 1) * kTile + x - 1];
        const T sum = inner + block.scores[block.codes[first + r] * block.score_pitch + first + x];
        if (sum < best) best = sum;
      }
      if (block.row_weight != nullptr) weight = block.row_weight[first + r] + block.column_weight[first + x];
      if (block.cell_weight != nullptr) weight = weight + block.cell_weight[(first + r) * kTile + first + x];
      const Vector<T> done = finished<T>(Vector<T>{} + best, Vector<T>{} + weight);
      cell = done[0];
    }
}

template <class T, bool kFactors, bool kPairs>
void finish_block(const OpenBlock<T>& block) {
  const int edge = block.edge;
  Part<T> part;
  // c = min(c, a * b), the candidates with k in `depth` points of the block's rows (or columns) from
  // `middle`.
  const auto multiply_part = [&](int i, int j, int columns, const T* a, const T* b, int depth,
                                 const T* middle) {
    BlockFactors<T> p;
    if constexpr (kFactors) p = {block.factors.row + i, middle, block.factors.column + j, block.factors.sign};
    product<T, kFactors>(block.cells + i * kTile + j, a, b, kPart, columns, depth, p, {a, b});
  };
  const auto finish_at = [&](int i, int j) {
    part.i = i;
    part.j = j;
    prepare_part(block, part);
    finish_part<T, kFactors, kPairs>(block, part);
  };
  const T* row_factors = block.factors.row;
  const T* column_factors = block.factors.column;
  if (block.i == block.j) {
    const int live = (std::min(block.live, edge) + kPart - 1) / kPart * kPart;
    for (int i = 0; i < live; i += kPart) finish_diagonal_part(block, i);
    for (int span = kPart; span < live; span += kPart)
      for (int i = 0, j = span; j < live; i += kPart, j += kPart) {
        for (int r = 0; r < kPart; ++r)
          for (int x = 0; x < kPart; ++x)
            block.cells[(i + r) * kTile + j + x] = block.cells[(j + r) * kTile + i + x] = kUnreachable<T>;
        const int k = i + kPart;
        multiply_part(i, j, kPart, block.cells + i * kTile + k, block.cells + k * kTile + j, span - kPart,
                      kFactors ? row_factors + k : nullptr);
        finish_at(i, j);
      }
    return;
  }
  for (int i = edge - kPart; i >= 0; i -= kPart) {
    const int k = i + kPart;
    multiply_part(i, 0, edge, block.rows + i * kTile + k, block.cells + k * kTile, edge - k,
                  kFactors ? row_factors + k : nullptr);
    for (int j = 0; j < edge; j += kPart) {
      multiply_part(i, j, kPart, block.cells + i * kTile, block.columns + j, j, column_factors);
      finish_at(i, j);
    }
  }
}

template <class T>
void finish(const OpenBlock<T>& block) {
  const bool factors = block.factors.row != nullptr, pairs = block.codes != nullptr;
  if (factors && pairs) return finish_block<T, true, true>(block);
  if (factors) return finish_block<T, true, false>(block);
  if (pairs) return finish_block<T, false, true>(block);
  finish_block<T, false, false>(block);
}

// Narrow tiles. The sums of one call are compared before their bases are taken into account.

/// @return whether a sum whose `shift` was cut to kNarrowShift is less than what was there
template <int R, int V>
inline bool multiply_narrow(std::int16_t* c, const std::uint32_t* twice, const std::int16_t* b,
                            std::int32_t shift, const NextOperands<std::int16_t>& next) {
  using Lanes = Vector<std::int16_t>;
  constexpr int L = kLanes<std::int16_t>;
  const Lanes unreachable = Lanes{} + std::int16_t{kNarrowUnreachable};
  Lanes best[R][V];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) best[r][v] = unreachable;
  for (int k = 0; k < kTile; ++k) {
    fetch<std::int16_t, R, V>(next, k);
    Lanes row[V];
    for (int v = 0; v < V; ++v) row[v] = load(b + k * kTile + v * L);
    for (int r = 0; r < R; ++r) {
      const auto a = reinterpret_cast<Lanes>(Vector<std::uint32_t>{} + twice[r * kTile + k]);
      for (int v = 0; v < V; ++v) best[r][v] = lesser<Lanes>(row[v] + a, best[r][v]);
    }
  }
  const auto cut = static_cast<std::int16_t>(shift < kNarrowShift ? shift : kNarrowShift);
  Lanes wins = {};
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) {
      const Lanes sum = best[r][v] + cut, before = load(c + r * kTile + v * L);
      wins |= sum < before;
      store(c + r * kTile + v * L, lesser<Lanes>(sum, before));
    }
  if (shift <= kNarrowShift) return false;
  bool any = false;
  for (int lane = 0; lane < L; ++lane) any |= wins[lane] != 0;
  return any;
}

bool narrow_product(std::int16_t* c, const std::int16_t* a, const std::int16_t* b, int rows,
                    std::int32_t shift, const NextOperands<std::int16_t>& operands) {
  constexpr int R = kVectorBytes == 64 ? 8 : 4, V = 2;
  if (shift < -kNarrowShift) return false;
  // Broadcast as pairs of equal halves: 32 bits are, by the load itself, and 16 are not.
  alignas(64) std::uint32_t twice[kTile * kTile];
  for (int k = 0; k < rows * kTile; ++k) twice[k] = static_cast<std::uint16_t>(a[k]) * 0x10001U;
  NextOperands<std::int16_t> next = operands;
  bool cut_wins = false;
  for (int j = 0; j < kTile; j += V * kLanes<std::int16_t>)
    for (int i = 0; i < rows; i += R) {
      cut_wins |= multiply_narrow<R, V>(c + i * kTile + j, twice + i * kTile, b + j, shift, next);
      next.a += R * V * kLanes<std::int16_t>;
      next.b += R * V * kLanes<std::int16_t>;
    }
  return !cut_wins;
}

void widen(std::int32_t* to, const std::int16_t* from, std::int32_t base) {
  for (int k = 0; k < kTile * kTile; ++k)
    to[k] = from[k] == kNarrowUnreachable ? kUnreachable<std::int32_t> : base + from[k];
}

bool narrow(std::int16_t* to, const std::int32_t* from, std::int32_t base, int columns, bool diagonal) {
  int misfits = base > kLargest<std::int32_t>;
  for (int r = 0; r < kTile; ++r) {
    const int first = diagonal ? r + 1 : 0;
    for (int x = 0; x < kTile; ++x) {
      const std::int32_t above = from[r * kTile + x] - base;
      const bool cell = x >= first && x < columns, fits = above >= -kNarrowLargest && above <= kNarrowLargest;
      misfits |= cell && !fits;
      to[r * kTile + x] = static_cast<std::int16_t>(cell && fits ? above : kNarrowUnreachable);
    }
  }
  return misfits == 0;
}

}  // namespace

extern const CpuBlocks cpu_blocks;
const CpuBlocks cpu_blocks = {{product_of_blocks<std::int32_t>, finish<std::int32_t>},
                              {product_of_blocks<std::int64_t>, finish<std::int64_t>},
                              {product_of_blocks<float>, finish<float>},
                              {product_of_blocks<double>, finish<double>},
                              {narrow_product, widen, narrow}};

}  // namespace warploom::dp::WARPLOOM_INSTRUCTION_SET
