#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tile/c/evaluate.hpp"
#include "tile/c/scalar_types.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using Op = Code::Op;

const std::map<std::string, Op, std::less<>> kOperators{
    {"+", Op::add},        {"-", Op::subtract},     {"*", Op::multiply},    {"/", Op::divide},
    {"%", Op::remainder},  {"<", Op::less},         {"<=", Op::less_equal}, {"==", Op::equal},
    {"!=", Op::not_equal}, {"&&", Op::logical_and}, {"||", Op::logical_or}, {"&", Op::bit_and},
    {"|", Op::bit_or},     {"^", Op::bit_xor},      {"<<", Op::shift_left}, {">>", Op::shift_right}};

}  // namespace

void fail_at(const Region& region, Position at, const std::string& what) {
  throw BadInput(fmt::format("{}:{}:{}: {}", region.file, at.line, at.column, what));
}

std::int64_t extent_value(const Region& region, const Variable& variable, const Expression& extent,
                          const std::map<std::string, std::int64_t>& sizes) {
  const auto fail = [&](const std::string& what) {
    fail_at(region, variable.at, fmt::format("extent {} of {}: {}", to_text(extent), variable.name, what));
  };
  if (extent.kind == Expression::Kind::name && extent.text.empty())
    fail_at(region, variable.at,
            fmt::format("the extent of {0} is not known; declare it as {0}[extent]", variable.name));
  const auto evaluate = [&](const auto& self, const Expression& e) -> std::int64_t {
    if (e.kind == Expression::Kind::integer) return e.value;
    if (e.kind == Expression::Kind::name) {
      const auto found = sizes.find(e.text);
      if (found == sizes.end()) fail(fmt::format("size {} is missing", e.text));
      return found->second;
    }
    std::vector<std::int64_t> v;
    for (const Expression& operand : e.operands) v.push_back(self(self, operand));
    std::int64_t result = 0;
    bool overflow = false;
    if (e.kind == Expression::Kind::unary && e.text == "-") {
      overflow = __builtin_sub_overflow(std::int64_t{0}, v[0], &result);
    } else if (e.kind == Expression::Kind::call && e.text == "min") {
      result = std::min(v[0], v[1]);
    } else if (e.kind == Expression::Kind::call && e.text == "max") {
      result = std::max(v[0], v[1]);
    } else if (e.kind != Expression::Kind::binary) {
      fail("it is no sum, product or quotient of sizes");
    } else if (e.text == "+") {
      overflow = __builtin_add_overflow(v[0], v[1], &result);
    } else if (e.text == "-") {
      overflow = __builtin_sub_overflow(v[0], v[1], &result);
    } else if (e.text == "*") {
      overflow = __builtin_mul_overflow(v[0], v[1], &result);
    } else if ((e.text == "/" || e.text == "%") && v[1] != 0 && v[1] != -1) {
      result = e.text == "/" ? v[0] / v[1] : v[0] % v[1];
    } else {
      fail("it is no sum, product or quotient of sizes");
    }
    if (overflow) fail("it leaves 64 bits");
    return result;
  };
  const std::int64_t value = evaluate(evaluate, extent);
  if (value < 0) fail(fmt::format("it is {}; sizes have to make it 0 or more", value));
  return value;
}

Coder::Coder(const Region& region, Memory& memory) : region_(region), memory_(memory) {
  values_.file = region.file;
  for (const auto& [name, value] : memory.sizes) {
    sizes_[name] = static_cast<int>(values_.integers.size());
    values_.integers.push_back(value);
  }
  for (const auto& [name, value] : memory.scalars) {
    scalars_[name] = static_cast<int>(values_.scalars.size());
    values_.scalars.push_back(value);
  }
}

void Coder::store() {
  for (const auto& [name, slot] : scalars_) memory_.scalars[name] = values_.scalars[slot];
}

void Coder::fail(Position at, const std::string& what) const { fail_at(region_, at, what); }

int Coder::enter(const std::string& iterator) {
  const int slot = static_cast<int>(values_.integers.size());
  values_.integers.push_back(0);
  loops_[iterator].push_back(slot);
  return slot;
}

void Coder::leave(const std::string& iterator) { loops_[iterator].pop_back(); }

int Coder::array(const std::string& name, Position at) {
  const auto known = arrays_.find(name);
  if (known != arrays_.end()) return known->second;
  const Variable* variable = find_variable(region_, name);
  const auto found = memory_.arrays.find(name);
  if (!variable || variable->extents.empty() || found == memory_.arrays.end())
    fail(at, fmt::format("array {} is not known", name));
  Values::Array array;
  array.name = name;
  array.type = variable->type;
  array.elements = found->second.data();
  std::int64_t product = 1;
  for (const Expression& extent : variable->extents) {
    array.extents.push_back(extent_value(region_, *variable, extent, memory_.sizes));
    if (__builtin_mul_overflow(product, array.extents.back(), &product))
      fail(at, fmt::format("extents of {} leave 64 bits", name));
  }
  if (product != static_cast<std::int64_t>(found->second.size()))
    fail(at, fmt::format("array {} has {} elements, not the {} of its extents", name, found->second.size(),
                         product));
  const int slot = static_cast<int>(values_.arrays.size());
  values_.arrays.push_back(std::move(array));
  arrays_[name] = slot;
  return slot;
}

/// C's conversion; none where the type is that already.
Code Coder::converted(Code code, ValueType type) {
  if (code.type == type) return code;
  Code whole;
  whole.op = Op::convert;
  whole.type = type;
  whole.at = code.at;
  whole.operands.push_back(std::move(code));
  return whole;
}

Code Coder::binary(Op op, Code left, Code right, Position at) const {
  Code whole;
  whole.op = op;
  whole.at = at;
  const ValueType common = std::max(left.type, right.type);
  const bool bits = op >= Op::bit_and && op <= Op::shift_right;
  if ((op == Op::remainder || bits) && common != ValueType::integer)
    fail(at, "remainder or bits of numbers that are no integers");
  const bool logical = op == Op::logical_and || op == Op::logical_or;
  const bool comparison = op == Op::less || op == Op::less_equal || op == Op::equal || op == Op::not_equal;
  if (!logical && !comparison) whole.type = common;
  if (!logical) {
    left = converted(std::move(left), common);
    right = converted(std::move(right), common);
  }
  whole.operands.push_back(std::move(left));
  whole.operands.push_back(std::move(right));
  return whole;
}

Code Coder::name(const Expression& e) {
  Code code;
  code.at = e.at;
  code.op = Op::size;
  const auto loop = loops_.find(e.text);
  if (loop != loops_.end() && !loop->second.empty()) {
    code.slot = loop->second.back();
  } else if (const auto size = sizes_.find(e.text); size != sizes_.end()) {
    code.slot = size->second;
  } else if (const auto scalar = scalars_.find(e.text); scalar != scalars_.end()) {
    const Variable* variable = find_variable(region_, e.text);
    if (!variable) fail(e.at, fmt::format("scalar {} is not a variable of the region", e.text));
    code.op = Op::scalar;
    code.slot = scalar->second;
    code.type = value_type(variable->type);
  } else {
    fail(e.at, fmt::format("name {} has no value", e.text));
  }
  return code;
}

Code Coder::variable(const std::string& name, Position at) {
  const Variable* variable = find_variable(region_, name);
  if (!variable) fail(at, fmt::format("variable {} is not known", name));
  if (variable->extents.empty()) return this->name(Expression::name(name));
  Code code;
  code.op = Op::element;
  code.slot = array(name, at);
  code.type = value_type(variable->type);
  return code;
}

Code Coder::element(const Expression& e) {
  Code code;
  code.at = e.at;
  code.op = Op::element;
  code.slot = array(e.text, e.at);
  const Values::Array& array = values_.arrays[code.slot];
  code.type = value_type(array.type);
  if (e.operands.size() != array.extents.size())
    fail(e.at,
         fmt::format("{} has {} subscripts, not {}", to_text(e), e.operands.size(), array.extents.size()));
  for (const Expression& subscript : e.operands) {
    code.operands.push_back(this->code(subscript));
    if (code.operands.back().type != ValueType::integer)
      fail(e.at, fmt::format("subscript {} is no integer", to_text(subscript)));
  }
  return code;
}

Code Coder::call(const Expression& e) {
  const Function* function = find_function(e.text);
  if (!function || e.operands.size() != static_cast<std::size_t>(function->arguments))
    fail(e.at, fmt::format("call {} is not known", to_text(e)));
  if (function->result == Function::Result::as_arguments) {
    const Op op = e.text == "min" ? Op::minimum : e.text == "max" ? Op::maximum : Op::floor_quotient;
    Code code = binary(op, this->code(e.operands[0]), this->code(e.operands[1]), e.at);
    if (op == Op::floor_quotient && code.type != ValueType::integer)
      fail(e.at, "floord of numbers that are no integers");
    return code;
  }
  Code code;
  code.at = e.at;
  code.op = Op::call;
  code.function = function;
  code.type = function->result == Function::Result::float32 ? ValueType::single : ValueType::real;
  for (const Expression& argument : e.operands)
    code.operands.push_back(converted(this->code(argument), code.type));
  return code;
}

Code Coder::code(const Expression& e) {
  Code code;
  code.at = e.at;
  switch (e.kind) {
    case Expression::Kind::integer:
      code.integer = e.value;
      return code;
    case Expression::Kind::real: {
      const bool hexadecimal = e.text.find_first_of("xX") != std::string::npos;
      const bool digits = hexadecimal && e.text.find_first_of("pP") == std::string::npos;
      const bool single = !digits && (e.text.ends_with('f') || e.text.ends_with('F'));
      code.op = Op::real;
      code.type = single ? ValueType::single : ValueType::real;
      // strtof: to round twice, first to double, may give another float.
      code.real = single ? static_cast<double>(std::strtof(e.text.c_str(), nullptr))
                         : std::strtod(e.text.c_str(), nullptr);
      return code;
    }
    case Expression::Kind::name:
      return name(e);
    case Expression::Kind::element:
      return element(e);
    case Expression::Kind::call:
      return call(e);
    case Expression::Kind::unary:
      code.operands.push_back(this->code(e.operands[0]));
      if (e.text == "+") return std::move(code.operands[0]);
      if (e.text == "~") {  // -x - 1
        Code one;
        one.integer = -1;
        return binary(Op::bit_xor, std::move(code.operands[0]), std::move(one), e.at);
      }
      code.op = e.text == "!" ? Op::logical_not : Op::negate;
      if (e.text != "!") code.type = code.operands[0].type;
      return code;
    case Expression::Kind::binary: {
      const bool turned = e.text == ">" || e.text == ">=";
      Code left = this->code(e.operands[0]), right = this->code(e.operands[1]);
      if (turned)
        return binary(e.text == ">" ? Op::less : Op::less_equal, std::move(right), std::move(left), e.at);
      return binary(kOperators.at(e.text), std::move(left), std::move(right), e.at);
    }
    case Expression::Kind::conditional: {
      Code yes = this->code(e.operands[1]), no = this->code(e.operands[2]);
      code.op = Op::conditional;
      code.type = std::max(yes.type, no.type);
      code.operands.push_back(this->code(e.operands[0]));
      code.operands.push_back(converted(std::move(yes), code.type));
      code.operands.push_back(converted(std::move(no), code.type));
      return code;
    }
    case Expression::Kind::cast: {
      const ScalarType type = type_named(e.text);
      code = converted(this->code(e.operands[0]), value_type(type));
      if (!is_integer(type) || type == ScalarType::int32) return code;
      Code whole;
      whole.op = Op::wrap;
      whole.slot = static_cast<int>(type);
      whole.at = e.at;
      whole.operands.push_back(std::move(code));
      return whole;
    }
  }
  return code;
}

Code Coder::assigned(const Code& target, std::string op, const Expression& value) {
  Code right = code(value);
  if (op != "=") {
    op.pop_back();  // "+="
    right = binary(kOperators.at(op), target, std::move(right), target.at);
  }
  return converted(std::move(right), target.type);
}

}  // namespace warploom::tile
