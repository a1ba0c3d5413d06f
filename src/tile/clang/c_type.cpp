#include "tile/clang/c_type.hpp"

#include <algorithm>
#include <set>

namespace warploom::tile {
namespace {

using Layer = CType::Layer;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// What stands between a bracket and its partner. @return npos if there is none
std::size_t partner(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if ((text[i] == ')' || text[i] == ']') && --depth == 0) return i;
  }
  return text.npos;
}

/// "*restrict", "(*)[n]", "[3][4]": the layers, outermost first.
std::vector<Layer> declarator(std::string_view text, int depth) {
  std::vector<Layer> pointers, inner, arrays;
  text = trimmed(text);
  while (!text.empty()) {
    if (text.front() == '*' || text.front() == '&') {
      const bool pointer = text.front() == '*';
      if (pointer || pointers.empty() || pointers.back().kind != Layer::Kind::reference)
        pointers.push_back({pointer ? Layer::Kind::pointer : Layer::Kind::reference, {}, false});
      text.remove_prefix(1);
    } else if (std::isalpha(static_cast<unsigned char>(text.front())) || text.front() == '_') {
      const std::size_t end = std::min(text.find_first_of(" *&()[]"), text.size());
      if (text.substr(0, end).find("restrict") != text.npos && !pointers.empty())
        pointers.back().is_restrict = true;
      text.remove_prefix(end);
    } else {
      break;
    }
    text = trimmed(text);
  }
  while (!text.empty()) {
    const std::size_t close = partner(text, 0);
    if (close == text.npos) return {{Layer::Kind::function, {}, false}};
    const std::string_view within = text.substr(1, close - 1);
    if (text.front() == '[') {
      arrays.push_back({Layer::Kind::array, std::string(trimmed(within)), false});
    } else if (text.front() == '(' && arrays.empty() && inner.empty() && depth < 20 && !within.empty() &&
               (within.front() == '*' || within.front() == '&')) {
      inner = declarator(within, depth + 1);
    } else {
      arrays.push_back({Layer::Kind::function, {}, false});
    }
    text = trimmed(text.substr(close + 1));
  }
  std::vector<Layer> all = std::move(inner);
  all.insert(all.end(), arrays.begin(), arrays.end());
  all.insert(all.end(), pointers.rbegin(), pointers.rend());
  return all;
}

const std::set<std::string_view> kTags{"struct", "union", "class", "enum", "typename"};

}  // namespace

CType read_type(std::string_view text, const std::map<std::string, std::string>& aliases) {
  CType type;
  std::size_t end = 0;
  for (int angles = 0; end < text.size(); ++end) {
    if (text[end] == '<') ++angles;
    if (text[end] == '>') --angles;
    if (angles == 0 && (text[end] == '*' || text[end] == '&' || text[end] == '[' || text[end] == '(')) break;
  }
  std::string_view words = text.substr(0, end);
  type.layers = declarator(text.substr(end), 0);
  while (!(words = trimmed(words)).empty()) {
    const std::size_t space = words.find('<') != words.npos && words.find('<') < words.find(' ')
                                  ? words.size()  // a template's arguments may hold spaces
                                  : std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, space);
    words.remove_prefix(space);
    if (word == "const")
      type.is_const = true;
    else if (word == "volatile")
      type.is_volatile = true;
    else if (word == "enum")
      type.base = "int", words = {};
    else if (!kTags.count(word))
      type.base += (type.base.empty() ? "" : " ") + std::string(word);
  }
  for (int steps = 0; steps < 20; ++steps) {
    const auto alias = aliases.find(type.base);
    if (alias == aliases.end() || alias->second == type.base) break;
    const CType meant = read_type(alias->second, {});
    type.base = meant.base;
    type.is_const = type.is_const || meant.is_const;
    type.is_volatile = type.is_volatile || meant.is_volatile;
    type.layers.insert(type.layers.end(), meant.layers.begin(), meant.layers.end());
    if (type.layers.size() > 20) break;
  }
  return type;
}

std::optional<ScalarType> CType::scalar() const {
  static const std::map<std::string_view, ScalarType> types{{"float", ScalarType::float32},
                                                            {"double", ScalarType::float64},
                                                            {"int", ScalarType::int32},
                                                            {"signed int", ScalarType::int32},
                                                            {"char", ScalarType::character},
                                                            {"signed char", ScalarType::int8},
                                                            {"unsigned char", ScalarType::uint8},
                                                            {"short", ScalarType::int16},
                                                            {"unsigned short", ScalarType::uint16},
                                                            {"unsigned int", ScalarType::uint32},
                                                            {"unsigned", ScalarType::uint32},
                                                            {"long", ScalarType::int64},
                                                            {"long int", ScalarType::int64},
                                                            {"long long", ScalarType::int64},
                                                            {"unsigned long", ScalarType::uint64},
                                                            {"unsigned long long", ScalarType::uint64}};
  const auto found = types.find(base);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

bool CType::is_integer() const {
  static const std::set<std::string_view> integers{
      "int",   "unsigned int",   "long",       "unsigned long", "long long",     "unsigned long long",
      "short", "unsigned short", "char",       "signed char",   "unsigned char", "bool",
      "_Bool", "long int",       "signed int", "unsigned",      "__int128"};
  return integers.count(base) > 0;
}

bool CType::is_unsigned() const { return base.starts_with("unsigned"); }

bool CType::wider_than_int() const {
  return is_integer() && (base.find("long") != base.npos || base == "unsigned int" || base == "unsigned");
}

std::string CType::text() const {
  std::string all = base;
  for (const Layer& layer : layers)
    all += layer.kind == Layer::Kind::pointer     ? " *"
           : layer.kind == Layer::Kind::reference ? " &"
           : layer.kind == Layer::Kind::array     ? "[" + layer.extent + "]"
                                                  : " ()";
  return all;
}

}  // namespace warploom::tile
