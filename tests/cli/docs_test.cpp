// What README and the guides print is run, as it is printed: each page's ```sh blocks in order, in an empty
// folder with the repository's `examples` beside it and `warploom` in PATH. A ```text block right behind one
// is what it prints: times, rates and devices may differ, a line `...` stands for any lines, and a block that
// ends before the output does ends with such a line. What cannot run here says so in a comment before the
// block: <!-- needs: gpu -->. A block that is to end with another exit code than 0 has <!-- exit: 1 -->
// before it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run_tool.hpp"
#include "io/scratch.hpp"
#include "warploom/core/file.hpp"

namespace warploom {
namespace {
namespace fs = std::filesystem;

const fs::path kRoot = fs::path(WARPLOOM_TESTS_DIR).parent_path();

struct Block {
  std::size_t line = 0;  ///< of the page, from 1
  std::string commands, shown, needs;
  int exit = 0;
};

std::vector<std::string> lines_in(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The word behind "<!-- NAME: ", or "".
std::string remark(const std::string& line, const std::string& name) {
  const std::string begin = "<!-- " + name + ": ";
  return line.starts_with(begin) && line.ends_with(" -->")
             ? line.substr(begin.size(), line.size() - begin.size() - 4)
             : "";
}

std::vector<Block> blocks_of(const fs::path& page) {
  std::vector<Block> blocks;
  std::string* into = nullptr;
  Block next;
  bool just_ended = false;  // only blanks since the commands
  std::size_t number = 0;
  for (const std::string& line : lines_in(read_file(page))) {
    ++number;
    if (into != nullptr) {
      if (line == "```")
        just_ended = into == &blocks.back().commands, into = nullptr;
      else
        *into += line + "\n";
    } else if (line == "```sh") {
      next.line = number;
      blocks.push_back(std::exchange(next, {}));
      into = &blocks.back().commands;
    } else if (line == "```text" && just_ended) {
      into = &blocks.back().shown;
    } else if (!line.empty()) {
      just_ended = false;
      if (const std::string needs = remark(line, "needs"); !needs.empty()) next.needs = needs;
      if (const std::string exit = remark(line, "exit"); !exit.empty()) next.exit = std::stoi(exit);
    }
  }
  return blocks;
}

/// Without what differs from run to run: numbers before a unit of time or behind a word about it, and
/// trailing blanks.
std::string masked(std::string line) {
  static const std::regex timed(R"([0-9][0-9.,e+-]*(?= ?(s|ms|us|min|GB/s|[GMk]?/s)\b))"),
      about_time(R"(\b(seconds|time|times|rate|wall)\b)"), number(R"([0-9][0-9.,e+-]*)"), blanks(R"( +)");
  line = std::regex_replace(line, std::regex_search(line, about_time) ? number : timed, "#");
  line = std::regex_replace(line, blanks, " ");
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

/// Whether the lines are those shown, where "..." is any.
bool agree(const std::vector<std::string>& shown, const std::vector<std::string>& printed, std::size_t s = 0,
           std::size_t p = 0) {
  for (; s < shown.size(); ++s, ++p) {
    if (shown[s] == "...") {
      for (std::size_t from = p; from <= printed.size(); ++from)
        if (agree(shown, printed, s + 1, from)) return true;
      return false;
    }
    if (p == printed.size() || masked(shown[s]) != masked(printed[p])) return false;
  }
  return p == printed.size();
}

std::vector<std::string> pages() {
  std::vector<std::string> all = {"README.md"};
  for (const auto& file : fs::directory_iterator(kRoot / "docs" / "guide"))
    if (file.path().extension() == ".md") all.push_back(fs::relative(file.path(), kRoot).string());
  std::ranges::sort(all);
  return all;
}

class Documented : public Scratch, public testing::WithParamInterface<std::string> {};

TEST_P(Documented, CommandsRunAndPrintWhatIsShown) {
  fs::create_directory_symlink(kRoot / "examples", directory / "examples");
  const std::string path = fs::path(WARPLOOM_TOOL).parent_path().string();
  for (const Block& block : blocks_of(kRoot / GetParam())) {
    SCOPED_TRACE(GetParam() + ":" + std::to_string(block.line));
    if (!block.needs.empty()) continue;
    const ToolRun run =
        run_shell("cd '" + directory.string() + "' && export PATH='" + path +
                  "':\"$PATH\" && bash -e <<'WARPLOOM_END'\n" + block.commands + "WARPLOOM_END");
    EXPECT_EQ(run.code, block.exit) << block.commands << run.err;
    if (block.shown.empty()) continue;
    EXPECT_TRUE(agree(lines_in(block.shown), lines_in(run.out)) ||
                agree(lines_in(block.shown), lines_in(run.err + run.out)))
        << block.commands << "prints\n"
        << run.out << run.err << "and the page shows\n"
        << block.shown;
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, Documented, testing::ValuesIn(pages()), [](const auto& page) {
  std::string name = fs::path(page.param).stem().string();
  std::ranges::replace(name, '-', '_');
  return name;
});

class DocumentedPictures : public Scratch {};

TEST_F(DocumentedPictures, AreThoseThatTheCommandsMake) {
  const std::string svg = (directory / "triangles.svg").string();
  EXPECT_EQ(
      run_tool("dp polygon '" + (kRoot / "examples/polygon.csv").string() + "' --svg '" + svg + "'").code, 0);
  EXPECT_EQ(read_file(svg), read_file(kRoot / "docs/guide/dp-polygon.svg"));
}

}  // namespace
}  // namespace warploom
