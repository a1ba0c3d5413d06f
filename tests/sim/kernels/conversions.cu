// Conversions between all widths of integers and floating-point numbers, every rounding, and saturation.
// Launch: a thread an element, any grid and block; out [m, n]: result k of element i is out[k * n + i].
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "column.cuh"

/// Out of range and NaN included: the device saturates, and converts a NaN to 0 or the highest bit.
extern "C" __global__ void f32_to_integers(const float* in, long long* out /*[23, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const float x = in[i];
  Column<long long> put{out, n, i};
  put(__float2int_rn(x)), put(__float2int_rz(x)), put(__float2int_ru(x)), put(__float2int_rd(x));
  put(__float2uint_rn(x)), put(__float2uint_rz(x)), put(__float2uint_ru(x)), put(__float2uint_rd(x));
  put(__float2ll_rn(x)), put(__float2ll_rz(x)), put(__float2ll_ru(x)), put(__float2ll_rd(x));
  put((long long)(__float2ull_rn(x))), put((long long)(__float2ull_rz(x))),
      put((long long)(__float2ull_ru(x)));
  put((long long)(__float2ull_rd(x))), put(__float_as_int(x)), put(__float_as_uint(x));
  int d;
  asm("cvt.rzi.ftz.s32.f32 %0, %1;" : "=r"(d) : "f"(x));
  put(d);
  asm("{.reg .s16 h;\n\tcvt.rni.s16.f32 h, %1;\n\tcvt.s32.s16 %0, h;}" : "=r"(d) : "f"(x));
  put(d);
  asm("{.reg .u16 h;\n\tcvt.rzi.u16.f32 h, %1;\n\tcvt.u32.u16 %0, h;}" : "=r"(d) : "f"(x));
  put(d);
  asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(d) : "f"(x));
  put(d);
  asm("cvt.rzi.s8.f32 %0, %1;" : "=r"(d) : "f"(x));
  put(d);
}

extern "C" __global__ void f64_to_integers(const double* in, long long* out /*[19, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const double x = in[i];
  Column<long long> put{out, n, i};
  put(__double2int_rn(x)), put(__double2int_rz(x)), put(__double2int_ru(x)), put(__double2int_rd(x));
  put(__double2uint_rn(x)), put(__double2uint_rz(x)), put(__double2uint_ru(x)), put(__double2uint_rd(x));
  put(__double2ll_rn(x)), put(__double2ll_rz(x)), put(__double2ll_ru(x)), put(__double2ll_rd(x));
  put((long long)(__double2ull_rn(x))), put((long long)(__double2ull_rz(x))),
      put((long long)(__double2ull_ru(x)));
  put((long long)(__double2ull_rd(x))), put(__double_as_longlong(x)), put(__double2hiint(x)),
      put(__double2loint(x));
}

extern "C" __global__ void integers_to_f32(const long long* in, float* out /*[18, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const long long x = in[i];
  Column<float> put{out, n, i};
  put(__int2float_rn(int(x))), put(__int2float_rz(int(x))), put(__int2float_ru(int(x))),
      put(__int2float_rd(int(x)));
  put(__uint2float_rn(unsigned(x))), put(__uint2float_rz(unsigned(x))), put(__uint2float_ru(unsigned(x)));
  put(__ll2float_rn(x)), put(__ll2float_rz(x)), put(__ll2float_ru(x)), put(__ll2float_rd(x));
  put(__ull2float_rn(x)), put(__ull2float_rz(x)), put(__ull2float_rd(x));
  put(float(std::int8_t(x))), put(float(std::uint8_t(x))), put(float(std::int16_t(x))),
      put(float(std::uint16_t(x)));
}

extern "C" __global__ void integers_to_f64(const long long* in, double* out /*[12, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const long long x = in[i];
  Column<double> put{out, n, i};
  put(int(x)), put(unsigned(x)), put(__ll2double_rn(x)), put(__ll2double_rz(x)), put(__ll2double_ru(x));
  put(__ll2double_rd(x)), put(__ull2double_rn(x)), put(__ull2double_rz(x)), put(__ull2double_ru(x));
  put(double(std::int16_t(x))), put(double(std::uint8_t(x))), put(__hiloint2double(int(x >> 32), int(x)));
}

extern "C" __global__ void between_floats(const double* in, float* out /*[13, n]*/, double* wide /*[n]*/,
                                          int n) {
  const int i = element();
  if (i >= n) return;
  const double x = in[i];
  Column<float> put{out, n, i};
  put(__double2float_rn(x)), put(__double2float_rz(x)), put(__double2float_ru(x)), put(__double2float_rd(x));
  float d, f = float(x);
  asm("cvt.rn.sat.f32.f64 %0, %1;" : "=f"(d) : "d"(x));
  put(d);
  asm("cvt.rn.ftz.f32.f64 %0, %1;" : "=f"(d) : "d"(x));
  put(d);
  asm("cvt.sat.f32.f32 %0, %1;" : "=f"(d) : "f"(f));
  put(d);
  asm("cvt.ftz.f32.f32 %0, %1;" : "=f"(d) : "f"(f));
  put(d);
  asm("cvt.rni.f32.f32 %0, %1;" : "=f"(d) : "f"(f));
  put(d);
  asm("cvt.rzi.ftz.f32.f32 %0, %1;" : "=f"(d) : "f"(f));
  put(d);
  asm("cvt.rmi.f32.f32 %0, %1;" : "=f"(d) : "f"(f));
  put(d);
  asm("cvt.rpi.sat.f32.f32 %0, %1;" : "=f"(d) : "f"(f));
  put(d);
  double e;
  asm("cvt.ftz.f64.f32 %0, %1;" : "=d"(e) : "f"(f));
  put(float(e));
  wide[i] = double(f) + rint(x);
}

/// Narrowing with and without saturation, and extension from each width.
extern "C" __global__ void between_integers(const long long* in, long long* out /*[19, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const long long x = in[i];
  const int w = int(x);
  Column<long long> put{out, n, i};
  put(std::int8_t(x)), put(std::uint8_t(x)), put(std::int16_t(x)), put(std::uint16_t(x)),
      put(std::int32_t(x)), put(std::uint32_t(x));
  int d;
  long long e;
  asm("cvt.sat.u8.s32 %0, %1;" : "=r"(d) : "r"(w));
  put(d);
  asm("cvt.sat.s8.s32 %0, %1;" : "=r"(d) : "r"(w));
  put(d);
  asm("{.reg .u16 h;\n\tcvt.sat.u16.s32 h, %1;\n\tcvt.u32.u16 %0, h;}" : "=r"(d) : "r"(w));
  put(d);
  asm("{.reg .s16 h;\n\tcvt.sat.s16.s32 h, %1;\n\tcvt.s32.s16 %0, h;}" : "=r"(d) : "r"(w));
  put(d);
  asm("cvt.sat.u32.s32 %0, %1;" : "=r"(d) : "r"(w));
  put(unsigned(d));
  asm("cvt.sat.s32.u32 %0, %1;" : "=r"(d) : "r"(w));
  put(d);
  asm("cvt.sat.s32.s64 %0, %1;" : "=r"(d) : "l"(x));
  put(d);
  asm("cvt.sat.u32.s64 %0, %1;" : "=r"(d) : "l"(x));
  put(unsigned(d));
  asm("cvt.sat.u32.u64 %0, %1;" : "=r"(d) : "l"(x));
  put(unsigned(d));
  asm("cvt.sat.u64.s64 %0, %1;" : "=l"(e) : "l"(x));
  put(e);
  asm("cvt.s64.s8 %0, %1;" : "=l"(e) : "r"(w));
  put(e);
  asm("cvt.u64.u8 %0, %1;" : "=l"(e) : "r"(w));
  put(e);
  asm("cvt.s32.s8 %0, %1;" : "=r"(d) : "r"(w));
  put(d);
}

/// Half precision and bfloat16 from float, double and integers, by every rounding there is.
extern "C" __global__ void to_halves(const float* in, unsigned short* out /*[20, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const float x = in[i], y = in[n - 1 - i];
  Column<unsigned short> put{out, n, i};
  put(__half_as_ushort(__float2half_rn(x))), put(__half_as_ushort(__float2half_rz(x)));
  put(__half_as_ushort(__float2half_ru(x))), put(__half_as_ushort(__float2half_rd(x)));
  put(__half_as_ushort(__double2half(double(x) * 1.0009765))),
      put(__half_as_ushort(__int2half_rn(int(x * 64))));
  put(__half_as_ushort(__int2half_rz(int(x * 64)))),
      put(__half_as_ushort(__uint2half_ru(unsigned(fabsf(x)))));
  put(__half_as_ushort(__short2half_rd(short(x)))), put(__half_as_ushort(__ll2half_rn((long long)(x))));
  put(__bfloat16_as_ushort(__float2bfloat16_rn(x))), put(__bfloat16_as_ushort(__float2bfloat16_rz(x)));
  put(__bfloat16_as_ushort(__float2bfloat16_ru(x))), put(__bfloat16_as_ushort(__float2bfloat16_rd(x)));
  put(__bfloat16_as_ushort(__double2bfloat16(double(x)))),
      put(__bfloat16_as_ushort(__int2bfloat16_rn(int(x))));
  const __half2 pair = __floats2half2_rn(x, y);
  put(__half_as_ushort(__low2half(pair))), put(__half_as_ushort(__high2half(pair)));
  const __nv_bfloat162 brain = __floats2bfloat162_rn(x, y);
  put(__bfloat16_as_ushort(__low2bfloat16(brain))), put(__bfloat16_as_ushort(__high2bfloat16(brain)));
}

extern "C" __global__ void from_halves(const unsigned short* in, float* out /*[14, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const __half h = __ushort_as_half(in[i]);
  const __nv_bfloat16 b = __ushort_as_bfloat16(in[i]);
  Column<float> put{out, n, i};
  put(__half2float(h)), put(__bfloat162float(b)), put(float(double(__half2float(h))));
  put(__int_as_float(__half2int_rn(h))), put(__int_as_float(__half2int_rz(h))),
      put(__int_as_float(__half2int_ru(h)));
  put(__uint_as_float(__half2uint_rd(h))), put(__int_as_float(__half2short_rn(h))),
      put(float(__half2ll_rz(h)));
  put(__int_as_float(__bfloat162int_rn(b))), put(__int_as_float(__bfloat162int_rz(b)));
  put(__half2float(hfloor(h))), put(__half2float(hrint(h))), put(__half2float(htrunc(h)));
}
