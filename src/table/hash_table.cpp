#include "warploom/table/hash_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "core/automatic_device.hpp"
#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "core/one_caller.hpp"
#include "core/several_devices.hpp"
#include "table/engine.hpp"
#include "table/gpu_layout.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/table/concurrent_map.hpp"
#include "warploom/table/list_table.hpp"

namespace warploom::table {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Lines on a CPU: a ConcurrentMap.
template <class Key, class Value>
class CpuEngine final : public HashTable<Key, Value>::Engine {
 public:
  explicit CpuEngine(const Options& options) : options_(options), map_(make_map(options)) {
    this->grows = false;  // the map does it by itself
  }

  void run(const HostBatch<Key, Value>& batch, BatchReport& report) override {
    const Clock::time_point begin = Clock::now();
    const BatchCounts counts =
        batch.operations.empty()
            ? map_->run(batch.operation, batch.keys, batch.operands, batch.outcomes, batch.values)
            : map_->run(batch.operations, batch.keys, batch.operands, batch.outcomes, batch.values);
    report.kernel_seconds += seconds_since(begin);
    report.tally = counts.tally;
    report.retries += counts.retries;
  }
  bool make_room(std::uint64_t) override { return false; }
  std::uint64_t count() const override { return map_->size(); }
  void export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const override {
    map_->export_pairs(keys, values);
  }
  Statistics statistics() const override { return map_->statistics(map_->placer().tables); }
  void reserve(std::uint64_t pairs) override {
    if (options_.grows) {
      map_->reserve(pairs);
    } else if (pairs > options_.capacity) {  // a map has its limit for good
      Options larger = options_;
      larger.capacity = pairs;
      std::unique_ptr<Map> map = make_map(larger);
      std::vector<Key> keys;
      std::vector<Value> values;
      map_->export_pairs(keys, values);
      map->run(Operation::insert, keys, values, {}, {});
      map_ = std::move(map);
      options_ = larger;
    }
  }
  void trim() override { map_->trim(); }
  void clear() override { map_->clear(); }
  std::string description() const override {
    return fmt::format("lines on cpu: {} threads, {} x {} lines", threads(), map_->placer().tables,
                       map_->chains() / map_->placer().tables);
  }

 private:
  using Map = ConcurrentMap<Key, Value, Placement>;

  static std::unique_ptr<Map> make_map(const Options& options) {
    return std::make_unique<Map>(placement(options), map_options(options));
  }
  static Placement placement(const Options& options) {
    Placement placement;
    placement.tables = options.tables;
    placement.hash = options.hash;
    placement.assignment = options.assignment;
    placement.key_bytes = sizeof(Key);
    placement.buckets = options.buckets;
    return options.buckets != 0 ? placement : grown(placement, chains_for<Key, Value>(options.capacity));
  }
  /// Buckets that the user chose stay as many as they are. A table that does not grow has as many lines as
  /// one on a GPU.
  static MapOptions map_options(const Options& options) {
    constexpr int kSlots = Map::Slots::kSlots;
    const Placement chosen = placement(options);
    const GpuLayout layout =
        gpu_layout(options.capacity, chosen.tables, chosen.buckets, kDefaultPoolFraction, kSlots);
    return {.most_bytes = options.grows ? 0 : layout.bytes(), .grows = options.grows && options.buckets == 0};
  }

  Options options_;
  std::unique_ptr<Map> map_;
};

/// The dissertation's list on either device
template <class Key, class Value>
class ListEngine final : public HashTable<Key, Value>::Engine {
 public:
  explicit ListEngine(const Options& options) : table_(options), options_(options) {}

  void run(const HostBatch<Key, Value>& batch, BatchReport& report) override {
    const BatchReport done =
        batch.operations.empty()
            ? table_.run(batch.operation, batch.keys, batch.operands, batch.outcomes, batch.values)
            : table_.run(batch.operations, batch.keys, batch.operands, batch.outcomes, batch.values);
    report.tally.inserted += done.tally.inserted;
    report.tally.erased += done.tally.erased;
    report.tally.full += done.tally.full;
    report.kernel_seconds += done.kernel_seconds;
    report.transfer_seconds += done.transfer_seconds;
    report.retries += done.retries;
  }
  bool make_room(std::uint64_t full) override {
    try {
      const std::uint64_t capacity = options_.capacity;
      reserve(std::max(2 * capacity, std::min(table_.size() + full, 4 * capacity)));
    } catch (const OutOfMemory&) {
      return false;
    } catch (const BadInput&) {  // more nodes than have numbers
      return false;
    }
    return true;
  }
  std::uint64_t count() const override { return table_.size(); }
  void export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const override {
    table_.export_pairs(keys, values);
  }
  Statistics statistics() const override { return table_.statistics(); }
  void reserve(std::uint64_t pairs) override {
    if (pairs <= options_.capacity) return;
    Options larger = options_;
    larger.capacity = pairs;
    if (options_.buckets != 0)
      table_.reserve(pairs);  // the user chose how many buckets
    else
      table_ = rebuilt(larger);
    options_ = larger;
  }
  void trim() override {}  // nodes are used again at once
  void clear() override { table_.clear(); }
  std::string description() const override { return table_.description(); }

 private:
  /// The same pairs in a table of as many buckets as its capacity asks for.
  ListTable<Key, Value> rebuilt(const Options& larger) const {
    ListTable<Key, Value> next(larger);
    std::vector<Key> keys;
    std::vector<Value> values;
    table_.export_pairs(keys, values);
    // Operations under way hold nodes that they may not need, so some may end as full at first.
    while (next.size() < keys.size()) next.run(Operation::insert, keys, values, {}, {});
    return next;
  }

  ListTable<Key, Value> table_;
  Options options_;
};

template <class Key, class Value>
void check(const Options& options) {
  name(options.hash), name(options.assignment);
  at_enumerator(std::array{"lines", "list"}, options.structure, "the structure");
  constexpr std::uint64_t kMostPairs = std::uint64_t{1} << 40;
  if (options.capacity > kMostPairs)
    throw BadInput(fmt::format("a capacity of {} pairs; at most {}", options.capacity, kMostPairs));
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 32) - 1;
  if (options.tables < 1) throw BadInput("a hash table of 0 tables; there has to be one at least");
  const std::uint64_t chains = std::uint64_t{options.tables} * options.buckets;
  if (chains > kMost)
    throw BadInput(fmt::format("{} tables of {} buckets have {} buckets in all; there may be {}",
                               options.tables, options.buckets, chains, kMost));
  constexpr int kSlots = sizeof(Key) == 4 && sizeof(Value) == 4 ? NarrowSlots::kSlots : WideSlots::kSlots;
  const GpuLayout layout =
      gpu_layout(options.capacity, options.tables, options.buckets, kDefaultPoolFraction, kSlots);
  if (options.structure == Structure::lines && layout.lines() > kMost)
    throw BadInput(fmt::format("a capacity of {} pairs takes {} lines; a table may have {}", options.capacity,
                               layout.lines(), kMost));
  if (options.threads_per_block < 0 || options.threads_per_block > 1024)
    throw BadInput(fmt::format("{} threads a block; it may have 1 to 1024, or 0 for the best known",
                               options.threads_per_block));
}

template <class Key, class Value>
std::unique_ptr<typename HashTable<Key, Value>::Engine> make_engine(const Options& options) {
  check<Key, Value>(options);
  Run run = options.run;
  if (run.devices.empty()) run.devices = current_run().devices;
  if (run.devices.size() > 1) {
    const DevicesScope scope(run, kBuiltWithCuda);
    Options shared = options;
    shared.run.devices = scope.devices();
    auto engine = make_shared_engine<Key, Value>(shared, make_engine<Key, Value>);
    engine->run_as = options.run;
    engine->run_as.devices = {scope.devices().front()};
    return engine;
  }
  const DeviceScope scope(options.run, "a hash table", kBuiltWithCuda);
  std::unique_ptr<typename HashTable<Key, Value>::Engine> engine;
  if (options.structure == Structure::list) {
    engine = std::make_unique<ListEngine<Key, Value>>(options);
  } else if (!scope.device().is_gpu()) {
    engine = std::make_unique<CpuEngine<Key, Value>>(options);
  } else {
#ifdef WARPLOOM_HAVE_CUDA
    engine = make_gpu_engine<Key, Value>(options);
#endif
  }
  engine->grows = engine->grows && options.grows;
  engine->run_as = options.run;
  engine->run_as.devices = {scope.device()};
  return engine;
}

void require_length(std::size_t keys, std::size_t length, std::string_view what, bool optional) {
  if (length == keys || (optional && length == 0)) return;
  throw BadInput(fmt::format("a batch of {} keys with {} {}; give as many{}", keys, length, what,
                             optional ? ", or none" : ""));
}

template <class Key, class Value>
bool can_insert(const HostBatch<Key, Value>& batch) {
  return !batch.operations.empty() ||
         (batch.operation != Operation::find && batch.operation != Operation::erase);
}

/// Repeats the operations that ended as full. @return whether fewer did than before
template <class Key, class Value>
bool repeat_full(typename HashTable<Key, Value>::Engine& engine, const HostBatch<Key, Value>& batch,
                 BatchReport& report) {
  std::vector<std::size_t> places;
  std::vector<Operation> operations;
  std::vector<Key> keys;
  std::vector<Value> operands;
  for (std::size_t i = 0; i < batch.keys.size(); ++i) {
    if (batch.outcomes[i] != Outcome::full) continue;
    places.push_back(i);
    keys.push_back(batch.keys[i]);
    if (!batch.operations.empty()) operations.push_back(batch.operations[i]);
    if (!batch.operands.empty()) operands.push_back(batch.operands[i]);
  }
  std::vector<Outcome> outcomes(places.size());
  std::vector<Value> values(batch.values.empty() ? 0 : places.size());
  report.tally.full = 0;
  engine.run({.operations = operations,
              .operation = batch.operation,
              .keys = keys,
              .operands = operands,
              .outcomes = outcomes,
              .values = values},
             report);
  for (std::size_t i = 0; i < places.size(); ++i) {
    batch.outcomes[places[i]] = outcomes[i];
    if (!values.empty()) batch.values[places[i]] = values[i];
  }
  return report.tally.full < places.size();
}

template <class Engine>
CallOf<Engine> call_of(const std::unique_ptr<Engine>& engine) {
  return {engine, "a hash table", "table::HashTable"};
}

/// Runs a batch, after which the size is known, unless it throws.
template <class Key, class Value, class Work>
BatchReport counted(typename HashTable<Key, Value>::Engine& engine, const Work& work) {
  const Clock::time_point begin = Clock::now();
  BatchReport report;
  const std::optional<std::uint64_t> before = std::exchange(engine.size, std::nullopt);
  work(report);
  if (before) engine.size = *before + report.tally.inserted - report.tally.erased;
  report.wall_seconds = seconds_since(begin);
  return report;
}

template <class Key, class Value>
BatchReport run_batch(const std::unique_ptr<typename HashTable<Key, Value>::Engine>& owner,
                      HostBatch<Key, Value> batch) {
  const auto call = call_of(owner);
  auto& engine = *call;
  const DeviceScope scope = engine.enter();
  require_length(batch.keys.size(), batch.operands.size(), "operands", true);
  require_length(batch.keys.size(), batch.outcomes.size(), "outcomes", true);
  require_length(batch.keys.size(), batch.values.size(), "values", true);
  if (batch.keys.empty()) return {};
  std::vector<Outcome> own;
  if (engine.grows && batch.outcomes.empty() && can_insert(batch)) {
    own.resize(batch.keys.size());
    batch.outcomes = own;
  }
  return counted<Key, Value>(engine, [&](BatchReport& report) {
    engine.run(batch, report);
    while (engine.grows && report.tally.full > 0 && engine.make_room(report.tally.full))
      if (!repeat_full<Key, Value>(engine, batch, report)) break;
  });
}

}  // namespace

template <class Key, class Value>
void HashTable<Key, Value>::Engine::run(std::span<const GpuBatch<Key, Value>>, void*, BatchReport&) {
  throw NoDevice("the batch's arrays are in a GPU's memory, but the table is not one of lines there (" +
                 description() + "): make it with `device` cuda, or bring the arrays to the host");
}

template <class Key, class Value>
std::vector<int> HashTable<Key, Value>::Engine::reach(std::span<const GpuBatch<Key, Value>> parts,
                                                      std::span<const Device>) {
  BatchReport report;
  run(parts, nullptr, report);  // which says why not
  return {};
}

Run run_for(const Run& run, std::uint64_t operations) {
  Run chosen = run;
  // Measured beside one another (bench/python/auto_device.py, on 16 virtual processors) [s]; a table is there
  // for some batches.
  constexpr double kCall = 5e-6, kOperation = 30e-9, kGpuCall = 45e-6, kGpuOperation = 1e-9, kBatches = 8;
  const auto count = static_cast<double>(operations);
  const double at_once =
      std::clamp(count / 8192, 1.0, double(std::max(1U, run.threads != 0 ? run.threads : threads())));
  const double cpu = kCall + count * kOperation / at_once, gpu = kGpuCall + count * kGpuOperation;
  if (kBuiltWithCuda && !gpu_pays(run, kBatches * cpu, kBatches * gpu)) chosen.devices = {Device::cpu};
  return chosen;
}

template <class Key, class Value>
std::uint64_t HashTable<Key, Value>::Engine::export_pairs(Key*, Value*, std::uint64_t, void*) const {
  throw NoDevice("pairs are wanted in a GPU's memory, but the table is not one of lines there (" +
                 description() + "): make it with `device` cuda, or take them on the host");
}

template <class Key, class Value>
HashTable<Key, Value>::HashTable(const Options& options) : engine_(make_engine<Key, Value>(options)) {}
template <class Key, class Value>
HashTable<Key, Value>::~HashTable() = default;
template <class Key, class Value>
HashTable<Key, Value>::HashTable(HashTable&&) noexcept = default;
template <class Key, class Value>
HashTable<Key, Value>& HashTable<Key, Value>::operator=(HashTable&&) noexcept = default;

template <class Key, class Value>
BatchReport HashTable<Key, Value>::run(std::span<const Operation> operations, std::span<const Key> keys,
                                       std::span<const Value> operands, std::span<Outcome> outcomes,
                                       std::span<Value> values) {
  require_length(keys.size(), operations.size(), "operations", false);
  return run_batch<Key, Value>(engine_, {.operations = operations,
                                         .operation = Operation::find,
                                         .keys = keys,
                                         .operands = operands,
                                         .outcomes = outcomes,
                                         .values = values});
}
template <class Key, class Value>
BatchReport HashTable<Key, Value>::run(Operation operation, std::span<const Key> keys,
                                       std::span<const Value> operands, std::span<Outcome> outcomes,
                                       std::span<Value> values) {
  return run_batch<Key, Value>(engine_, {.operations = {},
                                         .operation = operation,
                                         .keys = keys,
                                         .operands = operands,
                                         .outcomes = outcomes,
                                         .values = values});
}

template <class Key, class Value>
BatchReport HashTable<Key, Value>::run(const GpuBatch<Key, Value>& batch, void* stream) {
  const auto engine = call_of(engine_);
  const DeviceScope scope = engine->enter();
  return counted<Key, Value>(*engine, [&](BatchReport& report) { engine->run({&batch, 1}, stream, report); });
}
template <class Key, class Value>
BatchReport HashTable<Key, Value>::run(std::span<const GpuBatch<Key, Value>> parts, void* stream) {
  const auto engine = call_of(engine_);
  const DeviceScope scope = engine->enter();
  return counted<Key, Value>(*engine, [&](BatchReport& report) { engine->run(parts, stream, report); });
}

template <class Key, class Value>
std::uint64_t HashTable<Key, Value>::size() const {
  const auto engine = call_of(engine_);
  if (!engine->size) {
    const DeviceScope scope = engine->enter();
    engine->size = engine->count();
  }
  return *engine->size;
}
template <class Key, class Value>
void HashTable<Key, Value>::export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const {
  const auto engine = call_of(engine_);
  const DeviceScope scope = engine->enter();
  engine->export_pairs(keys, values);
}
template <class Key, class Value>
std::uint64_t HashTable<Key, Value>::export_pairs(Key* keys, Value* values, std::uint64_t room,
                                                  void* stream) const {
  const auto engine = call_of(engine_);
  const DeviceScope scope = engine->enter();
  return engine->export_pairs(keys, values, room, stream);
}
template <class Key, class Value>
Statistics HashTable<Key, Value>::statistics() const {
  const auto engine = call_of(engine_);
  const DeviceScope scope = engine->enter();
  return engine->statistics();
}
template <class Key, class Value>
void HashTable<Key, Value>::reserve(std::uint64_t pairs) {
  const auto engine = call_of(engine_);
  const DeviceScope scope = engine->enter();
  engine->reserve(pairs);
}
template <class Key, class Value>
void HashTable<Key, Value>::trim() {
  const auto engine = call_of(engine_);
  const DeviceScope scope = engine->enter();
  engine->trim();
}
template <class Key, class Value>
void HashTable<Key, Value>::clear() {
  const auto engine = call_of(engine_);
  const DeviceScope scope = engine->enter();
  engine->size.reset();
  engine->clear();
  engine->size = 0;
}
template <class Key, class Value>
std::string HashTable<Key, Value>::description() const {
  const auto engine = call_of(engine_);
  const DeviceScope scope = engine->enter();
  return engine->description();
}

template class HashTable<std::uint32_t, std::uint32_t>;
template class HashTable<std::uint32_t, std::uint64_t>;
template class HashTable<std::uint64_t, std::uint32_t>;
template class HashTable<std::uint64_t, std::uint64_t>;

}  // namespace warploom::table
