// What whole searches take: the plantar sensors of an insole, an activity monitor, many channels, long
// recordings. The dissertation's Figures 60 and 62 to 64 and what is asked of 16 sensors. Recordings are
// measured ones, joined end to end, where they are at hand ($WARPLOOM_DATA), else a random walk; each record
// says which.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>

#include "../json_records.hpp"
#include "quality_data.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/search/find.hpp"

namespace {

using namespace warploom;
using namespace warploom::bench;

struct Source {
  Samples samples;
  std::string name;
};

Source random_walk(std::size_t channels, std::size_t samples, std::uint64_t seed) {
  Source walk{{}, "random walk"};
  std::mt19937_64 random(seed);
  std::normal_distribution<float> step;
  for (std::size_t c = 0; c < channels; ++c) {
    std::vector<float> channel(samples);
    float level = 0;
    for (float& x : channel) x = level += step(random);
    walk.samples.push_back(std::move(channel));
  }
  return walk;
}

// Recordings of one kind end to end, and again from the front until there are enough samples; of more
// channels than there are, each further one is the mean of two neighbours with noise of a tenth of its
// deviation.
Source repeated(const std::vector<Annotated>& recordings, const std::string& name, std::size_t channels,
                std::size_t samples) {
  Source source{{}, name};
  for (std::size_t c = 0; c < recordings.front().samples.size() && c < channels; ++c) {
    std::vector<float> channel;
    while (channel.size() < samples)
      for (const Annotated& recording : recordings)
        channel.insert(channel.end(), recording.samples[c].begin(), recording.samples[c].end());
    channel.resize(samples);
    source.samples.push_back(std::move(channel));
  }
  std::mt19937_64 random(7);
  const std::size_t measured = source.samples.size();
  while (source.samples.size() < channels) {
    const std::vector<float>& a = source.samples[source.samples.size() % measured];
    const std::vector<float>& b = source.samples[(source.samples.size() + 1) % measured];
    double squares = 0;
    for (const float x : a) squares += double{x} * x;
    std::normal_distribution<float> noise(
        0, static_cast<float>(.1 * std::sqrt(squares / static_cast<double>(a.size()))));
    std::vector<float> channel(samples);
    for (std::size_t i = 0; i < samples; ++i) channel[i] = (a[i] + b[i]) / 2 + noise(random);
    source.samples.push_back(std::move(channel));
  }
  return source;
}

struct Data {
  std::vector<Annotated> gait, activity;
  Source insole(std::size_t channels, std::size_t samples) const {
    return gait.empty() ? random_walk(channels, samples, 1) : repeated(gait, "gait", channels, samples);
  }
  Source monitor(std::size_t samples) const {
    return activity.empty() ? random_walk(3, samples, 2) : repeated(activity, "activity", 3, samples);
  }
};

search::Query query_of(const Source& source, std::size_t from, std::size_t length) {
  search::Query query{"query", {}, {}};
  for (std::size_t c = 0; c < source.samples.size(); ++c) {
    query.channels.push_back(std::span<const float>(source.samples[c]).subspan(from, length));
    query.places.push_back(static_cast<std::int32_t>(c));
  }
  return query;
}

double seconds_of(const auto& work, int repeats) {
  std::vector<double> seconds;
  for (int k = 0; k < repeats; ++k) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
  return seconds[static_cast<std::size_t>(repeats / 2)];
}

class Bench {
 public:
  Bench(Data data, Device device, int repeats) : data_(std::move(data)), device_(device), repeats_(repeats) {}

  // All pairs of 16 sensors over ten minutes: single-channel search alone, then the whole method.
  void insole(JsonRecords& records) {
    const Source source = data_.insole(16, 60'000);
    const search::Query query = query_of(source, 3'000, 100);
    search::Index index = index_of(source);
    std::vector<search::Pattern> patterns;
    std::vector<search::Task> tasks;
    for (std::int32_t i = 0; i < 16; ++i) {
      const std::span<const float> channel = query.channels[static_cast<std::size_t>(i)];
      patterns.push_back({{channel.begin(), channel.end()}, 6, 0});
      for (std::int32_t j = 0; j < 16; ++j)
        tasks.push_back({.channel = j, .first_pattern = i, .limit = 100, .exclusion = 50});
    }
    std::int64_t found = 0;
    measure(
        records, index, source, "16 x 16 pairs, m 100, r 6", 100, 1,
        [&] {
          found = 0;
          for (const auto& candidates : index.best(patterns, tasks))
            found += static_cast<std::int64_t>(candidates.size());
        },
        found);

    search::FindOptions options;
    options.neighbours = 15;
    options.band = .06;
    options.candidates = 100;
    find(records, index, source, query, options, "find, 1 scale, 16 x 16");
    options.scales = {.8, .9, 1, 1.1, 1.2};
    options.segments = 3;
    options.exhaust = {.12, .24};
    find(records, index, source, query, options, "find, 5 scales, both signs, 3 segments, exhausting");
  }

  // Figure 60: 99 sensors of an insole, nr = 3, by length of signal and query; Figure 62: three axes.
  void by_length(JsonRecords& records) {
    for (const std::size_t samples : {15'000u, 30'000u, 60'000u})
      for (const std::size_t length : {64u, 128u, 256u, 512u}) {
        const Source source = data_.insole(99, samples);
        chapter(records, source, length, 3, "Figure 60, 99 channels, nr 3");
      }
    for (const std::size_t samples : {100'000u, 400'000u, 1'600'000u})
      for (const std::size_t length : {64u, 128u, 256u, 512u})
        chapter(records, data_.monitor(samples), length, 2, "Figure 62, 3 channels, nr 2");
  }

  // A hundred million samples of three channels, 20 places in which the query was planted: time and memory.
  void long_recording(JsonRecords& records) {
    constexpr std::size_t kSamples = 100'000'000, kLength = 128, kPlanted = 20;
    Source source = random_walk(3, kSamples, 3);
    const Source pattern = random_walk(3, kLength, 4);
    std::int64_t found = 0;
    for (std::size_t k = 0; k < kPlanted; ++k)
      for (std::size_t c = 0; c < 3; ++c)
        std::copy(pattern.samples[c].begin(), pattern.samples[c].end(),
                  source.samples[c].begin() + static_cast<std::ptrdiff_t>(1'000'000 + k * 4'900'000));
    search::Index index = index_of(source);
    const std::clock_t before = std::clock();
    const double seconds = seconds_of(
        [&] {
          for (const search::Match& match : search::find(index, query_of(pattern, 0, kLength)).matches)
            found += (match.first - 1'000'000) % 4'900'000 == 0 && match.matched == 3;
        },
        1);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    records.add(
        "{\"what\": \"100 million samples x 3 channels\", \"data\": \"random walk\", \"device\": \"" +
        std::string(name(index.device())) + "\", \"threads\": " + std::to_string(threads()) +
        ", \"length\": " + std::to_string(kLength) + ", \"planted\": " + std::to_string(kPlanted) +
        ", \"found\": " + std::to_string(found) + ", \"ms\": " + json_number(seconds * 1e3) +
        ", \"cpu_seconds\": " + json_number(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC) +
        ", \"peak_mib\": " + json_number(static_cast<double>(used.ru_maxrss) / 1024) + "}");
  }

  // Figure 64: channels, with nr constant and as a share of them.
  void by_channels(JsonRecords& records) {
    for (const std::size_t channels : {8u, 16u, 32u, 64u, 99u}) {
      const Source source = data_.insole(channels, 30'000);
      banded(records, source, 3, "Figure 64, nr 3");
      banded(records, source, static_cast<std::int32_t>(channels / 4), "Figure 64, nr = channels / 4");
    }
  }

 private:
  search::Index index_of(const Source& source) const {
    search::IndexOptions options;
    options.run.devices = {device_};
    return search::Index(signal_of(source.samples), options);
  }

  // The full matrix, as the chapter has it, of windows that are normalised.
  void chapter(JsonRecords& records, const Source& source, std::size_t length, std::int32_t neighbours,
               const std::string& what) {
    search::FindOptions options;
    options.neighbours = neighbours;
    options.band = 1;
    options.negated = false;
    search::Index index = index_of(source);
    find(records, index, source, query_of(source, 2'000, length), options, what);
  }

  void banded(JsonRecords& records, const Source& source, std::int32_t neighbours, const std::string& what) {
    search::FindOptions options;
    options.neighbours = neighbours;
    search::Index index = index_of(source);
    find(records, index, source, query_of(source, 2'000, 128), options, what);
  }

  void find(JsonRecords& records, search::Index& index, const Source& source, const search::Query& query,
            const search::FindOptions& options, const std::string& what) {
    search::Found found;
    std::int64_t matches = 0;
    measure(
        records, index, source, what, query.length(), options.band,
        [&] {
          found = search::find(index, query, options);
          matches = static_cast<std::int64_t>(found.matches.size());
        },
        matches);
  }

  void measure(JsonRecords& records, search::Index& index, const Source& source, const std::string& what,
               std::int64_t length, double band, const auto& work, const std::int64_t& results) {
    work();  // memory and moments
    const search::Effort before = index.effort();
    const double seconds = seconds_of(work, repeats_);
    const search::Effort after = index.effort();
    const double cells = static_cast<double>(after.cells - before.cells) / repeats_;
    records.add(
        "{\"what\": \"" + what + "\", \"data\": \"" + source.name + "\", \"device\": \"" +
        std::string(name(index.device())) + "\", \"threads\": " + std::to_string(threads()) +
        ", \"channels\": " + std::to_string(source.samples.size()) +
        ", \"samples\": " + std::to_string(index.samples()) + ", \"length\": " + std::to_string(length) +
        ", \"band\": " + json_number(band) + ", \"ms\": " + json_number(seconds * 1e3) +
        ", \"kernel_ms\": " + json_number((after.device_seconds - before.device_seconds) / repeats_ * 1e3) +
        ", \"gigacells\": " + json_number(cells / 1e9) + ", \"results\": " + std::to_string(results) + "}");
  }

  Data data_;
  Device device_;
  int repeats_;
};

}  // namespace

// bench_search_method [--device=cpu|cuda|auto] [--repeats=N] [--only=insole|lengths|channels|long]
// [--benchmark_out=FILE] Without --only: everything on a GPU, the insole on a CPU.
int main(int argc, char** argv) {
  try {
    std::string out, only;
    Device device = Device::best;
    int repeats = 5;
    for (int k = 1; k < argc; ++k) {
      const std::string argument = argv[k];
      if (argument.starts_with("--benchmark_out=")) out = argument.substr(16);
      if (argument.starts_with("--device=")) device = parse_devices(argument.substr(9)).front();
      if (argument.starts_with("--repeats=")) repeats = std::max(1, std::atoi(argument.c_str() + 10));
      if (argument.starts_with("--only=")) only = argument.substr(7);
    }
    const char* set = std::getenv("WARPLOOM_DATA");
    const std::string directory = set != nullptr ? set : WARPLOOM_BENCH_DATA;
    Data data;
    if (std::filesystem::is_directory(directory + "/gait")) data.gait = strides(directory, 0, 0).recordings;
    if (std::filesystem::is_directory(directory + "/activity"))
      data.activity = walking(directory, "ankle", 0, 0).recordings;
    Bench bench(std::move(data), device, repeats);
    JsonRecords records;
    records.list("searches");
    const bool all = only.empty() && choose_device(device).is_gpu();  // minutes on a CPU
    if (only.empty() || only == "insole") bench.insole(records);
    if (all || only == "lengths") bench.by_length(records);
    if (all || only == "channels") bench.by_channels(records);
    if (only == "long") bench.long_recording(records);
    if (!out.empty()) write_file_atomically(out, records.text());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
