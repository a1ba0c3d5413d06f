#include "warploom/imaging/maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <utility>

#include "imaging/eigen.hpp"
#include "imaging/eigen_lanes.hpp"
#include "imaging/voxels.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/threads.hpp"

namespace warploom::imaging {
namespace {

// What float rounding leaves of the deviator of an isotropic tensor, relative to the tensor.
constexpr double kIsotropic = 1e-6;

void set_vector(Image& image, std::size_t voxel, const std::array<double, 3>& vector) {
  const std::size_t stride = image.data.size() / vector.size();
  for (std::size_t c = 0; c < vector.size(); ++c)
    image.data[c * stride + voxel] = static_cast<float>(vector[c]);
}

void set_maps(TensorMaps& maps, std::size_t voxel, const Eigen3& eigen) {
  const auto [l1, l2, l3] = eigen.values;
  const double md = (l1 + l2 + l3) / 3;
  const double d1 = l1 - md, d2 = l2 - md, d3 = l3 - md;  // eigenvalues of the deviator
  const double deviator = std::sqrt(d1 * d1 + d2 * d2 + d3 * d3);
  const double norm = std::sqrt(l1 * l1 + l2 * l2 + l3 * l3);
  const double fa = std::min(1.0, std::sqrt(1.5) * deviator / norm);
  const double mode = deviator > kIsotropic * norm
                          ? std::clamp(3 * std::sqrt(6.0) * d1 * d2 * d3 / std::pow(deviator, 3), -1.0, 1.0)
                          : 0;
  maps.fa.data[voxel] = static_cast<float>(fa);
  maps.md.data[voxel] = static_cast<float>(md);
  maps.ad.data[voxel] = static_cast<float>(l1);
  maps.rd.data[voxel] = static_cast<float>((l2 + l3) / 2);
  maps.mo.data[voxel] = static_cast<float>(mode);
  maps.l1.data[voxel] = static_cast<float>(l1);
  maps.l2.data[voxel] = static_cast<float>(l2);
  maps.l3.data[voxel] = static_cast<float>(l3);
  set_vector(maps.v1, voxel, eigen.vectors[0]);
  set_vector(maps.v2, voxel, eigen.vectors[1]);
  set_vector(maps.v3, voxel, eigen.vectors[2]);
  std::array<double, 3> rgb = eigen.vectors[0];
  for (double& component : rgb) component = fa * std::abs(component);
  set_vector(maps.rgb, voxel, rgb);
}

Eigen3 eigen_of(const EigenLanes& lanes, std::size_t i) {
  Eigen3 eigen;
  for (std::size_t k = 0; k < 3; ++k) {
    eigen.values[k] = lanes.values[k][i];
    for (std::size_t c = 0; c < 3; ++c) eigen.vectors[k][c] = lanes.vectors[k][c][i];
  }
  return eigen;
}

bool has_maps(const std::array<double, 6>& tensor) {
  return std::any_of(tensor.begin(), tensor.end(), [](double d) { return d != 0; }) &&
         std::all_of(tensor.begin(), tensor.end(), [](double d) { return std::isfinite(d); });
}

}  // namespace

TensorMaps tensor_maps(const TensorImage& tensor, const Mask& mask, const Run& run) {
  const RunScope scope(run);
  require_tensor(tensor);
  require_mask(mask, tensor.grid);
  TensorMaps maps;
  // All threads: the system's first touch of so much memory takes longer than the eigenvalues.
  parallel_for(std::ssize(kTensorMaps), [&](std::int64_t k) {
    const TensorMap& map = kTensorMaps[static_cast<std::size_t>(k)];
    maps.*map.image = Image(tensor.grid, map.channels);
  });
  std::atomic<std::int64_t> negative = 0;
  const EigenLoops& loops = eigen_loops_of_this_processor();
  for_pieces(tensor.grid, [&](std::size_t begin, std::size_t end) {
    std::int64_t here = 0;
    EigenLanes lanes;
    std::array<std::size_t, EigenLanes::kCount> voxels;
    std::size_t count = 0;
    const auto finish = [&] {
      loops.decompose(lanes);
      for (std::size_t i = 0; i < count; ++i) {
        const Eigen3 decomposition = eigen_of(lanes, i);
        set_maps(maps, voxels[i], decomposition);
        here += has_negative(decomposition);
      }
      count = 0;
    };
    for (std::size_t voxel = begin; voxel < end; ++voxel) {
      const auto elements = tensor_at(tensor, voxel);
      if (!inside(mask, voxel) || !has_maps(elements)) continue;
      for (std::size_t c = 0; c < elements.size(); ++c) lanes.tensor[c][count] = elements[c];
      voxels[count] = voxel;
      if (++count == EigenLanes::kCount) finish();
    }
    finish();
    negative += here;
  });
  maps.negative = negative;
  return maps;
}

std::int64_t floor_eigenvalues(TensorImage& tensor, const Mask& mask, const Run& run) {
  const RunScope scope(run);
  require_tensor(tensor);
  require_mask(mask, tensor.grid);
  std::atomic<std::int64_t> changed = 0;
  for_pieces(tensor.grid, [&](std::size_t begin, std::size_t end) {
    for (std::size_t voxel = begin; voxel < end; ++voxel) {
      const auto elements = tensor_at(tensor, voxel);
      if (!inside(mask, voxel) || !has_maps(elements) || positive_definite(elements)) continue;
      Eigen3 decomposition = eigen(elements);
      if (!has_negative(decomposition)) continue;
      for (double& value : decomposition.values) value = std::max(value, 0.0);
      set_tensor(tensor, voxel, from_eigen(decomposition));
      ++changed;
    }
  });
  return changed;
}

void rotate_tensors(TensorImage& tensor, const std::array<std::array<double, 3>, 3>& rotation) {
  require_tensor(tensor);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      double product = 0;
      for (std::size_t k = 0; k < 3; ++k) product += rotation[i][k] * rotation[j][k];
      if (!(std::abs(product - (i == j ? 1 : 0)) < 1e-6))
        throw BadInput(fmt::format(
            "the rotation is not orthonormal: the product of its rows {} and {} is {}, not {} to 1e-6", i, j,
            product, i == j ? 1 : 0));
    }
  for_pieces(tensor.grid, [&](std::size_t begin, std::size_t end) {
    for (std::size_t voxel = begin; voxel < end; ++voxel) {
      const auto [xx, xy, xz, yy, yz, zz] = tensor_at(tensor, voxel);
      // R D, then the upper triangle of (R D) R^T.
      std::array<std::array<double, 3>, 3> half;
      for (std::size_t i = 0; i < 3; ++i) {
        const auto& [x, y, z] = rotation[i];
        half[i] = {x * xx + y * xy + z * xz, x * xy + y * yy + z * yz, x * xz + y * yz + z * zz};
      }
      std::array<double, 6> turned;
      std::size_t element = 0;
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = i; j < 3; ++j)
          turned[element++] =
              half[i][0] * rotation[j][0] + half[i][1] * rotation[j][1] + half[i][2] * rotation[j][2];
      set_tensor(tensor, voxel, turned);
    }
  });
}

}  // namespace warploom::imaging
