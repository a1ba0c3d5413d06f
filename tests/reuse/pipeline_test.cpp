#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reuse/analysed_kernel.hpp"
#include "warploom/core/error.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string shared(std::string_view name, std::uint32_t bytes, std::string_view linkage = "") {
  return std::string(linkage) + "\t.shared .align 4 .b8 " + std::string(name) + "[" + std::to_string(bytes) +
         "];\n";
}
std::string phase(std::string_view array, std::string_view end = "bar.sync 0;\n") {
  return "st.shared.u32 [" + std::string(array) + "], %t;\nbar.sync 0;\nld.shared.u32 %r1, [" +
         std::string(array) + "];\n" + std::string(end);
}
/// Two arrays of so many bytes, one after the other.
std::string two_phases(std::uint32_t bytes, const Surroundings& options = {}) {
  return kernel_around(shared("a", bytes) + shared("b", bytes) + phase("a") + phase("b"), options);
}
Options always() {
  Options o;
  o.when = When::always;
  o.assemble = false;
  return o;
}
Options when(When w) {
  Options o = always();
  o.when = w;
  return o;
}
const KernelReport& only_kernel(const Result& r) { return r.report.kernels.at(0); }

TEST(Pipeline, AlwaysRewritesWhatSavesBytes) {
  const Result r = optimize(two_phases(256), always());
  EXPECT_EQ(only_kernel(r).verdict, Verdict::rewritten);
  EXPECT_EQ(only_kernel(r).bytes_before, 512u);
  EXPECT_EQ(only_kernel(r).bytes_after, 256u);
  EXPECT_THAT(r.text, HasSubstr("__warploom_pool_k[256]"));
}

TEST(Pipeline, ThreadsDoNotMeetInACallThatDoesNotWaitForOthers) {
  // One arm accesses `a` and then does nothing but call: as if it left. So the barrier of the other arm says
  // nothing about who takes which, and the two arms may not share.
  const Result r = optimize(R"(.version 8.0
.target sm_80
.address_size 64
.func quiet()
{
ret;
}
.visible .entry k(.param .u64 data)
{
.shared .align 16 .b8 a[16];
.shared .align 16 .b8 b[64];
.shared .align 4 .b8 c[4];
.reg .b32 %r<3>;
.reg .pred %p<2>;
ld.shared.u32 %r1, [c];
setp.ne.u32 %p1, %r1, 0;
@%p1 bra OTHER;
st.shared.u32 [a], %r1;
bra JOIN;
OTHER:
st.shared.u32 [b], 0;
bar.sync 0;
JOIN:
call.uni quiet;
ret;
}
)",
                            always());
  EXPECT_NE(only_kernel(r).verdict, Verdict::failed) << only_kernel(r).reason;
  EXPECT_NE(only_kernel(r).verdict, Verdict::rewritten);
}

TEST(Pipeline, OccupancyLeavesAKernelThatGainsNoBlock) {
  const std::string text = two_phases(256);
  const Result r = optimize(text, when(When::occupancy));
  EXPECT_EQ(only_kernel(r).verdict, Verdict::unchanged);
  EXPECT_EQ(only_kernel(r).bytes_possible, 256u);
  EXPECT_EQ(r.text, text);
}

TEST(Pipeline, OccupancyRewritesAKernelThatGainsABlock) {
  Options o = when(When::occupancy);
  o.block = {{128, 1, 1}};
  EXPECT_EQ(only_kernel(optimize(two_phases(20000), o)).verdict, Verdict::rewritten);
}

TEST(Pipeline, FitsRewritesOnlyWhatWouldNotLaunch) {
  EXPECT_EQ(only_kernel(optimize(two_phases(20000), when(When::fits))).verdict, Verdict::unchanged);
  EXPECT_EQ(only_kernel(optimize(two_phases(30000), when(When::fits))).verdict, Verdict::rewritten)
      << "60,000 bytes exceed 48 KB";
}

TEST(Pipeline, AnArchitectureSpecificTargetMayDeclareMoreThan48KB) {
  EXPECT_EQ(only_kernel(optimize(two_phases(30000, {.target = "sm_90"}), when(When::fits))).verdict,
            Verdict::rewritten);
  EXPECT_EQ(only_kernel(optimize(two_phases(30000, {.target = "sm_90a"}), when(When::fits))).verdict,
            Verdict::unchanged);
  EXPECT_EQ(only_kernel(optimize(two_phases(120000, {.target = "sm_90a"}), when(When::fits))).verdict,
            Verdict::rewritten)
      << "240,000 bytes exceed 227 KB";
}

TEST(Pipeline, DebugModulesPassUnchanged) {
  const std::string text = two_phases(256, {.target = "sm_80, debug"});
  const Result r = optimize(text, always());
  EXPECT_EQ(r.text, text);
  EXPECT_THAT(r.report.note, HasSubstr("-G"));
}

TEST(Pipeline, OnlyAndExceptChooseKernels) {
  const std::string text = two_phases(256);
  Options o = always();
  o.only = {"other"};
  EXPECT_EQ(optimize(text, o).text, text);
  o.only = {"k"};
  EXPECT_NE(optimize(text, o).text, text);
  o.except = {"k"};
  EXPECT_EQ(optimize(text, o).text, text);
}

TEST(Pipeline, TheOutputIsTheSameForTheSameInput) {
  EXPECT_EQ(optimize(two_phases(256), always()).text, optimize(two_phases(256), always()).text);
}

TEST(Pipeline, WhatItWroteItLeavesAlone) {
  const std::string once = optimize(two_phases(256), always()).text;
  EXPECT_EQ(optimize(once, always()).text, once);
}

TEST(Pipeline, BarriersAreAddedOnlyWithPermission) {
  const std::string text = kernel_around(shared("a", 256) + shared("b", 256) + phase("a", "") + phase("b"));
  EXPECT_EQ(only_kernel(optimize(text, always())).bytes_after, 256u);
  Options o = always();
  o.insert_barriers = false;
  EXPECT_EQ(optimize(text, o).text, text);
  o = always();
  o.disabled = {"barriers"};
  EXPECT_EQ(optimize(text, o).text, text);
}

TEST(Pipeline, AKernelWithANamedBarrierGetsNone) {
  const std::string text =
      kernel_around(shared("a", 256) + shared("b", 256) + phase("a", "bar.sync 1;\n") + phase("b"));
  EXPECT_EQ(optimize(text, always()).text, text);
}

TEST(Pipeline, ABarrierUnderABranchByThreadRefusesTheKernel) {
  const std::string text =
      kernel_around(shared("a", 256) + shared("b", 256) + phase("a") + phase("b") +
                    "setp.eq.u32 %p1, %t, 0;\n@%p1 bra OVER;\nbar.sync 0;\nOVER:\nst.shared.u32 [a], %t;\n");
  const Result r = optimize(text, always());
  EXPECT_EQ(only_kernel(r).verdict, Verdict::refused);
  EXPECT_EQ(r.text, text);
}

TEST(Pipeline, AVisibleArrayKeepsItsStorage) {
  const std::string text = kernel_around(shared("b", 256) + phase("a") + phase("b"),
                                         {.module = ".visible .shared .align 4 .b8 a[256];\n"});
  EXPECT_EQ(optimize(text, always()).text, text);
}

TEST(Pipeline, AModuleScopeArrayOfOneKernelMoves) {
  const std::string text =
      kernel_around(shared("b", 256) + phase("a") + phase("b"), {.module = ".shared .align 4 .b8 a[256];\n"});
  EXPECT_EQ(only_kernel(optimize(text, always())).bytes_after, 256u);
}

const std::string kTwoArrays = ".shared .align 4 .b8 a[256];\n.shared .align 4 .b8 b[256];\n";

TEST(Pipeline, AModuleScopeArrayOfTwoKernelsMovesInEach) {
  const std::string second = ".visible .entry second()\n{\n.reg .b32 %r<9>, %t;\nmov.u32 %t, %tid.x;\n";
  const Result r = optimize(kernel_around(phase("a") + phase("b"), {.module = kTwoArrays}) + second +
                                phase("b") + phase("a") + "ret;\n}\n",
                            always());
  ASSERT_EQ(r.report.kernels.size(), 2u);
  for (const KernelReport& kernel : r.report.kernels) {
    EXPECT_EQ(kernel.verdict, Verdict::rewritten) << kernel.reason;
    EXPECT_EQ(kernel.bytes_after, 256u);
  }
  EXPECT_THAT(r.text, HasSubstr(kTwoArrays))
      << "the declaration stays; nothing names it, so it takes no room";
  EXPECT_EQ(r.text.find("[a]"), r.text.npos);
  // One that gains nothing keeps the names, and its own storage.
  const Result one = optimize(
      kernel_around(phase("a") + phase("b"), {.module = kTwoArrays}) + second + phase("a") + "ret;\n}\n",
      always());
  EXPECT_EQ(one.report.kernels[0].bytes_after, 256u);
  EXPECT_EQ(one.report.kernels[1].verdict, Verdict::unchanged);
  EXPECT_NE(one.text.find("[a]"), one.text.npos);
}

TEST(Pipeline, AModuleScopeArrayOfAFunctionStays) {
  // The kernel may call it, and then both mean one storage.
  const std::string text = kernel_around(phase("a") + phase("b"), {.module = kTwoArrays}) +
                           ".visible .entry second()\n{\n.reg .b32 %r1;\nld.shared.u32 %r1, [a];\nret;\n}\n"
                           ".func f()\n{\n.reg .b32 %r1;\nld.shared.u32 %r1, [a];\nret;\n}\n";
  EXPECT_EQ(optimize(text, always()).text, text);
}

TEST(Pipeline, DynamicSharedMemoryKeepsItsAlignment) {
  const std::string module = ".extern .shared .align 16 .b8 dyn[];\n";
  const std::string body = shared("a", 512) + shared("b", 496) + shared("c", 16) +
                           "st.shared.u32 [dyn], 0;\nld.shared.u32 %r2, [dyn];\n" + phase("a") + phase("b") +
                           phase("c");
  const Result r = optimize(kernel_around(body, {.module = module}), always());
  EXPECT_EQ(only_kernel(r).verdict, Verdict::unchanged)
      << "1,024 bytes before: less would move `dyn` off its multiple of 1,024";
  const std::string odd = shared("a", 512) + shared("b", 496) + phase("a") + phase("b");
  const Result other =
      optimize(kernel_around("st.shared.u32 [dyn], 0;\n" + odd, {.module = module}), always());
  EXPECT_EQ(only_kernel(other).bytes_after, 512u) << "1,008 bytes before are a multiple of 16, no more";
}

TEST(Pipeline, PrivateArraysShareOnlyWithThePass) {
  const std::string loop =
      "mov.u32 %r2, a;\nadd.u32 %r2, %r2, %o;\nmov.u32 %r3, b;\nadd.u32 %r3, %r3, %o;\nmov.u32 %r1, 0;\nLOOP:\n"
      "st.shared.u32 [%r2], %r1;\nbar.sync 0;\nld.shared.u32 %r4, [%r2];\nbar.sync 0;\nst.shared.u32 [%r3], "
      "%r4;\nbar.sync 0;\nld.shared.u32 %r5, [%r3];\nbar.sync 0;\n"
      "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %n;\n@%p1 bra LOOP;\n";
  const std::string text = kernel_around(shared("a", 256) + shared("b", 256) + loop);
  EXPECT_EQ(only_kernel(optimize(text, always())).bytes_after, 256u);
  Options o = always();
  o.disabled = {"privacy", "coverage"};
  EXPECT_EQ(optimize(text, o).text, text);
  o = always();
  o.strict = true;  // a read may find what the iteration before stored
  o.disabled = {"coverage"};
  EXPECT_EQ(optimize(text, o).text, text);
}

TEST(Pipeline, StrictKeepsWhatTheKernelStoredAndNothingElse) {
  Options o = always();
  o.strict = true;
  const std::string text = kernel_around(shared("a", 256) + shared("b", 256) + phase("a") +
                                         phase("b", "ld.shared.u32 %r2, [b+4];\n"));
  EXPECT_EQ(only_kernel(optimize(text, o)).bytes_after, 256u) << "b+4 is read and never written: undefined";
}

TEST(Pipeline, RefusesAKernelThatReadsTheSizeOfItsSharedMemory) {
  for (const std::string name : {"%total_smem_size", "%aggr_smem_size"}) {
    const std::string text = kernel_around(shared("a", 256) + shared("b", 256) + phase("a") + phase("b") +
                                           "mov.u32 %r1, " + name + ";\n");
    const Result r = optimize(text, always());
    EXPECT_EQ(r.text, text);
    EXPECT_EQ(only_kernel(r).verdict, Verdict::refused);
    EXPECT_THAT(only_kernel(r).reason, HasSubstr("it reads " + name));
  }
}

TEST(Pipeline, AStatedDeathIsTakenAsAssumption) {
  const std::string body =
      shared("a", 256) + shared("b", 256) + "\t.reg .b32 warploom_dead;\nmov.u32 %r1, 0;\nLOOP:\n" +
      phase("a", "mov.u32 warploom_dead, a;\nbar.sync 0;\n") +
      "st.shared.u32 [b], %t;\nbar.sync 0;\nld.shared.u32 %r4, [b];\nmov.u32 warploom_dead, b;\nbar.sync 0;\n"
      "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %n;\n@%p1 bra LOOP;\n";
  Options o = always();
  o.disabled = {"privacy"};
  const Result r = optimize(kernel_around(body), o);
  EXPECT_EQ(only_kernel(r).bytes_after, 256u);
  EXPECT_THAT(only_kernel(r).assumptions,
              testing::Contains(testing::Field(&Assumption::text, HasSubstr("WARPLOOM_DEAD"))));
}

TEST(Pipeline, UnknownPassesAndBlocksAreBadInput) {
  Options o = always();
  o.disabled = {"liveness"};
  EXPECT_THROW(optimize(two_phases(256), o), BadInput);
  o = always();
  o.block = {64, 64, 1};
  EXPECT_THROW(optimize(two_phases(256), o), BadInput);
}

TEST(Pipeline, EveryPassIsDumpedOnceInOrder) {
  Options o = always();
  std::vector<std::string> seen;
  o.dump = [&](std::string_view kernel, std::string_view pass, const std::string&) {
    EXPECT_EQ(kernel, "k");
    seen.emplace_back(pass);
  };
  optimize(two_phases(256), o);
  std::vector<std::string> expected;
  for (const std::string_view pass : passes())
    if (std::find(seen.begin(), seen.end(), pass) != seen.end()) expected.emplace_back(pass);
  EXPECT_EQ(seen, expected);
  EXPECT_GE(seen.size(), 10u);
}

TEST(Pipeline, OtherKernelsKeepTheirText) {
  const std::string other =
      ".visible .entry second()\n{\n.shared .b8 z[64];\n.reg .b32 %r1;\nld.shared.u32 %r1, [z];\nret;\n}\n";
  EXPECT_THAT(optimize(two_phases(256) + other, always()).text, HasSubstr(other));
}

}  // namespace
}  // namespace warploom::reuse
