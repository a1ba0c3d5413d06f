#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tile/c/lex.hpp"

namespace warploom::tile {

/// What C's preprocessor leaves of a text.
struct Preprocessed {
  std::vector<Token> tokens;       ///< an `end` closes them; tokens of a macro stand where it was used
  std::vector<std::string> files;  ///< Token::file's names
};

/// Macros with # and ##, conditional compilation, #include. `#include <...>` is skipped unless one of the
/// include folders has the file. Of pragmas only scop and endscop stay.
/// @throws ParseError (malformed, #error, nested deeper than 200, more than 2 * 10^6 tokens)
/// @throws BadInput (an included file cannot be read)
Preprocessed preprocess(std::string_view text, const std::string& file, const SourceOptions& options);

/// The value of #if's expression; what is left of names after macros is 0.
/// @param tokens  closed by an `end`, `defined` replaced
/// @throws ParseError
bool evaluate_condition(const std::vector<Token>& tokens, const std::string& file_name);

}  // namespace warploom::tile
