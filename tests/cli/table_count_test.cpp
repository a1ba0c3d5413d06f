#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "io/scratch.hpp"
#include "run_tool.hpp"

namespace warploom {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Json = nlohmann::json;
using Counts = std::map<std::string, std::uint64_t>;

class TableCount : public Scratch {
 protected:
  std::string path(const std::string& file) const { return (directory / file).string(); }
  static ToolRun count(const std::string& arguments) {
    return run_tool("table count " + arguments + " --device cpu");
  }
  /// All values, whose order is checked.
  static Counts counts(const std::string& arguments) {
    const ToolRun run = count(arguments + " --top 0 --json");
    EXPECT_EQ(run.code, 0) << arguments << '\n' << run.err;
    const Json json = Json::parse(run.out, nullptr, false);
    if (json.is_discarded()) return {};
    Counts counts;
    std::uint64_t total = 0;
    const Json* before = nullptr;
    for (const Json& value : json["values"]) {
      counts[value["value"]] = value["count"];
      total += value["count"].get<std::uint64_t>();
      if (before != nullptr) {
        EXPECT_TRUE((*before)["count"] > value["count"] ||
                    ((*before)["count"] == value["count"] && (*before)["value"] < value["value"]))
            << *before << value;
      }
      before = &value;
    }
    EXPECT_EQ(json["total"], total);
    EXPECT_EQ(json["different"], counts.size());
    EXPECT_EQ(json["values"].size(), counts.size());
    return counts;
  }
  void expect_refusal(const std::string& arguments, const std::string& says) const {
    const ToolRun run = count(arguments);
    EXPECT_EQ(run.code, 2) << arguments << '\n' << run.out << run.err;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_THAT(run.err, HasSubstr(says)) << arguments;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
};

TEST_F(TableCount, LinesAreThoseOfAMap) {
  // More than one piece of the file, and a line that is longer than a piece.
  std::mt19937 random(1);
  std::geometric_distribution<int> word(0.001);
  std::string text;
  Counts wanted;
  const auto add = [&](const std::string& line) {
    text += line + '\n';
    ++wanted[line];
  };
  for (int k = 0; k < 300000; ++k) add("a line that has the number " + std::to_string(word(random)));
  const std::string longest(9 << 20, 'x');
  for (const std::string& line : {longest, std::string(), longest, std::string("\"quoted\""), longest + "y"})
    add(line);
  for (int k = 0; k < 50000; ++k) add(std::to_string(random()));
  text.pop_back();  // the last line may lack its end
  make("lines.txt", text);
  EXPECT_EQ(counts(path("lines.txt")), wanted);
  EXPECT_EQ(counts(path("lines.txt") + " --threads 1"), wanted);
}

TEST_F(TableCount, TextListsTheMostFrequentFirst) {
  make("words", "b\na\nb\nc\na\nb\nd\n");
  const ToolRun run = count(path("words") + " --top 3");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("# 4 different of 7 lines in "));
  EXPECT_EQ(run.out.substr(run.out.find('\n') + 1), "3 b\n2 a\n1 c\n");
  const std::string frequent = count(path("words") + " --min-count 2").out;
  EXPECT_EQ(frequent.substr(frequent.find('\n') + 1), "3 b\n2 a\n");
}

TEST_F(TableCount, PipesAndGzipAreRead) {
  make("words", "b\r\na\r\nb\r\n");
  const Counts wanted{{"a", 1}, {"b", 2}};
  EXPECT_EQ(counts("- < " + path("words")), wanted);
  EXPECT_EQ(run_shell("gzip -k " + path("words")).code, 0);
  EXPECT_EQ(counts(path("words.gz")), wanted);
  EXPECT_EQ(counts("- < " + path("words.gz")), wanted);
}

TEST_F(TableCount, RefusesWhatUnpacksToMoreThanMayBe) {
  make("words", std::string(200'000, 'a') + "\n");
  ASSERT_EQ(run_shell("gzip " + path("words")).code, 0);
  for (const std::string& asked : {path("words.gz"), "- < " + path("words.gz")}) {
    const ToolRun refused = count("--max-memory 100K " + asked);
    EXPECT_EQ(refused.code, 2) << asked;
    EXPECT_THAT(refused.err, HasSubstr("more than 102400 bytes when decompressed, which is the limit"));
    EXPECT_THAT(refused.err, HasSubstr("(--max-memory)"));
    EXPECT_EQ(count("--max-memory 1M " + asked).code, 0) << asked;
  }
}

TEST_F(TableCount, EmptyFilesHaveNoLines) {
  make("empty", "");
  EXPECT_EQ(counts(path("empty")), Counts());
  EXPECT_THAT(count(path("empty")).out, StartsWith("# 0 different of 0 lines"));
}

TEST_F(TableCount, ColumnsAreFoundByNumberAndName) {
  make("t.csv", "\xef\xbb\xbfname,town,age\nada,\"Paris, France\",30\n\nbob,Rome,30\ncy,Rome,31\n");
  EXPECT_EQ(counts(path("t.csv") + " --column town"), (Counts{{"Paris, France", 1}, {"Rome", 2}}));
  EXPECT_EQ(counts(path("t.csv") + " --column 3 --header"), (Counts{{"30", 2}, {"31", 1}}));
  EXPECT_EQ(counts(path("t.csv") + " --column 3"), (Counts{{"30", 2}, {"31", 1}, {"age", 1}}));
  EXPECT_EQ(counts(path("t.csv") + " --column name"), (Counts{{"ada", 1}, {"bob", 1}, {"cy", 1}}));
  make("t.txt", "  x  1\ny\t\t2 \nx 3\n");
  EXPECT_EQ(counts(path("t.txt") + " --column 1 --separator blanks"), (Counts{{"x", 2}, {"y", 1}}));
  EXPECT_EQ(counts(path("t.txt") + " --column 2 --separator blanks"), (Counts{{"1", 1}, {"2", 1}, {"3", 1}}));
  make("t.tsv", "a b\t1\na b\t\nc\t1\n");
  EXPECT_EQ(counts(path("t.tsv") + " --column 1"), (Counts{{"a b", 2}, {"c", 1}}));
  EXPECT_EQ(counts(path("t.tsv") + " --column 2"), (Counts{{"1", 2}, {"", 1}}));
  make("t", "1|2\n1|3\n");
  EXPECT_EQ(counts(path("t") + " --column 1 --separator '|'"), (Counts{{"1", 2}}));
}

/// Two texts of 16 bytes that the standard library's hash, MurmurHash64A, cannot tell apart: in both words
/// what is added to the hash differs in the top bit, which the multiplications between leave where it is.
std::pair<std::string, std::string> same_hash(std::uint64_t first, std::uint64_t second) {
  constexpr std::uint64_t kFactor = 0xc6a4a7935bd1e995;
  std::uint64_t inverse = kFactor;  // of the factor modulo 2^64, by Newton's iteration
  for (int k = 0; k < 6; ++k) inverse *= 2 - kFactor * inverse;
  const auto other = [&](std::uint64_t word) {
    std::uint64_t mixed = word * kFactor;
    mixed = (mixed ^ (mixed >> 47)) * kFactor ^ (std::uint64_t{1} << 63);
    mixed *= inverse;
    return (mixed ^ (mixed >> 47)) * inverse;
  };
  const auto text = [](std::uint64_t a, std::uint64_t b) {
    std::string bytes(16, '\0');
    std::memcpy(bytes.data(), &a, 8);
    std::memcpy(bytes.data() + 8, &b, 8);
    return bytes;
  };
  return {text(first, second), text(other(first), other(second))};
}

TEST_F(TableCount, WordsOfTheSameHashAreDifferentWords) {
  std::mt19937_64 random(2);
  std::string text;
  std::size_t different = 0;
  while (different < 40) {
    const auto [one, other] = same_hash(random(), random());
    if ((one + other).find_first_of("\r\n") != std::string::npos) continue;
    if (std::hash<std::string>()(one) != std::hash<std::string>()(other))
      GTEST_SKIP() << "this standard library hashes texts in another way";
    text += one + '\n' + other + '\n' + one + '\n';
    different += 2;
  }
  make("words", text + text);
  const ToolRun run = count(path("words") + " --top 0 --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json["different"], different);
  std::map<int, int> frequencies;
  for (const Json& value : json["values"]) ++frequencies[value["count"]];
  EXPECT_EQ(frequencies, (std::map<int, int>{{2, 20}, {4, 20}}));
}

std::string complement(std::string word) {
  std::ranges::reverse(word);
  for (char& base : word) base = "TGCA"[std::string("ACGT").find(base)];
  return word;
}

TEST_F(TableCount, KmersAreThoseOfAMap) {
  std::mt19937 random(3);
  std::string text;
  std::vector<std::string> sequences;
  for (int record = 0; record < 4; ++record) {
    std::string sequence;
    for (int k = 0; k < 3000; ++k) sequence += "AACCGGTTacgtuUN-"[random() % 16];
    text +=
        ">r" + std::to_string(record) + "\n" + sequence.substr(0, 1000) + "\n" + sequence.substr(1000) + "\n";
    sequences.push_back(sequence);
  }
  make("r.fa", text);
  for (const int k : {1, 2, 5, 12, 13, 31, 32, 33, 63})
    for (const bool canonical : {false, true}) {
      Counts wanted;
      for (std::string sequence : sequences) {
        for (char& base : sequence) {
          base = static_cast<char>(std::toupper(base));
          if (base == 'U') base = 'T';
        }
        for (std::size_t at = 0; at + k <= sequence.size(); ++at) {
          const std::string word = sequence.substr(at, k);
          if (word.find_first_not_of("ACGT") != std::string::npos) continue;
          ++wanted[canonical ? std::min(word, complement(word)) : word];
        }
      }
      EXPECT_EQ(counts(path("r.fa") + " --kmer " + std::to_string(k) + (canonical ? " --canonical" : "")),
                wanted)
          << k << canonical;
    }
}

TEST_F(TableCount, ReadsOfSeveralFilesArePutTogether) {
  make("a.fq", "@r1\nACGTA\n+\nIIII!\n@r2\n\n+\n\n");
  make("b.fa", ">c\nACG\nTA\n");
  EXPECT_EQ(run_shell("gzip -k " + path("b.fa")).code, 0);
  const std::string all = path("a.fq") + " " + path("b.fa.gz") + " - --kmer 4 < " + path("b.fa");
  EXPECT_EQ(counts(all), (Counts{{"ACGT", 3}, {"CGTA", 3}}));
  EXPECT_EQ(counts(path("a.fq") + " --kmer 4 --min-quality 20"), (Counts{{"ACGT", 1}}));
  make("words", "b\na\n");
  make("more", "b\n");
  EXPECT_EQ(counts(path("words") + " " + path("more")), (Counts{{"a", 1}, {"b", 2}}));
  expect_refusal("- - --kmer 4", "named twice");
  expect_refusal(path("a.fq") + " --min-quality 3", "say --kmer K");
}

TEST_F(TableCount, TheHistogramIsJellyfishs) {
  make("r.fa", ">r\n" + std::string(20'000, 'A') + "CC\n");
  const ToolRun run = count(path("r.fa") + " --kmer 1 --histogram " + path("h") + " -o " + path("o"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(content_of(path("h")), "2 1\n10001 1\n");
  expect_refusal(path("r.fa") + " --kmer 1 --histogram " + path("h"), "exists");
  EXPECT_EQ(count(path("r.fa") + " --kmer 1 --force --memory 1K --scratch " + directory.string() +
                  " --histogram " + path("h"))
                .code,
            0);
}

TEST_F(TableCount, FilesAreWritten) {
  make("words", "b\na\nb\n");
  EXPECT_EQ(count(path("words") + " -o " + path("out.txt")).out, "");
  EXPECT_THAT(content_of(path("out.txt")), HasSubstr("2 b\n1 a\n"));
  EXPECT_EQ(count(path("words") + " -o " + path("out.json")).code, 0);
  EXPECT_EQ(Json::parse(content_of(path("out.json")))["values"][0]["value"], "b");
  expect_refusal(path("words") + " -o " + path("out.txt"), "out.txt");
  EXPECT_EQ(count(path("words") + " --force -o " + path("out.txt")).code, 0);
}

TEST_F(TableCount, RefusesWhatItCannotCount) {
  make("t.csv", "a,b\n1,2\n3\n");
  make("r.fa", ">r\nACGT\n");
  expect_refusal(path("absent"), "absent");
  expect_refusal(path("t.csv") + " --column c", "no column 'c' in its first line; there is a, b");
  expect_refusal(path("t.csv") + " --column 2", "t.csv:3:");
  expect_refusal(path("t.csv") + " --column 0", "counted from 1");
  expect_refusal(path("t.csv") + " --column 1 --separator ab", "one character, tab or blanks");
  expect_refusal(path("t.csv") + " --separator ,", "say which one with --column");
  expect_refusal(path("r.fa") + " --kmer 64", "64");
  expect_refusal(path("r.fa") + " --canonical", "say --kmer K");
  expect_refusal(path("r.fa") + " --kmer 3 --column 1", "neither columns");
  expect_refusal(path("t.csv") + " --kmer 3", "t.csv");
}

}  // namespace
}  // namespace warploom
