// Integers that what is written could not hold are refused where they come from.
#include "warploom/tile/index_range.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tile_cases.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

using test::analyse;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t int_most = 2147483647;

/// The message for the code of the steps; "" if it may be written.
std::string emission_refusal(const Nest& nest, Emitted as, const std::vector<Step>& steps = {}) {
  try {
    check_index_range(nest, transform(nest, steps).code(), as);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}
std::string emission_refusal(const std::string& text, std::vector<SizeRange> sizes, Emitted as,
                             const std::vector<Step>& steps = {}) {
  return emission_refusal(analyse(text, std::move(sizes)), as, steps);
}

const std::string line = "void f(int n, float A[n]) {\n  for (int i = 0; i < n; i++)\n    A[i] = 1.0f;\n}\n";

TEST(IndexRange, SizesBeyondIntAreLocated) {
  EXPECT_EQ(
      emission_refusal(line, {{"n", 3000000000, 3000000000}}, Emitted::c),
      "nest.c:1:12: size 'n': it may reach 3000000000, and the C that is written counts with int, here up "
      "to 2147483647; allow smaller ones, as `size` n=..1000000000, or declare it as long");
  EXPECT_THAT(
      emission_refusal(line, {{"n", {}, 3000000000}}, Emitted::cuda),
      AllOf(StartsWith("nest.c:1:12: size 'n': it may reach 3000000000, and the CUDA that is written "),
            Not(HasSubstr("long"))));
  EXPECT_THAT(emission_refusal(line, {{"n", 3000000000, {}}}, Emitted::c),
              HasSubstr("it may reach 3000000000"));
}

TEST(IndexRange, WhatFitsAndWhatIsNotKnownPasses) {
  EXPECT_EQ(emission_refusal(line, {}, Emitted::c), "");
  EXPECT_EQ(emission_refusal(line, {}, Emitted::cuda), "");
  EXPECT_EQ(emission_refusal(line, {{"n", 5, {}}}, Emitted::cuda), "");
  EXPECT_EQ(emission_refusal(line, {{"n", 0, int_most}}, Emitted::c), "");
  EXPECT_EQ(emission_refusal(line, {{"n", 0, 0}}, Emitted::c), "");
  // 16 GB: indexes of rows and columns are small, elements are numbered with 64 bits.
  EXPECT_EQ(emission_refusal(test::gemm_text, {{"n", 65536, 65536}}, Emitted::cuda), "");
}

TEST(IndexRange, AGridNeedsRoomAfterItsEnd) {
  EXPECT_THAT(emission_refusal(line, {{"n", int_most, int_most}}, Emitted::cuda),
              HasSubstr("here up to 2146435071"));
  EXPECT_EQ(emission_refusal(line, {{"n", {}, int_most - (1 << 20)}}, Emitted::cuda), "");
}

TEST(IndexRange, BoundsThatMultiplySizesCount) {
  const std::string twice =
      "void f(int n, float A[5]) {\n  for (int i = 0; i < 2 * n; i++)\n    A[0] = A[0] + 1.0f;\n}\n";
  EXPECT_EQ(emission_refusal(twice, {{"n", 1 << 29, 1 << 29}}, Emitted::c), "");
  EXPECT_THAT(emission_refusal(twice, {{"n", 2000000000, 2000000000}}, Emitted::c),
              StartsWith("nest.c:2:3: loop 'i': it may reach 4000000000, "));
}

TEST(IndexRange, TheValueThatEndsALoopCounts) {
  const auto with = [](const std::string& head) {
    return emission_refusal("void f(float A[5]) {\n  for (" + head + ")\n    A[0] = A[0] + 1.0f;\n}\n", {},
                            Emitted::c);
  };
  EXPECT_EQ(with("int i = 0; i < 2147483647; i++"), "");
  EXPECT_THAT(with("int i = 0; i <= 2147483647; i++"), HasSubstr("loop 'i': it may reach 2147483648"));
  EXPECT_THAT(with("int i = 0; i < 2147483647; i += 5"), HasSubstr("loop 'i': it may reach 2147483651"));
  EXPECT_THAT(with("int i = 5; i > -2147483647; i -= 3"), HasSubstr("loop 'i': it may reach -2147483649"));
  EXPECT_EQ(with("int i = 3; i < -3; i += 2147483647"), "");
}

TEST(IndexRange, SubscriptsAndExtentsCount) {
  const std::string stride =
      "void f(int n, float A[8 * n]) {\n  for (int i = 0; i < n; i++)\n    A[8 * i] = 1.0f;\n}\n";
  EXPECT_THAT(emission_refusal(stride, {{"n", 1 << 30, 1 << 30}}, Emitted::cuda),
              StartsWith("nest.c:1:21: extent of array 'A': it may reach 8589934592, "));
  const std::string twice =
      "void f(int n, float A[n + 9]) {\n  for (int i = 0; i < n; i++)\n    for (int j = i; j < i + 9; j++)\n"
      "      A[2 * i - j + 8] = 1.0f;\n}\n";
  EXPECT_EQ(emission_refusal(twice, {{"n", 1000000000, 1000000000}}, Emitted::c), "");
  EXPECT_THAT(emission_refusal(twice, {{"n", 1500000000, 1500000000}}, Emitted::c),
              AllOf(StartsWith("nest.c:4:7: subscript of 'A["), HasSubstr("it may reach 2999999998")));
}

TEST(IndexRange, StripsAndSkewsCount) {
  const std::vector<Step> strips{StripMine{"i", 1 << 30}};
  EXPECT_EQ(emission_refusal(line, {{"n", 1 << 30, 1 << 30}}, Emitted::c, strips), "");
  EXPECT_THAT(emission_refusal(line, {{"n", 2000000000, 2000000000}}, Emitted::c, strips),
              HasSubstr("it may reach"));
  const std::vector<Step> skew{Skew{"j", 1000, "i"}};
  EXPECT_EQ(emission_refusal(test::permutable_text, {{"n", 1000, 1000}, {"m", 1000, 1000}}, Emitted::c, skew),
            "");
  EXPECT_THAT(
      emission_refusal(test::permutable_text, {{"n", 10000000, 10000000}, {"m", 5, 5}}, Emitted::c, skew),
      AllOf(StartsWith("nest.c:4:"), HasSubstr("loop 'j': it may reach")));
}

TEST(IndexRange, SizesWiderThanIntAreKeptInC) {
  const auto c = [](const std::string& type, std::vector<SizeRange> sizes) {
    const Nest nest =
        analyse("void f(" + type + " n, int m, float A[n][m]) {\n  for (" + type +
                    " i = 0; i < n; i++)\n    for (int j = 0; j < m; j++)\n      A[i][j] = 1.0f;\n}\n",
                std::move(sizes));
    return emit_c(nest, transform(nest, {Tile{{{"i", 32}, {"j", 32}}}}).code());
  };
  for (const char* type : {"long", "size_t", "unsigned", "int64_t", "unsigned long long", "uint32_t"}) {
    EXPECT_THAT(c(type, {{"n", 3000000000, 3000000000}}),
                AllOf(HasSubstr("void f(long n, int m, float A[restrict n][m]) {"),
                      HasSubstr("for (long ii = 0; ii < 3000000000; ii += 32)"),
                      HasSubstr("long min(long a, long b)"), Not(HasSubstr("(int "))))
        << type;
  }
  EXPECT_THROW(c("long", {{"m", 3000000000, 3000000000}}), BadInput);  // it is an int all the same
  for (const char* type : {"int", "short", "int32_t", "unsigned short"})
    EXPECT_THAT(c(type, {}), AllOf(HasSubstr("void f(int n, int m, "), Not(HasSubstr("long ")))) << type;
}

TEST(IndexRange, NumbersWiderThanIntAreCountedWithLongInC) {
  const Nest nest = analyse(
      "void f(float A[3000000000]) {\n  for (long i = 0; i < 3000000000; i++)\n    A[i] = 1.0f;\n}\n");
  EXPECT_THAT(emit_c(nest, nest.region().body), HasSubstr("for (long i = 0; i < 3000000000; i++)"));
  EXPECT_EQ(
      emission_refusal(nest, Emitted::cuda),
      "nest.c:1:14: extent of array 'A': it may reach 3000000000, and the CUDA that is written counts with "
      "int, here up to 2147483647; make the nest's numbers smaller");
}

TEST(IndexRange, SizesWiderThanIntHaveToBeBoundedForAGpu) {
  const std::string text =
      "typedef unsigned long index;\nvoid f(index n, float A[n]) {\n  for (index i = 0; i < n; i++) A[i] = 1.0f;\n}\n";
  EXPECT_EQ(
      emission_refusal(text, {}, Emitted::cuda),
      "nest.c:2:14: size 'n': its type index has values that the int of the CUDA that is written cannot "
      "hold; say how large it may be, as `size` n=..2146435071");
  EXPECT_EQ(emission_refusal(text, {{"n", {}, 2146435071}}, Emitted::cuda), "");
  EXPECT_EQ(emission_refusal(text, {{"n", 4000000000, 4000000000}}, Emitted::c), "");
}

}  // namespace
}  // namespace warploom::tile
