#pragma once

#include "tile/sets/polyhedra.hpp"
#include "warploom/tile/transform.hpp"

namespace warploom::tile {

/// One component of the times of a statement.
struct TimeDimension {
  enum class Kind {
    position,  ///< a constant: which of the neighbours
    loop,      ///< an affine function of the iterators; named
    strip,     ///< first iteration of the strip of a loop: size * floor((i - lower) / size) + lower
  };
  Kind kind = Kind::position;
  std::string name;             ///< of the loop that runs over it
  std::int64_t value = 0;       ///< position
  std::optional<isl::aff> aff;  ///< loop and strip: on the statement's domain space
  std::int64_t jammed = 0;      ///< loop: written out, so many in a full strip; strip: of such a loop
  std::string strip_of;         ///< strip: the loop that runs through it
  std::int64_t size = 0;        ///< strip: iterations
};

/// Times of statement s: times[s], padded with zero positions to one length for comparison.
struct Schedule::Impl {
  Nest nest;
  std::vector<std::vector<TimeDimension>> times;
};

/// Cheap to copy. Within with_isl().
Schedule schedule_of(Schedule::Impl impl);

/// An iterator as a function on a statement's domain space; any coordinate of a set.
isl::aff iterator_aff(const isl::set& domain, int dimension);
/// Points of the set -> the values of functions on its space.
isl::map onto(const isl::set& domain, const std::vector<isl::aff>& functions);
/// The longest vector of times.
std::size_t time_length(const Schedule::Impl& schedule);

/// A strip's first iterations: of a loop that begins at `lower`.
TimeDimension strip_of(const TimeDimension& loop, std::int64_t size, std::int64_t lower, std::string name);
/// Adds a TimeTile's strips to the times.  @throws BadInput (no such loop, too few or too many sizes,
/// dependences that no skew follows)
void tile_in_time(const Nest& nest, std::vector<std::vector<TimeDimension>>& times, const TimeTile& step);
/// Whether statements share every position and loop name before `slot`.
bool same_until(const std::vector<TimeDimension>& a, const std::vector<TimeDimension>& b, std::size_t slot);
/// What decides which loops are parallel: those that carry no pair of it.
struct Carried {
  isl::map pairs;
  const Dependence* dependence = nullptr;   ///< that holds them
  std::optional<Reduction> reduction = {};  ///< or do, for it may be taken in any order
};

/// Loops that visit the iterations at their times, through isl's AST generator. Loops have the names of their
/// time dimensions; a dimension that is exactly -i becomes a decreasing loop over i.
Node generate_code(const Schedule::Impl& schedule, const std::vector<Carried>& relations);

/// What is known of the sizes, what subscripts need of them included, as conditions that all hold.
std::vector<Expression> conditions_on_sizes(const Nest& nest);

}  // namespace warploom::tile
