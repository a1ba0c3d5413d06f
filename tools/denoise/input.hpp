#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mask.hpp"
#include "options.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/io/nifti.hpp"

namespace warploom::tool {

/// What is known of a series and of its fit.
struct SeriesFacts {
  int volumes = 0;  ///< in the file
  std::map<std::int64_t, int>
      used;  ///< b-value [s/mm^2] of a shell, rounded to 50, and its volumes; 0: b = 0
  imaging::FitMethod method = imaging::FitMethod::wls;
  std::int64_t fitted = 0, not_fitted = 0, raised = 0, negative = 0;  ///< voxels, as in TensorFit
  double seconds = 0;
};

/// An image ready to be denoised.
struct DenoiseInput {
  ImageKind kind = ImageKind::tensors;
  io::Nifti header;      ///< of the file, without its data
  imaging::Image image;  ///< channels, or tensors [um^2/ms] in `frame`
  ChosenMask mask;
  std::optional<TensorOrder> order;         ///< of the tensor image that was read
  io::Frame read_frame = io::Frame::image;  ///< of the same, or of a series' gradients
  /// Of the tensors in `image`: along the image's axes, but for their order and signs. Total variation a
  /// channel depends on nothing else, so that the outcome does not depend on what the file was written in.
  io::Frame frame = io::Frame::image;
  TensorOrder output_order = TensorOrder::fsl;
  io::Frame output_frame = io::Frame::fsl;
  std::optional<imaging::Image> s0;  ///< [the series' unit]
  std::optional<SeriesFacts> series;
  double read_seconds = 0;
};

/// Reads, checks and, if it is a series, fits. @throws BadInput naming the file and what to do, OutOfMemory
DenoiseInput read_denoise_input(const DenoiseSettings& settings);

/// frame_change(), unless it changes nothing.
std::optional<std::array<std::array<double, 3>, 3>> rotation(io::Frame from, io::Frame to,
                                                             const io::Affine& affine);

}  // namespace warploom::tool
