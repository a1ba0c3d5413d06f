#pragma once

/// Sources that warploom_instruction_sets() compiles several times put what they define into a namespace
/// named after the set. One of them runs on the processor at hand.

namespace warploom {

#if defined(WARPLOOM_HAS_avx512)
/// The fastest of a symbol's versions that this processor can run.
template <class T>
T pick_instruction_set(T baseline, T avx2, T avx512) {
  const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return avx512;
  return fma ? avx2 : baseline;
}
#define WARPLOOM_PICK(symbol) \
  ::warploom::pick_instruction_set(&baseline::symbol, &avx2::symbol, &avx512::symbol)
#else
#define WARPLOOM_PICK(symbol) (&baseline::symbol)
#endif

}  // namespace warploom
