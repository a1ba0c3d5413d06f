// Products whose A is sparse: mma.sp and wgmma.mma_async.sp; wgmma of single bits and of tiles that begin
// within a pattern of swizzling. Registers come from memory as they are, [warp, register, lane]; metadata are
// random words, of which each four bits become some that PTX allows.
#include "held.cuh"
#include "hopper.cuh"
#include "swizzle.cuh"

namespace {

enum Kind { ordered, any_order, halves };
/// Two different places among four, four bits of each of eight; of `halves` the places of one element of two.
__device__ unsigned metadata(unsigned random, Kind kind) {
  unsigned all = 0;
  for (int i = 0; i < 8; ++i) {
    const unsigned four = random >> 4 * i & 15;
    unsigned pair;
    if (kind == halves) {
      pair = four & 1 ? 0b1110 : 0b0100;
    } else {
      const unsigned first = four % 4, second = (first + 1 + four / 4 % 3) % 4;
      pair = kind == any_order ? first | second << 2 : min(first, second) | max(first, second) << 2;
    }
    all |= pair << 4 * i;
  }
  return all;
}

}  // namespace

// Operands of A and B of 2 or 4 registers, of C and D 4.
#define WARPLOOM_SPARSE_4(kernel, text, kind, T, c, selector)                                               \
  extern "C" __global__ void kernel(const unsigned* a, const unsigned* b, const T* c_in, const unsigned* e, \
                                    T* d_out) {                                                             \
    const Held<unsigned, 4> x(a), y(b);                                                                     \
    const Held<T, 4> z(c_in);                                                                               \
    const unsigned m = metadata(Held<unsigned, 1>(e).x[0], kind);                                           \
    Held<T, 4> d;                                                                                           \
    asm volatile("mma." text " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9,%10,%11},{%12,%13,%14,%15},%16,%17;"      \
                 : "=" c(d.x[0]), "=" c(d.x[1]), "=" c(d.x[2]), "=" c(d.x[3])                               \
                 : "r"(x.x[0]), "r"(x.x[1]), "r"(x.x[2]), "r"(x.x[3]), "r"(y.x[0]), "r"(y.x[1]),            \
                   "r"(y.x[2]), "r"(y.x[3]), c(z.x[0]), c(z.x[1]), c(z.x[2]), c(z.x[3]), "r"(m),            \
                   "n"(selector));                                                                          \
    d.store(d_out);                                                                                         \
  }
#define WARPLOOM_SPARSE_2(kernel, text, kind, T, c, selector)                                               \
  extern "C" __global__ void kernel(const unsigned* a, const unsigned* b, const T* c_in, const unsigned* e, \
                                    T* d_out) {                                                             \
    const Held<unsigned, 2> x(a), y(b);                                                                     \
    const Held<T, 4> z(c_in);                                                                               \
    const unsigned m = metadata(Held<unsigned, 1>(e).x[0], kind);                                           \
    Held<T, 4> d;                                                                                           \
    asm volatile("mma." text " {%0,%1,%2,%3},{%4,%5},{%6,%7},{%8,%9,%10,%11},%12,%13;"                      \
                 : "=" c(d.x[0]), "=" c(d.x[1]), "=" c(d.x[2]), "=" c(d.x[3])                               \
                 : "r"(x.x[0]), "r"(x.x[1]), "r"(y.x[0]), "r"(y.x[1]), c(z.x[0]), c(z.x[1]), c(z.x[2]),     \
                   c(z.x[3]), "r"(m), "n"(selector));                                                       \
    d.store(d_out);                                                                                         \
  }
#define WARPLOOM_ORDERED "sp::ordered_metadata.sync.aligned."

WARPLOOM_SPARSE_2(sparse_f16_k16, WARPLOOM_ORDERED "m16n8k16.row.col.f32.f16.f16.f32", ordered, float, "f", 0)
WARPLOOM_SPARSE_2(sparse_f16_k16_by_3, WARPLOOM_ORDERED "m16n8k16.row.col.f32.f16.f16.f32", ordered, float,
                  "f", 3)
WARPLOOM_SPARSE_4(sparse_f16_k32, WARPLOOM_ORDERED "m16n8k32.row.col.f32.f16.f16.f32", ordered, float, "f", 0)
WARPLOOM_SPARSE_4(sparse_f16_k32_by_1, WARPLOOM_ORDERED "m16n8k32.row.col.f32.f16.f16.f32", ordered, float,
                  "f", 1)
WARPLOOM_SPARSE_4(sparse_f16_any_order, "sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", any_order, float,
                  "f", 1)
WARPLOOM_SPARSE_2(sparse_bf16_k16, WARPLOOM_ORDERED "m16n8k16.row.col.f32.bf16.bf16.f32", ordered, float, "f",
                  2)
WARPLOOM_SPARSE_4(sparse_bf16_k32, WARPLOOM_ORDERED "m16n8k32.row.col.f32.bf16.bf16.f32", ordered, float, "f",
                  0)
WARPLOOM_SPARSE_2(sparse_tf32_k8, WARPLOOM_ORDERED "m16n8k8.row.col.f32.tf32.tf32.f32", halves, float, "f", 1)
WARPLOOM_SPARSE_4(sparse_tf32_k16, WARPLOOM_ORDERED "m16n8k16.row.col.f32.tf32.tf32.f32", halves, float, "f",
                  1)
WARPLOOM_SPARSE_2(sparse_s8_k32, WARPLOOM_ORDERED "m16n8k32.row.col.s32.s8.u8.s32", ordered, int, "r", 0)
WARPLOOM_SPARSE_2(sparse_s8_k32_by_1, WARPLOOM_ORDERED "m16n8k32.row.col.satfinite.s32.s8.s8.s32", ordered,
                  int, "r", 1)
WARPLOOM_SPARSE_4(sparse_u8_k64, WARPLOOM_ORDERED "m16n8k64.row.col.s32.u8.s8.s32", ordered, int, "r", 0)
WARPLOOM_SPARSE_4(sparse_s8_any_order, "sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32", any_order, int, "r",
                  0)
WARPLOOM_SPARSE_2(sparse_s4_k64, WARPLOOM_ORDERED "m16n8k64.row.col.s32.s4.u4.s32", ordered, int, "r", 1)
WARPLOOM_SPARSE_4(sparse_u4_k128, WARPLOOM_ORDERED "m16n8k128.row.col.s32.u4.u4.s32", ordered, int, "r", 0)
WARPLOOM_SPARSE_4(sparse_e4m3_k64, WARPLOOM_ORDERED "m16n8k64.row.col.f32.e4m3.e5m2.f32", ordered, float, "f",
                  0)

extern "C" __global__ void sparse_half_k32(const unsigned* a, const unsigned* b, const unsigned* c,
                                           const unsigned* e, unsigned* out) {
  const Held<unsigned, 4> x(a), y(b);
  const Held<unsigned, 2> z(c);
  const unsigned m = metadata(Held<unsigned, 1>(e).x[0], ordered);
  Held<unsigned, 2> d;
  asm volatile("mma." WARPLOOM_ORDERED
               "m16n8k32.row.col.f16.f16.f16.f16 {%0,%1},{%2,%3,%4,%5},{%6,%7,%8,%9},{%10,%11},%12,0;"
               : "=r"(d.x[0]), "=r"(d.x[1])
               : "r"(x.x[0]), "r"(x.x[1]), "r"(x.x[2]), "r"(x.x[3]), "r"(y.x[0]), "r"(y.x[1]), "r"(y.x[2]),
                 "r"(y.x[3]), "r"(z.x[0]), "r"(z.x[1]), "r"(m));
  d.store(out);
}

namespace {

/// From that byte of the rows on.
__device__ std::uint64_t k_major(const void* tile, unsigned rows, unsigned byte, unsigned layout) {
  if (layout == plain) return descriptor(tile, byte * rows, rows * 16, 128, layout);
  const unsigned p = pitch(layout);
  return descriptor(tile, byte / p * rows * p + byte % p, 16, 8 * p, layout);
}
__device__ void fill(unsigned char* tile, const unsigned char* from, unsigned rows, unsigned bytes,
                     unsigned layout) {
  for (unsigned i = threadIdx.x; i < rows * bytes; i += blockDim.x)
    tile[along_k(i / bytes, i % bytes, rows, layout)] = from[blockIdx.x * rows * bytes + i];
}

}  // namespace

/// D = A B + C, four instructions: rows of A have 128 bytes, of B's columns 256.
#define WARPLOOM_SPARSE_WGMMA(kernel, text, kind, T, c, count, pa, pb, pe, pp, selector, last)             \
  extern "C" __global__ void __launch_bounds__(128)                                                        \
      kernel(const unsigned char* a, const unsigned char* b, const T* c_in, const unsigned* e, T* d_out,   \
             unsigned layout) {                                                                            \
    __shared__ alignas(1024) unsigned char a_tile[64 * 128], b_tile[8 * 256];                              \
    fill(a_tile, a, 64, 128, layout);                                                                      \
    fill(b_tile, b, 8, 256, layout);                                                                       \
    publish();                                                                                             \
    T d[count];                                                                                            \
    const unsigned at = (blockIdx.x * 128 + threadIdx.x) * count;                                          \
    for (int i = 0; i < count; ++i) d[i] = c_in[at + i];                                                   \
    unsigned m[4];                                                                                         \
    for (int i = 0; i < 4; ++i) m[i] = metadata(e[(blockIdx.x * 128 + threadIdx.x) * 4 + i], kind);        \
    warpgroup_fence();                                                                                     \
    for (unsigned step = 0; step < 4; ++step)                                                              \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #pp ", 0;\nwgmma.mma_async.sp.sync.aligned." text  \
                   " " WARPLOOM_LIST_##count ", %" #pa ", %" #pb ", %" #pe ", " #selector ", p" last "\n}" \
                   : WARPLOOM_HELD_##count(c)                                                              \
                   : "l"(k_major(a_tile, 64, step * 32, layout)),                                          \
                     "l"(k_major(b_tile, 8, step * 64, layout)), "r"(m[step]), "r"(1));                    \
    warpgroup_commit_and_wait();                                                                           \
    for (int i = 0; i < count; ++i) d_out[at + i] = d[i];                                                  \
  }

WARPLOOM_SPARSE_WGMMA(wgmma_sparse_f16, "m64n8k32.f32.f16.f16", ordered, float, "f", 4, 4, 5, 6, 7, 0,
                      ", 1, 1, 0, 0;")
WARPLOOM_SPARSE_WGMMA(wgmma_sparse_bf16, "m64n8k32.f32.bf16.bf16", ordered, float, "f", 4, 4, 5, 6, 7, 1,
                      ", 1, -1, 0, 0;")
WARPLOOM_SPARSE_WGMMA(wgmma_sparse_half_sum, "m64n8k32.f16.f16.f16", ordered, unsigned, "r", 2, 2, 3, 4, 5, 0,
                      ", 1, 1, 0, 0;")
WARPLOOM_SPARSE_WGMMA(wgmma_sparse_tf32, "m64n8k16.f32.tf32.tf32", halves, float, "f", 4, 4, 5, 6, 7, 1,
                      ", 1, 1;")
WARPLOOM_SPARSE_WGMMA(wgmma_sparse_s8, "m64n8k64.s32.s8.u8", ordered, unsigned, "r", 4, 4, 5, 6, 7, 0, ";")
WARPLOOM_SPARSE_WGMMA(wgmma_sparse_e4m3, "m64n8k64.f32.e4m3.e5m2", ordered, float, "f", 4, 4, 5, 6, 7, 0,
                      ", 1, 1;")

/// A in registers, [block, thread, register]; one instruction.
extern "C" __global__ void __launch_bounds__(128)
    wgmma_sparse_s8_registers(const unsigned* a, const unsigned char* b, const unsigned* c_in,
                              const unsigned* e, unsigned* d_out, unsigned layout) {
  __shared__ alignas(1024) unsigned char b_tile[8 * 256];
  fill(b_tile, b, 8, 256, layout);
  publish();
  unsigned d[4];
  const unsigned at = (blockIdx.x * 128 + threadIdx.x) * 4;
  for (int i = 0; i < 4; ++i) d[i] = c_in[at + i];
  const unsigned x[4] = {a[at], a[at + 1], a[at + 2], a[at + 3]};
  const unsigned m = metadata(e[blockIdx.x * 128 + threadIdx.x], ordered);
  warpgroup_fence();
  asm volatile(
      "{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\nwgmma.mma_async.sp.sync.aligned.m64n8k64.s32.u8.s8.satfinite "
      "" WARPLOOM_LIST_4 ", {%4,%5,%6,%7}, %8, %9, 0, p;\n}"
      : WARPLOOM_HELD_4("r")
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(k_major(b_tile, 8, 0, layout)), "r"(m));
  warpgroup_commit_and_wait();
  for (int i = 0; i < 4; ++i) d_out[at + i] = d[i];
}

/// Single bits: 256 along k, 32 bytes.
extern "C" __global__ void __launch_bounds__(128)
    wgmma_bits(const unsigned char* a, const unsigned char* b, const unsigned* c_in, unsigned* d_out,
               unsigned layout) {
  __shared__ alignas(1024) unsigned char a_tile[64 * 128], b_tile[8 * 128];
  fill(a_tile, a, 64, 128, layout);
  fill(b_tile, b, 8, 128, layout);
  publish();
  unsigned d[4];
  const unsigned at = (blockIdx.x * 128 + threadIdx.x) * 4;
  for (int i = 0; i < 4; ++i) d[i] = c_in[at + i];
  warpgroup_fence();
  for (unsigned step = 0; step < 4; ++step)
    asm volatile(
        "{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc "
        "" WARPLOOM_LIST_4 ", %4, %5, p;\n}"
        : WARPLOOM_HELD_4("r")
        : "l"(k_major(a_tile, 64, step * 32, layout)), "l"(k_major(b_tile, 8, step * 32, layout)));
  warpgroup_commit_and_wait();
  for (int i = 0; i < 4; ++i) d_out[at + i] = d[i];
}

/// Tiles of bytes that begin `lines` times 128 bytes behind a multiple of 1,024, and whose descriptors say
/// so.
extern "C" __global__ void __launch_bounds__(128)
    wgmma_base_offset(const unsigned char* a, const unsigned char* b, unsigned* d_out, unsigned layout,
                      unsigned lines) {
  __shared__ alignas(1024) unsigned char a_tile[72 * 128], b_tile[16 * 128];
  const unsigned p = pitch(layout), begin = lines * 128;
  const auto put = [&](unsigned char* tile, const unsigned char* from, unsigned rows) {
    for (unsigned i = threadIdx.x; i < rows * p; i += blockDim.x)
      tile[begin + swizzled(i, layout)] = from[blockIdx.x * rows * p + i];
  };
  put(a_tile, a, 64);
  put(b_tile, b, 8);
  publish();
  unsigned d[4];
  for (int i = 0; i < 4; ++i) d[i] = d_out[(blockIdx.x * 128 + threadIdx.x) * 4 + i];
  const std::uint64_t base = std::uint64_t{lines} << 49;
  warpgroup_fence();
  asm volatile(
      "{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8 "
      "" WARPLOOM_LIST_4 ", %4, %5, p;\n}"
      : WARPLOOM_HELD_4("r")
      : "l"(descriptor(a_tile, begin, 16, 8 * p, layout) | base),
        "l"(descriptor(b_tile, begin, 16, 8 * p, layout) | base));
  warpgroup_commit_and_wait();
  for (int i = 0; i < 4; ++i) d_out[(blockIdx.x * 128 + threadIdx.x) * 4 + i] = d[i];
}
