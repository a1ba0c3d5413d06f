#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>

#include "warploom/ptx/opcode.hpp"

/// Instructions by what their results depend on.
namespace warploom::reuse::checking {

/// A set of instructions: a look into a table.
class Operations {
 public:
  constexpr Operations(std::initializer_list<ptx::Op> members) {
    for (const ptx::Op op : members) is_member_[static_cast<std::size_t>(op)] = true;
  }
  constexpr bool contains(ptx::Op op) const { return is_member_[static_cast<std::size_t>(op)]; }

 private:
  std::array<bool, 256> is_member_{};
};

/// Integers from operands alone, unless they name the carry flag: through these an address stays known.
inline constexpr Operations kAddressArithmetic = [] {
  using enum ptx::Op;
  return Operations{mov, add,  sub,  mad, mad24, mul,  mul24, shl,  shr,  shf, and_, or_,  xor_, not_,
                    neg, lop3, prmt, bfe, bfi,   selp, slct,  min_, max_, cvt, cvta, abs_, rem,  div};
}();

/// More of which this is true, but nothing of an address is left.
inline constexpr Operations kOtherArithmetic = [] {
  using enum ptx::Op;
  return Operations{bfind, setp, set, popc, clz, brev, cnot, fma, sad};
}();

}  // namespace warploom::reuse::checking
