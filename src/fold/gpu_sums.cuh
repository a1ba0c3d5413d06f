#pragma once

#include <type_traits>

#include "fold/gpu_loops.cuh"
#include "fold/gpu_sums.hpp"
#include "warploom/core/device_atomics.cuh"

/// What the kernels inside and outside share. The way from outside is that from inside, mirrored: rows go up
/// from a strip's last, columns go back from the last, and loops are met by their inner pair. So rows are
/// counted here in the direction that loops reach to (`q`, 0 is the farthest from where the next strip lies),
/// and columns as they come (`y`); a base's neighbour d away in these directions is P_d or Q_d.
namespace warploom::fold::gpu {

constexpr unsigned kAllLanes = ~0U;
constexpr int kNarrow = kStripRows + 8;      // rows that loops of one side reach
constexpr int kWhole = kStripRows + kBelow;  // that the others do
constexpr int kTogether = kTileColumns;      // steps of a product under one power of two
constexpr int kLeastApart = 4;               // j - i of a pair at least

/// Columns that interior loops reach back to: what a pair weighs with each kind of loop.
struct SumRings {
  double end[32][kNarrow], one_n[32][kNarrow], interior[32][kNarrow];  // of loops that reach far back
  double wide_end[2][kWhole], wide_one_n[4][kWhole], wide_interior[4][kWhole];  // that reach far along
  double two_three[8][kNarrow], pair[4][kNarrow];
  double generic[2][2][28];  // of the row behind a warp's last
  double split[2][kStripRows + 2];
};
struct SumShared {
  SumRings rings;
  double sums[kTileColumns + 1][kStripRows];  // by column: a product, then what it has become
  double near[kTileColumns][kTileColumns];
  double column[kStripRows], partial[2][kStripRows], last[kStripRows];
  double one[2], top;
  int seen, task, far_exponents[kFarTiles];
  std::uint8_t codes[kTileColumns + 8];  // from four columns before the tile on
};
struct OutsideShared : SumShared {
  double stems[kTileColumns][kStripRows], worths[kTileColumns];  // of the columns as the end of all pairs
};

static_assert(sizeof(OutsideShared) <= 113 * 1024);  // two blocks of a multiprocessor

/// 2^exponent, 0 or infinite where a double has no such number.
__device__ inline double power_of_two(std::int64_t exponent) {
  if (exponent < -1022) return 0;
  return __hiloint2double(static_cast<int>(min(exponent, std::int64_t{1024}) + 1023) << 20, 0);
}
/// Of a positive number.
__device__ inline int exponent_of(double number) { return (__double2hiint(number) >> 20) - 1023; }

/// A product of blocks by a warp: 32 rows, 32 columns.
struct Products {
  double sum[4][4][2] = {};
  __device__ void add(const double (&a)[4], const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
    // Two of the other in one.
#pragma unroll
    for (int x = 0; x < 4; x += 2)
#pragma unroll
      for (int y = 0; y < 4; ++y)
        asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+d"(sum[x][y][0]), "+d"(sum[x][y][1]), "+d"(sum[x + 1][y][0]), "+d"(sum[x + 1][y][1])
            : "d"(a[x]), "d"(a[x + 1]), "d"(b[y]));
#else
#pragma unroll
    for (int x = 0; x < 4; ++x)
#pragma unroll
      for (int y = 0; y < 4; ++y)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sum[x][y][0]), "+d"(sum[x][y][1])
            : "d"(a[x]), "d"(b[y]));
#endif
  }
};

template <bool kOutside>
class SumStrip {
 public:
  using Shared = std::conditional_t<kOutside, OutsideShared, SumShared>;
  using Ring = std::conditional_t<kOutside, OuterSums, InnerSums>;    // what a pair gives to loops
  using Result = std::conditional_t<kOutside, InnerSums, OuterSums>;  // what it takes from them

  __device__ SumStrip(const SumLaunch& launch, const Task& task, Shared& shared)
      : l_(launch),
        shared_(shared),
        s_(launch.sequences[task.sequence]),
        t_(kOutside ? task.strip : s_.strips - 1 - task.strip),
        first_(1 + t_ * kStripRows),
        q_(static_cast<int>(threadIdx.x) % kStripRows),
        // Of lane 0, so that the compiler knows that a warp does not diverge by them.
        half_(__shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / kStripRows, 0)),
        lane_(static_cast<int>(threadIdx.x) % 32),
        warp_(__shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / 32, 0)),
        r_(kOutside ? kStripRows - 1 - q_ : q_),
        i_(first_ + r_),
        codes_(launch.codes + s_.codes),
        marks_(launch.marks == nullptr ? nullptr : launch.marks + s_.codes),
        exponents_(launch.exponents + s_.exponents),
        handed_(launch.handed + s_.columns),
        far_(s_.turned >= 0 ? launch.far + blockIdx.x * kFarCells : nullptr),
        own_(s_.cells + panel_cell(s_.n, first_, first_) - std::int64_t{first_} * kStripRows) {
    constexpr int kWay = kOutside ? -1 : 1;
#pragma unroll
    for (int d = -1; d <= 3; ++d) p_[d + 1] = code(i_ + kWay * d);
    const int beyond = kOutside ? first_ - 1 - lane_ : first_ + kStripRows + lane_;
    beyond_[0] = code(beyond), beyond_[1] = code(beyond - kWay);
    base_ = launch.tables->base_power[1];
    beside_ = launch.tables->base_power[kStripRows - q_];
    in_warp_ = launch.tables->base_power[32 - lane_];
    pairs_with_ = launch.tables->pairs_with[p_[1]];
  }

 protected:
  __device__ int code(int k) const { return codes_[max(0, min(k, s_.n + 1))]; }
  __device__ int exponent(int strip, int tile) const {
    return __ldcg(exponents_ + std::int64_t{strip} * s_.tiles + tile);
  }
  /// Row 0 of a column of a strip, in any of the panels.
  __device__ std::int64_t panel(int strip, int j) const {
    return s_.cells + panel_of(s_.n, strip) + std::int64_t{j - 1 - strip * kStripRows} * kStripRows;
  }
  __device__ std::int64_t own(int j) const { return own_ + std::int64_t{j} * kStripRows; }
  /// Rows 1 to 4 of a column of what is turned.
  __device__ std::int64_t turned(int j) const {
    return s_.turned + turned_of(tile_of(j)) + (j - 1) % kTileColumns * kTurnedRows;
  }
  /// This thread's row; what lies below the diagonal has no place.
  __device__ void put_turned(double* to, int j, double value) const {
    if (i_ <= j)
      to[turned(j) + (i_ - 1) / kTurnedRows * (kTileColumns * kTurnedRows) + (i_ - 1) % kTurnedRows] = value;
  }
  __device__ static int tile_of(int j) { return (j - 1) / kTileColumns; }
  __device__ static int strip_of(int i) { return (i - 1) / kStripRows; }
  __device__ int step(int j) const { return kOutside ? s_.n - j : j; }

  __device__ void clear() {
    auto* const words = reinterpret_cast<double*>(&shared_.rings);
    for (int k = static_cast<int>(threadIdx.x); k < static_cast<int>(sizeof(SumRings) / sizeof(double));
         k += kSumThreads)
      words[k] = 0;
#pragma unroll
    for (double& g : generic_) g = 0;
#pragma unroll
    for (double& m : own_m_) m = 0;
    if (threadIdx.x < 2) shared_.one[threadIdx.x] = 0;
    if (half_ == 0) shared_.last[q_] = shared_.column[q_] = 0;
    __syncthreads();
  }

  /// What is carried from the tile before, in this one's power of two.
  __device__ void rescale(double factor) {
    auto* const words = reinterpret_cast<double*>(&shared_.rings);
    for (int k = static_cast<int>(threadIdx.x); k < static_cast<int>(sizeof(SumRings) / sizeof(double));
         k += kSumThreads)
      words[k] *= factor;
#pragma unroll
    for (double& g : generic_) g *= factor;
    m1_ *= factor;
  }

  /// Waits until a strip has done so many tiles. False: the batch is to stop.
  __device__ bool wait(const std::uint32_t* done, int tiles) {
    if (threadIdx.x == 0) {
      bool stop = load_relaxed(l_.stop) != 0;
      while (done != nullptr && !stop && static_cast<int>(load_relaxed(done)) < tiles)
        stop = load_relaxed(l_.stop) != 0;
      fence_acq_rel();
      if (stop) store_relaxed(l_.stopped, 1);
      shared_.seen = stop ? 0 : 1;
    }
    __syncthreads();
    const bool go = shared_.seen != 0;
    __syncthreads();
    return go;
  }

  /// The strip next to this one has column j.
  __device__ bool has_next(int j) const {
    return kOutside ? t_ > 0 : t_ + 1 < s_.strips && j >= first_ + kStripRows;
  }
  __device__ bool is_next() const { return kOutside ? t_ + 1 < s_.strips : t_ > 0; }

  /// What that hands on of a column, on its way while the one before is computed: its rows in warp 2, the
  /// rest in warp 3.
  __device__ void fetch(int j) {
    ahead_ = 0;
    if (warp_ < 2 || !has_next(j) || (warp_ == 3 && lane_ > 28)) return;
    ahead_ = __ldcg(reinterpret_cast<const double*>(handed_ + j) + (warp_ - 2) * 32 + lane_);
  }
  __device__ void take(int y, const int (&q)[5]) {
    if (warp_ < 2) return;
    const double value = ahead_ * from_next_;
    if (warp_ == 2) {
      remember(y, kStripRows + lane_, value, given(ring_at(q, beyond_[0], beyond_[1])));
    } else if (lane_ < 27) {
      shared_.rings.generic[y & 1][1][lane_] = value;
    } else if (lane_ == 27) {
      shared_.one[y & 1] = value;
    } else if (lane_ == 28) {
      shared_.rings.split[y & 1][kStripRows] = value;
    }
  }

  /// What a pair gives to loops of each kind.
  struct Given {
    double end = 0, one_n = 0, interior = 0, two_three = 0;
  };
  __device__ static int ring_at(const int (&q)[5], int p0, int before) {
    return quad(q[1], q[0], p0, before);
  }
  __device__ Given given(int at) const {
    const Ring& ring = ring_table();
    return {ring.end[at], ring.interior_1n[at], ring.interior[at], ring.interior_23[at]};
  }
  __device__ const Ring& ring_table() const {
    if constexpr (kOutside)
      return l_.tables->outer;
    else
      return l_.tables->inner;
  }
  /// What it takes from those of this thread: bulges and loops with one base on a side, or all others.
  __device__ int result_at(const int (&q)[5]) const { return quad(q[1], q[2], p_[1], p_[2]); }
  __device__ const Result& result_table() const {
    if constexpr (kOutside)
      return l_.tables->inner;
    else
      return l_.tables->outer;
  }
  __device__ double first_kind(int at) const {
    return (half_ == 0 ? result_table().end : result_table().interior)[at];
  }
  __device__ double second_kind(int at) const {
    return (half_ == 0 ? result_table().interior_1n : result_table().interior_23)[at];
  }
  /// The bases about a tile's columns; all threads call.
  __device__ void load_codes(int begin) {
    if (const int k = static_cast<int>(threadIdx.x); k < kTileColumns + 8)
      shared_.codes[k] = static_cast<std::uint8_t>(code(begin - 4 + k));
  }
  /// About column j of the tile, from that before it on.
  __device__ void bases_of(int j, int (&q)[5]) const {
    constexpr int kWay = kOutside ? 1 : -1;
    const int at = (j - 1) % kTileColumns + 4;
#pragma unroll
    for (int d = -1; d <= 3; ++d) q[d + 1] = shared_.codes[at + kWay * d];
  }

  /// A pair becomes one of those before.
  __device__ void remember(int y, int row, double x, const Given& to) {
    SumRings& rings = shared_.rings;
    const double end = x * to.end, one_n = x * to.one_n, interior = x * to.interior;
    if (row < kNarrow) {
      rings.end[y & 31][row] = end, rings.one_n[y & 31][row] = one_n, rings.interior[y & 31][row] = interior;
      rings.two_three[y & 7][row] = x * to.two_three, rings.pair[y & 3][row] = x;
    }
    rings.wide_end[y & 1][row] = end, rings.wide_one_n[y & 3][row] = one_n,
                       rings.wide_interior[y & 3][row] = interior;
  }

  /// Bulges and loops with one base on a side; the first half's.
  __device__ double thin_loops(int y, double of_bulges, double of_one_n) const {
    const SumRings& rings = shared_.rings;
    double bulge[2] = {}, one_n[2] = {};  // two sums each: one after another takes long
    const double *along = rings.wide_end[(y - 1) & 1] + q_ + 1,
                 *along_one = rings.wide_one_n[(y - 2) & 3] + q_;
#pragma unroll
    for (int u = 2; u <= kMaxLoop; ++u)
      bulge[u % 2] += l_.sizes.bulge[u] * (along[u] + rings.end[(y - 1 - u) & 31][q_ + 1]);
#pragma unroll
    for (int u = 4; u <= kMaxLoop; ++u)
      one_n[u % 2] += l_.sizes.one_n[u] * (along_one[u] + rings.one_n[(y - u) & 31][q_ + 2]);
    return (bulge[0] + bulge[1]) * of_bulges + (one_n[0] + one_n[1]) * of_one_n;
  }
  /// What stacks and bulges of one base weigh, or loops that a table has whole, by half of the block: asked
  /// for before what does not need them. 0 where there is no pair.
  struct Few {
    double first = 0, second = 0, third = 0, fourth = 0;
  };
  __device__ Few few(bool pairs, const int (&q)[5]) const {
    const SumTables& t = *l_.tables;
    Few w;
    if (!pairs) return w;
    if (half_ == 0) {
      w.first = t.outer.stack[kOutside ? quad(q[2], q[1], p_[2], p_[1]) : quad(q[1], q[2], p_[1], p_[2])];
      w.second = t.bulge_one[kOutside ? quad(q[2], q[1], p_[3], p_[1]) : quad(q[1], q[2], p_[1], p_[3])];
      w.third = t.bulge_one[kOutside ? quad(q[3], q[1], p_[2], p_[1]) : quad(q[1], q[3], p_[1], p_[2])];
      return w;
    }
    const int r3 = kOutside ? triple(q[3], q[2], q[1]) : triple(q[1], q[2], q[3]);
    const int r4 = kOutside ? quad(q[4], q[3], q[2], q[1]) : quad(q[1], q[2], q[3], q[4]);
    const int l3 = kOutside ? triple(p_[3], p_[2], p_[1]) : triple(p_[1], p_[2], p_[3]);
    const int l4 = kOutside ? quad(p_[4], p_[3], p_[2], p_[1]) : quad(p_[1], p_[2], p_[3], p_[4]);
    w.first = t.one_one[r3][l3], w.second = t.one_two[r4][l3];
    w.third = t.two_one[r3][l4], w.fourth = t.two_two[r4][l4];
    return w;
  }
  __device__ double few_loops(int y, const Few& w) const {
    const auto& pair = shared_.rings.pair;
    const auto &second = pair[(y - 2) & 3], &other = pair[(half_ == 0 ? y - 1 : y - 3) & 3];
    return half_ == 0 ? other[q_ + 1] * w.first + other[q_ + 2] * w.second + second[q_ + 1] * w.third
                      : second[q_ + 2] * w.first + other[q_ + 2] * w.second + second[q_ + 3] * w.third +
                            other[q_ + 3] * w.fourth;
  }
  /// Loops with two bases on each side at least; the second half's, all of its threads call.
  __device__ double thick_loops(int y, double of_generic, double of_two_three) {
    const SumRings& rings = shared_.rings;
    double generic[2] = {};
    const double* const along = rings.wide_interior[(y - 3) & 3] + q_ - 1;
    const auto& behind = rings.generic[(y - 1) & 1][warp_ - 2];
    // In place: u from above, so that u - 2 is still that of the column before.
#pragma unroll
    for (int u = kMaxLoop; u >= 4; --u) {
      double g = along[u];
      if (u > 4) g += rings.interior[(y - u + 1) & 31][q_ + 3];  // two bases on each side are one loop
      g *= l_.sizes.asymmetry[u - 4];
      if (u >= 6) {
        const double carried = __shfl_down_sync(kAllLanes, generic_[u - 6], 1);
        g += lane_ == 31 ? behind[u - 6] : carried;
        generic[u / 2 % 2] += l_.sizes.interior[u] * g;
      }
      generic_[u - 4] = g;
    }
    const double two_three =
        l_.sizes.two_three * (rings.two_three[(y - 3) & 7][q_ + 4] + rings.two_three[(y - 4) & 7][q_ + 3]);
    return (generic[0] + generic[1]) * of_generic + two_three * of_two_three;
  }
  /// Of M between the strip's own rows with what the column has of the rows.
  __device__ double own_rows() const {
    double sum[4] = {};
#pragma unroll
    for (int x = 0; x < 32; ++x) sum[x % 4] += own_m_[x] * shared_.column[32 * half_ + x];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
  /// For the warp before, or the strip.
  __device__ void hand_generic(int y, int j) {
    if (lane_ != 0) return;
    if (warp_ == 3) {
#pragma unroll
      for (int u = 0; u < 27; ++u) shared_.rings.generic[y & 1][0][u] = generic_[u];
    } else if (is_next()) {
#pragma unroll
      for (int u = 0; u < 27; ++u) handed_[j].generic[u] = generic_[u];
    }
  }

  /// The sum over this row and those behind it in the warp, each weighed by what unpaired bases between
  /// weigh.
  __device__ double with_those_behind(double y) const {
    double weight = base_;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const double other = __shfl_down_sync(kAllLanes, y, step);
      if (lane_ + step < 32) y += weight * other;
      weight *= weight;
    }
    return y;
  }
  /// That of all rows behind, of the strip next to this one, too. The second warp's is `top`.
  __device__ double with_all_behind(double y, int at) const {
    return y + (warp_ == 0 ? in_warp_ * shared_.top : 0) + beside_ * shared_.one[at & 1];
  }

  /// Both halves of the block have summed some steps of a product.
  __device__ void put(const Products& products, double (*to)[kStripRows]) {
    const int slice = warp_ / 2, row = 32 * (warp_ % 2) + lane_ / 4, column = lane_ % 4 * 2;
    for (int turn = 1; turn >= 0; --turn) {
      if (slice == turn) {
#pragma unroll
        for (int x = 0; x < 4; ++x)
#pragma unroll
          for (int y = 0; y < 4; ++y)
#pragma unroll
            for (int k = 0; k < 2; ++k) {
              double& cell = to[8 * y + column + k][row + 8 * x];
              cell = turn == 1 ? products.sum[x][y][k] : cell + products.sum[x][y][k];
            }
      }
      __syncthreads();
    }
  }

  static constexpr int kSlices = 2;  // of a product's length

  /// A long product wants the registers of all else, which is put away.
  __device__ void put_away() const {
    double* const to = far_ + 2 * kFarProduct + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 32; ++k) to[k * kSumThreads] = own_m_[k];
#pragma unroll
    for (int k = 0; k < 27; ++k) to[(32 + k) * kSumThreads] = generic_[k];
    static_assert(32 + 27 <= kAwayNumbers);
    asm volatile("" ::: "memory");  // or the compiler keeps them all the same
  }
  __device__ void take_back() {
    asm volatile("" ::: "memory");
    const double* const from = far_ + 2 * kFarProduct + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 32; ++k) own_m_[k] = from[k * kSumThreads];
#pragma unroll
    for (int k = 0; k < 27; ++k) generic_[k] = from[(32 + k) * kSumThreads];
  }
  /// Adds all steps of a product, of which kSteps under one power of two are a piece: what a step needs is
  /// on its way while the one before is multiplied.
  /// @param load       (step, left, right)
  /// @param powers_of  (piece), of which apply(powers, step of the piece, left, right) makes factors
  template <int kSteps, class Load, class PowersOf, class Apply>
  __device__ static void multiply_along(int pieces, const Load& load, const PowersOf& powers_of,
                                        const Apply& apply, Products (&products)[2]) {
    static_assert(kSteps % 2 == 0);
    if (pieces <= 0) return;
    const int last = pieces * kSteps - 1;
    double left[8], right[4], next_left[8], next_right[4];
    load(0, left, right);
    auto coming = powers_of(0);
    for (int piece = 0; piece < pieces; ++piece) {
      const auto powers = coming;
      coming = powers_of(min(piece + 1, pieces - 1));
#pragma unroll 1
      for (int x = 0; x < kSteps; x += 2) {
        const int step = piece * kSteps + x;
        load(step + 1, next_left, next_right);
        apply(powers, x, left, right);
        add(products, left, right);
        load(min(step + 2, last), left, right);
        apply(powers, x + 1, next_left, next_right);
        add(products, next_left, next_right);
      }
    }
  }

  /// All rows of a strip.
  __device__ static void add(Products (&products)[2], const double (&left)[8], const double (&right)[4]) {
    const double first[4] = {left[0], left[1], left[2], left[3]},
                 second[4] = {left[4], left[5], left[6], left[7]};
    products[0].add(first, right), products[1].add(second, right);
  }

  /// A warp has summed one of the tiles that come.
  __device__ void put_far(const Products (&products)[2], double* to) const {
    const int row = lane_ / 4, column = warp_ * kTileColumns + lane_ % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int x = 0; x < 4; ++x)
#pragma unroll
        for (int y = 0; y < 4; ++y)
#pragma unroll
          for (int k = 0; k < 2; ++k)
            to[(column + 8 * y + k) * kStripRows + row + 8 * x + 32 * half] = products[half].sum[x][y][k];
  }
  /// Of a tile, when all have put theirs.
  __device__ void take_far(const double* from, int tile, double factor, double (*to)[kStripRows]) const {
    from += tile % kFarTiles * kTileColumns * kStripRows;
    for (int k = static_cast<int>(threadIdx.x); k < kTileColumns * kStripRows; k += kSumThreads) {
      to[k / kStripRows][k % kStripRows] += from[k] * factor;
    }
    __syncthreads();
  }

  const SumLaunch& l_;
  Shared& shared_;
  const SumSequence s_;
  const int t_, first_, q_, half_, lane_, warp_, r_, i_;
  const std::uint8_t* codes_;
  const Mark* marks_;
  std::int32_t* exponents_;
  HandedSums* handed_;
  double* far_;  // null: the sequence is short
  std::int64_t own_;
  int p_[5], beyond_[2];
  unsigned pairs_with_;  // bits: the bases that this row's pairs with
  double base_, beside_, in_warp_;
  double from_next_ = 0, ahead_ = 0;
  double m1_ = 0;       // of the column before
  double generic_[27];  // of 4 to 30 bases, of the column before; the second half's
  double own_m_[32];    // of M between the strip's own rows
};

/// Blocks take strips in such an order that what they wait for has been taken.
template <class Strip>
__device__ void take_strips(const SumLaunch& launch, std::uint32_t* next, typename Strip::Shared& shared) {
  for (;;) {
    if (threadIdx.x == 0) shared.task = static_cast<int>(atomicAdd(next, 1U));
    __syncthreads();
    const int task = shared.task;
    __syncthreads();
    if (task >= launch.task_count) return;
    Strip(launch, launch.tasks[task], shared).run();
    __syncthreads();
  }
}

}  // namespace warploom::fold::gpu
