#include "search/units.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numbers>

namespace warploom::search {
namespace {

constexpr double kGravity = 9.80665;  // [m/s^2]
constexpr double kDegree = std::numbers::pi / 180;

struct Unit {
  std::string_view name;  // without blanks, in small letters
  int quantity;
  double size;  // of the first of its quantity
};

constexpr Unit kUnits[] = {{"m/s^2", 0, 1},
                           {"m/s2", 0, 1},
                           {"m/s/s", 0, 1},
                           {"ms^-2", 0, 1},
                           {"m/s\u00b2", 0, 1},
                           {"cm/s^2", 0, 1e-2},
                           {"cm/s2", 0, 1e-2},
                           {"mm/s^2", 0, 1e-3},
                           {"mm/s2", 0, 1e-3},
                           {"g", 0, kGravity},
                           {"mg", 0, kGravity / 1e3},
                           {"rad/s", 1, 1},
                           {"rads/s", 1, 1},
                           {"mrad/s", 1, 1e-3},
                           {"deg/s", 1, kDegree},
                           {"degrees/s", 1, kDegree},
                           {"dps", 1, kDegree},
                           {"\u00b0/s", 1, kDegree},
                           {"rad", 2, 1},
                           {"deg", 2, kDegree},
                           {"degrees", 2, kDegree},
                           {"\u00b0", 2, kDegree},
                           {"v", 3, 1},
                           {"mv", 3, 1e-3},
                           {"uv", 3, 1e-6},
                           {"\u00b5v", 3, 1e-6},
                           {"\u03bcv", 3, 1e-6},
                           {"nv", 3, 1e-9},
                           {"n", 4, 1},
                           {"kn", 4, 1e3},
                           {"kgf", 4, kGravity},
                           {"m", 5, 1},
                           {"dm", 5, 0.1},
                           {"cm", 5, 1e-2},
                           {"mm", 5, 1e-3},
                           {"pa", 6, 1},
                           {"hpa", 6, 100},
                           {"mbar", 6, 100},
                           {"kpa", 6, 1e3},
                           {"bar", 6, 1e5},
                           {"t", 7, 1},
                           {"mt", 7, 1e-3},
                           {"ut", 7, 1e-6},
                           {"\u00b5t", 7, 1e-6},
                           {"\u03bct", 7, 1e-6},
                           {"gauss", 7, 1e-4},
                           {"s", 8, 1},
                           {"ms", 8, 1e-3}};

std::string plain(std::string_view unit) {
  std::string small;
  for (const char x : unit)
    if (x != ' ') small += static_cast<char>(std::tolower(static_cast<unsigned char>(x)));
  return small;
}

}  // namespace

std::optional<double> factor_between(std::string_view from, std::string_view to) {
  const std::string a = plain(from), b = plain(to);
  if (a.empty() || b.empty()) return {};
  if (a == b) return 1;
  const auto of = [](const std::string& name) { return std::ranges::find(kUnits, name, &Unit::name); };
  const auto x = of(a), y = of(b);
  if (x == std::end(kUnits) || y == std::end(kUnits) || x->quantity != y->quantity) return {};
  return x->size / y->size;
}

std::span<const ConfusedUnits> confused_units() {
  static constexpr ConfusedUnits kConfused[] = {
      {kGravity, "g and m/s^2"}, {1 / kDegree, "rad/s and deg/s"}, {1000, "V and mV, m and mm"}};
  return kConfused;
}

}  // namespace warploom::search
