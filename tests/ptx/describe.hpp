#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "warploom/ptx/module.hpp"

namespace warploom::ptx {

/// A module with one kernel `k` around these statements; its third line is their first.
inline std::string kernel(std::string_view body) {
  return fmt::format(".version 8.0 .target sm_90 .address_size 64\n.visible .entry k() {{\n{}\n}}\n", body);
}

/// An operand's structure in words: "[reg %r1 + -4]", "{reg %f1, _}", "%p1|%p2" as "reg %p1 | reg %p2".
inline std::string describe(const Module& m, const Function& f, const Operand& o) {
  const auto list = [&](std::string_view separator) {
    std::string text;
    for (const Operand& child : f.children(o))
      text += (text.empty() ? "" : std::string(separator)) + describe(m, f, child);
    return text;
  };
  const std::string offset = o.value != 0 ? fmt::format(" + {}", o.value) : "";
  switch (o.kind) {
    case OperandKind::reg:
      return fmt::format("{}reg {}{}", o.negated ? "not " : "", f.registers[o.id].name,
                         o.component == 0xff ? "" : fmt::format(" component {}", o.component));
    case OperandKind::special:
      return fmt::format("special {}", m.text_of(o.span));
    case OperandKind::integer:
      return fmt::format("{}", o.value);
    case OperandKind::real:
      return fmt::format("bits {:x}", static_cast<std::uint64_t>(o.value));
    case OperandKind::symbol:
      return fmt::format("symbol {}{}", m.variables[o.id].name, offset);
    case OperandKind::label:
      return fmt::format("label {} at {}", f.labels[o.id].name, f.labels[o.id].instruction);
    case OperandKind::function:
      return fmt::format("function {}", m.functions[o.id].name);
    case OperandKind::address:
      return fmt::format("[{}{}]", list(", "), offset);
    case OperandKind::vector:
      return fmt::format("{{{}}}", list(", "));
    case OperandKind::list:
      return fmt::format("({})", list(", "));
    case OperandKind::pair:
      return list(" | ");
    case OperandKind::sink:
      return "_";
    case OperandKind::unknown:
      return fmt::format("unknown '{}'", m.text_of(o.span));
  }
  return "";
}

/// The operands of one instruction, separated by "; ".
inline std::string describe(const Module& m, const Function& f, const Instruction& i) {
  std::string text;
  for (const Operand& o : f.operands_of(i)) text += (text.empty() ? "" : "; ") + describe(m, f, o);
  return text;
}

}  // namespace warploom::ptx
