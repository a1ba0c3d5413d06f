// Does a GPU pay for each of PolyBench's nests? The CUDA that `warploom tile` writes, at LARGE, data on the
// device, beside one core of the same machine that runs the source as it is (-O3 -march=native), with the
// bandwidth of copies measured in the same run. Each run starts from the same data; what comes out is
// compared.
//   gpu_bench_polybench [--benchmark_out=FILE] [--only=NEST]
#include <cuda_runtime.h>

#include <chrono>
#include <string>

#include "../json_records.hpp"
#include "device_floats.hpp"
#include "gpu_benchmark.hpp"
#include "tile/case_memory.hpp"
#include "warploom/core/cuda_check.cuh"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/tile/gpu.hpp"

namespace warploom::tile {
namespace {

using Sizes = std::map<std::string, std::int64_t>;

struct Job {
  std::string nest;
  Sizes sizes;
};

/// PolyBench/C 4.2.1, LARGE_DATASET, and floyd-warshall at n = 2000 beside copies of its matrix.
std::vector<Job> jobs() {
  return {{"two_matrix_products", {{"ni", 800}, {"nj", 900}, {"nk", 1100}, {"nl", 1200}}},
          {"three_matrix_products", {{"ni", 800}, {"nj", 900}, {"nk", 1000}, {"nl", 1100}, {"nm", 1200}}},
          {"adi", {{"tsteps", 500}, {"n", 1000}}},
          {"atax", {{"m", 1900}, {"n", 2100}}},
          {"bicg", {{"m", 1900}, {"n", 2100}}},
          {"cholesky", {{"n", 2000}}},
          {"correlation", {{"m", 1200}, {"n", 1400}}},
          {"covariance", {{"m", 1200}, {"n", 1400}}},
          {"deriche", {{"w", 4096}, {"h", 2160}}},
          {"doitgen", {{"nq", 140}, {"nr", 150}, {"np", 160}}},
          {"durbin", {{"n", 2000}}},
          {"fdtd_2d", {{"tmax", 500}, {"nx", 1000}, {"ny", 1200}}},
          {"floyd_warshall", {{"n", 2800}}},
          {"floyd_warshall", {{"n", 2000}}},
          {"gemm", {{"ni", 1000}, {"nj", 1100}, {"nk", 1200}}},
          {"gemver", {{"n", 2000}}},
          {"gesummv", {{"n", 1300}}},
          {"gramschmidt", {{"m", 1000}, {"n", 1200}}},
          {"heat_3d", {{"tsteps", 500}, {"n", 120}}},
          {"jacobi_1d", {{"tsteps", 500}, {"n", 2000}}},
          {"jacobi_2d", {{"tsteps", 500}, {"n", 1300}}},
          {"lu", {{"n", 2000}}},
          {"ludcmp", {{"n", 2000}}},
          {"mvt", {{"n", 2000}}},
          {"nussinov", {{"n", 2500}}},
          {"seidel_2d", {{"tsteps", 500}, {"n", 2000}}},
          {"symm", {{"m", 1000}, {"n", 1200}}},
          {"syr2k", {{"m", 1000}, {"n", 1200}}},
          {"syrk", {{"m", 1000}, {"n", 1200}}},
          {"trisolv", {{"n", 2000}}},
          {"trmm", {{"m", 1000}, {"n", 1200}}}};
}

struct Times {
  double median = 0, least = 0;
};
Times times_of(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  return {ms[ms.size() / 2], ms.front()};
}

/// One core; `result` is left as the first run left it.
Times on_cpu(const Region& region, const Memory& memory, CaseCall call, CaseMemory& result) {
  constexpr double kEnough = 300;  // ms: what takes longer runs once
  std::vector<double> all;
  for (int k = 0; k < 5 && (k == 0 || all[0] < kEnough); ++k) {
    CaseMemory again(region, memory);
    CaseMemory& here = k == 0 ? result : again;
    const auto begin = std::chrono::steady_clock::now();
    if (here.call(call) != 0) throw Internal("a nest failed");
    all.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  return times_of(std::move(all));
}

/// `data` is left as a run left it.
Times on_gpu(CaseMemory& data, CaseCall call) {
  constexpr double kEnough = 3000;  // ms in all
  cudaEvent_t begin, end;
  cuda_check(cudaEventCreate(&begin), "event");
  cuda_check(cudaEventCreate(&end), "event");
  std::vector<void*> arrays;
  for (const auto& buffer : data.buffers()) {
    arrays.push_back(nullptr);
    cuda_check(cudaMalloc(&arrays.back(), buffer.size()), "memory of a nest");
  }
  std::vector<double> all;
  double sum = 0;
  int status = 0;
  for (int k = 0; k < 12 && (k < 2 || sum < kEnough); ++k) {
    for (std::size_t a = 0; a < arrays.size(); ++a)
      cuda_check(
          cudaMemcpy(arrays[a], data.buffers()[a].data(), data.buffers()[a].size(), cudaMemcpyHostToDevice),
          "data");
    cuda_check(cudaEventRecord(begin), "event");
    status |= call(data.sizes().data(), data.scalars().data(), arrays.data());
    cuda_check(cudaEventRecord(end), "event");
    cuda_check(cudaEventSynchronize(end), "a nest");
    float ms = 0;
    cuda_check(cudaEventElapsedTime(&ms, begin, end), "event");
    sum += ms;
    if (k > 0) all.push_back(ms);  // the first loads the kernels
  }
  if (status != 0) throw Internal("a launch failed");
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    cuda_check(
        cudaMemcpy(data.buffers()[a].data(), arrays[a], data.buffers()[a].size(), cudaMemcpyDeviceToHost),
        "result");
    cudaFree(arrays[a]);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return times_of(std::move(all));
}

double copy_bandwidth(JsonRecords& records) {
  const std::int64_t count = std::int64_t{1} << 28;  // floats: 1 GiB
  DeviceFloats from(count), to(count);
  from.fill(1);
  cudaEvent_t begin, end;
  cuda_check(cudaEventCreate(&begin), "event");
  cuda_check(cudaEventCreate(&end), "event");
  std::vector<double> all;
  for (int k = 0; k < 12; ++k) {
    cuda_check(cudaEventRecord(begin), "event");
    copy_floats(to, from);
    cuda_check(cudaEventRecord(end), "event");
    cuda_check(cudaEventSynchronize(end), "copies");
    float ms = 0;
    cuda_check(cudaEventElapsedTime(&ms, begin, end), "event");
    if (k > 1) all.push_back(ms);
  }
  const double ms = times_of(std::move(all)).median, gb_s = 8. * double(count) / ms / 1e6;
  records.add("{\"what\": \"copy of 1 GiB by float4\", \"ms\": " + json_number(ms) +
              ", \"gb_per_second\": " + json_number(gb_s) + "}");
  return gb_s;
}

std::string run(const Job& job, const Case& nest, double copy_gb_s) {
  const Region region = read_source(nest.text, nest.name, {}).front();
  const Memory memory = make_case_memory(region, job.sizes, 3);
  CaseMemory by_cpu(region, memory), by_gpu(region, memory);
  const Times cpu = on_cpu(region, memory, nest.source, by_cpu), gpu = on_gpu(by_gpu, nest.cuda);
  double apart = 0;
  for (std::size_t a = 0; a < by_cpu.buffers().size(); ++a)
    apart = std::max(apart, relative_difference(by_cpu.values(a), by_gpu.values(a)));
  const Nest analysed = Nest::analyse(region);
  const GpuOptions options;
  const GpuProgram program = map_to_gpu(analysed, parallelise(analysed), options);
  double predicted = 0;
  for (const Cost& one : cost(analysed, program, options, job.sizes)) predicted += one.milliseconds;
  std::string patterns, sizes;
  for (const Kernel& kernel : program.kernels) patterns += (patterns.empty() ? "" : ", ") + kernel.pattern;
  for (const std::string& size : region.sizes)
    sizes += (sizes.empty() ? "\"" : ", \"") + size + "\": " + std::to_string(job.sizes.at(size));
  std::string record =
      "{\"nest\": \"" + job.nest + "\", \"sizes\": {" + sizes + "}, \"gpu_ms\": " + json_number(gpu.median) +
      ", \"gpu_least_ms\": " + json_number(gpu.least) + ", \"one_core_ms\": " + json_number(cpu.median) +
      ", \"times_as_fast\": " + json_number(cpu.median / gpu.median) +
      ", \"predicted_ms\": " + json_number(predicted) + ", \"largest_difference\": " + json_number(apart) +
      ", \"patterns\": \"" + patterns + "\"";
  if (job.nest == "floyd_warshall") {
    const double n = static_cast<double>(job.sizes.at("n")), copies_ms = n * 2 * 4 * n * n / copy_gb_s / 1e6;
    record += ", \"n_copies_ms\": " + json_number(copies_ms) +
              ", \"times_its_copies\": " + json_number(gpu.median / copies_ms);
  }
  return record + "}";
}

void run_all(const Asked& asked) {
  require_wanted(asked, jobs());
  JsonRecords records;
  add_device(records);
  records.list("ceilings");
  const double copy_gb_s = copy_bandwidth(records);
  records.list("nests");
  for (const Job& job : jobs())
    for (const Case& nest : cases())
      if (nest.name == job.nest && asked.wants(job.nest)) {
        records.add(run(job, nest, copy_gb_s));
        if (!asked.out.empty()) write_file_atomically(asked.out, records.text());  // what is there is kept
      }
}

}  // namespace
}  // namespace warploom::tile

int main(int count, char** words) {
  return warploom::tile::answer("gpu_bench_polybench", count, words, warploom::tile::run_all);
}
