#include <gmock/gmock.h>
#include <zlib.h>

#include <algorithm>
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

/// Bytes of a MAT file of version 5, by its specification.
struct MatBytes {
  bool big_endian = false;

  template <class T>
  std::string raw(T value) const {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof value);
    if (big_endian) std::reverse(bytes, bytes + sizeof value);
    return {bytes, sizeof value};
  }
  std::string element(std::uint32_t type, std::string content) const {
    const std::string head = raw(type) + raw(static_cast<std::uint32_t>(content.size()));
    content.resize((content.size() + 7) / 8 * 8, '\0');
    return head + content;
  }
  /// Content of at most four bytes, beside its type.
  std::string small(std::uint32_t type, std::string content) const {
    const auto size = static_cast<std::uint32_t>(content.size());
    content.resize(4, '\0');
    return raw(size << 16 | type) + content;
  }
  std::string begin(std::uint32_t kind, std::uint32_t rows, std::uint32_t columns,
                    const std::string& name) const {
    return element(6, raw(kind) + raw(0U)) + element(5, raw(rows) + raw(columns)) +
           (name.size() <= 4 && !name.empty() ? small(1, name) : element(1, name));
  }
  template <class T>
  std::string array(const std::string& name, std::uint32_t rows, std::uint32_t columns,
                    const std::vector<T>& values, std::uint32_t kind, std::uint32_t type) const {
    std::string numbers;
    for (const T value : values) numbers += raw(value);
    return element(14, begin(kind, rows, columns, name) + element(type, numbers));
  }
  std::string doubles(const std::string& name, std::uint32_t rows, std::uint32_t columns,
                      const std::vector<double>& values) const {
    return array(name, rows, columns, values, 6, 9);
  }
  std::string structure(const std::string& name,
                        const std::vector<std::pair<std::string, std::string>>& fields) const {
    std::string names, content;
    for (const auto& [field, value] : fields) {
      names += field + std::string(16 - field.size(), '\0');
      content += value;
    }
    return element(14, begin(2, 1, 1, name) + small(5, raw(16U)) + element(1, names) + content);
  }
  std::string compressed(const std::string& content) const {
    std::string out(compressBound(content.size()), '\0');
    uLongf size = out.size();
    EXPECT_EQ(compress(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(content.data()), content.size()),
              Z_OK);
    out.resize(size);
    return raw(15U) + raw(static_cast<std::uint32_t>(out.size())) + out;
  }
  std::string file(const std::string& variables) const {
    std::string head = "MATLAB 5.0 MAT-file, made up";
    head.resize(124, ' ');
    return head + raw(std::uint16_t{0x0100}) + raw(static_cast<std::uint16_t>('M' << 8 | 'I')) + variables;
  }
};

std::vector<double> ramp(int count, double step, double first = 0) {
  std::vector<double> values;
  for (int k = 0; k < count; ++k) values.push_back(first + step * k);
  return values;
}

class Mat : public Scratch {
 protected:
  Recording read(const std::string& content, const RecordingOptions& options = {}) const {
    return read_recording(make("a.mat", content), options);
  }
};

TEST_F(Mat, ArraysAreChannelsAndATimeGivesTheRate) {
  for (const bool big_endian : {false, true})
    for (const bool compressed : {false, true}) {
      const MatBytes mat{big_endian};
      std::vector<std::string> variables{
          mat.doubles("time", 8, 1, ramp(8, .02)), mat.doubles("acc", 8, 2, ramp(16, 1)),
          mat.array<std::int16_t>("raw", 1, 8, {1, -2, 3, -4, 5, -6, 7, -8}, 10, 3),
          mat.doubles("gain", 1, 1, {5}), mat.doubles("other", 3, 1, {1, 2, 3})};
      std::string all;
      for (const std::string& variable : variables) all += compressed ? mat.compressed(variable) : variable;
      const Recording r = read(mat.file(all));
      ASSERT_EQ(r.channels.size(), 3U);
      EXPECT_EQ(r.channels[0].name, "acc.1");
      EXPECT_EQ(r.channels[1].name, "acc.2");
      EXPECT_EQ(r.channels[2].name, "raw");
      EXPECT_TRUE(r.timed);
      EXPECT_EQ(r.channels[0].rate, 50);
      EXPECT_THAT(r.channels[1].samples, ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
      EXPECT_THAT(r.channels[2].samples, ElementsAre(1, -2, 3, -4, 5, -6, 7, -8));
    }
}

/// As EEGLAB has it: channels in rows, the rate beside them.
TEST_F(Mat, FieldsOfStructuresHaveTheirPathsForNames) {
  const MatBytes mat;
  const std::string structure = mat.structure(
      "EEG", {{"srate", mat.doubles("", 1, 1, {250})},
              {"data", mat.array<float>("", 2, 6, {1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60}, 7, 7)}});
  const Recording r = read(mat.file(mat.compressed(structure)));
  ASSERT_EQ(r.channels.size(), 2U);
  EXPECT_EQ(r.channels[1].name, "EEG.data.2");
  EXPECT_THAT(r.channels[0].samples, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(r.channels[1].samples, ElementsAre(10, 20, 30, 40, 50, 60));
  EXPECT_EQ(r.channels[0].rate, 250);
  RecordingOptions options;
  options.select = {"EEG.data.2"};
  EXPECT_EQ(read(mat.file(structure), options).channels.size(), 1U);
}

TEST_F(Mat, LabelsAndTimeAreNamed) {
  const MatBytes mat;
  const std::string all = mat.doubles("ms", 1, 6, ramp(6, 10)) + mat.doubles("x", 6, 1, ramp(6, 1)) +
                          mat.doubles("state", 6, 1, {0, 0, 1, 1, 1, 0});
  RecordingOptions options;
  options.time_column = "ms";
  options.label_column = "state";
  const Recording r = read(mat.file(all), options);
  ASSERT_EQ(r.channels.size(), 1U);
  EXPECT_NEAR(r.channels[0].rate, 100, 1e-9);
  ASSERT_EQ(r.annotations.size(), 3U);
  EXPECT_EQ(r.annotations[1].label, "1");
  EXPECT_NEAR(r.annotations[1].onset, .02, 1e-12);
  EXPECT_NEAR(r.annotations[1].duration, .03, 1e-12);
  options.label_column = "states";
  EXPECT_THAT([&] { read(mat.file(all), options); },
              ThrowsMessage<BadInput>(HasSubstr("no vector 'states' of 6 elements for labels")));
}

TEST_F(Mat, WhatIsNotReadIsSaidWithTheRemedy) {
  const MatBytes mat;
  const auto refused = [&](const std::string& content, const std::string& says) {
    EXPECT_THAT([&] { read(content); }, ThrowsMessage<BadInput>(HasSubstr(says)));
  };
  const std::string good = mat.file(mat.doubles("x", 6, 1, ramp(6, 1)));
  refused("", "a.mat: no MAT file of versions 5 to 7");
  refused(good.substr(0, good.size() - 9), "damaged: an element of ");
  refused(mat.file(""), "it holds no array of numbers");
  refused(mat.file(mat.array<double>("z", 6, 1, ramp(6, 1), 0x0806, 9)), "complex, sparse and text ones");
  refused(mat.file(mat.array<double>("x", 9, 1, ramp(6, 1), 6, 9)), "'x' has 9 numbers, and holds 6");
  refused(mat.file(mat.doubles("t", 6, 1, {0, 1, 2, 9, 10, 11}) + mat.doubles("x", 6, 1, ramp(6, 1))),
          "element 4 of t is 7 after the one before, where 1 is the usual step");
  refused(mat.file(mat.doubles("fs", 1, 1, {50}) + mat.doubles("rate", 1, 1, {60}) +
                   mat.doubles("x", 6, 1, ramp(6, 1))),
          "fs is 50 and rate is 60; give the rate");
  std::string deep = mat.doubles("", 1, 1, {1});
  for (int k = 0; k < 40; ++k) deep = mat.structure("", {{"f", deep}});
  refused(mat.file(deep), "structures in one another, more than 32 deep");
}

TEST_F(Mat, SurvivesDamage) {
  const MatBytes mat;
  const std::string good = mat.file(
      mat.structure("s", {{"fs", mat.doubles("", 1, 1, {50})}, {"x", mat.doubles("", 6, 1, ramp(6, 1))}}));
  int read_on = 0;
  for (std::size_t at = 128; at < good.size(); ++at)
    for (const char byte : {'\0', '\xFF', '\x7F', '\x10'}) {
      std::string damaged = good;
      damaged[at] = byte;
      try {
        ByteSource source(damaged, "damaged");
        read_on += read_mat(source, {}).channels.size() > 0;
      } catch (const BadInput&) {
      }
    }
  EXPECT_GT(read_on, 100);
}

}  // namespace
}  // namespace warploom::io
