#pragma once

/// What gpu_image.cpp asks of CUDA.

#include <cstdint>

namespace warploom::imaging {

/// @throws BadInput (memory that the current GPU does not reach), Interrupted
void fetch_values(const float* there, std::uint64_t count, void* stream, float* to);

}  // namespace warploom::imaging
