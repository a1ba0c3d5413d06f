#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dp/cuda_cells.cuh"
#include "dp/cuda_launches.hpp"
#include "dp/cuda_persistent.hpp"
#include "dp/solve_shared.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"

namespace warploom::dp {
namespace {

int multiprocessor_count() {
  int device = 0, count = 0;
  cuda_check(cudaGetDevice(&device), "cudaGetDevice");
  cuda_check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  return count;
}

/// One kernel for each call.
template <class T, Arithmetic kArithmetic, bool kFactors>
class Launcher final : public Executor {
 public:
  Launcher(const DeviceCells<T, kArithmetic>& cells, const Terms<T>& terms, Triangular method,
           const SplitBuffers& buffers, int multiprocessors, cudaStream_t stream)
      : cells_(cells),
        terms_(terms),
        method_(method),
        buffers_(buffers),
        multiprocessors_(multiprocessors),
        stream_(stream) {}

  void rectangular(const Rectangular& call) override {
    launch_rectangular<T, kArithmetic, kFactors>(cells_, terms_, call, buffers_, multiprocessors_, stream_);
  }
  void triangular(const TriangularBlock& call) override {
    launch_triangular<T, kArithmetic, kFactors>(cells_, terms_, call, method_, stream_);
  }

 private:
  const DeviceCells<T, kArithmetic>& cells_;
  const Terms<T>& terms_;
  Triangular method_;
  SplitBuffers buffers_;
  int multiprocessors_;
  cudaStream_t stream_;
};

template <class T, Arithmetic kArithmetic, bool kFactors>
class Solver {
 public:
  explicit Solver(const Plan<T>& plan)
      : plan_(plan),
        cells_(std::make_unique<CudaCells<T, kArithmetic, kFactors>>(plan.problems)),
        optimum_places_(scratch_.add<std::int64_t>(plan.problems.size())),
        optima_(scratch_.add<T>(plan.problems.size())) {}

  Solved<T> operator()() {
    try {
      if (plan_.decomposition == Decomposition::persistent)
        solve_persistent();
      else if (one_launch_a_diagonal())
        solve_by_diagonals();
      else
        solve_in_calls();
      fetch_optima();
    } catch (const NarrowOverflow&) {
      return {nullptr, report_};
    }
    return {std::move(cells_), report_};
  }

 private:
  static constexpr bool kNarrow = kArithmetic == Arithmetic::narrow;

  bool one_launch_a_diagonal() const {
    return !kNarrow && plan_.decomposition == Decomposition::bottom_up && plan_.block == kDiagonalEdge &&
           plan_.triangular == Triangular::blocked && !plan_.separate_calls && !plan_.phases &&
           plan_.problems[0].points <= kOneLaunchADiagonal;
  }

  void solve_by_diagonals() {
    if constexpr (!kNarrow) {
      const std::int64_t points = plan_.problems[0].points,
                         count = (points + kDiagonalEdge - 1) / kDiagonalEdge;
      const auto launch = [this](std::int64_t diagonal) {
        launch_diagonal<T, kArithmetic, kFactors>(cells_->cells(0), cells_->terms(0), diagonal,
                                                  stream_.get());
      };
      prepare([] {});
      load_kernels(stream_.get(), [&] {
        launch(0);
        gather_optima();
      });
      const CudaEvent begin = record_event(stream_.get());
      for (std::int64_t d = 0; d < count; ++d) launch(d);
      const CudaEvent end = record_event(stream_.get());
      cuda_check(cudaEventSynchronize(end.get()), "solving on the GPU");
      PairCounter counter;
      report_.calls = decompose(points, plan_.block, plan_.decomposition, false, counter);
      report_.launches = count;
      report_.seconds = seconds_between(begin, end);
    }
  }

  void solve_in_calls() {
    if (plan_.problems.size() != 1)
      throw Internal("a batch of " + std::to_string(plan_.problems.size()) + " problems was given to calls");
    const int multiprocessors = multiprocessor_count();
    // Room for partial blocks of 64 x 64, 32 a multiprocessor.
    SplitBuffers buffers;
    buffers.arrival_count = 32 * multiprocessors;
    buffers.partial_bytes = std::min<std::uint64_t>(
        64 << 20, static_cast<std::uint64_t>(buffers.arrival_count) * kTile * kTile * sizeof(T));
    const auto partials = scratch_.add<std::byte>(buffers.partial_bytes);
    const auto arrivals = scratch_.add<unsigned>(static_cast<std::uint64_t>(buffers.arrival_count));
    prepare([&] {
      buffers.partials = scratch_.at<void>(partials);
      buffers.arrivals = scratch_.at<unsigned>(arrivals);
      clear(buffers.arrivals, static_cast<std::uint64_t>(buffers.arrival_count) * sizeof(unsigned));
    });
    Launcher<T, kArithmetic, kFactors> launcher(cells_->cells(0), cells_->terms(0), plan_.triangular, buffers,
                                                multiprocessors, stream_.get());
    const auto make_calls = [this](std::int64_t points, Executor& executor) {
      return decompose(points, plan_.block, plan_.decomposition, plan_.separate_calls, executor);
    };
    const std::int64_t points = plan_.problems[0].points;
    load_kernels(stream_.get(), [&] {
      make_calls(std::min<std::int64_t>(points, 4 * plan_.block), launcher);
      gather_optima();
    });
    PairCounter counter;
    make_calls(points, counter);
    MeteredExecutor metered(launcher, stream_.get(), plan_.phases, counter.sum,
                            kNarrow ? cells_->overflow() : nullptr);
    report_.calls = make_calls(points, metered);
    metered.finish();
    report_.launches = metered.launches();
    report_.seconds = metered.seconds();
    report_.rectangular_seconds = metered.rectangular_seconds();
    report_.triangular_seconds = metered.triangular_seconds();
  }

  void solve_persistent() {
    Tasks tasks(plan_.problems, plan_.block);
    const auto count = static_cast<std::uint64_t>(tasks.count());
    const auto list = scratch_.add<BlockTask>(count);
    const auto first_flag = scratch_.add<std::int64_t>(tasks.first_flag().size());
    const auto next_task = scratch_.add<unsigned long long>(1);
    const auto stop = scratch_.add<int>(1);
    const auto flags = scratch_.add<unsigned>(count);
    PersistentLaunch<T, kArithmetic> launch;
    prepare([&] {
      launch.cells = cells_->device_cells();
      launch.terms = cells_->device_terms();
      launch.first_flag = upload(first_flag, tasks.first_flag());
      launch.flags = scratch_.at<unsigned>(flags);
      launch.tasks = upload(list, tasks.list());
      launch.task_count = tasks.count();
      launch.next_task = scratch_.at<unsigned long long>(next_task);
      launch.stop = scratch_.at<int>(stop);
      launch.edge = plan_.block;
      launch.multiprocessors = plan_.multiprocessors;
      clear(launch.next_task, scratch_.bytes() - next_task);  // the flags, too
    });
    const auto start = [&] {
      launch_persistent<T, kArithmetic, kFactors>(launch, stream_.get());
      cuda_check(cudaGetLastError(), "launching the persistent kernel");
    };
    load_kernels(stream_.get(), [&] {
      start();
      gather_optima();
    });
    // Short solutions are over before anybody would look, and before there is pinned memory to look through.
    constexpr double kShort = 1e10;
    const double all_pairs = tasks.pairs(tasks.count());
    std::optional<Exchange> exchange;
    if (all_pairs > kShort)
      exchange.emplace(scratch_.at<int>(stop), launch.next_task, kNarrow ? cells_->overflow() : nullptr);
    const CudaEvent begin = record_event(stream_.get());
    start();
    const CudaEvent end = record_event(stream_.get());
    if (exchange) {
      PairProgress progress(all_pairs);
      try {
        watch(end, [&] { progress.reach(tasks.pairs(exchange->look())); });
      } catch (...) {
        exchange->stop();
        cudaStreamSynchronize(stream_.get());
        throw;
      }
    }
    cuda_check(cudaEventSynchronize(end.get()), "the persistent kernel");
    check_overflow();
    report_.launches = 1;
    report_.seconds = seconds_between(begin, end);
  }

  /// @throws NarrowOverflow
  void check_overflow() {
    if constexpr (kNarrow) {
      int overflow = 0;
      cuda_check(cudaMemcpyAsync(&overflow, cells_->overflow(), sizeof overflow, cudaMemcpyDeviceToHost,
                                 stream_.get()),
                 "cudaMemcpy of 4 bytes");
      cuda_check(cudaStreamSynchronize(stream_.get()), "the persistent kernel");
      if (overflow != 0) throw NarrowOverflow{};
    }
  }

  /// Memory, once all of it is laid out, and the terms; `fill` fills the scratch memory.
  template <class Fill>
  void prepare(const Fill& fill) {
    report_.bytes = cells_->bytes() + scratch_.bytes();
    require_device_memory(plan_, report_.bytes);
    cells_->allocate();
    scratch_.allocate();
    const Clock::time_point begin = Clock::now();
    cells_->upload();
    upload(optimum_places_, cells_->optimum_places());
    fill();
    cuda_check(cudaStreamSynchronize(stream_.get()), "preparing the GPU's memory");
    report_.transfer_seconds += seconds_since(begin);
  }

  template <class Element>
  const Element* upload(std::uint64_t place, const std::vector<Element>& elements) {
    Element* const there = scratch_.at<Element>(place);
    const std::size_t bytes = elements.size() * sizeof(Element);
    cuda_check(cudaMemcpyAsync(there, elements.data(), bytes, cudaMemcpyHostToDevice, stream_.get()),
               "cudaMemcpy of " + std::to_string(bytes) + " bytes");
    return there;
  }
  void clear(void* memory, std::uint64_t bytes) {
    cuda_check(cudaMemsetAsync(memory, 0, bytes, stream_.get()),
               "cudaMemset of " + std::to_string(bytes) + " bytes");
  }

  void gather_optima() {
    const auto count = static_cast<int>(plan_.problems.size());
    const auto& cells = cells_->cells(0);
    launch_gather<T>(cells.cells, cells.bases, scratch_.at<const std::int64_t>(optimum_places_),
                     scratch_.at<T>(optima_), count, stream_.get());
  }

  void fetch_optima() {
    const Clock::time_point begin = Clock::now();
    gather_optima();
    std::vector<T> optima(plan_.problems.size());
    const std::size_t bytes = optima.size() * sizeof(T);
    cuda_check(
        cudaMemcpyAsync(optima.data(), scratch_.at<T>(optima_), bytes, cudaMemcpyDeviceToHost, stream_.get()),
        "cudaMemcpy of " + std::to_string(bytes) + " bytes");
    cuda_check(cudaStreamSynchronize(stream_.get()), "copying optima from the GPU");
    report_.transfer_seconds += seconds_since(begin);
    cells_->set_optima(std::move(optima));
  }

  const Plan<T>& plan_;
  Report report_;
  std::unique_ptr<CudaCells<T, kArithmetic, kFactors>> cells_;
  DeviceArena scratch_;
  std::uint64_t optimum_places_,
      optima_;  // in it, as are all that the solution needs and its reader does not
  CudaStream stream_ = make_stream();
  WaitAtEnd wait_{stream_.get()};
};

template <class T, Arithmetic kArithmetic>
Solved<T> solve_with(const Plan<T>& plan) {
  const auto has_factors = [](const Terms<T>& terms) { return terms.factors != nullptr; };
  const bool shared = plan.devices.size() > 1;
  if (std::ranges::none_of(plan.problems, has_factors))
    return shared ? solve_shared<T, kArithmetic, false>(plan) : Solver<T, kArithmetic, false>(plan)();
  if constexpr (kArithmetic != Arithmetic::narrow)
    return shared ? solve_shared<T, kArithmetic, true>(plan) : Solver<T, kArithmetic, true>(plan)();
  throw Internal("a problem with factors was planned in narrow storage");
}

}  // namespace

template <class T>
Solved<T> solve_cuda(const Plan<T>& plan) {
  check_interrupt();
  if constexpr (std::is_same_v<T, std::int32_t>)
    if (plan.narrow) return solve_with<T, Arithmetic::narrow>(plan);
  if constexpr (std::is_same_v<T, float>)
    if (std::ranges::all_of(plan.problems, &Terms<T>::non_negative))
      return solve_with<T, Arithmetic::non_negative>(plan);
  return solve_with<T, Arithmetic::plain>(plan);
}

template Solved<std::int32_t> solve_cuda(const Plan<std::int32_t>&);
template Solved<std::int64_t> solve_cuda(const Plan<std::int64_t>&);
template Solved<float> solve_cuda(const Plan<float>&);
template Solved<double> solve_cuda(const Plan<double>&);

}  // namespace warploom::dp
