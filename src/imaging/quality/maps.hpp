#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "imaging/quality/slices.hpp"
#include "warploom/imaging/quality_page.hpp"

namespace warploom::imaging {

/// The colour of a voxel, red, green and blue from 0 to 1.
using Colour = std::function<std::array<double, 3>(std::size_t)>;

/// One thing to look at before and after, and what was taken away.
struct MapRow {
  std::string title, scale;  ///< "FA", "black 0, white 1"
  Colour before, after, removed;
  std::string removed_title, removed_scale;
};

/// Of tensors: main direction, FA and MD; of channels: the first, the middle and the last. The colours refer
/// to the images, which have to outlive them.
std::vector<MapRow> map_rows(const QualityPage& page);

/// Of a tensor xx xy xz yy yz zz.
double fractional_anisotropy(const std::array<double, 6>& tensor);
/// |v| along left-right, back-front and feet-head, the colours of a direction given along the image's axes.
std::array<double, 3> direction_colour(const std::array<double, 3>& v, const Anatomy& body);
/// What takes directions from the frame of the page's tensors to the image's axes.
std::array<double, 3> to_image_axes(const std::array<double, 3>& v, const QualityPage& page);

/// Up to two million voxels of the mask, evenly spaced.
std::vector<std::size_t> sample_voxels(const QualityPage& page);

}  // namespace warploom::imaging
