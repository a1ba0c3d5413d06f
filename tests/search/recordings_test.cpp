#include "warploom/search/recordings.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <tuple>

#include "io/scratch.hpp"
#include "search/signals.hpp"
#include "warploom/core/error.hpp"
#include "warploom/search/stream.hpp"
#include "warploom/signal/filter.hpp"
#include "warploom/signal/prepare.hpp"

namespace warploom::search {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Three channels, x, y and z, of 40 s at 50 Hz; what is at 10 s is there again at 30 s, x and y exchanged.
io::Recording walk() {
  io::Recording recording;
  recording.timed = true;
  for (std::uint32_t c = 0; c < 3; ++c)
    recording.channels.push_back(
        {std::string(1, static_cast<char>('x' + c)), "", 50, random_walk(2000, c + 1)});
  for (const std::size_t c : {0, 1, 2}) {
    const std::vector<float>& from = recording.channels[c].samples;
    const std::vector<float> again = part(from, 500, 60);
    std::ranges::copy(again, recording.channels[c == 2 ? 2 : 1 - c].samples.begin() + 1500);
  }
  recording.annotations = {{10, 1.2, "step"}, {30, 1.2, "step"}};
  return recording;
}

SearchOptions on_cpu() {
  SearchOptions options;
  options.match = MatchBy::free;
  options.run.devices = {Device::cpu};
  options.find.limit = 2;
  return options;
}

class Recordings : public Scratch {
 protected:
  io::Recording day = walk();
  std::vector<RecordedQuery> step{query_of_range(day, "day.csv", "step", 10, 11.2)};

  void refused(const SearchOptions& options, const std::string& says) {
    EXPECT_THAT([&] { search_recording(day, "day.csv", step, options); },
                ThrowsMessage<BadInput>(HasSubstr(says)));
  }
};

TEST_F(Recordings, AreSearchedForWhatWasCutFromThem) {
  EXPECT_EQ(step[0].length(), 60);
  EXPECT_EQ(step[0].source(), "day.csv, 10 to 11.2 s");
  const SearchResult result = search_recording(day, "other.csv", step, on_cpu());
  EXPECT_THAT(result.channels, ElementsAre("x", "y", "z"));
  EXPECT_EQ(result.samples, 2000);
  ASSERT_EQ(result.hits.size(), 2u);
  EXPECT_NEAR(result.hits[0].onset, 10, 0.021);
  EXPECT_NEAR(result.hits[1].onset, 30, 0.021);
  EXPECT_TRUE(result.hits[1].match.pairs[0].switched);
  EXPECT_FALSE(result.hits[0].self);

  const std::vector results{SearchResult{}, result};  // which the order points into
  const auto order = ranking(results);
  ASSERT_EQ(order.size(), 2u);
  EXPECT_EQ((*order[0]).onset, result.hits[0].onset);
}

/// Matches to the sample: x at 30 s is slower than at 10 s.
TEST_F(Recordings, HaveMatchesThatBeginAndEndToTheSample) {
  for (io::Channel& channel : day.channels) {
    const std::vector<float> slow = stretch(part(channel.samples, 500, 60), 64);
    std::ranges::copy(slow, channel.samples.begin() + 1495);
  }
  SearchOptions options = on_cpu();
  for (const MatchBy match : {MatchBy::automatic, MatchBy::in_place, MatchBy::free}) {
    options.match = match;
    const SearchResult result = search_recording(day, "other.csv", step, options);
    ASSERT_EQ(result.hits.size(), 2u);
    const Hit& hit = result.hits[result.hits[0].onset > 20 ? 0 : 1];
    EXPECT_NEAR(hit.onset, 1495. / 50, .041);
    EXPECT_NEAR(hit.duration, 64. / 50, .041);
    EXPECT_EQ(hit.onset, static_cast<double>(hit.match.boundaries().first) / 50);
  }
}

TEST_F(Recordings, SayHowQueriesLookedToTheirReading) {
  // Axes turned by 50 degrees about z in the whole recording; pattern three times.
  for (const std::size_t at : {200, 900, 1500})
    for (io::Channel& channel : day.channels) {
      const std::vector<float> pattern = part(channel.samples, 500, 60);
      std::ranges::copy(pattern, channel.samples.begin() + static_cast<std::ptrdiff_t>(at));
    }
  const float c = std::cos(.87F), s = std::sin(.87F);
  for (std::size_t k = 0; k < 2000; ++k) {
    float &x = day.channels[0].samples[k], &y = day.channels[1].samples[k];
    std::tie(x, y) = std::pair(c * x - s * y, s * x + c * y);
  }
  SearchOptions options = on_cpu();
  options.match = MatchBy::automatic;
  options.find.limit = 4;
  const SearchResult result = search_recording(day, "other.csv", step, options);
  const auto chosen = std::ranges::find(result.readings, true, &ReadingTried::chosen);
  ASSERT_NE(chosen, result.readings.end());
  ASSERT_EQ(chosen->name, "rotated");
  ASSERT_EQ(result.compared.size(), 1u);
  for (std::size_t channel = 0; channel < 2; ++channel) {
    const std::vector<float>& there = day.channels[channel].samples;
    const std::vector<float>& compared = result.compared[0].samples[channel];
    // Up to the mean, which normalisation takes away.
    for (std::size_t k = 1; k < compared.size(); ++k)
      EXPECT_NEAR(compared[k] - compared[0], there[500 + k] - there[500], .5F);
  }
}

TEST_F(Recordings, AreComparedInTheirUnits) {
  SearchOptions options = on_cpu();
  options.match = MatchBy::automatic;
  options.find.limit = 2;
  const SearchResult same = search_recording(day, "other.csv", step, options);
  ASSERT_EQ(same.hits.size(), 2u);
  EXPECT_THAT(same.gains, ElementsAre(Each(1)));
  constexpr float kFactor = 57.295779F;
  for (io::Channel& channel : day.channels)
    for (float& x : channel.samples) x *= kFactor;
  const auto expect_found = [&](const SearchResult& result) {
    ASSERT_EQ(result.hits.size(), 2u);
    EXPECT_EQ(result.hits[0].onset, same.hits[0].onset);
    EXPECT_NEAR(result.hits[0].match.distance, same.hits[0].match.distance, 1e-4);
    EXPECT_THAT(result.gains, ElementsAre(Each(DoubleNear(kFactor, 1e-3))));
    EXPECT_NEAR(result.compared[0].samples[0][7] / step[0].samples[0][7], kFactor, 1e-3);
  };
  const SearchResult estimated = search_recording(day, "other.csv", step, options);
  expect_found(estimated);
  EXPECT_THAT(estimated.remarks,
              Contains(HasSubstr(
                  "in all channels the recording looks 57.3 times larger than the query of day.csv "
                  "(other units, as rad/s and deg/s?): compared after the query was multiplied by 57.3")));
  // Files that say it are believed.
  step[0].units = {"rad/s", "rad/s", "rad/s"};
  for (io::Channel& channel : day.channels) channel.unit = "deg/s";
  const SearchResult said = search_recording(day, "other.csv", step, options);
  expect_found(said);
  EXPECT_THAT(said.remarks,
              Contains(HasSubstr("all channels of the query of day.csv were multiplied by 57.3, to be in "
                                 "the recording's units")));
  step[0].units = {"deg/s", "deg/s", "deg/s"};
  EXPECT_THAT(search_recording(day, "other.csv", step, options).gains, ElementsAre(Each(1)));
  options.gain = 3;
  EXPECT_THAT(search_recording(day, "other.csv", step, options).gains, ElementsAre(Each(3)));
}

TEST_F(Recordings, TakeChannelsByNumberWhereTheQueryHasNoNames) {
  step[0].names.clear();
  const SearchResult result = search_recording(day, "other.csv", step, on_cpu());
  ASSERT_EQ(result.hits.size(), 2u);
  EXPECT_NEAR(result.hits[0].onset, 10, 0.021);
  EXPECT_EQ(result.hits[0].match.matched, 3);
}

TEST_F(Recordings, KnowWhereTheirQueriesCameFrom) {
  step[0].file = make("day.csv", "x,y,z\n");
  SearchOptions options = on_cpu();
  EXPECT_TRUE(search_recording(day, directory / "day.csv", step, options).hits[0].self);
  EXPECT_TRUE(sources_in(step, directory / "day.csv#2").empty());
  options.exclude_self = true;
  const SearchResult result = search_recording(day, directory / "day.csv", step, options);
  ASSERT_FALSE(result.hits.empty());
  EXPECT_NEAR(result.hits[0].onset, 30, 0.021);
}

TEST_F(Recordings, TakeOptionsByTheNamesOfTheirChannels) {
  SearchOptions options = on_cpu();
  options.find.neighbours = 0;
  options.adjacency = make("beside.txt", "x,y\ny,x\n");
  options.weights = make("alpha.txt", "1 2 3\n4 1 6\n7 8 1\n");
  options.find.rotations = 2;
  options.sensors = {"z,1,y"};
  options.find.max_lag = 0.6;
  options.lag_in_seconds = true;
  const FindOptions find = find_options(options, step[0], day);
  EXPECT_THAT(find.adjacency, ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_EQ(find.weights[5], 6);
  ASSERT_EQ(find.sensors.size(), 1u);
  EXPECT_EQ(find.sensors[0].x, 2);
  EXPECT_EQ(find.sensors[0].y, 0);
  EXPECT_EQ(find.max_lag, 0.5);

  options.sensors = {"x,y"};
  refused(options, "`sensor` x,y: three channels are expected");
  options.weights = make("small.txt", "1 2\n3 4\n");
  refused(options, "small.txt: 2 rows of 2 weights; the recording has 3 channels");
  options.weights = make("negative.txt", "1 1 1\n1 1 -1\n1 1 1\n");
  refused(options, "negative.txt: weight -1 in row 2, column 3");
  options.adjacency = make("other.txt", "x,w\n");
  refused(options, "other.txt:1: 'w' is none of 3 channels (x, y, z)");
}

TEST_F(Recordings, LabelsShareThePlaces) {
  step.push_back(query_of_range(day, "day.csv", "other", 20, 21));
  SearchOptions options = on_cpu();
  options.labels = true;
  for (const Hit& hit : search_recording(day, "", step, options).hits)
    EXPECT_EQ(hit.match.query, hit.match.label == "other");
  options.lag_in_seconds = true;
  refused(options, "`max_lag` in seconds and `labels` with queries of 60 and 50 samples");
}

TEST_F(Recordings, GiveAQueryForEachAnnotation) {
  EXPECT_EQ(queries_labelled(day, "day.csv", "step", "day.csv").size(), 2u);
  EXPECT_THAT([&] { queries_labelled(day, "day.csv", "run", "day"); },
              ThrowsMessage<BadInput>(HasSubstr("day: no annotation 'run'; there are step")));
  day.annotations.clear();
  EXPECT_THAT([&] { queries_labelled(day, "day.csv", "run", "day"); },
              ThrowsMessage<BadInput>(HasSubstr("it has none: `label_column` names")));
}

TEST_F(Recordings, RefuseQueriesThatTheyDoNotHold) {
  day.channels[1].samples[510] = kNan;
  const auto cut = [&](double from, double to) { return query_of_range(day, "day.csv", "step", from, to); };
  EXPECT_THAT([&] { cut(10, 11.2); },
              ThrowsMessage<BadInput>(HasSubstr("y lacks samples, the first at 10.2 s")));
  EXPECT_THAT([&] { cut(39, 41); }, ThrowsMessage<BadInput>(HasSubstr("does not lie in the file")));
  EXPECT_THAT([&] { cut(1, 1.06); }, ThrowsMessage<BadInput>(HasSubstr("has 3 samples; 4 are the least")));
  day.channels[0].samples.assign(2000, kNan);
  EXPECT_THAT([&] { cut(10, 11); }, ThrowsMessage<BadInput>(AllOf(HasSubstr("x has no samples at all"),
                                                                  HasSubstr("`query_select`"))));
}

TEST_F(Recordings, OfAnotherRateAreSearchedForTheQueryAtTheirs) {
  for (const double rate : {100., 40.}) {
    io::Recording other = day;
    signal::resample(other, rate);
    const SearchResult result = search_recording(other, "other.csv", step, on_cpu());
    ASSERT_FALSE(result.hits.empty());
    EXPECT_NEAR(result.hits[0].onset, 10, 0.03) << rate;
    EXPECT_NEAR(result.hits[0].duration, 1.2, 0.06) << rate;
    EXPECT_EQ(result.hits[0].match.matched, 3) << rate;
    EXPECT_LT(result.hits[0].match.distance, rate > 50 ? 0.05 : 1.2) << rate;
    EXPECT_THAT(result.remarks, testing::Contains(AllOf(HasSubstr("the query of day.csv has 50 Hz"),
                                                        HasSubstr("the query was resampled"))));
    const std::vector<RecordedQuery> brought = at_rate_of(other, step);
    EXPECT_EQ(brought[0].rate, rate);
    EXPECT_EQ(brought[0].length(), static_cast<std::int64_t>(std::floor(59 * rate / 50)) + 1);
    EXPECT_EQ(brought[0].from, step[0].from);
  }
  EXPECT_EQ(at_rate_of(day, step)[0].samples, step[0].samples);
  io::Recording slow = day;
  signal::resample(slow, 2);
  EXPECT_THAT(
      [&] { at_rate_of(slow, step); },
      ThrowsMessage<BadInput>(HasSubstr("day.csv has 3 samples at 2 Hz, the rate of the recording; 4 are")));
}

TEST_F(Recordings, ThatDoNotFitTheQueryAreRefused) {
  io::Recording unnamed = day;
  for (io::Channel& channel : unnamed.channels) channel.name.clear();
  EXPECT_THAT(placed(step, unnamed, "", false)[0].places, ElementsAre(0, 1, 2));
  unnamed.channels.pop_back();
  EXPECT_THAT([&] { placed(step, unnamed, "two.csv", false); },
              ThrowsMessage<BadInput>(
                  HasSubstr("two.csv has 2 channels (channel 1, channel 2), the query of day.csv 3")));
  io::Recording other = day;
  other.channels[2].name = "w";
  EXPECT_THAT([&] { placed(step, other, "other.csv", false); },
              ThrowsMessage<BadInput>(HasSubstr("other.csv has no channel 'z'")));
  EXPECT_THAT(placed(step, other, "other.csv", true)[0].places, ElementsAre(0, 1, 2));
  for (io::Channel& channel : other.channels) channel.samples.resize(50);
  EXPECT_THAT([&] { search_recording(other, "short.csv", step, on_cpu()); },
              ThrowsMessage<BadInput>(HasSubstr("short.csv has 50 samples, and the query of day.csv 60")));
  io::Recording dead = day;
  for (io::Channel& channel : dead.channels) channel.samples.assign(2000, kNan);
  EXPECT_THAT([&] { search_recording(dead, "dead.csv", step, on_cpu()); },
              ThrowsMessage<BadInput>(HasSubstr("dead.csv: no channel has any samples")));
  io::Recording untimed = day;
  untimed.timed = false;
  for (io::Channel& channel : untimed.channels) channel.rate = 1;
  EXPECT_NEAR(search_recording(untimed, "", step, on_cpu()).hits[0].onset, 10, 0.021);  // has the query's now
}

/// The rows of a recording with a header.
std::string rows_of(const io::Recording& recording) {
  std::ostringstream text;
  text << "time,x,y,z\n";
  for (std::size_t k = 0; k < recording.channels[0].samples.size(); ++k) {
    text << static_cast<double>(k) / 50;
    for (const io::Channel& channel : recording.channels) text << ',' << channel.samples[k];
    text << "\r\n";
  }
  return text.str();
}

TEST_F(Recordings, AreSearchedLineByLine) {
  SearchOptions options = on_cpu();
  options.find.max_distance = 0.2;
  io::RecordingOptions reading;
  reading.rate = 50;
  LineStream stream(step[0], options, reading, "<stdin>");
  std::vector<double> onsets;
  const auto take = [&](const std::vector<Hit>& hits) {
    for (const Hit& hit : hits) onsets.push_back(hit.onset);
  };
  std::istringstream text(rows_of(day));
  for (std::string line; std::getline(text, line);) take(stream.push(line));
  take(stream.finish());
  EXPECT_THAT(stream.recording().channels, ElementsAre("x", "y", "z"));
  EXPECT_THAT(onsets, ElementsAre(testing::DoubleNear(10, 0.021), testing::DoubleNear(30, 0.021)));
}

TEST_F(Recordings, LinesThatAreNoSamplesAreRefused) {
  SearchOptions options = on_cpu();
  options.find.max_distance = 0.2;
  const auto refused_lines = [&](const io::RecordingOptions& reading, const std::string& text,
                                 const std::string& says) {
    LineStream stream(step[0], options, reading, "<stdin>");
    std::istringstream lines(text);
    EXPECT_THAT(
        [&] {
          for (std::string line; std::getline(lines, line);) stream.push(line);
        },
        ThrowsMessage<BadInput>(HasSubstr(says)));
  };
  refused_lines({}, "x,y,z\n1,2\n", "<stdin>:2:1: 2 fields, where the first line has 3");
  refused_lines({}, "\nx y z\n1 2 no\n", "<stdin>:3:1: 'no' is no number");
  refused_lines({}, "t\n1\n", "no column but time");
  io::RecordingOptions select, time;
  select.select = {"x", "w"};
  time.time_column = "when";
  refused_lines(select, "x;y;z\n", "`select`: 'w' is none of 3 channels");
  refused_lines(time, "1\t2\t3\n", "`time_column`: 'when' is none of");
  LineStream nothing(step[0], options, {}, "<stdin>");
  EXPECT_TRUE(nothing.finish().empty());
}

TEST_F(Recordings, AreJudgedByLabelsThatWereSearchedFor) {
  const StoredMatches stored{"day", "", {"step"}, {{10, 1.2, "step"}, {20, 1.2, "step"}}, {}};
  const std::vector<Interval> truth{{10, 1.2, "step"}, {30, 1.2, "step"}, {5, 1, "run"}};
  const Judged judged = judge(stored, truth, "truth.csv", "", 20);
  EXPECT_EQ(judged.evaluation.events, 2);
  EXPECT_EQ(judged.evaluation.precision, 0.5);
  EXPECT_EQ(judged.no_events, "");
  EXPECT_EQ(judge(stored, truth, "truth.csv", "run", 20).evaluation.events, 1);
  const Judged none = judge(stored, truth, "truth.csv", "hop", 20);
  EXPECT_EQ(
      none.no_events,
      "truth.csv: none of its annotations (run, step) is of the results' label 'hop'; `label` says what they are");
  EXPECT_FALSE(value_of(none.evaluation, kMeasures[0]));
  EXPECT_EQ(mean_of(std::vector{judged, none}, kMeasures[1]).value, 0.25);
  EXPECT_EQ(judge(stored, {}, "truth.csv", "", 20).no_events, "truth.csv: it holds no annotations");
}

TEST_F(Recordings, TruthIsReadFromAnnotationsAndFromRecordings) {
  EXPECT_EQ(read_truth(make("t.csv", "onset,duration,label\n1,2,step\n"), {})[0].label, "step");
  io::RecordingOptions reading;
  reading.label_column = "what";
  EXPECT_EQ(read_truth(make("r.csv", "x,what\n1,3\n2,3\n"), reading)[0].label, "3");
  EXPECT_THAT([&] { read_truth(make("x.csv", "x\n1\n"), {}); },
              ThrowsMessage<BadInput>(HasSubstr("or `label_column` for a recording")));
  EXPECT_THAT([&] { read_truth(make("x.txt", "x\n1\n"), {}); },
              ThrowsMessage<BadInput>(HasSubstr("it holds no annotations")));
}

}  // namespace
}  // namespace warploom::search
