#pragma once

#include <string>
#include <utility>
#include <vector>

namespace warploom::table {

/// What is drawn of recordings: how often each status is, and when a recording has the one asked for.
struct Timeline {
  struct Row {
    std::string name = {};
    double seconds = 0;                                   ///< the recording's length
    std::vector<std::pair<double, double>> periods = {};  ///< [s] from, to
  };
  std::string title = {}, subtitle = {};
  std::string asked = {};                                   ///< the status of the rows' periods
  std::vector<std::pair<std::string, double>> shares = {};  ///< of the statuses [%], the greatest first
  std::vector<Row> rows = {};
};
/// As a picture. Names and titles are text. @throws BadInput (a length below 0 or not finite)
std::string svg(const Timeline& timeline);

}  // namespace warploom::table
