/// One table on several devices. Each has a table of its own for the keys of its share (share_of(), by the
/// half of the hash that says nothing about the chain). So no key is in two tables, and operations on one key
/// meet on one device. On GPUs each does what is its own of the parts of a batch that lie in its memory,
/// while the other parts are copied to it; of those it does its own then, and stores the answers where they
/// are wanted: for a kernel that reads over a link waits for it, and one that stores does not.
/// docs/design/0006-table.md, 8

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/several_devices.hpp"
#include "table/engine.hpp"
#include "table/share.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"

#ifdef WARPLOOM_HAVE_CUDA
#include "core/cuda/peers.hpp"
#endif

namespace warploom::table {
namespace {

template <class Key, class Value>
class SharedEngine final : public HashTable<Key, Value>::Engine {
 public:
  using Engine = typename HashTable<Key, Value>::Engine;
  using Make = std::function<std::unique_ptr<Engine>(const Options&)>;

  SharedEngine(const Options& options, const Make& make)
      : devices_(options.run.devices), shares_(devices_.size()) {
#ifdef WARPLOOM_HAVE_CUDA
    if (devices_.front().is_gpu()) enable_peers(devices_);
#endif
    Options one = options;
    one.capacity = of_one(options.capacity);
    for (std::size_t k = 0; k < devices_.size(); ++k) {
      one.run.devices = {devices_[k]};
      const OnDevice current(devices_[k]);
      shares_[k].engine = make(one);
    }
    this->grows = shares_.front().engine->grows;
  }

  void run(const HostBatch<Key, Value>& batch, BatchReport& report) override {
    constexpr std::size_t kChunk = 1 << 22;  // bounds the memory that a batch takes beside its own
    for (Work& work : shares_) work.full = 0;
    for (std::size_t first = 0; first < batch.keys.size(); first += kChunk) {
      const std::size_t end = std::min(first + kChunk, batch.keys.size());
      for (Work& work : shares_) work.report = {};
      on_devices(devices_, [&](std::size_t k) { run_chunk(k, batch, first, end); });
      add_reports(report);
    }
  }

  void run(std::span<const GpuBatch<Key, Value>> parts, void* stream, BatchReport& report) override {
    run_parts(parts, false, stream, report);
    while (this->grows && report.tally.full > 0 && make_room(report.tally.full)) {
      const std::uint64_t before = std::exchange(report.tally.full, 0);
      run_parts(parts, true, stream, report);
      if (report.tally.full >= before) break;
    }
  }

  bool make_room(std::uint64_t) override {
    bool all = true;
    each([&](Engine& engine, Work& work) { all = all && (work.full == 0 || engine.make_room(work.full)); });
    return all;
  }
  std::uint64_t count() const override {
    std::uint64_t pairs = 0;
    each([&](Engine& engine, const Work&) { pairs += engine.count(); });
    return pairs;
  }
  void export_pairs(std::vector<Key>& keys, std::vector<Value>& values) const override {
    std::vector<Key> all_keys, some_keys;
    std::vector<Value> all_values, some_values;
    each([&](Engine& engine, const Work&) {
      engine.export_pairs(some_keys, some_values);
      all_keys.insert(all_keys.end(), some_keys.begin(), some_keys.end());
      all_values.insert(all_values.end(), some_values.begin(), some_values.end());
    });
    keys = std::move(all_keys);
    values = std::move(all_values);
  }
  std::uint64_t export_pairs(Key* keys, Value* values, std::uint64_t room, void* stream) const override {
    std::uint64_t pairs = 0;
    each([&](Engine& engine, const Work&) {
      const std::uint64_t before = std::min(pairs, room);
      pairs += engine.export_pairs(keys == nullptr ? nullptr : keys + before,
                                   values == nullptr ? nullptr : values + before, room - before, stream);
    });
    return pairs;
  }
  Statistics statistics() const override {
    Statistics sum;
    const auto add = [](std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
      to.resize(std::max(to.size(), from.size()));
      for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
    };
    each([&](Engine& engine, const Work&) {
      const Statistics one = engine.statistics();
      sum.pairs += one.pairs;
      sum.bytes_directory += one.bytes_directory;
      sum.bytes_nodes += one.bytes_nodes;
      sum.bytes_free += one.bytes_free;
      add(sum.chain_lengths, one.chain_lengths);
      add(sum.pairs_per_table, one.pairs_per_table);
    });
    return sum;
  }
  void reserve(std::uint64_t pairs) override {
    each([&](Engine& engine, Work&) { engine.reserve(of_one(pairs)); });
  }
  void trim() override {
    each([](Engine& engine, Work&) { engine.trim(); });
  }
  void clear() override {
    each([](Engine& engine, Work&) { engine.clear(); });
  }
  std::string description() const override {
    std::string text = fmt::format("{} shares on {}: ", shares_.size(), names(devices_));
    each([&](Engine& engine, const Work& work) {
      text += (&work == shares_.data() ? "" : "; ") + engine.description();
    });
    return text;
  }

 private:
  /// A device's table, and what it works on.
  struct Work {
    std::unique_ptr<Engine> engine;
    std::vector<std::size_t> places;  ///< of its operations in the batch
    std::vector<Operation> operations;
    std::vector<Key> keys;
    std::vector<Value> operands, values;
    std::vector<Outcome> outcomes;
    BatchReport report;
    std::uint64_t full = 0;  ///< of the last batch
  };

  std::uint64_t of_one(std::uint64_t pairs) const {
    return pairs / devices_.size() + (pairs % devices_.size() != 0 ? 1 : 0);
  }
  /// One after the other, each on its device. All see to the order of streams by themselves.
  void each(const auto& work) const {
    for (std::size_t k = 0; k < shares_.size(); ++k) {
      const OnDevice current(devices_[k]);
      work(*shares_[k].engine, shares_[k]);
    }
  }
  void each(const auto& work) {
    for (std::size_t k = 0; k < shares_.size(); ++k) {
      const OnDevice current(devices_[k]);
      work(*shares_[k].engine, shares_[k]);
    }
  }
  void add_reports(BatchReport& report) {
    double kernel = 0, transfer = 0;
    for (Work& work : shares_) {
      report.tally.inserted += work.report.tally.inserted;
      report.tally.erased += work.report.tally.erased;
      report.tally.full += work.report.tally.full;
      report.retries += work.report.retries;
      work.full += work.report.tally.full;
      kernel = std::max(kernel, work.report.kernel_seconds);
      transfer = std::max(transfer, work.report.transfer_seconds);
    }
    report.kernel_seconds += kernel;
    report.transfer_seconds += transfer;
  }

  void run_chunk(std::size_t k, const HostBatch<Key, Value>& batch, std::size_t first, std::size_t end) {
    Work& work = shares_[k];
    const auto shares = static_cast<std::uint32_t>(shares_.size());
    work.places.clear(), work.operations.clear(), work.keys.clear(), work.operands.clear();
    for (std::size_t i = first; i < end; ++i) {
      if (share_of(batch.keys[i], shares) != k) continue;
      work.places.push_back(i);
      work.keys.push_back(batch.keys[i]);
      if (!batch.operations.empty()) work.operations.push_back(batch.operations[i]);
      if (!batch.operands.empty()) work.operands.push_back(batch.operands[i]);
    }
    if (work.keys.empty()) return;
    work.outcomes.resize(batch.outcomes.empty() ? 0 : work.keys.size());
    work.values.resize(batch.values.empty() ? 0 : work.keys.size());
    work.engine->run({.operations = work.operations,
                      .operation = batch.operation,
                      .keys = work.keys,
                      .operands = work.operands,
                      .outcomes = work.outcomes,
                      .values = work.values},
                     work.report);
    for (std::size_t j = 0; j < work.outcomes.size(); ++j) batch.outcomes[work.places[j]] = work.outcomes[j];
    for (std::size_t j = 0; j < work.values.size(); ++j) batch.values[work.places[j]] = work.values[j];
  }

  /// @throws BadInput: no keys, too many parts, insertions of which nobody could tell that they were full
  void check(std::span<const GpuBatch<Key, Value>> parts) const {
    if (parts.size() > kMostParts)
      throw BadInput(fmt::format("a batch of {} parts; for a table on several GPUs it may have {}",
                                 parts.size(), kMostParts));
    for (const GpuBatch<Key, Value>& part : parts) {
      if (part.count > 0 && part.keys == nullptr)
        throw BadInput(fmt::format("a batch of {} operations without keys", part.count));
      if (this->grows && uses_operands(part) && part.count > 0 && part.outcomes == nullptr)
        throw BadInput("a batch that inserts into a hash table on several GPUs, without room for outcomes");
    }
  }
  /// Which table begins with a part: one on the GPU that has it.
  std::size_t home_of(std::size_t part, int gpu) const {
    const std::size_t turn = part % devices_.size();
    if (devices_[turn].ordinal == gpu) return turn;
    const auto there = std::ranges::find(devices_, gpu, &Device::ordinal);
    return there == devices_.end() ? turn : static_cast<std::size_t>(there - devices_.begin());
  }

  void run_parts(std::span<const GpuBatch<Key, Value>> batch, bool only_full, void* stream,
                 BatchReport& report) {
    check(batch);
    const std::vector<int> gpus = shares_.front().engine->reach(batch, devices_);
    std::vector<Part> parts;
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (batch[i].count > 0) parts.push_back({batch[i], home_of(i, gpus[i])});
    for (Work& work : shares_) work.full = 0, work.report = {};
    // From one thread: to begin takes less time than to wake another one.
    try {
      each([&](Engine& engine, Work&) { engine.begin_share(stream); });
      work_on(parts, only_full);
    } catch (...) {  // what was begun uses the caller's memory
      each([](Engine& engine, Work& work) { engine.finish_share(work.report); });
      throw;
    }
    each([](Engine& engine, Work& work) { engine.finish_share(work.report); });
    add_reports(report);
  }

  /// Of a batch on GPUs
  struct Part {
    GpuBatch<Key, Value> batch;
    std::size_t home;  ///< the table whose GPU has it
  };
  void work_on(const std::vector<Part>& parts, bool only_full) {
    const auto share = [&](std::size_t k) {
      return Share{static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(shares_.size()), only_full};
    };
    std::uint64_t most = 0;
    for (const Part& part : parts) most = std::max(most, part.batch.count);
    for (std::uint64_t first = 0, which = 0; first < most; first += kPiece, which = 1 - which) {
      const std::vector<Pieces> pieces = send(parts, first, which);
      if (first == 0)
        for (std::size_t k = 0; k < shares_.size(); ++k) {
          Pieces here;
          for (const Part& part : parts)
            if (part.home == k) here.push_back(part.batch);
          const OnDevice current(devices_[k]);
          shares_[k].engine->work(here, share(k));
        }
      for (std::size_t k = 0; k < shares_.size(); ++k) {
        std::vector<Engine*> others;
        for (std::size_t other = 0; other < shares_.size(); ++other)
          if (other != k) others.push_back(shares_[other].engine.get());
        const OnDevice current(devices_[k]);
        shares_[k].engine->work_on_inbox(which, pieces[k], share(k), others);
      }
    }
  }

  using Pieces = std::vector<GpuBatch<Key, Value>>;
  /// Sends so many operations of each part to all but its home: by the GPU that has them, for a copy that is
  /// asked for by the receiver is slower where kernels are at work on both.
  /// @return what each table has in its inbox then
  std::vector<Pieces> send(const std::vector<Part>& parts, std::uint64_t first, std::size_t which) {
    std::vector<Pieces> pieces(shares_.size());
    std::vector<std::vector<std::vector<typename Engine::Sent>>> sent(
        shares_.size(), std::vector<std::vector<typename Engine::Sent>>(shares_.size()));
    for (std::size_t k = 0; k < shares_.size(); ++k) {
      std::size_t bytes = 0;
      std::byte* memory = nullptr;
      const auto lay_out = [&] {
        bytes = 0;
        for (const Part& part : parts) {
          if (part.home == k || part.batch.count <= first) continue;
          GpuBatch<Key, Value> piece = part.batch;
          piece.count = std::min(kPiece, part.batch.count - first);
          const auto take = [&]<class T>(const T*& array) {
            if (array == nullptr) return;
            const std::size_t size = piece.count * sizeof(T);
            if (memory != nullptr) {
              sent[part.home][k].push_back({memory + bytes, array + first, size});
              array = reinterpret_cast<T*>(memory + bytes);
            }
            bytes += (size + 255) / 256 * 256;
          };
          if (!uses_operands(piece)) piece.operands = nullptr;
          take(piece.keys), take(piece.operands), take(piece.operations);
          if (piece.outcomes != nullptr) piece.outcomes += first;
          if (piece.values != nullptr) piece.values += first;
          if (memory != nullptr) pieces[k].push_back(piece);
        }
      };
      lay_out();
      if (bytes == 0) continue;
      const OnDevice current(devices_[k]);
      memory = shares_[k].engine->inbox(which, bytes);
      lay_out();
    }
    for (std::size_t from = 0; from < shares_.size(); ++from) {
      const OnDevice current(devices_[from]);
      for (std::size_t to = 0; to < shares_.size(); ++to)
        if (!sent[from][to].empty()) shares_[from].engine->send(sent[from][to], *shares_[to].engine, which);
    }
    return pieces;
  }
  static bool uses_operands(const GpuBatch<Key, Value>& batch) {
    return batch.operations != nullptr ||
           (batch.operation != Operation::find && batch.operation != Operation::erase);
  }

  /// Operations of a part that are sent at a time: so many bound the memory for them, and take milliseconds.
  static constexpr std::uint64_t kPiece = 1 << 24;
  std::vector<Device> devices_;
  std::vector<Work> shares_;
};

}  // namespace

template <class Key, class Value>
std::unique_ptr<typename HashTable<Key, Value>::Engine> make_shared_engine(
    const Options& options,
    const std::function<std::unique_ptr<typename HashTable<Key, Value>::Engine>(const Options&)>& make) {
  return std::make_unique<SharedEngine<Key, Value>>(options, make);
}

#define WARPLOOM_SHARED_ENGINE(Key, Value)                                                \
  template std::unique_ptr<HashTable<Key, Value>::Engine> make_shared_engine<Key, Value>( \
      const Options&, const std::function<std::unique_ptr<HashTable<Key, Value>::Engine>(const Options&)>&)
WARPLOOM_SHARED_ENGINE(std::uint32_t, std::uint32_t);
WARPLOOM_SHARED_ENGINE(std::uint32_t, std::uint64_t);
WARPLOOM_SHARED_ENGINE(std::uint64_t, std::uint32_t);
WARPLOOM_SHARED_ENGINE(std::uint64_t, std::uint64_t);
#undef WARPLOOM_SHARED_ENGINE

}  // namespace warploom::table
