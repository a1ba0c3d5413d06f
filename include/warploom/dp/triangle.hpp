#pragma once

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "warploom/core/host_device.hpp"

namespace warploom::dp {

/// What the cells of a problem may be.
template <class T>
concept Value = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, std::int32_t> ||
    std::same_as<T, std::int64_t>;

/// Edge of the tiles that a triangle is stored in [cells].
inline constexpr std::int64_t kTile = 64;

// What follows is for kernels, too, and unchecked: points and places are those of a triangle that there can
// be.

/// Tiles along an edge of the triangle over `points` points.
WARPLOOM_HOST_DEVICE constexpr std::int64_t tiles_along(std::int64_t points) {
  return (points + kTile - 1) / kTile;
}

/// Place of tile (I, J), I <= J, among all tiles: a column of tiles is contiguous.
WARPLOOM_HOST_DEVICE constexpr std::int64_t tile_place(std::int64_t row, std::int64_t column) {
  return column * (column + 1) / 2 + row;
}

/// Cells that the triangle over `points` points stores, those of whole tiles.
WARPLOOM_HOST_DEVICE constexpr std::int64_t stored_cells(std::int64_t points) {
  return tile_place(0, tiles_along(points)) * kTile * kTile;
}

/// Place of cell (i, j), i <= j, among the stored ones: tiles are row-major inside.
WARPLOOM_HOST_DEVICE constexpr std::int64_t cell_place(std::int64_t i, std::int64_t j) {
  return tile_place(i / kTile, j / kTile) * kTile * kTile + i % kTile * kTile + j % kTile;
}

namespace internal {
/// Bytes of the cells stored, which can be had. @throws as Triangle
std::uint64_t triangle_bytes(std::int64_t points, std::size_t cell);
}  // namespace internal

/// The cells (i, j), 0 <= i < j < points, of an upper triangle, in square tiles of 64 x 64 packed column by
/// column: 64-bit places, about half the memory of a square table. Cells of the tiles that are no cells of
/// the triangle hold what they like. Aligned to 64 bytes.
template <Value T>
class Triangle {
 public:
  Triangle() = default;
  /// Not initialised. Cost: stored_cells(points) * sizeof(T) bytes.
  /// @throws BadInput (points below 0 or above 2^30), OutOfMemory, std::bad_alloc
  explicit Triangle(std::int64_t points)
      : points_(points),
        cells_(static_cast<T*>(
            ::operator new (internal::triangle_bytes(points, sizeof(T)), std::align_val_t{64}))) {}

  Triangle(const Triangle& other) : Triangle(other.points_) {
    std::ranges::copy(other.stored(), cells_.get());
  }
  Triangle(Triangle&& other) noexcept
      : points_(std::exchange(other.points_, 0)), cells_(std::move(other.cells_)) {}
  Triangle& operator=(Triangle other) noexcept {
    points_ = other.points_;
    cells_ = std::move(other.cells_);
    return *this;
  }
  ~Triangle() = default;

  /// The same value everywhere.
  Triangle(std::int64_t points, T value) : Triangle(points) { std::ranges::fill(stored(), value); }

  std::int64_t points() const { return points_; }
  bool empty() const { return points_ == 0; }

  /// Unchecked in release builds.
  T& operator()(std::int64_t i, std::int64_t j) {
    assert(0 <= i && i <= j && j < points_);
    return cells_[cell_place(i, j)];
  }
  const T& operator()(std::int64_t i, std::int64_t j) const {
    assert(0 <= i && i <= j && j < points_);
    return cells_[cell_place(i, j)];
  }

  /// Tile after tile; see tile_place and cell_place.
  std::span<T> stored() { return {cells_.get(), static_cast<std::size_t>(stored_cells(points_))}; }
  std::span<const T> stored() const {
    return {cells_.get(), static_cast<std::size_t>(stored_cells(points_))};
  }

  /// Unchecked: of 0 to 2^30 points.
  static constexpr std::uint64_t bytes(std::int64_t points) {
    return static_cast<std::uint64_t>(stored_cells(points)) * sizeof(T);
  }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::int64_t points_ = 0;
  std::unique_ptr<T[], Free> cells_;
};

}  // namespace warploom::dp
