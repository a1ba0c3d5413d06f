#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

/// Eigenvalues, largest first, and orthonormal eigenvectors of a symmetric tensor (xx xy xz yy yz zz).
/// An eigenvector's sign is fixed: its component of largest magnitude is positive.
struct Eigen3 {
  std::array<double, 3> values = {};
  std::array<std::array<double, 3>, 3> vectors = {};  ///< vectors[k] belongs to values[k]
};
/// To 1e-14 of the largest magnitude, double roots and the zero tensor too.
Eigen3 eigen(const std::array<double, 6>& tensor);

/// What dtifit writes. Eigenvalues below 0 enter FA, MD, AD, RD and MO as they are.
struct TensorMaps {
  Image fa = {};  ///< fractional anisotropy, sqrt(3/2) |D - md I| / |D|, cut to [0, 1]
  Image md = {};  ///< mean diffusivity [um^2/ms]
  Image ad = {};  ///< axial diffusivity, the largest eigenvalue [um^2/ms]
  Image rd = {};  ///< radial diffusivity, the mean of the other two [um^2/ms]
  Image mo = {};  ///< mode of anisotropy, -1 (planar) to 1 (linear) (Ennis & Kindlmann 2006); 0 if isotropic
  Image l1 = {}, l2 = {}, l3 = {};  ///< eigenvalues [um^2/ms]
  Image v1 = {}, v2 = {}, v3 = {};  ///< eigenvectors, 3 channels, in the tensor's frame
  Image rgb = {};                   ///< |V1| * FA, 3 channels, 0 to 1
  std::int64_t negative = 0;        ///< voxels of the mask with a negative eigenvalue
};
/// The maps by name.
struct TensorMap {
  std::string_view name = {};
  Image TensorMaps::*image = {};
  int channels = 1;
  bool diffusivity = false;  ///< in um^2/ms, else without unit
};
inline constexpr std::array<TensorMap, 12> kTensorMaps{{{"fa", &TensorMaps::fa},
                                                        {"md", &TensorMaps::md, 1, true},
                                                        {"ad", &TensorMaps::ad, 1, true},
                                                        {"rd", &TensorMaps::rd, 1, true},
                                                        {"mo", &TensorMaps::mo},
                                                        {"l1", &TensorMaps::l1, 1, true},
                                                        {"l2", &TensorMaps::l2, 1, true},
                                                        {"l3", &TensorMaps::l3, 1, true},
                                                        {"v1", &TensorMaps::v1, 3},
                                                        {"v2", &TensorMaps::v2, 3},
                                                        {"v3", &TensorMaps::v3, 3},
                                                        {"rgb", &TensorMaps::rgb, 3}}};
// Here and below an eigenvalue counts as negative where it is below -1e-6 of the largest magnitude: less is
// the rounding of a tensor's elements to float.

/// All maps; 0 outside the mask and where the tensor is 0 or not finite.
/// @throws BadInput (not six channels, data of another length, a mask of another size) @note 80 B written a
/// voxel; all threads
TensorMaps tensor_maps(const TensorImage& tensor, const Mask& mask, const Run& run = {});

/// Sets the negative eigenvalues of the tensors in the mask to 0, which gives the nearest positive
/// semidefinite tensor in the Frobenius norm. @return how many voxels it changed @throws as tensor_maps
std::int64_t floor_eigenvalues(TensorImage& tensor, const Mask& mask, const Run& run = {});

/// The tensors in another frame: R D R^T. R may hold a reflection.
/// @throws BadInput (not six channels, data of another length; R R^T is not I to 1e-6)
void rotate_tensors(TensorImage& tensor, const std::array<std::array<double, 3>, 3>& rotation);

}  // namespace warploom::imaging
