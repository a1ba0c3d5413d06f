#include "warploom/fold/accessibility.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "fold/random_sequence.hpp"
#include "warploom/core/error.hpp"

namespace warploom::fold {
namespace {

double unpaired_at(const Accessibility& all, std::int64_t end, std::int64_t u) {
  return all.unpaired[static_cast<std::size_t>((end - 1) * all.stretch + u - 1)];
}

/// With one window it is the ensemble, and a stretch is unpaired as often as structures without its bases
/// weigh.
TEST(Accessibility, OfOneWindowIsWhatAConstraintLeaves) {
  std::mt19937 random(31);
  for (const auto& [n, span, dangles] : {std::tuple(60, 0, 2), {90, 30, 2}, {140, 0, 0}}) {
    const std::string sequence = random_sequence(random, static_cast<std::size_t>(n), "GGCCAU");
    Model model;
    model.dangles = dangles, model.max_span = span;
    const Accessibility all = accessibility(sequence, {.stretch = 12, .cutoff = 0}, model);
    const Ensemble ensemble = fold::ensemble(sequence, model, {.cutoff = 0});
    ASSERT_EQ(all.pairs.size(), ensemble.pairs.size());
    for (std::size_t k = 0; k < all.pairs.size(); ++k) {
      ASSERT_EQ(all.pairs[k].i, ensemble.pairs[k].i);
      EXPECT_NEAR(all.pairs[k].probability, ensemble.pairs[k].probability, 1e-12);
    }
    for (std::int64_t end = 1; end <= n; end += 5)
      for (std::int64_t u = 1; u <= 12; u += 1 + end % 4) {
        if (u > end) {
          EXPECT_TRUE(std::isnan(unpaired_at(all, end, u)));
          continue;
        }
        std::string constraint(sequence.size(), '.');
        for (std::int64_t k = end - u; k < end; ++k) constraint[static_cast<std::size_t>(k)] = 'x';
        const double without =
            fold::ensemble(sequence, model, {.probabilities = false}, {}, constraint).energy;
        EXPECT_NEAR(unpaired_at(all, end, u), std::exp((ensemble.energy - without) / ensemble.kt), 1e-11)
            << end << ' ' << u << ' ' << sequence;
      }
  }
}

/// Without dangles, what is across a window's ends does not count, and each window is a sequence.
TEST(Accessibility, IsTheMeanOfWindows) {
  std::mt19937 random(32);
  const std::string sequence = random_sequence(random, 160);
  constexpr std::int64_t kWindow = 70, kStretch = 9;
  Model model;
  model.dangles = 0, model.max_span = 50;
  const Accessibility all =
      accessibility(sequence, {.window = kWindow, .stretch = kStretch, .cutoff = 0}, model, {.threads = 2});
  std::map<std::pair<std::int64_t, std::int64_t>, double> pairs;
  std::vector<double> unpaired(sequence.size() * kStretch, 0), windows(sequence.size() * kStretch, 0);
  for (std::int64_t begin = 0; begin + kWindow <= 160; ++begin) {
    const std::string part = sequence.substr(static_cast<std::size_t>(begin), kWindow);
    for (const PairProbability& pair : ensemble(part, model, {.cutoff = 0}).pairs)
      pairs[{pair.i + begin, pair.j + begin}] += pair.probability;
    const Accessibility one = accessibility(part, {.stretch = kStretch}, model);
    for (std::int64_t end = 1; end <= kWindow; ++end)
      for (std::int64_t u = 1; u <= std::min(end, kStretch); ++u) {
        const auto at = static_cast<std::size_t>((begin + end - 1) * kStretch + u - 1);
        unpaired[at] += unpaired_at(one, end, u), ++windows[at];
      }
  }
  ASSERT_EQ(all.pairs.size(), pairs.size());
  for (const PairProbability& pair : all.pairs) {
    const double count = static_cast<double>(std::min<std::int64_t>(pair.i, 160 - kWindow + 1) -
                                             std::max<std::int64_t>(1, pair.j - kWindow + 1) + 1);
    EXPECT_NEAR(pair.probability, pairs.at({pair.i, pair.j}) / count, 1e-12);
  }
  for (std::size_t k = 0; k < unpaired.size(); ++k)
    if (windows[k] > 0) {
      EXPECT_NEAR(all.unpaired[k], unpaired[k] / windows[k], 1e-12) << k;
    }
}

TEST(Accessibility, DoesNotOverflowInLongWindows) {
  std::string sequence;
  for (int k = 0; k < 400; ++k) sequence += k % 100 < 50 ? "GCGC" : "AAAA";
  const Accessibility all = accessibility(sequence, {.window = 900, .stretch = 3}, {.max_span = 120});
  for (std::size_t k = 2 * 3; k < all.unpaired.size(); ++k)
    ASSERT_TRUE(all.unpaired[k] >= 0 && all.unpaired[k] <= 1 + 1e-9) << k << ' ' << all.unpaired[k];
}

TEST(Accessibility, HasTheSameBitsWithAnyNumberOfThreads) {
  std::mt19937 random(33);
  const std::string sequence = random_sequence(random, 300);
  const AccessibilityOptions options{.window = 100, .stretch = 5};
  const Accessibility one = accessibility(sequence, options, {}, {.threads = 1}),
                      three = accessibility(sequence, options, {}, {.threads = 3});
  ASSERT_EQ(one.pairs.size(), three.pairs.size());
  for (std::size_t k = 4 * 5; k < one.unpaired.size(); ++k) ASSERT_EQ(one.unpaired[k], three.unpaired[k]);
}

TEST(Accessibility, WhatIsOutOfRangeIsRefused) {
  EXPECT_THROW(accessibility("GGGAAACCC", {.window = -1}), BadInput);
  EXPECT_THROW(accessibility("GGGAAACCC", {.stretch = 0}), BadInput);
  EXPECT_THROW(accessibility("GGGAAACCC", {.stretch = 10'001}), BadInput);
  EXPECT_THROW(accessibility("GGGAAACCC", {.cutoff = 2}), BadInput);
  EXPECT_THROW(accessibility(""), BadInput);
  EXPECT_THROW(accessibility("GGGAAACCC", {}, {.dangles = 1}), BadInput);
  EXPECT_EQ(accessibility("A", {.stretch = 2}).unpaired.front(), 1);
}

}  // namespace
}  // namespace warploom::fold
