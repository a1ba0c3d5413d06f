#include "search/cpu_dtw_batch.hpp"

#include <algorithm>
#include <cmath>

#include "search/windows.hpp"

namespace warploom::search {
namespace {

CpuChannel channel_of(std::span<const float> recorded, const std::vector<float>& samples,
                      Normalization normalization) {
  return {recorded, normalization == Normalization::z ? normalised(samples) : samples};
}

/// Of windows that are not normalised.
WindowMoments as_they_are(const float* samples, std::int64_t length, std::int64_t count) {
  const auto size = static_cast<std::size_t>(count);
  WindowMoments moments{std::vector<float>(size), std::vector<float>(size), std::vector<float>(size, 1)};
  std::int64_t present = 0;  // samples since the last missing one
  for (std::int64_t t = 0; t < count + length - 1; ++t) {
    present = std::isfinite(samples[t]) ? present + 1 : 0;
    const std::int64_t window = t - length + 1;
    if (window >= 0 && present < length) moments.scale[window] = std::numeric_limits<float>::quiet_NaN();
  }
  return moments;
}

}  // namespace

void pad(WindowMoments& moments) {
  const std::size_t size = moments.scale.size() + kMostLanes;
  moments.mean.resize(size);
  moments.rest.resize(size);
  moments.scale.resize(size, std::numeric_limits<float>::quiet_NaN());
}

CpuQuery::CpuQuery(const Signal& signal, std::int32_t channel, const Pattern& pattern, Normalization how)
    : length(std::ssize(pattern.samples)), radius(std::min(pattern.radius, length - 1)), normalization(how) {
  channels.push_back(channel_of(signal[channel], pattern.samples, how));
}

CpuQuery::CpuQuery(const Signal& signal, const JointPattern& pattern, Normalization how)
    : length(pattern.length()),
      radius(std::min(pattern.radius, length - 1)),
      normalization(how),
      warping(pattern.warping) {
  for (std::size_t c = 0; c < pattern.samples.size(); ++c)
    channels.push_back(channel_of(signal[pattern.channels[c]], pattern.samples[c], how));
}

CpuWindows::CpuWindows(const CpuChannel& channel, const CpuQuery& query, std::int64_t begin,
                       std::int64_t windows, MomentsBegin moments_begin)
    : samples(channel.recorded.data() + begin), first(begin), count(windows) {
  const WindowMoments* moments = channel.moments;
  if (moments == nullptr) {
    if (query.normalization != Normalization::z)
      own_ = as_they_are(samples, query.length, count);
    else if (moments_begin == MomentsBegin::at_a_block)
      own_ = window_moments(channel.recorded, query.length, first, count);
    else
      own_ = window_moments({samples, static_cast<std::size_t>(query.length + count - 1)}, query.length, 0,
                            count);
    pad(*own_);
    moments = &*own_;
  }
  const std::int64_t at = own_ ? 0 : first;
  mean = moments->mean.data() + at;
  rest = moments->rest.data() + at;
  scale = moments->scale.data() + at;
}

CpuWindowsOfAll::CpuWindowsOfAll(const CpuQuery& query, std::int64_t begin, std::int64_t windows,
                                 MomentsBegin moments_begin)
    : first(begin), count(windows) {
  channels.reserve(query.channels.size());
  for (const CpuChannel& channel : query.channels)
    channels.emplace_back(channel, query, first, count, moments_begin);
}

const CpuWindowsOfAll& CpuWindowsAt::around(std::int64_t offset) {
  if (!block_ || offset < block_->first || offset >= block_->first + block_->count) {
    const bool kept = std::all_of(query_.channels.begin(), query_.channels.end(),
                                  [](const CpuChannel& channel) { return channel.moments != nullptr; });
    const std::int64_t block = kept ? 1 : kMomentsBlock, begin = offset / block * block;
    const std::int64_t windows = std::ssize(query_.channels[0].recorded) - query_.length + 1;
    block_.emplace(query_, begin, std::min(block, windows - begin));
  }
  return *block_;
}

DtwBatch::DtwBatch(const CpuQuery& query)
    : dtw_(*WARPLOOM_PICK(cpu_dtw)),
      query_(query),
      samples_(static_cast<std::size_t>(query.length * query.count())),
      windows_(query.length * query.count() * dtw_.lanes),
      row_((query.length + 1) * dtw_.lanes),
      remaining_((query.length + 1) * dtw_.lanes) {
  for (std::int64_t c = 0; c < query.count(); ++c)
    for (std::int64_t i = 0; i < query.length; ++i)
      samples_[query.place(c) + i * query.in_a_matrix()] = query.channels[c].samples[i];
}

void DtwBatch::load_adjacent(std::int64_t channel, const float* samples, const LaneMoments& moments) {
  dtw_.interleave_adjacent(samples, moments, query_.length, query_.in_a_matrix() * lanes(),
                           windows_.data() + query_.place(channel) * lanes());
}

void DtwBatch::load(std::int64_t channel, const float* const* samples, const LaneMoments& moments) {
  dtw_.interleave(samples, moments, query_.length, query_.in_a_matrix() * lanes(),
                  windows_.data() + query_.place(channel) * lanes());
}

/// The matrices of one channel after the other.
std::int64_t DtwBatch::sums_of_each(float* sums, BatchBounds* bounds) {
  alignas(64) float some[kMostLanes], more[kMostLanes] = {};
  std::vector<float> least(static_cast<std::size_t>(query_.count() * lanes()));  // of each channel and lane
  if (bounds != nullptr)
    for (std::int64_t c = 0; c < query_.count(); ++c) {
      bounds->remaining(c, more, remaining_.data());
      std::copy_n(remaining_.data(), lanes(), least.begin() + c * lanes());
    }
  std::fill_n(sums, lanes(), 0.F);
  std::int64_t cells = 0;
  for (std::int64_t c = 0; c < query_.count(); ++c) {
    if (bounds != nullptr) {
      // What the other channels cost at least.
      for (int l = 0; l < lanes(); ++l) {
        more[l] = sums[l];
        for (std::int64_t later = c + 1; later < query_.count(); ++later)
          more[l] += least[later * lanes() + l];
      }
      bounds->remaining(c, more, remaining_.data());
    }
    cells += dtw_.matrices(
        {query_.length, query_.radius, 1, samples_.data() + query_.place(c), windows(c), row_.data(),
         bounds != nullptr ? remaining_.data() : nullptr, bounds != nullptr ? bounds->bound : 0},
        some);
    for (int l = 0; l < lanes(); ++l) sums[l] += some[l];
  }
  return cells;
}

std::int64_t DtwBatch::compute(float* distances, BatchBounds* bounds) {
  alignas(64) float sums[kMostLanes];
  std::int64_t cells = 0;
  if (query_.in_a_matrix() == query_.count()) {
    constexpr float kNothing[kMostLanes] = {};
    if (bounds != nullptr) bounds->remaining(0, kNothing, remaining_.data());
    cells = dtw_.matrices(
        {query_.length, query_.radius, query_.count(), samples_.data(), windows_.data(), row_.data(),
         bounds != nullptr ? remaining_.data() : nullptr, bounds != nullptr ? bounds->bound : 0},
        sums);
  } else {
    cells = sums_of_each(sums, bounds);
  }
  for (int l = 0; l < lanes(); ++l)
    distances[l] = std::sqrt(sums[l] / static_cast<float>(query_.length * query_.count()));
  return cells;
}

}  // namespace warploom::search
