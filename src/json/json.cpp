#include "warploom/json/json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "warploom/core/error.hpp"
#include "warploom/core/overloaded.hpp"

namespace warploom {
namespace {

using Library = nlohmann::ordered_json;

}  // namespace

/// Between our values and the library's.
struct JsonText {
  static Library library(const Json& json) {
    return std::visit(Overloaded{[](const auto& scalar) { return Library(scalar); },
                                 [](const Json::Array& array) {
                                   Library out = Library::array();
                                   for (const Json& element : array) out.push_back(library(element));
                                   return out;
                                 },
                                 [](const Json::Object& object) {
                                   Library out = Library::object();
                                   for (const auto& [key, value] : object) out[key] = library(value);
                                   return out;
                                 }},
                      json.value_);
  }

  static Json ours(const Library& from) {
    switch (from.type()) {
      case Library::value_t::object: {
        Json::Object object;
        for (const auto& [key, value] : from.items()) object.emplace_back(key, ours(value));
        return Json(Json::Value(std::move(object)));
      }
      case Library::value_t::array: {
        Json::Array array;
        for (const Library& element : from) array.push_back(ours(element));
        return Json(Json::Value(std::move(array)));
      }
      case Library::value_t::string:
        return from.get<std::string>();
      case Library::value_t::boolean:
        return from.get<bool>();
      case Library::value_t::number_integer:
        return from.get<std::int64_t>();
      case Library::value_t::number_unsigned:
        return from.get<std::uint64_t>();
      case Library::value_t::number_float:
        return from.get<double>();
      default:
        return nullptr;
    }
  }
};

Json::Json(std::nullptr_t) : value_(nullptr) {}
Json::Json(Value value) : value_(std::move(value)) {}
Json::Json(const char* text) {
  if (text == nullptr) throw BadInput("JSON: the text is a null pointer");
  value_ = std::string(text);
}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json::Json(std::initializer_list<Json> values) {
  const bool pairs = std::ranges::all_of(values, [](const Json& value) {
    return value.is_array() && value.size() == 2 && value.at(std::size_t{0}).is_string();
  });
  if (!pairs) {
    value_ = Array(values);
    return;
  }
  Object object;
  for (const Json& pair : values)
    object.emplace_back(pair.at(std::size_t{0}).as_text(), pair.at(std::size_t{1}));
  value_ = std::move(object);
}

Json Json::array(std::initializer_list<Json> values) { return Json(Value(Array(values))); }
Json Json::object() { return Json(Value(Object{})); }

Json Json::parse(std::string_view text) {
  constexpr int kDeepest = 1000;
  const auto not_too_deep = [](int depth, Library::parse_event_t, const Library&) {
    if (depth > kDeepest)
      throw BadInput("JSON: arrays and objects lie in one another more than " + std::to_string(kDeepest) +
                     " deep");
    return true;
  };
  try {
    return JsonText::ours(Library::parse(text, not_too_deep));
  } catch (const Library::exception& error) {
    throw BadInput(std::string("JSON: ") + error.what());
  }
}

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_array() const { return std::holds_alternative<Array>(value_); }
bool Json::is_object() const { return std::holds_alternative<Object>(value_); }

bool Json::contains(std::string_view key) const {
  return is_object() && std::ranges::find(items(), key, &Object::value_type::first) != items().end();
}

std::size_t Json::size() const {
  return std::visit(
      Overloaded{[](const Array& array) { return array.size(); },
                 [](const Object& object) { return object.size(); },
                 [](std::nullptr_t) { return std::size_t{0}; }, [](const auto&) { return std::size_t{1}; }},
      value_);
}

Json& Json::push_back(Json value) {
  if (is_null()) value_ = Array{};
  if (!is_array()) refuse("an array");
  return std::get<Array>(value_).emplace_back(std::move(value));
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object{};
  if (!is_object()) refuse("an object");
  auto& object = std::get<Object>(value_);
  const auto found = std::ranges::find(object, key, &Object::value_type::first);
  return found != object.end() ? found->second : object.emplace_back(key, nullptr).second;
}

const Json& Json::at(std::string_view key) const {
  const auto found = std::ranges::find(items(), key, &Object::value_type::first);
  if (found == items().end()) throw BadInput("JSON: there is no \"" + std::string(key) + "\"");
  return found->second;
}

void Json::erase(std::string_view key) {
  if (is_object())
    std::erase_if(std::get<Object>(value_), [&](const auto& pair) { return pair.first == key; });
}

void Json::update(const Json& other) {
  for (const auto& [key, value] : other.items()) (*this)[key] = value;
}

const Json& Json::at(std::size_t index) const {
  if (index >= elements().size()) refuse("an array with more elements");
  return elements()[index];
}

const Json::Array& Json::elements() const {
  if (!is_array()) refuse("an array");
  return std::get<Array>(value_);
}

Json::Array& Json::elements() {
  if (!is_array()) refuse("an array");
  return std::get<Array>(value_);
}

const Json::Object& Json::items() const {
  if (!is_object()) refuse("an object");
  return std::get<Object>(value_);
}

bool Json::as_bool() const {
  if (const bool* value = std::get_if<bool>(&value_)) return *value;
  refuse("true or false");
}

std::int64_t Json::as_whole() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&value_);
      value != nullptr && std::in_range<std::int64_t>(*value))
    return static_cast<std::int64_t>(*value);
  refuse("a whole number");
}

double Json::as_real() const {
  if (const double* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  return static_cast<double>(as_whole());
}

const std::string& Json::as_text() const {
  if (const std::string* value = std::get_if<std::string>(&value_)) return *value;
  refuse("text");
}

void Json::refuse(std::string_view expected) const {
  constexpr std::size_t kShown = 80;
  const std::string text = dump();
  throw BadInput("JSON: " + std::string(expected) + " is expected, not " + text.substr(0, kShown) +
                 (text.size() > kShown ? "..." : ""));
}

std::string Json::dump(int indent) const {
  return JsonText::library(*this).dump(indent, ' ', false, Library::error_handler_t::replace);
}

bool Json::operator==(const Json& other) const {
  return JsonText::library(*this) == JsonText::library(other);
}

}  // namespace warploom
