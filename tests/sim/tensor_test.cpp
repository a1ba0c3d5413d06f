// cp.async.bulk.tensor: which elements lie where, what tensor maps refuse, and that a missing wait, a missing
// fence and a wrong map are found.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "warploom/sim/arguments.hpp"

namespace warploom::sim {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// 64 threads; %r1 is the thread, %p1 thread 0, %rd2 the tensor map, %r4 the thread's word of tile (1,024
/// bytes), %rd3 its word of out.
std::string tensor_kernel(const std::string& body) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)\n{\n.reg .pred %p<9>;\n.reg .b32 %r<30>;\n"
         ".reg .b64 %rd<30>;\n.shared .align 1024 .b8 tile[1024];\n.shared .align 8 .b64 full;\nld.param.u64 %rd1, [out];\n"
         "mov.u32 %r1, %tid.x;\nmov.b64 %rd4, map;\ncvta.param.u64 %rd2, %rd4;\nmul.wide.u32 %rd5, %r1, 4;\n"
         "add.u64 %rd3, %rd1, %rd5;\nmov.u32 %r2, tile;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\nmov.u32 %r9, 0;\n"
         "setp.eq.u32 %p1, %r1, 0;\n" +
         body + "ret;\n}\n";
}

/// A box of 256 bytes at {`coordinates`}; all threads wait and store their word.
std::string box_loaded(const std::string& coordinates, unsigned rank = 2, bool wait = true, unsigned at = 0) {
  return "@%p1 mbarrier.init.shared.b64 [full], 1;\nbar.sync 0;\n@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [full], 256;\n" +
         fmt::format(
             "@%p1 cp.async.bulk.tensor.{}d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
             "[tile+{}], [%rd2, {{{}}}], [full], %rd5;\n",
             rank, at, coordinates) +
         (wait ? "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [full], %r9;\n@!%p2 bra WAIT;\n"
               : "bar.sync 0;\n") +
         "ld.shared.u32 %r6, [%r4];\nst.global.u32 [%rd3], %r6;\n";
}

std::string box_stored(const std::string& fence) {
  return "st.shared.u32 [%r4], %r1;\n" + fence +
         "bar.sync 0;\n@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {16, 5}], [tile];\n"
         "@%p1 cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group 0;\n";
}

struct TensorResult {
  Outcome outcome;
  std::vector<std::uint32_t> tensor = std::vector<std::uint32_t>(200), out = std::vector<std::uint32_t>(64);
  std::string findings() const {
    std::string text;
    for (const Finding& f : outcome.findings) text += f.text() + "\n";
    return text;
  }
};

/// 200 words, 10 rows of 20; boxes of 8 columns and 8 rows.
TensorMap words() {
  TensorMap map;
  map.type = "u32";
  map.extents = {20, 10};
  map.box = {8, 8};
  return map;
}

TensorResult run_tensors(const std::string& body, TensorMap map = words(),
                         Schedule schedule = Schedule::in_order) {
  TensorResult r;
  std::iota(r.tensor.begin(), r.tensor.end(), 1000u);
  Machine machine(ptx::parse(tensor_kernel(body), "k.ptx"));
  map.address = machine.upload(std::span(r.tensor), "tensor");
  const Address out = machine.upload(std::span(r.out), "out");
  LaunchOptions options{.block = {64}, .schedule = schedule, .races = true};
  options.max_instructions = 10'000'000;
  r.outcome = machine.launch("k", Arguments().add(encode(map)).add(out), options);
  machine.download(map.address, std::span(r.tensor));
  machine.download(out, std::span(r.out));
  return r;
}

std::uint32_t tensor_line(const std::string& body, const std::string& text) {
  const std::string all = tensor_kernel(body);
  return 1 + static_cast<std::uint32_t>(
                 std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.find(text)), '\n'));
}

constexpr Schedule kTensorSchedules[] = {Schedule::in_order, Schedule::random, Schedule::adversarial};

/// The tensor's element, or what fills it.
std::uint32_t word_of_tensor(int x, int y) {
  return x < 0 || x >= 20 || y < 0 || y >= 10 ? 0 : 1000 + 20 * y + x;
}

TEST(TensorLoad, TakesABoxAndFillsWhatLiesOutside) {
  for (const auto& [x, y] : {std::pair{0, 0}, {4, 1}, {-4, 5}, {16, -2}, {20, 0}})
    for (const Schedule schedule : kTensorSchedules) {
      const TensorResult r = run_tensors(box_loaded(fmt::format("{}, {}", x, y)), words(), schedule);
      EXPECT_TRUE(r.outcome.clean()) << r.findings();
      for (int t = 0; t < 64; ++t)
        ASSERT_EQ(r.out[t], word_of_tensor(x + t % 8, y + t / 8)) << x << " " << y << " " << t;
    }
}

TEST(TensorLoad, SwizzlesRows) {
  // Rows of 32 bytes, two chunks of 16: chunks change places where bit 7 of the address is set, in rows 4
  // to 7.
  TensorMap map = words();
  map.swizzle = 32;
  const TensorResult r = run_tensors(box_loaded("4, 1"), map);
  EXPECT_TRUE(r.outcome.clean()) << r.findings();
  for (int t = 0; t < 64; ++t) {
    const int row = t / 8, column = t % 8 ^ (row >= 4 ? 4 : 0);
    ASSERT_EQ(r.out[t], word_of_tensor(4 + column, 1 + row)) << t;
  }
}

TEST(TensorLoad, TakesEverySoManyRows) {
  TensorMap map = words();
  map.box = {8, 15};
  map.steps = {1, 2};  // 8 rows of 15
  const TensorResult r = run_tensors(box_loaded("0, -4"), map);
  EXPECT_TRUE(r.outcome.clean()) << r.findings();
  for (int t = 0; t < 64; ++t) ASSERT_EQ(r.out[t], word_of_tensor(t % 8, -4 + 2 * (t / 8))) << t;
}

TEST(TensorLoad, FillsWithNaN) {
  TensorMap map = words();
  map.type = "f32";
  map.fill_nan = true;
  EXPECT_EQ(run_tensors(box_loaded("-4, 0"), map).out[0], 0x7ff77ff7u);
}

TEST(TensorStore, WritesWhatLiesInside) {
  for (const Schedule schedule : kTensorSchedules) {
    const TensorResult r = run_tensors(box_stored("fence.proxy.async.shared::cta;\n"), words(), schedule);
    EXPECT_TRUE(r.outcome.clean()) << r.findings();
    for (int y = 0; y < 10; ++y)
      for (int x = 0; x < 20; ++x)
        ASSERT_EQ(r.tensor[20 * y + x], x >= 16 && y >= 5 ? 8u * (y - 5) + x - 16 : word_of_tensor(x, y));
  }
}

TEST(TensorReduction, ChangesElements) {
  std::string body = box_stored("fence.proxy.async;\n");
  body.replace(body.find("cp.async.bulk.tensor.2d.global.shared::cta"), 42,
               "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add");
  const TensorResult r = run_tensors(body);
  EXPECT_TRUE(r.outcome.clean()) << r.findings();
  for (int y = 0; y < 10; ++y)
    for (int x = 0; x < 20; ++x)
      ASSERT_EQ(r.tensor[20 * y + x],
                word_of_tensor(x, y) + (x >= 16 && y >= 5 ? 8u * (y - 5) + x - 16 : 0u));
}

TEST(TensorCopy, AMissingWaitOrFenceIsFound) {
  const std::string unwaited = box_loaded("0, 0", 2, false), unfenced = box_stored("");
  for (const Schedule schedule : kTensorSchedules) {
    const TensorResult early = run_tensors(unwaited, words(), schedule);
    EXPECT_THAT(early.outcome.findings, Contains(testing::Field(&Finding::kind, FindingKind::uninitialised)));
    const TensorResult r = run_tensors(unfenced, words(), schedule);
    ASSERT_EQ(r.outcome.findings.size(), 1u) << r.findings();
    EXPECT_EQ(r.outcome.findings[0].kind, FindingKind::proxy);
    EXPECT_EQ(r.outcome.findings[0].site.ptx_line, tensor_line(unfenced, "cp.async.bulk.tensor"));
    EXPECT_EQ(r.outcome.findings[0].other->ptx_line, tensor_line(unfenced, "st.shared.u32"));
  }
}

TEST(TensorLoad, GivesANarrowRowTheWholeSwizzle) {
  // Rows of 32 bytes lie 64 apart; bits 4 and 5 of an address change by bits 7 and 8, every two rows.
  TensorMap map = words();
  map.swizzle = 64;
  const TensorResult r = run_tensors(box_loaded("0, 0"), map);
  for (int t = 0; t < 64; ++t) {
    const int row = t / 16, chunk = t % 16 / 4 ^ row / 2;
    if (chunk >= 2) continue;
    ASSERT_EQ(r.out[t], word_of_tensor(4 * chunk + t % 4, row)) << t;
  }
}

TEST(TensorCopy, WhatMayNotBeIsNamed) {
  std::string before = box_stored("fence.proxy.async;\n");
  before.replace(before.find("{16, 5}"), 7, "{16, -1}");
  EXPECT_THAT(run_tensors(before).findings(),
              HasSubstr("its coordinate 1 is -1: a store may reach beyond the tensor"));
  EXPECT_THAT(run_tensors(box_loaded("5, 0")).findings(),
              HasSubstr("its first coordinate, 5 elements of 4 bytes, is no multiple of 16 bytes"));
  EXPECT_THAT(run_tensors(box_loaded("0, 0, 0", 3)).findings(),
              HasSubstr("the tensor map has 2 dimensions, the instruction 3"));
  EXPECT_THAT(run_tensors(box_loaded("0, 0", 2, true, 16)).findings(),
              HasSubstr("byte 16, no multiple of 128"));
  EXPECT_THAT(run_tensors(box_loaded("0, 0", 2, true, 896)).findings(), HasSubstr("out of bounds"));
  TensorMap large = words();
  large.box = {8, 16};  // 512 bytes where 256 are expected
  EXPECT_THAT(run_tensors(box_loaded("0, 0"), large).findings(), HasSubstr("and -256 bytes"));
  TensorMap beyond = words();
  beyond.extents = {20, 20};  // of a buffer of ten rows
  EXPECT_THAT(run_tensors(box_loaded("0, 8"), beyond).findings(), HasSubstr("out of bounds"));
  std::string body = box_loaded("0, 0");
  Machine machine(ptx::parse(tensor_kernel(body), "k.ptx"));
  const Outcome outcome = machine.launch(
      "k", Arguments().add(std::array<std::byte, 128>{}).add(machine.allocate(256, "out")), {.block = {64}});
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_THAT(outcome.findings[0].text(), HasSubstr("no tensor map is at its address"));
}

/// Images of 4 channels, 5 columns and 4 rows, two of them: 160 words. A copy takes 16 pixels, the bounding
/// box leaves out the last column and begins one row above the first.
TensorMap images() {
  TensorMap map;
  map.type = "u32";
  map.extents = {4, 5, 4, 2};
  map.columns = {.lower = {0, -1}, .upper = {-1, -1}, .channels = 4, .pixels = 16};
  return map;
}
std::uint32_t word_of_image(int c, int w, int h, int n) {
  return w < 0 || w > 4 || h < 0 || h > 3 || n > 1 ? 0 : 1000u + c + 4 * w + 20 * h + 80 * n;
}
/// Pixel number i from column 2 of row 1 of the first image on.
std::array<int, 3> pixel(int i) {
  std::array<int, 3> at{2, 1, 0};
  for (; i > 0; --i)
    if (++at[0] > 3) {
      at[0] = 0;
      if (++at[1] > 2) at[1] = -1, ++at[2];
    }
  return at;
}

TEST(TensorLoad, OfColumnsGoesThroughTheBoundingBox) {
  std::string body = box_loaded("0, 2, 1, 0", 4);
  body.insert(body.find(".mbarrier::complete_tx"), ".im2col");
  body.replace(body.find("[full], %rd5"), 12, "[full], {%h1, %h2}, %rd5");
  for (const int right : {0, 1}) {
    const std::string with_offsets =
        fmt::format(".reg .b16 %h<3>;\nmov.u16 %h1, {};\nmov.u16 %h2, 2;\n", right) + body;
    for (const Schedule schedule : kTensorSchedules) {
      const TensorResult r = run_tensors(with_offsets, images(), schedule);
      EXPECT_TRUE(r.outcome.clean()) << r.findings();
      for (int t = 0; t < 64; ++t) {
        const auto [w, h, n] = pixel(t / 4);
        ASSERT_EQ(r.out[t], word_of_image(t % 4, w + right, h + 2, n)) << t;
      }
    }
  }
  const std::string text = "0, 2, 1, 0";
  std::string outside = ".reg .b16 %h<3>;\nmov.u16 %h1, 0;\nmov.u16 %h2, 0;\n" + body;
  outside.replace(outside.find(text), text.size(), "0, 4, 1, 0");
  EXPECT_THAT(run_tensors(outside, images()).findings(),
              HasSubstr("its coordinate 1 is 4, outside of the bounding box, 0 to 3"));
  EXPECT_THAT(run_tensors(box_loaded("0, 0, 0, 0", 4), images()).findings(),
              HasSubstr("the tensor map is one for .im2col"));
}

TEST(TensorStore, OfColumnsWritesPixels) {
  std::string body = box_stored("fence.proxy.async.shared::cta;\n");
  body.replace(body.find("tensor.2d.global.shared::cta.bulk_group [%rd2, {16, 5}]"), 55,
               "tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%rd2, {0, 2, 1, 0}]");
  EXPECT_THAT(
      run_tensors(body, images()).findings(),
      HasSubstr("the bounding box goes from -1 to 2 in dimension 2: a store's must lie in the tensor"));
  TensorMap map = images();
  map.columns->lower = {0, 0};
  const TensorResult r = run_tensors(body, map);
  EXPECT_TRUE(r.outcome.clean()) << r.findings();
  std::vector<std::uint32_t> wanted(200);
  std::iota(wanted.begin(), wanted.end(), 1000u);
  for (int t = 0; t < 64; ++t) {
    // Columns 0 to 3 of rows 0 to 2 of each image, from column 2 of row 1 on.
    const int number = 4 + 2 + t / 4, w = number % 4, h = number / 4 % 3, n = number / 12;
    if (n < 2) wanted[t % 4 + 4 * w + 20 * h + 80 * n] = static_cast<std::uint32_t>(t);
  }
  EXPECT_EQ(r.tensor, wanted);
}

TEST(TensorMaps, RefuseWhatTheDriverRefuses) {
  const auto refused = [](auto change, const std::string& why) {
    TensorMap map = words();
    change(map);
    EXPECT_THAT([&] { encode(map); }, ThrowsMessage<BadInput>(HasSubstr(why)));
  };
  refused([](TensorMap& m) { m.type = "i8"; }, "type 'i8'");
  refused([](TensorMap& m) { m.extents = {}; }, "the number of dimensions is 0");
  refused([](TensorMap& m) { m.extents = {20, 10, 1}; }, "the number of extents of its box is 2");
  refused([](TensorMap& m) { m.extents[1] = 0; }, "an extent is 0");
  refused([](TensorMap& m) { m.extents[0] = 21; }, "a stride is 84");
  refused([](TensorMap& m) { m.box[1] = 257; }, "an extent of its box is 257");
  refused([](TensorMap& m) { m.box[0] = 6; }, "a row of its box in bytes is 24");
  refused([](TensorMap& m) { m.swizzle = 16; }, "its swizzle is 16");
  refused([](TensorMap& m) { m.swizzle = 32, m.box[0] = 16; }, "a row of its box in bytes is 64");
  refused([](TensorMap& m) { m.steps = {1, 9}; }, "a step is 9");
  refused([](TensorMap& m) { m.strides = {24}; }, "a stride is 24");
  refused([](TensorMap& m) { m.strides = {80, 80}; }, "the number of its strides is 2");
  refused([](TensorMap& m) { m.address = 8; }, "its address is 8");
  refused([](TensorMap& m) { m.fill_nan = true; }, "NaN as its fill");
  refused([](TensorMap& m) { m.columns.emplace(), m.box = {}; }, "the number of dimensions is 2; 3 to 5");
  const auto refused_columns = [](auto change, const std::string& why) {
    TensorMap map = images();
    change(map);
    EXPECT_THAT([&] { encode(map); }, ThrowsMessage<BadInput>(HasSubstr(why)));
  };
  refused_columns([](TensorMap& m) { m.box = {4, 4}; }, ".im2col has none");
  refused_columns([](TensorMap& m) { m.columns->lower = {0}; }, "the number of places of a corner is 1");
  refused_columns([](TensorMap& m) { m.columns->channels = 257; }, "the number of its channels is 257");
  refused_columns([](TensorMap& m) { m.columns->pixels = 1025; }, "the number of its pixels is 1025");
  refused_columns([](TensorMap& m) { m.columns->upper[0] = 128; }, "a place of a corner is 128; -128 to 127");
  refused_columns([](TensorMap& m) { m.columns->upper[0] = -5; },
                  "bounding box, from 0 to -5 beyond 5 pixels, is empty");
}

TEST(TensorMaps, AreReadFromText) {
  const ArgumentText text =
      parse_argument("tensor:f16:40x30:32x8,swizzle=64,steps=1x2,strides=96,nan:random(-1,1)");
  ASSERT_TRUE(text.tensor);
  EXPECT_EQ(text.tensor->extents, (std::vector<std::uint64_t>{40, 30}));
  EXPECT_EQ(text.tensor->box, (std::vector<std::uint32_t>{32, 8}));
  EXPECT_EQ(text.tensor->swizzle, 64u);
  EXPECT_TRUE(text.tensor->fill_nan);
  EXPECT_EQ(text.count, 29u * 48 + 40);  // 29 strides of 96 bytes and a row
  EXPECT_EQ(text.bytes().size(), 2 * text.count);
  for (const auto& [bad, why] :
       {std::pair{"tensor:f16:40x30", "expected tensor:"},
        {"tensor:f16:40y30:8x8:zero", "expected EXTENTS:BOX"},
        {"tensor:f16:40x30:8x8,swizzle=9x:zero", "expected EXTENTS:BOX"},
        {"tensor:f16:40x30:8x8,interleave=16:zero", "interleaved tensors are not simulated"},
        {"tensor:f16:41x30:8x8:zero", "a stride is 82"},
        {"tensor:q:40x30:8x8:zero", "'q' is no type"},
        {"tensor:f16:40x30:8x8:some", "'some' is no fill"}})
    try {
      parse_argument(bad);
      ADD_FAILURE() << bad;
    } catch (const BadInput& error) {
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
}

}  // namespace
}  // namespace warploom::sim
