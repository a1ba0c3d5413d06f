// Question: how long does `warploom denoise` take from a series in a .nii.gz to its maps, and which part how
// long?
//   study_imaging_chain PREFIX OUT [DEVICE [ROUNDS]]
// reads PREFIX_dwi.nii.gz, PREFIX.bval and PREFIX.bvec (make_dwi_phantom and gzip make them), does what the
// tool does without options, and writes OUT_*.nii.gz. The first round begins where the process does, so that
// the start of the GPU is in it. Then the parts by themselves, each the median of ROUNDS. Prints JSON.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "warploom/core/device.hpp"
#include "warploom/core/run.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/imaging/denoise_workflow.hpp"
#include "warploom/imaging/rician.hpp"
#include "warploom/io/nifti.hpp"

namespace {

using namespace warploom;
using namespace warploom::imaging;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

using Times = std::map<std::string, double>;

std::string json(const Times& times) {
  std::string text;
  for (const auto& [part, seconds] : times)
    text += fmt::format("{}\"{}\": {:.4f}", text.empty() ? "" : ", ", part, seconds);
  return "{" + text + "}";
}

void write_all(DenoiseInput& input, TensorMaps& maps, const DenoiseRequest& request,
               const std::string& prefix) {
  std::vector<std::future<void>> written;
  const auto write = [&](const std::string& name, const auto& take) {
    written.push_back(std::async(std::launch::async, [=, file = fmt::format("{}_{}.nii.gz", prefix, name)] {
      io::write_nifti(file, take());
    }));
  };
  write("tensor", [&] { return take_image(input, request); });
  for (const std::string& map : request.maps_of(ImageKind::series))
    write(map, [&, map] { return take_map(map, input, maps, request); });
  for (std::future<void>& file : written) file.get();
}

Times whole_chain(const DenoiseRequest& request, const std::string& prefix) {
  Times times;
  DenoiseInput input;
  TensorMaps maps;
  times["total"] = seconds_of([&] {
    times["input"] = seconds_of([&] { input = read_denoise_input(request); });
    times["denoise"] = seconds_of([&] { denoise(input, request); });
    times["maps"] = seconds_of([&] { maps = output_maps(input, request); });
    const SeriesFacts& facts = *input.series;
    times["input/series"] = facts.denoised.seconds;
    times["input/fit"] = facts.seconds;
    times["write"] = seconds_of([&] { write_all(input, maps, request, prefix); });
  });
  return times;
}

Times parts(const DenoiseRequest& request) {
  Times times;
  const Run& run = request.solve.run;
  Series series;
  times["read"] = seconds_of([&] { series = read_series(request, request.b0_threshold); });
  ChosenMask mask;
  times["mask"] = seconds_of([&] {
    mask = choose_mask(
        series.image, "auto",
        [&] { return automatic_mask(mean_b0(series.image, series.gradients, request.b0_threshold)); },
        request.input);
  });
  Image measured;
  times["copy"] = seconds_of([&] { measured = series.image; });
  times["noise_correlation"] = seconds_of([&] { noise_correlation(series.image, mask.voxels, run); });
  SeriesDenoiseOptions patches;
  patches.run = run;
  SeriesDenoising done;
  times["mppca"] = seconds_of([&] { done = denoise_series(series.image, mask.voxels, patches); });
  times["mppca/work"] = done.seconds, times["mppca/transfer"] = done.transfer_seconds;
  times["noise_bias"] = seconds_of([&] { correct_noise_bias(done.noise, series.image, done.extent, run); });
  const auto& b = series.gradients.b;
  const auto& directions = series.gradients.directions;
  times["plain_fit"] = seconds_of([&] { fit_tensors(measured, b, directions, mask.voxels, {.run = run}); });
  AdaptiveFit fit;
  times["adaptive_fit"] = seconds_of([&] {
    fit =
        fit_tensors_adaptively(measured, series.image, done.noise, b, directions, mask.voxels, {.run = run});
  });
  times["adaptive_fit/transfer"] = fit.transfer_seconds;
  times["residual"] = seconds_of(
      [&] { residual_structure(measured, done.noise, fit.tensor, fit.s0, b, directions, mask.voxels, run); });
  times["maps"] = seconds_of([&] { tensor_maps(fit.tensor, mask.voxels, run); });
  return times;
}

Times medians(const std::vector<Times>& rounds) {
  Times result;
  for (const auto& [part, first] : rounds.front()) {
    std::vector<double> values;
    for (const Times& round : rounds) values.push_back(round.at(part));
    std::ranges::sort(values);
    result[part] = values[values.size() / 2];
  }
  return result;
}

int measure(int count, char** arguments) {
  DenoiseRequest request;
  const std::string prefix = arguments[1];
  request.input = prefix + "_dwi.nii.gz", request.bval = prefix + ".bval", request.bvec = prefix + ".bvec";
  const std::string device = count > 3 ? arguments[3] : "auto";
  request.solve.run.devices = parse_devices(device);
  const int rounds = count > 4 ? std::max(0, std::atoi(arguments[4])) : 3;
  const RunScope scope(request.solve.run);
  const Times first = whole_chain(request, arguments[2]);
  fmt::print("{{\"device\": \"{}\", \"threads\": {},\n \"first\": {}", device, threads(), json(first));
  std::vector<Times> again, single;
  for (int round = 0; round < rounds; ++round) again.push_back(whole_chain(request, arguments[2]));
  for (int round = 0; round < rounds; ++round) single.push_back(parts(request));
  if (rounds > 0)
    fmt::print(",\n \"rounds\": {}, \"again\": {},\n \"parts\": {}", rounds, json(medians(again)),
               json(medians(single)));
  fmt::print("}}\n");
  return 0;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 3) {
    fmt::print(stderr, "usage: {} PREFIX OUT [DEVICE [ROUNDS]]\n", arguments[0]);
    return 2;
  }
  return measure(count, arguments);
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
