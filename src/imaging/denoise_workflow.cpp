#include "warploom/imaging/denoise_workflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <numbers>
#include <utility>

#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "core/large_pages.hpp"
#include "imaging/series_denoise_backend.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/core/view.hpp"
#include "warploom/imaging/image_file.hpp"
#include "warploom/imaging/rician.hpp"

namespace warploom::imaging {
namespace {

constexpr int kVectorIntent = 1007, kMostChannels = 100;
constexpr std::pair<Regulariser, std::string_view> kRegularisers[] = {{Regulariser::automatic, "auto"},
                                                                      {Regulariser::adaptive, "adaptive"},
                                                                      {Regulariser::tv, "tv"},
                                                                      {Regulariser::tgv, "tgv"},
                                                                      {Regulariser::none, "none"}};

/// @param image  of which the mask is to be
ChosenMask mask_of(const DenoiseInput& in, const ImageView& image, const DenoiseRequest& request,
                   const std::function<Image()>& scalar) {
  const std::string wanted = request.own_mask               ? "own"
                             : !request.mask.empty()        ? request.mask
                             : in.kind == ImageKind::series ? "auto"
                                                            : "nonzero";
  return choose_mask(
      image, wanted,
      [&] {
        if (request.own_mask) return *request.own_mask;
        if (wanted == "auto") return automatic_mask(scalar());
        if (wanted == "nonzero" || wanted == "none") return Mask{};
        return read_mask(wanted, image.grid, in.header.affine, request.input, request.max_memory);
      },
      request.input);
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

float trace(const Image& tensors, std::size_t v) {
  const auto tensor = tensor_at(tensors, v);
  return static_cast<float>(tensor[0] + tensor[3] + tensor[5]);
}

float norm(const Image& image, std::size_t v) {
  const std::size_t stride = image.data.size() / static_cast<std::size_t>(image.channels);
  float sum = 0;
  for (; v < image.data.size(); v += stride) sum += image.data[v] * image.data[v];
  return std::sqrt(sum);
}

/// Millimetres squared a second where micrometres squared a millisecond are meant, or the other way round.
void require_plausible(const Image& tensors, const Mask& mask, const DenoiseRequest& request) {
  std::vector<float> traces;
  const auto voxels = static_cast<std::size_t>(tensors.grid.voxels());
  for (std::size_t v = 0; v < voxels; v += std::max<std::size_t>(1, voxels / 200000))
    if (inside(mask, v)) traces.push_back(trace(tensors, v));
  if (traces.empty()) return;
  const double middle = median(traces);
  // In um^2/ms that of free water is 9 and that of tissue 1 to 4.
  if (!request.square_micrometres && middle > 100)
    throw BadInput(
        fmt::format("{}: the median trace is {:.3g}, too much for mm^2/s, where that of tissue is about "
                    "2e-3; if the file is in um^2/ms, give `square_micrometres`",
                    request.input, middle / 1000));
  if (request.square_micrometres && middle < 0.01)
    throw BadInput(fmt::format(
        "{}: the median trace is {:.3g}, too little for um^2/ms, where that of tissue is about 2; "
        "if the file is in mm^2/s, leave `square_micrometres` out",
        request.input, middle));
}

void prepare_tensors(DenoiseInput& in, const DenoiseRequest& request) {
  if (in.image.channels != kTensorChannels)
    throw BadInput(
        fmt::format("{} has the extents {}, so {} volumes; a tensor image has 6. For a diffusion series give "
                    "`bval` and `bvec`, or `grad`; for other data give `vector`",
                    request.input, shape_text(in.header.shape), in.image.channels));
  in.order = order_of(in.header, request.order, request.input);
  in.read_frame = request.frame.value_or(usual_frame(*in.order));
  in.output_order = request.output_order.value_or(*in.order);
  in.output_frame = request.output_frame.value_or(
      in.output_order == *in.order ? in.read_frame : usual_frame(in.output_order));
  from_order(in.image, *in.order, request.square_micrometres ? 1.0F : 1000.0F);
  in.frame = axis_aligned(in.read_frame, in.header.affine);
  change_frame(in.image, in.read_frame, in.frame, in.header.affine);
  in.mask = mask_of(in, in.image, request, [&] {
    return scalar_image(in.image, [&](std::size_t v) { return trace(in.image, v); });
  });
  require_plausible(in.image, in.mask.voxels, request);
}

/// For channels in any unit: a tenth of the noise over the smallest spacing.
double epsilon_of_noise(const DenoiseInput& input, const std::string& name) {
  std::vector<double> noise = noise_level(input.image, input.mask.voxels);
  const double epsilon = 0.1 * median(noise) / std::ranges::min(input.image.grid.spacing);
  if (epsilon <= 0)
    throw BadInput(fmt::format(
        "{}: no noise was found that epsilon could be taken from; give `epsilon` and `lambda`", name));
  return epsilon;
}

/// A file that lies where the input does.
io::Nifti file_like(const DenoiseInput& input, const std::string& more = "") {
  io::Nifti file;
  file.spacing = input.header.spacing;
  file.affine = input.header.affine;
  file.sform_code = input.header.sform_code, file.qform_code = input.header.qform_code;
  file.nifti2 = input.header.nifti2;
  file.description = "warploom denoise" + more;
  return file;
}

/// From um^2/ms to the unit of files.
float file_unit(const DenoiseRequest& request) { return request.square_micrometres ? 1.0F : 1e-3F; }

}  // namespace

std::string_view name(ImageKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"tensors", "series", "vector"};
  return at_enumerator(kNames, kind, "the kind of image");
}

const std::vector<std::string>& all_maps() {
  static const std::vector<std::string> maps{"fa", "md", "ad", "rd", "mo", "l1", "l2",
                                             "l3", "v1", "v2", "v3", "s0", "rgb"};
  return maps;
}

Regulariser parse_regulariser(std::string_view text) {
  for (const auto& [regulariser, label] : kRegularisers)
    if (label == text) return regulariser;
  throw BadInput(fmt::format("'{}' is none of auto, adaptive, tv, tgv, none", text));
}

std::string_view name(Regulariser regulariser) {
  return at_enumerator(kRegularisers, regulariser, "the regulariser").second;
}

ImageKind DenoiseRequest::kind() const {
  if (vector) return ImageKind::channels;
  return bval.empty() && grad.empty() && !gradients ? ImageKind::tensors : ImageKind::series;
}

std::vector<std::string> DenoiseRequest::maps_of(ImageKind of) const {
  std::vector<std::string> out;
  for (const std::string& map : maps)
    if (of == ImageKind::series || (of == ImageKind::tensors && map != "s0")) out.push_back(map);
  return out;
}

namespace {

bool of_total_variation(const DenoiseRequest& r) {
  return r.solve.lambda != 0 || r.epsilon || r.solve.solver != Solver::accelerated;
}

/// For a series of which it is known whether it was denoised.
Regulariser chosen_regulariser(const DenoiseRequest& r, bool denoised) {
  if (r.regulariser != Regulariser::automatic) return r.regulariser;
  if (r.fit || of_total_variation(r) || r.series_denoise == SeriesStep::off) return Regulariser::tv;
  return denoised ? Regulariser::adaptive : Regulariser::none;
}

}  // namespace

void check(const DenoiseRequest& r) {
  const auto refuse = [](bool wrong, const std::string& message) {
    if (wrong) throw BadInput(message);
  };
  refuse(!r.grad.empty() && !(r.bval.empty() && r.bvec.empty()),
         "`grad` and `bval`, `bvec` do not go together: give one description of the series");
  refuse(r.gradients && !(r.bval.empty() && r.bvec.empty() && r.grad.empty()),
         "`gradients` and their files do not go together: give one description of the series");
  refuse(r.bval.empty() != r.bvec.empty(),
         fmt::format("{} is missing: a series needs both `bval` and `bvec`, or `grad`",
                     r.bval.empty() ? "`bval`" : "`bvec`"));
  refuse(r.own_mask && !r.mask.empty(), "`mask` and `own_mask` do not go together: give one");
  const ImageKind kind = r.kind();
  refuse(r.vector && !(r.bval.empty() && r.grad.empty() && !r.gradients),
         "`vector` and gradients do not go together: a series is fitted, a vector image is taken as it is");
  refuse(kind != ImageKind::tensors && (r.order || r.frame),
         fmt::format("{} tells how a tensor image is to be read, and this is {}{}",
                     r.order ? "`order`" : "`frame`", r.vector ? "a vector image" : "a series",
                     r.vector ? "" : "; `output_order` and `output_frame` tell how tensors are written"));
  refuse(r.vector && (r.output_order || r.output_frame),
         "`output_order` and `output_frame` are for tensors, and `vector` says that these are none");
  refuse(!r.shells.empty() && r.largest_b, "`shells` and `largest_b` do not go together: give one");
  refuse(kind != ImageKind::series && (!r.shells.empty() || r.largest_b || r.fit),
         fmt::format("{} is for a series: give `bval` and `bvec`, or `grad`", r.fit         ? "`fit`"
                                                                              : r.largest_b ? "`largest_b`"
                                                                                            : "`shells`"));
  name(r.regulariser);  // is there such a one?
  refuse(kind != ImageKind::series && r.regulariser == Regulariser::adaptive,
         "`regulariser` adaptive is for a series: give `bval` and `bvec`, or `grad`");
  refuse(r.regulariser == Regulariser::adaptive && r.series_denoise == SeriesStep::off,
         "`regulariser` adaptive needs the denoised series, and `series_denoise` is off");
  refuse(r.regulariser == Regulariser::adaptive && r.fit,
         "`regulariser` adaptive is a fit of its own: `fit` does not go with it");
  refuse(
      (r.regulariser == Regulariser::adaptive || r.regulariser == Regulariser::none) && of_total_variation(r),
      fmt::format("`lambda`, `epsilon` and `solver` are of `regulariser` tv, and it is {}",
                  name(r.regulariser)));
  refuse(
      r.regulariser == Regulariser::tgv && (r.epsilon.value_or(0) != 0 || r.solve.solver == Solver::descent),
      "`regulariser` tgv is minimised by primal-dual without smoothing: `epsilon` and other solvers do not go with it");
  refuse(r.regulariser != Regulariser::tgv && r.solve.tgv_ratio != DenoiseOptions{}.tgv_ratio,
         fmt::format("`tgv_ratio` is of `regulariser` tgv, and it is {}", name(r.regulariser)));
  refuse(r.regulariser != Regulariser::tgv && r.solve.variation == Variation::generalised,
         fmt::format("generalised variation is `regulariser` tgv, and it is {}", name(r.regulariser)));
  refuse(kind != ImageKind::series && (r.series_denoise == SeriesStep::on || r.keep_series),
         fmt::format("{} is for a series: give `bval` and `bvec`, or `grad`",
                     r.keep_series ? "`keep_series`" : "`series_denoise`"));
  refuse(kind != ImageKind::series && r.bvalue_scaling != io::BValueScaling::automatic,
         "`bvalue_scaling` is for a series: give `bval` and `bvec`, or `grad`");
  refuse(r.solve.descent_step > 0 && r.solve.solver != Solver::descent,
         "`descent_step` is for `solver` descent; the others find theirs");
}

namespace {

Image copy_of(const ImageView& image) {
  Image copy;
  copy.grid = image.grid, copy.channels = image.channels;
  reserve_in_large_pages(copy.data, image.data.size());
  copy.data.assign(image.data.begin(), image.data.end());
  return copy;
}

/// A series after the step before the fit: denoised beside the measured one, which is in its Series, and the
/// plain fit of that where it did not wait. The fit refers to the series and the mask: they stay in place.
struct Beside {
  Image denoised = {};  ///< empty: not done, or done in place
  std::future<TensorFit> fit = {};
};

bool works_on_a_gpu(const DenoiseRequest& request) {
  return DeviceScope(request.solve.run, "denoising", kBuiltWithCuda).device().is_gpu();
}

/// Denoises all volumes: the more there are, the better noise is told from signal. In place, unless the
/// measured series is needed again or somebody else's.
void denoise_before_the_fit(DenoiseInput& in, Series& series, Beside& beside, const DenoiseRequest& request) {
  SeriesOutcome& outcome = in.series->denoised;
  if (request.series_denoise != SeriesStep::off) {
    const bool adaptive = chosen_regulariser(request, true) == Regulariser::adaptive,
               real = series.complex.empty(), in_place = real && !adaptive && series.view.data.empty(),
               on_a_gpu = works_on_a_gpu(request);
    std::future<Image> room;  // which a GPU would wait for as long as the mask takes
    if (real && !in_place && on_a_gpu)
      room = std::async(
          std::launch::async,
          [grid = series.values().grid, volumes = series.values().channels] { return Image(grid, volumes); });
    in.mask = mask_of(in, series.values(), request,
                      [&] { return mean_b0(series.values(), series.gradients, request.b0_threshold); });
    if (room.valid()) beside.denoised = room.get();
    // Of all volumes, on the processors while a GPU denoises them.
    if (adaptive && on_a_gpu && request.shells.empty() && !request.largest_b)
      beside.fit = std::async(std::launch::async, [&, run = current_run()]() mutable {
        run.progress = {};  // shown is the work that takes longer
        const RunScope scope(std::move(run));
        return fit_tensors(series.values(), series.gradients.b, series.gradients.directions, in.mask.voxels);
      });
    SeriesDenoiseOptions options = request.patches;
    options.run = request.solve.run;
    const SeriesStep step = request.series_denoise;
    const ImageView values = series.values();
    if (in_place) {
      outcome = denoise_first(series.image, in.mask.voxels, step, options);
    } else if (real) {
      outcome = denoise_first(values, beside.denoised, in.mask.voxels, step, options);
    } else {
      outcome = denoise_first(series.complex, values.grid, values.channels, in.mask.voxels, step, options);
      if (outcome.done) beside.denoised = magnitudes(series.complex, values.grid, values.channels);
    }
    if (!outcome.done) beside.denoised = {};
  }
  in.regulariser = chosen_regulariser(request, outcome.done.has_value());
  if (in.regulariser == Regulariser::adaptive && !outcome.done)
    throw BadInput(fmt::format(
        "{}: `regulariser` adaptive needs a series that is denoised: {}; `series_denoise` on does it all the same",
        request.input, outcome.why_not));
  if (in.regulariser != Regulariser::adaptive && !beside.denoised.data.empty()) {
    series.image = std::exchange(beside.denoised, {});
    series.view = {};
  }
  if (request.keep_series && series.complex.empty())
    in.denoised_series = beside.denoised.data.empty() ? copy_of(series.values()) : beside.denoised;
  if (request.keep_series) in.denoised_complex = std::move(series.complex);
  series.complex = {};
}

/// The mean magnitudes of signals whose noise was taken away: what denoise_series() estimates from
/// magnitudes.
void add_rician_bias(Image& series, const Image& noise) {
  parallel_for(series.channels, [&](std::int64_t volume) {
    const std::span<float> values = series.channel(static_cast<int>(volume));
    for (std::size_t v = 0; v < values.size(); ++v) {
      const double sigma = double(noise.data[v]);
      if (sigma > 0 && std::isfinite(values[v]))
        values[v] = static_cast<float>(sigma * rician_moments(double(values[v]) / sigma).mean);
    }
  });
}

/// What fit_tensors_adaptively() needs of the chosen volumes, but for the measured ones.
MeasuredSeries with_noise(const io::Gradients& gradients, Image denoised, const SeriesOutcome& outcome,
                          const DenoiseRequest& request) {
  MeasuredSeries out;
  out.noise = outcome.done->noise;
  if (outcome.complex) {
    for (float& value : out.noise.data) value /= std::numbers::sqrt2_v<float>;  // of a part
    add_rician_bias(denoised, out.noise);
  } else {
    correct_noise_bias(out.noise, denoised, outcome.done->extent, request.solve.run);
  }
  Series chosen{.image = std::move(denoised), .gradients = gradients};
  select_volumes(chosen, request);
  out.denoised = std::move(chosen.image);
  return out;
}

}  // namespace

DenoiseInput denoise_input(Series series, const DenoiseRequest& request) {
  DenoiseInput in;
  in.kind = ImageKind::series;
  SeriesFacts& facts = in.series.emplace();
  facts.volumes = series.values().channels;
  facts.remark = remark_on_lengths(series.gradients);
  in.header = std::move(series.header);
  in.read_frame = series.gradients.frame;
  in.output_order = request.output_order.value_or(TensorOrder::fsl);
  in.output_frame = request.output_frame.value_or(usual_frame(in.output_order));
  in.frame = axis_aligned(in.output_frame, in.header.affine);
  change_frame(series.gradients, in.frame, in.header.affine);
  Beside beside;
  denoise_before_the_fit(in, series, beside, request);
  const bool adaptive = in.regulariser == Regulariser::adaptive;
  auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::optional<TensorFit> fitted;
  if (beside.fit.valid()) fitted = beside.fit.get();
  facts.seconds = seconds();
  if (adaptive)
    in.measured = with_noise(series.gradients, std::move(beside.denoised), facts.denoised, request);
  select_volumes(series, request);
  facts.used = shells(series.gradients, request.b0_threshold);
  const ImageView values = series.values();
  // Of the measured series, all of it, there is a mask already.
  if (!adaptive || values.channels != facts.volumes)
    in.mask =
        mask_of(in, values, request, [&] { return mean_b0(values, series.gradients, request.b0_threshold); });

  begin = std::chrono::steady_clock::now();
  // What is written as it is fitted shall have no negative eigenvalues, either.
  facts.method =
      request.fit.value_or(in.regulariser == Regulariser::none ? FitMethod::positive : FitMethod::wls);
  TensorFit fit = adaptive && fitted ? *std::move(fitted)
                                     : fit_tensors(values, series.gradients.b, series.gradients.directions,
                                                   in.mask.voxels, {facts.method});
  facts.seconds += seconds();
  facts.fitted = fit.voxels;
  facts.not_fitted = fit.not_fitted;
  facts.raised = fit.raised;
  facts.negative = fit.negative;
  if (adaptive) {
    in.measured.measured = std::move(series.image);
    in.measured.view = series.view;
    in.measured.gradients = std::move(series.gradients);
  }
  in.image = std::move(fit.tensor);
  in.s0 = std::move(fit.s0);
  leave_out_zeros(in.mask, in.image);
  if (in.mask.inside == 0)
    throw BadInput(fmt::format(
        "{}: no voxel could be fitted: in each of {} inside the mask ({}) a measurement is not finite, or all are 0 or below",
        request.input, fit.not_fitted, in.mask.origin));
  return in;
}

DenoiseInput denoise_input(io::Nifti file, const DenoiseRequest& request) {
  DenoiseInput in;
  in.kind = request.vector ? ImageKind::channels : ImageKind::tensors;
  in.image = take_volumes(file, request.input);
  file.data.clear();
  in.header = std::move(file);
  if (request.regulariser != Regulariser::automatic) in.regulariser = request.regulariser;
  if (!request.vector) {
    prepare_tensors(in, request);
    return in;
  }
  if (in.image.channels > kMostChannels)
    throw BadInput(
        fmt::format("{} has {} volumes, and `vector` takes 1 to 100", request.input, in.image.channels));
  in.mask = mask_of(in, in.image, request,
                    [&] { return scalar_image(in.image, [&](std::size_t v) { return norm(in.image, v); }); });
  return in;
}

namespace {

/// A GPU's context takes as long to make as a series to read: so both are done at once. @throws NoDevice,
/// BadInput
[[nodiscard]] std::future<void> start_device(const Run& run) {
  return std::async(
      std::launch::async, [devices = run.devices.empty() ? current_run().devices : run.devices] {
        [[maybe_unused]] const DeviceScope scope({.devices = devices}, "denoising", kBuiltWithCuda);
#if defined(WARPLOOM_HAVE_CUDA)
        if (scope.device().is_gpu()) start_cuda();
#endif
      });
}

}  // namespace

DenoiseInput read_denoise_input(const DenoiseRequest& request) {
  check(request);
  if (request.kind() != ImageKind::series)
    return denoise_input(io::read_nifti(request.input, request.max_memory), request);
  std::future<void> starting = start_device(request.solve.run);
  Series series = read_series(request, request.b0_threshold);
  starting.get();  // an absent device is better known before than after the fit
  return denoise_input(std::move(series), request);
}

namespace {

void denoise_adaptively(DenoiseInput& input, const DenoiseRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  const MeasuredSeries& series = input.measured;
  AdaptiveFitOptions options = request.adaptive;
  options.run = request.solve.run;
  const std::vector<double>& b = series.gradients.b;
  const auto& directions = series.gradients.directions;
  const ImageView measured = series.view.data.empty() ? ImageView(series.measured) : series.view;
  AdaptiveFit fit = fit_tensors_adaptively(measured, series.denoised, series.noise, b, directions,
                                           input.mask.voxels, options);
  input.measured.denoised = {};
  AdaptiveFacts& facts = input.adaptive.emplace();
  facts.voxels = fit.voxels;
  double sum = 0;
  for (const float count : fit.neighbours.data) sum += count;
  facts.neighbours = sum / static_cast<double>(std::max<std::int64_t>(1, fit.voxels));
  facts.residual = residual_structure(measured, series.noise, fit.tensor, fit.s0, b, directions,
                                      input.mask.voxels, options.run);
  input.image = std::move(fit.tensor);
  input.s0 = std::move(fit.s0);
  input.measured = {};
  facts.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

DenoiseReport denoise(DenoiseInput& input, const DenoiseRequest& request) {
  if (input.regulariser == Regulariser::adaptive || input.regulariser == Regulariser::none) {
    DenoiseReport report;
    if (input.series) report.projected = input.series->negative;
    if (input.regulariser == Regulariser::adaptive) denoise_adaptively(input, request);
    return report;
  }
  DenoiseOptions options = request.solve;
  if (input.regulariser == Regulariser::tgv) {
    options.variation = Variation::generalised;
    options.solver = Solver::primal_dual;
  }
  if (request.epsilon)
    options.epsilon = *request.epsilon;
  else if (options.solver == Solver::primal_dual)
    options.epsilon = 0;
  else if (input.kind == ImageKind::channels)
    options.epsilon = epsilon_of_noise(input, request.input);
  return input.kind == ImageKind::channels ? denoise_channels(input.image, input.mask.voxels, options)
                                           : denoise_tensors(input.image, input.mask.voxels, options);
}

TensorMaps output_maps(DenoiseInput& input, const DenoiseRequest& request) {
  if (input.kind == ImageKind::channels) return {};
  change_frame(input.image, input.frame, input.output_frame, input.header.affine);
  input.frame = input.output_frame;
  if (request.maps_of(input.kind).empty()) return {};
  return tensor_maps(input.image, input.mask.voxels);
}

io::Nifti take_image(DenoiseInput& input, const DenoiseRequest& request) {
  input.image.check(request.input);
  io::Nifti file;
  if (input.kind == ImageKind::channels) {
    file = file_like(input);
    file.shape = input.header.shape;
    file.intent = input.header.intent;
    file.intent_parameters = input.header.intent_parameters;
    file.intent_name = input.header.intent_name;
  } else {
    file = file_like(input, fmt::format(", {}, frame {}", request.square_micrometres ? "um2/ms" : "mm2/s",
                                        name(input.output_frame)));
    to_order(input.image, input.output_order, file_unit(request));
    mark_order(file, input.output_order, input.image.grid);
  }
  file.data = std::move(input.image.data);
  return file;
}

io::Nifti take_map(const std::string& map, DenoiseInput& input, TensorMaps& maps,
                   const DenoiseRequest& request) {
  const auto known = std::ranges::find(kTensorMaps, map, &TensorMap::name);
  Image none;
  Image& image = known != kTensorMaps.end() ? maps.*known->image : map == "s0" && input.s0 ? *input.s0 : none;
  if (image.data.empty())
    throw BadInput(
        fmt::format("{}: there is no map '{}' of this image, or it was taken already", request.input, map));
  image.check(map);
  const bool vectors = image.channels > 1;
  io::Nifti file = file_like(input, vectors ? fmt::format(", frame {}", name(input.output_frame)) : "");
  file.shape = {image.grid.nx, image.grid.ny, image.grid.nz};
  if (vectors) {
    file.shape.push_back(image.channels);
    file.intent = kVectorIntent;
  }
  file.intent_name = map;
  file.data = std::move(image.data);
  if (known != kTensorMaps.end() && known->diffusivity && file_unit(request) != 1)
    for (float& value : file.data) value *= file_unit(request);
  return file;
}

}  // namespace warploom::imaging
