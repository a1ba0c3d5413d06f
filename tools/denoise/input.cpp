#include "input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/stopwatch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/view.hpp"
#include "warploom/imaging/maps.hpp"

namespace warploom::tool {
namespace {

using imaging::Image;
using Rotation = std::array<std::array<double, 3>, 3>;

/// How far a b-value may lie from the one that was asked for [s/mm^2].
double b_tolerance(double b) { return std::max(50.0, 0.05 * b); }

/// The extents of the grid and the number of volumes: [X,Y,Z,C] or [X,Y,Z,1,C], trailing ones left out.
imaging::Image take_image(io::Nifti& file, const std::string& path) {
  std::vector<std::int64_t> shape = file.shape;
  while (shape.size() > 3 && shape.back() == 1) shape.pop_back();
  if (shape.size() == 5 && shape[3] == 1) shape.erase(shape.begin() + 3);
  if (shape.size() > 4)
    throw BadInput(
        fmt::format("{} has the extents {}; a series or a vector image has four, [X, Y, Z, volumes], or "
                    "[X, Y, Z, 1, volumes]",
                    path, shape_text(file.shape)));
  shape.resize(4, 1);
  if (shape[3] > 100000)
    throw BadInput(fmt::format("{} has {} volumes, the limit is 100000", path, shape[3]));
  Image image;
  image.grid = {shape[0], shape[1], shape[2], file.spacing};
  image.channels = static_cast<int>(shape[3]);
  image.data = std::move(file.data);
  return image;
}

/// The matrix permutes axes and changes their signs, and no more.
bool only_permutes(const Rotation& rotation) {
  return std::ranges::all_of(rotation, [](const auto& row) {
    return std::ranges::all_of(row, [](double x) { return std::min(std::abs(x), 1 - std::abs(x)) < 1e-6; });
  });
}

/// `wanted`, or the image's own where that is oblique.
io::Frame axis_aligned(io::Frame wanted, const io::Affine& affine) {
  return only_permutes(io::frame_change(io::Frame::image, wanted, affine)) ? wanted : io::Frame::image;
}

/// Millimetres squared a second where micrometres squared a millisecond are meant, or the other way round.
void require_plausible(const Image& tensors, const imaging::Mask& mask, bool square_micrometres,
                       const std::string& path) {
  std::vector<float> traces;
  const std::int64_t voxels = tensors.grid.voxels(), stride = std::max<std::int64_t>(1, voxels / 200000);
  for (std::int64_t v = 0; v < voxels; v += stride) {
    const auto at = static_cast<std::size_t>(v);
    if (mask.empty() || mask[at] != 0)
      traces.push_back(tensors.channel(0)[at] + tensors.channel(3)[at] + tensors.channel(5)[at]);
  }
  if (traces.empty()) return;
  std::ranges::nth_element(traces, traces.begin() + std::ssize(traces) / 2);
  const double median = traces[traces.size() / 2];
  // In um^2/ms that of free water is 9 and that of tissue 1 to 4.
  if (!square_micrometres && median > 100)
    throw BadInput(
        fmt::format("{}: the median trace is {:.3g}, too much for mm^2/s, where that of tissue is about "
                    "2e-3; if the file is in um^2/ms, give --unit um2/ms",
                    path, median / 1000));
  if (square_micrometres && median < 0.01)
    throw BadInput(fmt::format(
        "{}: the median trace is {:.3g}, too little for um^2/ms, where that of tissue is about 2; "
        "if the file is in mm^2/s, leave --unit um2/ms out",
        path, median));
}

std::string mask_wanted(const DenoiseSettings& settings) {
  if (!settings.mask.empty()) return settings.mask;
  return settings.kind() == ImageKind::series ? "auto" : "nonzero";
}

/// What automatic_mask() is given; what is not finite counts as 0.
template <typename Function>
Image scalar_image(const Image& image, Function function) {
  Image scalar(image.grid, 1);
  for (std::size_t v = 0; v < scalar.data.size(); ++v) {
    const float value = function(v);
    scalar.data[v] = std::isfinite(value) ? value : 0;
  }
  return scalar;
}

Image trace(const Image& tensors) {
  return scalar_image(tensors, [&](std::size_t v) {
    return tensors.channel(0)[v] + tensors.channel(3)[v] + tensors.channel(5)[v];
  });
}

Image norm(const Image& image) {
  return scalar_image(image, [&](std::size_t v) {
    float sum = 0;
    for (int c = 0; c < image.channels; ++c) sum += image.channel(c)[v] * image.channel(c)[v];
    return std::sqrt(sum);
  });
}

void read_tensors(DenoiseInput& in, io::Nifti& file, const DenoiseSettings& settings) {
  in.image = take_image(file, settings.input);
  if (in.image.channels != imaging::kTensorChannels)
    throw BadInput(
        fmt::format("{} has the extents {}, so {} volumes; a tensor image has 6. For a diffusion series give "
                    "--bval and --bvec, or --grad; for other data give --vector",
                    settings.input, shape_text(file.shape), in.image.channels));
  in.order = order_of(file, settings.order, settings.input);
  in.read_frame = settings.frame.value_or(usual_frame(*in.order));
  in.output_order = settings.output_order.value_or(*in.order);
  in.output_frame = settings.output_frame.value_or(
      in.output_order == *in.order ? in.read_frame : usual_frame(in.output_order));
  from_order(in.image.data, *in.order, settings.square_micrometres ? 1.0F : 1000.0F);
  in.frame = axis_aligned(in.read_frame, file.affine);
  if (const auto change = rotation(in.read_frame, in.frame, file.affine))
    imaging::rotate_tensors(in.image, *change);
  in.mask =
      choose_mask(in.image, mask_wanted(settings), file, settings.input, [&] { return trace(in.image); });
  require_plausible(in.image, in.mask.voxels, settings.square_micrometres, settings.input);
}

io::Gradients read_gradients(const DenoiseSettings& settings, std::int64_t volumes) {
  if (!settings.grad.empty()) return io::read_mrtrix_gradients(settings.grad, volumes, settings.b0_threshold);
  return io::read_fsl_gradients(settings.bval, settings.bvec, volumes, settings.b0_threshold);
}

/// The volumes to use, in their order.
std::vector<int> choose_volumes(const io::Gradients& gradients, const DenoiseSettings& settings) {
  const auto wanted = [&](double b) {
    if (b <= settings.b0_threshold) return true;
    if (settings.largest_b) return b <= *settings.largest_b + b_tolerance(*settings.largest_b);
    return settings.shells.empty() || std::ranges::any_of(settings.shells, [b](double shell) {
             return std::abs(b - shell) <= b_tolerance(shell);
           });
  };
  std::vector<int> chosen;
  for (std::size_t v = 0; v < gradients.b.size(); ++v)
    if (wanted(gradients.b[v])) chosen.push_back(static_cast<int>(v));
  for (const double shell : settings.shells)
    if (std::ranges::none_of(gradients.b,
                             [&](double b) { return std::abs(b - shell) <= b_tolerance(shell); }))
      throw BadInput(fmt::format(
          "--shells: no volume has a b-value of {} (+- {}) s/mm^2; there are {:.0f} to {:.0f}", shell,
          b_tolerance(shell), std::ranges::min(gradients.b), std::ranges::max(gradients.b)));
  return chosen;
}

/// Leaves the chosen volumes, in place.
void keep_volumes(Image& series, const std::vector<int>& chosen) {
  if (std::ssize(chosen) == series.channels) return;
  for (std::size_t k = 0; k < chosen.size(); ++k)
    if (const int from = chosen[k]; from != static_cast<int>(k))
      std::ranges::copy(series.channel(from), series.channel(static_cast<int>(k)).begin());
  series.channels = static_cast<int>(chosen.size());
  series.data.resize(chosen.size() * static_cast<std::size_t>(series.grid.voxels()));
}

/// The mean of the volumes without diffusion weighting, or of all where there is none; what is not finite
/// counts as 0.
Image mean_b0(const Image& series, const std::vector<double>& b, double threshold) {
  std::vector<int> volumes;
  for (std::size_t v = 0; v < b.size(); ++v)
    if (b[v] <= threshold) volumes.push_back(static_cast<int>(v));
  if (volumes.empty()) {
    volumes.resize(b.size());
    std::iota(volumes.begin(), volumes.end(), 0);
  }
  Image mean(series.grid, 1);
  const auto share = 1 / static_cast<float>(volumes.size());
  for (const int volume : volumes)
    for (std::size_t v = 0; v < mean.data.size(); ++v) {
      const float value = series.channel(volume)[v];
      if (std::isfinite(value)) mean.data[v] += value * share;
    }
  return mean;
}

void read_series(DenoiseInput& in, io::Nifti& file, const DenoiseSettings& settings) {
  in.image = take_image(file, settings.input);
  const std::string& b_file = settings.grad.empty() ? settings.bval : settings.grad;
  if (in.image.channels < 2)
    throw BadInput(fmt::format("{} has the extents {}; a diffusion series has four, [X, Y, Z, volumes]",
                               settings.input, shape_text(file.shape)));
  const io::Gradients gradients = read_gradients(settings, in.image.channels);
  if (std::ranges::max(gradients.b) <= settings.b0_threshold)
    throw BadInput(
        fmt::format("{}: no b-value is above {} s/mm^2 (the largest is {}), so that there is no diffusion "
                    "weighting to fit a tensor to; check the file and --b0-threshold",
                    b_file, settings.b0_threshold, std::ranges::max(gradients.b)));
  in.read_frame = gradients.frame;
  in.output_order = settings.output_order.value_or(TensorOrder::fsl);
  in.output_frame = settings.output_frame.value_or(usual_frame(in.output_order));
  in.frame = axis_aligned(in.output_frame, file.affine);

  SeriesFacts& facts = in.series.emplace();
  facts.volumes = in.image.channels;
  const std::vector<int> chosen = choose_volumes(gradients, settings);
  keep_volumes(in.image, chosen);
  const Rotation turn = io::frame_change(gradients.frame, in.frame, file.affine);
  std::vector<double> b;
  std::vector<std::array<double, 3>> directions;
  for (const int volume : chosen) {
    const auto& g = gradients.directions[static_cast<std::size_t>(volume)];
    auto& direction = directions.emplace_back();
    for (std::size_t r = 0; r < 3; ++r)
      direction[r] = turn[r][0] * g[0] + turn[r][1] * g[1] + turn[r][2] * g[2];
    b.push_back(gradients.b[static_cast<std::size_t>(volume)]);
    ++facts.used[b.back() <= settings.b0_threshold ? 0 : std::lround(b.back() / 50) * 50];
  }
  in.mask = choose_mask(in.image, mask_wanted(settings), file, settings.input,
                        [&] { return mean_b0(in.image, b, settings.b0_threshold); });

  const Stopwatch watch;
  facts.method = settings.fit.value_or(facts.method);
  imaging::TensorFit fit = imaging::fit_tensors(in.image, b, directions, in.mask.voxels, {facts.method});
  facts.seconds = watch.seconds();
  facts.fitted = fit.voxels;
  facts.not_fitted = fit.not_fitted;
  facts.raised = fit.raised;
  facts.negative = fit.negative;
  in.image = std::move(fit.tensor);
  in.s0 = std::move(fit.s0);
  leave_out_zeros(in.mask, in.image);
  if (in.mask.inside == 0)
    throw BadInput(
        fmt::format("{}: no voxel could be fitted: in each of {} inside the mask ({}) a measurement is not "
                    "finite, or all are 0 or below",
                    settings.input, fit.not_fitted, in.mask.origin));
}

}  // namespace

std::optional<Rotation> rotation(io::Frame from, io::Frame to, const io::Affine& affine) {
  const Rotation change = io::frame_change(from, to, affine);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 3; ++c)
      if (std::abs(change[r][c] - (r == c ? 1 : 0)) > 1e-12) return change;
  return std::nullopt;
}

DenoiseInput read_denoise_input(const DenoiseSettings& settings) {
  const Stopwatch watch;
  DenoiseInput in;
  in.kind = settings.kind();
  io::Nifti file = io::read_nifti(settings.input);
  switch (in.kind) {
    case ImageKind::tensors:
      read_tensors(in, file, settings);
      break;
    case ImageKind::series:
      read_series(in, file, settings);
      break;
    case ImageKind::channels:
      in.image = take_image(file, settings.input);
      if (in.image.channels > 100)
        throw BadInput(
            fmt::format("{} has {} volumes, and --vector takes 1 to 100", settings.input, in.image.channels));
      in.mask =
          choose_mask(in.image, mask_wanted(settings), file, settings.input, [&] { return norm(in.image); });
      break;
  }
  file.data.clear();
  in.header = std::move(file);
  in.read_seconds = watch.seconds() - (in.series ? in.series->seconds : 0);
  return in;
}

}  // namespace warploom::tool
