#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "imaging/segment_work.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {

ImageScale scale_of(const ValueRange& range) {
  if (range.voxels == 0) throw BadInput("the mask is 0 everywhere: no voxel counts");
  if (range.bad > 0)
    throw BadInput(fmt::format("{} of {} voxels are NaN or infinite; replace them by a value first",
                               range.bad, range.voxels));
  if (range.low == range.high)
    throw BadInput(fmt::format("every voxel of the image is {}: there is nothing to segment", range.low));
  return {.low = double(range.low), .scale = double(range.high) - double(range.low), .voxels = range.voxels};
}

double ImageScale::unit(double value) const {
  const double u = std::clamp((value - low) / scale, 0.0, 1.0);
  return roots ? std::sqrt(u) : u;
}

void ScaledImage::add_up() {
  sum = squares = 0;
  for (const float v : data) {
    const double u = double(v);
    sum += u;
    squares += u * u;
  }
}

ScaledImage scaled_image(const ImageView& image, const Mask& mask) {
  ValueRange range;
  for_values(image, [&](std::size_t begin, const float* values, std::size_t count) {
    for (std::size_t v = 0; v < count; ++v) {
      if (!inside(mask, begin + v)) continue;
      const float value = values[v];
      ++range.voxels;
      range.bad += std::isfinite(value) ? 0 : 1;
      range.low = std::min(range.low, value), range.high = std::max(range.high, value);
    }
  });
  ScaledImage out{scale_of(range), {}};
  out.data.resize(image.size());
  for_values(image, [&](std::size_t begin, const float* values, std::size_t count) {
    for (std::size_t v = 0; v < count; ++v)
      out.data[begin + v] =
          inside(mask, begin + v) ? static_cast<float>((double(values[v]) - out.low) / out.scale) : 0.0F;
  });
  out.add_up();
  return out;
}

void take_roots(ScaledImage& scaled) {
  for (float& u : scaled.data) u = std::sqrt(u);
  scaled.roots = true;
  scaled.add_up();
}

namespace {

class HostWork final : public SegmentWork {
 public:
  HostWork(const ImageView& image, const Mask& mask, const SegmentResults& results, std::size_t slabs)
      : SegmentWork(image.grid),
        slabs_(slabs),
        image_(image),
        mask_(mask),
        results_(results),
        scaled_(scaled_image(image, mask)) {
    scale_ = scaled_;
  }

  double noise() override { return finest_noise(scaled_.data.data(), grid_, mask_); }
  void take_roots() override {
    imaging::take_roots(scaled_);
    scale_ = scaled_;
  }
  std::unique_ptr<ConvexBackend> convex() override {
    return convex_cpu({.grid = grid_,
                       .edges = edges_of(relative_spacing(grid_)),
                       .image = scaled_.data.data(),
                       .mask = mask_.empty() ? nullptr : mask_.data()},
                      slabs_);
  }
  SideSums cut(const float* v, const Cut& by) override {
    SideSums sums;
    for_values(image_, [&](std::size_t begin, const float* values, std::size_t count) {
      for (std::size_t i = begin; i < begin + count; ++i) {
        const bool counts = inside(mask_, i);
        const bool above = by.found && v[i] > by.threshold;
        if (counts) sums.sum[int{above}] += double(values[i - begin]), ++sums.number[int{above}];
        const bool in = counts && above != by.dark && by.found;
        results_.mask[i] = in ? 1 : 0;
        const float off = by.dark ? by.threshold - v[i] : v[i] - by.threshold;
        // A voxel at the threshold itself is where the mask has it.
        results_.level_set[i] = !counts ? 0.0F : !by.found ? -1.0F : off != 0 ? off : in ? 1e-30F : -1e-30F;
      }
    });
    return sums;
  }

  void start(const SegmentOptions& options) override {
    std::ranges::copy(start_level_set(grid_, relative_spacing(grid_), options), results_.level_set);
  }
  Content content() override {
    Content sum;
    for (std::size_t v = 0; v < scaled_.data.size(); ++v)
      if (results_.level_set[v] > 0) sum.inside += 1, sum.inside_image += double(scaled_.data[v]);
    return sum;
  }
  SegmentOutcome evolve(SegmentProblem problem) override {
    problem.image = scaled_.data.data();
    return evolve_cpu(problem, results_.level_set);
  }
  void finish(float sign) override {
    for (std::size_t v = 0; v < scaled_.data.size(); ++v) {
      results_.level_set[v] *= sign;
      results_.mask[v] = results_.level_set[v] > 0 ? 1 : 0;
    }
  }

 private:
  std::size_t slabs_;
  ImageView image_;
  const Mask& mask_;
  SegmentResults results_;
  ScaledImage scaled_;
};

}  // namespace

std::unique_ptr<SegmentWork> segment_work_cpu(const ImageView& image, const Mask& mask,
                                              const SegmentResults& results, std::size_t slabs) {
  return std::make_unique<HostWork>(image, mask, results, slabs);
}

}  // namespace warploom::imaging
