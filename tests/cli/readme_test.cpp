// The README's examples are run, and their output compared with what the README shows.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cli/run_tool.hpp"
#include "io/scratch.hpp"
#include "warploom/core/file.hpp"

namespace warploom {
namespace {

/// The text between ```language and ``` at or after `from`.
std::string fenced(const std::string& page, const std::string& language, std::size_t from) {
  const std::string fence = "```" + language + "\n";
  const std::size_t begin = page.find(fence, from) + fence.size();
  return page.substr(begin, page.find("```", begin) - begin);
}

/// Runs the commands under a heading in a directory that has the examples.
class Readme : public Scratch {
 protected:
  ToolRun run_under(const std::string& heading, std::string& shown) const {
    const std::string page = read_file(WARPLOOM_TESTS_DIR "/../README.md");
    const std::size_t at = page.find("## " + heading + "\n");
    shown = fenced(page, "text", at);
    std::filesystem::create_directory_symlink(WARPLOOM_TESTS_DIR "/../examples", directory / "examples");
    return run_shell("cd '" + directory.string() + "' && warploom() { \"$WARPLOOM\" \"$@\"; }\n" +
                     fenced(page, "sh", at));
  }
};

TEST_F(Readme, ShowsTheRealOutputOfReuse) {
  std::string shown;
  const ToolRun run = run_under("Thirty seconds", shown);
  ASSERT_TRUE(shown.ends_with("\n...\n"));
  shown.resize(shown.size() - 4);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, testing::StartsWith(shown));
}

TEST_F(Readme, ShowsTheRealOutputOfDp) {
  std::string shown;
  const ToolRun run = run_under("On chains, sequences and polygons", shown);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, shown);
  // The guide shows this picture.
  EXPECT_EQ(read_file(directory / "triangles.svg"),
            read_file(WARPLOOM_TESTS_DIR "/../docs/guide/dp-polygon.svg"));
  EXPECT_THAT(read_file(directory / "arcs.svg"), testing::EndsWith("</svg>\n"));
}

TEST_F(Readme, ShowsTheRealOutputOfTable) {
  std::string shown;
  const ToolRun run = run_under("On keys and counts", shown);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, shown);
}

TEST_F(Readme, ShowsTheRealOutputOfTile) {
  std::string shown;
  const ToolRun run = run_under("On loop nests", shown);
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, shown);
}

}  // namespace
}  // namespace warploom
