#pragma once

#include <map>
#include <string>
#include <vector>

#include "tile/c/functions.hpp"
#include "warploom/tile/interpret.hpp"

namespace warploom::tile {

/// C's types in their order: the greater of two is that of a sum.
enum class ValueType { integer, single, real };
ValueType value_type(ScalarType type);

/// Where a program's values are while it runs: names became numbers.
struct Values {
  struct Array {
    std::string name;
    ScalarType type = ScalarType::float32;
    std::vector<std::int64_t> extents;
    double* elements = nullptr;
  };
  std::string file;                    ///< of errors
  std::vector<std::int64_t> integers;  ///< sizes and loops
  std::vector<double> scalars;
  std::vector<Array> arrays;
};

/// An expression whose names are numbers and whose types are known.
struct Code {
  enum class Op {
    integer,
    real,
    size,
    scalar,
    element,
    negate,
    logical_not,
    add,
    subtract,
    multiply,
    divide,
    remainder,
    less,
    less_equal,
    equal,
    not_equal,
    logical_and,
    logical_or,
    bit_and,
    bit_or,
    bit_xor,
    shift_left,
    shift_right,
    wrap,  ///< to what a variable of the integer type `slot` holds
    conditional,
    call,
    minimum,
    maximum,
    floor_quotient,
    convert,
  };
  Op op = Op::integer;
  ValueType type = ValueType::integer;  ///< of the result; a comparison's operands have the first operand's
  std::int64_t integer = 0;
  double real = 0;
  int slot = 0;
  const Function* function = nullptr;
  std::vector<Code> operands;
  Position at;

  std::int64_t as_integer(const Values& values) const;
  /// The value, rounded to `type`.
  double as_real(const Values& values) const;
  /// Of an element: its address.  @throws BadInput outside of the array
  double* address(const Values& values) const;

 private:
  double real_value(const Values& values) const;
  bool holds(const Values& values) const;
};

/// The code of expressions, given what the names stand for.
class Coder {
 public:
  Coder(const Region& region, Memory& memory);

  Code code(const Expression& expression);
  /// A scalar, or an array as a whole: its slot and type.
  Code variable(const std::string& name, Position at);
  /// What is assigned: `op` applied to the target's old value.
  Code assigned(const Code& target, std::string op, const Expression& value);
  /// The slot of a loop's variable, which hides other things of that name until leave().
  int enter(const std::string& iterator);
  void leave(const std::string& iterator);
  Values& values() { return values_; }
  const std::map<std::string, int>& scalar_slots() const { return scalars_; }
  /// Scalars go back to where they came from.
  void store();

 private:
  Code name(const Expression& expression);
  Code element(const Expression& expression);
  Code call(const Expression& expression);
  Code binary(Code::Op op, Code left, Code right, Position at) const;
  static Code converted(Code code, ValueType type);
  int array(const std::string& name, Position at);
  [[noreturn]] void fail(Position at, const std::string& what) const;

  const Region& region_;
  Memory& memory_;
  Values values_;
  std::map<std::string, std::vector<int>> loops_;  ///< the innermost last
  std::map<std::string, int> sizes_, scalars_, arrays_;
};

/// "gemm.c:3:5: ..."
[[noreturn]] void fail_at(const Region& region, Position at, const std::string& what);
/// An extent for these sizes.  @throws BadInput (a missing size, not an integer, beyond 63 bits, negative)
std::int64_t extent_value(const Region& region, const Variable& variable, const Expression& extent,
                          const std::map<std::string, std::int64_t>& sizes);

}  // namespace warploom::tile
