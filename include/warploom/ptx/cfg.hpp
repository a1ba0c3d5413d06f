#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "warploom/ptx/module.hpp"

namespace warploom::ptx {

/// A directed graph as adjacency lists; node 0 is not special.
struct Graph {
  std::vector<std::vector<std::uint32_t>> successors, predecessors;

  explicit Graph(std::size_t nodes = 0) : successors(nodes), predecessors(nodes) {}
  std::uint32_t size() const { return static_cast<std::uint32_t>(successors.size()); }
  /// @throws BadInput (there is no such node)
  void add_edge(std::uint32_t from, std::uint32_t to) {
    if (std::max(from, to) >= std::min(successors.size(), predecessors.size()))
      no_such_node(std::max(from, to));
    successors[from].push_back(to);
    predecessors[to].push_back(from);
  }
  Graph reversed() const;
  /// The functions below call it. @throws BadInput (an edge to a node that there is not, lists of another
  /// number of nodes)
  void check() const;

 private:
  [[noreturn]] void no_such_node(std::uint32_t node) const;
};

/// Nodes reachable from `root`, each after all its predecessors but those of back edges. @throws BadInput (no
/// such root, as Graph::check())
std::vector<std::uint32_t> reverse_postorder(const Graph& graph, std::uint32_t root);
/// Immediate dominators; kNone for the root and for what it does not reach.
/// Cooper, Harvey & Kennedy, "A simple, fast dominance algorithm", 2001. @throws as reverse_postorder()
std::vector<std::uint32_t> immediate_dominators(const Graph& graph, std::uint32_t root);

/// Tree of (post)dominators with constant-time ancestor queries.
class DominatorTree {
 public:
  DominatorTree() = default;
  /// @throws BadInput (a dominator that is no node and not kNone)
  explicit DominatorTree(std::vector<std::uint32_t> immediate);
  // Unchecked, for inner loops: nodes are those of the graph.
  std::uint32_t parent(std::uint32_t node) const { return immediate_[node]; }
  const std::vector<std::uint32_t>& children(std::uint32_t node) const { return children_[node]; }
  /// Reflexive. False where either node is unreachable from the root (unless equal).
  bool dominates(std::uint32_t above, std::uint32_t below) const {
    return above == below || (enter_[above] < enter_[below] && leave_[below] < leave_[above]);
  }

 private:
  std::vector<std::uint32_t> immediate_, enter_, leave_;
  std::vector<std::vector<std::uint32_t>> children_;
};

struct Block {
  std::uint32_t first = 0, last = 0;  ///< instructions [first, last)
};

/// A natural loop; loops of one header are merged.
struct Loop {
  std::uint32_t header = 0;
  std::uint32_t parent = kNone;  ///< Cfg::loops
  std::uint32_t depth = 1;
  std::vector<std::uint32_t> blocks = {};   ///< ascending, header and inner loops included
  std::vector<std::uint32_t> latches = {};  ///< sources of back edges
  bool contains(std::uint32_t block) const;
};

/// Control flow of one function body. Block 0 is the entry; it has no predecessor (and no instruction, where
/// a label stands before the first). An empty last block stands for the end of the body where one may branch
/// or fall there. `ret`, `exit` and `trap` have no successor; a guarded one may also fall through. A call
/// returns (its callee is not part of the graph).
struct Cfg {
  const Module* module = nullptr;
  const Function* function = nullptr;
  std::vector<Block> blocks = {};
  Graph graph{};
  std::vector<std::uint32_t> block_of = {};  ///< of each instruction
  std::vector<std::uint32_t> order = {};     ///< reverse postorder of the reachable blocks
  std::vector<bool> reachable = {};
  DominatorTree dominators = {};
  std::vector<Loop> loops = {};             ///< outer before inner
  std::vector<std::uint32_t> loop_of = {};  ///< innermost loop of each block, or kNone
  bool reducible = true;                    ///< false: a cycle has a second entry; it is in no Loop

  // Unchecked, for inner loops.
  const Instruction& instruction(std::uint32_t i) const { return function->instructions[i]; }
  std::uint32_t depth(std::uint32_t block) const {
    return loop_of[block] == kNone ? 0 : loops[loop_of[block]].depth;
  }
};

/// @throws BadInput (a function that is none of the module, or has no body). The module must outlive the
/// result. Linear but for dominators, which are linear on the graphs compilers emit.
Cfg build_cfg(const Module& module, const Function& function);

/// Post-dominators of `graph`, over a virtual exit node (id graph.size()) after every block without
/// successors; of a cycle that never ends, one block is taken to be followed by the exit.
/// @throws as Graph::check()
DominatorTree post_dominators(const Graph& graph);

}  // namespace warploom::ptx
