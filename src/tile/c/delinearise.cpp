#include "tile/c/delinearise.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "tile/c/predicate.hpp"
#include "tile/c/simplify.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;
constexpr std::size_t kMostTerms = 64;

/// Factors in the order of their texts: names, and parts that are not multiplied out (i / 2, n + 1).
using Monomial = std::vector<std::string>;
struct PolynomialTerm {
  Monomial factors;
  std::int64_t coefficient = 0;
};
using Polynomial = std::vector<PolynomialTerm>;  // in the order of the text, no term twice

struct TooLarge {};

void add_term(Polynomial& to, const Monomial& factors, std::int64_t coefficient) {
  const auto same = std::ranges::find(to, factors, &PolynomialTerm::factors);
  if (same == to.end()) {
    if (to.size() == kMostTerms) throw TooLarge{};
    if (coefficient != 0) to.push_back({factors, coefficient});
  } else if (__builtin_add_overflow(same->coefficient, coefficient, &same->coefficient)) {
    throw TooLarge{};
  } else if (same->coefficient == 0) {
    to.erase(same);
  }
}

/// What is left of a product without these factors. @return nothing if they are not all in it
std::optional<Monomial> without_factors(const Monomial& product, const Monomial& by) {
  Monomial rest = product;
  for (const std::string& factor : by) {
    const auto found = std::ranges::find(rest, factor);
    if (found == rest.end()) return std::nullopt;
    rest.erase(found);
  }
  return rest;
}

class Shapes {
 public:
  explicit Shapes(Region& region) : region_(region), sizes_(region.sizes.begin(), region.sizes.end()) {}

  std::vector<ProductOfSizes> run() {
    std::map<std::string, std::vector<Expression*>> elements;
    collect(region_.body, elements);
    for (Variable& variable : region_.variables) {
      if (variable.extents.empty() || !elements.count(variable.name)) continue;
      try {
        shape(variable, elements.at(variable.name));
      } catch (const TooLarge&) {  // stays flat
      }
    }
    replace_products(region_.body);
    for (std::size_t v = 0; v < region_.variables.size(); ++v)
      for (Expression& extent : region_.variables[v].extents) replace_products(extent);
    return std::move(made_);
  }

 private:
  static void collect(Expression& e, std::map<std::string, std::vector<Expression*>>& to) {
    if (e.kind == Kind::element) to[e.text].push_back(&e);
    for (Expression& operand : e.operands) collect(operand, to);
  }
  static void collect(Node& node, std::map<std::string, std::vector<Expression*>>& to) {
    for (Expression* e : {&node.first, &node.limit, &node.condition, &node.target, &node.value})
      collect(*e, to);
    for (Node& child : node.children) collect(child, to);
  }

  bool has_loops(const Expression& e) const {
    if (e.kind == Kind::name) return !sizes_.count(e.text);
    return std::ranges::any_of(e.operands, [&](const Expression& o) { return has_loops(o); });
  }
  bool has_loops(const Monomial& factors) const {
    return std::ranges::any_of(factors, [&](const std::string& f) { return has_loops(parts_.at(f)); });
  }
  bool has_loops(const Polynomial& p) const {
    return std::ranges::any_of(p, [&](const PolynomialTerm& t) { return has_loops(t.factors); });
  }

  Polynomial part(const Expression& e) {
    const std::string text = to_text(e);
    parts_.emplace(text, e);
    Polynomial p;
    add_term(p, {text}, 1);
    return p;
  }

  Polynomial polynomial(const Expression& e) {
    Polynomial p;
    if (e.kind == Kind::integer) {
      add_term(p, {}, e.value);
      return p;
    }
    if (e.kind == Kind::unary && (e.text == "-" || e.text == "+")) {
      for (const PolynomialTerm& t : polynomial(e.operands[0])) {
        std::int64_t value = t.coefficient;
        if (e.text == "-" && __builtin_sub_overflow(std::int64_t{0}, value, &value)) throw TooLarge{};
        add_term(p, t.factors, value);
      }
      return p;
    }
    if (e.kind != Kind::binary || (e.text != "+" && e.text != "-" && e.text != "*")) return part(e);
    Polynomial left = polynomial(e.operands[0]), right = polynomial(e.operands[1]);
    if (e.text != "*") {
      p = std::move(left);
      for (const PolynomialTerm& t : right) {
        std::int64_t value = t.coefficient;
        if (e.text == "-" && __builtin_sub_overflow(std::int64_t{0}, value, &value)) throw TooLarge{};
        add_term(p, t.factors, value);
      }
      return p;
    }
    // i * (n + 1): rows of n + 1 elements
    const auto is_pitch = [&](const Polynomial& sum, const Polynomial& other) {
      return sum.size() > 1 && !has_loops(sum) && has_loops(other);
    };
    if (is_pitch(left, right)) left = part(e.operands[0]);
    if (is_pitch(right, left)) right = part(e.operands[1]);
    for (const PolynomialTerm& a : left)
      for (const PolynomialTerm& b : right) {
        Monomial factors = a.factors;
        factors.insert(factors.end(), b.factors.begin(), b.factors.end());
        std::ranges::sort(factors);
        std::int64_t value = 0;
        if (__builtin_mul_overflow(a.coefficient, b.coefficient, &value)) throw TooLarge{};
        add_term(p, factors, value);
      }
    return p;
  }

  Expression product(const Monomial& factors) const {
    Expression whole = Expression::integer(1);
    bool first = true;
    for (const std::string& factor : factors) {
      const Expression& e = parts_.at(factor);
      whole = first ? e : Expression::binary("*", std::move(whole), e);
      first = false;
    }
    return whole;
  }

  Expression expression(const Polynomial& p, Position at) const {
    Expression sum = Expression::integer(0);
    for (const PolynomialTerm& t : p) {
      Expression term = product(t.factors);
      if (t.factors.empty())
        term = Expression::integer(t.coefficient);
      else if (t.coefficient != 1)
        term = Expression::binary("*", Expression::integer(t.coefficient), std::move(term));
      sum = sum == Expression::integer(0) ? std::move(term)
                                          : Expression::binary("+", std::move(sum), std::move(term));
    }
    sum = simplified(sum);
    sum.at = at;
    return sum;
  }

  bool is_linear(const Polynomial& p) const {
    return std::ranges::all_of(
        p, [&](const PolynomialTerm& t) { return t.factors.size() <= 1 || !has_loops(t.factors); });
  }

  /// Products of sizes that multiply a loop somewhere, the longest first. @return empty: no rows, or not such
  /// that each is a multiple of the next
  std::vector<Monomial> pitches(const std::vector<Polynomial>& subscripts) const {
    std::set<Monomial> found;
    for (const Polynomial& p : subscripts)
      for (const PolynomialTerm& t : p) {
        Monomial of_sizes;
        std::size_t loops = 0;
        for (const std::string& factor : t.factors) {
          if (has_loops(parts_.at(factor)))
            ++loops;
          else
            of_sizes.push_back(factor);
        }
        if (loops > 1) return {};
        if (loops == 1 && !of_sizes.empty()) found.insert(of_sizes);
      }
    std::vector<Monomial> all(found.begin(), found.end());
    std::ranges::stable_sort(all, [](const Monomial& a, const Monomial& b) { return a.size() > b.size(); });
    for (std::size_t k = 0; k + 1 < all.size(); ++k)
      if (all[k].size() == all[k + 1].size() || !without_factors(all[k], all[k + 1])) return {};
    return all;
  }

  /// Whether a subscript is below 0 whatever its loops do, from 0 on.
  bool is_negative(const Polynomial& p) const {
    std::int64_t constant = 0;
    for (const PolynomialTerm& t : p) {
      if (t.factors.empty())
        constant = t.coefficient;
      else if (t.coefficient > 0)
        return false;
    }
    return constant < 0;
  }

  void shape(Variable& variable, const std::vector<Expression*>& elements) {
    results_.clear();
    std::vector<Polynomial> subscripts;
    for (const Expression* element : elements) {
      // What memory holds may be past the end of a row.
      if (element->operands.size() != variable.extents.size() || reads_data(region_, element->operands[0]))
        return;
      subscripts.push_back(polynomial(element->operands[0]));
    }
    if (std::ranges::all_of(subscripts, [&](const Polynomial& p) { return is_linear(p); })) return;
    const std::vector<Monomial> rows = pitches(subscripts);
    if (rows.empty()) return;
    std::vector<Expression> extents;
    if (variable.extents[0] == Expression::name("")) {
      extents.push_back(variable.extents[0]);
    } else {
      Polynomial outer;
      for (const PolynomialTerm& t : polynomial(variable.extents[0])) {
        const auto rest = without_factors(t.factors, rows[0]);
        if (!rest) return;
        add_term(outer, *rest, t.coefficient);
      }
      extents.push_back(expression(outer, variable.at));
    }
    for (std::size_t k = 0; k < rows.size(); ++k) {
      extents.push_back(product(k + 1 < rows.size() ? *without_factors(rows[k], rows[k + 1]) : rows[k]));
      extents.back().at = variable.at;
    }
    extents.insert(extents.end(), variable.extents.begin() + 1, variable.extents.end());
    for (std::size_t s = 0; s < elements.size(); ++s) {
      std::vector<Polynomial> split(rows.size() + 1);
      for (const PolynomialTerm& t : subscripts[s]) {
        std::size_t k = 0;
        Monomial rest = t.factors;
        for (; k < rows.size(); ++k)
          if (const auto found = without_factors(t.factors, rows[k])) {
            rest = *found;
            break;
          }
        add_term(split[k], rest, t.coefficient);
      }
      for (std::size_t k = rows.size(); k > 0; --k) {
        if (!is_negative(split[k])) continue;  // (i + 1) * n - 1 is the end of row i
        add_term(split[k - 1], {}, -1);
        for (const PolynomialTerm& t : polynomial(extents[k])) add_term(split[k], t.factors, t.coefficient);
      }
      if (!std::ranges::all_of(split, [&](const Polynomial& p) { return is_linear(p); })) throw TooLarge{};
      const Position at = elements[s]->operands[0].at;
      std::vector<Expression> operands;
      for (const Polynomial& p : split) operands.push_back(expression(p, at));
      operands.insert(operands.end(), elements[s]->operands.begin() + 1, elements[s]->operands.end());
      results_.push_back(std::move(operands));
    }
    for (std::size_t s = 0; s < elements.size(); ++s) elements[s]->operands = std::move(results_[s]);
    results_.clear();
    variable.extents = std::move(extents);
    std::string shape = variable.name + "[]";
    for (std::size_t k = 1; k < variable.extents.size(); ++k)
      shape += "[" + to_text(variable.extents[k]) + "]";
    region_.remarks.push_back(fmt::format("{} is read as {}", variable.name, shape));
  }

  /// Where a sum has products of sizes alone.
  void replace_products(Expression& e) {
    if (e.kind == Kind::binary && e.text == "*" && !e.operands.empty()) {
      try {
        const Polynomial p = polynomial(e);
        const bool of_sizes = !has_loops(p) && std::ranges::all_of(p, [](const PolynomialTerm& t) {
          return std::ranges::all_of(t.factors, [](const std::string& f) {
            return f.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
                   f.npos;
          });
        });
        if (of_sizes &&
            std::ranges::any_of(p, [](const PolynomialTerm& t) { return t.factors.size() > 1; })) {
          Polynomial replaced;
          for (const PolynomialTerm& t : p) {
            if (t.factors.size() < 2) {
              add_term(replaced, t.factors, t.coefficient);
              continue;
            }
            const std::string name = size_for(t.factors, e.at);
            parts_.emplace(name, Expression::name(name));
            add_term(replaced, {name}, t.coefficient);
          }
          e = expression(replaced, e.at);
          return;
        }
      } catch (const TooLarge&) {  // not affine, which is told where it is used
      }
    }
    for (Expression& operand : e.operands) replace_products(operand);
  }
  void replace_products(Node& node) {
    for (Expression* e : {&node.first, &node.limit, &node.condition}) replace_products(*e);
    for (Expression* e : {&node.target, &node.value}) replace_in_subscripts(*e);
    for (Node& child : node.children) replace_products(child);
  }
  void replace_in_subscripts(Expression& e) {
    if (e.kind == Kind::element)
      for (Expression& subscript : e.operands) replace_products(subscript);
    else
      for (Expression& operand : e.operands) replace_in_subscripts(operand);
  }

  std::string size_for(const Monomial& factors, Position at) {
    const std::string text = fmt::format("{}", fmt::join(factors, " * "));
    if (const auto known = products_.find(text); known != products_.end()) return known->second;
    std::string name = fmt::format("{}", fmt::join(factors, "_"));
    while (find_variable(region_, name) || sizes_.count(name)) name += "_";
    bool wide = false;
    for (const std::string& factor : factors) {
      const auto declared = region_.size_declarations.find(factor);
      wide = wide || (declared != region_.size_declarations.end() && declared->second.wider_than_int);
    }
    region_.sizes.push_back(name);
    region_.size_declarations[name] = {wide ? "long" : "int", wide, at};
    region_.parameters.push_back(name);
    region_.remarks.push_back(fmt::format("{} stands for {}", name, text));
    sizes_.insert(name);
    products_[text] = name;
    made_.push_back({name, factors});
    return name;
  }

  Region& region_;
  std::set<std::string> sizes_;
  std::map<std::string, Expression> parts_;
  std::map<std::string, std::string> products_;
  std::vector<ProductOfSizes> made_;
  std::vector<std::vector<Expression>> results_;
};

}  // namespace

std::vector<ProductOfSizes> delinearise(Region& region) { return Shapes(region).run(); }

}  // namespace warploom::tile
