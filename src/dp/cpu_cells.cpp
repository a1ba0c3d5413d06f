#include "dp/cpu_cells.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>

#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::dp {
namespace {

std::size_t padded(std::int64_t points) { return static_cast<std::size_t>(tiles_along(points) * kTile); }

/// `count` values, and `padding` behind them; null stays null.
template <class V>
const V* pad(const V* values, std::int64_t count, std::size_t size, V padding, std::vector<V>& copy) {
  if (values == nullptr) return nullptr;
  copy.assign(size, padding);
  std::copy_n(values, count, copy.data());
  return copy.data();
}

}  // namespace

template <class T>
PaddedTerms<T>::PaddedTerms(const Terms<T>& terms) : terms_(terms) {
  const std::int64_t points = terms.points;
  const std::size_t size = padded(points);
  terms_.leaves = pad(terms.leaves, points - 1, size, kUnreachable<T>, leaves_);
  terms_.row_weight = pad(terms.row_weight, points, size, T(0), row_weight_);
  terms_.column_weight = pad(terms.column_weight, points, size, T(0), column_weight_);
  terms_.factors = pad(terms.factors, points, size, T(0), factors_);
  terms_.codes = pad(terms.codes, points - 1, size, std::uint8_t{0}, codes_);
  if (terms.codes != nullptr) {
    scores_.assign(terms.scores, terms.scores + terms.letters * terms.letters);
    terms_.scores = scores_.data();
    profile_.assign(static_cast<std::size_t>(terms.letters) * size, kUnreachable<T>);
    for (std::size_t letter = 0; letter < static_cast<std::size_t>(terms.letters); ++letter)
      for (std::size_t j = 1; j < static_cast<std::size_t>(points); ++j)
        profile_[letter * size + j] =
            terms.scores[letter * static_cast<std::size_t>(terms.letters) + terms.codes[j - 1]];
  }
  if (terms.cell_weight != nullptr) {
    // Only what is read: the rest may never have been written.
    cell_weight_ = Triangle<T>(points, T(0));
    for (std::int64_t column = 0; column < points; column += kTile)
      for (std::int64_t i = 0; i < std::min(column + kTile, points); ++i) {
        const std::int64_t first = std::max(column, i + 2), last = std::min(column + kTile, points);
        if (first < last)
          std::copy_n(terms.cell_weight + cell_place(i, first), last - first, &cell_weight_(i, first));
      }
    terms_.cell_weight = cell_weight_.stored().data();
  }
}

template <class T>
std::uint64_t PaddedTerms<T>::bytes(const Terms<T>& terms) {
  const auto arrays = static_cast<std::uint64_t>((terms.leaves != nullptr) + (terms.row_weight != nullptr) +
                                                 (terms.column_weight != nullptr) +
                                                 (terms.factors != nullptr) + terms.letters);
  return padded(terms.points) * arrays * sizeof(T) +
         (terms.cell_weight != nullptr ? Triangle<T>::bytes(terms.points) : 0);
}

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

template <class T, class Stored>
requires StoresCells<T, Stored> CpuTriangle<T, Stored>::CpuTriangle(std::int64_t points) : points_(points) {
  std::size_t bytes = static_cast<std::size_t>(stored_cells(points)) * sizeof(Stored);
  const bool large = bytes >= 2 * kHugePage;
  if (large) bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  cells_.reset(static_cast<Stored*>(std::aligned_alloc(large ? kHugePage : 64, bytes)));
  if (cells_ == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (large) madvise(cells_.get(), bytes, MADV_HUGEPAGE);  // where it is refused, small pages do as well
#endif
  if (kNarrow) bases_.resize(static_cast<std::size_t>(tile_place(0, tiles_along(points))));
}

template <class T, class Stored>
requires StoresCells<T, Stored> std::uint64_t CpuTriangle<T, Stored>::bytes(std::int64_t points) {
  const auto tiles = static_cast<std::uint64_t>(tile_place(0, tiles_along(points)));
  return tiles * (kTile * kTile * sizeof(Stored) + (kNarrow ? sizeof(std::int32_t) : 0));
}

template <class T, class Stored>
T CpuCells<T, Stored>::value(std::int64_t problem, std::int64_t i, std::int64_t j) const {
  return triangles_[static_cast<std::size_t>(problem)].value(i, j);
}

template <class T, class Stored>
void CpuCells<T, Stored>::copy(std::int64_t problem, std::span<T> cells) const {
  const CpuTriangle<T, Stored>& m = triangles_[static_cast<std::size_t>(problem)];
  for (std::int64_t column = 0; column < tiles_along(m.points()); ++column)
    for (std::int64_t row = 0; row <= column; ++row)
      std::transform(m.tile(row, column), m.tile(row, column) + kTile * kTile,
                     cells.data() + tile_place(row, column) * kTile * kTile,
                     [&](Stored cell) { return static_cast<T>(m.base(row, column)) + static_cast<T>(cell); });
}

namespace {

/// The decision behind a cell that has a solution, j - i >= 2.
template <class T, class Stored>
Split decision(const CpuTriangle<T, Stored>& m, const Terms<T>& terms, std::int64_t i, std::int64_t j) {
  const T cell = m.value(i, j), weight = terms.weight(i, j);
  if (terms.may_pair(i, j)) {
    const T inner = j - i == 2 ? T(0) : m.value(i + 1, j - 1);
    if (finished(inner + terms.score(i, j), weight) == cell) return {i, i, j};
  }
  const T pair = terms.factors != nullptr ? terms.factors[i] * terms.factors[j] * terms.product_sign : T(0);
  for (std::int64_t begin = i + 1; begin < j;) {
    const std::int64_t tile = begin / kTile, end = std::min((tile + 1) * kTile, j);
    const T base = static_cast<T>(m.base(i / kTile, tile)) + static_cast<T>(m.base(tile, j / kTile));
    const Stored* row = m.at(i, begin);
    const Stored* column = m.at(begin, j);
    for (std::int64_t k = begin; k < end; ++k, ++row, column += kTile) {
      T sum = base + (static_cast<T>(*row) + static_cast<T>(*column));
      if (terms.factors != nullptr) sum = sum + pair * terms.factors[k];
      if (finished(sum, weight) == cell) return {i, k, j};
    }
    begin = end;
  }
  throw Internal("no split of cell (" + std::to_string(i) + ", " + std::to_string(j) + ") gives its value");
}

}  // namespace

template <class T, class Stored>
std::vector<Split> CpuCells<T, Stored>::trace(std::int64_t problem) const {
  const CpuTriangle<T, Stored>& m = triangles_[static_cast<std::size_t>(problem)];
  const Terms<T>& terms = *terms_[static_cast<std::size_t>(problem)];
  const std::int64_t last = m.points() - 1;
  std::vector<Split> splits;
  if (m.value(0, last) == kUnreachable<T>) return splits;
  struct Interval {
    std::int64_t i, j;
  };
  std::vector<Interval> open{{0, last}};
  while (!open.empty()) {
    const auto [i, j] = open.back();
    open.pop_back();
    if (j - i < 2) continue;
    check_interrupt();
    const Split split = decision(m, terms, i, j);
    splits.push_back(split);
    if (split.pair()) {
      open.push_back({i + 1, j - 1});
    } else {
      open.push_back({split.k, j});
      open.push_back({i, split.k});
    }
  }
  return splits;
}

#define WARPLOOM_INSTANTIATE(T, Stored)  \
  template class CpuTriangle<T, Stored>; \
  template class CpuCells<T, Stored>;
WARPLOOM_INSTANTIATE(std::int32_t, std::int16_t)
WARPLOOM_INSTANTIATE(std::int32_t, std::int32_t)
WARPLOOM_INSTANTIATE(std::int64_t, std::int64_t)
WARPLOOM_INSTANTIATE(float, float)
WARPLOOM_INSTANTIATE(double, double)
#undef WARPLOOM_INSTANTIATE

template class PaddedTerms<std::int32_t>;
template class PaddedTerms<std::int64_t>;
template class PaddedTerms<float>;
template class PaddedTerms<double>;

}  // namespace warploom::dp
