// All C++ that README and the guides show compiles: it is a program of examples/ or a piece of snippets.cpp.
// What the programs print is compared by tests/cli/docs_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/core/file.hpp"

namespace warploom {
namespace {
namespace fs = std::filesystem;

const fs::path kRoot = fs::path(WARPLOOM_TESTS_DIR).parent_path();

/// Lines without indentation, blank ones left out.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (const std::size_t begin = line.find_first_not_of(' '); begin != line.npos)
      lines.emplace_back(line.substr(begin));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The text of each ```cpp block of a page.
std::vector<std::string> blocks_of(const fs::path& page) {
  std::vector<std::string> blocks;
  const std::string text = "\n" + read_file(page);
  const std::string begin = "\n```cpp\n";
  for (std::size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
    const std::size_t first = at + begin.size();
    blocks.push_back(text.substr(first, text.find("\n```\n", first) - first));
  }
  return blocks;
}

/// Lines that stand at the top of a source, wherever the page has them.
bool heads(const std::string& line) {
  return line.starts_with("#include") || line.starts_with("using namespace");
}

bool holds(std::vector<std::string> source, std::vector<std::string> block) {
  for (const std::string& line : block)
    if (heads(line) && std::ranges::find(source, line) == source.end()) return false;
  std::erase_if(block, heads);
  std::erase_if(source, heads);
  return !std::ranges::search(source, block).empty();
}

std::vector<fs::path> compiled() {
  std::vector<fs::path> all = {kRoot / "tests/library/snippets.cpp", kRoot / "examples/hash_table.cpp"};
  for (const auto& file : fs::directory_iterator(kRoot / "examples/library")) all.push_back(file.path());
  return all;
}

TEST(Guides, ShowOnlyCodeThatIsCompiled) {
  std::vector<fs::path> pages = {kRoot / "README.md"};
  for (const auto& file : fs::directory_iterator(kRoot / "docs/guide"))
    if (file.path().extension() == ".md") pages.push_back(file.path());
  int blocks = 0;
  for (const fs::path& page : pages)
    for (const std::string& block : blocks_of(page)) {
      ++blocks;
      const auto is_there = [&](const fs::path& file) {
        return holds(lines_of(read_file(file)), lines_of(block));
      };
      EXPECT_TRUE(std::ranges::any_of(compiled(), is_there))
          << page << " shows what no source in examples/ or tests/library/snippets.cpp has:\n"
          << block;
    }
  EXPECT_GE(blocks, 20) << "the pages' blocks were not found";
}

TEST(Guides, TheLibrarysShowsEveryProgramWhole) {
  const std::vector<std::string> blocks = blocks_of(kRoot / "docs/guide/library.md");
  for (const auto& file : fs::directory_iterator(kRoot / "examples/library"))
    EXPECT_TRUE(std::ranges::any_of(blocks, [&](const std::string& block) {
      return lines_of(block) == lines_of(read_file(file.path()));
    })) << file.path();
}

}  // namespace
}  // namespace warploom
