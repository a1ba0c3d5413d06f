#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/progress.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

/// @throws BadInput unless the mask has a byte a voxel
inline void require_whole_mask(const Mask& mask, const Grid& grid) {
  if (mask.size() != static_cast<std::size_t>(grid.voxels()))
    throw BadInput(fmt::format("the mask has {} voxels, the image {} x {} x {} = {}", mask.size(), grid.nx,
                               grid.ny, grid.nz, grid.voxels()));
}

/// @throws BadInput unless the mask is empty or has a byte a voxel
inline void require_mask(const Mask& mask, const Grid& grid) {
  if (!mask.empty()) require_whole_mask(mask, grid);
}

/// @throws BadInput unless the image has the channels of a tensor, and their values
inline void require_tensor(const Image& image, std::string_view what = "the tensor image") {
  image.check(what);
  if (image.channels != kTensorChannels)
    throw BadInput(
        fmt::format("a tensor image has {} channels, this one {}", kTensorChannels, image.channels));
}

inline bool inside(const Mask& mask, std::size_t voxel) { return mask.empty() || mask[voxel] != 0; }

/// Of an image that require_tensor() has seen: unchecked, for inner loops.
inline std::array<double, 6> tensor_at(const TensorImage& image, std::size_t voxel) {
  std::array<double, 6> tensor;
  const std::size_t stride = image.data.size() / tensor.size();
  for (std::size_t c = 0; c < tensor.size(); ++c) tensor[c] = image.data[c * stride + voxel];
  return tensor;
}

inline void set_tensor(TensorImage& image, std::size_t voxel, const std::array<double, 6>& tensor) {
  const std::size_t stride = image.data.size() / tensor.size();
  for (std::size_t c = 0; c < tensor.size(); ++c)
    image.data[c * stride + voxel] = static_cast<float>(tensor[c]);
}

/// The upper one where there are two; 0 of nothing. Reorders the values.
template <class Number>
double median(std::vector<Number>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

/// Voxels that one call of a loop's body takes: worth a thread's while, and few enough for the first cache.
inline constexpr std::int64_t kPiece = 512;

/// body(begin, end) over consecutive pieces of all voxels, in threads; stops on Ctrl-C.
template <class Body>
void for_pieces(const Grid& grid, const Body& body) {
  const std::int64_t voxels = grid.voxels();
  parallel_for((voxels + kPiece - 1) / kPiece, [&](std::int64_t piece) {
    check_interrupt();
    body(static_cast<std::size_t>(piece * kPiece),
         static_cast<std::size_t>(std::min(voxels, (piece + 1) * kPiece)));
  });
}

/// body(begin, values, count) over the values of an image in their order: contiguous ones at once, those with
/// strides in pieces, gathered to where the next ones follow them.
template <class Body>
void for_values(const ImageView& image, const Body& body) {
  if (image.strided == nullptr) return body(std::size_t{0}, image.data.data(), image.data.size());
  const auto size = static_cast<std::int64_t>(image.size());
  const std::int64_t piece = std::min(image.piece(), size);
  std::vector<float> room(static_cast<std::size_t>(piece));
  for (std::int64_t first = 0; first < size; first += piece) {
    const std::int64_t count = std::min(piece, size - first);
    body(static_cast<std::size_t>(first), image.values(first, count, room.data()),
         static_cast<std::size_t>(count));
  }
}

}  // namespace warploom::imaging
