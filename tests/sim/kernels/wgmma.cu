// wgmma: products of four warps whose factors lie in shared memory, in all layouts that a descriptor can
// name. The accumulator's registers come from memory and go there as they are, [block, thread, register].
#include "hopper.cuh"
#include "swizzle.cuh"

namespace {

constexpr unsigned kRowBytes = 128;  // of a row of A or B along k: four instructions

/// Of a tile of 64 elements of 16 bits along m or n.
__device__ unsigned along_mn(unsigned mn, unsigned k, unsigned layout) {
  if (layout == plain) return mn / 8 * 128 + k / 8 * 1024 + k % 8 * 16 + mn % 8 * 2;
  const unsigned p = pitch(layout), width = p / 2;
  return swizzled(mn / width * 64 * p + k * p + mn % width * 2, layout);
}

/// Of the instruction's 32 bytes of k, number `step`.
__device__ std::uint64_t k_major(const void* tile, unsigned rows, unsigned step, unsigned layout) {
  if (layout == plain) return descriptor(tile, step * rows * 32, rows * 16, 128, layout);
  const unsigned p = pitch(layout), byte = step * 32;
  return descriptor(tile, byte / p * rows * p + byte % p, 16, 8 * p, layout);
}
__device__ std::uint64_t mn_major(const void* tile, unsigned step, unsigned layout) {
  if (layout == plain) return descriptor(tile, step * 2048, 1024, 128, layout);
  const unsigned p = pitch(layout);
  return descriptor(tile, step * 16 * p, 64 * p, 8 * p, layout);
}

/// A tile of rows x 128 bytes; `transposed` ones are given k by k.
template <typename T>
__device__ void fill(unsigned char* tile, const T* from, unsigned rows, unsigned layout, bool transposed) {
  constexpr unsigned columns = kRowBytes / sizeof(T);
  for (unsigned i = threadIdx.x; i < rows * columns; i += blockDim.x) {
    const unsigned row = i / columns, k = i % columns;
    const unsigned at = transposed ? along_mn(row, k, layout) : along_k(row, k * sizeof(T), rows, layout);
    *reinterpret_cast<T*>(tile + at) = from[blockIdx.x * rows * columns + i];
  }
}

}  // namespace

/// D += A B, four instructions one after the other; T of the factors, R of the accumulator's registers (c),
/// of which a thread has `count`; `last` are the operands behind the descriptors, %%p being "accumulate".
#define WARPLOOM_WGMMA(kernel, text, T, n, R, c, count, pa, pb, last, transposed_a, transposed_b)      \
  extern "C" __global__ void __launch_bounds__(128)                                                    \
      kernel(const T* a, const T* b, const R* c_in, R* d_out, unsigned layout, int accumulate) {       \
    __shared__ alignas(1024) unsigned char a_tile[64 * kRowBytes], b_tile[n * kRowBytes];              \
    fill(a_tile, a, 64, layout, transposed_a);                                                         \
    fill(b_tile, b, n, layout, transposed_b);                                                          \
    publish();                                                                                         \
    R d[count];                                                                                        \
    const unsigned at = (blockIdx.x * 128 + threadIdx.x) * count;                                      \
    for (int i = 0; i < count; ++i) d[i] = c_in[at + i];                                               \
    warpgroup_fence();                                                                                 \
    for (unsigned step = 0; step < 4; ++step) {                                                        \
      const std::uint64_t x = transposed_a ? mn_major(a_tile, step, layout)                            \
                                           : k_major(a_tile, 64, step, layout),                        \
                          y = transposed_b ? mn_major(b_tile, step, layout)                            \
                                           : k_major(b_tile, n, step, layout);                         \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #pb ", 0;\nwgmma.mma_async.sync.aligned." text \
                   " " WARPLOOM_LIST_##count ", %" #pa ", %" last "\n}"                                \
                   : WARPLOOM_HELD_##count(c)                                                          \
                   : "l"(x), "l"(y), "r"(step == 0 ? accumulate : 1));                                 \
    }                                                                                                  \
    warpgroup_commit_and_wait();                                                                       \
    for (int i = 0; i < count; ++i) d_out[at + i] = d[i];                                              \
  }

WARPLOOM_WGMMA(wgmma_f16, "m64n8k16.f32.f16.f16", std::uint16_t, 8, float, "f", 4, 4, 6, "5, p, 1, 1, 0, 0;",
               false, false)
WARPLOOM_WGMMA(wgmma_f16_minus, "m64n8k16.f32.f16.f16", std::uint16_t, 8, float, "f", 4, 4, 6,
               "5, p, -1, 1, 0, 0;", false, false)
WARPLOOM_WGMMA(wgmma_bf16, "m64n8k16.f32.bf16.bf16", std::uint16_t, 8, float, "f", 4, 4, 6,
               "5, p, 1, -1, 0, 0;", false, false)
WARPLOOM_WGMMA(wgmma_tf32, "m64n8k8.f32.tf32.tf32", std::uint32_t, 8, float, "f", 4, 4, 6, "5, p, 1, 1;",
               false, false)
WARPLOOM_WGMMA(wgmma_half_sum, "m64n8k16.f16.f16.f16", std::uint16_t, 8, unsigned, "r", 2, 2, 4,
               "3, p, 1, 1, 0, 0;", false, false)
WARPLOOM_WGMMA(wgmma_s8, "m64n8k32.s32.s8.s8", std::uint8_t, 8, unsigned, "r", 4, 4, 6, "5, p;", false, false)
WARPLOOM_WGMMA(wgmma_u8_s8, "m64n8k32.s32.u8.s8.satfinite", std::uint8_t, 8, unsigned, "r", 4, 4, 6, "5, p;",
               false, false)
WARPLOOM_WGMMA(wgmma_e4m3, "m64n8k32.f32.e4m3.e4m3", std::uint8_t, 8, float, "f", 4, 4, 6, "5, p, 1, 1;",
               false, false)
WARPLOOM_WGMMA(wgmma_e5m2, "m64n8k32.f32.e5m2.e5m2", std::uint8_t, 8, float, "f", 4, 4, 6, "5, p, 1, -1;",
               false, false)
WARPLOOM_WGMMA(wgmma_e4m3_e5m2, "m64n8k32.f32.e4m3.e5m2", std::uint8_t, 8, float, "f", 4, 4, 6, "5, p, 1, 1;",
               false, false)
WARPLOOM_WGMMA(wgmma_e4m3_half_sum, "m64n8k32.f16.e4m3.e4m3", std::uint8_t, 8, unsigned, "r", 2, 2, 4,
               "3, p, 1, 1;", false, false)
WARPLOOM_WGMMA(wgmma_f16_n64, "m64n64k16.f32.f16.f16", std::uint16_t, 64, float, "f", 32, 32, 34,
               "33, p, 1, 1, 0, 0;", false, false)
WARPLOOM_WGMMA(wgmma_transposed_a, "m64n64k16.f32.f16.f16", std::uint16_t, 64, float, "f", 32, 32, 34,
               "33, p, 1, 1, 1, 0;", true, false)
WARPLOOM_WGMMA(wgmma_transposed_b, "m64n64k16.f32.bf16.bf16", std::uint16_t, 64, float, "f", 32, 32, 34,
               "33, p, 1, 1, 0, 1;", false, true)
WARPLOOM_WGMMA(wgmma_transposed, "m64n64k16.f32.bf16.bf16", std::uint16_t, 64, float, "f", 32, 32, 34,
               "33, p, 1, 1, 1, 1;", true, true)

/// A in registers, [block, thread, register].
#define WARPLOOM_WGMMA_REGISTERS(kernel, text, T, R, c, last)                                       \
  extern "C" __global__ void __launch_bounds__(128)                                                 \
      kernel(const unsigned* a, const T* b, const R* c_in, R* d_out, unsigned layout) {             \
    __shared__ alignas(1024) unsigned char b_tile[8 * kRowBytes];                                   \
    fill(b_tile, b, 8, layout, false);                                                              \
    publish();                                                                                      \
    R d[4];                                                                                         \
    const unsigned at = (blockIdx.x * 128 + threadIdx.x) * 4;                                       \
    for (int i = 0; i < 4; ++i) d[i] = c_in[at + i];                                                \
    const unsigned x[4] = {a[at], a[at + 1], a[at + 2], a[at + 3]};                                 \
    warpgroup_fence();                                                                              \
    asm volatile("{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\nwgmma.mma_async.sync.aligned." text       \
                 " " WARPLOOM_LIST_4 ", {%4,%5,%6,%7}, %8, p" last "\n}"                            \
                 : WARPLOOM_HELD_4(c)                                                               \
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(k_major(b_tile, 8, 0, layout))); \
    warpgroup_commit_and_wait();                                                                    \
    for (int i = 0; i < 4; ++i) d_out[at + i] = d[i];                                               \
  }

WARPLOOM_WGMMA_REGISTERS(wgmma_f16_registers, "m64n8k16.f32.f16.f16", std::uint16_t, float, "f", ", 1, 1, 0;")
WARPLOOM_WGMMA_REGISTERS(wgmma_tf32_registers, "m64n8k8.f32.tf32.tf32", std::uint32_t, float, "f", ", 1, 1;")
WARPLOOM_WGMMA_REGISTERS(wgmma_s8_registers, "m64n8k32.s32.s8.s8", std::uint8_t, unsigned, "r", ";")
