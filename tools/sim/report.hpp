#pragma once

#include <string>
#include <vector>

#include "warploom/json/json.hpp"
#include "warploom/sim/arguments.hpp"

/// What `warploom sim` says of its launches, for people and for machines.
namespace warploom::tool {

/// One launch under one schedule.
struct SimRun {
  const sim::LaunchText* launch = nullptr;
  sim::LaunchOptions options;
  sim::Outcome outcome;
  std::string remark = {};  ///< why a GPU would not launch it; empty: none is known
  double seconds = 0;       ///< of the launch alone, by the clock on the wall

  /// Thread instructions a second and CPU thread.
  double speed() const;
};

/// What memory held after a launch: a buffer argument, or a variable of the module.
struct SimMemory {
  std::string label;  ///< "argument 1", "variable counter"
  std::string type;   ///< of its elements, as --arg names it
  std::vector<std::byte> bytes;
};

/// What the kernel printed, a block of facts, and the findings in full.
std::string as_text(const SimRun& run);
Json as_json(const SimRun& run);

/// One line for each memory that two schedules left different.
std::vector<std::string> differences(const SimRun& first, const std::vector<SimMemory>& left,
                                     const SimRun& second, const std::vector<SimMemory>& right);

}  // namespace warploom::tool
