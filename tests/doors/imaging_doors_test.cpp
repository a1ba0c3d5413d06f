#include "doors/imaging_doors.hpp"

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "doors/doors.hpp"
#include "warploom/core/process.hpp"
#include "warploom/imaging/contour.hpp"
#include "warploom/imaging/denoise.hpp"
#include "warploom/imaging/denoise_workflow.hpp"
#include "warploom/imaging/fit.hpp"
#include "warploom/imaging/gpu_image.hpp"
#include "warploom/imaging/image_file.hpp"
#include "warploom/imaging/maps.hpp"
#include "warploom/imaging/mask.hpp"
#include "warploom/imaging/quality_page.hpp"
#include "warploom/imaging/segment.hpp"
#include "warploom/imaging/series.hpp"
#include "warploom/imaging/slices.hpp"
#include "warploom/imaging/tensor_order.hpp"

namespace warploom::doors {
namespace {

using namespace imaging;

DOOR(ImagesAndGrids, "imaging::Grid::voxels", "imaging::Image::Image", "imaging::Image::check",
     "imaging::Image::channel(int)", "imaging::Image::channel(int) const",
     "imaging::ImageView::ImageView(const Grid &, int, std::span<const float>)",
     "imaging::ImageView::ImageView(const Image &)", "imaging::ImageView::check",
     "imaging::ImageView::channel", "imaging::ImageView::check_strided", "imaging::ImageView::size",
     "imaging::ImageView::ImageView(const Grid &, int, const float *, const Strides &)",
     "imaging::ImageView::values", "imaging::ImageView::piece", "imaging::gathered") {
  refused([] { return Grid{kMost, 2, 1}.voxels(); });
  refused([] { return Grid{-1, 2, 1}.voxels(); });
  EXPECT_EQ((Grid{kMost, 0, kMost}.voxels()), 0);
  refused([] { return Image({kMost, 4, 1}, 1); });
  refused([] { return Image({std::int64_t{1} << 40, std::int64_t{1} << 20, 1}, 1); });
  refused([] { return Image({2, 2, 0}, 1); });
  refused([] { return Image({2, 2, 2}, -1); });
  for (Image& image : broken(2)) {
    refused([&] { return image.check(), 0; });
    refused([&] { return ImageView{image.grid, image.channels, image.data}.check(), 0; });
    refused([&] { return ImageView(image).channel(0).size(); });
    refused([&] { return image.channel(0).size(); });
    refused([&] { return std::as_const(image).channel(0).size(); });
  }
  Image image = whole(2);
  for (const int channel : {-1, 2, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    refused([&] { return image.channel(channel).size(); });
    refused([&] { return std::as_const(image).channel(channel).size(); });
    refused([&] { return ImageView(image).channel(channel).size(); });
  }
  refused([] { return ImageView({2, 2, 2}, 1, nullptr, {1, 2, 4, 0}).size(); });
  const ImageView turned({6, 6, 6}, 2, image.data.data(), {36, 6, 1, 216});
  refused([&] { return turned.check(), 0; });
  refused([&] { return turned.channel(0).size(); });
  refused([&] { return gathered(ImageView({0, 6, 6}, 2, image.data.data(), turned.strides)).channels; });
  refused([&] { return gathered(ImageView({kMost, 6, 6}, 2, image.data.data(), turned.strides)).channels; });
  turned.check_strided();
  EXPECT_EQ(gathered(turned).data.size(), turned.size());
  float room = 0;
  EXPECT_EQ(*turned.values(1, 1, &room), image.data[36]);
  EXPECT_GE(turned.piece(), 1);
  EXPECT_EQ(ImageView(image).channel(1).data(), image.data.data() + 216);
  EXPECT_EQ(image.channel(1).data(), image.data.data() + 216);
}

DOOR(FloorEigenvalues, "imaging::floor_eigenvalues") {
  door_of_images(6, [](Image& i, const Mask& m) { return floor_eigenvalues(i, m); });
  refused([] {
    Image i = whole(5);
    return floor_eigenvalues(i, {});
  });
}

DOOR(RotateTensors, "imaging::rotate_tensors") {
  door_of_images(6, [](Image& i, const Mask& m) {
    if (!m.empty() && m.size() != 216) throw BadInput("it takes no mask");
    return rotate_tensors(i, {{{0, 1, 0}, {1, 0, 0}, {0, 0, 1}}}), 0;
  });
  Image image = whole(6);
  refused([&] { return rotate_tensors(image, {{{kNan, 0, 0}, {0, 1, 0}, {0, 0, 1}}}), 0; });
  refused([&] { return rotate_tensors(image, {}), 0; });
}

DOOR(AutomaticMask, "imaging::automatic_mask") {
  refused_if_broken(1, [](Image& i, const Mask&) { return automatic_mask(i); });
  survives_numbers(1, [](Image& i, const Mask&) { return automatic_mask(i); });
  refused([] { return automatic_mask(whole(2)); });
}

DOOR(NoiseLevel, "imaging::noise_level") {
  door_of_images(1, [](Image& i, const Mask& m) { return noise_level(i, m); });
}

DOOR(TensorMapsOfImages, "imaging::tensor_maps") {
  door_of_images(6, [](Image& i, const Mask& m) { return tensor_maps(i, m); });
  refused([] { return tensor_maps(whole(3), {}); });
}

DOOR(FitTensors, "imaging::fit_tensors") {
  const std::vector<double> b{0, 1000, 1000, 1000, 1000, 1000, 1000};
  const double h = std::sqrt(0.5);
  const std::vector<std::array<double, 3>> g{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1},
                                             {h, h, 0}, {h, 0, h}, {0, h, h}};
  door_of_images(7, [&](Image& i, const Mask& m) { return fit_tensors(i, b, g, m).voxels; });
  const Image series = whole(7);
  EXPECT_EQ(fit_tensors(series, b, g, {}).voxels, 216);
  refused([&] { return fit_tensors(series, std::span(b).first(6), g, {}); });
  refused([&] { return fit_tensors(series, {}, {}, {}); });
  refused([&] { return fit_tensors(series, b, std::span(g).first(1), {}); });
  refused([&] { return fit_tensors(series, std::vector<double>(7, kNan), g, {}); });
  refused([&] { return fit_tensors(series, std::vector<double>(7, kInfinity), g, {}); });
  refused([&] { return fit_tensors(series, b, std::vector<std::array<double, 3>>(7, {kNan, 0, 0}), {}); });
  refused([&] { return fit_tensors(series, b, g, {}, {.method = no_enumerator<FitMethod>()}); });
}

/// Every number of the options, out of its range.
std::vector<DenoiseOptions> odd_denoise_options() {
  std::vector<DenoiseOptions> all;
  for (const double value : {kNan, kInfinity, -kInfinity, -1.0, 1e300}) {
    all.push_back({.lambda = value});
    all.push_back({.epsilon = value});
    all.push_back({.tolerance = value});
    all.push_back({.solver = Solver::descent, .lambda = 1, .max_iterations = 3, .descent_step = value});
  }
  all.push_back({.max_iterations = 0});
  all.push_back({.solver = no_enumerator<Solver>()});
  all.push_back({.variation = no_enumerator<Variation>()});
  all.push_back({.variation = Variation::generalised});
  for (const double ratio : {kNan, kInfinity, 0.0, -1.0, 1e-3, 100.0})
    all.push_back({.variation = Variation::generalised,
                   .tgv_ratio = ratio,
                   .solver = Solver::primal_dual,
                   .lambda = 1,
                   .epsilon = 0,
                   .max_iterations = 9});
  all.push_back({.run = {.devices = {Device::cpu, Device::cpu}}});
  return all;
}

DOOR(Denoise, "imaging::denoise_tensors", "imaging::denoise_channels") {
  DenoiseOptions brief;
  brief.lambda = 1, brief.max_iterations = 2;
  door_of_images(6, [&](Image& i, const Mask& m) { return denoise_tensors(i, m, brief).iterations; });
  door_of_images(2, [&](Image& i, const Mask& m) { return denoise_channels(i, m, brief).iterations; });
  brief.variation = Variation::generalised, brief.solver = Solver::primal_dual, brief.epsilon = 0;
  door_of_images(6, [&](Image& i, const Mask& m) { return denoise_tensors(i, m, brief).iterations; });
  door_of_images(2, [&](Image& i, const Mask& m) { return denoise_channels(i, m, brief).iterations; });
  for (const DenoiseOptions& options : odd_denoise_options()) {
    Image tensors = whole(6), channels = whole(1);
    survives([&] { return denoise_tensors(tensors, {}, options).iterations; });
    survives([&] { return denoise_channels(channels, {}, options).iterations; });
  }
  for (const double spacing : {0.0, -1.0, kNan, kInfinity}) {
    Image image = whole(6);
    image.grid.spacing[1] = spacing;
    refused([&] { return denoise_tensors(image, {}, brief).iterations; });
  }
}

DOOR(FetchImage, "imaging::fetch_image(const Grid &, int, const float *, void *, const Run &)",
     "imaging::fetch_image(const ImageView &, void *, std::span<float>, const Run &)") {
  const Image image = whole(1);
  // Memory of the host, whatever GPU there is.
  refused([&] { return fetch_image(image.grid, 1, image.data.data(), nullptr).channels; });
  std::vector<float> here(image.data.size());
  refused([&] { return fetch_image(image, nullptr, here), 0; });
  ImageView there = image;
  there.on_gpu = image.data.data();
  refused([&] { return fetch_image(there, nullptr, std::span(here).first(3)), 0; });
  refused([&] { return fetch_image(there, nullptr, here), 0; });
  refused([&] { return fetch_image(image.grid, 1, nullptr, nullptr).channels; });
  refused([&] { return fetch_image(image.grid, 0, image.data.data(), nullptr).channels; });
  refused([&] { return fetch_image({}, 1, image.data.data(), nullptr).channels; });
  refused([&] {
    return fetch_image(image.grid, 1, image.data.data(), nullptr, {.devices = {Device::cpu}}).channels;
  });
}

DOOR(Segment, "imaging::segment(const Image &, const SegmentOptions &)",
     "imaging::segment(const ImageView &, const SegmentOptions &)",
     "imaging::segment(const ImageView &, const SegmentOnGpu &, const SegmentOptions &)",
     "imaging::usual_options") {
  constexpr Method kLevelSet = Method::level_set;
  refused_if_broken(1, [](Image& i, const Mask&) { return segment(i).report.inside; });
  door_of_images(
      1, [](Image& i, const Mask& m) { return segment(i, {.max_iterations = 2, .mask = m}).report.inside; });
  survives_numbers(1, [](Image& i, const Mask& m) {
    return segment(i, {.method = kLevelSet, .max_iterations = 2, .start = Start::mask, .start_mask = m})
        .report.inside;
  });
  survives_numbers(1, [](Image& i, const Mask&) {
    return segment(i, {.max_iterations = 3, .classes = 4}).report.iterations;
  });
  const Image image = whole(1);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{215}})
    refused([&] {
      return segment(ImageView{image.grid, 1, std::span(image.data).first(size)}).report.inside;
    });
  Mask found(image.data.size());
  Image level_set = image;
  const SegmentOnGpu none, host{found.data(), level_set.data.data()};
  const ImageView view{image.grid, 1, image.data};
  // Memory of the host, whatever GPU there is.
  refused([&] { return segment(view, none, {}).inside; });
  refused([&] { return segment(view, host, {}).inside; });
  refused([&] { return segment(view, host, {.run = {.devices = {Device::cpu}}}).inside; });
  refused([&] { return segment(ImageView{}, host, {}).inside; });
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{217}})
    refused([&] {
      return segment(image, {.method = kLevelSet, .start = Start::mask, .start_mask = Mask(size, 1)})
          .report.inside;
    });
  for (const std::size_t size : {std::size_t{1}, std::size_t{217}})
    refused([&] { return segment(image, {.mask = Mask(size, 1)}).report.inside; });
  refused([&] { return segment(image, {.mask = Mask(image.data.size(), 0)}).report.inside; });
  for (const double value : {kNan, kInfinity, -1.0}) {
    for (const Method method : {Method::convex, kLevelSet}) {
      refused([&] { return segment(image, {.method = method, .mu = value}).report.inside; });
      refused([&] { return segment(image, {.method = method, .tolerance = value}).report.inside; });
    }
    refused([&] { return segment(image, {.method = kLevelSet, .lambda_in = value}).report.inside; });
    refused([&] { return segment(image, {.method = kLevelSet, .lambda_out = value}).report.inside; });
    refused([&] { return segment(image, {.method = kLevelSet, .time_step = value}).report.inside; });
  }
  refused([&] { return segment(image, {.means = {{kNan, 1}}}).report.inside; });
  refused([&] { return segment(image, {.max_iterations = -1}).report.inside; });
  for (const int classes : {kMost32, 17, 1, 0, -1})
    refused([&] { return segment(image, {.classes = classes}).report.inside; });
  refused([&] { return segment(image, {.method = no_enumerator<Method>()}).report.inside; });
  refused([&] { return segment(image, {.noise = no_enumerator<Noise>()}).report.inside; });
  refused([&] { return segment(image, {.start = no_enumerator<Start>()}).report.inside; });
  refused([&] { return segment(image, {.inside = no_enumerator<Inside>()}).report.inside; });
  for (const double value : {1e300, 1e-300}) {
    survives([&] {
      return segment(image, {.method = kLevelSet, .mu = value, .max_iterations = 2, .time_step = value})
          .report.inside;
    });
    survives([&] {
      return segment(image, {.mu = value, .max_iterations = 20, .means = {{value, -value}}}).report.inside;
    });
  }
  EXPECT_EQ(usual_options({.start = Start::disk}, Grid{kMost, kMost, -1}).start, Start::disk);
}

DOOR(NamesOfImaging, "imaging::name(FitMethod)", "imaging::name(ImageKind)", "imaging::name(Inside)",
     "imaging::name(Method)", "imaging::name(Noise)", "imaging::name(Solver)", "imaging::name(Start)",
     "imaging::name(StopReason)", "imaging::name(TensorOrder)", "imaging::name(Variation)",
     "imaging::elements_text", "imaging::usual_frame", "imaging::parse_fit_method", "imaging::parse_inside",
     "imaging::parse_method", "imaging::parse_noise", "imaging::parse_solver", "imaging::parse_start",
     "imaging::parse_tensor_order") {
  refused([] { return name(no_enumerator<FitMethod>()); });
  refused([] { return name(no_enumerator<ImageKind>()); });
  refused([] { return name(no_enumerator<Inside>()); });
  refused([] { return name(no_enumerator<Method>()); });
  refused([] { return name(no_enumerator<Noise>()); });
  refused([] { return name(no_enumerator<Solver>()); });
  refused([] { return name(no_enumerator<Start>()); });
  refused([] { return name(no_enumerator<StopReason>()); });
  refused([] { return name(no_enumerator<Variation>()); });
  refused([] { return name(no_enumerator<TensorOrder>()); });
  refused([] { return elements_text(no_enumerator<TensorOrder>()); });
  refused([] { return usual_frame(no_enumerator<TensorOrder>()); });
  refused([] { return name(static_cast<Solver>(-1)); });
  for (const std::string& text : odd_texts()) {
    refused([&] { return parse_fit_method(text); });
    refused([&] { return parse_inside(text); });
    refused([&] { return parse_solver(text); });
    refused([&] { return parse_start(text); });
    refused([&] { return parse_tensor_order(text); });
  }
}

DOOR(ChooseMask, "imaging::choose_mask", "imaging::leave_out_zeros") {
  refused_if_broken(2, [](Image& i, const Mask&) {
    return choose_mask(
               i, "none", [] { return Mask{}; }, "i")
        .inside;
  });
  refused_if_mask_is_broken(2, [](Image& i, const Mask& m) {
    return choose_mask(
               i, "none", [&] { return m; }, "i")
        .inside;
  });
  survives_numbers(2, [](Image& i, const Mask& m) {
    return choose_mask(
               i, "nonzero", [&] { return m; }, "")
        .inside;
  });
  refused([] { return choose_mask(whole(1), "none", {}, "i").inside; });
  door_of_images(2, [](Image& i, const Mask& m) {
    ChosenMask mask{.voxels = m, .origin = "none"};
    leave_out_zeros(mask, i);
    return mask.inside;
  });
}

DOOR(Contours, "imaging::zero_contours", "imaging::slice_contours", "imaging::contour_svg",
     "imaging::overlay") {
  const std::vector<float> plane(36, 1);
  refused([&] { return zero_contours(plane, 7, 6); });
  refused([&] { return zero_contours(plane, -6, -6); });
  refused([&] { return zero_contours(plane, kMost, kMost); });
  refused([&] { return zero_contours({}, 0, 0); });
  survives([&] { return zero_contours(std::vector<float>(36, static_cast<float>(kNan)), 6, 6); });
  refused_if_broken(1, [](Image& i, const Mask&) { return slice_contours(i); });
  survives_numbers(1, [](Image& i, const Mask&) { return overlay(i, slice_contours(i), true); });
  survives_numbers(2, [](Image& i, const Mask&) { return overlay(i, slice_contours(i), false); });
  refused_if_broken(1, [](Image& i, const Mask&) { return overlay(i, SliceContours(6), false); });
  const Image image = whole(1);
  refused([&] { return overlay(image, {}, true); });
  refused([&] { return overlay(image, SliceContours(7), true); });
  for (const double at : {kNan, kInfinity}) {
    SliceContours contours(6);
    contours[2] = {{.points = {{at, 1}, {2, 2}}, .closed = true}};
    refused([&] { return overlay(image, contours, true); });
  }
  SliceContours far(6);
  far[1] = {{.points = {{1e300, -1e300}, {2, 2}}, .closed = true}, {.points = {}, .closed = true}};
  survives([&] { return overlay(image, far, true); });
  for (const double spacing : {0.0, -1.0, kNan, kInfinity, 1e300, 1e-300}) {
    Image stretched = image;
    stretched.grid.spacing[0] = spacing;
    refused([&] { return overlay(stretched, SliceContours(6), true); });
  }
  EXPECT_FALSE(
      contour_svg({{.points = {{kNan, kInfinity}}, .closed = false}, {}}, Grid{-1, kMost, 0}).empty());
}

DOOR(MasksOfFiles, "imaging::mask_file", "imaging::mask_picture", "imaging::nonzero_mask") {
  ScalarImage like{whole(1), {}};
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{217}})
    refused([&] { return mask_file(Mask(size), like); });
  refused([] {
    return mask_file({}, {Image{}, io::Nifti{}}).data.size() == 0 ? throw BadInput("it is empty") : 0;
  });
  refused([] { return mask_picture(Mask(5), Grid{6, 6, 1}); });
  refused([] { return mask_picture({}, Grid{std::int64_t{1} << 20, std::int64_t{1} << 20, 1}); });
  refused([] { return mask_picture({}, Grid{kMost, kMost, 1}); });
  refused([] { return mask_picture(Mask(8), Grid{2, 2, 2}); });
  for (Image& image : broken(1)) refused([&] { return nonzero_mask(image, image.grid, "i"); });
  refused([] { return nonzero_mask(whole(1), Grid{6, 6, 5}, ""); });
  refused([] { return nonzero_mask(whole(2), whole(2).grid, ""); });
}

DOOR(Orders, "imaging::from_order", "imaging::to_order", "imaging::mark_order", "imaging::order_of",
     "imaging::change_frame(TensorImage &, Frame, Frame, const Affine &)",
     "imaging::change_frame(Gradients &, Frame, const Affine &)", "imaging::axis_aligned") {
  const io::Affine affine = io::Nifti{}.affine;
  refused_if_broken(6, [](Image& i, const Mask&) { return from_order(i, TensorOrder::mrtrix, 1), 0; });
  refused_if_broken(6, [](Image& i, const Mask&) { return to_order(i, TensorOrder::nifti, 2), 0; });
  refused_if_broken(6, [&](Image& i, const Mask&) {
    return change_frame(i, io::Frame::fsl, io::Frame::scanner, affine), 0;
  });
  refused_if_broken(
      6, [&](Image& i, const Mask&) { return change_frame(i, io::Frame::fsl, io::Frame::fsl, affine), 0; });
  survives_numbers(6, [](Image& i, const Mask&) { return to_order(i, TensorOrder::nifti, 1e38F), 0; });
  Image image = whole(6);
  refused([&] { return from_order(image, no_enumerator<TensorOrder>(), 1), 0; });
  io::Nifti file;
  refused([&] { return mark_order(file, no_enumerator<TensorOrder>(), image.grid), 0; });
  refused([&] { return order_of(file, {}, ""); });
  refused([&] { return order_of({}, {}, "x"); });
  for (const double odd : {0.0, kNan, kInfinity}) {
    io::Affine bad = affine;
    bad[1][1] = odd;
    io::Gradients gradients{.b = {0}, .directions = {{0, 0, 0}}};
    refused([&] { return change_frame(image, io::Frame::fsl, io::Frame::scanner, bad), 0; });
    refused([&] { return change_frame(gradients, io::Frame::scanner, bad), 0; });
    refused([&] { return axis_aligned(io::Frame::scanner, bad); });
  }
  refused([&] { return axis_aligned(no_enumerator<io::Frame>(), affine); });
}

DOOR(Eigen, "imaging::eigen") {
  for (const double value : {0.0, 1e308, 1e-308, kNan, kInfinity})
    survives([&] { return eigen({value, 1, value, 2, 3, 1}); });
}

Series small_series() {
  Series series{.image = whole(2), .gradients = {.b = {0, 1000}, .directions = {{0, 0, 0}, {1, 0, 0}}}};
  series.header.shape = {6, 6, 6, 2};
  return series;
}

DOOR(SeriesInMemory, "imaging::select_volumes", "imaging::mean_b0", "imaging::shells") {
  for (const Image& image : broken(2)) {
    Series series = small_series();
    series.image = image;
    refused([&] { return select_volumes(series, {}), 0; });
    refused([&] { return mean_b0(series.image, series.gradients); });
  }
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    Series series = small_series();
    series.gradients.directions.resize(count);
    refused([&] { return select_volumes(series, {}), 0; });
    series.gradients.b.resize(count);
    refused([&] { return select_volumes(series, {}), 0; });
    refused([&] { return mean_b0(series.image, series.gradients); });
  }
  for (const double odd : {kNan, kInfinity, -kInfinity, 1e300}) {
    Series series = small_series();
    refused([&] { return select_volumes(series, {.shells = {odd}}), 0; });
    survives([&] { return select_volumes(series, {.b0_threshold = odd, .largest_b = odd}), 0; });
    series = small_series();
    survives([&] { return mean_b0(series.image, series.gradients, odd); });
    series.gradients.b[1] = odd;
    survives([&] { return shells(series.gradients, 50); });
    survives([&] { return shells(series.gradients, odd); });
  }
  EXPECT_TRUE(shells({}, 50).empty());
}

DOOR(NiftiToImage, "imaging::take_volumes", "imaging::parse_image") {
  const auto with = [](std::vector<std::int64_t> shape, std::size_t values) {
    io::Nifti file;
    file.shape = std::move(shape);
    file.data.resize(values);
    return file;
  };
  for (io::Nifti& file :
       std::vector{with({}, 5), with({}, 0), with({2, 2}, 5), with({2, 2, 2, 2, 2}, 32), with({-2, -2}, 4),
                   with({0}, 0), with({kMost, kMost, kMost}, 1),
                   with({std::int64_t{1} << 40, std::int64_t{1} << 40}, 0), with({1, 1, 1, 100001}, 100001)})
    refused([&] { return take_volumes(file, ""); });
  for (const std::string& text : odd_texts()) {
    refused([&] { return parse_image(text, "f"); });
    refused([&] { return parse_image("\x89PNG" + text, "f", kMost); });
  }
}

DOOR(FilesOfImages, "imaging::read_mask", "imaging::read_series", "imaging::read_gradients",
     "imaging::read_denoise_input") {
  for (const std::string& file :
       {std::string(), std::string("/"), std::string("/nowhere\n"), std::string(5000, 'x')}) {
    refused([&] { return read_mask(file, Grid{kMost, kMost, 2}, io::Nifti{}.affine, ""); });
    refused([&] { return read_series({file, file, file, file}, kNan); });
    refused([&] { return read_gradients({file, file, file, file}, kMost, kNan).b.size(); });
    DenoiseRequest request;
    request.input = file;
    refused([&] { return read_denoise_input(request); });
    request.bval = request.bvec = file;
    refused([&] { return read_denoise_input(request); });
  }
}

DenoiseInput tensors_in_memory() {
  DenoiseInput input;
  input.image = whole(6);
  input.header.shape = {6, 6, 6, 6};
  return input;
}

DOOR(Workflow, "imaging::denoise_input(Nifti, const DenoiseRequest &)",
     "imaging::denoise_input(Series, const DenoiseRequest &)", "imaging::Series::values", "imaging::denoise",
     "imaging::output_maps", "imaging::take_image", "imaging::take_map", "imaging::check",
     "imaging::DenoiseRequest::maps_of") {
  DenoiseRequest request;
  request.solve.lambda = 1, request.solve.max_iterations = 2;
  refused([&] { return denoise_input(io::Nifti{}, request).kind; });
  refused([&] { return denoise_input(Series{}, request).kind; });
  for (Image& image : broken(9)) {
    Series series;
    series.view = image;
    EXPECT_EQ(series.values().data.size(), image.data.size());
    refused([&] { return denoise_input(series, request).kind; });
  }
  io::Nifti file;
  file.shape = {6, 6, 6, 6};
  for (const std::size_t values : {std::size_t{0}, std::size_t{1295}}) {
    file.data.assign(values, 1);
    refused([&] { return denoise_input(file, request).kind; });
  }
  file.data.assign(1296, 1);
  DenoiseRequest odd = request;
  odd.order = no_enumerator<TensorOrder>();
  refused([&] { return denoise_input(file, odd).kind; });
  odd.order = TensorOrder::fsl, odd.frame = no_enumerator<io::Frame>();
  refused([&] { return denoise_input(file, odd).kind; });
  for (const Image& image : broken(6)) {
    DenoiseInput input = tensors_in_memory();
    input.image = image;
    refused([&] { return denoise(input, request).iterations; });
    refused([&] { return output_maps(input, request); });
    refused([&] { return take_image(input, request); });
    TensorMaps maps;
    maps.fa = image;
    refused([&] { return take_map("fa", input, maps, request); });
  }
  for (const std::size_t size : {std::size_t{1}, std::size_t{217}}) {
    DenoiseInput input = tensors_in_memory();
    input.mask.voxels.assign(size, 1);
    refused([&] { return denoise(input, request).iterations; });
    refused([&] { return output_maps(input, request); });
  }
  DenoiseInput input = tensors_in_memory();
  TensorMaps maps = output_maps(input, request);
  EXPECT_EQ(take_map("fa", input, maps, request).data.size(), 216u);
  refused([&] { return take_map("fa", input, maps, request); });
  for (const std::string& text : odd_texts()) refused([&] { return take_map(text, input, maps, request); });
  EXPECT_EQ(take_image(input, request).data.size(), 1296u);
  refused([&] { return take_image(input, request); });
  input = tensors_in_memory();
  input.kind = no_enumerator<ImageKind>();
  survives([&] { return denoise(input, request).iterations; });
  odd = request, odd.grad = "g", odd.bval = "b";
  refused([&] { return check(odd), 0; });
  EXPECT_TRUE(odd.maps_of(no_enumerator<ImageKind>()).empty());
}

DOOR(Quality, "imaging::quality_page") {
  const DenoiseReport done;
  const auto page = [&](const Image& before, const Image& after, const Mask& mask, const io::Affine& affine) {
    return quality_page({.name = "x",
                         .facts = "",
                         .noisy = before,
                         .clean = after,
                         .tensors = after.channels == 6,
                         .mask = mask,
                         .affine = affine,
                         .done = done});
  };
  const io::Affine affine = io::Nifti{}.affine;
  const Image good = whole(6);
  EXPECT_FALSE(page(good, good, {}, affine).empty());
  for (const Image& image : broken(6)) {
    refused([&] { return page(image, good, {}, affine); });
    refused([&] { return page(good, image, {}, affine); });
  }
  refused([&] { return page(whole(2), good, {}, affine); });
  refused([&] { return page(whole(6, 5), good, {}, affine); });
  refused([&] { return page(good, good, Mask(215, 1), affine); });
  refused([&] { return page(good, good, Mask(216, 0), affine); });
  for (const double odd : {0.0, kNan, kInfinity}) {
    io::Affine bad = affine;
    bad[2][2] = odd;
    refused([&] { return page(good, good, {}, bad); });
  }
  survives_numbers(6, [&](Image& i, const Mask& m) { return page(i, i, m, affine); });
  survives_numbers(2, [&](Image& i, const Mask& m) { return page(i, i, m, affine); });
}

DOOR(Slices, "imaging::anatomy", "imaging::middle_slices", "imaging::around_mask", "imaging::picture",
     "imaging::data_address", "imaging::slice_figure", "imaging::slice_styles",
     "imaging::SlicePlane::voxel") {
  constexpr io::Affine kIdentity{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  const Grid grid{6, 5, 4};
  survives([] { return anatomy(io::Affine{}).axis[0]; });
  refused([] { return anatomy({{{kNan, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}}).axis[0]; });
  refused([&] { return middle_slices({0, 5, 4}, kIdentity, {}).size(); });
  refused([&] { return middle_slices({kMost, kMost, 4}, kIdentity, {}).size(); });
  refused([&] { return middle_slices(grid, kIdentity, Mask(119)).size(); });
  const std::vector<SlicePlane> planes = middle_slices(grid, kIdentity, Mask(120, 1));
  ASSERT_EQ(planes.size(), 3u);
  const SlicePlane& plane = planes[0];
  EXPECT_LT(plane.voxel(plane.width - 1, plane.height - 1), 120u);
  const auto grey = [](std::size_t) { return std::array<double, 3>{kNan, 2, -1}; };
  const SliceWindow whole{0, 0, plane.width, plane.height};
  EXPECT_EQ(picture(plane, whole, grey).width, plane.width);
  refused([&] { return around_mask(plane, Mask(119)).width; });
  refused([&] { return picture(plane, whole, nullptr).width; });
  for (const std::int64_t odd : {kMost, kLeast, std::int64_t{-1}, std::int64_t{7}}) {
    refused([&] { return picture(plane, {odd, 0, 1, 1}, grey).width; });
    refused([&] { return picture(plane, {0, 0, odd, 1}, grey).width; });
    for (auto member : {&SlicePlane::slice, &SlicePlane::width, &SlicePlane::height}) {
      SlicePlane broken = plane;
      broken.*member = odd;
      refused([&] { return picture(broken, whole, grey).width; });
      refused([&] { return around_mask(broken, {}).width; });
    }
  }
  SlicePlane twice = plane;
  twice.across = twice.down;
  refused([&] { return picture(twice, whole, grey).width; });
  io::Picture broken = picture(plane, whole, grey);
  broken.data.pop_back();
  refused([&] { return data_address(broken); });
  refused([&] { return slice_figure(plane, whole, broken, "", ""); });
  refused([&] { return slice_figure(plane, {}, picture(plane, whole, grey), "", ""); });
  EXPECT_FALSE(slice_styles().empty());
}

}  // namespace
}  // namespace warploom::doors
