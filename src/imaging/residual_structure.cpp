#include "warploom/imaging/residual_structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "imaging/cholesky.hpp"
#include "imaging/eigen.hpp"
#include "imaging/tensor_design.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/rician.hpp"

namespace warploom::imaging {
namespace {

constexpr double kAnisotropic = 0.25, kWater = 1.5;  // FA; mean diffusivity [um^2/ms]
constexpr double kVisible = 0.03, kErrors = 4;
constexpr std::uint8_t kNone = 3;  // no group

// The residual of a voxel in an orthonormal basis of the directions of ln S0 and the tensor's six elements,
// by Gram and Schmidt's method, and what is left beside them.
class Split {
 public:
  explicit Split(const TensorDesign& design)
      : design_(design),
        residual(design.rows.size()),
        basis_(kUnknowns, std::vector<double>(residual.size())) {}

  /// @return false where the signals do not determine a tensor
  bool compute(const Unknowns& solution, std::span<const double> measured) {
    for (std::size_t i = 0; i < residual.size(); ++i) {
      double exponent = 0;
      for (std::size_t c = 0; c < kUnknowns; ++c) exponent += design_.rows[i][c] * solution[c];
      const double signal = std::exp(std::min(exponent, 30.0));
      const auto [mean, slope, variance] = rician_moments(signal);
      const double deviation = std::sqrt(variance);
      residual[i] = (measured[i] - mean) / deviation;
      // ln S0 comes first: what is left of the others is then the tensor's alone.
      for (std::size_t k = 0; k < kUnknowns; ++k)
        basis_[k][i] = slope * signal / deviation * design_.rows[i][k == 0 ? 6 : k - 1];
    }
    for (std::size_t k = 0; k < kUnknowns; ++k) {
      auto& vector = basis_[k];
      const double before = dot(vector, vector);
      for (std::size_t j = 0; j < k; ++j) subtract(vector, basis_[j], dot(vector, basis_[j]));
      const double square = dot(vector, vector);
      if (!(square > 1e-10 * before)) return false;
      for (double& value : vector) value /= std::sqrt(square);
      const double part = dot(residual, vector);
      if (k > 0) tensor[k - 1] = part;
      subtract(residual, vector, part);
    }
    return true;
  }

 private:
  static double dot(std::span<const double> a, std::span<const double> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  static void subtract(std::span<double> from, std::span<const double> what, double times) {
    for (std::size_t i = 0; i < from.size(); ++i) from[i] -= times * what[i];
  }

  const TensorDesign& design_;

 public:
  std::vector<double> residual;       ///< beside the tensor and S0, once computed
  std::array<double, 6> tensor = {};  ///< along its six directions

 private:
  std::vector<std::vector<double>> basis_;
};

std::uint8_t group_of(const std::array<double, 6>& tensor) {
  const auto [values, vectors] = eigen(tensor);
  const double mean = (values[0] + values[1] + values[2]) / 3;
  if (mean > kWater) return 2;
  double square = 0, spread = 0;
  for (const double value : values) square += value * value, spread += (value - mean) * (value - mean);
  return square > 0 && std::sqrt(1.5 * spread / square) >= kAnisotropic ? 1 : 0;
}

// Products of neighbours and squares, of one group.
struct Products {
  double product = 0, square = 0;
  void add(double a, double b) { product += a * b, square += (a * a + b * b) / 2; }
  double correlation() const { return square > 0 ? product / square : 0; }
};

}  // namespace

std::string ResidualStructure::verdict() const {
  std::string where;
  for (const Group& group : groups)
    if (group.structured) where += fmt::format("{}{}", where.empty() ? "" : " and ", group.name);
  if (!where.empty())
    return fmt::format("what was taken away holds structure in {}: less smoothing would keep it", where);
  const bool any = std::ranges::any_of(groups, [](const Group& group) { return group.pairs > 0; });
  return any ? "what was taken away is noise, as far as neighbours tell"
             : "too few voxels to tell noise from structure";
}

ResidualStructure residual_structure(const Image& series, const Image& noise, const TensorImage& tensor,
                                     const Image& s0, std::span<const double> b,
                                     std::span<const std::array<double, 3>> directions, const Mask& mask,
                                     const Run& run) {
  const RunScope scope(run);
  series.check("the series");
  require_tensor(tensor);
  require_mask(mask, series.grid);
  const Grid& grid = series.grid;
  for (const Image* image : {&noise, &s0}) image->check("the noise map or S0");
  if (noise.channels != 1 || s0.channels != 1 || noise.grid.voxels() != grid.voxels() ||
      s0.grid.voxels() != grid.voxels() || tensor.grid.voxels() != grid.voxels())
    throw BadInput("series, noise, tensors and S0 must have as many voxels as each other");
  const TensorDesign design = tensor_design(series.channels, b, directions);
  const std::size_t voxels = static_cast<std::size_t>(grid.voxels());
  const auto volumes = static_cast<std::size_t>(series.channels);
  std::vector<float> rest(voxels * volumes), removed(voxels * kTensorChannels);
  std::vector<std::uint8_t> group(voxels, kNone);
  for_pieces(grid, [&](std::size_t begin, std::size_t end) {
    Split split(design);
    std::vector<double> measured(volumes);
    for (std::size_t v = begin; v < end; ++v) {
      const double sigma = static_cast<double>(noise.data[v]),
                   amplitude = static_cast<double>(s0.data[v]) / sigma;
      if (!inside(mask, v) || !(sigma > 0) || !(amplitude > 0) || !std::isfinite(amplitude)) continue;
      Unknowns solution;
      const auto elements = tensor_at(tensor, v);
      for (std::size_t c = 0; c < 6; ++c) solution[c] = elements[c] * design.largest_b;
      solution[6] = std::log(amplitude);
      bool finite = true;
      for (std::size_t i = 0; i < volumes; ++i) {
        measured[i] = static_cast<double>(series.data[i * voxels + v]) / sigma;
        finite = finite && std::isfinite(measured[i]);
      }
      if (!finite || !split.compute(solution, measured)) continue;
      group[v] = group_of(elements);
      for (std::size_t i = 0; i < volumes; ++i) rest[i * voxels + v] = static_cast<float>(split.residual[i]);
      for (std::size_t c = 0; c < 6; ++c) removed[c * voxels + v] = static_cast<float>(split.tensor[c]);
    }
  });
  std::array<Products, 3> of_tensors, of_rest;
  ResidualStructure result;
  const auto pairs = [&](std::size_t v, std::size_t u) {
    if (group[v] == kNone || group[v] != group[u]) return;
    ++result.groups[group[v]].pairs;
    for (std::size_t c = 0; c < kTensorChannels; ++c)
      of_tensors[group[v]].add(static_cast<double>(removed[c * voxels + v]),
                               static_cast<double>(removed[c * voxels + u]));
    for (std::size_t i = 0; i < volumes; ++i)
      of_rest[group[v]].add(static_cast<double>(rest[i * voxels + v]),
                            static_cast<double>(rest[i * voxels + u]));
  };
  const auto nx = static_cast<std::size_t>(grid.nx), ny = static_cast<std::size_t>(grid.ny);
  for (std::size_t v = 0; v < voxels; ++v) {
    if (v % nx + 1 < nx) pairs(v, v + 1);
    if (v / nx % ny + 1 < ny) pairs(v, v + nx);
    if (v + nx * ny < voxels) pairs(v, v + nx * ny);
  }
  for (std::size_t k = 0; k < result.groups.size(); ++k) {
    ResidualStructure::Group& found = result.groups[k];
    if (found.pairs == 0) continue;
    found.removed = of_tensors[k].correlation();
    found.noise = of_rest[k].correlation();
    const double count = static_cast<double>(found.pairs);
    found.error = std::sqrt(1 / (kTensorChannels * count) +
                            1 / (std::max(1.0, static_cast<double>(volumes) - kUnknowns) * count));
    found.structured = found.removed - found.noise > std::max(kVisible, kErrors * found.error);
    result.structured = result.structured || found.structured;
  }
  return result;
}

}  // namespace warploom::imaging
