#include "tile/sets/affine_expression.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warploom::tile {
namespace {

bool is_one_of(const std::string& text, std::initializer_list<std::string_view> choices) {
  return std::ranges::find(choices, text) != choices.end();
}

bool is_constant(const isl::pw_aff& value) { return isl_pw_aff_is_cst(value.get()) == isl_bool_true; }

class Reader {
 public:
  explicit Reader(const AffineScope& scope) : scope_(scope) {}

  isl::pw_aff value(const Expression& e) const {
    using Kind = Expression::Kind;
    switch (e.kind) {
      case Kind::integer:
        return constant(e.value);
      case Kind::real:
        fail(e, fmt::format("'{}' is no integer", e.text));
      case Kind::name:
        return variable(e);
      case Kind::element:
        fail(e, fmt::format("'{}' is read from an array: its value is not known before the nest runs",
                            to_text(e)));
      case Kind::unary:
        if (e.text == "!") return condition(e).indicator_function();
        return e.text == "-" ? value(e.operands[0]).neg() : value(e.operands[0]);
      case Kind::binary:
        return binary(e);
      case Kind::conditional:
        return condition(e.operands[0]).indicator_function().cond(value(e.operands[1]), value(e.operands[2]));
      case Kind::call:
        return call(e);
      case Kind::cast:
        if (e.text != c_name(ScalarType::int32)) fail(e, fmt::format("'{}' is no int", to_text(e)));
        return value(e.operands[0]);
    }
    fail(e, "unknown expression");
  }

  isl::set condition(const Expression& e) const {
    using Kind = Expression::Kind;
    if (e.kind == Kind::unary && e.text == "!") return unit().subtract(condition(e.operands[0]));
    if (e.kind != Kind::binary) return value(e).ne_set(constant(0));
    if (e.text == "&&") return condition(e.operands[0]).intersect(condition(e.operands[1]));
    if (e.text == "||") return condition(e.operands[0]).unite(condition(e.operands[1]));
    if (!is_comparison(e.text)) return value(e).ne_set(constant(0));
    const isl::pw_aff left = value(e.operands[0]), right = value(e.operands[1]);
    if (e.text == "<") return left.lt_set(right);
    if (e.text == "<=") return left.le_set(right);
    if (e.text == ">") return left.gt_set(right);
    if (e.text == ">=") return left.ge_set(right);
    return e.text == "==" ? left.eq_set(right) : left.ne_set(right);
  }

 private:
  [[noreturn]] static void fail(const Expression& e, std::string why) {
    throw NotAffine{e.at, std::move(why)};
  }
  static bool is_comparison(const std::string& op) {
    return is_one_of(op, {"<", "<=", ">", ">=", "==", "!="});
  }

  isl::set unit() const {
    return isl::manage(isl_set_universe(isl_space_params_alloc(isl::ctx(scope_.context).get(), 0)));
  }
  isl::pw_aff constant(std::int64_t value) const {
    return unit().pw_aff_on_domain(isl::val(scope_.context, value));
  }

  isl::pw_aff variable(const Expression& e) const {
    const auto known = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, e.text) != names.end();
    };
    if (known(scope_.loops) || known(scope_.region.sizes)) return unit().param_pw_aff_on_domain(e.text);
    if (find_variable(scope_.region, e.text))
      fail(e, fmt::format("'{}' is a variable whose value is not known before the nest runs", e.text));
    fail(e, fmt::format("'{}' is neither a loop around it nor a size", e.text));
  }

  isl::pw_aff binary(const Expression& e) const {
    if (is_comparison(e.text) || e.text == "&&" || e.text == "||") return condition(e).indicator_function();
    const isl::pw_aff left = value(e.operands[0]), right = value(e.operands[1]);
    if (e.text == "+") return left.add(right);
    if (e.text == "-") return left.sub(right);
    if (e.text == "*") {
      if (!is_constant(left) && !is_constant(right))
        fail(e, fmt::format("'{}' is a product of two variables, which is not affine", to_text(e)));
      return left.mul(right);
    }
    if (e.text == "/" || e.text == "%") {
      const isl::pw_aff by = divisor(e, right);
      return e.text == "/" ? left.tdiv_q(by) : left.tdiv_r(by);
    }
    fail(e, fmt::format("'{}' is not affine", to_text(e)));
  }

  isl::pw_aff divisor(const Expression& e, const isl::pw_aff& by) const {
    if (!is_constant(by) || !by.min_val().is_pos())
      fail(e, fmt::format("'{}' divides by what is no positive constant, which is not affine", to_text(e)));
    return by;
  }

  isl::pw_aff call(const Expression& e) const {
    const bool two = e.operands.size() == 2;
    if (two && is_one_of(e.text, {"min", "max"})) {
      const isl::pw_aff left = value(e.operands[0]), right = value(e.operands[1]);
      return e.text == "min" ? left.min(right) : left.max(right);
    }
    if (two && is_one_of(e.text, {"floord", "ceild"})) {
      const isl::pw_aff quotient = value(e.operands[0]).div(divisor(e, value(e.operands[1])));
      return e.text == "floord" ? quotient.floor() : quotient.ceil();
    }
    fail(e, fmt::format("'{}' calls a function that is not affine", to_text(e)));
  }

  const AffineScope& scope_;
};

}  // namespace

isl::pw_aff affine_value(const AffineScope& scope, const Expression& expression) {
  return Reader(scope).value(expression);
}

isl::set affine_condition(const AffineScope& scope, const Expression& expression) {
  return Reader(scope).condition(expression);
}

std::optional<LinearForm> linear_form(const isl::pw_aff& value, const std::vector<std::string>& names) {
  if (!value.isa_aff()) return std::nullopt;
  const isl::aff aff = value.as_aff();
  if (aff.involves_locals()) return std::nullopt;
  LinearForm form;
  for (const std::string& name : names) {
    const int at = isl_aff_find_dim_by_name(aff.get(), isl_dim_param, name.c_str());
    form.coefficients.push_back(
        at < 0 ? 0 : isl::manage(isl_aff_get_coefficient_val(aff.get(), isl_dim_param, at)).num_si());
  }
  form.constant = aff.constant_val().num_si();
  return form;
}

}  // namespace warploom::tile
