#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "io/scratch.hpp"
#include "run_tool.hpp"

/// Recordings of three channels at 50 Hz, x, y and z: noise, and a pattern of 1.2 s planted in it.
namespace warploom {

constexpr double kRate = 50;
constexpr int kPatternSamples = 60;

/// Where the pattern stands, and what befell its channels.
struct Plant {
  double at = 0;                       ///< [s]
  std::array<int, 3> in{0, 1, 2};      ///< the recording's channel of each
  std::array<double, 3> lag{0, 0, 0};  ///< [s]
  std::array<int, 3> sign{1, 1, 1};    ///< 0: missing
};

using Samples = std::array<std::vector<double>, 3>;

inline Samples pattern() {
  Samples pattern;
  for (int i = 0; i < kPatternSamples; ++i) {
    const double t = 2 * M_PI * i / kPatternSamples;
    pattern[0].push_back(4 * std::sin(t) + 2 * std::sin(3 * t));
    pattern[1].push_back(4 * std::cos(2 * t) + t);
    pattern[2].push_back(5 * std::exp(-std::pow(t - 2, 2)) - 4 * std::exp(-3 * std::pow(t - 4.5, 2)));
  }
  return pattern;
}

inline Samples noise_with(double seconds, unsigned seed, const std::vector<Plant>& plants) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise;
  Samples samples;
  for (auto& channel : samples) {
    channel.resize(static_cast<std::size_t>(seconds * kRate));
    for (double& sample : channel) sample = noise(random);
  }
  const Samples wanted = pattern();
  for (const Plant& plant : plants)
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t i = 0; plant.sign[c] != 0 && i < wanted[c].size(); ++i)
        samples[static_cast<std::size_t>(plant.in[c])]
               [i + static_cast<std::size_t>(std::lround((plant.at + plant.lag[c]) * kRate))] =
                   plant.sign[c] * wanted[c][i] + 0.1 * noise(random);
  return samples;
}

inline std::string csv_of(const Samples& samples, const std::string& header = "time,x,y,z") {
  std::string text = header + "\n";
  for (std::size_t k = 0; k < samples[0].size(); ++k) {
    char row[128];
    std::snprintf(row, sizeof row, "%.2f,%.5f,%.5f,%.5f\n", static_cast<double>(k) / kRate, samples[0][k],
                  samples[1][k], samples[2][k]);
    text += row;
  }
  return text;
}

class SearchVerb : public Scratch {
 protected:
  using Json = nlohmann::json;

  std::string path(const std::string& file) const { return (directory / file).string(); }
  void make_recording(const std::string& name, double seconds, unsigned seed,
                      const std::vector<Plant>& plants) const {
    make(name, csv_of(noise_with(seconds, seed, plants)));
  }
  void make_query(const std::string& name = "step.csv") const { make(name, csv_of(pattern())); }

  /// In the test's directory; by the free search unless another is asked for.
  ToolRun search(const std::string& arguments) const {
    const auto has = [&](const char* word) { return arguments.find(word) != std::string::npos; };
    const bool free = !has("--match") && !has("--method") && !has("evaluate");
    return run_shell("cd " + directory.string() + " && \"$WARPLOOM\" search " + arguments +
                     (free ? " --match free" : ""));
  }
  Json search_json(const std::string& arguments) const {
    const ToolRun run = search(arguments + " --json");
    EXPECT_EQ(run.code, 0) << arguments << '\n' << run.err;
    Json json = Json::parse(run.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << run.out;
    return json;
  }
  /// One line, nothing on standard output, exit code 2.
  void expect_refusal(const std::string& arguments, const std::string& says) const {
    const ToolRun run = search(arguments);
    EXPECT_EQ(run.code, 2) << arguments << '\n' << run.out << run.err;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_THAT(run.err, testing::HasSubstr(says)) << arguments;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << arguments << '\n' << run.err;
  }
  /// Onsets of the first `count` matches, by time. [s]
  static std::vector<double> onsets(const Json& recording, std::size_t count) {
    std::vector<double> times;
    for (const Json& match : recording["matches"])
      if (times.size() < count) times.push_back(match["onset"]);
    std::ranges::sort(times);
    return times;
  }
};

}  // namespace warploom
