#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/run_tool.hpp"
#include "core/architectures.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

TEST(Tool, HelpListsTheVerbsTheExitCodesAndAnExample) {
  const ToolRun run = run_tool("--help");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("devices"), HasSubstr("Exit codes: 0 done"), HasSubstr("  warploom ")));
}

TEST(Tool, VersionIsOneLine) {
  const ToolRun run = run_tool("--version");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, MatchesRegex("warploom [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Tool, EveryVerbsHelpHasAnExampleOfIt) {
  const std::string help = run_tool("--help").out;
  std::istringstream verbs(help.substr(help.find("Verbs:")));
  std::string line;
  std::getline(verbs, line);
  int count = 0;
  while (std::getline(verbs, line) && line.starts_with("  ")) {
    const std::string verb = line.substr(2, line.find(' ', 2) - 2);
    if (verb.empty()) continue;  // the second line of a long summary
    const ToolRun run = run_tool(verb + " --help");
    EXPECT_EQ(run.code, 0) << verb;
    EXPECT_THAT(run.out, AllOf(HasSubstr("Usage: warploom " + verb), HasSubstr("  warploom " + verb)));
    ++count;
  }
  EXPECT_GE(count, 1);
}

TEST(Tool, NoVerbIsBadUsage) {
  const ToolRun run = run_tool("");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("no verb given"));
}

TEST(Tool, AMistypedVerbIsCorrected) {
  const ToolRun run = run_tool("devcies");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("'devcies' is not a verb"), HasSubstr("did you mean devices?")));
}

TEST(Tool, AnUnlikeVerbIsNotGuessedAt) {
  const ToolRun run = run_tool("xyzzy");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, Not(HasSubstr("did you mean")));
}

TEST(Tool, AMistypedOptionIsCorrected) {
  const ToolRun run = run_tool("devices --jsn");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("option '--jsn'"), HasSubstr("did you mean --json?"),
                             HasSubstr("warploom devices --help")));
}

TEST(Tool, AnOptionBeforeTheVerbIsCheckedToo) { EXPECT_EQ(run_tool("--jsn devices").code, 2); }

TEST(Tool, AnArgumentTooManyIsBadUsage) {
  const ToolRun run = run_tool("devices extra");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("argument 'extra'"));
}

TEST(Tool, AnUnknownLogLevelIsBadUsage) {
  const ToolRun run = run_tool("devices --log-level loud");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("use off, error, warning, info, debug"));
}

TEST(Tool, AReaderThatLeavesEarlyIsNoError) {
  const ToolRun run = run_shell("{ \"$WARPLOOM\" devices --json; echo \"code $?\" >&2; } | true");
  EXPECT_EQ(run.err, "code 0\n");
}

TEST(Tool, AFullDiskOnStandardOutputIsAnError) {
  const ToolRun run = run_shell("\"$WARPLOOM\" devices >/dev/full");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("cannot write standard output: No space left on device"));
}

TEST(Devices, WithoutADriverSaysWhyAndChoosesTheCpu) {
  if (run_tool("devices").out.find("cuda:0") != std::string::npos)
    GTEST_SKIP() << "there is a CUDA device here";
  const ToolRun run = run_tool("devices");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("cuda    none: "), HasSubstr("auto    cpu")));
}

ToolRun run_with_invented_driver(const std::string& arguments) {
  return run_shell("LD_LIBRARY_PATH=" FAKE_CUDA_DRIVER_DIR " \"$WARPLOOM\" " + arguments);
}

/// A build for the GPU at hand may have no code for the first invented one, of sm_90.
std::string chosen_of_invented() { return runs_on(built_architectures(), 90) ? "cuda" : "cpu"; }

TEST(Devices, ListsWhatTheDriverReports) {
  const ToolRun run = run_with_invented_driver("devices");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("cuda:1  Invented 1, sm_91, 11 multiprocessors, 16.0 GiB"),
                             HasSubstr("228 KiB a multiprocessor, 48 KiB a block (227 KiB with opt-in)"),
                             HasSubstr("driver  CUDA 13.0"), HasSubstr("auto    " + chosen_of_invented())));
}

TEST(Devices, JsonHoldsTheSame) {
  const ToolRun run = run_with_invented_driver("devices --json");
  const nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["auto"], chosen_of_invented());
  EXPECT_EQ(json["cuda"]["driver"], "13.0");
  ASSERT_EQ(json["cuda"]["devices"].size(), 2U);
  EXPECT_EQ(json["cuda"]["devices"][1]["shared_bytes_per_multiprocessor"], 228 << 10);
  EXPECT_EQ(json["cuda"]["devices"][1]["memory_bytes"], std::uint64_t{16} << 30);
  EXPECT_GE(json["cpu"]["threads"], 1);
}

// Where there is one, to look for it takes longer than many a small job.
TEST(Devices, WorkOnACpuDoesNotOpenTheDriver) {
  const auto opened = [](const std::string& command) {  // by what the C library says it loads
    return run_shell("printf 'GGGAAACCC\\n' | LD_DEBUG=files \"$WARPLOOM\" " + command).err;
  };
  EXPECT_THAT(opened("devices"), HasSubstr("libcuda.so.1"));
  EXPECT_THAT(opened("fold - --device cpu"), Not(HasSubstr("libcuda.so.1")));
  EXPECT_THAT(opened("fold -"), Not(HasSubstr("libcuda.so.1")));
  EXPECT_THAT(opened("dp chain 3 4 5 --device cpu"), Not(HasSubstr("libcuda.so.1")));
}

TEST(Devices, AGpuThatIsNotThereIsRefusedByItsNumber) {
  const ToolRun run = run_with_invented_driver("search --device cuda:2 --query a.csv b.csv");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("device 'cuda:2' was asked for, but the highest number here is 1"));
}

TEST(Devices, AVerbThatUsesOneRefusesSeveral) {
  for (const char* several : {"cuda:0,cuda:1", "cuda:0,1", "cuda:all"}) {
    const ToolRun run = run_shell("printf 'GGGAAACCC\\n' | LD_LIBRARY_PATH=" FAKE_CUDA_DRIVER_DIR
                                  " \"$WARPLOOM\" fold - --device " +
                                  std::string(several));
    EXPECT_EQ(run.code, 2) << several;
    EXPECT_THAT(run.err, HasSubstr("folding uses one device, not cuda:0,cuda:1")) << several;
  }
}

TEST(Devices, AllOfNoneSaysWhy) {
  const ToolRun run = run_shell("FAKE_CUDA=empty LD_LIBRARY_PATH=" FAKE_CUDA_DRIVER_DIR
                                " \"$WARPLOOM\" dp chain 3 4 5 --device cuda:all");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("device 'cuda:all' was asked for, but the NVIDIA driver shows no device"));
}

}  // namespace
}  // namespace warploom
