// Times to loops, through isl's AST generator.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "tile/c/predicate.hpp"
#include "tile/c/simplify.hpp"
#include "tile/order/later.hpp"
#include "tile/order/schedule.hpp"
#include "tile/order/write_out.hpp"
#include "tile/sets/flags.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

/// What is known of a loop when isl makes it, kept until its tree is read.
struct LoopFacts {
  std::string name;
  bool parallel = false;
  bool decreasing = false;  ///< the loop runs over -i
  std::int64_t strip = 0;   ///< jammed: within strips of so many iterations
  std::vector<Reduction> reductions;
};

/// Conditions that "&&" joins.
void split_conjunction(const Expression& condition, std::vector<Expression>& parts) {
  if (condition.kind != Expression::Kind::binary || condition.text != "&&") {
    parts.push_back(condition);
    return;
  }
  for (const Expression& operand : condition.operands) split_conjunction(operand, parts);
}

class Generator {
 public:
  Generator(const Schedule::Impl& schedule, const std::vector<Carried>& relations)
      : schedule_(schedule), polyhedra_(schedule.nest.polyhedra()), relations_(relations) {
    for (const Variable& variable : polyhedra_.region.variables) taken_.insert(variable.name);
    for (const std::string& size : polyhedra_.region.sizes) taken_.insert(size);
  }

  /// What stands one after the other on the outside is generated one by one: isl would compare all with all.
  Node run() {
    std::map<std::int64_t, std::vector<int>> parts;
    for (int s = 0; s < static_cast<int>(schedule_.times.size()); ++s) {
      const std::vector<TimeDimension>& times = schedule_.times[s];
      const bool is_position = !times.empty() && times.front().kind == TimeDimension::Kind::position;
      parts[is_position ? times.front().value : 0].push_back(s);
    }
    Node block;
    for (const auto& [position, statements] : parts) append_part(statements, block.children);
    if (spoiled_) {
      all_values_ = true;
      block.children.clear();
      for (const auto& [position, statements] : parts) append_part(statements, block.children);
    }
    write_out_strips(block, schedule_.nest);
    return block;
  }

  std::vector<Expression> conditions_on_sizes() {
    const isl::set any = isl::manage(isl_set_universe(isl_set_get_space(polyhedra_.parameters.get())));
    isl_ast_build* build = isl_ast_build_from_context(any.copy());
    isl_ast_expr* all = isl_ast_build_expr_from_set(build, polyhedra_.parameters.coalesce().release());
    isl_ast_build_free(build);
    if (!all) throw Internal("isl could not write what is known of the sizes");
    std::vector<Expression> conditions;
    split_conjunction(read(all), conditions);
    std::erase(conditions, Expression::integer(1));
    return conditions;
  }

 private:
  void append_part(const std::vector<int>& statements, std::vector<Node>& to) {
    const std::size_t length = time_length(schedule_);
    isl_union_map* times = nullptr;
    for (const int s : statements) {
      isl::map of_statement = time_map(s, length);
      if (all_values_) of_statement = for_all_values_of_flags(of_statement, polyhedra_);
      isl_union_map* one = isl_union_map_from_map(of_statement.copy());
      times = times ? isl_union_map_union(times, one) : one;
    }
    isl_ast_build* build = isl_ast_build_from_context(
        all_values_ ? polyhedra_.parameters.copy()
                    : polyhedra_.parameters.intersect(values_of_flags(polyhedra_)).release());
    build = isl_ast_build_set_before_each_for(build, &Generator::before_each_for, this);
    isl_ast_node* tree = isl_ast_build_node_from_schedule_map(build, times);
    isl_ast_build_free(build);
    if (failure_) std::rethrow_exception(failure_);
    if (!tree) throw Internal("isl could not generate loops for a schedule");
    const isl::ast_node owner = isl::manage(tree);
    append(tree, to, taken_);
  }

  const TimeDimension& component(int statement, std::size_t d) const {
    static const TimeDimension padding;
    const std::vector<TimeDimension>& times = schedule_.times[statement];
    return d < times.size() ? times[d] : padding;
  }

  /// S0[i, j] -> [t0, t1, ...]
  isl::map time_map(int statement, std::size_t length) const {
    const isl::set& domain = polyhedra_.sets[statement].domain;
    const isl::aff zero = isl::aff::zero_on_domain(domain.space());
    std::vector<isl::aff> functions;
    for (std::size_t d = 0; d < length; ++d) {
      const TimeDimension& time = component(statement, d);
      functions.push_back(time.aff ? *time.aff : zero.add_constant(isl::val(zero.ctx(), time.value)));
    }
    return onto(domain, functions);
  }

  /// Comparisons of flags (flags.hpp) say which of them are 0. What else names one is true of 0 and 1 alone.
  Expression asking_flags(Expression condition) {
    if (all_values_) return condition;
    if (condition.kind == Expression::Kind::binary && (condition.text == "&&" || condition.text == "||")) {
      for (Expression& operand : condition.operands) operand = asking_flags(std::move(operand));
      return condition;
    }
    std::vector<std::string> asked;
    for (const std::string& flag : polyhedra_.flags)
      if (names(condition, flag)) asked.push_back(flag);
    if (asked.empty()) return condition;
    std::optional<Expression> any;
    for (unsigned which = 0; which < 1u << asked.size(); ++which) {
      std::map<std::string, std::int64_t> values;
      std::optional<Expression> all;
      for (std::size_t k = 0; k < asked.size(); ++k) {
        values[asked[k]] = which >> k & 1u;
        Expression one = Expression::binary(values[asked[k]] ? "!=" : "==", Expression::name(asked[k]),
                                            Expression::integer(0));
        all = all ? Expression::binary("&&", std::move(*all), std::move(one)) : std::move(one);
      }
      const std::optional<bool> holds = compare(condition, values);
      if (!holds) spoiled_ = true;
      if (holds.value_or(false))
        any = any ? Expression::binary("||", std::move(*any), std::move(*all)) : std::move(*all);
    }
    if (!any) spoiled_ = true;
    return any.value_or(condition);
  }
  static std::optional<bool> compare(const Expression& comparison,
                                     const std::map<std::string, std::int64_t>& values) {
    if (comparison.kind != Expression::Kind::binary) return std::nullopt;
    try {
      const std::int64_t a = value_of(comparison.operands[0], values),
                         b = value_of(comparison.operands[1], values);
      if (comparison.text == "==") return a == b;
      if (comparison.text == "<=") return a <= b;
      if (comparison.text == "<") return a < b;
      if (comparison.text == ">=") return a >= b;
      if (comparison.text == ">") return a > b;
    } catch (const BadInput&) {  // other names in it
    }
    return std::nullopt;
  }

  static isl_id* before_each_for(isl_ast_build* build, void* self) {
    auto* generator = static_cast<Generator*>(self);
    try {
      generator->facts_.push_back(generator->facts(build));
      return isl_id_alloc(isl_ast_build_get_ctx(build), "loop", &generator->facts_.back());
    } catch (...) {
      generator->failure_ = std::current_exception();
      return nullptr;
    }
  }

  LoopFacts facts(isl_ast_build* build) const {
    const isl::union_map outer = isl::manage(isl_ast_build_get_schedule(build));
    std::vector<isl::map> times(schedule_.times.size());
    std::vector<bool> inside(schedule_.times.size(), false);
    unsigned depth = 0;
    outer.foreach_map([&](isl::map map) {
      const int s = statement(isl_map_get_tuple_name(map.get(), isl_dim_in));
      times[s] = map;
      inside[s] = true;
      depth = static_cast<unsigned>(isl_map_dim(map.get(), isl_dim_out));
    });
    LoopFacts facts;
    facts.parallel = true;
    std::optional<std::size_t> place;  // of the times that the loop runs over, where only one can be
    for (std::size_t s = 0; s < times.size() && facts.name.empty(); ++s) {
      const TimeDimension* dimension = inside[s] ? dimension_of(times[s], static_cast<int>(s)) : nullptr;
      if (!dimension) continue;
      place = only_place(*dimension, schedule_.times[s]);
      facts.name = dimension->name;
      facts.decreasing = is_negated_iterator(*dimension, polyhedra_.sets[s].domain);
      if (dimension->kind == TimeDimension::Kind::loop) facts.strip = dimension->jammed;
    }
    for (const auto& [relation, dependence, reduction] : relations_) {
      const int source = statement(isl_map_get_tuple_name(relation.get(), isl_dim_in));
      const int sink = statement(isl_map_get_tuple_name(relation.get(), isl_dim_out));
      if (!inside[source] || !inside[sink]) continue;
      if (place && dependence && surely_not_carried(*dependence, *place)) continue;
      isl_map* in_time = isl_map_apply_range(isl_map_apply_domain(relation.copy(), times[source].copy()),
                                             times[sink].copy());
      for (unsigned d = 0; d + 1 < depth; ++d)
        in_time = isl_map_equate(in_time, isl_dim_in, static_cast<int>(d), isl_dim_out, static_cast<int>(d));
      const isl::map same_iteration =
          isl::manage(isl_map_equate(isl_map_copy(in_time), isl_dim_in, static_cast<int>(depth) - 1,
                                     isl_dim_out, static_cast<int>(depth) - 1));
      if (isl::manage(in_time).is_subset(same_iteration)) continue;
      if (!reduction) {
        facts.parallel = false;
        break;
      }
      if (std::ranges::none_of(facts.reductions,
                               [&](const Reduction& r) { return r.variable == reduction->variable; }))
        facts.reductions.push_back(*reduction);
    }
    if (!facts.parallel) facts.reductions.clear();
    return facts;
  }

  static std::optional<std::size_t> only_place(const TimeDimension& dimension,
                                               const std::vector<TimeDimension>& times) {
    const auto same = [&](const TimeDimension& other) {
      return other.aff && isl_aff_plain_is_equal(other.aff->get(), dimension.aff->get()) == isl_bool_true;
    };
    if (std::ranges::count_if(times, same) != 1) return std::nullopt;
    return static_cast<std::size_t>(&dimension - times.data());
  }

  /// Whether bounds of distances are enough to see that no pair that is in one iteration of the loops around
  /// is in two of this one.
  bool surely_not_carried(const Dependence& dependence, std::size_t loop) const {
    const Later later(polyhedra_, dependence);
    for (std::size_t d = 0; d <= loop; ++d) {
      const LaterBy by = later.of(component(dependence.source, d), component(dependence.sink, d));
      if (d == loop) return by.least && by.most && *by.least == 0 && *by.most == 0;
      if ((by.least && *by.least > 0) || (by.most && *by.most < 0)) return true;
    }
    return false;
  }

  /// What the loop runs over, of a statement's times. isl's partial schedule has one component for each loop
  /// so far: it leaves out components that outer ones determine, positions and loops of one iteration. So the
  /// last is known by its function.
  const TimeDimension* dimension_of(const isl::map& outer, int s) const {
    const auto loops = static_cast<unsigned>(isl_map_dim(outer.get(), isl_dim_out));
    const isl::map last = isl::manage(isl_map_project_out(outer.copy(), isl_dim_out, 0, loops - 1));
    for (const TimeDimension& dimension : schedule_.times[s]) {
      if (dimension.kind == TimeDimension::Kind::position) continue;
      isl_map* function = isl_map_from_aff(dimension.aff->copy());
      if (last.is_subset(isl::manage(isl_map_reset_tuple_id(function, isl_dim_out)))) return &dimension;
    }
    return nullptr;
  }

  static bool is_negated_iterator(const TimeDimension& dimension, const isl::set& domain) {
    if (dimension.kind != TimeDimension::Kind::loop) return false;
    const auto loops = static_cast<int>(isl_set_dim(domain.get(), isl_dim_set));
    for (int d = 0; d < loops; ++d)
      if (isl_aff_plain_is_equal(dimension.aff->get(), iterator_aff(domain, d).neg().get()) == isl_bool_true)
        return true;
    return false;
  }

  int statement(const char* label) const {
    for (const Statement& statement : polyhedra_.statements)
      if (statement.label == label) return statement.number;
    throw Internal(fmt::format("no statement is called '{}'", label));
  }

  /// isl's names (c0, c1, ...) give way to ours.
  std::string free_name(const std::string& wanted, const std::set<std::string>& taken) const {
    const std::string base = wanted.empty() ? "c" : wanted;
    std::string name = base;
    for (int n = 1; taken.count(name); ++n) name = fmt::format("{}{}", base, n);
    return name;
  }

  void append(isl_ast_node* node, std::vector<Node>& to, const std::set<std::string>& taken) {
    switch (isl_ast_node_get_type(node)) {
      case isl_ast_node_for:
        append_loop(node, to, taken);
        break;
      case isl_ast_node_if:
        append_branch(node, to, taken);
        break;
      case isl_ast_node_block: {
        const isl::ast_node_list list = isl::manage(isl_ast_node_block_get_children(node));
        const int count = isl_ast_node_list_n_ast_node(list.get());
        for (int k = 0; k < count; ++k) {
          const isl::ast_node child = isl::manage(isl_ast_node_list_get_ast_node(list.get(), k));
          append(child.get(), to, taken);
        }
        break;
      }
      case isl_ast_node_user:
        append_statement(node, to);
        break;
      case isl_ast_node_mark: {
        const isl::ast_node child = isl::manage(isl_ast_node_mark_get_node(node));
        append(child.get(), to, taken);
        break;
      }
      case isl_ast_node_error:
        throw Internal("isl gave a broken tree");
    }
  }

  void append_loop(isl_ast_node* node, std::vector<Node>& to, std::set<std::string> taken) {
    const isl::id annotation = isl::manage(isl_ast_node_get_annotation(node));
    const auto& facts = *static_cast<const LoopFacts*>(isl_id_get_user(annotation.get()));
    const isl::ast_expr iterator = isl::manage(isl_ast_node_for_get_iterator(node));
    const std::string isl_name = name_of(iterator.get());
    const isl::ast_node body = isl::manage(isl_ast_node_for_get_body(node));
    const Expression first = read(isl_ast_node_for_get_init(node));
    if (isl_ast_node_for_is_degenerate(node) == isl_bool_true) {
      iterators_[isl_name] = first;
      append(body.get(), to, taken);
      return;
    }
    Node loop;
    loop.kind = Node::Kind::loop;
    loop.iterator = free_name(facts.name, taken);
    loop.parallel = facts.parallel;
    loop.strip = facts.strip;
    loop.reductions = facts.reductions;
    taken.insert(loop.iterator);
    const isl::ast_expr condition = isl::manage(isl_ast_node_for_get_cond(node));
    const bool below = isl_ast_expr_get_op_type(condition.get()) == isl_ast_expr_op_lt;
    loop.comparison = "<";
    loop.first = first;
    loop.limit = read(isl_ast_expr_get_op_arg(condition.get(), 1));
    if (!below) loop.limit = plus_one(loop.limit);
    loop.step = read(isl_ast_node_for_get_inc(node)).value;
    if (facts.decreasing) {
      loop.first = negated(loop.first);
      loop.limit = negated(loop.limit);
      loop.comparison = ">";
      loop.step = -loop.step;
      iterators_[isl_name] = negated(Expression::name(loop.iterator));
    } else {
      iterators_[isl_name] = Expression::name(loop.iterator);
    }
    append(body.get(), loop.children, taken);
    to.push_back(std::move(loop));
  }

  void append_branch(isl_ast_node* node, std::vector<Node>& to, const std::set<std::string>& taken) {
    Node branch;
    branch.kind = Node::Kind::branch;
    in_condition_ = true;
    branch.condition = asking_flags(read(isl_ast_node_if_get_cond(node)));
    in_condition_ = false;
    const isl::ast_node then = isl::manage(isl_ast_node_if_get_then_node(node));
    branch.children.emplace_back();
    append(then.get(), branch.children.back().children, taken);
    if (isl_ast_node_if_has_else_node(node) == isl_bool_true) {
      const isl::ast_node otherwise = isl::manage(isl_ast_node_if_get_else_node(node));
      branch.children.emplace_back();
      append(otherwise.get(), branch.children.back().children, taken);
    }
    to.push_back(std::move(branch));
  }

  void append_statement(isl_ast_node* node, std::vector<Node>& to) {
    const isl::ast_expr call = isl::manage(isl_ast_node_user_get_expr(node));
    const isl::ast_expr label = isl::manage(isl_ast_expr_get_op_arg(call.get(), 0));
    const Statement& statement = polyhedra_.statements[this->statement(name_of(label.get()).c_str())];
    std::map<std::string, Expression> values;
    for (std::size_t l = 0; l < statement.loops.size(); ++l)
      values[statement.loops[l]] = read(isl_ast_expr_get_op_arg(call.get(), static_cast<int>(l) + 1));
    Node assignment = statement.assignment;
    assignment.target = with_simple_subscripts(substitute(assignment.target, values));
    assignment.value = with_simple_subscripts(substitute(assignment.value, values));
    if (statement.conditions.empty()) return to.push_back(std::move(assignment));
    Node branch;
    branch.kind = Node::Kind::branch;
    for (const Expression& condition : statement.conditions) {
      const Expression here = with_simple_subscripts(substitute(condition, values));
      branch.condition = &condition == &statement.conditions.front()
                             ? here
                             : Expression::binary("&&", branch.condition, here);
    }
    branch.children.emplace_back();
    branch.children.back().children.push_back(std::move(assignment));
    to.push_back(std::move(branch));
  }

  static std::string name_of(isl_ast_expr* expression) {
    const isl::id id = isl::manage(isl_ast_expr_get_id(expression));
    return isl_id_get_name(id.get());
  }

  /// i <= min(n - 1, ii + 63) is i < min(n, ii + 64).
  static Expression plus_one(Expression e) {
    if (e.kind != Expression::Kind::call || (e.text != "min" && e.text != "max")) return plus(e, 1);
    for (Expression& operand : e.operands) operand = plus_one(std::move(operand));
    return e;
  }

  static Expression negated(const Expression& e) { return difference(Expression::integer(0), e); }

  /// Takes the expression over.
  Expression read(isl_ast_expr* taken) {
    const isl::ast_expr expression = isl::manage(taken);
    switch (isl_ast_expr_get_type(expression.get())) {
      case isl_ast_expr_int: {
        const isl::val value = isl::manage(isl_ast_expr_get_val(expression.get()));
        return Expression::integer(isl_val_get_num_si(value.get()));
      }
      case isl_ast_expr_id: {
        const std::string name = name_of(expression.get());
        if (!in_condition_ && polyhedra_.flags.contains(name)) spoiled_ = true;
        const auto found = iterators_.find(name);
        return found != iterators_.end() ? found->second : Expression::name(name);
      }
      case isl_ast_expr_op:
        return simplified(read_operation(expression.get()));
      case isl_ast_expr_error:
        break;
    }
    throw Internal("isl gave a broken expression");
  }

  Expression read_operation(isl_ast_expr* operation) {
    std::vector<Expression> operands;
    for (int k = 0; k < isl_ast_expr_get_op_n_arg(operation); ++k)
      operands.push_back(read(isl_ast_expr_get_op_arg(operation, k)));
    const auto fold = [&](const char* text, bool is_call) {
      Expression result = operands.front();
      for (std::size_t k = 1; k < operands.size(); ++k)
        result = is_call ? Expression::call(text, {result, operands[k]})
                         : Expression::binary(text, result, operands[k]);
      return result;
    };
    switch (isl_ast_expr_get_op_type(operation)) {
      case isl_ast_expr_op_and:
      case isl_ast_expr_op_and_then:
        return fold("&&", false);
      case isl_ast_expr_op_or:
      case isl_ast_expr_op_or_else:
        return fold("||", false);
      case isl_ast_expr_op_max:
        return fold("max", true);
      case isl_ast_expr_op_min:
        return fold("min", true);
      case isl_ast_expr_op_minus:
        return negated(operands.front());
      case isl_ast_expr_op_add:
        return fold("+", false);
      case isl_ast_expr_op_sub:
        return fold("-", false);
      case isl_ast_expr_op_mul:
        return fold("*", false);
      case isl_ast_expr_op_div:
      case isl_ast_expr_op_pdiv_q:
        return fold("/", false);
      case isl_ast_expr_op_fdiv_q:
        return fold("floord", true);
      case isl_ast_expr_op_pdiv_r:
      case isl_ast_expr_op_zdiv_r:
        return fold("%", false);
      case isl_ast_expr_op_eq:
        return fold("==", false);
      case isl_ast_expr_op_le:
        return fold("<=", false);
      case isl_ast_expr_op_lt:
        return fold("<", false);
      case isl_ast_expr_op_ge:
        return fold(">=", false);
      case isl_ast_expr_op_gt:
        return fold(">", false);
      case isl_ast_expr_op_cond:
      case isl_ast_expr_op_select: {
        Expression choice = operands.front();
        choice.kind = Expression::Kind::conditional;
        choice.text.clear();
        choice.operands = operands;
        return choice;
      }
      default:
        throw Internal("isl gave an operation that is not expected in loop bounds");
    }
  }

  const Schedule::Impl& schedule_;
  const Polyhedra& polyhedra_;
  const std::vector<Carried>& relations_;
  std::set<std::string> taken_;
  bool in_condition_ = false;
  bool spoiled_ = false;         ///< what was written is true of the flags' values 0 and 1 alone
  bool all_values_ = false;      ///< of flags
  std::deque<LoopFacts> facts_;  // a deque: isl keeps pointers into it
  std::map<std::string, Expression> iterators_;
  std::exception_ptr failure_;
};

}  // namespace

Node generate_code(const Schedule::Impl& schedule, const std::vector<Carried>& relations) {
  Node code = Generator(schedule, relations).run();
  merge_branches(code);
  return code;
}

std::vector<Expression> conditions_on_sizes(const Nest& nest) {
  return with_isl(nest.polyhedra(), [&] {
    const Schedule::Impl no_times{nest, {}};
    const std::vector<Carried> nothing;
    return Generator(no_times, nothing).conditions_on_sizes();
  });
}

}  // namespace warploom::tile
