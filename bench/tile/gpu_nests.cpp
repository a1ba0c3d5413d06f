// How fast is the CUDA that `warploom tile` writes? Each nest beside what its operations and bytes need at
// least, with copy bandwidth and cuBLAS measured in the same run.
//   gpu_bench_tile [--benchmark_out=FILE] [--only=NEST]
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "../cublas.hpp"
#include "../json_records.hpp"
#include "device_floats.hpp"
#include "gpu_benchmark.hpp"
#include "tile/cases.hpp"
#include "warploom/core/cuda_check.cuh"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/tile/gpu.hpp"

namespace warploom::tile {
namespace {

constexpr int warm_ups = 3, repetitions = 15;

/// Median and least milliseconds.
struct Times {
  double median = 0, least = 0;
};

Times measure(const std::function<void()>& work) {
  cudaEvent_t begin, end;
  cuda_check(cudaEventCreate(&begin), "event");
  cuda_check(cudaEventCreate(&end), "event");
  std::vector<double> all;
  for (int k = 0; k < warm_ups + repetitions; ++k) {
    cuda_check(cudaEventRecord(begin), "event");
    work();
    cuda_check(cudaEventRecord(end), "event");
    cuda_check(cudaEventSynchronize(end), "benchmark");
    float ms = 0;
    cuda_check(cudaEventElapsedTime(&ms, begin, end), "event");
    if (k >= warm_ups) all.push_back(ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(all.begin(), all.end());
  return {all[all.size() / 2], all.front()};
}

/// A nest at one size: operations, and bytes that have to be read or written once.
struct Job {
  std::string nest;
  std::vector<int> sizes;
  double operations = 0, elements = 0;
};

std::vector<Job> jobs() {
  std::vector<Job> all;
  const auto gemm = [&](double i, double j, double k) {
    all.push_back({"gemm", {int(i), int(j), int(k)}, 2 * i * j * k, i * k + k * j + 2 * i * j});
  };
  gemm(8192, 8192, 8192);
  gemm(2000, 2300, 2600);
  const double n = 2600, m = 2000;  // of PolyBench's EXTRALARGE
  all.push_back({"syrk", {2600, 2000}, n * (n + 1) * m, n * m + n * (n + 1)});
  all.push_back({"syr2k", {2600, 2000}, 2 * n * (n + 1) * m, 2 * n * m + n * (n + 1)});
  all.push_back({"trmm", {2000, 2600}, 2000. * 1999 * 2600, 2000. * 2000 / 2 + 2 * 2000. * 2600});
  all.push_back({"doitgen", {250, 220, 270}, 2. * 250 * 220 * 270 * 270, 2. * 250 * 220 * 270 + 270 * 270});
  all.push_back({"two_matrix_products",
                 {1600, 1800, 2200, 2400},
                 2. * 1600 * 1800 * 2200 + 2. * 1600 * 1800 * 2400,
                 1600. * 2200 + 2200. * 1800 + 1800. * 2400 + 2. * 1600 * 2400});
  // Matrices that have to pass at least, and operations for each of their elements.
  const auto stream = [&](const char* nest, std::vector<int> sizes, double matrices, double operations) {
    const double elements = double(sizes[0]) * sizes[sizes.size() > 1 ? 1 : 0];
    all.push_back({nest, sizes, operations * elements, matrices * elements});
  };
  for (const int size : {16384, 0}) {
    stream("gesummv", {size ? size : 2800}, 2, 4);
    stream("atax", size ? std::vector{size, size} : std::vector{1800, 2200}, 1, 4);
    stream("bicg", size ? std::vector{size, size} : std::vector{1800, 2200}, 1, 4);
    stream("mvt", {size ? size : 4000}, 1, 4);
    stream("gemver", {size ? size : 4000}, 4, 8);  // A is read and written, then read twice
    stream("transpose", size ? std::vector{size, size} : std::vector{4000, 4000}, 2, 0);
  }
  all.push_back({"transpose", {16381, 16003}, 0, 2. * 16381 * 16003});
  all.push_back({"jacobi_2d", {10, 8192}, 10. * 2 * 5 * 8190 * 8190, 10. * 4 * 8192 * 8192});
  // Waves, at PolyBench's LARGE; floyd_warshall at MEDIUM, where it has 499,500 launches.
  all.push_back({"seidel_2d", {500, 2000}, 500. * 9 * 1998 * 1998, 500. * 2 * 2000 * 2000});
  all.push_back({"nussinov", {2500}, 2. * 2500 * 2500 * 2500 / 6, 2500. * 2500});
  all.push_back({"floyd_warshall", {500}, 2. * 500 * 500 * 500, 500. * 2 * 500 * 500});
  const auto signal = [&](const char* nest, std::vector<int> sizes, double transforms, double length) {
    const double elements = transforms * length * length;
    all.push_back({nest, std::move(sizes), 2 * elements, elements});
  };
  signal("signal", {256, 4096}, 256, 4096);
  // Symbolic sizes, so that the signal is in memory, beside known ones, where it is in constant memory.
  signal("signal_columns", {256, 4096, 4096}, 256, 4096);
  signal("signal_columns", {6, 16384, 16384}, 6, 16384);
  signal("signal_6x16384", {}, 6, 16384);
  signal("signal_columns", {2, 30000, 30000}, 2, 30000);
  signal("signal_2x30000", {}, 2, 30000);
  return all;
}

std::string sizes_text(const std::vector<int>& sizes) {
  std::string text;
  for (const int size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

/// @return the file's record
std::string run(const Job& job, const Case& nest, double copy_gb_s) {
  const Region region = read_source(nest.text, nest.name, {}).front();
  std::map<std::string, std::int64_t> sizes;
  for (std::size_t k = 0; k < region.sizes.size(); ++k) sizes[region.sizes[k]] = job.sizes[k];
  std::vector<std::unique_ptr<DeviceFloats>> owners;
  std::vector<void*> arrays;
  std::vector<double> scalars;
  for (const std::string& name : region.parameters) {
    const Variable* variable = find_variable(region, name);
    if (!variable) continue;
    if (variable->extents.empty()) {
      scalars.push_back(0.5);
      continue;
    }
    std::size_t count = 1;
    for (const Expression& extent : variable->extents)
      count *= static_cast<std::size_t>(value_of(extent, sizes));
    owners.push_back(std::make_unique<DeviceFloats>(count));
    owners.back()->fill(static_cast<unsigned>(owners.size()));
    arrays.push_back(owners.back()->data);
  }
  int status = 0;
  const Times times = measure([&] { status |= nest.cuda(job.sizes.data(), scalars.data(), arrays.data()); });
  if (status != 0) throw Internal(std::string(nest.name) + ": a launch failed");
  const Nest analysed = Nest::analyse(region);
  const GpuOptions options;
  double predicted = 0;
  std::string bound;
  for (const Cost& one :
       cost(analysed, map_to_gpu(analysed, parallelise(analysed), options), options, sizes)) {
    predicted += one.milliseconds;
    bound += (bound.empty() ? "" : ", ") + one.bound;
  }
  const double bytes = 4 * job.elements, gb_s = bytes / times.median / 1e6;
  return "{\"nest\": \"" + std::string(nest.name) + "\", \"sizes\": " + sizes_text(job.sizes) +
         ", \"ms\": " + json_number(times.median) + ", \"least_ms\": " + json_number(times.least) +
         ", \"predicted_ms\": " + json_number(predicted) + ", \"predicted_bounds\": \"" + bound + "\"" +
         ", \"tera_operations_per_second\": " + json_number(job.operations / times.median / 1e9) +
         ", \"gb_per_second\": " + json_number(gb_s) +
         ", \"of_copy_bandwidth\": " + json_number(gb_s / copy_gb_s) + "}";
}

double copy_bandwidth(JsonRecords& records) {
  const std::int64_t count = std::int64_t{1} << 28;  // floats: 1 GiB
  DeviceFloats from(count), to(count);
  from.fill(1);
  const Times times = measure([&] { copy_floats(to, from); });
  const double gb_s = 8. * double(count) / times.median / 1e6;
  records.add("{\"what\": \"copy of 1 GiB by float4\", \"ms\": " + json_number(times.median) +
              ", \"gb_per_second\": " + json_number(gb_s) + "}");
  return gb_s;
}

void cublas(JsonRecords& records) {
  const CuBlas* blas = CuBlas::open();
  if (!blas)
    return std::fprintf(stderr, "no libcublas.so.13 or .12 on LD_LIBRARY_PATH: no rows of cuBLAS\n"), void();
  for (const int n : {8192, 4096}) {
    const std::int64_t count = std::int64_t{n} * n;
    DeviceFloats a(count), b(count), c(count);
    a.fill(1);
    b.fill(2);
    bool good = true;
    const Times times = measure([&] { good &= blas->multiply(a.data, b.data, c.data, n, nullptr); });
    if (!good) throw Internal("cublasSgemm failed");
    records.add("{\"what\": \"cuBLAS SGEMM, TF32 off\", \"sizes\": " + sizes_text({n, n, n}) +
                ", \"ms\": " + json_number(times.median) + ", \"tera_operations_per_second\": " +
                json_number(2. * n * n * n / times.median / 1e9) + "}");
  }
}

void run_all(const Asked& asked) {
  require_wanted(asked, jobs());
  JsonRecords records;
  add_device(records);
  records.list("ceilings");
  const double copy_gb_s = copy_bandwidth(records);
  cublas(records);
  records.list("nests");
  std::vector<Case> nests = cases();
  nests.insert(nests.end(), cases_of_known_size().begin(), cases_of_known_size().end());
  for (const Job& job : jobs())
    for (const Case& nest : nests)
      if ((nest.name == job.nest || nest.name == "kernel_" + job.nest) && asked.wants(job.nest))
        records.add(run(job, nest, copy_gb_s));
  if (!asked.out.empty()) write_file_atomically(asked.out, records.text());
}

}  // namespace
}  // namespace warploom::tile

int main(int count, char** words) {
  return warploom::tile::answer("gpu_bench_tile", count, words, warploom::tile::run_all);
}
