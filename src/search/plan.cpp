#include "search/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "search/windows.hpp"
#include "warploom/core/error.hpp"

namespace warploom::search {
namespace {

constexpr long long kShortest = 4;  // samples of a query
/// Lengths and lags stay far below what an offset can hold.
constexpr double kMostShare = 1000;

void check_range(const char* name, double value, double least, double most) {
  if (!(value >= least && value <= most))
    throw BadInput(fmt::format("{} is {}: it must be from {} to {}", name, value, least, most));
}

void check_list(const char* name, const std::vector<double>& values, double least, double most) {
  for (std::size_t k = 0; k < values.size(); ++k)
    check_range(fmt::format("{} {}", name, k + 1).c_str(), values[k], least, most);
}

std::string name_of(const Query& query) {
  return query.label.empty() ? "the query" : fmt::format("query '{}'", query.label);
}

bool is_constant(std::span<const float> samples) { return moments(samples, Normalization::z).scale == 0; }

/// The query's channels as a sensor in another orientation would see them.
std::vector<std::vector<float>> rotated(const Query& query, std::span<const SensorAxes> sensors,
                                        const std::array<double, 9>& matrix) {
  std::vector<std::vector<float>> channels;
  for (std::span<const float> channel : query.channels) channels.emplace_back(channel.begin(), channel.end());
  for (const SensorAxes& sensor : sensors) {
    const std::int32_t axes[] = {sensor.x, sensor.y, sensor.z};
    for (std::int64_t i = 0; i < query.length(); ++i)
      for (int row = 0; row < 3; ++row) {
        double sum = 0;
        for (int column = 0; column < 3; ++column)
          sum += matrix[3 * row + column] * query.channels[axes[column]][i];
        channels[axes[row]][i] = static_cast<float>(sum);
      }
  }
  return channels;
}

bool is_axis(std::int32_t channel, const FindOptions& options) {
  return options.rotations > 0 &&
         std::any_of(options.sensors.begin(), options.sensors.end(), [&](const SensorAxes& sensor) {
           return channel == sensor.x || channel == sensor.y || channel == sensor.z;
         });
}

}  // namespace

std::string channel_text(const Query& query, std::size_t channel) {
  const bool named = channel < query.names.size() && !query.names[channel].empty();
  return fmt::format("channel {}{} of {}", channel + 1,
                     named ? fmt::format(" ('{}')", query.names[channel]) : "", name_of(query));
}

void check_query(const Query& query, std::int64_t channels) {
  const std::string name = name_of(query);
  if (query.channels.empty()) throw BadInput(name + " has no channels: give at least one");
  if (query.length() < kShortest)
    throw BadInput(fmt::format("{} has {} samples: it needs at least {}", name, query.length(), kShortest));
  for (std::size_t c = 0; c < query.channels.size(); ++c) {
    if (query.channels[c].size() != query.channels[0].size())
      throw BadInput(fmt::format("{} has {} samples and the first {}: resample them to one rate",
                                 channel_text(query, c), query.channels[c].size(), query.channels[0].size()));
    for (std::size_t i = 0; i < query.channels[c].size(); ++i)
      if (!std::isfinite(query.channels[c][i]))
        throw BadInput(fmt::format("sample {} of {} is {}: cut the query where nothing is missing", i + 1,
                                   channel_text(query, c), query.channels[c][i]));
  }
  if (query.places.size() != query.channels.size())
    throw BadInput(fmt::format("{} has {} channels but {} places: name the recording's channel of each", name,
                               query.channels.size(), query.places.size()));
  for (std::size_t c = 0; c < query.places.size(); ++c)
    if (query.places[c] < 0 || query.places[c] >= channels)
      throw BadInput(fmt::format("{} belongs to channel {} of the recording, which has 1 to {}",
                                 channel_text(query, c), std::int64_t{query.places[c]} + 1, channels));
}

void check_length(const Query& query, std::int64_t samples) {
  if (query.length() > samples)
    throw BadInput(fmt::format("the query has {} samples, the recording {}: a query must not be longer",
                               query.length(), samples));
}

void check_options(const FindOptions& options, const Query& query, std::int64_t channels) {
  constexpr double kMany = 1e9;
  check_range("limit", static_cast<double>(options.limit), 1, kMany);
  check_range("candidates", static_cast<double>(options.candidates), 1, kMany);
  check_range("band", options.band, 0, kMostShare);
  check_range("exclusion", options.exclusion, 0, kMostShare);
  check_range("max_lag", options.max_lag, 0, kMostShare);
  check_range("neighbours", options.neighbours, 0, kMany);
  check_range("switched_weight", options.switched_weight, 0, kMany);
  check_range("significance", options.significance, 1e-300, 1);
  if (options.max_distance) check_range("max_distance", *options.max_distance, 0, 1e30);
  check_range("alternatives", options.alternatives, 1, kMany);
  check_range("min_channels", options.min_channels, 0, static_cast<double>(query.channels.size()));
  if (options.scales.empty())
    throw BadInput("there are no scales: give at least one, 1 for the query as it is");
  check_list("scale", options.scales, 0.1, 10);
  check_range("segments", options.segments, 1, static_cast<double>(query.length() / 4));
  check_list("exhausting band", options.exhaust, 0, kMostShare);
  for (std::size_t k = 0; k < options.exhaust.size(); ++k) {
    const double before = k == 0 ? options.band : options.exhaust[k - 1];
    if (!(options.exhaust[k] > before))
      throw BadInput(fmt::format("exhausting band {} is {}: it must be wider than the one before it, {}",
                                 k + 1, options.exhaust[k], before));
  }
  if (!options.adjacency.empty()) {
    if (std::ssize(options.adjacency) != channels)
      throw BadInput(fmt::format("adjacency lists neighbours of {} channels, but the recording has {}",
                                 options.adjacency.size(), channels));
    for (std::size_t c = 0; c < options.adjacency.size(); ++c)
      for (std::int32_t other : options.adjacency[c])
        if (other < 0 || other >= channels)
          throw BadInput(
              fmt::format("adjacency of channel {} names channel {}, but the recording's are 1 to {}", c + 1,
                          std::int64_t{other} + 1, channels));
  }
  if (!options.weights.empty()) {
    if (std::ssize(options.weights) != channels * channels)
      throw BadInput(
          fmt::format("there are {} weights: a recording of {} channels needs {}, one for each pair",
                      options.weights.size(), channels, channels * channels));
    check_list("weight", options.weights, 0, kMany);
  }
  if (!options.gains.empty()) {
    if (options.gains.size() != query.channels.size())
      throw BadInput(fmt::format(
          "there are {} gains: a query of {} channels needs one for each, 0 where it is not known",
          options.gains.size(), query.channels.size()));
    check_list("gain", options.gains, 0, 1e30);
  }
  check_range("rotations", options.rotations, 0, 10'000);
  if (options.rotations > 0 && options.sensors.empty())
    throw BadInput("rotations are asked for, but no sensor is named: say which three channels are its axes");
  std::set<std::int32_t> axes;
  for (const SensorAxes& sensor : options.sensors)
    for (std::int32_t axis : {sensor.x, sensor.y, sensor.z}) {
      if (axis < 0 || axis >= std::ssize(query.channels))
        throw BadInput(fmt::format("a sensor's axis is channel {}, but the query's are 1 to {}",
                                   std::int64_t{axis} + 1, query.channels.size()));
      if (!axes.insert(axis).second)
        throw BadInput(fmt::format("{} is named twice among the sensors' axes", channel_text(query, axis)));
    }
}

std::int64_t samples_of(double share, std::int64_t length) {
  return static_cast<std::int64_t>(std::floor(share * static_cast<double>(length)));
}

AssembleOptions assemble_options(const FindOptions& options, const Query& query, const Plan& plan) {
  AssembleOptions made;
  made.max_lag = samples_of(options.max_lag, query.length());
  made.exclusion = samples_of(options.exclusion, query.length());
  made.min_channels = options.min_channels;
  if (made.min_channels == 0)
    made.min_channels = static_cast<std::int32_t>((query.channels.size() - plan.constant.size() + 1) / 2);
  made.limit = options.limit;
  made.alternatives = options.alternatives;
  return made;
}

Plan make_plan(const Query& query, const FindOptions& options, double band, Normalization normalization) {
  const bool normalised = normalization == Normalization::z;
  const std::int64_t length = query.length();
  Plan plan;
  for (std::size_t channel = 0; channel < query.channels.size(); ++channel)
    if (normalised && is_constant(query.channels[channel]))
      plan.constant.push_back(static_cast<std::int32_t>(channel));

  // All scales and signs of samples [begin, end) of a channel.
  const auto add_group = [&](std::span<const float> channel, Variant variant, std::int64_t begin,
                             std::int64_t end) {
    if (normalised && is_constant(channel.subspan(begin, end - begin))) return;
    Group group;
    group.first_pattern = group.plain = static_cast<std::int32_t>(plan.patterns.size());
    group.exclusion = samples_of(options.exclusion, end - begin);
    group.axis = is_axis(variant.query_channel, options);
    variant.coverage = end - begin;
    for (double scale : options.scales) {
      const auto stretched = std::max(kShortest, std::llround(scale * static_cast<double>(length)));
      const std::int64_t lead = begin * stretched / length, last = end * stretched / length;
      if (last - lead < 2) continue;
      const std::vector<float> whole = stretch(channel, stretched);
      Pattern pattern{{whole.begin() + lead, whole.begin() + last}, band_radius(band, last - lead), lead};
      variant.scale = scale;
      variant.negated = false;
      if (group.patterns == 0 || std::abs(scale - 1) < std::abs(plan.variants[group.plain].scale - 1))
        group.plain = static_cast<std::int32_t>(plan.patterns.size());
      plan.patterns.push_back(pattern);
      plan.variants.push_back(variant);
      ++group.patterns;
      if (!options.negated || !normalised) continue;
      for (float& sample : pattern.samples) sample = -sample;
      variant.negated = true;
      plan.patterns.push_back(std::move(pattern));
      plan.variants.push_back(variant);
      ++group.patterns;
    }
    if (group.patterns > 0) plan.groups.push_back(group);
  };

  const std::vector<std::array<double, 9>> matrices = rotations(1 + options.rotations);
  for (std::int32_t rotation = 0; rotation <= options.rotations; ++rotation) {
    const std::vector<std::vector<float>> samples = rotated(query, options.sensors, matrices[rotation]);
    for (std::int32_t channel = 0; channel < std::ssize(query.channels); ++channel) {
      if (rotation > 0 && !is_axis(channel, options)) continue;
      Variant variant;
      variant.query_channel = channel;
      variant.rotation = rotation;
      add_group(samples[channel], variant, 0, length);
      for (std::int32_t segment = 0; segment < options.segments && options.segments > 1; ++segment) {
        variant.segment = segment;
        add_group(samples[channel], variant, segment * length / options.segments,
                  (segment + 1) * length / options.segments);
      }
    }
  }
  return plan;
}

std::vector<std::int32_t> channels_for(std::int32_t place, const FindOptions& options,
                                       std::int64_t channels) {
  std::set<std::int32_t> some = {place};
  if (options.adjacency.empty())
    for (std::int64_t c = std::max(0, place - options.neighbours);
         c <= std::min<std::int64_t>(channels - 1, std::int64_t{place} + options.neighbours); ++c)
      some.insert(static_cast<std::int32_t>(c));
  else
    some.insert(options.adjacency[place].begin(), options.adjacency[place].end());
  return {some.begin(), some.end()};
}

Piece piece_of(const Candidate& candidate, std::int32_t channel, const Plan& plan, const Query& query,
               const FindOptions& options, std::int64_t channels) {
  const Variant& variant = plan.variants[candidate.pattern];
  const Pattern& pattern = plan.patterns[candidate.pattern];
  const std::int32_t place = query.places[variant.query_channel];
  Piece piece;
  piece.axis = is_axis(variant.query_channel, options);
  Pair& pair = piece.pair;
  pair.query_channel = variant.query_channel;
  pair.channel = channel;
  pair.offset = candidate.offset;
  pair.begin = candidate.offset + pattern.lead;
  pair.length = std::ssize(pattern.samples);
  pair.distance = candidate.distance;
  pair.switched = channel != place;
  if (pair.switched)
    pair.weight =
        options.weights.empty() ? options.switched_weight : options.weights[place * channels + channel];
  pair.scale = variant.scale;
  pair.rotation = variant.rotation;
  pair.segment = variant.segment;
  pair.coverage = variant.coverage;
  pair.negated = variant.negated;
  return piece;
}

}  // namespace warploom::search
