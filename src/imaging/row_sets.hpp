#pragma once

/// Row loops are compiled for several instruction sets, into namespaces of that name (see CMakeLists.txt).
/// One of them runs on the processor at hand.

namespace warploom::imaging {

#if defined(WARPLOOM_ROWS_avx512)
/// The fastest of a symbol's versions that this processor can run.
template <class T>
T pick_rows(T baseline, T avx2, T avx512) {
  const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return avx512;
  return fma ? avx2 : baseline;
}
#define WARPLOOM_PICK_ROWS(symbol) pick_rows(&baseline::symbol, &avx2::symbol, &avx512::symbol)
#else
#define WARPLOOM_PICK_ROWS(symbol) (&baseline::symbol)
#endif

}  // namespace warploom::imaging
