// IEEE arithmetic in single and double precision: every rounding, denormals kept and flushed, saturation.
// Launch: a thread an element, any grid and block; out [m, n]: result k of element i is out[k * n + i].
#include "column.cuh"

extern "C" __global__ void arithmetic_f32(const float* a, const float* b, float* out /*[33, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const float x = a[i], y = b[i], z = a[n - 1 - i];
  Column<float> put{out, n, i};
  put(x + y), put(x - y), put(x * y), put(x * y + z), put(x / y), put(sqrtf(x)), put(-x), put(fabsf(x));
  put(__fadd_rz(x, y)), put(__fadd_ru(x, y)), put(__fadd_rd(x, y)), put(__fadd_rn(x, y));
  put(__fmul_rz(x, y)), put(__fmul_ru(x, y)), put(__fmul_rd(x, y));
  put(__fmaf_rz(x, y, z)), put(__fmaf_ru(x, y, z)), put(__fmaf_rd(x, y, z));
  put(__fdiv_rn(x, y)), put(__fdiv_rz(x, y)), put(__fdiv_ru(x, y)), put(__fdiv_rd(x, y));
  put(__fsqrt_rn(fabsf(x))), put(__fsqrt_rz(fabsf(x))), put(__fsqrt_ru(fabsf(x))), put(__fsqrt_rd(fabsf(x)));
  put(__frcp_rn(x)), put(__frcp_rz(x)), put(__frcp_ru(x)), put(__frcp_rd(x));
  put(__saturatef(x)), put(__saturatef(x * y + z)), put(__fsub_rn(x, y));
}

extern "C" __global__ void arithmetic_f64(const double* a, const double* b, double* out /*[29, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const double x = a[i], y = b[i], z = a[n - 1 - i];
  Column<double> put{out, n, i};
  put(x + y), put(x - y), put(x * y), put(x * y + z), put(x / y), put(sqrt(x)), put(-x), put(fabs(x));
  put(__dadd_rz(x, y)), put(__dadd_ru(x, y)), put(__dadd_rd(x, y));
  put(__dmul_rz(x, y)), put(__dmul_ru(x, y)), put(__dmul_rd(x, y));
  put(__fma_rz(x, y, z)), put(__fma_ru(x, y, z)), put(__fma_rd(x, y, z));
  put(__ddiv_rz(x, y)), put(__ddiv_ru(x, y)), put(__ddiv_rd(x, y));
  put(__dsqrt_rz(fabs(x))), put(__dsqrt_ru(fabs(x))), put(__dsqrt_rd(fabs(x)));
  put(__drcp_rn(x)), put(__drcp_rz(x)), put(__drcp_ru(x)), put(__drcp_rd(x)), put(fmin(x, y)),
      put(fmax(x, z));
}

/// Comparison, selection and rounding to whole numbers.
extern "C" __global__ void selection_f32(const float* a, const float* b, float* out /*[24, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const float x = a[i], y = b[i];
  Column<float> put{out, n, i};
  put(fminf(x, y)), put(fmaxf(x, y)), put(x < y ? x : y), put(x >= y), put(x == y), put(x != y),
      put(isnan(x));
  put(isinf(y)), put(isfinite(x)), put(!(x <= y)), put(!(x > y)), put(x != x || y != y), put(copysignf(x, y)),
      put(signbit(x));
  put(floorf(x)), put(ceilf(x)), put(truncf(x)), put(rintf(x)), put(roundf(x)), put(nearbyintf(x));
  put(fmodf(x, y)), put(fdimf(x, y)), put(ldexpf(x, 3)), put(logbf(x));
}
extern "C" __global__ void selection_f64(const double* a, const double* b, double* out /*[18, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const double x = a[i], y = b[i];
  Column<double> put{out, n, i};
  put(fmin(x, y)), put(fmax(x, y)), put(x < y ? x : y), put(x == y), put(isnan(x)), put(isinf(x)),
      put(copysign(x, y));
  put(floor(x)), put(ceil(x)), put(trunc(x)), put(rint(x)), put(round(x)), put(fmod(x, y)),
      put(remainder(x, y));
  int exponent;
  put(frexp(x, &exponent)), put(exponent), put(ldexp(y, -2)), put(nextafter(x, y));
}

/// The forms with .ftz, .sat and .NaN, and those C++ does not name.
extern "C" __global__ void modifiers_f32(const float* a, const float* b, float* out /*[26, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const float x = a[i], y = b[i], z = a[n - 1 - i];
  Column<float> put{out, n, i};
  float d;
#define ONE(text)                          \
  asm(text " %0, %1;" : "=f"(d) : "f"(x)); \
  put(d)
#define TWO(text)                                      \
  asm(text " %0, %1, %2;" : "=f"(d) : "f"(x), "f"(y)); \
  put(d)
#define THREE(text)                                                \
  asm(text " %0, %1, %2, %3;" : "=f"(d) : "f"(x), "f"(y), "f"(z)); \
  put(d)
  TWO("add.ftz.f32");
  TWO("add.rz.ftz.f32");
  TWO("add.sat.f32");
  TWO("add.ftz.sat.f32");
  TWO("sub.ftz.f32");
  TWO("sub.rn.sat.f32");
  TWO("mul.ftz.f32");
  TWO("mul.rn.ftz.sat.f32");
  THREE("fma.rn.ftz.f32");
  THREE("fma.rn.ftz.sat.f32");
  THREE("fma.rz.sat.f32");
  THREE("mad.rn.f32");
  TWO("div.rn.ftz.f32");
  ONE("sqrt.rn.ftz.f32");
  ONE("rcp.rn.ftz.f32");
  ONE("neg.ftz.f32");
  ONE("abs.ftz.f32");
  TWO("min.ftz.f32");
  TWO("max.ftz.f32");
  asm("{.reg .pred p;\n\tsetp.lt.ftz.f32 p, %1, %2;\n\tselp.f32 %0, 0f3F800000, 0f00000000, p;}"
      : "=f"(d)
      : "f"(x), "f"(y));
  put(d);
  asm("set.geu.f32.f32 %0, %1, %2;" : "=f"(d) : "f"(x), "f"(y));
  put(d);
  asm("slct.ftz.f32.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(x), "f"(y), "f"(z));
  put(d);
  asm("{.reg .pred p;\n\ttestp.subnormal.f32 p, %1;\n\tselp.f32 %0, 0f3F800000, 0f00000000, p;}"
      : "=f"(d)
      : "f"(x));
  put(d);
  asm("copysign.f32 %0, %1, %2;" : "=f"(d) : "f"(x), "f"(y));
  put(d);
#if __CUDA_ARCH__ >= 800
  TWO("min.NaN.f32");
#else
  put(0);
#endif
#if __CUDA_ARCH__ >= 900
  TWO("max.xorsign.abs.f32");
#else
  put(0);
#endif
#undef ONE
#undef TWO
#undef THREE
}
