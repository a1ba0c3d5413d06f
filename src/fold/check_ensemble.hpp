#pragma once

#include "fold/weights.hpp"

namespace warploom::fold {

/// @throws BadInput: a model of which there is no ensemble
void check_ensemble(const Model& model);
/// @throws BadInput: within a tile, numbers might differ by more than a double holds
void check_span(const Model& model, const Weights& weights);

}  // namespace warploom::fold
