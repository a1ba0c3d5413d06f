#pragma once

#include <dlfcn.h>

#include <type_traits>

#include "core/cuda/owners.hpp"

namespace warploom {

/// cuBLAS, where the loader finds it: too large to go along in an executable (LD_LIBRARY_PATH says where it
/// is).
class CuBlas {
 public:
  /// Lives as long as the process. Null: there is none.
  static const CuBlas* open() {
    for (const char* name : {"libcublas.so.13", "libcublas.so.12"})
      if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
        if (const auto* const blas = new CuBlas(library); blas->handle_ != nullptr) return blas;
    return nullptr;
  }

  /// c = a b, of n x n floats, row by row: in cuBLAS's order of columns c' = b' a'. Its default mode, in
  /// which floats are multiplied as floats.
  bool multiply(const float* a, const float* b, float* c, int n, cudaStream_t stream) const {
    constexpr int kNotTransposed = 0;
    const float one = 1, zero = 0;
    return set_stream_(handle_, stream) == 0 &&
           sgemm_(handle_, kNotTransposed, kNotTransposed, n, n, n, &one, b, n, a, n, &zero, c, n) == 0;
  }

 private:
  using Handle = void*;
  explicit CuBlas(void* library) {
    const auto find = [library](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    int (*create)(Handle*) = nullptr;
    const bool complete = find("cublasCreate_v2", create) && find("cublasSetStream_v2", set_stream_) &&
                          find("cublasSgemm_v2", sgemm_);
    if (!complete || create(&handle_) != 0) handle_ = nullptr;
  }

  Handle handle_ = nullptr;
  int (*set_stream_)(Handle, cudaStream_t) = nullptr;
  int (*sgemm_)(Handle, int, int, int, int, int, const float*, const float*, int, const float*, int,
                const float*, float*, int) = nullptr;
};

}  // namespace warploom
