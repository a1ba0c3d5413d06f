#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

/// Whether denoising took away more than noise; see residual_structure().
struct ResidualStructure {
  /// Pairs of face neighbours whose tensors are alike in kind.
  struct Group {
    const char* name = "";
    std::int64_t pairs = 0;
    double removed = 0;  ///< correlation of neighbours in what was taken from the tensors
    double noise = 0;    ///< the same in the part of the signals that no tensor explains: that of the noise
    double error = 0;    ///< standard error of the difference of the two
    bool structured = false;  ///< removed is above noise by more than 0.03 and than four standard errors
  };
  std::array<Group, 3> groups{{{"isotropic tissue"}, {"anisotropic tissue"}, {"free water"}}};
  bool structured = false;  ///< one of the groups is
  /// One sentence, for a person.
  std::string verdict() const;
};

/// Looks for structure in the residual of denoised tensors. Noise of neighbours has some correlation, 0 as
/// a rule; anatomy that was smoothed away leaves residuals that agree between neighbours. For every voxel the
/// residuals r_i = (M_i - m_i) / sqrt(v_i) of the measured series, m and v the Rician mean and variance that
/// the denoised tensor predicts, fall into two parts: the six directions in which a tensor may change, and
/// the rest, in which there is noise and nothing else as far as a tensor describes the tissue. The
/// correlation of face neighbours in the first is compared with that in the second, so that noise which is
/// itself correlated (an interpolated image) is not taken for anatomy.
///
/// Anisotropic: FA of 0.25 and more; free water: mean diffusivity above 1.5 um^2/ms. A pair counts where both
/// voxels are of a kind. Denoising that shares data between neighbours makes `removed` fall slightly below
/// `noise`, so what is called structured is more surely so. What is no more than a twentieth of the noise is
/// not seen. The criterion is ours.
/// @param tensor, s0  the denoised ones [um^2/ms], [unit of the series]
/// @param noise       [1, nz, ny, nx] standard deviation, > 0; elsewhere voxels are left out
/// @throws BadInput as fit_tensors_adaptively; NoDevice, OutOfMemory
/// @note Memory: once more the series, on a GPU twice. Back ends agree to 1e-5 in what they find.
ResidualStructure residual_structure(const ImageView& series, const Image& noise, const TensorImage& tensor,
                                     const Image& s0, std::span<const double> b,
                                     std::span<const std::array<double, 3>> directions, const Mask& mask,
                                     const Run& run = {});

}  // namespace warploom::imaging
