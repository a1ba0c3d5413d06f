// Question: how long does it take to find a query of several channels in place, beside a Euclidean profile of
// each channel? Fixed: 6 channels of 720,000 samples (2 hours at 100 Hz), a query of 128 samples cut from
// them with noise of a twentieth of its deviation in each channel, band .05, one scale, z-normalised, 20
// places half a length apart, one thread on the CPU. Timed: Index::best() of an index that has searched twice
// before ("warm"), the least and the median of some runs; on the CPU by the processor's time, so that other
// programs count little. Checked: the first place is as near as that where the query was cut from. `profile`
// computes all windows. Usage: in_place [cpu|cuda] [file.json]; measured recordings, repeated as often as
// needed with noise of a thousandth on top, where $WARPLOOM_DATA has them.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "../json_records.hpp"
#include "measured_data.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/run.hpp"
#include "warploom/io/recording.hpp"
#include "warploom/search/index.hpp"

namespace {

using namespace warploom;
using namespace warploom::search;

constexpr std::size_t kSamples = 720'000, kLength = 128, kPlace = 10'000;
constexpr std::size_t kChannels = 6;
using Channels = std::vector<std::vector<float>>;

void add_noise(std::vector<float>& samples, double share, std::mt19937& engine) {
  double mean = 0, squares = 0;
  for (const float x : samples) mean += x / static_cast<double>(samples.size());
  for (const float x : samples) squares += (x - mean) * (x - mean) / static_cast<double>(samples.size());
  std::normal_distribution<double> noise(0, share * std::sqrt(squares));
  for (float& x : samples) x += static_cast<float>(noise(engine));
}

Channels walk() {
  std::mt19937 engine(1);
  Channels channels(kChannels);
  for (auto& channel : channels) {
    double at = 0;
    for (std::size_t t = 0; t < kSamples; ++t)
      channel.push_back(static_cast<float>(at += static_cast<double>(engine()) / 2147483648.0 - 1));
  }
  return channels;
}

/// Empty where the files are absent.
Channels measured(const std::string& folder, const std::vector<std::string>& files,
                  const std::vector<std::size_t>& which) {
  Channels channels(kChannels);
  for (const std::string& file : files) {
    const auto path = measured_data(WARPLOOM_BENCH_DATA, folder) / (file + ".txt.gz");
    if (!std::filesystem::exists(path)) return {};
    const io::Recording recording = io::read_recording(path);
    for (std::size_t c = 0; c < kChannels; ++c)
      for (const float x : recording.channels.at(which[c]).samples)
        channels[c].push_back(std::isfinite(x) ? x : 0);
  }
  std::mt19937 engine(2);
  for (auto& channel : channels) {
    const std::size_t once = channel.size();
    for (std::size_t t = once; t < kSamples; ++t) channel.push_back(channel[t - once]);
    channel.resize(kSamples);
    add_noise(channel, 1e-3, engine);
  }
  return channels;
}

double seconds(Device device, const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t processor_start = std::clock();
  work();
  if (!device.is_gpu()) return static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) {
  const std::string device = count > 1 ? arguments[1] : "cpu";
  const Run run{.devices = {device == "cuda" ? Device::cuda : Device::cpu}, .threads = 1};
  const RunScope scope(run);
  JsonRecords records;
  records.list("in_place");
  const std::vector<std::pair<std::string, Channels>> cases = {
      {"random walk", walk()},
      {"plantar forces", measured("gait",
                                  {"GaCo01_01", "GaCo02_01", "GaPt03_01", "GaPt04_01", "JuCo01_01",
                                   "JuPt01_01", "SiCo01_01", "SiPt02_01"},
                                  {0, 2, 4, 8, 10, 12})},
      {"accelerations", measured("activity", {"S01R02", "S03R03", "S06R02"}, {0, 1, 2, 3, 4, 5})}};
  int wrong = 0;
  for (const auto& [name, channels] : cases) {
    if (channels.empty()) {
      std::fprintf(stderr, "%s: not measured, since the data are not there\n", name.c_str());
      continue;
    }
    std::mt19937 engine(3);
    for (const Warping warping : {Warping::together, Warping::each}) {
      JointPattern pattern{.radius = band_radius(.05, kLength), .warping = warping};
      for (std::size_t c = 0; c < kChannels; ++c) {
        add_noise(pattern.samples.emplace_back(channels[c].begin() + kPlace,
                                               channels[c].begin() + kPlace + kLength),
                  .05, engine);
        pattern.channels.push_back(static_cast<std::int32_t>(c));
      }
      Index index(Signal(channels.begin(), channels.end()), {.run = run});
      const JointTask task{.limit = 20, .exclusion = kLength / 2};
      std::vector<std::vector<Candidate>> found;
      std::vector<double> best, all;
      found = index.best({&pattern, 1}, {&task, 1});
      const Effort before = index.effort();
      found = index.best({&pattern, 1}, {&task, 1});
      const Effort after = index.effort();
      for (int time = 0; time < 15; ++time)
        best.push_back(seconds(run.devices[0], [&] { found = index.best({&pattern, 1}, {&task, 1}); }));
      for (int time = 0; time < 2; ++time)
        all.push_back(seconds(run.devices[0], [&] { index.profile(pattern, 0, kSamples - kLength + 1); }));
      std::sort(best.begin(), best.end());
      const std::int64_t place = kPlace;
      const JointWindows source{.pattern = 0, .offsets = {&place, 1}};
      const bool right =
          found[0].size() == 20 && found[0][0].distance <= index.distances({&pattern, 1}, {&source, 1})[0][0];
      wrong += !right;
      records.add("{\"case\": \"" + name + "\", \"device\": \"" + device + "\", \"warping\": \"" +
                  (warping == Warping::together ? "together" : "each") + "\", \"least_s\": " +
                  json_number(best.front()) + ", \"median_s\": " + json_number(best[best.size() / 2]) +
                  ", \"profile_s\": " + json_number(*std::min_element(all.begin(), all.end())) +
                  ", \"windows\": " + json_number(static_cast<double>(after.windows - before.windows)) +
                  ", \"bounded\": " + json_number(static_cast<double>(after.bounded - before.bounded)) +
                  ", \"cells\": " + json_number(static_cast<double>(after.cells - before.cells)) +
                  ", \"device_s\": " + json_number(after.device_seconds - before.device_seconds) +
                  ", \"first\": " + std::to_string(found[0].empty() ? -1 : found[0][0].offset) + "}");
    }
  }
  if (count > 2) write_file_atomically(arguments[2], records.text());
  return wrong > 0;
}
