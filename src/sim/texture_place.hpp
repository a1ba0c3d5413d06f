#pragma once

#include <cstdint>

#include "sim/texture_form.hpp"

/// Where in a texture coordinates lie, as the CUDA programming guide, "Texture Fetching", has it.
namespace warploom::sim {

/// Texel number i of n along a dimension; -1: outside, zeros.
std::int64_t inside(std::int64_t i, std::uint32_t n, Texture::Edge edge);

constexpr int kWeightBits = 8;

/// Texels along one dimension: the first, and the weight of the next in 1/256.
struct Along {
  std::int64_t first = 0;
  std::int32_t weight = 0;
};

/// Where a coordinate of a texture lies. `filtered`: between texels' centres.
Along along(const TexturePlan& plan, unsigned d, float coordinate, bool filtered);

/// A direction as a face of a cube and coordinates on it: CUDA programming guide, "Cubemap Textures".
struct Face {
  std::uint32_t number;
  float s, t;
};
Face face_of(float x, float y, float z);

}  // namespace warploom::sim
