#include <gmock/gmock.h>

#include <cstring>
#include <limits>

#include "io/byte_source.hpp"
#include "io/recording_readers.hpp"
#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/npy.hpp"
#include "warploom/io/gzip.hpp"
#include "warploom/io/recording.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::ThrowsMessage;

using RawRecording = Scratch;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::string npy(const std::string& dtype, std::vector<std::uint64_t> shape, const std::vector<T>& values) {
  NpyArray array{dtype, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(array.data.data(), values.data(), array.data.size());
  return format_npy(array);
}

TEST_F(RawRecording, FloatsLieChannelByChannel) {
  RecordingOptions options;
  options.channels = 2;
  options.rate = 4;
  for (const char* name : {"a.f32", "a.raw"}) {
    const Recording r = read_recording(make(name, bytes_of<float>({1, 2, 3, 4, 5, 6})), options);
    ASSERT_EQ(r.channels.size(), 2u);
    EXPECT_THAT(r.channels[0].samples, ElementsAre(1, 3, 5));
    EXPECT_THAT(r.channels[1].samples, ElementsAre(2, 4, 6));
    EXPECT_TRUE(r.timed);
    EXPECT_EQ(r.channels[1].rate, 4);
  }
  options.select = {"2"};
  const Recording r = read_recording(
      make("a.f64", bytes_of<double>({1, 2, 3, 1e300, 5, std::numeric_limits<double>::infinity()})), options);
  ASSERT_EQ(r.channels.size(), 1u);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(2, IsNan(), IsNan()));
}

TEST_F(RawRecording, OneChannelWithoutARateUnlessSaid) {
  const Recording r = read_recording(make("a.f32", bytes_of<float>({1, 2, 3})));
  EXPECT_THAT(r.channels[0].samples, ElementsAre(1, 2, 3));
  EXPECT_FALSE(r.timed);
}

TEST_F(RawRecording, LongerThanAPieceOfTheFile) {
  std::vector<float> values(600'003);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k);
  RecordingOptions options;
  options.channels = 3;
  const Recording r = read_recording(make("a.f32", bytes_of(values)), options);
  for (std::size_t c = 0; c < 3; ++c) {
    ASSERT_EQ(r.channels[c].samples.size(), 200'001u);
    for (std::size_t k = 0; k < 200'001; ++k)
      ASSERT_EQ(r.channels[c].samples[k], static_cast<float>(3 * k + c));
  }
}

TEST_F(RawRecording, MayBeLargerThanFilesThatAreReadWhole) {
  const std::uint64_t row = 65536 * sizeof(float), rows = kMaxFileBytes / row + 2;
  const auto path = make("a.f32", bytes_of<float>({1, 2}));
  std::filesystem::resize_file(path, (rows - 1) * row);
  std::ofstream(path, std::ios::app) << bytes_of<float>(std::vector<float>(65536, 3));
  RecordingOptions options;
  options.channels = 65536;
  options.select = {"2"};
  const Recording r = read_recording(path, options);
  ASSERT_EQ(r.channels[0].samples.size(), rows);
  EXPECT_EQ(r.channels[0].samples.front(), 2);
  EXPECT_EQ(r.channels[0].samples[1], 0);
  EXPECT_EQ(r.channels[0].samples.back(), 3);
  options.format = "csv";
  EXPECT_THAT([&] { read_recording(path, options); },
              ThrowsMessage<BadInput>(HasSubstr("the limit of this form")));
}

TEST_F(RawRecording, CompressedOnlyIfItsNameSaysSo) {
  const std::string bytes = "\x1f\x8b\x08\x01";  // begins as gzip does, and is a float
  EXPECT_EQ(read_recording(make("a.f32", bytes)).channels[0].samples.size(), 1u);
  EXPECT_THAT(read_recording(make("b.f32.gz", gzip(bytes_of<float>({7, 8}), 1))).channels[0].samples,
              ElementsAre(7, 8));
}

TEST_F(RawRecording, RefusesAPartOfASample) {
  RecordingOptions options;
  options.channels = 2;
  EXPECT_THAT(
      [&] {
        read_recording(make("a.f32", bytes_of<float>({1, 2, 3})), options);
      },
      ThrowsMessage<BadInput>(HasSubstr("12 bytes are not a number of samples of 2 channels of 4 bytes")));
  EXPECT_THROW(read_recording(make("a.f64", "1234567")), BadInput);
  EXPECT_THROW(read_recording(make("a.f32", "")), BadInput);
  options.channels = -1;
  EXPECT_THAT([&] { read_recording(make("a.f32", "1234"), options); },
              ThrowsMessage<BadInput>(HasSubstr("-1 channels of raw samples")));
}

TEST_F(RawRecording, ChannelsThatAreNotThereAreRefused) {
  RecordingOptions options;
  options.channels = 2;
  for (const char* number : {"0", "3", "-1", "99999999999999999999", "x"}) {
    options.select = {number};
    EXPECT_THROW(read_recording(make("a.f32", bytes_of<float>({1, 2})), options), BadInput) << number;
  }
}

TEST_F(RawRecording, MoreChannelsThanMemoryAreRefusedBeforeTheyAreMade) {
  RecordingOptions options;
  options.channels = std::numeric_limits<std::int32_t>::max();
  EXPECT_THROW(read_recording(make("a.f32", bytes_of<float>({1, 2})), options), BadInput);
}

TEST_F(RawRecording, NpyOfEachType) {
  const auto read = [&](const std::string& content) {
    return read_recording(make("a.npy", content)).channels;
  };
  const auto f4 = read(npy<float>("f4", {3}, {1.5F, -2, 3}));
  ASSERT_EQ(f4.size(), 1u);
  EXPECT_THAT(f4[0].samples, ElementsAre(1.5F, -2, 3));
  const auto f8 = read(npy<double>("f8", {2, 2}, {1, 2, 3, 4}));
  ASSERT_EQ(f8.size(), 2u);
  EXPECT_THAT(f8[1].samples, ElementsAre(2, 4));
  EXPECT_THAT(read(npy<std::int16_t>("i2", {1, 2}, {-7, 9}))[0].samples, ElementsAre(-7));
  EXPECT_THAT(read(npy<std::int32_t>("i4", {2, 1}, {-70000, 9}))[0].samples, ElementsAre(-70000, 9));
  EXPECT_THAT(read(npy<std::uint16_t>("u2", {2}, {65535, 9}))[0].samples, ElementsAre(65535, 9));
  EXPECT_THAT(read(npy<std::int64_t>("i8", {1}, {-3}))[0].samples, ElementsAre(-3));
}

TEST_F(RawRecording, NpyOfManyPiecesInEitherOrder) {
  constexpr std::int64_t kRows = 300'001, kColumns = 3;  // 1.8 MB: pieces are of 1 MiB
  const auto sample = [](std::int64_t row, std::int64_t column) {
    return static_cast<std::int16_t>((7 * row + 10'000 * column) % 30'011);
  };
  for (const bool columns_first : {false, true})
    for (const bool big_endian : {false, true}) {
      std::string header = "{'descr': '" + std::string(big_endian ? ">" : "<") +
                           "i2', 'fortran_order': " + (columns_first ? "True" : "False") +
                           ", 'shape': (300001, 3), }";
      header.append(117 - header.size(), ' ').append("\n");
      std::string content = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header;
      for (std::int64_t k = 0; k < kRows * kColumns; ++k) {
        const auto value = static_cast<std::uint16_t>(columns_first ? sample(k % kRows, k / kRows)
                                                                    : sample(k / kColumns, k % kColumns));
        const char low = static_cast<char>(value & 255), high = static_cast<char>(value >> 8);
        content += {big_endian ? high : low, big_endian ? low : high};
      }
      RecordingOptions options;
      options.select = {"3", "1"};
      const auto channels = read_recording(make("a.npy", content), options).channels;
      ASSERT_EQ(channels.size(), 2u);
      for (const std::size_t k : {0, 1}) {
        ASSERT_EQ(channels[k].samples.size(), static_cast<std::size_t>(kRows));
        for (std::int64_t row = 0; row < kRows; ++row)
          ASSERT_EQ(channels[k].samples[row], sample(row, k == 0 ? 2 : 0)) << row;
      }
    }
}

TEST_F(RawRecording, NpyOfMoreThanTwoGibIsRead) {
  // A file with a hole: 2^31 + 2^20 bytes of zeros behind the header, of which one column of 1,024 is kept.
  constexpr std::int64_t kRows = (1 << 21) + (1 << 10), kColumns = 1'024;
  std::string header =
      "{'descr': '|i1', 'fortran_order': False, 'shape': (" + std::to_string(kRows) + ", 1024), }";
  header.append(117 - header.size(), ' ').append("\n");
  const auto path = make("a.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header);
  std::filesystem::resize_file(path, 128 + kRows * kColumns);
  RecordingOptions options;
  options.select = {"1024"};
  const auto channels = read_recording(path, options).channels;
  ASSERT_EQ(channels.size(), 1u);
  EXPECT_EQ(channels[0].samples.size(), static_cast<std::size_t>(kRows));
}

TEST_F(RawRecording, NpyOfOtherShapesAndTypesIsRefused) {
  const auto read = [&](const std::string& content) { return read_recording(make("a.npy", content)); };
  EXPECT_THAT(
      [&] {
        read(npy<std::uint8_t>("b1", {2}, {1, 0}));
      },
      ThrowsMessage<BadInput>(HasSubstr("its elements are b1; f4, f8 and whole numbers are read")));
  EXPECT_THAT([&] { read(npy<float>("f4", {1, 1, 1}, {1})); }, ThrowsMessage<BadInput>(HasSubstr("3 axes")));
  EXPECT_THROW(read(npy<float>("f4", {}, {1})), BadInput);
  EXPECT_THROW(read(npy<float>("f4", {0}, {})), BadInput);
  EXPECT_THAT(
      [&] {
        read(npy<std::int16_t>("i2", {1, 70000}, std::vector<std::int16_t>(70000)));
      },
      ThrowsMessage<BadInput>(HasSubstr("1 samples of 70000 channels, of which 65536 are the limit")));
  EXPECT_THROW(read(npy<float>("f4", {0, 1ULL << 40}, {})), BadInput);
  EXPECT_THROW(read(npy<float>("f4", {1ULL << 40, 0}, {})), BadInput);
  EXPECT_THROW(read(npy<float>("f4", {2}, {1, 2}).substr(0, 130)), BadInput);
  EXPECT_THROW(read(""), BadInput);
}

TEST_F(RawRecording, SourceGivesTheBytesAtAnyPlace) {
  std::string content(3 << 20, '\0');
  for (std::size_t k = 0; k < content.size(); ++k) content[k] = static_cast<char>(k * 2654435761U >> 24);
  ByteSource file(make("a", content)), memory(content, "m");
  for (const auto& [offset, count] : {std::pair<std::uint64_t, std::uint64_t>{0, 10},
                                      {5, 1 << 20},
                                      {(2 << 20) + 3, 1 << 20},
                                      {3, 2 << 20},
                                      {1 << 20, 0}}) {
    const std::uint64_t here = std::min<std::uint64_t>(count, content.size() - offset);
    EXPECT_TRUE(file.view(offset, here) == std::string_view(content).substr(offset, here)) << offset;
    EXPECT_TRUE(memory.view(offset, here) == std::string_view(content).substr(offset, here)) << offset;
  }
  for (ByteSource* source : {&file, &memory}) {
    EXPECT_EQ(source->view(content.size(), 0).size(), 0u);
    EXPECT_THAT([&] { source->view(content.size() - 1, 2); }, ThrowsMessage<BadInput>(HasSubstr("cut off")));
    EXPECT_THROW(source->view(~std::uint64_t{0}, 1), BadInput);
    EXPECT_THROW(source->view(1, ~std::uint64_t{0}), BadInput);
  }
}

TEST(SelectedChannels, MayBeARange) {
  RecordingOptions options;
  const std::vector<std::string> names{"a", "b", "2-3", "d"};
  const auto wanted = [&](std::vector<std::string> select, const std::vector<std::string>& of) {
    options.select = std::move(select);
    return wanted_channels(of, options, "f");
  };
  EXPECT_THAT(wanted({"4", "1-2"}, {"", "", "", ""}), ElementsAre(3, 0, 1));
  EXPECT_THAT(wanted({"2-3"}, names), ElementsAre(2)) << "a channel's name goes first";
  EXPECT_THAT(wanted({"3-4"}, names), ElementsAre(2, 3));
  for (const char* const odd : {"0-2", "3-2", "2-5", "1-99999999999"})
    EXPECT_THAT([&] { wanted({odd}, names); },
                ThrowsMessage<BadInput>(HasSubstr("a range is FIRST-LAST, as 1-4")))
        << odd;
  EXPECT_THAT(
      [&] {
        wanted({"1-2", "2"}, names);
      },
      ThrowsMessage<BadInput>(HasSubstr("channel 2 is selected twice")));
  EXPECT_THAT([&] { wanted({"1-x"}, names); }, ThrowsMessage<BadInput>(HasSubstr("no channel '1-x'")));
}

}  // namespace
}  // namespace warploom::io
