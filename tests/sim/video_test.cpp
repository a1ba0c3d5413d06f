// The video instructions: examples by hand from PTX ISA's definitions. A GPU's results of all forms are
// compared in tests/sim/kernels/video.cu.
#include <gtest/gtest.h>

#include <string>

#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

struct Video {
  std::string instruction;
  std::uint32_t a, b, c, result;
};

std::uint32_t result_of(const Video& v) {
  Machine machine(ptx::parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 a, .param .u32 b, .param .u32 c, "
      ".param .u64 out)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\nld.param.u32 %r1, [a];\nld.param.u32 %r2, [b];\n"
      "ld.param.u32 %r3, [c];\nld.param.u64 %rd1, [out];\n" +
          v.instruction + ";\nst.global.u32 [%rd1], %r4;\nret;\n}\n",
      "k.ptx"));
  const Address out = machine.allocate(4);
  EXPECT_TRUE(machine.launch("k", Arguments().add(v.a).add(v.b).add(v.c).add(out), {}).clean())
      << v.instruction;
  std::uint32_t result = 0;
  machine.download(out, std::span(&result, 1));
  return result;
}

TEST(Video, ScalarInstructions) {
  for (const Video& v : std::initializer_list<Video>{
           {"vadd.s32.s32.s32 %r4, %r1.b0, %r2.h1", 0xff, 0x80000000, 0, 0xffff7fff},
           {"vadd.u32.u32.u32.sat %r4, %r1, %r2", 0xffffffff, 2, 0, 0xffffffff},
           {"vadd.s32.u32.u32.sat %r4, %r1, %r2", 0x7fffffff, 2, 0, 0x7fffffff},
           {"vsub.u32.u32.u32.sat %r4, %r1, %r2", 1, 2, 0, 0},
           {"vsub.s32.u32.u32 %r4, %r1, %r2", 1, 2, 0, 0xffffffff},
           {"vsub.s32.s32.s32.sat %r4.b2, %r1, %r2, %r3", 1000, 1, 0x11223344, 0x117f3344},
           {"vadd.s32.s32.s32 %r4.h1, %r1, %r2, %r3", 0x12345, 1, 0x11223344, 0x23463344},
           {"vabsdiff.u32.s32.s32 %r4, %r1, %r2", 0x80000000, 0x7fffffff, 0, 0xffffffff},
           {"vabsdiff.u32.s32.s32.add %r4, %r1.b1, %r2.b0, %r3", 0x8000, 0x7f, 10, 265},
           {"vmin.s32.s32.u32 %r4, %r1, %r2", 0xffffffff, 0, 0, 0xffffffff},
           {"vmax.s32.s32.u32 %r4, %r1, %r2", 0xffffffff, 7, 0, 7},
           {"vmax.u32.u32.u32.min %r4, %r1, %r2, %r3", 5, 7, 6, 6},
           {"vmin.s32.s32.s32.max %r4, %r1, %r2, %r3", 5, 7, 0xffffffff, 5},
           {"vset.s32.u32.lt %r4, %r1, %r2", 0xffffffff, 0, 0, 1},
           {"vset.u32.u32.ge.add %r4, %r1.b3, %r2.b0, %r3", 0x80000000, 0x80, 41, 42},
           {"vset.u32.u32.ne %r4.b1, %r1, %r2, %r3", 1, 2, 0xaabbccdd, 0xaabb01dd},
           {"vshl.u32.u32.u32.clamp %r4, %r1, %r2", 3, 32, 0, 0},
           {"vshl.u32.u32.u32.wrap %r4, %r1, %r2", 3, 33, 0, 6},
           {"vshr.s32.s32.u32.clamp %r4, %r1, %r2", 0x80000000, 40, 0, 0xffffffff},
           {"vshr.u32.u32.u32.wrap.add %r4, %r1.h1, %r2.b1, %r3", 0x80000000, 0x0400, 1, 0x801},
           {"vmad.u32.u32.u32 %r4, %r1.b0, %r2.h0, %r3", 0xff, 0x10000 + 300, 7, 76507},
           {"vmad.s32.s32.s32.sat %r4, %r1, %r2, %r3", 0x40000000, 4, 0, 0x7fffffff},
           {"vmad.u32.u32.u32.sat %r4, %r1, %r2, %r3", 0x40000000, 4, 0, 0xffffffff},
           {"vmad.s32.s32.s32.shr7 %r4, %r1, %r2, %r3", 0xffffffff, 128, 127, 0xffffffff},
           {"vmad.s32.s32.s32.shr15 %r4, %r1, %r2, %r3", 0x10000, 0x10000, 0, 0x20000},
           {"vmad.u32.u32.u32.po %r4, %r1, %r2, %r3", 3, 4, 5, 18},
           {"vmad.s32.s32.s32 %r4, -%r1, %r2, %r3", 3, 4, 5, 0xfffffff9},
           {"vmad.s32.s32.s32 %r4, %r1, %r2, -%r3", 3, 4, 5, 7},
           {"vmad.s32.s32.s32 %r4, -%r1.b1, -%r2.h0, %r3", 0xfd00, 0xfffc, 5, 17}})
    EXPECT_EQ(result_of(v), v.result) << v.instruction;
}

TEST(Video, ElementsThatAreSelected) {
  for (const Video& v : std::initializer_list<Video>{
           {"vadd4.u32.u32.u32 %r4, %r1.b0000, %r2.b7654, %r3", 0x05, 0x04030201, 0, 0x09080706},
           {"vadd4.u32.u32.u32 %r4.b20, %r1, %r2, %r3", 0x01010101, 0x10203040, 0xaabbccdd, 0xaa21cc41},
           {"vadd4.u32.u32.u32.add %r4.b31, %r1, %r2, %r3", 0x01010101, 0x10203040, 5, 0x11 + 0x31 + 5},
           {"vset4.u32.u32.eq.add %r4.b0, %r1, %r2, %r3", 0, 0, 5, 6},
           {"vset4.u32.u32.le.add %r4.b10, %r1, %r2, %r3", 0, 0, 5, 7},
           {"vsub2.s32.s32.s32 %r4, %r1.h32, %r2.h10, %r3", 0x00010002, 0x00100020, 0, 0x000f001e},
           {"vmax2.s32.s32.s32 %r4.h1, %r1, %r2, %r3", 0xffff0000, 0x00010001, 7, 0x00010007}})
    EXPECT_EQ(result_of(v), v.result) << v.instruction;
}

}  // namespace
}  // namespace warploom::sim
