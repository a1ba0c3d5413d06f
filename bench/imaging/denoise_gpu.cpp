// gpu_bench_imaging_denoise: how close does total-variation denoising on the GPU come to the memory's
// bandwidth?
//
// Questions, a list of records each in the JSON:
//   iterations  time of one pass of Solver::accelerated over image size, as GB/s at 96 bytes a voxel beside
//   the
//               bandwidth of a device-to-device copy in the same process, and the cost of a voxel; with
//               --tiles for every candidate of tv_tiles.hpp
//   solvers     time of one pass of the other solvers, and of channels
//   whole       a whole minimisation of a 128^3 phantom to a relative gap of 1e-4: iterations, time on the
//               device, transfers
//   slabs       the same pass when the device holds a part of the image
//   generalised an iteration of total generalised variation as GB/s at 1056 bytes a voxel, and whole
//   minimisations;
//               --generalised: nothing else
//
// Fixed: the phantom of tests/oracle with noise of 0.15 um^2/ms, lambda 4, epsilon 1e-2. A sample is one
// minimisation with a fixed number of passes, timed between two events, data resident; median of --rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "../json_records.hpp"
#include "imaging/tv_cuda.hpp"
#include "imaging/tv_tiles.hpp"
#include "oracle/phantom.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

struct Options {
  int rounds = 5, largest = 512, channels = 30, chunk = 0;
  bool tiles = false, generalised = false;
  std::string json;
};

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

/// Bytes read and written a second by cudaMemcpy within the device.
double copy_bandwidth(int rounds) {
  const std::size_t bytes = std::size_t{1} << 30;
  const DeviceArray<std::byte> from = make_device<std::byte>(bytes), to = make_device<std::byte>(bytes);
  const CudaEvent start = make_event(), end = make_event();
  cuda_check(cudaMemset(from.get(), 1, bytes), "cudaMemset");
  std::vector<double> samples;
  for (int k = 0; k < rounds + 2; ++k) {
    cuda_check(cudaEventRecord(start.get()), "cudaEventRecord");
    for (int i = 0; i < 4; ++i)
      cuda_check(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice), "cudaMemcpy");
    cuda_check(cudaEventRecord(end.get()), "cudaEventRecord");
    cuda_check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, start.get(), end.get()), "cudaEventElapsedTime");
    if (k >= 2) samples.push_back(8.0 * double(bytes) / (milliseconds * 1e-3));
  }
  return median(samples);
}

struct Input {
  Image noisy;
  TvProblem problem;
};

/// The phantom, repeated where n is above 128, which saves minutes of making noise.
constexpr std::int64_t kLargestPhantom = 128;
TensorImage phantom(std::int64_t n) { return tensor_phantom(std::min(n, kLargestPhantom)); }

Image repeated(const Image& image, std::int64_t n, int channels) {
  const std::int64_t side = image.grid.nx;
  Image result(Grid{n, n, n}, channels);
  parallel_for(channels * n, [&](std::int64_t plane) {
    const int c = static_cast<int>(plane / n);
    const std::int64_t z = plane % n;
    for (std::int64_t y = 0; y < n; ++y)
      for (std::int64_t x = 0; x < n; ++x)
        result.channel(c)[static_cast<std::size_t>((z * n + y) * n + x)] = image.channel(
            c % image.channels)[static_cast<std::size_t>((z % side * side + y % side) * side + x % side)];
  });
  return result;
}

Input make_input(std::int64_t n, int channels, Solver solver) {
  const bool tensor = channels == 0;
  TensorImage noisy = phantom(n);
  add_noise(noisy, 0.15, 7);
  Input input{repeated(noisy, n, tensor ? kTensorChannels : channels), {}};
  TvConstants& k = input.problem.constants;
  k.channels = input.noisy.channels;
  k.lambda = 4;
  k.epsilon = solver == Solver::primal_dual ? 0 : 1e-2;
  k.voxels = double(input.noisy.grid.voxels());
  k.gradient_bound = 12;
  for (double& h : k.inverse_spacing) h = 1;
  for (int c = 0; c < k.channels; ++c) k.weights[c] = tensor ? double{kTensorWeights[std::size_t(c)]} : 1.0;
  input.problem.grid = input.noisy.grid;
  input.problem.tensor = tensor;
  input.problem.solver = solver;
  return input;
}

/// The noisy tensors with a diagonal that makes them positive definite.
Image start_of(const Input& input) {
  Image start = input.noisy;
  const std::int64_t n = start.grid.nx;
  if (input.problem.tensor)
    parallel_for(n, [&](std::int64_t z) {
      for (std::size_t v = static_cast<std::size_t>(z * n * n); v < static_cast<std::size_t>((z + 1) * n * n);
           ++v) {
        const float off =
            std::abs(start.channel(1)[v]) + std::abs(start.channel(2)[v]) + std::abs(start.channel(4)[v]);
        for (const int c : {0, 3, 5}) start.channel(c)[v] = std::max(start.channel(c)[v], off);
      }
    });
  return start;
}

TvOutcome solve(Input& input, Image& image, int passes, double tolerance, const TvTuning& tuning,
                std::uint64_t memory = 0) {
  input.problem.noisy = input.noisy.data.data();
  input.problem.constants.max_iterations = passes;
  input.problem.constants.tolerance = tolerance;
  const RunScope scope({.memory = memory});
  return minimise_cuda(input.problem, image.data.data(), {}, tuning);
}

/// Time of one pass [s], the first ones (which measure) left out. @throws Error (a minimisation ended early)
double pass_seconds(Input& input, const TvTuning& tuning, int rounds, std::uint64_t memory = 0,
                    TvOutcome* last = nullptr) {
  const bool huge = input.noisy.data.size() > 500'000'000;
  const int few = memory > 0 ? 2 : kLogLength, many = memory > 0 ? 10
                                                      : huge     ? 3 * kLogLength
                                                                 : 5 * kLogLength;
  const Image start = start_of(input);
  std::vector<double> samples;
  for (int k = huge ? 1 : 0; k < rounds + 1; ++k) {
    double seconds[2];
    for (const int which : {0, 1}) {
      Image image = start;
      const int passes = which == 0 ? few : many;
      const TvOutcome outcome = solve(input, image, passes, 1e-15, tuning, memory);
      if (outcome.history.size() != static_cast<std::size_t>(passes))
        throw Error("only " + std::to_string(outcome.history.size()) + " of " + std::to_string(passes) +
                    " passes");
      seconds[which] = outcome.seconds;
      if (last != nullptr) *last = outcome;
    }
    if (k > 0) samples.push_back((seconds[1] - seconds[0]) / (many - few));
  }
  return median(samples);
}

/// The same of total generalised variation, every eighth look among it.
double iteration_seconds(Input& input, int rounds) {
  const Image start = start_of(input);
  std::vector<double> samples;
  for (int k = 0; k < rounds + 1; ++k) {
    double seconds[2];
    for (const int which : {0, 1}) {
      Image image = start;
      seconds[which] = solve(input, image, which == 0 ? 8 : 72, 1e-15, {}).seconds;
    }
    if (k > 0) samples.push_back((seconds[1] - seconds[0]) / 64);
  }
  return median(samples);
}

void run(const Options& options) {
  JsonRecords report;
  const double copy = copy_bandwidth(options.rounds);
  cudaDeviceProp device;
  cuda_check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  report.list("device");
  report.add("{\"name\": \"" + std::string(device.name) +
             "\", \"copy_gb_per_s\": " + json_number(copy * 1e-9) + "}");

  const auto describe = [&](const std::string& what, std::int64_t n, double voxels, double bytes_a_voxel,
                            double seconds, const std::string& more) {
    return "{\"what\": \"" + what + "\", \"size\": " + std::to_string(n) +
           ", \"us\": " + json_number(seconds * 1e6) +
           ", \"ps_per_voxel\": " + json_number(seconds / voxels * 1e12) +
           ", \"gb_per_s\": " + json_number(bytes_a_voxel * voxels / seconds * 1e-9) +
           ", \"share_of_copy\": " + json_number(bytes_a_voxel * voxels / seconds / copy) + more + "}";
  };
  report.list("generalised");
  for (const std::int64_t n : {64, 128, 256, 512}) {
    if (n > options.largest) continue;
    Input input = make_input(n, 0, Solver::primal_dual);
    input.problem.tgv_ratio = 2;
    report.add(
        describe("generalised", n, double(n * n * n), 1056, iteration_seconds(input, options.rounds), ""));
    if (n > 128) continue;
    for (const double tolerance : {1e-3, 1e-4}) {
      std::vector<double> seconds, walls;
      TvOutcome last;
      for (int k = 0; k < options.rounds + 1; ++k) {
        Image image = start_of(input);
        const auto begin = std::chrono::steady_clock::now();
        last = solve(input, image, 5000, tolerance, {});
        walls.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        seconds.push_back(last.seconds);
      }
      report.add("{\"what\": \"generalised, whole\", \"size\": " + std::to_string(n) +
                 ", \"tolerance\": " + json_number(tolerance) +
                 ", \"iterations\": " + std::to_string(last.history.back().iteration) + ", \"ms\": " +
                 json_number(median(seconds) * 1e3) + ", \"wall_ms\": " + json_number(median(walls) * 1e3) +
                 ", \"objective\": " + json_number(last.objective) + ", \"gap\": " + json_number(last.gap) +
                 ", \"device_bytes\": " + std::to_string(last.device_bytes) + "}");
    }
  }
  if (options.generalised) {
    if (!options.json.empty()) std::ofstream(options.json) << report.text();
    return;
  }

  report.list("iterations");
  for (const std::int64_t n : {64, 128, 256, 512}) {
    if (n > options.largest) continue;
    Input input = make_input(n, 0, Solver::accelerated);
    const bool all = options.tiles && n <= 256;
    for (int tile = all ? 0 : -1; tile < (all ? kTensorTiles : 0); ++tile) {
      TvOutcome last;
      const double seconds =
          pass_seconds(input, {tile, options.chunk}, n > 256 ? 1 : options.rounds, 0, &last);
      report.add(describe(
          "accelerated", n, double(n * n * n), 96, seconds,
          ", \"tile\": " + std::to_string(tile < 0 ? best_tensor_tile(std::int64_t{n} * n * n) : tile) +
              ", \"device_bytes_over_input\": " +
              json_number(double(last.device_bytes) / (24.0 * double(n * n * n))) +
              ", \"transfer_ms\": " + json_number(last.transfer_seconds * 1e3)));
    }
  }

  report.list("solvers");
  for (const std::int64_t n : {64, 128, 256}) {
    if (n > options.largest) continue;
    const double voxels = double(n * n * n);
    Input descent = make_input(n, 0, Solver::descent), primal_dual = make_input(n, 0, Solver::primal_dual);
    report.add(describe("descent", n, voxels, 72, pass_seconds(descent, {}, options.rounds), ""));
    report.add(describe("primal-dual", n, voxels, 240, pass_seconds(primal_dual, {}, options.rounds), ""));
  }
  for (const int channels : {1, 6, options.channels}) {
    const std::int64_t n = std::min(128, options.largest);
    Input input = make_input(n, channels, Solver::accelerated);
    report.add(describe("channels", n, double(n * n * n), 16.0 * channels,
                        pass_seconds(input, {}, options.rounds),
                        ", \"channels\": " + std::to_string(channels)));
  }

  report.list("whole");
  for (const std::int64_t n : {32, 64, 128, 256}) {
    if (n > options.largest) continue;
    Input input = make_input(n, 0, Solver::accelerated);
    const TensorImage truth = repeated(phantom(n), n, kTensorChannels);
    for (const double tolerance : {1e-3, 1e-4, 1e-6}) {
      std::vector<double> seconds, transfers, walls;
      TvOutcome last;
      double error = 0;
      for (int k = 0; k < options.rounds + 1; ++k) {
        Image image = start_of(input);
        const auto begin = std::chrono::steady_clock::now();
        last = solve(input, image, 5000, tolerance, {});
        walls.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        seconds.push_back(last.seconds);
        transfers.push_back(last.transfer_seconds);
        error = relative_error(image, truth);
      }
      report.add("{\"size\": " + std::to_string(n) + ", \"tolerance\": " + json_number(tolerance) +
                 ", \"iterations\": " + std::to_string(last.history.size()) +
                 ", \"ms\": " + json_number(median(seconds) * 1e3) + ", \"transfer_ms\": " +
                 json_number(median(transfers) * 1e3) + ", \"wall_ms\": " + json_number(median(walls) * 1e3) +
                 ", \"objective\": " + json_number(last.objective) + ", \"gap\": " + json_number(last.gap) +
                 ", \"noisy_error\": " + json_number(relative_error(input.noisy, truth)) +
                 ", \"error\": " + json_number(error) + "}");
    }
  }

  report.list("slabs");
  {
    const std::int64_t n = std::min(256, options.largest);
    Input input = make_input(n, 0, Solver::accelerated);
    TvOutcome last;
    const std::uint64_t memory = std::uint64_t{24} * static_cast<std::uint64_t>(n * n * n) * 2;
    const double seconds = pass_seconds(input, {-1, 16}, 1, memory, &last);
    report.add(describe("accelerated", n, double(n * n * n), 96, seconds,
                        ", \"slabs\": " + std::to_string(last.slabs)));
  }
  if (!options.json.empty()) std::ofstream(options.json) << report.text();
}

}  // namespace
}  // namespace warploom::imaging

int main(int argc, char** argv) {
  warploom::imaging::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&](const char* prefix) {
      const std::string p = prefix;
      return argument.rfind(p, 0) == 0 ? argument.c_str() + p.size() : nullptr;
    };
    if (argument == "--tiles")
      options.tiles = true;
    else if (argument == "--generalised")
      options.generalised = true;
    else if (const char* rounds = value("--rounds="))
      options.rounds = std::max(1, std::atoi(rounds));
    else if (const char* largest = value("--largest="))
      options.largest = std::atoi(largest);
    else if (const char* channels = value("--channels="))
      options.channels = std::atoi(channels);
    else if (const char* chunk = value("--chunk="))
      options.chunk = std::atoi(chunk);
    else if (const char* json = value("--json="))
      options.json = json;
    else {
      std::fprintf(
          stderr,
          "usage: %s [--tiles] [--generalised] [--rounds=N] [--largest=VOXELS] [--channels=N] [--chunk=PLANES] [--json=FILE]\n",
          argv[0]);
      return 2;
    }
  }
  try {
    warploom::imaging::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
