// gpu_bench_reuse: what does sharing shared memory save, and what is it made of?
//
// Question: time of each kernel of the papers' benchmark as written and after `warploom reuse`, over image
// size. Fixed: inputs, launch shape, GPU, process. Timed: kernels alone, data resident, back to back.
//
// Rows: the manifest's variants, and
//   again     the original module loaded a second time: the noise of the comparison
//   padded    the rewritten kernel asking for dynamic shared memory until it has the original's bytes:
//             its barriers and addresses at the original's occupancy
// Method: a sample is a batch of launches of at least kBatchMs between two events; the variants take
// turns, the order turning by one each round, and every variant has one sample a round. Median and quartiles.
// Every variant's result is compared bit for bit with the original's and with a double-precision reference.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "gpu_problem.hpp"

namespace warploom::bench {
namespace {

constexpr double kBatchMs = 1.0;
constexpr int kWarmUpRounds = 3;

struct Options {
  std::string manifest, json, only;
  int rounds = 31, max_3d = 256, max_2d = 2048;
};

struct Variant {
  std::string name;
  Kernel kernel;
  bool same_bits = false;
  double error = 0;                // in units of the reference's bound
  std::vector<double> samples_us;  // one for each round, sorted after the last
};

double quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

std::vector<Variant> load(const ManifestKernel& shape) {
  std::vector<Variant> variants;
  const auto add = [&](const std::string& name, const std::string& path) -> Kernel& {
    return variants.emplace_back(Variant{name, Kernel(path, shape.name), false, 0, {}}).kernel;
  };
  const int bytes = add("original", shape.modules.at("original")).static_bytes();
  add("again", shape.modules.at("original"));
  for (const auto& [name, path] : shape.modules)
    if (name != "original") add(name, path);
  if (const auto rewritten = shape.modules.find("rewritten"); rewritten != shape.modules.end()) {
    Kernel& padded = add("padded", rewritten->second);
    padded.pad(std::max(0, bytes - padded.static_bytes()));
  }
  return variants;
}

void verify(std::vector<Variant>& variants, Problem& problem, const ManifestKernel& shape) {
  std::vector<float> original;
  for (Variant& v : variants) {
    const auto results = problem.run(v.kernel, shape);
    if (original.empty()) original = results;
    v.error = problem.worst_error(results);
    v.same_bits = std::memcmp(results.data(), original.data(), original.size() * sizeof(float)) == 0;
  }
}

void measure(std::vector<Variant>& variants, const Problem& problem, const ManifestKernel& shape,
             int rounds) {
  Stopwatch watch;
  const auto batch_ms = [&](const Variant& v, int launches) {
    watch.start();
    for (int i = 0; i < launches; ++i) problem.launch(v.kernel, shape);
    return watch.stop();
  };
  batch_ms(variants[0], 2);
  const int launches =
      std::clamp(static_cast<int>(std::ceil(kBatchMs / (batch_ms(variants[0], 4) / 4))), 1, 500);
  for (int round = -kWarmUpRounds; round < rounds; ++round)
    for (std::size_t i = 0; i < variants.size(); ++i) {
      Variant& v = variants[(i + static_cast<std::size_t>(round + kWarmUpRounds)) % variants.size()];
      const double us = batch_ms(v, launches) * 1e3 / launches;
      if (round >= 0) v.samples_us.push_back(us);
    }
  for (Variant& v : variants) std::sort(v.samples_us.begin(), v.samples_us.end());
}

/// The records of one kernel at one size: printed as table rows, returned as JSON objects.
std::string report(const std::vector<Variant>& variants, const ManifestKernel& shape, Kernel::Extent size,
                   int threads_per_multiprocessor) {
  std::ostringstream json;
  const double base = quantile(variants[0].samples_us, 0.5);
  for (const Variant& v : variants) {
    const double median = quantile(v.samples_us, 0.5);
    const int blocks = v.kernel.blocks_per_multiprocessor(shape.block.count());
    const double occupancy = double(blocks) * shape.block.count() / threads_per_multiprocessor;
    char row[1024];
    std::snprintf(row, sizeof row,
                  "%-28s %4dx%4dx%3d %-10s %7d +%6d %4d %3d %4.0f%% %10.2f [%.2f %.2f] %+6.1f%% %s %.3f",
                  shape.name.c_str(), size.x, size.y, size.z, v.name.c_str(), v.kernel.static_bytes(),
                  v.kernel.dynamic_bytes(), v.kernel.registers(), blocks, 100 * occupancy, median,
                  quantile(v.samples_us, 0.25), quantile(v.samples_us, 0.75), 100 * (1 - median / base),
                  v.same_bits ? "same" : "DIFFERS", v.error);
    std::puts(row);
    std::snprintf(
        row, sizeof row,
        "{\"kernel\": \"%s\", \"size\": [%d, %d, %d], \"variant\": \"%s\", \"static_bytes\": %d, "
        "\"dynamic_bytes\": %d, \"registers\": %d, \"blocks_per_multiprocessor\": %d, \"occupancy\": %.4f, "
        "\"median_us\": %.4f, \"quartiles_us\": [%.4f, %.4f], \"rounds\": %zu, \"time_saved\": %.5f, "
        "\"bit_identical\": %s, \"error_over_bound\": %.6g}",
        shape.name.c_str(), size.x, size.y, size.z, v.name.c_str(), v.kernel.static_bytes(),
        v.kernel.dynamic_bytes(), v.kernel.registers(), blocks, occupancy, median,
        quantile(v.samples_us, 0.25), quantile(v.samples_us, 0.75), v.samples_us.size(), 1 - median / base,
        v.same_bits ? "true" : "false", v.error);
    json << (json.tellp() > 0 ? ",\n    " : "") << row;
  }
  std::fflush(stdout);
  return json.str();
}

std::vector<Kernel::Extent> sizes(const ManifestKernel& shape, const Options& options) {
  std::vector<Kernel::Extent> all;
  if (shape.family == "curvature3d")
    for (int n = 16; n <= options.max_3d; n *= 2) all.push_back({n, n, n});
  else
    for (int n = 64; n <= options.max_2d; n *= 2) all.push_back({n, n, 1});
  return all;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&]() -> std::string {
      if (++i >= argc) throw std::invalid_argument(word + " needs a value");
      return argv[i];
    };
    if (word.starts_with("--benchmark_out="))  // Google Benchmark's spelling, so that one script runs all
      options.json = word.substr(word.find('=') + 1);
    else if (word == "--benchmark_out_format=json")
      continue;
    else if (word == "--only")
      options.only = value();
    else if (word == "--rounds")
      options.rounds = std::max(1, std::stoi(value()));
    else if (word == "--max-3d")
      options.max_3d = std::stoi(value());
    else if (word == "--max-2d")
      options.max_2d = std::stoi(value());
    else if (word[0] != '-' && options.manifest.empty())
      options.manifest = word;
    else
      throw std::invalid_argument("unknown argument " + word);
  }
  if (options.manifest.empty()) options.manifest = default_manifest();
  return options;
}

/// False when a result differed or was out of its bound.
bool bench(const Options& options) {
  const Gpu gpu;
  const int threads = gpu.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  std::printf("%s, driver %d\n%-28s %-13s %-10s %7s +%6s %4s %3s %5s %10s %s %s %s %s\n", gpu.name().c_str(),
              Gpu::driver_version(), "kernel", "size", "variant", "static", "dyn", "regs", "b/m", "occ",
              "median us", "[quartiles]", "saved", "bits", "error/bound");
  bool right = true;
  std::string records;
  for (const ManifestKernel& shape : read_manifest(options.manifest)) {
    if (!options.only.empty() && shape.name != options.only) continue;
    for (const Kernel::Extent size : sizes(shape, options)) {
      const auto problem = Problem::make(shape.family, size);
      auto variants = load(shape);
      verify(variants, *problem, shape);
      measure(variants, *problem, shape, options.rounds);
      records += (records.empty() ? "\n    " : ",\n    ") + report(variants, shape, size, threads);
      for (const Variant& v : variants) right = right && v.same_bits && v.error <= 1;
    }
  }
  if (!options.json.empty()) {
    std::ofstream out(options.json);
    out << "{\n  \"device\": \"" << gpu.name()
        << "\",\n  \"multiprocessors\": " << gpu.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        << ",\n  \"driver\": " << Gpu::driver_version() << ",\n  \"records\": [" << records << "\n  ]\n}\n";
    if (!out) throw std::runtime_error(options.json + ": cannot be written");
  }
  return right;
}

}  // namespace
}  // namespace warploom::bench

int main(int argc, char** argv) {
  using namespace warploom::bench;
  Options options;
  try {
    options = parse(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(
        stderr,
        "gpu_bench_reuse: %s\nusage: gpu_bench_reuse [MANIFEST] [--benchmark_out=FILE] [--only KERNEL] [--rounds N] "
        "[--max-3d N] [--max-2d N]\n",
        e.what());
    return 2;
  }
  try {
    return bench(options) ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gpu_bench_reuse: %s\n", e.what());
    return 1;
  }
}
