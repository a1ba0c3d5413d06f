#pragma once

#include <cstdint>

#include "warploom/ptx/opcode.hpp"

namespace warploom::reuse {

/// Results are arithmetic of the operands, with no other effect.
bool is_arithmetic(ptx::Op op);
/// Operands that the analysis of addresses relies on; fewer are no valid PTX.
std::uint32_t least_operands(const ptx::Opcode& o);
/// Results are predicates.
bool is_comparison(ptx::Op op);

}  // namespace warploom::reuse
