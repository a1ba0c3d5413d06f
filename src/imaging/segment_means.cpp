#include "imaging/segment_means.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace warploom::imaging {
namespace {

// A mean of no counts would make a single count infinitely unlikely.
double above_zero(double mean, double scale) { return std::max(mean, 1e-6 * scale); }

}  // namespace

LevelTable::LevelTable(const LevelSums& levels) : below_(std::size_t{kLevels} + 1) {
  for (std::size_t level = 0; level < std::size_t{kLevels}; ++level) {
    below_[level + 1].count = below_[level].count + levels.count[level];
    below_[level + 1].sum = below_[level].sum + static_cast<double>(levels.sum[level]) / kLevelPoint;
    below_[level + 1].square = below_[level].square + static_cast<double>(levels.square[level]) / kLevelPoint;
  }
}

std::vector<double> LevelTable::starts() const {
  constexpr int kQuantiles = 15, kEven = 16;
  std::vector<double> out;
  const auto level_at = [&](double share) {
    const auto rank = static_cast<std::int64_t>(share * static_cast<double>(voxels()));
    const auto found = std::ranges::lower_bound(below_, rank + 1, {}, &Sums::count);
    return static_cast<double>(found - below_.begin());
  };
  for (int k = 1; k <= kQuantiles; ++k) out.push_back(level_at(double(k) / (kQuantiles + 1)) / kLevels);
  const double first = level_at(0) - 1, last = level_at(1 - 1e-12);
  for (int k = 1; k < kEven; ++k) out.push_back((first + (last - first) * k / kEven) / kLevels);
  return out;
}

NoiseModel::NoiseModel(const ScaledImage& scaled, Noise noise)
    : low_(scaled.low),
      scale_(scaled.scale),
      voxels_(static_cast<double>(scaled.voxels)),
      counts_possible_(scaled.low >= 0),
      noise_(noise == Noise::automatic ? Noise::equal : noise) {
  // Voxels that do not count hold 0: their value is `low`, whose share is taken away again.
  for (const float v : scaled.data) {
    const double u = double(v), f = low_ + scale_ * u;
    total_ += u;
    squares_ += u * u;
    if (counts_possible_ && f > 0) entropy_ += f * std::log(f);
  }
  const double others = static_cast<double>(scaled.data.size()) - voxels_;
  if (counts_possible_ && low_ > 0) entropy_ -= others * low_ * std::log(low_);
}

double NoiseModel::threshold(const MeanPair& means) const {
  if (noise_ == Noise::equal) return ((means.low + means.high) / 2 - low_) / scale_;
  const double low = above_zero(means.low, scale_), high = above_zero(means.high, scale_);
  const double level = high - low > 1e-9 * high ? (high - low) / std::log(high / low) : low;
  return (level - low_) / scale_;
}

double NoiseModel::slope(const MeanPair& means) const {
  if (noise_ == Noise::equal) return 2 * (means.high - means.low) / scale_;
  return scale_ * std::log(above_zero(means.high, scale_) / above_zero(means.low, scale_));
}

double NoiseModel::deviation(const SetSums& inside, const MeanPair& means) const {
  const double n = static_cast<double>(inside.inside), rest = voxels_ - n;
  if (noise_ == Noise::equal) {
    const double high = (means.high - low_) / scale_, low = (means.low - low_) / scale_;
    return std::max(0.0, squares_ - n * high * high - rest * low * low);
  }
  const double high = above_zero(means.high, scale_), low = above_zero(means.low, scale_);
  return std::max(0.0, entropy_ - n * means.high * std::log(high) - rest * means.low * std::log(low));
}

MeanPair NoiseModel::means(const SetSums& inside) const {
  const double n = static_cast<double>(inside.inside), sum = static_cast<double>(inside.sum) / kSetPoint;
  return {value(total_ - sum, voxels_ - n), value(sum, n)};
}

std::optional<MeanPair> NoiseModel::means(const LevelTable& table, int level) const {
  const LevelTable::Sums &below = table.below(level), &all = table.all();
  if (below.count == 0 || below.count == all.count) return std::nullopt;
  return MeanPair{value(below.sum, static_cast<double>(below.count)),
                  value(all.sum - below.sum, static_cast<double>(all.count - below.count))};
}

double NoiseModel::deviation(const LevelTable& table, double threshold) const {
  const int level = std::clamp(static_cast<int>(threshold * kLevels), 0, kLevels);
  const auto pair = means(table, level);
  if (!pair) return std::numeric_limits<double>::infinity();
  SetSums inside;
  inside.inside = table.all().count - table.below(level).count;
  return deviation(inside, *pair);
}

std::optional<double> NoiseModel::fixed_point(const LevelTable& table, double start) const {
  constexpr int kMostSteps = 200;
  int level = std::clamp(static_cast<int>(start * kLevels), 0, kLevels);
  double end = start;
  for (int step = 0; step < kMostSteps; ++step) {
    const auto pair = means(table, level);
    if (!pair) return std::nullopt;
    end = threshold(*pair);
    const int next = std::clamp(static_cast<int>(end * kLevels), 0, kLevels);
    if (next == level) break;
    level = next;
  }
  return end;
}

double NoiseModel::log_likelihood(const LevelTable& table, Noise noise) const {
  NoiseModel model = *this;
  model.noise_ = noise;
  double best = -std::numeric_limits<double>::infinity(), least = std::numeric_limits<double>::infinity();
  for (int level = 1; level < kLevels; ++level) {
    const auto pair = means(table, level);
    if (!pair || table.below(level).count == table.below(level - 1).count) continue;
    SetSums inside;
    inside.inside = table.all().count - table.below(level).count;
    const double deviation = model.deviation(inside, *pair);
    if (deviation >= least) continue;
    least = deviation;
    // Of normal distributions whose variances are one number, or that number times the mean.
    const LevelTable::Sums &below = table.below(level), &all = table.all();
    double spread = 0, logs = 0;
    for (const bool high : {false, true}) {
      const double n = static_cast<double>(high ? all.count - below.count : below.count);
      const double mean = high ? pair->high : pair->low, u = (mean - low_) / scale_;
      const double squares = (high ? all.square - below.square : below.square) - n * u * u;
      const double variance = noise == Noise::counts ? above_zero(mean, scale_) / scale_ : 1;
      spread += std::max(0.0, squares) / variance;
      logs += n * std::log(variance);
    }
    best = -(logs + voxels_ * std::log(std::max(spread / voxels_, 1e-12))) / 2;
  }
  return best;
}

void NoiseModel::choose(const LevelTable& table) {
  noise_ = counts_possible_ && log_likelihood(table, Noise::counts) > log_likelihood(table, Noise::equal)
               ? Noise::counts
               : Noise::equal;
}

}  // namespace warploom::imaging
