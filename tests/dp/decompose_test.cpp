// The decompositions as sequences of calls: how many, and that none reads what is not finished.

#include "dp/decompose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace warploom::dp {
namespace {

using enum Decomposition;

/// Counts what it is told to do.
struct Recorder : Executor {
  void rectangular(const Rectangular& call) override {
    ++rectangular_calls;
    products += call.count * (call.k_end - call.k_begin) / call.edge;
  }
  void triangular(const TriangularBlock& call) override {
    ++(call.i == call.j ? diagonal_calls : triangular_calls);
    blocks += call.i == call.j ? 0 : call.count;
  }
  std::int64_t rectangular_calls = 0, triangular_calls = 0, diagonal_calls = 0, products = 0, blocks = 0;
};

Calls calls(std::int64_t points, Decomposition decomposition) {
  Recorder recorder;
  return decompose(points, 256, decomposition, true, recorder);
}

// Table 1, block 256.
TEST(Decompose, BottomUpMakesTheCallsOfTable1) {
  EXPECT_EQ(calls(1024, bottom_up), (Calls{6, 4}));
  EXPECT_EQ(calls(2048, bottom_up), (Calls{28, 56}));
  EXPECT_EQ(calls(4096, bottom_up), (Calls{120, 560}));
  EXPECT_EQ(calls(8192, bottom_up), (Calls{496, 4960}));
}

TEST(Decompose, ThePrintedDivideAndConquerMakesTheCallsOfTable1) {
  EXPECT_EQ(calls(1024, printed), (Calls{6, 4}));
  EXPECT_EQ(calls(2048, printed), (Calls{36, 28}));
  EXPECT_EQ(calls(4096, printed), (Calls{216, 172}));
  EXPECT_EQ(calls(8192, printed), (Calls{1296, 1036}));
}

// A triangular call for each of b (b - 1) / 2 blocks; products f(b) = 2 f(b/2) + g(b/2), where a square of
// b^2 blocks takes g(b) = 4 g(b/2) + 4, g(1) = 0.
TEST(Decompose, DivideAndConquerComputesEachBlockOnce) {
  EXPECT_EQ(calls(1024, divide_and_conquer), (Calls{6, 4}));
  EXPECT_EQ(calls(2048, divide_and_conquer), (Calls{28, 28}));
  EXPECT_EQ(calls(4096, divide_and_conquer), (Calls{120, 140}));
  EXPECT_EQ(calls(8192, divide_and_conquer), (Calls{496, 620}));
}

TEST(Decompose, CountsWhatItAsksFor) {
  for (const auto decomposition : {bottom_up, divide_and_conquer, printed})
    for (const std::int64_t points : {1, 16, 17, 100, 256, 300}) {
      SCOPED_TRACE(std::string(name(decomposition)) + ", " + std::to_string(points));
      Recorder together, separate;
      const Calls counted = decompose(points, 16, decomposition, false, together);
      EXPECT_EQ(decompose(points, 16, decomposition, true, separate), counted);
      EXPECT_EQ(together.products, counted.rectangular);
      EXPECT_EQ(together.blocks, counted.triangular);
      EXPECT_EQ(separate.rectangular_calls, counted.rectangular);
      EXPECT_EQ(separate.triangular_calls, counted.triangular);
      EXPECT_EQ(separate.diagonal_calls, (points + 15) / 16);
    }
}

TEST(Decompose, BottomUpTakesADiagonalInOneCall) {
  Recorder recorder;
  decompose(16 * 16, 16, bottom_up, false, recorder);
  EXPECT_EQ(recorder.diagonal_calls, 1);
  EXPECT_EQ(recorder.triangular_calls, 15);
  EXPECT_EQ(recorder.rectangular_calls, 14);
}

/// Follows which blocks are finished, and from what.
class Judge : public Executor {
 public:
  Judge(std::int64_t points, std::int64_t edge) : blocks_((points + edge - 1) / edge), edge_(edge) {}

  void rectangular(const Rectangular& call) override {
    each_target(call.i, call.j, call.edge, call.count, [&](Block block, std::int64_t shift) {
      const auto& [row, column] = block;
      for (std::int64_t k = in_blocks(call.k_begin + shift); k < in_blocks(call.k_end + shift); ++k) {
        EXPECT_TRUE(row < k && k < column) << at(block) << ": a product over k " << k;
        expect_finished({row, k}, block);
        expect_finished({k, column}, block);
      }
    });
    each_target(call.i, call.j, call.edge, call.count, [&](Block block, std::int64_t shift) {
      State& state = begin(block, call.fresh);
      for (std::int64_t k = in_blocks(call.k_begin + shift); k < in_blocks(call.k_end + shift); ++k)
        EXPECT_TRUE(state.products.insert(k).second) << at(block) << ": k " << k << " twice";
    });
  }

  void triangular(const TriangularBlock& call) override {
    each_target(call.i, call.j, call.edge, call.count, [&](Block block, std::int64_t) {
      const auto& [row, column] = block;
      if (row == column) return;
      // The diagonal blocks of its rows and columns; the pairing term reads the row below and the column
      // left.
      for (const Block& operand : {Block{row, row}, Block{column, column}, Block{row + 1, column},
                                   Block{row, column - 1}, Block{row + 1, column - 1}})
        if (operand.first <= operand.second) expect_finished(operand, block);
    });
    each_target(call.i, call.j, call.edge, call.count, [&](Block block, std::int64_t) {
      State& state = begin(block, call.fresh);
      const std::int64_t between = std::max<std::int64_t>(0, block.second - block.first - 1);
      EXPECT_EQ(static_cast<std::int64_t>(state.products.size()), between) << at(block);
      state.finished = true;
      ++state.times;
    });
  }

  /// Most times that a block was computed; 0 if one was not.
  int most_times() const {
    int most = 0;
    for (std::int64_t row = 0; row < blocks_; ++row)
      for (std::int64_t column = row; column < blocks_; ++column) {
        const auto state = states_.find({row, column});
        if (state == states_.end() || !state->second.finished) return 0;
        most = std::max(most, state->second.times);
      }
    return most;
  }

 private:
  using Block = std::pair<std::int64_t, std::int64_t>;
  struct State {
    std::set<std::int64_t> products;
    bool finished = false;
    int times = 0;
  };

  std::int64_t in_blocks(std::int64_t cell) const {
    EXPECT_EQ(cell % edge_, 0);
    return cell / edge_;
  }

  std::string at(Block block) const {
    return "block (" + std::to_string(block.first) + ", " + std::to_string(block.second) + ") of " +
           std::to_string(blocks_);
  }

  void expect_finished(Block operand, Block target) const {
    const auto state = states_.find(operand);
    EXPECT_TRUE(state != states_.end() && state->second.finished)
        << at(target) << " reads " << at(operand) << ", which is not finished";
  }

  template <class Visit>
  void each_target(std::int64_t i, std::int64_t j, std::int64_t edge, std::int64_t count, Visit visit) const {
    for (std::int64_t n = 0; n < count; ++n)
      for (std::int64_t row = in_blocks(i + n * edge); row < in_blocks(i + (n + 1) * edge); ++row)
        for (std::int64_t column = in_blocks(j + n * edge); column < in_blocks(j + (n + 1) * edge); ++column)
          if (column < blocks_) visit(Block{row, column}, n * edge);
  }

  /// A fresh call forgets what there was; another goes on with a block that is begun and not finished.
  State& begin(Block block, bool fresh) {
    State& state = states_[block];
    if (fresh) {
      state.products.clear();
      state.finished = false;
    } else {
      EXPECT_FALSE(state.finished) << at(block) << " goes on after its end";
      EXPECT_FALSE(state.products.empty()) << at(block) << " goes on before its beginning";
    }
    return state;
  }

  std::int64_t blocks_, edge_;
  std::map<Block, State> states_;
};

TEST(Decompose, ReadsOnlyWhatIsFinishedAndFinishesAll) {
  for (const auto decomposition : {bottom_up, divide_and_conquer, printed})
    for (const bool separate : {false, true})
      for (std::int64_t points = 1; points <= 17 * 16; points += points % 16 < 2 ? 1 : 14) {
        SCOPED_TRACE(std::string(name(decomposition)) + ", " + std::to_string(points) + " points");
        Judge judge(points, 16);
        decompose(points, 16, decomposition, separate, judge);
        if (decomposition == printed)
          EXPECT_GE(judge.most_times(), 1);
        else
          EXPECT_EQ(judge.most_times(), 1);
        if (HasFailure()) return;
      }
}

}  // namespace
}  // namespace warploom::dp
