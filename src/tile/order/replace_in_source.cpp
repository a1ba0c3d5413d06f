// A source with its nests replaced.
#include <fmt/format.h>

#include <algorithm>
#include <set>

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
      throw BadInput(
          fmt::format("{}:{}: {}: cannot be replaced in its source: a macro or another file has a part of it",
                      region.file, region.at.line, region.function));
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

std::string replacement(const CPart& part) {
  const Region& region = part.nest.region();
  check_index_range(part.nest, part.code, Emitted::c);
  std::string text, end;
  for (const Variable& variable : region.variables) {
    const bool stays = before(variable.at, region.first) || !before(variable.at, region.last);
    if ((stays && variable.at.line > 0) || !needs_declaration(part.code, variable.name)) continue;
    text += declaration(variable);
    end += release(variable);
  }
  Node code = with_directives(region, part.code);
  adapt(region, code);
  std::set<std::string> wrapping;
  const std::string index = counts_with_long(region) ? "long" : "int";
  std::string loops = loops_text(region, code, 0, index, {}, wrapping);
  if (!wrapping.empty()) loops = "{\n" + reductions_text(wrapping) + loops + "}\n";
  return text + loops + end;
}

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
    const std::string margin = margin_of(source, last) + (whole_lines ? "" : "  ");
    std::string text = whole_lines ? "" : line_end;
    const std::string code = replacement(part);
    for (std::size_t at = 0; at < code.size();) {
      const std::size_t end = code.find('\n', at);
      text += margin + code.substr(at, end - at) + line_end;
      at = end + 1;
    }
    if (!whole_lines && last > first) text += margin_of(source, last);
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
