// Control flow: calls, tables of functions, switches, divergent loops, assertions, printing, clocks.
// Launch: a thread an element, any grid and block, unless a kernel says more.
#include <cassert>
#include <cstdint>
#include <cstdio>

#include "column.cuh"

namespace {

struct Pair {
  double first;
  int second;
};

__device__ __noinline__ int power(int base, unsigned exponent) {
  int result = 1;
  for (; exponent; exponent /= 2, base *= base)
    if (exponent & 1) result *= base;
  return result;
}
__device__ __noinline__ Pair split(double x, const int* scale) {
  const int whole = int(x * *scale);
  return {x * *scale - whole, whole};
}
__device__ __noinline__ void swap_if(int* a, int* b, bool condition) {
  if (!condition) return;
  const int kept = *a;
  *a = *b;
  *b = kept;
}
__device__ __noinline__ std::uint8_t narrow(std::int8_t a, std::uint16_t b) {
  return std::uint8_t(a * 3 + b);
}
__device__ int add(int a, int b) { return a + b; }
__device__ int subtract(int a, int b) { return a - b; }
__device__ int multiply(int a, int b) { return a * b + 1; }
__device__ int either(int a, int b) { return a | b; }

using Operation = int (*)(int, int);
__device__ Operation operations[4] = {add, subtract, multiply, either};

/// A virtual function is a call through a table too.
struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Strip : Shape {
  float width, height;
  __device__ Strip(float w, float h) : width(w), height(h) {}
  __device__ float area() const override { return width * height; }
};
__device__ __noinline__ float twice(const Shape& shape) { return 2 * shape.area(); }

}  // namespace

extern "C" __global__ void calls(const int* in /*[n]*/, double* out /*[6, n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  int x = in[i], y = in[n - 1 - i];
  Column<double> put{out, n, i};
  put(power(x, unsigned(y) % 9));
  const Pair pair = split(x / 65536.0, in + i);
  put(pair.first), put(pair.second);
  if (x > 0)
    put(power(y, unsigned(x) % 5));
  else
    put(power(x, 3));
  swap_if(&x, &y, x > y);
  put(x), put(narrow(std::int8_t(x), std::uint16_t(y)));
}

extern "C" __global__ void function_pointers(const int* in /*[n]*/, int* out /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const int x = in[i];
  out[i] = operations[x & 3](x, i) ^ operations[i % 4](i, x);
}

extern "C" __global__ void virtual_calls(const float* in /*[n]*/, float* out /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const Square square(in[i]);
  const Strip strip(in[i], 3);
  out[i] = twice(i % 3 ? static_cast<const Shape&>(square) : strip);
}

extern "C" __global__ void switches(const int* in /*[n]*/, int* out /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  int x = in[i];
#pragma unroll 1
  for (int step = 0; step < 4; ++step) {
    switch (x & 15) {
      case 0:
        x = x * 3 + 1;
        break;
      case 1:
        x ^= i;
        break;
      case 2:
        x = __popc(x) * 77;
        break;
      case 3:
        x -= 1000;
        [[fallthrough]];
      case 4:
        x = x / 3;
        break;
      case 5:
        x = __brev(x);
        break;
      case 6:
        x = x < 0 ? -x : x + 5;
        break;
      case 7:
        x = x * x;
        break;
      case 8:
        x = (x >> 4) + step;
        break;
      case 9:
        x = __clz(x) + 40;
        break;
      case 10:
        out[i] = x;
        return;
      case 11:
        x = ~x;
        break;
      default:
        x = (x >> 1) | (i << 20);
        break;
    }
  }
  out[i] = x;
}

/// nvcc compares its way through a switch; a program in PTX may branch by index.
extern "C" __global__ void indexed_branch(const int* in /*[n]*/, int* out /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  int x = in[i];
  for (int step = 0; step < 3; ++step)
    asm volatile(
        "{\n\t"
        ".reg .u32 index;\n\t"
        "and.b32 index, %0, 3;\n"
        "targets: .branchtargets add_one, triple, invert, add_one;\n\t"
        "brx.idx index, targets;\n"
        "add_one:\n\tadd.s32 %0, %0, 1;\n\tbra.uni done;\n"
        "triple:\n\tmul.lo.s32 %0, %0, 3;\n\tbra.uni done;\n"
        "invert:\n\tnot.b32 %0, %0;\n\tshr.u32 %0, %0, 1;\n"
        "done:\n\t"
        "}"
        : "+r"(x));
  out[i] = x;
}

/// Nested loops, each lane with its own counts, left by break, continue and return.
extern "C" __global__ void divergent_loops(const unsigned* in /*[n]*/, int* out /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const unsigned x = in[i];
  int sum = 0;
  out[i] = -1;
  for (unsigned a = 0; a < x % 7; ++a) {
    for (unsigned b = a; b < x % 11; ++b) {
      if ((a * b + x) % 5 == 3) continue;
      if ((a + b * x) % 13 == 5) break;
      if ((x >> a) % 37 == 9) return;
      sum += int(a * 10 + b);
    }
    do sum = sum * 3 % 1009;
    while (sum % 4 == 1);
  }
  out[i] = sum;
}

extern "C" __global__ void assertions(const int* in /*[n], in 0..99*/, int* out /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  assert(in[i] >= 0 && in[i] < 100);
  out[i] = 100 / (in[i] + 1);
}

extern "C" __global__ void printing(const float* in /*[n]*/, int* out /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  if (i % 32 == 0)
    out[i] = printf("%d: %5.2f %s %c %llu %%\n", i, in[i], in[i] > 0 ? "up" : "down", 'x', 1ull << 40);
  else
    out[i] = i;
}

/// Clocks move on and never back.
extern "C" __global__ void clocks(int* out /*[n]*/, int n) {
  const int i = element();
  if (i >= n) return;
  const long long start = clock64();
  const unsigned low = clock();
  unsigned long long time, later;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  int sum = 0;
  for (int k = 0; k <= i % 5; ++k) sum += __popc(k * i);
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
  __nanosleep(20);
  out[i] = (clock64() >= start) + 2 * (unsigned(clock()) - low < 0x80000000u) + 4 * (later >= time) +
           8 * (sum >= 0);
}

/// One lane of a warp may hold the lock that another waits for: needs independent progress of threads.
/// No block sees another's lock. counts holds a number for each block.
extern "C" __global__ void spin_lock(int* counts /*[gridDim.x, 2]*/) {
  __shared__ int lock;
  __shared__ volatile int count, sum;
  if (threadIdx.x == 0) lock = 0, count = 0, sum = 0;
  __syncthreads();
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  __threadfence_block();
  count = count + 1;
  sum = sum + int(threadIdx.x);
  __threadfence_block();
  atomicExch(&lock, 0);
  __syncthreads();
  if (threadIdx.x == 0) counts[2 * blockIdx.x] = count, counts[2 * blockIdx.x + 1] = sum;
}

/// A lane waits for its neighbour's flag: the warp's last lane goes first.
extern "C" __global__ void lane_chain(int* out /*[gridDim.x, 32]*/) {
  __shared__ volatile int flags[33];
  const int t = threadIdx.x;
  flags[t] = 0;
  if (t == 0) flags[32] = 1;
  __syncwarp();
  while (flags[t + 1] == 0) {
  }
  __threadfence_block();
  flags[t] = flags[t + 1] + 1;
  out[blockIdx.x * 32 + t] = flags[t];
}
