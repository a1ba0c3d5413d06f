#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/tile/source.hpp"

namespace warploom::tile {

struct HideSet;

/// A preprocessing token of C.
struct Token {
  enum class Kind : std::uint8_t {
    identifier,
    number,  ///< as C's preprocessor has it: "1.0f", "0x10", "1e+5"
    string,  ///< with its quotes, as are characters
    character,
    punctuator,
    other,  ///< what is no token of C; refused where it is used
    scop,
    endscop,  ///< #pragma scop, #pragma endscop
    end,
  };
  Kind kind = Kind::end;
  bool space_before = false;  ///< white space or a comment stands before it
  bool line_start = false;    ///< first of its line
  std::uint16_t file = 0;     ///< index of the file's name
  Position at;
  std::string text;
  std::shared_ptr<const HideSet> hidden;  ///< macros that must not replace it any more

  bool is(std::string_view punctuator) const { return kind == Kind::punctuator && text == punctuator; }
  bool is_name(std::string_view name) const { return kind == Kind::identifier && text == name; }
};

/// The tokens of a text, without comments and spliced lines; an `end` closes them.
/// @throws ParseError (a comment that does not end)
std::vector<Token> tokenise(std::string_view text, std::uint16_t file, const std::string& file_name);

/// The value of an integer constant in C's notation, suffix allowed.
/// @return false where the text is no integer
/// @throws std::out_of_range beyond 64 bits, `negated` or not
bool parse_integer(std::string_view text, bool negated, std::int64_t& value);

}  // namespace warploom::tile
