#pragma once

#include "warploom/dp/base_pairs.hpp"

namespace warploom::dp {

/// Of what is drawn or written. @throws BadInput (no bases, a partner that is none, or not one a base; a
/// score below 0)
void check(const BasePairs& structure);

}  // namespace warploom::dp
