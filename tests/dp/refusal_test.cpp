// What is refused, and how: overflow, NaN, lengths, options, memory.

#include <chrono>
#include <limits>
#include <thread>

#include "every_device.hpp"
#include "warploom/core/run.hpp"

namespace warploom::dp {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// A problem with every term.
template <Value T>
Problem<T> with_all_terms() {
  return random_problem<T>({true, true, true, true, Optimum::minimum, Style::ties}, 50, 1);
}

template <Value T, class Change>
std::string after(Change change) {
  Problem<T> problem = with_all_terms<T>();
  change(problem);
  return refusal([&] { solve(problem, {.run = {.devices = {Device::cpu}}}); });
}

TEST(Refusal, OfNothing) {
  EXPECT_THAT(refusal([] { solve(Problem<float>(), {.run = {.devices = {Device::cpu}}}); }),
              HasSubstr("leaves"));
}

TEST(Refusal, OfNanNamesItsPlace) {
  EXPECT_THAT(after<float>([](auto& p) { p.leaves[3] = kNan; }), HasSubstr("leaves[3] is nan"));
  EXPECT_THAT(after<float>([](auto& p) { p.row_weight[50 - 1] = kNan; }), HasSubstr("row_weight[49]"));
  EXPECT_THAT(after<float>([](auto& p) { p.column_weight[0] = kNan; }), HasSubstr("column_weight[0]"));
  EXPECT_THAT(after<double>([](auto& p) { p.factors[7] = double(kNan); }), HasSubstr("factors[7]"));
  EXPECT_THAT(after<double>([](auto& p) { p.cell_weight(4, 31) = double(kNan); }),
              HasSubstr("cell_weight[4][31]"));
  EXPECT_THAT(after<float>([](auto& p) { p.pairing->scores[0] = kNan; }), HasSubstr("scores[0]"));
}

TEST(Refusal, OfInfinitiesThatMeanNothing) {
  EXPECT_THAT(after<float>([](auto& p) { p.leaves[3] = -kInf; }), HasSubstr("leaves[3] is -inf"));
  EXPECT_THAT(after<float>([](auto& p) { p.factors[3] = kInf; }), HasSubstr("factors[3] is inf"));
  EXPECT_THAT(after<float>([](auto& p) { p.row_weight[3] = kInf; }), HasSubstr("row_weight[3] is inf"));
  EXPECT_THAT(after<float>([](auto& p) { p.optimum = Optimum::maximum, p.cell_weight(1, 5) = kInf; }),
              HasSubstr("cell_weight[1][5] is inf"));
}

TEST(Refusal, OfLengthsThatDisagree) {
  using T = std::int64_t;
  EXPECT_THAT(after<T>([](auto& p) { p.row_weight.pop_back(); }),
              AllOf(HasSubstr("row_weight"), HasSubstr("49"), HasSubstr("50")));
  EXPECT_THAT(after<T>([](auto& p) { p.column_weight.clear(); }), HasSubstr("column_weight"));
  EXPECT_THAT(after<T>([](auto& p) { p.factors.push_back(1); }),
              AllOf(HasSubstr("factors"), HasSubstr("51"), HasSubstr("50")));
  EXPECT_THAT(after<T>([](auto& p) { p.cell_weight = Triangle<T>(49, 0); }),
              AllOf(HasSubstr("cell_weight"), HasSubstr("49"), HasSubstr("50")));
  EXPECT_THAT(after<T>([](auto& p) { p.pairing->codes.pop_back(); }),
              AllOf(HasSubstr("codes"), HasSubstr("48"), HasSubstr("49")));
  EXPECT_THAT(after<T>([](auto& p) { p.pairing->scores.push_back(0); }), HasSubstr("scores"));
}

TEST(Refusal, OfPairingOutOfRange) {
  using T = std::int32_t;
  EXPECT_THAT(after<T>([](auto& p) { p.pairing->letters = 17; }), AllOf(HasSubstr("17"), HasSubstr("16")));
  EXPECT_THAT(after<T>([](auto& p) { p.pairing->letters = 0; }), HasSubstr("letters"));
  EXPECT_THAT(after<T>([](auto& p) { p.pairing->minimum_span = 1; }), HasSubstr("minimum_span is 1"));
  EXPECT_THAT(after<T>([](auto& p) { p.pairing->codes[12] = 200; }),
              AllOf(HasSubstr("codes[12]"), HasSubstr("200")));
}

TEST(Refusal, OfFactorsWithCellsWithoutSolution) {
  EXPECT_THAT(after<std::int32_t>([](auto& p) { p.leaves[4] = kUnreachable<std::int32_t>; }),
              HasSubstr("leaves[4]"));
  EXPECT_THAT(after<std::int64_t>([](auto& p) { p.cell_weight(2, 9) = kUnreachable<std::int64_t>; }),
              HasSubstr("cell_weight[2][9]"));
}

TEST_P(EngineOn, OptionsOutOfRangeAreRefused) {
  const auto refused = [&](auto change) {
    Options with = options();
    with.decomposition = Decomposition::bottom_up;
    change(with);
    return refusal([&] { solve(random_problem<std::int32_t>({}, 40, 1), with); });
  };
  for (const int block : {-16, 1, 8, 17, 48, 1024})
    EXPECT_THAT(refused([&](Options& o) { o.block = block; }),
                AllOf(HasSubstr("block " + std::to_string(block)), HasSubstr("512")));
  EXPECT_THAT(refused([](Options& o) { o.triangular = Triangular::merged, o.block = 128; }),
              AllOf(HasSubstr("128"), HasSubstr("64")));
  EXPECT_THAT(refused([](Options& o) { o.multiprocessors = -1; }), HasSubstr("-1"));
  EXPECT_THAT(refused([](Options& o) { o.multiprocessors = 4; }), HasSubstr("persistent"));
  if (on_gpu()) {
    EXPECT_THAT(refused([](Options& o) { o.decomposition = Decomposition::persistent, o.block = 128; }),
                AllOf(HasSubstr("128"), HasSubstr("64")));
  }
}

/// Sums that a type can not hold are refused; those that are not refused are right: the oracle has 128 bits.
template <Value T>
void overflow(int bits) {
  int refused = 0, solved = 0;
  Random random(1);
  const std::vector<Kind> kinds = every_kind();
  for (std::uint32_t trial = 0; trial < 400; ++trial) {
    Kind kind = kinds[trial * 37 % kinds.size()];
    if (kind.style == Style::ties) kind.style = Style::two_sided;
    auto problem = random_problem<T>(kind, 3 + random.below(20), trial);
    // Some terms are made large, by a random number of bits.
    const auto enlarge = [&](std::vector<T>& values, int below) {
      const int shift = static_cast<int>(random.below(std::uint32_t(below)));
      for (T& value : values)
        if (value != unreachable<T>(problem.optimum) && random.chance(50))
          value = T((random.chance(50) ? T(1) : T(-1)) * ((T(1) << shift) + T(random.below(100))));
    };
    enlarge(problem.leaves, bits);
    if (kind.weights) enlarge(problem.row_weight, bits), enlarge(problem.column_weight, bits);
    if (kind.factors && random.chance(50)) enlarge(problem.factors, std::min(bits, 40));
    if (kind.pairing && random.chance(50)) enlarge(problem.pairing->scores, bits);
    const auto want = oracle::fill<oracle::Wide>(problem);
    if (!in_range(problem)) {
      ++refused;
      EXPECT_THAT(refusal([&] { solve(problem, {.run = {.devices = {Device::cpu}}}); }),
                  ContainsRegex(std::same_as<T, std::int32_t> ? "use int64" : "use float64"));
      continue;
    }
    ++solved;
    const auto solution = solve(problem, {.run = {.devices = {Device::cpu}}});
    for (std::int64_t i = 0; i < problem.points(); ++i)
      for (std::int64_t j = i + 1; j < problem.points(); ++j) {
        const auto& cell = want.cells[std::size_t(i)][std::size_t(j)];
        const oracle::Wide got = solution.value(i, j);
        ASSERT_TRUE(got == (cell ? *cell : oracle::Wide(unreachable<T>(problem.optimum))))
            << text(kind) << ", trial " << trial << ", cell " << i << ", " << j;
      }
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(solved, 50);
}

TEST(Refusal, OfOverflowOfInt32NeverComesTooLate) { overflow<std::int32_t>(30); }
TEST(Refusal, OfOverflowOfInt64NeverComesTooLate) { overflow<std::int64_t>(62); }

TEST(Refusal, OfOverflowSaysWhatToDo) {
  Problem<std::int32_t> problem;
  problem.leaves.assign(1'000, 1 << 20);
  EXPECT_FALSE(in_range(problem));
  EXPECT_THAT(
      refusal([&] { solve(problem, {.run = {.devices = {Device::cpu}}}); }),
      AllOf(HasSubstr("int32"), HasSubstr("1.049e+09"), HasSubstr("536870911"), HasSubstr("use int64")));
}

TEST(Refusal, OfOverflowDoesNotComeBeforeHalfTheRange) {
  // A chain of matrices whose worst order costs 2.6e8.
  Problem<std::int32_t> problem;
  problem.leaves.assign(256, 0);
  problem.factors.assign(257, 100);
  EXPECT_TRUE(in_range(problem));
  EXPECT_EQ(solve(problem, {.run = {.devices = {Device::cpu}}}).optimum(), 255'000'000);
}

TEST(Refusal, OfOverflowTrustsACallersBound) {
  Problem<std::int32_t> problem;
  problem.leaves = {1 << 28, -(1 << 28), 1 << 28, -(1 << 28), 1 << 28};
  EXPECT_FALSE(in_range(problem));
  problem.bound = 1 << 28;
  EXPECT_TRUE(in_range(problem));
  EXPECT_EQ(solve(problem, {.run = {.devices = {Device::cpu}}}).optimum(), 1 << 28);
  problem.bound = -1;
  EXPECT_THAT(refusal([&] { solve(problem, {.run = {.devices = {Device::cpu}}}); }),
              HasSubstr("bound is -1"));
}

TEST_P(EngineOn, AProblemBeyondTheMemoryIsRefusedBeforeItIsTried) {
  Problem<double> problem;
  problem.leaves.assign(3'000'000, 0.0);
  try {
    solve(problem, options());
    FAIL() << "36 TB were found";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), ContainsRegex("36[.0-9 ,]*(TB|[0-9]* GB)|3.6e\\+04 GB"));
  }
}

TEST_P(EngineOn, AnInterruptBeforeStopsIt) {
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(solve(random_problem<float>({}, 300, 1), options()), Interrupted);
}

TEST(Refusal, OfTermsStopsWhenItIsInterrupted) {  // 1 GB of weights take seconds to look at
  Problem<std::int32_t> problem;
  problem.leaves.assign(3, 1);
  problem.cell_weight = Triangle<std::int32_t>(4, 0);
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(in_range(problem), Interrupted);
}

// Work of several seconds.
TEST_P(EngineOn, AnInterruptStopsIt) {
  Problem<std::int32_t> problem;
  problem.leaves.assign(on_gpu() ? 60'000 : 8'000, 1);
  Options with = options();
  with.storage = Storage::plain;
  with.run.threads = 2;  // seconds on any number of processors
  std::atomic<bool> stop = false;
  const RunScope scope({.stop = &stop});
  std::thread interrupting([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
  });
  EXPECT_THROW(solve(problem, with), Interrupted);
  interrupting.join();
}

TEST(Names, AreReadBack) {
  for (const auto decomposition : {Decomposition::best, Decomposition::bottom_up, Decomposition::persistent,
                                   Decomposition::divide_and_conquer, Decomposition::printed})
    EXPECT_EQ(parse_decomposition(name(decomposition)), decomposition);
  for (const auto triangular : {Triangular::blocked, Triangular::merged, Triangular::direct})
    EXPECT_EQ(parse_triangular(name(triangular)), triangular);
  for (const auto storage : {Storage::best, Storage::plain, Storage::narrow})
    EXPECT_EQ(parse_storage(name(storage)), storage);
  for (const auto optimum : {Optimum::minimum, Optimum::maximum})
    EXPECT_EQ(parse_optimum(name(optimum)), optimum);
}

TEST(Names, ThatDoNotExistAreRefusedWithThoseThatDo) {
  EXPECT_THAT(
      refusal([] { parse_decomposition("top-down"); }),
      AllOf(HasSubstr("top-down"), HasSubstr("auto, bottom-up, persistent, divide-and-conquer, printed")));
  EXPECT_THAT(refusal([] { parse_triangular(""); }), HasSubstr("blocked, merged, direct"));
  EXPECT_THAT(refusal([] { parse_storage("wide"); }), HasSubstr("auto, plain, narrow"));
  EXPECT_THAT(refusal([] { parse_optimum("mean"); }), HasSubstr("min and max"));
}

TEST_P(EngineOn, SeveralProcessorsAreOneDevice) {
  if (on_gpu()) GTEST_SKIP() << "several GPUs: shared_gpu_test.cpp";
  Options options;
  options.run.devices = {Device::cpu, Device::cpu};
  EXPECT_THAT(
      refusal([&] { solve(random_problem<float>({}, 10, 1), options); }),
      testing::HasSubstr("dynamic programming on processors uses one device, not cpu,cpu: name one of them"));
}

}  // namespace
}  // namespace warploom::dp
