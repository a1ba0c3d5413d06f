// The interpreter against values worked out by hand and against the same arithmetic compiled.
#include "warploom/tile/interpret.hpp"

#include <cmath>

#include "source_text.hpp"

namespace warploom::tile::test {
namespace {

struct Ran {
  Region region;
  Memory memory;
};

/// Runs a function; values of arrays and scalars that are not given come from make_memory().
Ran run(const std::string& text, const std::map<std::string, std::int64_t>& sizes,
        const std::map<std::string, std::vector<double>>& arrays = {},
        const std::map<std::string, double>& scalars = {}) {
  Ran ran{read_region(text), {}};
  ran.memory = make_memory(ran.region, sizes, 1);
  for (const auto& [name, values] : arrays) ran.memory.arrays.at(name) = values;
  for (const auto& [name, value] : scalars) ran.memory.scalars.at(name) = value;
  interpret(ran.region, ran.region.body, ran.memory);
  return ran;
}

/// What `expression` of alpha (float), beta (double), k and n (int) is, as a double.
double computed(const std::string& expression, double alpha = 0, double beta = 0, std::int64_t k = 0,
                std::int64_t n = 0) {
  const Ran ran = run(
      "void f(int n, int k, float alpha, double beta, double r[1]) { k += 0; for (int i = 0; i < 1; i++) r[0] = " +
          expression + "; }",
      {{"n", n}}, {}, {{"alpha", alpha}, {"beta", beta}, {"k", static_cast<double>(k)}});
  return ran.memory.arrays.at("r")[0];
}

TEST(Interpret, RunsLoopsInTheirOrder) {
  // a[i] = 10 * a[i - 1] + i, from 1: a number whose digits are the iterations
  const auto last = [](const std::string& loop) {
    return run("void f(int n, double d[1]) { " + loop + " d[0] = 10 * d[0] + i; }", {{"n", 5}}, {{"d", {0}}})
        .memory.arrays.at("d")[0];
  };
  EXPECT_EQ(last("for (int i = 1; i < n; i++)"), 1234);
  EXPECT_EQ(last("for (int i = 1; i <= n; i++)"), 12345);
  EXPECT_EQ(last("for (int i = n; i > 1; i--)"), 5432);
  EXPECT_EQ(last("for (int i = n; i >= 1; i -= 2)"), 531);
  EXPECT_EQ(last("for (int i = 1; i < n; i += 3)"), 14);
  EXPECT_EQ(last("for (int i = n; i < 1; i++)"), 0);
}

TEST(Interpret, RunsBranches) {
  const Ran ran = run(
      "void f(int n, double a[n]) { for (int i = 0; i < n; i++) if (i < 2) a[i] = 1; else if (i == 3) a[i] = 2; else a[i] = 3; }",
      {{"n", 5}});
  EXPECT_EQ(ran.memory.arrays.at("a"), (std::vector<double>{1, 1, 3, 2, 3}));
}

TEST(Interpret, ElementsAreRowMajor) {
  const Ran ran =
      run("void f(int n, int m, double a[2][n][m]) { for (int i = 0; i < 2; i++) for (int j = 0; j < n; j++) "
          "for (int k = 0; k < m; k++) a[i][j][k] = 100 * i + 10 * j + k; }",
          {{"n", 2}, {"m", 3}});
  EXPECT_EQ(ran.memory.arrays.at("a"),
            (std::vector<double>{0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112}));
}

TEST(Interpret, AssignsWithEveryOperator) {
  const Ran ran = run(
      "void f(int n, double a[5]) { for (int i = 0; i < n; i++) { a[0] = 7; a[1] += 2; a[2] -= 3; a[3] *= 4; a[4] /= 8; } }",
      {{"n", 2}}, {{"a", {1, 1, 1, 1, 1}}});
  EXPECT_EQ(ran.memory.arrays.at("a"), (std::vector<double>{7, 5, -5, 16, 1.0 / 64}));
}

TEST(Interpret, IntegersDivideTowardsZero) {
  EXPECT_EQ(computed("n / 2", 0, 0, 0, 7), 3);
  EXPECT_EQ(computed("(0 - n) / 2", 0, 0, 0, 7), -3);
  EXPECT_EQ(computed("(0 - n) % 4", 0, 0, 0, 7), -3);
  EXPECT_EQ(computed("floord(0 - n, 2)", 0, 0, 0, 7), -4);
  EXPECT_EQ(computed("floord(n, 2)", 0, 0, 0, 7), 3);
  EXPECT_EQ(computed("floord(0 - n, 7)", 0, 0, 0, 7), -1);
  EXPECT_EQ(computed("min(n, 3) + 10 * max(n, 9)", 0, 0, 0, 7), 93);
  EXPECT_EQ(computed("k / 2", 0, 0, 7), 3);
  EXPECT_EQ(computed("k / 2.0", 0, 0, 7), 3.5);
}

TEST(Interpret, ConvertsAsCDoes) {
  const float alpha = 0.1f, third = 1.0f / 3.0f;
  const double beta = 0.1;
  EXPECT_EQ(computed("alpha * alpha", alpha), static_cast<double>(alpha * alpha));
  EXPECT_EQ(computed("alpha + beta", alpha, beta), static_cast<double>(alpha) + beta);
  EXPECT_EQ(computed("alpha / 3", 1.0f), static_cast<double>(third));
  EXPECT_EQ(computed("alpha / 3.0", 1.0f), 1.0 / 3.0);
  EXPECT_EQ(computed("(float)beta", 0, beta), static_cast<double>(alpha));
  EXPECT_EQ(computed("(int)(beta * 25)", 0, beta), 2);
  EXPECT_EQ(computed("(int)(0 - beta * 25)", 0, beta), -2);
  EXPECT_EQ(computed("0.1f"), static_cast<double>(0.1f));
  EXPECT_EQ(computed("0.1"), 0.1);
  EXPECT_EQ(computed("0x1.8p1f"), 3);
  EXPECT_EQ(computed("k * 1.0f", 0, 0, 16777217), 16777216);  // an int becomes a float first
  EXPECT_EQ(computed("k * 1.0", 0, 0, 16777217), 16777217);
  EXPECT_EQ(computed("alpha == 0.1", alpha), 0);
  EXPECT_EQ(computed("alpha == 0.1f", alpha), 1);
  EXPECT_EQ(computed("k == 16777216.0f", 0, 0, 16777217), 1);
  EXPECT_EQ(computed("alpha > 0 ? 1 : 2.5", alpha), 1);
  EXPECT_EQ(computed("(alpha > 0 ? 1 : 2.5) / 2", alpha), 0.5);
}

TEST(Interpret, ComparesAndCombines) {
  EXPECT_EQ(computed("(n < 3) + 2 * (n <= 3) + 4 * (n > 3) + 8 * (n >= 3) + 16 * (n == 3) + 32 * (n != 3)", 0,
                     0, 0, 3),
            2 + 8 + 16);
  EXPECT_EQ(
      computed(
          "(beta < 3) + 2 * (beta <= 3) + 4 * (beta > 3) + 8 * (beta >= 3) + 16 * (beta == 3) + 32 * (beta != 3)",
          0, 4),
      4 + 8 + 32);
  EXPECT_EQ(computed("(beta && n) + 2 * (beta || n) + 4 * !beta + 8 * !n", 0, 0.5, 0, 0), 2 + 8);
  EXPECT_EQ(computed("n && 1 / n"), 0);
  EXPECT_EQ(computed("-alpha", 2), -2);
  EXPECT_TRUE(std::signbit(computed("-beta", 0, 0)));
}

TEST(Interpret, CallsTheMathematicalFunctions) {
  const float alpha = 0.7f;
  const double beta = 0.7;
  EXPECT_EQ(computed("sqrtf(alpha)", alpha), static_cast<double>(std::sqrt(alpha)));
  EXPECT_EQ(computed("sqrt(alpha)", alpha), std::sqrt(static_cast<double>(alpha)));
  EXPECT_EQ(computed("expf(beta)", 0, beta), static_cast<double>(std::exp(0.7f)));
  EXPECT_EQ(computed("pow(beta, 3)", 0, beta), std::pow(beta, 3.0));
  EXPECT_EQ(computed("fmaxf(alpha, 0.5f) + fmin(beta, 2)", alpha, beta),
            std::fmax(0.7f, 0.5f) + std::fmin(0.7, 2));
  EXPECT_EQ(computed("floor(beta) + 10 * ceil(beta) + 100 * fabs(0 - 3)", 0, beta), 310);
}

TEST(Interpret, FloatsAreRoundedAfterEveryOperation) {
  constexpr int n = 40;
  float x[n], y[n], s = 0.3f;
  for (int i = 0; i < n; ++i) x[i] = 1.0f / static_cast<float>(i + 3), y[i] = 0;
  const std::vector<double> start(x, x + n);
  for (int i = 1; i < n; ++i) {
    s += x[i] * x[i - 1] - 0.1f;
    y[i] = s / (x[i] + y[i - 1]) * 0.7f;
    x[i] = y[i] - x[i];
  }
  const Ran ran = run(
      "void f(int n, float x[n], float y[n], float s) { for (int i = 1; i < n; ++i) { s += x[i] * x[i - 1] - 0.1f; "
      "y[i] = s / (x[i] + y[i - 1]) * 0.7f; x[i] = y[i] - x[i]; } }",
      {{"n", n}}, {{"x", start}, {"y", std::vector<double>(n)}}, {{"s", 0.3f}});
  EXPECT_EQ(ran.memory.arrays.at("x"), std::vector<double>(x, x + n));
  EXPECT_EQ(ran.memory.arrays.at("y"), std::vector<double>(y, y + n));
  EXPECT_EQ(ran.memory.scalars.at("s"), s);
}

TEST(Interpret, MixedTypesAsTheCompilerHasThem) {
  float f = 0.3f;
  double d = 0.7;
  int k = 5;
  for (int i = 0; i < 6; ++i) {
    f = static_cast<float>(f + d * f);  // computed as double, stored as float
    d = f / static_cast<float>(k) + d / 3;
    k = static_cast<int>(d * 10 + f) % 7 + 2;
  }
  const Ran ran = run(
      "void f(int n, float f, double d, int k) { for (int i = 0; i < n; i++) { f += d * f; d = f / k + d / 3; k = (int)(d * 10 + f) % 7 + 2; } }",
      {{"n", 6}}, {}, {{"f", 0.3f}, {"d", 0.7}, {"k", 5}});
  EXPECT_EQ(ran.memory.scalars.at("f"), f);
  EXPECT_EQ(ran.memory.scalars.at("d"), d);
  EXPECT_EQ(ran.memory.scalars.at("k"), k);
}

TEST(Interpret, StoredIntegersHave32Bits) {
  const Ran ran =
      run("void f(int n, int a[2]) { for (int i = 0; i < n; i++) { a[0] = 2147483647 + i; a[1] = 2.9f; } }",
          {{"n", 2}});
  EXPECT_EQ(ran.memory.arrays.at("a"), (std::vector<double>{-2147483648.0, 2}));
}

TEST(Interpret, RunsGeneratedLoops) {
  // Tiles of 3 x 2, as transformations write them.
  const std::string text =
      "void f(int n, int m, float a[n][m]) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) a[i][j] += i * 10 + j; }";
  const std::string tiled =
      "void f(int n, int m, float a[n][m]) { for (int ii = 0; ii < n; ii += 3) for (int jj = 0; jj < m; jj += 2) "
      "for (int i = ii; i < min(ii + 3, n); i++) for (int j = jj; j < min(jj + 2, m); j++) a[i][j] += i * 10 + j; }";
  const std::map<std::string, std::int64_t> sizes{{"n", 7}, {"m", 5}};
  EXPECT_EQ(run(text, sizes).memory.arrays, run(tiled, sizes).memory.arrays);
}

std::string error_of(const std::string& text, const std::map<std::string, std::int64_t>& sizes) {
  try {
    run(text, sizes);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "none";
}

TEST(Interpret, ElementsOutsideOfTheirArrayAreErrors) {
  EXPECT_EQ(error_of("void f(int n, float a[n][4]) {\n  for (int i = 0; i < n; i++)\n    a[i][i - 1] = 0; }",
                     {{"n", 3}}),
            "nest.c:3:5: element a[0][-1] is outside of the array, whose extents are [3][4]");
  EXPECT_EQ(
      error_of(
          "void f(int n, float a[n][4], float b[1]) {\n  for (int i = 0; i < n; i++)\n    b[0] = a[0][2 * i]; }",
          {{"n", 3}}),
      "nest.c:3:12: element a[0][4] is outside of the array, whose extents are [3][4]");
}

TEST(Interpret, DivisionByZeroIsAnError) {
  EXPECT_EQ(
      error_of("void f(int n, float a[1]) {\n  for (int i = 0; i < 1; i++) a[0] = 3 / n; }", {{"n", 0}}),
      "nest.c:2:38: integer division by zero");
}

TEST(Interpret, UnknownNamesAreErrors) {
  Region region = read_region(function_of("for (int i = 0; i < n; i++) x[i] = alpha;"));
  Memory memory = make_memory(region, {{"n", 2}, {"m", 2}}, 1);
  Node& assignment = region.body.children[0].children[0];
  assignment.value = Expression::name("gamma");
  EXPECT_THROW(interpret(region, region.body, memory), BadInput);
  assignment.value = Expression::element("G", {Expression::integer(0)});
  EXPECT_THROW(interpret(region, region.body, memory), BadInput);
  assignment.value = Expression::element("A", {Expression::integer(0)});
  EXPECT_THROW(interpret(region, region.body, memory), BadInput);
  assignment.kind = Node::Kind::launch;
  EXPECT_THROW(interpret(region, region.body, memory), BadInput);
}

TEST(Interpret, ALoopThatWouldNotEndIsAnError) {
  Region region = read_region(function_of("for (int i = 0; i < n; i++) x[i] = alpha;"));
  Memory memory = make_memory(region, {{"n", 2}, {"m", 2}}, 1);
  region.body.children[0].step = -1;
  EXPECT_THROW(interpret(region, region.body, memory), BadInput);
}

TEST(Memory, HasEveryVariableWithItsExtents) {
  const Region region = read_region(
      "void f(int n, float a[n][2 * n + 1], int k[n], double s) { float t; for (int i = 0; i < n; i++) { t = a[i][i]; k[i] = t + s; } }");
  const Memory memory = make_memory(region, {{"n", 3}}, 7);
  EXPECT_EQ(memory.sizes.at("n"), 3);
  EXPECT_EQ(memory.arrays.at("a").size(), 21u);
  EXPECT_EQ(memory.scalars.count("s") + memory.scalars.count("t"), 2u);
  for (const double value : memory.arrays.at("a")) {
    EXPECT_GE(value, 0.5);
    EXPECT_LT(value, 1.5);
    EXPECT_EQ(value, static_cast<double>(static_cast<float>(value)));
  }
  for (const double value : memory.arrays.at("k"))
    EXPECT_EQ(value, static_cast<double>(static_cast<int>(value)));
}

TEST(Memory, IsTheSameForTheSameSeed) {
  const Region region = read_region(function_of("for (int i = 0; i < n; i++) x[i] = alpha;"));
  const std::map<std::string, std::int64_t> sizes{{"n", 30}, {"m", 4}};
  EXPECT_EQ(make_memory(region, sizes, 1).arrays, make_memory(region, sizes, 1).arrays);
  EXPECT_NE(make_memory(region, sizes, 1).arrays, make_memory(region, sizes, 2).arrays);
  EXPECT_NE(make_memory(region, sizes, 1).arrays.at("A"), make_memory(region, sizes, 1).arrays.at("B"));
}

TEST(Memory, SizesThatDoNotDoAreErrors) {
  const Region region = read_region(
      "void f(int n, int m, float a[n - 4][m], float *b) { for (int i = 0; i < n; i++) a[i][0] = 1; }");
  const auto error = [&](const Region& of, const std::map<std::string, std::int64_t>& sizes) -> std::string {
    try {
      make_memory(of, sizes, 1);
    } catch (const BadInput& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_EQ(error(region, {{"n", 5}}), "nest.c:1:6: size m is missing");
  EXPECT_EQ(error(region, {{"n", 3}, {"m", 1}}),
            "nest.c:1:28: extent n - 4 of a: it is -1; sizes have to make it 0 or more");
  EXPECT_EQ(error(region, {{"n", 1 << 20}, {"m", 1 << 20}}),
            "nest.c:1:28: arrays up to a have more than 2^31 elements");
  EXPECT_EQ(error(region, {{"n", INT64_MIN}, {"m", 1}}), "nest.c:1:28: extent n - 4 of a: it leaves 64 bits");
  EXPECT_EQ(error(region, {{"n", 5}, {"m", 1}}),
            "nest.c:1:48: the extent of b is not known; declare it as b[extent]");
}

}  // namespace
}  // namespace warploom::tile::test
