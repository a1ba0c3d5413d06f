// The README's example is run, and its output compared with what the README shows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/run_tool.hpp"
#include "warploom/core/file.hpp"

namespace warploom {
namespace {

/// The text between ```language and ``` at or after `from`.
std::string fenced(const std::string& page, const std::string& language, std::size_t from) {
  const std::string fence = "```" + language + "\n";
  const std::size_t begin = page.find(fence, from) + fence.size();
  return page.substr(begin, page.find("```", begin) - begin);
}

TEST(Readme, ShowsTheRealOutputOfItsExample) {
  const std::string page = read_file(WARPLOOM_TESTS_DIR "/../README.md");
  const std::size_t at = page.find("## Thirty seconds");
  const std::string command = fenced(page, "sh", at);
  ASSERT_TRUE(command.starts_with("warploom reuse examples/")) << command;
  std::string shown = fenced(page, "text", at);
  ASSERT_TRUE(shown.ends_with("\n...\n"));
  shown.resize(shown.size() - 4);

  const std::string arguments =
      command.substr(command.find(' ') + 1, command.find('\n') - command.find(' ') - 1);
  const ToolRun run = run_shell("cd '" WARPLOOM_TESTS_DIR "/..' && \"$WARPLOOM\" " + arguments);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, testing::StartsWith(shown));
}

}  // namespace
}  // namespace warploom
