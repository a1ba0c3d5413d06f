// State spaces and ways to reach them: vectors, cache hints, constants, variables, local arrays, generic
// addresses, dynamic shared memory, asynchronous copies, structures as parameters.
// Launch: a thread an element, any grid and block, unless a kernel says more.
#include <cuda_pipeline.h>

#include <cstdint>

#include "column.cuh"

__constant__ float weights[8] = {0.5f, -1, 2, 0.25f, 8, -3, 1.5f, 0};
__constant__ std::uint8_t digits[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
__device__ int table[4][3] = {{1, 2, 3}, {10, 20, 30}, {-1, -2, -3}, {7, 7, 7}};
__device__ unsigned visits;
__device__ const char* const words[3] = {"one", "twelve", "three hundred"};
__device__ double history[64];
__device__ int* cursor = &table[1][1];

extern "C" __global__ void vectors(const float4* a /*[n]*/, const int2* b /*[n]*/, const uchar4* c /*[n]*/,
                                   float4* out_a, int2* out_b, uchar4* out_c, double2* out_d, short4* out_e,
                                   int n) {
  const int i = element();
  if (i >= n) return;
  const float4 x = a[i];
  const int2 y = b[i];
  const uchar4 z = c[i];
  out_a[i] = make_float4(x.w, x.z + 1, x.y, x.x);
  out_b[i] = make_int2(y.y, y.x);
  out_c[i] = make_uchar4(z.w, z.x + 1, z.y, z.z);
  out_d[i] = make_double2(double(x.x) + y.x, x.y);
  out_e[i] = make_short4(short(y.x), z.x, z.y, short(y.y >> 3));
}

extern "C" __global__ void cache_hints(const int* a /*[n]*/, const double2* b /*[n]*/, int* out /*[8, n]*/,
                                       double2* wide /*[2, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  Column<int> put{out, n, i};
  put(__ldg(a + i)), put(__ldcg(a + i)), put(__ldca(a + i)), put(__ldcs(a + i)), put(__ldlu(a + i)),
      put(__ldcv(a + i));
  __stcg(out + 6 * n + i, a[i] + 1), __stcs(out + 7 * n + i, a[i] + 2);
  const double2 x = __ldg(b + i);
  __stwt(wide + i, make_double2(x.y, x.x)), __stwb(wide + n + i, x);
  asm volatile("prefetch.global.L2 [%0];" ::"l"(a + i));
}

/// Constants and variables of the module, among them pointers to others.
extern "C" __global__ void variables(const int* in /*[n]*/, float* out /*[6, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const int x = in[i] & 0x7fffffff;
  Column<float> put{out, n, i};
  put(weights[x % 8] * digits[x % 16]), put(table[x % 4][x % 3]), put(words[x % 3][x % 3]), put(*cursor);
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += weights[k] * (x >> k & 1);
  put(sum);
  put(weights[3]);
  if (i < 64) history[i] = sum;
  atomicAdd(&visits, 1);
}

/// An array of a thread's own with an index that is not known, and its address handed on.
__device__ __noinline__ void rotate(int* values, int count, int by) {
  for (int round = 0; round < by; ++round) {
    const int first = values[0];
    for (int k = 1; k < count; ++k) values[k - 1] = values[k];
    values[count - 1] = first;
  }
}
extern "C" __global__ void local_arrays(const int* in /*[n]*/, int* out /*[4, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  int values[12];
  const unsigned x = in[i];
  for (int k = 0; k < 12; ++k) values[(k * 5 + x) % 12] = k * x;
  rotate(values, 12, x % 4);
  std::int16_t shorts[20];
  for (int k = 0; k < 20; ++k) shorts[k] = std::int16_t(k * k - int(x));
  Column<int> put{out, n, i};
  put(values[x % 12]), put(values[(x >> 8) % 12]), put(shorts[(x >> 4) % 20]);
  // insertion sort
  for (int k = 1; k < 12; ++k) {
    const int value = values[k];
    int j = k;
    for (; j > 0 && values[j - 1] > value; --j) values[j] = values[j - 1];
    values[j] = value;
  }
  put(values[x % 5]);
}

/// One pointer that leads to shared, local, global or constant memory.
__device__ __noinline__ int at(const int* place) { return place[0] + place[1]; }
extern "C" __global__ void generic_addresses(const int* in /*[n + 1]*/, int* out /*[3, n]*/, int n) {
  __shared__ int slots[257];
  const int t = threadIdx.x, i = element();
  slots[t] = i < n ? in[i] : 0;
  if (t == 0) slots[blockDim.x] = 5;
  __syncthreads();
  if (i >= n) return;
  int own[4] = {i, in[i], 3, 4};
  const int x = in[i] & 3;
  const int* place = x == 0 ? slots + t : x == 1 ? in + i : x == 2 ? own + (in[i] >> 4 & 1) : table[t % 2];
  Column<int> put{out, n, i};
  put(at(place));
  put(__isShared(place) + 2 * __isGlobal(place) + 4 * __isLocal(place) + 8 * __isConstant(weights));
  const unsigned window = unsigned(__cvta_generic_to_shared(slots + t));
  int d;
  asm volatile("ld.shared.s32 %0, [%1+4];" : "=r"(d) : "r"(window));
  put(d);
}

/// The block's threads share out one extern array among three types. Block of whole warps, 12 bytes a thread.
extern "C" __global__ void dynamic_shared(const float* in /*[n]*/, float* out /*[n]*/, int n) {
  extern __shared__ __align__(8) unsigned char bytes[];
  float* values = reinterpret_cast<float*>(bytes);
  unsigned short* order = reinterpret_cast<unsigned short*>(values + blockDim.x);
  unsigned char* flags = reinterpret_cast<unsigned char*>(order + blockDim.x);
  const int t = threadIdx.x, i = element(), threads = blockDim.x;
  values[t] = i < n ? in[i] : -1;
  order[t] = (unsigned short)((t * 7 + 3) % threads);
  flags[t] = i < n && in[i] > 0;
  __syncthreads();
  const int other = order[t];
  const float x = flags[other] ? values[other] : -values[t];
  if (i < n) out[i] = x;
}

/// Bytes, halves and double words side by side in one structure.
struct Mixed {
  std::uint8_t kind;
  std::int16_t level;
  float weight;
  std::uint64_t key;
  struct {
    int x, y;
  } place[2];
};
extern "C" __global__ void structures(const Mixed* in /*[n]*/, Mixed* out /*[n]*/, Mixed fixed, int n) {
  const int i = element();
  if (i >= n) return;
  Mixed m = in[i];
  m.kind ^= fixed.kind, m.level = std::int16_t(m.level - fixed.level), m.key = m.key * fixed.key + 1;
  m.weight = float(m.kind) + fixed.weight;
  m.place[m.kind & 1].x += fixed.place[m.key & 1].y;
  out[i].kind = m.kind, out[i].level = m.level, out[i].weight = m.weight, out[i].key = m.key;
  out[i].place[0] = m.place[0], out[i].place[1] = m.place[1];
}

/// Two tiles in flight: 4, 8 and 16 bytes copied to shared memory while the last tile is summed. Block of 64.
extern "C" __global__ void pipelined(const int* a /*[gridDim.x, tiles, 64]*/, const int2* b, const int4* c,
                                     int* out /*[gridDim.x, 64]*/, int tiles) {
  __shared__ int ones[2][64];
  __shared__ int2 twos[2][64];
  __shared__ __align__(16) int4 fours[2][64];
  const int t = threadIdx.x;
  const int first = blockIdx.x * tiles * 64;
  const auto fetch = [&](int tile) {
    if (tile < tiles) {
      __pipeline_memcpy_async(&ones[tile % 2][t], a + first + tile * 64 + t, 4);
      __pipeline_memcpy_async(&twos[tile % 2][t], b + first + tile * 64 + t, 8);
      __pipeline_memcpy_async(&fours[tile % 2][t], c + first + tile * 64 + t, 16, t % 4 == 0 ? 8 : 0);
    }
    __pipeline_commit();
  };
  int sum = 0;
  fetch(0);
  for (int tile = 0; tile < tiles; ++tile) {
    fetch(tile + 1);
    __pipeline_wait_prior(1);
    __syncthreads();
    const int other = 63 - t;
    sum = sum * 3 + ones[tile % 2][other] + twos[tile % 2][other].y + fours[tile % 2][other].z +
          fours[tile % 2][other].x;
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = sum;
}

/// Copies through L1 and past it, some with a source shorter than the copy; all waited for at once. Block
/// of 64.
extern "C" __global__ void asynchronous_copies(const int4* in /*[gridDim.x, 64]*/,
                                               int4* out /*[gridDim.x, 64]*/) {
  __shared__ int4 slots[64];
  const int t = threadIdx.x, i = element();
#if __CUDA_ARCH__ >= 800
  const unsigned place = unsigned(__cvta_generic_to_shared(slots + t));
  const int bytes = t % 5 * 4;
  if (t % 2)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(in + i), "r"(bytes)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(place), "l"(in + i) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
#else
  slots[t] = in[i];
#endif
  __syncthreads();
  out[i] = slots[63 - t];
}

/// Overlapping views of the same bytes. Block of 64.
extern "C" __global__ void byte_views(const unsigned* in /*[gridDim.x, 64]*/,
                                      unsigned* out /*[gridDim.x, 64]*/) {
  __shared__ union {
    unsigned words[64];
    unsigned short halves[128];
    unsigned char bytes[256];
  } view;
  const int t = threadIdx.x, i = element();
  view.words[t] = in[i];
  __syncthreads();
  const unsigned x = view.bytes[255 - t] + view.halves[t * 2 % 127] * 256u;
  __syncthreads();
  view.halves[2 * t] = (unsigned short)(x), view.bytes[4 * t + 2] = (unsigned char)(x >> 3),
                  view.bytes[4 * t + 3] = 9;
  __syncthreads();
  out[i] = view.words[t ^ 7];
}
