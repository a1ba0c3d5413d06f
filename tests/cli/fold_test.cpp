#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "io/scratch.hpp"
#include "run_tool.hpp"
#include "warploom/io/gzip.hpp"

namespace warploom {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;

class FoldVerb : public Scratch {
 protected:
  std::string path(const std::string& file) const { return (directory / file).string(); }
};

TEST_F(FoldVerb, PrintsAsRnafoldDoes) {
  make("s.fa", ">a the first\nGGGGAAAA\nCCCC\n>b\nggggaaaacccc\n");
  const ToolRun run = run_tool("fold " + path("s.fa"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            ">a the first\nGGGGAAAACCCC\n((((....)))) ( -5.40)\n>b\nGGGGAAAACCCC\n((((....)))) ( -5.40)\n");
}

TEST_F(FoldVerb, TakesNoSequenceForAFile) {
  const ToolRun run = run_tool("fold GGGGAAAACCCC");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(
      run.err,
      "warploom: GGGGAAAACCCC is no file; a sequence comes by standard input: echo GGGGAAAACCCC | warploom fold -\n");
}

TEST_F(FoldVerb, PrintsAnEnsembleAsRnafoldDoes) {
  make("s.fa", "GGGACUUCGGUCCCAAGGGACUUCGGUCCCAAAGGGCAAAACUGAACCC\n");
  EXPECT_EQ(run_tool("fold " + path("s.fa") + " --ensemble --MEA 1").out,
            "GGGACUUCGGUCCCAAGGGACUUCGGUCCCAAAGGGCAAAACUGAACCC\n"
            "((((((..(((((....)))))..))))))...(((..........))) (-20.30)\n"
            "((((((..(((((,..,||||}..})))))...(({,.....,}..))) [-21.16]\n"
            "((((((..(((((....)))))..))))))...(((..........))) {-20.30 d=11.13}\n"
            "((((((..(((((....)))))..))))))...(((..........))) {-20.30 MEA=34.95}\n"
            " frequency of mfe structure in ensemble 0.249707; ensemble diversity 15.67\n");
}
TEST_F(FoldVerb, WritesThePairsOfAnEnsemble) {
  make("s.fa", ">a\nGGGGAAAACCCC\n>b\nGGGCAAAAGCCC\n");
  ASSERT_EQ(run_tool("fold " + path("s.fa") + " -p --bpp " + path("p.tsv")).code, 0);
  EXPECT_THAT(read_file(path("p.tsv")), StartsWith("name\ti\tj\tprobability\na\t1\t"));
  EXPECT_THAT(read_file(path("p.tsv")), HasSubstr("\nb\t4\t9\t0."));
  const ToolRun two = run_tool("fold " + path("s.fa") + " -p --bpp " + path("p.svg"));
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, HasSubstr("a picture is of one sequence"));
  EXPECT_EQ(run_tool("fold " + path("s.fa") + " -p --bpp " + path("p.npy")).code, 2);
  make("one.fa", "GGGGAAAACCCC\n");
  ASSERT_EQ(
      run_tool("fold " + path("one.fa") + " -p --bpp " + path("p.npy") + " -o " + path("one.json")).code, 0);
  const std::string matrix = read_file(path("p.npy"));
  EXPECT_THAT(matrix, HasSubstr("'shape': (12, 12)"));
  std::vector<double> cells(144);
  ASSERT_GT(matrix.size(), 144 * sizeof(double));
  std::memcpy(cells.data(), matrix.data() + (matrix.size() - 144 * sizeof(double)), 144 * sizeof(double));
  const Json pairs = Json::parse(read_file(path("one.json")))["records"][0]["ensemble"]["pairs"];
  EXPECT_GE(pairs.size(), 4);
  for (const Json& pair : pairs) {
    const std::size_t i = pair[0].get<std::size_t>() - 1, j = pair[1].get<std::size_t>() - 1;
    EXPECT_EQ(cells[i * 12 + j], pair[2].get<double>());
    EXPECT_EQ(cells[j * 12 + i], pair[2].get<double>());
  }
  for (const std::string options : {"--bpp x.tsv", "--gradient --json", "-p --gradient", "--gamma 2",
                                    "--samples 3", "-p --suboptimal 1", "-p --format ct", "-p --bpp x.png"})
    EXPECT_EQ(run_tool("fold " + path("s.fa") + " " + options).code, 2) << options;
}
/// A record whose constraint no structure fulfils is named, and the next one's ensemble is its own.
TEST_F(FoldVerb, SumsWhatAConstraintForces) {
  make("s.fa", ">a\nGGGGAAAACCCC\n>b\nGGGGAAAACCCCA\n");
  make("c.txt", "....|.......\n|............\n");
  const ToolRun run =
      run_tool("fold " + path("s.fa") + " -p --json --enforce-constraint -C " + path("c.txt"));
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("base 5 is unpaired"));
  const Json records = Json::parse(run.out)["records"];
  ASSERT_EQ(records.size(), 1);
  EXPECT_EQ(records[0]["ensemble"]["unpaired"].size(), 13);
  EXPECT_LT(records[0]["ensemble"]["unpaired"][0].get<double>(), 1e-12);
}
/// As RNAfold: the structure is of dangles 1, the ensemble of 2, and so is the probability of the one in the
/// other.
TEST_F(FoldVerb, TakesOtherDanglesAsTwoForAnEnsemble) {
  make("s.fa", "AGGGACUUCGGUCCCAAGGGACUUCGGUCCCAAAGGGCAAAACUGAACCC\n");
  const ToolRun one = run_tool("fold " + path("s.fa") + " -p --json -d 1"),
                two = run_tool("fold " + path("s.fa") + " -p --json");
  EXPECT_THAT(one.err, HasSubstr("the ensemble is of -d 2"));
  EXPECT_EQ(two.err, "");
  const Json a = Json::parse(one.out)["records"][0], b = Json::parse(two.out)["records"][0];
  EXPECT_EQ(a["ensemble"]["energy"], b["ensemble"]["energy"]);
  EXPECT_NE(a["energy"], b["energy"]);
  EXPECT_EQ(a["structure"], b["structure"]);
  EXPECT_EQ(a["ensemble"]["mfe_probability"], b["ensemble"]["mfe_probability"]);
}
TEST_F(FoldVerb, GivesTheGradientOfAnEnsemble) {
  make("s.fa", "GGGGAAAACCCC\n");
  const ToolRun run = run_tool("fold " + path("s.fa") + " -p --gradient --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json gradient = Json::parse(run.out)["records"][0]["ensemble"]["gradient"];
  double stacks = 0;
  for (const Json& value : gradient["sections"]["stack"]["values"]) stacks += value[1].get<double>();
  EXPECT_GT(stacks, 2.5);
  EXPECT_LE(stacks, 3);
  EXPECT_EQ(gradient["sections"]["stack"]["shape"], Json({7, 7}));
  EXPECT_EQ(gradient["stack"].size(), 12);
}
TEST_F(FoldVerb, ReadsPlainTextFastqAndGzip) {
  const std::string wanted = "GGGGAAAACCCC\n((((....)))) ( -5.40)\n";
  make("s.txt", "GGGGAAAACCCC\r\n\r\n");
  EXPECT_EQ(run_tool("fold " + path("s.txt")).out, wanted);
  make("s.txt.gz", io::gzip("GGGGAAAACCCC\n", 6));
  EXPECT_EQ(run_tool("fold " + path("s.txt.gz")).out, wanted);
  make("s.fastq", "@r\nGGGGAAAACCCC\n+\nIIIIIIIIIIII\n");
  EXPECT_EQ(run_tool("fold " + path("s.fastq")).out, ">r\n" + wanted);
  EXPECT_EQ(run_shell("\"$WARPLOOM\" fold - < " + path("s.txt")).out, wanted);
}
TEST_F(FoldVerb, FoldsTheOthersWhereARecordIsBad) {
  make("s.fa", ">a\nGGGGAAAACCCC\n>b\nGG-A\n>c\n>d\nGGGGAAAACCCC\n");
  const ToolRun run = run_tool("fold " + path("s.fa") + " --json");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("s.fa:3: the sequence's character 3 of 4 is no letter"));
  EXPECT_THAT(run.err, HasSubstr("1 records without a sequence were skipped"));
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json["records"].size(), 2u);
  EXPECT_EQ(json["records"][1]["name"], "d");
  EXPECT_EQ(json["skipped"]["empty"], 1);
  EXPECT_EQ(json["skipped"]["refused"], 1);
  EXPECT_EQ(json["device"], "cpu");  // with a GPU, too: so few bases do not pay its start
}
TEST_F(FoldVerb, WritesTablesAndAPicture) {
  make("s.fa", ">a\nGGGGAAAACCCC\n");
  EXPECT_THAT(run_tool("fold --format ct " + path("s.fa")).out,
              StartsWith("12 ENERGY = -5.40 a\n1 G 0 2 12 1\n"));
  EXPECT_THAT(run_tool("fold --format bpseq " + path("s.fa")).out, StartsWith("# a\n1 G 12\n"));
  ASSERT_EQ(run_tool("fold " + path("s.fa") + " --svg " + path("s.svg") + " -o " + path("s.json")).code, 0);
  EXPECT_THAT(content_of(path("s.svg")), HasSubstr("as arcs: 4 G-C, 0 A-U, 0 G-U"));
  EXPECT_EQ(Json::parse(content_of(path("s.json")))["records"][0]["energy"], -5.4);
}
TEST_F(FoldVerb, DrawsLoopsAsCircles) {
  make("s.fa", ">a\nGGGGAAAACCCC\n");
  const std::string words = "fold " + path("s.fa") + " --layout radial --force -o " + path("s.txt");
  const ToolRun run = run_tool(words + " --svg " + path("s.svg"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(content_of(path("s.svg")), HasSubstr("A secondary structure of 12 bases: 4 G-C, 0 A-U, 0 G-U"));
  EXPECT_THAT(content_of(path("s.svg")), HasSubstr(">hairpin<"));
  make("r.txt", "5 1.2\n6 0.1\n");
  ASSERT_EQ(run_tool(words + " --svg " + path("s.svg") + " --shape " + path("r.txt")).code, 0);
  EXPECT_THAT(content_of(path("s.svg")), HasSubstr("fill=\"#d62728\""));
  const ToolRun without = run_tool(words);
  EXPECT_EQ(without.code, 2);
  EXPECT_THAT(without.err, HasSubstr("--layout radial without --svg"));
}
TEST_F(FoldVerb, TakesTheOptionsOfTheModel) {
  make("s.fa", "AGGGUAAAAGCCCA\n");
  const auto energy = [&](const std::string& options) {
    return Json::parse(run_tool("fold --json " + options + " " + path("s.fa")).out)["records"][0]["energy"]
        .get<double>();
  };
  EXPECT_LT(energy("-T 20"), energy(""));
  EXPECT_LT(energy(""), energy("--noGU"));
  EXPECT_LT(energy(""), energy("-d 0"));
  EXPECT_EQ(energy("--max-span 6"), 0);
  make(
      "k.par",
      "## RNAfold parameter file v2.0\n# hairpin\nINF INF INF 340 360 370 340 400 350 440 450 460 470 480 490 490 500 510 510 520\n"
      "520 530 530 540 540 550 550 550 560 560 570\n");
  EXPECT_LT(energy("-P " + path("k.par")), energy(""));
}
TEST_F(FoldVerb, TakesAConstraintASequence) {
  make("s.fa", ">a\nGGGGAAAACCCC\n>b\nGGGGAAAACCCC\n");
  make("c.txt", "............\nx...........\n");
  EXPECT_EQ(run_tool("fold " + path("s.fa") + " -C " + path("c.txt")).out,
            ">a\nGGGGAAAACCCC\n((((....)))) ( -5.40)\n>b\nGGGGAAAACCCC\n.(((....))). ( -3.10)\n");
  make("few.txt", "............\n");
  const ToolRun few = run_tool("fold " + path("s.fa") + " -C " + path("few.txt"));
  EXPECT_EQ(few.code, 2);
  EXPECT_THAT(few.err, HasSubstr("few.txt: it has 1 constraints"));
  make("bad.txt", "............\n...\n");
  const ToolRun bad = run_tool("fold " + path("s.fa") + " -C " + path("bad.txt"));
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("s.fa:3: the constraint has 3 letters, the sequence 12"));
}
TEST_F(FoldVerb, EnforcesAConstraintAndGoesOnWhereThereIsNoStructure) {
  make("s.fa", ">a\nGGGGAAAACCCC\n>b\nGGGGAAAACCCC\n");
  make("c.txt", "....|.......\n(.......)...\n");
  const ToolRun run = run_tool("fold " + path("s.fa") + " --enforce-constraint -C " + path("c.txt"));
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("s.fa:1: no structure"));
  EXPECT_EQ(run.out, ">b\nGGGGAAAACCCC\n(.......)... (  2.70)\n");
}
TEST_F(FoldVerb, FoldsACircle) {
  make("s.fa", "GGGGAAAACCCCAAAA\n");
  const ToolRun run =
      run_shell("\"$WARPLOOM\" fold --circ " + path("s.fa") + " | \"$WARPLOOM\" fold eval --circ -");
  EXPECT_EQ(run.out, "GGGGAAAACCCCAAAA\n((((....)))).... ( -1.30)\n");
}
TEST_F(FoldVerb, FoldsQuadruplexes) {
  const std::string folded = "AAGGGAGGGAGGGAGGGAA\n..+++.+++.+++.++~.. ( -8.60)\n";
  make("s.txt", folded.substr(0, 20));
  make("folded.txt", folded);
  for (const char* option : {"-g", "--gquad", "--quadruplexes"})
    EXPECT_EQ(run_tool(std::string("fold ") + option + " " + path("s.txt")).out, folded);
  EXPECT_THAT(run_tool("fold " + path("s.txt")).out, HasSubstr("................... (  0.00)"));
  const ToolRun loops = run_tool("fold eval --loops " + path("folded.txt"));
  EXPECT_THAT(loops.out, HasSubstr("quadruplex 3-17 GG                        -8.60"));
  for (const char* more : {"-d 1", "-d 3", "--circ", "--suboptimal 1"}) {
    const ToolRun run = run_tool("fold -g " + path("s.txt") + " " + more);
    EXPECT_EQ(run.code, 2) << more;
    EXPECT_THAT(run.err, HasSubstr("quadruplexes"));
  }
  make("bad.txt", "GGAGGAGGAGG\n++.++.++...\n" + folded);
  const ToolRun bad = run_tool("fold eval " + path("bad.txt"));
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("bad.txt:2: the quadruplex that begins at base 1 has runs"));
  EXPECT_EQ(bad.out, folded);
}
TEST_F(FoldVerb, PrintsSuboptimalStructuresOfCirclesAndEnforcedConstraints) {
  make("s.fa", ">a\nAAAAAAAA\n>b\nGGGGAAAACCCC\n");
  make("c.txt", "|.......\n(.......)...\n");
  const ToolRun run =
      run_tool("fold --suboptimal 1 --enforce-constraint -C " + path("c.txt") + " " + path("s.fa"));
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("s.fa:1: no structure pairs all bases that the constraint names"));
  EXPECT_THAT(run.out, StartsWith(">b\nGGGGAAAACCCC"));
  EXPECT_THAT(run.out, HasSubstr("\n(.......)...   2.70\n"));
  make("one.txt", "GGGGAAAACCCC\n");
  EXPECT_THAT(run_tool("fold --circ --suboptimal 3 " + path("one.txt")).out,
              HasSubstr("\n.((.....))..   5.30\n"));
}
TEST_F(FoldVerb, TakesReactivities) {
  make("s.fa", "GGGGAAAACCCC\n");
  make("r.dat", "1 0\n2 0\n11 0\n12 0\n");
  EXPECT_EQ(run_tool("fold " + path("s.fa") + " --shape " + path("r.dat") + " --shapeMethod=Dm1.8b-0.5").out,
            "GGGGAAAACCCC\n((((....)))) ( -8.40)\n");
  EXPECT_EQ(run_shell("\"$WARPLOOM\" fold " + path("s.fa") + " | \"$WARPLOOM\" fold eval - --shape " +
                      path("r.dat") + " --shape-method Z")
                .out,
            "GGGGAAAACCCC\n((((....)))) ( -1.82)\n");
}
TEST_F(FoldVerb, PrintsSuboptimalStructures) {
  make("s.fa", ">a\nGGGGAAAACCCC\n");
  const ToolRun run = run_tool("fold " + path("s.fa") + " --suboptimal 2.5 --sorted");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(
      run.out,
      ">a\nGGGGAAAACCCC  -5.40   2.50\n((((....))))  -5.40\n(((.....))).  -4.20\n.(((....))).  -3.10\n");
  const Json json = Json::parse(run_tool("fold " + path("s.fa") + " --suboptimal 2.5 --json").out);
  EXPECT_EQ(json["records"][0]["structures"].size(), 3u);
  EXPECT_EQ(json["records"][0]["complete"], true);
  const ToolRun two = run_tool("fold " + path("s.fa") + " --suboptimal 9 --most 2");
  EXPECT_EQ(two.code, 1);
  EXPECT_THAT(two.err, HasSubstr("s.fa:1: more than 2 structures lie within 9 kcal/mol"));
  EXPECT_EQ(std::ranges::count(two.out, '\n'), 4);
}
TEST_F(FoldVerb, EvalSumsLoopsAndTellsThem) {
  make("s.fa", ">a\nGGGGAAAACCCC\n");
  const ToolRun run =
      run_shell("\"$WARPLOOM\" fold " + path("s.fa") + " | \"$WARPLOOM\" fold eval - --loops");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith(">a\nGGGGAAAACCCC\n((((....)))) ( -5.40)\n  exterior "));
  EXPECT_THAT(run.out, HasSubstr("interior   1-12 GC; 2-11 GC               -3.30"));
  EXPECT_THAT(run.out, HasSubstr("hairpin    4-9 GC                          4.50"));
}
TEST_F(FoldVerb, EvalGoesOnAfterABadStructure) {
  make("s.txt", ">a\nGGGGAAAACCCC\n((((....)))\n>b\nGGGGAAAACCCC\n((((....))))\n");
  const ToolRun run = run_tool("fold eval " + path("s.txt"));
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("s.txt:3: the structure has 11 letters, the sequence 12"));
  EXPECT_THAT(run.out, StartsWith(">b\n"));
}
TEST_F(FoldVerb, RefusesWithTheReason) {
  make("s.fa", ">a\nGGGGAAAACCCC\n>b\nAC\n");
  make("none", "\n");
  make("k.par", "## RNAfold parameter file v2.0\n# stack\nx\n");
  const auto refused = [&](const std::string& arguments, const std::string& says) {
    const ToolRun run = run_tool("fold " + arguments);
    EXPECT_EQ(run.code, 2) << arguments << run.out;
    EXPECT_THAT(run.err, HasSubstr(says)) << arguments;
    EXPECT_EQ(run.out, "");
  };
  refused("", "no sequences are given");
  refused(path("absent.fa"), "absent.fa");
  refused(path("none"), "it holds no sequence");
  refused(path("s.fa") + " --svg " + path("s.svg"), "a picture is of one sequence");
  refused(path("s.fa") + " -d 4", "-d");
  refused(path("s.fa") + " -P " + path("k.par"), "k.par:3:1: 'x' is no whole number");
  refused(path("s.fa") + " -T 5000", "5000");
  make("one.fa", "GGGGAAAACCCC\n");
  make("r.dat", "1 0.5\n14 1\n");
  make("c.txt", "............\n..\n");
  refused(path("one.fa") + " --shape " + path("r.dat"), "r.dat:2:1: position 14; the sequence has 12 bases");
  refused(path("s.fa") + " --shape " + path("r.dat"), "reactivities are of one sequence");
  refused(path("one.fa") + " --shape " + path("r.dat") + " --shape-method W", "--shape-method W");
  refused(path("one.fa") + " --circ -d 1", "a circle with dangles 1");
  refused(path("one.fa") + " --enforce-constraint", "without -C");
  refused(path("one.fa") + " --suboptimal 1 -d 3", "with dangles 0 and 2");
  refused(path("one.fa") + " --suboptimal 1 --format ct", "--suboptimal with --format");
  refused("eval " + path("s.fa"), "s.fa:2: a sequence without a structure");
}

}  // namespace
}  // namespace warploom
