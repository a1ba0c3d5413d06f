// Onset and duration that `warploom search` says, in all that it writes.

#include <fmt/format.h>

#include <sstream>

#include "search_recordings.hpp"
#include "warploom/core/file.hpp"
#include "warploom/io/recording.hpp"

namespace warploom {
namespace {

using testing::HasSubstr;

constexpr double kSample = 1 / kRate;

/// The pattern as it is at 5 s, and slower by 15 % at 20 s, in 40 s.
class SearchBoundaries : public SearchVerb {
 protected:
  static constexpr int kSlow = 69;

  SearchBoundaries() {
    make_query();
    make("day.csv", csv_of(day()));
  }
  static Samples day() {
    Samples samples = noise_with(40, 31, {{5}});
    const Samples wanted = pattern();
    for (std::size_t c = 0; c < 3; ++c)
      for (int k = 0; k < kSlow; ++k) {
        const double at = k * (kPatternSamples - 1.0) / (kSlow - 1);
        const auto before = std::min(static_cast<std::size_t>(at), wanted[c].size() - 2);
        const double share = at - static_cast<double>(before);
        samples[c][1000 + static_cast<std::size_t>(k)] =
            (1 - share) * wanted[c][before] + share * wanted[c][before + 1];
      }
    return samples;
  }
  static void expect_slow(const Json& match) {
    EXPECT_NEAR(match["onset"].get<double>(), 20, 2.1 * kSample);
    EXPECT_NEAR(match["duration"].get<double>(), kSlow * kSample, 3.1 * kSample);
  }
  /// The match at about this time.
  static Json match_at(const Json& matches, double time) {
    for (const Json& match : matches)
      if (std::abs(match["onset"].get<double>() - time) < .5) return match;
    ADD_FAILURE() << "no match at " << time;
    return matches.at(0);
  }
};

TEST_F(SearchBoundaries, AreTheMatchsWhateverMatches) {
  for (const std::string match : {"auto", "in-place", "free"}) {
    SCOPED_TRACE(match);
    const Json found = search_json("step.csv day.csv --best 2 --match " + match)["recordings"][0];
    for (const Json& one : found["matches"]) {
      EXPECT_EQ(one["onset"], one["first"].get<double>() / kRate);
      EXPECT_NEAR(one["duration"].get<double>(),
                  (one["last"].get<double>() - one["first"].get<double>()) / kRate, 1e-9);
    }
    expect_slow(match_at(found["matches"], 20));
    const Json same = match_at(found["matches"], 5);
    EXPECT_NEAR(same["onset"].get<double>(), 5, 1.1 * kSample);
    EXPECT_NEAR(same["duration"].get<double>(), kPatternSamples * kSample, 2.1 * kSample);
    // The windows that were compared stay those of the query's length.
    if (match == "in-place") {
      for (const Json& one : found["matches"]) EXPECT_EQ(one["pairs"][0]["length"], kPatternSamples);
    }
  }
}

TEST_F(SearchBoundaries, AreTheSameInAllThatIsWritten) {
  const Json match = match_at(
      search_json("step.csv day.csv --best 2 --match in-place -o found --html")["recordings"][0]["matches"],
      20);
  const double onset = match["onset"], duration = match["duration"];
  char text[64];
  std::snprintf(text, sizeof text, "%.2f      %.2f", onset, duration);
  EXPECT_THAT(search("step.csv day.csv --best 2 --match in-place").out, HasSubstr(text));
  const std::string begin = fmt::format("{},{},", onset, duration);
  for (const char* file : {"ranking.csv", "day.matches.csv", "day.annotations.csv"})
    EXPECT_THAT(read_file(path("found/") + file), HasSubstr(begin)) << file;
  std::istringstream lines(read_file(path("found/day.matches.jsonl")));
  std::string line;
  std::getline(lines, line);  // about the recording
  Json stored = Json::array();
  while (std::getline(lines, line)) stored.push_back(Json::parse(line));
  EXPECT_EQ(match_at(stored, 20), match);
  const std::string page = read_file(path("found/day.html"));
  EXPECT_THAT(page, HasSubstr(fmt::format(R"({{"first":{},"last":{},)", match["first"].get<int>(),
                                          match["last"].get<int>())));
  // What is finished is read again as it was.
  const Json again = search_json("step.csv day.csv --best 2 --match in-place -o found --html --resume");
  EXPECT_EQ(match_at(again["recordings"][0]["matches"], 20), match);
}

TEST_F(SearchBoundaries, KeepTheExclusion) {
  for (const std::string match : {"auto", "in-place", "free"})
    for (const double exclusion : {.1, .5}) {
      const Json found = search_json(fmt::format("step.csv day.csv --best 40 --exclusion {} --match {}",
                                                 exclusion, match))["recordings"][0]["matches"];
      std::vector<int> begins;
      for (const Json& one : found) begins.push_back(one["first"]);
      std::ranges::sort(begins);
      for (std::size_t k = 1; k < begins.size(); ++k)
        EXPECT_GT(begins[k] - begins[k - 1], static_cast<int>(exclusion * kPatternSamples)) << match;
    }
}

TEST_F(SearchBoundaries, OfAStreamAreTheMatchsToo) {
  const ToolRun run = run_shell("cat " + path("day.csv") + " | \"$WARPLOOM\" search " + path("step.csv") +
                                " --stream --rate 50 --max-distance 0.6");
  ASSERT_EQ(run.code, 0) << run.err;
  std::istringstream lines(run.out);
  Json matches = Json::array();
  for (std::string line; std::getline(lines, line);) matches.push_back(Json::parse(line));
  expect_slow(match_at(matches, 20));
  const Json whole =
      search_json("step.csv day.csv --match free --max-distance 0.6")["recordings"][0]["matches"];
  // Of windows that are as near a search of the whole takes those that lag less.
  for (const double time : {5., 20.})
    EXPECT_NEAR(match_at(matches, time)["first"].get<int>(), match_at(whole, time)["first"].get<int>(), 3);
}

/// The pattern with its axes turned by 40 degrees about z, slower.
TEST_F(SearchBoundaries, OfTurnedSensorsAreJudgedAsTheyWereCompared) {
  Samples turned = day();
  const double c = std::cos(.7), s = std::sin(.7);
  for (std::size_t k = 0; k < turned[0].size(); ++k) {
    const double x = turned[0][k], y = turned[1][k];
    turned[0][k] = c * x - s * y;
    turned[1][k] = s * x + c * y;
  }
  make("turned.csv", csv_of(turned));
  const Json found = search_json(
      "step.csv turned.csv --best 2 --match free --rotations 400 --neighbours 0 "
      "--max-distance 0.6")["recordings"][0]["matches"];
  expect_slow(match_at(found, 20));
  const ToolRun run = search("step.csv turned.csv --best 2 --match auto --json");
  ASSERT_EQ(run.code, 0) << run.err;
  expect_slow(match_at(Json::parse(run.out)["recordings"][0]["matches"], 20));
}

}  // namespace
}  // namespace warploom
