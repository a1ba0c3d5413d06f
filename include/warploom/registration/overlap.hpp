#pragma once

#include <cstdint>
#include <vector>

#include "warploom/imaging/image.hpp"

/// How well do two maps of labels agree, voxel by voxel?
namespace warploom::registration {

struct LabelOverlap {
  float label = 0;
  std::int64_t first = 0, second = 0, both = 0;  ///< voxels that have it in either map, and in both
  /// 2 both / (first + second): 1 where they agree, 0 where they do not meet (Dice 1945).
  double dice() const { return 2 * static_cast<double>(both) / static_cast<double>(first + second); }
};

/// Of each label that either map has, but 0, the background; the least label first. Values that are not
/// finite are no labels.
/// @throws BadInput (not one channel, different sizes, as Image::check()) @note One pass on one thread
std::vector<LabelOverlap> label_overlap(const imaging::Image& first, const imaging::Image& second);

/// The mean of dice(); 0 without labels.
double mean_dice(const std::vector<LabelOverlap>& overlaps);

}  // namespace warploom::registration
