#include "made_up.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "random.hpp"

namespace warploom::tool {
namespace {

constexpr double kPi = std::numbers::pi;

using Vector = std::array<double, 3>;
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/// A tensor with one large eigenvalue and two small ones [mm^2/s].
struct Bundle {
  Vector along;
  double large, small;
  double signal(double b, const Vector& g) const {
    const double cosine = dot(along, g);
    return std::exp(-b * (small + (large - small) * cosine * cosine));
  }
};

/// Of a voxel, at (x, y, z) in [-1, 1]: bundles that share it, and the signal at b = 0.
struct Tissue {
  std::vector<Bundle> bundles;
  double signal = 0;
};

Tissue tissue_at(double x, double y, double z) {
  constexpr double kLarge = 1.7e-3, kSmall = 0.3e-3, kGrey = 0.8e-3, kWater = 3e-3;
  const double radius = std::hypot(x, y);
  if (x * x / 0.81 + y * y / 0.9 + z * z / 1.6 > 1) return {};
  if (std::hypot(x, 1.6 * y) < 0.18) return {{{{1, 0, 0}, kWater, kWater}}, 1600};
  Tissue tissue{{}, 800};
  if (radius > 0.45 && radius < 0.65)
    tissue.bundles.push_back({{-y / radius, x / radius, 0}, kLarge, kSmall});
  if (std::abs(y + 0.35 * z) < 0.12) tissue.bundles.push_back({{1, 0, 0}, kLarge, kSmall});
  if (tissue.bundles.empty()) return {{{{1, 0, 0}, kGrey, kGrey}}, 1000};
  return tissue;
}

char complement(char base) { return base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A'; }

}  // namespace

DiffusionSeries made_up_series() {
  constexpr std::int64_t kWide = 48, kHigh = 16;
  constexpr int kDirections = 30, kUnweighted = 2;
  constexpr double kB = 1000, kNoise = 40;
  std::vector<Vector> gradients(kUnweighted, Vector{0, 0, 0});
  for (int k = 0; k < kDirections; ++k) {  // a spiral over half a sphere
    const double z = (k + 0.5) / kDirections, turn = kPi * (3 - std::sqrt(5.0)) * k, r = std::sqrt(1 - z * z);
    gradients.push_back({r * std::cos(turn), r * std::sin(turn), z});
  }
  DiffusionSeries series;
  io::Nifti& image = series.image;
  image.shape = {kWide, kWide, kHigh, std::ssize(gradients)};
  image.spacing = {2, 2, 2};
  // The first axis runs from right to left, as in most files of scanners: FSL's b-vectors stand as they are.
  image.affine = {{{-2, 0, 0, kWide - 1}, {0, 2, 0, 1 - kWide}, {0, 0, 2, 1 - kHigh}}};
  image.type = io::NiftiType::int16;
  image.description = "made up by warploom example";
  Random random(1);
  for (const Vector& g : gradients)
    for (std::int64_t k = 0; k < kHigh; ++k)
      for (std::int64_t j = 0; j < kWide; ++j)
        for (std::int64_t i = 0; i < kWide; ++i) {
          const auto place = [](std::int64_t at, std::int64_t count) {
            return (2.0 * static_cast<double>(at) + 1) / static_cast<double>(count) - 1;
          };
          const Tissue tissue = tissue_at(place(i, kWide), place(j, kWide), place(k, kHigh));
          double signal = 0;
          for (const Bundle& bundle : tissue.bundles) signal += bundle.signal(dot(g, g) > 0 ? kB : 0, g);
          if (!tissue.bundles.empty()) signal *= tissue.signal / static_cast<double>(tissue.bundles.size());
          const double real = signal + kNoise * random.normal(), imaginary = kNoise * random.normal();
          image.data.push_back(static_cast<float>(std::round(std::hypot(real, imaginary))));
        }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const Vector& g : gradients) series.bvec += fmt::format("{:.6f} ", g[axis]);
    series.bvec.back() = '\n';
  }
  for (const Vector& g : gradients) series.bval += dot(g, g) > 0 ? "1000 " : "0 ";
  series.bval.back() = '\n';
  return series;
}

io::Picture made_up_cells() {
  struct Cell {
    double x, y, wide, high, turn, bright;
  };
  io::Picture picture{320, 240, 1, {}, 255};
  Random random(2);
  std::vector<Cell> cells;
  for (int tries = 0; cells.size() < 22 && tries < 1000; ++tries) {
    const Cell cell{20 + 280 * random.uniform(), 20 + 200 * random.uniform(), 12 + 8 * random.uniform(),
                    9 + 6 * random.uniform(),    kPi * random.uniform(),      70 + 60 * random.uniform()};
    const auto far = [&](const Cell& other) { return std::hypot(cell.x - other.x, cell.y - other.y) > 42; };
    if (std::ranges::all_of(cells, far)) cells.push_back(cell);
  }
  for (int y = 0; y < picture.height; ++y)
    for (int x = 0; x < picture.width; ++x) {
      double value = 45 + 0.06 * x + 0.05 * y;
      for (const Cell& cell : cells) {
        const double dx = x - cell.x, dy = y - cell.y;
        const double u = (dx * std::cos(cell.turn) + dy * std::sin(cell.turn)) / cell.wide;
        const double v = (dy * std::cos(cell.turn) - dx * std::sin(cell.turn)) / cell.high;
        value += cell.bright / (1 + std::exp(8 * (std::hypot(u, v) - 1)));
      }
      picture.data.push_back(
          static_cast<std::uint16_t>(std::clamp(std::round(value + 12 * random.normal()), 0.0, 255.0)));
    }
  return picture;
}

std::string made_up_reads() {
  constexpr std::size_t kGenome = 3000, kRepeat = 300, kRead = 80;
  Random random(3);
  std::string genome;
  for (std::size_t k = 0; k < kGenome; ++k) genome += "ACGT"[random.below(4)];
  for (const std::size_t copy : {std::size_t{1200}, std::size_t{2400}})
    genome.replace(copy, kRepeat, genome, 300, kRepeat);
  std::string text;
  for (int k = 1; k <= 400; ++k) {
    std::string read = genome.substr(random.below(kGenome - kRead + 1), kRead);
    if (random.below(2) == 1) {
      std::ranges::reverse(read);
      std::ranges::transform(read, read.begin(), complement);
    }
    for (char& base : read)
      if (random.below(100) == 0) base = "ACGT"[random.below(4)];
    text += fmt::format(">read{}\n{}\n", k, read);
  }
  return text;
}

std::string made_up_gait() {
  constexpr int kRate = 100, kSeconds = 40, kSensors = 8;
  // When the foot rolls over a sensor, in parts of a step, and the greatest force under it [N].
  constexpr std::array<double, kSensors> kBegin = {0.00, 0.05, 0.05, 0.16, 0.18, 0.28, 0.30, 0.38},
                                         kForce = {150, 110, 130, 40, 60, 140, 120, 90};
  Random random(4);
  std::string text;
  for (int k = 0; k < kSeconds * kRate; ++k) {
    const double t = static_cast<double>(k) / kRate;
    const bool drags = t >= 20 && t < 28;
    std::array<double, 2> sums = {0, 0};
    std::string row;
    for (std::size_t foot = 0; foot < 2; ++foot) {
      const double step = std::fmod(t / 1.08 + 0.5 * static_cast<double>(foot), 1);
      for (std::size_t s = 0; s < kSensors; ++s) {
        const bool late = drags && foot == 1;
        const double since = (step - kBegin[s] - (late && s >= 5 ? 0.12 : 0)) / 0.3;
        double force = since > 0 && since < 1 ? kForce[s] * std::pow(std::sin(kPi * since), 2) : 0;
        if (late && s < 3) force *= 0.35;
        if (force > 0) force = std::max(0.0, force + 3 * random.normal());
        sums[foot] += force;
        row += fmt::format("\t{:.2f}", force);
      }
    }
    text += fmt::format("{:.4f}{}\t{:.2f}\t{:.2f}\n", t, row, sums[0], sums[1]);
  }
  return text;
}

std::string made_up_activity() {
  constexpr int kSamples = 60 * 64;
  // Rest, and how far walking and a freeze move each axis [mg]: ankle, thigh, trunk.
  constexpr std::array<double, 9> kRest = {50, -960, 20, 30, -980, 60, 90, -970, 40},
                                  kWalk = {420, 380, 210, 260, 240, 130, 110, 150, 90},
                                  kFreeze = {160, 90, 60, 200, 80, 70, 40, 30, 30};
  Random random(5);
  std::string text;
  for (int k = 0; k < kSamples; ++k) {
    const double t = k / 64.0;
    const bool before = t < 6, freeze = (t >= 22 && t < 27) || (t >= 41 && t < 45.5);
    text += fmt::format("{}", (k + 1) * 1000 / 64);
    for (std::size_t axis = 0; axis < 9; ++axis) {
      const double phase = 0.7 * static_cast<double>(axis);
      const double walk =
          std::sin(2 * kPi * 0.95 * t + phase) + 0.5 * std::sin(4 * kPi * 0.95 * t + 2 * phase);
      const double moved = before   ? 0
                           : freeze ? kFreeze[axis] * std::sin(2 * kPi * 5.5 * t + phase)
                                    : kWalk[axis] * walk;
      text += fmt::format(" {:.0f}", kRest[axis] + moved + 15 * random.normal());
    }
    text += fmt::format(" {}\n", before ? 0 : freeze ? 2 : 1);
  }
  return text;
}

}  // namespace warploom::tool
