// Legality and generated code of nests by chance, against sorted and executed runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "random_nest.hpp"
#include "warploom/tile/interpret.hpp"

namespace warploom::tile::test {
namespace {

struct Counts {
  long nests = 0, transformations = 0, legal = 0, illegal = 0, executed = 0;
};

std::string to_text(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) text += (text.empty() ? "" : "; ") + tile::to_text(step);
  return text;
}

class Check {
 public:
  Check(std::mt19937& random, Counts& counts)
      : random_(random),
        counts_(counts),
        made_(random_nest(random)),
        before_(source_order(made_)),
        nest_(Nest::analyse(read_source(made_.text(), "nest.c", {}).at(0), {{"n", made_.n, made_.n}})) {}

  void run() {
    ++counts_.nests;
    fill_arrays();
    expected_ = test::run(before_, arrays_);
    expect_same_memory(nest_.region().body, "source");
    int deepest = 0;
    for (const Statement& statement : nest_.statements())
      deepest = std::max(deepest, static_cast<int>(statement.loops.size()));
    const bool perfect =
        made_.loops == deepest &&
        std::all_of(nest_.statements().begin(), nest_.statements().end(),
                    [&](const Statement& s) { return static_cast<int>(s.loops.size()) == deepest; });
    std::vector<std::string> loops = {"i", "j", "k"};
    loops.resize(static_cast<std::size_t>(deepest));
    std::vector<std::string> order = loops;
    while (std::next_permutation(order.begin(), order.end())) check({Permute{order}});
    for (int tiles = 0; tiles < 3; ++tiles) check({random_tile(loops)});
    if (perfect) {
      Jam jam;
      for (const auto& [loop, size] : random_tile(loops).sizes) jam.sizes.emplace_back(loop, size);
      std::vector<Step> steps = {jam};
      if (deepest > 1 && pick(0, 2) == 0) {
        std::shuffle(order.begin(), order.end(), random_);
        steps.insert(steps.begin(), Permute{order});
      }
      check(steps);
    }
    if (deepest > 1 && perfect) {
      const int inner = pick(1, deepest - 1);
      const Skew skew{loops[inner], pick(1, 2), loops[pick(0, inner - 1)]};
      std::shuffle(order.begin(), order.end(), random_);
      check({skew, pick(0, 1) ? Step(random_tile(loops)) : Step(Permute{order})});
    }
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  void fill_arrays() {
    for (const Array& array : made_.arrays) {
      int elements = 1;
      for (const int extent : array.extents) elements *= extent;
      arrays_.emplace_back();
      for (int e = 0; e < elements; ++e) arrays_.back().push_back(pick(0, 1008));
    }
  }

  Tile random_tile(std::vector<std::string> loops) {
    std::shuffle(loops.begin(), loops.end(), random_);
    loops.resize(static_cast<std::size_t>(pick(1, static_cast<int>(loops.size()))));
    Tile tile;
    for (const std::string& loop : loops) tile.sizes.emplace_back(loop, pick(1, 4));
    return tile;
  }

  void check(const std::vector<Step>& steps) {
    ++counts_.transformations;
    const bool legal = keeps_dependences(before_, transformed_order(made_, steps));
    Schedule schedule = Schedule::of_source(nest_);
    for (const Step& step : steps) schedule = schedule.then(step);
    const Verdict verdict = schedule.verdict();
    ++(verdict.legal ? counts_.legal : counts_.illegal);
    ASSERT_EQ(verdict.legal, legal) << "n = " << made_.n << "; " << to_text(steps) << "\n"
                                    << made_.text() << verdict.reason;
    if (!legal || pick(1, 8) > 1) return;  // loops take isl ten times as long as the verdict
    ++counts_.executed;
    expect_same_memory(schedule.code(), to_text(steps));
  }

  void expect_same_memory(const Node& code, const std::string& what) {
    Memory memory;
    memory.sizes["n"] = made_.n;
    for (std::size_t a = 0; a + 1 < made_.arrays.size(); ++a)
      memory.arrays[made_.arrays[a].name].assign(arrays_[a].begin(), arrays_[a].end());
    const bool scalar_changes = find_variable(nest_.region(), "s") != nullptr;
    if (scalar_changes) memory.scalars["s"] = arrays_[2][0];
    if (!scalar_changes) memory.sizes["s"] = arrays_[2][0];
    interpret(nest_.region(), code, memory);
    for (std::size_t a = 0; a + 1 < made_.arrays.size(); ++a) {
      const std::vector<double> values(expected_[a].begin(), expected_[a].end());
      ASSERT_EQ(memory.arrays[made_.arrays[a].name], values)
          << what << " changes " << made_.arrays[a].name << "; n = " << made_.n << "\n"
          << made_.text() << "becomes\n"
          << tile::to_text(code);
    }
    if (scalar_changes) {
      ASSERT_EQ(memory.scalars["s"], expected_[2][0]) << what << " changes s; n = " << made_.n << "\n"
                                                      << made_.text() << "becomes\n"
                                                      << tile::to_text(code);
    }
  }

  std::mt19937& random_;
  Counts& counts_;
  RandomNest made_;
  std::vector<Instance> before_;
  Nest nest_;
  std::vector<std::vector<int>> arrays_, expected_;
};

/// WARPLOOM_NESTS: how many instead of 200, and counts are printed. WARPLOOM_NEST_SEED: which.
long from_environment(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : otherwise;
}

TEST(RandomNests, LegalityAndCodeAgreeWithExecution) {
  std::mt19937 random(static_cast<unsigned>(from_environment("WARPLOOM_NEST_SEED", 1)));
  Counts counts;
  const long nests = from_environment("WARPLOOM_NESTS", 200);
  for (long k = 0; k < nests && !HasFatalFailure(); ++k) Check(random, counts).run();
  if (std::getenv("WARPLOOM_NESTS"))
    std::cout << counts.nests << " nests, " << counts.transformations << " transformations: " << counts.legal
              << " legal, " << counts.illegal << " illegal; generated code of " << counts.executed
              << " executed\n";
  EXPECT_GT(counts.legal, nests / 2);
  EXPECT_GT(counts.illegal, nests / 2);
}

}  // namespace
}  // namespace warploom::tile::test
