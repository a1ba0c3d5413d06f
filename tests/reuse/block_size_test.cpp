// What is known of block sizes decides, and only that.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reuse/analysed_kernel.hpp"
#include "warploom/core/error.hpp"
#include "warploom/ptx/module.hpp"
#include "warploom/reuse/check.hpp"
#include "warploom/reuse/launchability.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string write_then_read(std::string_view array) {
  return "st.shared.u32 [" + std::string(array) + "], %t;\nbar.sync 0;\nld.shared.u32 %r1, [" +
         std::string(array) + "];\nbar.sync 0;\n";
}
/// Two arrays of 8,000 bytes, one after the other: on sm_80 10 blocks, or 20 if threads allow.
std::string kernel(std::string_view directives = "") {
  std::string text = kernel_around("\t.shared .align 4 .b8 a[8000];\n\t.shared .align 4 .b8 b[8000];\n" +
                                       write_then_read("a") + write_then_read("b"),
                                   {});
  const std::size_t body = text.find("\n{", text.find(".entry"));
  return text.insert(body, "\n" + std::string(directives));
}
Options plain() {
  Options o;
  o.assemble = false;
  return o;
}
KernelReport report(const std::string& text, const Options& options) {
  return optimize(text, options).report.kernels.at(0);
}

TEST(BlockSize, OfAKernelThatDoesNotSayItNothingIsRewritten) {
  const Result r = optimize(kernel(), plain());
  const KernelReport& k = r.report.kernels.at(0);
  EXPECT_EQ(r.text, kernel());
  EXPECT_EQ(k.verdict, Verdict::unchanged);
  EXPECT_THAT(k.reason, HasSubstr("block size is not known"));
  EXPECT_THAT(k.reason, HasSubstr("--block"));
  EXPECT_TRUE(k.occupancy.empty()) << "how many blocks are resident nobody knows";
}

TEST(BlockSize, WhatWouldBeWonIsSaidForUsualSizes) {
  const KernelReport k = report(kernel(), plain());
  ASSERT_EQ(k.residency.size(), 5u);
  EXPECT_EQ(k.residency[0].threads, 64u);
  EXPECT_EQ(k.residency[0].before.blocks,
            9u);  // floor(164 KB / (16,000 bytes and 1 KB for the system, in units of 128))
  EXPECT_EQ(k.residency[0].after.blocks, 18u);
  EXPECT_EQ(k.residency[4].threads, 1024u);
  EXPECT_EQ(k.residency[4].before.blocks, 2u);
  EXPECT_EQ(k.residency[4].after.blocks, 2u) << "2,048 threads a multiprocessor";
  EXPECT_THAT(k.reason, HasSubstr("9 -> 18 blocks of 64 threads"));
  EXPECT_THAT(k.reason, Not(HasSubstr("1024"))) << "nothing is won there";
}

TEST(BlockSize, AKernelThatWouldNotLaunchIsRewrittenWhateverItsBlocks) {
  std::string text = kernel();
  for (const char* array : {"a[8000]", "b[8000]"}) text.replace(text.find(array) + 2, 4, "40000");
  const KernelReport k = report(text, plain());
  EXPECT_EQ(k.verdict, Verdict::rewritten) << k.reason;
  EXPECT_THAT(k.reason, HasSubstr("launches"));
}

TEST(BlockSize, TheOneGivenDecides) {
  Options o = plain();
  o.block = {{128, 1, 1}};
  EXPECT_EQ(report(kernel(), o).verdict, Verdict::rewritten);
  o.block = {{512, 1, 1}};
  EXPECT_EQ(report(kernel(), o).verdict, Verdict::unchanged)
      << "four blocks of 512 threads fill the multiprocessor";
}

TEST(BlockSize, TheBoundDecidesForAllSmallerBlocks) {
  const KernelReport k = report(kernel(".maxntid 128, 1, 1"), plain());
  EXPECT_EQ(k.verdict, Verdict::rewritten);
  EXPECT_EQ(k.threads_from, Origin::maximal_threads);
  EXPECT_EQ(report(kernel(".maxntid 1024, 1, 1"), plain()).verdict, Verdict::unchanged);
}

TEST(BlockSize, RecordedLaunchesDecide) {
  Options o = plain();
  o.launches = {{"k", {512, 1, 1}, 0}, {"other", {64, 1, 1}, 0}};
  EXPECT_EQ(report(kernel(), o).verdict, Verdict::unchanged);
  o.launches.push_back({"k", {16, 8, 1}, 0});
  const KernelReport k = report(kernel(), o);
  EXPECT_EQ(k.verdict, Verdict::rewritten) << "one size gains, the other loses nothing";
  EXPECT_EQ(k.threads_from, Origin::recorded);
  EXPECT_EQ(k.residency.size(), 2u);
  EXPECT_EQ(k.threads, 128u) << "the occupancy shown is of the size that gains";
}

TEST(BlockSize, RecordedDynamicBytesCount) {
  Options o = plain();
  o.launches = {{"k", {128, 1, 1}, 100'000}};
  EXPECT_EQ(report(kernel(), o).verdict, Verdict::unchanged) << "one block is resident either way";
}

TEST(BlockSize, ARecordedLaunchProvesNothing) {
  Options o = plain();
  o.launches = {{"k", {128, 1, 1}, 0}};
  const Result r = optimize(kernel(), o);
  EXPECT_FALSE(r.report.kernels.at(0).block);
  EXPECT_THAT(r.text, Not(HasSubstr(".reqntid")));
}

/// Two arrays that only the number of threads shows to be written whole in each turn of a loop.
std::string covered_in_a_loop() {
  std::string body =
      "\t.shared .align 4 .b8 a[8192];\n\t.shared .align 4 .b8 b[8192];\n"
      "mov.u32 %r2, 0;\nshl.b32 %r4, %t, 5;\nmov.u32 %r5, a;\nadd.s32 %r5, %r5, %r4;\n"
      "mov.u32 %r6, b;\nadd.s32 %r6, %r6, %r4;\nTURN:\n";
  for (const auto& [address, array] : {std::pair{"%r5", "a"}, std::pair{"%r6", "b"}}) {
    for (int k = 0; k < 32; k += 4) body += fmt::format("st.shared.u32 [{}+{}], %r2;\n", address, k);
    body += fmt::format("bar.sync 0;\nld.shared.u32 %r1, [{}+4096];\nbar.sync 0;\n", array);
  }
  body += "add.s32 %r2, %r2, 1;\nsetp.lt.s32 %p1, %r2, 3;\n@%p1 bra TURN;\n";
  return kernel_around(body);
}

TEST(BlockSize, AProofThatNeedsTheRecordedOneBindsTheKernelToIt) {
  const std::string text = covered_in_a_loop();
  Options o = plain();
  o.strict = true;  // without the other proof, which needs no block size
  o.when = When::always;
  EXPECT_EQ(report(text, o).verdict, Verdict::unchanged) << "nobody knows that 256 threads write all of it";
  o.launches = {{"k", {256, 1, 1}, 0}};
  const Result r = optimize(text, o);
  const KernelReport& k = r.report.kernels.at(0);
  ASSERT_EQ(k.verdict, Verdict::rewritten) << k.reason;
  EXPECT_THAT(r.text, HasSubstr(".reqntid 256, 1, 1"));
  ASSERT_FALSE(k.assumptions.empty());
  EXPECT_THAT(k.assumptions.back().text, HasSubstr("all recorded launches have it; .reqntid was written"));
  CheckOptions checked;
  checked.strict = true;
  EXPECT_TRUE(check(text, r.text, {}, checked).ok);
  // Without those words it is refused: another launch would break it.
  std::string unbound = r.text;
  unbound.erase(unbound.find(".reqntid 256, 1, 1"), 18);
  EXPECT_FALSE(check(text, unbound, {}, checked).ok);
  o.launches.push_back({"k", {128, 1, 1}, 0});
  EXPECT_EQ(report(text, o).verdict, Verdict::unchanged) << "two sizes prove nothing";
}

TEST(BlockSize, OneThatARecordedLaunchContradictsIsNotUsedInProofs) {
  Options o = plain();
  o.block = {{128, 1, 1}};
  o.launches = {{"k", {64, 1, 1}, 0}};
  EXPECT_FALSE(report(kernel(), o).block);
  o.launches = {{"k", {128, 1, 1}, 0}};
  EXPECT_EQ(report(kernel(), o).block, o.block);
}

TEST(BlockSize, ImpossibleLaunchesAreRefused) {
  Options o = plain();
  o.launches = {{"k", {2048, 1, 1}, 0}};
  EXPECT_THROW(optimize(kernel(), o), BadInput);
  o.launches = {{"k", {0, 1, 1}, 0}};
  EXPECT_THROW(optimize(kernel(), o), BadInput);
}

TEST(SharedBytes, ArraysOfFunctionsThatAreCalledCountAfterTooAndAsPtxasCountsThem) {
  std::string text = kernel(".maxntid 128, 1, 1");
  text.insert(text.find(".visible .entry"), R"(.func callee(.param .b32 value)
{
	.shared .align 16 .b8 own[24576];
	.reg .b32 %v;
	ld.param.b32 %v, [value];
	st.shared.u32 [own], %v;
	ret;
}
)");
  text.insert(text.find("bar.sync 0;"),
              "{\n.param .b32 value;\nst.param.b32 [value], %r1;\ncall.uni callee, (value);\n}\n");
  Options o = plain();
  o.when = When::always;
  const Result r = optimize(text, o);
  const KernelReport& k = r.report.kernels.at(0);
  ASSERT_EQ(k.verdict, Verdict::rewritten) << k.reason;
  const ptx::Module after = ptx::parse(r.text, "after");
  EXPECT_EQ(k.bytes_before, 16000u + 24576u);
  EXPECT_EQ(k.bytes_after, 8000u + 24576u);
  EXPECT_EQ(k.bytes_after, shared_declared(after, *after.find_function("k")).bytes);
}

TEST(SharedBytes, WhereDynamicMemoryCannotKeepItsAlignmentTheKernelStays) {
  // c, a and b end at 128. With a and b in one pool c begins at a multiple of 128, and so dynamic memory
  // behind it at 16 more.
  std::string text = kernel_around(
      "\t.shared .align 128 .b8 c[16];\n\t.shared .align 4 .b8 a[56];\n\t.shared .align 4 .b8 b[56];\n"
      "st.shared.u32 [c], %t;\nst.shared.u32 [dynamic], %t;\n" +
          write_then_read("a") + write_then_read("b") + "ld.shared.u32 %r1, [c];\n",
      {});
  text.insert(text.find(".visible .entry"), ".extern .shared .align 16 .b8 dynamic[];\n");
  Options o = plain();
  o.when = When::always;
  const KernelReport k = report(text, o);
  EXPECT_EQ(k.bytes_before, 128u);
  EXPECT_EQ(k.verdict, Verdict::unchanged) << k.reason;
}

}  // namespace
}  // namespace warploom::reuse
