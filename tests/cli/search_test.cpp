// `warploom search` as its users call it: what it finds, and how it says it.

#include <fstream>

#include "search_recordings.hpp"
#include "warploom/core/file.hpp"
#include "warploom/io/recording.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::Pointwise;
using testing::SizeIs;
using testing::StartsWith;

constexpr double kNear = 0.061;  // [s] three samples: warping blurs where a pattern begins

TEST_F(SearchVerb, FindsWhatWasPlanted) {
  make_query();
  make_recording("day.csv", 60, 1, {{5}, {20}, {47.5}});
  for (const char* method : {"dtw", "euclidean"}) {
    const Json found = search_json(std::string("step.csv day.csv --method ") + method);
    ASSERT_EQ(found["recordings"].size(), 1u);
    const Json& recording = found["recordings"][0];
    EXPECT_EQ(recording["recording"], "day");
    EXPECT_EQ(recording["rate"], kRate);
    EXPECT_EQ(recording["samples"], 3000);
    EXPECT_THAT(recording["channels"], ElementsAre("x", "y", "z"));
    EXPECT_THAT(onsets(recording, 3), Pointwise(DoubleNear(kNear), {5.0, 20.0, 47.5})) << method;
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(recording["matches"][k]["matched"], 3);
      EXPECT_EQ(recording["matches"][k]["label"], "step");
      EXPECT_LT(recording["matches"][k]["distance"], 0.5);
    }
    EXPECT_EQ(found["queries"][0]["samples"], kPatternSamples);
    EXPECT_EQ(found["options"]["method"], method);
  }
}

TEST_F(SearchVerb, SaysWhatBefellTheChannels) {
  make_query();
  make_recording("day.csv", 60, 2,
                 {{30, {1, 0, 2}, {0, 0.2, 0}, {1, 1, -1}}, {50, {0, 1, 2}, {0, 0, 0}, {1, 1, 0}}});
  const Json found = search_json("step.csv day.csv --best 2 --max-distance 0.5");
  const Json& first = found["recordings"][0]["matches"][0];
  ASSERT_EQ(first["matched"], 3);
  EXPECT_NEAR(first["onset"].get<double>(), 30, kNear);
  std::map<std::string, Json> pairs;
  for (const Json& pair : first["pairs"]) pairs[pair["query_channel"]] = pair;
  EXPECT_EQ(pairs["x"]["channel"], "y");
  EXPECT_EQ(pairs["x"]["switched"], true);
  EXPECT_EQ(pairs["x"]["negated"], false);
  EXPECT_EQ(pairs["y"]["channel"], "x");
  EXPECT_NEAR(pairs["y"]["lag"].get<double>(), 0.2, kNear);
  EXPECT_EQ(pairs["z"]["channel"], "z");
  EXPECT_EQ(pairs["z"]["negated"], true);
  const Json& second = found["recordings"][0]["matches"][1];
  EXPECT_NEAR(second["onset"].get<double>(), 50, kNear);
  EXPECT_EQ(second["matched"], 2);
  EXPECT_NEAR(second["coverage"].get<double>(), 2.0 / 3, 1e-9);

  const ToolRun text = search("step.csv day.csv --best 2 --max-distance 0.5");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("rank  onset [s]  duration  channels  distance  differences\n"));
  EXPECT_THAT(text.out, HasSubstr("x in y, y in x, z negated, y +0."));
  EXPECT_THAT(text.out, HasSubstr("2/3"));
  EXPECT_THAT(text.out, HasSubstr("no z"));
  EXPECT_THAT(text.out, HasSubstr("\n2 matches, "));

  const Json plain = search_json("step.csv day.csv --best 1 --no-negated --neighbours 0 --max-distance 0.5");
  EXPECT_NEAR(plain["recordings"][0]["matches"][0]["onset"].get<double>(), 50, kNear);
}

TEST_F(SearchVerb, AQueryIsARangeOfItsOwnRecording) {
  make_recording("day.csv", 60, 3, {{10}, {40}});
  const std::string range = "day.csv day.csv --from 10 --to 11.2 --best 2";
  const Json found = search_json(range);
  const Json& matches = found["recordings"][0]["matches"];
  EXPECT_DOUBLE_EQ(matches[0]["onset"].get<double>(), 10);
  EXPECT_EQ(matches[0]["self"], true);
  EXPECT_NEAR(matches[0]["distance"].get<double>(), 0, 1e-4);
  EXPECT_NEAR(matches[1]["onset"].get<double>(), 40, kNear);
  EXPECT_EQ(matches[1]["self"], false);
  EXPECT_THAT(search(range).out, HasSubstr("the query itself"));
  EXPECT_EQ(found["queries"][0]["from"], 10);
  EXPECT_EQ(found["queries"][0]["to"], 11.2);

  for (const char* method : {"", " --method euclidean"}) {
    const Json others = search_json(range + " --exclude-self" + method);
    for (const Json& match : others["recordings"][0]["matches"]) EXPECT_EQ(match["self"], false);
    EXPECT_EQ(others["recordings"][0]["matches"].size(), 2u) << method;
    EXPECT_NEAR(others["recordings"][0]["matches"][0]["onset"].get<double>(), 40, kNear);
  }
}

TEST_F(SearchVerb, ManyRecordingsHaveOneRanking) {
  make_query();
  std::filesystem::create_directories(directory / "days" / "deep");
  make_recording("days/b.csv", 30, 4, {{7}});
  make_recording("days/deep/a.csv", 30, 5, {{3}});
  make("days/notes.md", "no recording");
  const Json found = search_json("step.csv days --best 4");
  ASSERT_EQ(found["recordings"].size(), 2u);
  std::vector<std::string> best;
  double before = 0;
  for (std::size_t k = 0; k < found["ranking"].size(); ++k) {
    const Json& place = found["ranking"][k];
    EXPECT_EQ(place["rank"], k + 1);
    const auto in = std::ranges::find_if(found["recordings"],
                                         [&](const Json& r) { return r["recording"] == place["recording"]; });
    const Json& match = (*in)["matches"][place["match"].get<std::size_t>() - 1];
    if (k < 2) best.push_back(place["recording"]);
    if (match["coverage"] == 1.0) {
      EXPECT_GE(match["distance"], before);
      before = match["distance"];
    }
  }
  std::ranges::sort(best);
  EXPECT_THAT(best, ElementsAre("a", "b"));
  EXPECT_THAT(search("step.csv days --best 4").out, HasSubstr("matches in 2 recordings, 4 shown"));
}

TEST_F(SearchVerb, LabelledQueriesGiveEachPlaceItsLabel) {
  // The other pattern is the first one backwards.
  Samples backwards = pattern();
  for (auto& channel : backwards) std::ranges::reverse(channel);
  make_query("there.csv");
  make("back.csv", csv_of(backwards));
  Samples day = noise_with(40, 6, {{5}, {15}});
  for (std::size_t c = 0; c < 3; ++c) std::ranges::copy(backwards[c], day[c].begin() + 1250);
  make("day.csv", csv_of(day));
  const Json found = search_json("--query go=there.csv --query return=back.csv day.csv --labels --best 3");
  std::map<int, std::string> labels;
  for (const Json& match : found["recordings"][0]["matches"])
    labels[static_cast<int>(std::lround(match["onset"].get<double>()))] = match["label"];
  EXPECT_EQ(labels, (std::map<int, std::string>{{5, "go"}, {15, "go"}, {25, "return"}}));

  const Json each = search_json("--query go=there.csv --query return=back.csv day.csv --best 3");
  std::map<std::string, int> count;
  for (const Json& match : each["recordings"][0]["matches"]) ++count[match["label"]];
  EXPECT_EQ(count, (std::map<std::string, int>{{"go", 3}, {"return", 3}}));

  const Json range = search_json("--query go=day.csv@5-6.2 day.csv --best 1");
  EXPECT_EQ(range["recordings"][0]["matches"][0]["self"], true);
}

TEST_F(SearchVerb, AnnotationsAreExamples) {
  const Samples day = noise_with(60, 7, {{5}, {20}, {47}});
  std::string text = "time,x,y,z,activity\n";
  for (std::size_t k = 0; k < day[0].size(); ++k) {
    const double t = static_cast<double>(k) / kRate;
    const bool walks = (t >= 5 && t < 6.2) || (t >= 20 && t < 21.2);
    text += std::to_string(t) + "," + std::to_string(day[0][k]) + "," + std::to_string(day[1][k]) + "," +
            std::to_string(day[2][k]) + "," + (walks ? "2" : "0") + "\n";
  }
  make("day.csv", text);
  const std::string examples = "day.csv day.csv --label-column activity --label 2 --best 3";
  const Json found = search_json(examples);
  EXPECT_EQ(found["queries"].size(), 2u);
  EXPECT_THAT(onsets(found["recordings"][0], 3), Pointwise(DoubleNear(kNear), {5.0, 20.0, 47.0}));
  const Json others = search_json(examples + " --exclude-self");
  EXPECT_NEAR(others["recordings"][0]["matches"][0]["onset"].get<double>(), 47, kNear);
  expect_refusal("day.csv day.csv --label-column activity --label 7",
                 "day.csv: no annotation '7'; there are 0, 2");
  expect_refusal("day.csv day.csv --label 2 --label-column none",
                 "it has none: --label-column names a column that holds them");
}

TEST_F(SearchVerb, QuietLeavesRemarksOut) {
  make_query();
  make("day.csv", csv_of(noise_with(30, 8, {{9}}), "time,x,y,z"));
  EXPECT_THAT(search("step.csv day.csv --best 1").out, HasSubstr("no largest distance was given"));
  EXPECT_THAT(search("step.csv day.csv --best 1 --quiet").out,
              Not(HasSubstr("no largest distance was given")));
}

TEST_F(SearchVerb, ChannelsAreMatchedByNameOrNumber) {
  make_query();
  const Samples day = noise_with(30, 8, {{9}});
  make("other.csv", csv_of({day[2], day[0], day[1]}, "time,z,x,y"));
  const Json by_name = search_json("step.csv other.csv --best 1 --neighbours 0");
  EXPECT_EQ(by_name["recordings"][0]["matches"][0]["matched"], 3);
  EXPECT_EQ(by_name["recordings"][0]["matches"][0]["pairs"][0]["number"], 2);
  make("names.csv", csv_of(day, "time,a,b,c"));
  expect_refusal("step.csv names.csv",
                 "names.csv has no channel 'x' of the query of step.csv, but 3 channels (a, b, c)");
  const Json by_number = search_json("step.csv names.csv --best 1 --neighbours 0 --channels-by number");
  EXPECT_EQ(by_number["recordings"][0]["matches"][0]["pairs"][2]["channel"], "c");
  const Json chosen = search_json("step.csv other.csv --best 1 --select z,x");
  EXPECT_EQ(chosen["recordings"][0]["matches"][0]["channels"], 2);
}

TEST_F(SearchVerb, MatchesHaveClockTimeWhereTheRecordingHas) {
  make_query();
  const Samples day = noise_with(30, 9, {{12}});
  std::string text = "when,x,y,z\n";
  for (std::size_t k = 0; k < day[0].size(); ++k) {
    const std::size_t hundredths = 5950 + 2 * k;  // 50 Hz from 10:00:59.5
    text += "2024-05-01 10:0" + std::to_string(hundredths / 6000) + ":" +
            std::to_string(100 + hundredths / 100 % 60).substr(1) + "." +
            std::to_string(100 + hundredths % 100).substr(1);
    for (const auto& channel : day) text += "," + std::to_string(channel[k]);
    text += "\n";
  }
  make("clock.csv", text);
  const std::string clock = "2024-05-01T10:01:11.5";
  const Json json = search_json("step.csv clock.csv --best 1");
  EXPECT_THAT(json["recordings"][0]["matches"][0]["clock"].get<std::string>(), testing::StartsWith(clock));
  for (const char* again : {"", "--resume"}) {
    const ToolRun table = search(std::string("step.csv clock.csv --best 1 -o found ") + again);
    EXPECT_EQ(table.code, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr(clock));
  }
  EXPECT_THAT(read_file(directory / "found/ranking.csv"), HasSubstr("," + clock));
}

TEST_F(SearchVerb, RatesAreMadeEqual) {
  make_query();
  // The same at 100 Hz, by interpolation.
  const Samples day = noise_with(30, 9, {{12}});
  std::string text = "time,x,y,z\n";
  for (std::size_t k = 0; k + 1 < 2 * day[0].size(); ++k) {
    text += std::to_string(static_cast<double>(k) / 100);
    for (const auto& channel : day)
      text += "," + std::to_string(k % 2 == 0 ? channel[k / 2] : (channel[k / 2] + channel[k / 2 + 1]) / 2);
    text += "\n";
  }
  make("fast.csv", text);
  const ToolRun by_itself = search("step.csv fast.csv --best 1 -o found --html");
  EXPECT_EQ(by_itself.code, 0) << by_itself.err;
  EXPECT_THAT(by_itself.out,
              HasSubstr("the query of step.csv has 50 Hz and the recording 100 Hz: the query was resampled "
                        "(--resample brings both to a rate of your choice)"));
  EXPECT_THAT(by_itself.out, HasSubstr("3/3"));
  const Json same = search_json("step.csv fast.csv --best 1");
  EXPECT_NEAR(same["recordings"][0]["matches"][0]["onset"].get<double>(), 12, kNear);
  for (const char* rate : {"50", "100"}) {
    const Json found = search_json(std::string("step.csv fast.csv --best 1 --resample ") + rate);
    EXPECT_NEAR(found["recordings"][0]["matches"][0]["onset"].get<double>(), 12, kNear) << rate;
    EXPECT_EQ(found["recordings"][0]["matches"][0]["matched"], 3) << rate;
  }
}

TEST_F(SearchVerb, AdjacencyAndWeightsComeFromFiles) {
  make_query();
  make_recording("day.csv", 30, 10, {{9, {1, 0, 2}}});
  make("beside.txt", "# sensors on a sole\nx, y\ny,1\n");
  const auto pairs_of = [&](const std::string& options) {
    return search_json("step.csv day.csv --best 1 " + options)["recordings"][0]["matches"][0];
  };
  EXPECT_EQ(pairs_of("--adjacency beside.txt")["matched"], 3);
  make("alone.txt", "x\n");
  EXPECT_NE(pairs_of("--adjacency alone.txt --min-channels 1 --max-distance 0.5")["matched"], 3);
  EXPECT_EQ(pairs_of("--alpha 2.5")["pairs"][0]["weight"], 2.5);
  make("weights.txt", "1 3 9\n5 1 9\n9 9 1\n");
  EXPECT_EQ(pairs_of("--alpha weights.txt")["pairs"][0]["weight"], 3);
  expect_refusal("step.csv day.csv --adjacency step.csv",
                 "step.csv:1: 'time' is none of 3 channels (x, y, z)");
  make("small.txt", "1 2\n2 1\n");
  expect_refusal("step.csv day.csv --alpha small.txt",
                 "small.txt: 2 rows of 2 weights; the recording has 3 channels");
}

TEST_F(SearchVerb, EveryOptionOfTheSearchIsTaken) {
  make_query();
  make_recording("day.csv", 30, 11, {{9}, {20}});
  const std::string options =
      "--band 0.1 --normalize z --best 5 --candidates 50 --exclusion 0.4 --max-distance 0.6 --max-lag 0.2s "
      "--neighbours 1 --alpha 1.5 --scales 0.8:1.25:5 --negated --rotations 2 --sensor x,y,z --segments 2 "
      "--exhaust 0.2,0.3 --min-channels 2 --alternatives 2 --band-pass 0.1:20 --detrend --device cpu --threads 1";
  const Json found = search_json("step.csv day.csv " + options);
  EXPECT_THAT(onsets(found["recordings"][0], 1)[0],
              testing::AnyOf(DoubleNear(9, kNear), DoubleNear(20, kNear)));
  const Json& said = found["options"];
  EXPECT_EQ(said["scales"].get<std::string>().substr(0, 4), "0.8,");
  EXPECT_THAT(said["scales"].get<std::string>(), HasSubstr(",1,"));
  EXPECT_EQ(said["exhaust"], "0.2,0.3");
  EXPECT_EQ(said["max-lag"], "0.2s");
  EXPECT_EQ(said["high-pass"], "0.1");
  EXPECT_EQ(search_json("step.csv day.csv --band none --normalize none --significance 1")["options"]["band"],
            "none");
}

TEST_F(SearchVerb, ResultsDoNotDependOnThreads) {
  make_query();
  make_recording("day.csv", 60, 12, {{5}, {33}});
  Json one = search_json("step.csv day.csv --threads 1"), three = search_json("step.csv day.csv --threads 3");
  EXPECT_EQ(one["recordings"][0]["matches"], three["recordings"][0]["matches"]);
}

TEST_F(SearchVerb, GapsAndDeadChannelsAreSkippedAndSaid) {
  make_query();
  Samples day = noise_with(30, 13, {{5}, {20}});
  day[1].assign(day[1].size(), NAN);
  for (std::size_t k = 0; k < 100; ++k) day[0][k] = NAN;
  make("day.csv", csv_of(day));
  const Json found = search_json("step.csv day.csv --best 2");
  EXPECT_THAT(onsets(found["recordings"][0], 2), Pointwise(DoubleNear(kNear), {5.0, 20.0}));
  EXPECT_EQ(found["recordings"][0]["matches"][0]["matched"], 2);
  EXPECT_THAT(found["recordings"][0]["remarks"].dump(), HasSubstr("y has no samples, only missing ones"));
}

TEST_F(SearchVerb, ARemarkOnSeveralRecordingsIsPrintedOnce) {
  make_query();
  for (const std::string name : {"a.csv", "b.csv", "c.csv"}) make_recording(name, 10, 13, {{5}});
  Samples dead = noise_with(10, 13, {{5}});
  for (const std::string name : {"d.csv", "e.csv"}) {
    dead[1].assign(dead[1].size(), NAN);
    make(name, csv_of(dead));
  }
  const std::string options = "step.csv a.csv b.csv c.csv --significance 1";
  EXPECT_THAT(search(options).out, AllOf(HasSubstr(" s\nthere is no threshold"), EndsWith("be chance\n"),
                                         Not(HasSubstr("a: there"))));
  const std::string out = search(options + " d.csv e.csv").out;
  EXPECT_THAT(out, HasSubstr("\nd and 1 more: y has no samples, only missing ones\n"));
  EXPECT_EQ(out.find("no threshold"), out.rfind("no threshold"));
}

TEST_F(SearchVerb, StepsOfTheExampleAreFoundAlsoWithExchangedPlugs) {
  // Steps of 1.1 s from 5 s on, and from 25 s on with arch and ball exchanged; the query is one of the first.
  const std::string walk = "'" WARPLOOM_TESTS_DIR "/../examples/walk.csv'";
  const ToolRun run = run_tool("search " + walk + " " + walk +
                               " --label-column limp --from 7.2 --to 8.3 --best 12 --match free --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json recording = Json::parse(run.out)["recordings"][0];
  EXPECT_THAT(recording["channels"], ElementsAre("heel", "arch", "ball", "toe"));
  std::map<double, std::string> steps;  // the channels that heel, arch, ball and toe are found in
  for (const Json& match : recording["matches"])
    for (const Json& pair : match["pairs"]) steps[match["onset"]] += pair["channel"].get<std::string>() + " ";
  ASSERT_EQ(steps.size(), 12u);
  int k = 0;
  for (const auto& [onset, channels] : steps) {
    EXPECT_NEAR(onset, (k < 6 ? 5 : 25) + 1.1 * (k % 6), .081);  // each channel with a lag of its own
    EXPECT_EQ(channels, k < 6 ? "heel arch ball toe " : "heel ball arch toe ");
    ++k;
  }
}

TEST_F(SearchVerb, ComparesInTheUnitsOfTheRecording) {
  make_query();
  Samples samples = noise_with(60, 2, {{5}, {13}, {22}, {30}});
  make("day.csv", csv_of(samples));
  for (auto& channel : samples)
    for (double& x : channel) x *= 57.29577951308232;
  make("other.csv", csv_of(samples));
  const Json same = search_json("step.csv day.csv --best 4 --match auto")["recordings"][0];
  const Json scaled = search_json("step.csv other.csv --best 4 --match auto")["recordings"][0];
  for (int k = 0; k < 4; ++k) EXPECT_EQ(scaled["matches"][k]["onset"], same["matches"][k]["onset"]) << k;
  EXPECT_EQ(same["gains"][0][1].get<double>(), 1);
  EXPECT_NEAR(scaled["gains"][0][0].get<double>(), 57.2958, 1e-3);
  EXPECT_THAT(
      search("step.csv other.csv --best 4 --match auto").out,
      HasSubstr(
          "the recording looks 57.3 times larger than the query of step.csv (other units, as rad/s and deg/s?)"));
  EXPECT_NEAR(search_json("step.csv other.csv --best 1 --match auto --gain 1")["recordings"][0]["gains"][0][0]
                  .get<double>(),
              1, 0);
  expect_refusal("step.csv day.csv --match auto --gain 0", "--gain");
  expect_refusal("step.csv day.csv --match free --gain 2", "--gain is of --match auto");
}

TEST_F(SearchVerb, SaysHowTheRecordingIsRead) {
  make_query();
  const std::array<int, 3> exchanged = {1, 0, 2};
  make_recording(
      "day.csv", 60, 2,
      {{5, exchanged}, {13, exchanged}, {22, exchanged}, {30, exchanged}, {41, exchanged}, {50, exchanged}});
  const std::string options = "step.csv day.csv --best 6 --match auto";
  EXPECT_THAT(search(options).out,
              HasSubstr("the recording is read as switched: x in y, y in x; its best places are "));
  const Json recording = search_json(options)["recordings"][0];
  EXPECT_THAT(onsets(recording, 6), Pointwise(DoubleNear(kNear), {5.0, 13.0, 22.0, 30.0, 41.0, 50.0}));
  EXPECT_LT(recording["matches"][0]["chance"].get<double>(), 0.01);
  std::string chosen;
  for (const Json& one : recording["readings"])
    if (one["chosen"]) chosen = one["reading"];
  EXPECT_EQ(chosen, "switched");
  EXPECT_EQ(recording["readings"][0]["reading"], "in place");
  EXPECT_THAT(search_json("step.csv day.csv --match in-place --best 1")["recordings"][0]["readings"],
              SizeIs(0));
  expect_refusal("step.csv day.csv --match near", "--match: 'near' is none of auto, in-place, free");
  expect_refusal("step.csv day.csv --match auto --segments 3", "--segments is of the free search");
  expect_refusal("step.csv day.csv --match in-place --significance 0.1",
                 "--significance is of --match auto and free");
  expect_refusal("step.csv day.csv --method euclidean --match free", "--match is of --method dtw");
}

TEST_F(SearchVerb, StreamPrintsMatchesAsTheyCome) {
  make_query();
  make_recording("day.csv", 40, 14, {{5}, {30}});
  const ToolRun run = run_shell("cat " + path("day.csv") + " | \"$WARPLOOM\" search " + path("step.csv") +
                                " --stream --rate 50 --max-distance 0.4");
  EXPECT_EQ(run.code, 0) << run.err;
  std::vector<double> times;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    const Json match = Json::parse(line);
    EXPECT_EQ(match["rank"], times.size() + 1);
    times.push_back(match["onset"]);
  }
  EXPECT_THAT(times, Pointwise(DoubleNear(kNear), {5.0, 30.0}));
  expect_refusal("step.csv --stream", "--stream needs --max-distance");
  expect_refusal("step.csv day.csv --stream --max-distance 1", "leave the recordings out");
}

TEST_F(SearchVerb, HelpHasExamples) {
  const ToolRun run = run_tool("search --help");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("  warploom search walk.csv monday.csv"));
  EXPECT_THAT(run.out, HasSubstr("--max-lag"));
  EXPECT_THAT(run_tool("search evaluate --help").out, HasSubstr("--annotations"));
}

}  // namespace
}  // namespace warploom
