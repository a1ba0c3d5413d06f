#include "reuse/report/describe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "reuse/analysis/parts.hpp"
#include "reuse/report/parts.hpp"
#include "reuse/rewrite/assumed.hpp"
#include "warploom/core/demangle.hpp"

namespace warploom::reuse {

using namespace ptx;

namespace {

/// The innermost line of inlined code that is the author's own: in the directory of the kernel's file. A line
/// inside a library says less than where it was called from.
SourcePosition source_of_location(const Module& module, std::uint32_t location) {
  const auto directory_of = [&](std::uint32_t at) {
    const auto file = module.files.find(module.locations[at].file);
    if (file == module.files.end()) return std::string_view();
    return std::string_view(file->second).substr(0, file->second.rfind('/') + 1);
  };
  SourcePosition p;
  if (location == kNone) return p;
  std::vector<std::uint32_t> chain{location};
  while (chain.size() < 64 && module.locations[chain.back()].inlined_at != kNone)
    chain.push_back(module.locations[chain.back()].inlined_at);
  const std::string_view home = directory_of(chain.back());
  const std::uint32_t own = *std::find_if(chain.begin(), chain.end() - 1, [&](std::uint32_t at) {
    return module.locations[at].line != 0 && directory_of(at) == home;
  });
  if (module.locations[own].line == 0) return p;
  if (const auto file = module.files.find(module.locations[own].file); file != module.files.end())
    p.file = file->second;
  p.line = module.locations[own].line;
  return p;
}

/// Pairs that an added barrier parts: were it not there, a hazard would arise.
std::set<std::pair<std::uint32_t, std::uint32_t>> parted_by(const HazardSearch& search, const Plan& plan,
                                                            std::uint32_t barrier) {
  Insertions others = plan.insertions;
  std::erase(others, barrier);
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const Hazard& h : search.find(plan.overlap, others))
    pairs.emplace(std::min(h.earlier, h.later), std::max(h.earlier, h.later));
  return pairs;
}

}  // namespace

SourcePosition source_of(const Kernel& kernel, std::uint32_t instruction) {
  const Instruction& i = kernel.instruction(instruction);
  SourcePosition p = source_of_location(*kernel.module, i.location);
  p.ptx_line = i.line;
  return p;
}

SourcePosition source_of_line(const Kernel& kernel, std::uint32_t ptx_line) {
  const auto& all = kernel.function->instructions;
  const auto at = std::lower_bound(all.begin(), all.end(), ptx_line,
                                   [](const Instruction& i, std::uint32_t line) { return i.line < line; });
  if (at != all.end() && at->line == ptx_line)
    return source_of(kernel, static_cast<std::uint32_t>(at - all.begin()));
  return {"", 0, ptx_line};
}

void describe_kernel(const Module& module, const Function& f, KernelReport& report) {
  report.symbol = f.name;
  report.name = function_name(f.name);
  report.at.ptx_line = f.line;
  if (f.instructions.empty()) return;
  report.first_line = f.instructions.front().line;
  report.last_line = f.instructions.back().line;
  for (const Instruction& i : f.instructions) {
    if (i.location == kNone) continue;
    SourcePosition p = source_of_location(module, i.location);
    if (p.line == 0) continue;
    if (report.at.line == 0) report.at = {p.file, p.line, f.line};
    if (!report.lines.empty() && report.lines.back().line == p.line && report.lines.back().file == p.file)
      continue;
    p.ptx_line = i.line;
    report.lines.push_back(std::move(p));
  }
}

DynamicFormula describe_formula(const Kernel& kernel, const Carving& carving, const CarvedPlan& plan) {
  DynamicFormula formula;
  std::set<std::uint32_t> named;
  const auto text = [&](const Linear& a) {
    for (const auto& [id, factor] : a.terms) named.insert(id);
    return carving.text(a);
  };
  formula.before = text(carving.end_before());
  for (const Linear& end : plan.ends) formula.after.push_back(text(end));
  formula.example_before = static_cast<std::uint64_t>(carving.at_example(carving.end_before()));
  formula.example_after = plan.example_bytes;
  for (const std::uint32_t id : carving.ranges().unknowns()) {
    const Unknown& u = carving.ranges().unknown(id);
    const bool parameter = u.kind == Unknown::parameter;  // the kernel looks at all of them
    if (!parameter && !named.contains(id)) continue;
    const auto& all = kernel.function->parameters;
    formula.arguments.push_back(
        {carving.name(id),
         !parameter ? fmt::format("blockDim.{}", "xyz"[u.axis])
                    : fmt::format("{}the kernel's parameter {} ({})",
                                  u.offset == 0 ? "" : fmt::format("byte {} and on of ", u.offset),
                                  std::ranges::find(all, u.variable) - all.begin(),
                                  kernel.module->variables[u.variable].name),
         parameter, carving.example_of(id)});
  }
  return formula;
}

void describe_assumed_parts(const Kernel& kernel, const Carving& carving, KernelReport& report) {
  for (std::size_t part = 0; part < carving.parts().size(); ++part) {
    std::vector<std::uint32_t> lines;
    std::optional<std::uint32_t> first;
    for (const auto& [access, of] : carving.assumed()) {
      if (of != part) continue;
      const std::uint32_t i = kernel.use.accesses[access].instruction;
      if (!first) first = i;
      if (lines.empty() || lines.back() != kernel.line(i)) lines.push_back(kernel.line(i));
    }
    if (!first) continue;
    report.assumptions.push_back(
        {fmt::format("--assume-parts: the accesses of PTX line{} {} stay in {}", lines.size() == 1 ? "" : "s",
                     fmt::join(lines, ", "), assumed_bytes(kernel, carving, part)),
         source_of(kernel, *first)});
  }
}

void describe_suggestion(const Kernel& kernel, const Carving& carving, KernelReport& report) {
  std::vector<std::string> parts;
  for (std::size_t p = 0; p < carving.parts().size(); ++p) parts.push_back(assumed_bytes(kernel, carving, p));
  std::vector<SourcePosition> at;
  for (const auto& [access, part] : carving.assumed())
    at.push_back(source_of(kernel, kernel.use.accesses[access].instruction));
  const DynamicFormula& formula = report.dynamic_formula;
  const bool open = formula.before == "before";
  std::string meanings;
  for (const DynamicFormula::Argument& a : formula.arguments)
    meanings += fmt::format(", {} is {}", a.name, a.meaning);
  report.suggestions.push_back(fmt::format(
      "the dynamic array is carved into {}. If every access kept to its part, they could be overlaid: {} bytes in "
      "place of {}{}. That is not proved of the accesses in {}: give their index a bound (`if (i < n)`, where n is "
      "what the part is carved by), or vouch for it with --assume-parts",
      page::listed(parts), formula.text(), open ? "what the launch passes (before)" : formula.before,
      meanings, where(at)));
}

void describe_objects(const Kernel& kernel, const Liveness& liveness, KernelReport& report) {
  std::vector<std::string> symbols, arrays;
  for (const Object& o : kernel.use.objects) {
    symbols.emplace_back(kernel.module->variables[o.variable].name);
    if (arrays.empty() || arrays.back() != symbols.back()) arrays.push_back(symbols.back());
  }
  std::vector<std::string> names;
  for (std::size_t o = 0, array = 0; o < symbols.size(); ++o) {  // the parts of an array stand together
    if (o > 0 && symbols[o] != symbols[o - 1]) ++array;
    names.push_back(part_name(kernel.use.objects[o], warploom::object_names(arrays)[array]));
  }
  const auto lines = live_lines(kernel, liveness);
  for (std::size_t o = 0; o < symbols.size(); ++o) {
    ObjectReport r;
    r.name = names[o];
    r.symbol = symbols[o];
    r.bytes = kernel.use.objects[o].bytes;
    r.alignment = kernel.use.objects[o].alignment;
    r.declared.ptx_line = kernel.module->variables[kernel.use.objects[o].variable].line;
    r.live_lines = lines[o];
    report.objects.push_back(std::move(r));
  }
  for (const Access& a : kernel.use.accesses)
    for (std::size_t o = a.objects._Find_first(); o < symbols.size(); o = a.objects._Find_next(o)) {
      if (a.write) report.objects[o].store_lines.push_back(kernel.line(a.instruction));
      if (a.read) report.objects[o].load_lines.push_back(kernel.line(a.instruction));
    }
}

void describe_interference(const Kernel& kernel, const Interference& interference, KernelReport& report) {
  for (const auto& e : interference.edges())
    report.interference.push_back({e.a, e.b, e.reason.text, source_of_line(kernel, e.reason.line)});
}

void describe_plan(const Kernel& kernel, const Plan& plan, const Interference& interference,
                   const std::vector<NotPrivate>& failures, KernelReport& report) {
  report.pool_bytes = plan.pool_bytes;
  std::vector<bool> grouped(kernel.object_count());
  for (std::size_t i = 0; i < plan.pooled.size(); ++i) {
    ObjectReport& r = report.objects[plan.pooled[i]];
    r.offset = plan.offsets[i];
    for (std::size_t o = plan.overlap[plan.pooled[i]]._Find_first(); o < kernel.object_count();
         o = plan.overlap[plan.pooled[i]]._Find_next(o))
      r.shares_with.push_back(static_cast<std::uint32_t>(o));
    r.shares = !r.shares_with.empty();
  }
  for (const std::uint32_t start : plan.pooled) {
    if (grouped[start] || plan.overlap[start].none()) continue;
    std::vector<std::uint32_t> group{start};
    grouped[start] = true;
    for (std::size_t at = 0; at < group.size(); ++at)
      for (const std::uint32_t o : report.objects[group[at]].shares_with)
        if (!grouped[o]) grouped[o] = true, group.push_back(o);
    std::sort(group.begin(), group.end());
    report.partitions.push_back(std::move(group));
  }
  for (std::uint32_t o = 0; o < kernel.object_count(); ++o) {
    ObjectReport& r = report.objects[o];
    if (r.shares) {
      std::vector<std::string> partners;
      for (const std::uint32_t p : r.shares_with) partners.push_back(report.objects[p].name);
      r.reason =
          fmt::format("its life meets neither {}, and a barrier lies between", fmt::join(partners, " nor "));
      if (partners.size() == 1)
        r.reason = fmt::format("its life does not meet that of {}, and a barrier lies between", partners[0]);
      continue;
    }
    if (const auto& pinned = kernel.use.objects[o].pinned) {
      r.reason = pinned->text;
      r.reason_at = source_of_line(kernel, pinned->line);
      continue;
    }
    const auto failure =
        std::find_if(failures.begin(), failures.end(), [&](const NotPrivate& n) { return n.object == o; });
    const auto edge =
        std::find_if(interference.edges().begin(), interference.edges().end(), [&](const auto& e) {
          return (e.a == o || e.b == o) && !kernel.use.objects[e.a].pinned && !kernel.use.objects[e.b].pinned;
        });
    if (failure != failures.end()) {
      r.reason = fmt::format("it lives through a loop: {}", failure->reason.text);
      r.reason_at = source_of_line(kernel, failure->reason.line);
    } else if (edge != interference.edges().end()) {
      r.reason = fmt::format("it meets {}: {}", report.objects[edge->a == o ? edge->b : edge->a].name,
                             edge->reason.text);
      r.reason_at = source_of_line(kernel, edge->reason.line);
    } else {
      r.reason = kernel.object_count() < 2 ? "there is no other object"
                                           : "no other object fits beside the rest in less space";
    }
  }
  // Barriers that part overlapping pairs: the inserted ones, and those that were there.
  std::vector<std::uint32_t> places = plan.insertions;
  if (!plan.pooled.empty())
    for (std::uint32_t i = 0; i < kernel.function->instructions.size(); ++i)
      if (kernel.cfg.reachable[kernel.cfg.block_of[i]] && separates(kernel, i)) places.push_back(i);
  std::sort(places.begin(), places.end());
  const HazardSearch search(kernel);
  for (const std::uint32_t i : places) {
    BarrierReport b;
    b.at = source_of(kernel, i);
    b.inserted = std::binary_search(plan.insertions.begin(), plan.insertions.end(), i);
    if (b.inserted)
      for (const auto& [x, y] : parted_by(search, plan, i)) b.separates.emplace_back(x, y);
    report.barriers.push_back(std::move(b));
  }
}

void describe_assumptions(const Kernel& kernel, const Plan& plan, const std::vector<DeadPoint>& dead,
                          bool promised_block, bool recorded, KernelReport& report) {
  for (const UniformByBarrier& u : kernel.uniformity.assumed)
    report.assumptions.push_back(
        {fmt::format(
             "this branch goes the same way in all threads, since the barrier of PTX line {} depends on it",
             kernel.line(u.barrier)),
         source_of(kernel, u.branch)});
  for (const DeadPoint& d : dead) {
    if (plan.overlap[d.object].none()) continue;
    if (d.proof == DeadPoint::iteration_private)
      report.assumptions.push_back(
          {fmt::format("no uninitialised element of {} is read in the loop's first iteration",
                       report.objects[d.object].name),
           source_of(kernel, d.instruction)});
    if (d.proof == DeadPoint::stated)
      report.assumptions.push_back({fmt::format("WARPLOOM_DEAD: the source says that {} is not read again",
                                                report.objects[d.object].name),
                                    source_of(kernel, d.instruction)});
  }
  for (const Access& a : kernel.use.accesses) {
    // Of what lands at a branch an mbarrier told.
    if (!a.landing || kernel.module->opcode(kernel.instruction(a.instruction)).op != ptx::Op::bra) continue;
    for (std::size_t o = a.objects._Find_first(); o < kernel.object_count(); o = a.objects._Find_next(o))
      if (plan.overlap[o].any())
        report.assumptions.push_back(
            {fmt::format("the copies to {} belong to the phase of the mbarrier that this wait is for",
                         report.objects[o].name),
             source_of(kernel, a.instruction)});
  }
  if (promised_block)
    report.assumptions.push_back(
        {fmt::format("the block is {} x {} x {} threads, as {}", (*kernel.block)[0], (*kernel.block)[1],
                     (*kernel.block)[2],
                     recorded ? "all recorded launches have it; .reqntid was written, so that another launch "
                                "fails (--block says another size, --disable coverage does without)"
                              : "--block says"),
         report.at});
}

}  // namespace warploom::reuse
