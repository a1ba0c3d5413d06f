#pragma once

/// What residual_structure.cpp asks of a back end.

#include <array>

#include "imaging/residual_split.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

struct ResidualProblem {
  const ImageView& series;
  const Image& noise;
  const TensorImage& tensor;
  const Image& s0;
  const Mask& mask;
  const TensorDesign& design;
};
/// A group each. @throws Interrupted, OutOfMemory
std::array<PairSums, 3> residual_pairs_cpu(const ResidualProblem& problem);
std::array<PairSums, 3> residual_pairs_cuda(const ResidualProblem& problem);

/// correct_noise_bias() of checked arguments, whose noise is `usual` where it is not above 0.
void correct_noise_bias_cuda(Image& noise, const Image& series, const std::array<int, 3>& extent,
                             double usual);

}  // namespace warploom::imaging
