#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "io/scratch.hpp"
#include "measured_data.hpp"
#include "run_tool.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

class TableVerb : public Scratch {
 protected:
  std::string path(const std::string& file) const { return (directory / file).string(); }
  static ToolRun table(const std::string& arguments) {
    return run_tool("table " + arguments + " --device cpu");
  }
  static Json json_of(const std::string& arguments) {
    const ToolRun run = table(arguments + " --json");
    EXPECT_EQ(run.code, 0) << arguments << '\n' << run.err;
    return Json::parse(run.out, nullptr, false);
  }
  static Json bench(const std::string& arguments) {
    return json_of("bench --preload 2^12 --rounds 2 " + arguments)["results"];
  }
  void expect_refusal(const std::string& arguments, const std::string& says) const {
    const ToolRun run = table(arguments);
    EXPECT_EQ(run.code, 2) << arguments << '\n' << run.out << run.err;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_THAT(run.err, HasSubstr(says)) << arguments;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
  /// Rows as Daphnet's: time, ankle, thigh, trunk, annotation.
  static std::string row(int milliseconds, double ankle, const std::string& trunk, int annotation) {
    std::ostringstream line;
    line << milliseconds << ",0," << ankle << ",0,0,0,0," << trunk << ',' << annotation << '\n';
    return line.str();
  }
};

TEST_F(TableVerb, BenchCountsWhatItDid) {
  const Json results = bench("--batch 1000 --mix 30,20,50");
  ASSERT_EQ(results.size(), 1u);
  const Json& result = results[0];
  const Json& did = result["outcomes"];
  const double inserts = did["inserted"].get<double>() + did["not_inserted"].get<double>();
  const double erases = did["erased"].get<double>() + did["not_erased"].get<double>();
  const double finds = did["found"].get<double>() + did["not_found"].get<double>();
  EXPECT_EQ(inserts + erases + finds, 2000);
  EXPECT_NEAR(inserts, 600, 120);  // six deviations
  EXPECT_NEAR(erases, 400, 110);
  EXPECT_EQ(did["full"], 0);
  EXPECT_EQ(result["pairs_before"], 4096);
  // One batch more than is counted was run, whose outcomes are not told.
  EXPECT_NEAR(result["pairs"].get<double>(),
              4096 + did["inserted"].get<double>() - did["erased"].get<double>(), 500);
  EXPECT_GT(result["operations_per_second"].get<double>(), 0);
  EXPECT_EQ(result["rounds"].size(), 2u);
}

TEST_F(TableVerb, BenchOfHalfFindsHalf) {
  const Json result = bench("--batch 2^14 --search 50")[0];
  const auto share = [&](const char* yes, const char* no) {
    const double good = result["outcomes"][yes];
    return good / (good + result["outcomes"][no].get<double>());
  };
  EXPECT_NEAR(share("inserted", "not_inserted"), 0.5, 0.06);
  EXPECT_NEAR(share("erased", "not_erased"), 0.5, 0.06);
  EXPECT_NEAR(share("found", "not_found"), 0.5, 0.06);
  EXPECT_EQ(result["workload"]["universe"], 8192);
}

TEST_F(TableVerb, BenchShowsChainsAndTables) {
  const Json result = bench(
      "--structure list --tables 5 --buckets 64 --hash dek --assignment decimal "
      "--distribution normal --variance 0.01 --batch 100 --key-bits 64 --value-bits 64")[0];
  std::uint64_t chains = 0, pairs = 0, in_tables = 0;
  for (std::size_t length = 0; length < result["chain_lengths"].size(); ++length) {
    chains += result["chain_lengths"][length].get<std::uint64_t>();
    pairs += length * result["chain_lengths"][length].get<std::uint64_t>();
  }
  for (const Json& table : result["pairs_per_table"]) in_tables += table.get<std::uint64_t>();
  EXPECT_EQ(chains, 5 * 64u);
  EXPECT_EQ(result["pairs"], pairs);
  EXPECT_EQ(result["pairs"], in_tables);
  EXPECT_EQ(result["pairs_per_table"].size(), 5u);
  EXPECT_EQ(result["structure"], "list");
  EXPECT_EQ(result["buckets"], 64);
}

TEST_F(TableVerb, BenchFillsAgainWhereNothingIsErased) {
  const Json result = bench("--batch 2048 --mix 100,0,0")[0];
  // A batch of 2,048 draws among 8,192 keys of which 4,096 are there: a round's insertions start from the
  // preload.
  const double inserted = result["outcomes"]["inserted"].get<double>() / 2;
  const double wanted = 4096 * (1 - std::pow(1 - 1.0 / 8192, 2048));
  EXPECT_NEAR(inserted, wanted, 150);
  EXPECT_NEAR(result["pairs"].get<double>(), 4096 + wanted, 150);
}

TEST_F(TableVerb, BenchTakesEveryCombination) {
  const Json results = bench("--batch 2^6..2^8 --tables 1,3 --search 0,100");
  ASSERT_EQ(results.size(), 12u);
  EXPECT_EQ(results[0]["batch"], 64);
  EXPECT_EQ(results[1]["batch"], 128);
  EXPECT_EQ(results[2]["batch"], 256);
  EXPECT_EQ(results[0]["workload"]["mix"]["find"], 0);
  EXPECT_EQ(results[3]["workload"]["mix"]["find"], 100);
  EXPECT_EQ(results[11]["tables"], 3);
}

TEST_F(TableVerb, BenchPrintsAndDraws) {
  const ToolRun run =
      table("bench --preload 1000 --batch 2^4..2^7 --tables 1,2 --rounds 1 --distribution zipf --svg " +
            path("plot.svg"));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("1,000 preloaded, keys zipf 0.99 of 2,000"), HasSubstr("us a batch"),
                             HasSubstr("pairs  chains"), HasSubstr("2 tables: ")));
  const std::string plot = content_of(path("plot.svg"));
  EXPECT_THAT(plot, AllOf(HasSubstr("<svg "), HasSubstr("operations a batch"), HasSubstr(">n = 2</text>"),
                          HasSubstr("</svg>")));
  EXPECT_EQ(std::filesystem::file_size(path("plot.svg")), plot.size());
}

TEST_F(TableVerb, BenchDrawsASinglePoint) {
  for (const char* search : {"0", "33"}) {
    const ToolRun run = table("bench --preload 1000 --batch 2^14 --rounds 1 --force --svg " +
                              path("plot.svg") + " --search " + search);
    ASSERT_EQ(run.code, 0) << run.err;
    const std::string plot = content_of(path("plot.svg"));
    EXPECT_THAT(plot, AllOf(HasSubstr("<circle"), HasSubstr(">16 Ki</text>"), Not(HasSubstr("nan"))));
  }
}

TEST_F(TableVerb, BenchRefusesWhatMakesNoSense) {
  expect_refusal("bench --batch 0", "--batch 0: a whole number from 1");
  expect_refusal("bench --batch 2^9..2^8", "the greater");
  expect_refusal("bench --batch many", "--batch many");
  expect_refusal("bench --search 101", "--search 101");
  expect_refusal("bench --mix 50,50", "INSERT,ERASE,FIND");
  expect_refusal("bench --mix 50,50,50", "of sum 100");
  expect_refusal("bench --mix 50,50,0 --search 3", "give one of them");
  expect_refusal("bench --distribution gauss", "uniform, normal, half or zipf");
  expect_refusal("bench --structure tree", "lines or list");
  expect_refusal("bench --variance 0", "--variance 0");
  expect_refusal("bench --hash md5", "md5");
  expect_refusal("bench --key-bits 16", "16");
  expect_refusal("bench --preload 100 --universe 50", "as many as are preloaded");
  expect_refusal("bench --svg " + path("plot.png"), "must end in .svg");
  expect_refusal("bench --preload 2^12 --svg /dev/null/plot.svg", "/dev/null/plot.svg");
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST_F(TableVerb, ApplicationsCompareTheStructures) {
  const Json json =
      json_of("applications --application emergencies --preload 2^12 --rounds 1 --svg " + path("k.svg"));
  const Json& variants = json["applications"][0]["variants"];
  ASSERT_EQ(variants.size(), 3u);
  EXPECT_EQ(variants[0]["variant"], "CPU_BASIC");
  EXPECT_EQ(variants[0]["tables"], 1);
  EXPECT_EQ(variants[1]["variant"], "CPU_PH");
  EXPECT_EQ(variants[1]["tables"], 320);
  EXPECT_EQ(variants[1]["buckets"], 1024);
  EXPECT_EQ(variants[2]["structure"], "lines");
  // The same operations, whatever the structure.
  EXPECT_EQ(variants[0]["outcomes"], variants[1]["outcomes"]);
  EXPECT_EQ(variants[0]["pairs"], variants[2]["pairs"]);
  EXPECT_THAT(content_of(path("k.svg")), HasSubstr("emergencies: batches of 4,096"));
}

TEST_F(TableVerb, RecordingsAreStoredByStatus) {
  // Two seconds still and upright, one shaking and bent forward, then two still and upright again.
  std::string text = "time,A0,A1,A2,U0,U1,U2,T1,T2,T3,N\n";
  for (int k = 0; k < 200; ++k) text += row(10 * k + 10, 1000, "0,950,100", 1);
  for (int k = 200; k < 300; ++k) text += row(10 * k + 10, k % 2 == 0 ? 400 : 1600, "0,100,-950", 2);
  for (int k = 300; k < 500; ++k) text += row(10 * k + 10, 1000, "0,950,100", 1);
  make("walk.txt", text);
  const Json json = json_of("applications --window 0 --batch 64 --recording " + path("walk.txt") +
                            " --status free/+2/still")["recordings"];
  EXPECT_EQ(json["slots"], 500);
  EXPECT_EQ(json["statuses"], Json({{{"status", "free/+2/still"}, {"slots", 400}},
                                    {{"status", "freeze/-3/still"}, {"slots", 100}}}));
  ASSERT_EQ(json["intervals"].size(), 2u);
  EXPECT_EQ(json["intervals"][0], Json({{"recording", "walk"}, {"from", 0.0}, {"to", 1.99}}));
  EXPECT_EQ(json["intervals"][1], Json({{"recording", "walk"}, {"from", 3.0}, {"to", 4.99}}));

  // Over half a second the shaking shows.
  const Json windowed = json_of("applications --window 0.5 --recording " + path("walk.txt"))["recordings"];
  std::map<std::string, int> slots;
  for (const Json& status : windowed["statuses"]) slots[status["status"]] = status["slots"];
  EXPECT_GE(slots["freeze/-3/striding"], 50);
  EXPECT_EQ(slots["freeze/+2/still"] + slots["freeze/+2/moving"] + slots["freeze/+2/striding"] +
                slots["freeze/-3/still"] + slots["freeze/-3/moving"] + slots["freeze/-3/striding"],
            100);
}

TEST_F(TableVerb, RecordingsThatAreNoneAreRefused) {
  make("columns.csv", "1,2,3\n");
  make("time.csv", row(10, 1, "0,1,0", 0) + row(10, 1, "0,1,0", 0));
  make("annotation.csv", row(10, 1, "0,1,0", 7));
  expect_refusal("applications --recording " + path("columns.csv"), "3 columns; a recording has 11");
  expect_refusal("applications --recording " + path("time.csv"),
                 "time.csv:2:1: time 10 does not come after 10");
  expect_refusal("applications --recording " + path("annotation.csv"), "annotation 7");
  expect_refusal("applications --recording " + path("time.csv") + " --status asleep",
                 "outside, free, freeze");
  expect_refusal("applications --status free", "say --recording FILE");
}

TEST_F(TableVerb, FreezesOfARealRecordingAreThoseAnnotated) {
  const auto data =
      measured_data(std::filesystem::path(WARPLOOM_TESTS_DIR) / "../../shared/data", "activity");
  const auto file = data / "S01R02.txt.gz";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  std::istringstream lines(run_shell("gzip -dc " + file.string()).out);
  std::string line;
  std::vector<std::pair<double, double>> wanted;
  std::getline(lines, line);  // header
  double start = -1;
  std::size_t rows = 0;
  for (bool before = false; std::getline(lines, line); ++rows) {
    const double time = std::stod(line) / 1000;
    if (start < 0) start = time;
    const bool freeze = line.find_last_of('2') == line.find_last_of(',') + 1;
    if (freeze && !before) wanted.emplace_back(time - start, 0);
    if (freeze) wanted.back().second = time - start;
    before = freeze;
  }
  const Json json = json_of("applications --status freeze --recording " + file.string())["recordings"];
  EXPECT_EQ(json["slots"], rows);
  ASSERT_EQ(json["intervals"].size(), wanted.size());
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    EXPECT_NEAR(json["intervals"][k]["from"].get<double>(), wanted[k].first, 1e-9) << k;
    EXPECT_NEAR(json["intervals"][k]["to"].get<double>(), wanted[k].second, 1e-9) << k;
  }
}

TEST_F(TableVerb, HelpShowsExamples) {
  for (const char* command : {"bench", "count", "applications"})
    EXPECT_THAT(run_tool(std::string("table ") + command + " --help").out,
                HasSubstr(std::string("  warploom table ") + command));
  const ToolRun none = run_tool("table");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("no command given"));
}

}  // namespace
}  // namespace warploom
