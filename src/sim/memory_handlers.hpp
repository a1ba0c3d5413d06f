#pragma once

#include "sim/step.hpp"

namespace warploom::sim {

void run_load(Registers& registers, const Step& step, Mask lanes);
void run_store(Registers& registers, const Step& step, Mask lanes);

}  // namespace warploom::sim
