// What --assume-parts takes for granted, as assertions: a run of the kernel, in the simulator or on a GPU,
// names the access that leaves its part.
#include "reuse/rewrite/assumed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warploom::reuse {
namespace {

using ptx::OperandKind;

/// A string of global memory.
std::string global_string(const std::string& name, std::string_view text) {
  std::string bytes;
  for (const char c : text) bytes += fmt::format("{}, ", static_cast<unsigned char>(c));
  return fmt::format(".global .align 1 .b8 {}[{}] = {{{}0}};\n", name, text.size() + 1, bytes);
}

/// Reckons a sum of launch numbers into a register of 64 bits.
std::string reckoned(const ptx::Module& module, const Carving& carving, const ptx::Linear& sum,
                     const std::string& into) {
  if (Carving::is_open(sum))
    return fmt::format("mov.u32 %warploom_n, %dynamic_smem_size;\n\tcvt.u64.u32 {}, %warploom_n;\n\t", into);
  std::string text = fmt::format("mov.u64 {}, {};\n\t", into, sum.constant);
  for (const auto& [id, factor] : sum.terms) {
    const ptx::Unknown& u = carving.ranges().unknown(id);
    const std::string place = u.kind == ptx::Unknown::block_extent
                                  ? ""
                                  : fmt::format("[{}+{}]", module.variables[u.variable].name, u.offset);
    if (u.bytes == 8 && !place.empty())
      text += fmt::format("ld.param.u64 %warploom_x, {};\n\t", place);
    else if (!place.empty())
      text +=
          fmt::format("ld.param.u32 %warploom_n, {};\n\tcvt.u64.u32 %warploom_x, %warploom_n;\n\t", place);
    else
      text += fmt::format("mov.u32 %warploom_n, %ntid.{};\n\tcvt.u64.u32 %warploom_x, %warploom_n;\n\t",
                          "xyz"[u.axis]);
    text += fmt::format("mad.lo.s64 {}, %warploom_x, {}, {};\n\t", into, factor, into);
  }
  return text;
}

}  // namespace

std::string assumed_bytes(const Kernel& kernel, const Carving& carving, std::size_t part) {
  const CarvedPart& p = carving.parts()[part];
  const std::string_view array =
      kernel.module->variables[kernel.use.objects[carving.object(part)].variable].name;
  return fmt::format("{}[{}..{})", array, carving.text(p.begin), carving.text(p.ends[0]));
}

void assert_assumptions(const Kernel& kernel, const Carving& carving, ptx::Edits& edits) {
  const ptx::Module& module = *kernel.module;
  const ptx::Function& f = *kernel.function;
  std::string strings;
  for (std::size_t k = 0; k < carving.assumed().size(); ++k) {
    const auto [number, part] = carving.assumed()[k];
    const Access& access = kernel.use.accesses[number];
    const ptx::Instruction& i = f.instructions[access.instruction];
    const ptx::Operand& address = f.operands[access.address];
    const ptx::Operand& base = f.operands[address.id];
    const std::string_view array = module.variables[kernel.use.objects[carving.object(part)].variable].name;
    const std::string name = fmt::format("warploom_{}_{}", f.name, k);
    strings += global_string(name + "_what", "the access stays in " + assumed_bytes(kernel, carving, part)) +
               global_string(name + "_file", module.file) + global_string(name + "_kernel", f.name);
    std::string test =
        "{\n\t.reg .pred %warploom_p, %warploom_q;\n\t.reg .b32 %warploom_n;\n\t.reg .b64 %warploom_a, %warploom_s, "
        "%warploom_x, %warploom_l, %warploom_h;\n\t";
    const std::string_view text = module.text_of(base.span);
    const bool wide = base.kind == OperandKind::reg && ptx::type_bytes(f.registers[base.id].type) == 8;
    if (base.kind != OperandKind::reg || wide)
      test += fmt::format("mov.u64 %warploom_a, {};\n\t", text);
    else
      test += fmt::format("cvt.u64.u32 %warploom_a, {};\n\t", text);
    if (module.opcode(i).space == ptx::Space::generic)
      test += "cvta.to.shared.u64 %warploom_a, %warploom_a;\n\t";
    test += fmt::format(
        "add.s64 %warploom_a, %warploom_a, {};\n\tmov.u64 %warploom_s, {};\n\tsub.s64 %warploom_a, %warploom_a, "
        "%warploom_s;\n\t",
        address.value, array);
    const CarvedPart& p = carving.parts()[part];
    test +=
        reckoned(module, carving, p.begin, "%warploom_l") +
        reckoned(module, carving, p.ends[0], "%warploom_h") +
        fmt::format(
            "setp.ge.s64 %warploom_p, %warploom_a, %warploom_l;\n\tadd.s64 %warploom_a, %warploom_a, "
            "{};\n\tsetp.le.s64 %warploom_q, %warploom_a, %warploom_h;\n\tand.pred %warploom_p, %warploom_p, "
            "%warploom_q;\n\t",
            access.bytes);
    const std::string over = fmt::format("$warploom_{}_{}", f.name, k);
    if (i.guard != kNone)  // the access is not made: nothing is asked of it
      test += fmt::format("@{}{} bra {};\n\t", i.guard_negated ? "" : "!", f.registers[i.guard].name, over);
    test += fmt::format("@%warploom_p bra {};\n\t", over);
    test +=
        "{\n\t.param .b64 what;\n\t.param .b64 file;\n\t.param .b32 line;\n\t.param .b64 kernel;\n\t.param "
        ".b64 size;\n\t";
    for (const char* argument : {"what", "file", "kernel"})
      test += fmt::format(
          "mov.u64 %warploom_x, {}_{};\n\tcvta.global.u64 %warploom_x, %warploom_x;\n\tst.param.b64 [{}], "
          "%warploom_x;\n\t",
          name, argument, argument);
    test += fmt::format(
        "st.param.b32 [line], {};\n\tst.param.b64 [size], 1;\n\tcall.uni __assertfail, (what, file, line, kernel, "
        "size);\n\t}}\n\t{}:\n\t}}\n\t",
        i.line, over);
    edits.insert(i.span.begin, test);
  }
  edits.insert(f.span.begin, strings);
}

std::string with_assertions(const std::string& text, const ptx::Edits& edits) {
  ptx::Edits all = edits;
  if (text.find("__assertfail") == text.npos) {
    const std::size_t directive = text.find(".address_size");
    const std::size_t at = directive == text.npos ? text.npos : text.find('\n', directive);
    if (at != text.npos)
      all.insert(
          static_cast<std::uint32_t>(at + 1),
          ".extern .func __assertfail(.param .b64 what, .param .b64 file, .param .b32 line, .param .b64 kernel, "
          ".param .b64 size);\n");
  }
  return all.apply(text);
}

}  // namespace warploom::reuse
