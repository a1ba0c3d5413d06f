// Ranges of shared addresses: what is proved is written down by hand for each form of address, and what must
// not be proved, too.
#include "warploom/ptx/ranges.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace warploom::ptx {
namespace {

/// "least..most" of the address of the kernel's last ld or st of shared memory; "?" for an end without bound.
std::string range(const std::string& body, const std::string& directives = ".maxntid 256, 1, 1") {
  const Module module = parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 s[];\n"
      ".visible .entry k(.param .u64 p, .param .u32 n, .param .u32 m)\n" +
      directives +
      "\n{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<20>;\n.reg .b64 %d<20>;\n"
      "ld.param.u32 %r15, [n];\nmov.u32 %r1, %tid.x;\nmov.u32 %r10, s;\n" +
      body + "\nret;\n}\n");
  const Cfg cfg = build_cfg(module, module.functions[0]);
  const Values values = number_values(cfg);
  AddressRanges ranges(cfg, values);
  std::uint32_t last = kNone;
  for (std::uint32_t i = 0; i < module.functions[0].instructions.size(); ++i)
    if (module.opcode(cfg.instruction(i)).space == Space::shared &&
        (module.opcode(cfg.instruction(i)).op == Op::ld || module.opcode(cfg.instruction(i)).op == Op::st))
      last = i;
  const Instruction& i = cfg.instruction(last);
  const std::uint32_t address = i.first_operand + (module.opcode(i).op == Op::ld ? 1 : 0);
  const AddressRange found = ranges.of(last, address);
  if (found.variable == kNone) return "unknown";
  const auto end = [&](const std::optional<Linear>& bound, bool most) {
    const auto both = bound ? ranges.extremes(*bound) : std::nullopt;
    return !both ? std::string("?") : std::to_string(most ? both->second : both->first);
  };
  return end(found.least, false) + ".." + end(found.most, true);
}

TEST(AddressRanges, OfTheThreadIndex) {
  EXPECT_EQ(range("shl.b32 %r2, %r1, 2; add.s32 %r3, %r10, %r2; ld.shared.u32 %r4, [%r3+64];"), "64..1084");
  EXPECT_EQ(range("mad.lo.s32 %r3, %r1, 4, %r10; ld.shared.u32 %r4, [%r3+-4];"), "-4..1016");
  EXPECT_EQ(range("mov.u32 %r5, 255; sub.s32 %r5, %r5, %r1; shl.b32 %r5, %r5, 2; add.s32 %r5, %r10, %r5;"
                  "ld.shared.u32 %r4, [%r5];"),
            "0..1020");
  EXPECT_EQ(
      range("mul.wide.u32 %d1, %r1, 4; mov.u64 %d2, s; add.s64 %d3, %d2, %d1; st.shared.u32 [%d3], %r1;",
            ".reqntid 64, 1, 1"),
      "0..252");
  EXPECT_EQ(range("ld.shared.u32 %r4, [s+12];"), "12..12");
}

TEST(AddressRanges, OfBits) {
  // 256 + ~t is 255 - t.
  EXPECT_EQ(
      range(
          "not.b32 %r2, %r1; add.s32 %r2, %r2, 256; mad.lo.s32 %r3, %r2, 4, %r10; ld.shared.u32 %r4, [%r3];"),
      "0..1020");
  EXPECT_EQ(
      range("shl.b32 %r2, %r1, 2; xor.b32 %r2, %r2, 4; add.s32 %r3, %r10, %r2; ld.shared.u32 %r4, [%r3];"),
      "0..1020");
  EXPECT_EQ(
      range("shr.u32 %r2, %r1, 5; shl.b32 %r2, %r2, 2; add.s32 %r3, %r10, %r2; ld.shared.u32 %r4, [%r3];"),
      "0..28");
  EXPECT_EQ(range("rem.u32 %r2, %r15, 10; mad.lo.s32 %r3, %r2, 4, %r10; ld.shared.u32 %r4, [%r3];"), "0..36");
  EXPECT_EQ(
      range("shl.b32 %r2, %r1, 4; or.b32 %r2, %r2, 12; add.s32 %r3, %r10, %r2; ld.shared.u32 %r4, [%r3];"),
      "12..4092");
}

TEST(AddressRanges, UnderAGuard) {
  const std::string load = "shl.b32 %r2, %r1, 2; add.s32 %r3, %r10, %r2; ";
  EXPECT_EQ(range(load + "setp.lt.u32 %p1, %r1, 32; @%p1 ld.shared.u32 %r4, [%r3];"), "0..124");
  EXPECT_EQ(range(load + "setp.gt.s32 %p1, %r1, 31; @%p1 bra E; ld.shared.u32 %r4, [%r3];\nE:"), "0..124");
  EXPECT_EQ(range(load + "setp.lt.u32 %p1, %r1, 32; @%p1 bra E; ld.shared.u32 %r4, [%r3];\nE:"), "128..1020");
  // Where the arms meet nothing of it is left.
  EXPECT_EQ(
      range(load +
            "setp.lt.u32 %p1, %r1, 32; @%p1 bra E; add.s32 %r9, %r1, 1;\nE:\n ld.shared.u32 %r4, [%r3];"),
      "0..1020");
  EXPECT_EQ(
      range("and.b32 %r2, %r15, 31; shl.b32 %r2, %r2, 2; add.s32 %r3, %r10, %r2; ld.shared.u32 %r4, [%r3];"),
      "0..124");
  EXPECT_EQ(range("setp.lt.u32 %p1, %r15, 10; shl.b32 %r2, %r15, 2; add.s32 %r3, %r10, %r2;"
                  "@%p1 ld.shared.u32 %r4, [%r3];"),
            "0..36");
}

TEST(AddressRanges, WhatMayBeNegativeOrOverflowHasNoBound) {
  const std::string load = "shl.b32 %r2, %r15, 2; add.s32 %r3, %r10, %r2; ";
  // n < 10 as a signed number may be -2^31: its bytes are no range of an array.
  EXPECT_EQ(range(load + "setp.lt.s32 %p1, %r15, 10; @%p1 ld.shared.u32 %r4, [%r3];"), "-8589934592..36");
  // n + 8 < 16 as bits holds for n = -8, too, and for n = 2^32 - 4.
  EXPECT_EQ(range(load + "add.s32 %r5, %r15, 8; setp.lt.s32 %p1, %r5, 16; @%p1 ld.shared.u32 %r4, [%r3];"),
            "-8589934592..8589934588");
  // 64 bits of the 32-bit product: it may have wrapped.
  EXPECT_EQ(range("shl.b32 %r2, %r15, 2; cvt.u64.u32 %d1, %r2; mov.u64 %d2, s; add.s64 %d3, %d2, %d1;"
                  "setp.lt.u32 %p1, %r15, 2147483648; @%p1 ld.shared.u32 %r4, [%d3];"),
            "0..4294967295");
  EXPECT_EQ(range("ld.global.u32 %r2, [p]; add.s32 %r3, %r10, %r2; ld.shared.u32 %r4, [%r3];"),
            "-2147483648..2147483647");
  EXPECT_EQ(range("ld.param.u64 %d1, [p]; mov.u64 %d2, s; add.s64 %d3, %d2, %d1; ld.shared.u32 %r4, [%d3];"),
            "?..?");
}

TEST(AddressRanges, InLoops) {
  const std::string head = "mov.u32 %r5, %r1;\nL:\n shl.b32 %r2, %r5, 2; add.s32 %r3, %r10, %r2;";
  // for (i = tid; i < 1000; i += 256), bottom-tested behind a guard.
  EXPECT_EQ(
      range("setp.gt.s32 %p2, %r1, 999; @%p2 bra E;" + head +
            "st.shared.u32 [%r3], %r1; add.s32 %r5, %r5, 256; setp.lt.s32 %p1, %r5, 1000; @%p1 bra L;\nE:"),
      "0..3996");
  // The same tested above, with a pointer that runs along.
  EXPECT_EQ(
      range("mov.u32 %r5, %r1; shl.b32 %r2, %r1, 2; add.s32 %r3, %r10, %r2;\nL:\n setp.ge.s32 %p1, %r5, 1000;"
            "@%p1 bra E; st.shared.u32 [%r3+8], %r1; add.s32 %r5, %r5, 256; add.s32 %r3, %r3, 1024;"
            "bra L;\nE:"),
      "8..4004");
  // Counted up to an inequality, and down.
  EXPECT_EQ(
      range("mov.u32 %r5, 0;\nL:\n shl.b32 %r2, %r5, 2; add.s32 %r3, %r10, %r2; st.shared.u32 [%r3], %r1;"
            "add.s32 %r5, %r5, 4; setp.ne.s32 %p1, %r5, 64; @%p1 bra L;"),
      "0..240");
  EXPECT_EQ(
      range("mov.u32 %r5, 64;\nL:\n shl.b32 %r2, %r5, 2; add.s32 %r3, %r10, %r2; st.shared.u32 [%r3], %r1;"
            "add.s32 %r5, %r5, -1; setp.ne.s32 %p1, %r5, 0; @%p1 bra L;"),
      "4..256");
  // Steps of 3 never meet 64.
  EXPECT_NE(
      range("mov.u32 %r5, 0;\nL:\n shl.b32 %r2, %r5, 2; add.s32 %r3, %r10, %r2; st.shared.u32 [%r3], %r1;"
            "add.s32 %r5, %r5, 3; setp.ne.s32 %p1, %r5, 64; @%p1 bra L;"),
      "0..252");
  // for (s = 128; s > 0; s >>= 1) of a reduction.
  EXPECT_EQ(
      range("mov.u32 %r5, 128;\nL:\n shl.b32 %r2, %r5, 2; add.s32 %r3, %r10, %r2; st.shared.u32 [%r3], %r1;"
            "shr.u32 %r5, %r5, 1; setp.ne.s32 %p1, %r5, 0; @%p1 bra L;"),
      "4..512");
  // A bound that the loop itself changes is none.
  EXPECT_EQ(
      range("mov.u32 %r5, 0; mov.u32 %r6, 8;\nL:\n shl.b32 %r2, %r5, 2; add.s32 %r3, %r10, %r2;"
            "st.shared.u32 [%r3], %r1; add.s32 %r5, %r5, 1; add.s32 %r6, %r6, 1; setp.lt.s32 %p1, %r5, %r6;"
            "@%p1 bra L;"),
      "0..?");
}

TEST(AddressRanges, InLoopsThatCountDownFromANumberOfTheThread) {
  // (tid & 3) words from tid / 4 on: nvcc's rest of a loop unrolled by four.
  const std::string loop = "and.b32 %r6, %r1, 3; shl.b32 %r2, %r1, 2; add.s32 %r3, %r10, %r2;";
  const std::string body =
      "\nL:\n st.shared.u32 [%r3], %r1; add.s32 %r3, %r3, 1024; add.s32 %r6, %r6, -1;"
      "setp.ne.s32 %p1, %r6, 0; @%p1 bra L;\nE:";
  EXPECT_EQ(range(loop + "setp.eq.s32 %p2, %r6, 0; @%p2 bra E;" + body), "0..3068");
  // Without the guard a thread may begin at 0 and count below it.
  EXPECT_EQ(range(loop + body), "0..?");
  EXPECT_EQ(range(loop + "setp.eq.s32 %p2, %r6, 1; @%p2 bra E;" + body), "0..?");
  // Up to a number that the loop sets anew each time, which may never be met.
  EXPECT_EQ(range("mov.u32 %r5, 0;\nL:\n ld.global.u32 %r6, [%d1]; and.b32 %r6, %r6, 15;"
                  "setp.eq.s32 %p1, %r5, %r6; @%p1 bra E; shl.b32 %r2, %r5, 2; add.s32 %r3, %r10, %r2;"
                  "st.shared.u32 [%r3], %r1; add.s32 %r5, %r5, 1; bra L;\nE:"),
            "0..?");
  // By twos, an odd number never meets 0.
  EXPECT_EQ(
      range("and.b32 %r6, %r1, 3; shl.b32 %r2, %r1, 2; add.s32 %r3, %r10, %r2;"
            "setp.eq.s32 %p2, %r6, 0; @%p2 bra E;\nL:\n st.shared.u32 [%r3], %r1; add.s32 %r3, %r3, 1024;"
            "add.s32 %r6, %r6, -2; setp.ne.s32 %p1, %r6, 0; @%p1 bra L;\nE:"),
      "0..?");
}

TEST(AddressRanges, NothingIsKnownOfACycleWithTwoEntries) {
  EXPECT_EQ(range("setp.eq.u32 %p1, %r15, 0; mov.u32 %r5, 0; @%p1 bra M;\nL:\n add.s32 %r5, %r5, 1;\nM:\n"
                  "shl.b32 %r2, %r5, 2; add.s32 %r3, %r10, %r2; st.shared.u32 [%r3], %r1;"
                  "setp.lt.s32 %p2, %r5, 9; @%p2 bra L;"),
            "unknown");
}

TEST(AddressRanges, OfParametersHaveAllTheirBounds) {
  const auto bounds_of = [](const std::string& load) {
    const Module module = parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 s[];\n"
        ".visible .entry k(.param .u32 n)\n{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n.reg .b32 %r<20>;\n"
        "ld.param.u32 %r9, [n];\nmad.lo.s32 %r8, %r9, 4, s;\nst.shared.u32 [%r8], 0;\n" +
        load +
        "mov.u32 %r1, %tid.x;\nsetp.lt.s32 %p1, %r1, %r2;\nmad.lo.s32 %r3, %r1, 4, %r8;\n"
        "@%p1 st.shared.u32 [%r3], %r1;\nret;\n}\n");
    const Cfg cfg = build_cfg(module, module.functions[0]);
    const Values values = number_values(cfg);
    RangeOptions options;
    options.parameters = true;
    AddressRanges ranges(cfg, values, options);
    const auto last = static_cast<std::uint32_t>(module.functions[0].instructions.size()) - 2;
    const AddressRange found = ranges.of(last, cfg.instruction(last).first_operand);
    std::string text;
    for (const Linear& most : found.all_most) {
      text += text.empty() ? "" : " or ";
      for (const auto& [id, factor] : most.terms)
        text += std::to_string(factor) + (ranges.unknown(id).kind == Unknown::parameter ? "n" : "ntid");
      text += std::to_string(most.constant);
    }
    return text;
  };
  // At most 4 (ntid - 1) behind 4 n, and at most 4 (n - 1): neither is less for every launch.
  EXPECT_EQ(bounds_of("ld.param.u32 %r2, [n];\n"), "4ntid4n-4 or 8n-4");
  // Half of the parameter is another number.
  EXPECT_EQ(bounds_of("ld.param.u16 %r2, [n];\n"), "4ntid4n-4");
}

}  // namespace
}  // namespace warploom::ptx
