// `warploom example`: every example it lists can be written, and the command that it says to type next runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "cli/run_tool.hpp"
#include "io/scratch.hpp"
#include "warploom/core/file.hpp"

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> names() {
  std::vector<std::string> all;
  std::istringstream lines(run_tool("example").out);
  for (std::string line; std::getline(lines, line);) all.push_back(line.substr(0, line.find(' ')));
  return all;
}

class ExampleVerb : public Scratch {
 protected:
  ToolRun run(const std::string& command) const {
    const std::string path = std::filesystem::path(WARPLOOM_TOOL).parent_path().string();
    return run_shell("cd '" + directory.string() + "' && export PATH='" + path + "':\"$PATH\" && " + command);
  }
  std::ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(directory), {}); }
};

TEST_F(ExampleVerb, SaysACommandThatRuns) {
  ASSERT_GE(names().size(), 10u);
  for (const std::string& name : names()) {
    const ToolRun written = run("warploom example " + name);
    EXPECT_EQ(written.code, 0) << name << written.err;
    const std::size_t next = written.out.find("Next: ");
    ASSERT_NE(next, std::string::npos) << name;
    const ToolRun tried = run("rm -rf found && " + written.out.substr(next + 6));
    EXPECT_EQ(tried.code, 0) << name << tried.err;
  }
}

TEST_F(ExampleVerb, IsTheSameEachTime) {
  EXPECT_EQ(run("warploom example activity && warploom example activity -o again").code, 0);
  EXPECT_EQ(read_file(directory / "activity.txt"), read_file(directory / "again" / "activity.txt"));
}

TEST_F(ExampleVerb, ReplacesNothingUnasked) {
  make("dwi.bvec", "mine");  // the last of three
  const ToolRun refused = run("warploom example series");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("dwi.bvec exists"), HasSubstr("--force")));
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(run("warploom example series --force").code, 0);
  EXPECT_EQ(files(), 3);
}

TEST_F(ExampleVerb, SuggestsTheNearestName) {
  const ToolRun refused = run("warploom example serie");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("there is no example 'serie'"), HasSubstr("did you mean series?")));
  EXPECT_EQ(files(), 0);
}

TEST_F(ExampleVerb, SaysThatItCannotWrite) {
  make("file", "");
  const ToolRun refused = run("warploom example rna -o file/inside");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("file"));
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace warploom
