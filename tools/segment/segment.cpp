#include "warploom/imaging/segment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "cli/byte_size.hpp"
#include "cli/option_names.hpp"
#include "cli/output_files.hpp"
#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "contour_json.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/parse.hpp"
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
  std::string input, output, contour, overlay, report, mask;
  std::string start = "checkerboard";
  std::string means;
  std::int64_t volume = -1;                           ///< -1: not given
  std::uint64_t max_memory = std::uint64_t{1} << 38;  ///< [bytes]
  SegmentOptions with;
  bool force = false, json = false;
};

bool ends_with(const std::string& path, std::string_view ending) {
  std::string lower = path;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower.ends_with(ending);
}
imaging::ScalarImage read_image(const Settings& s, const std::string& path, std::int64_t volume = -1) {
  return naming_max_memory(s.max_memory, [&] {
    return imaging::parse_image(read_input(path, s.max_memory), input_name(path), volume, s.max_memory);
  });
}

/// What the names and the options say is wrong, before anything is read.
void check(const Settings& s) {
  if (!ends_with(s.output, ".nii") && !ends_with(s.output, ".nii.gz") && !ends_with(s.output, ".png"))
    throw BadInput(fmt::format("-o {}: a mask is written as .nii, .nii.gz or .png", s.output));
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
  if (ends_with(s.output, ".png"))
    throw BadInput(
        fmt::format("-o {}: {} has {} slices; write a .nii or .nii.gz", s.output, s.input, grid.nz));
  if (ends_with(s.contour, ".svg"))
    throw BadInput(fmt::format("--contour {}: {} has {} slices; write a .json", s.contour, s.input, grid.nz));
}

std::array<double, 2> parse_means(const std::string& text) {
  const std::size_t comma = text.find(',');
  std::array<double, 2> means{};
  if (comma == text.npos || !parse_whole(std::string_view(text).substr(0, comma), means[0]) ||
      !parse_whole(std::string_view(text).substr(comma + 1), means[1]))
    throw BadInput(fmt::format("--means {}: expected two numbers with a comma between, as 20,130", text));
  return means;
}

SegmentOptions options_for(const Settings& s, const Grid& grid) {
  SegmentOptions with = s.with;
  constexpr std::string_view kMask = "mask:";
  if (s.start.starts_with(kMask)) {
    with.start = imaging::Start::mask;
    const std::string file = s.start.substr(kMask.size());
    with.start_mask = imaging::nonzero_mask(read_image(s, file).image, grid, file);
  } else {
    with.start = imaging::parse_start(s.start);
    if (with.start == imaging::Start::mask) throw BadInput("--start mask: say which, as --start mask:FILE");
  }
  if (!s.mask.empty()) with.mask = imaging::nonzero_mask(read_image(s, s.mask).image, grid, s.mask);
  if (!s.means.empty()) with.means = parse_means(s.means);
  return imaging::usual_options(with, grid);
}

std::string_view stop_of(const SegmentReport& r) {
  return r.converged ? "converged" : r.still ? "change below tolerance" : "iteration limit";
}

Json as_json(const Settings& s, const SegmentOptions& with, const Segmentation& segmentation,
             double seconds) {
  const SegmentReport& r = segmentation.report;
  const Grid& grid = segmentation.level_set.grid;
  const bool convex = r.method == imaging::Method::convex;
  Json options = {{"method", name(r.method)},
                  {"mu", with.mu ? Json(*with.mu) : Json("auto")},
                  {"tolerance", *with.tolerance},
                  {"max_iterations", *with.max_iterations},
                  {"inside", name(with.inside)}};
  if (convex) {
    options["noise"] = name(with.noise);
    options["classes"] = with.classes;
    if (with.means) options["means"] = *with.means;
    options["mask"] = s.mask;
  } else {
    options["lambda_in"] = with.lambda_in;
    options["lambda_out"] = with.lambda_out;
    options["time_step"] = with.time_step;
    options["start"] = s.start;
  }
  Json report = {{"input", input_name(s.input)},
                 {"size", {grid.nx, grid.ny, grid.nz}},
                 {"spacing_mm", grid.spacing},
                 {"device", name(r.device)},
                 {"options", options},
                 {"iterations", r.iterations},
                 {"stop", stop_of(r)}};
  if (convex) {
    report["gap"] = r.gap;
    report["mask_energy"] = r.mask_energy;
    report["lower_bound"] = r.lower_bound;
    report["length"] = r.length;
    report["mu"] = r.mu;
    report["noise"] = {{"model", name(r.noise)}, {"level", r.noise_level}};
    report["starts"] = r.starts;
    report["minima"] = r.minima;
    report["classes"] = {{"means", r.means}, {"voxels", r.sizes}};
  } else {
    report["change"] = r.change;
  }
  report["voxels"] = r.voxels;
  report["mean_in"] = r.mean_in;
  report["mean_out"] = r.mean_out;
  report["inside_voxels"] = r.inside;
  report["inside_mm3"] = static_cast<double>(r.inside) * grid.spacing[0] * grid.spacing[1] * grid.spacing[2];
  report["seconds"] = {{"iterations", r.seconds}, {"transfers", r.transfer_seconds}, {"total", seconds}};
  report["device_bytes"] = r.device_bytes;
  report["devices"] = r.devices;
  report["energy"] = r.energy;
  return report;
}

std::string sides_text(const SegmentReport& r) {
  const auto share = [&](std::int64_t voxels) {
    return 100 * static_cast<double>(voxels) / static_cast<double>(r.voxels);
  };
  if (r.means.size() <= 2)
    return fmt::format("  inside      {} voxels, {:.2f} %, mean {:.6g}\n  outside     mean {:.6g}\n",
                       r.inside, share(r.inside), r.mean_in, r.mean_out);
  std::string text;
  for (std::size_t k = 0; k < r.means.size(); ++k)
    text += fmt::format("  class {:<5} {} voxels, {:.2f} %, mean {:.6g}\n", k, r.sizes[k], share(r.sizes[k]),
                        r.means[k]);
  return text;
}

std::string as_text(const Settings& s, const SegmentOptions& with, const Segmentation& segmentation,
                    double seconds) {
  const SegmentReport& r = segmentation.report;
  const Grid& grid = segmentation.level_set.grid;
  std::string text = fmt::format("{}: {}\n", input_name(s.input),
                                 grid.nz > 1 ? fmt::format("{} x {} x {} voxels", grid.nx, grid.ny, grid.nz)
                                             : fmt::format("{} x {} pixels", grid.nx, grid.ny));
  if (r.voxels != grid.voxels()) text += fmt::format("  mask        {} voxels count\n", r.voxels);
  text += sides_text(r);
  const std::string_view stopped = r.still || r.converged ? "" : ", stopped by --max-iterations";
  if (r.method == imaging::Method::convex) {
    if (!with.mu)
      text += fmt::format("  noise       {:.4g}, {}\n", r.noise_level,
                          r.noise == imaging::Noise::counts ? "as of counts: more where it is brighter"
                                                            : "equal on all sides");
    text += fmt::format("  iterations  {}{} (energy at most {:.2f} % above the least)\n", r.iterations,
                        r.converged ? ", converged" : stopped, 100 * r.gap);
  } else {
    text += fmt::format("  iterations  {}{} (change {:.2e}, tolerance {:.0e})\n", r.iterations,
                        r.still ? ", stopped: it hardly moves" : stopped, r.change, *with.tolerance);
  }
  return text +
         fmt::format("  time        {:.3f} s, iterations {:.4f} s on {}\n", seconds, r.seconds,
                     name(r.device) + (r.devices > 1 ? fmt::format(" and {} more", r.devices - 1) : ""));
}

io::Picture picture_of(const Segmentation& segmentation, const Grid& grid) {
  const auto classes = static_cast<int>(segmentation.report.means.size());
  if (classes <= 2) return imaging::mask_picture(segmentation.mask, grid);
  io::Picture picture{.width = grid.nx, .height = grid.ny, .channels = 1, .data = {}};
  for (const std::uint8_t label : segmentation.mask)
    picture.data.push_back(static_cast<std::uint16_t>(255 * label / (classes - 1)));
  return picture;
}

/// Of all borders between classes.
SliceContours contours_of(const Segmentation& segmentation) {
  SliceContours all;
  for (int c = 0; c < segmentation.level_set.channels; ++c) {
    imaging::Image border;
    border.grid = segmentation.level_set.grid;
    const auto values = segmentation.level_set.channel(c);
    border.data.assign(values.begin(), values.end());
    SliceContours here = slice_contours(border);
    all.resize(here.size());
    for (std::size_t z = 0; z < here.size(); ++z) all[z].insert(all[z].end(), here[z].begin(), here[z].end());
  }
  return all;
}

int run(const Settings& s) {
  const Stopwatch watch;
  check(s);
  OutputFiles files;
  for (const std::string& path : {s.output, s.contour, s.overlay, s.report})
    if (!path.empty()) files.add(path, s.force);

  const imaging::ScalarImage input = read_image(s, s.input, s.volume);
  check_dimensions(s, input.image.grid);
  const SegmentOptions with = options_for(s, input.image.grid);
  const Segmentation segmentation = imaging::segment(input.image, with);
  const SegmentReport& r = segmentation.report;
  if (r.means.size() <= 2 && (r.inside == 0 || r.inside == r.voxels))
    log(LogLevel::warning, fmt::format("{}: the contour vanished; try a smaller --mu{}", input_name(s.input),
                                       r.method == imaging::Method::level_set ? " or another --start" : ""));

  files.write(s.output, [&](const auto& staged) {
    if (ends_with(s.output, ".png"))
      io::write_png(staged, picture_of(segmentation, input.image.grid));
    else
      io::write_nifti(staged, imaging::mask_file(segmentation.mask, input));
  });
  SliceContours contours;
  if (!s.contour.empty() || !s.overlay.empty()) contours = contours_of(segmentation);
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
      .add(
          "-o,--output", &s->output,
          "Mask to write: .nii, .nii.gz (0 and 1, where the image lies) or .png (0 and 255); of more than two classes their numbers, in a .png spread over 0 to 255")
      .required()
      .type("FILE");
  command.group("Input");
  command.add("--volume N", &s->volume, "Which volume of a 4-D NIfTI, from 0")
      .range(0, std::numeric_limits<int>::max());
  command.add("--mask FILE", &s->mask,
              "Voxels that count: those that are not 0 in this image (PNG or NIfTI) [all]");
  add_max_memory(
      command, s->max_memory,
      "Refuse a file whose header asks for more, before it is unpacked; as 2G [what is available]");
  command.group("Method");
  command
      .add(
          "--method METHOD", [s](const std::string& text) { s->with.method = imaging::parse_method(text); },
          "convex (the exact minimum) or level-set (Chan and Vese's descent, as scikit-image has it) [convex]")
      .suggest({"convex", "level-set"});
  command
      .add(
          "--inside SIDE", [s](const std::string& text) { s->with.inside = imaging::parse_inside(text); },
          "Which side is inside: bright or dark by its mean; of level-set also start, where the first contour has it [bright]")
      .suggest({"bright", "dark", "start"});
  command.add(
      "--mu X", &s->with.mu,
      "Weight of the contour's length [from the noise; of level-set 0.25]; larger: smoother, fewer small objects");
  command.add(
      "--tolerance X", &s->with.tolerance,
      "convex: stop when the energy is at most this share above its bound [1e-3]; level-set: when the "
      "root mean square change is at most this [1e-3; in 3-D, from one contour, with mu above 0.25: 1e-5]");
  command.add("--max-iterations N", &s->with.max_iterations,
              "Stop then in any case [2000; of level-set 500, or 10000 where the tolerance is 1e-5]");
  command.group("Method convex");
  command.add("--classes N", &s->with.classes, "Number of classes, 2 to 16; above 2 on the CPU only [2]");
  command
      .add(
          "--noise NOISE", [s](const std::string& text) { s->with.noise = imaging::parse_noise(text); },
          "equal (everywhere as much), counts (more where it is brighter, as of counted photons: finds fainter objects) or auto (counts where objects differ in brightness, else equal, from medians in place of means) [auto]")
      .suggest({"auto", "equal", "counts"});
  command.add("--means A,B", &s->means,
              "Two means to begin with beside those that are tried anyway; the lowest energy wins");
  command.group("Method level-set");
  command.add(
      "--start START", &s->start,
      "First contour: checkerboard (many small ones), disk (in 3-D a ball), box, or mask:FILE (not 0: inside) [checkerboard]");
  command.add("--lambda-in X", &s->with.lambda_in, "Weight of the deviation from the mean inside [1]");
  command.add("--lambda-out X", &s->with.lambda_out, "Weight of the deviation from the mean outside [1]");
  command.add("--time-step X", &s->with.time_step, "Of one iteration [0.5]");
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
          "Tell what is inside from what is outside in a 2-D or 3-D image, or several classes apart",
          "warploom segment cells.png -o mask.png --overlay overlay.png", add};
}

}  // namespace warploom::tool
