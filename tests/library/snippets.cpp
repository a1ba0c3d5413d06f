// The pieces of C++ in README and the guides that are no whole programs, so that a change that breaks them is
// seen: guides_test.cpp finds each of them here. Nothing is run.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>
#include <warploom/core/file.hpp>
#include <warploom/dp/chain.hpp>
#include <warploom/imaging/contour.hpp>
#include <warploom/imaging/denoise.hpp>
#include <warploom/imaging/denoise_workflow.hpp>
#include <warploom/imaging/maps.hpp>
#include <warploom/imaging/segment.hpp>
#include <warploom/reuse/place.hpp>
#include <warploom/reuse/reuse.hpp>
#include <warploom/sim/sim.hpp>

namespace {

// What the reader has of his own.
void load(const std::string&) {}
void log(const std::string&, std::uint64_t, std::uint64_t) {}
void draw(const auto&, bool) {}

}  // namespace

void reuse_a_kernel(const std::string& ptx) {
  // Between NVRTC and cuModuleLoadData, say.
  const auto result = warploom::reuse::optimize(ptx);
  load(result.text);  // the input's text, byte for byte, where nothing was rewritten
  for (const auto& kernel : result.report.kernels) log(kernel.name, kernel.bytes_before, kernel.bytes_after);
}

void place_arrays() {
  // clang-format off
  // Three arrays; the first and the last are never alive together.
  const warploom::reuse::PlacementProblem problem{
      .objects = {{.bytes = 1024, .alignment = 16}, {.bytes = 512, .alignment = 16}, {.bytes = 1024, .alignment = 16}},
      .edges = {{0, 1}, {1, 2}}};
  const auto placement = warploom::reuse::place(problem);  // placement.bytes == 1536 instead of 2560
  // clang-format on
  log("", placement.bytes, 0);
}

void order_a_chain() {
  // clang-format off
  // Seven dimensions of six matrices: A1 is 30 x 35, A2 35 x 15, ...
  const auto order = warploom::dp::chain_order(std::vector<std::int64_t>{30, 35, 15, 5, 10, 20, 25});
  // order.parenthesisation == "((A1 (A2 A3)) ((A4 A5) A6))"; <warploom/dp/solve.hpp> takes any such problem
  // clang-format on
  log(order.parenthesisation, 0, 0);
}

using namespace warploom;

void denoise_files() {
  imaging::DenoiseRequest request;
  request.input = "dwi.nii.gz", request.bval = "dwi.bval", request.bvec = "dwi.bvec";
  imaging::DenoiseInput image = imaging::read_denoise_input(request);  // shells, mask, fit
  const imaging::DenoiseReport report = imaging::denoise(image, request);
  imaging::TensorMaps maps = imaging::output_maps(image, request);
  io::write_nifti("FA.nii.gz", imaging::take_map("fa", image, maps, request));
  io::write_nifti("tensor.nii.gz", imaging::take_image(image, request));
  log("", static_cast<std::uint64_t>(report.iterations), 0);
}

void denoise_in_memory(imaging::TensorImage& tensors, const imaging::Mask& mask) {
  const imaging::DenoiseReport report = imaging::denoise_tensors(tensors, mask, {.lambda = 4});
  const imaging::TensorMaps maps = imaging::tensor_maps(tensors, mask);
  log("", static_cast<std::uint64_t>(report.iterations), maps.fa.data.size());
}

void find_contours() {
  using namespace warploom::imaging;
  // clang-format off
  Image image(Grid{.nx = 512, .ny = 512, .nz = 1}, 1);  // fill image.data, row by row
  const Segmentation found = segment(image, {.mu = 0.1});
  for (const Contour& line : zero_contours(found.level_set.data, 512, 512)) draw(line.points, line.closed);
  // clang-format on
}

void run_a_kernel(std::vector<float>& values) {
  // clang-format off
  sim::Machine machine(ptx::parse(read_file("k.ptx"), "k.ptx"));
  const sim::Address x = machine.upload(std::span(values), "x");
  sim::Arguments arguments;
  arguments.add(x).add(2.0f).add(static_cast<std::int32_t>(values.size()));
  const sim::Outcome outcome = machine.launch("scale", arguments, {.grid = {4}, .block = {256}, .races = true});
  for (const sim::Finding& finding : outcome.findings) FAIL() << finding.text();
  machine.download(x, std::span(values));
  // clang-format on
}
