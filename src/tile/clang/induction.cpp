// Variables that loops count along: integers and pointers that each iteration moves by the same amount.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tile/c/simplify.hpp"
#include "tile/clang/liveness.hpp"
#include "tile/clang/translate.hpp"

namespace warploom::tile {
namespace {

constexpr std::size_t kMostParts = 60;  // of a value that grows

std::size_t nodes_of(const Expression& e) {
  std::size_t parts = 1;
  for (const Expression& operand : e.operands) parts += nodes_of(operand);
  return parts;
}

Expression product(Expression a, Expression b) {
  return simplified(Expression::binary("*", std::move(a), std::move(b)));
}

/// max(n, 0): what a loop adds that may not run at all.
Expression at_least_zero(Expression count) {
  if (count.kind == Expression::Kind::integer)
    return Expression::integer(std::max<std::int64_t>(count.value, 0));
  return Expression::call("max", {std::move(count), Expression::integer(0)});
}

Expression replaced(Expression e, const Expression& what, const Expression& by) {
  if (e == what) return by;
  for (Expression& operand : e.operands) operand = replaced(std::move(operand), what, by);
  return e;
}

/// What x is changed by in `x = x + e`. @return nullptr if it is no such assignment
const Syntax* added_to(const Syntax& assignment, const std::string& key, bool& minus) {
  const Syntax& sum = bare(assignment.children[1]);
  if (!sum.is("BinaryOperator") || sum.children.size() != 2 || (sum.operation != "+" && sum.operation != "-"))
    return nullptr;
  minus = sum.operation == "-";
  const auto is_x = [&](const Syntax& e) { return bare(e).is("DeclRefExpr") && bare(e).target == key; };
  if (is_x(sum.children[0])) return &sum.children[1];
  return !minus && is_x(sum.children[1]) ? &sum.children[0] : nullptr;
}

}  // namespace

bool Translator::is_followed(const std::string& key) const {
  const auto [known, fresh] = followed_.try_emplace(key, false);
  if (fresh) known->second = can_be_followed(key);
  return known->second;
}

/// Whether a variable's value can be followed through the run: everything that changes it sets it as a
/// statement of its own or adds to it, and nobody outside sees what is left.
bool Translator::can_be_followed(const std::string& key) const {
  if (run_.data.count(key) || iterators_.count(key)) return false;
  const Syntax* declared = survey_.declaration(key);
  if (!declared || declared->is_static) return false;
  if (!declared->is("ParmVarDecl") && !declared->is("VarDecl")) return false;
  const CType type = file_.type(declared->type);
  const bool integer = type.is_plain() && type.is_integer();
  const bool pointer = type.layers.size() == 1 && type.is_pointer();
  if ((!integer && !pointer) || type.is_volatile) return false;
  if (!survey_.written(key, first_, last_)) return false;  // a size, an array
  const bool narrow =
      integer && (type.base.find("char") != type.base.npos || type.base.find("short") != type.base.npos);
  for (const Use& use : survey_.uses(key))
    if (use.at >= first_ && use.at <= last_ && use.writes && !use.simply && (!use.steps || narrow))
      return false;
  return !is_read_after(run_.function, key, first_, last_);
}

/// Variables that are read before the run gives them a value: their value at its beginning.
void Translator::follow_from_before() {
  for (const Syntax* declared : survey_.declarations()) {
    const std::string& key = declared->id;
    if (!survey_.written(key, first_, last_) || !is_followed(key)) continue;
    if (declared->first >= first_ && declared->first <= last_) continue;
    const auto& uses = survey_.uses(key);
    const auto first = std::ranges::find_if(uses, [&](const Use& use) { return use.at >= first_; });
    if (first == uses.end() || first->at > last_ || first->simply) continue;
    Syntax name;
    name.kind = "DeclRefExpr";
    name.name = declared->name;
    name.target = key;
    name.target_kind = declared->kind;
    name.target_type = name.type = declared->type;
    name.at = declared->at;
    const bool set_again = std::ranges::any_of(
        uses, [&](const Use& use) { return use.writes && use.at < first_ && use.at != declared->first; });
    try {
      const Entity& what = entity(name);
      if (what.type.is_pointer()) {
        const bool elsewhere = points_elsewhere(key) && (declared->is("VarDecl") || set_again);
        const bool changes = std::ranges::any_of(survey_.sources(key), [&](const std::string& source) {
          return std::ranges::any_of(survey_.uses(source), [&](const Use& use) {
            return use.writes && use.at > declared->first && source != key;
          });
        });
        if (elsewhere && (set_again || changes)) continue;
        pointers_[key] = elsewhere && !declared->children.empty() ? address(declared->children.back())
                                                                  : Address{&what, {}, {}};
      } else if (what.parameter || what.initialised || set_again) {
        values_[key] = Operand{Expression::name(name_in_region(what)), true};
      }
    } catch (const NotRead&) {  // it is refused where it is used
    }
  }
}

/// Nothing that an expression speaks of changes within a loop.
bool Translator::is_invariant(const Syntax& e, const Syntax& loop, const std::string& but) const {
  if (e.is("DeclRefExpr") || e.is("MemberExpr")) {
    const std::string key = key_of(e);
    return !key.empty() && (key == but || !survey_.written(key, loop.first, loop.last));
  }
  if (e.is("CallExpr") || e.is("CXXMemberCallExpr")) return false;
  return std::ranges::all_of(e.children, [&](const Syntax& child) { return is_invariant(child, loop, but); });
}

/// How often an inner loop runs, in what does not change within the outer one.
std::optional<Expression> Translator::trips_of(const Syntax& inner, const Syntax& outer) {
  const std::string id = iterator_of(inner);
  if (id.empty() || inner.children[0].kind.empty()) return std::nullopt;
  for (const std::size_t part : {0, 2, 3})
    if (!is_invariant(inner.children[part], outer, id)) return std::nullopt;
  const auto running = running_;
  const auto used = used_;
  const auto values = values_;
  const auto pointers = pointers_;
  const int depth = depth_;
  std::optional<Expression> trips;
  try {
    trips = trips_of(loop_head(inner));
  } catch (const NotRead&) {  // the loop is refused where it stands
  } catch (const Demoted&) {
  }
  running_ = running;
  used_ = used;
  values_ = values;
  pointers_ = pointers;
  depth_ = depth;
  return trips;
}

/// Of a loop that runs; of one that does not it may be below 0.
Expression Translator::trips_of(const Node& loop) {
  const bool rising = loop.step > 0;
  Expression distance = rising ? difference(loop.limit, loop.first) : difference(loop.first, loop.limit);
  if (loop.comparison.size() == 2) distance = plus(std::move(distance), 1);
  const std::int64_t step = rising ? loop.step : -loop.step;
  if (step == 1) return distance;
  return Expression::call("floord", {plus(std::move(distance), step - 1), Expression::integer(step)});
}

/// What the loop variable is after its loop.
Expression Translator::last_value(const Node& loop) {
  return simplified(sum(loop.first, product(at_least_zero(trips_of(loop)), Expression::integer(loop.step))));
}

/// What executing a statement once adds to a variable. @return nothing if that is not known, or changes
/// within `loop`
std::optional<Expression> Translator::growth(const Syntax& s, const std::string& key, const Syntax& loop) {
  if (!survey_.written(key, s.first, s.last)) return Expression::integer(0);
  const auto by = [&](const Syntax& e, bool minus) -> std::optional<Expression> {
    if (!is_invariant(e, loop, "")) return std::nullopt;
    const int depth = depth_;
    try {
      Operand value = index_value(e);
      if (!value.index) return std::nullopt;
      return minus ? simplified(Expression::unary("-", std::move(value.expression)))
                   : std::move(value.expression);
    } catch (const NotRead&) {
    } catch (const Demoted&) {
    }
    depth_ = depth;
    return std::nullopt;
  };
  const bool own = !s.children.empty() && (s.is("UnaryOperator") || s.children.size() == 2) &&
                   bare(s.children[0]).is("DeclRefExpr") && bare(s.children[0]).target == key;
  if (own && s.is("UnaryOperator")) {
    if (s.operation != "++" && s.operation != "--") return std::nullopt;
    return Expression::integer(s.operation == "++" ? 1 : -1);
  }
  if (own && s.is("CompoundAssignOperator")) {
    if (s.operation != "+=" && s.operation != "-=") return std::nullopt;
    return by(s.children[1], s.operation == "-=");
  }
  if (own && s.is("BinaryOperator") && s.operation == "=") {
    bool minus = false;
    const Syntax* added = added_to(s, key, minus);
    return added ? by(*added, minus) : std::nullopt;
  }
  if (s.is("IfStmt") && s.children.size() > 1 && !s.has_init) {
    for (std::size_t part = 1; part < s.children.size(); ++part)
      if (survey_.written(key, s.children[part].first, s.children[part].last)) return std::nullopt;
    return growth(s.children[0], key, loop);
  }
  if (s.is("ForStmt") && s.children.size() == 5) {
    const auto inner = growth(s.children[4], key, loop), step = growth(s.children[3], key, loop);
    for (const std::size_t part : {0, 2})
      if (survey_.written(key, s.children[part].first, s.children[part].last)) return std::nullopt;
    const auto trips = trips_of(s, loop);
    if (!inner || !step || !trips) return std::nullopt;
    return product(sum(*inner, *step), at_least_zero(*trips));
  }
  const bool conditional = is_loop(s) || s.is("IfStmt") || s.is("SwitchStmt") ||
                           s.is("ConditionalOperator") || s.operation == "&&" || s.operation == "||";
  if (conditional || own || s.id == key) return std::nullopt;
  Expression all = Expression::integer(0);
  for (const Syntax& child : s.children) {
    const auto one = growth(child, key, loop);
    if (!one) return std::nullopt;
    all = sum(std::move(all), *one);
  }
  return all;
}

/// A value that grows by `by` an iteration, after so many of them.
std::optional<Expression> Translator::grown(const Expression& start, const Expression& by,
                                            Expression iterations) {
  Expression whole = sum(start, product(by, std::move(iterations)));
  if (nodes_of(whole) > kMostParts) return std::nullopt;
  return whole;
}

/// Iterations of a loop before the one that runs.
Expression Translator::iterations_before(const Node& loop) {
  const Expression i = Expression::name(loop.iterator);
  Expression distance = loop.step > 0 ? difference(i, loop.first) : difference(loop.first, i);
  const std::int64_t step = loop.step > 0 ? loop.step : -loop.step;
  return step == 1 ? distance : Expression::binary("/", std::move(distance), Expression::integer(step));
}

/// Values of variables as an iteration of the loop finds them. @return what is known of them after the loop
Translator::Known Translator::enter_loop(const Syntax& s, const Node& loop) {
  Known after{values_, pointers_};
  const Known before = after;
  const Expression trips = trips_of(loop), often = at_least_zero(trips);
  const std::int64_t step = loop.step > 0 ? loop.step : -loop.step;
  std::map<std::string, Expression> growths;
  const auto measure = [&](const std::string& key) {
    if (!survey_.written(key, s.first, s.last)) return;
    const auto body = growth(s.children[4], key, s), head = growth(s.children[3], key, s);
    if (body && head) growths[key] = sum(*body, *head);
  };
  for (const auto& [key, value] : after.values) measure(key);
  for (const auto& [key, place] : after.pointers) measure(key);

  const auto follow = [&](const std::string& key, Expression& now, Expression& then) {
    const auto found = growths.find(key);
    if (found == growths.end()) return false;
    const Expression& by = found->second;
    // Steps of s and a growth of a multiple of s: no division.
    const bool whole = by.kind == Expression::Kind::integer && by.value % step == 0;
    Node unit = loop;
    if (whole) unit.step = loop.step > 0 ? 1 : -1;
    const auto first = grown(now, whole ? Expression::integer(by.value / step) : by, iterations_before(unit));
    const auto last = grown(then, by, often);
    if (!first || !last) return false;
    now = *first;
    then = *last;
    return true;
  };
  const auto run = [&](Expression& e) {  // the loop runs here
    if (often.kind != Expression::Kind::integer) e = replaced(std::move(e), often, trips);
  };
  for (auto& [key, value] : values_) {
    auto& then = after.values.at(key);
    if (value) run(value->expression);
    if (!value || !survey_.written(key, s.first, s.last)) continue;
    if (!follow(key, value->expression, then->expression)) value.reset(), then.reset();
  }
  for (auto& [key, place] : pointers_) {
    auto& then = after.pointers.at(key);
    if (place && place->offset) run(*place->offset);
    if (!place || !survey_.written(key, s.first, s.last)) continue;
    for (auto* one : {&place, &then})
      if (!(*one)->offset) (*one)->offset = Expression::integer(0);
    if (!follow(key, *place->offset, *then->offset)) place.reset(), then.reset();
  }
  wrap_around(s, loop, before);
  return after;
}

/// `x[last]; last = i;`: what an iteration sets is what the next one finds, the first one what was before the
/// loop.
void Translator::wrap_around(const Syntax& s, const Node& loop, const Known& before) {
  const Syntax& body = s.children[4];
  const auto sets = [&](const std::string& key) -> const Syntax* {
    const Syntax* found = nullptr;
    for (const Syntax& child : body.children) {
      if (!survey_.written(key, child.first, child.last)) continue;
      if (found || set_by(child) != key || !child.is("BinaryOperator")) return nullptr;
      found = &child;
    }
    return found;
  };
  const auto found_at_start = [&](const Syntax& e, const Syntax& set, auto&& self) -> bool {
    if (!e.is("DeclRefExpr"))
      return std::ranges::all_of(e.children, [&](const Syntax& child) { return self(child, set, self); });
    if (running_.count(e.target) || !survey_.written(e.target, s.first, s.last)) return true;
    return values_.count(e.target) && values_.at(e.target) && !survey_.written(e.target, s.first, set.last);
  };
  for (bool again = body.is("CompoundStmt"); again;) {
    again = false;
    for (auto& [key, value] : values_) {
      const auto old = before.values.find(key);
      if (value || old == before.values.end() || !old->second) continue;
      const Syntax* set = sets(key);
      if (!set || !found_at_start(bare(*set).children[1], *set, found_at_start)) continue;
      std::optional<Operand> next;
      try {
        next = index_value(bare(*set).children[1]);
      } catch (const NotRead&) {
      } catch (const Demoted&) {
      }
      if (!next || !next->index || nodes_of(next->expression) > kMostParts) continue;
      const Expression i = Expression::name(loop.iterator);
      next->expression = Expression::conditional(
          Expression::binary("==", i, loop.first), old->second->expression,
          substitute(std::move(next->expression), {{loop.iterator, plus(i, -loop.step)}}));
      value = std::move(next);
      again = true;
    }
  }
}

void Translator::leave_loop(Known after) {
  // Of what the loop's body declares nothing is left.
  values_ = std::move(after.values);
  pointers_ = std::move(after.pointers);
}

/// x++, x += e as a statement, or within one that speaks of x nowhere else.
/// @return false if the variable is none that is followed
bool Translator::advance(const Syntax& lvalue, Expression by) {
  const Syntax& e = bare(lvalue);
  if (!e.is("DeclRefExpr")) return false;
  if (const auto place = pointers_.find(e.target); place != pointers_.end()) {
    if (!is_followed(e.target)) return false;
    if (!place->second) refuse(e, "pointer " + e.name, "where it points is not known here");
    auto& offset = place->second->offset;
    offset = offset ? sum(std::move(*offset), std::move(by)) : std::move(by);
    return true;
  }
  const auto value = values_.find(e.target);
  if (value == values_.end() || !is_followed(e.target)) return false;
  if (!value->second) throw Demoted{e.target};
  value->second->expression = sum(std::move(value->second->expression), std::move(by));
  return true;
}

/// `x++` within an expression: the variable as it is there. @return false if it is none that is followed
bool Translator::advance_within(const Syntax& e) {
  if (!e.is("UnaryOperator") || (e.operation != "++" && e.operation != "--") || e.children.size() != 1)
    return false;
  const Syntax& variable = bare(e.children[0]);
  if (!variable.is("DeclRefExpr") || !is_followed(variable.target)) return false;
  const auto mentions = std::ranges::count_if(survey_.uses(variable.target), [&](const Use& use) {
    return statement_ && use.at >= statement_->first && use.at <= statement_->last;
  });
  if (mentions != 1 || conditional_ > 0 || !calls_.empty())
    refuse(e, fmt::format("'{}' within an expression", e.operation), "write it as a statement of its own");
  const Expression by = Expression::integer(e.operation == "++" ? 1 : -1);
  if (!e.postfix) return advance(variable, by);
  if (!pointers_.count(variable.target) && !values_.count(variable.target)) return false;
  later_.emplace_back(&variable, by);
  return true;
}

void Translator::advance_later() {
  for (const auto& [variable, by] : std::exchange(later_, {})) advance(*variable, by);
}

}  // namespace warploom::tile
