// What is read through Clang, run: the C that is written gives what the source gives, for every array and
// size.
#include <gtest/gtest.h>

#include <fstream>

#include "beside_source.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/process.hpp"
#include "warploom/tile/clang.hpp"
#include "warploom/tile/nest.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

namespace fs = std::filesystem;

/// All functions of a text are taken as a whole, and what is written for them gives the same bytes.
/// @param pieces  of functions are taken
/// @return what differs
std::string difference(const std::string& source, bool pieces = false, const char* name = "source.c") {
  const TemporaryDirectory place;
  const fs::path file = place.path() / name;
  std::ofstream(file) << source;
  std::vector<Nest> nests;
  for (Region& region : read_with_clang(file, {}, {})) {
    if (region.refusals.empty())
      nests.push_back(Nest::analyse(std::move(region)));
    else if (!pieces)
      return to_text("source.c", region.refusals[0]);
  }
  for (const bool automatic : {false, true}) {
    std::vector<Node> code;
    std::vector<test::BesidePart> parts;
    for (const Nest& nest : nests)
      code.push_back(transform(nest, automatic ? steps_for_cpu(nest) : std::vector<Step>{}).code());
    for (std::size_t k = 0; k < nests.size(); ++k) parts.push_back({nests[k], code[k]});
    const std::vector<test::Beside> results =
        test::run_beside_source(file, parts, {.clang = {}, .with = {}, .bases = {1, 2, 7, 40}});
    for (std::size_t k = 0; k < nests.size(); ++k)
      if (results[k].kind != test::Beside::Kind::equal || results[k].failing > 0)
        return nests[k].region().function + ": " + results[k].why + "\n" + emit_c(nests[k], code[k]);
  }
  return "";
}

#define SKIP_WITHOUT_CLANG() \
  if (find_clang().empty()) GTEST_SKIP() << "clang is not installed"

TEST(WrittenC, OfPointersAndCountersThatMove) {
  SKIP_WITHOUT_CLANG();
  EXPECT_EQ(difference(R"(
void copy(int n, float *to, const float *from) { int i; for (i = 0; i != n; i++) *to++ = 2 * *from++; }
void rows(int n, int m, double *a, double *b) {
  for (int i = 0; i < n; i++) {
    double *row = a + i * m;
    for (int j = 0; j < m; j++) row[j] += *b++;
  }
}
void every_second(int n, float *a, const float *b) {
  int k = 0;
  for (int i = 0; i < n; i++) { a[k] = b[i] + k; k += 2; }
  for (int i = 0; i < 2 * n; i += 2) { a[i] += k; k -= 2; }
}
void packed(int n, int m, float *a, const float *b) {
  int k = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) a[k++] = b[j] + i;
}
void down(int n, float *a, const float *b) {
  int j = n;
  for (int i = 0; i < n; i++) { --j; a[i] = b[j]; }
}
void two(int n, float *a, const float *b) { int i, j; for (i = 0, j = n - 1; i < n; i++, j--) a[i] = b[j]; }
void blocks(int n, float *a, const float *b) {
  const float *p = b;
  float *q = a;
  for (int i = 0; i < n; i++, q += 4) {
    for (int k = 0; k < 4; k++) q[k] = p[3 - k];
    p += 4;
  }
}
void after(int n, float *a) {
  int k = 2;
  for (int i = 0; i < n; i++) { a[k] = i; k += 3; }
  a[0] = k;
}
void maybe_none(int n, int m, float *a, float *b) {
  float *p = a;
  for (int i = 0; i < n; i++) {
    for (int j = 3; j < m; j++) *p++ = j;
    b[i] = 1;
  }
}
void around(int n, float *a, const float *b) {
  int im1 = n - 1, im2 = n / 2;
  for (int i = 0; i < n; i++) {
    a[i] = b[i] + 2 * b[im1] + 3 * b[im2];
    im2 = im1;
    im1 = i;
  }
}
void shifted(int n, float *a) { for (int i = 0; i + 1 < n; i++) a[i + 1] = i; }
)"),
            "");
}

TEST(WrittenC, OfElementsOfAllTypes) {
  SKIP_WITHOUT_CLANG();
  EXPECT_EQ(difference(R"(
#include <stddef.h>
#include <stdint.h>
typedef unsigned char byte;
static byte clamp(int x) { return x < 0 ? 0 : x > 255 ? 255 : x; }
void brighten(int w, int h, byte *to, const byte *from) {
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) to[y * w + x] = clamp(from[y * w + x] * 20 - 30);
}
void wraps(int n, byte *a, short *b, unsigned short *c, signed char *d, char *e) {
  for (int i = 0; i < n; i++) {
    a[i] += 250;
    b[i] = b[i] * 3000;
    c[i] -= 9;
    d[i] = a[i] + b[i];
    e[i]++;
  }
}
void wide(size_t n, uint32_t *a, int64_t *b, uint64_t *c, const int *d) {
  for (size_t i = 0; i < n; i++) {
    a[i] = a[i] * 2654435761u >> 7;
    b[i] = (int64_t)d[i] << 40;
    c[i] ^= ~c[i] >> 3 | (uint64_t)d[i];
  }
}
void mixed(int n, unsigned *u, const int *d, float *f) {
  for (int i = 0; i < n; i++) {
    f[i] = (d[i] - 9) / 2u;
    u[i] = (d[i] - 9 < u[i]) + (unsigned char)(d[i] * 100);
  }
}
void bits(int n, byte *a, const byte *b) {
  for (int i = 0; i < n; i++) {
    a[i] = (b[i] & 0xf0) | (a[i] >> 4 & 0x0f);
    a[i] ^= b[i >> 1] << 2;
    a[i] |= b[i & 3];
    a[i] %= 7;
  }
}
void sums(int w, int h, int *sum, const unsigned char *image) {
  for (int y = 0; y < h; y++) {
    sum[y] = 0;
    for (int x = 0; x < w; x++) sum[y] += image[y * w + x];
  }
}
)"),
            "");
}

TEST(WrittenC, OfArraysOfStructures) {
  SKIP_WITHOUT_CLANG();
  EXPECT_EQ(difference(R"(
typedef struct { float x, y, z; } point;
struct cell { double v[2][3]; double w; };
void move(int n, float by, point *p) {
  for (int i = 0; i < n; i++) { p[i].x += by; p[i].z = p[i].x * p[i].y; }
}
void cells(int n, int m, struct cell *c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      for (int k = 0; k < 3; k++) c[i * m + j].v[1][k] += c[i * m + j].v[0][2 - k] * c[j].w;
}
void along(int n, point *p) { for (int i = 0; i < n; i++, p++) { p->x = i; p->y = p->x + 1; } }
)"),
            "");
}

TEST(WrittenC, OfArraysWhoseSubscriptsMemoryHolds) {
  SKIP_WITHOUT_CLANG();
  EXPECT_EQ(difference(R"(
void gather(int n, float *to, const float *from, const int *at) {
  for (int i = 0; i < n; i++) to[i] = from[at[i]] + from[i % 3];
}
void scatter(int n, double *to, const double *from, const unsigned char *at) {
  for (int i = 0; i < n; i++) { to[at[i]] = from[i]; to[at[i] / 2] += 3; }
}
void corners(int n, double *force, const double *x, int *list) {
  for (int i = 0; i < n; i++) {
    int *corner = list + 4 * i;
    for (int k = 0; k < 4; k++) force[corner[k]] += x[i] * k;
  }
  list[0] = 3;
}
)"),
            "");
}

TEST(WrittenC, OfLoopsThatCallAndVariablesThatServeTwice) {
  SKIP_WITHOUT_CLANG();
  EXPECT_EQ(difference(R"(
void scale(int n, float *a, float by) { int i; for (i = 0; i < n; i++) a[i] *= by; }
void add(int n, float *to, const float *from) { for (int i = 0; i < n; i++) to[i] += from[i]; }
void rows(int n, int m, float *a, const float *b) {
  for (int i = 0; i < n; i++) { scale(m, a + i * m, 2); add(m, a + i * m, b); }
}
void twice(int n, int m, float *a, const float *b) {
  int i, j;
  float t;
  for (i = n - 1; i >= 0; i--) {
    t = b[0];
    for (j = 0; j < m; j++) a[i * m + j] -= t;
  }
  for (j = 0; j < m; j++) { t = a[j]; a[j] = t * t; }
}
void late(float a[][4], const int d[1]) {
  for (int i = 0; i < d[0]; i++)
    for (int j = 0; j < 4; j++) a[i][j] += j;
}
void wavefront(int n, int m, double *a) {
  int k = 0, i, j;
  for (i = 0; i < n; i++) {
    double *p = a + k;
    for (j = 0; j < m; j++) p[j] += i + 0.5;
    k += m;
  }
}
)"),
            "");
}

TEST(WrittenC, OfPiecesOfFunctionsRunsBesideTheirText) {
  SKIP_WITHOUT_CLANG();
  EXPECT_EQ(difference(R"(
#define ALL(i, n) for (i = 0; i < (n); i++)
typedef struct { int n, lda; float *data; float k[3]; } mat;
static float table[20];
static const int weights[4] = {1, 2, 3, 4};
static double energy;
float f(mat *m, int *at, float *x, int n) {
  float s = 0;
  int i, j;
  float *row = m->data + 2 * n;
  while (at[0]) at[0]--;
  for (i = 0; i < m->n; i++)
    for (j = 0; j < m->n; j++) m->data[i * m->lda + j] += table[i % 20] * m->k[1] + weights[j % 4];
  while (at[1]) at[1]--;
  ALL(i, n) s += x[at[i]];
  while (at[2]) at[2]--;
  for (; i < m->n; i++) x[i] = s;
  while (at[3]) at[3]--;
  for (i = 0; i < n; i++) { energy += row[i]; row[i] = i; }
  m->data[0] = s + i;
  return s;
}
int g(int w, int h, unsigned char *p, const unsigned char *q) {
  int y, sum = 0;
  while (p[0]) p[0]--;
  for (y = 0; y < w * h; y++) sum += q[y] > 3 ? p[y] : -p[y];
  return sum;
}
)",
                       true),
            "");
}

TEST(WrittenC, OfCppWithReferencesAndVectors) {
  SKIP_WITHOUT_CLANG();
  EXPECT_EQ(difference(R"(
#include <vector>
struct Grid {
  int w, h;
  std::vector<double> cells;
  double &at(int x, int y) { return cells[y * w + x]; }
};
void sum(int n, const float *a, float &s, int &many) { for (int i = 0; i < n; i++) { s += a[i]; many += 2; } }
void smooth(Grid &to, Grid &from) {
  for (int y = 0; y < to.h; y++)
    for (int x = 0; x < to.w; x++) to.at(x, y) += from.at(x, y) / 2;
}
)",
                       false, "source.cpp"),
            "");
}

TEST(ReadThroughClang, RowsThatPointersReach) {
  SKIP_WITHOUT_CLANG();
  EXPECT_EQ(difference(R"(
void add(int n, int m, float **a, float **b) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) a[i][j] += b[j][i + 1];
}
void along(int n, double **a) {
  for (int i = 0; i < n; i++) {
    double *row = a[i];
    for (int j = 0; j < n - 1; j++) row[j] = row[j + 1] * 2;
  }
}
void product(int n, float *w[4], const float *x, float *y) {
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < n; j++) y[i] += w[i][j] * x[j];
}
void cube(int n, double ***z) {
  for (int k = 1; k < n; k++)
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) z[k][j][i] += z[k - 1][j][i] + k;
}
)"),
            "");
}

/// What a program prints.
std::string output_of(const fs::path& source, const std::string& text) {
  std::ofstream(source) << text;
  const fs::path program = source.parent_path() / "program";
  const Answer built = ask_program({source.extension() == ".c" ? "cc" : "c++", "-O1", "-fopenmp", "-w",
                                    source.string(), "-o", program.string(), "-lm"},
                                   std::chrono::minutes(1));
  if (built.status != 0) return built.output;
  return ask_program({program.string()}, std::chrono::minutes(1)).output;
}

/// All nests of a program in their places, and why some are not.
std::string replaced(const fs::path& file, std::string& kept) {
  const std::string source = read_file(file);
  std::vector<Nest> nests;
  for (Region& region : read_with_clang(file, {}, {}))
    if (region.refusals.empty()) nests.push_back(Nest::analyse(std::move(region)));
  std::vector<CpuPlan> plans;
  std::vector<Node> code;
  for (const Nest& nest : nests) {
    plans.push_back(plan_for_cpu(nest));
    code.push_back(transform(plans.back().nest, plans.back().steps).code());
  }
  std::vector<CPart> parts;
  for (std::size_t k = 0; k < nests.size(); ++k) {
    const CPart part{plans[k].nest, code[k]};
    try {
      replace_in_source(source, {part});
      parts.push_back(part);
    } catch (const BadInput& error) {
      kept += std::string(error.what()) + "\n";
    }
  }
  return replace_in_source(source, parts);
}

TEST(WrittenC, StandsInThePlaceOfWhatClangRead) {
  SKIP_WITHOUT_CLANG();
  if (!find_program("cc") || !find_program("c++")) GTEST_SKIP() << "there is no compiler";
  const TemporaryDirectory place;
  const std::string in_c = R"(#include <stdio.h>
#include <stddef.h>
#define N 30
#define EACH(i, n) for (i = 0; i < (n); i++)
typedef struct { int n; double *data; float k[2][N]; } mat;
struct point { float x, y; };
static double total;
double f(mat *m, mat *n, size_t count, struct point *p, double a[N][N], int m_n) {
  double s = 0;
  int i, j;
  // rows
#pragma omp parallel for private(j)
  for (i = 0; i < m->n; i++)
    for (j = 0; j < m_n; j++) m->data[i * n->n + j] += m->k[1][j] + i;
  printf("%d\n", m->n);
  EACH(i, m_n) total += a[i][0];
  printf("%g\n", total);
  for (i = 0; i < count - 3; i++) a[0][i] = 7;
  for (i = 0; i < 4; i++) { p[i].x = i; p[i].y += p[i].x; }
  printf("%d\n", i);
  float most = 0;
  for (i = 0; i < m_n; i++) { float d = p[i % 4].y; if (d > most) most = d; }
  printf("%g\n", most);
  for (i = 0; i < m_n; i++)
    for (j = 0; j < m_n; j++)
      for (int k = 0; k < m_n; k++) a[i][j] += a[k][i + 2] * m->data[k];
  return s + a[1][2];
}
double sum(int n, const double *a) { double s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }
int main(void) {
  static double data[N * N], a[N][N];
  struct point p[4] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  mat m = {12, data, {{0}}}, n = {20, data, {{0}}};
  for (int j = 0; j < N; j++) m.k[1][j] = j * 0.5f;
  int i;
  EACH(i, N) a[i][i] = i;
  printf("%g\n", f(&m, &n, 4, p, a, 11) + f(&m, &n, 20, p, a, 12));
  printf("%g %g\n", sum(N * N, data), sum(N * N, a[0]));
#pragma omp parallel
  {
#pragma omp for
    for (int i = 0; i < N; i++) data[i] = i;
  }
  printf("%g\n", data[20]);
}
)";
  const fs::path file = place.path() / "all.c";
  const std::string expected = output_of(file, in_c);
  EXPECT_EQ(expected.substr(0, 3), "12\n") << expected;
  std::string kept;
  const std::string after = replaced(file, kept);
  EXPECT_EQ(output_of(file, after), expected) << after << kept;
  // The directive is for the loop that is gone, the structure's member goes back, a name of ours is the
  // source's.
  EXPECT_EQ(after.find("private(j)"), after.npos) << after;
  EXPECT_NE(after.find("= (int)(m->n);"), after.npos) << after;
  EXPECT_NE(after.find("const long warploom_count = (long)(count);"), after.npos) << after;
  EXPECT_NE(kept.find("threads may run its function: #pragma omp parallel"), kept.npos) << kept;
  EXPECT_NE(kept.find("a macro or another file has a part of it"), kept.npos) << kept;

  const std::string in_cpp = R"(#include <cstdio>
#include <vector>
template <class T> void scale(T *a, int n) { for (int i = 0; i < n; i++) a[i] *= 2; }
struct Grid { int w, h; std::vector<double> cells; };
void smooth(Grid &to, const Grid &from, double &sum) {
  for (int y = 0; y < to.h; y++)
    for (int x = 0; x < to.w; x++) to.cells[y * to.w + x] += from.cells[y * from.w + x] / 2;
  std::printf("%d\n", to.h);
#if 1
  for (int y = 0; y < to.h; y++) sum += to.cells[y];
#endif
}
int main() {
  Grid a{5, 7, std::vector<double>(35, 1)}, b = a;
  double s = 0;
  smooth(a, b, s);
  scale(a.cells.data(), 35);
  int n[3] = {1, 2, 3};
  scale(n, 3);
  std::printf("%g %g %d\n", s, a.cells[3], n[2]);
}
)";
  const fs::path cpp = place.path() / "all.cpp";
  const std::string before = output_of(cpp, in_cpp);
  kept.clear();
  const std::string written = replaced(cpp, kept);
  EXPECT_EQ(output_of(cpp, written), before) << written << kept;
  EXPECT_NE(written.find("__restrict to_cells = (double *)&(to.cells)[0];"), written.npos) << written;
  EXPECT_NE(kept.find("one instance of a template"), kept.npos) << kept;
}

TEST(WrittenC, OfRowsThatPointersReachStandsInItsPlace) {
  SKIP_WITHOUT_CLANG();
  if (!find_program("cc")) GTEST_SKIP() << "there is no compiler";
  const TemporaryDirectory place;
  const std::string source = R"(#include <stdio.h>
typedef struct { double **w; int n; } net;
static double *table[6];
void f(net *s, float **a, const float **b, int n, int m) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) a[j][i] += b[i][j] * 2;
  for (int i = 0; i < s->n; i++)
    for (int j = 0; j < s->n; j++) s->w[j][i] = s->w[j][i] * 3 + table[i][j];
}
int main(void) {
  static double w[6][6], more[6][6];
  static float x[6][6], y[6][6];
  double *rows[6];
  float *a[6];
  const float *b[6];
  net s = {rows, 6};
  for (int i = 0; i < 6; i++) rows[i] = w[i], table[i] = more[i], a[i] = x[i], b[i] = y[5 - i];
  for (int i = 0; i < 36; i++) w[0][i] = i, more[0][i] = i * .5, x[0][i] = 7 - i, y[0][i] = i % 5;
  f(&s, a, b, 5, 6);
  for (int i = 0; i < 36; i++) printf("%g %g\n", w[0][i], x[0][i]);
}
)";
  const fs::path file = place.path() / "rows.c";
  const std::string expected = output_of(file, source);
  std::string kept;
  const std::string after = replaced(file, kept);
  EXPECT_NE(after.find("__typeof__(&(s->w)[0]) s_w = &(s->w)[0];"), after.npos) << after << kept;
  EXPECT_EQ(output_of(file, after), expected) << after;
}

TEST(WrittenC, LooksOnEntryWhatIsAssumed) {
  if (!find_program("cc")) GTEST_SKIP() << "there is no compiler";
  const std::string source = R"(void f(int n, int m, int lda, float *a, const float *b, double s[4]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) a[i * lda + j] += b[i * m + j];
  for (int i = 0; i < 4; i++) s[i] = i;
}
)";
  const std::vector<Region> regions = read_source(source, "f.c", {});
  const Nest nest = Nest::analyse(regions.at(0));
  const Node code = Schedule::of_source(nest).code();
  const std::string text = emit_c({{nest, code}}, {.checks_on_entry = true});
  EXPECT_EQ(emit_c(nest, code).find("must("), std::string::npos);
  const auto said = [&](const std::string& call) {
    const TemporaryDirectory place;
    return output_of(place.path() / "checked.c", text + R"(
int main(void) {
  static float x[100];
  static double s[4];
  )" + call + R"(
  puts("done");
  return 0;
}
)");
  };
  EXPECT_EQ(said("f(4, 5, 6, x, x + 24, s);"), "done\n") << text;
  EXPECT_EQ(said("f(4, 5, 5, x + 20, x, s);"), "done\n") << text;
  EXPECT_NE(said("f(4, 5, 6, x, x + 10, s);").find("f: a and b are assumed not to overlap"),
            std::string::npos)
      << text;
  EXPECT_NE(said("f(4, 5, 4, x, x + 50, s);").find("is assumed"), std::string::npos) << text;
  EXPECT_NE(said("f(4, 5, 6, x, x + 30, (double *)(x + 40));").find("b and s are assumed not to overlap"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace warploom::tile
