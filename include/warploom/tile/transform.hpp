#pragma once

#include <variant>

#include "warploom/tile/dependence.hpp"

namespace warploom::tile {

/// --permute k,i,j: these loops in this order, in the places that they hold together.
struct Permute {
  std::vector<std::string> order = {};
  std::vector<int> statements = {};  ///< only loops around these; empty: around any
};
/// --tile i=32,j=32: strip-mines each and moves the strips' loops outside in this order: ii, jj. What runs
/// within the strips keeps its order.
struct Tile {
  std::vector<std::pair<std::string, std::int64_t>> sizes = {};
  std::vector<int> statements = {};
};
/// --strip-mine i=32: ii, i; the order of iterations stays.
struct StripMine {
  std::string loop = {};
  std::int64_t size = 0;
  std::vector<int> statements = {};
};
/// --skew j=1*i: j runs factor * i later, j' = j + factor * i.
struct Skew {
  std::string loop = {};
  std::int64_t factor = 1;
  std::string by = {};
  std::vector<int> statements = {};
};
/// --jam i=4,k=4: unroll and jam. Strips of each loop in its place; the iterations of a strip run one after
/// the other within the innermost loop, and are written out where the strip is full. The first loop named
/// runs slowest among them.
struct Jam {
  std::vector<std::pair<std::string, std::int64_t>> sizes = {};
  std::vector<int> statements = {};  ///< the loops around these; empty: around any
};
/// --time-tile t=16,32,64: strips of a time loop and, of each dimension of the arrays that are written within
/// it, strips that move with time as far as the values do. Statements within one time step follow each other
/// as far behind as they have to (Wonnacott, "Using time skewing to eliminate idle time due to memory
/// bandwidth and network limitations", IPDPS 2000). What runs within a tile keeps its order.
struct TimeTile {
  std::string loop = {};
  std::vector<std::int64_t> sizes = {};  ///< of the time loop, then of each dimension, outermost first
  std::vector<int> statements = {};      ///< the loop around these; empty: around any
};
using Step = std::variant<Permute, Tile, StripMine, Skew, Jam, TimeTile>;
/// "tile i=32, j=32"
std::string to_text(const Step& step);

/// Whether an order of iterations keeps every dependence.
struct Verdict {
  bool legal = true;
  std::optional<Dependence> violated = {};  ///< its witness is a pair that the new order turns round
  std::string reason = {};                  ///< one sentence for people
};

/// Which reductions may combine their values in any order: sums and products change where they are rounded,
/// the least and the greatest of floats where there are NaN and -0. Integers are combined as unsigned ones,
/// which wrap around, so that nothing changes.
enum class Reassociate { nothing, integers, everything };

struct Polyhedra;
/// When each iteration runs: a vector of integers for each statement's iterations, compared in dictionary
/// order (src/tile/order/schedule.hpp). Cheap to copy.
class Schedule {
 public:
  /// The order of the text.
  static Schedule of_source(const Nest& nest);
  /// One step more. Loops are named as in the source or as earlier steps named them (strips: "ii"). Where the
  /// named loops do not nest perfectly, the statements within get loops of their own first (distribution).
  /// Says nothing of legality.  @throws BadInput (no such loop, a size below 1, loops that do not nest)
  Schedule then(const Step& step) const;
  /// Exact, for all sizes that the nest allows.
  /// @param reorder_reductions  the runs of one reduction may take any order (rounding changes)
  Verdict verdict(bool reorder_reductions = false) const;
  /// The loops, `parallel` where no dependence of the nest is carried; or none but those of reductions of a
  /// scalar that may be taken in any order.
  Node code(Reassociate reductions = Reassociate::nothing) const;

  struct Impl;
  /// @throws BadInput (a null pointer)
  explicit Schedule(std::shared_ptr<const Impl> impl);
  // One that is moved is copied, so that what is left is whole.
  Schedule(const Schedule&) = default;
  Schedule& operator=(const Schedule&) = default;
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

/// All steps; refuses the illegal.
/// @param reorder_reductions  as of Schedule::verdict()
/// @throws BadInput with the violated dependence and its witness
Schedule transform(const Nest& nest, const std::vector<Step>& steps, bool reorder_reductions = false);

/// A chain of skews after which the band may be permuted and tiled, if there is one with factors up to 4;
/// empty if none is needed; none if the statements do not share the band's loops.
/// @throws BadInput (a statement that the nest lacks, a loop that is not around it)
std::optional<std::vector<Skew>> skew_for_tiling(const Nest& nest, const Band& band);

/// Steps of --auto for a CPU. Loops around sweeps over arrays are tiled in time. Of other nests each chain of
/// loops takes the order that touches the fewest cache lines (the contiguous loop innermost; Carr, McKinley
/// and Tseng, "Compiler Optimizations for Improving Data Locality", ASPLOS 1994), is tiled where a reference
/// is used again by a loop that is not innermost, and jams loops whose iterations share what they load, or
/// whose innermost loop waits for itself. Only what is legal.
std::vector<Step> steps_for_cpu(const Nest& nest);

/// --auto for a CPU.
struct CpuPlan {
  Nest nest =
      {};  ///< the source's; where operands are copied before it, with these copies as statements in front
  std::vector<Step> steps = {};  ///< of `nest`
};
/// @note up to some seconds, for nests of dozens of statements
CpuPlan plan_for_cpu(const Nest& nest);

/// A nest's share of a file.
struct CPart {
  const Nest& nest;
  const Node& code;
};
struct COptions {
  /// A function first looks whether sizes are as the nest assumes (what its subscripts need, and what was
  /// said of them) and whether arrays of which one is written overlap. Where that is so the program says it,
  /// and ends.
  bool checks_on_entry = false;
};
/// C of whole functions: the source's signature, `restrict` on the arrays, OpenMP where `parallel` and
/// outermost. Sizes that the source declares wider than int are long, and then so are loops.
/// @throws BadInput (index_range.hpp)
std::string emit_c(const std::vector<CPart>& parts, const COptions& options = {});
/// Of one nest.
std::string emit_c(const Nest& nest, const Node& code);

/// The source with the text of each nest, Region::first to Region::last, replaced by its code. All else stays
/// as it is, byte by byte. What was declared in the replaced text is declared again, and nothing outside is
/// needed for what is written: min and max become conditional expressions.
/// @param source  the text that the nests were read from
/// @throws BadInput (a region that does not stand in the source in one piece, two that overlap;
/// index_range.hpp)
std::string replace_in_source(std::string_view source, const std::vector<CPart>& parts);

}  // namespace warploom::tile
