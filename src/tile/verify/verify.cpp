#include "warploom/tile/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "warploom/core/file.hpp"
#include "warploom/core/process.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/run.hpp"
#include "warploom/reuse/reuse.hpp"
#include "warploom/tile/rounding.hpp"

namespace warploom::tile {
namespace {

constexpr double kLargeBound = 0.01;  // of which a comparison says little

constexpr std::chrono::minutes kCompileTime(30);

std::string compile(const std::string& cuda, const std::string& architecture) {
  const std::optional<std::filesystem::path> nvcc = find_cuda_tool("nvcc");
  if (!nvcc)
    throw BadInput(
        "`verify` needs nvcc, which is neither in $PATH nor in $CUDA_HOME/bin nor in /usr/local/cuda/bin; "
        "install the CUDA toolkit");
  const Compiled compiled =
      compile_cuda(*nvcc, cuda, {"-std=c++17", "-ptx", "-lineinfo", "-arch=" + architecture});
  // nvcc starts the host's compiler even where there is only device code. What it says without one differs.
  if (!compiled.good && !find_program("gcc"))
    throw BadInput(
        "`verify`: nvcc needs the C++ compiler gcc, which is not in $PATH; install it (Debian: g++)");
  if (!compiled.good && compiled.log.starts_with("nvcc fatal"))  // what it says of its options
    throw BadInput(
        fmt::format("`verify` `arch` {}: {}", architecture, compiled.log.substr(0, compiled.log.find('\n'))));
  if (!compiled.good)
    throw Internal(fmt::format("nvcc does not take the CUDA that was written:\n{}", compiled.log));
  return compiled.output;
}

/// Sizes that are no multiples of a tile, as small as two and larger than a warp, and the first ones largest:
/// as many rows as columns.
std::vector<std::map<std::string, std::int64_t>> sizes_to_try(const Nest& nest) {
  std::vector<std::map<std::string, std::int64_t>> all;
  const std::vector<std::string>& names = nest.region().sizes;
  for (const std::int64_t least : {2, 7, 33}) {
    std::map<std::string, std::int64_t> wanted;
    for (std::size_t s = 0; s < names.size(); ++s)
      wanted[names[s]] = least + 3 * static_cast<std::int64_t>(names.size() - 1 - s);
    const auto sizes = sizes_near(nest, wanted);
    if (std::ranges::find(all, sizes) == all.end()) all.push_back(sizes);
  }
  return all;
}

std::string sizes_text(const std::map<std::string, std::int64_t>& sizes) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : sizes) texts.push_back(fmt::format("{} = {}", name, value));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Refuses sizes that would keep the simulator busy for more than some minutes.
void check_work(const Nest& nest, const GpuProgram& program, const GpuOptions& options) {
  constexpr double most = 2e9;
  for (const auto& sizes : sizes_to_try(nest)) {
    double work = 0;
    for (const Cost& kernel : cost(nest, program, options, sizes))
      work += kernel.operations + kernel.global_bytes / 4;
    if (work <= most) continue;
    const Region& region = nest.region();
    throw BadInput(fmt::format(
        "{}:{}: {}: `verify` would simulate {:.1e} operations and accesses, more than the {:.0e} that take some minutes; {}",
        region.file, region.at.line, region.function, work, most,
        region.sizes.empty() ? "make its numbers smaller"
                             : fmt::format("{} is large: allow small sizes, as `size` {}=1..1000",
                                           sizes_text(sizes), region.sizes.front())));
  }
}

/// Asks the work of its scope to stop at a time.
class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds limit)
      : scope_([this] {
          Run run;
          run.stop = &passed_;
          return run;
        }()),
        thread_([this, limit] {
          constexpr std::chrono::milliseconds kNow{0}, kDay = std::chrono::hours(24);
          std::unique_lock lock(mutex_);
          if (!over_.wait_for(lock, std::clamp(limit, kNow, kDay), [&] { return done_; })) passed_ = true;
        }) {}
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    over_.notify_all();
    thread_.join();
  }
  bool passed() const { return passed_; }

 private:
  std::atomic<bool> passed_ = false;
  RunScope scope_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;  // last: it uses the others
};

/// Runs one module at all sizes to try.
void try_module(const Nest& nest, const GpuProgram& program, const std::string& title, const std::string& ptx,
                Verification& result) {
  const Region& region = nest.region();
  sim::Machine machine(ptx::parse(ptx, region.function + ".ptx"));
  for (const auto& sizes : sizes_to_try(nest)) {
    check_interrupt();
    const Memory before = conditioned_memory(nest, sizes, 1);
    Memory want = before;
    const Memory bounds = rounding_bounds(nest, want);
    const Simulated got = simulate(machine, nest, program, before);
    const Comparison comparison = compare(nest, got.memory, want, bounds);
    const bool good = got.findings.empty() && comparison.agrees;
    result.good &= good;
    ++result.compared;
    result.text += fmt::format(
        "  {:<10} {}: {}, differs by {:.1e}, rounding explains {:.1e}{}\n", title, sizes_text(sizes),
        good ? "agrees" : "DISAGREES", comparison.difference, comparison.allowed,
        comparison.allowed > kLargeBound ? ": too much to tell; the nest is badly conditioned" : "");
    if (!comparison.worst.empty()) result.text += "    " + comparison.worst + "\n";
    for (const std::string& finding : got.findings) result.text += "    " + finding + "\n";
  }
}

/// Adds to `result` as it goes.
void verify_in_time(const Nest& nest, const GpuProgram& program, const std::string& cuda,
                    const GpuOptions& options, Verification& result) {
  const std::string ptx = compile(cuda, options.architecture);
  const std::string& function = nest.region().function;
  try_module(nest, program, "compiled", ptx, result);
  reuse::Options rewrite;
  rewrite.when = reuse::When::always;
  rewrite.assemble = false;
  const reuse::Result rewritten = reuse::optimize(ptx, rewrite, function + ".ptx");
  for (const reuse::KernelReport& kernel : rewritten.report.kernels)
    result.text += fmt::format("  reuse      {}: {}, shared memory {} -> {} bytes{}\n", kernel.name,
                               reuse::name(kernel.verdict), kernel.bytes_before, kernel.bytes_after,
                               kernel.reason.empty() ? "" : "; " + kernel.reason);
  if (rewritten.text != ptx) try_module(nest, program, "rewritten", rewritten.text, result);
}

}  // namespace

Compiled compile_cuda(const std::filesystem::path& nvcc, std::string_view text,
                      const std::vector<std::string>& options) {
  const TemporaryDirectory directory;
  const std::filesystem::path source = directory.path() / "nest.cu", output = directory.path() / "nest.out";
  write_file_atomically(source, text);
  Words words{nvcc.string()};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"-o", output.string(), source.string()});
  const Answer answer = ask_program(words, kCompileTime);
  if (!answer.failure.empty() || answer.status != 0) return {false, "", answer.output + answer.failure};
  return {true, read_file(output), answer.output};
}

Verification verify(const Nest& nest, const GpuProgram& program, const std::string& cuda,
                    const GpuOptions& options, std::chrono::milliseconds time_limit) {
  check_work(nest, program, options);
  Verification result;
  result.text =
      fmt::format("{}: {} kernel{} in the simulator, with races looked for\n", nest.region().function,
                  program.kernels.size(), program.kernels.size() == 1 ? "" : "s");
  Deadline deadline(time_limit);
  try {
    verify_in_time(nest, program, cuda, options, result);
  } catch (const Interrupted&) {
    if (!deadline.passed()) throw;
    result.complete = false;
    result.text += fmt::format("  NOT COMPLETE: the time limit of {:.3g} s passed after {} comparison{}\n",
                               std::chrono::duration<double>(time_limit).count(), result.compared,
                               result.compared == 1 ? "" : "s");
  }
  return result;
}

}  // namespace warploom::tile
