// CUB's collectives that move items between threads, and those of one warp.
// Launch: kThreads threads a block; every tile is full unless a kernel takes n.
#include <cstdint>
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

namespace {

constexpr int kThreads = 128;

struct NotEqual {
  __device__ bool operator()(int a, int b) const { return a != b; }
};
struct Difference {
  __device__ int operator()(int a, int b) const { return a - b; }
};
struct Less {
  template <typename T>
  __device__ bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

/// Copies n elements, whatever the arrangement between load and store.
template <typename T, int kItems, cub::BlockLoadAlgorithm kLoad, cub::BlockStoreAlgorithm kStore>
__device__ void copy(const T* in, T* out, int n) {
  using Load = cub::BlockLoad<T, kThreads, kItems, kLoad>;
  using Store = cub::BlockStore<T, kThreads, kItems, kStore>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } storage;
  const int base = blockIdx.x * kThreads * kItems, valid = min(n - base, kThreads * kItems);
  T items[kItems];
  if (valid == kThreads * kItems)
    Load(storage.load).Load(in + base, items);
  else
    Load(storage.load).Load(in + base, items, valid, T{});
  __syncthreads();
  if (valid == kThreads * kItems)
    Store(storage.store).Store(out + base, items);
  else
    Store(storage.store).Store(out + base, items, valid);
}

}  // namespace

#define COPY(name, T, items, load, store)                                       \
  extern "C" __global__ void name(const T* in /*[n]*/, T* out /*[n]*/, int n) { \
    copy<T, items, load, store>(in, out, n);                                    \
  }
COPY(copy_direct_u32_4, std::uint32_t, 4, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT)
COPY(copy_striped_u32_3, std::uint32_t, 3, cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED)
COPY(copy_vectorize_u32_4, std::uint32_t, 4, cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE)
COPY(copy_transpose_u64_3, std::uint64_t, 3, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE)
COPY(copy_transpose_u8_4, std::uint8_t, 4, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE)
COPY(copy_warp_transpose_f32_5, float, 5, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE)
COPY(copy_timesliced_f64_4, double, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED,
     cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED)

/// There and back between the blocked, the striped and the warp-striped arrangement, then by rank in reverse.
extern "C" __global__ void exchange(const int* in /*[gridDim.x, 512]*/, int* out /*[gridDim.x, 4, 512]*/) {
  constexpr int kItems = 4;
  using Exchange = cub::BlockExchange<int, kThreads, kItems>;
  __shared__ typename Exchange::TempStorage storage;
  int items[kItems], moved[kItems], ranks[kItems];
  const int first = threadIdx.x * kItems;
  for (int k = 0; k < kItems; ++k) items[k] = in[blockIdx.x * 512 + first + k], ranks[k] = 511 - first - k;
  int* mine = out + blockIdx.x * 2048 + first;
  Exchange(storage).BlockedToStriped(items, moved);
  for (int k = 0; k < kItems; ++k) mine[k] = moved[k];
  __syncthreads();
  Exchange(storage).StripedToBlocked(items, moved);
  for (int k = 0; k < kItems; ++k) mine[512 + k] = moved[k];
  __syncthreads();
  Exchange(storage).BlockedToWarpStriped(items, moved);
  for (int k = 0; k < kItems; ++k) mine[1024 + k] = moved[k];
  __syncthreads();
  Exchange(storage).ScatterToBlocked(items, moved, ranks);
  for (int k = 0; k < kItems; ++k) mine[1536 + k] = moved[k];
}

/// Heads and tails of runs of equal elements.
extern "C" __global__ void discontinuity(const int* in /*[gridDim.x, 256]*/, int* heads, int* tails) {
  using Flags = cub::BlockDiscontinuity<int, kThreads>;
  __shared__ typename Flags::TempStorage storage;
  const int first = blockIdx.x * 256 + threadIdx.x * 2;
  int items[2] = {in[first], in[first + 1]}, head[2], tail[2];
  Flags(storage).FlagHeadsAndTails(head, tail, items, NotEqual{});
  for (int k = 0; k < 2; ++k) heads[first + k] = head[k], tails[first + k] = tail[k];
}

extern "C" __global__ void adjacent_difference(const int* in /*[gridDim.x, 384]*/, int* left, int* right) {
  using Adjacent = cub::BlockAdjacentDifference<int, kThreads>;
  __shared__ typename Adjacent::TempStorage storage;
  const int first = blockIdx.x * 384 + threadIdx.x * 3;
  int items[3] = {in[first], in[first + 1], in[first + 2]}, to_left[3], to_right[3];
  Adjacent(storage).SubtractLeft(items, to_left, Difference{});
  __syncthreads();
  Adjacent(storage).SubtractRight(items, to_right, Difference{});
  for (int k = 0; k < 3; ++k) left[first + k] = to_left[k], right[first + k] = to_right[k];
}

/// Counts of the block's bytes by atomics, and by sorting.
extern "C" __global__ void histogram_atomic(const std::uint8_t* in /*[gridDim.x, 512]*/,
                                            unsigned* out /*[gridDim.x, 256]*/) {
  using Histogram = cub::BlockHistogram<std::uint8_t, kThreads, 4, 256, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ unsigned bins[256];
  std::uint8_t bytes[4];
  for (int k = 0; k < 4; ++k) bytes[k] = in[blockIdx.x * 512 + threadIdx.x * 4 + k];
  Histogram(storage).Histogram(bytes, bins);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += kThreads) out[blockIdx.x * 256 + i] = bins[i];
}
extern "C" __global__ void histogram_sort(const std::uint8_t* in /*[gridDim.x, 512]*/,
                                          unsigned* out /*[gridDim.x, 256]*/) {
  using Histogram = cub::BlockHistogram<std::uint8_t, kThreads, 4, 256, cub::BLOCK_HISTO_SORT>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ unsigned bins[256];
  std::uint8_t bytes[4];
  for (int k = 0; k < 4; ++k) bytes[k] = in[blockIdx.x * 512 + threadIdx.x * 4 + k];
  Histogram(storage).Histogram(bytes, bins);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += kThreads) out[blockIdx.x * 256 + i] = bins[i];
}

/// Each element's neighbour three to the right, and all shifted up by one.
extern "C" __global__ void block_shuffle(const float* in /*[gridDim.x, 128]*/,
                                         float* out /*[gridDim.x, 2, 128]*/) {
  using Shuffle = cub::BlockShuffle<float, kThreads>;
  __shared__ typename Shuffle::TempStorage storage;
  const float x = in[blockIdx.x * kThreads + threadIdx.x];
  float there = 0;
  Shuffle(storage).Rotate(x, there, 3);
  __syncthreads();
  float item[1] = {x}, up[1] = {-1};
  Shuffle(storage).Up(item, up);
  out[blockIdx.x * 256 + threadIdx.x] = there;
  out[blockIdx.x * 256 + 128 + threadIdx.x] = up[0];
}

/// Sums of whole warps, of groups of eight lanes, and of runs that a flag begins.
extern "C" __global__ void warp_reduce(const int* in /*[gridDim.x, 128]*/, int* out /*[gridDim.x, 4, 128]*/) {
  using Warp = cub::WarpReduce<int>;
  using Eight = cub::WarpReduce<int, 8>;
  __shared__ typename Warp::TempStorage warps[kThreads / 32];
  __shared__ typename Eight::TempStorage eights[kThreads / 8];
  const int t = threadIdx.x, x = in[blockIdx.x * kThreads + t];
  int* mine = out + blockIdx.x * 4 * kThreads + t;
  const int all = Warp(warps[t / 32]).Sum(x);
  mine[0] = t % 32 == 0 ? all : 0;
  const int eight = Eight(eights[t / 8]).Sum(x);
  mine[kThreads] = t % 8 == 0 ? eight : 0;
  __syncwarp();
  const int flag = x % 3 == 0, run = Warp(warps[t / 32]).HeadSegmentedSum(x, flag);
  mine[2 * kThreads] = flag || t % 32 == 0 ? run : 0;
  __syncwarp();
  const int some = Warp(warps[t / 32]).Sum(x, 19);
  mine[3 * kThreads] = t % 32 == 0 ? some : 0;
}

extern "C" __global__ void warp_scan(const float* in /*[gridDim.x, 128]*/,
                                     float* out /*[gridDim.x, 3, 128]*/) {
  using Scan = cub::WarpScan<float>;
  using Sixteen = cub::WarpScan<float, 16>;
  using Seven = cub::WarpScan<float, 7>;
  __shared__ typename Scan::TempStorage warps[kThreads / 32];
  __shared__ typename Sixteen::TempStorage sixteens[kThreads / 16];
  __shared__ typename Seven::TempStorage sevens[kThreads / 32];
  const int t = threadIdx.x;
  const float x = in[blockIdx.x * kThreads + t];
  float* mine = out + blockIdx.x * 3 * kThreads + t;
  float sum;
  Scan(warps[t / 32]).InclusiveSum(x, sum);
  mine[0] = sum;
  Sixteen(sixteens[t / 16]).ExclusiveSum(x, sum);
  mine[kThreads] = sum;
  sum = 0;
  if (t % 32 < 7) Seven(sevens[t / 32]).InclusiveSum(x, sum);  // of such a size a warp holds one
  mine[2 * kThreads] = sum;
}

extern "C" __global__ void warp_merge_sort(const float* in /*[gridDim.x, 384]*/,
                                           float* out /*[gridDim.x, 384]*/) {
  using Sort = cub::WarpMergeSort<float, 3, 16>;
  __shared__ typename Sort::TempStorage storage[kThreads / 16];
  const int first = blockIdx.x * kThreads * 3 + threadIdx.x * 3;
  float keys[3] = {in[first], in[first + 1], in[first + 2]};
  Sort(storage[threadIdx.x / 16]).Sort(keys, Less{});
  for (int k = 0; k < 3; ++k) out[first + k] = keys[k];
}

extern "C" __global__ void warp_exchange(const double* in /*[gridDim.x, 256]*/,
                                         double* out /*[gridDim.x, 256]*/) {
  using Exchange = cub::WarpExchange<double, 2>;
  __shared__ typename Exchange::TempStorage storage[kThreads / 32];
  const int first = blockIdx.x * kThreads * 2 + threadIdx.x * 2;
  double items[2] = {in[first], in[first + 1]};
  Exchange(storage[threadIdx.x / 32]).StripedToBlocked(items, items);
  for (int k = 0; k < 2; ++k) out[first + k] = items[k];
}
