/// The dissertation's GPU implementation (its sections 4.4.2 and 4.5.5): a thread an operation, nodes in one
/// array, a batch in one kernel.

#include <algorithm>
#include <bit>
#include <string>

#include "table/list_cuda.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/device_atomics.cuh"
#include "warploom/core/progress.hpp"

namespace warploom::table {

using list::NodeIndex;

namespace {

/// The dissertation's
constexpr int kThreadsPerBlock = 512;
/// So many that threads which run at the same time seldom want the same one.
constexpr std::uint32_t kMostFreeLists = 8192;
constexpr std::uint32_t kNodesPerFreeList = 64;

/// list_chain.hpp's Memory. The figures' order of accesses is that of the program; it is kept by acquiring
/// loads, and by fences before a CAS and after a node was taken.
template <class Pairs>
class DeviceNodes {
 public:
  __device__ DeviceNodes(Word* words, const ListLayout& layout, std::uint64_t thread)
      : words_(words), layout_(layout), own_(static_cast<std::uint32_t>(thread % layout.free_lists)) {}

  __device__ Word load(NodeIndex node, int word) const { return load_relaxed(at(node, word)); }
  __device__ Word load_acquire(NodeIndex node, int word) const {
    return warploom::load_acquire(at(node, word));
  }
  __device__ void load_acquire_two(NodeIndex node, Word& link, Word& key_word) const {
    asm volatile("ld.acquire.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(link), "=l"(key_word)
                 : "l"(__cvta_generic_to_global(at(node, list::kLinkWord)))
                 : "memory");
  }
  __device__ void store(NodeIndex node, int word, Word value) const { store_relaxed(at(node, word), value); }
  __device__ bool compare_exchange(NodeIndex node, int word, Word& expected, Word desired) const {
    fence_acq_rel();
    auto* const place = reinterpret_cast<unsigned long long*>(at(node, word));
    const Word before = atomicCAS(place, expected, desired);
    const bool done = before == expected;
    expected = before;
    return done;
  }
  __device__ NodeIndex allocate() {
    const NodeIndex node = list::pop_any(*this, layout_.first_top(), layout_.free_lists, std::uint32_t{own_});
    fence_acq_rel();  // for store()
    return node;
  }
  __device__ void release(NodeIndex node) { list::push(*this, layout_.first_top() + own_, node); }

 private:
  __device__ Word* at(NodeIndex node, int word) const {
    return words_ + layout_.template place<Pairs>(node, word);
  }
  Word* words_;
  const ListLayout& layout_;
  std::uint32_t own_;
};

__device__ std::uint64_t global_thread() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

/// Puts nodes from number `first` of the pool on into the free lists, a thread a node. Any block.
template <class Pairs>
__global__ void push_list_nodes(Word* words, ListLayout layout, std::uint32_t first) {
  const std::uint64_t i = first + global_thread();
  if (i >= layout.nodes) return;
  DeviceNodes<Pairs>(words, layout, i).release(layout.first_node() + static_cast<NodeIndex>(i));
}

/// A thread an operation; pointers as in BatchArguments. Any block of whole warps.
template <class Key, class Value>
__global__ void __launch_bounds__(1024)
    execute_list(Word* words, ListLayout layout, Placement placement, std::uint64_t count,
                 const Operation* operations, Operation operation, const Key* keys, const Value* operands,
                 Outcome* outcomes, Value* values, Counters* counters) {
  using Pairs = list::PairsOf<Key, Value>;
  __shared__ unsigned retries;
  if (threadIdx.x == 0) retries = 0;
  __syncthreads();
  const std::uint64_t i = global_thread();
  list::Attempt attempt;
  if (i < count) {
    attempt.operation = operations != nullptr ? operations[i] : operation;
    attempt.key = keys[i];
    attempt.operand = operands != nullptr ? operands[i] : 0;
    attempt.home = placement.home(attempt.key);
    DeviceNodes<Pairs> nodes(words, layout, i);
    list::run<Pairs>(nodes, attempt);
    if (outcomes != nullptr) outcomes[i] = attempt.outcome;
    if (values != nullptr) values[i] = static_cast<Value>(attempt.value);
    if (counters != nullptr && attempt.retries != 0) atomicAdd_block(&retries, attempt.retries);
  }
  if (counters == nullptr) return;
  const int inserted = __syncthreads_count(attempt.outcome == Outcome::inserted);
  const int erased = __syncthreads_count(attempt.outcome == Outcome::erased);
  const int full = __syncthreads_count(attempt.outcome == Outcome::full);
  if (threadIdx.x == 0) {
    if (inserted != 0) atomicAdd(&counters->inserted, static_cast<unsigned long long>(inserted));
    if (erased != 0) atomicAdd(&counters->erased, static_cast<unsigned long long>(erased));
    if (full != 0) atomicAdd(&counters->full, static_cast<unsigned long long>(full));
    if (retries != 0) atomicAdd(&counters->retries, static_cast<unsigned long long>(retries));
  }
}

unsigned blocks_of(std::uint64_t threads, int threads_per_block) {
  const auto size = static_cast<std::uint64_t>(threads_per_block);
  return static_cast<unsigned>((threads + size - 1) / size);
}

double seconds(const CudaEvent& begin, const CudaEvent& end) {
  float milliseconds = 0;
  cuda_check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
  return milliseconds * 1e-3;
}

template <class T>
void copy_in(DeviceArray<T>& to, std::span<const T> from, std::uint64_t room, cudaStream_t stream) {
  if (from.empty()) return;
  if (!to) to = make_device<T>(room);
  cuda_check(cudaMemcpyAsync(to.get(), from.data(), from.size_bytes(), cudaMemcpyHostToDevice, stream),
             "cudaMemcpyAsync of a batch to the device");
}

template <class T>
void copy_out(std::span<T> to, const DeviceArray<T>& from, cudaStream_t stream) {
  if (to.empty()) return;
  cuda_check(cudaMemcpyAsync(to.data(), from.get(), to.size_bytes(), cudaMemcpyDeviceToHost, stream),
             "cudaMemcpyAsync of a batch's results");
}

}  // namespace

template <class Key, class Value>
GpuList<Key, Value>::GpuList(const Options& options)
    : Base(options),
      threads_per_block_(options.threads_per_block > 0 ? (options.threads_per_block + 31) / 32 * 32
                                                       : kThreadsPerBlock),
      stream_(make_stream()),
      begin_(make_event()),
      copied_(make_event()),
      computed_(make_event()),
      end_(make_event()),
      counters_(make_device<Counters>(1)) {
  this->layout_.free_lists =
      std::bit_floor(std::clamp(this->layout_.nodes / kNodesPerFreeList, 1U, kMostFreeLists));
  words_ = make_device<Word>(this->layout_.template words<Pairs>());
  clear();
}

template <class Key, class Value>
void GpuList<Key, Value>::launch(const BatchArguments& batch, cudaStream_t stream) {
  if (batch.count == 0) return;
  execute_list<Key, Value><<<blocks_of(batch.count, threads_per_block_), threads_per_block_, 0, stream>>>(
      words_.get(), this->layout_, this->placement_, batch.count, batch.operations, batch.operation,
      static_cast<const Key*>(batch.keys), static_cast<const Value*>(batch.operands), batch.outcomes,
      static_cast<Value*>(batch.values), batch.counters);
  cuda_check(cudaGetLastError(),
             "launch of execute_list with " + std::to_string(batch.count) + " operations");
}

template <class Key, class Value>
void GpuList<Key, Value>::run(const HostBatch<Key, Value>& batch, BatchReport& report) {
  check_interrupt();
  const std::uint64_t count = batch.keys.size();
  cudaStream_t stream = stream_.get();
  const WaitAtEnd wait(stream);
  if (count > buffers_.room) {
    buffers_ = {};
    buffers_.room = count;
  }
  Buffers& on = buffers_;
  cuda_check(cudaMemsetAsync(counters_.get(), 0, sizeof(Counters), stream), "cudaMemsetAsync of counters");
  cuda_check(cudaEventRecord(begin_.get(), stream), "cudaEventRecord");
  copy_in(on.operations, batch.operations, on.room, stream);
  copy_in(on.keys, batch.keys, on.room, stream);
  copy_in(on.operands, batch.operands, on.room, stream);
  if (!batch.outcomes.empty() && !on.outcomes) on.outcomes = make_device<Outcome>(on.room);
  if (!batch.values.empty() && !on.values) on.values = make_device<Value>(on.room);
  cuda_check(cudaEventRecord(copied_.get(), stream), "cudaEventRecord");
  BatchArguments arguments;
  arguments.count = count;
  arguments.operations = batch.operations.empty() ? nullptr : on.operations.get();
  arguments.operation = batch.operation;
  arguments.keys = on.keys.get();
  arguments.operands = batch.operands.empty() ? nullptr : on.operands.get();
  arguments.outcomes = batch.outcomes.empty() ? nullptr : on.outcomes.get();
  arguments.values = batch.values.empty() ? nullptr : on.values.get();
  arguments.counters = counters_.get();
  launch(arguments, stream);
  cuda_check(cudaEventRecord(computed_.get(), stream), "cudaEventRecord");
  copy_out(batch.outcomes, on.outcomes, stream);
  copy_out(batch.values, on.values, stream);
  cuda_check(cudaEventRecord(end_.get(), stream), "cudaEventRecord");
  Counters counters;
  cuda_check(cudaMemcpyAsync(&counters, counters_.get(), sizeof counters, cudaMemcpyDeviceToHost, stream),
             "cudaMemcpyAsync of counters");
  cuda_check(cudaStreamSynchronize(stream),
             "a batch of " + std::to_string(count) + " operations on a list table");
  report.tally.inserted = counters.inserted;
  report.tally.erased = counters.erased;
  report.tally.full = counters.full;
  report.retries = counters.retries;
  report.kernel_seconds = seconds(copied_, computed_);
  report.transfer_seconds = seconds(begin_, copied_) + seconds(computed_, end_);
}

template <class Key, class Value>
std::vector<Word> GpuList<Key, Value>::words() const {
  std::vector<Word> result(this->layout_.template words<Pairs>());
  cuda_check(cudaMemcpyAsync(result.data(), words_.get(), result.size() * sizeof(Word),
                             cudaMemcpyDeviceToHost, stream_.get()),
             "cudaMemcpyAsync of a list table");
  cuda_check(cudaStreamSynchronize(stream_.get()), "cudaMemcpyAsync of a list table");
  return result;
}

template <class Key, class Value>
void GpuList<Key, Value>::reserve(std::uint32_t nodes) {
  const ListLayout before = this->layout_;
  if (nodes <= before.nodes) return;
  ListLayout after = before;
  after.nodes = nodes;
  const std::uint64_t old_words = before.words<Pairs>(), words = after.words<Pairs>();
  DeviceArray<Word> larger = make_device<Word>(words);
  cuda_check(cudaMemcpyAsync(larger.get(), words_.get(), old_words * sizeof(Word), cudaMemcpyDeviceToDevice,
                             stream_.get()),
             "cudaMemcpyAsync of a list table");
  cuda_check(cudaMemsetAsync(larger.get() + old_words, 0, (words - old_words) * sizeof(Word), stream_.get()),
             "cudaMemsetAsync of a list table");
  cuda_check(cudaStreamSynchronize(stream_.get()), "cudaMemcpyAsync of a list table");
  words_ = std::move(larger);
  this->layout_ = after;
  push_nodes(before.nodes);
}

template <class Key, class Value>
void GpuList<Key, Value>::clear() {
  cuda_check(
      cudaMemsetAsync(words_.get(), 0, this->layout_.template words<Pairs>() * sizeof(Word), stream_.get()),
      "cudaMemsetAsync of a list table");
  push_nodes(0);
}

template <class Key, class Value>
void GpuList<Key, Value>::push_nodes(std::uint32_t first) {
  const unsigned blocks = blocks_of(this->layout_.nodes - first, kThreadsPerBlock);
  push_list_nodes<Pairs><<<blocks, kThreadsPerBlock, 0, stream_.get()>>>(words_.get(), this->layout_, first);
  cuda_check(cudaGetLastError(), "launch of push_list_nodes");
  cuda_check(cudaStreamSynchronize(stream_.get()), "push_list_nodes");
}

template <class Key, class Value>
std::string GpuList<Key, Value>::device() const {
  int ordinal = 0;
  cuda_check(cudaGetDevice(&ordinal), "cudaGetDevice");
  return "cuda: " + cuda_devices().devices.at(static_cast<std::size_t>(ordinal)).name;
}

template <class Key, class Value>
std::unique_ptr<typename ListTable<Key, Value>::Backend> make_list_cuda(const Options& options) {
  return std::make_unique<GpuList<Key, Value>>(options);
}

#define WARPLOOM_LIST_CUDA(Key, Value) \
  template class GpuList<Key, Value>;  \
  template std::unique_ptr<ListTable<Key, Value>::Backend> make_list_cuda<Key, Value>(const Options&);
WARPLOOM_LIST_CUDA(std::uint32_t, std::uint32_t)
WARPLOOM_LIST_CUDA(std::uint32_t, std::uint64_t)
WARPLOOM_LIST_CUDA(std::uint64_t, std::uint32_t)
WARPLOOM_LIST_CUDA(std::uint64_t, std::uint64_t)
#undef WARPLOOM_LIST_CUDA

}  // namespace warploom::table
