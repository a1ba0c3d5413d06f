#pragma once

/// The wavefront form of the triangular part: see closure.cuh.
///
/// The block is cut into sub-blocks of 16 x 16, which are finished diagonal by diagonal, from the corner
/// nearest to the diagonal of the triangle. A sub-block takes in products of finished sub-blocks; what is
/// left, the recurrence within the sub-block, is done by one warp without barriers: 16 lanes own its rows, 16
/// its columns. In step t they finish the cells whose distances from the bottom row and the first column add
/// up to t. The owner of a cell's row and the owner of its column exchange what they know of it, which is all
/// the communication, and push it on to the cells right of it and above it. A lane keeps the cells that it
/// has yet to finish in registers that move on by one cell a step, so that all are addressed statically.

#include "dp/closure_block.cuh"

namespace warploom::dp {

/// See Closure, of whose finish() these are the two halves. @tparam kThreads  of the thread block
template <class T, Arithmetic kArithmetic, bool kFactors, int kEdge, int kThreads>
class WavefrontClosure : ClosureBlock<T, kArithmetic, kEdge, kThreads> {
  using Block = ClosureBlock<T, kArithmetic, kEdge, kThreads>;
  using Block::inside, Block::with_solution, Block::write;
  using Block::kNarrow, Block::kVector, Block::kPitch;
  using Block::m_, Block::terms_, Block::best_, Block::i_, Block::j_, Block::diagonal_;
  using typename Block::Cells, typename Block::Stored;

  static constexpr int kSub = 16;  // edge of a sub-block
  static constexpr int kSubs = kEdge / kSub;
  static constexpr int kWarps = kThreads / 32;
  static constexpr unsigned kAll = 0xffffffffU;

  // What lies right of the diagonal in the 16 x 16 cells of an operand that a wavefront reads: 15 cells, 14,
  // ..., 0 in the order in which a lane needs them. Lines that follow each other lie in different banks. Of
  // eight bytes a cell, lines p and 15 - p share the room of one.
  struct Operand {
    static constexpr bool kFolded = sizeof(T) == 8;
    static constexpr int kLine = kSub + kVector;
    T cells[(kFolded ? kSub / 2 : kSub) * kLine];

    static __device__ int line(int p) {
      if (!kFolded || p < kSub / 2) return p * kLine;
      return (kSub - 1 - p) * kLine + (p + kVector - 1) / kVector * kVector;
    }
    /// A place for each row and column on the diagonal or below it, such that all are filled that are read
    /// together with others; -1 if there are more than enough.
    static __device__ int gap(int row, int column) {
      if constexpr (!kFolded) return row * kLine + kSub - 1 - column;
      constexpr int kGaps = kLine - (kSub - 1);  // in a line: between the two, and after them
      const int n = row * (row + 1) / 2 + column, first = kSub - 1 - n / kGaps, gap = n % kGaps;
      if (n >= kSub / 2 * kGaps) return -1;
      return n / kGaps * kLine +
             (gap < -first % kVector + kVector * (first % kVector != 0) ? first : kSub - 1) + gap;
    }
  };

 public:
  /// Terms, and the blocks on the diagonal.
  struct alignas(16) Tables {
    Operand left[kSubs], right[kSubs];  // of the diagonal blocks of the block's rows and columns
    T beyond[kSub];                     // what lines are read past their ends, for nothing
    T row_factor[kFactors ? kEdge : 1], column_factor[kFactors ? kEdge : 1];
    T scores[16 * 16];
    std::uint8_t row_code[kEdge], column_code[kEdge];  // the row's times the number of letters
  };

  __device__ WavefrontClosure(const Cells& m, const Terms<T>& terms, std::int64_t i, std::int64_t j,
                              T (*best)[kPitch], Tables& tables)
      : Block(m, terms, i, j, best),
        tables_(tables),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) % 32),
        weighted_(terms.row_weight != nullptr || terms.cell_weight != nullptr),
        pairing_(terms.codes != nullptr) {}

  __device__ void prepare() {
    stage_terms();
    if (!diagonal_)
      stage_operands([this](int row, int column) { return cell(i_ + row, i_ + column); },
                     [this](int row, int column) { return cell(j_ + row, j_ + column); });
  }

  __device__ void run() {
    if (diagonal_) {
      stage_leaves();
      __syncthreads();
      for (int n = warp_; n < kSubs; n += kWarps) finish_triangle(n * kSub);
      __syncthreads();
      stage_operands([this](int row, int column) { return best_[row][column]; },
                     [this](int row, int column) { return best_[row][column]; });
    } else if (pairing_) {
      stage_neighbours();
    }
    __syncthreads();
    for (int d = 0; sub_blocks(d) > 0; ++d) {
      const int count = sub_blocks(d), next_count = d > 0 ? sub_blocks(d + 1) : 0;
      T weights[kWeights];
      if (warp_ < count) load_weights(sub_block(d, warp_), weights);
      if (d > 0) {
        constexpr int kColumns = 2, kAcross = kSub / kColumns;
        for (int n = static_cast<int>(threadIdx.x); n < count * kSub * kAcross; n += kThreads) {
          const Sub sub = sub_block(d, n / (kSub * kAcross));
          multiply<1, kColumns>(sub, n / kAcross % kSub, n % kAcross * kColumns, true);
        }
        __syncthreads();
      }
      for (int item = warp_; item < count + next_count; item += kWarps) {
        if (item < count) {
          const Sub sub = sub_block(d, item);
          if (item != warp_) load_weights(sub, weights);
          finish_sub_block(sub, weights);
        } else {  // while others wait for a few warps: products of what was finished before
          multiply<2, 4>(sub_block(d + 1, item - count), lane_ / 4 * 2, lane_ % 4 * 4, false);
        }
      }
      __syncthreads();
    }
    write();
  }

 private:
  /// A sub-block's first row and column.
  struct Sub {
    int row, column;
  };
  /// The sub-blocks of sub-diagonal d, n = 0, 1, ...
  __device__ int sub_blocks(int d) const {
    return diagonal_ ? max(kSubs - 1 - d, 0) : max(min(d + 1, 2 * kSubs - 1 - d), 0);
  }
  __device__ Sub sub_block(int d, int n) const {
    if (diagonal_) return {n * kSub, (n + 1 + d) * kSub};
    const int column = max(0, d - kSubs + 1) + n;
    return {(kSubs - 1 - d + column) * kSub, column * kSub};
  }

  // --- reading ---

  __device__ T cell(std::int64_t row, std::int64_t column) const {
    const Stored stored = m_.cells[cell_place(row, column)];
    if constexpr (kNarrow) {
      return m_.bases[tile_place(row / kTile, column / kTile)] + stored;
    } else {
      return stored;
    }
  }

  __device__ void stage_terms() {
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (kFactors) {
      for (int n = thread; n < kEdge; n += kThreads) {
        tables_.row_factor[n] = i_ + n < m_.points ? terms_.factors[i_ + n] : T(0);
        tables_.column_factor[n] = inside(n) ? terms_.factors[j_ + n] : T(0);
      }
    }
    if (pairing_) {
      for (int n = thread; n < kEdge; n += kThreads) {
        const bool first = i_ + n < m_.points - 1, last = inside(n) && j_ + n > 0;
        tables_.row_code[n] = first ? static_cast<std::uint8_t>(terms_.codes[i_ + n] * terms_.letters) : 0;
        tables_.column_code[n] = last ? terms_.codes[j_ + n - 1] : 0;
      }
      for (int n = thread; n < terms_.letters * terms_.letters; n += kThreads)
        tables_.scores[n] = terms_.scores[n];
    }
  }

  /// The block on the diagonal before anything is computed: leaves, 0 on the diagonal for pairs that close
  /// around nothing, and the weights of the sub-blocks on the diagonal in the other half of these.
  __device__ void stage_leaves() {
    for (int n = static_cast<int>(threadIdx.x); n < kEdge * kEdge; n += kThreads) {
      const int row = n / kEdge, column = n % kEdge;
      T value = kUnreachable<T>;
      if (row == column) {
        value = 0;
      } else if (column == row + 1) {
        if (inside(column)) value = terms_.leaves[i_ + row];
      } else if (weighted_ && column < row && column / kSub == row / kSub) {
        value = weight(column, row);
      }
      best_[row][column] = value;
    }
  }

  template <class Left, class Right>
  __device__ void stage_operands(Left left, Right right) {
#pragma unroll 4
    for (int n = static_cast<int>(threadIdx.x); n < kSubs * kSub * kSub; n += kThreads) {
      const int sub = n / (kSub * kSub), row = n / kSub % kSub, column = n % kSub;
      if (row < column) {
        const int further = column - row - 1;
        tables_.left[sub].cells[Operand::line(kSub - 1 - column) + further] =
            left(sub * kSub + row, sub * kSub + column);
        tables_.right[sub].cells[Operand::line(row) + further] = right(sub * kSub + row, sub * kSub + column);
      } else if (const int place = Operand::gap(row, column); place >= 0) {
        tables_.left[sub].cells[place] = tables_.right[sub].cells[place] = 0;
      }
    }
    if (threadIdx.x < kSub) tables_.beyond[threadIdx.x] = 0;
  }

  __device__ void stage_neighbours() {
    for (int n = static_cast<int>(threadIdx.x); n < 2 * kEdge - 1; n += kThreads) {
      const bool below = n >= kEdge;
      const std::int64_t row = below ? i_ + kEdge : i_ + 1 + n;
      const std::int64_t column = below ? j_ + n - kEdge : j_ - 1;
      T value = kUnreachable<T>;
      if (row == column) {
        value = 0;
      } else if (row < column && column < m_.points) {
        value = cell(row, column);
      }
      if (below) {
        best_[kEdge][n - kEdge] = value;
      } else {
        best_[n][kPitch - 1] = value;
      }
    }
  }

  __device__ T weight(int row, int column) const {
    const bool none = !inside(column) || i_ + row + 1 == j_ + column;
    // No more than kUnreachable, so that it can be added to a cell without a solution.
    return none ? T(0) : least(terms_.weight(i_ + row, j_ + column), kUnreachable<T>);
  }

  // A lane's share of a sub-block's weights.
  static constexpr int kWeights = kSub * kSub / 32;
  __device__ void load_weights(Sub sub, T (&weights)[kWeights]) const {
    if (!weighted_) return;
#pragma unroll
    for (int n = 0; n < kWeights; ++n)
      weights[n] = weight(sub.row + lane_ / kSub + 2 * n, sub.column + lane_ % kSub);
  }

  // --- products ---

  /// Adds to cells [row, row + kRows) x [column, column + kColumns) of a sub-block the candidates with k in
  /// other sub-blocks: its next neighbours, which are the last that are finished, or all others.
  template <int kRows, int kColumns>
  __device__ void multiply(Sub sub, int row, int column, bool next) {
    row += sub.row;
    column += sub.column;
    const auto shared_left = [&](int r, int k) {
      return *reinterpret_cast<const Pack<T, 4>*>(&best_[row + r][k]);
    };
    const auto shared_right = [&](int k) {
      return *reinterpret_cast<const Pack<T, kColumns>*>(&best_[k][column]);
    };
    Tile<kRows, kColumns> tile(tables_, best_, row, column, terms_.product_sign);
    // k below the sub-block's rows and k left of its columns; both are one range where the block is its own
    // operand.
    if (diagonal_) {
      const int nearest = sub.row + kSub, last = sub.column - kSub;
      if (next) {
        if (nearest < sub.column) tile.add(nearest, tables_.row_factor, shared_left, shared_right);
        if (nearest < last) tile.add(last, tables_.row_factor, shared_left, shared_right);
      } else {
        for (int k = nearest + kSub; k < last; k += kSub)
          tile.add(k, tables_.row_factor, shared_left, shared_right);
      }
    } else {
      const Stored* const a = m_.cells + cell_place(i_ + row, i_);
      const Stored* const b = m_.cells + cell_place(j_, j_ + column);
      const auto left = [&](int r, int k) { return pack<4>(a + r * kTile + k); };
      const auto right = [&](int k) { return pack<kColumns>(b + k * kTile); };
      const int rows = next ? sub.row + kSub : sub.row + 2 * kSub;
      const int rows_end = next ? min(rows + kSub, kEdge) : kEdge;
      for (int k = rows; k < rows_end; k += kSub) tile.add(k, tables_.row_factor, left, shared_right);
      const int columns = next ? max(sub.column - kSub, 0) : 0;
      const int columns_end = next ? sub.column : sub.column - kSub;
      for (int k = columns; k < columns_end; k += kSub)
        tile.add(k, tables_.column_factor, shared_left, right);
    }
    tile.store(best_, row, column);
  }

  template <int kCount>
  static __device__ Pack<T, kCount> pack(const Stored* cells) {
    const auto stored = *reinterpret_cast<const Pack<Stored, kCount>*>(cells);
    Pack<T, kCount> result;
#pragma unroll
    for (int n = 0; n < kCount; ++n) result.cell[n] = stored.cell[n];  // the base of a diagonal tile is 0
    return result;
  }

  template <int kRows, int kColumns>
  struct Tile {
    T best[kRows][kColumns];
    T weight[kFactors ? kRows : 1][kFactors ? kColumns : 1];

    __device__ Tile(const Tables& tables, const T (*best_cells)[kPitch], int row, int column, T sign) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const auto cells = *reinterpret_cast<const Pack<T, kColumns>*>(&best_cells[row + r][column]);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          best[r][c] = cells.cell[c];
          if constexpr (kFactors)
            weight[r][c] = sign * (tables.row_factor[row + r] * tables.column_factor[column + c]);
        }
      }
    }
    /// 16 k from `k` on: left(r, k) four cells of a row, right(k) those of the columns.
    template <class Left, class Right>
    __device__ void add(int k, const T* factors, Left left, Right right) {
#pragma unroll 2
      for (int end = k + kSub; k < end; k += 4) {
        Pack<T, 4> a[kRows];
#pragma unroll
        for (int r = 0; r < kRows; ++r) a[r] = left(r, k);
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          const Pack<T, kColumns> b = right(k + n);
          const T factor = kFactors ? factors[k + n] : T(0);
#pragma unroll
          for (int r = 0; r < kRows; ++r)
#pragma unroll
            for (int c = 0; c < kColumns; ++c)
              best[r][c] = least_candidate<kFactors>(best[r][c], a[r].cell[n], b.cell[c],
                                                     weight[kFactors ? r : 0][kFactors ? c : 0], factor);
        }
      }
    }
    __device__ void store(T (*best_cells)[kPitch], int row, int column) const {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        Pack<T, kColumns> cells;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) cells.cell[c] = best[r][c];
        *reinterpret_cast<Pack<T, kColumns>*>(&best_cells[row + r][column]) = cells;
      }
    }
  };

  // --- the recurrence within a sub-block ---

  /// One warp: the sub-block on the diagonal of the block on the diagonal, span after span.
  __device__ void finish_triangle(int first) {
    const int row = first + lane_;
    for (int span = 2; span < kSub; ++span) {
      if (lane_ + span < kSub) {
        const int column = row + span;
        T best = kUnreachable<T>;
        if (pairing_ && span >= terms_.minimum_span)
          best = best_[row + 1][column - 1] +
                 tables_.scores[tables_.row_code[row] + tables_.column_code[column]];
        [[maybe_unused]] T product_weight = 0;
        if constexpr (kFactors)
          product_weight = terms_.product_sign * (tables_.row_factor[row] * tables_.column_factor[column]);
#pragma unroll 4
        for (int k = row + 1; k < column; ++k)
          best = least_candidate<kFactors>(best, best_[row][k], best_[k][column], product_weight,
                                           tables_.row_factor[kFactors ? k : 0]);
        best_[row][column] = finished(best, weighted_ ? best_[column][row] : T(0));
      }
      __syncwarp();
    }
  }

  /// One warp: a sub-block off the diagonal that has all its products. See the top of this file. Position p
  /// of a lane is the cell of its row or column that it has come to.
  __device__ void finish_sub_block(Sub sub, const T (&weights)[kWeights]) {
    const bool column_owner = lane_ >= kSub;
    const int number = lane_ % kSub;  // of the row from the bottom, or of the column
    const int bottom = sub.row + kSub - 1;
    T* const line = column_owner ? &best_[bottom][sub.column + number] : &best_[bottom - number][sub.column];
    const int step = column_owner ? -kPitch : 1;  // from a position to the next
    const T* const operand =
        column_owner ? tables_.left[sub.row / kSub].cells : tables_.right[sub.column / kSub].cells;

    T next[kSub];  // best candidates of the cells from the lane's position on
#pragma unroll
    for (int n = 0; n < kSub; n += kVector) {
      const auto cells = *reinterpret_cast<const Pack<T, kVector>*>(&best_[bottom - number][sub.column + n]);
#pragma unroll
      for (int v = 0; v < kVector; ++v) next[n + v] = column_owner ? kUnreachable<T> : cells.cell[v];
    }
    const std::int64_t nearest_span = j_ + sub.column - (i_ + bottom);
    if (nearest_span == 1 && lane_ == 0)
      next[0] = inside(sub.column) ? terms_.leaves[i_ + bottom] : kUnreachable<T>;
    if (weighted_) {  // where the candidates were
      __syncwarp();
#pragma unroll
      for (int n = 0; n < kWeights; ++n)
        best_[sub.row + lane_ / kSub + 2 * n][sub.column + lane_ % kSub] = weights[n];
    }
    __syncwarp();

    // With factors: the weights of the products that go to the cells from the position on, and the other
    // factor.
    [[maybe_unused]] T product_weight[kFactors ? kSub : 1] = {};
    if constexpr (kFactors) {
      const T own =
          column_owner ? tables_.column_factor[sub.column + number] : tables_.row_factor[bottom - number];
#pragma unroll
      for (int n = 0; n < kSub; ++n)
        product_weight[n] =
            terms_.product_sign *
            (own * (column_owner ? tables_.row_factor[bottom - n] : tables_.column_factor[sub.column + n]));
    }
    // Of a pair: the score's place is own_code plus the other's code, which is read one position ahead.
    const int own_code =
        column_owner ? tables_.column_code[sub.column + number] : tables_.row_code[bottom - number];
    const std::uint8_t* const codes =
        column_owner ? &tables_.row_code[bottom] : &tables_.column_code[sub.column];
    const int code_step = column_owner ? -1 : 1;
    const int first_pair = static_cast<int>(
        min(max(terms_.minimum_span - nearest_span, std::int64_t{0}), std::int64_t{2 * kSub}));
    int code = 0;

    // Outside the sub-block positions wrap around: what is read there is not used.
    const auto wrapped = [](int p) { return p & (kSub - 1); };
    const auto fetch = [&](int p, int t, Step& into) {
      const T* const from = operand + Operand::line(p);
#pragma unroll
      for (int n = 0; n < kSub; n += kVector) {
        const auto cells = *reinterpret_cast<const Pack<T, kVector>*>(from + n);
#pragma unroll
        for (int v = 0; v < kVector; ++v) into.operand[n + v] = cells.cell[v];
      }
      const T* const place = line + p * step;
      into.weight = weighted_ ? *place : T(0);
      if constexpr (kFactors)
        into.factor = column_owner ? tables_.row_factor[bottom - p] : tables_.column_factor[sub.column + p];
      if (pairing_) {
        into.pair = t >= first_pair ? place[kPitch - 1] + tables_.scores[own_code + code] : kUnreachable<T>;
        code = codes[wrapped(p + 1) * code_step];
      }
    };
    const int others = column_owner ? 0 : kSub;
    T partner = __shfl_sync(kAll, next[0], others + wrapped(-number));
    // Until its first step a lane's cells stay where they are; after its last one nobody reads what it does.
    const auto advance = [&](int t, auto starting, const Step& now, Step& then) {
      const int p = t - number, after = wrapped(p + 1);
      constexpr bool kStarting = decltype(starting)::value;
      const bool started = !kStarting || p >= 0;
      fetch(after, t + 1, then);
      // An integer may be between kLargest and kUnreachable within the sub-block: the sum of a cell without a
      // solution and of terms that are too small to bring it down to kLargest.
      const T known = least_sum(kUnreachable<T>, pairing_ ? least(next[0], now.pair) : next[0], now.weight);
      const T value = least_sum(known, partner, now.weight);
      // First what the next step waits for.
      const T head = least_candidate<kFactors>(next[1], value, now.operand[0],
                                               product_weight[kFactors ? 1 : 0], now.factor);
      if (started) next[0] = head;
      partner = __shfl_sync(kAll, next[0], others + after);
      if (started) {
        if (!column_owner && (kStarting || p < kSub)) line[p] = with_solution(value);
#pragma unroll
        for (int n = 1; n < kSub - 1; ++n) {
          next[n] = least_candidate<kFactors>(next[n + 1], value, now.operand[n],
                                              product_weight[kFactors ? n + 1 : 0], now.factor);
          if constexpr (kFactors) product_weight[n] = product_weight[n + 1];
        }
      }
      __syncwarp();
    };
    Step even, odd;
    code = codes[wrapped(-number) * code_step];
    fetch(wrapped(-number), 0, even);
    __syncwarp();
#pragma unroll 1
    for (int t = 0; t < kSub; t += 2) {
      advance(t, std::true_type{}, even, odd);
      advance(t + 1, std::true_type{}, odd, even);
    }
#pragma unroll 1
    for (int t = kSub; t < 2 * kSub; t += 2) {
      advance(t, std::false_type{}, even, odd);
      advance(t + 1, std::false_type{}, odd, even);
    }
  }
  /// What a lane reads for one position.
  struct Step {
    T operand[kSub];
    T weight, factor, pair;
  };

  Tables& tables_;
  const int warp_, lane_;
  const bool weighted_, pairing_;
};

}  // namespace warploom::dp
