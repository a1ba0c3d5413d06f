// What the host does where GPUs share a batch (shared_engine.cpp), with maps instead of their tables: which
// parts are sent, who works on what, and what is repeated.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "table/engine.hpp"
#include "table/hash_table_on.hpp"
#include "warploom/core/error.hpp"

namespace warploom::table {
namespace {

using Key = std::uint32_t;
using Value = std::uint64_t;
using Engine = HashTable<Key, Value>::Engine;

/// A map instead of a GPU's table, and memory of the host instead of its own.
class MapEngine final : public Engine {
 public:
  /// Before a part's keys stands which device has it.
  std::vector<int> reach(std::span<const GpuBatch<Key, Value>> parts, std::span<const Device>) override {
    std::vector<int> homes;
    for (const GpuBatch<Key, Value>& part : parts)
      homes.push_back(part.keys == nullptr ? -1 : static_cast<int>(part.keys[-1]));
    return homes;
  }
  void begin_share(void*) override { begun = true; }
  std::byte* inbox(std::size_t which, std::size_t bytes) override {
    inboxes_[which].assign(std::max(inboxes_[which].size(), bytes), std::byte{0xAB});
    return inboxes_[which].data();
  }
  /// Copies are there when somebody waits for them, and not before.
  void send(std::span<const Sent> arrays, Engine&, std::size_t which) override {
    sent_[which].insert(sent_[which].end(), arrays.begin(), arrays.end());
    for (const Sent& array : arrays) bytes_sent += array.bytes;
  }
  void work(std::span<const GpuBatch<Key, Value>> parts, const Share& share) override {
    EXPECT_TRUE(begun);
    if (fails) throw Internal("a kernel that cannot be launched");
    for (const GpuBatch<Key, Value>& part : parts)
      for (std::uint64_t i = 0; i < part.count; ++i)
        if (share_of(part.keys[i], share.of) == share.mine &&
            (!share.only_full || part.outcomes[i] == Outcome::full))
          perform(part, i);
  }
  void work_on_inbox(std::size_t which, std::span<const GpuBatch<Key, Value>> pieces, const Share& share,
                     std::span<Engine* const> senders) override {
    for (Engine* const sender : senders) {
      std::vector<Sent>& sent = static_cast<MapEngine*>(sender)->sent_[which];
      for (const Sent& array : sent) std::memcpy(array.to, array.from, array.bytes);
      sent.clear();
    }
    work(pieces, share);
  }
  void finish_share(BatchReport& report) override {
    report.tally = done_;
    done_ = {};
    begun = false;
  }
  bool make_room(std::uint64_t full) override {
    room += full;
    return true;
  }
  std::uint64_t count() const override { return map.size(); }
  void run(const HostBatch<Key, Value>&, BatchReport&) override {}
  void export_pairs(std::vector<Key>&, std::vector<Value>&) const override {}
  Statistics statistics() const override { return {}; }
  void reserve(std::uint64_t) override {}
  void trim() override {}
  void clear() override {}
  std::string description() const override { return "a map"; }

  PlainMap<Key, Value> map;
  std::uint64_t room = 300;  ///< pairs
  std::uint64_t bytes_sent = 0;
  bool begun = false, fails = false;

 private:
  void perform(const GpuBatch<Key, Value>& part, std::uint64_t i) {
    Batch<Key, Value> one(1);
    one.operations[0] = part.operations == nullptr ? part.operation : part.operations[i];
    one.keys[0] = part.keys[i];
    one.operands[0] = part.operands == nullptr ? 0 : part.operands[i];
    if (one.operations[0] != Operation::find && one.operations[0] != Operation::erase && map.size() >= room &&
        !map.contains(one.keys[0])) {
      one.outcomes[0] = Outcome::full;
      ++done_.full;
    } else {
      run_model(map, one);
    }
    if (part.outcomes != nullptr) part.outcomes[i] = one.outcomes[0];
    if (part.values != nullptr) part.values[i] = one.values[0];
    if (one.outcomes[0] == Outcome::inserted) ++done_.inserted;
    if (one.outcomes[0] == Outcome::erased) ++done_.erased;
  }

  std::array<std::vector<std::byte>, 2> inboxes_;
  std::array<std::vector<Sent>, 2> sent_;
  Tally done_;
};

/// So many of them behind one face, and a map to compare with.
class SharedEngines : public testing::TestWithParam<int> {
 protected:
  SharedEngines() {
    Options options;
    for (int k = 0; k < GetParam(); ++k) options.run.devices.push_back({Device::Kind::cpu, k});
    shared_ = make_shared_engine<Key, Value>(options, [&](const Options&) {
      auto engine = std::make_unique<MapEngine>();
      tables_.push_back(engine.get());
      return engine;
    });
  }

  struct Part {
    Batch<Key, Value> batch{0};
    std::vector<Key> keys;
    GpuBatch<Key, Value> arguments(bool mixed, Operation operation) {
      return {.count = batch.size(),
              .operations = mixed ? batch.operations.data() : nullptr,
              .operation = operation,
              .keys = keys.data() + 1,
              .operands = batch.operands.data(),
              .outcomes = batch.outcomes.data(),
              .values = batch.values.data()};
    }
  };
  struct Place {
    std::size_t count;
    int home;
  };
  /// No key is twice in a batch: then there is one right answer.
  std::vector<Part> parts_of(const std::vector<Place>& places) {
    std::vector<Part> parts;
    std::ranges::shuffle(keys_, random_);
    std::size_t first = 0;
    for (const auto& [count, home] : places) {
      Part& part = parts.emplace_back();
      part.batch = random_batch<Key, Value>(keys_, count, random_);
      part.keys = {static_cast<Key>(home)};
      part.keys.insert(part.keys.end(), keys_.begin() + static_cast<std::ptrdiff_t>(first),
                       keys_.begin() + static_cast<std::ptrdiff_t>(first + count));
      part.batch.keys.assign(part.keys.begin() + 1, part.keys.end());
      first += count;
    }
    return parts;
  }
  /// @param operation  for all; none: what the parts say
  void run(const std::vector<Place>& places, std::optional<Operation> operation = {}) {
    std::vector<Part> parts = parts_of(places);
    std::vector<GpuBatch<Key, Value>> arguments;
    std::vector<Batch<Key, Value>> expected;
    Tally tally;
    for (Part& part : parts) {
      arguments.push_back(part.arguments(!operation, operation.value_or(Operation::find)));
      expected.push_back(part.batch);
      if (operation) std::ranges::fill(expected.back().operations, *operation);
      run_model(model_, expected.back());
      tally.inserted +=
          static_cast<std::uint64_t>(std::ranges::count(expected.back().outcomes, Outcome::inserted));
      tally.erased +=
          static_cast<std::uint64_t>(std::ranges::count(expected.back().outcomes, Outcome::erased));
    }
    BatchReport report;
    shared_->run(arguments, nullptr, report);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      EXPECT_EQ(parts[p].batch.outcomes, expected[p].outcomes) << "part " << p;
      EXPECT_EQ(parts[p].batch.values, expected[p].values) << "part " << p;
    }
    EXPECT_EQ(report.tally.inserted, tally.inserted);
    EXPECT_EQ(report.tally.erased, tally.erased);
    EXPECT_EQ(report.tally.full, 0u);
    EXPECT_EQ(shared_->count(), model_.size());
  }
  std::uint64_t bytes_sent() {
    std::uint64_t bytes = 0;
    for (MapEngine* const table : tables_) bytes += std::exchange(table->bytes_sent, 0);
    return bytes;
  }

  std::mt19937_64 random_{7};
  std::vector<Key> keys_ = different_keys<Key>(4000, 8);
  PlainMap<Key, Value> model_;
  std::vector<MapEngine*> tables_;
  std::unique_ptr<Engine> shared_;
};

TEST_P(SharedEngines, DoWhatAMapDoes) {
  run({{1500, 0}, {2000, 1}}, Operation::insert);  // finds no room at first
  for (const MapEngine* const table : tables_) {
    EXPECT_GT(table->room, 300u);
    EXPECT_EQ(table->map.size(),
              static_cast<std::uint64_t>(std::ranges::count_if(model_, [&](const auto& pair) {
                return tables_[share_of(pair.first, static_cast<std::uint32_t>(tables_.size()))] == table;
              })));
  }
  run({{2900, 0}, {700, 1}});
  run({{900, 1}, {2800, 0}});  // the other way round
  run({{1000, 1}});            // one has all
  run({{600, 0}, {500, 0}, {70, 1}, {1, 1}});
  run({{0, 0}, {1000, 1}}, Operation::find);
  run({{1000, 0}, {1, 1}}, Operation::erase);
  run({{500, -1}, {500, -1}}, Operation::add);  // memory of the host
}

TEST_P(SharedEngines, SendWhatTheOthersNeed) {
  for (MapEngine* const table : tables_) table->room = 10000;
  const std::uint64_t others = tables_.size() - 1;
  run({{300, 0}, {200, 1}});
  EXPECT_EQ(bytes_sent(), others * 500 * (sizeof(Key) + sizeof(Value) + sizeof(Operation)));
  run({{300, 0}, {200, 1}}, Operation::add);
  EXPECT_EQ(bytes_sent(), others * 500 * (sizeof(Key) + sizeof(Value)));
  run({{300, 0}, {200, 1}}, Operation::find);
  EXPECT_EQ(bytes_sent(), others * 500 * sizeof(Key));
}

TEST_P(SharedEngines, AreFinishedWhereOneFails) {
  std::vector<Part> parts = parts_of({{100, 0}, {100, 1}});
  std::vector<GpuBatch<Key, Value>> arguments;
  for (Part& part : parts) arguments.push_back(part.arguments(true, Operation::find));
  tables_[1]->fails = true;
  BatchReport report;
  EXPECT_THROW(shared_->run(arguments, nullptr, report), Internal);
  for (const MapEngine* const table : tables_) EXPECT_FALSE(table->begun);
}

TEST_P(SharedEngines, RefuseWhatTheyCannotDo) {
  std::vector<Part> parts = parts_of({{100, 0}, {100, 1}});
  std::vector<GpuBatch<Key, Value>> arguments;
  for (Part& part : parts) arguments.push_back(part.arguments(true, Operation::find));
  BatchReport report;
  const GpuBatch<Key, Value> right = arguments[1];
  arguments[1].outcomes = nullptr;  // nobody could tell which insertions found no room
  EXPECT_THROW(shared_->run(arguments, nullptr, report), BadInput);
  arguments[1] = right;
  arguments[1].keys = nullptr;
  EXPECT_THROW(shared_->run(arguments, nullptr, report), BadInput);
  arguments.assign(kMostParts + 1, right);
  EXPECT_THROW(shared_->run(arguments, nullptr, report), BadInput);
  for (const MapEngine* const table : tables_) EXPECT_TRUE(table->map.empty());
}

INSTANTIATE_TEST_SUITE_P(Tables, SharedEngines, testing::Values(2, 3));

}  // namespace
}  // namespace warploom::table
