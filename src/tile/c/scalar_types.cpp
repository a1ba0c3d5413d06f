#include "tile/c/scalar_types.hpp"

#include <algorithm>
#include <array>

#include "core/doors.hpp"

namespace warploom::tile {
namespace {

constexpr std::array<std::string_view, 11> kNames{
    "float", "double",         "int",          "char", "signed char",  "unsigned char",
    "short", "unsigned short", "unsigned int", "long", "unsigned long"};
constexpr std::array kBytes{4, 8, 4, 1, 1, 1, 2, 2, 4, 8, 8};

}  // namespace

std::string_view c_name(ScalarType type) { return at_enumerator(kNames, type, "the type of a scalar"); }

int size_of(ScalarType type) { return at_enumerator(kBytes, type, "the type of a scalar"); }

ScalarType type_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  return found == kNames.end() ? ScalarType::float64 : static_cast<ScalarType>(found - kNames.begin());
}

ScalarType common_type(ScalarType a, ScalarType b) {
  // Each holds the values of those after it, or is what C takes.
  for (const ScalarType type :
       {ScalarType::float64, ScalarType::float32, ScalarType::uint64, ScalarType::int64, ScalarType::uint32})
    if (a == type || b == type) return type;
  return ScalarType::int32;
}

bool is_arithmetic(std::string_view op) {
  return op.size() == 1 && std::string_view("+-*/%&|^").find(op) != std::string_view::npos;
}

double stored(ScalarType type, std::int64_t value) {
  return with_type(type, [&]<typename T>(T) { return static_cast<double>(static_cast<T>(value)); });
}

}  // namespace warploom::tile
