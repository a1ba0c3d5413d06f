#include "sim/form.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <utility>

#include "warploom/ptx/opcode.hpp"

namespace warploom::sim {
namespace {

Form form(std::string_view name) { return form_of(ptx::decode(name)); }

TEST(TypeOf, ReadsKindWidthAndElements) {
  EXPECT_EQ(type_of("u32"), (Type{Type::u, 32, 1}));
  EXPECT_EQ(type_of("b128"), (Type{Type::b, 128, 1}));
  EXPECT_EQ(type_of("s8"), (Type{Type::s, 8, 1}));
  EXPECT_EQ(type_of("f16x2"), (Type{Type::f, 16, 2}));
  EXPECT_EQ(type_of("f32x2"), (Type{Type::f, 32, 2}));
  EXPECT_EQ(type_of("bf16"), (Type{Type::bf, 16, 1}));
  EXPECT_EQ(type_of("s16x2"), (Type{Type::s, 16, 2}));
  EXPECT_EQ(type_of("tf32"), (Type{Type::tf, 32, 1}));
  EXPECT_EQ(type_of("e4m3x2"), (Type{Type::e4m3, 8, 2}));
  EXPECT_EQ(type_of("e5m2x4"), (Type{Type::e5m2, 8, 4}));
  EXPECT_EQ(type_of("pred"), (Type{Type::pred, 1, 1}));
}

TEST(TypeOf, IsNoneForOtherWords) {
  for (const std::string_view name :
       {"", "u", "u33", "f8", "s128", "b1", "x2", "ftz", "u32x2", "global", "e2m1x2"}) {
    EXPECT_EQ(type_of(name).kind, Type::none) << name;
  }
}

TEST(TypeOf, CountsTheBytesOfAllElements) {
  EXPECT_EQ(type_of("u8").bytes(), 1u);
  EXPECT_EQ(type_of("bf16x2").bytes(), 4u);
  EXPECT_EQ(type_of("b128").bytes(), 16u);
  EXPECT_EQ(type_of("pred").bytes(), 4u);
}

TEST(FormOf, OneTypeIsBoth) {
  const Form f = form("add.s32");
  EXPECT_EQ(f.op, ptx::Op::add);
  EXPECT_TRUE(f.type.is(Type::s, 32));
  EXPECT_TRUE(f.from.is(Type::s, 32));
  EXPECT_FALSE(f.unknown_part);
}

TEST(FormOf, TheFirstOfTwoTypesIsTheDestinations) {
  const Form f = form("cvt.rn.satfinite.e4m3x2.f32");
  EXPECT_TRUE(f.type.is(Type::e4m3, 8, 2));
  EXPECT_TRUE(f.from.is(Type::f, 32));
  EXPECT_EQ(f.rounding, Rounding::rn);
  EXPECT_TRUE(f.satfinite);
  EXPECT_FALSE(f.sat);
}

TEST(FormOf, HiAndLoAreHalvesOfProductsButOrdersOfComparisons) {
  EXPECT_TRUE(form("mul.hi.u32").hi);
  EXPECT_EQ(form("mul.hi.u32").comparison, Comparison::none);
  EXPECT_TRUE(form("mad.lo.s32").lo);
  EXPECT_TRUE(form("mul.wide.u16").wide);
  EXPECT_EQ(form("setp.hi.u32").comparison, Comparison::hi);
  EXPECT_FALSE(form("setp.hi.u32").hi);
  EXPECT_EQ(form("setp.lo.u16").comparison, Comparison::lo);
  EXPECT_FALSE(form("setp.lo.u16").lo);
}

TEST(FormOf, NanIsAComparisonAndNaNAFlag) {
  EXPECT_EQ(form("setp.nan.f32").comparison, Comparison::nan);
  EXPECT_FALSE(form("setp.nan.f32").nan);
  EXPECT_TRUE(form("max.NaN.f16x2").nan);
}

TEST(FormOf, ReadsComparisonAndCombination) {
  const Form f = form("set.geu.xor.ftz.f32.f32");
  EXPECT_EQ(f.comparison, Comparison::geu);
  EXPECT_EQ(f.combine, Combine::xor_);
  EXPECT_TRUE(f.ftz);
  EXPECT_EQ(form("lop3.or.b32").combine, Combine::or_);
  EXPECT_EQ(form("and.b32").combine, Combine::none);
}

TEST(FormOf, TellsCarryInFromCarryOut) {
  const auto carries = [](std::string_view name) {
    const Form f = form(name);
    return std::array{f.carry, f.carry_in, f.carry_out};
  };
  EXPECT_EQ(carries("add.u32"), (std::array{false, false, false}));
  EXPECT_EQ(carries("add.cc.u32"), (std::array{true, false, true}));
  EXPECT_EQ(carries("subc.u32"), (std::array{true, true, false}));
  EXPECT_EQ(carries("madc.hi.cc.u32"), (std::array{true, true, true}));
}

TEST(FormOf, ReadsEveryRounding) {
  using R = Rounding;
  const std::pair<std::string_view, R> cases[] = {
      {"add.rn.f32", R::rn},       {"add.rz.f32", R::rz},        {"add.rm.f32", R::rm},
      {"add.rp.f32", R::rp},       {"cvt.rna.tf32.f32", R::rna}, {"cvt.rni.s32.f32", R::rni},
      {"cvt.rzi.s32.f32", R::rzi}, {"cvt.rmi.s32.f32", R::rmi},  {"cvt.rpi.s32.f32", R::rpi}};
  for (const auto& [name, rounding] : cases) EXPECT_EQ(form(name).rounding, rounding) << name;
}

TEST(FormOf, ReadsShiftsAndFields) {
  const Form f = form("shf.l.wrap.b32");
  EXPECT_TRUE(f.left && f.wrap && !f.right && !f.clamp);
  const Form g = form("shf.r.clamp.b32");
  EXPECT_TRUE(g.right && g.clamp && !g.left && !g.wrap);
  EXPECT_TRUE(form("bfind.shiftamt.u64").shift_amount);
  EXPECT_TRUE(form("bmsk.clamp.b32").clamp);
}

TEST(FormOf, ReadsFloatingFlags) {
  const Form f = form("min.ftz.NaN.xorsign.abs.f32");
  EXPECT_TRUE(f.ftz && f.nan && f.xorsign && f.abs);
  EXPECT_TRUE(form("fma.rn.relu.bf16x2").relu);
  EXPECT_TRUE(form("div.full.f32").full);
  EXPECT_TRUE(form("ex2.approx.ftz.f32").approx);
  EXPECT_TRUE(form("fma.rz.sat.f32").sat);
  EXPECT_TRUE(form("bra.uni").uniform);
}

TEST(FormOf, ReadsModes) {
  EXPECT_EQ(form("prmt.b32").mode, "");
  EXPECT_EQ(form("prmt.b32.rc16").mode, "rc16");
  EXPECT_EQ(form("testp.subnormal.f32").mode, "subnormal");
  EXPECT_EQ(form("vabsdiff4.u32.u32.u32.add").mode, "add");
}

TEST(FormOf, OfThreeTypesTheSourcesMustAgree) {
  const Form f = form("vabsdiff4.u32.s32.s32");
  EXPECT_TRUE(f.type.is(Type::u, 32));
  EXPECT_TRUE(f.from.is(Type::s, 32));
  EXPECT_FALSE(f.unknown_part);
  EXPECT_TRUE(form("vadd4.u32.s32.u32").unknown_part);
}

TEST(FormOf, SaysWhenAPartIsUnknown) {
  EXPECT_TRUE(form("add.b1").unknown_part);
  EXPECT_TRUE(form("fma.rn.oob.bf16x2").unknown_part);
  EXPECT_TRUE(form("setp.lt.whatever.f32").unknown_part);
  EXPECT_TRUE(form("add.nan.f32").unknown_part);
  EXPECT_TRUE(form("add.rc8.u32").unknown_part);
}

/// The names of the arithmetic that nvcc emits at sm_75, sm_80 and sm_90 for many kernels.
TEST(FormOf, KnowsEveryPartOfCommonNames) {
  for (const std::string_view name : {"abs.ftz.f32",
                                      "add.cc.s64",
                                      "add.sat.s32",
                                      "add.rz.ftz.f32",
                                      "add.u16x2",
                                      "addc.cc.u32",
                                      "and.pred",
                                      "bfe.s32",
                                      "bfi.b64",
                                      "bfind.shiftamt.s32",
                                      "bmsk.wrap.b32",
                                      "brev.b64",
                                      "clz.b64",
                                      "cnot.b32",
                                      "copysign.f64",
                                      "cos.approx.ftz.f32",
                                      "cvt.rn.bf16x2.f32",
                                      "cvt.rzi.ftz.u32.f32",
                                      "cvt.sat.u8.s32",
                                      "div.rn.f32",
                                      "div.full.ftz.f32",
                                      "dp2a.hi.s32.s32",
                                      "dp4a.s32.u32",
                                      "ex2.approx.f16x2",
                                      "fma.rn.ftz.sat.f32",
                                      "fns.b32",
                                      "lg2.approx.f32",
                                      "lop3.b32",
                                      "mad.lo.cc.u32",
                                      "mad.wide.u32",
                                      "madc.hi.cc.u32",
                                      "max.s16x2.relu",
                                      "max.xorsign.abs.f32",
                                      "min.NaN.bf16",
                                      "mov.pred",
                                      "mul.hi.s64",
                                      "neg.ftz.f16x2",
                                      "not.pred",
                                      "popc.b64",
                                      "prmt.b32.f4e",
                                      "rcp.approx.ftz.f64",
                                      "rem.u32",
                                      "rsqrt.approx.ftz.f32",
                                      "sad.u32",
                                      "selp.f64",
                                      "set.lt.ftz.u32.f16x2",
                                      "setp.neu.f64",
                                      "setp.le.f16x2",
                                      "shf.r.wrap.b32",
                                      "shl.b16",
                                      "shr.s64",
                                      "slct.ftz.f32.f32",
                                      "sqrt.rn.f64",
                                      "subc.cc.s64",
                                      "szext.clamp.s32",
                                      "tanh.approx.f16x2",
                                      "testp.subnormal.f32",
                                      "vabsdiff4.u32.u32.u32.add",
                                      "xor.b64"}) {
    EXPECT_FALSE(form(name).unknown_part) << name;
  }
}

}  // namespace
}  // namespace warploom::sim
