// Files that are cut off or have bytes changed are read or refused; of most use with sanitizers.

#include <gtest/gtest.h>

#include <random>

#include "io/edf_bytes.hpp"
#include "io/scratch.hpp"
#include "measured_data.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/npy.hpp"
#include "warploom/io/recording.hpp"

namespace warploom::io {
namespace {

class DamagedRecording : public Scratch {
 protected:
  /// Damages `content` in many ways, and reads `name` with the file `damaged` so.
  void damage(const std::string& damaged, const std::string& content, const std::string& name,
              const RecordingOptions& options = {}) {
    make(damaged, content);
    ASSERT_NO_THROW(read_recording(directory / name, options));
    std::mt19937 random(1);
    const auto below = [&](std::size_t bound) {
      return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
    };
    int read = 0, refused = 0;
    for (int k = 0; k < 150; ++k) {
      std::string bytes = content;
      if (k % 3 == 0) bytes.resize(below(bytes.size()));
      for (std::size_t changes = below(4) + (k % 3 == 0 ? 0 : 1); changes > 0 && !bytes.empty(); --changes) {
        // Headers stand at the begin; digits are what they are made of.
        const std::size_t at = below(k % 2 == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 600));
        bytes[at] = static_cast<char>(k % 4 < 2 ? '0' + below(10) : below(256));
      }
      make(damaged, bytes);
      try {
        const Recording r = read_recording(directory / name, options);
        ++read;
        for (const Channel& channel : r.channels) ASSERT_GT(channel.rate, 0);
      } catch (const BadInput& error) {
        ++refused;
        EXPECT_GT(std::string(error.what()).size(), damaged.size());
      }
    }
    EXPECT_GT(read, 0);
    EXPECT_GT(refused, 0);
  }

  std::string part_of(const std::string& folder, const std::string& name, std::size_t size) {
    const auto path = measured_data(WARPLOOM_TESTS_DIR "/../../shared/data", folder) / name;
    return content_of(path).substr(0, size);
  }
  bool absent() {
    return !std::filesystem::exists(measured_data(WARPLOOM_TESTS_DIR "/../../shared/data", "ecg"));
  }
};

constexpr const char* kWfdbHeader =
    "100 2 360 1000\n100.dat 212 200 11 1024 995\n100.dat 212x1:2+0 200(1024)/mV 11 1024 1011\n";

TEST_F(DamagedRecording, Edf) {
  if (absent()) GTEST_SKIP() << "no recordings; set WARPLOOM_DATA";
  // Three records of the real file, which the header then says.
  std::string content = part_of("ecg", "test_generator_2.edf", 256 * 13 + 3 * 2251 * 2);
  content.replace(236, 8, "3       ");
  damage("a.edf", content, "a.edf");
}

TEST_F(DamagedRecording, EdfOfTextsAlone) {
  if (absent()) GTEST_SKIP() << "no recordings; set WARPLOOM_DATA";
  damage("a.edf", part_of("ecg", "test_edfann.edf", 1 << 20), "a.edf");
}

TEST_F(DamagedRecording, EdfWithGaps) {
  EdfBytes file;
  file.kind = "EDF+D";
  file.records = "-1";
  file.signals = {{"x", 2}, {"EDF Annotations", 8}};
  for (int k = 0; k < 6; ++k) {
    std::string text = fmt::format("+{}\x14\x14", 3 * k);
    text.resize(16, '\0');
    file.data += EdfBytes::stored({k, -k}) + text;
  }
  damage("a.edf", file.content(), "a.edf");
}

TEST_F(DamagedRecording, WfdbHeader) {
  if (absent()) GTEST_SKIP() << "no recordings; set WARPLOOM_DATA";
  make("100.dat", part_of("ecg", "100.dat", 3000));
  damage("r.hea", kWfdbHeader, "r.hea");
}

TEST_F(DamagedRecording, WfdbSegments) {
  make("a.dat", std::string(40, '\x11'));
  make("l.hea", "l 2 100 0\n~ 0 1 12 0 0 0 0 x\n~ 0 1 12 0 0 0 0 y\n");
  make("a.hea", "a 1 100 20\na.dat 16 1 12 0 4369 21844 0 y\n");
  damage("r.hea", "r/4 2 100 47\nl 0\na 20\n~ 7\na 20\n", "r.hea");
}

TEST_F(DamagedRecording, WfdbSignalsAndAnnotations) {
  if (absent()) GTEST_SKIP() << "no recordings; set WARPLOOM_DATA";
  make("100.hea", kWfdbHeader);
  damage("100.dat", part_of("ecg", "100.dat", 3000), "100.hea");
  damage("100.atr", part_of("ecg", "100.atr", 1 << 20), "100.hea");
}

TEST_F(DamagedRecording, Ts) {
  if (absent()) GTEST_SKIP() << "no recordings; set WARPLOOM_DATA";
  RecordingOptions options;
  options.series = 2;
  damage("a.ts", part_of("activity", "BasicMotions_TRAIN.ts", 20000), "a.ts", options);
}

TEST_F(DamagedRecording, Text) {
  std::string text = "time [ms],x,y\n";
  for (int k = 0; k < 100; ++k) text += fmt::format("{},{},{}\n", (k + k / 40 * 3) * 1000 / 64, k * 1.5, -k);
  damage("a.csv", text, "a.csv");
}

TEST_F(DamagedRecording, Npy) {
  NpyArray array{"i2", {50, 2}, std::vector<std::byte>(200, std::byte{7})};
  damage("a.npy", format_npy(array), "a.npy");
}

}  // namespace
}  // namespace warploom::io
