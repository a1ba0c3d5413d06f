// Question: how does the time of reuse::optimize grow with the length of the PTX, and what does it hold?
// Input: the example kernel (CUB block load, sort, scan, reduce, store; six objects that share), repeated
// under other names. Timed: parse, all passes, the independent check; ptxas not included. Every kernel is
// rewritten (--when always). Counters: lines of text a second; rss_per_byte, the growth of the process'
// peak resident memory a byte of text (meaningful for the largest size first run in a process).

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "warploom/core/file.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

/// The module's kernel, and the text in front of it.
std::pair<std::string, std::string> split_example() {
  const std::string text = read_file(WARPLOOM_EXAMPLES_DIR "/cub_tempstorage.sm_90.ptx");
  const std::size_t kernel = text.find(".visible .entry");
  return {text.substr(0, kernel), text.substr(kernel)};
}

std::string repeat_example(std::int64_t lines) {
  const auto [head, kernel] = split_example();
  std::string text = head;
  const auto lines_of = [](const std::string& s) { return std::count(s.begin(), s.end(), '\n'); };
  std::int64_t have = lines_of(head);
  for (int copy = 0; have < lines; ++copy) {
    std::string next = kernel;
    const std::string name = "rank_keys", renamed = fmt::format("rank_k{:04}", copy % 10000);
    for (std::size_t at = next.find(name); at != std::string::npos; at = next.find(name, at + renamed.size()))
      next.replace(at, name.size(), renamed);
    text += next;
    have += lines_of(next);
  }
  return text;
}

void BM_OptimizeLines(benchmark::State& state) {
  const std::string text = repeat_example(state.range(0));
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  Options options;
  options.when = When::always;
  options.assemble = false;
  std::size_t rewritten = 0;
  for (auto _ : state) {
    Result result = optimize(text, options);
    rewritten = static_cast<std::size_t>(
        std::count_if(result.report.kernels.begin(), result.report.kernels.end(),
                      [](const KernelReport& k) { return k.verdict == Verdict::rewritten; }));
    benchmark::DoNotOptimize(result);
  }
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  const auto lines = static_cast<double>(std::count(text.begin(), text.end(), '\n'));
  state.counters["lines/s"] =
      benchmark::Counter(lines * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["kernels"] = static_cast<double>(rewritten);
  state.counters["rss_per_byte"] =
      1024.0 * static_cast<double>(after.ru_maxrss - before.ru_maxrss) / static_cast<double>(text.size());
  state.counters["MB_text"] = static_cast<double>(text.size()) / 1e6;
}
BENCHMARK(BM_OptimizeLines)
    ->Arg(1'000)
    ->Arg(20'000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warploom::reuse
