// The page that explains all nests of a file.

#include "warploom/page/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tile/c/wellformed.hpp"
#include "tile/embedded.hpp"
#include "tile/explain/page_parts.hpp"
#include "warploom/core/error.hpp"
#include "warploom/core/version.hpp"
#include "warploom/page/html.hpp"
#include "warploom/page/text.hpp"

namespace warploom::tile {
namespace {

using page::code;
using page::escaped;
using page::grouped;

std::string code(const std::vector<std::string>& loops) {
  return code(fmt::format("({})", fmt::join(loops, ", ")));
}
std::string badge(bool legal) {
  return legal ? "<span class=\"badge good\">legal</span>" : "<span class=\"badge bad\">illegal</span>";
}

/// How the nest's tilings stand, in few words.
std::string tiling_badge(const Explanation& e) {
  const auto legal =
      std::count_if(e.tilings.begin(), e.tilings.end(), [](const Judged& j) { return j.verdict.legal; });
  const bool curable =
      std::any_of(e.tilings.begin(), e.tilings.end(), [](const Judged& j) { return !j.cure.empty(); });
  if (e.tilings.empty()) return "";
  if (legal == std::ssize(e.tilings)) return "<span class=\"badge good\">may be tiled</span>";
  if (curable) return "<span class=\"badge\">may be tiled after a skew</span>";
  return legal > 0 ? "<span class=\"badge\">may be tiled in part</span>"
                   : "<span class=\"badge bad\">may not be tiled</span>";
}

std::string facts(const PagePart& part, std::size_t dependence_rows) {
  const Explanation& e = part.explanation;
  std::vector<page::Fact> facts;
  const auto fact = [&](std::string_view what, const std::string& value, const std::string& more) {
    facts.push_back({std::string(what), value, more});
  };
  std::size_t depth = 0;
  for (const Statement& s : part.nest.statements()) depth = std::max(depth, s.loops.size());
  fact("Statements", std::to_string(part.nest.statements().size()),
       fmt::format("in loops up to {} deep", depth));
  const auto reductions = std::count_if(e.dependences.begin(), e.dependences.end(),
                                        [](const Dependence& d) { return d.reduction; });
  fact("Dependences", std::to_string(e.dependences.size()),
       fmt::format("in {} row{} below{}", dependence_rows, dependence_rows == 1 ? "" : "s",
                   reductions > 0 ? fmt::format("; {} of reductions", reductions) : ""));
  const auto widest = std::max_element(e.bands.begin(), e.bands.end(), [](const Band& a, const Band& b) {
    return a.loops.size() < b.loops.size();
  });
  if (widest != e.bands.end() && widest->loops.size() > 1)
    fact("Largest permutable band", code(widest->loops),
         "around " + escaped(labels(part.nest, widest->statements)));
  else
    fact("Largest permutable band", "none", "of two loops or more");
  std::int64_t bytes = 0;
  for (const Footprint& f : e.footprint) bytes += f.bytes;
  std::vector<std::string> extents;
  for (const auto& [loop, extent] : e.tile) extents.push_back(fmt::format("{} of {}", extent, escaped(loop)));
  fact("Footprint of a tile", grouped(bytes), fmt::format("bytes; {}", fmt::join(extents, ", ")));
  if (part.gpu) {
    std::vector<std::string> patterns;
    for (const Kernel& kernel : part.gpu->program.kernels) patterns.push_back(escaped(kernel.pattern));
    double milliseconds = 0;
    for (const Cost& cost : part.gpu->costs) milliseconds += cost.milliseconds;
    fact("Kernels", std::to_string(patterns.size()),
         fmt::format("{}{}", fmt::join(patterns, ", "),
                     part.gpu->costs.empty() ? "" : fmt::format("; about {:.3g} ms", milliseconds)));
  }
  return page::facts(facts);
}

std::string reuse_table(const Nest& nest, const std::vector<ReferenceRow>& rows, const Explanation& e) {
  std::vector<std::string> loops;
  for (const Statement& statement : nest.statements())
    for (const std::string& loop : statement.loops)
      if (std::find(loops.begin(), loops.end(), loop) == loops.end()) loops.push_back(loop);
  std::vector<page::Column> columns = {{"Statement"}, {"Reference"}, {"Access"}};
  for (const std::string& loop : loops) columns.push_back({"In loop " + code(loop)});
  std::string lines;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const ReferenceRow& row = rows[r];
    const Statement& statement = nest.statements()[row.statement];
    const std::string& array = statement.references[row.references.front()].element.text;
    lines += fmt::format("<tr data-r=\"{}\"><td>{}</td><td>{}{}</td><td>{}</td>", r, escaped(statement.label),
                         page::swatch(hue_of(nest, array)), code(row.element), row.access);
    for (const std::string& loop : loops) {
      const auto at =
          std::find(statement.loops.begin(), statement.loops.end(), loop) - statement.loops.begin();
      const bool around = at < std::ssize(statement.loops);
      if (!around || row.by_loop[at].empty())
        lines += around ? "<td>&#8211;</td>" : "<td></td>";
      else
        lines += fmt::format("<td><span class=\"kind {}\">{}</span></td>",
                             row.by_loop[at].substr(0, row.by_loop[at].find(',')), row.by_loop[at]);
    }
    lines += "</tr>";
  }
  const std::string out = "<h3>Reuse</h3>" + page::table(columns, lines);
  const std::vector<GroupRow> groups = group_rows(rows, e.reuse);
  if (groups.empty()) return out;
  lines.clear();
  for (const GroupRow& group : groups) {
    std::vector<std::string> members;
    for (const GroupRow::Member& member : group.members) members.push_back(std::to_string(member.row));
    lines += fmt::format(
        "<tr data-r=\"{}\"><td>{}{}</td><td>{}</td><td>{}</td></tr>", fmt::join(members, " "),
        group.temporal ? "<span class=\"kind temporal\">temporal</span> " : "",
        group.spatial ? "<span class=\"kind spatial\">spatial</span>" : "",
        group.loop.empty() ? "same iteration" : code(group.loop), code(to_text(nest, rows, group)));
  }
  return out + "<h3>Reuse between references</h3>" +
         page::table({{"Kind"}, {"Loop"}, {"References, in the order of use"}}, lines);
}

std::string footprint_table(const Nest& nest, const Explanation& e) {
  if (e.footprint.empty()) return "";
  std::vector<std::string> extents;
  for (const auto& [loop, extent] : e.tile) extents.push_back(fmt::format("T{} = {}", loop, extent));
  std::string rows;
  std::int64_t total = 0;
  for (const Footprint& f : e.footprint) {
    rows += fmt::format(
        "<tr><td>{}{}</td><td>{}{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>",
        page::swatch(hue_of(nest, f.array)), code(f.array), f.exact ? "" : "at most ", code(f.formula),
        grouped(f.elements), grouped(f.bytes));
    total += f.bytes;
  }
  rows +=
      fmt::format("<tr><td>together</td><td></td><td></td><td class=\"number\">{}</td></tr>", grouped(total));
  return "<h3>Footprint of a tile with " + code(fmt::format("{}", fmt::join(extents, ", "))) + "</h3>" +
         page::table({{"Array"}, {"Elements"}, {"Count", "number"}, {"Bytes", "number"}}, rows);
}

std::string dependence_table(const Nest& nest, const Explanation& e, const std::vector<DependenceRow>& rows) {
  if (rows.empty())
    return "<h3>Dependences</h3><p class=\"note\">There are none. The iterations may run in any order.</p>";
  std::string lines;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Dependence& d = e.dependences[rows[r].members.front()];
    const Statement &source = nest.statements()[d.source], &sink = nest.statements()[d.sink];
    const bool carried = d.level < static_cast<int>(d.distance.size());
    std::string kinds;
    for (const DependenceKind kind : {DependenceKind::flow, DependenceKind::anti, DependenceKind::output})
      if (rows[r].kinds.find(name(kind)) != std::string::npos)
        kinds += fmt::format("<span class=\"{0}\">{0}</span> ", name(kind));
    std::string sizes;
    for (const auto& [size, value] : d.witness.sizes)
      sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", escaped(size), value);
    lines += fmt::format(
        "<tr data-d=\"{}\"><td>{} &#8594; {}</td><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td><td title=\"{}\">{}</td></tr>",
        r, escaped(source.label), escaped(sink.label),
        code(source.references[d.source_reference].element.text), kinds,
        d.reduction ? "<small>reduction</small>" : "", code(distance_text(d)),
        carried ? code(source.loops[d.level]) : "no loop", sizes, code(pair_text(d.witness)));
  }
  return "<h3>Dependences</h3>" +
         page::table({{"From, to"}, {"On"}, {"Kind"}, {"Distance"}, {"Carried by"}, {"For example"}}, lines);
}

std::string judged_table(const Nest& nest, std::string_view title, const std::vector<Judged>& judged) {
  if (judged.empty()) return "";
  std::string rows;
  for (const JudgedRow& row : judged_rows(nest, judged)) {
    std::string tried;
    for (const std::string& one : row.tried) tried += (tried.empty() ? "" : "<br>") + code(one);
    if (row.all && row.tried.size() > 1)
      tried = "every order but " + code(nest.statements()[row.statements.front()].loops);
    std::string why = escaped(row.verdict.reason);
    if (!row.cure.empty()) why += "; <b class=\"good\">legal after " + escaped(row.cure) + "</b>";
    if (!why.empty()) why = "<span>" + why + "</span>";
    rows += fmt::format(
        "<tr><td data-label=\"Verdict\"><span>{}</span></td><td data-label=\"Statements\">{}</td>"
        "<td class=\"tried\" data-label=\"Order\"><span>{}</span></td>"
        "<td class=\"reason\" data-label=\"Why\">{}</td></tr>",
        badge(row.verdict.legal), row.statements.empty() ? "all" : escaped(labels(nest, row.statements)),
        tried, why);
  }
  return fmt::format("<h3>{}</h3>", title) +
         page::table({{"Verdict"}, {"Statements"}, {"Order"}, {"Why"}}, rows, "cards");
}

std::string bands_text(const Nest& nest, const Explanation& e) {
  std::vector<std::string> bands;
  for (const Band& band : e.bands)
    bands.push_back(code(band.loops) + " around " + escaped(labels(nest, band.statements)));
  return fmt::format("<h3>Fully permutable bands</h3><p class=\"note\">{}</p>", fmt::join(bands, "; "));
}

std::string collapsed(std::string_view title, const std::string& text) {
  return text.empty() ? "" : page::collapsed(title, page::block(escaped(text), title));
}

std::string nest_section(const PagePart& part, std::size_t number, bool open, std::string_view source) {
  const Nest& nest = part.nest;
  const Explanation& e = part.explanation;
  const std::vector<ReferenceRow> references = reference_rows(nest, e.reuse);
  const std::vector<DependenceRow> dependences = dependence_rows(nest, e.dependences);
  std::string remarks;
  for (const std::string& remark : e.remarks) remarks += (remarks.empty() ? "" : "; ") + escaped(remark);
  std::string out = fmt::format(
      "<details class=\"card nest\" id=\"n{}\"{}><summary><h2>{}</h2>{}<small>line {}</small></summary>",
      number, open ? " open" : "", code(nest.region().function), tiling_badge(e), nest.region().at.line);
  out += facts(part, dependences.size());
  out += "<div class=\"columns\"><div><h3>Source</h3>" + source_section(nest, references, source);
  if (!remarks.empty()) out += "<p class=\"note\">" + remarks + "</p>";
  out += footprint_table(nest, e) + "</div><div>" + reuse_table(nest, references, e) + "</div></div>";
  out += space_sections(nest, e);
  out += dependence_table(nest, e, dependences) + bands_text(nest, e);
  out += judged_table(nest, "Asked for", e.asked) + judged_table(nest, "Orders of loops", e.permutations) +
         judged_table(nest, "Tilings", e.tilings);
  out += kernel_sections(part);
  return out + collapsed("C", part.transformed_c) + collapsed("CUDA", part.cuda) + "</details>";
}

std::string index(const std::vector<PagePart>& parts) {
  if (parts.size() < 2) return "";
  std::string out = "<nav class=\"card\" aria-label=\"Nests\"><table><tbody>";
  for (std::size_t k = 0; k < parts.size(); ++k)
    out += fmt::format("<tr><td><a href=\"#n{}\">{}</a></td><td>line {}</td><td>{}</td></tr>", k,
                       code(parts[k].nest.region().function), parts[k].nest.region().at.line,
                       tiling_badge(parts[k].explanation));
  return out + "</tbody></table></nav>";
}

std::string arrow_heads() {
  std::string out = "<svg class=\"defs\" aria-hidden=\"true\"><defs>";
  for (const auto& [head, colour] :
       {std::pair("flow", "flow"), {"anti", "anti"}, {"output", "output"}, {"turned", "bad"}})
    out += fmt::format(
        "<marker id=\"head-{}\" viewBox=\"0 0 8 8\" refX=\"4\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
        "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0.5L8 4L0 7.5z\" style=\"fill:var(--{})\"/></marker>",
        head, colour);
  return out + "</defs></svg>";
}

}  // namespace

std::string to_html(const std::string& file, const std::vector<PagePart>& parts, std::string_view source) {
  for (const PagePart& part : parts) {
    check(part.nest, part.explanation);
    for (const Statement& statement : part.nest.statements())
      for (const std::string& loop : statement.loops)
        if (!part.explanation.tile.contains(loop))
          throw BadInput(
              fmt::format("the explanation of a page names no tile's extent along loop '{}'", loop));
    if (part.gpu) check(part.nest, part.gpu->program);
  }
  const std::string title = "Loop nests of " + page::file_name(file);
  std::string body = arrow_heads() + index(parts) + "\n<main>\n";
  for (std::size_t k = 0; k < parts.size(); ++k) body += nest_section(parts[k], k, k == 0, source) + "\n";
  return page::to_html(
      {.title = title,
       .heading = title,
       .lead = fmt::format(
           "<p>{}{} nest{}: which data each one uses again, and which orders of its loops give the same result{}.</p>",
           page::where_it_lies(file), parts.size(), parts.size() == 1 ? "" : "s",
           std::any_of(parts.begin(), parts.end(), [](const PagePart& part) { return part.gpu.has_value(); })
               ? ", with the kernels written for it"
               : ""),
       .body = body + "</main>",
       .footer = fmt::format(
           "<p>warploom {}. Arrays are row-major. An order is legal if and only if, for every dependence, no "
           "pair of iterations is turned round. Reductions keep their order here.</p>",
           version()),
       .styles = {embedded::page_css},
       .scripts = {page::reveal_script(), embedded::page_js}});
}

}  // namespace warploom::tile
