#pragma once

#include "call.hpp"

/// The parts of the module, a source each.
namespace warploom::python {

void bind_dp(nb::module_& module);
void bind_search(nb::module_& module);
void bind_imaging(nb::module_& module);
void bind_denoise(nb::module_& module);
void bind_registration(nb::module_& module);
void bind_tile(nb::module_& module);
void bind_tables(nb::module_& module);
void bind_fold(nb::module_& module);
void bind_fold_scan(nb::module_& module);
void bind_kernels(nb::module_& module);

}  // namespace warploom::python
