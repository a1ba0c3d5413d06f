#include "fold/gpu_ensemble.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <string>
#include <thread>
#include <tuple>

#include "core/cuda/memory.hpp"
#include "fold/accuracy.hpp"
#include "fold/gpu_batch.hpp"
#include "fold/gpu_parts.hpp"
#include "fold/gpu_sum_batch.hpp"
#include "fold/gpu_sum_kernels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::fold::gpu {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Sequences that a thread prepares or reads off at a time; of few ones, one.
template <class Body>
void for_each_of(std::int64_t count, const Body& body) {
  const std::int64_t together = count > 4'096 ? 64 : 1;
  parallel_for((count + together - 1) / together, [&](std::int64_t piece) {
    for (std::int64_t k = piece * together; k < std::min(count, (piece + 1) * together); ++k) body(k);
  });
}

/// Sequences up to this length are summed at their ends by a warp each where there are many of them.
constexpr std::int64_t kOfAWarp = 600, kManyShort = 1'024;

/// Sequences that are on the GPU together, from their codes to their results.
struct Part {
  std::span<const std::size_t> places = {};  // of the sequences
  SumLayout layout = {};
  SumLaunch launch = {};
  DeviceBuffer device = {}, pairs = {};
  PinnedBuffer host = {};
  std::vector<ListedPair> listed = {};
  // In `host`, once all is done.
  const SumTotal* totals = nullptr;
  const ReadStrip* strips = nullptr;
  const double* unpaired = nullptr;
  std::uint64_t* pair_places = nullptr;
  std::uint32_t* stop = nullptr;  // on the device
  CudaStream stream = make_stream();
  CudaEvent begun = make_event(), inside = make_event(), ends = make_event(), outside = make_event(),
            read = make_event();
  WaitAtEnd wait = WaitAtEnd(stream.get());  // the last member: before the memory is released
};

/// What is written before a launch, whose other arrays SumLaunch has.
struct Arrays {
  SumSequence* sequences;
  Task* tasks;
  std::uint8_t* codes;
  Mark* marks;
  std::uint32_t* stop;
  std::uint64_t* pair_places;
  std::uint64_t zeros;  // bytes from SumLaunch::next_task on
  std::uint64_t bytes;
};

/// Without memory it only measures.
Arrays lay_out(const SumLayout& layout, bool marks, bool probabilities, std::byte* memory,
               SumLaunch& launch) {
  Carver carver(memory);
  Arrays arrays = {};
  const std::int64_t count = std::ssize(layout.sequences), tasks = std::ssize(layout.tasks);
  launch.sequences = arrays.sequences = carver.take<SumSequence>(count);
  launch.count = static_cast<std::int32_t>(count);
  launch.tasks = arrays.tasks = carver.take<Task>(tasks);
  launch.task_count = static_cast<std::int32_t>(tasks);
  launch.codes = arrays.codes = carver.take<std::uint8_t>(layout.codes);
  if (marks) launch.marks = arrays.marks = carver.take<Mark>(layout.codes);
  const std::size_t zero = carver.used();
  launch.next_task = carver.take<std::uint32_t>(1);
  launch.next_outside = carver.take<std::uint32_t>(1);
  launch.done = carver.take<std::uint32_t>(layout.flags);
  launch.done_outside = carver.take<std::uint32_t>(layout.flags);
  launch.stop = arrays.stop = carver.take<std::uint32_t>(1);
  launch.stopped = carver.take<std::uint32_t>(1);
  launch.read = carver.take<ReadStrip>(tasks);
  arrays.zeros = carver.used() - zero;
  launch.exponents = carver.take<std::int32_t>(layout.exponents);
  launch.handed = carver.take<HandedSums>(layout.columns);
  launch.ends = carver.take<double>(layout.columns);
  launch.worths = carver.take<double>(layout.columns);
  launch.unpaired = carver.take<double>(layout.columns);
  launch.end_exponents = carver.take<std::int64_t>(layout.end_exponents);
  launch.totals = carver.take<SumTotal>(count);
  launch.pair_places = arrays.pair_places = carver.take<std::uint64_t>(tasks);
  launch.b = carver.take<double>(layout.cells);
  launch.m1 = carver.take<double>(layout.cells);
  launch.m = carver.take<double>(layout.cells);
  if (probabilities) launch.split = carver.take<double>(layout.cells);
  arrays.bytes = carver.used();
  return arrays;
}

/// The host prepares a part and reads off the results of the one before while the GPU computes.
class Batch {
 public:
  Batch(std::span<const std::string> sequences, const Weights& weights, const EnsembleOptions& options,
        EnsembleTimes* times, std::span<const std::string> constraints)
      : sequences_(sequences),
        constraints_(std::ranges::all_of(constraints, &std::string::empty) ? constraints.first(0)
                                                                           : constraints),
        weights_(weights),
        options_(options),
        times_(times) {}

  std::vector<Ensemble> run() {
    if (sequences_.empty()) return {};
    order_ = longest_first(sequences_);
    upload_tables();
    all_.resize(sequences_.size());
    Part two[2];  // whose memory is used again
    try {
      std::size_t begin = 0, number = 0;
      for (const std::size_t end : parts()) {
        check_interrupt();
        Part& part = two[number++ % 2];
        part.places = std::span(order_).subspan(begin, end - begin);
        start(part);
        if (number > 1) finish(two[number % 2]);
        begin = end;
      }
      finish(two[(number - 1) % 2]);
    } catch (...) {
      for (const Part& part : two) stop_kernels(part.stop, part.begun);
      throw;
    }
    return std::move(all_);
  }

 private:
  void upload_tables() {
    const std::unique_ptr<SumTables> tables = make_sum_tables(weights_);
    const std::vector<double> hairpins = make_sum_hairpins(weights_, std::ssize(sequences_[order_.front()]));
    shared_tables_ = make_device<SumTables>(1);
    shared_hairpins_ = make_device<double>(hairpins.size());
    cuda_check(cudaMemcpy(shared_tables_.get(), tables.get(), sizeof(SumTables), cudaMemcpyDefault),
               "cudaMemcpy of tables");
    cuda_check(cudaMemcpy(shared_hairpins_.get(), hairpins.data(), hairpins.size() * sizeof(double),
                          cudaMemcpyDefault),
               "cudaMemcpy of hairpins");
  }

  std::vector<std::size_t> parts() const {
    // What is left over is for the runtime itself, for rounding and for lists of pairs; more sequences at
    // once gain nothing, and their results wait.
    std::vector<std::uint64_t> bytes;
    for (const std::size_t k : order_)
      bytes.push_back(sum_bytes_on_gpu(std::ssize(sequences_[k]), options_.probabilities));
    return ends_of_parts(bytes, sequences_[order_.front()].size(),
                         {device_memory().free / 100 * 90, 1 << 16, "the ensemble of", "sum it alone"});
  }

  void write_all_codes(const Part& part, std::uint8_t* codes, Mark* marks) const {
    for_each_of(std::ssize(part.places), [&](std::int64_t k) {
      const std::size_t place = part.places[static_cast<std::size_t>(k)];
      try {
        const std::int64_t at = part.layout.sequences[static_cast<std::size_t>(k)].codes;
        write_codes(sequences_[place], codes + at);
        if (!constraints_.empty())
          write_marks(sequences_[place], constraints_[place], weights_.loops(), marks + at);
      } catch (const BadInput& error) {
        if (sequences_.size() == 1) throw;
        throw BadInput("sequence " + std::to_string(place + 1) + ": " + error.what());
      }
    });
  }

  void copy(const Part& part, void* to, const void* from, std::size_t bytes) const {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, part.stream.get()),
               "cudaMemcpy of " + std::to_string(bytes) + " bytes");
  }
  static void record(const Part& part, const CudaEvent& event) {
    cuda_check(cudaEventRecord(event.get(), part.stream.get()), "cudaEventRecord");
  }

  void start(Part& part) {
    const auto begin = Clock::now();
    SumLayout& layout = part.layout = {};
    layout.sequences.reserve(part.places.size());
    for (const std::size_t k : part.places) layout.add(std::ssize(sequences_[k]));
    const auto count = std::ssize(part.places), tasks = std::ssize(layout.tasks);
    const bool warps = layout.longest <= kOfAWarp && count > kManyShort, marks = !constraints_.empty();

    SumLaunch& launch = part.launch = {};
    Arrays arrays = lay_out(layout, marks, options_.probabilities, nullptr, launch);
    log(LogLevel::info, "ensembles of " + std::to_string(count) + " sequences of at most " +
                            std::to_string(layout.longest) + " bases take " + bytes_text(arrays.bytes) +
                            " of the GPU's memory");
    part.device.reserve(arrays.bytes);
    arrays = lay_out(layout, marks, options_.probabilities, part.device.memory.get(), launch);
    part.stop = arrays.stop;

    const auto carve = [&](std::byte* memory) {
      Carver carver(memory);
      part.totals = carver.take<SumTotal>(count);
      part.strips = carver.take<ReadStrip>(tasks);
      part.unpaired = carver.take<double>(layout.columns);
      part.pair_places = carver.take<std::uint64_t>(tasks);
      auto* const codes = carver.take<std::uint8_t>(layout.codes);
      return std::tuple(codes, carver.take<Mark>(marks ? layout.codes : 0), carver.used());
    };
    part.host.reserve(std::get<2>(carve(nullptr)));
    const auto [codes, host_marks, used] = carve(part.host.memory.get());
    write_all_codes(part, codes, host_marks);

    launch.tables = shared_tables_.get();
    launch.sizes = size_weights(weights_);
    launch.hairpin_of = shared_hairpins_.get();
    constexpr std::int64_t kAny = 2'000'000'000;
    launch.max_span = static_cast<std::int32_t>(std::min(weights_.loops().max_span(), kAny));
    launch.lonely_pairs = weights_.loops().lonely_pairs();
    launch.choice = {options_.cutoff, options_.gamma};

    copy(part, arrays.sequences, layout.sequences.data(), layout.sequences.size() * sizeof(SumSequence));
    copy(part, arrays.tasks, layout.tasks.data(), layout.tasks.size() * sizeof(Task));
    copy(part, arrays.codes, codes, static_cast<std::size_t>(layout.codes));
    if (marks) copy(part, arrays.marks, host_marks, static_cast<std::size_t>(layout.codes) * sizeof(Mark));
    const cudaStream_t stream = part.stream.get();
    cuda_check(cudaMemsetAsync(launch.next_task, 0, arrays.zeros, stream), "cudaMemset");
    record(part, part.begun);
    launch_inside(launch, stream);
    record(part, part.inside);
    launch_sum_ends(launch, warps, false, stream);
    if (options_.probabilities) launch_sum_ends(launch, warps, true, stream);
    record(part, part.ends);
    if (options_.probabilities) launch_outside(launch, stream);
    record(part, part.outside);
    if (options_.probabilities) launch_read(launch, static_cast<int>(layout.longest), stream);
    copy(part, const_cast<SumTotal*>(part.totals), launch.totals, part.places.size() * sizeof(SumTotal));
    if (options_.probabilities) {
      copy(part, const_cast<ReadStrip*>(part.strips), launch.read, layout.tasks.size() * sizeof(ReadStrip));
      copy(part, const_cast<double*>(part.unpaired), launch.unpaired,
           static_cast<std::size_t>(layout.columns) * sizeof(double));
    }
    record(part, part.read);
    if (times_ != nullptr) times_->prepare += seconds_since(begin);
  }

  /// Until the part has come so far; where the run is to stop, its kernels stop, too.
  void wait(const Part& part, const CudaEvent& event) const {
    constexpr double kSpin = 5e-3;  // [s]; a thread that sleeps wakes up late
    const auto begin = Clock::now();
    for (;;) {
      const cudaError_t state = cudaEventQuery(event.get());
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady)
        cuda_check(state, "summing over structures of " + std::to_string(part.places.size()) + " sequences");
      if (seconds_since(begin) < kSpin) continue;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      check_interrupt();
    }
  }

  void finish(Part& part) {
    wait(part, part.read);
    const auto begin = Clock::now();
    const ListedPair* pairs = options_.probabilities ? list(part) : nullptr;
    std::vector<std::size_t> first_tasks;
    for (std::size_t task = 0; task < part.layout.tasks.size(); ++task)
      if (part.layout.tasks[task].strip == 0) first_tasks.push_back(task);
    for_each_of(std::ssize(part.places), [&](std::int64_t k) {
      take(part, static_cast<std::size_t>(k), first_tasks[static_cast<std::size_t>(k)], pairs);
    });
    if (times_ == nullptr) return;
    times_->inside += seconds_between(part.begun, part.inside);
    times_->ends += seconds_between(part.inside, part.ends);
    times_->outside += seconds_between(part.ends, part.outside);
    times_->read += seconds_between(part.outside, part.read);
    times_->results += seconds_since(begin);
  }

  /// The pairs that are wanted, each strip's in their order.
  const ListedPair* list(Part& part) const {
    std::uint64_t count = 0;
    const std::size_t tasks = part.layout.tasks.size();
    for (std::size_t task = 0; task < tasks; ++task)
      part.pair_places[task] = count, count += part.strips[task].count;
    if (count == 0) return nullptr;
    part.pairs.reserve(count * sizeof(ListedPair));
    part.launch.pairs = reinterpret_cast<ListedPair*>(part.pairs.memory.get());
    if (part.listed.size() < count) part.listed = std::vector<ListedPair>(count);
    ListedPair* const listed = part.listed.data();
    copy(part, const_cast<std::uint64_t*>(part.launch.pair_places), part.pair_places,
         tasks * sizeof(std::uint64_t));
    launch_list(part.launch, part.stream.get());
    PinnedPair(part.stream.get(), count * sizeof(ListedPair))
        .download(part.launch.pairs, count,
                  [&](std::uint64_t begin, const ListedPair* from, std::uint64_t some) {
                    std::copy_n(from, some, listed + begin);
                  });
    for_each_of(static_cast<std::int64_t>(tasks), [&](std::int64_t task) {
      ListedPair* const first = listed + part.pair_places[task];
      std::sort(first, first + part.strips[task].count, [](const ListedPair& a, const ListedPair& b) {
        return std::tie(a.i, a.j) < std::tie(b.i, b.j);
      });
    });
    return listed;
  }

  /// The results of one, whose strips are tasks from one on.
  void take(const Part& part, std::size_t k, std::size_t first_task, const ListedPair* pairs) {
    const SumSequence& s = part.layout.sequences[k];
    const SumTotal& total = part.totals[k];
    Ensemble& out = all_[part.places[k]];
    out.kt = weights_.kt();
    out.energy = -out.kt * (std::log(total.number) + static_cast<double>(total.exponent) * std::numbers::ln2);
    if (!options_.probabilities) return;
    const auto n = static_cast<std::size_t>(s.n);
    out.unpaired.assign(part.unpaired + s.columns + 1, part.unpaired + s.columns + 1 + s.n);
    out.centroid.assign(n, '.');
    std::vector<PairProbability> all;
    std::size_t count = 0;
    double differ = 0;
    for (std::size_t task = first_task; task < first_task + static_cast<std::size_t>(s.strips); ++task) {
      differ += part.strips[task].differ, out.centroid_distance += part.strips[task].centroid;
      count += part.strips[task].count;
    }
    out.diversity = 2 * differ;
    all.reserve(count);
    // The strips' pairs lie one behind the other.
    const ListedPair* const begin = pairs + (count == 0 ? 0 : part.pair_places[first_task]);
    for (const ListedPair& pair : std::span(begin, count)) {
      if (pair.probability > .5)
        out.centroid[static_cast<std::size_t>(pair.i - 1)] = '(',
                                                       out.centroid[static_cast<std::size_t>(pair.j - 1)] =
                                                           ')';
      all.push_back({pair.i, pair.j, pair.probability});
    }
    if (options_.gamma > 0)
      std::tie(out.mea, out.accuracy) = most_accurate(all, out.unpaired, options_.gamma);
    std::erase_if(all, [&](const PairProbability& pair) { return !(pair.probability >= options_.cutoff); });
    out.pairs = std::move(all);
  }

  std::span<const std::string> sequences_, constraints_;
  const Weights& weights_;
  const EnsembleOptions& options_;
  EnsembleTimes* times_;
  std::vector<std::size_t> order_ = {};
  std::vector<Ensemble> all_ = {};
  DeviceArray<SumTables> shared_tables_;
  DeviceArray<double> shared_hairpins_;
};

}  // namespace

std::vector<Ensemble> ensembles_on_gpu(std::span<const std::string> sequences, const Weights& weights,
                                       const EnsembleOptions& options, EnsembleTimes* times,
                                       std::span<const std::string> constraints) {
  return Batch(sequences, weights, options, times, constraints).run();
}

}  // namespace warploom::fold::gpu
