// `warploom table bench` that comes to no good end: Ctrl-C, and memory that cannot be had.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

#include "io/scratch.hpp"
#include "run_tool.hpp"
#include "warploom/core/sanitizers.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

class TableStop : public Scratch {
 protected:
  std::string path(const std::string& file) const { return (directory / file).string(); }
  std::string bench(const std::string& arguments) const {
    return "\"$WARPLOOM\" table bench --device cpu --threads 1 " + arguments + " -o " + path("out.json") +
           " --svg " + path("plot.svg");
  }
};

TEST_F(TableStop, CtrlCEndsEveryPhaseAndLeavesNoFile) {
  for (const char* phase : {
           "--preload 2^26 --capacity 1000",                               // putting in, and growing
           "--preload 2^26 --capacity 1000 --structure list",              // likewise
           "--preload 0 --universe 1000 --batch 1000 --rounds 1000000",    // many batches
           "--preload 0 --universe 1000 --batch 2^23 --distribution zipf"  // a long one
       }) {
    const ToolRun run = run_and_signal(bench(phase));
    EXPECT_EQ(run.code, 130) << phase;
    EXPECT_EQ(run.out, "") << phase;
    EXPECT_EQ(run.err, "warploom: interrupted; no output was written\n") << phase;
    EXPECT_TRUE(std::filesystem::is_empty(directory)) << phase;
  }
}

TEST_F(TableStop, CtrlCLeavesFilesThatWereToBeReplaced) {
  make("out.json", "before");
  make("plot.svg", "before too");
  const std::string work = bench("--force --preload 0 --universe 1000 --batch 1000 --rounds 1000000");
  EXPECT_EQ(run_and_signal(work).code, 130);
  EXPECT_EQ(content_of(directory / "out.json"), "before");
  EXPECT_EQ(content_of(directory / "plot.svg"), "before too");
  const std::filesystem::directory_iterator files(directory);
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

TEST_F(TableStop, MemoryThatCannotBeHadIsOneLine) {
#if WARPLOOM_ADDRESS_SANITIZER || WARPLOOM_THREAD_SANITIZER
  GTEST_SKIP() << "sanitizers reserve more address space than the limit of this test";
#endif
  const std::pair<const char*, const char*> cases[] = {
      {"--preload 2^26", "warploom: a hash table of "},
      {"--preload 2^26 --structure list", "warploom: the list table needs "},
      {"--preload 1000 --batch 2^26", "warploom: a batch of 67,108,864 operations needs "}};
  for (const auto& [arguments, says] : cases) {
    const ToolRun run = run_shell("ulimit -v 500000; " + bench(arguments));
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_EQ(run.out, "") << arguments;
    EXPECT_THAT(run.err, AllOf(HasSubstr(says), HasSubstr(" of memory, "), EndsWith(" are available\n")));
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_TRUE(std::filesystem::is_empty(directory)) << arguments;
  }
}

}  // namespace
}  // namespace warploom
