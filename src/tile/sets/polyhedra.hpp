#pragma once

#include <isl/cpp.h>

#include <memory>
#include <mutex>
#include <set>

#include "warploom/core/error.hpp"
#include "warploom/tile/dependence.hpp"
#include "warploom/tile/nest.hpp"

/// The only headers that see isl are those of this folder.
namespace warploom::tile {

struct ContextDeleter {
  void operator()(isl_ctx* context) const { isl_ctx_free(context); }
};

/// A loop of the text around a statement.
struct SourceLoop {
  int number = 0;     ///< of the region's loops, in the order of the text
  int direction = 1;  ///< -1: it decreases
};

/// Sets and relations of one statement. Tuples are named by label ("S0"), dimensions are the statement's
/// loops, outermost first, parameters are the region's sizes; decreasing loops and steps keep the iterator's
/// own value.
struct StatementSets {
  std::vector<SourceLoop> loops;  ///< around it, outermost first
  std::vector<int> positions;     ///< in the region, in the first loop, ..., in the innermost loop
  std::vector<int> arms;          ///< branches on data around it, outermost first: a number for each side
  isl::set domain;                ///< S0[i, j, k] that run
  isl::map order;  ///< S0[i, j, k] -> [position, +-i, position, +-j, ..., position, 0...]: source order
  std::vector<isl::map> accesses;  ///< one a reference: S0[i, j, k] -> A[i, k]
};

/// All instances of one dependence: what Dependence sums up.
struct DependenceRelation {
  Dependence summary;
  isl::map pairs;  ///< S0[i, j] -> S1[i', j', k']
};

/// How long a variable's values in a statement last (lifetimes.hpp).
struct Lifetime {
  std::size_t depth = 0;  ///< of the outermost loops around it, which each value stays in one iteration of
  int group = 0;          ///< the same where values go from one statement to another
};

struct Polyhedra {
  std::shared_ptr<isl_ctx> context_owner;  ///< outlives every set below: first member
  mutable std::recursive_mutex turn;       ///< of the thread that works with sets of this context
  Region region;
  std::vector<SizeRange> sizes;
  std::vector<std::string> remarks;
  std::vector<Statement> statements;
  isl::set parameters;  ///< what is known of the sizes
  std::vector<StatementSets> sets;
  /// Sizes of which only matters whether they are 0: 0 or 1 in all sets but `parameters` (flags.hpp).
  std::set<std::string> flags;
  int depth = 0;  ///< most loops around a statement
  /// Of variables that a loop's body declares: how many loops are around what is declared, that one too.
  std::map<std::string, std::size_t> homes;
  /// Of variables of which iterations have their own, for each statement that names them.
  std::map<std::string, std::map<int, Lifetime>> lifetimes;
  /// Memory-based ones, but between iterations that have a variable of their own each.
  std::vector<DependenceRelation> dependences;
  std::vector<DependenceRelation> between_lifetimes;  ///< those: without distance and witness

  isl::ctx context() const { return isl::ctx(context_owner.get()); }
};

/// How many loops hold both statements.
std::size_t common_loops(const StatementSets& a, const StatementSets& b);

/// Whether each of these loops of statement `a` is around statement `b`, too: the loop itself, not another of
/// its name.
bool share_loops(const Polyhedra& polyhedra, int a, int b, const std::vector<std::string>& loops);

/// All but the dependences, which take most of the time.
/// @throws what Nest::analyse() does
std::shared_ptr<Polyhedra> sets_of(Region region, std::vector<SizeRange> sizes);

/// Fills Polyhedra::dependences from the rest.
void find_dependences(Polyhedra& polyhedra);

/// Calls what works with isl; an exception of isl leaves as one of ours.
template <class Work>
auto with_isl(Work&& work) {
  try {
    return work();
  } catch (const isl::exception& error) {
    throw Internal(std::string("integer sets: ") + error.what());
  }
}

/// The same with sets of a nest, which threads may share: they take turns, since isl counts, and changes,
/// what refers to a set even where it is read only. Cost: a lock that nobody holds.
template <class Work>
auto with_isl(const Polyhedra& polyhedra, Work&& work) {
  const std::lock_guard turn(polyhedra.turn);
  return with_isl(work);
}

/// The least point of a set that is not empty: sizes first (at least 1 each where that is possible), in their
/// order, then the set's coordinates.
struct SmallestPoint {
  std::vector<std::int64_t> sizes, coordinates;
};
SmallestPoint smallest_point(const isl::set& set, const Polyhedra& polyhedra);

/// The witness of a set of pairs that is not empty: its smallest pair, sizes as small as they can be.
Witness witness_of(const isl::map& pairs, const Polyhedra& polyhedra);

}  // namespace warploom::tile
