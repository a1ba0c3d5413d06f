#pragma once

#include "warploom/tile/gpu.hpp"

namespace warploom::tool {

/// What a CUDA program does in the simulator at a few small sizes, as nvcc compiled it and as `reuse` rewrote
/// that.
struct Verification {
  std::string text;  ///< for people: sizes, differences, findings, what `reuse` saved
  bool good = true;  ///< no findings, and differences as small as rounding explains
};

/// @throws BadInput (no nvcc; sizes that are known and too large to simulate)  @throws Internal (nvcc does
/// not take the text)
Verification verify(const tile::Nest& nest, const tile::GpuProgram& program, const std::string& cuda,
                    const tile::GpuOptions& options);

}  // namespace warploom::tool
