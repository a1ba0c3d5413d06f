// What is done on the GPU, as tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tile/explain/kernels.hpp"
#include "tile/explain/page_parts.hpp"
#include "warploom/page/text.hpp"

namespace warploom::tile {
namespace {

using page::escaped;

std::string list(std::vector<std::string> sentences) {
  for (std::string& sentence : sentences) sentence = escaped(sentence);
  return page::bullets(sentences);
}

std::string facts(const GpuPlan& plan, std::size_t kernel) {
  if (kernel >= plan.costs.size()) return "";
  std::vector<page::Fact> facts = cost_facts(plan, kernel);
  for (page::Fact& fact : facts) fact.more = escaped(fact.more);
  return page::facts(facts);
}

std::string placements(const Nest& nest, const Kernel& kernel) {
  if (kernel.placements.empty()) return "";
  std::string rows;
  const auto number = [](std::string_view label, const std::string& text) {
    return fmt::format("<td class=\"number\" data-label=\"{}\">{}</td>", label,
                       text.empty() ? "&#8211;" : text);
  };
  for (const PlacementRow& row : placement_rows(kernel))
    rows += fmt::format(
        "<tr><td data-label=\"Array\"><span>{}{}</span></td><td data-label=\"Lives in\">{}</td>{}{}{}<td class=\"reason\" data-label=\"Why\">{}</td></tr>",
        page::swatch(hue_of(nest, row.array)), page::code(row.array), escaped(row.space),
        number("Bytes", row.bytes), number("Sectors", row.sectors), number("On one bank", row.bank_conflicts),
        escaped(row.reason));
  return page::table({{"Array"},
                      {"Lives in"},
                      {"Bytes", "number"},
                      {"Sectors per warp access", "number"},
                      {"Threads on one bank", "number"},
                      {"Why"}},
                     rows, "cards");
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
        "<section class=\"kernel\"><h4><code>{}</code> <span class=\"badge\">{}</span></h4><p class=\"note\">{}{}</p>",
        escaped(kernel.name), escaped(kernel.pattern),
        kernel.statements.empty() ? "" : escaped(labels(part.nest, kernel.statements)) + " in ",
        escaped(launch_text(kernel)));
    out += facts(*part.gpu, k);
    out += list(kernel.reasons) + placements(part.nest, kernel) + "</section>";
  }
  return out;
}

}  // namespace warploom::tile
