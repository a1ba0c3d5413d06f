// Transcendental functions as the CUDA libraries compute them, the instructions that approximate, and the
// intrinsics made of these. Bounds: CUDA C++ Programming Guide, "Mathematical Functions"; PTX ISA.
// Launch: a thread an element, any grid and block; out [m, n]: result k of element i is out[k * n + i].
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "column.cuh"

/// One approximating instruction a kernel: the documented error is each one's own.
#define APPROXIMATE(name, text)                                                 \
  extern "C" __global__ void name(const float* in, float* out /*[n]*/, int n) { \
    const int i = element();                                                    \
    if (i < n) asm(text " %0, %1;" : "=f"(out[i]) : "f"(in[i]));                \
  }
APPROXIMATE(rcp_approx, "rcp.approx.f32")
APPROXIMATE(rcp_approx_ftz, "rcp.approx.ftz.f32")
APPROXIMATE(sqrt_approx, "sqrt.approx.f32")
APPROXIMATE(sqrt_approx_ftz, "sqrt.approx.ftz.f32")
APPROXIMATE(rsqrt_approx, "rsqrt.approx.f32")
APPROXIMATE(rsqrt_approx_ftz, "rsqrt.approx.ftz.f32")
APPROXIMATE(sin_approx, "sin.approx.f32")
APPROXIMATE(cos_approx_ftz, "cos.approx.ftz.f32")
APPROXIMATE(lg2_approx, "lg2.approx.f32")
APPROXIMATE(lg2_approx_ftz, "lg2.approx.ftz.f32")
APPROXIMATE(ex2_approx, "ex2.approx.f32")
APPROXIMATE(ex2_approx_ftz, "ex2.approx.ftz.f32")
APPROXIMATE(tanh_approx, "tanh.approx.f32")

extern "C" __global__ void division_approx(const float* a, const float* b, float* out /*[3, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  Column<float> put{out, n, i};
  float d;
  asm("div.approx.f32 %0, %1, %2;" : "=f"(d) : "f"(a[i]), "f"(b[i]));
  put(d);
  asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a[i]), "f"(b[i]));
  put(d);
  asm("div.full.f32 %0, %1, %2;" : "=f"(d) : "f"(a[i]), "f"(b[i]));
  put(d);
}

extern "C" __global__ void seeds_f64(const double* in, double* out /*[2, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  Column<double> put{out, n, i};
  double d;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(d) : "d"(in[i]));
  put(d);
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(d) : "d"(in[i]));
  put(d);
}

extern "C" __global__ void approx_halves(const unsigned* in, unsigned* exponential /*[n]*/,
                                         unsigned* tangent /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  asm("ex2.approx.f16x2 %0, %1;" : "=r"(exponential[i]) : "r"(in[i]));
  asm("tanh.approx.f16x2 %0, %1;" : "=r"(tangent[i]) : "r"(in[i]));
}

/// Single precision: functions of any number, with the slow reduction of large angles in sinf, cosf and tanf.
extern "C" __global__ void functions_f32(const float* in, float* out /*[24, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const float x = in[i];
  Column<float> put{out, n, i};
  float s, c;
  sincosf(x, &s, &c);
  put(sinf(x)), put(cosf(x)), put(tanf(x)), put(s * c), put(expf(x)), put(exp2f(x)), put(exp10f(x)),
      put(expm1f(x));
  put(sinhf(x)), put(coshf(x)), put(tanhf(x)), put(asinhf(x)), put(atanf(x)), put(cbrtf(x)), put(erff(x)),
      put(erfcf(x));
  put(sinpif(x)), put(cospif(x)), put(hypotf(x, 3)), put(atan2f(x, 2)), put(normcdff(x)), put(rcbrtf(x)),
      put(powf(fabsf(x), 0.7f));
  put(tgammaf(x));
}
/// Functions of a positive number, and of one in (-1, 1).
extern "C" __global__ void functions_of_positive_f32(const float* in, float* out /*[13, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const float x = in[i], y = x / (1 + x);
  Column<float> put{out, n, i};
  put(logf(x)), put(log2f(x)), put(log10f(x)), put(log1pf(x)), put(lgammaf(x)), put(powf(x, y)),
      put(powf(x, -3)), put(rsqrtf(x));
  put(asinf(y)), put(acosf(y)), put(atanhf(y)), put(acoshf(1 + x)), put(j0f(x));
}

extern "C" __global__ void intrinsics_f32(const float* in, float* out /*[9, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const float x = in[i];
  Column<float> put{out, n, i};
  put(__sinf(x)), put(__cosf(x)), put(__expf(x)), put(__exp10f(x)), put(__logf(fabsf(x))),
      put(__log2f(fabsf(x)));
  put(__log10f(fabsf(x))), put(__powf(fabsf(x), 1.5f)), put(__fdividef(x, 1.7f));
}

extern "C" __global__ void functions_f64(const double* in, double* out /*[18, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const double x = in[i];
  Column<double> put{out, n, i};
  double s, c;
  sincos(x, &s, &c);
  put(sin(x)), put(cos(x)), put(tan(x)), put(s * c), put(exp(x)), put(exp2(x)), put(expm1(x)), put(tanh(x)),
      put(atan(x));
  put(cbrt(x)), put(erf(x)), put(log(fabs(x))), put(log2(fabs(x))), put(log1p(fabs(x))),
      put(pow(fabs(x), 0.3));
  put(rsqrt(fabs(x))), put(hypot(x, 2.0)), put(atan2(x, 3.0));
}

extern "C" __global__ void functions_f16(const __half* in, __half* out /*[8, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const __half x = in[i], positive = __habs(x);
  Column<__half> put{out, n, i};
  put(hexp(x)), put(hlog(positive)), put(hsin(x)), put(hcos(x)), put(hrsqrt(positive)), put(hsqrt(positive));
  put(hexp2(x)), put(hexp10(x));
}
extern "C" __global__ void functions_bf16(const __nv_bfloat16* in, __nv_bfloat16* out /*[6, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const __nv_bfloat16 x = in[i], positive = __habs(x);
  Column<__nv_bfloat16> put{out, n, i};
  put(hexp(x)), put(hlog(positive)), put(hsin(x)), put(hrsqrt(positive)), put(hsqrt(positive)), put(hrcp(x));
}
