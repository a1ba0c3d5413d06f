#pragma once

#include <cstddef>
#include <span>

#include "sim/memory.hpp"
#include "warploom/ptx/module.hpp"

namespace warploom::sim {

/// Writes the initial value of a variable, as its declaration says, into zeroed bytes. Variables whose
/// addresses it names must have their place in `memory`. @throws BadInput naming file, line and variable
void initialise(const ptx::Module& module, const Memory& memory, const ptx::Variable& variable,
                std::span<std::byte> bytes);

}  // namespace warploom::sim
