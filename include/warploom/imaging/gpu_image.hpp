#pragma once

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

/// A copy on the host of an image in the memory of `run`'s GPU, for work of which the processors do a part.
///
///   const Image here = fetch_image(grid, volumes, there, stream, run);
///   ImageView both = here;
///   both.on_gpu = there;
///
/// @param there   [channels, nz, ny, nx]
/// @param stream  a cudaStream_t: the copy comes after what it has; null: the default one
/// @throws BadInput (an extent or channels < 1, memory that the GPU does not reach), NoDevice (the CPU,
///         a build without CUDA), OutOfMemory, Interrupted
Image fetch_image(const Grid& grid, int channels, const float* there, void* stream, const Run& run = {});

}  // namespace warploom::imaging
