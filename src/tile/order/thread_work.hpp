#pragma once

#include "warploom/tile/source.hpp"

namespace warploom::tile {

/// Statements that a core should have to run before it is worth while to wake others: some 50 us of work, for
/// the 5 to 20 us that sixteen threads take to begin and to meet.
constexpr std::int64_t kLeastSharedWork = 100'000;

/// A parallel loop that may have less to do than that gets the condition under which it has more. One that
/// surely has less is not shared.
void bound_shared_work(Node& loop);

}  // namespace warploom::tile
