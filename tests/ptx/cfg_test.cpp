#include "warploom/ptx/cfg.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../oracle/random.hpp"
#include "describe.hpp"

namespace warploom::ptx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct Parsed {
  Module module;
  Cfg cfg;
  explicit Parsed(std::string_view body)
      : module(parse(kernel(std::string(".reg .b32 %r<9>; .reg .pred %p<9>;\n") + std::string(body)))),
        cfg(build_cfg(module, module.functions[0])) {}
  const std::vector<std::uint32_t>& successors(std::uint32_t block) const {
    return cfg.graph.successors[block];
  }
};

// Oracles on graphs: everything by reachability in a graph from which something was taken.

std::vector<bool> reached(const Graph& g, std::uint32_t from, std::uint32_t without = kNone) {
  std::vector<bool> seen(g.size());
  std::vector<std::uint32_t> work;
  if (from != without) seen[from] = true, work.push_back(from);
  while (!work.empty()) {
    const std::uint32_t at = work.back();
    work.pop_back();
    for (const std::uint32_t s : g.successors[at])
      if (s != without && !seen[s]) seen[s] = true, work.push_back(s);
  }
  return seen;
}

/// `above` is on every path from `root` to `below`, which there is.
bool dominates_by_removal(const Graph& g, std::uint32_t root, std::uint32_t above, std::uint32_t below) {
  return above == below || (reached(g, root)[below] && !reached(g, root, above)[below]);
}

Graph random_graph(Random& random, std::uint32_t nodes, double edges_a_node) {
  Graph g(nodes);
  std::set<std::pair<std::uint32_t, std::uint32_t>> known;
  const auto count = static_cast<std::uint32_t>(edges_a_node * nodes);
  for (std::uint32_t e = 0; e < count; ++e) {
    const std::uint32_t a = random.below(nodes), b = random.below(nodes);
    if (known.emplace(a, b).second) g.add_edge(a, b);
  }
  return g;
}

/// PTX of a body whose block i is one instruction and branches as `g` says, by a table where needed.
std::string body_of(const Graph& g) {
  std::string text;
  for (std::uint32_t b = 0; b < g.size(); ++b) {
    text += fmt::format("L{}: mov.u32 %r1, {};\n", b, b);
    const auto& to = g.successors[b];
    if (to.empty()) {
      text += "ret;\n";
    } else if (to.size() == 1) {
      text += fmt::format("bra L{};\n", to[0]);
    } else {
      text += fmt::format("T{}: .branchtargets L{}", b, to[0]);
      for (std::size_t k = 1; k < to.size(); ++k) text += fmt::format(", L{}", to[k]);
      text += fmt::format(";\nbrx.idx %r1, T{};\n", b);
    }
  }
  return text;
}

TEST(Dominators, EqualPathRemovalOnRandomGraphs) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    const Graph g = random_graph(random, 1 + random.below(12), 0.5 + 0.25 * random.below(10));
    const DominatorTree tree(immediate_dominators(g, 0));
    for (std::uint32_t a = 0; a < g.size(); ++a)
      for (std::uint32_t b = 0; b < g.size(); ++b)
        ASSERT_EQ(tree.dominates(a, b), dominates_by_removal(g, 0, a, b))
            << "round " << round << ": " << a << " over " << b;
  }
}

TEST(Dominators, TheImmediateOneIsTheNearestOnRandomGraphs) {
  Random random(2);
  for (int round = 0; round < 1000; ++round) {
    const Graph g = random_graph(random, 2 + random.below(10), 1.6);
    const std::vector<std::uint32_t> immediate = immediate_dominators(g, 0);
    const std::vector<bool> live = reached(g, 0);
    ASSERT_EQ(immediate[0], kNone);
    for (std::uint32_t b = 1; b < g.size(); ++b) {
      if (!live[b]) {
        ASSERT_EQ(immediate[b], kNone);
        continue;
      }
      ASSERT_NE(immediate[b], b);
      for (std::uint32_t a = 0; a < g.size(); ++a)
        if (a != b && dominates_by_removal(g, 0, a, b)) {
          ASSERT_TRUE(dominates_by_removal(g, 0, a, immediate[b]));
        }
    }
  }
}

TEST(PostDominators, EqualPathRemovalOnRandomGraphsThatEnd) {
  Random random(3);
  int compared = 0;
  for (int round = 0; round < 4000; ++round) {
    const Graph g = random_graph(random, 2 + random.below(10), 0.6 + 0.2 * random.below(8));
    const std::uint32_t n = g.size();
    Graph backwards(n + 1);
    for (std::uint32_t b = 0; b < n; ++b) {
      for (const std::uint32_t s : g.successors[b]) backwards.add_edge(s, b);
      if (g.successors[b].empty()) backwards.add_edge(n, b);
    }
    const std::vector<bool> ends = reached(backwards, n);
    if (std::count(ends.begin(), ends.end(), true) != n + 1) continue;
    ++compared;
    const DominatorTree tree = post_dominators(g);
    for (std::uint32_t a = 0; a <= n; ++a)
      for (std::uint32_t b = 0; b <= n; ++b)
        ASSERT_EQ(tree.dominates(a, b), dominates_by_removal(backwards, n, a, b));
  }
  EXPECT_GT(compared, 500);
}

TEST(PostDominators, OfACycleThatNeverEndsStillFormATree) {
  Random random(4);
  for (int round = 0; round < 2000; ++round) {
    const Graph g = random_graph(random, 2 + random.below(10), 1.5);
    const DominatorTree tree = post_dominators(g);
    for (std::uint32_t b = 0; b < g.size(); ++b) {
      ASSERT_NE(tree.parent(b), kNone);
      ASSERT_TRUE(tree.dominates(g.size(), b));
      // The parent lies on every path to where the block's ways end, so it can be reached.
      ASSERT_TRUE(tree.parent(b) == g.size() || reached(g, b)[tree.parent(b)]);
    }
  }
}

TEST(ReversePostorder, PutsABlockAfterItsPredecessorsInAcyclicGraphs) {
  Random random(5);
  for (int round = 0; round < 500; ++round) {
    const std::uint32_t n = 2 + random.below(20);
    Graph g(n);
    for (std::uint32_t e = 0; e < 2 * n; ++e) {
      const std::uint32_t a = random.below(n), b = random.below(n);
      if (a < b) g.add_edge(a, b);
    }
    const std::vector<std::uint32_t> order = reverse_postorder(g, 0);
    std::vector<std::uint32_t> number(n, kNone);
    for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
    const std::vector<bool> live = reached(g, 0);
    for (std::uint32_t a = 0; a < n; ++a) {
      ASSERT_EQ(number[a] != kNone, live[a]);
      if (!live[a]) continue;
      for (const std::uint32_t b : g.successors[a]) ASSERT_LT(number[a], number[b]);
    }
  }
}

TEST(Loops, EqualTheirDefinitionOnRandomBodies) {
  Random random(6);
  int loops = 0, irreducible = 0;
  for (int round = 0; round < 1500; ++round) {
    const Graph shape = random_graph(random, 2 + random.below(9), 1.4);
    const Parsed p(body_of(shape));
    const Cfg& cfg = p.cfg;
    const Graph& g = cfg.graph;
    const std::vector<bool> live = reached(g, 0);
    // A back edge goes to a block that dominates its source; the loop is what reaches the source without it.
    std::map<std::uint32_t, std::set<std::uint32_t>> expected;
    Graph forward(g.size());
    for (std::uint32_t b = 0; b < g.size(); ++b) {
      if (!live[b]) continue;
      for (const std::uint32_t s : g.successors[b]) {
        if (!dominates_by_removal(g, 0, s, b)) {
          forward.add_edge(b, s);
          continue;
        }
        expected[s].insert(s);
        for (std::uint32_t x = 0; x < g.size(); ++x)
          if (live[x] && x != s && reached(g, x, s)[b]) expected[s].insert(x);
      }
    }
    ASSERT_EQ(cfg.loops.size(), expected.size());
    for (std::uint32_t l = 0; l < cfg.loops.size(); ++l) {
      const Loop& loop = cfg.loops[l];
      ++loops;
      ASSERT_THAT(loop.blocks, testing::ElementsAreArray(expected[loop.header]));
      // The parent is the smallest loop around it, and stands before it.
      std::size_t around = 0;
      for (std::uint32_t o = 0; o < cfg.loops.size(); ++o)
        if (o != l && cfg.loops[o].contains(loop.header)) {
          ++around;
          ASSERT_LT(o, l);
          ASSERT_TRUE(cfg.loops[o].blocks.size() >= cfg.loops[loop.parent].blocks.size());
        }
      ASSERT_EQ(loop.depth, around + 1);
    }
    for (std::uint32_t b = 0; b < g.size(); ++b) {
      std::size_t depth = 0;
      for (const Loop& loop : cfg.loops) depth += loop.contains(b);
      ASSERT_EQ(cfg.depth(b), depth);
    }
    // Reducible: without its back edges the graph has no cycle.
    bool cycle = false;
    for (std::uint32_t b = 0; b < g.size(); ++b)
      for (const std::uint32_t s : forward.successors[b]) cycle |= reached(forward, s)[b];
    ASSERT_EQ(cfg.reducible, !cycle);
    irreducible += cycle;
  }
  EXPECT_GT(loops, 500);
  EXPECT_GT(irreducible, 30);
}

TEST(Cfg, AStraightBodyIsOneBlock) {
  const Parsed p("mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nret;");
  ASSERT_EQ(p.cfg.blocks.size(), 1u);
  EXPECT_EQ(p.cfg.blocks[0].last, 3u);
  EXPECT_THAT(p.successors(0), IsEmpty());
}

TEST(Cfg, AnEmptyBodyIsOneEmptyBlock) {
  const Parsed p("");
  ASSERT_EQ(p.cfg.blocks.size(), 1u);
  EXPECT_EQ(p.cfg.blocks[0].first, p.cfg.blocks[0].last);
  EXPECT_TRUE(p.cfg.reachable[0]);
}

TEST(Cfg, AGuardedBranchHasTwoSuccessors) {
  const Parsed p("@%p1 bra L;\nmov.u32 %r1, 1;\nL: ret;");
  EXPECT_THAT(p.successors(0), UnorderedElementsAre(1, 2));
}

TEST(Cfg, AGuardedBranchToTheNextInstructionHasOneSuccessor) {
  const Parsed p("@%p1 bra L;\nL: ret;");
  EXPECT_THAT(p.successors(0), ElementsAre(1));
}

TEST(Cfg, AGuardedReturnFallsThrough) {
  const Parsed p("@%p1 ret;\nmov.u32 %r1, 1;\nret;");
  EXPECT_THAT(p.successors(0), ElementsAre(1));
}

TEST(Cfg, ExitAndTrapHaveNoSuccessor) {
  const Parsed p("exit;\nmov.u32 %r1, 1;\ntrap;\nret;");
  EXPECT_THAT(p.successors(0), IsEmpty());
  EXPECT_THAT(p.successors(1), IsEmpty());
}

TEST(Cfg, ACallDoesNotEndABlock) {
  const Module m = parse(
      ".version 8.0 .target sm_90 .address_size 64\n.func f() { ret; }\n"
      ".entry k() { call f;\nret; }");
  EXPECT_EQ(build_cfg(m, m.functions[1]).blocks.size(), 1u);
}

TEST(Cfg, AnIndexedBranchGoesToItsWholeTable) {
  const Parsed p("T: .branchtargets A, B, A;\nbrx.idx %r1, T;\nA: ret;\nB: ret;\nC: ret;");
  const std::uint32_t from = p.cfg.block_of[0];
  EXPECT_THAT(p.successors(from), UnorderedElementsAre(p.cfg.block_of[1], p.cfg.block_of[2]));
  EXPECT_FALSE(p.cfg.reachable[p.cfg.block_of[3]]);
}

TEST(Cfg, AnIndexedBranchThroughAnUnreadableTableMayGoToAnyLabel) {
  const Parsed p("mov.u32 %r2, 1;\nbrx.idx %r1, A;\nA: ret;\nB: ret;");
  EXPECT_THAT(p.successors(0), UnorderedElementsAre(1, 2));
}

TEST(Cfg, ALoopAtTheFirstInstructionHasAnEntryBeforeIt) {
  const Parsed p("L: add.u32 %r1, %r1, 1;\n@%p1 bra L;\nret;");
  EXPECT_EQ(p.cfg.blocks[0].first, p.cfg.blocks[0].last);
  EXPECT_THAT(p.cfg.graph.predecessors[0], IsEmpty());
  ASSERT_EQ(p.cfg.loops.size(), 1u);
  EXPECT_EQ(p.cfg.loops[0].header, p.cfg.block_of[0]);
}

TEST(Cfg, ABranchToTheEndOfTheBodyIsAWayOutOfALoop) {
  const Parsed p("L: add.u32 %r1, %r1, 1;\n@%p1 bra E;\nbra L;\nE:");
  const std::uint32_t from = p.cfg.block_of[1], end = static_cast<std::uint32_t>(p.cfg.blocks.size()) - 1;
  EXPECT_THAT(p.successors(from), UnorderedElementsAre(p.cfg.block_of[2], end));
  EXPECT_THAT(p.successors(end), IsEmpty());
  EXPECT_FALSE(p.cfg.loops.at(0).contains(end));
}

TEST(Cfg, AGuardedBranchAtTheEndFallsOffIt) {
  const Parsed p("L: add.u32 %r1, %r1, 1;\n@%p1 bra L;");
  const std::uint32_t end = static_cast<std::uint32_t>(p.cfg.blocks.size()) - 1;
  EXPECT_THAT(p.successors(p.cfg.block_of[1]), UnorderedElementsAre(p.cfg.block_of[0], end));
}

TEST(Cfg, UnreachableBlocksAreNamedSo) {
  const Parsed p("bra E;\nmov.u32 %r1, 1;\nE: ret;");
  EXPECT_FALSE(p.cfg.reachable[1]);
  EXPECT_THAT(p.cfg.order, ElementsAre(0, 2));
  EXPECT_FALSE(p.cfg.dominators.dominates(0, 1));
}

TEST(Cfg, LoopsOfOneHeaderAreOne) {
  const Parsed p("mov.u32 %r1, 0;\nL: @%p1 bra L;\n@%p2 bra L;\nret;");
  ASSERT_EQ(p.cfg.loops.size(), 1u);
  EXPECT_THAT(p.cfg.loops[0].latches, UnorderedElementsAre(1, 2));
}

TEST(Cfg, ACycleWithTwoEntriesIsIrreducibleAndNoLoop) {
  const Parsed p("@%p1 bra B;\nA: mov.u32 %r1, 1;\nB: @%p2 bra A;\nret;");
  EXPECT_FALSE(p.cfg.reducible);
  EXPECT_THAT(p.cfg.loops, IsEmpty());
}

TEST(Cfg, LabelsOfInnerScopesLeadWhereTheyStand) {
  const Parsed p(
      "{ @%p1 bra L;\nmov.u32 %r1, 1;\nL: mov.u32 %r2, 2; }\n{ @%p1 bra L;\nmov.u32 %r3, 3;\nL: ret; }");
  EXPECT_THAT(p.successors(p.cfg.block_of[3]), UnorderedElementsAre(p.cfg.block_of[4], p.cfg.block_of[5]));
}

TEST(Cfg, TwentyThousandLoopsInARowAreToldApart) {
  std::string body;
  for (int i = 0; i < 20000; ++i) body += fmt::format("L{}: add.u32 %r1, %r1, 1;\n@%p1 bra L{};\n", i, i);
  const Parsed p(body + "ret;");
  EXPECT_EQ(p.cfg.loops.size(), 20000u);
}

}  // namespace
}  // namespace warploom::ptx
