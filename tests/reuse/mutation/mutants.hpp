#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "warploom/reuse/check.hpp"

/// `reuse` made wrong on purpose, one fault at a time, at every place of a kernel where that is possible.
namespace warploom::reuse::mutation {

enum class Fault {
  barrier_removed,       ///< one of the added barriers is missing
  barrier_moved_up,      ///< before the access that it follows, or into a block before
  barrier_moved_down,    ///< behind the access that it precedes, or into a block behind
  barrier_illegal,       ///< one barrier more, where threads may be apart or wait for each other
  overlap_forgotten,     ///< two objects that overlap: barriers are planned as if they did not
  offset_by_a_word,      ///< two objects that interfere overlap by as little as their alignment allows
  offset_wholly,         ///< two objects that interfere lie at one offset
  edge_dropped,          ///< an edge of the interference graph is missing when placement begins
  branch_uniform,        ///< a divergent branch is called uniform
  all_branches_uniform,  ///< all of them
  separator_trusted,     ///< a barrier that not all threads pass together is taken to separate
  insertion_allowed,     ///< the reason why no barrier may be added to this kernel is ignored
  dead_unproved,         ///< an object is called dead at a loop's head or behind a barrier, without proof
  access_missed,         ///< an access of shared memory is seen by no pass
  access_misattributed,  ///< an access is taken to be of another object
  pin_ignored,           ///< an object that must keep its storage goes to the pool
  placed_at_random,      ///< random offsets, and barriers at a random share of all legal places
  name_misplaced,        ///< one use of an object's name is replaced by another object's place
  pool_short,            ///< the pool ends one byte before its last object does
};
std::string_view name(Fault fault);

struct Rewritten {
  std::string text;                ///< of the whole module
  std::vector<PoolEntry> entries;  ///< where the rewriter says that objects went
};

struct Mutant {
  Rewritten output;
  /// What the faultless passes object to in this plan, overlaps, barriers and all. Empty: they would allow
  /// it; such a mutant is another right answer, however it came about.
  std::string violation;
  /// Of the two objects that the violation is about; empty if it is about something else.
  std::pair<std::string, std::string> objects;
};

/// A fault and its place, not yet carried out.
struct Mutation {
  Fault fault = Fault::barrier_removed;
  std::string what;                                  ///< the place: "line 40", "'a' over 'b'"
  std::function<std::optional<Mutant>()> carry_out;  ///< nullopt: the output is the faultless one
};

/// One kernel, what the faultless passes make of it, and all its mutations.
///
/// The passes run as the pipeline runs them, up to the rewriting, with every object that may move in the pool
/// whether it shares or not: then each pair of them can be made to overlap.
class Subject {
 public:
  /// @param block  threads of the launch: promised to the passes
  /// @throws BadInput (no such kernel)
  Subject(std::string module_text, std::string_view kernel, std::array<std::uint32_t, 3> block);
  ~Subject();

  /// Why there is nothing to mutate; empty if there is something.
  std::string nothing_to_do() const;
  const std::string& original() const;
  const Rewritten& faultless() const;
  /// They refer to the subject, which must outlive them.
  std::vector<Mutation> mutations() const;
  /// What the independent check says of an output.
  CheckResult check(const Rewritten& output) const;

 private:
  class Passes;
  std::unique_ptr<Passes> passes_;
};

}  // namespace warploom::reuse::mutation
