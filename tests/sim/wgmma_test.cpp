// wgmma: what its descriptors name, and that what it forbids is found: results and operands before the wait,
// writes that the asynchronous proxy need not see, a fence of registers that is missing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

using testing::HasSubstr;

/// 128 threads multiply A (64 x 32) and B (32 x 8) of bytes, plain layouts: thread t writes 16 bytes of A,
/// row t % 64 and half t / 64 of it, all t % 7 + 1; one of 16 threads so B's columns, t % 5 + 1.
struct ProductKernel {
  std::string publish = "fence.proxy.async.shared::cta;\nbar.sync 0;\n";
  std::string fence = "wgmma.fence.sync.aligned;\n";
  std::string before_wait = "", wait = "wgmma.wait_group.sync.aligned 0;\n";
  std::string a = "%rd5";
  std::string text() const {
    return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.reg .pred %p<9>;\n"
           ".reg .b32 %r<30>;\n.reg .b64 %rd<30>;\n.shared .align 128 .b8 a[2048];\n.shared .align 128 .b8 b[256];\n"
           "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nrem.u32 %r2, %r1, 7;\nadd.u32 %r2, %r2, 1;\n"
           "mul.lo.u32 %r2, %r2, 0x01010101;\nrem.u32 %r3, %r1, 5;\nadd.u32 %r3, %r3, 1;\nmul.lo.u32 %r3, %r3, 0x01010101;\n"
           "shl.b32 %r4, %r1, 4;\nmov.u32 %r5, a;\nmov.u32 %r6, b;\nadd.u32 %r7, %r5, %r4;\nadd.u32 %r8, %r6, %r4;\n"
           "setp.lt.u32 %p1, %r1, 16;\nst.shared.v4.b32 [%r7], {%r2, %r2, %r2, %r2};\n"
           "@%p1 st.shared.v4.b32 [%r8], {%r3, %r3, %r3, %r3};\n" +
           publish +
           "shr.u32 %r9, %r5, 4;\ncvt.u64.u32 %rd5, %r9;\nadd.u64 %rd5, %rd5, 0x800400000;\n"
           "shr.u32 %r9, %r6, 4;\ncvt.u64.u32 %rd6, %r9;\nadd.u64 %rd6, %rd6, 0x800080000;\nsetp.eq.u32 %p2, %r1, 5000;\n" +
           fence + "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8 {%r10, %r11, %r12, %r13}, " + a +
           ", %rd6, %p2;\nwgmma.commit_group.sync.aligned;\n" + before_wait + wait +
           "mul.wide.u32 %rd2, %r1, 16;\nadd.u64 %rd2, %rd1, %rd2;\n"
           "st.global.v4.b32 [%rd2], {%r10, %r11, %r12, %r13};\nret;\n}\n";
  }
  std::uint32_t line_of(const std::string& what) const {
    const std::string all = text();
    return 1 + static_cast<std::uint32_t>(
                   std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.find(what)), '\n'));
  }
};

struct ProductResult {
  Outcome outcome;
  std::vector<std::int32_t> out = std::vector<std::int32_t>(512);
  std::string findings() const {
    std::string text;
    for (const Finding& f : outcome.findings) text += f.text() + "\n";
    return text;
  }
};

ProductResult run_products(const ProductKernel& kernel, Schedule schedule = Schedule::in_order,
                           unsigned threads = 128) {
  ProductResult result;
  Machine machine(ptx::parse(kernel.text(), "k.ptx"));
  const Address out = machine.upload(std::span(result.out), "out");
  result.outcome =
      machine.launch("k", Arguments().add(out), {.block = {threads}, .schedule = schedule, .races = true});
  machine.download(out, std::span(result.out));
  return result;
}

constexpr Schedule kProductSchedules[] = {Schedule::in_order, Schedule::random, Schedule::adversarial};

TEST(Wgmma, MultipliesWhatItsDescriptorsName) {
  for (const Schedule schedule : kProductSchedules) {
    const ProductResult r = run_products({}, schedule);
    EXPECT_TRUE(r.outcome.clean()) << r.findings();
    for (int t = 0; t < 128; ++t)
      for (int i = 0; i < 4; ++i) {
        const int row = t / 32 * 16 + t % 32 / 4 + 8 * (i / 2), column = 2 * (t % 4) + i % 2;
        int sum = 0;
        for (int half = 0; half < 2; ++half)
          sum += 16 * ((row + 64 * half) % 7 + 1) * ((column + 8 * half) % 5 + 1);
        ASSERT_EQ(r.out[4 * t + i], sum) << t << " " << i;
      }
  }
}

/// Finds one of that kind at `at`, and, if it has another place, that one at `other`.
void expect_finding(const ProductKernel& kernel, FindingKind kind, const std::string& at,
                    const std::string& other, const std::string& text) {
  for (const Schedule schedule : kProductSchedules) {
    const ProductResult r = run_products(kernel, schedule);
    const auto& all = r.outcome.findings;
    const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& f) {
      const auto one = kernel.line_of(at), two = other.empty() ? 0 : kernel.line_of(other);
      const std::uint32_t there = f.other ? f.other->ptx_line : 0;
      return f.kind == kind && ((f.site.ptx_line == one && there == two) ||
                                (kind == FindingKind::race && f.site.ptx_line == two && there == one));
    });
    ASSERT_NE(found, all.end()) << r.findings();
    EXPECT_THAT(found->text(), HasSubstr(text));
  }
}

const std::string kProduct = "wgmma.mma_async";

TEST(Wgmma, AResultThatNobodyWaitedForIsFound) {
  ProductKernel kernel;
  kernel.wait = "";
  expect_finding(kernel, FindingKind::uninitialised, "st.global.v4", kProduct,
                 "product that no wgmma.wait_group waited for");
  kernel.wait = "wgmma.wait_group.sync.aligned 1;\n";  // one may still be under way
  expect_finding(kernel, FindingKind::uninitialised, "st.global.v4", kProduct,
                 "product that no wgmma.wait_group waited for");
}

TEST(Wgmma, AWriteToItsFactorsBeforeTheWaitIsARace) {
  ProductKernel kernel;
  kernel.before_wait = "bar.sync 0;\nst.shared.u32 [%r7], 7;\n";
  expect_finding(kernel, FindingKind::race, "st.shared.u32 [%r7], 7", kProduct, "");
  kernel.wait += "bar.sync 0;\nst.shared.u32 [%r7], 7;\n";
  kernel.before_wait = "";
  EXPECT_TRUE(run_products(kernel).outcome.clean()) << run_products(kernel).findings();
}

TEST(Wgmma, FactorsThatTheAsynchronousProxyNeedNotSeeAreFound) {
  ProductKernel kernel;
  kernel.publish = "bar.sync 0;\n";
  expect_finding(kernel, FindingKind::proxy, kProduct, "st.shared.v4",
                 "no fence.proxy.async after: write of 16 bytes");
  kernel.publish = "fence.proxy.async;\n";  // and no barrier
  expect_finding(kernel, FindingKind::race, kProduct, "st.shared.v4", "");
}

TEST(Wgmma, FactorsThatCpAsyncBroughtNeedAFenceAfterTheirWait) {
  const std::string fence = "fence.proxy.async.shared::cta;\n", barrier = "bar.sync 0;\n",
                    issue = "cp.async.cg.shared.global [%r7], [%rd1], 16;\ncp.async.commit_group;\n",
                    landed = "cp.async.wait_group 0;\n";
  ProductKernel kernel;
  for (const std::string& publish : {issue + landed + fence + barrier, issue + landed + barrier + fence}) {
    kernel.publish = publish;
    EXPECT_TRUE(run_products(kernel).outcome.clean()) << publish << run_products(kernel).findings();
  }
  for (const std::string& publish : {issue + landed + barrier, fence + issue + fence + landed + barrier}) {
    kernel.publish = publish;
    expect_finding(kernel, FindingKind::proxy, kProduct, "cp.async.cg", "no fence.proxy.async after");
  }
}

TEST(Wgmma, WhatMayNotBeIsNamed) {
  ProductKernel kernel;
  kernel.fence = "";
  expect_finding(kernel, FindingKind::illegal, kProduct, "", "no wgmma.fence came before it");
  kernel.fence = "wgmma.fence.sync.aligned;\ncvt.u64.u32 %rd7, %r1;\nadd.u64 %rd7, %rd7, %rd5;\n";
  kernel.a = "%rd7";
  expect_finding(kernel, FindingKind::illegal, kProduct, "", "different descriptors");
  EXPECT_THAT(run_products({}, Schedule::in_order, 96).findings(), HasSubstr("needs four warps"));
  kernel.fence = "wgmma.fence.sync.aligned;\nadd.u64 %rd7, %rd5, 0x1000;\n";  // 64 KiB on
  expect_finding(kernel, FindingKind::out_of_bounds, kProduct, "", "read of 16 bytes");
}

TEST(Wgmma, SumsThatWereWrittenAfterTheFenceAreFound) {
  ProductKernel kernel;
  const std::string again =
      "setp.lt.u32 %p4, %r1, 5000;\nwgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8 {%r10, %r11, %r12, "
      "%r13}, %rd5, %rd6, %p4;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  const std::string change = "add.u32 %r12, %r12, 1;\n";
  kernel.wait += change + "wgmma.fence.sync.aligned;\n" + again;
  EXPECT_TRUE(run_products(kernel).outcome.clean()) << run_products(kernel).findings();
  kernel.wait = "wgmma.wait_group.sync.aligned 0;\n" + again;
  EXPECT_TRUE(run_products(kernel).outcome.clean()) << run_products(kernel).findings();
  kernel.wait = "wgmma.wait_group.sync.aligned 0;\n" + change + again;
  const ProductResult found = run_products(kernel);
  EXPECT_THAT(found.findings(), HasSubstr("a register of its sums was written since the last wgmma.fence"));
  EXPECT_FALSE(found.outcome.completed);
}

TEST(Wgmma, FactorsInRegistersThatWereWrittenAfterTheFenceAreFound) {
  ProductKernel kernel;
  kernel.a = "{%r14, %r15, %r16, %r17}";
  const std::string fence = kernel.fence,
                    values =
                        "mov.b32 %r14, %r2;\nmov.b32 %r15, %r1;\nmov.b32 %r16, %r4;\nmov.b32 %r17, %r2;\n";
  // Also where a compiler moves them: the values were there at the fence.
  for (const std::string& good : {values + fence, fence + values}) {
    kernel.fence = good;
    EXPECT_TRUE(run_products(kernel).outcome.clean()) << run_products(kernel).findings();
  }
  kernel.fence = values + fence + "add.u32 %r16, %r16, 0x01010101;\n";
  const ProductResult found = run_products(kernel);
  ASSERT_EQ(found.outcome.findings.size(), 1u);
  EXPECT_THAT(found.findings(), HasSubstr("a register of A was written since the last wgmma.fence"));
  EXPECT_EQ(found.outcome.findings[0].site.ptx_line, kernel.line_of("wgmma.mma_async"));
}

TEST(Wgmma, WhatNobodyWroteSpreadsAlongRows) {
  ProductKernel kernel;
  kernel.fence += "setp.eq.u32 %p3, %r1, 3;\n";  // only rows 0, 8, 16, ... and 3 are bad if A's are
  const ProductResult clean = run_products(kernel);
  EXPECT_TRUE(clean.outcome.clean());
  kernel.a = "%rd7";
  kernel.fence = "wgmma.fence.sync.aligned;\nadd.u64 %rd7, %rd5, 0;\n";
  std::string text = kernel.text();
  const std::string store = "st.shared.v4.b32 [%r7]";
  text.replace(text.find(store), store.size(), "@%p1 " + store);  // rows 0 to 15 of the first half alone
  Machine machine(ptx::parse(text, "k.ptx"));
  const Outcome outcome =
      machine.launch("k", Arguments().add(machine.allocate(2048, "out")), {.block = {128}, .races = true});
  ASSERT_FALSE(outcome.findings.empty());
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::uninitialised);
  EXPECT_THAT(outcome.findings[0].text(), HasSubstr("product of shared memory that nobody wrote"));
}

}  // namespace
}  // namespace warploom::sim
