// One problem on several processes of mpirun, beside one that is alone.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "io/scratch.hpp"
#include "run_tool.hpp"

namespace warploom {
namespace {

using testing::HasSubstr;

class Mpi : public Scratch {
 protected:
  ToolRun here(const std::string& command) const {
    return run_shell(fmt::format("cd '{}' && {}", directory.string(), command));
  }
  /// `count` processes on this machine, whatever it has of processors.
  ToolRun shared(int count, const std::string& arguments) const {
    const ToolRun run = here(fmt::format(
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to none -np {} \"$WARPLOOM\" {} --mpi",
        count, arguments));
    return run;
  }
  void SetUp() override {
    const ToolRun run = here("\"$WARPLOOM\" table count none.fa --kmer 5 --mpi");
    EXPECT_EQ(run.code, 2);
    if (run.err.find("built without MPI; configure with -DWARPLOOM_MPI=ON") != std::string::npos)
      GTEST_SKIP() << "this tool was built without MPI (-DWARPLOOM_MPI=ON)";
    EXPECT_THAT(run.err, HasSubstr("take files that are there"));
    const ToolRun mpirun = here("mpirun --version");
    if (mpirun.out.find("Open MPI") == std::string::npos)
      GTEST_SKIP() << "there is no mpirun of Open MPI: " << mpirun.out << mpirun.err;
  }
};

TEST_F(Mpi, CountsTheKmersOfOneProcess) {
  std::string letters;
  for (unsigned at = 0; at < 300'000; ++at)
    letters += fmt::format("{}{}", "ACGT"[at * at / 7 % 4 ^ at / 1000 % 4], at % 70 == 69 ? "\n" : "");
  make("g.fa", ">g\n" + letters + "\n");
  const std::string count = "table count g.fa --kmer 17 --canonical --top 5 --device cpu --json --threads 1";
  const ToolRun alone = here("\"$WARPLOOM\" " + count + " --histogram h1 --database d1");
  ASSERT_EQ(alone.code, 0) << alone.err;
  for (const int processes : {2, 4}) {
    const ToolRun run =
        shared(processes, count + fmt::format(" --histogram h{0} --database d{0}", processes));
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(run.out.substr(run.out.find("\"values\"")), alone.out.substr(alone.out.find("\"values\"")));
    EXPECT_THAT(run.out, HasSubstr(fmt::format("of {} processes", processes)));
    EXPECT_EQ(content_of(directory / fmt::format("h{}", processes)), content_of(directory / "h1"));
    EXPECT_EQ(content_of(directory / fmt::format("d{}", processes)), content_of(directory / "d1"));
  }
}

TEST_F(Mpi, SolvesADynamicProgramAsOneProcess) {
  std::string bases;
  for (unsigned at = 0; at < 700; ++at) bases += "GACU"[(at * at + at / 3) % 4];
  make("r.fa", ">r\n" + bases + "\n");
  const ToolRun alone = here("\"$WARPLOOM\" dp nussinov r.fa --device cpu");
  ASSERT_EQ(alone.code, 0) << alone.err;
  for (const int processes : {2, 4}) {
    const ToolRun run = shared(processes, fmt::format("dp nussinov r.fa -o out{} --threads 1", processes));
    ASSERT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(content_of(directory / fmt::format("out{}", processes)), alone.out);
  }
}

TEST_F(Mpi, OneProcessThatFailsEndsAll) {
  make("r.fa", ">r\nGACUGACUGACU\n");
  make("out", "there");
  const ToolRun run = shared(2, "dp nussinov r.fa -o out");  // rank 0 alone looks whether it is there
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("out exists; give --force"));
  EXPECT_EQ(content_of(directory / "out"), "there");
}

}  // namespace
}  // namespace warploom
