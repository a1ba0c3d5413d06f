#pragma once

#include "warploom/loops/gpu.hpp"

namespace warploom::tool {

/// What a CUDA program does in the simulator at a few small sizes, as nvcc compiled it and as `reuse` rewrote
/// that.
struct Verification {
  std::string text;  ///< for people: sizes, differences, findings, what `reuse` saved
  bool good = true;  ///< no findings, and differences as small as rounding explains
};

/// @throws BadInput (no nvcc; sizes that are known and too large to simulate)  @throws Internal (nvcc does
/// not take the text)
Verification verify(const loops::Nest& nest, const loops::GpuProgram& program, const std::string& cuda,
                    const loops::GpuOptions& options);

}  // namespace warploom::tool
