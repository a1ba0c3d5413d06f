#pragma once

#include <cstdint>
#include <vector>

#include "warploom/ptx/cfg.hpp"

namespace warploom::ptx {

/// One definition of a register that a use may see: static single assignment, laid over the PTX.
/// PTX is not SSA where it matters (447 of 1,653 surveyed kernels define a pointer register twice), and
/// a flow-insensitive view of such registers merges arrays wrongly.
struct Value {
  enum Kind : std::uint8_t {
    undefined,   ///< read before any definition
    definition,  ///< written by `instruction`
    guarded,     ///< written by `instruction` in part, or perhaps not at all: the new value or `inputs[0]`
    phi,         ///< at the head of `block`, one input a predecessor
  } kind = undefined;
  std::uint32_t reg = kNone;
  std::uint32_t instruction = kNone;
  std::uint32_t block = kNone;
  std::uint32_t first_input = 0, input_count = 0;  ///< Values::inputs
};

struct Values {
  std::vector<Value> all = {};
  std::vector<std::uint32_t> inputs = {};
  /// Per operand of the function: the value read by, or defined by, a register operand; kNone for others.
  /// Of an unknown instruction, which may write what it reads: the value after it.
  std::vector<std::uint32_t> of_operand = {};
  /// Per instruction: the guard's value, or kNone.
  std::vector<std::uint32_t> of_guard = {};
  /// Per block: its phis.
  std::vector<std::vector<std::uint32_t>> phis = {};

  // Unchecked, for inner loops: a value of these.
  const std::uint32_t* begin_inputs(const Value& v) const { return inputs.data() + v.first_input; }
  const std::uint32_t* end_inputs(const Value& v) const { return begin_inputs(v) + v.input_count; }
};

/// Calls `visit(operand, operand_index, is_definition)` for every register operand of an instruction,
/// those inside addresses, vectors, lists and pairs included. An unknown instruction reads and may write
/// all of them: it visits each twice. Unchecked, for inner loops: the instruction is of the function.
template <class Visit>
void for_each_register(const Module& module, const Function& f, const Instruction& i, Visit visit) {
  const auto walk = [&](auto& self, std::uint32_t index, bool written) -> void {
    const Operand& o = f.operands[index];
    switch (o.kind) {
      case OperandKind::reg:
        visit(o, index, written);
        break;
      case OperandKind::address:
        for (std::uint32_t c = 0; c < o.count; ++c) self(self, o.id + c, false);
        break;
      case OperandKind::vector:
      case OperandKind::list:
      case OperandKind::pair:
        for (std::uint32_t c = 0; c < o.count; ++c) self(self, o.id + c, written);
        break;
      default:
        break;
    }
  };
  const Opcode& opcode = module.opcode(i);
  for (std::uint32_t k = 0; k < i.operand_count; ++k) {
    // `call (results), f, (arguments)`: only the list before the function is written.
    const bool written = opcode.op == Op::call ? k == 0 && i.operand_count > 1 &&
                                                     f.operands[i.first_operand].kind == OperandKind::list
                                               : k < opcode.destinations;
    if (opcode.op == Op::unknown) walk(walk, i.first_operand + k, true);
    walk(walk, i.first_operand + k, written);
  }
}

/// Cytron et al. 1991; phis only for registers that live across blocks and have several definitions (or
/// a definition that does not dominate its uses). Near-linear. @throws BadInput (a Cfg of no function)
Values number_values(const Cfg& cfg);

}  // namespace warploom::ptx
