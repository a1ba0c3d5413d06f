#pragma once

/// Families of kernels that are compiled in parts, a unit each, since one unit of all would take minutes:
/// CMakeLists.txt has a source compiled WARPLOOM_PARTS times, with WARPLOOM_PART from 0. A part has every
/// WARPLOOM_PARTS-th kernel, so that all take about as long.

#include <array>
#include <utility>

namespace warploom::search {

/// Kernel place * WARPLOOM_PARTS + kPart of a family, which is defined in that part.
template <class Family, int kPart>
typename Family::Kernel kernel_of_part(int place);

// The part is an argument, not the macro, since units that define one function differently would share one of
// them.
template <class Family, int kPart, int... kPlace>
typename Family::Kernel kernel_among(int place, std::integer_sequence<int, kPlace...>) {
  static constexpr std::array<typename Family::Kernel, sizeof...(kPlace)> kKernels{
      Family::template kernel<kPart + kPlace * WARPLOOM_PARTS>()...};
  return kKernels[place];
}
template <class Family, int kPart>
typename Family::Kernel kernel_of_this_part(int place) {
  return kernel_among<Family, kPart>(
      place, std::make_integer_sequence<int, (Family::kCount - kPart - 1) / WARPLOOM_PARTS + 1>());
}

template <class Family, int... kPart>
typename Family::Kernel find_kernel(int index, std::integer_sequence<int, kPart...>) {
  static constexpr std::array kParts{kernel_of_part<Family, kPart>...};
  return kParts[index % WARPLOOM_PARTS](index / WARPLOOM_PARTS);
}
template <class Family>
typename Family::Kernel find_kernel(int index) {
  return find_kernel<Family>(index, std::make_integer_sequence<int, WARPLOOM_PARTS>());
}

}  // namespace warploom::search
