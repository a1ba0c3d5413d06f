#include "quality_data.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "warploom/core/error.hpp"
#include "warploom/io/recording.hpp"
#include "warploom/search/find.hpp"

namespace warploom::bench {
namespace {

using search::Interval;

Samples cut(const Samples& samples, std::int64_t first, std::int64_t count) {
  Samples part;
  for (const std::vector<float>& channel : samples)
    part.emplace_back(channel.begin() + first, channel.begin() + first + count);
  return part;
}

bool whole(const Samples& samples) {
  for (const std::vector<float>& channel : samples)
    for (const float x : channel)
      if (!std::isfinite(x)) return false;
  return true;
}

Samples samples_of(const io::Recording& recording, const std::vector<std::string>& names) {
  Samples samples;
  for (const std::string& name : names) {
    const auto channel = std::find_if(recording.channels.begin(), recording.channels.end(),
                                      [&](const io::Channel& c) { return c.name == name; });
    if (channel == recording.channels.end()) throw BadInput(recording.name + ": no channel " + name);
    samples.push_back(channel->samples);
  }
  return samples;
}

float deviation(const std::vector<float>& samples) {
  double sum = 0, squares = 0, count = 0;
  for (const float x : samples)
    if (std::isfinite(x)) sum += x, squares += double{x} * x, ++count;
  const double mean = sum / count;
  return static_cast<float>(std::sqrt(std::max(0.0, squares / count - mean * mean)));
}

// Runs of samples for which is(i), at least `least` long, as intervals.
template <class Is>
std::vector<Interval> runs(std::int64_t samples, double rate, double least, const std::string& label, Is is) {
  std::vector<Interval> found;
  for (std::int64_t i = 0; i < samples;) {
    std::int64_t end = i;
    while (end < samples && is(end)) ++end;
    if (static_cast<double>(end - i) >= least * rate && end > i)
      found.push_back({static_cast<double>(i) / rate, static_cast<double>(end - i) / rate, label});
    i = std::max(end, i + 1);
  }
  return found;
}

void switch_axes(Annotated& recording, std::mt19937_64& random) {
  if (recording.sensor_axes.empty()) {  // plantar sensors: neighbours change places, two by two
    for (std::size_t c = random() % 2; c + 1 < recording.samples.size(); c += 2)
      std::swap(recording.samples[c], recording.samples[c + 1]);
    return;
  }
  for (std::size_t s = 0; s < recording.sensor_axes.size(); s += 3) {
    std::array<std::int32_t, 3> order{0, 1, 2};
    while (order == std::array<std::int32_t, 3>{0, 1, 2}) std::shuffle(order.begin(), order.end(), random);
    Samples axes;
    for (const std::int32_t axis : order) {
      axes.push_back(
          recording
              .samples[static_cast<std::size_t>(recording.sensor_axes[s + static_cast<std::size_t>(axis)])]);
      if (random() % 2 == 1)
        for (float& x : axes.back()) x = -x;
    }
    for (std::size_t axis = 0; axis < 3; ++axis)
      recording.samples[static_cast<std::size_t>(recording.sensor_axes[s + axis])] = axes[axis];
  }
}

void rotate(Annotated& recording, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  for (std::size_t s = 0; s < recording.sensor_axes.size(); s += 3) {
    std::array<double, 4> q;
    double length = 0;
    for (double& part : q) part = normal(random), length += part * part;
    for (double& part : q) part /= std::sqrt(length);
    const auto [w, x, y, z] = q;
    const double r[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
                            {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
                            {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}};
    std::array<std::vector<float>*, 3> axes;
    for (std::size_t a = 0; a < 3; ++a)
      axes[a] = &recording.samples[static_cast<std::size_t>(recording.sensor_axes[s + a])];
    for (std::size_t i = 0; i < axes[0]->size(); ++i) {
      const double v[3] = {(*axes[0])[i], (*axes[1])[i], (*axes[2])[i]};
      for (std::size_t a = 0; a < 3; ++a)
        (*axes[a])[i] = static_cast<float>(r[a][0] * v[0] + r[a][1] * v[1] + r[a][2] * v[2]);
    }
  }
}

}  // namespace

std::string name(Disturbance disturbance) {
  switch (disturbance) {
    case Disturbance::none:
      return "none";
    case Disturbance::switched:
      return "switched";
    case Disturbance::rotated:
      return "rotated";
    case Disturbance::lagged:
      return "lagged";
    case Disturbance::missing:
      return "missing";
  }
  throw Internal("a disturbance without a name");
}

Annotated disturbed(const Annotated& recording, Disturbance disturbance, std::uint64_t seed) {
  Annotated result = recording;
  std::mt19937_64 random(seed);
  switch (disturbance) {
    case Disturbance::none:
      break;
    case Disturbance::switched:
      switch_axes(result, random);
      break;
    case Disturbance::rotated:
      rotate(result, random);
      break;
    case Disturbance::lagged:
      for (std::vector<float>& channel : result.samples) {
        const auto most = static_cast<std::uint64_t>(std::lround(result.rate / 8));
        const auto lag = static_cast<std::ptrdiff_t>(random() % (most + 1));
        std::rotate(channel.begin(), channel.end() - lag, channel.end());
      }
      break;
    case Disturbance::missing: {
      std::vector<std::size_t> order(result.samples.size());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      for (std::size_t k = 0; k < std::max<std::size_t>(1, order.size() / 3); ++k) {
        std::vector<float>& channel = result.samples[order[k]];
        std::normal_distribution<float> noise(0, deviation(channel));
        for (float& x : channel)
          if (std::isfinite(x)) x = noise(random);
      }
      break;
    }
  }
  return result;
}

Corpus basic_motions(const std::string& directory, std::uint64_t seed) {
  Corpus corpus;
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> order(40);
  std::iota(order.begin(), order.end(), 1);
  std::shuffle(order.begin(), order.end(), random);
  Annotated test{"BasicMotions", 10, Samples(6), {}, {0, 1, 2, 3, 4, 5}};
  for (const std::int32_t series : order) {
    io::RecordingOptions options;
    options.series = series;
    options.rate = test.rate;
    const io::Recording one = io::read_recording(directory + "/activity/BasicMotions_TEST.ts", options);
    const double onset = static_cast<double>(test.samples[0].size()) / test.rate;
    test.intervals.push_back({onset, static_cast<double>(one.channels[0].samples.size()) / test.rate,
                              one.annotations.at(0).label});
    for (std::size_t c = 0; c < 6; ++c) {
      const std::vector<float>& samples = one.channels.at(c).samples;
      test.samples[c].insert(test.samples[c].end(), samples.begin(), samples.end());
      test.samples[c].push_back(std::numeric_limits<float>::quiet_NaN());
    }
  }
  for (std::int32_t series = 1; series <= 40; ++series) {
    io::RecordingOptions options;
    options.series = series;
    options.rate = test.rate;
    const io::Recording one = io::read_recording(directory + "/activity/BasicMotions_TRAIN.ts", options);
    Samples samples;
    for (const io::Channel& channel : one.channels)
      samples.emplace_back(channel.samples.begin() + 25, channel.samples.begin() + 75);
    if (whole(samples)) corpus.examples.push_back({one.annotations.at(0).label, samples, "TRAIN", {}});
  }
  corpus.recordings.push_back(std::move(test));
  return corpus;
}

namespace {

constexpr double kDaphnetRate = 64;
constexpr std::array kWearers = {"S01R02", "S03R03", "S06R02"};

io::Recording daphnet(const std::string& directory, const std::string& wearer) {
  io::RecordingOptions options;
  options.time_column = "time";
  options.time_unit = 1e-3;
  return io::read_recording(directory + "/activity/" + wearer + ".txt.gz", options);
}

std::vector<float> channel(const io::Recording& recording, const std::string& name) {
  return samples_of(recording, {name}).front();
}

}  // namespace

Corpus walking(const std::string& directory, const std::string& place, std::int32_t count,
               std::uint64_t seed) {
  const std::map<std::string, std::vector<std::string>> axes = {
      {"ankle", {"A0", "A1", "A2"}}, {"thigh", {"U0", "U1", "U2"}}, {"trunk", {"T1", "T2", "T3"}}};
  Corpus corpus;
  std::mt19937_64 random(seed);
  for (const char* wearer : kWearers) {
    const io::Recording recording = daphnet(directory, wearer);
    const std::vector<float> seen = channel(recording, "N");
    const Samples ankle = samples_of(recording, axes.at("ankle"));
    std::vector<float> size(seen.size());
    for (std::size_t i = 0; i < size.size(); ++i) size[i] = std::hypot(ankle[0][i], ankle[1][i], ankle[2][i]);
    constexpr auto kWindow = static_cast<std::int64_t>(2 * kDaphnetRate);
    const auto samples = static_cast<std::int64_t>(seen.size());
    std::vector<bool> striding(size.size());
    for (std::int64_t i = 0; i < samples; ++i) {
      const std::int64_t first = std::clamp<std::int64_t>(i - kWindow / 2, 0, samples - kWindow);
      striding[static_cast<std::size_t>(i)] =
          seen[static_cast<std::size_t>(i)] == 1 &&
          deviation({size.begin() + first, size.begin() + first + kWindow}) >= 250;
    }
    Annotated annotated{wearer, kDaphnetRate, samples_of(recording, axes.at(place)), {}, {0, 1, 2}};
    annotated.intervals = runs(samples, kDaphnetRate, 5, "walk",
                               [&](std::int64_t i) { return striding[static_cast<std::size_t>(i)]; });
    const auto still = [&](const std::vector<float>& axis) {
      return std::all_of(annotated.intervals.begin(), annotated.intervals.end(), [&](const Interval& bout) {
        const auto begin = axis.begin() + std::llround(bout.onset * kDaphnetRate);
        return deviation({begin, begin + std::llround(bout.duration * kDaphnetRate)}) == 0;
      });
    };
    if (std::any_of(annotated.samples.begin(), annotated.samples.end(), still)) continue;  // no sensor there
    for (std::int32_t k = 0; k < count; ++k) {
      const Interval& bout = annotated.intervals[random() % annotated.intervals.size()];
      const auto spare = static_cast<std::uint64_t>((bout.duration - 2) * kDaphnetRate);
      const std::int64_t first =
          std::llround(bout.onset * kDaphnetRate) + static_cast<std::int64_t>(random() % (spare + 1));
      corpus.examples.push_back({"walk",
                                 cut(annotated.samples, first, kWindow),
                                 wearer,
                                 {static_cast<double>(first) / kDaphnetRate, 2, "walk"}});
    }
    corpus.recordings.push_back(std::move(annotated));
  }
  return corpus;
}

Corpus freezing(const std::string& directory) {
  const io::Recording recording = daphnet(directory, kWearers[0]);
  const std::vector<float> seen = channel(recording, "N");
  Annotated annotated{kWearers[0],
                      kDaphnetRate,
                      samples_of(recording, {"A0", "A1", "A2", "U0", "U1", "U2", "T1", "T2", "T3"}),
                      {},
                      {0, 1, 2, 3, 4, 5, 6, 7, 8}};
  annotated.intervals = runs(static_cast<std::int64_t>(seen.size()), kDaphnetRate, 1.5, "freeze",
                             [&](std::int64_t i) { return seen[static_cast<std::size_t>(i)] == 2; });
  Corpus corpus;
  for (const Interval& episode : annotated.intervals) {
    const double duration = 1.5, onset = episode.onset + (episode.duration - duration) / 2;
    const std::int64_t first = std::llround(onset * kDaphnetRate);
    corpus.examples.push_back({"freeze",
                               cut(annotated.samples, first, std::llround(duration * kDaphnetRate)),
                               kWearers[0],
                               {onset, duration, "freeze"}});
  }
  corpus.recordings.push_back(std::move(annotated));
  return corpus;
}

Corpus strides(const std::string& directory, std::int32_t count, std::uint64_t seed) {
  Corpus corpus;
  std::mt19937_64 random(seed);
  for (const char* walker : {"GaCo01_01", "GaCo02_01", "GaPt03_01", "GaPt04_01", "JuCo01_01", "JuPt01_01",
                             "SiCo01_01", "SiPt02_01"}) {
    io::RecordingOptions options;
    options.time_column = "1";
    const io::Recording recording = io::read_recording(directory + "/gait/" + walker + ".txt.gz", options);
    Annotated annotated{walker, recording.channels.at(0).rate, {}, {}, {}};
    for (std::size_t c = 0; c < 16; ++c) annotated.samples.push_back(recording.channels.at(c).samples);
    const std::vector<float>& left = recording.channels.at(16).samples;
    const float level = *std::max_element(left.begin(), left.end()) / 5;
    std::int64_t strike = -1;
    for (std::size_t i = 1; i < left.size(); ++i)
      if (left[i - 1] < level && left[i] >= level) {
        const auto now = static_cast<std::int64_t>(i);
        const double duration = static_cast<double>(now - strike) / annotated.rate;
        if (strike >= 0 && duration > .7 && duration < 2)
          annotated.intervals.push_back({static_cast<double>(strike) / annotated.rate, duration, "stride"});
        if (strike < 0 || duration > .7) strike = now;
      }
    for (std::int32_t k = 0; k < count; ++k) {
      const Interval& stride = annotated.intervals[random() % annotated.intervals.size()];
      const std::int64_t first = std::llround(stride.onset * annotated.rate);
      corpus.examples.push_back(
          {"stride", cut(annotated.samples, first, std::llround(stride.duration * annotated.rate)), walker,
           stride});
    }
    corpus.recordings.push_back(std::move(annotated));
  }
  return corpus;
}

}  // namespace warploom::bench
