#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "cli/run_tool.hpp"
#include "warploom/core/npy.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kHead = ".version 7.0\n.target sm_75\n.address_size 64\n";

// scale(float*, float, int): x[i] *= factor for i < n.
constexpr const char* kScale = R"(
.visible .entry _Z5scalePffi(.param .u64 x, .param .f32 factor, .param .u32 n)
{
  .reg .pred %p; .reg .b32 %r<5>; .reg .f32 %f<3>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [x];
  ld.param.f32 %f0, [factor];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  setp.ge.s32 %p, %r4, %r0;
  @%p ret;
  cvta.to.global.u64 %d1, %d0;
  mul.wide.s32 %d2, %r4, 4;
  add.s64 %d3, %d1, %d2;
  ld.global.f32 %f1, [%d3];
  mul.f32 %f2, %f1, %f0;
  st.global.f32 [%d3], %f2;
  ret;
}
)";

// out[i] = tile[(i + 1) % 32], for 32 threads, once `barrier` separates the store to the tile from the load.
std::string rotate(const std::string& barrier) {
  return R"(
.visible .entry rotate(.param .u64 out)
{
  .shared .align 4 .b8 tile[128];
  .reg .b32 %r<6>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, tile;
  shl.b32 %r2, %r0, 2;
  add.s32 %r3, %r1, %r2;
  st.shared.u32 [%r3], %r0;
)" + barrier +
         R"(
  add.s32 %r2, %r2, 4;
  and.b32 %r2, %r2, 127;
  add.s32 %r4, %r1, %r2;
  ld.shared.u32 %r5, [%r4];
  mul.wide.u32 %d1, %r0, 4;
  add.s64 %d2, %d0, %d1;
  st.global.u32 [%d2], %r5;
  ret;
}
)";
}

// Threads write their number where an atomic counter sends them: no race, and the order decides.
constexpr const char* kArrivals = R"(
.visible .entry arrivals(.param .u64 counter, .param .u64 out)
{
  .reg .b32 %r<3>; .reg .b64 %d<5>;
  ld.param.u64 %d0, [counter];
  ld.param.u64 %d1, [out];
  mov.u32 %r0, %tid.x;
  atom.global.add.u32 %r1, [%d0], 1;
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r0;
  ret;
}
)";

constexpr const char* kEndless = R"(
.visible .entry endless()
{
again:
  bra again;
}
)";

// Prints "value 7\n" once a thread.
constexpr const char* kPrinting = R"(
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
.global .align 1 .b8 words[10] = {118, 97, 108, 117, 101, 32, 37, 100, 10, 0};
.visible .entry printing()
{
  .local .align 8 .b8 depot[8];
  .reg .b32 %r<3>; .reg .b64 %d<4>;
  mov.u64 %d0, depot;
  cvta.local.u64 %d1, %d0;
  mov.u32 %r0, 7;
  st.local.u32 [%d0], %r0;
  mov.u64 %d2, words;
  cvta.global.u64 %d3, %d2;
  {
    .param .b64 format; .param .b64 values; .param .b32 result;
    st.param.b64 [format], %d3;
    st.param.b64 [values], %d1;
    call.uni (result), vprintf, (format, values);
    ld.param.b32 %r1, [result];
  }
  ret;
}
)";

// A directory with k.ptx, in which the tool runs.
class SimVerb : public testing::Test {
 protected:
  SimVerb() {
    std::string pattern = (std::filesystem::temp_directory_path() / "warploom_cli_sim_XXXXXX").string();
    directory = mkdtemp(pattern.data());
    ptx(kScale);
  }
  ~SimVerb() override { std::filesystem::remove_all(directory); }

  void ptx(const std::string& kernels) const { write_file_atomically(directory / "k.ptx", kHead + kernels); }
  /// `warploom sim` with these arguments, as a shell would read them.
  ToolRun sim(const std::string& arguments) const {
    return run_shell("cd '" + directory.string() + "' && \"$WARPLOOM\" sim " + arguments);
  }
  template <typename T>
  std::vector<T> values_of(const std::string& file) const {
    const NpyArray array = read_npy(directory / file);
    std::vector<T> out(array.data.size() / sizeof(T));
    std::memcpy(out.data(), array.data.data(), array.data.size());
    return out;
  }
  std::filesystem::path directory;
};

nlohmann::json json_from(const ToolRun& run) { return nlohmann::json::parse(run.out); }

const std::string kScaleLaunch =
    "k.ptx --grid 3 --block 32 --arg buf:f32:70:index --arg f32:0.5 --arg i32:70 ";

TEST_F(SimVerb, ACleanRunDumpsWhatTheKernelWrote) {
  const ToolRun run = sim(kScaleLaunch + "--race --dump out.npy");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, EndsWith("\nclean\n"));
  std::vector<float> halves;
  for (int i = 0; i < 70; ++i) halves.push_back(static_cast<float>(i) / 2);
  EXPECT_EQ(values_of<float>("out.npy"), halves);
}

TEST_F(SimVerb, FactsNameKernelLaunchAndWork) {
  const ToolRun run = sim(kScaleLaunch);
  EXPECT_THAT(run.out, AllOf(HasSubstr("scale(float*, float, int)\n"), HasSubstr("3 x 1 x 1 blocks\n"),
                             HasSubstr("32 x 1 x 1 threads\n"), HasSubstr("not looked for")));
  // 9 instructions of each of 96 threads, and 7 more of the 70 that the guard lets pass.
  const nlohmann::json json = json_from(sim(kScaleLaunch + "--json"));
  EXPECT_EQ(json["clean"], true);
  ASSERT_THAT(json["runs"], SizeIs(1));
  EXPECT_EQ(json["runs"][0]["thread_instructions"], 9 * 96 + 7 * 70);
  EXPECT_EQ(json["runs"][0]["kernel"], "_Z5scalePffi");
  EXPECT_EQ(json["runs"][0]["grid"], nlohmann::json({3, 1, 1}));
  EXPECT_EQ(json["runs"][0]["block"], nlohmann::json({32, 1, 1}));
  EXPECT_GT(json["runs"][0]["seconds"], 0.0);
}

TEST_F(SimVerb, AKernelIsNamedAsInThePtxAsInTheSourceOrByAPart) {
  ptx(std::string(kScale) + kEndless);
  for (const char* name : {"_Z5scalePffi", "scale", "'scale(float*, float, int)'", "'(float*, f'"}) {
    const ToolRun run = sim(kScaleLaunch + "--kernel " + name);
    EXPECT_EQ(run.code, 0) << name << ": " << run.err;
  }
}

TEST_F(SimVerb, AnUnknownKernelIsAnsweredWithTheNearestAndAll) {
  ptx(std::string(kScale) + kEndless);
  const ToolRun run = sim(kScaleLaunch + "--kernel scaled");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("no kernel 'scaled'"), HasSubstr("did you mean scale?"),
                             HasSubstr("_Z5scalePffi, endless")));
  EXPECT_THAT(sim("k.ptx --grid 1 --block 1").err,
              HasSubstr("--kernel is missing; there is _Z5scalePffi, endless"));
}

TEST_F(SimVerb, ARaceIsAFindingWithBothAccesses) {
  ptx(rotate("") + kScale);
  const std::string launch = "k.ptx --kernel rotate --grid 1 --block 32 --arg buf:u32:32:zero ";
  const ToolRun run = sim(launch + "--race");
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("race in kernel rotate"), HasSubstr("k.ptx:14"), HasSubstr("k.ptx:19"),
                             HasSubstr("shared array tile, byte "), HasSubstr("; 32 times"),
                             EndsWith("\n1 finding\n")));
  const nlohmann::json json = json_from(sim(launch + "--race --json"));
  EXPECT_EQ(json["clean"], false);
  ASSERT_THAT(json["runs"][0]["findings"], SizeIs(1));
  const nlohmann::json finding = json["runs"][0]["findings"][0];
  EXPECT_EQ(finding["kind"], "race");
  EXPECT_EQ(finding["count"], 32);
  EXPECT_THAT((std::vector<int>{finding["at"]["ptx_line"], finding["other"]["ptx_line"]}),
              testing::UnorderedElementsAre(14, 19));
}

TEST_F(SimVerb, ABarrierMakesItClean) {
  ptx(rotate("bar.sync 0;"));
  const ToolRun run =
      sim("k.ptx --grid 1 --block 32 --arg buf:u32:32:zero --race --schedule all --dump out.npy");
  EXPECT_EQ(run.code, 0) << run.out;
  std::vector<std::uint32_t> rotated;
  for (std::uint32_t i = 0; i < 32; ++i) rotated.push_back((i + 1) % 32);
  EXPECT_EQ(values_of<std::uint32_t>("out.npy"), rotated);
}

TEST_F(SimVerb, StrictReportsALoadOfWhatNobodyWrote) {
  // Loaded by an address of the thread's own, and dropped.
  ptx(".visible .entry k(.param .u64 out)\n{\n.shared .align 4 .b8 tile[128];\n.reg .b32 %r<4>;\nmov.u32 %r0, tile;\n"
      "mov.u32 %r1, %tid.x;\nshl.b32 %r1, %r1, 2;\nadd.u32 %r2, %r0, %r1;\nld.shared.u32 %r3, [%r2];\nret;\n}\n");
  const std::string launch = "k.ptx --grid 1 --block 32 --arg buf:u32:32:zero";
  EXPECT_EQ(sim(launch).code, 0) << sim(launch).out;
  EXPECT_EQ(sim(launch + " --strict").code, 1);
  EXPECT_THAT(sim(launch + " --strict").out, HasSubstr("k.ptx:12: read of uninitialised memory"));
}

TEST_F(SimVerb, SaysWhereATargetHasLessSharedMemory) {
  ptx(rotate("bar.sync 0;"));
  const std::string launch = "k.ptx --grid 1 --block 32 --arg buf:u32:32:zero ";
  EXPECT_THAT(sim(launch).out, Not(HasSubstr("remark")));
  const ToolRun run = sim(launch + "--dynamic-shared 70000");
  EXPECT_EQ(run.code, 0) << run.out;
  EXPECT_THAT(
      run.out,
      HasSubstr(
          "remark                sm_75 launches no block with 70128 bytes of shared memory; it has 65536\n"));
  EXPECT_THAT(
      json_from(sim(launch + "--dynamic-shared 70000 --json"))["runs"][0]["remark"].get<std::string>(),
      HasSubstr("70128 bytes"));
}

TEST_F(SimVerb, AllSchedulesRunInTurnAndWhatTheyLeaveIsCompared) {
  ptx(kArrivals);
  const ToolRun run =
      sim("k.ptx --grid 1 --block 128 --arg buf:u32:1:zero --arg buf:u32:128:zero --race --schedule all");
  EXPECT_EQ(run.code, 1) << run.out;
  EXPECT_THAT(
      run.out,
      AllOf(HasSubstr("in-order\n"), HasSubstr("random, seed 1\n"), HasSubstr("adversarial, seed 1\n"),
            HasSubstr(
                "schedules in-order and random leave different values in argument 1 of kernel arrivals: "),
            Not(HasSubstr("argument 0 of"))));
}

TEST_F(SimVerb, WhatTheKernelPrintsComesFirst) {
  ptx(kPrinting);
  const ToolRun run = sim("k.ptx --grid 2 --block 2");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("value 7\nvalue 7\nvalue 7\nvalue 7\nkernel "));
  EXPECT_EQ(json_from(sim("k.ptx --grid 1 --block 1 --json"))["runs"][0]["printed"], "value 7\n");
}

TEST_F(SimVerb, AnEndlessKernelEndsAtMaxInstructions) {
  ptx(kEndless);
  const ToolRun run = sim("k.ptx --grid 1 --block 32 --max-instructions 100000");
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("endless"), EndsWith("\n1 finding\n")));
  EXPECT_EQ(
      json_from(sim("k.ptx --grid 1 --block 32 --max-instructions 100000 --json"))["runs"][0]["completed"],
      false);
}

TEST_F(SimVerb, AnAccessOutOfBoundsNamesTheArgument) {
  const ToolRun run = sim("k.ptx --grid 1 --block 64 --arg buf:f32:63:zero --arg f32:1 --arg i32:64");
  EXPECT_EQ(run.code, 1) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("out of bounds"), HasSubstr("argument 0"), HasSubstr("thread (63,0,0)")));
}

TEST_F(SimVerb, ReadsABufferFromAFile) {
  const float values[] = {1, 2, 3, 4};
  const auto bytes = std::as_bytes(std::span(values));
  write_npy(directory / "in.npy", {"f4", {2, 2}, {bytes.begin(), bytes.end()}});
  const ToolRun run =
      sim("k.ptx --grid 1 --block 32 --arg buf:f32::in.npy --arg f32:10 --arg i32:4 --dump 0:out.npy");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(values_of<float>("out.npy"), ElementsAre(10, 20, 30, 40));
}

TEST_F(SimVerb, DumpsSeveralBuffersByTheirNumber) {
  ptx(kArrivals);
  const std::string launch = "k.ptx --grid 1 --block 2 --arg buf:u32:1:zero --arg buf:u32:2:ones ";
  EXPECT_EQ(sim(launch + "--dump 1:order.npy --dump 0:count.npy").code, 0);
  EXPECT_THAT(values_of<std::uint32_t>("count.npy"), ElementsAre(2u));
  EXPECT_THAT(values_of<std::uint32_t>("order.npy"), ElementsAre(0u, 1u));
  const ToolRun run = sim(launch + "--dump out.npy");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("--dump N:out.npy"), HasSubstr("0 (u32, 1 elements), 1 (u32, 2 elements)")));
}

TEST_F(SimVerb, RunsTheLaunchesOfAFile) {
  ptx(std::string(kScale) + kArrivals);
  write_file_atomically(
      directory / "k.sim",
      "# two kernels\n"
      "--kernel scale --grid 1 --block 32 --arg buf:f32:4:ones --arg f32:2 --arg i32:4\n"
      "--kernel arrivals --grid 1 --block 32 \\\n  --arg buf:u32:1:zero --arg buf:u32:32:zero\n");
  const nlohmann::json json = json_from(sim("k.ptx --launches k.sim --race --schedule all --json"));
  ASSERT_THAT(json["runs"], SizeIs(6));
  EXPECT_EQ(json["runs"][0]["kernel"], "_Z5scalePffi");
  EXPECT_EQ(json["runs"][1]["kernel"], "arrivals");
  EXPECT_EQ(json["runs"][5]["schedule"], "adversarial");
}

TEST_F(SimVerb, MistakesInALaunchFileAreNamedByLine) {
  write_file_atomically(directory / "k.sim", "# one\n--kernel scale --grid 0 --block 32\n");
  const ToolRun run = sim("k.ptx --launches k.sim");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("k.sim:2:16: --grid: '0'"));
}

TEST_F(SimVerb, DoesNotDependOnTheNumberOfThreads) {
  ptx(rotate(""));
  const std::string launch =
      "k.ptx --grid 8 --block 32 --arg buf:u32:32:zero --race --schedule random --json ";
  nlohmann::json one = json_from(sim(launch + "--threads 1")), two = json_from(sim(launch + "--threads 2"));
  for (nlohmann::json* json : {&one, &two})
    for (const char* of_time : {"seconds", "cpu_threads", "thread_instructions_per_second_per_core"})
      (*json)["runs"][0].erase(of_time);
  EXPECT_EQ(one, two);
}

TEST_F(SimVerb, BadOptionsAreRefusedInOneLineWithTheValue) {
  const std::pair<std::string, const char*> cases[] = {
      {"nowhere.ptx --grid 1 --block 1", "cannot read nowhere.ptx"},
      {"/dev/null --grid 1 --block 1", "/dev/null:1:1"},
      {"k.ptx --block 1", "--grid is missing"},
      {"k.ptx --grid 1", "--block is missing"},
      {"k.ptx --grid 0 --block 1", "--grid: '0'"},
      {"k.ptx --grid -1 --block 1", "'-1'"},
      {"k.ptx --grid 1 --block 2000", "--block: '2000'"},
      {"k.ptx --grid 1 --block 32 --schedule fair", "'fair'"},
      {"k.ptx --grid 1 --block 32 --seed -1", "'-1'"},
      {"k.ptx --grid 1 --block 32 --threads 0", "--threads: '0'"},
      {"k.ptx --grid 1 --block 32 --max-instructions 0", "--max-instructions: '0'"},
      {"k.ptx --grid 1 --block 32 --dynamic-shared -4", "'-4'"},
      {"k.ptx --grid 1 --block 32 --arg f31:1", "'f31'"},
      {kScaleLaunch + "--dynamic-shared 4000000000", "4000000000"},
      {kScaleLaunch + "--arg i32:1",
       "has 3 parameters, 4 arguments were given: u64 x (8 bytes), f32 factor (4 bytes), u32 n (4 bytes)"},
      {"k.ptx --grid 1 --block 32 --arg buf:f32:4:zero --arg f64:1 --arg i32:4",
       "argument 1 (factor) has 8 bytes, the parameter 4: u64 x (8 bytes)"},
      {"k.ptx --grid 1 --block 32 --arg buf:f32:1000000000000000:zero --arg f32:1 --arg i32:4",
       "a third of this machine's memory"},
      {"k.ptx --grid 1 --block 32 --arg buf:f32::no.npy --arg f32:1 --arg i32:4", "no.npy"},
      {kScaleLaunch + "--dump 1:out.npy", "argument 1 is no buffer"},
      {kScaleLaunch + "--dump 7:out.npy", "argument 7 is no buffer"},
      {kScaleLaunch + "--dump k.ptx/out.npy", "k.ptx is no folder"},
      {kScaleLaunch + "--dump -", "'-'"},
      {kScaleLaunch + "--launches k.sim", "do not go together"},
      {"k.ptx --launches k.sim --dump out.npy", "--dump and --launches"},
      {"k.ptx --launches /dev/null", "no launch"},
      {"k.ptx --launches no.sim", "cannot read no.sim"},
  };
  for (const auto& [arguments, named] : cases) {
    const ToolRun run = sim(arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_THAT(run.err, HasSubstr(named)) << arguments;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
}

TEST_F(SimVerb, ADumpThatCannotBeWrittenFailsAfterTheReport) {
  const ToolRun run = sim(kScaleLaunch + "--dump /dev/full");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, EndsWith("clean\n"));
  EXPECT_THAT(run.err, HasSubstr("/dev/full"));
}

TEST_F(SimVerb, ATruncatedFileOfValuesIsRefused) {
  const std::vector<std::byte> bytes(16);
  write_npy(directory / "in.npy", {"f4", {4}, bytes});
  write_file_atomically(directory / "in.npy", read_file(directory / "in.npy").substr(0, 140));
  const ToolRun run = sim("k.ptx --grid 1 --block 32 --arg buf:f32::in.npy --arg f32:1 --arg i32:4");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("in.npy"), HasSubstr("needs 16 bytes"), HasSubstr("there are 12")));
}

}  // namespace
}  // namespace warploom
