#pragma once

/// Potts' relaxation: memberships m_k >= 0 of classes k, 1 in all at each voxel, that minimise
/// sum_k <m_k, cost_k> + mu/2 sum_k TV(m_k).

#include <cstdint>
#include <vector>

#include "imaging/segment_convex.hpp"

namespace warploom::imaging {

struct PottsEnergies {
  double relaxed = 0;  ///< of the memberships
  double labels = 0;   ///< of the classes that are the largest at each voxel
  double bound = 0;    ///< of the dual: none has less
  double length = 0;   ///< of the borders between the labels
};

class Potts {
 public:
  Potts(const ConvexProblem& problem, int classes);
  /// From what is there already. costs [classes][voxels]
  void begin(const std::vector<std::vector<float>>& costs, double mu);
  /// @throws Interrupted
  void iterate(int count);
  PottsEnergies energies();
  const Mask& labels() const { return labels_; }  ///< as of energies()
  const std::vector<float>& membership(int k) const { return m_[static_cast<std::size_t>(k)]; }

 private:
  template <class Body>
  void for_rows(const Body& body) const;
  std::int64_t row_at(std::int64_t row, int dy, int dz) const;
  void update_dual(std::int64_t row, std::size_t k);
  /// cost_k - div p_k along a row.
  void tension(std::int64_t row, std::size_t k, float* out) const;
  void update_primal(std::int64_t row);

  ConvexProblem problem_;
  std::size_t classes_;
  std::int64_t nx_, ny_, rows_, stride_;
  const std::vector<std::vector<float>>* costs_ = nullptr;
  std::vector<std::vector<float>> m_, extrapolated_, p_;  // p_[k * edges + e], rows with a 0 at both ends
  std::vector<float> zeros_, counts_;
  Mask labels_;
  double mu_ = 0;
  float tau_ = 0, sigma_ = 0;
};

}  // namespace warploom::imaging
