// How many instructions of threads the simulator runs a second, on one core, with and without the race
// detector: on the papers' curvature kernels at 64^3, which load, compute and store shared memory, and on
// arithmetic alone. Every run is checked to be clean.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <filesystem>

#include "warploom/core/file.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

void report(benchmark::State& state, std::uint64_t thread_instructions, unsigned cores) {
  const auto all = static_cast<double>(thread_instructions);
  state.counters["thread_instructions_per_second_per_core"] =
      benchmark::Counter(all / cores, benchmark::Counter::kIsRate);
  state.counters["thread_instructions"] = all / static_cast<double>(state.iterations());
}

/// Arguments: races; CPU threads, of which the wall clock is told.
void BM_Curvature3D(benchmark::State& state, const char* module, const char* kernel, Dim grid, Dim block) {
  const std::string path = fmt::format("{}/bench/reuse/kernels/{}", WARPLOOM_SIM_KERNELS, module);
  if (!std::filesystem::exists(path)) return state.SkipWithError("needs nvcc");
  Machine machine(ptx::parse(read_file(path), module));
  constexpr int n = 64;
  std::vector<float> in(std::size_t{n} * n * n), out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>((i * 2654435761u) % 65536) / 65536.0f;
  Arguments arguments;
  arguments.add(machine.upload(std::span(in), "in")).add(machine.upload(std::span(out), "out"));
  arguments.add(n).add(n).add(n).add(1.0f).add(0.7f).add(1.3f);
  LaunchOptions options{.grid = grid, .block = block};
  options.races = state.range(0) != 0;
  options.run.threads = static_cast<unsigned>(state.range(1));
  std::uint64_t count = 0;
  for (auto _ : state) {
    const Outcome outcome = machine.launch(kernel, arguments, options);
    if (!outcome.clean()) return state.SkipWithError(outcome.findings.front().text().c_str());
    count += outcome.thread_instructions;
  }
  report(state, count, options.run.threads);
}
BENCHMARK_CAPTURE(BM_Curvature3D, tile_16x16x4, "curvature3d_tiles.sm_90a.ptx", "curvature3d_16x16x4",
                  Dim{4, 4, 16}, Dim{256})
    ->ArgNames({"races", "cpu_threads"})
    ->Args({0, 1})
    ->Args({1, 1})
    ->Args({1, 2})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Curvature3D, plane_16x16, "curvature3d.sm_90.ptx", "curvature3d_16x16", Dim{4, 4, 64},
                  Dim{16, 16})
    ->ArgNames({"races", "cpu_threads"})
    ->Args({0, 1})
    ->Args({1, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// Chains of fma and of integer operations, eight of each in a loop of 1000.
void BM_Arithmetic(benchmark::State& state) {
  std::string body;
  for (int i = 0; i < 8; ++i) body += "fma.rn.f32 %f1, %f1, %f2, %f3;\nmad.lo.s32 %r2, %r2, %r3, %r1;\n";
  Machine machine(ptx::parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<9>;\n"
      ".reg .f32 %f<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\ncvt.rn.f32.u32 %f1, %r1;\n"
      "mov.f32 %f2, 0f3F7FFFF0;\nmov.f32 %f3, 0f3A83126F;\nmov.u32 %r2, 7;\nmov.u32 %r3, 13;\nmov.u32 %r4, 0;\nLOOP:\n" +
      body +
      "add.s32 %r4, %r4, 1;\nsetp.lt.s32 %p1, %r4, 1000;\n@%p1 bra LOOP;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
      "cvt.rzi.s32.f32 %r5, %f1;\nadd.s32 %r5, %r5, %r2;\nst.global.u32 [%rd3], %r5;\nret;\n}\n"));
  Arguments arguments;
  arguments.add(machine.allocate(1024));
  std::uint64_t count = 0;
  for (auto _ : state) {
    const Outcome outcome = machine.launch("k", arguments, {.block = {256}, .run = {.threads = 1}});
    if (!outcome.clean()) return state.SkipWithError("not clean");
    count += outcome.thread_instructions;
  }
  report(state, count, 1);
}
BENCHMARK(BM_Arithmetic)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warploom::sim
