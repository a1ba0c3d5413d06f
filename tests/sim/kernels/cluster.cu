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
