// ldmatrix, stmatrix, movmatrix and wmma in shared memory: which element goes where, and what is found.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "warploom/sim/sim.hpp"

namespace warploom::sim {
namespace {

using testing::HasSubstr;

/// A kernel of one warp whose tile of 512 bytes holds `in` (128 words) unless `fill` is false; %r8 is the
/// address of lane's 16 bytes of it, %rd3 of lane's words of `out` ([register, lane]).
std::string kernel(const std::string& body, bool fill = true) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         ".reg .pred %p<9>;\n.reg .b32 %r<30>, %d<9>;\n.reg .f32 %f<40>;\n.reg .b64 %rd<30>;\n"
         ".shared .align 16 .b8 tile[512];\n"
         "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd4, %r1, 16;\n"
         "add.u64 %rd1, %rd1, %rd4;\nmul.wide.u32 %rd4, %r1, 4;\nadd.u64 %rd3, %rd2, %rd4;\nshl.b32 %r7, %r1, 4;\n"
         "mov.u32 %r8, tile;\nadd.u32 %r8, %r8, %r7;\n" +
         std::string(
             fill
                 ? "ld.global.v4.u32 {%d1, %d2, %d3, %d4}, [%rd1];\nst.shared.v4.u32 [%r8], {%d1, %d2, %d3, %d4};\n"
                   "bar.warp.sync -1;\n"
                 : "") +
         body + "ret;\n}\n";
}

std::string store(unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("st.global.u32 [%rd3+{}], %d{};\n", 128 * i, i + 1);
  return text;
}

/// 16-bit elements 0, 1, 2, ... in: row r of matrix m has 64 m + 8 r + column.
std::vector<std::uint32_t> run(const std::string& text, Outcome* outcome = nullptr, unsigned threads = 32,
                               Schedule schedule = Schedule::in_order) {
  std::vector<std::uint16_t> in(256);
  std::iota(in.begin(), in.end(), 0);
  std::vector<std::uint32_t> out(256);
  Machine machine(ptx::parse(text, "k.ptx"));
  const Address to = machine.upload(std::span(out), "out");
  const Outcome result = machine.launch("k", Arguments().add(machine.upload(std::span(in), "in")).add(to),
                                        {.block = {threads}, .schedule = schedule, .races = true});
  if (outcome != nullptr) *outcome = result;
  EXPECT_TRUE(outcome != nullptr || result.clean()) << result.findings.front().text();
  machine.download(to, std::span(out));
  return out;
}

std::uint32_t pair(std::uint32_t low, std::uint32_t high) { return low | high << 16; }

TEST(LdMatrix, GivesEachLaneTwoNeighboursOfARow) {
  for (const Schedule schedule : {Schedule::in_order, Schedule::random, Schedule::adversarial}) {
    const auto out =
        run(kernel("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%d1, %d2, %d3, %d4}, [%r8];\n" + store(4)),
            nullptr, 32, schedule);
    for (unsigned m = 0; m < 4; ++m)
      for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned first = 64 * m + lane / 4 * 8 + lane % 4 * 2;
        ASSERT_EQ(out[32 * m + lane], pair(first, first + 1));
      }
  }
}

TEST(LdMatrix, TransposedGivesTwoNeighboursOfAColumn) {
  const auto out =
      run(kernel("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%d1, %d2}, [%r8];\n" + store(2)));
  for (unsigned m = 0; m < 2; ++m)
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned first = 64 * m + lane % 4 * 16 + lane / 4;
      ASSERT_EQ(out[32 * m + lane], pair(first, first + 8));
    }
}

TEST(LdMatrix, TakesAddressesOfTheFirstLanesAlone) {
  // Lanes from 8 on give nonsense, which does not count.
  const auto out =
      run(kernel("setp.ge.u32 %p1, %r1, 8;\nselp.u32 %r8, 77777, %r8, %p1;\n"
                 "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%r8];\n" +
                 store(1)));
  EXPECT_EQ(out[9], pair(18, 19));
}

TEST(StMatrix, IsTheOtherWayRound) {
  for (const std::string trans : {"", ".trans"}) {
    const auto out = run(kernel("ldmatrix.sync.aligned.m8n8.x4" + trans +
                                ".shared.b16 {%d1, %d2, %d3, %d4}, [%r8];\nbar.warp.sync -1;\n"
                                "xor.b32 %r9, %r8, 16;\n"  // rows change places by pairs
                                "stmatrix.sync.aligned.m8n8.x4" +
                                trans +
                                ".shared.b16 [%r9], {%d1, %d2, %d3, %d4};\nbar.warp.sync -1;\n"
                                "ld.shared.v4.u32 {%d1, %d2, %d3, %d4}, [%r8];\n" +
                                store(4)));
    for (unsigned row = 0; row < 32; ++row)
      for (unsigned word = 0; word < 4; ++word) {
        const unsigned first = (row ^ 1) * 8 + 2 * word;
        ASSERT_EQ(out[32 * word + row], pair(first, first + 1));
      }
  }
}

TEST(MovMatrix, Transposes) {
  const auto out =
      run(kernel("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d2}, [%r8];\n"
                 "movmatrix.sync.aligned.m8n8.trans.b16 %d1, %d2;\n" +
                 store(1)));
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned first = lane % 4 * 16 + lane / 4;
    ASSERT_EQ(out[lane], pair(first, first + 8));
  }
}

TEST(LdMatrix, OfWhatNobodyWroteIsFoundWhereItMatters) {
  // Row 3 of the second matrix is written; the first register goes to memory, the second is dropped.
  const std::string load = "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%d1, %d2}, [%r8];\n";
  Outcome outcome;
  run(kernel(
          "setp.eq.u32 %p1, %r1, 8;\n@!%p1 st.shared.v4.u32 [%r8], {%r1, %r1, %r1, %r1};\nbar.warp.sync -1;\n" +
              load + store(1),
          false),
      &outcome);
  EXPECT_TRUE(outcome.clean()) << outcome.findings.front().text();
  run(kernel(
          "setp.eq.u32 %p1, %r1, 8;\n@!%p1 st.shared.v4.u32 [%r8], {%r1, %r1, %r1, %r1};\nbar.warp.sync -1;\n" +
              load + store(2),
          false),
      &outcome);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::uninitialised);
  EXPECT_EQ(outcome.findings[0].count, 1u);
  EXPECT_THAT(outcome.findings[0].text(), HasSubstr("load of shared memory that nobody wrote"));
}

/// A product of 16 x 8 x 16 whose A has a row that nobody wrote.
TEST(Mma, SpreadsWhatNobodyWroteAlongItsRow) {
  const std::string body =
      "setp.eq.u32 %p1, %r1, 5;\n@!%p1 st.shared.v4.u32 [%r8], {%r1, %r1, %r1, %r1};\nbar.warp.sync -1;\n"
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%d1, %d2, %d3, %d4}, [%r8];\nmov.b32 %d5, 0;\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%d1, %d2, %d3, %d4}, {%d5, %d5}, "
      "{%f5, %f5, %f5, %f5};\n";
  Outcome outcome;
  // Row 5 is in lanes 20 to 23, registers 0 and 1.
  run(kernel(
          body + "st.global.f32 [%rd3], %f3;\nsetp.eq.u32 %p2, %r1, 19;\n@%p2 st.global.f32 [%rd3], %f1;\n",
          false),
      &outcome);
  EXPECT_TRUE(outcome.clean()) << outcome.findings.front().text();
  run(kernel(body + "setp.eq.u32 %p2, %r1, 20;\n@%p2 st.global.f32 [%rd3], %f1;\n", false), &outcome);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_THAT(outcome.findings[0].text(), HasSubstr("load of shared memory that nobody wrote"));
}

TEST(WholeWarp, IsAskedFor) {
  const std::string load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%r8];\n";
  Outcome outcome;
  run(kernel(load), &outcome, 24);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::illegal);
  EXPECT_THAT(outcome.findings[0].text(), HasSubstr("all 32 threads of its warp; 24 are there"));
  run(kernel("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra DONE;\n" + load + "DONE:\nbar.sync 0;\n"), &outcome);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::barrier_divergence);
}

TEST(LdMatrix, NeedsRowsOfSharedMemory) {
  Outcome outcome;
  run(kernel("ldmatrix.sync.aligned.m8n8.x1.b16 {%d1}, [%rd1];\n"), &outcome);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::illegal);
  run(kernel("add.u32 %r8, %r8, 4;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d1}, [%r8];\n"), &outcome);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::misaligned);
  run(kernel("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%d1, %d2, %d3, %d4}, [%r8+16];\n"), &outcome);
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].kind, FindingKind::out_of_bounds);
}

/// wmma through shared memory: A by rows of 16, B by columns of 16, small integers whose sums are exact.
TEST(Wmma, MultipliesInEveryLayout) {
  for (const bool a_rows : {true, false})
    for (const bool b_rows : {true, false})
      for (const bool d_rows : {true, false}) {
        const auto layout = [](bool rows) { return rows ? "row" : "col"; };
        std::string f[3];
        for (unsigned i = 0; i < 8; ++i) {
          f[0] += fmt::format("{}%d{}", i == 0 ? "" : ", ", i + 1);
          f[1] += fmt::format("{}%r{}", i == 0 ? "" : ", ", i + 10);
          f[2] += fmt::format("{}%f{}", i == 0 ? "" : ", ", i);
        }
        std::string zero;
        for (unsigned i = 0; i < 8; ++i) zero += fmt::format("mov.f32 %f{}, 0f3F000000;\n", i);
        // A is `in` (elements (i mod 7) - 3 as f16), B the same from its 3rd row of 16 bytes on.
        const std::string text =
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
            ".reg .b32 %r<30>, %d<9>;\n.reg .f32 %f<40>;\n.reg .b64 %rd<9>;\n.shared .align 32 .b8 tile[1024];\n"
            "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nadd.u64 %rd3, %rd1, 64;\n" +
            zero +
            fmt::format("wmma.load.a.sync.aligned.{}.m16n16k16.global.f16 {{{}}}, [%rd1], 16;\n",
                        layout(a_rows), f[0]) +
            fmt::format("wmma.load.b.sync.aligned.{}.m16n16k16.f16 {{{}}}, [%rd3], 24;\n", layout(b_rows),
                        f[1]) +
            fmt::format("wmma.mma.sync.aligned.{}.{}.m16n16k16.f32.f32 {{{}}}, {{{}}}, {{{}}}, {{{}}};\n",
                        layout(a_rows), layout(b_rows), f[2], f[0], f[1], f[2]) +
            fmt::format(
                "mov.u32 %r1, tile;\nwmma.store.d.sync.aligned.{}.m16n16k16.shared.f32 [%r1], {{{}}}, 16;\n",
                layout(d_rows), f[2]) +
            "bar.warp.sync -1;\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %rd4, %r2, 4;\nadd.u64 %rd4, %rd2, %rd4;\n"
            "shl.b32 %r2, %r2, 2;\nadd.u32 %r1, %r1, %r2;\nmov.u32 %r3, 0;\n" +
            [] {
              std::string all;
              for (unsigned i = 0; i < 8; ++i)
                all +=
                    fmt::format("ld.shared.f32 %f9, [%r1+{0}];\nst.global.f32 [%rd4+{0}], %f9;\n", 128 * i);
              return all;
            }() +
            "ret;\n}\n";
        constexpr std::uint16_t kHalf[] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200};  // -3 to 3
        std::vector<std::uint16_t> in(600);
        for (unsigned i = 0; i < in.size(); ++i) in[i] = kHalf[i * i % 7];
        const auto value = [&](unsigned i) { return static_cast<float>(static_cast<int>(i * i % 7) - 3); };
        std::vector<float> out(256);
        Machine machine(ptx::parse(text, "k.ptx"));
        const Address to = machine.upload(std::span(out), "out");
        const Outcome outcome =
            machine.launch("k", Arguments().add(machine.upload(std::span(in), "in")).add(to),
                           {.block = {32}, .races = true});
        ASSERT_TRUE(outcome.clean()) << outcome.findings.front().text();
        machine.download(to, std::span(out));
        for (unsigned row = 0; row < 16; ++row)
          for (unsigned column = 0; column < 16; ++column) {
            float sum = 0.5f;
            for (unsigned k = 0; k < 16; ++k)
              sum += value(a_rows ? row * 16 + k : k * 16 + row) *
                     value(32 + (b_rows ? k * 24 + column : column * 24 + k));
            ASSERT_EQ(out[d_rows ? row * 16 + column : column * 16 + row], sum) << row << ", " << column;
          }
      }
}

/// Elements of 4 bits and single bits: A by rows, B by columns, from global memory.
TEST(Wmma, MultipliesLessThanBytes) {
  for (const bool bits : {false, true}) {
    const unsigned k = bits ? 128 : 32, stride = 2 * k;
    const std::string shape = bits ? "m8n8k128" : "m8n8k32", type = bits ? "b1" : "s4";
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .b32 %r<30>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n"
        "add.u64 %rd3, %rd1, 512;\nmov.u32 %r3, 5;\nmov.u32 %r4, 5;\n" +
        fmt::format(
            "wmma.load.a.sync.aligned.row.{0}.global.{1} {{%r1}}, [%rd1], {2};\n"
            "wmma.load.b.sync.aligned.col.{0}.global.{1} {{%r2}}, [%rd3], {2};\n",
            shape, type, stride) +
        (bits
             ? "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r5, %r6}, {%r1}, {%r2}, {%r3, %r4};\n"
             : "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 {%r5, %r6}, {%r1}, {%r2}, {%r3, %r4};\n") +
        "wmma.store.d.sync.aligned.row." + shape + ".global.s32 [%rd2], {%r5, %r6}, 8;\nret;\n}\n";
    std::vector<std::uint8_t> in(1024);
    for (unsigned i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i * i * 7 + i / 5);
    std::vector<std::int32_t> out(64);
    Machine machine(ptx::parse(text, "k.ptx"));
    const Address to = machine.upload(std::span(out), "out");
    const Outcome outcome = machine.launch("k", Arguments().add(machine.upload(std::span(in), "in")).add(to),
                                           {.block = {32}, .races = true});
    ASSERT_TRUE(outcome.clean()) << outcome.findings.front().text();
    machine.download(to, std::span(out));
    const auto value = [&](unsigned byte, unsigned row, unsigned i) {
      const unsigned at = row * stride + i;
      if (bits) return in[byte + at / 8] >> at % 8 & 1;
      const int four = in[byte + at / 2] >> at % 2 * 4 & 15;
      return four >= 8 ? four - 16 : four;
    };
    for (unsigned row = 0; row < 8; ++row)
      for (unsigned column = 0; column < 8; ++column) {
        int sum = 5;
        for (unsigned i = 0; i < k; ++i) sum += value(0, row, i) * value(512, column, i);
        ASSERT_EQ(out[row * 8 + column], sum) << row << ", " << column;
      }
  }
}

}  // namespace
}  // namespace warploom::sim
