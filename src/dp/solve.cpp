#include "warploom/dp/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "core/automatic_device.hpp"
#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "core/several_devices.hpp"
#include "dp/backend.hpp"
#include "dp/problem.hpp"
#include "dp/solve_ranks.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::dp {
namespace {

template <class Enum, std::size_t kCount>
Enum parse(std::string_view text, std::string_view what,
           const std::array<std::pair<Enum, std::string_view>, kCount>& all) {
  std::string names;
  for (const auto& [value, known] : all) {
    if (text == known) return value;
    names += (names.empty() ? "" : ", ") + std::string(known);
  }
  throw BadInput(fmt::format("'{}' is no {}; there are {}", text, what, names));
}

using enum Decomposition;
constexpr std::array<std::pair<Decomposition, std::string_view>, 5> kDecompositions{
    {{best, "auto"},
     {bottom_up, "bottom-up"},
     {persistent, "persistent"},
     {divide_and_conquer, "divide-and-conquer"},
     {printed, "printed"}}};
constexpr std::array<std::pair<Triangular, std::string_view>, 3> kTriangulars{
    {{Triangular::blocked, "blocked"}, {Triangular::merged, "merged"}, {Triangular::direct, "direct"}}};
constexpr std::array<std::pair<Storage, std::string_view>, 3> kStorages{
    {{Storage::best, "auto"}, {Storage::plain, "plain"}, {Storage::narrow, "narrow"}}};

}  // namespace

Decomposition parse_decomposition(std::string_view text) {
  return parse(text, "decomposition", kDecompositions);
}
std::string_view name(Decomposition decomposition) {
  return at_enumerator(kDecompositions, decomposition, "the decomposition").second;
}
Triangular parse_triangular(std::string_view text) { return parse(text, "triangular method", kTriangulars); }
std::string_view name(Triangular triangular) {
  return at_enumerator(kTriangulars, triangular, "the triangular method").second;
}
Storage parse_storage(std::string_view text) { return parse(text, "storage", kStorages); }
std::string_view name(Storage storage) { return at_enumerator(kStorages, storage, "the storage").second; }

namespace {

// Measured on one H200: below this many points blocks of 32 let the persistent kernel wait less; where there
// are enough problems to fill the machine, waiting matters little and blocks of 64 do more at a time.
constexpr std::int64_t kSmallBlocksBelow = 8192, kSmallBlocksBelowInBatch = 192;
constexpr std::size_t kBatchFills = 64;
// On fewer points several GPUs wait for each other longer than they save.
constexpr std::int64_t kSharedFrom = 16384;
// Below this many points half the memory traffic saves nothing; above these magnitudes differences within a
// tile of 64 are likely to leave 13 bits.
constexpr std::int64_t kNarrowFrom = 2048;
constexpr long double kNarrowTerm = 64;

template <class T>
constexpr bool kCanBeNarrow = std::same_as<T, std::int32_t>;

/// Why narrow storage is out of question for a problem; empty if it is not.
template <class T>
std::string not_narrow(const Problem<T>& problem) {
  if (!kCanBeNarrow<T>) return "its values are not int32";
  if (!problem.factors.empty()) return "it has factors";
  if (has_unreachable_term(problem)) return "a leaf or a cell has no solution";
  return "";
}

/// The magnitude of one step: what a cell may differ from its neighbour by, roughly.
template <class T>
long double step(const Problem<T>& problem) {
  return magnitude_bound(problem) / static_cast<long double>(problem.leaves.size());
}

template <class T>
bool choose_narrow(std::span<const Problem<T>> problems, const Options& options, int block) {
  if (options.storage == Storage::plain || !kCanBeNarrow<T>) {
    if (options.storage == Storage::narrow) throw BadInput("narrow storage is for int32 problems; use plain");
    return false;
  }
  const bool asked = options.storage == Storage::narrow;
  if (block != 0 && block < kTile) {
    if (asked)
      throw BadInput(fmt::format("narrow storage needs blocks of {} and more, not {}", kTile, block));
    return false;
  }
  if (options.triangular != Triangular::blocked) {
    if (asked)
      throw BadInput(
          fmt::format("narrow storage needs blocked triangular parts, not {}", name(options.triangular)));
    return false;
  }
  std::int64_t longest = 0;
  for (const Problem<T>& problem : problems) {
    if (const std::string why = not_narrow(problem); !why.empty()) {
      if (asked) throw BadInput(fmt::format("narrow storage does not suit the problem: {}; use plain", why));
      return false;
    }
    if (!asked && step(problem) > kNarrowTerm) return false;
    longest = std::max(longest, problem.points());
  }
  return asked || longest >= kNarrowFrom;
}

template <class T>
Plan<T> make_plan(std::span<const Problem<T>> problems, const Options& options, Device device) {
  name(options.decomposition), name(options.triangular), name(options.storage);  // are there such?
  Plan<T> plan;
  plan.decomposition = options.decomposition;
  if (plan.decomposition == best) plan.decomposition = device.is_gpu() ? persistent : bottom_up;
  if (plan.decomposition == persistent && !device.is_gpu())
    throw BadInput("the persistent decomposition is one GPU kernel; on a CPU use bottom-up");
  if (device.is_gpu() && problems.size() != 1 && plan.decomposition != persistent)
    throw BadInput(
        fmt::format("a batch runs in one persistent kernel on a GPU, not {}", name(plan.decomposition)));
  plan.block = options.block;
  const bool power = plan.block >= 16 && plan.block <= 512 && (plan.block & (plan.block - 1)) == 0;
  if (plan.block != 0 && !power)
    throw BadInput(fmt::format("block {} is none of 16, 32, 64, 128, 256 and 512", plan.block));
  if (plan.decomposition == persistent && plan.block != 0 && plan.block != 32 && plan.block != 64)
    throw BadInput(fmt::format("block {}: the persistent kernel has blocks of 32 and 64", plan.block));
  if (options.triangular == Triangular::merged && plan.block > 64)
    throw BadInput(fmt::format("block {}: three blocks merged in shared memory are at most 64", plan.block));
  if (options.multiprocessors < 0)
    throw BadInput(fmt::format("multiprocessors {} is negative", options.multiprocessors));
  if (options.multiprocessors > 0 && plan.decomposition != persistent)
    throw BadInput("the number of multiprocessors can be limited in the persistent decomposition only");
  plan.narrow = choose_narrow(problems, options, plan.block);
  if (plan.block == 0) {
    std::int64_t longest = 0;
    for (const Problem<T>& problem : problems) longest = std::max(longest, problem.points());
    const bool fills = problems.size() >= kBatchFills;
    const bool small_persistent =
        plan.decomposition == persistent && longest < (fills ? kSmallBlocksBelowInBatch : kSmallBlocksBelow);
    const bool small_bottom_up =
        plan.decomposition == bottom_up && device.is_gpu() && longest <= kOneLaunchADiagonal;
    plan.block = !plan.narrow && (small_persistent || small_bottom_up) ? 32 : 64;
  }
  plan.triangular = options.triangular;
  plan.separate_calls = options.separate_calls;
  plan.phases = options.phases;
  plan.multiprocessors = options.multiprocessors;
  return plan;
}

/// Those of the devices that solve it.
template <class T>
std::vector<Device> share(std::span<const Problem<T>> problems, const Options& options,
                          std::vector<Device> devices) {
  if (devices.size() == 1) return devices;
  if (!devices[0].is_gpu()) one_device(devices, "dynamic programming on processors");
  if (problems.size() != 1) one_device(devices, "a batch of problems");
  if (options.decomposition != best && options.decomposition != persistent)
    one_device(devices, fmt::format("the decomposition {}", name(options.decomposition)));
  if (devices.size() > kMostShards)
    throw BadInput(fmt::format("{} devices share a problem at most, not {}", kMostShards, devices.size()));
  if (options.decomposition == best && problems[0].points() < kSharedFrom) {
    log(LogLevel::info, fmt::format("{} points are solved on {} alone: from {} on several GPUs are faster",
                                    problems[0].points(), name(devices[0]), kSharedFrom));
    devices.resize(1);
  }
  // Shards of one GPU side by side, in a kernel of its own.
  std::vector<Device> ordered;
  for (const Device device : devices)
    if (std::ranges::find(ordered, device) == ordered.end())
      ordered.insert(ordered.end(), static_cast<std::size_t>(std::ranges::count(devices, device)), device);
  return ordered;
}

/// Options with what ranks can do. @throws BadInput (what they cannot)
Options for_ranks(Options options, std::size_t problems) {
  const auto refuse = [](const std::string& what) {
    throw BadInput(fmt::format("several processes share one problem {}", what));
  };
  for (const Device device : options.run.devices.empty() ? current_run().devices : options.run.devices)
    if (device.is_gpu()) refuse("on CPUs; name that device, or one process");
  if (problems != 1) refuse(fmt::format("at a time, not {}; let one process solve a batch", problems));
  if (options.decomposition != best && options.decomposition != bottom_up)
    refuse(fmt::format("bottom-up, not {}", name(options.decomposition)));
  if (options.block != 0 && options.block != kTile)
    refuse(fmt::format("in blocks of {}, not {}", kTile, options.block));
  if (options.storage == Storage::narrow) refuse("with plain storage, not narrow");
  options.storage = Storage::plain;
  options.block = kTile;
  return options;
}

template <class T>
Solved<T> run(const Plan<T>& plan, Device device) {
#ifdef WARPLOOM_HAVE_CUDA
  if (device.is_gpu()) return solve_cuda(plan);
#endif
  static_cast<void>(device);
  return solve_cpu(plan);
}

template <class T>
std::string storage_name(bool narrow) {
  if (narrow) return "int16";
  if constexpr (std::same_as<T, float>) return "float32";
  if constexpr (std::same_as<T, double>) return "float64";
  return std::same_as<T, std::int32_t> ? "int32" : "int64";
}

/// Tells what is going to be allocated.
template <class T>
void log_memory(std::span<const Problem<T>> problems, bool narrow) {
  if (!log_enabled(LogLevel::info)) return;
  std::int64_t points = 0;
  std::uint64_t bytes = 0;
  for (const Problem<T>& problem : problems) {
    points += problem.points();
    bytes += bytes_needed(problem, narrow ? Storage::narrow : Storage::plain);
  }
  log(LogLevel::info,
      fmt::format("{} over {} points in {}: {} for cells and weights",
                  problems.size() == 1 ? "a problem" : fmt::format("{} problems", problems.size()), points,
                  storage_name<T>(narrow), bytes_text(bytes)));
}

}  // namespace

namespace internal {

template <Value T>
class Store {
 public:
  Store(std::unique_ptr<Cells<T>> cells, std::vector<std::int64_t> points, std::vector<Optimum> optima)
      : cells_(std::move(cells)), points_(std::move(points)), optima_(std::move(optima)) {}

  std::int64_t problems() const { return std::ssize(points_); }
  std::int64_t points(std::int64_t index) const { return points_[static_cast<std::size_t>(index)]; }
  bool is_maximum(std::int64_t index) const {
    return optima_[static_cast<std::size_t>(index)] == Optimum::maximum;
  }
  const Cells<T>& cells() const { return *cells_; }

 private:
  std::unique_ptr<Cells<T>> cells_;
  std::vector<std::int64_t> points_;
  std::vector<Optimum> optima_;
};

}  // namespace internal

template <Value T>
Solution<T>::Solution(std::shared_ptr<const internal::Store<T>> store, std::int64_t index, Report report)
    : store_(std::move(store)), index_(index), report_(std::move(report)) {
  if (store_ == nullptr || index < 0 || index >= store_->problems())
    throw BadInput(
        fmt::format("there is no solution {} of {}", index,
                    store_ == nullptr ? "no problem" : fmt::format("{} problems", store_->problems())));
  optimum_ = value(0, points() - 1);
}

template <Value T>
std::int64_t Solution<T>::points() const {
  return store_->points(index_);
}

template <Value T>
T Solution<T>::value(std::int64_t i, std::int64_t j) const {
  if (i < 0 || i >= j || j >= points())
    throw BadInput(fmt::format("cell ({}, {}) is not in the triangle 0 <= i < j < {}", i, j, points()));
  const OnDevice on(report_.device);
  const T cell = store_->cells().value(index_, i, j);
  return store_->is_maximum(index_) ? T(0) - cell : cell;
}

template <Value T>
Triangle<T> Solution<T>::table() const {
  const OnDevice on(report_.device);
  try {
    Triangle<T> table(points());
    store_->cells().copy(index_, table.stored());
    if (store_->is_maximum(index_))
      for (std::int64_t i = 0; i < points(); ++i)  // what else is stored may be anything
        for (std::int64_t j = i + 1; j < points(); ++j) table(i, j) = T(0) - table(i, j);
    return table;
  } catch (const std::bad_alloc&) {
    throw OutOfMemory(fmt::format("the table over {} points needs {:.3g} GB of memory", points(),
                                  static_cast<double>(Triangle<T>::bytes(points())) * 1e-9));
  }
}

template <Value T>
std::vector<Split> Solution<T>::trace() const {
  const OnDevice on(report_.device);
  std::vector<Split> splits = store_->cells().trace(index_);
  // Intervals are nested or apart, so that this is the order from the whole down, left before right.
  std::ranges::sort(splits,
                    [](const Split& a, const Split& b) { return a.i != b.i ? a.i < b.i : a.j > b.j; });
  return splits;
}

namespace {

/// Whether a GPU may solve them: of device auto not where the processors are done before.
template <class T>
bool gpu_may_solve(std::span<const Problem<T>> problems, const Options& options) {
  if (!kBuiltWithCuda || options.decomposition == persistent || options.multiprocessors > 0)
    return kBuiltWithCuda;
  // Measured beside one another (bench/python/auto_device.py, on 16 virtual processors): pairs a second of a
  // thread, of which one problem keeps one busy each 128 points; on a GPU a call, a point of the longest
  // problem, and what each further problem and point takes until its decisions are back.
  constexpr double kPairs = 2.5e9, kPointsAThread = 128, kCall = 300e-6, kPoint = 1.3e-6, kProblem = 45e-6,
                   kProblemPoint = 0.45e-6;
  double pairs = 0, points = 0, longest = 0;
  for (const Problem<T>& problem : problems) {
    const auto n = static_cast<double>(problem.points());
    pairs += n * n * n / 6;
    points += n;
    longest = std::max(longest, n);
  }
  const auto count = static_cast<double>(problems.size());
  const double at_once = std::clamp(std::max(count, longest / kPointsAThread), 1.0,
                                    double(options.run.threads != 0 ? options.run.threads : threads()));
  return gpu_pays(options.run, pairs / kPairs / at_once,
                  kCall + longest * kPoint + (count - 1) * kProblem + (points - longest) * kProblemPoint);
}

}  // namespace

template <Value T>
std::vector<Solution<T>> solve_batch(std::span<const Problem<T>> problems, const Options& asked) {
  Ranks* const ranks = asked.ranks;
  const Options options = ranks == nullptr ? asked : for_ranks(asked, problems.size());
  const DevicesScope scope(options.run, ranks == nullptr && gpu_may_solve(problems, options));
  const Device device = scope.devices().front();
  for (std::size_t p = 0; p < problems.size(); ++p) try {
      check(problems[p]);
      check_range(problems[p]);
    } catch (const BadInput& error) {
      if (problems.size() == 1) throw;
      throw BadInput(fmt::format("problem {}: {}", p, error.what()));
    }
  if (problems.empty()) return {};
  std::vector<Minimum<T>> minima;
  std::vector<Terms<T>> terms;
  std::vector<std::int64_t> points;
  std::vector<Optimum> optima;
  for (const Problem<T>& problem : problems) {
    minima.emplace_back(problem);
    terms.push_back(minima.back().terms());
    points.push_back(problem.points());
    optima.push_back(problem.optimum);
  }
  Plan<T> plan = make_plan(problems, options, device);
  plan.problems = terms;
  plan.devices = share(problems, options, scope.devices());
  const auto attempt = [&] {
    log_memory(problems, plan.narrow);
    return ranks == nullptr ? run(plan, device) : solve_ranks(plan, *ranks);
  };
  std::string fallback;
  Solved<T> solved = attempt();
  if (solved.cells == nullptr) {
    fallback = "cells of one tile differ by more than 16 bits hold";
    log(LogLevel::info, "narrow storage did not hold: " + fallback + "; solving again with 32");
    plan.narrow = false;
    solved = attempt();
  }
  const auto store = std::make_shared<const internal::Store<T>>(std::move(solved.cells), std::move(points),
                                                                std::move(optima));
  Report report = std::move(solved.report);
  report.device = device;
  report.devices = static_cast<int>(ranks == nullptr ? plan.devices.size() : ranks->count());
  report.decomposition = plan.decomposition;
  report.block = plan.block;
  report.storage = storage_name<T>(plan.narrow);
  report.fallback = fallback;
  std::vector<Solution<T>> solutions;
  for (std::size_t p = 0; p < problems.size(); ++p) {
    const auto n = static_cast<double>(problems[p].leaves.size());
    report.pairs = (n + 1) * n * (n - 1) / 6;
    solutions.emplace_back(store, static_cast<std::int64_t>(p), report);
  }
  return solutions;
}

template <Value T>
Solution<T> solve(const Problem<T>& problem, const Options& options) {
  return solve_batch(std::span(&problem, 1), options).front();
}

template <Value T>
std::uint64_t bytes_needed(const Problem<T>& problem, Storage storage) {
  name(storage);
  const std::int64_t points = problem.points();
  const bool narrow = kCanBeNarrow<T> && storage != Storage::plain && not_narrow(problem).empty() &&
                      (storage == Storage::narrow || (points >= kNarrowFrom && step(problem) <= kNarrowTerm));
  const std::uint64_t cells = static_cast<std::uint64_t>(stored_cells(points));
  std::uint64_t bytes = cells * (narrow ? 2 : sizeof(T));
  if (narrow) bytes += cells / (kTile * kTile) * sizeof(std::int32_t);
  if (!problem.cell_weight.empty()) bytes += cells * sizeof(T);
  for (const std::vector<T>* vector :
       {&problem.leaves, &problem.row_weight, &problem.column_weight, &problem.factors})
    bytes += vector->size() * sizeof(T);
  return bytes;
}

#define WARPLOOM_INSTANTIATE(T)                                                               \
  template class Solution<T>;                                                                 \
  template Solution<T> solve(const Problem<T>&, const Options&);                              \
  template std::vector<Solution<T>> solve_batch(std::span<const Problem<T>>, const Options&); \
  template std::uint64_t bytes_needed(const Problem<T>&, Storage);
WARPLOOM_INSTANTIATE(std::int32_t)
WARPLOOM_INSTANTIATE(std::int64_t)
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::dp
