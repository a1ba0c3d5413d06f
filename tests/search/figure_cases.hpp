#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "warploom/search/match.hpp"

/// The dissertation's pictures as data: its Figure 54 (7.1; text only, the drawing is not to scale) and the
/// synthetic series of its Figure 58 (7.5.3).
namespace warploom::search {

/// A recording with a query cut out of it and the places where its like was put.
struct FigureCase {
  struct Planted {
    std::string what;
    std::int64_t first = 0;              ///< where the earliest of its channels begins
    std::vector<std::int32_t> channels;  ///< of the recording, where each of the query's went; -1: missing
    std::vector<std::int64_t> offsets;   ///< where it begins there
  };
  std::vector<std::vector<float>> recording;
  std::vector<Planted> planted;  ///< the first is where the query was cut
  std::int64_t length = 0;       ///< of the query

  Signal signal() const { return {recording.begin(), recording.end()}; }
  /// Views of the recording, which has to live on.
  Query query() const {
    Query query;
    query.label = planted[0].what;
    for (std::size_t c = 0; c < recording.size(); ++c) {
      query.channels.push_back(std::span(recording[c]).subspan(planted[0].first, length));
      query.places.push_back(static_cast<std::int32_t>(c));
    }
    return query;
  }
};

/// Builds a FigureCase: a slow background in each channel, into which shapes are laid.
class FigureBuilder {
 public:
  /// @param background  standard deviation, where shapes are about 1 high
  FigureBuilder(std::int32_t channels, std::int64_t samples, std::int64_t length, double background,
                std::uint32_t seed)
      : engine_(seed) {
    made_.length = length;
    for (std::int32_t c = 0; c < channels; ++c) {
      std::vector<float>& channel = made_.recording.emplace_back();
      // First-order autoregression over about twelve samples.
      constexpr double kKeep = 0.92;
      double at = 0;
      for (std::int64_t i = 0; i < samples; ++i) {
        at = kKeep * at + std::sqrt(1 - kKeep * kKeep) * normal();
        channel.push_back(static_cast<float>(background * at));
      }
    }
  }

  struct Change {
    std::vector<std::int64_t> lag = {};         ///< [channels of the query]
    std::vector<std::int32_t> to = {};          ///< [channels of the query]; -1: left out
    double amplitude = 1, time = 1, noise = 0;  ///< time: longer by this factor
  };
  void plant(const std::string& what, std::int64_t first, const Change& change) {
    FigureCase::Planted planted{what, first, {}, {}};
    for (std::int32_t c = 0; c < std::ssize(made_.recording); ++c) {
      const std::int32_t to = change.to.empty() ? c : change.to[c];
      planted.channels.push_back(to);
      const std::int64_t begin = first + (change.lag.empty() ? 0 : change.lag[c]);
      planted.offsets.push_back(begin);
      if (to < 0) continue;
      const double length = static_cast<double>(made_.length) * change.time;
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(length); ++i) {
        float& sample = made_.recording[to][begin + i];
        sample += static_cast<float>(change.amplitude * shape(c, static_cast<double>(i) / length) +
                                     change.noise * normal());
      }
    }
    made_.planted.push_back(planted);
  }
  /// Lays activity of other forms into each channel by itself, wherever nothing was planted nearby.
  void clutter(std::int32_t events) {
    const std::int64_t length = made_.length;
    for (std::vector<float>& channel : made_.recording)
      for (std::int32_t k = 0; k < events; ++k) {
        const double duration = static_cast<double>(length) * (0.4 + 0.8 * uniform());
        const std::int64_t begin =
            static_cast<std::int64_t>(uniform() * (static_cast<double>(std::ssize(channel)) - duration));
        const double turns = 0.5 + 2.5 * uniform(), phase = 2 * std::numbers::pi * uniform();
        const double amplitude = 0.5 + uniform();
        const bool near = std::any_of(made_.planted.begin(), made_.planted.end(), [&](const auto& planted) {
          return begin > planted.first - 2 * length && begin < planted.first + 2 * length;
        });
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(duration) && !near; ++i) {
          const double x = static_cast<double>(i) / duration;
          const double window = std::sin(std::numbers::pi * x);
          channel[begin + i] += static_cast<float>(amplitude * window * window *
                                                   std::sin(2 * std::numbers::pi * turns * x + phase));
        }
      }
  }
  FigureCase take() { return std::move(made_); }

 private:
  /// Four shapes that are 0 at both ends of [0, 1]: a peak, two waves, a rise that falls off, a swing that
  /// dies out.
  static double shape(std::int32_t channel, double x) {
    const double pi = std::numbers::pi;
    switch (channel % 4) {
      case 0:
        return std::exp(-std::pow((x - 0.4) / 0.1, 2));
      case 1:
        return 0.7 * std::sin(4 * pi * x) * std::sin(pi * x);
      case 2:
        return x < 0.75 ? x / 0.75 : (1 - x) / 0.25;
      default:
        return std::sin(pi * x * (3 + 8 * x)) * std::sin(pi * x);
    }
  }
  double uniform() { return static_cast<double>(engine_()) / 4294967296.0; }  // [0, 1)
  /// The same on every platform, unlike std::normal_distribution.
  double normal() {
    const double u = 1 - uniform(), v = uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }

  std::mt19937 engine_;
  FigureCase made_;
};

/// Three channels; the query's like five times: exact, lagged, with a channel missing, scaled and noisy,
/// switched.
inline FigureCase figure_54() {
  FigureBuilder builder(3, 4000, 128, 0.05, 54);
  builder.plant("exact", 400, {});
  builder.plant("lagged", 1100, {.lag = {0, 40, 20}});
  builder.plant("missing channel", 1800, {.to = {0, -1, 2}});
  builder.plant("scaled and noisy", 2500, {.amplitude = 1.6, .time = 1.1, .noise = 0.1});
  builder.plant("switched", 3200, {.to = {2, 0, 1}});
  builder.clutter(6);
  return builder.take();
}

/// Four channels; the query at the left, then scenarios of 7.5.3, alone and together.
inline FigureCase figure_58() {
  FigureBuilder builder(4, 12000, 200, 0.05, 58);
  builder.plant("query", 300, {});
  builder.plant("again", 1500, {});
  builder.plant("shifted", 2700, {.lag = {30, 0, 60, 15}});
  builder.plant("scaled", 3900, {.amplitude = 0.6, .time = 1.12});
  builder.plant("switched", 5100, {.to = {1, 0, 3, 2}});
  builder.plant("noisy", 6300, {.noise = 0.15});
  builder.plant("two channels", 7500, {.to = {0, -1, -1, 3}});
  builder.plant("shifted and switched", 8700, {.lag = {0, 50, 25, 80}, .to = {3, 1, 2, 0}});
  builder.plant("scaled and noisy", 9900, {.amplitude = 1.5, .time = 0.92, .noise = 0.1});
  builder.clutter(15);
  return builder.take();
}

}  // namespace warploom::search
