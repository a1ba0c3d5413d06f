// What names, members and pointers stand for.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "tile/c/simplify.hpp"
#include "tile/clang/liveness.hpp"
#include "tile/clang/translate.hpp"

namespace warploom::tile {
namespace {

constexpr int kDeepestPlace = 300;  // of names that stand for others: `float *p = p` has no end

/// The element's type of a std::vector, of a std::array with its length: what they hold is reached as through
/// a pointer, as an array.
bool unwrap_container(CType& type, const std::map<std::string, std::string>& aliases) {
  std::string_view base = type.base;
  if (base.starts_with("std::")) base.remove_prefix(5);
  const std::size_t open = base.find('<');
  if (open == base.npos || !base.ends_with('>')) return false;
  const std::string_view kind = base.substr(0, open);
  const std::string_view arguments = base.substr(open + 1, base.size() - open - 2);
  if (arguments.find('<') < arguments.find(',')) return false;
  const std::size_t comma = arguments.find(',');
  CType::Layer layer;
  if (kind == "vector" || kind == "span") {
    layer.kind = CType::Layer::Kind::pointer;
  } else if (kind == "array" && comma != arguments.npos) {
    layer.kind = CType::Layer::Kind::array;
    layer.extent = std::string(arguments.substr(comma + 1));
    std::erase(layer.extent, ' ');
    if (layer.extent.ends_with("UL")) layer.extent.resize(layer.extent.size() - 2);
  } else {
    return false;
  }
  const CType element = read_type(arguments.substr(0, comma), aliases);
  type.base = element.base;
  type.is_const = type.is_const || element.is_const;
  type.layers.push_back(std::move(layer));
  type.layers.insert(type.layers.end(), element.layers.begin(), element.layers.end());
  return true;
}

/// Whether the run speaks of what a reference, or a pointer to a structure, of the function is set from: the
/// same memory under another name.
bool has_two_names(const Run& run, const std::string& id) {
  const Syntax* declared = run.survey.declaration(id);
  if (!declared || !declared->is("VarDecl")) return false;
  std::set<std::string> keys = run.survey.sources(id);
  if (!declared->children.empty()) {
    const Syntax* e = &bare(declared->children.back());
    while (!e->children.empty() &&
           (e->is("UnaryOperator") || e->is("ArraySubscriptExpr") || e->is("BinaryOperator")))
      e = &bare(e->children[0]);
    if (const std::string key = key_of(*e); !key.empty()) keys = {key};
  }
  std::erase_if(keys, [&](const std::string& key) {
    const Syntax* source = run.survey.declaration(key);
    return source && run.file.type(source->type).is_plain() && run.file.type(source->type).is_integer();
  });
  const auto speaks = [&](auto&& self, const Syntax& node) -> bool {
    if (&node == declared) return false;
    const std::string key = key_of(node);
    return (!key.empty() && keys.count(key) > 0) ||
           std::ranges::any_of(node.children, [&](const Syntax& child) { return self(self, child); });
  };
  return std::ranges::any_of(run.statements, [&](const Syntax* s) { return speaks(speaks, *s); });
}

constexpr const char* kSecondName = "it is another name for what the nest speaks of, too; write that";

}  // namespace

Translator::Entity Translator::described(const std::string& id, const Syntax& e) {
  Entity entity;
  entity.key = id;
  entity.name = entity.shown = e.name;
  entity.type = file_.type(e.target_type);
  entity.at = e.at;
  if (const Syntax* local = survey_.declaration(id)) {
    entity.at = local->at;
    entity.type = file_.type(local->type);
    entity.parameter = local->is("ParmVarDecl");
    entity.is_static = local->is_static;
    entity.inside = !entity.parameter && !entity.is_static && local->first >= first_ && local->first <= last_;
    entity.initialised = entity.parameter || !local->children.empty();
    entity.declared = local->first;
  } else if (const Syntax* global = file_.global(id)) {
    entity.at = global->at;
    entity.type = file_.type(global->type);
    entity.global = true;
    entity.initialised = !global->children.empty();
  } else {
    entity.global = e.target_kind == "VarDecl";
    if (!entity.global) refuse(e, e.name.empty() ? file_.construct(e) : e.name, "it is no variable");
  }
  return entity;
}

/// @param e  DeclRefExpr or MemberExpr of such
const Translator::Entity& Translator::entity(const Syntax& expression) {
  const Syntax* e = &bare(expression);
  const Raised depth(places_);
  if (places_ > kDeepestPlace) refuse(*e, e->name, "it stands for itself");
  if (const auto object = objects_.find(e->target); e->is("DeclRefExpr") && object != objects_.end())
    e = object->second;
  // *s and &s of structures are s
  while (e->is("UnaryOperator") && (e->operation == "*" || e->operation == "&") && e->children.size() == 1)
    e = &bare(e->children[0]);
  if (e->is("DeclRefExpr")) {
    if (const auto object = objects_.find(e->target); object != objects_.end())
      return entity(*object->second);
    const auto found = entities_.find(e->target);
    if (found != entities_.end()) return found->second;
    Entity made = described(e->target, *e);
    if (made.type.is_reference()) {
      made.type.layers.erase(made.type.layers.begin());
      if (made.type.is_plain() && (made.type.is_integer() || made.type.scalar()) && !made.parameter)
        refuse(*e, "reference " + e->name, "it is another name for a variable or an element; write that");
      made.global = !made.parameter;  // lives elsewhere
      made.reference = true;
      if (has_two_names(run_, e->target)) refuse(*e, e->name, kSecondName);
    }
    unwrap_container(made.type, file_.translation.aliases);
    return entities_.emplace(e->target, std::move(made)).first->second;
  }
  if (e->is("CXXThisExpr")) {
    if (const auto object = objects_.find("this"); object != objects_.end()) return entity(*object->second);
    Entity self;
    self.key = "this";
    self.global = true;
    self.at = e->at;
    return entities_.emplace("this", std::move(self)).first->second;
  }
  if (!e->is("MemberExpr") || e->children.size() != 1)
    refuse(*e, file_.construct(*e), "only variables, their members and elements of arrays are read");
  const Entity& base = entity(e->children[0]);
  const std::string key = base.key + "." + e->name;
  if (base.type.is_pointer() && has_two_names(run_, base.key)) refuse(*e, base.shown, kSecondName);
  for (const auto& [other, view] : entities_)
    if (other.starts_with(base.key + "@"))
      refuse(*e, e->name, fmt::format("the nest speaks of {}, too, which may be the same", view.shown));
  if (const auto found = entities_.find(key); found != entities_.end()) return found->second;
  Entity member = base;
  member.key = key;
  member.name = base.key == "this" ? e->name : base.name + "_" + e->name;
  member.shown = base.key == "this" ? e->name : base.shown + (e->arrow ? "->" : ".") + e->name;
  member.type = file_.type(e->type);
  if (member.type.is_reference()) member.type.layers.erase(member.type.layers.begin());
  unwrap_container(member.type, file_.translation.aliases);
  if (survey_.written(base.key, first_, last_))
    refuse(*e, member.shown, fmt::format("{} changes within the nest", base.shown));
  return entities_.emplace(key, std::move(member)).first->second;
}

Translator::Address Translator::address(const Syntax& expression) {
  const Syntax& e = bare(expression);
  const Raised depth(places_);
  if (places_ > kDeepestPlace) refuse(e, e.name, "it points to itself");
  if (is_in_element(e)) return member_address(e);
  if (e.is("DeclRefExpr") || e.is("MemberExpr")) {
    if (const auto known = pointers_.find(key_of(e)); known != pointers_.end()) {
      if (!known->second) refuse(e, "pointer " + e.name, "where it points is not known here");
      return *known->second;
    }
    if (e.is("MemberExpr") && key_of(e).empty() && e.children.size() == 1 &&
        !e.children[0].is("CXXThisExpr")) {
      const Syntax& base = bare(e.children[0]);
      if (!base.is("DeclRefExpr") && !base.is("MemberExpr") && !base.is("UnaryOperator") &&
          !base.is("CXXThisExpr"))
        refuse(e, "member " + e.name, "it is in no variable");
    }
    const Entity& what = entity(e);
    if (what.type.is_pointer() && (what.inside || survey_.written(what.key, first_, last_)))
      refuse(e, "pointer " + what.shown, "it changes within the nest; write the element as NAME[subscript]");
    if (what.type.is_pointer() && points_to_own(what.key))
      refuse(e, "pointer " + what.shown,
             "it may point to a variable that the nest speaks of, too; write that");
    // A pointer into another array, from before the nest.
    const Syntax* declared = what.type.is_pointer() ? survey_.declaration(what.key) : nullptr;
    if (declared && declared->is("VarDecl") && points_elsewhere(what.key)) {
      Address place = pointee(*declared);
      return *pointers_.emplace(what.key, std::move(place)).first->second;
    }
    return {&what, {}, {}};
  }
  if (e.is("ArraySubscriptExpr") && e.children.size() == 2)
    return step(address(e.children[0]), subscript(e.children[1]), e);
  if (e.is("CXXOperatorCallExpr") && e.children.size() == 3 && bare(e.children[0]).name == "operator[]")
    return step(address(e.children[1]), subscript(e.children[2]), e);
  if (advance_within(e)) return address(e.children[0]);
  if (e.is("UnaryOperator") && e.operation == "*")
    return step(address(e.children.at(0)), Expression::integer(0), e);
  if (e.is("UnaryOperator") && e.operation == "&") {
    Address place = address(e.children.at(0));
    if (place.subscripts.empty()) refuse(e, "address-of", "only of elements of arrays");
    place.offset = std::move(place.subscripts.back());
    place.subscripts.pop_back();
    return place;
  }
  if (e.is("BinaryOperator") && (e.operation == "+" || e.operation == "-") && e.children.size() == 2) {
    const bool left =
        file_.type(e.children[0].type).is_pointer() || file_.type(e.children[0].type).is_array();
    if (!left && e.operation == "-") refuse(e, "difference", "it is no pointer");
    Address place = address(e.children[left ? 0 : 1]);
    Expression by = index(e.children[left ? 1 : 0], "offset");
    if (place.offset)
      place.offset = Expression::binary(e.operation, std::move(*place.offset), std::move(by));
    else
      place.offset = e.operation == "+" ? std::move(by) : Expression::unary("-", std::move(by));
    return place;
  }
  if ((e.is("CStyleCastExpr") || e.is("CXXStaticCastExpr") || e.is("CXXReinterpretCastExpr") ||
       e.is("CXXConstCastExpr")) &&
      e.children.size() == 1) {
    Address place = address(e.children[0]);
    const CType type = file_.type(e.type);
    if (type.base != place.entity->type.base || type.layers.size() != place.entity->type.layers.size() ||
        type.layers.size() != 1)
      refuse(e, "cast to " + type.text(), "the elements are of another type or shape");
    return place;
  }
  if (e.is("CXXMemberCallExpr") && e.children.size() == 1 && bare(e.children[0]).name == "data" &&
      bare(e.children[0]).children.size() == 1)
    return address(bare(e.children[0]).children[0]);
  if ((e.is("CXXMemberCallExpr") || e.is("CallExpr")) && !e.children.empty()) {
    const Syntax* function = file_.definition(bare(e.children[0]));
    if (function) return place_of(e, *function);
  }
  refuse(e, file_.construct(e), "it is no array, and no pointer that stays where it is");
}

/// Whether what a pointer is set to speaks of another pointer or array.
bool Translator::points_elsewhere(const std::string& key) const {
  return std::ranges::any_of(survey_.sources(key), [&](const std::string& source) {
    const std::string id = source.substr(0, source.find('.'));
    const Syntax* declared = survey_.declaration(id);
    if (!declared) declared = file_.global(id);
    if (!declared) return source.starts_with("this");
    const CType type = file_.type(declared->type);
    return !type.is_plain() || !(type.is_integer() || type.scalar());
  });
}

/// Whether a pointer may be set to the address of a variable of the run.
bool Translator::points_to_own(const std::string& key) const {
  return std::ranges::any_of(survey_.sources(key), [&](const std::string& source) {
    const Syntax* declared = survey_.declaration(source);
    const auto inside = [&](const Use& use) { return use.at >= first_ && use.at <= last_; };
    return declared && file_.type(declared->type).is_plain() && is_aliased(run_.function, source) &&
           std::ranges::any_of(survey_.uses(source), inside);
  });
}

/// What a pointer is set to by its declaration, if it stays there as long as it lives, or until the run ends.
Translator::Address Translator::pointee(const Syntax& variable) {
  const auto fail = [&](const std::string& why) {
    refuse(variable, "pointer " + variable.name, why + "; write the element as NAME[subscript]");
  };
  for (const Use& use : survey_.uses(variable.id))
    if (use.writes && use.at != variable.first) fail("it points to several places");
  if (variable.children.empty()) fail("it is not set where it is declared");
  const bool inside = variable.first >= first_ && variable.first <= last_;
  const std::size_t until = inside ? last_ : std::numeric_limits<std::size_t>::max();
  for (const std::string& source : survey_.sources(variable.id))
    for (const Use& use : survey_.uses(source))
      if (use.writes && use.at > variable.first && use.at <= until && !running_.count(source) &&
          !values_.count(source))
        fail("what it is set from changes afterwards");
  return address(variable.children.back());
}

/// Rows that are reached through pointers from outside, which stay as they are: "float **A". Which rows are
/// one is not known: it is assumed that none are.
bool Translator::has_row_pointers(const Entity& entity) {
  using Kind = CType::Layer::Kind;
  const auto& layers = entity.type.layers;
  return layers.size() > 1 && !entity.inside && entity.key.find('@') == std::string::npos &&
         (layers[0].kind == Kind::pointer || layers[0].kind == Kind::array) &&
         std::ranges::all_of(layers.begin() + 1, layers.end(),
                             [](const CType::Layer& layer) { return layer.kind == Kind::pointer; });
}

Translator::Address Translator::step(Address from, Expression subscript, const Syntax& at) const {
  const auto& layers = from.entity->type.layers;
  const std::size_t depth = from.subscripts.size();
  if (depth >= layers.size()) refuse(at, "subscript of " + from.entity->shown, "it is no array");
  using Kind = CType::Layer::Kind;
  if (layers[depth].kind == Kind::function) refuse(at, from.entity->shown, "it is a function");
  if (depth > 0 && layers[depth].kind != Kind::array && !has_row_pointers(*from.entity))
    refuse(
        at, fmt::format("{} of type {}", from.entity->shown, from.entity->type.text()),
        "pointers to pointers are read where all rows are reached through pointers that nothing within the nest "
        "sets; declare an array with its extents");
  if (from.offset) {
    const bool nothing = subscript == Expression::integer(0);
    subscript = nothing ? std::move(*from.offset)
                        : Expression::binary("+", std::move(*from.offset), std::move(subscript));
    from.offset.reset();
  }
  if (subscript.at.line == 0) subscript.at = at.at;
  from.subscripts.push_back(std::move(subscript));
  return from;
}

Expression Translator::element_of(const Address& place, const Syntax& e) {
  const Entity& array = *place.entity;
  if (array.type.is_volatile) refuse(e, array.shown, "it is volatile");
  if (!array.type.scalar())
    refuse(e,
           fmt::format("array {} of type {}", array.shown, array.type.base.empty() ? "?" : array.type.base),
           "elements are of type float, double or an integer's");
  if (place.offset || place.subscripts.size() != array.type.layers.size())
    refuse(e,
           fmt::format("{} with {} of {} subscripts", array.shown, place.subscripts.size(),
                       array.type.layers.size()),
           "arrays are used by their elements only");
  if (place.subscripts.empty()) refuse(e, array.shown, "it is no element of an array");
  Expression element = Expression::element(name_in_region(array), place.subscripts);
  element.at = e.at;
  return element;
}

std::vector<Expression> Translator::extents(const Entity& entity) {
  std::vector<Expression> all;
  for (const CType::Layer& layer : entity.type.layers) {
    Expression one = Expression::name("");
    if (layer.kind == CType::Layer::Kind::array && !layer.extent.empty()) one = extent(layer.extent, entity);
    one.at = entity.at;
    all.push_back(std::move(one));
  }
  return all;
}

/// Clang spells an extent that is no number as the source does: "n", "n + 1".
Expression Translator::extent(const std::string& text, const Entity& entity) {
  const auto fail = [&](const std::string& why) {
    throw NotRead{{entity.at, fmt::format("extent {} of {}", text, entity.shown), why}};
  };
  std::size_t at = 0;
  const auto space = [&] {
    while (at < text.size() && text[at] == ' ') ++at;
  };
  const auto taken = [&](char c) {
    space();
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  };
  int depth = 0;
  const auto sum = [&](auto&& self) -> Expression {
    if (++depth > 50) fail("it is nested too deep");
    const auto primary = [&]() -> Expression {
      if (taken('(')) {
        Expression inner = self(self);
        if (!taken(')')) fail("it cannot be read");
        return inner;
      }
      const std::size_t begin = at;
      while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_'))
        ++at;
      const std::string word = text.substr(begin, at - begin);
      if (word.empty()) fail("it cannot be read");
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (error == std::errc() && end != word.data()) return Expression::integer(number);
      // The variable of this name that is declared last before the array.
      const Syntax* found = nullptr;
      for (const Syntax* declared : survey_.declarations())
        if (declared->name == word && (entity.declared == 0 || declared->first < entity.declared) &&
            (!found || declared->first > found->first))
          found = declared;
      if (!found) fail(word + " is not known");
      Syntax name;
      name.kind = "DeclRefExpr";
      name.name = word;
      name.target = found->id;
      name.target_kind = found->kind;
      name.target_type = found->type;
      name.at = entity.at;
      name.type = found->type;
      Operand size = variable(name);
      if (!size.index) fail(word + " is no size: the nest changes it");
      return std::move(size.expression);
    };
    const auto product = [&]() -> Expression {
      Expression left = primary();
      while (taken('*')) left = Expression::binary("*", std::move(left), primary());
      return left;
    };
    Expression left = product();
    while (true) {
      if (taken('+'))
        left = Expression::binary("+", std::move(left), product());
      else if (taken('-'))
        left = Expression::binary("-", std::move(left), product());
      else
        break;
      // n + 0, as padded macros write it
      if (left.operands[1] == Expression::integer(0)) left = Expression(left.operands[0]);
    }
    --depth;
    return left;
  };
  Expression whole = sum(sum);
  space();
  if (at != text.size()) fail("it cannot be read");
  if (whole.kind == Expression::Kind::integer && whole.value < 1)
    fail(fmt::format("{} is not positive", whole.value));
  return whole;
}

bool Translator::is_size(const Entity& entity) const {
  return entity.type.is_plain() && entity.type.is_integer() && !entity.inside &&
         (!survey_.written(entity.key, first_, last_) || is_followed(entity.key)) &&
         !iterators_.count(entity.key);
}

/// Whether some statement of the run assigns elements of this type, in whatever array.
bool Translator::writes_elements_of(const std::string& type) const {
  const auto writes = [&](auto&& self, const Syntax& node) -> bool {
    const bool assigns = (node.is("BinaryOperator") && node.operation == "=") ||
                         node.is("CompoundAssignOperator") ||
                         (node.is("UnaryOperator") && (node.operation == "++" || node.operation == "--"));
    if (assigns && !node.children.empty()) {
      const Syntax& target = bare(node.children[0]);
      if (!target.is("DeclRefExpr") && !target.is("MemberExpr") && file_.type(target.type).base == type)
        return true;
    }
    return std::ranges::any_of(node.children, [&](const Syntax& child) { return self(self, child); });
  };
  return std::ranges::any_of(run_.statements, [&](const Syntax* s) { return writes(writes, *s); });
}

/// Whether the run takes the value of a variable from outside, or leaves one there.
bool Translator::is_seen_outside(const Entity& entity) const {
  // Members of elements are the array that holds them.
  if (!entity.type.is_plain())
    return std::ranges::any_of(survey_.uses(entity.key.substr(0, entity.key.find('@'))), [&](const Use& use) {
      return use.at > last_ || (use.at < first_ && use.at != entity.declared);
    });
  return is_read_after(run_.function, entity.key, first_, last_) ||
         (!entity.inside && needs_value(run_.statements, entity.key));
}

std::string Translator::fresh_name(const std::string& name, bool loop) const {
  const auto free = [&](const std::string& candidate) {
    const auto found = used_.find(candidate);
    if (found == used_.end()) return true;
    return loop && found->second &&
           std::ranges::none_of(running_, [&](const auto& around) { return around.second == candidate; });
  };
  std::string plain = name.empty() ? "unnamed" : name;  // what Clang prints may be no identifier
  for (char& c : plain)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  if (std::isdigit(static_cast<unsigned char>(plain[0]))) plain.insert(0, "_");
  if (free(plain)) return plain;
  for (int number = 2;; ++number)
    if (const std::string candidate = fmt::format("{}_{}", plain, number); free(candidate)) return candidate;
}

std::string Translator::name_in_region(const Entity& entity) {
  if (const auto found = named_.find(entity.key); found != named_.end()) return found->second;
  const std::vector<Expression> all_extents = extents(entity);  // sizes in them come first
  const std::string name = fresh_name(entity.name, false);
  named_[entity.key] = name;
  used_[name] = false;
  region_.text.expressions[name] = entities_.at(entity.key.substr(0, entity.key.find('@'))).shown;
  if (entity.key.find('@') != std::string::npos) region_.text.views.push_back(name);
  if (name != entity.shown && entity.shown.find_first_of(".>[") != std::string::npos)
    region_.remarks.push_back(fmt::format("{} stands for {}", name, entity.shown));
  if (is_size(entity)) {
    region_.sizes.push_back(name);
    region_.size_declarations[name] = {entity.type.base, entity.type.wider_than_int(), entity.at};
    region_.parameters.push_back(name);
    return name;
  }
  const bool assigned = survey_.written(entity.key, first_, last_);
  if (entity.reference && entity.type.is_plain())
    region_.remarks.push_back(name +
                              ", a reference, is assumed to be no other variable or element of the nest");
  const bool member = entity.key.find('.') != std::string::npos;
  Variable variable;
  variable.name = name;
  variable.type = *entity.type.scalar();
  variable.extents = all_extents;
  variable.is_constant = entity.type.is_const;
  variable.at = entity.at;
  variable.is_flat = entity.type.is_pointer() && entity.type.layers.size() == 1;
  variable.has_row_pointers = has_row_pointers(entity);
  if (variable.has_row_pointers)
    region_.remarks.push_back(fmt::format("the rows of {} are assumed not to overlap", name));
  const bool outlives = entity.global || member || entity.is_static || entity.parameter;
  const bool array = !entity.type.is_plain() && !entity.inside && entity.initialised;
  variable.is_parameter =
      outlives || is_seen_outside(entity) || array || (entity.type.is_pointer() && !entity.inside);
  const bool of_call = entity.parameter && !entity.reference && run_.whole;  // lost when the function ends
  variable.is_result = entity.type.is_plain() && assigned && variable.is_parameter && !of_call;
  if (variable.is_parameter)
    region_.parameters.push_back(name);
  else if (entity.inside && !entity.is_static)
    for (auto around = loops_.rbegin(); around != loops_.rend(); ++around)
      if (entity.declared >= around->first->first && entity.declared <= around->first->last) {
        around->second->locals.push_back(name);
        break;
      }
  region_.variables.push_back(std::move(variable));
  return name;
}

}  // namespace warploom::tile
