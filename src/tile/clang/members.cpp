// Members of elements: an array of structures is looked at as rows of the numbers of one type in it.
#include <fmt/format.h>

#include <algorithm>

#include "tile/c/simplify.hpp"
#include "tile/clang/translate.hpp"

namespace warploom::tile {

/// p[i].x, p[i].v[k], and p->x of a pointer that moves.
bool Translator::is_in_element(const Syntax& expression) const {
  const Syntax& e = bare(expression);
  if (e.is("ArraySubscriptExpr") && e.children.size() == 2) return is_in_element(e.children[0]);
  if (!e.is("MemberExpr") || e.children.size() != 1 || bare(e.children[0]).is("CXXThisExpr")) return false;
  const std::string key = key_of(e.children[0]);
  return key.empty() || pointers_.count(key) > 0 || is_in_element(e.children[0]);
}

Translator::InElement Translator::in_element(const Syntax& expression) {
  const Syntax& e = bare(expression);
  const auto fail = [&](const std::string& what) { refuse(e, "member " + e.name + " of an element", what); };
  if (e.is("ArraySubscriptExpr") && is_in_element(e.children[0])) {
    InElement place = in_element(e.children[0]);
    if (!place.type.is_array()) fail("pointers in structures are not in the subset");
    place.type.layers.erase(place.type.layers.begin());
    const auto bytes = file_.records.size(place.type);
    if (!bytes) fail("its size is not known");
    place.terms.emplace_back(index(e.children[1], "subscript"), *bytes);
    return place;
  }
  if (!e.is("MemberExpr")) fail("it is in no element");
  const Syntax& base = bare(e.children[0]);
  InElement place;
  if (is_in_element(base) && !e.arrow) {
    place = in_element(base);
  } else {
    place.element = address(base);
    const auto& layers = place.element.entity->type.layers;
    if (e.arrow || place.element.subscripts.size() < layers.size())
      place.element = step(std::move(place.element), Expression::integer(0), e);
    place.type = place.element.entity->type;
    place.type.layers.clear();
  }
  if (!place.type.is_plain()) fail("pointers in structures are not in the subset");
  const auto member = file_.records.member(place.type.base, e.name);
  if (!member) fail(fmt::format("how {} lies in memory is not known", place.type.base));
  place.bytes += member->offset;
  place.shown += "." + e.name;
  const bool constant = place.type.is_const;
  place.type = member->type;
  place.type.is_const = place.type.is_const || constant;
  return place;
}

/// An element of the numbers of its type in all structures of the array.
Translator::Address Translator::member_address(const Syntax& e) {
  InElement place = in_element(e);
  const Entity& array = *place.element.entity;
  const std::optional<ScalarType> scalar = place.type.scalar();
  CType record = array.type;
  record.layers.clear();
  const auto bytes = file_.records.size(record);
  if (!scalar || !place.type.is_plain() || !bytes || place.element.offset ||
      place.element.subscripts.size() != array.type.layers.size())
    refuse(e, fmt::format("member {}{} of an element", array.shown, place.shown),
           "only numbers in arrays of structures are read");
  const ScalarType number = scalar.value();
  const std::int64_t each = size_of(number);
  std::string type(c_name(number));
  std::ranges::replace(type, ' ', '_');
  const std::string key = fmt::format("{}@{}", array.key, type);
  for (const auto& [other, entity] : entities_)
    if (other.starts_with(array.key + "."))
      refuse(e, entity.shown,
             fmt::format("the nest speaks of {}{}, too, which may be the same", array.shown, place.shown));
  if (!entities_.count(key)) {
    Entity view = array;
    view.key = key;
    view.name = array.name + "_" + type;
    view.shown = view.name;
    view.type.base = place.type.base;
    view.type.layers.push_back({CType::Layer::Kind::array, std::to_string(*bytes / each), false});
    entities_.emplace(key, std::move(view));
  }
  Address found = std::move(place.element);
  found.entity = &entities_.at(key);
  Expression within = Expression::integer(place.bytes / each);
  for (auto& [subscript, stride] : place.terms)
    within = sum(std::move(within),
                 Expression::binary("*", std::move(subscript), Expression::integer(stride / each)));
  const std::string remark =
      fmt::format("{}[{}] of each element is {}'s {}", found.entity->name,
                  to_text(Expression::integer(place.bytes / each)), array.shown, place.shown.substr(1));
  if (std::ranges::find(region_.remarks, remark) == region_.remarks.end()) region_.remarks.push_back(remark);
  within.at = e.at;
  found.subscripts.push_back(std::move(within));
  return found;
}

}  // namespace warploom::tile
