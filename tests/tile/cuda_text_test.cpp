// CUDA text of expressions, signatures and helpers; affine forms and bounds.
#include "tile/kernels/cuda_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "example_nests.hpp"
#include "tile/kernels/affine.hpp"
#include "tile_cases.hpp"

namespace warploom::tile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Texts {
  explicit Texts(const std::string& text) : nest(test::analyse(text)) { parallel.nest = nest; }
  CudaNames names() const { return {nest, parallel}; }
  const Node& assignment(int number) const {
    return nest.statements().at(static_cast<std::size_t>(number)).assignment;
  }
  Nest nest;
  ParallelNest parallel;
};

const std::string text = R"(
void f(int n, int m, int l, float alpha, float A[n][m + 1], double T[l][n][m], float x[m], float r[1]) {
  float sum = 0.0f;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      A[i][j + 1] = alpha * x[j];
      T[0][i][j] = sqrt(x[j]) + sqrtf(x[j]) + fabs((double)x[j]) + sqrt(T[0][i][j]);
      sum += A[i][j + 1];
    }
  r[0] = sum;
})";

TEST(CudaText, ElementsAreFlattenedIn64Bits) {
  const Texts texts(text);
  EXPECT_EQ(cuda_text(texts.names(), texts.assignment(1).target), "A[(std::int64_t)i * (m + 1) + (j + 1)]");
  EXPECT_EQ(cuda_text(texts.names(), texts.assignment(1).value), "alpha * x[j]");
  EXPECT_EQ(flat_index(texts.names(), texts.assignment(2).target), "(std::int64_t)i * m + j");
}
/// Subscripts of pointers in the kernels of a program: "(std::int64_t)i * n + j".
std::vector<std::string> subscripts_of_memory(const GpuProgram& program) {
  std::vector<std::string> all;
  for (const Kernel& kernel : program.kernels)
    for (const std::string& name : kernel.parameters) {
      const std::string element = name + "[";
      for (std::size_t at = kernel.text.find(element); at != std::string::npos;
           at = kernel.text.find(element, at + 1)) {
        if (at > 0 && (std::isalnum(kernel.text[at - 1]) || kernel.text[at - 1] == '_')) continue;
        const std::size_t begin = at + element.size();
        std::size_t end = begin;
        for (int depth = 1; depth > 0; ++end) depth += (kernel.text[end] == '[') - (kernel.text[end] == ']');
        all.push_back(kernel.text.substr(begin, end - 1 - begin));
      }
    }
  return all;
}
/// Whether what is multiplied outside of parentheses has been made 64 bits wide before, or is a coefficient
/// times a loop.
bool multiplies_in_64_bits(const std::string& subscript) {
  int depth = 0;
  for (std::size_t at = 0; at < subscript.size(); ++at) {
    depth += (subscript[at] == '(') - (subscript[at] == ')');
    if (subscript[at] != '*' || depth > 0) continue;
    const bool coefficient = at >= 2 && std::isdigit(static_cast<unsigned char>(subscript[at - 2]));
    const std::size_t wide = subscript.find("(std::int64_t)");
    if (!coefficient) return wide != std::string::npos && subscript.find_first_not_of('(') == wide + 1;
  }
  return true;
}
TEST(CudaText, NoKernelMultipliesRowsByPitchIn32Bits) {
  EXPECT_FALSE(multiplies_in_64_bits("i * n + j"));
  EXPECT_FALSE(multiplies_in_64_bits("i * 64 + j"));
  EXPECT_TRUE(multiplies_in_64_bits("(std::int64_t)i * n + 2 * j"));
  int products = 0;
  for (const char* folder : {"lecture", "polybench"})
    for (const auto& file : std::filesystem::directory_iterator(test::example_folder() / folder)) {
      const Nest nest = test::example(std::string(folder) + "/" + file.path().stem().string());
      for (const std::string& subscript : subscripts_of_memory(map_to_gpu(nest, parallelise(nest), {}))) {
        products += subscript.find('*') != std::string::npos;
        EXPECT_TRUE(multiplies_in_64_bits(subscript)) << file.path() << ": " << subscript;
      }
    }
  EXPECT_GT(products, 200);
}
TEST(CudaText, AScalarThatIsAssignedLivesInMemory) {
  const Texts texts(text);
  EXPECT_EQ(cuda_text(texts.names(), Expression::name("sum")), "(*sum)");
  EXPECT_EQ(cuda_text(texts.names(), Expression::name("alpha")), "alpha");
}
TEST(CudaText, FunctionsHaveTheTypeThatCGivesThem) {
  const Texts texts(text);
  EXPECT_THAT(cuda_text(texts.names(), texts.assignment(2).value),
              HasSubstr("sqrt((double)x[j]) + sqrtf(x[j]) + fabs((double)x[j]) + sqrt(T["));
}
TEST(CudaText, WhatAKernelKeepsElsewhereIsWrittenInstead) {
  const Texts texts(text);
  CudaNames names = texts.names();
  names.instead = [](const Expression& e) { return e.text == "x" ? "x_tile[tx]" : ""; };
  EXPECT_EQ(cuda_text(names, texts.assignment(1).value), "alpha * x_tile[tx]");
}
TEST(CudaText, ASignatureSaysWhatIsOnlyRead) {
  const Texts texts(text);
  EXPECT_EQ(
      kernel_signature({texts.names(), "f_0", {"A", "x", "sum", "alpha", "n"}, {"A", "sum"}, 256, 2}),
      "__global__ void __launch_bounds__(256, 2)\n"
      "f_0(float* __restrict__ A, const float* __restrict__ x, float* __restrict__ sum, float alpha, int n)");
}
TEST(CudaText, UsedNamesAreInTheNestsOrder) {
  const Texts texts(text);
  const UsedNames used = used_names(texts.names(), texts.assignment(1));
  EXPECT_THAT(used.arrays_written, ElementsAre("A"));
  EXPECT_THAT(used.arrays_read, ElementsAre("x"));
  EXPECT_THAT(used.scalars, ElementsAre("alpha"));
  EXPECT_THAT(used.sizes, ElementsAre("m"));  // of A's rows
  EXPECT_THAT(used.iterators, ElementsAre("i", "j"));
}
TEST(CudaText, HelpersAreThoseThatAreCalledAndTheirOwn) {
  EXPECT_THAT(cuda_helpers("x = a + b;"), IsEmpty());
  const std::string helpers = cuda_helpers("s = block_sum(s, parts);");
  EXPECT_LT(helpers.find("T warp_sum(T value)"), helpers.find("T block_sum("));
  EXPECT_NE(helpers.find("T block_sum("), std::string::npos);
}
TEST(CudaText, AFreeNameIsTheNestsNowhere) {
  const Texts texts(text);
  EXPECT_EQ(free_name(texts.names(), "tile"), "tile");
  EXPECT_EQ(free_name(texts.names(), "x"), "x_2");
  EXPECT_EQ(free_name(texts.names(), "i", {"i_2"}), "i_3");
}

Expression subscript(const std::string& of) {  // of an element in a statement
  const Nest nest = test::analyse(
      "void f(int n, float A[99]) { for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) A[" + of +
      "] = 0; }");
  return nest.statements().at(0).assignment.target.operands.at(0);
}
TEST(Affine, CoefficientsOfLoopsAndTheRest) {
  const auto form = affine_in(subscript("2 * (i + 3) - j + 5"), {"i", "j"});
  ASSERT_TRUE(form);
  EXPECT_EQ(form->coefficients, (std::map<std::string, std::int64_t>{{"i", 2}, {"j", -1}}));
  EXPECT_EQ(to_text(form->rest), "11");
}
TEST(Affine, StridesOfRowMajorArrays) {
  const Expression element = Expression::element("A", {Expression::name("i"), Expression::name("j")});
  EXPECT_EQ(stride(element, {Expression::name("n"), Expression::name("m")}, "j"), 1);
  EXPECT_EQ(stride(element, {Expression::name("n"), Expression::name("m")}, "i"), std::nullopt);
  EXPECT_EQ(stride(element, {Expression::name("n"), Expression::integer(8)}, "i"), 8);
  EXPECT_EQ(stride(element, {Expression::name("n"), Expression::name("m")}, "k"), 0);
}
TEST(Affine, TheBoxAroundATriangle) {
  const Nest nest = test::analyse(
      "void f(int n, float A[n][n]) { for (int i = 1; i < n; i++) for (int j = i + 1; j < n - i; j++) A[i][j] = 0; }");
  const Node& outer =
      nest.region().body.kind == Node::Kind::loop ? nest.region().body : nest.region().body.children.at(0);
  const Bounds i = bounds_of(outer, {});
  const Bounds j = bounds_of(outer.children.at(0), {{"i", i}});
  EXPECT_EQ(to_text(*j.least), "2");
  EXPECT_EQ(to_text(*j.most), "n - 2");
}
TEST(Affine, ElementsBelowAndOnTheDiagonalNeverMeet) {
  const Nest nest = test::analyse(
      "void f(int n, float A[n][n]) { for (int i = 0; i < n; i++) for (int k = 0; k < i; k++) A[i][i] -= A[i][k] * A[i][k]; }");
  const Node& outer =
      nest.region().body.kind == Node::Kind::loop ? nest.region().body : nest.region().body.children.at(0);
  const Node& loop = outer.children.at(0);
  const Expression diagonal = nest.statements().at(0).assignment.target;
  const Expression below = Expression::element("A", {Expression::name("i"), Expression::name("k")});
  EXPECT_TRUE(never_meet(diagonal, below, {&loop}));
  EXPECT_FALSE(never_meet(diagonal, diagonal, {&loop}));
}

}  // namespace
}  // namespace warploom::tile
