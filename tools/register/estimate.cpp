#include "estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/byte_size.hpp"
#include "cli/option_names.hpp"
#include "cli/output_files.hpp"
#include "cli/stopwatch.hpp"
#include "facts.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/parse.hpp"
#include "warploom/imaging/image_file.hpp"
#include "warploom/page/text.hpp"
#include "warploom/registration/quality_page.hpp"
#include "warploom/registration/resample.hpp"
#include "warploom/registration/transform.hpp"
#include "warploom/registration/transform_file.hpp"
#include "warploom/registration/workflow.hpp"

namespace warploom::tool {
namespace {

using namespace registration;

struct Settings {
  std::string fixed, moving, output, field, affine, inverse_field, jacobian, report, qc;
  std::string start, fixed_mask, moving_mask, levels;
  RegisterOptions with;
  std::uint64_t max_memory = std::uint64_t{1} << 38;  ///< [bytes]
  bool time = false, force = false, json = false;
};

/// Seconds of each stage, in order.
using Times = std::vector<std::pair<std::string, double>>;

bool ends_with(const std::string& path, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return path.ends_with(ending); });
}

/// What the options say is wrong, before anything is read.
void check(const Settings& s) {
  if (s.moving.empty())
    throw BadInput(
        "two images are needed, the one that stays first: warploom register fixed.nii.gz moving.nii.gz -o warped.nii.gz");
  if (s.output.empty() && s.field.empty() && s.affine.empty() && s.inverse_field.empty() &&
      s.jacobian.empty() && s.report.empty() && s.qc.empty() && !s.json)
    throw BadInput(
        "nothing to write: name the warped image with -o, or --field, --affine, --inverse, --jacobian, --qc, --report or --json");
  if (!s.output.empty() && !ends_with(s.output, {".nii", ".nii.gz", ".png"}))
    throw BadInput(fmt::format("-o {}: images are written as .nii, .nii.gz or .png", s.output));
  if (!s.affine.empty() && !ends_with(s.affine, {".txt", ".tfm", ".mat"}))
    throw BadInput(fmt::format("--affine {}: affine maps are written as .txt, .tfm or .mat", s.affine));
  for (const auto& [option, path] :
       {std::pair{"--field", s.field}, {"--inverse", s.inverse_field}, {"--jacobian", s.jacobian}})
    if (!path.empty() && !ends_with(path, {".nii", ".nii.gz"}))
      throw BadInput(fmt::format("{} {}: it is written as .nii or .nii.gz", option, path));
  if (!s.report.empty() && !ends_with(s.report, {".json"}))
    throw BadInput(fmt::format("--report {}: reports are written as .json", s.report));
}

PlacedImage read_image(const Settings& s, const std::string& path) {
  PlacedImage image = parse_placed(read_input(path, s.max_memory), input_name(path), s.max_memory);
  if (image.image.channels != 1)
    throw BadInput(fmt::format(
        "{} has {} values a voxel; images of one are registered, the others follow with warploom register apply",
        input_name(path), image.image.channels));
  return image;
}

imaging::Mask read_mask(const Settings& s, const std::string& path, const PlacedImage& of) {
  if (path.empty()) return {};
  const PlacedImage mask = parse_placed(read_input(path, s.max_memory), input_name(path), s.max_memory);
  return imaging::nonzero_mask(mask.image, of.image.grid, input_name(path));
}

std::vector<int> parse_levels(const std::string& text) {
  std::vector<int> out;
  for (const std::string& part : split(text, ',')) {
    out.push_back(0);
    if (!parse_whole(std::string_view(part), out.back()))
      throw BadInput(fmt::format(
          "--levels {}: expected iterations with commas between, from coarse to fine, as 60,60,20", text));
  }
  return out;
}

Affine read_start(const Settings& s) {
  if (s.start == "header") return identity_affine();
  const TransformChain chain =
      parse_transform(read_input(s.start, s.max_memory), input_name(s.start), s.max_memory);
  Affine out = identity_affine();
  for (const Transform& one : chain) {
    if (!std::holds_alternative<Affine>(one.map))
      throw BadInput(fmt::format("--init {}: a displacement field is no start; give an affine map", s.start));
    const Affine& affine = std::get<Affine>(one.map);
    out = compose(out, one.inverted ? inverse(affine) : affine);
  }
  return out;
}

Json as_json(const Settings& s, const PlacedImage& fixed, const PlacedImage& moving, const Registration& r,
             const Times& times) {
  const auto size = [](const PlacedImage& image) {
    return Json{image.image.grid.nx, image.image.grid.ny, image.image.grid.nz};
  };
  Json options = {{"method", name(s.with.method)}, {"measure", name(s.with.align.measure)},
                  {"radius", s.with.align.radius}, {"init", s.start},
                  {"fixed_mask", s.fixed_mask},    {"moving_mask", s.moving_mask}};
  if (r.deform) {
    options["levels"] = s.with.deform.iterations;
    options["step"] = s.with.deform.step;
    options["smooth_update"] = s.with.deform.smooth_update;
    options["smooth_field"] = s.with.deform.smooth_field;
    options["allow_folds"] = s.with.deform.allow_folds;
  }
  Json rows;
  for (const auto& row : r.affine) rows.push_back(row);
  Json out = {{"fixed", input_name(s.fixed)}, {"moving", input_name(s.moving)},
              {"fixed_size", size(fixed)},    {"moving_size", size(moving)},
              {"options", options},           {"affine_ras_mm", rows}};
  if (r.align)
    out["affine_stage"] = {{"measure_before", r.align->before},
                           {"measure_after", r.align->after},
                           {"starts", r.align->starts},
                           {"resolutions", r.align->resolutions},
                           {"evaluations", r.align->evaluations}};
  if (r.deform)
    out["deformation"] = {
        {"iterations", r.deform->iterations},           {"measure", r.deform->measure},
        {"smoothed_voxels", r.deform->smoothed_voxels}, {"device", name(r.deform->device)},
        {"kernel_seconds", r.deform->kernel_seconds},   {"device_bytes", r.deform->device_bytes}};
  const FoldCertificate& c = r.certificate;
  out["folding"] = {{"proved_none", c.proved()},
                    {"kind", name(c.kind)},
                    {"smallest_determinant", c.smallest_determinant},
                    {"lower_bound", c.lower_bound},
                    {"cells", c.cells},
                    {"folded", c.folded},
                    {"undecided", c.undecided}};
  out["displacement_mm"] = {{"mean", r.mean_displacement}, {"largest", r.largest_displacement}};
  Json seconds;
  for (const auto& [stage, time] : times) seconds[stage] = time;
  out["seconds"] = seconds;
  return out;
}

std::string as_text(const Settings& s, const PlacedImage& fixed, const PlacedImage& moving,
                    const Registration& r, const Times& times) {
  const std::string_view measure = name(s.with.align.measure),
                         deform_measure = s.with.method == Method::curvature ? name(Measure::ssd) : measure;
  std::string text = fmt::format("{}: {}, onto {}: {}\n", input_name(s.moving), size_text(moving.image.grid),
                                 input_name(s.fixed), size_text(fixed.image.grid));
  if (r.align)
    text += fmt::format(
        "  affine      {} {:.4f}, {}\n", measure, r.align->after,
        r.align->starts > 0 ? fmt::format("the best of {} starts", r.align->starts) : "from --init");
  if (r.deform && !r.deform->measure.empty()) {
    std::string levels;
    for (const int n : r.deform->iterations) levels += fmt::format("{}{}", levels.empty() ? "" : ",", n);
    text += fmt::format("  deformation {} {:.4f} after {} iterations{}\n", deform_measure,
                        r.deform->measure.back(), levels, r.deform->device.is_gpu() ? " on the GPU" : "");
  }
  const FoldCertificate& c = r.certificate;
  text += c.proved() ? fmt::format("  folding     none (proved by {}); smallest determinant {:.3g}\n",
                                   name(c.kind), c.smallest_determinant)
                     : fmt::format("  folding     {} of {} cells; smallest determinant {:.3g}\n",
                                   c.folded + c.undecided, c.cells, c.smallest_determinant);
  text += fmt::format("  moved       {:.2f} mm in the mean, at most {:.2f} mm\n", r.mean_displacement,
                      r.largest_displacement);
  if (s.time)
    for (const auto& [stage, time] : times) text += fmt::format("  {:<11} {:.2f} s\n", stage, time);
  else
    text += fmt::format("  time        {:.2f} s\n", times.back().second);
  return text;
}

int run(Settings s) {
  const Stopwatch watch;
  Times times;
  double before = 0;
  const auto lap = [&](const std::string& stage) {
    times.emplace_back(stage, watch.seconds() - before);
    before = watch.seconds();
  };
  check(s);
  if (!s.levels.empty()) s.with.deform.iterations = parse_levels(s.levels);
  OutputFiles files;
  for (const std::string& path : {s.output, s.field, s.affine, s.inverse_field, s.jacobian, s.report, s.qc})
    if (!path.empty()) files.add(path, s.force);

  const RunScope scope(s.with.align.run);
  const PlacedImage fixed = read_image(s, s.fixed), moving = read_image(s, s.moving);
  s.with.align.fixed_mask = read_mask(s, s.fixed_mask, fixed);
  s.with.align.moving_mask = read_mask(s, s.moving_mask, moving);
  if (!s.start.empty()) s.with.align.start = read_start(s);
  lap("reading");

  Registration r = register_images(fixed, moving, s.with);
  if (r.align) times.emplace_back("affine map", r.align->seconds);
  if (r.deform) times.emplace_back("deforming", r.deform->seconds);
  times.emplace_back("proof", r.certificate_seconds);
  before = watch.seconds();

  if (!s.affine.empty()) files.write(s.affine, [&](const auto& staged) { write_affine(staged, r.affine); });
  if (!s.field.empty()) files.write(s.field, [&](const auto& staged) { write_field(staged, r.field); });
  if (!s.jacobian.empty())
    files.write(s.jacobian, [&](const auto& staged) {
      write_placed(staged, {jacobian_determinant(r.field), fixed.to_world});
    });
  if (!s.inverse_field.empty())
    files.write(s.inverse_field,
                [&](const auto& staged) { write_field(staged, invert(r.field, moving.space()).field); });
  if (!s.output.empty() || !s.qc.empty()) {
    TransformChain chain(1);
    chain[0].map = std::move(r.field);
    const PlacedImage warped = resample(moving, fixed.space(), chain);
    if (!s.output.empty()) files.write(s.output, [&](const auto& staged) { write_placed(staged, warped); });
    if (!s.qc.empty())
      files.write(s.qc, quality_page({.fixed_name = page::file_name(input_name(s.fixed)),
                                      .moving_name = page::file_name(input_name(s.moving)),
                                      .facts = page_facts(fixed.image.grid,
                                                          {{"Method", std::string(name(s.with.method)), ""}},
                                                          r.certificate),
                                      .fixed = fixed,
                                      .warped = warped,
                                      .field = &std::get<DisplacementField>(chain[0].map)}));
  }
  lap("writing");
  times.emplace_back("time", watch.seconds());
  const Json report = as_json(s, fixed, moving, r, times);
  if (!s.report.empty()) files.write(s.report, json_text(report));
  files.commit();
  if (s.json)
    print_json(report);
  else
    print(as_text(s, fixed, moving, r, times));
  return kDone;
}

}  // namespace

std::function<int()> add_register_estimate(Command& command) {
  auto s = std::make_shared<Settings>();
  command.add("FIXED", &s->fixed, "Image that stays: NIfTI or PNG, 2-D or 3-D; '-' for standard input");
  command.add("MOVING", &s->moving, "Image that is brought onto it; of any size, voxels and orientation");
  command.group("Output");
  command
      .add("-o,--output", &s->output,
           "The moving image on the voxels of the fixed one: .nii, .nii.gz or .png")
      .type("FILE");
  command.add(
      "--field FILE", &s->field,
      "Displacement field, affine map included, as ITK, ANTs and greedy have it [mm]: .nii or .nii.gz");
  command.add("--affine FILE", &s->affine, "Affine map alone, as ITK has it: .txt, .tfm or .mat");
  command.add("--inverse FILE", &s->inverse_field,
              "Field of the inverse map, on the voxels of the moving image: .nii or .nii.gz");
  command.add("--jacobian FILE", &s->jacobian, "Map of the Jacobian determinant: .nii or .nii.gz");
  command.add("--report FILE", &s->report, "JSON report to write");
  command.add(
      "--qc FILE", &s->qc,
      "Page to write, .html: both images, checkerboard, edges, the field as a grid, change of volume");
  command.group("Method");
  command
      .add(
          "--method METHOD", [s](const std::string& text) { s->with.method = parse_method(text); },
          "rigid, similarity, affine, greedy (affine, then a symmetric deformation) or curvature (affine, then squared differences and bending, of Fischer and Modersitzki 2003) [greedy]")
      .suggest({"rigid", "similarity", "affine", "greedy", "curvature"});
  command
      .add(
          "--measure MEASURE", [s](const std::string& text) { s->with.align.measure = parse_measure(text); },
          "What makes images alike: lncc (local correlation), nmi (mutual information, for images of different kinds) or ssd (squared differences) [lncc]")
      .suggest({"lncc", "nmi", "ssd"});
  command.add("--radius N", &s->with.align.radius, "Of lncc's windows [voxels]").range(1, 8).show_default();
  command.add(
      "--init FILE", &s->start,
      "Affine map to begin with (ITK, ANTs or greedy), or 'header' to believe the files [looked for in any pose]");
  command.add("--keep-init", &s->with.keep_start, "Take the affine map of --init as it is");
  command.add("--fixed-mask FILE", &s->fixed_mask,
              "Voxels of the fixed image that count: not 0 in this image [all]");
  command.add("--moving-mask FILE", &s->moving_mask, "The same of the moving image [all]");
  command.group("Methods greedy and curvature");
  command.add(
      "--levels N,N,...", &s->levels,
      "Iterations at each resolution, from coarse to fine; the last has the fixed image's voxels [60,60,20]");
  command
      .add("--step X", &s->with.deform.step, "Longest displacement an iteration adds to either side [voxels]")
      .range(1e-3, 2.0)
      .show_default();
  command
      .add("--smooth-update X", &s->with.deform.smooth_update,
           "Standard deviation of the Gaussian over each update [voxels]")
      .range(0.0, 8.0)
      .show_default();
  command
      .add("--smooth-field X", &s->with.deform.smooth_field,
           "Standard deviation of the Gaussian over the whole displacement [voxels]")
      .range(0.0, 8.0)
      .show_default();
  command
      .add("--bending X", &s->with.deform.bending,
           "Of curvature: weight of bending against squared differences, lengths in voxels; larger: smoother")
      .range(1e-9, 1e9)
      .show_default();
  command.add("--semi-implicit", &s->with.deform.semi_implicit,
              "Of curvature: the steps of 2003 instead of Gauss and Newton's; many more iterations");
  command.add("--allow-folds", &s->with.deform.allow_folds, "Do not keep the map from folding");
  command.group("Run");
  command.add_run(s->with.align.run);
  add_max_memory(
      command, s->max_memory,
      "Refuse a file whose header asks for more, before it is unpacked; as 2G [what is available]");
  command.add("--time", &s->time, "Print the time of each stage");
  command.add_json(s->json);
  command.add_force(s->force);
  return [s] {
    return with_option_names([&] { return naming_max_memory(s->max_memory, [&] { return run(*s); }); });
  };
}

}  // namespace warploom::tool
