#include "dp/cpu_blocks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "dp/cpu_cells.hpp"
#include "dp/narrow.hpp"

// Every instruction set that this machine has against loops as plain as the recurrence, bit for bit.

namespace warploom::dp {
namespace {

struct Set {
  std::string name;
  const CpuBlocks* blocks;
};

std::vector<Set> sets() {
  std::vector<Set> all{{"baseline", &baseline::cpu_blocks}};
#if defined(WARPLOOM_HAS_avx512)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    all.push_back({"avx2", &avx2::cpu_blocks});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    all.push_back({"avx512", &avx512::cpu_blocks});
#endif
  return all;
}

using Random = std::mt19937;

/// An integer, and in floating point thirds of one, which round.
template <class T>
T value(Random& random, int low, int high) {
  const int drawn = std::uniform_int_distribution<int>(low, high)(random);
  return std::is_floating_point_v<T> ? static_cast<T>(drawn) / 3 : static_cast<T>(drawn);
}

template <class T>
std::vector<T> values(Random& random, std::size_t count, int low, int high) {
  std::vector<T> all(count);
  for (T& x : all) x = value<T>(random, low, high);
  return all;
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

constexpr std::size_t kCells = kTile * kTile;

template <class T>
class CpuBlocksOf : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(CpuBlocksOf, Types);

template <class T>
void test_product(bool with_factors) {
  Random random(1);
  const auto a = values<T>(random, kCells, -1000, 1000), b = values<T>(random, kCells, -1000, 1000);
  const auto before = values<T>(random, kCells, -1900, 0);
  const auto p = values<T>(random, 3 * kTile, -9, 9);
  const BlockFactors<T> factors =
      with_factors ? BlockFactors<T>{p.data(), p.data() + kTile, p.data() + 2 * kTile, T(-1)}
                   : BlockFactors<T>{};
  for (const Set& set : sets())
    for (const int edge : {16, 32, 64})
      for (int rows = 16; rows <= edge; rows += 16) {
        auto c = before;
        set.blocks->of<T>().product(c.data(), a.data(), b.data(), rows, edge, factors, {a.data(), b.data()});
        for (int i = 0; i < kTile; ++i)
          for (int j = 0; j < kTile; ++j) {
            T best = before[static_cast<std::size_t>(i * kTile + j)];
            for (int k = 0; i < rows && j < edge && k < edge; ++k) {
              T sum = a[static_cast<std::size_t>(i * kTile + k)] + b[static_cast<std::size_t>(k * kTile + j)];
              if (with_factors) {
                const T pair = factors.row[i] * factors.column[j] * factors.sign;
                const T product = pair * factors.middle[k];
                sum = sum + product;
              }
              best = std::min(best, sum);
            }
            ASSERT_TRUE(same_bits(c[static_cast<std::size_t>(i * kTile + j)], best))
                << set.name << ", " << rows << " rows, edge " << edge << ", cell " << i << ", " << j;
          }
      }
}

TYPED_TEST(CpuBlocksOf, ProductIsThatOfPlainLoops) { test_product<TypeParam>(false); }
TYPED_TEST(CpuBlocksOf, ProductWithFactorsIsThatOfPlainLoops) { test_product<TypeParam>(true); }

/// A problem with some of the terms that there are, and its cells by the recurrence.
template <class T>
struct Example {
  static constexpr int kWeights = 1, kFactors = 2, kCellWeight = 4, kPairing = 8, kLetters = 4;

  Example(std::int64_t points, int kinds) : cell_weight(points, T(0)), cells(points, kUnreachable<T>) {
    Random random(static_cast<unsigned>(points * 16 + kinds));
    const auto count = static_cast<std::size_t>(points);
    terms.points = points;
    leaves = values<T>(random, count - 1, -5, 20);
    terms.leaves = leaves.data();
    row_weight = values<T>(random, count, -9, 9);
    column_weight = values<T>(random, count, -9, 9);
    if (kinds & kWeights) {
      terms.row_weight = row_weight.data();
      terms.column_weight = column_weight.data();
    }
    factors = values<T>(random, count, 1, 9);
    if (kinds & kFactors) terms.factors = factors.data();
    for (std::int64_t i = 0; i < points; ++i)
      for (std::int64_t j = i + 2; j < points; ++j) {
        const bool none = (kinds & kFactors) == 0 && random() % 16 == 0;
        cell_weight(i, j) = none ? kUnreachable<T> : value<T>(random, -2, 15);
      }
    if (kinds & kCellWeight) terms.cell_weight = cell_weight.stored().data();
    codes.resize(count - 1);
    for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(random() % kLetters);
    scores = values<T>(random, kLetters * kLetters, -30, 5);
    scores[1] = scores[4] = kUnreachable<T>;
    if (kinds & kPairing) {
      terms.codes = codes.data();
      terms.scores = scores.data();
      terms.letters = kLetters;
      terms.minimum_span = 2 + kinds % 3;
    }
    for (std::int64_t span = 1; span < points; ++span)
      for (std::int64_t i = 0; i + span < points; ++i) cells(i, i + span) = by_recurrence(i, i + span);
  }

  /// The least candidate with k in [begin, end).
  T best_split(std::int64_t i, std::int64_t j, std::int64_t begin, std::int64_t end) const {
    T best = kUnreachable<T>;
    for (std::int64_t k = begin; k < end; ++k) {
      T sum = cells(i, k) + cells(k, j);
      if (terms.factors != nullptr) {
        const T pair = factors[static_cast<std::size_t>(i)] * factors[static_cast<std::size_t>(j)];
        const T product = pair * factors[static_cast<std::size_t>(k)];
        sum = sum + product;
      }
      best = std::min(best, sum);
    }
    return best;
  }

  T by_recurrence(std::int64_t i, std::int64_t j) const {
    if (j == i + 1) return leaves[static_cast<std::size_t>(i)];
    T best = best_split(i, j, i + 1, j);
    if (terms.codes != nullptr && j - i >= terms.minimum_span) {
      const T inner = j - i == 2 ? T(0) : cells(i + 1, j - 1);
      best = std::min(best,
                      inner + scores[static_cast<std::size_t>(codes[static_cast<std::size_t>(i)] * kLetters +
                                                              codes[static_cast<std::size_t>(j - 1)])]);
    }
    T weight = 0;
    if (terms.row_weight != nullptr)
      weight = row_weight[static_cast<std::size_t>(i)] + column_weight[static_cast<std::size_t>(j)];
    if (terms.cell_weight != nullptr) weight = weight + cell_weight(i, j);
    if (best > kLargest<T>) return kUnreachable<T>;
    const T cell = best + weight;
    return cell > kLargest<T> ? kUnreachable<T> : cell;
  }

  Terms<T> terms;
  std::vector<T> leaves, row_weight, column_weight, factors, scores;
  std::vector<std::uint8_t> codes;
  Triangle<T> cell_weight, cells;
};

/// Finishes the block at (i, j) alone, from what the recurrence says of all others.
template <class T>
void test_finish(const Set& set, const Example<T>& example, const PaddedTerms<T>& terms, std::int64_t i,
                 std::int64_t j, int edge) {
  const std::int64_t points = example.terms.points;
  const auto cell = [&](std::int64_t row, std::int64_t column) {
    if (row == column) return T(0);
    return row < column && column < points ? example.cells(row, column) : kUnreachable<T>;
  };
  std::array<std::vector<T>, 3> tiles;
  tiles.fill(std::vector<T>(kCells, kUnreachable<T>));
  auto& [cells, rows, columns] = tiles;
  const auto in_tile = [](int r, int x) { return static_cast<std::size_t>(r * kTile + x); };
  std::vector<T> below(kTile), left(kTile);
  for (int r = 0; r < edge; ++r) {
    for (int x = 0; x < edge; ++x) {
      if (r < x) rows[in_tile(r, x)] = cell(i + r, i + x);
      if (r < x) columns[in_tile(r, x)] = cell(j + r, j + x);
      if (i < j && j + x < points) cells[in_tile(r, x)] = example.best_split(i + r, j + x, i + edge, j);
    }
    const auto border = [&](std::int64_t row, std::int64_t column) {
      return row > column ? kUnreachable<T> : cell(row, column);
    };
    below[static_cast<std::size_t>(r)] = border(i + edge, j - 1 + r);
    left[static_cast<std::size_t>(r)] = border(i + 1 + r, j - 1);
  }
  OpenBlock<T> block;
  block.edge = edge;
  block.i = i;
  block.j = j;
  block.cells = cells.data();
  block.rows = i < j ? rows.data() : cells.data();
  block.columns = i < j ? columns.data() : cells.data();
  block.leaves = terms->leaves + i;
  if (terms->row_weight != nullptr) {
    block.row_weight = terms->row_weight + i;
    block.column_weight = terms->column_weight + j;
  }
  if (terms->cell_weight != nullptr) block.cell_weight = terms->cell_weight + cell_place(i, j);
  if (terms->factors != nullptr)
    block.factors = {terms->factors + i, nullptr, terms->factors + j, terms->product_sign};
  if (terms->codes != nullptr) {
    block.codes = terms->codes + i;
    block.scores = terms.profile() + j;
    block.score_pitch = tiles_along(points) * kTile;
    block.minimum_span = terms->minimum_span;
    block.below = below.data();
    block.left = left.data();
  }
  set.blocks->of<T>().finish(block);
  for (int r = 0; r < edge; ++r)
    for (int x = 0; x < edge; ++x) {
      const T want = i + r < j + x ? cell(i + r, j + x) : kUnreachable<T>;
      ASSERT_TRUE(same_bits(cells[in_tile(r, x)], want))
          << set.name << ", block " << i << ", " << j << " of edge " << edge << ", cell " << i + r << ", "
          << j + x << ": " << cells[in_tile(r, x)] << " instead of " << want;
    }
}

template <class T>
void test_all_blocks(int kinds) {
  const Example<T> example(150, kinds);  // ends within a tile, within its second sub-block
  const PaddedTerms<T> terms(example.terms);
  for (const Set& set : sets())
    for (const int edge : {16, 32, 64})
      for (std::int64_t i = 0; i < 150; i += edge)
        for (std::int64_t j = i; j < 150; j += edge) {
          test_finish(set, example, terms, i, j, edge);
          if (testing::Test::HasFatalFailure()) return;
        }
}

TYPED_TEST(CpuBlocksOf, FinishedBlocksAreThoseOfTheRecurrence) { test_all_blocks<TypeParam>(0); }
TYPED_TEST(CpuBlocksOf, FinishedBlocksWithWeightsAreThoseOfTheRecurrence) {
  test_all_blocks<TypeParam>(Example<TypeParam>::kWeights);
}
TYPED_TEST(CpuBlocksOf, FinishedBlocksWithUnreachableCellsAreThoseOfTheRecurrence) {
  test_all_blocks<TypeParam>(Example<TypeParam>::kCellWeight);
}
TYPED_TEST(CpuBlocksOf, FinishedBlocksWithFactorsAreThoseOfTheRecurrence) {
  test_all_blocks<TypeParam>(Example<TypeParam>::kFactors | Example<TypeParam>::kWeights);
}
TYPED_TEST(CpuBlocksOf, FinishedBlocksWithPairingAreThoseOfTheRecurrence) {
  test_all_blocks<TypeParam>(Example<TypeParam>::kPairing);
}
TYPED_TEST(CpuBlocksOf, FinishedBlocksWithAllTermsAreThoseOfTheRecurrence) { test_all_blocks<TypeParam>(15); }

// Narrow tiles.

std::vector<std::int16_t> residuals(Random& random, int low, int high) {
  std::vector<std::int16_t> all(kCells);
  for (std::int16_t& x : all)
    x = static_cast<std::int16_t>(std::uniform_int_distribution<int>(low, high)(random));
  return all;
}

TEST(NarrowBlocks, ProductIsThatOfPlainLoops) {
  Random random(2);
  const auto a = residuals(random, -kNarrowLargest, kNarrowLargest),
             b = residuals(random, -kNarrowLargest, kNarrowLargest);
  for (const Set& set : sets())
    for (const int shift : {-kNarrowShift, -37, 0, 1, kNarrowShift})
      for (const int rows : {16, 64}) {
        const auto before = residuals(random, -30000, kNarrowUnreachable);
        auto c = before;
        EXPECT_TRUE(
            set.blocks->narrow.product(c.data(), a.data(), b.data(), rows, shift, {a.data(), b.data()}));
        for (std::size_t i = 0; i < kTile; ++i)
          for (std::size_t j = 0; j < kTile; ++j) {
            int best = before[i * kTile + j];
            for (std::size_t k = 0; i < static_cast<std::size_t>(rows) && k < kTile; ++k)
              best = std::min(best, a[i * kTile + k] + b[k * kTile + j] + shift);
            ASSERT_EQ(c[i * kTile + j], best) << set.name << ", shift " << shift << ", " << i << ", " << j;
          }
      }
}

TEST(NarrowBlocks, ProductFarAboveChangesNothingAndHolds) {
  Random random(3);
  const auto a = residuals(random, -100, 100), before = residuals(random, -100, 100);
  for (const Set& set : sets()) {
    auto c = before;
    EXPECT_TRUE(
        set.blocks->narrow.product(c.data(), a.data(), a.data(), kTile, 1 << 20, {a.data(), a.data()}));
    EXPECT_EQ(c, before) << set.name;
  }
}

TEST(NarrowBlocks, ProductWhoseCutSumsCouldWinDoesNotHold) {
  // -8191 - 8191 + 16001 is above -381, cut to 16000 it is -382.
  const std::vector<std::int16_t> a(kCells, -kNarrowLargest), before(kCells, -381);
  for (const Set& set : sets()) {
    auto c = before;
    EXPECT_FALSE(set.blocks->narrow.product(c.data(), a.data(), a.data(), kTile, kNarrowShift + 1,
                                            {a.data(), a.data()}))
        << set.name;
  }
}

TEST(NarrowBlocks, ProductFarBelowDoesNotHold) {
  const std::vector<std::int16_t> a(kCells, 0);
  for (const Set& set : sets()) {
    auto c = a;
    EXPECT_FALSE(set.blocks->narrow.product(c.data(), a.data(), a.data(), kTile, -kNarrowShift - 1,
                                            {a.data(), a.data()}))
        << set.name;
  }
}

TEST(NarrowBlocks, CellsComeBackFrom16Bits) {
  Random random(4);
  const std::int32_t base = -123'456'789;
  std::vector<std::int32_t> cells(kCells);
  for (std::int32_t& x : cells)
    x = base + std::uniform_int_distribution<int>(-kNarrowLargest, kNarrowLargest)(random);
  for (const Set& set : sets()) {
    std::vector<std::int16_t> stored(kCells);
    std::vector<std::int32_t> back(kCells);
    EXPECT_TRUE(set.blocks->narrow.narrow(stored.data(), cells.data(), base, kTile, false)) << set.name;
    set.blocks->narrow.widen(back.data(), stored.data(), base);
    EXPECT_EQ(back, cells) << set.name;
  }
}

TEST(NarrowBlocks, ACellTooFarFromTheBaseDoesNotHold) {
  for (const Set& set : sets())
    for (const int off : {kNarrowLargest + 1, -kNarrowLargest - 1}) {
      std::vector<std::int32_t> cells(kCells, 1000);
      std::vector<std::int16_t> stored(kCells);
      cells[kTile + 40] += off;
      EXPECT_FALSE(set.blocks->narrow.narrow(stored.data(), cells.data(), 1000, kTile, false)) << set.name;
      EXPECT_FALSE(set.blocks->narrow.narrow(stored.data(), cells.data(), 1000, 41, true)) << set.name;
      EXPECT_TRUE(set.blocks->narrow.narrow(stored.data(), cells.data(), 1000, 40, false)) << set.name;
      EXPECT_EQ(stored[kTile + 40], kNarrowUnreachable) << set.name;
    }
}

TEST(NarrowBlocks, UnreachableIsOnlyWhatIsNoCell) {
  for (const Set& set : sets()) {
    std::vector<std::int32_t> cells(kCells, kUnreachable<std::int32_t>), back(kCells);
    std::vector<std::int16_t> stored(kCells);
    EXPECT_FALSE(
        set.blocks->narrow.narrow(stored.data(), cells.data(), kUnreachable<std::int32_t>, kTile, false))
        << set.name;
    for (std::size_t r = 0; r < kTile; ++r)
      for (std::size_t x = r + 1; x < kTile; ++x) cells[r * kTile + x] = 7;
    EXPECT_TRUE(set.blocks->narrow.narrow(stored.data(), cells.data(), 0, kTile, true)) << set.name;
    set.blocks->narrow.widen(back.data(), stored.data(), 0);
    EXPECT_EQ(back, cells) << set.name;
  }
}

}  // namespace
}  // namespace warploom::dp
