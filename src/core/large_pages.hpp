#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace warploom {

/// reserve() of an empty vector or string, in pages of 2 MiB where the system gives them to those who ask.
/// What is filled from one end to the other, and once, spends most of its time on the first touch of small
/// ones.
template <class Container>
void reserve_in_large_pages(Container& container, std::size_t count) {
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::size_t kWorthIt = std::size_t{16} << 20;
  container.reserve(count);
  const std::size_t bytes = count * sizeof(typename Container::value_type);
  if (bytes < kWorthIt) return;
  const auto address = reinterpret_cast<std::uintptr_t>(container.data());
  const std::uintptr_t begin = (address + kPage - 1) / kPage * kPage, end = (address + bytes) / kPage * kPage;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // advice: nothing hangs on the answer
}

}  // namespace warploom
