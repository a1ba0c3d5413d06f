#include "fold/gpu_ensemble.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <optional>
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

/// Pairs that are expected of a base, at most: then one copy takes them to the host.
constexpr std::uint64_t kPairsOfABase = 32;

/// Sequences that are on the GPU together, from their codes to their results.
struct Part {
  std::span<const std::size_t> places = {};  // of the sequences
  SumLayout layout = {};
  SumLaunch launch = {};
  DeviceBuffer device = {}, pairs = {};
  PinnedBuffer host = {};
  // In `host`, once all is done.
  const SumTotal* totals = nullptr;
  const ReadStrip* strips = nullptr;
  const double* unpaired = nullptr;
  std::uint64_t* pair_places = nullptr;
  std::uint32_t* stop = nullptr;  // on the device
  CudaStream stream = make_stream();
  CudaEvent begun = make_event(), inside = make_event(), ends = make_event(), outside = make_event(),
            read = make_event();
  std::optional<PinnedPair> way = std::nullopt;  // of pairs to the host
  WaitAtEnd wait = WaitAtEnd(stream.get());      // the last member: before the memory is released
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
  launch.next_ends = carver.take<std::uint32_t>(1);
  launch.next_worths = carver.take<std::uint32_t>(1);
  launch.done_ends = carver.take<std::uint32_t>(layout.flags);
  launch.done_worths = carver.take<std::uint32_t>(layout.flags);
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
  if (layout.turned > 0) {
    launch.turned = carver.take<double>(layout.turned);
    launch.m_turned = probabilities ? carver.take<double>(layout.turned) : nullptr;
    launch.far = carver.take<double>(std::min<std::int64_t>(tasks, kMostBlocks) * kFarCells);
  }
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

  std::vector<std::size_t> parts() {
    // What is left over is for the runtime itself, for rounding and for lists of pairs; more sequences at
    // once gain nothing, and their results wait.
    const std::uint64_t room = device_memory().free / 100 * 90;
    const auto bytes_of = [&](std::size_t k) {
      const auto n = std::ssize(sequences_[k]);
      return sum_bytes_on_gpu(n, options_.probabilities, n >= turns_from_);
    };
    // One that has no room for its numbers along columns, too, is summed without.
    if (sequences_.size() == 1 && bytes_of(0) > room) turns_from_ = kMostBases + 1;
    std::vector<std::uint64_t> bytes;
    for (const std::size_t k : order_) bytes.push_back(bytes_of(k));
    return ends_of_parts(bytes, sequences_[order_.front()].size(),
                         {room, 1 << 16, "the ensemble of", "sum it alone"});
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
    for (const std::size_t k : part.places) {
      const auto n = std::ssize(sequences_[k]);
      layout.add(n, n >= turns_from_);
    }
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
      part.pair_places = carver.take<std::uint64_t>(tasks + 1);
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
    launch_ends(launch, warps, false, stream);
    if (options_.probabilities) launch_ends(launch, warps, true, stream);
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
    // Pinned memory takes long to be had, so while the GPU computes.
    if (options_.probabilities && !part.way)
      part.way.emplace(stream,
                       static_cast<std::uint64_t>(layout.columns) * kPairsOfABase * sizeof(ListedPair));
    if (times_ != nullptr) times_->prepare += seconds_since(begin);
  }

  static void launch_ends(const SumLaunch& launch, bool warps, bool outside, cudaStream_t stream) {
    if (warps)
      launch_sum_ends(launch, outside, stream);
    else
      launch_end_blocks(launch, outside, stream);
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
    const std::vector<std::size_t> first_tasks =
        options_.probabilities ? list(part) : std::vector<std::size_t>{};
    const auto each = [&](const auto& body) {
      for_each_of(std::ssize(part.places), [&](std::int64_t k) { body(static_cast<std::size_t>(k)); });
    };
    each([&](std::size_t k) { take(part, k, first_tasks); });
    if (options_.probabilities) {
      take_pairs(part, first_tasks);
      // Pairs that are asked for are listed, and no others, unless a structure may have them.
      if (options_.gamma > 0 || options_.cutoff > .5) each([&](std::size_t k) { end(part, k); });
    }
    if (times_ == nullptr) return;
    times_->inside += seconds_between(part.begun, part.inside);
    times_->ends += seconds_between(part.inside, part.ends);
    times_->outside += seconds_between(part.ends, part.outside);
    times_->read += seconds_between(part.outside, part.read);
    times_->results += seconds_since(begin);
  }

  /// Where each strip's pairs begin, and the GPU lists them. The first task of each sequence, and their end.
  std::vector<std::size_t> list(Part& part) const {
    std::uint64_t count = 0;
    const std::size_t tasks = part.layout.tasks.size();
    std::vector<std::size_t> first_tasks;
    first_tasks.reserve(part.places.size() + 1);
    for (std::size_t task = 0; task < tasks; ++task) {
      if (part.layout.tasks[task].strip == 0) first_tasks.push_back(task);
      part.pair_places[task] = count, count += part.strips[task].count;
    }
    first_tasks.push_back(tasks);
    part.pair_places[tasks] = count;
    if (count == 0) return first_tasks;
    part.pairs.reserve(count * sizeof(ListedPair));
    part.launch.pairs = reinterpret_cast<ListedPair*>(part.pairs.memory.get());
    copy(part, const_cast<std::uint64_t*>(part.launch.pair_places), part.pair_places,
         tasks * sizeof(std::uint64_t));
    launch_list(part.launch, part.stream.get());
    return first_tasks;
  }

  /// The results of one but for its pairs, for which there is room then.
  void take(const Part& part, std::size_t k, std::span<const std::size_t> first_tasks) {
    const SumSequence& s = part.layout.sequences[k];
    const SumTotal& total = part.totals[k];
    Ensemble& out = all_[part.places[k]];
    out.kt = weights_.kt();
    out.energy = -out.kt * (std::log(total.number) + static_cast<double>(total.exponent) * std::numbers::ln2);
    if (!options_.probabilities) return;
    out.unpaired.assign(part.unpaired + s.columns + 1, part.unpaired + s.columns + 1 + s.n);
    out.centroid.assign(static_cast<std::size_t>(s.n), '.');
    double differ = 0;
    for (std::size_t task = first_tasks[k]; task < first_tasks[k + 1]; ++task)
      differ += part.strips[task].differ, out.centroid_distance += part.strips[task].centroid;
    out.diversity = 2 * differ;
    out.pairs.resize(part.pair_places[first_tasks[k + 1]] - part.pair_places[first_tasks[k]]);
  }

  /// The list of pairs, to the sequences that they are of.
  void take_pairs(Part& part, std::span<const std::size_t> first_tasks) {
    const std::uint64_t all = part.pair_places[first_tasks.back()];
    if (all == 0) return;
    const auto place = [&](std::size_t k) { return part.pair_places[first_tasks[k]]; };
    part.way->download(
        part.launch.pairs, all, [&](std::uint64_t begin, const ListedPair* from, std::uint64_t count) {
          const auto after = std::ranges::upper_bound(
              first_tasks, begin, {}, [&](std::size_t task) { return part.pair_places[task]; });
          std::size_t k = static_cast<std::size_t>(after - first_tasks.begin()) - 1;
          for (const std::uint64_t end = begin + count; begin < end; ++k) {
            Ensemble& out = all_[part.places[k]];
            const std::uint64_t until = std::min(end, place(k + 1)), first = begin - place(k);
            for (PairProbability& pair : std::span(out.pairs).subspan(first, until - begin)) {
              pair = {from->i, from->j, from->probability};
              if (pair.probability > .5)  // two bases of no other such pair, so of no other thread
                out.centroid[static_cast<std::size_t>(pair.i - 1)] = '(',
                                                               out.centroid[static_cast<std::size_t>(
                                                                   pair.j - 1)] = ')';
              ++from;
            }
            begin = until;
          }
        });
  }

  /// The structure of greatest accuracy, for which more pairs are listed than are asked for.
  void end(const Part& part, std::size_t k) {
    Ensemble& out = all_[part.places[k]];
    if (options_.gamma > 0)
      std::tie(out.mea, out.accuracy) = most_accurate(out.pairs, out.unpaired, options_.gamma);
    std::erase_if(out.pairs,
                  [&](const PairProbability& pair) { return !(pair.probability >= options_.cutoff); });
  }

  std::span<const std::string> sequences_, constraints_;
  const Weights& weights_;
  const EnsembleOptions& options_;
  EnsembleTimes* times_;
  std::int64_t turns_from_ = kFarFrom;  // bases
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
