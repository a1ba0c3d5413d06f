#include "warploom/page/html.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "warploom/page/text.hpp"

namespace warploom::page {
namespace {

std::string of_class(std::string_view kind) { return kind.empty() ? "" : fmt::format(" class=\"{}\"", kind); }

}  // namespace

std::string without_tags(std::string_view html) {
  std::string text;
  bool inside = false;
  for (const char c : html) {
    inside = inside || c == '<';
    if (!inside) text += c;
    inside = inside && c != '>';
  }
  return text;
}

std::string facts(const std::vector<Fact>& facts) {
  std::string out = "<dl class=\"facts\">";
  for (const auto& [what, value, more] : facts)
    out += fmt::format("<div><dt>{}</dt><dd>{}{}</dd></div>", what, value,
                       more.empty() ? "" : "<small>" + more + "</small>");
  return out + "</dl>";
}

std::string table(const std::vector<Column>& columns, std::string_view rows, std::string_view kind) {
  std::string head, label;
  for (const Column& column : columns) {
    label += (label.empty() ? "" : ", ") + without_tags(column.title);
    head += fmt::format("<th scope=\"col\"{}>{}</th>", of_class(column.kind), column.title);
  }
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table: {}\"><table{}><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
      label, of_class(kind), head, rows);
}

std::string bullets(const std::vector<std::string>& points) {
  return points.empty() ? ""
                        : fmt::format("<ul class=\"plain\"><li>{}</li></ul>", fmt::join(points, "</li><li>"));
}

std::string collapsed(std::string_view title, std::string_view content) {
  return fmt::format("<details class=\"more\"><summary>{}</summary>{}</details>", title, content);
}

std::string swatch(int hue) { return fmt::format("<span class=\"swatch\" style=\"--h:{}\"></span>", hue); }

std::string block(std::string_view html, std::string_view label, std::string_view kind) {
  return fmt::format("<pre{} tabindex=\"0\" role=\"group\" aria-label=\"{}\">{}</pre>", of_class(kind),
                     escaped(label), html);
}

std::string where_it_lies(const std::string& path) {
  return path == file_name(path) ? "" : code(path) + " &#183; ";
}

std::string code(std::string_view text) { return "<code>" + escaped(text) + "</code>"; }

}  // namespace warploom::page
