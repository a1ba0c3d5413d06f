// Recordings that were measured, and files of other people's software.

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <numbers>

#include "measured_data.hpp"
#include "warploom/io/recording.hpp"

namespace warploom::io {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;
namespace fs = std::filesystem;

class RealRecording : public testing::Test {
 protected:
  Recording read(const std::string& folder, const std::string& name, const RecordingOptions& options = {}) {
    return read_recording(measured_data(kBeside, folder) / name, options);
  }
  void SetUp() override {
    for (const char* folder : {"ecg", "gait", "activity"})
      if (const fs::path data = measured_data(kBeside, folder); !fs::exists(data))
        GTEST_SKIP() << "no recordings at " << data << "; set WARPLOOM_DATA";
  }
  static constexpr const char* kBeside = WARPLOOM_TESTS_DIR "/../../shared/data";
};

std::int64_t missing(const Channel& channel) {
  return std::ranges::count_if(channel.samples, [](float sample) { return std::isnan(sample); });
}

// The reader checks that the checksums of all samples agree with the header's.
TEST_F(RealRecording, MitBihRecordOfFormat212WithItsBeats) {
  const Recording r = read("ecg", "100.hea");
  ASSERT_EQ(r.channels.size(), 2u);
  EXPECT_EQ(r.channels[0].name, "MLII");
  EXPECT_EQ(r.channels[1].name, "V5");
  EXPECT_EQ(r.channels[0].rate, 360);
  EXPECT_EQ(r.channels[0].samples.size(), 650000u);
  EXPECT_EQ(missing(r.channels[0]), 0);
  // The first stored values stand in the header; the last were decoded with NumPy. (stored - 1024) / 200 mV
  EXPECT_FLOAT_EQ(r.channels[0].samples[0], (995 - 1024) / 200.F);
  EXPECT_FLOAT_EQ(r.channels[1].samples[0], (1011 - 1024) / 200.F);
  EXPECT_FLOAT_EQ(r.channels[0].samples[649999], (768 - 1024) / 200.F);
  EXPECT_FLOAT_EQ(r.channels[1].samples[649999], 0);

  std::map<std::string, int> count;
  for (const Annotation& annotation : r.annotations) ++count[annotation.label];
  // The database's own table: 2239 normal beats, 33 atrial and 1 ventricular premature ones; one rhythm
  EXPECT_THAT(count, UnorderedElementsAre(Pair("N", 2239), Pair("A", 33), Pair("V", 1), Pair("+ (N", 1)));
  EXPECT_NEAR(r.annotations[1].onset, 77 / 360., 1e-12);  // the first beat
}

TEST_F(RealRecording, PtbRecordOfTwoFilesOfFormat16) {
  const Recording r = read("ecg", "s0010_re.hea");
  ASSERT_EQ(r.channels.size(), 15u);
  const float first[] = {-489, -458, 31,  474, -260, -214, -88, -241,
                         -112, 212,  393, 390, -3,   120,  -18};  // the header's
  for (std::size_t k = 0; k < 15; ++k) EXPECT_FLOAT_EQ(r.channels[k].samples[0], first[k] / 2000) << k;
  EXPECT_EQ(r.channels[14].name, "vz");
  EXPECT_FLOAT_EQ(r.channels[11].samples[19200], -183 / 2000.F);
  EXPECT_FLOAT_EQ(r.channels[14].samples[19200], 113 / 2000.F);
  EXPECT_DOUBLE_EQ(r.seconds(), 38.4);
}

TEST_F(RealRecording, IntensiveCareRecordWithInvalidSamples) {
  const Recording r = read("ecg", "v102s.hea");
  ASSERT_EQ(r.channels.size(), 4u);
  EXPECT_EQ(r.channels[2].unit, "NU");
  const std::int64_t invalid[] = {3, 2, 17, 1};  // samples of -2048, counted with NumPy
  const float first[] = {-26 / 2281.F, 340 / 1856.F, -46 / 1250.F, 339 / 38880.F};
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(missing(r.channels[k]), invalid[k]) << k;
    EXPECT_FLOAT_EQ(r.channels[k].samples[0], first[k]) << k;
  }
}

TEST_F(RealRecording, EdfOfATestGeneratorHoldsItsSines) {
  const Recording r = read("ecg", "test_generator_2.edf");
  ASSERT_EQ(r.channels.size(), 11u);
  EXPECT_EQ(r.gaps, 0);
  for (const auto& [name, frequency] : {std::pair{"sine 1 Hz", 1.},
                                        {"sine 8 Hz", 8.},
                                        {"sine 8.5 Hz", 8.5},
                                        {"sine 17 Hz", 17.},
                                        {"sine 50 Hz", 50.}}) {
    const auto channel = std::ranges::find(r.channels, name, &Channel::name);
    ASSERT_NE(channel, r.channels.end());
    ASSERT_EQ(channel->samples.size(), 120000u);
    EXPECT_EQ(channel->rate, 200);
    for (std::size_t k = 0; k < channel->samples.size(); ++k)
      ASSERT_NEAR(channel->samples[k],
                  100 * std::sin(2 * std::numbers::pi * frequency * static_cast<double>(k + 1) / 200), 0.05)
          << name << " " << k;  // a stored step is 0.03 uV
  }
  ASSERT_EQ(r.annotations.size(), 2u);
  EXPECT_EQ(r.annotations[1].label, "REC STOP");
  EXPECT_EQ(r.annotations[1].onset, 600);
}

TEST_F(RealRecording, EdfOfSleepStagesAlone) {
  const Recording r = read("ecg", "test_edfann.edf");
  EXPECT_TRUE(r.channels.empty());
  ASSERT_EQ(r.annotations.size(), 856u);  // counted in Python
  EXPECT_EQ(r.annotations[0].label, "Sleep stage W");
  EXPECT_EQ(r.annotations[0].duration, 30);
  EXPECT_EQ(r.annotations[2].label, "Lights off@@EEG F4-A1");
  EXPECT_EQ(r.annotations[2].onset, 33.43);
}

TEST_F(RealRecording, InsolesWithoutAHeader) {
  RecordingOptions options;
  options.time_column = "1";
  const Recording r = read("gait", "JuPt01_01.txt.gz", options);
  ASSERT_EQ(r.channels.size(), 18u);
  EXPECT_EQ(r.gaps, 0);
  EXPECT_EQ(r.channels[0].rate, 100);  // stamps of four decimals say 100.007
  EXPECT_EQ(r.channels[0].samples.size(), 8228u);
  EXPECT_FLOAT_EQ(r.channels[0].samples[8227], 7.15F);
  EXPECT_FLOAT_EQ(r.channels[17].samples[8227], 278.19F);
  EXPECT_FLOAT_EQ(r.channels[16].samples[3000], 681.67F);
  EXPECT_EQ(read("gait", "JuPt01_01.txt.gz", {}).channels.size(), 18u);  // time is found
  options.time_column = "none";
  EXPECT_EQ(read("gait", "JuPt01_01.txt.gz", options).channels.size(), 19u);
}

TEST_F(RealRecording, AccelerometersWithStampsOfWholeMilliseconds) {
  RecordingOptions options;
  options.time_unit = 1e-3;
  options.label_column = "N";
  options.select = {"A0", "T3"};
  const Recording r = read("activity", "S06R02.txt.gz", options);
  EXPECT_EQ(r.gaps, 0);
  ASSERT_EQ(r.channels.size(), 2u);
  EXPECT_EQ(r.channels[0].rate, 64);
  EXPECT_EQ(r.channels[0].samples.size(), 44227u);
  EXPECT_EQ(r.channels[0].samples[2999], 313);
  EXPECT_EQ(r.channels[1].samples[2999], -980);
  double seconds = 0;
  for (const Annotation& annotation : r.annotations) seconds += annotation.duration;
  EXPECT_NEAR(seconds, r.seconds(), 1e-6);
}

TEST_F(RealRecording, TsSeriesWithTheirClasses) {
  RecordingOptions options;
  options.series = 40;
  options.rate = 10;
  const Recording r = read("activity", "BasicMotions_TRAIN.ts", options);
  ASSERT_EQ(r.channels.size(), 6u);
  EXPECT_EQ(r.channels[5].samples.size(), 100u);
  EXPECT_FLOAT_EQ(r.channels[5].samples[99], 0.428803F);
  EXPECT_EQ(r.annotations[0].label, "Badminton");
  EXPECT_EQ(r.annotations[0].duration, 10);
}

}  // namespace
}  // namespace warploom::io
