#include "mask.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "warploom/core/error.hpp"
#include "warploom/core/log.hpp"
#include "warploom/core/threads.hpp"
#include "warploom/core/view.hpp"
#include "warploom/imaging/mask.hpp"

namespace warploom::tool {
namespace {

using imaging::Image;
using imaging::Mask;

constexpr std::uint8_t kFinite = 1, kNonzero = 2;

/// What holds for each voxel, over all channels. Nothing in it depends on the order of the pieces.
std::vector<std::uint8_t> properties(const Image& image) {
  constexpr std::int64_t kPiece = 1 << 15;
  const std::int64_t voxels = image.grid.voxels();
  std::vector<std::uint8_t> out(static_cast<std::size_t>(voxels), kFinite);
  parallel_for((voxels + kPiece - 1) / kPiece, [&](std::int64_t piece) {
    const auto begin = static_cast<std::size_t>(piece * kPiece);
    const auto end = std::min(out.size(), begin + kPiece);
    for (int c = 0; c < image.channels; ++c) {
      const auto values = image.channel(c);
      for (std::size_t v = begin; v < end; ++v) {
        const bool finite = std::abs(values[v]) <= std::numeric_limits<float>::max();
        out[v] = static_cast<std::uint8_t>((out[v] & (finite ? 0xff : ~kFinite)) |
                                           (values[v] != 0 ? kNonzero : 0));
      }
    }
  });
  return out;
}

Mask read_mask(const std::string& file, const imaging::Grid& grid, const io::Nifti& geometry,
               const std::string& path) {
  const io::Nifti image = io::read_nifti(file);
  std::vector<std::int64_t> shape = image.shape;
  while (shape.size() > 3 && shape.back() == 1) shape.pop_back();
  shape.resize(3, shape.size() > 3 ? 0 : 1);
  if (image.elements() != grid.voxels() || shape != std::vector{grid.nx, grid.ny, grid.nz})
    throw BadInput(
        fmt::format("--mask: {} has the extents {}, and {} has {} x {} x {} voxels; a mask needs one value a "
                    "voxel, on the same grid",
                    file, shape_text(image.shape), path, grid.nx, grid.ny, grid.nz));
  double apart = 0;
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      apart = std::max(apart, std::abs(image.affine[r][c] - geometry.affine[r][c]));
  if (apart > 0.01 * std::ranges::min(grid.spacing))
    log(LogLevel::warning,
        fmt::format(
            "{} and {} lie apart in space: their affines differ by up to {:.3g}; voxels are matched by index",
            file, path, apart));
  Mask mask(image.data.size());
  std::ranges::transform(image.data, mask.begin(),
                         [](float x) { return static_cast<std::uint8_t>(x != 0 && !std::isnan(x)); });
  return mask;
}

}  // namespace

ChosenMask choose_mask(const Image& image, const std::string& wanted, const io::Nifti& geometry,
                       const std::string& path, const std::function<Image()>& scalar) {
  ChosenMask mask;
  mask.origin = wanted;
  std::vector<std::uint8_t> known = properties(image);
  mask.not_finite = std::ranges::count_if(known, [](std::uint8_t p) { return (p & kFinite) == 0; });
  if (mask.not_finite == image.grid.voxels())
    throw BadInput(
        fmt::format("{}: every voxel holds a NaN or an infinity, so that nothing is left to work on", path));

  Mask chosen;
  if (wanted == "auto")
    chosen = imaging::automatic_mask(scalar());
  else if (wanted != "nonzero" && wanted != "none")
    chosen = read_mask(wanted, image.grid, geometry, path);
  const std::uint8_t needed = wanted == "nonzero" ? kFinite | kNonzero : kFinite;
  for (std::size_t v = 0; v < known.size(); ++v)
    known[v] = static_cast<std::uint8_t>((known[v] & needed) == needed && (chosen.empty() || chosen[v] != 0));
  mask.inside = std::accumulate(known.begin(), known.end(), std::int64_t{0});
  if (mask.inside == 0)
    throw BadInput(fmt::format("{}: no voxel is inside the mask ({}){}", path, wanted,
                               wanted == "nonzero" ? ": all are 0" : ""));
  if (mask.inside < image.grid.voxels()) mask.voxels = std::move(known);
  return mask;
}

void leave_out_zeros(ChosenMask& mask, const Image& image) {
  const std::vector<std::uint8_t> known = properties(image);
  if (std::ranges::all_of(known, [](std::uint8_t p) { return (p & kNonzero) != 0; })) return;
  if (mask.voxels.empty()) mask.voxels.assign(known.size(), 1);
  mask.inside = 0;
  for (std::size_t v = 0; v < known.size(); ++v) {
    if ((known[v] & kNonzero) == 0) mask.voxels[v] = 0;
    mask.inside += mask.voxels[v];
  }
}

}  // namespace warploom::tool
