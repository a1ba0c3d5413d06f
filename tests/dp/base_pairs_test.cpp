#include "warploom/dp/base_pairs.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

#include "child.hpp"
#include "measured_data.hpp"
#include "oracle/random.hpp"
#include "warploom/io/fasta.hpp"

namespace warploom::dp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

BasePairOptions cpu(std::int64_t minimum_loop = 3) {
  BasePairOptions options;
  options.solve.run.devices = {Device::cpu};
  options.minimum_loop = minimum_loop;
  return options;
}

/// What a pair of these bases counts; 0 if it may not form.
std::int64_t score_of(char a, char b, const BasePairOptions& options) {
  const std::string pair{std::min(a, b), std::max(a, b)};
  return pair == "CG" ? options.gc : pair == "AU" ? options.au : pair == "GU" ? options.gu : 0;
}

/// The best score over all structures: base `at` and those after it pair with a later free one, or not.
std::int64_t best_of_all_structures(const std::string& sequence, const BasePairOptions& options,
                                    std::vector<std::pair<std::size_t, std::size_t>>& pairs, std::size_t at) {
  if (at == sequence.size()) return 0;
  const auto paired = [&](std::size_t base) {
    return std::ranges::any_of(pairs, [&](const auto& p) { return p.first == base || p.second == base; });
  };
  std::int64_t best = best_of_all_structures(sequence, options, pairs, at + 1);
  if (paired(at)) return best;
  for (std::size_t to = at + 1; to < sequence.size(); ++to) {
    const std::int64_t score = score_of(sequence[at], sequence[to], options);
    const bool crossing = std::ranges::any_of(pairs, [&](const auto& p) {
      return (p.first < at && at < p.second) != (p.first < to && to < p.second);
    });
    if (score == 0 || paired(to) || crossing || static_cast<std::int64_t>(to - at - 1) < options.minimum_loop)
      continue;
    pairs.emplace_back(at, to);
    best = std::max(best, score + best_of_all_structures(sequence, options, pairs, at + 1));
    pairs.pop_back();
  }
  return best;
}

/// Nussinov's recurrence as it is usually written, over bases and with four cases.
std::int64_t textbook_score(const std::string& sequence, const BasePairOptions& options) {
  const auto n = static_cast<std::int64_t>(sequence.size());
  std::vector<std::int32_t> table(static_cast<std::size_t>((n + 1) * (n + 1)));
  const auto best = [&](std::int64_t i, std::int64_t j) -> std::int32_t& {  // of bases i .. j
    return table[static_cast<std::size_t>(i * (n + 1) + j + 1)];
  };
  for (std::int64_t i = n - 1; i >= 0; --i)
    for (std::int64_t j = i + 1; j < n; ++j) {
      std::int32_t most = std::max(best(i + 1, j), best(i, j - 1));
      const auto a = sequence[static_cast<std::size_t>(i)], b = sequence[static_cast<std::size_t>(j)];
      if (const std::int64_t score = score_of(a, b, options); score > 0 && j - i > options.minimum_loop)
        most = std::max(most, best(i + 1, j - 1) + static_cast<std::int32_t>(score));
      for (std::int64_t k = i + 1; k < j; ++k) most = std::max(most, best(i, k) + best(k + 1, j));
      best(i, j) = most;
    }
  return best(0, n - 1);
}

/// Reads the dot-bracket text back and checks that it is a structure that counts what is claimed.
void expect_sound(const BasePairs& structure, const BasePairOptions& options) {
  const std::string text = dot_bracket(structure);
  ASSERT_EQ(text.size(), structure.sequence.size());
  std::vector<std::int64_t> open, partner(text.size(), -1);
  std::int64_t pairs = 0, score = 0;
  for (std::int64_t k = 0; k < std::ssize(text); ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (text[at] == '(') open.push_back(k);
    if (text[at] != ')') continue;
    ASSERT_FALSE(open.empty()) << text;
    const std::int64_t from = open.back();
    open.pop_back();
    partner[at] = from;
    partner[static_cast<std::size_t>(from)] = k;
    EXPECT_GE(k - from - 1, options.minimum_loop);
    const std::int64_t counts =
        score_of(structure.sequence[static_cast<std::size_t>(from)], structure.sequence[at], options);
    EXPECT_GT(counts, 0) << from << ' ' << k;
    score += counts;
    ++pairs;
  }
  EXPECT_TRUE(open.empty()) << text;
  EXPECT_EQ(partner, structure.partner);
  EXPECT_EQ(pairs, structure.pairs);
  EXPECT_EQ(score, structure.score);
}

std::string random_sequence(Random& random, std::size_t length) {
  std::string sequence(length, ' ');
  for (char& base : sequence) base = "ACGU"[random.below(4)];
  return sequence;
}

TEST(BasePairs, OfAHairpin) {
  const BasePairs structure = base_pairs("GGGAAACCC", cpu());
  EXPECT_EQ(structure.score, 3);
  EXPECT_EQ(dot_bracket(structure), "(((...)))");
  EXPECT_THAT(structure.partner, ElementsAre(8, 7, 6, -1, -1, -1, 2, 1, 0));
}

TEST(BasePairs, ScoreTheBestOfAllStructures) {
  Random random(6);
  for (int repeat = 0; repeat < 400; ++repeat) {
    BasePairOptions options = cpu(random.below(5));
    if (random.chance(50)) std::tie(options.gc, options.au, options.gu) = std::tuple(3, 2, 1);
    if (random.chance(25)) options.gu = 0;
    const std::string sequence = random_sequence(random, 1 + random.below(10));
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    const BasePairs structure = base_pairs(sequence, options);
    EXPECT_EQ(structure.score, best_of_all_structures(sequence, options, pairs, 0)) << sequence;
    expect_sound(structure, options);
  }
}

TEST(BasePairs, ScoreWhatTheTextbookRecurrenceGives) {
  Random random(7);
  for (const std::size_t length : {31, 64, 65, 130, 257}) {
    BasePairOptions options = cpu(random.below(5));
    std::tie(options.gc, options.au, options.gu) = std::tuple(3, 2, 1);
    const std::string sequence = random_sequence(random, length);
    const BasePairs structure = base_pairs(sequence, options);
    EXPECT_EQ(structure.score, textbook_score(sequence, options));
    expect_sound(structure, options);
  }
}

TEST(BasePairs, LeaveRoomForTheMinimumLoop) {
  EXPECT_EQ(dot_bracket(base_pairs("GC", cpu(0))), "()");
  EXPECT_EQ(dot_bracket(base_pairs("GC", cpu(1))), "..");
  EXPECT_EQ(dot_bracket(base_pairs("GAAC", cpu(2))), "(..)");
  EXPECT_EQ(dot_bracket(base_pairs("GAAC", cpu(3))), "....");
  EXPECT_EQ(base_pairs("GAAC", cpu(std::numeric_limits<std::int64_t>::max())).pairs, 0);
}

TEST(BasePairs, WeighTheKindsOfPairs) {
  BasePairOptions options = cpu(0);
  EXPECT_EQ(base_pairs("AGUC", options).pairs, 1);  // A-U or G-C, which cross, or G-U
  std::tie(options.gc, options.au, options.gu) = std::tuple(1, 5, 1);
  EXPECT_EQ(dot_bracket(base_pairs("AGUC", options)), "(.).");
  std::tie(options.gc, options.au, options.gu) = std::tuple(5, 1, 1);
  EXPECT_EQ(dot_bracket(base_pairs("AGUC", options)), ".(.)");
  EXPECT_EQ(base_pairs("AGUC", options).score, 5);
}

TEST(BasePairs, MayDoWithoutWobblePairs) {
  BasePairOptions options = cpu();
  EXPECT_EQ(base_pairs("GAAAU", options).pairs, 1);
  options.gu = 0;
  EXPECT_EQ(base_pairs("GAAAU", options).pairs, 0);
}

TEST(BasePairs, OfOneBase) {
  const BasePairs structure = base_pairs("a", cpu());
  EXPECT_EQ(dot_bracket(structure), ".");
  EXPECT_EQ(structure.score, 0);
}

TEST(BasePairs, ReadDnaInSmallLetters) {
  const BasePairs structure = base_pairs("gtcaaagac", cpu());
  EXPECT_EQ(structure.sequence, "GUCAAAGAC");
  EXPECT_EQ(dot_bracket(structure), "(((...)))");
}

TEST(BasePairs, LeaveUnknownBasesUnpairedWhereAllowed) {
  BasePairOptions options = cpu(0);
  EXPECT_EQ(
      message_of([&] { base_pairs("GCnC", options); }),
      "position 3: 'n' is any base; accept it as one that pairs with nothing (option unknown), or say which it is");
  options.unknown = true;
  EXPECT_EQ(dot_bracket(base_pairs("GNnC", options)), "(..)");
  EXPECT_EQ(base_pairs("NNNN", options).score, 0);
}

TEST(BasePairs, RefuseOtherLettersByPosition) {
  EXPECT_EQ(message_of([] { base_pairs("ACGR", cpu()); }),
            "position 4: 'R' is an IUPAC ambiguity code; say which of A, C, G and U it is");
  EXPECT_EQ(message_of([] { base_pairs("AXG", cpu()); }),
            "position 2: 'X' is no nucleotide; they are A, C, G and U (or T)");
  EXPECT_THAT(message_of([] { base_pairs("A\nG", cpu()); }), HasSubstr("position 2: '\\n' is no nucleotide"));
  EXPECT_EQ(message_of([] { base_pairs("", cpu()); }), "the sequence is empty; it needs at least one base");
  const std::vector<std::string> several{"ACG", "AC-G"};
  EXPECT_THAT(message_of([&] { base_pairs(several, cpu()); }),
              HasSubstr("sequence 2, position 3: '-' is no"));
}

TEST(BasePairs, RefuseOptionsOutOfRange) {
  EXPECT_THAT(message_of([] { base_pairs("ACGU", cpu(-1)); }), HasSubstr("the minimum loop is -1 bases"));
  BasePairOptions options = cpu(0);
  options.au = -2;
  EXPECT_EQ(message_of([&] { base_pairs("ACGU", options); }),
            "a AU pair counts -2; it counts 0 (may not form) or more");
  options.au = 536'870'911 / 2 + 1;
  EXPECT_EQ(base_pairs("AU", options).score, options.au);
  EXPECT_THAT(
      message_of([&] { base_pairs("AUAU", options); }),
      HasSubstr(
          "the score may reach 536870912, with pairs of 268435456 and 4 bases; it may reach 536870911"));
}

TEST(BasePairs, OfSeveralSequencesAreThoseOfEach) {
  Random random(8);
  std::vector<std::string> sequences;
  for (int k = 0; k < 20; ++k) sequences.push_back(random_sequence(random, 1 + random.below(90)));
  sequences.insert(sequences.begin() + 7,
                   random_sequence(random, 2200));  // too long to be solved with others
  BasePairOptions options = cpu();
  const std::vector<BasePairs> together = base_pairs(sequences, options);
  ASSERT_EQ(together.size(), sequences.size());
  for (std::size_t k = 0; k < sequences.size(); ++k) {
    EXPECT_EQ(together[k].sequence, sequences[k]);
    expect_sound(together[k], options);
    EXPECT_TRUE(k == 7 || together[k].partner == base_pairs(sequences[k], options).partner) << k;
  }
  options.solve.decomposition = Decomposition::divide_and_conquer;  // no batch
  sequences.erase(sequences.begin() + 7);
  EXPECT_EQ(base_pairs(sequences, options)[8].partner, together[9].partner);
  EXPECT_TRUE(base_pairs(std::vector<std::string>{}, options).empty());
}

TEST(ConnectivityTable, ListsNeighboursAndPartners) {
  EXPECT_EQ(connectivity_table(base_pairs("GAAAC", cpu()), "a title"),
            "5 ENERGY = -1 a title\n"
            "1 G 0 2 5 1\n"
            "2 A 1 3 0 2\n"
            "3 A 2 4 0 3\n"
            "4 A 3 5 0 4\n"
            "5 C 4 0 1 5\n");
}

class MeasuredSequence : public testing::Test {
 protected:
  void SetUp() override {
    folder = measured_data(WARPLOOM_TESTS_DIR "/../../shared/data", "rna");
    if (!std::filesystem::exists(folder))
      GTEST_SKIP() << "no sequences at " << folder << "; set WARPLOOM_DATA";
  }
  std::string sequence(const std::string& file) const {
    return io::read_fasta(folder / file).front().sequence;
  }
  std::filesystem::path folder;
};

TEST_F(MeasuredSequence, Of500BasesScoresWhatTheTextbookRecurrenceGives) {
  const std::string bases = sequence("r500.fa");
  const BasePairs structure = base_pairs(bases, cpu());
  EXPECT_EQ(structure.score, textbook_score(bases, cpu()));
  expect_sound(structure, cpu());
}

TEST_F(MeasuredSequence, OfAVirusIsTheSameInNarrowStorage) {
  const std::string bases = sequence("sars_cov_2_nc_045512.2.fa").substr(0, 2000);
  BasePairOptions options = cpu();
  options.solve.storage = Storage::plain;
  const BasePairs plain = base_pairs(bases, options);
  options.solve.storage = Storage::narrow;
  const BasePairs narrow = base_pairs(bases, options);
  expect_sound(plain, options);
  EXPECT_EQ(plain.partner, narrow.partner);
  EXPECT_EQ(narrow.report.storage, "int16");
}

}  // namespace
}  // namespace warploom::dp
