#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "cli/run_nvcc.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// Bytes of the section .nv.shared.NAME of a cubin, a 64-bit ELF file.
std::uint64_t shared_bytes(const std::string& cubin, const std::string& section) {
  Elf64_Ehdr header{};
  if (cubin.size() < sizeof header) return 0;
  std::memcpy(&header, cubin.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), cubin.data() + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  const char* names = cubin.data() + sections.at(header.e_shstrndx).sh_offset;
  for (const Elf64_Shdr& s : sections)
    if (section == names + s.sh_name) return s.sh_size;
  return 0;
}

// 8192 bytes of shared memory, of which 4096 suffice.
const std::string kTwoArraysForNvcc = R"(
__global__ void __launch_bounds__(1024) mirror(int* p) {
  __shared__ int a[1024];
  __shared__ int b[1024];
  const int t = threadIdx.x;
  a[t] = p[t];
  __syncthreads();
  const int x = a[1023 - t];
  __syncthreads();
  b[t] = 2 * x;
  __syncthreads();
  p[t] = b[t ^ 1];
}
)";
const std::string kNoCandidate = "__global__ void copy(int* p) { p[threadIdx.x] = p[threadIdx.x + 1]; }\n";

const std::string kSharedSection = ".nv.shared._Z6mirrorPi";

/// A command line with the default gate off, so that a few bytes are won on any GPU.
const std::string kWrap = "WARPLOOM_REUSE_FLAGS='--when always' \"$WARPLOOM\" wrap ";

class Wrap : public NvccTest {
 protected:
  void SetUp() override {
    NvccTest::SetUp();
    write("my kernels/two arrays.cu", kTwoArraysForNvcc);
    write("copy.cu", kNoCandidate);
  }
  /// A toolkit like the real one in which one program is a script instead; "$REAL" is the real program.
  /// Its nvcc is toolkit/bin/nvcc.
  void fake_toolkit(const std::string& program, const std::string& script) const {
    const ToolRun run = shell(
        "real=$(cd \"$(dirname \"$NVCC\")/..\" && pwd) && mkdir -p toolkit/bin toolkit/nvvm/bin && "
        "for f in \"$real\"/bin/*; do ln -s \"$f\" toolkit/bin/; done && "
        "for f in \"$real\"/*; do case $f in */bin|*/nvvm) ;; *) ln -s \"$f\" toolkit/;; esac; done && "
        "ln -s \"$real\"/nvvm/libdevice toolkit/nvvm/ && ln -s \"$real\"/nvvm/bin/* toolkit/nvvm/bin/ && rm toolkit/" +
        program + " && printf '#!/bin/sh\\nREAL=\"%s\"\\n' \"$real/" + program + "\" > toolkit/" + program);
    ASSERT_EQ(run.code, 0) << run.err;
    write("tail", script);
    ASSERT_EQ(shell("cat tail >> toolkit/" + program + " && chmod +x toolkit/" + program).code, 0);
  }
  /// Nothing of ours is left behind.
  std::vector<std::string> leftovers() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(file("tmp")))
      if (entry.path().filename().string().starts_with("warploom")) out.push_back(entry.path().string());
    return out;
  }
};

TEST_F(Wrap, WholeProgramRefusesCodeThatIsLinkedWithOther) {
  for (const char* option : {"-rdc=true", "-dc", "--relocatable-device-code true"}) {
    const ToolRun run = shell(std::string("\"$WARPLOOM\" wrap --whole-program \"$NVCC\" -c ") + option +
                              " copy.cu -o copy.o");
    EXPECT_EQ(run.code, 2) << option;
    EXPECT_THAT(run.err, HasSubstr("wrap --whole-program: nvcc's")) << option;
  }
}

TEST_F(Wrap, TheCodeOfEveryArchitectureHasTheSmallerSharedMemory) {
  const ToolRun run =
      shell(kWrap +
            "\"$NVCC\" -c -gencode arch=compute_80,code=sm_80 -gencode "
            "arch=compute_90,code=[sm_90,compute_90] -Xptxas -v 'my kernels/two arrays.cu' -o 'an object.o'");
  EXPECT_EQ(run.code, 0) << run.err;
  std::size_t reports = 0;
  for (std::size_t at = 0; (at = run.err.find(" 4096 bytes smem", at)) != std::string::npos; ++at) ++reports;
  EXPECT_EQ(reports, 2u) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr(" 8192 bytes smem")));
  EXPECT_TRUE(std::filesystem::exists(file("an object.o")));
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(Wrap, TheEmbeddedPtxIsTheRewrittenOne) {
  const std::string compile =
      "\"$NVCC\" -c -gencode arch=compute_90,code=compute_90 --no-compress 'my kernels/two arrays.cu' -o k.o";
  ASSERT_EQ(shell(compile).code, 0);
  EXPECT_THAT(read("k.o"), AllOf(HasSubstr(".entry _Z6mirrorPi"), Not(HasSubstr("warploom_pool"))));
  ASSERT_EQ(shell(kWrap + compile).code, 0);
  EXPECT_THAT(read("k.o"), AllOf(HasSubstr(".entry _Z6mirrorPi"), HasSubstr("warploom_pool")));
}

TEST_F(Wrap, PtxAndFatbinOutputsAreRewrittenToo) {
  for (const std::string kind : {"ptx", "fatbin"}) {
    const ToolRun run = shell(kWrap + "\"$NVCC\" -gencode arch=compute_90,code=compute_90 --no-compress -" +
                              kind + " 'my kernels/two arrays.cu' -o out");
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(read("out"), HasSubstr("warploom_pool")) << kind;
  }
}

TEST_F(Wrap, ACubinReservesTheSmallerSharedMemory) {
  const std::string compile = "\"$NVCC\" -arch=sm_80 -cubin 'my kernels/two arrays.cu' -o k.cubin";
  ASSERT_EQ(shell(compile).code, 0);
  const std::uint64_t before = shared_bytes(read("k.cubin"), kSharedSection);
  ASSERT_EQ(shell(kWrap + compile).code, 0);
  EXPECT_EQ(before, 8192u);
  EXPECT_EQ(shared_bytes(read("k.cubin"), kSharedSection), 4096u);
}

TEST_F(Wrap, WithoutAnOutputNameTheFileIsNamedAsByNvcc) {
  EXPECT_EQ(shell(kWrap + "\"$NVCC\" -arch=sm_90 -cubin 'my kernels/two arrays.cu' copy.cu").code, 0);
  EXPECT_TRUE(std::filesystem::exists(file("two arrays.cubin")));
  EXPECT_TRUE(std::filesystem::exists(file("copy.cubin")));
}

TEST_F(Wrap, DependencyFilesAreEqualToNvccs) {
  const std::string compile = "\"$NVCC\" -c -arch=sm_90 -MD -MF d 'my kernels/two arrays.cu' -o k.o";
  ASSERT_EQ(shell(compile).code, 0);
  const std::string want = read("d");
  ASSERT_EQ(shell(kWrap + compile).code, 0);
  EXPECT_EQ(read("d"), want);
  EXPECT_EQ(shell(kWrap + "\"$NVCC\" -M copy.cu").out, shell("\"$NVCC\" -M copy.cu").out);
}

TEST_F(Wrap, PreprocessedOutputIsNvccs) {
  EXPECT_EQ(shell(kWrap + "\"$NVCC\" -E copy.cu").out, shell("\"$NVCC\" -E copy.cu").out);
}

TEST_F(Wrap, OptionFilesAndLanguageOptionsAreSeen) {
  write("options", "-arch=sm_80 -cubin");
  write("renamed.txt", kTwoArraysForNvcc);
  const ToolRun run = shell(kWrap + "\"$NVCC\" --options-file options -x cu renamed.txt -o k.cubin");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(shared_bytes(read("k.cubin"), kSharedSection), 4096u);
}

TEST_F(Wrap, AFailingCompilationSaysWhatNvccSays) {
  write("wrong.cu", "__global__ void k() { undeclared = 1; }\n");
  write(
      "big.cu",
      "__global__ void k(int* p) { __shared__ int a[20000]; a[p[0]] = 1; __syncthreads(); p[1] = a[p[2]]; }\n");
  for (const std::string name : {"wrong.cu", "big.cu", "missing.cu"}) {
    const std::string compile = "\"$NVCC\" -arch=sm_90 -c " + name + " -o k.o";
    const ToolRun plain = shell(compile), wrapped = shell(kWrap + compile);
    EXPECT_NE(plain.code, 0);
    EXPECT_EQ(wrapped.code, plain.code);
    EXPECT_EQ(wrapped.err, plain.err);
    EXPECT_EQ(wrapped.out, plain.out);
    EXPECT_FALSE(std::filesystem::exists(file("k.o")));
  }
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(Wrap, RelocatableDeviceCodeLinks) {
  write(
      "a.cu",
      kTwoArraysForNvcc +
          "extern __global__ void other(int*);\nint main() { mirror<<<1, 1024>>>(nullptr); other<<<1, 1024>>>(nullptr); }\n");
  std::string other = kTwoArraysForNvcc;
  other.replace(other.find("mirror"), 6, "other");
  write("b.cu", other);
  const ToolRun run = shell(kWrap + "-v \"$NVCC\" -arch=sm_90 -rdc=true a.cu b.cu -o program");
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("a.cu, sm_90: mirror"), HasSubstr("b.cu, sm_90: other")));
  EXPECT_TRUE(std::filesystem::exists(file("program")));
}

TEST_F(Wrap, LinkTimeOptimisationIsLeftAloneAndSaidSo) {
  for (const std::string option : {"-dlto -arch=sm_90", "-gencode arch=compute_90,code=lto_90"}) {
    const std::string compile = "\"$NVCC\" -dc " + option + " 'my kernels/two arrays.cu' -o k.o";
    const ToolRun run = shell(kWrap + "-v " + compile);
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr("passed through untouched: link-time optimisation"));
    EXPECT_THAT(run.err, Not(HasSubstr("rewritten")));
  }
}

TEST_F(Wrap, WhatIsNoCudaCompilationIsPassedThrough) {
  const ToolRun other = shell(kWrap + "-v printf '%s|' -c 'a b' ''");
  EXPECT_EQ(other.code, 0);
  EXPECT_EQ(other.out, "-c|a b||");
  EXPECT_THAT(other.err, HasSubstr("printf is not nvcc"));
  ASSERT_EQ(shell("\"$NVCC\" -c copy.cu -o copy.o").code, 0);
  EXPECT_THAT(shell(kWrap + "-v \"$NVCC\" -dlink copy.o -o link.o").err,
              HasSubstr("no CUDA source is compiled"));
  EXPECT_EQ(shell(kWrap + "false").code, 1);
}

TEST_F(Wrap, TheOffSwitchLeavesTheCodeAsItWas) {
  const ToolRun run = shell("WARPLOOM_DISABLE=1 " + kWrap +
                            "-v \"$NVCC\" -arch=sm_80 -cubin 'my kernels/two arrays.cu' -o k.cubin");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("WARPLOOM_DISABLE is set"));
  EXPECT_EQ(shared_bytes(read("k.cubin"), kSharedSection), 8192u);
}

TEST_F(Wrap, KernelsAreChosenByName) {
  const std::string compile = kWrap + "\"$NVCC\" -arch=sm_90 -ptx 'my kernels/two arrays.cu' -o k.ptx";
  for (const std::string names : {"WARPLOOM_EXCEPT=mirror ", "WARPLOOM_ONLY='other;another' "}) {
    ASSERT_EQ(shell(names + compile).code, 0);
    EXPECT_THAT(read("k.ptx"), Not(HasSubstr("warploom_pool"))) << names;
  }
  ASSERT_EQ(shell("WARPLOOM_ONLY='other;mirror(int*)' " + compile).code, 0);
  EXPECT_THAT(read("k.ptx"), HasSubstr("warploom_pool"));
}

TEST_F(Wrap, WrongOptionsStopTheBuildBeforeItStarts) {
  for (const std::string flags : {"--when often", "--wen always", "--pool dynamic"}) {
    const ToolRun run = shell("WARPLOOM_REUSE_FLAGS='" + flags + "' \"$WARPLOOM\" wrap \"$NVCC\" -c copy.cu");
    EXPECT_EQ(run.code, 2);
    EXPECT_THAT(run.err, HasSubstr("WARPLOOM_REUSE_FLAGS"));
  }
  EXPECT_FALSE(std::filesystem::exists(file("copy.o")));
}

TEST_F(Wrap, TheSameInputGivesTheSamePtx) {
  const std::string compile = kWrap + "\"$NVCC\" -arch=sm_90 -ptx 'my kernels/two arrays.cu' -o ";
  ASSERT_EQ(shell(compile + "1.ptx && " + compile + "2.ptx").code, 0);
  EXPECT_EQ(read("1.ptx"), read("2.ptx"));
}

TEST_F(Wrap, TheLogTellsOfEveryKernelAndTheSummaryOfTheBuild) {
  const std::string log = "WARPLOOM_LOG=build.log ";
  ASSERT_EQ(shell(log + kWrap + "\"$NVCC\" -arch=sm_90 -cubin 'my kernels/two arrays.cu'").code, 0);
  ASSERT_EQ(shell(log + kWrap + "\"$NVCC\" -arch=sm_90 -cubin 'my kernels/two arrays.cu'").code, 0);
  ASSERT_EQ(shell(log + kWrap + "\"$NVCC\" -arch=sm_90 -dlto -dc copy.cu").code, 0);
  const std::string text = read("build.log");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  const nlohmann::json first = nlohmann::json::parse(text.substr(0, text.find('\n')));
  EXPECT_EQ(first["verdict"], "rewritten");
  EXPECT_EQ(first["bytes_before"], 8192);
  EXPECT_EQ(first["bytes_after"], 4096);
  const nlohmann::json sum =
      nlohmann::json::parse(shell("\"$WARPLOOM\" wrap --json --summary build.log").out);
  EXPECT_EQ(sum["verdicts"]["rewritten"], 1);
  EXPECT_EQ(sum["verdicts"]["untouched"], 1);
  EXPECT_THAT(shell("\"$WARPLOOM\" wrap --summary build.log").out, HasSubstr("8192 -> 4096 bytes"));
}

TEST_F(Wrap, WhatPtxasRejectsIsCompiledFromTheOriginal) {
  // Also where the text comes as a descriptor's path, which is empty once read: so from a copy.
  fake_toolkit(
      "bin/ptxas",
      "for a; do case $a in /dev/stdin) cat >copy.ptx; set -- -arch=sm_90 copy.ptx -o /dev/null; a=copy.ptx;; "
      "esac; case $a in *.ptx) grep -q warploom_pool \"$a\" && { echo 'ptxas fatal   : no pools' >&2; "
      "exit 1; };; esac; done\nexec \"$REAL\" \"$@\"\n");
  for (const std::string code : {"sm_90", "compute_90"}) {
    const ToolRun run = shell("WARPLOOM_LOG=build.log " + kWrap +
                              "toolkit/bin/nvcc -c -gencode arch=compute_90,code=" + code +
                              " --no-compress 'my kernels/two arrays.cu' -o k.o");
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_THAT(run.err, AllOf(HasSubstr("ptxas did not take the rewritten PTX"), HasSubstr("no pools")));
    EXPECT_THAT(read("k.o"), Not(HasSubstr("warploom_pool")));
    EXPECT_THAT(read("build.log"), HasSubstr("\"failed\""));
  }
  ASSERT_EQ(shell(kWrap + "toolkit/bin/nvcc -ptx 'my kernels/two arrays.cu' -o k.ptx").code, 0);
  EXPECT_THAT(read("k.ptx"), Not(HasSubstr("warploom_pool")));
}

TEST_F(Wrap, PtxThatIsNotUnderstoodIsLeftAlone) {
  fake_toolkit(
      "nvvm/bin/cicc",
      "\"$REAL\" \"$@\" || exit\nfor a; do case $a in *.ptx) printf '.warp_of_the_future {' >> \"$a\";; esac; done\n");
  const ToolRun run = shell(kWrap + "-v toolkit/bin/nvcc -ptx 'my kernels/two arrays.cu' -o k.ptx");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("passed through untouched"));
  EXPECT_THAT(read("k.ptx"), AllOf(HasSubstr(".warp_of_the_future"), Not(HasSubstr("warploom_pool"))));
}

TEST_F(Wrap, AnInterruptedCompilationLeavesNothingBehind) {
  fake_toolkit("nvvm/bin/cicc", "touch started\nwhile [ -e started ]; do sleep 0.1; done\n");
  const ToolRun run =
      run_and_signal(here() + "\n" + kWrap + "toolkit/bin/nvcc -c copy.cu -o k.o", "[ -e started ]", "TERM");
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("Terminated"));  // nvcc's own words
  EXPECT_THAT(leftovers(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(file("k.o")));
}

TEST_F(Wrap, CcacheInsideDoesNotMixWrappedAndPlainObjects) {
  if (run_shell("command -v ccache").code != 0) GTEST_SKIP() << "ccache is not installed";
  const std::string ccache = "CCACHE_DIR=\"$PWD/cache\" ";
  const std::string compile =
      "ccache \"$NVCC\" -c -gencode arch=compute_90,code=compute_90 --no-compress 'my kernels/two arrays.cu' -o k.o";
  ASSERT_EQ(shell(ccache + compile).code, 0);
  const ToolRun first = shell(ccache + kWrap + compile);
  ASSERT_EQ(first.code, 0) << first.err;
  const std::string rewritten = read("k.o");
  EXPECT_THAT(rewritten, HasSubstr("warploom_pool"));
  ASSERT_EQ(shell(ccache + compile).code, 0);
  EXPECT_THAT(read("k.o"), Not(HasSubstr("warploom_pool")));
  ASSERT_EQ(shell(ccache + kWrap + compile).code, 0);
  EXPECT_EQ(read("k.o"), rewritten);  // from the cache, byte for byte
}

TEST_F(Wrap, ACMakeProjectIsRewrittenThroughTheCompilerLauncher) {
  const ToolRun run = shell(
      "export WARPLOOM_REUSE_FLAGS='--when always' WARPLOOM_LOG=\"$PWD/build.log\" && cmake -S '" WARPLOOM_TESTS_DIR
      "/cli/wrap_project' -B 'the build' -DCMAKE_CUDA_COMPILER=\"$NVCC\" "
      "-DCMAKE_CUDA_COMPILER_LAUNCHER=\"$WARPLOOM;wrap\" && cmake --build 'the build' -j 2");
  ASSERT_EQ(run.code, 0) << run.out << run.err;
  EXPECT_TRUE(std::filesystem::exists(file("the build/program")));
  const nlohmann::json sum =
      nlohmann::json::parse(shell("\"$WARPLOOM\" wrap --json --summary build.log").out);
  EXPECT_EQ(sum["verdicts"]["rewritten"], 4) << sum;  // two kernels, two architectures
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST(WrapWithoutNvcc, NoCommandIsBadUsage) {
  const ToolRun run = run_tool("wrap");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("no command given"));
}

TEST(WrapWithoutNvcc, AnEmptyFirstWordIsNamedWithItsUsualCause) {
  const ToolRun run = run_tool("wrap '' nvcc -c k.cu");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, AllOf(HasSubstr("first word of the command is empty"),
                             HasSubstr("-DCMAKE_CUDA_COMPILER_LAUNCHER=\"warploom;wrap\"")));
}

TEST(WrapWithoutNvcc, ACommandThatIsNotThereIsBadInput) {
  const ToolRun run = run_tool("wrap /no/such/nvcc -c k.cu");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, StartsWith("warploom: cannot start /no/such/nvcc"));
}

TEST(WrapWithoutNvcc, AnNvccOutsideAToolkitIsRunUntouched) {
  const ToolRun run = run_shell(
      "d=$(mktemp -d) && printf '#!/bin/sh\\necho \"$@\"\\nexit 3\\n' > $d/nvcc && chmod +x $d/nvcc && "
      "\"$WARPLOOM\" wrap -v $d/nvcc -c k.cu; code=$?; rm -r $d; exit $code");
  EXPECT_EQ(run.code, 3);
  EXPECT_EQ(run.out, "-c k.cu\n");
  EXPECT_THAT(run.err, AllOf(HasSubstr("untouched"), HasSubstr("nvcc.profile")));
}

TEST(WrapWithoutNvcc, TheSummarySkipsLinesItCannotRead) {
  const ToolRun run = run_shell(
      "printf 'x\\n{\"source\":1}\\n{\"source\":\"k.cu\",\"verdict\":\"refused\",\"reason\":\"r\"}' | \"$WARPLOOM\" wrap --summary -");
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, AllOf(HasSubstr("1 refused"), HasSubstr("2 lines of the log could not be read")));
}

}  // namespace
}  // namespace warploom
