// `warploom table` on databases of k-mers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "io/scratch.hpp"
#include "run_tool.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TableKmers : public Scratch {
 protected:
  std::string path(const std::string& file) const { return (directory / file).string(); }
  /// Of commands that end well.
  static std::string out(const std::string& arguments) {
    const ToolRun run = run_tool("table " + arguments);
    EXPECT_EQ(run.code, 0) << arguments << '\n' << run.err;
    return run.out;
  }
  void count(const std::string& name, const std::string& sequence,
             const std::string& more = "--canonical") const {
    make(name + ".fa", ">s\n" + sequence + "\n");
    out("count " + path(name + ".fa") + " --kmer 5 " + more + " --database " + path(name) +
        " --force --device cpu");
  }
  static void expect_refusal(const std::string& arguments, const std::string& says) {
    const ToolRun run = run_tool("table " + arguments);
    EXPECT_EQ(run.code, 2) << arguments << '\n' << run.out << run.err;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_THAT(run.err, HasSubstr(says)) << arguments;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
};

TEST_F(TableKmers, AreCountedStoredListedAndAskedFor) {
  count("a", "AAAAAAACCCCC");  // AAAAA 3, AAAAC 1, AAACC 1, AACCC 1, ACCCC 1, CCCCC 1
  EXPECT_EQ(out("dump " + path("a")), "AAAAA\t3\nAAAAC\t1\nAAACC\t1\nAACCC\t1\nACCCC\t1\nCCCCC\t1\n");
  EXPECT_EQ(out("dump " + path("a") + " --form fasta --min-count 2"), ">3\nAAAAA\n");
  EXPECT_EQ(out("dump " + path("a") + " --form blank --max-count 1 -o " + path("list")), "");
  EXPECT_EQ(content_of(path("list")), "AAAAC 1\nAAACC 1\nAACCC 1\nACCCC 1\nCCCCC 1\n");
  EXPECT_EQ(out("dump " + path("a") + " --histogram -"), "1 5\n3 1\n");
  out("dump " + path("a") + " --histogram " + path("a.svg"));
  EXPECT_THAT(content_of(path("a.svg")), AllOf(HasSubstr("<svg"), HasSubstr("5-mers"), HasSubstr("</svg>")));
  EXPECT_EQ(out("dump " + path("a") + " --info"),
            "k 5, canonical, counters of 64 bits; 6 different of 8, the most frequent came 3 times\n");
  EXPECT_THAT(out("dump " + path("a") + " --json"),
              AllOf(HasSubstr("\"different\": 6"), HasSubstr("\"most\": 3")));
  EXPECT_EQ(out("query " + path("a") + " aaaaa GGGTT ACGTA NNNNN"), "aaaaa 3\nGGGTT 1\nACGTA 0\nNNNNN 0\n");
  make("asked.fa", ">s\nTTTTTT\nT\n>t\nAC\n>u\nAACCC\n");
  EXPECT_EQ(out("query " + path("a") + " --sequences " + path("asked.fa")),
            "TTTTT 3\nTTTTT 3\nTTTTT 3\nAACCC 1\n");
}

TEST_F(TableKmers, AreCombined) {
  count("a", "AAAAAAACCCC");
  count("b", "AAAAACC");  // AAAAA 1, AAAAC 1, AAACC 1
  const std::string both = path("a") + " " + path("b") + " -o " + path("out") + " --force";
  const ToolRun run = run_tool("table merge " + both);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("5 different of 10"));
  EXPECT_EQ(out("dump " + path("out")), "AAAAA\t4\nAAAAC\t2\nAAACC\t2\nAACCC\t1\nACCCC\t1\n");
  out("intersect " + both);
  EXPECT_EQ(out("dump " + path("out")), "AAAAA\t1\nAAAAC\t1\nAAACC\t1\n");
  out("intersect " + both + " --count max --min-count 2");
  EXPECT_EQ(out("dump " + path("out")), "AAAAA\t3\n");
  out("subtract " + both);
  EXPECT_EQ(out("dump " + path("out")), "AACCC\t1\nACCCC\t1\n");
  out("subtract " + both + " --count difference");
  EXPECT_EQ(out("dump " + path("out")), "AAAAA\t2\nAACCC\t1\nACCCC\t1\n");
  out("merge " + both + " --counter-bits 2");
  EXPECT_EQ(out("dump " + path("out") + " --min-count 2"), "AAAAA\t3\nAAAAC\t2\nAAACC\t2\n");
}

TEST_F(TableKmers, WhatDoesNotFitIsRefusedAndNothingIsWritten) {
  count("a", "AAAAAAACCCC");
  count("b", "AAAAAAACCCC", "");
  expect_refusal("merge " + path("a") + " " + path("b") + " -o " + path("out"), "is not canonical, ");
  expect_refusal("merge " + path("a") + " -o " + path("out"), "two databases");
  expect_refusal("merge " + path("a") + " " + path("a") + " -o " + path("b"), "exists; give --force");
  expect_refusal("dump " + path("a.fa"), "no database of k-mers");
  expect_refusal("query " + path("a") + " ACG", "\"ACG\" has 3 letters");
  expect_refusal("query " + path("a"), "--sequences FILE");
  const std::string whole = content_of(path("a"));
  make("cut", whole.substr(0, whole.size() - 9));
  expect_refusal("dump " + path("cut"), "cut off after ");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  make("lines", "a\n");
  for (const char* option : {"--database x", "--counter-bits 8", "--resume x"})
    expect_refusal(std::string("count ") + path("lines") + " " + option, "it is of k-mers");
}

TEST_F(TableKmers, AFullDiskLeavesNothing) {
  count("a", "AAAAAAACCCC");
  std::string bases;
  for (int k = 0; k < 100'000; ++k) bases += "ACGT"[k * k % 7919 % 4];
  make("big.fa", ">s\n" + bases + "\n");
  const ToolRun run = run_shell("ulimit -f 8; \"$WARPLOOM\" table count " + path("big.fa") +
                                " --kmer 31 --device cpu --top 1 --database " + path("out"));
  EXPECT_EQ(run.code, 2) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("cannot write " + path("out") + ": File too large")));
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
}

TEST_F(TableKmers, WhatIsResumedIsFiles) {
  make("a.fa", ">s\nAAAAAAACCCC\n");
  make("b.fq.gz", "\x1f\x8b");  // cut off
  const std::string arguments =
      "count " + path("a.fa") + " " + path("b.fq.gz") + " --kmer 5 --device cpu --resume " + path("kept");
  expect_refusal(arguments, "b.fq.gz");
  EXPECT_TRUE(std::filesystem::exists(path("kept")));
  make("b.fq.gz", "@r\nAAAAA\n+\nIIIII\n");
  expect_refusal("count - --kmer 5 --device cpu --resume " + path("kept"), "a pipe cannot be read once more");
}

}  // namespace
}  // namespace warploom
