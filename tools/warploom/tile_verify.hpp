#pragma once

#include "warploom/loops/gpu.hpp"

namespace warploom::tool {

/// What a CUDA program does in the simulator at a few small sizes, as nvcc compiled it and as `reuse` rewrote
/// that.
struct Verification {
  std::string text;  ///< for people: sizes, differences, findings, what `reuse` saved
  bool good = true;  ///< no findings, and differences as small as rounding explains
};

/// @throws BadInput (no nvcc; it fails on the text: our bug, with its words)
Verification verify(const loops::Nest& nest, const loops::GpuProgram& program, const std::string& cuda,
                    const std::string& architecture);

}  // namespace warploom::tool
