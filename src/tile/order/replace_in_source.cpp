// A source with its nests replaced.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tile/c/mentions.hpp"
#include "tile/order/c_text.hpp"
#include "warploom/core/error.hpp"
#include "warploom/tile/index_range.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {
namespace {

/// Generated calls as C has them without functions: min(a, b) is a < b ? a : b.
Expression without_helpers(Expression e) {
  for (Expression& operand : e.operands) operand = without_helpers(std::move(operand));
  if (e.kind != Expression::Kind::call || e.operands.size() != 2) return e;
  const Expression a = e.operands[0], b = e.operands[1];
  const auto integer = [](std::int64_t value) { return Expression::integer(value); };
  if (e.text == "min" || e.text == "max")
    return Expression::conditional(Expression::binary(e.text == "min" ? "<" : ">", a, b), a, b);
  if (e.text != "floord") return e;
  const Expression up = Expression::binary(
      "/", Expression::binary("-", Expression::binary("-", b, integer(1)), a), b);  // of -a, rounded up
  return Expression::conditional(Expression::binary("<", a, integer(0)), Expression::unary("-", up),
                                 Expression::binary("/", a, b));
}

/// Rows of an array that the source has a pointer to the elements of: A[i][k] is A[i * n + k].
Expression without_rows(const Region& region, Expression e) {
  for (Expression& operand : e.operands) operand = without_rows(region, std::move(operand));
  const Variable* variable = e.kind == Expression::Kind::element ? find_variable(region, e.text) : nullptr;
  if (!variable || !variable->is_flat || e.operands.size() < 2) return e;
  Expression place = e.operands[0];
  for (std::size_t d = 1; d < e.operands.size(); ++d)
    place = Expression::binary("+", Expression::binary("*", std::move(place), variable->extents[d]),
                               e.operands[d]);
  e.operands = {std::move(place)};
  return e;
}

/// As the source can have it.
void adapt(const Region& region, Node& node) {
  for (Expression* e : {&node.first, &node.limit, &node.condition, &node.target, &node.value})
    *e = without_rows(region, without_helpers(std::move(*e)));
  for (auto& [name, element] : node.constants) element = without_rows(region, std::move(element));
  for (Node& child : node.children) adapt(region, child);
}

bool before(Position a, Position b) { return a.line != b.line ? a.line < b.line : a.column < b.column; }

class Places {
 public:
  explicit Places(std::string_view source) : source_(source), lines_{0} {
    for (std::size_t i = 0; i < source.size(); ++i)
      if (source[i] == '\n') lines_.push_back(i + 1);
  }
  std::size_t offset(const Region& region, Position at) const {
    const std::size_t line = at.line - std::size_t{1};
    if (at.line == 0 || at.column == 0 || line >= lines_.size() ||
        lines_[line] + at.column - 1 > source_.size())
      throw BadInput(fmt::format(
          "{}:{}: {}: cannot be replaced in its source: {}", region.file, region.at.line, region.function,
          region.text.kept.empty() ? "a macro or another file has a part of it" : region.text.kept));
    return lines_[line] + at.column - 1;
  }

 private:
  std::string_view source_;
  std::vector<std::size_t> lines_;  ///< where each begins
};

/// White space that the line of this offset begins with.
std::string margin_of(std::string_view source, std::size_t offset) {
  const std::size_t begin = offset == 0 ? 0 : source.rfind('\n', offset - 1) + 1;
  return std::string(source.substr(begin, source.find_first_not_of(" \t", begin) - begin));
}

/// The loops, in a block with what their reductions need.
std::string loops_of(const CPart& part) {
  const Region& region = part.nest.region();
  Node code = with_directives(region, part.code);
  adapt(region, code);
  std::set<std::string> wrapping;
  const std::string index = counts_with_long(region) ? "long" : "int";
  const std::string loops = loops_text(region, code, 0, index, {}, wrapping);
  return wrapping.empty() ? loops : "{\n" + reductions_text(wrapping) + loops + "}\n";
}

std::string replacement(const CPart& part) {
  const Region& region = part.nest.region();
  std::string text, end;
  for (const Variable& variable : region.variables) {
    const bool stays = before(variable.at, region.first) || !before(variable.at, region.last);
    if ((stays && variable.at.line > 0) || !needs_declaration(part.code, variable.name)) continue;
    text += declaration(variable);
    end += release(variable);
  }
  return text + loops_of(part) + end;
}

/// What Clang read calls variables by names of its own: they are declared in a block around the loops, from
/// what they are in the source, to which results go back.
class Block {
 public:
  explicit Block(const CPart& part) : region_(part.nest.region()), part_(part) {
    code_ = with_directives(region_, part.code);
    adapt(region_, code_);
    for (const std::string& name : region_.parameters) add(name);
  }

  std::string text() {
    // Where a name of ours is one of the source's, too, what is needed gets names that nothing has first.
    const bool apart = std::ranges::any_of(aliases_, [&](const Alias& alias) { return is_hidden(alias); });
    std::string outer, inner, back_inner, back_outer;
    for (const Alias& alias : aliases_) {
      const std::string own = (apart ? "warploom_" : "") + alias.name;
      outer += alias.before + own + alias.behind + " = " + alias.value + ";\n";
      if (apart) inner += alias.before + alias.name + alias.behind + " = " + own + ";\n";
      if (!alias.is_result) continue;
      if (apart) back_inner += own + " = " + alias.name + ";\n";
      back_outer += alias.expression + " = " + own + ";\n";
    }
    std::string locals, release;
    for (const Variable& variable : region_.variables) {
      const bool given = std::ranges::find(region_.parameters, variable.name) != region_.parameters.end();
      if (given || !needs_declaration(part_.code, variable.name)) continue;
      const bool heap = variable.at.line == 0 && !variable.extents.empty();
      locals += heap ? allocated(variable) : declaration(variable);
      release += tile::release(variable);
    }
    std::string body = locals + loops_of(part_) + release + back_inner;
    if (apart) body = "{\n" + indented(inner + body) + "}\n";
    const std::string returned = region_.returned.empty() ? "" : "return " + region_.returned + ";\n";
    return before_ + "{\n" + indented(outer + body + back_outer + returned) + "}\n";
  }

 private:
  struct Alias {
    std::string name, expression;
    std::string before, behind, value;  ///< "float (*", ")[4]"
    bool is_result = false;
  };

  void add(const std::string& name) {
    const Variable* variable = find_variable(region_, name);
    const auto found = region_.text.expressions.find(name);
    const bool has_name = found != region_.text.expressions.end() && !found->second.empty();
    if (!mentions(code_, name)) return;
    if (!has_name)
      throw BadInput(fmt::format("{}:{}: {}: cannot be replaced in its source, where {} has no name",
                                 region_.file, region_.at.line, region_.function, name));
    Alias alias{name, found->second, "", "", found->second, variable && variable->is_result};
    const bool same = name == alias.expression, array = variable && !variable->extents.empty();
    if (variable && variable->is_result && is_declared_inside(*variable)) {
      before_ += fmt::format("{} {};\n", c_name(variable->type), name);
      return;
    }
    if (!variable) {
      const SizeDeclaration& declared = region_.size_declarations.at(name);
      if (same && declared.type.find("unsigned") == std::string::npos)
        return;  // below 0 it would wrap around
      const char* type = declared.wider_than_int ? "long" : "int";
      alias.before = fmt::format("const {} ", type);
      alias.value = fmt::format("({})({})", type, alias.expression);
    } else if (!array) {
      if (same) return;
      alias.before = fmt::format("{} ", c_name(variable->type));
    } else {
      if (same && std::ranges::count(region_.text.views, name) == 0) return;
      if (variable->has_row_pointers) {
        alias.value = fmt::format("&({})[0]", alias.expression);
        alias.before = fmt::format("__typeof__({}) ", alias.value);
        return aliases_.push_back(std::move(alias));
      }
      const std::string type =
          fmt::format("{}{}", variable->is_constant ? "const " : "", c_name(variable->type));
      std::string rows;
      if (!variable->is_flat)
        for (std::size_t d = 1; d < variable->extents.size(); ++d)
          rows += fmt::format("[{}]", to_text(variable->extents[d]));
      alias.before = type + (rows.empty() ? " *__restrict " : " (*__restrict ");
      alias.behind = rows.empty() ? "" : ")" + rows;
      alias.value = fmt::format("({} {})&({})[0]", type, rows.empty() ? "*" : "(*)" + rows, alias.expression);
    }
    aliases_.push_back(std::move(alias));
  }

  bool is_declared_inside(const Variable& variable) const {
    return variable.at.line > 0 && !before(variable.at, region_.first) && before(variable.at, region_.last);
  }

  /// Whether a name that is declared here stands in what another one is.
  bool is_hidden(const Alias& of) const {
    std::set<std::string> words;
    std::string word;
    for (const char c : of.expression + " ") {
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word += c;
        continue;
      }
      words.insert(word);
      word.clear();
    }
    return std::ranges::any_of(aliases_, [&](const Alias& alias) { return words.contains(alias.name); }) ||
           std::ranges::any_of(region_.variables, [&](const Variable& variable) {
             return words.contains(variable.name) && of.name != variable.name &&
                    std::ranges::find(region_.parameters, variable.name) == region_.parameters.end();
           });
  }

  /// As C++ has it, too.
  static std::string allocated(const Variable& variable) {
    std::string rows;
    for (std::size_t d = 1; d < variable.extents.size(); ++d)
      rows += fmt::format("[{}]", to_text(variable.extents[d]));
    const std::string type(c_name(variable.type));
    const std::string to = rows.empty() ? type + " *" : type + " (*)" + rows;
    std::string bytes = fmt::format("sizeof({})", type);
    for (const Expression& extent : variable.extents) bytes += " * (" + to_text(extent) + ")";
    return fmt::format("{} {}{}{} = ({})__builtin_malloc({});\n", type,
                       rows.empty() ? "*__restrict " : "(*__restrict ", variable.name,
                       rows.empty() ? "" : ")" + rows, to, bytes);
  }

  static std::string indented(const std::string& text) {
    std::string all;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at) + 1;
      all += "  " + text.substr(at, end - at);
      at = end;
    }
    return all;
  }

  const Region& region_;
  const CPart& part_;
  Node code_;
  std::vector<Alias> aliases_;
  std::string before_;  ///< declarations that outlive the block
};

}  // namespace

std::string replace_in_source(std::string_view source, const std::vector<CPart>& parts) {
  struct Replacement {
    std::size_t first, last;
    std::string text;
  };
  const Places places(source);
  const std::string line_end = source.find("\r\n") != source.npos ? "\r\n" : "\n";
  std::vector<Replacement> all;
  for (const CPart& part : parts) {
    const Region& region = part.nest.region();
    const std::size_t first = places.offset(region, region.first), last = places.offset(region, region.last);
    // Lines of their own, two columns further in than the line of the pragma, or of the function.
    const bool whole_lines = first == 0 || source[first - 1] == '\n';
    const bool of_clang = region.text.end > 0;
    const std::string margin =
        of_clang ? margin_of(source, first) : margin_of(source, last) + (whole_lines ? "" : "  ");
    std::string text = whole_lines || of_clang ? "" : line_end;
    check_index_range(part.nest, part.code, Emitted::c);
    const std::string code = of_clang ? Block(part).text() : replacement(part);
    for (std::size_t at = 0; at < code.size();) {
      const std::size_t end = code.find('\n', at);
      text += (of_clang && at == 0 ? "" : margin) + code.substr(at, end - at);
      if (!of_clang || end + 1 < code.size()) text += line_end;
      at = end + 1;
    }
    if (!of_clang && !whole_lines && last > first) text += margin_of(source, last);
    all.push_back({first, last, std::move(text)});
  }
  std::ranges::sort(all, {}, &Replacement::first);
  std::string result;
  std::size_t at = 0;
  for (const Replacement& one : all) {
    if (one.first < at || one.last < one.first)
      throw BadInput("two nests stand in the same text, of which only one can be replaced");
    result += source.substr(at, one.first - at);
    result += one.text;
    at = one.last;
  }
  return result + std::string(source.substr(at));
}

}  // namespace warploom::tile
