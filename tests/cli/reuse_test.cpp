#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_nvcc.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Two arrays of 4096 bytes; the barriers that are there separate them.
const std::string kTwoArrays = R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry _Z6mirrorPi(.param .u64 out)
.reqntid 1024, 1, 1
{
	.reg .b32 %r<9>;
	.reg .b64 %rd<5>;
	.shared .align 4 .b8 first[4096];
	.shared .align 4 .b8 second[4096];
	ld.param.u64 %rd1, [out];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd2, %rd3;
	ld.global.u32 %r2, [%rd4];
	shl.b32 %r3, %r1, 2;
	mov.u32 %r4, first;
	add.s32 %r5, %r4, %r3;
	st.shared.u32 [%r5], %r2;
	bar.sync 0;
	ld.shared.u32 %r6, [%r5];
	bar.sync 0;
	mov.u32 %r7, second;
	add.s32 %r8, %r7, %r3;
	st.shared.u32 [%r8], %r6;
	bar.sync 0;
	ld.shared.u32 %r6, [%r8];
	st.global.u32 [%rd4], %r6;
	ret;
}
)";

class ReuseVerb : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "warploom reuse XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    write("k.ptx", kTwoArrays);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) const {
    write_file_atomically(directory_ / name, text);
  }
  std::string read(const std::string& name) const { return read_file(directory_ / name); }
  /// `warploom reuse` with these arguments in the test's directory, without ptxas.
  ToolRun reuse(const std::string& arguments, const std::string& environment = "") const {
    return run_shell("cd '" + directory_.string() + "' && unset WARPLOOM_DISABLE && " + environment +
                     " \"$WARPLOOM\" reuse --no-ptxas " + arguments);
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(directory_ / name); }

  std::filesystem::path directory_;
};

TEST_F(ReuseVerb, WritesTheRewrittenKernelAndReportsItsBytes) {
  const ToolRun run = reuse("k.ptx --when always -o out.ptx");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("mirror"), HasSubstr("first"), HasSubstr("second")));
  EXPECT_THAT(read("out.ptx"), AllOf(HasSubstr("warploom_pool"), Not(HasSubstr("second["))));
  EXPECT_EQ(read("k.ptx"), kTwoArrays);
}

TEST_F(ReuseVerb, WithoutOutputOnlyReports) {
  EXPECT_EQ(reuse("k.ptx --when always").code, 0);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

TEST_F(ReuseVerb, AKernelLeftOnPurposeIsDoneAndUnchanged) {
  for (const std::string option : {"--when fits", "--except mirror", "--when occupancy"}) {
    const ToolRun run = reuse("k.ptx " + option + " --force -o out.ptx");
    EXPECT_EQ(run.code, 0) << option << run.err;
    EXPECT_EQ(read("out.ptx"), kTwoArrays) << option;
  }
}

TEST_F(ReuseVerb, PtxOnStandardOutputIsAloneThere) {
  const ToolRun run = reuse("- --when always -o - <k.ptx");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(StartsWith(".version"), HasSubstr("warploom_pool"),
                             Not(HasSubstr("Shared memory a block"))));
  EXPECT_THAT(run.err, HasSubstr("Shared memory a block"));
}

TEST_F(ReuseVerb, JsonIsTheReport) {
  const nlohmann::json json = nlohmann::json::parse(reuse("k.ptx --when always --json --dump-after all").out);
  EXPECT_EQ(json["kernels"].at(0)["symbol"], "_Z6mirrorPi");
  EXPECT_EQ(reuse("k.ptx --json -o -").code, 2);
}

TEST_F(ReuseVerb, TheOffSwitchPassesEverythingThrough) {
  const ToolRun run = reuse("k.ptx --when always -v -o out.ptx", "WARPLOOM_DISABLE=1");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("WARPLOOM_DISABLE"));
  EXPECT_EQ(read("out.ptx"), kTwoArrays);
  EXPECT_EQ(reuse("k.ptx --when always --force -o out.ptx", "WARPLOOM_DISABLE=0").code, 0);
  EXPECT_NE(read("out.ptx"), kTwoArrays);
}

TEST_F(ReuseVerb, KernelsAreChosenBySymbolOrPartOfTheirDeclaration) {
  for (const std::string name : {"_Z6mirrorPi", "mirror", "'mirror(int*)'"}) {
    EXPECT_EQ(reuse("k.ptx --when always --kernel " + name + " --force -o out.ptx").code, 0) << name;
    EXPECT_THAT(read("out.ptx"), HasSubstr("warploom_pool")) << name;
  }
}

TEST_F(ReuseVerb, ARepeatableOptionLeavesTheFileThatFollowsIt) {
  EXPECT_EQ(reuse("--kernel _Z6mirrorPi --disable ptxas k.ptx").code, 0);
}

TEST_F(ReuseVerb, PassesAreListedAndDumped) {
  const ToolRun list = reuse("--list-passes");
  EXPECT_THAT(list.out, AllOf(HasSubstr("liveness\n"), HasSubstr("check\n")));
  const ToolRun dump = reuse("k.ptx --dump-after liveness --dump-after place");
  EXPECT_THAT(dump.out,
              AllOf(HasSubstr("after liveness"), HasSubstr("after place"), Not(HasSubstr("after cfg"))));
  const ToolRun all = reuse("k.ptx --when always --dump-after all -o -");
  EXPECT_THAT(all.out, StartsWith(".version"));
  EXPECT_THAT(all.err, HasSubstr("after interference"));
}

TEST_F(ReuseVerb, ExplainsOneObjectAdvisesAndDraws) {
  EXPECT_THAT(reuse("k.ptx --when always --explain second").out, HasSubstr("first"));
  EXPECT_THAT(reuse("k.ptx --when always --advice").out, HasSubstr("union"));
  EXPECT_EQ(reuse("k.ptx --when always --html map.html").code, 0);
  EXPECT_THAT(read("map.html"), HasSubstr("</html>"));
}

TEST_F(ReuseVerb, AnUnknownObjectIsBadInputAndNothingIsWritten) {
  const ToolRun run = reuse("k.ptx --when always --explain third -o out.ptx");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("third"));
  EXPECT_FALSE(exists("out.ptx"));
}

TEST_F(ReuseVerb, BadOptionsAreRefusedWithTheValue) {
  const std::pair<const char*, const char*> cases[] = {
      {"--when often", "'often'"},
      {"--placement best", "'best'"},
      {"--placement-time -1", "'-1'"},
      {"--placement-time 99999999999999999999", "'99999999999999999999'"},
      {"--block 0", "'0'"},
      {"--block 1024,2", "'1024,2'"},
      {"--block 4294967297,1,1", "'4294967297,1,1'"},
      {"--block 16x16", "'16x16'"},
      {"--arch sm_3", "sm_3"},
      {"--pool none", "'none'"},
      {"--kernel blur", "'blur'"},
      {"--except blur", "'blur'"},
      {"--disable magic", "'magic'"},
      {"--dump-after livenes", "did you mean liveness?"},
      {"--strct", "did you mean --strict?"},
  };
  for (const auto& [options, message] : cases) {
    const ToolRun run = reuse(std::string("k.ptx -o out.ptx ") + options);
    EXPECT_EQ(run.code, 2) << options;
    EXPECT_THAT(run.err, HasSubstr(message)) << options;
    EXPECT_FALSE(exists("out.ptx")) << options;
  }
}

TEST_F(ReuseVerb, LaunchesFromAFileDecide) {
  write("launches.sim", "--kernel nobody --grid 1 --block 64\n");
  EXPECT_THAT(reuse("k.ptx --launches launches.sim").out, HasSubstr("unchanged"));
  const ToolRun broken = reuse("k.ptx --launches k.ptx");
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr("k.ptx"));
  EXPECT_EQ(reuse("k.ptx --launches missing.sim").code, 2);
}

TEST_F(ReuseVerb, CheckNamesItsFiles) {
  reuse("k.ptx --when always -o out.ptx");
  const auto check = [&](const std::string& arguments) {
    return run_shell("cd '" + directory_.string() + "' && \"$WARPLOOM\" check " + arguments);
  };
  EXPECT_EQ(check("k.ptx out.ptx").code, 0);
  const ToolRun wrong = check("out.ptx k.ptx");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.out,
              AllOf(HasSubstr("k.ptx: "), HasSubstr("k.ptx is not proved to compute what out.ptx does")));
  write("broken.ptx", "no PTX");
  EXPECT_THAT(check("k.ptx broken.ptx").err, HasSubstr("broken.ptx:"));
}

TEST_F(ReuseVerb, NoFileIsBadUsage) {
  const ToolRun run = reuse("");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("no file given"));
}

TEST_F(ReuseVerb, TextThatIsNoPtxIsBadInputWithAPosition) {
  write("truncated.ptx", kTwoArrays.substr(0, kTwoArrays.size() / 2));
  write("empty.ptx", "");
  write("binary.ptx", std::string("\x7f"
                                  "ELF\0\xff\xfe\0\1\2",
                                  10));
  for (const std::string name : {"truncated.ptx", "empty.ptx", "binary.ptx"}) {
    const ToolRun run = reuse(name + " -o out.ptx");
    EXPECT_EQ(run.code, 2) << name;
    EXPECT_THAT(run.err, HasSubstr(name + ":")) << name;
    EXPECT_FALSE(exists("out.ptx")) << name;
  }
}

TEST_F(ReuseVerb, APathThatCannotBeReadIsBadInput) {
  for (const std::string path : {"missing.ptx", ".", "missing.cu"}) {
    const ToolRun run = reuse(path);
    EXPECT_EQ(run.code, 2) << path;
    EXPECT_THAT(run.err, HasSubstr("cannot read")) << path;
  }
}

TEST_F(ReuseVerb, AFileWithoutPermissionIsBadInput) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  std::filesystem::permissions(directory_ / "k.ptx", std::filesystem::perms::none);
  const ToolRun run = reuse("k.ptx");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("Permission denied"));
}

TEST_F(ReuseVerb, AFullDiskIsBadInput) {
  for (const std::string output : {"-o /dev/full", "--html /dev/full", "-o - >/dev/full", ">/dev/full"}) {
    const ToolRun run = reuse("k.ptx --when always " + output);
    EXPECT_EQ(run.code, 2) << output;
    EXPECT_THAT(run.err, HasSubstr("No space left")) << output;
  }
}

TEST_F(ReuseVerb, NvccOptionsNeedACudaFile) {
  const ToolRun run = reuse("k.ptx -- -std=c++17");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("'-std=c++17'"));
}

TEST_F(ReuseVerb, CudaSourceWithoutNvccSaysWhatIsMissing) {
  if (std::filesystem::exists("/usr/local/cuda/bin/nvcc"))
    GTEST_SKIP() << "there is a toolkit in /usr/local/cuda";
  write("k.cu", "");
  const ToolRun run = reuse("k.cu", "CUDA_HOME= CUDA_PATH= PATH=/nowhere");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("needs nvcc"));
}

class ReuseOfSource : public NvccTest {};

TEST_F(ReuseOfSource, GoesThroughNvccWithItsOptions) {
  write(
      "k.cu",
      "__global__ void __launch_bounds__(SIZE) mirror(int* p) { __shared__ int a[SIZE]; __shared__ int b[SIZE];\n"
      "const int t = threadIdx.x; a[t] = p[t]; __syncthreads(); const int x = a[SIZE - 1 - t]; __syncthreads();\n"
      "b[t] = x; __syncthreads(); p[t] = b[t ^ 1]; }\n");
  const ToolRun run = shell(
      "PATH=\"$(dirname \"$NVCC\"):$PATH\" \"$WARPLOOM\" reuse k.cu --when always --arch sm_90 -o out.ptx -- -DSIZE=512");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("k.cu"));
  EXPECT_THAT(read("out.ptx"),
              AllOf(HasSubstr(".target sm_90"), HasSubstr("warploom_pool"), HasSubstr(".loc")));
}

TEST_F(ReuseOfSource, NvccsErrorsAreShownAndTheInputIsBad) {
  write("k.cu", "__global__ void k() { undeclared = 1; }\n");
  const ToolRun run = shell("PATH=\"$(dirname \"$NVCC\"):$PATH\" \"$WARPLOOM\" reuse k.cu -o out.ptx");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("undeclared"), HasSubstr("failed")));
  EXPECT_FALSE(std::filesystem::exists(file("out.ptx")));
}

}  // namespace
}  // namespace warploom
