// Question: how many cells of matrices does the search on a GPU compute a second, and how near is that to
// what the processors allow? Fixed: a random walk of steps of -1 to 1 in single precision; z-normalised
// windows at every offset; one pattern, a part of the walk with another walk's steps on it; 100 candidates,
// half a length apart; nothing is excluded by lower bounds, but in `bounds`. Cells are band_cells() a window,
// the matrix's within the band, not those that a kernel computes besides. Timed: `ms`, Index::best() as a
// user calls it, median after one that is not counted, the recording being on the device
// (`streamed` copies it each time); `device_ms`, of it in kernels. Each is checked: the first candidate lies
// where the pattern was taken from. `ceiling`: the same cell on registers alone, by threads that share
// nothing and never normalise; with minima of two and of three numbers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../json_records.hpp"
#include "core/cuda/owners.hpp"
#include "measured_cases.hpp"
#include "search/dtw_cell.cuh"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/search/index.hpp"

namespace {

using namespace warploom;
using namespace warploom::search;

constexpr int kCeilingThreads = 256, kCeilingRows = 1024;

/// Diagonals of a band as in dtw_thread.cuh, past which no samples slide: nothing but cells.
/// Launch: kCeilingThreads threads a block. @param query  kCeilingRows samples. @param series  a thread's
/// from its number on, kDiagonals - 1 more than threads
template <int kDiagonals, bool kThree>
__global__ void __launch_bounds__(kCeilingThreads)
    ceiling(const float* query, const float* series, float* out) {
  __shared__ float rows[kCeilingRows];
  for (int i = threadIdx.x; i < kCeilingRows; i += kCeilingThreads) rows[i] = query[i];
  __syncthreads();
  const unsigned thread = blockIdx.x * kCeilingThreads + threadIdx.x;
  float x[kDiagonals], d[kDiagonals];
#pragma unroll
  for (int k = 0; k < kDiagonals; ++k) {
    x[k] = series[thread + k];
    d[k] = k == kDiagonals / 2 ? 0 : no_path();
  }
#pragma unroll 8
  for (int i = 0; i < kCeilingRows; ++i) {
#pragma unroll
    for (int k = 0; k < kDiagonals; ++k) {
      const float left = k == 0 ? no_path() : d[k - 1], up = k == kDiagonals - 1 ? no_path() : d[k + 1];
      const float difference = rows[i] - x[k];
      const float best = kThree ? least(left, up, d[k]) : fminf(left, fminf(up, d[k]));
      d[k] = fmaf(difference, difference, best);
    }
  }
  out[thread] = d[kDiagonals / 2];
}

double median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

std::vector<float> random_walk(std::size_t samples) {
  std::uint64_t state = 88172645463325252ULL;
  double at = 0;
  std::vector<float> walk(samples);
  for (float& x : walk) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    at += static_cast<double>(state >> 11) / 4503599627370496.0 - 1;
    x = static_cast<float>(at);
  }
  return walk;
}

class Bench {
 public:
  Bench(int rounds, std::size_t samples, JsonRecords& records)
      : rounds_(rounds), walk_(random_walk(samples)), records_(records) {}

  template <int kDiagonals, bool kThree>
  void measure_ceiling() {
    int processors = 0;
    cuda_check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0),
               "cudaDeviceGetAttribute");
    const unsigned blocks = 64 * static_cast<unsigned>(processors), threads = blocks * kCeilingThreads;
    const auto series = make_device<float>(threads + kDiagonals), out = make_device<float>(threads);
    cuda_check(
        cudaMemcpy(series.get(), walk_.data(), std::min(walk_.size(), std::size_t{threads}) * sizeof(float),
                   cudaMemcpyHostToDevice),
        "cudaMemcpy");
    const CudaEvent begin = make_event(), end = make_event();
    std::vector<double> seconds;
    for (int round = 0; round <= rounds_; ++round) {
      cuda_check(cudaEventRecord(begin.get()), "cudaEventRecord");
      ceiling<kDiagonals, kThree><<<blocks, kCeilingThreads>>>(series.get(), series.get(), out.get());
      cuda_check(cudaEventRecord(end.get()), "cudaEventRecord");
      cuda_check(cudaEventSynchronize(end.get()), "the ceiling's kernel");
      float milliseconds = 0;
      cuda_check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
      if (round > 0) seconds.push_back(milliseconds * 1e-3);
    }
    records_.add(
        "{\"diagonals\": " + std::to_string(kDiagonals) + ", \"minimum_of\": " + (kThree ? "3" : "2") +
        ", \"tera_cells_per_second\": " +
        json_number(static_cast<double>(threads) * kDiagonals * kCeilingRows / median(seconds) * 1e-12) +
        "}");
  }

  /// @param memory  0: what there is
  void search(std::int64_t length, std::int64_t radius, std::int64_t windows, std::uint64_t memory = 0) {
    const std::int64_t samples = std::min(std::ssize(walk_), windows + length - 1);
    const std::int64_t place = samples / 3;
    Pattern pattern{.samples = {walk_.begin() + place, walk_.begin() + place + length}, .radius = radius};
    for (std::int64_t j = 0; j < length; ++j)
      pattern.samples[j] += .1F * (walk_[2 * length + j + 1] - walk_[2 * length + j]);
    const std::vector<Task> tasks = {{.limit = 100, .exclusion = length / 2}};
    Index index({std::span(walk_.data(), static_cast<std::size_t>(samples))},
                {.run = {.devices = {Device::cuda}, .memory = memory}, .prune = Prune::never});
    std::vector<double> seconds, device;
    Effort before;
    for (int round = 0; round <= rounds_; ++round) {
      before = index.effort();
      const auto found = index.best({&pattern, 1}, tasks)[0];
      if (found.empty() || found[0].offset != place) {
        std::fprintf(stderr, "WRONG: length %lld, radius %lld: found at %lld, not at %lld\n",
                     static_cast<long long>(length), static_cast<long long>(radius),
                     found.empty() ? -1LL : static_cast<long long>(found[0].offset),
                     static_cast<long long>(place));
        std::exit(1);
      }
      if (round == 0) continue;
      seconds.push_back(index.effort().seconds - before.seconds);
      device.push_back(index.effort().device_seconds - before.device_seconds);
    }
    const double cells = static_cast<double>(index.effort().cells - before.cells);
    records_.add("{\"length\": " + std::to_string(length) + ", \"radius\": " + std::to_string(radius) +
                 ", \"windows\": " + std::to_string(samples - length + 1) +
                 ", \"ms\": " + json_number(median(seconds) * 1e3) +
                 ", \"device_ms\": " + json_number(median(device) * 1e3) +
                 ", \"tera_cells_per_second\": " + json_number(cells / median(seconds) * 1e-12) +
                 ", \"device_tera_cells_per_second\": " + json_number(cells / median(device) * 1e-12) +
                 ", \"how\": \"" + index.effort().choice + "\"}");
  }

  /// Each pattern is a task.
  void bounds(const std::string& name, const std::vector<float>& signal, const std::vector<Pattern>& patterns,
              std::int64_t limit) {
    const std::int64_t length = std::ssize(patterns[0].samples);
    std::vector<Task> tasks;
    for (std::int32_t p = 0; p < static_cast<std::int32_t>(patterns.size()); ++p)
      tasks.push_back({.first_pattern = p, .limit = limit, .exclusion = length / 2});
    std::vector<std::vector<Candidate>> expected;
    for (const auto& [choice, prune] :
         {std::pair{"never", Prune::never}, {"automatic", Prune::automatic}, {"always", Prune::always}}) {
      Index index({signal}, {.run = {.devices = {Device::cuda}}, .prune = prune});
      std::vector<double> seconds, device;
      Effort before;
      for (int round = 0; round <= rounds_; ++round) {
        before = index.effort();
        const auto found = index.best(patterns, tasks);
        if (expected.empty()) expected = found;
        if (found != expected) {
          std::fprintf(stderr, "WRONG: %s, length %lld: other candidates with lower bounds (%s)\n",
                       name.c_str(), static_cast<long long>(length), choice);
          std::exit(1);
        }
        if (round == 0) continue;
        seconds.push_back(index.effort().seconds - before.seconds);
        device.push_back(index.effort().device_seconds - before.device_seconds);
      }
      const Effort& after = index.effort();
      const auto windows = static_cast<double>(after.windows - before.windows);
      const double excluded =
          static_cast<double>(after.bounded - before.bounded + after.skipped - before.skipped);
      records_.add("{\"signal\": \"" + name + "\", \"length\": " + std::to_string(length) +
                   ", \"radius\": " + std::to_string(patterns[0].radius) +
                   ", \"limit\": " + std::to_string(limit) + ", \"windows\": " + json_number(windows) +
                   ", \"prune\": \"" + choice + "\", \"ms\": " + json_number(median(seconds) * 1e3) +
                   ", \"device_ms\": " + json_number(median(device) * 1e3) +
                   ", \"left\": " + json_number(after.bounded > 0 ? 1 - excluded / windows : 1) +
                   ", \"computed_cells\": " + json_number(static_cast<double>(after.cells - before.cells)) +
                   ", \"how\": \"" + after.choice + "\"}");
    }
  }
  void bounds_of_walks(std::int64_t samples, std::int64_t length, std::int64_t limit) {
    std::vector<float> pattern(static_cast<std::size_t>(length));
    for (std::int64_t j = 0; j < length; ++j) pattern[j] = walk_[samples - 1 - j];  // is not searched
    const std::vector<float> signal(walk_.begin(), walk_.begin() + (samples - length));
    bounds("walk", signal, {{.samples = pattern, .radius = band_radius(.05, length)}}, limit);
  }
  void bounds_of_cuts(const std::string& name, const std::vector<float>& signal, double band,
                      std::int64_t length, std::int64_t limit) {
    if (signal.empty()) return;
    std::vector<Pattern> patterns;
    for (std::int64_t k = 0; k < 16; ++k) {
      const auto begin = signal.begin() + std::ssize(signal) * (2 * k + 1) / 32;
      patterns.push_back({.samples = {begin, begin + length}, .radius = band_radius(band, length)});
    }
    bounds(name, signal, patterns, limit);
  }

 private:
  int rounds_;
  std::vector<float> walk_;
  JsonRecords& records_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string out, part;
  int rounds = 5;
  std::int64_t samples = 10'000'000;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--benchmark_out=")) {
      out = argument.substr(16);
    } else if (argument.starts_with("--part=")) {
      part = argument.substr(7);
    } else if (argument.starts_with("--rounds=")) {
      rounds = std::atoi(argument.c_str() + 9);
    } else if (argument.starts_with("--samples=")) {
      samples = std::atoll(argument.c_str() + 10);
    } else if (!argument.starts_with("--benchmark")) {
      std::fprintf(stderr, "%s [--part=NAME] [--rounds=N] [--samples=N] [--benchmark_out=FILE]\n", argv[0]);
      return argument == "--help" ? 0 : 2;
    }
  }
  constexpr std::int64_t kLengths[] = {32,   50,   64,   100,  127,  128,  129,  150,  200,  255,
                                       256,  300,  400,  511,  512,  513,  700,  1000, 1023, 1024,
                                       1025, 1500, 2047, 2048, 2049, 3000, 4096, 8192};
  try {
    JsonRecords records;
    Bench bench(rounds, static_cast<std::size_t>(samples), records);
    // What one search may take at most, so that the long ones do not take all the time.
    const auto windows_of = [&](std::int64_t length, std::int64_t radius) {
      return std::min(samples, std::int64_t{2'000'000'000'000} / band_cells(length, radius));
    };
    const std::pair<const char*, std::function<void()>> parts[] = {
        {"ceiling",
         [&] {
           bench.measure_ceiling<33, false>();
           bench.measure_ceiling<33, true>();
           bench.measure_ceiling<25, false>();
           bench.measure_ceiling<25, true>();
         }},
        {"all windows",
         [&] {
           for (const auto& [length, radius] :
                {std::pair{128, 6}, {128, 12}, {128, 25}, {512, 51}, {1024, 102}})
             bench.search(length, radius, samples);
         }},
        {"band of 5 %",
         [&] {
           for (const std::int64_t length : kLengths)
             bench.search(length, band_radius(.05, length), windows_of(length, band_radius(.05, length)));
         }},
        {"band of 12 samples",
         [&] {
           for (const std::int64_t length : kLengths) bench.search(length, 12, windows_of(length, 12));
         }},
        {"every radius",
         [&] {
           for (std::int64_t radius = 0; radius < 64; ++radius)
             bench.search(256, radius, windows_of(256, radius));
         }},
        {"wide bands",
         [&] {
           for (const std::int64_t length : {512, 4096})
             for (const double fraction : {.1, .2, .3, .4, .5, .6, .8, 1.})
               bench.search(length, band_radius(fraction, length),
                            windows_of(length, band_radius(fraction, length)));
         }},
        {"no band",
         [&] {
           for (const std::int64_t length : kLengths)
             bench.search(length, length - 1,
                          std::min<std::int64_t>(1 << 20, windows_of(length, length - 1)));
         }},
        {"bounds",
         [&] {
           const std::vector<float> ecg = measured_ecg(), gait = measured_gait();
           for (const std::int64_t length : {128, 512})
             for (const std::int64_t limit : {1, 10, 100}) {
               for (const std::int64_t some : {samples / 10, samples})
                 bench.bounds_of_walks(some, length, limit);
               bench.bounds_of_cuts("ecg", ecg, .05, length, limit);
               bench.bounds_of_cuts("gait", gait, .1, length, limit);
             }
         }},
        {"streamed", [&] {
           for (const std::uint64_t memory : {std::uint64_t{16} << 20, std::uint64_t{64} << 20}) {
             bench.search(128, 6, samples, memory);
             bench.search(512, 51, samples, memory);
           }
         }}};
    bool any = false;
    for (const auto& [name, measure] : parts) {
      if (!part.empty() && part != name) continue;
      any = true;
      records.list(name);
      measure();
    }
    if (!any) throw BadInput("--part=" + part + ": there is no such part");
    if (!out.empty()) write_file_atomically(out, records.text());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
