#include "reuse/analysis/uniformity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "../oracle/random.hpp"
#include "kernel_text.hpp"

namespace warploom::reuse {
namespace {

using testing::IsEmpty;

// --- an oracle: run every thread of a block by itself and compare what they did ---

/// One thread of a kernel of 32-bit integer arithmetic. Memory never changes; what a load finds is a
/// function of the address, what a shuffle or vote finds one of the thread.
class Thread {
 public:
  Thread(const Analysed& a, std::uint32_t index)
      : a_(a), f_(*a.kernel.function), index_(index), registers_(f_.registers.size()) {}

  /// Calls `at_block(block)` and `after(instruction)` as it goes; ends at a way out.
  template <class AtBlock, class After>
  void run(AtBlock at_block, After after) {
    const ptx::Cfg& cfg = a_.kernel.cfg;
    std::uint32_t block = 0;
    for (;;) {
      at_block(block);
      std::uint32_t next = block + 1;
      for (std::uint32_t i = cfg.blocks[block].first; i < cfg.blocks[block].last; ++i) {
        const ptx::Instruction& instruction = f_.instructions[i];
        const bool runs =
            instruction.guard == kNone || (registers_[instruction.guard] != 0) != instruction.guard_negated;
        const ptx::Op op = a_.module.opcode(instruction).op;
        const auto operands = f_.operands_of(instruction);
        if (op == ptx::Op::ret && runs) return;
        if (op == ptx::Op::bra && runs)
          next = target(operands[0].id);
        else if (op == ptx::Op::brx)
          next = target(f_.labels[operands[1].id]
                            .targets[value(operands[0]) % f_.labels[operands[1].id].targets.size()]);
        else if (runs)
          execute(op, operands);
        after(i);
      }
      if (next >= cfg.blocks.size()) return;
      block = next;
    }
  }
  std::uint32_t get(std::uint32_t reg) const { return registers_[reg]; }

 private:
  std::uint32_t target(std::uint32_t label) const {
    return a_.kernel.cfg.block_of[f_.labels[label].instruction];
  }
  std::uint32_t value(const ptx::Operand& o) const {
    switch (o.kind) {
      case ptx::OperandKind::reg:
        return registers_[o.id];
      case ptx::OperandKind::special:
        return a_.module.text_of(o.span) == "%tid.x" ? index_ : 11;
      case ptx::OperandKind::address:
        return value(f_.children(o)[0]) + static_cast<std::uint32_t>(o.value);
      default:
        return static_cast<std::uint32_t>(o.value);
    }
  }
  void execute(ptx::Op op, std::span<const ptx::Operand> o) {
    if (op == ptx::Op::st || op == ptx::Op::bra || op == ptx::Op::ret) return;
    const std::uint32_t a = value(o[1]), b = o.size() > 2 ? value(o[2]) : 0;
    std::uint32_t& to = registers_[o[0].id];
    switch (op) {
      case ptx::Op::mov:
        to = a;
        break;
      case ptx::Op::add:
        to = a + b;
        break;
      case ptx::Op::and_:
        to = a & b;
        break;
      case ptx::Op::xor_:
        to = a ^ b;
        break;
      case ptx::Op::setp:
        to = a < b;
        break;
      case ptx::Op::selp:
        to = value(o[3]) != 0 ? a : b;
        break;
      case ptx::Op::ld:
        to = a * 2654435761u >> 29;
        break;
      case ptx::Op::vote:
        to = index_ >> 5 & 1;
        break;
      default:
        FAIL() << "not interpreted";
    }
  }

  const Analysed& a_;
  const ptx::Function& f_;
  std::uint32_t index_;
  std::vector<std::uint32_t> registers_;
};

/// Branches forward as it likes; branches back count, so every thread ends.
std::string random_kernel(Random& random, std::uint32_t sm) {
  const auto r = [&] { return fmt::format("%r{}", random.below(7)); };
  const auto p = [&] { return fmt::format("%p{}", random.below(4)); };
  const auto guard = [&] {
    return random.chance(25) ? fmt::format("@{}{} ", random.chance(50) ? "!" : "", p()) : std::string();
  };
  std::string text =
      "mov.u32 %r0, %tid.x;\nld.param.u32 %r1, [number];\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, 3;\nsetp.lt.u32 %p0, %r0, 40;\n";
  const std::uint32_t blocks = 3 + random.below(8);
  for (std::uint32_t b = 0; b < blocks; ++b) text += fmt::format("mov.u32 %r{}, 0;\n", 20 + b);
  for (std::uint32_t b = 0; b < blocks; ++b) {
    text += fmt::format("L{}:\n", b);
    for (std::uint32_t n = random.below(4); n > 0; --n) switch (random.below(12)) {
        case 0:
          text += guard() + fmt::format("mov.u32 {}, {};\n", r(), random.below(8));
          break;
        case 1:
          text += guard() + fmt::format("mov.u32 {}, {};\n", r(), r());
          break;
        case 2:
          text += guard() + fmt::format("add.u32 {}, {}, {};\n", r(), r(), r());
          break;
        case 3:
          text += guard() + fmt::format("and.b32 {}, {}, 5;\n", r(), r());
          break;
        case 4:
          text += guard() + fmt::format("xor.b32 {}, {}, {};\n", r(), r(), r());
          break;
        case 5:
          text += guard() + fmt::format("selp.b32 {}, {}, {}, {};\n", r(), r(), r(), p());
          break;
        case 6:
          text += guard() + fmt::format("ld.global.u32 {}, [{}+4];\n", r(), r());
          break;
        case 7:
          text += guard() + "st.shared.u32 [A], 1;\n";
          break;
        case 8:
          text += fmt::format("vote.sync.any.pred {}, {}, -1;\n", p(), p());
          break;
        default:
          text += guard() + fmt::format("setp.lt.u32 {}, {}, {};\n", p(), r(), r());
          break;
      }
    if (b + 1 == blocks) break;
    const auto forward = [&] { return b + 1 + random.below(blocks - b - 1); };
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
        text += fmt::format("@{}{} bra{} L{};\n", random.chance(50) ? "!" : "", p(),
                            random.chance(20) ? ".uni" : "", forward());
        break;
      case 3:
        text += fmt::format(
            "and.b32 %r19, {}, 3;\nadd.u32 %r{}, %r{}, 1;\nsetp.lt.u32 %p8, %r{}, %r19;\n@%p8 bra L{};\n",
            r(), 20 + b, 20 + b, 20 + b, random.below(b + 1));
        break;
      case 4:
        text += fmt::format("@{} ret;\n", p());
        break;
      case 5:
        if (random.chance(30)) text += "ret;\n";
        break;
      case 6:
        if (random.chance(40))
          text += fmt::format("T{}: .branchtargets L{}, L{};\nbrx.idx {}, T{};\n", b, forward(), forward(),
                              r(), b);
        break;
      default:
        if (random.chance(30)) text += fmt::format("bra L{};\n", forward());
        break;
    }
  }
  return kernel_text(text + "ret;", sm);
}

/// Runs the threads of a block, and holds against what they did all that was claimed.
class Comparison {
 public:
  int claims = 0, together = 0, diverged = 0;

  void check(const Analysed& a) {
    const ptx::Cfg& cfg = a.kernel.cfg;
    const Uniformity& u = a.kernel.uniformity;
    const bool exited_count = a.module.sm < 70;
    std::map<std::vector<std::uint32_t>, std::uint32_t>
        seen;  // value and moment -> what the first thread had
    std::vector<std::uint32_t> longest;
    for (std::uint32_t t = 0; t < 96; ++t) {
      Thread thread(a, t);
      std::vector<std::uint32_t> sequence, rounds(cfg.loops.size()), visits(cfg.blocks.size());
      std::uint32_t block = kNone;
      const auto compare = [&](std::uint32_t value) {
        if (u.of_value[value] == Variation::thread || (u.tail[block] && !exited_count)) return;
        if (!cfg.reducible && u.apart[block]) return;  // no iteration numbers tell the moment there
        std::vector<std::uint32_t> moment{value};
        if (cfg.reducible)
          for (std::uint32_t l = cfg.loop_of[block]; l != kNone; l = cfg.loops[l].parent)
            moment.push_back(rounds[l]);
        else
          moment.push_back(visits[block]);
        const std::uint32_t now = thread.get(a.kernel.values.all[value].reg);
        const auto [first, fresh] = seen.emplace(moment, now);
        claims += !fresh;
        ASSERT_EQ(first->second, now) << "thread " << t << " register "
                                      << a.kernel.function->registers[a.kernel.values.all[value].reg].name
                                      << " in the block at line " << a.kernel.line(cfg.blocks[block].first);
      };
      thread.run(
          [&](std::uint32_t to) {
            for (std::uint32_t l = 0; l < cfg.loops.size(); ++l)
              if (cfg.loops[l].header == to)
                rounds[l] = block != kNone && cfg.loops[l].contains(block) ? rounds[l] + 1 : 0;
            block = to;
            ++visits[to];
            if (!u.apart[to] && (exited_count || !u.tail[to])) sequence.push_back(to);
            for (const std::uint32_t phi : a.kernel.values.phis[to]) compare(phi);
          },
          [&](std::uint32_t i) {
            for_each_register(a.module, *a.kernel.function, a.kernel.instruction(i),
                              [&](const ptx::Operand&, std::uint32_t index, bool written) {
                                if (written) compare(a.kernel.values.of_operand[index]);
                              });
          });
      if (testing::Test::HasFatalFailure()) return;
      if (t == 0) longest = sequence;
      // Who has left early did the first part of what the others do.
      const std::size_t common = std::min(sequence.size(), longest.size());
      ASSERT_TRUE(std::equal(sequence.begin(), sequence.begin() + static_cast<std::ptrdiff_t>(common),
                             longest.begin()))
          << "thread " << t << " goes another way through blocks where all are said to be together";
      if (exited_count) {
        ASSERT_EQ(sequence.size(), longest.size())
            << "thread " << t << " is missing where all are said to be together";
      }
      if (sequence.size() > longest.size()) longest = sequence;
    }
    together += static_cast<int>(longest.size());
    diverged += !u.divergent.empty();
  }
};

void compare_random_kernels(std::uint32_t seed, std::uint32_t sm, int rounds) {
  Random random(seed);
  Comparison comparison;
  for (int round = 0; round < rounds; ++round) {
    const std::string text = random_kernel(random, sm);
    comparison.check(Analysed(text, false));
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << text;
  }
  EXPECT_GT(comparison.claims, 100 * rounds);
  EXPECT_GT(comparison.together, 2 * rounds);
  EXPECT_GT(comparison.diverged, rounds / 4);
}

TEST(Uniformity, NoThreadOfARandomKernelContradictsIt) { compare_random_kernels(1, 80, 2000); }
TEST(Uniformity, NoThreadOfARandomKernelContradictsItBeforeSm70) { compare_random_kernels(2, 60, 2000); }

// --- data ---

struct Source {
  const char* name;
  const char* text;
  Variation of_r9;
};
class Sources : public testing::TestWithParam<Source> {};
TEST_P(Sources, VaryAsTheyDo) {
  const Analysed a(kernel_text(
      fmt::format(
          "ld.param.u64 %rd1, [pointer];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 7;\nsetp.lt.u32 %p1, %r1, 8;\n"
          "setp.lt.u32 %p2, %r2, 8;\n{}\nst.shared.u32 [A], %r9;\nret;",
          GetParam().text),
      90, ".const .u32 K;\n.global .u32 G;\n.extern .func (.param .b32 o) f ();"));
  EXPECT_EQ(a.variation("%r9"), GetParam().of_r9);
}
INSTANTIATE_TEST_SUITE_P(
    Uniformity, Sources,
    testing::Values(
        Source{"parameter", "ld.param.u32 %r9, [number];", Variation::uniform},
        Source{"block_index", "mov.u32 %r9, %ctaid.y;", Variation::uniform},
        Source{"block_size", "mov.u32 %r9, %ntid.x;", Variation::uniform},
        Source{"constant_memory", "ld.const.u32 %r9, [K];", Variation::uniform},
        Source{"arithmetic_of_uniform_values", "mad.lo.u32 %r9, %r2, 3, %r2;", Variation::uniform},
        Source{"barrier_reduction", "bar.red.popc.u32 %r9, 0, %p1;", Variation::uniform},
        Source{"address_of_an_array", "mov.u32 %r9, A;", Variation::uniform},
        Source{"uniform_select", "selp.b32 %r9, 1, 2, %p2;", Variation::uniform},
        Source{"global_load", "ld.global.u32 %r9, [%rd1];", Variation::loaded},
        Source{"shared_load", "ld.shared.u32 %r9, [A];", Variation::loaded},
        Source{"generic_load", "ld.u32 %r9, [%rd1];", Variation::loaded},
        Source{"multiprocessor", "mov.u32 %r9, %smid;", Variation::loaded},
        Source{"thread_index", "mov.u32 %r9, %tid.y;", Variation::thread},
        Source{"lane", "mov.u32 %r9, %laneid;", Variation::thread},
        Source{"warp", "mov.u32 %r9, %warpid;", Variation::thread},
        Source{"clock", "mov.u32 %r9, %clock;", Variation::thread},
        Source{"unheard_of_special", "mov.u32 %r9, %unheardof;", Variation::thread},
        Source{"arithmetic_of_the_thread_index", "add.u32 %r9, %r1, 0;", Variation::thread},
        Source{"load_at_a_varying_address",
               "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r9, [%rd3];",
               Variation::thread},
        Source{"local_load", ".local .b32 l;\nld.local.u32 %r9, [l];", Variation::thread},
        Source{"generic_load_of_local_memory", ".local .b32 l;\ncvta.local.u64 %rd2, l;\nld.u32 %r9, [%rd2];",
               Variation::thread},
        Source{"atomic", "atom.shared.add.u32 %r9, [A], 1;", Variation::thread},
        Source{"shuffle", "shfl.sync.idx.b32 %r9, %r2, 0, 31, -1;", Variation::thread},
        Source{"ballot", "vote.sync.ballot.b32 %r9, %p2, -1;", Variation::thread},
        Source{"uniform_vote", "vote.sync.all.pred %p3, %p1, -1;\nselp.b32 %r9, 1, 0, %p3;",
               Variation::thread},
        Source{"match", "match.any.sync.b32 %r9, %r2, -1;", Variation::thread},
        Source{"active_mask", "activemask.b32 %r9;", Variation::thread},
        Source{"warp_reduction", "redux.sync.add.u32 %r9, %r2, -1;", Variation::thread},
        Source{"elected_lane", "elect.sync %r9|%p3, -1;", Variation::thread},
        Source{"transposed_matrix", "movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r2;", Variation::thread},
        Source{"matrix_load", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, [A];", Variation::thread},
        Source{"carry", "add.cc.u32 %r3, %r1, -1;\naddc.u32 %r9, 0, 0;", Variation::thread},
        Source{"call_result", "{ .param .b32 o;\ncall (o), f, ();\nld.param.b32 %r9, [o];\n}",
               Variation::thread},
        Source{"register_a_call_writes", "call (%r9), f, ();", Variation::thread},
        Source{"unknown_instruction", "mov.u32 %r9, 1;\nfrob.u32 %r9, %r2;", Variation::thread},
        Source{"divergent_select", "selp.b32 %r9, 1, 2, %p1;", Variation::thread},
        Source{"written_under_a_divergent_predicate", "mov.u32 %r9, 1;\n@%p1 mov.u32 %r9, 2;",
               Variation::thread},
        Source{"written_under_a_uniform_predicate", "mov.u32 %r9, 1;\n@%p2 mov.u32 %r9, 2;",
               Variation::uniform},
        Source{"one_component", ".reg .v2 .b32 %v;\nmov.b32 %v.x, %r1;\nmov.b32 %v.y, 1;\nmov.b32 %r9, %v.y;",
               Variation::thread}),
    [](const auto& test) { return test.param.name; });

TEST(Uniformity, AParameterLoadWithoutAnAddressVaries) {
  EXPECT_EQ(Analysed(kernel_text("ld.param.u32 %r9, 5;\nret;")).variation("%r9"), Variation::thread);
}

// --- control ---

constexpr const char* kThread =
    "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 8;\nld.param.u32 %r2, [number];\nsetp.lt.u32 %p2, %r2, 8;\n"
    "ld.param.u64 %rd1, [pointer];\nld.global.u32 %r3, [%rd1];\nsetp.lt.u32 %p3, %r3, 8;\n";  // %p1 thread,
                                                                                              // %p2 uniform,
                                                                                              // %p3 loaded
Analysed analysed_text(std::string_view body, std::uint32_t sm = 80, bool trust = true) {
  return Analysed(kernel_text(std::string(kThread) + std::string(body), sm), trust);
}

TEST(Uniformity, AValueMergedAtADivergentJoinVaries) {
  const Analysed a = analysed_text(
      "mov.u32 %r9, 1;\n@%p1 bra J;\nmov.u32 %r9, 2;\nJ: mov.u32 %r8, %r9;\nst.shared.u32 [A], %r8;\nret;");
  EXPECT_EQ(a.variation("%r8"), Variation::thread);
}

TEST(Uniformity, AValueMergedAtAUniformJoinDoesNot) {
  const Analysed a = analysed_text(
      "mov.u32 %r9, 1;\n@%p2 bra J;\nmov.u32 %r9, 2;\nJ: mov.u32 %r8, %r9;\nst.shared.u32 [A], %r8;\nret;");
  EXPECT_EQ(a.variation("%r8"), Variation::uniform);
}

TEST(Uniformity, AValueThatLeavesALoopWithADivergentExitVaries) {
  const Analysed a = analysed_text(
      "mov.u32 %r9, 0;\nL: add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p4, %r9, %r1;\n@%p4 bra L;\nmov.u32 %r8, %r9;\nst.shared.u32 [A], %r8;\nret;");
  EXPECT_EQ(a.variation("%r8"), Variation::thread);
  EXPECT_TRUE(a.apart("add.u32 %r9, %r9, 1;"));
  EXPECT_FALSE(a.apart("mov.u32 %r8, %r9;"));
}

TEST(Uniformity, AValueThatLeavesALoopWithAUniformExitDoesNot) {
  const Analysed a = analysed_text(
      "mov.u32 %r9, 0;\nL: add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p4, %r9, %r2;\n@%p4 bra L;\nmov.u32 %r8, %r9;\nst.shared.u32 [A], %r8;\nret;");
  EXPECT_EQ(a.variation("%r8"), Variation::uniform);
  EXPECT_THAT(a.kernel.uniformity.divergent, IsEmpty());
}

TEST(Uniformity, ADivergentExitFromTheMiddleOfALoopPartsTheWholeLoop) {
  const Analysed a = analysed_text(
      "mov.u32 %r9, 0;\nL: st.shared.u32 [A], %r9;\n@%p1 bra E;\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p4, %r9, %r2;\n@%p4 bra L;\n"
      "E: st.shared.u32 [B], 1;\nret;");
  EXPECT_TRUE(a.apart("st.shared.u32 [A], %r9;"));
  EXPECT_TRUE(a.apart("add.u32 %r9, %r9, 1;"));
  EXPECT_FALSE(a.apart("st.shared.u32 [B], 1;"));
}

TEST(Uniformity, ADivergentBranchPartsItsArmsUpToTheJoin) {
  const Analysed a = analysed_text(
      "@%p1 bra E;\nst.shared.u32 [A], 1;\nbra J;\nE: st.shared.u32 [B], 1;\nJ: st.shared.u32 [C], 1;\nret;");
  EXPECT_TRUE(a.apart("st.shared.u32 [A], 1;"));
  EXPECT_TRUE(a.apart("st.shared.u32 [B], 1;"));
  EXPECT_FALSE(a.apart("st.shared.u32 [C], 1;"));
}

TEST(Uniformity, BraUniProvesNothing) {
  const Analysed a = analysed_text("@%p1 bra.uni J;\nst.shared.u32 [A], 1;\nJ: st.shared.u32 [C], 1;\nret;");
  EXPECT_TRUE(a.apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, ABranchOnALoadedValuePartsThreadsWhereNoBarrierSaysOtherwise) {
  const Analysed a = analysed_text("@%p3 bra J;\nst.shared.u32 [A], 1;\nJ: st.shared.u32 [C], 1;\nret;");
  EXPECT_TRUE(a.apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, AnIndexedBranchOnTheThreadIndexDiverges) {
  const Analysed a = analysed_text(
      "T: .branchtargets X, Y;\nbrx.idx %r1, T;\nX: st.shared.u32 [A], 1;\nY: st.shared.u32 [C], 1;\nret;");
  EXPECT_TRUE(a.apart("st.shared.u32 [A], 1;"));
  EXPECT_FALSE(a.apart("st.shared.u32 [C], 1;"));
}

TEST(Uniformity, AnIndexedBranchOnAParameterDoesNot) {
  EXPECT_FALSE(
      analysed_text(
          "T: .branchtargets X, Y;\nbrx.idx %r2, T;\nX: st.shared.u32 [A], 1;\nY: st.shared.u32 [C], 1;\nret;")
          .apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, ADivergentWayIntoAnIrreducibleCyclePartsIt) {
  const Analysed a = analysed_text(
      "@%p1 bra Y;\nX: st.shared.u32 [A], 1;\nY: st.shared.u32 [B], 1;\n@%p2 bra X;\nst.shared.u32 [C], 1;\nret;");
  EXPECT_TRUE(a.apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, ACounterInALoopAtTheFirstInstructionVariesAfterADivergentExit) {
  const Analysed a(
      kernel_text("L: add.u32 %r9, %r9, 1;\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p4, %r9, %r1;\n@%p4 bra "
                  "L;\nmov.u32 %r8, %r9;\nst.shared.u32 [A], %r8;\nret;"));
  EXPECT_EQ(a.variation("%r8"), Variation::thread);
}

TEST(Uniformity, AnEndlessLoopWithADivergentWayThroughItStillHasAPlaceWhereThreadsMeet) {
  const Analysed a =
      analysed_text("L: @%p1 bra Y;\nst.shared.u32 [A], 1;\nY: st.shared.u32 [B], 1;\n@%p2 ret;\nbra L;");
  EXPECT_TRUE(a.apart("st.shared.u32 [A], 1;"));
  EXPECT_FALSE(a.apart("st.shared.u32 [B], 1;"));
}

// --- threads that leave ---

constexpr const char* kEarlyExit = "@%p1 bra E;\nst.shared.u32 [A], 1;\nst.shared.u32 [B], 1;\nE: ret;";

TEST(Uniformity, ThreadsThatHaveLeftDoNotCountFromSm70On) {
  EXPECT_FALSE(analysed_text(kEarlyExit, 70).apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, ThreadsThatHaveLeftCountBeforeSm70) {
  EXPECT_TRUE(analysed_text(kEarlyExit, 60).apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, AGuardedReturnPartsWhatFollowsBeforeSm70Only) {
  for (const char* way_out : {"@%p1 ret;", "@%p1 exit;"}) {
    const std::string body = std::string(way_out) + "\nst.shared.u32 [A], 1;\nret;";
    EXPECT_TRUE(analysed_text(body, 60).apart("st.shared.u32 [A], 1;")) << way_out;
    EXPECT_FALSE(analysed_text(body, 80).apart("st.shared.u32 [A], 1;")) << way_out;
  }
}

TEST(Uniformity, ABranchToTheEndOfTheBodyLeavesToo) {
  const std::string body = "@%p1 bra E;\nst.shared.u32 [A], 1;\nret;\nE:";
  EXPECT_TRUE(analysed_text(body, 60).apart("st.shared.u32 [A], 1;"));
  EXPECT_FALSE(analysed_text(body, 80).apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, AUniformReturnInADivergentArmTakesThreadsFromAllThatFollowsBeforeSm70) {
  const std::string body = "@%p1 bra J;\n@%p2 ret;\nJ: st.shared.u32 [A], 1;\nret;";
  EXPECT_TRUE(analysed_text(body, 60).apart("st.shared.u32 [A], 1;"));
  EXPECT_FALSE(analysed_text(body, 80).apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, AThreadThatWaitsForOthersBeforeItLeavesHasNotLeft) {
  for (const char* wait : {"W: ld.volatile.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p5, %r5, 0;\n@%p5 bra W;",
                           "shfl.sync.idx.b32 %r5, %r1, 0, 31, -1;",
                           "W: atom.global.cas.b32 %r5, [%rd1], 0, 1;\nsetp.eq.u32 %p5, %r5, 0;\n@%p5 bra W;",
                           "W: ld.acquire.gpu.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p5, %r5, 0;\n@%p5 bra W;",
                           "frob.wait %r5;"}) {
    const Analysed a = analysed_text(
        fmt::format("@%p1 bra E;\nst.shared.u32 [A], 1;\nret;\nE: mov.u32 %r5, 0;\n{}\nret;", wait));
    EXPECT_TRUE(a.apart("st.shared.u32 [A], 1;")) << wait;
  }
}

TEST(Uniformity, AThreadThatOnlyStoresItsResultBeforeItLeavesHasLeft) {
  EXPECT_FALSE(
      analysed_text("@%p1 bra E;\nst.shared.u32 [A], 1;\nret;\nE: red.global.add.u32 [%rd1], 1;\nret;")
          .apart("st.shared.u32 [A], 1;"));
}

// --- barriers ---

TEST(Uniformity, ABarrierUnderTheThreadIndexIsDivergent) {
  const Analysed a = analysed_text("@%p1 bra J;\nbar.sync 0;\nJ: st.shared.u32 [A], 1;\nret;");
  ASSERT_TRUE(a.kernel.uniformity.divergent_barrier.has_value());
  EXPECT_EQ(a.kernel.uniformity.divergent_barrier->line, 22u);
}

TEST(Uniformity, ABarrierUnderADivergentPredicateIsDivergent) {
  EXPECT_TRUE(analysed_text("@%p1 bar.sync 0;\nst.shared.u32 [A], 1;\nret;")
                  .kernel.uniformity.divergent_barrier.has_value());
  EXPECT_FALSE(analysed_text("@%p2 bar.sync 0;\nst.shared.u32 [A], 1;\nret;")
                   .kernel.uniformity.divergent_barrier.has_value());
}

TEST(Uniformity, AWarpBarrierUnderTheThreadIndexIsNot) {
  EXPECT_FALSE(analysed_text("@%p1 bra J;\nbar.warp.sync -1;\nJ: st.shared.u32 [A], 1;\nret;")
                   .kernel.uniformity.divergent_barrier.has_value());
}

TEST(Uniformity, ABarrierBehindAnEarlyExitIsNotDivergentFromSm70On) {
  const std::string body = "@%p1 bra E;\nbar.sync 0;\nst.shared.u32 [A], 1;\nE: ret;";
  EXPECT_FALSE(analysed_text(body, 70).kernel.uniformity.divergent_barrier.has_value());
  EXPECT_TRUE(analysed_text(body, 60).kernel.uniformity.divergent_barrier.has_value());
}

TEST(Uniformity, ABranchOnALoadedValueOverABarrierIsTakenAsUniformAndNamed) {
  const Analysed a =
      analysed_text("@%p3 bra J;\nbar.sync 0;\nst.shared.u32 [A], 1;\nJ: st.shared.u32 [C], 1;\nret;");
  ASSERT_EQ(a.kernel.uniformity.assumed.size(), 1u);
  EXPECT_EQ(a.module.text_of(a.kernel.instruction(a.kernel.uniformity.assumed[0].branch).span),
            "@%p3 bra J;");
  EXPECT_EQ(a.module.text_of(a.kernel.instruction(a.kernel.uniformity.assumed[0].barrier).span),
            "bar.sync 0;");
  EXPECT_FALSE(a.apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, ALoopOnALoadedValueWithABarrierIsTakenAsUniform) {
  const Analysed a = analysed_text(
      "L: bar.sync 0;\nst.shared.u32 [A], 1;\nld.global.u32 %r5, [%rd1];\nsetp.eq.u32 %p5, %r5, 0;\n@%p5 bra L;\nst.shared.u32 [C], 1;\nret;");
  EXPECT_EQ(a.kernel.uniformity.assumed.size(), 1u);
  EXPECT_FALSE(a.apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, WithoutTrustInBarriersALoadedBranchOverOneIsDivergent) {
  const Analysed a = analysed_text(
      "@%p3 bra J;\nbar.sync 0;\nst.shared.u32 [A], 1;\nJ: st.shared.u32 [C], 1;\nret;", 80, false);
  EXPECT_THAT(a.kernel.uniformity.assumed, IsEmpty());
  EXPECT_TRUE(a.kernel.uniformity.divergent_barrier.has_value());
}

TEST(Uniformity, ABarrierWhoseOtherArmLeavesAfterAnAccessProvesNothingOfALoadedBranch) {
  const Analysed a = analysed_text(
      "@%p3 bra E;\nst.shared.u32 [C], 1;\nbar.sync 0;\nbra J;\nE: st.shared.u32 [A], 1;\nJ: ret;");
  EXPECT_THAT(a.kernel.uniformity.assumed, IsEmpty());
  EXPECT_TRUE(a.apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, ABarrierWhoseOtherArmOnlyLeavesDecidesALoadedBranch) {
  const Analysed a =
      analysed_text("@%p3 bra J;\nst.shared.u32 [C], 1;\nbar.sync 0;\nst.shared.u32 [A], 1;\nJ: ret;");
  EXPECT_FALSE(a.apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, ABarrierThatMayBePassedByProvesNothingOfALoadedBranch) {
  for (const char* barrier : {"@%p2 bra M;\nbar.sync 0;\nM:", "@%p2 bar.sync 0;", "bar.sync 1;",
                              "bar.sync 0, 32;", "bar.warp.sync -1;"}) {
    const Analysed a = analysed_text(
        fmt::format("@%p3 bra J;\n{} st.shared.u32 [A], 1;\nJ: st.shared.u32 [C], 1;\nret;", barrier));
    EXPECT_THAT(a.kernel.uniformity.assumed, IsEmpty()) << barrier;
    EXPECT_TRUE(a.apart("st.shared.u32 [A], 1;")) << barrier;
  }
}

TEST(Uniformity, BarriersInBothArmsDoNotMakeABranchOnTheThreadIndexUniform) {
  const Analysed a =
      analysed_text("@%p1 bra E;\nbar.sync 0;\nbra J;\nE: bar.sync 0;\nJ: st.shared.u32 [C], 1;\nret;");
  EXPECT_TRUE(a.kernel.uniformity.divergent_barrier.has_value());
}

TEST(Uniformity, ABarrierReductionDecidesABranchForAllThreads) {
  const Analysed a = analysed_text(
      "bar.red.or.pred %p5, 0, %p1;\n@%p5 bra J;\nst.shared.u32 [A], 1;\nJ: st.shared.u32 [C], 1;\nret;");
  EXPECT_FALSE(a.apart("st.shared.u32 [A], 1;"));
}

TEST(Uniformity, AReductionOverAPartOfTheBlockDoesNot) {
  const Analysed a = analysed_text(
      "bar.red.or.pred %p5, 1, %p1;\n@%p5 bra J;\nst.shared.u32 [A], 1;\nJ: st.shared.u32 [C], 1;\nret;");
  EXPECT_TRUE(a.apart("st.shared.u32 [A], 1;"));
}

}  // namespace
}  // namespace warploom::reuse
