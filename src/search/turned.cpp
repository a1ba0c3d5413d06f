#include "search/turned.hpp"

#include <algorithm>

namespace warploom::search {

std::vector<std::vector<float>> turned(const Query& query, std::span<const SensorAxes> sensors,
                                       std::span<const std::array<double, 9>> turns) {
  std::vector<std::vector<float>> samples;
  for (const std::span<const float> channel : query.channels)
    samples.emplace_back(channel.begin(), channel.end());
  for (std::size_t s = 0; s < turns.size(); ++s) {
    const std::int32_t axes[] = {sensors[s].x, sensors[s].y, sensors[s].z};
    for (std::int64_t i = 0; i < query.length(); ++i)
      for (int row = 0; row < 3; ++row) {
        double sum = 0;
        for (int column = 0; column < 3; ++column)
          sum += turns[s][3 * row + column] * query.channels[axes[column]][i];
        samples[axes[row]][i] = static_cast<float>(sum);
      }
  }
  return samples;
}

std::vector<std::vector<float>> scaled(const Query& query, std::span<const double> gains) {
  std::vector<std::vector<float>> samples;
  for (std::size_t c = 0; c < gains.size(); ++c) {
    std::vector<float>& all = samples.emplace_back();
    for (const float x : query.channels[c]) all.push_back(static_cast<float>(gains[c] * x));
  }
  return samples;
}

void ComparedQueries::turn(std::int32_t query, std::span<const SensorAxes> sensors,
                           std::span<const std::array<double, 9>> turns) {
  keep(query, 0, turned((*this)[query], sensors, turns));
}

void ComparedQueries::scale(std::int32_t query, std::span<const double> gains) {
  keep(query, 0, scaled(queries_[query], gains));
}

const Query& ComparedQueries::of(const Match& match, const FindOptions& options) {
  std::int32_t rotation = 0;  // of the axes of sensors; other channels have 0
  for (const Pair& pair : match.pairs) rotation = std::max(rotation, pair.rotation);
  if (rotation == 0) return (*this)[match.query];
  if (const auto known = turned_.find({match.query, rotation}); known != turned_.end()) return known->second;
  const std::array<double, 9> turn = rotations(options.rotations + 1)[rotation];
  return keep(match.query, rotation,
              turned(queries_[match.query], options.sensors, std::vector(options.sensors.size(), turn)));
}

const Query& ComparedQueries::operator[](std::int32_t query) const {
  const auto known = turned_.find({query, 0});
  return known == turned_.end() ? queries_[query] : known->second;
}

const Query& ComparedQueries::keep(std::int32_t query, std::int32_t rotation,
                                   std::vector<std::vector<float>> samples) {
  const std::vector<std::vector<float>>& kept = samples_.emplace_back(std::move(samples));
  Query& made = turned_[{query, rotation}];
  made = queries_[query];
  made.channels = {kept.begin(), kept.end()};
  return made;
}

}  // namespace warploom::search
