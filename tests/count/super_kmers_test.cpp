// Cutting sequences into super-k-mers, and how often the same one came.

#include "count/super_kmers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "count/cut_records.hpp"
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
  for (const auto& [k, m] : {std::pair(1, 1), {12, 12}, {15, 9}, {21, 10}, {31, 10}, {31, 11}, {63, 10}})
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
      EXPECT_TRUE(same(one.ends, other.ends, one.runs + 1)) << k;
      for (const bool canonical : {true, false}) {
        baseline::cut_loops.pack(one, k, canonical);
        cut_loops().pack(other, k, canonical);
        EXPECT_TRUE(same(one.numbers, other.numbers, one.runs)) << k;
        for (std::size_t run = 0; run < one.runs; ++run) {
          if (one.ends[run + 1] - one.firsts[run] + static_cast<std::size_t>(k) > CutBlock::kPacked) continue;
          EXPECT_EQ(one.low[run], other.low[run]) << k;
          EXPECT_EQ(one.high[run], other.high[run]) << k;
        }
      }
    }
}

TEST(RecordTallies, CountTheSameAndHandOnWhatIsLonger) {
  constexpr int kBases = 31;
  const std::string letters = random_letters(5, 3000, "ACGT") + "N" + std::string(200, 'A');
  std::string stored;
  std::map<std::string, std::uint64_t> wanted;
  std::vector<std::string> wanted_cut;
  std::size_t longer = 0;
  for (int round = 0; round < 3; ++round)
    for (const std::string& record : records(letters, kBases, true)) {
      stored += record;
      if (record.size() > RecordTally<2>::kMostBytes)
        ++longer;
      else if ((static_cast<unsigned char>(record[0]) & kCut) != 0)
        wanted_cut.push_back(record);
      else
        ++wanted[record];
    }
  ASSERT_EQ(longer, 9u);              // of the one letter, in three pieces
  ASSERT_EQ(wanted_cut.size(), 12u);  // at both ends, where a block ends and the next one begins
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
    got[std::string(record, SuperKmers::bytes(kBases, SuperKmers::words_of(record)))] = count;
  });
  EXPECT_EQ(got, wanted);
  std::vector<std::string> got_cut;
  for (const auto& record : tally.cut()) {
    const auto* bytes = reinterpret_cast<const char*>(record.data());
    got_cut.emplace_back(bytes, SuperKmers::bytes(kBases, SuperKmers::words_of(bytes)));
  }
  EXPECT_EQ(got_cut, wanted_cut);
}

/// Reads of 300 letters of both strands of a sequence, a letter of 200 wrong.
std::string reads_of(const std::string& sequence, std::size_t count) {
  std::mt19937 random(7);
  std::string all;
  for (std::size_t read = 0; read < count; ++read) {
    std::string letters = sequence.substr(random() % (sequence.size() - 300), 300);
    if (random() % 2 == 0) {
      std::ranges::reverse(letters);
      for (char& base : letters) base = "TGCA"[std::string("ACGT").find(base)];
    }
    for (char& base : letters)
      if (random() % 200 == 0) base = "ACGT"[random() % 4];
    all += letters + '\n';
  }
  return all;
}

template <class W>
void expect_words_of_cut_records(int k) {
  constexpr std::size_t kRecordWords = 2 * sizeof(W) / sizeof(Word);
  std::string stored;
  for (const std::string& record : records(reads_of(random_letters(6, 1200, "ACGT"), 600), k, true))
    stored += record;
  const std::size_t size = stored.size();
  stored.resize(size + RecordTally<kRecordWords>::kBehind, '\x55');
  std::map<W, std::uint64_t> wanted, got;
  for (const char* record = stored.data(); record < stored.data() + size;
       record += SuperKmers::bytes(k, SuperKmers::words_of(record)))
    for_each_word<W, true>(record, k, [&](W word) { ++wanted[word]; });
  RecordTally<kRecordWords> tally;
  tally.clear(1);
  tally.add(std::string_view(stored).substr(0, size), k, [](const char*) { FAIL(); });
  std::size_t left = 0;
  CutRecords<kRecordWords>(k).count(
      tally,
      [&](const char* record) {
        ++left;
        for_each_word<W, true>(record, k, [&](W word) { ++got[word]; });
      },
      [&](const char* record, std::uint64_t count, const std::int64_t* more) {
        for_each_word<W, true>(record, k, [&](W word) {
          if (more != nullptr) count += static_cast<std::uint64_t>(*more++);
          got[word] += count;
        });
      });
  EXPECT_EQ(got, wanted) << k;
  EXPECT_GT(tally.cut().size(), 1000u) << k;
  EXPECT_LT(left * 2, tally.cut().size()) << k;
}

TEST(RecordsThatAreCut, AreCountedOnWholeOnes) {
  for (const int k : {21, 31, 32}) expect_words_of_cut_records<Word>(k);
  for (const int k : {33, 55, 63}) expect_words_of_cut_records<LongWord>(k);
}

}  // namespace
}  // namespace warploom::table
