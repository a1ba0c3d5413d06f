#include "reuse/analysis/liveness.hpp"

#include <algorithm>

namespace warploom::reuse {

std::string_view name(DeadPoint::Proof proof) {
  switch (proof) {
    case DeadPoint::iteration_private:
      return "private to an iteration";
    case DeadPoint::covered:
      return "written whole before it is read";
    case DeadPoint::stated:
      return "WARPLOOM_DEAD in the source";
  }
  return "";
}

Liveness find_liveness(const Kernel& kernel, const std::vector<DeadPoint>& dead) {
  const ptx::Cfg& cfg = kernel.cfg;
  Liveness l;
  l.stored_in.resize(cfg.blocks.size());
  l.loaded_out.resize(cfg.blocks.size());
  l.events.resize(cfg.blocks.size());
  for (const Access& a : kernel.use.accesses)
    l.events[cfg.block_of[a.instruction]].push_back({a.instruction, &a, {}});
  for (const DeadPoint& d : dead) {
    auto& events = l.events[cfg.block_of[d.instruction]];
    const auto at =
        std::lower_bound(events.begin(), events.end(), d.instruction,
                         [](const Liveness::Event& e, std::uint32_t i) { return e.instruction < i; });
    if (at != events.end() && at->instruction == d.instruction)
      at->dead_before.set(d.object);
    else
      events.insert(at, {d.instruction, nullptr, ObjectSet().set(d.object)});
  }

  // Forward: what has been stored. gen/kill a block, then the usual iteration.
  std::vector<ObjectSet> gen(cfg.blocks.size()), kill(cfg.blocks.size());
  for (const std::uint32_t b : cfg.order)
    for (const auto& e : l.events[b]) {
      gen[b] &= ~e.dead_before;
      kill[b] |= e.dead_before;
      if (e.access != nullptr && e.access->write) gen[b] |= e.access->objects;
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t b : cfg.order) {
      ObjectSet in = l.stored_in[b];
      for (const std::uint32_t p : cfg.graph.predecessors[b])
        if (cfg.reachable[p]) in |= gen[p] | (l.stored_in[p] & ~kill[p]);
      if (in != l.stored_in[b]) l.stored_in[b] = in, changed = true;
    }
  }

  // Backward: what will be loaded.
  std::fill(gen.begin(), gen.end(), ObjectSet());
  for (const std::uint32_t b : cfg.order)
    for (auto e = l.events[b].rbegin(); e != l.events[b].rend(); ++e) {
      if (e->access != nullptr && e->access->read) gen[b] |= e->access->objects;
      gen[b] &= ~e->dead_before;
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = cfg.order.rbegin(); it != cfg.order.rend(); ++it) {
      ObjectSet out = l.loaded_out[*it];
      for (const std::uint32_t s : cfg.graph.successors[*it]) out |= gen[s] | (l.loaded_out[s] & ~kill[s]);
      if (out != l.loaded_out[*it]) l.loaded_out[*it] = out, changed = true;
    }
  }
  return l;
}

std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> live_lines(const Kernel& kernel,
                                                                             const Liveness& liveness) {
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> lines(kernel.object_count());
  const auto add = [&](const ObjectSet& set, std::uint32_t first, std::uint32_t last) {
    for (std::size_t o = set._Find_first(); o < lines.size(); o = set._Find_next(o)) {
      if (!lines[o].empty() && lines[o].back().second >= first)
        lines[o].back().second = std::max(lines[o].back().second, last);
      else
        lines[o].emplace_back(first, last);
    }
  };
  for (std::uint32_t b = 0; b < kernel.cfg.blocks.size(); ++b) {
    const ptx::Block& block = kernel.cfg.blocks[b];
    if (!kernel.cfg.reachable[b] || block.first == block.last) continue;
    std::uint32_t at = kernel.line(block.first);
    // Up to the next instruction: labels and .loc lines between two blocks part no life.
    const std::uint32_t end = block.last < kernel.function->instructions.size()
                                  ? kernel.line(block.last)
                                  : kernel.line(block.last - 1) + 1;
    ObjectSet live_at_end = liveness.stored_in[b] & liveness.loaded_out[b];
    for_each_event(liveness, b,
                   [&](const Liveness::Event& e, const ObjectSet& before, const ObjectSet& after) {
                     const std::uint32_t line = kernel.line(e.instruction);
                     add(before, at, line);
                     if (e.access != nullptr) add(e.access->objects | after, line, line + 1);
                     live_at_end = after;
                     at = line;
                   });
    add(live_at_end, at, end);
  }
  return lines;
}

}  // namespace warploom::reuse
