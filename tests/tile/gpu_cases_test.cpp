// Every example nest on a GPU: the CUDA that was made of it against the compiled source.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "case_memory.hpp"

namespace warploom::tile {
namespace {

class EveryNestOnAGpu : public testing::TestWithParam<Case> {};

TEST_P(EveryNestOnAGpu, GivesTheSourcesResult) {
  const Region nest = read_source(GetParam().text, std::string(GetParam().name) + ".c", {}).front();
  int compared = 0;
  for (const std::int64_t least : {1, 3, 33, 64, 130, 260}) {
    const Memory memory = make_case_memory(nest, least, 3);
    const Region precise_nest = in_double(nest);
    CaseMemory source(nest, memory), precise(precise_nest, memory), device(nest, memory);
    ASSERT_EQ(source.call(GetParam().source), 0);
    ASSERT_EQ(precise.call(GetParam().precise), 0);
    std::vector<void*> pointers;
    for (std::vector<std::byte>& buffer : device.buffers()) {
      void* pointer = nullptr;
      ASSERT_EQ(cudaMalloc(&pointer, std::max<std::size_t>(buffer.size(), 1)), cudaSuccess);
      ASSERT_EQ(cudaMemcpy(pointer, buffer.data(), buffer.size(), cudaMemcpyHostToDevice), cudaSuccess);
      pointers.push_back(pointer);
    }
    ASSERT_EQ(GetParam().cuda(device.sizes().data(), device.scalars().data(), pointers.data()), 0);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << cudaGetErrorString(cudaGetLastError());
    for (std::size_t k = 0; k < pointers.size(); ++k) {
      std::vector<std::byte>& buffer = device.buffers()[k];
      ASSERT_EQ(cudaMemcpy(buffer.data(), pointers[k], buffer.size(), cudaMemcpyDeviceToHost), cudaSuccess);
      cudaFree(pointers[k]);
      // Fused multiply-adds and another order of sums: other roundings than C's, of the same size. Where C's
      // own are large (more columns than rows to make orthogonal), nothing is shown.
      const double of_c = relative_difference(precise.values(k), source.values(k));
      if (!(of_c <= 1e-2)) continue;
      ++compared;
      EXPECT_LE(relative_difference(precise.values(k), device.values(k)), 10 * of_c + 2e-6)
          << device.names()[k] << " for sizes from " << least << ", C differs by " << of_c;
    }
  }
  EXPECT_GE(compared, 3) << "badly conditioned data show nothing";
}

INSTANTIATE_TEST_SUITE_P(Examples, EveryNestOnAGpu, testing::ValuesIn(cases()),
                         [](const auto& nest) { return "of_" + std::string(nest.param.name); });

}  // namespace
}  // namespace warploom::tile
