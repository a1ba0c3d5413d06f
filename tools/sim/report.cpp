#include "report.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "warploom/core/demangle.hpp"
#include "warploom/page/text.hpp"
#include "warploom/sim/element_type.hpp"

namespace warploom::tool {
namespace {

using page::grouped;

std::string size_text(const sim::Dim& dim, std::string_view unit) {
  return fmt::format("{} x {} x {} {}", dim.x, dim.y, dim.z, unit);
}

std::string fact(std::string_view name, const std::string& value) {
  return fmt::format("{:<22}{}\n", name, value);
}

Json site_json(const sim::Site& site) {
  return {{"ptx_line", site.ptx_line},
          {"file", site.file.empty() ? Json() : Json(site.file)},
          {"line", site.file.empty() ? Json() : Json(site.line)},
          {"block", site.block},
          {"thread", site.thread},
          {"what", site.what}};
}

Json finding_json(const sim::Finding& finding) {
  return {{"kind", name(finding.kind)},    {"kernel", finding.kernel},
          {"at", site_json(finding.site)}, {"other", finding.other ? site_json(*finding.other) : Json()},
          {"where", finding.where},        {"count", finding.count},
          {"text", finding.text()}};
}

/// As a number where C++ has the type, else its bits.
std::string element_text(const std::byte* at, const sim::ElementType& type) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, type.bytes);
  if (type.real() && type.bytes == 8) return fmt::format("{}", std::bit_cast<double>(bits));
  if (type.real() && type.bytes == 4)
    return fmt::format("{}", std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (type.real()) return fmt::format("{:#06x}", bits);
  const unsigned above = 64 - 8 * type.bytes;
  if (type.is_signed) return std::to_string(static_cast<std::int64_t>(bits << above) >> above);
  return std::to_string(bits);
}

}  // namespace

double SimRun::speed() const {
  return seconds > 0 ? static_cast<double>(outcome.thread_instructions) / seconds / outcome.cpu_threads : 0;
}

std::string as_text(const SimRun& run) {
  const sim::Outcome& outcome = run.outcome;
  std::string text = outcome.printed;
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += fact("kernel", demangle(run.launch->kernel));
  text += fact("grid", size_text(run.options.grid, "blocks"));
  text += fact("block", size_text(run.options.block, "threads"));
  text += fact("shared memory",
               fmt::format("{} bytes static, {} dynamic", outcome.static_shared, run.options.dynamic_shared));
  if (!run.remark.empty()) text += fact("remark", run.remark);
  text += fact("schedule", run.options.schedule == sim::Schedule::in_order
                               ? std::string(name(run.options.schedule))
                               : fmt::format("{}, seed {}", name(run.options.schedule), run.options.seed));
  text += fact("races", run.options.races ? "looked for" : "not looked for (--race)");
  text += fact("thread instructions", grouped(outcome.thread_instructions));
  text += fact("warp instructions", grouped(outcome.warp_instructions));
  text += fact("divergent branches", grouped(outcome.divergent_branches));
  text += fact("barriers", grouped(outcome.barriers));
  text += fact("time", fmt::format("{:.3g} s on {} CPU thread{}", run.seconds, outcome.cpu_threads,
                                   outcome.cpu_threads == 1 ? "" : "s"));
  text += fact("speed", fmt::format("{:.1f} million thread instructions/s a core", run.speed() / 1e6));
  if (!outcome.completed) text += fact("stopped", "before its end, at the last finding");
  for (const sim::Finding& finding : outcome.findings) text += finding.text() + "\n";
  return text;
}

Json as_json(const SimRun& run) {
  const sim::Outcome& outcome = run.outcome;
  const auto size = [](const sim::Dim& dim) { return Json::array({dim.x, dim.y, dim.z}); };
  Json findings = Json::array();
  for (const sim::Finding& finding : outcome.findings) findings.push_back(finding_json(finding));
  return {{"kernel", run.launch->kernel},
          {"demangled", demangle(run.launch->kernel)},
          {"grid", size(run.options.grid)},
          {"block", size(run.options.block)},
          {"static_shared_bytes", outcome.static_shared},
          {"dynamic_shared_bytes", run.options.dynamic_shared},
          {"remark", run.remark.empty() ? Json() : Json(run.remark)},
          {"schedule", name(run.options.schedule)},
          {"seed", run.options.seed},
          {"races", run.options.races},
          {"completed", outcome.completed},
          {"thread_instructions", outcome.thread_instructions},
          {"warp_instructions", outcome.warp_instructions},
          {"divergent_branches", outcome.divergent_branches},
          {"barriers", outcome.barriers},
          {"seconds", run.seconds},
          {"cpu_threads", outcome.cpu_threads},
          {"thread_instructions_per_second_per_core", run.speed()},
          {"printed", outcome.printed},
          {"findings", std::move(findings)}};
}

std::vector<std::string> differences(const SimRun& first, const std::vector<SimMemory>& left,
                                     const SimRun& second, const std::vector<SimMemory>& right) {
  std::vector<std::string> out;
  for (std::size_t m = 0; m < left.size(); ++m) {
    const sim::ElementType& type = *sim::find_element_type(left[m].type);
    const std::size_t count = left[m].bytes.size() / type.bytes;
    std::size_t differing = 0, at = 0;
    for (std::size_t i = count; i-- > 0;) {
      const std::size_t offset = i * type.bytes;
      if (std::memcmp(&left[m].bytes[offset], &right[m].bytes[offset], type.bytes) == 0) continue;
      ++differing;
      at = i;
    }
    if (differing == 0) continue;
    out.push_back(fmt::format(
        "schedules {} and {} leave different values in {} of kernel {}: {} of {} elements ({}), the first at {}: {} and {}",
        name(first.options.schedule), name(second.options.schedule), left[m].label,
        function_name(first.launch->kernel), differing, count, type.name, at,
        element_text(&left[m].bytes[at * type.bytes], type),
        element_text(&right[m].bytes[at * type.bytes], type)));
  }
  return out;
}

}  // namespace warploom::tool
