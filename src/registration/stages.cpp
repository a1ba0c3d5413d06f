#include "registration/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/built_with_cuda.hpp"
#include "warploom/core/error.hpp"

namespace warploom::registration {

Levels::Levels(const Space& fixed_space, const Space& moving_space)
    : fixed{fixed_space, {}, {}}, moving{moving_space, {}, {}} {
  if ((fixed.space.grid.nz == 1) != (moving.space.grid.nz == 1))
    throw BadInput(fmt::format(
        "the fixed image has {} and the moving one {} slices: an image in two dimensions cannot be registered with one in three",
        fixed.space.grid.nz, moving.space.grid.nz));
}

Levels::Levels(const PlacedView& fixed_image, const imaging::Mask& fixed_mask, const PlacedView& moving_image,
               const imaging::Mask& moving_mask)
    : Levels(fixed_image.space(), moving_image.space()) {
  fixed = finest_level(fixed_image, fixed_mask, "the fixed image");
  moving = finest_level(moving_image, moving_mask, "the moving image");
}

ImageSource source_of(const Level& level) {
  return {level.space, {level.space.grid, 1, level.data}, std::nullopt, level.counts};
}

ImageSource source_of(const PlacedView& image, const imaging::Mask& mask, const char* what) {
  const Brightness brightness = brightness_of(image, mask, what);
  return {image.space(), image.image, brightness, counts_of(image, mask, brightness)};
}

Images::Images(const PlacedView& fixed, const imaging::Mask& fixed_mask, const PlacedView& moving,
               const imaging::Mask& moving_mask, bool on_a_gpu, std::uint64_t then)
    : levels(on_a_gpu ? Levels(fixed.space(), moving.space())
                      : Levels(fixed, fixed_mask, moving, moving_mask)) {
  if constexpr (kBuiltWithCuda)
    if (on_a_gpu)
      device = make_device_pair(source_of(fixed, fixed_mask, "the fixed image"),
                                source_of(moving, moving_mask, "the moving image"), then);
}

double voxels_half_way(const imaging::Grid& fixed, const imaging::Grid& moving) {
  const auto along = [&](std::int64_t n, std::int64_t m, std::size_t axis) {
    const double ratio = std::sqrt(fixed.spacing[axis] / moving.spacing[axis]);
    return std::ceil((static_cast<double>(n) * ratio + static_cast<double>(m) / ratio) / 2);
  };
  return along(fixed.nx, moving.nx, 0) * along(fixed.ny, moving.ny, 1) *
         (fixed.nz == 1 ? 1 : along(fixed.nz, moving.nz, 2));
}

std::uint64_t device_bytes_to_deform(const imaging::Grid& fixed, const imaging::Grid& moving) {
  constexpr double kEach = 53;  // deform_greedily()
  return static_cast<std::uint64_t>(kEach * std::min(voxels_half_way(fixed, moving), std::exp2(40)));
}

}  // namespace warploom::registration
