#include "warploom/imaging/segment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "cli/option_names.hpp"
#include "cli/output_files.hpp"
#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "contour_json.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/imaging/image_file.hpp"
#include "warploom/io/nifti.hpp"
#include "warploom/io/png.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace {

using imaging::Grid;
using imaging::Segmentation;
using imaging::SegmentOptions;
using imaging::SegmentReport;
using imaging::SliceContours;

struct Settings {
  std::string input, mask, contour, overlay, report;
  std::string start = "checkerboard";
  std::optional<double> tolerance;
  std::optional<int> max_iterations;
  std::int64_t volume = -1;  ///< -1: not given
  SegmentOptions with;
  bool force = false, json = false;
};

bool ends_with(const std::string& path, std::string_view ending) {
  std::string lower = path;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower.ends_with(ending);
}
imaging::ScalarImage read_image(const std::string& path, std::int64_t volume = -1) {
  return imaging::parse_image(read_input(path), input_name(path), volume);
}

/// What the names and the options say is wrong, before anything is read.
void check(const Settings& s) {
  if (!ends_with(s.mask, ".nii") && !ends_with(s.mask, ".nii.gz") && !ends_with(s.mask, ".png"))
    throw BadInput(fmt::format("-o {}: a mask is written as .nii, .nii.gz or .png", s.mask));
  if (!s.contour.empty() && !ends_with(s.contour, ".svg") && !ends_with(s.contour, ".json"))
    throw BadInput(fmt::format("--contour {}: contours are written as .svg or .json", s.contour));
  if (!s.overlay.empty() && !ends_with(s.overlay, ".png"))
    throw BadInput(fmt::format("--overlay {}: pictures are written as .png", s.overlay));
  if (!s.report.empty() && !ends_with(s.report, ".json"))
    throw BadInput(fmt::format("--report {}: reports are written as .json", s.report));
}

/// What the input says is wrong with the outputs.
void check_dimensions(const Settings& s, const Grid& grid) {
  if (grid.nz == 1) return;
  if (ends_with(s.mask, ".png"))
    throw BadInput(fmt::format("-o {}: {} has {} slices; write a .nii or .nii.gz", s.mask, s.input, grid.nz));
  if (ends_with(s.contour, ".svg"))
    throw BadInput(fmt::format("--contour {}: {} has {} slices; write a .json", s.contour, s.input, grid.nz));
}

SegmentOptions options_for(const Settings& s, const Grid& grid) {
  SegmentOptions with = s.with;
  constexpr std::string_view kMask = "mask:";
  if (s.start.starts_with(kMask)) {
    with.start = imaging::Start::mask;
    const std::string file = s.start.substr(kMask.size());
    with.start_mask = imaging::nonzero_mask(read_image(file).image, grid, file);
  } else {
    with.start = imaging::parse_start(s.start);
    if (with.start == imaging::Start::mask) throw BadInput("--start mask: say which, as --start mask:FILE");
  }
  const SegmentOptions usual = imaging::usual_options(with.start, grid);
  with.tolerance = s.tolerance.value_or(usual.tolerance);
  with.max_iterations = s.max_iterations.value_or(usual.max_iterations);
  return with;
}

Json as_json(const Settings& s, const SegmentOptions& with, const Segmentation& segmentation,
             double seconds) {
  const SegmentReport& r = segmentation.report;
  const Grid& grid = segmentation.level_set.grid;
  return {{"input", input_name(s.input)},
          {"size", {grid.nx, grid.ny, grid.nz}},
          {"spacing_mm", grid.spacing},
          {"device", name(r.device)},
          {"options",
           {{"mu", with.mu},
            {"lambda_in", with.lambda_in},
            {"lambda_out", with.lambda_out},
            {"time_step", with.time_step},
            {"tolerance", with.tolerance},
            {"max_iterations", with.max_iterations},
            {"start", s.start},
            {"inside", name(with.inside)}}},
          {"iterations", r.iterations},
          {"stop", r.converged ? "converged" : "iteration limit"},
          {"change", r.change},
          {"mean_in", r.mean_in},
          {"mean_out", r.mean_out},
          {"inside_voxels", r.inside},
          {"inside_mm3", static_cast<double>(r.inside) * grid.spacing[0] * grid.spacing[1] * grid.spacing[2]},
          {"seconds", {{"iterations", r.seconds}, {"transfers", r.transfer_seconds}, {"total", seconds}}},
          {"device_bytes", r.device_bytes},
          {"energy", r.energy}};
}

std::string as_text(const Settings& s, const SegmentOptions& with, const Segmentation& segmentation,
                    double seconds) {
  const SegmentReport& r = segmentation.report;
  const Grid& grid = segmentation.level_set.grid;
  const std::string size = grid.nz > 1 ? fmt::format("{} x {} x {} voxels", grid.nx, grid.ny, grid.nz)
                                       : fmt::format("{} x {} pixels", grid.nx, grid.ny);
  return fmt::format(
      "{}: {}\n  inside      {} voxels, {:.2f} %, mean {:.6g}\n  outside     mean {:.6g}\n"
      "  iterations  {}, {} (change {:.2e}, tolerance {:.0e})\n  time        {:.3f} s, iterations {:.4f} s on {}\n",
      input_name(s.input), size, r.inside,
      100 * static_cast<double>(r.inside) / static_cast<double>(grid.voxels()), r.mean_in, r.mean_out,
      r.iterations, r.converged ? "converged" : "stopped by --max-iterations", r.change, with.tolerance,
      seconds, r.seconds, name(r.device));
}

int run(const Settings& s) {
  const Stopwatch watch;
  check(s);
  OutputFiles files;
  for (const std::string& path : {s.mask, s.contour, s.overlay, s.report})
    if (!path.empty()) files.add(path, s.force);

  const imaging::ScalarImage input = read_image(s.input, s.volume);
  check_dimensions(s, input.image.grid);
  const SegmentOptions with = options_for(s, input.image.grid);
  const Segmentation segmentation = imaging::segment(input.image, with);
  if (segmentation.report.inside == 0 || segmentation.report.inside == input.image.grid.voxels())
    log(LogLevel::warning,
        fmt::format("{}: the contour vanished; try a smaller --mu or another --start", input_name(s.input)));

  files.write(s.mask, [&](const auto& staged) {
    if (ends_with(s.mask, ".png"))
      io::write_png(staged, imaging::mask_picture(segmentation.mask, input.image.grid));
    else
      io::write_nifti(staged, imaging::mask_file(segmentation.mask, input));
  });
  SliceContours contours;
  if (!s.contour.empty() || !s.overlay.empty()) contours = slice_contours(segmentation.level_set);
  if (!s.contour.empty())
    files.write(s.contour, ends_with(s.contour, ".svg") ? contour_svg(contours[0], input.image.grid)
                                                        : contour_json(contours, input.image.grid));
  if (!s.overlay.empty())
    files.write(s.overlay, [&](const auto& staged) {
      io::write_png(staged, overlay(input.image, contours, input.geometry.has_value()));
    });
  const Json report = as_json(s, with, segmentation, watch.seconds());
  if (!s.report.empty()) files.write(s.report, json_text(report));
  files.commit();
  if (s.json)
    print_json(report);
  else
    print(as_text(s, with, segmentation, watch.seconds()));
  return kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command
      .add("IN", &s->input,
           "Image to read: PNG (colours become grey) or NIfTI, 2-D or 3-D; '-' for standard input")
      .required();
  command.group("Output");
  command
      .add("-o,--output", &s->mask,
           "Mask to write: .nii, .nii.gz (0 and 1, where the image lies) or .png (0 and 255)")
      .required()
      .type("FILE");
  command.group("Input");
  command.add("--volume N", &s->volume, "Which volume of a 4-D NIfTI, from 0")
      .range(0, std::numeric_limits<int>::max());
  command.group("Method");
  command.add(
      "--start START", &s->start,
      "First contour: checkerboard (many small ones), disk (or ball), box, or mask:FILE (not 0: inside) [checkerboard]");
  command.add(
      "--inside SIDE", [s](const std::string& text) { s->with.inside = imaging::parse_inside(text); },
      "Which side is inside: bright or dark by its mean, or start, where the first contour has it [bright]");
  command.add("--mu X", &s->with.mu,
              "Weight of the contour's length [0.25]; larger: smoother, fewer small objects");
  command.add("--lambda-in X", &s->with.lambda_in, "Weight of the deviation from the mean inside [1]");
  command.add("--lambda-out X", &s->with.lambda_out, "Weight of the deviation from the mean outside [1]");
  command.add("--time-step X", &s->with.time_step, "Of one iteration [0.5]");
  command.add(
      "--tolerance X", &s->tolerance,
      "Stop when the level set's root mean square change is at most this [1e-3; in 3-D, or from a disk, box or mask, 1e-4]");
  command.add("--max-iterations N", &s->max_iterations,
              "Stop then in any case [500; in 3-D, or from a disk, box or mask, 2000]");
  command.group("Output");
  command.add("--contour FILE", &s->contour,
              "Contour to write, to a fraction of a pixel: .svg (2-D) or .json (a list for each slice)");
  command.add("--overlay FILE", &s->overlay,
              "Picture to write: the image with the contour; of a volume up to 20 slices (.png)");
  command.add("--report FILE", &s->report,
              "Report to write: options, means, energy of each iteration, times (.json)");
  command.add_force(s->force);
  command.add_run(s->with.run);
  command.add_json(s->json);
  return [s] { return with_option_names([&] { return run(*s); }); };
}

}  // namespace

Verb segment_verb() {
  return {"segment",
          "Segment a 2-D or 3-D image into inside and outside with an active contour (Chan and Vese)",
          "warploom segment cells.png -o mask.png --overlay overlay.png --mu 0.1", add};
}

}  // namespace warploom::tool
