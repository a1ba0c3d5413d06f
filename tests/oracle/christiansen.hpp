#pragma once

#include <array>
#include <cstddef>
#include <vector>

/// The iteration of bench/imaging/sync in double precision, voxel by voxel and with nothing stored: steepest
/// descent in the Cholesky factor L of a tensor image (Christiansen et al. 2007; M. Moazeni's dissertation,
/// UCLA 2013, Figures 47 and 48 completed to six elements, 2*lambda before the bracket).
namespace warploom::oracle {

/// Six values a voxel, [6, nz, ny, nx]: the elements 11, 21, 31, 22, 32, 33 of a symmetric matrix or of a
/// lower-triangular factor.
struct MatrixImage {
  int nx = 0, ny = 0, nz = 0;
  std::vector<double> data;

  double& at(int channel, int x, int y, int z) { return data[index(channel, x, y, z)]; }
  double at(int channel, int x, int y, int z) const { return data[index(channel, x, y, z)]; }

 private:
  std::size_t index(int channel, int x, int y, int z) const {
    return ((static_cast<std::size_t>(channel) * nz + z) * ny + y) * nx + x;
  }
};

using Matrix = std::array<std::array<double, 3>, 3>;
Matrix lower(const MatrixImage& image, int x, int y, int z);
Matrix symmetric(const MatrixImage& image, int x, int y, int z);

class Christiansen {
 public:
  struct Options {
    double lambda = 1, step = 1e-3, dx = 1, dy = 1, dz = 1;
    /// Voxels a side of the regions that have TV norms of their own; 0: the image is one region along the
    /// axis.
    std::array<int, 3> region{0, 0, 0};
    /// Differences see the region alone, which is continued by replication; otherwise the whole image.
    bool isolated = false;
    /// The stencil whose flux stands between two voxels; otherwise Figure 47's, as printed.
    bool centred = false;
    static constexpr double tiny = 1e-8F;  ///< the kernels' TINY, as the float it is there
  };
  struct Region {
    std::array<int, 3> begin, end;
  };

  /// @param noisy  outlives the object
  Christiansen(const MatrixImage& noisy, const Options& options) : noisy_(noisy), options_(options) {}

  /// L after one step.
  MatrixImage step(const MatrixImage& factor) const;

  /// L L^T
  static MatrixImage tensors(const MatrixImage& factor);
  /// dG/dl_ij = 2 lambda ((D - X) L)_ij - 2 (P L)_ij, the derivative of lambda/2 ||L L^T - X||^2 less that of
  /// the functional whose derivative by D is P
  static double gradient(double lambda, const Matrix& l, const Matrix& d, const Matrix& x, const Matrix& p,
                         int i, int j);
  /// sum over the region's voxels of |grad d|, by backward differences
  std::array<double, 6> tv_norms(const MatrixImage& tensors, const Region& region) const;
  /// TV[d_ij] / sqrt(sum over all nine i, j of TV[d_ij]^2); all 0 where the sum is
  static std::array<double, 6> weights(const std::array<double, 6>& tv_norms);
  /// div(grad d / |grad d|) of one channel; voxels outside `region` are its nearest ones [1/length]
  double curvature(const MatrixImage& tensors, int channel, const Region& region, int x, int y, int z) const;

 private:
  std::vector<Region> regions() const;

  const MatrixImage& noisy_;
  Options options_;
};

}  // namespace warploom::oracle
