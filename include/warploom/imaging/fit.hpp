#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

/// How the tensor is fitted to the logarithm of the signal, ln S = ln S0 - b g^T D g. Weights are the squares
/// of a signal, since that is the reciprocal of the variance that its logarithm has (Salvador et al. 2005). A
/// step whose weights leave too few measurements for seven unknowns is left out.
enum class FitMethod {
  ols,       ///< ordinary least squares (dipy's OLS; MRtrix: dwi2tensor -ols -iter 0)
  wls,       ///< then once with the weights of the signal that OLS predicts (dipy's WLS)
  iterated,  ///< with the weights of the measured signal, then twice with those of the signal that the fit
             ///< before predicts (dwi2tensor's default)
  positive,  ///< wls; where that has a negative eigenvalue, the minimiser of the same weighted residual among
             ///< the tensors that have none (an interior point method)
};
/// @throws BadInput (an unknown name)
FitMethod parse_fit_method(std::string_view text);
std::string_view name(FitMethod method);

struct FitOptions {
  FitMethod method = FitMethod::wls;
  Run run = {};
};

struct TensorFit {
  TensorImage tensor = {};      ///< [um^2/ms]; 0 outside the mask and where nothing could be fitted
  Image s0 = {};                ///< signal without diffusion weighting, as the fit has it; unit of the series
  std::int64_t voxels = 0;      ///< fitted
  std::int64_t not_fitted = 0;  ///< inside the mask, but a measurement is NaN or infinite, or all are <= 0
  /// Voxels with a measurement <= 0, which was raised to the smallest positive one of all inside the mask, as
  /// dipy does (MRtrix: to 1e-6 of the voxel's largest).
  std::int64_t raised = 0;
  /// Voxels with a negative eigenvalue after the fit, as tensor_maps() counts them.
  std::int64_t negative = 0;
  /// Median over voxels of the residual variance, weighted with the squares of the predicted signal: about
  /// that of the noise [unit of the series^2]. 0 where there are only seven measurements.
  double residual_variance = 0;
};

/// Fits a diffusion tensor to every voxel of a diffusion series.
///
/// @param series      [volumes, nz, ny, nx], any unit
/// @param b           [volumes] b-values [s/mm^2]
/// @param directions  [volumes] unit vectors, in whichever frame the tensor shall be in; ignored where b is 0
/// @throws BadInput (`series` has data of another length than its grid needs; counts differ, fewer than 7
/// volumes, a negative b-value or none from 10 s/mm^2 up, a
///         direction whose length is not 1 within 1 %, gradients that do not determine the seven unknowns to
///         one part in 1000: names how many they do determine)
/// @note Agrees with dipy 1.6 and MRtrix 3.0.3 to 1e-5 where all measurements are above 0 and eigenvalues are
///       well above 0. Work: voxels * volumes * 28 multiplications a solution, and some three logarithms or
///       exponentials a measurement; double precision; all threads.
TensorFit fit_tensors(const ImageView& series, std::span<const double> b,
                      std::span<const std::array<double, 3>> directions, const Mask& mask,
                      const FitOptions& options = {});

}  // namespace warploom::imaging
