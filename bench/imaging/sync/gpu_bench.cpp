// gpu_bench_imaging_sync: what do the dissertation's three synchronisation designs cost, and what do they
// compute?
//
// Three questions, three lists of records in the JSON:
//   kernels   GlobalSync at 128^3: time of each kernel's calls in an iteration, its share, registers, bytes
//   of
//             shared memory and residency, beside Table 10; with P as written and after `warploom reuse`.
//   designs   time of an iteration of each design over image size and block size (Figures 49 to 53), beside a
//             CPU on one thread.
//   accuracy  of each design on a phantom: distance from GlobalSync and from the double-precision oracle of
//   the
//             design's own definition, after one and after all iterations, and from the truth.
//
// Fixed: input (seeded), GPU, process. Timed: kernels alone, data resident, back to back, between two events.
// A sample is a batch of at least kBatchMs; the variants that are compared take turns. Median and quartiles.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "imaging/sync/cpu_reference.hpp"
#include "imaging/sync/designs.hpp"
#include "oracle/christiansen.hpp"
#include "oracle/phantom.hpp"

namespace warploom::bench::sync {
namespace {

using nlohmann::json;

constexpr double kBatchMs = 1.0;
constexpr int kWarmUpRounds = 3;
constexpr double kNoise = 0.15;  // of the phantom [um^2/ms]

struct Options {
  std::string json;
  int rounds = 31, max_size = 128, iterations = 100, accuracy_size = 32;
};

/// Something timed, and its samples.
struct Timed {
  std::function<void()> launch;
  std::vector<double> samples_us{};

  void add_to(json& record) const {
    auto sorted = samples_us;
    std::sort(sorted.begin(), sorted.end());
    const auto quantile = [&](double q) {
      return sorted[static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
    };
    record["median_us"] = quantile(0.5);
    record["quartiles_us"] = {quantile(0.25), quantile(0.75)};
    record["rounds"] = sorted.size();
  }
};

void measure(std::vector<Timed>& all, int rounds) {
  Stopwatch watch;
  const auto batch_ms = [&](const Timed& timed, int launches) {
    watch.start();
    for (int i = 0; i < launches; ++i) timed.launch();
    return watch.stop();
  };
  std::vector<int> launches;
  for (const Timed& timed : all) {
    batch_ms(timed, 2);
    launches.push_back(std::clamp(static_cast<int>(std::ceil(kBatchMs / (batch_ms(timed, 4) / 4))), 1, 500));
  }
  for (int round = -kWarmUpRounds; round < rounds; ++round)
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::size_t i = (k + static_cast<std::size_t>(round + kWarmUpRounds)) % all.size();
      const double us = batch_ms(all[i], launches[i]) * 1e3 / launches[i];
      if (round >= 0) all[i].samples_us.push_back(us);
    }
}

void describe(json& record, const Design::Part& part, const Gpu& gpu) {
  const int blocks = part.kernel->blocks_per_multiprocessor(part.threads);
  record["registers"] = part.kernel->registers();
  record["static_bytes"] = part.kernel->static_bytes();
  record["threads"] = part.threads;
  record["blocks_per_multiprocessor"] = blocks;
  record["occupancy"] =
      double(blocks) * part.threads / gpu.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
}

Problem phantom(int n) {
  imaging::TensorImage image = imaging::tensor_phantom(n);
  imaging::add_noise(image, kNoise, 1);
  return make_problem(image);
}

/// Table 10, an iteration: its times are those of 100.
const std::map<std::string, double> kTable10Ms = {
    {"LLT", 2.5813}, {"TVnorm", 8.8821}, {"Reduction", 1.7819}, {"P", 18.00}, {"Solver", 5.5779}};

json kernels(const Gpu& gpu, const Options& options) {
  json records = json::array();
  const Problem problem = phantom(options.max_size);
  for (const int side : {8, 16}) {
    std::vector<std::unique_ptr<Design>> designs;
    std::vector<Timed> timed;
    std::vector<json> rows;
    const std::pair<const char*, const char*> variants[] = {{"original", "global_sync"},
                                                            {"rewritten", "global_sync.rewritten"}};
    for (const auto& [variant, module] : variants) {
      const Design& design = *designs.emplace_back(global_sync(problem, side, Stencil::printed, module));
      designs.back()->iterate();  // P needs the weights
      for (const Design::Part& part : design.parts()) {
        if (designs.size() > 1 && part.name != "P") continue;
        json row = {{"kernel", part.name}, {"variant", variant},
                    {"side", side},        {"size", options.max_size},
                    {"calls", part.calls}, {"table_10_ms", kTable10Ms.at(part.name)}};
        describe(row, part, gpu);
        rows.push_back(std::move(row));
        timed.push_back({part.launch});
      }
    }
    measure(timed, options.rounds);
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      timed[i].add_to(rows[i]);
      if (rows[i]["variant"] == "original") sum += rows[i]["median_us"].get<double>();
    }
    for (json& row : rows) {
      if (row["variant"] == "original") row["share"] = row["median_us"].get<double>() / sum;
      std::printf(
          "%-10s %-9s %2d  %d calls %9.2f us  share %5.1f %%  %3d registers %6d bytes  occupancy %3.0f %%\n",
          row["kernel"].get<std::string>().c_str(), row["variant"].get<std::string>().c_str(), side,
          row["calls"].get<int>(), row["median_us"].get<double>(), 100 * row.value("share", 0.0),
          row["registers"].get<int>(), row["static_bytes"].get<int>(), 100 * row["occupancy"].get<double>());
      records.push_back(std::move(row));
    }
  }
  return records;
}

struct Definition {
  std::string name;
  int side;
  Stencil stencil;
  Padding padding;
  std::array<int, 3> region;  ///< the oracle's; 0, 0, 0: the whole image

  std::unique_ptr<Design> make(const Problem& problem) const {
    if (name == "ThreadSync") return thread_sync(problem, side, stencil, padding);
    if (name == "UnSync") return un_sync(problem, side, stencil, padding);
    return global_sync(problem, side, stencil,
                       name == "GlobalSync" ? "global_sync" : "global_sync.rewritten");
  }
  json row() const {
    return {{"design", name},
            {"side", side},
            {"stencil", stencil == Stencil::centred ? "centred" : "printed"},
            {"padding", padding == Padding::halo ? "halo" : "own"}};
  }
};

std::vector<Definition> definitions(Stencil stencil) {
  std::vector<Definition> all;
  for (const int side : {8, 16}) {
    all.push_back({"GlobalSync", side, stencil, Padding::halo, {0, 0, 0}});
    all.push_back({"GlobalSync, rewritten", side, stencil, Padding::halo, {0, 0, 0}});
    for (const Padding padding : {Padding::own, Padding::halo}) {
      all.push_back({"ThreadSync", side, stencil, padding, {side, side, 1}});
      all.push_back({"UnSync", side, stencil, padding, {2, 2, 2}});
    }
  }
  return all;
}

double cpu_ms(const Problem& problem, Stencil stencil) {
  using Clock = std::chrono::steady_clock;
  CpuReference reference(problem, stencil);
  reference.iterate();
  std::vector<double> ms;
  for (const auto begin = Clock::now();
       ms.size() < 3 || (ms.size() < 31 && Clock::now() - begin < std::chrono::seconds(2));) {
    const auto start = Clock::now();
    reference.iterate();
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::ranges::sort(ms);
  return ms[ms.size() / 2];
}

json designs(const Gpu& gpu, const Options& options) {
  json records = json::array();
  for (int n = 32; n <= options.max_size; n *= 2) {
    const Problem problem = phantom(n);
    for (const Stencil stencil : {Stencil::printed, Stencil::centred}) {
      const double cpu = cpu_ms(problem, stencil);
      const std::vector<Definition> all = definitions(stencil);
      std::vector<std::unique_ptr<Design>> made;
      std::vector<Timed> timed;
      for (const Definition& definition : all) {
        Design* design = made.emplace_back(definition.make(problem)).get();
        timed.push_back({[design] { design->iterate(); }});
      }
      measure(timed, options.rounds);
      for (std::size_t i = 0; i < all.size(); ++i) {
        json row = all[i].row();
        row["size"] = n;
        timed[i].add_to(row);
        row["cpu_ms"] = cpu;
        row["speed_up"] = cpu * 1e3 / row["median_us"].get<double>();
        if (made[i]->parts().size() == 1) describe(row, made[i]->parts()[0], gpu);
        std::printf("%-21s %2d %-7s %-4s %4d^3 %10.2f us  CPU %9.2f ms  %7.1f x\n", all[i].name.c_str(),
                    all[i].side, row["stencil"].get<std::string>().c_str(),
                    row["padding"].get<std::string>().c_str(), n, row["median_us"].get<double>(), cpu,
                    row["speed_up"].get<double>());
        records.push_back(std::move(row));
      }
      std::fflush(stdout);
    }
  }
  return records;
}

/// Figure 53: how much of the secondary designs' one kernel is P.
json share_of_p(const Options& options) {
  json records = json::array();
  for (int n = 32; n <= options.max_size; n *= 2) {
    const Problem problem = phantom(n);
    for (const int side : {8, 16}) {
      std::vector<std::unique_ptr<Design>> made;
      made.push_back(thread_sync(problem, side, Stencil::printed));
      made.push_back(thread_sync_only_p(problem, side));
      made.push_back(un_sync(problem, side, Stencil::printed));
      made.push_back(un_sync_only_p(problem, side));
      std::vector<Timed> timed;
      for (const auto& design : made) timed.push_back({design->parts()[0].launch});
      measure(timed, options.rounds);
      for (std::size_t i = 0; i < made.size(); i += 2) {
        json whole, p;
        timed[i].add_to(whole);
        timed[i + 1].add_to(p);
        const json row = {{"design", i == 0 ? "ThreadSync" : "UnSync"},
                          {"side", side},
                          {"size", n},
                          {"solver_us", whole["median_us"]},
                          {"p_us", p["median_us"]}};
        std::printf("%-21s %2d %4d^3 solver %10.2f us, P %10.2f us\n", i == 0 ? "ThreadSync" : "UnSync", side,
                    n, row["solver_us"].get<double>(), row["p_us"].get<double>());
        records.push_back(row);
      }
    }
  }
  return records;
}

/// ||a - b|| / ||c||
template <class A, class B, class C>
double relative(const A& a, const B& b, const C& c) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += double{c[i]} * c[i];
  }
  return std::sqrt(difference / norm);
}

struct Factors {
  std::vector<double> first, last;
};

Factors by_oracle(const Problem& problem, const Definition& definition, int iterations) {
  using oracle::MatrixImage;
  const MatrixImage noisy{problem.nx, problem.ny, problem.nz, {problem.noisy.begin(), problem.noisy.end()}};
  oracle::Christiansen::Options options;
  options.lambda = problem.lambda, options.step = problem.step;
  options.region = definition.region;
  options.isolated = definition.padding == Padding::own;
  options.centred = definition.stencil == Stencil::centred;
  const oracle::Christiansen reference(noisy, options);
  MatrixImage factor = noisy;
  factor.data.assign(problem.factor.begin(), problem.factor.end());
  Factors out;
  for (int i = 0; i < iterations; ++i) {
    factor = reference.step(factor);
    if (i == 0) out.first = factor.data;
  }
  out.last = factor.data;
  return out;
}

json accuracy(const Options& options) {
  json records = json::array();
  const Problem problem = phantom(options.accuracy_size);
  const imaging::TensorImage truth = imaging::tensor_phantom(options.accuracy_size);
  imaging::TensorImage noisy = truth;
  noisy.data = problem.noisy;
  const double error_before = relative_error(noisy, truth);
  for (const Stencil stencil : {Stencil::printed, Stencil::centred}) {
    std::vector<Definition> all = definitions(stencil);
    std::erase_if(all, [](const Definition& d) {  // whose results are another's, bit by bit
      return d.name == "GlobalSync, rewritten" || (d.side == 16 && d.name != "ThreadSync");
    });
    std::vector<std::future<Factors>> oracles;
    for (const Definition& d : all)
      oracles.push_back(std::async(std::launch::async, [&problem, &d, &options] {
        return by_oracle(problem, d, options.iterations);
      }));
    std::vector<float> global_first, global_step, global_last;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const auto design = all[k].make(problem);
      design->iterate();
      const std::vector<float> first = design->factor();
      for (int i = 1; i < options.iterations; ++i) design->iterate();
      const auto last = tensors(problem, design->factor());
      if (k == 0) {  // GlobalSync
        global_first = first, global_last = last.data;
        for (std::size_t i = 0; i < first.size(); ++i) global_step.push_back(first[i] - problem.factor[i]);
      }
      const Factors oracle = oracles[k].get();
      const auto oracle_last = tensors(problem, std::vector<float>(oracle.last.begin(), oracle.last.end()));
      json row = all[k].row();
      row.update({{"size", options.accuracy_size},
                  {"iterations", options.iterations},
                  {"lambda", problem.lambda},
                  {"step", problem.step},
                  {"first_step_from_global", relative(first, global_first, global_step)},
                  {"first_step_from_oracle", relative(first, oracle.first, global_step)},
                  {"from_global", relative(last.data, global_last, global_last)},
                  {"from_oracle", relative(last.data, oracle_last.data, oracle_last.data)},
                  {"error_before", error_before},
                  {"error_after", relative_error(last, truth)}});
      std::printf(
          "%-10s %2d %-7s %-4s first step: from global %.3g, from oracle %.3g; after %d: %.3g, %.3g; error %.4f -> %.4f\n",
          all[k].name.c_str(), all[k].side, row["stencil"].get<std::string>().c_str(),
          row["padding"].get<std::string>().c_str(), row["first_step_from_global"].get<double>(),
          row["first_step_from_oracle"].get<double>(), options.iterations, row["from_global"].get<double>(),
          row["from_oracle"].get<double>(), error_before, row["error_after"].get<double>());
      std::fflush(stdout);
      records.push_back(std::move(row));
    }
  }
  return records;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] {
      if (++i >= argc) throw std::invalid_argument(word + " needs a value");
      return std::max(1, std::stoi(argv[i]));
    };
    if (word.starts_with("--benchmark_out="))  // Google Benchmark's spelling, so that one script runs all
      options.json = word.substr(word.find('=') + 1);
    else if (word == "--benchmark_out_format=json")
      continue;
    else if (word == "--rounds")
      options.rounds = number();
    else if (word == "--max-size")
      options.max_size = number();
    else if (word == "--iterations")
      options.iterations = number();
    else if (word == "--accuracy-size")
      options.accuracy_size = number();
    else
      throw std::invalid_argument("unknown argument " + word);
  }
  return options;
}

void bench(const Options& options) {
  const Gpu gpu;
  std::printf("%s, driver %d\n", gpu.name().c_str(), Gpu::driver_version());
  json document = {{"device", gpu.name()},
                   {"multiprocessors", gpu.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)},
                   {"driver", Gpu::driver_version()}};
  document["kernels"] = kernels(gpu, options);
  document["designs"] = designs(gpu, options);
  document["share_of_p"] = share_of_p(options);
  document["accuracy"] = accuracy(options);
  if (options.json.empty()) return;
  std::ofstream out(options.json);
  out << document.dump(1) << '\n';
  if (!out) throw std::runtime_error(options.json + ": cannot be written");
}

}  // namespace
}  // namespace warploom::bench::sync

int main(int argc, char** argv) {
  using namespace warploom::bench::sync;
  Options options;
  try {
    options = parse(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(
        stderr,
        "gpu_bench_imaging_sync: %s\nusage: gpu_bench_imaging_sync [--benchmark_out=FILE] [--rounds N] "
        "[--max-size N] [--iterations N] [--accuracy-size N]\n",
        e.what());
    return 2;
  }
  try {
    bench(options);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gpu_bench_imaging_sync: %s\n", e.what());
    return 1;
  }
}
