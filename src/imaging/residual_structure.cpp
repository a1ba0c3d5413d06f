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

// The residual of a voxel in an orthonormal basis of the directions of ln S0 and the tensor's six elements, by
// Gram and Schmidt's method, and what is left beside them. With B the directions, B^T B = L L^T, that basis is
// B L^-T: only sums over measurements are needed.
class Split {
 public:
  explicit Split(const TensorDesign& design)
      : design_(design), residual(design.rows.size()), factor_(design.rows.size()) {}

  /// @return false where the signals do not determine a tensor
  bool compute(const Unknowns& solution, std::span<const double> measured) {
    // ln S0 comes first: what is left of the others is then the tensor's alone.
    SquareMatrix<kUnknowns> products{};
    Unknowns along{};
    for (std::size_t i = 0; i < residual.size(); ++i) {
      const Unknowns& row = design_.rows[i];
      double exponent = 0;
      for (std::size_t c = 0; c < kUnknowns; ++c) exponent += row[c] * solution[c];
      const double signal = std::exp(std::min(exponent, 30.0));
      const auto [mean, slope, variance] = rician_moments(signal);
      const double deviation = std::sqrt(variance);
      residual[i] = (measured[i] - mean) / deviation;
      factor_[i] = slope * signal / deviation;
      Unknowns direction;
      for (std::size_t k = 0; k < kUnknowns; ++k) direction[k] = factor_[i] * row[k == 0 ? 6 : k - 1];
      for (std::size_t k = 0; k < kUnknowns; ++k) {
        for (std::size_t j = 0; j <= k; ++j) products[k][j] += direction[k] * direction[j];
        along[k] += direction[k] * residual[i];
      }
    }
    for (std::size_t k = 0; k < kUnknowns; ++k) {
      const double before = products[k][k];
      for (std::size_t j = 0; j < k; ++j) products[k][k] -= products[k][j] * products[k][j];
      if (!(products[k][k] > 1e-10 * before)) return false;
      products[k][k] = std::sqrt(products[k][k]);
      for (std::size_t i = k + 1; i < kUnknowns; ++i) {
        for (std::size_t j = 0; j < k; ++j) products[i][k] -= products[i][j] * products[k][j];
        products[i][k] /= products[k][k];
      }
      for (std::size_t j = 0; j < k; ++j) along[k] -= products[k][j] * along[j];
      along[k] /= products[k][k];
      if (k > 0) tensor[k - 1] = along[k];
    }
    for (std::size_t k = kUnknowns; k-- > 0;) {
      for (std::size_t i = k + 1; i < kUnknowns; ++i) along[k] -= products[i][k] * along[i];
      along[k] /= products[k][k];
    }
    for (std::size_t i = 0; i < residual.size(); ++i) {
      const Unknowns& row = design_.rows[i];
      double fitted = along[0] * row[6];
      for (std::size_t c = 0; c < 6; ++c) fitted += along[c + 1] * row[c];
      residual[i] -= factor_[i] * fitted;
    }
    return true;
  }

 private:
  const TensorDesign& design_;

 public:
  std::vector<double> residual;       ///< beside the tensor and S0, once computed
  std::array<double, 6> tensor = {};  ///< along its six directions

 private:
  std::vector<double> factor_;  ///< of a row: its direction
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
  void add(const Products& other) { product += other.product, square += other.square; }
  double correlation() const { return square > 0 ? product / square : 0; }
};

// Of all pairs of neighbours that have one group.
struct PairSums {
  std::array<Products, 3> tensors = {}, rest = {};
  std::array<std::int64_t, 3> pairs = {};

  void add(const PairSums& other) {
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      tensors[k].add(other.tensors[k]);
      rest[k].add(other.rest[k]);
      pairs[k] += other.pairs[k];
    }
  }
};

// Adds the products of one channel's values at these voxels and `step` after each.
void add_products(std::span<const float> values, std::span<const std::uint8_t> group,
                  std::span<const std::size_t> first, std::size_t step, std::array<Products, 3>& to) {
  for (const std::size_t v : first)
    to[group[v]].add(static_cast<double>(values[v]), static_cast<double>(values[v + step]));
}

// In pieces of voxels, whose sums are added in their order.
PairSums pair_sums(const Grid& grid, std::span<const float> removed, std::span<const float> rest,
                   std::span<const std::uint8_t> group) {
  const std::size_t voxels = group.size(), steps[3] = {1, static_cast<std::size_t>(grid.nx),
                                                       static_cast<std::size_t>(grid.nx * grid.ny)};
  const std::size_t extents[3] = {steps[1], static_cast<std::size_t>(grid.ny),
                                  static_cast<std::size_t>(grid.nz)};
  std::vector<PairSums> parts((voxels + kPiece - 1) / kPiece);
  for_pieces(grid, [&](std::size_t begin, std::size_t end) {
    PairSums& part = parts[begin / kPiece];
    std::vector<std::size_t> first;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::size_t step = steps[axis];
      first.clear();
      for (std::size_t v = begin; v < end; ++v)
        if (v / step % extents[axis] + 1 < extents[axis] && group[v] != kNone && group[v] == group[v + step]) {
          first.push_back(v);
          ++part.pairs[group[v]];
        }
      for (std::size_t at = 0; at < removed.size(); at += voxels)
        add_products(removed.subspan(at, voxels), group, first, step, part.tensors);
      for (std::size_t at = 0; at < rest.size(); at += voxels)
        add_products(rest.subspan(at, voxels), group, first, step, part.rest);
    }
  });
  PairSums sums;
  for (const PairSums& part : parts) sums.add(part);
  return sums;
}

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
  const PairSums sums = pair_sums(grid, removed, rest, group);
  ResidualStructure result;
  for (std::size_t k = 0; k < result.groups.size(); ++k) {
    ResidualStructure::Group& found = result.groups[k];
    found.pairs = sums.pairs[k];
    if (found.pairs == 0) continue;
    found.removed = sums.tensors[k].correlation();
    found.noise = sums.rest[k].correlation();
    const double count = static_cast<double>(found.pairs);
    found.error = std::sqrt(1 / (kTensorChannels * count) +
                            1 / (std::max(1.0, static_cast<double>(volumes) - kUnknowns) * count));
    found.structured = found.removed - found.noise > std::max(kVisible, kErrors * found.error);
    result.structured = result.structured || found.structured;
  }
  return result;
}

}  // namespace warploom::imaging
