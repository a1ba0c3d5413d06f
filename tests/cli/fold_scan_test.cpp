#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "io/scratch.hpp"
#include "run_tool.hpp"

namespace warploom {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

class FoldScanVerbs : public Scratch {
 protected:
  std::string path(const std::string& file) const { return (directory / file).string(); }
};

// Energies and structures of these two are RNAfold's (ViennaRNA 2.8.0).
TEST_F(FoldScanVerbs, WindowsAreLinesOfATable) {
  make("s.fa", ">a the first\nggggaaaaccccaa\n>b\nGGGGAAAACCCC\n");
  EXPECT_EQ(run_tool("fold windows -w 12 " + path("s.fa")).out,
            "name\tbegin\tend\tenergy\na\t1\t12\t-5.40\na\t2\t13\t-4.10\na\t3\t14\t-1.10\nb\t1\t12\t-5.40\n");
  EXPECT_EQ(
      run_tool("fold windows -w 12 -s 2 --structures " + path("s.fa")).out,
      "name\tbegin\tend\tenergy\tstructure\na\t1\t12\t-5.40\t((((....))))\na\t3\t14\t-1.10\t((......))..\n"
      "b\t1\t12\t-5.40\t((((....))))\n");
  EXPECT_EQ(run_tool("fold windows -w 12 -s 2 --format bedgraph " + path("s.fa")).out,
            "a\t5\t7\t-5.40\na\t7\t9\t-1.10\nb\t5\t7\t-5.40\n");
}
TEST_F(FoldScanVerbs, ShufflesAreTheSeedsWhateverTheThreads) {
  make("s.fa", ">a\nGGGGGCGAAAAGCGCCCACCAUAGGCAUACGGAUUACG\n");
  const std::string command = "fold windows -w 20 -s 6 --shuffles 20 " + path("s.fa");
  const ToolRun one = run_tool(command + " --threads 1");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, StartsWith("name\tbegin\tend\tenergy\tmean\tdeviation\tz_score\tp_value\na\t1\t20\t"));
  EXPECT_EQ(std::ranges::count(one.out, '\n'), 5);
  EXPECT_EQ(run_tool(command + " --threads 3").out, one.out);
  EXPECT_NE(run_tool(command + " --seed 2").out, one.out);
  EXPECT_NE(run_tool(command + " --shuffle mononucleotides").out, one.out);
  const Json json = Json::parse(run_tool(command + " --json").out);
  EXPECT_EQ(json["shuffles"]["keep"], "dinucleotides");
  const Json record = json["records"][0];
  ASSERT_EQ(record["z_scores"].size(), 4u);
  EXPECT_NEAR(record["z_scores"][0],
              (record["energies"][0].get<double>() - record["means"][0].get<double>()) /
                  record["deviations"][0].get<double>(),
              1e-9);
}
TEST_F(FoldScanVerbs, MutantsAreLinesOfATable) {
  make("s.fa", ">a\nGGGGAAAACCCC\n");
  EXPECT_EQ(run_tool("fold mutants --structures --positions 2,12 " + path("s.fa")).out,
            "name\tposition\twild_type\tmutant\tenergy\tchange\tstructure\n"
            "a\t2\tG\tA\t-0.10\t5.30\t..((.....)).\na\t2\tG\tC\t-0.20\t5.20\t..((.....)).\n"
            "a\t2\tG\tU\t0.00\t5.40\t............\na\t12\tC\tA\t-5.10\t0.30\t(((.....))).\n"
            "a\t12\tC\tG\t-5.10\t0.30\t(((.....))).\na\t12\tC\tU\t-4.60\t0.80\t(((.....))).\n");
  const Json json = Json::parse(run_tool("fold mutants --json " + path("s.fa")).out);
  EXPECT_EQ(json["records"][0]["energy"], -5.4);
  EXPECT_EQ(json["records"][0]["mutants"].size(), 36u);
  EXPECT_EQ(json["records"][0]["mutants"][0]["letter"], "A");
}
TEST_F(FoldScanVerbs, DrawPictures) {
  make("s.fa", ">a\nGGGGAAAACCCCAAAGGGCAAAAGCCC\n");
  ASSERT_EQ(run_tool("fold windows -w 12 -r 5 " + path("s.fa") + " -o " + path("w.json") + " --svg " +
                     path("w.svg"))
                .code,
            0);
  EXPECT_THAT(content_of(path("w.svg")), HasSubstr("16 windows of 12 bases"));
  EXPECT_THAT(content_of(path("w.svg")), HasSubstr("z-score"));
  ASSERT_EQ(
      run_tool("fold mutants " + path("s.fa") + " -o " + path("m.tsv") + " --svg " + path("m.svg")).code, 0);
  EXPECT_THAT(content_of(path("m.svg")), HasSubstr("<title>G1A: "));
  make("two.fa", ">a\nGGGGAAAACCCC\n>b\nGGGGAAAACCCC\n");
  for (const char* verb : {"windows -w 12 ", "mutants "}) {
    const ToolRun run = run_tool(std::string("fold ") + verb + path("two.fa") + " --svg " + path("none.svg"));
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr("a picture is of one sequence"));
  }
}
TEST_F(FoldScanVerbs, GoOnAfterABadRecord) {
  make("s.fa", ">a\nGG-A\n>b\nGGGGAAAACCCC\n");
  const ToolRun windows = run_tool("fold windows -w 12 " + path("s.fa"));
  EXPECT_EQ(windows.code, 1);
  EXPECT_THAT(windows.err, HasSubstr("s.fa:1: the sequence has 4 bases, a window 12"));
  EXPECT_EQ(windows.out, "name\tbegin\tend\tenergy\nb\t1\t12\t-5.40\n");
  const ToolRun short_ones = run_tool("fold windows -w 4 -s 4 " + path("s.fa"));
  EXPECT_EQ(short_ones.code, 1);
  EXPECT_THAT(short_ones.err, HasSubstr("s.fa:1: the sequence's character 3 of 4 is no letter"));
  const ToolRun mutants = run_tool("fold mutants --positions 12 " + path("s.fa"));
  EXPECT_EQ(mutants.code, 1);
  EXPECT_EQ(std::ranges::count(mutants.out, '\n'), 4);
}
TEST_F(FoldScanVerbs, RefuseWithTheReason) {
  make("s.fa", ">a\nGGGGAAAACCCC\n");
  make("r.dat", "1 0\n");
  const auto refused = [&](const std::string& arguments, const std::string& says) {
    const ToolRun run = run_tool("fold " + arguments);
    EXPECT_EQ(run.code, 2) << arguments << run.out;
    EXPECT_THAT(run.err, HasSubstr(says)) << arguments;
    EXPECT_EQ(run.out, "");
  };
  refused("windows", "GENOME");
  refused("windows -w 0 " + path("s.fa"), "--window");
  refused("windows -w 12 --shuffles 1 " + path("s.fa"), "1 shuffles of a window");
  refused("windows -w 12 --shuffle letters " + path("s.fa"), "dinucleotides");
  refused("windows -w 12 --circ " + path("s.fa"), "windows of a circle");
  refused("windows -w 12 --shape " + path("r.dat") + " " + path("s.fa"), "--shape with fold windows");
  refused("windows -w 12 --structures --format bedgraph " + path("s.fa"), "--format bedgraph");
  refused("windows " + path("none.fa"), "none.fa");
  refused("mutants --positions 13 " + path("s.fa"), "the sequence has 12 bases");
  refused("mutants --positions 3,1-4 " + path("s.fa"), "position 3 is there twice");
  for (const char* none : {"0", "4-2", "x", "1-", "-3", "1,,2", "1-2000000"})
    refused(std::string("mutants --positions=") + none + " " + path("s.fa"), "--positions");
  refused("-T 20 windows " + path("s.fa"), "put it behind 'windows'");
}

TEST_F(FoldScanVerbs, TellHowProbableStretchesAreUnpaired) {
  make("s.fa", ">a\nGGGGAAAACCCCAAGGGGAAAACCCC\n>b\nGGGGAAAACCCC\n");
  const ToolRun run = run_tool("fold unpaired " + path("s.fa") + " -W 12 -u 3 --bpp " + path("p.tsv"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("name\tend\tu1\tu2\tu3\na\t1\t"));
  EXPECT_THAT(run.out, HasSubstr("\nb\t1\t0.0282836356\tNA\tNA\n"));
  EXPECT_THAT(run.out, HasSubstr("\nb\t7\t1\t1\t1\n"));
  EXPECT_THAT(read_file(path("p.tsv")), HasSubstr("\nb\t2\t11\t0.871"));
  EXPECT_EQ(run_tool("fold unpaired " + path("s.fa") + " -o " + path("u.npy")).code, 2);
  make("one.fa", "GGGGAAAACCCC\n");
  ASSERT_EQ(run_tool("fold unpaired " + path("one.fa") + " -u 3 -o " + path("u.npy")).code, 0);
  EXPECT_THAT(read_file(path("u.npy")), HasSubstr("'shape': (12, 3)"));
  ASSERT_EQ(run_tool("fold unpaired " + path("one.fa") + " -u 3 -o " + path("u.json")).code, 0);
  EXPECT_THAT(read_file(path("u.json")), HasSubstr("null"));
  for (const std::string options : {"--bpp x.svg", "-u 0", "-W -1", "-d 1", "--shape x", "--circ"})
    EXPECT_EQ(run_tool("fold unpaired " + path("one.fa") + " " + options).code, 2) << options;
}

}  // namespace
}  // namespace warploom
