#include "sim/tolerance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "warploom/core/error.hpp"

namespace warploom::sim {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Comparison compare_floats(std::vector<float> a, std::vector<float> b, std::string_view tolerance = "0 ulp") {
  return compare(*find_element_type("f32"), std::as_bytes(std::span(a)), std::as_bytes(std::span(b)),
                 parse_tolerance(tolerance));
}

TEST(Tolerance, CountsUnitsOfTheLastPlace) {
  const float next = std::nextafter(1.0F, 2.0F);
  EXPECT_EQ(compare_floats({1, 1}, {1, next}).differing, 1U);
  EXPECT_EQ(compare_floats({1}, {next}).largest_ulp, 1);
  EXPECT_EQ(compare_floats({1}, {next}).outside, 1U);
  EXPECT_EQ(compare_floats({1}, {next}, "1 ulp").outside, 0U);
  EXPECT_EQ(compare_floats({1}, {std::nextafter(next, 2.0F)}, "1 ulp").outside, 1U);
}

TEST(Tolerance, CountsAcrossZero) {
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(compare_floats({-least}, {least}).largest_ulp, 2);
  const Comparison zeros = compare_floats({-0.0F}, {0.0F});
  EXPECT_EQ(zeros.differing, 1U);
  EXPECT_EQ(zeros.largest_ulp, 0);
}

TEST(Tolerance, FarthestNumbersAreCountedToo) {
  const double most = std::numeric_limits<double>::max();
  const double a[] = {-most}, b[] = {most};
  EXPECT_NEAR(compare(*find_element_type("f64"), std::as_bytes(std::span(a)), std::as_bytes(std::span(b)), {})
                  .largest_ulp,
              1.8e19, 1e18);
}

TEST(Tolerance, ANaNIsNoNumberWhateverTheBound) {
  EXPECT_EQ(compare_floats({kNaN}, {1}, "1e9 ulp or 1e9 absolute or 9 relative").outside, 1U);
  const Comparison payloads = compare_floats({kNaN}, {-kNaN});
  EXPECT_EQ(payloads.outside, 0U);
  EXPECT_EQ(payloads.nan_payloads, 1U);
}

TEST(Tolerance, InfinityIsNearItselfAlone) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compare_floats({infinity}, {infinity}).differing, 0U);
  EXPECT_EQ(compare_floats({infinity}, {1}, "1e30 absolute").outside, 1U);
  EXPECT_EQ(compare_floats({infinity}, {-infinity}, "0.5 relative").outside, 1U);
}

TEST(Tolerance, OneOfSeveralBoundsIsEnough) {
  EXPECT_EQ(compare_floats({1e-9F}, {2e-9F}, "1 ulp or 1e-8 absolute").outside, 0U);
  EXPECT_EQ(compare_floats({1}, {1.01F}, "1 ulp or 1e-8 absolute").outside, 1U);
  EXPECT_EQ(compare_floats({100}, {101}, "1e-2 relative; for some reason").outside, 0U);
}

TEST(Tolerance, RowsHaveBoundsOfTheirOwn) {
  EXPECT_EQ(compare_floats({1, 1, 1, 1}, {1, 1, 2, 2}, "0 1 absolute").outside, 0U);
  EXPECT_EQ(compare_floats({1, 1, 1, 1}, {1, 2, 2, 2}, "0 1 absolute").outside, 1U);
}

TEST(Tolerance, IntegersAgreeBitByBit) {
  const int a[] = {1, 2}, b[] = {1, 3}, swapped[] = {2, 1};
  const auto outside = [&](const int(&other)[2], std::string_view tolerance) {
    return compare(*find_element_type("i32"), std::as_bytes(std::span(a)), std::as_bytes(std::span(other)),
                   parse_tolerance(tolerance))
        .outside;
  };
  EXPECT_EQ(outside(b, "9 absolute"), 1U);
  EXPECT_EQ(outside(swapped, "9 absolute"), 2U);
  EXPECT_EQ(outside(swapped, "any order; atomics"), 0U);
  EXPECT_EQ(outside(b, "any order"), 1U);
}

TEST(Tolerance, HalvesHaveTheirOwnPlaces) {
  const std::uint16_t one[] = {0x3c00, 0xfc00}, next[] = {0x3c01, 0xfbff};
  const auto largest = [&](std::string_view type) {
    return compare(*find_element_type(type), std::as_bytes(std::span(one)), std::as_bytes(std::span(next)),
                   {});
  };
  EXPECT_EQ(largest("f16").largest_ulp, 1);
  EXPECT_EQ(largest("f16").first_outside, "element 0: 1 and 1.0009765625 (1 ulp)");
}

TEST(Tolerance, WhatIsNoToleranceIsRefused) {
  for (const char* text :
       {"", "ulp", "1", "1 ulp or", "1 ulps", "any", "about 1 ulp", "1 ulp 2 absolute x"}) {
    SCOPED_TRACE(text);
    EXPECT_THROW(parse_tolerance(text), BadInput);
  }
}

}  // namespace
}  // namespace warploom::sim
