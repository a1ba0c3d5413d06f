#include "reuse/analysis/liveness.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "reuse/analysed_kernel.hpp"

namespace warploom::reuse {
namespace {

constexpr std::string_view kTwoArrays = "\t.shared .align 4 .b8 a[128];\n\t.shared .align 4 .b8 b[128];\n";

/// Objects alive on both sides of the first instruction that contains `part`.
ObjectSet live_across(const AnalysedKernel& a, std::string_view part,
                      const std::vector<DeadPoint>& dead = {}) {
  const Liveness liveness = find_liveness(a.kernel, dead);
  ObjectSet result;
  const std::uint32_t at = a.find(part);
  for_each_event(liveness, a.kernel.cfg.block_of[at],
                 [&](const Liveness::Event& e, const ObjectSet& before, const ObjectSet& after) {
                   if (e.instruction == at) result = before & after;
                 });
  return result;
}

std::string with_arrays(std::string_view body) {
  return kernel_around(std::string(kTwoArrays) + std::string(body));
}

TEST(Liveness, AnObjectLivesFromItsStoreToItsLastLoad) {
  const auto a = analysed(with_arrays(
      "st.shared.u32 [a], %t;\nst.shared.u32 [b], %t;\nld.shared.u32 %r1, [a];\nst.shared.u32 [b+4], %t;"));
  EXPECT_TRUE(live_across(*a, "[b],")[a->object("a")]);
  EXPECT_FALSE(live_across(*a, "[b+4]")[a->object("a")]);
}

TEST(Liveness, AStoreDoesNotEndALife) {
  const auto a = analysed(with_arrays(
      "st.shared.u32 [a], %t;\nst.shared.u32 [b], %t;\nst.shared.u32 [a], %n;\nld.shared.u32 %r1, [a];"));
  EXPECT_TRUE(live_across(*a, "[b]")[a->object("a")]);
}

TEST(Liveness, ADeadPointOpensAHole) {
  const auto a =
      analysed(with_arrays("st.shared.u32 [a], %t;\nld.shared.u32 %r1, [a];\nst.shared.u32 [b], %t;\nmov.u32 "
                           "%r2, 1;\nst.shared.u32 [a], %n;\nld.shared.u32 %r1, [a];"));
  EXPECT_TRUE(live_across(*a, "[b]")[a->object("a")]);
  EXPECT_FALSE(
      live_across(*a, "[b]", {{DeadPoint::stated, a->object("a"), a->find("mov.u32 %r2")}})[a->object("a")]);
}

TEST(Liveness, TheArmsOfABranchAreApart) {
  const auto a = analysed(with_arrays(
      "setp.eq.u32 %p1, %n, 0;\n@%p1 bra OTHER;\nst.shared.u32 [a], %t;\nld.shared.u32 %r1, [a];\nbra.uni JOIN;\n"
      "OTHER:\nst.shared.u32 [b], %t;\nld.shared.u32 %r2, [b];\nJOIN:"));
  EXPECT_TRUE(live_across(*a, "st.shared.u32 [a]").none());
  EXPECT_TRUE(live_across(*a, "st.shared.u32 [b]").none());
}

TEST(Liveness, AnObjectLivesAroundABackEdge) {
  const auto a = analysed(with_arrays(
      "mov.u32 %r1, 0;\nLOOP:\nld.shared.u32 %r2, [a];\nst.shared.u32 [b], %t;\nst.shared.u32 [a], %t;\n"
      "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %n;\n@%p1 bra LOOP;"));
  EXPECT_TRUE(live_across(*a, "[b]")[a->object("a")]) << "a runs from one iteration to the next load";
}

TEST(Liveness, NothingIsAliveBeforeItsFirstStore) {
  for (const bool strict : {false, true}) {  // what was there before the kernel is undefined in any case
    const auto a = analysed(
        with_arrays("st.shared.u32 [b], %t;\nst.shared.u32 [a], %t;\nld.shared.u32 %r1, [a];"), "k", strict);
    EXPECT_FALSE(live_across(*a, "[b]")[a->object("a")]);
  }
}

TEST(Liveness, AnAtomicBothLoadsAndStores) {
  const auto a =
      analysed(with_arrays("st.shared.u32 [a], 0;\nst.shared.u32 [b], %t;\nred.shared.add.u32 [a], "
                           "1;\nst.shared.u32 [b+4], 1;\nld.shared.u32 %r1, [a];"));
  EXPECT_TRUE(live_across(*a, "[b],")[a->object("a")]);
  EXPECT_TRUE(live_across(*a, "[b+4]")[a->object("a")]);
}

TEST(Liveness, LinesOfALifeAreHalfOpenRanges) {
  const auto a = analysed(with_arrays(
      "st.shared.u32 [a], %t;\nmov.u32 %r1, 0;\nld.shared.u32 %r2, [a];\nmov.u32 %r3, 0;\nst.shared.u32 [b], %t;"));
  const auto lines = live_lines(a->kernel, find_liveness(a->kernel, {}));
  const std::uint32_t first = a->kernel.line(a->find("[a], %t")), load = a->kernel.line(a->find("ld.shared"));
  EXPECT_THAT(lines[a->object("a")], testing::ElementsAre(testing::Pair(first, load + 1)));
  const std::uint32_t alone = a->kernel.line(a->find("[b]"));
  EXPECT_THAT(lines[a->object("b")], testing::ElementsAre(testing::Pair(alone, alone + 1)))
      << "a store occupies its object, also one that is never read";
}

TEST(Liveness, EachProofHasItsOwnName) {
  const std::set<std::string_view> names{name(DeadPoint::iteration_private), name(DeadPoint::covered),
                                         name(DeadPoint::stated)};
  EXPECT_EQ(names.size(), 3u);
}

/// A random graph of `blocks` blocks with a store or load of one of three arrays in each place.
std::string random_graph(std::mt19937& random, std::uint32_t blocks) {
  std::string body = "\t.shared .b8 a[16];\n\t.shared .b8 b[16];\n\t.shared .b8 c[16];\n";
  for (std::uint32_t b = 0; b < blocks; ++b) {
    body += "B" + std::to_string(b) + ":\n";
    for (std::uint32_t k = static_cast<std::uint32_t>(random() % 3); k > 0; --k) {
      const std::string name(1, static_cast<char>('a' + random() % 3));
      body += random() % 2 ? "st.shared.u32 [" + name + "], %t;\n" : "ld.shared.u32 %r1, [" + name + "];\n";
    }
    if (random() % 3 != 0)
      body += "setp.eq.u32 %p1, %n, " + std::to_string(b) + ";\n@%p1 bra B" +
              std::to_string(random() % blocks) + ";\n";
  }
  return kernel_around(body);
}

/// Is there a path store of `object` -> `at` -> load of it, with no dead point on it? By search over
/// instructions.
bool lives_by_paths(const AnalysedKernel& a, const std::vector<DeadPoint>& dead, std::uint32_t object,
                    std::uint32_t at) {
  const ptx::Cfg& cfg = a.kernel.cfg;
  const auto accesses = [&](std::uint32_t i, bool store) {
    return std::any_of(a.kernel.use.accesses.begin(), a.kernel.use.accesses.end(), [&](const Access& x) {
      return x.instruction == i && x.objects[object] && (store ? x.write : x.read);
    });
  };
  const auto dies = [&](std::uint32_t i) {
    return std::any_of(dead.begin(), dead.end(),
                       [&](const DeadPoint& d) { return d.object == object && d.instruction == i; });
  };
  const auto neighbours = [&](std::uint32_t i, bool forward) {
    std::vector<std::uint32_t> result;
    const std::uint32_t b = cfg.block_of[i];
    if (forward && i + 1 < cfg.blocks[b].last) return std::vector{i + 1};
    if (!forward && i > cfg.blocks[b].first) return std::vector{i - 1};
    for (const std::uint32_t o : forward ? cfg.graph.successors[b] : cfg.graph.predecessors[b])
      if (cfg.reachable[o]) result.push_back(forward ? cfg.blocks[o].first : cfg.blocks[o].last - 1);
    return result;
  };
  const auto search = [&](bool forward) {  // from `at`, exclusive
    std::set<std::uint32_t> seen;
    std::vector<std::uint32_t> work{at};
    while (!work.empty()) {
      const std::uint32_t i = work.back();
      work.pop_back();
      if (!forward && dies(i)) continue;
      for (const std::uint32_t next : neighbours(i, forward)) {
        if (forward && dies(next)) continue;
        if (accesses(next, !forward)) return true;
        if (seen.insert(next).second) work.push_back(next);
      }
    }
    return false;
  };
  return search(false) && search(true);
}

TEST(Liveness, EqualsASearchOverAllPathsOfRandomGraphs) {
  std::mt19937 random(7);
  std::size_t alive = 0, compared = 0;
  for (int graph = 0; graph < 300; ++graph) {
    const auto a = analysed(random_graph(random, 3 + static_cast<std::uint32_t>(random() % 6)));
    if (a->kernel.object_count() < 3) continue;
    std::vector<DeadPoint> dead;
    for (std::uint32_t k = static_cast<std::uint32_t>(random() % 4); k > 0; --k)
      dead.push_back({DeadPoint::stated, static_cast<std::uint32_t>(random() % 3),
                      static_cast<std::uint32_t>(random() % a->kernel.function->instructions.size())});
    const Liveness liveness = find_liveness(a->kernel, dead);
    for (const std::uint32_t b : a->kernel.cfg.order)
      for_each_event(liveness, b,
                     [&](const Liveness::Event& e, const ObjectSet& before, const ObjectSet& after) {
                       if (e.access == nullptr) return;
                       for (std::uint32_t o = 0; o < 3; ++o) {
                         if (e.access->objects[o]) continue;
                         const bool expected = lives_by_paths(*a, dead, o, e.instruction);
                         EXPECT_EQ((before & after)[o], expected)
                             << "object " << o << " at line " << a->kernel.line(e.instruction) << "\n"
                             << a->module.text;
                         alive += expected;
                         ++compared;
                       }
                     });
  }
  EXPECT_GT(alive, 300u);
  EXPECT_GT(compared, 2 * alive);
}

}  // namespace
}  // namespace warploom::reuse
