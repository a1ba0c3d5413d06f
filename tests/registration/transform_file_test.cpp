#include "warploom/registration/transform_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <string>

#include "registration/scenes.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/io/nifti.hpp"

namespace warploom::registration {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class TransformFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path at(const std::string& name) const { return folder_ / name; }

 private:
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("warploom-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "-" +
       std::to_string(::getpid()));
};

/// Where a file's transforms take a point of ITK's world (LPS), in that world.
Point of_lps(const std::string& text, const Point& p) {
  std::vector<Point> points{{-p[0], -p[1], p[2]}};
  map_points(parse_transform(text, "t.txt"), points);
  return {-points[0][0], -points[0][1], points[0][2]};
}

std::string itk(const std::string& type, const std::string& parameters, const std::string& fixed) {
  return "#Insight Transform File V1.0\n#Transform 0\nTransform: " + type + "\nParameters: " + parameters +
         "\nFixedParameters: " + fixed + "\n";
}

void expect_near(const Point& found, const Point& want, double tolerance) {
  for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(found[c], want[c], tolerance) << c;
}

// Files and points as SimpleITK 2.5.7 wrote them and as its TransformPoint() gave them.
TEST(ItkTransforms, LeadWhereItkLeads) {
  const Point p{3, -4, 5.5};
  const auto leads = [&](const std::string& type, const std::string& parameters, const std::string& fixed,
                         const Point& want) {
    SCOPED_TRACE(type);
    expect_near(of_lps(itk(type, parameters, fixed), p), want, 1e-12);
  };
  leads("AffineTransform_double_3_3", "1.1 0.2 -0.1 0.05 0.9 0.3 -0.2 0.1 1.05 1 -2 3", "10 20 -30",
        {-5.05, 6.699999999999999, 9.275});
  leads("MatrixOffsetTransformBase_double_3_3", "1.1 0.2 -0.1 0.05 0.9 0.3 -0.2 0.1 1.05 1 -2 3", "10 20 -30",
        {-5.05, 6.699999999999999, 9.275});
  leads("Euler3DTransform_double_3_3", "0.1 -0.2 0.3 1 2 3", "5 6 7 0",
        {7.297451079494366, -1.8187245852581584, 7.143556719420827});
  leads("Euler3DTransform_double_3_3", "0.1 -0.2 0.3 1 2 3", "5 6 7 1",
        {7.496349149648248, -1.7955958182165268, 7.161471897534597});
  leads("VersorRigid3DTransform_double_3_3", "0.1 0.2 -0.3 1 2 3", "5 6 7",
        {-1.9105882070271651, 1.491042774324356, 8.857165780540516});
  leads("VersorTransform_double_3_3", "0.1 0.2 -0.3", "5 6 7",
        {-2.910588207027166, -0.508957225675644, 5.857165780540516});
  leads("Similarity3DTransform_double_3_3", "0.1 0.2 -0.3 1 2 3 1.2", "5 6 7",
        {-3.492705848432598, 0.1892513291892275, 8.628598936648618});
  leads("TranslationTransform_double_3_3", "1 2 3", "", {4, -2, 8.5});
  leads("Euler2DTransform_double_2_2", "0.3 1 2", "5 6", {7.044529088362184, -2.1444053045787395, 5.5});
  leads("Similarity2DTransform_double_2_2", "1.2 0.3 1 2", "5 6",
        {7.25343490603462, -4.173286365494485, 5.5});
  leads("AffineTransform_double_2_2", "1.1 0.2 -0.1 0.9 1 -2", "10 20", {-1.5, -2.9000000000000004, 5.5});
  expect_near(
      of_lps(
          "#Insight Transform File V1.0\n#Transform 0\nTransform: CompositeTransform_double_3_3\n#Transform 1\n"
          "Transform: TranslationTransform_double_3_3\nParameters: 1 2 3\nFixedParameters: \n#Transform 2\n"
          "Transform: Euler3DTransform_double_3_3\nParameters: 0.1 -0.2 0.3 1 2 3\nFixedParameters: 5 6 7 0\n",
          p),
      {8.297451079494365, 0.1812754147418416, 10.143556719420827}, 1e-12);
}

TEST_F(TransformFiles, AffinesComeBackFromEveryFormat) {
  const Affine affine{{{1.1, 0.2, -0.1, 3}, {-0.3, 0.9, 0.25, -7}, {0.05, -0.15, 1.2, 11}}};
  const auto same = [&](const TransformChain& chain) {
    ASSERT_EQ(chain.size(), 1u);
    EXPECT_EQ(std::get<Affine>(chain[0].map), affine);
  };
  write_affine(at("a.txt"), affine), same(read_transform(at("a.txt")));
  write_affine(at("a.mat"), affine), same(read_transform(at("a.mat")));
  write_affine(at("g.mat"), affine, AffineFormat::matrix), same(read_transform(at("g.mat")));
  EXPECT_TRUE(read_file(at("a.mat")).size() == 20 + 27 + 96 + 20 + 6 + 24) << "ITK's own has so many bytes";
}

TEST_F(TransformFiles, FieldComesBackAndLiesInLpsInTheFile) {
  const DisplacementField field = waves(box(6, 5, 4, kOblique), 3);
  write_field(at("f.nii.gz"), field);
  const TransformChain chain = read_transform(at("f.nii.gz"));
  EXPECT_EQ(std::get<DisplacementField>(chain.at(0).map).mm, field.mm);
  const io::Nifti file = io::read_nifti(at("f.nii.gz"));
  EXPECT_EQ(file.shape, (std::vector<std::int64_t>{6, 5, 4, 1, 3}));
  EXPECT_EQ(file.intent, 1007);
  EXPECT_EQ(file.type, io::NiftiType::float32);
  for (std::size_t v = 0; v < 120; ++v) {
    EXPECT_EQ(file.data[v], -field.mm[v]);
    EXPECT_EQ(file.data[120 + v], -field.mm[120 + v]);
    EXPECT_EQ(file.data[240 + v], field.mm[240 + v]);
  }
}

TEST_F(TransformFiles, PlaneFieldHasTwoComponents) {
  DisplacementField field = waves(box(6, 5, 1, picture_affine()), 3);
  std::fill(field.mm.begin() + 60, field.mm.end(), 0.0F);
  write_field(at("f.nii"), field);
  EXPECT_EQ(io::read_nifti(at("f.nii")).shape, (std::vector<std::int64_t>{6, 5, 1, 1, 2}));
  EXPECT_EQ(std::get<DisplacementField>(read_transform(at("f.nii")).at(0).map).mm, field.mm);
  // A slice that stands upright has displacements along z.
  field.space.to_world = {{{1, 0, 0, 0}, {0, 0, 1, 0}, {0, 1, 0, 0}}};
  write_field(at("g.nii"), field);
  EXPECT_EQ(io::read_nifti(at("g.nii")).shape, (std::vector<std::int64_t>{6, 5, 1, 1, 3}));
}

TEST_F(TransformFiles, FslsAffineAndFieldLeadAlike) {
  // One reference whose x runs to the right and one to the left: FSL counts x from the other end in the
  // first.
  const Space moving = box(30, 28, 26, {{{-1, 0, 0, 14}, {0, 1, 0, -13}, {0, 0, 1, -12}}});
  for (const double x : {1.5, -1.5}) {
    Space fixed = box(20, 19, 18, {{{x, 0, 0, -x * 9}, {0, 1.25, 0, -11}, {0, 0, 2, -17}}});
    fixed.grid.spacing = {1.5, 1.25, 2};
    const Affine affine{{{1.02, 0.05, 0, 1}, {-0.05, 0.98, 0.02, -2}, {0, 0.03, 1, 0.5}}};
    write_fsl_affine(at("a.mat"), affine, fixed, moving);
    const TransformChain from_matrix = parse_fsl_transform(read_file(at("a.mat")), "a.mat", fixed, moving);
    write_fsl_field(at("f.nii"), field_of(affine, fixed), moving);
    const TransformChain from_field = parse_fsl_transform(read_file(at("f.nii")), "f.nii", fixed, moving);
    const Point p = map_point(fixed.to_world, {7, 8, 9}), want = map_point(affine, p);
    for (const TransformChain& chain : {from_matrix, from_field}) {
      std::vector<Point> points{p};
      map_points(chain, points);
      expect_near(points[0], want, 1e-5);
    }
  }
}

TEST_F(TransformFiles, FslsIdentityJoinsVoxelsOfEqualGrids) {
  // flirt -usesqform is not needed where both grids are equal: its identity is voxel onto voxel.
  const Space a = box(10, 9, 8, {{{2, 0, 0, -7}, {0, 2, 0, 1}, {0, 0, 2, 3}}});
  Space moving = a;
  moving.grid.spacing = {2, 2, 2};
  moving.to_world[0][3] = 55;
  Space fixed = a;
  fixed.grid.spacing = {2, 2, 2};
  std::vector<Point> points{map_point(fixed.to_world, {3, 4, 5})};
  map_points(parse_fsl_transform("1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n", "i.mat", fixed, moving), points);
  expect_near(points[0], map_point(moving.to_world, {3, 4, 5}), 1e-12);
}

struct Broken {
  const char *text, *message;
};
class BrokenTransforms : public testing::TestWithParam<Broken> {};
TEST_P(BrokenTransforms, AreRefusedInWords) {
  EXPECT_THAT([&] { parse_transform(GetParam().text, "t.txt"); },
              ThrowsMessage<BadInput>(HasSubstr(GetParam().message)));
}
INSTANTIATE_TEST_SUITE_P(
    Texts, BrokenTransforms,
    testing::Values(
        Broken{"", "t.txt: the file is empty"},
        Broken{"1 0 0 0\n0 1 0 0\n0 0 1 0\n", "3 lines of four numbers"},
        Broken{"1 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n", "t.txt:1:1: expected four numbers, found 3"},
        Broken{"1 0 0 0\n0 1 0 zero\n", "t.txt:2:7: expected a number, found 'zero'"},
        Broken{"1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 2\n", "the last line is 0 0 0 2"},
        Broken{"1 0 0 0\n0 1 0 0\n1 1 0 0\n0 0 0 1\n", "cannot be inverted"},
        Broken{"1 0 0 nan\n0 1 0 0\n0 0 1 0\n0 0 0 1\n", "has the number nan"},
        Broken{"1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n0 0 0 1\n", "expected the end"},
        Broken{"#Insight Transform File V1.0\n", "ends before its first 'Transform:'"},
        Broken{
            "#Insight Transform File V1.0\nTransform: AffineTransform_double_3_3\nParameters: 1 0 0 0 1 0 0 0 1 0 0 0\n",
            "truncated"},
        Broken{
            "#Insight Transform File V1.0\nTransform: AffineTransform_double_3_3\nParameters: 1 0 0\nFixedParameters: 0 0 0\n",
            "has 12 parameters, and this one 3"},
        Broken{
            "#Insight Transform File V1.0\nTransform: BSplineTransform_double_3_3\nParameters: 1\nFixedParameters: 0\n",
            "'BSplineTransform_double_3_3' is not read"},
        Broken{
            "#Insight Transform File V1.0\nTransform: Euler3DTransform_double_3_3\nParameters: 0 0 nan 0 0 0\nFixedParameters: 0 0 0\n",
            "has the number"},
        Broken{
            "#Insight Transform File V1.0\nTransform: VersorRigid3DTransform_double_3_3\nParameters: 1 1 0 0 0 0\nFixedParameters: 0 0 0\n",
            "versor of length"},
        Broken{"#Insight Transform File V1.0\nTransform: CompositeTransform_double_3_3\n",
               "a composite of no transforms"},
        Broken{"\x89HDF\r\n", "an HDF5 file"}));

TEST_F(TransformFiles, BrokenFieldsAreRefusedInWords) {
  io::Nifti file{.shape = {4, 3, 2, 1, 3}, .intent = 1007, .data = std::vector<float>(72)};
  const auto refused = [&](const char* message) {
    io::write_nifti(at("f.nii"), file);
    EXPECT_THAT([&] { read_transform(at("f.nii")); }, ThrowsMessage<BadInput>(HasSubstr(message)));
  };
  file.intent = 0;
  refused("NIfTI intent 0; a displacement field");
  file.intent = 2006;
  refused("one of FSL is named fsl:FILE");
  file.intent = 1007, file.data[5] = std::nanf("");
  refused("1 of 72 displacements are not finite");
  file.data[5] = 0, file.shape = {4, 3, 2, 3};
  refused("the extents [4, 3, 2, 3]");
  file.shape = {4, 3, 2, 1, 3};
  io::write_nifti(at("f.nii"), file);
  const std::string whole = read_file(at("f.nii"));
  EXPECT_THAT([&] { parse_transform(whole.substr(0, 500), "f.nii"); },
              ThrowsMessage<BadInput>(HasSubstr("f.nii")));
  write_affine(at("a.mat"), identity_affine());
  const std::string mat = read_file(at("a.mat"));
  for (std::size_t size = 1; size < mat.size(); ++size)
    EXPECT_THROW(parse_transform(mat.substr(0, size), "a.mat"), BadInput) << size;
}

}  // namespace
}  // namespace warploom::registration
