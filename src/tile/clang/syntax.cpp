#include "tile/clang/syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "warploom/core/error.hpp"

namespace warploom::tile {
namespace {

constexpr int kDeepestNode = 1500;  // nodes in one another; what is deeper loses its children

class DumpReader {
 public:
  DumpReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Translation run() {
    space();
    node(translation_.root, 0);
    space();
    if (at_ != text_.size()) fail("the end");
    return std::move(translation_);
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    throw BadInput(fmt::format(
        "{}: what Clang printed cannot be read: expected {} at byte {} of {}; Clang 14 or a later "
        "one is expected",
        name_, expected, at_, text_.size()));
  }
  void space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("'{}'", c));
  }

  /// The characters between quotes, escapes kept.
  std::string_view raw() {
    expect('"');
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) fail("the end of a string");
    return text_.substr(begin, at_++ - begin);
  }
  std::string text() {
    const std::string_view escaped = raw();
    std::string out;
    for (std::size_t i = 0; i < escaped.size(); ++i) {
      if (escaped[i] != '\\' || i + 1 == escaped.size()) {
        out += escaped[i];
        continue;
      }
      const char c = escaped[++i];
      // Other characters than these stand in literals alone, which are not read.
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'u' ? '?' : c;
      if (c == 'u') i = std::min(i + 4, escaped.size());
    }
    return out;
  }
  /// A number or a word, as text.
  std::string_view bare() {
    space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-' ||
                                  text_[at_] == '+' || text_[at_] == '.'))
      ++at_;
    if (at_ == begin) fail("a value");
    return text_.substr(begin, at_ - begin);
  }
  std::string scalar() {
    space();
    return at_ < text_.size() && text_[at_] == '"' ? text() : std::string(bare());
  }
  unsigned number() {
    const std::string_view digits = bare();
    unsigned value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) fail("a whole number");
    return value;
  }

  /// Calls `member` with each key, behind whose colon the text then is.
  template <class Member>
  void object(Member&& member) {
    expect('{');
    if (take('}')) return;
    do {
      const std::string_view key = raw();
      expect(':');
      member(key);
    } while (take(','));
    expect('}');
  }

  /// Over a value, but with an eye on places, which are told by what changed since the last one.
  void skip() {
    int depth = 0;
    do {
      space();
      if (at_ >= text_.size()) fail("a value");
      const char c = text_[at_];
      if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
        if (depth < 0) fail("a value");
      } else if (c == ',' || c == ':') {
        if (depth == 0) fail("a value");
        ++at_;
      } else if (c == '"') {
        const std::string_view key = raw();
        if (key == "file" && depth > 0 && take(':')) {
          set_file(text());
        } else if (key == "line" && depth > 0 && take(':')) {
          line_ = number();
        } else if (key == "includedFrom" && depth > 0 && take(':')) {
          object([&](std::string_view) { raw_value(); });
        }
      } else {
        bare();
      }
    } while (depth > 0);
  }
  /// Over a value without an eye on anything.
  void raw_value() {
    const unsigned line = line_;
    const int file = file_;
    skip();
    line_ = line;
    file_ = file;
  }

  void set_file(const std::string& path) {
    const auto found = std::ranges::find(translation_.files, path);
    file_ = static_cast<int>(found - translation_.files.begin());
    if (found != translation_.files.end()) return;
    translation_.files.push_back(path);
    system_.push_back(is_system_header(path));
  }

  struct Place {
    int file = -1;
    Position at;
    std::size_t offset = 0, length = 0;
    bool in_macro = false;
  };
  Place place() {
    Place found;
    object([&](std::string_view key) {
      if (key == "expansionLoc") {
        found = place();
        found.in_macro = true;
      } else if (key == "spellingLoc") {
        place();
      } else if (key == "file") {
        set_file(text());
      } else if (key == "line") {
        line_ = number();
      } else if (key == "col") {
        found.at = {line_, number()};
        found.file = file_;
      } else if (key == "offset") {
        found.offset = number();
      } else if (key == "tokLen") {
        found.length = number();
      } else {
        raw_value();
      }
    });
    return found;
  }

  void type(Syntax& to) {
    std::string as_written, without_aliases;
    object([&](std::string_view key) {
      if (key == "qualType")
        as_written = text();
      else if (key == "desugaredQualType")
        without_aliases = text();
      else
        raw_value();
    });
    to.type = without_aliases.empty() ? as_written : without_aliases;
  }

  void reference(Syntax& to) {
    Syntax found;
    object([&](std::string_view key) {
      if (key == "id")
        to.target = text();
      else if (key == "kind")
        to.target_kind = text();
      else if (key == "name")
        found.name = text();
      else if (key == "type")
        type(found);
      else
        raw_value();
    });
    if (to.name.empty()) to.name = found.name;
    to.target_type = found.type;
  }

  void attribute(std::string_view key, Syntax& to) {
    if (key == "id") {
      to.id = text();
    } else if (key == "kind") {
      to.kind = text();
    } else if (key == "name") {
      to.name = text();
    } else if (key == "opcode" || key == "castKind") {
      to.operation = text();
    } else if (key == "value") {
      space();
      if (at_ < text_.size() && text_[at_] == '{')
        skip();
      else
        to.value = scalar();
    } else if (key == "type") {
      type(to);
    } else if (key == "argType") {
      Syntax argument;
      type(argument);
      to.target_type = argument.type;
    } else if (key == "referencedDecl") {
      reference(to);
    } else if (key == "referencedMemberDecl") {
      to.target = text();
    } else if (key == "targetLabelDeclId") {
      to.target = text();
    } else if (key == "declId") {
      to.id = text();
    } else if (key == "tagUsed") {
      to.value = text();
    } else if (key == "bases" || key == "virtual" || key == "isBitfield") {
      to.is_special = true;
      skip();
    } else if (key == "storageClass") {
      to.is_static = text() == "static";
    } else if (key == "isArrow" || key == "isPostfix" || key == "hasElse" || key == "hasInit" ||
               key == "hasVar") {
      const bool holds = bare() == "true";
      if (key == "isArrow") to.arrow = holds;
      if (key == "isPostfix") to.postfix = holds;
      if (key == "hasElse") to.has_else = holds;
      if (key == "hasInit" || key == "hasVar") to.has_init = to.has_init || holds;
    } else {
      skip();
    }
  }

  void node(Syntax& to, int depth) {
    Place shown, begin, end;
    bool skipped = false;
    to.first = ++nodes_;
    object([&](std::string_view key) {
      if (key == "loc") {
        shown = place();
        to.at = shown.at;
        to.file = shown.file;
        skipped = depth > 0 && shown.file >= 0 && system_[static_cast<std::size_t>(shown.file)];
      } else if (key == "range") {
        object([&](std::string_view side) {
          if (side == "begin")
            begin = place();
          else if (side == "end")
            end = place();
          else
            raw_value();
        });
        if (shown.at.line == 0) {
          to.at = begin.at;
          to.file = begin.file;
        }
        to.begin = begin.offset;
        to.end = end.offset + end.length;
        to.in_macro = begin.in_macro || end.in_macro || begin.file != end.file;
      } else if (key == "inner") {
        if (skipped || depth >= kDeepestNode)
          skip();
        else
          children(to, depth);
      } else {
        attribute(key, to);
      }
    });
    if ((to.is("TypedefDecl") || to.is("TypeAliasDecl")) && !to.name.empty())
      translation_.aliases.emplace(to.name, to.type);
    if (skipped) to.kind.clear();
    to.last = nodes_;
  }

  void children(Syntax& to, int depth) {
    expect('[');
    if (take(']')) return;
    do {
      to.children.emplace_back();
      node(to.children.back(), depth + 1);
      // Declarations of system headers are many.
      const Syntax& child = to.children.back();
      const bool scope = to.is("TranslationUnitDecl") || to.is("LinkageSpecDecl") || to.is("NamespaceDecl");
      if (scope && child.kind.empty()) to.children.pop_back();
    } while (take(','));
    expect(']');
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  unsigned line_ = 0;
  int file_ = -1;
  std::size_t nodes_ = 0;
  std::vector<bool> system_;
  Translation translation_;
};

}  // namespace

bool is_system_header(std::string_view path) {
  return path.starts_with("/usr/") || path.find("/lib/clang/") != path.npos || path.starts_with("<");
}

void mark_incomplete(Syntax& node) {
  static const std::map<std::string_view, std::size_t> exactly{{"ParenExpr", 1},
                                                               {"UnaryOperator", 1},
                                                               {"ImplicitCastExpr", 1},
                                                               {"CStyleCastExpr", 1},
                                                               {"CXXStaticCastExpr", 1},
                                                               {"CXXReinterpretCastExpr", 1},
                                                               {"CXXConstCastExpr", 1},
                                                               {"CXXFunctionalCastExpr", 1},
                                                               {"ExprWithCleanups", 1},
                                                               {"LabelStmt", 1},
                                                               {"MaterializeTemporaryExpr", 1},
                                                               {"BinaryOperator", 2},
                                                               {"ArraySubscriptExpr", 2},
                                                               {"CompoundAssignOperator", 2},
                                                               {"DoStmt", 2},
                                                               {"ConditionalOperator", 3},
                                                               {"ForStmt", 5}};
  static const std::map<std::string_view, std::size_t> at_least{
      {"WhileStmt", 2}, {"IfStmt", 2}, {"CallExpr", 1}, {"CXXMemberCallExpr", 1}, {"CXXOperatorCallExpr", 1}};
  const auto one = exactly.find(node.kind), more = at_least.find(node.kind);
  if ((one != exactly.end() && node.children.size() != one->second) ||
      (more != at_least.end() && node.children.size() < more->second))
    node.kind = "incomplete " + node.kind;
  for (Syntax& child : node.children) mark_incomplete(child);
}

Translation read_syntax(std::string_view dump, const std::string& name) {
  return DumpReader(dump, name).run();
}

}  // namespace warploom::tile
