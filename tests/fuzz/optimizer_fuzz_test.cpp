// The judge of the optimiser's fuzzer: finds an optimiser wrong that is, and ours right.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "fuzz/optimizer_fuzz_judge.hpp"
#include "fuzz/optimizer_fuzz_ledger.hpp"
#include "fuzz/optimizer_fuzz_oracle.hpp"
#include "fuzz/optimizer_fuzz_workers.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/process.hpp"

namespace warploom::fuzz {
namespace {

using oracle::RandomKernel;
using testing::AnyOf;
using testing::HasSubstr;

constexpr std::string_view kInserted =
    "bar.sync \t0;\n\t";  ///< as the optimiser writes it; the generator does not

/// An optimiser that forgets the barriers it meant to insert.
reuse::Result without_barriers(const std::string& ptx, const reuse::Options& options) {
  reuse::Result result = optimize_with_reuse(ptx, options);
  for (std::size_t at; (at = result.text.find(kInserted)) != std::string::npos;)
    result.text.erase(at, kInserted.size());
  return result;
}

/// One that puts every object of the pool at its beginning.
reuse::Result all_at_the_beginning(const std::string& ptx, const reuse::Options& options) {
  reuse::Result result = optimize_with_reuse(ptx, options);
  const std::string pool = "__warploom_pool_k+";
  for (std::size_t at = 0; (at = result.text.find(pool, at)) != std::string::npos;) {
    at += pool.size();
    const std::size_t end = result.text.find_first_not_of("0123456789", at);
    if (result.text.compare(end, 3, " */") != 0) result.text.replace(at, end - at, "0");
  }
  return result;
}

/// One that sees `line` before or behind each line that begins with one of these; the result does not have
/// it.
reuse::Result deceived(const std::string& ptx, const reuse::Options& options, const std::string& line,
                       bool before, std::initializer_list<std::string_view> starts) {
  std::string seen;
  for (std::size_t from = 0, to = 0; from < ptx.size(); from = to) {
    to = std::min(ptx.find('\n', from), ptx.size() - 1) + 1;
    const std::string_view here(ptx.data() + from, to - from);
    const bool met = std::ranges::any_of(starts, [&](std::string_view s) { return here.starts_with(s); });
    if (met && before) seen += line;
    seen += here;
    if (met && !before) seen += line;
  }
  reuse::Result result = optimize_with_reuse(seen, options);
  for (std::size_t at; (at = result.text.find(line)) != std::string::npos;)
    result.text.erase(at, line.size());
  return result;
}

/// One that takes cp.async to be over at once.
reuse::Result copies_at_once(const std::string& ptx, const reuse::Options& options) {
  return deceived(ptx, options, "cp.async.wait_all ;\n", false, {"cp.async.ca", "cp.async.cg"});
}

/// One that sees fences for bulk copies before all barriers.
reuse::Result fences_everywhere(const std::string& ptx, const reuse::Options& options) {
  return deceived(ptx, options, "fence.proxy.async ;\n", true, {"bar.sync 0;", "barrier.sync 0;"});
}

/// The first kernel from a seed on that an optimiser is wrong about.
struct Wrong {
  RandomKernel kernel;
  Way way;
  Judgement judgement;
};
Wrong first_wrong(const Optimizer& optimizer, std::uint64_t from = 1, bool by_running = false) {
  for (std::uint64_t seed = from; seed < from + 600; ++seed) {
    const RandomKernel kernel = oracle::random_kernel(seed);
    const std::vector<Way> all = ways(seed, kernel);
    Judgement j = judge(kernel, all, optimizer);
    if (j.verdict == Verdict::wrong && !(by_running && j.kind.starts_with("the check")))
      return {kernel, all[*j.way], std::move(j)};
  }
  return {};
}

TEST(OptimizerFuzz, FindsNothingWrongInTheFirstKernels) {
  const Findings f = judge_all({.from = 1, .count = 300, .jobs = 2});
  for (const Failure& failure : f.failures) ADD_FAILURE() << "seed " << failure.seed << ": " << failure.kind;
  EXPECT_EQ(f.tally.wrong, 0u);
  EXPECT_EQ(f.to, 301u);
  EXPECT_EQ(f.tally.kernels, 300u);
  EXPECT_LT(f.tally.outside_contract, 30u);
  EXPECT_GT(f.tally.rewritten, 150u);
  EXPECT_GT(f.tally.barrier_inserted, 60u);
}

TEST(OptimizerFuzz, EveryFeatureAppears) {
  std::vector<std::uint64_t> count(static_cast<std::size_t>(oracle::Feature::count));
  for (std::uint64_t n = 1; n <= 8000; ++n) {
    const RandomKernel kernel = oracle::random_kernel(n % 8 == 0 ? oracle::kBulkSeeds + n : n);
    for (std::size_t f = 0; f < count.size(); ++f) count[f] += kernel.has(static_cast<oracle::Feature>(f));
  }
  for (std::size_t f = 0; f < count.size(); ++f)
    EXPECT_GE(count[f], 10u) << oracle::name(static_cast<oracle::Feature>(f));
}

TEST(OptimizerFuzz, FindsAForgottenBarrierByRunning) {
  const Wrong wrong = first_wrong(without_barriers);
  EXPECT_EQ(wrong.judgement.kind, "race");
}

TEST(OptimizerFuzz, FindsACopyTakenToBeOverByRunning) {
  const Wrong wrong = first_wrong(copies_at_once, 1, true);
  EXPECT_THAT(wrong.judgement.kind, AnyOf("race", "another result"));
}

TEST(OptimizerFuzz, FindsAFenceThatIsNotThereByRunning) {
  const Wrong wrong = first_wrong(fences_everywhere, oracle::kBulkSeeds, true);
  EXPECT_EQ(wrong.judgement.kind, "missing proxy fence");
}

TEST(OptimizerFuzz, FindsAWrongOffset) {
  const Wrong wrong = first_wrong(all_at_the_beginning);
  EXPECT_EQ(wrong.judgement.verdict, Verdict::wrong);
}

TEST(OptimizerFuzz, FindsAnException) {
  const Judgement j = judge(oracle::random_kernel(1), {Way{}},
                            [](const auto&, const auto&) -> reuse::Result { throw Internal("planted"); });
  EXPECT_EQ(j.kind, "an exception");
  EXPECT_THAT(j.detail, HasSubstr("planted"));
}

TEST(OptimizerFuzz, LeavesOutKernelsThatBreakTheContract) {
  RandomKernel kernel;
  kernel.block = {8, 1};
  kernel.text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 data, .param .u32 n)
{
.shared .align 4 .b8 a[32];
.reg .b32 %t, %r<3>;
mov.u32 %t, %tid.x;
mov.u32 %r1, a;
mad.lo.u32 %r1, %t, 4, %r1;
st.shared.u32 [%r1], %t;
ld.shared.u32 %r2, [a];
ret;
}
)";
  EXPECT_EQ(judge(kernel, ways(1, kernel)).verdict, Verdict::outside_contract);
}

TEST(OptimizerFuzz, ReducesAFailureToAFewLinesThatFailAlike) {
  const Wrong wrong = first_wrong(without_barriers);
  const auto again = [](const RandomKernel& k, const Way& way) {
    return judge_apart(k, {way}, without_barriers);
  };
  const RandomKernel small = minimize(wrong.kernel, wrong.way, wrong.judgement.kind, again);
  const auto lines = std::count(small.text.begin(), small.text.end(), '\n');
  EXPECT_LT(lines, 40) << small.text;
  const Judgement j = again(small, wrong.way);
  EXPECT_EQ(j.verdict, Verdict::wrong);
  EXPECT_EQ(j.kind, wrong.judgement.kind);
  EXPECT_EQ(judge(small, {wrong.way}).verdict, Verdict::right) << "with its barriers";
}

TEST(OptimizerFuzz, GoesOnAfterACrash) {
  const std::string victim = oracle::random_kernel(5).text;
  const Findings f =
      judge_all({.from = 1, .count = 20, .jobs = 1}, [&](const auto& ptx, const auto& options) {
        if (ptx == victim) std::abort();
        return optimize_with_reuse(ptx, options);
      });
  ASSERT_EQ(f.failures.size(), 1u);
  EXPECT_EQ(f.failures[0].seed, 5u);
  EXPECT_EQ(f.failures[0].kind, "a crash, signal 6");
  EXPECT_EQ(f.tally.kernels, 20u);
  EXPECT_EQ(f.to, 21u);
}

TEST(OptimizerFuzz, SimulatorAndInterpreterAgree) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed)
    EXPECT_EQ(disagreement(oracle::random_kernel(seed)), "") << "seed " << seed;
}

class Ledger : public testing::Test {
 protected:
  void SetUp() override { write_file_atomically(file_, R"({"ranges": [], "bugs": []})"); }
  void add(std::uint64_t from, std::uint64_t to, const std::string& date = "2026-01-01",
           std::uint64_t wrong = 0) {
    Findings f;
    f.to = to;
    f.tally.kernels = to - from;
    f.tally.wrong = wrong;
    add_to_ledger(file_, {.from = from}, f, date);
  }
  std::string text() const { return read_file(file_); }

  const TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_.path() / "ledger.json";
};

TEST_F(Ledger, MergesARangeThatGoesOn) {
  add(1, 101);
  add(101, 301);
  EXPECT_THAT(text(), HasSubstr("\"to\": 301"));
  EXPECT_THAT(text(), HasSubstr("\"kernels\": 300"));
  EXPECT_THAT(text(), testing::Not(HasSubstr("\"from\": 101")));
}

TEST_F(Ledger, KeepsAnotherDaysRangeApart) {
  add(1, 101);
  add(101, 301, "2026-01-02");
  EXPECT_THAT(text(), HasSubstr("\"from\": 101"));
}

TEST_F(Ledger, RefusesSeedsThatAreThere) {
  add(1, 101);
  EXPECT_THROW(add(100, 200), BadInput);
}

TEST_F(Ledger, DoesNotTakeARunWithFailures) {
  add(1, 101, "2026-01-01", 1);
  EXPECT_THAT(text(), testing::Not(HasSubstr("from")));
}

TEST_F(Ledger, SaysThatAFileIsNoLedger) {
  write_file_atomically(file_, "[]");
  EXPECT_THROW(add(1, 101), BadInput);
}

}  // namespace
}  // namespace warploom::fuzz
