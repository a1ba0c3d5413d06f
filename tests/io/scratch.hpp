#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "child.hpp"

namespace warploom {

/// A directory of its own for each test, open to every user, and removed afterwards.
class Scratch : public testing::Test {
 protected:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "warploom_io_XXXXXX").string();
    directory = mkdtemp(pattern.data());
    std::filesystem::permissions(directory, std::filesystem::perms::all);
  }
  ~Scratch() override { std::filesystem::remove_all(directory); }

  std::filesystem::path make(const std::string& name, const std::string& content) const {
    std::ofstream(directory / name, std::ios::binary) << content;
    return directory / name;
  }
  std::filesystem::path directory;
};

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace warploom
