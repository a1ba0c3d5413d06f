#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// A type of C or C++ as Clang spells it: "const double (*restrict)[n + 1]".
struct CType {
  struct Layer {
    enum class Kind { pointer, reference, array, function } kind = Kind::pointer;
    std::string extent = {};  ///< of an array, as written; may be empty
    bool is_restrict = false;
  };
  std::string base = {};           ///< without qualifiers: "double", "unsigned int", "layer"
  std::vector<Layer> layers = {};  ///< outermost first
  bool is_const = false;           ///< of the base
  bool is_volatile = false;

  bool is_pointer() const { return !layers.empty() && layers[0].kind == Layer::Kind::pointer; }
  bool is_reference() const { return !layers.empty() && layers[0].kind == Layer::Kind::reference; }
  bool is_array() const { return !layers.empty() && layers[0].kind == Layer::Kind::array; }
  /// A value without pointers and arrays.
  bool is_plain() const { return layers.empty(); }
  std::optional<ScalarType> scalar() const;  ///< of the base
  bool is_integer() const;                   ///< the base is
  bool is_unsigned() const;
  bool wider_than_int() const;
  std::string text() const;  ///< for messages: "unsigned char"
};

/// @param aliases  names that the base may have
CType read_type(std::string_view text, const std::map<std::string, std::string>& aliases);

}  // namespace warploom::tile
