// The three designs on a GPU against the double-precision oracle, each by its own definition.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "imaging/sync/cpu_reference.hpp"
#include "imaging/sync/designs.hpp"
#include "oracle/christiansen.hpp"
#include "oracle/phantom.hpp"

namespace warploom::bench::sync {
namespace {

using oracle::Christiansen;
using oracle::MatrixImage;

class OnGpu : public testing::Environment {
 public:
  void SetUp() override { gpu_ = std::make_unique<Gpu>(); }
  void TearDown() override { gpu_.reset(); }

 private:
  std::unique_ptr<Gpu> gpu_;
};
[[maybe_unused]] testing::Environment* const gpu = testing::AddGlobalTestEnvironment(new OnGpu);

MatrixImage matrices(const Problem& problem, const std::vector<float>& values) {
  return {problem.nx, problem.ny, problem.nz, {values.begin(), values.end()}};
}

struct Definition {
  std::string name;
  std::unique_ptr<Design> (*make)(const Problem&);
  std::array<int, 3> region;
  bool isolated, centred;
};

const Definition kDefinitions[] = {
    {"global_8",
     [](const Problem& p) { return global_sync(p, 8, Stencil::printed); },
     {0, 0, 0},
     false,
     false},
    {"global_16",
     [](const Problem& p) { return global_sync(p, 16, Stencil::printed); },
     {0, 0, 0},
     false,
     false},
    {"global_8_centred",
     [](const Problem& p) { return global_sync(p, 8, Stencil::centred); },
     {0, 0, 0},
     false,
     true},
    {"global_16_centred",
     [](const Problem& p) { return global_sync(p, 16, Stencil::centred); },
     {0, 0, 0},
     false,
     true},
    {"thread_8",
     [](const Problem& p) { return thread_sync(p, 8, Stencil::printed); },
     {8, 8, 1},
     true,
     false},
    {"thread_16_centred",
     [](const Problem& p) { return thread_sync(p, 16, Stencil::centred); },
     {16, 16, 1},
     true,
     true},
    {"thread_8_centred_halo",
     [](const Problem& p) { return thread_sync(p, 8, Stencil::centred, Padding::halo); },
     {8, 8, 1},
     false,
     true},
    {"thread_16_halo",
     [](const Problem& p) { return thread_sync(p, 16, Stencil::printed, Padding::halo); },
     {16, 16, 1},
     false,
     false},
    {"un_8", [](const Problem& p) { return un_sync(p, 8, Stencil::printed); }, {2, 2, 2}, true, false},
    {"un_16_centred",
     [](const Problem& p) { return un_sync(p, 16, Stencil::centred); },
     {2, 2, 2},
     true,
     true},
    {"un_8_centred_halo",
     [](const Problem& p) { return un_sync(p, 8, Stencil::centred, Padding::halo); },
     {2, 2, 2},
     false,
     true},
    {"un_16_halo",
     [](const Problem& p) { return un_sync(p, 16, Stencil::printed, Padding::halo); },
     {2, 2, 2},
     false,
     false},
};

class Designs : public testing::TestWithParam<Definition> {};

/// Extents are no multiple of any tile. Off by at most 1e-4 of the step's length, which is far above single
/// precision's share in it and far below any mistake.
TEST_P(Designs, StepAsTheOracleOfTheirDefinition) {
  const Definition& definition = GetParam();
  const Problem problem = random_problem(37, 29, 11, {1, 0.7F, 1.3F});
  const MatrixImage noisy = matrices(problem, problem.noisy);
  Christiansen::Options options{problem.lambda,      problem.step,      1, 0.7F, 1.3F, definition.region,
                                definition.isolated, definition.centred};
  const Christiansen reference(noisy, options);

  const auto design = definition.make(problem);
  MatrixImage want = matrices(problem, problem.factor);
  for (int iteration = 0; iteration < 3; ++iteration) {
    design->iterate();
    const MatrixImage before = want;
    want = reference.step(want);
    double length = 0;
    for (std::size_t i = 0; i < want.data.size(); ++i)
      length = std::max(length, std::abs(want.data[i] - before.data[i]));
    const std::vector<float> got = design->factor();
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want.data[i], 1e-4 * (iteration + 1) * length)
          << "iteration " << iteration << ", element " << i;
  }
}

TEST_P(Designs, GiveTheSameBitsTwice) {
  const Problem problem = random_problem(37, 29, 11, {1, 1, 1});
  const auto run = [&] {
    const auto design = GetParam().make(problem);
    for (int i = 0; i < 5; ++i) design->iterate();
    return design->factor();
  };
  const auto first = run(), second = run();
  EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Designs, testing::ValuesIn(kDefinitions),
                         [](const auto& definition) { return definition.param.name; });

/// Sharing shared memory between Figure 47's arrays changes no bit.
TEST(GlobalSync, RewrittenByReuseGivesTheSameBits) {
  const Problem problem = random_problem(37, 29, 11, {1, 1, 1});
  for (const int side : {8, 16})
    for (const Stencil stencil : {Stencil::printed, Stencil::centred}) {
      const auto original = global_sync(problem, side, stencil),
                 rewritten = global_sync(problem, side, stencil, "global_sync.rewritten");
      for (int i = 0; i < 5; ++i) original->iterate(), rewritten->iterate();
      const auto a = original->factor(), b = rewritten->factor();
      EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << side;
    }
}

/// 128 voxels a side: indices beyond the first few blocks, and many partial sums.
TEST(GlobalSync, StepsAsTheCpuReferenceAtTheFiguresSize) {
  imaging::TensorImage image = imaging::tensor_phantom(128);
  imaging::add_noise(image, 0.15, 1);
  const Problem problem = make_problem(image);
  CpuReference reference(problem, Stencil::centred);
  reference.iterate();
  for (const int side : {8, 16}) {
    const auto design = global_sync(problem, side, Stencil::centred);
    design->iterate();
    const std::vector<float> got = design->factor();
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], reference.factor()[i], 1e-3 * problem.step) << "side " << side << ", element " << i;
  }
}

}  // namespace
}  // namespace warploom::bench::sync
