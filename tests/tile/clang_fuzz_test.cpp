// The front end is given changed trees and changed texts: it reads or refuses them.
//   WARPLOOM_TREES=1000000 WARPLOOM_TEXTS=20000 WARPLOOM_SEED=1 test_tile_clang --gtest_filter=ClangFuzz.*
// WARPLOOM_DUMPS=FOLDER takes the trees from files (*.json, of clang -Xclang -ast-dump=json), where no Clang
// is.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tile/clang/translate.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/core/process.hpp"
#include "warploom/tile/clang.hpp"
#include "warploom/tile/nest.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

namespace fs = std::filesystem;
using Random = std::mt19937_64;

/// Name and text of programs that have most of what the front end reads.
const std::vector<std::pair<std::string, std::string>>& programs() {
  static const std::vector<std::pair<std::string, std::string>> all{
      {"members.c", R"(typedef struct { int n; float *d; } s; enum { K = 3 };
static inline float sq(float x) { return x * x; }
float f(int n, float A[n][n], float *B, s *t) { float r = 0; int i;
  for (i = 0; i < n; i++) for (int j = i; j < t->n; j += 2) { int k = i * n + j;
    if (i < K) A[i][j] = sq(B[k]) + t->d[j]; else r += -B[i] * (j > 2 ? 1.5 : 0); }
  return r; }
)"},
      {"pointers.c", R"(typedef unsigned char byte; struct point { float x, y; };
void copy(int n, float *to, const float *from) { for (int i = 0; i != n; i++) *to++ = *from++; }
void rows(int n, int m, double *a, double *b) {
  for (int i = 0; i < n; i++) { double *row = a + i * m; for (int j = 0; j < m; j++) row[j] += *b++; } }
void counted(int n, float *a, float *b, int *at, struct point *p) { int k = 0, j;
  for (int i = 0; i < n; i += 2) { a[k++] = b[i]; p[i].x = p[i].y; }
  for (k = 0, j = n; k < n && k < 40; k++, j--) a[at[k]] = b[j - 1];
  while (n--) a[n] = 0; }
void bytes(int w, int h, byte *to, const byte *from, int stride) {
  for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) {
    int v = from[y * stride + x] + 2; to[y * 100 + x] = v > 255 ? 255 : v; } }
)"},
      {"classes.cpp", R"(template <class T> struct Matrix { T *data; int n;
  T &at(int i, int j) { return data[i * n + j]; }
  void scale(T by) { for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) at(i, j) *= by; } };
template <int W, class T> void shift(T *a, int n) { for (int i = 0; i < n; ++i) a[i + W] = a[i]; }
namespace one { const int rows = 4; double table[4][4];
void f(Matrix<float> &m, double *a) { m.scale(2); shift<3>(a, m.n);
  for (int i = 0; i < rows; i++) for (auto j = 0ul; j < 4; j++) table[i][j] = a[i] / (1 + j); } }
)"}};
  return all;
}

long number(const char* variable, long otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::stol(text) : otherwise;
}

std::vector<std::string> dumps(const fs::path& place) {
  std::vector<std::string> all;
  if (const char* folder = std::getenv("WARPLOOM_DUMPS")) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".json") all.push_back(read_file(entry.path()));
    return all;
  }
  if (find_clang().empty()) return all;
  for (const auto& [name, text] : programs()) {
    std::ofstream(place / name) << text;
    const fs::path dump = place / (name + ".json");
    ask_program(
        {find_clang().string(), "-w", "-fsyntax-only", "-Xclang", "-ast-dump=json", (place / name).string()},
        std::chrono::minutes(1), "", dump);
    all.push_back(read_file(dump));
  }
  return all;
}

std::size_t count(const Syntax& node) {
  std::size_t all = 1;
  for (const Syntax& child : node.children) all += count(child);
  return all;
}

/// Node number k of a tree.
Syntax* find(Syntax& node, std::size_t& k) {
  if (k == 0) return &node;
  --k;
  for (Syntax& child : node.children)
    if (Syntax* found = find(child, k)) return found;
  return nullptr;
}

/// One of the nodes number `first` to before `last`, or of as many as there are.
Syntax& any(Syntax& root, std::size_t first, std::size_t last, Random& random) {
  std::size_t k = first + random() % (last - first);
  Syntax* node = find(root, k);
  return node ? *node : root;
}

/// Numbers as the reader of Clang's text gives them.
void renumber(Syntax& node, std::size_t& next) {
  node.first = ++next;
  for (Syntax& child : node.children) renumber(child, next);
  node.last = next;
}

/// A program, and where in it a function stands.
struct Subject {
  std::size_t tree = 0;
  std::string function = {};
  std::size_t first = 0, last = 0;  ///< nodes
};

std::vector<Subject> functions_of(const std::vector<Translation>& trees) {
  std::vector<Subject> all;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    const SourceFile file(trees[t]);
    for (const Syntax* function : file.functions)
      all.push_back({t, file.name(*function), function->first - 1, function->last});
  }
  return all;
}

/// Mostly in the function, for what is around it reads as little.
void change(Syntax& root, const Subject& subject, Random& random) {
  static const std::vector<std::string> values{
      "9223372036854775807", "-9223372036854775808", "2147483648", "0", "-1", "", "x", "1e400",
      "99999999999999999999"};
  static const std::vector<std::string> operations{"=",  "+",  "-",  "*",  "/",  "%",
                                                   "<",  "!=", "&&", ",",  "+=", "++",
                                                   "--", "<<", "&",  "*=", "[]", "IntegralCast"};
  Syntax& to =
      random() % 8 ? any(root, subject.first, subject.last, random) : any(root, 0, root.last, random);
  const Syntax from = any(root, 0, root.last, random);
  switch (random() % 14) {
    case 0:
      if (count(from) < 200) to = from;
      break;
    case 1:
      to.kind = from.kind;
      break;
    case 2:
      to.type = from.type;
      break;
    case 3:
      to.target = from.id.empty() ? from.target : from.id;
      break;
    case 4:
      to.id = from.id;
      break;
    case 5:
      to.name = from.name;
      break;
    case 6:
      to.value = values[random() % values.size()];
      break;
    case 7:
      to.operation = operations[random() % operations.size()];
      break;
    case 8:
      to.children.clear();
      break;
    case 9:
      if (!to.children.empty())
        to.children.erase(to.children.begin() + static_cast<std::ptrdiff_t>(random() % to.children.size()));
      break;
    case 10:
      if (count(from) < 200)
        to.children.insert(
            to.children.begin() + static_cast<std::ptrdiff_t>(random() % (to.children.size() + 1)), from);
      break;
    case 11:
      if (to.children.size() > 1)
        std::swap(to.children[random() % to.children.size()], to.children[random() % to.children.size()]);
      break;
    case 12:
      to.target_type = from.type;
      to.target_kind = from.kind;
      break;
    default:
      to.arrow = !to.arrow, to.postfix = !to.postfix, to.has_else = !to.has_else,
      to.is_static = !to.is_static;
  }
}

TEST(ClangFuzz, ChangedTreesAreReadOrRefused) {
  const TemporaryDirectory place;
  std::vector<Translation> trees;
  for (const std::string& dump : dumps(place.path())) {
    trees.push_back(read_syntax(dump, "t.c"));
    std::size_t next = 0;
    renumber(trees.back().root, next);
  }
  if (trees.empty()) GTEST_SKIP() << "clang is not installed";
  const std::vector<Subject> functions = functions_of(trees);
  const long rounds = number("WARPLOOM_TREES", 400);
  Random random(static_cast<std::uint64_t>(number("WARPLOOM_SEED", 7)));
  long nests = 0, refused = 0, written = 0;
  for (long round = 0; round < rounds; ++round) {
    const Subject& subject = functions[random() % functions.size()];
    Translation changed = trees[subject.tree];
    for (auto changes = 1 + random() % 4; changes > 0; --changes) change(changed.root, subject, random);
    std::size_t next = 0;
    renumber(changed.root, next);
    std::vector<Region> regions;
    try {
      regions = nests_of(std::move(changed), "t.c", {.function = subject.function});
    } catch (const BadInput&) {  // there is no such function any more
      ++refused;
    }
    for (const Region& region : regions) {
      if (!region.refusals.empty()) {
        ++refused;
        continue;
      }
      ++nests;
      if (round % 16 != 0) continue;
      try {
        const Nest nest = Nest::analyse(region);
        written += !emit_c(nest, transform(nest, {}).code()).empty();
      } catch (const BadInput&) {  // numbers that int does not hold
      }
    }
  }
  RecordProperty("nests", static_cast<int>(nests));
  fmt::print("{} changed trees: {} nests, {} functions with refusals, the C of {} nests\n", rounds, nests,
             refused, written);
  EXPECT_GT(nests, rounds / 4);
  EXPECT_GT(refused, rounds / 20);
}

/// Words change places, characters go, texts end.
std::string changed(std::string text, Random& random) {
  const auto word = [&] {
    std::size_t at = random() % text.size();
    while (at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1]))) --at;
    std::size_t end = at + 1;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]))) ++end;
    return std::pair(at, end - at);
  };
  static const std::vector<std::string> words{
      "for", "int", "0",       "1", "n",  "i",  "*", "&",  "->",       "[",    "]",
      "(",   ")",   "{",       "}", "++", "+=", "<", "!=", "unsigned", "char", "9223372036854775807",
      "\\",  "\"",  "#if 0\n", "//"};
  for (auto changes = 1 + random() % 3; changes > 0 && text.size() > 8; --changes) {
    const auto [at, length] = word();
    const auto [other, other_length] = word();
    switch (random() % 6) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.replace(at, length, words[random() % words.size()]);
        break;
      case 2:
        text.insert(at, text.substr(other, 40));
        break;
      case 3:
        text[at] = static_cast<char>(random() % 256);
        break;
      case 4:
        if (random() % 8 == 0) text.resize(at);
        break;
      default:
        text.replace(at, length, text.substr(other, other_length));
    }
  }
  return text;
}

TEST(ClangFuzz, ChangedTextsAreReadOrRefusedWithTheirPlace) {
  if (find_clang().empty()) GTEST_SKIP() << "clang is not installed";
  const TemporaryDirectory place;
  const long rounds = number("WARPLOOM_TEXTS", 16);
  Random random(static_cast<std::uint64_t>(number("WARPLOOM_SEED", 7)));
  ClangOptions options;
  options.time_limit = std::chrono::seconds(20);
  long read = 0, refused = 0, nests = 0;
  for (long round = 0; round < rounds; ++round) {
    const auto& [name, text] = programs()[random() % programs().size()];
    const fs::path path = place.path() / name;
    std::ofstream(path) << changed(text, random);
    try {
      for (const Region& region : read_with_clang(path, {}, options)) nests += region.refusals.empty();
      ++read;
    } catch (const BadInput& error) {
      ++refused;
      EXPECT_THAT(error.what(), ::testing::StartsWith(path.string())) << read_file(path);
    }
  }
  fmt::print("{} changed texts: {} read, with {} nests, {} refused\n", rounds, read, nests, refused);
  EXPECT_GT(read, rounds / 16);
  EXPECT_GT(refused, rounds / 8);
}

}  // namespace
}  // namespace warploom::tile
