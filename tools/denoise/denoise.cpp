#include "warploom/imaging/denoise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "input.hpp"
#include "output.hpp"
#include "qc_page.hpp"
#include "report.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/json.hpp"
#include "warploom/imaging/maps.hpp"
#include "warploom/imaging/mask.hpp"

namespace warploom::tool {
namespace {

/// For channels in any unit: a tenth of the noise over the smallest spacing.
double epsilon_of_noise(const DenoiseInput& input, const std::string& path) {
  std::vector<double> noise = imaging::noise_level(input.image, input.mask.voxels);
  std::ranges::nth_element(noise, noise.begin() + std::ssize(noise) / 2);
  const double epsilon = 0.1 * noise[noise.size() / 2] / std::ranges::min(input.image.grid.spacing);
  if (epsilon <= 0)
    throw BadInput(fmt::format(
        "{}: no noise was found that epsilon could be taken from; give --epsilon and --lambda", path));
  return epsilon;
}

imaging::DenoiseOptions solver_options(const DenoiseSettings& settings, const DenoiseInput& input) {
  imaging::DenoiseOptions options = settings.solve;
  if (settings.epsilon)
    options.epsilon = *settings.epsilon;
  else if (options.solver == imaging::Solver::primal_dual)
    options.epsilon = 0;
  else if (input.kind == ImageKind::channels)
    options.epsilon = epsilon_of_noise(input, settings.input);
  return options;
}

int run(DenoiseSettings& settings) {
  const Stopwatch watch;
  check_together(settings);
  const RunScope scope(settings.solve.run);
  // An absent device is better known before than after the fit.
  choose_device(one_device(settings.solve.run.devices, "denoising"));
  DenoiseOutputs outputs(settings);
  DenoiseInput input = read_denoise_input(settings);
  const bool tensors = input.kind != ImageKind::channels;
  DenoiseTimes times;
  times.read = input.read_seconds;
  times.fit = input.series ? input.series->seconds : 0;

  imaging::Image noisy;
  if (!settings.qc.empty()) noisy = input.image;
  const Stopwatch denoising;
  const imaging::DenoiseOptions options = solver_options(settings, input);
  const imaging::DenoiseReport done =
      tensors ? imaging::denoise_tensors(input.image, input.mask.voxels, options)
              : imaging::denoise_channels(input.image, input.mask.voxels, options);
  times.denoise = denoising.seconds();

  DenoiseRun report{settings, input, done, std::nullopt, outputs.image_paths(), times};
  if (!settings.qc.empty()) {
    const Stopwatch drawing;
    outputs.write_text(settings.qc, qc_page(report, noisy));
    noisy = {};
    report.files.push_back(settings.qc);
    report.times.qc = drawing.seconds();
  }
  const Stopwatch mapping;
  imaging::TensorMaps maps;
  if (tensors) {
    if (const auto change = rotation(input.frame, input.output_frame, input.header.affine))
      imaging::rotate_tensors(input.image, *change);
    if (!settings.maps.empty()) {
      maps = imaging::tensor_maps(input.image, input.mask.voxels);
      report.negative_after = maps.negative;
    }
  }
  report.times.maps = mapping.seconds();

  const Stopwatch writing;
  outputs.write_images(input, maps);
  report.times.write = writing.seconds();
  report.times.total = watch.seconds();
  if (!settings.report.empty()) {
    report.files.push_back(settings.report);
    outputs.write_text(settings.report, as_json(report).dump(2) + "\n");
  }
  outputs.commit();
  if (settings.json)
    print_json(as_json(report));
  else
    print(as_text(report));
  return kDone;
}

std::function<int()> add(Command& command) {
  auto settings = std::make_shared<DenoiseSettings>();
  add_denoise_options(command, *settings);
  return [settings] { return run(*settings); };
}

}  // namespace

Verb denoise_verb() {
  return {"denoise",
          "Denoise diffusion tensors by total variation: a diffusion series, which is fitted, or a tensor "
          "image; writes "
          "the tensors and their maps (FA, MD, V1 ...)",
          "warploom denoise dwi.nii.gz --bval dwi.bval --bvec dwi.bvec -o out/sub01 --qc out/sub01.html\n"
          "  warploom denoise dwi.nii.gz --grad grad.b --shells 1000 --output-order mrtrix -o sub01\n"
          "  warploom denoise dti_tensor.nii.gz --order fsl --mask mask.nii.gz --lambda 12 -o dti_denoised\n"
          "  warploom denoise channels.nii --vector --format nii -o channels --report channels.json\n"
          "Outputs: PREFIX_tensor and PREFIX_FA, MD, AD, RD, MO, L1, L2, L3, V1, V2, V3, S0 (of a series), "
          "RGB; of "
          "--vector PREFIX_denoised. All are written or none is.\n"
          "Outside the mask tensors stay as they are (0 for a series) and maps are 0.\n"
          "Exit codes: 0 done, 2 bad usage or input.",
          &add};
}

}  // namespace warploom::tool
