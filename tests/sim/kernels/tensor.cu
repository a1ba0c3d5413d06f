// Boxes of tensors: cp.async.bulk.tensor of 1 to 5 dimensions, with swizzled rows, outside the tensor, and as
// reductions. Shared memory is given as it is, so that its layout is the test's.
#include <cuda.h>

#include "hopper.cuh"

namespace {

constexpr unsigned kMost = 16384;  // bytes of a box

/// Coordinates of the block's box: `step` times its place in a grid of two blocks a dimension, from `first`
/// (a multiple of 16 bytes) on, `other` + 1, `other` + 2 and so on in the dimensions behind the first.
struct Place {
  int c[5];
  __device__ Place(int first, int step, int other) {
    for (int d = 0; d < 5; ++d)
      c[d] = (d == 0 ? first : d + other) + step * (static_cast<int>(blockIdx.x >> d) & 1);
  }
};

template <int rank>
__device__ void load(unsigned to, const CUtensorMap* map, const Place& at, unsigned barrier) {
#define WARPLOOM_LOAD(n, list)                                                                              \
  if constexpr (rank == n)                                                                                  \
  asm volatile("cp.async.bulk.tensor." #n                                                                   \
               "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" list               \
               "}], [%2];" ::"r"(to),                                                                       \
               "l"(map), "r"(barrier), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]) \
               : "memory")
  WARPLOOM_LOAD(1, "%3");
  WARPLOOM_LOAD(2, "%3, %4");
  WARPLOOM_LOAD(3, "%3, %4, %5");
  WARPLOOM_LOAD(4, "%3, %4, %5, %6");
  WARPLOOM_LOAD(5, "%3, %4, %5, %6, %7");
}

/// out[block] = the box's `bytes` as they lie in shared memory.
template <int rank>
__device__ void loaded(const CUtensorMap& map, unsigned char* out, int bytes, int first, int step) {
  __shared__ alignas(1024) unsigned char box[kMost];
  __shared__ alignas(8) std::uint64_t barrier;
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
    init_barrier(&barrier, 1);
  }
  for (unsigned i = threadIdx.x; i < kMost; i += blockDim.x) box[i] = 0;  // what lies between narrow rows
  publish();
  if (threadIdx.x == 0) {
    expect(&barrier, bytes);
    load<rank>(shared_address(box), &map, Place(first, step, -2), shared_address(&barrier));
  }
  wait_for(&barrier, 0);
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[blockIdx.x * bytes + i] = box[i];
}

/// The block's `bytes` of `in` go to its box.
template <int rank, typename Store>
__device__ void stored(const CUtensorMap& map, const unsigned char* in, int bytes, int first, int step,
                       Store store) {
  __shared__ alignas(1024) unsigned char box[kMost];
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) box[i] = in[blockIdx.x * bytes + i];
  publish();
  if (threadIdx.x != 0) return;
  store(shared_address(box), &map, Place(first, step, -1));
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

}  // namespace

#define WARPLOOM_TENSOR_LOAD(n)                                                                           \
  extern "C" __global__ void tensor_load_##n(const __grid_constant__ CUtensorMap map, unsigned char* out, \
                                             int bytes, int first, int step) {                            \
    loaded<n>(map, out, bytes, first, step);                                                              \
  }
WARPLOOM_TENSOR_LOAD(1)
WARPLOOM_TENSOR_LOAD(2)
WARPLOOM_TENSOR_LOAD(3)
WARPLOOM_TENSOR_LOAD(4)
WARPLOOM_TENSOR_LOAD(5)

#define WARPLOOM_TENSOR_STORE(kernel, n, text, list)                                                       \
  extern "C" __global__ void kernel(const __grid_constant__ CUtensorMap map, const unsigned char* in,      \
                                    int bytes, int first, int step) {                                      \
    stored<n>(map, in, bytes, first, step, [](unsigned from, const CUtensorMap* to, const Place& at) {     \
      asm volatile("cp." text " [%1, {" list "}], [%0];" ::"r"(from), "l"(to), "r"(at.c[0]), "r"(at.c[1]), \
                   "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4])                                                \
                   : "memory");                                                                            \
    });                                                                                                    \
  }
#define WARPLOOM_STORE "d.global.shared::cta.tile.bulk_group"
WARPLOOM_TENSOR_STORE(tensor_store_1, 1, "async.bulk.tensor.1" WARPLOOM_STORE, "%2")
WARPLOOM_TENSOR_STORE(tensor_store_2, 2, "async.bulk.tensor.2" WARPLOOM_STORE, "%2, %3")
WARPLOOM_TENSOR_STORE(tensor_store_3, 3, "async.bulk.tensor.3" WARPLOOM_STORE, "%2, %3, %4")
WARPLOOM_TENSOR_STORE(tensor_store_5, 5, "async.bulk.tensor.5" WARPLOOM_STORE, "%2, %3, %4, %5, %6")
#define WARPLOOM_TENSOR_REDUCE(op)      \
  WARPLOOM_TENSOR_STORE(tensor_##op, 2, \
                        "reduce.async.bulk.tensor.2d.global.shared::cta." #op ".tile.bulk_group", "%2, %3")
WARPLOOM_TENSOR_REDUCE(add)
WARPLOOM_TENSOR_REDUCE(min)
WARPLOOM_TENSOR_REDUCE(max)
WARPLOOM_TENSOR_REDUCE(inc)
WARPLOOM_TENSOR_REDUCE(dec)
WARPLOOM_TENSOR_REDUCE(and)
WARPLOOM_TENSOR_REDUCE(or)
WARPLOOM_TENSOR_REDUCE(xor)
