#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"
#include "warploom/imaging/image_view.hpp"

namespace warploom::imaging {

/// All without unit: noise is the measure, so none of them follows from the image.
struct AdaptiveFitOptions {
  /// How far the mean squared distance of two voxels' tensors, in variances of a plain fit's noise, is above
  /// 4 where a voxel counts exp(-1) of another. 0: every voxel alone.
  double bandwidth = 3.5;
  /// How much the denoised series counts beside the measured one, in typical voxels' information; >= 0.
  double prior = 4;
  int radius = 2;  ///< neighbours up to this many voxels off along each axis, 0 to 4
  Run run = {};
};

struct AdaptiveFit {
  TensorImage tensor =
      {};         ///< [um^2/ms], positive semidefinite; 0 outside the mask and where nothing was fitted
  Image s0 = {};  ///< signal without diffusion weighting, in the unit of the series
  Image neighbours =
      {};  ///< sum of the weights with which others were taken in, the voxel itself (1) among them
  std::int64_t voxels = 0;      ///< fitted
  std::int64_t not_fitted = 0;  ///< inside the mask, but a measurement is not finite, or none is above 0
  Device device = Device::cpu;
  double seconds = 0;              ///< of the work, with transfers
  double transfer_seconds = 0;     ///< between host and device; 0 on a CPU
  std::uint64_t device_bytes = 0;  ///< allocated on the device
};

/// Fits tensors to a series whose noise is Rician and known, each voxel together with those of its
/// neighbours whose tensors cannot be told from its own. No weight of a penalty is to be chosen, because
/// every voxel brings the information that its measurements hold. Twice 1 to 4, then 5:
///
/// 1. *Pilot*: the weighted fit of the denoised series, whose bias was taken out; negative eigenvalues set to
/// 0.
/// 2. *Information*: at the pilot theta = (D, ln S0), with m and v the mean and variance of a Rician
/// magnitude,
///    the score s = sum_i m'_i S_i a_i (M_i - m_i) / v_i and the information N = sum_i (m'_i S_i)^2 a_i a_i^T
///    / v_i of the measured M_i, a_i the row of the design; ln S0 is eliminated. N^-1 is the covariance of a
///    fit to the voxel alone; free water, whose signal is low, has little information, and a bundle much. The
///    score s' of the denoised series in the same way. In both, a residual beyond 4 standard deviations
///    counts as one of 4 (Huber 1964): no noise explains it, and no tensor. So does it where S0 is fitted at
///    the end.
/// 3. *Neighbours*: a guide, the fit of the denoised series with its bias (which only costs contrast) plus
/// what
///    the nearest neighbours' mean score says that denoising took away. Distance of two voxels: (g_v - g_u)^T
///    N' (g_v - g_u), N' their mean information, plus 1/4 of the same between their face neighbours, over the
///    weights' sum. Weight w = exp(-max(0, distance - 4) / bandwidth): what noise alone may do costs nothing.
/// 4. With A = sum_u w N_u over neighbours, and Kbar the median information of a voxel, spread evenly:
///      D' = A^-1 sum_u w (N_u D_u + s'_u)                      from the denoised series
///      D  = D' + (A + prior Kbar)^-1 (sum_u w (N_u D_u + s_u) - A D')   what the measurements have beyond it
///    so that a region keeps its own data where they say more than Kbar, and the denoised ones elsewhere.
///    Negative eigenvalues are set to 0. The second time 7/10 of the magnitudes that the first tensors
///    predict and 3/10 of the denoised series stand for the denoised series.
/// 5. Step 4 with .3 of the bandwidth and .075 of the prior gives a narrow estimate beside the wide one: less
///    bias, more noise. q is their squared distance in units of the narrow one's information, a sixth of it,
///    averaged over the voxel and those at its faces. The eigenvectors are the wide one's; the eigenvalues
///    are those of wide + q^2 / (q^2 + .15^2) (narrow - wide). So anisotropy of what is two voxels wide
///    stays, and directions are pooled all the same.
///
/// Sources: Polzehl & Spokoiny, "Propagation-separation approach for local likelihood estimation", Probab.
/// Theory Relat. Fields 135, 2006, for weights by distance in units of information; Coupe et al., IEEE Trans.
/// Med. Imaging 27, 2008, for patches in them. The combination with a denoised series (4.) and step 5
/// are ours, and so are the constants, from phantoms: docs/design has the measurements.
///
/// @param series    [volumes, nz, ny, nx] as measured, any unit
/// @param denoised  [same] what denoise_series() made of it: estimates of the measurements' means, with bias
/// @param noise     [1, nz, ny, nx] standard deviation in each part of the complex signal, in the series'
/// unit;
///                  where it is not above 0 the median of the others stands for it
/// @param b, directions as fit_tensors()
/// @throws BadInput (options out of range, sizes that differ, noise that is nowhere above 0), and as
/// fit_tensors
/// @throws NoDevice, OutOfMemory, Interrupted
/// @note Deterministic on each back end, whatever the number of threads. Back ends agree to 1e-5 in the
/// Frobenius
///       norm over all tensors, and in each to 1e-3: a weight may fall to the other side of the least that
///       counts, 1e-3. Memory: 330 bytes a voxel; on a GPU 490 and both series. Work: (2 radius + 1)^3 * 450
///       operations a voxel, and some 1,400 a measurement, in double precision.
AdaptiveFit fit_tensors_adaptively(const ImageView& series, const ImageView& denoised, const Image& noise,
                                   std::span<const double> b,
                                   std::span<const std::array<double, 3>> directions, const Mask& mask,
                                   const AdaptiveFitOptions& options = {});

}  // namespace warploom::imaging
