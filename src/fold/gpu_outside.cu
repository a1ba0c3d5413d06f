// Probabilities of pairs of many sequences: outside.cpp, with a thread block a strip, as gpu_inside.cu and
// mirrored. What a pair is worth is gathered from the loops that it lies in, where the CPU gives it out.

#include "fold/gpu_persistent.cuh"
#include "fold/gpu_sum_kernels.hpp"
#include "fold/gpu_sums.cuh"

namespace warploom::fold::gpu {
namespace {

class OutsideStrip : public SumStrip<true> {
 public:
  __device__ OutsideStrip(const SumLaunch& launch, const Task& task, Shared& shared)
      : SumStrip(launch, task, shared),
        ends_(launch.ends + s_.columns),
        worths_(launch.worths + s_.columns),
        end_exponents_(launch.end_exponents + s_.end_exponents) {
    before_ = i_ <= s_.n ? ends_[i_ - 1] : 0;
    all_ = 1 / ends_[s_.n];
  }

  __device__ void run() {
    clear();
    load_own();
    std::uint32_t* const done = l_.done_outside + s_.flags;
    for (int tile = s_.tiles - 1; tile >= tile_of(first_); --tile) {
      const int begin = tile * kTileColumns + 1, last = min(s_.n, begin + kTileColumns - 1);
      if (!wait(t_ > 0 ? done + t_ - 1 : nullptr, s_.tiles - tile)) return;
      if (far_ != nullptr && (tile % kFarTiles == kFarTiles - 1 || tile == s_.tiles - 1)) {
        // What is summed for several tiles needs all of them.
        const int group = tile - tile % kFarTiles;
        if (far_strips() > 0 && !wait(done + far_strips() - 1, s_.tiles - max(group, tile_of(first_))))
          return;
        multiply_far(group);
      }
      begin_tile(tile, begin, last);
      for (int j = last; j >= begin; --j) column(tile, begin, last, j);
      if (threadIdx.x == 0) store_release(done + t_, static_cast<std::uint32_t>(s_.tiles - tile));
    }
  }

 private:
  /// M(first + i, i_ - 1), of which M1 of row i_ gets its part.
  __device__ void load_own() {
    const int before = i_ - 1;
    if (before < first_ || before > s_.n) return;
    const double scale = power_of_two(exponent(t_, tile_of(before)));
#pragma unroll
    for (int x = 0; x < 32; ++x) own_m_[x] = l_.m[own(before) + 32 * half_ + x] * scale;
  }

  __device__ void begin_tile(int tile, int begin, int last) {
    here_ = exponent(t_, tile);
    if (tile + 1 < s_.tiles)
      if (const double carry = power_of_two(here_ - exponent(t_, tile + 1)); carry != 1) rescale(carry);
    from_next_ = t_ > 0 ? power_of_two(here_ - exponent(t_ - 1, tile)) : 0;
    load_codes(begin);
    near(tile, begin, last);
    fetch(last);
    if (const int j = begin + static_cast<int>(threadIdx.x); threadIdx.x < kTileColumns && j <= last)
      shared_.worths[threadIdx.x] =
          worths_[j] * power_of_two(end_exponents_[t_] + here_ - end_exponents_[j / kStripRows]);
    const int slice = warp_ / 2;
    {
      const int end = far_ != nullptr ? end_of_far(tile) : s_.tiles;
      Products products;
      for (int right = tile + 1 + slice; right < end; right += kSlices)
        multiply_behind(right, tile, warp_ % 2, products);
      put(products, shared_.sums + 1);
    }
    if (far_ != nullptr) take_far(far_, tile, 1, shared_.sums + 1);
    Products products;
    constexpr int kSteps = kStripRows / 4 / kSlices;
    for (int above = far_ != nullptr ? far_strips() : 0; above < t_; ++above)
      multiply_above<kSteps>(above, slice * kSteps, tile, products);
    put(products, shared_.stems);
    if (far_ != nullptr) take_far(far_ + kFarProduct, tile, 1, shared_.stems);
  }
  /// Strips above whose rows are summed for several tiles.
  __device__ int far_strips() const { return max(0, t_ - kNearStrips); }
  __device__ int end_of_far(int tile) const { return min(tile - tile % kFarTiles + kFarTiles, s_.tiles); }
  /// For several tiles, a warp one of them.
  __device__ void multiply_far(int group) {
    put_away();
    const int tile = group + warp_;
    if (tile < s_.tiles && tile >= tile_of(first_)) {
      behind_far(tile);
      above_far(tile);
    }
    take_back();
    __syncthreads();
  }
  __device__ void behind_far(int tile) const {
    const int kk = lane_ % 4, column = lane_ / 4, begin = tile * kTileColumns + 1;
    const int v = strip_of(begin), u = min(strip_of(begin + kTileColumns), s_.strips - 1);
    const int first = end_of_far(tile), from = first * kTileColumns + 1 + kk;
    const bool next = column == 7 && u != v;  // the last column's row is the next strip's first
    const double* const a = l_.split + own(from) + lane_ / 4;
    const double* const b = l_.m1 + panel(v, from) + (begin + column - v * kStripRows);
    const double* const b_of_last = next ? l_.m1 + panel(u, from) : b + 24;  // its row 0
    const int here = exponent(t_, tile);
    struct Powers {
      int left, right, of_last;
    };
    Products products[2];
    // The last tile may have fewer columns.
    multiply_along<kTogether / 4>(
        s_.tiles - 1 - first,
        [&](int step, double(&left)[8], double(&right)[4]) {
          const std::int64_t at = std::int64_t{step} * (4 * kStripRows);
#pragma unroll
          for (int y = 0; y < 3; ++y) right[y] = b[at + 8 * y];
          right[3] = b_of_last[at];
#pragma unroll
          for (int y = 0; y < 8; ++y) left[y] = a[at + 8 * y];
        },
        [&](int piece) {
          const int at = first + piece;
          return Powers{exponent(t_, at), exponent(v, at), exponent(next ? u : v, at)};
        },
        [&](const Powers& powers, int, double(&)[8], double(&right)[4]) {
          const double by = power_of_two(here - powers.left + powers.right);
#pragma unroll
          for (int y = 0; y < 3; ++y) right[y] *= by;
          right[3] *= power_of_two(here - powers.left + powers.of_last);
        },
        products);
    if (first < s_.tiles) {
      multiply_behind(s_.tiles - 1, tile, 0, products[0]);
      multiply_behind(s_.tiles - 1, tile, 1, products[1]);
    }
    put_far(products, far_);
  }
  __device__ void above_far(int tile) const {
    const int kk = lane_ % 4, column = tile * kTileColumns + 1 + lane_ / 4, row = lane_ / 4;
    const double* a[8];
#pragma unroll
    for (int y = 0; y < 8; ++y) a[y] = l_.m_turned + turned(max(1, min(first_ + row + 8 * y - 1, s_.n))) + kk;
    const double* const b = l_.turned + turned(column) + kk;
    // Columns before the strip's first are of another tile, and so are those from its second tile on.
    const int edge = tile_of(min(first_ + row - 1, s_.n)), main = tile_of(min(first_ + row + 7, s_.n)),
              middle = tile_of(min(first_ + row + 31, s_.n)), end = tile_of(min(first_ + row + 39, s_.n));
    const int here = exponent(t_, tile);
    struct Powers {
      int right, edge, main, middle, end;
    };
    Products products[2];
    multiply_along<kStripRows / 4>(
        far_strips(),
        [&](int step, double(&left)[8], double(&right)[4]) {
          const std::int64_t at = std::int64_t{step} * (kTurnedRows * kTileColumns);
#pragma unroll
          for (int y = 0; y < 4; ++y) right[y] = b[at + 8 * kTurnedRows * y];
#pragma unroll
          for (int y = 0; y < 8; ++y) left[y] = a[y][at];
        },
        [&](int above) {
          return Powers{exponent(above, tile), exponent(above, edge), exponent(above, main),
                        exponent(above, middle), exponent(above, end)};
        },
        [&](const Powers& powers, int, double(&left)[8], double(&)[4]) {
          const int all = here - powers.right;
          const double of_main = power_of_two(all + powers.main), of_end = power_of_two(all + powers.end);
          left[0] *= power_of_two(all + powers.edge), left[4] *= power_of_two(all + powers.middle);
#pragma unroll
          for (int y = 1; y < 4; ++y) left[y] *= of_main, left[y + 4] *= of_end;
        },
        products);
    put_far(products, far_ + kFarProduct);
  }

  /// M1 of the rows behind this tile's columns, of its columns.
  __device__ void near(int tile, int begin, int last) {
    const int v = strip_of(begin);  // also of all rows that are there
    const double scale = power_of_two(exponent(v, tile));
    for (int k = static_cast<int>(threadIdx.x); k < kTileColumns * kTileColumns; k += kSumThreads) {
      const int c = k % kTileColumns, x = k / kTileColumns;
      const bool there = c + 1 + kLeastApart <= x && begin + x <= last;
      shared_.near[c][x] = there ? l_.m1[panel(v, begin + x) + (begin + c - v * kStripRows)] * scale : 0;
    }
  }

  /// What M gets from splits whose second part ends in a tile behind: the sum over its columns of what a
  /// split is worth and of M1 from the column behind M's.
  __device__ void multiply_behind(int right, int tile, int half, Products& products) const {
    const int kk = lane_ % 4, column = lane_ / 4, begin = tile * kTileColumns + 1;
    const int v = strip_of(begin), u = min(strip_of(begin + kTileColumns), s_.strips - 1);
    const int from = right * kTileColumns + 1 + kk;
    const int by = exponent(t_, tile) - exponent(t_, right);
    const double scale = power_of_two(exponent(v, right) + by);
    const bool next = column == 7 && u != v;  // the last column's row is the next strip's first
    const double scale_of_last = next ? power_of_two(exponent(u, right) + by) : scale;
    const double* const a = l_.split + own(from) + 32 * half + lane_ / 4;
    const double* const b = l_.m1 + panel(v, from) + (begin + column - v * kStripRows);
    const double* const b_of_last = next ? l_.m1 + panel(u, from) : b + 24;  // its row 0
#pragma unroll 2
    for (int x = 0; x < kTogether / 4; ++x) {
      const bool there = from + 4 * x <= s_.n;
      const std::int64_t at = there ? std::int64_t{4 * x} * kStripRows : 0;
      double left_part[4], right_part[4];
#pragma unroll
      for (int y = 0; y < 4; ++y) left_part[y] = there ? a[at + 8 * y] : 0;
#pragma unroll
      for (int y = 0; y < 3; ++y) right_part[y] = there ? b[at + 8 * y] * scale : 0;
      right_part[3] = there ? b_of_last[at] * scale_of_last : 0;
      products.add(left_part, right_part);
    }
  }

  /// What M1 gets from splits whose first part begins in a strip above: the sum over some of its rows.
  template <int kSteps>
  __device__ void multiply_above(int above, int first, int tile, Products& products) const {
    const int kk = lane_ % 4, column = tile * kTileColumns + 1 + lane_ / 4;
    const int last = min(s_.n, (tile + 1) * kTileColumns);
    const int row = 32 * (warp_ % 2) + lane_ / 4;  // and 8, 16, 24 behind it
    int columns[4];
#pragma unroll
    for (int y = 0; y < 4; ++y) columns[y] = min(first_ + row + 8 * y - 1, s_.n);
    const int edge = tile_of(columns[0]), main = tile_of(columns[3]);
    const int by = exponent(t_, tile) - exponent(above, tile);
    const double scale = power_of_two(exponent(above, main) + by);
    const double scale_of_edge = edge == main ? scale : power_of_two(exponent(above, edge) + by);
    const std::int64_t rows = panel(above, 1) + 4 * first + kk;
#pragma unroll 2
    for (int x = 0; x < kSteps; ++x) {
      double left_part[4], right_part[4];
#pragma unroll
      for (int y = 0; y < 4; ++y) {
        left_part[y] =
            l_.m[rows + std::int64_t{columns[y] - 1} * kStripRows + 4 * x] * (y == 0 ? scale_of_edge : scale);
        right_part[y] = column + 8 * y <= last
                            ? l_.split[rows + std::int64_t{column + 8 * y - 1} * kStripRows + 4 * x]
                            : 0;
      }
      products.add(left_part, right_part);
    }
  }

  __device__ void column(int tile, int begin, int last, int j) {
    const int c = j - begin, y = step(j);
    int q[5];
    bases_of(j, q);
    const bool far = j - i_ >= kLeastApart;  // enough for a loop
    const bool pairs = far && (pairs_with_ >> q[1] & 1) != 0;
    // Asked for before what does not need them.
    const double b = half_ == 0 && far ? l_.b[own(j) + r_] : 0;
    const int at = result_at(q), as_ring = ring_at(q, p_[1], p_[0]);
    const double first = first_kind(at), second = second_kind(at), stem = l_.tables->inner.stem[at];
    const Given outer = half_ == 0 ? given(as_ring) : Given{};
    const double closing_of = half_ == 0 ? l_.tables->outer.closing[as_ring] : 0;
    const double end = half_ == 0 && pairs ? end_of(j, q) : 0;
    const Few weights = few(pairs, q);
    take(y, q);
    double part = 0, one = 0;
    if (half_ == 0) {
      // M, and sums of two stems and more, which go into M and into the multiloop that (i - 1, j + 1) closes
      double m = shared_.sums[c + 1][r_];
#pragma unroll 4
      for (int x = c + 1 + kLeastApart; x <= last - begin; ++x)
        m += shared_.near[c][x] * shared_.sums[x + 1][r_];
      if (!far) m = 0;
      const double split = far ? m + shared_.rings.split[(y - 1) & 1][q_ + 1] : 0;
      shared_.sums[c + 1][r_] = shared_.column[r_] = split;
      l_.split[own(j) + r_] = split;
      if (far_ != nullptr) put_turned(l_.turned, j, split);
      one = with_those_behind(m);
      if (warp_ == 1 && lane_ == 0) shared_.top = one;
      part = thin_loops(y, first, second) + few_loops(y, weights);
    } else {
      shared_.partial[0][q_] = thick_loops(y, first, second) + few_loops(y, weights);
    }
    __syncthreads();

    double m1 = own_rows();
    if (half_ == 1) {
      shared_.partial[1][q_] = m1;
      hand_generic(y, j);
    }
    if (j > begin) fetch(j - 1);
    __syncthreads();

    if (half_ == 0) {
      one = with_all_behind(one, y);
      m1 += shared_.partial[1][q_] + shared_.stems[c][r_] + one + base_ * m1_;
      if (!far) m1 = 0;
      m1_ = m1;
      double worth = 0;
      if (b != 0) worth = m1 * stem + part + shared_.partial[0][q_] + shared_.worths[c] * (before_ * end);
      if (far) l_.b[own(j) + r_] = worth * b * all_;
      remember(y, q_, worth, outer);
      const double closing = worth * closing_of;
      shared_.rings.split[y & 1][q_] = closing;
      if (is_next()) {
        if (q_ < kBelow) handed_[j].row[q_] = worth;
        if (q_ == 0) handed_[j].one = one, handed_[j].split = closing;
      }
    }
    __syncthreads();
  }

  __device__ double end_of(int j, const int (&q)[5]) const {
    return l_.tables->exterior[p_[1]][q[1]][i_ > 1 ? p_[2] : kBases][j < s_.n ? q[2] : kBases];
  }

  const double *ends_, *worths_;
  const std::int64_t* end_exponents_;
  double before_, all_;
  int here_ = 0;
};

__global__ void __launch_bounds__(kSumThreads, 2) sum_outside(const __grid_constant__ SumLaunch launch) {
  extern __shared__ uint4 memory[];
  take_strips<OutsideStrip>(launch, launch.next_outside, *reinterpret_cast<OutsideShared*>(memory));
}

}  // namespace

void launch_outside(const SumLaunch& launch, cudaStream_t stream) {
  launch_persistent(sum_outside, kSumThreads, sizeof(OutsideShared), launch, stream, kMostBlocks);
}

}  // namespace warploom::fold::gpu
