#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "reuse/analysis/kernel.hpp"

namespace warploom::reuse {

/// A module with one kernel `k` around these statements. Registers %r %rd %p and the shared arrays A to D
/// (64 bytes each, in the kernel) are declared; `before` stands at module scope in front of it.
inline std::string kernel_text(std::string_view body, std::uint32_t sm = 80, std::string_view before = "") {
  return fmt::format(
      ".version 8.0\n.target sm_{}\n.address_size 64\n{}\n"
      ".visible .entry k(.param .u64 pointer, .param .u32 number)\n{{\n"
      ".shared .align 4 .b8 A[64];\n.shared .align 4 .b8 B[64];\n"
      ".shared .align 4 .b8 C[64];\n.shared .align 4 .b8 D[64];\n"
      ".reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .pred %p<40>;\n"
      "{}\n}}\n",
      sm, before, body);
}

/// A kernel and the results of the first passes over it.
struct Analysed {
  ptx::Module module;
  Kernel kernel;

  explicit Analysed(std::string text, bool trust_barriers = true) : module(ptx::parse(std::move(text))) {
    for (const ptx::Function& f : module.functions)
      if (f.name == "k") kernel.function = &f;
    kernel.module = &module;
    kernel.cfg = ptx::build_cfg(module, *kernel.function);
    kernel.values = number_values(kernel.cfg);
    kernel.use = find_shared_use(kernel.cfg, kernel.values);
    kernel.uniformity = find_uniformity(kernel.cfg, kernel.values, kernel.use, trust_barriers);
  }

  std::string_view name(std::uint32_t object) const {
    return module.variables[kernel.use.objects.at(object).variable].name;
  }
  const Object& object(std::string_view wanted) const {
    for (std::uint32_t o = 0; o < kernel.use.objects.size(); ++o)
      if (name(o) == wanted) return kernel.use.objects[o];
    throw std::out_of_range("no object of that name");
  }
  /// Names in the order of declaration, "AB".
  std::string names(const ObjectSet& set) const {
    std::string text;
    for (std::uint32_t o = 0; o < kernel.use.objects.size(); ++o)
      if (set[o]) text += name(o);
    return text;
  }
  /// Of the n-th access: "A", or "AB" for one of these.
  std::string accessed(std::size_t n) const { return names(kernel.use.accesses.at(n).objects); }
  std::string pinned() const {
    ObjectSet set;
    for (std::uint32_t o = 0; o < kernel.use.objects.size(); ++o)
      set[o] = kernel.use.objects[o].pinned.has_value();
    return names(set);
  }
  std::string refusal() const { return kernel.use.refusal ? kernel.use.refusal->text : ""; }

  /// The value that the last instruction of the text that writes this register gives it.
  std::uint32_t value_of(std::string_view reg) const {
    std::uint32_t value = kNone;
    for (const ptx::Instruction& i : kernel.function->instructions)
      for_each_register(module, *kernel.function, i,
                        [&](const ptx::Operand& o, std::uint32_t index, bool written) {
                          if (written && kernel.function->registers[o.id].name == reg)
                            value = kernel.values.of_operand[index];
                        });
    return value;
  }
  Variation variation(std::string_view reg) const { return kernel.uniformity.of_value.at(value_of(reg)); }
  /// Of the block in which the instruction with this text, which is there once, stands.
  std::uint32_t block_of(std::string_view instruction) const {
    for (std::uint32_t i = 0; i < kernel.function->instructions.size(); ++i)
      if (module.text_of(kernel.instruction(i).span) == instruction) return kernel.cfg.block_of[i];
    throw std::out_of_range("no such instruction");
  }
  bool apart(std::string_view instruction) const { return kernel.uniformity.apart.at(block_of(instruction)); }
};

}  // namespace warploom::reuse
