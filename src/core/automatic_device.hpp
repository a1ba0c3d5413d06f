#pragma once

#include "warploom/core/run.hpp"

namespace warploom {

/// Whether the CUDA driver is in this process, whoever brought it. Else a GPU works only after it has
/// started.
bool cuda_is_up();

/// Whether a GPU may do a piece of work, for DeviceScope's `built_with_cuda`: true where a device is named,
/// and of device auto unless the processors are done before a GPU would be.
/// @param cpu, gpu  what each of them takes once it is up [s]
bool gpu_pays(const Run& run, double cpu, double gpu);

}  // namespace warploom
