// Loops of the host around kernels: which part of a nest becomes a kernel, and who writes it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/doors.hpp"
#include "tile/c/mentions.hpp"
#include "tile/c/predicate.hpp"
#include "tile/c/wellformed.hpp"
#include "tile/kernels/affine.hpp"
#include "tile/kernels/kernel_patterns.hpp"
#include "tile/kernels/out_of_core.hpp"

namespace warploom::tile {
namespace {

bool holds_parallel_loop(const Node& node) {
  if (node.kind == Node::Kind::loop && node.parallel) return true;
  return std::ranges::any_of(node.children, holds_parallel_loop);
}

/// A table of the best over k of T[i][k] and T[k + 1][j] (nussinov): `dp` solves such tables with products of
/// blocks, where a launch a wave reads a row and a column for each cell.
class PolyadicTable {
 public:
  static std::vector<std::string> advice(const Nest& nest) {
    PolyadicTable table;
    table.visit(nest.region().body, nullptr);
    if (table.found_.empty()) return {};
    return {fmt::format(
        "{0}[i][j] comes from {0}[i][k] and {0}[k][j], as in nonserial polyadic dynamic programming: "
        "`warploom dp` has kernels of its own for such triangles (RNA: `warploom dp nussinov rna.fa`; "
        "chains of matrices: `warploom dp chain`; costs of your own: `warploom dp solve costs.txt`)",
        table.found_)};
  }

 private:
  void visit(const Node& node, const Node* innermost) {
    if (node.kind == Node::Kind::assignment && node.target.operands.size() == 2 && innermost &&
        between(*innermost, node.target)) {
      bool row = false, column = false;
      look(node.value, node.target, innermost->iterator, row, column);
      if (row && column) found_ = node.target.text;
    }
    for (const Node& child : node.children) visit(child, node.kind == Node::Kind::loop ? &node : innermost);
  }

  /// k runs from one of the target's subscripts to the other.
  static bool between(const Node& loop, const Expression& target) {
    return std::ranges::all_of(target.operands, [&](const Expression& subscript) {
      return subscript.kind == Expression::Kind::name &&
             depends_on(loop.first, subscript.text) != depends_on(loop.limit, subscript.text);
    });
  }

  /// T[i][.. k ..] and T[.. k ..][j] for the target T[i][j].
  static void look(const Expression& e, const Expression& target, const std::string& k, bool& row,
                   bool& column) {
    if (e.kind == Expression::Kind::element && e.text == target.text && e.operands.size() == 2 &&
        !depends_on(target, k)) {
      row = row || (e.operands[0] == target.operands[0] && depends_on(e.operands[1], k));
      column = column || (e.operands[1] == target.operands[1] && depends_on(e.operands[0], k));
    }
    for (const Expression& operand : e.operands) look(operand, target, k, row, column);
  }

  std::string found_;
};

class Mapper {
 public:
  Mapper(const Nest& nest, const ParallelNest& parallel, const GpuOptions& options)
      : nest_(nest), parallel_(parallel), options_(options) {}

  GpuProgram run() {
    program_.reasons = parallel_.wave_reasons;
    if (!program_.reasons.empty() && !parallel_.by_steps)
      for (std::string& advice : PolyadicTable::advice(nest_)) program_.reasons.push_back(std::move(advice));
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
    say_what_was_not_found();
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
    const auto is_tree = [&](std::size_t k) {
      return k < children.size() && children[k].kind == Node::Kind::loop && children[k].parallel;
    };
    for (std::size_t k = 0; k < children.size(); ++k) {
      const Node& child = children[k];
      if (!holds_parallel_loop(child)) {
        serial.children.push_back(child);
        continue;
      }
      flush();
      if (is_tree(k) && is_tree(k + 1))
        if (auto both =
                !moves_in_blocks(nest_.region(), child) || !moves_in_blocks(nest_.region(), children[k + 1])
                    ? std::nullopt
                    : both_sums(request(child), request(children[k + 1]))) {
          append(std::move(*both), host);
          ++k;
          continue;
        }
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
    if (auto group = time_tiles(request(node))) return append(*std::move(group), host);
    Node outer = node;
    if (node.kind == Node::Kind::loop) host_loops_.push_back(node.iterator);
    if (node.kind == Node::Kind::branch) {
      for (std::size_t k = 0; k < node.children.size(); ++k)
        outer.children[k].children = visit_children(node.children[k].children);
    } else {
      outer.children = visit_children(node.children);
    }
    if (node.kind == Node::Kind::loop) {
      host_loops_.pop_back();
      if (host_loops_.empty()) name_chain(outer);
    }
    host.push_back(std::move(outer));
  }

  /// Launches that wait for each other, each of which has no more to do than one loop.
  void name_chain(const Node& loop) {
    constexpr int kFewIterations = 8000;  // that a core does in the 9 us of such a launch (durbin, trisolv)
    if (deepest_kernel(loop) != 1) return;
    program_.reasons.push_back(fmt::format(
        "{} is a chain of launches, each of one loop's iterations: where these are fewer than some {}, a core "
        "of a CPU is faster",
        loop.iterator, kFewIterations));
  }

  int deepest_kernel(const Node& host) const {
    if (host.kind == Node::Kind::launch)
      return depth(program_.kernels[static_cast<std::size_t>(host.statement)].tree);
    int most = 0;
    for (const Node& child : host.children) most = std::max(most, deepest_kernel(child));
    return most;
  }

  static int depth(const Node& node) {
    int most = 0;
    for (const Node& child : node.children) most = std::max(most, depth(child));
    return most + (node.kind == Node::Kind::loop ? 1 : 0);
  }

  /// A kind of time tiles that was asked for.
  void say_what_was_not_found() {
    const bool registers = options_.time_tiles == TimeTiles::registers;
    if (!registers && options_.time_tiles != TimeTiles::shared) return;
    const std::string_view pattern = registers ? kStreamedTimeTiles : kSharedTimeTiles;
    if (std::ranges::any_of(program_.kernels, [&](const Kernel& k) { return k.pattern == pattern; })) return;
    program_.reasons.push_back(fmt::format(
        "time tiles in {} were asked for: no sequential loop holds nothing but stencils whose tiles fit there",
        registers ? "registers" : "shared memory"));
  }

  KernelRequest request(const Node& tree) const {
    return {nest_,
            parallel_,
            tree,
            host_loops_,
            fmt::format("{}_{}", nest_.region().function, program_.kernels.size()),
            options_};
  }

  void append_kernels(const Node& tree, std::vector<Node>& host) {
    KernelGroup group = choose_pattern(request(tree));
    if (group.host.children.empty()) group.kernels.front().tree = tree;
    append(std::move(group), host);
  }

  void append(KernelGroup group, std::vector<Node>& host) {
    for (Temporary& temporary : group.temporaries) program_.temporaries.push_back(std::move(temporary));
    const std::size_t first = program_.kernels.size();
    if (group.host.children.empty())
      for (std::size_t k = 0; k < group.kernels.size(); ++k) group.host.children.push_back(launch_of(k));
    for (Node& child : group.host.children) {
      number_launches(child, first);
      host.push_back(std::move(child));
    }
    std::move(group.kernels.begin(), group.kernels.end(), std::back_inserter(program_.kernels));
  }

  static void number_launches(Node& node, std::size_t first) {
    if (node.kind == Node::Kind::launch) node.statement += static_cast<int>(first);
    for (Node& child : node.children) number_launches(child, first);
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
  refuse_enumerator(space, "the space of memory");
}

Node launch_of(std::size_t kernel) {
  Node launch;
  launch.kind = Node::Kind::launch;
  launch.statement = static_cast<int>(kernel);
  return launch;
}

bool moves_in_blocks(const Region& region, const Node& tree) {
  if (depends_on_data(region, tree)) return false;
  return std::ranges::none_of(region.variables, [&](const Variable& v) {
    const bool word =
        v.type == ScalarType::float32 || v.type == ScalarType::float64 || v.type == ScalarType::int32;
    return !word && mentions(tree, v.name);
  });
}

KernelGroup choose_pattern(const KernelRequest& request) {
  std::optional<KernelGroup> group;
  if (moves_in_blocks(request.nest.region(), request.tree)) {
    group = contraction(request);
    if (!group) group = matrix_vector(request);
  }
  if (!group) group = pointwise(request);
  return group ? *std::move(group) : serial(request);
}

GpuProgram map_to_gpu(const Nest& nest, const ParallelNest& parallel, const GpuOptions& options) {
  constexpr std::array kinds = {TimeTiles::best, TimeTiles::registers, TimeTiles::shared, TimeTiles::none};
  at_enumerator(kinds, options.time_tiles, "the kind of time tiles");
  check(parallel.nest.region());
  check(parallel.code);
  if (parallel.nest.statements().size() != nest.statements().size())
    throw BadInput(fmt::format("a nest of {} statements, and a parallel one of {}", nest.statements().size(),
                               parallel.nest.statements().size()));
  for (const Variable& variable : nest.region().variables)
    if (variable.has_row_pointers)
      throw BadInput(
          fmt::format("{}:{}: array '{}': its rows are reached through pointers, which a GPU does not have; "
                      "keep them in one array",
                      nest.region().file, variable.at.line, variable.name));
  if (std::optional<GpuProgram> program = closure(nest, parallel, options)) return *std::move(program);
  GpuProgram program = Mapper(nest, parallel, options).run();
  if (options.memory_cap > 0) plan_out_of_core(nest, parallel, options, program);
  return program;
}

}  // namespace warploom::tile
