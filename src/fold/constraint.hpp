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

/// @throws BadInput as fold(); an empty constraint has no marks
Marks marks_of(const Bases& s, std::string_view constraint, const Loops& loops);

/// @throws BadInput: a base that has to pair does not
void check_forced(const Marks& marks, std::string_view structure, const Extras& extras);

}  // namespace warploom::fold
