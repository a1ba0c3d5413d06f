// Guards on quotients and remainders of an index: what they prove of the index itself, by a table over its
// values; kernels that look alike and prove nothing; and that the check finds both by its own means.
#include "reuse/analysis/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "reuse/analysed_kernel.hpp"
#include "warploom/reuse/check.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {
namespace {

/// A 16 x 16 image, one pixel a thread, in words 0 to 255 of the dynamic array; of each pixel that has them,
/// its lower right neighbour goes to words 256 to 511. `index` makes %r5 of the thread, `quotients` makes
/// %r11 and %r12 of %r5, `guard` makes %p3 of them.
struct Image {
  std::string index = "mov.u32 %r5, %r1;";
  std::string quotients = "and.b32 %r11, %r5, 15; shr.u32 %r12, %r5, 4;";
  std::string guard = "setp.lt.u32 %p1, %r11, 15; setp.lt.u32 %p2, %r12, 15; and.pred %p3, %p1, %p2;";
  std::string load = "@%p3 ld.shared.u32 %r4, [%r3+68];";

  std::string text() const {
    return ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 s[];\n"
           ".visible .entry k(.param .u64 out, .param .u32 n)\n.maxntid 256, 1, 1\n{\n"
           ".reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<30>;\n.reg .b64 %d<9>;\n"
           "ld.param.u64 %d1, [out];\nld.param.u32 %r9, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r10, s;\n"
           "mov.u32 %r4, 0;\nshl.b32 %r6, %r1, 2;\nadd.s32 %r7, %r10, %r6;\nst.shared.u32 [%r7], %r1;\n"
           "bar.sync 0;\n" +
           index + "\nshl.b32 %r2, %r5, 2;\nadd.s32 %r3, %r10, %r2;\n" + quotients + "\n" + guard + "\n" +
           load +
           "\nbar.sync 0;\nst.shared.u32 [%r7+1024], %r4;\nbar.sync 0;\nld.shared.u32 %r8, [%r7+1024];\n"
           "st.global.u32 [%d1], %r8;\nret;\n}\n";
  }
};

Result always_optimized(const std::string& text) {
  Options options;
  options.when = When::always;
  options.assemble = false;
  return optimize(text, options);
}

/// By hand, without the passes: the second array over the first.
std::string overlaid(std::string text) {
  for (std::size_t at = text.find("+1024]"); at != std::string::npos; at = text.find("+1024]"))
    text.erase(at, 5);
  return text;
}

void expect_divided(const Image& image, const std::string& why) {
  const Result result = always_optimized(image.text());
  const KernelReport& report = result.report.kernels.at(0);
  EXPECT_EQ(report.verdict, Verdict::rewritten) << why << ": " << report.reason;
  EXPECT_EQ(report.dynamic_before, 2048u) << why;
  EXPECT_EQ(report.dynamic_after, 1024u) << why;
  const CheckResult checked = check(image.text(), overlaid(image.text()));
  EXPECT_TRUE(checked.ok) << why << ": " << (checked.ok ? "" : checked.problems[0]);
}

void expect_whole(const Image& image, const std::string& why) {
  const Result result = always_optimized(image.text());
  EXPECT_EQ(result.report.kernels.at(0).verdict, Verdict::unchanged) << why;
  EXPECT_EQ(result.text, image.text()) << why;
  EXPECT_FALSE(check(image.text(), overlaid(image.text())).ok) << why;
}

TEST(Table, GuardsOnQuotientAndRemainderKeepAnAccessInItsPart) {
  expect_divided({}, "both neighbours");
  expect_divided({.load = "@%p3 ld.shared.u32 %r4, [%r3+64];"}, "the lower one");
  expect_divided({.quotients = "rem.u32 %r11, %r5, 16; div.u32 %r12, %r5, 16;"}, "by division");
  // C's division of a signed index, as nvcc writes it.
  expect_divided({.quotients = "shr.s32 %r13, %r5, 31; shr.u32 %r14, %r13, 28; add.s32 %r15, %r5, %r14;"
                               "and.b32 %r16, %r15, -16; sub.s32 %r11, %r5, %r16; shr.s32 %r12, %r15, 4;",
                  .guard = "setp.gt.s32 %p1, %r11, 14; setp.gt.s32 %p2, %r12, 14; or.pred %p4, %p1, %p2;"
                           "not.pred %p3, %p4;"},
                 "signed");
  // A third condition that nothing is known of.
  expect_divided({.guard = "setp.lt.u32 %p1, %r11, 15; setp.lt.u32 %p2, %r12, 15; setp.lt.u32 %p5, %r9, 7;"
                           "and.pred %p4, %p1, %p2; and.pred %p3, %p4, %p5;"},
                 "and one more");
  // By branches, from a loop over rows whose guard is on the row and column that it makes of its counter.
  expect_divided({.guard = "setp.gt.u32 %p1, %r11, 14; @%p1 bra E; setp.gt.u32 %p2, %r12, 14; @%p2 bra E;",
                  .load = "ld.shared.u32 %r4, [%r3+68];\nE:"},
                 "by branches");
}

TEST(Table, AnAccessThatNoThreadReachesReachesNoNeighbour) {
  // An index plus its remainder is never odd and 256 above.
  expect_divided({.guard = "setp.gt.u32 %p3, %r12, 15;", .load = "@%p3 ld.shared.u32 %r4, [%r3+1000];"},
                 "a quotient beyond the last");
}

TEST(Table, OfFewWordsLessNothingIsProved) {
  expect_whole({.load = "@%p3 ld.shared.u32 %r4, [%r3+140];"}, "one line and one word too far");
  expect_whole({.guard = "setp.lt.u32 %p1, %r11, 15; setp.lt.u32 %p2, %r12, 15; or.pred %p3, %p1, %p2;"},
               "either guard");
  expect_whole({.guard = "setp.lt.u32 %p1, %r11, 15; setp.lt.u32 %p2, %r12, 16; and.pred %p3, %p1, %p2;"},
               "the last row");
  expect_whole({.quotients = "and.b32 %r11, %r5, 15; shr.u32 %r12, %r5, 5;"}, "rows of 32");
  expect_whole({.quotients = "and.b32 %r11, %r9, 15; shr.u32 %r12, %r9, 4;"}, "quotients of another number");
  expect_whole({.guard = "setp.lt.u32 %p1, %r11, 15; setp.lt.u32 %p2, %r12, 15; and.pred %p3, %p1, %p2;",
                .load = "@!%p3 ld.shared.u32 %r4, [%r3+68];"},
               "the guard negated");
  expect_whole({.guard = "setp.lt.u32 %p3, %r11, 15; @%p3 setp.lt.u32 %p3, %r12, 15;"},
               "a guard that is set in part");
}

TEST(Table, TheIndexHasToBeTheOneThatIsAccessed) {
  // The quotients are of this thread's index, the access is by the next one's.
  expect_whole({.load = "add.s32 %r5, %r5, 1; shl.b32 %r2, %r5, 2; add.s32 %r3, %r10, %r2;"
                        "@%p3 ld.shared.u32 %r4, [%r3+68];"},
               "another index");
  expect_whole({.index = "add.s32 %r5, %r1, %r9;"}, "an index of any size");
  expect_whole({.index = "ld.global.u32 %r5, [%d1];"}, "an index from memory");
  // The guard is of the iteration before.
  expect_whole({.index = "mov.u32 %r5, 0; setp.eq.u32 %p3, %r9, 0;\nL:",
                .guard = "",
                .load = "@%p3 ld.shared.u32 %r4, [%r3+68];\nsetp.lt.u32 %p1, %r11, 15;"
                        "setp.lt.u32 %p2, %r12, 15; and.pred %p3, %p1, %p2; add.s32 %r5, %r5, 1;"
                        "setp.lt.u32 %p4, %r5, 256; @%p4 bra L;"},
               "the guard of another iteration");
  // And of this one.
  expect_divided({.index = "mov.u32 %r5, 0;\nL:",
                  .load = "@%p3 ld.shared.u32 %r4, [%r3+68];\nadd.s32 %r5, %r5, 1;"
                          "setp.lt.u32 %p4, %r5, 256; @%p4 bra L;"},
                 "the guard of this iteration");
}

TEST(Table, NegativeAndShortNumbersAreWhatTheirBitsSay) {
  // -8 to 247: a logical shift makes a large number of -8, and the guard fails; an arithmetic one does not.
  const std::string index = "add.s32 %r5, %r1, -8;";
  expect_divided(
      {.index = index, .guard = "setp.lt.u32 %p3, %r12, 15;", .load = "@%p3 ld.shared.u32 %r4, [%r3];"},
      "logical");
  const std::string arithmetic = "shr.s32 %r12, %r5, 4;";
  expect_divided({.index = index,
                  .quotients = arithmetic,
                  .guard = "setp.ge.s32 %p3, %r12, 0;",
                  .load = "@%p3 ld.shared.u32 %r4, [%r3+32];"},
                 "arithmetic, from 0 on");
  // 16 bits of 65,536 + i are those of i.
  expect_whole({.index = "mad.lo.u32 %r5, %r1, 257, 0;",
                .quotients = "cvt.u16.u32 %h1, %r5; shr.u16 %h2, %h1, 8; cvt.u32.u16 %r12, %h2;",
                .guard = "setp.lt.u32 %p3, %r12, 256;",
                .load = "@%p3 ld.shared.u32 %r4, [%r3];"},
               "16 bits");
}

TEST(Overruns, AnAccessThatCannotStayInItsArrayRefusesTheKernel) {
  const auto verdict = [](const std::string& access, const std::string& more = "") {
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 n)\n"
        ".maxntid 256, 1, 1\n{\n.reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %d<9>;\n"
        ".shared .align 4 .b8 s[1024];\n.shared .align 4 .b8 t[1024];\n"
        "ld.param.u32 %r9, [n];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r10, s;\n"
        "add.s32 %r3, %r10, %r2;\nmad.lo.u32 %r8, %r9, 4, %r10;\n" +
        more + access + "\nst.shared.u32 [t], %r1;\nret;\n}\n";
    return always_optimized(text).report.kernels.at(0);
  };
  const KernelReport beyond = verdict("st.shared.u32 [%r3+1024], %r1;");
  EXPECT_EQ(beyond.verdict, Verdict::refused);
  EXPECT_THAT(beyond.reason, testing::HasSubstr("at offset 1024 or more, leaves 's' of 1024 bytes"));
  EXPECT_EQ(verdict("st.shared.u32 [%r3+-1024], %r1;").verdict, Verdict::refused);
  EXPECT_EQ(verdict("st.shared.v4.u32 [%r3+1012], {%r1, %r1, %r1, %r1};").verdict, Verdict::refused);
  // Behind a branch that the first thread takes, an early return of others, and a guard that it passes.
  EXPECT_EQ(verdict("setp.lt.u32 %p1, %r1, 100;\n@!%p1 bra E;\nst.shared.u32 [%r3+1024], %r1;\nE:").verdict,
            Verdict::refused);
  EXPECT_EQ(verdict("setp.gt.s32 %p1, %r1, 31;\n@%p1 ret;\nst.shared.u32 [%r3+1024], %r1;").verdict,
            Verdict::refused);
  EXPECT_EQ(verdict("setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [%r3+1024], %r1;").verdict,
            Verdict::refused);
  EXPECT_EQ(verdict("setp.ge.u32 %p1, %r9, 5;\n@%p1 bra E;\nmov.u32 %r7, 1;\nE:\n"
                    "setp.lt.u32 %p2, %r1, 64;\n@%p2 bra F;\nbra G;\nF:\nst.shared.u32 [%r3+1024], %r1;\nG:")
                .verdict,
            Verdict::refused);
  // It stays away, or what sends it there is not known.
  EXPECT_NE(verdict("setp.gt.u32 %p1, %r1, 100;\n@!%p1 bra E;\nst.shared.u32 [%r3+1024], %r1;\nE:").verdict,
            Verdict::refused);
  EXPECT_NE(
      verdict(
          "setp.eq.u32 %p1, %r1, 0;\n@%p1 ret;\nsetp.lt.u32 %p2, %r1, 8;\n@%p2 st.shared.u32 [%r3+1024], %r1;")
          .verdict,
      Verdict::refused);
  EXPECT_NE(
      verdict(
          "setp.ge.u32 %p1, %r1, %r9;\n@%p1 ret;\nbra.uni F;\nF:\nsetp.lt.u32 %p2, %r1, 8;\n@%p2 st.shared.u32 [%r3+1024], %r1;")
          .verdict,
      Verdict::refused);
  // Some threads may stay inside, or none comes there, or the address may wrap to a byte of the array.
  EXPECT_NE(verdict("st.shared.u32 [%r3+1020], %r1;").verdict, Verdict::refused);
  EXPECT_NE(verdict("st.shared.u32 [%r3+-1020], %r1;").verdict, Verdict::refused);
  EXPECT_NE(verdict("setp.gt.u32 %p1, %r9, 255; @%p1 bra E; st.shared.u32 [%r3+1024], %r1;\nE:").verdict,
            Verdict::refused);
  EXPECT_NE(verdict("setp.gt.u32 %p1, %r9, 255; @%p1 st.shared.u32 [%r8], %r1;").verdict, Verdict::refused);
}

/// %r9 after so many links, each of which computes from the one before in two ways: paths double with each.
std::string chain(unsigned links) {
  std::string text = "\tand.b32 %r9, %t, 15;\n";
  for (unsigned k = 0; k < links; ++k) text += "\tshr.u32 %r8, %r9, 31;\n\txor.b32 %r9, %r9, %r8;\n";
  return text;
}

/// Instructions looked at to find the index of an access at 4 * %r9.
std::uint64_t visits_of(unsigned links) {
  const auto a = arrays(chain(links) +
                        "\tshl.b32 %r7, %r9, 2;\n\tmov.u32 %r6, a;\n\tadd.s32 %r7, %r6, %r7;\n"
                        "\tst.shared.u32 [%r7], %t;\n");
  ptx::AddressRanges ranges(a->kernel.cfg, a->kernel.values);
  Tables tables(a->kernel, ranges);
  const Access& access = a->kernel.use.accesses.at(0);
  tables.narrowed(access.instruction, ranges.of(access.instruction, access.address));
  return tables.visits();
}

TEST(Table, AnIndexIsLookedForInEachInstructionOnce) {
  const std::uint64_t of_10 = visits_of(10);
  EXPECT_GT(of_10, 10u);
  EXPECT_LE(of_10, 40u);
  EXPECT_LE(visits_of(20), 2 * of_10);
  EXPECT_LE(visits_of(200), 1000u);
}

TEST(Table, GuardsThatAreComputedInManyWaysTakeNoLonger) {
  Image image;
  // Identities for an index below 2^31, and of a predicate.
  image.quotients = "mov.u32 %r13, %r5;";
  for (int k = 0; k < 12; ++k) image.quotients += "shr.u32 %r14, %r13, 31; xor.b32 %r13, %r13, %r14;";
  image.quotients += "and.b32 %r11, %r13, 15; shr.u32 %r12, %r13, 4;";
  expect_divided(image, "twelve links");
  for (int k = 0; k < 100; ++k)
    image.guard += "not.pred %p4, %p3; not.pred %p3, %p4; and.pred %p3, %p3, %p3;";
  EXPECT_EQ(always_optimized(image.text()).report.kernels.size(), 1u);
  check(image.text(), overlaid(image.text()));
}

TEST(Table, ARangeThatWrapsIsNone) {
  // n below 10 as a signed number: 4 n modulo 2^32 may be any word, 100 for n = -2^30 + 100, too.
  Image image;
  image.quotients = "";
  image.index = "mov.u32 %r5, %r9;";
  image.guard = "setp.lt.s32 %p3, %r9, 10;";
  image.load = "@%p3 ld.shared.u32 %r4, [%r3];";
  expect_whole(image, "signed");
  image.guard = "setp.lt.u32 %p3, %r9, 10;";
  expect_divided(image, "unsigned");
}

}  // namespace
}  // namespace warploom::reuse
