// `warploom denoise` on measured series. They are not part of the repository: $WARPLOOM_DATA, else
// ../shared/data beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/denoise_images.hpp"
#include "measured_data.hpp"

namespace warploom {
namespace {

class DenoiseRealData : public DenoiseTest {
 protected:
  /// `warploom denoise` of a series NAME.bval, NAME.bvec; nothing where the data are absent.
  nlohmann::json denoise_series(const std::string& image, const std::string& name,
                                const std::string& options) {
    const auto data = measured_data(std::filesystem::path(WARPLOOM_TESTS_DIR) / "../../shared/data");
    if (!std::filesystem::exists(data / image)) return {};
    return nlohmann::json::parse(
        denoise(fmt::format("{0}/{1} --bval {0}/{2}.bval --bvec {0}/{2}.bvec -o @/out --json {3}",
                            data.string(), image, name, options))
            .out);
  }
  double median(const std::string& map) const {
    std::vector<float> values;
    for (const float value : get("out_" + map + ".nii.gz").data)
      if (value != 0) values.push_back(value);
    std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
    return values[values.size() / 2];
  }
};

TEST_F(DenoiseRealData, HeadOf32Slices) {
  const auto report =
      denoise_series("philips_dti12_112x112x32x17.nii.gz", "philips_dti12",
                     "--lambda 8 --tolerance 1e-2 --max-iterations 60 --maps fa,md --qc @/qc.html");
  if (report.empty()) GTEST_SKIP() << "no philips_dti12 in $WARPLOOM_DATA or ../shared/data";
  EXPECT_EQ(report["fit"]["used"].dump(), R"([{"b":0,"volumes":5},{"b":1000,"volumes":12}])");
  EXPECT_GT(report["mask"]["voxels"], 100000);
  EXPECT_LT(report["mask"]["voxels"], 200000);
  EXPECT_GT(report["negative_eigenvalues"]["before"], 100);
  EXPECT_EQ(report["negative_eigenvalues"]["after"], 0);
  const double md = median("MD");  // of a living head in mm^2/s
  EXPECT_GT(md, 0.6e-3);
  EXPECT_LT(md, 1.3e-3);
  EXPECT_GT(std::filesystem::file_size(directory / "qc.html"), 100000u);
}

TEST_F(DenoiseRealData, DirectionsInRowsWithNan) {
  const auto report = denoise_series("small_64D.nii", "small_64D", "--mask none --regulariser tv");
  if (report.empty()) GTEST_SKIP() << "no small_64D in $WARPLOOM_DATA or ../shared/data";
  EXPECT_EQ(report["fit"]["voxels"], 1000);
  EXPECT_EQ(report["solver"]["stop"], "converged");
  EXPECT_EQ(report["lambda"]["from"], "noise");
  EXPECT_EQ(report["negative_eigenvalues"]["after"], 0);
}

TEST_F(DenoiseRealData, SeriesThatMayNotBeDenoisedSayWhyAndAreLeftAsFitted) {
  for (const auto& [image, name, why] :
       {std::tuple{"small_101D.nii.gz", "small_101D", "too few voxels to tell"},
        {"philips_dti12_112x112x32x17.nii.gz", "philips_dti12", "the noise is correlated in space"}}) {
    const auto report = denoise_series(image, name, "--maps none --force");
    if (report.empty()) GTEST_SKIP() << "no " << name << " in $WARPLOOM_DATA or ../shared/data";
    EXPECT_EQ(report["series"]["denoised"], false) << name;
    EXPECT_THAT(report["series"].value("why_not", ""), testing::HasSubstr(why)) << name;
    EXPECT_EQ(report["regulariser"], "none") << name;
    EXPECT_EQ(report["fit"]["method"], "positive") << name;
    EXPECT_FALSE(report.contains("solver"));
  }
}

TEST_F(DenoiseRealData, TheChainRunsOnAHeadIfItIsAskedTo) {
  const auto report = denoise_series("philips_dti12_112x112x32x17.nii.gz", "philips_dti12",
                                     "--series-denoise on --maps md --qc @/qc.html");
  if (report.empty()) GTEST_SKIP() << "no philips_dti12 in $WARPLOOM_DATA or ../shared/data";
  EXPECT_EQ(report["regulariser"], "adaptive");
  EXPECT_EQ(report["adaptive"]["residual"]["structured"], false) << report["adaptive"].dump();
  EXPECT_EQ(report["adaptive"]["residual"]["groups"].size(), 3u);
  EXPECT_GT(report["adaptive"]["neighbours"], 1);
  const double md = median("MD");
  EXPECT_GT(md, 0.6e-3);
  EXPECT_LT(md, 1.3e-3);
}

TEST_F(DenoiseRealData, SeriesOfManyBValues) {
  const auto report = denoise_series("small_101D.nii.gz", "small_101D", "--mask none --regulariser tv");
  if (report.empty()) GTEST_SKIP() << "no small_101D in $WARPLOOM_DATA or ../shared/data";
  EXPECT_EQ(report["fit"]["volumes"], 102);
  EXPECT_EQ(report["solver"]["stop"], "converged");
}

}  // namespace
}  // namespace warploom
