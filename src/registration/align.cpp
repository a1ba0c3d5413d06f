#include "warploom/registration/align.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>

#include "core/doors.hpp"
#include "registration/devices.hpp"
#include "registration/motion.hpp"
#include "registration/stages.hpp"
#include "warploom/core/error.hpp"

namespace warploom::registration {
namespace {

// Along the fixed image at the coarsest resolution.
constexpr double kCoarsestExtent = 32;
// What an affine map is to gain from finer voxels is less than rounding if an image has more, in the mean.
constexpr std::int64_t kMostVoxels = 500'000;
// Starts that are improved at the coarsest resolution, and how many of them go on to the next.
constexpr std::size_t kImproved = 10, kGoOn = 3;
// Starts whose turns differ by less have one optimum [radians].
constexpr double kSameTurn = 0.4;

struct Candidate {
  Affine affine;
  double value;
  bool upright;  ///< begun without a turn, as the headers have it
};

// Middle of what is brighter than the mean.
Point middle_of_mass(const Level& level) {
  const auto [nx, ny, nz] = level.extents();
  double sum = 0;
  Point voxel{};
  for (std::int64_t z = 0; z < nz; ++z)
    for (std::int64_t y = 0; y < ny; ++y)
      for (std::int64_t x = 0; x < nx; ++x) {
        const auto at = static_cast<std::size_t>((z * ny + y) * nx + x);
        if (!level.counts.empty() && level.counts[at] == 0) continue;
        const double mass = std::max(0.0, double(level.data[at]));
        sum += mass;
        voxel[0] += mass * static_cast<double>(x), voxel[1] += mass * static_cast<double>(y),
            voxel[2] += mass * static_cast<double>(z);
      }
  for (double& v : voxel) v /= sum;
  return map_point(level.space.to_world, voxel);
}

Point middle_of_grid(const Space& space) {
  const auto half = [](std::int64_t n) { return static_cast<double>(n - 1) / 2; };
  return map_point(space.to_world, {half(space.grid.nx), half(space.grid.ny), half(space.grid.nz)});
}

Point difference(const Point& to, const Point& from) {
  return {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
}

// BFGS on steps from where it is: the history of gradients is kept as if the steps' space were flat.
template <class Objective>
class Climb {
 public:
  Climb(Objective& objective, const MotionModel& model, double voxel, int& evaluations)
      : objective_(objective),
        model_(model),
        voxel_(voxel),
        evaluations_(evaluations),
        n_(model.parameters()) {}

  Candidate from(const Candidate& start, int iterations) {
    Affine at = start.affine, by_map{};
    double value = evaluate(at, by_map);
    std::vector<double> gradient = model_.gradient(at, by_map), hessian;
    for (int iteration = 0; iteration < iterations; ++iteration) {
      const double steepness = norm(gradient);
      if (!(steepness > 0)) break;
      const bool fresh = hessian.empty();
      if (fresh) {  // a voxel along the gradient, to begin with
        hessian.assign(n_ * n_, 0);
        for (std::size_t i = 0; i < n_; ++i) hessian[i * n_ + i] = voxel_ / steepness;
      }
      std::vector<double> direction(n_, 0);
      for (std::size_t i = 0; i < n_; ++i)
        for (std::size_t j = 0; j < n_; ++j) direction[i] += hessian[i * n_ + j] * gradient[j];
      double slope = std::inner_product(direction.begin(), direction.end(), gradient.begin(), 0.0);
      if (!(slope > 0)) {
        hessian.clear();
        continue;
      }
      const double length = norm(direction);
      double scale = std::min(1.0, 4 * voxel_ / length);
      bool found = false;
      for (int half = 0; half < 8; ++half, scale /= 3) {
        if (scale * length < 2e-4 * voxel_) break;
        std::vector<double> step = direction;
        for (double& v : step) v *= scale;
        const Affine there = model_.moved(at, step);
        Affine by_map_there{};
        const double value_there = evaluate(there, by_map_there);
        if (!(value_there > value + 1e-4 * scale * slope)) continue;
        const std::vector<double> gradient_there = model_.gradient(there, by_map_there);
        update(hessian, step, gradient, gradient_there);
        const double gain = value_there - value;
        at = there, value = value_there, gradient = gradient_there, found = true;
        if (gain < 1e-7 * std::abs(value) || scale * length < 2e-3 * voxel_)
          return {at, value, start.upright};
        break;
      }
      if (found) continue;
      if (fresh) break;
      hessian.clear();  // once more, along the gradient
    }
    return {at, value, start.upright};
  }

 private:
  static double norm(const std::vector<double>& v) {
    return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
  }

  double evaluate(const Affine& at, Affine& by_map) {
    ++evaluations_;
    return objective_.value(at, &by_map);
  }

  // The inverse Hessian of the negative value.
  void update(std::vector<double>& h, const std::vector<double>& step, const std::vector<double>& before,
              const std::vector<double>& after) const {
    std::vector<double> y(n_), hy(n_, 0);
    for (std::size_t i = 0; i < n_; ++i) y[i] = before[i] - after[i];
    const double sy = std::inner_product(step.begin(), step.end(), y.begin(), 0.0);
    if (!(sy > 1e-10 * norm(step) * norm(y))) return;
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j) hy[i] += h[i * n_ + j] * y[j];
    const double yhy = std::inner_product(y.begin(), y.end(), hy.begin(), 0.0);
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j)
        h[i * n_ + j] += (1 + yhy / sy) * step[i] * step[j] / sy - (hy[i] * step[j] + step[i] * hy[j]) / sy;
  }

  Objective& objective_;
  const MotionModel& model_;
  double voxel_;
  int& evaluations_;
  std::size_t n_;
};

// The 24 turns that take axes to axes.
std::vector<Matrix3> right_turns() {
  std::vector<Matrix3> out;
  std::array<std::size_t, 3> order{0, 1, 2};
  do
    for (int signs = 0; signs < 8; ++signs) {
      Matrix3 m{};
      for (std::size_t r = 0; r < 3; ++r) m[r][order[r]] = (signs >> r & 1) != 0 ? -1 : 1;
      const double det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                         m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                         m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
      if (det > 0) out.push_back(m);
    }
  while (std::next_permutation(order.begin(), order.end()));
  return out;
}

std::vector<Matrix3> turns_to_try(const Space& fixed) {
  std::vector<Matrix3> out;
  if (fixed.grid.nz == 1) {
    // About what stands on the plane: x cross y.
    const auto& a = fixed.to_world;
    Point axis{a[1][0] * a[2][1] - a[2][0] * a[1][1], a[2][0] * a[0][1] - a[0][0] * a[2][1],
               a[0][0] * a[1][1] - a[1][0] * a[0][1]};
    const double length = std::hypot(axis[0], axis[1], axis[2]);
    for (double& v : axis) v /= length;
    for (int k = 0; k < 24; ++k) out.push_back(turn(axis, k * std::numbers::pi / 12));
    return out;
  }
  constexpr double kSixth = std::numbers::pi / 6;
  for (const Matrix3& right : right_turns())
    for (int x = -1; x <= 1; ++x)
      for (int y = -1; y <= 1; ++y)
        for (int z = -1; z <= 1; ++z)
          out.push_back(multiply(multiply(turn({1, 0, 0}, x * kSixth),
                                          multiply(turn({0, 1, 0}, y * kSixth), turn({0, 0, 1}, z * kSixth))),
                                 right));
  return out;
}

// The angle between two turns, scales aside.
double angle(const Affine& a, const Affine& b) {
  double trace = 0;
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c) trace += a[r][c] * b[r][c];
  return std::acos(std::clamp((trace - 1) / 2, -1.0, 1.0));
}

bool better(const Candidate& a, const Candidate& b) { return a.value > b.value; }

// Rigid starts, the best first; what the headers say and the middles of mass alone are among them in any
// case.
std::vector<Candidate> find_starts(AffineImages& images, AlignReport& report) {
  const Level &fixed = images.fixed(), &moving = images.moving();
  const Point mass = middle_of_mass(fixed), to_mass = middle_of_mass(moving);
  const Point grid = middle_of_grid(fixed.space), to_grid = middle_of_grid(moving.space);
  const MotionModel about_mass(Motion::rigid, fixed.space, mass, 1),
      about_grid(Motion::rigid, fixed.space, grid, 1);
  constexpr Matrix3 kUnit{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  std::vector<Affine> starts{identity_affine(), about_mass.map(kUnit, difference(to_mass, mass)),
                             about_grid.map(kUnit, difference(to_grid, grid))};
  const auto told = static_cast<std::ptrdiff_t>(starts.size());
  for (const Matrix3& turn : turns_to_try(fixed.space))
    starts.push_back(about_mass.map(turn, difference(to_mass, mass)));
  const std::vector<double> values = images.there().values(starts);
  std::vector<Candidate> chosen;
  for (std::size_t k = 0; k < starts.size(); ++k)
    chosen.push_back({starts[k], values[k], static_cast<std::ptrdiff_t>(k) < told});
  std::vector<Candidate> turned(chosen.begin() + told, chosen.end());
  chosen.resize(static_cast<std::size_t>(told));
  report.before = chosen[0].value;
  report.starts = static_cast<int>(starts.size());
  std::stable_sort(turned.begin(), turned.end(), better);
  for (const Candidate& one : turned) {
    if (chosen.size() == kImproved) break;
    if (std::none_of(chosen.begin(), chosen.end(),
                     [&](const Candidate& c) { return angle(c.affine, one.affine) < kSameTurn; }))
      chosen.push_back(one);
  }
  return chosen;
}

}  // namespace

Motion parse_motion(std::string_view text) {
  if (text == "rigid") return Motion::rigid;
  if (text == "similarity") return Motion::similarity;
  if (text == "affine") return Motion::affine;
  throw BadInput(fmt::format("'{}' is no motion; there are rigid, similarity and affine", text));
}

std::string_view name(Motion motion) {
  static constexpr std::string_view kNames[] = {"rigid", "similarity", "affine"};
  return at_enumerator(kNames, motion, "the motion");
}

Alignment estimate_affine(const PlacedView& fixed, const PlacedView& moving, const AlignOptions& options) {
  const DeviceScope scope(options.run, "alignment", runs_on_a_gpu(options));
  const auto begin = std::chrono::steady_clock::now();
  const Images images(fixed, options.fixed_mask, moving, options.moving_mask, scope.device().is_gpu(), 0);
  Alignment out = align_levels(images.levels, options, images.device.get());
  out.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

Alignment align_levels(const Levels& levels, const AlignOptions& options, DevicePair* device) {
  const auto begin = std::chrono::steady_clock::now();
  name(options.motion), name(options.measure);
  if (options.radius < 1 || options.radius > 8)
    throw BadInput(fmt::format("a radius of {} is out of range; it is from 1 to 8", options.radius));
  if (options.start) {
    check_affine(*options.start, "the start");
    if (io::determinant(*options.start) < 0) throw BadInput("the start mirrors: its determinant is negative");
  }

  const Level &fixed = levels.fixed, &moving = levels.moving;
  const double finest = std::sqrt(smallest_spacing(fixed.space) * smallest_spacing(moving.space));
  const auto spacing = spacing_of(fixed.space.to_world);
  const double extent =
      std::max({static_cast<double>(fixed.space.grid.nx) * spacing[0],
                static_cast<double>(fixed.space.grid.ny) * spacing[1],
                fixed.space.grid.nz > 1 ? static_cast<double>(fixed.space.grid.nz) * spacing[2] : 0.0});
  int resolution = 0, last = 0;
  while (extent / (finest * std::exp2(resolution)) > kCoarsestExtent) ++resolution;
  const auto voxels_at = [&](int at) {
    const double voxel = finest * std::exp2(at);
    return coarser(fixed.space, voxel).grid.voxels() + coarser(moving.space, voxel).grid.voxels();
  };
  while (last < resolution && voxels_at(last) > 2 * kMostVoxels) ++last;

  Alignment out;
  std::vector<Candidate> candidates{{options.start.value_or(identity_affine()), 0, true}};
  // Points of a ball of the image's size lie so far from its middle, in the mean.
  const Point middle = middle_of_grid(fixed.space);
  const double reach = 0.4 * extent;
  const MotionModel model(options.motion, fixed.space, middle, reach),
      rigid(Motion::rigid, fixed.space, middle, reach);
  const std::unique_ptr<AffineImages> images =
      device != nullptr ? device->affine_images(options.radius, finest * std::exp2(last))
                        : images_on_the_cpu(fixed, moving, options.measure, options.radius);
  for (bool first = true; resolution >= last; --resolution, first = false) {
    const double voxel = finest * std::exp2(resolution);
    images->coarsen(voxel);
    AffineMeasure& there = images->there();
    if (first && options.start) {
      out.report.before = there.value(*options.start);
      if (there.overlap() == 0)
        throw BadInput("with this start no voxel of the fixed image meets the moving one");
    } else if (first) {
      candidates = find_starts(*images, out.report);
      Climb climb(there, rigid, voxel, out.report.evaluations);
      for (Candidate& c : candidates) c = climb.from(c, 20);
    }
    if (first || resolution > last) {
      Climb climb(there, model, voxel, out.report.evaluations);
      for (Candidate& c : candidates) c = climb.from(c, 40);
    }
    if (resolution == last) {
      TwoSidedObjective both(there, images->back());
      Climb climb(both, model, voxel, out.report.evaluations);
      for (Candidate& c : candidates) c = climb.from(c, 40);
    }
    std::stable_sort(candidates.begin(), candidates.end(), better);
    // The winner is told from its rivals by finer detail; those that met it are none.
    std::vector<Candidate> going_on;
    for (const Candidate& c : candidates)
      if (going_on.size() < (first ? kGoOn : 1) &&
          std::none_of(going_on.begin(), going_on.end(),
                       [&](const Candidate& g) { return angle(c.affine, g.affine) < kSameTurn / 4; }))
        going_on.push_back(c);
    // Large voxels may like a head better that lies the wrong way round: the finest decide, and what the
    // headers say is there to be chosen.
    const auto upright = std::ranges::find_if(candidates, &Candidate::upright);
    if (upright != candidates.end() && std::ranges::none_of(going_on, &Candidate::upright))
      going_on.push_back(*upright);
    candidates = std::move(going_on);
    ++out.report.resolutions;
  }
  const Candidate& at = candidates.front();
  out.affine = at.affine;
  out.report.after = at.value;
  out.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

}  // namespace warploom::registration
