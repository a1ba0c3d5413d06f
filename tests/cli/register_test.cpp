#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../registration/phantom.hpp"
#include "run_tool.hpp"
#include "warploom/core/file.hpp"
#include "warploom/registration/align.hpp"
#include "warploom/registration/deform.hpp"
#include "warploom/registration/resample.hpp"
#include "warploom/registration/transform_file.hpp"

namespace warploom {
namespace {

using namespace registration;
using testing::HasSubstr;
using Json = nlohmann::json;

class Register : public testing::Test {
 protected:
  Register() {
    std::string pattern = (std::filesystem::temp_directory_path() / "warploom_register_XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~Register() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& file) const { return (directory_ / file).string(); }
  bool there(const std::string& file) const { return std::filesystem::exists(path(file)); }
  ToolRun run(const std::string& arguments) const {
    return run_shell("cd '" + directory_.string() + "' && \"$WARPLOOM\" register " + arguments);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }

  /// Two heads, of which the fixed one is bent and turned; the truth takes points from the fixed to the
  /// moving one.
  void write_heads() {
    write_placed(path("fixed.nii.gz"), fixed_ = head_on(space_around(34, 38, 30), truth));
    write_placed(path("moving.nii.gz"), moving_ = head_on(space_around(36, 36, 33, {2.1, 2.1, 2})));
  }
  static Point truth(const Point& p) {
    const Point q{p[0] + 2 * std::sin(p[1] / 12), p[1] + 2 * std::sin(p[2] / 13),
                  p[2] + 1.5 * std::cos(p[0] / 14)};
    return {q[0] + 0.1 * q[1] + 3, q[1] - 0.1 * q[0] - 2, q[2] + 2};
  }

  PlacedImage fixed_, moving_;

 private:
  std::filesystem::path directory_;
};

TEST_F(Register, WritesTheWarpedImageTheFieldsAndTheReport) {
  write_heads();
  const ToolRun done = run(
      "fixed.nii.gz moving.nii.gz -o warped.nii.gz --field warp.nii.gz --affine a.mat --inverse back.nii.gz --jacobian j.nii.gz --report r.json "
      "--levels 40,30 --time");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("folding     none (proved by "));
  EXPECT_THAT(done.out, HasSubstr("deforming"));
  const PlacedImage warped = read_placed(path("warped.nii.gz"));
  EXPECT_EQ(warped.space().grid, fixed_.image.grid);
  double squares = 0, before = 0;
  for (std::size_t i = 0; i < warped.image.data.size(); ++i) {
    squares += std::pow(double(warped.image.data[i] - fixed_.image.data[i]), 2);
    before += std::pow(double(fixed_.image.data[i]), 2);
  }
  EXPECT_LT(squares, 0.01 * before);

  // The field as another program would read it: the map of the truth.
  const DisplacementField field = std::get<DisplacementField>(read_transform(path("warp.nii.gz"))[0].map);
  double sum = 0;
  int count = 0;
  const auto voxels = static_cast<std::size_t>(field.space.grid.voxels());
  std::size_t i = 0;
  for (std::int64_t z = 0; z < 30; ++z)
    for (std::int64_t y = 0; y < 38; ++y)
      for (std::int64_t x = 0; x < 34; ++x, ++i) {
        const Point p = map_point(field.space.to_world,
                                  {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)});
        const Point q = truth(p);
        if (head_at(q) < 40) continue;
        sum += std::hypot(p[0] + double(field.mm[i]) - q[0], p[1] + double(field.mm[voxels + i]) - q[1],
                          p[2] + double(field.mm[2 * voxels + i]) - q[2]);
        ++count;
      }
  EXPECT_LT(sum / count, 0.4);  // a fifth of a voxel, with few iterations

  const Json report = Json::parse(read_file(path("r.json")));
  EXPECT_EQ(report["schema"], "warploom.register/1");
  EXPECT_TRUE(report["folding"]["proved_none"]);
  EXPECT_EQ(report["deformation"]["measure"].size(), 70U);
  EXPECT_GT(report["affine_stage"]["starts"], 600);
  EXPECT_EQ(report["options"]["levels"], Json({40, 30}));

  // There and back.
  const ToolRun back = run(
      "apply moving.nii.gz --reference moving.nii.gz -t back.nii.gz -t warp.nii.gz --composed both.nii.gz -o same.nii.gz");
  ASSERT_EQ(back.code, 0) << back.err;
  const DisplacementField both = std::get<DisplacementField>(read_transform(path("both.nii.gz"))[0].map);
  double off = 0;
  count = 0;
  i = 0;
  const auto all = static_cast<std::size_t>(both.space.grid.voxels());
  for (std::int64_t z = 0; z < 33; ++z)
    for (std::int64_t y = 0; y < 36; ++y)
      for (std::int64_t x = 0; x < 36; ++x, ++i) {
        if (moving_.image.data[i] < 40) continue;
        off += std::hypot(double(both.mm[i]), double(both.mm[all + i]), double(both.mm[2 * all + i]));
        ++count;
      }
  EXPECT_LT(off / count, 0.1);  // .05 voxel
}

TEST_F(Register, WritesFslsFilesToo) {
  write_heads();
  const std::string rigid = "fixed.nii.gz moving.nii.gz --method rigid --init header";
  ASSERT_EQ(run(rigid + " --field warp.nii.gz --affine a.txt --inverse back.nii.gz").code, 0);
  const ToolRun done =
      run(rigid + " --field fsl:{}_warp.nii.gz --affine fsl:a.mat --inverse fsl:fsl_back.nii.gz");
  ASSERT_EQ(done.code, 0) << done.err;
  // FSL's own coordinates join both images' voxels, so that each is told of the images that it is between.
  const auto differ = [&](const std::string& image, const std::string& onto, const std::string& itk,
                          const std::string& fsl) {
    for (const auto& [name, transform] : {std::pair{"itk.nii.gz", itk}, {"fsl.nii.gz", "fsl:" + fsl}})
      EXPECT_EQ(
          run(fmt::format("apply {} --reference {} -t {} -o {} --force", image, onto, transform, name)).code,
          0);
    const auto a = read_placed(path("itk.nii.gz")), b = read_placed(path("fsl.nii.gz"));
    double most = 0;
    for (std::size_t i = 0; i < a.image.data.size(); ++i)
      most = std::max(most, std::abs(double(a.image.data[i]) - double(b.image.data[i])));
    return most;
  };
  EXPECT_LT(differ("moving.nii.gz", "fixed.nii.gz", "warp.nii.gz", "moving_warp.nii.gz"), 0.1);
  EXPECT_LT(differ("moving.nii.gz", "fixed.nii.gz", "a.txt", "a.mat"), 0.1);
  EXPECT_LT(differ("fixed.nii.gz", "moving.nii.gz", "back.nii.gz", "fsl_back.nii.gz"), 0.1);
}

TEST_F(Register, TakesMasksStartsAndTheHeadersWord) {
  write_heads();
  PlacedImage mask = fixed_;
  for (float& v : mask.image.data) v = 1;
  write_placed(path("mask.nii.gz"), mask);
  const ToolRun rigid = run(
      "fixed.nii.gz moving.nii.gz --method rigid --fixed-mask mask.nii.gz --init header --affine a.txt --json");
  ASSERT_EQ(rigid.code, 0) << rigid.err;
  const Json report = Json::parse(rigid.out);
  EXPECT_EQ(report["affine_stage"]["starts"], 0);
  EXPECT_FALSE(report.contains("deformation"));
  const ToolRun kept =
      run("fixed.nii.gz moving.nii.gz --method affine --init a.txt --keep-init --affine b.txt");
  ASSERT_EQ(kept.code, 0) << kept.err;
  const Affine a = std::get<Affine>(read_transform(path("a.txt"))[0].map),
               b = std::get<Affine>(read_transform(path("b.txt"))[0].map);
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(a[r][c], b[r][c], 1e-9);
}

TEST_F(Register, CurvatureLowersDifferencesAndThePageShowsIt) {
  write_heads();
  const std::string heads = "fixed.nii.gz moving.nii.gz --json --levels 30,20 ";
  const ToolRun affine = run(heads + "--method affine --measure ssd --affine a.txt");
  ASSERT_EQ(affine.code, 0) << affine.err;
  const ToolRun done = run(heads + "--method curvature --init a.txt --keep-init -o w.nii.gz --qc qc.html");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(Json::parse(done.out)["folding"]["proved_none"], true);
  EXPECT_THAT(read_file(path("qc.html")), HasSubstr("moving.nii.gz on fixed.nii.gz"));

  // Voxels of two sizes blur the head differently, so that the true map leaves differences, too.
  DisplacementField true_map = zero_field(fixed_.space());
  const imaging::Grid& grid = fixed_.image.grid;
  const auto voxels = static_cast<std::size_t>(grid.voxels());
  for (std::size_t i = 0; i < voxels; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const Point p = map_point(fixed_.to_world,
                              {static_cast<double>(at % grid.nx), static_cast<double>(at / grid.nx % grid.ny),
                               static_cast<double>(at / (grid.nx * grid.ny))});
    for (std::size_t c = 0; c < 3; ++c) true_map.mm[c * voxels + i] = static_cast<float>(truth(p)[c] - p[c]);
  }
  const auto squares = [&](const PlacedImage& image) {
    double sum = 0;
    for (std::size_t i = 0; i < voxels; ++i)
      sum += std::pow(double(image.image.data[i]) - double(fixed_.image.data[i]), 2);
    return sum;
  };
  const double with_affine = squares(resample(moving_, fixed_.space(), read_transform(path("a.txt")))),
               with_truth = squares(resample(moving_, fixed_.space(), {{true_map}})),
               found = squares(read_placed(path("w.nii.gz")));
  EXPECT_LT(found - with_truth, 0.1 * (with_affine - with_truth));
}

TEST_F(Register, RegistersPictures) {
  ASSERT_EQ(
      run_shell(
          "cd '" + path("") +
          "' && \"$WARPLOOM\" example image && printf '0.966 -0.259 0 -28\\n0.259 0.966 0 45\\n0 0 1 0\\n0 0 0 1\\n' > turn.mat")
          .code,
      0);
  ASSERT_EQ(run("apply cells.png --reference cells.png -t turn.mat -o turned.png").code, 0);
  const ToolRun done = run("cells.png turned.png --method rigid -o back.png --affine back.txt");
  ASSERT_EQ(done.code, 0) << done.err;
  // Turned there and back: every point is where it was.
  const Affine turn = std::get<Affine>(read_transform(path("turn.mat"))[0].map),
               back = std::get<Affine>(read_transform(path("back.txt"))[0].map);
  const Affine both = compose(back, turn);
  const Point middle{-160, -120, 0}, there = map_point(both, middle);
  EXPECT_LT(std::hypot(there[0] - middle[0], there[1] - middle[1]), 0.2);
}

// Coarse voxels show this head hardly less like itself when it lies the wrong way round.
TEST_F(Register, KeepsThePoseThatHeadersHaveNearlyRight) {
  ASSERT_EQ(run_shell("cd '" + path("") + "' && \"$WARPLOOM\" example heads").code, 0);
  const ToolRun done = run("head1.nii.gz head2.nii.gz --method affine --affine a.txt --json");
  ASSERT_EQ(done.code, 0) << done.err;
  const Affine found = std::get<Affine>(read_transform(path("a.txt"))[0].map);
  EXPECT_GT(found[0][0] + found[1][1] + found[2][2], 2.8);
}

TEST_F(Register, ComparesLabelsWithOthers) {
  const auto write_labels = [&](const std::string& name, std::int64_t rows, std::vector<float> labels) {
    PlacedImage image;
    image.image = imaging::Image({3, rows, 1}, 1);
    image.image.data = std::move(labels);
    write_placed(path(name), image);
  };
  write_labels("a.nii", 2, {1, 1, 2, 0, 2, 2});
  write_labels("b.nii", 2, {1, 2, 2, 0, 2, 0});
  write_file_atomically(path("same.txt"), "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
  const std::string apply = "apply a.nii --reference a.nii -t same.txt -o c.nii --force --compare ";
  const ToolRun done = run(apply + "b.nii --labels");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out,
              HasSubstr("overlap     Dice 0.667, the mean of 2 labels; the least 0.667, of label 1"));
  const Json labels = Json::parse(run(apply + "b.nii --labels --json").out)["overlap"]["labels"];
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_EQ(labels[1]["voxels"], 3);
  EXPECT_EQ(labels[1]["compared_voxels"], 3);

  EXPECT_THAT(run(apply + "b.nii").err, HasSubstr("--compare compares maps of labels: it needs --labels"));
  write_labels("small.nii", 1, {1, 2, 2});
  EXPECT_THAT(run(apply + "small.nii --labels").err,
              HasSubstr("--compare small.nii: maps of labels to compare have one size"));
  EXPECT_THAT(run("apply -t same.txt --points p.csv --points-out q.csv --compare b.nii").err,
              HasSubstr("--compare compares maps of labels"));
}

TEST_F(Register, TellsHowFarLandmarksAreOff) {
  write_heads();
  std::string fixed = "x,y,z,name\n", moving = "x,y,z\n";
  double before = 0;
  const std::vector<Point> places{{0, 0, 0}, {10, -12, 5}, {-14, 9, -6}, {6, 15, 8}};
  for (const Point& p : places) {
    const Point q = truth(p);
    // ITK's axes, of which two run the other way.
    fixed += fmt::format("{:.6f},{:.6f},{:.6f},7\n", -p[0], -p[1], p[2]);
    moving += fmt::format("{:.6f},{:.6f},{:.6f}\n", -q[0], -q[1], q[2]);
    before += std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]) / static_cast<double>(places.size());
  }
  write_file_atomically(path("fixed.csv"), fixed);
  write_file_atomically(path("moving.csv"), moving);
  const std::string points =
      " --fixed-points fixed.csv --moving-points moving.csv --axes lps --levels 30,20 ";
  const ToolRun done = run("fixed.nii.gz moving.nii.gz --report r.json" + points);
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr(fmt::format("points      4: {:.2f} mm off before", before)));
  EXPECT_THAT(done.out, HasSubstr("point 4 "));
  const Json found = Json::parse(read_file(path("r.json")))["landmarks_mm"];
  EXPECT_NEAR(found["before"]["mean"], before, 1e-4);
  EXPECT_LT(found["affine"]["mean"], before / 2);
  EXPECT_LT(found["after"]["largest"], 0.8);  // .4 voxel
  EXPECT_EQ(found["points"].size(), 4U);
  EXPECT_EQ(found["points"][2]["after"] <= found["after"]["largest"], true);
}

TEST_F(Register, TakesSeveralMovingImagesInOneRun) {
  write_heads();
  write_placed(path("other.nii"), head_on(space_around(34, 34, 30)));
  const ToolRun done =
      run("fixed.nii.gz moving.nii.gz other.nii --method rigid -o 'out/{}.nii.gz' --affine '{}.txt' --json");
  ASSERT_EQ(done.code, 0) << done.err;
  const Json report = Json::parse(done.out)["registrations"];
  ASSERT_EQ(report.size(), 2U);
  EXPECT_EQ(report[1]["moving"], "other.nii");
  // Each as if it were alone.
  ASSERT_EQ(run("fixed.nii.gz other.nii --method rigid -o alone.nii.gz").code, 0);
  EXPECT_EQ(read_placed(path("out/other.nii.gz")).image.data, read_placed(path("alone.nii.gz")).image.data);
  EXPECT_TRUE(there("moving.txt") && there("other.txt") && there("out/moving.nii.gz"));
}

TEST_F(Register, RefusesWhatNeedsMoreMemoryThanItMay) {
  write_heads();
  const std::size_t before = files();
  const ToolRun done = run("fixed.nii.gz moving.nii.gz -o w.nii.gz --max-memory 3M");
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(done.err,
              testing::AllOf(HasSubstr("needs "), HasSubstr("the limit is 3"), HasSubstr("--max-memory")));
  EXPECT_EQ(files(), before);
  const ToolRun enough = run("fixed.nii.gz moving.nii.gz --method rigid --json --max-memory 30M -v");
  EXPECT_THAT(enough.err, HasSubstr("of memory at most; the limit is 30.0 MiB"));
  ASSERT_EQ(enough.code, 0) << enough.err;
  EXPECT_EQ(Json::parse(enough.out)["memory_bytes"],
            70 * fixed_.image.grid.voxels() + 10 * moving_.image.grid.voxels());
}

TEST_F(Register, CtrlCLeavesNoFile) {
  write_heads();
  const std::size_t before = files();
  for (const char* stage :
       {"--levels 100000 --init header --keep-init", "--levels 0,100000 --method demons"}) {
    const ToolRun done = run_and_signal(
        "cd '" + path("") +
        "'\n\"$WARPLOOM\" register fixed.nii.gz moving.nii.gz -o out/w.nii.gz --affine a.txt " + stage);
    EXPECT_EQ(done.code, 130) << done.err;
    EXPECT_EQ(files(), before) << stage;
  }
}

TEST_F(Register, SaysWhatIsWrongAndWritesNothing) {
  write_heads();
  const auto refused = [&](const std::string& arguments, const std::string& says) {
    const std::size_t before = files();
    const ToolRun done = run(arguments);
    EXPECT_EQ(done.code, 2) << arguments;
    EXPECT_THAT(done.err, HasSubstr(says)) << arguments;
    EXPECT_EQ(files(), before) << arguments;
  };
  const std::string two = "fixed.nii.gz moving.nii.gz ", out = " -o warped.nii.gz";
  refused("fixed.nii.gz" + out, "two images are needed");
  refused(two, "nothing to write");
  refused(two + "-o warped.jpg", ".nii.gz or .png");
  refused(two + "--levels 10,x" + out, "--levels 10,x");
  refused(two + "--method elastic" + out, "rigid, similarity, affine, greedy, curvature and demons");
  refused(two + "--measure mse" + out, "lncc, nmi, ssd and ngf");
  refused(two + "--radius 0" + out, "--radius");
  refused(two + "--method affine --measure ssd --device cuda" + out, "by ssd are found on the CPU alone");
  refused(two + "--measure nmi --device cuda" + out, "by nmi are found on the CPU alone");
  for (const std::string_view method : {"curvature", "demons"})
    refused(fmt::format("{}--method {} --device cuda{}", two, method, out),
            fmt::format("by {} are found on the CPU alone", method));
  refused(two + "--keep-init" + out, "start to keep");
  refused("fixed.nii.gz none.nii.gz" + out, "none.nii.gz");
  refused("fixed.nii.gz moving.nii.gz moving.nii.gz" + out, "2 moving images; put {}");
  refused("fixed.nii.gz moving.nii.gz moving.nii.gz -o '{}_w.nii.gz'", "moving_w.nii.gz");
  refused(two + "--fixed-points p.csv" + out, "go together");
  write_file_atomically(path("one.csv"), "1,2,3\n");
  write_file_atomically(path("two.csv"), "1,2,3\n4,5,6\n");
  refused(two + "--fixed-points one.csv --moving-points two.csv" + out,
          "one.csv has 1 points and two.csv has 2");

  PlacedImage image = fixed_;
  image.image = imaging::Image(image.image.grid, 3);
  write_placed(path("colours.nii.gz"), image);
  refused("fixed.nii.gz colours.nii.gz" + out, "3 values a voxel");
  image = fixed_;
  std::fill(image.image.data.begin(), image.image.data.end(), std::nanf(""));
  write_placed(path("nan.nii.gz"), image);
  refused("fixed.nii.gz nan.nii.gz" + out, "no value that is finite");
  std::fill(image.image.data.begin(), image.image.data.end(), 0.0F);
  write_placed(path("empty.nii.gz"), image);
  refused("fixed.nii.gz empty.nii.gz" + out, "everywhere");
  refused(two + "--fixed-mask empty.nii.gz" + out, "leaves no voxel");
  refused(two + "--moving-mask empty.nii.gz" + out, "empty.nii.gz");
  write_placed(path("slice.nii.gz"), head_on(space_around(30, 30, 1)));
  refused("fixed.nii.gz slice.nii.gz" + out, "two dimensions");
  write_placed(path("sagittal.nii.gz"), head_on(space_around(1, 30, 30)));
  refused("sagittal.nii.gz sagittal.nii.gz" + out, "is a slice of 1 x 30 x 30 voxels");
  write_file_atomically(path("singular.mat"), "1 0 0 0\n0 1 0 0\n0 0 0 0\n0 0 0 1\n");
  refused(two + "--init singular.mat" + out, "singular.mat");
  write_file_atomically(path("away.mat"), "1 0 0 900\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
  refused(two + "--init away.mat" + out, "no voxel of the fixed image meets");
  refused(two + "--init away.mat --keep-init" + out, "no voxel of the fixed image meets");
}

}  // namespace
}  // namespace warploom
