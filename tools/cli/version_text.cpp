#include "version_text.hpp"

#include <fmt/format.h>

#include "core/architectures.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/version.hpp"

namespace warploom::tool {
namespace {

// WARPLOOM_COMMIT, WARPLOOM_CUDA_TOOLKIT and WARPLOOM_SETS come from ../CMakeLists.txt.

constexpr std::string_view kCompiler =
#if defined(__clang__)
    "Clang " __clang_version__;
#elif defined(__GNUC__)
    "GCC " __VERSION__;
#else
    "unknown";
#endif

std::string cuda_text() {
  if (std::string_view(WARPLOOM_CUDA_TOOLKIT).empty()) return "without CUDA";
  return fmt::format("toolkit {}, built for {}", WARPLOOM_CUDA_TOOLKIT, built_architectures());
}

/// That which is used here, as core/instruction_sets.hpp picks it.
std::string_view set_in_use() {
  const std::string_view built = WARPLOOM_SETS;
#if defined(__x86_64__)
  if (built.find("avx2") == built.npos || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return "baseline";
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")
             ? "avx512"
             : "avx2";
#else
  return "baseline";
#endif
}

}  // namespace

std::string version_text(bool with_details) {
  std::string text = fmt::format("warploom {}\n", version());
  if (!with_details) return text;
  text += fmt::format("commit            {}\n", WARPLOOM_COMMIT);
  text += fmt::format("compiler          {}\n", kCompiler);
  text += fmt::format("CUDA              {}\n", cuda_text());
  text += fmt::format("instruction sets  {}; {} is used here\n", WARPLOOM_SETS, set_in_use());
  const CudaDevices& cuda = cuda_devices();
  if (cuda.devices.empty()) return text + fmt::format("GPUs              none: {}\n", cuda.absent);
  for (const CudaDevice& device : cuda.devices)
    text += fmt::format("{:<18}cuda:{} {}, sm_{}\n", device.ordinal == 0 ? "GPUs" : "", device.ordinal,
                        device.name, device.compute_capability);
  return text;
}

}  // namespace warploom::tool
