// How far rounding may take a nest's values: by hand, and against the same nest in double.
#include "warploom/tile/rounding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "example_nests.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/verify.hpp"

namespace warploom::tile::test {
namespace {

constexpr double u = 0x1p-24;

Nest nest_of(const std::string& text, std::vector<SizeRange> sizes = {}) {
  return Nest::analyse(read_source(text, "nest.c", {}).at(0), std::move(sizes));
}

TEST(Rounding, ASumOfNTermsCountsNMinusOneRoundingsOfTheirMagnitudes) {
  const Nest nest =
      nest_of("float f(int n, float a[n]) { float s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }");
  Memory memory = make_memory(nest.region(), {{"n", 5}}, 1);
  memory.arrays["a"] = {1, -2, 4, -8, 16};
  const Memory bounds = rounding_bounds(nest, memory);
  EXPECT_EQ(memory.scalars.at("s"), 11);
  // Six terms: the 0 that s begins with is one.
  EXPECT_DOUBLE_EQ(bounds.scalars.at("s"), 5 * u * 31);
}

TEST(Rounding, EveryOrderOfASumStaysWithinItsBound) {
  const Nest nest = nest_of(
      "void f(int n, float a[n], float b[n], float s[1]) { for (int i = 0; i < n; i++) s[0] += a[i] * b[i]; }");
  std::mt19937 random(1);
  for (int trial = 0; trial < 20; ++trial) {
    Memory memory = make_memory(nest.region(), {{"n", 300}}, static_cast<std::uint64_t>(trial));
    std::vector<double>& a = memory.arrays["a"];
    for (std::size_t i = 0; i < a.size(); ++i)  // cancels: the sum is small beside its terms
      a[i] = static_cast<float>(a[i] * (i % 2 ? -1e4 : 1e4));
    std::vector<std::size_t> order(300);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    auto other = static_cast<float>(memory.arrays["s"][0]);
    for (const std::size_t i : order)
      other = std::fma(static_cast<float>(a[i]), static_cast<float>(memory.arrays["b"][i]), other);
    const double bound = rounding_bounds(nest, memory).arrays.at("s")[0];
    const double got = memory.arrays["s"][0];
    EXPECT_LE(std::fabs(other - got), 2 * bound);
    EXPECT_LT(bound, 300 * u * 300 * 3e4);
  }
}

TEST(Rounding, AChoiceThatRoundingMayTurnRoundCountsItsOtherSide) {
  const Nest nest = nest_of(
      "void f(int n, float a[n], float b[n]) { for (int i = 0; i < n; i++) b[i] = a[i] * a[i] < 0.25f ? 1.0f : 3.0f; }");
  Memory memory = make_memory(nest.region(), {{"n", 2}}, 1);
  memory.arrays["a"] = {0.5, 0.75};
  const Memory bounds = rounding_bounds(nest, memory);
  EXPECT_EQ(bounds.arrays.at("b")[0], 2);
  EXPECT_EQ(bounds.arrays.at("b")[1], 0);
}

TEST(Rounding, NothingIsKnownBehindADivisionByWhatMayBeZero) {
  const Nest nest = nest_of(
      "void f(int n, float a[n], float b[n]) { for (int i = 0; i < n; i++) b[i] = 1.0f / (a[i] * a[i] - a[i]); }");
  Memory memory = make_memory(nest.region(), {{"n", 2}}, 1);
  memory.arrays["a"] = {1, 0.5};
  const Memory bounds = rounding_bounds(nest, memory);
  EXPECT_EQ(bounds.arrays.at("b")[0], HUGE_VAL);
  EXPECT_LT(bounds.arrays.at("b")[1], 40 * u);
  EXPECT_GT(bounds.arrays.at("b")[1], 4 * u);
}

/// The nest with double for float: the same operations, rounded half a billion times finer.
Nest in_double(const Nest& nest) {
  Region region = nest.region();
  for (Variable& variable : region.variables)
    if (variable.type == ScalarType::float32) variable.type = ScalarType::float64;
  return Nest::analyse(std::move(region));
}

class RoundingOfPolyBench : public testing::TestWithParam<std::string> {};

TEST_P(RoundingOfPolyBench, HoldsAgainstDoubleAndSaysSomething) {
  const Nest nest = example("polybench/" + GetParam());
  std::map<std::string, std::int64_t> wanted;
  std::int64_t size = 9 + 2 * std::ssize(nest.region().sizes);
  for (const std::string& name : nest.region().sizes) wanted[name] = size -= 2;
  const auto sizes = sizes_near(nest, wanted);
  Memory single = conditioned_memory(nest, sizes, 1), real = single;
  const Memory bounds = rounding_bounds(nest, single);
  const Nest exact = in_double(nest);
  interpret(exact.region(), exact.region().body, real);
  for (const Variable& variable : nest.region().variables) {
    if (variable.extents.empty() || !variable.is_parameter) continue;
    const std::vector<double>&a = single.arrays.at(variable.name), &b = real.arrays.at(variable.name);
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_LE(std::fabs(a[i] - b[i]), bounds.arrays.at(variable.name)[i] * (1 + 1e-3))
          << variable.name << ", element " << i;
  }
  const Comparison comparison = compare(nest, single, single, bounds);
  EXPECT_TRUE(comparison.agrees);
  // From step to step errors cancel there, which the bound does not see.
  if (GetParam() == "adi" || GetParam() == "fdtd-2d" || GetParam() == "heat-3d") return;
  EXPECT_LT(comparison.allowed, 2e-3);  // half of float's digits are left
}

std::vector<std::string> polybench() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(example_folder() / "polybench"))
    names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(, RoundingOfPolyBench, testing::ValuesIn(polybench()), [](const auto& nest) {
  std::string name;
  for (const char c : nest.param) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(SizesNear, KeepWhatTheNestAssumes) {
  const Nest within = nest_of("void f(int n, float a[30]) { for (int i = 0; i < n; i++) a[i] = 0; }");
  EXPECT_EQ(sizes_near(within, {{"n", 33}}).at("n"), 30);
  EXPECT_EQ(sizes_near(within, {{"n", 7}}).at("n"), 7);
  const Nest two =
      nest_of("void f(int m, int n, float a[m], float b[m]) { for (int i = 0; i < n; i++) a[i] = b[i + 2]; }",
              {{"n", 4, {}}});
  const auto sizes = sizes_near(two, {{"m", 3}, {"n", 20}});
  EXPECT_EQ(sizes.at("m"), 6);
  EXPECT_EQ(sizes.at("n"), 4);
  EXPECT_THROW(sizes_near(two, {{"m", 3}}), BadInput);
}

TEST(Comparisons, NameWhatIsBeyondItsBound) {
  const Nest nest = nest_of(
      "float f(int n, float a[n]) { float s = 0; for (int i = 0; i < n; i++) { s += a[i]; a[i] = 2; } return s; }");
  Memory want = make_memory(nest.region(), {{"n", 4}}, 1);
  const Memory bounds = rounding_bounds(nest, want);
  Memory got = want;
  got.scalars["s"] += bounds.scalars.at("s");
  EXPECT_TRUE(compare(nest, got, want, bounds).agrees);
  EXPECT_GT(compare(nest, got, want, bounds).difference, 0);
  got.scalars["s"] += 2 * bounds.scalars.at("s");
  EXPECT_FALSE(compare(nest, got, want, bounds).agrees);
  EXPECT_NE(compare(nest, got, want, bounds).worst.find("s: "), std::string::npos);
  got = want;
  got.arrays["a"][2] = 2.25;  // nothing rounds there
  EXPECT_EQ(compare(nest, got, want, bounds).worst, "a, element 2: 2.25 instead of 2");
}

}  // namespace
}  // namespace warploom::tile::test
