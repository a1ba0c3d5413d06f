#include "sim/texture_place.hpp"

#include <algorithm>
#include <cmath>

namespace warploom::sim {

std::int64_t inside(std::int64_t i, std::uint32_t n, Texture::Edge edge) {
  if (i >= 0 && i < n) return i;
  switch (edge) {
    case Texture::Edge::border:
      return -1;
    case Texture::Edge::clamp:
      return i < 0 ? 0 : n - 1;
    case Texture::Edge::wrap:
      return (i % n + n) % n;
    default: {
      const std::int64_t twice = 2 * std::int64_t{n}, in = (i % twice + twice) % twice;
      return in < n ? in : twice - 1 - in;
    }
  }
}

Along along(const TexturePlan& plan, unsigned d, float coordinate, bool filtered) {
  double x = std::isnan(coordinate) ? 0 : double{coordinate};
  if (plan.normalised) {
    // A texture repeats after one length, mirrored after two: no more of a coordinate that is far away.
    if (plan.edges[d] == Texture::Edge::wrap) x -= std::floor(x);
    if (plan.edges[d] == Texture::Edge::mirror) {
      x = std::fmod(x, 2);
      // As the guide has it. Weights are rounded before, as an H200 does.
      const double whole = std::floor(x);
      if (!filtered) x = std::fmod(whole, 2) == 0 ? x - whole : 1 - (x - whole);
    }
    x *= plan.extents[d];
  }
  constexpr double kFar = 1 << 24;
  x = std::clamp(x, -kFar, kFar);
  if (!filtered) return {static_cast<std::int64_t>(std::floor(x)), 0};
  const auto fixed = static_cast<std::int64_t>(std::floor((x - .5) * (1 << kWeightBits) + .5));
  return {fixed >> kWeightBits, static_cast<std::int32_t>(fixed & ((1 << kWeightBits) - 1))};
}

Face face_of(float x, float y, float z) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  std::uint32_t number;
  float m, s, t;
  if (ax >= ay && ax >= az) {
    number = std::signbit(x) ? 1 : 0, m = ax, s = std::signbit(x) ? z : -z, t = -y;
  } else if (ay >= az) {
    number = std::signbit(y) ? 3 : 2, m = ay, s = x, t = std::signbit(y) ? -z : z;
  } else {
    number = std::signbit(z) ? 5 : 4, m = az, s = std::signbit(z) ? -x : x, t = -y;
  }
  return {number, (s / m + 1) / 2, (t / m + 1) / 2};
}

}  // namespace warploom::sim
