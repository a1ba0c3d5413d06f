#pragma once

/// Sources that warploom_instruction_sets() compiles several times put what they define into a namespace
/// named after the set. One of them runs on the processor at hand: WARPLOOM_PICK(symbol) is the address of
/// the fastest version, of the sets that the module has, that it can run.

namespace warploom {

#if defined(WARPLOOM_HAS_avx2)
template <class T>
T pick_instruction_set(T baseline, T avx2, T avx512 = nullptr) {
  // F16C, which Clang 16 cannot ask for, is older than AVX2: processors with this have that.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return baseline;
  return avx512 != nullptr && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")
             ? avx512
             : avx2;
}
#endif

#if defined(WARPLOOM_HAS_avx512)
#define WARPLOOM_PICK(symbol) \
  ::warploom::pick_instruction_set(&baseline::symbol, &avx2::symbol, &avx512::symbol)
#elif defined(WARPLOOM_HAS_avx2)
#define WARPLOOM_PICK(symbol) ::warploom::pick_instruction_set(&baseline::symbol, &avx2::symbol)
#else
#define WARPLOOM_PICK(symbol) (&baseline::symbol)
#endif

}  // namespace warploom
