#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_tool.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// `warploom occupancy -` on a kernel with that much static shared memory, without ptxas.
ToolRun occupancy(const std::string& arguments, int shared_bytes = 6220,
                  const std::string& directives = ".reqntid 16, 16, 1") {
  const std::string text =
      ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry _Z7denoisePf(.param .u64 p)\n" +
      directives + "\n{ .shared .align 4 .b8 tile[" + std::to_string(shared_bytes) +
      "]; ret; }\n.visible .entry _Z5otherv()\n.reqntid 32\n{ ret; }\n";
  return run_shell("printf '%s' '" + text + "' | \"$WARPLOOM\" occupancy - --no-ptxas " + arguments);
}

nlohmann::json json_of(const ToolRun& run) { return nlohmann::json::parse(run.out); }

TEST(OccupancyVerb, ShowsThePapersTwoAndThreeBlocks) {
  for (const auto& [bytes, blocks] : {std::pair{6220, 2}, {3916, 3}}) {
    const ToolRun run = occupancy("--kernel denoise --arch G80 --json", bytes);
    EXPECT_EQ(run.code, 0) << run.err;
    const nlohmann::json kernel = json_of(run)["kernels"].at(0);
    EXPECT_EQ(kernel["name"], "_Z7denoisePf");
    EXPECT_EQ(kernel["demangled"], "denoise(float*)");
    EXPECT_EQ(kernel["threads_per_block"], 256);
    EXPECT_EQ(kernel["on"].at(0)["blocks_per_multiprocessor"], blocks);
    EXPECT_TRUE(kernel["on"].at(0)["registers"].is_null());
  }
}

TEST(OccupancyVerb, TextNamesKernelArchitectureAndLimit) {
  const ToolRun run = occupancy("--kernel denoise --arch sm_75 --regs 32", 20000);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("denoise(float*)\n"), HasSubstr("256 threads a block (.reqntid)"),
                             HasSubstr("sm_75"), HasSubstr("75.0 %  shared memory")));
}

TEST(OccupancyVerb, AllMeansEveryArchitecture) {
  const nlohmann::json json = json_of(occupancy("--arch all --json"));
  EXPECT_EQ(json["kernels"].size(), 2u);
  EXPECT_EQ(json["kernels"].at(1)["on"].size(), 16u);
}

TEST(OccupancyVerb, WithoutArchTheTargetIsAmongThoseShownAndNoneIsOlder) {
  const nlohmann::json on = json_of(occupancy("--json"))["kernels"].at(0)["on"];
  EXPECT_EQ(on.at(0)["architecture"], "sm_75");
  EXPECT_GE(on.size(), 5u);
}

TEST(OccupancyVerb, SaysWhyAKernelCannotLaunchAndStillSucceeds) {
  const ToolRun run = occupancy("--kernel denoise --arch sm_90", 0xc400);
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("cannot launch"), HasSubstr("0xc400"), HasSubstr("0xc000")));
}

TEST(OccupancyVerb, FailBelowBlocksIsAFindingBelowItOnly) {
  EXPECT_EQ(occupancy("--kernel denoise --arch G80 --fail-below 2").code, 0);
  const ToolRun run = occupancy("--kernel denoise --arch G80 --fail-below 3");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.out,
              HasSubstr("denoise(float*) on G80: 2 blocks resident a multiprocessor, 66.7 %, is below 3"));
}

TEST(OccupancyVerb, FailBelowAPercentageComparesOccupancy) {
  EXPECT_EQ(occupancy("--kernel denoise --arch G80 --fail-below 66.7%").code, 0);
  EXPECT_EQ(occupancy("--kernel denoise --arch G80 --fail-below 67%").code, 1);
  EXPECT_EQ(json_of(occupancy("--arch G80 --fail-below 67% --json"))["below"].size(), 2u);
}

TEST(OccupancyVerb, FailBelowOneIsTheGateForAKernelThatCannotLaunch) {
  EXPECT_EQ(occupancy("--kernel denoise --arch sm_90 --fail-below 1", 0xc400).code, 1);
  EXPECT_EQ(occupancy("--kernel denoise --arch sm_90 --fail-below 1", 0xc000).code, 0);
}

TEST(OccupancyVerb, FailBelowNeedsABlockSize) {
  const ToolRun run = occupancy("--kernel denoise --arch sm_90 --fail-below 1", 6220, "");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("give --block"));
  EXPECT_EQ(occupancy("--kernel denoise --arch sm_90 --fail-below 1 --block 16,16", 6220, "").code, 0);
}

TEST(OccupancyVerb, AnUnknownBlockSizeGivesAnUpperBoundSaidToBeOne) {
  const ToolRun run = occupancy("--kernel denoise --arch sm_75", 6220, "");
  EXPECT_THAT(run.out, AllOf(HasSubstr("<= 10"), HasSubstr("give --block"), Not(HasSubstr("%"))));
  const nlohmann::json on =
      json_of(occupancy("--kernel denoise --arch sm_75 --json", 6220, ""))["kernels"][0]["on"];
  EXPECT_TRUE(on.at(0)["upper_bound"]);
  EXPECT_TRUE(on.at(0)["occupancy"].is_null());
}

TEST(OccupancyVerb, DynamicBytesCount) {
  const nlohmann::json json = json_of(occupancy("--kernel denoise --arch sm_90 --dynamic 101088 --json", 4));
  EXPECT_EQ(json["kernels"][0]["on"][0]["blocks_per_multiprocessor"], 2);
  EXPECT_TRUE(json["kernels"][0]["on"][0]["needs_opt_in"]);
}

TEST(OccupancyVerb, BadOptionsAreRefusedWithTheValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"--arch sm_3", "'sm_3'"},
      {"--arch sm_90,", "''"},
      {"--block 0", "'0'"},
      {"--block 1,2,65", "'1,2,65'"},
      {"--block 1,2,3,4", "'1,2,3,4'"},
      {"--block 16x16", "'16x16'"},
      {"--dynamic -3", "'-3'"},
      {"--dynamic 1k", "'1k'"},
      {"--dynamic 99999999999999999999", "'99999999999999999999'"},
      {"--regs 0", "--regs"},
      {"--regs 256", "--regs"},
      {"--fail-below 2x", "'2x'"},
      {"--fail-below 101%", "'101%'"},
      {"--fail-below -1", "'-1'"},
      {"--fail-below nan%", "'nan%'"},
      {"--fail-below %", "'%'"},
      {"--kernel nope", "_Z7denoisePf, _Z5otherv"},
      {"--kernel o", "could be"},
  };
  for (const auto& [arguments, named] : cases) {
    const ToolRun run = occupancy(arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_THAT(run.err, HasSubstr(named)) << arguments;
  }
}

TEST(OccupancyVerb, MalformedPtxIsNamedByLineAndColumn) {
  const ToolRun run = run_shell("printf 'garbage' | \"$WARPLOOM\" occupancy -");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("<stdin>:1:1"));
}

}  // namespace
}  // namespace warploom
