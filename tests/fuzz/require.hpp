#pragma once

#include <cstdio>
#include <cstdlib>

namespace warploom {

/// Ends a fuzz target, as a crash that the fuzzer keeps, where a promise is not kept.
inline void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace warploom
