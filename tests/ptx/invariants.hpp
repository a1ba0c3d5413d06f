#pragma once

#include <fmt/format.h>

#include <string>

#include "warploom/ptx/module.hpp"

namespace warploom::ptx {

/// What must hold of every parsed module, whatever its text. Returns the first thing that does not, or "".
inline std::string broken_invariant(const Module& m) {
  const auto size = static_cast<std::uint32_t>(m.text.size());
  const auto inside = [](Span inner, Span outer) {
    return outer.begin <= inner.begin && inner.begin <= inner.end && inner.end <= outer.end;
  };
  const Span whole{0, size};
  for (const Variable& v : m.variables) {
    if (!inside(v.declaration, whole) || !inside(v.name_span, v.declaration) ||
        m.text_of(v.name_span) != v.name)
      return fmt::format("variable '{}': its spans", v.name);
    if (v.function != kNone && v.function >= m.functions.size())
      return fmt::format("variable '{}': its function", v.name);
  }
  for (const Reference& r : m.references)
    if (r.variable >= m.variables.size() || !inside(r.span, whole) ||
        m.text_of(r.span) != m.variables[r.variable].name)
      return fmt::format("reference at byte {}", r.span.begin);
  for (std::size_t i = 0; i < m.locations.size(); ++i)
    if (m.locations[i].inlined_at != kNone && m.locations[i].inlined_at >= m.locations.size())
      return fmt::format("location {}: inlined nowhere", i);

  std::uint32_t after_function = 0;
  for (const Function& f : m.functions) {
    const auto fail = [&](std::string what, Span at) {
      return fmt::format("function '{}': {} at byte {}", f.name, what, at.begin);
    };
    if (f.span.begin < after_function || !inside(f.span, whole) || !inside(f.header, f.span))
      return fail("its span", f.span);
    if (f.has_body &&
        (!inside(f.body, f.span) || m.text[f.body.begin] != '{' || m.text[f.body.end - 1] != '}'))
      return fail("its body", f.body);
    after_function = f.span.end;

    for (const Label& l : f.labels) {
      if (l.instruction > f.instructions.size()) return fmt::format("label '{}' stands nowhere", l.name);
      for (const std::uint32_t t : l.targets)
        if (t >= f.labels.size()) return fmt::format("label '{}' lists no label", l.name);
    }
    for (const Operand& o : f.operands) {
      if (!inside(o.span, f.body)) return fail("operand outside the body", o.span);
      const std::size_t limit = o.kind == OperandKind::reg        ? f.registers.size()
                                : o.kind == OperandKind::symbol   ? m.variables.size()
                                : o.kind == OperandKind::label    ? f.labels.size()
                                : o.kind == OperandKind::function ? m.functions.size()
                                                                  : std::size_t{kNone};
      const bool composite = o.kind == OperandKind::address || o.kind == OperandKind::vector ||
                             o.kind == OperandKind::list || o.kind == OperandKind::pair;
      if (composite) {
        if (std::size_t{o.id} + o.count > f.operands.size()) return fail("children out of range", o.span);
        std::uint32_t after = o.span.begin;
        for (const Operand& child : f.children(o)) {
          if (child.span.begin < after || !inside(child.span, o.span))
            return fail("child out of place", child.span);
          after = child.span.end;
        }
      } else if (o.count != 0 || (limit != kNone && o.id >= limit)) {
        return fail("operand without a meaning", o.span);
      }
      const std::string_view text = m.text_of(o.span);
      if (o.kind == OperandKind::reg && !o.negated && !text.starts_with(f.registers[o.id].name))
        return fail("register of another name", o.span);
      if (o.kind == OperandKind::symbol && !text.starts_with(m.variables[o.id].name))
        return fail("variable of another name", o.span);
      if (o.kind == OperandKind::label && text != f.labels[o.id].name)
        return fail("label of another name", o.span);
    }
    std::uint32_t after = f.body.begin, line = f.line;
    for (const Instruction& i : f.instructions) {
      if (i.span.begin < after || !inside(i.span, f.body)) return fail("instruction out of place", i.span);
      if (i.opcode >= m.opcodes.size()) return fail("instruction without an opcode", i.span);
      const std::string_view text = m.text_of(i.span);
      if (!text.ends_with(';') || (i.guard == kNone) == text.starts_with('@'))
        return fail("instruction not from guard to semicolon", i.span);
      if (i.guard == kNone && !text.starts_with(m.opcode(i).text))
        return fail("instruction without its name", i.span);
      if (i.guard != kNone && i.guard >= f.registers.size()) return fail("guard without a register", i.span);
      if (i.line < line) return fail("line goes back", i.span);
      if (i.location != kNone && i.location >= m.locations.size())
        return fail("location out of range", i.span);
      if (std::size_t{i.first_operand} + i.operand_count > f.operands.size())
        return fail("operands out of range", i.span);
      if (m.opcode(i).destinations > i.operand_count) return fail("fewer operands than destinations", i.span);
      std::uint32_t operand_after = i.span.begin;
      for (const Operand& o : f.operands_of(i)) {
        if (o.span.begin < operand_after || !inside(o.span, i.span))
          return fail("operand out of place", o.span);
        operand_after = o.span.end;
      }
      after = i.span.end;
      line = i.line;
    }
  }
  return "";
}

}  // namespace warploom::ptx
