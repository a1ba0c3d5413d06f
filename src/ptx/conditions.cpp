#include "ptx/conditions.hpp"

#include <algorithm>

namespace warploom::ptx {

Conditions::Conditions(const Cfg& cfg, const Values& values) : cfg_(cfg), values_(values) {
  in_block_.resize(cfg.blocks.size());
  for (const std::uint32_t b : cfg.order) {  // dominators come first
    const std::uint32_t above = cfg.dominators.parent(b);
    if (above == kNone) continue;
    in_block_[b] = in_block_[above];
    // Only one way leads here from the dominator: its branch, taken to this side.
    if (cfg.graph.predecessors[b].size() == 1) collect_branch(above, b, in_block_[b]);
  }
}

void Conditions::collect(std::uint32_t predicate, bool holds, std::vector<Condition>& into,
                         unsigned depth) const {
  constexpr unsigned kDeepest = 16;
  if (predicate == kNone || depth > kDeepest) return;
  const Value& v = values_.all[predicate];
  if (v.kind != Value::definition) return;
  const Instruction& i = cfg_.instruction(v.instruction);
  const Opcode& o = cfg_.module->opcode(i);
  const auto operand = [&](unsigned k) { return cfg_.function->operands[i.first_operand + k]; };
  const auto follow = [&](unsigned k, bool value) {
    if (operand(k).kind == OperandKind::reg)
      collect(values_.of_operand[i.first_operand + k], value != operand(k).negated, into, depth + 1);
  };
  if (i.operand_count < 2 || operand(0).kind != OperandKind::reg) return;
  switch (o.op) {
    case Op::setp:
      if (i.operand_count == 3) into.push_back({v.instruction, holds});
      if (i.operand_count == 4 && (holds ? o.has("and") : o.has("or"))) {
        into.push_back({v.instruction, holds});
        follow(3, holds);
      }
      return;
    case Op::and_:
    case Op::or_:
      if (i.operand_count == 3 && holds == (o.op == Op::and_)) follow(1, holds), follow(2, holds);
      return;
    case Op::not_:
      return follow(1, !holds);
    case Op::mov:
      return follow(1, holds);
    default:
      return;
  }
}

void Conditions::collect_branch(std::uint32_t from, std::uint32_t to, std::vector<Condition>& into) const {
  const Block& block = cfg_.blocks[from];
  const auto& next = cfg_.graph.successors[from];
  if (block.first == block.last || next.size() != 2 || next[0] == next[1]) return;
  const std::uint32_t last = block.last - 1;
  const Instruction& i = cfg_.instruction(last);
  if (cfg_.module->opcode(i).op != Op::bra || i.guard == kNone || i.operand_count != 1) return;
  const Operand& label = cfg_.function->operands[i.first_operand];
  if (label.kind != OperandKind::label) return;
  const std::uint32_t target = cfg_.function->labels[label.id].instruction;
  const bool taken =
      target < cfg_.block_of.size() && cfg_.block_of[target] == to && cfg_.blocks[to].first == target;
  // A label at the end of the body has an empty block of its own.
  const bool at_end = target >= cfg_.block_of.size() && cfg_.blocks[to].first == cfg_.blocks[to].last;
  collect(values_.of_guard[last], (taken || at_end) != i.guard_negated, into);
}

std::vector<Condition> Conditions::on_edge(std::uint32_t from, std::uint32_t to) const {
  std::vector<Condition> all = in_block_[from];
  collect_branch(from, to, all);
  return all;
}

std::vector<Condition> Conditions::at(std::uint32_t instruction) const {
  std::vector<Condition> all = in_block_[cfg_.block_of[instruction]];
  const Instruction& i = cfg_.instruction(instruction);
  if (i.guard != kNone) collect(values_.of_guard[instruction], !i.guard_negated, all);
  return all;
}

}  // namespace warploom::ptx
