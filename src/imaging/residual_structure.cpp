#include "warploom/imaging/residual_structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/built_with_cuda.hpp"
#include "imaging/residual_backend.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/imaging/rician.hpp"

namespace warploom::imaging {
namespace {

constexpr double kVisible = 0.03, kErrors = 4;

// In pieces of voxels, whose sums are added in their order.
std::array<PairSums, 3> pair_sums(const Grid& grid, std::span<const float> removed,
                                  std::span<const float> rest, std::span<const std::uint8_t> group) {
  const std::size_t voxels = group.size(), steps[3] = {1, static_cast<std::size_t>(grid.nx),
                                                       static_cast<std::size_t>(grid.nx * grid.ny)};
  const std::size_t extents[3] = {steps[1], static_cast<std::size_t>(grid.ny),
                                  static_cast<std::size_t>(grid.nz)};
  std::vector<std::array<PairSums, 3>> parts((voxels + kPiece - 1) / kPiece);
  for_pieces(grid, [&](std::size_t begin, std::size_t end) {
    std::array<PairSums, 3>& part = parts[begin / kPiece];
    std::vector<std::size_t> first;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::size_t step = steps[axis];
      first.clear();
      for (std::size_t v = begin; v < end; ++v)
        if (v / step % extents[axis] + 1 < extents[axis] && group[v] != kNoGroup &&
            group[v] == group[v + step]) {
          first.push_back(v);
          ++part[group[v]].pairs;
        }
      const auto add = [&](std::span<const float> channels, Products PairSums::*to) {
        for (; !channels.empty(); channels = channels.subspan(voxels))
          for (const std::size_t v : first)
            (part[group[v]].*to)
                .add(static_cast<double>(channels[v]), static_cast<double>(channels[v + step]));
      };
      add(removed, &PairSums::tensors);
      add(rest, &PairSums::rest);
    }
  });
  std::array<PairSums, 3> sums;
  for (const auto& part : parts)
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k].add(part[k]);
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

std::array<PairSums, 3> residual_pairs_cpu(const ResidualProblem& problem) {
  const auto& [series, noise, tensor, s0, mask, design] = problem;
  const Grid& grid = series.grid;
  const std::size_t voxels = static_cast<std::size_t>(grid.voxels());
  const auto volumes = static_cast<std::size_t>(series.channels);
  std::vector<float> rest(voxels * volumes), removed(voxels * kTensorChannels);
  std::vector<std::uint8_t> group(voxels, kNoGroup);
  for_pieces(grid, [&](std::size_t begin, std::size_t end) {
    std::vector<Residual> residuals(volumes);
    for (std::size_t v = begin; v < end; ++v) {
      const double sigma = static_cast<double>(noise.data[v]),
                   amplitude = static_cast<double>(s0.data[v]) / sigma;
      if (!inside(mask, v) || !(sigma > 0) || !(amplitude > 0) || !std::isfinite(amplitude)) continue;
      const auto elements = tensor_at(tensor, v);
      const Unknowns solution = residual_solution(elements, design.largest_b, amplitude);
      ResidualSplit split;
      bool finite = true;
      for (std::size_t i = 0; i < volumes; ++i) {
        const double measured = static_cast<double>(series.data[i * voxels + v]) / sigma;
        finite = finite && std::isfinite(measured);
        residuals[i] = residual_of(design.rows[i], solution, measured, rician_table());
        split.add(design.rows[i], residuals[i]);
      }
      std::array<double, 6> parts;
      if (!finite || !split.solve(parts)) continue;
      group[v] = residual_group(elements);
      for (std::size_t i = 0; i < volumes; ++i)
        rest[i * voxels + v] = static_cast<float>(split.rest(design.rows[i], residuals[i]));
      for (std::size_t c = 0; c < 6; ++c) removed[c * voxels + v] = static_cast<float>(parts[c]);
    }
  });
  return pair_sums(grid, removed, rest, group);
}

namespace {

std::array<PairSums, 3> residual_pairs(const ResidualProblem& problem, [[maybe_unused]] Device device) {
#if defined(WARPLOOM_HAVE_CUDA)
  if (device.is_gpu()) return residual_pairs_cuda(problem);
#endif
  return residual_pairs_cpu(problem);
}

}  // namespace

ResidualStructure residual_structure(const ImageView& series, const Image& noise, const TensorImage& tensor,
                                     const Image& s0, std::span<const double> b,
                                     std::span<const std::array<double, 3>> directions, const Mask& mask,
                                     const Run& run) {
  const DeviceScope scope(run, "looking for structure in a residual", kBuiltWithCuda);
  series.check("the series");
  require_tensor(tensor);
  require_mask(mask, series.grid);
  const Grid& grid = series.grid;
  for (const Image* image : {&noise, &s0}) image->check("the noise map or S0");
  if (noise.channels != 1 || s0.channels != 1 || noise.grid.voxels() != grid.voxels() ||
      s0.grid.voxels() != grid.voxels() || tensor.grid.voxels() != grid.voxels())
    throw BadInput("series, noise, tensors and S0 must have as many voxels as each other");
  const TensorDesign design = tensor_design(series.channels, b, directions);
  const auto volumes = static_cast<std::size_t>(series.channels);
  const auto sums = residual_pairs({series, noise, tensor, s0, mask, design}, scope.device());
  ResidualStructure result;
  for (std::size_t k = 0; k < result.groups.size(); ++k) {
    ResidualStructure::Group& found = result.groups[k];
    found.pairs = sums[k].pairs;
    if (found.pairs == 0) continue;
    found.removed = sums[k].tensors.correlation();
    found.noise = sums[k].rest.correlation();
    const double count = static_cast<double>(found.pairs);
    found.error = std::sqrt(1 / (kTensorChannels * count) +
                            1 / (std::max(1.0, static_cast<double>(volumes) - kUnknowns) * count));
    found.structured = found.removed - found.noise > std::max(kVisible, kErrors * found.error);
    result.structured = result.structured || found.structured;
  }
  return result;
}

}  // namespace warploom::imaging
