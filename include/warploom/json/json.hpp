#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace warploom {

/// A JSON value, whose objects keep the order of their keys. A small face over the library that reads and
/// writes JSON, which only json.cpp includes.
///
///   Json json = {{"version", version()}, {"sizes", std::vector{1, 2}}};
///   json["kernels"] = Json::array();
///
/// Braces give an object where each element is a pair whose first is a string, else an array.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json(std::nullptr_t = nullptr);
  Json(std::same_as<bool> auto value) : Json(Value(value)) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Json(T value) : Json(number(value)) {}
  Json(std::floating_point auto value) : Json(Value(static_cast<double>(value))) {}
  Json(const char* text);  ///< @throws BadInput (a null pointer)
  Json(std::string_view text);
  Json(std::string text);
  Json(std::initializer_list<Json> values);
  template <std::ranges::input_range Range>
  requires(!std::convertible_to<Range, std::string_view> && !std::same_as<std::remove_cvref_t<Range>, Json> &&
           std::constructible_from<Json, std::ranges::range_reference_t<Range>>) Json(const Range& values)
      : Json(Value(Array{})) {
    for (const auto& value : values) push_back(value);
  }
  /// An object of a map.
  template <std::ranges::input_range Map>
  requires std::convertible_to<typename Map::value_type::first_type, std::string> Json(const Map& pairs)
      : Json(Value(Object{})) {
    for (const auto& [key, value] : pairs) (*this)[key] = value;
  }
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  static Json array(std::initializer_list<Json> values = {});
  static Json object();
  /// @throws BadInput (it is no JSON; more than 1000 arrays and objects in one another), saying where
  static Json parse(std::string_view text);

  bool is_null() const;
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;
  bool contains(std::string_view key) const;
  std::size_t size() const;  ///< elements of an array, pairs of an object, 0 of null, else 1
  bool empty() const { return size() == 0; }

  /// Of null an array or an object is made.
  Json& push_back(Json value);
  Json& operator[](std::string_view key);
  /// @throws BadInput (there is none)
  const Json& at(std::string_view key) const;
  const Json& at(std::size_t index) const;
  void erase(std::string_view key);
  /// Takes over the pairs of another object.
  void update(const Json& other);
  /// @throws BadInput (it is no array, no object)
  const Array& elements() const;
  Array& elements();
  const Object& items() const;

  /// bool, number, string or vector of these. @throws BadInput (it is another kind, or the number does not
  /// fit)
  template <class T>
  T get() const {
    if constexpr (std::same_as<T, bool>)
      return as_bool();
    else if constexpr (std::integral<T>) {
      const std::int64_t whole = as_whole();
      if (!std::in_range<T>(whole)) refuse("a number that fits");
      return static_cast<T>(whole);
    } else if constexpr (std::floating_point<T>)
      return static_cast<T>(as_real());
    else if constexpr (std::same_as<T, std::string>)
      return as_text();
    else {
      T all;
      for (const Json& element : elements()) all.push_back(element.get<typename T::value_type>());
      return all;
    }
  }

  template <class T>
  void to(T& value) const {
    value = get<T>();
  }
  /// The value of a key, or what to take where there is none.
  template <class T>
  T value(std::string_view key, T otherwise) const {
    return contains(key) ? at(key).get<T>() : otherwise;
  }

  /// Spaces of indentation a level; -1: one line. Bytes that are no UTF-8 become U+FFFD.
  std::string dump(int indent = -1) const;

  bool operator==(const Json& other) const;

 private:
  using Value =
      std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object>;
  friend struct JsonText;

  explicit Json(Value value);
  template <std::integral T>
  static Value number(T value) {
    if constexpr (std::is_signed_v<T>) return static_cast<std::int64_t>(value);
    return static_cast<std::uint64_t>(value);
  }
  bool as_bool() const;
  std::int64_t as_whole() const;
  double as_real() const;
  const std::string& as_text() const;
  [[noreturn]] void refuse(std::string_view expected) const;

  Value value_;
};

}  // namespace warploom
