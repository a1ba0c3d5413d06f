// One problem shared among ranks, here threads, beside one that solves it alone.

#include "core/thread_ranks.hpp"
#include "every_device.hpp"

namespace warploom::dp {
namespace {

Options alone_on_cpu() { return {.run = {.devices = {Device::cpu}}}; }

template <class T>
class SharedRanks : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(SharedRanks, Types);

TYPED_TEST(SharedRanks, GiveTheCellsAndDecisionsOfOne) {
  const Kind plain{.style = Style::two_sided};
  const Kind all{true, true, true, true, Optimum::maximum, Style::two_sided};
  const Kind holes{.weights = true, .cells = true, .pairing = true, .style = Style::unreachable};
  const Kind ties{.pairing = true, .optimum = Optimum::maximum, .style = Style::ties};
  for (const std::int64_t points : {2, 64, 65, 130, 411})
    for (const Kind& kind : {plain, all, holes, ties}) {
      const auto problem = random_problem<TypeParam>(kind, points, 3);
      const auto alone = solve(problem, alone_on_cpu());
      const Triangle<TypeParam> want = alone.table();
      const std::vector<Split> trace = alone.trace();
      for (const std::size_t count : {1u, 2u, 3u, 9u}) {
        SCOPED_TRACE(text(kind) + ", " + std::to_string(points) + " points, ranks " + std::to_string(count));
        ThreadRanks::run(count, [&](Ranks& ranks) {
          Options options = alone_on_cpu();
          options.ranks = &ranks;
          const auto shared = solve(problem, options);
          const std::string different = first_difference(shared.table(), want);
          const std::vector<Split> decisions = shared.trace();
          if (ranks.rank() != count / 2) return;
          EXPECT_EQ(shared.optimum(), alone.optimum());
          EXPECT_EQ(different, "");
          EXPECT_EQ(decisions, trace);
          EXPECT_EQ(shared.report().devices, static_cast<int>(count));
        });
      }
    }
}

TEST(RanksOfOneProblem, HoldAShareOfTheCells) {
  const auto problem = random_problem<float>({}, 2000, 1);
  std::vector<std::uint64_t> bytes(4);
  ThreadRanks::run(4, [&](Ranks& ranks) {
    Options options = alone_on_cpu();
    options.ranks = &ranks;
    bytes[ranks.rank()] = solve(problem, options).report().bytes;
  });
  const std::uint64_t alone = solve(problem, alone_on_cpu()).report().bytes;
  for (const std::uint64_t one : bytes)
    EXPECT_LT(one, alone * 3 / 5);  // a quarter, and rows and a diagonal of tiles
}

TEST(RanksOfOneProblem, RefuseWhatTheyCannot) {
  const auto problem = random_problem<std::int32_t>({}, 20, 1);
  const auto refused = [&](const std::function<void(Options&)>& change) {
    return refusal([&] {
      ThreadRanks::run(2, [&](Ranks& ranks) {
        Options options = alone_on_cpu();
        options.ranks = &ranks;
        change(options);
        solve(problem, options);
      });
    });
  };
  EXPECT_THAT(refused([](Options& o) { o.decomposition = Decomposition::printed; }),
              testing::HasSubstr("bottom-up, not printed"));
  EXPECT_THAT(refused([](Options& o) { o.block = 32; }), testing::HasSubstr("in blocks of 64, not 32"));
  EXPECT_THAT(refused([](Options& o) { o.storage = Storage::narrow; }), testing::HasSubstr("not narrow"));
  EXPECT_THAT(refused([](Options& o) { o.run.devices = {Device::cuda}; }), testing::HasSubstr("on CPUs"));
  EXPECT_THAT(refusal([&] {
                ThreadRanks::run(2, [&](Ranks& ranks) {
                  Options options = alone_on_cpu();
                  options.ranks = &ranks;
                  solve_batch<std::int32_t>(std::vector{problem, problem}, options);
                });
              }),
              testing::HasSubstr("at a time, not 2"));
  EXPECT_THAT(refusal([&] {
                ThreadRanks::run(2, [&](Ranks& ranks) {
                  Options options = alone_on_cpu();
                  options.ranks = &ranks;
                  solve(random_problem<std::int32_t>({}, ranks.rank() == 0 ? 20 : 21, 1), options);
                });
              }),
              testing::HasSubstr("rank 1 has not what rank 0 has of the number of points"));
}

}  // namespace
}  // namespace warploom::dp
