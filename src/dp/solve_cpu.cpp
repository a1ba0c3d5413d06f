#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <new>
#include <optional>

#include "core/instruction_sets.hpp"
#include "dp/backend.hpp"
#include "dp/cpu_blocks.hpp"
#include "dp/cpu_cells.hpp"
#include "dp/decompose.hpp"
#include "dp/narrow.hpp"
#include "dp/open_block.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::dp {
namespace {

// Threads take about so many (add, min) pairs at once: some 20 us.
constexpr std::int64_t kPiecePairs = std::int64_t{1} << 20;
// Rows that a thread computes of a tile's product where there are few tiles.
constexpr int kStripRows = 16;
// Below this the machine is not asked what it has: the answer takes longer than the solution.
constexpr std::uint64_t kSmallBytes = std::uint64_t{32} << 20;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Blocks of one problem's triangle, computed.
template <class T, class Stored>
class CpuExecutor : public Executor {
 public:
  CpuExecutor(const PaddedTerms<T>& terms, CpuTriangle<T, Stored>& m, Progress& progress)
      : terms_(terms), m_(m), progress_(progress) {}

  void rectangular(const Rectangular& call) override {
    const double start = now();
    if (call.edge < kTile)
      multiply_small_blocks(call);
    else
      multiply_tiles(call);
    rectangular_seconds_ += now() - start;
  }

  void triangular(const TriangularBlock& call) override {
    const double start = now();
    if (call.edge < kTile)
      finish_small_blocks(call);
    else
      finish_tiles(call);
    triangular_seconds_ += now() - start;
  }

  double rectangular_seconds() const { return rectangular_seconds_; }
  double triangular_seconds() const { return triangular_seconds_; }
  /// Narrow: whether all cells are what they ought to be.
  bool holds() const { return holds_; }

 private:
  static constexpr bool kNarrow = CpuTriangle<T, Stored>::kNarrow;
  using Borders = std::array<std::array<T, kTile>, 2>;

  struct TileRange {
    std::int64_t row, column, begin, end;  // the tile, and those between that are multiplied
  };

  /// Calls body(k) for k in [0, count), from several threads where there is enough to do.
  template <class Body>
  void each(std::int64_t count, std::int64_t pairs, const Body& body) {
    const std::int64_t piece = std::max<std::int64_t>(1, kPiecePairs / std::max<std::int64_t>(1, pairs));
    parallel_for((count + piece - 1) / piece, [&](std::int64_t p) {
      const std::int64_t end = std::min((p + 1) * piece, count);
      for (std::int64_t k = p * piece; k < end; ++k) body(k);
      progress_.advance(static_cast<std::uint64_t>((end - p * piece) * pairs));
    });
  }

  BlockFactors<T> factors(std::int64_t i, std::int64_t k, std::int64_t j) const {
    return block_factors(terms_, i, k, j);
  }

  // Blocks that are parts of tiles.

  void multiply_small_blocks(const Rectangular& call) {
    if constexpr (!kNarrow) {
      const int edge = static_cast<int>(call.edge);
      each(call.count, (call.k_end - call.k_begin) * edge * edge, [&](std::int64_t block) {
        const std::int64_t shift = block * edge, i = call.i + shift, j = call.j + shift;
        T* c = m_.at(i, j);
        if (call.fresh)
          for (int r = 0; r < edge; ++r) std::fill_n(c + r * kTile, edge, kUnreachable<T>);
        for (std::int64_t k = call.k_begin + shift; k < call.k_end + shift; k += edge)
          kernels_.product(c, m_.at(i, k), m_.at(k, j), edge, edge, factors(i, k, j), {c, c});
      });
    }
  }

  void finish_small_blocks(const TriangularBlock& call) {
    if constexpr (!kNarrow) {
      const int edge = static_cast<int>(call.edge);
      each(call.count, edge * edge * edge, [&](std::int64_t block) {
        const std::int64_t i = call.i + block * edge, j = call.j + block * edge;
        T* c = m_.at(i, j);
        if (call.fresh && i != j)
          for (int r = 0; r < edge; ++r) std::fill_n(c + r * kTile, edge, kUnreachable<T>);
        finish_block(edge, i, j, c, m_.at(i, i), m_.at(j, j));
      });
    }
  }

  // Tiles.

  void multiply_tiles(const Rectangular& call) {
    const std::int64_t side = call.edge / kTile;
    std::vector<TileRange> tiles;
    for (std::int64_t block = 0; block < call.count; ++block)
      for (std::int64_t a = 0; a < side; ++a)
        for (std::int64_t b = 0; b < side; ++b) {
          const std::int64_t shift = block * side;
          const TileRange tile{call.i / kTile + shift + a, call.j / kTile + shift + b,
                               call.k_begin / kTile + shift, call.k_end / kTile + shift};
          if (tile.column >= tiles_) continue;
          if (call.fresh) set_fresh_base(tile.row, tile.column, tile.begin);
          tiles.push_back(tile);
        }
    const bool few = std::ssize(tiles) < 4 * std::int64_t{threads()};
    const int rows = few ? kStripRows : int{kTile}, strips = kTile / rows;
    each(std::ssize(tiles) * strips, (call.k_end - call.k_begin) * kTile * rows, [&](std::int64_t task) {
      const TileRange& tile = tiles[static_cast<std::size_t>(task / strips)];
      const int first = static_cast<int>(task % strips) * rows;
      if (call.fresh) clear(tile.row, tile.column, first, rows);
      multiply(tile, first, rows);
    });
  }

  /// Blocks of several tiles: their tiles from the diagonal outwards, those that do not need each other at
  /// once.
  void finish_tiles(const TriangularBlock& call) {
    const std::int64_t side = call.edge / kTile;
    const bool diagonal = call.i == call.j;
    for (std::int64_t wave = 0; wave < (diagonal ? side : 2 * side - 1); ++wave) {
      std::vector<std::array<TileRange, 2>>
          tiles;  // to be multiplied: those of the rows' block, the columns'
      for (std::int64_t block = 0; block < call.count; ++block)
        for (std::int64_t a = 0; a < side; ++a) {
          const std::int64_t b = diagonal ? a + wave : wave - (side - 1 - a);
          const std::int64_t i = call.i / kTile + block * side, j = call.j / kTile + block * side;
          if (b < 0 || b >= side || j + b >= tiles_) continue;
          const std::int64_t rows_end = diagonal ? j + b : i + side, columns_begin = diagonal ? j + b : j;
          tiles.push_back({{{i + a, j + b, i + a + 1, rows_end}, {i + a, j + b, columns_begin, j + b}}});
        }
      const std::int64_t pairs =
          (diagonal ? std::max<std::int64_t>(wave, 1) : wave + 1) * kTile * kTile * kTile;
      each(std::ssize(tiles), pairs, [&](std::int64_t task) {
        const auto& [of_rows, of_columns] = tiles[static_cast<std::size_t>(task)];
        const auto [row, column, begin, end] = of_rows;
        if ((call.fresh || diagonal) && row != column) {
          const bool none = begin >= end && of_columns.begin >= of_columns.end;
          set_fresh_base(row, column, none ? row : begin < end ? begin : of_columns.begin);
          clear(row, column, 0, kTile);
        }
        multiply(of_rows, 0, kTile);
        multiply(of_columns, 0, kTile);
        finish_tile(row, column);
      });
    }
  }

  /// @param first  the first tile that is multiplied; `row`: there is none
  void set_fresh_base(std::int64_t row, std::int64_t column, std::int64_t first) {
    m_.set_base(row, column, first == row ? 0 : m_.base(row, first) + m_.base(first, column));
  }

  void clear(std::int64_t row, std::int64_t column, int first, int rows) {
    std::fill_n(m_.tile(row, column) + first * kTile, rows * kTile,
                kNarrow ? static_cast<Stored>(kNarrowUnreachable) : static_cast<Stored>(kUnreachable<T>));
  }

  /// `rows` rows from `first` of a tile.
  void multiply(const TileRange& tile, int first, int rows) {
    const auto [row, column, begin, end] = tile;
    Stored* c = m_.tile(row, column) + first * kTile;
    for (std::int64_t k = begin; k < end; ++k) {
      const Stored* a = m_.tile(row, k) + first * kTile;
      const Stored* b = m_.tile(k, column);
      const std::int64_t next_k = std::min(k + 1, end - 1);
      const NextOperands<Stored> next{m_.tile(row, next_k) + first * kTile, m_.tile(next_k, column)};
      if constexpr (kNarrow) {
        const std::int32_t shift = m_.base(row, k) + m_.base(k, column) - m_.base(row, column);
        if (!narrow_.product(c, a, b, rows, shift, next)) holds_ = false;
      } else {
        kernels_.product(c, a, b, rows, kTile, factors(row * kTile + first, k * kTile, column * kTile), next);
      }
    }
  }

  void finish_tile(std::int64_t row, std::int64_t column) {
    const std::int64_t i = row * kTile, j = column * kTile;
    if constexpr (kNarrow) {
      alignas(64) T cells[kTile * kTile], rows[kTile * kTile], columns[kTile * kTile];
      Stored* c = m_.tile(row, column);
      narrow_.widen(cells, c, m_.base(row, column));
      narrow_.widen(rows, m_.tile(row, row), 0);
      narrow_.widen(columns, m_.tile(column, column), 0);
      finish_block(kTile, i, j, cells, i == j ? cells : rows, i == j ? cells : columns);
      m_.set_base(row, column, i == j ? 0 : cells[(kTile - 1) * kTile]);
      const auto valid = static_cast<int>(std::min(kTile, m_.points() - j));
      if (!narrow_.narrow(c, cells, m_.base(row, column), valid, i == j)) holds_ = false;
    } else {
      finish_block(kTile, i, j, m_.tile(row, column), m_.tile(row, row), m_.tile(column, column));
    }
  }

  void finish_block(int edge, std::int64_t i, std::int64_t j, T* cells, const T* rows, const T* columns) {
    OpenBlock<T> block = open_block(terms_, edge, i, j, cells, rows, columns);
    std::optional<Borders> borders;
    if (terms_->codes != nullptr && i != j) {
      borders = borders_of(edge, i, j);
      block.below = borders->front().data();
      block.left = borders->back().data();
    }
    kernels_.finish(block);
  }

  /// The row below a block, from the column left of it, and that column, from its second row.
  Borders borders_of(int edge, std::int64_t i, std::int64_t j) const {
    const auto cell = [&](std::int64_t row, std::int64_t column) {
      if (row >= column) return row == column ? T(0) : kUnreachable<T>;
      return m_.value(row, column);
    };
    Borders borders;
    for (int t = 0; t < edge; ++t) {
      borders[0][static_cast<std::size_t>(t)] = cell(i + edge, j - 1 + t);
      borders[1][static_cast<std::size_t>(t)] = cell(i + 1 + t, j - 1);
    }
    return borders;
  }

  const PaddedTerms<T>& terms_;
  CpuTriangle<T, Stored>& m_;
  Progress& progress_;
  const BlockKernels<T>& kernels_ = WARPLOOM_PICK(cpu_blocks)->template of<T>();
  const NarrowKernels& narrow_ = WARPLOOM_PICK(cpu_blocks)->narrow;
  const std::int64_t tiles_ = tiles_along(m_.points());
  double rectangular_seconds_ = 0, triangular_seconds_ = 0;
  std::atomic<bool> holds_ = true;
};

/// The pairs that CpuExecutor counts for a problem, in whole blocks; 0 where some are computed again.
template <class T>
std::uint64_t counted_pairs(const Plan<T>& plan) {
  if (plan.decomposition == Decomposition::printed) return 0;
  double pairs = 0;
  for (const Terms<T>& terms : plan.problems) {
    const double edge = std::min<double>(plan.block, kTile);
    const double side = std::ceil(static_cast<double>(terms.points) / edge) * edge;
    pairs += side * (side * side + 5 * edge * edge) / 6;  // a block on the diagonal counts as a whole one
  }
  return static_cast<std::uint64_t>(pairs);
}

template <class T, class Stored>
Solved<T> solve_as(const Plan<T>& plan) {
  Solved<T> solved;
  const auto count = std::ssize(plan.problems);
  std::int64_t points = 0;
  for (const Terms<T>& terms : plan.problems) {
    points += terms.points;
    solved.report.bytes += CpuTriangle<T, Stored>::bytes(terms.points) + PaddedTerms<T>::bytes(terms);
  }
  const auto no_memory = [&](const std::string& available) {
    return OutOfMemory(fmt::format(
        "solving {} over {} points needs {} of memory{}; take fewer points{}, or a machine with more",
        count == 1 ? "a problem" : fmt::format("{} problems", count), points, bytes_text(solved.report.bytes),
        available, sizeof(Stored) > 4 ? ", a type of 32 bits" : ""));
  };
  if (solved.report.bytes > kSmallBytes)
    if (const std::uint64_t available = within_cap(available_memory()); available < solved.report.bytes)
      throw no_memory(fmt::format(", {} are available", bytes_text(available)));

  std::vector<PaddedTerms<T>> terms;
  std::vector<CpuTriangle<T, Stored>> triangles;
  try {
    for (const Terms<T>& problem : plan.problems) {
      terms.emplace_back(problem);
      triangles.emplace_back(problem.points);
      if constexpr (std::same_as<T, Stored>)
        if (plan.block < kTile) {
          // Divide and conquer multiplies squares of several blocks, to whose right may be columns behind the
          // last point that no block finishes.
          const std::int64_t last = tiles_along(problem.points) - 1;
          std::fill_n(triangles.back().tile(0, last), (last + 1) * kTile * kTile, kUnreachable<T>);
        }
    }
  } catch (const std::bad_alloc&) {
    throw no_memory("");
  }

  struct Outcome {
    Calls calls;
    double rectangular_seconds, triangular_seconds;
    bool holds;
  };
  std::vector<Outcome> outcomes(static_cast<std::size_t>(count));
  Progress progress("solving", counted_pairs(plan), "pairs");
  const double start = now();
  parallel_for(count, [&](std::int64_t problem) {  // within one of several problems nothing runs in parallel
    const auto p = static_cast<std::size_t>(problem);
    CpuExecutor<T, Stored> executor(terms[p], triangles[p], progress);
    const Calls calls =
        decompose(terms[p]->points, plan.block, plan.decomposition, plan.separate_calls, executor);
    outcomes[p] = {calls, executor.rectangular_seconds(), executor.triangular_seconds(), executor.holds()};
  });
  solved.report.seconds = now() - start;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.holds) return {};
    solved.report.calls.triangular += outcome.calls.triangular;
    solved.report.calls.rectangular += outcome.calls.rectangular;
    if (!plan.phases) continue;
    solved.report.rectangular_seconds += outcome.rectangular_seconds;
    solved.report.triangular_seconds += outcome.triangular_seconds;
  }
  solved.cells = std::make_unique<CpuCells<T, Stored>>(std::move(terms), std::move(triangles));
  return solved;
}

}  // namespace

template <class T>
Solved<T> solve_cpu(const Plan<T>& plan) {
  if constexpr (std::same_as<T, std::int32_t>)
    if (plan.narrow) return solve_as<T, std::int16_t>(plan);
  return solve_as<T, T>(plan);
}

template Solved<std::int32_t> solve_cpu(const Plan<std::int32_t>&);
template Solved<std::int64_t> solve_cpu(const Plan<std::int64_t>&);
template Solved<float> solve_cpu(const Plan<float>&);
template Solved<double> solve_cpu(const Plan<double>&);

}  // namespace warploom::dp
