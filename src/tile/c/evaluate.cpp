#include "tile/c/evaluate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "tile/c/scalar_types.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using Op = Code::Op;

// Two's complement, as processors do it: C leaves it open, and a sanitizer would object.
std::int64_t wrapped(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }
std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::int64_t truncated(double value) {
  if (!(value > -9.2e18 && value < 9.2e18)) return 0;  // undefined in C
  return static_cast<std::int64_t>(value);
}

template <typename Real>
double arithmetic(Op op, Real a, Real b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    default:
      return a / b;
  }
}

template <typename T>
bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::less:
      return a < b;
    case Op::less_equal:
      return a <= b;
    case Op::equal:
      return a == b;
    default:
      return a != b;
  }
}

}  // namespace

ValueType value_type(ScalarType type) {
  if (type == ScalarType::float64) return ValueType::real;
  return type == ScalarType::float32 ? ValueType::single : ValueType::integer;
}

bool Code::holds(const Values& values) const {
  return type == ValueType::integer ? as_integer(values) != 0 : as_real(values) != 0;
}

std::int64_t Code::as_integer(const Values& values) const {
  const auto operand = [&](std::size_t i) { return operands[i].as_integer(values); };
  switch (op) {
    case Op::integer:
      return integer;
    case Op::size:
      return values.integers[slot];
    case Op::scalar:
      return truncated(values.scalars[slot]);
    case Op::element:
      return truncated(*address(values));
    case Op::negate:
      return wrapped(0 - bits(operand(0)));
    case Op::logical_not:
      return !operands[0].holds(values);
    case Op::add:
      return wrapped(bits(operand(0)) + bits(operand(1)));
    case Op::subtract:
      return wrapped(bits(operand(0)) - bits(operand(1)));
    case Op::multiply:
      return wrapped(bits(operand(0)) * bits(operand(1)));
    case Op::divide:
    case Op::remainder:
    case Op::floor_quotient: {
      const std::int64_t a = operand(0), b = operand(1);
      if (b == 0)
        throw BadInput(fmt::format("{}:{}:{}: integer division by zero", values.file, at.line, at.column));
      if (b == -1) return op == Op::remainder ? 0 : wrapped(0 - bits(a));
      if (op == Op::remainder) return a % b;
      const bool below = op == Op::floor_quotient && a % b != 0 && (a < 0) != (b < 0);
      return a / b - below;
    }
    case Op::less:
    case Op::less_equal:
    case Op::equal:
    case Op::not_equal:
      if (operands[0].type == ValueType::integer) return compare(op, operand(0), operand(1));
      return compare(op, operands[0].as_real(values), operands[1].as_real(values));
    case Op::logical_and:
      return operands[0].holds(values) && operands[1].holds(values);
    case Op::logical_or:
      return operands[0].holds(values) || operands[1].holds(values);
    case Op::bit_and:
      return operand(0) & operand(1);
    case Op::bit_or:
      return operand(0) | operand(1);
    case Op::bit_xor:
      return operand(0) ^ operand(1);
    case Op::shift_left:
      return wrapped(bits(operand(0)) << (operand(1) & 63));
    case Op::shift_right:
      return operand(0) >> (operand(1) & 63);
    case Op::wrap:
      return static_cast<std::int64_t>(stored(static_cast<ScalarType>(slot), operand(0)));
    case Op::conditional:
      return operands[0].holds(values) ? operand(1) : operand(2);
    case Op::minimum:
      return std::min(operand(0), operand(1));
    case Op::maximum:
      return std::max(operand(0), operand(1));
    case Op::convert:
      return truncated(operands[0].as_real(values));
    case Op::real:
    case Op::call:
      break;
  }
  std::abort();  // of another type
}

double Code::as_real(const Values& values) const {
  if (type == ValueType::integer) return static_cast<double>(as_integer(values));
  return real_value(values);
}

double Code::real_value(const Values& values) const {
  const auto operand = [&](std::size_t i) { return operands[i].as_real(values); };
  const bool single = type == ValueType::single;
  switch (op) {
    case Op::real:
      return real;
    case Op::scalar:
      return values.scalars[slot];
    case Op::element:
      return *address(values);
    case Op::negate:
      return -operand(0);
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
      if (single) return arithmetic(op, static_cast<float>(operand(0)), static_cast<float>(operand(1)));
      return arithmetic(op, operand(0), operand(1));
    case Op::conditional:
      return operands[0].holds(values) ? operand(1) : operand(2);
    case Op::minimum:
      return std::min(operand(0), operand(1));
    case Op::maximum:
      return std::max(operand(0), operand(1));
    case Op::convert:
      return single ? static_cast<double>(static_cast<float>(operand(0))) : operand(0);
    case Op::call:
      if (function->one) return function->one(operand(0));
      if (function->two) return function->two(operand(0), operand(1));
      if (function->one_single) return function->one_single(static_cast<float>(operand(0)));
      return function->two_single(static_cast<float>(operand(0)), static_cast<float>(operand(1)));
    default:
      break;
  }
  std::abort();  // of another type
}

double* Code::address(const Values& values) const {
  const Values::Array& array = values.arrays[slot];
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < operands.size(); ++d) {
    const std::int64_t subscript = operands[d].as_integer(values);
    if (subscript < 0 || subscript >= array.extents[d]) {
      std::vector<std::int64_t> subscripts;
      for (const Code& operand : operands) subscripts.push_back(operand.as_integer(values));
      throw BadInput(fmt::format("{}:{}:{}: element {}[{}] is outside of the array, whose extents are [{}]",
                                 values.file, at.line, at.column, array.name, fmt::join(subscripts, "]["),
                                 fmt::join(array.extents, "][")));
    }
    offset = offset * array.extents[d] + subscript;
  }
  return array.elements + offset;
}

}  // namespace warploom::tile
