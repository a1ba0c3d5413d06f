#include "dp/solve_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/instruction_sets.hpp"
#include "core/over_ranks.hpp"
#include "dp/open_block.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::dp {
namespace {

constexpr std::size_t kTileCells = kTile * kTile;

/// Cells in memory of their own, not initialised.
template <class T>
class CellArray {
 public:
  explicit CellArray(std::size_t cells)
      : cells_(static_cast<T*>(std::aligned_alloc(64, std::max<std::size_t>(cells * sizeof(T), 64)))) {
    if (cells_ == nullptr) throw std::bad_alloc();
  }
  T* get() const { return cells_.get(); }

 private:
  struct Free {
    void operator()(T* cells) const { std::free(cells); }
  };
  std::unique_ptr<T[], Free> cells_;
};

/// A rank's part of a triangle: every so manieth column of tiles, and all tiles on the diagonal.
template <class T>
class RankTriangle {
 public:
  RankTriangle(std::int64_t points, const Ranks& ranks)
      : points_(points),
        rank_(static_cast<std::int64_t>(ranks.rank())),
        count_(static_cast<std::int64_t>(ranks.count())),
        columns_(static_cast<std::size_t>(tiles_before(tiles_along(points))) * kTileCells),
        diagonal_(static_cast<std::size_t>(tiles_along(points)) * kTileCells) {}

  std::int64_t points() const { return points_; }
  std::size_t owner(std::int64_t column) const { return static_cast<std::size_t>(column % count_); }
  bool owns(std::int64_t column) const { return column % count_ == rank_; }
  /// The first column of this rank's from `column` on.
  std::int64_t owned_from(std::int64_t column) const {
    return column + ((rank_ - column) % count_ + count_) % count_;
  }
  std::int64_t count() const { return count_; }

  T* diagonal(std::int64_t row) const { return diagonal_.get() + static_cast<std::size_t>(row) * kTileCells; }
  /// Of a column that this rank owns, above the diagonal.
  T* column(std::int64_t row, std::int64_t column) const {
    return columns_.get() + static_cast<std::size_t>(tiles_before(column) + row) * kTileCells;
  }
  /// Of either.
  T* tile(std::int64_t row, std::int64_t at) const { return row == at ? diagonal(row) : column(row, at); }
  T value(std::int64_t i, std::int64_t j) const {
    return tile(i / kTile, j / kTile)[i % kTile * kTile + j % kTile];
  }

  static std::uint64_t bytes(std::int64_t points, std::int64_t ranks) {
    const std::int64_t tiles = tiles_along(points);
    return static_cast<std::uint64_t>((tiles * tiles / 2 + ranks * tiles) / ranks + tiles) * kTileCells *
           sizeof(T);
  }

 private:
  /// Of this rank's columns before `column`.
  std::int64_t tiles_before(std::int64_t column) const {
    const std::int64_t columns = column <= rank_ ? 0 : (column - rank_ + count_ - 1) / count_;
    return columns * rank_ + count_ * columns * (columns - 1) / 2;
  }

  std::int64_t points_, rank_, count_;
  CellArray<T> columns_, diagonal_;
};

/// Row by row of tiles, from the last one up: a tile of a row is finished by the rank that owns its column,
/// goes to all, and all multiply it into the tiles of the row that are theirs. What a row needs of the rows
/// below lies in its own columns.
template <class T>
class RankSolver {
 public:
  RankSolver(const PaddedTerms<T>& terms, RankTriangle<T>& m, Ranks& ranks)
      : terms_(terms), m_(m), ranks_(ranks), rows_{CellArray<T>(row_cells()), CellArray<T>(row_cells())} {}

  void operator()() {
    const std::int64_t tiles = tiles_;
    parallel_for(tiles, [&](std::int64_t row) {
      T* const cells = m_.diagonal(row);
      kernels_.finish(
          open_block(terms_, static_cast<int>(kTile), row * kTile, row * kTile, cells, cells, cells));
    });
    const auto all = static_cast<std::uint64_t>(tiles);
    Progress progress("solving", all * (all - 1) / 2, "tiles");
    for (std::int64_t row = tiles - 2; row >= 0; --row) {
      for (std::int64_t column = m_.owned_from(row + 1); column < tiles; column += m_.count())
        std::fill_n(m_.column(row, column), kTileCells, kUnreachable<T>);
      if (m_.owns(row + 1)) finish(row, row + 1);
      for (std::int64_t k = row + 1; k < tiles; ++k) {
        if (m_.owns(k)) std::copy_n(m_.column(row, k), kTileCells, in_row(row, k));
        ranks_.broadcast(m_.owner(k), std::as_writable_bytes(std::span(in_row(row, k), kTileCells)));
        multiply(row, k);
        progress.advance();
      }
    }
  }

  static std::uint64_t bytes(std::int64_t points) {
    return 2 * static_cast<std::uint64_t>(tiles_along(points)) * kTileCells * sizeof(T);
  }

 private:
  std::size_t row_cells() const { return static_cast<std::size_t>(tiles_) * kTileCells; }
  /// A finished tile of this row or the one below.
  T* in_row(std::int64_t row, std::int64_t column) const {
    return rows_[static_cast<std::size_t>(row % 2)].get() + static_cast<std::size_t>(column) * kTileCells;
  }

  /// The tile (row, k) into all tiles of this rank's to its right; the next one is finished then.
  void multiply(std::int64_t row, std::int64_t k) {
    const std::int64_t first = m_.owned_from(k + 1);
    if (first >= tiles_) return;
    parallel_for((tiles_ - first + m_.count() - 1) / m_.count(), [&](std::int64_t task) {
      const std::int64_t column = first + task * m_.count(),
                         next = std::min(column + m_.count(), last_owned());
      const T *a = in_row(row, k), *b = m_.column(k, column);
      kernels_.product(m_.column(row, column), a, b, static_cast<int>(kTile), static_cast<int>(kTile),
                       block_factors(terms_, row * kTile, k * kTile, column * kTile),
                       {a, next > k ? m_.column(k, next) : b});
      if (column == k + 1) finish(row, column);
    });
  }
  std::int64_t last_owned() const {
    const std::int64_t before = tiles_ - 1 - m_.owned_from(0);
    return m_.owned_from(0) + before / m_.count() * m_.count();
  }

  void finish(std::int64_t row, std::int64_t column) {
    const std::int64_t i = row * kTile, j = column * kTile;
    OpenBlock<T> block = open_block(terms_, static_cast<int>(kTile), i, j, m_.column(row, column),
                                    m_.diagonal(row), m_.diagonal(column));
    std::array<std::array<T, kTile>, 2> borders;
    if (terms_->codes != nullptr) {
      for (std::int64_t t = 0; t < kTile; ++t) {
        borders[0][static_cast<std::size_t>(t)] = neighbour(i + kTile, j - 1 + t);
        borders[1][static_cast<std::size_t>(t)] = neighbour(i + 1 + t, j - 1);
      }
      block.below = borders[0].data();
      block.left = borders[1].data();
    }
    kernels_.finish(block);
  }
  /// Of the row that is under way, left of the tile that is, or of the one below.
  T neighbour(std::int64_t i, std::int64_t j) const {
    if (i >= j) return i == j ? T(0) : kUnreachable<T>;
    const std::int64_t row = i / kTile, column = j / kTile;
    const T* tile = row == column ? m_.diagonal(row) : in_row(row, column);
    return tile[i % kTile * kTile + j % kTile];
  }

  const PaddedTerms<T>& terms_;
  RankTriangle<T>& m_;
  Ranks& ranks_;
  const std::int64_t tiles_ = tiles_along(m_.points());
  const BlockKernels<T>& kernels_ = WARPLOOM_PICK(cpu_blocks)->template of<T>();
  std::array<CellArray<T>, 2> rows_;
};

/// All ranks call the same functions.
template <class T>
class RankCells : public Cells<T> {
 public:
  RankCells(PaddedTerms<T> terms, RankTriangle<T> m, Ranks& ranks)
      : terms_(std::move(terms)), m_(std::move(m)), ranks_(ranks) {}

  T value(std::int64_t, std::int64_t i, std::int64_t j) const override {
    T cell = m_.owns(j / kTile) ? m_.value(i, j) : T(0);
    ranks_.broadcast(m_.owner(j / kTile), std::as_writable_bytes(std::span(&cell, 1)));
    return cell;
  }

  void copy(std::int64_t, std::span<T> cells) const override {
    for (std::int64_t column = 0; column < tiles_along(m_.points()); ++column) {
      const auto begin = static_cast<std::size_t>(tile_place(0, column)) * kTileCells;
      const std::span<T> there = cells.subspan(begin, static_cast<std::size_t>(column + 1) * kTileCells);
      if (m_.owns(column))
        for (std::int64_t row = 0; row <= column; ++row)
          std::copy_n(m_.tile(row, column), kTileCells,
                      there.data() + static_cast<std::size_t>(row) * kTileCells);
      ranks_.broadcast(m_.owner(column), std::as_writable_bytes(there));
    }
  }

  /// Intervals of one depth at a time: for each, the rank with the column of its end gets the row of its
  /// begin.
  std::vector<Split> trace(std::int64_t problem) const override {
    const std::int64_t last = m_.points() - 1;
    std::vector<Split> splits;
    if (value(problem, 0, last) == kUnreachable<T>) return splits;
    std::vector<Interval> open{{0, last}};
    while (true) {
      std::erase_if(open, [](const Interval& one) { return one.j - one.i < 2; });
      if (open.empty()) return splits;
      std::vector<std::string> to(ranks_.count());
      for (const Interval& one : open) put_cells(one, to[m_.owner(one.j / kTile)]);
      const std::vector<std::string> from = ranks_.exchange(std::move(to));
      std::vector<std::string_view> rest(from.begin(), from.end());
      std::string mine;
      for (const Interval& one : open)
        if (m_.owns(one.j / kTile)) put_bytes(mine, decision(one, rest));
      const std::vector<std::string> said = said_by_all(ranks_, mine);
      rest.assign(said.begin(), said.end());
      std::vector<Interval> next;
      for (const Interval& one : open) {
        const auto k = take_bytes<std::int64_t>(rest[m_.owner(one.j / kTile)]);
        splits.push_back({one.i, k, one.j});
        if (splits.back().pair()) {
          next.push_back({one.i + 1, one.j - 1});
        } else {
          next.push_back({one.i, k});
          next.push_back({k, one.j});
        }
      }
      open = std::move(next);
    }
  }

 private:
  struct Interval {
    std::int64_t i, j;
  };
  bool asks_inner(const Interval& one) const { return terms_->may_pair(one.i, one.j) && one.j - one.i > 2; }

  /// Calls take(begin, end) for the k between, a column of tiles at a time, and says whose it is.
  template <class Take>
  static void for_each_tile(const Interval& one, const Take& take) {
    for (std::int64_t begin = one.i + 1; begin < one.j;) {
      const std::int64_t end = std::min((begin / kTile + 1) * kTile, one.j);
      take(begin, end);
      begin = end;
    }
  }

  /// What this rank has of the row of an interval's begin, and of the cell that a pair closes around.
  void put_cells(const Interval& one, std::string& message) const {
    for_each_tile(one, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t column = begin / kTile;
      if (!m_.owns(column)) return;
      const T* row = m_.tile(one.i / kTile, column) + one.i % kTile * kTile + begin % kTile;
      put_bytes(message, std::span(row, static_cast<std::size_t>(end - begin)));
    });
    if (asks_inner(one) && m_.owns((one.j - 1) / kTile)) put_bytes(message, m_.value(one.i + 1, one.j - 1));
  }

  /// As of a problem that one process holds: a pair before splits, the least k.
  std::int64_t decision(const Interval& one, std::vector<std::string_view>& from) const {
    const auto [i, j] = one;
    std::vector<T> row(static_cast<std::size_t>(j - i));
    for_each_tile(one, [&](std::int64_t begin, std::int64_t end) {
      take_bytes(
          from[m_.owner(begin / kTile)],
          std::span(row).subspan(static_cast<std::size_t>(begin - i), static_cast<std::size_t>(end - begin)));
    });
    const Terms<T>& terms = *terms_;
    const T cell = m_.value(i, j), weight = terms.weight(i, j);
    if (terms.may_pair(i, j)) {
      const T inner = asks_inner(one) ? take_bytes<T>(from[m_.owner((j - 1) / kTile)]) : T(0);
      if (finished(inner + terms.score(i, j), weight) == cell) return i;
    }
    const T pair = terms.factors != nullptr ? terms.factors[i] * terms.factors[j] * terms.product_sign : T(0);
    for (std::int64_t k = i + 1; k < j; ++k) {
      T sum = row[static_cast<std::size_t>(k - i)] + m_.value(k, j);
      if (terms.factors != nullptr) sum = sum + pair * terms.factors[k];
      if (finished(sum, weight) == cell) return k;
    }
    throw Internal(fmt::format("no split of cell ({}, {}) gives its value", i, j));
  }

  PaddedTerms<T> terms_;
  RankTriangle<T> m_;
  Ranks& ranks_;
};

}  // namespace

template <class T>
Solved<T> solve_ranks(const Plan<T>& plan, Ranks& ranks) {
  const Terms<T>& problem = plan.problems[0];
  require_same(ranks, std::to_string(problem.points), "the number of points");
  Solved<T> solved;
  solved.report.bytes = RankTriangle<T>::bytes(problem.points, static_cast<std::int64_t>(ranks.count())) +
                        RankSolver<T>::bytes(problem.points) + PaddedTerms<T>::bytes(problem);
  const auto no_memory = [&](const std::string& available) {
    return OutOfMemory(fmt::format(
        "a problem over {} points needs {} in each of {} processes{}; take more processes, on more machines",
        problem.points, bytes_text(solved.report.bytes), ranks.count(), available));
  };
  if (const std::uint64_t available = within_cap(available_memory()); available < solved.report.bytes)
    throw no_memory(fmt::format(", {} are available", bytes_text(available)));
  try {
    PaddedTerms<T> terms(problem);
    RankTriangle<T> triangle(problem.points, ranks);
    const auto start = std::chrono::steady_clock::now();
    RankSolver<T>(terms, triangle, ranks)();
    solved.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    solved.cells = std::make_unique<RankCells<T>>(std::move(terms), std::move(triangle), ranks);
  } catch (const std::bad_alloc&) {
    throw no_memory("");
  }
  return solved;
}

template Solved<std::int32_t> solve_ranks(const Plan<std::int32_t>&, Ranks&);
template Solved<std::int64_t> solve_ranks(const Plan<std::int64_t>&, Ranks&);
template Solved<float> solve_ranks(const Plan<float>&, Ranks&);
template Solved<double> solve_ranks(const Plan<double>&, Ranks&);

}  // namespace warploom::dp
