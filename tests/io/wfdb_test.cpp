#include <gmock/gmock.h>

#include <functional>

#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/recording.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::ThrowsMessage;
using namespace std::string_literals;

std::string little_endian(const std::vector<int>& values, int bytes) {
  std::string out;
  for (const int value : values)
    for (int k = 0; k < bytes; ++k) out += static_cast<char>(value >> (8 * k) & 0xff);
  return out;
}
std::string words(const std::vector<int>& values) { return little_endian(values, 2); }

class Wfdb : public Scratch {
 protected:
  Recording read(const std::string& header, const RecordingOptions& options = {}) const {
    return read_recording(make("r.hea", header), options);
  }
  std::string message(const std::string& header) const {
    try {
      read(header);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "none";
  }
};

TEST_F(Wfdb, GainBaselineUnitAndName) {
  make("r.dat", words({100, 7, 120, 8}));
  const Recording r = read(
      "# a comment\nr 2 250/1000(5) 2 12:00:00 1/1/2000\nr.dat 16 10(80)/uV 12 0 100 220 0 ECG lead I \n"
      "# between\nr.dat 16 0 12 3\r\n");
  ASSERT_EQ(r.channels.size(), 2u);
  EXPECT_EQ(r.channels[0].name, "ECG lead I");
  EXPECT_EQ(r.channels[0].unit, "uV");
  EXPECT_EQ(r.channels[0].rate, 250);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(2, 4));
  EXPECT_EQ(r.channels[1].unit, "mV");
  EXPECT_THAT(r.channels[1].samples,
              ElementsAre(4 / 200.F, 5 / 200.F));  // gain 0: 200; the converter's zero is the baseline
}

TEST_F(Wfdb, EveryFormatsLeastNumberIsMissing) {
  const struct {
    int format;
    std::string bytes;
    std::vector<float> values;  // and one missing sample behind
  } cases[] = {
      {16, words({1, -2, 32767, -32767, -32768}), {1, -2, 32767, -32767}},
      {61, "\0\1\xFF\xFE\x7F\xFF\x80\1\x80\0"s, {1, -2, 32767, -32767}},
      {160, words({32769, 32766, 65535, 1, 0}), {1, -2, 32767, -32767}},
      {24, little_endian({1, -2, 8388607, -8388607, -8388608}, 3), {1, -2, 8388607, -8388607}},
      {32,
       little_endian({1, -2, 1 << 30, -(1 << 30), std::numeric_limits<int>::min()}, 4),
       {1, -2, 0x1p30F, -0x1p30F}},
      {80, "\x81\x7E\xFF\x01\x00"s, {1, -2, 127, -127}},
      // pairs of 12 bits: low byte of the first, high bits (second's above), low byte of the second
      {212, "\x01\xF0\xFE\xFF\x87\x01\x00\x08"s, {1, -2, 2047, -2047}},
  };
  for (const auto& [format, bytes, values] : cases) {
    make("r.dat", bytes);
    const Recording r = read("r 1 100\nr.dat " + std::to_string(format) + " 1\n");
    ASSERT_EQ(r.channels[0].samples.size(), 5u) << format;
    for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(r.channels[0].samples[k], values[k]) << format << " " << k;
    EXPECT_THAT(r.channels[0].samples[4], IsNan()) << format;
  }
}

/// Three samples of ten bits in 32, as signal(5) packs them.
std::string in_310(const std::vector<int>& three) {
  const auto bits = [&](std::size_t k) { return three[k] & 0x3ff; };
  return words({bits(0) << 1 | (bits(2) & 31) << 11, bits(1) << 1 | bits(2) >> 5 << 11});
}
std::string in_311(const std::vector<int>& three) {
  const auto bits = [&](std::size_t k) { return three[k] & 0x3ff; };
  return words({bits(0) | (bits(1) & 63) << 10, bits(1) >> 6 | bits(2) << 4});
}

TEST_F(Wfdb, ThreeSamplesOfTenBitsLieInFourBytes) {
  for (const auto& [format, pack] : {std::pair{310, &in_310}, {311, &in_311}}) {
    // Two signals: threes are not frames. As many samples as make several pieces.
    const int samples = 300'000;
    std::string bytes;
    const auto value = [](int k) { return k % 1021 - 510; };
    for (int k = 0; k < samples; k += 3) bytes += pack({value(k), value(k + 1), value(k + 2)});
    make("r.dat", bytes);
    const std::string two = "r.dat " + std::to_string(format) + " 1\n";
    const Recording r = read("r 2 100 " + std::to_string(samples / 2) + "\n" + two + two);
    for (int k = 0; k < samples; ++k)
      ASSERT_EQ(r.channels[static_cast<std::size_t>(k % 2)].samples[static_cast<std::size_t>(k / 2)],
                value(k));
    make("r.dat", pack({511, -512, -1}));
    const Recording one = read("r 1 100\n" + two);
    EXPECT_EQ(one.channels[0].samples[0], 511);
    EXPECT_THAT(one.channels[0].samples[1], IsNan());
    EXPECT_EQ(one.channels[0].samples[2], -1);
  }
}

TEST_F(Wfdb, DifferencesAddUpFromTheFirstSample) {
  make("r.dat", "\x00\x05\x01\xFB\xFF\x7F"s);
  const Recording r = read("r 2 100 3\nr.dat 8 1 12 0 100\nr.dat 8 1 12 0 -7\n");
  EXPECT_THAT(r.channels[0].samples, ElementsAre(100, 101, 100));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(-2, -7, 120));
  EXPECT_THAT(message("r 1 100 6\nr.dat 8 1 12 0 100 99 0\n"), testing::HasSubstr("have the checksum"));
  const Recording frames = read("r 2 100 2\nr.dat 8x2 1 12 0 10\nr.dat 8 1\n");
  EXPECT_THAT(frames.channels[0].samples, ElementsAre(10, 15, 10, 9));
  EXPECT_THAT(frames.channels[1].samples, ElementsAre(1, 128));
}

TEST_F(Wfdb, FramesOfSeveralSamplesMakeAHigherRate) {
  make("r.dat", words({1, 2, 3, 10, 4, 5, 6, 20}));
  const Recording r = read("r 2 100 2\nr.dat 16x3 1\nr.dat 16 1\n");
  EXPECT_EQ(r.channels[0].rate, 300);
  EXPECT_EQ(r.channels[1].rate, 100);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(10, 20));
}

TEST_F(Wfdb, OddFramesOfPackedPairsAndLongFiles) {
  // Three signals of format 212: pairs are not frames. As many samples as make several pieces.
  const int frames = 40001;
  std::string bytes;
  for (int k = 0; k < 3 * frames; k += 2) {
    const int a = k % 1000, b = -((k + 1) % 1000);
    bytes += static_cast<char>(a & 0xff);
    bytes += static_cast<char>((a >> 8 & 15) | (b >> 8 & 15) << 4);
    if (k + 1 < 3 * frames) bytes += static_cast<char>(b & 0xff);
  }
  make("r.dat", bytes);
  const Recording r = read("r 3 100 " + std::to_string(frames) + "\nr.dat 212 1\nr.dat 212 1\nr.dat 212 1\n");
  for (int frame = 0; frame < frames; ++frame)
    for (int c = 0; c < 3; ++c) {
      const int k = 3 * frame + c;
      ASSERT_EQ(r.channels[static_cast<std::size_t>(c)].samples[static_cast<std::size_t>(frame)],
                static_cast<float>(k % 2 == 0 ? k % 1000 : -(k % 1000)));
    }
}

TEST_F(Wfdb, SignalsOfSeveralFilesAtAnOffset) {
  make("a.dat", "head" + words({1, 2}));
  make("b.dat", little_endian({30, 40}, 3));
  const Recording r = read("r 2 100\na.dat 16+4 1\nb.dat 24 1\n");
  EXPECT_THAT(r.channels[0].samples, ElementsAre(1, 2));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(30, 40));
}

TEST_F(Wfdb, SkewPutsSamplesBeforeTheBegin) {
  make("r.dat", words({1, 10, 2, 20, 3, 30, 4, 40}));
  const Recording r = read("r 2 100 4\nr.dat 16:1 1 12 0 1 10\nr.dat 16 1 12 0 10 100\n");
  EXPECT_THAT(r.channels[0].samples, ElementsAre(2, 3, 4, IsNan()));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(read("r 2 100 4\nr.dat 16:9 1\nr.dat 16 1\n").channels[0].samples,
              ElementsAre(IsNan(), IsNan(), IsNan(), IsNan()));
}

TEST_F(Wfdb, ChecksumsAreVerified) {
  make("r.dat", words({30000, 30000, 30000}));  // 90000 - 65536 = 24464
  EXPECT_EQ(read("r 1 100 3\nr.dat 16 1 12 0 30000 24464\n").channels[0].samples.size(), 3u);
  EXPECT_EQ(message("r 1 100 3\nr.dat 16 1 12 0 30000 90000\n"), "none");
  EXPECT_THAT(message("r 1 100 3\nr.dat 16 1 12 0 30000 24465\n"),
              HasSubstr("r.dat: the samples of signal 1 have the checksum 24464, "));
}

TEST_F(Wfdb, SelectedSignalsAloneAreRead) {
  make("a.dat", words({1, 2}));
  RecordingOptions options;
  options.select = {"x"};
  const Recording r = read("r 2 100 2\na.dat 16 1 12 0 0 3 0 x\n~ 0 1 12 0 0 0 0 y\n", options);
  ASSERT_EQ(r.channels.size(), 1u);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(1, 2));
  options.select = {"z"};
  EXPECT_THROW(read("r 1 100 2\na.dat 16 1\n", options), BadInput);
}

TEST_F(Wfdb, IsFoundByHeaderDataOrRecordName) {
  make("r.dat", words({1}));
  const auto header = make("r.hea", "r 1\nr.dat 16 1\n");
  RecordingOptions options;
  options.format = "wfdb";
  EXPECT_EQ(read_recording(header).channels[0].rate, 250);  // the usual one
  EXPECT_EQ(read_recording(directory / "r.dat").name, "r.dat");
  EXPECT_EQ(read_recording(directory / "r", options).channels[0].samples.size(), 1u);
}

TEST_F(Wfdb, FixedLayoutSegmentsFollowEachOther) {
  make("a.hea", "a 2 100 2\na.dat 16 1 12 0 1 4 0 x\na.dat 16 1 12 0 2 6 0 y\n");
  make("a.dat", words({1, 2, 3, 4}));
  make("b.hea", "b 2 100 1\nb.dat 16 10 12 0 50 50 0 x\nb.dat 16 1 12 0 6 6 0 y\n");
  make("b.dat", words({50, 6}));
  const Recording r = read("r/3 2 100 6\na 2\n~ 3\nb 1\n");
  EXPECT_EQ(r.gaps, 1);
  EXPECT_THAT(r.channels[0].samples, ElementsAre(1, 3, IsNan(), IsNan(), IsNan(), 5));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(2, 4, IsNan(), IsNan(), IsNan(), 6));
}

TEST_F(Wfdb, VariableLayoutSegmentsHaveSomeOfTheSignals) {
  make("l.hea", "l 3 100 0\n~ 0 1 12 0 0 0 0 x\n~ 0 1 12 0 0 0 0 y\n~ 0 1 12 0 0 0 0 z\n");
  make("a.hea", "a 1 100 2\na.dat 16 1 12 0 1 3 0 z\n");
  make("a.dat", words({1, 2}));
  make("b.hea", "b 2 100 1\nb.dat 16 2 12 0 6 6 0 y\nb.dat 16 1 12 0 7 7 0 x\n");
  make("b.dat", words({6, 7}));
  const Recording r = read("r/3 3 100 3\nl 0\na 2\nb 1\n");
  EXPECT_EQ(r.channels[0].name, "x");
  EXPECT_THAT(r.channels[0].samples, ElementsAre(IsNan(), IsNan(), 7));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(IsNan(), IsNan(), 3));
  EXPECT_THAT(r.channels[2].samples, ElementsAre(1, 2, IsNan()));
  make("b.hea", "b 1 100 1\nb.dat 16 2 12 0 6 6 0 w\n");
  EXPECT_THAT(message("r/3 3 100 3\nl 0\na 2\nb 1\n"), HasSubstr("signal 'w' is not in the layout"));
}

TEST_F(Wfdb, SegmentsThatDoNotFitAreRefused) {
  make("a.dat", words({1, 2}));
  const auto segment = [&](const std::string& header) {
    make("a.hea", "a 1 100 2\na.dat 16 1\n");
    make("b.hea", header);
    return message("r/2 1 100 4\na 2\nb 2\n");
  };
  EXPECT_EQ(segment("b 1 100 2\na.dat 16 1\n"), "none");
  EXPECT_THAT(segment("b 1 200 2\na.dat 16 1\n"), HasSubstr("its rate is 200 Hz"));
  EXPECT_THAT(segment("b 1 100 1\na.dat 16 1\n"), HasSubstr("b.hea: 1 samples; "));
  EXPECT_THAT(segment("b 2 100 2\na.dat 16 1\na.dat 16 1\n"), HasSubstr("b.hea: 2 signals"));
  EXPECT_THAT(segment("b 1 100 2\na.dat 16 1/uV\n"), HasSubstr("signal 1 has 1 samples a frame in uV"));
  EXPECT_THAT(segment("b/1 1 100 2\na 2\n"), HasSubstr("a segment of "));
  EXPECT_THAT(segment("b 1 100 2\nc.dat 16 1\n"), HasSubstr("c.dat: No such file"));
  make("b.hea", "b 1 100 2\na.dat 16 1\n");
  EXPECT_THAT(message("r/2 1 100 5\na 2\nb 2\n"), HasSubstr("have 4 samples together, it says 5"));
  EXPECT_THAT(message("r/2 1 100 4\na 2\n"), HasSubstr("cut off: 1 of the 2 segment lines"));
  EXPECT_THAT(message("r/1 1 100 4\nr 4\n"), HasSubstr("a segment of "));
  EXPECT_THAT(message("r/2 1 100\n~ 9000000000000000000\n~ 9000000000000000000\n"),
              HasSubstr("more than 2^63"));
  EXPECT_THAT(message("r/1 1 100\n~ 5\n"), HasSubstr("a record without signals"));
}

TEST_F(Wfdb, HugeNumbersInTheHeaderAreRefused) {
  make("r.dat", words({1, 2}));
  EXPECT_THAT(message("r 1 100 9000000000000000000\nr.dat 16 1\n"),
              HasSubstr("cut off: it holds 2 samples of each signal"));
  EXPECT_THAT(message("r 1 100 9000000000000000000\n~ 0 1\n"), HasSubstr("are missing in its gaps"));
  EXPECT_THAT(message("r 1 100 1\nr.dat 16x1048577 1\n"), HasSubstr("more than 2^20 samples a frame"));
  EXPECT_THAT(message("r 1 100 1\nr.dat 16x1048576 1\n"), HasSubstr("cut off"));
  EXPECT_THAT(message("r 9000000000000000000 100 1\nr.dat 16 1\n"),
              HasSubstr("cut off: 1 of the 9000000000000000000"));
  EXPECT_THAT(message("r 99999999999999999999 100 1\n"), HasSubstr("is no number of signals"));
  EXPECT_THAT(message("r 1 100 1\nr.dat 16+9000000000000000000 1\n"), HasSubstr("cut off"));
}

TEST_F(Wfdb, HeadersThatAreNoneAreRefusedByLine) {
  make("r.dat", words({1, 2}));
  EXPECT_THAT(message(""), HasSubstr("no record line; is it a WFDB header?"));
  EXPECT_THAT(message("# nothing\n\n"), HasSubstr("no record line"));
  EXPECT_THAT(message("r\n"), HasSubstr("r.hea:1:2: expected the number of signals"));
  EXPECT_THAT(message("r 0 100\n"), HasSubstr("a record without signals"));
  EXPECT_THAT(message("r x\n"), HasSubstr("'x' is no number of signals"));
  EXPECT_THAT(message("r 1 -5\n"), HasSubstr("the sampling frequency must be above 0"));
  EXPECT_THAT(message("r 1 nan\n"), HasSubstr("'nan' is no sampling frequency"));
  EXPECT_THAT(message("r 1 100 -1\n"), HasSubstr("'-1' is no number of samples"));
  EXPECT_THAT(message("r 1 100\nr.dat\n"), HasSubstr("r.hea:2:6: expected a format"));
  EXPECT_THAT(message("r 1 100\nr.dat 99 1\n"), HasSubstr("a signal of format 99; 8, 16, 24, 32"));
  EXPECT_THAT(message("r 1 100\nr.dat 524 1\n"),
              HasSubstr("format 524, which is FLAC and is not read: write the record anew in format 24"));
  EXPECT_THAT(message("r 1 100\nr.dat x 1\n"), HasSubstr("'' is no format"));
  EXPECT_THAT(message("r 1 100\nr.dat 16x0 1\n"), HasSubstr("'0' is no number of samples a frame"));
  EXPECT_THAT(message("r 1 100\nr.dat 16! 1\n"), HasSubstr("'!' after the format"));
  EXPECT_THAT(message("r 1 100\nr.dat 16 1(2\n"), HasSubstr("expected ')'"));
  EXPECT_THAT(message("r 1 100\nr.dat 16 x\n"), HasSubstr("'x' is no gain"));
  EXPECT_THAT(message("r 1 100\nr.dat 16 1 12 0 0 x\n"), HasSubstr("'x' is no checksum"));
  EXPECT_THAT(message("r 2 100\nr.dat 16 1\nr.dat 24 1\n"), HasSubstr("in two formats or at two offsets"));
  EXPECT_THAT(message("r 3 100\nr.dat 16 1\n~ 0 1\nr.dat 16 1\n"), HasSubstr("do not follow each other"));
  EXPECT_THAT(message(std::string("\x7f"
                                  "ELF\0\1\2\n",
                                  8)),
              HasSubstr("r.hea"));
}

TEST_F(Wfdb, FilesElsewhereAreRefused) {
  EXPECT_THAT(message("r 1 100 1\n../r.dat 16 1\n"),
              HasSubstr("it names '../r.dat', which is no name of a file beside it"));
  EXPECT_THAT(message("r 1 100 1\n/etc/passwd 80 1\n"), HasSubstr("no name of a file beside it"));
  EXPECT_THAT(message("r/1 1 100 1\n../r 1\n"), HasSubstr("no name of a file beside it"));
  EXPECT_THAT(message("r 1 100 1\n. 16 1\n"), HasSubstr("Is a directory"));
}

TEST_F(Wfdb, MissingAndEmptyFilesAreRefused) {
  EXPECT_THAT([&] { read_recording(directory / "none.hea"); },
              ThrowsMessage<BadInput>(HasSubstr("No such file")));
  EXPECT_THAT(message("r 1 100 1\nr.dat 16 1\n"), HasSubstr("r.dat: No such file"));
  make("r.dat", "");
  EXPECT_THAT(message("r 1 100\nr.dat 16 1\n"), HasSubstr("cut off"));
  EXPECT_THAT(message("r 1 100 1\nr.dat 16 1\n"), HasSubstr("cut off"));
}

int code(int mnemonic, int interval) { return mnemonic << 10 | interval; }

TEST_F(Wfdb, AnnotationsBesideTheHeaderAreRead) {
  make("r.dat", words({1, 2}));
  // N at 18; a rhythm change at 20 with a text of five bytes; V after an interval of 0x10001 and 3;
  // qualifiers.
  std::string bytes = words({code(1, 18), code(28, 2), code(63, 5)}) + "(AFIB\0"s;
  bytes += words({code(59, 0), 1, 1, code(5, 3), code(61, 1), code(62, 1), code(60, 1), code(45, 0), 0});
  make("r.atr", bytes);
  const Recording r = read("r 1 10\nr.dat 16x2 1\n");
  ASSERT_EQ(r.annotations.size(), 4u);
  EXPECT_EQ(r.annotations[0].label, "N");
  EXPECT_EQ(r.annotations[0].onset, 1.8);
  EXPECT_EQ(r.annotations[1].label, "+ (AFIB");
  EXPECT_EQ(r.annotations[1].onset, 2);
  EXPECT_EQ(r.annotations[2].label, "V");
  EXPECT_EQ(r.annotations[2].onset, (20 + 0x10001 + 3) / 10.);
  EXPECT_EQ(r.annotations[3].label, "[45]");
}

TEST_F(Wfdb, AnnotationsMayHaveATimeResolutionOfTheirOwn) {
  make("r.dat", words({1, 2}));
  const std::string note = "## time resolution: 1000";
  make("r.atr",
       words({code(22, 0), code(63, static_cast<int>(note.size()))}) + note + words({code(1, 500), 0}));
  const Recording r = read("r 1 10\nr.dat 16 1\n");
  ASSERT_EQ(r.annotations.size(), 1u);
  EXPECT_EQ(r.annotations[0].onset, 0.5);
}

TEST_F(Wfdb, DamagedAnnotationsAreRefused) {
  make("r.dat", words({1, 2}));
  const auto with = [&](const std::string& bytes) {
    make("r.atr", bytes);
    return message("r 1 10\nr.dat 16 1\n");
  };
  EXPECT_EQ(with(words({0})), "none");
  EXPECT_THAT(with(""), HasSubstr("r.atr: the end of the file at byte 0"));
  EXPECT_THAT(with(words({code(1, 18)})), HasSubstr("the end of the file at byte 2"));
  EXPECT_THAT(with(words({code(59, 0), 1})), HasSubstr("the end of the file"));
  EXPECT_THAT(with(words({code(1, 1), code(63, 200)}) + "abc"), HasSubstr("the end of the file"));
  EXPECT_THAT(with(words({code(63, 0), 0})), HasSubstr("a text before any annotation"));
  EXPECT_THAT(with(words({code(22, 0), code(63, 22)}) + "## time resolution: xy" + words({0})),
              HasSubstr("a time resolution that is no frequency at byte 26"));
}

}  // namespace
}  // namespace warploom::io
