#pragma once

#include "arrays.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::python {

/// Where an array has its values: [nz, ny, nx] or [channels, nz, ny, nx], of any order.
template <class... Config>
imaging::ImageView image_of(const Strided<const float, Config...>& values,
                            const std::array<double, 3>& spacing) {
  const std::size_t z = values.ndim() - 3;
  const auto extent = [&](std::size_t axis) { return static_cast<std::int64_t>(values.shape(axis)); };
  const imaging::Grid grid{extent(z + 2), extent(z + 1), extent(z), spacing};
  const int channels = z == 0 ? 1 : static_cast<int>(values.shape(0));
  if (is_contiguous(values)) return {grid, channels, {values.data(), values.size()}};
  const std::int64_t apart = z == 0 ? 0 : values.stride(0);
  return {
      grid, channels, values.data(), {values.stride(z + 2), values.stride(z + 1), values.stride(z), apart}};
}

}  // namespace warploom::python
