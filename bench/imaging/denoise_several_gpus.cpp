// gpu_bench_imaging_several: how much faster are total-variation denoising and, with --segment, the convex
// segmentation of a volume on several GPUs than on one?
//
// For each size and number of devices: time of one pass of Solver::accelerated (or of --solver) between two
// events of the first device, over passes that are all alike; the bound by bytes (96 a voxel at the bandwidth
// of a copy within a GPU, and the planes at the borders at that of a copy between two); whether result and
// history have the bits of one device; and the time between a volume in the host's memory and the GPUs'
// memory.
//
// Fixed: tensors of a chequered phantom with noise, lambda 4, epsilon 1e-2. Median of --rounds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "../json_records.hpp"
#include "core/cuda/peers.hpp"
#include "imaging/host_floats.hpp"
#include "imaging/segment_convex.hpp"
#include "imaging/tv_cuda.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/imaging/image.hpp"

namespace warploom::imaging {
namespace {

struct Options {
  std::vector<int> sizes{256, 512};
  int rounds = 3, passes = 4 * kLogLength, most = 0, chunk = 0;
  std::uint64_t memory = 0;  // of a GPU [MiB]; less than the image needs makes slabs
  bool shared = false, segment = false;
  Solver solver = Solver::accelerated;
  std::string json;
};

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

/// Seconds that one copy takes, of several on a stream.
template <class Copy>
double copy_seconds(const Copy& copy) {
  constexpr int kCopies = 20;
  const CudaStream stream = make_stream();
  const CudaEvent start = make_event(), end = make_event();
  for (int k = -5; k < kCopies; ++k) {
    if (k == 0) cuda_check(cudaEventRecord(start.get(), stream.get()), "cudaEventRecord");
    cuda_check(copy(stream.get()), "a copy");
  }
  cuda_check(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
  cuda_check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
  return seconds_between(start, end) / kCopies;
}

struct Links {
  double copy = 0, peer = 0;  ///< bytes a second: read and written within a GPU, from one to the next
};
Links measure_links(const std::vector<Device>& devices) {
  constexpr std::size_t kBytes = std::size_t{1} << 28;
  const DeviceArray<std::byte> from = make_device<std::byte>(kBytes), to = make_device<std::byte>(kBytes);
  Links links;
  links.copy = 2.0 * double(kBytes) / copy_seconds([&](cudaStream_t stream) {
                 return cudaMemcpyAsync(to.get(), from.get(), kBytes, cudaMemcpyDeviceToDevice, stream);
               });
  if (devices.size() < 2 || devices[0] == devices[1]) return links;
  DeviceArray<std::byte> there;
  {
    const OnDevice current(devices[1]);
    there = make_device<std::byte>(kBytes);
  }
  links.peer = double(kBytes) / copy_seconds([&](cudaStream_t stream) {
                 return cudaMemcpyPeerAsync(there.get(), devices[1].ordinal, from.get(), devices[0].ordinal,
                                            kBytes, stream);
               });
  return links;
}

/// -1 to 1.
float noise(std::uint64_t index) {
  index = (index + 0x9e3779b97f4a7c15U) * 0xbf58476d1ce4e5b9U;
  index = (index ^ (index >> 27)) * 0x94d049bb133111ebU;
  return static_cast<float>(static_cast<std::int64_t>(index) >> 40) * (1.0F / 8388608.0F);
}

/// Tensors with noise, and the same with a diagonal that makes them positive definite.
void fill(std::int64_t n, float* noisy, float* start) {
  const std::int64_t voxels = n * n * n;
  parallel_for(n * n, [&](std::int64_t row) {
    const std::int64_t y = row % n, z = row / n;
    for (std::int64_t x = 0; x < n; ++x) {
      const std::int64_t v = row * n + x;
      const bool bundle = ((x / 16 + y / 16 + z / 16) & 1) != 0;
      float d[kTensorChannels];
      for (int c = 0; c < kTensorChannels; ++c)
        d[c] = (c == 0             ? (bundle ? 1.7F : 0.7F)
                : c == 3 || c == 5 ? (bundle ? 0.3F : 0.7F)
                                   : 0.0F) +
               0.25F * noise(static_cast<std::uint64_t>(c * voxels + v));
      if (noisy != nullptr)
        for (int c = 0; c < kTensorChannels; ++c) noisy[c * voxels + v] = d[c];
      const float off = std::abs(d[1]) + std::abs(d[2]) + std::abs(d[4]);
      for (const int c : {0, 3, 5}) d[c] = std::max(d[c], off);
      for (int c = 0; c < kTensorChannels; ++c) start[c * voxels + v] = d[c];
    }
  });
}

/// Of all bits, whatever the number of threads.
std::uint64_t hash_of(const float* values, std::int64_t count) {
  constexpr std::int64_t kPiece = 1 << 20;
  std::vector<std::uint64_t> parts(static_cast<std::size_t>((count + kPiece - 1) / kPiece));
  const auto mix = [](std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
    return hash ^ (hash >> 29);
  };
  parallel_for(std::ssize(parts), [&](std::int64_t piece) {
    std::uint64_t hash = 0;
    for (std::int64_t i = piece * kPiece; i < std::min(count, (piece + 1) * kPiece); ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, values + i, sizeof bits);
      hash = mix(hash, bits);
    }
    parts[static_cast<std::size_t>(piece)] = hash;
  });
  std::uint64_t hash = 0;
  for (const std::uint64_t part : parts) hash = mix(hash, part);
  return hash;
}

TvProblem make_problem(std::int64_t n, const Options& options, const float* noisy) {
  TvProblem problem;
  TvConstants& k = problem.constants;
  k.channels = kTensorChannels;
  k.lambda = 4;
  k.epsilon = options.solver == Solver::primal_dual ? 0 : 1e-2;
  k.tolerance = 1e-15;
  k.max_iterations = options.passes;
  k.voxels = double(n) * double(n) * double(n);
  k.gradient_bound = 12;
  for (double& h : k.inverse_spacing) h = 1;
  for (std::size_t c = 0; c < kTensorChannels; ++c) k.weights[c] = double{kTensorWeights[c]};
  problem.grid = Grid{n, n, n};
  problem.tensor = true;
  problem.solver = options.solver;
  problem.noisy = noisy;
  return problem;
}

std::vector<Device> first_devices(int count, bool shared) {
  std::vector<Device> devices;
  for (int k = 0; k < count; ++k) devices.push_back(Device::gpu(shared ? 0 : k));
  return devices;
}

/// Twenty iterations of the convex segmentation between two looks, and a look's sums.
void segment(const Options& options, int most, const Links& links, JsonRecords& report) {
  report.list("segmentation");
  for (const int n : options.sizes) {
    const Grid grid{n, n, n};
    const std::int64_t voxels = grid.voxels();
    const HostFloats values(voxels), result(voxels);
    parallel_for(std::int64_t{n} * n, [&](std::int64_t row) {
      for (std::int64_t x = 0; x < n; ++x) {
        const bool in = ((x / 32 + row % n / 32 + row / n / 32) & 1) != 0;
        values.get()[row * n + x] =
            0.5F + (in ? 0.15F : -0.15F) + 0.2F * noise(static_cast<std::uint64_t>(row * n + x));
      }
    });
    const DeviceArray<float> image = make_device<float>(static_cast<std::size_t>(voxels));
    cuda_check(cudaMemcpy(image.get(), values.get(), static_cast<std::size_t>(voxels) * sizeof(float),
                          cudaMemcpyDefault),
               "cudaMemcpy");
    const ConvexProblem problem{
        .grid = grid, .edges = edges_of(relative_spacing(grid)), .image = image.get(), .mask = nullptr};
    double alone[2] = {};
    std::uint64_t expected = 0;
    SetSums first;
    for (int count = 1; count <= most; ++count) {
      std::vector<double> samples, looks;
      bool same = true;
      std::uint64_t bytes = 0;
      for (int round = 0; round < options.rounds; ++round) {
        const auto backend = convex_cuda(problem, first_devices(count, options.shared));
        backend->begin(0.1F);
        backend->iterate(20);  // what is loaded first
        const auto seconds_of = [&](const auto& work) {
          const double before = backend->seconds();
          work();
          return backend->seconds() - before;
        };
        samples.push_back(seconds_of([&] { backend->iterate(20); }) / 20);
        SetSums sums;
        looks.push_back(seconds_of([&] { sums = backend->measure(0.5F); }));
        bytes = backend->device_bytes();
        cuda_check(cudaMemcpy(result.get(), backend->v(), static_cast<std::size_t>(voxels) * sizeof(float),
                              cudaMemcpyDefault),
                   "cudaMemcpy");
        const std::uint64_t hash = hash_of(result.get(), voxels);
        if (count == 1 && round == 0) expected = hash, first = sums;
        same = same && hash == expected && sums.inside == first.inside && sums.length == first.length &&
               sums.excess == first.excess;
      }
      const double seconds = median(samples), look = median(looks);
      if (count == 1) alone[0] = seconds, alone[1] = look;
      // Dual: v, and p to and fro; primal: image, v to and fro, v on, and p.
      const double floor = (4.0 * (1 + 2 * 13) + 4.0 * (1 + 3 + 13)) * double(voxels) / count / links.copy;
      report.add(
          "{\"size\": " + std::to_string(n) + ", \"devices\": " + std::to_string(count) +
          ", \"us\": " + json_number(seconds * 1e6) + ", \"times\": " + json_number(alone[0] / seconds) +
          ", \"floor_us\": " + json_number(floor * 1e6) + ", \"measure_us\": " + json_number(look * 1e6) +
          ", \"measure_times\": " + json_number(alone[1] / look) + ", \"device_bytes\": " +
          std::to_string(bytes) + ", \"same_bits\": " + (same ? "true" : "false") + "}");
      if (!same) throw Error("results differ between numbers of devices, or from run to run");
    }
  }
}

void run(const Options& options) {
  int gpus = 0;
  cuda_check(cudaGetDeviceCount(&gpus), "cudaGetDeviceCount");
  const int most = options.most > 0 ? options.most : gpus;
  const std::vector<Device> all = first_devices(most, options.shared);
  enable_peers(all);
  const Links links = measure_links(all);
  cudaDeviceProp device;
  cuda_check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  JsonRecords report;
  report.list("devices");
  report.add("{\"name\": \"" + std::string(device.name) + "\", \"count\": " + std::to_string(gpus) +
             ", \"copy_gb_per_s\": " + json_number(links.copy * 1e-9) +
             ", \"peer_copy_gb_per_s\": " + json_number(links.peer * 1e-9) + "}");
  if (options.segment) {
    segment(options, most, links, report);
    if (!options.json.empty()) std::ofstream(options.json) << report.text();
    return;
  }
  const double bytes_a_voxel = options.solver == Solver::accelerated ? 96
                               : options.solver == Solver::descent   ? 72
                                                                     : 336;
  report.list("passes");
  for (const int n : options.sizes) {
    const std::int64_t voxels = std::int64_t{n} * n * n, values = voxels * kTensorChannels;
    const HostFloats noisy(values), image(values);
    fill(n, noisy.get(), image.get());
    const TvProblem problem = make_problem(n, options, noisy.get());
    double alone = 0;
    std::uint64_t expected = 0;
    TvOutcome first;
    for (int count = 1; count <= most; ++count) {
      std::vector<double> samples, transfers;
      bool same = true;
      TvOutcome outcome;
      for (int round = 0; round < options.rounds; ++round) {
        fill(n, nullptr, image.get());
        const RunScope scope({.memory = options.memory << 20});
        outcome = minimise_cuda(problem, image.get(), first_devices(count, options.shared),
                                {.chunk = options.chunk, .split_from = 0});
        if (static_cast<int>(outcome.history.size()) != options.passes)
          throw Error("only " + std::to_string(outcome.history.size()) + " passes");
        samples.push_back(outcome.seconds / options.passes);
        transfers.push_back(outcome.transfer_seconds);
        const std::uint64_t hash = hash_of(image.get(), values);
        if (count == 1 && round == 0) expected = hash, first = outcome;
        same = same && hash == expected && outcome.objective == first.objective && outcome.gap == first.gap;
      }
      const double seconds = median(samples);
      if (count == 1) alone = seconds;
      const double plane = 24.0 * n * n;
      const double floor = bytes_a_voxel * double(voxels) / count / links.copy;
      const double exchange = links.peer > 0 && count > 1 ? plane / links.peer : 0;
      report.add(
          "{\"solver\": \"" + std::string(name(options.solver)) + "\", \"size\": " + std::to_string(n) +
          ", \"devices\": " + std::to_string(outcome.devices) + ", \"us\": " + json_number(seconds * 1e6) +
          ", \"least_us\": " + json_number(*std::min_element(samples.begin(), samples.end()) * 1e6) +
          ", \"times\": " + json_number(alone / seconds) + ", \"floor_us\": " + json_number(floor * 1e6) +
          ", \"exchange_us\": " + json_number(exchange * 1e6) + ", \"transfer_s\": " +
          json_number(median(transfers)) + ", \"slabs\": " + std::to_string(outcome.slabs) +
          ", \"device_bytes\": " + std::to_string(outcome.device_bytes) +
          ", \"same_bits\": " + (same ? "true" : "false") + "}");
      if (!same) throw Error("results differ between numbers of devices, or from run to run");
    }
  }
  if (!options.json.empty()) std::ofstream(options.json) << report.text();
}

}  // namespace
}  // namespace warploom::imaging

int main(int argc, char** argv) {
  warploom::imaging::Options options;
  try {
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      const auto value = [&](const char* prefix) {
        const std::string p = prefix;
        return argument.rfind(p, 0) == 0 ? argument.c_str() + p.size() : nullptr;
      };
      if (argument == "--shared")
        options.shared = true;
      else if (argument == "--segment")
        options.segment = true;
      else if (const char* sizes = value("--sizes=")) {
        options.sizes.clear();
        for (char* at = const_cast<char*>(sizes); *at != '\0'; at += *at == ',' ? 1 : 0)
          options.sizes.push_back(static_cast<int>(std::strtol(at, &at, 10)));
      } else if (const char* rounds = value("--rounds="))
        options.rounds = std::max(1, std::atoi(rounds));
      else if (const char* passes = value("--passes="))
        options.passes = std::max(1, std::atoi(passes));
      else if (const char* devices = value("--devices="))
        options.most = std::max(1, std::atoi(devices));
      else if (const char* memory = value("--memory="))
        options.memory = std::strtoull(memory, nullptr, 10);
      else if (const char* chunk = value("--chunk="))
        options.chunk = std::atoi(chunk);
      else if (const char* solver = value("--solver="))
        options.solver = warploom::imaging::parse_solver(solver);
      else if (const char* json = value("--json="))
        options.json = json;
      else {
        std::fprintf(
            stderr,
            "usage: %s [--sizes=N,N] [--devices=MOST] [--shared] [--segment] [--solver=NAME] [--rounds=N] [--passes=N] "
            "[--chunk=PLANES] [--memory=MIB] [--json=FILE]\n",
            argv[0]);
        return 2;
      }
    }
    warploom::imaging::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
