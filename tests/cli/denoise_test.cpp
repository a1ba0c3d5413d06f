// What `warploom denoise` writes, from images whose truth is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/denoise_images.hpp"

namespace warploom {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::set<std::string> files_in(const std::filesystem::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.insert(entry.path().filename().string());
  return names;
}

/// |u . v|: an eigenvector has no sign.
double alignment(const io::Nifti& v1, std::size_t voxel, const std::array<double, 3>& u) {
  const std::size_t voxels = v1.data.size() / 3;
  double dot = 0;
  for (std::size_t d = 0; d < 3; ++d) dot += v1.data[d * voxels + voxel] * u[d];
  return std::abs(dot);
}

void expect_near(const imaging::Image& a, const imaging::Image& b, double tolerance) {
  ASSERT_EQ(a.data.size(), b.data.size());
  double apart = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i)
    apart = std::max(apart, double(std::abs(a.data[i] - b.data[i])));
  EXPECT_LE(apart, tolerance);
}

TEST_F(DenoiseTest, HalvesTheErrorOfAPhantom) {
  const auto noisy = noisy_phantom(20), truth = imaging::tensor_phantom(20);
  put("in.nii", tensor_file(noisy, kFslOrder, kUnturned, kLeftHanded));
  denoise("@/in.nii --order fsl -o @/out --format nii");
  const auto clean = tensors_of(get("out_tensor.nii"), kFslOrder, kUnturned);
  EXPECT_LT(imaging::relative_error(clean, truth), imaging::relative_error(noisy, truth) / 2);
}

TEST_F(DenoiseTest, WritesTheTensorAndAllMapsOfATensorImage) {
  put_phantom("in.nii");
  denoise("@/in.nii --order fsl -o @/out --format nii");
  EXPECT_EQ(files_in(directory),
            (std::set<std::string>{"in.nii", "out_tensor.nii", "out_FA.nii", "out_MD.nii", "out_AD.nii",
                                   "out_RD.nii", "out_MO.nii", "out_L1.nii", "out_L2.nii", "out_L3.nii",
                                   "out_V1.nii", "out_V2.nii", "out_V3.nii", "out_RGB.nii"}));
}

TEST_F(DenoiseTest, KeepsTheGeometryAndSetsIntents) {
  io::Nifti in =
      tensor_file(noisy_phantom(8), kNiftiOrder, kUnturned, {{{0, 0, 3, 5}, {-2, 0, 0, 6}, {0, 1.5, 0, 7}}});
  in.spacing = {2, 1.5, 3};
  in.nifti2 = true;
  put("in.nii", in);
  denoise("@/in.nii -o @/out");
  const io::Nifti tensor = get("out_tensor.nii.gz"), fa = get("out_FA.nii.gz"), v1 = get("out_V1.nii.gz");
  EXPECT_THAT(tensor.shape, ElementsAre(8, 8, 8, 1, 6));
  EXPECT_EQ(tensor.intent, 1005);
  EXPECT_EQ(tensor.intent_parameters[0], 3);
  EXPECT_THAT(fa.shape, ElementsAre(8, 8, 8));
  EXPECT_THAT(v1.shape, ElementsAre(8, 8, 8, 3));
  EXPECT_EQ(v1.intent, 1007);
  for (const io::Nifti* out : {&tensor, &fa, &v1}) {
    EXPECT_EQ(out->affine, in.affine);
    EXPECT_EQ(out->spacing, in.spacing);
    EXPECT_TRUE(out->nifti2);
  }
}

TEST_F(DenoiseTest, GivesTheSameTensorsFromAllThreeOrders) {
  const auto noisy = noisy_phantom(10);
  // The affine is right-handed: FSL's x is reversed, and the scanner's axes are the image's.
  put("fsl.nii", tensor_file(noisy, kFslOrder, kMirroredX, kRightHanded));
  put("mrtrix.nii", tensor_file(noisy, kMrtrixOrder, kUnturned, kRightHanded));
  put("nifti.nii", tensor_file(noisy, kNiftiOrder, kUnturned, kRightHanded));
  denoise("@/fsl.nii --order fsl -o @/fsl --format nii");
  denoise("@/mrtrix.nii --order mrtrix -o @/mrtrix --format nii");
  denoise("@/nifti.nii -o @/nifti --format nii");
  const auto fsl = tensors_of(get("fsl_tensor.nii"), kFslOrder, kMirroredX);
  expect_near(tensors_of(get("mrtrix_tensor.nii"), kMrtrixOrder, kUnturned), fsl, 1e-5);
  expect_near(tensors_of(get("nifti_tensor.nii"), kNiftiOrder, kUnturned), fsl, 1e-5);
}

TEST_F(DenoiseTest, DoesNotDependOnTheFrameOfAnObliqueImage) {
  const double c = std::cos(0.4), s = std::sin(0.4);
  const Matrix3 turn{{{c, -s, 0}, {s, c, 0}, {0, 0, 1}}};
  const io::Affine affine{{{2 * c, -2 * s, 0, 0}, {2 * s, 2 * c, 0, 0}, {0, 0, 2, 0}}};
  const auto noisy = noisy_phantom(10);
  put("image.nii", tensor_file(noisy, kNiftiOrder, kUnturned, affine));
  put("scanner.nii", tensor_file(noisy, kMrtrixOrder, turn, affine));
  denoise("@/image.nii -o @/image --lambda 4 --format nii");
  denoise("@/scanner.nii --order mrtrix -o @/scanner --lambda 4 --format nii");
  const Matrix3 back{{{c, s, 0}, {-s, c, 0}, {0, 0, 1}}};
  expect_near(tensors_of(get("scanner_tensor.nii"), kMrtrixOrder, back),
              tensors_of(get("image_tensor.nii"), kNiftiOrder, kUnturned), 1e-3);
}

TEST_F(DenoiseTest, ConvertsToAnotherOrderAndItsFrame) {
  const auto noisy = noisy_phantom(8);
  put("in.nii", tensor_file(noisy, kFslOrder, kUnturned, kLeftHanded));
  denoise("@/in.nii --order fsl -o @/same --lambda 5 --format nii");
  denoise("@/in.nii --order fsl --output-order mrtrix -o @/out --lambda 5 --format nii");
  // Left-handed: FSL's axes are the image's, and the scanner's x runs the other way.
  expect_near(tensors_of(get("out_tensor.nii"), kMrtrixOrder, kMirroredX),
              tensors_of(get("same_tensor.nii"), kFslOrder, kUnturned), 1e-5);
}

TEST_F(DenoiseTest, ReadsTheOrderThatItWroteWithoutBeingTold) {
  put("in.nii", tensor_file(noisy_phantom(8), kMrtrixOrder, kUnturned, kLeftHanded));
  denoise("@/in.nii --order mrtrix -o @/out --maps none");
  denoise("@/out_tensor.nii.gz -o @/again --maps none");
  EXPECT_EQ(get("again_tensor.nii.gz").intent_name, "tensor mrtrix");
}

TEST_F(DenoiseTest, FitsASeriesAndSaysWhereItsFibresRun) {
  const double third = 1 / std::sqrt(3.0);
  put_series("dwi.nii", imaging::fibre(third, third, third), kLeftHanded);
  denoise(
      "@/dwi.nii --bval @/series.bval --bvec @/series.bvec -o @/out --mask none --lambda 100 --format nii");
  EXPECT_THAT(get("out_MD.nii").data, Each(testing::FloatNear(2.3e-3F / 3, 1e-6F)));
  EXPECT_THAT(get("out_L1.nii").data, Each(testing::FloatNear(1.7e-3F, 1e-6F)));
  EXPECT_THAT(get("out_FA.nii").data, Each(testing::FloatNear(0.7997F, 1e-3F)));
  EXPECT_THAT(get("out_S0.nii").data, Each(testing::FloatNear(1000, 0.1F)));
  EXPECT_THAT(get("out_RGB.nii").data, Each(testing::FloatNear(static_cast<float>(0.7997 * third), 1e-3F)));
  EXPECT_GT(alignment(get("out_V1.nii"), 5, {third, third, third}), 0.99999);
}

// A b-vector table in FSL's convention means the same directions in the scanner, whichever way the image is
// stored.
TEST_F(DenoiseTest, ReversesXWhereTheAffineIsRightHanded) {
  const double a = std::sqrt(0.8), b = std::sqrt(0.2);
  const Element6 tensor = imaging::fibre(a, b, 0);
  put_series("left.nii", tensor, kLeftHanded);
  put_series("right.nii", tensor, kRightHanded);
  const auto v1 = [&](const std::string& image, const std::string& frame) {
    denoise(fmt::format(
        "@/{}.nii --bval @/series.bval --bvec @/series.bvec -o @/{}_{} --mask none --lambda 100 --maps v1 --format nii --output-frame {}",
        image, image, frame, frame));
    return get(fmt::format("{}_{}_V1.nii", image, frame));
  };
  EXPECT_GT(alignment(v1("left", "fsl"), 0, {a, b, 0}), 0.99999);
  EXPECT_GT(alignment(v1("right", "fsl"), 0, {a, b, 0}), 0.99999);
  EXPECT_GT(alignment(v1("left", "image"), 0, {a, b, 0}), 0.99999);
  EXPECT_GT(alignment(v1("right", "image"), 0, {-a, b, 0}), 0.99999);
  EXPECT_GT(alignment(v1("left", "scanner"), 0, {-a, b, 0}), 0.99999);
  EXPECT_GT(alignment(v1("right", "scanner"), 0, {-a, b, 0}), 0.99999);
}

TEST_F(DenoiseTest, ReadsATableOfMrtrix) {
  const double a = std::sqrt(0.8), b = std::sqrt(0.2);
  put_series("dwi.nii", imaging::fibre(a, b, 0), kLeftHanded);
  denoise("@/dwi.nii --grad @/series.b -o @/fsl --mask none --lambda 100 --maps v1 --format nii");
  EXPECT_GT(alignment(get("fsl_V1.nii"), 0, {a, b, 0}), 0.99999);
  denoise(
      "@/dwi.nii --grad @/series.b -o @/out --output-order mrtrix --mask none --lambda 100 --maps v1 --format nii");
  EXPECT_GT(alignment(get("out_V1.nii"), 0, {-a, b, 0}), 0.99999);
}

TEST_F(DenoiseTest, UsesTheShellsThatAreAskedFor) {
  put_series("dwi.nii", imaging::fibre(1, 0, 0), kLeftHanded);
  make("series.bval", "0 0 2000 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000\n");
  const std::string common =
      "@/dwi.nii --bval @/series.bval --bvec @/series.bvec --mask none --lambda 9 --json --maps none ";
  const auto used = [&](const std::string& options) {
    return nlohmann::json::parse(denoise(common + options).out)["fit"]["used"].dump();
  };
  EXPECT_EQ(used("-o @/all"), R"([{"b":0,"volumes":2},{"b":1000,"volumes":11},{"b":2000,"volumes":1}])");
  EXPECT_EQ(used("-o @/a --shells 1020"), R"([{"b":0,"volumes":2},{"b":1000,"volumes":11}])");
  EXPECT_EQ(used("-o @/b --bmax 1500"), R"([{"b":0,"volumes":2},{"b":1000,"volumes":11}])");
}

TEST_F(DenoiseTest, TakesMillimetresOrMicrometres) {
  const auto noisy = noisy_phantom(8);
  put("mm.nii", tensor_file(noisy, kFslOrder, kUnturned, kLeftHanded, 1e-3));
  put("um.nii", tensor_file(noisy, kFslOrder, kUnturned, kLeftHanded, 1));
  denoise("@/mm.nii --order fsl -o @/mm --format nii --lambda 4");
  denoise("@/um.nii --order fsl -o @/um --format nii --lambda 4 --unit um2/ms");
  expect_near(tensors_of(get("um_tensor.nii"), kFslOrder, kUnturned, 1),
              tensors_of(get("mm_tensor.nii"), kFslOrder, kUnturned, 1e-3), 1e-5);
  EXPECT_NEAR(get("um_MD.nii").data[100], 1000 * get("mm_MD.nii").data[100], 1e-4);
}

TEST_F(DenoiseTest, LeavesWhatIsOutsideTheMask) {
  const io::Nifti in = tensor_file(noisy_phantom(8), kFslOrder, kUnturned, kLeftHanded);
  put("in.nii", in);
  io::Nifti mask = in;
  mask.shape = {8, 8, 8};
  mask.data.assign(512, 1);
  mask.data[77] = 0;
  put("mask.nii.gz", mask);
  denoise("@/in.nii --order fsl --mask @/mask.nii.gz -o @/out --format nii");
  const io::Nifti out = get("out_tensor.nii");
  for (std::size_t c = 0; c < 6; ++c) EXPECT_FLOAT_EQ(out.data[c * 512 + 77], in.data[c * 512 + 77]);
  EXPECT_NE(out.data[78], in.data[78]);
  EXPECT_EQ(get("out_FA.nii").data[77], 0);
  EXPECT_GT(get("out_FA.nii").data[78], 0);
}

TEST_F(DenoiseTest, LeavesVoxelsWithNanOutAndCountsThem) {
  io::Nifti in = tensor_file(noisy_phantom(8), kFslOrder, kUnturned, kLeftHanded);
  in.data[512 + 100] = std::numeric_limits<float>::quiet_NaN();
  in.data[3 * 512 + 300] = std::numeric_limits<float>::infinity();
  put("in.nii", in);
  const auto report = nlohmann::json::parse(denoise("@/in.nii --order fsl -o @/out --format nii --json").out);
  EXPECT_EQ(report["mask"]["not_finite"], 2);
  EXPECT_EQ(report["mask"]["voxels"], 510);
  const io::Nifti out = get("out_tensor.nii"), fa = get("out_FA.nii");
  int not_finite = 0;
  for (const float value : out.data) not_finite += !std::isfinite(value);
  EXPECT_EQ(not_finite, 2) << "as they were, and no other";
  EXPECT_EQ(fa.data[100], 0);
  EXPECT_GT(fa.data[101], 0);
}

TEST_F(DenoiseTest, DenoisesChannelsThatAreNoTensor) {
  io::Nifti in = tensor_file(noisy_phantom(10, 0), kFslOrder, kUnturned, kLeftHanded);
  in.shape[3] = 3;
  in.data.assign(3000, 0);
  imaging::Image noise({10, 10, 10}, 3);
  imaging::add_noise(noise, 5, 3);
  for (std::size_t i = 0; i < in.data.size(); ++i)
    in.data[i] = (i % 10 < 5 ? 100.0F : 200.0F) + noise.data[i];
  put("in.nii", in);
  denoise("@/in.nii --vector -o @/out --format nii");
  EXPECT_EQ(files_in(directory), (std::set<std::string>{"in.nii", "out_denoised.nii"}));
  const io::Nifti out = get("out_denoised.nii");
  EXPECT_EQ(out.shape, in.shape);
  double before = 0, after = 0;
  for (std::size_t i = 0; i < in.data.size(); ++i) {
    const float truth = i % 10 < 5 ? 100 : 200;
    before += std::pow(in.data[i] - truth, 2);
    after += std::pow(out.data[i] - truth, 2);
  }
  EXPECT_LT(after, before / 4);
}

TEST_F(DenoiseTest, WritesTheMapsThatAreAskedFor) {
  put_phantom("in.nii");
  denoise("@/in.nii --order fsl -o @/ --maps V1,fa --format nii");
  EXPECT_EQ(files_in(directory), (std::set<std::string>{"in.nii", "tensor.nii", "FA.nii", "V1.nii"}));
}

TEST_F(DenoiseTest, CompressesWithoutChangingValues) {
  put_phantom("in.nii");
  denoise("@/in.nii --order fsl -o @/out --maps none --format nii");
  denoise("@/in.nii --order fsl -o @/out --maps none --gzip-level 6");
  EXPECT_EQ(get("out_tensor.nii").data, get("out_tensor.nii.gz").data);
}

TEST_F(DenoiseTest, DoesNotDependOnTheNumberOfThreads) {
  put_phantom("in.nii", 16);
  denoise("@/in.nii --order fsl -o @/one --format nii --threads 1");
  denoise("@/in.nii --order fsl -o @/three --format nii --threads 3");
  for (const std::string map : {"tensor", "FA", "V1"})
    EXPECT_EQ(content_of(path("one_" + map + ".nii")), content_of(path("three_" + map + ".nii"))) << map;
}

TEST_F(DenoiseTest, ReportsWhatItDid) {
  put_phantom("in.nii");
  const ToolRun run = denoise("@/in.nii --order fsl -o @/out --json --report @/out.json");
  EXPECT_EQ(run.out, content_of(path("out.json")));
  const auto report = nlohmann::json::parse(run.out);
  EXPECT_EQ(report["input"]["elements"], "xx xy xz yy yz zz");
  EXPECT_EQ(report["input"]["frame"], "fsl");
  EXPECT_EQ(report["lambda"]["noise"].size(), 6u);
  EXPECT_NEAR(report["lambda"]["noise"][0], 0.15, 0.03);
  EXPECT_EQ(report["solver"]["stop"], "converged");
  EXPECT_LE(report["solver"]["gap"], 1e-4);
  EXPECT_EQ(report["solver"]["history"].size(), report["solver"]["iterations"]);
  EXPECT_LT(report["solver"]["history"].back()[1], report["solver"]["history"][0][1]);
  EXPECT_EQ(report["negative_eigenvalues"]["after"], 0);
  EXPECT_EQ(report["output"]["files"].size(), 14u) << "13 images and the report";
  for (const auto& [part, seconds] : report["seconds"].items())
    EXPECT_LE(seconds, report["seconds"]["total"]) << part;
}

TEST_F(DenoiseTest, SaysInWordsWhatItDid) {
  put_phantom("in.nii");
  const ToolRun run = denoise("@/in.nii --order fsl -o @/out --maps fa");
  for (const char* words :
       {"10 x 10 x 10 voxels of 2 x 2 x 2 mm", "fsl order (xx xy xz yy yz zz)", "frame fsl",
        "1,000 voxels (nonzero)", "accelerated on", "converged", "out_FA.nii.gz"})
    EXPECT_THAT(run.out, HasSubstr(words));
}

TEST_F(DenoiseTest, MinimisesTotalGeneralisedVariation) {
  put_phantom("in.nii");
  const auto with = [&](const std::string& options) {
    return nlohmann::json::parse(
        denoise("@/in.nii --order fsl -o @/out --format nii --force --maps fa --device cpu "
                "--tolerance 1e-3 --qc @/qc.html --json " +
                options)
            .out);
  };
  const auto report = with("--regulariser tgv");
  EXPECT_EQ(report["regulariser"], "tgv");
  EXPECT_EQ(report["solver"]["name"], "primal-dual");
  EXPECT_EQ(report["solver"]["variation"], "generalised");
  EXPECT_EQ(report["solver"]["tgv_ratio"], 2);
  EXPECT_EQ(report["solver"]["epsilon"], 0);
  EXPECT_EQ(report["solver"]["stop"], "converged");
  EXPECT_EQ(report["solver"]["history"].back()[0], report["solver"]["iterations"]);
  EXPECT_EQ(report["negative_eigenvalues"]["after"], 0);
  EXPECT_THAT(content_of(path("qc.html")), HasSubstr("total generalised variation, ratio 2"));
  const std::vector<float> two = get("out_tensor.nii").data;
  EXPECT_EQ(with("--regulariser tgv --tgv-ratio 0.5 --lambda 4")["solver"]["tgv_ratio"], 0.5);
  EXPECT_NE(get("out_tensor.nii").data, two);
  const auto tv = with("--regulariser tv");
  EXPECT_EQ(tv["solver"]["variation"], "total");
  EXPECT_NE(get("out_tensor.nii").data, two);
  EXPECT_THAT(denoise("@/in.nii --order fsl -o @/text --regulariser tgv --lambda 9 --maps none").out,
              HasSubstr("total generalised variation of second order, ratio 2"));
}

// It smoothed them by total variation, without a word.
TEST_F(DenoiseTest, LeavesATensorImageAsItIsWhereNothingShallRegularise) {
  put_phantom("in.nii");
  const auto report = nlohmann::json::parse(
      denoise("@/in.nii --order fsl -o @/out --format nii --regulariser none --json").out);
  EXPECT_EQ(report["regulariser"], "none");
  const std::vector<float> before = get("in.nii").data, after = get("out_tensor.nii").data;
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(after[i], before[i], 1e-9) << i;
}

TEST_F(DenoiseTest, DrawsAPageThatNeedsNoOtherFile) {
  put_phantom("in.nii");
  denoise("@/in.nii --order fsl -o @/out --maps none --qc @/qc.html");
  const std::string page = content_of(path("qc.html"));
  for (const char* part : {"Axial slice", "Coronal slice", "Sagittal slice", "Main directions",
                           "Relative gap", "data:image/png;base64,", "<path d=", "</html>"})
    EXPECT_NE(page.find(part), page.npos) << part;
  for (const char* outside : {"http:", "https:", "<link", "<script", "url("})
    EXPECT_EQ(page.find(outside), page.npos) << outside;
}

TEST_F(DenoiseTest, DrawsAPageOfOneSliceOfChannels) {
  io::Nifti in = tensor_file(noisy_phantom(12), kFslOrder, kUnturned, kLeftHanded);
  in.shape = {12, 12, 1, 72};
  put("in.nii", in);
  denoise("@/in.nii --vector -o @/out --mask none --qc @/qc.html");
  const std::string page = content_of(path("qc.html"));
  for (const char* part : {"Axial slice 0", "Channel 71 after"})
    EXPECT_NE(page.find(part), page.npos) << part;
  for (const char* absent : {"Coronal", "Main direction", "FA before"})
    EXPECT_EQ(page.find(absent), page.npos) << absent;
}

TEST_F(DenoiseTest, SolversComeToTheSameImage) {
  const auto noisy = noisy_phantom(10);
  put_phantom("in.nii");
  const auto solve = [&](const std::string& name, const std::string& options) {
    denoise(
        fmt::format("@/in.nii --order fsl --maps none --format nii --lambda 4 -o @/{} {}", name, options));
    return tensors_of(get(name + "_tensor.nii"), kFslOrder, kUnturned);
  };
  const auto accelerated = solve("accelerated", "");
  EXPECT_LT(imaging::relative_error(solve("dual", "--solver primal-dual --max-iterations 300"), accelerated),
            0.02);
  // Descent needs many more iterations; in 3000 it has come most of the way.
  EXPECT_LT(imaging::relative_error(solve("descent", "--solver descent --max-iterations 3000"), accelerated),
            0.4 * imaging::relative_error(noisy, accelerated));
}

}  // namespace
}  // namespace warploom
