#pragma once

/// What adaptive_fit.cpp asks of a back end: fit a checked series.

#include "imaging/tensor_design.hpp"
#include "warploom/imaging/adaptive_fit.hpp"

namespace warploom::imaging {

struct AdaptiveProblem {
  const ImageView& series;
  const ImageView& denoised;
  const Image& noise;
  const Mask& mask;
  const TensorDesign& design;
  const AdaptiveFitOptions& options;
  double usual_noise = 0;  ///< where the noise is not known

  float noise_at(std::size_t v) const;  ///< > 0
};

/// Fill the images of a fit, which are there and 0, and its counts. @throws Interrupted, OutOfMemory
void fit_adaptively_cpu(const AdaptiveProblem& problem, AdaptiveFit& fit);
void fit_adaptively_cuda(const AdaptiveProblem& problem, AdaptiveFit& fit);

}  // namespace warploom::imaging
