// Compiled with -use_fast_math: flushed denormals and the approximating instructions in plain expressions.
// Launch: a thread an element, any grid and block; out [m, n]: result k of element i is out[k * n + i].
#include "column.cuh"

/// IEEE operations with denormals flushed; a fused multiply-add where one arises.
extern "C" __global__ void flushed(const float* a, const float* b, float* out /*[12, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const float x = a[i], y = b[i];
  Column<float> put{out, n, i};
  put(x + y), put(x - y), put(x * y), put(x * y + 1), put(fminf(x, y)), put(fmaxf(x, y)), put(fabsf(x)),
      put(x < y ? x : y);
  put(float(int(x))), put(floorf(x)), put(__saturatef(x * y)), put(float(double(x) + y));
}

extern "C" __global__ void approximated(const float* a, const float* b, float* out /*[8, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const float x = a[i], y = b[i];
  Column<float> put{out, n, i};
  put(x / y), put(sqrtf(x)), put(rsqrtf(y)), put(1 / x), put(expf(x)), put(logf(y)), put(sinf(x)),
      put(powf(x, y));
}

/// A particle's step: fifty of its kind attract it.
extern "C" __global__ void attraction(const float4* bodies /*[50]*/, float3* forces /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const float4 body = bodies[i % 50];
  float3 force = make_float3(0, 0, 0);
  for (int k = 0; k < 50; ++k) {
    const float4 other = bodies[k];
    const float dx = other.x - body.x, dy = other.y - body.y, dz = other.z - body.z;
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    const float strength = other.w * inverse * inverse * inverse;
    force.x += dx * strength, force.y += dy * strength, force.z += dz * strength;
  }
  forces[i] = force;
}
