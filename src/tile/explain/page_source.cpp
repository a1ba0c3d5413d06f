// The nest's lines, with its references marked.
#include <fmt/format.h>

#include <algorithm>

#include "tile/explain/page_parts.hpp"
#include "warploom/page/html.hpp"
#include "warploom/page/text.hpp"

namespace warploom::tile {
namespace {

using page::escaped;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The end of "A[i][j + 1]" that starts at `at`; `at` itself if something else stands there (a macro's name).
std::size_t end_of_element(std::string_view line, std::size_t at, std::string_view array) {
  if (line.substr(std::min(at, line.size()), array.size()) != array) return at;
  std::size_t end = at + array.size();
  for (;;) {
    const std::size_t open = line.find_first_not_of(" \t", end);
    if (open == std::string_view::npos || line[open] != '[') return end;
    int depth = 0;
    std::size_t k = open;
    do {
      depth += line[k] == '[' ? 1 : line[k] == ']' ? -1 : 0;
      ++k;
    } while (depth > 0 && k < line.size());
    if (depth > 0) return at;
    end = k;
  }
}

/// A line closes loops only: it belongs to what stands before it.
bool only_closes(std::string_view line) {
  return line.find_first_not_of(" \t\r}") == std::string_view::npos ||
         line.find("endscop") != std::string_view::npos;
}

struct Mark {
  std::size_t begin, end;
  int row;
  std::string array;
};

}  // namespace

int hue_of(const Nest& nest, const std::string& array) {
  const auto& variables = nest.region().variables;
  const auto found =
      std::find_if(variables.begin(), variables.end(), [&](const Variable& v) { return v.name == array; });
  return page::hue(static_cast<std::size_t>(found - variables.begin()));
}

std::string source_section(const Nest& nest, const std::vector<ReferenceRow>& rows, std::string_view text) {
  if (text.empty()) return page::block(escaped(to_text(nest.region().body)), "Source", "source");
  const std::vector<std::string_view> lines = lines_of(text);
  const std::size_t first = std::max(1U, nest.region().at.line);
  std::size_t last = first;
  std::map<std::size_t, std::vector<Mark>> marks;  // by line
  for (int r = 0; r < static_cast<int>(rows.size()); ++r)
    for (const int number : rows[r].references) {
      const Expression& element = nest.statements()[rows[r].statement].references[number].element;
      last = std::max<std::size_t>(last, element.at.line);
      if (element.at.line < 1 || element.at.line > lines.size() || element.at.column < 1) continue;
      const std::size_t begin = element.at.column - 1;
      const std::size_t end = end_of_element(lines[element.at.line - 1], begin, element.text);
      auto& of_line = marks[element.at.line];
      const bool known =
          std::any_of(of_line.begin(), of_line.end(), [&](const Mark& mark) { return mark.begin == begin; });
      if (end > begin && !known) of_line.push_back({begin, end, r, element.text});
    }
  for (const Statement& statement : nest.statements())
    last = std::max<std::size_t>(last, statement.assignment.at.line);
  while (last < lines.size() && only_closes(lines[last])) ++last;
  std::string out;
  for (std::size_t l = first; l <= std::min(last, lines.size()); ++l) {
    const std::string_view line = lines[l - 1];
    auto& of_line = marks[l];
    std::sort(of_line.begin(), of_line.end(), [](const Mark& a, const Mark& b) { return a.begin < b.begin; });
    out += fmt::format("<span class=\"line\">{}</span>", l);
    std::size_t at = 0;
    for (const Mark& mark : of_line) {
      if (mark.begin < at) continue;
      out += escaped(line.substr(at, mark.begin - at)) +
             fmt::format("<span class=\"ref\" style=\"--h:{}\" data-r=\"{}\">{}</span>",
                         hue_of(nest, mark.array), mark.row,
                         escaped(line.substr(mark.begin, mark.end - mark.begin)));
      at = mark.end;
    }
    out += escaped(line.substr(at)) + "\n";
  }
  return page::block(out, "Source", "source");
}

}  // namespace warploom::tile
