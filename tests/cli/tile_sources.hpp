#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_tool.hpp"
#include "io/scratch.hpp"

namespace warploom {

/// Runs `warploom tile` in a directory with some sources.
class TileVerb : public Scratch {
 protected:
  using Json = nlohmann::json;

  TileVerb() {
    make("fill.c",
         "void fill(int n, float A[n][n]) {\n"
         "  for (int i = 0; i < n; i++)\n"
         "    for (int j = 0; j < n; j++)\n"
         "      A[i][j] = 1.0f;\n"
         "}\n");
    // Distance (1, -1): neither permuted nor tiled without a skew.
    make("diagonal.c",
         "void diagonal(int n, float A[n + 1][n], float B[n]) {\n"
         "  for (int i = 0; i < n; i++)\n"
         "    for (int j = 1; j < n; j++)\n"
         "      A[i + 1][j - 1] = A[i][j] + B[j];\n"
         "}\n");
    make("two.c",
         "void scale(int n, float x[n]) {\n"
         "  for (int i = 0; i < n; i++) x[i] = 2.0f * x[i];\n"
         "}\n"
         "void product(int m, double C[m][m], double A[m][m], double B[m][m]) {\n"
         "  for (int i = 0; i < m; i++)\n"
         "    for (int j = 0; j < m; j++) {\n"
         "      C[i][j] = 0;\n"
         "      for (int k = 0; k < m; k++) C[i][j] += A[i][k] * B[k][j];\n"
         "    }\n"
         "}\n");
    make("mixed.c",
         "void inside(int n, float A[n]) {\n"
         "  for (int i = 0; i < n; i++) A[i] = 1.0f;\n"
         "}\n"
         "void outside(int n, float A[n]) {\n"
         "  for (int i = 0; i < n; i++)\n"
         "    A[i * i] = 1.0f;\n"
         "}\n");
  }

  ToolRun shell(const std::string& command) const {
    return run_shell("cd '" + directory.string() + "' && " + command);
  }
  ToolRun tile(const std::string& arguments) const { return shell("\"$WARPLOOM\" tile " + arguments); }
  /// The source as a file of its own.
  ToolRun tile_text(const std::string& source, const std::string& arguments = "") const {
    make("text.c", source);
    return tile("text.c " + arguments);
  }
  Json tile_json(const std::string& arguments) const {
    const ToolRun run = tile(arguments + " --json");
    EXPECT_EQ(run.code, 0) << arguments << "\n" << run.err;
    return Json::parse(run.out);
  }
  /// Every name in the directory, sorted.
  std::string names() const { return shell("ls -A").out; }
};

}  // namespace warploom
