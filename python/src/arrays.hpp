#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace warploom::python {

namespace nb = nanobind;

/// A NumPy array of any shape.
template <class T>
using Array = nb::ndarray<nb::numpy, T>;

/// An array in host memory, C order, that a call reads or writes where it is.
template <class T, class... Config>
using View = nb::ndarray<T, nb::device::cpu, nb::c_contig, Config...>;
template <class T>
using View1 = View<T, nb::ndim<1>>;
template <class T>
using View2 = View<T, nb::ndim<2>>;

/// The same in any order: strides are known.
template <class T, class... Config>
using Strided = nb::ndarray<T, nb::device::cpu, Config...>;

/// Of an array in C order along the axes that have more than one element.
template <class T, class... Config>
bool is_contiguous(const nb::ndarray<T, Config...>& array) {
  std::int64_t next = 1;
  for (std::size_t axis = array.ndim(); axis-- > 0;) {
    if (array.shape(axis) != 1 && array.stride(axis) != next) return false;
    next *= static_cast<std::int64_t>(array.shape(axis));
  }
  return true;
}

template <class T, class... Config>
std::span<T> span_of(const nb::ndarray<T, Config...>& array) {
  return {array.data(), array.size()};
}

/// A vector's memory as an array, not copied; of an element that is several T, as std::array<T, 3>, the last
/// extent says so.
template <class T, class Element>
Array<T> array_of(std::vector<Element> values, std::initializer_list<std::size_t> shape) {
  static_assert(sizeof(Element) % sizeof(T) == 0);
  auto kept = std::make_unique<std::vector<Element>>(std::move(values));
  void* const data = kept->data();
  const nb::capsule owner(kept.get(),
                          [](void* vector) noexcept { delete static_cast<std::vector<Element>*>(vector); });
  kept.release();
  return Array<T>(data, shape.size(), shape.begin(), owner);
}
template <class T>
Array<T> array_of(std::vector<T> values) {
  const std::size_t size = values.size();
  return array_of<T, T>(std::move(values), {size});
}

}  // namespace warploom::python
