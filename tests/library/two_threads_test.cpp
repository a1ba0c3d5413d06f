// Two threads on one object of each type: what the guide's rules allow is right, what they forbid is right or
// refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/process.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/sanitizers.hpp"
#include "warploom/count/statuses.hpp"
#include "warploom/count/workload.hpp"
#include "warploom/dp/chain.hpp"
#include "warploom/imaging/segment.hpp"
#include "warploom/io/sequence_stream.hpp"
#include "warploom/reuse/reuse.hpp"
#include "warploom/search/find.hpp"
#include "warploom/search/recordings.hpp"
#include "warploom/search/stream.hpp"
#include "warploom/sim/sim.hpp"
#include "warploom/table/concurrent_map.hpp"
#include "warploom/table/hash_table.hpp"
#include "warploom/table/list_table.hpp"
#include "warploom/tile/explain.hpp"

namespace warploom {
namespace {

constexpr int kRuns = WARPLOOM_THREAD_SANITIZER ? 100 : 1000;
const Run kCpu{.devices = {Device::cpu}, .threads = 2};

/// Calls work() in two threads at once, `kRuns` times. @return how many calls were refused by the rule that
/// one thread at a time may use an object; all others came to their end
int refused_of(const std::function<void()>& work) {
  std::barrier<> both(2);
  std::atomic<int> refused = 0;
  const auto run = [&] {
    for (int k = 0; k < kRuns; ++k) {
      both.arrive_and_wait();
      try {
        work();
      } catch (const BadInput& error) {
        EXPECT_NE(std::string(error.what()).find("two threads use one"), std::string::npos) << error.what();
        ++refused;
      }
    }
  };
  std::thread other(run);
  run();
  other.join();
  return refused;
}

template <class Table>
void adds_are_counted_or_refused(Table& table) {
  std::vector<std::uint64_t> keys(100);
  std::iota(keys.begin(), keys.end(), 0);
  const std::vector<std::uint64_t> ones(keys.size(), 1);
  const int refused = refused_of([&] { table.run(table::Operation::add, keys, ones, {}, {}); });
  std::vector<std::uint64_t> counts(keys.size());
  table.run(table::Operation::find, keys, {}, {}, counts);
  EXPECT_EQ(counts, std::vector<std::uint64_t>(keys.size(), static_cast<std::uint64_t>(2 * kRuns - refused)));
}

TEST(TwoThreads, OnAHashTableTakeTurnsOrAreRefused) {
  table::HashTable<std::uint64_t, std::uint64_t> table({.run = kCpu, .capacity = 16});
  adds_are_counted_or_refused(table);
}

TEST(TwoThreads, OnAListTableTakeTurnsOrAreRefused) {
  table::ListTable<std::uint64_t, std::uint64_t> table({.run = kCpu, .capacity = 1024});
  adds_are_counted_or_refused(table);
}

TEST(TwoThreads, OnAnIndexOfStatusesTakeTurnsOrAreRefused) {
  table::StatusIndex index({.run = kCpu, .capacity = 16});
  const std::vector<std::uint8_t> statuses{1, 2, 1};
  const std::vector<table::Slot> slots(statuses.size(), {3, 5});
  const int refused = refused_of([&] { index.store(statuses, slots); });
  const auto stored = static_cast<std::size_t>(2 * kRuns - refused);
  EXPECT_EQ(index.find({1}), std::vector(2 * stored, slots[0]));
  EXPECT_EQ(index.find({2}), std::vector(stored, slots[0]));
}

TEST(TwoThreads, OnAStreamOfSequencesTakeTurnsOrAreRefused) {
  std::string text;
  for (int k = 0; k < 2 * kRuns; ++k) text += "@a\nACGT\n+\nIIII\n";
  io::SequenceStream stream = io::SequenceStream::of_text(text, "reads");
  std::atomic<std::size_t> letters = 0;
  const int refused = refused_of([&] {
    std::string piece;
    stream.next(piece, 1, 0);
    letters += piece.size();
  });
  EXPECT_EQ(letters, 5U * static_cast<std::size_t>(2 * kRuns - refused));
}

TEST(TwoThreads, OnAHashTableOfListsTakeTurnsOrAreRefused) {
  table::HashTable<std::uint64_t, std::uint64_t> table(
      {.run = kCpu, .structure = table::Structure::list, .capacity = 1024});
  adds_are_counted_or_refused(table);
}

TEST(TwoThreads, OnAConcurrentMapBothWork) {
  table::ConcurrentMap<std::uint64_t, std::uint64_t> map(1);
  std::atomic<std::uint64_t> next = 0;
  EXPECT_EQ(refused_of([&] {
              for (int k = 0; k < 50; ++k) map.insert(next++, 7);
              map.fetch_add(~std::uint64_t{0}, 1);
            }),
            0);
  EXPECT_EQ(map.size(), next + 1);
  EXPECT_EQ(map.find(~std::uint64_t{0}).value, static_cast<std::uint64_t>(2 * kRuns));
}

TEST(TwoThreads, OnASearchIndexTakeTurnsOrAreRefused) {
  std::vector<float> samples(500);
  for (std::size_t k = 0; k < samples.size(); ++k) samples[k] = static_cast<float>((k * k + 7 * k) % 101);
  search::Index index({samples}, {.run = kCpu});
  const std::vector<search::Pattern> patterns{
      {.samples = {samples.begin() + 100, samples.begin() + 140}, .radius = 2}};
  const std::vector<search::Task> tasks{{.limit = 3, .exclusion = 20}};
  const auto expected = index.best(patterns, tasks);
  refused_of([&] { EXPECT_EQ(index.best(patterns, tasks), expected); });
}

/// What a stream says of `pushes` times the same samples, which is what two threads that take turns are told.
template <class Stream, class Push>
void pushes_are_answered_or_refused(Stream stream, Stream alone, const Push& push) {
  std::mutex mutex;
  std::size_t answers = 0, expected = 0;
  const int refused = refused_of([&] {
    const std::size_t more = push(stream).size();
    const std::lock_guard lock(mutex);
    answers += more;
  });
  for (int k = refused; k < 2 * kRuns; ++k) expected += push(alone).size();
  EXPECT_EQ(answers + stream.finish().size(), expected + alone.finish().size());
  EXPECT_GT(expected, 0u);
}

TEST(TwoThreads, OnAStreamTakeTurnsOrAreRefused) {
  const std::vector<float> beat{0, 1, 4, 9, 3, 7, 2, 5};
  const search::Query query{.label = "beat", .channels = {beat}, .places = {0}};
  const auto stream = [&] { return search::Stream(1, query, {.max_distance = 0.1}, {.run = kCpu}); };
  pushes_are_answered_or_refused(stream(), stream(), [&](search::Stream& s) { return s.push({beat}); });
}

TEST(TwoThreads, OnAStreamOfLinesTakeTurnsOrAreRefused) {
  const search::RecordedQuery query{.label = "flat", .names = {""}, .samples = {std::vector<float>(8, 1)}};
  search::SearchOptions options;
  options.run = kCpu;
  options.by_number = true;
  options.normalization = search::Normalization::none;
  options.find.max_distance = 0.1;
  const auto stream = [&] { return search::LineStream(query, options, {.rate = 10}, "lines"); };
  pushes_are_answered_or_refused(stream(), stream(), [](search::LineStream& s) { return s.push("1"); });
}

TEST(TwoThreads, OnASimulatedMachineTakeTurnsOrAreRefused) {
  sim::Machine machine(
      ptx::parse(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n"));
  const int refused = refused_of([&] {
    const sim::Address address = machine.allocate(64);
    EXPECT_TRUE(machine.launch("nothing", {}, {}).clean());
    machine.free(address);
  });
  EXPECT_LE(refused, 2 * kRuns);
}

/// j carries nothing, i is skewed by it.
tile::Nest nest_of_two_loops() {
  return tile::Nest::analyse(
      tile::read_source(
          "void f(int n, float A[n][n]) { for (int i = 1; i < n; i++) for (int j = 1; j < n; j++) "
          "A[i][j] = A[i - 1][j] + A[i][j - 1]; }",
          "f.c", {})
          .at(0));
}

TEST(TwoThreads, OnALoopNestBothReadWhatWasFound) {
  const tile::Nest nest = nest_of_two_loops();
  const std::string expected = tile::to_text(nest, tile::dependences(nest).at(0));
  EXPECT_EQ(refused_of([&] {
              const tile::Nest copy = nest;
              EXPECT_EQ(tile::to_text(copy, tile::dependences(copy).at(0)), expected);
            }),
            0);
}

TEST(TwoThreads, OnALoopNestAndItsSchedulesBothTransform) {
  const tile::Nest nest = nest_of_two_loops();
  const std::vector<tile::Step> steps{tile::Permute{{"j", "i"}}};
  const tile::Schedule permuted = tile::transform(nest, steps);
  const std::string expected = tile::to_text(permuted.code());
  const auto reversed = [](const tile::Schedule& schedule) {
    return schedule.then(tile::Skew{"j", -2, "i"}).verdict().reason;
  };
  const std::string reason = reversed(permuted);
  EXPECT_EQ(refused_of([&] {
              EXPECT_EQ(tile::to_text(tile::transform(nest, steps).code()), expected);
              EXPECT_EQ(reversed(permuted), reason);
            }),
            0);
}

TEST(TwoThreads, OnALoopNestBothLookForAnOrder) {
  const tile::Nest nest = nest_of_two_loops();
  const auto order = [&] {
    const tile::Nest copy = nest;
    return tile::to_text(tile::parallelise(copy).code) + std::to_string(tile::steps_for_cpu(copy).size()) +
           tile::to_text(copy, tile::explain(copy));
  };
  const std::string expected = order();
  std::atomic<int> calls = 0;
  EXPECT_EQ(refused_of([&] {
              if (++calls > kRuns / 5) return;
              EXPECT_EQ(order(), expected);
            }),
            0);
}

TEST(TwoThreads, OnASolutionBothRead) {
  const dp::Problem<std::int32_t> problem{.leaves = std::vector<std::int32_t>(60, 1)};
  const dp::Solution<std::int32_t> solution = dp::solve(problem, {.run = kCpu});
  const std::vector<dp::Split> expected = solution.trace();
  EXPECT_EQ(refused_of([&] {
              EXPECT_EQ(solution.trace(), expected);
              EXPECT_EQ(solution.value(0, 60), solution.optimum());
            }),
            0);
}

TEST(TwoThreads, OnOneImageBothSegment) {
  imaging::Image image(imaging::Grid{.nx = 16, .ny = 16, .nz = 1}, 1);
  for (std::size_t k = 0; k < image.data.size(); ++k) image.data[k] = static_cast<float>(k % 16 < 8);
  const imaging::SegmentOptions options{.max_iterations = 5, .run = kCpu};
  const imaging::Mask expected = imaging::segment(image, options).mask;
  EXPECT_EQ(refused_of([&] { EXPECT_EQ(imaging::segment(image, options).mask, expected); }), 0);
}

TEST(TwoThreads, OnOneTextBothOptimize) {
  const std::string text =
      ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n";
  EXPECT_EQ(refused_of([&] { EXPECT_EQ(reuse::optimize(text, {.assemble = false}).text, text); }), 0);
}

TEST(TwoThreads, OnOneChainOfMatricesBothOrder) {
  const std::vector<std::int64_t> dimensions{30, 35, 15, 5, 10, 20, 25};
  EXPECT_EQ(refused_of([&] {
              EXPECT_EQ(dp::chain_order(dimensions).parenthesisation, "((A1 (A2 A3)) ((A4 A5) A6))");
            }),
            0);
}

TEST(TwoThreads, OnAProgressBothCount) {
  std::uint64_t done = 0;
  {
    const RunScope scope({.progress = [&](const ProgressState& state) { done = state.done; }});
    Progress progress("counting", 0, "runs");
    EXPECT_EQ(refused_of([&] { progress.advance(); }), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // what is shorter is not shown
    progress.advance();
  }
  EXPECT_EQ(done, 2 * kRuns + 1);
}

TEST(TwoThreads, OnAFileBothRead) {
  const TemporaryDirectory directory;
  write_file_atomically(directory.path() / "f", "0123456789");
  const InputFile file(directory.path() / "f");
  EXPECT_EQ(refused_of([&] {
              std::array<char, 4> read{};
              EXPECT_EQ(file.read_at(3, read), read.size());
              EXPECT_EQ(std::string_view(read.data(), read.size()), "3456");
            }),
            0);
}

TEST(TwoThreads, OnAWorkloadBothDraw) {
  const table::Workload<std::uint64_t> workload({.distribution = table::Distribution::zipf});
  const auto draw = [&] {
    std::vector<std::uint64_t> keys(100);
    workload.operations(7, {}, keys);
    return keys;
  };
  const std::vector<std::uint64_t> expected = draw();
  EXPECT_EQ(refused_of([&] { EXPECT_EQ(draw(), expected); }), 0);
}

/// Every class of the headers, and what its objects are between threads.
TEST(TwoThreads, HaveARuleForEveryClass) {
  const std::map<std::string_view, std::set<std::string>> classes{
      {"tested here",
       {"ConcurrentMap", "HashTable", "Index", "InputFile", "LineStream", "ListTable", "Machine", "Nest",
        "Progress", "Schedule", "SequenceStream", "Solution", "StatusIndex", "Stream", "Workload"}},
      {"tested on a GPU (gpu_table_test.cpp)", {"GpuTable"}},
      {"values: many may read or one may write, as of a std::vector",
       {"AddressRanges",      "Arguments",   "BadInput",   "BadValue",
        "DominatorTree",      "Edits",       "Error",      "FastqText",
        "Internal",           "Interrupted", "Json",       "NoDevice",
        "OutOfMemory",        "Parameters",  "ParseError", "Scale",
        "TemporaryDirectory", "Tensor",      "Triangle",   "Unsupported"}},
      {"of the thread that made them", {"DeviceScope", "OnDevice", "Ranks", "RunScope"}},
      {"parts of ConcurrentMap and GpuTable, and what kernels use",
       {"ConcurrentChains", "CpuLines", "DeviceLines", "DeviceTable", "LineMemory", "OneThreadsLines",
        "Split", "WordAccess"}},
  };
  std::set<std::string> known, found;
  for (const auto& [rule, names] : classes) known.insert(names.begin(), names.end());
  const std::regex definition(R"(^ *class (\w+).*\{)");
  const std::filesystem::path headers = std::filesystem::path(WARPLOOM_TESTS_DIR).parent_path() / "include";
  for (const auto& header : std::filesystem::recursive_directory_iterator(headers)) {
    std::ifstream in(header.path());
    for (std::string line; std::getline(in, line);)
      if (std::smatch match; std::regex_search(line, match, definition)) found.insert(match[1]);
  }
  EXPECT_EQ(found, known);
}

}  // namespace
}  // namespace warploom
