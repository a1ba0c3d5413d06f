// What is done on the GPU, for a terminal and for the page.
#include "tile/explain/kernels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tile/c/wellformed.hpp"
#include "tile/explain/rows.hpp"
#include "warploom/core/error.hpp"
#include "warploom/hw/occupancy.hpp"
#include "warploom/page/text.hpp"

namespace warploom::tile {
namespace {

using page::grouped;

std::string extents_text(const std::array<Expression, 3>& extents) {
  std::size_t used = 3;
  while (used > 1 && extents[used - 1] == Expression::integer(1)) --used;
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < used; ++k) texts.push_back(to_text(extents[k]));
  return fmt::format("{}", fmt::join(texts, " x "));
}

std::string rounded(double value) { return grouped(static_cast<std::uint64_t>(value + 0.5)); }

std::string_view whose_bytes(Space space) {
  return space == Space::shared                               ? " a block"
         : space == Space::registers || space == Space::local ? " a thread"
                                                              : "";
}

}  // namespace

std::string launch_text(const Kernel& kernel) {
  const std::string blocks = extents_text(kernel.grid);
  return fmt::format("{} block{} of {} threads", blocks, blocks == "1" ? "" : "s",
                     extents_text(kernel.block));
}

std::vector<PlacementRow> placement_rows(const Kernel& kernel) {
  std::vector<PlacementRow> rows;
  for (const Placement& p : kernel.placements) {
    PlacementRow row{p.array, std::string(name(p.space)), {}, {}, {}, {}, p.reason};
    if (p.bytes > 0) row.bytes = fmt::format("{}{}", grouped(p.bytes), whose_bytes(p.space));
    if (p.sectors > 0) row.sectors = fmt::format("{:.3g}, at best {:.3g}", p.sectors, p.ideal_sectors);
    if (p.space == Space::shared) {
      row.bank_conflicts = std::to_string(p.bank_conflicts);
      row.reuse = fmt::format("{:.3g} times in the block", p.reuse_in_block);
      if (p.reuse_in_registers > 1) row.reuse += fmt::format(", {:.3g} in registers", p.reuse_in_registers);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<page::Fact> cost_facts(const GpuPlan& plan, std::size_t kernel) {
  const Cost& cost = plan.costs.at(kernel);
  std::uint64_t threads = cost.blocks_per_sm;
  for (const Expression& extent : plan.program.kernels.at(kernel).block)
    threads *= static_cast<std::uint64_t>(value_of(extent, {}));
  const auto most = hw::architecture(plan.options.architecture).threads_per_sm;
  return {{"Estimated time", fmt::format("{:.3g} ms", cost.milliseconds), "bound by " + cost.bound},
          {"Operations", rounded(cost.operations), "floating-point"},
          {"Global memory", rounded(cost.global_bytes), "bytes"},
          {"Shared memory", rounded(cost.shared_bytes),
           fmt::format("bytes moved; {} a block", grouped(cost.shared))},
          {"Occupancy", fmt::format("at most {} %", 100 * threads / most),
           fmt::format(
               "{} blocks, {} of {} threads a multiprocessor{}", cost.blocks_per_sm, threads, most,
               cost.registers > 0 ? fmt::format(", each with {} registers of values", cost.registers) : "")}};
}

namespace {

std::string numbers(const PlacementRow& row) {
  std::string text;
  for (const auto& [what, value] : {std::pair("bytes: ", &row.bytes),
                                    {"sectors a warp: ", &row.sectors},
                                    {"threads on one bank: ", &row.bank_conflicts},
                                    {"used ", &row.reuse}})
    if (!value->empty()) text += fmt::format("; {}{}", what, *value);
  return text;
}

std::string unknown_sizes(const Nest& nest) {
  std::vector<std::string> unknown;
  for (const std::string& size : nest.region().sizes)
    if (std::ranges::none_of(nest.sizes(), [&](const SizeRange& range) {
          return range.name == size && range.least && range.least == range.most;
        }))
      unknown.push_back(fmt::format("--size {}=...", size));
  return fmt::format("{}", fmt::join(unknown, " "));
}

}  // namespace

std::string to_text(const Nest& nest, const GpuPlan& plan) {
  check(nest, plan.program);
  if (!plan.costs.empty() && plan.costs.size() < plan.program.kernels.size())
    throw BadInput(fmt::format("a plan of {} kernels has the costs of {}", plan.program.kernels.size(),
                               plan.costs.size()));
  std::string out = fmt::format("\nOn a GPU ({})\n", plan.options.architecture);
  const auto line = [&](std::size_t level, const std::string& text) {
    out += std::string(2 * level, ' ') + text + '\n';
  };
  for (const std::string& reason : plan.program.reasons) line(1, reason);
  if (plan.program.kernels.empty()) line(1, "no kernel: nothing runs for the sizes that are allowed");
  for (std::size_t k = 0; k < plan.program.kernels.size(); ++k) {
    const Kernel& kernel = plan.program.kernels[k];
    line(1, fmt::format("{}: {}{}, {}", kernel.name, kernel.pattern,
                        kernel.statements.empty() ? "" : " of " + labels(nest, kernel.statements),
                        launch_text(kernel)));
    for (const std::string& reason : kernel.reasons) line(2, reason);
    for (const PlacementRow& row : placement_rows(kernel)) {
      line(2, fmt::format("{} in {}{}", row.array, row.space, numbers(row)));
      line(3, row.reason);
    }
    if (k >= plan.costs.size()) continue;
    std::vector<std::string> facts;
    for (const page::Fact& fact : cost_facts(plan, k))
      facts.push_back(fmt::format("{}: {} ({})", fact.what, fact.value, fact.more));
    line(2, fmt::format("{}", fmt::join(facts, "; ")));
  }
  if (const std::string unknown = unknown_sizes(nest); plan.costs.empty() && !unknown.empty())
    line(1, "What that takes is estimated where all sizes are known: " + unknown);
  return out;
}

}  // namespace warploom::tile
