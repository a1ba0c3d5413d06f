#pragma once

#include "tile/order/parallelise_around.hpp"

/// Wavefronts: Lamport, "The Parallel Execution of DO Loops" (CACM 17(2), 1974), the hyperplane method.
namespace warploom::tile {

/// A sum of loops, in the direction in which they run, that grows along every dependence between different
/// iterations of them: iterations in which it has one value do not depend on each other.
struct Wave {
  std::vector<std::int64_t> coefficients;
  std::size_t given = 0;  ///< the loop whose value follows from the sum and the other loops: 1 or -1 times it
  /// Iterations in a wave, on average, by the box around the loops; sizes that are not known are large.
  double width = 0;
};

struct WaveSearch {
  std::optional<Wave> wave;
  /// Where there is none: distances along the loops. Whatever sum was tried does not grow along one of them.
  std::vector<std::vector<std::int64_t>> distances;
};

constexpr std::int64_t kLargestWaveCoefficient = 4;
/// Narrower waves take longer to launch than one thread takes for their iterations.
constexpr double kLeastWaveWidth = 8;

/// Tries all sums with such coefficients, one of them 1 or -1, and gives the one of fewest waves.
/// @param forwards  the coefficient of the loop that is given has to be 1
WaveSearch find_wave(const LoopsAround& around, const std::vector<Relation>& relations,
                     const std::vector<SharedLoop>& loops, bool forwards);

/// "4 * t + 2 * i + j", of iterators of the source.
std::string wave_text(const LoopsAround& around, const std::vector<SharedLoop>& loops,
                      const std::vector<std::int64_t>& coefficients);

}  // namespace warploom::tile
