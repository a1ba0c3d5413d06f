// Which nests pass arrays through the device in panels, what is printed for it, and, where there is a
// compiler, that the panels' kernels give in the simulator what the nest gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel_cases.hpp"

namespace warploom::tile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t kCap = 4096;

GpuProgram capped(const Nest& nest) {
  GpuOptions options;
  options.memory_cap = kCap;
  return map_to_gpu(nest, parallelise(nest), options);
}
std::string text_of(const std::string& text) {
  const Nest nest = test::analyse(text);
  GpuOptions options;
  options.memory_cap = kCap;
  return emit_cuda(nest, capped(nest), options);
}
std::string reasons_of(const std::string& text) {
  std::string all;
  for (const std::string& reason : capped(test::analyse(text)).reasons) all += reason + "\n";
  return all;
}

const std::string copies_text = R"(
void f(int n, int m, float A[n + 3][m], const float B[n + 3][m], const float x[m]) {
  for (int i = 2; i <= n; i++)
    for (int j = 0; j < m; j++) A[i][j] = B[i][j] + x[j];
})";
const std::string triangle_text = R"(
void f(int n, int m, float C[n][n], const float A[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      C[i][j] = 0;
      for (int k = 0; k < m; k++) C[i][j] += A[i][k] * A[j][k];
    }
})";
/// Panels of a reduction, with statements on both sides of it.
const std::string around_text = R"(
void f(int n, int m, int l, float C[n][m], float D[n][m], const float A[n][l], const float B[l][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      C[i][j] = D[i][j];
      for (int k = 1; k <= l - 2; k++) C[i][j] += A[i][k] * B[k][j];
      D[i][j] = C[i][j] * 2;
    }
})";

TEST(OutOfCore, ProductPassesRowsOfTheResultAndOfTheReduction) {
  const GpuProgram program = capped(test::analyse(test::gemm_text));
  ASSERT_TRUE(program.out_of_core);
  const OutOfCore& panels = *program.out_of_core;
  EXPECT_EQ(panels.outer.iterator, "i");
  EXPECT_THAT(panels.outer.arrays, ElementsAre("C", "A"));
  ASSERT_TRUE(panels.inner);
  EXPECT_EQ(panels.inner->iterator, "k");
  EXPECT_THAT(panels.inner->arrays, ElementsAre("B"));
  EXPECT_THAT(panels.resident, IsEmpty());
  ASSERT_EQ(panels.before.size(), 1u);
  EXPECT_EQ(panels.before[0].pattern, "pointwise");
  ASSERT_EQ(panels.update.size(), 1u);
  EXPECT_EQ(panels.update[0].pattern, "contraction");
  EXPECT_THAT(panels.after, IsEmpty());
}

TEST(OutOfCore, ArrayThatNoPanelIndexesStays) {
  const GpuProgram copies = capped(test::analyse(copies_text));
  ASSERT_TRUE(copies.out_of_core);
  EXPECT_THAT(copies.out_of_core->outer.arrays, ElementsAre("A", "B"));
  EXPECT_FALSE(copies.out_of_core->inner);
  EXPECT_THAT(copies.out_of_core->resident, ElementsAre("x"));

  const GpuProgram triangle = capped(test::analyse(triangle_text));
  ASSERT_TRUE(triangle.out_of_core);
  EXPECT_THAT(triangle.out_of_core->outer.arrays, ElementsAre("C"));
  EXPECT_THAT(triangle.out_of_core->resident, ElementsAre("A")) << "A[i] and A[j]";
}

TEST(OutOfCore, TextCopiesWhatANestReadsAndStoresWhatItWrites) {
  const std::string text = text_of(test::gemm_text);
  EXPECT_THAT(reasons_of(test::gemm_text), HasSubstr("rows i of C, A; for each, rows k of B"));
  EXPECT_THAT(text, HasSubstr("std::size_t bytes = 4096u;"));
  EXPECT_THAT(text, HasSubstr("check(A_panels.load(i_buffer, i_first, i_limit, streams.load));"));
  EXPECT_THAT(text, HasSubstr("check(B_panels.load(k_buffer, k_first, k_limit, streams.load));"));
  EXPECT_THAT(text, HasSubstr("check(C_panels.store(i_buffer, i_first, i_limit, streams.store));"));
  EXPECT_THAT(text, Not(HasSubstr("A_panels.store")));
  EXPECT_LT(text.find("gemm_before<<<"), text.find("for (int k_first = k_begin"));
  EXPECT_LT(text.find("for (int k_first = k_begin"), text.find("gemm_panel<<<"));
}

TEST(OutOfCore, BoundsOfTheLoopLimitTheRows) {
  const std::string text = text_of(copies_text);
  EXPECT_THAT(text, HasSubstr("const int i_begin = 2, i_end = std::max<int>(i_begin, n + 1);"));
  EXPECT_THAT(text, HasSubstr("PanelArray<const float> x_panels(x, (std::size_t)m);"));
  EXPECT_THAT(text, HasSubstr("if (resident > bytes) return cudaErrorMemoryAllocation;"));
  EXPECT_THAT(text, HasSubstr("check(x_panels.load(0, 0, 1, streams.load));"));
}

TEST(OutOfCore, WhereThereAreNoPanelsAllArraysHaveToFit) {
  const std::string two = R"(
void f(int n, float A[n][n], float x[n], float y[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) x[i] += A[i][j];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) y[i] += A[j][i] * x[j];
})";
  EXPECT_FALSE(capped(test::analyse(two)).out_of_core);
  EXPECT_THAT(reasons_of(two), HasSubstr("f() returns cudaErrorMemoryAllocation"));
  const std::string text = text_of(two);
  EXPECT_THAT(text, HasSubstr("if (bytes > 4096u) return cudaErrorMemoryAllocation;"));
  EXPECT_THAT(text, Not(HasSubstr("PanelArray")));
}

TEST(OutOfCore, NeighbouringRowsAreNoPanels) {
  EXPECT_THAT(reasons_of(R"(
void f(int n, float A[n][n], const float B[n + 1][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) A[j][i] = B[i][j] + B[i + 1][j];
})"),
              HasSubstr("no array has"));
}

TEST(OutOfCore, ConstantMemoryIsFilledFromTheHost) {
  const Nest nest = test::analyse(R"(
void f(int n, int m, float R[n], const float M[n][m], const float v[m]) {
  for (int t = 0; t < n; t++)
    for (int j = 0; j < m; j++) R[t] += M[t][j] * v[j];
})",
                                  {{"m", 256, 256}});
  GpuOptions options;
  options.memory_cap = kCap;
  GpuProgram program = map_to_gpu(nest, parallelise(nest), options);
  ASSERT_TRUE(program.out_of_core);
  EXPECT_THAT(program.out_of_core->resident, ElementsAre("v"));
  program.out_of_core->update.at(0).constants = {{"v", "f_v_constant", ScalarType::float32, 256, ""}};
  const std::string text = emit_cuda(nest, program, options);
  EXPECT_THAT(text, HasSubstr("__constant__ float f_v_constant[256];"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "cudaMemcpyToSymbolAsync(f_v_constant, v, 256 * sizeof(float), 0, cudaMemcpyHostToDevice, streams.load)"));
}

TEST(OutOfCore, WithoutACapNothingIsSaid) {
  const Nest nest = test::analyse(test::gemm_text);
  const GpuProgram program = map_to_gpu(nest, parallelise(nest), {});
  EXPECT_FALSE(program.out_of_core);
  EXPECT_THAT(emit_cuda(nest, program, {}), Not(HasSubstr("cudaErrorMemoryAllocation")));
}

/// for (name = value; name <= value; ++name): gives a value a name.
Node define(const std::string& name, const Expression& value) {
  Node loop;
  loop.kind = Node::Kind::loop;
  loop.iterator = name;
  loop.first = loop.limit = value;
  loop.comparison = "<=";
  return loop;
}

/// The host's loops over panels of so many rows, on arrays that are there as a whole.
GpuProgram in_panels(const OutOfCore& plan, int outer_rows, int inner_rows) {
  GpuProgram program;
  const auto launches = [&](const std::vector<Kernel>& kernels, std::vector<Node>& into) {
    for (const Kernel& kernel : kernels) {
      Node launch;
      launch.kind = Node::Kind::launch;
      launch.statement = static_cast<int>(program.kernels.size());
      into.push_back(launch);
      program.kernels.push_back(kernel);
    }
  };
  const auto panels = [](const PanelLoop& loop, int rows, std::vector<Node> body) {
    Node outer = define(loop.first, loop.begin);
    outer.limit = loop.end;
    outer.comparison = "<";
    outer.step = rows;
    const Expression next = Expression::binary("+", Expression::name(loop.first), Expression::integer(rows));
    outer.children = {define(loop.limit, Expression::call("min", {next, loop.end}))};
    outer.children[0].children = std::move(body);
    return outer;
  };
  std::vector<Node> body, inner;
  launches(plan.before, body);
  launches(plan.update, plan.inner ? inner : body);
  if (plan.inner) body.push_back(panels(*plan.inner, inner_rows, std::move(inner)));
  launches(plan.after, body);
  program.host.children = {panels(plan.outer, outer_rows, std::move(body))};
  return program;
}

class OutOfCoreKernels
    : public testing::TestWithParam<std::pair<std::string, std::map<std::string, std::int64_t>>> {};

TEST_P(OutOfCoreKernels, GiveInPanelsWhatTheNestGives) {
  if (!test::have_kernel_compiler()) GTEST_SKIP() << "no nvcc";
  const auto& [text, sizes] = GetParam();
  const Nest nest = test::analyse(text);
  const GpuProgram program = capped(nest);
  ASSERT_TRUE(program.out_of_core);
  const test::SimulatedKernels kernels({in_panels(*program.out_of_core, 1, 1)});
  for (const auto& [outer, inner] : {std::pair{4, 3}, {5, 100}, {100, 7}}) {
    std::vector<std::string> findings;
    EXPECT_LE(kernels.difference(nest, in_panels(*program.out_of_core, outer, inner), sizes, findings), 1e-5)
        << outer << " rows, " << inner << " of the reduction";
    EXPECT_THAT(findings, IsEmpty());
  }
}

using Sizes = std::map<std::string, std::int64_t>;
INSTANTIATE_TEST_SUITE_P(Nests, OutOfCoreKernels,
                         testing::Values(std::pair{test::gemm_text, Sizes{{"n", 13}}},
                                         std::pair{around_text, Sizes{{"n", 9}, {"m", 11}, {"l", 17}}},
                                         std::pair{triangle_text, Sizes{{"n", 11}, {"m", 6}}},
                                         std::pair{copies_text, Sizes{{"n", 12}, {"m", 37}}}));

}  // namespace
}  // namespace warploom::tile
