#include "dp/solve_shared.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/peers.hpp"
#include "core/several_devices.hpp"
#include "dp/cuda_cells.cuh"
#include "dp/cuda_persistent.hpp"

namespace warploom::dp {
namespace {

template <class T, Arithmetic kArithmetic, bool kFactors>
class SharedSolver {
  using AllCells = CudaCells<T, kArithmetic, kFactors>;
  using Cells = DeviceCells<T, kArithmetic>;

 public:
  /// A shard for each of the plan's devices, a kernel for each that differs.
  explicit SharedSolver(const Plan<T>& plan) : plan_(plan), shards_(plan.devices.size()) {
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      const Device device = plan.devices[s];
      const auto known = std::ranges::find(devices_, device);
      shards_[s].gpu = static_cast<std::size_t>(known - devices_.begin());
      if (known == devices_.end()) devices_.push_back(device);
    }
    gpus_.resize(devices_.size());
  }
  SharedSolver(const SharedSolver&) = delete;
  SharedSolver& operator=(const SharedSolver&) = delete;
  ~SharedSolver() {
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      const OnDevice current(devices_[g]);
      gpus_[g].reset();
      for (Shard& shard : shards_)
        if (shard.gpu == g) shard.cells.reset();
    }
  }

  Solved<T> operator()() {
    enable_peers(devices_);
    const Clock::time_point begin = Clock::now();
    on_devices(devices_, [&](std::size_t g) { allocate(g); });
    on_devices(devices_, [&](std::size_t g) { prepare(g); });
    report_.transfer_seconds = seconds_since(begin);
    const Clock::time_point start = Clock::now();
    try {
      on_devices(devices_, [&](std::size_t g) { solve(g); });
    } catch (const NarrowOverflow&) {
      return {nullptr, report_};
    }
    report_.seconds = seconds_since(start);
    report_.launches = static_cast<std::int64_t>(gpus_.size());
    for (const std::unique_ptr<Gpu>& gpu : gpus_) report_.bytes += gpu->bytes;
    const OnDevice current(devices_[0]);
    AllCells& cells = *shards_[0].cells;
    cells.set_optima({cells.cell(0, 0, plan_.problems[0].points - 1)});
    return {std::move(shards_[0].cells), report_};
  }

 private:
  static constexpr bool kNarrow = kArithmetic == Arithmetic::narrow;

  struct Shard {
    std::size_t gpu = 0;
    std::unique_ptr<AllCells> cells = nullptr;
    std::uint64_t flags = 0;  // their place in the scratch memory of its GPU
  };
  struct Gpu {
    Gpu(const Plan<T>& plan, std::vector<bool> here) : tasks(plan.problems, plan.block, std::move(here)) {}
    Tasks tasks;  // of its shards
    DeviceArena scratch;
    std::uint64_t list = 0, cells = 0, shard_flags = 0, cleared = 0, next_task = 0, stop = 0;  // places in it
    std::uint64_t bytes = 0;
    CudaStream stream = make_stream();
    std::optional<Exchange> exchange;
    PersistentLaunch<T, kArithmetic> launch;
    WaitAtEnd wait{stream.get()};
  };

  Shard& first_shard(std::size_t g) { return *std::ranges::find(shards_, g, &Shard::gpu); }

  void allocate(std::size_t g) {
    std::vector<bool> here;
    for (const Shard& shard : shards_) here.push_back(shard.gpu == g);
    gpus_[g] = std::make_unique<Gpu>(plan_, here);
    Gpu& gpu = *gpus_[g];
    gpu.list = gpu.scratch.template add<BlockTask>(static_cast<std::uint64_t>(gpu.tasks.count()));
    gpu.cells = gpu.scratch.template add<Cells>(shards_.size());
    gpu.shard_flags = gpu.scratch.template add<unsigned*>(shards_.size());
    gpu.next_task = gpu.cleared = gpu.scratch.template add<unsigned long long>(1);
    gpu.stop = gpu.scratch.template add<int>(1);
    for (Shard& shard : shards_) {
      if (shard.gpu != g) continue;
      shard.flags = gpu.scratch.template add<unsigned>(static_cast<std::uint64_t>(gpu.tasks.flags()));
      shard.cells = std::make_unique<AllCells>(plan_.problems);
      gpu.bytes += shard.cells->bytes();
    }
    gpu.bytes += gpu.scratch.bytes();
    require_device_memory(plan_, gpu.bytes);
    for (Shard& shard : shards_) {
      if (shard.gpu != g) continue;
      shard.cells->allocate();
      shard.cells->upload();
    }
    gpu.scratch.allocate();
    // Before any kernel of any GPU starts.
    cuda_check(cudaMemsetAsync(gpu.scratch.template at<std::byte>(gpu.cleared), 0,
                               gpu.scratch.bytes() - gpu.cleared, gpu.stream.get()),
               "cudaMemset of flags");
    cuda_check(cudaStreamSynchronize(gpu.stream.get()), "preparing the GPU's memory");
  }

  /// When all have their memory.
  void prepare(std::size_t g) {
    Gpu& gpu = *gpus_[g];
    std::vector<Cells> cells;
    std::vector<unsigned*> flags;
    for (const Shard& shard : shards_) {
      cells.push_back(shard.cells->cells(0));
      flags.push_back(gpus_[shard.gpu]->scratch.template at<unsigned>(shard.flags));
    }
    PersistentLaunch<T, kArithmetic>& launch = gpu.launch;
    launch.cells = upload(gpu, gpu.cells, cells);
    launch.shard_flags = upload(gpu, gpu.shard_flags, flags);
    launch.shards = static_cast<int>(shards_.size());
    launch.terms = first_shard(g).cells->device_terms();
    launch.tasks = upload(gpu, gpu.list, gpu.tasks.list());
    launch.task_count = gpu.tasks.count();
    launch.next_task = gpu.scratch.template at<unsigned long long>(gpu.next_task);
    launch.stop = gpu.scratch.template at<int>(gpu.stop);
    launch.edge = plan_.block;
    launch.multiprocessors = plan_.multiprocessors;
    load_kernels(gpu.stream.get(), [&] { start(gpu); });
    gpu.exchange.emplace(gpu.scratch.template at<int>(gpu.stop), launch.next_task,
                         kNarrow ? first_shard(g).cells->overflow() : nullptr);
  }

  /// @return  where they are. Copies before it returns.
  template <class Element>
  static Element* upload(const Gpu& gpu, std::uint64_t place, const std::vector<Element>& elements) {
    Element* const there = gpu.scratch.template at<Element>(place);
    const std::size_t bytes = elements.size() * sizeof(Element);
    cuda_check(cudaMemcpyAsync(there, elements.data(), bytes, cudaMemcpyHostToDevice, gpu.stream.get()),
               "cudaMemcpy of " + std::to_string(bytes) + " bytes");
    cuda_check(cudaStreamSynchronize(gpu.stream.get()), "copying to the GPU");
    return there;
  }

  static void start(const Gpu& gpu) {
    launch_persistent<T, kArithmetic, kFactors>(gpu.launch, gpu.stream.get());
    cuda_check(cudaGetLastError(), "launching the persistent kernel");
  }

  /// One that fails stops: the others, which wait for its blocks, are asked to by on_devices().
  void solve(std::size_t g) {
    Gpu& gpu = *gpus_[g];
    const double pairs = gpu.tasks.pairs(gpu.tasks.count());
    PairProgress progress(pairs);
    start(gpu);
    try {
      const CudaEvent end = record_event(gpu.stream.get());
      watch(end, [&] { progress.reach(gpu.tasks.pairs(gpu.exchange->look())); });
      cuda_check(cudaEventSynchronize(end.get()), "the persistent kernel");
    } catch (...) {
      gpu.exchange->stop();
      cudaStreamSynchronize(gpu.stream.get());
      throw;
    }
    if constexpr (kNarrow)
      for (const Shard& shard : shards_) {
        int overflow = 0;
        if (shard.gpu == g)
          cuda_check(cudaMemcpy(&overflow, shard.cells->overflow(), sizeof overflow, cudaMemcpyDeviceToHost),
                     "cudaMemcpy of 4 bytes");
        if (overflow != 0) throw NarrowOverflow{};
      }
  }

  const Plan<T>& plan_;
  Report report_;
  std::vector<Device> devices_;  // that differ
  std::vector<Shard> shards_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
};

}  // namespace

template <class T, Arithmetic kArithmetic, bool kFactors>
Solved<T> solve_shared(const Plan<T>& plan) {
  return SharedSolver<T, kArithmetic, kFactors>(plan)();
}

#define WARPLOOM_INSTANTIATE(T, kArithmetic, kFactors) \
  template Solved<T> solve_shared<T, kArithmetic, kFactors>(const Plan<T>&);
WARPLOOM_DP_ARITHMETICS(WARPLOOM_INSTANTIATE)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::dp
