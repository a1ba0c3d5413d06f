#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <future>
#include <memory>
#include <vector>

#include "cli/byte_size.hpp"
#include "cli/option_names.hpp"
#include "cli/output_files.hpp"
#include "cli/stopwatch.hpp"
#include "cli/verb.hpp"
#include "qc_page.hpp"
#include "report.hpp"
#include "series.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/imaging/denoise_workflow.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {
namespace {

/// An image to write.
struct ImageFile {
  std::string map;  ///< as in --maps; empty: the denoised image itself
  std::string path;
};

std::string in_case(std::string text, int (*to)(int)) {
  std::ranges::transform(text, text.begin(), [to](unsigned char c) { return static_cast<char>(to(c)); });
  return text;
}

std::vector<ImageFile> image_files(const DenoiseSettings& s) {
  std::vector<ImageFile> files;
  const auto add = [&](const std::string& map, const std::string& plain) {
    const std::string name =
        s.bids_names ? fmt::format("model-tensor_param-{}_dwimap", in_case(plain, std::tolower)) : plain;
    const char *joint = s.prefix.back() == '/' ? "" : "_", *ending = s.gzip ? "nii.gz" : "nii";
    files.push_back({map, fmt::format("{}{}{}.{}", s.prefix, joint, name, ending)});
  };
  add("", s.vector ? "denoised" : "tensor");
  for (const std::string& map : s.maps_of(s.kind())) add(map, in_case(map, std::toupper));
  return files;
}

int run(DenoiseSettings settings) {
  const Stopwatch watch;
  check_together(settings);
  if (settings.only_series) return run_only_series(settings);
  settings.keep_series = !settings.series_out.empty();
  settings.patches.residual = !settings.residual_out.empty();
  const RunScope scope(settings.solve.run);
  // An absent device is better known before than after the work; a series is read while it starts.
  if (settings.kind() != imaging::ImageKind::series)
    for (const Device device : settings.solve.run.devices) choose_device(device);
  DenoiseRun run{.settings = settings};
  OutputFiles files;
  const std::vector<ImageFile> images = image_files(settings);
  for (const ImageFile& image : images) {
    files.add(image.path, settings.force);
    run.files.push_back(image.path);
  }
  for (const std::string& path : settings.series_files()) {
    files.add(path, settings.force);
    run.files.push_back(path);
  }
  for (const std::string& path : {settings.report, settings.qc})
    if (!path.empty()) files.add(path, settings.force);

  const auto timed = [](double& seconds, const auto& work) {
    const Stopwatch part;
    work();
    seconds = part.seconds();
  };
  timed(run.times.read, [&] { run.input = imaging::read_denoise_input(settings); });
  if (run.input.series) {
    run.times.fit = run.input.series->seconds;
    run.times.series = run.input.series->denoised.seconds;
    write_series_files(settings, files, run.input.denoised_series, run.input.denoised_complex,
                       run.input.series->denoised, run.input.header);
  }
  run.times.read -= run.times.fit + run.times.series;
  imaging::Image noisy;
  if (!settings.qc.empty()) noisy = run.input.image;
  timed(run.times.denoise, [&] { run.done = imaging::denoise(run.input, settings); });
  if (!settings.qc.empty()) {
    timed(run.times.qc, [&] { files.write(settings.qc, qc_page(run, noisy)); });
    run.files.push_back(settings.qc);
    noisy = {};
  }
  imaging::TensorMaps maps;
  timed(run.times.maps, [&] { maps = imaging::output_maps(run.input, settings); });
  if (!maps.fa.data.empty()) run.negative_after = maps.negative;

  const auto write = [&](const ImageFile& image) {
    const io::Nifti file = image.map.empty() ? imaging::take_image(run.input, settings)
                                             : imaging::take_map(image.map, run.input, maps, settings);
    files.write(image.path, [&](const auto& path) { io::write_nifti(path, file, {settings.gzip_level}); });
  };
  timed(run.times.write, [&] {
    // A thread a file, each of which has the others compress: a map alone is too small for all of them. Of
    // one thread, one file after the other.
    const std::launch how = threads() == 1 ? std::launch::deferred : std::launch::async;
    std::vector<std::future<void>> written;
    for (const ImageFile& image : images)
      written.push_back(std::async(how, [&, around = scope.run()] {
        const RunScope same(around);
        write(image);
      }));
    for (std::future<void>& file : written) file.get();
  });
  run.times.total = watch.seconds();
  if (!settings.report.empty()) {
    run.files.push_back(settings.report);
    files.write(settings.report, json_text(as_json(run)));
  }
  files.commit();
  if (settings.json)
    print_json(as_json(run));
  else
    print(as_text(run));
  return kDone;
}

std::function<int()> add(Command& command) {
  auto settings = std::make_shared<DenoiseSettings>();
  add_denoise_options(command, *settings);
  return [settings] {
    return with_option_names(
        [&] { return naming_max_memory(settings->max_memory, [&] { return run(*settings); }); },
        {{"descent_step", "--step"}, {"largest_b", "--bmax"}, {"square_micrometres", "--unit um2/ms"}});
  };
}

}  // namespace

Verb denoise_verb() {
  return {
      "denoise", "Denoise a diffusion series or a tensor image, and write tensors and their maps",
      "warploom denoise dwi.nii.gz --bval dwi.bval --bvec dwi.bvec -o out/sub01 --qc out/sub01.html\n"
      "  warploom denoise dwi.nii.gz --only series -o sub01\n"
      "  warploom denoise dwi.nii.gz --grad grad.b --shells 1000 --output-order mrtrix -o sub01\n"
      "  warploom denoise dti_tensor.nii.gz --order fsl --mask mask.nii.gz --lambda 12 -o dti_denoised\n"
      "  warploom denoise channels.nii --vector --format nii -o channels --report channels.json\n"
      "Outputs: PREFIX_tensor and PREFIX_FA, MD, AD, RD, MO, L1, L2, L3, V1, V2, V3, S0 (of a series), RGB; of "
      "--vector PREFIX_denoised; of --only series PREFIX_series, noise, rank. All are written or none is.\n"
      "Outside the mask tensors stay as they are (0 for a series) and maps are 0.\n"
      "Exit codes: 0 done, 2 bad usage or input.",
      &add};
}

}  // namespace warploom::tool
