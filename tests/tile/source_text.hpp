#pragma once

#include <gtest/gtest.h>

#include <string>

#include "region_text.hpp"
#include "warploom/core/error.hpp"

namespace warploom::tile::test {

inline std::vector<Region> read(const std::string& text, const SourceOptions& options = {}) {
  return read_source(text, "nest.c", options);
}

/// The only region of a text that is inside of the subset.
inline Region read_region(const std::string& text, const SourceOptions& options = {}) {
  std::vector<Region> regions = read(text, options);
  if (regions.size() != 1) throw std::runtime_error(std::to_string(regions.size()) + " regions in " + text);
  for (const Refusal& refusal : regions[0].refusals)
    ADD_FAILURE() << to_text("nest.c", refusal) << " in\n" << text;
  return std::move(regions[0]);
}

/// A function around statements; what they may name: sizes n and m, arrays A, B, x, y, scalars alpha and
/// beta.
inline std::string function_of(const std::string& statements) {
  return "void f(int n, int m, float A[n][m], float B[n][m], float x[n], double y[n], float alpha, double beta) {\n" +
         statements + "\n}\n";
}
inline std::string body_of(const std::string& statements) {
  return to_text(read_region(function_of(statements)).body);
}

/// What was refused: "2:1: while loop".
inline std::vector<std::string> refusals_of(const std::string& text) {
  std::vector<std::string> all;
  for (const Region& region : read(text))
    for (const Refusal& refusal : region.refusals) {
      all.push_back(std::to_string(refusal.at.line) + ':' + std::to_string(refusal.at.column) + ": " +
                    refusal.construct);
      EXPECT_FALSE(refusal.why.empty());
    }
  return all;
}

/// The message of the ParseError for a text, without the file's name.
inline std::string parse_error_of(const std::string& text, const SourceOptions& options = {}) {
  try {
    read(text, options);
  } catch (const ParseError& error) {
    return std::string(error.what()).substr(7);  // "nest.c:"
  }
  return "none";
}

}  // namespace warploom::tile::test
