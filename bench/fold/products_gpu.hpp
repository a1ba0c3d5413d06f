#pragma once

namespace warploom::fold {

/// Multiplications with additions in double precision that the current GPU's tensor cores do in a second.
double products_per_second();

}  // namespace warploom::fold
