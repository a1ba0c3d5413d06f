// Which loop trees are contractions.
#include <algorithm>
#include <set>

#include "tile/c/simplify.hpp"
#include "tile/kernels/affine.hpp"
#include "tile/kernels/contraction.hpp"

namespace warploom::tile {
namespace {

using Kind = Expression::Kind;

std::vector<std::string> iterators(const std::vector<Node>& loops) {
  std::vector<std::string> names;
  for (const Node& loop : loops) names.push_back(loop.iterator);
  return names;
}

bool depends_on_any(const Expression& expression, const std::vector<Node>& loops) {
  return std::ranges::any_of(loops, [&](const Node& l) { return depends_on(expression, l.iterator); });
}
bool bounds_depend_on(const Node& loop, const std::vector<Node>& others) {
  return depends_on_any(loop.first, others) || depends_on_any(loop.limit, others);
}

Node without_children(Node loop) {
  loop.children.clear();
  return loop;
}

/// Enters loops that hold nothing but one child, as long as they are of this kind.
const Node* enter(const Node* node, bool parallel, std::vector<Node>& loops) {
  for (;;) {
    while (node->kind == Node::Kind::block && node->children.size() == 1) node = &node->children.front();
    if (node->kind != Node::Kind::loop || node->parallel != parallel) return node;
    loops.push_back(without_children(*node));
    if (node->children.size() != 1) return node;
    node = &node->children.front();
  }
}

template <typename Visit>
void for_each_element(const Expression& expression, const Visit& visit) {
  if (expression.kind == Kind::element) visit(expression);
  for (const Expression& operand : expression.operands) for_each_element(operand, visit);
}

Expression without_elements(Expression expression) {
  if (expression.kind == Kind::element) return Expression::integer(0);
  for (Expression& operand : expression.operands) operand = without_elements(std::move(operand));
  return expression;
}

/// Every name that is read: of variables, sizes and loops.
void collect_names(const Expression& expression, std::set<std::string>& names) {
  if (expression.kind == Kind::name || expression.kind == Kind::element) names.insert(expression.text);
  for (const Expression& operand : expression.operands) collect_names(operand, names);
}

Expression product(const std::vector<Expression>& factors) {
  if (factors.empty()) return Expression::integer(1);
  Expression result = factors.front();
  for (std::size_t f = 1; f < factors.size(); ++f) result = Expression::binary("*", result, factors[f]);
  return result;
}

struct Summand {
  bool negative = false;
  Expression value;
};
void collect_summands(const Expression& expression, bool negative, std::vector<Summand>& summands) {
  if (expression.kind != Kind::binary || (expression.text != "+" && expression.text != "-")) {
    summands.push_back({negative, expression});
    return;
  }
  collect_summands(expression.operands[0], negative, summands);
  collect_summands(expression.operands[1], negative != (expression.text == "-"), summands);
}

/// A product of what changes along the depth and what does not.
struct Term {
  bool negative = false;
  std::vector<Expression> constant, changing;
};

void collect_factors(const Expression& expression, const std::vector<Node>& depth, Term& term) {
  if (expression.kind == Kind::binary && expression.text == "*") {
    for (const Expression& operand : expression.operands) collect_factors(operand, depth, term);
  } else {
    (depends_on_any(expression, depth) ? term.changing : term.constant).push_back(expression);
  }
}

/// What all products of a sum have in common and does not change along the depth, and the products without
/// it: alpha * A * B + alpha * C * D is alpha times A * B and C * D. 1 where they have different things.
std::pair<Expression, std::vector<Node>> take_scale(const Expression& sum, const std::vector<Node>& depth) {
  std::vector<Summand> summands;
  collect_summands(sum, false, summands);
  std::vector<Term> terms;
  for (const Summand& summand : summands) {
    terms.push_back({summand.negative, {}, {}});
    collect_factors(summand.value, depth, terms.back());
  }
  const bool common = std::ranges::all_of(terms, [&](const Term& term) {
    return term.constant == terms.front().constant && !term.changing.empty();
  });
  std::vector<Node> products;
  for (Term& term : terms) {
    Node node;
    node.kind = Node::Kind::assignment;
    node.op = term.negative ? "-=" : "+=";
    if (!common) term.changing.insert(term.changing.begin(), term.constant.begin(), term.constant.end());
    node.value = product(term.changing);
    products.push_back(std::move(node));
  }
  return {common ? product(terms.front().constant) : Expression::integer(1), products};
}

/// Whether the expression is 0 where these elements are.
template <typename IsZero>
bool vanishes(const Expression& e, const IsZero& is_zero) {
  const auto part = [&](std::size_t i) { return vanishes(e.operands[i], is_zero); };
  switch (e.kind) {
    case Kind::element:
      return is_zero(e);
    case Kind::integer:
      return e.value == 0;
    case Kind::unary:
      return e.text != "!" && part(0);
    case Kind::cast:
      return part(0);
    case Kind::binary:
      if (e.text == "*") return part(0) || part(1);
      if (e.text == "/") return part(0);
      return (e.text == "+" || e.text == "-") && part(0) && part(1);
    case Kind::call:
      return (e.text == "fabs" || e.text == "fabsf" || e.text == "sqrt" || e.text == "sqrtf") && part(0);
    default:
      return false;
  }
}

/// Makes target += a - b of target = a + target - b and the like. False: it is neither += nor -=.
bool read_update(Node& assignment, bool keep_order) {
  if (assignment.kind != Node::Kind::assignment) return false;
  if (assignment.op != "=") return assignment.op == "+=" || assignment.op == "-=";
  std::vector<Summand> summands;
  collect_summands(assignment.value, false, summands);
  const auto own = std::ranges::find_if(summands, [&](const Summand& summand) {
    return !summand.negative && summand.value == assignment.target;
  });
  if (own == summands.end()) return false;
  summands.erase(own);
  if (summands.empty() || (keep_order && summands.size() > 1)) return false;
  const bool minus = summands.front().negative;
  assignment.op = minus ? "-=" : "+=";
  assignment.value = summands.front().value;
  for (std::size_t s = 1; s < summands.size(); ++s)
    assignment.value =
        Expression::binary(summands[s].negative == minus ? "+" : "-", assignment.value, summands[s].value);
  return true;
}

class Matcher {
 public:
  Matcher(const KernelRequest& request, const Node& tree, std::vector<Privatised> privatised)
      : request_(request),
        tree_(tree),
        privatised_(std::move(privatised)),
        names_{request.nest, request.parallel, {}, nullptr} {}

  std::optional<Contraction> run() {
    const Node* inside = enter(&tree_, true, parallel_);
    if (parallel_.size() < 2 || !regular(parallel_)) return std::nullopt;
    const bool several =
        inside->kind == Node::Kind::block || (inside->kind == Node::Kind::loop && inside->parallel);
    const std::vector<Node> body = several ? inside->children : std::vector<Node>{*inside};
    if (!read_body(body) || !read_term() || !read_private_variables()) return std::nullopt;
    for (std::size_t c = parallel_.size(); c-- > 0;)
      for (std::size_t r = parallel_.size(); r-- > 0;)
        if (r != c && take(r, c)) return found_;
    return std::nullopt;
  }

 private:
  static bool regular(const std::vector<Node>& loops) {
    return std::ranges::all_of(loops, [](const Node& loop) {
      return loop.step == 1 && (loop.comparison == "<" || loop.comparison == "<=");
    });
  }

  /// Statements, one reduction, statements.
  bool read_body(const std::vector<Node>& body) {
    bool seen = false;
    for (const Node& node : body) {
      if (node.kind == Node::Kind::assignment) {
        (seen ? found_.after : found_.before).push_back(node);
        continue;
      }
      if (seen || node.kind != Node::Kind::loop || node.parallel) return false;
      seen = true;
      std::vector<Node> loops;
      const Node* inside = enter(&node, false, loops);
      found_.update = *inside;
      if (!read_update(found_.update, !request_.options.reorder_reductions) || !regular(loops)) return false;
      found_.depth = loops.back();
      loops.pop_back();
      found_.outer = loops;
    }
    return seen;
  }

  std::vector<Node> summed() const {
    std::vector<Node> loops = found_.outer;
    loops.push_back(found_.depth);
    return loops;
  }

  /// What is summed reads nothing that the kernel writes.
  bool read_term() {
    const Expression& target = found_.update.target;
    const ScalarType to = type_of(names_, target), from = type_of(names_, found_.update.value);
    if (depends_on_any(target, summed()) || ((to == ScalarType::int32) != (from == ScalarType::int32)))
      return false;
    std::set<std::string> read, written = {target.text};
    collect_names(found_.update.value, read);
    for (const auto* statements : {&found_.before, &found_.after})
      for (const Node& statement : *statements) written.insert(statement.target.text);
    if (std::ranges::any_of(read, [&](const auto& name) { return written.contains(name); })) return false;
    found_.keeps_order = !request_.options.reorder_reductions;
    if (found_.keeps_order) {
      found_.scale = Expression::integer(1);
      found_.terms = {found_.update};
    } else {
      std::tie(found_.scale, found_.terms) = take_scale(found_.update.value, summed());
    }
    return true;
  }

  /// A thread keeps a copy for each iteration of the parallel loops: the variable must have one there.
  bool read_private_variables() {
    std::vector<const Expression*> expressions = {&found_.update.target};
    for (const auto* statements : {&found_.before, &found_.after})
      for (const Node& statement : *statements)
        expressions.insert(expressions.end(), {&statement.target, &statement.value});
    std::set<int> statements = {found_.update.statement};
    for (const auto* list : {&found_.before, &found_.after})
      for (const Node& statement : *list) statements.insert(statement.statement);
    for (const Privatised& variable : privatised_) {
      const bool here = std::ranges::any_of(variable.statements,
                                            [&](int statement) { return statements.contains(statement); });
      if (!here) continue;
      if (variable.is_array) return false;
      std::optional<Expression> only;
      bool one = true;
      const auto visit = [&](const auto& self, const Expression& e) -> void {
        if ((e.kind == Kind::element || e.kind == Kind::name) && e.text == variable.variable) {
          one = one && (!only || *only == e);
          only = e;
        }
        for (const Expression& operand : e.operands) self(self, operand);
      };
      for (const Expression* expression : expressions) visit(visit, *expression);
      if (!only) continue;
      const bool each = std::ranges::all_of(parallel_, [&](const Node& loop) {
        const auto& own = variable.loops;
        return std::ranges::find(own, loop.iterator) != own.end() || depends_on(*only, loop.iterator);
      });
      if (!one || !each) return false;
      found_.private_variables.push_back(variable);
    }
    // In the order of the source the statements before and after the sum are apart.
    return !found_.keeps_order || std::ranges::all_of(found_.private_variables, [&](const Privatised& p) {
      return p.variable == found_.update.target.text;
    });
  }

  /// Whether these parallel loops can be rows and columns.
  bool take(std::size_t r, std::size_t c) {
    const Node &rows = parallel_[r], &columns = parallel_[c];
    std::vector<Node> grid;
    for (std::size_t p = 0; p < parallel_.size(); ++p)
      if (p != r && p != c) grid.push_back(parallel_[p]);
    for (const Node& loop : grid)
      if (bounds_depend_on(loop, parallel_)) return false;
    if (!read_operands(rows.iterator, columns.iterator) || !shape_is_known(rows, columns)) return false;
    found_.rows = rows;
    found_.columns = columns;
    found_.grid = grid;
    return true;
  }

  bool read_operands(const std::string& row, const std::string& column) {
    found_.operands.clear();
    const std::vector<Node> depth = summed();
    bool good = true;
    for (const Node& term : found_.terms) {
      for_each_element(term.value, [&](const Expression& element) {
        const bool of_rows = depends_on(element, row), of_columns = depends_on(element, column);
        if (!depends_on_any(element, depth)) {
          good = good && !of_rows && !of_columns;  // the same for the whole block
          return;
        }
        std::vector<std::string> loops = iterators(depth);
        loops.insert(loops.end(), {row, column});
        good = good && of_rows != of_columns &&
               std::ranges::all_of(element.operands, [&](const Expression& subscript) {
                 return affine_in(subscript, loops).has_value();
               });
        const bool known = std::ranges::any_of(
            found_.operands, [&](const ContractionOperand& operand) { return operand.element == element; });
        if (!known) found_.operands.push_back({element, of_rows});
      });
      // Outside of subscripts the iterators themselves have no value in the sum.
      const Expression rest = without_elements(term.value);
      good = good && !depends_on_any(rest, depth) && !depends_on(rest, row) && !depends_on(rest, column);
    }
    for (const bool of_rows : {true, false})
      good = good && std::ranges::any_of(found_.operands, [&](const ContractionOperand& operand) {
               return operand.of_rows == of_rows;
             });
    return good && terms_vanish([&](const Expression& e) { return depends_on_any(e, depth); });
  }

  template <typename IsZero>
  bool terms_vanish(const IsZero& is_zero) const {
    return std::ranges::all_of(found_.terms, [&](const Node& term) { return vanishes(term.value, is_zero); });
  }

  /// Boxes around what the block computes have to be made of elements that are there: at most one bound of
  /// columns depends on rows (or the other way round), or else at most one of the depth on either.
  bool shape_is_known(const Node& rows, const Node& columns) const {
    const auto count = [](const Node& loop, const std::string& by) {
      return int{depends_on(loop.first, by)} + int{depends_on(loop.limit, by)};
    };
    const Node& depth = found_.depth;
    const int between = count(columns, rows.iterator) + count(rows, columns.iterator);
    const int by_rows = count(depth, rows.iterator), by_columns = count(depth, columns.iterator);
    if (between + by_rows + by_columns > 1) return false;
    for (const Node& loop : found_.outer)
      if (count(loop, rows.iterator) + count(loop, columns.iterator) > 0) return false;
    if (by_rows + by_columns == 0) return true;
    // Where the depth ends early an operand is zero, which has to make the term zero.
    return terms_vanish([&](const Expression& element) {
      return depends_on(element, by_rows ? rows.iterator : columns.iterator) &&
             depends_on_any(element, summed());
    });
  }

  const KernelRequest& request_;
  const Node& tree_;
  std::vector<Privatised> privatised_;
  CudaNames names_;
  std::vector<Node> parallel_;
  Contraction found_;
};

/// The two outermost parallel loops as one, if every array that either of them indexes is indexed
/// [outer][inner] by them first and the inner one runs through the whole extent: what is A[r][q][s] becomes
/// A[0][r_q][s], the same element.
class Merger {
 public:
  explicit Merger(const KernelRequest& request)
      : request_(request),
        names_{request.nest, request.parallel, {}, nullptr},
        privatised_(request.parallel.privatised) {}

  std::optional<Contraction> run() {
    Node tree = request_.tree;
    if (tree.kind != Node::Kind::loop || tree.children.size() != 1) return std::nullopt;
    const Node inner = tree.children.front();
    if (inner.kind != Node::Kind::loop || !starts_at_0(tree) || !starts_at_0(inner)) return std::nullopt;
    outer_ = tree.iterator;
    inner_ = inner.iterator;
    extent_ = inner.limit;
    if (depends_on(inner.limit, outer_)) return std::nullopt;
    merged_ = free_name(names_, outer_ + "_" + inner_);
    tree.iterator = merged_;
    tree.limit = simplified(Expression::binary("*", tree.limit, inner.limit));
    tree.children = inner.children;
    for (Node& child : tree.children)
      if (!rewrite(child)) return std::nullopt;
    for (Privatised& variable : privatised_) {
      const auto outer = std::ranges::find(variable.loops, outer_);
      const auto both = std::ranges::find(variable.loops, inner_);
      if ((outer == variable.loops.end()) != (both == variable.loops.end())) return std::nullopt;
      if (outer == variable.loops.end()) continue;
      *outer = merged_;
      variable.loops.erase(both);
    }
    std::optional<Contraction> found = Matcher(request_, tree, privatised_).run();
    if (found && found->rows.iterator == merged_) found->merged = {outer_, inner_};
    return found && !found->merged.empty() ? found : std::nullopt;
  }

 private:
  static bool starts_at_0(const Node& loop) {
    return loop.parallel && loop.step == 1 && loop.comparison == "<" && loop.first == Expression::integer(0);
  }

  bool rewrite(Node& node) {
    if (node.kind == Node::Kind::branch) return false;
    if (node.kind == Node::Kind::loop && !(rewrite(node.first) && rewrite(node.limit))) return false;
    if (node.kind == Node::Kind::assignment && !(rewrite(node.target) && rewrite(node.value))) return false;
    return std::ranges::all_of(node.children, [this](Node& child) { return rewrite(child); });
  }

  bool rewrite(Expression& e) {
    if (e.kind == Kind::name) return e.text != outer_ && e.text != inner_;
    auto first = e.operands.begin();
    if (e.kind == Kind::element && e.operands.size() > 1 && e.operands[0] == Expression::name(outer_) &&
        e.operands[1] == Expression::name(inner_) && shape_of(names_, e.text).extents.at(1) == extent_) {
      e.operands[0] = Expression::integer(0);
      e.operands[1] = Expression::name(merged_);
      first += 2;
    }
    return std::all_of(first, e.operands.end(), [this](Expression& operand) { return rewrite(operand); });
  }

  const KernelRequest& request_;
  CudaNames names_;
  std::vector<Privatised> privatised_;
  std::string outer_, inner_, merged_;
  Expression extent_;
};

}  // namespace

std::optional<Contraction> match_contraction(const KernelRequest& request) {
  if (std::optional<Contraction> found = Merger(request).run()) return found;
  return Matcher(request, request.tree, request.parallel.privatised).run();
}

}  // namespace warploom::tile
