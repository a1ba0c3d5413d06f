// gpu_bench_dp_engine: how fast is the dynamic programming engine on a GPU, and what does each choice cost?
//
// Questions, a part each (a list of records in the JSON); n is the number of points, so that blocks divide
// it:
//   sizes            every type, storage and kind of term over n, in both of our decompositions
//   small            problems that do not fill the device, with weights and without, by block size
//   largest          100,000 points, and the refusal of more than the device's memory holds
//   decompositions   all four over n and the block size, one launch for each diagonal or square
//   table1           the dissertation's Table 1: blocks of 256, one launch for each call; calls and time by
//                    kind
//   table3           its Table 3: what divide and conquer loses, split into computing sub-triangles again and
//                    balance
//   blocks           its Figures 13 and 14: time by block size, bottom-up
//   phases           its Figure 15: shares of rectangular and triangular parts and transfers
//   cpu              its Figure 16: speed-up over one CPU thread, that of plain loops and ours
//   multiprocessors  its Figure 18: a quarter, a half, three quarters and all of them
//   triangular       its two options for the triangular part, and ours
//   batch            a thousand problems of 200 leaves
// Figure 17 is `gflops` of every record: two operations a pair, an addition and a minimum.
//
// Fixed: random inputs of a fixed seed, by the type and n alone. Timed: `kernel_ms` between two events on the
// device, `transfer_ms` input and optimum, `wall_ms` the whole call of solve(); medians of several runs after
// one that is not counted. Optima of one input are compared whatever the choices; a difference ends the
// program.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/random.hpp"
#include "plain_loops.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"
#include "warploom/dp/solve.hpp"

namespace warploom::dp {
namespace {

using Json = nlohmann::ordered_json;

struct Settings {
  std::vector<std::string> parts;  // empty: all
  int rounds = 5;
  std::int64_t largest = 32'768;
  double longest = 3;  // a solution that is expected to take longer is left out [s]
  std::string json;
};

/// One measured solution, or batch.
struct Sample {
  double kernel = 0, transfer = 0, wall = 0, rectangular = 0, triangular = 0;  // [s]
};

double median(const std::vector<Sample>& samples, double Sample::*what) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample.*what);
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

template <Value T>
std::vector<T> uniform(Random& random, std::int64_t count, std::uint32_t below) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = T(random.below(below));
  return values;
}

template <Value T>
Problem<T> costs(std::int64_t points, bool factors, bool negative) {
  Random random(static_cast<std::uint32_t>(points));
  Problem<T> problem;
  problem.leaves = uniform<T>(random, points - 1, 100);
  problem.row_weight = uniform<T>(random, points, 100);
  problem.column_weight = uniform<T>(random, points, 100);
  if (factors) problem.factors = uniform<T>(random, points, 20);
  if (negative)
    for (T& leaf : problem.leaves) leaf -= T(50);
  return problem;
}

/// Nothing but leaves.
template <Value T>
Problem<T> unweighted(std::int64_t points) {
  Random random(static_cast<std::uint32_t>(points));
  Problem<T> problem;
  problem.leaves = uniform<T>(random, points - 1, 20);
  return problem;
}

/// Watson-Crick and wobble pairs of a random sequence, no loop below 3 letters: the most pairs.
template <Value T>
Problem<T> base_pairs(std::int64_t points, std::uint32_t seed) {
  constexpr T kNone = -kUnreachable<T>;
  Random random(seed);
  Problem<T> problem;
  problem.optimum = Optimum::maximum;
  problem.leaves.assign(static_cast<std::size_t>(points - 1), T(0));
  problem.pairing = Pairing<T>{.codes = {},
                               .letters = 4,                                               // A C G U
                               .scores = {kNone, kNone, kNone, 1, kNone, kNone, 1, kNone,  //
                                          kNone, 1, kNone, 1, 1, kNone, 1, kNone},
                               .minimum_span = 5};
  for (std::int64_t k = 0; k + 1 < points; ++k)
    problem.pairing->codes.push_back(static_cast<std::uint8_t>(random.below(4)));
  return problem;
}

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings) {
    const CudaDevice& device = cuda_devices().devices.at(0);
    multiprocessors_ = device.multiprocessors;
    memory_ = device.memory;
    report_["device"] = {{"name", device.name}, {"multiprocessors", device.multiprocessors}};
  }

  Json run() {
    part("sizes", [this] { sizes(); });
    part("small", [this] { small(); });
    part("largest", [this] { largest(); });
    part("decompositions", [this] { decompositions(); });
    part("table1", [this] { table1(); });
    part("table3", [this] { table3(); });
    part("blocks", [this] { blocks(); });
    part("phases", [this] { phases(); });
    part("cpu", [this] { cpu(); });
    part("multiprocessors", [this] { multiprocessors(); });
    part("triangular", [this] { triangular(); });
    part("batch", [this] { batch(); });
    return report_;
  }

 private:
  static Options options(Decomposition decomposition, int block = 0, Storage storage = Storage::plain) {
    Options result;
    result.run.devices = {Device::cuda};
    result.decomposition = decomposition;
    result.block = block;
    result.storage = storage;
    return result;
  }

  template <class Body>
  void part(const std::string& name, const Body& body) {
    if (!settings_.parts.empty() && std::ranges::find(settings_.parts, name) == settings_.parts.end()) return;
    part_ = name;
    report_[name] = Json::array();
    body();
  }

  void add(const Json& record) {
    report_[part_].push_back(record);
    std::printf("%s %s\n", part_.c_str(), record.dump().c_str());
    std::fflush(stdout);
  }

  std::vector<std::int64_t> powers(std::int64_t from, std::int64_t to) const {
    std::vector<std::int64_t> result;
    for (std::int64_t n = from; n <= std::min(to, settings_.largest); n *= 2) result.push_back(n);
    return result;
  }

  /// Several runs of one choice. @return the record, null where it would take too long
  template <Value T>
  Json measure(const std::string& input, std::span<const Problem<T>> problems, const Options& options) {
    const std::int64_t n = problems.front().points();
    const std::string choice =
        input + " " + std::string(name(options.decomposition)) + " " + std::string(name(options.triangular)) +
        " " + std::to_string(options.block) + " " + std::to_string(options.multiprocessors) +
        (options.separate_calls ? " separate" : "") + name(options.run.devices.front());
    if (const auto before = seconds_.find(choice); before != seconds_.end()) {
      const double ratio = double(n) / double(before->second.first);
      if (before->second.second * ratio * ratio * ratio > settings_.longest) return nullptr;
    }
    Report report;
    const auto sample = [&] {
      const auto begin = std::chrono::steady_clock::now();
      const std::vector<Solution<T>> solutions = solve_batch<T>(problems, options);
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
      compare(input + " " + std::to_string(n), solutions);
      report = solutions.front().report();
      return Sample{report.seconds, report.transfer_seconds, wall.count(), report.rectangular_seconds,
                    report.triangular_seconds};
    };
    const Sample first = sample();
    std::vector<Sample> samples;
    if (first.wall > 0.5) {
      samples = {first};
    } else {
      const int rounds = first.wall > 0.05 ? std::min(3, settings_.rounds) : settings_.rounds;
      for (int k = 0; k < rounds; ++k) samples.push_back(sample());
    }
    const double kernel = median(samples, &Sample::kernel);
    seconds_[choice] = {n, kernel};
    double pairs = 0;
    for (const Problem<T>& problem : problems) {
      const double leaves = double(problem.leaves.size());
      pairs += (leaves + 1) * leaves * (leaves - 1) / 6;
    }
    Json record{{"input", input},
                {"n", n},
                {"storage", report.storage},
                {"decomposition", name(report.decomposition)},
                {"block", report.block},
                {"runs", samples.size()},
                {"kernel_ms", kernel * 1e3},
                {"transfer_ms", median(samples, &Sample::transfer) * 1e3},
                {"wall_ms", median(samples, &Sample::wall) * 1e3},
                {"launches", report.launches},
                {"triangular_calls", report.calls.triangular},
                {"rectangular_calls", report.calls.rectangular},
                {"tpairs_per_s", pairs / kernel * 1e-12},
                {"gflops", 2 * pairs / kernel * 1e-9}};
    if (!report.fallback.empty()) record["fallback"] = report.fallback;
    if (options.phases) {
      record["rectangular_ms"] = median(samples, &Sample::rectangular) * 1e3;
      record["triangular_ms"] = median(samples, &Sample::triangular) * 1e3;
    }
    return record;
  }
  template <Value T>
  Json measure(const std::string& input, const Problem<T>& problem, const Options& options) {
    return measure(input, std::span(&problem, 1), options);
  }

  /// @throws Internal where the input had another optimum before
  template <Value T>
  void compare(const std::string& input, const std::vector<Solution<T>>& solutions) {
    double sum = 0;
    for (const Solution<T>& solution : solutions) sum += double(solution.optimum());
    compare(input, sum);
  }
  void compare(const std::string& input, double sum) {
    const auto [known, is_new] = optima_.try_emplace(input, sum);
    if (!is_new && known->second != sum)
      throw Internal(input + ": the optimum is " + std::to_string(sum) + " and was " +
                     std::to_string(known->second));
  }

  void add_measured(Json record, const Json& more = Json::object()) {
    if (record.is_null()) return;
    record.update(more);
    add(record);
  }

  void sizes() {
    const auto each = [this](const std::string& input, const auto& problem_over, Storage storage) {
      for (const std::int64_t n : powers(256, settings_.largest)) {
        const auto problem = problem_over(n);
        for (const Decomposition decomposition : {Decomposition::persistent, Decomposition::bottom_up})
          add_measured(measure(input, problem, options(decomposition, 0, storage)));
      }
    };
    const auto pairs = [](std::int64_t n) {
      return base_pairs<std::int32_t>(n, static_cast<std::uint32_t>(n));
    };
    each("base pairs, int16", pairs, Storage::narrow);
    each("base pairs, int32", pairs, Storage::plain);
    each(
        "int32", [](std::int64_t n) { return costs<std::int32_t>(n, false, false); }, Storage::plain);
    each(
        "int32, factors", [](std::int64_t n) { return costs<std::int32_t>(n, true, false); }, Storage::plain);
    each(
        "float32, not negative", [](std::int64_t n) { return costs<float>(n, false, false); },
        Storage::plain);
    each(
        "float32, factors", [](std::int64_t n) { return costs<float>(n, true, false); }, Storage::plain);
    each(
        "float32", [](std::int64_t n) { return costs<float>(n, false, true); }, Storage::plain);
    each(
        "int64", [](std::int64_t n) { return costs<std::int64_t>(n, false, true); }, Storage::plain);
    each(
        "float64", [](std::int64_t n) { return costs<double>(n, false, true); }, Storage::plain);
  }

  void small() {
    const auto each = [this](const std::string& input, const auto& problem_over, Storage storage) {
      for (const std::int64_t n : powers(256, 8192)) {
        const auto problem = problem_over(n);
        for (const Decomposition decomposition : {Decomposition::persistent, Decomposition::bottom_up})
          for (const int block : {32, 64, 128}) {
            if (storage == Storage::narrow && block < 64) continue;
            if (decomposition == Decomposition::persistent && block > 64) continue;
            add_measured(measure(input, problem, options(decomposition, block, storage)));
          }
      }
    };
    const auto pairs = [](std::int64_t n) {
      return base_pairs<std::int32_t>(n, static_cast<std::uint32_t>(n));
    };
    each("small, int32, unweighted", unweighted<std::int32_t>, Storage::plain);
    each(
        "small, int32", [](std::int64_t n) { return costs<std::int32_t>(n, false, false); }, Storage::plain);
    each("small, base pairs, int32", pairs, Storage::plain);
    each("small, int16, unweighted", unweighted<std::int32_t>, Storage::narrow);
    each("small, base pairs, int16", pairs, Storage::narrow);
    each("small, float32, unweighted", unweighted<float>, Storage::plain);
    each(
        "small, float32", [](std::int64_t n) { return costs<float>(n, false, false); }, Storage::plain);
  }

  void largest() {
    const auto attempt = [this](const std::string& input, std::int64_t points, Decomposition decomposition,
                                Storage storage) {
      try {
        add_measured(measure(input, base_pairs<std::int32_t>(points, 1), options(decomposition, 0, storage)));
        return true;
      } catch (const OutOfMemory& refusal) {
        add({{"input", input}, {"n", points}, {"refused", refusal.what()}});
        return false;
      }
    };
    constexpr std::int64_t kPoints = 100'000;
    for (const Decomposition decomposition : {Decomposition::persistent, Decomposition::bottom_up}) {
      attempt("largest, base pairs, int16", kPoints, decomposition, Storage::narrow);
      attempt("largest, base pairs, int32", kPoints, decomposition, Storage::plain);
    }
    const double cells = double(memory_) / sizeof(std::int32_t);
    const auto too_many = static_cast<std::int64_t>(std::sqrt(2 * cells) * 1.02);
    if (attempt("too large, base pairs, int32", too_many, Decomposition::persistent, Storage::plain))
      throw Internal("a problem that the device's memory does not hold was solved there");
  }

  // As the dissertation, all that follows is of float32.
  static constexpr const char* kFloat = "float32, not negative";
  static Problem<float> floats(std::int64_t n) { return costs<float>(n, false, false); }
  static constexpr Decomposition kInCalls[] = {Decomposition::bottom_up, Decomposition::divide_and_conquer,
                                               Decomposition::printed};

  void decompositions() {
    for (const std::int64_t n : powers(1024, 16'384)) {
      const Problem<float> problem = floats(n);
      for (const int block : {32, 64})
        add_measured(measure(kFloat, problem, options(Decomposition::persistent, block)));
      for (const Decomposition decomposition : kInCalls)
        for (const int block : {64, 128, 256, 512})
          add_measured(measure(kFloat, problem, options(decomposition, block)));
    }
  }

  void table1() {
    for (const std::int64_t n : powers(1024, 8192)) {
      const Problem<float> problem = floats(n);
      for (const Triangular method : {Triangular::direct, Triangular::blocked})
        for (const Decomposition decomposition : kInCalls) {
          Options with = options(decomposition, 256);
          with.separate_calls = with.phases = true;
          with.triangular = method;
          add_measured(measure(kFloat, problem, with), {{"triangular", name(method)}});
        }
    }
  }

  void table3() {
    for (const std::int64_t n : powers(1024, 8192)) {
      const Problem<float> problem = floats(n);
      for (const Triangular method : {Triangular::direct, Triangular::blocked})
        for (const int block : {64, 256}) {
          double ms[3] = {};
          for (int k = 0; k < 3; ++k) {
            Options with = options(kInCalls[k], block);
            with.triangular = method;
            const Json record = measure(kFloat, problem, with);
            if (!record.is_null()) ms[k] = record["kernel_ms"];
          }
          if (ms[0] == 0 || ms[1] == 0 || ms[2] == 0) continue;
          add({{"n", n},
               {"block", block},
               {"triangular", name(method)},
               {"bottom_up_ms", ms[0]},
               {"divide_and_conquer_ms", ms[1]},
               {"printed_ms", ms[2]},
               {"speedup", ms[2] / ms[0]},
               {"from_redundancy", ms[2] / ms[1]},
               {"from_load_balance", ms[1] / ms[0]}});
        }
    }
  }

  void blocks() {
    for (const std::int64_t n : powers(256, 16'384)) {
      const Problem<float> problem = floats(n);
      for (const Triangular method : {Triangular::blocked, Triangular::direct})
        for (const int block : {16, 32, 64, 128, 256, 512}) {
          Options with = options(Decomposition::bottom_up, block);
          with.triangular = method;
          add_measured(measure(kFloat, problem, with), {{"triangular", name(method)}});
        }
    }
  }

  void phases() {
    for (const std::int64_t n : powers(256, 16'384)) {
      Options with = options(Decomposition::bottom_up, 64);
      with.phases = true;
      add_measured(measure(kFloat, floats(n), with));
    }
  }

  void cpu() {
    const std::string input = "float32, unweighted";
    Options one_thread;
    one_thread.run = {.devices = {Device::cpu}, .threads = 1};
    one_thread.storage = Storage::plain;
    double plain_seconds = 0;
    for (const std::int64_t n : powers(256, 8192)) {
      const Problem<float> problem = unweighted<float>(n);
      Json record{{"input", input}, {"n", n}};
      double gpu_ms = std::numeric_limits<double>::max();
      for (const Decomposition decomposition : {Decomposition::bottom_up, Decomposition::persistent}) {
        const Json gpu = measure(input, problem, options(decomposition));
        if (gpu.is_null()) return;
        const double ms = gpu["kernel_ms"].get<double>() + gpu["transfer_ms"].get<double>();
        record[std::string(name(decomposition)) + "_ms"] = ms;
        gpu_ms = std::min(gpu_ms, ms);
      }
      const Json ours = measure(input, problem, one_thread);
      if (!ours.is_null()) {
        record["our_thread_ms"] = ours["kernel_ms"];
        record["speedup_over_our_thread"] = ours["kernel_ms"].get<double>() / gpu_ms;
      }
      constexpr double kGrowth = 12, kLongest = 60;  // from one n to the next; [s]
      if (plain_seconds * kGrowth < kLongest) {
        const PlainLoops plain = run_plain_loops(problem.leaves);
        compare(input + " " + std::to_string(n), plain.optimum);
        plain_seconds = plain.seconds;
        record["plain_loops_ms"] = plain_seconds * 1e3;
        record["speedup_over_plain_loops"] = plain_seconds * 1e3 / gpu_ms;
      }
      add(record);
    }
  }

  void multiprocessors() {
    for (const std::int64_t n : powers(512, 16'384)) {
      const Problem<float> problem = floats(n);
      for (const int quarters : {1, 2, 3, 4}) {
        Options with = options(Decomposition::persistent, 64);
        with.multiprocessors = multiprocessors_ * quarters / 4;
        add_measured(measure(kFloat, problem, with), {{"multiprocessors", with.multiprocessors}});
      }
    }
  }

  void triangular() {
    for (const std::int64_t n : powers(1024, 8192)) {
      const Problem<float> problem = floats(n);
      for (const Triangular method : {Triangular::merged, Triangular::direct, Triangular::blocked})
        for (const int block : {16, 32, 64}) {
          Options with = options(Decomposition::bottom_up, block);
          with.triangular = method;
          with.phases = true;
          add_measured(measure(kFloat, problem, with), {{"triangular", name(method)}});
        }
    }
  }

  void batch() {
    constexpr std::uint32_t kProblems = 1000;
    std::vector<Problem<std::int32_t>> pairs;
    std::vector<Problem<float>> chains;
    for (std::uint32_t p = 0; p < kProblems; ++p) {
      pairs.push_back(base_pairs<std::int32_t>(201, p));
      chains.push_back(costs<float>(201, true, false));
    }
    const Json count{{"problems", kProblems}};
    for (const int block : {32, 64}) {
      add_measured(
          measure<std::int32_t>("base pairs, batch", pairs, options(Decomposition::persistent, block)),
          count);
      add_measured(
          measure<float>("float32, factors, batch", chains, options(Decomposition::persistent, block)),
          count);
    }
    add_measured(measure<std::int32_t>("base pairs, batch", pairs,
                                       options(Decomposition::persistent, 64, Storage::narrow)),
                 count);
  }

  const Settings& settings_;
  int multiprocessors_ = 0;
  std::uint64_t memory_ = 0;  // [bytes]
  std::string part_;
  Json report_;
  std::map<std::string, std::pair<std::int64_t, double>>
      seconds_;  // n and time of a choice's last measurement
  std::map<std::string, double> optima_;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    const auto value = [&argument](std::string_view prefix) {
      return argument.starts_with(prefix) ? argument.c_str() + prefix.size() : nullptr;
    };
    if (const char* part = value("--part="))
      settings.parts.push_back(part);
    else if (const char* rounds = value("--rounds="))
      settings.rounds = std::max(1, std::atoi(rounds));
    else if (const char* largest = value("--largest="))
      settings.largest = std::atoll(largest);
    else if (const char* longest = value("--longest="))
      settings.longest = std::atof(longest);
    else if (const char* json = value("--benchmark_out="))
      settings.json = json;
    else if (value("--benchmark_out_format=") == nullptr)
      throw BadInput(
          "usage: gpu_bench_dp_engine [--part=NAME]... [--rounds=N] [--largest=POINTS] [--longest=SECONDS] [--benchmark_out=FILE]");
  }
  return settings;
}

}  // namespace
}  // namespace warploom::dp

int main(int argc, char** argv) {
  try {
    const warploom::dp::Settings settings = warploom::dp::parse(argc, argv);
    const auto report = warploom::dp::Bench(settings).run();
    if (!settings.json.empty()) std::ofstream(settings.json) << report.dump(1) << "\n";
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
