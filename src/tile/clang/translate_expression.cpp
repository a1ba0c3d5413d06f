#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "tile/c/predicate.hpp"
#include "tile/c/propagate.hpp"
#include "tile/c/simplify.hpp"
#include "tile/clang/translate.hpp"

namespace warploom::tile {
namespace {

constexpr int kDeepestExpression = 400;   // of expressions in one another
constexpr std::size_t kMostNodes = 2000;  // of one expression, calls inlined

std::size_t node_count(const Expression& e) {
  std::size_t nodes = 1;
  for (const Expression& operand : e.operands) nodes += node_count(operand);
  return nodes;
}

/// The first part that keeps an expression from being a subscript or a bound.
const Expression* no_index_in(const Region& region, const Expression& e) {
  if (e.kind == Expression::Kind::element || e.kind == Expression::Kind::real ||
      e.kind == Expression::Kind::cast || (e.kind == Expression::Kind::name && find_variable(region, e.text)))
    return &e;
  for (const Expression& operand : e.operands)
    if (const Expression* part = no_index_in(region, operand)) return part;
  return nullptr;
}

/// A value as a literal of its type.
std::string real_text(const std::string& digits, bool single) {
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return "";
  std::string text = single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".en") == text.npos) text += ".0";
  return text + (single ? "f" : "");
}

bool is_real_literal(std::string_view text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '.') &&
         text.find_first_not_of("0123456789.eE+-fF") == text.npos && text.find_first_of(".eE") != text.npos;
}

}  // namespace

void Translator::refuse(const Syntax& at, std::string construct, std::string why) const {
  throw NotRead{{at.at, std::move(construct), std::move(why)}};
}

Translator::Operand Translator::value(const Syntax& e) {
  if (++depth_ > kDeepestExpression)
    refuse(e, "expression", fmt::format("it is nested deeper than {}", kDeepestExpression));
  Operand operand = value_within(e);
  --depth_;
  if (operand.expression.at.line == 0) operand.expression.at = e.at;
  return operand;
}

Translator::Operand Translator::value_within(const Syntax& e) {
  static const std::set<std::string_view> kThrough{"ParenExpr",           "ExprWithCleanups",
                                                   "ConstantExpr",        "MaterializeTemporaryExpr",
                                                   "ImplicitCastExpr",    "SubstNonTypeTemplateParmExpr",
                                                   "CXXBindTemporaryExpr"};
  if (e.is("ImplicitCastExpr") && e.operation == "IntegralCast" && e.children.size() == 1) return narrowed(e);
  if (kThrough.count(e.kind) && !e.children.empty()) return value(e.children.back());
  if (e.is("IntegerLiteral") || e.is("FloatingLiteral") || e.is("CXXBoolLiteralExpr") ||
      e.is("CharacterLiteral"))
    return literal(e, false);
  if (e.is("DeclRefExpr") || e.is("MemberExpr")) return variable(e);
  if (e.is("ArraySubscriptExpr") || e.is("CXXOperatorCallExpr")) return element(e);
  if (e.is("UnaryOperator") && e.children.size() == 1) return unary(e);
  if (e.is("BinaryOperator") && e.children.size() == 2) return binary(e);
  if (e.is("ConditionalOperator") && e.children.size() == 3) return conditional(e);
  if ((e.is("CStyleCastExpr") || e.is("CXXStaticCastExpr") || e.is("CXXFunctionalCastExpr")) &&
      e.children.size() == 1)
    return cast(e);
  if (e.is("CallExpr") || e.is("CXXMemberCallExpr")) return call(e);
  if (e.is("UnaryExprOrTypeTraitExpr")) return size_of_type(e);
  if (e.is("CompoundAssignOperator"))
    refuse(e, fmt::format("'{}' within an expression", e.operation), "write it as a statement of its own");
  refuse(e, file_.construct(e), "such values are not in the subset");
}

Translator::Operand Translator::literal(const Syntax& e, bool negated) {
  Operand operand;
  if (e.is("CXXBoolLiteralExpr")) {
    operand.expression = Expression::integer(e.value == "true" ? 1 : 0);
    operand.index = true;
    return operand;
  }
  if (!e.is("FloatingLiteral")) {
    std::int64_t value = 0;
    const std::string digits = (negated ? "-" : "") + e.value;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      refuse(e, "integer " + e.value, "it does not fit 64 bits");
    operand.expression = Expression::integer(value);
    operand.index = true;
    return operand;
  }
  const CType type = file_.type(e.type);
  const bool single = type.base == "float";
  if (!single && type.base != "double")
    refuse(e, "number of type " + type.text(), "values are of type float, double or an integer's");
  std::string text(file_.text(e));
  if (!is_real_literal(text) || (text.ends_with('f') || text.ends_with('F')) != single)
    text = real_text(e.value, single);
  if (text.empty()) refuse(e, "number " + e.value, "it cannot be read");
  operand.expression.kind = Expression::Kind::real;
  operand.expression.text = (negated ? "-" : "") + text;
  return operand;
}

Translator::Operand Translator::unary(const Syntax& e) {
  const Syntax& child = e.children[0];
  if (e.operation == "*") return element(e);
  if (e.operation == "-" && (child.is("IntegerLiteral") || child.is("FloatingLiteral")))
    return literal(child, true);
  if (e.operation == "__extension__") return value(child);
  if (advance_within(e)) return variable(bare(child));
  if (e.operation == "++" || e.operation == "--")
    refuse(e, fmt::format("'{}' within an expression", e.operation), "write it as a statement of its own");
  if (e.operation == "&") refuse(e, "address-of", "only elements and variables have values here");
  if (e.operation != "-" && e.operation != "+" && e.operation != "!" && e.operation != "~")
    refuse(e, fmt::format("operator '{}'", e.operation), "it is not in the subset");
  Operand operand = value(child);
  if (e.operation == "~") operand.index = false;
  operand.expression = Expression::unary(e.operation, std::move(operand.expression));
  return operand;
}

Translator::Operand Translator::binary(const Syntax& e) {
  static const std::set<std::string_view> kOperators{
      "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "&", "|", "^", "<<", ">>"};
  static const std::set<std::string_view> kBits{"&", "|", "^", "<<", ">>"};
  if (e.operation == "=") refuse(e, "'=' within an expression", "write it as a statement of its own");
  if (e.operation == ",") refuse(e, "comma operator", "write the parts as statements");
  if (!kOperators.count(e.operation))
    refuse(e, fmt::format("operator '{}'", e.operation), "it is not in the subset");
  Operand left = value(e.children[0]);
  std::optional<Raised> maybe;
  if (e.operation == "&&" || e.operation == "||") maybe.emplace(conditional_);
  Operand right = value(e.children[1]);
  const bool data = !left.index || !right.index || as_index_ == 0;
  if (data) {
    keep_type(e.children[0], left, right);
    keep_type(e.children[1], right, left);
  }
  left.index = left.index && right.index;
  if (kBits.count(e.operation) && left.index) return bits_of_index(e, std::move(left), right);
  left.expression = Expression::binary(e.operation, std::move(left.expression), std::move(right.expression));
  left.expression.at = e.at;
  return left;
}

/// Shifts and remainders of powers of two, as they stand in subscripts and bounds, in arithmetic.
Translator::Operand Translator::bits_of_index(const Syntax& e, Operand left, const Operand& right) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const Expression& by = right.expression;
  const bool number = by.kind == Expression::Kind::integer && by.value >= 0;
  const bool power = number && e.operation != "&" && by.value < 31;
  const std::int64_t factor = power ? std::int64_t{1} << by.value : 0;
  Expression x = std::move(left.expression);
  if (e.operation == "<<" && power) {
    x = Expression::binary("*", std::move(x), Expression::integer(factor));
  } else if (e.operation == ">>" && power) {
    x = Expression::call("floord", {std::move(x), Expression::integer(factor)});
  } else if (e.operation == "&" && number && by.value < kMost && (by.value & (by.value + 1)) == 0) {
    const Expression size = Expression::integer(by.value + 1);
    x = Expression::binary("-", x, Expression::binary("*", size, Expression::call("floord", {x, size})));
  } else {
    x = Expression::binary(e.operation, std::move(x), by);
    left.index = false;
  }
  left.expression = std::move(x);
  left.expression.at = e.at;
  return left;
}

/// Sizes, loops and literals of wide or unsigned types are written as int: where C calculates with them, and
/// the other operand does not say so, their type is.
void Translator::keep_type(const Syntax& e, Operand& operand, const Operand& other) const {
  const CType type = file_.type(e.type);
  if (!operand.index || !type.is_plain() || !type.wider_than_int() || !type.scalar()) return;
  const bool literal = operand.expression.kind == Expression::Kind::integer &&
                       operand.expression.value > std::numeric_limits<int>::max();
  if (!literal && type_of(region_, other.expression) == *type.scalar()) return;
  Expression whole;
  whole.kind = Expression::Kind::cast;
  whole.text = c_name(*type.scalar());
  whole.operands = {std::move(operand.expression)};
  operand = {std::move(whole), false};
}

/// An integer that C makes another type's: written where its value may change.
Translator::Operand Translator::narrowed(const Syntax& e) {
  Operand operand = value(e.children[0]);
  const CType to = file_.type(e.type), from = file_.type(e.children[0].type);
  if (operand.index || !to.is_plain() || !to.scalar() || !from.scalar()) return operand;
  const bool holds =
      size_of(*to.scalar()) > size_of(*from.scalar()) && (!to.is_unsigned() || from.is_unsigned());
  const bool same =
      to.is_unsigned() == from.is_unsigned() && size_of(*to.scalar()) == size_of(*from.scalar());
  if (holds || same) return operand;
  Expression whole;
  whole.kind = Expression::Kind::cast;
  whole.text = c_name(*to.scalar());
  whole.operands = {std::move(operand.expression)};
  return {std::move(whole), false};
}

Translator::Operand Translator::conditional(const Syntax& e) {
  Operand condition = value(e.children[0]);
  const Raised maybe(conditional_);
  Operand yes = value(e.children[1]), no = value(e.children[2]);
  Operand whole;
  whole.index = condition.index && yes.index && no.index;
  whole.expression = Expression::conditional(std::move(condition.expression), std::move(yes.expression),
                                             std::move(no.expression));
  if (whole.index) whole.expression = as_minimum_or_maximum(std::move(whole.expression));
  whole.expression.at = e.at;
  return whole;
}

Translator::Operand Translator::cast(const Syntax& e) {
  const CType type = file_.type(e.type);
  Operand operand = value(e.children[0]);
  if (operand.index && type.is_plain() && type.is_integer()) return operand;  // a width, no value
  if (!type.is_plain() || !type.scalar())
    refuse(e, "cast to " + type.text(), "only casts to numbers' types are in the subset");
  Expression whole;
  whole.kind = Expression::Kind::cast;
  whole.text = c_name(*type.scalar());
  whole.operands = {std::move(operand.expression)};
  return {std::move(whole), false};
}

Translator::Operand Translator::converted(const Syntax& e) {
  const Syntax* inner = &e;
  while ((inner->is("ParenExpr") || inner->is("ExprWithCleanups")) && inner->children.size() == 1)
    inner = &inner->children[0];
  static const std::set<std::string_view> kConversions{"FloatingCast", "IntegralToFloating",
                                                       "FloatingToIntegral"};
  if (inner->is("ImplicitCastExpr") && kConversions.count(inner->operation)) {
    Operand operand = cast(*inner);
    if (operand.expression.at.line == 0) operand.expression.at = e.at;
    return operand;
  }
  return value(e);
}

Translator::Operand Translator::size_of_type(const Syntax& e) {
  const CType type =
      file_.type(e.target_type.empty() && !e.children.empty() ? e.children[0].type : e.target_type);
  static const std::map<std::string_view, int> kBytes{{"float", 4},
                                                      {"double", 8},
                                                      {"int", 4},
                                                      {"unsigned int", 4},
                                                      {"char", 1},
                                                      {"unsigned char", 1},
                                                      {"signed char", 1},
                                                      {"short", 2},
                                                      {"unsigned short", 2},
                                                      {"long", 8},
                                                      {"unsigned long", 8},
                                                      {"long long", 8},
                                                      {"unsigned long long", 8}};
  const auto bytes = kBytes.find(type.base);
  if (!type.is_plain() || bytes == kBytes.end())
    refuse(e, "sizeof", "only the bytes of a plain number's type are known");
  return {Expression::integer(bytes->second), true};
}

Translator::Operand Translator::variable(const Syntax& e) {
  if (const auto number = file_.enumerator(e.target); number && e.target_kind == "EnumConstantDecl")
    return {Expression::integer(*number), true};
  const std::string key = key_of(e);
  if (key.empty() || is_in_element(e)) return element(e);
  if (const auto loop = running_.find(key); loop != running_.end())
    return {Expression::name(loop->second), true};
  if (const auto known = values_.find(key); known != values_.end()) {
    if (!known->second) throw Demoted{key};
    return *known->second;
  }
  if (is_followed(key) && file_.type(survey_.declaration(key)->type).is_plain())
    throw Demoted{key};  // read before the nest gives it a value
  const Entity& what = entity(e);
  const CType& type = what.type;
  if (!type.is_plain()) refuse(e, what.shown, "arrays and pointers are used by their elements only");
  if (type.is_volatile) refuse(e, what.shown, "it is volatile");
  if (iterators_.count(what.key))
    refuse(e, fmt::format("loop variable {} outside of its loop", what.shown),
           "its value is known within the loop only");
  if (auto constant = constant_value(what)) return *constant;
  if (is_size(what)) return {Expression::name(name_in_region(what)), true};
  if (!type.scalar())
    refuse(e, fmt::format("variable {} of type {}", what.shown, type.text()),
           "values are of type float, double or an integer's");
  return {Expression::name(name_in_region(what)), false};
}

/// Of a variable whose declaration gives it a literal, or of a constant of the file.
std::optional<Translator::Operand> Translator::constant_value(const Entity& what) {
  if (!what.initialised || what.is_static || what.inside || what.key.find('.') != std::string::npos)
    return std::nullopt;
  const Syntax* declared = what.global ? file_.global(what.key) : survey_.declaration(what.key);
  if (!declared || declared->children.empty()) return std::nullopt;
  const Syntax& first = bare(declared->children.back());
  const bool literal = first.kind.ends_with("Literal") ||
                       (first.is("UnaryOperator") && bare(first.children.at(0)).kind.ends_with("Literal"));
  const bool fixed = what.global
                         ? what.type.is_const
                         : literal && std::ranges::none_of(survey_.uses(what.key), [&](const Use& use) {
                             return use.writes && use.at != declared->first;
                           });
  if (!fixed) return std::nullopt;
  try {
    const Operand value = this->value(declared->children.back());
    if (auto constant = constant_of(what.type, value))
      return Operand{*constant, value.index && what.type.is_integer()};
  } catch (const NotRead&) {  // its value is data
  }
  return std::nullopt;
}

Translator::Operand Translator::element(const Syntax& e) {
  const Address place = address(e);
  if (as_index_ > 0)
    if (std::optional<Operand> size = element_as_size(place)) return std::move(*size);
  return {element_of(place, e), false};
}

/// An integer in an array that the nest leaves alone, whichever of its iterations asks: n[0], first[row].
std::optional<Translator::Operand> Translator::element_as_size(const Address& place) {
  const Entity& array = *place.entity;
  if (place.offset || place.subscripts.empty() || place.subscripts.size() != array.type.layers.size() ||
      !array.type.is_integer() || array.type.is_volatile || array.inside ||
      writes_elements_of(array.type.base))
    return std::nullopt;
  const auto has_loop = [&](auto&& self, const Expression& part) -> bool {
    const auto found = used_.find(part.text);
    return (part.kind == Expression::Kind::name && found != used_.end() && found->second) ||
           std::ranges::any_of(part.operands, [&](const Expression& operand) { return self(self, operand); });
  };
  Entity size = array;
  for (const Expression& subscript : place.subscripts) {
    if (has_loop(has_loop, subscript) || reads_data(region_, subscript)) return std::nullopt;
    size.name += "_" + to_text(subscript);
    size.shown += "[" + to_text(subscript) + "]";
  }
  size.key = array.key + size.shown.substr(array.shown.size());
  size.type.layers.clear();
  size.parameter = size.is_static = false;
  const Entity& kept = entities_.emplace(size.key, std::move(size)).first->second;
  return Operand{Expression::name(name_in_region(kept)), true};
}

Translator::Operand Translator::index_value(const Syntax& e) {
  const Raised index(as_index_);
  return value(e);
}

/// An index, or an integer that memory holds: which element that is shows when it runs.
Expression Translator::subscript(const Syntax& e) {
  const int outer = std::exchange(as_index_, 0);  // x[at[i]] as a bound is data, at[i] in it is not
  Operand operand = index_value(e);
  as_index_ = outer;
  const ScalarType type = type_of(region_, operand.expression);
  const bool integer = type != ScalarType::float32 && type != ScalarType::float64;
  if (!operand.index && integer) return std::move(operand.expression);
  return as_index(e, "subscript", std::move(operand));
}

Expression Translator::index(const Syntax& e, std::string_view what) {
  return as_index(e, what, index_value(e));
}

Expression Translator::as_index(const Syntax& e, std::string_view what, Operand operand) const {
  if (!operand.index) {
    const Expression* part = no_index_in(region_, operand.expression);
    refuse(e, fmt::format("{} {}", what, to_text(operand.expression)),
           fmt::format("{} is no loop variable, size or integer", part ? to_text(*part) : "part of it"));
  }
  if (node_count(operand.expression) > kMostNodes)
    refuse(e, std::string(what), fmt::format("it has more than {} parts", kMostNodes));
  return std::move(operand.expression);
}

std::optional<Expression> Translator::constant_of(const CType& type, const Operand& value) const {
  constexpr std::size_t kMost = 50;
  if (type.is_integer() && value.index && node_count(value.expression) <= kMost) return value.expression;
  const Expression* core = &value.expression;
  while (core->kind == Expression::Kind::cast) core = &core->operands[0];
  const bool real = core->kind == Expression::Kind::real;
  if (type.is_integer() || !type.scalar() || !(real || core->kind == Expression::Kind::integer))
    return std::nullopt;
  const bool single = real && (core->text.ends_with('f') || core->text.ends_with('F'));
  if (core == &value.expression && real && single == (type.scalar() == ScalarType::float32))
    return value.expression;
  Expression cast;
  cast.kind = Expression::Kind::cast;
  cast.text = c_name(*type.scalar());
  cast.operands = {value.expression};
  return cast;
}

}  // namespace warploom::tile
