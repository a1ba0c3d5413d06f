#include "chan_vese.hpp"

#include <algorithm>
#include <cmath>

namespace warploom::oracle {
namespace {

constexpr double kPi = 3.14159265358979323846;

std::size_t index(const std::array<std::int64_t, 3>& extent, std::array<std::int64_t, 3> at) {
  for (std::size_t a = 0; a < 3; ++a) at[a] = std::clamp<std::int64_t>(at[a], 0, extent[a] - 1);
  return static_cast<std::size_t>((at[2] * extent[1] + at[1]) * extent[0] + at[0]);
}

template <class Body>
void each_voxel(const std::array<std::int64_t, 3>& extent, const Body& body) {
  for (std::int64_t z = 0; z < extent[2]; ++z)
    for (std::int64_t y = 0; y < extent[1]; ++y)
      for (std::int64_t x = 0; x < extent[0]; ++x) body(std::array<std::int64_t, 3>{x, y, z});
}

struct Means {
  double in = 0, out = 0;
};

/// Weighted by w inside and 1 - w outside.
Means means(const std::vector<double>& image, const std::vector<double>& w) {
  double in = 0, out = 0, weight_in = 0, weight_out = 0;
  for (std::size_t v = 0; v < image.size(); ++v) {
    in += w[v] * image[v], weight_in += w[v];
    out += (1 - w[v]) * image[v], weight_out += 1 - w[v];
  }
  return {weight_in > 0 ? in / weight_in : 0, weight_out > 0 ? out / weight_out : 0};
}

}  // namespace

std::vector<double> ChanVese::step(const std::vector<double>& phi) const {
  std::vector<double> indicator(phi.size());
  for (std::size_t v = 0; v < phi.size(); ++v) indicator[v] = phi[v] > 0 ? 1 : 0;
  const Means c = means(image, indicator);
  std::vector<double> next(phi.size());
  each_voxel(extent, [&](std::array<std::int64_t, 3> at) {
    const std::size_t here = index(extent, at);
    std::array<double, 3> forward{}, backward{}, central{};
    std::array<std::size_t, 3> beyond{}, before{};
    for (std::size_t a = 0; a < 3; ++a) {
      auto up = at, down = at;
      ++up[a], --down[a];
      beyond[a] = index(extent, up), before[a] = index(extent, down);
      forward[a] = (phi[beyond[a]] - phi[here]) / spacing[a];
      backward[a] = (phi[here] - phi[before[a]]) / spacing[a];
      central[a] = (phi[beyond[a]] - phi[before[a]]) / (2 * spacing[a]);
    }
    double weighted = 0, weights = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      if (extent[a] == 1) continue;
      double others = 1e-16;
      for (std::size_t b = 0; b < 3; ++b)
        if (b != a) others += central[b] * central[b];
      const double up = 1 / std::sqrt(others + forward[a] * forward[a]) / (spacing[a] * spacing[a]);
      const double down = 1 / std::sqrt(others + backward[a] * backward[a]) / (spacing[a] * spacing[a]);
      weighted += up * phi[beyond[a]] + down * phi[before[a]];
      weights += up + down;
    }
    const double delta = 1 / (1 + phi[here] * phi[here]);
    const double data =
        -lambda_in * std::pow(image[here] - c.in, 2) + lambda_out * std::pow(image[here] - c.out, 2);
    next[here] =
        (phi[here] + time_step * delta * (mu * weighted + data)) / (1 + time_step * delta * mu * weights);
  });
  return next;
}

double ChanVese::energy(const std::vector<double>& phi) const {
  std::vector<double> heaviside(phi.size());
  for (std::size_t v = 0; v < phi.size(); ++v) heaviside[v] = 0.5 + std::atan(phi[v]) / kPi;
  const Means c = means(image, heaviside);
  double sum = 0;
  each_voxel(extent, [&](std::array<std::int64_t, 3> at) {
    const std::size_t here = index(extent, at);
    double square = 0;
    for (std::size_t a = 0; a < 3; ++a) {
      auto up = at, down = at;
      ++up[a], --down[a];
      square += std::pow((phi[index(extent, up)] - phi[index(extent, down)]) / (2 * spacing[a]), 2);
    }
    sum += lambda_in * std::pow(image[here] - c.in, 2) * heaviside[here] +
           lambda_out * std::pow(image[here] - c.out, 2) * (1 - heaviside[here]) +
           mu * std::sqrt(square) / (1 + phi[here] * phi[here]);
  });
  return sum;
}

ChanVese::Run ChanVese::run(std::vector<double> phi, double tolerance, int max_iterations) const {
  Run run;
  run.phi = std::move(phi);
  run.change = tolerance + 1;
  while (run.change > tolerance && static_cast<int>(run.energies.size()) < max_iterations) {
    run.energies.push_back(energy(run.phi));
    const std::vector<double> next = step(run.phi);
    double sum = 0;
    for (std::size_t v = 0; v < next.size(); ++v) sum += std::pow(next[v] - run.phi[v], 2);
    run.change = std::sqrt(sum / static_cast<double>(next.size()));
    run.phi = next;
  }
  return run;
}

std::vector<double> checkerboard(const std::array<std::int64_t, 3>& extent) {
  std::vector<double> phi;
  each_voxel(extent, [&](std::array<std::int64_t, 3> at) {
    double product = 1;
    for (std::size_t a = 0; a < 3; ++a)
      if (extent[a] > 1) product *= std::sin(static_cast<double>(at[a]) * (kPi / 5));
    phi.push_back(product);
  });
  return phi;
}

std::vector<double> disk(const std::array<std::int64_t, 3>& extent, const std::array<double, 3>& spacing) {
  std::vector<double> phi;
  double radius = 1e300;
  for (std::size_t a = 0; a < 3; ++a)
    if (extent[a] > 1) radius = std::min(radius, static_cast<double>((extent[a] - 1) / 2) * spacing[a]);
  each_voxel(extent, [&](std::array<std::int64_t, 3> at) {
    double square = 0;
    for (std::size_t a = 0; a < 3; ++a)
      square += std::pow(static_cast<double>(at[a] - (extent[a] - 1) / 2) * spacing[a], 2);
    phi.push_back(1 - std::sqrt(square) / radius);
  });
  return phi;
}

double dice(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  double both = 0, sum = 0;
  for (std::size_t v = 0; v < a.size(); ++v) {
    both += a[v] != 0 && b[v] != 0 ? 1 : 0;
    sum += (a[v] != 0 ? 1 : 0) + (b[v] != 0 ? 1 : 0);
  }
  return 2 * both / sum;
}

}  // namespace warploom::oracle
