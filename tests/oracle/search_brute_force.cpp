#include "search_brute_force.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace warploom::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> normalised(std::span<const float> samples, bool normalize) {
  std::vector<double> x(samples.begin(), samples.end());
  if (!normalize) return x;
  const auto n = static_cast<double>(x.size());
  double mean = 0, variance = 0;
  for (const double v : x) mean += v / n;
  for (const double v : x) variance += (v - mean) * (v - mean) / n;
  const double deviation = std::sqrt(variance);
  const bool constant = deviation == 0 || deviation <= search::kConstantDeviation * std::abs(mean);
  for (double& v : x) v = constant ? 0 : (v - mean) / deviation;
  return x;
}

/// The last cell of the whole matrix; [channels][m].
double matrix(const std::vector<std::vector<double>>& q, const std::vector<std::vector<double>>& w,
              std::int64_t radius) {
  const auto m = static_cast<std::int64_t>(q[0].size());
  std::vector<std::vector<double>> cell(m + 1, std::vector<double>(m + 1, kInfinity));  // D(i - 1, j - 1)
  cell[0][0] = 0;
  for (std::int64_t i = 1; i <= m; ++i)
    for (std::int64_t j = 1; j <= m; ++j) {
      if (std::abs(i - j) > radius) continue;
      cell[i][j] = std::min({cell[i - 1][j], cell[i][j - 1], cell[i - 1][j - 1]});
      for (std::size_t c = 0; c < q.size(); ++c)
        cell[i][j] += (q[c][i - 1] - w[c][j - 1]) * (q[c][i - 1] - w[c][j - 1]);
    }
  return cell[m][m];
}

/// Greedily out of `all`, by looking at all of them.
std::vector<Choice> chosen(const std::vector<Choice>& all, std::int64_t limit, std::int64_t exclusion) {
  std::vector<Choice> chosen;
  while (static_cast<std::int64_t>(chosen.size()) < limit) {
    const Choice* nearest = nullptr;
    for (const Choice& c : all) {
      const bool free = std::none_of(chosen.begin(), chosen.end(), [&](const Choice& other) {
        return std::abs(c.offset - other.offset) <= exclusion;
      });
      const auto before = [](const Choice& a, const Choice& b) {
        if (a.distance != b.distance) return a.distance < b.distance;
        return a.offset != b.offset ? a.offset < b.offset : a.pattern < b.pattern;
      };
      if (free && (nearest == nullptr || before(c, *nearest))) nearest = &c;
    }
    if (nearest == nullptr) break;
    chosen.push_back(*nearest);
  }
  return chosen;
}

bool is_missing(float x) { return !std::isfinite(x); }

}  // namespace

double dtw(std::span<const float> query, std::span<const float> window, std::int64_t radius, bool normalize) {
  return std::sqrt(matrix({normalised(query, normalize)}, {normalised(window, normalize)}, radius) /
                   static_cast<double>(query.size()));
}

double joint(const search::JointPattern& pattern, const std::vector<std::vector<float>>& window,
             bool normalize) {
  std::vector<std::vector<double>> q, w;
  double each = 0;
  for (std::size_t c = 0; c < window.size(); ++c) {
    q.push_back(normalised(pattern.samples[c], normalize));
    w.push_back(normalised(window[c], normalize));
    each += matrix({q[c]}, {w[c]}, pattern.radius);
  }
  const double sum = pattern.warping == search::Warping::each ? each : matrix(q, w, pattern.radius);
  return std::sqrt(sum / static_cast<double>(window.size() * window[0].size()));
}

std::vector<double> profile(const search::Pattern& pattern, std::span<const float> channel, bool normalize) {
  std::vector<double> distances;
  const std::size_t m = pattern.samples.size();
  for (std::size_t t = 0; t + m <= channel.size(); ++t) {
    const auto window = channel.subspan(t, m);
    const bool missing = std::any_of(window.begin(), window.end(), is_missing);
    distances.push_back(missing ? kInfinity : dtw(pattern.samples, window, pattern.radius, normalize));
  }
  return distances;
}

std::vector<double> profile(const search::JointPattern& pattern, const search::Signal& signal,
                            bool normalize) {
  std::vector<double> distances;
  const auto m = static_cast<std::size_t>(pattern.length());
  for (std::size_t t = 0; t + m <= signal[0].size(); ++t) {
    std::vector<std::vector<float>> window;
    bool missing = false;
    for (const std::int32_t channel : pattern.channels) {
      const auto samples = signal[static_cast<std::size_t>(channel)].subspan(t, m);
      missing |= std::any_of(samples.begin(), samples.end(), is_missing);
      window.emplace_back(samples.begin(), samples.end());
    }
    distances.push_back(missing ? kInfinity : joint(pattern, window, normalize));
  }
  return distances;
}

std::vector<Choice> best(const search::Signal& signal, std::span<const search::Pattern> patterns,
                         const search::Task& task, bool normalize) {
  std::vector<Choice> all;
  for (std::int32_t p = task.first_pattern; p < task.first_pattern + task.patterns; ++p) {
    const std::vector<double> distances = profile(patterns[p], signal[task.channel], normalize);
    for (std::size_t t = 0; t < distances.size(); ++t) {
      const std::int64_t offset = static_cast<std::int64_t>(t) - patterns[p].lead;
      if (offset < task.first || offset >= task.last || distances[t] > task.max_distance) continue;
      if (distances[t] < kInfinity) all.push_back({offset, distances[t], p});
    }
  }
  return chosen(all, task.limit, task.exclusion);
}

std::vector<Choice> best(const search::Signal& signal, std::span<const search::JointPattern> patterns,
                         const search::JointTask& task, bool normalize) {
  std::vector<Choice> all;
  for (std::int32_t p = task.first_pattern; p < task.first_pattern + task.patterns; ++p) {
    const std::vector<double> distances = profile(patterns[p], signal, normalize);
    for (std::size_t t = 0; t < distances.size(); ++t) {
      const auto offset = static_cast<std::int64_t>(t);
      if (offset < task.first || offset >= task.last || distances[t] > task.max_distance) continue;
      if (distances[t] < kInfinity) all.push_back({offset, distances[t], p});
    }
  }
  return chosen(all, task.limit, task.exclusion);
}

}  // namespace warploom::oracle
