#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "reuse/analysis/kernel.hpp"

namespace warploom::reuse {

/// What is known of a register in one thread: an object's address + an unknown + a number, each of the
/// first two possibly absent, modulo the register's width. Equal symbols stand for equal unknowns within
/// one thread. Of a predicate the sum is modulo 2, so that `bits` tells whether the unknown is negated.
struct Cell {
  std::uint64_t bits = 0;
  std::uint32_t symbol = 0;      ///< 0: none
  std::uint32_t object = kNone;  ///< SharedUse::objects

  bool number() const { return symbol == 0 && object == kNone; }
  bool operator==(const Cell&) const = default;
};

/// One input of a computation.
struct Source {
  enum Kind : std::uint8_t { constant, value, tid, ntid, lane } kind = constant;
  std::uint8_t axis = 0;     ///< of tid and ntid
  bool negated = false;      ///< !p
  std::uint32_t id = kNone;  ///< of a value: Values::all
  Cell cell;                 ///< of a constant
};

/// An integer or predicate instruction, decoded once and evaluated for many threads.
struct Computation {
  ptx::Op op = ptx::Op::unknown;
  std::uint8_t bits = 32;  ///< of the operands; 1 of predicates
  std::uint8_t result_bits = 32;
  bool is_signed = false;
  enum Half : std::uint8_t { low, high, wide } half = low;  ///< of a product
  enum Compare : std::uint8_t { eq, ne, lt, le, gt, ge } compare = eq;
  ptx::Op combine = ptx::Op::unknown;  ///< of setp with a predicate: and, or, xor
  bool left = false, wraps = false;    ///< of a funnel shift
  std::array<Source, 5> sources;
  std::uint8_t source_count = 0;
};

/// The computation of an instruction's first destination, guard aside; none where it is not one of the
/// integer instructions that addresses and predicates are made of, or reads what no thread index tells.
/// Thread indices count as known only when the block size is.
std::optional<Computation> decode_computation(const Kernel& kernel, std::uint32_t instruction);

/// Its value for these inputs; none where it is not of the form of a Cell.
/// Arithmetic is that of PTX ISA 9.0, section 9.7, in the operands' width.
std::optional<Cell> evaluate(const Computation& computation, const Cell* inputs);

/// The operand of an address, a guard or a move as an input; none where it cannot be known.
std::optional<Source> decode_source(const Kernel& kernel, std::uint32_t operand);

}  // namespace warploom::reuse
