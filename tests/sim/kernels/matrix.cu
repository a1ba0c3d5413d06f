// Products of matrices that a warp holds, and what moves them: mma, wmma, ldmatrix, stmatrix, movmatrix, and
// cvt.pack and elect. Registers come from memory as they are, [warp, register, lane], so that the bits of
// every element are the test's.
#include <mma.h>

#include "held.cuh"

// A kernel an instruction: operands of 4, 2 and 4 (D and C), or 2, 1 and 4 registers, and the like.
#define WARPLOOM_PRODUCT_4_2(kernel, text, T, c)                                                            \
  extern "C" __global__ void kernel(const unsigned* a, const unsigned* b, const T* c_in, T* d_out) {        \
    const Held<unsigned, 4> x(a);                                                                           \
    const Held<unsigned, 2> y(b);                                                                           \
    const Held<T, 4> z(c_in);                                                                               \
    Held<T, 4> d;                                                                                           \
    asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"         \
                 : "=" c(d.x[0]), "=" c(d.x[1]), "=" c(d.x[2]), "=" c(d.x[3])                               \
                 : "r"(x.x[0]), "r"(x.x[1]), "r"(x.x[2]), "r"(x.x[3]), "r"(y.x[0]), "r"(y.x[1]), c(z.x[0]), \
                   c(z.x[1]), c(z.x[2]), c(z.x[3]));                                                        \
    d.store(d_out);                                                                                         \
  }
#define WARPLOOM_PRODUCT_2_1(kernel, text, T, c)                                                       \
  extern "C" __global__ void kernel(const unsigned* a, const unsigned* b, const T* c_in, T* d_out) {   \
    const Held<unsigned, 2> x(a);                                                                      \
    const Held<unsigned, 1> y(b);                                                                      \
    const Held<T, 4> z(c_in);                                                                          \
    Held<T, 4> d;                                                                                      \
    asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3},{%4,%5},{%6},{%7,%8,%9,%10};"                \
                 : "=" c(d.x[0]), "=" c(d.x[1]), "=" c(d.x[2]), "=" c(d.x[3])                          \
                 : "r"(x.x[0]), "r"(x.x[1]), "r"(y.x[0]), c(z.x[0]), c(z.x[1]), c(z.x[2]), c(z.x[3])); \
    d.store(d_out);                                                                                    \
  }
#define WARPLOOM_PRODUCT_1_1(kernel, text, U, u, T, c)                                 \
  extern "C" __global__ void kernel(const U* a, const U* b, const T* c_in, T* d_out) { \
    const Held<U, 1> x(a), y(b);                                                       \
    const Held<T, 2> z(c_in);                                                          \
    Held<T, 2> d;                                                                      \
    asm volatile("mma.sync.aligned." text " {%0,%1},{%2},{%3},{%4,%5};"                \
                 : "=" c(d.x[0]), "=" c(d.x[1])                                        \
                 : u(x.x[0]), u(y.x[0]), c(z.x[0]), c(z.x[1]));                        \
    d.store(d_out);                                                                    \
  }

WARPLOOM_PRODUCT_4_2(mma_f16_k16, "m16n8k16.row.col.f32.f16.f16.f32", float, "f")
WARPLOOM_PRODUCT_2_1(mma_f16_k8, "m16n8k8.row.col.f32.f16.f16.f32", float, "f")
WARPLOOM_PRODUCT_4_2(mma_bf16_k16, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "f")
WARPLOOM_PRODUCT_2_1(mma_bf16_k8, "m16n8k8.row.col.f32.bf16.bf16.f32", float, "f")
WARPLOOM_PRODUCT_4_2(mma_tf32_k8, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "f")
WARPLOOM_PRODUCT_2_1(mma_tf32_k4, "m16n8k4.row.col.f32.tf32.tf32.f32", float, "f")
WARPLOOM_PRODUCT_4_2(mma_s8_k32, "m16n8k32.row.col.s32.s8.s8.s32", int, "r")
WARPLOOM_PRODUCT_4_2(mma_u8_s8_k32, "m16n8k32.row.col.satfinite.s32.u8.s8.s32", int, "r")
WARPLOOM_PRODUCT_2_1(mma_u8_k16, "m16n8k16.row.col.s32.u8.u8.s32", int, "r")
WARPLOOM_PRODUCT_4_2(mma_s4_k64, "m16n8k64.row.col.s32.s4.u4.s32", int, "r")
WARPLOOM_PRODUCT_2_1(mma_u4_k32, "m16n8k32.row.col.satfinite.s32.u4.u4.s32", int, "r")
WARPLOOM_PRODUCT_4_2(mma_and_k256, "m16n8k256.row.col.s32.b1.b1.s32.and.popc", int, "r")
WARPLOOM_PRODUCT_2_1(mma_xor_k128, "m16n8k128.row.col.s32.b1.b1.s32.xor.popc", int, "r")
WARPLOOM_PRODUCT_1_1(mma_s8_m8, "m8n8k16.row.col.s32.s8.s8.s32", unsigned, "r", int, "r")
WARPLOOM_PRODUCT_1_1(mma_f64_m8, "m8n8k4.row.col.f64.f64.f64.f64", double, "d", double, "d")

WARPLOOM_PRODUCT_4_2(mma_e4m3_k32, "m16n8k32.row.col.f32.e4m3.e4m3.f32", float, "f")
WARPLOOM_PRODUCT_4_2(mma_e5m2_k32, "m16n8k32.row.col.f32.e5m2.e4m3.f32", float, "f")
WARPLOOM_PRODUCT_2_1(mma_e4m3_k16, "m16n8k16.row.col.f32.e4m3.e5m2.f32", float, "f")

#define WARPLOOM_HALF_PRODUCT(kernel, text)                                                      \
  extern "C" __global__ void kernel(const unsigned* a, const unsigned* b, const unsigned* c,     \
                                    unsigned* out) {                                             \
    const Held<unsigned, 4> x(a);                                                                \
    const Held<unsigned, 2> y(b), z(c);                                                          \
    Held<unsigned, 2> d;                                                                         \
    asm volatile("mma.sync.aligned." text " {%0,%1},{%2,%3,%4,%5},{%6,%7},{%8,%9};"              \
                 : "=r"(d.x[0]), "=r"(d.x[1])                                                    \
                 : "r"(x.x[0]), "r"(x.x[1]), "r"(x.x[2]), "r"(x.x[3]), "r"(y.x[0]), "r"(y.x[1]), \
                   "r"(z.x[0]), "r"(z.x[1]));                                                    \
    d.store(out);                                                                                \
  }
WARPLOOM_HALF_PRODUCT(mma_half_k16, "m16n8k16.row.col.f16.f16.f16.f16")
WARPLOOM_HALF_PRODUCT(mma_e4m3_half, "m16n8k32.row.col.f16.e4m3.e5m2.f16")

extern "C" __global__ void mma_f64_k16(const double* a, const double* b, const double* c, double* out) {
  const Held<double, 8> x(a);
  const Held<double, 4> y(b), z(c);
  Held<double, 4> d;
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7,%8,%9,%10,%11},"
      "{%12,%13,%14,%15},{%16,%17,%18,%19};"
      : "=d"(d.x[0]), "=d"(d.x[1]), "=d"(d.x[2]), "=d"(d.x[3])
      : "d"(x.x[0]), "d"(x.x[1]), "d"(x.x[2]), "d"(x.x[3]), "d"(x.x[4]), "d"(x.x[5]), "d"(x.x[6]),
        "d"(x.x[7]), "d"(y.x[0]), "d"(y.x[1]), "d"(y.x[2]), "d"(y.x[3]), "d"(z.x[0]), "d"(z.x[1]),
        "d"(z.x[2]), "d"(z.x[3]));
  d.store(out);
}

/// Four 8 x 8 matrices of 16 bits in shared memory, each lane's row 16 bytes: loaded, loaded transposed, the
/// first transposed in registers, and stored both ways. out: [warp, 13 words, lane].
extern "C" __global__ void matrices_between_memory_and_registers(const uint4* rows, unsigned* out) {
  __shared__ uint4 tile[4][32], stored[4][2][32];
  const int w = threadIdx.x / 32;
  tile[w][lane()] = rows[warp() * 32 + lane()];
  __syncwarp();
  const auto at = [](const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); };
  Held<unsigned, 13> d;
  unsigned* x = d.x;
  // The rows in another order than the lanes'.
  const unsigned from = at(&tile[w][(lane() * 5 + 3) % 32]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(from));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(x[4]), "=r"(x[5])
               : "r"(from));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(x[6]) : "l"(&tile[w][lane()]));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(x[7]) : "r"(x[0]));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
               :
               : "r"(at(&stored[w][0][lane() ^ 9])), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};"
               :
               : "r"(at(&stored[w][1][lane()])), "r"(x[4]), "r"(x[1])
               : "memory");
  __syncwarp();
  const uint4 one = stored[w][0][lane()], two = stored[w][1][lane() % 16];
  x[8] = one.x, x[9] = one.w, x[10] = two.x, x[11] = two.y, x[12] = two.w;
  d.store(out);
}

extern "C" __global__ void wmma_f16(const __half* a, const __half* b, const float* c, float* d) {
  using namespace nvcuda::wmma;
  __shared__ float tile[256];
  fragment<matrix_a, 16, 16, 16, __half, row_major> x;
  fragment<matrix_b, 16, 16, 16, __half, col_major> y;
  fragment<accumulator, 16, 16, 16, float> z;
  load_matrix_sync(x, a, 16);
  load_matrix_sync(y, b, 16);
  load_matrix_sync(z, c, 16, mem_row_major);
  for (int i = 0; i < z.num_elements; ++i) z.x[i] *= 2;
  mma_sync(z, x, y, z);
  store_matrix_sync(tile, z, 16, mem_col_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) d[i] = tile[i];
}

extern "C" __global__ void wmma_f16_m32(const __half* a, const __half* b, const __half* c, __half* d) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 32, 8, 16, __half, col_major> x;
  fragment<matrix_b, 32, 8, 16, __half, row_major> y;
  fragment<accumulator, 32, 8, 16, __half> z;
  load_matrix_sync(x, a, 32);
  load_matrix_sync(y, b, 8);
  load_matrix_sync(z, c, 8, mem_row_major);
  mma_sync(z, x, y, z);
  store_matrix_sync(d, z, 8, mem_row_major);
}

extern "C" __global__ void wmma_s8_m8(const signed char* a, const signed char* b, const int* c, int* d) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 8, 32, 16, signed char, row_major> x;
  fragment<matrix_b, 8, 32, 16, signed char, col_major> y;
  fragment<accumulator, 8, 32, 16, int> z;
  load_matrix_sync(x, a, 16);
  load_matrix_sync(y, b, 16);
  load_matrix_sync(z, c, 32, mem_row_major);
  mma_sync(z, x, y, z);
  store_matrix_sync(d, z, 32, mem_row_major);
}

extern "C" __global__ void wmma_tf32(const float* a, const float* b, const float* c, float* d) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> x;
  fragment<matrix_b, 16, 16, 8, precision::tf32, col_major> y;
  fragment<accumulator, 16, 16, 8, float> z;
  load_matrix_sync(x, a, 8);
  load_matrix_sync(y, b, 8);
  load_matrix_sync(z, c, 16, mem_row_major);
  for (float& v : x.x) v = __float_to_tf32(v);
  for (float& v : y.x) v = __float_to_tf32(v);
  mma_sync(z, x, y, z);
  store_matrix_sync(d, z, 16, mem_row_major);
}

extern "C" __global__ void wmma_f64(const double* a, const double* b, const double* c, double* d) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 8, 8, 4, double, row_major> x;
  fragment<matrix_b, 8, 8, 4, double, col_major> y;
  fragment<accumulator, 8, 8, 4, double> z;
  load_matrix_sync(x, a, 4);
  load_matrix_sync(y, b, 4);
  load_matrix_sync(z, c, 8, mem_row_major);
  mma_sync(z, x, y, z);
  store_matrix_sync(d, z, 8, mem_row_major);
}

#define WARPLOOM_QUAD(kernel, a_layout, b_layout)                                                           \
  extern "C" __global__ void kernel(const unsigned* a, const unsigned* b, const float* c, float* out) {     \
    const Held<unsigned, 2> x(a), y(b);                                                                     \
    const Held<float, 8> z(c);                                                                              \
    Held<float, 8> d;                                                                                       \
    asm volatile(                                                                                           \
        "mma.sync.aligned.m8n8k4." a_layout "." b_layout                                                    \
        ".f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7},{%8,%9},{%10,%11},{%12,%13,%14,%15,%16,%17,%18,%19};"   \
        : "=f"(d.x[0]), "=f"(d.x[1]), "=f"(d.x[2]), "=f"(d.x[3]), "=f"(d.x[4]), "=f"(d.x[5]), "=f"(d.x[6]), \
          "=f"(d.x[7])                                                                                      \
        : "r"(x.x[0]), "r"(x.x[1]), "r"(y.x[0]), "r"(y.x[1]), "f"(z.x[0]), "f"(z.x[1]), "f"(z.x[2]),        \
          "f"(z.x[3]), "f"(z.x[4]), "f"(z.x[5]), "f"(z.x[6]), "f"(z.x[7]));                                 \
    d.store(out);                                                                                           \
  }
WARPLOOM_QUAD(quad_row_col, "row", "col")
WARPLOOM_QUAD(quad_col_row, "col", "row")
extern "C" __global__ void quad_half(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out) {
  const Held<unsigned, 2> x(a), y(b);
  const Held<unsigned, 4> z(c);
  Held<unsigned, 4> d;
  asm volatile(
      "mma.sync.aligned.m8n8k4.row.row.f16.f16.f16.f16 {%0,%1,%2,%3},{%4,%5},{%6,%7},{%8,%9,%10,%11};"
      : "=r"(d.x[0]), "=r"(d.x[1]), "=r"(d.x[2]), "=r"(d.x[3])
      : "r"(x.x[0]), "r"(x.x[1]), "r"(y.x[0]), "r"(y.x[1]), "r"(z.x[0]), "r"(z.x[1]), "r"(z.x[2]),
        "r"(z.x[3]));
  d.store(out);
}
/// A sum in f16 that begins with f32.
extern "C" __global__ void wmma_narrowed(const __half* a, const __half* b, const float* c, __half* d) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> x;
  fragment<matrix_b, 16, 16, 16, __half, col_major> y;
  fragment<accumulator, 16, 16, 16, float> z;
  fragment<accumulator, 16, 16, 16, __half> sum;
  load_matrix_sync(x, a, 16);
  load_matrix_sync(y, b, 16);
  load_matrix_sync(z, c, 16, mem_row_major);
  mma_sync(sum, x, y, z);
  store_matrix_sync(d, sum, 16, mem_row_major);
}

/// Elements of 4 bits, of which 32 lie along k, and single bits, 128. Rows and columns are `stride` apart.
template <typename T>
__device__ void wmma_4_bits(const void* a, const void* b, const int* c, int* d, unsigned stride) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 8, 8, 32, T, row_major> x;
  fragment<matrix_b, 8, 8, 32, T, col_major> y;
  fragment<accumulator, 8, 8, 32, int> z;
  load_matrix_sync(x, a, stride);
  load_matrix_sync(y, b, stride);
  load_matrix_sync(z, c, 8, mem_row_major);
  mma_sync(z, x, y, z);
  store_matrix_sync(d, z, 8, mem_row_major);
}
extern "C" __global__ void wmma_s4(const int* a, const int* b, const int* c, int* d, unsigned stride) {
  wmma_4_bits<nvcuda::wmma::experimental::precision::s4>(a, b, c, d, stride);
}
extern "C" __global__ void wmma_u4(const int* a, const int* b, const int* c, int* d, unsigned stride) {
  wmma_4_bits<nvcuda::wmma::experimental::precision::u4>(a, b, c, d, stride);
}
extern "C" __global__ void wmma_b1(const int* a, const int* b, const int* c, int* d, unsigned stride,
                                   int common) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> x;
  fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major> y;
  fragment<accumulator, 8, 8, 128, int> z;
  load_matrix_sync(x, a, stride);
  load_matrix_sync(y, b, stride);
  load_matrix_sync(z, c, 8, mem_row_major);
  if (common != 0)
    bmma_sync(z, x, y, z, experimental::bmmaBitOpAND, experimental::bmmaAccumulateOpPOPC);
  else
    bmma_sync(z, x, y, z, experimental::bmmaBitOpXOR, experimental::bmmaAccumulateOpPOPC);
  store_matrix_sync(d, z, 8, mem_row_major);
}

/// cvt.pack of every type, and who is elected. out [9, n].
extern "C" __global__ void packed_and_elected(const int* a, const int* b, const unsigned* c, unsigned* out,
                                              int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = a[i] >> (i % 29), y = b[i] >> (i % 23);
  unsigned r = 0;
  const auto put = [&](int row) { out[row * n + i] = r; };
  asm volatile("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  put(0);
  asm volatile("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  put(1);
#define WARPLOOM_PACK(row, type)                                                                       \
  asm volatile("cvt.pack.sat." type ".s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(c[i])); \
  put(row)
  WARPLOOM_PACK(2, "u8");
  WARPLOOM_PACK(3, "s8");
  WARPLOOM_PACK(4, "u4");
  WARPLOOM_PACK(5, "s4");
  WARPLOOM_PACK(6, "u2");
  WARPLOOM_PACK(7, "s2");
  unsigned leader = 99, elected = 0;
  if ((i & 4) != 0)
    asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }"
                 : "=r"(leader), "=r"(elected)
                 : "r"(0xf0f0f0f0u));
  out[8 * n + i] = leader * 2 + elected;
}
