#include "warploom/imaging/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/large_pages.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/core/view.hpp"
#include "warploom/imaging/image_file.hpp"

namespace warploom::imaging {
namespace {

constexpr double kLargestB = 1e15;  // [s/mm^2] so that 50 times the nearest whole number is one

/// How far a b-value may lie from the one that was asked for [s/mm^2].
double b_tolerance(double b) { return std::max(50.0, 0.05 * b); }

void require_gradients(const ImageView& image, const io::Gradients& gradients) {
  image.check("the series");
  const std::size_t b = gradients.b.size(), directions = gradients.directions.size();
  if (b == 0 || static_cast<std::int64_t>(b) != image.channels || b != directions)
    throw BadInput(fmt::format("a series of {} volumes has {} b-values and {} directions", image.channels, b,
                               directions));
}

}  // namespace

io::Gradients read_gradients(const SeriesFiles& files, std::int64_t volumes, double b0_threshold) {
  io::Gradients gradients =
      files.gradients ? io::fsl_gradients(*files.gradients, volumes, b0_threshold, files.bvalue_scaling)
      : files.grad.empty()
          ? io::read_fsl_gradients(files.bval, files.bvec, volumes, b0_threshold, files.bvalue_scaling)
          : io::read_mrtrix_gradients(files.grad, volumes, b0_threshold, files.bvalue_scaling);
  if (const double largest = gradients.b.empty() ? 0 : std::ranges::max(gradients.b); largest <= b0_threshold)
    throw BadInput(
        fmt::format("{}: no b-value is above {} s/mm^2 (the largest is {}), so that there is no diffusion "
                    "weighting to fit a tensor to; check {} and `b0_threshold`",
                    files.gradients      ? "bvals"
                    : files.grad.empty() ? files.bval
                                         : files.grad,
                    b0_threshold, largest, files.gradients ? "them" : "the file"));
  return gradients;
}

Series read_series(const SeriesFiles& files, double b0_threshold) {
  Series series;
  series.header = io::read_nifti(files.input, files.max_memory, io::NiftiNumbers::real_or_complex);
  series.image = take_measured_volumes(series.header, files.input, series.complex);
  const int volumes = series.image.channels;
  if (volumes < 2)
    throw BadInput(fmt::format("{} has the extents {}; a diffusion series has four, [X, Y, Z, volumes]",
                               files.input, shape_text(series.header.shape)));
  series.gradients = read_gradients(files, volumes, b0_threshold);
  return series;
}

Image magnitudes(std::span<const std::complex<float>> values, const Grid& grid, int volumes) {
  Image image(grid, volumes);
  if (image.data.size() != values.size())
    throw BadInput(fmt::format("{} complex values are not {} volumes of {} x {} x {}", values.size(), volumes,
                               grid.nx, grid.ny, grid.nz));
  const std::int64_t voxels = grid.voxels();
  parallel_for(volumes, [&](std::int64_t volume) {
    for (std::int64_t i = volume * voxels; i < (volume + 1) * voxels; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double real = double(values[at].real()), imaginary = double(values[at].imag());
      image.data[at] = static_cast<float>(std::sqrt(real * real + imaginary * imaginary));
    }
  });
  return image;
}

void select_volumes(Series& series, const ShellChoice& choice) {
  require_gradients(series.values(), series.gradients);
  auto& b = series.gradients.b;
  auto& directions = series.gradients.directions;
  const auto near = [](double shell) {
    return [=](double value) { return std::abs(value - shell) <= b_tolerance(shell); };
  };
  for (const double shell : choice.shells)
    if (!std::isfinite(shell) || std::ranges::none_of(b, near(shell)))
      throw BadInput(
          fmt::format("`shells`: no volume has a b-value of {} (+- {}) s/mm^2; there are {:.0f} to {:.0f}",
                      shell, b_tolerance(shell), std::ranges::min(b), std::ranges::max(b)));
  const auto wanted = [&](double value) {
    if (value <= choice.b0_threshold) return true;
    if (choice.largest_b) return value <= *choice.largest_b + b_tolerance(*choice.largest_b);
    return choice.shells.empty() ||
           std::ranges::any_of(choice.shells, [&](double shell) { return near(shell)(value); });
  };
  if (!series.view.data.empty()) {
    if (std::ranges::all_of(b, wanted)) return;
    const ImageView all = std::exchange(series.view, {});
    Image& chosen = series.image;
    chosen.grid = all.grid, chosen.channels = all.channels;
    chosen.data.clear();
    reserve_in_large_pages(chosen.data, static_cast<std::size_t>(std::ranges::count_if(b, wanted)) *
                                            static_cast<std::size_t>(all.grid.voxels()));
    std::size_t kept = 0;
    for (std::size_t v = 0; v < b.size(); ++v) {
      if (!wanted(b[v])) continue;
      const std::span<const float> volume = all.channel(static_cast<int>(v));
      chosen.data.insert(chosen.data.end(), volume.begin(), volume.end());
      b[kept] = b[v];
      directions[kept++] = directions[v];
    }
    b.resize(kept);
    directions.resize(kept);
    chosen.channels = static_cast<int>(kept);
    return;
  }
  Image& image = series.image;
  std::size_t kept = 0;
  for (std::size_t v = 0; v < b.size(); ++v) {
    if (!wanted(b[v])) continue;
    if (v != kept)
      std::ranges::copy(image.channel(static_cast<int>(v)), image.channel(static_cast<int>(kept)).begin());
    b[kept] = b[v];
    directions[kept++] = directions[v];
  }
  b.resize(kept);
  directions.resize(kept);
  image.channels = static_cast<int>(kept);
  image.data.resize(kept * static_cast<std::size_t>(image.grid.voxels()));
}

std::map<std::int64_t, int> shells(const io::Gradients& gradients, double b0_threshold) {
  std::map<std::int64_t, int> volumes;
  for (const double b : gradients.b) {
    if (!(std::abs(b) <= kLargestB))
      throw BadInput(fmt::format("a b-value is {} s/mm^2; it must be finite and at most {}", b, kLargestB));
    ++volumes[b <= b0_threshold ? 0 : std::llround(b / 50) * 50];
  }
  return volumes;
}

Image mean_b0(const ImageView& image, const io::Gradients& gradients, double b0_threshold) {
  require_gradients(image, gradients);
  std::vector<int> volumes(gradients.b.size());
  std::iota(volumes.begin(), volumes.end(), 0);
  const auto weighted = [&](int v) { return gradients.b[static_cast<std::size_t>(v)] > b0_threshold; };
  if (!std::ranges::all_of(volumes, weighted)) std::erase_if(volumes, weighted);
  Image mean(image.grid, 1);
  const auto share = 1 / static_cast<float>(volumes.size());
  for (const int volume : volumes) {
    const auto values = image.channel(volume);
    for (std::size_t v = 0; v < mean.data.size(); ++v) {
      const float value = values[v];
      if (std::isfinite(value)) mean.data[v] += value * share;
    }
  }
  return mean;
}

}  // namespace warploom::imaging
