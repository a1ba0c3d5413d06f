#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "oracle/polyadic.hpp"
#include "problems.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/sanitizers.hpp"
#include "warploom/dp/solve.hpp"

/// What the tests of every back end share. The tests named EngineOn run wherever their executable says:
/// engine_cpu_test.cpp, engine_gpu_test.cpp.
namespace warploom::dp {

/// Under a sanitizer, which takes ten times as long, one of so many cases is run: coprime to the periods of
/// the lists, so that all that alternates in them is met.
#if WARPLOOM_ADDRESS_SANITIZER || WARPLOOM_THREAD_SANITIZER
inline constexpr std::size_t kOneOf = 7;
#else
inline constexpr std::size_t kOneOf = 1;
#endif

class EngineOn : public testing::TestWithParam<Device> {
 protected:
  Options options() const {
    Options result;
    result.run.devices = {GetParam()};
    return result;
  }
  bool on_gpu() const { return GetParam().is_gpu(); }
};

inline std::string text(const Options& options) {
  return std::string(name(options.decomposition)) + ", block " + std::to_string(options.block) + ", " +
         std::string(name(options.triangular)) + (options.storage == Storage::narrow ? ", narrow" : "") +
         (options.separate_calls ? ", separate calls" : "");
}

/// Every decomposition with every block size and, on a GPU, every triangular method that goes with them.
inline std::vector<Options> every_way(Device device, Storage storage) {
  const bool narrow = storage == Storage::narrow;
  std::vector<Options> ways;
  const auto add = [&](Decomposition decomposition, int block, Triangular triangular) {
    Options way;
    way.run = {.devices = {device}}, way.decomposition = decomposition, way.block = block;
    way.triangular = triangular, way.storage = storage;
    ways.push_back(way);
  };
  if (device.is_gpu())
    for (const int block : {32, 64})
      if (block >= 64 || !narrow) add(Decomposition::persistent, block, Triangular::blocked);
  for (const Decomposition decomposition :
       {Decomposition::bottom_up, Decomposition::divide_and_conquer, Decomposition::printed})
    for (const int block : {16, 32, 64, 128, 256, 512}) {
      if (narrow && block < 64) continue;
      add(decomposition, block, Triangular::blocked);
      if (!device.is_gpu() || narrow) continue;
      add(decomposition, block, Triangular::direct);
      if (block <= 64) add(decomposition, block, Triangular::merged);
    }
  return ways;
}

template <Value T>
bool same_bits(T a, T b) {
  if constexpr (std::same_as<T, float>)
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  if constexpr (std::same_as<T, double>)
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  return a == b;
}

/// A cell of the oracle as the engine shows it; its zeros have no sign.
template <Value T>
T shown(const oracle::Maybe<T>& cell, Optimum optimum) {
  return cell ? T(*cell + T(0)) : unreachable<T>(optimum);
}

template <Value T>
std::string first_difference(const Triangle<T>& got, const Triangle<T>& want) {
  for (std::int64_t span = 1; span < want.points(); ++span)
    for (std::int64_t i = 0; i + span < want.points(); ++i)
      if (const T a = got(i, i + span), b = want(i, i + span); !same_bits(a, b))
        return "cell (" + std::to_string(i) + ", " + std::to_string(i + span) + ") of " +
               std::to_string(want.points()) + " points is " + std::to_string(a) + " instead of " +
               std::to_string(b);
  return "";
}

/// The oracle's cells, to be compared with a solution's table.
template <Value T>
Triangle<T> oracle_cells(const Problem<T>& problem, const oracle::Table<T>& table) {
  Triangle<T> cells(problem.points(), T(0));
  for (std::int64_t i = 0; i < problem.points(); ++i)
    for (std::int64_t j = i + 1; j < problem.points(); ++j)
      cells(i, j) = shown(table.cells[std::size_t(i)][std::size_t(j)], problem.optimum);
  return cells;
}
template <Value T>
Triangle<T> oracle_cells(const Problem<T>& problem) {
  return oracle_cells(problem, oracle::fill<T>(problem));
}

template <class T>
T whole(const Triangle<T>& cells) {
  return cells(0, cells.points() - 1);
}

/// What the call that throws BadInput says.
template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const BadInput& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace warploom::dp
