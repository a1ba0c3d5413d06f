#pragma once

#include "warploom/tile/gpu.hpp"
#include "warploom/tile/locality.hpp"

namespace warploom::tile {

/// One order of loops, or one list of steps, and whether it keeps every dependence.
struct Judged {
  std::vector<Step> steps = {};
  Verdict verdict = {};
  std::vector<Skew> cure = {};  ///< illegal: skews after which the same steps are legal, if some were found
};

/// Everything that there is to say of a nest before it is changed.
struct Explanation {
  std::vector<Reuse> reuse = {};
  std::vector<Footprint> footprint = {};  ///< of `tile`
  std::map<std::string, std::int64_t> tile = {};
  std::vector<Dependence> dependences = {};
  std::vector<Band> bands = {};  ///< fully permutable in the order of the text
  std::vector<Judged> permutations =
      {};  ///< of each chain of at most four loops; outer loops that stay are not named
  std::vector<Judged> tilings = {};  ///< of each chain: all its loops, by `tile`; and bands within chains
  std::vector<Judged> asked = {};    ///< what the caller asked for
  std::vector<std::string> remarks = {};
};

struct ExplainOptions {
  std::map<std::string, std::int64_t> tile =
      {};                        ///< extents of tiles by loop; loops not named: 32, short loops: half
  std::vector<Step> steps = {};  ///< what is asked for
  int line_bytes = 128;
};

/// @note well under a second for each of PolyBench's nests
Explanation explain(const Nest& nest, const ExplainOptions& options = {});

/// For a terminal.
std::string to_text(const Nest& nest, const Explanation& explanation);
/// An object; the schema stands in docs/guide/tile.md.
std::string to_json(const Nest& nest, const Explanation& explanation);

/// A program for a GPU, to be told of.
struct GpuPlan {
  GpuProgram program = {};       ///< mapping, placements with their reasons
  GpuOptions options = {};       ///< that it was made with
  std::vector<Cost> costs = {};  ///< of each kernel, where all sizes are known
};
/// Kernels: where each array lives and why, with the numbers behind it, and what the kernel should take.
std::string to_text(const Nest& nest, const GpuPlan& plan);
/// An object; the schema stands in docs/guide/tile.md.
std::string to_json(const Nest& nest, const GpuPlan& plan);

/// One self-contained page for all nests of a file: source, iteration spaces of 2-D nests with dependence
/// arrows and the traversal of tiles, reuse and dependence tables, and what was emitted if anything was.
struct PagePart {
  Nest nest = {};
  Explanation explanation = {};
  std::string transformed_c = {}, cuda = {};  ///< empty: not asked for
  std::optional<GpuPlan> gpu = {};
};
/// @param source  the file's text, to be shown with line numbers; empty: the nests are written from their
/// trees
std::string to_html(const std::string& file, const std::vector<PagePart>& parts,
                    std::string_view source = {});

}  // namespace warploom::tile
