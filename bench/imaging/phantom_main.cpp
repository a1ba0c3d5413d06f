// Writes a made-up diffusion series with its truth, for any program to be measured on:
//   make_dwi_phantom PREFIX LAYOUT SEED SNR [NX NY NZ [NOISE_VARIATION [DIRECTIONS]]]
// PREFIX_dwi.nii (int16 with a slope), PREFIX.bval, PREFIX.bvec (FSL), PREFIX_clean.nii (the noiseless
// series), PREFIX_tissue.nii (1 bundle, 2 thin, 3 crossing, 4 grey, 5 water), PREFIX_noise.nii (standard
// deviation), PREFIX_tensor.nii (truth: the fit of the noiseless series, xx xy xz yy yz zz along the image's
// axes, um2/ms).

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

#include "imaging/dwi_phantom.hpp"
#include "study_main.hpp"
#include "warploom/imaging/fit.hpp"
#include "warploom/io/nifti.hpp"

namespace {

using namespace warploom;

// write_nifti() stores integers without slope, and readers have to cope with one: it goes into the header,
// which stands in front of the data as it is.
void write_with_slope(const std::string& path, io::Nifti image, float slope) {
  for (float& value : image.data) value /= slope;
  image.type = io::NiftiType::int16;
  io::write_nifti(path, image);
  constexpr std::streamoff kSlope = 112;  // scl_slope of NIfTI-1
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  char bytes[sizeof slope];
  std::memcpy(bytes, &slope, sizeof slope);
  file.seekp(kSlope).write(bytes, sizeof bytes);
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

io::Nifti volume_like(const io::Nifti& header, const imaging::Image& image) {
  io::Nifti file = header;
  file.shape = {image.grid.nx, image.grid.ny, image.grid.nz, image.channels};
  file.data = image.data;
  return file;
}

void write_phantom(int count, char** arguments) {
  const std::string prefix = arguments[1];
  imaging::DwiPhantomOptions options;
  options.layout = static_cast<std::uint32_t>(std::atoi(arguments[2]));
  const auto seed = static_cast<std::uint32_t>(std::atoi(arguments[3]));
  const double snr = std::atof(arguments[4]);
  if (count > 7) {
    options.nx = std::atoi(arguments[5]);
    options.ny = std::atoi(arguments[6]);
    options.nz = std::atoi(arguments[7]);
  }
  if (count > 8) options.noise_variation = std::atof(arguments[8]);
  if (count > 9) options.directions = std::atoi(arguments[9]);
  const imaging::DwiPhantom phantom = imaging::dwi_phantom(options);
  const imaging::Series noisy = imaging::with_noise(phantom, snr, seed);
  const io::Nifti& header = noisy.header;
  write_with_slope(prefix + "_dwi.nii", volume_like(header, noisy.image), 0.37F);
  io::write_nifti(prefix + "_clean.nii", volume_like(header, phantom.clean.image));
  imaging::Image map(noisy.image.grid, 1);
  std::ranges::transform(phantom.tissue, map.data.begin(),
                         [](imaging::Tissue t) { return static_cast<float>(t); });
  io::write_nifti(prefix + "_tissue.nii", volume_like(header, map));
  std::ranges::transform(phantom.noise, map.data.begin(),
                         [&](float noise) { return noise * static_cast<float>(1000 / snr); });
  io::write_nifti(prefix + "_noise.nii", volume_like(header, map));
  const io::Gradients& gradients = noisy.gradients;
  const auto fit = imaging::fit_tensors(phantom.clean.image, gradients.b, gradients.directions, phantom.mask);
  io::write_nifti(prefix + "_tensor.nii", volume_like(header, fit.tensor));
  // The affine's determinant is negative, so FSL's axes are the image's.
  std::ofstream bval(prefix + ".bval"), bvec(prefix + ".bvec");
  for (const double b : gradients.b) bval << fmt::format("{} ", b);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const auto& direction : gradients.directions) bvec << fmt::format("{:.6f} ", direction[axis]);
    bvec << '\n';
  }
  bval << '\n';
  if (!bval.flush() || !bvec.flush()) throw std::runtime_error("cannot write " + prefix + ".bval and .bvec");
}

}  // namespace

int main(int count, char** arguments) {
  return warploom::imaging::study_main(
      count, arguments, 5, "PREFIX LAYOUT SEED SNR [NX NY NZ [NOISE_VARIATION [DIRECTIONS]]]", write_phantom);
}
