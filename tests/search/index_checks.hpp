#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "warploom/search/index.hpp"

/// What tests of an Index on the CPU share.
namespace warploom::search {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

inline IndexOptions on_cpu(Normalization normalization = Normalization::z, Prune prune = Prune::automatic) {
  return {.run = {.devices = {Device::cpu}}, .normalization = normalization, .prune = prune};
}

/// Distances in single precision within the header's tolerance; what is nearer to 0 than 1e-6 is 0.
inline void expect_near(float found, double expected, const std::string& where) {
  if (std::isinf(expected))
    EXPECT_TRUE(std::isinf(found)) << where;
  else
    EXPECT_NEAR(found, expected, 1e-4 * expected + 1e-6) << where;
}

}  // namespace warploom::search
