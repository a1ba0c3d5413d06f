#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/fold/fold.hpp"

namespace warploom::fold {
namespace {

std::string refusal(const std::string& sequence, const std::string& structure, const Model& model = {}) {
  try {
    evaluate(sequence, structure, model);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "it has an energy";
}

// Energies of this file: RNAeval (ViennaRNA 2.8.0).
TEST(Evaluate, SumsTheLoops) {
  const Evaluation e = evaluate("GGGAAGGAAACCAGGAAAACCACCC", "(((..((...)).((....)).)))");
  EXPECT_EQ(e.loops.size(), 8u);
  EXPECT_EQ(e.loops[0].kind, Loop::Kind::exterior);
  EXPECT_EQ(e.loops[3].kind, Loop::Kind::multi);
  std::int32_t sum = 0;
  for (const Loop& loop : e.loops) sum += loop.energy;
  EXPECT_EQ(e.energy, sum);
  EXPECT_EQ(e.energy, -80);
}
TEST(Evaluate, CountsBasesBesideStemsAsTheModelSays) {
  const std::string sequence = "GAGGAAGGAAACCAGGAAAACCACCCAGGGAAACCCA",
                    structure = "..((..((...)).((....)).))..(((...))).";
  const auto of = [&](int dangles) { return evaluate(sequence, structure, {.dangles = dangles}).energy; };
  EXPECT_EQ(of(0), 540);
  EXPECT_EQ(of(1), -180);
  EXPECT_EQ(of(2), -120);
  // Stems without a base between them: a stack of -3.30 instead of what bases beside add.
  EXPECT_EQ(evaluate("GGGAAACCGGAAACCC", "(((...))((...)))", {.dangles = 3}).energy -
                evaluate("GGGAAACCGGAAACCC", "(((...))((...)))", {.dangles = 1}).energy,
            -330);
}
TEST(Evaluate, OfNoPairIsNothing) { EXPECT_EQ(evaluate("ACGUNNN", ".......").energy, 0); }
TEST(Evaluate, TakesSmallLettersAndT) {
  EXPECT_EQ(evaluate("ggttaaaaaacc", "((((....))))").energy, evaluate("GGUUAAAAAACC", "((((....))))").energy);
}
TEST(Evaluate, SumsQuadruplexes) {
  const std::string sequence = "GCAAAGGAGGAGGAGGCAAAGAAGC", structure = "((...++.++.++.+~(...)..))";
  const Evaluation e = evaluate(sequence, structure);
  EXPECT_EQ(e.energy, 150);
  ASSERT_EQ(e.loops.size(), 5u);
  EXPECT_EQ(e.loops[3].kind, Loop::Kind::quadruplex);
  EXPECT_EQ(e.loops[3].energy, -430);
  EXPECT_EQ(e.loops[3].i, 6);
  EXPECT_EQ(e.loops[3].j, 16);
  EXPECT_EQ(evaluate(sequence, structure, {.dangles = 0}).energy, 430);
  EXPECT_EQ(evaluate("AAGGAGGAGGAGGAA", "..++.++.++.++..").energy, -430);  // '~' may be '+'
  EXPECT_EQ(evaluate("GGAGGAGGAGGGGAGGAGGAGG", "++.++.++.++++.++.++.++").energy, -860);
  // Within a pair: 6 bases of an interior loop.
  EXPECT_EQ(evaluate("CCGCAAAGGGAGGGAGGGAGGGAAAGCGG", "((((...+++.+++.+++.++~...))))").energy, -1570);
}
TEST(Evaluate, TellsWhatIsNoQuadruplex) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal("GGAGGGGGAGG", "++.++++.++."),
              HasSubstr("begins at base 1 has a linker of another length"));
  EXPECT_THAT(refusal("GGAGGAGGAGG", "++.++.++..."), HasSubstr("begins at base 1 has runs of different"));
  EXPECT_THAT(refusal("AGGAGGAGGAGG", ".++.++.++.+."), HasSubstr("begins at base 2 has runs of different"));
  EXPECT_THAT(refusal("GAGAGAG", "+.+.+.+"), HasSubstr("begins at base 1 has no run of such a length"));
  EXPECT_THAT(refusal(std::string(40, 'G'), std::string(8, '+') + "." + std::string(31, '+')),
              HasSubstr("no run of such a length"));
  EXPECT_THAT(refusal("GGAGGAGGAAG", "++.++.++.++"), HasSubstr("base 10 is A; a quadruplex ('+') is of G"));
  EXPECT_THAT(refusal("GAGGAGGAGGAGGAC", "(.++.++.++.++.)", {.gu_closing = false}),
              HasSubstr("it has an energy"));
  EXPECT_THAT(refusal("GAGGAGGAGGAGGAU", "(.++.++.++.++.)", {.gu_closing = false}), HasSubstr("not allowed"));
  EXPECT_THAT(refusal("GAAGGAGGAGGAGGC", "(..++.++.++.++)"), HasSubstr("not allowed"));
  EXPECT_THAT(refusal("GGAGGAGGAGG", "++.++.++.++", {.dangles = 1}),
              HasSubstr("quadruplexes with dangles 1"));
  EXPECT_THAT(refusal("GGAGGAGGAGG", "++.++.++.++", {.circular = true}),
              HasSubstr("quadruplexes in a circle"));
}
TEST(Evaluate, TellsWhatIsNoStructure) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal("GGGAAACCC", "(((...)))."), HasSubstr("10 letters, the sequence 9"));
  EXPECT_THAT(refusal("GGGAAACCC", "(((...))))"), HasSubstr("10 letters"));
  EXPECT_THAT(refusal("GGGAAACCC", "((....)))"), HasSubstr("')' at 9 closes nothing"));
  EXPECT_THAT(refusal("GGGAAACCC", "(((....))"), HasSubstr("'(' at 1 is not closed"));
  EXPECT_THAT(refusal("GGGAAACCC", "((([..)))"), HasSubstr("character 4 is '['"));
  EXPECT_THAT(refusal("GGGAAACCA", "(((...)))"), HasSubstr("bases 1 and 9, G and A, do not pair"));
  EXPECT_THAT(refusal("GGGAACCC", "(((..)))"), HasSubstr("bases 3 and 6 are too close"));
  EXPECT_THAT(refusal("", ""), HasSubstr("no bases"));
  EXPECT_THAT(refusal("GG AA", "....."), HasSubstr("character 3 of 5 is no letter"));
  EXPECT_THAT(refusal("GGGAAACUC", "(((...)))", {.gu = false}), HasSubstr("do not pair"));
  EXPECT_THAT(refusal("GGGAAAUCC", "(((...)))", {.gu_closing = false}),
              HasSubstr("bases 3 and 7 close is not allowed"));
  EXPECT_THAT(refusal("G" + std::string(32, 'A') + "GAAACC", "(" + std::string(32, '.') + "(...))"),
              HasSubstr("32 unpaired bases; at most 30"));
  EXPECT_THAT(refusal("GGGAAACCC", "(((...)))", {.temperature = 2000}), HasSubstr("2000 C"));
  EXPECT_THAT(refusal("GGGAAACCC", "(((...)))", {.dangles = 4}), HasSubstr("dangles 4"));
}

}  // namespace
}  // namespace warploom::fold
