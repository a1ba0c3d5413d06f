#pragma once

#include "warploom/core/device.hpp"

namespace warploom {

/// Asks the driver in this shared library. Never throws for a machine without one: `absent` says why.
CudaDevices query_cuda_driver(const char* library);

}  // namespace warploom
