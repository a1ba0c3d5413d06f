#include "warploom/imaging/segment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/automatic_device.hpp"
#include "core/built_with_cuda.hpp"
#include "core/doors.hpp"
#include "core/several_devices.hpp"
#include "imaging/segment_work.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"

namespace warploom::imaging {
namespace {

constexpr std::array<std::string_view, 2> kMethods{"convex", "level-set"};
constexpr std::array<std::string_view, 3> kNoises{"auto", "equal", "counts"};
constexpr std::array<std::string_view, 4> kStarts{"checkerboard", "disk", "box", "mask"};
constexpr std::array<std::string_view, 3> kInsides{"bright", "dark", "start"};

void require(bool fine, std::string_view what, double value, std::string_view limit) {
  if (!fine) throw BadInput(fmt::format("{} is {}, it must be {}", what, value, limit));
}

bool not_negative(double value) { return value >= 0 && std::isfinite(value); }

void check_level_set(const SegmentOptions& o) {
  require(not_negative(o.lambda_in), "lambda_in", o.lambda_in, "finite and at least 0");
  require(not_negative(o.lambda_out), "lambda_out", o.lambda_out, "finite and at least 0");
  require(o.lambda_in + o.lambda_out > 0, "lambda_in + lambda_out", 0,
          "above 0: else the image does not count");
  require(o.time_step > 0 && std::isfinite(o.time_step), "the time step", o.time_step, "finite and above 0");
  if (!o.mask.empty())
    throw BadInput("`mask`: the level-set method takes every voxel; `method` convex takes a mask");
  if (o.classes != 2)
    throw BadInput("`classes`: the level-set method has two sides; `method` convex takes more");
  if (o.means)
    throw BadInput("`means`: the level-set method begins with a contour; `method` convex takes means");
  if (o.noise != Noise::automatic) throw BadInput("`noise` is an option of `method` convex");
}

void check_convex(const SegmentOptions& o, const Grid& grid) {
  const SegmentOptions usual;
  if (o.start != usual.start || !o.start_mask.empty())
    throw BadInput(
        "`start`: the result of `method` convex does not depend on one; `method` level-set has it");
  if (o.inside == Inside::start)
    throw BadInput("`inside` start is one of `method` level-set: convex has no start");
  if (o.lambda_in != usual.lambda_in || o.lambda_out != usual.lambda_out || o.time_step != usual.time_step)
    throw BadInput("lambda_in, lambda_out and the time step are options of `method` level-set");
  require(o.classes >= 2 && o.classes <= kMostClasses, "`classes`", o.classes, "2 to 16");
  if (o.classes > 2 && (o.inside != Inside::bright || o.means))
    throw BadInput("`inside` and `means` are of two classes; more are numbered from the darkest");
  if (o.means)
    for (const double mean : *o.means) require(std::isfinite(mean), "a mean", mean, "finite");
  require_mask(o.mask, grid);
}

void check(const ImageView& image, const SegmentOptions& o) {
  if (o.mu) require(not_negative(*o.mu), "mu", *o.mu, "finite and at least 0");
  if (o.tolerance)
    require(not_negative(*o.tolerance), "the tolerance", *o.tolerance, "finite and at least 0");
  if (o.max_iterations)
    require(*o.max_iterations >= 1, "the limit of iterations", *o.max_iterations, "at least 1");
  name(o.method), name(o.start), name(o.inside), name(o.noise);
  image.check_strided();
  if (image.channels != 1)
    throw BadInput(fmt::format("the image has {} channels; one can be segmented", image.channels));
  require(image.grid.voxels() >= 2, "the number of voxels", 1, "at least 2");
  for (const double h : image.grid.spacing)
    require(h > 0 && std::isfinite(h), "the distance of voxels", h, "finite and above 0");
  if (o.method == Method::convex)
    check_convex(o, image.grid);
  else
    check_level_set(o);
}

/// That a run takes beside the image; on a GPU the most of it lies there.
std::int64_t bytes_a_voxel(const SegmentOptions& o, const Grid& grid) {
  if (o.method == Method::level_set) return 13;
  const std::int64_t edges = grid.nz == 1 ? 4 : 13, own = sizeof(float);
  return o.classes > 2 ? own * (2 + (edges + 4) * o.classes) : own * (edges + 5) + 1;
}

template <class Enumeration, class Words>
Enumeration parse(const Words& words, std::string_view text, std::string_view what) {
  const auto known = std::ranges::find(words, text);
  if (known != words.end()) return static_cast<Enumeration>(known - words.begin());
  throw BadInput(fmt::format("{}: '{}' is none of {} and {}", what, text,
                             fmt::join(words.begin(), words.end() - 1, ", "), words.back()));
}

}  // namespace

Method parse_method(std::string_view text) { return parse<Method>(kMethods, text, "method"); }
std::string_view name(Method method) { return at_enumerator(kMethods, method, "the method"); }
Noise parse_noise(std::string_view text) { return parse<Noise>(kNoises, text, "noise"); }
std::string_view name(Noise noise) { return at_enumerator(kNoises, noise, "the noise"); }
Start parse_start(std::string_view text) {
  return text == "ball" ? Start::disk : parse<Start>(kStarts, text, "start");
}
std::string_view name(Start start) { return at_enumerator(kStarts, start, "the start"); }
Inside parse_inside(std::string_view text) { return parse<Inside>(kInsides, text, "inside"); }
std::string_view name(Inside inside) { return at_enumerator(kInsides, inside, "`inside`"); }

std::array<double, 3> relative_spacing(const Grid& grid) {
  const std::array<std::int64_t, 3> extent{grid.nx, grid.ny, grid.nz};
  std::array<double, 3> out{};
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t a = 0; a < 3; ++a)
    if (extent[a] > 1) smallest = std::min(smallest, grid.spacing[a]);
  for (std::size_t a = 0; a < 3; ++a) out[a] = extent[a] > 1 ? grid.spacing[a] / smallest : 0;
  return out;
}

SegmentOptions usual_options(SegmentOptions options, const Grid& grid) {
  const auto fill = [&](double tolerance, int iterations) {
    if (!options.tolerance) options.tolerance = tolerance;
    if (!options.max_iterations) options.max_iterations = iterations;
  };
  if (options.method == Method::convex) {
    fill(1e-3, 2000);
    return options;
  }
  if (!options.mu) options.mu = 0.25;
  if (options.start == Start::checkerboard && grid.nz == 1 && *options.mu <= 0.25)
    fill(1e-3, 500);
  else
    fill(1e-5, 10'000);
  return options;
}

Segmentation segment(const Image& image, const SegmentOptions& options) {
  return segment(ImageView(image), options);
}

namespace {

/// What both methods do, wherever the work is.
SegmentReport segment(SegmentWork& work, const SegmentOptions& options, Device device) {
  SegmentReport report =
      options.method == Method::level_set ? segment_level_set(work, options) : segment_convex(work, options);
  report.device = device;
  report.method = options.method;
  report.voxels = work.scale().voxels;
  report.device_bytes += work.device_bytes();
  report.transfer_seconds = work.transfer_seconds();
  return report;
}

void refuse_classes(const SegmentOptions& options) {
  if (options.classes > 2)
    throw NoDevice(fmt::format(
        "`classes` {}: more than two classes are found on the CPU only; give `device` cpu", options.classes));
}

[[noreturn]] void out_of_memory(const ImageView& image, const SegmentOptions& options) {
  throw OutOfMemory(fmt::format("segmenting {} x {} x {} voxels needs {} bytes of memory", image.grid.nx,
                                image.grid.ny, image.grid.nz,
                                bytes_a_voxel(options, image.grid) * image.grid.voxels()));
}

}  // namespace

Segmentation segment(const ImageView& image, const SegmentOptions& given) try {
  check(image, given);
  const bool gpu_can = given.classes <= 2 || gpu_pays(given.run, 0, 1);  // or is named, and refuses
  const DevicesScope scope(given.run, kBuiltWithCuda && gpu_can);
  if (given.method == Method::level_set || given.classes > 2)
    one_device(scope.devices(), given.classes > 2 ? "a segmentation into more than two classes"
                                                  : "a segmentation by a level set");
  const Device device = scope.devices().front();
  const SegmentOptions options = usual_options(given, image.grid);
  require_memory_for(static_cast<std::uint64_t>(image.grid.voxels()),
                     static_cast<std::uint64_t>(scope.on_gpu() ? 5 : bytes_a_voxel(options, image.grid)),
                     "a segmentation");
  if (scope.on_gpu()) refuse_classes(options);
  Segmentation out;
  if (options.classes > 2) {
    ScaledImage scaled = scaled_image(image, options.mask);
    const std::int64_t voxels = scaled.voxels;
    out = segment_classes(image, std::move(scaled), options);
    out.report.device = device;
    out.report.method = options.method;
    out.report.voxels = voxels;
    return out;
  }
  const auto results = [&] {
    out.mask.resize(image.size());
    out.level_set = Image(image.grid, 1);
    return SegmentResults{out.mask.data(), out.level_set.data.data()};
  };
#if defined(WARPLOOM_HAVE_CUDA)
  if (scope.on_gpu()) {
    const auto work = segment_work_cuda(image, options.mask, nullptr, scope.devices());
    out.report = segment(*work, options, device);
    work->fetch(results());
    out.report.transfer_seconds = work->transfer_seconds();
    return out;
  }
#endif
  const auto work = segment_work_cpu(image, options.mask, results(), scope.devices().size());
  out.report = segment(*work, options, device);
  return out;
} catch (const std::bad_alloc&) {
  out_of_memory(image, given);
}

SegmentReport segment(const ImageView& image, const SegmentOnGpu& results, const SegmentOptions& given) {
  check(image, given);
  if (results.mask == nullptr || results.level_set == nullptr)
    throw BadInput(
        "a segmentation on a GPU: `mask` and `level_set` are to be memory of it for a value a voxel");
  SegmentOptions options = usual_options(given, image.grid);
  if (options.run.devices.empty() || options.run.devices == std::vector{Device::best})
    options.run.devices = {Device::cuda};
  const DeviceScope scope(options.run, "a segmentation", kBuiltWithCuda);
  if (!scope.device().is_gpu())
    throw NoDevice("the image is in a GPU's memory: give `device` cuda, or bring it to the host");
  refuse_classes(options);
#if defined(WARPLOOM_HAVE_CUDA)
  const auto work = segment_work_cuda(image, options.mask, &results);
  return segment(*work, options, scope.device());
#else
  throw Internal("a GPU without CUDA");
#endif
}

}  // namespace warploom::imaging
