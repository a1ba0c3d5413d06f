#pragma once

#include "sim/form.hpp"
#include "sim/step.hpp"

/// Handlers of the instructions that compute lane by lane, from sources a, b, c, d to the destination. These
/// files are compiled twice, for any x86-64 (or another processor) and for AVX2 with FMA; decode.cpp takes
/// the set that the processor can run. So nothing here may be an inline function with external linkage of a
/// header that other files use, and no template of the standard library is instantiated: everything has
/// internal linkage, or comes from registers.hpp and lane_loop.hpp.
///
/// Widths: a source or destination has the bytes of its type: `type` for all, but for
///   shl shr: b is u32.  shf: all u32.  bfe: b, c u32.  bfi: c, d u32.  bfind popc clz: destination u32.
///   fns: all 32 bits.  bmsk szext: b u32.  prmt lop3: all u32 (lop3's table is Step::immediate).
///   mul.wide: destination twice as wide.  mad.wide: destination and c twice as wide.
///   mul24 mad24 sad: as type.  dp2a dp4a: all 32 bits (`type` is a's signedness, `from` b's).
///   setp: destination (and second, kNoSlot if absent) Mask; a, b `type`; c Mask if combine != none.
///   set: destination `type`, a and b `from`; c Mask if combine.  selp: c Mask.  slct: c `from`.
///   testp: destination Mask.  and, or, xor, not, mov, cnot of pred: Masks.  isspacep is not here.
///   cvt: destination register may be wider than `type`, source register wider than `from`: see conversion().
///   fma of mixed types (fma.rn.f32.f16...): destination and c `type`, a and b `from`.
/// 8-bit types live in 16-bit registers. Predicates with '!' are told by Step::negated.
namespace warploom::sim::WARPLOOM_INSTRUCTION_SET {

/// add sub mul mad mul24 mad24 sad div rem abs neg min max addc subc madc, the same on u16x2 s16x2, and, or,
/// xor, not, cnot, lop3, shl, shr, shf, bfe, bfi, bfind, brev, popc, clz, fns, bmsk, szext, prmt, dp2a, dp4a,
/// the video instructions vabsdiff4 vadd4 vsub4 vavrg4 vmin4 vmax4 vset4 and their 2-element forms, mov.
Handler integer(const Form& form);
/// setp, set, selp, slct, testp of every type (half types too).
Handler comparison(const Form& form);
/// add sub mul mad fma div rcp sqrt rsqrt abs neg min max (of 3 operands too) copysign sin cos lg2 ex2 tanh
/// of f32, f64 and f32x2.
Handler floating(const Form& form);
/// The same of f16, f16x2, bf16, bf16x2, and mixed fma/add/sub.
Handler half(const Form& form);
/// cvt. `to_bytes` and `from_bytes`: widths of the registers (2, 4, 8); results of narrower types are zero-
/// or sign-extended by the signedness of `type`. Packed cvt.rn.f16x2.f32 d, a, b: a is the high half.
Handler conversion(const Form& form, unsigned to_bytes, unsigned from_bytes);

/// nullptr: not known. Every one of these is a function of its arguments alone.

}  // namespace warploom::sim::WARPLOOM_INSTRUCTION_SET
