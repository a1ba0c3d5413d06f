// The simulator as a C++ library: memory, arguments, schedules, and what blocks and threads see of each
// other.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "warploom/core/run.hpp"
#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string module_text(const std::string& module, const std::string& parameters, const std::string& body) {
  return fmt::format(
      ".version 8.0\n.target sm_80\n.address_size 64\n{}\n.visible .entry k({})\n{{\n.reg .pred %p<9>;\n.reg .b16 %h<9>;\n"
      ".reg .b32 %r<30>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<30>;\n{}ret;\n}}\n",
      module, parameters, body);
}

/// Stores %r9 of every thread of the grid to out.
constexpr const char* kStore =
    "mov.u32 %r21, %ctaid.x;\nmov.u32 %r22, %ntid.x;\nmov.u32 %r23, %tid.x;\nmad.lo.u32 %r24, %r21, %r22, %r23;\n"
    "ld.param.u64 %rd21, [out];\nmul.wide.u32 %rd22, %r24, 4;\nadd.u64 %rd23, %rd21, %rd22;\nst.global.u32 [%rd23], %r9;\n";

Machine machine_for(const std::string& text) { return Machine(ptx::parse(text, "k.ptx")); }

std::vector<std::uint32_t> run(const std::string& text, LaunchOptions options, Outcome* outcome = nullptr) {
  Machine machine = machine_for(text);
  std::vector<std::uint32_t> out(options.grid.count() * options.block.count());
  const Address at = machine.upload(std::span(out), "out");
  Arguments arguments;
  arguments.add(at);
  const Outcome result = machine.launch("k", arguments, options);
  if (outcome != nullptr) *outcome = result;
  EXPECT_TRUE(outcome != nullptr || result.clean()) << result.findings.front().text();
  machine.download(at, std::span(out));
  return out;
}

const std::string kOut = ".param .u64 out";

TEST(Machine, CopiesToTheDeviceAndBack) {
  Machine machine = machine_for(module_text("", "", ""));
  std::vector<int> values(1000), back(1000);
  std::iota(values.begin(), values.end(), 7);
  const Address at = machine.upload(std::span(values));
  machine.download(at, std::span(back));
  EXPECT_EQ(back, values);
  std::vector<int> part(10);
  machine.download(at + 400, std::span(part));
  EXPECT_EQ(part.front(), 107);
}

TEST(Machine, AllocationsAreZeroedAlignedAndApart) {
  Machine machine = machine_for(module_text("", "", ""));
  const Address a = machine.allocate(3), b = machine.allocate(3);
  EXPECT_EQ(a % 256, 0u);
  EXPECT_EQ(b % 256, 0u);
  EXPECT_GT(b, a + 3);
  std::vector<char> bytes(3, 'x');
  machine.download(a, std::span(bytes));
  EXPECT_THAT(bytes, Each(0));
}

TEST(Machine, RefusesCopiesThatLeaveTheAllocation) {
  Machine machine = machine_for(module_text("", "", ""));
  const Address a = machine.allocate(16, "x");
  std::vector<char> bytes(17);
  EXPECT_THAT([&] { machine.download(a, std::span(bytes)); },
              ThrowsMessage<BadInput>(HasSubstr("x, byte 0")));
  EXPECT_THROW(machine.copy_to_device(a + 8, std::as_bytes(std::span(bytes).first(9))), BadInput);
  EXPECT_THROW(machine.free(a + 1), BadInput);
  machine.free(a);
  EXPECT_THROW(machine.download(a, std::span(bytes).first(1)), BadInput);
}

TEST(Machine, RefusesMoreMemoryThanTheHostHas) {
  Machine machine = machine_for(module_text("", "", ""));
  EXPECT_THAT([&] { machine.allocate(std::uint64_t{1} << 60); },
              ThrowsMessage<OutOfMemory>(HasSubstr("1152921504606846976 bytes")));
}

TEST(Machine, NamesTheKernelsThereAre) {
  Machine machine = machine_for(module_text("", "", ""));
  EXPECT_THAT([&] { machine.launch("q", {}, {}); },
              ThrowsMessage<BadInput>(HasSubstr("no kernel 'q'; there is k")));
}

TEST(Machine, ChecksArgumentsAgainstTheParameters) {
  Machine machine = machine_for(module_text("", ".param .u64 out, .param .u32 n", ""));
  Arguments few;
  few.add(std::uint64_t{0});
  EXPECT_THAT([&] { machine.launch("k", few, {}); },
              ThrowsMessage<BadInput>(HasSubstr("has 2 parameters, 1 argument was given")));
  Arguments wide;
  wide.add(std::uint64_t{0}).add(std::uint64_t{0});
  EXPECT_THAT([&] { machine.launch("k", wide, {}); },
              ThrowsMessage<BadInput>(HasSubstr("argument 1 (n) has 8 bytes, the parameter 4")));
}

TEST(Machine, ChecksTheLimitsOfALaunch) {
  Machine machine = machine_for(module_text("", "", ""));
  EXPECT_THROW(machine.launch("k", {}, {.block = {1025}}), BadInput);
  EXPECT_THROW(machine.launch("k", {}, {.block = {1, 1, 65}}), BadInput);
  EXPECT_THROW(machine.launch("k", {}, {.block = {0}}), BadInput);
  EXPECT_THROW(machine.launch("k", {}, {.grid = {1, 65536}}), BadInput);
  EXPECT_THROW(machine.launch("k", {}, {.dynamic_shared = 1u << 30}), BadInput);
}

TEST(Machine, NamesWhatItLacks) {
  Machine machine = machine_for(module_text("", "", "tcgen05.wait::ld.sync.aligned;\n"));
  EXPECT_THAT([&] { machine.launch("k", {}, {}); },
              ThrowsMessage<Unsupported>(
                  testing::AllOf(HasSubstr("k.ptx:12: kernel 'k'"), HasSubstr("tcgen05.wait"))));
}

TEST(Machine, Refuses32BitAddresses) {
  EXPECT_THROW(machine_for(".version 8.0\n.target sm_80\n.address_size 32\n"), BadInput);
}

TEST(Machine, SpecialRegistersTellWhereAThreadIs) {
  const std::string text =
      module_text("", kOut,
                  "mov.u32 %r1, %laneid;\nmov.u32 %r2, %warpid;\nmov.u32 %r3, %nctaid.x;\n"
                  "mad.lo.u32 %r9, %r2, 100, %r1;\nmad.lo.u32 %r9, %r3, 10000, %r9;\n" +
                      std::string(kStore));
  const auto out = run(text, {.grid = {3}, .block = {40}});
  EXPECT_EQ(out[0], 30000u);
  EXPECT_EQ(out[39], 30107u);
  EXPECT_EQ(out[80 + 33], 30101u);
}

TEST(Machine, ReadsInitialValues) {
  const std::string text = module_text(
      ".const .align 4 .u32 table[4] = {1, 0x10, 0b101, 017};\n.global .align 8 .u64 pointer = generic(table)+8;\n"
      ".global .align 4 .f32 real[2] = {0f3F800000, 2.5};\n.global .align 1 .b8 bytes[4] = {255, -1, 7};\n",
      kOut,
      "ld.global.u64 %rd1, [pointer];\nld.u32 %r1, [%rd1];\nld.const.u32 %r2, [table+12];\nld.global.f32 %f1, [real+4];\n"
      "cvt.rni.u32.f32 %r3, %f1;\nld.global.u32 %r4, [bytes];\nmad.lo.u32 %r9, %r1, 1000, %r2;\n"
      "mad.lo.u32 %r9, %r9, 10, %r3;\nshr.u32 %r4, %r4, 16;\nmad.lo.u32 %r9, %r9, 10, %r4;\n" +
          std::string(kStore));
  // 5, 15, 2.5 to even, 7
  EXPECT_THAT(run(text, {.block = {1}}), ElementsAre(501527u));
}

TEST(Machine, RefusesMoreInitialValuesThanThereIsRoomFor) {
  EXPECT_THAT(
      [] { machine_for(".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 x[2] = {1, 2, 3};\n"); },
      ThrowsMessage<BadInput>(HasSubstr("more values than its 8 bytes hold")));
}

TEST(Machine, PrintsLikeTheGpu) {
  const std::string text = module_text(
      ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);\n"
      ".global .align 1 .b8 format[18] = {37, 53, 100, 124, 37, 46, 50, 102, 124, 37, 108, 108, 120, 124, 37, 37, 10, 0};\n",
      "",
      ".local .align 8 .b8 values[24];\nmov.u32 %r1, %tid.x;\nst.local.u32 [values], %r1;\nmov.b64 %rd1, 0d3FF8000000000000;\n"
      "st.local.u64 [values+8], %rd1;\nmov.u64 %rd2, 0xdeadbeefcafe;\nst.local.u64 [values+16], %rd2;\nmov.u64 %rd3, format;\n"
      "mov.u64 %rd4, values;\ncvta.local.u64 %rd5, %rd4;\n{\n.param .b64 a;\n.param .b64 b;\n.param .b32 c;\n"
      "st.param.b64 [a], %rd3;\nst.param.b64 [b], %rd5;\ncall (c), vprintf, (a, b);\n}\n");
  Machine machine = machine_for(text);
  EXPECT_EQ(machine.launch("k", {}, {.block = {2}}).printed,
            "    0|1.50|deadbeefcafe|%\n    1|1.50|deadbeefcafe|%\n");
}

/// A lock that the threads of one warp take one after another: needs threads that go on independently.
const std::string kLock = module_text(
    ".global .u32 lock;\n.global .u32 count;\n", kOut,
    "SPIN:\natom.global.acquire.gpu.cas.b32 %r1, [lock], 0, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra SPIN;\n"
    "ld.global.u32 %r9, [count];\nadd.u32 %r2, %r9, 1;\nst.global.u32 [count], %r2;\n"
    "atom.global.release.gpu.exch.b32 %r3, [lock], 0;\n" +
        std::string(kStore));

class EverySchedule : public testing::TestWithParam<Schedule> {};

TEST_P(EverySchedule, ThreadsOfAWarpGoOnIndependently) {
  for (const bool races : {false, true}) {
    auto out = run(kLock, {.grid = {3}, .block = {40}, .schedule = GetParam(), .races = races});
    std::sort(out.begin(), out.end());
    for (std::uint32_t i = 0; i < 120; ++i) ASSERT_EQ(out[i], i);
  }
}

TEST_P(EverySchedule, BlocksWaitForBlocksThatComeLater) {
  // Block i waits until block i + 1 has announced itself.
  const std::string text = module_text(
      ".global .align 4 .u32 flags[64];\n", kOut,
      "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %nctaid.x;\nmul.wide.u32 %rd1, %r1, 4;\nmov.u64 %rd2, flags;\n"
      "add.u64 %rd3, %rd1, %rd2;\nst.relaxed.gpu.global.u32 [%rd3], 1;\nadd.u32 %r3, %r1, 1;\n"
      "setp.eq.u32 %p1, %r3, %r2;\n@%p1 bra DONE;\nSPIN:\nld.relaxed.gpu.global.u32 %r4, [%rd3+4];\n"
      "setp.eq.u32 %p2, %r4, 0;\n@%p2 bra SPIN;\nDONE:\nmov.u32 %r9, 5;\n" +
          std::string(kStore));
  EXPECT_THAT(run(text, {.grid = {50}, .block = {32}, .schedule = GetParam(), .races = true}), Each(5u));
}

TEST_P(EverySchedule, AreDeterministic) {
  // What a race leaves behind depends on the order, and is the same again.
  const std::string text =
      module_text("", kOut,
                  ".shared .u32 last;\nmov.u32 %r1, %tid.x;\nst.shared.u32 [last], %r1;\nbar.sync 0;\n"
                  "ld.shared.u32 %r9, [last];\n" +
                      std::string(kStore));
  Outcome one, two;
  const LaunchOptions options{
      .grid = {20}, .block = {128}, .schedule = GetParam(), .seed = 5, .races = true, .run = {.threads = 1}};
  LaunchOptions parallel = options;
  parallel.run.threads = 4;
  EXPECT_EQ(run(text, options, &one), run(text, parallel, &two));
  ASSERT_FALSE(one.clean());
  ASSERT_EQ(one.findings.size(), two.findings.size());
  for (std::size_t i = 0; i < one.findings.size(); ++i)
    EXPECT_EQ(one.findings[i].text(), two.findings[i].text());
  EXPECT_EQ(one.thread_instructions, two.thread_instructions);
}

TEST_P(EverySchedule, BarriersWithACountLetProducersGoOn) {
  // Warp 0 announces at barrier 1; warp 1 waits there for both.
  const std::string text = module_text(
      "", kOut,
      ".shared .align 4 .b8 a[128];\nmov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\nshl.b32 %r3, %r2, 2;\n"
      "mov.u32 %r4, a;\nadd.u32 %r5, %r4, %r3;\nsetp.ge.u32 %p1, %r1, 32;\nmov.u32 %r9, 0;\n@%p1 bra CONSUMER;\n"
      "st.shared.u32 [%r5], %r1;\nbar.arrive 1, 64;\nbra.uni JOIN;\nCONSUMER:\nbar.sync 1, 64;\n"
      "ld.shared.u32 %r9, [%r5];\nJOIN:\n" +
          std::string(kStore));
  const auto out = run(text, {.block = {64}, .schedule = GetParam(), .races = true});
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[32 + i], i);
}

TEST_P(EverySchedule, ReducingBarriersCountAndCombine) {
  const std::string text = module_text(
      "", kOut,
      "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 40;\nbar.red.popc.u32 %r2, 0, %p1;\n"
      "bar.red.and.pred %p2, 0, %p1;\nbar.red.or.pred %p3, 0, !%p1;\nselp.u32 %r3, 1000, 0, %p2;\n"
      "selp.u32 %r4, 100, 0, %p3;\nadd.u32 %r9, %r2, %r3;\nadd.u32 %r9, %r9, %r4;\n" +
          std::string(kStore));
  EXPECT_THAT(run(text, {.block = {70}, .schedule = GetParam()}), Each(140u));
}

TEST_P(EverySchedule, ThreadsThatHaveLeftAreNotWaitedFor) {
  const std::string text = module_text(
      "", kOut,
      "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 9;\n@%p1 exit;\nbar.sync 0;\nbar.warp.sync -1;\n"
      "shfl.sync.idx.b32 %r9, %r1, 3, 31, -1;\n" +
          std::string(kStore));
  const auto out = run(text, {.block = {64}, .schedule = GetParam()});
  EXPECT_THAT(std::vector(out.begin(), out.begin() + 10), Each(3u));
  EXPECT_THAT(std::vector(out.begin() + 10, out.end()), Each(0u));
}

TEST_P(EverySchedule, DivergentLoopsComeTogetherForShuffles) {
  // Lane i counts i rounds; then all exchange.
  const std::string text =
      module_text("", kOut,
                  "mov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\nLOOP:\nsetp.ge.u32 %p1, %r2, %r1;\n@%p1 bra OUT;\n"
                  "add.u32 %r2, %r2, 1;\nbra.uni LOOP;\nOUT:\nshfl.sync.down.b32 %r9, %r2, 1, 31, -1;\n" +
                      std::string(kStore));
  const auto out = run(text, {.block = {32}, .schedule = GetParam()});
  for (std::uint32_t i = 0; i < 31; ++i) EXPECT_EQ(out[i], i + 1);
  EXPECT_EQ(out[31], 31u);
}

INSTANTIATE_TEST_SUITE_P(, EverySchedule,
                         testing::Values(Schedule::in_order, Schedule::random, Schedule::adversarial),
                         [](const auto& test) {
                           std::string text(name(test.param));
                           std::erase(text, '-');
                           return text;
                         });

TEST(Machine, CallsFunctionsThroughPointers) {
  const std::string text = module_text(
      ".func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %x;\nld.param.u32 %x, [a];\nadd.u32 %x, %x, %x;\nst.param.b32 [r], %x;\nret;\n}\n"
      ".func (.param .b32 r) square(.param .b32 a)\n{\n.reg .b32 %x;\nld.param.u32 %x, [a];\nmul.lo.u32 %x, %x, %x;\nst.param.b32 [r], %x;\nret;\n}\n"
      ".global .align 8 .u64 table[2] = {twice, square};\n",
      kOut,
      "mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 1;\nmul.wide.u32 %rd1, %r2, 8;\nmov.u64 %rd2, table;\nadd.u64 %rd3, %rd2, %rd1;\n"
      "ld.global.u64 %rd4, [%rd3];\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r1;\n"
      "prototype: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (b), %rd4, (a), prototype;\nld.param.u32 %r9, [b];\n}\n" +
          std::string(kStore));
  const auto out = run(text, {.block = {32}});
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i % 2 == 0 ? 2 * i : i * i);
}

TEST(Machine, RefusesRecursion) {
  const std::string text = module_text(".func f()\n{\ncall.uni f;\nret;\n}\n", "", "call.uni f;\n");
  Machine machine = machine_for(text);
  EXPECT_THAT([&] { machine.launch("k", {}, {}); }, ThrowsMessage<Unsupported>(HasSubstr("calls itself")));
}

TEST(Machine, MemoryStaysBetweenLaunches) {
  const std::string text = module_text(".global .u32 count;\n", "", "red.global.add.u32 [count], 1;\n");
  Machine machine = machine_for(text);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(machine.launch("k", {}, {.grid = {100}, .block = {64}}).clean());
  std::uint32_t count = 0;
  machine.download(machine.variable("count"), std::span(&count, 1));
  EXPECT_EQ(count, 19200u);
}

TEST(Machine, StopsWhenItIsInterrupted) {
  for (const char* flag : {"volatile.global", "shared"}) {  // blocks in turns, and each by itself
    Machine machine = machine_for(module_text(
        ".global .u32 g;\n.shared .u32 s;\n", "",
        fmt::format("SPIN:\nld.{}.u32 %r1, [{}];\nbra SPIN;\n", flag, flag[0] == 'v' ? "g" : "s")));
    std::atomic<bool> stop = true;
    const RunScope scope({.stop = &stop});
    EXPECT_THROW(machine.launch("k", {}, {.grid = {4}, .block = {32}}), Interrupted) << flag;
  }
}

TEST(Machine, CountsInstructionsOfThreads) {
  Machine machine = machine_for(module_text(
      "", "",
      "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 8;\n@%p1 bra DONE;\nadd.u32 %r1, %r1, 1;\nDONE:\n"));
  const Outcome outcome = machine.launch("k", {}, {.grid = {2}, .block = {32}});
  // mov, setp, bra and ret by all, add by 24.
  EXPECT_EQ(outcome.thread_instructions, 2u * (4 * 32 + 24));
  EXPECT_EQ(outcome.divergent_branches, 2u);
}

}  // namespace
}  // namespace warploom::sim
