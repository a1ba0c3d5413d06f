#include "warploom/io/gradients.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "io/scratch.hpp"

namespace warploom::io {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

Affine affine_of(const Matrix& m) {
  Affine affine{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) affine[i][j] = m[i][j];
  return affine;
}

void expect_near(const Matrix& got, const Matrix& want, double tolerance = 1e-14) {
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(got[i][j], want[i][j], tolerance) << i << ' ' << j;
}

constexpr Matrix kUnit{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};

TEST(Frame, NamesAreRead) {
  for (const Frame frame : {Frame::image, Frame::fsl, Frame::scanner})
    EXPECT_EQ(parse_frame(name(frame)), frame);
  EXPECT_EQ(name(Frame::scanner), "scanner");
  EXPECT_THAT(message_of([] { parse_frame("fls"); }),
              HasSubstr("frame 'fls' is unknown; it is image, fsl or scanner"));
}

TEST(FrameChange, FslReversesIWhereTheDeterminantIsPositive) {
  const Matrix reversed{{{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  const Affine positive = affine_of({{{2, 0, 0}, {0, 2, 0}, {0, 0, 3}}});
  const Affine negative = affine_of({{{-2, 0, 0}, {0, 2, 0}, {0, 0, 3}}});
  expect_near(frame_change(Frame::fsl, Frame::image, positive), reversed);
  expect_near(frame_change(Frame::image, Frame::fsl, positive), reversed);
  expect_near(frame_change(Frame::fsl, Frame::image, negative), kUnit);
  // The same direction in the scanner for both: what looks along +x in a radiological image is -x.
  expect_near(frame_change(Frame::fsl, Frame::scanner, positive), reversed);
  expect_near(frame_change(Frame::fsl, Frame::scanner, negative), reversed);
}

TEST(FrameChange, TurnsWithTheAffine) {
  // Voxel axis i runs along scanner y, j along -x; voxels of 2 x 3 x 4 mm.
  const Affine affine = affine_of({{{0, -3, 0}, {2, 0, 0}, {0, 0, 4}}});
  expect_near(frame_change(Frame::image, Frame::scanner, affine), {{{0, -1, 0}, {1, 0, 0}, {0, 0, 1}}});
  expect_near(frame_change(Frame::scanner, Frame::image, affine), {{{0, 1, 0}, {-1, 0, 0}, {0, 0, 1}}});
  expect_near(frame_change(Frame::fsl, Frame::scanner, affine), {{{0, -1, 0}, {-1, 0, 0}, {0, 0, 1}}});
}

TEST(FrameChange, ToTheSameFrameChangesNothing) {
  const Affine affine = affine_of({{{2, 0.3, 0}, {-0.1, 2, 0.5}, {0, 0, 3}}});
  for (const Frame frame : {Frame::image, Frame::fsl, Frame::scanner})
    expect_near(frame_change(frame, frame, affine), kUnit);
}

TEST(FrameChange, ShearIsSharedBetweenTheAxes) {
  // Two unit columns with an angle of 60 degrees between them: the nearest orthonormal pair has the same
  // bisector, so that each is turned by 15 degrees.
  const double turn = std::acos(-1.0) / 12;
  const Affine affine =
      affine_of({{{3, 2 * std::cos(4 * turn), 0}, {0, 2 * std::sin(4 * turn), 0}, {0, 0, 5}}});
  expect_near(frame_change(Frame::image, Frame::scanner, affine),
              {{{std::cos(turn), std::sin(turn), 0}, {-std::sin(turn), std::cos(turn), 0}, {0, 0, 1}}});
}

TEST(FrameChange, IsOrthonormalAndKeepsHandedness) {
  for (const double sign : {1.0, -1.0}) {
    const Affine affine = affine_of({{{2 * sign, 0.1, 30}, {0, 2, 30}, {-0.2 * sign, 0, 32}}});
    const Matrix m = frame_change(Frame::image, Frame::scanner, affine);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        EXPECT_NEAR(m[i][0] * m[j][0] + m[i][1] * m[j][1] + m[i][2] * m[j][2], i == j ? 1 : 0, 1e-14);
    EXPECT_NEAR(determinant(affine_of(m)), sign, 1e-14);
    // Of all orthonormal matrices the nearest one makes m^T a symmetric and positive definite.
    Matrix product{};
    for (std::size_t j = 0; j < 3; ++j) {
      const double length = std::hypot(affine[0][j], affine[1][j], affine[2][j]);
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t k = 0; k < 3; ++k) product[i][j] += m[k][i] * affine[k][j] / length;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_GT(product[i][i], 0);
      for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(product[i][j], product[j][i], 1e-13);
    }
  }
}

TEST(FrameChange, ASingularAffineIsRefused) {
  EXPECT_THAT(message_of([] { frame_change(Frame::fsl, Frame::scanner, Affine{}); }),
              HasSubstr("the affine's determinant is 0"));
}

class GradientFiles : public Scratch {
 protected:
  Gradients fsl(const std::string& bval, const std::string& bvec, std::int64_t volumes,
                double b0_limit = 50) const {
    return read_fsl_gradients(make("x.bval", bval), make("x.bvec", bvec), volumes, b0_limit);
  }
  Gradients mrtrix(const std::string& text, std::int64_t volumes) const {
    return read_mrtrix_gradients(make("x.b", text), volumes);
  }
  std::string fsl_refusal(const std::string& bval, const std::string& bvec, std::int64_t volumes) const {
    return message_of([&] { fsl(bval, bvec, volumes); });
  }
  std::string mrtrix_refusal(const std::string& text, std::int64_t volumes) const {
    return message_of([&] { mrtrix(text, volumes); });
  }
};

const std::vector<Vector> kAxes{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, -1}};

TEST(GradientTables, AreReadAsFilesAre) {
  const std::vector<double> b{0, 1000, 2000, 3000};
  const Gradients rows = fsl_gradients({b, {0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1}, 3}, 4),
                  each = fsl_gradients({b, {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, -1}, 4}, 4);
  EXPECT_EQ(rows.directions, kAxes);
  EXPECT_EQ(each.directions, kAxes);
  EXPECT_EQ(rows.b, b);
  EXPECT_EQ(rows.frame, Frame::fsl);
  EXPECT_THAT(message_of([&] {
                fsl_gradients({b, std::vector<double>(12), 4}, 4);
              }),
              HasSubstr("bvecs[1]: volume 1 has b = 1000 s/mm^2 but no direction"));
  EXPECT_THAT(message_of([&] {
                fsl_gradients({b, std::vector<double>(12), 3}, 5);
              }),
              HasSubstr("bvals: 4 b-values, but the image has 5 volumes"));
  EXPECT_THAT(message_of([&] {
                fsl_gradients({b, std::vector<double>(12), 5}, 4);
              }),
              HasSubstr("bvecs: 12 numbers are not 5 rows"));
}

TEST_F(GradientFiles, ThreeRows) {
  const Gradients g = fsl("0 1000 2000 3000\n", "0 1 0 0\n0 0 1 0\n0 0 0 -1\n", 4);
  EXPECT_THAT(g.b, ElementsAre(0, 1000, 2000, 3000));
  EXPECT_EQ(g.directions, kAxes);
  EXPECT_EQ(g.frame, Frame::fsl);
}

TEST_F(GradientFiles, ARowEach) {
  EXPECT_EQ(fsl("0 1 2 3", "0 0 0\n1 0 0\n0 1 0\n0 0 -1", 4).directions, kAxes);
}

TEST_F(GradientFiles, ThreeByThreeIsRowsAsFslHasThem) {
  EXPECT_EQ(fsl("900 900 900", "0 0 1\n1 0 0\n0 1 0\n", 3).directions,
            (std::vector<Vector>{{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}));
}

TEST_F(GradientFiles, BValuesInAColumnBlanksCommasAndComments) {
  const Gradients g =
      fsl("# b\r\n0\r\n\r\n+1e3 # one\n 2000\t\n3000", " 0, 1,0 ,0\r\n0 0\t1 0\r\n0 0 0 -1", 4);
  EXPECT_THAT(g.b, ElementsAre(0, 1000, 2000, 3000));
  EXPECT_EQ(g.directions, kAxes);
}

TEST_F(GradientFiles, ADirectionMayBeMissingUpToTheLimit) {
  const Gradients g = fsl("0 5 50 1000", "0 nan 0 1\n0 NaN 0 0\n0 nan 0.01 0\n", 4);
  EXPECT_THAT(g.b, ElementsAre(0, 5, 50, 1000));
  EXPECT_EQ(g.directions, (std::vector<Vector>{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 0, 0}}));
  EXPECT_EQ(fsl("60 1000", "0 1\n0 0\n0 0\n", 2, 60).directions[0], (Vector{0, 0, 0}));
}

TEST_F(GradientFiles, WithoutWeightingThereIsNoDirection) {
  EXPECT_EQ(fsl("0 1000", "1 1\n0 0\n0 0\n", 2).directions, (std::vector<Vector>{{0, 0, 0}, {1, 0, 0}}));
}

TEST_F(GradientFiles, LengthsNearOneAreNormalisedOnly) {
  const Gradients g = fsl("1000 1000", "1.009 0\n0 0.991\n0 0\n", 2);
  EXPECT_THAT(g.b, ElementsAre(1000, 1000));
  EXPECT_EQ(g.directions, (std::vector<Vector>{{1, 0, 0}, {0, 1, 0}}));
  EXPECT_EQ(remark_on_lengths(g), "");
}

TEST_F(GradientFiles, OneLengthForAllIsNormalisedAndSaid) {
  const Gradients g = fsl("5 1000 1000", "0.2 1.3 0\n0 0 -1.3\n0 0 0\n", 3);
  EXPECT_THAT(g.b, ElementsAre(5, 1000, 1000));
  EXPECT_EQ(g.directions[2], (Vector{0, -1, 0}));
  EXPECT_EQ(remark_on_lengths(g),
            "directions have lengths of 1.3 to 1.3, not 1; b-values were kept as they are");
}

TEST_F(GradientFiles, LengthsThatDifferScaleB) {
  const Gradients g = fsl("1000 2000", "0.5 0\n0 0\n0 -1.5\n", 2);
  EXPECT_THAT(g.b, ElementsAre(250, 4500));
  EXPECT_EQ(g.directions, (std::vector<Vector>{{1, 0, 0}, {0, 0, -1}}));
  EXPECT_EQ(remark_on_lengths(g),
            "directions have lengths of 0.5 to 1.5, not 1; b-values were scaled by their squares");
}

TEST_F(GradientFiles, ScalingCanBeAskedForOrRefused) {
  const auto b = make("x.bval", "1000 2000"), same = make("same.bvec", "1.5 0\n0 0\n0 -1.5\n"),
             unlike = make("unlike.bvec", "0.5 0\n0 0\n0 -1.5\n");
  EXPECT_THAT(read_fsl_gradients(b, same, 2, 50, BValueScaling::yes).b, ElementsAre(2250, 4500));
  EXPECT_THAT(read_fsl_gradients(b, unlike, 2, 50, BValueScaling::no).b, ElementsAre(1000, 2000));
  for (const auto scaling : {BValueScaling::automatic, BValueScaling::yes, BValueScaling::no})
    EXPECT_EQ(parse_bvalue_scaling(name(scaling)), scaling);
  EXPECT_THAT(message_of([] { parse_bvalue_scaling("on"); }), HasSubstr("'on' is none of auto, yes, no"));
}

TEST_F(GradientFiles, AByteOrderMarkIsSkipped) {
  const Gradients g =
      fsl("\xEF\xBB\xBF"
          "0 1000",
          "\xEF\xBB\xBF"
          "0 1\n0 0\n0 0\n",
          2);
  EXPECT_THAT(g.b, ElementsAre(0, 1000));
}

TEST_F(GradientFiles, CountsThatDifferAreNamed) {
  EXPECT_THAT(fsl_refusal("0 1 2", "0 0 0\n1 0 0\n0 1 0\n0 0 1\n", 4),
              HasSubstr("x.bval: 3 b-values, but the image has 4 volumes"));
  EXPECT_THAT(fsl_refusal("", "0 0 0\n", 4), HasSubstr("x.bval: 0 b-values, but the image has 4 volumes"));
  EXPECT_THAT(fsl_refusal("0\n1 2\n3", "0 0 0\n", 4),
              HasSubstr("x.bval:2: 2 numbers in this row; 1 are expected"));
  EXPECT_THAT(fsl_refusal("0 1 2 3", "0 0 0 0\n0 0 0 0\n", 4),
              HasSubstr("x.bvec: 2 rows; 4 volumes need 3 rows of 4 numbers, or 4 rows of 3"));
  EXPECT_THAT(fsl_refusal("0 1 2 3", "0 0 0 0\n0 0 0 0\n\n0 0 0\n", 4),
              HasSubstr("x.bvec:4: 3 numbers in this row; 4 are expected"));
  EXPECT_THAT(fsl_refusal("0 1 2 3", "0 0 0\n0 0 0\n0 0\n0 0 0\n", 4),
              HasSubstr("x.bvec:3: 2 numbers in this row; 3 are expected"));
}

TEST_F(GradientFiles, WhatIsNoNumberIsShownWithItsPlace) {
  EXPECT_THAT(fsl_refusal("0 1x 2", "", 3), HasSubstr("x.bval:1:3: '1x' is no number"));
  EXPECT_THAT(fsl_refusal("0 1 2", "0 0 0\n0 0 0\n0 a0 0\n", 3), HasSubstr("x.bvec:3:3: 'a0' is no number"));
  EXPECT_THAT(fsl_refusal("\x01\xff", "", 3), HasSubstr("x.bval:1:1: '?\?' is no number"));
}

TEST_F(GradientFiles, BThatMakesNoSenseIsRefused) {
  const std::string bvec = "1 0\n0 1\n0 0\n";
  EXPECT_THAT(fsl_refusal("0 -5", bvec, 2), HasSubstr("x.bval:1: b = -5 of volume 1; it must be 0 or more"));
  EXPECT_THAT(fsl_refusal("0\nnan", bvec, 2), HasSubstr("x.bval:2: b = nan of volume 1"));
  EXPECT_THAT(fsl_refusal("inf 0", bvec, 2), HasSubstr("b = inf of volume 0"));
}

TEST_F(GradientFiles, AMissingDirectionAboveTheLimitIsRefused) {
  EXPECT_THAT(fsl_refusal("0 1000", "0 0\n0 0\n0 0\n", 2),
              AllOf(HasSubstr("x.bvec: volume 1 has b = 1000 s/mm^2 but no direction (0 0 0)"),
                    HasSubstr("it may be missing up to b = 50")));
  EXPECT_THAT(fsl_refusal("0 51", "0 0 0\nnan nan nan\n", 2), HasSubstr("x.bvec"));
  EXPECT_THAT(fsl_refusal("0 1000 1000 1000", "0 0 0\n1 0 0\n0 inf 0\n1 0 0\n", 4),
              HasSubstr("x.bvec:3: volume 2 has b = 1000 s/mm^2 but no direction (0 inf 0)"));
}

TEST_F(GradientFiles, AMissingFileIsNamed) {
  EXPECT_THAT(message_of([&] { read_fsl_gradients(directory / "none", directory / "none", 1); }),
              HasSubstr("none: No such file"));
  EXPECT_THAT(message_of([&] { read_mrtrix_gradients(directory / "none", 1); }),
              HasSubstr("none: No such file"));
}

TEST_F(GradientFiles, MrtrixTable) {
  const Gradients g = mrtrix("# command_history: x\n0 0 0 0\n0 0.6 -0.8 1000\n2,0,0,500\n", 3);
  EXPECT_THAT(g.b, ElementsAre(0, 1000, 2000));
  EXPECT_EQ(g.directions, (std::vector<Vector>{{0, 0, 0}, {0, 0.6, -0.8}, {1, 0, 0}}));
  EXPECT_EQ(g.frame, Frame::scanner);
}

TEST_F(GradientFiles, MrtrixTableRefused) {
  EXPECT_THAT(mrtrix_refusal("0 0 0 0\n1 0 0 1000\n", 3),
              HasSubstr("x.b: 2 rows, but the image has 3 volumes"));
  EXPECT_THAT(mrtrix_refusal("0 0 0 0\n1 0 0\n", 2),
              HasSubstr("x.b:2: 3 numbers in this row; 4 are expected"));
  EXPECT_THAT(mrtrix_refusal("0 0 0 0\n1 0 0 -1\n", 2), HasSubstr("x.b:2: b = -1 of volume 1"));
  EXPECT_THAT(mrtrix_refusal("0 0 0 0\n0 0 0 700\n", 2), HasSubstr("x.b:2: volume 1 has b = 700"));
}

}  // namespace
}  // namespace warploom::io
