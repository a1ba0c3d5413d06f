// What `warploom search` writes, keeps and goes on with, and how `warploom search evaluate` judges it.

#include <sys/stat.h>

#include <fstream>

#include "search_recordings.hpp"
#include "warploom/io/recording.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

class SearchFiles : public SearchVerb {
 protected:
  SearchFiles() {
    make_query();
    make_recording("a.csv", 30, 1, {{5}});
    make_recording("b.csv", 30, 2, {{9}, {20}});
  }
  std::vector<Json> lines_of(const std::string& file) const {
    std::ifstream stream(directory / file);
    std::vector<Json> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
    return lines;
  }
  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory / folder))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
};

// Here the CPU is several: eight recordings and more are dealt out to two, fewer are cut.
TEST_F(SearchFiles, SeveralDevicesWriteWhatOneWrites) {
  const auto without_time = [](std::string text) {
    for (std::size_t at; (at = text.find("\"seconds\":")) != text.npos;)
      text.erase(at, text.find(',', at) + 1 - at);
    return text;
  };
  std::string many = "step.csv a.csv b.csv";
  for (int k = 0; k < 7; ++k) {
    const std::string name = "r" + std::to_string(k) + ".csv";
    make_recording(name, 10, static_cast<unsigned>(20 + k), {{2 + .5 * k}});
    many += " " + name;
  }
  int number = 0;
  for (const std::string& files : {std::string("step.csv a.csv b.csv"), many}) {
    const std::string one = "one" + std::to_string(number), two = "two" + std::to_string(number++);
    const std::string also = files + " broken.csv --best 3";
    make("broken.csv", "time,x,y,z\n0,1,2\n");
    EXPECT_EQ(search(also + " --device cpu -o " + one).code, 2);
    EXPECT_EQ(search(also + " --device cpu,cpu -o " + two).code, 2);
    ASSERT_EQ(names_in(two), names_in(one));
    EXPECT_GE(names_in(one).size(), 3U * 2 + 1);
    for (const std::string& name : names_in(one))
      EXPECT_EQ(without_time(content_of(directory / two / name)),
                without_time(content_of(directory / one / name)))
          << name;
  }
}

TEST_F(SearchFiles, EachRecordingHasItsFilesAndAllHaveARanking) {
  const ToolRun run = search("step.csv a.csv b.csv --best 3 -o found/new --html");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(names_in("found/new"),
              ElementsAre("a.annotations.csv", "a.html", "a.matches.csv", "a.matches.jsonl",
                          "b.annotations.csv", "b.html", "b.matches.csv", "b.matches.jsonl", "ranking.csv"));
  EXPECT_THAT(content_of(directory / "found/new/a.html"), HasSubstr("<html"));

  const Json found = search_json("step.csv a.csv b.csv --best 3");
  for (const std::string name : {"a", "b"}) {
    const Json& wanted = found["recordings"][name == "a" ? 0 : 1]["matches"];
    const std::vector<Json> lines = lines_of("found/new/" + name + ".matches.jsonl");
    ASSERT_EQ(lines.size(), wanted.size() + 1);
    EXPECT_EQ(lines[0]["matches"], wanted.size());
    EXPECT_EQ(lines[0]["recording"], name);
    std::size_t pairs = 0;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_EQ(lines[k + 1], wanted[k]);
      pairs += wanted[k]["pairs"].size();
    }
    const std::string csv = content_of(directory / ("found/new/" + name + ".matches.csv"));
    EXPECT_THAT(csv, StartsWith("rank,label,onset,duration,matched,channels,"));
    EXPECT_EQ(std::ranges::count(csv, '\n'), pairs + 1);
    const auto annotations =
        io::parse_annotations(content_of(directory / ("found/new/" + name + ".annotations.csv")), name);
    ASSERT_EQ(annotations.size(), wanted.size());
    EXPECT_EQ(annotations[0].onset, wanted[0]["onset"]);
    EXPECT_EQ(annotations[0].label, "step");
  }
  const std::string ranking = content_of(directory / "found/new/ranking.csv");
  EXPECT_THAT(ranking, StartsWith("rank,recording,rank_in_recording,label,onset,duration,"));
  EXPECT_EQ(std::ranges::count(ranking, '\n'), found["ranking"].size() + 1);
}

/// Three series, of which the second has the pattern at 4 s, the third at 9 s and at 2 s.
class SearchSeries : public SearchVerb {
 protected:
  SearchSeries() {
    std::string text = "@dimensions 3\n@classLabel true walk rest\n@data\n";
    const std::vector<std::vector<Plant>> plants = {{}, {{4}}, {{9}, {2}}};
    for (unsigned k = 0; k < 3; ++k) {
      for (const std::vector<double>& channel : noise_with(15, k + 1, plants[k])) {
        for (const double sample : channel) text += std::to_string(sample) + ",";
        text.back() = ':';
      }
      text += k == 0 ? "rest\n" : "walk\n";
    }
    make("some.ts", text);
    make_query();
  }
};

TEST_F(SearchSeries, OneIsNamedBehindTheFile) {
  const Json found = search_json("step.csv some.ts#3 --rate 50 --best 2 --channels-by number");
  EXPECT_EQ(found["recordings"][0]["recording"], "some_3");
  EXPECT_THAT(onsets(found["recordings"][0], 2), ElementsAre(2, 9));
}

TEST_F(SearchSeries, AllAreRecordingsOfTheirOwn) {
  const std::string arguments =
      "some.ts#2 some.ts step.csv --from 4 --to 5.2 --rate 50 --series all --best 1 ";
  const Json found = search_json(arguments + "--exclude-self");
  ASSERT_EQ(found["recordings"].size(), 4u);
  EXPECT_EQ(found["recordings"][0]["recording"], "some_1");
  EXPECT_EQ(found["recordings"][1]["recording"], "some_2");
  for (const Json& match : found["recordings"][1]["matches"]) EXPECT_NE(match["onset"], 4) << "is the query";
  EXPECT_EQ(found["recordings"][2]["matches"][0]["matched"], 3);
  EXPECT_EQ(found["recordings"][3]["recording"], "step");

  ASSERT_EQ(search(arguments + "-o found").code, 0);
  const ToolRun again = search(arguments + "-o found --resume");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(fs::exists(directory / "found/some_3.matches.jsonl"));
  const ToolRun judged = search("evaluate found/some_2.matches.jsonl --label walk");
  EXPECT_EQ(judged.code, 0) << judged.err;
}

TEST_F(SearchSeries, WhichSeriesIsTheQueryHasToBeSaid) {
  expect_refusal("some.ts some.ts --series all", "say which, as some.ts#1");
  expect_refusal("some.ts#4 some.ts", "no series 4");
  expect_refusal("step.csv step.csv#1", "only .ts files hold several series");
  expect_refusal("step.csv some.ts --series 0", "a number from 1, or all");
}

TEST_F(SearchFiles, NothingIsReplacedUnasked) {
  ASSERT_EQ(search("step.csv a.csv -o found").code, 0);
  const std::string before = content_of(directory / "found/a.matches.jsonl");
  make("found/mine.txt", "mine");
  expect_refusal("step.csv a.csv b.csv -o found", "found/a.matches.jsonl exists; give --resume");
  expect_refusal("step.csv b.csv -o found", "found/ranking.csv exists; give --resume");
  EXPECT_FALSE(fs::exists(directory / "found/b.matches.jsonl"));
  EXPECT_EQ(content_of(directory / "found/a.matches.jsonl"), before);
  const ToolRun forced = search("step.csv a.csv --band 0.1 -o found --force");
  EXPECT_EQ(forced.code, 0) << forced.err;
  EXPECT_NE(content_of(directory / "found/a.matches.jsonl"), before);
  EXPECT_EQ(content_of(directory / "found/mine.txt"), "mine");
}

TEST_F(SearchFiles, ResumeKeepsWhatIsFinished) {
  ASSERT_EQ(search("step.csv a.csv -o found").code, 0);
  const auto inode = [&] {
    struct stat status {};
    EXPECT_EQ(stat(path("found/a.matches.jsonl").c_str(), &status), 0);
    return status.st_ino;
  };
  const auto before = inode();
  const ToolRun resumed = search("step.csv a.csv b.csv -o found --resume");
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(inode(), before);
  EXPECT_TRUE(fs::exists(directory / "found/b.matches.jsonl"));

  // As if made in one go.
  ASSERT_EQ(search("step.csv a.csv b.csv -o whole").code, 0);
  EXPECT_EQ(content_of(directory / "found/ranking.csv"), content_of(directory / "whole/ranking.csv"));
  Json kept = search_json("step.csv a.csv b.csv -o found --resume"),
       once = search_json("step.csv a.csv b.csv");
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_EQ(kept["recordings"][k]["matches"], once["recordings"][k]["matches"]);

  // From another folder, and without a page that was not asked for.
  const ToolRun elsewhere = run_shell(
      "cd " + path("found") + " && \"$WARPLOOM\" search ../step.csv ../a.csv -o . --match free --resume");
  EXPECT_EQ(elsewhere.code, 0) << elsewhere.err;
  EXPECT_EQ(inode(), before);
  ASSERT_EQ(search("step.csv a.csv -o found --resume --html").code, 0);
  EXPECT_NE(inode(), before);
}

TEST_F(SearchFiles, ResumeRefusesWhatIsOfAnotherSearch) {
  ASSERT_EQ(search("step.csv a.csv -o found").code, 0);
  expect_refusal(
      "step.csv a.csv -o found --resume --band 0.1",
      "found/a.matches.jsonl is of another search: band was \"0.05\", and is \"0.1\"; give --force");
  expect_refusal("step.csv a.csv -o found --resume --detrend", "detrend was not given, and is \"yes\"");
  expect_refusal("b.csv a.csv --from 9 --to 10.2 -o found --resume", "other queries");
  make_recording("a.csv", 31, 1, {{5}});
  expect_refusal("step.csv a.csv -o found --resume", "recording_bytes was ");
  make("found/a.matches.jsonl", "{\"rank\": 1}\n");
  expect_refusal("step.csv a.csv -o found --resume", "found/a.matches.jsonl is no output of a search");
}

TEST_F(SearchFiles, ResumeRefusesARecordingThatChangedAndKeptItsSize) {
  ASSERT_EQ(search("step.csv a.csv -o found").code, 0);
  std::string changed = content_of(directory / "a.csv");
  const std::size_t last = changed.find_last_of("0123456789");
  changed[last] = changed[last] == '7' ? '8' : '7';
  const auto time = fs::last_write_time(directory / "a.csv");
  make("a.csv", changed);
  fs::last_write_time(directory / "a.csv", time);
  expect_refusal(
      "step.csv a.csv -o found --resume",
      "found/a.matches.jsonl is of another search: the recording's content changed since, and its size did not");
}

TEST_F(SearchFiles, ResumeSeesThatSamplesOfAWfdbRecordChanged) {
  std::string samples;
  for (int k = 0; k < 3000; ++k) {
    const auto value = static_cast<std::int16_t>(2000 * std::sin(k * k * 1e-3));
    samples += static_cast<char>(value & 0xFF);
    samples += static_cast<char>(value >> 8 & 0xFF);
  }
  make("r.hea", "r 1 50 3000\nr.dat 16 200 16 0 0\n");
  make("r.dat", samples);
  ASSERT_EQ(search("r.hea r.hea --from 2 --to 4 -o found").code, 0);
  ASSERT_EQ(search("r.hea r.hea --from 2 --to 4 -o found --resume").code, 0);
  samples[5500] = static_cast<char>(samples[5500] + 1);
  make("r.dat", samples);
  expect_refusal("r.hea r.hea --from 2 --to 4 -o found --resume", "the recording's content changed since");
}

/// Numbers of a store are indices: they are not believed.
TEST_F(SearchFiles, ResumeRefusesAStoreWhoseNumbersAreNotThere) {
  ASSERT_EQ(search("step.csv a.csv -o found").code, 0);
  const std::string whole = content_of(directory / "found/a.matches.jsonl");
  for (const std::string key : {"query_number", "number", "query"})
    for (const std::string number :
         {"32767", "100000000000000000000", "0", "-1", "4294967297", "1.5", "\"1\""}) {
      const std::size_t at = whole.find("\"" + key + "\":", whole.find('\n')) + key.size() + 3;
      std::string damaged = whole;
      damaged.replace(at, whole.find_first_of(",}", at) - at, number);
      make("found/a.matches.jsonl", damaged);
      expect_refusal("step.csv a.csv -o found --resume", "found/a.matches.jsonl is no output of a search");
    }
}

TEST_F(SearchFiles, NoEscapeSequenceOfAFileReachesTheTerminal) {
  // In a name that a message quotes, and in one that the table shows.
  make(
      "odd.csv",
      "a\x1b[31mred,b\xc2\x9b"
      "1m\n" +
          [] {
            std::string rows;
            for (int k = 0; k < 200; ++k)
              rows += std::to_string(k * k % 17) + "," + std::to_string(k * 7 % 13) + "\n";
            return rows;
          }());
  for (const std::string command :
       {"step.csv --stream --max-distance 0.5 < odd.csv",
        "odd.csv odd.csv --from 10 --to 40 --label-column none", "step.csv odd.csv --rate 50"}) {
    const ToolRun run = search(command);
    for (const std::string& text : {run.out, run.err}) {
      EXPECT_EQ(text.find('\x1b'), text.npos) << command << '\n' << text;
      EXPECT_EQ(text.find("\xc2\x9b"), text.npos) << command << '\n' << text;
    }
    EXPECT_FALSE(run.err.empty() && run.out.empty());
  }
}

TEST_F(SearchFiles, EvaluateSaysWhereAStoreIsDamagedAndNothingOfItsParser) {
  ASSERT_EQ(search("step.csv a.csv -o found").code, 0);
  const std::string whole = content_of(directory / "found/a.matches.jsonl");
  const std::size_t second = whole.find('\n') + 1;
  make("odd.jsonl", whole.substr(0, second) + "{\"onset\": }\n" + whole.substr(second));
  make("odder.jsonl", whole.substr(0, second) + "{\"onset\": \"x\"}\n");
  make("oddest.jsonl", "{\"recording\": 5}\n");
  expect_refusal("evaluate odd.jsonl --annotations a.csv",
                 "odd.jsonl:2:1: this is no match as warploom search writes it");
  expect_refusal("evaluate odder.jsonl --annotations a.csv", "odder.jsonl:2:1: this is no match");
  expect_refusal("evaluate oddest.jsonl --annotations a.csv",
                 "oddest.jsonl:1:1: its first line is not one that");
  for (const std::string file : {"odd", "odder", "oddest"})
    EXPECT_THAT(search("evaluate " + file + ".jsonl --annotations a.csv").err, Not(HasSubstr("JSON")));
}

TEST_F(SearchFiles, WhatWasCutOffIsDoneAgain) {
  ASSERT_EQ(search("step.csv b.csv -o found --best 2").code, 0);
  const std::string whole = content_of(directory / "found/b.matches.jsonl");
  make("found/b.matches.jsonl", whole.substr(0, whole.find('\n', whole.find('\n') + 1) + 1));
  ASSERT_EQ(search("step.csv b.csv -o found --best 2 --resume").code, 0);
  EXPECT_EQ(lines_of("found/b.matches.jsonl").size(), 3u);
}

TEST_F(SearchFiles, CtrlCKeepsFinishedRecordings) {
  // A pipe that gives lines without end; it can be written to once the tool reads it.
  ASSERT_EQ(mkfifo(path("c.csv").c_str(), 0600), 0);
  const ToolRun run =
      run_and_signal("cd " + directory.string() +
                         "\n{ : >begun; while echo 1,2,3; do :; done; } >c.csv &\n"
                         "\"$WARPLOOM\" search step.csv a.csv b.csv c.csv -o found --match free",
                     "[ -e begun ]");
  EXPECT_EQ(run.code, 130) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err,
              HasSubstr("interrupted; 2 of 3 recordings are finished in found, and --resume goes on"));
  EXPECT_THAT(names_in("found"), ElementsAre("a.annotations.csv", "a.matches.csv", "a.matches.jsonl",
                                             "b.annotations.csv", "b.matches.csv", "b.matches.jsonl"));
  fs::remove(directory / "c.csv");
  make_recording("c.csv", 30, 3, {{11}});
  EXPECT_EQ(search("step.csv a.csv b.csv c.csv -o found --resume").code, 0);
  EXPECT_TRUE(fs::exists(directory / "found/c.matches.jsonl"));
}

TEST_F(SearchFiles, OneBadRecordingOfManyStopsNoOther) {
  make("bad.csv", "time,x,y,z\n0,1,2,3\n0.02,1,oops,3\n");
  const ToolRun run = search("step.csv a.csv bad.csv b.csv -o found");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("bad.csv:3:"), HasSubstr("1 of 3 recordings could not be searched")));
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 2);
  EXPECT_TRUE(fs::exists(directory / "found/b.matches.jsonl"));
  EXPECT_FALSE(fs::exists(directory / "found/bad.matches.jsonl"));
  const ToolRun json = search("step.csv a.csv bad.csv b.csv --json");
  EXPECT_EQ(Json::parse(json.out)["failed"][0]["file"], "bad.csv");
}

TEST_F(SearchFiles, SameNamesAreToldApartByTheirFolders) {
  fs::create_directories(directory / "one");
  fs::create_directories(directory / "two");
  for (const char* folder : {"one", "two"}) make_recording(std::string(folder) + "/day.csv", 20, 4, {{5}});
  ASSERT_EQ(search("step.csv one two -o found").code, 0);
  EXPECT_TRUE(fs::exists(directory / "found/one_day.matches.jsonl"));
  EXPECT_TRUE(fs::exists(directory / "found/two_day.matches.jsonl"));
  expect_refusal("step.csv one/day.csv one/day.csv", "would both be reported as 'one_day'");
}

TEST_F(SearchFiles, BadInputIsOneLineAndLosesNothing) {
  expect_refusal("", "no query given");
  expect_refusal("step.csv", "no recording given");
  expect_refusal("absent.csv a.csv", "absent.csv");
  expect_refusal("step.csv absent.csv", "cannot read absent.csv");
  expect_refusal("step.csv ''", "cannot read ''");
  fs::create_directories(directory / "empty");
  expect_refusal("step.csv empty", "empty: the folder holds no recording");
  expect_refusal("a.csv step.csv", "step.csv has 60 samples, and the query of a.csv 1500");
  expect_refusal("a.csv a.csv --from 40 --to 42",
                 "a.csv: the query's range, 40 s to 42 s, does not lie in the file");
  expect_refusal("a.csv a.csv --from 4 --to 3", "--to 3: the query begins at --from 4");
  expect_refusal("a.csv a.csv --from 4 --to 4.02", "has 1 samples; 4 are the least");
  make("back.csv", "time,x,y,z\n0,1,2,3\n0.02,1,2,3\n0.01,1,2,3\n");
  expect_refusal("step.csv back.csv", "back.csv:4");
  make("head.csv", "\x01\x02 nothing");
  expect_refusal("step.csv head.csv", "head.csv");
  make("broken.edf", "0       not an EDF header");
  expect_refusal("step.csv broken.edf", "broken.edf");
  Samples dead = noise_with(30, 5, {});
  for (auto& channel : dead) std::ranges::fill(channel, NAN);
  make("dead.csv", csv_of(dead));
  expect_refusal("step.csv dead.csv", "dead.csv: no channel has any samples");
  Samples gap = pattern();
  gap[1][30] = NAN;
  make("gap.csv", csv_of(gap));
  expect_refusal("gap.csv a.csv", "gap.csv: the query's y lacks samples, the first at 0.6 s");
  Samples lacks = pattern();
  lacks[2].assign(lacks[2].size(), NAN);
  make("lacks.csv", csv_of(lacks));
  expect_refusal("lacks.csv a.csv", "lacks.csv: the query's z has no samples at all");
  make("wide.csv", "1,2,3,4\n2,3,4,5\n3,4,5,4\n4,5,6,2\n5,6,7,2\n");
  expect_refusal("wide.csv a.csv", "a.csv has 3 channels (x, y, z), the query of wide.csv 4");
  make("file", "");
  expect_refusal("step.csv a.csv -o file", "cannot make the folder file");
  expect_refusal("step.csv a.csv -o /dev/null/x", "cannot make the folder");
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    EXPECT_THAT(entry.path().string(), Not(HasSubstr("matches")));
}

TEST_F(SearchFiles, WrongOptionsAreRefused) {
  const std::pair<const char*, const char*> wrong[] = {
      {"--band 2", "--band 2: a number from 0 to 1 is expected"},
      {"--band nan", "--band nan:"},
      {"--normalize l2", "--normalize: 'l2' is neither z nor none"},
      {"--method fast", "--method: 'fast' is neither dtw nor euclidean"},
      {"--prune sometimes", "--prune: 'sometimes' is none of auto, always, never"},
      {"--best 0", "--best"},
      {"--scales 0.8:1.2", "--scales 0.8:1.2: FIRST:LAST:COUNT"},
      {"--scales 0", "--scales 0: a number from 0.1 to 10"},
      {"--max-lag -1", "--max-lag -1: a number of at least 0"},
      {"--significance 0", "--significance 0"},
      {"--band-pass 5", "--band-pass 5: LOW:HIGH"},
      {"--band-pass 20:5", "--band-pass 20:5: the first corner"},
      {"--low-pass 40", "step.csv: a filter from 0 to 40 Hz"},
      {"--rotations 4 --sensor x,y", "--sensor x,y: three channels"},
      {"--rotations 4 --sensor x,y,w", "--sensor: 'w' is none of 3 channels (x, y, z)"},
      {"--sensor x,y,z", "--sensor is for --rotations"},
      {"--query b=b.csv --from 3", "--from and --to are of QUERY"},
      {"--query b=", "--query b=: LABEL=FILE"},
      {"--query b=b.csv@3-2", "the range ends at 2 s"},
      {"--label walk --to 3", "--label and --from, --to do not go together"},
      {"--html", "--html is about files"},
      {"-o x --resume --force", "--resume and --force do not go together"},
      {"--select x,w", "no channel 'w'"},
      {"--time-unit h", "--time-unit: 'h' is none of"},
      {"--channels-by heart", "--channels-by"},
      {"--labels --method euclidean", "--labels is of --method dtw"},
      {"--device gpu", "gpu"},
      {"--bnad 0.1", "did you mean --band?"},
      {"--min-channels 4", "4"},
  };
  for (const auto& [options, says] : wrong) expect_refusal(std::string("step.csv a.csv ") + options, says);
  EXPECT_FALSE(fs::exists(directory / "x"));
}

TEST_F(SearchFiles, AFullDiskIsSaid) {
  const ToolRun printed = search("step.csv a.csv > /dev/full");
  EXPECT_EQ(printed.code, 2);
  EXPECT_THAT(printed.err, HasSubstr("cannot write standard output: No space left on device"));
  const ToolRun written =
      run_shell("ulimit -f 1; cd " + directory.string() +
                " && \"$WARPLOOM\" search step.csv a.csv --candidates 500 --significance 1 -o found");
  EXPECT_EQ(written.code, 2) << written.err;
  EXPECT_THAT(written.err, HasSubstr("found/a.matches."));
  EXPECT_TRUE(fs::is_empty(directory / "found"));
}

TEST_F(SearchFiles, NoPermissionIsSaidBeforeTheWork) {
  const std::string as_somebody = geteuid() == 0 ? "setpriv --reuid=65534 --clear-groups " : "";
  fs::create_directories(directory / "closed");
  fs::permissions(directory / "closed", fs::perms(0555));
  fs::permissions(directory / "b.csv", fs::perms::none);
  const auto refusal = [&](const std::string& arguments) {
    const ToolRun run =
        run_shell("cd " + directory.string() + " && " + as_somebody + "\"$WARPLOOM\" search " + arguments);
    EXPECT_EQ(run.code, 2) << run.err;
    return run.err;
  };
  EXPECT_THAT(refusal("step.csv a.csv -o closed"), HasSubstr("no permission to write to the folder"));
  EXPECT_THAT(refusal("step.csv b.csv"), HasSubstr("b.csv"));
  fs::permissions(directory / "closed", fs::perms(0755));
}

TEST_F(SearchFiles, EvaluateJudgesByHandComputedNumbers) {
  // Ranks 1 and 3 of four are relevant, three events.
  make("r.csv", "onset,duration,label\n0,10,a\n50,10,a\n100,10,a\n150,10,a\n");
  make("truth.csv", "onset,duration,label\n0,10,a\n100,10,a\n200,10,a\n300,10,b\n");
  const Json json = search_json("evaluate r.csv --annotations truth.csv");
  const Json& judged = json["recordings"][0];
  EXPECT_EQ(judged["recording"], "r");
  EXPECT_EQ(judged["results"], 4);
  EXPECT_EQ(judged["relevant"], 2);
  EXPECT_EQ(judged["events"], 3);  // nobody searched for b
  EXPECT_NEAR(judged["ndcg"].get<double>(), 1.5 / (1.5 + 1 / std::log2(3.0)), 1e-9);
  EXPECT_EQ(judged["precision"], 0.5);
  EXPECT_NEAR(judged["recall"].get<double>(), 2.0 / 3, 1e-9);
  EXPECT_TRUE(json["means"]["ndcg"]["half_width"].is_null());
  EXPECT_EQ(search_json("evaluate r.csv --annotations truth.csv --at 1")["recordings"][0]["precision"], 1);

  make("s.csv",
       "rank,onset,duration,label,self\n1,200,10,\"a\",1\n2,0,10,\"a\",0\n2,0,10,\"a\",0\n3,0.5,4,a,0\n");
  const ToolRun text = search("evaluate r.csv s.csv --annotations truth.csv");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(
      text.out,
      StartsWith("recording  results  relevant  events  found  nDCG@20  precision  recall  coverage\n"));
  EXPECT_THAT(text.out, HasSubstr("s                2         2       3      1"));
  // Mean of 0.5 and 1; half-width 12.706 * sqrt(2 * 0.25^2) / sqrt(2).
  const Json means = search_json("evaluate r.csv s.csv --annotations truth.csv")["means"]["precision"];
  EXPECT_EQ(means["mean"], 0.75);
  EXPECT_NEAR(means["half_width"].get<double>(), 12.7062 * 0.25, 1e-3);
  EXPECT_THAT(text.out, HasSubstr("mean"));
}

TEST_F(SearchFiles, ARecordingWithoutEventsHasAPrecisionOnly) {
  make("r.csv", "onset,duration,label\n0,10,a\n20,10,a\n");
  make("s.csv", "onset,duration,label\n0,10,a\n");
  make("r_truth.csv", "onset,duration,label\n0,10,a\n20,10,b\n");
  make("s_truth.csv", "onset,duration,label\n0,10,b\n");
  const std::string both = "evaluate r.csv s.csv --annotations r_truth.csv --annotations s_truth.csv";
  const Json json = search_json(both);
  EXPECT_EQ(json["recordings"][1]["precision"], 0);
  EXPECT_TRUE(json["recordings"][1]["recall"].is_null());
  EXPECT_EQ(json["means"]["precision"]["mean"], 0.25);
  EXPECT_EQ(json["means"]["recall"]["mean"], 1);
  EXPECT_THAT(search(both).out,
              HasSubstr("s                1         0       0      0        -      0.000       -         -"));
}

TEST_F(SearchFiles, EvaluateReadsWhatSearchWrote) {
  ASSERT_EQ(search("--query step=b.csv@9-10.2 a.csv b.csv --best 3 -o found").code, 0);
  fs::create_directories(directory / "truth");
  make("truth/a.csv", "onset,duration,label\n5,1.2,step\n");
  make("truth/b.annotations.csv", "onset,duration,label\n9,1.2,step\n20,1.2,step\n");
  const Json json = search_json("evaluate found/a.matches.jsonl found/b.matches.jsonl --annotations truth");
  EXPECT_EQ(json["recordings"][0]["recall"], 1);
  EXPECT_EQ(json["recordings"][0]["ndcg"], 1);
  EXPECT_EQ(json["recordings"][1]["events"], 1);  // the other one is the query
  EXPECT_EQ(json["recordings"][1]["ndcg"], 1);
  const Json csv = search_json("evaluate found/a.matches.csv found/b.matches.csv --annotations truth");
  EXPECT_EQ(csv["recordings"][0]["ndcg"], 1);
  EXPECT_EQ(csv["recordings"][0]["results"], json["recordings"][0]["results"]);
}

TEST_F(SearchFiles, EvaluateRefusesWhatItCannotJudge) {
  make("r.csv", "onset,duration,label\n0,10,a\n");
  make("truth.csv", "onset,duration,label\n0,10,walk\n");
  make("none.csv", "onset,duration,label\n");
  make("odd.csv", "onset,duration,label\n0,-1,a\n");
  make("short.csv", "onset,duration,label\n0\n");
  make("cut.jsonl",
       "{\"recording\":\"r\",\"file\":\"r\",\"matches\":2,\"sources\":[],\"stamp\":{\"queries\":[]}}\n");
  expect_refusal("evaluate", "RESULTS");
  expect_refusal("evaluate r.csv", "r.csv: it does not say which recording was searched; give --annotations");
  expect_refusal("evaluate r.csv --annotations truth.csv",
                 "truth.csv: none of its annotations (walk) is of the results' label 'a'; --label says");
  EXPECT_EQ(search_json("evaluate r.csv --annotations truth.csv --label walk")["recordings"][0]["ndcg"], 1);
  expect_refusal("evaluate r.csv --annotations none.csv", "none.csv: it holds no annotations");
  expect_refusal("evaluate r.csv --annotations a.csv", "a.csv: no annotations: expected the header line");
  expect_refusal("evaluate odd.csv --annotations truth.csv", "odd.csv:2");
  expect_refusal("evaluate short.csv --annotations truth.csv",
                 "short.csv:2:1: 1 fields, where the first line has 3");
  expect_refusal("evaluate a.csv --annotations truth.csv", "a.csv: no results");
  expect_refusal("evaluate cut.jsonl --annotations truth.csv",
                 "cut.jsonl: 0 matches, where its first line says 2");
  expect_refusal("evaluate absent.jsonl --annotations truth.csv", "absent.jsonl");
  expect_refusal("evaluate r.csv --annotations truth.csv --overlap 2", "--overlap 2: a number from 0 to 1");
  expect_refusal("evaluate r.csv --annotations truth.csv --annotations truth.csv", "2 files for 1 results");
  expect_refusal("evaluate r.csv --band 0.1 --annotations truth.csv",
                 "--band is not an option of search evaluate");
}

}  // namespace
}  // namespace warploom
