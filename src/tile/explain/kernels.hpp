#pragma once

#include "warploom/page/html.hpp"
#include "warploom/tile/explain.hpp"

/// What people are shown of a GPU program, on the page and in the terminal alike.
namespace warploom::tile {

/// "(nj + 127) / 128 x (ni + 127) / 128 blocks of 256 threads"
std::string launch_text(const Kernel& kernel);

/// Where one array lives. What says nothing of the place is empty.
struct PlacementRow {
  std::string array, space;
  std::string bytes;           ///< "16,384 a block"
  std::string sectors;         ///< of one access of a warp: "32, at best 4"
  std::string bank_conflicts;  ///< "1": threads of a warp on one bank, at different words
  std::string reuse;           ///< "128 times in the block, 8 times in registers"
  std::string reason;
};
std::vector<PlacementRow> placement_rows(const Kernel& kernel);

/// The numbers of a kernel whose cost is known, as text: {"Global memory", "1,024", "bytes"}.
std::vector<page::Fact> cost_facts(const GpuPlan& plan, std::size_t kernel);

}  // namespace warploom::tile
