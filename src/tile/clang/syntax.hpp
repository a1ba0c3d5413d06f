#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/tile/source.hpp"

/// What Clang says of a file: the JSON of `-ast-dump=json`, reduced to what loop nests are read from.
namespace warploom::tile {

/// A node of Clang's syntax tree; its kinds are Clang's ("ForStmt").
struct Syntax {
  std::string kind = {};
  std::string id = {};  ///< of a declaration
  std::string name = {}, type = {};
  std::string operation = {};                      ///< "+=", "++"; of a cast its kind
  std::string value = {};                          ///< of a literal or constant
  std::string target = {};                         ///< id of the declaration that a name stands for
  std::string target_kind = {}, target_type = {};  ///< of that declaration
  int file = -1;                                   ///< of Translation::files
  Position at = {};                                ///< where the text shows it: a macro's use
  std::size_t begin = 0, end = 0;                  ///< of its last token: bytes of the file
  bool in_macro = false;                           ///< its text is not what stands there
  bool arrow = false, postfix = false, has_else = false, has_init = false;
  bool is_static = false;
  bool is_special = false;          ///< a structure with bases, a virtual function, a bit-field
  std::size_t first = 0, last = 0;  ///< numbers of this node and of the last within it, in the text's order
  std::vector<Syntax> children = {};

  bool is(std::string_view of_kind) const { return kind == of_kind; }
};

struct Translation {
  std::vector<std::string> files = {};
  Syntax root = {};
  std::map<std::string, std::string> aliases = {};  ///< of types: what a typedef's name stands for
};

/// Whether a path is one of the system's headers, whose functions are not read.
bool is_system_header(std::string_view path);

/// @param dump  of Clang 14 or later @param name  of the file, for messages
/// @throws BadInput (it is no such JSON, or ends within)
/// @note declarations of system headers are skipped, all but types' names. O(bytes), 0.4 s for 250 MB.
Translation read_syntax(std::string_view dump, const std::string& name);

/// Nodes without the parts that their kind has, as of a tree that is nested too deep, become of no known
/// kind, so that nobody else asks.
void mark_incomplete(Syntax& node);

}  // namespace warploom::tile
