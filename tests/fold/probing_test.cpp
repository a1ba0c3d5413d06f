#include "warploom/fold/probing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "warploom/core/error.hpp"
#include "warploom/fold/fold.hpp"

namespace warploom::fold {
namespace {

using testing::ElementsAre;

std::string reading_of(const std::string& content) {
  try {
    parse_reactivities(content, "r.dat", 4);
  } catch (const ParseError& error) {
    return error.what();
  }
  return "it was read";
}

TEST(Reactivities, AreReadAsRnafoldReadsThem) {
  EXPECT_THAT(parse_reactivities("# probed twice\n1\t0.5\n\n3 G 1.25\r\n4 -999\n2\n", "r.dat", 4),
              ElementsAre(0.5, -1, 1.25, -999));
}
TEST(Reactivities, TellTheLineThatIsWrong) {
  using testing::StartsWith;
  EXPECT_THAT(reading_of(""), StartsWith("r.dat:1:1: no position"));
  EXPECT_THAT(reading_of("1 0.5\nx 1\n"), StartsWith("r.dat:2:1: 'x' is no position"));
  EXPECT_THAT(reading_of("1 0.5\n5 1\n"), StartsWith("r.dat:2:1: position 5; the sequence has 4 bases"));
  EXPECT_THAT(reading_of("0 1\n"), StartsWith("r.dat:1:1: position 0"));
  EXPECT_THAT(reading_of("1 0.5\n\n1 1\n"),
              StartsWith("r.dat:3:1: position 1 stands here for the second time"));
  EXPECT_THAT(reading_of("1 0,5x\n"), StartsWith("r.dat:1:1: '5x' follows the reactivity"));
  EXPECT_THAT(reading_of("1 G high\n"), StartsWith("r.dat:1:1: 'high' is no reactivity"));
}

// Energies of this file: RNAeval (ViennaRNA 2.8.0) less those without reactivities.
const std::vector<double> kReactivities{-1, 0, 0.1, 0.2, 0.25, 0.28, 0.3, 0.5, 0.7, 0.9, 1.3, 2.0};

std::int32_t added(const PseudoEnergies& pseudo, const std::string& structure) {
  Model model;
  model.pseudo = pseudo;
  return evaluate("GGGGAAAACCCC", structure, model).energy - evaluate("GGGGAAAACCCC", structure).energy;
}

TEST(PseudoEnergies, OfDeiganAreAddedToStacks) {
  EXPECT_EQ(added(deigan(kReactivities), "((((....))))"), 233);
  EXPECT_EQ(added(deigan(kReactivities), "............"), 0);
}
TEST(PseudoEnergies, OfZarringhalamAreAddedToBases) {
  const auto of = [](const char* conversion, const std::string& structure) {
    return added(zarringhalam(kReactivities, 0.89, conversion), structure);
  };
  EXPECT_EQ(of("O", "............"), 374);
  EXPECT_EQ(of("O", "((((....))))"), 539);
  EXPECT_EQ(of("M", "............"), 478);
  EXPECT_EQ(of("M", "((((....))))"), 579);
  EXPECT_EQ(of("S", "............"), 559);
  EXPECT_EQ(of("L", "((((....))))"), 664);
  EXPECT_EQ(of("C", "............"), 312);
  EXPECT_EQ(of("C0.5", "((((....))))"), 668);
  EXPECT_EQ(of("Os1.2i-1", "............"), 709);
}
TEST(PseudoEnergies, RefuseWhatIsNone) {
  EXPECT_THROW(deigan(std::vector<double>{1e300}, 1e10), BadInput);
  EXPECT_THROW(zarringhalam(kReactivities, 0.89, "Q"), BadInput);
  EXPECT_THROW(added(deigan(std::vector<double>{1, 2}), "............"), BadInput);
}

}  // namespace
}  // namespace warploom::fold
