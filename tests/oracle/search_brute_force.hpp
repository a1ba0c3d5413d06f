#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warploom/search/index.hpp"

/// Slow and obvious search: whole matrices in double precision, and candidates chosen by looking at all of
/// them.
namespace warploom::oracle {

/// The distance that search/distance.hpp defines.
double dtw(std::span<const float> query, std::span<const float> window, std::int64_t radius, bool normalize);

/// Of all windows of `channel`; infinity where a window touches a missing sample; empty if there is none.
std::vector<double> profile(const search::Pattern& pattern, std::span<const float> channel, bool normalize);

/// The distance that search/joint.hpp defines.
double joint(const search::JointPattern& pattern, const std::vector<std::vector<float>>& window,
             bool normalize);
/// Of all windows of a recording.
std::vector<double> profile(const search::JointPattern& pattern, const search::Signal& signal,
                            bool normalize);

struct Choice {
  std::int64_t offset;
  double distance;
  std::int32_t pattern;
};

/// What Index::best() is to find for one task.
std::vector<Choice> best(const search::Signal& signal, std::span<const search::Pattern> patterns,
                         const search::Task& task, bool normalize);

std::vector<Choice> best(const search::Signal& signal, std::span<const search::JointPattern> patterns,
                         const search::JointTask& task, bool normalize);

}  // namespace warploom::oracle
