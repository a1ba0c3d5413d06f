#include <cmath>
#include <numbers>

#include "core/doors.hpp"
#include "warploom/core/error.hpp"
#include "warploom/search/find.hpp"

namespace warploom::search {
namespace {

using Quaternion = std::array<double, 4>;  // w, x, y, z; of length 1

Quaternion product(const Quaternion& a, const Quaternion& b) {
  return {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
          a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
          a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
          a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
}

std::array<double, 9> matrix(const Quaternion& q) {
  const auto [w, x, y, z] = q;
  return {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
          2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
          2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
}

/// Alexa's spiral: point i of count on the sphere of quaternions.
Quaternion spiral(std::int32_t i, std::int32_t count) {
  constexpr double kPhi = std::numbers::sqrt2;
  constexpr double kPsi = 1.533751168755204288118041;  // the positive root of psi^4 = psi + 4
  const double s = i + 0.5, share = s / count, turn = 2 * std::numbers::pi * s;
  const double r = std::sqrt(share), rest = std::sqrt(1 - share);
  return {r * std::sin(turn / kPhi), r * std::cos(turn / kPhi), rest * std::sin(turn / kPsi),
          rest * std::cos(turn / kPsi)};
}

}  // namespace

std::vector<std::array<double, 9>> rotations(std::int32_t count) {
  if (count < 1) throw BadInput("a number of rotations must be at least 1, it is " + std::to_string(count));
  require_memory_for(static_cast<std::uint64_t>(count), sizeof(std::array<double, 9>), "the rotations");
  std::vector<std::array<double, 9>> matrices = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
  // All turned back by the first, which leaves the angles between them.
  Quaternion back = spiral(0, count);
  for (int axis = 1; axis < 4; ++axis) back[axis] = -back[axis];
  for (std::int32_t i = 1; i < count; ++i) matrices.push_back(matrix(product(back, spiral(i, count))));
  return matrices;
}

std::vector<float> stretch(std::span<const float> samples, std::int64_t length) {
  const std::int64_t from = std::ssize(samples);
  if (from < 2 || length < 2)
    throw BadInput("a channel of " + std::to_string(from) + " samples cannot be stretched to " +
                   std::to_string(length) + ": both must be at least 2");
  require_memory_for(static_cast<std::uint64_t>(length), sizeof(float), "a channel that is stretched");
  std::vector<float> stretched(length);
  for (std::int64_t i = 0; i < length; ++i) {
    // Position i (from - 1) / (length - 1), in integers: the ends, and every sample at the same length, are
    // exact.
    const std::int64_t k = i * (from - 1) / (length - 1), rest = i * (from - 1) % (length - 1);
    const double share = static_cast<double>(rest) / static_cast<double>(length - 1);
    stretched[i] =
        rest == 0 ? samples[k] : static_cast<float>((1 - share) * samples[k] + share * samples[k + 1]);
  }
  return stretched;
}

}  // namespace warploom::search
