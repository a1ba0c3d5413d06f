#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "imaging/symmetric_eigen.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/series_denoise.hpp"

namespace warploom::imaging {
namespace {

constexpr int kMostPatches = 64, kLeastPatches = 8, kTries = 20'000, kLeastVolumes = 12;
constexpr double kTolerated = 0.05, kStandardErrors = 4;

/// A box of voxels by its first one.
struct Box {
  std::array<std::int64_t, 3> first = {};
};

class CorrelationOfPatches {
 public:
  CorrelationOfPatches(const ImageView& series, const Mask& mask)
      : series_(series), mask_(mask), extent_(patch_extent(series.grid, 2 * series.channels)) {
    for (const int e : extent_) voxels_ *= static_cast<std::size_t>(e);
  }

  /// Larger than twice the series, so that white noise leaves room for its smaller half to point anywhere.
  bool possible() const { return voxels_ >= 2 * static_cast<std::size_t>(series_.channels); }

  /// At random, but always the same.
  std::vector<Box> choose() const {
    std::vector<Box> boxes;
    std::mt19937 engine(1);
    for (int k = 0; k < kTries && boxes.size() < kMostPatches; ++k) {
      Box box;
      const std::array<std::int64_t, 3> there{series_.grid.nx, series_.grid.ny, series_.grid.nz};
      for (std::size_t a = 0; a < 3; ++a)
        box.first[a] =
            static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(there[a] - extent_[a] + 1));
      if (usable(box)) boxes.push_back(box);
    }
    return boxes;
  }

  /// Excess of the correlation between neighbours along each axis; NaN where a component is rounding error.
  std::array<double, 3> excess(const Box& box) const {
    const auto volumes = static_cast<std::size_t>(series_.channels);
    const std::vector<double> x = matrix(box);  // [volumes, voxels]
    std::vector<double> gram(volumes * volumes);
    for (std::size_t i = 0; i < volumes; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (std::size_t v = 0; v < voxels_; ++v) sum += x[i * voxels_ + v] * x[j * voxels_ + v];
        gram[i * volumes + j] = gram[j * volumes + i] = sum;
      }
    const SymmetricEigen eigen = symmetric_eigen(std::move(gram), volumes);
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    if (!(eigen.values.front() > 1e-12 * eigen.values.back())) return {kNone, kNone, kNone};
    // Products of neighbours, of the components' courses with norm 1: of the smaller half what is, of the
    // larger half what it takes from all that may be.
    const std::size_t smaller = volumes / 2, larger = volumes - smaller;
    std::array<double, 3> out{};
    std::vector<double> course(voxels_);
    for (std::size_t k = 0; k < volumes; ++k) {
      std::fill(course.begin(), course.end(), 0);
      for (std::size_t i = 0; i < volumes; ++i)
        for (std::size_t v = 0; v < voxels_; ++v)
          course[v] += eigen.vectors[k * volumes + i] * x[i * voxels_ + v];
      const double share =
          1 / (eigen.values[k] * static_cast<double>(k < smaller ? smaller : voxels_ - larger));
      std::size_t stride = 1;
      for (std::size_t a = 0; a < 3; ++a) {
        const auto e = static_cast<std::size_t>(extent_[a]);
        double sum = 0;
        for (std::size_t v = 0; v + stride < voxels_; ++v)
          if (v / stride % e + 1 < e) sum += course[v] * course[v + stride];
        if (e > 1) out[a] += share * sum * static_cast<double>(e) / static_cast<double>(e - 1);
        stride *= e;
      }
    }
    return out;
  }

 private:
  template <class Body>
  void for_voxels(const Box& box, const Body& body) const {
    for (int z = 0; z < extent_[2]; ++z)
      for (int y = 0; y < extent_[1]; ++y)
        for (int x = 0; x < extent_[0]; ++x)
          body(static_cast<std::size_t>(((box.first[2] + z) * series_.grid.ny + box.first[1] + y) *
                                            series_.grid.nx +
                                        box.first[0] + x));
  }
  bool usable(const Box& box) const {
    bool all = true;
    const auto plane = static_cast<std::size_t>(series_.grid.voxels());
    for_voxels(box, [&](std::size_t v) {
      all = all && inside(mask_, v);
      for (int c = 0; all && c < series_.channels; ++c)
        all = std::isfinite(series_.data[static_cast<std::size_t>(c) * plane + v]);
    });
    return all;
  }
  std::vector<double> matrix(const Box& box) const {
    std::vector<double> x;
    x.reserve(voxels_ * static_cast<std::size_t>(series_.channels));
    for (int c = 0; c < series_.channels; ++c) {
      const auto values = series_.channel(c);
      for_voxels(box, [&](std::size_t v) { x.push_back(static_cast<double>(values[v])); });
    }
    return x;
  }

  const ImageView& series_;
  const Mask& mask_;
  std::array<int, 3> extent_;
  std::size_t voxels_ = 1;
};

}  // namespace

NoiseCorrelation noise_correlation(const ImageView& series, const Mask& mask, const Run& run) {
  const RunScope scope(run);
  series.check("the series");
  require_mask(mask, series.grid);
  if (series.channels < 2)
    throw BadInput(fmt::format("the series has {} volume; the noise's correlation needs 2", series.channels));
  NoiseCorrelation out;
  const CorrelationOfPatches patches(series, mask);
  if (!patches.possible()) return out;
  const std::vector<Box> boxes = patches.choose();
  std::vector<std::array<double, 3>> found(boxes.size());
  parallel_for(std::ssize(boxes), [&](std::int64_t k) {
    check_interrupt();
    found[static_cast<std::size_t>(k)] = patches.excess(boxes[static_cast<std::size_t>(k)]);
  });
  std::erase_if(found, [](const auto& excess) { return !std::isfinite(excess[0]); });
  out.patches = std::ssize(found);
  if (out.patches < kLeastPatches) return out;
  const auto count = static_cast<double>(out.patches);
  for (std::size_t a = 0; a < 3; ++a) {
    double sum = 0, squares = 0;
    for (const auto& excess : found) sum += excess[a], squares += excess[a] * excess[a];
    const double mean = sum / count, error = std::sqrt(std::max(0.0, squares / count - mean * mean) / count);
    out.neighbours[a] = mean;
    out.correlated = out.correlated || std::abs(mean) > std::max(kTolerated, kStandardErrors * error);
  }
  return out;
}

std::string series_denoise_obstacle(const ImageView& series, const Mask& mask, const Run& run) {
  series.check("the series");
  require_mask(mask, series.grid);
  if (series.channels < kLeastVolumes)
    return fmt::format("the series is too short: {} volumes, and {} are needed to tell noise from signal",
                       series.channels, kLeastVolumes);
  const auto extent = patch_extent(series.grid, series.channels);
  if (extent[0] * extent[1] * extent[2] < series.channels)
    return fmt::format(
        "the image is too small: the largest patch, {} x {} x {} voxels, has fewer than the {} volumes",
        extent[0], extent[1], extent[2], series.channels);
  const NoiseCorrelation found = noise_correlation(series, mask, run);
  if (found.patches < kLeastPatches)
    return fmt::format(
        "there are too few voxels to tell whether its noise is correlated in space: {} patches of twice as many as the {} volumes, and "
        "{} are needed",
        found.patches, series.channels, kLeastPatches);
  if (found.correlated)
    return fmt::format(
        "the noise is correlated in space ({:.2f}, {:.2f} and {:.2f} between neighbours along x, y and z), as after "
        "resampling, motion correction or zero-filling",
        found.neighbours[0], found.neighbours[1], found.neighbours[2]);
  return {};
}

}  // namespace warploom::imaging
