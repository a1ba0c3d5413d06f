#include "reuse/rewrite/rewrite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reuse/analysed_kernel.hpp"

namespace warploom::reuse {
namespace {

using testing::HasSubstr;
using testing::Not;

/// a at 0 and b at 32 of a pool of 96 bytes, rewritten.
std::string rewritten(const AnalysedKernel& a, const Insertions& insertions = {}, bool dynamic = false,
                      bool promise_block = false) {
  Plan plan;
  plan.pooled = {a.object("a"), a.object("b")};
  plan.offsets = {0, 32};
  plan.pool_bytes = 96;
  plan.insertions = insertions;
  ptx::Edits edits;
  rewrite(a.kernel, plan, dynamic, promise_block, edits);
  return edits.apply(a.module.text);
}
std::unique_ptr<AnalysedKernel> stored_arrays(std::string_view body, const Surroundings& options = {}) {
  return analysed(kernel_around(
      "\t.shared .align 4 .b8 a[64];\n\t.shared .align 4 .b8 b[64];\n\t.shared .align 4 .b8 c[64];\n"
      "st.shared.u32 [a], 0;\nst.shared.u32 [b], 0;\nst.shared.u32 [c], 0;\n" +
          std::string(body),
      options));
}

TEST(Rewrite, ThePoolReplacesTheDeclarations) {
  const std::string text = rewritten(*stored_arrays(""));
  EXPECT_THAT(text, HasSubstr(".shared .align 16 .b8 __warploom_pool_k[96];"));
  EXPECT_THAT(text, HasSubstr("/* a is __warploom_pool_k+0 */"));
  EXPECT_THAT(text, HasSubstr("/* b is __warploom_pool_k+32 */"));
  EXPECT_THAT(text, Not(HasSubstr(".b8 a[64]")));
  EXPECT_THAT(text, HasSubstr(".shared .align 4 .b8 c[64];")) << "what is not pooled stays";
}

TEST(Rewrite, EveryFormOfAnAddressIsRenamed) {
  const std::string text = rewritten(*stored_arrays(
      "st.shared.u32 [b+8], %t;\nst.shared.u32 [b+-8], %t;\nst.shared.u32 [b+-32], "
      "%t;\nst.shared.u32 [b+-36], %t;\nmov.u32 %r1, b;\nmov.u64 %rd1, b+4;\n"
      "cvta.shared.u64 %rd2, %rd1;\nld.shared.v2.u32 {%r2, %r3}, [a+16];\nadd.u32 %r4, %r1, a;\nred.shared.add.u32 [b+12], 1;\n"));
  for (const std::string_view expected :
       {"st.shared.u32 [__warploom_pool_k+40], %t;", "st.shared.u32 [__warploom_pool_k+24], %t;",
        "st.shared.u32 [__warploom_pool_k], %t;", "st.shared.u32 [__warploom_pool_k+-4], %t;",
        "mov.u32 %r1, __warploom_pool_k+32;", "mov.u64 %rd1, __warploom_pool_k+36;",
        "{%r2, %r3}, [__warploom_pool_k+16];", "add.u32 %r4, %r1, __warploom_pool_k;",
        "red.shared.add.u32 [__warploom_pool_k+44], 1;"})
    EXPECT_THAT(text, HasSubstr(std::string(expected)));
}

TEST(Rewrite, AddressesThroughARegisterStay) {
  EXPECT_THAT(rewritten(*stored_arrays("mov.u32 %r1, b;\nld.shared.u32 %r2, [%r1+4];\n")),
              HasSubstr("ld.shared.u32 %r2, [%r1+4];"));
}

TEST(Rewrite, NothingElseChanges) {
  const auto a = stored_arrays("// b and a in a comment\nmov.u32 %r1, 7;\n");
  EXPECT_THAT(rewritten(*a), HasSubstr("// b and a in a comment\nmov.u32 %r1, 7;\n"));
}

TEST(Rewrite, TheResultParsesAndNamesOnlyThePool) {
  const auto a = stored_arrays("mov.u32 %r1, b;\nld.shared.u32 %r2, [%r1+4];\n");
  const auto again = analysed(rewritten(*a));
  EXPECT_EQ(again->kernel.object_count(), 2u);
  EXPECT_EQ(again->kernel.use.objects[again->object("__warploom_pool_k")].bytes, 96u);
}

TEST(Rewrite, BarriersStandBeforeTheirInstructionAndItsGuardButAfterItsLabel) {
  const auto a = stored_arrays("setp.eq.u32 %p1, %t, 0;\nHERE:\n@%p1 st.shared.u32 [b+4], %t;\n");
  EXPECT_THAT(rewritten(*a, {a->find("[b+4]")}),
              HasSubstr("HERE:\nbar.sync \t0;\n\t@%p1 st.shared.u32 [__warploom_pool_k+36], %t;"));
}

TEST(Rewrite, ADynamicPoolIsDeclaredBeforeTheKernel) {
  const std::string text = rewritten(*stored_arrays(""), {}, true);
  const std::size_t pool = text.find(".extern .shared .align 16 .b8 __warploom_pool_k[];");
  ASSERT_NE(pool, std::string::npos);
  EXPECT_LT(pool, text.find(".entry"));
  EXPECT_NO_THROW(ptx::parse(text));
}

TEST(Rewrite, ThePromisedBlockReplacesTheBound) {
  auto a = stored_arrays("", {.directives = ".maxntid 64, 1, 1"});
  a->kernel.block = {16, 2, 1};
  const std::string text = rewritten(*a, {}, false, true);
  EXPECT_THAT(text, HasSubstr(".reqntid 16, 2, 1"));
  EXPECT_THAT(text, Not(HasSubstr(".maxntid")));
}

TEST(Rewrite, ThePromisedBlockIsWrittenWhereThereWasNone) {
  auto a = stored_arrays("");
  a->kernel.block = {16, 2, 1};
  const ptx::Module m = ptx::parse(rewritten(*a, {}, false, true));
  ASSERT_TRUE(m.find_function("k")->required_threads.has_value());
  EXPECT_THAT(*m.find_function("k")->required_threads, testing::ElementsAre(16, 2, 1));
}

TEST(Rewrite, WithoutAPromiseTheBoundStays) {
  auto a = stored_arrays("", {.directives = ".maxntid 64, 1, 1"});
  a->kernel.block = {16, 2, 1};
  EXPECT_THAT(rewritten(*a), HasSubstr(".maxntid 64, 1, 1"));
}

TEST(Rewrite, ThePoolsNameIsNewInTheModule) {
  const auto a = stored_arrays("", {.module = ".global .align 4 .b8 __warploom_pool_k[4];\n"});
  EXPECT_EQ(pool_name(a->module, *a->kernel.function), "__warploom_pool_k_");
}

TEST(Rewrite, EntriesSayWhereEachObjectWent) {
  const auto a = stored_arrays("");
  Plan plan;
  plan.pooled = {a->object("b")};
  plan.offsets = {48};
  plan.pool_bytes = 112;
  ptx::Edits edits;
  const auto entries = rewrite(a->kernel, plan, false, false, edits);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].kernel, "k");
  EXPECT_EQ(entries[0].object, "b");
  EXPECT_EQ(entries[0].pool, "__warploom_pool_k");
  EXPECT_EQ(entries[0].offset, 48u);
}

}  // namespace
}  // namespace warploom::reuse
