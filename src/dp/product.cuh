#pragma once

/// The rectangular part of a block in registers: a (min, +) matrix product over finished blocks.
///
/// Every thread keeps a grid of accumulators. Chunks of the operands, 64 bytes along k, come through a ring
/// of kStages buffers in shared memory, by asynchronous copies where the device has them; the ring runs on
/// from one block of k to the next. A is read in vectors along k, B in vectors along columns: 12 vectors of
/// 16 bytes for 128 additions with minimum, so that the integer units and not shared memory are the limit.

#include <cuda_pipeline_primitives.h>

#include "dp/device_cells.cuh"

namespace warploom::dp {

/// Rounded by itself, never fused into another operation; integers wrap.
template <class T>
__device__ T sum(T x, T y) {
  if constexpr (std::is_same_v<T, float>) {
    return __fadd_rn(x, y);
  } else if constexpr (std::is_same_v<T, double>) {
    return __dadd_rn(x, y);
  } else {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Bits>(x) + static_cast<Bits>(y));
  }
}
template <class T>
__device__ T product(T x, T y) {
  if constexpr (std::is_same_v<T, float>) {
    return __fmul_rn(x, y);
  } else if constexpr (std::is_same_v<T, double>) {
    return __dmul_rn(x, y);
  } else {
    using Bits = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Bits>(x) * static_cast<Bits>(y));
  }
}

/// What the product does with the words that a thread takes at once.
template <class T, Arithmetic kArithmetic>
struct ProductWord {
  using Word = T;
  static constexpr Word kNone = kUnreachable<T>;
  /// Neighbouring k that share a word.
  static constexpr int kPacked = 1;

  /// min(best, a + b)
  static __device__ Word accumulate(Word best, Word a, Word b) {
    if constexpr (std::is_same_v<T, std::int32_t>) {
      return __viaddmin_s32(a, b, best);
    } else {
      return least(best, a + b);
    }
  }
  static __device__ Word least(Word x, Word y) {
    if constexpr (std::is_same_v<T, float>) {
      return fminf(x, y);
    } else {
      return y < x ? y : x;
    }
  }
  static __device__ T value(Word best) { return best; }
};

/// Two cells of 16 bits, k in the low half and k + 1 in the high one.
template <>
struct ProductWord<std::int32_t, Arithmetic::narrow> {
  using Word = unsigned;
  static constexpr Word kNone = kNarrowUnreachable * 0x10001U;
  static constexpr int kPacked = 2;

  static __device__ Word accumulate(Word best, Word a, Word b) { return __viaddmin_s16x2(a, b, best); }
  static __device__ Word least(Word x, Word y) { return __vmins2(x, y); }
  static __device__ std::int32_t value(Word best) {
    return min(static_cast<std::int16_t>(best & 0xffff), static_cast<std::int16_t>(best >> 16));
  }
};

/// One thread's share of C(i, j) = min over k of A(i, k) + B(k, j) + (p_i * p_j) * p_k, for a block of
/// kEdge x kEdge cells (16, 32, 64; narrow: 64) whose operands are finished cells off the diagonal. All
/// threads of the thread block call each function.
template <class T, Arithmetic kArithmetic, bool kFactors, int kEdge>
class Product {
  using Form = ProductWord<T, kArithmetic>;
  using Word = typename Form::Word;
  using Cells = DeviceCells<T, kArithmetic>;
  using Stored = typename Cells::Stored;
  static constexpr bool kNarrow = Cells::kNarrow;
  static constexpr bool kNonNegative = kArithmetic == Arithmetic::non_negative;
  static_assert(kEdge == 16 || kEdge == 32 || kEdge == 64);
  static_assert(!kNarrow || (kEdge == 64 && !kFactors));

  // A thread's grid of accumulators is as large as registers allow; smaller in small blocks, which are to
  // be done soon rather than at the best rate.
  static constexpr int kRows = kEdge == 64 ? (sizeof(T) == 8 && kFactors ? 4 : 8) : 2;
  static constexpr int kColumns = 4;
  static constexpr int kThreadColumns = kEdge / kColumns;
  static constexpr int kThreadRows = kEdge / kRows;

  static constexpr int kVector = 16 / sizeof(Word);  // words that are copied or loaded at once
  static constexpr int kDepth = 64 / sizeof(Word);   // words along k of a chunk
  static constexpr int kChunk = kDepth * Form::kPacked;
  static constexpr int kSteps = kEdge / kChunk;    // chunks of a block of k
  static constexpr int kPitch = kDepth + kVector;  // of A's rows: eight that follow lie in different banks
  static constexpr int kStages = 3;
  static constexpr int kTogether = kNonNegative ? 2 : 1;  // k of one minimum

  struct alignas(16) Vector {
    Word word[kVector];
  };

 public:
  static constexpr int kThreads = kThreadRows * kThreadColumns;
  /// Thread blocks that a multiprocessor should hold: 512 threads, whose registers are all there are.
  static constexpr int kResident = 512 / kThreads;
  /// Accumulators of a thread block in memory: see save().
  using Accumulator = Word;
  static constexpr int kAccumulators = kEdge * kEdge;

  struct Shared {
    Vector a[kStages][kEdge * kPitch / kVector];
    Vector b[kStages][kDepth * kEdge / kVector];
    T factors[kStages][kFactors ? kChunk : 1];
  };

  /// Every accumulator: unreachable.
  __device__ void reset() {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int c = 0; c < kColumns; ++c) best_[r][c] = Form::kNone;
  }

  /// Every accumulator: value(row, column), see each(). Not narrow.
  template <class Value>
  __device__ void start(Value value) {
    static_assert(!kNarrow);
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int c = 0; c < kColumns; ++c) best_[r][c] = value(row(r), column(c / kVector) + c % kVector);
  }

  /// Adds the candidates of the blocks of k that begin at order(0), ..., order(blocks - 1). Before it reads
  /// the operands of a block it calls ready(k) in every thread, which may wait, and which orders the reads
  /// that follow. Begins and ends with a barrier, so that `shared` may be used for something else in
  /// between.
  /// @param i, j  the block's first cell, multiples of kEdge, j below the number of points
  /// @param base  narrow: of C's tile. Where a block's two operands have bases whose sum is further than
  ///              kNarrowShift from it, sums might not fit 16 bits: m.overflow is set, the result is
  ///              worthless.
  template <class Order, class Ready>
  __device__ void run(const Cells& m, const Terms<T>& terms, std::int64_t i, std::int64_t j,
                      std::int64_t blocks, Order order, Ready ready, std::int32_t base, Shared& shared) {
    if (blocks <= 0) return;
    [[maybe_unused]] T weights[kFactors ? kRows : 1][kFactors ? kColumns : 1];
    if constexpr (kFactors) load_weights(terms, i, j, weights);
    Source source;
    const int chunks = static_cast<int>(blocks) * kSteps;
    int loaded = 0, load_stage = 0;
    const auto load_next = [&] {
      if (loaded < chunks) {
        if (loaded % kSteps == 0) {
          const std::int64_t k = order(loaded / kSteps);
          ready(k);
          source.open(m, terms, i, k, j);
        }
        load(source, loaded % kSteps, load_stage, shared);
      }
      ++loaded;
      load_stage = load_stage + 1 == kStages ? 0 : load_stage + 1;
      __pipeline_commit();  // a group even if it is empty, so that the wait below counts right
    };
    __syncthreads();
    for (int n = 0; n < kStages - 1; ++n) load_next();
    [[maybe_unused]] std::int32_t shift = 0;
    int stage = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      __pipeline_wait_prior(kStages - 2);
      if constexpr (kNarrow) {
        static_assert(kStages - 1 <= kSteps);  // no later block has been opened
        if (chunk % kSteps == 0) shift = shift_between(source, base, m.overflow);
        pair_rows(shared.b[stage], shift);
      }
      __syncthreads();  // the chunk is there for all, and nobody reads the one before it
      load_next();
      add_chunk(shared.a[stage], shared.b[stage], shared.factors[stage], weights);
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    __syncthreads();
  }

  /// visit(row, column, value) for each of the thread's accumulators: place within the block, value a T
  /// (narrow: above the base, at most kNarrowUnreachable).
  template <class Visit>
  __device__ void each(Visit visit) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        visit(row(r), column(c / kVector) + c % kVector, Form::value(best_[r][c]));
  }

  /// Accumulators to and from memory, kAccumulators of a thread block: merge() takes the minimum.
  __device__ void save(Accumulator* memory) const {
#pragma unroll
    for (int n = 0; n < kRows * kColumns; ++n)
      memory[n * kThreads + threadIdx.x] = best_[n / kColumns][n % kColumns];
  }
  __device__ void merge(const Accumulator* memory) {
#pragma unroll
    for (int n = 0; n < kRows * kColumns; ++n) {
      Word& best = best_[n / kColumns][n % kColumns];
      best = Form::least(best, __ldcg(memory + n * kThreads + threadIdx.x));
    }
  }

 private:
  /// The operands of one block of k.
  struct Source {
    const Stored* a = nullptr;
    const Stored* b = nullptr;
    const T* factors = nullptr;
    std::int32_t base_a = 0, base_b = 0;

    __device__ void open(const Cells& m, const Terms<T>& terms, std::int64_t i, std::int64_t k,
                         std::int64_t j) {
      a = m.cells + cell_place(i, k);
      b = m.cells + cell_place(k, j);
      if constexpr (kFactors) factors = terms.factors + k;
      if constexpr (kNarrow) {
        base_a = __ldcg(m.bases + tile_place(i / kTile, k / kTile));
        base_b = __ldcg(m.bases + tile_place(k / kTile, j / kTile));
      }
    }
  };

  // Neighbouring rows and vectors of columns belong to neighbouring threads: no bank conflicts.
  static __device__ int row(int r) {
    return static_cast<int>(threadIdx.x) / kThreadColumns + kThreadRows * r;
  }
  static __device__ int column(int vector) {
    return (static_cast<int>(threadIdx.x) % kThreadColumns + kThreadColumns * vector) * kVector;
  }

  static __device__ void load_weights(const Terms<T>& terms, std::int64_t i, std::int64_t j,
                                      T (&weights)[kRows][kColumns]) {
    const auto factor = [&](std::int64_t point) {
      return point < terms.points ? terms.factors[point] : T(0);
    };
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        weights[r][c] = product(terms.product_sign,
                                product(factor(i + row(r)), factor(j + column(c / kVector) + c % kVector)));
  }

  static __device__ void load(const Source& source, int step, int stage, Shared& shared) {
    constexpr int kCells = 16 / sizeof(Stored);                              // of a vector
    constexpr int kAParts = kChunk / kCells, kBParts = kEdge / kCells;       // vectors of a row
    constexpr int kARows = kThreads / kAParts, kBRows = kThreads / kBParts;  // that are copied at once
    const int thread = static_cast<int>(threadIdx.x);
    {
      const int row = thread / kAParts, part = thread % kAParts;
      const Stored* from = source.a + step * kChunk + row * kTile + part * kCells;
      Vector* to = shared.a[stage] + row * (kPitch / kVector) + part;
#pragma unroll
      for (int r = 0; r < kEdge; r += kARows)
        __pipeline_memcpy_async(to + r * (kPitch / kVector), from + r * kTile, 16);
    }
    {
      // Narrow: the same part of two rows side by side, for pair_rows().
      const int row = thread / kBParts * Form::kPacked, part = thread % kBParts;
      const Stored* from = source.b + (step * kChunk + row) * kTile + part * kCells;
      Vector* to = shared.b[stage] + thread * Form::kPacked;
#pragma unroll
      for (int r = 0; r < kChunk; r += kBRows * Form::kPacked)
#pragma unroll
        for (int n = 0; n < Form::kPacked; ++n)
          __pipeline_memcpy_async(to + r * kBParts + n, from + (r + n) * kTile, 16);
    }
    if constexpr (kFactors) {
      if (thread < kChunk)
        __pipeline_memcpy_async(&shared.factors[stage][thread], source.factors + step * kChunk + thread,
                                sizeof(T));
    }
  }

  static __device__ std::int32_t shift_between(const Source& source, std::int32_t base, int* overflow) {
    const std::int32_t shift = source.base_a + source.base_b - base;
    const std::int32_t clamped = min(max(shift, -kNarrowShift), kNarrowShift);
    if (shift != clamped && threadIdx.x == 0) atomicExch(overflow, 1);
    return clamped;
  }

  /// In place: of rows 2k and 2k + 1, which this thread has copied, words of (2k, 2k + 1), shifted.
  static __device__ void pair_rows(Vector* b, std::int32_t shift) {
    constexpr unsigned kNoBound = 0x7fff7fffU;  // as one instruction adds with a minimum, and none adds alone
    const unsigned shifts = __byte_perm(static_cast<unsigned>(shift), 0, 0x1010);
#pragma unroll
    for (int n = 0; n < kEdge * kDepth / kVector / 2 / kThreads; ++n) {
      const int v = 2 * (static_cast<int>(threadIdx.x) + n * kThreads);
      const Vector even = b[v], odd = b[v + 1];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Vector pairs;
#pragma unroll
        for (int w = 0; w < kVector; ++w) {
          const int from = 2 * half + w / 2;
          const unsigned pair = __byte_perm(even.word[from], odd.word[from], w % 2 == 0 ? 0x5410 : 0x7632);
          pairs.word[w] = __viaddmin_s16x2(pair, shifts, kNoBound);
        }
        b[v + half] = pairs;
      }
    }
  }

  template <class Weights>
  __device__ void add_chunk(const Vector* a, const Vector* b, const T* factors, const Weights& weights) {
#pragma unroll 2  // all four would make registers spill
    for (int k = 0; k < kDepth; k += kVector) {
      Vector left[kRows];
#pragma unroll
      for (int r = 0; r < kRows; ++r) left[r] = a[row(r) * (kPitch / kVector) + k / kVector];
#pragma unroll
      for (int w = 0; w < kVector; w += kTogether) {
        Vector right[kTogether][kColumns / kVector];
#pragma unroll
        for (int t = 0; t < kTogether; ++t)
#pragma unroll
          for (int v = 0; v < kColumns / kVector; ++v)
            right[t][v] = b[((k + w + t) * kEdge + column(v)) / kVector];
#pragma unroll
        for (int r = 0; r < kRows; ++r)
#pragma unroll
          for (int c = 0; c < kColumns; ++c) {
            Word& best = best_[r][c];
            const auto a_word = [&](int t) { return left[r].word[w + t]; };
            const auto b_word = [&](int t) { return right[t][c / kVector].word[c % kVector]; };
            const auto weight = [&](int t) { return product(weights[r][c], factors[k + w + t]); };
            const auto candidate = [&](int t) {
              const T unweighted = sum(a_word(t), b_word(t));
              if constexpr (kFactors) return sum(unweighted, weight(t));
              return unweighted;
            };
            if constexpr (kNonNegative) {
              best = __int_as_float(__vimin3_s32(__float_as_int(best), __float_as_int(candidate(0)),
                                                 __float_as_int(candidate(1))));
            } else if constexpr (!kFactors) {
              best = Form::accumulate(best, a_word(0), b_word(0));
            } else if constexpr (std::is_integral_v<T>) {  // in any order
              best = Form::accumulate(best, sum(a_word(0), weight(0)), b_word(0));
            } else {
              best = Form::least(best, candidate(0));
            }
          }
      }
    }
  }

  Word best_[kRows][kColumns];
};

}  // namespace warploom::dp
