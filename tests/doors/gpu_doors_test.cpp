// Headers of builds with CUDA. Without a GPU a table's constructor is the only door that can be reached;
// gpu_test_table has these cases, too, and that of handle(), which needs nvcc.

#include "doors/doors.hpp"
#include "warploom/config.hpp"
#if WARPLOOM_HAS_CUDA
#include "core/cuda/owners.hpp"
#include "warploom/core/cuda_check.cuh"
#include "warploom/core/device.hpp"
#include "warploom/table/gpu_table.cuh"
#endif

namespace warploom::doors {
namespace {

#if WARPLOOM_HAS_CUDA
using namespace table;

/// Whether there is a GPU that this build has code for.
bool gpu_is_there() { return choose_device(Device::best, true).is_gpu(); }

std::vector<GpuOptions> odd_gpu_options() {
  GpuAllocator half;
  half.allocate = [](std::size_t, cudaStream_t) -> void* { return nullptr; };
  return {{.capacity = ~std::uint64_t{0}},
          {.capacity = ~std::uint64_t{0}, .buckets = 1, .pool_fraction = 1000},
          {.tables = 0},
          {.tables = 0xFFFFFFFF, .buckets = 0xFFFFFFFF},
          {.hash = no_enumerator<Hash>()},
          {.assignment = no_enumerator<Assignment>()},
          {.pool_fraction = -1},
          {.pool_fraction = kNan},
          {.pool_fraction = kInfinity},
          {.threads_per_block = -32},
          {.threads_per_block = 33},
          {.threads_per_block = kMost32},
          {.allocator = half},
          {.allocator = {half.allocate, [](void*, std::size_t, cudaStream_t) {}}}};
}

template <class Key, class Value>
void door_of_gpu_tables() {
  using Table = GpuTable<Key, Value>;
  for (const GpuOptions& odd : odd_gpu_options()) refused([&] { return Table(odd).bytes(); });
  if (!gpu_is_there()) {
    EXPECT_THROW(Table({}), NoDevice);
    return;
  }
  const auto memory = make_device<std::uint64_t>(1024);  // of keys 0, or of values, whatever is asked for
  cuda_check(cudaMemset(memory.get(), 0, 8192), "cudaMemset");
  auto* const keys = reinterpret_cast<Key*>(memory.get());
  auto* const values = reinterpret_cast<Value*>(memory.get());
  Table table({.capacity = 100});
  refused([&] { return table.run({.count = 1}, nullptr).retries; });
  refused([&] { return table.run_async({.count = ~std::uint64_t{0}}, nullptr), 0; });
  EXPECT_EQ(table.run({.count = 0}, nullptr).tally.inserted, 0u);
  EXPECT_EQ(
      table.run({.count = 9, .operation = no_enumerator<Operation>(), .keys = keys}, nullptr).tally.inserted,
      0u);
  EXPECT_EQ(table.run({.count = 9, .operation = Operation::insert, .keys = keys}, nullptr).tally.inserted,
            1u);
  table.run_async({.count = 9, .operation = Operation::erase, .keys = keys}, nullptr);
  EXPECT_EQ(table.wait(nullptr).tally.erased, 1u);
  EXPECT_EQ(table.run({.count = 9, .operation = Operation::assign, .keys = keys, .values = values}, nullptr)
                .tally.inserted,
            1u);  // in place
  refused([&] { return table.export_pairs(nullptr, values, 1, nullptr); });
  refused([&] { return table.export_pairs(keys, nullptr, 1, nullptr); });
  EXPECT_EQ(table.export_pairs(nullptr, nullptr, 0, nullptr), 1u);
  EXPECT_EQ(table.export_pairs(keys, values, 512, nullptr), 1u);
  refused([&] { return table.reserve(~std::uint64_t{0}, nullptr), 0; });
  survives([&] { return table.reserve(0, nullptr), 0; });
  survives([&] { return table.make_room(~std::uint64_t{0}, nullptr); });
  survives([&] { return table.trim(nullptr), 0; });
  EXPECT_EQ(table.size(nullptr), 1u);

  Table taken = std::move(table);
  std::vector<Key> host_keys;
  std::vector<Value> host_values;
  refused([&] { return table.run({.count = 0}, nullptr).retries; });
  refused([&] { return table.run_async({.count = 0}, nullptr), 0; });
  refused([&] { return table.wait(nullptr).retries; });
  refused([&] { return table.size(nullptr); });
  refused([&] { return table.statistics(nullptr).pairs; });
  refused([&] { return table.export_pairs(keys, values, 1, nullptr); });
  refused([&] { return table.export_pairs(host_keys, host_values, nullptr), 0; });
  refused([&] { return table.reserve(5, nullptr), 0; });
  refused([&] { return table.make_room(5, nullptr); });
  refused([&] { return table.trim(nullptr), 0; });
  refused([&] { return table.clear(nullptr), 0; });
  refused([&] { return table.capacity(); });
  refused([&] { return table.bytes(); });
  refused([&] { return table.placement().tables; });
  table = std::move(taken);
  EXPECT_EQ(table.size(nullptr), 1u);
}
#endif

DOOR(TablesOnGpus, "cuda_check", "table::GpuTable::GpuTable<Key, Value>(GpuTable<Key, Value> &&)",
     "table::GpuTable::GpuTable<Key, Value>(const GpuOptions &, cudaStream_t)", "table::GpuTable::bytes",
     "table::GpuTable::capacity", "table::GpuTable::clear",
     "table::GpuTable::export_pairs(Key *, Value *, std::uint64_t, cudaStream_t) const",
     "table::GpuTable::export_pairs(std::vector<Key> &, std::vector<Value> &, cudaStream_t) const",
     "table::GpuTable::handle", "table::GpuTable::make_room",
     "table::GpuTable::operator=", "table::GpuTable::placement", "table::GpuTable::reserve",
     "table::GpuTable::run", "table::GpuTable::run_async", "table::GpuTable::size",
     "table::GpuTable::statistics", "table::GpuTable::trim", "table::GpuTable::wait") {
#if WARPLOOM_HAS_CUDA
  EXPECT_NO_THROW(cuda_check(cudaSuccess, ""));
  EXPECT_THROW(cuda_check(cudaErrorMemoryAllocation, "memory"), OutOfMemory);
  EXPECT_THROW(cuda_check(cudaErrorNoDevice, ""), NoDevice);
  EXPECT_THROW(cuda_check(no_enumerator<cudaError_t>(), std::string(1, '\0')), Error);
  door_of_gpu_tables<std::uint32_t, std::uint32_t>();
  door_of_gpu_tables<std::uint64_t, std::uint64_t>();
#else
  GTEST_SKIP() << "built without CUDA";
#endif
}

}  // namespace
}  // namespace warploom::doors
