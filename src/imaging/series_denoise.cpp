#include "warploom/imaging/series_denoise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "imaging/series_denoise_backend.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

constexpr std::array<std::string_view, 2> kEstimators{"exp1", "exp2"}, kOutputs{"centre", "average"},
    kPrecisions{"float32", "float64"};
constexpr int kMostRows = 512, kMostPatchVoxels = 4096;
/// Squares of what is larger leave the range of float.
constexpr float kLargestMeasured = 1e18F;

template <class Enumeration>
Enumeration parse_word(const std::array<std::string_view, 2>& words, std::string_view text,
                       std::string_view what) {
  const auto known = std::ranges::find(words, text);
  if (known != words.end()) return static_cast<Enumeration>(known - words.begin());
  throw BadInput(fmt::format("{}: '{}' is neither {} nor {}", what, text, words[0], words[1]));
}

std::array<std::int64_t, 3> grid_extents(const Grid& grid) { return {grid.nx, grid.ny, grid.nz}; }

std::array<PatchAxis, 3> require_extent(const Grid& grid, std::array<int, 3> extent) {
  std::array<PatchAxis, 3> axes;
  int voxels = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t there = grid_extents(grid)[a];
    if (extent[a] < 1 || extent[a] % 2 == 0)
      throw BadInput(
          fmt::format("the patch's extent along {} is {}; it must be odd and above 0, or 0 along all "
                      "three axes for one that suits the series",
                      "xyz"[a], extent[a]));
    if (extent[a] > there)
      throw BadInput(
          fmt::format("a patch of {} voxels along {} does not fit the image's {}; give a smaller extent",
                      extent[a], "xyz"[a], there));
    if (extent[a] > kMostPatchVoxels / voxels)
      throw BadInput(fmt::format("a patch of {} x {} x {} voxels is above {} voxels; give a smaller extent",
                                 extent[0], extent[1], extent[2], kMostPatchVoxels));
    if (there > std::numeric_limits<int>::max() / 2)
      throw BadInput(fmt::format("{} voxels along {} are too many", there, "xyz"[a]));
    voxels *= extent[a];
    axes[a] = {static_cast<int>(there), extent[a]};
  }
  return axes;
}

/// 1 / (4 sqrt(gamma)) for 1, 2, ... components of noise.
std::vector<double> inverse_widths(int volumes, int voxels, NoiseEstimator estimator) {
  const int smaller = std::min(volumes, voxels), larger = std::max(volumes, voxels);
  std::vector<double> out;
  for (int noise = 1; noise <= smaller; ++noise) {
    const int kept = smaller - noise;
    const double gamma =
        static_cast<double>(noise) / (estimator == NoiseEstimator::exp1 ? larger : larger - kept);
    out.push_back(1 / (4 * std::sqrt(gamma)));
  }
  return out;
}

/// A power of two that makes the largest value of those that are finite about 1, and a byte a voxel: 1 where
/// one is not finite; empty if all are.
struct MeasuredRange {
  float scale = 1;
  std::vector<std::uint8_t> not_finite = {};
};
MeasuredRange measured_range(const ImageView& series) {
  const auto voxels = static_cast<std::size_t>(series.grid.voxels());
  std::vector<float> largest((voxels + kPiece - 1) / kPiece);
  std::vector<std::uint8_t> not_finite(voxels);
  std::vector<std::uint8_t> any(largest.size());
  for_pieces(series.grid, [&](std::size_t begin, std::size_t end) {
    for (int c = 0; c < series.channels; ++c) {
      const auto values = series.channel(c);
      for (std::size_t v = begin; v < end; ++v)
        if (const float size = std::abs(values[v]); size <= std::numeric_limits<float>::max())
          largest[begin / kPiece] = std::max(largest[begin / kPiece], size);
        else
          any[begin / kPiece] = not_finite[v] = 1;
    }
  });
  const float most = *std::ranges::max_element(largest);
  if (most > kLargestMeasured)
    throw BadInput(
        fmt::format("the series has the value {}, above {}: is the unit right?", most, kLargestMeasured));
  MeasuredRange out;
  int exponent = 0;
  std::frexp(most, &exponent);
  out.scale = std::ldexp(1.0F, std::min(-exponent, 100));
  if (std::ranges::find(any, 1) != any.end()) out.not_finite = std::move(not_finite);
  return out;
}

/// Which patches are to be done: those of a voxel inside the mask, without a value that is not finite.
std::vector<std::uint8_t> wanted_patches(const std::array<PatchAxis, 3>& axes, const Mask& mask,
                                         const std::vector<std::uint8_t>& not_finite) {
  const PatchAxis x = axes[0], y = axes[1], z = axes[2];
  std::vector<std::uint8_t> wanted(static_cast<std::size_t>(x.patches()) * y.patches() * z.patches());
  const auto patch = [&](int bx, int by, int bz) -> std::uint8_t& {
    return wanted[(static_cast<std::size_t>(bz) * y.patches() + by) * x.patches() + bx];
  };
  std::size_t v = 0;
  for (int vz = 0; vz < z.voxels; ++vz)
    for (int vy = 0; vy < y.voxels; ++vy)
      for (int vx = 0; vx < x.voxels; ++vx, ++v)
        if (inside(mask, v)) patch(x.patch_of(vx), y.patch_of(vy), z.patch_of(vz)) = 1;
  v = 0;
  if (!not_finite.empty())
    for (int vz = 0; vz < z.voxels; ++vz)
      for (int vy = 0; vy < y.voxels; ++vy)
        for (int vx = 0; vx < x.voxels; ++vx, ++v)
          if (not_finite[v] != 0)
            for (int bz = std::max(0, vz - z.extent + 1); bz < std::min(z.patches(), vz + 1); ++bz)
              for (int by = std::max(0, vy - y.extent + 1); by < std::min(y.patches(), vy + 1); ++by)
                for (int bx = std::max(0, vx - x.extent + 1); bx < std::min(x.patches(), vx + 1); ++bx)
                  patch(bx, by, bz) = 0;
  return wanted;
}

/// [patches z, y, x] to [nz, ny, nx]: for each voxel the sum over the patches that it lies in.
std::vector<float> sum_over_patches(const std::array<PatchAxis, 3>& axes, std::vector<float> values) {
  std::int64_t inner = 1, outer = std::int64_t{axes[1].patches()} * axes[2].patches();
  for (std::size_t a = 0; a < 3; ++a) {
    const PatchAxis axis = axes[a];
    std::vector<float> out(static_cast<std::size_t>(inner * axis.voxels * outer));
    parallel_for(outer, [&](std::int64_t o) {
      for (int b = 0; b < axis.patches(); ++b)
        for (int v = b; v < b + axis.extent; ++v) {
          const float* from = values.data() + (o * axis.patches() + b) * inner;
          float* to = out.data() + (o * axis.voxels + v) * inner;
          for (std::int64_t k = 0; k < inner; ++k) to[k] += from[k];
        }
    });
    values = std::move(out);
    inner *= axis.voxels;
    if (a + 1 < 3) outer /= axes[a + 1].patches();
  }
  return values;
}

PatchResults denoise_patches(const SeriesProblem& problem, [[maybe_unused]] Device device,
                             PatchReceiver& receiver) {
#if defined(WARPLOOM_HAVE_CUDA)
  if (device.is_gpu()) return denoise_patches_cuda(problem, receiver);
#endif
  return denoise_patches_cpu(problem, receiver);
}

/// Makes the maps, and what becomes of the series, in its place or beside it.
class Assembly : public PatchReceiver {
 public:
  Assembly(const SeriesProblem& problem, const Mask& mask, const ImageView& series, float* after,
           bool residual)
      : problem_(problem),
        mask_(mask),
        before_(series.data.data()),
        after_(after),
        average_(problem.output == PatchOutput::average) {
    report.noise = Image(series.grid, 1);
    report.rank = Image(series.grid, 1);
    report.remaining_variance = Image(series.grid, 1);
    if (residual) report.residual = Image(series.grid, series.channels);
    share_.resize(static_cast<std::size_t>(series.grid.voxels()));
  }

  void maps(const PatchResults& results) override {
    const std::size_t patches = problem_.wanted.size();
    std::vector<float> variance(patches), remaining(patches), count(patches);
    const double m = problem_.volumes, n = problem_.patch_voxels();
    for_parts(patches, [&](std::size_t b) {
      if (problem_.wanted[b] == 0) return;
      const double p = results.rank[b];
      variance[b] = results.variance[b];
      remaining[b] = static_cast<float>(results.variance[b] * p * (m + n - p) / (m * n));
      count[b] = 1;
    });
    if (average_) {
      count = sum_over_patches(problem_.axes, std::move(count));
      variance = sum_over_patches(problem_.axes, std::move(variance));
      remaining = sum_over_patches(problem_.axes, std::move(remaining));
    }
    const PatchAxis x = problem_.axes[0], y = problem_.axes[1], z = problem_.axes[2];
    const std::int64_t rows = std::int64_t{y.voxels} * z.voxels;
    std::vector<std::int64_t> done(static_cast<std::size_t>(rows)), skipped(done.size());
    parallel_for(rows, [&](std::int64_t row) {
      const int by = y.patch_of(static_cast<int>(row % y.voxels)),
                bz = z.patch_of(static_cast<int>(row / y.voxels));
      const std::size_t first = static_cast<std::size_t>(row) * x.voxels;
      for (int vx = 0; vx < x.voxels; ++vx) {
        const std::size_t v = first + vx;
        if (!inside(mask_, v)) continue;
        const std::size_t b =
            (static_cast<std::size_t>(bz) * y.patches() + by) * x.patches() + x.patch_of(vx);
        if (problem_.wanted[b] == 0) {
          ++skipped[static_cast<std::size_t>(row)];
          continue;
        }
        ++done[static_cast<std::size_t>(row)];
        const std::size_t at = average_ ? v : b;
        const float share = 1 / count[at];
        share_[v] = share;
        const double unit = 1 / static_cast<double>(problem_.scale);
        report.noise.data[v] =
            static_cast<float>(std::sqrt(static_cast<double>(variance[at] * share)) * unit);
        report.rank.data[v] = results.rank[b];
        report.remaining_variance.data[v] =
            static_cast<float>(static_cast<double>(remaining[at] * share) * unit * unit);
      }
    });
    for (const std::int64_t n_row : done) report.voxels += n_row;
    for (const std::int64_t n_row : skipped) report.skipped += n_row;
  }

  void values(std::uint64_t begin, const float* from, std::uint64_t count) override {
    std::size_t v = begin % share_.size();
    for (std::uint64_t k = 0; k < count; ++k, v = v + 1 == share_.size() ? 0 : v + 1) {
      const float share = share_[v], before = before_[begin + k];
      const float after = share == 0 ? before : from[k] * share;
      if (share != 0 && !report.residual.data.empty()) report.residual.data[begin + k] = before - after;
      after_[begin + k] = after;
    }
  }

  SeriesDenoising report = {};

 private:
  template <class Body>
  static void for_parts(std::size_t count, const Body& body) {
    constexpr std::size_t kPart = 1 << 14;
    parallel_for(static_cast<std::int64_t>((count + kPart - 1) / kPart), [&](std::int64_t part) {
      const std::size_t begin = static_cast<std::size_t>(part) * kPart;
      for (std::size_t k = begin; k < std::min(count, begin + kPart); ++k) body(k);
    });
  }

  const SeriesProblem& problem_;
  const Mask& mask_;
  const float* before_;
  float* after_;
  bool average_;
  std::vector<float> share_;  // [voxels] of the back end's values; 0: the voxel stays as it is
};

/// @param after  becomes the denoised series; null: made in `made`
SeriesDenoising denoise_checked(const ImageView& series, float* after, Image* made, bool complex,
                                const Mask& mask, const SeriesDenoiseOptions& options) try {
  const DeviceScope scope(options.run, "denoising a series", kBuiltWithCuda);
  name(options.estimator), name(options.output), name(options.precision);
  series.check("the series");
  require_mask(mask, series.grid);
  const int volumes = complex ? series.channels / 2 : series.channels;
  if (volumes < 2 || series.channels > kMostRows)
    throw BadInput(fmt::format("the series has {} volumes; principal components need 2 to {}", volumes,
                               complex ? kMostRows / 2 : kMostRows));
  const auto extent =
      options.extent == std::array<int, 3>{} ? patch_extent(series.grid, volumes) : options.extent;
  SeriesProblem problem;
  problem.axes = require_extent(series.grid, extent);
  if (!mask.empty() && std::ranges::all_of(mask, [](std::uint8_t m) { return m == 0; }))
    throw BadInput("no voxel is inside the mask");
  const MeasuredRange values = measured_range(series);
  problem.series = series.data.data();
  problem.on_gpu = series.on_gpu;
  problem.channels = series.channels;
  problem.volumes = volumes;
  problem.complex = complex;
  problem.scale = values.scale;
  problem.output = options.output;
  problem.precision = options.precision;
  // Of complex data the embedded matrix has each eigenvalue twice, and so no single first element.
  if (options.precision == Precision::float32 && !complex)
    problem.reflectors = series_reflectors(series, mask, values.not_finite);
  problem.inverse_width = inverse_widths(volumes, problem.patch_voxels(), options.estimator);
  problem.wanted = wanted_patches(problem.axes, mask, values.not_finite);

  if (made != nullptr) {
    if (made->grid != series.grid || made->channels != series.channels ||
        made->data.size() != series.data.size()) {
      *made = Image(series.grid, series.channels);
      problem.scratch_is_zero = true;
    }
    problem.scratch = after = made->data.data();
  }
  Assembly assembly(problem, mask, series, after, options.residual);
  const PatchResults results = denoise_patches(problem, scope.device(), assembly);
  SeriesDenoising& report = assembly.report;
  report.extent = extent;
  report.device = scope.device();
  report.seconds = results.seconds;
  report.transfer_seconds = results.transfer_seconds;
  report.device_bytes = results.device_bytes;
  return std::move(report);
} catch (const std::bad_alloc&) {
  throw OutOfMemory(fmt::format(
      "denoising a series of {} volumes of {} x {} x {} voxels needs {} bytes of memory", series.channels,
      series.grid.nx, series.grid.ny, series.grid.nz, 4 * series.data.size() * (options.residual ? 2 : 1)));
}

}  // namespace

NoiseEstimator parse_noise_estimator(std::string_view text) {
  return parse_word<NoiseEstimator>(kEstimators, text, "the noise estimator");
}
std::string_view name(NoiseEstimator estimator) {
  return at_enumerator(kEstimators, estimator, "the noise estimator");
}
PatchOutput parse_patch_output(std::string_view text) {
  return parse_word<PatchOutput>(kOutputs, text, "the output of a patch");
}
std::string_view name(PatchOutput output) { return at_enumerator(kOutputs, output, "the output of a patch"); }
Precision parse_precision(std::string_view text) {
  return parse_word<Precision>(kPrecisions, text, "the precision");
}
std::string_view name(Precision precision) { return at_enumerator(kPrecisions, precision, "the precision"); }

std::array<int, 3> patch_extent(const Grid& grid, int volumes) {
  if (volumes < 1) throw BadInput(fmt::format("a series of {} volumes has no patches", volumes));
  std::array<int, 3> most;  // odd
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t there = grid_extents(grid)[a];
    if (there < 1) throw BadInput(fmt::format("the image's extent along {} is {}", "xyz"[a], there));
    most[a] = static_cast<int>(std::min<std::int64_t>(kMostPatchVoxels, there - (1 - there % 2)));
  }
  std::array<int, 3> extent{1, 1, 1};
  for (int side = 1;; side += 2) {
    for (std::size_t a = 0; a < 3; ++a) extent[a] = std::min(side, most[a]);
    const std::int64_t voxels = std::int64_t{extent[0]} * extent[1] * extent[2];
    if (voxels >= volumes || extent == most) return extent;
  }
}

SeriesDenoising denoise_series(Image& series, const Mask& mask, const SeriesDenoiseOptions& options) {
  return denoise_checked(series, series.data.data(), nullptr, false, mask, options);
}

SeriesDenoising denoise_series(const ImageView& series, Image& denoised, const Mask& mask,
                               const SeriesDenoiseOptions& options) {
  if (!series.data.empty() && series.data.data() == denoised.data.data())
    throw BadInput("the series and what it becomes are the same image: give another, or none");
  return denoise_checked(series, nullptr, &denoised, false, mask, options);
}

SeriesDenoising denoise_complex_series(std::span<std::complex<float>> values, const Grid& grid, int volumes,
                                       const Mask& mask, const SeriesDenoiseOptions& options) {
  if (volumes < 2 || volumes > kMostRows / 2)
    throw BadInput(
        fmt::format("the series has {} volumes; principal components need 2 to {} of complex images", volumes,
                    kMostRows / 2));
  const auto voxels = static_cast<std::uint64_t>(grid.voxels());
  if (values.size() / static_cast<std::size_t>(volumes) != voxels ||
      values.size() % static_cast<std::size_t>(volumes) != 0)
    throw BadInput(fmt::format("{} complex values are not {} volumes of {} x {} x {}", values.size(), volumes,
                               grid.nx, grid.ny, grid.nz));
  Image parts(grid, 2 * volumes);
  float *const real = parts.data.data(), *const imaginary = real + values.size();
  for (std::size_t k = 0; k < values.size(); ++k) real[k] = values[k].real(), imaginary[k] = values[k].imag();
  SeriesDenoising report = denoise_checked(parts, parts.data.data(), nullptr, true, mask, options);
  const float *const real_after = parts.data.data(), *const imaginary_after = real_after + values.size();
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = {real_after[k], imaginary_after[k]};
  return report;
}

}  // namespace warploom::imaging
