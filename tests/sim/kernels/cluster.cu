// Clusters of blocks: distributed shared memory, the cluster's barrier, and boxes of tensors that several
// blocks get.
#include <cooperative_groups.h>
#include <cuda.h>

#include "hopper.cuh"

namespace cg = cooperative_groups;

/// A histogram of 256 bins a cluster, a share in each block's shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1)
    cluster_histogram(const unsigned* values, unsigned* bins, int count) {
  __shared__ unsigned share[64];
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x < 64) share[threadIdx.x] = 0;
  cluster.sync();
  const int each = count / gridDim.x;
  for (int i = threadIdx.x; i < each; i += blockDim.x) {
    const unsigned bin = values[blockIdx.x * each + i] % 256;
    atomicAdd(cluster.map_shared_rank(share, bin / 64) + bin % 64, 1u);
  }
  cluster.sync();
  if (threadIdx.x < 64)
    bins[blockIdx.x / 4 * 256 + cluster.block_rank() * 64 + threadIdx.x] = share[threadIdx.x];
}

/// Each block's sum goes round the cluster: out[block] = the sum of all blocks of its cluster, weighed by how
/// far they are.
extern "C" __global__ void cluster_ring(const unsigned* values, unsigned* out) {
  __shared__ unsigned mine[128];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
  mine[threadIdx.x] = values[blockIdx.x * 128 + threadIdx.x];
  cluster.sync();
  unsigned sum = 0;
  for (unsigned step = 0; step < size; ++step)
    sum += (step + 1) * cluster.map_shared_rank(mine, (rank + step) % size)[127 - threadIdx.x];
  cluster.sync();
  out[blockIdx.x * 128 + threadIdx.x] = sum + 1000 * cluster.dim_blocks().x + cluster.block_index().x;
}

/// One box goes to all blocks of the cluster: out[block] = the box as it lies in its shared memory.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    cluster_multicast(const __grid_constant__ CUtensorMap map, unsigned char* out, int bytes) {
  __shared__ alignas(1024) unsigned char box[2][4096];
  __shared__ alignas(8) std::uint64_t barrier;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(
                     shared_address(&barrier))
                 : "memory");
  cluster.sync();
  if (threadIdx.x == 0) {
    expect(&barrier, 2 * bytes);
    // Each block brings half of what both get.
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, "
        "%4}], [%2], %5;" ::"r"(shared_address(box[rank])),
        "l"(&map), "r"(shared_address(&barrier)), "r"(static_cast<int>(blockIdx.x / 2 * 8)),
        "r"(static_cast<int>(8 * rank)), "h"(static_cast<std::uint16_t>(3))
        : "memory");
  }
  wait_for(&barrier, 0);
  for (int i = threadIdx.x; i < 2 * bytes; i += blockDim.x)
    out[blockIdx.x * 2 * bytes + i] = box[i / bytes][i % bytes];
  cluster.sync();
}

/// Bytes go to all blocks of the cluster: out[block] = what both blocks sent to it.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    cluster_multicast_bytes(const unsigned* in, unsigned* out) {
  __shared__ alignas(16) unsigned box[2][64];
  __shared__ alignas(8) std::uint64_t barrier;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  if (threadIdx.x == 0) init_barrier(&barrier, 1);
  cluster.sync();
  if (threadIdx.x == 0) {
    expect(&barrier, sizeof box);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, "
        "[%2], %3;" ::"r"(shared_address(box[rank])),
        "l"(in + blockIdx.x * 64), "r"(shared_address(&barrier)), "h"(static_cast<std::uint16_t>(3))
        : "memory");
  }
  wait_for(&barrier, 0);
  for (unsigned i = threadIdx.x; i < 128; i += blockDim.x) out[blockIdx.x * 128 + i] = box[i / 64][i % 64];
  cluster.sync();
}

/// The place of `p` in another block of the cluster.
__device__ unsigned in_block(const void* p, unsigned rank) {
  unsigned at;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(p)), "r"(rank));
  return at;
}

/// Each block stores to its neighbour, which waits for the bytes: words, pairs and fours.
extern "C" __global__ void cluster_store_async(const unsigned* in, unsigned* out) {
  __shared__ alignas(16) unsigned box[7 * 64];
  __shared__ alignas(8) std::uint64_t barrier;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks(), i = threadIdx.x;
  if (i == 0) {
    init_barrier(&barrier, 1);
    expect(&barrier, sizeof box);
  }
  cluster.sync();
  const unsigned* const from = in + blockIdx.x * 448 + 4 * i;
  const unsigned there = in_block(&barrier, next);
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
                   in_block(box + i, next)),
               "r"(from[0]), "r"(there)
               : "memory");
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%0], {%1, %2}, [%3];" ::"r"(
          in_block(box + 64 + 2 * i, next)),
      "r"(from[1]), "r"(from[2]), "r"(there)
      : "memory");
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
          in_block(box + 192 + 4 * i, next)),
      "r"(from[0] + 1), "r"(from[1] + 2), "r"(from[2] + 3), "r"(from[3] + 4), "r"(there)
      : "memory");
  wait_for(&barrier, 0);
  for (unsigned k = i; k < 448; k += blockDim.x) out[blockIdx.x * 448 + k] = box[k];
  cluster.sync();
}

#define WARPLOOM_RED_ASYNC(op, at, value)                                                   \
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." op \
               " [%0], %1, [%2];" ::"r"(in_block(at, next)),                                \
               "r"(value), "r"(there)                                                       \
               : "memory")

/// Each thread adds to what its neighbour block holds, in every way.
extern "C" __global__ void cluster_reduce_async(const unsigned* in, unsigned* out) {
  __shared__ alignas(16) unsigned sums[10];
  __shared__ unsigned long long wide;
  __shared__ alignas(8) std::uint64_t barrier;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks(), i = threadIdx.x;
  if (i < 10) sums[i] = i * 0x01020304u;
  if (i == 0) {
    wide = 5;
    init_barrier(&barrier, 1);
    expect(&barrier, (10 * 4 + 8) * blockDim.x);
  }
  cluster.sync();
  const unsigned there = in_block(&barrier, next), value = in[blockIdx.x * blockDim.x + i];
  WARPLOOM_RED_ASYNC("add.u32", sums, value);
  WARPLOOM_RED_ASYNC("add.s32", sums + 1, value);
  WARPLOOM_RED_ASYNC("min.u32", sums + 2, value);
  WARPLOOM_RED_ASYNC("max.u32", sums + 3, value);
  WARPLOOM_RED_ASYNC("min.s32", sums + 4, value);
  WARPLOOM_RED_ASYNC("max.s32", sums + 5, value);
  WARPLOOM_RED_ASYNC("and.b32", sums + 6, value | 0xffff0000u);
  WARPLOOM_RED_ASYNC("or.b32", sums + 7, value & 0x8421u);
  WARPLOOM_RED_ASYNC("xor.b32", sums + 8, value);
  WARPLOOM_RED_ASYNC("inc.u32", sums + 9, 0xffffffffu);
  asm volatile(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%0], %1, [%2];" ::"r"(
          in_block(&wide, next)),
      "l"(0x100000001ull * value), "r"(there)
      : "memory");
  wait_for(&barrier, 0);
  if (i < 10) out[blockIdx.x * 12 + i] = sums[i];
  if (i == 10) out[blockIdx.x * 12 + 10] = static_cast<unsigned>(wide);
  if (i == 11) out[blockIdx.x * 12 + 11] = static_cast<unsigned>(wide >> 32);
  cluster.sync();
}

__device__ alignas(128) CUtensorMap replaced_map;

/// A tensor map that the kernel itself makes of another: of `other`, of fewer columns. out: its box at (0,
/// 2).
extern "C" __global__ void tensor_map_replaced(const __grid_constant__ CUtensorMap map, const float* other,
                                               float* out) {
  __shared__ alignas(128) unsigned made[32];
  __shared__ alignas(128) float box[8][16];
  __shared__ alignas(8) std::uint64_t barrier;
  made[threadIdx.x] = reinterpret_cast<const unsigned*>(&map)[threadIdx.x];
  __syncwarp();
  if (threadIdx.x == 0) {
    init_barrier(&barrier, 1);
    asm volatile(
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(shared_address(made)),
        "l"(other)
        : "memory");
    asm volatile(
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(shared_address(made)),
        "r"(12)
        : "memory");
    asm volatile(
        "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(shared_address(made)),
        "l"(std::uint64_t{64})
        : "memory");
  }
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::
          "l"(&replaced_map),
      "r"(shared_address(made))
      : "memory");
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(&replaced_map) : "memory");
    expect(&barrier, sizeof box);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
            "r"(shared_address(box)),
        "l"(&replaced_map), "r"(shared_address(&barrier)), "r"(0), "r"(2)
        : "memory");
  }
  wait_for(&barrier, 0);
  for (unsigned i = threadIdx.x; i < 128; i += 32) out[i] = box[i / 16][i % 16];
}
