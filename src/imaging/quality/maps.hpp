#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "warploom/imaging/quality_page.hpp"
#include "warploom/imaging/slices.hpp"

namespace warploom::imaging {

/// The colour of a voxel, red, green and blue from 0 to 1.
using Colour = std::function<std::array<double, 3>(std::size_t)>;
/// A number of a voxel.
using Value = std::function<double(std::size_t)>;

/// One thing to look at before and after, and a number of it that tells how much has changed.
struct MapRow {
  std::string title, scale;  ///< "FA", "black 0, white 1"
  Colour before, after;
  std::string quantity, unit;  ///< "MD", " um^2/ms"
  Value value_before, value_after;
  double full_change = 1;  ///< at which the change's colour is full: three standard deviations
};

/// Of tensors: main direction, FA and MD; of channels: the first, the middle and the last. The colours refer
/// to the images, which have to outlive them.
std::vector<MapRow> map_rows(const QualityPage& page);

/// After minus before: below 0 where the quantity is lower after denoising.
double change(const MapRow& row, std::size_t voxel);
/// From blue (-1, lower) over white (0) to red (1, higher); what is outside is cut.
std::array<double, 3> change_colour(double share);

/// What a row's quantity is on the mean and where it changes, over some voxels.
struct ChangeNumbers {
  double before = 0, after = 0, change = 0;  ///< means
  double lower = 0, higher = 0;              ///< shares of the voxels, 0 to 1
};
ChangeNumbers change_numbers(const MapRow& row, const std::vector<std::size_t>& voxels);

/// Of a tensor xx xy xz yy yz zz.
double fractional_anisotropy(const std::array<double, 6>& tensor);
/// |v| along left-right, back-front and feet-head, the colours of a direction given along the image's axes.
std::array<double, 3> direction_colour(const std::array<double, 3>& v, const Anatomy& body);
/// What takes directions from the frame of the page's tensors to the image's axes.
std::array<double, 3> to_image_axes(const std::array<double, 3>& v, const QualityPage& page);

/// Up to two million voxels of the mask, evenly spaced.
std::vector<std::size_t> sample_voxels(const QualityPage& page);

}  // namespace warploom::imaging
