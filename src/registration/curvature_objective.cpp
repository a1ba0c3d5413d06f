#include "registration/curvature_objective.hpp"

#include <algorithm>
#include <cmath>

#include "core/instruction_sets.hpp"
#include "registration/strips.hpp"

namespace warploom::registration {
namespace {

// A direction that is better by so much is not worth the time: the next step begins elsewhere.
constexpr int kMostDirections = 12;
constexpr double kResidual = 0.1;

/// Lengths along each axis over the smallest.
std::array<double, 3> relative_spacing(const Space& space) {
  std::array<double, 3> out = spacing_of(space.to_world);
  for (double& s : out) s /= smallest_spacing(space);
  return out;
}

}  // namespace

CurvatureObjective::CurvatureObjective(const Level& fixed, const Level& moving, const VoxelMap& map,
                                       double alpha)
    : fixed_(fixed),
      moving_(moving),
      map_(map),
      alpha_(alpha),
      grid_(fixed.extents()),
      voxels_(static_cast<std::size_t>(grid_.voxels())),
      spacing_(relative_spacing(fixed.space)),
      solver_(fixed.space.grid, spacing_),
      warped_(voxels_),
      slopes_(3 * voxels_),
      moving_slopes_(static_cast<std::size_t>(3 * moving.extents().voxels())),
      counts_(voxels_),
      sample_(WARPLOOM_PICK(sample_strip)) {
  const GridSize from = moving.extents();
  const std::vector<float> none(static_cast<std::size_t>(from.nx)), one(none.size(), 1.0F);
  const auto differences = WARPLOOM_PICK(force_row);
  for_strips(from, [&](const Strip& strip, std::int64_t) {
    for (std::int64_t y = strip.y_from; y < strip.y_to; ++y)
      differences({from,
                   y,
                   strip.z,
                   moving.data.data(),
                   moving.data.data(),
                   none.data(),
                   one.data(),
                   {1, 1, 1},
                   moving_slopes_.data()});
  });
}

template <class Body>
void CurvatureObjective::for_planes(Body&& body) const {
  const auto plane = static_cast<std::size_t>(grid_.nx * grid_.ny);
  parallel_for(grid_.nz, [&](std::int64_t z) {
    const auto first = static_cast<std::size_t>(z) * plane;
    body(static_cast<std::size_t>(z), first, first + plane);
  });
}

CurvatureObjective::Value CurvatureObjective::look(const std::vector<float>& u) {
  std::fill(counts_.begin(), counts_.end(), std::uint8_t{1});
  for_strips(grid_, [&](const Strip& strip, std::int64_t) {
    sample_({grid_, strip, moving_.extents(), moving_.data.data(),
             moving_.counts.empty() ? nullptr : moving_.counts.data(), map_, u.data(), 1, warped_.data(),
             nullptr, counts_.data()});
    for (std::int64_t c = 0; c < 3; ++c)
      sample_({grid_, strip, moving_.extents(), moving_slopes_.data() + c * moving_.extents().voxels(),
               nullptr, map_, u.data(), 1, slopes_.data() + c * grid_.voxels(), nullptr, nullptr});
  });
  const auto planes = static_cast<std::size_t>(grid_.nz);
  std::vector<double> squares(planes), count(planes), bent(planes);
  for_planes([&](std::size_t z, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      if (!fixed_.counts.empty() && fixed_.counts[i] == 0) counts_[i] = 0;
      if (counts_[i] == 0) continue;
      const double d = double(warped_[i]) - double(fixed_.data[i]);
      squares[z] += d * d, ++count[z];
    }
  });
  std::vector<float> bend(voxels_);
  for (std::size_t c = 0; c < 3; ++c) {
    laplacian(std::span(u).subspan(c * voxels_, voxels_), bend);
    for_planes([&](std::size_t z, std::size_t first, std::size_t last) {
      double sum = 0;
      for (std::size_t i = first; i < last; ++i) sum += double(bend[i]) * double(bend[i]);
      bent[z] += sum * spacing_[c] * spacing_[c];
    });
  }
  double sum = 0, counted = 0, bending = 0;
  for (std::size_t z = 0; z < planes; ++z) sum += squares[z], counted += count[z], bending += bent[z];
  const double differences = sum / std::max(counted, 1.0);
  return {differences / 2 + alpha_ / 2 * bending / static_cast<double>(voxels_), differences};
}

double CurvatureObjective::force(std::vector<float>& out) {
  std::vector<float> longest(static_cast<std::size_t>(grid_.nz));
  for_planes([&](std::size_t z, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      std::array<float, 3> along{};
      if (counts_[i] != 0)
        for (std::size_t c = 0; c < 3; ++c) {
          for (std::size_t r = 0; r < 3; ++r) along[c] += slopes_[r * voxels_ + i] * map_[r][c];
          along[c] /= static_cast<float>(spacing_[c]);
        }
      const float d = counts_[i] == 0 ? 0.0F : fixed_.data[i] - warped_[i];
      float length = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        slopes_[c * voxels_ + i] = along[c];
        out[c * voxels_ + i] = d * along[c], length += d * along[c] * d * along[c];
      }
      longest[z] = std::max(longest[z], length);
    }
  });
  return std::sqrt(double(std::ranges::max(longest)));
}

void CurvatureObjective::semi_implicit(const std::vector<float>& u, const std::vector<float>& force,
                                       double tau, std::vector<float>& out) const {
  for (std::size_t c = 0; c < 3; ++c) {
    const auto by = static_cast<float>(tau / spacing_[c]);
    for_planes([&](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t i = c * voxels_ + first; i < c * voxels_ + last; ++i) out[i] = u[i] + by * force[i];
    });
    solver_.solve(std::span(out).subspan(c * voxels_, voxels_), tau * alpha_);
  }
}

void CurvatureObjective::laplacian(std::span<const float> f, std::span<float> out) const {
  float weight[3];
  for (std::size_t a = 0; a < 3; ++a) weight[a] = static_cast<float>(1 / (spacing_[a] * spacing_[a]));
  const auto row = WARPLOOM_PICK(laplacian_row);
  parallel_for(grid_.nz, [&](std::int64_t z) {
    for (std::int64_t y = 0; y < grid_.ny; ++y)
      row({grid_, y, z, f.data(), {weight[0], weight[1], weight[2]}, out.data()});
  });
}

void CurvatureObjective::hessian(const std::vector<float>& p, std::vector<float>& scratch,
                                 std::vector<float>& out) const {
  const std::span<float> once = std::span(scratch).first(voxels_), along = std::span(scratch).last(voxels_);
  for_planes([&](std::size_t, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      float sum = 0;
      for (std::size_t c = 0; c < 3; ++c) sum += slopes_[c * voxels_ + i] * p[c * voxels_ + i];
      along[i] = sum;
    }
  });
  const auto alpha = static_cast<float>(alpha_);
  for (std::size_t c = 0; c < 3; ++c) {
    const std::span<float> to = std::span(out).subspan(c * voxels_, voxels_);
    laplacian(std::span(p).subspan(c * voxels_, voxels_), once);
    laplacian(once, to);
    for_planes([&](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) to[i] = alpha * to[i] + slopes_[c * voxels_ + i] * along[i];
    });
  }
}

double CurvatureObjective::dot(const std::vector<float>& a, const std::vector<float>& b) const {
  std::vector<double> of_plane(static_cast<std::size_t>(grid_.nz));
  for_planes([&](std::size_t z, std::size_t first, std::size_t last) {
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t i = c * voxels_ + first; i < c * voxels_ + last; ++i)
        of_plane[z] += double(a[i]) * double(b[i]);
  });
  double sum = 0;
  for (const double part : of_plane) sum += part;
  return sum;
}

void CurvatureObjective::gauss_newton(const std::vector<float>& u, const std::vector<float>& force,
                                      std::vector<float>& out) const {
  const double mu = std::max(dot(slopes_, slopes_) / (3 * static_cast<double>(voxels_)), 1e-6);
  std::vector<float> residual(force), preconditioned(force.size()), direction(force.size()),
      product(force.size()), scratch(2 * voxels_);
  const auto for_all = [&](auto&& body) {
    for_planes([&](std::size_t, std::size_t first, std::size_t last) {
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t i = c * voxels_ + first; i < c * voxels_ + last; ++i) body(c, i);
    });
  };
  // The bending that u has already.
  for_all([&](std::size_t c, std::size_t i) { direction[i] = u[i] * static_cast<float>(spacing_[c]); });
  for (std::size_t c = 0; c < 3; ++c) {
    laplacian(std::span(direction).subspan(c * voxels_, voxels_), scratch);
    laplacian(std::span(scratch).first(voxels_), std::span(product).subspan(c * voxels_, voxels_));
  }
  const auto alpha = static_cast<float>(alpha_);
  for_all([&](std::size_t, std::size_t i) { residual[i] -= alpha * product[i], out[i] = 0; });
  const auto precondition = [&] {
    for_all([&](std::size_t, std::size_t i) { preconditioned[i] = residual[i] / static_cast<float>(mu); });
    for (std::size_t c = 0; c < 3; ++c)
      solver_.solve(std::span(preconditioned).subspan(c * voxels_, voxels_), alpha_ / mu);
  };
  precondition();
  direction = preconditioned;
  double remaining = dot(residual, preconditioned);
  const double enough = kResidual * kResidual * remaining;
  for (int k = 0; k < kMostDirections && remaining > enough; ++k) {
    hessian(direction, scratch, product);
    const double curved = dot(direction, product);
    if (!(curved > 0)) break;
    const auto by = static_cast<float>(remaining / curved);
    for_all([&](std::size_t, std::size_t i) {
      out[i] += by * direction[i];
      residual[i] -= by * product[i];
    });
    precondition();
    const double next = dot(residual, preconditioned);
    const auto keep = static_cast<float>(next / remaining);
    for_all([&](std::size_t, std::size_t i) { direction[i] = preconditioned[i] + keep * direction[i]; });
    remaining = next;
  }
  for_all([&](std::size_t c, std::size_t i) { out[i] /= static_cast<float>(spacing_[c]); });
}

}  // namespace warploom::registration
