#include "warploom/reuse/ptxas.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "warploom/core/error.hpp"
#include "warploom/core/run.hpp"
#include "warploom/ptx/module.hpp"
#include "warploom/reuse/launchability.hpp"

namespace warploom::reuse {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

/// A folder of its own for each test, with a space in its name, and a shell script that plays ptxas.
class FakePtxas : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "warploom ptxas XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// Arguments are in "$@", the PTX on standard input.
  PtxasRun run(const std::string& script, std::chrono::milliseconds limit = 10s,
               std::string_view text = "ptx") {
    std::ofstream(folder / "ptxas") << "#!/bin/sh\n" << script << "\n";
    ::chmod((folder / "ptxas").c_str(), 0755);
    const auto answer =
        run_ptxas(text, "sm_90", {.executable = folder / "ptxas", .file = "k.ptx", .time_limit = limit});
    EXPECT_TRUE(answer);
    return answer.value_or(PtxasRun{});
  }

  std::filesystem::path folder;
};

constexpr const char* two_kernels = R"(ptxas info    : 24 bytes gmem
ptxas info    : Compiling entry function '_Z5firstv' for 'sm_90'
ptxas info    : Function properties for _Z5firstv
    816 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 816 bytes cumulative stack size, 6220 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 1.000 ms
ptxas info    : Function properties for callee
    99 bytes stack frame, 98 bytes spill stores, 97 bytes spill loads
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
)";

TEST(PtxasOutput, GivesEachKernelItsRegistersSharedAndSpilledBytes) {
  const auto kernels = parse_ptxas_output(two_kernels);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(
      kernels.at("_Z5firstv"),
      (PtxasUsage{.registers = 40, .shared = 6220, .stack = 816, .spill_stores = 12, .spill_loads = 16}));
  EXPECT_EQ(kernels.at("second"), PtxasUsage{.registers = 4});
}

TEST(PtxasOutput, AFunctionsPropertiesBetweenDoNotBecomeTheKernels) {
  const auto kernels = parse_ptxas_output(
      "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
      "ptxas info    : Function properties for f\n"
      "    99 bytes stack frame, 98 bytes spill stores, 97 bytes spill loads\n"
      "ptxas info    : Used 4 registers\n");
  EXPECT_EQ(kernels.at("k"), PtxasUsage{.registers = 4});
}

TEST(PtxasOutput, OfOlderReleasesIsReadToo) {
  const auto kernels = parse_ptxas_output(
      "ptxas info    : Compiling entry function 'k' for 'sm_35'\n"
      "ptxas info    : Used 10 registers, 52 bytes smem, 400 bytes cmem[0]\n");
  EXPECT_EQ(kernels.at("k"), (PtxasUsage{.registers = 10, .shared = 52}));
}

TEST(PtxasOutput, AKernelWithoutAUsableNumberIsLeftOut) {
  for (const char* used : {"Used registers", "Used many registers", "Used 99999999999999 registers", ""})
    EXPECT_TRUE(parse_ptxas_output(std::string("ptxas info : Compiling entry function 'k' for 'sm_90'\n") +
                                   "ptxas info : " + used)
                    .empty())
        << used;
}

TEST_F(FakePtxas, ReceivesTheTextAndTheArchitecture) {
  const PtxasRun got =
      run("cat > \"$(dirname \"$0\")/seen\"; echo \"$@\" > \"$(dirname \"$0\")/arguments\"\n"
          "echo \"ptxas info    : Compiling entry function 'k' for 'sm_90'\" >&2\n"
          "echo 'ptxas info    : Used 7 registers, 8 bytes smem' >&2",
          10s, "the text; $(touch nothing)\n");
  EXPECT_EQ(got.error, "");
  EXPECT_EQ(got.kernels.at("k"), (PtxasUsage{.registers = 7, .shared = 8}));
  std::ifstream seen(folder / "seen"), arguments(folder / "arguments");
  std::string text, line;
  std::getline(seen, text);
  std::getline(arguments, line);
  EXPECT_EQ(text, "the text; $(touch nothing)");
  EXPECT_EQ(line, "--verbose -arch=sm_90 /dev/stdin -o /dev/null");
}

TEST_F(FakePtxas, ThatFailsIsQuotedUnderTheTextsOwnName) {
  const PtxasRun got = run(
      "echo 'ptxas info    : 0 bytes gmem'\n"
      "echo \"ptxas /dev/stdin, line 4; error   : Not a name of any known instruction: 'bogus'\"; exit 255");
  EXPECT_TRUE(got.kernels.empty());
  EXPECT_THAT(got.error, HasSubstr("exit code 255"));
  EXPECT_THAT(got.error, HasSubstr("ptxas k.ptx, line 4; error"));
  EXPECT_THAT(got.error, Not(HasSubstr("gmem")));
}

TEST_F(FakePtxas, ThatPrintsGarbageIsAnError) {
  const PtxasRun got = run("echo 'Segmentation of 3 registers'; head -c 1000 /dev/zero");
  EXPECT_TRUE(got.kernels.empty());
  EXPECT_THAT(got.error, HasSubstr("not understood"));
}

TEST_F(FakePtxas, ThatPrintsNothingIsAnError) {
  EXPECT_THAT(run("exit 0").error, HasSubstr("not understood"));
}

TEST_F(FakePtxas, ThatDiesOfASignalIsAnError) {
  EXPECT_THAT(run("kill -SEGV $$").error, HasSubstr("signal 11"));
}

TEST_F(FakePtxas, ThatHangsIsKilledAtTheTimeLimitWithAllItStarted) {
  const auto start = std::chrono::steady_clock::now();
  pid_t sleeper = 0;
  for (auto limit = 200ms; sleeper == 0; limit *= 2) {  // a busy machine may take longer to start it
    EXPECT_THAT(run("sleep 300 & echo $! > \"$(dirname \"$0\")/pid\"; sleep 300", limit).error,
                HasSubstr("time limit"));
    std::ifstream(folder / "pid") >> sleeper;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 250s);
  // Killed at once; it is a zombie until its new parent has reaped it.
  bool gone = false;
  for (int i = 0; i < 6000 && !gone; ++i, std::this_thread::sleep_for(10ms)) {
    std::ifstream stat("/proc/" + std::to_string(sleeper) + "/stat");
    std::string pid, name, state;
    gone = !(stat >> pid >> name >> state) || state == "Z";
  }
  EXPECT_TRUE(gone);
}

TEST_F(FakePtxas, DoesNotKeepUsFromBeingInterrupted) {
  std::atomic<bool> stop = true;
  const RunScope scope({.stop = &stop});
  EXPECT_THROW(run("sleep 300"), Interrupted);
}

TEST_F(FakePtxas, ThatCannotBeStartedIsAnError) {
  const auto got = run_ptxas("ptx", "sm_90", {.executable = folder / "missing"});
  ASSERT_TRUE(got);
  EXPECT_THAT(got->error, HasSubstr("cannot be started"));
}

/// Sets an environment variable for a test's length.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST_F(FakePtxas, IsFoundOnThePathOnlyIfItCanBeExecuted) {
  const Environment path("PATH", ":" + (folder / "none").string() + ":" + folder.string());
  std::ofstream(folder / "ptxas") << "#!/bin/sh\n";
  ::chmod((folder / "ptxas").c_str(), 0644);
  EXPECT_NE(find_ptxas(), folder / "ptxas");
  ::chmod((folder / "ptxas").c_str(), 0755);
  EXPECT_EQ(find_ptxas(), folder / "ptxas");
}

TEST_F(FakePtxas, IsFoundInCudaHome) {
  std::filesystem::create_directory(folder / "bin");
  std::ofstream(folder / "bin/ptxas") << "#!/bin/sh\n";
  ::chmod((folder / "bin/ptxas").c_str(), 0755);
  const Environment path("PATH", folder / "none"), home("CUDA_HOME", folder);
  EXPECT_EQ(find_ptxas(), folder / "bin/ptxas");
}

TEST(RealPtxas, AgreesWithTheDeclaredSharedBytes) {
  constexpr const char* text =
      ".version 7.0\n.target sm_75\n.address_size 64\n"
      ".visible .entry k() { .reg .b32 x; .shared .align 4 .b8 a[6220];\n"
      "mov.u32 x, 1; st.shared.u32 [a], x; ret; }\n";
  const auto got = run_ptxas(text, "sm_90");
  if (!got) GTEST_SKIP() << "there is no ptxas on this machine";
  ASSERT_EQ(got->error, "");
  EXPECT_EQ(got->kernels.at("k").shared, 6220u);
  EXPECT_GT(got->kernels.at("k").registers, 0u);
}

/// Kernels with arrays of their own, of the module and of functions that they call, used and unused, of any
/// size and alignment, two of the module's by several kernels.
std::string many_kernels(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const auto array = [&](const std::string& name) {
    return fmt::format(".shared .align {} .b8 {}[{}];\n", 1u << below(8), name, 1 + below(300));
  };
  const auto use = [](const std::string& name) { return fmt::format("st.shared.u8 [{}], %r1;\n", name); };
  std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (unsigned m = 0; m < 6; ++m) text += array(fmt::format("m{}", m));
  text += ".extern .shared .align 16 .b8 dynamic[];\n";
  const auto body = [&](const std::string& name, unsigned most) {
    std::string declared, code;
    for (unsigned i = 0, n = below(most); i < n; ++i) {
      declared += array(fmt::format("{}_{}", name, i));
      if (below(3) != 0) code += use(fmt::format("{}_{}", name, i));
    }
    for (unsigned m = 0; m < 6; ++m)
      if (below(4) == 0) code += use(fmt::format("m{}", m));
    return declared + ".reg .b32 %r<3>;\nmov.u32 %r1, %tid.x;\n" + code;
  };
  for (unsigned f = 0; f < 4; ++f)
    text += fmt::format(".func f{}()\n{{\n{}ret;\n}}\n", f, body(fmt::format("f{}", f), 3));
  for (unsigned k = 0; k < 40; ++k)
    text += fmt::format(".visible .entry k{}()\n{{\n{}{}{}ret;\n}}\n", k, body(fmt::format("k{}", k), 5),
                        below(2) == 0 ? "" : fmt::format("call.uni f{};\n", below(4)),
                        below(4) == 0 ? use("dynamic") : "");
  return text;
}

TEST(RealPtxas, CountsTheArraysOfKernelsModuleAndFunctionsAsWeDo) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::mt19937 random(seed);
    const std::string text = many_kernels(random);
    const ptx::Module module = ptx::parse(text, "k.ptx");
    const auto got = run_ptxas(text, "sm_90");
    if (!got) GTEST_SKIP() << "there is no ptxas on this machine";
    ASSERT_EQ(got->error, "");
    ASSERT_EQ(got->kernels.size(), 40u);
    for (const auto& [name, usage] : got->kernels)
      EXPECT_EQ(shared_declared(module, *module.find_function(name)).bytes, usage.shared)
          << "seed " << seed << ", " << name;
  }
}

}  // namespace
}  // namespace warploom::reuse
