#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reuse/report/parts.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {

namespace {

/// Of a kernel of which the launch decides what it needs.
std::string function_of(const KernelReport& kernel) {
  DynamicFormula formula = kernel.dynamic_formula;
  for (std::string& end : formula.after)  // of an open last part
    if (end.starts_with("before")) end = "static_cast<long long>(before)" + end.substr(6);
  std::string arguments, meanings, outside;
  for (const DynamicFormula::Argument& a : formula.arguments) {
    arguments += fmt::format(", long long {}", a.name);
    meanings += fmt::format("/// {}: {}.\n", a.name, a.meaning);
    if (a.parameter)
      outside += fmt::format("{}{} < 0 || {} > {}", outside.empty() ? "" : " || ", a.name, a.name,
                             DynamicFormula::kMostParameter);
  }
  return fmt::format(
      "\n/// {}: bytes of dynamic shared memory a block that are enough where launches passed `before`.\n{}"
      "constexpr std::size_t {}_smem_bytes(std::size_t before{}) {{\n{}"
      "  const auto bytes = static_cast<std::size_t>(std::max<long long>({{{}}}));\n"
      "  return bytes < before ? bytes : before;\n}}\n",
      kernel.name, meanings, kernel.symbol, arguments,
      outside.empty() ? "" : fmt::format("  if ({}) return before;  // then nothing moves\n", outside),
      fmt::join(formula.after, ", "));
}

}  // namespace

std::string DynamicFormula::text() const {
  if (after.size() == 1) return after[0];
  return fmt::format("max({})", fmt::join(after, ", "));
}

std::string launch_header(const Report& report) {
  check(report);
  std::string text = fmt::format(
      "// Written by warploom reuse from {}: the dynamic shared memory that launches of its kernels pass.\n"
      "#pragma once\n\n#include <algorithm>\n#include <cstddef>\n",
      file_name(report.file));
  for (const KernelReport& kernel : report.kernels) {
    if (kernel.verdict != Verdict::rewritten) continue;
    if (!kernel.dynamic_formula.after.empty()) {
      text += function_of(kernel);
      continue;
    }
    const bool pool = kernel.dynamic_pool;
    if (!pool && kernel.dynamic_before == 0) continue;
    text += fmt::format(
        "\n/// {}: bytes of dynamic shared memory a block, in place of {}{}.\n"
        "constexpr std::size_t {}_smem_bytes() {{ return {}; }}\n",
        kernel.name, pool ? kernel.bytes_before : kernel.dynamic_before, pool ? " static ones" : "",
        kernel.symbol, pool ? kernel.pool_bytes : kernel.dynamic_after);
  }
  return text;
}

}  // namespace warploom::reuse
