#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// The numbers of the nearest-neighbour model, as a parameter file has them.
namespace warploom::fold {

/// Bases: 0 any other, A, C, G, U. Pairs: 0 none, CG, GC, GU, UG, AU, UA, 7 any other.
inline constexpr int kBases = 5, kPairs = 8, kMaxLoop = 30;
/// No such loop. Three of them have a sum that int32 holds; more than half of one is none.
inline constexpr std::int32_t kNone = 600'000'000;

template <class T, std::size_t... N>
struct Grid;
template <class T, std::size_t N>
struct Grid<T, N> {
  using type = std::array<T, N>;
};
template <class T, std::size_t N, std::size_t... Rest>
struct Grid<T, N, Rest...> {
  using type = std::array<typename Grid<T, Rest...>::type, N>;
};

/// Of one loop with its closing pair: letters and a number.
template <class Number>
using SpecialLoopsOf = std::vector<std::pair<std::string, Number>>;
using SpecialLoops = SpecialLoopsOf<std::int32_t>;

/// A number for each loop of the model.
template <class Number>
struct LoopNumbers {
  template <std::size_t... N>
  using Table = typename Grid<Number, N...>::type;
  using Mismatches =
      Table<kPairs, kBases, kBases>;  ///< [pair][base behind its first][base before its second]
  Table<kPairs, kPairs> stack = {};
  Mismatches mismatch_hairpin = {}, mismatch_interior = {}, mismatch_interior_1n = {},
             mismatch_interior_23 = {}, mismatch_multi = {}, mismatch_exterior = {};
  Table<kPairs, kBases> dangle5 = {}, dangle3 = {};
  Table<kPairs, kPairs, kBases, kBases> int11 = {};
  Table<kPairs, kPairs, kBases, kBases, kBases> int21 = {};
  Table<kPairs, kPairs, kBases, kBases, kBases, kBases> int22 = {};
  Table<kMaxLoop + 1> hairpin = {}, bulge = {}, interior = {};
  Number multi_base = 0, multi_closing = 0, multi_intern = 0, asymmetry = 0, terminal_au = 0;
  SpecialLoopsOf<Number> triloops = {}, tetraloops = {}, hexaloops = {};
};

/// Free energies at a temperature, or enthalpies [0.01 kcal/mol].
using Energies = LoopNumbers<std::int32_t>;
using Mismatches = Energies::Mismatches;
template <std::size_t... N>
using Table = Energies::Table<N...>;

inline constexpr double kMeasuredAt = 310.15;  ///< [K]

struct EnergyTables {
  Energies free = {}, enthalpy = {};  ///< at 37 C
  std::int32_t most_asymmetry = 300;  ///< what asymmetry costs at most
  double long_loop = 107.856;         ///< a hairpin of n > 30 bases costs hairpin[30] + long_loop ln(n / 30)
};

/// At a temperature [C]: each number H - (H - G) T / 310.15 K, cut to a whole one; those of mismatches at
/// multiloops and ends and of dangles are at most 0.
/// @return also `long_loop` at that temperature
std::pair<Energies, double> at_temperature(const EnergyTables& tables, double celsius);

}  // namespace warploom::fold
