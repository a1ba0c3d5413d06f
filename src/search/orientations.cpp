#include "search/orientations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search/cpu_correlations.hpp"
#include "search/windows.hpp"
#include "warploom/core/progress.hpp"

namespace warploom::search {
namespace {

constexpr double kLevels = 0.7;  // of how levels point, beside shapes

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

}  // namespace

Orientations::Orientations(const Correlations& correlations, const Query& query,
                           std::span<const SensorAxes> sensors)
    : correlations_(correlations) {
  const auto deviation_of = [&](std::size_t channel) {
    const double scale = moments(query.channels[channel], Normalization::z).scale;
    return scale == 0 ? 0 : 1 / scale;
  };
  for (const SensorAxes& axes : sensors) {
    Sensor& sensor = sensors_.emplace_back();
    double squares = 0;
    for (int a = 0; a < 3; ++a) {
      sensor.query_channels[a] = static_cast<std::size_t>(std::array{axes.x, axes.y, axes.z}[a]);
      sensor.channels[a] = query.places[sensor.query_channels[a]];
      sensor.deviations[a] = deviation_of(sensor.query_channels[a]);
      squares += sensor.deviations[a] * sensor.deviations[a];
      const std::span<const float> all = correlations.deviations(sensor.channels[a]);
      sensor.axes[a].assign(all.begin(), all.end());
    }
    for (int x = 0; x < 3; ++x)
      for (int y = 0; y < 3; ++y)
        sensor.correlations[3 * x + y] = correlations.of(sensor.query_channels[x], sensor.channels[y]);
    for (double& x : sensor.deviations) x /= squares > 0 ? std::sqrt(squares) : 1;
    double wander = 0, mean = 0;  // squares
    for (int a = 0; a < 3; ++a) {
      const double spread = correlations.spread(sensor.channels[a]);
      wander += spread * spread;
      sensor.level[a] = moments(query.channels[sensor.query_channels[a]], Normalization::z).mean;
      mean += sensor.level[a] * sensor.level[a];
      sensor.levels[a].resize(correlations.windows());
    }
    const double size = std::sqrt(squares + mean + wander);
    for (double& x : sensor.level) x *= size > 0 ? kLevels / size : 0;
    const std::int64_t windows = correlations.windows();
    std::vector<float> sums(windows), of_means(windows), weights(windows), of_levels(windows);
    std::array<std::span<const float>, 3> means;
    for (int a = 0; a < 3; ++a) means[a] = correlations.means(sensor.channels[a]);
    for (std::int64_t w = 0; w < windows; ++w) {
      for (const std::vector<float>& axis : sensor.axes) sums[w] += axis[w] * axis[w];
      for (const std::span<const float> of_axis : means) of_means[w] += of_axis[w] * of_axis[w];
    }
    WARPLOOM_PICK(cpu_correlations)
        ->weigh_sensor(sums.data(), of_means.data(), {squares, mean, wander}, windows, weights.data(),
                       of_levels.data());
    for (std::int64_t w = 0; w < windows; ++w) {
      // 0: a sample is missing, or all are constant
      const float scale = sums[w] > 0 ? 1 / std::sqrt(sums[w]) : 0;
      for (int a = 0; a < 3; ++a) {
        sensor.axes[a][w] = scale == 0 ? 0 : sensor.axes[a][w] * (scale * weights[w]);
        sensor.levels[a][w] = scale == 0 ? 0 : of_levels[w] * means[a][w];
      }
    }
  }
}

Orientations::Matrix Orientations::covariance(const Sensor& sensor, std::int64_t window) {
  Matrix matrix;
  for (int x = 0; x < 3; ++x)
    for (int y = 0; y < 3; ++y)
      matrix[3 * x + y] =
          sensor.deviations[x] * sensor.axes[y][window] * sensor.correlations[3 * x + y][window] +
          sensor.level[x] * sensor.levels[y][window];
  return matrix;
}

std::vector<Orientations::Matrix> Orientations::fit_windows(std::span<const std::int64_t> windows) const {
  std::vector<Matrix> turns;
  for (const Sensor& sensor : sensors_) {
    Matrix sum = {};
    for (const std::int64_t window : windows) {
      const Matrix one = covariance(sensor, window);
      for (int k = 0; k < 9; ++k) sum[k] += one[k];
    }
    turns.push_back(rotation_between(sum).first);
  }
  return turns;
}

std::vector<std::array<double, 9>> Orientations::fit(std::span<const std::int64_t> offsets) const {
  std::vector<std::int64_t> windows;
  for (const std::int64_t offset : offsets) windows.push_back(correlations_.window(offset));
  return fit_windows(windows);
}

std::vector<float> Orientations::likeness(const std::vector<Matrix>& turns) const {
  std::vector<CorrelatedAxis> axes;
  const auto count = static_cast<double>(sensors_.size());
  for (std::size_t s = 0; s < sensors_.size(); ++s)
    for (int y = 0; y < 3; ++y) {
      const Sensor& sensor = sensors_[s];
      double level = 0;
      for (int x = 0; x < 3; ++x) level += turns[s][3 * y + x] * sensor.level[x];
      CorrelatedAxis& axis = axes.emplace_back();
      axis.level = sensor.levels[y].data();
      axis.level_factor = static_cast<float>(level / count);
      axis.weight = sensor.axes[y].data();
      for (int x = 0; x < 3; ++x) {
        axis.from[x] = sensor.correlations[3 * x + y].data();
        axis.factor[x] = static_cast<float>(turns[s][3 * y + x] * sensor.deviations[x] / count);
      }
    }
  std::vector<float> sum(correlations_.windows());
  WARPLOOM_PICK(cpu_correlations)->add_axes(axes.data(), std::ssize(axes), std::ssize(sum), sum.data());
  return sum;
}

std::vector<std::int64_t> Orientations::places(std::int64_t count, std::int64_t exclusion) const {
  std::vector<float> most_like(correlations_.windows(), 0.F);
  for (const Sensor& sensor : sensors_) {
    check_interrupt();
    CorrelatedSensor of{};
    for (int a = 0; a < 3; ++a) {
      of.axes[a] = sensor.axes[a].data();
      of.levels[a] = sensor.levels[a].data();
      of.deviations[a] = sensor.deviations[a];
      of.level[a] = sensor.level[a];
    }
    for (int k = 0; k < 9; ++k) of.correlations[k] = sensor.correlations[k].data();
    WARPLOOM_PICK(cpu_correlations)->add_best_turns(of, std::ssize(most_like), most_like.data());
  }
  const std::int64_t zone = exclusion / correlations_.step();
  const std::vector<std::int64_t> seeds = largest_of(std::move(most_like), count, zone);
  std::vector<std::int64_t> offsets = agreed(
      seeds, count, zone, [&](std::span<const std::int64_t> some) { return fit_windows(some); },
      [&](const std::vector<Matrix>& turns) { return likeness(turns); });
  for (std::int64_t& offset : offsets) offset *= correlations_.step();
  return offsets;
}

}  // namespace warploom::search
