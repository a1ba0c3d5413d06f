// Cutting sequences into super-k-mers, and how often the same one came.

#include "count/super_kmers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "count/record_tally.hpp"

namespace warploom::table {
namespace {

std::string random_letters(unsigned seed, std::size_t count, const std::string& of) {
  std::mt19937 random(seed);
  std::string letters;
  for (std::size_t k = 0; k < count; ++k) letters += of[random() % of.size()];
  return letters;
}

std::vector<std::string> records(const std::string& letters, int k, bool canonical) {
  std::vector<std::string> all;
  SuperKmers(k, canonical)
      .of(
          letters,
          [&](std::uint32_t, unsigned, std::size_t size, const auto& write) {
            std::string record(size + SuperKmers::kBehind, '\0');
            write(record.data());
            record.resize(size);
            all.push_back(record);
          },
          [](std::uint32_t) {});
  std::ranges::sort(all);
  return all;
}

TEST(SuperKmersCut, BothStrandsGiveTheSameRecords) {
  const std::string letters = random_letters(1, CutBlock::kStarts, "ACGT");
  std::string turned(letters.rbegin(), letters.rend());
  for (char& base : turned) base = "TGCA"[std::string("ACGT").find(base)];
  for (const int k : {23, 31, 55, 63}) {
    EXPECT_EQ(records(letters, k, true), records(turned, k, true)) << k;
    EXPECT_NE(records(letters, k, false), records(turned, k, false)) << k;
  }
}

TEST(SuperKmersCut, WordsAreThoseOfTheLettersWhereverNoBaseIs) {
  for (const int k : {3, 21, 31}) {
    std::string letters = random_letters(2, 30'000, "ACGT");
    std::mt19937 random(3);
    for (std::size_t at = 0; at < letters.size(); at += 1 + random() % 300) letters[at] = 'N';
    for (std::size_t at = CutBlock::kStarts - 6; at < CutBlock::kStarts + 4; at += 3) letters[at] = '\n';
    std::map<Word, int> wanted, got;
    for (std::size_t at = 0; at + static_cast<std::size_t>(k) <= letters.size(); ++at) {
      Word word = 0;
      bool whole = true;
      for (std::size_t base = at; base < at + static_cast<std::size_t>(k); ++base) {
        const std::size_t code = std::string("ACGT").find(letters[base]);
        whole &= code != std::string::npos;
        word = word << 2 | (code & 3);
      }
      if (whole) ++wanted[word];
    }
    for (std::string record : records(letters, k, false)) {
      record.resize(record.size() + SuperKmers::kBehind, '\x55');
      for_each_word<Word, false>(record.data(), k, [&](Word word) { ++got[word]; });
    }
    EXPECT_EQ(got, wanted) << k;
  }
}

TEST(SuperKmersCut, EveryInstructionSetGivesTheSame) {
  const std::string letters = random_letters(4, CutBlock::kBases, "ACGTacgtuUN");
  for (const auto& [k, m] : {std::pair(1, 1), {12, 12}, {31, 11}, {63, 11}})
    for (const std::size_t count :
         {std::size_t{64}, std::size_t{1001}, CutBlock::kStarts + static_cast<std::size_t>(k) - 1}) {
      CutBlock one, other;
      std::ranges::copy(letters, one.letters);
      std::ranges::copy(letters, other.letters);
      baseline::cut_loops.of_letters(one, count, k, m);
      cut_loops().of_letters(other, count, k, m);
      const auto same = [&](const auto& a, const auto& b, std::size_t values) {
        return std::equal(a, a + values, b);
      };
      EXPECT_TRUE(same(one.strands[0], other.strands[0], count / 4)) << k;
      EXPECT_EQ(one.complement_bases, other.complement_bases);
      EXPECT_TRUE(same(one.strands[1], other.strands[1], one.complement_bases / 4)) << k;
      const std::size_t words = count - static_cast<std::size_t>(k) + 1;
      EXPECT_TRUE(same(one.least, other.least, words)) << k;
      ASSERT_EQ(one.runs, other.runs) << k;
      EXPECT_TRUE(same(one.firsts, other.firsts, one.runs)) << k;
      EXPECT_TRUE(same(one.lasts, other.lasts, one.runs)) << k;
    }
}

TEST(RecordTallies, CountTheSameAndHandOnWhatIsLonger) {
  constexpr int kBases = 31;
  const std::string letters = random_letters(5, 3000, "ACGT") + "N" + std::string(200, 'A');
  std::string stored;
  std::map<std::string, std::uint64_t> wanted;
  std::size_t longer = 0;
  for (int round = 0; round < 3; ++round)
    for (const std::string& record : records(letters, kBases, true)) {
      stored += record;
      if (record.size() > RecordTally<2>::kMostBytes)
        ++longer;
      else
        ++wanted[record];
    }
  ASSERT_EQ(longer, 3u);  // of the one letter
  ASSERT_GT(wanted.size(), 200u);
  const std::size_t size = stored.size();
  stored.resize(size + RecordTally<2>::kBehind, '\x55');
  RecordTally<2> tally;
  tally.clear(1);
  tally.add(std::string_view(stored).substr(0, size), kBases, [&](const char*) { --longer; });
  EXPECT_EQ(longer, 0u);
  EXPECT_EQ(tally.different(), wanted.size());
  std::map<std::string, std::uint64_t> got;
  tally.for_each([&](const char* record, std::uint64_t count) {
    got[std::string(record, SuperKmers::bytes(kBases, static_cast<unsigned char>(record[0])))] = count;
  });
  EXPECT_EQ(got, wanted);
}

}  // namespace
}  // namespace warploom::table
