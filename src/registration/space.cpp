#include "warploom/registration/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "warploom/core/error.hpp"
#include "warploom/core/file.hpp"
#include "warploom/imaging/image_file.hpp"
#include "warploom/io/png.hpp"

namespace warploom::registration {
namespace {

using imaging::Grid;

io::Picture picture_of(const PlacedImage& placed, const std::filesystem::path& path) {
  const Grid& grid = placed.image.grid;
  if (grid.nz != 1 || placed.image.channels != 1)
    throw BadInput(
        fmt::format("{}: a .png has one slice and one channel, and the image has {} and {}; write a .nii.gz",
                    path.string(), grid.nz, placed.image.channels));
  const bool narrow = placed.type == io::NiftiType::uint8 || placed.type == io::NiftiType::int8;
  io::Picture picture{.width = grid.nx,
                      .height = grid.ny,
                      .channels = 1,
                      .data = {},
                      .maximum = static_cast<std::uint16_t>(narrow ? 255 : 65535)};
  picture.data.reserve(placed.image.data.size());
  for (const float value : placed.image.data)
    picture.data.push_back(static_cast<std::uint16_t>(std::lround(
        std::clamp(std::isnan(value) ? 0.0F : value, 0.0F, static_cast<float>(picture.maximum)))));
  return picture;
}

}  // namespace

void Space::check(std::string_view what) const {
  if (std::min({grid.nx, grid.ny, grid.nz}) < 1)
    throw BadInput(fmt::format("{} has {} x {} x {} voxels; every extent must be at least 1", what, grid.nx,
                               grid.ny, grid.nz));
  static_cast<void>(grid.voxels());
  check_affine(to_world, what);
}

Affine picture_affine() { return {{{-1, 0, 0, 0}, {0, -1, 0, 0}, {0, 0, 1, 0}}}; }

void PlacedImage::check(std::string_view what) const {
  image.check(what);
  space().check(what);
}

PlacedView::PlacedView(const PlacedImage& placed)
    : image{placed.image.grid, placed.image.channels, placed.image.data},
      to_world(placed.to_world),
      type(placed.type),
      code(placed.code) {}

void PlacedView::check(std::string_view what) const {
  image.check_strided(what);
  space().check(what);
}

PlacedImage parse_placed(std::string_view bytes, const std::string& name, std::uint64_t max_bytes) {
  if (bytes.starts_with("\x89PNG")) {
    imaging::ScalarImage picture = imaging::parse_image(bytes, name, -1, max_bytes);
    const bool narrow = std::ranges::max(picture.image.data) <= 255;
    return {std::move(picture.image), picture_affine(),
            narrow ? io::NiftiType::uint8 : io::NiftiType::uint16};
  }
  io::Nifti file = io::parse_nifti(bytes, name, max_bytes);
  PlacedImage out;
  out.image = imaging::take_volumes(file, name);
  out.to_world = file.affine;
  out.type = file.type;
  out.code = std::max({file.sform_code, file.qform_code, 1});
  out.check(name);
  return out;
}

PlacedImage read_placed(const std::filesystem::path& path, std::uint64_t max_bytes) {
  return parse_placed(read_file(path, max_bytes), path.string(), max_bytes);
}

void write_placed(const std::filesystem::path& path, const PlacedImage& placed) {
  placed.check(path.string());
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  if (ending == ".png") return io::write_png(path, picture_of(placed, path));
  const Grid& grid = placed.image.grid;
  io::Nifti file{.shape = {grid.nx, grid.ny},
                 .spacing = grid.spacing,
                 .affine = placed.to_world,
                 .sform_code = placed.code,
                 .qform_code = placed.code,
                 .type = placed.type,
                 .data = placed.image.data};
  if (grid.nz > 1 || placed.image.channels > 1) file.shape.push_back(grid.nz);
  if (placed.image.channels > 1) file.shape.push_back(placed.image.channels);
  io::write_nifti(path, file);
}

}  // namespace warploom::registration
