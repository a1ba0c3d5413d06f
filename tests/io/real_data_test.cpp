// Files of other people's software. What they hold was read from them with nibabel and NumPy.

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "io/scratch.hpp"
#include "measured_data.hpp"
#include "warploom/io/gradients.hpp"
#include "warploom/io/nifti.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
namespace fs = std::filesystem;

class RealData : public Scratch {
 protected:
  void SetUp() override {
    data = measured_data(WARPLOOM_TESTS_DIR "/../../shared/data");
    if (!fs::exists(data)) GTEST_SKIP() << "no real images at " << data << "; set WARPLOOM_DATA";
  }
  fs::path data;
};

double sum(const Nifti& image) { return std::accumulate(image.data.begin(), image.data.end(), 0.0); }

// Of the voxel in the middle, each extent halved and rounded down.
float middle(const Nifti& image) {
  std::int64_t at = 0;
  for (std::size_t axis = image.shape.size(); axis-- > 0;)
    at = at * image.shape[axis] + image.shape[axis] / 2;
  return image.data[static_cast<std::size_t>(at)];
}

TEST_F(RealData, ImagesHoldWhatNibabelFinds) {
  const struct {
    const char* name;
    std::vector<std::int64_t> shape;
    NiftiType type;
    double sum, relative_tolerance;
    float middle;
    double determinant, corner;  // of the affine; its last column's first number [mm]
  } images[] = {
      {"S0_10slices.nii.gz", {128, 128, 10, 1}, NiftiType::uint16, 23236154, 0, 386, 128, -123.359253},
      // slope 37.12681579589844: each voxel is rounded to single precision
      {"philips_dti12_112x112x32x17.nii.gz",
       {112, 112, 32, 17},
       NiftiType::int16,
       26961898313.27362,
       1e-8,
       16075.911F,
       -8.000009,
       122.507217},
      {"small_101D.nii.gz", {6, 10, 10, 102}, NiftiType::uint16, 4809847, 0, 58, -15.624999, 162},
      {"small_25.nii.gz", {10, 8, 2, 26}, NiftiType::uint8, 319644, 0, 50, 8, -80},
      {"small_64D.nii", {10, 10, 10, 65}, NiftiType::int16, 5967027, 0, 135, -8, 20},
  };
  for (const auto& want : images) {
    SCOPED_TRACE(want.name);
    const Nifti image = read_nifti(data / want.name);
    EXPECT_EQ(image.shape, want.shape);
    EXPECT_EQ(image.type, want.type);
    EXPECT_NEAR(sum(image), want.sum, want.sum * want.relative_tolerance);
    EXPECT_FLOAT_EQ(middle(image), want.middle);
    EXPECT_NEAR(determinant(image.affine), want.determinant, 2e-6);
    EXPECT_NEAR(image.affine[0][3], want.corner, 1e-6);
  }
}

TEST_F(RealData, ImagesComeBack) {
  for (const char* name : {"S0_10slices.nii.gz", "small_25.nii.gz", "small_64D.nii"}) {
    const Nifti image = read_nifti(data / name);
    write_nifti(directory / "a.nii.gz", image);
    const Nifti back = read_nifti(directory / "a.nii.gz");
    EXPECT_EQ(back.data, image.data) << name;
    EXPECT_EQ(back.affine, image.affine) << name;
    EXPECT_EQ(back.spacing, image.spacing) << name;
  }
}

Gradients gradients(const fs::path& data, const std::string& stem, std::int64_t volumes) {
  return read_fsl_gradients(data / (stem + ".bval"), data / (stem + ".bvec"), volumes);
}

void expect_unit(const Gradients& g) {
  for (std::size_t v = 0; v < g.b.size(); ++v) {
    const auto& d = g.directions[v];
    EXPECT_NEAR(std::hypot(d[0], d[1], d[2]), g.b[v] > 50 ? 1 : std::round(std::hypot(d[0], d[1], d[2])),
                1e-12)
        << v;
  }
}

TEST_F(RealData, GradientsInThreeRows) {
  const Gradients g = gradients(data, "philips_dti12", 17);
  expect_unit(g);
  EXPECT_EQ(g.b[1], 1000);
  EXPECT_EQ(g.b[16], 0.004);
  EXPECT_NEAR(g.directions[1][1], -0.998377, 1e-6);
  EXPECT_EQ(gradients(data, "small_101D", 102).b.size(), 102U);
  EXPECT_THAT(gradients(data, "small_25", 26).directions[0], ElementsAre(0, 0, 0));
}

TEST_F(RealData, GradientsARowEachWithNaN) {
  const Gradients g = gradients(data, "small_64D", 65);
  expect_unit(g);
  EXPECT_EQ(g.b[0], 0);
  EXPECT_THAT(g.directions[0], ElementsAre(0, 0, 0));
  EXPECT_NEAR(g.directions[1][1], 0.9999827048187633, 1e-6);
}

TEST_F(RealData, AShearedAffineStillGivesOrthonormalFrames) {
  const Nifti image = read_nifti(data / "S0_10slices.nii.gz");
  const auto m = frame_change(Frame::fsl, Frame::scanner, image.affine);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      EXPECT_NEAR(m[i][0] * m[j][0] + m[i][1] * m[j][1] + m[i][2] * m[j][2], i == j, 1e-12);
}

}  // namespace
}  // namespace warploom::io
