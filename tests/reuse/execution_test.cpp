// Random kernels run by an interpreter before and after `optimize`: what they leave in global memory must be
// equal in every order of the threads. Kernels that break the contract's assumptions by themselves, races and
// reads of uninitialised elements, are left out, and counted.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "oracle/ptx_interpreter.hpp"
#include "oracle/random_kernel.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

using oracle::interpret;
using oracle::Order;
using oracle::Outcome;
using oracle::Run;

constexpr Order kOrders[] = {Order::ascending, Order::descending, Order::random};

struct Count {
  std::uint64_t kernels = 0, runs = 0, usable = 0, rewritten = 0, with_barriers = 0, private_objects = 0;
};

/// Runs of the original that keep the contract: no race, nothing read that was not written, the same result
/// whatever shared memory held before.
std::vector<std::pair<Run, Outcome>> usable_runs(const ptx::Module& module, std::uint32_t threads,
                                                 std::uint64_t seed, Count& count) {
  std::vector<std::pair<Run, Outcome>> usable;
  const ptx::Function& k = *module.find_function("k");
  for (const std::uint32_t n : {5u, 2u, 7u, 0u}) {
    ++count.runs;
    Run run{.threads = threads,
            .order = Order::ascending,
            .seed = seed,
            .n = n,
            .data = {},
            .max_steps = 400'000};
    const Outcome one = interpret(module, k, run);
    if (!one.broken.empty() || one.race || one.unwritten) continue;
    run.order = Order::random;
    run.seed = seed + 1;
    const Outcome two = interpret(module, k, run);
    if (!two.broken.empty() || two.race || two.unwritten || one.out != two.out) continue;
    usable.emplace_back(run, one);
  }
  return usable;
}

void compare(const std::string& text, const Result& result, const std::vector<std::pair<Run, Outcome>>& runs,
             const std::string& what) {
  const ptx::Module after = ptx::parse(result.text);
  for (auto [run, expected] : runs)
    for (const Order order : kOrders) {
      run.order = order;
      run.seed += 17;
      const Outcome got = interpret(after, *after.find_function("k"), run);
      if (got.broken.empty() && !got.race && got.out == expected.out) continue;
      FAIL() << what << ", n = " << run.n << ", order " << static_cast<int>(order)
             << (got.race             ? ": a race"
                 : got.broken.empty() ? ": another result"
                                      : ": " + got.broken)
             << "\n"
             << text << "\n=== rewritten:\n"
             << result.text;
    }
}

void try_kernel(std::uint64_t seed, Count& count) {
  const std::uint32_t threads = 8u << seed % 3;
  const std::string text = oracle::random_kernel(seed, threads);
  const ptx::Module before = ptx::parse(text);
  ++count.kernels;
  const auto runs = usable_runs(before, threads, seed, count);
  if (runs.empty()) return;
  ++count.usable;
  bool rewritten = false, barriers = false;
  struct Way {
    PlacementMethod method;
    bool insert = true, block = false;
  };
  for (const Way way : {Way{PlacementMethod::optimal}, Way{PlacementMethod::optimal, true, true},
                        Way{PlacementMethod::greedy}, Way{PlacementMethod::greedy, false, true},
                        Way{PlacementMethod::paper}}) {
    Options options;
    options.when = When::always;
    options.placement.method = way.method;
    options.insert_barriers = way.insert;
    if (way.block) options.block = {threads, 1, 1};
    options.assemble = false;
    const Result result = optimize(text, options);
    const KernelReport& k = result.report.kernels.at(0);
    ASSERT_NE(k.verdict, Verdict::failed) << "seed " << seed << ": " << k.reason << "\n" << text;
    if (k.verdict != Verdict::rewritten) {
      ASSERT_EQ(result.text, text);
      continue;
    }
    rewritten = true;
    for (const BarrierReport& b : k.barriers) barriers |= b.inserted;
    ASSERT_LT(k.bytes_after, k.bytes_before);
    compare(text, result, runs,
            fmt::format("seed {}, {}, barriers {}, block {}", seed, name(way.method), way.insert, way.block));
    if (testing::Test::HasFatalFailure()) return;
  }
  count.rewritten += rewritten;
  count.with_barriers += barriers;
}

/// WARPLOOM_RANDOM_KERNELS: how many; WARPLOOM_RANDOM_KERNELS_FROM: the first seed.
std::uint64_t from_environment(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Execution, RewrittenKernelsComputeTheSame) {
  const std::uint64_t kernels = from_environment("WARPLOOM_RANDOM_KERNELS", 2000);
  const std::uint64_t first = from_environment("WARPLOOM_RANDOM_KERNELS_FROM", 1);
  Count count;
  for (std::uint64_t seed = first; seed < first + kernels; ++seed) {
    try_kernel(seed, count);
    if (HasFatalFailure()) break;
  }
  const std::string shares =
      fmt::format("{} kernels, {} within the contract, of these {} rewritten, {} with barriers added",
                  count.kernels, count.usable, count.rewritten, count.with_barriers);
  RecordProperty("shares", shares);
  std::puts(shares.c_str());
  if (HasFatalFailure() || kernels < 1000) return;
  EXPECT_GT(2 * count.usable, count.kernels) << shares;
  EXPECT_GT(2 * count.rewritten, count.usable) << shares;
  EXPECT_GT(5 * count.with_barriers, count.rewritten) << shares;
}

}  // namespace
}  // namespace warploom::reuse
