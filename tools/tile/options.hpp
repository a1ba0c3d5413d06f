#pragma once

#include <chrono>
#include <memory>

#include "cli/command.hpp"
#include "warploom/tile/clang.hpp"
#include "warploom/tile/explain.hpp"

/// What `warploom tile` was asked for.
namespace warploom::tool {

struct TileOptions {
  std::string path;
  tile::SourceOptions source;
  std::string front_end = "auto";  ///< or "own", "clang"
  std::string database;            ///< -p: the folder of compile_commands.json
  tile::ClangOptions clang;        ///< its flags are those after --
  std::vector<tile::SizeRange> sizes;
  std::vector<tile::Step> steps;                  ///< in the order of the command line
  std::map<std::string, std::int64_t> footprint;  ///< --footprint: extents of a tile
  tile::GpuOptions gpu;
  bool automatic = false, explain = false, json = false, verify = false, force = false, in_place = false;
  bool reassociate = false;
  bool check_entry = false;                                       ///< --check-entry: of the C
  unsigned threads = 0;                                           ///< of --verify
  std::chrono::milliseconds time_limit = std::chrono::hours(24);  ///< of --verify
  std::string c, cuda, html;  ///< output files, "-" for standard output; empty: not asked for

  bool explains() const { return explain || json || !html.empty(); }
  bool emits_c() const { return !c.empty() || in_place || !html.empty(); }
  bool emits_cuda() const { return !cuda.empty() || verify || !html.empty(); }
};

/// Declares all options.
/// @return reads what they say, after parsing @throws BadInput naming option, text and what was expected
std::function<TileOptions()> add_tile_options(Command& command);

}  // namespace warploom::tool
