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

class TsRecording : public Scratch {
 protected:
  Recording read(const std::string& content, std::int32_t series = 1) const {
    RecordingOptions options;
    options.series = series;
    return read_recording(make("a.ts", content), options);
  }
};

constexpr const char* kHeader =
    "#comment\n@problemName x\n@timeStamps false\n\n@dimensions 2\n@classLabel true a b\n@data\n";

TEST_F(TsRecording, SeriesOfSeveralDimensionsWithAClass) {
  const std::string text = std::string(kHeader) + "1,2,3:4,?,6:a\r\n# a remark\n 7 , 8:9,NaN: b c \n";
  const Recording first = read(text);
  ASSERT_EQ(first.channels.size(), 2u);
  EXPECT_THAT(first.channels[0].samples, ElementsAre(1, 2, 3));
  EXPECT_THAT(first.channels[1].samples, ElementsAre(4, IsNan(), 6));
  EXPECT_FALSE(first.timed);
  ASSERT_EQ(first.annotations.size(), 1u);
  EXPECT_EQ(first.annotations[0].label, "a");
  EXPECT_EQ(first.annotations[0].duration, 3);
  const Recording second = read(text, 2);
  EXPECT_THAT(second.channels[0].samples, ElementsAre(7, 8));
  EXPECT_THAT(second.channels[1].samples, ElementsAre(9, IsNan()));
  EXPECT_EQ(second.annotations[0].label, "b c");
}

TEST_F(TsRecording, WithoutAClassAllAreDimensions) {
  const Recording r = read("@classLabel false\n@data\n1,2:3,4:5,6\n");
  EXPECT_EQ(r.channels.size(), 3u);
  EXPECT_TRUE(r.annotations.empty());
}

TEST_F(TsRecording, TargetOfARegressionIsALabel) {
  const Recording r = read("@targetlabel true\n@data\n1,2:3.5\n");
  EXPECT_EQ(r.channels.size(), 1u);
  EXPECT_EQ(r.annotations[0].label, "3.5");
}

TEST_F(TsRecording, RefusesWhatItDoesNotRead) {
  EXPECT_THAT([&] { read(std::string(kHeader) + "1:2:a\n", 2); },
              ThrowsMessage<BadInput>(HasSubstr("no series 2")));
  EXPECT_THAT([&] { read("@timestamps true\n@data\n(0,1)\n"); },
              ThrowsMessage<ParseError>(HasSubstr("a.ts:1:1")));
  EXPECT_THAT([&] { read(std::string(kHeader) + "1,2:3,x:a\n"); },
              ThrowsMessage<ParseError>(HasSubstr("a.ts:8:7: 'x' is no number")));
  EXPECT_THAT([&] { read(std::string(kHeader) + "1,,2:3,4:a\n"); },
              ThrowsMessage<ParseError>(HasSubstr("'' is no number")));
  EXPECT_THAT([&] { read(std::string(kHeader) + "1:2:3:a\n"); },
              ThrowsMessage<ParseError>(HasSubstr("3 dimensions; @dimensions says 2")));
  EXPECT_THAT([&] { read(std::string(kHeader) + "1\n"); }, ThrowsMessage<ParseError>(HasSubstr("no class")));
  EXPECT_THAT([&] { read("@dimensions -1\n@data\n1\n"); },
              ThrowsMessage<ParseError>(HasSubstr("'-1' is no number")));
  EXPECT_THAT([&] { read("1,2,3\n"); }, ThrowsMessage<ParseError>(HasSubstr("is it a .ts file?")));
  EXPECT_THAT([&] { read("@dimensions 2\n"); }, ThrowsMessage<BadInput>(HasSubstr("no line @data")));
  EXPECT_THROW(read(""), BadInput);
  EXPECT_THROW(read(std::string(kHeader)), BadInput);
  EXPECT_THAT([&] { read(std::string(kHeader) + "1:2:a\n", 0); },
              ThrowsMessage<BadInput>(HasSubstr("series 0")));
}

}  // namespace
}  // namespace warploom::io
