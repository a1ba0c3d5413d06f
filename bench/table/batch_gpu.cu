// Question: how many operations a second does the table do on a GPU, and how near is that to what the memory
// allows for the same accesses?
// Fixed: keys and values of 32 bits; P pairs preloaded out of a universe of 2P keys; each operation draws its
// key evenly from the universe, so that half of all updates succeed and half of the finds hit; batches follow
// one another, the table ages. Inputs and results lie in device memory.
// Timed: the kernel, between events; medians over batches after one that is not counted.
// `ceiling` has no table's logic: for each operation a key is read, a whole line at a random place by eight
// lanes, a result written and, in a part of them, one compare-and-swap done in the line.
// `bad hash`: operations in a kernel of the user's, a thread each, with a hash of the user's.
// Every run is checked: values found belong to their keys, and pairs counted in the lines are those preloaded
// plus insertions minus erasures.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../json_records.hpp"
#include "collisions.hpp"
#include "core/cuda/owners.hpp"
#include "table/batch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/count/workload.hpp"
#include "warploom/table/device_table.cuh"

namespace {

using namespace warploom;
using namespace warploom::table;

constexpr int kThreads = 256;
constexpr double kPairsPerLine = 8.25;

/// The index-th key of the universe. @param variance  0: that of Distribution::half; else normal draws of
/// mean 0.5, those outside [0, 1) drawn again, as fractions of 2^32
__device__ std::uint32_t key_of(std::uint32_t index, float variance) {
  if (variance == 0) return table::key_of<std::uint32_t>(index);
  for (std::uint64_t again = 0;; ++again) {
    const std::uint64_t draw = splitmix64(41, index + (again << 40));
    const double radius = sqrt(-2 * log((static_cast<double>(draw >> 32) + 1) / 4294967297.0));
    const double key = 0.5 + sqrt(static_cast<double>(variance)) * radius *
                                 cospi(2 * (static_cast<double>(draw & 0xFFFFFFFF) / 4294967296.0));
    if (key >= 0 && key < 1) return static_cast<std::uint32_t>(key * 4294967296.0);
  }
}

__global__ void make_batch(std::uint64_t count, std::uint64_t first, std::uint64_t universe, Mix mix,
                           float variance, Operation* operations, std::uint32_t* keys) {
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const std::uint64_t draw = splitmix64(2013, first + i);
    operations[i] = operation_of(draw, mix);
    keys[i] = key_of(static_cast<std::uint32_t>(half_index(draw, universe)), variance);
  }
}

__global__ void make_preload(std::uint64_t count, float variance, std::uint32_t* keys) {
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    keys[i] = key_of(static_cast<std::uint32_t>(i), variance);
}

/// Values are keys, so that what is found can be told to be right.
__global__ void count_wrong(std::uint64_t count, const std::uint32_t* keys, const Outcome* outcomes,
                            const std::uint32_t* values, unsigned long long* wrong) {
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x)
    if ((outcomes[i] == Outcome::found && values[i] != keys[i]) || outcomes[i] == Outcome::full ||
        outcomes[i] == Outcome::invalid)
      atomicAdd(wrong, 1ULL);
}

/// A hash of the user's in the place of Placement: bad ones, to be spread over the n tables of `spread`.
struct UserPlacer {
  Placement spread;
  /// How many hashes there are, the first so many buckets of each table: spread.buckets are a good hash. 0:
  /// the leading bits of the key, so that keys that are near each other are in the same chain.
  std::uint32_t hashes = 0;

  WARPLOOM_HOST_DEVICE std::uint32_t home(std::uint64_t key) const {
    const std::uint32_t bucket = hashes == 0 ? scaled(static_cast<std::uint32_t>(key), spread.buckets)
                                             : scaled(static_cast<std::uint32_t>(mix(key) >> 32), hashes);
    return spread.table(key) * spread.buckets + bucket;
  }
  std::uint64_t chains() const { return spread.chains(); }
};

/// @param operations  null: insertions
__global__ void users_batch(Word* lines, LinePool* pool, UserPlacer placer, std::uint64_t count,
                            const Operation* operations, const std::uint32_t* keys, Outcome* outcomes,
                            std::uint32_t* values, Counters* counters) {
  const DeviceTable<std::uint32_t, std::uint32_t, UserPlacer> table(DeviceLines(lines, pool), placer);
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const auto result =
        table.perform(operations != nullptr ? operations[i] : Operation::insert, keys[i], keys[i]);
    outcomes[i] = result.outcome;
    values[i] = result.value;
    if (result.outcome == Outcome::inserted) atomicAdd(&counters->inserted, 1ULL);
    if (result.outcome == Outcome::erased) atomicAdd(&counters->erased, 1ULL);
    if (result.outcome == Outcome::full) atomicAdd(&counters->full, 1ULL);
  }
}

__global__ void count_live(std::uint64_t lines, const Word* words, unsigned long long* live,
                           unsigned long long* claimed) {
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < lines;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    const Header header{words[i * kLineWords]};
    atomicAdd(live, static_cast<unsigned long long>(__popcll(header.live_slots())));
    atomicAdd(claimed, static_cast<unsigned long long>(__popcll(header.claimed_slots())));
  }
}

constexpr int kAhead = 8;

/// The accesses of a batch and nothing else: eight lanes read kAhead lines at once.
/// @param changes  per cent of the operations with a compare-and-swap
__global__ void bare(std::uint64_t count, std::uint32_t lines, Word* words, const std::uint32_t* keys,
                     std::uint32_t changes, Outcome* outcomes, std::uint32_t* values) {
  const std::uint64_t first = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 8 * kAhead;
  const auto within = static_cast<unsigned>(threadIdx.x % 8);
  TwoWords two[kAhead];
  Word* at[kAhead];
  const std::uint32_t own = first + within < count ? __ldcs(keys + first + within) : 0;
#pragma unroll
  for (int i = 0; i < kAhead; ++i) {
    const std::uint32_t key = __shfl_sync(0xFFFFFFFF, own, i, 8);
    at[i] = words + std::uint64_t{scaled(static_cast<std::uint32_t>(mix(key) >> 32), lines)} * kLineWords;
    two[i] = load_relaxed_two(at[i] + 2 * within);
  }
  unsigned hits = 0;
  std::uint32_t value = 0;
#pragma unroll
  for (int i = 0; i < kAhead; ++i) {
    const std::uint32_t key = __shfl_sync(0xFFFFFFFF, own, i, 8);
    hits |= static_cast<unsigned>(__any_sync(0xFFFFFFFF, two[i].first == key || two[i].second == key)) << i;
    if (within == 0 && first + i < count && key % 100 < changes)
      atomicCAS(reinterpret_cast<unsigned long long*>(at[i]), two[i].first, two[i].first + 1);
    const auto low = static_cast<std::uint32_t>(__shfl_sync(0xFFFFFFFF, two[i].second, 0, 8));
    if (within == i) value = low;
  }
  if (first + within < count) {
    outcomes[first + within] = static_cast<Outcome>((hits >> within) & 1);
    values[first + within] = value;
  }
}

double median_after_first(std::vector<double> values) {
  std::sort(values.begin() + 1, values.end());
  return values[1 + (values.size() - 1) / 2];
}

struct Run {
  std::uint64_t preload, batch;
  DeviceArray<Word> lines;
  std::uint64_t line_count;
  DeviceArray<LinePool> pool = make_device<LinePool>(1);
  DeviceArray<Counters> counters = make_device<Counters>(1);
  DeviceArray<unsigned long long> sums = make_device<unsigned long long>(3);
  DeviceArray<Operation> operations;
  DeviceArray<std::uint32_t> keys, values;
  DeviceArray<Outcome> outcomes;
  DeviceMemory memory;
  CudaStream stream = make_stream();
  std::vector<CudaEvent> events;
  int threads_per_block = 0;
  float variance = 0;
  std::optional<UserPlacer> placer;  ///< with it the batches are of users_batch

  /// @param pool_fraction  lines to be appended, per home line
  Run(std::uint64_t preload, std::uint64_t batch, double pool_fraction = 1. / 3)
      : preload(preload), batch(batch) {
    const auto home = static_cast<std::uint32_t>(static_cast<double>(preload) / kPairsPerLine) + 1;
    line_count = home + std::max<std::uint64_t>(static_cast<std::uint64_t>(pool_fraction * home), 1024);
    lines = make_device<Word>(line_count * kLineWords);
    const std::uint64_t most = std::max(preload, batch);
    operations = make_device<Operation>(most);
    keys = make_device<std::uint32_t>(most);
    values = make_device<std::uint32_t>(most);
    outcomes = make_device<Outcome>(most);
    memory.lines = lines.get();
    memory.pool = pool.get();
    memory.placement.buckets = home;
  }

  /// Seconds of work(round) for each round, all rounds enqueued at once, prepare(round) before each.
  std::vector<double> times(int rounds, auto&& prepare, auto&& work) {
    while (static_cast<int>(events.size()) < 2 * rounds) events.push_back(make_event());
    for (int round = 0; round < rounds; ++round) {
      prepare(round);
      cuda_check(cudaEventRecord(events[2 * round].get(), stream.get()), "cudaEventRecord");
      work(round);
      cuda_check(cudaEventRecord(events[2 * round + 1].get(), stream.get()), "cudaEventRecord");
    }
    cuda_check(cudaStreamSynchronize(stream.get()), "a batch");
    std::vector<double> seconds;
    for (int round = 0; round < rounds; ++round) {
      float milliseconds = 0;
      cuda_check(cudaEventElapsedTime(&milliseconds, events[2 * round].get(), events[2 * round + 1].get()),
                 "cudaEventElapsedTime");
      seconds.push_back(milliseconds / 1e3);
    }
    return seconds;
  }
  void launch(const BatchArguments& batch_of) {
    if (placer) {
      const auto blocks = static_cast<unsigned>((batch_of.count + kThreads - 1) / kThreads);
      users_batch<<<blocks, kThreads, 0, stream.get()>>>(memory.lines, memory.pool, *placer, batch_of.count,
                                                         batch_of.operations, keys.get(), outcomes.get(),
                                                         values.get(), batch_of.counters);
      cuda_check(cudaGetLastError(), "launching users_batch");
      return;
    }
    launch_batch<std::uint32_t, std::uint32_t>(memory, batch_of, threads_per_block, stream.get());
  }
  BatchArguments arguments(std::uint64_t count) {
    BatchArguments batch_of;
    batch_of.count = count;
    batch_of.keys = keys.get();
    batch_of.operands = keys.get();
    batch_of.outcomes = outcomes.get();
    batch_of.values = values.get();
    batch_of.counters = counters.get();
    return batch_of;
  }
  void clear() {
    cuda_check(cudaMemsetAsync(lines.get(), 0, line_count * kLineBytes, stream.get()), "cudaMemset");
    cuda_check(cudaMemsetAsync(counters.get(), 0, sizeof(Counters), stream.get()), "cudaMemset");
    LinePool fresh;
    fresh.next_fresh = static_cast<LineIndex>(memory.placement.chains());
    fresh.end = static_cast<LineIndex>(line_count);
    cuda_check(cudaMemcpyAsync(pool.get(), &fresh, sizeof fresh, cudaMemcpyHostToDevice, stream.get()),
               "cudaMemcpy");
    cuda_check(cudaStreamSynchronize(stream.get()), "clearing the table");
  }
  double load() {
    clear();
    make_preload<<<1024, kThreads, 0, stream.get()>>>(preload, variance, keys.get());
    BatchArguments all = arguments(preload);
    all.operation = Operation::insert;
    return times(
        1, [](int) {}, [&](int) { launch(all); })[0];
  }
  /// Median of the rounds after the first. @param alone  finds that know that they are alone
  double run(int rounds, std::uint64_t& first, Mix mix, bool alone) {
    BatchArguments mixed = arguments(batch);
    mixed.operations = alone ? nullptr : operations.get();
    mixed.alone = alone;
    return median_after_first(times(
        rounds + 1,
        [&](int) {
          make_batch<<<1024, kThreads, 0, stream.get()>>>(batch, first, 2 * preload, mix, variance,
                                                          operations.get(), keys.get());
          first += batch;
        },
        [&](int) { launch(mixed); }));
  }
  void check() {
    cuda_check(cudaMemsetAsync(sums.get(), 0, 3 * sizeof(unsigned long long), stream.get()), "cudaMemset");
    count_wrong<<<1024, kThreads, 0, stream.get()>>>(batch, keys.get(), outcomes.get(), values.get(),
                                                     sums.get());
    count_live<<<1024, kThreads, 0, stream.get()>>>(line_count, lines.get(), sums.get() + 1, sums.get() + 2);
    unsigned long long found[3];
    Counters counted;
    cuda_check(cudaMemcpyAsync(found, sums.get(), sizeof found, cudaMemcpyDeviceToHost, stream.get()),
               "cudaMemcpy");
    cuda_check(
        cudaMemcpyAsync(&counted, counters.get(), sizeof counted, cudaMemcpyDeviceToHost, stream.get()),
        "cudaMemcpy");
    cuda_check(cudaStreamSynchronize(stream.get()), "checking the table");
    if (found[0] != 0 || counted.full != 0 || found[2] != 0 ||
        found[1] != counted.inserted - counted.erased) {
      std::fprintf(stderr,
                   "WRONG: %llu outcomes, %llu full, %llu slots left claimed, %llu pairs for %llu inserted - "
                   "%llu erased\n",
                   found[0], counted.full, found[2], found[1], counted.inserted, counted.erased);
      std::exit(1);
    }
  }
  /// Those that are there at first
  std::vector<std::uint32_t> preloaded() {
    make_preload<<<1024, kThreads, 0, stream.get()>>>(preload, variance, keys.get());
    std::vector<std::uint32_t> result(preload);
    cuda_check(cudaMemcpyAsync(result.data(), keys.get(), preload * 4, cudaMemcpyDeviceToHost, stream.get()),
               "cudaMemcpy");
    cuda_check(cudaStreamSynchronize(stream.get()), "making keys");
    return result;
  }
  Counters counts() {
    Counters counted;
    cuda_check(cudaMemcpy(&counted, counters.get(), sizeof counted, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return counted;
  }
};

std::string record(const Run& run, const std::string& what, double seconds, double operations,
                   const std::string& more = "") {
  return "{\"what\": \"" + what + "\", \"preload\": " + std::to_string(run.preload) +
         ", \"batch\": " + std::to_string(run.batch) + ", \"ms\": " + json_number(seconds * 1e3) +
         ", \"giga_per_second\": " + json_number(operations / seconds / 1e9) + more + "}";
}

void measure(Run& run, int rounds, JsonRecords& records) {
  struct Named {
    const char* name;
    Mix mix;
    bool alone;
  };
  const double batch = static_cast<double>(run.batch);
  run.load();
  const double build = run.load();
  records.add(record(run, "build", build, static_cast<double>(run.preload),
                     ", \"retries\": " + std::to_string(run.counts().retries)));
  run.check();
  std::uint64_t at = 0;
  for (const Named& kind :
       {Named{"find alone", {0, 0}, true}, Named{"find", {0, 0}, false},
        Named{"mixed 33/33/34", {33, 33}, false}, Named{"mixed 10/10/80", {10, 10}, false}}) {
    const Counters before = run.counts();
    const double seconds = run.run(rounds, at, kind.mix, kind.alone);
    run.check();
    const Counters after = run.counts();
    const double updates =
        static_cast<double>(after.inserted + after.erased - before.inserted - before.erased);
    records.add(record(run, kind.name, seconds, batch,
                       ", \"updates\": " + json_number(updates / (rounds + 1) / batch) + ", \"retries\": " +
                           json_number(static_cast<double>(after.retries - before.retries) / (rounds + 1))));
  }
  for (const std::uint32_t changes : {0U, 67U, 20U, 100U}) {
    const double seconds = median_after_first(run.times(
        rounds + 1,
        [&](int) {
          make_batch<<<1024, kThreads, 0, run.stream.get()>>>(
              run.batch, at, 2 * run.preload, Mix{0, 0}, run.variance, run.operations.get(), run.keys.get());
          at += run.batch;
        },
        [&](int) {
          const auto blocks = static_cast<unsigned>(run.batch * 8 / kThreads / kAhead);
          bare<<<blocks, kThreads, 0, run.stream.get()>>>(run.batch, run.memory.placement.buckets,
                                                          run.lines.get(), run.keys.get(), changes,
                                                          run.outcomes.get(), run.values.get());
        }));
    records.add(record(run, "ceiling, " + std::to_string(changes) + " % changes", seconds, batch));
  }
}

std::vector<std::pair<int, int>> sizes{{18, 18}, {22, 22}, {26, 24}};  ///< powers of two: preload, batch

void batches(int rounds, int threads, JsonRecords& records) {
  for (const auto& [preload, batch] : sizes) {
    Run run(std::uint64_t{1} << preload, std::uint64_t{1} << batch);
    run.threads_per_block = threads;
    measure(run, rounds, records);
  }
}

/// Does the distribution of the keys matter, does a bad hash function, and what do n tables change?
/// PJW of four bytes has sums below 1.2 million, most of them near the middle.
void skew(int rounds, int, JsonRecords& records) {
  for (const Hash hash : {Hash::mix, Hash::pjw}) {
    for (const std::uint32_t tables : {1U, 16U, 256U}) {
      for (const float variance : {0.0F, 0.5F, 0.05F, 0.01F}) {
        Run run(1 << 22, 1 << 20);
        run.variance = variance;
        Placement& placement = run.memory.placement;
        placement.hash = hash;
        placement.tables = tables;
        placement.buckets /= tables;
        run.load();
        std::uint64_t at = 0;
        const double seconds = run.run(rounds, at, Mix{33, 33}, false);
        records.add(record(run, "mixed 33/33/34", seconds, static_cast<double>(run.batch),
                           ", \"hash\": \"" + std::string(name(hash)) + "\", \"tables\": " +
                               std::to_string(tables) + ", \"variance\": " + json_number(variance) +
                               ", \"full\": " + std::to_string(run.counts().full)));
      }
    }
  }
}

/// What do n tables of as many home lines in all change where a user's hash is bad?
void bad_hash(int rounds, int, JsonRecords& records) {
  struct Case {
    const char* name;
    std::uint32_t hashes;
    float variance;
  };
  constexpr std::uint32_t kGood = ~0U;
  for (const Case& one : {Case{"mix", kGood, 0},
                          {"mix", kGood, 0.01F},
                          {"256 values", 256, 0},
                          {"leading bits", 0, 0},
                          {"leading bits", 0, 0.01F}}) {
    for (const std::uint32_t tables : {1U, 10U, 50U, 100U}) {
      Run run(1 << 18, 1 << 18, 4);
      run.variance = one.variance;
      Placement& placement = run.memory.placement;
      placement.tables = tables;
      placement.buckets /= tables;
      run.placer = UserPlacer{placement, one.hashes == kGood ? placement.buckets : one.hashes};
      const std::string how =
          ", \"hash\": \"" + std::string(one.name) + "\", \"tables\": " + std::to_string(tables) +
          ", \"variance\": " + json_number(one.variance) + ", " + collisions(run.preloaded(), *run.placer);
      records.add(record(run, "build", run.load(), static_cast<double>(run.preload), how));
      run.check();
      std::uint64_t at = 0;
      for (const auto& [what, mix] :
           {std::pair{"find", Mix{0, 0}}, {"mixed 33/33/34", Mix{33, 33}}, {"mixed 10/10/80", Mix{10, 10}}}) {
        const double seconds = run.run(rounds, at, mix, false);
        run.check();
        records.add(record(run, what, seconds, static_cast<double>(run.batch), how));
      }
    }
  }
}

/// One key for a whole batch: how does the time grow with the batch?
void storm(int, int, JsonRecords& records) {
  for (const int bits : {14, 16, 18, 20, 22, 24}) {
    Run run(1 << 16, std::uint64_t{1} << bits);
    run.load();
    cuda_check(cudaMemset(run.keys.get(), 0x5A, run.batch * 4), "cudaMemset");
    std::vector<Operation> mixed(run.batch);
    for (std::uint64_t i = 0; i < run.batch; ++i)
      mixed[i] = i % 3 == 0 ? Operation::insert : i % 3 == 1 ? Operation::erase : Operation::find;
    cuda_check(cudaMemcpy(run.operations.get(), mixed.data(), run.batch, cudaMemcpyHostToDevice),
               "cudaMemcpy");
    BatchArguments batch = run.arguments(run.batch);
    batch.operations = run.operations.get();
    const auto seconds = [&] {
      return median_after_first(run.times(
          4, [](int) {}, [&](int) { run.launch(batch); }));
    };
    const double mixed_seconds = seconds();
    records.add(record(run, "one key, insert, erase and find", mixed_seconds, static_cast<double>(run.batch),
                       ", \"retries\": " + std::to_string(run.counts().retries / 4)));
    run.check();
    batch.operations = nullptr;
    for (const Operation operation :
         {Operation::find, Operation::insert, Operation::add, Operation::assign}) {
      batch.operation = operation;
      records.add(record(run, "one key, operation " + std::to_string(static_cast<int>(operation)), seconds(),
                         static_cast<double>(run.batch)));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string out, part;
  int rounds = 10, threads = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--benchmark_out=")) {
      out = argument.substr(16);
    } else if (argument.starts_with("--part=")) {
      part = argument.substr(7);
    } else if (int preload = 0, batch = 0;
               std::sscanf(argument.c_str(), "--sizes=%d/%d", &preload, &batch) == 2) {
      sizes = {{preload, batch}};
    } else if (argument.starts_with("--rounds=")) {
      rounds = std::atoi(argument.c_str() + 9);
    } else if (argument.starts_with("--threads-per-block=")) {
      threads = std::atoi(argument.c_str() + 20);
    } else if (!argument.starts_with("--benchmark")) {
      std::fprintf(
          stderr,
          "%s [--part=NAME] [--sizes=P/B] [--rounds=N] [--threads-per-block=N] [--benchmark_out=FILE]\n",
          argv[0]);
      return argument == "--help" ? 0 : 2;
    }
  }
  const std::pair<const char*, void (*)(int rounds, int threads, JsonRecords&)> parts[] = {
      {"batches", batches}, {"skew", skew}, {"bad hash", bad_hash}, {"one key", storm}};
  try {
    JsonRecords records;
    bool any = false;
    for (const auto& [name, measure_part] : parts) {
      if (!part.empty() && part != name) continue;
      any = true;
      records.list(name);
      measure_part(rounds, threads, records);
    }
    if (!any) throw BadInput("--part=" + part + ": it is batches, skew, bad hash or one key");
    if (!out.empty()) write_file_atomically(out, records.text());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
