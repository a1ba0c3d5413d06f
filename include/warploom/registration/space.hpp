#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "warploom/imaging/image_view.hpp"
#include "warploom/registration/affine.hpp"

namespace warploom::registration {

/// Voxels and where they lie. An image in two dimensions has nz = 1.
struct Space {
  imaging::Grid grid = {};
  Affine to_world = identity_affine();  ///< voxel index to the world [mm]

  /// @throws BadInput (an extent < 1, more than 2^63 - 1 voxels, an affine that check_affine() refuses)
  void check(std::string_view what = "the space") const;
  bool operator==(const Space&) const = default;
};

/// The space of a file without an affine, a picture: ITK's, in which x and y of the world (LPS) are those of
/// the pixels [1 mm].
Affine picture_affine();

/// An image of one or more values a voxel, and where it lies.
struct PlacedImage {
  imaging::Image image = {};
  Affine to_world = identity_affine();
  io::NiftiType type = io::NiftiType::float32;  ///< as stored; what write_placed() stores
  /// NIfTI's code of the space that the affine leads to: 1 the scanner, 2 another image, 3 Talairach, 4 MNI.
  int code = 1;

  Space space() const { return {image.grid, to_world}; }
  /// @throws BadInput (as Image::check() and Space::check())
  void check(std::string_view what = "the image") const;
};

/// The same where somebody else keeps the values, to be read: they have to stay until the call that reads
/// them ends.
struct PlacedView {
  imaging::ImageView image = {};
  Affine to_world = identity_affine();
  io::NiftiType type = io::NiftiType::float32;  ///< of what is made of it, as of PlacedImage
  int code = 1;

  PlacedView() = default;
  PlacedView(const PlacedImage& image);  // NOLINT: each PlacedImage can be read
  Space space() const { return {image.grid, to_world}; }
  /// @throws BadInput (as ImageView::check() and Space::check())
  void check(std::string_view what = "the image") const;
};

/// From NIfTI (two or three dimensions; a series, a vector and a tensor image have several channels) or PNG
/// (grey, as the eye weighs colours).
/// @param max_bytes  of memory, at most, or what is available if that is less: what the header says is
/// compared
///                   with it before anything is allocated
/// @throws BadInput (as parse_nifti, take_volumes and parse_png), OutOfMemory
PlacedImage read_placed(const std::filesystem::path& path, std::uint64_t max_bytes = std::uint64_t{1} << 38);
/// The same from a file's bytes; `name` is for messages.
PlacedImage parse_placed(std::string_view bytes, const std::string& name,
                         std::uint64_t max_bytes = std::uint64_t{1} << 38);

/// As .nii, .nii.gz or .png by the name's end, as a whole or not at all; integers are rounded and clamped, as
/// those of a .png are (to 16 bits if the type has more than 8). With nz = 1 a NIfTI file has two dimensions.
/// @throws BadInput (a .png of several slices or channels, another ending, as check() and write_nifti)
void write_placed(const std::filesystem::path& path, const PlacedImage& image);

}  // namespace warploom::registration
