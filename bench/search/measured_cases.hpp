#pragma once

/// Measured recordings that benchmarks search.

#include <cstddef>
#include <vector>

namespace warploom::search {

struct Case {
  std::vector<float> signal, pattern;
};

/// The pattern is cut out, with as much around it as could be found again by a part of it.
Case cut(const std::vector<float>& samples, std::size_t at, std::size_t length);

/// An electrocardiogram (MIT-BIH 100) and gait (Daphnet, ankle, three wearers). Empty where there are no
/// measured data, which is said on standard error.
std::vector<float> measured_ecg();
std::vector<float> measured_gait();

}  // namespace warploom::search
