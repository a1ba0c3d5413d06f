#include "warploom/io/gzip.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

#include "io/scratch.hpp"
#include "warploom/core/memory.hpp"

namespace warploom::io {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;

// Half noise, half runs, so that it compresses to something like a half.
std::string sample(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (std::size_t k = 0; k < size; ++k) {
    state = state * 1664525U + 1013904223U;
    bytes[k] = static_cast<char>(k / 64 % 2 == 0 ? state >> 24 : k / 640);
  }
  return bytes;
}

// A member by zlib, with a name in its header.
std::string by_zlib(const std::string& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  gz_header header{};
  std::string name = "a name";
  header.name = reinterpret_cast<Bytef*>(name.data());
  deflateSetHeader(&stream, &header);
  std::string out(deflateBound(&stream, content.size()) + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// What zlib finds in a stream of members.
std::string zlib_reads(std::string stream_bytes) {
  std::string content, piece(1 << 20, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(stream_bytes.data());
  stream.avail_in = static_cast<uInt>(stream_bytes.size());
  int status = Z_OK;
  while (stream.avail_in > 0 && (status == Z_OK || status == Z_STREAM_END)) {
    if (status == Z_STREAM_END) inflateReset(&stream);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = inflate(&stream, Z_NO_FLUSH);
    content += piece.substr(0, piece.size() - stream.avail_out);
  }
  EXPECT_EQ(status, Z_STREAM_END);
  inflateEnd(&stream);
  return content;
}

std::string gzip_refusal(const std::string& bytes, std::uint64_t max_bytes = kNoLimit) {
  return message_of([&] { gunzip(bytes, "x.gz", max_bytes); });
}

TEST(Gzip, IsKnownByItsFirstBytes) {
  EXPECT_TRUE(is_gzip(gzip("abc", 6)));
  EXPECT_FALSE(is_gzip("abc"));
  EXPECT_FALSE(is_gzip("\x1f"));
  EXPECT_FALSE(is_gzip(""));
}

TEST(Gzip, AnySizeComesBackAndZlibReadsIt) {
  for (const std::size_t size : {0U, 1U, 1000U, (1U << 20) - 1, 1U << 20, (1U << 20) + 1, 3'500'000U}) {
    const std::string content = sample(size), packed = gzip(content, 1);
    EXPECT_TRUE(gunzip(packed, "x.gz", kNoLimit) == content) << size;
    EXPECT_TRUE(zlib_reads(packed) == content) << size;
  }
}

TEST(Gzip, EveryLevelComesBack) {
  const std::string content = sample(100'000);
  for (int level = 1; level <= 12; ++level) EXPECT_TRUE(zlib_reads(gzip(content, level)) == content) << level;
  EXPECT_LT(gzip(content, 12).size(), gzip(content, 1).size());
  EXPECT_THAT(message_of([&] { gzip(content, 0); }), HasSubstr("gzip level 0; it must be 1 to 12"));
  EXPECT_THAT(message_of([&] { gzip(content, 13); }), HasSubstr("gzip level 13"));
}

TEST(Gzip, TheBytesDoNotDependOnThreads) {
  const std::string content = sample(5'000'000);
  const RunScope one_thread({.threads = 1});
  const std::string one = gzip(content, 1);
  const RunScope four_threads({.threads = 4});
  EXPECT_TRUE(gzip(content, 1) == one);
  EXPECT_TRUE(gunzip(one, "x.gz", kNoLimit) == content);
}

TEST(Gunzip, ReadsOtherWritersMembers) {
  const std::string content = sample(300'000);
  EXPECT_TRUE(gunzip(by_zlib(content), "x.gz", kNoLimit) == content);
  EXPECT_EQ(gunzip(by_zlib(""), "x.gz", kNoLimit), "");
}

TEST(Gunzip, ReadsMembersOneAfterTheOther) {
  EXPECT_EQ(gunzip(by_zlib("ab") + by_zlib("") + gzip("cd", 1) + by_zlib("ef"), "x.gz", kNoLimit), "abcdef");
  EXPECT_EQ(gunzip(gzip("ab", 1) + gzip("cd", 9), "x.gz", kNoLimit), "abcd");
}

TEST(Gunzip, AStreamThatSaysNothingOfItsLengthGrows) {
  // The last member's length is 1, the first one's content 5000 times what it is compressed to.
  const std::string zeros(20'000'000, '\0');
  EXPECT_TRUE(gunzip(by_zlib(zeros) + by_zlib("x"), "x.gz", kNoLimit) == zeros + "x");
}

// A member of `count` times a MiB of zeros, and "end". One MiB is compressed, and its bytes are repeated:
// after a full flush they do not depend on what came before.
std::string zeros_and_end(std::size_t count) {
  const std::string zeros(1 << 20, '\0'), end = "end";
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  const auto packed = [&](const std::string& content, int flush) {
    std::string out(deflateBound(&stream, content.size()) + 100, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
    stream.avail_in = static_cast<uInt>(content.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, flush);
    out.resize(out.size() - stream.avail_out);
    return out;
  };
  const std::string piece = packed(zeros, Z_FULL_FLUSH), last = packed(end, Z_FINISH);
  deflateEnd(&stream);
  std::string member("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  const uLong crc_of_zeros = crc32(0, reinterpret_cast<const Bytef*>(zeros.data()), 1 << 20);
  uLong crc = 0;
  for (std::size_t k = 0; k < count; ++k) {
    member += piece;
    crc = crc32_combine(crc, crc_of_zeros, 1 << 20);
  }
  member += last;
  crc = crc32_combine(crc, crc32(0, reinterpret_cast<const Bytef*>(end.data()), 3), 3);
  const std::uint32_t tail[] = {static_cast<std::uint32_t>(crc),
                                static_cast<std::uint32_t>((count << 20) + end.size())};
  return member.append(reinterpret_cast<const char*>(tail), sizeof tail);
}

TEST(Gunzip, TakesMoreThanFourGigabytes) {
  constexpr std::size_t kMiB = 4100, kBytes = (kMiB << 20) + 3;  // the stream tells 4 MiB and 3 bytes
  EXPECT_EQ(gunzip(zeros_and_end(2), "x.gz", kNoLimit).size(), (2U << 20) + 3);
  if (available_memory() < 2 * kBytes) GTEST_SKIP() << "too little memory";
  const std::string content = gunzip(zeros_and_end(kMiB), "x.gz", kBytes, kBytes);
  ASSERT_EQ(content.size(), kBytes);
  EXPECT_EQ(content.substr(kBytes - 4), std::string("\0end", 4));
}

TEST(Gunzip, WhatIsExpectedIsAHintOnly) {
  const std::string content = sample(300'000), packed = by_zlib(content);
  for (const std::uint64_t expected : {1U, 299'999U, 300'000U, 300'001U, 4'000'000'000U})
    EXPECT_TRUE(gunzip(packed, "x.gz", 5'000'000, expected) == content) << expected;
}

TEST(Gunzip, AHeadIsReadWithoutTheRest) {
  const std::string content = sample(300'000);
  for (const std::string& packed :
       {by_zlib(content), gzip(content, 1), by_zlib(content.substr(0, 7)) + by_zlib(content.substr(7))})
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{540}})
      EXPECT_EQ(gunzip_head(packed, "x.gz", count), content.substr(0, count));
  EXPECT_EQ(gunzip_head(by_zlib("ab") + gzip("cd", 1), "x.gz", 9), "abcd");
  EXPECT_THAT(message_of([&] { gunzip_head(by_zlib(content).substr(0, 30), "x.gz", 540); }),
              HasSubstr("cut off"));
  EXPECT_THAT(message_of([&] { gunzip_head("plain", "x.gz", 540); }), HasSubstr("no gzip stream"));
  // A last block of the kind that there is not.
  const std::string damaged("\x1f\x8b\x08\0\0\0\0\0\0\x03\x07 and more", 20);
  EXPECT_THAT(message_of([&] { gunzip_head(damaged, "x.gz", 540); }), HasSubstr("corrupt"));
}

TEST(Gunzip, ZerosAfterTheLastMemberPass) {
  EXPECT_EQ(gunzip(by_zlib("abc") + std::string(600, '\0'), "x.gz", kNoLimit), "abc");
  EXPECT_EQ(gunzip(gzip("abc", 1) + std::string(1, '\0'), "x.gz", kNoLimit), "abc");
}

TEST(Gunzip, OtherBytesAfterTheLastMemberAreRefused) {
  const std::string packed = by_zlib("abc");
  EXPECT_THAT(gzip_refusal(packed + std::string("\0\0x", 3)),
              HasSubstr("x.gz: no gzip member where the next should begin, at byte " +
                        std::to_string(packed.size())));
  EXPECT_THAT(gzip_refusal(packed + "\x1f"), HasSubstr("no gzip member"));
  EXPECT_THAT(gzip_refusal("plain text"), HasSubstr("x.gz: no gzip stream: it does not begin with 1f 8b"));
  EXPECT_THAT(gzip_refusal(""), HasSubstr("x.gz: no gzip stream"));
}

TEST(Gunzip, CutOffAnywhereSaysSo) {
  for (const std::string& packed : {by_zlib(sample(500)), gzip(sample(500), 6)})
    for (std::size_t size = 2; size < packed.size(); ++size)
      EXPECT_THAT(gzip_refusal(packed.substr(0, size)),
                  HasSubstr("x.gz: the gzip stream is cut off after " + std::to_string(size) + " bytes"))
          << size;
}

TEST(Gunzip, DamageIsFoundInTheSecondMemberAsWell) {
  for (std::string packed : {by_zlib(sample(500)), gzip(sample(500), 6)}) {
    packed += packed;
    packed[packed.size() - 5] ^= 1;  // of the CRC
    EXPECT_THAT(gzip_refusal(packed), HasSubstr("x.gz: the gzip stream is corrupt: incorrect data check"));
    packed[packed.size() - 5] ^= 1;
    packed[packed.size() - 2] ^= 1;  // of the length
    EXPECT_THAT(gzip_refusal(packed), HasSubstr("x.gz: the gzip stream is corrupt: incorrect length check"));
  }
}

TEST(Gunzip, AnyFlippedBitIsRefusedOrChangesNothing) {
  const std::string content = sample(300);
  for (const std::string& packed :
       {by_zlib(content), gzip(content, 6), gzip(content, 6) + gzip(content, 6)}) {
    const std::string whole = gunzip(packed, "x.gz", kNoLimit);
    int refused = 0;
    for (std::size_t bit = 16; bit < 8 * packed.size(); ++bit) {
      std::string damaged = packed;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      try {
        EXPECT_EQ(gunzip(damaged, "x.gz", 1 << 20), whole) << bit;
      } catch (const BadInput& error) {
        ++refused;
        EXPECT_THAT(error.what(), AnyOf(HasSubstr("corrupt"), HasSubstr("cut off"),
                                        HasSubstr("no gzip member"), HasSubstr("which is the limit")))
            << bit;
      }
    }
    EXPECT_GT(refused, static_cast<int>(8 * (packed.size() - 60)));
  }
}

TEST(Gunzip, StopsAtTheLimit) {
  const std::string content = sample(70'000);
  for (const std::string& packed : {by_zlib(content), gzip(content, 6), by_zlib(content) + by_zlib("")}) {
    EXPECT_TRUE(gunzip(packed, "x.gz", 70'000) == content);
    EXPECT_THAT(gzip_refusal(packed, 69'999), HasSubstr("x.gz: more than 69999 bytes when decompressed"));
  }
}

TEST(Gunzip, ALengthThatLiesIsRefusedBeforeItIsBelieved) {
  std::string packed = gzip("abc", 6);
  packed.replace(packed.size() - 4, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(gzip_refusal(packed), HasSubstr("corrupt: incorrect length check"));
}

}  // namespace
}  // namespace warploom::io
