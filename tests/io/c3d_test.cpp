#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "io/recording_readers.hpp"
#include "io/scratch.hpp"
#include "warploom/core/error.hpp"
#include "warploom/io/recording.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int kIntel = 84, kDec = 85, kMips = 86;

/// A file as a processor writes it, by the format's guide: two points, two analog channels of three samples a
/// frame.
struct C3dBytes {
  int processor = kIntel;
  bool real = false;
  int frames = 5, first_frame = 11;
  std::string text = {};

  std::string word(int value) const {
    const auto bits = static_cast<unsigned>(value) & 0xFFFF;
    const char low = static_cast<char>(bits), high = static_cast<char>(bits >> 8);
    return processor == kMips ? std::string{high, low} : std::string{low, high};
  }
  std::string number(float value) const {
    // DEC: sign, exponent with a bias of 129 where IEEE's is 127, and fraction; the word with the sign first.
    const auto bits = std::bit_cast<std::uint32_t>(processor == kDec ? value * 4 : value);
    const int high = static_cast<int>(bits >> 16), low = static_cast<int>(bits & 0xFFFF);
    return processor == kIntel ? word(low) + word(high) : word(high) + word(low);
  }
  std::string group(int id, const std::string& name) const { return entry(-id, name, std::string(1, '\0')); }
  std::string entry(int id, const std::string& name, const std::string& rest) const {
    return std::string{static_cast<char>(name.size()), static_cast<char>(id)} + name +
           word(static_cast<int>(rest.size()) + 2) + rest;
  }
  std::string texts(int id, const std::string& name, std::vector<std::string> all, std::size_t length) const {
    std::string rest{static_cast<char>(-1), 2, static_cast<char>(length), static_cast<char>(all.size())};
    for (std::string& one : all) rest += (one.resize(length, ' '), one);
    return entry(id, name, rest + '\0');
  }
  std::string reals(int id, const std::string& name, const std::vector<float>& all) const {
    std::string rest{4, 1, static_cast<char>(all.size())};
    for (const float one : all) rest += number(one);
    return entry(id, name, rest + '\0');
  }
  std::string words(int id, const std::string& name, const std::vector<int>& all) const {
    std::string rest{2, 1, static_cast<char>(all.size())};
    for (const int one : all) rest += word(one);
    return entry(id, name, rest + '\0');
  }

  /// Of frame f, point p, axis a; whole multiples of the scale. Point 1 is not seen in frame 2.
  static double point(int f, int p, int a) { return 0.5 * (100 * f + 10 * p + a - 200); }
  static double analog(int f, int s, int c) { return 0.25 * 2 * ((f * 3 + s) * (c + 1) - 7); }

  std::string content() const {
    const float scale = real ? -0.5F : 0.5F;
    std::string parameters{1, 0x50, 2, static_cast<char>(processor)};
    parameters += group(1, "POINT") + texts(1, "LABELS", {"LHEE", "RTOE"}, 6) + texts(1, "UNITS", {"mm"}, 2) +
                  reals(1, "RATE", {100}) + reals(1, "SCALE", {scale}) + group(2, "ANALOG") +
                  texts(2, "LABELS", {"Fz", ""}, 4) + texts(2, "UNITS", {"N", "V"}, 2) +
                  reals(2, "GEN_SCALE", {0.25F}) + reals(2, "SCALE", {2, 2}) + words(2, "OFFSET", {0, 5}) +
                  group(3, "EVENT") + texts(3, "LABELS", {"Foot Strike", "Foot Off"}, 12) +
                  texts(3, "CONTEXTS", {"Left", "Right"}, 6) + [&] {
                    std::string rest{4, 2, 2, 2};
                    for (const float one : {0.F, .12F, 0.F, .13F}) rest += number(one);
                    return entry(3, "TIMES", rest + '\0');
                  }();
    parameters += std::string(2, '\0');
    EXPECT_LE(parameters.size(), 1024U);
    parameters.resize(1024, '\0');
    std::string header{2, 0x50};
    header += word(2) + word(6) + word(first_frame) + word(first_frame + frames - 1) + word(0) +
              number(scale) + word(4) + word(3) + number(100);
    header.resize(512, '\0');
    std::string data;
    const auto put = [&](double stored) {
      data += real ? number(static_cast<float>(stored)) : word(static_cast<int>(stored));
    };
    for (int f = 0; f < frames; ++f) {
      for (int p = 0; p < 2; ++p) {
        for (int a = 0; a < 3; ++a) put(real ? point(f, p, a) : point(f, p, a) / 0.5);
        put(p == 1 && f == 2 ? -1 : 0);
      }
      for (int s = 0; s < 3; ++s)
        for (int c = 0; c < 2; ++c) put(analog(f, s, c) / 0.5 + (c == 1 ? 5 : 0));
    }
    return header + parameters + data;
  }
};

class C3d : public Scratch {
 protected:
  Recording read(const std::string& content, const RecordingOptions& options = {}) const {
    return read_recording(make("a.c3d", content), options);
  }
};

TEST_F(C3d, OfEachProcessorAndOfWholeNumbersAndFloatsIsTheSame) {
  for (const int processor : {kIntel, kDec, kMips})
    for (const bool real : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << "processor " << processor << (real ? ", floats" : ", whole numbers"));
      const Recording r = read(C3dBytes{.processor = processor, .real = real}.content());
      EXPECT_TRUE(r.timed);
      std::vector<std::string> names, units;
      for (const Channel& channel : r.channels) names.push_back(channel.name), units.push_back(channel.unit);
      EXPECT_THAT(names,
                  ElementsAre("LHEE.x", "LHEE.y", "LHEE.z", "RTOE.x", "RTOE.y", "RTOE.z", "Fz", "analog 2"));
      EXPECT_THAT(units, ElementsAre("mm", "mm", "mm", "mm", "mm", "mm", "N", "V"));
      ASSERT_EQ(r.channels.size(), 8U);
      for (int f = 0; f < 5; ++f)
        for (int p = 0; p < 2; ++p)
          for (int a = 0; a < 3; ++a) {
            const float sample =
                r.channels[static_cast<std::size_t>(3 * p + a)].samples.at(static_cast<std::size_t>(f));
            if (p == 1 && f == 2)
              EXPECT_TRUE(std::isnan(sample)) << f << ' ' << a;
            else
              EXPECT_FLOAT_EQ(sample, static_cast<float>(C3dBytes::point(f, p, a)))
                  << f << ' ' << p << ' ' << a;
          }
      for (int c = 0; c < 2; ++c) {
        const Channel& channel = r.channels[static_cast<std::size_t>(6 + c)];
        EXPECT_EQ(channel.rate, 300);
        ASSERT_EQ(channel.samples.size(), 15U);
        for (int k = 0; k < 15; ++k)
          EXPECT_FLOAT_EQ(channel.samples[static_cast<std::size_t>(k)],
                          static_cast<float>(C3dBytes::analog(k / 3, k % 3, c)));
      }
      EXPECT_EQ(r.channels[0].rate, 100);
      ASSERT_EQ(r.annotations.size(), 2U);  // frame 11 is the first, 0.1 s after frame 1
      EXPECT_EQ(r.annotations[0].label, "Left Foot Strike");
      EXPECT_NEAR(r.annotations[0].onset, .02, 1e-6);
      EXPECT_EQ(r.annotations[1].label, "Right Foot Off");
      EXPECT_NEAR(r.annotations[1].onset, .03, 1e-6);
    }
}

TEST_F(C3d, ChannelsAreSelectedByName) {
  RecordingOptions options;
  options.select = {"analog 2", "RTOE.y"};
  const Recording r = read(C3dBytes{}.content(), options);
  ASSERT_EQ(r.channels.size(), 2U);
  EXPECT_EQ(r.channels[0].samples.size(), 15U);
  EXPECT_EQ(r.channels[1].samples.size(), 5U);
}

TEST_F(C3d, WhatIsNoneIsRefused) {
  const std::string good = C3dBytes{}.content();
  const auto refused = [&](std::string content, const std::string& says) {
    EXPECT_THAT([&] { read(content); }, ThrowsMessage<BadInput>(HasSubstr(says)));
  };
  refused("", "a.c3d: no C3D file");
  refused(good.substr(0, 700), "a.c3d: no C3D file");
  refused(good.substr(0, good.size() - 1),
          "cut off: 5 frames of 28 bytes from byte 1536 on are missing, it has 1675 bytes");
  std::string other = good;
  other[515] = 83;
  refused(other, "written by processor 83; 84 (Intel), 85 (DEC) and 86 (MIPS) are known");
  other = good, other[0] = 1;
  refused(other, "its parameters begin in block 1");
  other = good, other[16] = 0;
  refused(other, "its frames begin in block 0");
}

/// No byte that is another one, and no end, is more than an error.
TEST_F(C3d, SurvivesDamage) {
  const std::string good = C3dBytes{.real = true}.content();
  int read_on = 0;
  for (std::size_t at = 0; at < 1100; ++at)
    for (const char byte : {'\0', '\xFF', '\x7F', '\x80'}) {
      std::string damaged = good;
      if (damaged[at] == byte) continue;
      damaged[at] = byte;
      try {
        ByteSource source(damaged, "damaged");
        read_on += read_c3d(source, {}).channels.size() > 0;
      } catch (const BadInput&) {
      }
    }
  EXPECT_GT(read_on, 100);
}

}  // namespace
}  // namespace warploom::io
