#include <fmt/format.h>

#include <algorithm>

#include "tile/clang/liveness.hpp"
#include "tile/clang/translate.hpp"

namespace warploom::tile {
namespace {

constexpr int kDeepestStatement = 200;           // statements in one another
constexpr std::int64_t kMostInitialised = 1024;  // elements of an array that its declaration sets

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
        if (what.type.layers.size() > 1 && what.type.layers[1].kind != CType::Layer::Kind::array &&
            !has_row_pointers(what))
          continue;
        name_in_region(what);
      } catch (const NotRead&) {  // again where it is used
      }
    }
  }
  follow_from_before();
  for (failed = 0; failed < run_.statements.size(); ++failed) {
    const Syntax& s = *run_.statements[failed];
    if (s.is("ReturnStmt") && run_.whole && failed + 1 == run_.statements.size())
      returned(s);
    else
      statement(s, region_.body.children);
  }
  locate(run_, region_);
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
        leaf(child, [&] { declaration(child, out); });
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
    leaf(s, [&] { assignment(s, out); });
  } else if (s.is("CallExpr") || s.is("CXXMemberCallExpr")) {
    const std::string name = s.children.empty() ? "" : bare(s.children[0]).name;
    refuse(s, "call of " + name, "what it does is not known; write its body in its place");
  } else if (s.is("WhileStmt") || s.is("DoStmt") || s.is("CXXForRangeStmt")) {
    refuse(s, file_.construct(s), "the number of iterations is not known before it runs");
  } else if (s.is("SwitchStmt")) {
    refuse(s, "switch", "which statements run depends on data; write if");
  } else if (s.is("GotoStmt") || s.is("BreakStmt") || s.is("ContinueStmt") || s.is("ReturnStmt")) {
    refuse(s, file_.construct(s), "a loop's iterations have to be known from its head");
  } else {
    refuse(s, file_.construct(s), "it is not in the subset");
  }
  --depth_;
}

/// A statement without others in it: what it moves as a side effect moves at its end.
template <class Read>
void Translator::leaf(const Syntax& s, Read read) {
  statement_ = &s;
  read();
  advance_later();
  statement_ = nullptr;
}

void Translator::forget(const Syntax& within) {
  for (auto& [key, value] : values_)
    if (survey_.written(key, within.first, within.last)) value.reset();
  for (auto& [key, place] : pointers_)
    if (survey_.written(key, within.first, within.last)) place.reset();
}

void Translator::check_iterator(const Syntax& s, const Entity& entity) const {
  if (!entity.type.is_plain() || !entity.type.is_integer())
    refuse(s, "loop variable " + entity.shown, "it has to be a variable of an integer type");
  if (entity.global || entity.is_static || entity.reference || entity.type.is_volatile)
    refuse(s, "loop variable " + entity.shown, "others may see or change it; declare it in the function");
  if (!entity.type.scalar() && is_read_after(run_.function, entity.key, first_, last_))
    refuse(s, "loop variable " + entity.shown, "its value is used after its loop; declare it in the loop");
}

/// What stands beside the loop variable in the first or the last part of a `for`.
void Translator::beside_iterator(const Syntax& loop, const Syntax& list, const std::string& id,
                                 std::vector<Node>& out) {
  const std::vector<const Syntax*> parts = parts_of(list);
  if (parts.size() < 2) return;
  const bool last = &list == &loop.children[3];
  for (const Syntax* part : parts) {
    const Syntax& e = bare(*part);
    const bool own = set_by(*part) == id || (!e.children.empty() && key_of(e.children[0]) == id);
    const bool alone = own ? is_invariant(*part, list, id) : !speaks_of(*part, id);
    if (!alone)
      refuse(*part, last ? "second step of for" : "second part of for",
             "what is beside the loop variable has to leave it alone");
    if (own) continue;
    if (part->is("VarDecl"))
      leaf(*part, [&] { declaration(*part, out); });
    else
      statement(*part, out);
  }
}

/// What a variable is when the run begins, as a size.
Expression Translator::value_before(const Syntax& loop, const Entity& variable) {
  if (!loops_.empty() || survey_.written(variable.key, first_, loop.first))
    refuse(loop, "for without a first value", "what its variable is then is not known before the nest runs");
  const std::string name = fresh_name(variable.name, false);
  used_[name] = false;
  region_.sizes.push_back(name);
  region_.size_declarations[name] = {variable.type.base, variable.type.wider_than_int(), variable.at};
  region_.parameters.push_back(name);
  region_.text.expressions[name] = variable.shown;
  return Expression::name(name);
}

/// Iterator, bounds and step; the loop runs from here on.
Node Translator::loop_head(const Syntax& s) {
  Node node;
  node.kind = Node::Kind::loop;
  node.at = s.at;
  const Syntax &init = s.children[0], &condition_at = s.children[2], &step = s.children[3],
               &body = s.children[4];
  const std::string id = iterator_of(s);
  const std::vector<const Syntax*> parts = parts_of(init);
  const auto part = std::ranges::find_if(parts, [&](const Syntax* p) { return set_by(*p) == id; });
  const bool goes_on = init.kind.empty();
  if (goes_on && id.empty()) refuse(s, "for without a first value", "write for (int i = 0; i < n; i++)");
  if (id.empty() || !s.children[1].kind.empty() || (part == parts.end() && !goes_on))
    refuse(init, "first part of for", "it has to give the loop variable its first value, as in int i = 0");
  Syntax name;
  name.kind = "DeclRefExpr";
  name.target = id;
  if (goes_on) {
    const Syntax* declared = survey_.declaration(id);
    if (!declared) refuse(s, "for without a first value", "write for (int i = 0; i < n; i++)");
    name.name = declared->name;
    name.target_type = declared->type;
    name.target_kind = declared->kind;
  } else if ((*part)->is("VarDecl")) {
    if ((*part)->children.empty())
      refuse(init, "for without a first value", "write for (int i = 0; i < n; i++)");
    name.name = (*part)->name;
    name.target_type = (*part)->type;
    name.target_kind = "VarDecl";
  } else {
    name = bare(bare(**part).children[0]);
  }
  name.at = goes_on ? s.at : init.at;
  const Syntax& from = goes_on ? s : init;
  if (running_.count(id))
    refuse(from, "assignment to loop variable " + name.name, "only the head of its loop may change it");
  const Entity& variable = entity(name);
  check_iterator(from, variable);
  values_.erase(id);
  if (goes_on)
    node.first = value_before(s, variable);
  else
    node.first =
        index((*part)->is("VarDecl") ? (*part)->children.back() : bare(**part).children[1], "first value");
  if (survey_.written(id, body.first, body.last))
    refuse(s, "loop variable " + name.name, "its loop's body changes it, too");

  const std::string own = fresh_name(name.name, true);
  used_[own] = true;
  running_[id] = own;
  node.iterator = own;
  const Known before{values_, pointers_};
  forget(s);  // bounds that the loop changes
  if (condition_at.kind.empty())
    refuse(s, "for without a condition", "the number of iterations is not known before it runs");
  const Expression condition = index(condition_at, "loop condition");
  if (step.kind.empty()) refuse(s, "for without a step", "the loop variable has to change by a constant");
  loop_step(step, id, node);
  refuse_if(condition_at, set_limit(condition, node));
  refuse_if(step, check_direction(node));
  if (node.step < 0 && variable.type.is_unsigned())
    refuse(s, "decreasing loop over an unsigned variable", "it wraps around below 0; make it int");
  values_ = before.values;
  pointers_ = before.pointers;
  return node;
}

void Translator::loop(const Syntax& s, std::vector<Node>& out) {
  const std::string id = iterator_of(s);
  beside_iterator(s, s.children[0], id, out);
  Node node = loop_head(s);
  Known after = enter_loop(s, node);
  loops_.emplace_back(&s.children[4], &node);
  statement(s.children[4], node.children);
  beside_iterator(s, s.children[3], id, node.children);
  loops_.pop_back();
  leave_loop(std::move(after));
  running_.erase(id);
  out.push_back(std::move(node));
  if (is_read_after(run_.function, id, first_, last_)) leave_last_value(s, id, out);
}

/// What the loop variable is after its loop, for those who read it after the run: a result.
void Translator::leave_last_value(const Syntax& loop, const std::string& id, std::vector<Node>& out) {
  const Entity& variable = entities_.at(id);
  Expression value = last_value(out.back());
  Expression target = Expression::name(name_in_region(variable));
  if (target.text != variable.shown) {
    std::string remark = fmt::format("{} is {} after its loop", target.text, variable.shown);
    if (std::ranges::count(region_.remarks, remark) == 0) region_.remarks.push_back(std::move(remark));
  }
  assign(std::move(target), "=", std::move(value), loop.at, out);
}

/// What is stored without its conversion to the variable's type, which storing does.
const Syntax& Translator::without_conversion(const Syntax& e) {
  const bool converts = e.is("ImplicitCastExpr") && e.operation == "IntegralCast" && e.children.size() == 1;
  return converts ? e.children[0] : e;
}

void Translator::refuse_if(const Syntax& at, const std::optional<HeadRefusal>& bad) const {
  if (bad) refuse(at, bad->construct, bad->why);
}

void Translator::loop_step(const Syntax& list, const std::string& id, Node& node) {
  const std::vector<const Syntax*> parts = parts_of(list);
  const auto part = std::ranges::find_if(parts, [&](const Syntax* p) {
    const Syntax& e = bare(*p);
    return !e.children.empty() && key_of(e.children[0]) == id;
  });
  const Syntax& s = part == parts.end() ? list : bare(**part);
  const bool own = !s.children.empty() && key_of(s.children[0]) == id;
  if (own && s.is("UnaryOperator") && (s.operation == "++" || s.operation == "--"))
    node.step = s.operation == "++" ? 1 : -1;
  else if (own && (s.is("CompoundAssignOperator") || s.is("BinaryOperator")) && s.children.size() == 2)
    refuse_if(s, set_step(s.operation, index(s.children[1], "step"), node));
  else
    refuse_if(s, set_step("", Expression::integer(0), node));
}

void Translator::branch(const Syntax& s, std::vector<Node>& out) {
  Node node;
  node.kind = Node::Kind::branch;
  node.at = s.at;
  statement_ = &s.children[0];
  Operand condition = index_value(s.children[0]);
  advance_later();
  statement_ = nullptr;
  // Whether a condition may read data is the analysis' to say.
  node.condition = std::move(condition.expression);
  const std::size_t parts = s.has_else && s.children.size() > 2 ? 2 : 1;
  const Known before{values_, pointers_};
  for (std::size_t p = 1; p <= parts; ++p) {
    node.children.emplace_back();
    node.children.back().at = s.children[p].at;
    statement(s.children[p], node.children.back().children);
    values_ = before.values;
    pointers_ = before.pointers;
  }
  for (std::size_t p = 1; p <= parts; ++p) forget(s.children[p]);
  out.push_back(std::move(node));
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
    pointers_[variable.id] = is_followed(variable.id) ? address(init) : pointee(variable);
    return;
  }
  if (type.is_plain() && !type.scalar() && !type.is_integer() && is_copy(variable)) {
    objects_[variable.id] = &bare(init);
    return;
  }
  const Entity& what = entity(name);
  if (!what.type.is_plain()) {
    if (!init.is("InitListExpr"))
      refuse(variable, fmt::format("variable {} of type {}", variable.name, type.text()),
             "values are of type float, double or an integer's");
    std::vector<Expression> subscripts;
    return initialise(init, what, subscripts, out);
  }
  if (is_followed(variable.id)) {
    Operand value = index_value(init);
    if (!value.index) throw Demoted{variable.id};
    values_[variable.id] = std::move(value);
    return;
  }
  Operand value = this->value(without_conversion(init));
  const bool fixed = std::ranges::none_of(
      survey_.uses(variable.id), [&](const Use& use) { return use.writes && use.at != variable.first; });
  if (fixed && !is_seen_outside(what)) {
    if (auto constant = constant_of(type, value)) {
      values_[variable.id] = Operand{std::move(*constant), value.index && type.is_integer()};
      return;
    }
  }
  if (!type.scalar())
    refuse(variable, fmt::format("variable {} of type {}", variable.name, type.text()),
           "values are of type float, double or an integer's");
  Expression target = Expression::name(name_in_region(what));
  target.at = variable.at;
  assign(std::move(target), "=", std::move(value.expression), variable.at, out);
}

/// A structure that only stands for another one: neither changes.
bool Translator::is_copy(const Syntax& variable) const {
  const Syntax& init = bare(variable.children.back());
  const std::string from = key_of(init);
  return (init.is("DeclRefExpr") || init.is("MemberExpr")) && !from.empty() &&
         !survey_.written_within(variable.id, first_, last_, variable.first) &&
         !survey_.written_within(from, first_, last_, variable.first);
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
  if (key.empty() || is_in_element(e) || !entity(e).type.is_plain()) return element_of(address(e), e);
  const Entity& what = entity(e);
  if (iterators_.count(key))
    refuse(e, "assignment to loop variable " + what.shown, "only the head of its loop may change it");
  if (what.type.is_volatile) refuse(e, what.shown, "it is volatile");
  if (!what.type.scalar())
    refuse(e, fmt::format("variable {} of type {}", what.shown, what.type.text()),
           "values are of type float, double or an integer's");
  Expression name = Expression::name(name_in_region(what));
  name.at = e.at;
  return name;
}

void Translator::assignment(const Syntax& s, std::vector<Node>& out) {
  if (s.is("UnaryOperator")) {
    if (s.operation != "++" && s.operation != "--")
      refuse(s, "statement without effect", "an assignment was expected");
    if (advance(s.children.at(0), Expression::integer(s.operation == "++" ? 1 : -1))) return;
    return assign(target(s.children.at(0)), s.operation == "++" ? "+=" : "-=", Expression::integer(1), s.at,
                  out);
  }
  if (s.children.size() != 2) refuse(s, "statement", "an assignment was expected");
  static const std::set<std::string_view> kOperators{"=", "+=", "-=", "*=", "/="};
  static const std::set<std::string_view> kOthers{"%=", "&=", "|=", "^=", "<<=", ">>="};
  const bool assigns = s.is("CompoundAssignOperator") || s.operation == "=";
  if (!assigns) refuse(s, "statement without effect", "an assignment was expected");
  const bool other = kOthers.count(s.operation) > 0;
  if (!kOperators.count(s.operation) && !other)
    refuse(s, fmt::format("operator '{}'", s.operation), "it is not in the subset");
  const std::string key = key_of(s.children[0]);
  const bool pointer = file_.type(s.children[0].type).is_pointer();
  const Syntax& right = bare(s.children[1]);
  const bool chained = right.is("BinaryOperator") && right.operation == "=";
  if (!chained && bare(s.children[0]).is("DeclRefExpr") && is_followed(key)) {
    const bool known = pointer ? pointers_.count(key) > 0 : values_.count(key) > 0;
    if (s.operation == "=" && pointer) {
      pointers_[key] = address(s.children[1]);
      return;
    }
    if (!pointer || known) {
      Operand value = index_value(s.children[1]);
      if (!value.index && !pointer) throw Demoted{key};
      if (!value.index)
        refuse(s, "pointer " + bare(s.children[0]).name,
               "it moves by what is no loop variable, size or integer");
      if (s.operation == "=")
        values_[key] = std::move(value);
      else if (!known)
        throw Demoted{key};
      else
        advance(s.children[0], s.operation == "+=" ? std::move(value.expression)
                                                   : Expression::unary("-", std::move(value.expression)));
      return;
    }
  }
  if (pointer)
    refuse(s,
           "assignment to pointer " + (bare(s.children[0]).name.empty() ? file_.construct(bare(s.children[0]))
                                                                        : bare(s.children[0]).name),
           "write the element as NAME[subscript]");
  Expression to = target(s.children[0]), value;
  if (chained) {           // a = b = c
    statement_ = nullptr;  // b is looked at twice
    assignment(right, out);
    value = target(right.children[0]);
  } else {
    value = this->value(without_conversion(s.children[1])).expression;
  }
  if (!other) return assign(std::move(to), s.operation, std::move(value), s.at, out);
  Expression whole = Expression::binary(s.operation.substr(0, s.operation.size() - 1), to, std::move(value));
  assign(std::move(to), "=", std::move(whole), s.at, out);
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
  const CType returns = file_.type(run_.function.type.substr(0, run_.function.type.find('(')));
  // What has a value before goes in and out through a pointer.
  if (result.inside && returns.is_plain() && returns.scalar() == variable->type) region_.returned = name;
  if (std::ranges::find(region_.parameters, name) == region_.parameters.end())
    region_.parameters.push_back(name);
}

}  // namespace warploom::tile
