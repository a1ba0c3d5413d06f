#include "search/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/plan.hpp"
#include "search/windows.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/search/matching.hpp"

namespace warploom::search {
namespace {

/// Eight partial sums, so that the compiler may add side by side.
float dot(std::span<const float> a, std::span<const float> b) {
  constexpr std::size_t kLanes = 8;
  float sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= a.size(); i += kLanes)
    for (std::size_t k = 0; k < kLanes; ++k) sums[k] += a[i + k] * b[i + k];
  for (; i < a.size(); ++i) sums[0] += a[i] * b[i];
  float sum = 0;
  for (const float x : sums) sum += x;
  return sum;
}

}  // namespace

Evidence::Evidence(const Signal& signal, const Query& query, const FindOptions& options,
                   std::int64_t largest_lag)
    : signal_(signal), query_(query), negated_(options.negated), lag_(largest_lag) {
  for (std::size_t c = 0; c < query.channels.size(); ++c) {
    patterns_.push_back(normalised(query.channels[c]));
    candidates_.push_back(channels_for(query.places[c], options, std::ssize(signal)));
  }
  for (auto& sums : sums_)
    for (const auto& some : candidates_) sums.emplace_back(some.size() * (2 * lag_ + 1));
}

void Evidence::look(std::span<const std::int64_t> offsets) {
  const std::int64_t length = query_.length(), samples = std::ssize(signal_[0]), lags = 2 * lag_ + 1;
  for (auto& sums : sums_)
    for (std::vector<double>& some : sums) std::fill(some.begin(), some.end(), 0);
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> askers(signal_.size());  // of each channel
  for (std::size_t c = 0; c < candidates_.size(); ++c)
    for (std::size_t k = 0; k < candidates_[c].size(); ++k) askers[candidates_[c][k]].emplace_back(c, k);
  // A channel of the recording at a time: what asks for it writes sums of its own.
  parallel_for(std::ssize(signal_), [&](std::int64_t channel) {
    std::vector<float> window(length);
    for (std::size_t p = 0; p < offsets.size(); ++p)
      for (std::int64_t lag = -lag_; lag <= lag_; ++lag) {
        check_interrupt();
        const std::int64_t begin = offsets[p] + lag;
        if (begin < 0 || begin + length > samples) continue;
        const std::span<const float> there = signal_[channel].subspan(begin, length);
        const Moments about = moments(there, Normalization::z);
        if (!std::isfinite(about.mean) || about.scale == 0) continue;
        for (std::int64_t i = 0; i < length; ++i) window[i] = static_cast<float>(about.normalised(there[i]));
        for (const auto& [c, k] : askers[channel]) {
          const float sum = dot(patterns_[c], window);
          sums_[2 * p >= offsets.size()][c][k * lags + lag + lag_] += sum / static_cast<float>(length);
        }
      }
  });
}

double Evidence::at(std::size_t channel, std::size_t candidate, std::int64_t lag, bool fold0,
                    bool fold1) const {
  const std::size_t where = candidate * (2 * lag_ + 1) + lag + lag_;
  return (fold0 ? sums_[0][channel][where] : 0) + (fold1 ? sums_[1][channel][where] : 0);
}

Reading Evidence::fit(Freedom freedom, bool fold0, bool fold1) const {
  struct Best {
    double value = 0;
    std::int64_t lag = 0;
  };
  const auto best_of = [&](std::size_t c, std::size_t k) {
    Best best;
    const std::int64_t most = freedom.lags ? lag_ : 0;
    for (std::int64_t lag = -most; lag <= most; ++lag) {
      const double value = at(c, k, lag, fold0, fold1);
      if (freedom.map && negated_ ? std::abs(value) > std::abs(best.value) : value > best.value)
        best = {value, lag};
    }
    return best;
  };
  Reading reading;
  reading.places = query_.places;
  reading.channels = query_.places;
  reading.negated.assign(query_.channels.size(), false);
  reading.lags.assign(query_.channels.size(), 0);
  if (freedom.map) {
    double largest = 0;
    std::vector<Edge> edges;
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      for (std::size_t k = 0; k < candidates_[c].size(); ++k) {
        const double value = std::abs(best_of(c, k).value);
        edges.push_back({static_cast<std::int32_t>(c), candidates_[c][k], {1, value}});
        largest = std::max(largest, value);
      }
    for (Edge& edge : edges) edge.worth.distance = largest - edge.worth.distance;
    for (const std::int32_t edge : best_matching(edges))
      reading.channels[edges[edge].left] = edges[edge].right;
  }
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    const auto k = std::ranges::find(candidates_[c], reading.channels[c]) - candidates_[c].begin();
    const Best best = best_of(c, static_cast<std::size_t>(k));
    reading.negated[c] = best.value < 0;
    reading.lags[c] = best.lag;
  }
  return reading;
}

namespace {

using Matrix3 = std::array<double, 9>;
using Matrix4 = std::array<std::array<double, 4>, 4>;

/// Eigenvectors in the columns of `vectors`; `matrix` becomes diagonal. Cyclic Jacobi.
void diagonalise(Matrix4& matrix, Matrix4& vectors) {
  vectors = {};
  for (int i = 0; i < 4; ++i) vectors[i][i] = 1;
  for (int sweep = 0; sweep < 12; ++sweep) {
    double off = 0, all = 0;
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) (i == j ? all : off) += matrix[i][j] * matrix[i][j];
    if (off <= 1e-24 * all) return;
    for (int p = 0; p < 4; ++p)
      for (int q = p + 1; q < 4; ++q) {
        if (matrix[p][q] == 0) continue;
        const double ratio = (matrix[q][q] - matrix[p][p]) / (2 * matrix[p][q]);
        const double t = std::copysign(1, ratio) / (std::abs(ratio) + std::sqrt(ratio * ratio + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < 4; ++k) {
          const double a = matrix[k][p], b = matrix[k][q];
          matrix[k][p] = c * a - s * b;
          matrix[k][q] = s * a + c * b;
        }
        for (int k = 0; k < 4; ++k) {
          const double a = matrix[p][k], b = matrix[q][k];
          matrix[p][k] = c * a - s * b;
          matrix[q][k] = s * a + c * b;
        }
        for (int k = 0; k < 4; ++k) {
          const double a = vectors[k][p], b = vectors[k][q];
          vectors[k][p] = c * a - s * b;
          vectors[k][q] = s * a + c * b;
        }
      }
  }
}

/// The rotation R for which the sum over axes of (R query) . window is largest, and that sum: the largest
/// eigenvalue of a matrix of quaternions (B. K. P. Horn, J. Opt. Soc. Am. A 4, 1987).
/// @param m  sum over samples of query[x] * window[y], row x
std::pair<Matrix3, double> rotation_between(const Matrix3& m) {
  const auto [xx, xy, xz, yx, yy, yz, zx, zy, zz] = m;
  Matrix4 n = {{{xx + yy + zz, yz - zy, zx - xz, xy - yx},
                {yz - zy, xx - yy - zz, xy + yx, zx + xz},
                {zx - xz, xy + yx, -xx + yy - zz, yz + zy},
                {xy - yx, zx + xz, yz + zy, -xx - yy + zz}}};
  Matrix4 vectors;
  diagonalise(n, vectors);
  int best = 0;
  for (int i = 1; i < 4; ++i)
    if (n[i][i] > n[best][best]) best = i;
  const double w = vectors[0][best], x = vectors[1][best], y = vectors[2][best], z = vectors[3][best];
  return {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z),
           1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x),
           1 - 2 * (x * x + y * y)},
          n[best][best]};
}

/// Places of the largest values, more than `exclusion` apart. @param step  between two values [samples]
std::vector<std::int64_t> largest_of(std::vector<double> values, std::int64_t step, std::int64_t count,
                                     std::int64_t exclusion) {
  std::vector<std::int64_t> offsets;
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  while (std::ssize(offsets) < count) {
    const auto best = std::ranges::max_element(values);
    if (best == values.end() || *best == kNone) break;
    const std::int64_t at = best - values.begin();
    offsets.push_back(at * step);
    const std::int64_t zone = exclusion / step;
    for (std::int64_t k = std::max<std::int64_t>(0, at - zone);
         k <= std::min(std::ssize(values) - 1, at + zone); ++k)
      values[k] = kNone;
  }
  return offsets;
}

}  // namespace

Orientations::Orientations(const Signal& signal, const Query& query, std::span<const SensorAxes> sensors)
    : signal_(signal), length_(query.length()) {
  for (const SensorAxes& sensor : sensors) {
    const std::array<std::int32_t, 3> axes = {sensor.x, sensor.y, sensor.z};
    auto& places = axes_.emplace_back();
    auto& patterns = patterns_.emplace_back();
    double squares = 0;
    for (int a = 0; a < 3; ++a) {
      places[a] = query.places[axes[a]];
      const double mean = moments(query.channels[axes[a]], Normalization::z).mean;
      for (const float x : query.channels[axes[a]]) patterns[a].push_back(static_cast<float>(x - mean));
      for (const double x : patterns[a]) squares += x * x;
    }
    for (std::vector<float>& pattern : patterns)
      for (float& x : pattern) x = squares > 0 ? static_cast<float>(x / std::sqrt(squares)) : 0;
  }
}

bool Orientations::covariance(std::int64_t offset, std::size_t sensor, Matrix& matrix) const {
  matrix = {};
  double squares = 0;
  std::vector<float> window(length_);
  for (int y = 0; y < 3; ++y) {
    const std::span<const float> there = signal_[axes_[sensor][y]].subspan(offset, length_);
    double mean = 0;
    for (const float x : there) mean += x;
    mean /= static_cast<double>(length_);
    for (std::int64_t i = 0; i < length_; ++i) window[i] = static_cast<float>(there[i] - mean);
    squares += dot(window, window);
    for (int a = 0; a < 3; ++a) matrix[3 * a + y] = dot(patterns_[sensor][a], window);
  }
  if (!(squares > 0)) return false;
  for (double& x : matrix) x /= std::sqrt(squares);
  return true;
}

std::vector<std::array<double, 9>> Orientations::fit(std::span<const std::int64_t> offsets) const {
  std::vector<Matrix> turns;
  for (std::size_t s = 0; s < axes_.size(); ++s) {
    Matrix sum = {}, one;
    for (const std::int64_t offset : offsets)
      if (covariance(offset, s, one))
        for (int k = 0; k < 9; ++k) sum[k] += one[k];
    turns.push_back(rotation_between(sum).first);
  }
  return turns;
}

std::vector<std::int64_t> Orientations::places(std::int64_t count, std::int64_t exclusion) const {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  const std::int64_t step = std::max<std::int64_t>(1, length_ / 32);
  const std::int64_t windows = (std::ssize(signal_[0]) - length_) / step + 1;
  const std::size_t sensors = axes_.size();
  std::vector<Matrix> all(windows * sensors);
  std::vector<char> whole(windows, 1);
  std::vector<double> likeness(windows);
  parallel_for(windows, [&](std::int64_t w) {
    if (w % 256 == 0) check_interrupt();
    double sum = 0;
    for (std::size_t s = 0; s < sensors; ++s) {
      Matrix& matrix = all[w * sensors + s];
      if (covariance(w * step, s, matrix))
        sum += rotation_between(matrix).second;
      else
        whole[w] = 0;
    }
    likeness[w] = whole[w] ? sum : kNone;
  });
  const auto likeness_of = [&](std::int64_t w, const std::vector<Matrix>& turns) {
    double sum = 0;  // of (R query) . window
    for (std::size_t s = 0; s < sensors; ++s)
      for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 3; ++x) sum += turns[s][3 * y + x] * all[w * sensors + s][3 * x + y];
    return sum;
  };
  std::vector<std::int64_t> offsets = largest_of(likeness, step, 2 * count, exclusion);
  // Of the orientations at single places the one that others agree with; the eighth power: some that agree
  // well say more than many that do so a little.
  const auto agreement = [&](const std::vector<Matrix>& turns) {
    double sum = 0;
    for (const std::int64_t offset : offsets)
      sum += std::pow(std::max(0.0, likeness_of(offset / step, turns) / static_cast<double>(sensors)), 8);
    return sum;
  };
  std::vector<Matrix> best;
  double most = -1;
  for (const std::int64_t offset : offsets) {
    std::vector<Matrix> turns = fit(std::span(&offset, 1));
    const double own =
        std::pow(std::max(0.0, likeness_of(offset / step, turns) / static_cast<double>(sensors)), 8);
    if (const double agreed = agreement(turns) - own; agreed > most) {
      most = agreed;
      best = std::move(turns);
    }
  }
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds && !offsets.empty(); ++round) {
    parallel_for(windows, [&](std::int64_t w) {
      if (whole[w]) likeness[w] = likeness_of(w, best);
    });
    // First few, then all.
    offsets =
        largest_of(likeness, step, std::max<std::int64_t>(2, count >> (kRounds - 1 - round)), exclusion);
    best = fit(offsets);
  }
  return offsets;
}

}  // namespace warploom::search
