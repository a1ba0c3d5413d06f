#include "warploom/sim/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>

#include "warploom/core/file.hpp"
#include "warploom/core/npy.hpp"

namespace warploom::sim {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;

template <typename T>
std::vector<T> values_of(const ArgumentText& argument) {
  const std::vector<std::byte> bytes = argument.bytes();
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  EXPECT_EQ(out.size() * sizeof(T), bytes.size());
  return out;
}
template <typename T>
std::vector<T> values_of(std::string_view text) {
  return values_of<T>(parse_argument(text));
}
template <typename T>
T value_of(std::string_view text) {
  return values_of<T>(text).at(0);
}

std::string message_of(std::string_view text) {
  try {
    static_cast<void>(parse_argument(text).bytes());
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ScalarArgument, IntegersReachBothEndsOfTheirRange) {
  EXPECT_EQ(value_of<std::int8_t>("i8:-128"), -128);
  EXPECT_EQ(value_of<std::uint8_t>("u8:255"), 255);
  EXPECT_EQ(value_of<std::int16_t>("i16:32767"), 32767);
  EXPECT_EQ(value_of<std::uint16_t>("u16:65535"), 65535);
  EXPECT_EQ(value_of<std::int32_t>("i32:-2147483648"), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(value_of<std::uint32_t>("u32:4294967295"), 4294967295u);
  EXPECT_EQ(value_of<std::int64_t>("i64:-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(value_of<std::int64_t>("i64:9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(value_of<std::uint64_t>("u64:18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
}

TEST(ScalarArgument, IntegersMayBeHexadecimal) {
  EXPECT_EQ(value_of<std::uint32_t>("u32:0xdeadBEEF"), 0xdeadbeefu);
  EXPECT_EQ(value_of<std::int16_t>("i16:-0x10"), -16);
}

TEST(ScalarArgument, RealsAreTheNearestValues) {
  EXPECT_EQ(value_of<float>("f32:0.1"), 0.1f);
  EXPECT_EQ(value_of<double>("f64:-1e-300"), -1e-300);
  EXPECT_EQ(value_of<float>("f32:-inf"), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(value_of<double>("f64:nan")));
  EXPECT_TRUE(std::signbit(value_of<float>("f32:-0")));
  // Just above the middle of 1 and its successor in f32, by less than a double resolves.
  EXPECT_EQ(value_of<float>("f32:1.00000005960464477539062500001"), std::nextafter(1.0f, 2.0f));
}

TEST(ScalarArgument, HalfTypesAreRoundedToNearestEven) {
  const std::pair<const char*, std::uint16_t> cases[] = {
      {"f16:1", 0x3c00},
      {"f16:-2", 0xc000},
      {"f16:65504", 0x7bff},
      {"f16:65519.99", 0x7bff},
      {"f16:inf", 0x7c00},
      {"f16:nan", 0x7e00},
      {"f16:-0", 0x8000},
      {"f16:6e-8", 0x0001},
      {"f16:2.98023223876953125e-8", 0x0000},
      {"f16:0.00006103515625", 0x0400},  // the least normal value, 2^-14
      {"f16:0.00006099", 0x03ff},        // below it: subnormal
      {"f16:2049", 0x6800},              // a tie, to 2048
      {"f16:2051", 0x6802},              // a tie, to 2052
      {"f16:2047.5", 0x6800},            // a tie that carries into the exponent
      {"bf16:1", 0x3f80},
      {"bf16:3.140625", 0x4049},
      {"bf16:-1e38", 0xfe96},
      {"bf16:257", 0x4380},  // a tie, to 256
      {"bf16:259", 0x4382},  // a tie, to 260
      {"bf16:inf", 0x7f80},
  };
  for (const auto& [text, bits] : cases) EXPECT_EQ(value_of<std::uint16_t>(text), bits) << text;
}

TEST(ScalarArgument, BytesLieInMemoryAsWritten) {
  EXPECT_THAT(values_of<std::uint8_t>("bytes:8:0a000000ffFFff7f"),
              ElementsAre(0x0a, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f));
}

TEST(BufferArgument, ConstantFillsAreOfTheType) {
  EXPECT_THAT(values_of<float>("buf:f32:3:ones"), ElementsAre(1.0f, 1.0f, 1.0f));
  EXPECT_THAT(values_of<std::int64_t>("buf:i64:2:ones"), ElementsAre(1, 1));
  EXPECT_THAT(values_of<std::uint16_t>("buf:f16:2:ones"), Each(0x3c00));
  EXPECT_THAT(values_of<std::uint16_t>("buf:bf16:2:ones"), Each(0x3f80));
  EXPECT_THAT(values_of<double>("buf:f64:2:zero"), ElementsAre(0.0, 0.0));
}

TEST(BufferArgument, IndexCountsAndIntegersWrapAround) {
  EXPECT_THAT(values_of<double>("buf:f64:4:index"), ElementsAre(0.0, 1.0, 2.0, 3.0));
  const std::vector<std::uint8_t> bytes = values_of<std::uint8_t>("buf:u8:258:index");
  EXPECT_EQ(bytes[255], 255);
  EXPECT_EQ(bytes[257], 1);
}

TEST(BufferArgument, RandomIntegersAreTheLowBitsOfSplitMix64) {
  // The generator's published outputs for seed 1234567.
  const std::uint64_t published[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                     4593380528125082431u, 16408922859458223821u};
  ArgumentText argument = parse_argument("buf:u64:5:random");
  argument.seed = 1234567;
  EXPECT_THAT(values_of<std::uint64_t>(argument), ElementsAreArray(published));
  argument.type = "i16";
  EXPECT_EQ(values_of<std::int16_t>(argument)[3], static_cast<std::int16_t>(published[3]));
}

TEST(BufferArgument, RandomRealsAreItsHighBitsAsAFraction) {
  ArgumentText argument = parse_argument("buf:f32:2:random");
  argument.seed = 1234567;
  EXPECT_EQ(values_of<float>(argument)[1], static_cast<float>(3203168211198807973u >> 40) / 16777216.0f);
  argument.type = "f64";
  EXPECT_EQ(values_of<double>(argument)[1],
            static_cast<double>(3203168211198807973u >> 11) / 9007199254740992.0);
}

TEST(BufferArgument, RandomRealsFillTheHalfOpenUnitInterval) {
  double sum = 0;
  for (const float value : values_of<float>("buf:f32:100000:random")) {
    ASSERT_GE(value, 0.0f);
    ASSERT_LT(value, 1.0f);
    sum += value;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 5 * std::sqrt(1.0 / 12 / 100000));  // five standard deviations
}

TEST(BufferArgument, RandomHalvesStayBelowOne) {
  for (const std::uint16_t bits : values_of<std::uint16_t>("buf:f16:20000:random")) ASSERT_LT(bits, 0x3c00);
  for (const std::uint16_t bits : values_of<std::uint16_t>("buf:bf16:20000:random")) ASSERT_LT(bits, 0x3f80);
}

TEST(BufferArgument, AnElementDoesNotDependOnTheCount) {
  const std::vector<float> few = values_of<float>("buf:f32:3:random(-1,1,9)");
  const std::vector<float> many = values_of<float>("buf:f32:1000:random(-1,1,9)");
  EXPECT_THAT(few, ElementsAreArray(std::span(many).first(3)));
}

TEST(BufferArgument, SeedsGiveOtherValues) {
  EXPECT_NE(values_of<std::uint64_t>("buf:u64:4:random(0,1000000,1)"),
            values_of<std::uint64_t>("buf:u64:4:random(0,1000000,2)"));
}

TEST(BufferArgument, IntegerRangesHoldBothEnds) {
  std::array<int, 6> seen{};
  for (const std::int8_t value : values_of<std::int8_t>("buf:i8:1000:random(-2,3)")) {
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 3);
    ++seen[static_cast<std::size_t>(value + 2)];
  }
  EXPECT_THAT(seen, Each(testing::Gt(100)));
}

TEST(BufferArgument, RealRangesAreReachedFromOneEndToTheOther) {
  float least = 100, most = -100;
  for (const float value : values_of<float>("buf:f32:10000:random(-2.5,7.5)")) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_GE(least, -2.5f);
  EXPECT_LT(least, -2.4f);
  EXPECT_LE(most, 7.5f);
  EXPECT_GT(most, 7.4f);
}

// A directory of its own for each test.
class ArgumentFile : public testing::Test {
 protected:
  ArgumentFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "warploom_sim_XXXXXX").string();
    directory = mkdtemp(pattern.data());
  }
  ~ArgumentFile() override { std::filesystem::remove_all(directory); }

  std::string save(const std::string& dtype, std::vector<std::uint64_t> shape,
                   std::span<const std::byte> data) const {
    const std::filesystem::path path = directory / "a.npy";
    write_npy(path, {dtype, std::move(shape), {data.begin(), data.end()}});
    return path.string();
  }
  std::filesystem::path directory;
};

TEST_F(ArgumentFile, GivesItsElementsAndTheirNumber) {
  const float values[] = {1, -2, 3, 4, 5, 6};
  const std::string path = save("f4", {2, 3}, std::as_bytes(std::span(values)));
  EXPECT_THAT(values_of<float>("buf:f32::" + path), ElementsAreArray(values));
  EXPECT_THAT(values_of<float>("buf:f32:6:" + path), ElementsAreArray(values));
}

TEST_F(ArgumentFile, OfAnotherTypeCountOrLengthIsRefused) {
  const float values[] = {1, 2};
  const std::string path = save("f4", {2}, std::as_bytes(std::span(values)));
  EXPECT_THAT(message_of("buf:f64::" + path), AllOf(HasSubstr(path), HasSubstr("f4"), HasSubstr("f8")));
  EXPECT_THAT(message_of("buf:f32:3:" + path), AllOf(HasSubstr("2 elements"), HasSubstr("says 3")));
  write_file_atomically(path, read_file(path).substr(0, 130));
  EXPECT_THAT(message_of("buf:f32::" + path), AllOf(HasSubstr("needs 8 bytes"), HasSubstr("there are 2")));
  save("f4", {0}, {});
  EXPECT_THAT(message_of("buf:f32::" + path), HasSubstr("no elements"));
  EXPECT_THAT(message_of("buf:f32::" + path + "x.npy"), HasSubstr("No such file"));
}

TEST_F(ArgumentFile, OfBooleansFillsBytesAndHalvesOfBrainTypeAreTheirBits) {
  const std::byte two[] = {std::byte{1}, std::byte{0}};
  EXPECT_THAT(values_of<std::uint8_t>("buf:u8::" + save("b1", {2}, two)), ElementsAre(1, 0));
  EXPECT_THAT(values_of<std::uint16_t>("buf:bf16::" + save("u2", {1}, two)), ElementsAre(1));
}

TEST(ParseArgument, MalformedTextsAreRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "TYPE:VALUE"},
      {"64", "TYPE:VALUE"},
      {"int:64", "'int'"},
      {"i32:", "''"},
      {"i32:abc", "'abc'"},
      {"i32:1.5", "'1.5'"},
      {"i32: 1", "' 1'"},
      {"i32:+1", "'+1'"},
      {"i32:--1", "'--1'"},
      {"i32:0x", "'0x'"},
      {"i32:2147483648", "-2147483648 to 2147483647"},
      {"i8:-129", "-128 to 127"},
      {"u32:-1", "0 to 4294967295"},
      {"u64:18446744073709551616", "0 to 18446744073709551615"},
      {"f32:x", "'x'"},
      {"f32:1e39", "'1e39'"},
      {"f16:65520", "'65520'"},
      {"bf16:1e39", "'1e39'"},
      {"f64:1e400", "'1e400'"},
      {"bytes:2:00", "bytes:COUNT:HEX"},
      {"bytes:1:0", "bytes:COUNT:HEX"},
      {"bytes:1:0g", "bytes:COUNT:HEX"},
      {"bytes:1:+1", "bytes:COUNT:HEX"},
      {"bytes:0:", "bytes:COUNT:HEX"},
      {"bytes:-1:00", "bytes:COUNT:HEX"},
      {"bytes:18446744073709551615:00", "bytes:COUNT:HEX"},
      {"buf:f32", "buf:TYPE:COUNT:FILL"},
      {"buf:f32:4", "buf:TYPE:COUNT:FILL"},
      {"buf:b32:4:zero", "'b32'"},
      {"buf:bytes:4:zero", "'bytes'"},
      {"buf:f32:0:zero", "'0'"},
      {"buf:f32:-4:zero", "'-4'"},
      {"buf:f32:4x:zero", "'4x'"},
      {"buf:f32::zero", "''"},
      {"buf:f32:18446744073709551616:zero", "'18446744073709551616'"},
      {"buf:f32:4:", "''"},
      {"buf:f32:4:ones ", "'ones '"},
      {"buf:f32:4:data.bin", "'data.bin'"},
      {"buf:f32:4:.npy", "'.npy'"},
      {"buf:f32:4:random(", "'random('"},
      {"buf:f32:4:random()", "random()"},
      {"buf:f32:4:random(1)", "random(1)"},
      {"buf:f32:4:random(2,1)", "random(2,1)"},
      {"buf:f32:4:random(0,inf)", "random(0,inf)"},
      {"buf:f32:4:random(0,1e39)", "random(0,1e39)"},
      {"buf:f64:4:random(-1.7e308,1.7e308)", "random(-1.7e308,1.7e308)"},
      {"buf:f32:4:random(0,1,-1)", "random(0,1,-1)"},
      {"buf:f32:4:random(0,1,2,3)", "random(0,1,2,3)"},
      {"buf:i32:4:random(0,1.5)", "random(0,1.5)"},
      {"buf:u8:4:random(0,256)", "random(0,256)"},
      {"buf:u8:4:random(-1,2)", "random(-1,2)"},
      {"buf:u64:4:random(0,1e18)", "2^53"},
  };
  for (const auto& [text, named] : cases)
    EXPECT_THAT(message_of(text), AllOf(HasSubstr(named), Not(HasSubstr("\n")))) << text;
}

TEST(ParseArgument, ABufferThatCannotBeIsOutOfMemoryAndNoCrash) {
  for (const char* text : {"buf:f64:18446744073709551615:random", "buf:f64:2305843009213693952:zero",
                           "buf:u8:1000000000000000:ones"})
    EXPECT_THROW(static_cast<void>(parse_argument(text).bytes()), OutOfMemory) << text;
}

TEST(ParseLaunches, ReadsALaunchALineWithCommentsAndContinuations) {
  const std::vector<LaunchText> launches = parse_launches(
      "# two launches\n"
      "\n"
      "--kernel scale --grid 4 --block 256 --arg i32:64  # the first\r\n"
      "--kernel=\"demo<256, 8>\" \\  \n"
      "   --grid 4,3,2 --block=16,16 \\\n"
      "   --dynamic-shared 1024 --arg buf:f32:8:random '--arg' f32:0.5",
      "k.sim");
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kernel, "scale");
  EXPECT_EQ(launches[0].grid.count(), 4u);
  EXPECT_EQ(launches[0].block.x, 256u);
  EXPECT_EQ(launches[0].dynamic_shared, 0u);
  ASSERT_EQ(launches[0].arguments.size(), 1u);
  EXPECT_EQ(launches[0].arguments[0].value, "64");
  EXPECT_EQ(launches[0].line, "--kernel scale --grid 4 --block 256 --arg i32:64");
  EXPECT_EQ(launches[1].kernel, "demo<256, 8>");
  EXPECT_EQ(launches[1].grid.z, 2u);
  EXPECT_EQ(launches[1].block.y, 16u);
  EXPECT_EQ(launches[1].block.z, 1u);
  EXPECT_EQ(launches[1].dynamic_shared, 1024u);
  EXPECT_EQ(launches[1].arguments.size(), 2u);
}

TEST(ParseLaunches, RandomBuffersOfOneLaunchDiffer) {
  const std::vector<LaunchText> launches = parse_launches(
      "--kernel k --grid 1 --block 1 --arg buf:u32:4:random --arg buf:u32:4:random --arg buf:u32:4:random(0,9,77)",
      "k.sim");
  const std::vector<ArgumentText>& arguments = launches.at(0).arguments;
  EXPECT_EQ(arguments[1].seed, 1u);
  EXPECT_EQ(arguments[2].seed, 77u);
  EXPECT_NE(arguments[0].bytes(), arguments[1].bytes());
}

TEST(ParseLaunches, FilesAreFoundBesideTheSimFile) {
  const std::vector<LaunchText> launches = parse_launches(
      "--kernel k --grid 1 --block 1 --arg buf:f32::a.npy --arg buf:f32::/data/b.npy", "cases/k.sim");
  EXPECT_EQ(launches.at(0).arguments[0].path, "cases/a.npy");
  EXPECT_EQ(launches.at(0).arguments[1].path, "/data/b.npy");
}

TEST(ParseLaunches, OfNothingButCommentsAreNone) {
  EXPECT_TRUE(parse_launches("", "k.sim").empty());
  EXPECT_TRUE(parse_launches("# a\n \t\n\\\n#", "k.sim").empty());
}

TEST(ParseLaunches, MistakesAreNamedByLineAndColumn) {
  const std::string good = "--kernel k --grid 1 --block 1";
  const std::pair<std::string, const char*> cases[] = {
      {"--kernel k --block 1", "k.sim:1:1: the launch has no --grid"},
      {"\n--grid 1 --block 1", "k.sim:2:1: the launch has no --kernel"},
      {"--kernel k --grid 1", "has no --block"},
      {good + " --arg", "k.sim:1:31: --arg has no value"},
      {good + " --arg i32:x", "k.sim:1:31: argument 'i32:x'"},
      {good + " \\\n  --arg i32:x", "k.sim:2:3: argument 'i32:x'"},
      {good + " --args i32:1", "'--args' is none of"},
      {good + " i32:1", "'i32:1' is none of"},
      {good + " --grid 2", "--grid stands twice"},
      {good + " --dynamic-shared -1", "'-1' is not a number of bytes"},
      {good + " --dynamic-shared 4294967296", "'4294967296' is not a number of bytes"},
      {good + " --arg 'i32:1", "k.sim:1:37: expected the closing '"},
      {"--kernel '' --grid 1 --block 1", "the name is empty"},
      {"--kernel k --grid 0 --block 1", "k.sim:1:12: --grid: '0'"},
      {"--kernel k --grid 1,2,3,4 --block 1", "--grid: '1,2,3,4'"},
      {"--kernel k --grid 1, --block 1", "--grid: '1,'"},
      {"--kernel k --grid 1,65536 --block 1", "--grid: '1,65536'"},
      {"--kernel k --grid 2147483648 --block 1", "--grid: '2147483648'"},
      {"--kernel k --grid -1 --block 1", "--grid: '-1'"},
      {"--kernel k --grid 1 --block 2000", "--block: '2000'"},
      {"--kernel k --grid 1 --block 32,33", "--block: '32,33'"},
      {"--kernel k --grid 1 --block 1,1,65", "--block: '1,1,65'"},
  };
  for (const auto& [text, named] : cases) {
    try {
      parse_launches(text, "k.sim");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const ParseError& error) {
      EXPECT_THAT(error.what(), HasSubstr(named)) << text;
    }
  }
}

// Machine, module and buffers.
class Prepare : public testing::Test {
 protected:
  static LaunchText launch(const std::string& arguments) {
    return parse_launches("--kernel k --grid 1 --block 1 " + arguments, "k.sim").at(0);
  }
  Machine machine{
      ptx::parse(".version 7.0\n.target sm_75\n.address_size 64\n"
                 ".visible .entry k(.param .u64 a, .param .f32 b, .param .align 4 .b8 c[12]) { ret; }\n",
                 "k.ptx")};
};

TEST_F(Prepare, AllocatesAndFillsBuffersInOrder) {
  const Prepared prepared =
      prepare(machine, launch("--arg buf:u16:3:index --arg f32:1 --arg bytes:12:" + std::string(24, 'f')));
  ASSERT_EQ(prepared.buffers.size(), 3u);
  EXPECT_EQ(prepared.buffers[1], 0u);
  EXPECT_EQ(prepared.buffers[2], 0u);
  std::vector<std::uint16_t> values(3);
  machine.download(prepared.buffers[0], std::span(values));
  EXPECT_THAT(values, ElementsAre(0, 1, 2));
  const std::vector<std::vector<std::byte>>& given = prepared.arguments.values();
  ASSERT_EQ(given.size(), 3u);
  Address address = 0;
  ASSERT_EQ(given[0].size(), sizeof address);
  std::memcpy(&address, given[0].data(), sizeof address);
  EXPECT_EQ(address, prepared.buffers[0]);
  EXPECT_EQ(given[1].size(), 4u);
  EXPECT_THAT(given[2], AllOf(testing::SizeIs(12), Each(std::byte{0xff})));
}

TEST_F(Prepare, BuffersThatDoNotFitTogetherAreOutOfMemory) {
  ptx::Module module = ptx::parse(
      ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c) { ret; }\n");
  Machine three(std::move(module));
  // Each is a quarter of the machine's memory.
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  const std::string quarter =
      " --arg buf:u8:" + std::to_string(pages / 4 * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))) +
      ":zero";
  EXPECT_THROW(prepare(three, launch(quarter + quarter + quarter)), OutOfMemory);
}

}  // namespace
}  // namespace warploom::sim
