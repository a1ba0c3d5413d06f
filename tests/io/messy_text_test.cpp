// Text as people have it: a trait each, read or refused with the place and the remedy.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/recording.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::ThrowsMessage;

class MessyText : public Scratch {
 protected:
  Recording read(const std::string& content, const RecordingOptions& options = {}) const {
    return read_recording(make("a.csv", content), options);
  }
  void refused(const std::string& content, const std::string& says) const {
    EXPECT_THAT([&] { read(content); }, ThrowsMessage<BadInput>(HasSubstr(says)));
  }
  static std::vector<std::string> names(const Recording& recording) {
    std::vector<std::string> all;
    for (const Channel& channel : recording.channels) all.push_back(channel.name);
    return all;
  }
};

std::string utf16(const std::string& ascii, bool big, bool mark) {
  std::string bytes;
  const auto add = [&](char c) {
    if (big) bytes += '\0';
    bytes += c;
    if (!big) bytes += '\0';
  };
  if (mark) bytes = big ? "\xFE\xFF" : "\xFF\xFE";
  for (const char c : ascii) add(c);
  return bytes;
}

TEST_F(MessyText, EmptyFieldsAreMissing) {
  const Recording r = read("time,x,y\n0,1,\n1,,5\n2,3,6\n");
  EXPECT_THAT(r.channels[0].samples, ElementsAre(1, IsNan(), 3));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(IsNan(), 5, 6));
}

TEST_F(MessyText, WordsForMissingAreMissing) {
  EXPECT_THAT(read("x,y\n1,2\nNA,2\nnull,2\n-,2\n?,2\nN/A,2\n#N/A,2\nNone,2\n").channels[0].samples,
              ElementsAre(1, IsNan(), IsNan(), IsNan(), IsNan(), IsNan(), IsNan(), IsNan()));
}

TEST_F(MessyText, DatesAndTimesAreTime) {
  const Recording r =
      read("timestamp,x\n2024-05-01T13:07:00.00,1\n2024-05-01T13:07:00.02,2\n2024-05-01T13:07:00.04,3\n");
  EXPECT_EQ(r.channels.at(0).rate, 50);
  ASSERT_TRUE(r.begin.has_value());
  EXPECT_EQ(clock_text(*r.begin, 1.5), "2024-05-01T13:07:01.500");
}

TEST_F(MessyText, ABlankBetweenDateAndTimeAndAZoneAreRead) {
  const Recording r =
      read("time,x\n2024-05-01 23:59:59+02:00,1\n2024-05-02 00:00:00+02:00,2\n2024-05-02 00:00:01+02:00,3\n");
  EXPECT_EQ(r.channels.at(0).rate, 1);
  EXPECT_EQ(clock_text(*r.begin, 1), "2024-05-02T00:00:00.000+02:00");
}

TEST_F(MessyText, TimesOfDayGoOnAfterMidnight) {
  const Recording r = read("time;x\n23:59:59,5;1\n00:00:00,0;2\n00:00:00,5;3\n");
  EXPECT_EQ(r.channels.at(0).rate, 2);
  EXPECT_EQ(r.gaps, 0);
  EXPECT_EQ(clock_text(*r.begin, 1), "00:00:00.500");
}

TEST_F(MessyText, HalvesOfTheDayAreRead) {
  EXPECT_EQ(clock_text(*read("time,x\n12:59:59 PM,1\n01:00:00 PM,2\n01:00:01 PM,3\n").begin, 0),
            "12:59:59.000");
}

TEST_F(MessyText, AColumnOfDatesBeforeOneOfTimesIsReadWithIt) {
  const Recording r =
      read("Date;Time;x\n01.05.2024;23:59:59;1\n02.05.2024;00:00:00;2\n02.05.2024;00:00:01;3\n");
  EXPECT_THAT(names(r), ElementsAre("x"));
  EXPECT_EQ(clock_text(*r.begin, 2), "2024-05-02T00:00:01.000");
}

TEST_F(MessyText, DatesWithoutAHeaderAreTime) {
  const Recording r = read("2024-05-01 13:07:00 1 2\n2024-05-01 13:07:01 3 4\n2024-05-01 13:07:02 5 6\n");
  ASSERT_EQ(r.channels.size(), 2u);
  EXPECT_THAT(r.channels[1].samples, ElementsAre(2, 4, 6));
  EXPECT_EQ(clock_text(*r.begin, 0), "2024-05-01T13:07:00.000");
}

TEST_F(MessyText, DaysAndMonthsThatCannotBeToldApartAreRefused) {
  refused("time,x\n03/04/2024 10:00:00,1\n03/04/2024 10:00:01,2\n",
          "a.csv:2:1: '03/04/2024 10:00:00' is no time; 2024-05-31");
}

TEST_F(MessyText, SemicolonsWithDecimalCommasAreRead) {
  const Recording r = read("Zeit;x\n0,5;1,25\n1,0;-2,5e1\n");
  EXPECT_THAT(r.channels.at(1).samples, ElementsAre(1.25F, -25));
}

TEST_F(MessyText, DecimalCommasBesidePointsAreRefused) {
  refused("x;y\n1,5;2\n2.5;3\n",
          "a.csv:3:1: '2.5' has a decimal point, a number of line 2 a decimal comma; write all with points");
}

TEST_F(MessyText, ARowOfUnitsIsRead) {
  const Recording r = read("time,force,angle\n[ms],[N],deg\n0,1,2\n10,3,4\n20,5,6\n");
  EXPECT_EQ(r.channels.at(0).rate, 100);
  EXPECT_EQ(r.channels[0].unit, "N");
  EXPECT_EQ(r.channels[1].unit, "deg");
}

TEST_F(MessyText, AFirstColumnInSecondsThatRisesEvenlyIsTimeWhateverItsName) {
  std::string text = "Zeit;Kraft\n[s];[N]\n", other = "Weg;Kraft\n[m];[N]\n";
  for (int k = 0; k < 10; ++k) {
    text += fmt::format("{},{};{}\n", k / 10, k % 10, k);
    other += fmt::format("{},{};{}\n", k / 10, k % 10, k);
  }
  EXPECT_EQ(read(text).channels.at(0).rate, 10);
  EXPECT_THAT(names(read(text)), ElementsAre("Kraft"));
  EXPECT_THAT(names(read(other)), ElementsAre("Weg", "Kraft"));
}

TEST_F(MessyText, QuotedNumbersAndNamesWithCommasAreRead) {
  const Recording r = read("\"x, left\",\"y\"\n\"1\",\"2.5\"\n\"3\",\"4\"\n");
  EXPECT_THAT(names(r), ElementsAre("x, left", "y"));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(2.5F, 4));
}

TEST_F(MessyText, AQuotationMarkWithoutItsSecondIsRefused) {
  refused("x,y\n1,\"2\n3,4\n", "a.csv:2:3: a quotation mark without its second; close it in the same line");
}

TEST_F(MessyText, CommasAtTheEndsOfLinesAreLeftOut) {
  EXPECT_THAT(names(read("x,y,\n1,2,\n3,4,\n")), ElementsAre("x", "y"));
  EXPECT_THAT(names(read("x,y\n1,2,\n3,4,\n")), ElementsAre("x", "y"));
  EXPECT_EQ(read("1,2,\n3,4,\n").channels.size(), 2u);
}

TEST_F(MessyText, Utf16IsRead) {
  for (const bool big : {false, true})
    for (const bool mark : {false, true})
      EXPECT_THAT(read(utf16("time,x\r\n0,1\r\n1,2\r\n", big, mark)).channels.at(0).samples,
                  ElementsAre(1, 2));
  refused(utf16("x,y\n1,2\n", false, true) + "3", "an odd number: it was cut off");
  refused(utf16("x,y\n1,2\n", false, true) + std::string("\x01\xD8", 2),
          "half a character of UTF-16 at byte 18");
}

TEST_F(MessyText, CharactersBeyondAsciiAreReadFromUtf16) {
  const Recording r = read(std::string("\xFF\xFE\xB5\0V\0\n\0\x31\0\n\0", 12));
  EXPECT_THAT(names(r), ElementsAre("\xC2\xB5V"));
}

TEST_F(MessyText, AByteOrderMarkIsNoPartOfAName) {
  EXPECT_THAT(names(read("\xEF\xBB\xBFx,y\n1,2\n")), ElementsAre("x", "y"));
}

TEST_F(MessyText, AFirstColumnThatRisesEvenlyIsTimeInMicroseconds) {
  std::string text;
  for (int k = 0; k < 10; ++k) text += fmt::format("{};{}\n", 10000 * k, k);
  EXPECT_EQ(read(text).channels.at(0).rate, 100);
}

TEST_F(MessyText, TheUnitOfTimeMayBePartOfItsName) {
  EXPECT_EQ(read("time_ms,x\n0.0,1\n12.5,2\n25.0,3\n").channels.at(0).rate, 80);
  EXPECT_EQ(read("Timestamp us,x\n0,1\n1000,2\n2000,3\n").channels.at(0).rate, 1000);
}

TEST_F(MessyText, SecondsSince1970AreClockTime) {
  const Recording r = read("timestamp,x\n1714568820.0,1\n1714568820.5,2\n1714568821.0,3\n");
  EXPECT_EQ(r.channels.at(0).rate, 2);
  EXPECT_EQ(clock_text(*r.begin, 0), "2024-05-01T13:07:00.000Z");
}

TEST_F(MessyText, RowNumbersOfASpreadsheetAreLeftOut) {
  EXPECT_THAT(names(read(",x,y\n0,5,6\n1,7,8\n2,9,3\n")), ElementsAre("x", "y"));
}

TEST_F(MessyText, WordsInTheLastColumnAreLabels) {
  const Recording r = read("time,x,activity\n0,1,walk\n1,2,walk\n2,3,\n3,4,stand still\n");
  EXPECT_THAT(names(r), ElementsAre("x"));
  ASSERT_EQ(r.annotations.size(), 2u);
  EXPECT_EQ(r.annotations[0].label, "walk");
  EXPECT_DOUBLE_EQ(r.annotations[0].duration, 2);
  EXPECT_EQ(r.annotations[1].label, "stand still");
}

TEST_F(MessyText, WordsInTheMiddleAreLabelsIfAskedForOrNotWanted) {
  const std::string text = "x,activity,y\n1,walk,2\n3,walk,4\n";
  refused(text, "a.csv:2:3: 'walk' is no number; if column 'activity' holds labels, say so (label column)");
  RecordingOptions options;
  options.label_column = "activity";
  EXPECT_EQ(read(text, options).annotations.at(0).label, "walk");
  options = {};
  options.select = {"y"};
  EXPECT_THAT(read(text, options).channels.at(0).samples, ElementsAre(2, 4));
}

TEST_F(MessyText, AWordAmongNumbersIsRefusedWithItsPlace) {
  refused("x,y\n1,2\n3,error,\n",
          "a.csv:3:3: 'error' is no number; leave the field empty where a sample is missing");
}

TEST_F(MessyText, TabsPartNamesWithBlanks) {
  const Recording r = read("time [s]\tleft heel\tright heel\n0\t1\t2\n0.5\t\t4\n");
  EXPECT_THAT(names(r), ElementsAre("left heel", "right heel"));
  EXPECT_THAT(r.channels[0].samples, ElementsAre(1, IsNan()));
}

TEST_F(MessyText, ColumnsMayBeAlignedByBlanksAndTabs) {
  EXPECT_THAT(read("x\t\ty\n 1\t\t2\n10\t\t20\n").channels.at(1).samples, ElementsAre(2, 20));
}

TEST_F(MessyText, CommentsAndEmptyLinesAreSkipped) {
  EXPECT_THAT(read("# a walk\n\nx,y # names\n1,2\n\n3,4\n").channels.at(1).samples, ElementsAre(2, 4));
}

TEST_F(MessyText, LinesAboveTheHeaderAreRefusedWithTheRemedy) {
  const std::string remedy = "; if lines above the table describe it, begin them with '#' or remove them";
  refused("Subject 5\nx,y\n1,2\n3,4\n",
          "a.csv:2:1: 1 number in this row; the first row, in line 1, has 2" + remedy);
  refused("Subject\nx,y\n1,2\n3,4\n", "a.csv:2:1: 'x,y' has a separator, where line 1 has none" + remedy);
  EXPECT_EQ(read("# Subject 5\nx,y\n1,2\n3,4\n").channels.size(), 2u);
}

TEST_F(MessyText, RowsOfOtherLengthsAreRefused) {
  refused("x,y\n1,2\n1,2,3,4\n", "a.csv:3:1: 4 numbers in this row; the first row, in line 2, has 2");
  refused("x,y\n1\n", "a.csv:2:1: 1 number in this row; the header names 2 columns");
}

TEST(Clocks, AreReadAndWritten) {
  for (const auto& [text, again] : {std::pair{"2024-02-29T23:59:59.9996", "2024-03-01T00:00:00.000"},
                                    {"2024-05-01", "2024-05-01T00:00:00.000"},
                                    {"2024/5/1 7:05", "2024-05-01T07:05:00.000"},
                                    {"1.5.2024 07:05:01", "2024-05-01T07:05:01.000"},
                                    {"2024-05-01T07:05:01,5Z", "2024-05-01T07:05:01.500Z"},
                                    {"2024-05-01 07:05:01-0330", "2024-05-01T07:05:01.000-03:30"},
                                    {"12:00 AM", "00:00:00.000"}}) {
    const std::optional<Clock> clock = parse_clock(text);
    ASSERT_TRUE(clock.has_value()) << text;
    EXPECT_EQ(clock_text(*clock, 0), again);
  }
  for (const char* const text :
       {"", "1", "1.5", "2024", "2023-02-29", "24:00:00", "12:60:00", "03/04/2024", "2024-05-01T", "13:00 PM",
        "12:00:00+01:00", "9999-01-01", "2024-05-01 12:00:00 x"})
    EXPECT_FALSE(parse_clock(text).has_value()) << text;
  EXPECT_EQ(clock_text({}, -1), "23:59:59.000");
  EXPECT_EQ(clock_text({0, true, {}}, 1e300), "");
}

}  // namespace
}  // namespace warploom::io
