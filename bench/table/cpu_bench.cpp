// Question: how many operations a second does ConcurrentMap do, called one operation at a time by several
// threads ("call"), or given a batch ("batch")?
// Fixed: keys and values of 32 bits; the workload `half`: P pairs preloaded out of a universe of 2P keys, so
// that half of all updates succeed and half of the finds hit; batches follow one another and the table ages.
// Room is made for R pairs (--room) at first: 1.5 P unless said. With --grows 1 the map makes more by itself.
// Timed: from the first thread's start to the last one's end, or by the threads' own processor time, which a
// busy machine disturbs less; medians over rounds after one that is not counted. `--out FILE` writes the
// JSON. Every run is checked: values found are those inserted, and the pairs counted at the end are those
// preloaded plus insertions minus erasures.

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../json_records.hpp"
#include "warploom/core/file.hpp"
#include "warploom/count/workload.hpp"
#include "warploom/table/concurrent_map.hpp"

namespace {

using namespace warploom;
using namespace warploom::table;
using Key = std::uint32_t;
using Map = ConcurrentMap<Key, Key>;

struct Arguments {
  std::vector<std::uint64_t> preloads = {1 << 18, 1 << 20, 1 << 22};
  std::vector<std::uint64_t> threads = {1, 2};
  std::vector<Mix> mixes = {{33, 33}, {10, 10}, {0, 0}};
  std::uint64_t operations = 1 << 20, rounds = 9, room = 0;
  bool grows = false;
  std::string api = "both", out;
};

double seconds_now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Done {
  double start = 0, end = 0, cpu = 0;
  std::int64_t inserted = 0, erased = 0, found = 0, wrong = 0;
};

/// A thread's part of a batch, one call an operation.
Done call(Map& map, std::span<const Operation> operations, std::span<const Key> keys) {
  Done done;
  done.start = seconds_now(CLOCK_MONOTONIC);
  const double cpu = seconds_now(CLOCK_THREAD_CPUTIME_ID);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Key key = keys[i];
    if (operations[i] == Operation::find) {
      const Map::Result result = map.find(key);
      const bool found = result.outcome == Outcome::found;
      done.found += found;
      done.wrong += found & (result.value != key);
    } else if (operations[i] == Operation::insert) {
      done.inserted += map.insert(key, key).outcome == Outcome::inserted;
    } else {
      done.erased += map.erase(key);
    }
  }
  done.cpu = seconds_now(CLOCK_THREAD_CPUTIME_ID) - cpu;
  done.end = seconds_now(CLOCK_MONOTONIC);
  return done;
}

Done batch(Map& map, std::span<const Operation> operations, std::span<const Key> keys, unsigned threads) {
  std::vector<Outcome> outcomes(keys.size());
  std::vector<Key> values(keys.size());
  Done done;
  done.start = seconds_now(CLOCK_MONOTONIC);
  const double cpu = seconds_now(CLOCK_PROCESS_CPUTIME_ID);
  const BatchCounts counts = map.run(operations, keys, keys, outcomes, values, {.threads = threads});
  done.cpu = (seconds_now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / threads;
  done.end = seconds_now(CLOCK_MONOTONIC);
  done.inserted = static_cast<std::int64_t>(counts.tally.inserted);
  done.erased = static_cast<std::int64_t>(counts.tally.erased);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (outcomes[i] == Outcome::found) {
      done.found += operations[i] == Operation::find;
      done.wrong += values[i] != keys[i];
    }
  return done;
}

std::string measure(const Arguments& arguments, std::uint64_t preload, Mix mix, unsigned threads,
                    bool in_batches) {
  WorkloadOptions options;
  options.preload = preload;
  options.mix = mix;
  const Workload<Key> workload(options);
  const std::uint64_t count = arguments.operations,
                      room = arguments.room != 0 ? arguments.room : preload * 3 / 2;
  Map map(room, {.grows = arguments.grows});
  std::vector<Key> keys(preload);
  workload.preload(0, keys);
  const auto fill = [&] {
    map.clear();
    map.run(Operation::insert, keys, keys, {}, {}, {.threads = threads});
  };
  fill();
  const bool refill = mix.erase == 0 && mix.insert > 0;  // it would be full, and insertions would find
  std::vector<double> seconds, cpu;
  std::int64_t pairs = static_cast<std::int64_t>(preload), wrong = 0, found = 0;
  std::vector<Operation> operations(count);
  std::vector<Key> batch_keys(count);
  for (std::uint64_t round = 0; round <= arguments.rounds; ++round) {
    workload.operations(round * count, operations, batch_keys);
    if (refill && round > 0) {
      fill();
      pairs = static_cast<std::int64_t>(preload);
    }
    std::vector<Done> parts(in_batches ? 1 : threads);
    if (in_batches) {
      parts[0] = batch(map, operations, batch_keys, threads);
    } else {
      std::barrier start(static_cast<std::ptrdiff_t>(threads));
      std::vector<std::thread> team;
      for (unsigned t = 0; t < threads; ++t)
        team.emplace_back([&, t] {
          const std::uint64_t begin = count * t / threads, end = count * (t + 1) / threads;
          start.arrive_and_wait();
          parts[t] = call(map, std::span(operations).subspan(begin, end - begin),
                          std::span(batch_keys).subspan(begin, end - begin));
        });
      for (std::thread& thread : team) thread.join();
    }
    double first = parts[0].start, last = parts[0].end, mean_cpu = 0;
    for (const Done& part : parts) {
      first = std::min(first, part.start);
      last = std::max(last, part.end);
      mean_cpu += part.cpu / static_cast<double>(parts.size());
      pairs += part.inserted - part.erased;
      wrong += part.wrong;
      found += part.found;
    }
    if (round == 0) continue;
    seconds.push_back(last - first);
    cpu.push_back(mean_cpu);
  }
  const bool correct = wrong == 0 && static_cast<std::int64_t>(map.size()) == pairs;
  const double million = static_cast<double>(count) * 1e-6;
  return fmt::format(
      R"({{"api":"{}","preload":{},"room":{},"batch":{},"mix":"{},{},{}","threads":{},"rounds":{},"mops":{:.2f},)"
      R"("mops_cpu_time":{:.2f},"ms":{:.3f},"found":{},"size_after":{},"bytes":{},"correct":{}}})",
      in_batches ? "batch" : "call", preload, room, count, mix.insert, mix.erase, mix.find(), threads,
      arguments.rounds, million / median(seconds), million / median(cpu), median(seconds) * 1e3, found, pairs,
      map.bytes(), correct);
}

std::vector<std::uint64_t> numbers(std::string_view text) {
  std::vector<std::uint64_t> values;
  for (const char* at = text.data(); *at != '\0';) {
    char* end = nullptr;
    values.push_back(std::strtoull(at, &end, 10));
    at = *end == ',' ? end + 1 : text.data() + text.size();
  }
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i], text = argv[i + 1];
    const std::vector<std::uint64_t> values = numbers(text);
    if (name == "--preload") {
      arguments.preloads = values;
    } else if (name == "--threads") {
      arguments.threads = values;
    } else if (name == "--ops") {
      arguments.operations = values[0];
    } else if (name == "--rounds") {
      arguments.rounds = values[0];
    } else if (name == "--room") {
      arguments.room = values[0];
    } else if (name == "--grows") {
      arguments.grows = values[0] != 0;
    } else if (name == "--mix" && values.size() == 3) {
      arguments.mixes = {{static_cast<int>(values[0]), static_cast<int>(values[1])}};
    } else if (name == "--api") {
      arguments.api = text;
    } else if (name == "--out") {
      arguments.out = text;
    } else {
      std::fprintf(
          stderr,
          "usage: %s [--preload P,...] [--threads T,...] [--mix INSERT,ERASE,FIND] [--ops N] [--rounds N] "
          "[--room PAIRS] [--grows 0|1] [--api call|batch|both] [--out FILE]\n",
          argv[0]);
      return 2;
    }
  }
  JsonRecords records;
  records.list("table_cpu");
  bool correct = true;
  for (const std::uint64_t preload : arguments.preloads)
    for (const std::uint64_t threads : arguments.threads)
      for (const Mix mix : arguments.mixes)
        for (const bool in_batches : {false, true}) {
          if (arguments.api == (in_batches ? "call" : "batch")) continue;
          const std::string record =
              measure(arguments, preload, mix, static_cast<unsigned>(threads), in_batches);
          records.add(record);
          correct &= record.find("\"correct\":true") != record.npos;
        }
  if (!arguments.out.empty()) write_file_atomically(arguments.out, records.text());
  return correct ? 0 : 1;
}
