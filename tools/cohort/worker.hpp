#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "item.hpp"

namespace warploom::tool {

enum class CohortState {
  open,
  taken,      ///< by a thread of this process
  elsewhere,  ///< claimed by another worker
  there,      ///< was done before
  done,
  failed,
};
std::string_view name(CohortState state);

/// Of one item, at the end.
struct CohortOutcome {
  CohortItem item = {};
  CohortState state = CohortState::open;
  double seconds = 0;
  std::size_t outputs = 0;
  std::string error = {};
};

struct CohortPlan {
  std::vector<CohortItem> items = {};
  CohortCommand command;
  std::filesystem::path folder;  ///< of results
  unsigned at_once = 1;          ///< items
  std::uint64_t memory = 0;      ///< [bytes] that all at once may hold, by memory_of()
  std::chrono::milliseconds beat{10'000};
  bool force = false;  ///< files that exist and are of no earlier run are replaced
};

/// Bytes that work on an item is taken to hold: twelve times its content.
std::uint64_t memory_of(const CohortItem& item);

/// Does all items that are not done, together with other workers on the folder, and returns when none is
/// left: items of a worker that dies are done by those that live.
/// @throws Interrupted, when what was begun is cleared away; BadInput (the folder cannot be written to)
std::vector<CohortOutcome> run_cohort(const CohortPlan& plan);

/// Is it a command line of the tool that can be run of many inputs? @throws BadInput
void check_words(const std::vector<std::string>& words);
/// Runs the tool's command line in this process; `out` gets what it prints.
/// @return its exit code. @throws what the verb throws
int run_words(const std::vector<std::string>& words, std::string& out, std::string& error);

}  // namespace warploom::tool
