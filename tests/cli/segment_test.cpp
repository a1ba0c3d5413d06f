#include "warploom/imaging/segment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "../imaging/segment_phantom.hpp"
#include "../oracle/chan_vese.hpp"
#include "run_tool.hpp"
#include "warploom/io/nifti.hpp"
#include "warploom/io/png.hpp"

namespace warploom {
namespace {

using imaging::Grid;
using imaging::SegmentPhantom;
using testing::AnyOf;
using testing::HasSubstr;
using Json = nlohmann::json;

class SegmentVerb : public testing::Test {
 protected:
  SegmentVerb() {
    std::string pattern = (std::filesystem::temp_directory_path() / "warploom_segment_XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~SegmentVerb() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& file) const { return (directory_ / file).string(); }
  bool there(const std::string& file) const { return std::filesystem::exists(path(file)); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }

  /// Grey, or in a colour whose green alone tells.
  std::string write_png(const SegmentPhantom& phantom, bool colour = false) const {
    const Grid& grid = phantom.image.grid;
    io::Picture picture{.width = grid.nx, .height = grid.ny, .channels = colour ? 3 : 1, .data = {}};
    for (const float v : phantom.image.data) {
      const auto grey = static_cast<std::uint16_t>(std::clamp(80 + 100 * v, 0.0F, 255.0F));
      if (colour) picture.data.push_back(40);
      picture.data.push_back(grey);
      if (colour) picture.data.push_back(40);
    }
    io::write_png(path("in.png"), picture);
    return path("in.png");
  }

  std::string write_nifti(const SegmentPhantom& phantom, std::int64_t volumes = 1) const {
    const Grid& grid = phantom.image.grid;
    io::Nifti nifti;
    nifti.shape = {grid.nx, grid.ny, grid.nz};
    if (volumes > 1) nifti.shape.push_back(volumes);
    nifti.spacing = grid.spacing;
    nifti.affine = {{{-grid.spacing[0], 0, 0, 12}, {0, grid.spacing[1], 0, -7}, {0, 0, grid.spacing[2], 3}}};
    for (std::int64_t k = 0; k < volumes; ++k)  // the phantom comes last
      for (const float v : phantom.image.data) nifti.data.push_back(k + 1 < volumes ? -v : v);
    io::write_nifti(path("in.nii.gz"), nifti);
    return path("in.nii.gz");
  }

  ToolRun segment(const std::string& arguments) const {
    return run_tool("segment --device cpu " + arguments);
  }

  std::filesystem::path directory_;
};

imaging::Mask mask_of(const std::vector<std::uint16_t>& values) {
  imaging::Mask mask;
  for (const std::uint16_t v : values) mask.push_back(v != 0 ? 1 : 0);
  return mask;
}

const Grid kPlane{100, 80, 1}, kVolume{40, 36, 30, {1, 1, 1.5}};

TEST_F(SegmentVerb, APngBecomesAMaskContoursAPictureAndAReport) {
  const SegmentPhantom phantom = imaging::segment_phantom(kPlane, 5);
  for (const bool colour : {false, true}) {
    const ToolRun run =
        segment(write_png(phantom, colour) + " --force -o " + path("mask.png") + " --contour " +
                path("c.svg") + " --overlay " + path("o.png") + " --report " + path("r.json"));
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.out, HasSubstr("100 x 80 pixels"));
    const io::Picture mask = io::read_png(path("mask.png"));
    EXPECT_EQ(mask.width, 100);
    EXPECT_EQ(*std::ranges::max_element(mask.data), 255);
    EXPECT_GE(oracle::dice(mask_of(mask.data), phantom.truth), 0.98);
    EXPECT_THAT(read_file(path("c.svg")), HasSubstr("viewBox=\"0 0 100 80\""));
    const io::Picture overlay = io::read_png(path("o.png"));
    EXPECT_EQ(overlay.width, 700);
    EXPECT_EQ(overlay.height, 560);
    EXPECT_EQ(overlay.channels, 3);
    const Json report = Json::parse(read_file(path("r.json")));
    EXPECT_EQ(report["stop"], "converged");
    EXPECT_LE(report["gap"].get<double>(), 1e-3);
    EXPECT_LE(report["lower_bound"].get<double>(), report["mask_energy"].get<double>());
    EXPECT_EQ(report["inside_voxels"], std::ranges::count(mask_of(mask.data), 1));
  }
}

TEST_F(SegmentVerb, AVolumesMaskLiesWhereTheImageDoes) {
  const SegmentPhantom phantom = imaging::segment_phantom(kVolume, 5);
  const ToolRun run = segment(write_nifti(phantom) + " -o " + path("m.nii") + " --contour " + path("c.json") +
                              " --overlay " + path("o.png") + " --tolerance 1e-4 --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const io::Nifti mask = io::read_nifti(path("m.nii"));
  EXPECT_EQ(mask.shape, (std::vector<std::int64_t>{40, 36, 30}));
  EXPECT_EQ(mask.type, io::NiftiType::uint8);
  EXPECT_EQ(mask.affine, io::read_nifti(path("in.nii.gz")).affine);
  EXPECT_GE(oracle::dice(imaging::Mask(mask.data.begin(), mask.data.end()), phantom.truth), 0.98);
  const Json report = Json::parse(run.out);
  EXPECT_NEAR(report["inside_mm3"].get<double>(), 1.5 * report["inside_voxels"].get<double>(), 1e-6);
  const Json contours = Json::parse(read_file(path("c.json")));
  EXPECT_EQ(contours["size"], (Json{40, 36, 30}));
  EXPECT_GT(contours["slices"].size(), 10u);
  EXPECT_TRUE(there("o.png"));
}

TEST_F(SegmentVerb, OneVolumeOfASeriesIsTaken) {
  const SegmentPhantom phantom = imaging::segment_phantom(kVolume, 5);
  const std::string in = write_nifti(phantom, 3);
  const ToolRun unsaid = segment(in + " -o " + path("m.nii"));
  EXPECT_EQ(unsaid.code, 2);
  EXPECT_THAT(unsaid.err, HasSubstr("a series of 3 volumes; say which with --volume 0 to 2"));
  EXPECT_EQ(segment(in + " --volume 3 -o " + path("m.nii")).code, 2);
  ASSERT_EQ(segment(in + " --volume 2 --tolerance 1e-4 -o " + path("m.nii")).code, 0);
  const io::Nifti mask = io::read_nifti(path("m.nii"));
  EXPECT_GE(oracle::dice(imaging::Mask(mask.data.begin(), mask.data.end()), phantom.truth), 0.98);
}

TEST_F(SegmentVerb, StartsAndSides) {
  const SegmentPhantom phantom = imaging::segment_phantom(kPlane, 5);
  const std::string in = write_png(phantom) + " --force --inside dark -o " + path("dark.png");
  for (const std::string how : {"", " --method level-set", " --method level-set --start disk",
                                " --method level-set --start ball", " --method level-set --start box"}) {
    ASSERT_EQ(segment(in + how).code, 0) << how;
    imaging::Mask mask = mask_of(io::read_png(path("dark.png")).data);
    for (std::uint8_t& v : mask) v = v != 0 ? 0 : 1;
    EXPECT_GE(oracle::dice(mask, phantom.truth), 0.98) << how;
  }
  // Its own mask is where the contour stays.
  ASSERT_EQ(segment(path("in.png") + " -o " + path("again.png") +
                    " --method level-set --start mask:" + path("dark.png"))
                .code,
            0);
  EXPECT_GE(oracle::dice(mask_of(io::read_png(path("again.png")).data), phantom.truth), 0.98);
}

TEST_F(SegmentVerb, TheLevelSetDoesNotSayThatItConverged) {
  const std::string in = write_png(imaging::segment_phantom(kPlane, 5));
  for (const std::string how : {"", " --mu 1", " --start disk --max-iterations 300"}) {
    const ToolRun run = segment(in + " --force --method level-set -o " + path("m.png") + how);
    ASSERT_EQ(run.code, 0);
    EXPECT_EQ(run.out.find("converged"), run.out.npos) << run.out;
  }
}

TEST_F(SegmentVerb, AMaskLeavesPixelsOut) {
  const SegmentPhantom phantom = imaging::segment_phantom(kPlane, 5);
  const std::string in = write_png(phantom);
  io::Picture left{.width = 100, .height = 80, .channels = 1, .data = {}};
  for (int v = 0; v < 8000; ++v) left.data.push_back(v % 100 < 50 ? 255 : 0);
  io::write_png(path("left.png"), left);
  const ToolRun run = segment(in + " --mask " + path("left.png") + " -o " + path("m.png"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("4000 voxels count"));
  const imaging::Mask mask = mask_of(io::read_png(path("m.png")).data);
  imaging::Mask truth = phantom.truth;
  for (std::size_t v = 0; v < truth.size(); ++v)
    if (v % 100 >= 50) truth[v] = 0;
  EXPECT_GE(oracle::dice(mask, truth), 0.98);
}

TEST_F(SegmentVerb, ThreeClassesAreWrittenAsThree) {
  SegmentPhantom phantom = imaging::segment_phantom(kPlane, 0);
  for (std::size_t v = 0; v < phantom.truth.size(); ++v)
    if (v % 100 > 50) phantom.image.data[v] *= 0.5F;
  imaging::add_noise(phantom.image, 0.05, 1);
  const ToolRun run = segment(write_png(phantom) + " --classes 3 -o " + path("m.png") + " --contour " +
                              path("c.svg") + " --json");
  ASSERT_EQ(run.code, 0) << run.err;
  std::vector<std::uint16_t> values = io::read_png(path("m.png")).data;
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  EXPECT_EQ(values, (std::vector<std::uint16_t>{0, 127, 255}));
  EXPECT_EQ(Json::parse(run.out)["classes"]["means"].size(), 3u);
}

TEST_F(SegmentVerb, AnyPairOfMeansGivesTheSameFile) {
  const std::string in = write_png(imaging::segment_phantom(kPlane, 3));
  ASSERT_EQ(segment(in + " -o " + path("m.png")).code, 0);
  ASSERT_EQ(segment(in + " --means 250,251.5 -o " + path("n.png")).code, 0);
  EXPECT_EQ(read_file(path("m.png")), read_file(path("n.png")));
}

TEST_F(SegmentVerb, AFileThatAsksForMoreThanMaxMemoryIsRefused) {
  const std::string png = write_png(imaging::segment_phantom(kPlane, 5));
  const std::string nifti = write_nifti(imaging::segment_phantom(kVolume, 5));
  for (const std::string& in : {png, nifti}) {
    const ToolRun run = segment(in + " --max-memory 20K --force -o " + path("m.nii"));
    EXPECT_EQ(run.code, 2);
    // Of a file that is larger itself its bytes are told, else what its header asks for.
    EXPECT_THAT(run.err, AnyOf(HasSubstr("bytes, the limit is 20480; is it the right file? (--max-memory)"),
                               HasSubstr("the limit is 20.5 kB (--max-memory)")));
    EXPECT_EQ(segment(in + " --max-memory 10M --force -o " + path("m.nii")).code, 0);
  }
}

TEST_F(SegmentVerb, RefusesWhatItCannotDoAndWritesNothing) {
  const SegmentPhantom phantom = imaging::segment_phantom(kPlane, 5);
  const std::string png = write_png(phantom), nifti = write_nifti(imaging::segment_phantom(kVolume, 5));
  const std::string out = " -o " + path("m.png");
  const std::size_t before = files();
  const std::pair<std::string, std::string> cases[] = {
      {png + " -o " + path("m.jpg"), "a mask is written as .nii, .nii.gz or .png"},
      {png + " -o " + png + "/m.png", "is no folder"},
      {png + " -o " + png, "--force"},
      {png + out + " --contour " + path("c.txt"), "contours are written as .svg or .json"},
      {png + out + " --overlay " + path("o.jpg"), "pictures are written as .png"},
      {png + out + " --report " + path("r.txt"), "reports are written as .json"},
      {nifti + out, "has 30 slices; write a .nii or .nii.gz"},
      {nifti + " -o " + path("m.nii") + " --contour " + path("c.svg"), "has 30 slices; write a .json"},
      {png + out + " --start disk", "--start: the result of --method convex does not depend on one"},
      {png + out + " --inside start", "--inside start"},
      {png + out + " --method snake", "'snake' is none of convex and level-set"},
      {png + out + " --noise loud", "'loud' is none of auto, equal and counts"},
      {png + out + " --classes 1", "--classes is 1, it must be 2 to 16"},
      {png + out + " --means 7", "expected two numbers"},
      {png + out + " --max-memory lots", "--max-memory lots: expected a number of bytes"},
      {png + out + " --mask " + nifti, "40 x 36 x 30 voxels, the image has 100 x 80 x 1"},
      {png + out + " --method level-set --classes 3", "--classes: the level-set method has two sides"},
      {png + out + " --start circle", "'circle' is none of checkerboard, disk, box and mask"},
      {png + out + " --start mask", "--start mask:FILE"},
      {png + out + " --start mask:" + nifti, "40 x 36 x 30 voxels, the image has 100 x 80 x 1"},
      {png + out + " --start mask:" + path("no.png"), "no.png"},
      {png + out + " --inside left", "'left' is none of bright, dark and start"},
      {png + out + " --mu -1", "mu is -1"},
      {png + out + " --tolerance -1", "the tolerance is -1"},
      {path("no.png") + out, "no.png"},
      {"/dev/null" + out, "/dev/null"},
  };
  for (const auto& [arguments, says] : cases) {
    const ToolRun run = segment(arguments);
    EXPECT_EQ(run.code, 2) << arguments << "\n" << run.out << run.err;
    EXPECT_THAT(run.err, HasSubstr(says)) << arguments;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_EQ(files(), before) << arguments;
  }
}

TEST_F(SegmentVerb, ReadsStandardInput) {
  const std::string in = write_png(imaging::segment_phantom(kPlane, 5));
  const ToolRun run = run_shell("\"$WARPLOOM\" segment --device cpu - -o " + path("m.png") + " < " + in);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("<stdin>"));
}

TEST_F(SegmentVerb, NotANumberIsCounted) {
  SegmentPhantom phantom = imaging::segment_phantom(kVolume, 5);
  phantom.image.data[5] = NAN;
  const ToolRun run = segment(write_nifti(phantom) + " -o " + path("m.nii"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("1 of 43200 voxels are NaN or infinite"));
  EXPECT_FALSE(there("m.nii"));
}

}  // namespace
}  // namespace warploom
