// Sums of what is outside of all pairs, what they are worth, and the list of pairs: a group of threads a
// sequence, or a strip.

#include "fold/gpu_sum_kernels.hpp"
#include "fold/gpu_sums.cuh"
#include "warploom/core/cuda_check.cuh"

namespace warploom::fold::gpu {
namespace {

/// Columns, or rows, of which none needs the sum of another.
constexpr int kAtOnce = 4;

class EndSums {
 public:
  __device__ EndSums(const SumLaunch& launch, int sequence, int lane)
      : l_(launch),
        s_(launch.sequences[sequence]),
        codes_(launch.codes + s_.codes),
        b_(launch.b + s_.cells),
        exponents_(launch.exponents + s_.exponents),
        ends_(launch.ends + s_.columns),
        worths_(launch.worths + s_.columns),
        end_exponents_(launch.end_exponents + s_.end_exponents),
        total_(launch.totals + sequence),
        lane_(lane) {}

  /// ends(j) = ends(j-1) + the sum over i of ends(i-1) stem(i, j) B(i, j).
  __device__ void inside() {
    std::int64_t here = 0;
    double before = 1;
    for (int first = 0; first <= s_.n; first += kAtOnce) {
      double carry = 1;
      if (first > 0 && first % kStripRows == 0) {
        const int by = exponent_of(before);
        here += by, carry = power_of_two(-by);
      }
      if (lane_ == 0 && first % kStripRows == 0) end_exponents_[first / kStripRows] = here;
      double sum[kAtOnce] = {};
      for (int i = 1 + lane_; i < first; i += 32) {
        const double outer = ends_[i - 1];
        const std::int64_t by = end_exponents_[strip_of(i)] - here;
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
          if (const double b = pair(i, first + k); b != 0)
            sum[k] += outer * end_of(i, first + k) * b * power_of_two(by + exponent(i, first + k));
      }
      add(sum);
      before *= carry;
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        before += sum[k];
        if (lane_ == 0 && first + k <= s_.n) ends_[first + k] = before;
      }
      __syncwarp();
    }
    if (lane_ == 0) *total_ = {before, here};
  }

  /// What they are worth: the transpose.
  __device__ void outside() {
    const int last = (s_.n - 1) / kAtOnce * kAtOnce + 1;
    double behind = 1;
    if (lane_ == 0) worths_[s_.n] = 1;
    __syncwarp();
    for (int first = last; first >= 1; first -= kAtOnce) {
      double sum[kAtOnce] = {};
      const std::int64_t here = end_exponents_[strip_of(first)];
      for (int j = first + kLeastApart + lane_; j <= s_.n; j += 32) {
        const double by =
            worths_[j] * power_of_two(here + exponent(first, j) - end_exponents_[j / kStripRows]);
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
          if (const double b = pair(first + k, j); b != 0) sum[k] += by * end_of(first + k, j) * b;
      }
      add(sum);
#pragma unroll
      for (int k = kAtOnce - 1; k >= 0; --k) {
        const int base = first + k - 1;  // of base + 1
        if (base >= s_.n) continue;
        behind = behind * power_of_two(here - end_exponents_[(base + 1) / kStripRows]) + sum[k];
        if (lane_ == 0) worths_[base] = behind;
      }
      __syncwarp();
    }
  }

 private:
  /// Of all lanes, for all.
  __device__ static void add(double (&values)[kAtOnce]) {
#pragma unroll
    for (double& value : values)
#pragma unroll
      for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  }
  __device__ double pair(int i, int j) const {
    return j <= s_.n && j - i >= kLeastApart ? b_[panel_cell(s_.n, i, j)] : 0;
  }
  __device__ static int strip_of(int i) { return (i - 1) / kStripRows; }
  __device__ int exponent(int i, int j) const {
    return exponents_[std::int64_t{strip_of(i)} * s_.tiles + (j - 1) / kTileColumns];
  }
  __device__ double end_of(int i, int j) const {
    return l_.tables
        ->exterior[codes_[i]][codes_[j]][i > 1 ? codes_[i - 1] : kBases][j < s_.n ? codes_[j + 1] : kBases];
  }

  const SumLaunch& l_;
  const SumSequence s_;
  const std::uint8_t* codes_;
  const double* b_;
  const std::int32_t* exponents_;
  double *ends_, *worths_;
  std::int64_t* end_exponents_;
  SumTotal* total_;
  const int lane_;
};

constexpr int kWarps = 4;  // of a block, a sequence each

template <bool kOutside>
__global__ void __launch_bounds__(kWarps * 32) sum_ends(const __grid_constant__ SumLaunch launch) {
  const int sequence = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / 32;
  if (sequence >= launch.count || *launch.stopped != 0) return;
  EndSums sums(launch, sequence, static_cast<int>(threadIdx.x) % 32);
  if constexpr (kOutside)
    sums.outside();
  else
    sums.inside();
}

/// Pairs are read off by a block a strip: a thread has a row of every fourth column.
constexpr int kParts = 4, kReaders = kParts * kStripRows;

class Reader {
 public:
  __device__ Reader(const SumLaunch& launch, const Task& task)
      : s_(launch.sequences[task.sequence]),
        strip_(task.strip),
        row_(static_cast<int>(threadIdx.x) % kStripRows),
        part_(static_cast<int>(threadIdx.x) / kStripRows),
        i_(strip_ * kStripRows + 1 + row_),
        p_(launch.b + s_.cells + panel_cell(s_.n, i_ - row_, i_ - row_) + row_),
        unpaired_(launch.unpaired + s_.columns) {}
  /// Calls use(i, j, p) for each pair that there is.
  template <class Use>
  __device__ void each(const Use& use) const {
    const int first = i_ - row_;
    for (int j = first + kLeastApart + part_; j <= s_.n; j += kParts) {
      const double p = j - i_ >= kLeastApart ? p_[std::int64_t{j - first} * kStripRows] : 0;
      if (p != 0) use(j, p);
    }
  }
  template <class Use>
  __device__ void each_of_a_quarter(const Use& use) const {
    const int first = i_ - row_, columns = (s_.n - first + kParts) / kParts, begin = first + part_ * columns;
    for (int j = begin; j < min(begin + columns, s_.n + 1); ++j) {
      const double p = j - i_ >= kLeastApart ? p_[std::int64_t{j - first} * kStripRows] : 0;
      if (p != 0) use(j, p);
    }
  }
  __device__ bool is_listed(int j, double p, const SumChoice& choice) const {
    return p >= choice.cutoff || p > .5 || 2 * choice.gamma * p > unpaired_[i_] + unpaired_[j];
  }

  const SumSequence s_;
  const int strip_, row_, part_, i_;
  const double* p_;
  double* unpaired_;
};

/// Of all threads of the block, in one order.
__device__ double block_sum(double value, double (&words)[kReaders / 32]) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  __syncthreads();
  if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (double word : words) sum += word;
  return sum;
}

/// What each base is paired with later ones, into `unpaired`; how structures differ.
__global__ void __launch_bounds__(kReaders) read_rows(const __grid_constant__ SumLaunch launch) {
  __shared__ double parts[kParts][kStripRows], words[kReaders / 32];
  if (*launch.stopped != 0) return;
  const Reader reader(launch, launch.tasks[blockIdx.x]);
  double paired = 0, differ = 0, centroid = 0;
  reader.each([&](int, double p) { paired += p, differ += p * (1 - p), centroid += p > .5 ? 1 - p : p; });
  parts[reader.part_][reader.row_] = paired;
  differ = block_sum(differ, words), centroid = block_sum(centroid, words);  // also: all parts are there
  if (reader.part_ == 0 && reader.i_ <= reader.s_.n)
    reader.unpaired_[reader.i_] =
        parts[0][reader.row_] + parts[1][reader.row_] + parts[2][reader.row_] + parts[3][reader.row_];
  if (threadIdx.x == 0) launch.read[blockIdx.x] = {differ, centroid, 0, 0};
}

/// The probability that a base is in no pair: a warp a base.
__global__ void __launch_bounds__(256) read_columns(const __grid_constant__ SumLaunch launch) {
  if (*launch.stopped != 0) return;
  const SumSequence s = launch.sequences[blockIdx.x];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int j = 1 + warp + 8 * static_cast<int>(blockIdx.y); j <= s.n; j += 8 * static_cast<int>(gridDim.y)) {
    double paired = 0;
    for (int i = 1 + lane; i <= j - kLeastApart; i += 32) paired += launch.b[s.cells + panel_cell(s.n, i, j)];
#pragma unroll
    for (int step = 16; step > 0; step /= 2) paired += __shfl_xor_sync(kAllLanes, paired, step);
    if (lane == 0) {
      double& unpaired = launch.unpaired[s.columns + j];
      unpaired = fmax(0., 1 - unpaired - paired);
    }
  }
}

/// How many pairs of a strip are listed.
__global__ void __launch_bounds__(kReaders) count_pairs(const __grid_constant__ SumLaunch launch) {
  if (*launch.stopped != 0) return;
  const Reader reader(launch, launch.tasks[blockIdx.x]);
  std::uint32_t count = 0;
  reader.each([&](int j, double p) { count += reader.is_listed(j, p, launch.choice) ? 1 : 0; });
  if (count != 0) atomicAdd(&launch.read[blockIdx.x].count, count);
}

/// They themselves, in the order of their rows and columns: a thread has a row of a quarter of the columns.
__global__ void __launch_bounds__(kReaders) list_pairs(const __grid_constant__ SumLaunch launch) {
  __shared__ std::uint32_t listed[2][kReaders];
  if (*launch.stopped != 0) return;
  const Reader reader(launch, launch.tasks[blockIdx.x]);
  ListedPair* const to = launch.pairs + launch.pair_places[blockIdx.x];
  std::uint32_t count = 0;
  reader.each_of_a_quarter([&](int j, double p) { count += reader.is_listed(j, p, launch.choice) ? 1 : 0; });
  const int place = reader.row_ * kParts + reader.part_;
  int now = 0;
  listed[now][place] = count;
  __syncthreads();
  for (int step = 1; step < kReaders; step *= 2, now ^= 1) {
    listed[now ^ 1][place] = listed[now][place] + (place >= step ? listed[now][place - step] : 0);
    __syncthreads();
  }
  std::uint32_t at = listed[now][place] - count;
  reader.each_of_a_quarter([&](int j, double p) {
    if (reader.is_listed(j, p, launch.choice)) to[at++] = {reader.i_, j, p};
  });
}

}  // namespace

void launch_sum_ends(const SumLaunch& launch, bool outside, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((launch.count + kWarps - 1) / kWarps);
  (outside ? sum_ends<true> : sum_ends<false>)<<<blocks, kWarps * 32, 0, stream>>>(launch);
  cuda_check(cudaGetLastError(), "launch of sum_ends");
}

void launch_read(const SumLaunch& launch, int longest, cudaStream_t stream) {
  const auto tasks = static_cast<unsigned>(launch.task_count);
  read_rows<<<tasks, kReaders, 0, stream>>>(launch);
  // Long sequences have more blocks each.
  const unsigned together = static_cast<unsigned>(longest) / 256 + 1;
  read_columns<<<dim3(static_cast<unsigned>(launch.count), together), 256, 0, stream>>>(launch);
  count_pairs<<<tasks, kReaders, 0, stream>>>(launch);
  cuda_check(cudaGetLastError(), "launch of read_rows");
}

void launch_list(const SumLaunch& launch, cudaStream_t stream) {
  list_pairs<<<static_cast<unsigned>(launch.task_count), kReaders, 0, stream>>>(launch);
  cuda_check(cudaGetLastError(), "launch of list_pairs");
}

}  // namespace warploom::fold::gpu
