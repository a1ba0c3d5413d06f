#include <algorithm>
#include <string>
#include <utility>

#include "core/cuda/owners.hpp"
#include "core/one_caller.hpp"
#include "table/batch.hpp"
#include "table/gpu_layout.hpp"
#include "table/gpu_memory.hpp"
#include "table/maintenance.hpp"
#include "table/stream_order.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/memory.hpp"
#include "warploom/table/device_table.cuh"
#include "warploom/table/gpu_table.cuh"

namespace warploom::table {
namespace {

template <class Key, class Value>
bool can_insert(const GpuBatch<Key, Value>& batch) {
  return batch.operations != nullptr ||
         (batch.operation != Operation::find && batch.operation != Operation::erase);
}

Tally operator-(const Counters& now, const Counters& before) {
  return {now.inserted - before.inserted, now.erased - before.erased, now.full - before.full};
}
GpuReport report_between(const Counters& before, const Counters& now) {
  return {now - before, now.retries - before.retries};
}

template <class State>
CallOf<State> call_of(const std::unique_ptr<State>& table) {
  return {table, "a hash table on a GPU", "table::GpuTable"};
}

}  // namespace

template <class Key, class Value>
class GpuTable<Key, Value>::Implementation {
 public:
  using Slots = typename DeviceTable<Key, Value>::Slots;

  Implementation(const GpuOptions& options, cudaStream_t stream)
      : options_(checked(options)),
        memory_(options.allocator),
        capacity_(options.capacity),
        state_copy_(make_pinned<TableState>(1)) {
    if (options_.pool_fraction == 0) options_.pool_fraction = kDefaultPoolFraction;
    layout_ = layout(capacity_);
    placement_ = placement(layout_);
    lines_ = make_lines(layout_, stream);
    state_ = DeviceBlock(memory_, sizeof(TableState), "the counters of a hash table", stream);
    cuda_check(cudaMemsetAsync(state_.at<void>(), 0, sizeof(TableState), stream),
               "cudaMemset of the counters");
    launch_reset(state(), chains(), end(), stack_of(lines_, layout_), stream);
    order_.enter(stream);
    order_.begin_exclusive(stream);
    order_.end_exclusive();
  }
  ~Implementation() {
    order_.wait();
    use_memory(lines_, {}, nullptr);
    use_memory(state_, {}, nullptr);
    use_memory(outcomes_, {}, nullptr);
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  void run_async(const GpuBatch<Key, Value>& batch, cudaStream_t stream) {
    check(batch);
    launch(batch, &state()->asynchronous, stream);
  }

  void run_share_async(const GpuBatch<Key, Value>& batch, const Share& share, cudaStream_t stream) {
    launch(batch, &state()->asynchronous, stream, share);
  }

  GpuReport run(const GpuBatch<Key, Value>& batch, cudaStream_t stream) {
    check(batch);
    if (options_.grows && known_.population() > capacity_) make_room(0, stream);
    GpuBatch<Key, Value> wanted = batch;
    if (can_insert(batch) && batch.outcomes == nullptr && batch.count > 0) {
      if (outcomes_.bytes() < batch.count) use_memory(outcomes_, scratch(batch.count, stream), stream);
      wanted.outcomes = outcomes_.template at<Outcome>();
    }
    GpuReport report = run_once(wanted, stream);
    while (report.tally.full > 0 && (!options_.grows || make_room(report.tally.full, stream)))
      if (!repeat_full(wanted, report, stream)) break;
    return report;
  }

  GpuReport wait(cudaStream_t stream) {
    order_.begin_exclusive(stream);
    const TableState now = read_state(stream);
    order_.forget();
    return report_between(std::exchange(reported_, now.asynchronous), now.asynchronous);
  }

  DeviceTable<Key, Value, Placement> handle(cudaStream_t stream) {
    order_.enter(stream);
    return {DeviceLines(lines_.template at<Word>(), &state()->pool), placement_};
  }

  std::uint64_t size(cudaStream_t stream) {
    order_.begin_exclusive(stream);
    return count(stream, [&](unsigned long long* sum) {
      launch_count(lines_.template at<Word>(), layout_.lines(), sum, stream);
    });
  }

  std::uint64_t export_pairs(Key* keys, Value* values, std::uint64_t room, cudaStream_t stream) {
    if (room > 0 && (keys == nullptr || values == nullptr))
      throw BadInput("room for " + std::to_string(room) + " pairs without memory for them");
    order_.begin_exclusive(stream);
    return count(stream, [&](unsigned long long* length) {
      launch_export(lines_.template at<Word>(), layout_.lines(), keys, values, room, length, stream);
    });
  }

  void export_pairs(std::vector<Key>& keys, std::vector<Value>& values, cudaStream_t stream) {
    order_.begin_exclusive(stream);
    constexpr std::uint64_t kPart = 1 << 18;  // lines
    const std::uint64_t part = std::min(kPart, layout_.lines()), room = part * Slots::kSlots;
    const DeviceBlock part_keys = scratch(room * sizeof(Key), stream);
    const DeviceBlock part_values = scratch(room * sizeof(Value), stream);
    std::vector<Key> all_keys;
    std::vector<Value> all_values;
    for (std::uint64_t first = 0; first < layout_.lines(); first += part) {
      const std::uint64_t found = count(stream, [&](unsigned long long* length) {
        launch_export(lines_.template at<Word>() + first * kLineWords,
                      std::min(part, layout_.lines() - first), part_keys.at<Key>(), part_values.at<Value>(),
                      room, length, stream);
      });
      fetch(part_keys.at<Key>(), found, all_keys, stream);
      fetch(part_values.at<Value>(), found, all_values, stream);
    }
    keys = std::move(all_keys);
    values = std::move(all_values);
  }

  Statistics statistics(cudaStream_t stream) {
    order_.begin_exclusive(stream);
    constexpr LineIndex kPart = 1 << 20;  // chains
    const LineIndex part = std::min(kPart, chains());
    const DeviceBlock lengths = scratch(part * sizeof(ChainLength), stream);
    Statistics statistics;
    statistics.pairs_per_table.resize(placement_.tables);
    std::uint64_t appended = 0;
    std::vector<ChainLength> fetched;
    for (std::uint64_t first = 0; first < chains(); first += part) {
      const auto size = static_cast<LineIndex>(std::min<std::uint64_t>(part, chains() - first));
      launch_chain_lengths(lines_.template at<Word>(), static_cast<LineIndex>(first), size,
                           lengths.at<ChainLength>(), stream);
      fetched.clear();
      fetch(lengths.at<ChainLength>(), size, fetched, stream);
      for (LineIndex i = 0; i < size; ++i) {
        const ChainLength& length = fetched[i];
        if (length.pairs >= statistics.chain_lengths.size())
          statistics.chain_lengths.resize(length.pairs + 1);
        ++statistics.chain_lengths[length.pairs];
        statistics.pairs_per_table[(first + i) / placement_.buckets] += length.pairs;
        statistics.pairs += length.pairs;
        appended += length.lines - 1;
      }
    }
    statistics.bytes_directory = std::uint64_t{chains()} * kLineBytes;
    statistics.bytes_nodes = appended * kLineBytes;
    statistics.bytes_free = (layout_.pool - appended) * kLineBytes;
    return statistics;
  }

  void reserve(std::uint64_t pairs, cudaStream_t stream) {
    if (pairs <= capacity_) return;
    order_.begin_exclusive(stream);
    const GpuLayout wanted = layout(pairs);
    if (wanted.chains != chains())
      rehash(wanted, stream);
    else if (wanted.pool > layout_.pool)
      extend_pool(wanted.pool, stream);
    capacity_ = pairs;
    order_.end_exclusive();
  }

  bool make_room(std::uint64_t full, cudaStream_t stream) {
    order_.begin_exclusive(stream);
    const std::uint64_t population = read_state(stream).population(), needed = population + full;
    try {
      if (needed > capacity_) {
        // Many of the operations may be on one key: no more than four times at once.
        reserve(std::max(2 * capacity_, std::min(needed, 4 * std::max(population, capacity_))), stream);
      } else {
        trim(stream);
        const TableState now = read_state(stream);
        if (free_lines(now.pool) < layout_.pool / 2) extend_pool(2 * layout_.pool, stream);
      }
    } catch (const OutOfMemory&) {
      return false;
    }
    return true;
  }

  void trim(cudaStream_t stream) { trim(false, stream); }

  void clear(cudaStream_t stream) {
    order_.begin_exclusive(stream);
    cuda_check(cudaMemsetAsync(lines_.template at<void>(), 0, layout_.line_bytes(), stream),
               "clearing a hash table");
    launch_reset(state(), chains(), end(), stack_of(lines_, layout_), stream);
    order_.end_exclusive();
    known_ = {};  // what has been inserted is not known before the next run() or wait()
  }

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t bytes() const { return lines_.bytes() + state_.bytes(); }
  const Placement& placement() const { return placement_; }

  OneCaller caller;

 private:
  static LineIndex* stack_of(const DeviceBlock& lines, const GpuLayout& layout) {
    return reinterpret_cast<LineIndex*>(lines.at<Word>() + layout.lines() * kLineWords);
  }
  TableState* state() const { return state_.at<TableState>(); }
  LineIndex chains() const { return static_cast<LineIndex>(layout_.chains); }
  LineIndex end() const { return static_cast<LineIndex>(layout_.lines()); }

  static const GpuOptions& checked(const GpuOptions& options) {
    if (options.tables == 0) throw BadInput("a hash table of 0 tables; there has to be one at least");
    if (!(options.pool_fraction >= 0 && options.pool_fraction <= 1000))
      throw BadInput("a pool of " + std::to_string(options.pool_fraction) +
                     " lines a home line; it may have 0 (by default) to 1000");
    if (options.threads_per_block < 0 || options.threads_per_block > 1024 ||
        options.threads_per_block % 32 != 0)
      throw BadInput(std::to_string(options.threads_per_block) +
                     " threads a block; a multiple of 32 up to 1024, or 0 for the best known");
    if ((options.allocator.allocate == nullptr) != (options.allocator.release == nullptr))
      throw BadInput("an allocator with one of its two functions; give both or none");
    name(options.hash);
    name(options.assignment);
    return options;
  }
  static void check(const GpuBatch<Key, Value>& batch) {
    if (batch.count > 0 && batch.keys == nullptr)
      throw BadInput("a batch of " + std::to_string(batch.count) + " operations without keys");
  }

  GpuLayout layout(std::uint64_t capacity) const {
    const GpuLayout layout =
        gpu_layout(capacity, options_.tables, options_.buckets, options_.pool_fraction, Slots::kSlots);
    if (layout.chains >= std::uint64_t{1} << 32)
      throw BadInput(std::to_string(options_.tables) + " tables of " + std::to_string(layout.buckets) +
                     " buckets; together they may have 2^32 - 1 buckets");
    return layout;
  }
  Placement placement(const GpuLayout& layout) const {
    return {options_.tables, static_cast<std::uint32_t>(layout.buckets), options_.hash, options_.assignment,
            static_cast<int>(sizeof(Key))};
  }

  DeviceBlock make_lines(const GpuLayout& layout, cudaStream_t stream) const {
    if (layout.lines() > kNoLine)
      throw OutOfMemory("a hash table of " + std::to_string(layout.lines()) + " lines; it may have 2^32 - 1");
    DeviceBlock lines(memory_, layout.bytes(), "the lines of a hash table", stream);
    cuda_check(cudaMemsetAsync(lines.at<void>(), 0, layout.line_bytes(), stream), "clearing a hash table");
    return lines;
  }
  /// The stream of the old block may exist no more: it is given back in the order of this one.
  static void use_memory(DeviceBlock& block, DeviceBlock with, cudaStream_t stream) {
    block.follow(stream);
    block = std::move(with);
  }
  DeviceBlock scratch(std::uint64_t bytes, cudaStream_t stream) const {
    return DeviceBlock(memory_, std::max<std::uint64_t>(bytes, 1), "a hash table's temporary memory", stream);
  }

  static BatchArguments arguments(const GpuBatch<Key, Value>& batch) {
    BatchArguments arguments;
    arguments.count = batch.count;
    arguments.operations = batch.operations;
    arguments.operation = batch.operation;
    arguments.keys = batch.keys;
    arguments.operands = batch.operands;
    arguments.outcomes = batch.outcomes;
    arguments.values = batch.values;
    return arguments;
  }

  void launch(const GpuBatch<Key, Value>& batch, Counters* counters, cudaStream_t stream,
              const Share& share = {}) {
    if (batch.count == 0) return;
    if (can_insert(batch)) {
      // As many lines as insertions could be taken: so rarely is the device asked whether they are short.
      if (taken_at_most_ >= layout_.pool / 4) trim(true, stream);
      taken_at_most_ += batch.count / share.of;
    }
    order_.enter(stream);
    BatchArguments launched = arguments(batch);
    launched.counters = counters;
    launched.share = share;
    if (batch.operations == nullptr && batch.operation == Operation::find && order_.is_exclusive()) {
      launched.alone = true;
      order_.end_exclusive();
    }
    launch_batch<Key, Value>({lines_.template at<Word>(), &state()->pool, placement_}, launched,
                             options_.threads_per_block, stream);
    cuda_check(cudaGetLastError(), "launching a batch of " + std::to_string(batch.count) + " operations");
  }

  void trim(bool only_if_short, cudaStream_t stream) {
    order_.begin_exclusive(stream);
    launch_trim<Slots>(lines_.template at<Word>(), state(), chains(), only_if_short, stream);
    order_.end_exclusive();
    taken_at_most_ = 0;
  }

  GpuReport run_once(const GpuBatch<Key, Value>& batch, cudaStream_t stream) {
    launch(batch, &state()->waited, stream);
    const Counters before = std::exchange(waited_, read_state(stream).waited);
    return report_between(before, waited_);
  }

  /// @return whether fewer operations are full than before
  bool repeat_full(const GpuBatch<Key, Value>& batch, GpuReport& report, cudaStream_t stream) {
    const std::uint64_t count = report.tally.full;
    const auto optional = [&](bool wanted, std::uint64_t bytes) {
      return wanted ? scratch(count * bytes, stream) : DeviceBlock();
    };
    GpuReport repeated;
    try {
      const DeviceBlock indices = optional(true, sizeof(std::uint64_t));
      const DeviceBlock operations = optional(batch.operations != nullptr, sizeof(Operation));
      const DeviceBlock keys = optional(true, sizeof(Key));
      const DeviceBlock operands = optional(batch.operands != nullptr, sizeof(Value));
      const DeviceBlock outcomes = optional(true, sizeof(Outcome));
      const DeviceBlock values = optional(batch.values != nullptr, sizeof(Value));
      const FullOperations<Key, Value> full{
          &state()->sum,        indices.at<std::uint64_t>(), operations.at<Operation>(), keys.at<Key>(),
          operands.at<Value>(), outcomes.at<Outcome>(),      values.at<Value>()};
      cuda_check(cudaMemsetAsync(full.count, 0, sizeof *full.count, stream), "cudaMemset");
      launch_gather_full(arguments(batch), full, stream);
      repeated = run_once(
          {count, full.operations, batch.operation, full.keys, full.operands, full.outcomes, full.values},
          stream);
      launch_scatter_full(full, count, batch.outcomes, batch.values, stream);
      cuda_check(cudaStreamSynchronize(stream), "repeating operations that found no room");
    } catch (const OutOfMemory&) {
      return false;
    }
    report.tally.inserted += repeated.tally.inserted;
    report.tally.erased += repeated.tally.erased;
    report.tally.full = repeated.tally.full;
    report.retries += repeated.retries;
    return repeated.tally.full < count;
  }

  /// Out of place. Exclusive.
  void rehash(GpuLayout wanted, cudaStream_t stream) {
    const TableState before = read_state(stream);
    for (;;) {
      DeviceBlock lines = make_lines(wanted, stream);
      DeviceBlock state = DeviceBlock(memory_, sizeof(TableState), "the counters of a hash table", stream);
      TableState fresh;
      fresh.pool = {static_cast<LineIndex>(wanted.chains),
                    static_cast<LineIndex>(wanted.lines()),
                    stack_of(lines, wanted),
                    0,
                    {}};
      fresh.asynchronous = before.asynchronous;
      fresh.waited = before.waited;
      write_state(state, fresh, stream);
      // Threads that append to one chain at the same time each take a line, and give it back: pairs that
      // found none for that reason find one when only they are left.
      for (unsigned long long lost = ~0ull;;) {
        launch_rehash<Slots>(lines_.template at<Word>(), layout_.lines(), lines.at<Word>(),
                             state.at<TableState>(), placement(wanted), stream);
        fresh = read_state(state, stream);
        if (fresh.lost == 0 || fresh.lost >= lost) break;
        lost = std::exchange(fresh.lost, 0);
        write_state(state, fresh, stream);
      }
      if (fresh.lost == 0) {
        fresh.base = static_cast<long long>(fresh.moved) - fresh.net();
        write_state(state, fresh, stream);
        use_memory(lines_, std::move(lines), stream);
        use_memory(state_, std::move(state), stream);
        layout_ = wanted;
        placement_ = placement(wanted);
        known_ = fresh;
        taken_at_most_ = 0;
        return;
      }
      // Keys that are spread unevenly: n pairs never need more than n / slots appended lines.
      const std::uint64_t most = kLeastPool + (fresh.moved + fresh.lost) / Slots::kSlots + wanted.chains / 8;
      if (wanted.pool >= most)
        throw OutOfMemory("growing a hash table to " + std::to_string(wanted.chains) +
                          " chains: a chain would have more than 4096 lines; take another hash function");
      wanted.pool = most;
    }
  }

  /// The chains stay as they are. Exclusive.
  void extend_pool(std::uint64_t pool, cudaStream_t stream) {
    GpuLayout wanted = layout_;
    wanted.pool = pool;
    DeviceBlock lines = make_lines(wanted, stream);
    const auto copy = [&](void* to, const void* from, std::uint64_t bytes) {
      cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "copying a hash table");
    };
    LineIndex* const stack = stack_of(lines, wanted);
    copy(lines.at<void>(), lines_.template at<void>(), layout_.line_bytes());
    copy(stack, stack_of(lines_, layout_), layout_.pool * sizeof(LineIndex));
    TableState state = read_state(stream);
    state.pool.next_fresh = std::min(state.pool.next_fresh, state.pool.end);  // it counts vain attempts, too
    state.pool.end = static_cast<LineIndex>(wanted.lines());
    state.pool.stack = stack;
    write_state(state_, state, stream);
    use_memory(lines_, std::move(lines), stream);
    layout_ = wanted;
  }

  template <class Element>
  void fetch(const Element* from, std::uint64_t count, std::vector<Element>& to, cudaStream_t stream) const {
    const std::size_t before = to.size();
    to.resize(before + count);
    if (count == 0) return;
    cuda_check(
        cudaMemcpyAsync(to.data() + before, from, count * sizeof(Element), cudaMemcpyDeviceToHost, stream),
        "copying from the GPU");
    cuda_check(cudaStreamSynchronize(stream), "copying from the GPU");
  }

  /// What launch(sum) adds to a sum.
  template <class Launch>
  std::uint64_t count(cudaStream_t stream, const Launch& launch) const {
    unsigned long long* const sum = &state()->sum;
    cuda_check(cudaMemsetAsync(sum, 0, sizeof *sum, stream), "cudaMemset");
    launch(sum);
    unsigned long long result = 0;
    cuda_check(cudaMemcpyAsync(&result, sum, sizeof result, cudaMemcpyDeviceToHost, stream),
               "copying from the GPU");
    cuda_check(cudaStreamSynchronize(stream), "counting the pairs of a hash table");
    return result;
  }

  TableState read_state(const DeviceBlock& state, cudaStream_t stream) const {
    cuda_check(cudaMemcpyAsync(state_copy_.get(), state.at<void>(), sizeof(TableState),
                               cudaMemcpyDeviceToHost, stream),
               "copying from the GPU");
    cuda_check(cudaStreamSynchronize(stream), "running a batch");
    return state_copy_[0];
  }
  const TableState& read_state(cudaStream_t stream) { return known_ = read_state(state_, stream); }
  void write_state(const DeviceBlock& state, const TableState& value, cudaStream_t stream) const {
    state_copy_[0] = value;
    cuda_check(cudaMemcpyAsync(state.at<void>(), state_copy_.get(), sizeof(TableState),
                               cudaMemcpyHostToDevice, stream),
               "copying to the GPU");
    cuda_check(cudaStreamSynchronize(stream), "copying to the GPU");
  }

  GpuOptions options_;
  GpuMemory memory_;
  GpuLayout layout_;
  Placement placement_;
  std::uint64_t capacity_;
  DeviceBlock lines_, state_;
  DeviceBlock outcomes_;  ///< of run(), where the caller wants none but the table has to know
  PinnedArray<TableState> state_copy_;
  TableState known_;                 ///< when it was last read
  Counters waited_, reported_;       ///< as of the last run() and wait()
  std::uint64_t taken_at_most_ = 0;  ///< lines that were appended since trim() was last called
  StreamOrder order_;
};

template <class Key, class Value>
GpuTable<Key, Value>::GpuTable(const GpuOptions& options, cudaStream_t stream)
    : implementation_(std::make_unique<Implementation>(options, stream)) {}
template <class Key, class Value>
GpuTable<Key, Value>::~GpuTable() = default;
template <class Key, class Value>
GpuTable<Key, Value>::GpuTable(GpuTable&&) noexcept = default;
template <class Key, class Value>
GpuTable<Key, Value>& GpuTable<Key, Value>::operator=(GpuTable&&) noexcept = default;

template <class Key, class Value>
void GpuTable<Key, Value>::run_async(const GpuBatch<Key, Value>& batch, cudaStream_t stream) {
  call_of(implementation_)->run_async(batch, stream);
}
template <class Key, class Value>
void GpuTable<Key, Value>::run_share_async(const GpuBatch<Key, Value>& batch, const Share& share,
                                           cudaStream_t stream) {
  call_of(implementation_)->run_share_async(batch, share, stream);
}
template <class Key, class Value>
GpuReport GpuTable<Key, Value>::run(const GpuBatch<Key, Value>& batch, cudaStream_t stream) {
  return call_of(implementation_)->run(batch, stream);
}
template <class Key, class Value>
GpuReport GpuTable<Key, Value>::wait(cudaStream_t stream) {
  return call_of(implementation_)->wait(stream);
}
template <class Key, class Value>
DeviceTable<Key, Value, Placement> GpuTable<Key, Value>::handle(cudaStream_t stream) {
  return call_of(implementation_)->handle(stream);
}
template <class Key, class Value>
std::uint64_t GpuTable<Key, Value>::size(cudaStream_t stream) const {
  return call_of(implementation_)->size(stream);
}
template <class Key, class Value>
Statistics GpuTable<Key, Value>::statistics(cudaStream_t stream) const {
  return call_of(implementation_)->statistics(stream);
}
template <class Key, class Value>
std::uint64_t GpuTable<Key, Value>::export_pairs(Key* keys, Value* values, std::uint64_t room,
                                                 cudaStream_t stream) const {
  return call_of(implementation_)->export_pairs(keys, values, room, stream);
}
template <class Key, class Value>
void GpuTable<Key, Value>::export_pairs(std::vector<Key>& keys, std::vector<Value>& values,
                                        cudaStream_t stream) const {
  call_of(implementation_)->export_pairs(keys, values, stream);
}
template <class Key, class Value>
void GpuTable<Key, Value>::reserve(std::uint64_t pairs, cudaStream_t stream) {
  call_of(implementation_)->reserve(pairs, stream);
}
template <class Key, class Value>
bool GpuTable<Key, Value>::make_room(std::uint64_t full, cudaStream_t stream) {
  return call_of(implementation_)->make_room(full, stream);
}
template <class Key, class Value>
void GpuTable<Key, Value>::trim(cudaStream_t stream) {
  call_of(implementation_)->trim(stream);
}
template <class Key, class Value>
void GpuTable<Key, Value>::clear(cudaStream_t stream) {
  call_of(implementation_)->clear(stream);
}
template <class Key, class Value>
std::uint64_t GpuTable<Key, Value>::capacity() const {
  return call_of(implementation_)->capacity();
}
template <class Key, class Value>
std::uint64_t GpuTable<Key, Value>::bytes() const {
  return call_of(implementation_)->bytes();
}
template <class Key, class Value>
const Placement& GpuTable<Key, Value>::placement() const {
  return call_of(implementation_)->placement();
}

template class GpuTable<std::uint32_t, std::uint32_t>;
template class GpuTable<std::uint32_t, std::uint64_t>;
template class GpuTable<std::uint64_t, std::uint32_t>;
template class GpuTable<std::uint64_t, std::uint64_t>;

}  // namespace warploom::table
