#include <gmock/gmock.h>

#include "io/edf_bytes.hpp"
#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/recording.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::IsNan;
using testing::ThrowsMessage;
using namespace std::string_literals;

class Edf : public Scratch {
 protected:
  Recording read(const EdfBytes& file, const RecordingOptions& options = {}) const {
    return read_recording(make("a.edf", file.content()), options);
  }
};

/// Two channels of two rates in two records.
EdfBytes plain() {
  EdfBytes file;
  file.records = "2";
  file.seconds = "0.5";
  file.signals = {{"Fpz-Cz", 2},
                  {"Temp", 1,
                   "\xB0"
                   "C",
                   "0", "100", "0", "1000"}};
  file.data = EdfBytes::stored({1, -2, 370, 1000, -1000, 371});
  return file;
}

std::string texts(std::string lists, std::size_t bytes) {
  lists.resize(bytes, '\0');
  return lists;
}

/// Records of one sample and 30 bytes of texts.
EdfBytes with_texts(const std::string& kind, const std::vector<std::string>& lists) {
  EdfBytes file;
  file.kind = kind;
  file.records = std::to_string(lists.size());
  file.signals = {{"x", 1}, {"EDF Annotations", 15, "", "-1", "1", "-32768", "32767"}};
  for (std::size_t k = 0; k < lists.size(); ++k)
    file.data += EdfBytes::stored({static_cast<int>(10 * k)}) + texts(lists[k], 30);
  return file;
}

TEST_F(Edf, ChannelsHaveRatesAndUnitsOfTheirOwn) {
  const Recording r = read(plain());
  ASSERT_EQ(r.channels.size(), 2u);
  EXPECT_TRUE(r.timed);
  EXPECT_EQ(r.channels[0].name, "Fpz-Cz");
  EXPECT_EQ(r.channels[0].unit, "uV");
  EXPECT_EQ(r.channels[0].rate, 4);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(FloatNear(0.1F, 1e-6F), FloatNear(-0.2F, 1e-6F),
                                                 FloatNear(100, 1e-5F), FloatNear(-100, 1e-5F)));
  EXPECT_EQ(r.channels[1].unit,
            "\xC2\xB0"
            "C");  // the degree sign in UTF-8
  EXPECT_EQ(r.channels[1].rate, 2);
  EXPECT_THAT(r.channels[1].samples, ElementsAre(FloatNear(37, 1e-5F), FloatNear(37.1F, 1e-5F)));
  EXPECT_EQ(r.seconds(), 1);
}

TEST_F(Edf, BdfHasSamplesOfThreeBytes) {
  EdfBytes file;
  file.version =
      "\xFF"
      "BIOSEMI";
  file.kind = "24BIT";
  file.records = "1";
  file.signals = {{"A1", 3, "uV", "-8388608", "8388607", "-8388608", "8388607"}};
  file.data = EdfBytes::stored({-8388608, 8388607, -5}, 3);
  EXPECT_THAT(read_recording(make("a.bdf", file.content())).channels[0].samples,
              ElementsAre(-8388608, 8388607, -5));
}

TEST_F(Edf, ScaleMayBeTurnedOver) {
  EdfBytes file = plain();
  std::swap(file.signals[0].physical_min, file.signals[0].physical_max);
  EXPECT_FLOAT_EQ(read(file).channels[0].samples[0], -0.1F);
}

TEST_F(Edf, NumberOfRecordsMayBeUnknown) {
  EdfBytes file = plain();
  file.records = "-1";
  EXPECT_EQ(read(file).channels[0].samples.size(), 4u);
}

TEST_F(Edf, SelectedChannelsAreReadAlone) {
  RecordingOptions options;
  options.select = {"Temp"};
  EdfBytes file = plain();
  file.signals[0].digital_max = file.signals[0].digital_min;  // of the other: no matter
  const Recording r = read(file, options);
  ASSERT_EQ(r.channels.size(), 1u);
  EXPECT_FLOAT_EQ(r.channels[0].samples[1], 37.1F);
  EXPECT_THAT([&] { read(file); }, ThrowsMessage<BadInput>(HasSubstr("signal 'Fpz-Cz' has no scale")));
}

TEST_F(Edf, AnnotationsCountFromTheFirstRecordsBegin) {
  const std::string first = "+0.25\x14\x14\0+1.5\x15\x32\x14one\x14two\x14"s;  // \x32: the digit 2
  const Recording r = read(with_texts("EDF+C", {first, "+1.25\x14\x14\0+1\x14three\x14"s}));
  ASSERT_EQ(r.channels.size(), 1u);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(0, 1));
  ASSERT_EQ(r.annotations.size(), 3u);
  EXPECT_EQ(r.annotations[0].label, "three");
  EXPECT_EQ(r.annotations[0].onset, 0.75);
  EXPECT_EQ(r.annotations[1].label, "one");
  EXPECT_EQ(r.annotations[1].onset, 1.25);
  EXPECT_EQ(r.annotations[1].duration, 2);
  EXPECT_EQ(r.annotations[2].label, "two");
}

TEST_F(Edf, GapsBetweenRecordsAreMissing) {
  EdfBytes file = with_texts("EDF+D", {"+5\x14\x14", "+6\x14\x14", "+9.2\x14\x14", "+10.2\x14\x14"});
  const Recording r = read(file);
  EXPECT_EQ(r.gaps, 1);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(0, 1, IsNan(), IsNan(), 2, 3));
  file.kind = "EDF+C";
  EXPECT_THAT(read(file).channels[0].samples, ElementsAre(0, 1, 2, 3));
}

TEST_F(Edf, RecordsOutOfOrderOrWithoutATimeAreRefused) {
  EXPECT_THAT(
      [&] {
        read(with_texts("EDF+D", {"+0\x14\x14", "+0.5\x14\x14"}));
      },
      ThrowsMessage<BadInput>(HasSubstr("data record 2 begins 0.5 s after the first, before 1 s")));
  EXPECT_THAT(
      [&] {
        read(with_texts("EDF+D", {"+0\x14\x14", ""}));
      },
      ThrowsMessage<BadInput>(HasSubstr("data record 2 does not say when it begins")));
  EdfBytes file = plain();
  file.kind = "EDF+D";
  EXPECT_THROW(read(file), BadInput);
  EXPECT_THAT(
      [&] {
        read(with_texts("EDF+D", {"+0\x14\x14", "+1e300\x14\x14"}));
      },
      ThrowsMessage<BadInput>(HasSubstr("are missing in its gaps")));
  EXPECT_THROW(read(with_texts("EDF+D", {"-1e308\x14\x14", "+1e308\x14\x14"})), BadInput);
}

TEST_F(Edf, AnnotationsThatAreNoneAreRefused) {
  for (const char* list : {"+0", "x\x14\x14", "+nan\x14\x14",
                           "+0\x15-1\x14"
                           "a\x14",
                           "+0\x15\x14"
                           "a\x14"})
    EXPECT_THAT([&] { read(with_texts("EDF+C", {list})); },
                ThrowsMessage<BadInput>(HasSubstr("data record 1")))
        << list;
}

TEST_F(Edf, AFileOfAnnotationsAloneHasNoChannels) {
  EdfBytes file;
  file.kind = "EDF+C";
  file.records = "1";
  file.seconds = "0";
  file.signals = {{"EDF Annotations", 15, "", "-1", "1", "-32768", "32767"}};
  file.data = texts("+0\x14\x14\0+7\x14later\x14"s, 30);
  const Recording r = read(file);
  EXPECT_TRUE(r.channels.empty());
  ASSERT_EQ(r.annotations.size(), 1u);
  EXPECT_EQ(r.annotations[0].onset, 7);
  EXPECT_EQ(r.seconds(), 0);
}

TEST_F(Edf, SizeMustBeWhatTheHeaderAsksFor) {
  EdfBytes file = plain();
  file.data.pop_back();
  EXPECT_THAT([&] { read(file); }, ThrowsMessage<BadInput>(HasSubstr(
                                       "hold 1 data records of 6 bytes, its header says 2; it was cut off")));
  file.data = plain().data + plain().data;
  EXPECT_THAT([&] { read(file); },
              ThrowsMessage<BadInput>(HasSubstr("hold 4 data records of 6 bytes, its header says 2")));
  file.data = "";
  file.records = "-1";
  EXPECT_THAT([&] { read(file); }, ThrowsMessage<BadInput>(HasSubstr("no data records")));
}

TEST_F(Edf, HugeNumbersInTheHeaderAreRefused) {
  EdfBytes file = plain();
  file.records = "99999999";
  EXPECT_THROW(read(file), BadInput);
  file.records = "1e99";
  EXPECT_THROW(read(file), BadInput);
  file = plain();
  file.signals[0].samples = 99999999;
  EXPECT_THROW(read(file), BadInput);
  std::string content = plain().content();
  content.replace(252, 4, "9999");
  content.replace(184, 8, "2560000 ");
  EXPECT_THAT([&] { read_recording(make("a.edf", content)); }, ThrowsMessage<BadInput>(HasSubstr("cut off")));
}

TEST_F(Edf, FieldsThatAreNoNumbersAreNamed) {
  const auto message = [&](std::size_t at, const std::string& text) {
    std::string content = plain().content();
    content.replace(at, text.size(), text);
    try {
      read_recording(make("a.edf", content));
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(message(0, "1"), HasSubstr("neither EDF nor BDF: it begins with '1"));
  EXPECT_THAT(message(184, "700"), HasSubstr("the header's own length is 700; with 2 signals it is 768"));
  EXPECT_THAT(message(236, "x       "),
              HasSubstr("the header's number of data records is 'x', which is no number"));
  EXPECT_THAT(message(236, "1.5     "), HasSubstr("the header's number of data records is 1.5"));
  EXPECT_THAT(message(244, "-1      "), HasSubstr("data records of -1 s"));
  EXPECT_THAT(message(244, "0       "), HasSubstr("data records of 0 s, but 2 signals"));
  EXPECT_THAT(message(252, "0   "),
              HasSubstr("the header's number of signals is 0; it is a whole number, 1 or more"));
  const std::size_t physical_min = 256 + 2 * (16 + 80 + 8), samples = 256 + 2 * (16 + 80 + 8 * 5 + 80);
  EXPECT_THAT(message(physical_min + 8, "nan     "),
              HasSubstr("physical minimum of signal 2 is 'nan', which is no number"));
  EXPECT_THAT(message(samples, "0       "), HasSubstr("number of samples of signal 1 is 0"));
}

TEST_F(Edf, ShortFilesAreRefused) {
  const std::string content = plain().content();
  for (const std::size_t size : {0, 1, 255, 256, 300, 767, 768})
    EXPECT_THROW(read_recording(make("a.edf", content.substr(0, size))), BadInput) << size;
}

TEST_F(Edf, RateOfTheCallerMustAgree) {
  RecordingOptions options;
  options.rate = 4;
  EXPECT_THAT([&] { read(plain(), options); }, ThrowsMessage<BadInput>(HasSubstr("its rate is 2 Hz, not 4")));
  options.select = {"1"};
  EXPECT_EQ(read(plain(), options).channels[0].rate, 4);
}

}  // namespace
}  // namespace warploom::io
