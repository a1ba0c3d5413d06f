// Sums of what is outside of all pairs and what they are worth, of long sequences: a block takes 64 columns,
// or rows, and waits for the blocks before it. What B it needs of those is on its way while it waits.

#include "fold/gpu_persistent.cuh"
#include "fold/gpu_sum_kernels.hpp"
#include "fold/gpu_sums.cuh"

namespace warploom::fold::gpu {
namespace {

constexpr int kParts = 4, kPart = kStripRows / kParts;  // of the columns; a thread has a row of one
constexpr int kAtOnce = 4;  // columns, or rows, of which none needs the sum of another
constexpr int kOuter = kBases * (kBases + 1);

struct EndsShared {
  double near[kStripRows][kStripRows + 1];  // B and the stem within the block's own columns and rows
  double exterior[kOuter][kOuter];          // by the bases in and before a row, in and behind a column
  double parts[kParts][kStripRows], column[kStripRows];
  std::int64_t exponents[2];
  int task;
};

__device__ int place_of(int base, int beside) { return base * (kBases + 1) + beside; }

class EndBlock {
 public:
  __device__ EndBlock(const SumLaunch& launch, const Task& task, EndsShared& shared)
      : l_(launch),
        shared_(shared),
        s_(launch.sequences[task.sequence]),
        row_(static_cast<int>(threadIdx.x) % kStripRows),
        part_(static_cast<int>(threadIdx.x) / kStripRows),
        lane_(static_cast<int>(threadIdx.x) % 32),
        codes_(launch.codes + s_.codes),
        b_(launch.b + s_.cells),
        ends_(launch.ends + s_.columns),
        worths_(launch.worths + s_.columns),
        end_exponents_(launch.end_exponents + s_.end_exponents),
        total_(launch.totals + task.sequence) {}

  /// ends(j) = ends(j-1) + the sum over i of ends(i-1) stem(i, j) B(i, j), of the columns behind 64 `group`.
  /// What sums of other rows come to is not known before: the power of two grows with them.
  __device__ void inside(int group) {
    const std::uint32_t* const done = l_.done_ends + s_.flags;
    const int first = kStripRows * group + 1, begin = first + part_ * kPart;
    int behind[kPart];
#pragma unroll
    for (int k = 0; k < kPart; ++k) behind[k] = column_place(begin + k);
    near(
        group, behind, [&](int k) { return &shared_.near[part_ * kPart + k][row_]; },
        [](int) { return std::int64_t{0}; });
    double sum[kPart] = {};
    std::int64_t here = -(std::int64_t{1} << 40);  // the sum is 0
    for (int strip = 0; strip < group; ++strip) {
      double b[kPart];
      load(strip, begin, b);
      wait(done + strip);
      const std::int64_t power = __ldcg(end_exponents_ + strip) + exponent(strip, begin);
      const double outer = __ldcg(ends_ + strip * kStripRows + row_);
      const std::int64_t most = max(here, power);
      const double carry = power_of_two(here - most), by = outer * power_of_two(power - most);
      here = most;
      const double* const stems = shared_.exterior[row_place(strip * kStripRows + 1 + row_)];
#pragma unroll
      for (int k = 0; k < kPart; ++k) sum[k] = sum[k] * carry + by * stems[behind[k]] * b[k];
    }
#pragma unroll
    for (double& value : sum)
#pragma unroll
      for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
    if (lane_ == 0) {
#pragma unroll
      for (int k = 0; k < kPart; ++k) shared_.parts[row_ / 32][part_ * kPart + k] = sum[k];
    }
    if (row_ == 0 && part_ % 2 == 0) shared_.exponents[part_ / 2] = here;
    __syncthreads();
    if (threadIdx.x < 32) solve_inside(group, first);
    __syncthreads();
    if (threadIdx.x == 0) store_release(l_.done_ends + s_.flags + group, 1U);
  }

  /// What they are worth: the transpose, of the bases from 64 `strip` on.
  __device__ void outside(int strip) {
    const std::uint32_t* const done = l_.done_worths + s_.flags;
    const int i = kStripRows * strip + 1 + row_, within = kStripRows * strip + 1 + part_ * kPart;
    const std::int64_t here = end_exponents_[strip];
    int behind[kPart];
#pragma unroll
    for (int k = 0; k < kPart; ++k) behind[k] = column_place(within + k);
    near(
        strip, behind, [&](int k) { return &shared_.near[row_][part_ * kPart + k]; },
        [&](int j) { return j <= s_.n ? here - end_exponents_[j / kStripRows] : 0; });
    const double* const stems = shared_.exterior[row_place(i)];
    double sum = 0;
    for (int group = s_.strips - 1; group > strip; --group) {
      const int begin = kStripRows * group + 1 + part_ * kPart;
      double b[kPart];
      load(strip, begin, b);
      wait(done + group);
      if (const int j = kStripRows * group + 1 + row_; part_ == 0)
        shared_.column[row_] = j > s_.n ? 0
                                        : __ldcg(worths_ + j) * power_of_two(here + exponent(strip, j) -
                                                                             end_exponents_[j / kStripRows]);
      __syncthreads();
#pragma unroll
      for (int k = 0; k < kPart; ++k)
        sum += shared_.column[part_ * kPart + k] * stems[column_place(begin + k)] * b[k];
    }
    shared_.parts[part_][row_] = sum;
    __syncthreads();
    if (threadIdx.x < 32) solve_outside(strip, here);
    __syncthreads();
    if (threadIdx.x == 0) store_release(l_.done_worths + s_.flags + strip, 1U);
  }

 private:
  __device__ int row_place(int i) const {
    return i <= s_.n ? place_of(codes_[i], i > 1 ? codes_[i - 1] : kBases) : 0;
  }
  __device__ int column_place(int j) const {
    return j <= s_.n ? place_of(codes_[j], j < s_.n ? codes_[j + 1] : kBases) : 0;
  }
  __device__ int exponent(int strip, int j) const {
    return l_
        .exponents[s_.exponents + std::int64_t{strip} * s_.tiles + min((j - 1) / kTileColumns, s_.tiles - 1)];
  }
  /// B of this thread's row of a strip, of kPart columns.
  __device__ void load(int strip, int begin, double (&b)[kPart]) const {
    const int i = strip * kStripRows + 1 + row_;
    const double* const from = b_ + panel_cell(s_.n, i, begin);
#pragma unroll
    for (int k = 0; k < kPart; ++k)
      b[k] = begin + k <= s_.n && begin + k - i >= kLeastApart ? from[k * kStripRows] : 0;
  }

  /// Of pairs between the block's own rows and columns: needs no sum of another's.
  template <class To, class Exponent>
  __device__ void near(int strip, const int (&behind)[kPart], const To& to, const Exponent& by) {
    const int begin = strip * kStripRows + 1 + part_ * kPart, i = strip * kStripRows + 1 + row_;
    double b[kPart];
    load(strip, begin, b);
    const double* const stems = shared_.exterior[row_place(i)];
#pragma unroll
    for (int k = 0; k < kPart; ++k)
      *to(k) = b[k] * stems[behind[k]] * power_of_two(exponent(strip, begin) + by(begin + k));
  }

  __device__ void wait(const std::uint32_t* done) const {
    if (threadIdx.x == 0) {
      while (load_relaxed(done) == 0) {
      }
      fence_acq_rel();
    }
    __syncthreads();
  }

  /// Columns of the block's own, four at a time, of which none needs another: a warp has their rows.
  __device__ void solve_inside(int group, int first) {
    double before = group == 0 ? 1 : __ldcg(ends_ + first - 1);
    std::int64_t here = group == 0 ? 0 : __ldcg(end_exponents_ + group);
    if (group == 0 && lane_ == 0) ends_[0] = 1, end_exponents_[0] = 0;
    const double by[2] = {power_of_two(shared_.exponents[0] - here),
                          power_of_two(shared_.exponents[1] - here)};
    double ends[2] = {lane_ == 0 ? before : 0, 0};  // before rows `lane_` and 32 behind it
#pragma unroll 1
    for (int four = 0; four < kStripRows; four += kAtOnce) {
      double sum[kAtOnce];
      add_own(four, ends, sum);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int c = four + k, j = first + c;
        if (j > s_.n) return;
        double now = before + sum[k] + (shared_.parts[0][c] + shared_.parts[1][c]) * by[four / 32];
        if (c == kStripRows - 1) {  // the first of the next power of two
          const int more = exponent_of(before);
          here += more, now *= power_of_two(-more);
          if (lane_ == 0) end_exponents_[group + 1] = here;
        }
        before = now;
        if (lane_ == 0) ends_[j] = now;
        if (lane_ == 0 && j == s_.n) *total_ = {now, here};
        keep(c + 1, now, ends);
      }
    }
  }

  __device__ void solve_outside(int strip, std::int64_t here) {
    const int base = kStripRows * strip, last = min(s_.n, base + kStripRows);
    const double known = last == s_.n ? 1 : __ldcg(worths_ + last);
    if (last == s_.n && lane_ == 0) worths_[last] = 1;
    double behind = known * power_of_two(here - end_exponents_[last / kStripRows]);
    double worths[2] = {};  // of columns `lane_` and 32 behind it
    keep(last - base - 1, known, worths);
#pragma unroll 1
    for (int four = kStripRows - kAtOnce; four >= 0; four -= kAtOnce) {
      double sum[kAtOnce];
      add_own(four, worths, sum);
#pragma unroll
      for (int k = kAtOnce - 1; k >= 0; --k) {
        const int x = four + k;
        if (base + x >= last) continue;
        behind += sum[k] +
                  ((shared_.parts[0][x] + shared_.parts[1][x]) + (shared_.parts[2][x] + shared_.parts[3][x]));
        if (lane_ == 0) worths_[base + x] = behind;
        keep(x - 1, behind, worths);
      }
    }
  }

  __device__ void keep(int at, double value, double (&of)[2]) const {
    of[0] = at == lane_ ? value : of[0], of[1] = at == lane_ + 32 ? value : of[1];
  }
  /// What those that are known give to four others; what is not known is 0.
  __device__ void add_own(int four, const double (&of)[2], double (&sum)[kAtOnce]) const {
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k)
      sum[k] = shared_.near[four + k][lane_] * of[0] + shared_.near[four + k][lane_ + 32] * of[1];
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
#pragma unroll
      for (double& value : sum) value += __shfl_xor_sync(kAllLanes, value, step);
  }

  const SumLaunch& l_;
  EndsShared& shared_;
  const SumSequence s_;
  const int row_, part_, lane_;
  const std::uint8_t* codes_;
  const double* b_;
  double *ends_, *worths_;
  std::int64_t* end_exponents_;
  SumTotal* total_;
};

/// Blocks take columns, or rows, in the order in which they wait for each other.
template <bool kOutside>
__global__ void __launch_bounds__(kParts* kStripRows) end_blocks(const __grid_constant__ SumLaunch launch) {
  __shared__ EndsShared shared;
  if (*launch.stopped != 0) return;
  for (int k = static_cast<int>(threadIdx.x); k < kOuter * kOuter; k += kParts * kStripRows) {
    const int row = k / kOuter, column = k % kOuter;
    shared.exterior[row][column] =
        launch.tables
            ->exterior[row / (kBases + 1)][column / (kBases + 1)][row % (kBases + 1)][column % (kBases + 1)];
  }
  for (;;) {
    if (threadIdx.x == 0)
      shared.task = static_cast<int>(atomicAdd(kOutside ? launch.next_worths : launch.next_ends, 1U));
    __syncthreads();
    const int number = shared.task;
    __syncthreads();
    if (number >= launch.task_count) return;
    const Task& task = launch.tasks[number];
    EndBlock block(launch, task, shared);
    if constexpr (kOutside)
      block.outside(launch.sequences[task.sequence].strips - 1 - task.strip);
    else
      block.inside(task.strip);
  }
}

}  // namespace

void launch_end_blocks(const SumLaunch& launch, bool outside, cudaStream_t stream) {
  launch_persistent(outside ? end_blocks<true> : end_blocks<false>, kParts * kStripRows, 0, launch, stream);
}

}  // namespace warploom::fold::gpu
