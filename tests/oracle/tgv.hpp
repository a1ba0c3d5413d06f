#pragma once

#include <cstdint>
#include <vector>

#include "oracle/tv.hpp"

namespace warploom::oracle {

/// Variation::generalised of include/warploom/imaging/denoise.hpp in double precision, written down from its
/// text: a list of differences, each a row of a sparse matrix, and a plain primal-dual iteration whose
/// adjoint is the transposed matrix. Lengths in mm. It shares no code with what is tested.
class GeneralisedVariation {
 public:
  GeneralisedVariation(const Image& noisy, const Mask& mask, bool tensor, double lambda, double ratio);

  struct Point {
    Field u;  ///< [channels, voxels]
    Field w;  ///< [channels, 3, voxels]; of slopes that do not exist 0
    double objective = 0;
  };
  double objective(const Point& point) const;
  /// After so many iterations from the noisy image.
  Point minimise(int iterations) const;

 private:
  struct Entry {
    std::int64_t column;  ///< of u, then of w_x, w_y, w_z: [4, voxels]
    double factor;
  };
  /// One component of grad u - w or of sym grad w, in every channel.
  struct Row {
    std::vector<Entry> entries;
    std::int64_t voxel;
    bool strain;
    double weight;  ///< 2 where it stands for two
  };
  void add_rows(std::int64_t x, std::int64_t y, std::int64_t z);
  double value(const Row& row, const Field& u, const Field& w, int channel) const;

  TotalVariation image_;  ///< for the mask, the weights and the projection
  Grid grid_;
  double lambda_, second_;
  std::vector<double> weights_;
  std::vector<Row> rows_;
};

}  // namespace warploom::oracle
