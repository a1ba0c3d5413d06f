#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "search/signals.hpp"
#include "warploom/search/index.hpp"

namespace warploom::search {

/// Lists of windows that are asked for together: of two channels and five patterns, some of them empty, some
/// of the same windows or of as many others.
struct ListsOfWindows {
  std::vector<float> walk = random_walk(3000, 70), other = random_walk(3000, 71);
  std::vector<Pattern> patterns;
  std::vector<std::int64_t> some = {17, 0, 2300, 512, 511, 17}, few = {1024, 3}, none;
  std::vector<Windows> lists;

  ListsOfWindows() {
    for (const std::size_t length : {9, 40, 40, 150, 700})
      patterns.push_back({.samples = random_walk(length, 72 + static_cast<unsigned>(patterns.size())),
                          .radius = static_cast<std::int64_t>(length) / 9});
    for (const std::int32_t channel : {0, 1})
      for (std::int32_t pattern = 0; pattern < 5; ++pattern)
        for (const auto* offsets : {&some, &few, &none}) lists.push_back({pattern, channel, *offsets});
    lists.push_back({1, 0, std::span(some).first(2)});
  }
  ListsOfWindows(const ListsOfWindows&) = delete;  // lists are views of the members
  ListsOfWindows& operator=(const ListsOfWindows&) = delete;

  Signal signal() const { return {walk, other}; }
  /// That each list has the distances that `index` gives of all windows.
  void expect_of_each(const std::vector<std::vector<float>>& found, Index& index) const {
    ASSERT_EQ(found.size(), lists.size());
    for (std::size_t w = 0; w < lists.size(); ++w) {
      const auto& [pattern, channel, offsets] = lists[w];
      const std::vector<float> profile = index.profile(patterns[pattern], channel, 0, 2301);
      ASSERT_EQ(found[w].size(), offsets.size());
      for (std::size_t k = 0; k < offsets.size(); ++k)
        EXPECT_EQ(found[w][k], profile[offsets[k]]) << "list " << w << ", window " << k;
    }
  }
};

}  // namespace warploom::search
