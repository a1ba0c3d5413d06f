#pragma once

#include <string>

#include "warploom/registration/field.hpp"
#include "warploom/registration/space.hpp"

namespace warploom::registration {

/// A registration as its page shows it. What is named here has to outlive the call.
struct QualityPage {
  std::string fixed_name = {}, moving_name = {};  ///< text
  std::string facts = {};                         ///< HTML at the top: what was done
  const PlacedImage &fixed, &warped;  ///< the second is the moving image in the fixed one's space; of several
                                      ///< channels the first is shown
  const DisplacementField* field = nullptr;  ///< on the same voxels; null: no grid and no volumes are drawn
};

/// A page that shows how well two images lie on each other, in one HTML file that needs nothing else: along
/// three planes both images, a checkerboard of them, the edges of one over the other, the field as a grid,
/// and where it stretches, shrinks or folds.
/// @throws BadInput (images or a field on different voxels; as PlacedImage::check() and
/// DisplacementField::check())
std::string quality_page(const QualityPage& page);

}  // namespace warploom::registration
