#include "reuse/check/uniformity.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reuse/check/operations.hpp"

namespace warploom::reuse::checking {
namespace {

using ptx::kNone;
using ptx::Op;
using ptx::OperandKind;
using ptx::Space;

/// Special registers that all threads of a block read alike.
bool is_block_wide(std::string_view name) {
  for (const std::string_view prefix :
       {"%ntid", "%ctaid", "%nctaid", "%gridid", "WARP_SZ", "%nwarpid", "%total_smem_size",
        "%dynamic_smem_size", "%aggr_smem_size", "%nsmid"})
    if (name.starts_with(prefix)) return true;
  return false;
}

/// Whether a thread may wait here for another one, and so has not left though no access follows.
bool may_wait(const Kernel& k, std::uint32_t i) {
  const ptx::Opcode& o = k.opcode(i);
  return o.op == Op::unknown || o.has("sync") || call_may_wait(k, i) ||
         (reads_of_others(o) && in_cycle(k.cfg, k.cfg.block_of[i]));
}

}  // namespace

bool Uniformity::Region::contains(std::uint32_t block) const {
  return std::binary_search(blocks.begin(), blocks.end(), block);
}

Uniformity::Uniformity(const Kernel& kernel) : k_(kernel) {
  find_matters();
  find_regions();
  settle();
}

void Uniformity::find_matters() {
  const auto& cfg = k_.cfg;
  matters.assign(cfg.blocks.size(), false);
  std::vector<std::uint32_t> work;
  for (std::uint32_t b = 0; b < cfg.blocks.size(); ++b) {
    if (!cfg.reachable[b]) continue;
    for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last && !matters[b]; ++i)
      if (k_.access_of[i] != kNone || is_full_barrier(k_, i) || is_partial_barrier(k_, i) ||
          call_may_synchronise(k_, i) || may_wait(k_, i))
        matters[b] = true;
    if (matters[b]) work.push_back(b);
  }
  while (!work.empty()) {
    const std::uint32_t b = work.back();
    work.pop_back();
    for (const std::uint32_t p : cfg.graph.predecessors[b])
      if (cfg.reachable[p] && !matters[p]) matters[p] = true, work.push_back(p);
  }
  graph_ = ptx::Graph(cfg.blocks.size());
  for (std::uint32_t b = 0; b < cfg.blocks.size(); ++b)
    for (const std::uint32_t s : cfg.graph.successors[b])
      if (matters[b] && matters[s]) graph_.add_edge(b, s);
}

void Uniformity::find_regions() {
  post_dominators = ptx::post_dominators(graph_);
  const std::uint32_t end = graph_.size();
  std::vector<bool> seen(end);
  for (std::uint32_t b = 0; b < end; ++b) {
    if (graph_.successors[b].size() < 2) continue;
    Region region;
    region.branch = b;
    const std::uint32_t meet = post_dominators.parent(b);
    region.meet = meet == end ? kNone : meet;
    std::vector<std::uint32_t> work;
    const auto add = [&](std::uint32_t to) {
      if (to == meet || seen[to]) return;
      seen[to] = true;
      work.push_back(to);
      region.blocks.push_back(to);
    };
    for (const std::uint32_t s : graph_.successors[b]) add(s);
    while (!work.empty()) {
      const std::uint32_t at = work.back();
      work.pop_back();
      for (const std::uint32_t s : graph_.successors[at]) add(s);
    }
    for (const std::uint32_t at : region.blocks) seen[at] = false;
    std::sort(region.blocks.begin(), region.blocks.end());
    regions.push_back(std::move(region));
  }
}

const Uniformity::Region* Uniformity::region_of(std::uint32_t block) const {
  const auto it = std::lower_bound(regions.begin(), regions.end(), block,
                                   [](const Region& r, std::uint32_t b) { return r.branch < b; });
  return it != regions.end() && it->branch == block ? &*it : nullptr;
}

bool Uniformity::threads_may_part(std::uint32_t block) const {
  const auto& successors = k_.cfg.graph.successors[block];
  if (successors.size() < 2) return false;
  const Region* region = region_of(block);
  if (divergent[block] || (region != nullptr && region->spread != Spread::uniform)) return true;
  if (region != nullptr &&
      std::all_of(successors.begin(), successors.end(), [&](std::uint32_t s) { return matters[s]; }))
    return false;
  const std::uint32_t branch = k_.cfg.blocks[block].last - 1;
  const auto reads = k_.flow.reads(branch);
  return std::any_of(reads.begin(), reads.end(),
                     [&](std::uint32_t reg) { return spread(branch, reg) != Spread::uniform; });
}

bool Uniformity::some_may_leave(std::uint32_t block) const {
  const auto& successors = k_.cfg.graph.successors[block];
  for (std::uint32_t i = k_.cfg.blocks[block].first; i < k_.cfg.blocks[block].last; ++i)
    if (leaves_kernel(k_, i) &&
        (divergent[block] ||
         (k_.guarded(i) && spread(i, k_.function.instructions[i].guard) != Spread::uniform)))
      return true;
  const bool all_stay =
      std::all_of(successors.begin(), successors.end(), [&](std::uint32_t s) { return matters[s]; });
  return !all_stay && (divergent[block] || threads_may_part(block));
}

Spread Uniformity::spread(std::uint32_t i, std::uint32_t reg) const {
  Spread sum = Spread::uniform;
  for (const std::uint32_t d : k_.flow.reaching(i, reg)) sum = std::max(sum, spread_of[d]);
  return sum;
}

Spread Uniformity::of_operand(std::uint32_t i, const ptx::Operand& o) const {
  switch (o.kind) {
    case OperandKind::reg:
      return spread(i, o.id);
    case OperandKind::special: {
      const std::string_view name = k_.module.text_of(o.span);
      if (is_block_wide(name)) return Spread::uniform;
      if (name == "%smid") return Spread::data;  // may change when a block is resumed
      if (k_.block && name.starts_with("%tid.") && name.size() == 6) {
        const std::size_t axis = std::string_view("xyz").find(name[5]);
        if (axis != std::string_view::npos && (*k_.block)[axis] == 1) return Spread::uniform;
      }
      return Spread::thread;
    }
    case OperandKind::address:
    case OperandKind::vector:
    case OperandKind::list:
    case OperandKind::pair: {
      Spread sum = Spread::uniform;
      for (const ptx::Operand& child : k_.function.children(o)) sum = std::max(sum, of_operand(i, child));
      return sum;
    }
    case OperandKind::symbol:  // each thread has its own local memory
      return k_.module.variables[o.id].space == Space::local ? Spread::thread : Spread::uniform;
    case OperandKind::unknown:
      return Spread::thread;
    default:
      return Spread::uniform;
  }
}

Spread Uniformity::of_instruction(std::uint32_t i) const {
  Spread sum = Spread::uniform;
  for (const ptx::Operand& o : k_.flow.sources(i)) sum = std::max(sum, of_operand(i, o));
  const ptx::Opcode& opcode = k_.opcode(i);
  switch (opcode.op) {
    case Op::ld:
    case Op::ldu: {
      if (opcode.space == Space::constant) return sum;
      if (opcode.space == Space::local) return Spread::thread;
      if (opcode.space != Space::param) return std::max(sum, Spread::data);
      const auto sources = k_.flow.sources(i);
      if (sources.empty() || sources[0].kind != OperandKind::address) return Spread::thread;
      const ptx::Operand& base = k_.function.children(sources[0])[0];
      const auto& parameters = k_.function.parameters;
      if (base.kind == OperandKind::symbol &&
          std::find(parameters.begin(), parameters.end(), base.id) == parameters.end())
        return Spread::thread;  // what a call returned
      return sum;
    }
    case Op::bar:
    case Op::barrier:
      return separates(k_, i) ? Spread::uniform : Spread::thread;
    case Op::rcp:
    case Op::sqrt_:
    case Op::rsqrt:
    case Op::ex2:
    case Op::lg2:
    case Op::sin_:
    case Op::cos_:
    case Op::testp:
    case Op::isspacep:
      return sum;
    default:
      if (kAddressArithmetic.contains(opcode.op) || kOtherArithmetic.contains(opcode.op)) return sum;
      return Spread::thread;  // atomics, other lanes, the carry flag, anything not known
  }
}

bool Uniformity::may_leave_after_access(const Region& region) const {
  if (region.meet != kNone) return false;
  for (const std::uint32_t s : graph_.successors[region.branch]) {
    // Depth first over (block, accessed yet), not beyond barriers.
    std::vector<std::pair<std::uint32_t, bool>> work{{s, false}};
    std::vector<std::uint8_t> seen(graph_.size());
    while (!work.empty()) {
      auto [b, accessed] = work.back();
      work.pop_back();
      if (seen[b] & (accessed ? 2 : 1)) continue;
      seen[b] |= accessed ? 2 : 1;
      bool stopped = false;
      for (std::uint32_t i = k_.cfg.blocks[b].first; i < k_.cfg.blocks[b].last && !stopped; ++i) {
        accessed |= k_.access_of[i] != kNone;
        stopped = separates(k_, i);
      }
      if (stopped) continue;
      if (accessed &&
          (graph_.successors[b].empty() || graph_.successors[b].size() < k_.cfg.graph.successors[b].size()))
        return true;
      for (const std::uint32_t next : graph_.successors[b]) work.emplace_back(next, accessed);
    }
  }
  return false;
}

bool Uniformity::decides_over_barrier(const Region& region) const {
  for (const std::uint32_t b : region.blocks)
    for (std::uint32_t i = k_.cfg.blocks[b].first; i < k_.cfg.blocks[b].last; ++i)
      if (is_full_barrier(k_, i) && !k_.inserted[i]) return true;
  return false;
}

/// Whether one of the ways leads, whatever is decided on it, to a barrier of the input before the ways meet.
bool Uniformity::always_leads_to_barrier(const Region& region) const {
  const std::uint32_t meet = region.meet == kNone ? graph_.size() : region.meet;
  for (const std::uint32_t s : graph_.successors[region.branch])
    for (std::uint32_t b = s; b != meet && b != kNone && b != graph_.size(); b = post_dominators.parent(b))
      for (std::uint32_t i = k_.cfg.blocks[b].first; i < k_.cfg.blocks[b].last; ++i)
        if (separates(k_, i) && !k_.inserted[i]) return true;
  return false;
}

void Uniformity::settle() {
  const auto& cfg = k_.cfg;
  spread_of.assign(k_.flow.definitions().size(), Spread::uniform);
  std::vector<Spread> way(cfg.blocks.size(), Spread::uniform);
  std::vector<bool> over_barrier(regions.size());
  for (std::size_t r = 0; r < regions.size(); ++r)
    over_barrier[r] = always_leads_to_barrier(regions[r]) && !may_leave_after_access(regions[r]);
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t b : cfg.order)
      for (std::uint32_t i = cfg.blocks[b].first; i < cfg.blocks[b].last; ++i) {
        const auto [first, last] = k_.flow.defined_by(i);
        if (first == last) continue;
        Spread s = std::max(of_instruction(i), way[b]);
        if (k_.guarded(i)) s = std::max(s, spread(i, k_.function.instructions[i].guard));
        for (std::uint32_t d = first; d < last; ++d)
          if (s > spread_of[d]) spread_of[d] = s, changed = true;
      }
    for (std::size_t r = 0; r < regions.size(); ++r) {
      Region& region = regions[r];
      const std::uint32_t branch = cfg.blocks[region.branch].last - 1;
      Spread s = Spread::uniform;
      for (const std::uint32_t reg : k_.flow.reads(branch)) s = std::max(s, spread(branch, reg));
      region.spread = s;
      if (s == Spread::uniform || (s == Spread::data && over_barrier[r])) continue;
      for (const std::uint32_t b : region.blocks)
        if (s > way[b]) way[b] = s, changed = true;
    }
  }
  divergent.assign(cfg.blocks.size(), false);
  for (std::uint32_t b = 0; b < cfg.blocks.size(); ++b) divergent[b] = way[b] != Spread::uniform;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    Region& region = regions[r];
    const std::uint32_t line = k_.line(cfg.blocks[region.branch].last - 1);
    if (region.spread == Spread::data && over_barrier[r]) {
      assumptions.push_back(
          fmt::format("the branch at line {} decides over a barrier, so all threads take it alike", line));
      region.spread = Spread::uniform;
    } else if (region.spread == Spread::thread && decides_over_barrier(region)) {
      problems.push_back(
          fmt::format("the branch at line {} depends on the thread index and decides over a barrier", line));
    }
  }
  for (std::uint32_t i = 0; i < k_.function.instructions.size(); ++i)
    if (cfg.reachable[cfg.block_of[i]] && is_full_barrier(k_, i) && k_.guarded(i) &&
        spread(i, k_.function.instructions[i].guard) == Spread::thread)
      problems.push_back(fmt::format("line {}: the barrier's guard depends on the thread index", k_.line(i)));
}

}  // namespace warploom::reuse::checking
