#include <fmt/format.h>

#include <algorithm>

#include "tile/c/functions.hpp"
#include "tile/c/simplify.hpp"
#include "tile/clang/translate.hpp"

namespace warploom::tile {
namespace {

constexpr std::size_t kMostCalls = 16;  // in one another

bool writes_to(const Syntax& node, const std::string& id) {
  const bool writes = (node.is("BinaryOperator") && node.operation == "=") ||
                      node.is("CompoundAssignOperator") ||
                      (node.is("UnaryOperator") && (node.operation == "++" || node.operation == "--"));
  if (writes && !node.children.empty() && key_of(node.children[0]) == id) return true;
  return std::ranges::any_of(node.children, [&](const Syntax& child) { return writes_to(child, id); });
}

const Syntax* body_of(const Syntax& function) {
  const auto found =
      std::ranges::find_if(function.children, [](const Syntax& child) { return child.is("CompoundStmt"); });
  return found == function.children.end() ? nullptr : &*found;
}

}  // namespace

Translator::Operand Translator::call(const Syntax& e) {
  if (e.children.empty()) refuse(e, "call", "what is called is not known");
  const Syntax& callee = bare(e.children[0]);
  const bool method = e.is("CXXMemberCallExpr");
  if (!callee.is(method ? "MemberExpr" : "DeclRefExpr"))
    refuse(e, "call through a value", "only functions whose names stand there are read");
  const std::string& name = callee.name;
  if (const Syntax* function = file_.definition(callee)) {
    if (file_.type(function->type.substr(0, function->type.find('('))).is_reference())
      return value_at(e, *function);
    return inlined(e, *function);
  }
  if (method && name == "size" && e.children.size() == 1 && callee.children.size() == 1) {
    const Entity& container = entity(callee.children[0]);
    Entity size = container;
    size.key = container.key + ".size()";
    size.name = container.name + "_size";
    size.shown = container.shown + ".size()";
    size.type = CType{"unsigned long", {}, false, false};
    const Entity& kept = entities_.emplace(size.key, std::move(size)).first->second;
    return {Expression::name(name_in_region(kept)), true};
  }
  std::vector<Operand> arguments;
  for (std::size_t a = 1; a < e.children.size(); ++a) arguments.push_back(value(e.children[a]));
  if ((name == "max" || name == "min") && arguments.size() == 2)
    return least_or_most(e, name, std::move(arguments));
  std::string known = name.starts_with("__builtin_") ? name.substr(10) : name;
  // C++'s functions of float have the names of those of double.
  const bool single = callee.type.starts_with("float (");
  const bool integers = callee.type.starts_with("int (int)");
  if (known == "abs" && integers && arguments.size() == 1) {
    const Expression x = arguments[0].expression;
    return {Expression::conditional(Expression::binary("<", x, Expression::integer(0)),
                                    Expression::unary("-", x), x),
            arguments[0].index};
  }
  if (known == "abs") known = "fabs";
  if (single && !known.ends_with("f") && find_function(known + "f")) known += "f";
  const Function* function = known == "floord" ? nullptr : find_function(known);
  if (!function)
    refuse(
        e, "call of " + name,
        "only C's mathematical functions and functions of this file that give an expression may be called");
  if (arguments.size() != static_cast<std::size_t>(function->arguments))
    refuse(e, fmt::format("call of {} with {} arguments", name, arguments.size()),
           fmt::format("it takes {}", function->arguments));
  Operand result;
  std::vector<Expression> values;
  for (Operand& argument : arguments) values.push_back(std::move(argument.expression));
  result.expression = Expression::call(known, std::move(values));
  return result;
}

/// std::min and std::max give their first argument where both are alike.
Translator::Operand Translator::least_or_most(const Syntax& e, const std::string& name,
                                              std::vector<Operand> arguments) {
  Expression a = std::move(arguments[0].expression), b = std::move(arguments[1].expression);
  Operand result;
  result.index = arguments[0].index && arguments[1].index;
  if (result.index) {
    result.expression = Expression::call(name, {std::move(a), std::move(b)});
    return result;
  }
  const CType type = file_.type(e.type);
  if (!type.scalar()) refuse(e, "call of " + name, "its values are of type " + type.text());
  Expression condition = name == "max" ? Expression::binary("<", a, b) : Expression::binary("<", b, a);
  result.expression = Expression::conditional(std::move(condition), b, a);
  return result;
}

/// Reads a function where it is called: its parameters stand for what they are given.
/// @param read  is given the statements of its body
template <class Read>
auto Translator::within_call(const Syntax& e, const Syntax& function, Read read) {
  const std::string what = "call of " + function.name;
  if (calls_.size() >= kMostCalls || std::ranges::find(calls_, &function) != calls_.end())
    refuse(e, what, "it calls itself, or calls are nested too deep");
  const Syntax* body = body_of(function);
  if (!body) refuse(e, what, "its body is not known");
  std::vector<const Syntax*> parameters;
  for (const Syntax& child : function.children)
    if (child.is("ParmVarDecl")) parameters.push_back(&child);
  if (parameters.size() != e.children.size() - 1) refuse(e, what, "it has another number of parameters");
  const auto values = values_;
  const auto pointers = pointers_;
  const auto objects = objects_;
  std::optional<Raised> arguments(conditional_);  // they may stand in the body several times, or not at all
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    if (writes_to(*body, parameters[p]->id))
      refuse(e, what,
             fmt::format("it changes its parameter {}; write its body in its place", parameters[p]->name));
    bind(*parameters[p], e.children[p + 1]);
  }
  arguments.reset();
  const Syntax& callee = bare(e.children[0]);
  if (callee.is("MemberExpr") && callee.children.size() == 1) {
    const Syntax* self = &bare(callee.children[0]);
    if (const auto known = objects.find(self->is("CXXThisExpr") ? "this" : self->target);
        known != objects.end())
      self = known->second;
    if (!self->is("CXXThisExpr")) {
      entity(*self);  // a variable, or it is refused
      objects_["this"] = self;
    }
  }
  calls_.push_back(&function);
  std::vector<const Syntax*> statements;
  for (const Syntax& child : body->children)
    if (!child.is("NullStmt") && !is_assertion(child)) statements.push_back(&child);
  const auto result = [&] {
    try {
      return read(*body, statements);
    } catch (const NotRead& reason) {
      // Where the nest is, what its function does.
      refuse(e, what,
             fmt::format("line {} has {}: {}", reason.refusal.at.line, reason.refusal.construct,
                         reason.refusal.why));
    }
  }();
  calls_.pop_back();
  values_ = values;
  pointers_ = pointers;
  objects_ = objects;
  return result;
}

Translator::Operand Translator::inlined(const Syntax& e, const Syntax& function) {
  const CType returns = file_.type(function.type.substr(0, function.type.find('(')));
  if (!returns.is_plain() || !(returns.scalar() || returns.is_integer()))
    refuse(e, "call of " + function.name,
           "only functions that give a number are read; write its body in its place");
  return within_call(e, function, [&](const Syntax& body, const std::vector<const Syntax*>& statements) {
    return result_of(body, statements, 0);
  });
}

/// What a function that does nothing else returns a reference to, as accessors of C++ do.
const Syntax& Translator::returned_by(const Syntax& body,
                                      const std::vector<const Syntax*>& statements) const {
  if (statements.size() != 1 || !statements[0]->is("ReturnStmt") || statements[0]->children.size() != 1)
    refuse(body, "function", "only `return` of an element is read where a reference is given");
  return bare(statements[0]->children[0]);
}

Translator::Address Translator::place_of(const Syntax& e, const Syntax& function) {
  return within_call(e, function, [&](const Syntax& body, const std::vector<const Syntax*>& statements) {
    return address(returned_by(body, statements));
  });
}

Translator::Operand Translator::value_at(const Syntax& e, const Syntax& function) {
  return within_call(e, function, [&](const Syntax& body, const std::vector<const Syntax*>& statements) {
    const Syntax& what = returned_by(body, statements);
    const bool named = what.is("DeclRefExpr") || what.is("MemberExpr");
    if (named && entity(what).type.is_plain()) return variable(what);
    return Operand{element_of(address(what), e), false};
  });
}

void Translator::bind(const Syntax& parameter, const Syntax& argument) {
  const CType type = file_.type(parameter.type);
  const bool number = type.is_integer() || type.scalar();
  const bool plain = type.is_plain() || (type.layers.size() == 1 && type.is_reference() && number);
  if (plain && number) {
    Operand value = converted(argument);
    values_[parameter.id] = std::move(value);
  } else if (plain || (type.layers.size() == 1 && !number)) {  // a structure, or where one is
    const Entity& object = entity(argument);
    if (object.type.is_array()) refuse(argument, object.shown, "it is an array of structures");
    const Syntax* stands = &bare(argument);
    for (auto known = objects_.find(stands->target); stands->is("DeclRefExpr") && known != objects_.end();
         known = objects_.find(stands->target))
      stands = known->second;
    objects_[parameter.id] = stands;
  } else {
    pointers_[parameter.id] = address(argument);
  }
}

/// What a function's statements from one on return, as one expression.
Translator::Operand Translator::result_of(const Syntax& at, const std::vector<const Syntax*>& body,
                                          std::size_t from) {
  if (from >= body.size()) refuse(at, "function", "it may end without a value");
  const Syntax& s = *body[from];
  if (s.is("ReturnStmt") && s.children.size() == 1) return converted(s.children[0]);
  if (s.is("NullStmt") || is_assertion(s)) return result_of(at, body, from + 1);
  if (s.is("CompoundStmt") && from + 1 == body.size()) {
    std::vector<const Syntax*> inner;
    for (const Syntax& child : s.children) inner.push_back(&child);
    return result_of(s, inner, 0);
  }
  if (s.is("DeclStmt")) {
    for (const Syntax& variable : s.children) {
      if (!variable.is("VarDecl") || variable.children.empty() || variable.is_static)
        refuse(variable, "declaration", "only values that stay are read");
      for (const Syntax* other : body)
        if (writes_to(*other, variable.id)) refuse(variable, variable.name, "it changes");
      bind(variable, variable.children.back());
    }
    return result_of(at, body, from + 1);
  }
  if (s.is("IfStmt") && s.children.size() >= 2 && !s.has_init) {
    Operand condition = value(s.children[0]);
    std::vector<const Syntax*> rest(body.begin() + static_cast<std::ptrdiff_t>(from) + 1, body.end());
    Operand yes = result_of(s, {&s.children[1]}, 0);
    if (s.has_else && s.children.size() > 2) rest.insert(rest.begin(), &s.children[2]);
    Operand no = result_of(s, rest, 0);
    Operand whole;
    whole.index = condition.index && yes.index && no.index;
    whole.expression = Expression::conditional(std::move(condition.expression), std::move(yes.expression),
                                               std::move(no.expression));
    return whole;
  }
  refuse(s, file_.construct(s), "only declarations, if and return are read in a function that is called");
}

}  // namespace warploom::tile
