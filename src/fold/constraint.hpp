#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fold/extras.hpp"
#include "fold/loops.hpp"

namespace warploom::fold {

/// Which pairs a constraint leaves. The bases i < j may pair if first[i] == second[j].
struct Marks {
  std::vector<std::int32_t> first = {}, second = {};  ///< by base, counted from 1; empty: all may pair
  std::vector<bool> forced = {};                      ///< by base: it has to pair; empty: none has
  /// Whether the constraint names a pair that ends at j: it may be longer than Model::max_span.
  bool names_pair(std::int64_t j) const {
    return !second.empty() && second[static_cast<std::size_t>(j)] % 2 == 1;
  }
};

/// Which stretches of bases may be unpaired, where some have to pair.
class Unpaired {
 public:
  /// @param forced  Marks::forced of n bases
  Unpaired(std::int64_t n, const std::vector<bool>& forced);
  /// Whether bases first..last may, all of them; none is none of them.
  bool operator()(std::int64_t first, std::int64_t last) const {
    return first > last || next_[static_cast<std::size_t>(first)] > last;
  }
  /// The last base before k that has to pair; 0: there is none.
  std::int64_t before(std::int64_t k) const { return before_[static_cast<std::size_t>(k)]; }

 private:
  std::vector<std::int64_t> next_, before_;  // by base, counted from 1: that base or the next one; one before
};

/// @throws BadInput as fold(); an empty constraint has no marks
Marks marks_of(const Bases& s, std::string_view constraint, const Loops& loops);

/// @throws BadInput: a base that has to pair does not
void check_forced(const Marks& marks, std::string_view structure, const Extras& extras);

}  // namespace warploom::fold
