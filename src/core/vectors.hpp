#pragma once

// For sources that are compiled for several instruction sets (instruction_sets.hpp). Nothing with a body from
// elsewhere, and nothing here that is not of one source's own: one copy would be linked, and it could be the
// one that was compiled for a processor that is not there. Vectors are GCC's, whose length in bytes is that
// of the registers.
namespace warploom::WARPLOOM_INSTRUCTION_SET {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
  using type [[gnu::vector_size(kVectorBytes)]] = T;
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
inline Vector<T> load(const T* from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class T>
inline void store(T* to, const Vector<T>& v) {
  __builtin_memcpy(to, &v, sizeof v);
}
/// a where it is less; one instruction.
template <class V>
inline V lesser(const V& a, const V& b) {
  return a < b ? a : b;
}

}  // namespace
}  // namespace warploom::WARPLOOM_INSTRUCTION_SET
