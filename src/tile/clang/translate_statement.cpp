#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tile/c/simplify.hpp"
#include "tile/clang/translate.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

constexpr int kDeepestStatement = 200;           // statements in one another
constexpr std::int64_t kMostInitialised = 1024;  // elements of an array that its declaration sets

bool speaks_of(const Expression& e, const std::string& name) {
  if (e.kind == Expression::Kind::name && e.text == name) return true;
  return std::ranges::any_of(e.operands, [&](const Expression& o) { return speaks_of(o, name); });
}

bool is_named(const Expression& e, const std::string& name) {
  return e.kind == Expression::Kind::name && e.text == name;
}

std::optional<std::int64_t> number_of(const Expression& e) {
  try {
    return value_of(e, {});
  } catch (const BadInput&) {
    return std::nullopt;
  }
}

}  // namespace

Translator::Translator(const Run& run)
    : run_(run),
      file_(run.file),
      survey_(run.survey),
      first_(run.statements.front()->first),
      last_(run.statements.back()->last) {
  for (const std::string& id : survey_.iterators(first_, last_)) iterators_.insert(id);
}

Region Translator::region(std::size_t& failed) {
  const Syntax& at = run_.whole ? run_.function : *run_.statements.front();
  region_.file = at.file < 0 ? "" : file_.translation.files[static_cast<std::size_t>(at.file)];
  region_.at = at.at;
  region_.function = file_.name(run_.function);
  if (run_.whole) {
    // The function's parameters come first, in their order, used or not: they are its signature.
    for (const Syntax& parameter : run_.function.children) {
      if (!parameter.is("ParmVarDecl") || parameter.name.empty()) continue;
      Syntax name;
      name.kind = "DeclRefExpr";
      name.name = parameter.name;
      name.target = parameter.id;
      name.target_type = name.type = parameter.type;
      name.at = parameter.at;
      try {
        const Entity& what = entity(name);
        const bool value = what.type.scalar() || (what.type.is_integer() && what.type.is_plain());
        if (!value || what.type.is_volatile || iterators_.count(what.key)) continue;
        if (!what.type.scalar() && !is_size(what)) continue;
        if (what.type.layers.size() > 1 && what.type.layers[1].kind != CType::Layer::Kind::array) continue;
        name_in_region(what);
      } catch (const NotRead&) {  // again where it is used
      }
    }
  }
  for (failed = 0; failed < run_.statements.size(); ++failed) {
    const Syntax& s = *run_.statements[failed];
    if (s.is("ReturnStmt") && run_.whole && failed + 1 == run_.statements.size())
      returned(s);
    else
      statement(s, region_.body.children);
  }
  return std::move(region_);
}

void Translator::statement(const Syntax& s, std::vector<Node>& out) {
  if (++depth_ > kDeepestStatement)
    refuse(s, "statement", fmt::format("it is nested deeper than {}", kDeepestStatement));
  if (is_assertion(s)) {
  } else if (s.is("CompoundStmt")) {
    for (const Syntax& child : s.children) statement(child, out);
  } else if (s.is("ForStmt") && s.children.size() == 5) {
    loop(s, out);
  } else if (s.is("IfStmt") && s.children.size() >= 2 && !s.has_init) {
    branch(s, out);
  } else if (s.is("DeclStmt")) {
    for (const Syntax& child : s.children) {
      if (child.is("VarDecl"))
        declaration(child, out);
      else if (!child.kind.starts_with("Typedef") && !child.is("TypeAliasDecl") &&
               !child.is("StaticAssertDecl"))
        refuse(child, "declaration", "only variables may be declared within a nest");
    }
  } else if (s.is("NullStmt")) {
  } else if (s.is("AttributedStmt") && !s.children.empty()) {
    statement(s.children.back(), out);
  } else if ((s.is("ExprWithCleanups") || s.is("ParenExpr")) && s.children.size() == 1) {
    statement(s.children[0], out);
  } else if (s.is("BinaryOperator") && s.operation == "," && s.children.size() == 2) {
    statement(s.children[0], out);
    statement(s.children[1], out);
  } else if (s.is("CStyleCastExpr") && s.type == "void") {  // (void)unused;
  } else if (s.is("BinaryOperator") || s.is("CompoundAssignOperator") || s.is("UnaryOperator")) {
    assignment(s, out);
  } else if (s.is("CallExpr") || s.is("CXXMemberCallExpr")) {
    const std::string name = s.children.empty() ? "" : bare(s.children[0]).name;
    refuse(s, "call of " + name, "what it does is not known; write its body in its place");
  } else if (s.is("WhileStmt") || s.is("DoStmt") || s.is("CXXForRangeStmt")) {
    refuse(s, construct_name(s), "the number of iterations is not known before it runs");
  } else if (s.is("SwitchStmt")) {
    refuse(s, "switch", "which statements run depends on data; write if");
  } else if (s.is("GotoStmt") || s.is("BreakStmt") || s.is("ContinueStmt") || s.is("ReturnStmt")) {
    refuse(s, construct_name(s), "a loop's iterations have to be known from its head");
  } else {
    refuse(s, construct_name(s), "it is not in the subset");
  }
  --depth_;
}

void Translator::forget(const Syntax& within) {
  for (auto& [key, value] : values_)
    if (survey_.written(key, within.first, within.last)) value.reset();
}

void Translator::check_iterator(const Syntax& s, const Entity& entity) const {
  if (!entity.type.is_plain() || !entity.type.is_integer())
    refuse(s, "loop variable " + entity.shown, "it has to be a variable of an integer type");
  if (entity.global || entity.type.is_volatile)
    refuse(s, "loop variable " + entity.shown, "others may see or change it; declare it in the function");
  if (entity.inside) return;
  for (const Use& use : survey_.uses(entity.key)) {
    const bool outside = use.at > last_ || (run_.in_loop && use.at < first_);
    if (outside && use.reads && !use.in_own_loop)
      refuse(s, "loop variable " + entity.shown, "its value is used after its loop; declare it in the loop");
  }
}

void Translator::loop(const Syntax& s, std::vector<Node>& out) {
  Node node;
  node.kind = Node::Kind::loop;
  node.at = s.at;
  const Syntax &init = s.children[0], &step = s.children[3], &body = s.children[4];
  if (init.kind.empty()) refuse(s, "for without a first value", "write for (int i = 0; i < n; i++)");
  if (init.is("DeclStmt") && init.children.size() > 1)
    refuse(init, "second variable of for", "one loop variable a loop");
  const std::string id = iterator_of(s);
  if (id.empty() || !s.children[1].kind.empty())
    refuse(init, "first part of for", "it has to give the loop variable its first value, as in int i = 0");
  Syntax name;
  name.kind = "DeclRefExpr";
  name.target = id;
  if (init.is("DeclStmt")) {
    const Syntax& declared = init.children[0];
    if (declared.children.empty())
      refuse(init, "for without a first value", "write for (int i = 0; i < n; i++)");
    name.name = declared.name;
    name.target_type = declared.type;
    name.target_kind = "VarDecl";
  } else {
    name = bare(init.children[0]);
  }
  name.at = init.at;
  if (running_.count(id))
    refuse(init, "assignment to loop variable " + name.name, "only the head of its loop may change it");
  const Entity& variable = entity(name);
  check_iterator(init, variable);
  values_.erase(id);
  node.first =
      index(init.is("DeclStmt") ? init.children[0].children.back() : init.children[1], "first value");
  if (survey_.written(id, body.first, body.last))
    refuse(s, "loop variable " + name.name, "its loop's body changes it, too");

  const std::string own = fresh_name(name.name, true);
  used_[own] = true;
  running_[id] = own;
  node.iterator = own;
  forget(s);
  loop_condition(s, id, node);
  if (step.kind.empty()) refuse(s, "for without a step", "the loop variable has to change by a constant");
  loop_step(step, id, node);
  const bool rising = node.comparison[0] == '<';
  if (node.step == 0) refuse(step, "step 0", "the loop would run for ever");
  if (rising != (node.step > 0))
    refuse(step, fmt::format("step {} towards {}", node.step, node.comparison),
           "the loop would run for ever or never");
  if (!rising && variable.type.is_unsigned())
    refuse(s, "decreasing loop over an unsigned variable", "it wraps around below 0; make it int");
  statement(body, node.children);
  running_.erase(id);
  forget(s);
  out.push_back(std::move(node));
}

void Translator::loop_condition(const Syntax& s, const std::string& id, Node& node) {
  const Syntax& at = s.children[2];
  if (at.kind.empty())
    refuse(s, "for without a condition", "the number of iterations is not known before it runs");
  const std::string& own = running_.at(id);
  const Expression condition = index(at, "loop condition");
  // i < a && i < b: the least of the limits.
  std::vector<const Expression*> parts{&condition};
  while (parts.back()->kind == Expression::Kind::binary && parts.back()->text == "&&") {
    const Expression* both = parts.back();
    parts.back() = &both->operands[1];
    parts.push_back(&both->operands[0]);
  }
  for (const Expression* part : parts) {
    const bool comparison = part->kind == Expression::Kind::binary && part->text.find_first_of("<>") == 0;
    if (!comparison || (!is_named(part->operands[0], own) && !is_named(part->operands[1], own)))
      refuse(at, "loop condition " + to_text(*part), "it has to compare the loop variable by <, <=, > or >=");
    const bool turned = !is_named(part->operands[0], own);
    const Expression& limit = part->operands[turned ? 0 : 1];
    if (speaks_of(limit, own))
      refuse(at, "loop condition " + to_text(*part), "the limit depends on the loop's own variable");
    std::string sign = part->text;
    if (turned) sign[0] = sign[0] == '<' ? '>' : '<';
    if (node.comparison.empty()) {
      node.comparison = sign;
      node.limit = limit;
    } else if (node.comparison == sign) {
      Expression both = Expression::call(sign[0] == '<' ? "min" : "max", {limit, std::move(node.limit)});
      both.at = limit.at;
      node.limit = std::move(both);
    } else {
      refuse(at, "loop condition " + to_text(condition), "its parts have to compare by the same operator");
    }
  }
}

void Translator::loop_step(const Syntax& s, const std::string& id, Node& node) {
  const auto refuse_step = [&] {
    refuse(s, "step of for", "the loop variable has to change by a constant: i++, i += 2, i = i - 1");
  };
  if (s.is("BinaryOperator") && s.operation == ",")
    refuse(s, "second step of for", "one loop variable a loop");
  const bool changes = s.is("UnaryOperator") || s.is("CompoundAssignOperator") || s.is("BinaryOperator");
  if (!changes || s.children.empty() || key_of(s.children[0]) != id) refuse_step();
  if (s.is("UnaryOperator")) {
    if (s.operation != "++" && s.operation != "--") refuse_step();
    node.step = s.operation == "++" ? 1 : -1;
    return;
  }
  if (s.children.size() != 2) refuse_step();
  Expression value = index(s.children[1], "step");
  bool minus = s.operation == "-=";
  if (s.operation == "=") {
    const bool sum = value.kind == Expression::Kind::binary && (value.text == "+" || value.text == "-");
    if (!sum) refuse_step();
    minus = value.text == "-";
    const bool first = is_named(value.operands[0], node.iterator);
    if (!first && (minus || !is_named(value.operands[1], node.iterator))) refuse_step();
    Expression rest = std::move(value.operands[first ? 1 : 0]);
    value = std::move(rest);
  } else if (s.operation != "+=" && s.operation != "-=") {
    refuse_step();
  }
  const auto by = number_of(value);
  if (!by || *by == std::numeric_limits<std::int64_t>::min())
    refuse(s, "step " + to_text(value), "it has to be a constant");
  node.step = minus ? -*by : *by;
}

void Translator::branch(const Syntax& s, std::vector<Node>& out) {
  Node node;
  node.kind = Node::Kind::branch;
  node.at = s.at;
  Operand condition = value(s.children[0]);
  // Whether a condition may read data is the analysis' to say.
  node.condition = std::move(condition.expression);
  const std::size_t parts = s.has_else && s.children.size() > 2 ? 2 : 1;
  for (std::size_t p = 1; p <= parts; ++p) {
    const auto before = values_;
    node.children.emplace_back();
    node.children.back().at = s.children[p].at;
    statement(s.children[p], node.children.back().children);
    values_ = before;
  }
  forget(s);
  out.push_back(std::move(node));
}

/// An integer variable that is always given whole values of integers, and that nobody outside sees, is
/// replaced by its value.
bool Translator::keeps_value(const std::string& key) const {
  if (run_.data.count(key) || iterators_.count(key)) return false;
  const Syntax* declared = survey_.declaration(key);
  if (!declared || !declared->is("VarDecl") || declared->is_static) return false;
  const CType type = file_.type(declared->type);
  if (!type.is_plain() || !type.is_integer()) return false;
  return std::ranges::all_of(survey_.uses(key), [&](const Use& use) {
    const bool here = use.at >= first_ && use.at <= last_;
    return here ? !use.writes || use.simply : !use.reads && !run_.in_loop;
  });
}

void Translator::declaration(const Syntax& variable, std::vector<Node>& out) {
  if (iterators_.count(variable.id)) return;  // its loop gives it a value
  Syntax name;
  name.kind = "DeclRefExpr";
  name.name = variable.name;
  name.target = variable.id;
  name.target_type = variable.type;
  name.target_kind = "VarDecl";
  name.at = variable.at;
  const CType type = file_.type(variable.type);
  if (variable.is_static) {
    if (!variable.children.empty() && !type.is_const)
      refuse(variable, "static " + variable.name + " with an initialiser", "pass it as a parameter");
    return;
  }
  if (variable.children.empty()) return;
  const Syntax& init = variable.children.back();
  if (type.is_pointer()) {
    pointers_[variable.id] = pointee(variable);
    return;
  }
  const Entity& what = entity(name);
  if (!what.type.is_plain()) {
    if (!init.is("InitListExpr"))
      refuse(variable, fmt::format("variable {} of type {}", variable.name, type.text()),
             "values are of type float, double or int");
    std::vector<Expression> subscripts;
    return initialise(init, what, subscripts, out);
  }
  if (keeps_value(variable.id)) {
    Operand value = this->value(init);
    if (!value.index) throw Demoted{variable.id};
    values_[variable.id] = std::move(value);
    return;
  }
  Operand value = this->value(init);
  const bool fixed = std::ranges::none_of(
      survey_.uses(variable.id), [&](const Use& use) { return use.writes && use.at != variable.first; });
  if (fixed && !mentioned_outside(what)) {
    if (auto constant = constant_of(type, value)) {
      values_[variable.id] = Operand{std::move(*constant), value.index && type.is_integer()};
      return;
    }
  }
  if (!type.scalar())
    refuse(variable, fmt::format("variable {} of type {}", variable.name, type.text()),
           "values are of type float, double or int");
  Expression target = Expression::name(name_in_region(what));
  target.at = variable.at;
  assign(std::move(target), "=", std::move(value.expression), variable.at, out);
}

/// { 1, 2 } of an array that the nest declares.
void Translator::initialise(const Syntax& list, const Entity& entity, std::vector<Expression>& subscripts,
                            std::vector<Node>& out) {
  std::int64_t elements = 1;
  for (const Expression& extent : extents(entity)) {
    if (extent.kind != Expression::Kind::integer || extent.value > kMostInitialised / elements)
      refuse(list, "initialiser of array " + entity.shown,
             fmt::format("its extents have to be numbers, of no more than {} elements in all",
                         kMostInitialised));
    elements *= extent.value;
  }
  const std::vector<Expression> all = extents(entity);
  const std::size_t dimension = subscripts.size();
  const Syntax* given = list.is("InitListExpr") ? &list : nullptr;
  for (std::int64_t i = 0; i < all[dimension].value; ++i) {
    subscripts.push_back(Expression::integer(i));
    // An array_filler, which Clang puts first, is zero.
    const bool filled = given && !given->children.empty() && given->children[0].is("ImplicitValueInitExpr");
    const std::size_t child = static_cast<std::size_t>(i) + (filled ? 1 : 0);
    const Syntax* value = given && child < given->children.size() ? &given->children[child] : nullptr;
    if (value && value->is("ImplicitValueInitExpr")) value = nullptr;
    if (dimension + 1 < all.size()) {
      static const Syntax zero{.kind = "InitListExpr"};
      initialise(value ? *value : zero, entity, subscripts, out);
    } else {
      Expression target = Expression::element(name_in_region(entity), subscripts);
      target.at = value ? value->at : list.at;
      Expression what = value ? this->value(*value).expression : Expression::integer(0);
      assign(std::move(target), "=", std::move(what), target.at, out);
    }
    subscripts.pop_back();
  }
}

Expression Translator::target(const Syntax& lvalue) {
  const Syntax& e = bare(lvalue);
  const std::string key = e.is("DeclRefExpr") || e.is("MemberExpr") ? key_of(e) : "";
  if (running_.count(key))
    refuse(e, "assignment to loop variable " + e.name, "only the head of its loop may change it");
  if (key.empty() || !entity(e).type.is_plain()) return element_of(address(e), e);
  const Entity& what = entity(e);
  if (iterators_.count(key))
    refuse(e, "assignment to loop variable " + what.shown, "only the head of its loop may change it");
  if (what.type.is_volatile) refuse(e, what.shown, "it is volatile");
  if (!what.type.scalar())
    refuse(e, fmt::format("variable {} of type {}", what.shown, what.type.text()),
           "values are of type float, double or int");
  Expression name = Expression::name(name_in_region(what));
  name.at = e.at;
  return name;
}

void Translator::assignment(const Syntax& s, std::vector<Node>& out) {
  if (s.is("UnaryOperator")) {
    if (s.operation != "++" && s.operation != "--")
      refuse(s, "statement without effect", "an assignment was expected");
    return assign(target(s.children.at(0)), s.operation == "++" ? "+=" : "-=", Expression::integer(1), s.at,
                  out);
  }
  if (s.children.size() != 2) refuse(s, "statement", "an assignment was expected");
  static const std::set<std::string_view> kOperators{"=", "+=", "-=", "*=", "/="};
  const bool assigns = s.is("CompoundAssignOperator") || s.operation == "=";
  if (!assigns) refuse(s, "statement without effect", "an assignment was expected");
  if (!kOperators.count(s.operation))
    refuse(s, fmt::format("operator '{}'", s.operation), "only = += -= *= /= are in the subset");
  const std::string key = key_of(s.children[0]);
  if (file_.type(s.children[0].type).is_pointer())
    refuse(s, "assignment to pointer " + s.children[0].name, "write the element as NAME[subscript]");
  const Syntax& right = bare(s.children[1]);
  const bool chained = right.is("BinaryOperator") && right.operation == "=";
  if (!chained && s.operation == "=" && bare(s.children[0]).is("DeclRefExpr") && keeps_value(key)) {
    Operand value = this->value(s.children[1]);
    if (!value.index) throw Demoted{key};
    values_[key] = std::move(value);
    return;
  }
  Expression to = target(s.children[0]), value;
  if (chained) {  // a = b = c
    assignment(right, out);
    value = target(right.children[0]);
  } else {
    value = this->value(s.children[1]).expression;
  }
  assign(std::move(to), s.operation, std::move(value), s.at, out);
}

void Translator::assign(Expression target, const std::string& op, Expression value, Position at,
                        std::vector<Node>& out) {
  Node node;
  node.kind = Node::Kind::assignment;
  node.at = at;
  node.statement = region_.statements++;
  node.op = op;
  node.target = std::move(target);
  node.value = std::move(value);
  out.push_back(std::move(node));
}

/// `return s;` at the end of a function: s is its result.
void Translator::returned(const Syntax& s) {
  if (s.children.empty()) return;
  const Syntax& what = bare(s.children[0]);
  if (what.kind.ends_with("Literal")) return;
  const std::string key = key_of(what);
  if (!what.is("DeclRefExpr") || values_.count(key) || running_.count(key) || iterators_.count(key))
    refuse(s, "return", "what a function returns has to be a scalar that its loops assign");
  const Entity& result = entity(what);
  if (!result.type.is_plain() || !result.type.scalar() || is_size(result))
    refuse(s, "return of " + result.shown,
           "what a function returns has to be a scalar that its loops assign");
  const std::string name = name_in_region(result);
  const auto variable = std::ranges::find(region_.variables, name, &Variable::name);
  variable->is_parameter = variable->is_result = true;
  if (std::ranges::find(region_.parameters, name) == region_.parameters.end())
    region_.parameters.push_back(name);
}

}  // namespace warploom::tile
