#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace warploom::ptx {

enum class Space : std::uint8_t {
  none,
  generic,
  global,
  shared,
  shared_cluster,
  local,
  constant,
  param,
  tex
};

/// Mnemonics of PTX ISA 9.0, the part before the first dot; `unknown` for any other.
// clang-format off
enum class Op : std::uint8_t {
  unknown,
  abs_, activemask, add, addc, alloca_, and_, applypriority, atom, bar, barrier, bfe, bfi, bfind, bmsk, bra,
  brev, brkpt, brx, call, clmad, clusterlaunchcontrol, clz, cnot, copysign, cos_, cp, createpolicy, cvt, cvta,
  discard, div, dp2a, dp4a, elect, ex2, exit_, fence, fma, fns, getctarank, griddepcontrol, isspacep, istypep,
  ld, ldmatrix, ldu, lg2, lop3, mad, mad24, madc, mapa, match, max_, mbarrier, membar, min_, mma, mov, movmatrix,
  mul, mul24, multimem, nanosleep, neg, not_, or_, pmevent, popc, prefetch, prefetchu, prmt, rcp, red, redux, rem,
  ret, rsqrt, sad, selp, set, setmaxnreg, setp, shf, shfl, shl, shr, sin_, slct, sqrt_, st, stackrestore, stacksave,
  stmatrix, sub, subc, suld, suq, sured, sust, szext, tanh_, tcgen05, tensormap, testp, tex, tld4, trap, txq,
  vabsdiff, vabsdiff2, vabsdiff4, vadd, vadd2, vadd4, vavrg2, vavrg4, vmad, vmax, vmax2, vmax4, vmin, vmin2, vmin4,
  vote, vset, vset2, vset4, vshl, vshr, vsub, vsub2, vsub4, wgmma, wmma, xor_, count_
};
// clang-format on

/// One distinct instruction name, `ld.volatile.shared.v4.f32`, decoded once a module.
struct Opcode {
  std::string_view text = {};  ///< the whole name
  std::vector<std::string_view> parts =
      {};  ///< "ld", "volatile", "shared", "v4", "f32"; `::` stays inside a part
  Op op = Op::unknown;
  /// The state space it names, of a copy the destination's (cp.async, tensormap); generic where it takes
  /// an address and names none; none where it takes no address.
  Space space = Space::none;
  std::uint8_t vector = 1;  ///< elements of .v2 .v4 .v8
  /// Of one element of its last type; 0: no type (cp.async, st.bulk: the size is an operand).
  /// Of ldmatrix, stmatrix and wmma it is the matrix element, not what a thread moves.
  std::uint16_t bytes = 0;
  /// Leading operands that are written; a pair `r|p`, a vector and a sink count as one. Of wgmma.mma_async
  /// the destination is read too; call has its own lists and counts 0, as does Op::unknown.
  std::uint8_t destinations = 0;
  bool volatile_ = false;

  bool has(std::string_view part) const;
};

Op op_from(std::string_view mnemonic);
std::string_view mnemonic(Op op);
/// Bytes of a PTX type name ("b32", "f16x2", "pred" is 1); 0 when it is not one.
std::uint16_t type_bytes(std::string_view type);
/// Decodes an instruction name.
Opcode decode(std::string_view text);

}  // namespace warploom::ptx
