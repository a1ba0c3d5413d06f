#include "sim/rectangular_oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "warploom/dp/triangle.hpp"

namespace warploom::sim {
namespace {

using dp::cell_place, dp::kTile, dp::tile_place;

template <class T>
std::string difference(const char* what, const std::vector<T>& got, const std::vector<T>& want) {
  const auto [a, b] = std::ranges::mismatch(got, want);
  if (a == got.end() && b == want.end()) return "";
  return fmt::format("{} {}: {}, not {}; ", what, a - got.begin(), *a, *b);
}

/// A cell is what memory holds, Stored, above its tile's base if there are bases.
template <class Stored, class Cell>
std::string check(const KernelCase& kernel, const Buffers& after) {
  const std::vector<ArgumentText>& arguments = kernel.launch.arguments;
  const auto before = values<Stored>(arguments[0].bytes()), got = values<Stored>(after[0]);
  const auto bases =
      arguments[1].buffer ? values<std::int32_t>(arguments[1].bytes()) : std::vector<std::int32_t>();
  const auto factors = arguments[4].buffer ? values<Cell>(arguments[4].bytes()) : std::vector<Cell>();
  const Cell sign = values<Cell>(arguments[5].bytes()).at(0);
  const auto integer = [&](std::size_t argument) { return std::stoll(arguments[argument].value); };
  const std::int64_t points = integer(3), edge = integer(10), along = std::max<std::int64_t>(edge / kTile, 1);
  const bool fresh = integer(11) != 0;

  const auto base = [&](std::int64_t i, std::int64_t j) {
    return bases.empty() ? Cell(0) : static_cast<Cell>(bases[tile_place(i / kTile, j / kTile)]);
  };
  const auto cell = [&](std::int64_t i, std::int64_t j) {
    return static_cast<Cell>(before[cell_place(i, j)]) + base(i, j);
  };
  std::vector<Stored> want = before;
  std::vector<std::int32_t> want_bases = bases;
  for (std::int64_t n = 0; n < kernel.launch.grid.x / (along * along); ++n)
    for (std::int64_t i = integer(6) + n * edge; i < integer(6) + (n + 1) * edge; ++i)
      for (std::int64_t j = integer(7) + n * edge; j < integer(7) + (n + 1) * edge; ++j) {
        if (j / kTile >= dp::tiles_along(points)) continue;
        const std::int64_t place = cell_place(i, j), k_begin = integer(8) + n * edge,
                           k_end = integer(9) + n * edge;
        if (j >= points) {  // anything
          want[place] = got[place];
          continue;
        }
        const Cell new_base = fresh ? base(i, k_begin) + base(k_begin, j) : base(i, j);
        if (!bases.empty())
          want_bases[tile_place(i / kTile, j / kTile)] = static_cast<std::int32_t>(new_base);
        Cell best = fresh ? std::numeric_limits<Cell>::max() : cell(i, j);
        for (std::int64_t k = k_begin; k < k_end; ++k) {
          const Cell sum = cell(i, k) + cell(k, j);
          const Cell weight = factors.empty() ? Cell(0) : sign * (factors[i] * factors[j]) * factors[k];
          best = std::min(best, sum + weight);
        }
        want[place] = static_cast<Stored>(best - new_base);
      }
  return difference("cell", got, want) +
         (bases.empty() ? "" : difference("base", values<std::int32_t>(after[1]), want_bases));
}

}  // namespace

std::string check_rectangular(const KernelCase& kernel, const Buffers& after) {
  const std::string& type = kernel.launch.arguments[0].type;
  if (type == "i16") return check<std::int16_t, std::int32_t>(kernel, after);
  if (type == "i32") return check<std::int32_t, std::int32_t>(kernel, after);
  if (type == "i64") return check<std::int64_t, std::int64_t>(kernel, after);
  if (type == "f32") return check<float, float>(kernel, after);
  if (type == "f64") return check<double, double>(kernel, after);
  throw BadInput("no rectangular product has cells of " + type);
}

}  // namespace warploom::sim
