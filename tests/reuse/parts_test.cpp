// Parts of one array with lives of their own: of the dynamic array, and of static ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "warploom/reuse/check.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Three arrays of 256 words at 0, 1,024 and 2,048 of `array`, one after the other written and read.
std::string three(const std::string& array = ".extern .shared .align 16 .b8 s[];",
                  const std::string& second = "%r3+1024", const std::string& before_end = "") {
  return ".version 8.0\n.target sm_80\n.address_size 64\n" + array +
         "\n.visible .entry k(.param .u64 out, .param .u32 n)\n.maxntid 256, 1, 1\n{\n"
         ".reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %d<9>;\n"
         "ld.param.u64 %d1, [out];\nld.param.u32 %r9, [n];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n"
         "mov.u32 %r10, s;\nadd.s32 %r3, %r10, %r2;\n"
         "st.shared.u32 [%r3], %r1;\nbar.sync 0;\nld.shared.u32 %r4, [%r3];\n"
         "st.shared.u32 [" +
         second + "], %r4;\nbar.sync 0;\nld.shared.u32 %r5, [" + second +
         "];\n"
         "st.shared.u32 [%r3+2048], %r5;\nbar.sync 0;\nld.shared.u32 %r6, [%r3+2048];\n" +
         before_end + "st.global.u32 [%d1], %r6;\nret;\n}\n";
}

KernelReport optimized(const std::string& text, std::string* result = nullptr) {
  Options options;
  options.when = When::always;
  options.assemble = false;
  Result r = optimize(text, options);
  if (result != nullptr) *result = r.text;
  return std::move(r.report.kernels.at(0));
}

TEST(Parts, OfTheDynamicArrayAreOverlaid) {
  std::string text;
  const KernelReport report = optimized(three(), &text);
  EXPECT_EQ(report.verdict, Verdict::rewritten) << report.reason;
  EXPECT_EQ(report.dynamic_before, 3072u);
  EXPECT_EQ(report.dynamic_after, 1024u);
  EXPECT_EQ(report.objects.size(), 3u);
  EXPECT_EQ(report.objects[1].name, "s[1,024..2,048)");
  EXPECT_THAT(text, Not(HasSubstr("+1024]")));
  EXPECT_THAT(text, Not(HasSubstr("+2048]")));
  EXPECT_THAT(text, HasSubstr(".extern .shared .align 16 .b8 s[];"));
}

TEST(Parts, TheReportSaysWhatHasNoBounds) {
  const auto reason = [](const std::string& access) {
    return optimized(three(".extern .shared .align 16 .b8 s[];", "%r3+1024", access)).reason;
  };
  EXPECT_THAT(reason("mad.lo.u32 %r20, %r9, 4, %r3;\nld.shared.u32 %r6, [%r20];\n"),
              HasSubstr("to a part of it: nothing bounds parameter 2 of the kernel"));
  EXPECT_THAT(
      reason("ld.global.u32 %r21, [%d1];\nmad.lo.u32 %r20, %r21, 4, %r3;\nld.shared.u32 %r6, [%r20];\n"),
      HasSubstr("nothing bounds what is loaded in PTX line 26"));
  EXPECT_THAT(reason("mov.u32 %r21, 0;\nL:\nmad.lo.u32 %r20, %r21, 4, %r3;\nld.shared.u32 %r6, [%r20];\n"
                     "add.u32 %r21, %r21, 1;\nsetp.lt.u32 %p1, %r21, %r9;\n@%p1 bra L;\n"),
              HasSubstr("nothing bounds a variable of the loop that begins in PTX line 28"));
  EXPECT_THAT(
      reason("mul.lo.u32 %r21, %r1, %r9;\nmad.lo.u32 %r20, %r21, 4, %r3;\nld.shared.u32 %r6, [%r20];\n"),
      HasSubstr("nothing bounds the result of 'mul.lo.u32' in PTX line 26"));
}

TEST(Parts, TheLaunchHeaderSaysWhatToPass) {
  Options options;
  options.when = When::always;
  options.assemble = false;
  const std::string header = launch_header(optimize(three(), options).report);
  EXPECT_THAT(header, HasSubstr("constexpr std::size_t k_smem_bytes() { return 1024; }"));
  options.when = When::fits;
  EXPECT_THAT(launch_header(optimize(three(), options).report), Not(HasSubstr("k_smem_bytes")));
}

TEST(Parts, OfAStaticArrayGoToThePool) {
  std::string text;
  const KernelReport report = optimized(three(".shared .align 4 .b8 s[4096];"), &text);
  EXPECT_EQ(report.verdict, Verdict::rewritten) << report.reason;
  EXPECT_EQ(report.bytes_before, 4096u);
  EXPECT_EQ(report.bytes_after, 1024u);
  EXPECT_EQ(report.dynamic_before, 0u);
  EXPECT_THAT(text, HasSubstr("[1024];"));
}

TEST(Parts, AreLeftWhereAnAccessMayReachTheNeighbour) {
  // One word further on, by an index that is not known, through a register whose address is stored.
  EXPECT_EQ(optimized(three(".extern .shared .align 16 .b8 s[];", "%r3+1020")).dynamic_after, 2044u);
  const std::string unknown = "mad.lo.u32 %r20, %r9, 4, %r3;\nld.shared.u32 %r6, [%r20];\n";
  const std::string escapes = "st.global.u32 [%d1+8], %r3;\n";
  const std::string compared = "setp.eq.u32 %p1, %r3, %r9;\n@%p1 add.u32 %r6, %r6, 1;\n";
  for (const std::string& more : {unknown, escapes}) {
    const KernelReport report = optimized(three(".extern .shared .align 16 .b8 s[];", "%r3+1024", more));
    EXPECT_EQ(report.verdict, Verdict::unchanged) << more;
    EXPECT_EQ(report.dynamic_before, 0u) << more;
    if (more == unknown) {
      EXPECT_THAT(report.reason, HasSubstr("'s', PTX line 27: this access is not proved"));
    }
  }
  // No address of a part changes its value, so that it may be compared.
  EXPECT_EQ(optimized(three(".extern .shared .align 16 .b8 s[];", "%r3+1024", compared)).verdict,
            Verdict::rewritten);
  // Two dynamic arrays are one memory.
  const std::string two = ".extern .shared .align 16 .b8 s[];\n.extern .shared .align 16 .b8 t[];";
  EXPECT_EQ(optimized(three(two, "%r3+1024", "ld.shared.u32 %r6, [t];\n")).verdict, Verdict::unchanged);
}

TEST(WholeProgram, VisibleArraysShareLikeLocalOnes) {
  // As numba-cuda 0.30 writes cuda.shared.array: of module scope and visible.
  const std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .shared .align 4 .b8 _cudapy_smem_1[1024];\n.visible .shared .align 4 .b8 _cudapy_smem_2[1024];\n"
      ".weak .shared .align 4 .b8 w[64];\n"
      ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\nld.param.u64 %d1, [out];\n"
      "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, _cudapy_smem_1;\nadd.s32 %r3, %r3, %r2;\n"
      "mov.u32 %r4, _cudapy_smem_2;\nadd.s32 %r4, %r4, %r2;\nst.shared.u32 [%r3], %r1;\nbar.sync 0;\n"
      "ld.shared.u32 %r5, [%r3];\nbar.sync 0;\nst.shared.u32 [%r4], %r5;\nbar.sync 0;\n"
      "ld.shared.u32 %r6, [%r4];\nst.global.u32 [%d1], %r6;\nst.shared.u32 [w], %r6;\nret;\n}\n";
  Options options;
  options.when = When::always;
  options.assemble = false;
  const Result alone = optimize(text, options);
  EXPECT_EQ(alone.report.kernels.at(0).verdict, Verdict::unchanged);
  EXPECT_THAT(alone.report.kernels.at(0).reason, HasSubstr("'_cudapy_smem_1', PTX line 4: visible"));
  EXPECT_THAT(alone.report.kernels.at(0).reason, HasSubstr("--whole-program"));
  options.whole_program = true;
  const Result whole = optimize(text, options);
  EXPECT_EQ(whole.report.kernels.at(0).verdict, Verdict::rewritten) << whole.report.kernels.at(0).reason;
  EXPECT_EQ(whole.report.kernels.at(0).bytes_before, 2112u);
  EXPECT_EQ(whole.report.kernels.at(0).bytes_after, 1088u);
  EXPECT_THAT(whole.text, HasSubstr(".weak .shared .align 4 .b8 w[64];"));
  // The check has to be told, too.
  EXPECT_FALSE(check(text, whole.text).ok);
  CheckOptions with;
  with.whole_program = true;
  EXPECT_TRUE(check(text, whole.text, {}, with).ok);
}

TEST(Parts, AreAPassThatCanBeDisabled) {
  Options options;
  options.when = When::always;
  options.assemble = false;
  options.disabled = {"parts"};
  EXPECT_EQ(optimize(three(), options).report.kernels.at(0).verdict, Verdict::unchanged);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PartsCheck, AcceptsWhatThePassesMake) {
  std::string text;
  optimized(three(), &text);
  const CheckResult result = check(three(), text);
  EXPECT_TRUE(result.ok) << (result.problems.empty() ? "" : result.problems[0]);
  EXPECT_THAT(result.certificate, testing::Contains(HasSubstr("s[0..1024) / s[1024..2048)")));
}

TEST(PartsCheck, FindsEachWrongShift) {
  const std::string input = three();
  // By hand: the second array over the first, everything else in place.
  const std::string second = "[%r3+1024]";
  std::string good = replaced(replaced(input, second, "[%r3]"), second, "[%r3]");
  EXPECT_FALSE(check(input, good).ok) << "no barrier lies between load of the first and store of the second";
  good = replaced(good, "st.shared.u32 [%r3], %r4", "bar.sync 0;\nst.shared.u32 [%r3], %r4");
  EXPECT_TRUE(check(input, good).ok);
  const auto refused = [&](const std::string& output, const std::string& why) {
    const CheckResult result = check(input, output);
    EXPECT_FALSE(result.ok) << why;
    EXPECT_THAT(result.problems, testing::Contains(HasSubstr(why)));
  };
  // Only the store moved.
  refused(replaced(input, second, "[%r3]"), "which others find moved");
  // Half over the first, half over its own place: the first is dead by then, so that is right, too.
  EXPECT_TRUE(
      check(input, replaced(replaced(good, "[%r3], %r4", "[%r3+512], %r4"), "%r5, [%r3]", "%r5, [%r3+512]"))
          .ok);
  refused(replaced(replaced(good, "[%r3], %r4", "[%r3+1028], %r4"), "%r5, [%r3]", "%r5, [%r3+1028]"),
          "no multiple of 16");
  refused(replaced(replaced(good, "[%r3], %r4", "[%r3+-16], %r4"), "%r5, [%r3]", "%r5, [%r3+-16]"),
          "would lie at bytes -16");
  // Over the third array, whose store would come before the second's last load.
  refused(replaced(input, "[%d1], %r6", "[%d1+4], %r6"), "no access of one shared array");
  refused(replaced(good, "[n]", "[n+0x4]"), "no access of one shared array");
}

}  // namespace
}  // namespace warploom::reuse
