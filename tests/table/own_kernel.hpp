#pragma once

#include "warploom/table/gpu_table.cuh"

namespace warploom::table {

/// Adds 1 to the value of each key, or inserts the key with 1, in a kernel that is not the library's.
void count_in_own_kernel(GpuTable<std::uint32_t, std::uint32_t>& table, const std::uint32_t* keys,
                         std::size_t count, cudaStream_t stream);

}  // namespace warploom::table
