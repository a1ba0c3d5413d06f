#pragma once

#include <span>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

/// Copies the values of an image in the memory of `run`'s GPU to the host, for work of which the processors
/// do a part: ImageView::on_gpu, as `on_gpu_strides` says, to `to`, [channels, nz, ny, nx].
///
///   std::vector<float> here(values);
///   fetch_image(there, stream, here, run);
///   there.data = here;
///
/// @param stream  a cudaStream_t: the copy comes after what it has; null: the default one
/// @throws BadInput (an extent or channels < 1, a place of another size, memory that the GPU does not reach),
///         NoDevice (the CPU, a build without CUDA), OutOfMemory, Interrupted
/// @note Takes what cudaMemcpy() takes; with strides 64 MiB of the GPU's memory at most besides.
void fetch_image(const ImageView& there, void* stream, std::span<float> to, const Run& run = {});
/// The same of contiguous values, as an image. @throws as that
Image fetch_image(const Grid& grid, int channels, const float* there, void* stream, const Run& run = {});

}  // namespace warploom::imaging
