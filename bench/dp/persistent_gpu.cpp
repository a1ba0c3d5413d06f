// gpu_bench_dp_persistent: how near does the persistent kernel come to the instruction ceiling, and what does
// it cost when the problem is small?
//
// Questions, a list of records each in the JSON:
//   solve  time of one problem over its size, type and block edge, as pairs (an addition with its minimum) a
//   second batch  the same of many short problems in one launch trace  the decisions of a solved problem: of
//   random terms, and where all splits are at one end
//
// Fixed: random row and column weights, or none; narrow cells solve base pairing of random letters, or none.
// Timed: the kernel, between two events, all data resident; the median of --rounds. First, small problems of
// each kind are compared with the recurrence on the CPU, cells and decisions: exits with 1 where they differ.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "../json_records.hpp"
#include "core/cuda/owners.hpp"
#include "dp/kernels.hpp"

namespace warploom::dp {
namespace {

struct Settings {
  int rounds = 5, group = 1, multiprocessors = 0;
  std::int64_t largest = 32'768;
  bool check_only = false;
  std::string json;
};

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

enum class Shape { random, unweighted, left_chain, right_chain };

template <class T, Arithmetic kArithmetic, bool kFactors>
struct HostProblem {
  std::int64_t points;
  std::vector<T> leaves, row_weight, column_weight, factors, scores;
  std::vector<std::uint8_t> codes;

  HostProblem(std::int64_t leaf_count, unsigned seed, Shape shape) : points(leaf_count + 1) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned limit) { return static_cast<T>(random() % limit); };
    const auto count = static_cast<std::size_t>(points);
    leaves.resize(count - 1);
    if (kArithmetic == Arithmetic::narrow &&
        shape != Shape::unweighted) {  // base pairing: as many pairs as possible, maximum negated
      for (std::size_t i = 0; i + 1 < count; ++i) codes.push_back(static_cast<std::uint8_t>(random() % 4));
      scores.assign(16, kUnreachable<T>);
      for (const int pair : {3, 6, 9, 11, 12, 14}) scores[static_cast<std::size_t>(pair)] = T(-1);
      return;
    }
    if (shape == Shape::random || shape == Shape::unweighted)
      for (T& leaf : leaves) leaf = below(100);
    if (shape == Shape::unweighted) return;
    row_weight.resize(count);
    column_weight.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      // Of a chain only the intervals from the first point, or to the last one, cost nothing.
      row_weight[i] = shape == Shape::random ? below(50) : T(shape == Shape::right_chain && i > 0);
      column_weight[i] = shape == Shape::random ? below(50) : T(shape == Shape::left_chain && i + 1 < count);
    }
    if (kFactors)
      for (std::size_t i = 0; i < count; ++i) factors.push_back(T(1) + below(20));
  }
};

template <class Element>
DeviceArray<Element> to_device(const std::vector<Element>& host) {
  DeviceArray<Element> array = make_device<Element>(std::max<std::size_t>(host.size(), 1));
  cuda_check(cudaMemcpy(array.get(), host.data(), host.size() * sizeof(Element), cudaMemcpyHostToDevice),
             "cudaMemcpy");
  return array;
}
template <class Element>
std::vector<Element> to_host(const Element* device, std::size_t count) {
  std::vector<Element> host(count);
  cuda_check(cudaMemcpy(host.data(), device, count * sizeof(Element), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return host;
}

/// Time on the device [s].
template <class Work>
double device_seconds(const Work& work) {
  const CudaEvent start = make_event(), end = make_event();
  cuda_check(cudaEventRecord(start.get()), "cudaEventRecord");
  work();
  cuda_check(cudaEventRecord(end.get()), "cudaEventRecord");
  cuda_check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
  float milliseconds = 0;
  cuda_check(cudaEventElapsedTime(&milliseconds, start.get(), end.get()), "cudaEventElapsedTime");
  return milliseconds * 1e-3;
}

/// Blocks of all problems, a block diagonal after the other; within larger blocks of group x group if group
/// > 1.
std::vector<BlockTask> make_tasks(const std::vector<std::int64_t>& blocks_along, int group) {
  std::vector<BlockTask> tasks;
  for (std::size_t p = 0; p < blocks_along.size(); ++p)
    for (std::int32_t column = 0; column < blocks_along[p]; ++column)
      for (std::int32_t row = 0; row <= column; ++row)
        tasks.push_back({static_cast<std::int32_t>(p), row, column});
  const auto key = [group](const BlockTask& t) {
    return std::make_tuple(t.column / group - t.row / group, t.problem, t.row / group, t.column - t.row,
                           t.row);
  };
  std::sort(tasks.begin(), tasks.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return tasks;
}

/// Problems of one kind in device memory, and what a launch needs.
template <class T, Arithmetic kArithmetic, bool kFactors>
class Batch {
 public:
  using Cells = DeviceCells<T, kArithmetic>;
  using Stored = typename Cells::Stored;

  Batch(const std::vector<std::int64_t>& leaf_counts, Shape shape) {
    unsigned seed = 1;
    for (const std::int64_t leaf_count : leaf_counts) {
      problems_.emplace_back(leaf_count, seed++, shape);
      const HostProblem<T, kArithmetic, kFactors>& host = problems_.back();
      const auto place = [this](const auto& values) {
        using Element = typename std::decay_t<decltype(values)>::value_type;
        if (values.empty()) return static_cast<Element*>(nullptr);
        const std::shared_ptr<Element> owner(to_device(values).release(), DeviceFree{});
        owners_.push_back(owner);
        return owner.get();
      };
      Terms<T> terms;
      terms.points = host.points;
      terms.leaves = place(host.leaves);
      terms.row_weight = place(host.row_weight);
      terms.column_weight = place(host.column_weight);
      terms.factors = place(host.factors);
      terms.codes = place(host.codes);
      terms.scores = place(host.scores);
      terms.letters = 4;
      terms.minimum_span = 4;
      terms.non_negative = kArithmetic == Arithmetic::non_negative;
      terms_.push_back(terms);
      Cells cells;
      const std::shared_ptr<Stored> stored(
          make_device<Stored>(static_cast<std::size_t>(stored_cells(host.points))).release(), DeviceFree{});
      owners_.push_back(stored);
      cells.cells = stored.get();
      cells.points = host.points;
      if (Cells::kNarrow) {
        cells.bases = place(std::vector<std::int32_t>(static_cast<std::size_t>(tile_count(host.points))));
        cells.overflow = place(std::vector<int>(1));
      }
      cells_.push_back(cells);
    }
    device_cells_ = to_device(cells_);
    device_terms_ = to_device(terms_);
    stop_ = to_device(std::vector<int>(1));
    next_ = make_device<unsigned long long>(1);
  }

  double pairs() const {
    double sum = 0;
    for (const auto& problem : problems_) {
      const auto n = static_cast<double>(problem.points - 1);
      sum += (n + 1) * n * (n - 1) / 6;
    }
    return sum;
  }

  /// What launches with this edge need; before solve().
  void prepare(int edge, int group) {
    edge_ = edge;
    std::vector<std::int64_t> along, first;
    std::int64_t flags = 0;
    for (const auto& problem : problems_) {
      along.push_back((problem.points + edge - 1) / edge);
      first.push_back(flags);
      flags += tile_place(0, along.back());
    }
    const std::vector<BlockTask> tasks = make_tasks(along, group);
    task_count_ = static_cast<std::int64_t>(tasks.size());
    flag_count_ = static_cast<std::size_t>(flags);
    tasks_ = to_device(tasks);
    first_flag_ = to_device(first);
    flags_ = make_device<unsigned>(flag_count_);
  }

  /// @return time of the kernel [s]
  double solve(int multiprocessors) {
    cuda_check(cudaMemset(flags_.get(), 0, flag_count_ * sizeof(unsigned)), "cudaMemset");
    cuda_check(cudaMemset(next_.get(), 0, sizeof(unsigned long long)), "cudaMemset");
    PersistentLaunch<T, kArithmetic> launch;
    launch.cells = device_cells_.get();
    launch.terms = device_terms_.get();
    launch.first_flag = first_flag_.get();
    launch.flags = flags_.get();
    launch.tasks = tasks_.get();
    launch.task_count = task_count_;
    launch.next_task = next_.get();
    launch.stop = stop_.get();
    launch.edge = edge_;
    launch.multiprocessors = multiprocessors;
    const double seconds =
        device_seconds([&] { launch_persistent<T, kArithmetic, kFactors>(launch, nullptr); });
    for (const Cells& cells : cells_)
      if (Cells::kNarrow && to_host(cells.overflow, 1)[0] != 0) throw Error("narrow cells did not hold");
    return seconds;
  }

  /// Of problem p. @return time of the kernel [s]
  double trace(std::size_t p, std::vector<Split>& splits) const {
    const auto points = static_cast<std::size_t>(problems_[p].points);
    const auto out = make_device<Split>(points);
    const auto queue = make_device<unsigned long long>(points);
    const auto counts = make_device<TraceCounts>(1);
    const double seconds = device_seconds([&] {
      launch_trace<T, kArithmetic, kFactors>(cells_[p], terms_[p], {out.get(), queue.get(), counts.get()},
                                             nullptr);
    });
    splits = to_host(out.get(), to_host(counts.get(), 1)[0].splits);
    return seconds;
  }

  /// Whether problem p's cells and decisions are those of the recurrence.
  bool right(std::size_t p) const {
    const HostProblem<T, kArithmetic, kFactors>& host = problems_[p];
    Terms<T> terms = terms_[p];
    terms.leaves = host.leaves.data();
    terms.row_weight = host.row_weight.empty() ? nullptr : host.row_weight.data();
    terms.column_weight = host.column_weight.data();
    terms.factors = host.factors.data();
    terms.codes = host.codes.empty() ? nullptr : host.codes.data();
    terms.scores = host.scores.data();
    const std::int64_t n = host.points;
    const auto stored = to_host(cells_[p].cells, static_cast<std::size_t>(stored_cells(n)));
    std::vector<std::int32_t> bases(static_cast<std::size_t>(tile_count(n)));
    if (Cells::kNarrow) bases = to_host(cells_[p].bases, bases.size());
    Triangle<T> m(n);
    Triangle<std::int64_t> decision(n);
    for (std::int64_t span = 1; span < n; ++span)
      for (std::int64_t i = 0; i + span < n; ++i) {
        const std::int64_t j = i + span;
        std::int64_t& k_best = decision(i, j);
        T best = kUnreachable<T>;
        const auto offer = [&](T candidate, std::int64_t k) {
          if (candidate < best) best = candidate, k_best = k;
        };
        if (terms.may_pair(i, j)) offer(m(i + 1, j - 1) + terms.score(i, j), i);
        for (std::int64_t k = i + 1; k < j; ++k) {
          volatile T candidate = m(i, k) + m(k, j);  // rounded by itself
          if (kFactors) {
            volatile T product = terms.factors[i] * terms.factors[j];
            product = product * terms.factors[k];
            candidate = candidate + product;
          }
          offer(candidate, k);
        }
        m(i, j) = span == 1 ? terms.leaves[i] : finished(best, terms.weight(i, j));
        const auto place = static_cast<std::size_t>(cell_place(i, j));
        const T base = Cells::kNarrow ? static_cast<T>(bases[place / (kTile * kTile)]) : T(0);
        if (base + static_cast<T>(stored[place]) != m(i, j)) {
          std::fprintf(stderr, "cell (%lld, %lld) of %lld points: %.17g instead of %.17g\n",
                       static_cast<long long>(i), static_cast<long long>(j), static_cast<long long>(n),
                       static_cast<double>(base + static_cast<T>(stored[place])),
                       static_cast<double>(m(i, j)));
          return false;
        }
      }
    std::vector<Split> splits;
    trace(p, splits);
    std::size_t visited = 0;
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> found;
    for (const Split& s : splits) found.insert({s.i, s.k, s.j});
    std::vector<Split> todo = {{0, 0, n - 1}};
    while (!todo.empty()) {
      const auto [i, unused, j] = todo.back();
      todo.pop_back();
      if (j - i < 2) continue;
      const std::int64_t k = decision(i, j);
      ++visited;
      if (!found.contains({i, k, j})) {
        std::fprintf(stderr, "decision (%lld, %lld, %lld) of %lld points is not found\n",
                     static_cast<long long>(i), static_cast<long long>(k), static_cast<long long>(j),
                     static_cast<long long>(n));
        return false;
      }
      if (k == i) {
        todo.push_back({i + 1, 0, j - 1});
      } else {
        todo.push_back({i, 0, k});
        todo.push_back({k, 0, j});
      }
    }
    return visited == splits.size();
  }

 private:
  static std::int64_t tile_count(std::int64_t points) { return tile_place(0, tiles_along(points)); }

  std::vector<HostProblem<T, kArithmetic, kFactors>> problems_;
  std::vector<Terms<T>> terms_;
  std::vector<Cells> cells_;
  std::vector<std::shared_ptr<void>> owners_;
  DeviceArray<Cells> device_cells_;
  DeviceArray<Terms<T>> device_terms_;
  DeviceArray<BlockTask> tasks_;
  DeviceArray<std::int64_t> first_flag_;
  DeviceArray<unsigned> flags_;
  DeviceArray<unsigned long long> next_;
  DeviceArray<int> stop_;
  std::int64_t task_count_ = 0;
  std::size_t flag_count_ = 0;
  int edge_ = 0;
};

/// body(T, arithmetic, factors, name) of what is measured; edges are those that there are.
template <class Body>
void for_each_kind(const Body& body) {
  using Plain = std::integral_constant<Arithmetic, Arithmetic::plain>;
  using NonNegative = std::integral_constant<Arithmetic, Arithmetic::non_negative>;
  using Narrow = std::integral_constant<Arithmetic, Arithmetic::narrow>;
  body(std::int32_t{}, Plain{}, std::false_type{}, "int32");
  body(std::int32_t{}, Narrow{}, std::false_type{}, "narrow");
  body(float{}, NonNegative{}, std::false_type{}, "float non-negative");
  body(std::int64_t{}, Plain{}, std::false_type{}, "int64");
  body(double{}, Plain{}, std::false_type{}, "double");
  body(std::int32_t{}, Plain{}, std::true_type{}, "int32 factors");
  body(float{}, NonNegative{}, std::true_type{}, "float non-negative factors");
  body(float{}, Plain{}, std::false_type{}, "float");
  body(double{}, Plain{}, std::true_type{}, "double factors");
}
template <Arithmetic kArithmetic>
std::vector<int> edges() {
  return kArithmetic == Arithmetic::narrow ? std::vector{64} : std::vector{32, 64};
}

bool all_right(const Settings& settings) {
  bool right = true;
  for_each_kind(
      [&]<class T, Arithmetic kArithmetic, bool kFactors>(T, std::integral_constant<Arithmetic, kArithmetic>,
                                                          std::bool_constant<kFactors>, const char* name) {
        const std::vector<std::int64_t> sizes = {1, 2, 31, 63, 64, 65, 127, 200, 333, 640};
        for (const Shape shape : {Shape::random, Shape::unweighted}) {
          if (kFactors && shape == Shape::unweighted) continue;
          Batch<T, kArithmetic, kFactors> batch(sizes, shape);
          for (const int edge : edges<kArithmetic>())
            for (const int group : {1, 4})
              for (const int multiprocessors : {0, 1, 3}) {
                batch.prepare(edge, group);
                batch.solve(multiprocessors);
                for (std::size_t p = 0; p < sizes.size(); ++p)
                  if (!batch.right(p)) {
                    std::fprintf(stderr, "%s, edge %d, group %d, %d multiprocessors: %lld leaves are wrong\n",
                                 name, edge, group, multiprocessors, static_cast<long long>(sizes[p]));
                    right = false;
                  }
              }
        }
        if (kArithmetic == Arithmetic::narrow || kFactors) return;
        for (const Shape shape : {Shape::left_chain, Shape::right_chain}) {
          Batch<T, kArithmetic, kFactors> chain({700}, shape);
          chain.prepare(64, settings.group);
          chain.solve(0);
          if (!chain.right(0)) {
            std::fprintf(stderr, "%s: a chain is wrong\n", name);
            right = false;
          }
        }
      });
  return right;
}

/// Rounds after one that is not counted, fewer of what takes long.
template <class Run>
double measure(int rounds, const Run& run) {
  const double first = run();
  if (first > 2) return first;
  std::vector<double> samples;
  for (int k = 0; k < rounds; ++k) samples.push_back(run());
  return median(samples);
}

void measure_all(const Settings& settings) {
  JsonRecords report;
  cudaDeviceProp device;
  cuda_check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  report.list("device");
  report.add(
      "{\"name\": \"" + std::string(device.name) + "\", \"multiprocessors\": " +
      std::to_string(settings.multiprocessors > 0 ? settings.multiprocessors : device.multiProcessorCount) +
      ", \"group\": " + std::to_string(settings.group) + "}");
  const auto record = [](const std::string& kind, std::int64_t n, std::size_t problems, int edge,
                         double pairs, double seconds) {
    return "{\"kind\": \"" + kind + "\", \"n\": " + std::to_string(n) +
           ", \"problems\": " + std::to_string(problems) + ", \"edge\": " + std::to_string(edge) +
           ", \"ms\": " + json_number(seconds * 1e3) +
           ", \"tpairs_per_s\": " + json_number(pairs / seconds * 1e-12) + "}";
  };
  report.list("solve");
  for_each_kind(
      [&]<class T, Arithmetic kArithmetic, bool kFactors>(T, std::integral_constant<Arithmetic, kArithmetic>,
                                                          std::bool_constant<kFactors>, const char* name) {
        for (const std::int64_t n : {256, 512, 1024, 2048, 4096, 8192, 16'384, 30'000, 32'768}) {
          const bool integer_limit =
              kFactors && std::is_same_v<T, std::int32_t> && n > 16'384;  // sums leave the type
          if (n > settings.largest || integer_limit) continue;
          for (const Shape shape : {Shape::random, Shape::unweighted}) {
            if (kFactors && shape == Shape::unweighted) continue;
            Batch<T, kArithmetic, kFactors> batch({n}, shape);
            for (const int edge : edges<kArithmetic>()) {
              batch.prepare(edge, settings.group);
              const double seconds =
                  measure(settings.rounds, [&] { return batch.solve(settings.multiprocessors); });
              report.add(record(name + std::string(shape == Shape::random ? "" : ", unweighted"), n, 1, edge,
                                batch.pairs(), seconds));
            }
          }
        }
      });
  report.list("batch");
  for (const std::int64_t n : {64, 128, 256, 512}) {
    const std::vector<std::int64_t> sizes(1000, n);
    Batch<std::int32_t, Arithmetic::plain, false> batch(sizes, Shape::random);
    for (const int edge : {32, 64}) {
      batch.prepare(edge, settings.group);
      const double seconds = measure(settings.rounds, [&] { return batch.solve(settings.multiprocessors); });
      report.add(record("int32", n, sizes.size(), edge, batch.pairs(), seconds));
    }
  }
  report.list("trace");
  for (const std::int64_t n : {1024, 4096, 16'384, 32'768, 100'000}) {
    if (n > std::max<std::int64_t>(settings.largest, 32'768) && settings.largest < 100'000) continue;
    for (const auto& [shape, name] :
         {std::pair{Shape::random, "random"}, std::pair{Shape::left_chain, "left chain"},
          std::pair{Shape::right_chain, "right chain"}}) {
      Batch<std::int32_t, Arithmetic::plain, false> batch({n}, shape);
      batch.prepare(64, settings.group);
      batch.solve(0);
      std::vector<Split> splits;
      const double seconds = measure(settings.rounds, [&] { return batch.trace(0, splits); });
      report.add(
          "{\"shape\": \"" + std::string(name) + "\", \"n\": " + std::to_string(n) +
          ", \"decisions\": " + std::to_string(splits.size()) + ", \"ms\": " + json_number(seconds * 1e3) +
          ", \"us_per_decision\": " + json_number(seconds * 1e6 / static_cast<double>(splits.size())) + "}");
    }
  }
  if (!settings.json.empty()) std::ofstream(settings.json) << report.text();
}

}  // namespace
}  // namespace warploom::dp

int main(int argc, char** argv) {
  warploom::dp::Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&](const char* prefix) {
      const std::string p = prefix;
      return argument.rfind(p, 0) == 0 ? argument.c_str() + p.size() : nullptr;
    };
    if (argument == "--check-only")
      settings.check_only = true;
    else if (const char* rounds = value("--rounds="))
      settings.rounds = std::max(1, std::atoi(rounds));
    else if (const char* largest = value("--largest="))
      settings.largest = std::atoll(largest);
    else if (const char* group = value("--group="))
      settings.group = std::max(1, std::atoi(group));
    else if (const char* multiprocessors = value("--multiprocessors="))
      settings.multiprocessors = std::max(0, std::atoi(multiprocessors));
    else if (const char* json = value("--benchmark_out="))
      settings.json = json;
    else if (value("--benchmark_out_format=") == nullptr) {  // `./dev bench` says json, which it is
      std::fprintf(
          stderr,
          "usage: %s [--check-only] [--rounds=N] [--largest=LEAVES] [--group=BLOCKS] [--multiprocessors=N] [--benchmark_out=FILE]\n",
          argv[0]);
      return 2;
    }
  }
  try {
    if (!warploom::dp::all_right(settings)) return 1;
    std::printf("cells and decisions are right\n");
    if (!settings.check_only) warploom::dp::measure_all(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
