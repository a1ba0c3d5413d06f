// One problem on several GPUs: the same cells and decisions as on one. On a machine with a single GPU it is
// all of them; on each, a GPU that is named several times is as many.

#include "every_device.hpp"

namespace warploom::dp {
namespace {

/// Twice and four times the first, and, where there are several, all, in either order, and mixed.
std::vector<std::vector<Device>> groups() {
  const Device first = Device::gpu(0),
               last = Device::gpu(static_cast<int>(cuda_devices().devices.size()) - 1);
  std::vector<std::vector<Device>> all{{first, first}, {first, first, first, first}};
  if (last != first) all.insert(all.end(), {{first, last}, {last, first}, {first, last, first}});
  return all;
}

std::string text(const std::vector<Device>& devices) {
  std::string all;
  for (const Device device : devices) all += name(device) + " ";
  return all;
}

template <Value T>
void shared_equals_one(const Problem<T>& problem, Storage storage, int block) {
  const auto one = solve(problem, {.run = {.devices = {Device::cuda}},
                                   .decomposition = Decomposition::persistent,
                                   .block = block,
                                   .storage = storage});
  const Triangle<T> want = one.table();
  const std::vector<Split> trace = one.trace();
  for (const std::vector<Device>& devices : groups()) {
    SCOPED_TRACE(text(devices) + std::to_string(problem.points()) + " points, blocks of " +
                 std::to_string(block));
    const auto shared = solve(problem, {.run = {.devices = devices},
                                        .decomposition = Decomposition::persistent,
                                        .block = block,
                                        .storage = storage});
    EXPECT_EQ(shared.report().devices, static_cast<int>(devices.size()));
    EXPECT_EQ(shared.report().device, devices[0]);
    EXPECT_EQ(shared.report().storage, one.report().storage);
    EXPECT_EQ(shared.optimum(), one.optimum());
    EXPECT_EQ(first_difference(shared.table(), want), "");
    EXPECT_EQ(shared.trace(), trace);
  }
}

const Kind kPlain{.style = Style::two_sided};
const Kind kAll{true, true, true, true, Optimum::maximum, Style::two_sided};
const Kind kHoles{.weights = true, .cells = true, .pairing = true, .style = Style::unreachable};

template <class T>
class SharedGpus : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(SharedGpus, Types);

TYPED_TEST(SharedGpus, GiveTheCellsOfOne) {
  for (const int block : {32, 64})
    for (const std::int64_t points : {2, 64, 65, 700, 1'111})
      for (const Kind& kind : {kPlain, kAll, kHoles})
        shared_equals_one(random_problem<TypeParam>(kind, points, 21), Storage::plain, block);
}

TEST(SharedGpusNarrow, GiveTheCellsOfOne) {
  for (const std::int64_t points : {64, 130, 4'001})
    shared_equals_one(random_base_pairs<std::int32_t>(points - 1, 6), Storage::narrow, 64);
}

TEST(SharedGpusNarrow, AllAreToldWhereItDoesNotHold) {
  // One leaf whose neighbours' cells are far from its own.
  Problem<std::int32_t> problem = random_problem<std::int32_t>(kPlain, 1'000, 3);
  problem.leaves[700] = 200'000;
  for (const std::vector<Device>& devices : groups()) {
    const auto shared = solve(problem, {.run = {.devices = devices},
                                        .decomposition = Decomposition::persistent,
                                        .storage = Storage::narrow});
    EXPECT_NE(shared.report().fallback, "");
    EXPECT_EQ(first_difference(shared.table(), solve(problem, {.run = {.devices = {Device::cpu}}}).table()),
              "");
  }
}

TEST(SharedGpusOf, SmallProblemsAreTheFirsts) {
  const auto problem = random_problem<float>(kPlain, 200, 3);
  EXPECT_EQ(solve(problem, {.run = {.devices = groups()[0]}}).report().devices, 1);
}

TEST(SharedGpusOf, WhatIsNotSharedIsRefused) {
  std::vector<Problem<float>> problems(2, random_problem<float>(kPlain, 20, 3));
  const std::vector<Device> two = groups()[0];
  EXPECT_THAT(refusal([&] { solve_batch<float>(problems, {.run = {.devices = two}}); }),
              testing::HasSubstr("a batch of problems uses one device, not cuda:0,cuda:0"));
  EXPECT_THAT(refusal([&] {
                solve(problems[0], {.run = {.devices = two}, .decomposition = Decomposition::bottom_up});
              }),
              testing::HasSubstr("bottom-up uses one device"));
  EXPECT_THAT(refusal([&] { solve(problems[0], {.run = {.devices = std::vector(33, two[0])}}); }),
              testing::HasSubstr("32 devices share a problem at most, not 33"));
}

TEST(SharedGpusOf, AStopIsHeardByAll) {
  const auto problem = random_base_pairs<std::int32_t>(80'000, 6);  // two H200s: more than a second
  std::atomic<bool> stop = false;
  EXPECT_THROW(solve(problem, {.run = {.devices = groups().back(),
                                       .stop = &stop,
                                       .progress = [&](const ProgressState&) { stop = true; }}}),
               Interrupted);
}

}  // namespace
}  // namespace warploom::dp
