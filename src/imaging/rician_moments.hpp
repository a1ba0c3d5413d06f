#pragma once

/// The moments of Rician magnitudes as CPU and CUDA compute them, from one table.

#include <cmath>

#include "warploom/core/host_device.hpp"
#include "warploom/imaging/rician.hpp"

namespace warploom::imaging {

inline constexpr double kRicianFloor = 1.2533141373155001;  // sqrt(pi / 2), the mean of noise alone
inline constexpr int kRicianPerUnit = 256, kRicianTableEnd = 16;
inline constexpr int kRicianEntries = kRicianPerUnit * kRicianTableEnd + 1;

/// [kRicianEntries] of signals 0, 1 / 256, ... 16. The same for all, made by the first call.
const RicianMoments* rician_table();

/// rician_moments() @param table  that of rician_table()
WARPLOOM_HOST_DEVICE inline RicianMoments rician_moments(double signal, const RicianMoments* table) {
  if (!(signal < kRicianTableEnd)) {
    const double r = 1 / signal, r2 = r * r;
    const double mean = signal + r * (0.5 + r2 * (0.125 + r2 * (0.1875 + r2 * 0.5859375)));
    const double variance =
        1 - r2 * (0.5 + r2 * (0.5 + r2 * 1.375));  // without the difference of two squares
    return {mean, 1 - r2 * (0.5 + r2 * (0.375 + r2 * 0.9375)), variance};
  }
  // Cubic in the mean, whose slope is in the table; linear in what varies less.
  const double place = signal > 0 ? signal * kRicianPerUnit : 0.0;
  const int k = static_cast<int>(place) < kRicianEntries - 2 ? static_cast<int>(place) : kRicianEntries - 2;
  const double t = place - k, h = 1.0 / kRicianPerUnit;
  const RicianMoments &a = table[k], &b = table[k + 1];
  const double mean = (1 + 2 * t) * (1 - t) * (1 - t) * a.mean + t * (1 - t) * (1 - t) * h * a.slope +
                      t * t * (3 - 2 * t) * b.mean - t * t * (1 - t) * h * b.slope;
  return {mean, a.slope + t * (b.slope - a.slope), a.variance + t * (b.variance - a.variance)};
}

/// rician_signal()
WARPLOOM_HOST_DEVICE inline double rician_signal(double mean, const RicianMoments* table) {
  if (!(mean > kRicianFloor)) return 0;
  // Near the floor mean = floor + floor S^2 / 4, far from it S = mean - 1 / (2 S).
  double signal = mean < 2 ? std::sqrt(4 * (mean / kRicianFloor - 1)) : std::sqrt(mean * mean - 1);
  const int steps = mean < 8 ? 3 : 1;
  for (int step = 0; step < steps; ++step) {
    const RicianMoments at = rician_moments(signal, table);
    if (!(at.slope > 0)) continue;
    const double next = signal - (at.mean - mean) / at.slope;
    signal = next > signal / 2 ? next : signal / 2;
  }
  return signal;
}

/// The variance of a magnitude with this mean.
WARPLOOM_HOST_DEVICE inline double rician_variance(double mean, const RicianMoments* table) {
  constexpr double kFar = 6;
  if (mean < kFar) return rician_moments(rician_signal(mean, table), table).variance;
  return 1 - 0.5 / (mean * mean - 1);
}

}  // namespace warploom::imaging
