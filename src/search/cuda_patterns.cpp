#include "search/cuda_patterns.hpp"

#include <algorithm>
#include <numeric>

#include "search/windows.hpp"
#include "warploom/core/cuda_check.cuh"

namespace warploom::search {
namespace {

/// Copies channels of patterns to the device, where DtwJob's readers find them.
class PatternMemory {
 public:
  explicit PatternMemory(Normalization normalization) : normalization_(normalization) {}
  struct Added {
    std::int64_t begin;
    float middle;  // as EnvelopeJob has it
  };
  Added add(const std::vector<float>& pattern, std::int64_t radius) {
    const auto values = normalization_ == Normalization::z ? normalised(pattern) : pattern;
    samples_.resize((samples_.size() + 63) / 64 * 64 + static_cast<std::size_t>(front_pad(radius)), kFar);
    const std::int64_t begin = std::ssize(samples_);
    samples_.insert(samples_.end(), values.begin(), values.end());
    samples_.resize(samples_.size() + static_cast<std::size_t>(radius + kBackPad), kFar);
    return {begin, static_cast<float>(std::accumulate(values.begin(), values.end(), 0.) /
                                      static_cast<double>(values.size()))};
  }
  /// @return what begins are counted from
  const float* copy(DeviceBuffer& memory) const {
    memory.reserve(samples_.size() * sizeof(float));
    auto* const device = reinterpret_cast<float*>(memory.memory.get());
    cuda_check(cudaMemcpy(device, samples_.data(), samples_.size() * sizeof(float), cudaMemcpyHostToDevice),
               "copying the patterns");
    return device;
  }

 private:
  Normalization normalization_;
  std::vector<float> samples_;
};

}  // namespace

std::vector<DeviceQuery> upload(std::span<const Pattern> patterns, Normalization normalization,
                                DeviceBuffer& to) {
  PatternMemory memory(normalization);
  std::vector<std::int64_t> begins;
  std::vector<DeviceQuery> queries;
  for (const Pattern& pattern : patterns) {
    const std::int64_t length = std::ssize(pattern.samples), radius = std::min(pattern.radius, length - 1);
    const auto [begin, middle] = memory.add(pattern.samples, radius);
    begins.push_back(begin);
    queries.push_back({nullptr, static_cast<std::int32_t>(length), static_cast<std::int32_t>(radius), middle,
                       choose_dtw_kernel(length, radius)});
  }
  const float* const device = memory.copy(to);
  for (std::size_t i = 0; i < queries.size(); ++i) queries[i].samples = device + begins[i];
  return queries;
}

std::vector<DeviceJoint> upload(std::span<const JointPattern> patterns, Normalization normalization,
                                DeviceBuffer& to) {
  PatternMemory memory(normalization);
  std::vector<std::int64_t> begins;
  std::vector<DeviceJoint> queries;
  for (const JointPattern& pattern : patterns) {
    const std::int64_t length = pattern.length(), radius = std::min(pattern.radius, length - 1);
    const auto count = static_cast<std::int32_t>(pattern.samples.size());
    DeviceJoint& query = queries.emplace_back();
    query.length = static_cast<std::int32_t>(length);
    query.radius = static_cast<std::int32_t>(radius);
    query.together = pattern.warping == Warping::together ? count : 1;
    query.kernel = choose_joint_kernel(length, radius, count);
    for (std::size_t c = 0; c < pattern.samples.size(); ++c) {
      begins.push_back(memory.add(pattern.samples[c], radius).begin);
      query.channels.emplace_back(pattern.channels[c], nullptr);
    }
  }
  const float* const device = memory.copy(to);
  auto begin = begins.begin();
  for (DeviceJoint& query : queries)
    for (auto& channel : query.channels) channel.second = device + *begin++;
  return queries;
}

}  // namespace warploom::search
