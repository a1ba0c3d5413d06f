#include "page_tracks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base64.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::tool {
namespace {

// Numbers of two bytes, which take 8/3 characters each.
constexpr std::int64_t kWholeNumbers = 300'000, kDetailNumbers = 150'000;
constexpr std::int64_t kDetails = 50;

struct Range {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  bool empty() const { return low > high; }
  void add(float sample) {
    if (!std::isfinite(sample)) return;
    if (sample < low) low = sample;
    if (sample > high) high = sample;
  }
};

Range range_of(std::span<const float> samples) {
  Range range;
  for (const float sample : samples) range.add(sample);
  return range;
}

Json track(const io::Recording& recording, std::int64_t first, std::int64_t last, std::int64_t stride) {
  const std::int64_t bins = (last - first + stride - 1) / stride;
  std::vector<double> low, step;
  std::string bytes;
  bytes.reserve(recording.channels.size() * static_cast<std::size_t>(bins) * (stride == 1 ? 2 : 4));
  const auto write = [&bytes](unsigned number) {
    bytes += static_cast<char>(number & 255);
    bytes += static_cast<char>(number >> 8);
  };
  for (const io::Channel& channel : recording.channels) {
    const auto samples =
        std::span(channel.samples)
            .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
    std::vector<Range> ranges(static_cast<std::size_t>(bins));
    Range all;
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      const std::size_t begin = k * static_cast<std::size_t>(stride);
      ranges[k] = range_of(
          samples.subspan(begin, std::min(static_cast<std::size_t>(stride), samples.size() - begin)));
      all.add(ranges[k].low);
      if (!ranges[k].empty()) all.add(ranges[k].high);
    }
    check_interrupt();
    low.push_back(all.empty() ? 0 : all.low);
    step.push_back(all.empty() || all.low == all.high ? 1
                                                      : (static_cast<double>(all.high) - all.low) / 65534);
    const auto number = [&](float value) {
      return static_cast<unsigned>(1 +
                                   std::clamp(std::lround((value - low.back()) / step.back()), 0L, 65534L));
    };
    for (const Range& range : ranges) {
      write(range.empty() ? 0 : number(range.low));
      if (stride > 1) write(range.empty() ? 0 : number(range.high));
    }
  }
  return {{"first", first}, {"stride", stride}, {"bins", bins},
          {"low", low},     {"step", step},     {"data", base64(bytes)}};
}

/// The least stride with which `samples` of each channel stay within so many numbers.
std::int64_t stride_for(std::int64_t samples, std::int64_t channels, std::int64_t numbers) {
  if (samples * channels <= numbers) return 1;
  const std::int64_t bins = std::max<std::int64_t>(1, numbers / (2 * channels));
  return std::max<std::int64_t>(2, (samples + bins - 1) / bins);
}

}  // namespace

Json recording_tracks(const io::Recording& recording, std::span<const search::Match> matches) {
  const auto channels = static_cast<std::int64_t>(recording.channels.size());
  const auto samples = static_cast<std::int64_t>(recording.channels.front().samples.size());
  const std::int64_t stride = stride_for(samples, channels, kWholeNumbers);
  Json tracks = Json::array({track(recording, 0, samples, stride)});
  if (stride == 1) return tracks;
  matches = matches.first(std::min<std::size_t>(matches.size(), kDetails));
  for (const search::Match& match : matches) {
    const std::int64_t around = (match.last - match.first) / 2;
    const std::int64_t first = std::max<std::int64_t>(0, match.first - around),
                       last = std::min(samples, match.last + around);
    if (first >= last) continue;
    const std::int64_t finer =
        stride_for(last - first, channels, kDetailNumbers / static_cast<std::int64_t>(matches.size()));
    // Nothing is gained by pieces that are hardly finer than the whole.
    if (2 * finer <= stride) tracks.push_back(track(recording, first, last, finer));
  }
  return tracks;
}

}  // namespace warploom::tool
