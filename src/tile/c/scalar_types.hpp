#pragma once

#include <cstdint>
#include <string_view>

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// Calls with a zero of the type that C has for it.
template <typename Call>
auto with_type(ScalarType type, const Call& call) {
  switch (type) {
    case ScalarType::float32:
      return call(float());
    case ScalarType::float64:
      return call(double());
    case ScalarType::int32:
      return call(std::int32_t());
    case ScalarType::character:
      return call(char());
    case ScalarType::int8:
      return call(std::int8_t());
    case ScalarType::uint8:
      return call(std::uint8_t());
    case ScalarType::int16:
      return call(std::int16_t());
    case ScalarType::uint16:
      return call(std::uint16_t());
    case ScalarType::uint32:
      return call(std::uint32_t());
    case ScalarType::int64:
      return call(std::int64_t());
    case ScalarType::uint64:
      return call(std::uint64_t());
  }
  size_of(type);  // refuses it
  return call(double());
}

inline bool is_integer(ScalarType type) { return type != ScalarType::float32 && type != ScalarType::float64; }

/// The type of a sum: C's usual arithmetic conversions.
ScalarType common_type(ScalarType a, ScalarType b);
/// What C makes of a value before it calculates with it: int of a char or short.
inline ScalarType promoted(ScalarType type) { return common_type(type, ScalarType::int32); }

/// Whether an operator gives a value of its operands' common type: no comparison, no shift.
bool is_arithmetic(std::string_view op);

/// The type of a C name: "unsigned char". @return float64's where there is none such
ScalarType type_named(std::string_view name);

/// What a variable of an integer type holds when it is given a value: they wrap around. Values above 2^53 are
/// rounded, since Memory has doubles.
double stored(ScalarType type, std::int64_t value);

}  // namespace warploom::tile
