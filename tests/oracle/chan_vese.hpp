#pragma once

#include <array>
#include <cstdint>
#include <vector>

/// Slow and obvious references of the active contour, in double precision. Nothing is shared with the
/// library.
namespace warploom::oracle {

/// Getreuer's update with a term for each axis, as it is printed: the new level set as a weighted mean of
/// neighbours. Images and level sets are [nz, ny, nx], the image 0 to 1; spacing in units of the smallest.
struct ChanVese {
  std::array<std::int64_t, 3> extent{1, 1, 1};  ///< x, y, z; an axis of one voxel takes no part
  std::array<double, 3> spacing{1, 1, 1};
  double mu = 0.25, lambda_in = 1, lambda_out = 1, time_step = 0.5;
  std::vector<double> image;

  std::vector<double> step(const std::vector<double>& phi) const;
  /// As scikit-image computes it.
  double energy(const std::vector<double>& phi) const;

  struct Run {
    std::vector<double> phi;
    std::vector<double> energies;  ///< before each step
    double change = 0;             ///< of the last step, root mean square
  };
  Run run(std::vector<double> phi, double tolerance, int max_iterations) const;
};

/// sin(pi i/5) sin(pi j/5) sin(pi k/5), the last only where there is more than one voxel.
std::vector<double> checkerboard(const std::array<std::int64_t, 3>& extent);
/// 1 - distance / radius from voxel (extent - 1) / 2, rounded down, over the axes with more than one voxel.
std::vector<double> disk(const std::array<std::int64_t, 3>& extent, const std::array<double, 3>& spacing);

/// 2 |A and B| / (|A| + |B|) of what is not 0.
double dice(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b);

}  // namespace warploom::oracle
