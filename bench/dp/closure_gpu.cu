// gpu_bench_dp_closure: what does the triangular part of a block cost?
//
// Questions, a list of records each in the JSON:
//   latency     time of one block off the diagonal after the other in one thread block, without launches,
//   over edge,
//               threads and arithmetic: what the persistent kernel waits for
//   launches    time of a launch over method, edge and number of blocks, launches back to back: few blocks
//   show the
//               launch and the latency, many the throughput
//
// Fixed: random leaves and weights, data resident. Timed: between two events, median of --rounds. First,
// small problems of each arithmetic are solved with each edge and method and compared with the recurrence on
// the CPU: exits with 1 where a cell differs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/cuda/owners.hpp"
#include "dp/closure.cuh"
#include "dp/kernels.hpp"

namespace warploom::dp {
namespace {

/// Finishes block (i, j) `repeats` times from nothing. Launch: grid 1; block kThreads.
template <class T, Arithmetic kArithmetic, bool kFactors, int kEdge, int kThreads>
__global__ void __launch_bounds__(kThreads)
    repeat_closure(typename DeviceCells<T, kArithmetic>::Stored* cells, std::int32_t* bases, int* overflow,
                   std::int64_t points, const T* row_weight, const T* column_weight, const T* factors,
                   std::int64_t i, std::int64_t j, int repeats) {
  using Block = Closure<T, kArithmetic, kFactors, kEdge, kThreads>;
  __shared__ typename Block::Shared shared;
  const DeviceCells<T, kArithmetic> m{cells, bases, overflow, points};
  Terms<T> terms;
  terms.points = points;
  terms.row_weight = row_weight;
  terms.column_weight = column_weight;
  terms.factors = factors;
  for (int n = 0; n < repeats; ++n) {
    for (int cell = static_cast<int>(threadIdx.x); cell < kEdge * kEdge; cell += kThreads)
      shared.best.cells[cell / kEdge][cell % kEdge] = cell;
    Block::finish(m, terms, i, j, shared);
    __syncthreads();
  }
}

struct Settings {
  int rounds = 7;
  std::string json;
};

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

/// Seconds between two events around `work`.
template <class Work>
double seconds(Work work) {
  const CudaEvent start = make_event(), end = make_event();
  cuda_check(cudaEventRecord(start.get()), "cudaEventRecord");
  work();
  cuda_check(cudaGetLastError(), "launch");
  cuda_check(cudaEventRecord(end.get()), "cudaEventRecord");
  cuda_check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
  float milliseconds = 0;
  cuda_check(cudaEventElapsedTime(&milliseconds, start.get(), end.get()), "cudaEventElapsedTime");
  return milliseconds * 1e-3;
}

template <class V>
DeviceArray<V> upload(const std::vector<V>& values) {
  DeviceArray<V> copy = make_device<V>(std::max<std::size_t>(values.size(), 1));
  cuda_check(cudaMemcpy(copy.get(), values.data(), values.size() * sizeof(V), cudaMemcpyHostToDevice),
             "cudaMemcpy");
  return copy;
}

/// A random problem on the host and on the device.
template <class T, Arithmetic kArithmetic, bool kFactors>
struct Case {
  using Stored = typename DeviceCells<T, kArithmetic>::Stored;
  static constexpr bool kNarrow = kArithmetic == Arithmetic::narrow;
  std::vector<T> leaves, row_weight, column_weight, factors, cell_weight, scores;
  std::vector<std::uint8_t> codes;
  Terms<T> host, device;
  DeviceArray<T> leaves_, row_weight_, column_weight_, factors_, cell_weight_, scores_;
  DeviceArray<std::uint8_t> codes_;
  DeviceArray<Stored> cells;
  DeviceArray<std::int32_t> bases;
  DeviceArray<int> overflow;
  DeviceCells<T, kArithmetic> m;

  Case(std::int64_t points, unsigned seed, bool weights, bool pairing) {
    std::mt19937 random(seed);
    const int most = kNarrow ? 9 : 100;
    const auto fill = [&](std::vector<T>& values, std::int64_t count) {
      values.resize(static_cast<std::size_t>(count));
      for (T& value : values) {
        const double x = random() * 0x1p-32 * most;
        value = std::is_floating_point_v<T> ? T(x) : static_cast<T>(static_cast<int>(x));
      }
    };
    fill(leaves, points - 1);
    if (weights)
      fill(row_weight, points), fill(column_weight, points), fill(cell_weight, stored_cells(points));
    if (kFactors) fill(factors, points);
    if (pairing) {
      fill(scores, 16);
      for (std::size_t n = 0; n < 16; n += 3) scores[n] = kUnreachable<T>;
      for (std::int64_t n = 0; n + 1 < points; ++n) codes.push_back(static_cast<std::uint8_t>(random() % 4));
    }
    host.points = points;
    host.leaves = leaves.data();
    host.row_weight = weights ? row_weight.data() : nullptr;
    host.column_weight = weights ? column_weight.data() : nullptr;
    host.cell_weight = weights ? cell_weight.data() : nullptr;
    host.factors = kFactors ? factors.data() : nullptr;
    host.codes = pairing ? codes.data() : nullptr;
    host.scores = pairing ? scores.data() : nullptr;
    host.letters = 4;
    host.minimum_span = 4;
    device = host;
    const auto move = [](auto& owner, const auto& values, auto& pointer) {
      if (pointer == nullptr) return;
      owner = upload(values);
      pointer = owner.get();
    };
    move(leaves_, leaves, device.leaves);
    move(row_weight_, row_weight, device.row_weight);
    move(column_weight_, column_weight, device.column_weight);
    move(cell_weight_, cell_weight, device.cell_weight);
    move(factors_, factors, device.factors);
    move(codes_, codes, device.codes);
    move(scores_, scores, device.scores);
    cells = upload(std::vector<Stored>(static_cast<std::size_t>(stored_cells(points)), Stored(1)));
    bases = upload(std::vector<std::int32_t>(static_cast<std::size_t>(tile_place(0, tiles_along(points)))));
    overflow = upload(std::vector<int>(1));
    m = {cells.get(), bases.get(), overflow.get(), points};
  }

  /// The recurrence as Problem states it.
  std::vector<T> solve() const {
    const auto n = static_cast<std::size_t>(host.points);
    std::vector<T> table(n * n, kUnreachable<T>);
    for (std::size_t span = 1; span < n; ++span)
      for (std::size_t i = 0; i + span < n; ++i) {
        const std::size_t j = i + span;
        const auto row = static_cast<std::int64_t>(i), column = static_cast<std::int64_t>(j);
        if (span == 1) {
          table[i * n + j] = leaves[i];
          continue;
        }
        T best = kUnreachable<T>;
        if (host.may_pair(row, column))
          best = std::min<T>(best, (span == 2 ? T(0) : table[(i + 1) * n + j - 1]) + host.score(row, column));
        for (std::size_t k = i + 1; k < j; ++k) {
          // volatile: each operation is rounded by itself, whatever the compiler may fuse.
          volatile T sum = table[i * n + k] + table[k * n + j];
          if (kFactors) {
            volatile T product = factors[i] * factors[j];
            product = product * factors[k];
            sum = sum + product;
          }
          best = std::min(best, static_cast<T>(sum));
        }
        table[i * n + j] = finished(best, host.weight(row, column));
      }
    return table;
  }

  /// Cells that differ from `table`.
  std::int64_t differences(const std::vector<T>& table) const {
    std::vector<Stored> stored(static_cast<std::size_t>(stored_cells(host.points)));
    std::vector<std::int32_t> base(static_cast<std::size_t>(tile_place(0, tiles_along(host.points))));
    int far = 0;
    cuda_check(cudaMemcpy(stored.data(), cells.get(), stored.size() * sizeof(Stored), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    cuda_check(cudaMemcpy(base.data(), bases.get(), base.size() * 4, cudaMemcpyDeviceToHost), "cudaMemcpy");
    cuda_check(cudaMemcpy(&far, overflow.get(), sizeof far, cudaMemcpyDeviceToHost), "cudaMemcpy");
    std::int64_t count = far;
    for (std::int64_t i = 0; i < host.points; ++i)
      for (std::int64_t j = i + 1; j < host.points; ++j) {
        T cell = stored[static_cast<std::size_t>(cell_place(i, j))];
        if (kNarrow) cell += base[static_cast<std::size_t>(tile_place(i / kTile, j / kTile))];
        count += cell != table[static_cast<std::size_t>(i * host.points + j)];
      }
    return count;
  }
};

/// Makes the calls of decompose() as launches.
template <class T, Arithmetic kArithmetic, bool kFactors>
class Launches final : public Executor {
 public:
  Launches(const Case<T, kArithmetic, kFactors>& problem, Triangular method)
      : problem_(problem), method_(method) {}
  void rectangular(const Rectangular& call) override {
    launch_rectangular<T, kArithmetic, kFactors>(problem_.m, problem_.device, call, {}, 1, nullptr);
  }
  void triangular(const TriangularBlock& call) override {
    launch_triangular<T, kArithmetic, kFactors>(problem_.m, problem_.device, call, method_, nullptr);
  }

 private:
  const Case<T, kArithmetic, kFactors>& problem_;
  Triangular method_;
};

const char* text(Triangular method) {
  return method == Triangular::blocked ? "blocked" : method == Triangular::merged ? "merged" : "direct";
}

/// Whether every cell is right, in all ways to compute it.
template <class T, Arithmetic kArithmetic, bool kFactors>
bool check(const char* type) {
  bool right = true;
  unsigned seed = 0;
  for (const std::int64_t points : {2, 17, 65, 150, 300})
    for (const bool weights : {false, true})
      for (const bool pairing : {false, true}) {
        Case<T, kArithmetic, kFactors> problem(points, ++seed, weights, pairing);
        const std::vector<T> table = problem.solve();
        for (const int edge : {16, 32, 64, 128, 256, 512})
          for (const Triangular method : {Triangular::blocked, Triangular::merged, Triangular::direct}) {
            if (kArithmetic == Arithmetic::narrow && (edge < 64 || method != Triangular::blocked)) continue;
            if (method == Triangular::merged && edge > 64) continue;
            Launches<T, kArithmetic, kFactors> executor(problem, method);
            decompose(points, edge, Decomposition::bottom_up, false, executor);
            const std::int64_t wrong = problem.differences(table);
            if (wrong == 0) continue;
            std::fprintf(stderr, "%s%s: %lld cells of %lld points are wrong, edge %d, %s, %s, %s\n", type,
                         kFactors ? " with factors" : "", static_cast<long long>(wrong),
                         static_cast<long long>(points), edge, text(method),
                         weights ? "weights" : "no weights", pairing ? "pairing" : "no pairing");
            right = false;
          }
      }
  return right;
}

template <class T, Arithmetic kArithmetic, bool kFactors, int kEdge, int kThreads>
void latency(const char* type, const Settings& settings, std::vector<std::string>& records) {
  const Case<T, kArithmetic, kFactors> problem(3 * kEdge, 1, true, false);
  Launches<T, kArithmetic, kFactors> executor(problem, Triangular::blocked);
  decompose(3 * kEdge, kArithmetic == Arithmetic::narrow ? 64 : kEdge, Decomposition::bottom_up, false,
            executor);
  const auto run = [&](int repeats) {
    return seconds([&] {
      repeat_closure<T, kArithmetic, kFactors, kEdge, kThreads><<<1, kThreads>>>(
          problem.m.cells, problem.m.bases, problem.m.overflow, problem.m.points, problem.device.row_weight,
          problem.device.column_weight, problem.device.factors, 0, 2 * kEdge, repeats);
    });
  };
  std::vector<double> samples;
  for (int round = 0; round < settings.rounds; ++round) samples.push_back((run(1100) - run(100)) / 1000);
  char record[200];
  std::snprintf(record, sizeof record,
                R"({"type": "%s", "factors": %s, "edge": %d, "threads": %d, "us": %.3f})", type,
                kFactors ? "true" : "false", kEdge, kThreads, median(samples) * 1e6);
  records.push_back(record);
}

template <class T, Arithmetic kArithmetic, bool kFactors>
void launches(const char* type, const Settings& settings, std::vector<std::string>& records) {
  for (const int edge : {16, 32, 64, 128, 256, 512})
    for (const std::int64_t count : {1, 128, 1024}) {
      const std::int64_t points = edge * (count + 1);
      if (points > 70'000) continue;
      const Case<T, kArithmetic, kFactors> problem(points, 2, false, false);
      for (const Triangular method : {Triangular::blocked, Triangular::merged, Triangular::direct}) {
        if (kArithmetic == Arithmetic::narrow && (edge < 64 || method != Triangular::blocked)) continue;
        if (method == Triangular::merged && edge > 64) continue;
        Launches<T, kArithmetic, kFactors> executor(problem, method);
        executor.triangular({.i = 0, .j = 0, .edge = edge, .count = count + 1, .fresh = true});
        const TriangularBlock call{.i = 0, .j = edge, .edge = edge, .count = count, .fresh = true};
        std::vector<double> samples;
        const int repeats = 20;
        for (int round = 0; round < settings.rounds; ++round)
          samples.push_back(seconds([&] {
                              for (int n = 0; n < repeats; ++n) executor.triangular(call);
                            }) /
                            repeats);
        const double us = median(samples) * 1e6;
        char record[240];
        std::snprintf(
            record, sizeof record,
            R"({"type": "%s", "factors": %s, "method": "%s", "edge": %d, "blocks": %lld, "us": %.3f, )"
            R"("us_a_block": %.4f})",
            type, kFactors ? "true" : "false", text(method), edge, static_cast<long long>(count), us,
            us / static_cast<double>(count));
        records.push_back(record);
      }
    }
}

std::string list(const std::vector<std::string>& records) {
  std::string text;
  for (const std::string& record : records) text += (text.empty() ? "\n    " : ",\n    ") + record;
  return "[" + text + "]";
}

int run(const Settings& settings) {
  bool right = true;
  right &= check<std::int32_t, Arithmetic::plain, false>("int32");
  right &= check<std::int32_t, Arithmetic::plain, true>("int32");
  right &= check<std::int32_t, Arithmetic::narrow, false>("int16");
  right &= check<std::int64_t, Arithmetic::plain, false>("int64");
  right &= check<std::int64_t, Arithmetic::plain, true>("int64");
  right &= check<float, Arithmetic::plain, false>("float32");
  right &= check<float, Arithmetic::plain, true>("float32");
  right &= check<float, Arithmetic::non_negative, false>("float32, non-negative");
  right &= check<float, Arithmetic::non_negative, true>("float32, non-negative");
  right &= check<double, Arithmetic::plain, false>("float64");
  right &= check<double, Arithmetic::plain, true>("float64");
  if (!right) return 1;

  std::vector<std::string> latencies, launched;
  latency<std::int32_t, Arithmetic::plain, false, 16, 64>("int32", settings, latencies);
  latency<std::int32_t, Arithmetic::plain, false, 32, 64>("int32", settings, latencies);
  latency<std::int32_t, Arithmetic::plain, false, 32, 128>("int32", settings, latencies);
  latency<std::int32_t, Arithmetic::plain, false, 64, 64>("int32", settings, latencies);
  latency<std::int32_t, Arithmetic::plain, false, 64, 128>("int32", settings, latencies);
  latency<std::int32_t, Arithmetic::plain, false, 64, 256>("int32", settings, latencies);
  latency<std::int32_t, Arithmetic::narrow, false, 64, 256>("int16", settings, latencies);
  latency<float, Arithmetic::plain, true, 32, 128>("float32", settings, latencies);
  latency<float, Arithmetic::plain, true, 64, 256>("float32", settings, latencies);
  latency<double, Arithmetic::plain, true, 32, 128>("float64", settings, latencies);
  latency<double, Arithmetic::plain, true, 64, 256>("float64", settings, latencies);
  launches<std::int32_t, Arithmetic::plain, false>("int32", settings, launched);
  launches<std::int32_t, Arithmetic::narrow, false>("int16", settings, launched);
  launches<double, Arithmetic::plain, true>("float64", settings, launched);

  cudaDeviceProp device{};
  cuda_check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  const std::string json = "{\n  \"device\": \"" + std::string(device.name) +
                           "\",\n  \"latency\": " + list(latencies) + ",\n  \"launches\": " + list(launched) +
                           "\n}\n";
  std::fputs(json.c_str(), stdout);
  if (!settings.json.empty()) std::ofstream(settings.json) << json;
  return 0;
}

}  // namespace
}  // namespace warploom::dp

int main(int count, char** arguments) {
  warploom::dp::Settings settings;
  for (int n = 1; n < count; ++n) {
    const std::string argument = arguments[n];
    const auto is = [&](std::string_view option) { return argument.starts_with(option); };
    const std::string value = argument.substr(argument.find('=') + 1);
    if (is("--rounds=")) {
      settings.rounds = std::max(1, std::atoi(value.c_str()));
    } else if (is("--benchmark_out=")) {
      settings.json = value;
    } else if (!is("--benchmark_out_format=")) {  // `./dev bench` says json, which it is
      std::fprintf(stderr, "usage: %s [--rounds=N] [--benchmark_out=FILE]\n", arguments[0]);
      return 2;
    }
  }
  try {
    return warploom::dp::run(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
