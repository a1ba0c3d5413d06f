#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fold/loops.hpp"
#include "fold/rows.hpp"

/// G-quadruplexes: four runs of 2 to 7 G, the layers, with linkers of 1 to 15 bases between. To the
/// recurrences one is a stem from its first base to its last, of the least energy that these bases allow.
namespace warploom::fold {

inline constexpr int kFewestLayers = 2, kMostLayers = 7, kMostLinker = 15;
inline constexpr int kMostBasesOfOne = 4 * kMostLayers + 3 * kMostLinker;

struct QuadruplexShape {
  std::int64_t i = 0;  ///< its first base
  int layers = 0;
  std::array<int, 3> linkers = {};

  int linked() const { return linkers[0] + linkers[1] + linkers[2]; }
  std::int64_t j() const { return i + 4 * layers + linked() - 1; }  ///< its last base
};

/// As dot-bracket has it: '+' for G of the runs, the last one '~', as RNAfold 2.8 prints it; or '.' for all.
void draw(const QuadruplexShape& shape, bool visible, std::string& structure);
/// Those of a structure; '~' may be '+'. @throws BadInput: a '+' that is of no quadruplex, a letter but G
/// there
std::vector<QuadruplexShape> quadruplexes_in(std::string_view structure, const Bases& s);

/// Of one end: where it begins, its least energy.
struct Quadruplex {
  std::int32_t i, energy;
};

class Quadruplexes {
 public:
  /// Those of a sequence by their ends; none where the model has none. Cost: some 300 steps for each G.
  Quadruplexes(const Bases& s, const Loops& loops);
  bool empty() const { return by_end_.empty(); }
  /// G from a base on, kMostLayers at most.
  int run(std::int64_t k) const { return k < std::ssize(run_) ? run_[static_cast<std::size_t>(k)] : 0; }
  /// Those that end at j, by where they begin.
  std::span<const Quadruplex> ending(std::int64_t j) const {
    return empty() ? std::span<const Quadruplex>() : by_end_[static_cast<std::size_t>(j)];
  }
  /// The least energy of one from i to j; kNone: there is none.
  std::int32_t at(std::int64_t i, std::int64_t j) const;
  /// Each way to have one from i to j, with its energy, until `take` returns false.
  void shapes(std::int64_t i, std::int64_t j,
              const std::function<bool(const QuadruplexShape&, std::int32_t)>& take) const;
  /// What column j has of them in `count` rows from `first` on. @return whether there is any
  bool rows(std::int64_t first, int count, std::int64_t j, QuadruplexRows& rows) const;

 private:
  std::uint32_t next_runs(std::int64_t at, int layers) const;

  const Bases& s_;
  const Loops& loops_;
  std::vector<std::int8_t> run_ = {};  // G from a base on, at most kMostLayers
  std::vector<std::vector<Quadruplex>> by_end_ = {};
};

}  // namespace warploom::fold
