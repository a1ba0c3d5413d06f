#pragma once

#include <set>
#include <span>
#include <utility>
#include <vector>

#include "reuse/check/bits.hpp"
#include "warploom/ptx/cfg.hpp"

/// Reaching definitions of registers. PTX is no SSA form: a register may be a pointer here and a
/// temporary there.
namespace warploom::reuse::checking {

/// Visits every register in an operand, however deep.
template <typename F>
void for_each_register(const ptx::Function& f, const ptx::Operand& o, F visit) {
  if (o.kind == ptx::OperandKind::reg) visit(o.id);
  if (o.kind == ptx::OperandKind::address || o.kind == ptx::OperandKind::vector ||
      o.kind == ptx::OperandKind::list || o.kind == ptx::OperandKind::pair)
    for (const ptx::Operand& child : f.children(o)) for_each_register(f, child, visit);
}

struct Definition {
  std::uint32_t instruction = 0, reg = 0;
  bool kills = true;  ///< false: guarded, or only a part of the register
};

class Flow {
 public:
  explicit Flow(const ptx::Cfg& cfg);

  const std::vector<Definition>& definitions() const { return definitions_; }
  /// Of one instruction: indices [first, last) into definitions().
  std::pair<std::uint32_t, std::uint32_t> defined_by(std::uint32_t instruction) const {
    return {first_definition_[instruction], first_definition_[instruction + 1]};
  }
  const std::vector<std::uint32_t>& definitions_of(std::uint32_t reg) const { return of_register_[reg]; }
  /// Registers that an instruction reads, its guard among them, each once.
  std::span<const std::uint32_t> reads(std::uint32_t instruction) const;
  /// Definitions of a register that the instruction reads.
  std::span<const std::uint32_t> reaching(std::uint32_t instruction, std::uint32_t reg) const;
  /// Definitions of any register that may hold just before the instruction.
  std::vector<std::uint32_t> reaching_before(std::uint32_t instruction, std::uint32_t reg) const;
  /// Whether the effect of an instruction on registers is not known: it may write each it names.
  bool opaque(std::uint32_t instruction) const;
  /// Operands that are read: all but the leading destinations.
  std::span<const ptx::Operand> sources(std::uint32_t instruction) const;
  /// Reads in `loop` that may see a value which an earlier iteration of it defined: (instruction, register).
  std::set<std::pair<std::uint32_t, std::uint32_t>> reads_of_earlier_iterations(const ptx::Loop& loop) const;

 private:
  void find_definitions();
  void find_reaching();
  void collect_uses();
  bool tracked(std::uint32_t reg) const { return of_register_[reg].size() > 1; }

  const ptx::Cfg& cfg_;
  std::vector<Definition> definitions_;
  std::vector<std::uint32_t> first_definition_;
  std::vector<std::vector<std::uint32_t>> of_register_;
  std::vector<std::uint32_t> bit_of_;  ///< definition -> bit, for registers defined more than once
  std::vector<std::uint32_t> definition_of_bit_;
  std::vector<Bits> in_;  ///< per block
  std::vector<std::uint32_t> reads_, first_read_;
  std::vector<std::uint32_t> reached_, first_reached_;  ///< per entry of reads_
};

}  // namespace warploom::reuse::checking
