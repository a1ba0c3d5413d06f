#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/gzip.hpp"
#include "warploom/io/recording.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::ThrowsMessage;

class TextRecording : public Scratch {
 protected:
  Recording read(const std::string& content, const RecordingOptions& options = {}) const {
    return read_recording(make("a.csv", content), options);
  }
};

RecordingOptions with_time(const std::string& column, double unit = 0) {
  RecordingOptions options;
  options.time_column = column;
  options.time_unit = unit;
  return options;
}

TEST_F(TextRecording, TakesRateFromATimeColumnAndUnitsFromTheHeader) {
  const Recording r = read("Time [ms],ax [mg],ay\n0,1,10\n20,2,20\n40,3,30\n60,4,40\n");
  EXPECT_EQ(r.name, "a.csv");
  EXPECT_TRUE(r.timed);
  EXPECT_EQ(r.gaps, 0);
  ASSERT_EQ(r.channels.size(), 2u);
  EXPECT_EQ(r.channels[0].name, "ax");
  EXPECT_EQ(r.channels[0].unit, "mg");
  EXPECT_EQ(r.channels[1].name, "ay");
  EXPECT_EQ(r.channels[1].unit, "");
  EXPECT_EQ(r.channels[0].rate, 50);
  EXPECT_THAT(r.channels[1].samples, ElementsAre(10, 20, 30, 40));
  EXPECT_DOUBLE_EQ(r.seconds(), 0.08);
}

TEST_F(TextRecording, KnowsUnitsOfTime) {
  for (const auto& [title, rate] :
       {std::pair{"time (s)", 0.25}, {"timestamp [us]", 250e3}, {"Timestamp [ns]", 250e6}})
    EXPECT_DOUBLE_EQ(read(std::string(title) + ",x\n0,1\n4,2\n8,3\n").channels[0].rate, rate) << title;
  EXPECT_THAT([&] { read("time [h],x\n0,1\n4,2\n"); },
              ThrowsMessage<BadInput>(HasSubstr("the unit 'h' of its time is none of s, ms, us, ns")));
  EXPECT_DOUBLE_EQ(read("time [h],x\n0,1\n4,2\n", with_time("time", 3600)).channels[0].rate, 1 / 14400.);
}

TEST_F(TextRecording, TakesWholeNumbersTwoOrMoreApartForMilliseconds) {
  EXPECT_DOUBLE_EQ(read("time,x\n15,1\n31,2\n46,3\n62,4\n").channels[0].rate, 3000 / 47.);
  EXPECT_DOUBLE_EQ(read("t,x\n0,1\n2500,2\n5000,3\n").channels[0].rate, 400);
  EXPECT_DOUBLE_EQ(read("t,x\n0,1\n1,2\n2,3\n").channels[0].rate, 1);
  EXPECT_DOUBLE_EQ(read("t,x\n0,1\n4,2\n8,3\n", with_time("t", 1)).channels[0].rate, 0.25);
}

TEST_F(TextRecording, TakesAFirstColumnThatGrowsEvenlyForTime) {
  std::string text;
  for (int k = 0; k < 20; ++k) text += fmt::format("{} {} {}\n", 15.625 * k, k % 3, -k);
  const Recording found = read(text);
  EXPECT_TRUE(found.timed);
  EXPECT_EQ(found.channels.size(), 2u);
  EXPECT_EQ(read(text, with_time("none")).channels.size(), 3u);
  RecordingOptions with_rate;
  with_rate.rate = 64;
  EXPECT_EQ(read(text, with_rate).channels.size(), 3u);
}

TEST_F(TextRecording, TakesALastColumnOfFewWholeNumbersInLongRunsForLabels) {
  std::string text = "x,y,limp\n";
  for (int k = 0; k < 200; ++k) text += fmt::format("{},{},{}\n", k % 7, k % 5, k / 60 % 2);
  RecordingOptions options;
  options.rate = 50;
  const Recording found = read(text, options);
  EXPECT_EQ(found.channels.size(), 2u);
  ASSERT_EQ(found.annotations.size(), 4u);
  EXPECT_EQ(found.annotations[1].label, "1");
  EXPECT_DOUBLE_EQ(found.annotations[1].onset, 1.2);
  for (const char* const channel : {"limp", "3"}) {  // asked for, it is a channel
    options.select = {channel};
    EXPECT_EQ(read(text, options).channels.at(0).name, "limp");
  }
  options.select.clear();
  options.label_column = "none";
  EXPECT_EQ(read(text, options).channels.size(), 3u);
}

TEST_F(TextRecording, WithoutAHeaderHasATimeColumnOnlyIfToldTheNumber) {
  const std::string text = "0.00 7 1\n0.01 8 2\n0.02 9 3\n";
  const Recording plain = read(text);
  EXPECT_FALSE(plain.timed);
  EXPECT_EQ(plain.channels.size(), 3u);
  EXPECT_EQ(plain.channels[0].rate, 1);
  const Recording timed = read(text, with_time("1"));
  EXPECT_TRUE(timed.timed);
  ASSERT_EQ(timed.channels.size(), 2u);
  EXPECT_EQ(timed.channels[0].name, "");
  EXPECT_EQ(timed.channels[0].rate, 100);
  EXPECT_THAT(timed.channels[0].samples, ElementsAre(7, 8, 9));
  EXPECT_THAT([&] { read(text, with_time("4")); },
              ThrowsMessage<BadInput>(HasSubstr("no column '4'; it has 3 columns")));
}

TEST_F(TextRecording, TemperatureIsNoTime) { EXPECT_EQ(read("T [K],x\n270,1\n271,2\n").channels.size(), 2u); }

TEST_F(TextRecording, TimeColumnNoneMakesTimeAChannel) {
  const Recording r = read("time,x\n0,1\n5,2\n6,3\n", with_time("none"));
  EXPECT_FALSE(r.timed);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(0, 5, 6));
}

TEST_F(TextRecording, AcceptsStampsThatAreRounded) {
  std::string text = "time,x\n";
  for (int k = 1; k <= 4096; ++k)
    text += std::to_string(k * 1000 / 64) + "," + std::to_string(k) + "\n";  // 15, 31, 46 ...
  const Recording r = read(text, with_time("time", 1e-3));
  EXPECT_EQ(r.gaps, 0);
  EXPECT_EQ(r.channels[0].rate, 64);
  EXPECT_EQ(r.channels[0].samples.size(), 4096u);
  EXPECT_EQ(r.channels[0].samples[4095], 4096);
}

TEST_F(TextRecording, KeepsARateThatIsNoWholeNumber) {
  const Recording r = read("time,x\n0,1\n0.4,2\n0.8,3\n1.2,4\n");
  EXPECT_NEAR(r.channels[0].rate, 2.5, 1e-12);
}

TEST_F(TextRecording, FillsGapsWithNan) {
  const Recording r = read("time,x\n0,1\n0.1,2\n0.2,3\n0.6,7\n0.7,8\n1.0,11\n");
  EXPECT_EQ(r.gaps, 2);
  EXPECT_NEAR(r.channels[0].rate, 10, 1e-9);
  EXPECT_THAT(r.channels[0].samples,
              ElementsAre(1, 2, 3, IsNan(), IsNan(), IsNan(), 7, 8, IsNan(), IsNan(), 11));
}

TEST_F(TextRecording, OfTwoStepsTheLongerIsTheGap) {
  EXPECT_THAT(read("time,x\n0,1\n1,2\n4,3\n").channels[0].samples, ElementsAre(1, 2, IsNan(), IsNan(), 3));
}

TEST_F(TextRecording, AfterAGapSamplesStandWithinHalfAStepOfTheirTime) {
  // The clock's phase is another after each gap: no whole number of steps. Errors must not add up.
  std::string text = "time,x\n";
  double time = 0;
  std::vector<double> times;
  for (int run = 0; run < 50; ++run, time += 2.4)
    for (int k = 0; k < 10; ++k, time += 1) {
      text += std::to_string(time) + ",1\n";
      times.push_back(time);
    }
  const Recording r = read(text);
  EXPECT_EQ(r.gaps, 49);
  std::size_t row = 0;
  for (std::size_t k = 0; k < r.channels[0].samples.size(); ++k) {
    if (std::isnan(r.channels[0].samples[k])) continue;
    EXPECT_NEAR(static_cast<double>(k), times[row], 0.5 + 1e-5) << "row " << row;
    ++row;
  }
  EXPECT_EQ(row, times.size());
}

TEST_F(TextRecording, RefusesTimeThatDoesNotGrowAndNamesTheLine) {
  EXPECT_THAT([&] { read("time,x\n0,1\n1,2\n\n1,3\n2,4\n"); },
              ThrowsMessage<ParseError>(
                  HasSubstr("a.csv:5:1: time 1 s is not after 1 s, the time of the row before")));
  EXPECT_THAT([&] { read("time,x\n0,1\n1,2\n0.5,3\n"); }, ThrowsMessage<ParseError>(HasSubstr("a.csv:4:")));
  EXPECT_THAT([&] { read("time,x\n0,1\nnan,2\n"); },
              ThrowsMessage<ParseError>(HasSubstr("a.csv:3:1: time nan is no time")));
}

TEST_F(TextRecording, RefusesUnevenSteps) {
  EXPECT_THAT(
      [&] { read("time,x\n0,1\n1,2\n2,3\n2.4,4\n3.4,5\n4.4,6\n"); },
      ThrowsMessage<ParseError>(HasSubstr("a.csv:5:1: time 2.4 s is 0.4 s after that of the row before")));
}

TEST_F(TextRecording, RefusesAGapThatWouldFillMemory) {
  EXPECT_THAT([&] { read("time,x\n0,1\n1,2\n2,3\n1e300,4\n"); },
              ThrowsMessage<BadInput>(HasSubstr("are missing in its gaps")));
  EXPECT_THAT([&] { read("time,x\n0,1\n1,2\n2,3\n1e9,4\n"); },
              ThrowsMessage<BadInput>(HasSubstr("where it holds 4; the limit is 67108864")));
  EXPECT_THROW(read("time,x\n-1e308,1\n1e308,2\n"), BadInput);
  EXPECT_THROW(read("time,x\n0,1\n4e-320,2\n"), BadInput);
}

TEST_F(TextRecording, OneRowHasNoRate) {
  const Recording r = read("time,x\n3,5\n");
  EXPECT_FALSE(r.timed);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(5));
}

TEST_F(TextRecording, RunsOfALabelColumnAreAnnotations) {
  RecordingOptions options;
  options.label_column = "N";
  const Recording r = read("time,x,N\n0,1,0\n0.5,2,0\n1,3,2\n1.5,4,2.5\n2,5,nan\n2.5,6,2.5\n", options);
  ASSERT_EQ(r.channels.size(), 1u);
  ASSERT_EQ(r.annotations.size(), 4u);
  const double onsets[] = {0, 1, 1.5, 2.5}, durations[] = {1, 0.5, 0.5, 0.5};
  const char* labels[] = {"0", "2", "2.5", "2.5"};
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_DOUBLE_EQ(r.annotations[k].onset, onsets[k]);
    EXPECT_DOUBLE_EQ(r.annotations[k].duration, durations[k]);
    EXPECT_EQ(r.annotations[k].label, labels[k]);
  }
}

TEST_F(TextRecording, SelectsChannelsByNameOrNumberInTheOrderWanted) {
  RecordingOptions options;
  options.select = {"y", "1"};
  const Recording r = read("time,x,y\n0,1,2\n1,3,4\n", options);
  ASSERT_EQ(r.channels.size(), 2u);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(2, 4));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(1, 3));
  options.select = {"z"};
  EXPECT_THAT([&] { read("time,x,y\n0,1,2\n", options); },
              ThrowsMessage<BadInput>(HasSubstr("no channel 'z'; it has 2: 'x', 'y'")));
  options.select = {"2", "y"};
  EXPECT_THAT([&] { read("time,x,y\n0,1,2\n", options); },
              ThrowsMessage<BadInput>(HasSubstr("channel 2 is selected twice")));
  options.select = {"x"};
  EXPECT_THAT([&] { read("x,x\n1,2\n", options); },
              ThrowsMessage<BadInput>(HasSubstr("2 channels have the name 'x'; select by number")));
}

TEST_F(TextRecording, RateOfTheCallerStandsInOrMustAgree) {
  RecordingOptions options;
  options.rate = 100;
  EXPECT_EQ(read("1 2\n3 4\n", options).channels[1].rate, 100);
  EXPECT_TRUE(read("1 2\n3 4\n", options).timed);
  EXPECT_EQ(read("time,x\n0,1\n0.01,2\n0.02,3\n0.03001,4\n", options).channels[0].rate, 100);
  options.rate = 50;
  EXPECT_THAT([&] { read("time,x\n0,1\n0.01,2\n", options); },
              ThrowsMessage<BadInput>(HasSubstr("its rate is 100 Hz, not 50")));
  options.rate = -1;
  EXPECT_THAT([&] { read("1 2\n", options); }, ThrowsMessage<BadInput>(HasSubstr("rate -1 Hz")));
}

TEST_F(TextRecording, InfiniteAndMissingNumbersAreMissing) {
  EXPECT_THAT(read("x\n1\nnan\ninf\n1e200\n").channels[0].samples, ElementsAre(1, IsNan(), IsNan(), IsNan()));
}

TEST_F(TextRecording, ReadsGzip) {
  const auto path = make("b.txt.gz", gzip("1 2\n3 4\n", 6));
  EXPECT_THAT(read_recording(path).channels[1].samples, ElementsAre(2, 4));
  const std::string whole = gzip("1 2\n3 4\n", 6);
  EXPECT_THAT([&] { read_recording(make("c.txt.gz", whole.substr(0, whole.size() - 5))); },
              ThrowsMessage<BadInput>(HasSubstr("cut off")));
  EXPECT_THROW(read_recording(make("d.txt.gz", "1 2\n")), BadInput);
}

TEST_F(TextRecording, RefusesWhatIsNoRecording) {
  EXPECT_THAT([&] { read(""); }, ThrowsMessage<BadInput>(HasSubstr("a.csv: no numbers")));
  EXPECT_THAT([&] { read("time,x\n"); }, ThrowsMessage<BadInput>(HasSubstr("only a header line")));
  EXPECT_THAT([&] { read("time\n1\n2\n"); },
              ThrowsMessage<BadInput>(HasSubstr("no column but time and labels")));
  EXPECT_THAT([&] { read("time,x\n0,1\n1\n"); }, ThrowsMessage<ParseError>(HasSubstr("a.csv:3:")));
  EXPECT_THROW(read(std::string("\x7f"
                                "ELF\0\1\2",
                                7)),
               BadInput);
  EXPECT_THAT([&] { read_recording(directory / "none.csv"); },
              ThrowsMessage<BadInput>(HasSubstr("No such file")));
  EXPECT_THROW(read_recording(directory), BadInput);
}

TEST_F(TextRecording, RefusesAFormatThatItCannotTell) {
  EXPECT_THAT([&] { read_recording(make("a.xyz", "1\n")); },
              ThrowsMessage<BadInput>(HasSubstr("a.xyz: the ending")));
  RecordingOptions options;
  options.format = "csv";
  EXPECT_THAT(read_recording(make("a.xyz", "1\n"), options).channels[0].samples, ElementsAre(1));
  options.format = "mp3";
  EXPECT_THAT([&] { read_recording(make("a.csv", "1\n"), options); },
              ThrowsMessage<BadInput>(HasSubstr("format 'mp3' is unknown; there are csv, npy")));
}

TEST(AnnotationText, IsReadAsWritten) {
  const std::vector<Annotation> written = {
      {0, 0.1, "walk"}, {1.5, 0, "a, \"b\"\nc"}, {1e-9, 1e300, ""}, {-2, 3, " x"}};
  const std::string text = format_annotations(written);
  EXPECT_THAT(text, HasSubstr("onset,duration,label\n0,0.1,walk\n1.5,0,\"a, \"\"b\"\"\nc\"\n"));
  const std::vector<Annotation> read = parse_annotations(text, "a.csv");
  ASSERT_EQ(read.size(), written.size());
  for (std::size_t k = 0; k < read.size(); ++k) {
    EXPECT_EQ(read[k].onset, written[k].onset);
    EXPECT_EQ(read[k].duration, written[k].duration);
    EXPECT_EQ(read[k].label, written[k].label);
  }
}

TEST(AnnotationText, TakesEndsOfLinesOfEveryKind) {
  EXPECT_EQ(parse_annotations("\xef\xbb\xbfonset,duration,label\r\n1,2,a b\r\n\r\n3,4,c", "a").size(), 2u);
  EXPECT_EQ(parse_annotations("onset,duration,label\r\n1,2,a b\r\n", "a")[0].label, "a b");
  EXPECT_TRUE(parse_annotations("onset,duration,label", "a").empty());
}

TEST(AnnotationText, RefusesWhatIsNone) {
  const auto message = [](const std::string& text) {
    try {
      parse_annotations(text, "a.csv");
    } catch (const ParseError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::string header = "onset,duration,label\n";
  EXPECT_EQ(message(""), "a.csv:1:1: expected the header line onset,duration,label");
  EXPECT_THAT(message("time,x\n1,2\n"), HasSubstr("expected the header line"));
  EXPECT_EQ(message(header + "1,2,a\nx,2,a\n"), "a.csv:3:1: 'x' is no onset in seconds");
  EXPECT_EQ(message(header + "1,nan,a\n"), "a.csv:2:3: 'nan' is no duration in seconds");
  EXPECT_EQ(message(header + "1\n"), "a.csv:2:2: expected a comma after the onset");
  EXPECT_THAT(message(header + "1,-2,a\n"), HasSubstr("a duration below 0"));
  EXPECT_THAT(message(header + "1,2,\"a\n"), HasSubstr("a quotation mark without its second"));
  EXPECT_THAT(message(header + "1,2,\"a\"b\n"), HasSubstr("expected the line's end, found 'b'"));
}

}  // namespace
}  // namespace warploom::io
