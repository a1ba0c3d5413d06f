#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "tile/c/functions.hpp"
#include "tile/c/parser.hpp"
#include "tile/c/propagate.hpp"
#include "tile/c/simplify.hpp"

namespace warploom::tile {
namespace {

constexpr int kHighest = 1000;  // operators in one another: a + b + c ...

struct Operator {
  int level = -1;
  bool bits = false;
};

Operator operator_of(const Token& token) {
  if (token.kind != Token::Kind::punctuator) return {};
  static const std::map<std::string, Operator, std::less<>> operators{
      {"||", {0}},       {"&&", {1}}, {"|", {2, true}}, {"^", {3, true}}, {"&", {4, true}}, {"==", {5}},
      {"!=", {5}},       {"<", {6}},  {"<=", {6}},      {">", {6}},       {">=", {6}},      {"<<", {7, true}},
      {">>", {7, true}}, {"+", {8}},  {"-", {8}},       {"*", {9}},       {"/", {9}},       {"%", {9}}};
  const auto found = operators.find(token.text);
  return found == operators.end() ? Operator{} : found->second;
}

bool assigns(const Token& token) {
  static const std::set<std::string, std::less<>> operators{
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"};
  return token.kind == Token::Kind::punctuator && operators.count(token.text) > 0;
}

/// The first part of an expression that keeps it from being a subscript or a bound.
std::string not_index(const Region& region, const Expression& e) {
  const bool value =
      e.kind == Expression::Kind::element || e.kind == Expression::Kind::real ||
      e.kind == Expression::Kind::cast ||
      (e.kind == Expression::Kind::name && find_variable(region, e.text)) ||
      (e.kind == Expression::Kind::call && find_function(e.text)->result != Function::Result::as_arguments);
  if (value) return to_text(e);
  for (const Expression& operand : e.operands)
    if (std::string part = not_index(region, operand); !part.empty()) return part;
  return "";
}

}  // namespace

void Parser::check_height(const Operand& operand, const Token& at) const {
  if (operand.height > kHighest)
    fail(at, fmt::format("expression with more than {} operators in one another", kHighest));
}

Operand Parser::expression() {
  Operand operand = conditional();
  if (assigns(here()))
    refuse(here(), fmt::format("'{}' within an expression", here().text),
           "write it as a statement of its own");
  return operand;
}

Operand Parser::conditional() {
  if (++depth_ > kDeepest) fail(here(), fmt::format("nested deeper than {}", kDeepest));
  const Token& at = here();
  Operand condition = binary(0);
  if (take("?")) {
    Operand yes = expression();
    expect(":", "after '?'");
    Operand no = conditional();
    Operand whole;
    whole.height = 1 + std::max({condition.height, yes.height, no.height});
    whole.index = condition.index && yes.index && no.index;
    check_height(whole, at);
    whole.expression = Expression::conditional(std::move(condition.expression), std::move(yes.expression),
                                               std::move(no.expression));
    whole.expression.at = at.at;
    if (whole.index) whole.expression = as_minimum_or_maximum(std::move(whole.expression));
    condition = std::move(whole);
  }
  --depth_;
  return condition;
}

Operand Parser::binary(int least) {
  const Token& at = here();
  Operand left = unary();
  for (Operator op = operator_of(here()); op.level >= least; op = operator_of(here())) {
    const Token& token = here();
    if (op.bits)
      refuse(token, fmt::format("operator '{}'", token.text), "bit operations are not in the subset");
    ++at_;
    Operand right = binary(op.level + 1);
    left.height = 1 + std::max(left.height, right.height);
    left.index = left.index && right.index;
    left.expression = Expression::binary(token.text, std::move(left.expression), std::move(right.expression));
    left.expression.at = at.at;
    check_height(left, token);
  }
  return left;
}

Operand Parser::unary() {
  if (++depth_ > kDeepest) fail(here(), fmt::format("nested deeper than {}", kDeepest));
  Operand operand = unary_within();
  --depth_;
  return operand;
}

Operand Parser::unary_within() {
  const Token& token = here();
  if (token.is("(") && starts_type(at_ + 1)) return cast();
  if (token.is("-") && next().kind == Token::Kind::number) {
    ++at_;
    Operand literal = number(true);
    literal.expression.at = token.at;
    return literal;
  }
  if (token.is("-") || token.is("+") || token.is("!")) {
    ++at_;
    Operand operand = unary();
    operand.expression = Expression::unary(token.text, std::move(operand.expression));
    operand.expression.at = token.at;
    ++operand.height;
    check_height(operand, token);
    return operand;
  }
  if (token.is("*") && next().kind == Token::Kind::identifier) return dereference();
  if (token.is("*"))
    refuse(token, "pointer dereference", "write the element as NAME[subscript] of an array parameter");
  if (token.is("&")) refuse(token, "address-of", "pointers are not in the subset");
  if (token.is("~")) refuse(token, "operator '~'", "bit operations are not in the subset");
  if (token.is("++") || token.is("--"))
    refuse(token, fmt::format("'{}' within an expression", token.text), "write it as a statement of its own");
  if (token.is_name("sizeof")) refuse(token, "sizeof", "bytes are not in the subset");
  return primary();
}

/// *s of a pointer that is used in no other way: its one element.
Operand Parser::dereference() {
  const Token& star = here();
  const std::string& name = next().text;
  Symbol* symbol = find(name);
  const auto& places = mentions_[name];
  const bool alone =
      symbol && symbol->is_array && symbol->extents.size() == 1 && symbol->unsupported.empty() &&
      (symbol->extents[0] == Expression::name("") || symbol->extents[0] == Expression::integer(1)) &&
      std::ranges::all_of(places, [&](std::size_t place) {
        return tokens_[place - 1].is("*") || tokens_[place - 1].kind == Token::Kind::identifier;
      });
  if (!alone || next(2).is("["))
    refuse(star, "pointer dereference", "write the element as NAME[subscript] of an array parameter");
  if (!symbol->type)
    refuse(star, fmt::format("*{} of type {}", name, symbol->type_name),
           "values are of type float, double or int");
  symbol->extents[0] = Expression::integer(1);
  const std::string own = name_in_region(*symbol, name);
  std::ranges::find(region_.variables, own, &Variable::name)->extents = symbol->extents;
  at_ += 2;
  Operand operand;
  operand.height = 2;
  operand.expression = Expression::element(own, {Expression::integer(0)});
  operand.expression.at = star.at;
  return operand;
}

Operand Parser::primary() {
  const Token& token = here();
  Operand operand;
  switch (token.kind) {
    case Token::Kind::number:
      operand = number(false);
      break;
    case Token::Kind::identifier:
      operand = next().is("(") ? call() : name();
      break;
    case Token::Kind::string:
      refuse(token, "string literal", "text is not in the subset");
    case Token::Kind::character:
      refuse(token, "character " + token.text, "write its number");
    case Token::Kind::punctuator:
      if (token.is("(")) {
        ++at_;
        operand = expression();
        if (here().is(",")) refuse(here(), "comma operator", "write the parts as statements");
        expect(")", "after an expression");
        break;
      }
      [[fallthrough]];
    default:
      fail_expected("a value");
  }
  const Token& after = here();
  if (after.is("("))
    refuse(after, "call through a value",
           "calls other than of C's mathematical functions are not in the subset");
  if (after.is(".") || after.is("->"))
    refuse(after, "struct member", "only scalars and arrays of float, double and int are in the subset");
  if (after.is("[")) refuse(after, "subscript of an expression", "only arrays have elements");
  return operand;
}

Operand Parser::number(bool negated) {
  const Token& token = here();
  ++at_;
  Operand operand;
  operand.expression.at = token.at;
  try {
    if (parse_integer(token.text, negated, operand.expression.value)) {
      operand.index = true;
      return operand;
    }
  } catch (const std::out_of_range&) {
    fail(token, fmt::format("integer {} does not fit 64 bits", token.text));
  }
  std::string_view digits = token.text;
  const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  if (hexadecimal) digits.remove_prefix(2);
  double value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value,
                      hexadecimal ? std::chars_format::hex : std::chars_format::general);
  const std::string_view suffix(end, static_cast<std::size_t>(digits.data() + digits.size() - end));
  const bool real = digits.find_first_of(hexadecimal ? ".pP" : ".eE") != std::string_view::npos;
  if (!real || error == std::errc::invalid_argument || (suffix != "" && suffix != "f" && suffix != "F"))
    fail(token, fmt::format("'{}' is no number of type int, float or double", token.text));
  if (error == std::errc::result_out_of_range || (suffix != "" && std::isinf(static_cast<float>(value))))
    fail(token, fmt::format("number {} is outside of its type's range", token.text));
  operand.expression.kind = Expression::Kind::real;
  operand.expression.text = (negated ? "-" : "") + token.text;
  return operand;
}

Operand Parser::cast() {
  const Token& open = here();
  ++at_;
  const Token& type_token = here();
  const Specifiers s = specifiers();
  if (!here().is(")") || next().is("{"))
    refuse(type_token, "cast to " + s.symbol.type_name,
           "only casts to float, double and int are in the subset");
  ++at_;
  Operand operand = unary();
  if (operand.index && s.symbol.integer && s.symbol.unsupported.empty()) return operand;  // a width, no value
  if (!s.symbol.type)
    refuse(type_token, "cast to " + s.symbol.type_name,
           "only casts to float, double and int are in the subset");
  Expression whole;
  whole.kind = Expression::Kind::cast;
  whole.text = c_name(*s.symbol.type);
  whole.at = open.at;
  whole.operands = {std::move(operand.expression)};
  operand.expression = std::move(whole);
  operand.index = false;
  ++operand.height;
  check_height(operand, open);
  return operand;
}

Operand Parser::call() {
  const Token& token = here();
  const Function* function = functions_.count(token.text) ? nullptr : find_function(token.text);
  if (!function)
    refuse(token, "call of " + token.text,
           "only C's mathematical functions may be called; write its body in its place");
  at_ += 2;
  Operand operand;
  operand.index = function->result == Function::Result::as_arguments;
  std::vector<Expression> arguments;
  if (!here().is(")")) {
    do {
      Operand argument = expression();
      operand.height = std::max(operand.height, argument.height + 1);
      operand.index = operand.index && argument.index;
      arguments.push_back(std::move(argument.expression));
    } while (take(","));
  }
  expect(")", "after arguments");
  if (arguments.size() != static_cast<std::size_t>(function->arguments))
    refuse(token, fmt::format("call of {} with {} arguments", token.text, arguments.size()),
           fmt::format("it takes {}", function->arguments));
  check_height(operand, token);
  operand.expression = Expression::call(token.text, std::move(arguments));
  operand.expression.at = token.at;
  return operand;
}

Operand Parser::name() {
  const Token& token = here();
  Symbol* symbol = find(token.text);
  if (!symbol)
    refuse(token, "name " + token.text,
           "it is not declared; if it is a macro, define it or include its header");
  if (!symbol->unsupported.empty()) refuse(token, token.text, symbol->unsupported);
  ++at_;
  Operand operand;
  if (symbol->value) {
    operand.expression = *symbol->value;
    operand.index = symbol->integer;
    operand.height = 60;  // constant_of() allows no higher one
  } else if (!symbol->loop.empty()) {
    operand.expression = Expression::name(symbol->loop);
    operand.index = true;
  } else if (symbol->is_array) {
    operand = element(token, *symbol);
  } else {
    if (in_region_ && iterators_.count(token.text) && symbol->integer)
      refuse(token, "loop variable " + token.text + " outside of its loop",
             "its value is known within the loop only");
    if (is_size(*symbol, token.text)) {
      operand.index = true;
    } else if (!symbol->type) {
      refuse(token, fmt::format("variable {} of type {}", token.text, symbol->type_name),
             "values are of type float, double or int");
    }
    operand.expression = Expression::name(name_in_region(*symbol, token.text));
  }
  operand.expression.at = token.at;
  if (here().is("[")) refuse(token, "subscript of " + token.text, "it is no array");
  return operand;
}

Operand Parser::element(const Token& token, Symbol& symbol) {
  if (!symbol.type)
    refuse(token, fmt::format("array {} of type {}", token.text, symbol.type_name),
           "elements are of type float, double or int");
  Operand operand;
  std::vector<Expression> subscripts;
  while (subscripts.size() < symbol.extents.size() && take("[")) {
    Operand subscript = this->subscript();
    expect("]", "after a subscript");
    operand.height = std::max(operand.height, subscript.height + 1);
    subscripts.push_back(std::move(subscript.expression));
  }
  if (subscripts.size() < symbol.extents.size())
    refuse(token,
           fmt::format("{} with {} of {} subscripts", token.text, subscripts.size(), symbol.extents.size()),
           "arrays are used by their elements only");
  if (here().is("["))
    refuse(token, fmt::format("{} with more than {} subscripts", token.text, symbol.extents.size()),
           "it has no more dimensions");
  check_height(operand, token);
  operand.expression = Expression::element(name_in_region(symbol, token.text), std::move(subscripts));
  return operand;
}

/// An index, or an integer that memory holds: which element that is shows when it runs.
Operand Parser::subscript() {
  const std::size_t begin = at_;
  Operand operand = expression();
  if (operand.index || (in_region_ && type_of(region_, operand.expression) == ScalarType::int32))
    return operand;
  at_ = begin;
  return index("subscript");
}

Operand Parser::index(std::string_view what) {
  const Token& at = here();
  Operand operand = expression();
  if (!operand.index) {
    const std::string part = not_index(region_, operand.expression);
    refuse(at, fmt::format("{} {}", what, to_text(operand.expression)),
           fmt::format("{} is no loop variable, size or integer", part));
  }
  return operand;
}

}  // namespace warploom::tile
