#pragma once

#include <string>

#include "warploom/imaging/denoise.hpp"
#include "warploom/io/gradients.hpp"
#include "warploom/io/nifti.hpp"

namespace warploom::imaging {

/// A denoising as its page shows it. What is named here has to outlive the call.
struct QualityPage {
  std::string name;            ///< of the image; text
  std::string facts;           ///< HTML at the top: what was done
  const Image &noisy, &clean;  ///< before and after: channels, or tensors [um^2/ms]
  bool tensors = true;
  const Mask& mask;
  io::Affine affine;
  io::Frame frame = io::Frame::image;  ///< of the tensors
  const DenoiseReport& done;
  double tolerance = 0;  ///< of the relative gap that was asked for
};

/// A page that shows what denoising did, in one HTML file that needs nothing else: the facts, slices before
/// and after along three planes, the main directions in a part of one slice, the solver's progress,
/// histograms.
/// @throws BadInput (images of different shapes, nothing inside the mask, not six channels of tensors, a mask
///         of another size, an affine that cannot be inverted)
std::string quality_page(const QualityPage& page);

}  // namespace warploom::imaging
