// What `warploom denoise` refuses: one clear line, exit code 2, and no file left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <map>

#include "cli/denoise_images.hpp"

namespace warploom {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class DenoiseErrors : public DenoiseTest {
 protected:
  std::map<std::string, std::string> contents(const std::filesystem::path& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.is_regular_file()) files[entry.path().filename().string()] = content_of(entry.path());
    return files;
  }

  /// One line about `reason`, exit code 2, and the directory as it was.
  void expect_refused(const std::string& arguments, const std::vector<std::string>& reasons) const {
    SCOPED_TRACE(arguments);
    const auto before = contents(directory);
    const ToolRun run = run_denoise(arguments);
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, StartsWith("warploom: "));
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    for (const std::string& reason : reasons) EXPECT_THAT(run.err, HasSubstr(reason));
    EXPECT_EQ(contents(directory), before) << "files were left behind or changed";
  }
  void expect_series_refused(const std::vector<std::string>& reasons, const std::string& more = "") const {
    expect_refused("@/dwi.nii --bval @/series.bval --bvec @/series.bvec -o @/out --mask none " + more,
                   reasons);
  }
  void put_some_series() const { put_series("dwi.nii", imaging::fibre(1, 0, 0), kLeftHanded); }
};

TEST_F(DenoiseErrors, MissingFile) {
  expect_refused("@/no.nii --order fsl -o @/out", {"no.nii", "No such file"});
}

TEST_F(DenoiseErrors, NoNifti) {
  make("in.nii", "not an image");
  expect_refused("@/in.nii --order fsl -o @/out", {"in.nii"});
}

TEST_F(DenoiseErrors, TruncatedGzip) {
  put_phantom("in.nii.gz");
  const std::string whole = content_of(path("in.nii.gz"));
  make("in.nii.gz", whole.substr(0, whole.size() / 2));
  expect_refused("@/in.nii.gz --order fsl -o @/out", {"in.nii.gz", "cut off"});
}

TEST_F(DenoiseErrors, TruncatedData) {
  put_phantom("in.nii");
  std::filesystem::resize_file(path("in.nii"), 2000);
  expect_refused("@/in.nii --order fsl -o @/out", {"in.nii", "cut off"});
}

TEST_F(DenoiseErrors, WrongNumberOfVolumes) {
  io::Nifti in = tensor_file(noisy_phantom(6), kFslOrder, kUnturned, kLeftHanded);
  in.shape = {6, 6, 6, 5};
  in.data.resize(5 * 216);
  put("in.nii", in);
  expect_refused("@/in.nii --order fsl -o @/out",
                 {"[6, 6, 6, 5]", "a tensor image has 6", "--bval", "--vector"});
}

TEST_F(DenoiseErrors, ThreeAxesForASeries) {
  put_some_series();
  io::Nifti in = get("dwi.nii");
  in.shape = {4, 4, 4};
  in.data.resize(64);
  put("dwi.nii", in);
  expect_series_refused({"[4, 4, 4]", "four, [X, Y, Z, volumes]"});
}

TEST_F(DenoiseErrors, SixAxes) {
  io::Nifti in = tensor_file(noisy_phantom(6), kFslOrder, kUnturned, kLeftHanded);
  in.shape = {6, 6, 1, 6, 1, 6};
  put("in.nii", in);
  expect_refused("@/in.nii --order fsl -o @/out", {"[6, 6, 1, 6, 1, 6]"});
}

TEST_F(DenoiseErrors, OrderThatTheHeaderDoesNotTell) {
  io::Nifti in = tensor_file(noisy_phantom(6), kFslOrder, kUnturned, kLeftHanded);
  in.description = "MRtrix version: 3.0.3";
  put("in.nii", in);
  expect_refused("@/in.nii -o @/out", {"--order fsl", "mrtrix", "'MRtrix version: 3.0.3'"});
}

TEST_F(DenoiseErrors, MismatchedCountOfBValues) {
  put_some_series();
  make("series.bval", "0 0 1000\n");
  expect_series_refused({"series.bval", "3", "14"});
}

TEST_F(DenoiseErrors, MismatchedCountOfDirections) {
  put_some_series();
  make("series.bvec", "0 1\n0 0\n0 0\n");
  expect_series_refused({"series.bvec", "14"});
}

TEST_F(DenoiseErrors, BValuesThatAreNoNumbers) {
  put_some_series();
  make("series.bval", "0 0 x 1000\n");
  expect_series_refused({"series.bval", "x"});
}

TEST_F(DenoiseErrors, AllBValuesZero) {
  put_some_series();
  make("series.bval", "0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  expect_series_refused({"series.bval: no b-value is above 50 s/mm^2", "--b0-threshold"});
}

TEST_F(DenoiseErrors, TooFewVolumesAfterTheChoice) {
  put_some_series();
  make("series.bval", "0 0 2000 2000 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000\n");
  expect_series_refused({"2000"}, "--shells 3000");
  expect_series_refused({"4"}, "--shells 2000");
}

TEST_F(DenoiseErrors, NothingButNan) {
  io::Nifti in = tensor_file(noisy_phantom(6), kFslOrder, kUnturned, kLeftHanded);
  std::ranges::fill(in.data, std::numeric_limits<float>::quiet_NaN());
  put("in.nii", in);
  expect_refused("@/in.nii --order fsl -o @/out", {"every voxel holds a NaN"});
  put_some_series();
  in = get("dwi.nii");
  std::ranges::fill(in.data, std::numeric_limits<float>::quiet_NaN());
  put("dwi.nii", in);
  expect_series_refused({"every voxel holds a NaN"});
}

TEST_F(DenoiseErrors, NothingButZeros) {
  io::Nifti in = tensor_file(noisy_phantom(6), kFslOrder, kUnturned, kLeftHanded);
  std::ranges::fill(in.data, 0.0F);
  put("in.nii", in);
  expect_refused("@/in.nii --order fsl -o @/out", {"no voxel is inside the mask (nonzero): all are 0"});
}

TEST_F(DenoiseErrors, AffineThatCannotBeInverted) {
  put_phantom("in.nii");
  std::string bytes = content_of(path("in.nii"));
  const float flat[12] = {2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 2, 0};  // srow_x, srow_y, srow_z at byte 280: x twice
  std::memcpy(bytes.data() + 280, flat, sizeof flat);
  make("in.nii", bytes);
  expect_refused("@/in.nii --order fsl -o @/out", {"in.nii", "invert"});
}

TEST_F(DenoiseErrors, UnitThatCannotBe) {
  put("um.nii", tensor_file(noisy_phantom(6), kFslOrder, kUnturned, kLeftHanded, 1));
  expect_refused("@/um.nii --order fsl -o @/out", {"median trace", "too much for mm^2/s", "--unit um2/ms"});
  put_phantom("mm.nii", 6);
  expect_refused("@/mm.nii --order fsl -o @/out --unit um2/ms", {"median trace", "too little for um^2/ms"});
}

TEST_F(DenoiseErrors, MasksThatDoNotFit) {
  put_phantom("in.nii", 6);
  io::Nifti mask = tensor_file(noisy_phantom(6), kFslOrder, kUnturned, kLeftHanded);
  mask.shape = {6, 6, 5};
  mask.data.assign(180, 1);
  put("small.nii", mask);
  expect_refused("@/in.nii --order fsl -o @/out --mask @/small.nii", {"[6, 6, 5]", "6 x 6 x 6"});
  mask.shape = {6, 6, 6};
  mask.data.assign(216, 0);
  put("empty.nii", mask);
  expect_refused("@/in.nii --order fsl -o @/out --mask @/empty.nii",
                 {"no voxel is inside the mask", "empty.nii"});
  expect_refused("@/in.nii --order fsl -o @/out --mask @/absent.nii", {"absent.nii", "No such file"});
}

TEST_F(DenoiseErrors, OutputsThatExist) {
  put_phantom("in.nii", 6);
  make("out_MD.nii.gz", "precious");
  expect_refused("@/in.nii --order fsl -o @/out", {"out_MD.nii.gz exists", "--force"});
  make("report.json", "precious");
  expect_refused("@/in.nii --order fsl -o @/new --report @/report.json", {"report.json exists", "--force"});
  EXPECT_EQ(run_denoise("@/in.nii --order fsl -o @/out --report @/report.json --force").code, 0);
  EXPECT_THAT(get("out_MD.nii.gz").shape, testing::ElementsAre(6, 6, 6));
}

TEST_F(DenoiseErrors, MissingFoldersAreMade) {
  put_phantom("in.nii", 6);
  EXPECT_EQ(run_denoise("@/in.nii --order fsl -o @/some/where/out --report /dev/null").code, 0);
  EXPECT_THAT(get("some/where/out_MD.nii.gz").shape, testing::ElementsAre(6, 6, 6));
}

TEST_F(DenoiseErrors, ExchangedBvalAndBvec) {
  put_some_series();
  std::filesystem::rename(directory / "series.bval", directory / "other");
  std::filesystem::rename(directory / "series.bvec", directory / "series.bval");
  std::filesystem::rename(directory / "other", directory / "series.bvec");
  expect_series_refused({"series.bval holds directions", "series.bvec holds b-values", "they are swapped"});
}

TEST_F(DenoiseErrors, OutputsThatCannotBe) {
  put_phantom("in.nii", 6);
  expect_refused("@/in.nii --order fsl -o @/in.nii/out", {"in.nii is no folder"});
  expect_refused("@/in.nii --order fsl -o @/absent/out --report @", {"it is a folder; name a file"});
  expect_refused("@/in.nii --order fsl -o @/out --report @/r --qc @/r", {"named twice"});
}

TEST_F(DenoiseErrors, BadOptions) {
  put_phantom("in.nii", 6);
  put_some_series();
  const std::string tensors = "@/in.nii --order fsl -o @/out ";
  const std::map<std::string, std::string> refused{
      {"--lambda 0", "--lambda: '0' is not a number above 0"},
      {"--lambda nan", "--lambda: 'nan'"},
      {"--lambda=-3", "--lambda: '-3'"},
      {"--epsilon 1e999", "--epsilon: '1e999'"},
      {"--tolerance 0", "--tolerance: '0' is not a number above 0"},
      {"--max-iterations 0", "--max-iterations: '0' is not a whole number from 1"},
      {"--step 1", "--step is for --solver descent"},
      {"--solver newton", "newton"},
      {"--solver primal-dual --epsilon 0.1", "epsilon"},
      {"--regulariser tgv --epsilon 0.01", "--epsilon and other solvers do not go with it"},
      {"--regulariser tgv --solver descent", "--regulariser tgv is minimised by primal-dual"},
      {"--regulariser tgv --tgv-ratio 0", "--tgv-ratio: '0' is not a number above 0"},
      {"--regulariser tgv --tgv-ratio 1000",
       "the ratio of generalised variation is 1000; it must be from 0.001"},
      {"--tgv-ratio 3", "--tgv-ratio is of --regulariser tgv, and it is auto"},
      {"--device tpu", "tpu"},
      {"--device-memory 0", "--device-memory: '0'"},
      {"--threads 0", "--threads: '0'"},
      {"--maps fa,xy", "--maps: 'xy' is none of all, none, fa"},
      {"--maps s0", "s0 comes from the fit of a series"},
      {"--format zip", "--format: 'zip' is neither nii nor nii.gz"},
      {"--gzip-level 13", "--gzip-level: '13' is not a whole number from 1 to 12"},
      {"--unit m2/s", "--unit: 'm2/s' is neither mm2/s nor um2/ms"},
      {"--frame brain", "brain"},
      {"--output-order itk", "--output-order: 'itk' is none of fsl"},
      {"--shells 1000", "--shells is for a series"},
      {"--fit ols", "--fit is for a series"},
      {"--bval @/series.bval", "--bvec is missing"},
      {"--vector", "--order tells how a tensor image is to be read"},
      {"--smooth", "option '--smooth' is not known"}};
  for (const auto& [options, reason] : refused) expect_refused(tensors + options, {reason});
  expect_refused("@/in.nii --order fsl", {"--output is required"});
  expect_refused("@/in.nii --order fsl -o ''", {"the prefix is empty"});
  expect_series_refused({"--order tells how a tensor image", "--output-order"}, "--order fsl");
  expect_series_refused({"do not go together"}, "--grad @/series.bval");
  expect_series_refused({"fit method", "lasso"}, "--fit lasso");
  expect_series_refused({"--shells and --bmax do not go together"}, "--shells 1000 --bmax 1000");
  expect_series_refused({"--shells: no volume has a b-value of 700"}, "--shells 700");
}

TEST_F(DenoiseErrors, FileSizeLimitLeavesOldOutputsAsTheyWere) {
  put_phantom("in.nii", 12);
  const std::string arguments = "@/in.nii --order fsl -o @/out --format nii --maps fa --lambda ";
  denoise(arguments + "9");
  const auto before = contents(directory);
  // FA has 7 KiB and fits; the tensor has 42. Files are written at the same time, and the message is about
  // the first that fails: so it must be the only one that can.
  const ToolRun run = run_denoise(arguments + "3 --force", "ulimit -f 20; ");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("cannot write " + path("out_tensor.nii") + ": File too large"));
  EXPECT_EQ(contents(directory), before);
}

TEST_F(DenoiseErrors, FullDisk) {
  const std::filesystem::path disk = directory / "disk";
  std::filesystem::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "a small disk cannot be mounted here: " << std::strerror(errno);
  put_phantom("in.nii", 12);
  const ToolRun run = run_denoise("@/in.nii --order fsl -o @/disk/out --format nii");
  const auto left = contents(disk);
  umount(disk.c_str());
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("No space left on device"));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
  EXPECT_TRUE(left.empty()) << left.begin()->first;
}

}  // namespace
}  // namespace warploom
