#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>

#include "made_up.hpp"
#include "random.hpp"

namespace warploom::tool {
namespace {

using Point = std::array<double, 3>;  // [mm]

constexpr std::int64_t kWide = 60, kDeep = 70, kHigh = 58;
constexpr double kVoxel = 3;

// Tissues, which are the labels, too.
constexpr int kGrey = 1, kWhite = 2, kVentricle = 3;

/// Less than 1 inside an ellipsoid.
double radius(const Point& p, const Point& middle, const Point& axes) {
  return std::hypot((p[0] - middle[0]) / axes[0], (p[1] - middle[1]) / axes[1], (p[2] - middle[2]) / axes[2]);
}

/// 1 well inside, 0 well outside, and between them over half a voxel: a voxel holds parts of both.
double inside(double r) { return 1 / (1 + std::exp((r - 1) * 60)); }

/// The head that both images show; nothing in it is symmetric.
struct Head {
  double skull, brain, white, ventricle;  ///< how far inside of each a point is

  explicit Head(const Point& p) {
    const auto wave = [&](int axis, double length, double shift) {
      return std::sin(2 * std::numbers::pi * p[static_cast<std::size_t>(axis)] / length + shift);
    };
    const double folds = wave(0, 31, wave(1, 57, 0.2)) * wave(1, 34, 0.4 + wave(2, 49, 1)) +
                         wave(2, 29, 1.1 + wave(0, 53, 0)) * wave(1, 27, 2);
    const double r = radius(p, {1, -2, 0}, {62, 78, 58});
    skull = inside(r / 1.16);
    brain = inside(r / (1 + 0.02 * folds));
    white = inside(r / (0.74 + 0.13 * folds));
    ventricle =
        std::max(inside(radius(p, {-11, -6, 6}, {7, 25, 12})), inside(radius(p, {10, -2, 4}, {8, 22, 10})));
  }

  double brightness() const {
    const double tissue = 95 * brain + 60 * white * brain;
    return 45 * skull + tissue * (1 - 0.85 * ventricle);
  }
  int label() const {
    return ventricle > 0.5 ? kVentricle : white * brain > 0.5 ? kWhite : brain > 0.5 ? kGrey : 0;
  }
};

/// Where a point of the second head was in the first: 14 degrees about one axis, 8 about another, some
/// millimetres, and waves of up to 6 mm.
Point in_first(const Point& p) {
  const double a = 14 * std::numbers::pi / 180, b = 8 * std::numbers::pi / 180;
  const Point turned{std::cos(a) * p[0] - std::sin(a) * p[1], std::sin(a) * p[0] + std::cos(a) * p[1], p[2]};
  Point q{turned[0] + 6, std::cos(b) * turned[1] - std::sin(b) * turned[2] - 4,
          std::sin(b) * turned[1] + std::cos(b) * turned[2] + 5};
  q = {1.04 * q[0] + 5 * std::sin(q[1] / 24 + 0.5), 0.97 * q[1] + 5 * std::sin(q[2] / 21 - 0.4),
       q[2] + 5 * std::sin(q[0] / 23 + 1)};
  return q;
}

/// A value a voxel, by its point.
io::Nifti image_of(const std::function<double(const Point&)>& value) {
  io::Nifti image;
  image.shape = {kWide, kDeep, kHigh};
  image.spacing = {kVoxel, kVoxel, kVoxel};
  const auto first = [](std::int64_t count) { return -kVoxel * static_cast<double>(count - 1) / 2; };
  image.affine = {{{kVoxel, 0, 0, first(kWide)}, {0, kVoxel, 0, first(kDeep)}, {0, 0, kVoxel, first(kHigh)}}};
  image.type = io::NiftiType::uint8;
  image.description = "made up by warploom example";
  for (std::int64_t k = 0; k < kHigh; ++k)
    for (std::int64_t j = 0; j < kDeep; ++j)
      for (std::int64_t i = 0; i < kWide; ++i)
        image.data.push_back(static_cast<float>(value({kVoxel * static_cast<double>(i) + first(kWide),
                                                       kVoxel * static_cast<double>(j) + first(kDeep),
                                                       kVoxel * static_cast<double>(k) + first(kHigh)})));
  return image;
}

}  // namespace

TwoHeads made_up_heads() {
  const auto same = [](const Point& p) { return p; };
  Random random(6);
  const auto scan = [&](auto from, double gain) {
    return image_of([&, from, gain](const Point& p) {
      return std::clamp(std::round(gain * Head(from(p)).brightness() + 5 * random.normal()), 0.0, 255.0);
    });
  };
  const auto labels = [](auto from) {
    return image_of([from](const Point& p) { return Head(from(p)).label(); });
  };
  return {scan(same, 1), labels(same), scan(in_first, 0.8), labels(in_first)};
}

}  // namespace warploom::tool
