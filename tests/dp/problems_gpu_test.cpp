// The problems on a GPU: the same answers, and the same ties, as on the CPU.

#include <gtest/gtest.h>

#include "oracle/random.hpp"
#include "warploom/dp/base_pairs.hpp"
#include "warploom/dp/chain.hpp"
#include "warploom/dp/search_tree.hpp"

namespace warploom::dp {
namespace {

constexpr ValueType kTypes[] = {ValueType::int32, ValueType::int64, ValueType::float32, ValueType::float64};

TEST(ProblemsOnAGpu, MatrixChain) {
  Random random(11);
  for (const std::size_t matrices : {1, 2, 63, 64, 700}) {
    std::vector<std::int64_t> dimensions(matrices + 1);
    for (std::int64_t& dimension : dimensions) dimension = 1 + random.below(30);
    for (const ValueType type : kTypes) {
      const ChainOrder cpu =
          chain_order(dimensions, {.solve = {.run = {.devices = {Device::cpu}}}, .type = type});
      const ChainOrder gpu =
          chain_order(dimensions, {.solve = {.run = {.devices = {Device::cuda}}}, .type = type});
      EXPECT_EQ(gpu.cost, cpu.cost);
      EXPECT_EQ(gpu.parenthesisation, cpu.parenthesisation) << matrices << ' ' << name(type);
    }
  }
}

TEST(ProblemsOnAGpu, SearchTree) {
  Random random(12);
  for (const std::size_t keys : {1, 2, 62, 63, 700}) {
    std::vector<std::int64_t> p(keys), q(keys + 1);
    for (std::int64_t& count : p) count = random.below(100);
    for (std::int64_t& count : q) count = random.below(100);
    for (const ValueType type : kTypes) {
      const SearchTree cpu = search_tree(p, q, {.solve = {.run = {.devices = {Device::cpu}}}, .type = type});
      const SearchTree gpu = search_tree(p, q, {.solve = {.run = {.devices = {Device::cuda}}}, .type = type});
      EXPECT_EQ(gpu.cost, cpu.cost);
      EXPECT_EQ(gpu.nodes, cpu.nodes) << keys << ' ' << name(type);
    }
  }
}

TEST(ProblemsOnAGpu, BasePairsOfShortAndLongSequences) {
  Random random(13);
  std::vector<std::string> sequences;
  for (int k = 0; k < 40; ++k) {
    sequences.emplace_back(k == 20 ? 2500 : 1 + random.below(300), ' ');
    for (char& base : sequences.back()) base = "ACGU"[random.below(4)];
  }
  BasePairOptions options;
  options.gc = 3, options.au = 2;
  options.solve.run.devices = {Device::cpu};
  const std::vector<BasePairs> cpu = base_pairs(sequences, options);
  options.solve.run.devices = {Device::cuda};
  const std::vector<BasePairs> together = base_pairs(sequences, options);
  options.solve.decomposition = Decomposition::bottom_up;  // one after the other
  const std::vector<BasePairs> apart = base_pairs(sequences, options);
  for (std::size_t k = 0; k < sequences.size(); ++k) {
    EXPECT_EQ(together[k].score, cpu[k].score) << k;
    EXPECT_EQ(together[k].partner, cpu[k].partner) << k;
    EXPECT_EQ(apart[k].partner, cpu[k].partner) << k;
  }
}

}  // namespace
}  // namespace warploom::dp
