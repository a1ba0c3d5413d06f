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

}  // namespace

double dtw(std::span<const float> query, std::span<const float> window, std::int64_t radius, bool normalize) {
  const std::vector<double> q = normalised(query, normalize), w = normalised(window, normalize);
  const auto m = static_cast<std::int64_t>(q.size());
  std::vector<std::vector<double>> cell(m + 1, std::vector<double>(m + 1, kInfinity));  // D(i - 1, j - 1)
  cell[0][0] = 0;
  for (std::int64_t i = 1; i <= m; ++i)
    for (std::int64_t j = 1; j <= m; ++j) {
      if (std::abs(i - j) > radius) continue;
      const double before = std::min({cell[i - 1][j], cell[i][j - 1], cell[i - 1][j - 1]});
      cell[i][j] = (q[i - 1] - w[j - 1]) * (q[i - 1] - w[j - 1]) + before;
    }
  return std::sqrt(cell[m][m] / static_cast<double>(m));
}

std::vector<double> profile(const search::Pattern& pattern, std::span<const float> channel, bool normalize) {
  std::vector<double> distances;
  const std::size_t m = pattern.samples.size();
  for (std::size_t t = 0; t + m <= channel.size(); ++t) {
    const auto window = channel.subspan(t, m);
    const bool missing = std::any_of(window.begin(), window.end(), [](float x) { return !std::isfinite(x); });
    distances.push_back(missing ? kInfinity : dtw(pattern.samples, window, pattern.radius, normalize));
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
  std::vector<Choice> chosen;
  while (static_cast<std::int64_t>(chosen.size()) < task.limit) {
    const Choice* nearest = nullptr;
    for (const Choice& c : all) {
      const bool free = std::none_of(chosen.begin(), chosen.end(), [&](const Choice& other) {
        return std::abs(c.offset - other.offset) <= task.exclusion;
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

}  // namespace warploom::oracle
