#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "io/scratch.hpp"
#include "measured_data.hpp"
#include "run_tool.hpp"
#include "warploom/core/npy.hpp"
#include "warploom/core/sanitizers.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

class DpVerb : public Scratch {
 protected:
  std::string path(const std::string& file) const { return (directory / file).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
  }
  static ToolRun dp(const std::string& arguments) { return run_tool("dp " + arguments + " --device cpu"); }
  static Json json_of(const std::string& arguments) {
    const ToolRun run = dp(arguments + " --json");
    EXPECT_EQ(run.code, 0) << arguments << '\n' << run.err;
    EXPECT_EQ(run.err, "") << arguments;
    return Json::parse(run.out);
  }
  /// That it ends with code 2, one line that says so, and no new file.
  void expect_refusal(const std::string& arguments, const std::string& says) const {
    const std::size_t before = files();
    const ToolRun run = dp(arguments);
    EXPECT_EQ(run.code, 2) << arguments << '\n' << run.out << run.err;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_THAT(run.err, HasSubstr(says)) << arguments;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_EQ(files(), before) << arguments;
  }
};

// Cormen et al., Introduction to Algorithms, 3rd edition, figures 15.5 and 15.10.
constexpr const char* kChain = "chain 30 35 15 5 10 20 25";
constexpr const char* kTree = "p,q\n0,.05\n.15,.10\n.10,.05\n.05,.05\n.10,.05\n.20,.10\n";

TEST_F(DpVerb, ChainOfTheTextbook) {
  const ToolRun run = dp(kChain);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            "6 matrices: 15125 multiplications (left to right: 40500)\n((A1 (A2 A3)) ((A4 A5) A6))\n");
  const Json json = json_of(kChain);
  EXPECT_EQ(json["cost"], 15125);
  EXPECT_EQ(json["parenthesisation"], "((A1 (A2 A3)) ((A4 A5) A6))");
  EXPECT_EQ(json["products"].size(), 5u);
  EXPECT_EQ(json["products"][0], Json({1, 3, 6}));
  EXPECT_EQ(json["type"], "int32");
  EXPECT_EQ(json["solver"]["device"], "cpu");
  EXPECT_EQ(json["solver"]["pairs"], 35);  // 7 points over 3
}

TEST_F(DpVerb, DimensionsComeFromFilesAndShapesToo) {
  make("d.txt", "# dimensions\n30 35 15\n5 10 20 25\n");
  make("m.csv", "rows,columns\n30,35\n35,15\n15,5\n5,10\n10,20\n20,25\n");
  const std::string wanted = dp(kChain).out;
  EXPECT_EQ(dp("chain --file " + path("d.txt")).out, wanted);
  EXPECT_EQ(dp("chain --matrices " + path("m.csv")).out, wanted);
  EXPECT_EQ(dp("chain 30x35 35x15 15x5 5x10 10x20 20x25").out, wanted);
  EXPECT_EQ(run_shell("\"$WARPLOOM\" dp chain --file - --device cpu < " + path("d.txt")).out, wanted);
}

TEST_F(DpVerb, CostsAreFoundInTheTypeThatHoldsThem) {
  EXPECT_EQ(json_of("chain 1000 1000 1000")["type"], "int64");  // 10^9 is above 2^29
  EXPECT_EQ(json_of("chain 1000 1000 1000")["cost"], 1000000000);
  expect_refusal("chain 1000 1000 1000 --type int32",
                 "may reach 1000000000; int32 is for up to 536870911; use int64");
  expect_refusal("chain 2000000 2000000 2000000", "use float64, which rounds");
  EXPECT_EQ(json_of("chain 2000000 2000000 2000000 --type float64")["cost"], 8e18);
}

TEST_F(DpVerb, SearchTreeOfTheTextbook) {
  make("t.csv", kTree);
  const Json json = json_of("search-tree " + path("t.csv"));
  EXPECT_NEAR(json["cost"].get<double>(), 2.75, 1e-12);
  EXPECT_EQ(json["root"], 2);
  EXPECT_EQ(json["height"], 4);
  EXPECT_EQ(json["nodes"][4], Json({{"key", 5}, {"left", 4}, {"right", 0}, {"depth", 1}}));
  EXPECT_THAT(
      dp("search-tree " + path("t.csv")).out,
      AllOf(HasSubstr("5 keys: cost 2.75"), HasSubstr("root 2, height 4"), HasSubstr("key  left  right")));
}

TEST_F(DpVerb, SearchTreeOfCountsInTwoFilesIsExact) {
  make("p", "15 10 5 10 20");
  make("q", "5\n10\n5\n5\n5\n10\n");
  EXPECT_EQ(dp("search-tree " + path("q") + " " + path("q")).code, 2);  // a key too many
  make("p", "15\n10\n5\n10\n20\n");
  const Json json = json_of("search-tree " + path("p") + " " + path("q"));
  EXPECT_EQ(json["cost"], 275);
  EXPECT_EQ(json["type"], "int32");
  EXPECT_EQ(json["total"], 100);
}

TEST_F(DpVerb, PolygonIsTriangulatedAndDrawn) {
  // A kite whose short diagonal is 2 long.
  make("kite.txt", "x y\n0 -3\n1 0\n0 2\n-1 0\n");
  const ToolRun run = dp("polygon " + path("kite.txt") + " --svg " + path("kite.svg"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("4 vertices (convex): diagonals 2,"), HasSubstr("\n0 1 3\n1 2 3\n")));
  EXPECT_THAT(read_file(path("kite.svg")),
              AllOf(HasSubstr("<svg "), HasSubstr(">3</text>"), HasSubstr("</svg>")));
  const Json json = json_of("polygon " + path("kite.txt"));
  EXPECT_EQ(json["weight"], 2);
  EXPECT_EQ(json["diagonals"], Json({{1, 3}}));
  EXPECT_NEAR(json["perimeter"].get<double>(), 2 * std::sqrt(10) + 2 * std::sqrt(5), 1e-12);
  // Bent inwards, only the other diagonal is inside.
  make("arrow.txt", "0 -3\n1 0\n0 -1\n-1 0\n");
  EXPECT_EQ(json_of("polygon " + path("arrow.txt"))["diagonals"], Json({{0, 2}}));
}

/// The most pairs, by the recurrence over closed intervals of bases.
int most_pairs(const std::string& bases, int loop) {
  const auto n = static_cast<int>(bases.size());
  std::vector<std::vector<int>> best(n + 1, std::vector<int>(n + 1, 0));  // of [i, j)
  for (int length = loop + 2; length <= n; ++length)
    for (int i = 0; i + length <= n; ++i) {
      const int j = i + length;
      best[i][j] = best[i][j - 1];
      for (int k = i; k + loop < j - 1; ++k) {
        const std::string pair = {bases[k], bases[j - 1]};
        if (pair == "GC" || pair == "CG" || pair == "AU" || pair == "UA" || pair == "GU" || pair == "UG")
          best[i][j] = std::max(best[i][j], best[i][k] + 1 + best[k + 1][j - 1]);
      }
    }
  return best[0][n];
}

void expect_a_structure(const std::string& bases, const std::string& structure, int loop, int pairs) {
  ASSERT_EQ(structure.size(), bases.size());
  std::vector<int> open;
  int found = 0;
  for (int k = 0; k < static_cast<int>(structure.size()); ++k) {
    if (structure[k] == '(') open.push_back(k);
    if (structure[k] != ')') continue;
    ASSERT_FALSE(open.empty());
    const std::string pair = {bases[open.back()], bases[k]};
    EXPECT_THAT((std::vector<std::string>{"GC", "CG", "AU", "UA", "GU", "UG"}), testing::Contains(pair));
    EXPECT_GT(k - open.back(), loop);
    open.pop_back();
    ++found;
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(found, pairs);
}

TEST_F(DpVerb, NussinovFindsTheMostPairsOfEveryRecord) {
  std::mt19937 random(5);
  std::string fasta;
  std::vector<std::string> sequences;
  for (const int length : {1, 4, 5, 30, 90, 150}) {
    sequences.emplace_back();
    for (int k = 0; k < length; ++k) sequences.back() += "ACGU"[random() % 4];
    fasta += ">s" + std::to_string(length) + " of random bases\n" + sequences.back() + "\n";
  }
  make("s.fa", fasta);
  const Json json = json_of("nussinov --min-loop 2 " + path("s.fa"));
  ASSERT_EQ(json["records"].size(), sequences.size());
  for (std::size_t k = 0; k < sequences.size(); ++k) {
    const Json& record = json["records"][k];
    EXPECT_EQ(record["name"], "s" + std::to_string(sequences[k].size()));
    EXPECT_EQ(record["pairs"], most_pairs(sequences[k], 2));
    expect_a_structure(sequences[k], record["structure"], 2, record["pairs"]);
  }
  const ToolRun text = dp("nussinov " + path("s.fa"));
  std::istringstream lines(text.out);
  for (const std::string& sequence : sequences) {
    std::string header, bases, structure;
    std::getline(lines, header);
    std::getline(lines, bases);
    std::getline(lines, structure);
    EXPECT_EQ(header, ">s" + std::to_string(sequence.size()) + " of random bases");
    EXPECT_EQ(bases, sequence);
    const int pairs = most_pairs(sequence, 3);
    expect_a_structure(sequence, structure.substr(0, sequence.size()), 3, pairs);
    EXPECT_EQ(structure.substr(sequence.size()), " (" + std::to_string(pairs) + ")");
  }
}

TEST_F(DpVerb, NussinovRefusesWhatUnpacksToMoreThanMayBe) {
  make("s.fa", ">s\n" + std::string(5000, 'A') + "\n");
  ASSERT_EQ(run_shell("gzip " + path("s.fa")).code, 0);
  expect_refusal("nussinov --max-memory 1K " + path("s.fa.gz"), "(--max-memory)");
}

TEST_F(DpVerb, NussinovWritesConnectivityTables) {
  make("s.fa", ">hairpin\nGGGAAAUCC\n");
  ASSERT_EQ(dp("nussinov --format ct -o " + path("s.ct") + " " + path("s.fa")).code, 0);
  EXPECT_EQ(
      read_file(path("s.ct")),
      "9 ENERGY = -3 hairpin\n1 G 0 2 9 1\n2 G 1 3 8 2\n3 G 2 4 7 3\n4 A 3 5 0 4\n5 A 4 6 0 5\n6 A 5 7 0 6\n"
      "7 U 6 8 3 7\n8 C 7 9 2 8\n9 C 8 0 1 9\n");
  EXPECT_EQ(json_of("nussinov --no-gu " + path("s.fa"))["records"][0]["pairs"], 2);
  EXPECT_EQ(json_of("nussinov --weights 3,2,1 " + path("s.fa"))["records"][0]["score"], 7);
}

TEST_F(DpVerb, NussinovDrawsThePairsOfOneSequenceAsArcs) {
  // 10 units a base: 100 of them, from 45 on. A hairpin of G-C, G-U and A-U, from the outside.
  make("hairpin.fa", ">hairpin\nGGAAAAUUC" + std::string(91, 'A') + "\n");
  ASSERT_EQ(dp("nussinov " + path("hairpin.fa") + " --svg " + path("h.svg") + " -o " + path("h.txt")).code,
            0);
  const std::string svg = read_file(path("h.svg"));
  EXPECT_THAT(svg, AllOf(testing::StartsWith("<svg "), testing::EndsWith("</svg>\n")));
  EXPECT_THAT(svg, AllOf(HasSubstr(">G-C: 1<"), HasSubstr(">A-U: 1<"), HasSubstr(">G-U: 1<")));
  // Over 8, 6 and 3 steps: radii of 40, 30 and 20.
  EXPECT_THAT(svg, AllOf(HasSubstr("\"M45.00 80.00a40.00 40.00 0 0 1 80.00 0\""),
                         HasSubstr("\"M55.00 80.00a30.00 30.00 0 0 1 60.00 0\""),
                         HasSubstr("\"M65.00 80.00a20.00 20.00 0 0 1 40.00 0\"")));
  make("two.fa", ">a\nACGU\n>b\nACGU\n");
  expect_refusal("nussinov --svg " + path("new.svg") + " " + path("two.fa"), "a picture is of one sequence");
  expect_refusal("nussinov --svg " + path("new.png") + " " + path("two.fa"), "the name must end in .svg");
}

TEST_F(DpVerb, NussinovOnAMeasuredSequence) {
  const std::filesystem::path file =
      measured_data(WARPLOOM_TESTS_DIR "/../../shared/data", "rna") / "r500.fa";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is absent";
  const Json record = json_of("nussinov " + file.string())["records"][0];
  EXPECT_EQ(record["pairs"], most_pairs(record["sequence"], 3));
  expect_a_structure(record["sequence"], record["structure"], 3, record["pairs"]);
}

TEST_F(DpVerb, ATableIsSolvedAsTheRecurrenceSays) {
  // Leaves 5 1 2; joining leaves 0 and 1 costs 10, 1 and 2 3, all 100: (0 (1 2)) is 5 + (1 + 2 + 3) + 100.
  make("t.csv", "5,10,100\n999,1,3\n999,999,2\n");
  EXPECT_EQ(dp("solve " + path("t.csv")).out, "111\n(0 (1 2))\n");
  EXPECT_EQ(dp("solve --optimum max " + path("t.csv")).out, "118\n((0 1) 2)\n");
  const Json json = json_of("solve " + path("t.csv"));
  EXPECT_EQ(json["optimum"], 111);
  EXPECT_EQ(json["type"], "int32");
  EXPECT_EQ(json["splits"], Json({{0, 1, 3}, {1, 2, 3}}));
  make("f.txt", "5. 10 100\n0 1 3\n0 0 2\n");
  EXPECT_EQ(json_of("solve " + path("f.txt"))["type"], "float64");
  EXPECT_EQ(json_of("solve --type float32 " + path("f.txt"))["optimum"], 111);
}

TEST_F(DpVerb, WhatHasNoSolutionIsInfinite) {
  make("t.csv", "5,10,100\n0,1,inf\n0,0,2\n");
  EXPECT_EQ(dp("solve " + path("t.csv")).out, "118\n((0 1) 2)\n");
  make("none.csv", "5,inf,100\n0,1,inf\n0,0,2\n");
  EXPECT_EQ(dp("solve " + path("none.csv")).out, "no solution\n");
  EXPECT_TRUE(json_of("solve " + path("none.csv"))["optimum"].is_null());
  make("max.csv", "5,-inf,100\n0,1,3\n0,0,2.5\n");
  EXPECT_EQ(dp("solve --optimum max " + path("max.csv")).out, "111.5\n(0 (1 2))\n");
}

TEST_F(DpVerb, TablesAreReadAndWrittenAsNpy) {
  const std::vector<std::int32_t> values{5, 10, 100, -1, 1, 3, -1, -1, 2};
  NpyArray array{.dtype = "i4", .shape = {3, 3}, .data = std::vector<std::byte>(36)};
  std::memcpy(array.data.data(), values.data(), 36);
  write_npy(path("t.npy"), array);
  const ToolRun run = dp("solve " + path("t.npy") + " --save-table " + path("m.npy"));
  EXPECT_EQ(run.out, "111\n(0 (1 2))\n") << run.err;
  const NpyArray m = read_npy(path("m.npy"));
  EXPECT_EQ(m.dtype, "i4");
  EXPECT_EQ(m.shape, (std::vector<std::uint64_t>{3, 3}));
  std::vector<std::int32_t> cells(9);
  std::memcpy(cells.data(), m.data.data(), 36);
  EXPECT_EQ(cells, (std::vector<std::int32_t>{5, 16, 111, 0, 1, 6, 0, 0, 2}));
  array.data.resize(30);
  make("cut.npy", read_file(path("t.npy")).substr(0, 150));
  expect_refusal("solve " + path("cut.npy"), "cut.npy");
}

TEST_F(DpVerb, EveryWayOfSolvingGivesTheSame) {
  std::string dimensions;
  for (int k = 0; k < 200; ++k) dimensions += std::to_string(1 + k * 37 % 101) + " ";
  make("d.txt", dimensions);
  const std::string chain = "chain --file " + path("d.txt"), wanted = dp(chain).out;
  for (const char* options :
       {"--decomposition divide-and-conquer --block 16", "--decomposition printed --block 32",
        "--decomposition bottom-up --block 128", "--threads 1", "--threads 3", "--type int64",
        "--storage plain", "--triangular direct"})
    EXPECT_EQ(dp(chain + " " + options).out, wanted) << options;
}

TEST_F(DpVerb, TimingsTellPhasesAndRate) {
  const ToolRun run = dp(std::string(kChain) + " --timings");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("solved    on cpu, bottom-up, blocks of "), HasSubstr("transfers 0.000 ms"),
                    HasSubstr("Tpairs/s, 35 pairs"), HasSubstr("memory")));
  const Json json = json_of(std::string(kChain) + " --timings");
  EXPECT_GT(json["solver"]["seconds"]["solve"].get<double>(), 0);
  EXPECT_FALSE(json_of(kChain)["solver"].contains("seconds"));
}

TEST_F(DpVerb, ResultsGoToFilesAllOrNone) {
  EXPECT_EQ(dp(std::string(kChain) + " -o " + path("c.txt")).out, "");
  EXPECT_EQ(read_file(path("c.txt")), dp(kChain).out);
  EXPECT_EQ(dp(std::string(kChain) + " -o " + path("c.json")).code, 0);
  EXPECT_EQ(Json::parse(read_file(path("c.json")))["cost"], 15125);
  expect_refusal(std::string(kChain) + " -o " + path("c.txt"), "--force");
  expect_refusal(std::string(kChain) + " -o ''", "an output's name is empty");
  EXPECT_EQ(dp(std::string(kChain) + " --force -o " + path("c.txt")).code, 0);
  make("p.txt", "0 0\n1 0\n1 1\n");
  // The second output cannot be made: there is no first one either.
  expect_refusal("polygon " + path("p.txt") + " -o " + path("new.txt") + " --svg " + path("p.txt/p.svg"),
                 "is no folder");
  expect_refusal("polygon " + path("p.txt") + " -o " + path("p.svg") + " --svg " + path("p.svg"), "p.svg");
}

TEST_F(DpVerb, MemoryIsToldBeforeItIsTaken) {
  make("t.csv", "5,10,100\n0,1,3\n0,0,2\n");
  EXPECT_EQ(dp("solve -v " + path("t.csv")).err,
            "warploom: info: a problem over 4 points in int32: 32.8 kB for cells and weights\n");
  make("s.fa", ">a\nGGGAAAUCC\n>b\nACGU\n");
  EXPECT_THAT(dp("nussinov -v " + path("s.fa")).err, HasSubstr("2 problems over 15 points in int32: 32."));
  EXPECT_THAT(dp(std::string(kChain) + " -v").err, HasSubstr("over 7 points in int32: 16.4 kB"));
  EXPECT_EQ(dp(kChain).err, "");
}

TEST_F(DpVerb, RequestsAboveTheMachinesMemoryAreOneLine) {
  // 10^6 matrices: 2 TB of cells. Integers of 10 GB where the limit is 6 GB.
  for (
      const char* line : {
        "yes 1 | head -n 1000001 | \"$WARPLOOM\" dp chain --device cpu --file -",
#if !WARPLOOM_ADDRESS_SANITIZER && !WARPLOOM_THREAD_SANITIZER  // they reserve more address space than that
            "ulimit -v 6000000; yes 1 | head -n 50001 | \"$WARPLOOM\" dp chain --device cpu --type int64 --file -",
            "ulimit -v 6000000; awk 'BEGIN { for (k = 0; k < 40000; ++k) print k, k * k }' | \"$WARPLOOM\" dp polygon --device cpu -",
#endif
      }) {
    const ToolRun run = run_shell(line);
    EXPECT_EQ(run.code, 2) << line << run.out << run.err;
    EXPECT_THAT(run.err, AllOf(HasSubstr("needs "), HasSubstr(" of memory, "), HasSubstr("available")))
        << line;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
}

TEST_F(DpVerb, RefusesBadChains) {
  expect_refusal("chain", "say the dimensions once: as arguments, with --file or with --matrices");
  expect_refusal("chain 5", "the chain is empty: one matrix has two dimensions, one is given");
  expect_refusal("chain 5 0 3", "dimensions[1] is 0");
  expect_refusal("chain 5 3.5 3", "'3.5' is no dimension");
  expect_refusal("chain 5 99999999999999999999", "'99999999999999999999' is no dimension");
  expect_refusal("chain 30x35 36x15", "A2 is 36 x 15, but the matrix before it has 35 columns");
  expect_refusal("chain 30x35 35", "here are both");
  expect_refusal("chain 3 4 --file " + path("d"), "say the dimensions once");
  make("m", "3 4\n5 6\n");
  expect_refusal("chain --matrices " + path("m"), "m:2: A2 is 5 x 6");
  make("d", "3\n4\nx\n");
  expect_refusal("chain --file " + path("d"), "d:3:1: 'x' is no whole number");
  make("d", "3\n4\n5.0\n");
  expect_refusal("chain --file " + path("d"), "d:3:1: '5.0' is no whole number");
}

TEST_F(DpVerb, RefusesBadFrequencies) {
  make("p", "1\n2\n");
  make("q", "1\n2\n");
  expect_refusal("search-tree " + path("p") + " " + path("q"), "q");
  make("q", "1\nnan\n3\n");
  expect_refusal("search-tree " + path("p") + " " + path("q"), "nan");
  make("q", "1\n-2\n3\n");
  expect_refusal("search-tree " + path("p") + " " + path("q"), "-2");
  make("q", "1 2\n2 3\n3 4\n");
  expect_refusal("search-tree " + path("p") + " " + path("q"), "2 columns; one is expected");
  expect_refusal("search-tree " + path("q"), "q:1: p of the first row is 1; it must be 0 or nan");
  expect_refusal("search-tree " + path("p"), "1 columns; two are expected");
  expect_refusal("search-tree", "P is required");
  make("t.csv", kTree);
  expect_refusal("search-tree --type int64 " + path("t.csv"), "int64");
}

TEST_F(DpVerb, RefusesBadPolygons) {
  const std::pair<const char*, const char*> cases[] = {
      {"0 0\n1 1\n", "at least 3 vertices; 2 given"},
      {"0 0\n1 nan\n1 1\n", "vertex 1 is (1, nan)"},
      {"0 0\n2 2\n2 0\n0 2\n", "its sides 0-1 and 2-3 meet"},
      {"0 0\n2 0\n2 2\n0 0\n", "vertices 0 and 3 are both (0, 0); leave the last one out"},
      {"0 0 0\n2 0 0\n2 2 0\n", "3 columns; each vertex has a row of two numbers"},
      {"0 0\n2\n", "p.txt:2:1: 1 number in this row"},
      {"0;0\n2;a\n", "p.txt:2:3: 'a' is no number"},
  };
  for (const auto& [text, says] : cases) {
    make("p.txt", text);
    expect_refusal("polygon " + path("p.txt"), says);
  }
  make("p.txt", "0 0\n1 0\n1 1\n");
  expect_refusal("polygon --svg p.png " + path("p.txt"), "--svg p.png: the name must end in .svg");
  expect_refusal("polygon --type int32 " + path("p.txt"), "type int32 is not for polygons");
}

TEST_F(DpVerb, RefusesBadSequences) {
  make("s.fa", ">one\nACGU\n>two\nACGXU\n");
  expect_refusal("nussinov " + path("s.fa"), "X");
  EXPECT_THAT(dp("nussinov " + path("s.fa")).err, AllOf(HasSubstr("s.fa"), HasSubstr("two"), HasSubstr("4")));
  make("s.fa", ">one\nACGNU\n");
  expect_refusal("nussinov " + path("s.fa"), "--allow-n accepts N");
  EXPECT_EQ(json_of("nussinov --allow-n --min-loop 0 " + path("s.fa"))["records"][0]["pairs"], 2);
  make("none.fa", ">one\n>two\nACGU\n");
  expect_refusal("nussinov " + path("none.fa"), "one");
  make("s.fa", ">one\nACGU\n");
  expect_refusal("nussinov --min-loop -1 " + path("s.fa"), "-1");
  expect_refusal("nussinov --weights 1,2 " + path("s.fa"), "--weights 1,2: three whole numbers are expected");
  expect_refusal("nussinov --weights 1,2,-3 " + path("s.fa"), "-3");
  expect_refusal("nussinov --format bpseq " + path("s.fa"), "--format bpseq: it is dot-bracket, ct or json");
}

TEST_F(DpVerb, RefusesBadTables) {
  const std::pair<const char*, const char*> cases[] = {
      {"1 2\n", "1 rows of 2 numbers; the table must be square"},
      {"1 2\n3\n", "t.txt:2:1: 1 number in this row"},
      {"1 2\n0 nan\n", "t.txt:2: column 2: nan is no cost"},
      {"1 -inf\n0 1.5\n", "t.txt:1: column 2: -inf is no cost"},
      {"1 -inf\n0 1\n", "t.txt:1: column 2: -inf makes every optimum infinite"},
      {"1 9000000000000000000\n0 1\n", "int64 is for up to 2305843009213693951; use float64"},
  };
  for (const auto& [text, says] : cases) {
    make("t.txt", text);
    expect_refusal("solve " + path("t.txt"), says);
  }
  make("t.txt", "1 600000000\n0 1\n");
  expect_refusal("solve --type int32 " + path("t.txt"), "int32 is for up to 536870911; use int64");
  EXPECT_EQ(json_of("solve " + path("t.txt"))["type"], "int64");
  make("t.txt", "3e38 3e38\n0 1\n");
  expect_refusal("solve --type float32 " + path("t.txt"), "cells may reach 6e+38, beyond float32's range");
  EXPECT_EQ(json_of("solve " + path("t.txt"))["optimum"], 6e38);
  make("t.txt", "-1e308 -1e308\n0 -1e308\n");
  expect_refusal("solve " + path("t.txt"), "beyond float64's range");
  make("t.txt", "1 2.5\n0 1\n");
  expect_refusal("solve --type int32 " + path("t.txt"), "its numbers have fractions");
  expect_refusal("solve --save-table m.txt " + path("t.txt"),
                 "--save-table m.txt: the name must end in .npy");
  expect_refusal("solve --optimum least " + path("t.txt"), "'least'");
}

TEST_F(DpVerb, RefusesOptionsOutOfRangeAndUnknownNames) {
  const std::string chain = std::string(kChain) + " ";
  expect_refusal(chain + "--block 48", "block 48 is none of 16, 32, 64, 128, 256 and 512");
  expect_refusal(chain + "--block x", "--block");
  expect_refusal(chain + "--threads 0", "--threads");
  expect_refusal(chain + "--decomposition persistent", "on a CPU use bottom-up");
  expect_refusal(chain + "--decomposition sideways",
                 "'sideways' is no decomposition; there are auto, bottom-up");
  expect_refusal(chain + "--triangular merged --block 128", "at most 64");
  expect_refusal(chain + "--triangular square", "'square' is no triangular method");
  expect_refusal(chain + "--storage narrow", "narrow storage does not suit the problem: it has factors");
  expect_refusal(chain + "--storage wide", "'wide' is no storage");
  expect_refusal(chain + "--type int16", "value type 'int16' is unknown");
  expect_refusal(
      chain + "--timing",
      "option '--timing' is not known here; did you mean --timings? (see warploom dp chain --help)");
  expect_refusal("chian 1 2", "'chian' is not known to dp; did you mean chain?");
  expect_refusal("polygon a b", "argument 'b' is not known here: one too many");
  const ToolRun none = run_tool("dp");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no problem given (warploom dp --help lists them)"));
}

TEST_F(DpVerb, RefusesFilesThatCannotBeReadOrWritten) {
  make("empty", "");
  make("binary", std::string("\x7f"
                             "ELF\x02\x01\x00\x00\xff\xfe",
                             10));
  for (const std::string problem : {"chain --file ", "search-tree ", "polygon ", "nussinov ", "solve "}) {
    expect_refusal(problem + path("missing"), "missing");
    expect_refusal(problem + path("empty"), "empty");
    expect_refusal(problem + path("binary"), "binary");
    expect_refusal(problem + directory.string(), "directory");
  }
  expect_refusal(std::string(kChain) + " -o /dev/full", "/dev/full");
  expect_refusal(std::string(kChain) + " -o " + directory.string(), directory.string());
  const ToolRun disk = run_shell(std::string("\"$WARPLOOM\" dp ") + kChain + " --device cpu > /dev/full");
  EXPECT_EQ(disk.code, 2);
  EXPECT_THAT(disk.err, HasSubstr("cannot write standard output: No space left on device"));
}

TEST_F(DpVerb, FilesWithoutPermissionAreNamed) {
  make("secret", "1 2 3\n");
  std::filesystem::permissions(path("secret"), std::filesystem::perms::none);
  const std::string as_somebody = geteuid() == 0 ? "setpriv --reuid=65534 --clear-groups " : "";
  if (run_shell(as_somebody + "\"$WARPLOOM\" --version").code != 0)
    GTEST_SKIP() << "no other user can run the tool";
  const ToolRun run = run_shell(as_somebody + "\"$WARPLOOM\" dp chain --file " + path("secret"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("secret"), HasSubstr("ermission denied")));
}

TEST_F(DpVerb, HelpHasAnExampleAtEveryLevel) {
  const std::string help = run_tool("dp --help").out;
  for (const std::string problem : {"chain", "search-tree", "polygon", "nussinov", "solve"}) {
    EXPECT_THAT(help, HasSubstr("\n  " + problem + " "));
    const ToolRun run = run_tool("dp " + problem + " --help");
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.out,
                AllOf(HasSubstr("Usage: warploom dp " + problem), HasSubstr("  warploom dp " + problem),
                      HasSubstr("--timings"), HasSubstr("--json")));
  }
}

}  // namespace
}  // namespace warploom
