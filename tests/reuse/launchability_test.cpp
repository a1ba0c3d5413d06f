#include "warploom/reuse/launchability.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "warploom/core/error.hpp"

namespace warploom::reuse {
namespace {

using ::testing::HasSubstr;

constexpr const char* header = ".version 7.0\n.target sm_75\n.address_size 64\n";

ptx::Module module_of(const std::string& body) { return ptx::parse(header + body, "k.ptx"); }

std::uint64_t declared_bytes(const std::string& body, std::string_view kernel = "k") {
  const ptx::Module module = module_of(body);
  return shared_declared(module, *module.find_function(kernel)).bytes;
}

/// One kernel on sm_90 and sm_75, without ptxas unless asked for.
LaunchOptions options(bool use_ptxas = false) {
  LaunchOptions out;
  out.architectures = {&hw::architecture("sm_90"), &hw::architecture("sm_75")};
  out.use_ptxas = use_ptxas;
  return out;
}

constexpr const char* denoise =
    ".visible .entry k()\n.reqntid 16, 16, 1\n{ .shared .align 4 .b8 a[6220]; ret; }\n";

TEST(SharedDeclared, ArraysOfOneScopeStandInOrderEachAtItsAlignment) {
  EXPECT_EQ(
      declared_bytes(
          ".entry k() { .shared .align 1 .b8 a[13]; .shared .align 16 .b8 b[32]; .shared .align 4 .b8 c[5]; ret; }"),
      53u);
  EXPECT_EQ(declared_bytes(".entry k() { .shared .align 1 .b8 a[1]; .shared .align 128 .b8 b[8]; ret; }"),
            136u);
}

TEST(SharedDeclared, ScalarsCountAtTheirNaturalAlignment) {
  EXPECT_EQ(declared_bytes(".entry k() { .shared .u8 a; .shared .f64 b; .shared .u16 c; ret; }"), 18u);
}

TEST(SharedDeclared, ModuleScopeArraysCountOnlyWhereTheyAreUsed) {
  const char* text =
      ".shared .align 4 .b8 used[100]; .shared .align 4 .b8 unused[1000];\n"
      ".entry k() { .reg .b32 r; ld.shared.u32 r, [used+4]; ret; }\n.entry other() { ret; }\n";
  EXPECT_EQ(declared_bytes(text), 100u);
  EXPECT_EQ(declared_bytes(text, "other"), 0u);
}

TEST(SharedDeclared, WhatCalleesUseAndDeclareCountsForTheKernel) {
  const char* text =
      ".shared .align 4 .b8 g[100];\n.func inner();\n"
      ".func outer() { call inner; ret; }\n"
      ".func inner() { .reg .b32 r; .shared .align 4 .b8 l[10]; ld.shared.u32 r, [g]; call outer; ret; }\n"
      ".func never() { .shared .align 4 .b8 m[1000]; ret; }\n"
      ".entry k() { call outer; ret; }\n";
  EXPECT_EQ(declared_bytes(text), 110u);  // g is used, l is not and comes after it
}

TEST(SharedDeclared, AnIndirectCallReachesEveryFunction) {
  const char* text =
      ".func f() { .shared .align 4 .b8 l[24]; ret; }\n"
      ".entry k(.param .u64 p) { .reg .b64 r; ld.param.u64 r, [p]; proto: .callprototype _ ();\n"
      "call r, proto; ret; }\n";
  EXPECT_EQ(declared_bytes(text), 24u);
}

TEST(SharedDeclared, UnsizedArraysRoundTheStaticBytesToTheirAlignment) {
  const char* text =
      ".extern .shared .align 16 .b8 dynamic[];\n"
      ".entry k() { .reg .b32 r; .shared .align 1 .b8 a[3]; ld.shared.u32 r, [dynamic]; ret; }\n"
      ".entry without() { .shared .align 1 .b8 b[17]; ret; }\n";
  const ptx::Module module = module_of(text);
  const SharedDeclared with = shared_declared(module, *module.find_function("k"));
  EXPECT_EQ(with.bytes, 16u);
  EXPECT_TRUE(with.dynamic);
  const SharedDeclared without = shared_declared(module, *module.find_function("without"));
  EXPECT_EQ(without.bytes, 32u);
  EXPECT_FALSE(without.dynamic);
}

TEST(Launchability, ReportsBlocksAndLimitForEachArchitecture) {
  const Launchability got = launchability(module_of(denoise), options());
  ASSERT_EQ(got.kernels.size(), 1u);
  const KernelLaunch& kernel = got.kernels[0];
  EXPECT_EQ(kernel.name, "k");
  EXPECT_EQ(kernel.threads, 256u);
  EXPECT_EQ(kernel.threads_from, Origin::required_threads);
  EXPECT_EQ(kernel.declared.bytes, 6220u);
  ASSERT_EQ(kernel.on.size(), 2u);
  EXPECT_EQ(kernel.on[0].architecture->name, "sm_90");
  EXPECT_EQ(kernel.on[0].occupancy.blocks, 8u);
  EXPECT_EQ(kernel.on[1].occupancy.blocks, 4u);
  EXPECT_EQ(kernel.on[1].occupancy.limit, hw::Limit::threads);
  EXPECT_EQ(kernel.on[1].registers_from, Origin::unknown);
}

TEST(Launchability, TheGivenBlockDynamicBytesAndRegistersAreUsed) {
  LaunchOptions with = options();
  with.block = {128, 1, 1};
  with.shared_dynamic = 30 * 1024;
  with.registers = 255;
  const Launchability got = launchability(module_of(".entry k() { ret; }"), with);
  const LaunchOn& on = got.kernels[0].on[1];
  EXPECT_EQ(got.kernels[0].threads, 128u);
  EXPECT_EQ(got.kernels[0].threads_from, Origin::given);
  EXPECT_EQ(on.resources.shared_dynamic, 30u * 1024);
  EXPECT_EQ(on.registers_from, Origin::given);
  EXPECT_EQ(on.occupancy.blocks, 2u);  // 64 KB / 30 KB; 65536 / (128 * 256) registers
}

TEST(Launchability, MaxntidStandsInForAnUnknownBlock) {
  const Launchability got = launchability(module_of(".entry k() .maxntid 512 { ret; }"), options());
  EXPECT_EQ(got.kernels[0].threads, 512u);
  EXPECT_EQ(got.kernels[0].threads_from, Origin::maximal_threads);
}

TEST(Launchability, WithoutAnyBlockSizeTheNumbersAreThoseOfOneWarp) {
  const Launchability got =
      launchability(module_of(".entry k() { .shared .align 4 .b8 a[16384]; ret; }"), options());
  EXPECT_FALSE(got.kernels[0].threads.has_value());
  EXPECT_EQ(got.kernels[0].on[1].occupancy.blocks, 4u);
}

TEST(Launchability, ABlockThatContradictsTheKernelsDirectivesDoesNotLaunch) {
  LaunchOptions with = options();
  with.block = {256, 1, 1};  // as many threads, in another shape
  const Launchability required = launchability(module_of(denoise), with);
  EXPECT_EQ(required.kernels[0].on[0].occupancy.blocks, 0u);
  EXPECT_THAT(required.kernels[0].on[0].occupancy.reason, HasSubstr("16x16x1 that .reqntid"));
  const Launchability maximal = launchability(module_of(".entry k() .maxntid 128 { ret; }"), with);
  EXPECT_THAT(maximal.kernels[0].on[0].occupancy.reason, HasSubstr("256 threads exceeds the 128"));
  const Launchability fits = launchability(module_of(".entry k() .maxntid 256 { ret; }"), with);
  EXPECT_EQ(fits.kernels[0].on[0].occupancy.reason, "");
}

// llama.cpp 16081: "uses too much shared data (0xc400 bytes, 0xc000 max)".
TEST(Launchability, TooManyStaticBytesAreNamedWithTheLimit) {
  const Launchability got =
      launchability(module_of(".entry k() .reqntid 256 { .shared .align 4 .b8 a[50176]; ret; }"), options());
  for (const LaunchOn& on : got.kernels[0].on) {
    EXPECT_EQ(on.occupancy.blocks, 0u);
    EXPECT_THAT(on.occupancy.reason, HasSubstr("0xc400"));
    EXPECT_THAT(on.occupancy.reason, HasSubstr("0xc000"));
  }
}

TEST(Launchability, OneKernelCanBeChosenAndAWrongNameIsAnsweredWithTheRightOnes) {
  const ptx::Module module = module_of(".entry a() { ret; } .entry b() { ret; } .func f() { ret; }");
  LaunchOptions with = options();
  EXPECT_EQ(launchability(module, with).kernels.size(), 2u);
  with.kernel = "b";
  EXPECT_EQ(launchability(module, with).kernels.at(0).name, "b");
  with.kernel = "f";  // no kernel: a .func
  try {
    launchability(module, with);
    FAIL() << "'f' was accepted";
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("k.ptx: there is no kernel 'f'"));
    EXPECT_THAT(error.what(), HasSubstr("a, b"));
  }
}

TEST(Launchability, AWrongNameInALargeModuleIsAnsweredWithAFewOfTheRightOnes) {
  std::string text;
  for (int i = 0; i < 12; ++i) text += fmt::format(".entry k{}() {{ ret; }}\n", i);
  LaunchOptions with = options();
  with.kernel = "nope";
  try {
    launchability(module_of(text), with);
    FAIL() << "'nope' was accepted";
  } catch (const BadInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("k8, k9 and 2 more"));
  }
}

TEST(Launchability, AModuleWithoutKernelsHasNone) {
  EXPECT_TRUE(launchability(module_of(".func f() { ret; }"), options()).kernels.empty());
}

TEST(Launchability, ClustersAreMarked) {
  const Launchability got = launchability(
      ptx::parse(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() .reqnctapercluster 2 { ret; }\n"),
      options());
  EXPECT_TRUE(got.kernels[0].cluster);
}

TEST(Launchability, SaysWhyPtxasWasOfNoHelp) {
  LaunchOptions with = options(true);
  with.ptxas.executable = "/nonexistent/ptxas";
  with.architectures.push_back(&hw::architecture("G80"));
  const Launchability got = launchability(module_of(denoise), with);
  EXPECT_EQ(got.kernels[0].on[0].registers_from, Origin::unknown);
  EXPECT_THAT(got.ptxas_notes.at("sm_90"), HasSubstr("cannot be started"));
  EXPECT_THAT(got.ptxas_notes.at("G80"), HasSubstr("G80"));
}

class LaunchabilityWithPtxas : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_ptxas()) GTEST_SKIP() << "there is no ptxas on this machine";
  }
};

TEST_F(LaunchabilityWithPtxas, RegistersComeFromIt) {
  const Launchability got = launchability(module_of(denoise), options(true));
  EXPECT_EQ(got.ptxas_notes.size(), 0u);
  for (const LaunchOn& on : got.kernels[0].on) {
    EXPECT_EQ(on.registers_from, Origin::ptxas);
    EXPECT_GT(on.resources.registers_per_thread, 0u);
    EXPECT_EQ(on.shared_from, Origin::ptxas);
    EXPECT_EQ(on.resources.shared_static, 6220u);
  }
}

TEST_F(LaunchabilityWithPtxas, ItsRefusalIsQuotedAndTheDeclaredBytesAreUsed) {
  const Launchability got = launchability(
      module_of(".entry k() .reqntid 256 { .shared .align 4 .b8 a[50176]; ret; }"), options(true));
  EXPECT_THAT(got.ptxas_notes.at("sm_90"), HasSubstr("0xc400"));
  EXPECT_EQ(got.kernels[0].on[0].shared_from, Origin::declared);
  EXPECT_THAT(got.kernels[0].on[0].occupancy.reason, HasSubstr("0xc400"));
}

TEST_F(LaunchabilityWithPtxas, AModuleLeftToTheDeviceLinkerKeepsItsDeclaredBytes) {
  const Launchability got = launchability(
      module_of(".shared .align 4 .b8 g[100]; .extern .func elsewhere();\n"
                ".visible .entry k() .reqntid 32 { .reg .b32 r; mov.u32 r, 1; st.shared.u32 [g], r;\n"
                "call elsewhere; ret; }\n"),
      options(true));
  EXPECT_EQ(got.ptxas_notes.size(), 0u);
  EXPECT_EQ(got.kernels[0].on[0].registers_from, Origin::ptxas);
  EXPECT_EQ(got.kernels[0].on[0].shared_from, Origin::declared);
  EXPECT_EQ(got.kernels[0].on[0].resources.shared_static, 100u);
}

/// A random module: arrays in the kernel, in the function it calls and at module scope; some are used.
std::string random_module(std::mt19937& random) {
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  std::string module, callee, kernel, callee_uses, kernel_uses;
  for (std::uint32_t i = 0, n = 1 + below(8); i < n; ++i) {
    const std::uint32_t scope = below(3);
    (scope == 0   ? module
     : scope == 1 ? callee
                  : kernel) +=
        fmt::format(".shared .align {} .b8 a{}[{}];\n", 1u << below(6), i, 1 + below(300));
    const bool by_callee = scope == 1 || (scope == 0 && below(2) == 0);
    if (below(3) != 0) (by_callee ? callee_uses : kernel_uses) += fmt::format("st.shared.u8 [a{}], r;\n", i);
  }
  constexpr const char* body = "{{\n.reg .b32 r;\n{}mov.u32 r, 1;\n{}{}ret;\n}}\n";
  return module + ".func f()\n" + fmt::format(fmt::runtime(body), callee, callee_uses, "") +
         ".visible .entry k()\n" + fmt::format(fmt::runtime(body), kernel, kernel_uses, "call f;\n");
}

TEST_F(LaunchabilityWithPtxas, DeclaredBytesAreThoseThatItReports) {
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i) {
    const std::string text = random_module(random);
    const auto run = run_ptxas(header + text, "sm_90");
    ASSERT_TRUE(run && run->ok()) << run->error;
    EXPECT_EQ(declared_bytes(text), run->kernels.at("k").shared) << text;
  }
}

}  // namespace
}  // namespace warploom::reuse
