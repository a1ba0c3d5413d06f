// Stands in for libFuzzer where it is not used: runs the fuzz target once on each file named and on
// each file in the directories named, so that the seeds are tests under every compiler.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "warploom/core/file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fs = std::filesystem;

static std::size_t replay(const fs::path& path) {
  if (fs::is_directory(path)) {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) count += replay(entry.path());
    return count;
  }
  const std::string input = warploom::read_file(path);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  return 1;
}

int main(int argc, char** argv) {
  std::size_t count = 0;
  for (int k = 1; k < argc; ++k) count += replay(argv[k]);
  fmt::print("{} inputs\n", count);
  return count > 0 ? 0 : 1;  // an empty directory tests nothing
}
