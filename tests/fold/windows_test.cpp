#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fold/random_sequence.hpp"
#include "fold/shuffle.hpp"
#include "warploom/core/error.hpp"
#include "warploom/fold/scan.hpp"

namespace warploom::fold {
namespace {

/// Every window alone.
void expect_alone(const std::string& sequence, const WindowOptions& options, const Model& model) {
  const Windows windows = fold_windows(sequence, options, model);
  ASSERT_EQ(std::ssize(windows.energies), count_windows(std::ssize(sequence), options));
  std::vector<std::string> each;
  for (std::size_t k = 0; k < windows.energies.size(); ++k)
    each.push_back(sequence.substr(k * static_cast<std::size_t>(options.step),
                                   static_cast<std::size_t>(options.window)));
  const std::vector<Folding> alone = fold(each, model);
  for (std::size_t k = 0; k < each.size(); ++k) {
    ASSERT_EQ(windows.energies[k], alone[k].energy) << "window " << k << " " << each[k];
    if (options.structures) {
      ASSERT_EQ(windows.structures[k], alone[k].structure);
    }
  }
}

TEST(Windows, AreThoseOfEachWindowAloneUnderEveryOption) {
  std::mt19937 random(3);
  for (int round = 0; round < 32; ++round) {
    const Model model{.temperature = round % 5 == 0 ? 20.0 : 37.0,
                      .dangles = round % 4,
                      .lonely_pairs = round % 3 != 0,
                      .gu = round % 7 != 0,
                      .gu_closing = round % 6 != 0,
                      .max_span = round % 8 == 1 ? 30 : 0};
    const WindowOptions options{.window = std::vector<std::int64_t>{1, 7, 40, 75}[round / 4 % 4],
                                .step = round % 5 + 1,
                                .structures = round % 2 == 0};
    expect_alone(random_sequence(random, 75 + random() % 120, round % 6 == 0 ? "GGCCAN" : "ACGU"), options,
                 model);
  }
}
TEST(Windows, HaveTheirQuadruplexes) {
  std::mt19937 random(12);
  for (const int dangles : {0, 2}) {
    std::string sequence = random_sequence(random, 30);
    for (int k = 0; k < 6; ++k)
      sequence += random_sequence(random, 9 + random() % 9, "GGGAC") + "GGGAGGGUGGGAGGG";
    const WindowOptions options{.window = 40, .step = 3, .structures = true};
    const Model model{.dangles = dangles, .quadruplexes = true};
    expect_alone(sequence, options, model);
    const Windows windows = fold_windows(sequence, options, model);
    EXPECT_GT(
        std::ranges::count_if(windows.structures, [](const std::string& s) { return s.find('+') != s.npos; }),
        10);
  }
}
/// Pieces of several strips, of many helices that end at a window's edge.
TEST(Windows, AreThoseOfEachWindowAloneWhereTheyAreLong) {
  std::mt19937 random(5);
  expect_alone(random_sequence(random, 700, "GCGCAU"), {.window = 300, .step = 17, .structures = true}, {});
  expect_alone(random_sequence(random, 420, "GC"), {.window = 200, .step = 9, .structures = true},
               {.dangles = 3});
  expect_alone(random_sequence(random, 1'300), {.window = 1'200, .step = 45}, {});
  expect_alone(random_sequence(random, 64), {.window = 64, .step = 100}, {});
}
TEST(Windows, OfALongSequenceHaveTheirPlaces) {
  std::mt19937 random(9);
  std::string sequence = random_sequence(random, 100'050, "A");
  sequence.replace(100'034, 12, "GGGGAAAACCCC");
  const Windows windows = fold_windows(sequence, {.window = 20, .step = 10});
  EXPECT_EQ(windows.energies.size(), 10'004u);
  EXPECT_EQ(windows.energies[10'003], fold("AAAAGGGGAAAACCCCAAAA").energy);
  EXPECT_EQ(std::ranges::count(windows.energies, 0), 10'003);
}

using Counts = std::map<std::string, int>;
Counts counts_of(const std::string& s, std::size_t letters) {
  Counts counts;
  for (std::size_t k = 0; k + letters <= s.size(); ++k) ++counts[s.substr(k, letters)];
  return counts;
}

TEST(Shuffle, KeepsDinucleotidesOrLetters) {
  std::mt19937 random(2);
  for (std::uint64_t round = 0; round < 300; ++round) {
    const std::string s = random_sequence(random, 1 + random() % 90,
                                          round % 3 == 0   ? "ACGUN"
                                          : round % 3 == 1 ? "AC"
                                                           : "ACGU");
    const std::string both = shuffled(s, Shuffle::dinucleotides, round),
                      one = shuffled(s, Shuffle::mononucleotides, round);
    EXPECT_EQ(counts_of(both, 2), counts_of(s, 2)) << s;
    EXPECT_EQ(both.front(), s.front());
    EXPECT_EQ(both.back(), s.back());
    EXPECT_EQ(counts_of(one, 1), counts_of(s, 1));
  }
  EXPECT_EQ(shuffled("acgtn", Shuffle::mononucleotides, 1).find_first_not_of("ACGUN"), std::string::npos);
  EXPECT_EQ(shuffled("", Shuffle::dinucleotides, 1), "");
}
/// All orders with the same dinucleotides are drawn, each as often within five deviations.
TEST(Shuffle, DrawsEveryOrderAsOften) {
  for (const auto& [s, kind] : {std::pair<std::string, Shuffle>{"AACAGACUA", Shuffle::dinucleotides},
                                {"AAACCGCA", Shuffle::dinucleotides},
                                {"UUGACGUGA", Shuffle::dinucleotides},
                                {"AACCGG", Shuffle::mononucleotides}}) {
    std::set<std::string> orders;
    std::string order = s;
    std::ranges::sort(order);
    const std::size_t kept = kind == Shuffle::dinucleotides ? 2 : 1;
    do {
      if (counts_of(order, kept) == counts_of(s, kept)) orders.insert(order);
    } while (std::ranges::next_permutation(order).found);
    ASSERT_GE(orders.size(), 4u) << s;
    constexpr int kDraws = 20'000;
    std::map<std::string, int> drawn;
    for (std::uint64_t seed = 0; seed < kDraws; ++seed) ++drawn[shuffled(s, kind, seed)];
    const double p = 1. / static_cast<double>(orders.size());
    for (const std::string& each : orders)
      EXPECT_NEAR(drawn[each], kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p))) << s << " -> " << each;
    EXPECT_EQ(drawn.size(), orders.size());
  }
}

TEST(Windows, AreComparedWithTheirShuffles) {
  std::mt19937 random(8);
  const std::string stem = random_sequence(random, 18);
  std::string other;
  for (const char c : stem) other.insert(other.begin(), "UGCA"[std::string("ACGU").find(c)]);
  const std::string sequence = std::string(52, 'A') + random_sequence(random, 60) + stem + "GAAA" + other;
  for (const Shuffle kind : {Shuffle::dinucleotides, Shuffle::mononucleotides}) {
    const WindowOptions options{.window = 40, .step = 4, .shuffles = 30, .shuffle = kind, .seed = 5};
    const Windows windows = fold_windows(sequence, options, {}, {.threads = 1});
    for (std::size_t k = 0; k < windows.energies.size(); ++k) {
      // z-score and p-value follow from the mean, the deviation and the energy.
      if (windows.deviations[k] > 0) {
        EXPECT_NEAR(windows.z_scores[k],
                    (windows.energies[k] / 100. - windows.means[k]) / windows.deviations[k], 1e-9);
      }
      EXPECT_GE(windows.p_values[k], 1. / 31);
      EXPECT_LE(windows.p_values[k], 1.);
    }
    EXPECT_EQ(windows.z_scores[0], 0) << "40 A have shuffles of no other energy";
    EXPECT_EQ(windows.p_values[0], 1);
    // The last window is a long hairpin, better than all of its shuffles.
    EXPECT_LT(windows.z_scores.back(), -2);
    EXPECT_EQ(windows.p_values.back(), 1. / 31);
    const Windows again = fold_windows(sequence, options, {}, {.threads = 3});
    EXPECT_EQ(again.means, windows.means);
    EXPECT_EQ(again.deviations, windows.deviations);
    // A window's shuffles depend on where it begins alone.
    WindowOptions wide = options;
    wide.step = 8;
    const Windows some = fold_windows(sequence, wide);
    for (std::size_t k = 0; k < some.means.size(); ++k) EXPECT_EQ(some.means[k], windows.means[2 * k]);
    wide.seed = 6;
    EXPECT_NE(fold_windows(sequence, wide).means, some.means);
  }
}
/// From shuffles drawn and folded one by one. 6,000 are more than are folded at a time on a CPU.
TEST(Windows, HaveTheMeanAndDeviationOfTheirShuffles) {
  std::mt19937 random(4);
  const std::string sequence = random_sequence(random, 14);
  for (const WindowOptions& options : {WindowOptions{.window = 13, .shuffles = 3'000, .seed = 3},
                                       WindowOptions{.window = 12, .step = 2, .shuffles = 2}}) {
    const Windows windows = fold_windows(sequence, options);
    ASSERT_EQ(windows.means.size(), 2u);
    for (std::size_t k = 0; k < 2; ++k) {
      const auto begin = static_cast<std::int64_t>(k) * options.step;
      std::vector<std::string> shuffles;
      for (std::int64_t shuffle = 0; shuffle < options.shuffles; ++shuffle)
        shuffles.push_back(
            shuffled(std::string_view(sequence).substr(static_cast<std::size_t>(begin),
                                                       static_cast<std::size_t>(options.window)),
                     Shuffle::dinucleotides, seed_of(options.seed, begin, shuffle)));
      double sum = 0, squares = 0, at_most = 0;
      const std::vector<Folding> folded = fold(shuffles);
      for (const Folding& folding : folded) sum += folding.energy / 100.;
      const double n = static_cast<double>(folded.size()), mean = sum / n;
      for (const Folding& folding : folded) {
        squares += (folding.energy / 100. - mean) * (folding.energy / 100. - mean);
        at_most += folding.energy <= windows.energies[k] ? 1 : 0;
      }
      EXPECT_NEAR(windows.means[k], mean, 1e-9);
      EXPECT_NEAR(windows.deviations[k], std::sqrt(squares / (n - 1)), 1e-9);
      EXPECT_NEAR(windows.p_values[k], (1 + at_most) / (1 + n), 1e-12);
    }
  }
}

TEST(Windows, AreRefusedWithTheReason) {
  const auto message = [](const std::string& sequence, const WindowOptions& options,
                          const Model& model) -> std::string {
    try {
      fold_windows(sequence, options, model);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("ACGU", {}, {}), "the sequence has 4 bases, a window 120");
  EXPECT_EQ(message("ACGU", {.window = 0}, {}), "a window of 0 bases: it has 1 to 100000");
  EXPECT_EQ(message("ACGU", {.window = 4, .step = 0}, {}), "a step of 0 bases: it is 1 or more");
  EXPECT_EQ(message("ACGU", {.window = 4, .shuffles = 1}, {}),
            "1 shuffles of a window: they are 0, or 2 to 1000000");
  EXPECT_NE(message("ACGU", {.window = 4}, {.circular = true}).find("circle"), std::string::npos);
  EXPECT_EQ(message("AC-U", {.window = 4}, {}), "the sequence's character 3 of 4 is no letter (byte 45)");
  EXPECT_EQ(message(std::string(100'001, 'A') + "-", {.window = 4}, {}),
            "the sequence's character 100002 of 100002 is no letter (byte 45)");
  Model model;
  model.pseudo.unpaired.assign(4, 1);
  EXPECT_NE(message("ACGU", {.window = 4}, model).find("pseudo-energies"), std::string::npos);
}

}  // namespace
}  // namespace warploom::fold
