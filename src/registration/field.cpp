#include "warploom/registration/field.hpp"

#include <fmt/format.h>

#include "core/doors.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::registration {

void DisplacementField::check(std::string_view what) const {
  space.check(what);
  // In unsigned arithmetic, so that an overflow is a difference, too.
  if (const auto voxels = static_cast<std::uint64_t>(space.grid.voxels());
      mm.size() % 3 != 0 || mm.size() / 3 != voxels)
    throw BadInput(fmt::format("{} has {} numbers; {} x {} x {} voxels need three each", what, mm.size(),
                               space.grid.nx, space.grid.ny, space.grid.nz));
}

DisplacementField zero_field(const Space& space) {
  space.check();
  const auto voxels = static_cast<std::uint64_t>(space.grid.voxels());
  require_memory_for(voxels, 3 * sizeof(float), "a displacement field");
  return {space, std::vector<float>(static_cast<std::size_t>(3 * voxels))};
}

DisplacementField field_of(const Affine& affine, const Space& space) {
  check_affine(affine);
  DisplacementField field = zero_field(space);
  const imaging::Grid& grid = space.grid;
  const auto voxels = static_cast<std::size_t>(grid.voxels());
  const Affine to_target = compose(space.to_world, affine);
  parallel_for(grid.nz * grid.ny, [&](std::int64_t row) {
    const auto y = static_cast<double>(row % grid.ny), z = static_cast<double>(row / grid.ny);
    float* out = field.mm.data() + row * grid.nx;
    for (std::int64_t x = 0; x < grid.nx; ++x) {
      const Point index{static_cast<double>(x), y, z};
      const Point from = map_point(space.to_world, index), to = map_point(to_target, index);
      for (std::size_t c = 0; c < 3; ++c)
        out[c * voxels + static_cast<std::size_t>(x)] = static_cast<float>(to[c] - from[c]);
    }
  });
  return field;
}

}  // namespace warploom::registration
