#include "warploom/ptx/cfg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "warploom/core/error.hpp"

namespace warploom::ptx {

void Graph::no_such_node(std::uint32_t node) const {
  throw BadInput(fmt::format("a graph of {} nodes has none of number {}", size(), node));
}

void Graph::check() const {
  if (successors.size() != predecessors.size())
    throw BadInput(fmt::format("a graph has the successors of {} nodes and the predecessors of {}",
                               successors.size(), predecessors.size()));
  for (const auto* lists : {&successors, &predecessors})
    for (const auto& list : *lists)
      for (const std::uint32_t node : list)
        if (node >= size()) no_such_node(node);
}

Graph Graph::reversed() const {
  Graph r;
  r.successors = predecessors;
  r.predecessors = successors;
  return r;
}

std::vector<std::uint32_t> reverse_postorder(const Graph& graph, std::uint32_t root) {
  graph.check();
  if (root >= graph.size())
    throw BadInput(fmt::format("a graph of {} nodes has no root {}", graph.size(), root));
  std::vector<std::uint32_t> order;
  std::vector<bool> seen(graph.size());
  std::vector<std::pair<std::uint32_t, std::size_t>> stack{{root, 0}};
  seen[root] = true;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next == graph.successors[node].size()) {
      order.push_back(node);
      stack.pop_back();
    } else if (const std::uint32_t s = graph.successors[node][next++]; !seen[s]) {
      seen[s] = true;
      stack.emplace_back(s, 0);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<std::uint32_t> immediate_dominators(const Graph& graph, std::uint32_t root) {
  const std::vector<std::uint32_t> order = reverse_postorder(graph, root);
  std::vector<std::uint32_t> number(graph.size(), kNone), immediate(graph.size(), kNone);
  for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
  const auto meet = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) {
      while (number[a] > number[b]) a = immediate[a];
      while (number[b] > number[a]) b = immediate[b];
    }
    return a;
  };
  immediate[root] = root;
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t node : order) {
      if (node == root) continue;
      std::uint32_t best = kNone;
      for (const std::uint32_t p : graph.predecessors[node])
        if (number[p] != kNone && immediate[p] != kNone) best = best == kNone ? p : meet(best, p);
      if (immediate[node] != best) {
        immediate[node] = best;
        changed = true;
      }
    }
  }
  immediate[root] = kNone;
  return immediate;
}

DominatorTree::DominatorTree(std::vector<std::uint32_t> immediate)
    : immediate_(std::move(immediate)),
      enter_(immediate_.size()),
      leave_(immediate_.size()),
      children_(immediate_.size()) {
  for (const std::uint32_t above : immediate_)
    if (above != kNone && above >= immediate_.size())
      throw BadInput(
          fmt::format("node {} dominates one of {} nodes, and is none of them", above, immediate_.size()));
  for (std::uint32_t n = 0; n < immediate_.size(); ++n)
    if (immediate_[n] != kNone) children_[immediate_[n]].push_back(n);
  std::uint32_t clock = 0;
  std::vector<std::pair<std::uint32_t, std::size_t>> stack;
  for (std::uint32_t root = 0; root < immediate_.size(); ++root) {
    if (immediate_[root] != kNone) continue;  // unreachable nodes become roots of their own
    stack.emplace_back(root, 0);
    enter_[root] = clock++;
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == children_[node].size()) {
        leave_[node] = clock++;
        stack.pop_back();
      } else {
        const std::uint32_t child = children_[node][next++];
        enter_[child] = clock++;
        stack.emplace_back(child, 0);
      }
    }
  }
}

bool Loop::contains(std::uint32_t block) const {
  return std::binary_search(blocks.begin(), blocks.end(), block);
}

DominatorTree post_dominators(const Graph& graph) {
  graph.check();
  const std::uint32_t n = graph.size();
  Graph backwards(n + 1);
  for (std::uint32_t b = 0; b < n; ++b) {
    for (const std::uint32_t s : graph.successors[b]) backwards.add_edge(s, b);
    if (graph.successors[b].empty()) backwards.add_edge(n, b);
  }
  std::vector<bool> ends(n + 1);
  const auto mark = [&](std::uint32_t from) {
    std::vector<std::uint32_t> work{from};
    ends[from] = true;
    while (!work.empty()) {
      const std::uint32_t at = work.back();
      work.pop_back();
      for (const std::uint32_t s : backwards.successors[at])
        if (!ends[s]) ends[s] = true, work.push_back(s);
    }
  };
  mark(n);
  for (std::uint32_t b = n; b-- > 0;)
    if (!ends[b]) {
      backwards.add_edge(n, b);
      mark(b);
    }
  return DominatorTree(immediate_dominators(backwards, n));
}

namespace {

bool ends_block(Op op) {
  return op == Op::bra || op == Op::brx || op == Op::ret || op == Op::exit_ || op == Op::trap;
}

void split_into_blocks(Cfg& cfg) {
  const Function& f = *cfg.function;
  const auto n = static_cast<std::uint32_t>(f.instructions.size());
  std::vector<bool> starts(n + 1);
  starts[0] = true;
  for (const Label& label : f.labels) starts[label.instruction] = true;
  for (std::uint32_t i = 0; i < n; ++i)
    if (ends_block(cfg.module->opcode(f.instructions[i]).op)) starts[i + 1] = true;
  cfg.block_of.resize(n);
  const auto labelled = [&](std::uint32_t i) {
    return std::any_of(f.labels.begin(), f.labels.end(), [&](const Label& l) { return l.instruction == i; });
  };
  if (n == 0 || labelled(0)) cfg.blocks.push_back({0, 0});  // else a loop could begin at the entry
  for (std::uint32_t i = 0; i < n; ++i) {
    if (starts[i]) cfg.blocks.push_back({i, i});
    cfg.blocks.back().last = i + 1;
    cfg.block_of[i] = static_cast<std::uint32_t>(cfg.blocks.size()) - 1;
  }
  const bool falls_off = n > 0 && starts[n] && f.instructions[n - 1].guard != kNone;
  if (n > 0 && (labelled(n) || falls_off)) cfg.blocks.push_back({n, n});
}

void connect(Cfg& cfg) {
  const Function& f = *cfg.function;
  cfg.graph = Graph(cfg.blocks.size());
  const auto edge = [&](std::uint32_t from, std::uint32_t to) {
    const auto& known = cfg.graph.successors[from];
    if (std::find(known.begin(), known.end(), to) == known.end()) cfg.graph.add_edge(from, to);
  };
  const auto edge_to_label = [&](std::uint32_t from, std::uint32_t label) {
    const std::uint32_t target = f.labels[label].instruction;
    edge(from, target < f.instructions.size() ? cfg.block_of[target]
                                              : static_cast<std::uint32_t>(cfg.blocks.size()) - 1);
  };
  for (std::uint32_t b = 0; b < cfg.blocks.size(); ++b) {
    const Block& block = cfg.blocks[b];
    bool falls_through = true;
    if (block.last > block.first) {
      const Instruction& last = f.instructions[block.last - 1];
      const Op op = cfg.module->opcode(last).op;
      if (ends_block(op)) falls_through = last.guard != kNone;
      const auto operands = f.operands_of(last);
      if (op == Op::bra) {
        for (const Operand& o : operands)
          if (o.kind == OperandKind::label) edge_to_label(b, o.id);
      } else if (op == Op::brx) {
        bool known = false;
        for (const Operand& o : operands)
          if (o.kind == OperandKind::label)
            for (const std::uint32_t target : f.labels[o.id].targets) edge_to_label(b, target), known = true;
        if (!known)  // a table we cannot read: it may go to any label
          for (std::uint32_t label = 0; label < f.labels.size(); ++label) edge_to_label(b, label);
      }
    }
    if (falls_through && b + 1 < cfg.blocks.size()) edge(b, b + 1);
  }
}

void find_loops(Cfg& cfg) {
  std::vector<std::uint32_t> number(cfg.blocks.size(), kNone);
  for (std::uint32_t i = 0; i < cfg.order.size(); ++i) number[cfg.order[i]] = i;
  std::vector<std::uint32_t> inside(cfg.blocks.size(),
                                    kNone);  // the header whose loop the block was last put in
  for (const std::uint32_t header : cfg.order) {
    Loop loop;
    loop.header = header;
    for (const std::uint32_t p : cfg.graph.predecessors[header]) {
      if (!cfg.reachable[p] || number[p] < number[header]) continue;
      if (cfg.dominators.dominates(header, p))
        loop.latches.push_back(p);
      else
        cfg.reducible = false;
    }
    if (loop.latches.empty()) continue;
    inside[header] = header;
    loop.blocks.push_back(header);
    std::vector<std::uint32_t> work = loop.latches;
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      if (inside[b] == header) continue;
      inside[b] = header;
      loop.blocks.push_back(b);
      for (const std::uint32_t p : cfg.graph.predecessors[b])
        if (cfg.reachable[p]) work.push_back(p);
    }
    std::sort(loop.blocks.begin(), loop.blocks.end());
    cfg.loops.push_back(std::move(loop));
  }
  // Headers came in reverse postorder, so an outer loop stands before those inside it.
  cfg.loop_of.assign(cfg.blocks.size(), kNone);
  for (std::uint32_t l = 0; l < cfg.loops.size(); ++l) {
    Loop& loop = cfg.loops[l];
    loop.parent = cfg.loop_of[loop.header];
    loop.depth = loop.parent == kNone ? 1 : cfg.loops[loop.parent].depth + 1;
    for (const std::uint32_t b : loop.blocks) cfg.loop_of[b] = l;
  }
}

}  // namespace

Cfg build_cfg(const Module& module, const Function& function) {
  if (!function.has_body ||
      std::ranges::none_of(module.functions, [&](const Function& known) { return &known == &function; }))
    throw BadInput(
        fmt::format("{}: '{}' is no function of the module with a body", module.file, function.name));
  Cfg cfg;
  cfg.module = &module;
  cfg.function = &function;
  split_into_blocks(cfg);
  connect(cfg);
  cfg.order = reverse_postorder(cfg.graph, 0);
  cfg.reachable.assign(cfg.blocks.size(), false);
  for (const std::uint32_t b : cfg.order) cfg.reachable[b] = true;
  cfg.dominators = DominatorTree(immediate_dominators(cfg.graph, 0));
  find_loops(cfg);
  return cfg;
}

}  // namespace warploom::ptx
