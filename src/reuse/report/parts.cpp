#include "reuse/report/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/doors.hpp"

namespace warploom::reuse {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::rewritten:
      return "rewritten";
    case Verdict::unchanged:
      return "unchanged";
    case Verdict::refused:
      return "refused";
    case Verdict::failed:
      return "failed";
  }
  refuse_enumerator(verdict, "the verdict");
}

void check(const KernelReport& kernel) {
  name(kernel.verdict);
  const auto require = [&](std::uint32_t object) {
    if (object >= kernel.objects.size())
      throw BadInput(fmt::format("the report of kernel '{}' names object {} of {}", kernel.name, object,
                                 kernel.objects.size()));
  };
  for (const ObjectReport& object : kernel.objects) {
    std::ranges::for_each(object.shares_with, require);
    if (object.alignment == 0)
      throw BadInput(
          fmt::format("the report of kernel '{}': the alignment of '{}' is 0", kernel.name, object.name));
  }
  for (const auto& members : kernel.partitions) std::ranges::for_each(members, require);
  for (const InterferenceReport& pair : kernel.interference) require(pair.first), require(pair.second);
  for (const BarrierReport& barrier : kernel.barriers)
    for (const auto& [first, second] : barrier.separates) require(first), require(second);
}

void check(const Report& report) {
  for (const KernelReport& kernel : report.kernels) check(kernel);
}

std::string where(const SourcePosition& at) {
  if (!at.file.empty()) return fmt::format("{}:{}", file_name(at.file), at.line);
  return at.ptx_line != 0 ? fmt::format("PTX line {}", at.ptx_line) : std::string();
}

std::string where_both(const SourcePosition& at) {
  if (at.file.empty() || at.ptx_line == 0) return where(at);
  return fmt::format("{} (PTX line {})", where(at), at.ptx_line);
}

std::string where(const std::vector<SourcePosition>& positions) {
  std::vector<std::pair<std::string, std::vector<std::string>>> files;
  for (const SourcePosition& at : positions) {
    const std::string text = where(at);
    if (text.empty()) continue;
    const std::size_t split = text.find_last_of(at.file.empty() ? ' ' : ':') + 1;
    const std::string file = at.file.empty() ? "PTX lines " : text.substr(0, split),
                      line = text.substr(split);
    auto known = std::ranges::find(files, file, [](const auto& entry) { return entry.first; });
    if (known == files.end()) known = files.insert(files.end(), {file, {}});
    if (std::ranges::find(known->second, line) == known->second.end()) known->second.push_back(line);
  }
  std::vector<std::string> words;
  for (const auto& [file, lines] : files)
    words.push_back((file == "PTX lines " && lines.size() == 1 ? "PTX line " : file) + listed(lines));
  return listed(words);
}

std::string in_brackets(const SourcePosition& at) {
  const std::string text = where(at);
  return text.empty() ? text : fmt::format(" ({})", text);
}

std::vector<std::string> object_names(const KernelReport& kernel, const std::vector<std::uint32_t>& indices) {
  std::vector<std::string> names;
  for (const std::uint32_t i : indices) names.push_back(kernel.objects.at(i).name);
  return names;
}

SourcePosition source_of(const KernelReport& kernel, std::uint32_t ptx_line) {
  const auto next = std::ranges::upper_bound(kernel.lines, ptx_line, {}, &SourcePosition::ptx_line);
  if (next == kernel.lines.begin()) return {.file = {}, .line = 0, .ptx_line = ptx_line};
  const SourcePosition& at = *std::prev(next);
  return {.file = at.file, .line = at.line, .ptx_line = ptx_line};
}

namespace {

std::uint64_t aligned(std::uint64_t offset, std::uint32_t alignment) {
  const std::uint64_t unit = std::max(alignment, 1u);
  return (offset + unit - 1) / unit * unit;
}

}  // namespace

Layout layout_before(const KernelReport& kernel) {
  Layout layout;
  for (const ObjectReport& object : kernel.objects) {
    layout.offsets.push_back(aligned(layout.bytes, object.alignment));
    layout.bytes = layout.offsets.back() + object.bytes;
  }
  return layout;
}

Layout layout_after(const KernelReport& kernel) {
  Layout layout;
  layout.bytes = kernel.pool_bytes;
  for (const ObjectReport& object : kernel.objects)
    if (object.offset) layout.bytes = std::max(layout.bytes, *object.offset + object.bytes);
  for (const ObjectReport& object : kernel.objects) {
    layout.offsets.push_back(object.offset.value_or(aligned(layout.bytes, object.alignment)));
    if (!object.offset) layout.bytes = layout.offsets.back() + object.bytes;
  }
  return layout;
}

std::string blocks_of(const KernelReport& kernel) {
  if (kernel.threads == 0) return "";
  return fmt::format(", blocks of {} threads{}", kernel.threads,
                     kernel.threads_from == Origin::maximal_threads ? ", the most that .maxntid allows"
                     : kernel.threads_from == Origin::recorded      ? ", as recorded"
                                                                    : "");
}

const OccupancyReport* decisive(const KernelReport& kernel, std::string_view architecture) {
  const auto named = std::ranges::find(kernel.occupancy, architecture, &OccupancyReport::architecture);
  if (named != kernel.occupancy.end()) return &*named;
  return kernel.occupancy.empty() ? nullptr : &kernel.occupancy.front();
}

}  // namespace warploom::reuse
