// What is read through Clang, run: the C that is written gives what the source gives, for every array and
// size.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>

#include "warploom/core/file.hpp"
#include "warploom/core/process.hpp"
#include "warploom/tile/clang.hpp"
#include "warploom/tile/nest.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

namespace fs = std::filesystem;

struct Function {
  Nest nest;
  std::string name = {}, source = {};  ///< "f_line3", "f"
};

/// A block that calls a function and its twin.
/// @param declarations  takes theirs
std::string call(const Function& f, int base, std::string* declarations) {
  const Region& region = f.nest.region();
  std::vector<std::string> more, types, first, second;
  std::string body, compare;
  std::map<std::string, std::int64_t> sizes;
  int k = 0;
  // What the source is not told: more than any subscript that memory holds.
  const auto is_asked_for = [](const std::string& size) { return size.ends_with("_length"); };
  for (const std::string& size : region.sizes) sizes[size] = is_asked_for(size) ? 17 : base + 3 * k++;
  for (const std::string& name : region.parameters) {
    const Variable* variable = find_variable(region, name);
    if (!variable) {
      types.push_back(region.size_declarations.at(name).wider_than_int ? "long" : "int");
      second.push_back(std::to_string(sizes.at(name)));
      if (is_asked_for(name))
        more.push_back(types.back()), types.pop_back();
      else
        first.push_back(second.back());
      continue;
    }
    const std::string type(c_name(variable->type));
    if (variable->extents.empty()) {
      types.push_back(type);
      body += fmt::format("  {} {} = next() % 5 + 1;\n", type, name);
      first.push_back(name);
      second.push_back(name);
      continue;
    }
    std::int64_t elements = 1;
    for (const Expression& extent : variable->extents)
      elements *= std::max<std::int64_t>(value_of(extent, sizes), 0);
    types.push_back(type + " *");
    body += fmt::format(
        "  {0} *{1}_1 = malloc({2} * sizeof({0})), *{1}_2 = malloc({2} * sizeof({0}));\n"
        "  for (long i = 0; i < {2}; i++) {1}_1[i] = {1}_2[i] = ({0})(next() % 17);\n",
        type, name, elements);
    compare += fmt::format(
        "  if (memcmp({0}_1, {0}_2, {1} * sizeof({2}))) printf(\"{3}: {0} differs, sizes from {4}\\n\");\n"
        "  free({0}_1), free({0}_2);\n",
        name, elements, type, f.name, base);
    first.push_back(name + "_1");
    second.push_back(name + "_2");
  }
  if (declarations)
    *declarations += fmt::format("void {0}({2});\nvoid {1}_written({3}{4}{2});\n", f.source, f.name,
                                 fmt::join(types, ", "), fmt::join(more, ", "), more.empty() ? "" : ", ");
  return fmt::format("  {{\n{}  {}({});\n  {}_written({});\n{}  }}\n", body, f.source, fmt::join(first, ", "),
                     f.name, fmt::join(second, ", "), compare);
}

/// A program that calls each function of a source and its twin on the same data, with arrays no longer than
/// the nest is said to reach.
std::string driver(const std::vector<Function>& functions, const std::vector<int>& bases) {
  std::string text =
      "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
      "static unsigned long state = 1;\n"
      "static unsigned next(void) { state = state * 6364136223846793005ul + 1442695040888963407ul; return state >> 33; }\n";
  std::string calls;
  for (const Function& f : functions)
    for (const int base : bases) calls += call(f, base, base == bases.front() ? &text : nullptr);
  return text + "int main(void) {\n" + calls + "  printf(\"done\\n\");\n  return 0;\n}\n";
}

/// Compiles and runs what was written beside its source. @return what went wrong
std::string run_beside(const fs::path& place, const std::vector<Function>& functions,
                       const std::string& written) {
  std::ofstream(place / "written.c") << written;
  std::ofstream(place / "main.c") << driver(functions, {1, 2, 7, 40});
  const std::string program = (place / "program").string();
  const std::vector<std::string> compile{find_clang().string(),
                                         "-std=gnu11",
                                         "-w",
                                         "-g1",
                                         "-ffp-contract=off",
                                         "-fsanitize=address,undefined",
                                         "-fno-sanitize-recover=all"};
  std::vector<std::string> twins = compile, all = compile;
  for (const Function& f : functions) twins.push_back(fmt::format("-D{0}={0}_written", f.name));
  twins.insert(twins.end(), {"-c", (place / "written.c").string(), "-o", program + ".o"});
  all.insert(all.end(), {(place / "main.c").string(), (place / "source.c").string(), program + ".o", "-lm",
                         "-o", program});
  for (const auto& words : {twins, all, {program}}) {
    const Answer answer = ask_program(words, std::chrono::minutes(2));
    if (answer.status != 0 || (words.size() == 1 && answer.output != "done\n"))
      return answer.output + answer.failure + "\n" + written;
  }
  return "";
}

/// All functions of a text are taken as a whole, and what is written for them gives the same bytes.
/// @return what differs
std::string difference(const std::string& source) {
  const TemporaryDirectory place;
  std::ofstream(place.path() / "source.c") << source;
  std::vector<Function> functions;
  for (Region& region : read_with_clang(place.path() / "source.c", {}, {})) {
    for (const Refusal& refusal : region.refusals) return to_text("source.c", refusal);
    functions.push_back(
        {Nest::analyse(region), region.function, region.function.substr(0, region.function.find("_line"))});
  }
  for (const bool automatic : {false, true}) {
    std::vector<Node> code;
    std::vector<CPart> parts;
    for (const Function& f : functions)
      code.push_back(transform(f.nest, automatic ? steps_for_cpu(f.nest) : std::vector<Step>{}).code());
    for (std::size_t k = 0; k < functions.size(); ++k) parts.push_back({functions[k].nest, code[k]});
    if (const std::string wrong = run_beside(place.path(), functions, emit_c(parts)); !wrong.empty())
      return wrong;
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

}  // namespace
}  // namespace warploom::tile
