// CUB's block-level sort, scan and reduce, a kernel for each algorithm, type and count of items a thread.
// Every kernel works on one tile a block; the last tile may be short.
// Launch: kThreads threads a block, a block for each kThreads * items elements.
#include <cstdint>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

namespace {

constexpr int kThreads = 128;

/// The thread's items of the block's tile, in blocked arrangement; `fill` stands where the input has ended.
template <typename T, int kItems>
__device__ void load(const T* in, int n, T (&items)[kItems], T fill) {
  const int first = (blockIdx.x * kThreads + threadIdx.x) * kItems;
  for (int k = 0; k < kItems; ++k) items[k] = first + k < n ? in[first + k] : fill;
}
template <typename T, int kItems>
__device__ void store(T* out, int n, const T (&items)[kItems]) {
  const int first = (blockIdx.x * kThreads + threadIdx.x) * kItems;
  for (int k = 0; k < kItems; ++k)
    if (first + k < n) out[first + k] = items[k];
}

template <typename Key, int kItems>
__device__ void radix_sort_keys(const Key* in, Key* out, int n, Key last) {
  using Sort = cub::BlockRadixSort<Key, kThreads, kItems>;
  __shared__ typename Sort::TempStorage storage;
  Key keys[kItems];
  load(in, n, keys, last);
  Sort(storage).Sort(keys);
  store(out, n, keys);
}

template <typename Key, typename Value, int kItems>
__device__ void radix_sort_pairs(const Key* keys_in, const Value* values_in, Key* keys_out, Value* values_out,
                                 int n, Key last) {
  using Sort = cub::BlockRadixSort<Key, kThreads, kItems, Value>;
  __shared__ typename Sort::TempStorage storage;
  Key keys[kItems];
  Value values[kItems];
  load(keys_in, n, keys, last);
  load(values_in, n, values, Value{});
  Sort(storage).Sort(keys, values);
  store(keys_out, n, keys);
  store(values_out, n, values);
}

struct Less {
  template <typename T>
  __device__ bool operator()(const T& a, const T& b) const {
    return a < b;
  }
};

template <typename Key, int kItems>
__device__ void merge_sort_keys(const Key* in, Key* out, int n, Key last) {
  using Sort = cub::BlockMergeSort<Key, kThreads, kItems>;
  __shared__ typename Sort::TempStorage storage;
  Key keys[kItems];
  load(in, n, keys, last);
  const int tile = n - int(blockIdx.x) * kThreads * kItems;
  if (tile >= kThreads * kItems)
    Sort(storage).Sort(keys, Less{});
  else
    Sort(storage).Sort(keys, Less{}, tile, last);
  store(out, n, keys);
}

template <typename Key, typename Value, int kItems>
__device__ void merge_sort_pairs(const Key* keys_in, const Value* values_in, Key* keys_out, Value* values_out,
                                 int n, Key last) {
  using Sort = cub::BlockMergeSort<Key, kThreads, kItems, Value>;
  __shared__ typename Sort::TempStorage storage;
  Key keys[kItems];
  Value values[kItems];
  load(keys_in, n, keys, last);
  load(values_in, n, values, Value{});
  Sort(storage).StableSort(keys, values, Less{});
  store(keys_out, n, keys);
  store(values_out, n, values);
}

template <typename T, int kItems, cub::BlockScanAlgorithm kAlgorithm>
__device__ void inclusive_sum(const T* in, T* out, int n) {
  using Scan = cub::BlockScan<T, kThreads, kAlgorithm>;
  __shared__ typename Scan::TempStorage storage;
  T items[kItems];
  load(in, n, items, T{});
  Scan(storage).InclusiveSum(items, items);
  store(out, n, items);
}
template <typename T, int kItems, cub::BlockScanAlgorithm kAlgorithm>
__device__ void exclusive_sum(const T* in, T* out, T* totals, int n) {
  using Scan = cub::BlockScan<T, kThreads, kAlgorithm>;
  __shared__ typename Scan::TempStorage storage;
  T items[kItems], total;
  load(in, n, items, T{});
  Scan(storage).ExclusiveSum(items, items, total);
  store(out, n, items);
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

struct Max {
  template <typename T>
  __device__ T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};

/// A line x -> slope * x + offset; composition is associative and does not commute. Wraps modulo 2^32.
struct Line {
  std::uint32_t slope, offset;
};
struct Compose {
  __device__ Line operator()(Line a, Line b) const {
    return {a.slope * b.slope, b.slope * a.offset + b.offset};
  }
};

template <cub::BlockScanAlgorithm kAlgorithm>
__device__ void compose(const std::uint32_t* in, std::uint32_t* out, int n) {
  using Scan = cub::BlockScan<Line, kThreads, kAlgorithm>;
  __shared__ typename Scan::TempStorage storage;
  const int i = blockIdx.x * kThreads + threadIdx.x;
  Line line{i < n ? in[2 * i] : 1, i < n ? in[2 * i + 1] : 0};
  Scan(storage).InclusiveScan(line, line, Compose{});
  if (i < n) out[2 * i] = line.slope, out[2 * i + 1] = line.offset;
}

template <typename T, int kItems, cub::BlockReduceAlgorithm kAlgorithm>
__device__ void sum(const T* in, T* out, int n) {
  using Reduce = cub::BlockReduce<T, kThreads, kAlgorithm>;
  __shared__ typename Reduce::TempStorage storage;
  T items[kItems];
  load(in, n, items, T{});
  const T total = Reduce(storage).Sum(items);
  if (threadIdx.x == 0) out[blockIdx.x] = total;
}

}  // namespace

#define SORT_KEYS(name, function, Key, items, last)                                 \
  extern "C" __global__ void name(const Key* in /*[n]*/, Key* out /*[n]*/, int n) { \
    function<Key, items>(in, out, n, last);                                         \
  }
SORT_KEYS(radix_sort_u32_1, radix_sort_keys, std::uint32_t, 1, ~0u)
SORT_KEYS(radix_sort_u32_4, radix_sort_keys, std::uint32_t, 4, ~0u)
SORT_KEYS(radix_sort_f32_7, radix_sort_keys, float, 7, __int_as_float(0x7f800000))
SORT_KEYS(radix_sort_u64_3, radix_sort_keys, std::uint64_t, 3, ~0ull)
SORT_KEYS(radix_sort_u8_8, radix_sort_keys, std::uint8_t, 8, 255)
SORT_KEYS(merge_sort_u32_1, merge_sort_keys, std::uint32_t, 1, ~0u)
SORT_KEYS(merge_sort_f32_5, merge_sort_keys, float, 5, __int_as_float(0x7f800000))
SORT_KEYS(merge_sort_u64_2, merge_sort_keys, std::uint64_t, 2, ~0ull)
SORT_KEYS(merge_sort_u8_4, merge_sort_keys, std::uint8_t, 4, 255)

#define SORT_PAIRS(name, function, Key, Value, items, last)                                   \
  extern "C" __global__ void name(const Key* keys_in /*[n]*/, const Value* values_in /*[n]*/, \
                                  Key* keys_out /*[n]*/, Value* values_out /*[n]*/, int n) {  \
    function<Key, Value, items>(keys_in, values_in, keys_out, values_out, n, last);           \
  }
SORT_PAIRS(radix_sort_pairs_u32_f32_4, radix_sort_pairs, std::uint32_t, float, 4, ~0u)
SORT_PAIRS(radix_sort_pairs_f32_u64_2, radix_sort_pairs, float, std::uint64_t, 2, __int_as_float(0x7f800000))
SORT_PAIRS(radix_sort_pairs_u8_u32_5, radix_sort_pairs, std::uint8_t, std::uint32_t, 5, 255)
SORT_PAIRS(merge_sort_pairs_f32_u32_3, merge_sort_pairs, float, std::uint32_t, 3, __int_as_float(0x7f800000))

/// Keys from the largest to the smallest, compared by bits 4 to 19 alone; out is striped.
extern "C" __global__ void radix_sort_descending_striped(const std::uint32_t* in /*[n]*/,
                                                         std::uint32_t* out /*[n]*/, int n) {
  constexpr int kItems = 4;
  using Sort = cub::BlockRadixSort<std::uint32_t, kThreads, kItems>;
  __shared__ typename Sort::TempStorage storage;
  std::uint32_t keys[kItems];
  load(in, n, keys, 0u);
  Sort(storage).SortDescendingBlockedToStriped(keys, 4, 20);
  for (int k = 0; k < kItems; ++k) {
    const int i = blockIdx.x * kThreads * kItems + k * kThreads + threadIdx.x;
    if (i < n) out[i] = keys[k];
  }
}

#define INCLUSIVE_SUM(name, T, items, algorithm)                                \
  extern "C" __global__ void name(const T* in /*[n]*/, T* out /*[n]*/, int n) { \
    inclusive_sum<T, items, algorithm>(in, out, n);                             \
  }
INCLUSIVE_SUM(inclusive_sum_raking_i32_4, int, 4, cub::BLOCK_SCAN_RAKING)
INCLUSIVE_SUM(inclusive_sum_memoize_i32_3, int, 3, cub::BLOCK_SCAN_RAKING_MEMOIZE)
INCLUSIVE_SUM(inclusive_sum_warps_i32_1, int, 1, cub::BLOCK_SCAN_WARP_SCANS)
INCLUSIVE_SUM(inclusive_sum_raking_f32_2, float, 2, cub::BLOCK_SCAN_RAKING)
INCLUSIVE_SUM(inclusive_sum_warps_f32_4, float, 4, cub::BLOCK_SCAN_WARP_SCANS)
INCLUSIVE_SUM(inclusive_sum_warps_u64_2, std::uint64_t, 2, cub::BLOCK_SCAN_WARP_SCANS)

#define EXCLUSIVE_SUM(name, T, items, algorithm)                                                           \
  extern "C" __global__ void name(const T* in /*[n]*/, T* out /*[n]*/, T* totals /*[gridDim.x]*/, int n) { \
    exclusive_sum<T, items, algorithm>(in, out, totals, n);                                                \
  }
EXCLUSIVE_SUM(exclusive_sum_raking_i32_1, int, 1, cub::BLOCK_SCAN_RAKING)
EXCLUSIVE_SUM(exclusive_sum_memoize_f32_4, float, 4, cub::BLOCK_SCAN_RAKING_MEMOIZE)
EXCLUSIVE_SUM(exclusive_sum_warps_i32_5, int, 5, cub::BLOCK_SCAN_WARP_SCANS)
EXCLUSIVE_SUM(exclusive_sum_warps_f64_2, double, 2, cub::BLOCK_SCAN_WARP_SCANS)

/// out[i] = the greatest of in[0..i] of the tile.
extern "C" __global__ void inclusive_max_i32_3(const int* in /*[n]*/, int* out /*[n]*/, int n) {
  using Scan = cub::BlockScan<int, kThreads>;
  __shared__ typename Scan::TempStorage storage;
  int items[3];
  load(in, n, items, INT_MIN);
  Scan(storage).InclusiveScan(items, items, Max{});
  store(out, n, items);
}

#define COMPOSE(name, algorithm)                                                                     \
  extern "C" __global__ void name(const std::uint32_t* in /*[n, 2]*/, std::uint32_t* out /*[n, 2]*/, \
                                  int n) {                                                           \
    compose<algorithm>(in, out, n);                                                                  \
  }
COMPOSE(compose_raking, cub::BLOCK_SCAN_RAKING)
COMPOSE(compose_memoize, cub::BLOCK_SCAN_RAKING_MEMOIZE)
COMPOSE(compose_warps, cub::BLOCK_SCAN_WARP_SCANS)

/// Running sums of all n elements by one block, tile after tile, the last sum handed on by a callback.
extern "C" __global__ void running_sum(const int* in /*[n]*/, int* out /*[n]*/, int n) {
  struct Carry {
    int sum;
    __device__ int operator()(int tile) { return sum += tile, sum - tile; }
  };
  using Scan = cub::BlockScan<int, kThreads>;
  __shared__ typename Scan::TempStorage storage;
  Carry carry{0};
  for (int tile = 0; tile < n; tile += kThreads) {
    const int i = tile + int(threadIdx.x);
    int sum = i < n ? in[i] : 0;
    Scan(storage).InclusiveSum(sum, sum, carry);
    if (i < n) out[i] = sum;
    __syncthreads();
  }
}

#define SUM(name, T, items, algorithm)                                                  \
  extern "C" __global__ void name(const T* in /*[n]*/, T* out /*[gridDim.x]*/, int n) { \
    sum<T, items, algorithm>(in, out, n);                                               \
  }
SUM(sum_raking_i32_4, int, 4, cub::BLOCK_REDUCE_RAKING)
SUM(sum_raking_f32_1, float, 1, cub::BLOCK_REDUCE_RAKING)
SUM(sum_raking_f64_2, double, 2, cub::BLOCK_REDUCE_RAKING)
SUM(sum_commutative_i32_1, int, 1, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY)
SUM(sum_commutative_f32_3, float, 3, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY)
SUM(sum_commutative_f64_1, double, 1, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY)
SUM(sum_warps_i32_1, int, 1, cub::BLOCK_REDUCE_WARP_REDUCTIONS)
SUM(sum_warps_f32_4, float, 4, cub::BLOCK_REDUCE_WARP_REDUCTIONS)
SUM(sum_warps_f64_3, double, 3, cub::BLOCK_REDUCE_WARP_REDUCTIONS)

/// out[block] = the greatest element of a tile of one element a thread, of which the last may be short.
extern "C" __global__ void max_partial_f32(const float* in /*[n]*/, float* out /*[gridDim.x]*/, int n) {
  using Reduce = cub::BlockReduce<float, kThreads>;
  __shared__ typename Reduce::TempStorage storage;
  const int i = blockIdx.x * kThreads + threadIdx.x, valid = n - int(blockIdx.x) * kThreads;
  const float x = i < n ? in[i] : 0;
  const float most =
      valid < kThreads ? Reduce(storage).Reduce(x, Max{}, valid) : Reduce(storage).Reduce(x, Max{});
  if (threadIdx.x == 0) out[blockIdx.x] = most;
}
