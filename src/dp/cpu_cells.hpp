#pragma once

/// Cells and terms of a problem in host memory.

#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "dp/backend.hpp"

namespace warploom::dp {

/// A copy of a problem's terms that reaches to the end of the last tile: what lies behind the last point adds
/// nothing and leads nowhere, so that kernels need not know where the points end.
template <class T>
class PaddedTerms {
 public:
  explicit PaddedTerms(const Terms<T>& terms);
  PaddedTerms(PaddedTerms&&) noexcept = default;

  const Terms<T>& operator*() const { return terms_; }
  const Terms<T>* operator->() const { return &terms_; }
  /// [letters][tiles_along(points) * kTile] scores of a letter and the leaf before a point.
  const T* profile() const { return profile_.data(); }

  /// Of the copy.
  static std::uint64_t bytes(const Terms<T>& terms);

 private:
  Terms<T> terms_;  // into what follows
  std::vector<T> leaves_, row_weight_, column_weight_, factors_, scores_, profile_;
  std::vector<std::uint8_t> codes_;
  Triangle<T> cell_weight_;
};

/// How a cell is stored: as T, or, of int32, in 16 bits above the base of its tile (narrow.hpp).
template <class T, class Stored>
concept StoresCells = std::same_as<T, Stored> ||
    (std::same_as<T, std::int32_t>&& std::same_as<Stored, std::int16_t>);

/// A triangle laid out as Triangle<T>.
template <class T, class Stored>
requires StoresCells<T, Stored>
class CpuTriangle {
 public:
  static constexpr bool kNarrow = !std::same_as<T, Stored>;

  /// Not initialised. @throws std::bad_alloc
  explicit CpuTriangle(std::int64_t points);

  std::int64_t points() const { return points_; }
  Stored* tile(std::int64_t row, std::int64_t column) const {
    return cells_.get() + tile_place(row, column) * kTile * kTile;
  }
  Stored* at(std::int64_t i, std::int64_t j) const { return cells_.get() + cell_place(i, j); }
  /// Of a tile; 0 where cells are stored as they are.
  std::int32_t base(std::int64_t row, std::int64_t column) const {
    return kNarrow ? bases_[static_cast<std::size_t>(tile_place(row, column))] : 0;
  }
  void set_base(std::int64_t row, std::int64_t column, std::int32_t base) {
    if (kNarrow) bases_[static_cast<std::size_t>(tile_place(row, column))] = base;
  }
  T value(std::int64_t i, std::int64_t j) const {
    return static_cast<T>(base(i / kTile, j / kTile)) + static_cast<T>(*at(i, j));
  }

  static std::uint64_t bytes(std::int64_t points);

 private:
  struct Free {
    void operator()(Stored* cells) const { std::free(cells); }
  };
  std::int64_t points_;
  std::unique_ptr<Stored[], Free> cells_;
  std::vector<std::int32_t> bases_;  // narrow: a tile each, at tile_place()
};

template <class T, class Stored>
class CpuCells : public Cells<T> {
 public:
  CpuCells(std::vector<PaddedTerms<T>> terms, std::vector<CpuTriangle<T, Stored>> triangles)
      : terms_(std::move(terms)), triangles_(std::move(triangles)) {}

  T value(std::int64_t problem, std::int64_t i, std::int64_t j) const override;
  void copy(std::int64_t problem, std::span<T> cells) const override;
  std::vector<Split> trace(std::int64_t problem) const override;

 private:
  std::vector<PaddedTerms<T>> terms_;
  std::vector<CpuTriangle<T, Stored>> triangles_;
};

}  // namespace warploom::dp
