// What the simulator does not have is refused when a thread reaches it, and not before.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

Machine machine_for(const std::string& body, const std::string& functions = "") {
  return Machine(ptx::parse(
      ".version 8.7\n.target sm_90a\n.address_size 64\n" + functions +
          ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<30>;\n"
          "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n" +
          body + "st.global.u32 [%rd1], 7;\nret;\n}\n",
      "k.ptx"));
}

Outcome launch(Machine& machine, Dim grid = {}, unsigned cpu_threads = 1) {
  Arguments arguments;
  arguments.add(machine.allocate(64, "out"));
  return machine.launch("k", arguments, {.grid = grid, .block = {32}, .run = {.threads = cpu_threads}});
}

constexpr const char* kUnknown[] = {
    "tcgen05.wait::ld.sync.aligned;\n", "st.bulk.weak.shared::cta [%rd1], 16, 0;\n",
    "frobnicate.u32 %r3, %r4;\n", "st.async.weak.shared::cluster.u32 [%r3], %r4;\n",
    "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {%r3}, {%r4}, {%r5}, {%r6};\n"};

TEST(Refusal, OfCodeThatNoThreadReachesThereIsNone) {
  for (const std::string unknown : kUnknown) {
    for (const std::string& body : std::vector<std::string>{
             "setp.gt.u32 %p1, %r2, 1000;\n@%p1 bra NEVER;\nbra.uni DONE;\nNEVER:\n" + unknown + "DONE:\n",
             "setp.gt.u32 %p1, %r2, 1000;\n@%p1 " + unknown, "bra.uni DONE;\n" + unknown + "DONE:\n"}) {
      Machine machine = machine_for(body);
      EXPECT_TRUE(launch(machine).clean()) << body;
    }
  }
}

TEST(Refusal, NamesTheInstructionItsLineAndTheKernel) {
  for (const std::string unknown : kUnknown) {
    const std::string name = unknown.substr(0, unknown.find(' '));
    Machine machine = machine_for("setp.eq.u32 %p1, %r2, 31;\n@%p1 " + unknown);
    EXPECT_THAT([&] { launch(machine); },
                ThrowsMessage<Unsupported>(
                    AllOf(HasSubstr("k.ptx:13: kernel 'k'"), HasSubstr(name.substr(0, name.find(';'))))))
        << unknown;
  }
}

TEST(Refusal, ComesWhateverTheNumberOfCpuThreads) {
  // Odd blocks reach one, even ones another: the first block's is named.
  const std::string body =
      "and.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 st.bulk.weak.shared::cta [%rd1], 16, 0;\n"
      "@!%p1 tcgen05.wait::ld.sync.aligned;\n";
  for (const unsigned threads : {1u, 3u})
    for (int i = 0; i < 5; ++i) {
      Machine machine = machine_for(body);
      EXPECT_THAT([&] { launch(machine, {40}, threads); }, ThrowsMessage<Unsupported>(HasSubstr("st.bulk")));
    }
}

TEST(Refusal, OfACallComesAtTheCall) {
  const std::string functions =
      ".extern .func elsewhere();\n.func f()\n{\ncall.uni f;\nret;\n}\n.func g()\n{\n.reg .b32 %r<3>;\n"
      "tcgen05.wait::st.sync.aligned;\nret;\n}\n";
  const std::string guard = "setp.gt.u32 %p1, %r2, 1000;\n@!%p1 bra DONE;\n";
  for (const auto& [callee, reason] : {std::pair{"elsewhere", "'elsewhere' has no body"},
                                       {"f", "'f' calls itself"},
                                       {"g", "tcgen05.wait"}}) {
    const std::string call = fmt::format("call.uni {};\nDONE:\n", callee);
    Machine dead = machine_for(guard + call, functions), alive = machine_for(call, functions);
    EXPECT_TRUE(launch(dead).clean()) << callee;
    EXPECT_THAT([&] { launch(alive); }, ThrowsMessage<Unsupported>(HasSubstr(reason)));
  }
}

TEST(Refusal, OfWhatTheMemoryOfUnknownFormsWouldBe) {
  // Neither a load's form nor its width counts where it is refused.
  Machine machine =
      machine_for("setp.gt.u32 %p1, %r2, 1000;\n@%p1 ld.global.v4.b128 {%rd1}, [%rd2], %rd3;\n");
  EXPECT_TRUE(launch(machine, {40}, 3).clean());
}

TEST(CachePolicies, ChangeNothing) {
  Machine machine = machine_for(
      "createpolicy.fractional.L2::evict_last.b64 %rd2, 0f3F800000;\nmov.u32 %r3, 5;\n"
      "st.global.L2::cache_hint.u32 [%rd1+4], %r3, %rd2;\nld.global.L2::cache_hint.u32 %r4, [%rd1+4], %rd2;\n"
      "red.global.add.L2::cache_hint.u32 [%rd1+8], %r4, %rd2;\nld.global.u32 %r5, [%rd1+4];\nsetp.ne.u32 %p1, %r5, 5;\n"
      "@%p1 trap;\n");
  Arguments arguments;
  const Address out = machine.allocate(64, "out");
  EXPECT_TRUE(machine.launch("k", arguments.add(out), {.block = {1}}).clean());
  std::uint32_t sum = 0;
  machine.download(out + 8, std::span(&sum, 1));
  EXPECT_EQ(sum, 5u);
}

TEST(Stack, GrowsAndIsRestored) {
  const std::string grow = "stacksave.u64 %rd2;\nalloca.u64 %rd3, 24;\nst.local.u32 [%rd3], %r2;\n";
  Machine machine = machine_for(
      grow +
      "alloca.u64 %rd4, 8, 64;\nst.local.u32 [%rd4+4], 7;\nand.b64 %rd5, %rd4, 63;\n"
      "setp.ne.u64 %p1, %rd5, 0;\n@%p1 trap;\nld.local.u32 %r3, [%rd3];\nsetp.ne.u32 %p1, %r3, %r2;\n"
      "@%p1 trap;\nstackrestore.u64 %rd2;\nalloca.u64 %rd6, 16;\nsetp.ne.u64 %p1, %rd6, %rd3;\n@%p1 trap;\n");
  EXPECT_TRUE(launch(machine).clean());
  Machine large = machine_for("LOOP:\nalloca.u64 %rd3, 1000;\nbra.uni LOOP;\n");
  const Outcome outcome = launch(large);
  ASSERT_FALSE(outcome.clean());
  EXPECT_THAT(outcome.findings[0].text(),
              HasSubstr("1000 bytes; the simulator's stack of a thread has 16384 in all"));
}

TEST(Multimem, OfOneGpuIsItsMemory) {
  Machine machine = machine_for(
      "multimem.red.relaxed.gpu.global.add.u32 [%rd1], 2;\nbar.sync 0;\n"
      "multimem.ld_reduce.relaxed.gpu.global.add.u32 %r3, [%rd1];\nsetp.ne.u32 %p1, %r3, 64;\n@%p1 trap;\n"
      "multimem.st.relaxed.gpu.global.u32 [%rd1+4], %r3;\ndiscard.global.L2 [%rd1], 128;\n");
  EXPECT_TRUE(launch(machine).clean());
}

/// The dynamic array of a called function lies behind the static arrays of all functions, also those that
/// come later.
TEST(DynamicSharedMemory, BeginsBehindTheArraysOfAllFunctions) {
  const std::string functions =
      ".extern .shared .align 16 .b8 dynamic[];\n"
      ".func (.param .b32 at) f()\n{\n.reg .b32 %r<3>;\nmov.u32 %r1, dynamic;\nst.param.b32 [at], %r1;\nret;\n}\n"
      ".func g()\n{\n.shared .align 16 .b8 own[64];\n.reg .b32 %r<3>;\nmov.u32 %r1, 5;\nst.shared.u32 [own+60], %r1;\nret;\n}\n";
  Machine machine = machine_for(
      "{\n.param .b32 at;\ncall.uni (at), f, ();\nld.param.b32 %r3, [at];\n}\nst.shared.u32 [%r3], 9;\ncall.uni g;\n"
      "ld.shared.u32 %r4, [%r3];\nsetp.ne.u32 %p1, %r4, 9;\n@%p1 trap;\nmov.u32 %r5, dynamic;\n"
      "setp.ne.u32 %p1, %r5, %r3;\n@%p1 trap;\n",
      functions);
  Arguments arguments;
  arguments.add(machine.allocate(64, "out"));
  const Outcome outcome = machine.launch("k", arguments, {.block = {1}, .dynamic_shared = 16});
  EXPECT_TRUE(outcome.clean()) << outcome.findings.front().text();
}

TEST(GridWorkspace, HasABarrierThatIsZeroAtEachLaunch) {
  // Thread 0 of each block counts, and waits for the other three blocks.
  Machine machine = machine_for(
      "mov.u32 %r3, %envreg1;\nmov.u32 %r4, %envreg2;\nmov.b64 %rd3, {%r4, %r3};\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra DONE;\n"
      "atom.add.gpu.global.u32 %r5, [%rd3+4], 1;\nSPIN:\nld.acquire.gpu.global.u32 %r6, [%rd3+4];\nsetp.gt.u32 %p1, %r6, 4;\n"
      "@%p1 trap;\nsetp.lt.u32 %p1, %r6, 4;\n@%p1 bra SPIN;\nDONE:\n");
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = launch(machine, {4});
    EXPECT_TRUE(outcome.completed && outcome.clean());
  }
}

TEST(ReservedSharedMemory, IsThereForAKernelThatAsksWhereItIs) {
  Machine machine = machine_for(
      "mov.u32 %r3, %reserved_smem_offset_begin;\nmov.u32 %r4, %reserved_smem_offset_end;\n"
      "mov.u32 %r5, %reserved_smem_offset_1;\nsetp.lt.u32 %p1, %r5, %r3;\n@%p1 trap;\nadd.u32 %r6, %r5, 288;\n"
      "setp.gt.u32 %p1, %r6, %r4;\n@%p1 trap;\nst.shared.u32 [%r5], 1;\nld.shared.u32 %r7, [%r5];\n"
      "setp.ne.u32 %p1, %r7, 1;\n@%p1 trap;\n");
  EXPECT_TRUE(launch(machine).clean());
  // For others a null pointer stays nobody's.
  Machine other = machine_for("mov.u32 %r3, 0;\nst.shared.u32 [%r3], 1;\n");
  EXPECT_FALSE(launch(other).clean());
}

}  // namespace
}  // namespace warploom::sim
