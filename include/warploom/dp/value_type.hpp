#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "warploom/core/error.hpp"

namespace warploom::dp {

/// What a problem is computed in.
enum class ValueType { best, int32, int64, float32, float64 };
/// "auto" (= best), "int32", "int64", "float32", "float64". @throws BadInput naming the five
ValueType parse_value_type(std::string_view text);
std::string_view name(ValueType type);

/// A result: exact where it was computed in integers.
using Number = std::variant<std::int64_t, double>;
/// The shortest text that reads back as the same number
std::string text(const Number& number);

/// The type for a problem of integers. @param bound  no cell, nor a part of a candidate, exceeds it in
/// magnitude (Problem::bound); the largest int64 where that is not known to hold
/// @param what  "costs of this chain", for messages
/// @return `asked`, or for `best` the narrower of int32 and int64 whose range holds the bound
/// @throws BadInput (the bound is above the range of the integers asked for, or of both; a type that is none)
ValueType choose_value_type(ValueType asked, std::int64_t bound, std::string_view what);

/// Calls function(std::type_identity<T>()) with the C++ type of `type`. @throws Internal (`best`, or no type)
template <class Function>
auto with_value_type(ValueType type, const Function& function) {
  switch (type) {
    case ValueType::int32:
      return function(std::type_identity<std::int32_t>());
    case ValueType::int64:
      return function(std::type_identity<std::int64_t>());
    case ValueType::float32:
      return function(std::type_identity<float>());
    case ValueType::float64:
      return function(std::type_identity<double>());
    case ValueType::best:
      break;
  }
  throw Internal("with_value_type: the type was not chosen");
}

}  // namespace warploom::dp
