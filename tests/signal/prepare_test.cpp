#include "warploom/signal/prepare.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <tuple>

#include "warploom/core/error.hpp"
#include "warploom/signal/filter.hpp"

namespace warploom::signal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

io::Recording recording(double rate, std::vector<std::vector<float>> channels) {
  io::Recording made;
  made.timed = true;
  for (std::vector<float>& samples : channels) made.channels.push_back({"", "", rate, std::move(samples)});
  return made;
}

TEST(Butterworth, IsPublicAndRefusesWhatIsNoFilter) {
  EXPECT_EQ(butterworth(std::nullopt, 10, 100).size(), 2u);
  EXPECT_EQ(butterworth(5, 10, 100).size(), 4u);
  for (const auto& [low, high, rate] :
       {std::tuple<std::optional<double>, std::optional<double>, double>{{}, {}, 100},
        {10, 5, 100},
        {5, {}, 0}})
    EXPECT_THAT([&] { butterworth(low, high, rate); },
                ThrowsMessage<BadInput>(HasSubstr("0 < low < high <")));
}

TEST(Prepare, GivesOneRateAndLength) {
  io::Recording r = recording(2, {{0, 2, 4, 10}, {1, 1, 1}});
  r.channels[1].rate = 1;
  prepare(r, {}, "walk");
  EXPECT_THAT(r.channels[0].samples, ElementsAre(0, 2, 4, 10));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(1, 1, 1, 1));
  prepare(r, {.resample = 4}, "walk");
  EXPECT_THAT(r.channels[0].samples, ElementsAre(0, 1, 2, 3, 4, 7, 10));
  io::Recording unequal = recording(1, {{1, 2, 3}, {1, 2}});
  prepare(unequal, {}, "walk");
  EXPECT_THAT(unequal.channels[0].samples, ElementsAre(1, 2));
}

TEST(Prepare, FiltersThenTakesTheLineAway) {
  io::Recording r = recording(100, {{5, 1, 4, 2, 8, 3, 9, 1}});
  io::Channel wanted = r.channels[0];
  filter(wanted, 1, 20);
  detrend(wanted);
  prepare(r, {.resample = {}, .low = 1, .high = 20, .detrend = true}, "walk");
  EXPECT_EQ(r.channels[0].samples, wanted.samples);
}

TEST(Prepare, SaysWhatIsWrongAndWithWhich) {
  const auto refused = [](io::Recording r, const PrepareOptions& options, const std::string& says) {
    EXPECT_THAT([&] { prepare(r, options, "walk.csv"); },
                ThrowsMessage<BadInput>(AllOf(HasSubstr("walk.csv: "), HasSubstr(says))));
  };
  refused({}, {}, "it has no channels");
  refused(recording(1, {{}}), {}, "it has no samples");
  io::Recording untimed = recording(1, {{1, 2}});
  untimed.timed = false;
  refused(untimed, {.resample = 4}, "its rate is not known, so that `resample` cannot change it");
  PrepareOptions low;
  low.low = 0.1;
  refused(untimed, low, "corners of a filter are in Hz; give `rate`");
  low.low = 50;
  refused(recording(100, {{1, 2, 3}}), low, "0 < low < high < 50");
}

TEST(Cut, TakesWholeSamplesAndWhatIsAnnotatedInThem) {
  io::Recording r = recording(2, {{0, 1, 2, 3, 4, 5, 6, 7}});
  r.annotations = {{0, 1, "before"}, {1.5, 1, "in"}, {3, 1, "behind"}};
  const io::Recording part = cut(r, 1.1, 3, "walk.csv: the query");
  EXPECT_THAT(part.channels[0].samples, ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(part.channels[0].rate, 2);
  ASSERT_EQ(part.annotations.size(), 1u);
  EXPECT_EQ(part.annotations[0].label, "in");
  EXPECT_EQ(part.annotations[0].onset, 0.5);
  EXPECT_TRUE(cut(r, 3, 1, "").channels[0].samples.empty());
  for (const auto& [from, to] : {std::pair{4., 5.}, {0., 4.5}, {-1., 2.}, {std::nan(""), 2.}})
    EXPECT_THAT([&] { cut(r, from, to, "walk.csv: the query"); },
                ThrowsMessage<BadInput>(AllOf(HasSubstr("walk.csv: the query's range"),
                                              HasSubstr("does not lie in the file, which ends at 4 s"))));
}

TEST(Channels, AreFoundByNameThenByNumber) {
  const std::vector<std::string> names{"x", "1", "y"};
  EXPECT_EQ(find_channel("y", names, "--select"), 2);
  EXPECT_EQ(find_channel("1", names, "--select"), 1);
  EXPECT_EQ(find_channel("3", names, "--select"), 2);
  for (const char* word : {"z", "0", "4", ""})
    EXPECT_THAT([&] { find_channel(word, names, "--select"); },
                ThrowsMessage<BadInput>(HasSubstr("is none of 3 channels (x, 1, y)")));
  EXPECT_EQ(channels_text(std::vector<std::string>(13, "a")),
            "13 channels (a, a, a, a, a, a, a, a, a, a, a, a, ...)");
  EXPECT_THAT(channel_names(recording(1, {{}, {}})), ElementsAre("channel 1", "channel 2"));
}

TEST(Channels, StandBesideEachOtherAsTheTextSays) {
  const std::vector<std::string> names{"x", "y", "z"};
  EXPECT_THAT(parse_adjacency("# beside\r\nz, x ,1\r\n\ny", "beside.txt", names),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(0, 2)));
  EXPECT_THAT([&] { parse_adjacency("x,y\nw", "beside.txt", names); },
              ThrowsMessage<BadInput>(HasSubstr("beside.txt:2: 'w' is none of 3 channels")));
}

}  // namespace
}  // namespace warploom::signal
