#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "registration/measure.hpp"

namespace warploom::registration {
namespace {

constexpr int kBins = 64;
// Values are told apart on the scale of asinh, from -10 to 10 standard deviations: finely about the mean, and
// none is lost.
constexpr float kRange = 3;

// A value's share in four bins, by the cubic B-spline, and how the shares change with it.
struct Shares {
  int first;
  float weight[4], slope[4];

  explicit Shares(float value) {
    constexpr float kScale = (kBins - 4) / (2 * kRange);
    const float root = std::sqrt(1 + value * value);
    const float place = std::asinh(value);
    const bool cut = place < -kRange || place > kRange;
    const float at = 1 + kScale * (std::min(std::max(place, -kRange), kRange) + kRange);
    const int cell = std::min(static_cast<int>(at), kBins - 4);
    const float t = at - static_cast<float>(cell), s = 1 - t;
    const float by_value = cut ? 0.0F : kScale / root;
    first = cell - 1;
    weight[0] = s * s * s / 6, weight[3] = t * t * t / 6;
    weight[1] = 2 / 3.F - t * t * (2 - t) / 2, weight[2] = 2 / 3.F - s * s * (2 - s) / 2;
    slope[0] = -s * s / 2 * by_value, slope[3] = t * t / 2 * by_value;
    slope[1] = (1.5F * t * t - 2 * t) * by_value, slope[2] = (2 * s - 1.5F * s * s) * by_value;
  }
};

using Histogram = std::array<float, kBins * kBins>;  // [fixed, moving]

// (H(I) + H(J)) / H(I, J) of the voxels that count, less 1, times their share of all. The joint histogram is
// a sum of products of shares, so that its entropies have derivatives by every value: a table over bins, from
// which each voxel takes its sixteen.
class MutualInformation : public ImageMeasure {
 public:
  MutualInformation(const GridSize& grid, std::int64_t voxels)
      : grid_(grid), voxels_(static_cast<double>(voxels)) {}

  double value(const float* fixed, const float* moving, const std::uint8_t* counts) override {
    fixed_ = fixed, moving_ = moving, counts_ = counts;
    const Strips strips(grid_);
    std::vector<Histogram> parts(static_cast<std::size_t>(strips.blocks()));
    check_interrupt();
    parallel_for(strips.blocks(), [&](std::int64_t block) {
      Histogram& part = parts[static_cast<std::size_t>(block)] = {};
      strips.of_block(block, [&](const Strip& strip, std::int64_t) { add(strip, part); });
    });
    std::vector<double> joint(kBins * kBins, 0.0);
    for (const Histogram& part : parts)
      for (std::size_t i = 0; i < joint.size(); ++i) joint[i] += double(part[i]);
    return evaluate(joint);
  }

  void derivative(const Strip& strip, const Row& row) const override {
    std::vector<float> both(static_cast<std::size_t>(2 * grid_.nx));
    float *d_fixed = both.data(), *d_moving = d_fixed + grid_.nx;
    for (std::int64_t y = strip.y_from; y < strip.y_to; ++y) {
      const std::int64_t at = (strip.z * grid_.ny + y) * grid_.nx;
      for (std::int64_t x = 0; x < grid_.nx; ++x) {
        d_fixed[x] = d_moving[x] = 0;
        if (!counted(at + x)) continue;
        const Shares i(fixed_[at + x]), j(moving_[at + x]);
        for (int a = 0; a < 4; ++a) {
          const float* line = by_bin_.data() + (i.first + a) * kBins + j.first;
          float along = 0, change = 0;
          for (int b = 0; b < 4; ++b) along += line[b] * j.weight[b], change += line[b] * j.slope[b];
          d_fixed[x] += i.slope[a] * along, d_moving[x] += i.weight[a] * change;
        }
      }
      row(y, d_fixed, d_moving);
    }
  }

 private:
  bool counted(std::int64_t at) const { return counts_ == nullptr || counts_[at] != 0; }

  void add(const Strip& strip, Histogram& part) const {
    const std::int64_t from = (strip.z * grid_.ny + strip.y_from) * grid_.nx,
                       to = (strip.z * grid_.ny + strip.y_to) * grid_.nx;
    for (std::int64_t at = from; at < to; ++at) {
      if (!counted(at)) continue;
      const Shares i(fixed_[at]), j(moving_[at]);
      for (int a = 0; a < 4; ++a) {
        float* line = part.data() + (i.first + a) * kBins + j.first;
        for (int b = 0; b < 4; ++b) line[b] += i.weight[a] * j.weight[b];
      }
    }
  }

  double evaluate(std::vector<double>& joint) {
    by_bin_.fill(0);
    double n = 0;
    for (const double v : joint) n += v;
    if (!(n > 0.5)) return 0;
    std::array<double, kBins> of_fixed{}, of_moving{};
    for (std::size_t i = 0; i < kBins; ++i)
      for (std::size_t j = 0; j < kBins; ++j) {
        double& p = joint[i * kBins + j];
        p /= n;
        of_fixed[i] += p, of_moving[j] += p;
      }
    const auto term = [](double p) { return p > 0 ? -p * std::log(p) : 0.0; };
    double fixed = 0, moving = 0, both = 0;
    for (std::size_t i = 0; i < kBins; ++i) fixed += term(of_fixed[i]), moving += term(of_moving[i]);
    for (const double p : joint) both += term(p);
    if (!(both > 1e-12)) return 0;
    const double ratio = (fixed + moving) / both, covered = n / voxels_;
    for (std::size_t i = 0; i < kBins; ++i)
      for (std::size_t j = 0; j < kBins; ++j)
        if (const double p = joint[i * kBins + j]; p > 0)
          by_bin_[i * kBins + j] = static_cast<float>(
              (ratio * (1 + std::log(p)) - (1 + std::log(of_fixed[i])) - (1 + std::log(of_moving[j]))) /
              both);
    // By a value: that table over n, times the share of voxels; times the number of voxels that is the table
    // itself.
    return (ratio - 1) * covered;
  }

  GridSize grid_;
  double voxels_;
  const float *fixed_ = nullptr, *moving_ = nullptr;
  const std::uint8_t* counts_ = nullptr;
  std::array<float, kBins * kBins> by_bin_{};
};

}  // namespace

std::unique_ptr<ImageMeasure> make_nmi(const GridSize& grid, std::int64_t voxels) {
  return std::make_unique<MutualInformation>(grid, voxels);
}

}  // namespace warploom::registration
