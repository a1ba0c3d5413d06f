#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "warploom/core/error.hpp"

namespace warploom {

/// "[37, 512]"
inline std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t k = 0; k < shape.size(); ++k) text += (k == 0 ? "" : ", ") + std::to_string(shape[k]);
  return text + "]";
}

/// Elements in an array of this shape. @throws BadInput (a negative extent, a product above 2^63 - 1)
inline std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw BadInput("shape " + shape_text(shape) + " has a negative extent");
    empty = empty || extent == 0;
  }
  if (empty) return 0;
  for (const std::int64_t extent : shape) {
    if (count > std::numeric_limits<std::int64_t>::max() / extent)
      throw BadInput("shape " + shape_text(shape) + " has more than 2^63 - 1 elements");
    count *= extent;
  }
  return count;
}

/// A view of a contiguous row-major array that somebody else owns; the last index runs fastest.
/// Copying a view copies a pointer. `Tensor<const T, R>` is read-only and made from `Tensor<T, R>`.
template <class T, std::size_t Rank>
class Tensor {
  static_assert(Rank >= 1);

 public:
  using Shape = std::array<std::int64_t, Rank>;

  /// An empty view: every extent 0.
  Tensor() = default;

  /// @throws BadInput (a negative extent, too many elements, or `data` holds fewer or more than the shape
  /// says)
  Tensor(std::span<T> data, const Shape& shape) : data_(data.data()), shape_(shape) {
    if (const std::int64_t want = element_count(shape); static_cast<std::uint64_t>(want) != data.size())
      throw BadInput("shape " + shape_text(shape) + " needs " + std::to_string(want) +
                     " elements, the buffer has " + std::to_string(data.size()));
  }

  /// Matrix<float>{pointer, rows, columns}. The caller answers for the buffer's length.
  /// @throws BadInput (a negative extent, too many elements, no pointer for a shape that is not empty)
  template <std::integral... Extents>
  requires(sizeof...(Extents) == Rank) Tensor(T* data, Extents... extents)
      : data_(data), shape_{static_cast<std::int64_t>(extents)...} {
    if (element_count(shape_) > 0 && data == nullptr)
      throw BadInput("shape " + shape_text(shape_) + " needs data, the pointer is null");
  }

  /// Tensor<T, R> -> Tensor<const T, R>
  template <class U>
  requires(std::is_same_v<const U, T> && !std::is_same_v<U, T>)
      Tensor(const Tensor<U, Rank>& other)  // NOLINT(google-explicit-constructor): as T* to const T*
      : data_(other.data()), shape_(other.shape()) {}

  T* data() const { return data_; }
  const Shape& shape() const { return shape_; }
  /// @throws BadInput (there is no such dimension)
  std::int64_t extent(std::size_t dimension) const {
    if (dimension >= Rank)
      throw BadInput("dimension " + std::to_string(dimension) + " of a view of " + std::to_string(Rank));
    return shape_[dimension];
  }
  std::int64_t size() const { return element_count(shape_); }
  bool empty() const { return size() == 0; }
  std::span<T> flat() const { return {data_, static_cast<std::size_t>(size())}; }

  /// Unchecked in release builds: for inner loops.
  template <std::integral... Indices>
  requires(sizeof...(Indices) == Rank) T& operator()(Indices... indices) const {
    const Shape index{static_cast<std::int64_t>(indices)...};
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < Rank; ++k) {
      assert(index[k] >= 0 && index[k] < shape_[k]);
      offset = offset * shape_[k] + index[k];
    }
    return data_[offset];
  }

  /// The part with the first index fixed: a row of a matrix, a slice of a volume.
  /// @throws BadInput (index outside [0, extent(0)))
  auto operator[](std::int64_t index) const requires(Rank >= 2) {
    if (index < 0 || index >= shape_[0])
      throw BadInput("index " + std::to_string(index) + " is outside [0, " + std::to_string(shape_[0]) + ")");
    std::array<std::int64_t, Rank - 1> rest;
    for (std::size_t k = 1; k < Rank; ++k) rest[k - 1] = shape_[k];
    const std::int64_t count = element_count(rest);
    return Tensor<T, Rank - 1>(std::span<T>(data_ + index * count, static_cast<std::size_t>(count)), rest);
  }

 private:
  T* data_ = nullptr;
  Shape shape_{};
};

template <class T>
using Matrix = Tensor<T, 2>;
template <class T>
using Volume = Tensor<T, 3>;

/// For functions that take several arrays. @throws BadInput "mask: shape [3, 4], expected [3, 5]"
template <class T, std::size_t Rank>
void require_shape(const Tensor<T, Rank>& view, const std::array<std::int64_t, Rank>& expected,
                   std::string_view name) {
  if (view.shape() != expected)
    throw BadInput(std::string(name) + ": shape " + shape_text(view.shape()) + ", expected " +
                   shape_text(expected));
}

}  // namespace warploom
