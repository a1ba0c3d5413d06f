// Textures and surfaces through objects: filters, edges, layers, kinds of texels.
#include "column.cuh"

/// Coordinates of element i: x, then y, then z, n of each.
struct At {
  float x, y, z;
  __device__ At(const float* c, int n, int i) : x(c[i]), y(c[n + i]), z(c[2 * n + i]) {}
};

extern "C" __global__ void fetch_1d(cudaTextureObject_t t, const float* c, float* out, int n) {
  const int i = element();
  if (i < n) out[i] = tex1D<float>(t, At(c, n, i).x);
}
extern "C" __global__ void fetch_2d(cudaTextureObject_t t, const float* c, float* out, int n) {
  const int i = element();
  if (i >= n) return;
  const At at(c, n, i);
  const float4 v = tex2D<float4>(t, at.x, at.y);
  Column<float> put{out, n, i};
  put(v.x), put(v.y), put(v.z), put(v.w);
}
extern "C" __global__ void fetch_2d_alone(cudaTextureObject_t t, const float* c, float* out, int n) {
  const int i = element();
  if (i >= n) return;
  const At at(c, n, i);
  Column<float> put{out, n, i};
  put(tex2D<float>(t, at.x, at.y)), put(tex2DLod<float>(t, at.x, at.y, 0));
}
extern "C" __global__ void fetch_3d(cudaTextureObject_t t, const float* c, float* out, int n) {
  const int i = element();
  if (i >= n) return;
  const At at(c, n, i);
  const float2 v = tex3D<float2>(t, at.x, at.y, at.z);
  Column<float> put{out, n, i};
  put(v.x), put(v.y);
}
extern "C" __global__ void fetch_layers(cudaTextureObject_t t, cudaTextureObject_t flat, const float* c,
                                        float* out, int n) {
  const int i = element();
  if (i >= n) return;
  const At at(c, n, i);
  Column<float> put{out, n, i};
  put(tex2DLayered<float>(t, at.x, at.y, i % 5)), put(tex1DLayered<float>(flat, at.y, i % 4));
}
extern "C" __global__ void fetch_integers(cudaTextureObject_t t, const float* c, int* out, int n) {
  const int i = element();
  if (i >= n) return;
  const At at(c, n, i);
  const int4 v = tex2D<int4>(t, at.x, at.y);
  Column<int> put{out, n, i};
  put(v.x), put(v.y), put(v.z), put(v.w);
}
extern "C" __global__ void fetch_bytes(cudaTextureObject_t t, const float* c, int* out, int n) {
  const int i = element();
  if (i >= n) return;
  const At at(c, n, i);
  const uchar2 v = tex2D<uchar2>(t, at.x, at.y);
  Column<int> put{out, n, i};
  put(v.x), put(v.y);
}
extern "C" __global__ void gather(cudaTextureObject_t t, const float* c, float* out, int n) {
  const int i = element();
  if (i >= n) return;
  const At at(c, n, i);
  Column<float> put{out, n, i};
  const auto all = [&](float4 v) { put(v.x), put(v.y), put(v.z), put(v.w); };
  all(tex2Dgather<float4>(t, at.x, at.y, 0)), all(tex2Dgather<float4>(t, at.x, at.y, 3));
}
/// How wide, high and deep.
extern "C" __global__ void query(cudaTextureObject_t t, cudaSurfaceObject_t s, int* out) {
  asm("txq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(t));
  asm("txq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(t));
  asm("txq.depth.b32 %0, [%1];" : "=r"(out[2]) : "l"(t));
  asm("suq.width.b32 %0, [%1];" : "=r"(out[3]) : "l"(s));
  asm("suq.height.b32 %0, [%1];" : "=r"(out[4]) : "l"(s));
}

/// Each texel of the surface moves by `shift` and grows; what lies outside reads as 0, or as the edge.
extern "C" __global__ void move_2d(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height,
                                   int shift, int clamp) {
  const int x = element(), y = blockIdx.y;
  if (x >= width) return;
  uint2 v;
  const int column = (x + shift) * static_cast<int>(sizeof v), row = y - shift;
  if (clamp != 0)
    surf2Dread(&v, from, column, row, cudaBoundaryModeClamp);
  else
    surf2Dread(&v, from, column, row, cudaBoundaryModeZero);
  v.x += x, v.y ^= y;
  surf2Dwrite(v, to, x * static_cast<int>(sizeof v), y + 1, cudaBoundaryModeZero);
}
extern "C" __global__ void move_3d(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
  unsigned char v = surf3Dread<unsigned char>(from, x, y, z);
  surf3Dwrite(static_cast<unsigned char>(v + 3), to, x, y, z);
}
extern "C" __global__ void move_layers(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = threadIdx.x, y = blockIdx.x, layer = blockIdx.y;
  ushort4 v;
  surf2DLayeredread(&v, from, x * static_cast<int>(sizeof v), y, layer);
  surf2DLayeredwrite(make_ushort4(v.w, v.z, v.y, v.x), to, x * static_cast<int>(sizeof v), y, layer);
}
/// Sums and greatest values over all threads.
extern "C" __global__ void reduce_1d(cudaSurfaceObject_t s, const unsigned* values) {
  const unsigned v = values[element()];
  asm volatile("sured.b.add.1d.u32.trap [%0, {%1}], %2;" ::"l"(s), "r"(4 * (v % 8)), "r"(v) : "memory");
  asm volatile("sured.b.max.1d.s32.trap [%0, {%1}], %2;" ::"l"(s), "r"(4 * (8 + v % 8)), "r"(v) : "memory");
  asm volatile("sured.b.min.1d.u32.trap [%0, {%1}], %2;" ::"l"(s), "r"(4 * (16 + v % 8)), "r"(v) : "memory");
  asm volatile("sured.b.or.1d.b32.trap [%0, {%1}], %2;" ::"l"(s), "r"(4 * (24 + v % 8)), "r"(v & 0xff)
               : "memory");
}

/// Directions (x, y, z), scaled so that the longest is the longest.
extern "C" __global__ void fetch_cube(cudaTextureObject_t t, cudaTextureObject_t several, const float* c,
                                      float* out, int n) {
  const int i = element();
  if (i >= n) return;
  const At at(c, n, i);
  Column<float> put{out, n, i};
  put(texCubemap<float>(t, at.x, at.y, at.z)),
      put(texCubemapLayered<float>(several, at.x, at.y, at.z, i % 2));
}
extern "C" __global__ void fetch_level(cudaTextureObject_t t, const float* c, float* out, int n) {
  const int i = element();
  if (i >= n) return;
  const At at(c, n, i);
  Column<float> put{out, n, i};
  put(tex2DLod<float>(t, at.x, at.y, at.z * 4));
}
/// Steps of a power of two of texels along x.
extern "C" __global__ void fetch_gradient(cudaTextureObject_t t, const float* c, float* out, int n,
                                          int width) {
  const int i = element();
  if (i >= n) return;
  const At at(c, n, i);
  const float step = static_cast<float>(1 << i % 4) / width;
  Column<float> put{out, n, i};
  put(tex2DGrad<float>(t, at.x, at.y, make_float2(step, 0), make_float2(0, step / 2)));
}
extern "C" __global__ void fetch_halves(cudaTextureObject_t t, const float* c, unsigned* out, int n) {
  const int i = element();
  if (i >= n) return;
  const At at(c, n, i);
  unsigned a, b;
  asm volatile("tex.2d.v2.f16x2.f32 {%0, %1}, [%2, {%3, %4}];"
               : "=r"(a), "=r"(b)
               : "l"(t), "f"(at.x), "f"(at.y));
  Column<unsigned> put{out, n, i};
  put(a), put(b);
}
