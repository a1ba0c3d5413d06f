#include "reuse/analysis/instruction_kind.hpp"

#include "reuse/analysis/objects.hpp"

namespace warploom::reuse {

using namespace ptx;

bool is_arithmetic(Op op) {
  switch (op) {
    case Op::abs_:
    case Op::add:
    case Op::addc:
    case Op::and_:
    case Op::bfe:
    case Op::bfi:
    case Op::bfind:
    case Op::bmsk:
    case Op::brev:
    case Op::clz:
    case Op::cnot:
    case Op::copysign:
    case Op::cvt:
    case Op::cvta:
    case Op::fma:
    case Op::fns:
    case Op::lop3:
    case Op::mad:
    case Op::mad24:
    case Op::madc:
    case Op::max_:
    case Op::min_:
    case Op::mov:
    case Op::mul:
    case Op::mul24:
    case Op::neg:
    case Op::not_:
    case Op::or_:
    case Op::popc:
    case Op::prmt:
    case Op::rem:
    case Op::div:
    case Op::sad:
    case Op::selp:
    case Op::shf:
    case Op::shfl:
    case Op::shl:
    case Op::shr:
    case Op::slct:
    case Op::sub:
    case Op::subc:
    case Op::szext:
    case Op::xor_:
    case Op::dp2a:
    case Op::dp4a:
      return true;
    default:
      return false;
  }
}

std::uint32_t least_operands(const Opcode& o) {
  switch (o.op) {
    case Op::ld:
    case Op::ldu:
    case Op::ldmatrix:
    case Op::atom:
    case Op::st:
    case Op::stmatrix:
    case Op::wmma:
    case Op::mov:
      return 2;
    case Op::sub:
      return 3;
    case Op::red:
      return 1;
    default:
      return 0;
  }
}

bool is_comparison(Op op) { return op == Op::setp || op == Op::set; }

bool is_harmless_callee(std::string_view name) {
  return name == "vprintf" || name == "__assertfail" || name == "malloc" || name == "free" ||
         name == "__nv_fdividef" || name == "__nanosleep";
}

}  // namespace warploom::reuse
