#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>

#include "warploom/tile/nest.hpp"

/// The nests of examples/tile.
namespace warploom::tile::test {

inline std::filesystem::path example_folder() {
  return std::filesystem::path(WARPLOOM_TESTS_DIR).parent_path() / "examples" / "tile";
}

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The first nest of a file: example("lecture/reuse").
inline Nest example(const std::string& name, std::vector<SizeRange> sizes = {}) {
  const std::filesystem::path path = example_folder() / (name + ".c");
  return Nest::analyse(read_source(file_text(path), path.filename(), {}).at(0), std::move(sizes));
}

}  // namespace warploom::tile::test
