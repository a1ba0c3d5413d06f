#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "reuse/check_case.hpp"

namespace warploom::reuse {
namespace {

using namespace check_case;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(CheckRenaming, AcceptsAnIdenticalModule) {
  const Module m{.offsets = {}};
  const std::string text = m.text(kStraight, false);
  const CheckResult result = check(text, text);
  EXPECT_THAT(result, Accepted());
  EXPECT_THAT(result.certificate, IsEmpty());
}

TEST(CheckRenaming, AcceptsOtherCommentsAndWhiteSpace) {
  const Module m{.offsets = {}};
  const std::string text = m.text(kStraight, false);
  EXPECT_THAT(check(text, std::regex_replace(text, std::regex("\n"), "  // x\n\t")), Accepted());
}

TEST(CheckRenaming, RejectsMisalignedOffset) {
  EXPECT_THAT(
      run(kStraight, {.pool = ".shared .align 16 .b8 pool[2048];", .offsets = {{"arrA", 0}, {"arrB", 8}}}),
      RejectedFor("not aligned"));
}

TEST(CheckRenaming, RejectsPoolOfTooSmallAlignment) {
  EXPECT_THAT(run(kStraight, {.pool = ".shared .align 4 .b8 pool[1024];"}),
              RejectedFor("pool 'pool' is aligned to 4"));
}

TEST(CheckRenaming, RejectsObjectBeyondThePool) {
  EXPECT_THAT(run(kStraight, {.offsets = {{"arrA", 0}, {"arrB", 16}}}), RejectedFor("ends at byte 1040"));
}

TEST(CheckRenaming, RejectsOneObjectAtTwoOffsets) {
  const Module m;
  std::string out = with_names(m.text(kStraight + "ld.shared.f32 %f5, [arrA+4];\n", true), m);
  out.replace(out.find("[pool+4]"), 8, "[pool+20]");
  EXPECT_THAT(check(m.text(kStraight + "ld.shared.f32 %f5, [arrA+4];\n", false), out),
              RejectedFor("which others find moved by 0, not 16"));
}

TEST(CheckRenaming, RejectsRenamedKeptObject) {
  const Module m;
  std::string out = with_names(m.text(kStraight, true), m);
  out.replace(out.find("mov.u32 %r12, arrC"), 18, "mov.u32 %r12, pool");
  EXPECT_THAT(check(m.text(kStraight, false), out), RejectedFor("expected 'arrC'"));
}

TEST(CheckRenaming, RejectsChangedInstruction) {
  const Module m;
  std::string out = with_names(m.text(kStraight, true), m);
  out.replace(out.find("[%r20+4]"), 8, "[%r20+8]");
  EXPECT_THAT(check(m.text(kStraight, false), out), RejectedFor("which others find moved by 0, not 4"));
}

TEST(CheckRenaming, RejectsRemovedBarrier) {
  const Module m;
  std::string out = with_names(m.text(kStraight, true), m);
  out.erase(out.rfind("bar.sync 0;"), 11);
  EXPECT_THAT(check(m.text(kStraight, false), out), Not(Accepted()));
}

TEST(CheckRenaming, RejectsAddedInstruction) {
  const Module m;
  std::string out = with_names(m.text(kStraight, true), m);
  out.insert(out.find("ret;"), "mov.u32 %r5, 0;\n");
  EXPECT_THAT(check(m.text(kStraight, false), out), RejectedFor("expected 'ret'"));
}

TEST(CheckRenaming, RejectsAddedGuardedBarrier) {
  const Module m;
  std::string out = with_names(m.text(kStraight, true), m);
  out.insert(out.find("ret;"), "@%p1 bar.sync 0;\n");
  EXPECT_THAT(check(m.text(kStraight, false), out), RejectedFor("expected 'ret'"));
}

TEST(CheckRenaming, RejectsBarrierAddedWithoutMove) {
  const Module m{.offsets = {}};
  EXPECT_THAT(check(m.text(kStraight, false), m.text(kStraight, true).replace(0, 0, "")), Not(Accepted()));
}

TEST(CheckRenaming, AcceptsAnAddressOfNameAndNumber) {
  EXPECT_THAT(run("st.shared.f32 [arrA+8], %f1;\nbar.sync 0;\nld.shared.f32 %f2, [arrA+8];\nADD\n" + kUseB),
              Accepted());
}

TEST(CheckRenaming, RejectsAccessBeyondItsObject) {
  EXPECT_THAT(run("st.shared.f32 [arrA+1024], %f1;\nADD\n" + kUseB), RejectedFor("runs over 'arrA'"));
}

TEST(CheckRenaming, AcceptsPoolAtModuleScope) {
  EXPECT_THAT(run(kStraight, {.pool_at_module_scope = true}), Accepted());
}

TEST(CheckRenaming, AcceptsDynamicPool) {
  EXPECT_THAT(run(kStraight, {.pool = ".extern .shared .align 16 .b8 pool[];", .pool_at_module_scope = true}),
              Accepted());
}

TEST(CheckRenaming, RejectsDynamicPoolOverDynamicArray) {
  EXPECT_THAT(
      run(kStraight + "st.shared.f32 [dyn], %f1;\n", {.scope = ".extern .shared .align 4 .b8 dyn[];\n",
                                                      .pool = ".extern .shared .align 16 .b8 pool[];",
                                                      .pool_at_module_scope = true}),
      RejectedFor("would lie over dynamic array 'dyn'"));
}

/// Two kernels that use the module's arrays v and w; `first` and `second` are what each names in the output.
CheckResult check_two_kernels(const std::string& first, const std::string& second,
                              const std::string& more = "") {
  const std::string head =
      ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 4 .b8 v[64];\n"
      ".shared .align 4 .b8 w[64];\n";
  const auto kernel = [](const std::string& name, const std::string& pool, const std::string& v,
                         const std::string& again, const std::string& w) {
    return ".visible .entry " + name + "()\n{\n" + pool + ".reg .f32 %f<3>;\nst.shared.f32 [" + v +
           "], %f1;\nbar.sync 0;\nld.shared.f32 %f1, [" + again + "];\nbar.sync 0;\nst.shared.f32 [" + w +
           "], %f1;\nret;\n}\n";
  };
  const std::string pool = ".shared .align 16 .b8 pool[64];\n";
  return check(head + kernel("k", "", "v", "v", "w") + kernel("l", "", "w", "w", "v") + more,
               head + kernel("k", first == "v" ? "" : pool, first, second, first == "v" ? "w" : "pool") +
                   kernel("l", "", "w", "w", "v") + more);
}

TEST(CheckRenaming, AcceptsAnArrayThatMovedInOneOfTwoKernels) {
  EXPECT_THAT(check_two_kernels("v", "v"), Accepted());
  EXPECT_THAT(check_two_kernels("pool", "pool"), Accepted());
}

TEST(CheckRenaming, RejectsAnArrayThatMovedInOnePlaceOfAKernelOnly) {
  EXPECT_THAT(check_two_kernels("pool", "v"), RejectedFor("moved in one place and not in another"));
}

TEST(CheckRenaming, RejectsAMovedArrayThatAFunctionUses) {
  EXPECT_THAT(
      check_two_kernels("pool", "pool", ".func f()\n{\n.reg .f32 %f<3>;\nst.shared.f32 [v], %f1;\nret;\n}\n"),
      RejectedFor("function 'f' uses it"));
}

TEST(CheckRenaming, RejectsVisibleObject) {
  const std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n";
  const std::string body = ".visible .entry k()\n{\n.reg .f32 %f<3>;\n st.shared.f32 [v], %f1;\n ret;\n}\n";
  EXPECT_THAT(check(head + ".visible .shared .align 4 .b8 v[64];\n" + body,
                    head + ".shared .align 16 .b8 pool[64];\n" +
                        std::regex_replace(body, std::regex(R"(\[v\])"), "[pool]")),
              RejectedFor("visible outside"));
}

TEST(CheckRenaming, RejectsDebugModule) {
  EXPECT_THAT(run(kStraight, {.target = "sm_90, debug"}), RejectedFor("-G"));
}

TEST(CheckRenaming, ComparesWithGivenEntries) {
  const Module m;
  const std::string in = m.text(kStraight, false), out = with_names(m.text(kStraight, true), m);
  EXPECT_THAT(check(in, out, {{"k", "arrA", "pool", 0}, {"k", "arrB", "pool", 0}}), Accepted());
  EXPECT_THAT(check(in, out, {{"k", "arrA", "pool", 0}, {"k", "arrB", "pool", 16}}),
              RejectedFor("said to be at offset 16"));
  EXPECT_THAT(check(in, out, {{"k", "arrA", "pool", 0}}), RejectedFor("no pool entry"));
}

TEST(CheckRenaming, AcceptsRequiredBlockSizeInPlaceOfMaximal) {
  const Module m{.directives = ".maxntid 256, 1, 1", .output_directives = ".reqntid 16, 16, 1"};
  EXPECT_THAT(run(kStraight, m, {.block = {16, 16}}), Accepted());
  EXPECT_THAT(run(kStraight, m, {.block = {32, 8}}), RejectedFor("not the block size promised"));
  EXPECT_THAT(run(kStraight, {.directives = ".maxntid 128, 1, 1", .output_directives = ".reqntid 16, 16, 1"}),
              RejectedFor("in place of .maxntid"));
}

TEST(CheckRenaming, RejectsRequiredBlockSizeWithoutAMove) {
  const Module m{
      .directives = ".maxntid 256, 1, 1", .output_directives = ".reqntid 256, 1, 1", .offsets = {}};
  EXPECT_THAT(check(m.text(kUseA, false), m.text(kUseA, true)), RejectedFor("no object was moved"));
}

}  // namespace
}  // namespace warploom::reuse
