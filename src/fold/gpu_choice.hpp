#pragma once

#include <span>
#include <string>

#include "warploom/core/run.hpp"
#include "warploom/fold/fold.hpp"

namespace warploom::fold {

/// The pairs i < j of all sequences, which a CPU's time goes with.
double cells_of(std::span<const std::string> sequences);

/// Not `auto`, and not the CPU.
bool names_gpu(const Run& run);

/// Whether a GPU, where there is one, is to fold so much. Where none is named (`auto`), that is what a GPU
/// does and for what a CPU takes longer than a GPU takes to start; what is decided is logged.
/// @throws BadInput: a GPU is named, which does not do this
bool takes_gpu(const Run& run, const Model& model, double cells);

}  // namespace warploom::fold
