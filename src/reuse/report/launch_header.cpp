#include <fmt/format.h>

#include "reuse/report/parts.hpp"
#include "warploom/reuse/reuse.hpp"

namespace warploom::reuse {

std::string launch_header(const Report& report) {
  check(report);
  std::string text = fmt::format(
      "// Written by warploom reuse from {}: the dynamic shared memory that launches of its kernels pass.\n"
      "#pragma once\n\n#include <cstddef>\n",
      file_name(report.file));
  for (const KernelReport& kernel : report.kernels) {
    if (kernel.verdict != Verdict::rewritten) continue;
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
