#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace warploom {

/// Memory that was not touched yet comes in pages of 2 MiB where the system gives them to those who ask: what
/// is filled once spends most of its time on the first touch of small ones, and what is walked through by
/// columns on looking pages up. Little memory is left as it is.
inline void ask_for_large_pages(const void* data, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::size_t kWorthIt = std::size_t{4} << 20;
  if (bytes < kWorthIt) return;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = (address + kPage - 1) / kPage * kPage, end = (address + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // advice: nothing hangs on the answer
}

/// reserve() of an empty vector or string, in large pages.
template <class Container>
void reserve_in_large_pages(Container& container, std::size_t count) {
  container.reserve(count);
  ask_for_large_pages(container.data(), count * sizeof(typename Container::value_type));
}

}  // namespace warploom
