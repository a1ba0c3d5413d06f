#include "estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>

#include "cli/byte_size.hpp"
#include "cli/option_names.hpp"
#include "cli/output_files.hpp"
#include "cli/stopwatch.hpp"
#include "estimate_report.hpp"
#include "facts.hpp"
#include "fsl_name.hpp"
#include "landmarks.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/memory.hpp"
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
  std::string fixed, output, field, affine, inverse_field, jacobian, report, qc;
  std::vector<std::string> moving;
  std::string start, fixed_mask, moving_mask, levels, fixed_points, moving_points;
  PointAxes axes = PointAxes::ras;
  RegisterOptions with;
  std::uint64_t max_memory = std::uint64_t{1} << 38;  ///< [bytes]
  bool time = false, force = false, json = false;
};

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
  if (s.fixed_points.empty() != s.moving_points.empty())
    throw BadInput(
        "--fixed-points and --moving-points go together: row for row the same places in both images");
  if (s.moving.size() > 1)
    for (const auto& [option, path] : {std::pair{"-o", s.output},
                                       {"--field", s.field},
                                       {"--affine", s.affine},
                                       {"--inverse", s.inverse_field},
                                       {"--jacobian", s.jacobian},
                                       {"--qc", s.qc},
                                       {"--moving-mask", s.moving_mask},
                                       {"--moving-points", s.moving_points}})
      if (!path.empty() && path.find("{}") == path.npos)
        throw BadInput(fmt::format(
            "{} {}: there are {} moving images; put {{}} where the name of each is to stand, as in 'out/{{}}.nii.gz'",
            option, path, s.moving.size()));
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

/// "out/{}.nii.gz" for the moving image "sub/01.nii.gz": "out/01.nii.gz".
std::string named(const std::string& pattern, const std::string& moving) {
  std::string stem = moving == "-" ? "stdin" : moving.substr(moving.find_last_of('/') + 1);
  for (const std::string_view ending : {".gz", ".nii", ".png"})
    if (stem.ends_with(ending) && stem.size() > ending.size()) stem.resize(stem.size() - ending.size());
  std::string out = pattern;
  if (const std::size_t at = out.find("{}"); at != out.npos) out.replace(at, 2, stem);
  return out;
}

/// The settings for one of the moving images.
Settings settings_for(Settings s, const std::string& moving) {
  for (std::string* path : {&s.output, &s.field, &s.affine, &s.inverse_field, &s.jacobian, &s.qc, &s.start,
                            &s.moving_mask, &s.moving_points})
    *path = named(*path, moving);
  return s;
}

/// One of the moving images, and what belongs to it.
struct Moving {
  Settings s;
  std::string path;
  PlacedImage image;
  std::optional<LandmarkTables> landmarks;
  double seconds = 0;  ///< to read it
};

Moving read_moving(Settings s, const std::string& path) {
  const Stopwatch watch;
  Moving out{std::move(s), path, {}, {}};
  Settings& of = out.s;
  out.image = read_image(of, path);
  of.with.align.moving_mask = read_mask(of, of.moving_mask, out.image);
  if (!of.start.empty()) of.with.align.start = read_start(of);
  if (!of.fixed_points.empty())
    out.landmarks = read_landmarks(of.fixed_points, of.moving_points, of.axes, of.max_memory);
  out.seconds = watch.seconds();
  return out;
}

/// Writes all that was asked for of a registration. The field, which is the largest, on a thread of its own.
void write_results(const Moving& moving, const PlacedImage& fixed, Estimate& out, const OutputFiles& files) {
  const Stopwatch watch;
  const Settings& s = moving.s;
  Registration& r = out.result;
  if (const FslName affine(s.affine); !s.affine.empty())
    files.write(affine.file, [&](const auto& staged) {
      if (affine.fsl) return write_fsl_affine(staged, r.affine, fixed.space(), moving.image.space());
      write_affine(staged, r.affine);
    });
  TransformChain chain(1);
  chain[0].map = std::move(r.field);
  const auto& field = std::get<DisplacementField>(chain[0].map);
  const auto beside = [&](const std::string& path, const auto& writer) {
    if (path.empty()) return std::future<void>();
    return std::async(std::launch::async, [&files, path, writer, around = current_run()] {
      const RunScope scope(around);
      files.write(path, writer);
    });
  };
  const FslName field_name(s.field), inverse_name(s.inverse_field);
  std::future<void> writing = beside(field_name.file, [&](const std::filesystem::path& staged) {
    if (field_name.fsl) return write_fsl_field(staged, field, moving.image.space());
    write_field(staged, field);
  });
  if (!s.jacobian.empty())
    files.write(s.jacobian, [&](const auto& staged) {
      write_placed(staged, {jacobian_determinant(field), fixed.to_world});
    });
  if (!s.inverse_field.empty())
    files.write(inverse_name.file, [&](const auto& staged) {
      const DisplacementField inverse = invert(field, moving.image.space()).field;
      if (inverse_name.fsl) return write_fsl_field(staged, inverse, fixed.space());
      write_field(staged, inverse);
    });
  if (moving.landmarks) out.landmarks = measure_landmarks(*moving.landmarks, r.affine, chain);
  if (!s.output.empty() || !s.qc.empty()) {
    const PlacedImage warped = resample(moving.image, fixed.space(), chain);
    if (!s.output.empty()) files.write(s.output, [&](const auto& staged) { write_placed(staged, warped); });
    if (!s.qc.empty())
      files.write(s.qc, quality_page({.fixed_name = page::file_name(out.fixed),
                                      .moving_name = page::file_name(out.moving),
                                      .facts = page_facts(fixed.image.grid,
                                                          {{"Method", std::string(name(s.with.method)), ""}},
                                                          r.certificate),
                                      .fixed = fixed,
                                      .warped = warped,
                                      .field = &field}));
  }
  if (writing.valid()) writing.get();
  out.times.emplace_back("writing", watch.seconds());
}

Estimate register_one(const Moving& moving, const PlacedImage& fixed) {
  const Settings& s = moving.s;
  Estimate out{.fixed = input_name(s.fixed), .moving = input_name(moving.path)};
  out.fixed_grid = fixed.image.grid, out.moving_grid = moving.image.image.grid;
  out.memory = memory_for(out.fixed_grid, out.moving_grid, s.with);
  const std::uint64_t most = std::min(s.max_memory, available_memory());
  log(LogLevel::info, fmt::format("{} onto {}: {} of memory at most; the limit is {}", out.moving, out.fixed,
                                  byte_text(out.memory), byte_text(most)));
  if (out.memory > most)
    throw BadInput(fmt::format(
        "{} ({}) onto {} ({}) needs {} of memory; the limit is {}. Fewer voxels need less: resample the fixed image first",
        out.moving, size_text(out.moving_grid), out.fixed, size_text(out.fixed_grid), byte_text(out.memory),
        byte_text(most)));
  out.options = s.with;
  out.start = s.start, out.fixed_mask = s.fixed_mask, out.moving_mask = s.moving_mask;
  out.times.emplace_back("reading", moving.seconds);
  out.result = register_images(fixed, moving.image, s.with);
  const Registration& r = out.result;
  if (r.align) out.times.emplace_back("affine map", r.align->seconds);
  if (r.deform) out.times.emplace_back("deforming", r.deform->seconds);
  out.times.emplace_back("proof", r.certificate_seconds);
  return out;
}

/// Each moving image onto the fixed one. While one is registered the next is read and what came of the one
/// before is written.
std::vector<Estimate> register_all(const Settings& s, const PlacedImage& fixed, const OutputFiles& files) {
  struct Work {
    Moving moving;
    Estimate estimate;
  };
  const Run around = current_run();
  const auto beside = [&](auto body) {
    return std::async(std::launch::async, [body = std::move(body), around]() mutable {
      const RunScope scope(around);
      return body();
    });
  };
  const auto read = [&](std::size_t k) {
    return beside([&, k] { return read_moving(settings_for(s, s.moving[k]), s.moving[k]); });
  };
  std::vector<Estimate> out;
  std::future<Moving> next = read(0);
  std::future<Estimate> writing;
  const auto finish = [&] {
    if (writing.valid()) out.push_back(writing.get());
  };
  for (std::size_t k = 0; k < s.moving.size(); ++k) {
    const Stopwatch watch;
    auto work = std::make_shared<Work>(Work{next.get(), {}});
    if (k + 1 < s.moving.size()) next = read(k + 1);
    work->estimate = register_one(work->moving, fixed);
    finish();
    writing = beside([&, work, watch] {
      write_results(work->moving, fixed, work->estimate, files);
      work->estimate.times.emplace_back("time", watch.seconds() + work->moving.seconds);
      return std::move(work->estimate);
    });
  }
  finish();
  return out;
}

int run(Settings s) {
  check(s);
  if (!s.levels.empty()) s.with.deform.iterations = parse_levels(s.levels);
  OutputFiles files;
  for (const std::string& moving : s.moving) {
    const Settings one = settings_for(s, moving);
    for (const std::string& path : {one.output, FslName(one.field).file, FslName(one.affine).file,
                                    FslName(one.inverse_field).file, one.jacobian, one.qc})
      if (!path.empty()) files.add(path, s.force);
  }
  if (!s.report.empty()) files.add(s.report, s.force);

  const RunScope scope(s.with.align.run);
  const std::future<void> starting = start_device(s.with);
  const PlacedImage fixed = read_image(s, s.fixed);
  s.with.align.fixed_mask = read_mask(s, s.fixed_mask, fixed);
  std::string text;
  Json all = Json::array();
  for (const Estimate& one : register_all(s, fixed, files)) {
    text += as_text(one, s.time);
    all.push_back(as_json(one));
  }
  const Json report = all.size() == 1 ? all.at(std::size_t{0}) : Json{{"registrations", std::move(all)}};
  if (!s.report.empty()) files.write(s.report, json_text(report));
  files.commit();
  if (s.json)
    print_json(report);
  else
    print(text);
  return kDone;
}

}  // namespace

std::function<int()> add_register_estimate(Command& command) {
  auto s = std::make_shared<Settings>();
  command.add("FIXED", &s->fixed, "Image that stays: NIfTI or PNG, 2-D or 3-D; '-' for standard input");
  command.add(
      "MOVING", &s->moving,
      "Image that is brought onto it, of any size, voxels and orientation; or several, one after the other: {} in names of files then stands for each one's name");
  command.group("Output");
  command
      .add("-o,--output", &s->output,
           "The moving image on the voxels of the fixed one: .nii, .nii.gz or .png")
      .type("FILE");
  command.add(
      "--field FILE", &s->field,
      "Displacement field, affine map included, as ITK, ANTs and greedy have it [mm]: .nii or .nii.gz; fsl:FILE as FSL has it");
  command.add("--affine FILE", &s->affine,
              "Affine map alone, as ITK has it: .txt, .tfm or .mat; fsl:FILE as FSL has it");
  command.add(
      "--inverse FILE", &s->inverse_field,
      "Field of the inverse map, on the voxels of the moving image: .nii or .nii.gz; fsl:FILE as FSL has it");
  command.add("--jacobian FILE", &s->jacobian, "Map of the Jacobian determinant: .nii or .nii.gz");
  command.add("--report FILE", &s->report, "JSON report to write");
  command.add(
      "--qc FILE", &s->qc,
      "Page to write, .html: both images, checkerboard, edges, the field as a grid, change of volume");
  command.group("Method");
  command
      .add(
          "--method METHOD", [s](const std::string& text) { s->with.method = parse_method(text); },
          "rigid, similarity, affine, greedy (affine, then a symmetric deformation), curvature (affine, then squared differences and bending, of Fischer and Modersitzki 2003) or demons (affine, then diffeomorphic demons, of Vercauteren et al. 2009) [greedy]")
      .suggest({"rigid", "similarity", "affine", "greedy", "curvature", "demons"});
  command
      .add(
          "--measure MEASURE", [s](const std::string& text) { s->with.align.measure = parse_measure(text); },
          "What makes images alike: lncc (local correlation), nmi (mutual information, for images of different kinds), ssd (squared differences) or ngf (directions of edges, for images of different kinds) [lncc]")
      .suggest({"lncc", "nmi", "ssd", "ngf"});
  command.add("--radius N", &s->with.align.radius, "Of lncc's windows [voxels]").range(1, 8).show_default();
  command.add(
      "--init FILE", &s->start,
      "Affine map to begin with (ITK, ANTs or greedy), or 'header' to believe the files [looked for in any pose]");
  command.add("--keep-init", &s->with.keep_start, "Take the affine map of --init as it is");
  command.add("--fixed-mask FILE", &s->fixed_mask,
              "Voxels of the fixed image that count: not 0 in this image [all]");
  command.add("--moving-mask FILE", &s->moving_mask, "The same of the moving image [all]");
  command.add(
      "--fixed-points FILE", &s->fixed_points,
      "Table of places in the fixed image, x, y, z [mm]: the report says how far they end from those of --moving-points");
  command.add("--moving-points FILE", &s->moving_points, "The same places in the moving image, row for row");
  command
      .add(
          "--axes AXES", [s](const std::string& text) { s->axes = parse_point_axes(text); },
          "Of points: ras (NIfTI) or lps (ITK, ANTs) [ras]")
      .suggest({"ras", "lps"});
  command.group("Methods greedy, curvature and demons");
  command.add(
      "--levels N,N,...", &s->levels,
      "Iterations at each resolution, from coarse to fine; the last has the images' voxels [60,60,20; greedy in three dimensions 60,60,60,20]");
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
      .add(
          "--smooth-field X", &s->with.deform.smooth_field,
          "Standard deviation of the Gaussian over the whole displacement [voxels] [0.5; 1 in a plane where the affine map leaves images hardly alike, as slides of two stains]")
      .range(0.0, 8.0);
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
      "Refuse files whose headers ask for more, and registrations that need more, before they begin; as 2G [what is available]");
  command.add("--time", &s->time, "Print the time of each stage");
  command.add_json(s->json);
  command.add_force(s->force);
  return [s] {
    return with_option_names([&] { return naming_max_memory(s->max_memory, [&] { return run(*s); }); });
  };
}

}  // namespace warploom::tool
