// Question: what does ConcurrentMap take that was not made large enough for what is inserted?
// Fixed: keys and values of 64 bits, all keys distinct; the threads share the insertions evenly. Between
// insertions each thread finds or erases keys of its own past, in the parts of a hundred that --mix says.
// Timed: from the threads' common start to their end by the wall, and the process' own time, an insertion;
// --latency 1: the longest insertion, without those during which the system took the processor away, which
// are counted. --room 1 makes room for all first. Resident memory at the end and at most is the process'.
// Checked: every insertion says inserted, and what is there at the end is what was inserted less what was
// erased. `--out FILE` writes the JSON.

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../json_records.hpp"
#include "warploom/core/file.hpp"
#include "warploom/table/concurrent_map.hpp"

namespace {

using namespace warploom;
using namespace warploom::table;
using Word = std::uint64_t;
using Map = ConcurrentMap<Word, Word>;

struct Arguments {
  std::uint64_t insertions = 1'000'000;
  unsigned threads = 1, insert = 100, find = 0;  // of a hundred; the rest are erasures
  bool latency = false, room = false;
  std::string out;
};

double seconds_now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// SplitMix64's finaliser: a bijection, so that numbered keys are distinct.
Word key_of(Word number) {
  number += 0x9E3779B97F4A7C15;
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EB;
  return number ^ (number >> 31);
}

long involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

struct Done {
  std::uint64_t inserted = 0, found = 0, erased = 0;
  double longest = 0;     // [s]
  std::uint64_t cut = 0;  // insertions during which the processor was taken away
};

/// Thread t of T inserts the keys t, t + T, t + 2 T ...
Done part(Map& map, const Arguments& a, unsigned t) {
  Done done;
  const std::uint64_t total = a.insertions / a.threads;
  std::uint64_t count = 0, state = t * 77 + 1;
  while (count < total) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const auto kind = static_cast<unsigned>((state >> 33) % 100);
    const auto own = [&](std::uint64_t range) { return key_of(t + a.threads * ((state >> 20) % range)); };
    if (kind < a.insert) {
      const Word key = key_of(t + a.threads * count++);
      const long before = a.latency ? involuntary_switches() : 0;
      const double start = a.latency ? seconds_now(CLOCK_MONOTONIC) : 0;
      done.inserted += map.insert(key, key).outcome == Outcome::inserted;
      if (!a.latency) continue;
      const double taken = seconds_now(CLOCK_MONOTONIC) - start;
      if (involuntary_switches() != before)
        ++done.cut;
      else
        done.longest = std::max(done.longest, taken);
    } else if (kind < a.insert + a.find) {
      done.found += map.contains(own(2 * count + 1));
    } else {
      done.erased += map.erase(own(count + 1));
    }
  }
  return done;
}

/// A line of /proc/self/status [MB].
double resident(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return std::strtod(line.c_str() + name.size(), nullptr) / 1024;
  return 0;
}

std::string measure(const Arguments& a, bool& correct) {
  Map map(a.room ? a.insertions : 65'536);
  std::vector<Done> parts(a.threads);
  std::barrier start(static_cast<std::ptrdiff_t>(a.threads) + 1);
  std::vector<std::thread> team;
  for (unsigned t = 0; t < a.threads; ++t)
    team.emplace_back([&, t] {
      start.arrive_and_wait();
      parts[t] = part(map, a, t);
    });
  const double cpu_before = seconds_now(CLOCK_PROCESS_CPUTIME_ID);
  start.arrive_and_wait();
  const double wall_before = seconds_now(CLOCK_MONOTONIC);
  for (std::thread& thread : team) thread.join();
  const double wall = seconds_now(CLOCK_MONOTONIC) - wall_before,
               cpu = seconds_now(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
  Done all;
  for (const Done& done : parts) {
    all.inserted += done.inserted;
    all.erased += done.erased;
    all.longest = std::max(all.longest, done.longest);
    all.cut += done.cut;
  }
  correct = all.inserted == a.insertions / a.threads * a.threads && map.size() == all.inserted - all.erased;
  std::string record = fmt::format(
      R"({{"map":"ConcurrentMap","insertions":{},"threads":{},"mix":[{},{},{}],"room_for_all":{},)"
      R"("seconds":{:.3f},"core_ns_an_insertion":{:.1f},"held_MB":{:.0f},"peak_MB":{:.0f},)",
      a.insertions, a.threads, a.insert, a.find, 100 - a.insert - a.find, a.room, wall,
      cpu * 1e9 / static_cast<double>(a.insertions), resident("VmRSS:"), resident("VmHWM:"));
  if (a.latency)
    record +=
        fmt::format(R"("longest_insertion_ms":{:.3f},"cut_insertions":{},)", all.longest * 1e3, all.cut);
  return record + fmt::format(R"("correct":{}}})", correct);
}

bool parse(int argc, char** argv, Arguments& a) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return false;
    const std::string_view name = argv[i];
    char* end = nullptr;
    const double number = std::strtod(argv[i + 1], &end);
    if (name == "--insertions")
      a.insertions = static_cast<std::uint64_t>(number);
    else if (name == "--threads")
      a.threads = static_cast<unsigned>(number);
    else if (name == "--mix" && *end == ',')
      a.insert = static_cast<unsigned>(number), a.find = static_cast<unsigned>(std::atoi(end + 1));
    else if (name == "--latency")
      a.latency = number != 0;
    else if (name == "--room")
      a.room = number != 0;
    else if (name == "--out")
      a.out = argv[i + 1];
    else
      return false;
  }
  return a.threads >= 1 && a.insertions >= a.threads && a.insert >= 1 && a.insert + a.find <= 100;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, arguments)) {
    std::fprintf(stderr,
                 "usage: %s [--insertions N] [--threads T] [--mix INSERT,FIND of a hundred; the rest erase] "
                 "[--latency 0|1] [--room 0|1] [--out FILE]\n",
                 argv[0]);
    return 2;
  }
  bool correct = false;
  JsonRecords records;
  records.list("table_growth");
  records.add(measure(arguments, correct));
  if (!arguments.out.empty()) write_file_atomically(arguments.out, records.text());
  return correct ? 0 : 1;
}
