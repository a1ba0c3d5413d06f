#include "registration/affine_objective.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace warploom::registration {
namespace {

class ImagesOnTheCpu final : public AffineImages {
 public:
  ImagesOnTheCpu(const Level& fixed, const Level& moving, Measure measure, int radius)
      : finest_fixed_(fixed), finest_moving_(moving), measure_(measure), radius_(radius) {}

  void coarsen(double spacing) override {
    there_.reset(), back_.reset();
    fixed_ = coarser(finest_fixed_, spacing), moving_ = coarser(finest_moving_, spacing);
  }
  const Level& fixed() override { return fixed_; }
  const Level& moving() override { return moving_; }
  AffineMeasure& there() override {
    if (!there_) there_.emplace(fixed_, moving_, measure_, radius_);
    return *there_;
  }
  AffineMeasure& back() override {
    if (!back_) back_.emplace(moving_, fixed_, measure_, radius_);
    return *back_;
  }

 private:
  const Level &finest_fixed_, &finest_moving_;
  Measure measure_;
  int radius_;
  Level fixed_, moving_;
  std::optional<AffineObjective> there_, back_;
};

}  // namespace

std::int64_t counted(const Level& level) {
  if (level.counts.empty()) return level.extents().voxels();
  return static_cast<std::int64_t>(level.counts.size()) -
         std::count(level.counts.begin(), level.counts.end(), std::uint8_t{0});
}

std::unique_ptr<AffineImages> images_on_the_cpu(const Level& fixed, const Level& moving, Measure measure,
                                                int radius) {
  return std::make_unique<ImagesOnTheCpu>(fixed, moving, measure, radius);
}

VoxelMap voxel_map(const Affine& affine, const Space& fixed, const Space& moving) {
  const Affine map = compose(compose(fixed.to_world, affine), inverse(moving.to_world));
  VoxelMap out{};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) out[r][c] = static_cast<float>(map[r][c]);
  return out;
}

// Voxels of the moving image are to_moving * affine * voxels of the fixed one.
Affine by_the_map(const std::array<double, 12>& moments, const Space& fixed, const Space& moving) {
  const Affine to_moving = inverse(moving.to_world);
  const Affine& from = fixed.to_world;
  Affine out{};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t k = 0; k < 4; ++k) {
          const double point = c < 3 ? from[c][k] : k == 3 ? 1.0 : 0.0;
          out[r][c] += to_moving[i][r] * moments[4 * i + k] * point;
        }
  return out;
}

AffineObjective::AffineObjective(const Level& fixed, const Level& moving, Measure measure, int radius)
    : fixed_(fixed),
      moving_(moving),
      grid_(fixed.extents()),
      measure_(make_measure(measure, radius, grid_, spacing_of(fixed.space.to_world), counted(fixed))),
      warped_(fixed.data.size()),
      gradient_(3 * fixed.data.size()),
      counts_(fixed.data.size()) {}

std::int64_t AffineObjective::overlap() {
  return static_cast<std::int64_t>(counts_.size()) -
         std::count(counts_.begin(), counts_.end(), std::uint8_t{0});
}

double AffineObjective::value(const Affine& affine, Affine* derivative) {
  if (fixed_.counts.empty())
    std::fill(counts_.begin(), counts_.end(), std::uint8_t{1});
  else
    counts_ = fixed_.counts;
  const VoxelMap map = voxel_map(affine, fixed_.space, moving_.space);
  for_strips(grid_, [&](const Strip& strip, std::int64_t) {
    sample_({grid_, strip, moving_.extents(), moving_.data.data(),
             moving_.counts.empty() ? nullptr : moving_.counts.data(), map, nullptr, 1, warped_.data(),
             derivative != nullptr ? gradient_.data() : nullptr, counts_.data()});
  });
  const double value = measure_->value(fixed_.data.data(), warped_.data(), counts_.data());
  if (derivative == nullptr) return value;

  // By the map between voxels: sums of d g_i times x, y, z and 1.
  using Sums = std::array<double, 12>;
  std::vector<Sums> sums(static_cast<std::size_t>(Strips(grid_).count()));
  for_strips(grid_, [&](const Strip& strip, std::int64_t k) {
    Sums& of = sums[static_cast<std::size_t>(k)] = {};
    measure_->derivative(strip, [&](std::int64_t y, const float*, const float* d_moving) {
      double row[6] = {};
      moments_({grid_.nx, grid_.voxels(), d_moving, gradient_.data() + (strip.z * grid_.ny + y) * grid_.nx},
               row);
      for (std::size_t i = 0; i < 3; ++i) {
        of[4 * i] += row[2 * i + 1];
        of[4 * i + 1] += row[2 * i] * static_cast<double>(y);
        of[4 * i + 2] += row[2 * i] * static_cast<double>(strip.z);
        of[4 * i + 3] += row[2 * i];
      }
    });
  });
  Sums total{};
  for (const Sums& s : sums)
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += s[i];

  *derivative = by_the_map(total, fixed_.space, moving_.space);
  const double share = 1.0 / static_cast<double>(counted(fixed_));
  for (auto& row : *derivative)
    for (double& v : row) v *= share;
  return value;
}

std::vector<double> AffineObjective::values(const std::vector<Affine>& maps) {
  std::vector<double> out;
  for (const Affine& map : maps) out.push_back(value(map));
  return out;
}

double TwoSidedObjective::value(const Affine& affine, Affine* derivative) {
  const Affine back = inverse(affine);
  Affine by_back{};
  const double value = (there_.value(affine, derivative) + back_.value(back, &by_back)) / 2;
  // The inverse B of A changes by -B dA B.
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        double along = c == 3 ? by_back[i][3] : 0;
        for (std::size_t j = 0; c < 3 && j < 4; ++j) along += by_back[i][j] * back[c][j];
        sum += back[i][r] * along;
      }
      (*derivative)[r][c] = ((*derivative)[r][c] - sum) / 2;
    }
  return value;
}

}  // namespace warploom::registration
