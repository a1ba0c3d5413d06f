#pragma once

#include <cstdint>
#include <string_view>

#include "warploom/ptx/opcode.hpp"

namespace warploom::sim {

/// An operand type: u32 is {u, 32, 1}, f16x2 {f, 16, 2}, bf16 {bf, 16, 1}, tf32 {tf, 32, 1}, pred {pred, 1,
/// 1}.
struct Type {
  enum Kind : std::uint8_t { none, b, u, s, f, bf, tf, e4m3, e5m2, pred };
  Kind kind = none;
  std::uint8_t bits = 0;    ///< of one element
  std::uint8_t packed = 1;  ///< elements of .x2, .x4
  constexpr unsigned bytes() const { return kind == pred ? 4 : bits * packed / 8; }
  constexpr bool integer() const { return kind == b || kind == u || kind == s; }
  constexpr bool is(Kind k, unsigned n, unsigned p = 1) const {
    return kind == k && bits == n && packed == p;
  }
  constexpr bool operator==(const Type&) const = default;
};

enum class Rounding : std::uint8_t { none, rn, rz, rm, rp, rna, rni, rzi, rmi, rpi };
enum class Comparison : std::uint8_t {
  none,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  lo,
  ls,
  hi,
  hs,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan
};
enum class Combine : std::uint8_t { none, and_, or_, xor_ };

/// What the parts of an instruction name say, as far as arithmetic goes.
struct Form {
  ptx::Op op = ptx::Op::unknown;
  Type type;  ///< first type named: of the destination, or of all
  Type from;  ///< second type named (cvt, set, slct, fma of mixed types, dp4a); else equal to `type`
  Rounding rounding = Rounding::none;
  Comparison comparison = Comparison::none;
  Combine combine = Combine::none;
  bool hi = false, lo = false, wide = false;  ///< mul.hi, dp2a.lo
  bool ftz = false, sat = false, satfinite = false, relu = false, nan = false, xorsign = false, abs = false;
  bool approx = false, full = false;
  bool carry = false;  ///< .cc, addc, subc, madc: Step::second is the carry; see carry_in, carry_out
  bool carry_in = false, carry_out = false;
  bool left = false, right = false, clamp = false, wrap = false;  ///< shf, bmsk, szext
  bool shift_amount = false;                                      ///< bfind.shiftamt
  bool uniform = false;
  std::string_view
      mode;  ///< of prmt: f4e b4e rc8 ecl ecr rc16; of testp: finite infinite number ...; else empty
  bool unknown_part = false;  ///< the name has a part that this does not describe
};

/// Reads an instruction name. Never fails: see unknown_part.
Form form_of(const ptx::Opcode& opcode);
/// Type of a PTX type name; Type::none when it is not one.
Type type_of(std::string_view name);

}  // namespace warploom::sim
