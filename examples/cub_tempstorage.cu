// The demonstration of `warploom reuse`: sort a block's keys, give equal keys one rank each, and add
// the ranks up. Each CUB collective has its TempStorage of its own, as one first writes it; CUB's manual
// tells users to put them into one union by hand and to add the barriers that the union needs.
//
// cub_tempstorage.sm_90.ptx beside this file was made from it, so that the demonstration needs no
// CUDA toolkit:
//   nvcc -std=c++17 -ptx -arch=sm_90 -o cub_tempstorage.sm_90.ptx cub_tempstorage.cu

#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

using Key = unsigned long long;
constexpr int kThreads = 128;
constexpr int kItems = 12;  // keys a thread
constexpr int kTile = kThreads * kItems;

/// ranks[k] = how many distinct keys precede the k-th of the block's sorted keys; sums[block] = their sum.
/// Launch: grid of n / kTile blocks, kThreads threads each.
extern "C" __global__ __launch_bounds__(kThreads) void rank_keys(const Key* keys,  // [n]
                                                                 Key* sorted,      // [n]
                                                                 Key* ranks,       // [n]
                                                                 Key* sums) {      // [n / kTile]
  using Load = cub::BlockLoad<Key, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<Key, kThreads, kItems>;
  using Scan = cub::BlockScan<Key, kThreads>;
  using Reduce = cub::BlockReduce<Key, kThreads>;
  using Store = cub::BlockStore<Key, kThreads, kItems, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ typename Load::TempStorage load;
  __shared__ typename Sort::TempStorage sort;
  __shared__ Key last_keys[kThreads];
  __shared__ typename Scan::TempStorage scan;
  __shared__ typename Reduce::TempStorage reduce;
  __shared__ typename Store::TempStorage store;

  const int base = blockIdx.x * kTile;
  Key key[kItems], rank[kItems];
  Load(load).Load(keys + base, key);
  Sort(sort).Sort(key);

  last_keys[threadIdx.x] = key[kItems - 1];
  __syncthreads();
  for (int k = 0; k < kItems; ++k) {
    const bool first = threadIdx.x == 0 && k == 0;
    const Key previous = k > 0 ? key[k - 1] : last_keys[threadIdx.x == 0 ? 0 : threadIdx.x - 1];
    rank[k] = !first && key[k] != previous;
  }
  Scan(scan).InclusiveSum(rank, rank);
  const Key sum = Reduce(reduce).Sum(rank);
  Store(store).Store(ranks + base, rank);
  for (int k = 0; k < kItems; ++k) sorted[base + threadIdx.x * kItems + k] = key[k];
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
