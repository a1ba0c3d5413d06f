// warploom/core/device_atomics.cuh: what blocks see of each other.
// Launch: as many blocks as fit on the device together.
#include "warploom/core/device_atomics.cuh"

/// A block passes a number on to the next, by a release and an acquire, or by relaxed accesses between
/// fences. Any block.
template <class Word, bool kFences>
__global__ void pass_on(Word* flags /*[gridDim.x + 1], 0*/, Word* values /*[gridDim.x + 1]*/) {
  using namespace warploom;
  if (threadIdx.x > 0) return;
  const Word *const mine = flags + blockIdx.x, *const value = values + blockIdx.x;
  if (blockIdx.x > 0) {
    if (kFences) {
      while (load_relaxed(mine) == 0) {
      }
      fence_acq_rel();
    } else {
      while (load_acquire(mine) == 0) {
      }
    }
  }
  values[blockIdx.x + 1] = *value * 3 + 1;
  if (kFences) {
    fence_acq_rel();
    store_relaxed(flags + blockIdx.x + 1, 1);
  } else {
    store_release(flags + blockIdx.x + 1, 1);
  }
}

template __global__ void pass_on<unsigned, false>(unsigned*, unsigned*);
template __global__ void pass_on<unsigned, true>(unsigned*, unsigned*);
template __global__ void pass_on<long long, false>(long long*, long long*);
template __global__ void pass_on<long long, true>(long long*, long long*);

/// Each of two blocks stores and looks for what the other stores: one of them sees it. Two blocks.
extern "C" __global__ void store_and_look(int* stored /*[2], 0*/, unsigned* missed /*[1], 0*/,
                                          unsigned* finished /*[1], 0*/, int* one_saw /*[1]*/) {
  using namespace warploom;
  if (threadIdx.x > 0) return;
  store_relaxed(stored + blockIdx.x, 1);
  fence_sc();
  if (load_relaxed(stored + (1 - blockIdx.x)) == 0) atomicAdd(missed, 1U);
  fence_acq_rel();
  if (atomicAdd(finished, 1U) == 0) return;
  fence_acq_rel();
  *one_saw = load_relaxed(missed) < 2;
  store_relaxed(missed, 0);  // it may have been 1
}
