#include "warploom/fold/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "warploom/core/error.hpp"
#include "warploom/fold/fold.hpp"

namespace warploom::fold {
namespace {

const std::string kHead = "## RNAfold parameter file v2.0\n";

std::int32_t energy_with(const std::string& sections) {
  return evaluate("GGGGAAAACCCC", "((((....))))", {.parameters = parse_parameters(kHead + sections, "k.par")})
      .energy;
}
/// The message, which begins with "k.par:line:column: ".
std::string refusal(const std::string& sections) {
  try {
    parse_parameters(kHead + sections, "k.par");
  } catch (const ParseError& error) {
    return error.what();
  }
  return "it was read";
}

TEST(Parameters, OfAnEmptyFileAreTurner2004) {
  EXPECT_EQ(energy_with(""), -540);  // RNAfold: -5.40
  EXPECT_EQ(energy_with("# END\nwhat follows is not read"), -540);
}
TEST(Parameters, OfASectionAreTheFiles) {
  EXPECT_EQ(
      energy_with("# hairpin\nINF INF INF 540 660 DEF * /* two kept */ 600 550 640\n"
                  "650 660 670 680 690 690 700 710 710 720 720 730 730 740 740 750 750 750 760 760 770\n"),
      -440);
  EXPECT_EQ(energy_with("# Tetraloops\nGAAAAC 100 0\n"), 3 * -330 + 100);
}
TEST(Parameters, SayWhereAFileIsBroken) {
  using testing::StartsWith;
  EXPECT_THAT(refusal("# stack\n1 2 x"), StartsWith("k.par:3:5: 'x' is no whole number"));
  EXPECT_THAT(refusal("# stack\n1 2 3\n# bulge\n"),
              StartsWith("k.par:2:1: section stack has 49 numbers; 3 are here"));
  EXPECT_THAT(refusal("# NINIO\n1 2 3 4\n"), StartsWith("k.par:3:7: section NINIO has 3 numbers; one more"));
  EXPECT_THAT(refusal("# stacks\n"), StartsWith("k.par:2:1: 'stacks' is no section"));
  EXPECT_THAT(refusal("1 2\n"), StartsWith("k.par:2:1: a section's name was expected"));
  EXPECT_THAT(refusal("# NINIO\n1 /* 2 3\n"),
              StartsWith("k.par:3:3: the comment that begins here does not end"));
  EXPECT_THAT(refusal("# NINIO\n1 2 99999\n"), StartsWith("k.par:3:5: 99999 is beyond"));
  EXPECT_THAT(refusal("# NINIO\n1 INF 3\n"), StartsWith("k.par:3:3: 'INF' is no whole number"));
  EXPECT_THAT(refusal("# Triloops\nCAAC 1 2\n"),
              StartsWith("k.par:3:1: 5 letters of A, C, G, U were expected"));
  EXPECT_THAT(refusal("# Triloops\nCAACG 1\n"),
              StartsWith("k.par:4:1: two numbers were expected behind CAACG"));
}
TEST(Parameters, BeginWithTheirFormat) {
  EXPECT_THROW(parse_parameters("# stack\n", "k.par"), ParseError);
  EXPECT_THROW(parse_parameters("", "k.par"), ParseError);
}

}  // namespace
}  // namespace warploom::fold
