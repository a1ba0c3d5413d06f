#include "search/cpu_dtw_batch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/windows.hpp"

namespace warploom::search {

CpuQuery::CpuQuery(const Pattern& pattern, Normalization normalization)
    : length(std::ssize(pattern.samples)),
      radius(std::min(pattern.radius, length - 1)),
      samples(normalization == Normalization::z ? normalised(pattern.samples) : pattern.samples) {}

CpuWindows::CpuWindows(std::span<const float> channel, const CpuQuery& query, Normalization normalization,
                       std::int64_t begin, std::int64_t windows)
    : samples(channel.data() + begin), first(begin), count(windows) {
  const auto size = static_cast<std::size_t>(count);
  constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
  if (query.moments != nullptr) {
    const auto part = [&](const std::vector<float>& of_all) {
      return std::vector<float>(of_all.begin() + first, of_all.begin() + first + count);
    };
    mean = part(query.moments->mean);
    rest = part(query.moments->rest);
    scale = part(query.moments->scale);
  } else if (normalization == Normalization::z) {
    WindowMoments moments = window_moments(channel, query.length, first, count);
    mean = std::move(moments.mean);
    rest = std::move(moments.rest);
    scale = std::move(moments.scale);
  } else {
    mean.resize(size);
    rest.resize(size);
    scale.assign(size, 1);
    std::int64_t present = 0;  // samples since the last missing one
    for (std::int64_t t = 0; t < count + query.length - 1; ++t) {
      present = std::isfinite(samples[t]) ? present + 1 : 0;
      const std::int64_t window = t - query.length + 1;
      if (window >= 0 && present < query.length) scale[window] = kMissing;
    }
  }
  mean.resize(size + kMostLanes);
  rest.resize(size + kMostLanes);
  scale.resize(size + kMostLanes, kMissing);
}

const CpuWindows& CpuWindowsAt::around(std::int64_t offset) {
  if (!block_ || offset < block_->first || offset >= block_->first + block_->count) {
    const std::int64_t block = query_.moments != nullptr ? 1 : kMomentsBlock, begin = offset / block * block;
    const std::int64_t windows = std::ssize(channel_) - query_.length + 1;
    block_.emplace(channel_, query_, normalization_, begin, std::min(block, windows - begin));
  }
  return *block_;
}

DtwBatch::DtwBatch(const CpuQuery& query)
    : dtw_(*WARPLOOM_PICK(cpu_dtw)),
      query_(query),
      windows_(query.length * dtw_.lanes),
      row_((query.length + 1) * dtw_.lanes) {}

void DtwBatch::load_adjacent(const float* samples, const LaneMoments& moments) {
  moments_ = moments;
  dtw_.interleave_adjacent(samples, moments, query_.length, windows_.data());
}

void DtwBatch::load(const float* const* samples, const LaneMoments& moments) {
  moments_ = moments;
  dtw_.interleave(samples, moments, query_.length, windows_.data());
}

std::int64_t DtwBatch::compute(float* distances, const float* remaining, float bound) {
  alignas(64) float sums[kMostLanes];
  const std::int64_t cells = dtw_.matrices(
      {query_.length, query_.radius, query_.samples.data(), windows_.data(), row_.data(), remaining, bound},
      sums);
  for (int l = 0; l < lanes(); ++l)
    distances[l] = std::isnan(moments_.scale[l]) ? std::numeric_limits<float>::infinity()
                                                 : std::sqrt(sums[l] / static_cast<float>(query_.length));
  return cells;
}

}  // namespace warploom::search
