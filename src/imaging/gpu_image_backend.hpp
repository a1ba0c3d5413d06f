#pragma once

/// What gpu_image.cpp asks of CUDA.

#include <span>

#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

/// @throws BadInput (memory that the current GPU does not reach), Interrupted
void fetch_values(const ImageView& there, void* stream, std::span<float> to);

}  // namespace warploom::imaging
