// Textures and surfaces: filters, edges and what is outside, by hand from the CUDA programming guide; what is
// not one is found. A GPU's results are compared in tests/sim/kernels/texture.cu.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "warploom/sim/arguments.hpp"

namespace warploom::sim {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// 32 threads; %rd1 is a handle, %rd3 the thread's word of out, %f1 and %f2 its coordinates, %r1 the thread.
Outcome run_texture(const std::string& body, const std::string& argument, const std::vector<float>& x,
                    std::vector<float>& out, const std::vector<float>& y = std::vector<float>(32)) {
  Machine machine(ptx::parse(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 t, .param .u64 x, .param .u64 y, "
      ".param .u64 out)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<20>;\n.reg .f32 %f<20>;\n.reg .b64 %rd<20>;\n"
      "ld.param.u64 %rd1, [t];\nld.param.u64 %rd2, [x];\nld.param.u64 %rd5, [y];\nld.param.u64 %rd3, [out];\n"
      "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd4, %r1, 4;\nadd.u64 %rd2, %rd2, %rd4;\nadd.u64 %rd5, %rd5, %rd4;\n"
      "add.u64 %rd3, %rd3, %rd4;\nld.global.f32 %f1, [%rd2];\nld.global.f32 %f2, [%rd5];\n" +
          body + "ret;\n}\n",
      "k.ptx"));
  LaunchText launch;
  launch.arguments.push_back(parse_argument(argument));
  Prepared prepared = prepare(machine, launch);
  std::vector<float> xs = x, ys = y;
  xs.resize(32), ys.resize(32), out.assign(64, -1);
  const Address results = machine.upload(std::span(out));
  prepared.arguments.add(machine.upload(std::span(xs))).add(machine.upload(std::span(ys))).add(results);
  const Outcome outcome = machine.launch("k", prepared.arguments, {.block = {32}, .races = true});
  machine.download(results, std::span(out));
  return outcome;
}

std::string texts(const Outcome& outcome) {
  std::string all;
  for (const Finding& f : outcome.findings) all += f.text() + "\n";
  return all;
}

/// What an index texture of that many texels gives at these coordinates.
std::vector<float> fetched(
    const std::string& argument, const std::vector<float>& x,
    const std::string& instruction = "tex.1d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1}];\n") {
  std::vector<float> out;
  const Outcome outcome = run_texture(instruction + "st.global.f32 [%rd3], %f3;\n", argument, x, out);
  EXPECT_TRUE(outcome.clean()) << texts(outcome);
  out.resize(x.size());
  return out;
}

using testing::ElementsAre;

TEST(Texture, TheNearestTexelIsTheOneThatACoordinateLiesIn) {
  EXPECT_THAT(fetched("texture:f32:8:1:index", {0, .99f, 1, 3.5f, 7.99f}), ElementsAre(0, 0, 1, 3, 7));
  EXPECT_THAT(fetched("texture:f32:8:1,normalised:index", {0, .124f, .125f, .99f}), ElementsAre(0, 0, 1, 7));
}

TEST(Texture, EdgesAreClampedWrappedMirroredOrZero) {
  const std::vector<float> unnormalised = {-3, -.01f, 8, 100};
  EXPECT_THAT(fetched("texture:f32:8:1,clamp:index", unnormalised), ElementsAre(0, 0, 7, 7));
  EXPECT_THAT(fetched("texture:f32:8:1,border:ones", unnormalised), ElementsAre(0, 0, 0, 0));
  const std::vector<float> normalised = {-.25f, -.0625f, 1.0625f, 2.25f, 3.0625f};
  EXPECT_THAT(fetched("texture:f32:8:1,normalised,wrap:index", normalised), ElementsAre(6, 7, 0, 2, 0));
  EXPECT_THAT(fetched("texture:f32:8:1,normalised,mirror:index", normalised), ElementsAre(2, 0, 7, 2, 7));
}

TEST(Texture, AFilterTakesItsWeightsFromEightBits) {
  EXPECT_THAT(fetched("texture:f32:8:1,linear:index", {.5f, 1, 2.25f, 0, 7.75f}),
              ElementsAre(0, .5f, 1.75f, 0, 7));
  // 1/1000 of a texel is 0/256 or 1/256.
  EXPECT_THAT(fetched("texture:f32:8:1,linear:index", {2.501f, 2.503f}), ElementsAre(2, 2 + 1.f / 256));
  EXPECT_THAT(fetched("texture:f32:8:1,linear,normalised,wrap:index", {0, 1}), ElementsAre(3.5f, 3.5f));
  // 4 x 2 texels, in the middle of the four about (1, 1).
  EXPECT_THAT(fetched("texture:f32:4x2:1,linear:index", {1},
                      "mov.f32 %f7, 0f3F800000;\ntex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, "
                      "[%rd1, {%f1, %f7}];\n"),
              ElementsAre(2.5f));
}

TEST(Texture, ADirectionMeetsAFaceOfACube) {
  // 4 x 4 texels a face, numbered through; the third coordinate is 1 or -1.
  const auto met = [](const std::string& first, const std::string& second, const std::string& third,
                      const std::vector<float>& x) {
    return fetched("texture:f32:4x4:1,cube:index", x,
                   "mov.f32 %f7, 0f3F800000;\nmov.f32 %f8, 0fBF800000;\nmov.f32 %f9, 0f3E800000;\n"
                   "tex.cube.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {" +
                       first + ", " + second + ", " + third + ", %f7}];\n");
  };
  // Face, then the row of -y or z, then the column, from -z, z, x, x, x and -x.
  EXPECT_THAT(met("%f7", "%f9", "%f1", {.9f, -.9f, .25f}), ElementsAre(4, 7, 5));
  EXPECT_THAT(met("%f8", "%f9", "%f1", {.9f, -.9f}), ElementsAre(16 + 7, 16 + 4));
  EXPECT_THAT(met("%f9", "%f7", "%f1", {.9f, -.9f}), ElementsAre(32 + 12 + 2, 32 + 2));
  EXPECT_THAT(met("%f9", "%f8", "%f1", {.9f, -.9f}), ElementsAre(48 + 2, 48 + 12 + 2));
  EXPECT_THAT(met("%f1", "%f9", "%f7", {.9f, -.9f}), ElementsAre(64 + 7, 64 + 4));
  EXPECT_THAT(met("%f1", "%f9", "%f8", {.9f, -.9f}), ElementsAre(80 + 4, 80 + 7));
  // The longest decides, however long; the second of two cubes is the second six layers.
  EXPECT_THAT(fetched("texture:f32:2x2:1,cube,layers=12:index", {-5, 3},
                      "mov.u32 %r5, 1;\nmov.f32 %f9, 0f3F800000;\ntex.acube.v4.f32.f32 {%f3, %f4, %f5, %f6}, "
                      "[%rd1, {%r5, %f1, %f9, %f9}];\n"),
              ElementsAre(24 + 4 + 1, 24));
}

TEST(Texture, ALevelOfAMipmapIsTheOneAsked) {
  // 8, 4, 2 and 1 texels, numbered through; at a quarter of each.
  const auto at_level = [](const std::string& options, const std::vector<float>& level) {
    return fetched(
        "texture:f32:8:1,normalised,levels=4" + options + ":index", level,
        "mov.f32 %f7, 0f3E800000;\ntex.level.1d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f7}], %f1;\n");
  };
  EXPECT_THAT(at_level("", {-1, 0, .49f, .5f, 1.4f, 2, 3, 9}), ElementsAre(2, 2, 2, 9, 9, 12, 14, 14));
  EXPECT_THAT(at_level(",between", {0, .5f, 1.25f, 3, 9}), ElementsAre(2, 5.5f, 9.75f, 14, 14));
  EXPECT_THAT(at_level(",between,linear", {0, .5f, 2}), ElementsAre(1.5f, (1.5f + 8.5f) / 2, 12));
  // Steps of half a texel, one, two and five of them.
  EXPECT_THAT(fetched("texture:f32:8:1,normalised,levels=4:index", {.0625f, .125f, .25f, .625f},
                      "mov.f32 %f7, 0f3E800000;\nmov.f32 %f8, 0f00000000;\n"
                      "tex.grad.1d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f7}], {%f8}, {%f1};\n"),
              ElementsAre(2, 2, 9, 12));
  std::vector<float> out;
  run_texture(
      "txq.num_mipmap_levels.b32 %r3, [%rd1];\ncvt.rn.f32.u32 %f3, %r3;\nst.global.f32 [%rd3], %f3;\n",
      "texture:f32:8:1,normalised,levels=4:index", {}, out);
  EXPECT_EQ(out[0], 4);
}

TEST(Texture, TwoHalvesOfARegisterAreChannels) {
  const std::vector<float> two = fetched(
      "texture:f32:8:2:index", {1, 3},
      "tex.1d.v2.f16x2.f32 {%r3, %r4}, [%rd1, {%f1}];\nand.b32 %r5, %r4, 0xffff;\nsetp.ne.u32 %p1, %r5, 0;\n"
      "@%p1 trap;\nshr.u32 %r5, %r4, 16;\nsetp.ne.u32 %p1, %r5, 0x3c00;\n@%p1 trap;\nmov.b32 %f3, %r3;\n");
  EXPECT_EQ(std::bit_cast<std::uint32_t>(two[0]), 0x42004000u);  // 2 and 3
  EXPECT_EQ(std::bit_cast<std::uint32_t>(two[1]), 0x47004600u);  // 6 and 7
}

TEST(Texture, IntegersAreReadAsTheyAreOrAsFloats) {
  EXPECT_THAT(fetched("texture:u8:256:1,floats:index", {255, 51.5f}), ElementsAre(1, .2f));
  std::vector<float> out;
  const Outcome outcome = run_texture(
      "tex.1d.v4.s32.f32 {%r3, %r4, %r5, %r6}, [%rd1, {%f1}];\ncvt.rn.f32.s32 %f3, %r3;\nst.global.f32 [%rd3], %f3;\n",
      "texture:i8:256:1:index", {127, 128, 255}, out);
  EXPECT_TRUE(outcome.clean()) << texts(outcome);
  EXPECT_EQ(out[0], 127);
  EXPECT_EQ(out[1], -128);
  EXPECT_EQ(out[2], -1);
}

TEST(Texture, GathersFourTexelsAgainstTheClock) {
  const std::string each =
      "tld4.r.2d.v4.f32.f32 {{%f3, %f4, %f5, %f6}}, [%rd1, {{%f1, %f1}}];\nmov.f32 %f3, %f{};\n";
  for (const auto& [reg, value] : {std::pair{3, 4.f}, {4, 5.f}, {5, 1.f}, {6, 0.f}})
    EXPECT_THAT(fetched("texture:f32:4x2:1:index", {1}, fmt::format(fmt::runtime(each), reg)),
                ElementsAre(value));
}

TEST(Texture, SurfacesAreReadAndWrittenInBytes) {
  std::vector<float> out;
  const std::string load =
      "shl.b32 %r2, %r1, 2;\nsub.u32 %r2, %r2, 8;\nsuld.b.1d.b32.{} {{%r3}}, [%rd1, {{%r2}}];\n"
      "mov.b32 %f3, %r3;\nst.global.f32 [%rd3], %f3;\n";
  Outcome outcome = run_texture(fmt::format(fmt::runtime(load), "zero"), "surface:f32:16:1:index", {}, out);
  EXPECT_TRUE(outcome.clean()) << texts(outcome);
  EXPECT_EQ(out[1], 0);
  EXPECT_EQ(out[5], 3);
  EXPECT_EQ(out[17], 15);
  EXPECT_EQ(out[18], 0);
  outcome = run_texture(fmt::format(fmt::runtime(load), "clamp"), "surface:f32:16:1:index", {}, out);
  EXPECT_TRUE(outcome.clean()) << texts(outcome);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[31], 15);
  EXPECT_THAT(texts(run_texture(fmt::format(fmt::runtime(load), "trap"), "surface:f32:16:1:index", {}, out)),
              HasSubstr("out of bounds"));
  const std::string store =
      "and.b32 %r2, %r1, 7;\nshl.b32 %r2, %r2, 2;\nsust.b.1d.b32.trap [%rd1, {%r2}], {%r1};\n";
  EXPECT_THAT(texts(run_texture(store, "surface:u32:16:1:index", {}, out)), HasSubstr("race"));
  outcome = run_texture(
      "sured.b.add.1d.u32.trap [%rd1, {0}], %r1;\nbar.sync 0;\nsuld.b.1d.b32.trap {%r3}, [%rd1, {0}];\n"
      "cvt.rn.f32.u32 %f3, %r3;\nst.global.f32 [%rd3], %f3;\n",
      "surface:u32:16:1:zero", {}, out);
  EXPECT_TRUE(outcome.clean()) << texts(outcome);
  EXPECT_EQ(out[3], 31 * 32 / 2);
}

TEST(Texture, WhatIsNoneIsFound) {
  std::vector<float> out;
  const std::string fetch = "tex.1d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1}];\n";
  EXPECT_THAT(texts(run_texture(fetch, "u64:4660", {}, out)),
              HasSubstr("its handle, 0x1234, is none of a texture"));
  EXPECT_THAT(texts(run_texture(fetch, "surface:f32:8:1:index", {}, out)), HasSubstr("is none of a texture"));
  EXPECT_THAT(texts(run_texture(fetch, "texture:f32:8x4:1:index", {}, out)), HasSubstr("2 dimensions"));
}

TEST(Texture, ArgumentsThatMeanNothingAreRefused) {
  for (const auto& [text, why] : {std::pair{"texture:f32:8:3:zero", "the number of its channels is 3"},
                                  {"texture:f64:8:1:zero", "type 'f64' is none of"},
                                  {"texture:u32:8:1,linear:zero", "linear filtering"},
                                  {"texture:f32:8:1,wrap:zero", "wrap and mirror need them"},
                                  {"texture:f32:8x8x8:1,layers=2:zero", "one with a depth has none"},
                                  {"surface:f32:8:1,linear:zero", "expected texture:"},
                                  {"texture:f32:8:zero", "expected texture:"},
                                  {"texture:u32:8:1,floats:zero", "integers of 1 and 2 bytes can be"}})
    EXPECT_THAT([text = text] { parse_argument(text); }, ThrowsMessage<BadInput>(HasSubstr(why))) << text;
}

}  // namespace
}  // namespace warploom::sim
