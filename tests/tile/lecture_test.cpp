// The lecture "Memory Hierarchy Optimization: Data Placement": its examples, its arithmetic, its question.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "access_walk.hpp"
#include "cache_simulator.hpp"
#include "example_nests.hpp"
#include "tile_cases.hpp"
#include "warploom/core/error.hpp"
#include "warploom/hw/occupancy.hpp"
#include "warploom/tile/explain.hpp"
#include "warploom/tile/gpu.hpp"

namespace warploom::tile {
namespace {

using test::example;
using testing::HasSubstr;

std::string explained(const std::string& name) {
  const Nest nest = example("lecture/" + name);
  return to_text(nest, explain(nest));
}

/// The loops alone, without the function around them.
std::string loops_after(const std::string& name, const std::vector<Step>& steps) {
  return to_text(transform(example("lecture/" + name), steps).code());
}

TEST(Lecture, SimpleExamplesSayWhetherTheyMayBePermuted) {
  EXPECT_THAT(explained("permutable"),
              HasSubstr("S0 -> S0 on A: flow  (0, 1)  carried by j  as (0, 0) -> (0, 1)\n"));
  EXPECT_THAT(explained("permutable"), HasSubstr("Fully permutable bands\n  (i, j) around S0\n"));
  EXPECT_THAT(explained("permutable"), HasSubstr("Orders of loops\n  legal    (j, i)\n"));
  EXPECT_THAT(explained("not_permutable"),
              HasSubstr("S0 -> S0 on A: flow  (1, -1)  carried by i  as (0, 2) -> (1, 1)\n"));
  EXPECT_THAT(explained("not_permutable"),
              HasSubstr("Fully permutable bands\n  (i) around S0\n  (j) around S0\n"));
  EXPECT_THAT(
      explained("not_permutable"),
      HasSubstr(
          "Orders of loops\n  illegal  (j, i)\n           would run (1, 1) before (0, 2), which writes A[1][1] that it reads: "
          "flow dependence S0 -> S0, distance (1, -1)\n           legal after skew j=1*i\n"));
}

TEST(Lecture, PermutationChangesTheTraversal) {
  EXPECT_EQ(loops_after("permutable", {Permute{{"j", "i"}}}), R"(for (int j = 0; j < 6; j++)
  for (int i = 0; i < 3; i++)
    A[i][j + 1] = A[i][j] + B[j];
)");
  EXPECT_THROW(loops_after("not_permutable", {Permute{{"j", "i"}}}), BadInput);
}

TEST(Lecture, SkewMakesTheLastExampleTilable) {
  EXPECT_THROW(loops_after("not_permutable", {Tile{{{"i", 2}, {"j", 2}}}}), BadInput);
  // j stands for j + i.
  EXPECT_EQ(loops_after("not_permutable", {Skew{"j", 1, "i"}, Permute{{"j", "i"}}}),
            R"(for (int j = 1; j < 8; j++)
  for (int i = max(0, j - 5); i < min(3, j); i++)
    A[i + 1][j - i - 1] = A[i][j - i] + B[j - i];
)");
}

TEST(Lecture, TilingExampleStripMines) {
  // The slide's bound, min(ii + s - 1, N) with <, leaves out the last iteration of every strip.
  EXPECT_EQ(loops_after("column_sums", {StripMine{"i", 32}}), R"(for (int j = 1; j < m; j++)
  for (int ii = 1; ii < n; ii += 32)
    for (int i = ii; i < min(n, ii + 32); i++)
      D[i] = D[i] + B[j][i];
)");
}

TEST(Lecture, TilingExampleThenPermutes) {
  EXPECT_EQ(loops_after("column_sums", {StripMine{"i", 32}, Permute{{"ii", "j"}}}),
            R"(for (int ii = 1; ii < n; ii += 32)
  for (int j = 1; j < m; j++)
    for (int i = ii; i < min(n, ii + 32); i++)
      D[i] = D[i] + B[j][i];
)");
}

TEST(Lecture, TilingIsStripMiningAndPermutation) {
  const std::string tiled = loops_after("column_sums", {Tile{{{"i", 32}, {"j", 16}}}});
  EXPECT_EQ(tiled,
            loops_after("column_sums", {StripMine{"j", 16}, StripMine{"i", 32}, Permute{{"ii", "jj", "j"}}}));
  EXPECT_EQ(tiled, R"(for (int ii = 1; ii < n; ii += 32)
  for (int jj = 1; jj < m; jj += 16)
    for (int j = jj; j < min(m, jj + 16); j++)
      for (int i = ii; i < min(n, ii + 32); i++)
        D[i] = D[i] + B[j][i];
)");
}

TEST(Lecture, StripMiningRunsEveryIterationOnce) {
  for (const std::int64_t n : {2, 32, 33, 34, 64, 100}) {
    std::vector<int> runs(static_cast<std::size_t>(n), 0);
    test::Values sizes = {{"m", 2}, {"n", n}};
    const Node code = transform(example("lecture/column_sums"), {StripMine{"i", 32}}).code();
    test::walk_accesses(
        code, sizes, [&](const std::string& array, const auto& at) { runs.at(at.back()) += array == "B"; });
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(runs[i], i > 0 ? 1 : 0) << i << " of " << n;
  }
}

TEST(Lecture, MatrixProductIsTiledForAnySize) {
  EXPECT_EQ(loops_after("matmul", {Tile{{{"i", 16}, {"j", 16}, {"k", 16}}}}), R"(for (int i = 0; i < ni; i++)
  for (int j = 0; j < nj; j++)
    P[i][j] = 0.0f;
for (int ii = 0; ii < ni; ii += 16)
  for (int jj = 0; jj < nj; jj += 16)
    for (int kk = 0; kk < nk; kk += 16)
      for (int i = ii; i < min(ni, ii + 16); i++)
        for (int j = jj; j < min(nj, jj + 16); j++)
          for (int k = kk; k < min(nk, kk + 16); k++)
            P[i][j] += M[i][k] * N[k][j];
)");
}

std::string cuda(const std::string& name, std::vector<SizeRange> sizes = {}) {
  const Nest nest = example("lecture/" + name, std::move(sizes));
  return emit_cuda(nest, map_to_gpu(nest, parallelise(nest), {}), {});
}

TEST(Lecture, SignalThatAllThreadsReadAlikeIsInConstantMemory) {
  const std::string text = cuda("signal_columns", {{"n", 6, 6}, {"length", 2048, 2048}, {"m", 2048, 2048}});
  EXPECT_THAT(text, HasSubstr("__constant__ float signal_columns_v_constant[2048];"));
  EXPECT_THAT(text,
              HasSubstr("sum += M[((std::int64_t)t * length + j) * m + i] * signal_columns_v_constant[j];"));
}

TEST(Lecture, SignalAbove64KilobytesIsTiledToFitConstantMemory) {
  const std::string text = cuda("long_signal");
  EXPECT_THAT(
      text, HasSubstr("80000 bytes do not fit the 65536 that there\n//     are: 2 strips of 16384 elements"));
  EXPECT_THAT(text, HasSubstr("__constant__ float long_signal_v_constant[16384];"));
  EXPECT_THAT(text, HasSubstr(R"(
  for (int j_first = 0; j_first < 20000; j_first += 16384) {
    cudaMemcpyToSymbolAsync(long_signal_v_constant, v + j_first, std::min(16384, 20000 - j_first) * sizeof(float), 0, cudaMemcpyDeviceToDevice, stream);
    long_signal_0<<<2, dim3(32, 8), 0, stream>>>(R, M, j_first);
  }
)"));
  EXPECT_THAT(text, HasSubstr(R"(
      for (int j = j_first; j < min(j_first + 16384, 20000); j++) {
        R_here += M[((std::int64_t)t * 20000 + j) * 64 + i] * long_signal_v_constant[j - j_first];
      }
)"));
}

TEST(Lecture, SignalStripsOf16384FloatsAre64Kilobytes) {
  const std::vector<Footprint> all = footprint(example("lecture/signal"), {{"j", 16384}});
  EXPECT_EQ(all.back().array, "v");
  EXPECT_EQ(all.back().bytes, 64 << 10);
}

TEST(Lecture, SignalIsReadByAllIterationsAlike) {
  EXPECT_THAT(explained("signal"), HasSubstr("S1  v[j]        read    temporal   temporal   spatial\n"));
  EXPECT_THAT(explained("signal"), HasSubstr("S1  M[t][i][j]  read    -          -          spatial\n"));
}

TEST(Lecture, TransposeIsContiguousOnOneSideOnly) {
  EXPECT_THAT(
      explained("transpose"),
      HasSubstr("S0  in[y][x]    read    -          spatial\n  S0  out[x][y]   write   spatial    -\n"));
}

// "Shared Memory Usage" and "First-order Size Considerations", of a multiprocessor with 16 KB.

/// Of blocks that hold a tile of both operands. The slide counts shared memory alone, so threads are few.
std::uint32_t resident_blocks(std::uint32_t block_size) {
  std::uint64_t shared = 0;
  for (const Footprint& f :
       footprint(example("lecture/matmul"), {{"i", block_size}, {"j", block_size}, {"k", block_size}}))
    if (f.array != "P") shared += static_cast<std::uint64_t>(f.bytes);
  EXPECT_EQ(shared, 2U * block_size * block_size * 4U);
  return hw::occupancy(hw::architecture("G80"), {.threads_per_block = 64, .shared_static = shared}).blocks;
}

TEST(Lecture, SixteenKilobytesHoldEightBlocksOfTwoOrTwoOfEight) {
  EXPECT_EQ(hw::architecture("G80").shared_per_sm, 16U << 10);
  EXPECT_EQ(resident_blocks(16), 8U);  // 2 KB each
  EXPECT_EQ(resident_blocks(32), 2U);  // 8 KB each
}

TEST(Lecture, ThreadsLimitG80BelowWhatItsSharedMemoryHolds) {
  // 768 threads a multiprocessor: three blocks of 16 x 16, whatever they share.
  const hw::Occupancy all =
      hw::occupancy(hw::architecture("G80"), {.threads_per_block = 256, .shared_static = 2 << 10});
  EXPECT_EQ(all.blocks, 3U);
  EXPECT_EQ(all.limit, hw::Limit::threads);
  // 32 x 32 threads are more than a block may have.
  EXPECT_EQ(
      hw::occupancy(hw::architecture("G80"), {.threads_per_block = 1024, .shared_static = 8 << 10}).blocks,
      0U);
}

TEST(Lecture, BlocksOf16By16AreLargeAndManyEnough) {
  constexpr int block_size = 16, width = 1024;
  static_assert(block_size * block_size >= 192);
  const Node tiled =
      transform(example("lecture/matmul"), {Tile{{{"i", block_size}, {"j", block_size}}, {1}}}).code();
  // One block a tile of P: count the tiles that the emitted loops visit.
  const Node* ii = &tiled.children.back();
  ASSERT_EQ(ii->iterator, "ii");
  const Node& jj = ii->children.at(0);
  std::int64_t blocks = 0;
  test::Values values = {{"ni", width}, {"nj", width}, {"nk", 1}};
  for (std::int64_t i = 0; i < test::integer_at(ii->limit, values); i += ii->step)
    for (std::int64_t j = 0; j < test::integer_at(jj.limit, values); j += jj.step) ++blocks;
  EXPECT_EQ(blocks, 4096);
  EXPECT_GE(blocks, 32);
}

TEST(Lecture, ATileOfThePairLoads512ElementsFor8192Operations) {
  std::int64_t loads = 0;
  for (const Footprint& f : footprint(example("lecture/matmul"), {{"i", 16}, {"j", 16}, {"k", 16}}))
    if (f.array != "P") loads += f.elements;
  EXPECT_EQ(loads, 512);
  EXPECT_EQ(16 * 16 * 16 * 2, 8192);
}

// "Which one is better for row-major storage?", in lines that a cache of 32 KB has to fetch.

std::uint64_t misses(const Nest& nest, const std::vector<Step>& steps, const test::Values& sizes) {
  test::CacheSimulator cache;
  std::map<std::string, std::pair<std::uint64_t, std::vector<std::int64_t>>> arrays;  // address, extents
  std::uint64_t next = 0;
  for (const Variable& variable : nest.region().variables) {
    std::uint64_t elements = 1;
    std::vector<std::int64_t> extents;
    for (const Expression& extent : variable.extents) {
      extents.push_back(test::integer_at(extent, sizes));
      elements *= static_cast<std::uint64_t>(extents.back());
    }
    arrays[variable.name] = {next, extents};
    next += (elements * 4 + 4095) / 4096 * 4096;
  }
  test::Values values = sizes;
  test::walk_accesses(transform(nest, steps).code(), values,
                      [&](const std::string& array, const std::vector<std::int64_t>& at) {
                        const auto& [address, extents] = arrays.at(array);
                        std::int64_t offset = 0;
                        for (std::size_t d = 0; d < at.size(); ++d) offset = offset * extents[d] + at[d];
                        cache.access(address + static_cast<std::uint64_t>(offset) * 4);
                      });
  return cache.misses();
}

TEST(Lecture, RowsInsideAreBetterForRowMajorStorage) {
  // A is 1024 x 65, B has 64: a column touches 1024 lines, twice the cache.
  const Nest nest = test::analyse(test::permutable_text);
  const test::Values sizes = {{"n", 1024}, {"m", 64}};
  const std::uint64_t rows = misses(nest, {}, sizes), columns = misses(nest, {Permute{{"j", "i"}}}, sizes);
  EXPECT_EQ(rows, 1024U * 65 * 4 / 64 + 64 * 4 / 64);  // each line once
  EXPECT_GE(columns, 1024U * 64);                      // a line for every iteration
  EXPECT_GE(columns, 15 * rows);
}

TEST(Lecture, TilesKeepTheSumsInTheCache) {
  // D has 64 KB: untiled it is fetched for each of seven rows of B, in strips of 8 KB once.
  const Nest nest = example("lecture/column_sums");
  const test::Values sizes = {{"m", 8}, {"n", 16384}};
  const std::uint64_t lines = 16384 * 4 / 64;
  EXPECT_EQ(misses(nest, {}, sizes), 7 * lines + 7 * lines);
  const std::uint64_t tiled = misses(nest, {StripMine{"i", 2048}, Permute{{"ii", "j"}}}, sizes);
  EXPECT_GE(tiled, lines + 7 * lines);
  // Strips start at 1: where two of the eight meet, they share a line of D and one of each row of B.
  EXPECT_LE(tiled, lines + 7 * lines + 7 * (1 + 7));
}

}  // namespace
}  // namespace warploom::tile
