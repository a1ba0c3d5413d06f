#include "warploom/imaging/image_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/view.hpp"
#include "warploom/imaging/series.hpp"

namespace warploom::imaging {
namespace {

/// As the eye weighs colours (ITU-R BT.709, on the values as stored).
Image grey(const io::Picture& picture) {
  Image image(Grid{picture.width, picture.height, 1}, 1);
  for (std::size_t v = 0; v < image.data.size(); ++v) {
    const std::uint16_t* p = &picture.data[v * static_cast<std::size_t>(picture.channels)];
    image.data[v] = picture.channels == 1 ? static_cast<float>(p[0])
                                          : static_cast<float>(0.2125 * p[0] + 0.7154 * p[1] + 0.0721 * p[2]);
  }
  return image;
}

}  // namespace

namespace {

/// Of a series or a vector image: x, y, z and volumes.
std::vector<std::int64_t> volumes_shape(const io::Nifti& file, std::size_t values, const std::string& name) {
  std::vector<std::int64_t> shape = file.shape;
  while (shape.size() > 3 && shape.back() == 1) shape.pop_back();
  if (shape.size() == 5 && shape[3] == 1) shape.erase(shape.begin() + 3);
  if (shape.size() > 4)
    throw BadInput(fmt::format(
        "{} has the extents {}; a series or a vector image has four, [X, Y, Z, volumes], or [X, Y, Z, 1, volumes]",
        name, shape_text(file.shape)));
  shape.resize(4, 1);
  if (std::ranges::min(shape) < 1 || static_cast<std::int64_t>(values) != file.elements())
    throw BadInput(fmt::format("{} has {} values, which are not those of the extents {}", name, values,
                               shape_text(file.shape)));
  if (shape[3] > 100000)
    throw BadInput(fmt::format("{} has {} volumes, the limit is 100000", name, shape[3]));
  return shape;
}

}  // namespace

Image take_volumes(io::Nifti& file, const std::string& name) {
  const std::vector<std::int64_t> shape = volumes_shape(file, file.data.size(), name);
  Image image;
  image.grid = {shape[0], shape[1], shape[2], file.spacing};
  image.channels = static_cast<int>(shape[3]);
  image.data = std::move(file.data);
  return image;
}

Image take_measured_volumes(io::Nifti& file, const std::string& name,
                            std::vector<std::complex<float>>& complex) {
  complex.clear();
  if (!io::is_complex(file.type)) return take_volumes(file, name);
  const std::vector<std::int64_t> shape = volumes_shape(file, file.complex_data.size(), name);
  complex = std::move(file.complex_data);
  return magnitudes(complex, {shape[0], shape[1], shape[2], file.spacing}, static_cast<int>(shape[3]));
}

ScalarImage parse_image(std::string_view bytes, const std::string& name, std::int64_t volume,
                        std::uint64_t max_bytes) {
  if (bytes.starts_with("\x89PNG")) {
    if (volume > 0)
      throw BadInput(fmt::format("`volume` {}: {} is a PNG, which has one image", volume, name));
    return {grey(io::parse_png(bytes, name, max_bytes)), std::nullopt};
  }
  io::Nifti nifti = io::parse_nifti(bytes, name, max_bytes);
  std::vector<std::int64_t> shape = nifti.shape;
  shape.resize(std::max<std::size_t>(shape.size(), 4), 1);
  if (std::any_of(shape.begin() + 4, shape.end(), [](std::int64_t extent) { return extent != 1; }))
    throw BadInput(
        fmt::format("{}: {} axes; an image has 2 or 3, a series of images 4", name, nifti.shape.size()));
  if (shape[3] > 1 && volume < 0)
    throw BadInput(fmt::format("{}: a series of {} volumes; say which with `volume` 0 to {}", name, shape[3],
                               shape[3] - 1));
  if (volume >= shape[3])
    throw BadInput(fmt::format("`volume` {}: {} has {} volume{}, counted from 0", volume, name, shape[3],
                               shape[3] == 1 ? "" : "s"));
  ScalarImage out;
  out.image.grid = {shape[0], shape[1], shape[2], nifti.spacing};
  const std::int64_t voxels = out.image.grid.voxels(), first = std::max<std::int64_t>(volume, 0) * voxels;
  out.image.data.assign(nifti.data.begin() + first, nifti.data.begin() + first + voxels);
  nifti.shape = {shape[0], shape[1], shape[2]};
  nifti.data = {};
  out.geometry = std::move(nifti);
  return out;
}

Mask read_mask(const std::string& file, const Grid& grid, const io::Affine& affine, const std::string& name,
               std::uint64_t max_bytes) {
  const io::Nifti image = io::read_nifti(file, max_bytes);
  std::vector<std::int64_t> shape = image.shape;
  while (shape.size() > 3 && shape.back() == 1) shape.pop_back();
  shape.resize(3, shape.size() > 3 ? 0 : 1);
  if (image.elements() != grid.voxels() || shape != std::vector{grid.nx, grid.ny, grid.nz})
    throw BadInput(fmt::format(
        "`mask`: {} has the extents {}, and {} has {} x {} x {} voxels; a mask needs one value a voxel, on the same grid",
        file, shape_text(image.shape), name, grid.nx, grid.ny, grid.nz));
  double apart = 0;
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) apart = std::max(apart, std::abs(image.affine[r][c] - affine[r][c]));
  if (apart > 0.01 * std::ranges::min(grid.spacing))
    log(LogLevel::warning,
        fmt::format(
            "{} and {} lie apart in space: their affines differ by up to {:.3g}; voxels are matched by index",
            file, name, apart));
  Mask mask(image.data.size());
  std::ranges::transform(image.data, mask.begin(),
                         [](float x) { return static_cast<std::uint8_t>(x != 0 && !std::isnan(x)); });
  return mask;
}

Mask nonzero_mask(const Image& image, const Grid& grid, const std::string& name) {
  image.check(name);
  if (image.channels != 1)
    throw BadInput(fmt::format("{}: {} channels; a mask has one", name, image.channels));
  if (image.grid.nx != grid.nx || image.grid.ny != grid.ny || image.grid.nz != grid.nz)
    throw BadInput(fmt::format("{}: {} x {} x {} voxels, the image has {} x {} x {}", name, image.grid.nx,
                               image.grid.ny, image.grid.nz, grid.nx, grid.ny, grid.nz));
  Mask mask(image.data.size());
  std::ranges::transform(image.data, mask.begin(), [](float x) { return static_cast<std::uint8_t>(x != 0); });
  return mask;
}

io::Picture mask_picture(const Mask& mask, const Grid& grid) {
  if (grid.nz != 1) throw BadInput(fmt::format("a picture has one slice, and the mask has {}", grid.nz));
  require_whole_mask(mask, grid);
  io::Picture picture{.width = grid.nx, .height = grid.ny, .channels = 1, .data = {}};
  for (const std::uint8_t inside : mask) picture.data.push_back(inside != 0 ? 255 : 0);
  return picture;
}

io::Nifti mask_file(const Mask& mask, const ScalarImage& like) {
  const Grid& grid = like.image.grid;
  require_whole_mask(mask, grid);
  io::Nifti nifti = like.geometry.value_or(io::Nifti{});
  nifti.shape = {grid.nx, grid.ny, grid.nz};
  nifti.type = io::NiftiType::uint8;
  nifti.intent = 0;
  nifti.intent_parameters = {};
  nifti.intent_name.clear();
  nifti.description = "warploom segment";
  nifti.data.assign(mask.begin(), mask.end());
  return nifti;
}

}  // namespace warploom::imaging
