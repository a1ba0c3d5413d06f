// B, M1 and M of many sequences, summed over all structures: partition.cpp, with a thread block a strip. In a
// column a row has two threads: what depends on columns before is summed by kinds of loops, splits by halves.
// Splits that lie before a tile of 32 columns are a product of blocks on the tensor cores.

#include "fold/gpu_persistent.cuh"
#include "fold/gpu_sum_kernels.hpp"
#include "fold/gpu_sums.cuh"

namespace warploom::fold::gpu {
namespace {

class InsideStrip : public SumStrip<false> {
 public:
  __device__ InsideStrip(const SumLaunch& launch, const Task& task, Shared& shared)
      : SumStrip(launch, task, shared) {}

  __device__ void run() {
    clear();
    std::uint32_t* const done = l_.done + s_.flags;
    for (int tile = tile_of(first_); tile < s_.tiles; ++tile) {
      const int last = min(s_.n, (tile + 1) * kTileColumns);
      if (!wait(has_next(last) ? done + t_ + 1 : nullptr, tile + 1)) return;
      if (is_far(tile) && tile % kFarTiles == 0) {
        // What is summed for several tiles needs all of them.
        if (!wait(done + t_ + 1 + kNearStrips, min(tile + kFarTiles, s_.tiles))) return;
        multiply_far(tile);
      }
      begin_tile(tile, last);
      for (int j = tile * kTileColumns + 1; j <= last; ++j) column(tile, j, last);
      __syncthreads();
      if (threadIdx.x == 0) store_release(done + t_, static_cast<std::uint32_t>(tile + 1));
    }
  }

 private:
  /// Some of the strip's splits are summed for several tiles, of which this is one.
  __device__ bool is_far(int tile) const { return far_ != nullptr && tile - tile % kFarTiles > first_far(); }
  __device__ int first_split() const { return tile_of(first_ + kStripRows); }
  __device__ int first_far() const { return tile_of(first_ + (1 + kNearStrips) * kStripRows); }

  __device__ void begin_tile(int tile, int last) {
    const int begin = tile * kTileColumns + 1;
    double carry = 0;
    here_ = 0;
    if (begin > first_) {
      double most = fmax(shared_.last[lane_], shared_.last[lane_ + 32]);
#pragma unroll
      for (int step = 16; step > 0; step /= 2) most = fmax(most, __shfl_xor_sync(kAllLanes, most, step));
      constexpr int kApart = 64;
      const int by = most > 0 ? exponent_of(most) : 0, before = exponent(t_, tile - 1);
      here_ = before + (abs(by) > kApart ? by : 0);
      carry = power_of_two(before - here_);
      if (carry != 1) rescale(carry);
    }
    if (threadIdx.x == 0) exponents_[std::int64_t{t_} * s_.tiles + tile] = here_;
    from_next_ = has_next(last) ? power_of_two(exponent(t_ + 1, tile) - here_) : 0;
    absolute_ = power_of_two(-here_);
    own_power_ = power_of_two(here_);
    if (half_ == 0) shared_.sums[0][q_] = shared_.last[q_] * carry;
    const bool splits = begin >= first_ + kStripRows;
    load_codes(begin);
    near(tile, begin, splits);
    fetch(begin);
    const bool far = is_far(tile);
    {
      Products products;
      const int slice = warp_ / 2, jump = far ? tile - tile % kFarTiles - first_far() : 0;
      if (splits)
        for (int left = first_split() + slice; left + jump < tile; left += kSlices)
          multiply(left < first_far() ? left : left + jump, tile, here_, products);
      put(products, shared_.sums + 1);
    }
    if (far)
      take_far(far_, tile, power_of_two(shared_.far_exponents[tile % kFarTiles] - here_), shared_.sums + 1);
  }

  /// M1 of rows and columns of this tile.
  __device__ void near(int tile, int begin, bool splits) {
    const int v = strip_of(begin);
    const double scale = splits ? power_of_two(exponent(v, tile)) : 0;
    for (int k = static_cast<int>(threadIdx.x); k < kTileColumns * kTileColumns; k += kSumThreads) {
      const int x = k % kTileColumns, c = k / kTileColumns;
      const bool there = splits && x + kLeastApart <= c && begin + c <= s_.n;
      shared_.near[c][x] = there ? l_.m1[panel(v, begin + c) + (begin + x - v * kStripRows - 1)] * scale : 0;
    }
  }

  /// The sum of M(i, k-1) M1(k, j) over a tile's k, for this warp's rows and all columns of another tile, to
  /// the power of two `here`.
  __device__ void multiply(int left, int tile, int here, Products& products) const {
    const int kk = lane_ % 4, column = tile * kTileColumns + 1 + lane_ / 4;
    const int k = left * kTileColumns + 1, v = strip_of(k);
    const double* const a = l_.m + own(k - 1 + kk) + 32 * (warp_ % 2) + lane_ / 4;
    const double* const b = far_ != nullptr ? l_.turned + turned(column) + (k - 1) * kTileColumns + kk
                                            : l_.m1 + panel(v, column) + (k - v * kStripRows - 1) + kk;
    const int four_rows = far_ != nullptr ? kTurnedRows * kTileColumns : 4,
              columns = 8 * (far_ != nullptr ? kTurnedRows : kStripRows);
    const int right = exponent(v, tile) - here;
    const double scale = power_of_two(exponent(t_, left) + right);
    const double scale_of_first = kk == 0 ? power_of_two(exponent(t_, left - 1) + right) : scale;
#pragma unroll 2
    for (int x = 0; x < kTogether / 4; ++x) {
      double left_part[4], right_part[4];
#pragma unroll
      for (int y = 0; y < 4; ++y) {
        left_part[y] = a[4 * x * kStripRows + 8 * y];
        right_part[y] = column + 8 * y <= s_.n ? b[y * columns + x * four_rows] : 0;
      }
      const double by = x == 0 ? scale_of_first : scale;
#pragma unroll
      for (double& part : right_part) part *= by;
      products.add(left_part, right_part);
    }
  }
  /// Of all k before several tiles, a warp one of them. What power of two it will have is not known yet; that
  /// of a strip behind grows as it does.
  __device__ void multiply_far(int group) {
    put_away();
    const int tile = group + warp_;
    if (tile < s_.tiles) {
      const int other = t_ + 1 + kNearStrips;
      const int here = exponent(other, tile) + exponent(t_, group - 1) - exponent(other, group - 1);
      const int kk = lane_ % 4, first = first_far(), k = first * kTileColumns + 1;
      const double* const a = l_.m + own(k - 1 + kk) + lane_ / 4;
      const double* const b =
          l_.turned + turned(tile * kTileColumns + 1 + lane_ / 4) + std::int64_t{k - 1} * kTileColumns + kk;
      struct Powers {
        int right, of_first, of_rest;
      };
      Products products[2];
      multiply_along<kTogether / 4>(
          group - first,
          [&](int step, double(&left)[8], double(&right)[4]) {
            const double* const from = a + std::int64_t{step} * (4 * kStripRows);
            const double* const turned_from = b + std::int64_t{step} * (kTurnedRows * kTileColumns);
#pragma unroll
            for (int y = 0; y < 4; ++y) right[y] = turned_from[8 * kTurnedRows * y];
#pragma unroll
            for (int y = 0; y < 8; ++y) left[y] = from[8 * y];
          },
          [&](int piece) {
            const int at = first + piece;
            return Powers{exponent(strip_of(at * kTileColumns + 1), tile), exponent(t_, at - 1),
                          exponent(t_, at)};
          },
          [&](const Powers& powers, int x, double(&)[8], double(&right)[4]) {
            const double by =
                power_of_two(powers.right - here + (x == 0 && kk == 0 ? powers.of_first : powers.of_rest));
#pragma unroll
            for (double& part : right) part *= by;
          },
          products);
      put_far(products, far_);
      if (lane_ == 0) shared_.far_exponents[warp_] = here;
    }
    take_back();
    __syncthreads();
  }

  __device__ bool may_pair(int j, const int (&q)[5]) const {
    if ((pairs_with_ >> q[1] & 1) == 0 || j - i_ < kLeastApart) return false;
    const unsigned* const with = l_.tables->pairs_with;
    // What could stack is asked of the bases alone.
    if (!l_.lonely_pairs && (with[p_[0]] >> q[0] & 1) == 0 &&
        ((with[p_[2]] >> q[2] & 1) == 0 || j - i_ - 2 < kLeastApart))
      return false;
    const bool spans = i_ > j - l_.max_span;
    if (marks_ == nullptr) return spans;
    const int second = marks_[j].second;
    return marks_[i_].first == second && (spans || second % 2 == 1);
  }

  __device__ double hairpin(int j, int at) const {
    const int size = j - i_ - 1;
    if (size > 6) return l_.hairpin_of[size] * l_.tables->outer.hairpin[at];
    const SumTables& t = *l_.tables;
    if (t.outer.end[at] == 0) return 0;  // it closes nothing
    if (size != 5) {
      int letters = 0;
      bool known = true;
      for (int k = i_; k <= j; ++k) known = known && codes_[k] != 0, letters = letters * 4 + codes_[k] - 1;
      if (known) {
        const double special = size == 3   ? t.triloops[letters]
                               : size == 4 ? t.tetraloops[letters]
                                           : t.hexaloops[letters];
        if (special >= 0) return special;
      }
    }
    if (size == 3) return t.hairpin_of_3[codes_[i_] * 5 + codes_[j]];
    return l_.hairpin_of[size] * l_.tables->outer.hairpin[at];
  }

  __device__ void column(int tile, int j, int last) {
    const int c = j - tile * kTileColumns - 1;
    int q[5];
    bases_of(j, q);
    // Asked for before what does not need them.
    const int at = result_at(q), as_ring = ring_at(q, p_[1], p_[0]);
    const double first = first_kind(at), second = second_kind(at), closing = l_.tables->outer.closing[at];
    const Given inner = half_ == 0 ? given(as_ring) : Given{};
    const double stem = half_ == 0 ? l_.tables->inner.stem[as_ring] : 0;
    const bool pairs = may_pair(j, q);
    const Few weights = few(pairs, q);
    take(j, q);
    double b = 0;
    if (half_ == 0) {
      b = thin_loops(j, first, second) + few_loops(j, weights);
    } else {
      const double closed = pairs ? absolute_ * hairpin(j, at) : 0;
      shared_.partial[0][q_] = closed + thick_loops(j, first, second) + few_loops(j, weights);
    }
    __syncthreads();

    keep_own(j - 1, tile);
    double one = 0;
    if (half_ == 0) {
      b += shared_.partial[0][q_] + shared_.rings.split[(j - 1) & 1][q_ + 1] * closing;
      if (!pairs) b = 0;
      remember(j, q_, b, inner);
      m1_ = b * stem + base_ * m1_;
      l_.b[own(j) + r_] = b, l_.m1[own(j) + r_] = m1_;
      if (far_ != nullptr) put_turned(l_.turned, j, m1_);
      shared_.column[q_ == 0 ? kStripRows - 1 : q_ - 1] = q_ == 0 ? 0 : m1_;
      one = with_those_behind(m1_);
      if (warp_ == 1 && lane_ == 0) shared_.top = one;
    } else {
      hand_generic(j, j);
    }
    if (j < last) fetch(j + 1);
    __syncthreads();

    // M2: of rows of the strip, and of columns of the tile
    double m2 = own_rows();
#pragma unroll 4
    for (int x = half_; x + kLeastApart <= c; x += 2) m2 += shared_.near[c][x] * shared_.sums[x][q_];
    if (half_ == 1) shared_.partial[1][q_] = m2;
    __syncthreads();

    if (half_ == 1) return;
    m2 += shared_.partial[1][q_] + shared_.sums[c + 1][q_];
    one = with_all_behind(one, j);
    const double m = one + m2;
    shared_.sums[c + 1][q_] = shared_.last[q_] = m;
    shared_.rings.split[j & 1][q_] = m2;
    l_.m[own(j) + r_] = m;
    if (far_ != nullptr && l_.m_turned != nullptr) put_turned(l_.m_turned, j, m);
    if (!is_next()) return;
    if (q_ < kBelow) handed_[j].row[q_] = b;
    if (q_ == 0) handed_[j].one = one, handed_[j].split = m2;
  }

  /// M of a column of the strip's own: M(i, k-1) of the row k behind it.
  __device__ void keep_own(int j, int tile) {
    const int at = j - first_;
    if (at < 0 || at >= kStripRows - 1 || at / 32 != half_) return;
    const double m =
        shared_.last[q_] * (tile_of(j) == tile ? own_power_ : power_of_two(exponent(t_, tile_of(j))));
#pragma unroll
    for (int x = 0; x < 32; ++x) own_m_[x] = x == at % 32 ? m : own_m_[x];
  }

  int here_ = 0;
  double absolute_ = 1, own_power_ = 1;
};

__global__ void __launch_bounds__(kSumThreads, 2) sum_inside(const __grid_constant__ SumLaunch launch) {
  extern __shared__ uint4 memory[];
  take_strips<InsideStrip>(launch, launch.next_task, *reinterpret_cast<SumShared*>(memory));
}

}  // namespace

void launch_inside(const SumLaunch& launch, cudaStream_t stream) {
  launch_persistent(sum_inside, kSumThreads, sizeof(SumShared), launch, stream, kMostBlocks);
}

}  // namespace warploom::fold::gpu
