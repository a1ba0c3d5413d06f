#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "../registration/scenes.hpp"
#include "run_tool.hpp"
#include "warploom/core/file.hpp"
#include "warploom/imaging/image_file.hpp"
#include "warploom/imaging/tensor_order.hpp"
#include "warploom/io/nifti.hpp"
#include "warploom/registration/resample.hpp"
#include "warploom/registration/space.hpp"
#include "warploom/registration/transform_file.hpp"

namespace warploom {
namespace {

using namespace registration;
using testing::HasSubstr;
using Json = nlohmann::json;

class RegisterApply : public testing::Test {
 protected:
  RegisterApply() {
    std::string pattern = (std::filesystem::temp_directory_path() / "warploom_apply_XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~RegisterApply() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& file) const { return (directory_ / file).string(); }
  bool there(const std::string& file) const { return std::filesystem::exists(path(file)); }
  ToolRun apply(const std::string& arguments) const {
    return run_shell("cd '" + directory_.string() + "' && \"$WARPLOOM\" register apply " + arguments);
  }

  /// fixed.nii, moving.nii with labels, warp.nii.gz on fixed's voxels, affine.txt.
  void write_scene() {
    moving_ = {imaging::Image({14, 13, 12, {1, 1, 1}}, 1),
               {{{-1, 0, 0, 6}, {0, 1, 0, -6}, {0, 0, 1, -6}}},
               io::NiftiType::uint8};
    for (std::size_t v = 0; v < moving_.image.data.size(); ++v)
      moving_.image.data[v] = static_cast<float>(v / 3 % 7);
    fixed_ = {imaging::Image({10, 9, 8, {1, 1, 1}}, 1), {{{1, 0, 0, -4}, {0, 1, 0, -4}, {0, 0, 1, -4}}}};
    write_placed(path("moving.nii"), moving_);
    write_placed(path("fixed.nii"), fixed_);
    field_ = waves(fixed_.space(), 0.8);
    write_field(path("warp.nii.gz"), field_);
    write_affine(path("affine.txt"), affine_);
  }

  PlacedImage moving_, fixed_;
  DisplacementField field_;
  const Affine affine_{{{0.98, 0.1, 0, 0.5}, {-0.1, 1.02, 0, 0.25}, {0, 0, 1, -0.5}}};

 private:
  std::filesystem::path directory_;
};

TEST_F(RegisterApply, LabelsAreThoseOfTheLibrary) {
  write_scene();
  const ToolRun run =
      apply("moving.nii --labels --reference fixed.nii -t warp.nii.gz -t affine.txt -o out.nii.gz");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("out.nii.gz: 10 x 9 x 8 voxels (labels)"));
  const PlacedImage out = read_placed(path("out.nii.gz"));
  EXPECT_EQ(out.image.data,
            resample(moving_, fixed_.space(), {{field_}, {affine_}}, Interpolation::labels).image.data);
  EXPECT_EQ(out.type, io::NiftiType::uint8);
  EXPECT_EQ(out.to_world, fixed_.to_world);
}

TEST_F(RegisterApply, ComposedLeadsAsThePartsDoAndIsProvedNotToFold) {
  write_scene();
  ASSERT_EQ(
      apply(
          "--reference fixed.nii -t warp.nii.gz -t affine.txt --composed one.nii.gz --jacobian j.nii.gz --report r.json")
          .code,
      0);
  ASSERT_EQ(apply("moving.nii --reference fixed.nii -t one.nii.gz -o a.nii.gz --interpolation cubic").code,
            0);
  ASSERT_EQ(
      apply("moving.nii --reference fixed.nii -t warp.nii.gz -t affine.txt -o b.nii.gz --interpolation cubic")
          .code,
      0);
  EXPECT_EQ(read_placed(path("a.nii.gz")).image.data, read_placed(path("b.nii.gz")).image.data);
  const Json report = Json::parse(read_file(path("r.json")));
  EXPECT_EQ(report["folding"]["proved_none"], true);
  EXPECT_EQ(report["folding"]["certificate"], "Bernstein coefficients");
  const PlacedImage jacobian = read_placed(path("j.nii.gz"));
  for (const float value : jacobian.image.data)
    EXPECT_GT(value, report["folding"]["lower_bound"].get<double>());
}

TEST_F(RegisterApply, PageShowsBothImages) {
  write_scene();
  ASSERT_EQ(
      apply("moving.nii --reference fixed.nii -t warp.nii.gz -t affine.txt -o out.nii.gz --qc qc.html").code,
      0);
  const std::string html = read_file(path("qc.html"));
  EXPECT_THAT(html, HasSubstr("moving.nii on fixed.nii"));
  EXPECT_THAT(html, HasSubstr("Checkerboard"));
  EXPECT_THAT(html, HasSubstr("proved by Bernstein coefficients"));
}

TEST_F(RegisterApply, FoldsAreCounted) {
  write_scene();
  field_.mm[100] = 40;
  write_field(path("folded.nii.gz"), field_);
  const ToolRun run = apply("-t folded.nii.gz --jacobian j.nii.gz");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr(" of 504 cells fold"));
}

TEST_F(RegisterApply, PointsGoThereAndBack) {
  write_scene();
  write_file_atomically(path("p.csv"), "x,y,z,score\n0.5,-1,1.25,7\n-2,1,0,8\n");
  const std::string with = " -t warp.nii.gz -t affine.txt --points ";
  ASSERT_EQ(apply(with + "p.csv --points-out q.csv").code, 0);
  ASSERT_EQ(apply("--inverse" + with + "q.csv --points-out back.csv").code, 0);
  const std::string back = read_file(path("back.csv"));
  EXPECT_THAT(back, testing::StartsWith("x,y,z,score\n"));
  double x = 0, y = 0, z = 0, score = 0;
  ASSERT_EQ(std::sscanf(back.c_str() + 12, "%lf,%lf,%lf,%lf", &x, &y, &z, &score), 4);
  EXPECT_NEAR(x, 0.5, 1e-4);
  EXPECT_NEAR(y, -1, 1e-4);
  EXPECT_NEAR(z, 1.25, 1e-4);
  EXPECT_EQ(score, 7);
  // LPS is RAS with two signs.
  write_file_atomically(path("l.csv"), "-0.5,1,1.25\n");
  ASSERT_EQ(apply(with + "l.csv --axes lps --points-out m.csv").code, 0);
  double a = 0, b = 0, c = 0;
  ASSERT_EQ(std::sscanf(read_file(path("q.csv")).c_str() + 12, "%lf,%lf,%lf", &x, &y, &z), 3);
  ASSERT_EQ(std::sscanf(read_file(path("m.csv")).c_str(), "%lf,%lf,%lf", &a, &b, &c), 3);
  EXPECT_NEAR(a, -x, 1e-8);
  EXPECT_NEAR(b, -y, 1e-8);
  EXPECT_NEAR(c, z, 1e-8);
}

TEST_F(RegisterApply, TensorsOfEveryOrderTurnAlike) {
  write_scene();
  // By 90 degrees about z, from fixed to moving: what lies along x of the moving image lies along -y or y of
  // the fixed.
  write_affine(path("turn.txt"), {{{0, -1, 0, 0}, {1, 0, 0, 0}, {0, 0, 1, 0}}});
  const imaging::Grid& grid = moving_.image.grid;
  for (const imaging::TensorOrder order :
       {imaging::TensorOrder::fsl, imaging::TensorOrder::mrtrix, imaging::TensorOrder::nifti}) {
    imaging::TensorImage tensors(grid, 6);
    for (std::size_t v = 0; v < tensors.data.size(); ++v) {
      const double values[] = {1.5, 0.25, 0, 0.5, 0, 0.25};
      tensors.data[v] = static_cast<float>(values[v / static_cast<std::size_t>(grid.voxels())]);
    }
    // xy as it stands in the scanner's frame.
    imaging::change_frame(tensors, io::Frame::scanner, imaging::usual_frame(order), moving_.to_world);
    to_order(tensors, order, 1);
    io::Nifti file{.affine = moving_.to_world, .data = tensors.data};
    mark_order(file, order, grid);
    io::write_nifti(path("dti.nii"), file);
    const ToolRun run =
        apply("dti.nii --tensors --force --reference fixed.nii -t turn.txt -o turned.nii --order " +
              std::string(name(order)));
    ASSERT_EQ(run.code, 0) << run.err;
    io::Nifti read = io::read_nifti(path("turned.nii"));
    EXPECT_EQ(imaging::order_of(read, order, "turned.nii"), order);
    imaging::TensorImage out = imaging::take_volumes(read, "turned.nii");
    imaging::from_order(out, order, 1);
    imaging::change_frame(out, imaging::usual_frame(order), io::Frame::scanner, fixed_.to_world);
    const std::size_t middle = (4 * 9 + 4) * 10 + 4, voxels = 720;
    const double want[] = {0.5, -0.25, 0, 1.5, 0, 0.25};  // R^T D R
    for (std::size_t c = 0; c < 6; ++c)
      EXPECT_NEAR(out.data[c * voxels + middle], want[c], 1e-6) << name(order) << c;
  }
}

struct Refusal {
  const char *arguments, *message;
};
class RegisterApplyRefuses : public RegisterApply, public testing::WithParamInterface<Refusal> {};
TEST_P(RegisterApplyRefuses, InWordsAndWritesNothing) {
  write_scene();
  write_file_atomically(path("short.mat"), "1 0 0 0\n0 1 0 0\n");
  write_file_atomically(path("empty.nii"), "");
  write_file_atomically(path("half.nii.gz"), read_file(path("warp.nii.gz")).substr(0, 200));
  const ToolRun run = apply(GetParam().arguments);
  EXPECT_EQ(run.code, 2) << run.out;
  EXPECT_THAT(run.err, HasSubstr(GetParam().message));
  for (const char* file : {"out.nii", "p2.csv", "c.nii", "c.txt"}) EXPECT_FALSE(there(file)) << file;
}
INSTANTIATE_TEST_SUITE_P(
    BadInput, RegisterApplyRefuses,
    testing::Values(
        Refusal{"", "nothing to do"}, Refusal{"moving.nii -t warp.nii.gz", "without -o"},
        Refusal{"moving.nii -t affine.txt -o out.nii", "--reference is missing"},
        Refusal{"moving.nii -t absent.nii -o out.nii", "absent.nii"},
        Refusal{"moving.nii -t short.mat --reference fixed.nii -o out.nii", "2 lines of four numbers"},
        Refusal{"moving.nii -t empty.nii --reference fixed.nii -o out.nii", "the file is empty"},
        Refusal{"moving.nii -t half.nii.gz -o out.nii", "half.nii.gz"},
        Refusal{"moving.nii -t fixed.nii -o out.nii", "the extents [10, 9, 8]"},
        Refusal{"moving.nii -t warp.nii.gz -o out.jpg", ".nii, .nii.gz or .png"},
        Refusal{"moving.nii -t warp.nii.gz -o out.png", "one slice"},
        Refusal{"moving.nii --tensors -t warp.nii.gz -o out.nii", "order"},
        Refusal{"-t warp.nii.gz --composed c.txt", "a displacement field among the transforms"},
        Refusal{"-t fsl:short.mat --composed c.nii --reference fixed.nii",
                "FSL's transforms need both images"},
        Refusal{"-t warp.nii.gz --composed c.nii --qc c.html", "--qc needs"},
        Refusal{"-t warp.nii.gz --points p.csv", "--points and --points-out"},
        Refusal{"-t warp.nii.gz --points absent.csv --points-out p2.csv", "absent.csv"},
        Refusal{"moving.nii --interpolation sinc -t warp.nii.gz -o out.nii", "interpolation 'sinc'"}));

}  // namespace
}  // namespace warploom
