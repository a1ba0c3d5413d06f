#include "fold/gpu_parts.hpp"

#include <algorithm>
#include <numeric>

#include "core/cuda/memory.hpp"
#include "fold/gpu_batch.hpp"
#include "fold/gpu_kernels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::fold::gpu {

std::vector<std::size_t> longest_first(std::span<const std::string> sequences) {
  std::vector<std::size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto longer = [&](std::size_t a, std::size_t b) { return sequences[a].size() > sequences[b].size(); };
  if (!std::ranges::is_sorted(order, longer)) std::ranges::stable_sort(order, longer);
  if (!order.empty() && std::ssize(sequences[order.front()]) > kMostBases)
    bases_of(sequences[order.front()]);  // throws
  return order;
}

std::vector<std::size_t> ends_of_parts(std::span<const std::uint64_t> bytes, std::size_t longest,
                                       const PartLimits& limits) {
  constexpr std::uint64_t kRounding = 1 << 20;
  const std::uint64_t all = std::accumulate(bytes.begin(), bytes.end(), kRounding);
  const std::uint64_t largest = kRounding + bytes.front();
  const std::uint64_t most = all <= limits.room ? limits.room : limits.room / 2;
  if (largest > most)
    throw OutOfMemory(
        std::string(limits.work) + " " + std::to_string(longest) + " bases takes " + bytes_text(largest) +
        " of the GPU's memory, " + bytes_text(limits.room) + " are free or allowed" +
        (largest > limits.room ? "" : ", half of it for others of the batch: " + std::string(limits.alone)) +
        "; use the CPU (`device` cpu)");
  std::vector<std::size_t> ends;
  std::uint64_t together = kRounding;
  std::size_t begin = 0;
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    if (k > begin && (k - begin == limits.most || together + bytes[k] > most)) {
      ends.push_back(k);
      begin = k, together = kRounding;
    }
    together += bytes[k];
  }
  ends.push_back(bytes.size());
  return ends;
}

void stop_kernels(std::uint32_t* stop, const CudaEvent& begun) {
  if (stop == nullptr) return;
  static constexpr std::uint32_t kStop = 1;
  const CudaStream beside = make_stream();
  cudaStreamWaitEvent(beside.get(), begun.get());  // it is 0 before
  cudaMemcpyAsync(stop, &kStop, sizeof kStop, cudaMemcpyHostToDevice, beside.get());
  cudaStreamSynchronize(beside.get());
}

}  // namespace warploom::fold::gpu
