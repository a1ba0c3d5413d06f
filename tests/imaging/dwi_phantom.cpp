#include "imaging/dwi_phantom.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

using std::numbers::pi;
using Vector = std::array<double, 3>;

// One value in [0, 1) after the other; the standard library's distributions differ between systems.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : engine_(seed) {}
  double uniform() { return (static_cast<double>(engine_()) + 0.5) / 4294967296.0; }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  // Two independent normal values of variance 1.
  std::array<double, 2> normals() {
    const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * pi * uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  std::mt19937 engine_;
};

// A smooth function of place with values in about [-1, 1]: three waves of different directions, each a few
// periods a head at most.
struct Smooth {
  std::array<Vector, 3> wave;
  Vector phase;
  explicit Smooth(Draw& draw) {
    for (std::size_t k = 0; k < 3; ++k) {
      for (double& component : wave[k]) component = draw.between(-1, 1) * 2 * pi;
      phase[k] = draw.between(0, 2 * pi);
    }
  }
  double operator()(const Vector& p) const {
    double sum = 0;
    for (std::size_t k = 0; k < 3; ++k)
      sum += std::sin(wave[k][0] * p[0] + wave[k][1] * p[1] + wave[k][2] * p[2] + phase[k]);
    return sum / 3;
  }
};

// A tube along a curved line y = f(x), z = g(x), with x, y, z any permutation of the axes.
struct Tube {
  std::size_t along = 0;  // axis
  double y0 = 0, bend_y = 0, phase_y = 0, z0 = 0, bend_z = 0, phase_z = 0, frequency = 0, radius = 0;
  double anisotropy = 0;  // the shape of its tensor: added along minus across [um^2/ms]

  static double wave(double bend, double frequency, double at, double phase) {
    return bend * std::sin(frequency * at + phase);
  }
  // `p` in millimetres from the middle of the head.
  bool contains(const Vector& p) const {
    const double x = p[along], y = p[(along + 1) % 3], z = p[(along + 2) % 3];
    return std::hypot(y - y0 - wave(bend_y, frequency, x, phase_y),
                      z - z0 - wave(bend_z, frequency, x, phase_z)) < radius;
  }
  Vector direction(const Vector& p) const {
    const double x = p[along];
    Vector d{};
    d[along] = 1;
    d[(along + 1) % 3] = bend_y * frequency * std::cos(frequency * x + phase_y);
    d[(along + 2) % 3] = bend_z * frequency * std::cos(frequency * x + phase_z);
    const double length = std::hypot(d[0], d[1], d[2]);
    for (double& component : d) component /= length;
    return d;
  }
};

// A part of a voxel's signal: S0 exp(-b (across + along (g . u)^2)).
struct Part {
  double s0 = 0, across = 0, along = 0;
  Vector u{};
};
struct Point {
  Tissue tissue = Tissue::outside;
  int parts = 0;
  std::array<Part, 2> part{};
};

class Head {
 public:
  explicit Head(const DwiPhantomOptions& options)
      : draw_(options.layout * 2654435761U + 17),
        half_{0.47 * static_cast<double>(options.nx) * options.spacing,
              0.47 * static_cast<double>(options.ny) * options.spacing,
              // A slab through the head: its rim meets the first and last slices only far out.
              0.85 * static_cast<double>(options.nz) * options.spacing},
        bias_(draw_),
        diffusivity_(draw_),
        shape_(draw_),
        turn_a_(draw_),
        turn_b_(draw_),
        fold_(draw_),
        contrast_(draw_) {
    const double voxel = options.spacing;
    for (const std::size_t along : {0U, 1U}) {
      // Both thick bundles pass near the middle, where they cross.
      Tube& tube = thick_[along];
      tube = {along,
              draw_.between(-2, 2),
              draw_.between(0.08, 0.14) * half_[0],
              draw_.between(-0.5, 0.5) + (along == 0 ? 0 : pi),
              draw_.between(-1, 1),
              draw_.between(0.01, 0.03) * half_[0],
              draw_.between(0, 2 * pi),
              draw_.between(0.5, 0.9) * pi / half_[0],
              3.4 * voxel,
              draw_.between(1.1, 1.4)};
      if (along == 1) std::swap(tube.bend_y, tube.bend_z);  // the same plane for both
    }
    for (std::size_t k = 0; k < thin_.size(); ++k) {
      const double place = (k % 2 == 0 ? 1 : -1) * draw_.between(0.3, 0.45);
      Tube& tube = thin_[k];
      tube.along = k < 2 ? 0U : k < 4 ? 1U : 2U;
      const std::size_t second = (tube.along + 1) % 3, third = (tube.along + 2) % 3;
      tube.y0 = (second == 2 ? 0.25 : 1) * place * half_[second];
      tube.z0 = (third == 2 ? 0.25 : 1) * (k % 2 == 0 ? 1 : -1) * draw_.between(0.25, 0.45) * half_[third];
      tube.bend_y = draw_.between(0.02, 0.06) * half_[0];
      tube.bend_z = draw_.between(0.02, 0.06) * half_[0];
      tube.phase_y = draw_.between(0, 2 * pi);
      tube.phase_z = draw_.between(0, 2 * pi);
      tube.frequency = draw_.between(1, 1.6) * pi / half_[0];
      tube.radius = voxel;  // two voxels wide
      tube.anisotropy = draw_.between(1.0, 1.35);
    }
    for (std::size_t k = 0; k < 2; ++k)
      ventricle_[k] = {(k == 0 ? 1 : -1) * draw_.between(0.2, 0.3) * half_[0],
                       draw_.between(0.3, 0.4) * half_[1] * (draw_.uniform() < 0.5 ? -1 : 1),
                       draw_.between(-0.1, 0.1) * half_[2]};
  }

  // How far out a place lies: 0 in the middle, 1 at the rim.
  double reach(const Vector& p) const {
    return std::hypot(p[0] / half_[0], p[1] / half_[1], p[2] / half_[2]);
  }

  Point at(const Vector& p) const {
    const Vector q{p[0] / half_[0], p[1] / half_[1], p[2] / half_[2]};
    const double reach = std::hypot(q[0], q[1], q[2]);
    if (reach > 1) return {};
    Point point;
    const double bias = 1 + 0.15 * bias_(q), spread = 1 + 0.08 * diffusivity_(q);
    const double angle = std::atan2(q[1], q[0]);
    const double fold = 0.035 * std::sin(9 * angle + 3 * fold_(q));
    const bool ventricle = std::ranges::any_of(ventricle_, [&](const Vector& middle) {
      return std::hypot((p[0] - middle[0]) / (0.11 * half_[0]), (p[1] - middle[1]) / (0.24 * half_[1]),
                        (p[2] - middle[2]) / (0.5 * half_[2])) < 1;
    });
    if (reach > 0.92 + fold || ventricle) {
      point.tissue = Tissue::water;
      add(point, {2200 * bias, 3.0 * (1 + 0.02 * diffusivity_(q)), 0, {}});
      return point;
    }
    if (reach < 0.76 + fold) {
      for (const Tube& tube : thick_)
        if (tube.contains(p)) add(point, of(tube, p, q, 1000 * bias, spread));
      if (point.parts == 2) {
        const double share = 0.5 + 0.15 * contrast_(q);
        point.part[0].s0 *= share;
        point.part[1].s0 *= 1 - share;
        point.tissue = Tissue::crossing;
        return point;
      }
      if (point.parts == 1) {
        point.tissue = Tissue::bundle;
        return point;
      }
      for (const Tube& tube : thin_)
        if (tube.contains(p)) {
          point.tissue = Tissue::thin;
          add(point, of(tube, p, q, 1000 * bias, spread));
          return point;
        }
    }
    // Grey matter is a little anisotropic, the diffuse tissue inside it somewhat more; directions turn
    // slowly.
    const double cortex = reach > 0.76 + fold ? 1 : 0;
    const double polar = pi / 2 + 0.9 * turn_a_(q), azimuth = 2.5 * turn_b_(q);
    const double along = (cortex == 1 ? 0.12 : 0.3) * (1 + 0.6 * shape_(q));
    const double mean = (0.82 + 0.08 * cortex) * spread;
    point.tissue = Tissue::grey;
    add(point, {(1080 + 220 * cortex + 60 * contrast_(q)) * bias,
                mean - along / 3,
                along,
                {std::sin(polar) * std::cos(azimuth), std::sin(polar) * std::sin(azimuth), std::cos(polar)}});
    return point;
  }

 private:
  static void add(Point& point, const Part& part) {
    point.part[static_cast<std::size_t>(point.parts++)] = part;
  }
  Part of(const Tube& tube, const Vector& p, const Vector& q, double s0, double spread) const {
    const double along = tube.anisotropy * (1 + 0.15 * shape_(q));
    return {s0, 0.74 * spread - along / 3, along, tube.direction(p)};
  }

  Draw draw_;
  Vector half_;  // [mm]
  Smooth bias_, diffusivity_, shape_, turn_a_, turn_b_, fold_, contrast_;
  std::array<Tube, 2> thick_;
  std::array<Tube, 6> thin_;
  std::array<Vector, 2> ventricle_;
};

// Points of a spiral over half a sphere, taken in an order that keeps neighbours in time apart.
std::vector<Vector> spread_directions(int count) {
  std::vector<Vector> directions;
  const double golden = pi * (3 - std::sqrt(5.0));
  for (int k = 0; k < count; ++k) {
    const int i = k * 17 % count;
    const double z = 1 - (i + 0.5) / count, ring = std::sqrt(1 - z * z);
    directions.push_back({ring * std::cos(golden * i), ring * std::sin(golden * i), z});
  }
  return directions;
}

}  // namespace

const char* name(Tissue tissue) {
  constexpr std::array<const char*, 6> kNames{"outside", "bundle", "thin", "crossing", "grey", "water"};
  return kNames[static_cast<std::size_t>(tissue)];
}

DwiPhantom dwi_phantom(const DwiPhantomOptions& options) {
  DwiPhantom phantom;
  io::Gradients& gradients = phantom.clean.gradients;
  gradients.frame = io::Frame::image;
  gradients.b.assign(static_cast<std::size_t>(options.unweighted), 0);
  gradients.directions.assign(gradients.b.size(), Vector{});
  for (const Vector& direction : spread_directions(options.directions)) {
    gradients.b.push_back(1000);
    gradients.directions.push_back(direction);
  }
  const std::array<double, 3> spacing{options.spacing, options.spacing, options.spacing};
  const Grid grid{options.nx, options.ny, options.nz, spacing};
  const int volumes = options.unweighted + options.directions;
  phantom.clean.image = Image(grid, volumes);
  io::Nifti& header = phantom.clean.header;
  header.shape = {grid.nx, grid.ny, grid.nz, volumes};
  header.spacing = spacing;
  // Oblique, turned about two axes, x reversed as most scanners store it: a negative determinant.
  const double a = 0.21, b = 0.13, h = options.spacing;
  header.affine = {{{-h * std::cos(a), h * std::sin(a) * std::cos(b), -h * std::sin(a) * std::sin(b), 61},
                    {h * std::sin(a), h * std::cos(a) * std::cos(b), -h * std::cos(a) * std::sin(b), -58},
                    {0, h * std::sin(b), h * std::cos(b), -19}}};

  const Head head(options);
  const std::size_t voxels = static_cast<std::size_t>(grid.voxels());
  phantom.tissue.assign(voxels, Tissue::outside);
  phantom.mask.assign(voxels, 0);
  phantom.noise.assign(voxels, 1);
  parallel_for(grid.nz, [&](std::int64_t z) {
    constexpr std::array<int, 3> kPoints{4, 4, 2};
    constexpr double kShare = 1.0 / 32;
    std::vector<double> signal(static_cast<std::size_t>(volumes));
    for (std::int64_t y = 0; y < grid.ny; ++y)
      for (std::int64_t x = 0; x < grid.nx; ++x) {
        const std::size_t voxel = static_cast<std::size_t>((z * grid.ny + y) * grid.nx + x);
        const auto place = [&](std::int64_t i, std::int64_t extent, double within) {
          return (static_cast<double>(i) + within - static_cast<double>(extent) / 2) * options.spacing;
        };
        std::ranges::fill(signal, 0);
        std::array<int, 6> count{};
        for (int k = 0; k < 32; ++k) {
          const Point point = head.at({place(x, grid.nx, (k % 4 + 0.5) / kPoints[0]),
                                       place(y, grid.ny, (k / 4 % 4 + 0.5) / kPoints[1]),
                                       place(z, grid.nz, (k / 16 + 0.5) / kPoints[2])});
          ++count[static_cast<std::size_t>(point.tissue)];
          for (std::size_t part = 0; part < static_cast<std::size_t>(point.parts); ++part) {
            const auto& [s0, across, along, u] = point.part[part];
            for (std::size_t v = 0; v < signal.size(); ++v) {
              const Vector& g = gradients.directions[v];
              const double cosine = g[0] * u[0] + g[1] * u[1] + g[2] * u[2];
              signal[v] +=
                  kShare * s0 * std::exp(-gradients.b[v] / 1000 * (across + along * cosine * cosine));
            }
          }
        }
        for (std::size_t v = 0; v < signal.size(); ++v)
          phantom.clean.image.data[v * voxels + voxel] = static_cast<float>(signal[v]);
        const auto most = std::max_element(count.begin() + 1, count.end());
        if (2 * count[0] >= 32) continue;
        phantom.tissue[voxel] = static_cast<Tissue>(most - count.begin());
        phantom.mask[voxel] = 1;
        const double reach =
            head.reach({place(x, grid.nx, 0.5), place(y, grid.ny, 0.5), place(z, grid.nz, 0.5)});
        phantom.noise[voxel] =
            static_cast<float>(1 + options.noise_variation * std::max(0.0, 1 - reach * reach));
      }
  });
  double sum = 0, inside = 0;
  for (std::size_t v = 0; v < voxels; ++v)
    if (phantom.mask[v] != 0) sum += static_cast<double>(phantom.noise[v]), ++inside;
  for (float& noise : phantom.noise) noise = static_cast<float>(static_cast<double>(noise) * inside / sum);
  return phantom;
}

Series with_noise(const DwiPhantom& phantom, double snr, std::uint32_t seed) {
  Series series = phantom.clean;
  Draw draw(seed);
  const std::size_t voxels = phantom.noise.size();
  for (std::size_t at = 0; at < series.image.data.size(); ++at) {
    const double sigma = 1000 / snr * static_cast<double>(phantom.noise[at % voxels]);
    const auto [real, imaginary] = draw.normals();
    float& value = series.image.data[at];
    value = static_cast<float>(std::hypot(static_cast<double>(value) + sigma * real, sigma * imaginary));
  }
  return series;
}

}  // namespace warploom::imaging
