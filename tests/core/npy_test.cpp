#include "warploom/core/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A file of that header, unpadded, and data.
std::string file_of(const std::string& header, const std::string& data, char major = 1, char minor = 0) {
  std::string content = std::string("\x93NUMPY") + major + minor;
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) content += static_cast<char>(header.size() >> (8 * i));
  return content + header + data;
}

std::string header_of(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

std::string text_of(const NpyArray& array) {
  return {reinterpret_cast<const char*>(array.data.data()), array.data.size()};
}

std::string message_of(const std::string& content) {
  try {
    parse_npy(content, "a.npy");
  } catch (const BadInput& error) {
    return error.what();
  }
  return "accepted";
}

// What numpy.save() of NumPy 2.4 writes for numpy.array([[1, 2, 3], [4, 5, 6]], '<i2').
const std::string kOfNumPy =
    std::string("\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }", 69) +
    std::string(58, ' ') + "\n" + std::string("\x01\0\x02\0\x03\0\x04\0\x05\0\x06\0", 12);

TEST(ParseNpy, ReadsWhatNumPyWrites) {
  const NpyArray array = parse_npy(kOfNumPy, "a.npy");
  EXPECT_EQ(array.dtype, "i2");
  EXPECT_THAT(array.shape, ElementsAre(2u, 3u));
  EXPECT_EQ(array.count(), 6u);
  EXPECT_EQ(text_of(array), std::string("\x01\0\x02\0\x03\0\x04\0\x05\0\x06\0", 12));
}

TEST(FormatNpy, WritesWhatNumPyWrites) {
  NpyArray array{"i2", {2, 3}, {}};
  for (const int value : {1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0})
    array.data.push_back(static_cast<std::byte>(value));
  EXPECT_EQ(format_npy(array), kOfNumPy);
}

TEST(ParseNpy, ReadsEveryTypeWithItsSize) {
  const std::pair<const char*, std::size_t> types[] = {{"|b1", 1}, {"|i1", 1}, {"<i2", 2}, {"<i4", 4},
                                                       {"<i8", 8}, {"|u1", 1}, {"<u2", 2}, {"<u4", 4},
                                                       {"<u8", 8}, {"<f2", 2}, {"<f4", 4}, {"<f8", 8}};
  for (const auto& [descr, bytes] : types) {
    const std::string data = std::string("abcdefghijklmnopqrstuvwx").substr(0, 3 * bytes);
    const NpyArray array = parse_npy(file_of(header_of(descr, "(3,)"), data), "a.npy");
    EXPECT_EQ(array.dtype, descr + 1);
    EXPECT_EQ(text_of(array), data) << descr;
  }
}

TEST(ParseNpy, ReadsTheLongHeaderLengthOfVersions2And3) {
  for (const char major : {'\x02', '\x03'}) {
    const NpyArray array = parse_npy(file_of(header_of("<f4", "(1,)"), "1234", major), "a.npy");
    EXPECT_EQ(array.dtype, "f4");
    EXPECT_EQ(text_of(array), "1234");
  }
}

TEST(ParseNpy, ReadsOneValueWithoutAxes) {
  const NpyArray array = parse_npy(file_of(header_of("<f4", "()"), "1234"), "a.npy");
  EXPECT_THAT(array.shape, IsEmpty());
  EXPECT_EQ(array.count(), 1u);
}

TEST(ParseNpy, ReadsAnArrayWithoutElementsWhateverItsOtherAxes) {
  const NpyArray array =
      parse_npy(file_of(header_of("<f8", "(18446744073709551615, 0, 18446744073709551615)"), ""), "a.npy");
  EXPECT_EQ(array.shape.size(), 3u);
  EXPECT_THAT(array.data, IsEmpty());
}

TEST(ParseNpy, TakesKeysInAnyOrderAndEitherQuote) {
  const NpyArray array =
      parse_npy(file_of("{\"shape\":(2,),'fortran_order':False,\"descr\":'<u2'}", "abcd"), "a.npy");
  EXPECT_EQ(array.dtype, "u2");
  EXPECT_THAT(array.shape, ElementsAre(2u));
}

TEST(ParseNpy, EveryPrefixOfAFileIsRefused) {
  for (std::size_t length = 0; length < kOfNumPy.size(); ++length)
    EXPECT_THAT(message_of(kOfNumPy.substr(0, length)), HasSubstr("a.npy: ")) << length;
}

TEST(ParseNpy, TooManyBytesAreRefusedWithBothNumbers) {
  EXPECT_THAT(message_of(kOfNumPy + "x"),
              AllOf(HasSubstr("(2, 3)"), HasSubstr("needs 12 bytes"), HasSubstr("there are 13")));
}

TEST(ParseNpy, BigEndianIsMadeLittle) {
  EXPECT_EQ(text_of(parse_npy(file_of(header_of(">i2", "(2,)"), "abcd"), "a.npy")), "badc");
  EXPECT_EQ(text_of(parse_npy(file_of(header_of(">f4", "(1,)"), "1234"), "a.npy")), "4321");
}

TEST(ParseNpy, FortranOrderIsMadeCOrder) {
  const auto read = [](const std::string& descr, const std::string& shape, const std::string& data) {
    return text_of(parse_npy(
        file_of("{'descr': '" + descr + "', 'fortran_order': True, 'shape': " + shape + "}", data), "a.npy"));
  };
  EXPECT_EQ(read("|u1", "(2, 3)", "abcdef"), "acebdf");
  EXPECT_EQ(read("|u1", "(2, 3, 2)", "abcdefghijkl"), "agciekbhdjfl");
  EXPECT_EQ(read(">u2", "(2, 2)", "abcdefgh"), "bafedchg");
  EXPECT_EQ(read("|u1", "(0, 3)", ""), "");
}

TEST(ParseNpy, MalformedHeadersAreRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "expected '{'"},
      {"{}", "missing"},
      {"{'descr': '<f4', 'shape': (1,)}", "missing"},
      {header_of("<f4", "(1,)") + "x", "after the dictionary"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "'descr'"},
      {"{'colour': '<f4', 'fortran_order': False, 'shape': (1,)}", "'colour'"},
      {"{'descr: ", "in quotes"},
      {"{'descr' '<f4'}", "expected ':'"},
      {"{'descr': '<f4' 'fortran_order': False}", "expected '}'"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "True or False"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "structures"},
      {"{'descr': 4, 'fortran_order': False, 'shape': (1,)}", "in quotes"},
      {header_of("<f4", "(1)"), "(3,)"},
      {header_of("<f4", "(-1,)"), "number of elements"},
      {header_of("<f4", "(18446744073709551616,)"), "number of elements"},
      {header_of("<f4", "(1, 2 3)"), "expected ')'"},
      {header_of("<f4", "1"), "expected '('"},
      {header_of("<f4", "(4611686018427387904,)"), "more than 2^64"},
      {header_of("<f4", "(4294967296, 4294967296)"), "more than 2^64"},
      {header_of(
           "<f4", "(" +
                      [] {
                        std::string ones;
                        for (int i = 0; i < 65; ++i) ones += "1, ";
                        return ones;
                      }() +
                      ")"),
       "64 axes"},
      {header_of("<f16", "(1,)"), "'<f16'"},
      {header_of("|f4", "(1,)"), "'|f4'"},
      {header_of("<c8", "(1,)"), "'<c8'"},
      {header_of("<,1", "(1,)"), "'<,1'"},
      {header_of("<U4", "(1,)"), "'<U4'"},
      {header_of("O", "(1,)"), "'O'"},
      {header_of("", "(1,)"), "''"},
  };
  for (const auto& [header, named] : cases)
    EXPECT_THAT(message_of(file_of(header, "1234")), AllOf(HasSubstr("a.npy: "), HasSubstr(named))) << header;
}

TEST(ParseNpy, OtherFilesAndVersionsAreRefused) {
  EXPECT_THAT(message_of("PK\x03\x04 an .npz"), HasSubstr("no .npy file"));
  EXPECT_THAT(message_of(file_of(header_of("<f4", "(1,)"), "1234", 4)), HasSubstr("format 4.0"));
  EXPECT_THAT(message_of(file_of(header_of("<f4", "(1,)"), "1234", 1, 1)), HasSubstr("format 1.1"));
}

TEST(FormatNpy, PutsTheElementsAtAMultipleOf64Bytes) {
  for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{},
                                                  {1},
                                                  {1, 1, 1},
                                                  std::vector<std::uint64_t>(12, 1),
                                                  std::vector<std::uint64_t>(40, 1)})
    EXPECT_EQ(format_npy({"u1", shape, {std::byte{7}}}).size() % 64, 1u) << shape.size();
}

TEST(FormatNpy, RefusesDataThatIsNotOfItsShapeOrType) {
  EXPECT_THROW(format_npy({"u4", {2}, std::vector<std::byte>(7)}), BadInput);
  EXPECT_THROW(format_npy({"f16", {1}, std::vector<std::byte>(16)}), BadInput);
}

TEST(Npy, ComesBackFromAFileAsItWent) {
  std::string pattern = (std::filesystem::temp_directory_path() / "warploom_npy_XXXXXX").string();
  const std::filesystem::path directory = mkdtemp(pattern.data());
  const NpyArray array{"f2", {3, 1}, std::vector<std::byte>(6, std::byte{9})};
  write_npy(directory / "a.npy", array);
  const NpyArray back = read_npy(directory / "a.npy");
  std::filesystem::remove_all(directory);
  EXPECT_EQ(back.dtype, array.dtype);
  EXPECT_EQ(back.shape, array.shape);
  EXPECT_EQ(back.data, array.data);
}

}  // namespace
}  // namespace warploom
