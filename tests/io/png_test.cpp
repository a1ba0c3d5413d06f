#include "warploom/io/png.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <zlib.h>

#include <cstdlib>

#include "io/scratch.hpp"

namespace warploom::io {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

// PNG written and read here by hand from the standard (W3C PNG, third edition), with zlib.

std::string u32(std::uint64_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift & 255));
  return bytes;
}

std::uint32_t u32_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < 4; ++k) value = value << 8 | static_cast<unsigned char>(bytes[at + k]);
  return value;
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  return u32(data.size()) + body +
         u32(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(out.data()), &size,
                     reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
            Z_OK);
  out.resize(size);
  return out;
}

const std::string kSignature = "\x89PNG\r\n\x1a\n";

struct Raw {
  std::uint64_t width = 0, height = 0;
  int bits = 8, colour = 0;  // 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGB and alpha
  std::vector<unsigned> samples;
  bool interlaced = false;
  std::string palette, transparency;

  std::size_t channels() const { return colour == 2 ? 3 : colour == 4 ? 2 : colour == 6 ? 4 : 1; }

  // One row of a pass: filter type 0 and the samples, big endian, packed from the high bits.
  void add_row(std::string& rows, std::size_t y, std::size_t x0, std::size_t step) const {
    if (x0 >= width) return;
    rows.push_back(0);
    unsigned held = 0;
    int count = 0;
    for (std::size_t x = x0; x < width; x += step)
      for (std::size_t c = 0; c < channels(); ++c) {
        const unsigned sample = samples[(y * width + x) * channels() + c];
        if (bits == 16) rows.push_back(static_cast<char>(sample >> 8));
        held = held << (bits % 16) | sample;
        count += bits;
        if (count >= 8) rows.push_back(static_cast<char>(held)), held = 0, count = 0;
      }
    if (count > 0) rows.push_back(static_cast<char>(held << (8 - count)));
  }

  std::string bytes() const {
    std::string rows;
    if (!interlaced) {
      for (std::size_t y = 0; y < height; ++y) add_row(rows, y, 0, 1);
    } else {
      // Adam7: first column, step, first row, step of each pass
      const std::size_t passes[7][4] = {{0, 8, 0, 8}, {4, 8, 0, 8}, {0, 4, 4, 8}, {2, 4, 0, 4},
                                        {0, 2, 2, 4}, {1, 2, 0, 2}, {0, 1, 1, 2}};
      for (const auto& [x0, dx, y0, dy] : passes)
        for (std::size_t y = y0; y < height; y += dy) add_row(rows, y, x0, dx);
    }
    std::string header = u32(width) + u32(height);
    for (const int field : {bits, colour, 0, 0, interlaced ? 1 : 0})
      header.push_back(static_cast<char>(field));
    std::string out = kSignature + chunk("IHDR", header);
    if (!palette.empty()) out += chunk("PLTE", palette);
    if (!transparency.empty()) out += chunk("tRNS", transparency);
    return out + chunk("IDAT", deflated(rows)) + chunk("IEND", "");
  }
};

// Samples 0, 1, ... of so many bits, in a picture of 11 x 9.
Raw raw_picture(int colour, int bits, bool interlaced) {
  Raw raw;
  raw.width = 11, raw.height = 9, raw.bits = bits, raw.colour = colour, raw.interlaced = interlaced;
  const unsigned step = bits == 16 ? 257 * 3 + 1 : 1;
  for (unsigned k = 0; k < raw.width * raw.height * raw.channels(); ++k)
    raw.samples.push_back(k * step % (1U << bits));
  return raw;
}

TEST(PngRead, EveryColourDepthAndInterlacing) {
  const std::pair<int, std::vector<int>> kinds[] = {
      {0, {1, 2, 4, 8, 16}}, {2, {8, 16}}, {4, {8, 16}}, {6, {8, 16}}};
  for (const auto& [colour, depths] : kinds)
    for (const int bits : depths)
      for (const bool interlaced : {false, true}) {
        const Raw raw = raw_picture(colour, bits, interlaced);
        const std::size_t kept = colour == 2 || colour == 6 ? 3 : 1;  // without alpha
        std::vector<unsigned> want;
        for (std::size_t k = 0; k < raw.samples.size(); ++k)
          if (k % raw.channels() < kept)
            want.push_back(raw.samples[k] * (bits < 8 ? 255U / ((1U << bits) - 1) : 1));
        const Picture picture = parse_png(raw.bytes(), "x.png");
        EXPECT_EQ(picture.width, 11);
        EXPECT_EQ(picture.height, 9);
        EXPECT_EQ(picture.channels, static_cast<int>(kept));
        EXPECT_EQ(picture.maximum, bits == 16 ? 65535 : 255);
        EXPECT_THAT(picture.data, ElementsAreArray(want)) << colour << ' ' << bits << ' ' << interlaced;
      }
}

TEST(PngRead, PalettesAreLookedUp) {
  for (const int bits : {1, 2, 4, 8})
    for (const char* transparency : {"", "\x80"}) {
      Raw raw;
      raw.width = 3, raw.height = 1, raw.bits = bits, raw.colour = 3;
      raw.samples = {1, 0, 1};
      raw.palette = std::string("\x01\x02\x03\xff\x00\x7f", 6);
      raw.transparency = transparency;
      const Picture picture = parse_png(raw.bytes(), "x.png");
      EXPECT_EQ(picture.channels, 3);
      EXPECT_THAT(picture.data, ElementsAre(255, 0, 127, 1, 2, 3, 255, 0, 127)) << bits;
    }
}

TEST(PngRead, ATransparentColourIsAColour) {
  Raw raw = raw_picture(0, 8, false);
  raw.transparency = std::string("\0\x05", 2);
  const Picture picture = parse_png(raw.bytes(), "x.png");
  EXPECT_EQ(picture.channels, 1);
  EXPECT_EQ(picture.data[5], 5);
}

std::string png_refusal(const std::string& bytes) {
  return message_of([&] { parse_png(bytes, "x.png"); });
}

TEST(PngRead, WhatIsNoPngIsRefused) {
  EXPECT_THAT(png_refusal(""), HasSubstr("x.png: no PNG: it does not begin with 89 'PNG'"));
  EXPECT_THAT(png_refusal("GIF89a and more"), HasSubstr("x.png: no PNG"));
}

TEST(PngRead, CutOffAnywhereIsRefused) {
  const std::string bytes = raw_picture(2, 8, false).bytes();
  for (std::size_t size = kSignature.size(); size < bytes.size(); ++size)
    EXPECT_THAT(png_refusal(bytes.substr(0, size)), HasSubstr("x.png: cannot read this PNG: it is cut off"))
        << size;
}

TEST(PngRead, AnyFlippedBitIsRefusedOrDecodes) {
  const std::string bytes = raw_picture(2, 8, true).bytes();
  int refused = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      parse_png(damaged, "x.png");
    } catch (const BadInput& error) {
      ++refused;
      EXPECT_THAT(error.what(), HasSubstr("x.png: "));
    }
  }
  EXPECT_GT(refused, static_cast<int>(8 * bytes.size() * 9 / 10));
}

TEST(PngRead, SizesThatCannotBeAreRefusedBeforeMemoryIsTaken) {
  Raw raw = raw_picture(0, 8, false);
  const auto with_size = [&](std::uint64_t width, std::uint64_t height) {
    std::string bytes = raw.bytes();
    const std::string header = u32(width) + u32(height) + bytes.substr(24, 5);
    return kSignature + chunk("IHDR", header) + bytes.substr(8 + 25);
  };
  EXPECT_THAT(png_refusal(with_size(1U << 16, 1U << 16)),
              HasSubstr("x.png: 65536 x 65536 pixels of 1 samples are more than the limit of 2^31 samples"));
  EXPECT_THAT(png_refusal(with_size(40000, 40000)),
              HasSubstr("bytes cannot hold 40000 x 40000 pixels; it is cut off"));
  EXPECT_THAT(png_refusal(with_size(0, 5)), HasSubstr("x.png: cannot read this PNG"));
}

// libpng makes its rows when it is told that the header is over: a file of 68 bytes took 2 GB.
TEST(PngRead, AFewBytesThatClaimAWideImageTakeNoMemory) {
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // [kB]
  };
  const auto claiming = [](std::uint64_t width, std::uint64_t height, char bits, char colour) {
    const std::string header = u32(width) + u32(height) + std::string{bits, colour, 0, 0, 0};
    return kSignature + chunk("IHDR", header) + chunk("IDAT", deflated("x")) + chunk("IEND", "");
  };
  const auto before = peak();
  for (const std::string& bytes :
       {claiming(0x7fffffff, 1, 8, 0), claiming(0x2aaaaaaa, 1, 8, 2), claiming(0x7fffffff, 1, 16, 0),
        claiming(1, 0x7fffffff, 8, 0), claiming(0x7fffffff, 1, 1, 0), claiming(40000, 40000, 8, 0)}) {
    EXPECT_LT(bytes.size(), 80u);
    EXPECT_THAT(png_refusal(bytes), HasSubstr("pixels"));
  }
  EXPECT_LT(peak() - before, 50'000);
}

TEST(PngRead, MoreThanTheLimitOfMemoryIsRefused) {
  const std::string bytes =
      format_png({.width = 300, .height = 200, .channels = 1, .data = std::vector<std::uint16_t>(60'000)});
  EXPECT_THAT(
      message_of([&] { parse_png(bytes, "x.png", 100'000); }),
      HasSubstr("x.png: its 300 x 200 pixels of 1 samples need 183 kB of memory, the limit is 100 kB"));
  EXPECT_EQ(parse_png(bytes, "x.png", 200'000).width, 300);
}

// The samples of a PNG of 8 or 16 bits, grey or RGB, without interlacing.
Raw by_hand(const std::string& bytes) {
  Raw raw;
  EXPECT_EQ(bytes.substr(0, 8), kSignature);
  std::string packed;
  for (std::size_t at = 8; at < bytes.size(); at += 12 + u32_at(bytes, at)) {
    const std::string type = bytes.substr(at + 4, 4), data = bytes.substr(at + 8, u32_at(bytes, at));
    EXPECT_EQ(chunk(type, data), bytes.substr(at, 12 + data.size()));
    if (type == "IHDR") {
      raw.width = u32_at(data, 0), raw.height = u32_at(data, 4), raw.bits = data[8], raw.colour = data[9];
      EXPECT_EQ(data[12], 0);
    }
    if (type == "IDAT") packed += data;
  }
  const std::size_t sample = static_cast<std::size_t>(raw.bits) / 8, pixel = raw.channels() * sample,
                    row = raw.width * pixel;
  std::string rows(raw.height * (row + 1), '\0');
  uLongf size = rows.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  EXPECT_EQ(size, rows.size());
  std::vector<int> above(row, 0), here(row, 0);
  for (std::size_t y = 0; y < raw.height; ++y) {
    const auto* line = reinterpret_cast<const unsigned char*>(rows.data()) + y * (row + 1);
    for (std::size_t k = 0; k < row; ++k) {
      const int left = k < pixel ? 0 : here[k - pixel], up = above[k],
                corner = k < pixel ? 0 : above[k - pixel];
      const int p = left + up - corner, pa = std::abs(p - left), pb = std::abs(p - up),
                pc = std::abs(p - corner);
      const int paeth = pa <= pb && pa <= pc ? left : pb <= pc ? up : corner;
      const int predictions[] = {0, left, up, (left + up) / 2, paeth};
      here[k] = (line[1 + k] + predictions[line[0]]) & 255;
    }
    for (std::size_t k = 0; k < row; k += sample)
      raw.samples.push_back(static_cast<unsigned>(sample == 2 ? here[k] << 8 | here[k + 1] : here[k]));
    std::swap(above, here);
  }
  return raw;
}

Picture made_picture(std::int64_t width, std::int64_t height, int channels, std::uint16_t maximum) {
  Picture picture{.width = width, .height = height, .channels = channels, .data = {}, .maximum = maximum};
  for (std::int64_t k = 0; k < width * height * channels; ++k)
    picture.data.push_back(static_cast<std::uint16_t>((k * k + 37 * k) % (maximum + 1)));
  return picture;
}

TEST(PngWrite, IsReadByHandAndByReadPng) {
  for (const int channels : {1, 3})
    for (const std::uint16_t maximum : {std::uint16_t{255}, std::uint16_t{65535}})
      for (const std::int64_t width : {1, 7, 100}) {
        const Picture picture = made_picture(width, 13, channels, maximum);
        const std::string bytes = format_png(picture);
        const Raw raw = by_hand(bytes);
        EXPECT_EQ(raw.width, static_cast<std::uint64_t>(width));
        EXPECT_EQ(raw.height, 13U);
        EXPECT_EQ(raw.bits, maximum == 255 ? 8 : 16);
        EXPECT_EQ(raw.colour, channels == 1 ? 0 : 2);
        EXPECT_THAT(picture.data, ElementsAreArray(raw.samples));
        const Picture back = parse_png(bytes, "x.png");
        EXPECT_EQ(back.channels, channels);
        EXPECT_EQ(back.maximum, maximum);
        EXPECT_EQ(back.data, picture.data);
      }
}

TEST(PngWrite, SizesThatDisagreeAreRefused) {
  const auto refused = [](void (*spoil)(Picture&)) {
    Picture picture = made_picture(4, 3, 1, 255);
    spoil(picture);
    return message_of([&] { format_png(picture); });
  };
  EXPECT_THAT(refused([](Picture& p) { p.data.pop_back(); }),
              HasSubstr("PNG: 4 x 3 pixels of 1 samples do not fit 11 samples of data"));
  EXPECT_THAT(refused([](Picture& p) { p.width = 0; }), HasSubstr("PNG: 0 x 3 pixels"));
  EXPECT_THAT(refused([](Picture& p) { p.height = -3; }), HasSubstr("PNG: 4 x -3 pixels"));
  EXPECT_THAT(refused([](Picture& p) { p.width = std::int64_t{1} << 31; }),
              HasSubstr("1 to 2^31 - 1 pixels a side"));
  EXPECT_THAT(refused([](Picture& p) { p.channels = 2; }), HasSubstr("pixels of 2 samples; it takes"));
  EXPECT_THAT(refused([](Picture& p) { p.maximum = 100; }),
              HasSubstr("the largest value is 100; it must be 255 or"));
  EXPECT_THAT(refused([](Picture& p) { p.data[5] = 256; }),
              HasSubstr("a sample is 256, above the largest value 255"));
}

class PngFile : public Scratch {};

TEST_F(PngFile, ComesBack) {
  const Picture picture = made_picture(20, 30, 3, 255);
  write_png(directory / "a.png", picture);
  EXPECT_EQ(read_png(directory / "a.png").data, picture.data);
}

TEST_F(PngFile, ErrorsNameTheFile) {
  EXPECT_THAT(message_of([&] { read_png(directory / "none.png"); }), HasSubstr("none.png: No such file"));
  EXPECT_THAT(message_of([&] { read_png(make("a.png", "text")); }), HasSubstr("a.png: no PNG"));
  EXPECT_THAT(message_of([&] { write_png("/dev/full", made_picture(2, 2, 1, 255)); }),
              HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace warploom::io
