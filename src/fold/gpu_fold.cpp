#include "fold/gpu_fold.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "core/cuda/memory.hpp"
#include "fold/gpu_batch.hpp"
#include "fold/gpu_kernels.hpp"
#include "fold/gpu_parts.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::fold::gpu {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Sequences that a thread prepares or checks at a time.
constexpr std::int64_t kTogether = 64;

template <class Body>
void for_each_of(std::int64_t count, const Body& body) {
  parallel_for((count + kTogether - 1) / kTogether, [&](std::int64_t piece) {
    for (std::int64_t k = piece * kTogether; k < std::min(count, (piece + 1) * kTogether); ++k) body(k);
  });
}

/// Sequences up to this length end by a warp each where there are many of them.
constexpr std::int64_t kOfAWarp = 600, kManyShort = 1'024;

/// Sequences that are on the GPU together, from their codes to their results.
struct Part {
  std::span<const std::size_t> places = {};  // of the sequences
  Layout layout = {};
  std::vector<Task> chunks = {};
  DeviceBuffer device = {};
  PinnedBuffer host = {};
  const std::int32_t* energies = nullptr;  // in `host`, once all is done
  const char* structures = nullptr;
  std::uint32_t* stop = nullptr;  // on the device
  CudaStream stream = make_stream();
  CudaEvent begun = make_event(), filled = make_event(), finished = make_event(), done = make_event();
  WaitAtEnd wait = WaitAtEnd(stream.get());  // the last member: before the memory is released
};

/// What is written before a launch, whose other arrays Launch has.
struct Arrays {
  Sequence* sequences;
  Task *tasks, *chunks;
  std::uint8_t* codes;
  Mark* marks;
  std::uint32_t* stop;
  std::uint64_t zeros;  // bytes from Launch::next_task on
  std::uint64_t bytes;
};

/// Without memory it only measures.
Arrays lay_out(const Layout& layout, std::size_t count, bool marks, std::byte* memory, Launch& launch) {
  Carver carver(memory);
  Arrays arrays = {};
  launch.sequences = arrays.sequences = carver.take<Sequence>(static_cast<std::int64_t>(count));
  launch.count = static_cast<std::int32_t>(count);
  launch.tasks = arrays.tasks = carver.take<Task>(std::ssize(layout.tasks));
  launch.chunks = arrays.chunks = carver.take<Task>(std::ssize(layout.tasks));
  launch.task_count = static_cast<std::int32_t>(layout.tasks.size());
  launch.codes = arrays.codes = carver.take<std::uint8_t>(layout.codes);
  if (marks) launch.marks = arrays.marks = carver.take<Mark>(layout.codes);
  const std::size_t zero = carver.used();
  launch.next_task = carver.take<std::uint32_t>(1);
  launch.candidate_counts = carver.take<std::int32_t>(layout.columns);
  launch.done = carver.take<std::uint32_t>(layout.flags);
  launch.stop = arrays.stop = carver.take<std::uint32_t>(1);
  launch.stopped = carver.take<std::uint32_t>(1);
  launch.next_chunk = carver.take<std::uint32_t>(1);
  launch.ended = carver.take<std::uint32_t>(static_cast<std::int64_t>(count));
  launch.parts = carver.take<std::uint64_t>(layout.bases + kPartBlocks);
  launch.part_count = carver.take<std::uint32_t>(1);
  launch.next_part = carver.take<std::uint32_t>(1);
  launch.open_parts = carver.take<std::uint32_t>(1);
  arrays.zeros = carver.used() - zero;
  launch.f = carver.take<std::int32_t>(layout.bases);
  launch.stack = carver.take<std::uint64_t>(layout.bases);
  launch.structures = carver.take<char>(layout.bases);
  launch.energies = carver.take<std::int32_t>(static_cast<std::int64_t>(count));
  launch.handed = carver.take<Handed>(layout.columns);
  launch.candidates = carver.take<Candidate>(layout.candidates);
  launch.c = carver.take<std::int32_t>(layout.cells);
  launch.m = carver.take<std::int32_t>(layout.cells);
  arrays.bytes = carver.used();
  return arrays;
}

/// The host prepares a part and looks at the results of the one before while
/// the GPU computes.
class Batch {
 public:
  Batch(std::span<const std::string> sequences, const LoopTables& tables, bool structures, Times* times,
        std::span<const std::string> constraints)
      : sequences_(sequences),
        constraints_(std::ranges::all_of(constraints, &std::string::empty) ? constraints.first(0)
                                                                           : constraints),
        tables_(tables),
        structures_(structures),
        times_(times) {}

  std::vector<Folding> run() {
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
    const std::unique_ptr<Tables> tables = make_tables(tables_);
    const std::vector<std::int32_t> hairpins = make_hairpins(tables_, std::ssize(sequences_[order_.front()]));
    shared_tables_ = make_device<Tables>(1);
    shared_hairpins_ = make_device<std::int32_t>(hairpins.size());
    cuda_check(cudaMemcpy(shared_tables_.get(), tables.get(), sizeof(Tables), cudaMemcpyDefault),
               "cudaMemcpy of tables");
    cuda_check(cudaMemcpy(shared_hairpins_.get(), hairpins.data(), hairpins.size() * sizeof(std::int32_t),
                          cudaMemcpyDefault),
               "cudaMemcpy of hairpins");
  }

  std::vector<std::size_t> parts() const {
    // What is left over is for the runtime itself and for rounding; more sequences at once gain nothing, and
    // their results wait.
    std::vector<std::uint64_t> bytes;
    for (const std::size_t k : order_) bytes.push_back(bytes_on_gpu(std::ssize(sequences_[k])));
    return ends_of_parts(bytes, sequences_[order_.front()].size(),
                         {device_memory().free / 100 * 95, 1 << 17, "folding", "fold it alone"});
  }

  void write_all_codes(const Part& part, std::uint8_t* codes, Mark* marks) const {
    for_each_of(std::ssize(part.places), [&](std::int64_t k) {
      const std::size_t place = part.places[static_cast<std::size_t>(k)];
      try {
        const std::int64_t at = part.layout.sequences[static_cast<std::size_t>(k)].codes;
        write_codes(sequences_[place], codes + at);
        if (!constraints_.empty())
          write_marks(sequences_[place], constraints_[place], tables_.loops(), marks + at);
      } catch (const BadInput& error) {
        if (sequences_.size() == 1) throw;
        throw BadInput("sequence " + std::to_string(place + 1) + ": " + error.what());
      }
    });
  }

  void start(Part& part) {
    const auto begin = Clock::now();
    Layout& layout = part.layout;
    layout = {};
    layout.sequences.reserve(part.places.size());
    for (const std::size_t k : part.places) layout.add(std::ssize(sequences_[k]));
    const auto count = std::ssize(part.places);
    const bool warps = layout.longest <= kOfAWarp && count > kManyShort;
    part.chunks = warps ? std::vector<Task>() : layout.chunks();

    Launch launch = {};
    const bool marks = !constraints_.empty();
    Arrays arrays = lay_out(layout, part.places.size(), marks, nullptr, launch);
    log(LogLevel::info, std::to_string(count) + " sequences of at most " + std::to_string(layout.longest) +
                            " bases take " + bytes_text(arrays.bytes) + " of the GPU's memory");
    part.device.reserve(arrays.bytes);
    arrays = lay_out(layout, part.places.size(), marks, part.device.memory.get(), launch);
    part.stop = arrays.stop;

    part.host.reserve(static_cast<std::size_t>(layout.codes) * (marks ? 1 + sizeof(Mark) : 1) +
                      part.places.size() * sizeof(std::int32_t) + static_cast<std::size_t>(layout.bases) +
                      1024);
    Carver carver(part.host.memory.get());
    auto* const host_codes = carver.take<std::uint8_t>(layout.codes);
    auto* const host_marks = carver.take<Mark>(marks ? layout.codes : 0);
    auto* const host_energies = carver.take<std::int32_t>(count);
    auto* const host_structures = carver.take<char>(layout.bases);
    part.energies = host_energies;
    part.structures = structures_ ? host_structures : nullptr;
    write_all_codes(part, host_codes, host_marks);

    launch.tables = shared_tables_.get();
    launch.constants = tables_.constants();
    constexpr std::int64_t kAny = 2'000'000'000;
    launch.max_span = static_cast<std::int32_t>(std::min(tables_.loops().max_span(), kAny));
    launch.hairpin_of = shared_hairpins_.get();

    const cudaStream_t stream = part.stream.get();
    const auto copy = [&](void* to, const void* from, std::size_t bytes) {
      cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream),
                 "cudaMemcpy of " + std::to_string(bytes) + " bytes");
    };
    const auto record = [&](const CudaEvent& event) {
      cuda_check(cudaEventRecord(event.get(), stream), "cudaEventRecord");
    };
    copy(arrays.sequences, layout.sequences.data(), layout.sequences.size() * sizeof(Sequence));
    copy(arrays.tasks, layout.tasks.data(), layout.tasks.size() * sizeof(Task));
    if (!warps) copy(arrays.chunks, part.chunks.data(), part.chunks.size() * sizeof(Task));
    copy(arrays.codes, host_codes, static_cast<std::size_t>(layout.codes));
    if (marks) copy(arrays.marks, host_marks, static_cast<std::size_t>(layout.codes) * sizeof(Mark));
    cuda_check(cudaMemsetAsync(launch.next_task, 0, arrays.zeros, stream), "cudaMemset");
    if (!structures_) launch.structures = nullptr;
    record(part.begun);
    launch_fill(launch, stream);
    record(part.filled);
    launch_finish(launch, warps, stream);
    record(part.finished);
    copy(host_energies, launch.energies, part.places.size() * sizeof(std::int32_t));
    if (structures_) copy(host_structures, launch.structures, static_cast<std::size_t>(layout.bases));
    record(part.done);
    if (times_ != nullptr) times_->prepare += seconds_since(begin);
  }

  /// Until a part is done; where the run is to stop, its kernels stop, too.
  void wait(const Part& part) const {
    constexpr double kSpin = 5e-3;  // [s]; a thread that sleeps wakes up late
    const auto begin = Clock::now();
    for (;;) {
      const cudaError_t state = cudaEventQuery(part.done.get());
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady)
        cuda_check(state, "folding " + std::to_string(part.places.size()) + " sequences");
      if (seconds_since(begin) < kSpin) continue;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      check_interrupt();
    }
  }

  void finish(const Part& part) {
    wait(part);
    const auto begin = Clock::now();
    for_each_of(std::ssize(part.places), [&](std::int64_t k) {
      const std::size_t place = part.places[static_cast<std::size_t>(k)];
      const Sequence& s = part.layout.sequences[static_cast<std::size_t>(k)];
      take(place, part.energies[k], structures_ ? part.structures + s.bases : nullptr);
    });
    if (times_ == nullptr) return;
    times_->fill += seconds_between(part.begun, part.filled);
    times_->finish += seconds_between(part.filled, part.finished);
    times_->results += seconds_since(begin);
  }

  /// The result of one, whose energy is summed again, loop by loop.
  void take(std::size_t place, std::int32_t energy, const char* structure) {
    Folding& folding = all_[place];
    folding.energy = energy;
    if (structure == nullptr) return;
    folding.structure.assign(structure, sequences_[place].size());
    if (energy == kNone)
      throw Internal("the way to the energy of sequence " + std::to_string(place + 1) +
                     " is lost on the GPU");
    const std::int32_t check =
        evaluate(bases_of(sequences_[place]), folding.structure, tables_.loops()).energy;
    if (check != energy)
      throw Internal("a sequence of " + std::to_string(sequences_[place].size()) + " bases folds with " +
                     std::to_string(energy) + " on the GPU but its structure has " + std::to_string(check) +
                     " [0.01 kcal/mol]");
  }

  std::span<const std::string> sequences_, constraints_;
  const LoopTables& tables_;
  bool structures_;
  Times* times_;
  std::vector<std::size_t> order_ = {};
  std::vector<Folding> all_ = {};
  DeviceArray<Tables> shared_tables_;
  DeviceArray<std::int32_t> shared_hairpins_;
};

}  // namespace

std::vector<Folding> fold_on_gpu(std::span<const std::string> sequences, const LoopTables& tables,
                                 bool structures, Times* times, std::span<const std::string> constraints) {
  return Batch(sequences, tables, structures, times, constraints).run();
}

}  // namespace warploom::fold::gpu
