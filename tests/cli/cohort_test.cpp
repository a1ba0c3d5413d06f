// `warploom cohort`: many inputs, several workers, any of which may die.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/run_tool.hpp"
#include "io/scratch.hpp"

namespace warploom {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Json = nlohmann::json;

class CohortVerb : public Scratch {
 protected:
  /// Short RNAs that differ in length, in two folders.
  void make_inputs(int count = 6) const {
    fs::create_directories(directory / "in/more");
    for (int k = 0; k < count; ++k) {
      std::string bases;
      for (int i = 0; i < 30 + 5 * k; ++i) bases += "GACU"[(i * i + k * 7 + i / 3) % 4];
      make(fmt::format("in/{}rna{}.fa", k % 2 == 1 ? "more/" : "", k), fmt::format(">r{}\n{}\n", k, bases));
    }
  }
  ToolRun here(const std::string& arguments) const {
    return run_shell(fmt::format("cd '{}' && \"$WARPLOOM\" {}", directory.string(), arguments));
  }
  ToolRun fold(const std::string& options = "") const {
    return here("cohort in -o out --json " + options + " -- fold {}");
  }
  Json folded(const std::string& options = "") const { return Json::parse(fold(options).out); }
  /// Names of files below out, but records.
  std::set<std::string> results() const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(directory / "out"))
      if (const std::string name = entry.path().lexically_relative(directory / "out").string();
          entry.is_regular_file() && !name.starts_with(".warploom/records/"))
        names.insert(name);
    return names;
  }
  Json record(const std::string& item) const {
    return Json::parse(content_of(directory / "out/.warploom/records" / (item + ".json")));
  }
  /// A claim as a worker of another machine leaves it that dies.
  void claim_by_another_machine(const std::string& item, int beat_ms) const {
    fs::create_directories(directory / "out/.warploom/claims");
    make(
        "out/.warploom/claims/" + item + ".claim",
        fmt::format(
            R"({{"tag": "feed-0", "host": "elsewhere", "machine": "another", "process": 1, "began": "7", "beat_ms": {}, "beats": "00000000000000000003"}})",
            beat_ms) +
            "\n");
  }
};

TEST_F(CohortVerb, WritesWhatAVerbPrintsForEachFileOfAFolder) {
  make_inputs(3);
  const ToolRun run = here("cohort in -o out -- fold {}");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("3 done, in "));
  EXPECT_EQ(results(), (std::set<std::string>{"cohort.tsv", "rna0.txt", "rna2.txt", "more/rna1.txt"}));
  EXPECT_EQ(content_of(directory / "out/more/rna1.txt"), here("fold in/more/rna1.fa").out);
}

TEST_F(CohortVerb, GivesEachItemItsOwnOutputsAndSideFiles) {
  make("a.fa", ">a\nGGGGAAAACCCC\n");
  make("b.fa", ">b\nGGGGAAAACCCC\n");
  make("a.shape", "1 2.0\n2 2.0\n3 2.0\n");
  make("b.shape", "5 .1\n");
  const ToolRun run = here("cohort a.fa b.fa -o out -- fold {} --shape {base}.shape -o '{out}_mfe.txt'");
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_EQ(results(), (std::set<std::string>{"cohort.tsv", "a_mfe.txt", "b_mfe.txt"}));
  EXPECT_NE(content_of(directory / "out/a_mfe.txt").substr(3),
            content_of(directory / "out/b_mfe.txt").substr(3));
  EXPECT_EQ(record("a").at("inputs").size(), 2U) << "the reactivities are an input, too";
}

TEST_F(CohortVerb, DoesNotDoAgainWhatIsDone) {
  make_inputs();
  EXPECT_EQ(folded().at("done"), 6);
  const std::string before = content_of(directory / "out/cohort.tsv");
  const Json second = folded();
  EXPECT_EQ(second.at("done"), 0);
  EXPECT_EQ(second.at("there"), 6);
  EXPECT_EQ(content_of(directory / "out/cohort.tsv"), before);
}

TEST_F(CohortVerb, RecordsTheXxh64OfItsInputs) {
  const auto hash_of = [&](std::size_t length) {
    std::string bases;
    while (bases.size() < length) bases += "GACU";
    fs::create_directories(directory / "in");
    make("in/r.fa", ">r\n" + bases.substr(0, length) + "\n");
    fold();
    return record("r").at("inputs").at(0).at("xxh64").get<std::string>();
  };
  // What xxhsum -H64 prints.
  EXPECT_EQ(hash_of(4), "c48437cb01680d34");
  EXPECT_EQ(hash_of(23), "e18334c4dde39a25");
  EXPECT_EQ(hash_of(100), "a5d7459fe7faf363");
}

TEST_F(CohortVerb, DoesAgainWhatChanged) {
  make_inputs();
  folded();
  make("in/rna0.fa", ">r0\nGGGGCCCCAAAAGGGGCCCCAAAAGGGGCC\n");
  fs::remove(directory / "out/rna2.txt");
  const Json second = folded();
  EXPECT_EQ(second.at("done"), 2) << "one has other bases, one lost its result";
  EXPECT_THAT(content_of(directory / "out/rna0.txt"), HasSubstr("GGGGCCCCAAAA"));
}

TEST_F(CohortVerb, DoesNotDoAgainWhatWasOnlyTouched) {
  make_inputs(2);
  folded();
  fs::last_write_time(directory / "in/rna0.fa", fs::file_time_type::clock::now() + std::chrono::hours(24));
  EXPECT_EQ(folded().at("there"), 2);
}

TEST_F(CohortVerb, DoesAllAgainWithAnotherCommand) {
  make_inputs(2);
  folded();
  EXPECT_EQ(Json::parse(here("cohort in -o out --json -- fold {} --temperature 20").out).at("done"), 2);
}

TEST_F(CohortVerb, AFailureStopsNoOther) {
  make_inputs(4);
  make("in/bad.fa", ">bad\nGGG!!!\n");
  const ToolRun run = fold();
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(Json::parse(run.out).at("done"), 4);
  EXPECT_THAT(content_of(directory / "out/cohort.tsv"), HasSubstr("bad\tin/bad.fa\tfailed\t"));
  EXPECT_THAT(record("bad").at("error").get<std::string>(), HasSubstr("bad.fa"));
  EXPECT_FALSE(results().contains("bad.txt"));
}

TEST_F(CohortVerb, TriesAgainWhatFailed) {
  make_inputs(2);
  make("in/bad.fa", ">bad\nGGG!!!\n");
  fold();
  make("in/bad.fa", ">bad\nGGGAAACCC\n");
  const ToolRun run = fold();
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(Json::parse(run.out).at("done"), 1);
}

TEST_F(CohortVerb, TwoWorkersShareTheItems) {
  make_inputs(40);
  const std::string worker = "\"$WARPLOOM\" cohort in -o out --json --at-once 1 -- fold {} ";
  run_shell(fmt::format("cd '{}' && {{ {}>first.json & {}>second.json; wait; }}", directory.string(), worker,
                        worker));
  const Json first = Json::parse(content_of(directory / "first.json")),
             second = Json::parse(content_of(directory / "second.json"));
  EXPECT_EQ(first.at("done").get<int>() + second.at("done").get<int>(), 40) << "each is done once";
  EXPECT_EQ(first.at("done").get<int>() + first.at("there").get<int>(), 40);
  EXPECT_EQ(second.at("done").get<int>() + second.at("there").get<int>(), 40);
  EXPECT_EQ(results().size(), 41U);
}

TEST_F(CohortVerb, TakesOverFromAWorkerThatGivesNoSignOfLife) {
  make_inputs(2);
  claim_by_another_machine("rna0", 50);
  fs::create_directories(directory / "out");
  make("out/.feed-0.0.rna0.txt", "half a res");
  make("out/..feed-0.0.rna0.txt.1.2.tmp", "ha");
  EXPECT_EQ(folded().at("done"), 2);
  EXPECT_EQ(results(), (std::set<std::string>{"cohort.tsv", "rna0.txt", "more/rna1.txt"}))
      << "nothing else is left";
}

TEST_F(CohortVerb, AsksNoClockWhetherAnotherLives) {
  make_inputs(1);
  claim_by_another_machine("rna0", 50);
  fs::last_write_time(directory / "out/.warploom/claims/rna0.claim",
                      fs::file_time_type::clock::now() + std::chrono::hours(9));
  EXPECT_EQ(folded().at("done"), 1);
}

TEST_F(CohortVerb, KnowsAtOnceThatAWorkerOfThisMachineDied) {
  make_inputs(1);
  const ToolRun identity = run_shell(
      "printf '%s %s' \"$(cat /proc/sys/kernel/random/boot_id)\" \"$(readlink /proc/self/ns/pid)\"");
  fs::create_directories(directory / "out/.warploom/claims");
  make(
      "out/.warploom/claims/rna0.claim",
      fmt::format(
          R"({{"tag": "dead-0", "host": "h", "machine": "{}", "process": 1, "began": "not then", "beat_ms": 3600000, "beats": "00000000000000000003"}})",
          identity.out) +
          "\n");
  EXPECT_EQ(folded().at("done"), 1);
}

TEST_F(CohortVerb, DoesNotReplaceFilesOfOthers) {
  make_inputs(1);
  fs::create_directories(directory / "out");
  make("out/rna0.txt", "mine\n");
  const ToolRun run = fold();
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(Json::parse(run.out).at("items").at(0).at("error").get<std::string>(),
              HasSubstr("rna0.txt exists; give --force"));
  EXPECT_EQ(content_of(directory / "out/rna0.txt"), "mine\n");
  EXPECT_EQ(fold("--force").code, 0);
}

TEST_F(CohortVerb, AFullDiskLosesNothingThatIsDone) {
  make_inputs(4);
  // A limit of a block a file: what is longer fails as on a full disk.
  make("in/long.fa", ">long\n" + std::string(2000, 'A') + "\n");
  const ToolRun full = run_shell(fmt::format(
      "cd '{}' && (ulimit -f 2; \"$WARPLOOM\" cohort in -o out -- fold {{}})", directory.string()));
  EXPECT_EQ(full.code, 1) << full.err;
  EXPECT_FALSE(results().contains("long.txt"));
  EXPECT_EQ(folded().at("failed"), 0);
  EXPECT_EQ(results().size(), 6U) << "five results and the table";
}

TEST_F(CohortVerb, SaysWhatIsWrongBeforeItBegins) {
  make_inputs(2);
  make("in/rna0.txt", "x");
  const auto error_of = [&](const std::string& arguments) {
    const ToolRun run = here("cohort " + arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_FALSE(fs::exists(directory / "out/.warploom")) << arguments;
    return run.err;
  };
  EXPECT_THAT(error_of("nothing -o out -- fold {}"), HasSubstr("nothing: there is no such file or folder"));
  EXPECT_THAT(error_of("in -o out --match '*.nii' -- fold {}"),
              HasSubstr("no file in in matches --match *.nii"));
  EXPECT_THAT(error_of("in -o out -- fold {}"), HasSubstr("would both be called rna0"));
  EXPECT_THAT(error_of("in -o out --match '*.fa' -- fold x"),
              HasSubstr("'fold x' does not name the input: put {} where it belongs"));
  EXPECT_THAT(error_of("in -o out --match '*.fa' -- fold {input}"),
              HasSubstr("'{input}' in '{input}': the braces are {}"));
  EXPECT_THAT(error_of("in -o out --match '*.fa' -- fold {} -o all.txt"),
              HasSubstr("put {out} into what is behind -o"));
  EXPECT_THAT(error_of("in -o out --match '*.fa' -- foldd {}"),
              HasSubstr("'foldd' is not a verb; did you mean fold?"));
  EXPECT_THAT(error_of("in -o out --match '*.fa' -- fold {} --temprature 3"),
              HasSubstr("did you mean --temperature?"));
  EXPECT_THAT(error_of("in -o out --match '*.fa' -- cohort {} -o '{out}' -- fold {}"),
              HasSubstr("a cohort of cohorts"));
  EXPECT_THAT(error_of("in -o out --match '*.fa'"), HasSubstr("say what to run of each input behind --"));
}

TEST_F(CohortVerb, GivesTheBytesOfOneByOneForEveryNumberAtOnce) {
  make_inputs(12);
  for (const int at_once : {1, 3, 12}) {
    fs::remove_all(directory / "out");
    folded(fmt::format("--at-once {} --threads 3", at_once));
    for (const auto& entry : fs::recursive_directory_iterator(directory / "in"))
      if (entry.is_regular_file()) {
        const fs::path name = entry.path().lexically_relative(directory / "in");
        EXPECT_EQ(content_of((directory / "out" / name).replace_extension(".txt")),
                  here("fold in/" + name.string()).out)
            << name;
      }
  }
}

TEST_F(CohortVerb, CtrlCLeavesNothingHalfDone) {
  make_inputs(2);
  std::string bases;
  for (int i = 0; i < 20'000; ++i) bases += "GACU"[(i * 7919 + i / 5) % 4];
  make("in/genome.fa", ">g\n" + bases + "\n");
  const ToolRun run = run_and_signal(
      fmt::format("cd '{}'\n\"$WARPLOOM\" cohort in -o out --at-once 2 --device cpu --threads 2 -- fold {{}}",
                  directory.string()),
      "[ -e out/.warploom/claims/genome.claim ]");
  EXPECT_EQ(run.code, 130) << run.out << run.err;
  for (const std::string& name : results()) EXPECT_THAT(name, testing::Not(HasSubstr("genome")));
}

}  // namespace
}  // namespace warploom
