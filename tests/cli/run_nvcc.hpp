#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cli/run_tool.hpp"

namespace warploom {

/// A directory for one test, with $NVCC set to the toolkit's nvcc and $TMPDIR to a directory of its own.
class NvccTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string find =
        "for n in \"$(command -v nvcc)\" \"$CUDA_HOME/bin/nvcc\" /usr/local/cuda/bin/nvcc; do "
        "[ -x \"$n\" ] && [ -e \"$(dirname \"$n\")/nvcc.profile\" ] && printf %s \"$n\" && exit; done";
    nvcc_ = run_shell(find).out;
    std::string pattern = (std::filesystem::temp_directory_path() / "warploom nvcc XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    std::filesystem::create_directory(directory_ / "tmp");
    if (nvcc_.empty()) GTEST_SKIP() << "no CUDA toolkit: nvcc is neither in PATH nor in /usr/local/cuda/bin";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path file(const std::string& name) const { return directory_ / name; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(file(name).parent_path());
    write_file_atomically(file(name), text);
  }
  std::string read(const std::string& name) const { return read_file(file(name)); }

  /// What leads a shell into the test's directory.
  std::string here() const {
    return "cd '" + directory_.string() + "' && export NVCC='" + nvcc_ + "' TMPDIR='" + file("tmp").string() +
           "' && unset WARPLOOM_DISABLE WARPLOOM_REUSE_FLAGS WARPLOOM_ONLY WARPLOOM_EXCEPT WARPLOOM_LOG";
  }
  /// A shell command line there.
  ToolRun shell(const std::string& command) const { return run_shell(here() + " && " + command); }

  std::filesystem::path directory_;
  std::string nvcc_;
};

}  // namespace warploom
