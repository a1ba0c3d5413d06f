// Question: how much does resident memory grow in a call from C++? bench/python/memory.py asks the same of
// Python.
//
//   bench_python_memory CALL MIBIBYTES    prints the growth of the peak [bytes]; an input of so many MiB is
//   made before
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "warploom/imaging/denoise_workflow.hpp"
#include "warploom/imaging/segment.hpp"
#include "warploom/registration/resample.hpp"
#include "warploom/search/distance_matrix.hpp"
#include "warploom/table/hash_table.hpp"

namespace {

using namespace warploom;

double peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

template <class Call>
void print_growth(const Call& call) {
  const double before = peak();
  [[maybe_unused]] const auto kept = call();
  std::printf("%.0f\n", peak() - before);
}

/// [nz, 1024, 1024], with a block that is brighter.
imaging::Image image_of(std::int64_t planes) {
  imaging::Image image({1024, 1024, planes}, 1);
  for (std::size_t v = 0; v < image.data.size(); ++v)
    if (v >> 10 & 256) image.data[v] = 1;
  return image;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string call = arguments[1];
  const std::int64_t mebi = std::atoll(arguments[2]);
  const auto values = static_cast<std::size_t>(mebi) << 18;
  const Run run{.threads = 1};
  if (call == "segment") {
    const imaging::Image image = image_of(mebi / 4);
    print_growth([&] {
      return segment(image, {.method = imaging::Method::level_set,
                             .max_iterations = 1,
                             .run = run,
                             .start = imaging::Start::box});
    });
  } else if (call == "distance_matrix") {
    std::vector<float> some(values, 1.0F);
    const std::int64_t length = 1 << 12, rows = static_cast<std::int64_t>(values) / length;
    std::vector<float> out(static_cast<std::size_t>(rows));
    const std::span<const float> view(some);
    const search::Sequences all(view, {rows, 1, length}), one(view.first(1 << 12), {1, 1, length});
    print_growth([&] {
      search::distance_matrix(one, all, {out, {1, rows}},
                              {.radius = 0, .normalization = search::Normalization::none, .run = run});
      return 0;
    });
  } else if (call == "HashTable.find") {
    std::vector<std::uint32_t> keys(values);
    for (std::size_t k = 0; k < values; ++k) keys[k] = static_cast<std::uint32_t>(k);
    table::HashTable<std::uint32_t, std::uint32_t> table({.run = run});
    print_growth([&] {
      std::vector<table::Outcome> outcomes(values);
      std::vector<std::uint32_t> found(values);
      table.run(table::Operation::find, keys, {}, outcomes, found);
      return outcomes;
    });
  } else if (call == "register.apply") {
    const registration::PlacedImage image{.image = image_of(mebi / 4)};
    registration::TransformChain chain(1);
    chain[0].map = registration::zero_field({.grid = {64, 64, 64}});
    const RunScope scope(run);
    print_growth([&] {
      return resample(image, {.grid = {64, 64, 64}}, chain, registration::Interpolation::linear, 0);
    });
  } else if (call.starts_with("denoise")) {
    const std::int64_t volumes = 32;
    imaging::Image image({64, 64, static_cast<std::int64_t>(values) / (volumes * 64 * 64)}, volumes);
    std::mt19937 engine(1);
    std::normal_distribution<float> noise(1000, 20);
    for (float& value : image.data) value = noise(engine);
    io::GradientTable table{.rows = volumes};
    for (std::int64_t v = 0; v < volumes; ++v) {
      table.b.push_back(v < 2 ? 0 : 1000);
      const double turn = 2.4 * static_cast<double>(v), z = (static_cast<double>(v) - 15.5) / 16,
                   r = std::sqrt(1 - z * z);
      table.directions.insert(table.directions.end(), {r * std::cos(turn), r * std::sin(turn), z});
    }
    imaging::DenoiseRequest request;
    request.gradients = table;
    request.maps = {"fa"}, request.solve.run.devices = {Device::cpu};
    request.own_mask.emplace(image.data.size() / volumes);  // a plane: memory is for all voxels
    std::fill_n(request.own_mask->begin(), 64 * 64, 1);
    if (call == "denoise, the fit alone")
      request.series_denoise = imaging::SeriesStep::off, request.regulariser = imaging::Regulariser::none;
    else
      request.series_denoise = imaging::SeriesStep::on;
    if (call == "denoise, the series and the fit") request.regulariser = imaging::Regulariser::none;
    print_growth([&] {
      imaging::Series series{.gradients = read_gradients(request, volumes)};
      series.view = image;
      imaging::DenoiseInput input = denoise_input(std::move(series), request);
      denoise(input, request);
      imaging::TensorMaps maps = output_maps(input, request);
      return std::pair(take_map("fa", input, maps, request), take_image(input, request));
    });
  } else {
    return 2;
  }
}
