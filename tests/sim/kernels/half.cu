// Half precision and bfloat16, single and packed in pairs: arithmetic, comparison, extremes.
// Launch: a thread an element, any grid and block; out [m, n]: result k of element i is out[k * n + i].
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "column.cuh"

namespace {

/// Whether a fused multiply-add of T exists; of bfloat16 it does from sm_80 on.
template <typename T>
constexpr bool kFused = true;
#if __CUDA_ARCH__ < 800
template <>
constexpr bool kFused<__nv_bfloat16> = false;
template <>
constexpr bool kFused<__nv_bfloat162> = false;
#endif

/// Stores numbers of any of the four types as words.
struct Words {
  Column<unsigned> put;
  __device__ void operator()(__half x) { put(__half_as_ushort(x)); }
  __device__ void operator()(__nv_bfloat16 x) { put(__bfloat16_as_ushort(x)); }
  __device__ void operator()(__half2 x) { put(*reinterpret_cast<unsigned*>(&x)); }
  __device__ void operator()(__nv_bfloat162 x) { put(*reinterpret_cast<unsigned*>(&x)); }
  __device__ void operator()(bool x) { put(x); }
  __device__ void operator()(unsigned x) { put(x); }
};

template <typename T>
__device__ void arithmetic(T x, T y, T z, Words put) {
  put(__hadd(x, y)), put(__hsub(x, y)), put(__hmul(x, y)), put(__hdiv(x, y)), put(__hneg(x)), put(__habs(x));
  put(__hadd_sat(x, y)), put(__hmul_sat(x, y)), put(__hmin(x, y)), put(__hmax(x, y));
  put(__hmin_nan(x, y)), put(__hmax_nan(x, y)), put(hsqrt(__habs(x))), put(hrint(x)), put(hceil(y));
  put(__heq(x, y)), put(__hne(x, y)), put(__hlt(x, y)), put(__hge(x, y)), put(__hequ(x, y)),
      put(__hltu(x, y));
  put(__hisnan(x));
  if constexpr (kFused<T>) put(__hfma(x, y, z)), put(__hfma_sat(x, y, z)), put(__hfma_relu(x, y, z));
}

template <typename T>
__device__ void pairs(T x, T y, T z, Words put) {
  put(__hadd2(x, y)), put(__hsub2(x, y)), put(__hmul2(x, y)), put(__h2div(x, y)), put(__hneg2(x)),
      put(__habs2(x));
  put(__hadd2_sat(x, y)), put(__hmul2_sat(x, y)), put(__hmin2(x, y)), put(__hmax2(x, y)),
      put(__hmax2_nan(x, y));
  put(__heq2(x, y)), put(__hlt2(x, y)), put(__hgeu2(x, y)), put(__heq2_mask(x, y)), put(__hgt2_mask(x, y));
  put(__hbeq2(x, x)), put(__hblt2(x, y)), put(h2floor(x)), put(h2trunc(y));
  if constexpr (kFused<T>) put(__hfma2(x, y, z)), put(__hfma2_sat(x, y, z)), put(__hfma2_relu(x, y, z));
}

}  // namespace

extern "C" __global__ void arithmetic_f16(const unsigned short* a, const unsigned short* b,
                                          unsigned* out /*[25, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  arithmetic(__ushort_as_half(a[i]), __ushort_as_half(b[i]), __ushort_as_half(a[n - 1 - i]),
             Words{{out, n, i}});
}
extern "C" __global__ void arithmetic_bf16(const unsigned short* a, const unsigned short* b,
                                           unsigned* out /*[25, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  arithmetic(__ushort_as_bfloat16(a[i]), __ushort_as_bfloat16(b[i]), __ushort_as_bfloat16(a[n - 1 - i]),
             Words{{out, n, i}});
}
extern "C" __global__ void pairs_f16(const __half2* a, const __half2* b, unsigned* out /*[23, n]*/, int n) {
  const int i = element();
  if (i < n) pairs(a[i], b[i], a[n - 1 - i], Words{{out, n, i}});
}
extern "C" __global__ void pairs_bf16(const __nv_bfloat162* a, const __nv_bfloat162* b,
                                      unsigned* out /*[23, n]*/, int n) {
  const int i = element();
  if (i < n) pairs(a[i], b[i], a[n - 1 - i], Words{{out, n, i}});
}

/// The forms that the headers use only for some architectures, or not at all.
extern "C" __global__ void modifiers_f16(const unsigned* a, const unsigned* b, unsigned* out /*[12, n]*/,
                                         int n) {
  const int i = element();
  if (i >= n) return;
  const unsigned x = a[i], y = b[i], z = a[n - 1 - i];
  Column<unsigned> put{out, n, i};
  unsigned d;
#define TWO(text)                                      \
  asm(text " %0, %1, %2;" : "=r"(d) : "r"(x), "r"(y)); \
  put(d)
#define THREE(text)                                                \
  asm(text " %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z)); \
  put(d)
  TWO("add.ftz.f16x2");
  TWO("sub.ftz.sat.f16x2");
  TWO("mul.ftz.f16x2");
  THREE("fma.rn.ftz.f16x2");
  THREE("fma.rn.ftz.sat.f16x2");
  asm("neg.ftz.f16x2 %0, %1;" : "=r"(d) : "r"(x));
  put(d);
  TWO("set.lt.ftz.u32.f16x2");
  TWO("set.eq.f16x2.f16x2");
  asm("{.reg .pred p, q;\n\tsetp.le.f16x2 p|q, %1, %2;\n\tselp.u32 %0, 1, 2, p;\n\t@q add.u32 %0, %0, 4;}"
      : "=r"(d)
      : "r"(x), "r"(y));
  put(d);
#if __CUDA_ARCH__ >= 800
  TWO("min.f16x2");
  TWO("max.NaN.bf16x2");
  THREE("fma.rn.relu.bf16x2");
#else
  put(0), put(0), put(0);
#endif
#undef TWO
#undef THREE
}
