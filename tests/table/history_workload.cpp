#include "table/history_workload.hpp"

#include <algorithm>
#include <cmath>

#include "oracle/random.hpp"

namespace warploom::table {
namespace {

using oracle::MapOperation;

/// choose(random, thread) gives each thread's next operation.
template <class Choose>
std::vector<std::vector<MapOperation>> scripts(int threads, int operations, std::uint32_t values,
                                               const Choose& choose) {
  std::vector<std::vector<MapOperation>> all(threads);
  for (int t = 0; t < threads; ++t) {
    Random random(static_cast<std::uint32_t>(t) + 1);
    for (int i = 0; i < operations; ++i) {
      MapOperation operation = choose(random, t);
      operation.operand = random.below(values);
      operation.thread = t;
      all[t].push_back(operation);
    }
  }
  return all;
}

MapOperation one_of(Random& random, std::initializer_list<Operation> operations, std::uint64_t key) {
  return {operations.begin()[random.below(static_cast<std::uint32_t>(operations.size()))], key};
}

}  // namespace

std::vector<Workload> adversarial_workloads(int threads, int operations, int crowd) {
  using enum Operation;
  constexpr std::uint32_t kFewValues = 3, kManyValues = 1000;
  // Where many threads meet at one key, keys are so many that a crowd is at each, in chains of their own.
  const auto groups = static_cast<std::uint32_t>((threads + crowd - 1) / crowd);
  const auto group = [&](int thread) { return static_cast<std::uint32_t>(thread) % groups; };
  std::vector<Workload> all;
  all.push_back({"storm of all operations on one key",
                 scripts(threads, operations, kFewValues,
                         [&](Random& random, int thread) -> MapOperation {
                           return {static_cast<Operation>(random.below(kOperations)), group(thread)};
                         }),
                 groups, std::max(1u, groups / 4), groups});
  // Lines of 14 and 7 slots, 12 keys a group; the pool is enough for all.
  all.push_back({"key inserted twice while another is erased",
                 scripts(threads, operations, kManyValues,
                         [&](Random& random, int thread) -> MapOperation {
                           const std::uint64_t first = 12 * std::uint64_t{group(thread)};
                           if (random.chance(60)) return one_of(random, {insert, insert, erase}, first);
                           return one_of(random, {insert, erase}, first + 1 + random.below(11));
                         }),
                 12 * groups, groups, 2 * groups});
  all.push_back({"pairs come and go with no slot to spare",
                 scripts(threads, operations, kManyValues,
                         [&](Random& random, int thread) {
                           return one_of(random, {insert, erase, find, assign, erase, add},
                                         20 * std::uint64_t{group(thread)} + random.below(20));
                         }),
                 20 * groups, groups, groups / 4 + 1});
  all.push_back({"additions to keys whose slots others take",
                 scripts(threads, operations, kFewValues,
                         [&](Random& random, int thread) {
                           const std::uint64_t key = 16 * std::uint64_t{group(thread)} + random.below(16);
                           if (thread % 4 == 0) return one_of(random, {insert, erase}, key);
                           return one_of(random, {add, min, max, assign, erase, erase}, key);
                         }),
                 16 * groups, groups, groups / 2 + 1});
  const std::uint32_t keys = 100 * groups;
  std::vector<double> sums{0};
  for (std::uint32_t i = 1; i <= keys; ++i) sums.push_back(sums.back() + std::pow(i, -0.99));
  all.push_back(
      {"mix of all operations on keys of Zipf's frequencies",
       scripts(threads, operations, kFewValues,
               [&](Random& random, int) -> MapOperation {
                 const double at = random.below(1'000'000) * 1e-6 * sums.back();
                 const auto key = std::upper_bound(sums.begin(), sums.end(), at) - sums.begin() - 1;
                 return {static_cast<Operation>(random.below(kOperations)), static_cast<std::uint64_t>(key)};
               }),
       keys, keys / 16 + 1, keys / 8 + 1});
  return all;
}

Workload growing_workload(int threads, int operations, std::uint32_t seed) {
  using enum Operation;
  constexpr std::uint32_t kKeys = 120;
  return {"insertions into a map that grows",
          scripts(threads, operations, 3,
                  [&](Random& random, int thread) {
                    const std::uint64_t key = (random.below(kKeys) + seed + thread) % kKeys;
                    return one_of(random, {insert, assign, insert, add, insert, find, erase}, key);
                  }),
          kKeys, 1, 0};
}

std::int64_t balance(const std::vector<MapOperation>& history) {
  std::int64_t pairs = 0;
  for (const MapOperation& operation : history)
    pairs += (operation.outcome == Outcome::inserted) - (operation.outcome == Outcome::erased);
  return pairs;
}

}  // namespace warploom::table
