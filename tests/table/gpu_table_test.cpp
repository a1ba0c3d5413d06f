// What GpuTable, and HashTable on a GPU (hash_table_test.cpp), answer. The oracle is std::unordered_map.

#include <gmock/gmock.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "core/cuda/owners.hpp"
#include "table/device_batch.hpp"
#include "table/hash_table_on.hpp"
#include "table/own_kernel.hpp"
#include "warploom/core/error.hpp"

namespace warploom::table {
namespace {

using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(Cuda, HashTableOn,
                         testing::Combine(testing::Values(std::vector{Device::cuda},
                                                          std::vector(2, Device::gpu(0))),
                                          testing::Values(Structure::lines, Structure::list)),
                         parameter_name);

TEST_F(GpuTableTest, DoesWhatAMapDoesOnManyPairs) {
  for_all_types([&]<class K, class V>() {
    GpuTable<K, V> table(gpu_options(100000), stream_);
    PlainMap<K, V> model;
    const std::vector<K> keys = different_keys<K>(400000, 1);
    std::mt19937_64 random(2);
    for (int round = 0; round < 5; ++round) {
      Batch<K, V> batch = random_batch<K, V>(keys, 300000, random), expected = batch;
      const GpuReport report = run(table, batch, stream_);
      run_model(model, expected);
      ASSERT_TRUE(batch.outcomes == expected.outcomes) << "round " << round;
      ASSERT_TRUE(batch.values == expected.values) << "round " << round;
      ASSERT_EQ(report.tally.inserted, count(expected.outcomes, Outcome::inserted));
      ASSERT_EQ(report.tally.erased, count(expected.outcomes, Outcome::erased));
    }
    EXPECT_TRUE(contents(table, stream_) == model);
  });
}

TEST_F(GpuTableTest, AHashTableTakesBatchesOfTheDeviceAndOfTheHostInTurns) {
  for_all_types([&]<class K, class V>() {
    HashTable<K, V> table({.run = {.devices = {Device::cuda}}, .capacity = 1000});
    PlainMap<K, V> model;
    const std::vector<K> keys = different_keys<K>(60000, 21);
    std::mt19937_64 random(22);
    for (int round = 0; round < 4; ++round) {
      Batch<K, V> batch = random_batch<K, V>(keys, 50000, random), expected = batch;
      BatchReport report;
      if (round % 2 == 0) {
        const DeviceBatch<K, V> there(batch);
        report = table.run(there.arguments(), stream_);
        there.fetch(batch);
      } else {
        report = table.run(batch.operations, batch.keys, batch.operands, batch.outcomes, batch.values);
      }
      run_model(model, expected);
      ASSERT_TRUE(batch.outcomes == expected.outcomes) << "round " << round;
      ASSERT_TRUE(batch.values == expected.values) << "round " << round;
      ASSERT_EQ(report.tally.inserted, count(expected.outcomes, Outcome::inserted));
      ASSERT_EQ(table.size(), model.size());
      ASSERT_EQ(table.statistics().pairs, model.size());
    }
  });
}

TEST_F(GpuTableTest, AHashTableRunsABatchAfterWhatTheStreamHas) {
  HashTable<Key, Value> table({.run = {.devices = {Device::cuda}}});
  const std::vector<Key> keys = different_keys<Key>(1 << 16, 23);
  const OnDevice<Key> there(std::vector<Key>(keys.size()));
  const CudaStream other = make_stream();
  std::vector<Key> pageable = keys;
  // Copies that keep the stream busy; the last one brings the keys.
  const OnDevice<std::byte> from(std::size_t{1} << 28), to(std::size_t{1} << 28);
  for (int k = 0; k < 20; ++k)
    cuda_check(
        cudaMemcpyAsync(to.get(), from.get(), std::size_t{1} << 28, cudaMemcpyDeviceToDevice, other.get()),
        "cudaMemcpy");
  cuda_check(cudaMemcpyAsync(there.get(), pageable.data(), pageable.size() * sizeof(Key),
                             cudaMemcpyHostToDevice, other.get()),
             "cudaMemcpy");
  GpuBatch<Key, Value> batch;
  batch.count = keys.size(), batch.operation = Operation::insert, batch.keys = there.get();
  EXPECT_EQ(table.run(batch, other.get()).tally.inserted, keys.size());
}

TEST_F(GpuTableTest, AHashTableRefusesABatchInMemoryThatTheGpuDoesNotReach) {
  HashTable<Key, Value> table({.run = {.devices = {Device::cuda}}});
  const std::vector<Key> keys(4);
  GpuBatch<Key, Value> batch;
  batch.count = keys.size(), batch.keys = keys.data();
  EXPECT_THROW(table.run(batch, stream_), BadInput);
  EXPECT_EQ(table.size(), 0u);
  HashTable<Key, Value> list({.run = {.devices = {Device::cuda}}, .structure = Structure::list});
  EXPECT_THROW(list.run(batch, stream_), NoDevice);
}

TEST_F(GpuTableTest, SeveralDevicesShareABatchOfSeveralParts) {
  std::vector<std::vector<Device>> cases = {std::vector(2, Device::gpu(0)), std::vector(3, Device::gpu(0))};
  if (cuda_devices().devices.size() > 1) cases.push_back({Device::gpu(0), Device::gpu(1)});
  for (const std::vector<Device>& devices : cases) {
    for_all_types([&]<class K, class V>() {
      HashTable<K, V> shared({.run = {.devices = devices}, .capacity = 100});
      HashTable<K, V> one({.run = {.devices = {Device::gpu(0)}}, .capacity = 100});
      std::vector<K> keys = different_keys<K>(60000, 31);
      std::mt19937_64 random(5);
      for (int round = 0; round < 4; ++round) {
        // Each key once: then there is one right answer.
        std::ranges::shuffle(keys, random);
        std::vector<Batch<K, V>> batches, expected;
        std::vector<DeviceBatch<K, V>> there;
        std::vector<GpuBatch<K, V>> parts;
        for (std::size_t p = 0, first = 0; p < devices.size(); ++p) {
          const std::size_t end = p + 1 == devices.size() ? keys.size() : first + 7000 * (p + 1);
          Batch<K, V> batch(end - first);
          for (std::size_t i = 0; i < batch.size(); ++i) {
            batch.operations[i] = static_cast<Operation>(random() % kOperations);
            batch.keys[i] = keys[first + i];
            batch.operands[i] = static_cast<V>(random());
          }
          first = end;
          const warploom::OnDevice current(devices[p]);
          there.emplace_back(batch);
          batches.push_back(batch);
        }
        for (const DeviceBatch<K, V>& part : there) parts.push_back(part.arguments());
        const Tally tally = shared.run(parts, stream_).tally;
        Tally sum;
        for (std::size_t p = 0; p < parts.size(); ++p) {
          Batch<K, V>& batch = batches[p];
          const BatchReport report =
              one.run(batch.operations, batch.keys, batch.operands, batch.outcomes, batch.values);
          sum.inserted += report.tally.inserted, sum.erased += report.tally.erased;
          Batch<K, V> answer(batch.size());
          there[p].fetch(answer);
          EXPECT_TRUE(answer.outcomes == batch.outcomes) << "part " << p << " of round " << round;
          EXPECT_TRUE(answer.values == batch.values) << "part " << p << " of round " << round;
        }
        EXPECT_EQ(tally.inserted, sum.inserted);
        EXPECT_EQ(tally.erased, sum.erased);
        EXPECT_EQ(tally.full, 0u);
        EXPECT_EQ(shared.size(), one.size());
      }
      std::vector<K> pairs;
      std::vector<V> values;
      shared.export_pairs(pairs, values);
      const auto all = model_of(pairs, values);
      EXPECT_EQ(all.size(), pairs.size());
      one.export_pairs(pairs, values);
      EXPECT_TRUE(all == model_of(pairs, values));
    });
  }
}

TEST_F(GpuTableTest, StormsOnFewKeysKeepTheBalance) {
  for_all_types([&]<class K, class V>() {
    for (const std::size_t universe : {1, 3, 100, 5000}) {
      GpuTable<K, V> table(gpu_options(universe), stream_);
      const std::vector<K> keys = different_keys<K>(universe, 3);
      std::mt19937_64 random(4);
      for (int round = 0; round < 4; ++round) {
        Batch<K, V> batch(100000);
        for (std::size_t i = 0; i < batch.size(); ++i) {
          batch.operations[i] = static_cast<Operation>(random() % kOperations);
          batch.keys[i] = keys[random() % keys.size()];
          batch.operands[i] = static_cast<V>(random());
        }
        const PlainMap<K, V> before = contents(table, stream_);
        const GpuReport report = run(table, batch, stream_);
        const PlainMap<K, V> after = contents(table, stream_);
        expect_balance(batch, before, after);
        ASSERT_EQ(before.size() + report.tally.inserted - report.tally.erased, after.size());
      }
    }
  });
}

TEST_F(GpuTableTest, ABatchMayLeaveOutWhatItDoesNotWant) {
  GpuTable<Key, Value> table(gpu_options(5000), stream_);
  const OnDevice<Key> keys(different_keys<Key>(5000, 5));
  const GpuReport inserted =
      table.run({.count = 5000, .operation = Operation::insert, .keys = keys.get()}, stream_);
  EXPECT_EQ(inserted.tally.inserted, 5000u);
  const OnDevice<Outcome> outcomes(5000);
  const OnDevice<Value> values(std::vector<Value>(5000, 77));
  table.run({.count = 5000, .keys = keys.get(), .outcomes = outcomes.get(), .values = values.get()}, stream_);
  EXPECT_EQ(count(outcomes.fetch(), Outcome::found), 5000u);
  EXPECT_EQ(values.fetch(), std::vector<Value>(5000));
  EXPECT_EQ(table.run({}, stream_).tally.inserted, 0u);
}

TEST_F(GpuTableTest, KeysMayAllHaveOneChain) {
  GpuOptions options = gpu_options(100);
  options.buckets = 1;
  GpuTable<std::uint64_t, std::uint64_t> table(options, stream_);
  const std::vector<std::uint64_t> keys = different_keys<std::uint64_t>(2000, 10);
  EXPECT_EQ(count(run(table, Operation::insert, keys, stream_), Outcome::inserted), keys.size());
  const Statistics statistics = table.statistics(stream_);
  EXPECT_EQ(statistics.chain_lengths.size(), keys.size() + 1);
  EXPECT_EQ(statistics.chain_lengths.back(), 1u);
  EXPECT_EQ(count(run(table, Operation::erase, keys, stream_), Outcome::erased), keys.size());
}

TEST_F(GpuTableTest, BatchesOnSeveralStreamsMeetMaintenanceUnharmed) {
  constexpr std::size_t kStreams = 4, kRounds = 12, kKeys = 20000;
  std::vector<CudaStream> streams;
  for (std::size_t s = 0; s < kStreams; ++s) streams.push_back(make_stream());
  GpuOptions options = gpu_options(kStreams * kKeys, false);
  options.pool_fraction = 1;
  GpuTable<Key, Value> table(options, streams[0].get());
  const std::vector<Key> keys = different_keys<Key>(kStreams * kKeys, 18);
  PlainMap<Key, Value> model;
  std::vector<Batch<Key, Value>> expected;
  std::vector<DeviceBatch<Key, Value>> there;
  expected.reserve(kRounds * kStreams);
  there.reserve(kRounds * kStreams);
  std::mt19937_64 random(19);
  // The streams' keys are different: the model does not depend on their order.
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t s = 0; s < kStreams; ++s) {
      Batch<Key, Value> batch = random_batch<Key, Value>(part(keys, s * kKeys, kKeys), kKeys / 2, random);
      there.emplace_back(batch);
      run_model(model, batch);
      expected.push_back(batch);
    }
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    table.run_async(there[i].arguments(), streams[i % kStreams].get());
    if (i % 5 == 3) table.trim(streams[(i + 1) % kStreams].get());
    if (i == 21) table.reserve(2 * kStreams * kKeys, streams[2].get());
  }
  const GpuReport report = table.wait(streams[1].get());
  std::uint64_t inserted = 0, erased = 0;
  for (std::size_t i = 0; i < there.size(); ++i) {
    ASSERT_TRUE(there[i].outcomes.fetch() == expected[i].outcomes) << i;
    ASSERT_TRUE(there[i].values.fetch() == expected[i].values) << i;
    inserted += count(expected[i].outcomes, Outcome::inserted);
    erased += count(expected[i].outcomes, Outcome::erased);
  }
  EXPECT_EQ(report.tally.inserted, inserted);
  EXPECT_EQ(report.tally.erased, erased);
  EXPECT_EQ(table.wait(streams[0].get()).tally.inserted, 0u);
  EXPECT_TRUE(contents(table, streams[3].get()) == model);
}

TEST_F(GpuTableTest, FindsOfOneStreamDoNotDisturbChangesOnAnother) {
  const CudaStream other = make_stream();
  GpuTable<Key, Value> table(gpu_options(200000, false), stream_);
  const std::vector<Key> keys = different_keys<Key>(200000, 20);
  const DeviceBatch<Key, Value> insertions(batch_of<Key, Value>(Operation::insert, keys));
  const DeviceBatch<Key, Value> erasures(batch_of<Key, Value>(Operation::erase, keys));
  const OnDevice<Outcome> outcomes(keys.size());
  const OnDevice<Value> values(keys.size());
  const GpuBatch<Key, Value> finds{.count = keys.size(),
                                   .keys = insertions.keys.get(),
                                   .outcomes = outcomes.get(),
                                   .values = values.get()};
  for (int round = 0; round < 20; ++round) {
    table.run_async(insertions.arguments(), stream_);
    table.run_async(finds, other.get());
    table.run_async(finds, other.get());
    table.run_async(erasures.arguments(), stream_);
    table.wait(stream_);
    const std::vector<Outcome> found = outcomes.fetch();
    const std::vector<Value> read = values.fetch();
    for (std::size_t i = 0; i < keys.size(); ++i)
      ASSERT_TRUE(found[i] == Outcome::found ? read[i] == ~keys[i]
                                             : found[i] == Outcome::absent && read[i] == 0)
          << "round " << round << " key " << keys[i];
    ASSERT_EQ(table.size(stream_), 0u);
  }
}

TEST_F(GpuTableTest, ExportsToDeviceMemoryAsMuchAsThereIsRoomFor) {
  GpuTable<std::uint64_t, std::uint32_t> table(gpu_options(3000), stream_);
  const std::vector<std::uint64_t> inserted = different_keys<std::uint64_t>(3000, 21);
  run(table, Operation::insert, inserted, stream_);
  const OnDevice<std::uint64_t> keys(3000);
  const OnDevice<std::uint32_t> values(3000);
  EXPECT_EQ(table.export_pairs(keys.get(), values.get(), 3000, stream_), 3000u);
  const auto all = model_of(keys.fetch(), values.fetch());
  for (const std::uint64_t key : inserted) ASSERT_EQ(all.at(key), static_cast<std::uint32_t>(~key));

  const OnDevice<std::uint64_t> few(std::vector<std::uint64_t>(3000, 5));
  const OnDevice<std::uint32_t> few_values(3000);
  EXPECT_EQ(table.export_pairs(few.get(), few_values.get(), 100, stream_), 3000u);
  const std::vector<std::uint64_t> written = few.fetch();
  for (std::size_t i = 0; i < 100; ++i) EXPECT_TRUE(all.contains(written[i]));
  EXPECT_EQ(part(written, 100, 2900), std::vector<std::uint64_t>(2900, 5));
}

std::string refusal(const GpuOptions& options) {
  try {
    GpuTable<Key, Value> table(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_F(GpuTableTest, RefusesOptionsOutsideTheirRange) {
  GpuOptions options = gpu_options(100);
  options.tables = 0;
  EXPECT_THAT(refusal(options), HasSubstr("0 tables"));
  options = gpu_options(100);
  options.tables = options.buckets = 1 << 16;
  EXPECT_THAT(refusal(options), HasSubstr("65536 tables of 65536 buckets"));
  options = gpu_options(100);
  options.threads_per_block = 33;
  EXPECT_THAT(refusal(options), HasSubstr("33 threads a block"));
  options = gpu_options(100);
  options.pool_fraction = -1;
  EXPECT_THAT(refusal(options), HasSubstr("pool of -1"));
  options = gpu_options(100);
  options.allocator.release = [](void*, std::size_t, cudaStream_t) {};
  EXPECT_THAT(refusal(options), HasSubstr("one of its two functions"));
  options.allocator.allocate = [](std::size_t, cudaStream_t) { return reinterpret_cast<void*>(64); };
  EXPECT_THAT(refusal(options), HasSubstr("not aligned to 128"));
  EXPECT_THAT(refusal(gpu_options(std::uint64_t{1} << 34)), HasSubstr("of the GPU's memory"));
  EXPECT_THAT(refusal(gpu_options(std::uint64_t{1} << 40)), HasSubstr("2^32 - 1"));
}

TEST_F(GpuTableTest, RefusesABatchWithoutKeys) {
  GpuTable<Key, Value> table(gpu_options(100), stream_);
  EXPECT_THROW(table.run({.count = 5}, stream_), BadInput);
  EXPECT_THROW(table.run_async({.count = 5}, stream_), BadInput);
}

TEST_F(GpuTableTest, KernelsOfOnesOwnWorkOnTheSameTable) {
  GpuTable<Key, Value> table(gpu_options(30000, false), stream_);
  const std::vector<Key> keys = different_keys<Key>(20000, 24);
  run(table, Operation::insert, part(keys, 0, 10000), stream_);
  // Counts every key twice: 10,000 are there already.
  std::vector<Key> twice = keys;
  twice.insert(twice.end(), keys.begin(), keys.end());
  const OnDevice<Key> there(twice);
  count_in_own_kernel(table, there.get(), twice.size(), stream_);
  const PlainMap<Key, Value> after = contents(table, stream_);
  EXPECT_EQ(after.size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    ASSERT_EQ(after.at(keys[i]), (i < 10000 ? ~keys[i] : 0u) + 2u);
  table.reserve(100000, stream_);
  count_in_own_kernel(table, there.get(), keys.size(), stream_);
  for (const auto& [key, value] : contents(table, stream_)) ASSERT_EQ(value, after.at(key) + 1) << key;
  const GpuTable<Key, Value> taken = std::move(table);
  EXPECT_THROW(count_in_own_kernel(table, there.get(), 1, stream_), BadInput);  // handle(), which needs nvcc
}

TEST_F(GpuTableTest, HostBatchesInChunksDoWhatOneDeviceBatchDoes) {
  for_all_types([&]<class K, class V>() {
    Options options;
    options.run.devices = {Device::cuda};
    options.capacity = 300000;
    HashTable<K, V> chunked(options);
    GpuTable<K, V> direct(gpu_options(options.capacity), stream_);
    const std::vector<K> keys = different_keys<K>(600000, 25);
    std::mt19937_64 random(26);
    for (int round = 0; round < 3; ++round) {
      Batch<K, V> batch = random_batch<K, V>(keys, 500000, random), same = batch;  // 8 chunks
      const BatchReport report =
          chunked.run(batch.operations, batch.keys, batch.operands, batch.outcomes, batch.values);
      const GpuReport expected = run(direct, same, stream_);
      ASSERT_TRUE(batch.outcomes == same.outcomes) << round;
      ASSERT_TRUE(batch.values == same.values) << round;
      ASSERT_EQ(report.tally.inserted, expected.tally.inserted);
      ASSERT_EQ(report.tally.erased, expected.tally.erased);
      EXPECT_GT(report.kernel_seconds, 0);
      EXPECT_GT(report.transfer_seconds, 0);
      EXPECT_GT(report.wall_seconds, 0);
    }
    EXPECT_TRUE(contents(direct, stream_) == [&] {
      std::vector<K> exported;
      std::vector<V> values;
      chunked.export_pairs(exported, values);
      return model_of(exported, values);
    }());
  });
}

TEST_F(GpuTableTest, RefusesASecondThreadOrLetsItTakeItsTurn) {
  constexpr int kRuns = 1000;
  const OnDevice<Key> keys(different_keys<Key>(100, 28));
  const OnDevice<Value> ones(std::vector<Value>(100, 1));
  GpuTable<Key, Value> table(gpu_options(1000), stream_);
  std::atomic<Value> refused = 0;
  const auto add = [&] {
    for (int k = 0; k < kRuns; ++k) try {
        table.run({.count = 100, .operation = Operation::add, .keys = keys.get(), .operands = ones.get()},
                  stream_);
      } catch (const BadInput& error) {
        EXPECT_THAT(error.what(), HasSubstr("two threads use one table::GpuTable"));
        ++refused;
      }
  };
  std::thread other(add);
  add();
  other.join();
  std::vector<Key> exported;
  std::vector<Value> sums;
  table.export_pairs(exported, sums, stream_);
  EXPECT_EQ(sums, std::vector<Value>(100, 2 * kRuns - refused));
}

/// What happens after a kernel has read where there is nothing; the process is of no use afterwards.
void lose_the_device() {
  GpuTable<Key, Value> table(gpu_options(1000));
  Options options;
  options.run.devices = {Device::cuda};
  HashTable<Key, Value> host_table(options);
  const std::vector<Key> keys = different_keys<Key>(1000, 27);
  std::vector<Outcome> outcomes(keys.size(), Outcome::invalid);
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string first = message([&] {
    table.run({.count = 1000, .keys = reinterpret_cast<const Key*>(std::uintptr_t{1} << 45)}, nullptr);
  });
  const std::string second = message([&] { host_table.run(Operation::insert, keys, {}, outcomes, {}); });
  const bool untouched = count(outcomes, Outcome::invalid) == outcomes.size();
  std::fprintf(stderr, "%s\n%s\n", first.c_str(), second.c_str());
  const bool said = first.find("host memory is as it was") != std::string::npos &&
                    second.find("host memory is as it was") != std::string::npos;
  std::_Exit(said && untouched ? 0 : 1);
}

TEST(GpuTableDeathTest, SaysThatALostDeviceTookTheTableWithIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(lose_the_device(), testing::ExitedWithCode(0), "context has ended");
}

}  // namespace
}  // namespace warploom::table
