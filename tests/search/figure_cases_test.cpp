#include "search/figure_cases.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>

#include "warploom/search/euclidean.hpp"
#include "warploom/search/find.hpp"

namespace warploom::search {
namespace {

using testing::ElementsAre;

/// Whether a match has every channel that was planted in the channel and, within an eighth of the query's
/// length, at the offset where it was planted.
bool finds(const Match& match, const FigureCase::Planted& planted, std::int64_t length) {
  for (std::int32_t c = 0; c < std::ssize(planted.channels); ++c) {
    if (planted.channels[c] < 0) continue;
    const bool found = std::any_of(match.pairs.begin(), match.pairs.end(), [&](const Pair& pair) {
      return pair.query_channel == c && pair.channel == planted.channels[c] && !pair.negated &&
             std::abs(pair.offset - planted.offsets[c]) <= length / 8;
    });
    if (!found) return false;
  }
  return true;
}

/// Ranks, from 1, at which what was planted is found first; 0: not at all.
std::vector<int> ranks(const FigureCase& figure, const std::vector<Match>& matches) {
  std::vector<int> ranks;
  for (const FigureCase::Planted& planted : figure.planted) {
    int rank = 0;
    for (std::size_t k = 0; k < matches.size() && rank == 0; ++k)
      if (finds(matches[k], planted, figure.length)) rank = static_cast<int>(k) + 1;
    ranks.push_back(rank);
  }
  return ranks;
}

std::vector<int> ranks_of_ours(const FigureCase& figure, const FindOptions& options = {}) {
  Index index(figure.signal(), {.run = {.devices = {Device::cpu}}});
  const Query query = figure.query();
  return ranks(figure, find(index, query, options).matches);
}

/// Printed, so that what the baseline finds can be seen beside ours.
std::vector<int> ranks_of_euclidean(const FigureCase& figure, Normalization normalization) {
  const std::vector<int> all =
      ranks(figure, find_euclidean(figure.signal(), figure.query(), normalization, 20, figure.length / 2));
  std::cout << "EDT, " << (normalization == Normalization::z ? "normalised" : "raw") << ", of 20 results:\n";
  for (std::size_t k = 0; k < all.size(); ++k)
    std::cout << "  " << figure.planted[k].what << ": "
              << (all[k] > 0 ? "rank " + std::to_string(all[k]) : "not found") << '\n';
  return all;
}

TEST(Figure54, EachOfItsFiveIsFoundBeforeAnythingElse) {
  std::vector<int> found = ranks_of_ours(figure_54());
  EXPECT_EQ(found[0], 1) << "exact";
  EXPECT_EQ(found[2], 5) << "a channel is missing";
  std::sort(found.begin(), found.end());
  EXPECT_THAT(found, ElementsAre(1, 2, 3, 4, 5));
}

TEST(Figure54, EuclideanDistanceDoesNotFindWhatLagsOrIsSwitched) {
  for (Normalization normalization : {Normalization::none, Normalization::z}) {
    const std::vector<int> found = ranks_of_euclidean(figure_54(), normalization);
    EXPECT_EQ(found[0], 1) << "exact";
    EXPECT_EQ(found[1], 0) << "lagged";
    EXPECT_GT(found[2], 0) << "a channel is missing";
    EXPECT_GT(found[3], 0) << "scaled and noisy";
    EXPECT_EQ(found[4], 0) << "switched";
  }
}

TEST(Figure58, EverythingPlantedIsFoundAndThatOfAllChannelsFirst) {
  const FigureCase figure = figure_58();
  const std::vector<int> found = ranks_of_ours(figure);
  std::set<int> whole;
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_GT(found[k], 0) << figure.planted[k].what;
    if (figure.planted[k].what != "two channels") whole.insert(found[k]);
  }
  EXPECT_THAT(whole, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(Figure58, EuclideanDistanceDoesNotFindWhatIsShiftedOrSwitched) {
  const FigureCase figure = figure_58();
  for (Normalization normalization : {Normalization::none, Normalization::z}) {
    const std::vector<int> found = ranks_of_euclidean(figure, normalization);
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::string& what = figure.planted[k].what;
      const bool shifted_or_switched = what.find("sh") == 0 || what.find("sw") == 0;
      EXPECT_EQ(found[k] == 0, shifted_or_switched) << what;
    }
  }
}

TEST(Figure58, QueryAtOtherLengthsIsNearerToWhatIsScaledInTime) {
  const FigureCase figure = figure_58();
  Index index(figure.signal(), {.run = {.devices = {Device::cpu}}});
  const Query query = figure.query();
  FindOptions options;
  options.scales = {0.92, 1, 1.12};
  const auto distance = [&](const Found& found, const char* what) {
    for (const Match& match : found.matches)
      for (const FigureCase::Planted& planted : figure.planted)
        if (planted.what == what && finds(match, planted, figure.length)) return match.distance;
    return 1e9;
  };
  const Found plain = find(index, query), scaled = find(index, query, options);
  EXPECT_LT(distance(scaled, "scaled"), 0.9 * distance(plain, "scaled"));
  EXPECT_LT(distance(scaled, "scaled and noisy"), distance(plain, "scaled and noisy"));
}

}  // namespace
}  // namespace warploom::search
