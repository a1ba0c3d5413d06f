// Question: how do the time and the memory of ptx::parse grow with the length of the text?
// Timed: parse() of a text in memory, the copy of the text not included. Counters: lines and bytes of
// text per second; peak_per_byte, the most heap bytes held at once, text included, a byte of text.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "warploom/ptx/module.hpp"

namespace {
std::atomic<std::size_t> heap_now = 0, heap_peak = 0;
}

void* operator new(std::size_t size) {
  void* p = std::malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  heap_now += malloc_usable_size(p);
  heap_peak = std::max(heap_peak.load(), heap_now.load());
  return p;
}
// Not inlined, or gcc takes malloc and free for a mismatch with the operators that call them.
[[gnu::noinline]] void operator delete(void* p) noexcept {
  heap_now -= malloc_usable_size(p);
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

namespace warploom::ptx {
namespace {

/// The head of a kernel and as many registers as `loops` loops of statements() use.
std::string kernel_head(std::size_t kernel, std::size_t loops) {
  return fmt::format(
      "\t// .globl\tkernel_{0}\n.visible .entry kernel_{0}(\n\t.param .u64 kernel_{0}_param_0,\n\t.param "
      ".u32 kernel_{0}_param_1\n)\n.maxntid 256, 1, 1\n{{\n\t.reg .pred \t%p<{1}>;\n\t.reg .b32 \t%r<{2}>;\n\t.reg .f32 "
      "\t%f<{3}>;\n\t.reg .b64 \t%rd<{1}>;\n\t// demoted variable\n\t.shared .align 4 .b8 "
      "kernel_{0}_tile[4096];\n\n"
      "\tld.param.u64 \t%rd0, [kernel_{0}_param_0];\n",
      kernel, loops + 1, 7 * loops + 1, 4 * loops + 1);
}

/// One loop, 20 lines, in the manner of nvcc -lineinfo.
std::string loop(std::size_t kernel, std::size_t n) {
  const std::size_t r = 7 * n, f = 4 * n;
  std::string text = fmt::format("$L__BB{}_{}:\n\t.loc\t1 {} 5\n", kernel, n, 10 + n % 500);
  text += fmt::format("\tmov.u32 \t%r{}, %tid.x;\n\tmov.u32 \t%r{}, %ctaid.x;\n", r, r + 1);
  text += fmt::format("\tmad.lo.s32 \t%r{}, %r{}, 256, %r{};\n\tshl.b32 \t%r{}, %r{}, 2;\n", r + 2, r + 1, r,
                      r + 3, r);
  text += fmt::format("\tmov.u32 \t%r{}, kernel_{}_tile;\n\tadd.s32 \t%r{}, %r{}, %r{};\n", r + 4, kernel,
                      r + 5, r + 4, r + 3);
  text += fmt::format("\tmul.wide.s32 \t%rd{}, %r{}, 4;\n\tld.global.nc.f32 \t%f{}, [%rd{}+128];\n", n + 1,
                      r + 2, f, n + 1);
  text += fmt::format("\tst.shared.f32 \t[%r{}], %f{};\n\tbar.sync \t0;\n\t.loc\t1 {} 9\n", r + 5, f,
                      11 + n % 500);
  text += fmt::format("\tld.shared.v2.f32 \t{{%f{}, %f{}}}, [%r{}+-8];\n", f + 1, f + 2, r + 5);
  text += fmt::format("\tfma.rn.f32 \t%f{}, %f{}, 0f3F800000, %f{};\n\tst.global.f32 \t[%rd{}+256], %f{};\n",
                      f + 3, f + 1, f + 2, n + 1, f + 3);
  text += fmt::format("\tbar.sync \t0;\n\tadd.s32 \t%r{}, %r{}, -1;\n\tsetp.ne.s32 \t%p{}, %r{}, 0;\n", r + 6,
                      r + 2, n, r + 6);
  return text + fmt::format("\t@%p{} bra \t$L__BB{}_{};\n", n, kernel, n);
}

/// About `lines` lines, in kernels of `loops` loops.
std::string generate(std::size_t lines, std::size_t loops) {
  std::string text = ".version 8.8\n.target sm_90\n.address_size 64\n\n";
  for (std::size_t line = 0, kernel = 0; line < lines; ++kernel) {
    text += kernel_head(kernel, loops);
    for (std::size_t n = 0; n < loops; ++n) text += loop(kernel, n);
    text += "\tret;\n}\n\n";
    line += 20 * loops + 18;
  }
  return text;
}

void parse_text(benchmark::State& state, const std::string& text) {
  const auto lines = static_cast<double>(std::count(text.begin(), text.end(), '\n'));
  std::size_t peak = 0;
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    std::string copy = text;
    const std::size_t before = heap_now - copy.capacity();
    heap_peak = heap_now.load();
    state.ResumeTiming();
    Module module = parse(std::move(copy));
    benchmark::DoNotOptimize(module);
    state.PauseTiming();
    peak = std::max(peak, heap_peak - before);
    module = {};
    state.ResumeTiming();
  }
  state.counters["lines"] =
      benchmark::Counter(lines * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["peak_per_byte"] = static_cast<double>(peak) / static_cast<double>(text.size());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.SetComplexityN(static_cast<benchmark::IterationCount>(lines));
}

/// Kernels of 418 lines.
void BM_ParseManyKernels(benchmark::State& state) {
  parse_text(state, generate(static_cast<std::size_t>(state.range(0)), 20));
}

/// The whole text is one kernel, every register of it used: the tables are as large as they get.
void BM_ParseOneKernel(benchmark::State& state) {
  const auto lines = static_cast<std::size_t>(state.range(0));
  parse_text(state, generate(lines, lines / 20));
}

void lengths(benchmark::internal::Benchmark* b) {
  b->Arg(1'000)
      ->Arg(10'000)
      ->Arg(20'000)
      ->Arg(100'000)
      ->Arg(1'000'000)
      ->Unit(benchmark::kMillisecond)
      ->Complexity(benchmark::oN);
}
BENCHMARK(BM_ParseManyKernels)->Apply(lengths);
BENCHMARK(BM_ParseOneKernel)->Apply(lengths);

}  // namespace
}  // namespace warploom::ptx
