// Loops of the host around kernels: which part of a nest becomes a kernel, and who writes it.
#include <fmt/format.h>

#include <algorithm>

#include "kernel_patterns.hpp"
#include "out_of_core.hpp"

namespace warploom::loops {
namespace {

bool holds_parallel_loop(const Node& node) {
  if (node.kind == Node::Kind::loop && node.parallel) return true;
  return std::any_of(node.children.begin(), node.children.end(), holds_parallel_loop);
}

class Mapper {
 public:
  Mapper(const Nest& nest, const ParallelNest& parallel, const GpuOptions& options)
      : nest_(nest), parallel_(parallel), options_(options) {}

  GpuProgram run() {
    for (const Snapshot& snapshot : parallel_.snapshots) {
      const Variable& variable = *find_variable(nest_.region(), snapshot.array);
      program_.temporaries.push_back({snapshot.copy, variable.type, variable.extents, snapshot.array});
      program_.reasons.push_back(snapshot.reason);
    }
    Node root = parallel_.code;
    if (root.kind != Node::Kind::block) {
      root = Node{};
      root.children = {parallel_.code};
    }
    program_.host.children = visit_children(root.children);
    return std::move(program_);
  }

 private:
  /// Neighbours that no parallel loop holds, and that hold none, make one kernel together.
  std::vector<Node> visit_children(const std::vector<Node>& children) {
    std::vector<Node> host;
    Node serial;
    const auto flush = [&] {
      if (serial.children.empty()) return;
      append_kernels(serial.children.size() == 1 ? serial.children.front() : serial, host);
      serial.children.clear();
    };
    for (const Node& child : children) {
      if (!holds_parallel_loop(child)) {
        serial.children.push_back(child);
        continue;
      }
      flush();
      visit(child, host);
    }
    flush();
    return host;
  }

  void visit(const Node& node, std::vector<Node>& host) {
    if (node.kind == Node::Kind::loop && node.parallel) {
      append_kernels(node, host);
      return;
    }
    Node outer = node;
    if (node.kind == Node::Kind::loop) host_loops_.push_back(node.iterator);
    if (node.kind == Node::Kind::branch) {
      for (std::size_t k = 0; k < node.children.size(); ++k)
        outer.children[k].children = visit_children(node.children[k].children);
    } else {
      outer.children = visit_children(node.children);
    }
    if (node.kind == Node::Kind::loop) host_loops_.pop_back();
    host.push_back(std::move(outer));
  }

  void append_kernels(const Node& tree, std::vector<Node>& host) {
    const KernelRequest request{nest_,
                                parallel_,
                                tree,
                                host_loops_,
                                fmt::format("{}_{}", nest_.region().function, program_.kernels.size()),
                                options_};
    KernelGroup group = choose_pattern(request);
    for (Temporary& temporary : group.temporaries) program_.temporaries.push_back(std::move(temporary));
    group.kernels.front().tree = tree;
    for (Kernel& kernel : group.kernels) {
      Node launch;
      launch.kind = Node::Kind::launch;
      launch.statement = static_cast<int>(program_.kernels.size());
      host.push_back(launch);
      program_.kernels.push_back(std::move(kernel));
    }
  }

  const Nest& nest_;
  const ParallelNest& parallel_;
  const GpuOptions& options_;
  std::vector<std::string> host_loops_;
  GpuProgram program_;
};

}  // namespace

std::string_view name(Space space) {
  switch (space) {
    case Space::registers:
      return "registers";
    case Space::shared:
      return "shared";
    case Space::constant:
      return "constant";
    case Space::read_only:
      return "read-only";
    case Space::global:
      return "global";
    case Space::local:
      return "local";
  }
  return "";
}

KernelGroup choose_pattern(const KernelRequest& request) {
  std::optional<KernelGroup> group = contraction(request);
  if (!group) group = matrix_vector(request);
  if (!group) group = pointwise(request);
  return group ? *std::move(group) : serial(request);
}

GpuProgram map_to_gpu(const Nest& nest, const ParallelNest& parallel, const GpuOptions& options) {
  GpuProgram program = Mapper(nest, parallel, options).run();
  if (options.memory_cap > 0) plan_out_of_core(nest, parallel, options, program);
  return program;
}

}  // namespace warploom::loops
