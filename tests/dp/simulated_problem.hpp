#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dp/device_cells.cuh"
#include "warploom/core/demangle.hpp"
#include "warploom/dp/problem.hpp"
#include "warploom/dp/triangle.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::dp {

/// The symbol of the kernel that has this name in C++: "demo<256, 8>". @return empty: there is none
inline std::string kernel_symbol(const sim::Machine& machine, std::string_view name) {
  for (const ptx::Function& function : machine.module().functions)
    if (function.entry && function_name(function.name).ends_with(name)) return std::string(function.name);
  return {};
}

/// A problem without cell weights in the memory of a simulated GPU. Nothing is released before the machine.
template <class T, Arithmetic kArithmetic>
class SimulatedProblem {
 public:
  using Cells = DeviceCells<T, kArithmetic>;
  using Stored = typename Cells::Stored;

  SimulatedProblem(sim::Machine& machine, const Problem<T>& problem) {
    terms_.points = cells_.points = problem.points();
    terms_.leaves = upload(machine, problem.leaves);
    terms_.row_weight = upload(machine, problem.row_weight);
    terms_.column_weight = upload(machine, problem.column_weight);
    terms_.factors = upload(machine, problem.factors);
    if (problem.pairing) {
      terms_.codes = upload(machine, problem.pairing->codes);
      terms_.scores = upload(machine, problem.pairing->scores);
      terms_.letters = static_cast<int>(problem.pairing->letters);
      terms_.minimum_span = problem.pairing->minimum_span;
    }
    terms_.non_negative = kArithmetic == Arithmetic::non_negative;
    // What is there before does not matter.
    cells_.cells = upload(
        machine, std::vector<Stored>(static_cast<std::size_t>(stored_cells(terms_.points)), Stored(77)));
    if (Cells::kNarrow) {
      cells_.bases = upload(machine, std::vector<std::int32_t>(tiles(), 77));
      cells_.overflow = upload(machine, std::vector<int>(1));
    }
  }

  const Cells& cells() const { return cells_; }
  const Terms<T>& terms() const { return terms_; }

  /// All cells, narrow ones with their bases added.
  Triangle<T> solved(const sim::Machine& machine) const {
    std::vector<Stored> stored(static_cast<std::size_t>(stored_cells(terms_.points)));
    machine.download(address(cells_.cells), std::span(stored));
    std::vector<std::int32_t> bases(tiles());
    if (Cells::kNarrow) machine.download(address(cells_.bases), std::span(bases));
    Triangle<T> triangle(terms_.points);
    for (std::size_t c = 0; c < stored.size(); ++c)
      triangle.stored()[c] = static_cast<T>(stored[c]) + static_cast<T>(bases[c / (kTile * kTile)]);
    return triangle;
  }

  static sim::Address address(const void* pointer) { return reinterpret_cast<sim::Address>(pointer); }
  template <class Element>
  static Element* upload(sim::Machine& machine, const std::vector<Element>& values) {
    return values.empty() ? nullptr : reinterpret_cast<Element*>(machine.upload(std::span(values)));
  }

 private:
  std::size_t tiles() const { return static_cast<std::size_t>(tile_place(0, tiles_along(terms_.points))); }

  Terms<T> terms_;
  Cells cells_;
};

}  // namespace warploom::dp
