#include "registration/pyramid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::registration {
Level halve(const Level& from, int axis) {
  const GridSize e = from.extents();
  const std::int64_t n = axis == 0 ? e.nx : axis == 1 ? e.ny : e.nz;
  const std::int64_t stride = axis == 0 ? 1 : axis == 1 ? e.nx : e.nx * e.ny;
  const bool odd = n % 2 != 0;

  Level out;
  out.space = halved(from.space, axis);
  // Weights of the voxels 2i - 2 to 2i + 2.
  const float taps[5] = {odd ? 1 / 32.F : 0, odd ? 8 / 32.F : 1 / 8.F, odd ? 14 / 32.F : 3 / 8.F,
                         odd ? 8 / 32.F : 3 / 8.F, odd ? 1 / 32.F : 1 / 8.F};
  const GridSize to = out.extents();
  out.data.resize(static_cast<std::size_t>(to.voxels()));
  if (!from.counts.empty()) out.counts.resize(out.data.size());
  parallel_for(to.nz, [&](std::int64_t z) {
    for (std::int64_t y = 0; y < to.ny; ++y)
      for (std::int64_t x = 0; x < to.nx; ++x) {
        const std::int64_t i = axis == 0 ? x : axis == 1 ? y : z;
        // The voxel with index 0 along the axis.
        const std::int64_t line = axis == 0   ? (z * e.ny + y) * e.nx
                                  : axis == 1 ? z * e.ny * e.nx + x
                                              : y * e.nx + x;
        float sum = 0, counted = 0;
        for (int k = 0; k < 5; ++k) {
          const std::int64_t at = line + std::clamp<std::int64_t>(2 * i + k - 2, 0, n - 1) * stride;
          sum += taps[k] * from.data[static_cast<std::size_t>(at)];
          if (!from.counts.empty() && from.counts[static_cast<std::size_t>(at)] != 0) counted += taps[k];
        }
        const auto to_at = static_cast<std::size_t>((z * to.ny + y) * to.nx + x);
        out.data[to_at] = sum;
        if (!from.counts.empty()) out.counts[to_at] = counted >= 0.5F ? 1 : 0;
      }
  });
  return out;
}

std::array<double, 3> spacing_of(const Affine& to_world) {
  std::array<double, 3> out{};
  for (std::size_t c = 0; c < 3; ++c) out[c] = std::hypot(to_world[0][c], to_world[1][c], to_world[2][c]);
  return out;
}

double smallest_spacing(const Space& space) {
  const auto spacing = spacing_of(space.to_world);
  double smallest = 0;
  for (std::size_t c = 0; c < 3; ++c)
    if ((c == 0 ? space.grid.nx : c == 1 ? space.grid.ny : space.grid.nz) > 1)
      smallest = smallest == 0 ? spacing[c] : std::min(smallest, spacing[c]);
  return smallest == 0 ? spacing[0] : smallest;
}

namespace {

/// body(z, begin, values, count) over the planes of an image, in threads: a plane in the order of its voxels,
/// with strides in pieces.
template <class Body>
void in_planes(const imaging::ImageView& image, const Body& body) {
  const std::int64_t plane = image.grid.nx * image.grid.ny,
                     some = image.strided == nullptr ? plane : std::min(plane, image.piece());
  parallel_for(image.grid.nz, [&](std::int64_t z) {
    std::vector<float> room(image.strided == nullptr ? 0 : static_cast<std::size_t>(some));
    for (std::int64_t at = z * plane; at < (z + 1) * plane; at += some) {
      const std::int64_t count = std::min(some, (z + 1) * plane - at);
      body(static_cast<std::size_t>(z), static_cast<std::size_t>(at), image.values(at, count, room.data()),
           static_cast<std::size_t>(count));
    }
  });
}

}  // namespace

Brightness brightness_of(const PlacedView& image, const imaging::Mask& mask, const char* what) {
  image.check(what);
  const std::size_t size = image.image.size();
  if (image.image.channels != 1)
    throw BadInput(fmt::format("{} has {} values a voxel; images of one are registered: choose a volume",
                               what, image.image.channels));
  if (const imaging::Grid& g = image.image.grid; g.nz > 1 && (g.nx == 1 || g.ny == 1))
    throw BadInput(fmt::format(
        "{} is a slice of {} x {} x {} voxels; a slice is registered in two dimensions if z is the axis with one voxel: store it so",
        what, g.nx, g.ny, g.nz));
  if (!mask.empty() && mask.size() != size)
    throw BadInput(fmt::format("the mask of {} has {} voxels, the image {}", what, mask.size(), size));
  if (size > std::size_t{1} << 31)
    throw BadInput(fmt::format(
        "{} has {} voxels; at most 2^31 are registered: resample it to larger voxels first", what, size));

  struct Of {
    std::size_t counted = 0, finite = 0;
    double sum = 0, squares = 0;
  };
  std::vector<Of> planes(static_cast<std::size_t>(image.image.grid.nz));
  in_planes(image.image, [&](std::size_t z, std::size_t from, const float* values, std::size_t count) {
    Of of = planes[z];
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::isfinite(values[i])) continue;
      ++of.finite;
      if (!mask.empty() && mask[from + i] == 0) continue;
      ++of.counted, of.sum += double(values[i]), of.squares += double(values[i]) * double(values[i]);
    }
    planes[z] = of;
  });
  auto [counted, finite, sum, squares] = Of{};
  for (const Of& of : planes)
    counted += of.counted, finite += of.finite, sum += of.sum, squares += of.squares;
  if (finite == 0) throw BadInput(fmt::format("{} has no value that is finite", what));
  if (counted == 0) throw BadInput(fmt::format("the mask of {} leaves no voxel", what));
  const double mean = sum / static_cast<double>(counted);
  const double deviation = std::sqrt(std::max(0.0, squares / static_cast<double>(counted) - mean * mean));
  if (!(deviation > 1e-6 * std::abs(mean)) || !std::isfinite(deviation))
    throw BadInput(fmt::format("{} has the value {:g} everywhere: there is nothing to align", what, mean));

  return {mean, deviation, counted == size};
}

std::vector<std::uint8_t> counts_of(const PlacedView& image, const imaging::Mask& mask,
                                    const Brightness& brightness) {
  std::vector<std::uint8_t> out;
  if (brightness.all_count) return out;
  out.resize(image.image.size());
  in_planes(image.image, [&](std::size_t, std::size_t from, const float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      out[from + i] = std::isfinite(values[i]) && (mask.empty() || mask[from + i] != 0) ? 1 : 0;
  });
  return out;
}

Level finest_level(const PlacedView& image, const imaging::Mask& mask, const char* what) {
  const Brightness brightness = brightness_of(image, mask, what);
  Level level{image.space(), std::vector<float>(image.image.size()), counts_of(image, mask, brightness)};
  in_planes(image.image, [&](std::size_t, std::size_t from, const float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) level.data[from + i] = brightness.of(values[i]);
  });
  return level;
}

int axis_to_halve(const Space& space, double spacing) {
  const std::int64_t extents[] = {space.grid.nx, space.grid.ny, space.grid.nz};
  const auto voxel = spacing_of(space.to_world);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (extents[axis] >= 16 && 2 * voxel[axis] <= std::numbers::sqrt2 * spacing)
      return static_cast<int>(axis);
  return -1;
}

Space halved(const Space& space, int axis) {
  Space out = space;
  imaging::Grid& grid = out.grid;
  std::int64_t& n = axis == 0 ? grid.nx : axis == 1 ? grid.ny : grid.nz;
  const bool odd = n % 2 != 0;
  n = (n + 1) / 2;
  const auto a = static_cast<std::size_t>(axis);
  for (auto& row : out.to_world) {
    row[3] += odd ? 0.0 : 0.5 * row[a];
    row[a] *= 2;
  }
  grid.spacing[a] *= 2;
  return out;
}

Space coarser(Space space, double spacing) {
  for (int axis = axis_to_halve(space, spacing); axis >= 0; axis = axis_to_halve(space, spacing))
    space = halved(space, axis);
  return space;
}

Level coarser(const Level& level, double spacing) {
  int axis = axis_to_halve(level.space, spacing);
  if (axis < 0) return level;
  Level out = halve(level, axis);
  while ((axis = axis_to_halve(out.space, spacing)) >= 0) out = halve(out, axis);
  return out;
}

}  // namespace warploom::registration
