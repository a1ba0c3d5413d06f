#include "apply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "cli/byte_size.hpp"
#include "cli/option_names.hpp"
#include "cli/output_files.hpp"
#include "cli/stopwatch.hpp"
#include "facts.hpp"
#include "fsl_name.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/image_file.hpp"
#include "warploom/imaging/tensor_order.hpp"
#include "warploom/page/text.hpp"
#include "warploom/registration/folding.hpp"
#include "warploom/registration/overlap.hpp"
#include "warploom/registration/points_file.hpp"
#include "warploom/registration/quality_page.hpp"
#include "warploom/registration/resample.hpp"
#include "warploom/registration/space.hpp"
#include "warploom/registration/transform.hpp"
#include "warploom/registration/transform_file.hpp"

namespace warploom::tool {
namespace {

using namespace registration;

struct Settings {
  std::string image, output, reference, points, points_out, composed, jacobian, report, qc, compare;
  std::vector<std::string> transforms;
  Interpolation interpolation = Interpolation::linear;
  PointAxes axes = PointAxes::ras;
  double outside = 0;
  bool inverse = false, labels = false, tensors = false;
  Turning turning = Turning::preserve_direction;
  std::optional<imaging::TensorOrder> order;
  std::optional<io::Frame> frame;
  std::uint64_t max_memory = std::uint64_t{1} << 38;  ///< [bytes]
  Run run;
  bool force = false, json = false;
};

constexpr std::string_view kInverse = "inverse:";

bool ends_with(const std::string& path, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return path.ends_with(ending); });
}

/// A value of -t: "inverse:fsl:FILE".
struct TransformName : FslName {
  bool inverse = false;

  explicit TransformName(const std::string& text)
      : FslName(text.starts_with(kInverse) ? text.substr(kInverse.size()) : text),
        inverse(text.starts_with(kInverse)) {}
};

/// What the options say is wrong, before anything is read.
void check(const Settings& s) {
  if (s.image.empty() != s.output.empty())
    throw BadInput(s.image.empty() ? "-o without an image to resample" : "an image to resample without -o");
  if (s.points.empty() != s.points_out.empty()) throw BadInput("--points and --points-out go together");
  if (s.image.empty() && s.points.empty() && s.composed.empty() && s.jacobian.empty())
    throw BadInput(
        "nothing to do: name an image and -o, --points, --composed or --jacobian (warploom register apply --help)");
  if (!s.output.empty() && !ends_with(s.output, {".nii", ".nii.gz", ".png"}))
    throw BadInput(fmt::format("-o {}: images are written as .nii, .nii.gz or .png", s.output));
  if (!s.composed.empty() && !ends_with(s.composed, {".nii", ".nii.gz", ".txt", ".tfm", ".mat"}))
    throw BadInput(fmt::format(
        "--composed {}: fields are written as .nii or .nii.gz, affines as .txt, .tfm or .mat", s.composed));
  if (!s.jacobian.empty() && !ends_with(s.jacobian, {".nii", ".nii.gz"}))
    throw BadInput(fmt::format("--jacobian {}: maps are written as .nii or .nii.gz", s.jacobian));
  if (!s.qc.empty() && (s.image.empty() || s.reference.empty() || s.tensors))
    throw BadInput("--qc needs an image to resample (not tensors) and --reference");
  if (s.labels && s.tensors) throw BadInput("--labels and --tensors exclude each other");
  if (!s.compare.empty() && s.interpolation != Interpolation::labels &&
      s.interpolation != Interpolation::nearest)
    throw BadInput("--compare compares maps of labels: it needs --labels or --interpolation nearest");
}

PlacedImage read_image(const Settings& s, const std::string& path) {
  return parse_placed(read_input(path, s.max_memory), input_name(path), s.max_memory);
}

/// A tensor image along the world's axes, and how it was stored.
struct Tensors {
  PlacedImage image;
  imaging::TensorOrder order = imaging::TensorOrder::fsl;
  io::Frame frame = io::Frame::fsl;
};

Tensors read_tensors(const Settings& s) {
  const std::string name = input_name(s.image);
  io::Nifti file = io::parse_nifti(read_input(s.image, s.max_memory), name, s.max_memory);
  Tensors out;
  out.order = imaging::order_of(file, s.order, name);
  out.frame = s.frame.value_or(imaging::usual_frame(out.order));
  out.image = {imaging::take_volumes(file, name), file.affine, io::NiftiType::float32,
               std::max({file.sform_code, file.qform_code, 1})};
  imaging::from_order(out.image.image, out.order, 1);
  imaging::change_frame(out.image.image, out.frame, io::Frame::scanner, out.image.to_world);
  return out;
}

void write_tensors(const std::filesystem::path& path, Tensors tensors) {
  PlacedImage& placed = tensors.image;
  imaging::change_frame(placed.image, io::Frame::scanner, tensors.frame, placed.to_world);
  imaging::to_order(placed.image, tensors.order, 1);
  io::Nifti file{
      .spacing = placed.image.grid.spacing, .affine = placed.to_world, .data = std::move(placed.image.data)};
  imaging::mark_order(file, tensors.order, placed.image.grid);
  io::write_nifti(path, file);
}

/// What was asked for, ready.
struct Applied {
  Settings settings;
  Space reference;
  std::vector<std::string> kinds;  ///< of the transforms, as they were given
  std::optional<FoldCertificate> certificate;
  std::vector<LabelOverlap> overlaps;  ///< with --compare
  double seconds = 0;
};

TransformChain read_chain(const Settings& s, const std::optional<Space>& fixed,
                          const std::optional<Space>& moving, std::vector<std::string>& kinds) {
  TransformChain chain;
  for (const std::string& text : s.transforms) {
    const TransformName name(text);
    if (name.fsl && (!fixed || !moving))
      throw BadInput(fmt::format(
          "-t {}: FSL's transforms need both images: the one to resample, and --reference", text));
    const std::string bytes = read_input(name.file, s.max_memory);
    TransformChain part =
        name.fsl ? parse_fsl_transform(bytes, input_name(name.file), *fixed, *moving, s.max_memory)
                 : parse_transform(bytes, input_name(name.file), s.max_memory);
    kinds.push_back(std::holds_alternative<Affine>(part[0].map) ? "affine" : "displacement field");
    if (name.inverse) part = inverse(std::move(part));
    std::ranges::move(part, std::back_inserter(chain));
  }
  return s.inverse ? inverse(std::move(chain)) : chain;
}

std::vector<LabelOverlap> compare(const Settings& s, const PlacedImage& labels) {
  try {
    return label_overlap(labels.image, read_image(s, s.compare).image);
  } catch (const BadInput& e) {
    throw BadInput(fmt::format("--compare {}: {}", s.compare, e.what()));
  }
}

std::optional<Affine> as_one_affine(const TransformChain& chain) {
  Affine whole = identity_affine();
  for (const Transform& t : chain) {
    const Affine* affine = std::get_if<Affine>(&t.map);
    if (affine == nullptr) return std::nullopt;
    whole = compose(whole, t.inverted ? inverse(*affine) : *affine);
  }
  return whole;
}

/// The voxels of the result: --reference, else those of the first field.
Space reference_space(const TransformChain& chain, const std::optional<Space>& given) {
  if (given) return *given;
  if (!chain.empty() && !chain[0].inverted)
    if (const auto* field = std::get_if<DisplacementField>(&chain[0].map)) return field->space;
  throw BadInput("--reference is missing: name the image whose voxels the result is to have");
}

std::string how_text(const Settings& s) {
  return s.tensors ? fmt::format("linear, tensors turned: {}", name(s.turning))
                   : std::string(name(s.interpolation));
}

Json as_json(const Applied& done) {
  const Settings& s = done.settings;
  Json transforms = Json::array();
  for (std::size_t n = 0; n < done.kinds.size(); ++n)
    transforms.push_back({{"file", s.transforms[n]}, {"kind", done.kinds[n]}});
  Json report = {{"transforms", transforms}, {"inverse", s.inverse}};
  if (!s.image.empty()) {
    report["image"] = input_name(s.image);
    report["output"] = s.output;
    report["interpolation"] = s.tensors ? "linear" : name(s.interpolation);
    if (s.tensors) report["turning"] = name(s.turning);
  }
  const imaging::Grid& grid = done.reference.grid;
  if (grid.nx > 0) report["size"] = {grid.nx, grid.ny, grid.nz}, report["spacing_mm"] = grid.spacing;
  if (done.certificate) {
    const FoldCertificate& c = *done.certificate;
    report["folding"] = {{"proved_none", c.proved()},
                         {"certificate", name(c.kind)},
                         {"smallest_determinant", c.smallest_determinant},
                         {"lower_bound", c.lower_bound},
                         {"cells", c.cells},
                         {"folded_cells", c.folded},
                         {"undecided_cells", c.undecided}};
  }
  if (!s.compare.empty()) {
    Json labels = Json::array();
    for (const LabelOverlap& overlap : done.overlaps)
      labels.push_back({{"label", overlap.label},
                        {"dice", overlap.dice()},
                        {"voxels", overlap.first},
                        {"compared_voxels", overlap.second}});
    report["overlap"] = {{"with", s.compare}, {"mean_dice", mean_dice(done.overlaps)}, {"labels", labels}};
  }
  report["seconds"] = {{"total", done.seconds}};
  return report;
}

std::string as_text(const Applied& done) {
  const Settings& s = done.settings;
  std::string text;
  if (!s.image.empty())
    text += fmt::format("{}: {} ({})\n", s.output, size_text(done.reference.grid), how_text(s));
  for (std::size_t n = 0; n < done.kinds.size(); ++n)
    text += fmt::format("  transform   {}: {}\n", s.transforms[n], done.kinds[n]);
  if (done.certificate) {
    const FoldCertificate& c = *done.certificate;
    text += c.proved()
                ? fmt::format("  folding     none (proved by {}); smallest determinant {:.4g}\n",
                              name(c.kind), c.smallest_determinant)
                : fmt::format(
                      "  folding     {} of {} cells fold, {} are undecided; smallest determinant {:.4g}\n",
                      c.folded, c.cells, c.undecided, c.smallest_determinant);
  }
  if (!s.compare.empty()) {
    const auto least = std::ranges::min_element(done.overlaps, {}, &LabelOverlap::dice);
    text +=
        least == done.overlaps.end()
            ? "  overlap     no labels\n"
            : fmt::format("  overlap     Dice {:.3f}, the mean of {} labels; the least {:.3f}, of label {}\n",
                          mean_dice(done.overlaps), done.overlaps.size(), least->dice(), least->label);
  }
  return text + fmt::format("  time        {:.3f} s\n", done.seconds);
}

int run(const Settings& s) {
  const Stopwatch watch;
  const RunScope scope(s.run);
  check(s);
  OutputFiles files;
  const TransformName composed(s.composed);
  for (const std::string& path : {s.output, s.points_out, composed.file, s.jacobian, s.report, s.qc})
    if (!path.empty()) files.add(path, s.force);

  Applied done{.settings = s, .reference = {}, .kinds = {}, .certificate = {}, .overlaps = {}};
  std::optional<Space> fixed, moving_space;
  PlacedImage reference;
  if (!s.reference.empty()) {
    reference = read_image(s, s.reference);
    fixed = reference.space();
    if (s.qc.empty()) reference.image.data = {};
  }
  Tensors tensors;
  PlacedImage image;
  if (!s.image.empty()) {
    if (s.tensors)
      tensors = read_tensors(s);
    else
      image = read_image(s, s.image);
    moving_space = s.tensors ? tensors.image.space() : image.space();
  }
  const TransformChain chain = read_chain(s, fixed, moving_space, done.kinds);

  if (!s.image.empty()) {
    done.reference = reference_space(chain, fixed);
    if (s.tensors) {
      tensors.image = resample_tensors(tensors.image, done.reference, chain, s.turning);
      files.write(s.output, [&](const auto& path) { write_tensors(path, std::move(tensors)); });
    } else {
      image = resample(image, done.reference, chain, s.interpolation, static_cast<float>(s.outside));
      if (!s.compare.empty()) done.overlaps = compare(s, image);
      files.write(s.output, [&](const auto& path) { write_placed(path, image); });
    }
  }
  const std::optional<Affine> affine = as_one_affine(chain);
  if (!s.composed.empty() && ends_with(composed.file, {".txt", ".tfm", ".mat"})) {
    if (!affine)
      throw BadInput(fmt::format(
          "--composed {}: there is a displacement field among the transforms; write a .nii.gz", s.composed));
    files.write(composed.file, [&](const auto& path) {
      if (!composed.fsl) return write_affine(path, *affine);
      if (!fixed || !moving_space)
        throw BadInput("--composed fsl: needs the image to resample, and --reference");
      write_fsl_affine(path, *affine, *fixed, *moving_space);
    });
  }
  const bool writes_field = !s.composed.empty() && ends_with(composed.file, {".nii", ".nii.gz"});
  if (writes_field || !s.jacobian.empty() || !s.qc.empty()) {
    done.reference = reference_space(chain, fixed);
    const DisplacementField field = to_field(chain, done.reference);
    done.certificate = certify(field);
    if (writes_field)
      files.write(composed.file, [&](const auto& path) {
        if (!composed.fsl) return write_field(path, field);
        if (!moving_space) throw BadInput("--composed fsl: needs the image to resample");
        write_fsl_field(path, field, *moving_space);
      });
    if (!s.jacobian.empty())
      files.write(s.jacobian, [&](const auto& path) {
        write_placed(path, {jacobian_determinant(field), done.reference.to_world});
      });
    if (!s.qc.empty())
      files.write(s.qc, quality_page({.fixed_name = page::file_name(s.reference),
                                      .moving_name = page::file_name(input_name(s.image)),
                                      .facts = page_facts(done.reference.grid,
                                                          {{"Transforms", std::to_string(done.kinds.size()),
                                                            page::escaped(page::listed(done.kinds))}},
                                                          *done.certificate),
                                      .fixed = reference,
                                      .warped = image,
                                      .field = &field}));
  }
  if (!s.points.empty()) {
    PointTable points = parse_points(read_input(s.points), input_name(s.points), s.axes);
    map_points(chain, points.points);
    files.write(s.points_out, points_text(points, s.axes));
  }
  done.seconds = watch.seconds();
  if (!s.report.empty()) files.write(s.report, json_text(as_json(done)));
  files.commit();
  if (s.json)
    print_json(as_json(done));
  else
    print(as_text(done));
  return kDone;
}

std::function<int()> add(Command& command) {
  auto s = std::make_shared<Settings>();
  command.add("IMAGE", &s->image,
              "Image to resample: NIfTI of any number of channels, or PNG; '-' for standard input");
  command.group("Transforms");
  command.add(
      "-t,--transform FILE", &s->transforms,
      "A transform, in the order in which points of the reference pass, which is ANTs' and greedy's: displacement "
      "fields of ITK, ANTs and greedy (NIfTI, intent 1007), affines of ITK and ANTs (.txt, .tfm, .mat) and of greedy "
      "(4 x 4); fsl:FILE for FSL's, inverse:FILE for an inverse; may stand several times");
  command.add("--inverse", &s->inverse, "Go the other way: all of them inverted, in opposite order");
  command.group("Image");
  command.add("--reference FILE", &s->reference,
              "Image whose voxels the result gets [those of the first field]");
  command.add("-o,--output FILE", &s->output, "Resampled image to write: .nii, .nii.gz or .png");
  command
      .add(
          "--interpolation HOW",
          [s](const std::string& text) { s->interpolation = parse_interpolation(text); },
          "linear, cubic (B-spline), nearest or labels (each label linearly, the greatest wins) [linear]")
      .suggest({"linear", "cubic", "nearest", "labels"});
  command.add(
      "--labels", [s] { s->labels = true, s->interpolation = Interpolation::labels; },
      "The same as --interpolation labels");
  command.add("--compare FILE", &s->compare,
              "Map of labels on the same voxels: how well the result agrees with it, the Dice of each label");
  command.add("--outside X", &s->outside, "Value of voxels that lead outside the image [0]");
  command.group("Tensors");
  command.add("--tensors", &s->tensors, "The image holds tensors, which turn with what they are of");
  command
      .add(
          "--turn HOW", [s](const std::string& text) { s->turning = parse_turning(text); },
          "preserve-direction, finite-strain or none [preserve-direction]")
      .suggest({"preserve-direction", "finite-strain", "none"});
  command
      .add(
          "--order ORDER", [s](const std::string& text) { s->order = imaging::parse_tensor_order(text); },
          "Order of the elements: fsl, mrtrix or nifti, in and out [as the file tells]")
      .suggest({"fsl", "mrtrix", "nifti"});
  command
      .add(
          "--frame FRAME", [s](const std::string& text) { s->frame = io::parse_frame(text); },
          "Axes of the elements: fsl, scanner or image, in and out [that of the order]")
      .suggest({"fsl", "scanner", "image"});
  command.group("Points");
  command.add(
      "--points FILE", &s->points,
      "Table of points, x, y, z [mm] in its first columns: taken where the transforms lead, from the reference to the image; --inverse for the other way");
  command.add("--points-out FILE", &s->points_out, "Table to write");
  command
      .add(
          "--axes AXES", [s](const std::string& text) { s->axes = parse_point_axes(text); },
          "Of points: ras (NIfTI) or lps (ITK, ANTs) [ras]")
      .suggest({"ras", "lps"});
  command.group("All transforms as one");
  command.add(
      "--composed FILE", &s->composed,
      "Field (.nii, .nii.gz) or affine (.txt, .tfm, .mat) to write, as ITK has it; fsl:FILE as FSL has it");
  command.add("--jacobian FILE", &s->jacobian, "Map of the Jacobian determinant to write: .nii or .nii.gz");
  command.group("Run");
  command.add(
      "--qc FILE", &s->qc,
      "Page to write, .html: both images, checkerboard, edges, the field as a grid, change of volume");
  command.add_threads(s->run.threads);
  add_max_memory(
      command, s->max_memory,
      "Refuse a file whose header asks for more, before it is unpacked; as 2G [what is available]");
  command.add("--report FILE", &s->report, "JSON report to write");
  command.add_json(s->json);
  command.add_force(s->force);
  return [s] {
    return with_option_names([&] { return naming_max_memory(s->max_memory, [&] { return run(*s); }); });
  };
}

}  // namespace

Verb register_apply() {
  return {
      "apply", "Resample images, labels and tensors by transforms that are there, take points along, compose",
      "warploom register apply moving.nii.gz --reference fixed.nii.gz -t warp.nii.gz -t affine.mat -o warped.nii.gz\n"
      "  warploom register apply labels.nii.gz --labels --reference fixed.nii.gz -t warp.nii.gz -o warped_labels.nii.gz\n"
      "  warploom register apply dti.nii.gz --tensors --reference t1.nii.gz -t warp.nii.gz -t affine.txt -o dti_in_t1.nii.gz\n"
      "  warploom register apply -t warp.nii.gz --points fixed.csv --points-out moving.csv\n"
      "  warploom register apply --reference fixed.nii.gz -t warp.nii.gz -t affine.mat --composed one.nii.gz --jacobian j.nii.gz\n"
      "Transforms are pull-backs: they lead from the reference to the image. Their first is the first that a point of the reference passes.\n"
      "Exit codes: 0 done, 2 bad usage or input, 130 Ctrl-C.",
      &add};
}

}  // namespace warploom::tool
