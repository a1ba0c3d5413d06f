#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "reuse/analysis/kernel.hpp"
#include "warploom/ptx/module.hpp"

namespace warploom::reuse {

/// Where a test's kernel departs from the usual.
struct Surroundings {
  std::string_view target = "sm_80";
  std::string_view directives = "";  ///< after the parameters: .reqntid 32, 1, 1
  std::string_view module = "";      ///< before the kernel
};

/// A module with one kernel `k` (out: .u64, data: .u64, n: .u32) around `body`, one instruction or
/// declaration a line. The body finds %t = thread index, %o = 4 * %t, %n = n, %out and %data (global
/// addresses), and may use %r0..%r63, %rd0..%rd31, %f0..%f31, %p0..%p31, and %q0..%q7 as v4 of b32.
inline std::string kernel_around(std::string_view body, const Surroundings& options = {}) {
  std::string text = ".version 8.0\n.target ";
  text += options.target;
  text += "\n.address_size 64\n";
  text += options.module;
  text += "\n.visible .entry k(\n\t.param .u64 out,\n\t.param .u64 data,\n\t.param .u32 n\n)\n";
  text += options.directives;
  text +=
      "\n{\n"
      "\t.reg .b32 %r<64>;\n\t.reg .b64 %rd<32>;\n\t.reg .f32 %f<32>;\n\t.reg .pred %p<32>;\n\t.reg .v4 .b32 %q<8>;\n"
      "\t.reg .b32 %t, %o, %n;\n\t.reg .b64 %out, %data;\n"
      "\tld.param.u64 \t%out, [out];\n\tld.param.u64 \t%data, [data];\n\tld.param.u32 \t%n, [n];\n"
      "\tmov.u32 \t%t, %tid.x;\n\tshl.b32 \t%o, %t, 2;\n";
  text += body;
  if (text.back() != '\n') text += '\n';
  return text + "\tret;\n}\n";
}

/// A parsed module and what the first passes say of one of its kernels.
struct AnalysedKernel {
  ptx::Module module;
  Kernel kernel;

  /// Index of the object called `name`.
  std::uint32_t object(std::string_view name) const {
    for (std::uint32_t o = 0; o < kernel.object_count(); ++o)
      if (module.variables[kernel.use.objects[o].variable].name == name) return o;
    throw std::out_of_range("no object " + std::string(name));
  }
  /// Index of the first instruction at or after `from` whose text contains `part`.
  std::uint32_t find(std::string_view part, std::uint32_t from = 0) const {
    for (std::uint32_t i = from; i < kernel.function->instructions.size(); ++i)
      if (module.text_of(kernel.instruction(i).span).find(part) != std::string_view::npos) return i;
    throw std::out_of_range("no instruction with " + std::string(part));
  }
  std::uint32_t block(std::string_view part) const { return kernel.cfg.block_of[find(part)]; }
};

/// Runs CFG, values, provenance and uniformity on kernel `name` of a module. With `strict` nothing rests on
/// the kernel reading only what it wrote.
inline std::unique_ptr<AnalysedKernel> analysed(std::string text, std::string_view name = "k",
                                                bool strict = false) {
  auto a = std::make_unique<AnalysedKernel>();
  a->module = ptx::parse(std::move(text));
  Kernel& k = a->kernel;
  k.module = &a->module;
  k.function = a->module.find_function(name);
  if (k.function == nullptr) throw std::out_of_range("no kernel " + std::string(name));
  k.block = k.function->required_threads;
  k.strict = strict;
  k.cfg = ptx::build_cfg(*k.module, *k.function);
  k.values = number_values(k.cfg);
  k.use = find_shared_use(k.cfg, k.values);
  k.uniformity = find_uniformity(k.cfg, k.values, k.use, !strict);
  return a;
}

/// Around three arrays of 256 bytes: a, b, c.
inline std::unique_ptr<AnalysedKernel> arrays(std::string_view body, const Surroundings& options = {}) {
  return analysed(kernel_around(
      "\t.shared .align 4 .b8 a[256];\n\t.shared .align 4 .b8 b[256];\n\t.shared .align 4 .b8 c[256];\n" +
          std::string(body),
      options));
}

}  // namespace warploom::reuse
