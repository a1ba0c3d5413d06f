#pragma once

#include <cstdint>
#include <vector>

/// The exact minimum of the two-phase energy in a plane, by a maximal flow: slow, and nothing is shared with
/// the library.
namespace warploom::oracle {

struct TwoPhase {
  std::int64_t nx = 0, ny = 0;
  double hx = 1, hy = 1;                  ///< spacing in units of the smaller
  double mu = 0;                          ///< of the border's length over the area of a pixel
  std::vector<double> in, out;            ///< what a pixel costs inside and outside
  std::vector<std::uint8_t> counts = {};  ///< 0: a pixel and its edges cost nothing; empty: all count

  /// By Cauchy-Crofton's formula on eight neighbours, with angles between directions as they are halved.
  double length(const std::vector<std::uint8_t>& set) const;
  double energy(const std::vector<std::uint8_t>& set) const;
  /// Over all sets.
  double least_energy() const;
};

}  // namespace warploom::oracle
