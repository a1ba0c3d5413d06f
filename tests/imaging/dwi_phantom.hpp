#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "warploom/imaging/series.hpp"

namespace warploom::imaging {

/// What a voxel of the phantom is made of, by the largest share of its volume.
enum class Tissue : std::uint8_t {
  outside,   ///< air, or less than half of the voxel inside the head
  bundle,    ///< thick bundles of fibres
  thin,      ///< bundles two voxels wide
  crossing,  ///< two thick bundles in one place
  grey,      ///< grey matter, and the diffuse tissue between bundles
  water,     ///< free water: the rim of the head and two ventricles
};
inline constexpr std::array<Tissue, 5> kTissues{Tissue::bundle, Tissue::thin, Tissue::crossing, Tissue::grey,
                                                Tissue::water};
const char* name(Tissue tissue);

struct DwiPhantomOptions {
  std::int64_t nx = 60, ny = 64, nz = 20;
  double spacing = 2;        ///< [mm]
  std::uint32_t layout = 1;  ///< places, curves and contrasts of everything
  int unweighted = 4;        ///< volumes at b = 0, which come first
  int directions = 45;       ///< volumes at b = 1000 s/mm^2
  double noise_variation =
      0;  ///< the noise grows from sigma at the head's rim to 1 + this times in its middle
};

/// A made-up head: S0, diffusivities, anisotropy and directions vary smoothly within every tissue, voxels at
/// borders hold parts of both tissues (signals of 4 x 4 x 2 points are averaged), bundles are curved, some
/// are two voxels thin, two cross, and free water lies next to tissue. Nothing in it is constant over a
/// region: that would flatter whatever prefers constant regions.
struct DwiPhantom {
  Series clean = {};                ///< noiseless; S0 of bundles is about 1000; frame image
  std::vector<Tissue> tissue = {};  ///< a voxel
  Mask mask = {};                   ///< tissue that is not outside
  std::vector<float> noise = {};    ///< a voxel: standard deviation relative to the mean one over the mask
};
DwiPhantom dwi_phantom(const DwiPhantomOptions& options = {});

/// |clean + complex Gaussian noise|: Rician, of standard deviation 1000 / snr times the phantom's relative
/// noise. Deterministic in `seed`, the same on every machine.
Series with_noise(const DwiPhantom& phantom, double snr, std::uint32_t seed);

}  // namespace warploom::imaging
