#include "imaging/eigen.hpp"

#include <utility>

#include "core/instruction_sets.hpp"
#include "imaging/eigen_lanes.hpp"

namespace warploom::imaging {

Eigen3 eigen(const std::array<double, 6>& tensor) {
  Eigen3 result = jacobi_eigen(tensor);
  const auto order = [&](std::size_t i, std::size_t j) {
    if (result.values[i] >= result.values[j]) return;
    std::swap(result.values[i], result.values[j]);
    std::swap(result.vectors[i], result.vectors[j]);
  };
  order(0, 1);
  order(1, 2);
  order(0, 1);
  for (auto& vector : result.vectors) {
    const double largest = *std::max_element(vector.begin(), vector.end(),
                                             [](double u, double v) { return std::abs(u) < std::abs(v); });
    if (largest < 0)
      for (double& component : vector) component = -component;
  }
  return result;
}

const EigenLoops& eigen_loops_of_this_processor() { return *WARPLOOM_PICK(eigen_loops); }

}  // namespace warploom::imaging
