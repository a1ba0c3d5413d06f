// Accesses that are sure to be executed, and of which none stays inside its array. Compilers leave rests of
// unrolled loops that never run, so it matters that somebody comes there: every thread, or thread (0, 0, 0).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "reuse/analysis/parts.hpp"

namespace warploom::reuse {
namespace {

using ptx::Op;

/// The way of thread (0, 0, 0) through the kernel: by the branches that its index alone decides; of others it
/// takes some side, and is sure to be where both meet again.
class FirstThread {
 public:
  FirstThread(const Kernel& kernel, ptx::AddressRanges& ranges, const ptx::DominatorTree& post)
      : kernel_(kernel), ranges_(ranges), reached_(kernel.cfg.blocks.size()) {
    const ptx::Graph& graph = kernel.cfg.graph;
    for (std::uint32_t b = kernel.cfg.order.at(0); b < graph.size() && !reached_[b];) {
      reached_[b] = true;
      const auto& next = graph.successors[b];
      const ptx::Block& block = kernel.cfg.blocks[b];
      std::optional<bool> taken = true;
      if (block.last > block.first) {
        const ptx::Instruction& last = kernel.instruction(block.last - 1);
        const Op op = kernel.module->opcode(last).op;
        taken = executes(block.last - 1);
        if ((op == Op::ret || op == Op::exit_ || op == Op::trap) && taken != false) return;
        if (op != Op::bra) taken = std::nullopt;
        if (op == Op::bra && taken && next.size() == 2) {
          const ptx::Operand& label = kernel.function->operands[last.first_operand];
          if (label.kind == ptx::OperandKind::label) {
            const std::uint32_t to = kernel.function->labels[label.id].instruction;
            const std::uint32_t target = to < kernel.cfg.block_of.size()
                                             ? kernel.cfg.block_of[to]
                                             : static_cast<std::uint32_t>(kernel.cfg.blocks.size()) - 1;
            b = *taken ? target : next[0] == target ? next[1] : next[0];
            continue;
          }
        }
      }
      b = next.size() == 1 ? next[0] : post.parent(b);
    }
  }

  bool comes_to(std::uint32_t instruction) const {
    return reached_[kernel_.cfg.block_of[instruction]] && executes(instruction) == true;
  }

 private:
  /// Whether it passes the instruction's guard.
  std::optional<bool> executes(std::uint32_t instruction) const {
    const ptx::Instruction& i = kernel_.instruction(instruction);
    if (i.guard == kNone) return true;
    const std::optional<bool> holds = truth(kernel_.values.of_guard[instruction], 0);
    if (!holds) return std::nullopt;
    return *holds != i.guard_negated;
  }

  std::optional<bool> truth(std::uint32_t value, unsigned depth) const {
    constexpr unsigned kDeepest = 8;
    if (value == kNone || depth > kDeepest) return std::nullopt;
    const Value& v = kernel_.values.all[value];
    if (v.kind != Value::definition) return std::nullopt;
    const ptx::Instruction& i = kernel_.instruction(v.instruction);
    const ptx::Opcode& o = kernel_.module->opcode(i);
    const auto operand = [&](unsigned k) -> std::optional<bool> {
      const ptx::Operand& of = kernel_.function->operands[i.first_operand + k];
      if (of.kind != ptx::OperandKind::reg) return std::nullopt;
      const std::optional<bool> holds = truth(kernel_.values.of_operand[i.first_operand + k], depth + 1);
      if (!holds) return std::nullopt;
      return *holds != of.negated;
    };
    switch (o.op) {
      case Op::setp:
        return i.operand_count == 3 ? comparison(i, o) : std::nullopt;
      case Op::not_: {
        const std::optional<bool> a = operand(1);
        if (!a) return std::nullopt;
        return !*a;
      }
      case Op::and_:
      case Op::or_: {
        if (i.operand_count != 3) return std::nullopt;
        const bool decides = o.op == Op::or_;
        const std::optional<bool> a = operand(1), b = operand(2);
        if (a == decides || b == decides) return decides;
        return a && b ? std::optional(!decides) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  std::optional<bool> comparison(const ptx::Instruction& i, const ptx::Opcode& o) const {
    const std::string_view type = o.parts.back();
    const bool is_signed = type[0] == 's';
    if ((!is_signed && type[0] != 'u' && type[0] != 'b') || o.parts.size() != 3) return std::nullopt;
    const unsigned bits = type.ends_with("64") ? 64 : type.ends_with("32") ? 32 : 0;
    const auto a = number(i.first_operand + 1, bits), b = number(i.first_operand + 2, bits);
    if (bits == 0 || !a || !b) return std::nullopt;
    const bool less = is_signed ? static_cast<std::int64_t>(*a) < static_cast<std::int64_t>(*b) : *a < *b;
    const std::string_view how = o.parts[1];
    const std::array<std::pair<std::string_view, bool>, 10> ways{{{"eq", *a == *b},
                                                                  {"ne", *a != *b},
                                                                  {"lt", less},
                                                                  {"lo", less},
                                                                  {"ge", !less},
                                                                  {"hs", !less},
                                                                  {"le", less || *a == *b},
                                                                  {"ls", less || *a == *b},
                                                                  {"gt", !less && *a != *b},
                                                                  {"hi", !less && *a != *b}}};
    for (const auto& [name, holds] : ways)
      if (name == how) return holds;
    return std::nullopt;
  }

  /// What the thread has in a register, or a literal: sign-extended from so many bits.
  std::optional<std::uint64_t> number(std::uint32_t index, unsigned bits) const {
    const ptx::Operand& o = kernel_.function->operands[index];
    std::int64_t value = 0;
    if (o.kind == ptx::OperandKind::integer) {
      value = o.value;
    } else {
      if (o.kind != ptx::OperandKind::reg || kernel_.values.of_operand[index] == kNone) return std::nullopt;
      const std::optional<ptx::Linear> sum = ranges_.sum_of(kernel_.values.of_operand[index]);
      if (!sum) return std::nullopt;
      for (const auto& [term, factor] : sum->terms)  // the ids behind the values are %tid: 0 for this thread
        if (term < kernel_.values.all.size() || term >= kernel_.values.all.size() + 3) return std::nullopt;
      value = sum->constant;
    }
    if (bits == 32) value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
    return static_cast<std::uint64_t>(value);
  }

  const Kernel& kernel_;
  ptx::AddressRanges& ranges_;
  std::vector<bool> reached_;
};

}  // namespace

std::optional<Reason> find_overrun(const Kernel& kernel, ptx::AddressRanges& ranges) {
  std::optional<ptx::DominatorTree> post;
  std::optional<FirstThread> first;
  for (const Access& access : kernel.use.accesses) {
    if (access.objects.count() != 1 || access.bytes == 0 ||
        kernel.function->operands[access.address].kind != ptx::OperandKind::address)
      continue;
    const Object& o = kernel.use.objects[access.objects._Find_first()];
    const auto size = static_cast<std::int64_t>(o.bytes);
    // Ranges of all addresses take time: those are asked for whose displacement alone is no place in the
    // array.
    const std::int64_t displacement = kernel.function->operands[access.address].value;
    if (displacement >= 0 && displacement + access.bytes <= size) continue;
    const ptx::AddressRange range = ranges.of(access.instruction, access.address);
    if (o.dynamic || range.variable != o.variable || !range.least || !range.most) continue;
    const auto least = ranges.extremes(*range.least);
    const auto most = ranges.extremes(*range.most);
    // A number that far away may be the same address modulo 2^32 as one inside.
    if (!least || !most || least->first < -kNear || most->second > kNear) continue;
    if (least->first + access.bytes <= size && most->second >= 0) continue;
    if (!post) post = ptx::post_dominators(kernel.cfg.graph);
    const bool all_come = kernel.instruction(access.instruction).guard == kNone &&
                          post->dominates(kernel.cfg.block_of[access.instruction], kernel.cfg.order.at(0));
    if (!all_come) {
      if (!first) first.emplace(kernel, ranges, *post);
      if (!first->comes_to(access.instruction)) continue;
    }
    return Reason{fmt::format("an access of {} bytes, at offset {} or more{}, leaves '{}' of {} bytes",
                              access.bytes, least->first, most->second < 0 ? ", always below 0" : "",
                              kernel.module->variables[o.variable].name, o.bytes),
                  kernel.line(access.instruction)};
  }
  return std::nullopt;
}

}  // namespace warploom::reuse
