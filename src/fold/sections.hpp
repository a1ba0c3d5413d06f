#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "fold/energy_tables.hpp"

/// Where the numbers of a parameter file lie.
namespace warploom::fold {

/// What a table's indices run over in the file.
struct Indices {
  int pairs = 7;        ///< 1 to this
  bool unknown = true;  ///< bases begin with N, else with A
  std::size_t first(std::size_t size) const {
    return size == kPairs ? 1 : size == kBases && !unknown ? 1 : 0;
  }
  std::size_t end(std::size_t size) const {
    return size == kPairs ? static_cast<std::size_t>(pairs) + 1 : size;
  }
};

/// visit(section's name, table, its indices, whether it may hold INF) for each table that has a section,
/// whose enthalpies have one of the same name with "_enthalpies".
template <class Numbers, class Visit>
void visit_tables(Numbers& e, const Visit& visit) {
  visit("stack", e.stack, Indices(), true);
  visit("mismatch_hairpin", e.mismatch_hairpin, Indices(), false);
  visit("mismatch_interior", e.mismatch_interior, Indices(), false);
  visit("mismatch_interior_1n", e.mismatch_interior_1n, Indices(), false);
  visit("mismatch_interior_23", e.mismatch_interior_23, Indices(), false);
  visit("mismatch_multi", e.mismatch_multi, Indices(), false);
  visit("mismatch_exterior", e.mismatch_exterior, Indices(), false);
  visit("dangle5", e.dangle5, Indices(), false);
  visit("dangle3", e.dangle3, Indices(), false);
  visit("int11", e.int11, Indices(), true);
  visit("int21", e.int21, Indices(), true);
  visit("int22", e.int22, Indices{6, false}, true);
  visit("hairpin", e.hairpin, Indices(), true);
  visit("bulge", e.bulge, Indices(), true);
  visit("interior", e.interior, Indices(), true);
}

template <class Table, class Number>
void add_places(Table& table, const Indices& indices, std::vector<Number*>& places) {
  if constexpr (std::is_same_v<Table, Number>)
    places.push_back(&table);
  else
    for (std::size_t k = indices.first(table.size()); k < indices.end(table.size()); ++k)
      add_places(table[k], indices, places);
}
/// A table's numbers in the order of the file.
template <class Number, class Table>
std::vector<Number*> places_of(Table& table, const Indices& indices) {
  std::vector<Number*> places;
  add_places(table, indices, places);
  return places;
}

template <class Table>
void add_shape(const Table& table, const Indices& indices, std::vector<std::int64_t>& shape) {
  if constexpr (!std::is_arithmetic_v<Table>) {
    shape.push_back(static_cast<std::int64_t>(indices.end(table.size()) - indices.first(table.size())));
    add_shape(table.front(), indices, shape);
  }
}

/// int22 has no N in the file: of the four letters, the one that costs most stands for it. What is said of
/// loops with an N is so said of the one that it stands for.
void give_unknown(const Energies& e, LoopNumbers<double>& said);

}  // namespace warploom::fold
