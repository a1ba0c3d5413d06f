#include "imaging/segment_means.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace warploom::imaging {
namespace {

int level_at(double threshold) { return std::clamp(static_cast<int>(threshold * kLevels), 0, kLevels); }

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
  const auto quantile = [&](double share) {
    const auto rank = static_cast<std::int64_t>(share * static_cast<double>(voxels()));
    const auto found = std::ranges::lower_bound(below_, rank + 1, {}, &Sums::count);
    return static_cast<double>(found - below_.begin());
  };
  for (int k = 1; k <= kQuantiles; ++k) out.push_back(quantile(double(k) / (kQuantiles + 1)) / kLevels);
  const double first = quantile(0) - 1, last = quantile(1 - 1e-12);
  for (int k = 1; k < kEven; ++k) out.push_back((first + (last - first) * k / kEven) / kLevels);
  return out;
}

std::optional<MeanPair> LevelTable::means(int level) const {
  const Sums& low = below(level);
  if (low.count == 0 || low.count == all().count) return std::nullopt;
  return MeanPair{low.sum / static_cast<double>(low.count),
                  (all().sum - low.sum) / static_cast<double>(all().count - low.count)};
}

double LevelTable::deviation(double threshold) const {
  const int level = level_at(threshold);
  const auto pair = means(level);
  if (!pair) return std::numeric_limits<double>::infinity();
  const auto rest = static_cast<double>(below(level).count), voxels = static_cast<double>(all().count);
  return std::max(0.0,
                  all().square - (voxels - rest) * pair->high * pair->high - rest * pair->low * pair->low);
}

std::optional<double> LevelTable::fixed_point(double start) const {
  constexpr int kMostSteps = 200;
  int level = level_at(start);
  double end = start;
  for (int step = 0; step < kMostSteps; ++step) {
    const auto pair = means(level);
    if (!pair) return std::nullopt;
    end = pair->threshold();
    const int next = level_at(end);
    if (next == level) break;
    level = next;
  }
  return end;
}

double LevelTable::root_threshold() const {
  // Within a level of v the values of u differ by noise: the root of their mean is taken for the mean root.
  std::vector<double> roots(below_.size());
  for (std::size_t k = 1; k < below_.size(); ++k) {
    const double count = static_cast<double>(below_[k].count - below_[k - 1].count);
    roots[k] = roots[k - 1] + std::sqrt(count * std::max(0.0, below_[k].sum - below_[k - 1].sum));
  }
  double most = -1, root = 0;
  for (std::size_t k = 1; k < below_.size(); ++k) {
    const double low = static_cast<double>(below_[k].count), high = static_cast<double>(voxels()) - low;
    if (low == 0 || high == 0) continue;
    const double rest = roots.back() - roots[k];
    const double explained = roots[k] * roots[k] / low + rest * rest / high;
    if (explained > most) most = explained, root = (roots[k] / low + rest / high) / 2;
  }
  return root * root;
}

double LevelTable::rank(double threshold) const {
  const double place = std::clamp(threshold, 0.0, 1.0) * kLevels;
  const int level = std::min(static_cast<int>(place), kLevels - 1);
  const auto first = static_cast<double>(below(level).count),
             next = static_cast<double>(below(level + 1).count);
  return first + (next - first) * (place - level);
}

double LevelTable::quantile(double rank) const {
  const auto above =
      std::ranges::upper_bound(below_, rank, {}, [](const Sums& sums) { return double(sums.count); });
  const auto next = std::clamp<std::ptrdiff_t>(above - below_.begin(), 1, kLevels);
  const auto first = static_cast<double>(below(static_cast<int>(next) - 1).count),
             last = static_cast<double>(below(static_cast<int>(next)).count);
  const double part = last > first ? std::clamp((rank - first) / (last - first), 0.0, 1.0) : 0;
  return (static_cast<double>(next) - 1 + part) / kLevels;
}

std::optional<MeanPair> LevelTable::medians(double start) const {
  // Both medians grow with the threshold, and it with them: so it goes one way, and comes to an end.
  constexpr int kMostSteps = 200;
  const auto all = static_cast<double>(voxels());
  MeanPair pair;
  for (int step = 0; step < kMostSteps; ++step) {
    const double low = rank(start);
    if (!(low > 0 && low < all)) return std::nullopt;
    pair = {quantile(low / 2), quantile((low + all) / 2)};
    if (std::abs(pair.threshold() - start) < 1e-7) break;
    start = pair.threshold();
  }
  return pair;
}

MeanPair ImageSums::means(const SetSums& inside) const {
  const double n = static_cast<double>(inside.inside), sum = static_cast<double>(inside.sum) / kSetPoint;
  return {(total_ - sum) / (voxels_ - n), sum / n};
}

double ImageSums::deviation(const SetSums& inside, const MeanPair& from) const {
  const double n = static_cast<double>(inside.inside), sum = static_cast<double>(inside.sum) / kSetPoint;
  const double high = n * from.high - 2 * sum, low = (voxels_ - n) * from.low - 2 * (total_ - sum);
  return std::max(0.0, squares_ + from.high * high + from.low * low);
}

}  // namespace warploom::imaging
