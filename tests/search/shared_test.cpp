// Several devices that search together, here all on the CPU: what they find is what one finds, to the last
// bit, wherever the work is cut.

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "search/index_checks.hpp"
#include "search/lists_of_windows.hpp"
#include "search/signals.hpp"
#include "warploom/core/error.hpp"
#include "warploom/search/recordings.hpp"

namespace warploom::search {
namespace {

IndexOptions on_cpus(std::size_t count, Prune prune = Prune::automatic) {
  IndexOptions options = on_cpu(Normalization::z, prune);
  options.run.devices.assign(count, Device::cpu);
  return options;
}

/// Samples of a period of 40, on which zones of candidates lie close to each other everywhere, and a gap.
std::vector<float> gait(std::size_t samples, std::uint32_t seed) {
  std::vector<float> all = random_walk(samples, seed);
  for (std::size_t i = 0; i < samples; ++i)
    all[i] = .1F * all[i] + std::sin(static_cast<float>(i) * 6.2831853F / 40);
  for (std::size_t i = samples / 3; i < samples / 3 + 5; ++i) all[i] = kNaN;
  return all;
}

template <class SomePattern, class SomeTask>
void expect_same(const Signal& signal, const std::vector<SomePattern>& patterns,
                 const std::vector<SomeTask>& tasks) {
  for (const Prune prune : {Prune::never, Prune::automatic, Prune::always}) {
    Index one(signal, on_cpus(1, prune));
    const std::vector<std::vector<Candidate>> want = one.best(patterns, tasks);
    for (const std::size_t devices : {2, 3, 7}) {
      Index several(signal, on_cpus(devices, prune));
      EXPECT_EQ(several.best(patterns, tasks), want) << devices << " devices";
      EXPECT_EQ(several.effort().windows, one.effort().windows);
      EXPECT_EQ(several.effort().skipped, one.effort().skipped);
    }
  }
}

TEST(SharedSearch, CutsATaskWithoutATrace) {
  const std::vector<float> walk = gait(6000, 1);
  const std::vector<Pattern> patterns{{.samples = part(walk, 500, 40), .radius = 4}};
  for (const std::int64_t limit : {1, 20, 149, 1000})
    for (const std::int64_t exclusion : {0, 20, 39, 45, 3000})
      expect_same({walk}, patterns, std::vector<Task>{{.limit = limit, .exclusion = exclusion}});
  expect_same({walk}, patterns, std::vector<Task>{{.limit = 50, .exclusion = 20, .max_distance = .2F}});
}

TEST(SharedSearch, DealsOutTasksAndCutsSome) {
  const std::vector<float> a = gait(3000, 2), b = random_walk(3000, 3), c = gait(3000, 4);
  const std::vector<Pattern> patterns{{.samples = part(a, 200, 40), .radius = 4},
                                      {.samples = part(a, 200, 60), .radius = 6, .lead = 10},
                                      {.samples = part(b, 900, 33), .radius = 3, .lead = -15},
                                      {.samples = random_walk(2900, 5), .radius = 1}};
  std::vector<Task> tasks;
  for (const std::int32_t channel : {0, 1, 2})
    for (const std::int32_t pattern : {0, 1, 2, 3})
      tasks.push_back({.channel = channel, .first_pattern = pattern, .limit = 30, .exclusion = 20});
  tasks.push_back({.channel = 0, .first_pattern = 0, .patterns = 4, .limit = 100, .exclusion = 10});
  tasks.push_back({.channel = 2, .limit = 9, .exclusion = 20, .first = 700, .last = 1100});
  tasks.push_back({.channel = 2, .limit = 9, .exclusion = 20, .first = 5000});
  expect_same({a, b, c}, patterns, tasks);
}

TEST(SharedSearch, OfSeveralChannelsAtOneOffset) {
  const std::vector<float> a = gait(3000, 6), b = gait(3000, 7);
  const std::vector<JointPattern> patterns{
      {.samples = {part(a, 200, 40), part(b, 200, 40)}, .channels = {0, 1}, .radius = 4},
      {.samples = {part(a, 200, 50), part(b, 200, 50)}, .channels = {1, 0}, .radius = 4}};
  expect_same(
      {a, b}, patterns,
      std::vector<JointTask>{{.patterns = 2, .limit = 40, .exclusion = 20}, {.limit = 3, .exclusion = 20}});
  Index one({a, b}, on_cpus(1)), three({a, b}, on_cpus(3));
  EXPECT_EQ(three.profile(patterns[0], 17, 2000), one.profile(patterns[0], 17, 2000));
}

TEST(SharedSearch, DistancesAreThoseOfOne) {
  const ListsOfWindows asked;
  Index whole(asked.signal(), on_cpus(1)), several(asked.signal(), on_cpus(3));
  asked.expect_of_each(several.distances(asked.patterns, asked.lists), whole);
  const std::int64_t count = whole.samples() - std::ssize(asked.patterns[0].samples) + 1;
  EXPECT_EQ(several.profile(asked.patterns[0], 0, 0, count), whole.profile(asked.patterns[0], 0, 0, count));
  EXPECT_TRUE(several.distances(std::span<const Pattern>{}, {}).empty());
}

TEST(SharedSearch, CanBeInterrupted) {
  const std::vector<float> walk = random_walk(20'000, 8);
  const std::vector<Pattern> patterns{{.samples = part(walk, 500, 400), .radius = 40}};
  Index index({walk}, on_cpus(3));
  const std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(index.best(patterns, std::vector<Task>{{}}), Interrupted);
}

TEST(SharedSearch, AWholeRecordingIsSearchedAlike) {
  io::Recording recording;
  recording.timed = true;
  for (std::uint32_t c = 0; c < 3; ++c)
    recording.channels.push_back(
        {std::string(1, static_cast<char>('x' + c)), "", 50, random_walk(3000, c + 11)});
  for (io::Channel& channel : recording.channels)
    std::ranges::copy(part(channel.samples, 500, 60), channel.samples.begin() + 1520);
  const std::vector<RecordedQuery> step{query_of_range(recording, "day.csv", "step", 10, 11.2)};
  for (const MatchBy match : {MatchBy::free, MatchBy::in_place, MatchBy::automatic}) {
    SearchOptions options;
    options.match = match;
    options.find.segments = match == MatchBy::free ? 2 : 1;
    options.run.devices = {Device::cpu};
    const SearchResult want = search_recording(recording, "other.csv", step, options);
    options.run.devices = {Device::cpu, Device::cpu};
    const SearchResult found = search_recording(recording, "other.csv", step, options);
    ASSERT_EQ(found.hits.size(), want.hits.size());
    ASSERT_GE(found.hits.size(), 2U);
    for (std::size_t k = 0; k < found.hits.size(); ++k) {
      EXPECT_EQ(found.hits[k].match.distance, want.hits[k].match.distance);
      EXPECT_EQ(found.hits[k].match.boundaries(), want.hits[k].match.boundaries());
      EXPECT_EQ(found.hits[k].match.pairs.size(), want.hits[k].match.pairs.size());
    }
  }
}

}  // namespace
}  // namespace warploom::search
