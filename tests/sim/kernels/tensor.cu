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

namespace {

/// Pixels of an image: coordinates `at` of W, H, D and N, `offset` added to all but the last.
template <int rank>
__device__ void load_columns(unsigned to, const CUtensorMap* map, int channel, const int4& at,
                             const int4& offset, unsigned barrier) {
#define WARPLOOM_COLUMNS(n, coordinates, offsets)                                                      \
  if constexpr (rank == n)                                                                             \
  asm volatile("cp.async.bulk.tensor." #n                                                              \
               "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates \
               "}], [%2], {" offsets "};" ::"r"(to),                                                   \
               "l"(map), "r"(barrier), "r"(channel), "r"(at.x), "r"(at.y), "r"(at.z), "r"(at.w),       \
               "h"(static_cast<short>(offset.x)), "h"(static_cast<short>(offset.y)),                   \
               "h"(static_cast<short>(offset.z))                                                       \
               : "memory")
  WARPLOOM_COLUMNS(3, "%3, %4, %5", "%8");
  WARPLOOM_COLUMNS(4, "%3, %4, %5, %6", "%8, %9");
  WARPLOOM_COLUMNS(5, "%3, %4, %5, %6, %7", "%8, %9, %10");
}

/// Block i begins at `at` and i in each dimension, and adds i to the first offset.
template <int rank>
__device__ void columns_loaded(const CUtensorMap& map, unsigned char* out, int bytes, int channel, int4 at,
                               int4 offset) {
  __shared__ alignas(1024) unsigned char box[kMost];
  __shared__ alignas(8) std::uint64_t barrier;
  if (threadIdx.x == 0) init_barrier(&barrier, 1);
  for (unsigned i = threadIdx.x; i < kMost; i += blockDim.x) box[i] = 0;
  publish();
  if (threadIdx.x == 0) {
    const int i = static_cast<int>(blockIdx.x);
    at.x += i;
    if (rank > 3) at.y += i;
    offset.x += i;
    expect(&barrier, bytes);
    load_columns<rank>(shared_address(box), &map, channel, at, offset, shared_address(&barrier));
  }
  wait_for(&barrier, 0);
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[blockIdx.x * bytes + i] = box[i];
}

}  // namespace

#define WARPLOOM_COLUMNS_LOAD(n)                                                                             \
  extern "C" __global__ void columns_load_##n(const __grid_constant__ CUtensorMap map, unsigned char* out,   \
                                              int bytes, int channel, int w, int h, int d, int b, int off) { \
    columns_loaded<n>(map, out, bytes, channel,                                                              \
                      n == 3   ? make_int4(w, b, 0, 0)                                                       \
                      : n == 4 ? make_int4(w, h, b, 0)                                                       \
                               : make_int4(w, h, d, b),                                                      \
                      make_int4(off, off, off, 0));                                                          \
  }
WARPLOOM_COLUMNS_LOAD(3)
WARPLOOM_COLUMNS_LOAD(4)
WARPLOOM_COLUMNS_LOAD(5)

extern "C" __global__ void columns_store(const __grid_constant__ CUtensorMap map, const unsigned char* in,
                                         int bytes, int w, int h, int n) {
  __shared__ alignas(1024) unsigned char box[kMost];
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) box[i] = in[i];
  publish();
  if (threadIdx.x != 0) return;
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%2, %3, %4, %5}], [%1];\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(&map),
      "r"(shared_address(box)), "r"(0), "r"(w), "r"(h), "r"(n)
      : "memory");
}

/// `bytes` of `out` change by those of `in`.
#define WARPLOOM_BULK_REDUCE(kernel, text)                                                           \
  extern "C" __global__ void kernel(const unsigned char* in, unsigned char* out, int bytes) {        \
    __shared__ alignas(128) unsigned char box[kMost];                                                \
    for (int i = threadIdx.x; i < bytes; i += blockDim.x) box[i] = in[blockIdx.x * bytes + i];       \
    publish();                                                                                       \
    if (threadIdx.x != 0) return;                                                                    \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." text                          \
                 " [%0], [%1], %2;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"( \
                     out + blockIdx.x * bytes),                                                      \
                 "r"(shared_address(box)), "r"(bytes)                                                \
                 : "memory");                                                                        \
  }
WARPLOOM_BULK_REDUCE(bulk_add_u32, "add.u32")
WARPLOOM_BULK_REDUCE(bulk_add_u64, "add.u64")
WARPLOOM_BULK_REDUCE(bulk_add_f32, "add.f32")
WARPLOOM_BULK_REDUCE(bulk_add_f64, "add.f64")
WARPLOOM_BULK_REDUCE(bulk_add_f16, "add.noftz.f16")
WARPLOOM_BULK_REDUCE(bulk_add_bf16, "add.noftz.bf16")
WARPLOOM_BULK_REDUCE(bulk_min_s32, "min.s32")
WARPLOOM_BULK_REDUCE(bulk_max_u64, "max.u64")
WARPLOOM_BULK_REDUCE(bulk_min_s64, "min.s64")
WARPLOOM_BULK_REDUCE(bulk_min_f16, "min.f16")
WARPLOOM_BULK_REDUCE(bulk_max_bf16, "max.bf16")
WARPLOOM_BULK_REDUCE(bulk_inc_u32, "inc.u32")
WARPLOOM_BULK_REDUCE(bulk_dec_u32, "dec.u32")
WARPLOOM_BULK_REDUCE(bulk_xor_b64, "xor.b64")

/// Four threads change the same `bytes` of shared memory; an mbarrier counts them.
#define WARPLOOM_SHARED_REDUCE(kernel, text)                                                             \
  extern "C" __global__ void kernel(const unsigned char* in, unsigned char* out, int bytes) {            \
    __shared__ alignas(128) unsigned char box[5][512];                                                   \
    __shared__ alignas(8) std::uint64_t barrier;                                                         \
    if (threadIdx.x == 0) init_barrier(&barrier, 1);                                                     \
    for (int i = threadIdx.x; i < 5 * bytes; i += blockDim.x) box[i / bytes][i % bytes] = in[i];         \
    publish();                                                                                           \
    if (threadIdx.x == 0) expect(&barrier, 4 * bytes);                                                   \
    if (threadIdx.x < 4)                                                                                 \
      asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." text \
                   " [%0], [%1], %2, [%3];" ::"r"(shared_address(box[4])),                               \
                   "r"(shared_address(box[threadIdx.x])), "r"(bytes), "r"(shared_address(&barrier))      \
                   : "memory");                                                                          \
    wait_for(&barrier, 0);                                                                               \
    for (int i = threadIdx.x; i < bytes; i += blockDim.x) out[blockIdx.x * bytes + i] = box[4][i];       \
  }
WARPLOOM_SHARED_REDUCE(shared_add_u32, "add.u32")
WARPLOOM_SHARED_REDUCE(shared_add_u64, "add.u64")
WARPLOOM_SHARED_REDUCE(shared_max_s32, "max.s32")
WARPLOOM_SHARED_REDUCE(shared_and_b32, "and.b32")
