#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "oracle/random.hpp"
#include "oracle/search_matchings.hpp"
#include "search/assembly.hpp"
#include "warploom/search/match.hpp"

namespace warploom::search {

void PrintTo(const Match& match, std::ostream* out) {
  *out << "coverage " << match.coverage << ", distance " << match.distance << ", from " << match.first << ':';
  for (const Pair& pair : match.pairs)
    *out << " (" << pair.query_channel << " in " << pair.channel << " at " << pair.offset << ", part "
         << pair.segment << ", rotation " << pair.rotation << ", " << pair.distance << ')';
}

namespace {

using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kLength = 8;

/// A query of so many channels, whose samples do not matter here.
class Channels {
 public:
  explicit Channels(std::size_t count) : samples_(kLength) {
    query.channels.assign(count, std::span<const float>(samples_));
    for (std::size_t c = 0; c < count; ++c) query.places.push_back(static_cast<std::int32_t>(c));
  }
  Query query;

 private:
  std::vector<float> samples_;
};

Piece piece(std::int32_t query_channel, std::int32_t channel, std::int64_t offset, double distance) {
  Piece made;
  made.pair.query_channel = query_channel;
  made.pair.channel = channel;
  made.pair.offset = made.pair.begin = offset;
  made.pair.length = made.pair.coverage = kLength;
  made.pair.distance = distance;
  made.pair.switched = query_channel != channel;
  return made;
}

Piece part(std::int32_t query_channel, std::int32_t channel, std::int64_t offset, double distance,
           std::int32_t segment, std::int64_t begin, std::int64_t length) {
  Piece made = piece(query_channel, channel, offset, distance);
  made.pair.segment = segment;
  made.pair.begin += begin;
  made.pair.length = made.pair.coverage = length;
  return made;
}

Piece rotated(Piece made, std::int32_t rotation) {
  made.axis = true;
  made.pair.rotation = rotation;
  return made;
}

auto identity_of(const Pair& pair) {
  return std::tuple(pair.query_channel, pair.channel, pair.offset, pair.segment, pair.rotation,
                    pair.distance);
}

void expect_equal(const std::vector<Match>& found, const std::vector<Match>& want) {
  ASSERT_EQ(found.size(), want.size()) << testing::PrintToString(found) << testing::PrintToString(want);
  for (std::size_t k = 0; k < found.size(); ++k) {
    const auto same = [](const Pair& a, const Pair& b) { return identity_of(a) == identity_of(b); };
    EXPECT_TRUE(std::equal(found[k].pairs.begin(), found[k].pairs.end(), want[k].pairs.begin(),
                           want[k].pairs.end(), same))
        << testing::PrintToString(found[k]) << "\n  is not " << testing::PrintToString(want[k]);
    EXPECT_EQ(found[k].coverage, want[k].coverage);
    EXPECT_EQ(found[k].distance, want[k].distance);
    EXPECT_EQ(found[k].first, want[k].first);
    EXPECT_EQ(found[k].last, want[k].last);
    EXPECT_EQ(found[k].matched, want[k].matched);
    EXPECT_EQ(found[k].channels, want[k].channels);
  }
}

struct Kinds {
  const char* name;
  bool parts, rotations;
};

Piece random_piece(Random& random, const Kinds& kinds, std::uint32_t channels, std::uint32_t recorded,
                   std::uint32_t span) {
  const std::int64_t begins[] = {0, 3, 5}, lengths[] = {3, 2, 3};
  const auto from = static_cast<std::int32_t>(random.below(channels));
  const auto to = static_cast<std::int32_t>(random.below(recorded));
  const std::int64_t offset = random.below(span);
  const double distance = std::ldexp(1 + random.below(1 << 20), -20);  // sums are exact
  const std::int32_t segment = kinds.parts ? static_cast<std::int32_t>(random.below(5)) - 1 : -1;
  Piece made = segment < 0 || segment > 2
                   ? piece(from, to, offset, distance)
                   : part(from, to, offset, distance, segment, begins[segment], lengths[segment]);
  if (from != to) made.pair.weight = 1.5;
  if (kinds.rotations && from < 3) made = rotated(made, static_cast<std::int32_t>(random.below(3)));
  return made;
}

class AssembleSmall : public testing::TestWithParam<Kinds> {};

TEST_P(AssembleSmall, IsWhatTheDefinitionSays) {
  Random random(GetParam().parts + 2 * GetParam().rotations);
  for (int k = 0; k < 600; ++k) {
    const std::uint32_t channels = 1 + random.below(4), recorded = 1 + random.below(4);
    const Channels made(channels);
    std::vector<Piece> pieces;
    const bool many = k % 150 == 0;  // for several threads
    const std::uint32_t count = many ? 2500 : random.below(24), span = many ? 5000 : 4 + random.below(40);
    for (std::uint32_t c = 0; c < count; ++c)
      pieces.push_back(random_piece(random, GetParam(), channels, recorded, span));
    AssembleOptions options;
    options.max_lag = random.below(12);
    options.exclusion = random.below(12);
    options.min_channels = 1 + static_cast<std::int32_t>(random.below(2));
    options.limit = 1 + random.below(6);
    options.alternatives = random.chance(50) ? 1 : 3;
    expect_equal(assemble(pieces, made.query, options), oracle::assemble(pieces, made.query, options));
    if (HasFailure()) FAIL() << "instance " << k;
  }
}

/// As the search does when it looks for missing channels again: what was found out of the pieces so far must
/// not be believed of what is new.
TEST_P(AssembleSmall, OfPiecesInSeveralLotsIsAsOfAllAtOnce) {
  Random random(10 + GetParam().parts + 2 * GetParam().rotations);
  for (int k = 0; k < 300; ++k) {
    const std::uint32_t channels = 1 + random.below(4), recorded = 1 + random.below(4);
    const Channels made(channels);
    const std::uint32_t span = 4 + random.below(60);
    AssembleOptions options;
    options.max_lag = random.below(12);
    options.exclusion = random.below(12);
    Assembly assembly(made.query, options.max_lag);
    std::vector<Piece> pieces;
    for (int lot = 0; lot < 3; ++lot) {
      const auto before = static_cast<std::ptrdiff_t>(pieces.size());
      for (std::uint32_t count = random.below(12); count > 0; --count)
        pieces.push_back(random_piece(random, GetParam(), channels, recorded, span));
      assembly.add(std::span(pieces).subspan(before));
      options.min_channels = 1 + static_cast<std::int32_t>(random.below(2));
      options.limit = 1 + random.below(6);
      std::vector<Match> found;
      for (const Assembly::Result& result : assembly.best(options)) {
        found.push_back(result.match);
        ASSERT_EQ(result.pieces.size(), result.match.pairs.size());
        for (std::size_t p = 0; p < result.pieces.size(); ++p)
          EXPECT_EQ(identity_of(pieces[result.pieces[p]].pair), identity_of(result.match.pairs[p]));
      }
      expect_equal(found, oracle::assemble(pieces, made.query, options));
      if (HasFailure()) FAIL() << "instance " << k << ", lot " << lot;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pieces, AssembleSmall,
                         testing::Values(Kinds{"whole", false, false}, Kinds{"parts", true, false},
                                         Kinds{"rotated", false, true}, Kinds{"both", true, true}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Assemble, MoreChannelsComeBeforeLessDistance) {
  const Channels made(2);
  const std::vector<Piece> pieces = {piece(0, 0, 0, 0.001), piece(0, 0, 100, 0.5), piece(1, 1, 101, 0.5)};
  const std::vector<Match> found = assemble(pieces, made.query, {.max_lag = 4, .exclusion = 4});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].first, 100);
  EXPECT_EQ(found[0].matched, 2);
  EXPECT_EQ(found[0].lag(found[0].pairs[1]), 1);
  EXPECT_EQ(found[1].coverage, 0.5);
}

TEST(Assemble, PartsCountByTheirShare) {
  const Channels made(1);
  const std::vector<Piece> pieces = {part(0, 0, 10, 0.4, 0, 0, 4), part(0, 0, 11, 0.2, 1, 4, 4)};
  const std::vector<Match> found = assemble(pieces, made.query, {.max_lag = 4});
  ASSERT_THAT(found, SizeIs(1 + 1)) << "the second part is a place of its own, outside an exclusion of 0";
  EXPECT_EQ(found[0].coverage, 1);
  EXPECT_DOUBLE_EQ(found[0].distance, 0.3);
  EXPECT_EQ(found[0].last, 11 + 4 + 4);
  EXPECT_EQ(found[1].coverage, 0.5);
}

TEST(Assemble, AxesOfDifferentRotationsDoNotGoTogether) {
  const Channels made(3);
  const std::vector<Piece> pieces = {rotated(piece(0, 0, 0, 0.1), 1), rotated(piece(1, 1, 0, 0.1), 2),
                                     piece(2, 2, 0, 0.1)};
  const std::vector<Match> found = assemble(pieces, made.query, {.exclusion = 10});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].matched, 2);
}

TEST(Assemble, AlternativesAreTheNextBestMatchingsOfThePlace) {
  const Channels made(2);
  const std::vector<Piece> pieces = {piece(0, 0, 0, 0.25), piece(1, 1, 0, 0.25), piece(1, 2, 0, 0.5)};
  const std::vector<Match> found = assemble(pieces, made.query, {.exclusion = 10, .alternatives = 3});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].distance, 0.5);
  EXPECT_EQ(found[1].distance, 0.75);
}

TEST(Assemble, OfNoPiecesIsNothing) { EXPECT_THAT(assemble({}, Channels(2).query, {}), IsEmpty()); }

/// 200 candidates of each pair of 16 x 16 channels in ten minutes at 100 Hz, all by chance.
std::vector<Piece> insole_pieces(std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<std::int64_t> offset(0, 60'000);
  std::uniform_real_distribution<double> distance(0.1, 0.5);
  std::vector<Piece> pieces;
  for (std::int32_t from = 0; from < 16; ++from)
    for (std::int32_t to = 0; to < 16; ++to)
      for (int k = 0; k < 200; ++k) pieces.push_back(piece(from, to, offset(engine), distance(engine)));
  return pieces;
}

TEST(Assemble, FindsAPlantedMatchAmongFiftyThousandPieces) {
  const Channels made(16);
  std::vector<Piece> pieces = insole_pieces(1);
  for (std::int32_t c = 0; c < 16; ++c) pieces.push_back(piece(c, (c + 3) % 16, 30'000 + c, 0.01));
  const std::vector<Match> found = assemble(pieces, made.query, {.max_lag = 64, .exclusion = 64});
  ASSERT_THAT(found, SizeIs(20));
  EXPECT_EQ(found[0].first, 30'000);
  EXPECT_NEAR(found[0].distance, 0.16, 1e-12);
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end(), ranked_before));
}

}  // namespace
}  // namespace warploom::search
