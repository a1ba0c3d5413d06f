#include "version_text.hpp"

#include <fmt/format.h>

#include "core/architectures.hpp"
#include "core/instruction_sets.hpp"
#include "warploom/core/device.hpp"
#include "warploom/core/version.hpp"

namespace warploom::tool {
namespace {

// WARPLOOM_CUDA_TOOLKIT, WARPLOOM_SETS and WARPLOOM_HAS_avx2 come from ../CMakeLists.txt.

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

/// Those that were compiled, and that which is used here.
std::string sets_text() {
#if defined(WARPLOOM_HAS_avx2)
  return fmt::format("{}; {} is used here", WARPLOOM_SETS,
                     pick_instruction_set("baseline", "avx2", "avx512"));
#else
  return WARPLOOM_SETS;
#endif
}

}  // namespace

std::string version_text(bool with_details) {
  std::string text = fmt::format("warploom {}\n", version());
  if (!with_details) return text;
  text += fmt::format("commit            {}\n", built_commit());
  text += fmt::format("compiler          {}\n", kCompiler);
  text += fmt::format("CUDA              {}\n", cuda_text());
  text += fmt::format("instruction sets  {}\n", sets_text());
  const CudaDevices& cuda = cuda_devices();
  if (cuda.devices.empty()) return text + fmt::format("GPUs              none: {}\n", cuda.absent);
  for (const CudaDevice& device : cuda.devices)
    text += fmt::format("{:<18}cuda:{} {}, sm_{}\n", device.ordinal == 0 ? "GPUs" : "", device.ordinal,
                        device.name, device.compute_capability);
  return text;
}

}  // namespace warploom::tool
