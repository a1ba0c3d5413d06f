#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/byte_size.hpp"
#include "cli/verb.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tool {
namespace {

using imaging::all_maps;

imaging::TensorOrder parse_tensor_order(const std::string& option, const std::string& text) {
  try {
    return imaging::parse_tensor_order(text);
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", option, error.what()));
  }
}

/// A number from `least` (excluded if `above`) on; infinite ones are refused.
double parse_number(const std::string& option, const std::string& text, double least, bool above) {
  double value = 0;
  if (!parse_whole(text, value) || !std::isfinite(value) || value < least || (above && value == least))
    throw BadInput(
        fmt::format("{}: '{}' is not a number {} {}", option, text, above ? "above" : "of at least", least));
  return value;
}

template <typename Number>
Number parse_count(const std::string& option, const std::string& text, Number least, Number most) {
  Number value = 0;
  if (!parse_whole(text, value) || value < least || value > most)
    throw BadInput(fmt::format("{}: '{}' is not a whole number from {} to {}", option, text, least, most));
  return value;
}

/// An option whose text `set` takes, throwing BadInput.
template <typename Set>
Option& add(Command& command, const std::string& option, const std::string& type, Set set,
            const std::string& help) {
  return command
      .add(
          option, [set](const std::string& text) { set(text); }, help)
      .type(type);
}

std::vector<std::string> parse_maps(const std::string& text) {
  const std::vector<std::string>& all = all_maps();
  if (text == "all") return all;
  if (text == "none") return {};
  std::vector<std::string> asked = split(text, ','), maps;
  for (std::string& map : asked) {
    std::ranges::transform(map, map.begin(), [](unsigned char c) { return std::tolower(c); });
    if (std::ranges::count(all, map) == 0)
      throw BadInput(fmt::format("--maps: '{}' is none of all, none, {}", map, fmt::join(all, ", ")));
  }
  for (const std::string& map : all)
    if (std::ranges::count(asked, map) > 0) maps.push_back(map);
  return maps;
}

void add_input_options(Command& command, DenoiseSettings& s) {
  command.group("Input");
  command
      .add(
          "IMAGE", &s.input,
          "NIfTI-1 or -2, .nii, .nii.gz or .hdr and .img: a diffusion series, real or complex, or a tensor image")
      .required();
  command.add("--bval FILE", &s.bval, "The series' b-values [s/mm^2], a row or a column (FSL)");
  command.add(
      "--bvec FILE", &s.bvec,
      "The series' directions, 3 rows or 3 columns, along the image axes; x is reversed where the affine's determinant is positive (FSL)");
  command.add("--grad FILE", &s.grad,
              "Instead of these two: rows x y z b along the scanner's axes [s/mm^2] (MRtrix)");
  add(
      command, "--bvalue-scaling", "HOW",
      [&s](const auto& t) { s.bvalue_scaling = io::parse_bvalue_scaling(t); },
      "Whether directions that are no unit vectors scale their b-values by their squared lengths: yes, no or auto (where their lengths differ) [auto]")
      .suggest({"auto", "yes", "no"});
  command.add("--vector", &s.vector,
              "The image's 1 to 100 volumes are no tensor: denoise them as they are, each counting once");
  add(
      command, "--order", "ORDER", [&s](const auto& t) { s.order = parse_tensor_order("--order", t); },
      "Order of a tensor image's elements: fsl (xx xy xz yy yz zz), mrtrix (xx yy zz xy xz yz), nifti (xx xy "
      "yy xz yz zz). Needed unless the header tells: five axes with intent 1005 (nifti), or an intent_name 'tensor ORDER', as this tool writes")
      .suggest({"fsl", "mrtrix", "nifti"});
  add(
      command, "--frame", "FRAME", [&s](const auto& t) { s.frame = io::parse_frame(t); },
      "Axes of the tensor image that is read: fsl, image (voxel indices) or scanner [fsl for order fsl, scanner for mrtrix, image for nifti]")
      .suggest({"fsl", "image", "scanner"});
  add(
      command, "--unit", "UNIT",
      [&s](const std::string& text) {
        if (text != "mm2/s" && text != "um2/ms")
          throw BadInput(fmt::format("--unit: '{}' is neither mm2/s nor um2/ms", text));
        s.square_micrometres = text == "um2/ms";
      },
      "Unit of diffusivities in files, read and written: mm2/s (tissue about 1e-3) or um2/ms (about 1) [mm2/s]")
      .suggest({"mm2/s", "um2/ms"});
  command.add(
      "--mask MASK", &s.mask,
      "Voxels to fit and to denoise: a NIfTI file (not 0 is inside); auto: from the mean b = 0 "
      "volume, or the trace, by Otsu's threshold; nonzero: where any volume is; none: all [auto for a series, else nonzero]");
  add_max_memory(
      command, s.max_memory,
      "Refuse an image file whose header asks for more, before it is unpacked; as 2G [what is available]");
}

std::array<int, 3> parse_extent(const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  std::array<int, 3> extent{};
  if (parts.size() != 1 && parts.size() != 3)
    throw BadInput(fmt::format("--patch: '{}' is neither one extent nor three, as 5 or 5,5,3", text));
  for (std::size_t k = 0; k < 3; ++k)
    extent[k] = parse_count("--patch", parts[parts.size() == 1 ? 0 : k], 1, 255);
  return extent;
}

void add_series_options(Command& command, DenoiseSettings& s) {
  command.group("Denoising of the series, before the fit");
  add(
      command, "--series-denoise", "WHEN",
      [&s](const auto& t) { s.series_denoise = imaging::parse_series_step(t); },
      "Marchenko-Pastur PCA of all volumes: on, off, or auto: unless the series is too short or its noise is correlated between voxels, which the output then says [auto]")
      .suggest({"auto", "on", "off"});
  add(
      command, "--only", "WHAT",
      [&s](const std::string& text) {
        if (text != "series") throw BadInput(fmt::format("--only: '{}' is not series", text));
        s.only_series = true;
      },
      "series: stop here, and write PREFIX_series, PREFIX_noise and PREFIX_rank instead of tensors; needs no gradients, and --mask is none unless given")
      .suggest({"series"});
  command.add("--series-out FILE", &s.series_out,
              "Write the denoised series, all volumes, complex if it is: .nii or .nii.gz");
  command.add(
      "--noise-map FILE", &s.noise_map,
      "Write the noise's standard deviation in each voxel, of complex values the whole one [unit of the series]");
  command.add("--rank-map FILE", &s.rank_map,
              "Write how many principal components were kept around each voxel");
  command.add("--residual-out FILE", &s.residual_out,
              "Write what was taken away: the series before minus after");
  add(
      command, "--patch", "N|N,N,N", [&s](const auto& t) { s.patches.extent = parse_extent(t); },
      "Voxels of a patch along x, y and z, odd [the smallest odd cube with at least as many voxels as volumes]");
  add(
      command, "--patch-output", "WHICH",
      [&s](const auto& t) { s.patches.output = imaging::parse_patch_output(t); },
      "Voxels that a patch denoises: centre, or average: all, and the mean over patches [average]")
      .suggest({"average", "centre"});
  add(
      command, "--estimator", "NAME",
      [&s](const auto& t) { s.patches.estimator = imaging::parse_noise_estimator(t); },
      "Of the noise: exp1 (Veraart et al. 2016) or exp2 (Cordero-Grande et al. 2019) [exp2]")
      .suggest({"exp1", "exp2"});
  add(
      command, "--precision", "TYPE",
      [&s](const auto& t) { s.patches.precision = imaging::parse_precision(t); },
      "Of the principal components: float32 or float64 [float32]")
      .suggest({"float32", "float64"});
}

void add_fit_options(Command& command, DenoiseSettings& s) {
  command.group("Fit of a series");
  add(
      command, "--fit", "METHOD", [&s](const auto& t) { s.fit = imaging::parse_fit_method(t); },
      "Fit of tensors to a series: ols, wls (one reweighting), iterated (two, from the measured signal) or "
      "positive (wls without negative eigenvalues) [wls]")
      .suggest({"ols", "wls", "iterated", "positive"});
  add(
      command, "--shells", "B,...",
      [&s](const std::string& text) {
        s.shells.clear();
        for (const std::string& b : split(text, ','))
          s.shells.push_back(parse_number("--shells", b, 0, false));
      },
      "Use these b-values of a series, each within 5 % or 50, and b = 0 [s/mm^2] [all]");
  add(
      command, "--bmax", "B", [&s](const auto& t) { s.largest_b = parse_number("--bmax", t, 0, true); },
      "Use b-values up to this one, and 5 % or 50 above [s/mm^2] [all]");
  add(
      command, "--b0-threshold", "B",
      [&s](const auto& t) { s.b0_threshold = parse_number("--b0-threshold", t, 0, false); },
      "Up to this a b-value counts as 0 [s/mm^2] [50]");
}

void add_regulariser_options(Command& command, DenoiseSettings& s) {
  command.group("Denoising of the tensors");
  add(
      command, "--regulariser", "NAME",
      [&s](const auto& t) { s.regulariser = imaging::parse_regulariser(t); },
      "adaptive (a fit with each voxel's noise, together with neighbours that are alike), tv (total variation), tgv (total generalised variation, "
      "which keeps slopes), none or auto [adaptive for a series that was denoised, none for one that could not be; tv for "
      "tensors, and with --fit, --lambda, --epsilon or --solver]")
      .suggest({"auto", "adaptive", "tv", "tgv", "none"});
  add(
      command, "--bandwidth", "N",
      [&s](const auto& t) { s.adaptive.bandwidth = parse_number("--bandwidth", t, 0, false); },
      "Of adaptive: how far the distance of two tensors, in variances of the noise, is above 4 where a voxel counts a third of another; 0: every voxel alone [3.5]");
  add(
      command, "--prior", "N",
      [&s](const auto& t) { s.adaptive.prior = parse_number("--prior", t, 0, false); },
      "Of adaptive: how much the denoised series counts beside the measured one, in voxels [4]");
  add(
      command, "--radius", "N", [&s](const auto& t) { s.adaptive.radius = parse_count("--radius", t, 0, 4); },
      "Of adaptive: neighbours up to so many voxels off along each axis [2]");
}

void add_solver_options(Command& command, DenoiseSettings& s) {
  command.group("Solver of total variation, and of the generalised one");
  add(
      command, "--tgv-ratio", "N",
      [&s](const auto& t) { s.solve.tgv_ratio = parse_number("--tgv-ratio", t, 0, true); },
      "Of tgv: weight of a change of slope over that of a slope, in smallest voxel spacings, 0.001 to 100 [2]");
  add(
      command, "--solver", "SOLVER", [&s](const auto& t) { s.solve.solver = imaging::parse_solver(t); },
      "accelerated, primal-dual (with epsilon 0), or descent in the Cholesky factor (Christiansen et al. 2007) [accelerated; primal-dual with tgv]")
      .suggest({"accelerated", "primal-dual", "descent"});
  add(
      command, "--lambda", "N|auto",
      [&s](const std::string& text) {
        s.solve.lambda = text == "auto" ? 0 : parse_number("--lambda", text, 0, true);
      },
      "Weight of the data [1/(um^2/ms * mm); with --vector 1/(image unit * mm)]; larger: closer to it. auto: from the noise of the image [auto]");
  add(
      command, "--epsilon", "N", [&s](const auto& t) { s.epsilon = parse_number("--epsilon", t, 0, false); },
      "Gradients below this are smoothed, edges above are kept [um^2/ms / mm; with --vector the image's unit / "
      "mm] [0.01; 0 with primal-dual and tgv; with --vector a tenth of the noise over the smallest spacing]");
  add(
      command, "--tolerance", "N",
      [&s](const auto& t) { s.solve.tolerance = parse_number("--tolerance", t, 0, true); },
      "Stop when the objective is proved to be this close to its minimum, relative [1e-4]");
  add(
      command, "--max-iterations", "N",
      [&s](const auto& t) { s.solve.max_iterations = parse_count("--max-iterations", t, 1, 1000000000); },
      "Stop after this many [5000]");
  add(
      command, "--step", "N",
      [&s](const auto& t) { s.solve.descent_step = parse_number("--step", t, 0, true); },
      "Fixed step of descent [mm / sqrt(um^2/ms)] [the largest that is stable at the start]");
  add(
      command, "--device-memory", "MIB",
      [&s](const auto& t) {
        s.solve.run.memory = parse_count<std::uint64_t>("--device-memory", t, 1, std::uint64_t{1} << 30)
                             << 20;
      },
      "Use no more of the GPU's memory; larger images go through it in slabs, but not with tgv [MiB] [what is free]");
}

void add_output_options(Command& command, DenoiseSettings& s) {
  command.group("Output");
  command
      .add(
          "-o,--output PREFIX", &s.prefix,
          "Beginning of the outputs' names: PREFIX_tensor, PREFIX_FA and so on; a prefix that ends in / is a directory: PREFIX/tensor")
      .required();
  add(
      command, "--names", "NAMES",
      [&s](const std::string& text) {
        if (text != "plain" && text != "bids")
          throw BadInput(fmt::format("--names: '{}' is neither plain nor bids", text));
        s.bids_names = text == "bids";
      },
      "plain: PREFIX_FA; bids: PREFIX_model-tensor_param-fa_dwimap, of BIDS derivatives (BEP 16) [plain]")
      .suggest({"plain", "bids"});
  add(
      command, "--output-order", "ORDER",
      [&s](const auto& t) { s.output_order = parse_tensor_order("--output-order", t); },
      "Order of the tensor image that is written [that of the input, fsl for a series]")
      .suggest({"fsl", "mrtrix", "nifti"});
  add(
      command, "--output-frame", "FRAME", [&s](const auto& t) { s.output_frame = io::parse_frame(t); },
      "Axes of the tensors and eigenvectors that are written: fsl, image or scanner [those of the input; for a series "
      "and for another order, as --frame says]")
      .suggest({"fsl", "image", "scanner"});
  add(
      command, "--maps", "LIST",
      [&s](const std::string& text) {
        s.maps = parse_maps(text);
        s.maps_listed = text != "all" && text != "none";
      },
      "Maps to write beside the tensor: all, none, or some of fa,md,ad,rd,mo,l1,l2,l3,v1,v2,v3,s0,rgb; md, ad, rd and "
      "l1 to l3 in --unit, s0 (of a series) in its unit, rgb is |V1| FA, three volumes from 0 to 1 [all]");
  add(
      command, "--format", "FORMAT",
      [&s](const std::string& text) {
        if (text != "nii" && text != "nii.gz")
          throw BadInput(fmt::format("--format: '{}' is neither nii nor nii.gz", text));
        s.gzip = text == "nii.gz";
      },
      "nii or nii.gz [nii.gz]")
      .suggest({"nii", "nii.gz"});
  add(
      command, "--gzip-level", "N",
      [&s](const auto& t) { s.gzip_level = parse_count("--gzip-level", t, 1, 12); },
      "1 (fast) to 12 (small) [1]");
  command.add("--report FILE.json", &s.report, "Write a report as JSON, what --json prints");
  command.add("--qc FILE.html", &s.qc,
              "Write a page to look at: slices before and after, V1, objective, residual");
  command.add_json(s.json);
  command.add_force(s.force);
  command.add_run(s.solve.run);
}

}  // namespace

void add_denoise_options(Command& command, DenoiseSettings& settings) {
  settings.maps = all_maps();
  add_input_options(command, settings);
  add_series_options(command, settings);
  add_fit_options(command, settings);
  add_regulariser_options(command, settings);
  add_solver_options(command, settings);
  add_output_options(command, settings);
}

std::vector<std::string> DenoiseSettings::series_files() const {
  std::vector<std::string> files;
  for (const std::string& file : {series_out, noise_map, rank_map, residual_out})
    if (!file.empty()) files.push_back(file);
  return files;
}

void check_together(const DenoiseSettings& s) {
  if (s.prefix.empty())
    throw BadInput("--output: the prefix is empty; give the beginning of the outputs' names, as out/sub01");
  for (const std::string& file : s.series_files())
    if (!file.ends_with(".nii") && !file.ends_with(".nii.gz"))
      throw BadInput(fmt::format("{}: its name must end in .nii or .nii.gz", file));
  if (s.only_series) {
    if (s.vector || s.order || s.frame || s.output_order || s.output_frame || s.fit || !s.qc.empty() ||
        s.maps_listed || !s.shells.empty() || s.largest_b || s.solve.lambda != 0 || s.epsilon ||
        s.regulariser != imaging::Regulariser::automatic)
      throw BadInput(
          "--only series takes all volumes and writes no tensors: options of tensors, shells, the fit and --qc do not go with it");
    if (s.series_denoise == imaging::SeriesStep::off)
      throw BadInput("--only series and --series-denoise off contradict each other");
    return;
  }
  if (s.kind() != imaging::ImageKind::series && !s.series_files().empty())
    throw BadInput(
        "--series-out, --noise-map, --rank-map and --residual-out are of a series: give --bval and --bvec, or --grad");
  imaging::check(s);
  if (s.maps_listed && s.vector)
    throw BadInput("--maps are of tensors, and --vector says that these are none");
  if (s.maps_listed && s.maps_of(s.kind()).size() < s.maps.size())
    throw BadInput("--maps: s0 comes from the fit of a series, and this is a tensor image");
}

}  // namespace warploom::tool
