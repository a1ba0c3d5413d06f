#pragma once

#include <array>
#include <cstdint>

#include "warploom/core/run.hpp"
#include "warploom/imaging/image.hpp"

namespace warploom::imaging {

/// A magnitude M = |S + n|, n complex Gaussian noise of standard deviation 1 in each part: Rician. All in
/// units of that deviation.
struct RicianMoments {
  double mean = 0;      ///< E M = sqrt(pi/2) L(-S^2/2), L the Laguerre function of order 1/2
  double slope = 0;     ///< d mean / d S
  double variance = 0;  ///< 2 + S^2 - mean^2
};
/// Of a signal S >= 0, to 2e-6 relative: from a table up to 16, beyond it by the asymptotic series.
RicianMoments rician_moments(double signal);

/// The signal whose mean magnitude this is; 0 up to sqrt(pi/2), the mean of noise alone. Absolute error below
/// 1e-3 near there, where the answer has a vertical tangent, else 1e-5.
double rician_signal(double mean);

/// Takes the bias out of mean magnitudes, as Koay & Basser, J. Magn. Reson. 179, 2006, do, but of means that
/// are known: the denoised series. Of single noisy values the result is not the best, and at the floor it is
/// 0.
/// @param series  [volumes, nz, ny, nx] means, replaced by signals; values <= 0 become 0
/// @param noise   [1, nz, ny, nx] standard deviation, in the series' unit; where it is not above 0 nothing
/// changes
/// @return        how many values lay at or below the floor
/// @throws BadInput (sizes that differ)
std::int64_t correct_rician_bias(Image& series, const Image& noise, const Mask& mask, const Run& run = {});

/// Turns the deviation of magnitudes into that of the complex signal's parts, which is larger where the
/// signal is low: noise / sqrt(v), v the variance of rician_moments() averaged over volumes and over a patch,
/// since that is where denoise_series() measured it (Koay & Basser 2006, for patches). Three fixed-point
/// steps.
/// @param noise   [1, nz, ny, nx] of denoise_series(), replaced where it is above 0
/// @param series  [volumes, nz, ny, nx] the denoised one, with bias
/// @param extent  of a patch along x, y and z, odd [voxels]
/// @throws BadInput (sizes that differ, an extent that is even or < 1), NoDevice, OutOfMemory
/// @note CPU and GPU agree to 1e-5 relative. Memory on a GPU: the series, and 24 bytes a voxel.
void correct_noise_bias(Image& noise, const Image& series, const std::array<int, 3>& extent,
                        const Run& run = {});

}  // namespace warploom::imaging
