// C and C++ through Clang: what its syntax tree says, against our own reader and against what C means.
#include "warploom/tile/clang.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tile/c/delinearise.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/process.hpp"
#include "warploom/tile/gpu.hpp"
#include "warploom/tile/nest.hpp"
#include "warploom/tile/parallelise.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Clang : public ::testing::Test {
 protected:
  void SetUp() override {
    if (find_clang().empty()) GTEST_SKIP() << "clang is not installed";
  }

  std::vector<Region> read(const std::string& text, const std::string& name = "t.c",
                           const ClangOptions& options = {}) {
    const fs::path path = place_.path() / name;
    std::ofstream(path) << text;
    std::vector<Region> regions = read_with_clang(path, {}, options);
    for (Region& region : regions) {
      region.file = name;
      delinearise(region);
    }
    return regions;
  }

  /// "3:4: construct: why" of each refusal.
  static std::vector<std::string> refusals(const std::vector<Region>& regions) {
    std::vector<std::string> all;
    for (const Region& region : regions)
      for (const Refusal& refusal : region.refusals)
        all.push_back(
            fmt::format("{}:{}: {}: {}", refusal.at.line, refusal.at.column, refusal.construct, refusal.why));
    return all;
  }
  static std::vector<Region> nests(const std::vector<Region>& regions) {
    std::vector<Region> all;
    for (const Region& region : regions)
      if (region.refusals.empty()) all.push_back(region);
    return all;
  }

  TemporaryDirectory place_;
};

/// What a region says, places apart.
std::string said(const Region& region) {
  std::string text = region.function + "(";
  for (const std::string& parameter : region.parameters) text += parameter + ", ";
  text += ")\n";
  for (const Variable& v : region.variables) {
    text += fmt::format("{} {}{}{}{}", c_name(v.type), v.name, v.is_parameter ? " outside" : "",
                        v.is_constant ? " constant" : "", v.is_result ? " result" : "");
    // The compiler forgets the outermost extent of a parameter.
    for (std::size_t d = v.is_parameter ? 1 : 0; d < v.extents.size(); ++d)
      text += "[" + to_text(v.extents[d]) + "]";
    text += "\n";
  }
  return text + to_text(region.body);
}

TEST_F(Clang, ReadsTheExamplesAsOurOwnReaderDoes) {
  int compared = 0;
  for (const char* folder : {"polybench", "lecture"}) {
    for (const fs::directory_entry& entry :
         fs::directory_iterator(fs::path(WARPLOOM_EXAMPLES) / "tile" / folder)) {
      if (entry.path().extension() != ".c") continue;
      const std::string name = entry.path().string();
      const std::vector<Region> own = read_source(read_file(entry.path()), name, {});
      const std::vector<Region> clang = read_with_clang(entry.path(), {}, {});
      EXPECT_THAT(refusals(clang), ::testing::IsEmpty()) << name;
      ASSERT_EQ(own.size(), clang.size()) << name;
      for (std::size_t r = 0; r < own.size(); ++r) EXPECT_EQ(said(own[r]), said(clang[r])) << name;
      ++compared;
    }
  }
  EXPECT_GE(compared, 39);
}

TEST_F(Clang, MacrosTypedefsEnumeratorsAndHeadersAreTheCompilers) {
  std::ofstream(place_.path() / "sizes.h")
      << "#define ROWS 40\ntypedef double real;\nenum { COLUMNS = 7, NEXT };\n";
  const auto regions = read(
      "#include <stddef.h>\n#include \"sizes.h\"\n"
      "#define FOR(i, n) for (size_t i = 0; i < (n); ++i)\n"
      "void f(real A[ROWS][NEXT]) { FOR(i, ROWS) FOR(j, COLUMNS) A[i][j + 1] = (real)1 / 3; }\n");
  ASSERT_THAT(refusals(regions), ElementsAre());
  ASSERT_EQ(regions.size(), 1u);
  EXPECT_EQ(
      to_text(regions[0].body),
      "for (int i = 0; i < 40; i++)\n  for (int j = 0; j < 7; j++)\n    A[i][j + 1] = (double)1 / 3;\n");
  EXPECT_EQ(regions[0].variables.at(0).type, ScalarType::float64);
  EXPECT_EQ(to_text(regions[0].variables.at(0).extents.at(1)), "8");
}

TEST_F(Clang, EnumeratorsGoOnBehindTheLargestNumber) {
  const auto regions = read(
      "enum { LARGEST = 9223372036854775807, NEXT, TWO = 2, THREE };\n"
      "void f(int n, float *a) {\n"
      "  for (int i = 0; i < n; i++) a[THREE * i] = TWO;\n"
      "}\n");
  ASSERT_EQ(nests(regions).size(), 1u);
  EXPECT_THAT(to_text(nests(regions)[0].body), HasSubstr("a[3 * i] = "));
}

TEST_F(Clang, MembersAreVariablesOfTheirOwn) {
  const auto regions = read(
      "typedef struct { int w, h; float *data; } image;\n"
      "void scale(image m, const image *s, float by) {\n"
      "  for (int i = 0; i < s->h; i++)\n"
      "    for (int j = 0; j < s->w; j++) m.data[i * m.w + j] = by * s->data[i * s->w + j];\n"
      "}\n");
  ASSERT_THAT(refusals(regions), ElementsAre());
  EXPECT_EQ(to_text(regions.at(0).body),
            "for (int i = 0; i < s_h; i++)\n  for (int j = 0; j < s_w; j++)\n"
            "    m_data[i][j] = by * s_data[i][j];\n");
  EXPECT_THAT(regions[0].remarks, ::testing::Contains("s_h stands for s->h"));
  EXPECT_THAT(regions[0].remarks, ::testing::Contains("m_data is read as m_data[][m_w]"));
}

TEST_F(Clang, FlatArraysGetTheirRows) {
  const auto regions = read(
      "void gemm(int M, int N, int K, float a, float *restrict A, int lda, float *restrict B, int ldb, float *C, int ldc) {\n"
      "  int i, j, k;\n"
      "  for (i = 0; i < M; ++i)\n"
      "    for (k = 0; k < K; ++k) {\n"
      "      float part = a * A[i * lda + k];\n"
      "      for (j = 0; j < N; ++j) C[i * ldc + j] += part * B[k * ldb + j];\n"
      "    }\n"
      "}\n");
  ASSERT_THAT(refusals(regions), ElementsAre());
  const Nest nest = Nest::analyse(regions.at(0));
  EXPECT_THAT(to_text(regions[0].body), HasSubstr("C[i][j] += part * B[k][j];"));
  EXPECT_THAT(nest.remarks(), ::testing::Contains("A is taken to have M rows"));
  EXPECT_THAT(nest.remarks(), ::testing::Contains(HasSubstr("assumes lda >= K")));
  const std::string c = emit_c(nest, transform(nest, {}).code());
  EXPECT_THAT(c, HasSubstr("float *restrict A_elements, "));
  EXPECT_THAT(c, HasSubstr("float (*restrict A)[lda] = (float (*)[lda])A_elements;"));
}

TEST_F(Clang, SmallFunctionsAreReadWhereTheyAreCalled) {
  const auto regions = read(
      "#include <assert.h>\n#include <math.h>\n"
      "typedef struct { int w; float *data; } image;\n"
      "static inline float square(float x) { return x * x; }\n"
      "static float at(image m, int x, int y) { assert(x < m.w); return m.data[y * m.w + x]; }\n"
      "static float above(float x, float least) { if (x < least) return least; return x; }\n"
      "void f(int n, image m, float *a) {\n"
      "  for (int i = 0; i < n; i++) a[i] = square(at(m, i, 3)) + above(sqrtf(a[i]), 1.f);\n"
      "}\n");
  ASSERT_THAT(refusals(regions), ElementsAre());
  EXPECT_EQ(
      to_text(regions.at(0).body),
      "for (int i = 0; i < n; i++)\n"
      "  a[i] = m_data[3 * m_w + i] * m_data[3 * m_w + i] + (sqrtf(a[i]) < 1.f ? 1.f : sqrtf(a[i]));\n");
}

TEST_F(Clang, WhatIsNotAffineIsRefusedForItsLoopAlone) {
  const auto regions = read(
      "void print(float);\n"
      "void f(int n, float *a, float *b, int *at) {\n"
      "  for (int i = 0; i < n; i++) a[i] = 1;\n"
      "  for (int i = 0; i < n; i++) a[at[i]] = b[i];\n"
      "  while (a[0] < 3) {\n"
      "    for (int i = 0; i < n; i++) a[i] *= 2;\n"
      "  }\n"
      "  for (int t = 0; t < n; t++) {\n"
      "    for (int i = 0; i < n; i++) b[i] += a[i];\n"
      "    print(b[t]);\n"
      "  }\n"
      "}\n");
  EXPECT_THAT(refusals(regions),
              ElementsAre("5:3: while loop: the number of iterations is not known before it runs",
                          "10:5: call of print: what it does is not known; write its body in its place"));
  std::vector<std::string> names;
  for (const Region& region : nests(regions)) names.push_back(region.function);
  EXPECT_THAT(names, ElementsAre("f_line3", "f_line6", "f_line9"));
}

TEST_F(Clang, WhatChangesAfterALoopIsASizeInIt) {
  const auto regions = read(
      "void release(float **);\n"
      "void f(int n, float *a) {\n"
      "  for (int i = 0; i < n; i++) a[i] = 1;\n"
      "  n = n / 2;\n"
      "  for (int i = 0; i < n; i++) a[i] += 2;\n"
      "  release(&a);\n"
      "}\n");
  EXPECT_THAT(refusals(regions), ElementsAre());
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(to_text(regions[1].body), "for (int i = 0; i < n; i++)\n  a[i] += 2;\n");
}

TEST_F(Clang, ConditionsOnDataAreLeftToTheAnalysis) {
  const auto regions = read(
      "void f(int n, float *a, int m) {\n"
      "  for (int i = 0; i < n; i++)\n"
      "    if (a[i] > 0) a[i] = 0;\n"
      "  for (int i = 0; i < n; i++)\n"
      "    if (m > 0 && i > 2) a[i] = 0;\n"
      "}\n");
  // Either it takes both, or the first one's condition is what it names.
  ASSERT_GE(nests(regions).size(), 1u);
  for (const std::string& refusal : refusals(regions)) EXPECT_THAT(refusal, HasSubstr("if (a[i] > 0)"));
  EXPECT_THAT(to_text(nests(regions).back().body), HasSubstr("if (m > 0 && i > 2)"));
}

TEST_F(Clang, ResultsAreNotDropped) {
  const auto regions = read(
      "float dot(int n, const float *a, const float *b) {\n"
      "  float s = 0;\n  for (int i = 0; i < n; i++) s += a[i] * b[i];\n  return s;\n}\n"
      "float mean(int n, const float *a) {\n"
      "  float s = 0;\n  for (int i = 0; i < n; i++) s += a[i];\n  return s / n;\n}\n"
      "void last(int n, int *out, const int *a) {\n"
      "  int i;\n  for (i = 0; i < n; i++) out[i] = a[i];\n  out[0] = i;\n}\n");
  ASSERT_EQ(nests(regions).size(), 3u);
  for (const Region& region : nests(regions)) {
    const Variable* s = find_variable(region, region.function.starts_with("last") ? "i_2" : "s");
    ASSERT_NE(s, nullptr);
    EXPECT_TRUE(s->is_result && s->is_parameter) << region.function;
  }
  EXPECT_EQ(to_text(nests(regions)[2].body),
            "for (int i = 0; i < n; i++)\n  out[i] = a[i];\ni_2 = max(n, 0);\n");
  EXPECT_THAT(refusals(regions), ElementsAre());
}

TEST_F(Clang, PointersIntoAnArrayAreThatArray) {
  const auto regions = read(
      "void f(int n, float *A, float *x) {\n"
      "  for (int i = 0; i < n; i++) {\n"
      "    const float *row = A + i * n;\n"
      "    for (int j = 0; j < n; j++) x[j] += row[j] * *(A + j * n + i);\n"
      "  }\n"
      "}\n"
      "float *choose(float *, int);\n"
      "void g(int n, float *A) {\n"
      "  float *p = choose(A, n);\n"
      "  for (int j = 0; j < n; j++) p[j] = A[j];\n"
      "}\n");
  EXPECT_THAT(to_text(regions.at(0).body), HasSubstr("x[j] += A[i][j] * A[j][i];"));
  EXPECT_THAT(refusals(regions), ElementsAre(HasSubstr("9:14: call: it is no array")));
}

TEST_F(Clang, TemplatesAndMemberFunctionsAreReadAsTheyAreInstantiated) {
  const auto regions = read(
      "template <class T> struct Matrix {\n"
      "  T *data;\n  int n;\n"
      "  void scale(T by) {\n    for (int i = 0; i < n; ++i)\n      for (int j = 0; j < n; ++j) data[i * n + j] *= by;\n  }\n};\n"
      "template <int W, class T> void shift(T *a, int n) { for (int i = 0; i < n; ++i) a[i + W] = a[i]; }\n"
      "void use(Matrix<float> &m, double *a) { m.scale(2); shift<3>(a, m.n); }\n",
      "t.cpp");
  ASSERT_THAT(refusals(regions), ElementsAre());
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(to_text(regions[0].body),
            "for (int i = 0; i < n; i++)\n  for (int j = 0; j < n; j++)\n    data[i][j] *= by;\n");
  EXPECT_EQ(to_text(regions[1].body), "for (int i = 0; i < n; i++)\n  a[i + 3] = a[i];\n");
  EXPECT_EQ(find_variable(regions[1], "a")->type, ScalarType::float64);
}

TEST_F(Clang, AccessorsAreTheElementsThatTheyGive) {
  const auto regions = read(
      "typedef double real;\n"
      "class Domain {\n public:\n  real &x(int i) { return m_x[i]; }\n  real &at(int i, int j) { return m_x[i * n() + j]; }\n"
      "  int &n() { return m_n; }\n private:\n  real *m_x;\n  int m_n;\n};\n"
      "void f(Domain &domain, real *y) {\n"
      "  for (int i = 0; i < domain.n(); ++i) domain.x(i) = y[i] + domain.at(2, i);\n"
      "}\n",
      "t.cpp");
  ASSERT_THAT(refusals(regions), ElementsAre());
  EXPECT_EQ(to_text(regions.at(0).body),
            "for (int i = 0; i < domain_m_n; i++)\n"
            "  domain_m_x[i] = y[i] + domain_m_x[2 * domain_m_n + i];\n");
}

TEST_F(Clang, IntegersInArraysThatStayAreSizes) {
  const auto regions = read(
      "extern int points[3];\n"
      "void f(float (*a)[8], const int *row) {\n"
      "  for (int r = 0; r < 9; r++) {\n"
      "    row++;\n"
      "    if (row[0] > 3) break;\n"
      "    for (int i = 0; i < points[0] - 1; i++)\n"
      "      for (int j = row[r]; j < points[1]; j++) a[i][j] = points[2];\n"
      "  }\n"
      "  for (int i = 0; i < points[0]; i++) points[i] = 0;\n"
      "}\n");
  ASSERT_EQ(nests(regions).size(), 1u);
  EXPECT_THAT(to_text(nests(regions)[0].body), HasSubstr("for (int i = 0; i < points_0 - 1; i++)"));
  EXPECT_THAT(nests(regions)[0].remarks, ::testing::Contains("points_0 stands for points[0]"));
  EXPECT_THAT(refusals(regions), ::testing::Contains(HasSubstr("9:19: loop condition i < points[0]")));
}

TEST_F(Clang, ValuesThatNobodyReadsLaterAreTheNestsOwn) {
  const auto regions = read(
      "void print(float);\n"
      "void f(int n, float *a, float *b) {\n"
      "  int i, k;\n"
      "  float t, s = 0;\n"
      "  for (int r = 0; r < n; r++) {\n"
      "    for (i = 0; i < n; i++) { t = a[i]; b[i] = t * t; }\n"
      "    print(b[0]);\n"
      "    i = 3;\n"
      "    while (i > 0) i--;\n"
      "  }\n"
      "  for (i = 0; i < n; i++) s += a[i];\n"
      "  print(s);\n"
      "  for (k = 0; k < n; k++) a[k] = 0;\n"
      "  print(k);\n"
      "}\n");
  ASSERT_EQ(nests(regions).size(), 3u);
  EXPECT_FALSE(find_variable(nests(regions)[0], "t")->is_parameter);
  EXPECT_EQ(find_variable(nests(regions)[0], "i_2"), nullptr);
  EXPECT_TRUE(find_variable(nests(regions)[1], "s")->is_result);
  EXPECT_TRUE(find_variable(nests(regions)[2], "k_2")->is_result);
}

TEST_F(Clang, MessagesQuoteTheSourceAndBeginWithItsOwnNests) {
  std::ofstream(place_.path() / "own.h")
      << "static void g(float *b) { for (int i = 0; i < 3; i++) b[i] = 1; }\n";
  const auto regions = read(
      "#include \"own.h\"\n"
      "typedef struct { float **trc; } icc;\n"
      "void f(int n, float *a, float *b, icc *c) {\n"
      "  for (int i = 0; i < n; i++) a[i] = (n > 3 ? a : b)[i];\n"
      "  for (int i = 0; i < n; i++) a[i] = 2;\n"
      "}\n");
  EXPECT_THAT(refusals(regions), ElementsAre(HasSubstr("n > 3 ? a : b: it is no array")));
  ASSERT_EQ(nests(regions).size(), 2u);
  EXPECT_EQ(nests(regions)[0].function, "f_line5");
  EXPECT_EQ(nests(regions)[1].function, "g");
}

TEST_F(Clang, MembersOfElementsThatWereSetBeforeAreNotLost) {
  const auto regions = read(
      "struct pair { unsigned short x, id; };\n"
      "void sort(struct pair *);\n"
      "void f(int n, unsigned char *to, unsigned short *from) {\n"
      "  struct pair p[250], q[250];\n"
      "  for (int i = 0; i < n; i++) p[i].id = from[i];\n"
      "  sort(p);\n"
      "  for (int i = 0; i < n; i++) to[i] = p[i].id;\n"
      "  for (int i = 0; i < n; i++) { q[i].id = to[i]; to[i] = q[i].id + 1; }\n"
      "}\n");
  ASSERT_EQ(nests(regions).size(), 2u);
  const auto is_given = [&](std::size_t nest, const char* view) {
    const Variable* variable = find_variable(nests(regions)[nest], view);
    return variable && variable->is_parameter;
  };
  EXPECT_TRUE(is_given(0, "p_unsigned_short"));
  EXPECT_TRUE(is_given(1, "p_unsigned_short"));
  EXPECT_FALSE(is_given(1, "q_unsigned_short"));
}

TEST_F(Clang, RowsThatPointersReachStayWhereTheyAre) {
  const auto regions = read(
      "typedef struct { float **w; int n; } net;\n"
      "void f(int n, float **a, float *b, int **at, net *s) {\n"
      "  for (int i = 0; i < n; i++) a[i] = b;\n"
      "  for (int i = 0; i < n; i++) { a[i]++; a[i][0] = 1; }\n"
      "  for (int i = 0; i < n; i++) b[i] = s->w[i][2];\n"
      "  for (int i = 0; i < n; i++) b[at[i][0]] = a[i][at[0][i]];\n"
      "}\n");
  ASSERT_EQ(nests(regions).size(), 1u);
  EXPECT_THAT(to_text(nests(regions)[0].body), HasSubstr("b[i] = s_w[i][2];"));
  EXPECT_THAT(to_text(nests(regions)[0].body), HasSubstr("b[at[i][0]] = a[i][at[0][i]];"));
  EXPECT_TRUE(find_variable(nests(regions)[0], "s_w")->has_row_pointers);
  EXPECT_THAT(nests(regions)[0].remarks, testing::Contains("the rows of a are assumed not to overlap"));
  EXPECT_THAT(nests(regions)[0].sizes, testing::Contains("a_row_length"));
  EXPECT_THAT(refusals(regions), ElementsAre(HasSubstr("3:"), HasSubstr("4:")));
  const Nest nest = Nest::analyse(nests(regions)[0]);
  EXPECT_THAT(emit_c(nest, Schedule::of_source(nest).code()), HasSubstr("float **s_w"));
  try {
    map_to_gpu(nest, parallelise(nest), {});
    ADD_FAILURE() << "a kernel of pointers to pointers";
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("array 's_w': its rows are reached through pointers"));
  }
}

TEST_F(Clang, LoopsGoOnWhereOthersStopped) {
  const auto regions = read(
      "void f(int n, int m, float *a) {\n"
      "  int i;\n"
      "  for (i = 0; i + 4 <= n; i += 4) a[i] = 1;\n"
      "  for (; i < n; i++) a[i] = 2;\n"
      "  for (int k = 0; k < m; k++)\n"
      "    for (; i < n; i++) a[i] = 3;\n"
      "}\n");
  ASSERT_EQ(nests(regions).size(), 3u);
  EXPECT_EQ(to_text(nests(regions)[0].body),
            "for (int i = 0; i <= n - 4; i += 4)\n  a[i] = 1;\ni_2 = 4 * max(floord(n, 4), 0);\n");
  EXPECT_EQ(to_text(nests(regions)[1].body),
            "for (int i_2 = i; i_2 < n; i_2++)\n  a[i_2] = 2;\ni_3 = i + max(n - i, 0);\n");
  EXPECT_THAT(nests(regions)[1].sizes, ElementsAre("i", "n"));
  EXPECT_EQ(to_text(nests(regions)[2].body),  // the next iteration of k reads i
            "for (int i_2 = i; i_2 < n; i_2++)\n  a[i_2] = 3;\ni_3 = i + max(n - i, 0);\n");
  EXPECT_THAT(refusals(regions), ElementsAre(HasSubstr("6:5: for without a first value")));
}

TEST_F(Clang, JumpsThatStayInAStatementConcernItAlone) {
  const auto regions = read(
      "void f(int n, float *a) {\n"
      "  int i;\n"
      "  for (i = 0; i < n; i++) a[i] = 1;\n"
      "  for (i = 0; i < n; i++) {\n"
      "    if (a[i] > 3) goto next;\n"
      "    a[i] = 2;\n"
      "  next:;\n"
      "  }\n"
      "  for (i = 0; i < n; i++) a[i] *= 2;\n"
      "}\n"
      "void g(int n, float *a) {\n"
      "  int i;\n"
      "again:\n"
      "  for (i = 0; i < n; i++) a[i] = 1;\n"
      "  a[0] = i;\n"
      "  if (a[1] > 0) goto again;\n"
      "}\n");
  std::vector<std::string> names;
  for (const Region& region : nests(regions)) names.push_back(region.function);
  EXPECT_THAT(names, ElementsAre("f_line3", "f_line9", "g_line14"));
  EXPECT_EQ(nests(regions)[0].variables.size(), 1u);
  EXPECT_TRUE(find_variable(nests(regions)[2], "i_2")->is_result);
}

TEST_F(Clang, WhatStandsForItselfIsRefused) {
  const auto regions = read(
      "typedef struct { int n; float *d; } image;\n"
      "void f(int n, float *a) { float *p = p + 1; for (int i = 0; i < n; i++) p[i] = a[i]; }\n"
      "void g(int n, float *a) { for (int i = 0; i < n; i++) { image m = m; a[i] = m.d[i]; } }\n");
  EXPECT_EQ(nests(regions).size(), 0u);
  EXPECT_EQ(refusals(regions).size(), 2u);
}

TEST_F(Clang, HeadersOfCppArePrecompiledWhereTheyAreTheSystems) {
  std::ofstream(place_.path() / "mine.h")
      << "inline void g(int n, float *x) { for (int i = 0; i < n; i++) x[i] = 1; }\n";
  ClangOptions options;
  options.flags = {"-I" + place_.path().string()};
  const std::string f =
      "void f(std::vector<float> &a, int n) { for (int i = 0; i < n; i++) a[i] = std::sqrt(a[i]); }\n";
  for (const char* headers : {"// two\n#include <vector>\n#include <cmath>\n",
                              "#include <vector>\n#include <cmath>\n#include <mine.h>\n",
                              "#include \"mine.h\"\n#include <vector>\n#include <cmath>\n"}) {
    const auto regions = read(headers + f, "t.cpp", options);
    EXPECT_THAT(refusals(regions), ElementsAre()) << headers;
    ASSERT_EQ(regions.size(), std::string_view(headers).find("mine") == std::string_view::npos ? 1u : 2u)
        << headers;
    EXPECT_EQ(to_text(regions.front().body), "for (int i = 0; i < n; i++)\n  a[i] = sqrtf(a[i]);\n")
        << headers;
  }
}

TEST_F(Clang, WhatAReferenceNamesIsNotLost) {
  const auto regions = read(R"(
void sum(int n, const float *a, float &s) { for (int i = 0; i < n; i++) s += a[i]; }
void last(int n, float *a, int &k) { for (int i = 0; i < n; i++) { a[k] = 1; k++; } }
float copy(int n, float *a) { float s = 0, &r = s; for (int i = 0; i < n; i++) { r += a[i]; a[i] = s; } return s; }
void element(int n, float *a, float *b) { for (int i = 0; i < n; i++) { float &x = b[i]; x = a[i]; } }
void runs(int n, float *a, int &i) { for (i = 0; i < n; i++) a[i] = 1; }
)",
                            "t.cpp");
  const auto taken = nests(regions);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_TRUE(find_variable(taken[0], "s")->is_result);
  EXPECT_TRUE(find_variable(taken[1], "k")->is_result);
  EXPECT_THAT(taken[0].remarks, testing::Contains(HasSubstr("s, a reference, is assumed")));
  EXPECT_THAT(refusals(regions), ElementsAre(HasSubstr("4:82: reference r: "), HasSubstr("reference x: "),
                                             HasSubstr("loop variable i: ")));
}

TEST_F(Clang, StructuresWithTwoNamesAreRefused) {
  const auto regions = read(R"(
struct M { int n; float *d; };
void both(M &a) { M &b = a; for (int i = 1; i < b.n; i++) b.d[i] = a.d[i - 1]; }
void pointer(M *a) { M *b = a; for (int i = 1; i < b->n; i++) b->d[i] = a->d[i - 1]; }
void row(int n, float (*a)[4]) { float (&r)[4] = a[1]; for (int i = 0; i < n; i++) { for (int k = 0; k < 4; k++) r[k] = a[i][k]; } }
void one(M *ms, int k) { M &b = ms[k]; for (int i = 1; i < b.n; i++) b.d[i] = b.d[i - 1]; }
void apart(M *a, M *c) { M *b = c; for (int i = 1; i < b->n; i++) b->d[i] = a->d[i - 1]; }
)",
                            "t.cpp");
  EXPECT_THAT(refusals(regions),
              ElementsAre(HasSubstr(": b: it is another name"), HasSubstr(": b: it is another name"),
                          HasSubstr(": r: it is another name")));
  EXPECT_EQ(nests(regions).size(), 2u);
}

TEST_F(Clang, PointersToVariablesOfTheNestAreRefused) {
  const auto regions = read(R"(
float sum(int n, float *a) { int j; float s = 0, *p = &s; for (j = 0; j < n; j++) { s += a[j]; p[0] = p[0] * 2; } return s; }
void last(int n, float *a) { int j, *p = &j; for (j = 0; j < n; j++) a[j] = 1; a[0] = *p; }
)");
  EXPECT_THAT(refusals(regions), ElementsAre(HasSubstr("pointer p: it may point to a variable")));
  EXPECT_EQ(nests(regions).size(), 1u);  // the loop of the second
}

TEST_F(Clang, FlagsOfACompilationDatabaseHold) {
  std::ofstream(place_.path() / "compile_commands.json")
      << "[{\"directory\": \"" << place_.path().string() << "\", \"file\": \"t.c\", "
      << "\"command\": \"cc -DN=12 '-DTYPE=float' -fopenmp -c t.c -o t.o\"}]";
  const std::string text =
      "void f(TYPE *a) {\n  #pragma omp parallel for\n  for (int i = 0; i < N; i++) a[i] = 0;\n}\n";
  EXPECT_THROW(read(text), BadInput);
  const auto regions = read(text, "t.c", compile_command(place_.path(), place_.path() / "t.c"));
  EXPECT_EQ(to_text(regions.at(0).body), "for (int i = 0; i < 12; i++)\n  a[i] = 0;\n");
  EXPECT_THROW(compile_command(place_.path(), place_.path() / "other.c"), BadInput);
}

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const BadInput& error) {
    return error.what();
  }
  return "none";
}

TEST_F(Clang, WhatGoesWrongWithTheCompilerIsAMessage) {
  const auto with = [&](const std::string& script,
                        std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    const fs::path path = place_.path() / "compiler";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(path, fs::perms::owner_all);
    ClangOptions options;
    options.compiler = path.string();
    options.time_limit = limit;
    return message_of([&] { read("void f(void) {}\n", "t.c", options); });
  };
  EXPECT_THAT(with("kill -SEGV $$"), HasSubstr("was ended by signal 11"));
  EXPECT_THAT(with("sleep 60", std::chrono::milliseconds(200)),
              HasSubstr("did not end within the time limit"));
  EXPECT_THAT(with("echo 'hello'"), HasSubstr("what Clang printed cannot be read: expected '{' at byte 0"));
  EXPECT_THAT(with("printf '{\"kind\": \"TranslationUnitDecl\", \"inner\": ['"), HasSubstr("cannot be read"));
  EXPECT_THAT(with("echo 't.c:1:2: error: bad' >&2; exit 1"), HasSubstr("t.c:1:2: error: bad"));
  ClangOptions absent;
  absent.compiler = "/no/such/clang";
  EXPECT_THAT(message_of([&] { read("", "t.c", absent); }), HasSubstr("apt-get install clang"));
  EXPECT_THAT(message_of([&] { read("void f(int n) { for (;;) }\n"); }), HasSubstr("t.c:1:26: error:"));
}

TEST_F(Clang, ChangedTreesAreReadOrRefused) {
  const fs::path path = place_.path() / "m.c";
  std::ofstream(path)
      << "typedef struct { int n; float *d; } s; enum { K = 3 };\n"
         "static inline float sq(float x) { return x * x; }\n"
         "float f(int n, float A[n][n], float *B, s *t) { float r = 0; int i;\n"
         "for (i = 0; i < n; i++) for (int j = i; j < t->n; j += 2) { int k = i * n + j;\n"
         "  if (i < K) A[i][j] = sq(B[k]) + t->d[j]; else r += -B[i] * (j > 2 ? 1.5 : 0); }\n return r; }\n";
  const fs::path dump = place_.path() / "m.json";
  ask_program({find_clang().string(), "-fsyntax-only", "-Xclang", "-ast-dump=json", path.string()},
              std::chrono::seconds(60), "", dump);
  const std::string json = read_file(dump);
  ASSERT_EQ(nests(read_syntax_tree(json, "m.c")).size(), 1u);
  // Words and numbers change places, brackets go, texts end.
  std::vector<std::pair<std::size_t, std::size_t>> words;
  for (std::size_t at = json.find('"'); at != json.npos; at = json.find('"', at)) {
    const std::size_t end = json.find('"', at + 1);
    if (end == json.npos) break;
    words.emplace_back(at, end + 1 - at);
    at = end + 1;
  }
  std::mt19937 random(7);
  int read = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string changed = json;
    for (int change = 0; change < 1 + round % 3; ++change) {
      const auto [at, length] = words[random() % words.size()];
      const auto [other, other_length] = words[random() % words.size()];
      if (at + length > changed.size()) continue;
      switch (random() % 8) {
        case 0:
          changed.resize(at);
          break;
        case 1:
          changed[at + length - 1] = static_cast<char>(random() % 256);
          break;
        default:
          changed.replace(at, length, json.substr(other, other_length));
      }
    }
    try {
      read_syntax_tree(changed, "m.c");
      ++read;
    } catch (const BadInput&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 10);
}

TEST(FlatArrays, KeepTheirSubscriptsWhereNoRowsShow) {
  const auto shape = [](const std::string& subscript) {
    auto regions = read_source(
        "void f(int n, int m, float *A, float *x) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) A[" +
            subscript + "] = x[i]; }",
        "t.c", {});
    delinearise(regions.at(0));
    const Node& loop = regions.at(0).body.children.at(0);
    return to_text(loop.children.at(0).children.at(0).target);
  };
  EXPECT_EQ(shape("i * m + j"), "A[i][j]");
  EXPECT_EQ(shape("j + m * (i + 1)"), "A[i + 1][j]");
  EXPECT_EQ(shape("(i + 1) * m - 1 - j"), "A[i][m - j - 1]");
  EXPECT_EQ(shape("i * (m + 2) + j + 1"), "A[i][j + 1]");
  EXPECT_EQ(shape("(i * m + j) * 4"), "A[4 * i][4 * j]");
  EXPECT_EQ(shape("(i * n + j) * m + 3"), "A[i][j][3]");
  EXPECT_EQ(shape("i * j"), "A[i * j]");
  EXPECT_EQ(shape("i * n + j * m"), "A[i * n + j * m]");
  EXPECT_EQ(shape("n * m + i"), "A[m_n + i]");
  EXPECT_EQ(shape("7 * i + j"), "A[7 * i + j]");
}

}  // namespace
}  // namespace warploom::tile
