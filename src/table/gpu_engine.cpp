/// Batches from host memory: chunk after chunk is copied into pinned memory by several threads, and from
/// there to the GPU, while the GPU works on the chunks before (the dissertation's Figure 40).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "core/cuda/memory.hpp"
#include "core/cuda/peers.hpp"
#include "table/engine.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/table/gpu_table.cuh"

namespace warploom::table {
namespace {

constexpr std::size_t kLanes = 3;
/// Operations of a chunk: enough to fill a GPU, few enough for the first and the last copy, which overlap
/// with nothing, to be short.
constexpr std::size_t kLeastChunk = 1 << 15, kMostChunk = 1 << 20;

/// One of several arrays in a buffer.
class Part {
 public:
  /// Puts `bytes` bytes behind those that are there, in alignment.
  Part(std::size_t& end, std::size_t bytes) : begin_(end), bytes_(bytes) { end += (bytes + 255) / 256 * 256; }
  /// Null where there is nothing.
  template <class T>
  T* at(std::byte* buffer) const {
    return bytes_ == 0 ? nullptr : reinterpret_cast<T*>(buffer + begin_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t begin_, bytes_;
};

/// Where a chunk's arrays are in the buffers of a lane: input in the one, output in the other.
template <class Key, class Value>
struct ChunkLayout {
  ChunkLayout(const HostBatch<Key, Value>& batch, std::size_t count)
      : keys(input, count * sizeof(Key)),
        operands(input, batch.operands.empty() ? 0 : count * sizeof(Value)),
        operations(input, batch.operations.empty() ? 0 : count * sizeof(Operation)),
        values(output, batch.values.empty() ? 0 : count * sizeof(Value)),
        outcomes(output, batch.outcomes.empty() ? 0 : count * sizeof(Outcome)) {}

  std::size_t input = 0, output = 0;  // bytes
  Part keys, operands, operations, values, outcomes;
};

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
};

/// On several threads, where it is worth it.
template <std::size_t kCount>
void copy_all(const std::array<Copy, kCount>& copies) {
  constexpr std::size_t kPiece = 128 << 10;
  std::vector<Copy> pieces;
  for (const Copy& copy : copies)
    for (std::size_t begin = 0; begin < copy.bytes; begin += kPiece)
      pieces.push_back({static_cast<std::byte*>(copy.to) + begin,
                        static_cast<const std::byte*>(copy.from) + begin,
                        std::min(kPiece, copy.bytes - begin)});
  const auto run = [&](std::size_t i) { std::memcpy(pieces[i].to, pieces[i].from, pieces[i].bytes); };
  if (pieces.size() <= 4) {
    for (std::size_t i = 0; i < pieces.size(); ++i) run(i);
  } else {
    parallel_for(static_cast<std::int64_t>(pieces.size()),
                 [&](std::int64_t i) { run(static_cast<std::size_t>(i)); });
  }
}

/// What one chunk needs at a time, and the stream of its copies.
struct Lane {
  CudaStream stream = make_stream();
  PinnedBuffer input, output;
  DeviceBuffer device_input, device_output;
  /// Around the copy to the GPU, around the kernel, after the copy from it
  CudaEvent start = make_event(), uploaded = make_event(), begin = make_event(), end = make_event(),
            stop = make_event();
  std::size_t first = 0, count = 0;  ///< the chunk under way; count 0: none

  void reserve(std::size_t wanted_input, std::size_t wanted_output) {
    input.reserve(wanted_input);
    device_input.reserve(wanted_input);
    output.reserve(wanted_output);
    device_output.reserve(wanted_output);
  }
  void copy(void* to, const void* from, std::size_t bytes) const {
    if (bytes == 0) return;
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()), "copying a batch");
  }
};

/// What other GPUs that share the table send.
struct Inbox {
  DeviceArray<std::byte> memory;
  std::size_t bytes = 0;
  CudaEvent used = make_event();
};

void record(const CudaEvent& event, const CudaStream& stream) {
  cuda_check(cudaEventRecord(event.get(), stream.get()), "cudaEventRecord");
}
void follow(const CudaStream& stream, const CudaEvent& event) {
  cuda_check(cudaStreamWaitEvent(stream.get(), event.get(), 0), "cudaStreamWaitEvent");
}

}  // namespace

template <class Key, class Value>
class GpuEngine final : public HashTable<Key, Value>::Engine {
 public:
  using Engine = typename HashTable<Key, Value>::Engine;
  using Sent = typename Engine::Sent;

  explicit GpuEngine(const Options& options)
      : table_({.capacity = options.capacity,
                .grows = options.grows,
                .tables = options.tables,
                .buckets = options.buckets,
                .hash = options.hash,
                .assignment = options.assignment,
                .threads_per_block = options.threads_per_block},
               kernels_.get()) {
    int device = 0;
    cuda_check(cudaGetDevice(&device), "cudaGetDevice");
    cudaDeviceProp properties;
    cuda_check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    device_name_ = properties.name;
  }

  void run(const HostBatch<Key, Value>& batch, BatchReport& report) override {
    cuda_check(cudaStreamSynchronize(kernels_.get()), "starting a batch");
    if (this->grows && population_ > table_.capacity()) table_.make_room(0, kernels_.get());
    if (std::exchange(unfinished_, true)) table_.wait(kernels_.get());  // an exception ended the batch before
    const std::size_t all = batch.keys.size();
    const std::size_t chunk = std::clamp((all / 8 + 255) / 256 * 256, kLeastChunk, kMostChunk);
    const ChunkLayout<Key, Value> largest(batch, std::min(chunk, all));
    for (Lane& lane : lanes_) lane.reserve(largest.input, largest.output);

    const WaitAtEnd wait_0(lanes_[0].stream.get()), wait_1(lanes_[1].stream.get()),
        wait_2(lanes_[2].stream.get()), wait_kernels(kernels_.get());
    for (Lane& lane : lanes_) lane.count = 0;
    std::size_t next = 0;
    for (std::size_t first = 0; first < all; first += chunk, next = (next + 1) % kLanes) {
      check_interrupt();
      finish(lanes_[next], batch, report);
      start(lanes_[next], batch, first, std::min(chunk, all - first));
    }
    for (std::size_t i = 0; i < kLanes; ++i) finish(lanes_[(next + i) % kLanes], batch, report);

    add(table_.wait(kernels_.get()), report);
    unfinished_ = false;
  }

  void run(std::span<const GpuBatch<Key, Value>> parts, void* stream, BatchReport& report) override {
    for (const GpuBatch<Key, Value>& batch : parts)
      for_each_array(batch, [](const void* memory) { require_reachable(memory, kArray); });
    come_after(kernels_.get(), static_cast<cudaStream_t>(stream));
    if (std::exchange(unfinished_, true)) table_.wait(kernels_.get());
    for (const GpuBatch<Key, Value>& batch : parts) add(table_.run(batch, kernels_.get()), report);
    unfinished_ = false;
  }

  std::vector<int> reach(std::span<const GpuBatch<Key, Value>> parts,
                         std::span<const Device> devices) override {
    std::vector<int> homes;
    for (const GpuBatch<Key, Value>& batch : parts) {
      homes.push_back(-1);
      for_each_array(batch, [&](const void* memory) {
        cudaPointerAttributes found{};
        cuda_check(cudaPointerGetAttributes(&found, memory), "cudaPointerGetAttributes");
        if (found.type != cudaMemoryTypeDevice) return require_reachable(memory, kArray);
        homes.back() = found.device;
        if (std::ranges::find(peers_, found.device) != peers_.end()) return;
        std::vector<Device> all(devices.begin(), devices.end());
        all.push_back(Device::gpu(found.device));
        enable_peers(all);
        for (const Device device : all) peers_.push_back(device.ordinal);
      });
    }
    return homes;
  }
  void begin_share(void* stream) override {
    cuda_check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "waiting for the caller's stream");
    if (std::exchange(unfinished_, true)) table_.wait(kernels_.get());
    if (this->grows && population_ > table_.capacity()) table_.make_room(0, kernels_.get());
  }
  std::byte* inbox(std::size_t which, std::size_t bytes) override {
    Inbox& inbox = inboxes_[which];
    if (inbox.bytes < bytes) {
      inbox.memory = {};
      inbox.bytes = 0;
      inbox.memory = make_device<std::byte>(bytes);  // not of a pool, which others would not reach
      inbox.bytes = bytes;
    }
    return inbox.memory.get();
  }
  void send(std::span<const Sent> arrays, Engine& to, std::size_t which) override {
    follow(copies_, static_cast<GpuEngine&>(to).inboxes_[which].used);
    for (const Sent& array : arrays)
      cuda_check(cudaMemcpyAsync(array.to, array.from, array.bytes, cudaMemcpyDefault, copies_.get()),
                 "sending a part of a batch to another GPU");
    record(sent_[which], copies_);
  }
  void work(std::span<const GpuBatch<Key, Value>> parts, const Share& share) override {
    for (const GpuBatch<Key, Value>& batch : parts) table_.run_share_async(batch, share, kernels_.get());
  }
  void work_on_inbox(std::size_t which, std::span<const GpuBatch<Key, Value>> pieces, const Share& share,
                     std::span<Engine* const> senders) override {
    for (Engine* const sender : senders) follow(kernels_, static_cast<GpuEngine*>(sender)->sent_[which]);
    work(pieces, share);
    record(inboxes_[which].used, kernels_);
  }
  void finish_share(BatchReport& report) override {
    add(table_.wait(kernels_.get()), report);
    unfinished_ = false;
  }

  bool make_room(std::uint64_t full) override { return table_.make_room(full, kernels_.get()); }
  std::uint64_t count() const override { return table_.size(kernels_.get()); }
  void export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const override {
    table_.export_pairs(keys, values, kernels_.get());
  }
  std::uint64_t export_pairs(Key* keys, Value* values, std::uint64_t room, void* stream) const override {
    for (const void* const memory : {static_cast<const void*>(keys), static_cast<const void*>(values)})
      require_reachable(memory, "an array for a table's pairs");
    come_after(kernels_.get(), static_cast<cudaStream_t>(stream));
    return table_.export_pairs(keys, values, room, kernels_.get());
  }
  Statistics statistics() const override { return table_.statistics(kernels_.get()); }
  void reserve(std::uint64_t pairs) override { table_.reserve(pairs, kernels_.get()); }
  void trim() override { table_.trim(kernels_.get()); }
  void clear() override {
    table_.clear(kernels_.get());
    population_ = 0;
  }
  std::string description() const override {
    return "lines on cuda: " + device_name_ + ", " + std::to_string(table_.placement().tables) + " x " +
           std::to_string(table_.placement().buckets) + " lines";
  }

 private:
  static constexpr const char* kArray = "a batch's array";
  static void for_each_array(const GpuBatch<Key, Value>& batch, const auto& visit) {
    for (const void* const memory :
         {static_cast<const void*>(batch.operations), static_cast<const void*>(batch.keys),
          static_cast<const void*>(batch.operands), static_cast<const void*>(batch.outcomes),
          static_cast<const void*>(batch.values)})
      if (memory != nullptr) visit(memory);
  }
  void start(Lane& lane, const HostBatch<Key, Value>& batch, std::size_t first, std::size_t count) {
    const ChunkLayout<Key, Value> layout(batch, count);
    std::byte *const host = lane.input.memory.get(), *const in = lane.device_input.memory.get(),
                     *const out = lane.device_output.memory.get();
    copy_all(std::array<Copy, 3>{
        {{layout.keys.template at<Key>(host), batch.keys.data() + first, layout.keys.bytes()},
         {layout.operands.template at<Value>(host), batch.operands.data() + first, layout.operands.bytes()},
         {layout.operations.template at<Operation>(host), batch.operations.data() + first,
          layout.operations.bytes()}}});
    lane.first = first;
    lane.count = count;
    record(lane.start, lane.stream);
    lane.copy(in, host, layout.input);
    record(lane.uploaded, lane.stream);
    follow(kernels_, lane.uploaded);
    record(lane.begin, kernels_);
    table_.run_async({.count = count,
                      .operations = layout.operations.template at<Operation>(in),
                      .operation = batch.operation,
                      .keys = layout.keys.template at<Key>(in),
                      .operands = layout.operands.template at<Value>(in),
                      .outcomes = layout.outcomes.template at<Outcome>(out),
                      .values = layout.values.template at<Value>(out)},
                     kernels_.get());
    record(lane.end, kernels_);
    follow(lane.stream, lane.end);
    lane.copy(lane.output.memory.get(), out, layout.output);
    record(lane.stop, lane.stream);
  }

  void add(const GpuReport& done, BatchReport& report) {
    population_ += done.tally.inserted - done.tally.erased;
    report.tally.inserted += done.tally.inserted;
    report.tally.erased += done.tally.erased;
    report.tally.full += done.tally.full;
    report.retries += done.retries;
  }

  /// Waits for the lane's chunk, if there is one, and gives its results to the user.
  void finish(Lane& lane, const HostBatch<Key, Value>& batch, BatchReport& report) {
    if (lane.count == 0) return;
    cuda_check(cudaEventSynchronize(lane.stop.get()), "running a batch");
    const ChunkLayout<Key, Value> layout(batch, lane.count);
    std::byte* const host = lane.output.memory.get();
    copy_all(std::array<Copy, 2>{
        {{batch.values.data() + lane.first, layout.values.template at<Value>(host), layout.values.bytes()},
         {batch.outcomes.data() + lane.first, layout.outcomes.template at<Outcome>(host),
          layout.outcomes.bytes()}}});
    report.kernel_seconds += seconds_between(lane.begin, lane.end);
    report.transfer_seconds +=
        seconds_between(lane.start, lane.uploaded) + seconds_between(lane.end, lane.stop);
    lane.count = 0;
  }

  CudaStream kernels_ = make_stream();
  GpuTable<Key, Value> table_;
  std::array<Lane, kLanes> lanes_;
  std::string device_name_;
  // Of a table that several GPUs share.
  CudaStream copies_ = make_stream();
  std::array<CudaEvent, 2> sent_ = {make_event(), make_event()};
  std::array<Inbox, 2> inboxes_;
  std::vector<int> peers_;  ///< GPUs whose memory all devices reach that share the table
  std::uint64_t population_ = 0;
  bool unfinished_ = false;
};

template <class Key, class Value>
std::unique_ptr<typename HashTable<Key, Value>::Engine> make_gpu_engine(const Options& options) {
  return std::make_unique<GpuEngine<Key, Value>>(options);
}

template std::unique_ptr<HashTable<std::uint32_t, std::uint32_t>::Engine>
make_gpu_engine<std::uint32_t, std::uint32_t>(const Options&);
template std::unique_ptr<HashTable<std::uint32_t, std::uint64_t>::Engine>
make_gpu_engine<std::uint32_t, std::uint64_t>(const Options&);
template std::unique_ptr<HashTable<std::uint64_t, std::uint32_t>::Engine>
make_gpu_engine<std::uint64_t, std::uint32_t>(const Options&);
template std::unique_ptr<HashTable<std::uint64_t, std::uint64_t>::Engine>
make_gpu_engine<std::uint64_t, std::uint64_t>(const Options&);

}  // namespace warploom::table
