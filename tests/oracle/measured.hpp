#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "measured_data.hpp"
#include "warploom/imaging/fit.hpp"
#include "warploom/io/gradients.hpp"
#include "warploom/io/nifti.hpp"

namespace warploom::imaging {

/// The part [begin, begin + extent) of an image.
inline Image crop(const Image& image, const std::array<std::int64_t, 3>& begin,
                  const std::array<std::int64_t, 3>& extent) {
  Image part(Grid{extent[0], extent[1], extent[2], image.grid.spacing}, image.channels);
  std::size_t to = 0;
  for (int c = 0; c < image.channels; ++c)
    for (std::int64_t z = begin[2]; z < begin[2] + extent[2]; ++z)
      for (std::int64_t y = begin[1]; y < begin[1] + extent[1]; ++y)
        for (std::int64_t x = begin[0]; x < begin[0] + extent[0]; ++x)
          part.data[to++] =
              image.channel(c)[static_cast<std::size_t>((z * image.grid.ny + y) * image.grid.nx + x)];
  return part;
}

/// Tensors fitted to the diffusion series of a head (112 x 112 x 32 voxels of 2 mm, 12 directions at b = 1000
/// s/mm^2), in the image's frame of FSL; nothing if the file is absent.
inline std::optional<TensorImage> head_tensors(const std::filesystem::path& folder) {
  const auto file = folder / "philips_dti12_112x112x32x17.nii.gz";
  if (!std::filesystem::exists(file)) return std::nullopt;
  io::Nifti nifti = io::read_nifti(file);
  Image series(Grid{nifti.shape[0], nifti.shape[1], nifti.shape[2], nifti.spacing},
               static_cast<int>(nifti.shape[3]));
  series.data = std::move(nifti.data);
  const io::Gradients gradients =
      io::read_fsl_gradients(folder / "philips_dti12.bval", folder / "philips_dti12.bvec", nifti.shape[3]);
  return fit_tensors(series, gradients.b, gradients.directions, {}).tensor;
}

}  // namespace warploom::imaging
