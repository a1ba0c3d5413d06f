// What is done on the GPU, as tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "explain_page_parts.hpp"
#include "reuse/report_map.hpp"
#include "reuse/report_parts.hpp"

namespace warploom::loops {
namespace {

using reuse::escaped;
using reuse::grouped;

std::string extents(const std::array<Expression, 3>& of) {
  std::size_t used = 3;
  while (used > 1 && of[used - 1] == Expression::integer(1)) --used;
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < used; ++k) texts.push_back(escaped(to_text(of[k])));
  return fmt::format("{}", fmt::join(texts, " &#215; "));
}

std::string list(const std::vector<std::string>& sentences) {
  if (sentences.empty()) return "";
  std::string out = "<ul class=\"plain\">";
  for (const std::string& sentence : sentences) out += "<li>" + escaped(sentence) + "</li>";
  return out + "</ul>";
}

std::string rounded(double value) { return grouped(static_cast<std::uint64_t>(value + 0.5)); }

std::string cost_facts(const Cost& cost) {
  std::string out = "<dl class=\"facts\">";
  const auto fact = [&](std::string_view what, const std::string& value, const std::string& more) {
    out += fmt::format("<div><dt>{}</dt><dd>{}<small>{}</small></dd></div>", what, value, more);
  };
  fact("Estimated time", fmt::format("{:.3g} ms", cost.milliseconds), "bound by " + escaped(cost.bound));
  fact("Operations", rounded(cost.operations), "floating-point");
  fact("Global memory", rounded(cost.global_bytes), "bytes");
  fact("Shared memory", rounded(cost.shared_bytes),
       fmt::format("bytes moved; {} a block", grouped(cost.shared)));
  fact("Blocks a multiprocessor", std::to_string(cost.blocks_per_sm),
       fmt::format("about {} registers a thread", cost.registers));
  return out + "</dl>";
}

std::string placements(const Nest& nest, const Kernel& kernel) {
  if (kernel.placements.empty()) return "";
  std::string out =
      "<div class=\"scroll\"><table><thead><tr><th>Array</th><th>Lives in</th><th "
      "class=\"number\">Bytes</th><th class=\"number\">Sectors of "
      "a warp access</th><th class=\"number\">Threads on one bank</th><th>Why</th></tr></thead><tbody>";
  for (const Placement& p : kernel.placements)
    out += fmt::format(
        "<tr><td><span class=\"swatch\" style=\"--h:{}\"></span><code>{}</code></td><td>{}</td><td "
        "class=\"number\">{}</td><td "
        "class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"reason\">{}</td></tr>",
        hue_of(nest, p.array), escaped(p.array), escaped(name(p.space)),
        p.bytes > 0 ? grouped(p.bytes) : "&#8211;",
        p.sectors > 0 ? fmt::format("{:.3g}, at best {:.3g}", p.sectors, p.ideal_sectors) : "&#8211;",
        p.space == Space::shared ? std::to_string(p.bank_conflicts) : "&#8211;", escaped(p.reason));
  return out + "</tbody></table></div>";
}

}  // namespace

std::string kernel_sections(const PagePart& part) {
  if (!part.program) return "";
  std::string out = "<h3>On the GPU</h3>" + list(part.program->reasons);
  for (std::size_t k = 0; k < part.program->kernels.size(); ++k) {
    const Kernel& kernel = part.program->kernels[k];
    out += fmt::format(
        "<section class=\"kernel\"><h4><code>{}</code> <span class=\"badge\">{}</span></h4><p "
        "class=\"note\">{}{} blocks of {} threads</p>",
        escaped(kernel.name), escaped(kernel.pattern),
        kernel.statements.empty() ? "" : escaped(labels(part.nest, kernel.statements)) + " in ",
        extents(kernel.grid), extents(kernel.block));
    if (k < part.costs.size()) out += cost_facts(part.costs[k]);
    out += list(kernel.reasons) + placements(part.nest, kernel) + "</section>";
  }
  return out;
}

}  // namespace warploom::loops
