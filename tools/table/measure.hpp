#pragma once

#include <string>

#include "warploom/count/measure.hpp"
#include "warploom/json/json.hpp"

namespace warploom::tool {

using table::Experiment;
using table::Measurement;

/// "50 %", or "-" of none
std::string share_text(const table::Success& success);

/// Everything, for machines.
Json as_json(const Measurement& measurement);

/// How many chains have how many pairs, as bars; long tails are put together. A line each.
std::string chains_text(const table::Statistics& statistics);
/// How even the n tables are: least, mean and most pairs, and standard deviation over mean.
std::string occupancy_text(const table::Statistics& statistics);

}  // namespace warploom::tool
