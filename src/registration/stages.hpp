#pragma once

/// The stages of a registration, of images that were brought to levels once.

#include "registration/device_pair.hpp"
#include "registration/pyramid.hpp"
#include "warploom/registration/align.hpp"
#include "warploom/registration/deform.hpp"

namespace warploom::registration {

/// Both as finest_level() has them. @throws BadInput (as that; two with three dimensions)
struct Levels {
  Level fixed, moving;
  /// Their grids alone: a DevicePair has the images.
  Levels(const Space& fixed, const Space& moving);
  Levels(const PlacedView& fixed, const imaging::Mask& fixed_mask, const PlacedView& moving,
         const imaging::Mask& moving_mask);
};

/// Levels on the host, or a pair on the current GPU and the levels' grids alone.
struct Images {
  Levels levels;
  std::unique_ptr<DevicePair> device;
  /// @param then  as make_device_pair() has it
  Images(const PlacedView& fixed, const imaging::Mask& fixed_mask, const PlacedView& moving,
         const imaging::Mask& moving_mask, bool on_a_gpu, std::uint64_t then);
};

/// estimate_affine(). @param device  has both images; null: on the CPU
Alignment align_levels(const Levels& images, const AlignOptions& options, DevicePair* device);

struct FoundDeformation {
  Deformation deformation;
  FoundField found;  ///< without `mm`, which is in there; nothing in it unless a GPU made it
};

/// estimate_deformation(), on the device of the DeviceScope around it. @param device  as above; null on a
/// GPU: they go there now
FoundDeformation deform_levels(Levels& images, const Affine& affine, const DeformOptions& options,
                               Device where, DevicePair* device);

/// Of the GPU's memory, for a deformation by the greedy method, images aside, about.
std::uint64_t device_bytes_to_deform(const imaging::Grid& fixed, const imaging::Grid& moving);
/// Voxels of the grid half way, were both images side by side.
double voxels_half_way(const imaging::Grid& fixed, const imaging::Grid& moving);

}  // namespace warploom::registration
