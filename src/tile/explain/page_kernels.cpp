// What is done on the GPU, as tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tile/explain/kernels.hpp"
#include "tile/explain/page_parts.hpp"
#include "warploom/page/text.hpp"

namespace warploom::tile {
namespace {

using page::escaped;

std::string list(const std::vector<std::string>& sentences) {
  if (sentences.empty()) return "";
  std::string out = "<ul class=\"plain\">";
  for (const std::string& sentence : sentences) out += "<li>" + escaped(sentence) + "</li>";
  return out + "</ul>";
}

std::string facts(const GpuPlan& plan, std::size_t kernel) {
  if (kernel >= plan.costs.size()) return "";
  std::string out = "<dl class=\"facts\">";
  for (const CostFact& fact : cost_facts(plan, kernel))
    out += fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>", fact.what, fact.value,
                       escaped(fact.more));
  return out + "</dl>";
}

std::string placements(const Nest& nest, const Kernel& kernel) {
  if (kernel.placements.empty()) return "";
  std::string out =
      "<div class=\"scroll\"><table><thead><tr><th>Array</th><th>Lives in</th><th "
      "class=\"number\">Bytes</th><th class=\"number\">Sectors of "
      "a warp access</th><th class=\"number\">Threads on one bank</th><th>Why</th></tr></thead><tbody>";
  const auto number = [](const std::string& text) {
    return fmt::format("<td class=\"number\">{}</td>", text.empty() ? "&#8211;" : text);
  };
  for (const PlacementRow& row : placement_rows(kernel))
    out += fmt::format(
        "<tr><td><span class=\"swatch\" style=\"--h:{}\"></span><code>{}</code></td><td>{}</td>{}{}{}<td "
        "class=\"reason\">{}</td></tr>",
        hue_of(nest, row.array), escaped(row.array), escaped(row.space), number(row.bytes),
        number(row.sectors), number(row.bank_conflicts), escaped(row.reason));
  return out + "</tbody></table></div>";
}

}  // namespace

std::string kernel_sections(const PagePart& part) {
  if (!part.gpu) return "";
  const GpuProgram& program = part.gpu->program;
  std::string out =
      fmt::format("<h3>On a GPU ({})</h3>", escaped(part.gpu->options.architecture)) + list(program.reasons);
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    const Kernel& kernel = program.kernels[k];
    out += fmt::format(
        "<section class=\"kernel\"><h4><code>{}</code> <span class=\"badge\">{}</span></h4><p "
        "class=\"note\">{}{}</p>",
        escaped(kernel.name), escaped(kernel.pattern),
        kernel.statements.empty() ? "" : escaped(labels(part.nest, kernel.statements)) + " in ",
        escaped(launch_text(kernel)));
    out += facts(*part.gpu, k);
    out += list(kernel.reasons) + placements(part.nest, kernel) + "</section>";
  }
  return out;
}

}  // namespace warploom::tile
