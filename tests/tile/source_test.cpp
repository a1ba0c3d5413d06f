// Each construct of the subset, as it is read.
#include <gmock/gmock.h>

#include "source_text.hpp"

namespace warploom::tile::test {
namespace {

TEST(Source, ReadsAFunctionWithItsSignature) {
  const Region region = read_region(
      "#include <math.h>\n"
      "static inline void scale(int n, const float a[restrict n], double b[static n][2 * n + 1], float factor) {\n"
      "  for (int i = 0; i < n; i++)\n"
      "    b[i][0] = factor * a[i];\n"
      "}\n");
  EXPECT_EQ(region.file, "nest.c");
  EXPECT_EQ(region.function, "scale");
  EXPECT_EQ(region.at.line, 2u);
  EXPECT_EQ(region.parameters, (std::vector<std::string>{"n", "a", "b", "factor"}));
  EXPECT_EQ(region.sizes, std::vector<std::string>{"n"});
  ASSERT_EQ(region.variables.size(), 3u);
  const Variable &a = region.variables[0], &b = region.variables[1], &factor = region.variables[2];
  EXPECT_EQ(a.type, ScalarType::float32);
  EXPECT_TRUE(a.is_constant && a.is_parameter);
  EXPECT_EQ(to_text(a.extents.at(0)), "n");
  EXPECT_EQ(b.type, ScalarType::float64);
  EXPECT_FALSE(b.is_constant);
  EXPECT_EQ(to_text(b.extents.at(1)), "2 * n + 1");
  EXPECT_TRUE(factor.extents.empty());
  EXPECT_EQ(region.statements, 1);
  const Node& loop = region.body.children.at(0);
  EXPECT_EQ(loop.at.line, 3u);
  EXPECT_EQ(loop.children.at(0).at.line, 4u);
  EXPECT_EQ(loop.children.at(0).at.column, 5u);
  EXPECT_EQ(loop.children.at(0).value.operands.at(1).at.column, 24u);
}

TEST(Source, PointersAreArraysOfUnknownExtent) {
  const Region region = read_region(
      "void f(int n, float *a, float b[], double (*c)[n]) { for (int i = 0; i < n; i++) c[i][0] = a[i] + b[i]; }");
  EXPECT_EQ(find_variable(region, "a")->extents, std::vector<Expression>{Expression::name("")});
  EXPECT_EQ(find_variable(region, "b")->extents, std::vector<Expression>{Expression::name("")});
  EXPECT_EQ(find_variable(region, "c")->extents,
            (std::vector<Expression>{Expression::name(""), Expression::name("n")}));
}

TEST(Source, PointerToConstantIsConstantAndConstantPointerIsNot) {
  const Region region = read_region(
      "void f(int n, const float *a, float *const b) { for (int i = 0; i < n; i++) b[i] = a[i]; }");
  EXPECT_TRUE(find_variable(region, "a")->is_constant);
  EXPECT_FALSE(find_variable(region, "b")->is_constant);
}

TEST(Source, NormalisesEveryFormOfLoop) {
  EXPECT_EQ(body_of("int i; for (i = 0; i <= n; ++i) x[i] = 0;"),
            "for (int i = 0; i <= n; i++)\n  x[i] = 0;\n");
  EXPECT_EQ(body_of("for (long i = n - 1; i >= 0; i--) x[i] = 0;"),
            "for (int i = n - 1; i >= 0; i--)\n  x[i] = 0;\n");
  EXPECT_EQ(body_of("for (int i = 0; n > i; i += 2 * 3) x[i] = 0;"),
            "for (int i = 0; i < n; i += 6)\n  x[i] = 0;\n");
  EXPECT_EQ(body_of("for (int i = n; i > 0; i = i - 4) x[i] = 0;"),
            "for (int i = n; i > 0; i -= 4)\n  x[i] = 0;\n");
  EXPECT_EQ(body_of("for (int i = 0; i < n; i = 2 + i) x[i] = 0;"),
            "for (int i = 0; i < n; i += 2)\n  x[i] = 0;\n");
  EXPECT_EQ(body_of("for (int i = 0; i < n && i < m; i++) x[i] = 0;"),
            "for (int i = 0; i < min(n, m); i++)\n  x[i] = 0;\n");
  EXPECT_EQ(body_of("for (int i = 0; i < n; i++);"), "for (int i = 0; i < n; i++) {\n}\n");
}

TEST(Source, BoundsByConditionalAreMinimaAndMaxima) {
  EXPECT_EQ(body_of("for (int i = (n > 3 ? n : 3); i < ((n) < (m) ? (n) : (m)); i++) x[i] = 0;"),
            "for (int i = max(n, 3); i < min(n, m); i++)\n  x[i] = 0;\n");
  EXPECT_EQ(body_of("for (int i = n >= m ? m : n; i < n; i++) x[i] = 0;"),
            "for (int i = min(m, n); i < n; i++)\n  x[i] = 0;\n");
  // Of values it stays: min and max of numbers that are no numbers differ.
  EXPECT_EQ(body_of("for (int i = 0; i < n; i++) x[i] = x[i] < alpha ? x[i] : alpha;"),
            "for (int i = 0; i < n; i++)\n  x[i] = x[i] < alpha ? x[i] : alpha;\n");
}

TEST(Source, ReadsEveryAssignment) {
  EXPECT_EQ(
      body_of(
          "for (int i = 0; i < n; i++) { x[i] = 1; x[i] += 2; x[i] -= 3; x[i] *= 4; x[i] /= 5; x[i]++; --x[i]; }"),
      "for (int i = 0; i < n; i++) {\n  x[i] = 1;\n  x[i] += 2;\n  x[i] -= 3;\n  x[i] *= 4;\n  x[i] /= 5;\n"
      "  x[i] += 1;\n  x[i] -= 1;\n}\n");
  EXPECT_EQ(body_of("for (int i = 0; i < n; i++) x[i] = y[i] = alpha, A[i][0] = 2;"),
            "for (int i = 0; i < n; i++) {\n  y[i] = alpha;\n  x[i] = y[i];\n  A[i][0] = 2;\n}\n");
}

TEST(Source, StatementsAreNumberedInTheOrderOfTheText) {
  const Region region =
      read_region(function_of("for (int i = 0; i < n; i++) { x[i] = 1; if (i > 2) y[i] = 2; } x[0] = 3;"));
  EXPECT_EQ(region.statements, 3);
  const Node& loop = region.body.children.at(0);
  EXPECT_EQ(loop.children.at(0).statement, 0);
  EXPECT_EQ(loop.children.at(1).children.at(0).children.at(0).statement, 1);
  EXPECT_EQ(region.body.children.at(1).statement, 2);
}

TEST(Source, ReadsBranches) {
  EXPECT_EQ(
      body_of("for (int i = 0; i < n; i++) if (i < m && !(i == 2)) x[i] = 1; else { x[i] = 2; y[i] = 3; }"),
      "for (int i = 0; i < n; i++) {\n  if (i < m && !(i == 2)) {\n    x[i] = 1;\n  } else {\n    x[i] = 2;\n"
      "    y[i] = 3;\n  }\n}\n");
  EXPECT_EQ(
      body_of("for (int i = 0; i < n; i++) if (i < 1) x[i] = 1; else if (i < 2) x[i] = 2; else x[i] = 3;"),
      "for (int i = 0; i < n; i++) {\n  if (i < 1) {\n    x[i] = 1;\n  } else if (i < 2)\n    x[i] = 2;\n"
      "  else\n    x[i] = 3;\n}\n");
}

TEST(Source, AnElseBelongsToTheNearestIf) {
  const Region region =
      read_region(function_of("for (int i = 0; i < n; i++) if (i > 0) if (i > 1) x[i] = 1; else x[i] = 2;"));
  const Node& outer = region.body.children.at(0).children.at(0);
  EXPECT_EQ(outer.children.size(), 1u);
  EXPECT_EQ(outer.children.at(0).children.at(0).children.size(), 2u);
}

TEST(Source, ReadsExpressionsAsCBindsThem) {
  const auto value = [](const std::string& text) {
    const std::string body = body_of("for (int i = 0; i < n; i++) x[i] = " + text + ";");
    const std::size_t begin = body.find("= ", body.find("x[i]")) + 2;
    return body.substr(begin, body.size() - begin - 2);
  };
  EXPECT_EQ(value("(x[i] + (y[i] * 2.0))"), "x[i] + y[i] * 2.0");
  EXPECT_EQ(value("(x[i] + y[i]) * 2.0f"), "(x[i] + y[i]) * 2.0f");
  EXPECT_EQ(value("x[i] - (y[i] - 1)"), "x[i] - (y[i] - 1)");
  EXPECT_EQ(value("(x[i] - y[i]) - 1"), "x[i] - y[i] - 1");
  EXPECT_EQ(value("-(-x[i])"), "-(-x[i])");
  EXPECT_EQ(value("- 3"), "-3");
  EXPECT_EQ(value("(double)x[i] / (float)n"), "(double)x[i] / (float)n");
  EXPECT_EQ(value("x[i] > 0 ? x[i] : y[i] > 0 ? y[i] : 0"), "x[i] > 0 ? x[i] : y[i] > 0 ? y[i] : 0");
  EXPECT_EQ(value("(x[i] > 0 ? 1 : 2) + 1"), "(x[i] > 0 ? 1 : 2) + 1");
  EXPECT_EQ(value("powf(fabsf(x[i]), 0x1p-1f) + sqrt(.5e-3)"), "powf(fabsf(x[i]), 0x1p-1f) + sqrt(.5e-3)");
  EXPECT_EQ(value("x[(i)] + A[i][n % 3 + i / 2]"), "x[i] + A[i][n % 3 + i / 2]");
  EXPECT_EQ(value("0x10 + 010 + 7ul"), "16 + 8 + 7");
}

TEST(Source, WidthsOfIndicesAreNoConversions) {
  EXPECT_EQ(body_of("for (size_t i = 0; i < (size_t)n; i++) x[(long)i + 1] = 0;"),
            "for (int i = 0; i < n; i++)\n  x[i + 1] = 0;\n");
}

TEST(Source, DeclarationsWithValuesAreAssignments) {
  const Region region = read_region(
      function_of("float s = alpha, t; for (int i = 0; i < n; i++) { t = s; s = t * x[i]; } x[0] = s;"));
  EXPECT_EQ(to_text(region.body),
            "s = alpha;\nfor (int i = 0; i < n; i++) {\n  t = s;\n  s = t * x[i];\n}\nx[0] = s;\n");
  EXPECT_FALSE(find_variable(region, "s")->is_parameter);
  EXPECT_EQ(find_variable(region, "t")->type, ScalarType::float32);
}

TEST(Source, ConstantsAreWrittenInTheirPlace) {
  EXPECT_EQ(
      body_of(
          "const float half = 0.5f; double third = 0.25; for (int i = 0; i < n; i++) x[i] = half * third;"),
      "for (int i = 0; i < n; i++)\n  x[i] = 0.5f * 0.25;\n");
  // Of another type they keep their conversion.
  EXPECT_EQ(body_of("float tenth = 0.1, two = 2; for (int i = 0; i < n; i++) x[i] = tenth * two;"),
            "for (int i = 0; i < n; i++)\n  x[i] = (float)0.1 * (float)2;\n");
  EXPECT_EQ(
      body_of(
          "int last = n - 1; for (int i = 0; i < last; i++) { int next = i + 1; x[next] = x[next + last]; }"),
      "for (int i = 0; i < n - 1; i++)\n  x[i + 1] = x[i + 1 + (n - 1)];\n");
}

TEST(Source, AConstantKeepsItsParentheses) {
  const std::string body = body_of("int last = n - 1; for (int i = 0; i < n; i++) x[2 * last] = 0;");
  EXPECT_EQ(body, "for (int i = 0; i < n; i++)\n  x[2 * (n - 1)] = 0;\n");
}

TEST(Source, FileScopeHoldsConstantsAndArrays) {
  const Region region = read_region(
      "#define N 8\nenum { ROWS = 3, COLUMNS };\ntypedef float real;\nstatic const int kTaps = 5;\n"
      "const real kScale = 2.0f;\nreal grid[ROWS][COLUMNS], taps[N];\nstruct point { int x; };\nint other(int a);\n"
      "void f(void) { for (int i = 0; i < kTaps; i++) grid[0][COLUMNS - 1] += kScale * taps[i]; }");
  EXPECT_EQ(to_text(region.body), "for (int i = 0; i < 5; i++)\n  grid[0][4 - 1] += 2.0f * taps[i];\n");
  ASSERT_TRUE(find_variable(region, "grid"));
  EXPECT_TRUE(find_variable(region, "grid")->is_parameter);
  EXPECT_EQ(find_variable(region, "grid")->extents,
            (std::vector<Expression>{Expression::integer(3), Expression::integer(4)}));
  EXPECT_EQ(region.parameters, (std::vector<std::string>{"grid", "taps"}));
  EXPECT_TRUE(region.sizes.empty());
}

TEST(Source, LocalArraysHaveElements) {
  const Region region = read_region(
      function_of("float w[2][2] = {{1, 2}, {3}}, line[m]; for (int i = 0; i < n; i++) line[i] = w[1][0];"));
  EXPECT_EQ(
      to_text(region.body),
      "w[0][0] = 1;\nw[0][1] = 2;\nw[1][0] = 3;\nw[1][1] = 0;\nfor (int i = 0; i < n; i++)\n  line[i] = w[1][0];\n");
  EXPECT_EQ(to_text(find_variable(region, "line")->extents.at(0)), "m");
  EXPECT_FALSE(find_variable(region, "w")->is_parameter);
}

TEST(Source, NamesOfInnerScopesDoNotMix) {
  const Region region =
      read_region(function_of("for (int i = 0; i < n; i++) { float t = x[i]; t += 1; x[i] = t; }\n"
                              "for (int i = 0; i < n; i++) { double t = y[i]; t += 1; y[i] = t; }\n"
                              "for (int n = 0; n < m; n++) x[n] = 0;"));
  EXPECT_EQ(find_variable(region, "t")->type, ScalarType::float32);
  ASSERT_TRUE(find_variable(region, "t_2"));
  EXPECT_EQ(find_variable(region, "t_2")->type, ScalarType::float64);
  EXPECT_EQ(region.body.children.at(0).iterator, "i");
  EXPECT_EQ(region.body.children.at(1).iterator, "i");
  EXPECT_EQ(region.body.children.at(2).iterator, "n_2");
}

TEST(Source, AnIntegerThatIsAssignedIsNoSize) {
  const Region region = read_region(
      "void f(int n, int count, float a[n]) { for (int i = 0; i < n; i++) { count += 2; a[i] = count; } }");
  EXPECT_EQ(region.sizes, std::vector<std::string>{"n"});
  ASSERT_TRUE(find_variable(region, "count"));
  EXPECT_EQ(find_variable(region, "count")->type, ScalarType::int32);
}

TEST(Source, OnlyWhatIsBetweenThePragmasIsTheRegion) {
  const std::string text =
      "void helper(float *a) { while (*a > 0) *a -= 1; }\n"
      "void f(int n, float a[n]) {\n"
      "  int i, k = n / 2;\n  float t, last;\n"
      "  for (i = 0; i < n; i++) helper(&a[i]);\n"
      "#pragma scop\n"
      "  for (i = 0; i < k; i++) { t = a[i]; a[i] = t * t; last = t; }\n"
      "#pragma endscop\n"
      "  printf(\"%f\", last);\n"
      "}\n";
  const Region region = read_region(text);
  EXPECT_EQ(region.at.line, 6u);
  EXPECT_EQ(region.statements, 3);
  EXPECT_EQ(region.sizes, (std::vector<std::string>{"n", "k"}));
  EXPECT_FALSE(find_variable(region, "t")->is_parameter);
  EXPECT_TRUE(find_variable(region, "last")->is_parameter);
}

TEST(Source, AFunctionMayHaveSeveralRegions) {
  const std::vector<Region> regions = read(
      "void f(int n, float a[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) a[i] = 1;\n#pragma endscop\n"
      "#pragma omp barrier\n#pragma scop\nfor (int i = 0; i < n; i++) a[i] = 2;\n#pragma endscop\n}");
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[1].at.line, 6u);
  EXPECT_EQ(regions[1].statements, 1);
}

TEST(Source, FunctionsWithoutLoopsAreSkipped) {
  EXPECT_TRUE(
      read("int *g(char **argv) { return (int *)argv[0]; }\nstruct s { int a; } v = { 3 };\n").empty());
  EXPECT_TRUE(read("").empty());
}

TEST(Source, OneFunctionCanBeAskedFor) {
  const std::string text =
      "void f(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] = 1; }\n"
      "void g(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] = 2; }\n";
  SourceOptions options;
  EXPECT_EQ(read(text, options).size(), 2u);
  options.function = "g";
  ASSERT_EQ(read(text, options).size(), 1u);
  EXPECT_EQ(read(text, options)[0].function, "g");
  options.function = "h";
  EXPECT_THROW(read(text, options), BadInput);
}

TEST(Source, TextOfALoopMayFollowAnother) {
  Node outer =
      read_region(function_of("for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[i][j] = 0;")).body;
  outer.children[0].parallel = true;
  const auto mark = [](const Node& loop) -> std::string {
    return loop.parallel ? "#pragma omp parallel for\n" : "";
  };
  EXPECT_EQ(
      to_text(outer, 1, mark),
      "  #pragma omp parallel for\n  for (int i = 0; i < n; i++)\n    for (int j = 0; j < m; j++)\n      A[i][j] = 0;\n");
}

/// The value of an expression of n = 7 and i = -3.
std::int64_t value_of_text(const std::string& text) {
  const Region region =
      read_region("void f(int n, float A[n]) { for (int i = 0; i < " + text + "; i++) A[i] = 0; }");
  return value_of(region.body.children.at(0).limit, {{"n", 7}, {"i", -3}});
}

TEST(Source, IntegersOfSizesHaveTheValueThatCHas) {
  EXPECT_EQ(value_of_text("2 * n - 1"), 13);
  EXPECT_EQ(value_of_text("n / 2 + n % 4"), 6);
  EXPECT_EQ(value_of_text("-n"), -7);
  const Expression i = Expression::name("i");
  const auto floor_of = [&](std::int64_t by) {
    return value_of(Expression::call("floord", {i, Expression::integer(by)}), {{"i", -3}});
  };
  EXPECT_EQ(floor_of(2), -2);
  EXPECT_EQ(floor_of(3), -1);
  EXPECT_EQ(value_of(Expression::call("min", {i, Expression::integer(4)}), {{"i", -3}}), -3);
}

TEST(Source, AnIntegerWithoutAValueIsRefusedWithItsName) {
  const Expression n = Expression::name("n");
  EXPECT_THAT([&] { (void)value_of(Expression::binary("+", n, Expression::integer(1)), {}); },
              testing::ThrowsMessage<BadInput>(testing::HasSubstr("`size` n=VALUE")));
  EXPECT_THAT(
      [&] {
        value_of(Expression::binary("/", n, Expression::integer(0)), {{"n", 7}});
      },
      testing::ThrowsMessage<BadInput>(testing::HasSubstr("divides by 0")));
  EXPECT_THAT(
      [&] {
        value_of(Expression::element("A", {n}), {{"n", 7}});
      },
      testing::ThrowsMessage<BadInput>(testing::HasSubstr("no integer")));
}

/// The names of the scalars that a region gives back, and of all that comes from outside.
std::pair<std::vector<std::string>, std::vector<std::string>> results_of(const std::string& text) {
  const Region region = test::read_region(text);
  std::vector<std::string> results;
  for (const Variable& variable : region.variables)
    if (variable.is_result) results.push_back(variable.name);
  return {results, region.parameters};
}

TEST(Results, AreScalarsThatARegionAssignsAndOthersSee) {
  using Names = std::vector<std::string>;
  const std::string sum = "for (int i = 0; i < n; i++) s += a[i];\n";
  const auto scop = "#pragma scop\n" + sum + "#pragma endscop\n";
  EXPECT_EQ(results_of("void f(int n, float a[n]) { float s = 0;\n" + scop + "}"),
            std::pair(Names{"s"}, Names{"n", "a", "s"}));
  EXPECT_EQ(results_of("void f(int n, float a[n], float s) {\n" + scop + "use(s); }"),
            std::pair(Names{"s"}, Names{"n", "a", "s"}));
  EXPECT_EQ(results_of("float s; void f(int n, float a[n]) {\n" + sum + "}").first, Names{"s"});
  EXPECT_EQ(results_of("float f(int n, float a[n]) { float s = 0;\n" + sum + "return s; }"),
            std::pair(Names{"s"}, Names{"n", "a", "s"}));
  // Nobody sees the copy that a function's own parameter is.
  EXPECT_EQ(results_of("void f(int n, float a[n], float s) {\n" + sum + "a[0] = s; }").first, Names{});
  // A scalar that lives in the scop alone is none.
  EXPECT_EQ(results_of("void f(int n, float a[n]) { float t;\n#pragma scop\n"
                       "for (int i = 0; i < n; i++) { t = a[i]; a[i] = t * t; }\n#pragma endscop\n}")
                .first,
            Names{});
}

TEST(Results, PointersToOneElementAreArraysOfOne) {
  const Region region =
      test::read_region("void f(int n, float a[n], float *s) { for (int i = 0; i < n; i++) *s += a[i]; }");
  ASSERT_EQ(find_variable(region, "s")->extents.size(), 1u);
  EXPECT_EQ(find_variable(region, "s")->extents[0], Expression::integer(1));
  EXPECT_EQ(region.body.children[0].children[0].target, Expression::element("s", {Expression::integer(0)}));
  EXPECT_EQ(test::refusals_of("void f(int n, float *s) { for (int i = 0; i < n; i++) *s += s[i]; }").size(),
            1u);
  EXPECT_EQ(test::refusals_of("void f(int n, float *s) { for (int i = 0; i < n; i++) *(s + i) = 0; }").size(),
            1u);
}

TEST(Results, OnlyAnAssignedScalarIsReturned) {
  for (const char* returned : {"n", "a", "unknown"})
    EXPECT_EQ(
        test::refusals_of(std::string("int f(int n, float a[n]) { for (int i = 0; i < n; i++) a[i] = 0;\n"
                                      "return ") +
                          returned + "; }")
            .size(),
        1u)
        << returned;
}

}  // namespace
}  // namespace warploom::tile::test
