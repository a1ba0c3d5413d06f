// Bottom-up with a launch a diagonal in the simulator, with the race detector.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "dp/kernels.hpp"
#include "dp/problems.hpp"
#include "dp/simulated_problem.hpp"
#include "oracle/polyadic.hpp"
#include "warploom/core/file.hpp"

namespace warploom::dp {
namespace {

/// The launches of launch_diagonal() for all diagonals, compared with the oracle.
template <Arithmetic kArithmetic, class T>
void expect_right(const Problem<T>& problem, std::string_view kernel) {
  constexpr std::uint32_t kThreads = 128;  // Product's
  sim::Machine machine(ptx::parse(read_file(WARPLOOM_KERNEL_PTX), "diagonal.ptx"));
  const SimulatedProblem<T, kArithmetic> simulated(machine, problem);
  const auto& m = simulated.cells();
  const Terms<T>& terms = simulated.terms();
  const auto blocks = static_cast<std::uint32_t>((problem.points() + kDiagonalEdge - 1) / kDiagonalEdge);
  for (std::uint32_t d = 0; d < blocks; ++d) {
    sim::Arguments arguments;
    const auto add = [&](const auto&... values) { (arguments.add(values), ...); };
    add(m.cells, m.bases, m.overflow, m.points, terms.leaves, terms.row_weight, terms.column_weight,
        terms.factors, terms.product_sign, terms.cell_weight, terms.codes, terms.scores, terms.letters,
        terms.minimum_span, std::int64_t{0}, std::int64_t{d} * kDiagonalEdge, kDiagonalEdge);
    sim::LaunchOptions options;
    const std::uint32_t count = blocks - d;
    options.grid = {count, std::max(std::min(d, count + 1), 2U) - 1};
    options.block = {kThreads};
    options.schedule = sim::Schedule::random;
    options.races = true;
    const sim::Outcome outcome = machine.launch(kernel_symbol(machine, kernel), arguments, options);
    EXPECT_TRUE(outcome.completed);
    for (const sim::Finding& finding : outcome.findings) ADD_FAILURE() << finding.text();
  }
  const oracle::Table<T> want = oracle::fill<T>(problem);
  const Triangle<T> cells = simulated.solved(machine);
  for (std::int64_t i = 0; i < cells.points(); ++i)
    for (std::int64_t j = i + 1; j < cells.points(); ++j)
      ASSERT_EQ(cells(i, j), want.cells[i][j].value_or(kUnreachable<T>))
          << "cell (" << i << ", " << j << ") of " << cells.points() << " points";
}

TEST(DiagonalKernel, SolvesAllSizesAroundThoseOfBlocks) {
  for (const std::int64_t points : {2, 32, 33, 64, 65, 96, 97, 130, 191, 193, 300})
    expect_right<Arithmetic::plain>(random_problem<std::int32_t>({.style = Style::two_sided}, points, 1),
                                    "diagonal<int, (warploom::dp::Arithmetic)0, false>");
}

TEST(DiagonalKernel, SolvesWithAllTerms) {
  const Kind kind{.weights = true, .factors = true, .pairing = true, .style = Style::two_sided};
  expect_right<Arithmetic::plain>(random_problem<std::int32_t>(kind, 200, 2),
                                  "diagonal<int, (warploom::dp::Arithmetic)0, true>");
  expect_right<Arithmetic::plain>(random_problem<double>(kind, 170, 3),
                                  "diagonal<double, (warploom::dp::Arithmetic)0, true>");
}

TEST(DiagonalKernel, SolvesFloatsThatAreNotNegative) {
  const Kind kind{.weights = true, .style = Style::one_sided};
  expect_right<Arithmetic::non_negative>(random_problem<float>(kind, 260, 4),
                                         "diagonal<float, (warploom::dp::Arithmetic)1, false>");
}

}  // namespace
}  // namespace warploom::dp
