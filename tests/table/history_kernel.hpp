#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>

#include "table/batch.hpp"
#include "warploom/table/operation.hpp"

namespace warploom::table {

struct HistoryStep {
  std::uint64_t key = 0;
  std::uint64_t operand = 0;
  Operation operation = Operation::find;
};

struct HistoryAnswer {
  std::uint64_t value = 0;
  std::uint64_t called = 0, returned = 0;  ///< readings of %globaltimer [ns]
  Outcome outcome = Outcome::absent;
};

/// A LinePool (device_table.cuh, for nvcc only) of lines first to end - 1, none of them given out yet
using PoolImage = std::array<std::uint64_t, 67>;
constexpr PoolImage pool_image(LineIndex first, LineIndex end) { return {first | std::uint64_t{end} << 32}; }

/// Thread t performs steps t * each to (t + 1) * each - 1, one after the other.
template <class Key, class Value>
void launch_record_history(const DeviceMemory& memory, const HistoryStep* steps, HistoryAnswer* answers,
                           std::uint32_t threads, std::uint32_t each, cudaStream_t stream);

/// The least and the greatest step that %globaltimer took while a thread read it 1000 times [ns]
void launch_measure_clock(std::uint64_t* least_and_greatest, cudaStream_t stream);

}  // namespace warploom::table
