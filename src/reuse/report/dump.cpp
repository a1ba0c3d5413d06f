#include "reuse/report/dump.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reuse/analysis/barrier_kind.hpp"
#include "reuse/analysis/parts.hpp"

namespace warploom::reuse {

using namespace ptx;

namespace {

std::string symbol(const Kernel& kernel, std::size_t object) {
  const Object& o = kernel.use.objects[object];
  return part_name(o, std::string(kernel.module->variables[o.variable].name));
}

std::string symbols(const Kernel& kernel, const ObjectSet& set) {
  std::vector<std::string> names;
  for (std::size_t o = set._Find_first(); o < kernel.object_count(); o = set._Find_next(o))
    names.push_back(symbol(kernel, o));
  return fmt::format("{{{}}}", fmt::join(names, ", "));
}

}  // namespace

std::string dump_cfg(const Kernel& kernel) {
  std::string out;
  for (const std::uint32_t b : kernel.cfg.order) {
    const Block& block = kernel.cfg.blocks[b];
    if (block.first == block.last) continue;
    out += fmt::format(
        "block {}: lines {}-{}, loop depth {}, to {}, dominated by {}\n", b, kernel.line(block.first),
        kernel.line(block.last - 1), kernel.cfg.depth(b), fmt::join(kernel.cfg.graph.successors[b], " "),
        kernel.cfg.dominators.parent(b) == kNone ? "nothing"
                                                 : fmt::format("{}", kernel.cfg.dominators.parent(b)));
  }
  for (const Loop& loop : kernel.cfg.loops)
    out += fmt::format("loop: header {}, blocks {}\n", loop.header, fmt::join(loop.blocks, " "));
  if (!kernel.cfg.reducible) out += "irreducible\n";
  return out;
}

std::string dump_values(const Kernel& kernel) {
  std::size_t phis = 0;
  for (const auto& list : kernel.values.phis) phis += list.size();
  std::string out = fmt::format("{} values, {} phis\n", kernel.values.all.size(), phis);
  for (std::uint32_t b = 0; b < kernel.values.phis.size(); ++b)
    for (const std::uint32_t phi : kernel.values.phis[b]) {
      const Value& v = kernel.values.all[phi];
      out += fmt::format("block {}: v{} = phi {} of v{}\n", b, phi, kernel.function->registers[v.reg].name,
                         fmt::join(kernel.values.begin_inputs(v), kernel.values.end_inputs(v), " v"));
    }
  return out;
}

std::string dump_provenance(const Kernel& kernel) {
  std::string out;
  for (std::size_t o = 0; o < kernel.object_count(); ++o) {
    const Object& object = kernel.use.objects[o];
    out += fmt::format("object {}: {} bytes, align {}{}\n", symbol(kernel, o), object.bytes, object.alignment,
                       object.pinned ? fmt::format(", keeps its storage: {} (line {})", object.pinned->text,
                                                   object.pinned->line)
                                     : "");
  }
  for (const Access& a : kernel.use.accesses)
    out += fmt::format("line {}: {}{} {} of {}\n", kernel.line(a.instruction), a.read ? "load" : "",
                       a.write ? (a.read ? "+store" : "store") : "",
                       a.bytes == 0 ? "some bytes" : fmt::format("{} bytes", a.bytes),
                       symbols(kernel, a.objects));
  if (kernel.use.refusal)
    out += fmt::format("refused: {} (line {})\n", kernel.use.refusal->text, kernel.use.refusal->line);
  if (kernel.use.no_insert)
    out += fmt::format("no barrier is added: {} (line {})\n", kernel.use.no_insert->text,
                       kernel.use.no_insert->line);
  return out;
}

std::string dump_uniformity(const Kernel& kernel) {
  std::string out;
  for (const DivergentBranch& d : kernel.uniformity.divergent)
    out += fmt::format("line {}: divergent, apart in blocks {}\n",
                       kernel.line(kernel.cfg.blocks[d.block].last - 1), fmt::join(d.region, " "));
  for (const UniformByBarrier& u : kernel.uniformity.assumed)
    out += fmt::format("line {}: uniform, since the barrier of line {} depends on it\n",
                       kernel.line(u.branch), kernel.line(u.barrier));
  for (std::uint32_t i = 0; i < kernel.function->instructions.size(); ++i)
    if (kernel.cfg.reachable[kernel.cfg.block_of[i]] &&
        barrier_kind(*kernel.module, *kernel.function, kernel.instruction(i)) != BarrierKind::none)
      out += fmt::format("line {}: barrier, {}\n", kernel.line(i),
                         separates(kernel, i) ? "block-wide" : "separates nothing");
  if (kernel.uniformity.divergent_barrier)
    out += fmt::format("line {}: {}\n", kernel.uniformity.divergent_barrier->line,
                       kernel.uniformity.divergent_barrier->text);
  return out;
}

std::string dump_parts(const Kernel& kernel) {
  std::string out;
  for (std::size_t o = 0; o < kernel.object_count(); ++o) {
    if (!kernel.use.objects[o].part) continue;
    out += fmt::format("{}: accessed at lines", symbol(kernel, o));
    for (const Access& a : kernel.use.accesses)
      if (a.objects[o]) out += fmt::format(" {}", kernel.line(a.instruction));
    out += '\n';
  }
  return out.empty() ? "no array has parts of its own\n" : out;
}

std::string dump_dead_points(const Kernel& kernel, const std::vector<DeadPoint>& dead,
                             const std::vector<NotPrivate>& failures) {
  std::string out;
  for (const DeadPoint& d : dead)
    out += fmt::format("line {}: {} is dead: {}\n", kernel.line(d.instruction), symbol(kernel, d.object),
                       name(d.proof));
  for (const NotPrivate& n : failures)
    out += fmt::format("line {}: {} is not private to the loop: {} (line {})\n",
                       kernel.line(kernel.cfg.blocks[kernel.cfg.loops[n.loop].header].first),
                       symbol(kernel, n.object), n.reason.text, n.reason.line);
  return out;
}

std::string dump_liveness(const Kernel& kernel, const Liveness& liveness) {
  std::string out;
  const auto lines = live_lines(kernel, liveness);
  for (std::size_t o = 0; o < lines.size(); ++o) {
    out += fmt::format("{}:", symbol(kernel, o));
    for (const auto& [first, last] : lines[o]) out += fmt::format(" {}-{}", first, last - 1);
    out += '\n';
  }
  return out;
}

std::string dump_interference(const Kernel& kernel, const Interference& interference) {
  std::string out;
  for (const auto& e : interference.edges())
    out += fmt::format("{} - {}: {} (line {})\n", symbol(kernel, e.a), symbol(kernel, e.b), e.reason.text,
                       e.reason.line);
  return out;
}

std::string dump_plan(const Kernel& kernel, const Plan& plan) {
  std::string out =
      fmt::format("pool of {} bytes, align {}; {} bytes in all; placement {}, {}\n", plan.pool_bytes,
                  plan.pool_alignment, plan.total_bytes, name(plan.placement.method),
                  plan.placement.proved_optimal ? "proved optimal" : "not proved optimal");
  for (std::size_t i = 0; i < plan.pooled.size(); ++i)
    out += fmt::format("{} at {}, overlaps {}\n", symbol(kernel, plan.pooled[i]), plan.offsets[i],
                       symbols(kernel, plan.overlap[plan.pooled[i]]));
  for (const std::uint32_t i : plan.insertions)
    out += fmt::format("barrier before line {}\n", kernel.line(i));
  return out;
}

}  // namespace warploom::reuse
