// `warploom denoise` on a series before tensors are fitted: --series-denoise, --only series and their files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "cli/denoise_images.hpp"

namespace warploom {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSide = 12, kVoxels = kSide * kSide * kSide;
constexpr float kNoise = 20;

class DenoiseSeries : public DenoiseTest {
 protected:
  /// put_series() twice over, 28 volumes, whose signal falls along x, with white noise.
  void put_noisy_series(float sigma = kNoise) const {
    put_series("once.nii", imaging::fibre(0.6, 0.8, 0), kLeftHanded, kSide);
    io::Nifti file = get("once.nii");
    file.data.insert(file.data.end(), file.data.begin(), file.data.end());
    file.shape[3] = 28;
    std::mt19937 random(5);
    std::normal_distribution<float> noise(0, sigma);
    for (std::size_t i = 0; i < file.data.size(); ++i)
      file.data[i] = file.data[i] * (1 - 0.03F * static_cast<float>(i % kSide)) + noise(random);
    put("dwi.nii", file);
    const auto twice = [&](const std::string& name) {
      std::string text = content_of(directory / name), out;
      for (std::size_t begin = 0; begin < text.size();) {
        const std::string row = text.substr(begin, text.find('\n', begin) - begin);
        out += row + " " + row + "\n";
        begin += row.size() + 1;
      }
      make(name, out);
    };
    twice("series.bval"), twice("series.bvec");
  }
  /// The same as complex values: a phase that turns from voxel to voxel, and the noise in both parts.
  void put_complex_series(io::NiftiType type, float sigma) const {
    put_noisy_series(0);
    io::Nifti file = get("dwi.nii");
    std::mt19937 random(6);
    std::normal_distribution<float> noise(0, sigma);
    for (std::size_t i = 0; i < file.data.size(); ++i) {
      const float phase = 0.2F * static_cast<float>(i % kSide);
      const float real = file.data[i] * std::cos(phase) + noise(random);
      file.complex_data.emplace_back(real, file.data[i] * std::sin(phase) + noise(random));
    }
    file.data.clear();
    file.type = type;
    put("dwi.nii", file);
  }
  io::Nifti get_complex(const std::string& name) const {
    return io::read_nifti(directory / name, std::uint64_t{1} << 30, io::NiftiNumbers::real_or_complex);
  }
  /// 11 volumes of put_series().
  void put_short_series() const {
    put_series("dwi.nii", imaging::fibre(1, 0, 0), kLeftHanded);
    io::Nifti file = get("dwi.nii");
    file.shape[3] = 11;
    file.data.resize(64 * 11);
    put("dwi.nii", file);
    const auto without_three = [&](const std::string& name) {
      const std::string text = content_of(directory / name);
      std::string out;
      for (std::size_t begin = 0; begin < text.size();) {
        std::string row = text.substr(begin, text.find('\n', begin) - begin);
        begin += row.size() + 1;
        for (int k = 0; k < 3; ++k) row.resize(row.rfind(' '));
        out += row + "\n";
      }
      make(name, out);
    };
    without_three("series.bval"), without_three("series.bvec");
  }
  static constexpr const char* kSeries =
      "@/dwi.nii --device cpu --bval @/series.bval --bvec @/series.bvec --mask none ";
};

float median_of(std::vector<float> values) {
  std::ranges::nth_element(values, values.begin() + std::ssize(values) / 2);
  return values[values.size() / 2];
}

TEST_F(DenoiseSeries, OnlySeriesNeedsNoGradientsAndWritesThreeFiles) {
  put_noisy_series();
  const ToolRun run =
      denoise("@/dwi.nii --device cpu --only series -o @/out --format nii --residual-out @/away.nii");
  EXPECT_THAT(run.out, HasSubstr("of 28 components kept"));
  const io::Nifti before = get("dwi.nii"), after = get("out_series.nii"), noise = get("out_noise.nii"),
                  rank = get("out_rank.nii"), away = get("away.nii");
  EXPECT_EQ(after.shape, before.shape);
  EXPECT_EQ(noise.shape, (std::vector<std::int64_t>{kSide, kSide, kSide}));
  EXPECT_NEAR(median_of(noise.data), kNoise, 0.05 * kNoise);
  EXPECT_LE(median_of(rank.data), 3);
  double removed = 0;
  for (std::size_t i = 0; i < before.data.size(); ++i) {
    EXPECT_NEAR(before.data[i] - after.data[i], away.data[i], 1e-3);
    removed += away.data[i] * away.data[i];
  }
  EXPECT_NEAR(std::sqrt(removed / static_cast<double>(before.data.size())), kNoise, 0.15 * kNoise);
}

TEST_F(DenoiseSeries, TensorsOfADenoisedSeriesAreNearerToTheTruth) {
  put_noisy_series(60);
  const auto error = [&](const std::string& step) {
    denoise(kSeries +
            std::string("--lambda 1e6 --maps none --format nii --force -o @/out --series-denoise ") + step);
    const io::Nifti file = get("out_tensor.nii");
    const Element6 truth = imaging::fibre(0.6, 0.8, 0);
    double sum = 0;
    for (std::size_t c = 0; c < 6; ++c)
      for (std::size_t v = 0; v < static_cast<std::size_t>(kVoxels); ++v)
        sum += std::pow(1000 * file.data[c * kVoxels + v] - truth[c], 2);
    return std::sqrt(sum);
  };
  EXPECT_LT(error("on"), 0.5 * error("off"));
}

TEST_F(DenoiseSeries, AComplexSeriesStaysComplex) {
  for (const io::NiftiType type : {io::NiftiType::complex64, io::NiftiType::complex128}) {
    put_complex_series(type, kNoise);
    const ToolRun run = denoise(
        "@/dwi.nii --device cpu --only series -o @/out --format nii --force --residual-out @/away.nii");
    EXPECT_THAT(run.out, HasSubstr("complex values, patches of"));
    const io::Nifti before = get_complex("dwi.nii"), after = get_complex("out_series.nii"),
                    away = get_complex("away.nii"), noise = get("out_noise.nii");
    EXPECT_EQ(after.type, io::NiftiType::complex64);
    EXPECT_EQ(after.shape, before.shape);
    // Of the whole complex value.
    EXPECT_NEAR(median_of(noise.data), kNoise * std::sqrt(2.0F), 0.05 * kNoise);
    double removed = 0;
    for (std::size_t i = 0; i < before.complex_data.size(); ++i) {
      const std::complex<float> off = before.complex_data[i] - after.complex_data[i];
      EXPECT_LT(std::abs(off - away.complex_data[i]), 1e-3);
      removed += std::norm(off);
    }
    EXPECT_NEAR(std::sqrt(removed / static_cast<double>(before.complex_data.size())), kNoise * std::sqrt(2.0),
                0.15 * kNoise);
  }
}

TEST_F(DenoiseSeries, ComplexNoiseHasNoFloorInTheTensors) {
  // Far below the noise's floor: magnitudes alone tell too little diffusion.
  constexpr float kStrong = 150;
  const auto trace = [&](const std::string& more) {
    denoise(kSeries + std::string("--maps none --format nii --force -o @/out ") + more);
    const io::Nifti file = get("out_tensor.nii");
    std::vector<float> traces;
    for (std::size_t v = 0; v < static_cast<std::size_t>(kVoxels); ++v)
      traces.push_back(1000 * (file.data[v] + file.data[3 * kVoxels + v] + file.data[5 * kVoxels + v]));
    return median_of(traces);
  };
  const Element6 truth = imaging::fibre(0.6, 0.8, 0);
  const float wanted = truth[0] + truth[3] + truth[5];
  put_complex_series(io::NiftiType::complex64, kStrong);
  const float tensors = trace("--series-denoise on --regulariser none"),
              adaptive = trace("--series-denoise on"),
              magnitudes = trace("--series-denoise off --lambda 1e6");
  EXPECT_NEAR(tensors, wanted, 0.05 * wanted);
  EXPECT_NEAR(adaptive, wanted, 0.1 * wanted);
  EXPECT_LT(magnitudes, tensors - 0.03 * wanted);
}

TEST_F(DenoiseSeries, ComplexNumbersAreRefusedWhereRealOnesAreNeeded) {
  put_complex_series(io::NiftiType::complex64, kNoise);
  for (const std::string asked : {"--vector", "--order fsl", "--only series --mask @/dwi.nii"}) {
    const ToolRun run = run_denoise("@/dwi.nii --device cpu -o @/out " + asked);
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr("complex numbers, where real ones are needed")) << asked;
  }
  const ToolRun run = run_tool("segment " + (directory / "dwi.nii").string() + " --volume 0 -o " +
                               (directory / "m.nii").string());
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("write their magnitude, or one part, to a file and give that"));
}

TEST_F(DenoiseSeries, AFileThatAsksForMoreThanMaxMemoryIsRefused) {
  put_noisy_series();
  for (const std::string asked : {"--only series", "--bval @/series.bval --bvec @/series.bvec", "--vector"}) {
    const ToolRun run = run_denoise("@/dwi.nii --device cpu -o @/out --max-memory 20K " + asked);
    EXPECT_EQ(run.code, 2) << asked;
    EXPECT_THAT(run.err, HasSubstr("(--max-memory)")) << asked;
  }
  EXPECT_EQ(run_denoise("@/dwi.nii --device cpu -o @/out --max-memory 1G --only series").code, 0);
}

TEST_F(DenoiseSeries, MapsAndSeriesComeBesideTheTensors) {
  put_noisy_series();
  denoise(
      kSeries +
      std::string(
          "--maps none --format nii -o @/out --series-out @/s.nii --noise-map @/n.nii.gz --rank-map @/r.nii"));
  EXPECT_EQ(get("s.nii").shape, get("dwi.nii").shape);
  EXPECT_EQ(get("n.nii.gz").data.size(), static_cast<std::size_t>(kVoxels));
  EXPECT_EQ(get("r.nii").data.size(), static_cast<std::size_t>(kVoxels));
}

TEST_F(DenoiseSeries, AShortSeriesIsFittedAsItIsAndTheOutputSaysSo) {
  put_short_series();
  const ToolRun run = denoise(kSeries + std::string("--lambda 9 --maps none -o @/out"));
  EXPECT_THAT(run.out, HasSubstr("series    not denoised: "));
}

TEST_F(DenoiseSeries, FilesOfAStepThatWasLeftOutAreRefused) {
  put_short_series();
  for (const std::string asked :
       {"--only series", "--bval @/series.bval --bvec @/series.bvec --noise-map @/n.nii"}) {
    const ToolRun run = run_denoise("@/dwi.nii --device cpu --mask none -o @/out " + asked);
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr("--series-denoise on does it all the same"));
    EXPECT_FALSE(std::filesystem::exists(directory / "out_series.nii.gz"));
    EXPECT_FALSE(std::filesystem::exists(directory / "out_tensor.nii.gz"));
  }
}

TEST_F(DenoiseSeries, OptionsThatContradictAreRefused) {
  put_noisy_series();
  const auto refusal = [&](const std::string& more) {
    const ToolRun run = run_denoise("@/dwi.nii --device cpu -o @/out " + more);
    EXPECT_EQ(run.code, 2) << more;
    return run.err;
  };
  EXPECT_THAT(refusal("--only series --fit ols"), HasSubstr("writes no tensors"));
  EXPECT_THAT(refusal("--only series --shells 1000"), HasSubstr("takes all volumes"));
  EXPECT_THAT(refusal("--vector --noise-map @/n.nii"), HasSubstr("are of a series: give --bval and --bvec"));
  EXPECT_THAT(refusal("--only series --series-denoise off"), HasSubstr("contradict each other"));
  EXPECT_THAT(refusal("--only tensors"), HasSubstr("--only: 'tensors' is not series"));
  EXPECT_THAT(refusal("--vector --series-denoise on"), HasSubstr("is for a series"));
  EXPECT_THAT(refusal("--only series --series-out @/x.png"), HasSubstr("must end in .nii or .nii.gz"));
  EXPECT_THAT(refusal("--only series --patch 4"), HasSubstr("4"));
  EXPECT_THAT(refusal("--only series --patch 3,3"), HasSubstr("neither one extent nor three"));
  EXPECT_THAT(refusal("--only series --estimator exp3"), HasSubstr("exp1"));
}

}  // namespace
}  // namespace warploom
