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

TEST_F(TsRecording, ASeriesIsNamedByItsPath) {
  const std::filesystem::path file = make("a.ts", std::string(kHeader) + "1:2:a\n\n3:4:b\n# c\n5:6:c\n");
  const std::vector<std::filesystem::path> all = series_of(file);
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    const Recording series = read_recording(all[k]);
    EXPECT_EQ(series.name, "a.ts#" + std::to_string(k + 1));
    EXPECT_THAT(series.channels[0].samples, ElementsAre(2 * static_cast<float>(k) + 1));
  }
  EXPECT_EQ(series_path(all[2]).file, file);
  EXPECT_EQ(series_path(all[2]).series, 3);
  EXPECT_THAT([&] { read_recording(file.string() + "#4"); },
              ThrowsMessage<BadInput>(HasSubstr("no series 4")));
}

TEST_F(TsRecording, AFileWhoseNameLooksLikeASeriesIsAFile) {
  const std::filesystem::path file = make("a.ts#2", std::string(kHeader) + "1:2:a\n");
  EXPECT_EQ(series_path(file).file, file);
  EXPECT_EQ(series_path(file).series, 0);
  EXPECT_EQ(series_path("a.ts#x").series, 0);
  EXPECT_EQ(series_path("a.ts#0").series, 0);
}

TEST_F(TsRecording, OtherFilesHoldNoSeries) {
  const std::filesystem::path file = make("a.csv", "x\n1\n2\n");
  EXPECT_THAT([&] { read_recording(file.string() + "#1"); },
              ThrowsMessage<BadInput>(HasSubstr("only .ts files hold several series")));
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
