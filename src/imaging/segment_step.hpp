#pragma once

/// One iteration of the active contour: what it does to a voxel, and what follows from the sums over all of
/// them. The same code runs on the CPU, compiled for several instruction sets, and on a GPU. Everything is
/// static: the linker must not take one instruction set's copy for all.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "warploom/core/host_device.hpp"

namespace warploom::imaging {

/// What an iteration needs to know of the problem.
struct StepConstants {
  float inverse_spacing[3];  ///< of lengths in units of the smallest spacing; 0 along an axis with one voxel
  float mu, lambda_in, lambda_out, time_step;
};

/// What an iteration adds up. `energy`, `heaviside` and `heaviside_image` are of the level set before it.
enum StepSum : int {
  kEnergy,          ///< E with the means of the iteration
  kHeaviside,       ///< H(phi)
  kHeavisideImage,  ///< H(phi) u
  kChange,          ///< square of the change
  kInside,          ///< voxels > 0 afterwards
  kInsideImage,     ///< their u
  kStepSums
};

/// What one voxel adds to them, and its change.
struct VoxelStep {
  float change, energy, heaviside;
};

/// 1/sqrt(x) to 3e-7 relative, for normal x > 0.
WARPLOOM_HOST_DEVICE static inline float inverse_sqrt(float x) {
#if defined(__CUDA_ARCH__)
  return rsqrtf(x);
#else
  // Half the exponent's bits, negated, begin Newton's iteration within 4 %. Beside the compiler's division by
  // a square root that is 1.4 times as fast a voxel with AVX-512, and as fast with AVX2.
  std::int32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits = 0x5f3759df - (bits >> 1);
  float y = 0;
  std::memcpy(&y, &bits, sizeof y);
  const float half = 0.5F * x;
  for (int k = 0; k < 3; ++k) y *= 1.5F - half * y * y;
  return y;
#endif
}

/// a / b for b > 0; on a GPU by the same fast instruction.
WARPLOOM_HOST_DEVICE static inline float quotient(float a, float b) {
#if defined(__CUDA_ARCH__)
  const float root = inverse_sqrt(b);
  return a * root * root;
#else
  return a / b;
#endif
}

/// atan(x), given r = 1/sqrt(1 + x^2): the arcsine of the smaller of |x| r and r, both at most sqrt(1/2), by
/// a polynomial, and its complement where |x| > 1. Absolute error below 6e-7.
WARPLOOM_HOST_DEVICE static inline float arc_tangent(float x, float r) {
  const float magnitude = std::fabs(x);
  const bool small = magnitude <= 1.0F;
  const float s = small ? magnitude * r : r;
  const float t = s * s;
  float p = 0.11112729F;
  p = p * t - 0.04452874F;
  p = p * t + 0.07104294F;
  p = p * t + 0.07070499F;
  p = p * t + 0.16695926F;
  p = p * t + 0.99999434F;
  const float angle = s * p;
  return std::copysign(small ? angle : 1.57079633F - angle, x);
}

/// Differences along one axis, over the spacing.
struct AxisDifferences {
  float forward, backward;
  float sum_square;  ///< of their sum, twice the central difference
};

WARPLOOM_HOST_DEVICE static inline AxisDifferences differences(float before, float here, float beyond,
                                                               float inverse_spacing) {
  const float forward = (beyond - here) * inverse_spacing, backward = (here - before) * inverse_spacing;
  const float sum = forward + backward;
  return {forward, backward, sum * sum};
}

/// What one axis adds to F and S, see below; `others`: eta + the squared central differences of the other
/// axes.
WARPLOOM_HOST_DEVICE static inline void add_axis(const AxisDifferences& d, float others,
                                                 float inverse_spacing, float& flux, float& damping) {
  const float c_forward = inverse_sqrt(d.forward * d.forward + others);
  const float c_backward = inverse_sqrt(d.backward * d.backward + others);
  flux += inverse_spacing * (d.forward * c_forward - d.backward * c_backward);
  damping += inverse_spacing * inverse_spacing * (c_forward + c_backward);
}

/// phi at a voxel's neighbours; the edge replicates. Two dimensions leave z aside.
struct Neighbours {
  float before_x, beyond_x, before_y, beyond_y, before_z, beyond_z;
};

/// One voxel's step: `here` is phi there, `value` the image, 0 to 1.
/// With a = 1/h of an axis, the step of Getreuer's eq. 22 is, in the form that loses no digits,
///   phi+ = phi + dt (mu F + lambda_out (u - c_out)^2 - lambda_in (u - c_in)^2) / (1/delta(phi) + dt mu S),
///   F = sum_axes a (D+ C+ - D- C-), S = sum_axes a^2 (C+ + C-), C+- = 1/sqrt(eta + D+-^2 + sum_others D0^2).
template <int kDimensions>
WARPLOOM_HOST_DEVICE static inline VoxelStep voxel_step(const StepConstants& k, float mean_in, float mean_out,
                                                        float value, float here, const Neighbours& around) {
  constexpr float kEta = 1e-16F;
  const float ax = k.inverse_spacing[0], ay = k.inverse_spacing[1], az = k.inverse_spacing[2];
  const AxisDifferences x = differences(around.before_x, here, around.beyond_x, ax);
  const AxisDifferences y = differences(around.before_y, here, around.beyond_y, ay);
  float flux = 0, damping = 0, slope = x.sum_square + y.sum_square;
  if constexpr (kDimensions == 2) {
    add_axis(x, 0.25F * y.sum_square + kEta, ax, flux, damping);
    add_axis(y, 0.25F * x.sum_square + kEta, ay, flux, damping);
  } else {
    const AxisDifferences z = differences(around.before_z, here, around.beyond_z, az);
    add_axis(x, 0.25F * (y.sum_square + z.sum_square) + kEta, ax, flux, damping);
    add_axis(y, 0.25F * (x.sum_square + z.sum_square) + kEta, ay, flux, damping);
    add_axis(z, 0.25F * slope + kEta, az, flux, damping);
    slope += z.sum_square;
  }
  slope = 0.25F * slope + kEta;
  const float from_in = value - mean_in, from_out = value - mean_out;
  const float cost_in = k.lambda_in * from_in * from_in, cost_out = k.lambda_out * from_out * from_out;
  const float inverse_delta = 1.0F + here * here;
  const float r = inverse_sqrt(inverse_delta);
  const float heaviside = 0.5F + 0.318309886F * arc_tangent(here, r);
  const float gradient = slope * inverse_sqrt(slope);
  return {quotient(k.time_step * (k.mu * flux + (cost_out - cost_in)),
                   inverse_delta + k.time_step * k.mu * damping),
          cost_out + heaviside * (cost_in - cost_out) + k.mu * r * r * gradient, heaviside};
}

/// What a run does not change.
struct RunConstants {
  StepConstants step;
  int max_iterations;
  double tolerance;
  double voxels, image_sum;
};

/// What the next iteration needs, and what is known after the one before.
struct RunState {
  double mean_in, mean_out;  ///< of the level set as it is: the next iteration's
  double inside;             ///< its voxels > 0
  double change, energy;     ///< of the last iteration; the energy of the level set before it
  int iteration;             ///< done so far
  int done, converged;
};

WARPLOOM_HOST_DEVICE static inline void set_means(RunState& state, double inside, double inside_image,
                                                  const RunConstants& k) {
  const double outside = k.voxels - inside;
  state.inside = inside;
  state.mean_in = inside > 0 ? inside_image / inside : 0;
  state.mean_out = outside > 0 ? (k.image_sum - inside_image) / outside : 0;
}

/// After an iteration whose sums are given.
WARPLOOM_HOST_DEVICE static inline void advance(RunState& state, const double* sums, const RunConstants& k) {
  // From squares about the means of the iteration to squares about those that H weighs.
  const double h_in = sums[kHeaviside], h_out = k.voxels - h_in;
  const double off_in = sums[kHeavisideImage] - state.mean_in * h_in;
  const double off_out = k.image_sum - sums[kHeavisideImage] - state.mean_out * h_out;
  state.energy = sums[kEnergy] - (h_in > 0 ? double(k.step.lambda_in) * off_in * off_in / h_in : 0) -
                 (h_out > 0 ? double(k.step.lambda_out) * off_out * off_out / h_out : 0);
  state.change = sqrt(sums[kChange] / k.voxels);
  set_means(state, sums[kInside], sums[kInsideImage], k);
  ++state.iteration;
  state.converged = state.change <= k.tolerance ? 1 : 0;
  state.done = state.converged != 0 || state.iteration >= k.max_iterations ? 1 : 0;
}

}  // namespace warploom::imaging
