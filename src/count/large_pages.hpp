#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace warploom::table {

/// Memory for places that are looked at in any order: of large pages, where it is large and the system has
/// some, so that a place's page is known to the processor.
template <class T>
struct LargePages {
  using value_type = T;
  LargePages() = default;
  template <class Other>
  LargePages(const LargePages<Other>&) {}  // NOLINT(google-explicit-constructor): as allocators are

  static T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T), size = (bytes + kPage - 1) / kPage * kPage;
    void* const memory = bytes < kLarge ? std::malloc(bytes) : std::aligned_alloc(kPage, size);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (bytes >= kLarge) ::madvise(memory, size, MADV_HUGEPAGE);  // else it is as it was
#endif
    return static_cast<T*>(memory);
  }
  static void deallocate(T* memory, std::size_t) { std::free(memory); }
  friend bool operator==(LargePages, LargePages) { return true; }

 private:
  static constexpr std::size_t kPage = 1 << 21, kLarge = 1 << 19;
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

/// Places of a table for so many words: no more than need be, for those of all threads share caches; in
/// steps, so that the next table most often has the memory of the one before.
inline std::size_t places_for(std::uint64_t words) {
  const std::uint64_t places = std::max<std::uint64_t>(1024, words * 7 / 4);
  const std::uint64_t step = std::bit_floor(places) / 8;
  return static_cast<std::size_t>((places + step - 1) / step * step);
}
/// Where a hash is looked for first.
inline std::size_t place_of(std::uint64_t hash, std::size_t places) {
  __extension__ typedef unsigned __int128 Product;  // NOLINT(modernize-use-using): as in kmer_word.hpp
  return static_cast<std::size_t>(Product{hash} * places >> 64);
}

}  // namespace warploom::table
