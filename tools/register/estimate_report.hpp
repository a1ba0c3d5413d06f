#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "landmarks.hpp"
#include "warploom/json/json.hpp"
#include "warploom/registration/workflow.hpp"

namespace warploom::tool {

/// One registration, for its report.
struct Estimate {
  std::string fixed = {}, moving = {};  ///< names for messages
  imaging::Grid fixed_grid = {}, moving_grid = {};
  registration::RegisterOptions options = {};
  std::string start = {}, fixed_mask = {}, moving_mask = {};  ///< as they were given
  std::uint64_t memory = 0;                                   ///< [bytes]
  registration::Registration result = {};                     ///< its field may be gone
  std::optional<Landmarks> landmarks = {};
  std::vector<std::pair<std::string, double>> times = {};  ///< seconds of each stage, the last of all
};

Json as_json(const Estimate& estimate);
/// @param stages  the time of each stage
std::string as_text(const Estimate& estimate, bool stages);

}  // namespace warploom::tool
