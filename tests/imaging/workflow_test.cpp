// The library's calls from a file to what is written, beside the command line's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/denoise_images.hpp"
#include "imaging/segment_phantom.hpp"
#include "measured_data.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/denoise_workflow.hpp"
#include "warploom/imaging/image_file.hpp"
#include "warploom/imaging/segment.hpp"

namespace warploom::imaging {
namespace {

using testing::HasSubstr;

class Workflow : public DenoiseTest {
 protected:
  /// What the three calls make of a request, written as `warploom denoise -o lib --format nii` would.
  void write(const DenoiseRequest& request, DenoiseInput input) const {
    imaging::denoise(input, request);
    TensorMaps maps = output_maps(input, request);
    const bool tensors = input.kind != ImageKind::channels;
    put(tensors ? "lib_tensor.nii" : "lib_denoised.nii", take_image(input, request));
    for (const std::string& map : request.maps_of(input.kind)) {
      std::string upper = map;
      for (char& letter : upper) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
      put("lib_" + upper + ".nii", take_map(map, input, maps, request));
    }
  }

  /// Every file lib_NAME is cli_NAME, byte for byte, and there are `count` of each.
  void expect_the_same_files(int count) const {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const std::string name = entry.path().filename().string();
      found += name.starts_with("cli_");
      if (name.starts_with("lib_")) {
        EXPECT_EQ(content_of(entry.path()), content_of(directory / ("cli_" + name.substr(4)))) << name;
        --count;
      }
    }
    EXPECT_EQ(count, 0);
    EXPECT_GT(found, 0);
  }

  DenoiseRequest series_request() const {
    DenoiseRequest request;
    request.input = put_series("dwi.nii", fibre(0.6, 0.8, 0), kRightHanded);
    request.bval = path("series.bval"), request.bvec = path("series.bvec");
    request.mask = "none";
    request.solve.lambda = 100;
    request.solve.run.devices = {Device::cpu};
    return request;
  }

  DenoiseRequest tensor_request(const std::string& name) const {
    DenoiseRequest request;
    request.input = path(name);
    request.order = TensorOrder::fsl;
    request.solve.run.devices = {Device::cpu};
    return request;
  }

  /// BadInput that says `reason` in the words of C++.
  template <typename Call>
  static void expect_refused(const Call& call, const std::string& reason) {
    try {
      call();
      ADD_FAILURE() << "nothing was refused: " << reason;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr(reason));
      EXPECT_THAT(error.what(), testing::Not(HasSubstr("--")));
    }
  }
};

TEST_F(Workflow, TensorImageGivesTheFilesOfTheCommandLine) {
  put("in.nii", tensor_file(noisy_phantom(10), kMrtrixOrder, kUnturned, kRightHanded));
  DenoiseTest::denoise(
      "@/in.nii --device cpu --order mrtrix --output-order nifti --mask auto -o @/cli --format nii");
  DenoiseRequest request = tensor_request("in.nii");
  request.order = TensorOrder::mrtrix;
  request.output_order = TensorOrder::nifti;
  request.mask = "auto";
  write(request, read_denoise_input(request));
  expect_the_same_files(13);
}

TEST_F(Workflow, SeriesInFilesAndInMemoryGiveTheFilesOfTheCommandLine) {
  const DenoiseRequest request = series_request();
  DenoiseTest::denoise(
      "@/dwi.nii --device cpu --bval @/series.bval --bvec @/series.bvec --mask none --lambda 100 -o @/cli --format nii");
  write(request, read_denoise_input(request));
  expect_the_same_files(14);

  Series series;
  series.header = get("dwi.nii");
  series.image = Image({4, 4, 4, {2, 2, 2}}, 14);
  series.image.data = series.header.data;
  series.gradients = io::read_fsl_gradients(request.bval, request.bvec, 14);
  DenoiseRequest in_memory;
  in_memory.mask = "none";
  in_memory.solve = request.solve;
  write(in_memory, denoise_input(series, in_memory));
  expect_the_same_files(14);

  const Image kept = std::move(series.image);
  const std::vector<float> before = kept.data;
  series.image = {};
  series.view = kept;
  for (const SeriesStep step : {SeriesStep::automatic, SeriesStep::off}) {  // 4 x 4 x 4 voxels are too few
    in_memory.series_denoise = step;
    write(in_memory, denoise_input(series, in_memory));
    expect_the_same_files(14);
  }
  EXPECT_EQ(kept.data, before);
}

TEST_F(Workflow, OfAViewVolumesAreChosenBesideIt) {
  const Image kept = [] {
    Image image({2, 1, 1}, 3);
    image.data = {1, 2, 3, 4, 5, 6};
    return image;
  }();
  Series series;
  series.view = kept;
  series.gradients = {.b = {0, 500, 1000}, .directions = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}};
  select_volumes(series, {});
  EXPECT_EQ(series.values().data.data(), kept.data.data());  // all
  select_volumes(series, {.shells = {1000}});
  EXPECT_THAT(series.image.data, testing::ElementsAre(1, 2, 5, 6));
  EXPECT_EQ(series.values().data.data(), series.image.data.data());
  EXPECT_THAT(series.gradients.b, testing::ElementsAre(0, 1000));
}

TEST_F(Workflow, ChannelsGiveTheFileOfTheCommandLine) {
  put_phantom("in.nii");
  DenoiseTest::denoise("@/in.nii --device cpu --vector -o @/cli --format nii");
  DenoiseRequest request = tensor_request("in.nii");
  request.order.reset();
  request.vector = true;
  write(request, read_denoise_input(request));
  expect_the_same_files(1);
}

TEST_F(Workflow, GeneralisedVariationGivesTheFilesOfTheCommandLine) {
  put_phantom("in.nii");
  DenoiseTest::denoise(
      "@/in.nii --device cpu --order fsl --regulariser tgv --lambda 9 --tgv-ratio 1 --tolerance 1e-3 -o @/cli --format nii");
  DenoiseRequest request = tensor_request("in.nii");
  request.regulariser = Regulariser::tgv;
  request.solve.lambda = 9, request.solve.tgv_ratio = 1, request.solve.tolerance = 1e-3;
  write(request, read_denoise_input(request));
  expect_the_same_files(13);
  request.regulariser = Regulariser::tv;
  expect_refused([&] { check(request); }, "`tgv_ratio` is of `regulariser` tgv, and it is tv");
  request.solve.tgv_ratio = 2, request.solve.variation = Variation::generalised;
  expect_refused([&] { check(request); }, "generalised variation is `regulariser` tgv, and it is tv");
}

TEST_F(Workflow, MeasuredSeriesGiveTheFilesOfTheCommandLine) {
  const auto data = measured_data(std::filesystem::path(WARPLOOM_TESTS_DIR) / "../../shared/data");
  if (!std::filesystem::exists(data / "small_64D.nii"))
    GTEST_SKIP() << "no small_64D in $WARPLOOM_DATA or ../shared/data";
  DenoiseTest::denoise(
      fmt::format("{0}/small_64D.nii --device cpu --bval {0}/small_64D.bval --bvec {0}/small_64D.bvec --mask "
                  "none --bmax 1000 --fit positive --output-order mrtrix -o @/cli --format nii",
                  data.string()));
  DenoiseRequest request;
  request.input = data / "small_64D.nii";
  request.bval = data / "small_64D.bval", request.bvec = data / "small_64D.bvec";
  request.mask = "none";
  request.largest_b = 1000;
  request.fit = FitMethod::positive;
  request.output_order = TensorOrder::mrtrix;
  request.solve.run.devices = {Device::cpu};
  write(request, read_denoise_input(request));
  expect_the_same_files(14);
}

TEST_F(Workflow, SaysWhatASeriesHeld) {
  DenoiseRequest request = series_request();
  make("series.bval", "0 0 2000 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000\n");
  request.shells = {1020};
  const DenoiseInput input = read_denoise_input(request);
  ASSERT_TRUE(input.series && input.s0);
  EXPECT_EQ(input.series->volumes, 14);
  EXPECT_EQ(input.series->used, (std::map<std::int64_t, int>{{0, 2}, {1000, 11}}));
  EXPECT_EQ(input.series->fitted, 64);
  EXPECT_EQ(input.image.channels, kTensorChannels);
  EXPECT_EQ(input.mask.origin, "none");
  EXPECT_EQ(input.mask.inside, 64);
  EXPECT_EQ(input.read_frame, io::Frame::fsl);
}

TEST_F(Workflow, RefusesRequestsThatContradictThemselves) {
  DenoiseRequest request = series_request();
  request.grad = request.bval;
  expect_refused([&] { read_denoise_input(request); }, "`grad` and `bval`, `bvec` do not go together");
  request = series_request();
  request.bvec.clear();
  expect_refused([&] { read_denoise_input(request); }, "`bvec` is missing");
  request = series_request();
  request.shells = {1000}, request.largest_b = 1000;
  expect_refused([&] { read_denoise_input(request); }, "`shells` and `largest_b` do not go together");
  request = tensor_request("in.nii");
  request.fit = FitMethod::ols;
  expect_refused([&] { read_denoise_input(request); }, "`fit` is for a series");
}

TEST_F(Workflow, RefusesSeriesThatCannotBeFitted) {
  DenoiseRequest request = series_request();
  request.shells = {700};
  expect_refused([&] { read_denoise_input(request); }, "`shells`: no volume has a b-value of 700");
  request.shells.clear();
  request.b0_threshold = 5000;
  expect_refused([&] { read_denoise_input(request); }, "check the file and `b0_threshold`");
  request = series_request();
  Series series = read_series(request);
  series.gradients.b.pop_back();
  expect_refused([&] { denoise_input(series, request); },
                 "a series of 14 volumes has 13 b-values and 14 directions");
  series = read_series(request);
  std::ranges::fill(series.image.data, 0.0F);
  expect_refused([&] { denoise_input(series, request); }, "no voxel could be fitted");
}

TEST_F(Workflow, RefusesImagesThatCannotBe) {
  io::Nifti image = tensor_file(noisy_phantom(6), kFslOrder, kUnturned, kLeftHanded);
  DenoiseRequest request = tensor_request("in.nii");
  request.order.reset();
  expect_refused([&] { denoise_input(image, request); }, "give `order` fsl");
  request = tensor_request("in.nii");
  request.square_micrometres = true;
  expect_refused([&] { denoise_input(image, request); }, "leave `square_micrometres` out");
  request = tensor_request("in.nii");
  image.data.pop_back();
  expect_refused([&] { denoise_input(image, request); }, "1295 values");
  image.shape = {6, 6, 6, 5};
  image.data.resize(5 * 216);
  expect_refused([&] { denoise_input(image, request); }, "give `bval` and `bvec`, or `grad`");
}

TEST_F(Workflow, RefusesMasksThatHoldNothing) {
  put_phantom("in.nii", 6);
  io::Nifti mask = get("in.nii");
  mask.shape = {6, 6, 6};
  mask.data.assign(216, 0);
  DenoiseRequest request = tensor_request("in.nii");
  request.mask = put("empty.nii", mask);
  expect_refused([&] { read_denoise_input(request); }, "no voxel is inside the mask");
  mask.shape = {6, 36};
  request.mask = put("flat.nii", mask);
  expect_refused([&] { read_denoise_input(request); }, "`mask`: ");
}

TEST_F(Workflow, GivesEveryMapOnce) {
  put_phantom("in.nii", 6);
  const DenoiseRequest request = tensor_request("in.nii");
  DenoiseInput input = read_denoise_input(request);
  TensorMaps maps = output_maps(input, request);
  EXPECT_EQ(take_map("fa", input, maps, request).intent_name, "fa");
  expect_refused([&] { take_map("fa", input, maps, request); }, "no map 'fa'");
  expect_refused([&] { take_map("s0", input, maps, request); }, "no map 's0'");
  expect_refused([&] { take_map("colour", input, maps, request); }, "no map 'colour'");
}

TEST_F(Workflow, SegmentingGivesTheMaskOfTheCommandLine) {
  const SegmentPhantom phantom = segment_phantom({40, 36, 30, {1, 1, 1.5}}, 5);
  io::Nifti file;
  file.shape = {40, 36, 30};
  file.spacing = {1, 1, 1.5};
  file.affine = kLeftHanded;
  file.data = phantom.image.data;
  const std::string in = put("in.nii", file);
  ASSERT_EQ(run_tool("segment --device cpu " + in +
                     " --method level-set --start ball --max-iterations 300 -o " + path("cli.nii"))
                .code,
            0);
  const ScalarImage image = parse_image(content_of(in), in);
  SegmentOptions options{.method = Method::level_set, .max_iterations = 300, .start = Start::disk};
  EXPECT_EQ(usual_options(options, image.image.grid).tolerance, 1e-5);
  options.run.devices = {Device::cpu};
  put("lib.nii", mask_file(segment(image.image, options).mask, image));
  EXPECT_EQ(content_of(path("lib.nii")), content_of(path("cli.nii")));
}

TEST_F(Workflow, ReadsOneVolumeOfASeries) {
  io::Nifti file;
  file.shape = {2, 1, 1, 3};
  file.data = {1, 2, 3, 4, 5, 6};
  const std::string bytes = content_of(put("series.nii", file));
  EXPECT_THAT(parse_image(bytes, "series.nii", 1).image.data, testing::ElementsAre(3, 4));
  expect_refused([&] { parse_image(bytes, "series.nii"); }, "say which with `volume` 0 to 2");
  expect_refused([&] { parse_image(bytes, "series.nii", 3); }, "`volume` 3: series.nii has 3 volumes");
  expect_refused([&] { parse_image("nothing", "series.nii"); }, "series.nii");
}

TEST_F(Workflow, MasksAsPicturesAndBack) {
  const Mask mask{1, 0, 0, 1, 1, 0};
  const std::string bytes = io::format_png(mask_picture(mask, {3, 2, 1}));
  const Image image = parse_image(bytes, "mask.png").image;
  EXPECT_EQ(nonzero_mask(image, {3, 2, 1}, "mask.png"), mask);
  expect_refused([&] { nonzero_mask(image, {2, 3, 1}, "mask.png"); }, "mask.png: 3 x 2 x 1 voxels");
  expect_refused([&] { mask_picture(mask, {3, 1, 2}); }, "one slice");
  expect_refused([&] { mask_picture(mask, {3, 3, 1}); }, "the mask has 6 voxels");
}

}  // namespace
}  // namespace warploom::imaging
