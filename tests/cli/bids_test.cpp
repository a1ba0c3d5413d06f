// `warploom bids-denoise`: a small data set with descriptions that images inherit.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "denoise_images.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Json = nlohmann::json;

class BidsDenoise : public DenoiseTest {
 protected:
  BidsDenoise() {
    put_series("series.nii", Element6{1.5F, .1F, 0, .6F, 0, .4F}, kLeftHanded, 6);
    add("dataset_description.json", R"({"Name": "Made up", "BIDSVersion": "1.10.0"})");
    series_to("sub-01/dwi/sub-01_dwi.nii.gz");
    series_to("sub-02/ses-a/dwi/sub-02_ses-a_dir-AP_dwi.nii.gz");
    series_to("sub-02/ses-b/dwi/sub-02_ses-b_dir-AP_dwi.nii.gz");
    add("dwi.bval", content_of(directory / "series.bval"));
    add("dwi.bvec", content_of(directory / "series.bvec"));
  }
  void add(const std::string& name, const std::string& content) const {
    fs::create_directories((directory / "study" / name).parent_path());
    make("study/" + name, content);
  }
  void series_to(const std::string& name) const {
    fs::create_directories((directory / "study" / name).parent_path());
    run_shell(fmt::format("gzip -c1 '{}' > '{}'", (directory / "series.nii").string(),
                          (directory / "study" / name).string()));
  }
  ToolRun bids(const std::string& rest) const {
    return run_shell(fmt::format("cd '{}' && \"$WARPLOOM\" bids-denoise study {}", directory.string(), rest));
  }
  Json done(const std::string& rest = "") const {
    const ToolRun run =
        bids("out participant --json --device cpu " + rest + " -- --mask none --regulariser none");
    EXPECT_EQ(run.code, 0) << run.err << run.out;
    return Json::parse(run.out);
  }
};

TEST_F(BidsDenoise, WritesDerivativesOfEverySeries) {
  EXPECT_EQ(done().at("done"), 3);
  for (const char* name : {"sub-01/dwi/sub-01", "sub-02/ses-a/dwi/sub-02_ses-a_dir-AP",
                           "sub-02/ses-b/dwi/sub-02_ses-b_dir-AP"}) {
    for (const char* map : {"fa", "md", "tensor", "v1"})
      EXPECT_TRUE(
          fs::exists(directory / "out" / fmt::format("{}_model-tensor_param-{}_dwimap.nii.gz", name, map)))
          << name << map;
    EXPECT_TRUE(fs::exists(directory / "out" / fmt::format("{}_qc.html", name)));
  }
  const Json description = Json::parse(content_of(directory / "out/dataset_description.json"));
  EXPECT_EQ(description.at("DatasetType"), "derivative");
  EXPECT_EQ(description.at("GeneratedBy").at(0).at("Name"), "warploom");
  EXPECT_EQ(done().at("there"), 3) << "a second run has nothing to do";
}

TEST_F(BidsDenoise, TakesTheNearestDescriptionThatApplies) {
  add("sub-02/sub-02_dir-PA_dwi.bvec", "wrong\n");                // of another direction
  add("sub-02/ses-a/dwi/sub-02_ses-a_dwi.bvec", "wrong, too\n");  // applies to one series
  const ToolRun run = bids("out participant --json --device cpu -- --mask none --regulariser none");
  EXPECT_EQ(run.code, 1);
  const Json told = Json::parse(run.out);
  EXPECT_EQ(told.at("done"), 2);
  for (const Json& item : told.at("items")) {
    if (item.at("state") != "failed") continue;
    EXPECT_THAT(item.at("error").get<std::string>(), HasSubstr("sub-02_ses-a_dwi.bvec"));
  }
}

TEST_F(BidsDenoise, ASeriesWithoutDirectionsStopsNoOther) {
  fs::rename(directory / "study/dwi.bvec", directory / "study/sub-01/dwi/sub-01_dwi.bvec");
  const ToolRun run = bids("out participant --json --device cpu -- --mask none --regulariser none");
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(Json::parse(run.out).at("done"), 1);
  EXPECT_THAT(content_of(directory / "out/cohort.tsv"),
              HasSubstr("has no .bvec: none in its folder or above applies to it"));
}

TEST_F(BidsDenoise, TakesTheParticipantsAndSessionsAskedFor) {
  EXPECT_EQ(done("--participant-label 01").at("done"), 1);
  EXPECT_EQ(done("--participant_label sub-02 --session-label b").at("done"), 1);
  EXPECT_EQ(
      Json::parse(
          bids(
              "out participant --participant-label 01 02 --json --device cpu -- --mask none --regulariser none")
              .out)
          .at("items")
          .size(),
      3U);
}

TEST_F(BidsDenoise, TellsTheGroup) {
  done();
  const ToolRun run = bids("out group");
  EXPECT_EQ(run.code, 0) << run.err;
  const std::string table = content_of(directory / "out/group.tsv");
  EXPECT_THAT(table, HasSubstr("participant_id\tsession_id\tseries\tvolume_mm3\tmean_fa\tmean_md\n"));
  EXPECT_THAT(table, HasSubstr("sub-02\tses-b\tsub-02/ses-b/dwi/sub-02_ses-b_dir-AP\t"));
}

TEST_F(BidsDenoise, SaysWhatIsWrongBeforeItBegins) {
  const auto error_of = [&](const std::string& arguments) {
    const ToolRun run = bids(arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_FALSE(fs::exists(directory / "out")) << arguments;
    return run.err;
  };
  EXPECT_THAT(error_of("out group"), HasSubstr("run 'participant' first"));
  EXPECT_THAT(error_of("out participant --participant-label 07"), HasSubstr("there is no sub-07"));
  EXPECT_THAT(error_of("out participant --session-label c"), HasSubstr("no participant has a session c"));
  EXPECT_THAT(error_of("out both"), HasSubstr("both"));
  EXPECT_THAT(error_of("out participant more"), HasSubstr("argument 'more' is not known here"));
  fs::remove(directory / "study/dataset_description.json");
  EXPECT_THAT(error_of("out participant"), HasSubstr("--skip-bids-validation"));
}

TEST_F(BidsDenoise, NamesOfMapsAreOfTwoKinds) {
  EXPECT_THAT(
      run_denoise("@/series.nii --bval @/series.bval --bvec @/series.bvec --names other -o @/out").err,
      HasSubstr("--names: 'other' is neither plain nor bids"));
}

TEST_F(BidsDenoise, LeavesOtherResultsAlone) {
  fs::create_directories(directory / "out");
  make("out/dataset_description.json", R"({"Name": "fMRIPrep"})");
  const ToolRun run = bids("out participant");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("is of other results; name another folder"));
}

}  // namespace
}  // namespace warploom
